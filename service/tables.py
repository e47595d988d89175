"""The use cases: each loads a game, lets the rules decide and commits, or only looks."""

import secrets
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from service import current, metrics
from service.autoplay import is_due, next_moment, tag_of
from service.changes import (
    NO_TERMS,
    Changes,
    Claim,
    Terms,
    claimed,
    foreseen,
    guard_version,
    mark_of,
    mark_of_claim,
)
from service.errors import (
    DealNotOver,
    MatchNotOver,
    NoSuchDeal,
    NoSuchGame,
    NotYourTurn,
    Refused,
    RummyError,
    StoreUnavailable,
    TablesFrozen,
    TooBusy,
    UnreadableRecord,
)
from service.game import (
    Event,
    Game,
    Logged,
    Rematch,
    Remembered,
    Seat,
    unreadable_record,
    with_seat,
)
from service.new_table import (
    SANDBOX_NAMES,
    NewTable,
    clean_name,
    empty_table,
    rematch_of,
    sandbox,
)
from service.readings import MOST_ENTRIES, TRY_AGAIN_SECONDS, Batch, Reading, Readings
from service.replay import deals_over
from service.rummy import model
from service.rummy.computer import Level
from service.rummy.engine import apply, apply_turn
from service.rummy.legal import legal_moves
from service.rummy.model import DealResult, Move, Turn
from service.rummy.suggest import near
from service.rummy.view import reveals
from service.seating import (
    begun,
    closed,
    find_seat,
    first_commitment,
    guard_invited,
    guard_memory,
    guard_open,
    guard_playing,
    guard_present,
    hosted,
    left,
    mixed,
    removed,
    returned,
    seat_of,
    seated,
    seen_from,
    with_computers,
)
from service.servers import Condition
from service.store import Census, Mark, Store, Unseen
from service.text import Text
from service.tokens import (
    Chance,
    game_id_for,
    game_id_of,
    hash_of,
    hash_of_invitation,
    invitation_for,
    new_game_id,
    new_seed,
    same,
    token_for,
)
from service.watch import Watch

HEARTBEAT_SECONDS = 15.0
"""How long a follower hears nothing at the most."""

_BUSY_SECONDS = 0.25
"""A worker is busy if a request has to wait so long for its turn."""

_MOST_WAITED_EVENTS = 1000
_NO_ENTRIES = Batch(())


class Outcome(Struct, frozen=True, kw_only=True):
    """A game after a change, the caller's seat, and what the change put into the log.

    `version` is the one that the change made; the game may have gone on since. `replayed`: it was
    made by an earlier request with the same key.
    """

    game: Game
    seat: int | None
    version: int
    logged: tuple[Logged, ...]
    replayed: bool = False


class SeatTaken(Outcome, frozen=True, kw_only=True):
    """The outcome of taking a seat, with the token that is its key.

    `taken` is the seat as it was given. `invitation` is the code for others to join by, where the
    table takes one.
    """

    taken: int
    token: str
    invitation: str | None = None


class News(Struct, frozen=True):
    """What a follower learns: entries of the log, or none for a sign of life.

    `last` is the number of the last entry that the follower knows then. `is_end`: the match is
    over, and nothing more will come.
    """

    game: Game
    seat: int | None
    batch: Batch
    last: int
    is_end: bool = False


class Tables:
    """All that can be done with games. Holds no state but its connections to the store."""

    def __init__(
        self,
        store: Store,
        watch: Watch,
        clock: Callable[[], int] | None = None,
        chance: Chance = secrets.token_bytes,
    ) -> None:
        """`clock` gives the time in milliseconds since 1970 (UTC).

        All that nobody may foresee comes from `chance`: ids, tokens, salts and seeds.
        """
        self._store = store
        self._watch = watch
        self.clock = clock or _milliseconds
        self._chance = chance
        self._changes = Changes(store, self.clock, chance)
        self._readings = Readings(self._changes, self.clock)

    # --------------------------------------------------------------------------- tables and seats

    def create(self, wanted: NewTable, terms: Terms = NO_TERMS) -> SeatTaken:
        """Make a table; its maker has the first seat and is the host.

        Raises OptionsRefused, BadPractice, BadNotation, BadReplay, BadTable, BadText,
        NoSuchVariant, TablesFrozen, BadIdempotencyKey and IdempotencyKeyReused.
        """
        mark = mark_of_claim(terms, "create", wanted)
        name = clean_name(wanted.name)
        if mark and (before := self._made_before(mark, terms)):
            return before
        now = self.clock()
        empty = empty_table(wanted, new_game_id(self._chance), now, new_seed(self._chance))
        self._guard_not_frozen()
        # Two requests with one key come to the same id, and so to one table.
        game_id = self._store.id_for(mark, empty.id) if mark else empty.id
        claim = claimed(terms, game_id, self._chance)
        code = hash_of_invitation(game_id, invitation_for(claim.token)) if wanted.private else None
        empty = replace(empty, id=game_id, invitation=code)
        game, joined = seated(empty, Seat(name, hash_of(claim.token)), now)
        game, filled = with_computers(game, wanted.computers, now)
        done = self._changes.begin(
            empty, game, first_commitment(empty) + joined + filled, mark, claim
        )
        if done.logged:
            return _seat_taken(done.game, claim.token, done.logged)
        if mark and (before := self._made_before(mark, terms)):
            return before
        raise TooBusy(Text("Another request with this key is making the table; send it again."))

    def join(
        self,
        game_id: str,
        name: str,
        invitation: str | None = None,
        terms: Terms = NO_TERMS,
        entropy: str | None = None,
    ) -> SeatTaken:
        """Take the next free seat; the match starts with the last one if the table says so.

        Raises NoSuchGame, AlreadyStarted, TableClosed, TableFull, BadText, InvitationNeeded,
        StaleVersion, OptionsDoNotFit, TooBusy, BadIdempotencyKey and IdempotencyKeyReused.
        """
        mark = mark_of_claim(terms, "join", [name, invitation, *_if_set(entropy)])
        claim = claimed(terms, game_id, self._chance)
        seat = Seat(clean_name(name), hash_of(claim.token), entropy=entropy or "")
        code = None if invitation is None else hash_of_invitation(game_id, invitation)

        def take_seat(game: Game, now: int) -> tuple[Game, tuple[Event, ...]]:
            guard_version(game, terms.version)
            guard_open(game)
            guard_invited(game, code)
            return seated(game, seat, now)

        done = self._changes.make(game_id, take_seat, mark, claim)
        if done.repeats and terms.key:
            return self._taken_again(done.game, terms.key, done.repeats)
        return _seat_taken(done.game, claim.token, done.logged)

    def sandbox(self, terms: Terms = NO_TERMS) -> tuple[SeatTaken, SeatTaken]:
        """Make a practice table to try things out at; both its seats as they were taken.

        Raises TablesFrozen, BadIdempotencyKey, IdempotencyKeyReused and TooBusy.
        """
        first, name = self.create(sandbox(), terms), SANDBOX_NAMES[1]
        # One request takes two seats, and a game remembers one answer to a key.
        second = Terms(key=f"{terms.key} {name}") if terms.key else NO_TERMS
        return first, self.join(first.game.id, name, terms=second)

    def rematch(
        self, game_id: str, token: str, terms: Terms = NO_TERMS, entropy: str | None = None
    ) -> SeatTaken:
        """Take the own seat in the game that follows a finished one, and make that if need be.

        The same people, computers and options; who comes sits in the order of the old seats. Asked
        again it gives the same seat and token; until the match begins, other `entropy` takes the
        place of what it had brought. Raises MatchNotOver, NotStarted, TableClosed, TablesFrozen,
        and as `join` does.
        """
        old = self._changes.current(game_id)
        place = _seat(old, token)
        # Every seat comes to the same id, so that all of them at once make one game.
        founder = next(seat.token_hash for seat in old.seats if seat.token_hash)
        new_id = game_id_for(founder, f"rematch of {old.id}")
        claim = Claim(token_for(new_id, token, "rematch"))
        mark = mark_of(terms, ("rematch", *_if_set(entropy)), hash_of(claim.token))
        if mark is None or not self._was_done(new_id, mark):
            guard_version(old, terms.version)
        if guard_playing(old).result is None:
            raise MatchNotOver(Text("A rematch can be asked for when the match is over."))
        self._guard_not_frozen(new_id)
        self._changes.begin(*rematch_of(old, new_id, self.clock(), new_seed(self._chance)))
        name = old.seats[place].name
        seat = Seat(name, hash_of(claim.token), place=place, entropy=entropy or "")

        def take_seat(game: Game, now: int) -> tuple[Game, tuple[Event, ...]]:
            taken = find_seat(game, claim.token)
            if taken is None:
                return seated(game, seat, now)
            # Once the match has begun it is in the cards, so this repeats an earlier request.
            return mixed(game, taken, entropy) if entropy and not game.match else (game, ())

        try:
            done = self._changes.make(new_id, take_seat, mark, claim)
        except Refused as refusal:
            refusal.detail = Text("In the rematch, game {game}: {reason}").format(
                game=new_id, reason=refusal.detail
            )
            raise
        self._point_to(old, new_id)
        if done.repeats:
            return self._as_before(done.game, claim.token, done.repeats)
        return _seat_taken(done.game, claim.token, done.logged, replayed=not done.logged)

    def start(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Begin the match with those who sit there; for the host.

        Raises NotTheHost, AlreadyStarted, TableClosed, TooFewPlayers, OptionsDoNotFit,
        StaleVersion and IdempotencyKeyReused.
        """
        return self._change(
            game_id,
            token,
            terms,
            ("start",),
            lambda game, seat, now: begun(hosted(game, seat), now),
        )

    def add_computers(
        self, game_id: str, token: str, levels: Sequence[Level], terms: Terms = NO_TERMS
    ) -> Outcome:
        """Give the next free seats to computer players of these levels; for the host.

        Raises NotTheHost, AlreadyStarted, TableClosed, TableFull, OptionsDoNotFit, StaleVersion and
        IdempotencyKeyReused.
        """
        return self._change(
            game_id,
            token,
            terms,
            ("computers", levels),
            lambda game, seat, now: with_computers(hosted(game, seat), levels, now),
        )

    def remove(
        self, game_id: str, token: str, seat: int, name: str | None, terms: Terms = NO_TERMS
    ) -> Outcome:
        """Free the seat of somebody else before the start, if it is that one; for the host.

        Raises NotTheHost, AlreadyStarted, TableClosed, NoSuchSeat, OwnSeat, StaleVersion and
        IdempotencyKeyReused.
        """
        return self._change(
            game_id,
            token,
            terms,
            ("remove", seat, name),
            lambda game, by, _: removed(hosted(game, by), by, seat, name),
        )

    def close(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Give the table up before the start; for the host. Nothing happens to a closed one.

        Raises NotTheHost, AlreadyStarted, RematchStays, StaleVersion and IdempotencyKeyReused.
        """
        return self._change(
            game_id, token, terms, ("close",), lambda game, seat, _: closed(hosted(game, seat))
        )

    def leave(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Give the own seat up: before the start to anybody, then to the computer.

        Nothing happens to one that was left before. Raises TableClosed, MatchOver, StaleVersion and
        IdempotencyKeyReused.
        """
        return self._change(
            game_id, token, terms, ("leave",), lambda game, seat, _: left(game, seat)
        )

    def come_back(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Take the own seat back from the computer. Nothing happens if it does not play it.

        Raises NotStarted, TableClosed, MatchOver, StaleVersion and IdempotencyKeyReused.
        """
        return self._change(
            game_id, token, terms, ("return",), lambda game, seat, _: returned(game, seat)
        )

    def add_entropy(
        self, game_id: str, token: str, entropy: str, terms: Terms = NO_TERMS
    ) -> Outcome:
        """Add to the chance of the next deal, of which the secret is committed to (table.8).

        Takes the place of what the seat had added to that deal. Raises TableClosed, MatchOver,
        NoNextDeal, StaleVersion and IdempotencyKeyReused.
        """
        return self._change(
            game_id,
            token,
            terms,
            ("entropy", entropy),
            lambda game, seat, _: mixed(game, seat, entropy),
        )

    # ------------------------------------------------------------------------------------ playing

    def play(
        self,
        game_id: str,
        token: str,
        move: Move | Turn,
        terms: Terms = NO_TERMS,
        wait_seconds: int = 0,
        *,
        memory: bool = False,
    ) -> Outcome:
        """Make one move, or the rest of a turn: all of it or nothing.

        Then waits so long for the caller to be able to act again. `memory`: the answer is to tell
        what everybody saw. Raises NotStarted, TableClosed, SeatAway, StaleVersion, NoMemory,
        IdempotencyKeyReused and what the rules refuse with.
        """

        def act(game: Game, seat: int, now: int) -> tuple[Game, tuple[Event, ...]]:
            if memory:
                guard_memory(game)
            return _moved(game, seat, move, now)

        outcome = self._change(game_id, token, terms, ("move", move), act)
        if memory:  # a repeat may ask for more than the request that made the move
            guard_memory(outcome.game)
        return self._waited(outcome, wait_seconds)

    def check(
        self,
        game_id: str,
        token: str,
        move: Move | Turn,
        terms: Terms = NO_TERMS,
        *,
        memory: bool = False,
    ) -> tuple[Game, Game | None, int]:
        """What `play` would do, without doing it: the game now, the game then, and the seat.

        The game then is None where it would show what is hidden now. Raises as `play` does.
        """
        game = self._changes.current(game_id)
        seat = _seat(game, token)
        guard_version(game, terms.version)
        if memory:
            guard_memory(game)
        now = self.clock()
        after, events = _moved(game, seat, move, now)
        if any(map(reveals, events)):
            return game, None, seat
        return game, foreseen(game, after, events, now), seat

    # ------------------------------------------------------------------------------------ looking

    def look(
        self,
        game_id: str,
        token: str | None,
        wait_seconds: int = 0,
        known: Container[str] = (),
        *,
        memory: bool = False,
    ) -> tuple[Game, int | None]:
        """The game, and the caller's seat; None without a token.

        Waits so long for a view whose tag is not `known`. `memory`: it is to tell what everybody
        saw. Raises BadToken, NotYourSeat, NoSpectators and NoMemory.
        """
        game = self._changes.current(game_id)
        seat = _viewer(game, token)
        if memory:
            guard_memory(game)
        if not wait_seconds or self.tag(game) not in known:
            return game, seat
        events = game.events
        del game  # who waits for another one need not hold it
        read = self._wait(
            game_id, wait_seconds, events, lambda game, now: tag_of(game, now) not in known
        )
        return read.game, _viewer(read.game, token)

    def tag(self, game: Game) -> str:
        """What a view of the game is known by now."""
        return tag_of(game, self.clock())

    def look_from_seat(self, game_id: str, token: str) -> tuple[Game, int]:
        """The game, and the seat of a caller who must have one. Raises as `look` does."""
        game = self._changes.current(game_id)
        return game, _seat(game, token)

    def games_of(
        self, tokens: Sequence[str]
    ) -> tuple[tuple[tuple[int, Game, int], ...], tuple[int, ...]]:
        """What each token opens, the most urgent game first: the token's place, game and seat.

        First those where the seat can act now, by deadline; then those being played, those waiting,
        those that are over. The second value are the places of tokens that open nothing any more.
        A game that cannot be read, but may be by another worker, is neither here nor there. Raises
        BadToken, and UnreadableRecord if that is so of all.
        """
        found: list[tuple[int, Game, int]] = []
        gone: list[int] = []
        unreadable = 0
        games = self._store.load_many([game_id_of(token) for token in tokens])
        for place, (token, stored) in enumerate(zip(tokens, games, strict=True)):
            game = self._as_now(stored)
            if game is Unseen.UNREADABLE:
                unreadable += 1
            elif game is Unseen.GONE or (seat := find_seat(game, token)) is None:
                gone.append(place)
            else:
                found.append((place, game, seat))
        if unreadable == len(tokens):
            raise unreadable_record()
        now = self.clock()
        found.sort(key=lambda item: _urgency(item[1], item[2], now))
        return tuple(found), tuple(gone)

    def own_game(self, token: str) -> tuple[Game, int] | None:
        """The game that the token is a key of, and the seat; None if the game is gone.

        Raises BadToken and NotYourSeat.
        """
        game_id = game_id_of(token)
        try:
            return self.look_from_seat(game_id, token)
        except NoSuchGame:
            return None

    def open_tables(
        self, limit: int, cursor: str | None, variant: str | None = None, open_seats: int = 1
    ) -> tuple[tuple[Game, ...], str | None]:
        """Public tables that wait for players, the newest first, and the next page's cursor.

        Only those of the variant, if one is named, with at least so many open seats.
        """

        def is_wanted(game: Game) -> bool:
            fits = variant is None or game.variant == variant
            return fits and game.size - len(game.seats) >= open_seats

        return self._store.open_tables(limit, cursor, self.clock(), is_wanted)

    def events(
        self, game_id: str, token: str | None, after: int, limit: int, wait_seconds: int = 0
    ) -> tuple[Game, int | None, tuple[Logged, ...]]:
        """The game, the caller's seat, and up to `limit` entries of the log after that one.

        Waits so long for the first of them. Raises as `look` does.
        """
        game, logged = self._changes.read(game_id, after, limit)
        seat = _viewer(game, token)
        if not logged and wait_seconds:
            events = game.events
            del game
            read = self._wait(game_id, wait_seconds, events, lambda game, _: game.events > after)
            if batch := read.after(after):
                game, logged = read.game, batch.entries[:limit]
            else:
                game, logged = self._changes.read(game_id, after, limit)
            seat = seen_from(game, token)
        return game, seat, logged

    def follow(self, game_id: str, token: str | None, after: int | None) -> Iterator[News]:
        """The game as it is, then its log after that entry (None: from now on) as it grows.

        Ends with the match or with the worker, and when the game has expired or the seat is not
        there any more. There is something at least each HEARTBEAT_SECONDS. Raises as `look` does,
        at the first item.
        """
        game = self._changes.current(game_id)
        seat = _viewer(game, token)
        last = game.events if after is None else min(after, game.events)
        yield News(game, seat, _NO_ENTRIES, last)
        shared = self._readings.of(game_id)
        with (
            metrics.WAITING.labels("stream").track_inprogress(),
            self._watch.listen(game_id) as bell,
        ):
            heard = time.monotonic()
            while not self._watch.stopping:
                try:
                    read = shared.latest(bell.rung_at, game.events)
                    game, batch = read.game, read.after(last)
                    if batch is None:  # this one is behind all others
                        game, logged = self._changes.read(game_id, last, MOST_ENTRIES)
                        batch = Batch(logged)
                    seat = seen_from(game, token)
                    bell.seen = game.version
                except StoreUnavailable:  # it may come back: the follower only hears that we live
                    batch = _NO_ENTRIES
                except RummyError:  # the game has expired, or the seat is not there any more
                    return
                if batch.entries:
                    last = batch.entries[-1].number
                    heard = time.monotonic()
                    yield News(game, seat, batch, last)
                    continue
                if game.is_over and last >= game.events:
                    yield News(game, seat, _NO_ENTRIES, last, is_end=True)
                    return
                silent = time.monotonic() - heard
                if silent >= HEARTBEAT_SECONDS:
                    heard = time.monotonic()
                    yield News(game, seat, _NO_ENTRIES, last)
                    continue
                bell.wait(self._until_next(game, HEARTBEAT_SECONDS - silent))

    def log_of_deal(
        self, game_id: str, token: str | None, number: int
    ) -> tuple[Game, Iterator[tuple[Logged, ...]]]:
        """The game, and the log of a deal of it that has ended; none if it cannot be found.

        It is read when it is asked for, not before.
        Raises NotStarted, TableClosed, NoSuchDeal, DealNotOver, and as `look` does.
        """
        game, _ = self.look(game_id, token)
        deal = guard_playing(game).deal
        if deal is not None and number == deal.number:
            raise DealNotOver(Text("Deal {deal} is still being played."), deal=number)
        if not 1 <= number <= deals_over(game):
            raise NoSuchDeal(Text("There is no deal {deal} in this match yet."), deal=number)
        return game, self._store.logs_of_deals(game_id, number, number)

    def logs_of_deals(
        self, game_id: str, token: str | None
    ) -> tuple[Game, Iterator[tuple[Logged, ...]]]:
        """The game, and the logs of all its deals that have ended, in order; none for older ones.

        They are read as they are asked for.
        Raises NotStarted, TableClosed, and as `look` does.
        """
        game, _ = self.look(game_id, token)
        guard_playing(game)
        return game, self._store.logs_of_deals(game_id, 1, deals_over(game))

    def results(self, game_id: str, after: int, limit: int) -> tuple[DealResult, ...]:
        """Up to `limit` results of finished deals after the one numbered `after`, in order."""
        return self._store.results(game_id, after, limit)

    def expires_at(self, game: Game) -> int:
        """When the game is deleted if it does not change any more (milliseconds)."""
        return self._store.expires_at(game)

    def census(self) -> Census | None:
        """How many games there are, as `Store.census`."""
        return self._store.census(self.clock())

    def condition(self) -> Condition:
        """How well this process can serve. Raises StoreUnavailable if it cannot."""
        condition = self._store.condition()
        began = time.monotonic()
        time.sleep(0)  # after everybody else in this process who has something to do
        late = time.monotonic() - began >= _BUSY_SECONDS
        return replace(condition, busy=condition.busy or late)

    # ----------------------------------------------------------------------------- how it is done

    def _as_now(self, game: Game | Unseen) -> Game | Unseen:
        """One of many games, with what was due done."""
        if isinstance(game, Unseen):
            return game
        try:
            return self._changes.gone_on(game)
        except NoSuchGame:  # it has expired meanwhile
            return Unseen.GONE
        except UnreadableRecord:  # another version has changed it meanwhile
            return Unseen.UNREADABLE

    def _waited(self, outcome: Outcome, seconds: int) -> Outcome:
        """The outcome once the caller can act again, or when the time is up."""
        game, seat = outcome.game, outcome.seat
        if not seconds or seat is None or not outcome.logged:
            return outcome

        def is_time(game: Game, now: int) -> bool:
            return game.status != "playing" or may_act(game, seat, now)

        has_come = is_time(game, self.clock())
        if has_come and outcome.logged[-1].number == game.events:  # of a repeat, there may be more
            return outcome
        # The move counts whatever happens from here on, so its answer is given in any case.
        with suppress(RummyError):
            if not has_come:
                read = self._wait(game.id, seconds, game.events, is_time)
                if batch := read.after(outcome.logged[-1].number):
                    logged = (*outcome.logged, *batch.entries)
                    return replace(outcome, game=read.game, logged=logged)
            first = outcome.logged[0].number
            game, logged = self._changes.read(game.id, first - 1, _MOST_WAITED_EVENTS)
            return replace(outcome, game=game, logged=logged)
        return outcome

    def _wait(
        self, game_id: str, seconds: int, events: int, is_time: Callable[[Game, int], bool]
    ) -> Reading:
        """What is read as soon as it is time, or after so many seconds.

        The caller has the log up to the entry `events`, and has seen that it is not time yet.
        """
        end = time.monotonic() + seconds
        shared = self._readings.of(game_id)
        with metrics.WAITING.labels("wait").track_inprogress(), self._watch.listen(game_id) as bell:
            while True:
                read = shared.latest(bell.rung_at, events)
                bell.seen = read.game.version
                left = end - time.monotonic()
                if left <= 0 or is_time(read.game, self.clock()) or self._watch.stopping:
                    return read
                bell.wait(self._until_next(read.game, left))

    def _until_next(self, game: Game, seconds: float) -> float:
        """So long, or until something happens by itself if that is sooner."""
        now = self.clock()
        if is_due(game, now):  # and could not be stored
            return min(seconds, TRY_AGAIN_SECONDS)
        moment = next_moment(game, now)
        return seconds if moment is None else min(seconds, (moment - now) / 1000)

    def _change(
        self,
        game_id: str,
        token: str,
        terms: Terms,
        wish: object,
        act: Callable[[Game, int, int], tuple[Game, tuple[Event, ...]]],
    ) -> Outcome:
        """A change by somebody who has a seat: `act` gets game, seat and time."""

        def act_from_seat(game: Game, now: int) -> tuple[Game, tuple[Event, ...]]:
            seat = _seat(game, token)
            guard_version(game, terms.version)
            return act(game, seat, now)

        mark = mark_of(terms, wish, hash_of(token)) if terms.key else None
        done = self._changes.make(game_id, act_from_seat, mark, who=hash(token))
        game, logged, version = done.game, done.logged, done.game.version
        if done.repeats:
            logged = self._changes.events_of(game_id, done.repeats)
            version = done.repeats.version
        return Outcome(
            game=game,
            seat=find_seat(game, token),
            version=version,
            logged=logged,
            replayed=done.repeats is not None,
        )

    def _guard_not_frozen(self, game_id: str | None = None) -> None:
        """New tables are made at the moment, or that one is there. Raises TablesFrozen."""
        freeze = self._store.frozen()
        if freeze is None or (game_id and self._store.load_many([game_id]) != (Unseen.GONE,)):
            return
        if freeze.reason:
            raise TablesFrozen(
                Text("No new tables are made at the moment; all games go on. Why: {reason}"),
                reason=freeze.reason,
            )
        raise TablesFrozen(Text("No new tables are made at the moment; all games go on."))

    def _was_done(self, game_id: str, mark: Mark) -> bool:
        with suppress(NoSuchGame):
            return self._changes.earlier(game_id, mark) is not None
        return False

    def _made_before(self, mark: Mark, terms: Terms) -> SeatTaken | None:
        """What an earlier request for a table with the same mark got, if there was one."""
        game_id = self._store.id_of(mark)
        with suppress(NoSuchGame):
            done = self._changes.earlier(game_id, mark) if game_id else None
            if done and done.repeats and terms.key:
                return self._taken_again(done.game, terms.key, done.repeats)
        return None

    def _taken_again(self, game: Game, key: str, remembered: Remembered) -> SeatTaken:
        return self._as_before(game, token_for(game.id, key, remembered.salt), remembered)

    def _as_before(self, game: Game, token: str, remembered: Remembered) -> SeatTaken:
        current.note_seat(remembered.seat, game.id)
        return SeatTaken(
            game=game,
            seat=find_seat(game, token),
            version=remembered.version,
            logged=self._changes.events_of(game.id, remembered),
            replayed=True,
            taken=remembered.seat,
            token=token,
            invitation=_invitation(game, token),
        )

    def _point_to(self, old: Game, new_id: str) -> None:
        """Let the old game name the one that follows it."""

        def point(game: Game, _now: int) -> tuple[Game, tuple[Event, ...]]:
            if game.rematch:
                return game, ()
            return replace(game, rematch=new_id), (Rematch(new_id),)

        if old.rematch is None:
            self._changes.make(old.id, point)


def _seat(game: Game, token: str) -> int:
    """As `seat_of`, for the log too."""
    seat = seat_of(game, token)
    current.note_seat(seat, game.id)
    return seat


def _viewer(game: Game, token: str | None) -> int | None:
    """As `seen_from`, for the log too."""
    seat = seen_from(game, token)
    current.note_seat(seat)
    return seat


def _if_set(part: str | None) -> tuple[str, ...]:
    """A part of a wish that came in a later version: without it, it has the hash it had before."""
    return () if part is None else (part,)


def _moved(
    game: Game, seat: int, move: Move | Turn, now: int
) -> tuple[Game, tuple[model.Event, ...]]:
    """The game after a player's own move, which begins the count of forced turns anew.

    What the rules refuse comes with what could be played instead, by the same game.
    """
    match = guard_playing(game)
    guard_present(game, seat)
    try:
        if isinstance(move, Turn):
            match, events = apply_turn(match, seat, move.plays, move.discard, now)
        else:
            match, events = apply(match, seat, move, now)
    except Refused as refusal:
        play = refusal.params.get("play")
        play = play if isinstance(play, int) else None
        refusal.find_instead = partial(near, match, seat, move, now, play=play)
        if isinstance(refusal, NotYourTurn) and game.seats[seat].forced:
            refusal.detail = Text(
                "{reason} Your last one was played by force, since its time was up (table.1)."
            ).format(reason=refusal.detail)
        raise
    game = replace(game, match=match)
    return with_seat(game, seat, replace(game.seats[seat], forced=0)), events


def may_act(game: Game, seat: int | None, now: int) -> bool:
    """Whether that seat has a legal move at the time `now` (milliseconds)."""
    if game.match is None or seat is None or game.seats[seat].away:
        return False
    return next(legal_moves(game.match, seat, now), None) is not None


def _urgency(game: Game, seat: int, now: int) -> tuple[float, ...]:
    """What games are sorted by for a player, the most urgent first."""
    order = {"playing": 1, "waiting": 2, "finished": 3, "closed": 3}[game.status]
    due = inf if game.due is None else game.due
    return (0 if may_act(game, seat, now) else order, due, game.changed_at)


def _seat_taken(
    game: Game, token: str, logged: tuple[Logged, ...], *, replayed: bool = False
) -> SeatTaken:
    seat = _seat(game, token)
    return SeatTaken(
        game=game,
        seat=seat,
        version=game.version,
        logged=logged,
        replayed=replayed,
        taken=seat,
        token=token,
        invitation=_invitation(game, token),
    )


def _invitation(game: Game, token: str) -> str | None:
    """The code of the table, if the token is of its maker."""
    code = invitation_for(token)
    return code if same(game.invitation, hash_of_invitation(game.id, code)) else None


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000

"""The use cases: each loads a game, lets the rules decide and commits, or only looks."""

import secrets
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import inf

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from service.autoplay import Step, carried_on, gone_on, is_due, next_moment
from service.errors import (
    BadIdempotencyKey,
    BadPractice,
    BadTable,
    BadText,
    IdempotencyKeyReused,
    MatchNotOver,
    NoSpectators,
    NoSuchGame,
    NotTheHost,
    NotYourSeat,
    RummyError,
    StaleVersion,
    StoreUnavailable,
    TableFull,
    TooBusy,
)
from service.game import Event, Game, Logged, Practice, Rematch, Remembered, Seat, with_seat
from service.rummy.cards import Card
from service.rummy.computer import Level
from service.rummy.engine import Change, apply, apply_turn, new_match
from service.rummy.legal import legal_moves
from service.rummy.model import DealEnded, DealResult, Drew, Match, Move, Play, TurnedOver
from service.rummy.rules import Choices, agree
from service.seating import (
    begun,
    closed,
    computer_seat,
    guard_invited,
    guard_open,
    guard_playing,
    guard_present,
    left,
    removed,
    returned,
    seated,
)
from service.store import LostRace, Mark, Store
from service.tokens import (
    game_id_for,
    game_id_of,
    hash_of,
    hash_of_invitation,
    invitation_for,
    new_game_id,
    new_salt,
    new_token,
    same,
    token_for,
)
from service.watch import Watch

MOST_NAME_CHARACTERS = 40
MOST_SEED_CHARACTERS = 200
MOST_ATTEMPTS = 32
"""How often a change is tried anew after somebody else's came first."""

SHORTEST_CLAIM_KEY = 16
"""An Idempotency-Key that takes a seat opens it again, so it must not be easy to guess."""

HEARTBEAT_SECONDS = 15.0
"""How long a follower hears nothing at the most."""

_LOCKS = 64
_PAGE = 100
_MOST_WAITED_EVENTS = 1000
_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that show nothing."""
_JOINERS = "\u200c\u200d"
"""Invisible, but needed to write some languages and emoji."""


class PracticeWish(Struct, frozen=True, kw_only=True):
    """Which cards a practice table is to have: a seed, an order of the pack, or both."""

    seed: str | None = None
    order: tuple[Card, ...] | None = None
    dealer: int | None = None


class NewTable(Struct, frozen=True, kw_only=True):
    """What somebody asks for who makes a table."""

    variant: str
    name: str
    options: Choices
    seats: int
    public: bool
    autostart: bool
    private: bool = False
    spectators: bool = True
    computers: tuple[Level, ...] = ()
    practice: PracticeWish | None = None


class Terms(Struct, frozen=True):
    """On which terms a change is asked for.

    `version`: only if the game is still at that one. `key`: once only; a repeat with the same key
    and the same wish gets the first answer.
    """

    version: int | None = None
    key: str | None = None


NO_TERMS = Terms()


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
    """What a follower learns: entries of the log, or none for a sign of life."""

    game: Game
    seat: int | None
    logged: tuple[Logged, ...]


class Tables:
    """All that can be done with games. Holds no state but its connections to the store."""

    def __init__(self, store: Store, watch: Watch, clock: Callable[[], int] | None = None) -> None:
        """`clock` gives the time in milliseconds since 1970 (UTC)."""
        self._store = store
        self._watch = watch
        self.clock = clock or _milliseconds
        self._going_on = [threading.Lock() for _ in range(_LOCKS)]

    # --------------------------------------------------------------------------- tables and seats

    def create(self, wanted: NewTable, terms: Terms = NO_TERMS) -> SeatTaken:
        """Make a table; its maker has the first seat and is the host.

        Raises OptionsRefused, BadPractice, BadTable, BadText, NoSuchVariant, BadIdempotencyKey and
        IdempotencyKeyReused.
        """
        name = _clean("name", wanted.name, MOST_NAME_CHARACTERS)
        claim = _claim(terms, "create", wanted)
        game_id = game_id_for(claim.key, "game") if claim else new_game_id()
        if claim:
            with suppress(NoSuchGame):
                if earlier := self._claimed_before(game_id, claim):
                    return earlier
        token, salt = _new_token(game_id, claim)
        now = self.clock()
        before = _empty_table(wanted, game_id, token, now)
        game, joined = seated(before, Seat(name, hash_of(token)), secrets.token_hex(32))
        game, events = _with_computers(game, wanted.computers)
        events = joined + events
        game, steps = carried_on(before, game, now)
        game, logged = _logged(before, game, (Step(events), *steps), now)
        try:
            if claim:
                self._store.commit(
                    game, logged, claim.mark, _memory(claim.mark, game, logged, 0, salt)
                )
            else:
                self._store.commit(game, logged)
        except LostRace as race:
            if claim and race.remembered:
                return self._claimed(race.current, claim, race.remembered)
            raise IdempotencyKeyReused(
                "This Idempotency-Key made a table more than a day ago; take a new one."
            ) from race
        return _seat_taken(game, token, logged)

    def join(
        self, game_id: str, name: str, invitation: str | None = None, terms: Terms = NO_TERMS
    ) -> SeatTaken:
        """Take the next free seat; the match starts with the last one if the table says so.

        Raises NoSuchGame, AlreadyStarted, TableClosed, TableFull, BadText, InvitationNeeded,
        StaleVersion, OptionsDoNotFit, TooBusy, BadIdempotencyKey and IdempotencyKeyReused.
        """
        claim = _claim(terms, "join", [name, invitation])
        if claim and (earlier := self._claimed_before(game_id, claim)):
            return earlier
        token, salt = _new_token(game_id, claim)
        seat = Seat(_clean("name", name, MOST_NAME_CHARACTERS), hash_of(token))
        code = None if invitation is None else hash_of_invitation(game_id, invitation)

        def take_seat(game: Game, _now: int) -> tuple[Game, tuple[Event, ...]]:
            _guard_version(game, terms.version)
            guard_open(game)
            guard_invited(game, code)
            return seated(game, seat, secrets.token_hex(32))

        mark = claim.mark if claim else None
        done = self._change(game_id, take_seat, mark, seat, salt)
        if claim and done.replayed is not None:
            return self._claimed(done.game, claim, done.replayed)
        return _seat_taken(done.game, token, done.logged)

    def rematch(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> SeatTaken:
        """Take the own seat in the game that follows a finished one, and make that if need be.

        The same people, computers and options; who comes sits in the order of the old seats. Asked
        again it gives the same seat and token. Raises MatchNotOver, NotStarted, TableClosed, and as
        `join` does.
        """
        old = self._current(game_id)
        place = _seat_of(old, token)
        # Every seat comes to the same id, so that all of them at once make one game.
        new_id = game_id_for(old.seats[old.host].token_hash or "", f"rematch of {old.id}")
        key = token_for(new_id, token, "rematch")
        mark = _mark(terms, ("rematch",), hash_of(key))
        if not self._is_remembered(new_id, mark):
            _guard_version(old, terms.version)
        if guard_playing(old).result is None:
            raise MatchNotOver("A rematch can be asked for when the match is over.")
        self._make_rematch(old, new_id)
        seat = Seat(old.seats[place].name, hash_of(key), place=place)

        def take_seat(game: Game, _now: int) -> tuple[Game, tuple[Event, ...]]:
            if _find(game, seat.token_hash) is not None:
                return game, ()
            return seated(game, seat, secrets.token_hex(32))

        done = self._change(new_id, take_seat, mark, seat)
        self._point_to(old, new_id)
        if done.replayed is not None:
            return self._taken_before(done.game, key, done.replayed)
        return _seat_taken(done.game, key, done.logged, replayed=not done.logged)

    def start(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Begin the match with those who sit there; for the host.

        Raises NotTheHost, AlreadyStarted, TableClosed, TooFewPlayers, OptionsDoNotFit,
        StaleVersion and IdempotencyKeyReused.
        """
        return self._change_from_seat(
            game_id,
            token,
            terms,
            ("start",),
            lambda game, seat, _: begun(_hosted(game, seat), secrets.token_hex(32)),
        )

    def add_computers(
        self, game_id: str, token: str, levels: Sequence[Level], terms: Terms = NO_TERMS
    ) -> Outcome:
        """Give the next free seats to computer players of these levels; for the host.

        Raises NotTheHost, AlreadyStarted, TableClosed, TableFull, OptionsDoNotFit, StaleVersion and
        IdempotencyKeyReused.
        """
        return self._change_from_seat(
            game_id,
            token,
            terms,
            ("computers", levels),
            lambda game, seat, _: _with_computers(_hosted(game, seat), levels),
        )

    def remove(self, game_id: str, token: str, seat: int, terms: Terms = NO_TERMS) -> Outcome:
        """Free the seat of somebody else before the start; for the host.

        Raises NotTheHost, AlreadyStarted, TableClosed, NoSuchSeat, OwnSeat, StaleVersion and
        IdempotencyKeyReused.
        """
        return self._change_from_seat(
            game_id,
            token,
            terms,
            ("remove", seat),
            lambda game, by, _: removed(_hosted(game, by), by, seat),
        )

    def close(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Give the table up before the start; for the host. Nothing happens to a closed one.

        Raises NotTheHost, AlreadyStarted, StaleVersion and IdempotencyKeyReused.
        """
        return self._change_from_seat(
            game_id, token, terms, ("close",), lambda game, seat, _: closed(_hosted(game, seat))
        )

    def leave(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Give the own seat up: before the start to anybody, then to the computer.

        Nothing happens to one that was left before. Raises TableClosed, MatchOver, StaleVersion and
        IdempotencyKeyReused.
        """
        return self._change_from_seat(
            game_id, token, terms, ("leave",), lambda game, seat, _: left(game, seat)
        )

    def come_back(self, game_id: str, token: str, terms: Terms = NO_TERMS) -> Outcome:
        """Take the own seat back from the computer. Nothing happens if it does not play it.

        Raises NotStarted, TableClosed, MatchOver, StaleVersion and IdempotencyKeyReused.
        """
        return self._change_from_seat(
            game_id, token, terms, ("return",), lambda game, seat, _: returned(game, seat)
        )

    # ------------------------------------------------------------------------------------ playing

    def play(
        self, game_id: str, token: str, move: Move, terms: Terms = NO_TERMS, wait_seconds: int = 0
    ) -> Outcome:
        """Make one move; then wait so long for the caller to be able to act again.

        Raises NotStarted, TableClosed, SeatAway, StaleVersion, IdempotencyKeyReused and what the
        rules refuse with.
        """
        return self._play(
            game_id,
            token,
            terms,
            ("move", move),
            lambda match, seat, now: apply(match, seat, move, now),
            wait_seconds,
        )

    def play_turn(
        self,
        game_id: str,
        token: str,
        plays: Sequence[Play],
        discard: Card | None,
        terms: Terms = NO_TERMS,
        wait_seconds: int = 0,
    ) -> Outcome:
        """Make the rest of a turn: the plays in order, then the discard; all of it or nothing.

        Waits and raises as `play` does, and raises TurnUnfinished.
        """
        return self._play(
            game_id,
            token,
            terms,
            ("turn", plays, discard),
            lambda match, seat, now: apply_turn(match, seat, plays, discard, now),
            wait_seconds,
        )

    def check(
        self, game_id: str, token: str, move: Move, terms: Terms = NO_TERMS
    ) -> tuple[Game, Game | None, int]:
        """What `play` would do, without doing it: the game now, the game then, and the seat.

        The game then is None where it would show what is hidden now. Raises as `play` does.
        """
        return self._check(
            game_id, token, terms, lambda match, seat, now: apply(match, seat, move, now)
        )

    def check_turn(
        self,
        game_id: str,
        token: str,
        plays: Sequence[Play],
        discard: Card | None,
        terms: Terms = NO_TERMS,
    ) -> tuple[Game, Game | None, int]:
        """What `play_turn` would do, as `check`."""
        return self._check(
            game_id,
            token,
            terms,
            lambda match, seat, now: apply_turn(match, seat, plays, discard, now),
        )

    # ------------------------------------------------------------------------------------ looking

    def look(
        self,
        game_id: str,
        token: str | None,
        wait_seconds: int = 0,
        known: Callable[[int], bool] = lambda _: False,
    ) -> tuple[Game, int | None]:
        """The game, and the caller's seat; None without a token.

        Waits so long for a version that is not `known`, or for a timed call to close. Raises
        BadToken, NotYourSeat and NoSpectators.
        """
        game = self._current(game_id)
        seat = _seen_from(game, token)
        closing = _call_closes(game)
        was_open = closing is not None and self.clock() < closing

        def is_news(game: Game, now: int) -> bool:
            if not known(game.version):
                return True
            # Who may draw now may have looked when the call was open still.
            return closing is not None and now >= closing and (was_open or may_act(game, seat, now))

        game = self._wait(game, wait_seconds, is_news)
        return game, _seen_from(game, token)

    def look_from_seat(self, game_id: str, token: str) -> tuple[Game, int]:
        """The game, and the seat of a caller who must have one. Raises as `look` does."""
        game = self._current(game_id)
        return game, _seat_of(game, token)

    def games_of(
        self, tokens: Sequence[str]
    ) -> tuple[tuple[tuple[int, Game, int], ...], tuple[int, ...]]:
        """What each token opens, the most urgent game first: the token's place, game and seat.

        First those where the seat can act now, by deadline; then those being played, those waiting,
        those that are over. The second value are the places of tokens that open nothing any more.
        Raises BadToken.
        """
        found: list[tuple[int, Game, int]] = []
        gone: list[int] = []
        games = self._store.load_many([game_id_of(token) for token in tokens])
        for place, (token, stored) in enumerate(zip(tokens, games, strict=True)):
            game = self._gone_on(stored) if stored else None
            seat = _find(game, hash_of(token)) if game else None
            if game is None or seat is None:
                gone.append(place)
            else:
                found.append((place, game, seat))
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
        game, logged = self._read(game_id, after, limit)
        seat = _seen_from(game, token)
        if not logged and wait_seconds:
            self._wait(game, wait_seconds, lambda game, _: game.events > after)
            game, logged = self._read(game_id, after, limit)
            seat = _seen_from(game, token)
        return game, seat, logged

    def follow(self, game_id: str, token: str | None, after: int | None) -> Iterator[News]:
        """The game as it is, then its log after that entry (None: from now on) as it grows.

        Ends with the match or with the worker, and when the game has expired or the seat is not
        there any more. There is something at least each HEARTBEAT_SECONDS. Raises as `look` does,
        at the first item.
        """
        game = self._current(game_id)
        seat = _seen_from(game, token)
        yield News(game, seat, ())
        last = game.events if after is None else min(after, game.events)
        with self._watch.listen(game_id) as bell:
            heard = time.monotonic()
            while not self._watch.stopping:
                try:
                    game, logged = self._read(game_id, last, _PAGE)
                    seat = _seen_from(game, token)
                except StoreUnavailable:  # it may come back: the follower only hears that we live
                    logged = ()
                except RummyError:  # the game has expired, or the seat is not there any more
                    return
                if logged:
                    last = logged[-1].number
                    heard = time.monotonic()
                    yield News(game, seat, logged)
                    continue
                if game.status in {"finished", "closed"} and last >= game.events:
                    return
                silent = time.monotonic() - heard
                if silent >= HEARTBEAT_SECONDS:
                    heard = time.monotonic()
                    yield News(game, seat, ())
                    continue
                bell.wait(self._until_next(game, HEARTBEAT_SECONDS - silent))

    def results(self, game_id: str, after: int, limit: int) -> tuple[DealResult, ...]:
        """Up to `limit` results of finished deals after the one numbered `after`, in order."""
        return self._store.results(game_id, after, limit)

    def expires_at(self, game: Game) -> int:
        """When the game is deleted if it does not change any more (milliseconds)."""
        return self._store.expires_at(game)

    def check_store(self) -> None:
        """Raises StoreUnavailable if the store does not answer."""
        self._store.ping()

    # ----------------------------------------------------------------------------- how it is done

    def _play(
        self,
        game_id: str,
        token: str,
        terms: Terms,
        wish: object,
        move: Callable[[Match, int, int], Change],
        wait_seconds: int,
    ) -> Outcome:
        def make_move(game: Game, seat: int, now: int) -> tuple[Game, tuple[Event, ...]]:
            match = guard_playing(game)
            guard_present(game, seat)
            match, events = move(match, seat, now)
            game = replace(game, match=match)
            return with_seat(game, seat, replace(game.seats[seat], forced=0)), events

        outcome = self._change_from_seat(game_id, token, terms, wish, make_move)
        return self._waited(outcome, wait_seconds)

    def _check(
        self,
        game_id: str,
        token: str,
        terms: Terms,
        move: Callable[[Match, int, int], Change],
    ) -> tuple[Game, Game | None, int]:
        game = self._current(game_id)
        seat = _seat_of(game, token)
        _guard_version(game, terms.version)
        match = guard_playing(game)
        guard_present(game, seat)
        now = self.clock()
        match, events = move(match, seat, now)
        if any(map(_reveals, events)):
            return game, None, seat
        then = replace(game, match=match)
        if match.deal and game.seats[match.deal.turn].played_by is None:
            then, _ = carried_on(game, then, now)  # nobody plays on: it sets the deadline
        then, _ = _logged(game, then, (Step(events),), now)
        return game, then, seat

    def _waited(self, outcome: Outcome, seconds: int) -> Outcome:
        """The outcome once the caller can act again, or when the time is up."""
        game, seat = outcome.game, outcome.seat
        if not seconds or seat is None or not outcome.logged:
            return outcome

        def is_time(game: Game, now: int) -> bool:
            return game.status != "playing" or may_act(game, seat, now)

        # The move counts whatever happens from here on, so its answer is given in any case.
        with suppress(RummyError):
            self._wait(game, seconds, is_time)
            first = outcome.logged[0].number
            game, logged = self._read(game.id, first - 1, _MOST_WAITED_EVENTS)
            return replace(outcome, game=game, logged=logged)
        return outcome

    def _current(self, game_id: str) -> Game:
        """The game as it is now, with what was due done."""
        return self._gone_on(self._store.load(game_id))

    def _read(self, game_id: str, after: int, limit: int) -> tuple[Game, tuple[Logged, ...]]:
        """As Store.read, with what was due done."""
        game, logged = self._store.read(game_id, after, limit)
        if is_due(game, self.clock()):
            self._gone_on(game)
            game, logged = self._store.read(game_id, after, limit)
        return game, logged

    def _gone_on(self, game: Game) -> Game:
        """Do what is due. Whoever only looks is not refused because that cannot be stored now."""
        if not is_due(game, self.clock()):
            return game
        # Of all who wait for one game in this process, one works out how it goes on.
        with self._going_on[hash(game.id) % len(self._going_on)], suppress(StoreUnavailable):
            game = self._store.load(game.id)
            while is_due(game, now := self.clock()):
                after, steps = gone_on(game, now)
                after, logged = _logged(game, after, steps, now)
                try:
                    self._store.commit(after, logged)
                except LostRace as race:
                    game = race.current
                else:
                    game = after
        return game

    def _wait(self, game: Game, seconds: int, is_time: Callable[[Game, int], bool]) -> Game:
        """The game as soon as it is time, or after so many seconds."""
        if not seconds or is_time(game, self.clock()):
            return game
        end = time.monotonic() + seconds
        with self._watch.listen(game.id) as bell:
            while True:
                game = self._current(game.id)
                left = end - time.monotonic()
                if left <= 0 or is_time(game, self.clock()) or self._watch.stopping:
                    return game
                bell.wait(self._until_next(game, left))

    def _until_next(self, game: Game, seconds: float) -> float:
        """So long, or until something happens by itself if that is sooner."""
        now = self.clock()
        moment = next_moment(game, now)
        return seconds if moment is None else min(seconds, (moment - now) / 1000)

    def _change_from_seat(
        self,
        game_id: str,
        token: str,
        terms: Terms,
        wish: object,
        act: Callable[[Game, int, int], tuple[Game, tuple[Event, ...]]],
    ) -> Outcome:
        """A change by somebody who has a seat: `act` gets game, seat and time."""
        owner = hash_of(token)

        def act_from_seat(game: Game, now: int) -> tuple[Game, tuple[Event, ...]]:
            seat = _seat_of(game, token)
            _guard_version(game, terms.version)
            return act(game, seat, now)

        done = self._change(game_id, act_from_seat, _mark(terms, wish, owner))
        seat = _find(done.game, owner)
        if done.replayed is None:
            return Outcome(game=done.game, seat=seat, version=done.game.version, logged=done.logged)
        return Outcome(
            game=done.game,
            seat=seat,
            version=done.replayed.version,
            logged=self._events_of(game_id, done.replayed),
            replayed=True,
        )

    def _change(
        self,
        game_id: str,
        act: Callable[[Game, int], tuple[Game, tuple[Event, ...]]],
        mark: Mark | None = None,
        seat: Seat | None = None,
        salt: str = "",
    ) -> "_Done":
        """Load, act, commit, with what is due before and after it.

        A request with a mark that was carried out before is not carried out again. After a lost
        race all of it is decided anew on the fresh record. `seat` is the one that is to be taken.
        """
        remembered = None
        if mark:
            game, remembered = self._store.load_marked(game_id, mark)
        else:
            game = self._store.load(game_id)
        for _ in range(MOST_ATTEMPTS):
            if mark and remembered:
                _guard_same_request(mark, remembered)
                return _Done(self._gone_on(game), (), remembered)
            now = self.clock()
            due = is_due(game, now)
            if due:
                after, steps = gone_on(game, now)
            else:
                after, events = act(game, now)
                if not events:
                    return _Done(game, ())
                after, more = carried_on(game, after, now)
                steps = (Step(events), *more)
            after, logged = _logged(game, after, steps, now)
            memory = None
            if mark and not due:
                number = after.seats.index(seat) if seat else 0
                memory = _memory(mark, after, logged, number, salt)
            try:
                self._store.commit(after, logged, mark, memory)
            except LostRace as race:
                game, remembered = race.current, race.remembered
                continue
            if not due:
                return _Done(after, logged)
            game = after
        raise TooBusy("Others changed the game faster than this request could; send it again.")

    def _make_rematch(self, old: Game, new_id: str) -> None:
        """The table for the rematch, at which only the computer players sit; if it is not there."""
        now = self.clock()
        before = Game(
            id=new_id,
            version=0,
            created_at=now,
            changed_at=now,
            variant=old.variant,
            chosen=old.chosen,
            seats=(),
            size=old.size,
            public=False,
            autostart=old.autostart,
            practice=old.practice,
            spectators=old.spectators,
            rematch_of=old.id,
        )
        game, events = before, tuple[Event, ...]()
        for place, seat in enumerate(old.seats):
            if not seat.is_persons:
                again = replace(seat, place=place)
                game, joined = seated(game, again, "")
                events += joined
        game, logged = _logged(before, game, (Step(events),), now)
        with suppress(LostRace):
            self._store.commit(game, logged)

    def _point_to(self, old: Game, new_id: str) -> None:
        if old.rematch is None:
            self._change(
                old.id,
                lambda game, _: (
                    (game, ())
                    if game.rematch
                    else (replace(game, rematch=new_id), (Rematch(new_id),))
                ),
            )

    def _claimed_before(self, game_id: str, claim: "_Claim") -> SeatTaken | None:
        """What an earlier request with the same key got. Raises NoSuchGame."""
        game, remembered = self._store.load_marked(game_id, claim.mark)
        return self._claimed(game, claim, remembered) if remembered else None

    def _is_remembered(self, game_id: str, mark: Mark | None) -> bool:
        with suppress(NoSuchGame):
            return mark is not None and self._store.load_marked(game_id, mark)[1] is not None
        return False

    def _claimed(self, game: Game, claim: "_Claim", remembered: Remembered) -> SeatTaken:
        _guard_same_request(claim.mark, remembered)
        token = token_for(game.id, claim.key, remembered.salt)
        return self._taken_before(self._gone_on(game), token, remembered)

    def _taken_before(self, game: Game, token: str, remembered: Remembered) -> SeatTaken:
        return SeatTaken(
            game=game,
            seat=_find(game, hash_of(token)),
            version=remembered.version,
            logged=self._events_of(game.id, remembered),
            replayed=True,
            taken=remembered.seat,
            token=token,
            invitation=_invitation(game, token),
        )

    def _events_of(self, game_id: str, remembered: Remembered) -> tuple[Logged, ...]:
        count = remembered.last - remembered.first + 1
        return self._store.events(game_id, remembered.first - 1, count) if count else ()


class _Claim(Struct, frozen=True):
    """The Idempotency-Key of a request that takes a seat."""

    key: str
    mark: Mark


class _Done(Struct, frozen=True):
    """What a change came to: the game, what it logged; or the earlier request that it repeats."""

    game: Game
    logged: tuple[Logged, ...]
    replayed: Remembered | None = None


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


def _claim(terms: Terms, operation: str, wish: object) -> _Claim | None:
    if terms.key is None:
        return None
    if len(terms.key) < SHORTEST_CLAIM_KEY:
        raise BadIdempotencyKey(
            "Who repeats a request that takes a seat is given its token again, so the "
            f"Idempotency-Key must be hard to guess: at least {SHORTEST_CLAIM_KEY} characters, "
            "such as a UUID."
        )
    return _Claim(terms.key, Mark(hash_of(terms.key), _request_hash((operation, wish))))


def _new_token(game_id: str, claim: _Claim | None) -> tuple[str, str]:
    """A token, and the salt that it can be made from again with the key of the claim."""
    if claim is None:
        return new_token(game_id), ""
    salt = new_salt()
    return token_for(game_id, claim.key, salt), salt


def _mark(terms: Terms, wish: object, owner: str) -> Mark | None:
    """What a request of that seat is remembered by, if it has a key."""
    return Mark(hash_of(terms.key), _request_hash(wish), owner) if terms.key else None


def _request_hash(wish: object) -> str:
    return hash_of(msgspec.json.encode(wish, order="sorted").decode())


def _guard_same_request(mark: Mark, remembered: Remembered) -> None:
    if remembered.request != mark.request:
        raise IdempotencyKeyReused(
            "This Idempotency-Key came with another request before; take a new one for each."
        )


def _memory(mark: Mark, game: Game, logged: Sequence[Logged], seat: int, salt: str) -> Remembered:
    last = game.events
    return Remembered(mark.request, game.version, last - len(logged) + 1, last, seat, salt)


def _empty_table(wanted: NewTable, game_id: str, token: str, now: int) -> Game:
    """The table before its maker sits down. Raises what a table is refused with."""
    rules = agree(wanted.variant, wanted.seats, wanted.options)
    if len(wanted.computers) >= wanted.seats:
        most = wanted.seats - 1
        raise BadTable(
            f"computers: with {wanted.seats} seats there is room for {most} beside yours.",
            field="computers",
            seats=wanted.seats,
        )
    if wanted.public and wanted.private:
        raise BadTable(
            "private: a public table is for everybody; choose one of the two.", field="private"
        )
    practice = _practice(wanted.practice)
    if practice:  # what cannot be dealt is refused now, not when the last player comes
        new_match(rules, practice.seed, practice.dealer, practice.order)
    code = invitation_for(token)
    return Game(
        id=game_id,
        version=0,
        created_at=now,
        changed_at=now,
        variant=wanted.variant,
        chosen=dict(wanted.options),
        seats=(),
        size=wanted.seats,
        public=wanted.public,
        autostart=wanted.autostart,
        practice=practice,
        invitation=hash_of_invitation(game_id, code) if wanted.private else None,
        spectators=wanted.spectators,
    )


def _with_computers(game: Game, levels: Sequence[Level]) -> tuple[Game, tuple[Event, ...]]:
    """The next free seats given to computer players. Raises as `seated` does."""
    guard_open(game)
    free = game.size - len(game.seats)
    if len(levels) > free:
        raise TableFull(
            f"{free} of {game.size} seats are free, too few for {len(levels)}.", seats=game.size
        )
    events: tuple[Event, ...] = ()
    for level in levels:
        game, joined = seated(game, computer_seat(game, level), secrets.token_hex(32))
        events += joined
    return game, events


def _seat_taken(
    game: Game, token: str, logged: tuple[Logged, ...], *, replayed: bool = False
) -> SeatTaken:
    seat = _seat_of(game, token)
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


def _logged(
    before: Game, game: Game, steps: Sequence[Step], now: int
) -> tuple[Game, tuple[Logged, ...]]:
    """The next version, and its log: numbered on, each step a moment after the one before.

    The times of a log never go back, whatever the clocks of the workers say.
    """
    start = max(now, before.changed_at)
    version, number = before.version + 1, before.events
    logged = []
    for offset, step in enumerate(steps):
        for event in step.events:
            number += 1
            logged.append(Logged(number, version, start + offset, event, step.forced))
    changed_at = logged[-1].at if logged else start
    return replace(game, version=version, changed_at=changed_at, events=number), tuple(logged)


def _hosted(game: Game, seat: int) -> Game:
    """The game, if that is the host's seat."""
    if seat != game.host:
        raise NotTheHost("Only the host of the table may do this.", host=game.host)
    return game


def _guard_version(game: Game, version: int | None) -> None:
    """The game is still at the version that the request is pinned to, if it is pinned."""
    if version is not None and game.version != version:
        raise StaleVersion(
            f"The game is at version {game.version}, not {version}; look again.",
            version=game.version,
            expected=version,
        )


def _reveals(event: Event) -> bool:
    """Whether whoever foresees this event learns what is hidden before it."""
    if isinstance(event, Drew):
        return event.source == "stock"
    return isinstance(event, DealEnded | TurnedOver)


def _call_closes(game: Game) -> int | None:
    """When a timed call of the upcard closes or has closed, if there is one."""
    deal = game.match.deal if game.match else None
    return deal.window.closes if deal and deal.window else None


def _practice(wish: PracticeWish | None) -> Practice | None:
    if wish is None:
        return None
    if wish.seed is None and wish.order is None:
        raise BadPractice("A practice table needs a seed, or the order of the cards.")
    seed = secrets.token_hex(32)
    if wish.seed is not None:
        seed = _clean("practice.seed", wish.seed, MOST_SEED_CHARACTERS)
    return Practice(seed, wish.order, wish.dealer)


def _seen_from(game: Game, token: str | None) -> int | None:
    """The caller's seat; None for a spectator. Raises BadToken, NotYourSeat, NoSpectators."""
    if token is not None:
        return _seat_of(game, token)
    if not game.spectators and game.match is not None:
        raise NoSpectators("This match is for those who play it; send the token of a seat.")
    return None


def _seat_of(game: Game, token: str) -> int:
    """The seat that the token opens. Raises BadToken, NotYourSeat."""
    game_id_of(token)
    found = _find(game, hash_of(token))
    if found is None:
        raise NotYourSeat("The token is not of a seat at this table.")
    return found


def _find(game: Game, token_hash: str | None) -> int | None:
    """The seat with that hash of its token."""
    found = None
    for number, seat in enumerate(game.seats):
        if token_hash is not None and same(seat.token_hash, token_hash):
            found = number
    return found


def _clean(field: str, text: str, most: int) -> str:
    """The text in composed form with single spaces; BadText if it is empty, long or unprintable."""
    for sign in text:
        category = unicodedata.category(sign)
        hidden = sign in _BLANK or (category == "Cf" and sign not in _JOINERS)
        if hidden or category in _UNPRINTABLE:
            raise BadText(
                f"{field}: U+{ord(sign):04X} is a control or invisible character; leave it out.",
                field=field,
            )
    clean = " ".join(unicodedata.normalize("NFC", text).split())
    if not clean.strip(_JOINERS + " "):
        clean = ""
    if not 1 <= len(clean) <= most:
        raise BadText(f"{field}: must have 1 to {most} characters, not {len(clean)}.", field=field)
    return clean


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000

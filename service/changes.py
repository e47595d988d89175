"""How a game comes from one version to the next: the one loop that every change goes through.

What is due is done first (see `autoplay`), then the request is judged, then the computers play; all
of it is one commit, with what the request's Idempotency-Key is remembered by.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from service import metrics
from service.autoplay import Step, carried_on, gone_on, is_due
from service.counting import count
from service.errors import (
    BadIdempotencyKey,
    IdempotencyKeyReused,
    RummyError,
    StaleVersion,
    StoreUnavailable,
    TooBusy,
)
from service.game import Event, Game, Logged, Remembered
from service.seating import find_seat, first_commitment
from service.store import LostRace, Mark, Store
from service.text import Text
from service.tokens import Chance, hash_of, new_salt, new_seed, new_token, token_for

MOST_ATTEMPTS = 32
"""How often a change is tried anew after somebody else's came first."""

SHORTEST_CLAIM_KEY = 16
"""An Idempotency-Key that takes a seat opens it again, so it must not be easy to guess."""

_LOCKS = 64
_LOCK_SECONDS = 1.0

Act = Callable[[Game, int], tuple[Game, tuple[Event, ...]]]
"""Decides on a request by the game and the time (ms). No events: there is nothing to change."""


class Terms(Struct, frozen=True):
    """On which terms a change is asked for.

    `version`: only if the game is still at that one. `key`: once only; a repeat with the same key
    and the same wish gets the first answer.
    """

    version: int | None = None
    key: str | None = None


NO_TERMS = Terms()


class Claim(Struct, frozen=True):
    """The seat that a request takes: its token, and the salt that the token was made with."""

    token: str
    salt: str = ""


class Done(Struct, frozen=True):
    """What a change came to: the game, what it logged; or the earlier request that it repeats."""

    game: Game
    logged: tuple[Logged, ...]
    repeats: Remembered | None = None


class Changes:
    """The games in a store, as they go on. Holds no state of theirs."""

    def __init__(self, store: Store, clock: Callable[[], int], chance: Chance) -> None:
        """`clock` gives the time in milliseconds since 1970 (UTC)."""
        self._store = store
        self._clock = clock
        self._chance = chance
        self._going_on = [threading.Lock() for _ in range(_LOCKS)]

    def begin(
        self,
        empty: Game,
        game: Game,
        events: tuple[Event, ...],
        mark: Mark | None = None,
        claim: Claim | None = None,
    ) -> Done:
        """Store the first version of a game, which `events` led to from the `empty` table.

        If it is there already nothing is stored and nothing logged.
        """
        now = self._clock()
        game, steps = carried_on(empty, game, now)
        game, logged = _numbered(empty, game, (Step(events), *steps), now)
        memory = _memory(mark, game, logged, claim) if mark else None
        try:
            self._store.commit(game, logged, mark, memory)
        except LostRace as race:
            return Done(race.current, (), race.remembered)
        metrics.TABLES.inc()
        count(empty, game, logged)
        return Done(game, logged)

    def make(
        self,
        game_id: str,
        act: Act,
        mark: Mark | None = None,
        claim: Claim | None = None,
        who: int | None = None,
    ) -> Done:
        """Load, act, commit, with what is due before and after it.

        A request with a mark that was carried out before is not carried out again. After a lost
        race all of it is decided anew on the fresh record. Raises what `act` raises, NoSuchGame,
        IdempotencyKeyReused and TooBusy.

        Most who change a game have just looked at it here: so it is tried on the copy that this
        process has, which saves loading it. The commit says whether that was right, and whatever
        comes of it but a commit is decided anew too, on what the store has. `who` asks, as a number
        that tells callers apart: whoever left the turn to others and comes back without a look has
        missed their moves, if those were made elsewhere, and so has the copy.
        """
        try:
            done = None if claim else self._guessed(game_id, act, mark, who)
        except LostRace as race:
            game, earlier = race.current, race.remembered
        else:
            if done:
                return done
            game, earlier = self._loaded(game_id, mark)
        for _ in range(MOST_ATTEMPTS):
            if mark and earlier:
                guard_same_request(mark, earlier)
                return Done(self.gone_on(game), (), earlier)
            now = self._clock()
            due = is_due(game, now)
            if due:
                after, steps = gone_on(game, now)
                after, logged = _numbered(game, after, steps, now)
            else:
                decided = self._decided(game, act, mark, now)
                if decided is None:
                    return Done(game, ())
                after, logged = decided
            memory = None if due or not mark else _memory(mark, after, logged, claim)
            try:
                self._store.commit(after, logged, mark, memory)
            except LostRace as race:
                game, earlier = race.current, race.remembered
                continue
            self._note(game, after, logged, who)
            if not due:
                return Done(after, logged)
            game = after
        raise TooBusy(
            Text("Others changed the game faster than this request could; send it again.")
        )

    def _guessed(self, game_id: str, act: Act, mark: Mark | None, who: int | None) -> Done | None:
        """What comes of it if the game is as this process knows it; None: that has to be loaded.

        As it has to be if the request would be refused, or change nothing, or something is due
        before it. Raises LostRace if the game has gone on, or the request was carried out before.
        """
        copy, now = self._store.copy_of(game_id), self._clock()
        if copy is None or (who is not None and copy.left_by == who) or is_due(copy.game, now):
            return None
        try:
            decided = self._decided(copy.game, act, mark, now)
        except RummyError:
            return None
        if decided is None:
            return None
        game, logged = decided
        memory = _memory(mark, game, logged) if mark else None
        self._store.commit(game, logged, mark, memory, copy)
        self._note(copy.game, game, logged, who)
        return Done(game, logged)

    def _note(self, before: Game, game: Game, logged: Sequence[Logged], who: int | None) -> None:
        """A change has been stored."""
        count(before, game, logged)
        copy = self._store.copy_of(game.id)
        if copy is not None and _turn(before) != _turn(game):
            copy.left_by = who

    def _loaded(self, game_id: str, mark: Mark | None) -> tuple[Game, Remembered | None]:
        return self._store.load_marked(game_id, mark) if mark else (self._store.load(game_id), None)

    def _decided(
        self, game: Game, act: Act, mark: Mark | None, now: int
    ) -> tuple[Game, tuple[Logged, ...]] | None:
        """The next version and its log; None: nothing is to be changed, nor to be remembered."""
        game, fixed = _with_seed(game, self._chance)
        after, events = act(game, now)
        events = fixed + events
        if not events and mark is None:
            return None
        after, more = carried_on(game, after, now)
        return _numbered(game, after, (Step(events), *more), now)

    def current(self, game_id: str) -> Game:
        """The game as it is now, with what was due done."""
        return self.gone_on(self._store.load(game_id))

    def read(self, game_id: str, after: int, limit: int) -> tuple[Game, tuple[Logged, ...]]:
        """As Store.read, with what was due done."""
        game, logged = self._store.read(game_id, after, limit)
        if is_due(game, self._clock()):
            self.gone_on(game)
            game, logged = self._store.read(game_id, after, limit)
        return game, logged

    def gone_on(self, game: Game) -> Game:
        """Do what is due. Whoever only looks is not refused because that cannot be stored now."""
        if not is_due(game, self._clock()):
            return game
        # Of all who wait for one game in this process, one works out how it goes on. The others do
        # not wait one after another for a store that does not answer.
        lock = self._going_on[hash(game.id) % len(self._going_on)]
        if lock.acquire(timeout=_LOCK_SECONDS):
            try:
                with suppress(StoreUnavailable):
                    game = self._go_on(self._store.load(game.id))
            finally:
                lock.release()
        return game

    def _go_on(self, game: Game) -> Game:
        while is_due(game, now := self._clock()):
            after, steps = gone_on(game, now)
            after, logged = _numbered(game, after, steps, now)
            try:
                self._store.commit(after, logged)
            except LostRace as race:
                game = race.current
            else:
                count(game, after, logged)
                game = after
        return game

    def earlier(self, game_id: str, mark: Mark) -> Done | None:
        """What the request with that mark came to if it was carried out before, or None.

        Raises NoSuchGame and IdempotencyKeyReused.
        """
        game, remembered = self._store.load_marked(game_id, mark)
        if remembered is None:
            return None
        guard_same_request(mark, remembered)
        return Done(self.gone_on(game), (), remembered)

    def events_of(self, game_id: str, remembered: Remembered) -> tuple[Logged, ...]:
        """What the remembered request put into the log."""
        count = remembered.last - remembered.first + 1
        return self._store.events(game_id, remembered.first - 1, count) if count else ()


def foreseen(before: Game, game: Game, events: tuple[Event, ...], now: int) -> Game:
    """The game as it would be stored after these events, before any computer plays on."""
    deal = game.match.deal if game.match else None
    if deal and game.seats[deal.turn].played_by is None:
        game, _ = carried_on(before, game, now)  # nobody does: this sets the deadline
    return _numbered(before, game, (Step(events),), now)[0]


def claimed(terms: Terms, game_id: str, chance: Chance) -> Claim:
    """A new token of that game, which can be made again from the key of the terms, if any."""
    if terms.key is None:
        return Claim(new_token(game_id, chance))
    salt = new_salt(chance)
    return Claim(token_for(game_id, terms.key, salt), salt)


def mark_of_claim(terms: Terms, operation: str, wish: object) -> Mark | None:
    """What a request that takes a seat is known by, if it has a key. Raises BadIdempotencyKey."""
    if terms.key is not None and len(terms.key) < SHORTEST_CLAIM_KEY:
        raise BadIdempotencyKey(
            Text(
                "Who repeats a request that takes a seat is given its token again, so the "
                "Idempotency-Key must be hard to guess: at least {least} characters, such as a "
                "UUID."
            ),
            least=SHORTEST_CLAIM_KEY,
        )
    return mark_of(terms, (operation, wish), owner="")


def mark_of(terms: Terms, wish: object, owner: str) -> Mark | None:
    """What a request of the seat with that hash of its token is known by, if it has a key."""
    if terms.key is None:
        return None
    request = hash_of(msgspec.json.encode(wish, order="sorted").decode())
    return Mark(hash_of(terms.key), request, owner)


def guard_version(game: Game, version: int | None) -> None:
    """The game is still at the version that the request is pinned to, if it is pinned."""
    if version is not None and game.version != version:
        raise StaleVersion(
            Text("The game is at version {version}, not {expected}; look again."),
            version=game.version,
            expected=version,
        )


def guard_same_request(mark: Mark, remembered: Remembered) -> None:
    """The request is the one that was made with its key before."""
    if remembered.request != mark.request:
        raise IdempotencyKeyReused(
            Text("This Idempotency-Key came with another request before; take a new one for each.")
        )


def _with_seed(game: Game, chance: Chance) -> tuple[Game, tuple[Event, ...]]:
    """The game with a seed, should it be a table of before seeds were fixed when it was made."""
    if game.seed or game.match or game.closed:
        return game, ()
    game = replace(game, seed=new_seed(chance))
    return game, first_commitment(game)


def _turn(game: Game) -> int | None:
    """Whose turn it is, if a deal is being played."""
    return game.match.deal.turn if game.match and game.match.deal else None


def _numbered(
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


def _memory(
    mark: Mark, game: Game, logged: Sequence[Logged], claim: Claim | None = None
) -> Remembered:
    """What is remembered of a request that led to this version of the game."""
    seat = find_seat(game, claim.token) if claim else None
    return Remembered(
        request=mark.request,
        version=game.version,
        first=game.events - len(logged) + 1,
        last=game.events,
        seat=seat or 0,
        salt=claim.salt if claim else "",
    )

"""The use cases: each loads a game, lets the rules decide and commits, or only looks."""

import base64
import hashlib
import hmac
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from service.errors import (
    AlreadyStarted,
    BadPractice,
    BadText,
    BadToken,
    NoSuchGame,
    NotStarted,
    NotTheHost,
    NotYourSeat,
    OptionsDoNotFit,
    OptionsRefused,
    StaleVersion,
    TableFull,
    TooBusy,
    TooFewPlayers,
)
from service.game import Event, Game, Joined, Logged, Practice, Seat, Started
from service.rummy.cards import Card
from service.rummy.engine import Change, apply, apply_turn, new_match
from service.rummy.model import DealResult, Match, Move, Play
from service.rummy.rules import Choices, agree, clause
from service.store import LostRace, Store

MOST_NAME_CHARACTERS = 40
MOST_SEED_CHARACTERS = 200
MOST_ATTEMPTS = 32
"""How often a change is tried anew after somebody else's came first."""

_FEWEST_PLAYERS = 2
_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that show nothing."""
_JOINERS = "\u200c\u200d"
"""Invisible, but needed to write some languages and emoji."""
_TOKEN = re.compile(r"([a-z2-7]{16})\.[A-Za-z0-9_-]{43}")


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
    practice: PracticeWish | None = None


class Outcome(Struct, frozen=True):
    """A game after a change, the caller's seat, and what the change put into the log."""

    game: Game
    seat: int
    logged: tuple[Logged, ...]


class SeatTaken(Outcome, frozen=True):
    """The outcome of taking a seat, with the token that is its key."""

    token: str


class Tables:
    """All that can be done with games. Holds no state but its connection to the store."""

    def __init__(self, store: Store, clock: Callable[[], int] | None = None) -> None:
        """`clock` gives the time in milliseconds since 1970 (UTC)."""
        self._store = store
        self.clock = clock or _milliseconds

    def create(self, wanted: NewTable) -> SeatTaken:
        """Make a table; its maker has the first seat and is the host.

        Raises OptionsRefused, BadPractice, BadText, NoSuchVariant.
        """
        now = self.clock()
        game_id = base64.b32encode(secrets.token_bytes(10)).decode().lower()
        token, seat = _new_seat(game_id, wanted.name)
        rules = agree(wanted.variant, wanted.seats, wanted.options)
        practice = _practice(wanted.practice)
        if practice:  # what cannot be dealt is refused now, not when the last player comes
            new_match(rules, practice.seed, practice.dealer, practice.order)
        game = Game(
            id=game_id,
            version=1,
            created_at=now,
            changed_at=now,
            variant=wanted.variant,
            chosen=dict(wanted.options),
            seats=(seat,),
            size=wanted.seats,
            public=wanted.public,
            autostart=wanted.autostart,
            practice=practice,
        )
        game, logged = _logged(game, (Joined(0, seat.name),))
        self._store.commit(game, logged)
        return SeatTaken(game, 0, logged, token)

    def join(self, game_id: str, name: str, version: int | None = None) -> SeatTaken:
        """Take the next free seat; the match starts with the last one if the table says so.

        Raises NoSuchGame, AlreadyStarted, TableFull, BadText, StaleVersion, OptionsDoNotFit and
        TooBusy.
        """
        token, seat = _new_seat(game_id, name)

        def take_seat(game: Game, _now: int) -> tuple[Game, tuple[Event, ...]]:
            _guard_version(game, version)
            _guard_waiting(game)
            if len(game.seats) >= game.size:
                raise TableFull(
                    f"All {game.size} seats are taken.",
                    seats=game.size,
                )
            number = len(game.seats)
            game = replace(game, seats=(*game.seats, seat))
            events: tuple[Event, ...] = (Joined(number, seat.name),)
            if game.autostart and len(game.seats) == game.size:
                game, started = _started(game)
                events += started
            return game, events

        game, logged = self._change(game_id, take_seat)
        return SeatTaken(game, game.seats.index(seat), logged, token)

    def start(self, game_id: str, token: str, version: int | None = None) -> Outcome:
        """Begin the match with those who sit there; for the host.

        Raises NotTheHost, AlreadyStarted, TooFewPlayers, OptionsDoNotFit, StaleVersion.
        """

        def begin(game: Game, _now: int) -> tuple[Game, tuple[Event, ...]]:
            if _seat_of(game, token) != 0:
                raise NotTheHost("Only the host, who made the table, starts the match.")
            _guard_version(game, version)
            _guard_waiting(game)
            return _started(game)

        game, logged = self._change(game_id, begin)
        return Outcome(game, 0, logged)

    def play(self, game_id: str, token: str, move: Move, version: int | None = None) -> Outcome:
        """Make one move. Raises NotStarted, StaleVersion and what the rules refuse with."""
        return self._play(
            game_id, token, version, lambda match, seat, now: apply(match, seat, move, now)
        )

    def play_turn(
        self,
        game_id: str,
        token: str,
        plays: Sequence[Play],
        discard: Card | None,
        version: int | None = None,
    ) -> Outcome:
        """Make the rest of a turn: the plays in order, then the discard; all of it or nothing.

        Raises as `play` does, and TurnUnfinished.
        """
        return self._play(
            game_id,
            token,
            version,
            lambda match, seat, now: apply_turn(match, seat, plays, discard, now),
        )

    def look(self, game_id: str, token: str | None) -> tuple[Game, int | None]:
        """The game, and the caller's seat; None without a token. Raises BadToken, NotYourSeat."""
        game = self._store.load(game_id)
        return game, None if token is None else _seat_of(game, token)

    def look_from_seat(self, game_id: str, token: str) -> tuple[Game, int]:
        """The game, and the seat of a caller who must have one. Raises as `look` does."""
        game = self._store.load(game_id)
        return game, _seat_of(game, token)

    def own_game(self, token: str) -> tuple[Game, int] | None:
        """The game that the token is a key of, and the seat; None if the game is gone.

        Raises BadToken and NotYourSeat.
        """
        game_id = _game_id_of(token)
        try:
            return self.look_from_seat(game_id, token)
        except NoSuchGame:
            return None

    def open_tables(self, limit: int, cursor: str | None) -> tuple[tuple[Game, ...], str | None]:
        """Public tables that wait for players, the newest first, and the next page's cursor."""
        return self._store.open_tables(limit, cursor, self.clock())

    def events(self, game_id: str, after: int, limit: int) -> tuple[Logged, ...]:
        """Up to `limit` entries of the log after the one numbered `after`."""
        return self._store.events(game_id, after, limit)

    def results(self, game_id: str, after: int, limit: int) -> tuple[DealResult, ...]:
        """Up to `limit` results of finished deals after the one numbered `after`, in order."""
        return self._store.results(game_id, after, limit)

    def expires_at(self, game: Game) -> int:
        """When the game is deleted if it does not change any more (milliseconds)."""
        return self._store.expires_at(game)

    def check_store(self) -> None:
        """Raises StoreUnavailable if the store does not answer."""
        self._store.ping()

    def _play(
        self,
        game_id: str,
        token: str,
        version: int | None,
        move: Callable[[Match, int, int], Change],
    ) -> Outcome:
        def make_move(game: Game, now: int) -> tuple[Game, tuple[Event, ...]]:
            seat = _seat_of(game, token)
            _guard_version(game, version)
            if game.match is None:
                raise NotStarted("The match has not begun; no cards are dealt.", rule="common.3")
            match, events = move(game.match, seat, now)
            return replace(game, match=match), events

        game, logged = self._change(game_id, make_move)
        return Outcome(game, _seat_of(game, token), logged)

    def _change(
        self,
        game_id: str,
        act: Callable[[Game, int], tuple[Game, tuple[Event, ...]]],
    ) -> tuple[Game, tuple[Logged, ...]]:
        """Load, act, commit. After a lost race `act` decides anew on the fresh record."""
        game = self._store.load(game_id)
        for _ in range(MOST_ATTEMPTS):
            now = self.clock()
            changed, events = act(game, now)
            changed = replace(changed, version=game.version + 1, changed_at=now)
            changed, logged = _logged(changed, events)
            try:
                self._store.commit(changed, logged)
            except LostRace as race:
                game = race.current
            else:
                return changed, logged
        raise TooBusy("Others changed the game faster than this request could; send it again.")


def _started(game: Game) -> tuple[Game, tuple[Event, ...]]:
    """The game with its match begun, for those who sit there."""
    players = len(game.seats)
    if players < _FEWEST_PLAYERS:
        raise TooFewPlayers(
            f"{players} of {game.size} seats is taken; rummy needs {_FEWEST_PLAYERS} players.",
            rule=clause(game.variant, "players"),
            players=players,
        )
    practice = game.practice
    try:
        rules = agree(game.variant, players, game.chosen)
        match, dealt = new_match(
            rules,
            practice.seed if practice else secrets.token_hex(32),
            practice.dealer if practice else None,
            practice.order if practice else None,
        )
    except (OptionsRefused, BadPractice) as error:
        raise OptionsDoNotFit(
            f"With {players} players this table cannot be played: {error.detail}",
            rule=error.rule,
            players=players,
        ) from error
    return replace(game, match=match, size=players), (Started(players), *dealt)


def _guard_version(game: Game, version: int | None) -> None:
    """The game is still at the version that the request is pinned to, if it is pinned."""
    if version is not None and game.version != version:
        raise StaleVersion(
            f"The game is at version {game.version}, not {version}; look again.",
            version=game.version,
            expected=version,
        )


def _guard_waiting(game: Game) -> None:
    if game.match is not None:
        raise AlreadyStarted("The match has begun; seats and options are fixed.")


def _logged(game: Game, events: Sequence[Event]) -> tuple[Game, tuple[Logged, ...]]:
    """The events numbered on from the game's last one, and the game that knows of them."""
    logged = tuple(
        Logged(number, game.version, game.changed_at, event)
        for number, event in enumerate(events, game.events + 1)
    )
    return replace(game, events=game.events + len(logged)), logged


def _practice(wish: PracticeWish | None) -> Practice | None:
    if wish is None:
        return None
    if wish.seed is None and wish.order is None:
        raise BadPractice("A practice table needs a seed, or the order of the cards.")
    seed = secrets.token_hex(32)
    if wish.seed is not None:
        seed = _clean("practice.seed", wish.seed, MOST_SEED_CHARACTERS)
    return Practice(seed, wish.order, wish.dealer)


def _new_seat(game_id: str, name: str) -> tuple[str, Seat]:
    """A token of 256 random bits that also says which game it opens, and the seat it is for."""
    token = f"{game_id}.{secrets.token_urlsafe(32)}"
    return token, Seat(_clean("name", name, MOST_NAME_CHARACTERS), _hash(token))


def _seat_of(game: Game, token: str) -> int:
    """The seat that the token opens. Raises BadToken, NotYourSeat."""
    _game_id_of(token)
    given = _hash(token)
    found = None
    for number, seat in enumerate(game.seats):
        if hmac.compare_digest(seat.token_hash, given):
            found = number
    if found is None:
        raise NotYourSeat("The token is not of a seat at this table.")
    return found


def _game_id_of(token: str) -> str:
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        raise BadToken("The token is not one that this service gives out.")
    return parts[1]


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


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

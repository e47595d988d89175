"""What an operator does with games: find, show, export, close and delete them. See `cli_admin`.

Nobody's hidden cards leave here but by `hidden` and `exported`, and no token's hash at all.
"""

import heapq
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct, convert

from service import format3
from service.changes import Changes
from service.game import Away, Event, Game, Logged, Seat, Status
from service.replay import deals_over, match_replay
from service.rummy.cards import Card
from service.rummy.computer import Level
from service.rummy.model import DealResult, MatchResult
from service.rummy.rules import Deviation, OptionValue, Rules, deviations
from service.rummy.view import instant
from service.seating import rules_of, shut
from service.store import Census, Freeze, Kept, Server, Store

_PAGE = 500


class Listed(Struct, frozen=True, kw_only=True):
    """A game in the list; times in UTC."""

    id: str
    status: Status
    variant: str
    players: tuple[str, ...]
    size: int
    version: int
    changed_at: datetime
    due: datetime | None
    expires_at: datetime


class Found(Struct, frozen=True):
    """Some of the games that fit, in order, and how many fit or cannot be read."""

    games: tuple[Listed, ...]
    fitting: int
    unreadable: int


class SeatShown(Struct, frozen=True):
    """Who sits there, and who plays. `forced` counts the forced turns in a row."""

    name: str
    kind: Literal["person", "computer"]
    computer: Level | None
    away: Away | None
    forced: int


class Hidden(Struct, frozen=True):
    """What no player may know while the match is played, by seat and from the top."""

    seed: str
    hands: tuple[tuple[Card, ...], ...]
    stock: tuple[Card, ...]


class Shown(Struct, frozen=True, kw_only=True):
    """A game as an operator sees it; times in UTC."""

    id: str
    status: Status
    version: int
    events: int
    variant: str
    options: Rules
    deviations: tuple[Deviation, ...]
    size: int
    seats: tuple[SeatShown, ...]
    public: bool
    private: bool
    spectators: bool
    autostart: bool
    practice: bool
    deal: int | None
    turn: int | None
    totals: tuple[int, ...]
    result: MatchResult | None
    created_at: datetime
    changed_at: datetime
    due: datetime | None
    expires_at: datetime
    rematch: str | None
    rematch_of: str | None
    keys: tuple[Kept, ...]
    hidden: Hidden | None


class ExportedSeat(Struct, frozen=True, kw_only=True):
    """All that is kept of a seat, but for the hash of its token."""

    name: str
    kind: Literal["person", "computer"]
    computer: Level | None
    away: Away | None
    forced: int
    place: int | None
    entropy: str


class ExportedGame(Struct, frozen=True, kw_only=True):
    """The record of a game, hidden cards and seed included, without hashes of secrets.

    Each of its fields has its name here, as in a record of format 3, and none is left out.
    """

    id: str
    version: int
    created_at: datetime
    changed_at: datetime
    due: datetime | None
    expires_at: datetime
    status: Status
    variant: str
    chosen: dict[str, OptionValue]
    seats: tuple[ExportedSeat, ...]
    size: int
    public: bool
    private: bool
    spectators: bool
    autostart: bool
    seed: str
    practice: format3.Practice | None
    rematch: str | None
    rematch_of: str | None
    match: format3.Match | None


class ExportedEntry(Struct, frozen=True):
    """One entry of the log, with what is hidden of it."""

    id: int
    version: int
    at: datetime
    forced: bool
    event: Event


class Admin:
    """What can be done with games in a store. Whoever may use it needs nobody's token."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        """`clock` gives the time in milliseconds since 1970 (UTC)."""
        self._store = store
        self._clock = clock
        self._changes = Changes(store, clock, secrets.token_bytes)

    def find(
        self,
        statuses: Collection[Status],
        variant: str | None,
        idle_seconds: int,
        limit: int,
        *,
        oldest_first: bool = False,
    ) -> Found:
        """Of the games that fit and have not changed for so long, so many that changed last.

        Or first. Reads every record, some at a time, and keeps no more than are asked for.
        """
        fitting = unreadable = 0
        changed_before = self._clock() - 1000 * idle_seconds

        def fit() -> Iterator[Game]:
            nonlocal fitting, unreadable
            for game in self._store.all_games():
                if game is None:
                    unreadable += 1
                elif (
                    game.status in statuses
                    and variant in {None, game.variant}
                    and (not idle_seconds or game.changed_at < changed_before)
                ):
                    fitting += 1
                    yield game

        pick = heapq.nsmallest if oldest_first else heapq.nlargest
        found = {game.id: game for game in pick(limit, fit(), key=_last_change)}
        return Found(tuple(map(self._listed, found.values())), fitting, unreadable)

    def show(self, game_id: str, *, hidden: bool = False) -> Shown:
        """The game as it is stored: what is due is left undone. Raises NoSuchGame."""
        game = self._store.load(game_id)
        rules, match = rules_of(game), game.match
        deal = match.deal if match else None
        return Shown(
            id=game.id,
            status=game.status,
            version=game.version,
            events=game.events,
            variant=game.variant,
            options=rules,
            deviations=deviations(rules),
            size=game.size,
            seats=tuple(map(_seat_shown, game.seats)),
            public=game.public,
            private=game.invitation is not None,
            spectators=game.spectators,
            autostart=game.autostart,
            practice=game.practice is not None,
            deal=deal.number if deal else None,
            turn=deal.turn if deal else None,
            totals=match.totals if match else (),
            result=match.result if match else None,
            created_at=instant(game.created_at),
            changed_at=instant(game.changed_at),
            due=_if_due(game),
            expires_at=instant(self._store.expires_at(game)),
            rematch=game.rematch,
            rematch_of=game.rematch_of,
            keys=self._store.kept(game_id),
            hidden=_hidden(game) if hidden else None,
        )

    def exported(self, game_id: str) -> tuple[Game, Iterator[bytes]]:
        """The game, and all that is kept of it as one JSON document, a piece at a time.

        The pieces are read as they are asked for. Raises NoSuchGame.
        """
        game = self._store.load(game_id)
        return game, self._pieces(game)

    def replay(self, game_id: str) -> Iterator[bytes]:
        """What everybody may have who may watch, the deals that have ended, as JSON in parts.

        Raises NoSuchGame, and NoReplay at the first part; of a table without a match there are no
        deals.
        """
        game = self._store.load(game_id)
        logs = self._store.logs_of_deals(game_id, 1, deals_over(game))
        return match_replay(game, rules_of(game), logs)

    def close(self, game_id: str) -> tuple[Game, bool]:
        """Close a table or end its match; the game then, and whether that changed anything.

        Raises NoSuchGame and TooBusy.
        """
        done = self._changes.make(game_id, lambda game, _: shut(game))
        return done.game, bool(done.logged)

    def delete(self, game_ids: Sequence[str]) -> tuple[str, ...]:
        """Delete all traces of these games; the ids of those that there were."""
        return self._store.delete(game_ids)

    def freeze(self, reason: str) -> None:
        """Let no new tables be made from now on; the reason is for people, and may be empty."""
        self._store.freeze(Freeze(self._clock(), reason))

    def thaw(self) -> bool:
        """Let new tables be made again; whether they were not."""
        return self._store.thaw()

    def status(self) -> tuple[tuple[Server, ...], Census, Freeze | None]:
        """What the store says of itself, the games counted now, and whether tables are frozen."""
        return self._store.servers(), self._store.counted(self._clock()), self._store.frozen()

    def _pieces(self, game: Game) -> Iterator[bytes]:
        encode = msgspec.json.Encoder().encode
        yield b'{"format":"rummy-export-1","exported_at":' + encode(instant(self._clock()))
        yield b',"game":' + encode(self._exported(game))
        yield b',"log":['
        after, comma = 0, b""
        # What happens while this is read is left out, so that all of it is of one moment.
        while after < game.events and (page := self._store.events(game.id, after, _PAGE)):
            for entry in page:
                if entry.number <= game.events:
                    yield comma + encode(_exported_entry(entry))
                    comma = b",\n"
            after = page[-1].number
        yield b'],"results":['
        ended = game.match.last.number if game.match and game.match.last else 0
        after, comma = 0, b""
        while after < ended and (results := self._results(game, after, ended)):
            for result in results:
                yield comma + encode(result)
                comma = b",\n"
            after = results[-1].number
        yield b"]}\n"

    def _results(self, game: Game, after: int, ended: int) -> tuple[DealResult, ...]:
        return self._store.results(game.id, after, min(_PAGE, ended - after))

    def _listed(self, game: Game) -> Listed:
        return Listed(
            id=game.id,
            status=game.status,
            variant=game.variant,
            players=tuple(seat.name for seat in game.seats),
            size=game.size,
            version=game.version,
            changed_at=instant(game.changed_at),
            due=_if_due(game),
            expires_at=instant(self._store.expires_at(game)),
        )

    def _exported(self, game: Game) -> ExportedGame:
        return ExportedGame(
            id=game.id,
            version=game.version,
            created_at=instant(game.created_at),
            changed_at=instant(game.changed_at),
            due=_if_due(game),
            expires_at=instant(self._store.expires_at(game)),
            status=game.status,
            variant=game.variant,
            chosen=game.chosen,
            seats=tuple(map(_exported_seat, game.seats)),
            size=game.size,
            public=game.public,
            private=game.invitation is not None,
            spectators=game.spectators,
            autostart=game.autostart,
            seed=game.seed,
            practice=convert(game.practice, format3.Practice | None, from_attributes=True),
            rematch=game.rematch,
            rematch_of=game.rematch_of,
            match=convert(game.match, format3.Match | None, from_attributes=True),
        )


def _last_change(game: Game) -> tuple[int, str]:
    return game.changed_at, game.id


def _if_due(game: Game) -> datetime | None:
    return None if game.due is None else instant(game.due)


def _kind(seat: Seat) -> Literal["person", "computer"]:
    return "person" if seat.is_persons else "computer"


def _seat_shown(seat: Seat) -> SeatShown:
    return SeatShown(seat.name, _kind(seat), seat.computer, seat.away, seat.forced)


def _hidden(game: Game) -> Hidden:
    deal = game.match.deal if game.match else None
    return Hidden(game.seed, deal.hands if deal else (), deal.stock if deal else ())


def _exported_seat(seat: Seat) -> ExportedSeat:
    return ExportedSeat(
        name=seat.name,
        kind=_kind(seat),
        computer=seat.computer,
        away=seat.away,
        forced=seat.forced,
        place=seat.place,
        entropy=seat.entropy,
    )


def _exported_entry(entry: Logged) -> ExportedEntry:
    return ExportedEntry(entry.number, entry.version, instant(entry.at), entry.forced, entry.event)

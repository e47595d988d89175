"""The record that is stored of one game, what its log holds, and the codec of both."""

from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args

import msgspec
from msgspec import Meta, Raw, Struct, convert
from msgspec.structs import replace

from service import format3
from service.errors import UnreadableRecord
from service.rows import Rows
from service.rummy import model
from service.rummy.cards import Card
from service.rummy.computer import Level
from service.rummy.discards import turned_up
from service.rummy.rules import OptionValue, Rules
from service.text import Text

RecordFormat = Literal[3, 4]
"""The layouts that a record can be written in: this version's own, and the one before."""

FORMAT: RecordFormat = 4
"""The number of the record's layout. Raise it with any change that older code cannot read."""

WRITTEN: RecordFormat = 3
"""What is written unless the operator says otherwise: what the version before can read too, so that
workers of both can serve the same games."""

STAND_IN: Level = "steady"
"""How the computer plays the seat of somebody who is away (table.4)."""

Status = Literal["waiting", "playing", "finished", "closed"]
STATUSES: tuple[Status, ...] = get_args(Status)
Away = Literal["left", "timed_out"]
PlayerName = Annotated[str, Meta(description="The name of the player.")]


class Seat(Struct, frozen=True, array_like=True):
    """A taken seat: whose it is, and who plays it now.

    `token_hash` is the SHA-256 (hex) of the token that proves whose it is; None: a computer
    player's, of the level `computer`. `away` says why the computer plays a person's seat. `forced`
    counts the forced turns in a row. `place` is the seat in the match that this is a rematch of.
    """

    name: str
    token_hash: str | None
    computer: Level | None = None
    away: Away | None = None
    forced: int = 0
    place: int | None = None
    entropy: str = ""
    """What it adds to the chance of the first deal, before the start; see model.Match."""

    @property
    def is_persons(self) -> bool:
        """Whether it belongs to a person, present or away."""
        return self.token_hash is not None

    @property
    def played_by(self) -> Level | None:
        """The level of the computer that plays it now; None: a person does."""
        return STAND_IN if self.away else self.computer


class Practice(Struct, frozen=True, array_like=True):
    """A table whose chance is known beforehand: for tutorials, tests and puzzles."""

    seed: str
    order: tuple[Card, ...] | None = None
    """The cards of the first deal, the first to be dealt first."""
    dealer: int | None = None
    """Who deals first; drawn by lot if None."""
    deal: str | None = None
    """The moves of the first deal that were made before, in the notation, and the totals."""


class Game(Struct, frozen=True, kw_only=True, array_like=True):
    """One game: a table, who sits there, and the match once it has begun.

    Times are whole milliseconds since 1970 (UTC). `version` counts the changes: 1 is the table as
    made. `events` is the number of the last event in the log, which counts from 1 without gaps.
    """

    id: str
    version: int
    created_at: int
    changed_at: int
    variant: str
    chosen: dict[str, OptionValue]
    seats: tuple[Seat, ...]
    """Those taken, in clockwise order; the first that is a person's is the host's."""
    size: int
    """How many seats the table has."""
    public: bool
    autostart: bool
    seed: str = ""
    """Where all chance of the match will come from. Hidden. Empty only in records of before."""
    practice: Practice | None = None
    match: model.Match | None = None
    events: int = 0
    invitation: str | None = None
    """The SHA-256 (hex) of the code that joining takes."""
    spectators: bool = True
    """Whether the match may be watched without a seat."""
    closed: bool = False
    """Whether the table was given up before a match began."""
    due: int | None = None
    """When the game goes on by itself if nobody moves: a turn is forced, or a computer's turn,
    which waited for a call, is played."""
    rematch: str | None = None
    """The game that follows this one."""
    rematch_of: str | None = None
    """The game that this one follows."""

    @property
    def status(self) -> Status:
        """`waiting` for players, `playing`, `finished`; or `closed` before it began."""
        if self.closed:
            return "closed"
        if self.match is None:
            return "waiting"
        return "playing" if self.match.result is None else "finished"

    @property
    def is_over(self) -> bool:
        """Whether no card is or will be played any more."""
        return self.status in {"finished", "closed"}

    @property
    def host(self) -> int | None:
        """The host's seat: the first that is a person's, if there is one."""
        return next((number for number, seat in enumerate(self.seats) if seat.is_persons), None)


def with_seat(game: Game, number: int, seat: Seat) -> Game:
    """The game with that seat as it is now."""
    return replace(game, seats=(*game.seats[:number], seat, *game.seats[number + 1 :]))


GameId = Annotated[
    str, Meta(title="GameId", description="The id of a game.", pattern="^[a-z2-7]{16}$")
]


class Joined(Struct, frozen=True, tag="joined", tag_field="type"):
    """A seat was taken, by a computer player if `computer` says its level.

    In a rematch it may lie between others: those behind move back.
    """

    seat: Annotated[model.SeatNumber, Meta(description="The seat taken.")]
    name: PlayerName
    computer: Annotated[
        Level | None, Meta(description="The level of a computer player; null: a person.")
    ] = None


class Left(Struct, frozen=True, tag="left", tag_field="type"):
    """A player left: before the start the seats behind move up; later the computer plays on."""

    seat: Annotated[model.SeatNumber, Meta(description="The seat that the player had until then.")]
    name: PlayerName


class Removed(Struct, frozen=True, tag="removed", tag_field="type"):
    """The host removed a player before the start; the seats behind move up."""

    seat: Annotated[model.SeatNumber, Meta(description="The seat that the player had until then.")]
    name: PlayerName


class Closed(Struct, frozen=True, tag="closed", tag_field="type"):
    """The table was closed before a match began, or by whoever runs the service: also a match."""


class WentAway(Struct, frozen=True, tag="went_away", tag_field="type"):
    """A player let too many turns pass; the computer plays the seat from now on (table.2)."""

    seat: Annotated[model.SeatNumber, Meta(description="The player's seat.")]


class Returned(Struct, frozen=True, tag="returned", tag_field="type"):
    """A player took the own seat back from the computer."""

    seat: Annotated[model.SeatNumber, Meta(description="The player's seat.")]


class EntropyAdded(Struct, frozen=True, tag="entropy_added", tag_field="type"):
    """A seat added entropy to the chance of the next deal, in the place of what it had added."""

    seat: Annotated[model.SeatNumber, Meta(description="Who added it.")]
    entropy: Annotated[str, Meta(description="1 to 100 printable ASCII characters, no spaces.")]


class Started(Struct, frozen=True, tag="started", tag_field="type"):
    """The match began with so many players; from now on the options are fixed.

    `totals` are not 0 only where a practice table goes on with a deal of another match. Without
    items, as in logs of before that was possible, they mean 0 for each.
    """

    players: Annotated[model.Count, Meta(description="How many play.")]
    totals: Annotated[
        tuple[model.Count, ...],
        Meta(description="The points that each begins with, by seat; no items: 0 for each."),
    ] = ()


class Rematch(Struct, frozen=True, tag="rematch", tag_field="type"):
    """A player asked for a rematch, which is that game."""

    game: Annotated[GameId, Meta(description="The id of the game that follows.")]


TableEvent = (
    Joined | Left | Removed | Closed | WentAway | Returned | EntropyAdded | Started | Rematch
)
"""What happens around the cards; nothing about it is hidden."""

Event = TableEvent | model.Event


class Logged(Struct, frozen=True):
    """One entry of a game's log: the change that made it, and when. Still with what is hidden.

    `forced`: the turn clock did it, not the player.
    """

    number: int
    version: int
    at: int
    event: Event
    forced: bool = False


class Remembered(Struct, frozen=True):
    """What an Idempotency-Key was used for, so that a repeat gets the same answer.

    `request` is the hash of the request, `version` the one that it made, `first` and `last` the
    numbers of its events. For who took a seat: which, and the salt of the token.
    """

    request: str
    version: int
    first: int
    last: int
    seat: int = 0
    salt: str = ""


_RULES: Rows[Rules] = Rows(Rules)
_RESULTS: Rows[model.DealResult] = Rows(model.DealResult)
_PROOFS: Rows[model.Proof] = Rows(model.Proof)
_ENDINGS: Rows[model.MatchResult] = Rows(model.MatchResult)


class _Match(Struct, frozen=True, array_like=True):
    """The stored form of a match: what answers show as objects are rows in it.

    `seed` and `game` are None if they are those of the game around it.
    """

    rules: Raw
    """The row as it stands there: the same ones are read with each move."""
    seed: str | None
    game: str | None
    entropy: tuple[str, ...]
    totals: tuple[int, ...]
    deal: model.Deal | None
    revealed: _PROOFS.row | None  # type: ignore[name-defined]
    last: _RESULTS.row | None  # type: ignore[name-defined]
    result: _ENDINGS.row | None  # type: ignore[name-defined]


class _Record(Struct, frozen=True, array_like=True, tag=FORMAT):
    """The stored form: behind the number of its format a game without its match, and the match."""

    game: Game
    match: _Match | None


class _Format3(Struct, frozen=True, tag=3, tag_field="format"):
    """What 0.1.0 reads and writes."""

    game: format3.Game


class _Format2(Struct, frozen=True, tag=2, tag_field="format"):
    """It had no committed shuffles, and did not tell what became of the discards."""

    game: format3.Game


class _Format1(Struct, frozen=True, tag=1, tag_field="format"):
    """It had people only."""

    game: format3.Game


_EVENTS: dict[type[Struct], Rows[Any]] = {kind: Rows(kind) for kind in get_args(Event)}
_EVENTS_OF_ROWS = {rows.row: rows for rows in _EVENTS.values()}
_EventRow: Any = Union[tuple(_EVENTS_OF_ROWS)]  # noqa: UP007 (it is made of a list)

_packer = msgspec.msgpack.Encoder()
_record_unpacker = msgspec.msgpack.Decoder(_Record)
_rules_unpacker: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(_RULES.row)
_event_unpacker: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(_EventRow)
_encoder = msgspec.json.Encoder()
_record_decoder = msgspec.json.Decoder(_Format3 | _Format2 | _Format1)
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_result_decoder = msgspec.json.Decoder(model.DealResult)

_JSON = b"{"
"""What is stored of before format 4 begins with it, and nothing else does."""


def encode(game: Game, number: RecordFormat = WRITTEN) -> bytes:
    """The record of a game, in the format of that number."""
    if number == FORMAT:
        match = None if game.match is None else _stored(game, game.match)
        return _packer.encode(_Record(replace(game, match=None), match))
    return _encoder.encode(_Format3(convert(game, format3.Game, from_attributes=True)))


def decode(record: bytes) -> Game:
    """The game of a record. Raises UnreadableRecord for a format this version does not know."""
    try:
        if not record.startswith(_JSON):
            return _game_of(_record_unpacker.decode(record))
        stored = _record_decoder.decode(record)
    except msgspec.MsgspecError as error:
        raise unreadable_record() from error
    game = convert(stored.game, Game, from_attributes=True)
    return game if isinstance(stored, _Format3) else _upgraded(game)


def encode_event(event: Event, number: RecordFormat = WRITTEN) -> bytes:
    """One event as the log keeps it beside records of the format of that number."""
    if number == FORMAT:
        return _packer.encode(_EVENTS[type(event)].of(event))
    return _encoder.encode(event)


def decode_event(stored: bytes) -> Event:
    """An event from the log. Raises UnreadableRecord if this version does not know it."""
    try:
        if stored.startswith(_JSON):
            return _event_decoder.decode(stored)
        row = _event_unpacker.decode(stored)
    except msgspec.MsgspecError as error:
        raise unreadable_record() from error
    event: Event = _EVENTS_OF_ROWS[type(row)].value(row)
    return event


def encode_result(result: model.DealResult) -> bytes:
    """The result of a deal as it is kept beside the game."""
    return _encoder.encode(result)


def decode_result(stored: bytes) -> model.DealResult:
    """The result of a deal. Raises UnreadableRecord if this version does not know its form."""
    try:
        return _result_decoder.decode(stored)
    except msgspec.MsgspecError as error:
        raise unreadable_record() from error


def _stored(game: Game, match: model.Match) -> _Match:
    return _Match(
        rules=_packed_rules(match.rules),
        seed=None if match.seed == game.seed else match.seed,
        game=None if match.game == game.id else match.game,
        entropy=match.entropy,
        totals=match.totals,
        deal=match.deal,
        revealed=match.revealed and _PROOFS.of(match.revealed),
        last=match.last and _RESULTS.of(match.last),
        result=match.result and _ENDINGS.of(match.result),
    )


def _game_of(record: _Record) -> Game:
    game, stored = record.game, record.match
    if stored is None:
        return game
    match = model.Match(
        rules=_rules_of(bytes(stored.rules)),
        seed=game.seed if stored.seed is None else stored.seed,
        game=game.id if stored.game is None else stored.game,
        entropy=stored.entropy,
        totals=stored.totals,
        deal=stored.deal,
        revealed=stored.revealed and _PROOFS.value(stored.revealed),
        last=stored.last and _RESULTS.value(stored.last),
        result=stored.result and _ENDINGS.value(stored.result),
    )
    return replace(game, match=match)


# There are not many different ones, and they are written and read with every move.


@lru_cache(512)
def _packed_rules(rules: Rules) -> Raw:
    return Raw(_packer.encode(_RULES.of(rules)))


@lru_cache(512)
def _rules_of(packed: bytes) -> Rules:
    return _RULES.value(_rules_unpacker.decode(packed))


def _upgraded(game: Game) -> Game:
    """A game that was stored in format 1 or 2.

    The deal being played was not committed to; those that follow are. Of what lies on its discard
    pile it is not known who threw it.
    """
    match = game.match
    if match is not None:
        deal = match.deal
        if deal is not None:
            deal = replace(deal, discards=turned_up(deal.pile))
        game = replace(game, match=replace(match, game=game.id, deal=deal))
    return replace(game, seed=game.practice.seed if game.practice else "")


def unreadable_record() -> UnreadableRecord:
    """The refusal of what another version has stored."""
    return UnreadableRecord(
        Text("The game was stored in a form that this version of the service cannot read.")
    )

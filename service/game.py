"""The record that is stored of one game, what its log holds, and the codec of both."""

from typing import Literal

import msgspec
from msgspec import Struct

from service.errors import UnreadableRecord
from service.rummy import model
from service.rummy.cards import Card
from service.rummy.rules import OptionValue

FORMAT = 1
"""The number of the record's layout. Raise it with any change that older code cannot read."""

Status = Literal["waiting", "playing", "finished"]


class Seat(Struct, frozen=True):
    """A taken seat: who sits there, and the SHA-256 (hex) of the token that proves it."""

    name: str
    token_hash: str


class Practice(Struct, frozen=True):
    """A table whose chance is known beforehand: for tutorials, tests and puzzles."""

    seed: str
    order: tuple[Card, ...] | None = None
    """The cards of the first deal, the first to be dealt first."""
    dealer: int | None = None
    """Who deals first; drawn by lot if None."""


class Game(Struct, frozen=True, kw_only=True):
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
    """Those taken, in clockwise order; the first is the host."""
    size: int
    """How many seats the table has."""
    public: bool
    autostart: bool
    practice: Practice | None = None
    match: model.Match | None = None
    events: int = 0

    @property
    def status(self) -> Status:
        """`waiting` for players, `playing`, or `finished`."""
        if self.match is None:
            return "waiting"
        return "playing" if self.match.result is None else "finished"


class Joined(Struct, frozen=True, tag="joined", tag_field="type"):
    """Somebody took a seat; seat 0 is the host's."""

    seat: int
    name: str


class Started(Struct, frozen=True, tag="started", tag_field="type"):
    """The match began with so many players; from now on the options are fixed."""

    players: int


Event = Joined | Started | model.Event


class Logged(Struct, frozen=True):
    """One entry of a game's log: the change that made it, and when. Still with what is hidden."""

    number: int
    version: int
    at: int
    event: Event


class _Record(Struct, frozen=True):
    """The stored form: a game behind the number of its format."""

    format: int
    game: Game


_encoder = msgspec.json.Encoder()
_record_decoder = msgspec.json.Decoder(_Record)
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_result_decoder = msgspec.json.Decoder(model.DealResult)


def encode(game: Game) -> bytes:
    """The record of a game."""
    return _encoder.encode(_Record(FORMAT, game))


def decode(record: bytes) -> Game:
    """The game of a record. Raises UnreadableRecord for a format this version does not know."""
    try:
        stored = _record_decoder.decode(record)
    except msgspec.MsgspecError as error:
        raise _unreadable() from error
    if stored.format != FORMAT:
        raise _unreadable()
    return stored.game


def encode_event(event: Event) -> bytes:
    """One event as the log keeps it."""
    return _encoder.encode(event)


def decode_event(stored: bytes) -> Event:
    """An event from the log. Raises UnreadableRecord if this version does not know it."""
    try:
        return _event_decoder.decode(stored)
    except msgspec.MsgspecError as error:
        raise _unreadable() from error


def encode_result(result: model.DealResult) -> bytes:
    """The result of a deal as it is kept beside the game."""
    return _encoder.encode(result)


def decode_result(stored: bytes) -> model.DealResult:
    """The result of a deal. Raises UnreadableRecord if this version does not know its form."""
    try:
        return _result_decoder.decode(stored)
    except msgspec.MsgspecError as error:
        raise _unreadable() from error


def _unreadable() -> UnreadableRecord:
    return UnreadableRecord(
        "The game was stored in a form that this version of the service cannot read."
    )

"""The layout of the records that version 0.1.0 writes, and all versions before could read.

It is kept apart from the values that the service works with, so that these can go on. What is added
here must be known to 0.1.0; nothing is changed or taken away. A field is missing in records of the
formats 1 and 2 only if it has a default.
"""

from typing import Literal

from msgspec import Struct, field

from service.rummy.cards import Card
from service.rummy.computer import Level
from service.rummy.discards import Discards, Thrown, written
from service.rummy.model import DealResult, MatchResult, MeldKind, Proof
from service.rummy.rules import OptionValue, Rules


class Meld(Struct, frozen=True):
    """See model.Meld."""

    id: int
    owner: int
    kind: MeldKind
    faces: tuple[Card, ...]
    jokers: tuple[int, ...] = ()


class CallWindow(Struct, frozen=True):
    """See model.CallWindow."""

    seat: int
    closes: int | None
    opened: int = 0


class Deal(Struct, frozen=True):
    """See model.Deal. `thrown` are its discards one by one, four values each."""

    number: int
    dealer: int
    hands: tuple[tuple[Card, ...], ...]
    stock: tuple[Card, ...]
    pile: tuple[Card, ...]
    turn: int
    phase: Literal["draw", "play"] = "draw"
    melds: tuple[Meld, ...] = ()
    turns: int = 0
    turnovers: int = 0
    taken: Card | None = None
    new_melds: int = 0
    laid_off: bool = False
    window: CallWindow | None = None
    picked: tuple[tuple[int, Card], ...] = ()
    thrown: tuple[Thrown, ...] = field(default=(), name="discards")
    entropy: tuple[str, ...] = ()
    shuffle: str | None = None
    laid_out: bool = False

    @property
    def discards(self) -> Discards:
        """The discards as the service works with them."""
        return written(self.thrown)


class Match(Struct, frozen=True, kw_only=True):
    """See model.Match."""

    rules: Rules
    seed: str
    game: str = ""
    entropy: tuple[str, ...] = ()
    revealed: Proof | None = None
    totals: tuple[int, ...]
    deal: Deal | None = None
    last: DealResult | None = None
    result: MatchResult | None = None


class Seat(Struct, frozen=True):
    """See game.Seat."""

    name: str
    token_hash: str | None
    computer: Level | None = None
    away: Literal["left", "timed_out"] | None = None
    forced: int = 0
    place: int | None = None
    entropy: str = ""


class Practice(Struct, frozen=True):
    """See game.Practice."""

    seed: str
    order: tuple[Card, ...] | None = None
    dealer: int | None = None
    deal: str | None = None


class Game(Struct, frozen=True, kw_only=True):
    """See game.Game."""

    id: str
    version: int
    created_at: int
    changed_at: int
    variant: str
    chosen: dict[str, OptionValue]
    seats: tuple[Seat, ...]
    size: int
    public: bool
    autostart: bool
    seed: str = ""
    practice: Practice | None = None
    match: Match | None = None
    events: int = 0
    invitation: str | None = None
    spectators: bool = True
    closed: bool = False
    due: int | None = None
    rematch: str | None = None
    rematch_of: str | None = None

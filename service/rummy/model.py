"""What a match consists of: its state, the moves that change it and the events that tell of it.

All are values that never change. Seats are numbered from 0 clockwise (common.1), melds from 1 in
the order in which they are laid in a deal. Times are whole milliseconds since 1970 (UTC).
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from service.rummy.cards import JOKER, Card
from service.rummy.discards import Discards, Thrown
from service.rummy.rules import Rules

# What is in `extra_json_schema` is for the contract alone: what is decoded here was checked before.
SeatNumber = Annotated[
    int,
    Meta(
        description="A seat; they are numbered from 0 clockwise.",
        extra_json_schema={"minimum": 0, "maximum": 7},
    ),
]
MeldId = Annotated[
    int,
    Meta(
        description="The number of a meld: in each deal from 1, as they are laid.",
        extra_json_schema={"minimum": 1},
    ),
]
Count = Annotated[int, Meta(extra_json_schema={"minimum": 0})]
DealNumber = Annotated[
    int,
    Meta(description="Which deal of the match, from 1.", extra_json_schema={"minimum": 1}),
]
Dealer = Annotated[SeatNumber, Meta(description="The seat that dealt.")]
Commitment = Annotated[
    str,
    Meta(
        description="SHA-256 of the secret, in hexadecimal digits (docs/fairness.md).",
        extra_json_schema={"pattern": "^[0-9a-f]{64}$"},
    ),
]
MeldKind = Annotated[
    Literal["set", "run"],
    Meta(
        title="MeldKind",
        description="`set`: cards of one rank; `run`: consecutive cards of one suit (common.4).",
    ),
]
Source = Annotated[
    Literal["stock", "discard"],
    Meta(title="DrawSource", description="`stock`: the top of the stock; `discard`: the upcard."),
]
Faces = Annotated[
    tuple[Card, ...],
    Meta(description="What each of `cards` shows or, if a joker, stands for, in the same order."),
]
FacesNow = Annotated[
    tuple[Card, ...],
    Meta(description="What the whole meld shows now: a run upwards, a set by suit."),
]
WentOut = Literal["meld", "layoff", "discard"]
Blocked = Literal["nothing_to_draw", "turnovers_used_up", "turn_limit"]


# ---------------------------------------------------------------------------------------- state


class Meld(Struct, frozen=True, array_like=True):
    """A set or run on the table.

    `faces` are the cards it shows or stands for: a run upwards, a set by suit. `jokers` are the
    places in `faces` where a joker lies instead of the card (jokers.2).
    """

    id: int
    owner: int
    kind: MeldKind
    faces: tuple[Card, ...]
    jokers: tuple[int, ...] = ()

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards as they lie on the table, jokers as jokers."""
        return cards_of(self.faces, self.jokers)

    @property
    def named(self) -> tuple[Card, ...]:
        """What each joker stands for, in order."""
        return named_in(self.faces, self.jokers)


class CallWindow(Struct, frozen=True):
    """The upcard was just discarded by `seat`, so that others may call it (call-rummy.5)."""

    seat: int
    closes: int | None
    """When a timed call ends; None: it is open until the next draw."""
    opened: int = 0
    """When the card was discarded."""

    def is_open(self, now: int) -> bool:
        """Whether the time is not up."""
        return self.closes is None or now < self.closes


class Deal(Struct, frozen=True, omit_defaults=True):
    """One deal being played."""

    number: int
    dealer: int
    hands: tuple[tuple[Card, ...], ...]
    stock: tuple[Card, ...]
    """Face down, the next card to draw first."""
    pile: tuple[Card, ...]
    """The discard pile, the oldest card first: the upcard is the last."""
    turn: int
    """The seat whose turn it is."""
    phase: Literal["draw", "play"] = "draw"
    melds: tuple[Meld, ...] = ()
    turns: int = 0
    """Turns finished."""
    turnovers: int = 0
    taken: Card | None = None
    """The upcard taken this turn, if it may not be discarded this turn."""
    new_melds: int = 0
    """New melds laid this turn."""
    laid_off: bool = False
    """Whether anything was laid off this turn."""
    window: CallWindow | None = None
    picked: tuple[tuple[int, Card], ...] = ()
    """Cards, with their seat, that everybody saw go into that hand and not leave it."""
    discards: Discards = Discards()
    """All that came onto the discard pile in this deal, in order. Those that are not gone are the
    pile."""
    entropy: tuple[str, ...] = ()
    """What the seats added to the chance of this deal, by seat; see Match."""
    shuffle: str | None = None
    """The name of the shuffle; None: of before there were committed ones, so nothing is proved."""
    laid_out: bool = False
    """Whether its cards were given, for practice, and not shuffled."""

    @property
    def upcard(self) -> Card | None:
        """The top of the discard pile."""
        return self.pile[-1] if self.pile else None

    @property
    def thrown(self) -> tuple[Thrown, ...]:
        """The discards, each for itself."""
        return self.discards.in_order()


class DealResult(Struct, frozen=True, kw_only=True):
    """How a deal ended. Everything about it is public: all hands are counted."""

    number: DealNumber
    dealer: Dealer
    reason: Annotated[
        Literal["went_out", "blocked"],
        Meta(
            description="`went_out`: somebody got rid of the last card; `blocked`: it could not go "
            "on, so nobody won it or scored (common.12)."
        ),
    ]
    how: Annotated[
        WentOut | None,
        Meta(description="With what the last card went; null: the deal was blocked."),
    ] = None
    why: Annotated[
        Blocked | None,
        Meta(
            description="Why it was blocked (common.12): there was `nothing_to_draw`; somebody "
            "declined the upcard with the `turnovers_used_up`; it came to the `turn_limit`. Null: "
            "somebody went out."
        ),
    ] = None
    winner: Annotated[
        SeatNumber | None, Meta(description="The seat that went out; null: the deal was blocked.")
    ] = None
    hands: Annotated[
        tuple[tuple[Card, ...], ...], Meta(description="What each seat was left with, by seat.")
    ]
    counts: Annotated[
        tuple[Count, ...], Meta(description="What each hand counts (common.9), by seat.")
    ]
    scores: Annotated[
        tuple[Count, ...],
        Meta(description="The points of each seat for the deal (common.10), by seat."),
    ]
    totals: Annotated[
        tuple[Count, ...], Meta(description="The points of each seat after this deal, by seat.")
    ]
    turns: Annotated[Count, Meta(description="Turns finished in this deal, of all seats together.")]


class Proof(Struct, frozen=True, kw_only=True):
    """Where the chance of a deal came from, shown when it has ended: docs/fairness.md says how.

    The first dealer, the order of the cards and each reshuffle follow from it.
    """

    deal: DealNumber
    shuffle: Annotated[str, Meta(description="The name of the shuffle.")]
    commitment: Annotated[
        Commitment, Meta(description="What the secret was fixed by, as it was shown before.")
    ]
    nonce: Annotated[
        str,
        Meta(
            description="A part of the secret: 32 hexadecimal digits that nobody could guess.",
            extra_json_schema={"pattern": "^[0-9a-f]{32}$"},
        ),
    ]
    seed: Annotated[
        str,
        Meta(
            description="The other part: 64 hexadecimal digits, from which the chance of the deal "
            "comes together with the entropy.",
            extra_json_schema={"pattern": "^[0-9a-f]{64}$"},
        ),
    ]
    entropy: Annotated[
        tuple[str, ...],
        Meta(
            description="What each seat had added, by seat; an empty text: nothing. No items: "
            "nobody did."
        ),
    ]
    laid_out: Annotated[
        bool, Meta(description="Whether its cards were given, for practice, and not shuffled.")
    ]


class MatchResult(Struct, frozen=True, kw_only=True):
    """How a match ended. An abandoned one has no winners."""

    reason: Annotated[
        Literal["deals_played", "target_reached", "abandoned"],
        Meta(
            description="`deals_played`: the agreed number; `target_reached`: by some total "
            "(common.11); `abandoned`: no seat was played by a person any more, or whoever runs "
            "the service closed it (table.5)."
        ),
    ]
    winners: Annotated[
        tuple[SeatNumber, ...],
        Meta(description="The seats that won: several after a tie, none if it was abandoned."),
    ]
    tie: Annotated[bool, Meta(description="Whether equal totals share the win (common.11).")]
    totals: Annotated[tuple[Count, ...], Meta(description="The points of the match, by seat.")]


class Match(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match: the rules, the deal being played, the totals so far.

    `deal` is None once the match is over; then `result` is set. `last` is the deal before.
    """

    rules: Rules
    seed: str
    """Where all chance of this match comes from. Hidden, like hands, stock and pile."""
    game: str = ""
    """The id of the game, which is bound into the commitments."""
    entropy: tuple[str, ...] = ()
    """What the seats have added to the chance of the next deal, by seat; no items: nothing."""
    revealed: Proof | None = None
    """Where the chance of the last deal came from that ended or was given up."""
    totals: tuple[int, ...]
    deal: Deal | None = None
    last: DealResult | None = None
    result: MatchResult | None = None


def cards_of(faces: tuple[Card, ...], jokers: tuple[int, ...]) -> tuple[Card, ...]:
    """The cards themselves of a meld that shows `faces`, with jokers at the places `jokers`."""
    if not jokers:
        return faces
    return tuple([JOKER if place in jokers else face for place, face in enumerate(faces)])


def named_in(faces: tuple[Card, ...], jokers: tuple[int, ...]) -> tuple[Card, ...]:
    """What the jokers stand for of a meld that shows `faces`, at the places `jokers`."""
    return tuple([faces[place] for place in jokers])


# ---------------------------------------------------------------------------------------- moves
# Written as JSON a move is the body that its endpoint takes: POST /games/{id}/{move}.


_Named = Annotated[
    tuple[Card, ...],
    Meta(
        description="The natural card that each joker among `cards` stands for, in any order. Left "
        "out: there is no joker, or only one choice."
    ),
]


class Draw(Struct, frozen=True, tag="draw", tag_field="move", omit_defaults=True):
    """Draw a card. With `card`, only if that is the upcard still, wherever it is drawn from."""

    source: Source = field(name="from")
    card: Annotated[
        Card | None,
        Meta(
            description="The upcard as the caller knows it; if it is another one now, nothing is "
            "drawn. Null: whatever it is."
        ),
    ] = None


class LayMeld(Struct, frozen=True, tag="meld", tag_field="move", omit_defaults=True):
    """Lay a new meld of cards from the hand."""

    cards: Annotated[
        tuple[Card, ...],
        Meta(
            description="From the hand: a set or a run of three or more, in any order (common.4)."
        ),
    ]
    jokers: _Named = ()


class LayOff(Struct, frozen=True, tag="layoff", tag_field="move", omit_defaults=True):
    """Add cards from the hand to a meld on the table. `jokers` as in a meld."""

    meld: Annotated[MeldId, Meta(description="The `id` of the meld on the table.")]
    cards: Annotated[
        tuple[Card, ...],
        Meta(description="From the hand; with them it must be a valid meld still (common.7)."),
    ]
    jokers: _Named = ()


class Swap(Struct, frozen=True, tag="swap", tag_field="move", omit_defaults=True):
    """Take a joker out of a meld for the natural card that it stands for."""

    meld: Annotated[MeldId, Meta(description="The `id` of the meld that the joker lies in.")]
    card: Annotated[
        Card, Meta(description="The natural card from the hand, which the joker stands for.")
    ]


class Discard(Struct, frozen=True, tag="discard", tag_field="move", omit_defaults=True):
    """Put a card on the discard pile and end the turn."""

    card: Annotated[Card, Meta(description="A card of the hand.")]


class Call(Struct, frozen=True, tag="rummy", tag_field="move", omit_defaults=True):
    """The "Rummy!" call: lay the card just discarded off on a meld that it fits."""

    meld: Annotated[MeldId, Meta(description="The `id` of the meld that the card fits.")]
    jokers: Annotated[
        tuple[Card, ...],
        Meta(
            description="What the card stands for, if it is a joker. Left out: it is none, or can "
            "stand for one card only."
        ),
    ] = ()
    card: Annotated[
        Card | None,
        Meta(
            description="The card called, as the caller knows it; if it is another one now, "
            "nothing is called. Null: whatever it is."
        ),
    ] = None


Play = LayMeld | LayOff | Swap
"""What a player may do between the draw and the discard."""

Move = Annotated[
    Draw | Play | Discard | Call,
    Meta(title="Move", description="A move, as the body of POST /v1/games/{game_id}/{move}."),
]


class Turn(Struct, frozen=True, tag="turn", tag_field="move"):
    """The rest of a turn: the plays in order, then the discard, if the plays leave a card."""

    plays: tuple[Play, ...]
    discard: Card | None


# --------------------------------------------------------------------------------------- events


class DealerDrawn(Struct, frozen=True, tag="dealer_drawn", tag_field="type"):
    """The first dealer was drawn by lot, or set for a practice table (common.2)."""

    seat: Annotated[SeatNumber, Meta(description="The seat that deals first.")]
    by_lot: Annotated[
        bool, Meta(description="Whether lots were drawn; else the maker of the table set it.")
    ] = True


class Committed(Struct, frozen=True, tag="committed", tag_field="type"):
    """The secret of a deal to come is fixed; from now on the seats can add entropy to it."""

    deal: DealNumber
    shuffle: Annotated[str, Meta(description="The name of the shuffle.")]
    commitment: Commitment


class Revealed(Struct, frozen=True, tag="revealed", tag_field="type"):
    """The secret of the deal that has just ended, or was given up, is shown."""

    proof: Proof


class Dealt(Struct, frozen=True, tag="dealt", tag_field="type"):
    """A deal began. `hands` is hidden: each seat sees its own (see view.redact)."""

    deal: int
    dealer: int
    hands: tuple[tuple[Card, ...], ...]
    upcard: Card | None
    stock: int


class Drew(Struct, frozen=True, tag="drew", tag_field="type"):
    """A card was drawn. `card` is hidden from the others when it came from the stock."""

    seat: Annotated[SeatNumber, Meta(description="Who drew.")]
    source: Source
    card: Annotated[
        Card | None, Meta(description="Null: a stock card that the reader may not know.")
    ]


class Declined(Struct, frozen=True, tag="declined", tag_field="type"):
    """A player asked for a stock card when there was none, nor a turnover left (common.12)."""

    seat: Annotated[SeatNumber, Meta(description="Who declined the upcard that way.")]


class TurnedOver(Struct, frozen=True, tag="turned_over", tag_field="type"):
    """The discard pile became the stock, of `stock` cards; `upcard` is the top of the pile now."""

    stock: Annotated[Count, Meta(description="Cards in the stock now.")]
    upcard: Annotated[
        Card | None, Meta(description="The top of the discard pile now; null: the pile is empty.")
    ]


class Melded(Struct, frozen=True, tag="melded", tag_field="type"):
    """A new meld was laid down; `faces` are the cards that it shows or, for jokers, stands for."""

    seat: Annotated[SeatNumber, Meta(description="Who laid it.")]
    meld: Annotated[MeldId, Meta(description="The `id` of the meld from now on.")]
    kind: MeldKind
    cards: Annotated[
        tuple[Card, ...],
        Meta(description="The cards as they lie, jokers as `JK`: a run upwards, a set by suit."),
    ]
    faces: Faces


class LaidOff(Struct, frozen=True, tag="laid_off", tag_field="type"):
    """Cards were added to a meld; `faces` is the whole meld afterwards."""

    seat: Annotated[SeatNumber, Meta(description="Who laid off.")]
    meld: Annotated[MeldId, Meta(description="The `id` of the meld.")]
    cards: Annotated[tuple[Card, ...], Meta(description="The cards that were added.")]
    jokers: Annotated[
        tuple[Card, ...], Meta(description="What the jokers among `cards` stand for.")
    ]
    faces: FacesNow


class Swapped(Struct, frozen=True, tag="swapped", tag_field="type"):
    """A joker went from a meld to the hand, the natural card took its place."""

    seat: Annotated[SeatNumber, Meta(description="Who swapped.")]
    meld: Annotated[MeldId, Meta(description="The `id` of the meld.")]
    card: Annotated[
        Card, Meta(description="The natural card, which lies in the joker's place now.")
    ]


class Discarded(Struct, frozen=True, tag="discarded", tag_field="type"):
    """A card was discarded; the turn is over."""

    seat: Annotated[SeatNumber, Meta(description="Who discarded.")]
    card: Annotated[Card, Meta(description="The new upcard.")]


class Called(Struct, frozen=True, tag="called", tag_field="type"):
    """The "Rummy!" call: `seat` laid off the card that `discarder` had just discarded."""

    seat: Annotated[SeatNumber, Meta(description="Who called.")]
    discarder: Annotated[SeatNumber, Meta(description="Who had discarded the card.")]
    meld: Annotated[MeldId, Meta(description="The `id` of the meld that it was laid off on.")]
    card: Annotated[Card, Meta(description="The card called.")]
    jokers: Annotated[tuple[Card, ...], Meta(description="What `card` stands for, if a joker.")]
    faces: FacesNow


class DealEnded(Struct, frozen=True, tag="deal_ended", tag_field="type"):
    """A deal ended."""

    result: DealResult


class MatchEnded(Struct, frozen=True, tag="match_ended", tag_field="type"):
    """The match ended."""

    result: MatchResult


Event = (
    DealerDrawn
    | Committed
    | Dealt
    | Drew
    | Declined
    | TurnedOver
    | Melded
    | LaidOff
    | Swapped
    | Discarded
    | Called
    | DealEnded
    | Revealed
    | MatchEnded
)

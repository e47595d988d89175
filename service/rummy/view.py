"""The only ways out: what one seat, or a spectator, may see of a match and of its events.

Whatever is not copied here on purpose stays inside.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Literal

from msgspec import Meta, Struct

from service.rummy.cards import Card, in_order
from service.rummy.discards import Gone
from service.rummy.engine import callable_on, melds_are_over, melds_left, next_deal
from service.rummy.legal import legal_moves
from service.rummy.model import (
    Called,
    Commitment,
    Committed,
    Count,
    Deal,
    DealEnded,
    Dealer,
    DealerDrawn,
    DealNumber,
    DealResult,
    Dealt,
    Declined,
    Discarded,
    Drew,
    Event,
    Faces,
    LaidOff,
    Match,
    MatchEnded,
    MatchResult,
    Melded,
    MeldId,
    MeldKind,
    Move,
    Proof,
    Revealed,
    SeatNumber,
    Swapped,
    TurnedOver,
)
from service.rummy.rules import TURN_LIMIT, Rules
from service.rummy.shuffle import SHUFFLE, committed

MOST_THROWN = 24
"""So many discards a computer player remembers."""

Instant = Annotated[datetime, Meta(tz=True, description="A time, in UTC.")]

DealPhase = Annotated[
    Literal["draw", "play"], Meta(title="DealPhase", description="What a turn waits for.")
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MeldView(Struct, frozen=True):
    """A meld on the table: `faces` are the cards that `cards` show or, for jokers, stand for."""

    id: MeldId
    owner: Annotated[SeatNumber, Meta(description="The seat in front of which it lies.")]
    kind: MeldKind
    cards: Annotated[
        tuple[Card, ...],
        Meta(description="The cards as they lie, jokers as `JK`: a run upwards, a set by suit."),
    ]
    faces: Faces


class CallView(Struct, frozen=True):
    """The upcard may be called: everybody but `discarded_by` may lay it off on one of `melds`."""

    card: Annotated[Card, Meta(description="The upcard.")]
    discarded_by: Annotated[
        SeatNumber, Meta(description="Who discarded it, and so cannot call it (call-rummy.5).")
    ]
    closes_at: Annotated[
        Instant | None,
        Meta(
            description="When the call ends and the next player may draw; null: it is open until "
            "the next draw."
        ),
    ]
    melds: Annotated[tuple[MeldId, ...], Meta(description="The melds that the card fits.")]


class DealView(Struct, frozen=True, kw_only=True):
    """The deal being played, as everybody at the table sees it."""

    number: DealNumber
    dealer: Dealer
    turn: Annotated[SeatNumber, Meta(description="The seat whose turn it is.")]
    phase: Annotated[
        DealPhase,
        Meta(description="What the turn waits for: the draw, or plays and the discard."),
    ]
    turns: Annotated[
        Count, Meta(description="Turns finished; at `turn_limit` the deal is blocked (common.12).")
    ]
    turn_limit: Annotated[Count, Meta(description="So many turns a deal may have at most.")]
    stock: Annotated[Count, Meta(description="Cards in the stock.")]
    pile: Annotated[Count, Meta(description="Cards in the discard pile, the upcard included.")]
    upcard: Annotated[
        Card | None, Meta(description="The top of the discard pile; null: the pile is empty.")
    ]
    turnovers: Annotated[
        Count, Meta(description="How often the discard pile has become the stock.")
    ]
    turnovers_left: Annotated[
        Count | None,
        Meta(
            description=(
                "How often it still may; null: without limit. With none left and an empty stock, "
                "whoever asks for a stock card declines the upcard and ends the deal blocked."
            )
        ),
    ]
    hand_sizes: Annotated[
        tuple[Count, ...], Meta(description="Cards in each seat's hand, by seat.")
    ]
    melds: Annotated[
        tuple[MeldView, ...], Meta(description="Those on the table, as they were laid.")
    ]
    melds_left: Annotated[
        Count | None,
        Meta(description="New melds that may still be laid this turn; null: any number."),
    ]
    call: Annotated[
        CallView | None,
        Meta(
            description="The call that is open (call-rummy.5); null: the upcard cannot be called."
        ),
    ]


class NextDeal(Struct, frozen=True):
    """A deal to come: its secret is fixed, and the seats can add entropy to it (table.8)."""

    deal: DealNumber
    commitment: Commitment
    entropy: Annotated[
        tuple[str, ...],
        Meta(
            description="What each seat has added, by seat; an empty text: nothing. No items: "
            "nobody did."
        ),
    ]


class Fairness(Struct, frozen=True):
    """What proves that the cards were not chosen; docs/fairness.md says how to check it."""

    shuffle: Annotated[str, Meta(description="The name of the shuffle.")]
    commitment: Annotated[
        str | None,
        Meta(
            description="Of the deal being played: SHA-256 of its secret, in hexadecimal digits; "
            "null: none is played, or it was dealt before there were commitments."
        ),
    ]
    next: Annotated[
        NextDeal | None, Meta(description="The deal that comes next; null: no deal can follow.")
    ]
    revealed: Annotated[
        Proof | None, Meta(description="Of the last deal that ended; null: none has.")
    ]


class MatchView(Struct, frozen=True, kw_only=True):
    """A match as one seat sees it; for a spectator without hand and moves."""

    deal: DealView | None
    hand: tuple[Card, ...] | None
    may_not_discard: Card | None
    """The upcard just taken, where it may not go back this turn. Only its taker is told."""
    moves: tuple[Move, ...]
    moves_truncated: bool
    """Whether there are more legal moves than `moves` lists."""
    totals: tuple[int, ...]
    last_deal: DealResult | None
    result: MatchResult | None
    fairness: Fairness


class DiscardView(Struct, frozen=True):
    """A card that came onto the discard pile."""

    seat: Annotated[
        SeatNumber | None,
        Meta(
            description="Who discarded it; null: it was turned up, at the deal or by a turnover, "
            "or an older version of the service had not kept who it was."
        ),
    ]
    card: Card
    gone: Annotated[
        Gone | None,
        Meta(
            description="How it left the pile: it was `taken` into a hand, `called` onto a meld, "
            "or `turned_over` with the pile; null: it lies there still."
        ),
    ]
    by: Annotated[
        SeatNumber | None, Meta(description="Who took it or called it; null: nobody has.")
    ]


class MemoryView(Struct, frozen=True):
    """What everybody saw of the deal being played, for those who do not remember it."""

    taken: Annotated[
        tuple[tuple[Card, ...], ...],
        Meta(
            description="By seat: the cards seen going into that hand, from the discard pile or "
            "out of a meld, and not leaving it since."
        ),
    ]
    discards: Annotated[
        tuple[DiscardView, ...],
        Meta(
            description="All that came onto the discard pile in this deal, in order. Those that "
            "are not gone are the pile; the last of them is the upcard."
        ),
    ]


class Sight(Struct, frozen=True, kw_only=True):
    """All that an attentive player at `seat` knows: what a computer player decides by.

    It is the seat's view, and what the seat would remember of what everybody saw.
    """

    rules: Rules
    seat: int
    view: MatchView
    picked: tuple[tuple[int, Card], ...]
    """Cards, with their seat, that went into that hand face up and have not left it."""
    thrown: tuple[tuple[int, Card], ...]
    """The last MOST_THROWN discards of the deal with their seat, the oldest first."""
    pile: tuple[Card, ...]
    """The discard pile, the oldest card first: each of its cards was the upcard once."""


class DealtTo(Struct, frozen=True, tag="dealt", tag_field="type"):
    """A deal began; `hand` is what the reader of the log was dealt."""

    deal: DealNumber
    dealer: Dealer
    hand_sizes: Annotated[tuple[Count, ...], Meta(description="Cards dealt to each, by seat.")]
    upcard: Annotated[
        Card | None, Meta(description="The card turned up; null: the table plays without.")
    ]
    stock: Annotated[Count, Meta(description="Cards left in the stock.")]
    hand: Annotated[
        tuple[Card, ...] | None,
        Meta(description="By suit, then rank; null: the reader has no seat."),
    ]


PublicEvent = (
    DealerDrawn
    | Committed
    | DealtTo
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


def view(match: Match, seat: int | None, now: int, most_moves: int) -> MatchView:
    """The match as `seat` may see it at the time `now` (milliseconds); None: a spectator.

    At most `most_moves` legal moves are listed.
    """
    deal = match.deal
    mine = deal.turn == seat if deal else False
    moves, truncated = moves_of(match, seat, now, most_moves)
    return MatchView(
        deal=_deal_view(deal, match.rules, now) if deal else None,
        hand=deal.hands[seat] if deal and seat is not None else None,
        # Whether a twin lifted the ban depends on the hand, so it is nobody else's business.
        may_not_discard=deal.taken if deal and mine else None,
        moves=moves,
        moves_truncated=truncated,
        totals=match.totals,
        last_deal=match.last,
        result=match.result,
        fairness=_fairness(match),
    )


def fairness_before(seed: str, game: str, entropy: tuple[str, ...]) -> Fairness:
    """What is shown while the first deal is waited for; `entropy` is what each seat has added."""
    return Fairness(SHUFFLE, None, NextDeal(1, committed(seed, game, 1), entropy), None)


def sight(match: Match, seat: int, now: int, most_moves: int) -> Sight:
    """What `seat` sees and remembers at the time `now` (milliseconds), with its legal moves."""
    deal = match.deal
    return Sight(
        rules=match.rules,
        seat=seat,
        view=view(match, seat, now, most_moves),
        picked=deal.picked if deal else (),
        thrown=_last_thrown(deal) if deal else (),
        pile=deal.pile if deal else (),
    )


def memory(match: Match) -> MemoryView | None:
    """What everybody saw of the deal being played, if there is one: the same for all."""
    deal = match.deal
    if deal is None:
        return None
    return MemoryView(
        taken=tuple(
            in_order(card for owner, card in deal.picked if owner == seat)
            for seat in range(match.rules.players)
        ),
        discards=tuple(
            DiscardView(thrown.seat, thrown.card, thrown.gone, thrown.by) for thrown in deal.thrown
        ),
    )


def moves_of(match: Match, seat: int | None, now: int, most: int) -> tuple[tuple[Move, ...], bool]:
    """Up to `most` legal moves of the seat, and whether there are more."""
    if seat is None:
        return (), False
    moves = tuple(islice(legal_moves(match, seat, now), most + 1))
    return moves[:most], len(moves) > most


def waits_for_call(match: Match) -> bool:
    """Whether the next draw waits, or has waited, for a timed call of the upcard."""
    deal = match.deal
    if deal is None or deal.window is None or deal.window.closes is None:
        return False
    return bool(callable_on(deal, match.rules))


def redact(event: Event, seat: int | None) -> PublicEvent:
    """The event as `seat` may read it; None: a spectator."""
    match event:
        case Dealt():
            return DealtTo(
                deal=event.deal,
                dealer=event.dealer,
                hand_sizes=tuple(map(len, event.hands)),
                upcard=event.upcard,
                stock=event.stock,
                hand=None if seat is None else event.hands[seat],
            )
        case Drew():
            seen = event.source == "discard" or event.seat == seat
            return Drew(event.seat, event.source, event.card if seen else None)
        case (
            DealerDrawn()
            | Committed()
            | Declined()
            | TurnedOver()
            | Melded()
            | LaidOff()
            | Swapped()
            | Discarded()
            | Called()
            | DealEnded()
            | Revealed()
            | MatchEnded()
        ):
            return event


def reveals(event: Event) -> bool:
    """Whether somebody who foresees this event learns what is hidden before it."""
    match event:
        case Drew():
            return event.source == "stock"
        case Dealt() | TurnedOver() | DealEnded() | Revealed() | MatchEnded():
            return True
        case (
            DealerDrawn()
            | Committed()
            | Declined()
            | Melded()
            | LaidOff()
            | Swapped()
            | Discarded()
            | Called()
        ):
            return False


def melds_of(deal: Deal) -> tuple[MeldView, ...]:
    """The melds on the table."""
    return tuple(
        MeldView(meld.id, meld.owner, meld.kind, meld.cards, meld.faces) for meld in deal.melds
    )


def instant(milliseconds: int) -> datetime:
    """A time of the state as a time to show."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _last_thrown(deal: Deal) -> tuple[tuple[int, Card], ...]:
    latest = deal.discards.latest_first()
    thrown = ((each.seat, each.card) for each in latest if each.seat is not None)
    return tuple(islice(thrown, MOST_THROWN))[::-1]


def _deal_view(deal: Deal, rules: Rules, now: int) -> DealView:
    return DealView(
        number=deal.number,
        dealer=deal.dealer,
        turn=deal.turn,
        phase=deal.phase,
        turns=deal.turns,
        turn_limit=TURN_LIMIT,
        stock=len(deal.stock),
        pile=len(deal.pile),
        upcard=deal.upcard,
        turnovers=deal.turnovers,
        turnovers_left=None if rules.turnovers is None else rules.turnovers - deal.turnovers,
        hand_sizes=tuple(map(len, deal.hands)),
        melds=melds_of(deal),
        melds_left=0 if melds_are_over(deal, rules) else melds_left(deal, rules),
        call=_call_view(deal, rules, now),
    )


def _fairness(match: Match) -> Fairness:
    deal, number = match.deal, next_deal(match)
    return Fairness(
        SHUFFLE,
        committed(match.seed, match.game, deal.number) if deal and deal.shuffle else None,
        NextDeal(number, committed(match.seed, match.game, number), match.entropy)
        if number
        else None,
        match.revealed,
    )


def _call_view(deal: Deal, rules: Rules, now: int) -> CallView | None:
    window, upcard = deal.window, deal.upcard
    if window is None or upcard is None or not window.is_open(now):
        return None
    fitting = callable_on(deal, rules)
    if not fitting:
        return None
    closes_at = None if window.closes is None else instant(window.closes)
    return CallView(upcard, window.seat, closes_at, tuple(meld.id for meld in fitting))

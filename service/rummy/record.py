"""A deal as a value: how it began and every move, so that it can be run again and checked.

A re-run needs no seed. The order of the pack is in the record, and so is that of each turnover that
was shuffled.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from service.errors import BadReplay, NoSuchVariant, OptionsRefused, Refused
from service.rummy import engine
from service.rummy.cards import JOKER, ORDER, Card, in_order, pack
from service.rummy.model import (
    Call,
    Called,
    CallWindow,
    Deal,
    DealEnded,
    Dealt,
    Declined,
    Discard,
    Discarded,
    Draw,
    Drew,
    Event,
    LaidOff,
    LayMeld,
    LayOff,
    Match,
    MatchEnded,
    Melded,
    Move,
    Swap,
    Swapped,
    TurnedOver,
)
from service.rummy.rules import OPTIONS, Rules, agree
from service.text import Text

Shuffle = Callable[[int, tuple[Card, ...]], tuple[Card, ...]]
"""The order in which a turnover of the deal, counted from 1, put these cards (sorted); the first is
the top."""


class Recorded(Struct, frozen=True):
    """One move of a deal.

    `drawn` is the card that the stock gave; None: it was no stock draw, or there was no card to
    draw and the deal ended (common.12).
    """

    seat: int
    move: Move
    drawn: Card | None = None


class DealRecord(Struct, frozen=True):
    """A deal from its first card to as far as it was played."""

    rules: Rules
    number: int
    dealer: int
    cards: tuple[Card, ...]
    """The whole pack, the first card to be dealt first."""
    totals: tuple[int, ...]
    """What each seat had before the deal."""
    moves: tuple[Recorded, ...]
    turnovers: tuple[tuple[Card, ...], ...] = ()
    """For each turnover that was shuffled the cards turned over in their new order, the first on
    top, before any new upcard was turned."""


class Position(Struct, frozen=True):
    """How things stood after a move, and what it did; `recorded` is None at the start.

    Once the deal is over `match.deal` is None and `match.last` tells how it ended; `match.result`
    is there only if the match ended with it.
    """

    match: Match
    events: tuple[Event, ...]
    recorded: Recorded | None


def recorded(events: Iterable[Event]) -> tuple[Recorded, ...]:
    """The moves that made these events of one deal, in their order.

    Complete moves: jokers are named, and the card is, that was taken or called.
    """
    return tuple(move for event in events if (move := _recorded(event)) is not None)


def positions(record: DealRecord, match: Match | None = None) -> Iterator[Position]:
    """The start, then how things stood after each move; the engine plays them all again.

    They begin with `match`, if one is given in which this deal has just been dealt: then what comes
    after is of that match. Times do not matter: it all happens at 0, but for draws that wait for a
    timed call. Raises BadReplay at the first move that does not fit, with its number from 1 as
    `move` in the `params`.
    """
    shuffled = 0
    for position in _positions(record, _orders_of(record), match):
        yield position
        shuffled += record.rules.turnover_shuffles and _turned_over(position.events)
    if shuffled < len(record.turnovers):
        raise BadReplay(
            Text("Orders given of shuffled turnovers: {orders}. There were: {turnovers}.").format(
                orders=len(record.turnovers), turnovers=shuffled
            )
        )


def with_turnovers(record: DealRecord, shuffle: Shuffle) -> DealRecord:
    """The record with the order of each shuffled turnover, as `shuffle` tells it.

    Raises as `positions` does.
    """
    orders: list[tuple[Card, ...]] = []

    def remembered(number: int, cards: tuple[Card, ...]) -> tuple[Card, ...]:
        orders.append(shuffle(number, cards))
        return orders[-1]

    for _ in _positions(record, remembered, None):
        pass
    return replace(record, turnovers=tuple(orders))


def guard_rules(rules: Rules) -> None:
    """A table can play by these rules. Raises BadReplay."""
    try:
        agree(rules.variant, rules.players, {name: getattr(rules, name) for name in OPTIONS})
    except (NoSuchVariant, OptionsRefused) as error:
        raise BadReplay(error.detail) from error


def unfit(number: int, step: Recorded, why: Text) -> BadReplay:
    """The error that says why the move with that number, from 1, does not fit."""
    detail = Text("Move {move}, by seat {seat}: {why}")
    return BadReplay(detail.format(move=number, seat=step.seat, why=why), move=number)


# ------------------------------------------------------------------------------- running again


def _positions(record: DealRecord, shuffle: Shuffle, match: Match | None) -> Iterator[Position]:
    events: tuple[Event, ...] = ()
    if match is None:
        match, events = _dealt(record)
    yield Position(match, events, None)
    for number, step in enumerate(record.moves, 1):
        if match.deal is None:
            raise unfit(number, step, Text("the deal is over."))
        try:
            match, events = _applied(match, match.deal, step, shuffle)
        except Refused as refusal:
            why = Text("{why} ({rule})").format(why=refusal.detail, rule=refusal.rule)
            raise unfit(number, step, why) from refusal
        except _Unfit as error:
            raise unfit(number, step, error.why) from error
        yield Position(match, events, step)


class _Unfit(Exception):
    """A move is possible, but does not do what is recorded."""

    def __init__(self, why: Text) -> None:
        super().__init__(why)
        self.why = why


def _dealt(record: DealRecord) -> engine.Change:
    rules = record.rules
    guard_rules(rules)
    if record.number < 1:
        raise BadReplay(Text("The deals of a match are counted from 1."))
    if not 0 <= record.dealer < rules.players:
        raise BadReplay(
            Text("There is no seat {dealer} to deal; seats are 0 to {last}.").format(
                dealer=record.dealer, last=rules.players - 1
            )
        )
    if len(record.totals) != rules.players or min(record.totals) < 0:
        raise BadReplay(
            Text("`totals` takes one number from 0 for each of the {players} seats.").format(
                players=rules.players
            )
        )
    wanted, given = Counter(pack(rules.decks, rules.jokers)), Counter(record.cards)
    if given != wanted:
        raise BadReplay(
            Text(
                "The cards are not the pack of {size} cards. Missing: {missing}. Too many: {extra}."
            ).format(
                size=wanted.total(),
                missing=in_order((wanted - given).elements()) or "-",
                extra=tuple(sorted((given - wanted).elements())) or "-",
            )
        )
    before = Match(rules=rules, seed="", totals=record.totals)
    match, events = engine.deal_from(before, record.number, record.dealer, record.cards)
    return match, tuple(event for event in events if isinstance(event, Dealt))


def _applied(match: Match, deal: Deal, step: Recorded, shuffle: Shuffle) -> engine.Change:
    """The match after the move, which must give the card that is recorded.

    How the engine goes on after the end of the deal, if the match does, is left away.
    """
    if not 0 <= step.seat < match.rules.players:
        raise _Unfit(Text("there is no such seat."))
    if not all(card in ORDER for card in _cards_in(step.move)):
        raise _Unfit(Text("not all of its cards are cards."))
    at = _fitting_time(step.move, deal.window)
    after, events = engine.apply(match, step.seat, step.move, at)
    if match.rules.turnover_shuffles and _turned_over(events):
        ordered = _pile_in_order(match, deal, shuffle)
        after, events = engine.apply(ordered, step.seat, step.move, at)
        after = replace(after, rules=match.rules)
    from_stock = (one.card for one in events if isinstance(one, Drew) and one.source == "stock")
    drawn = next(from_stock, None)
    if drawn != step.drawn:
        raise _Unfit(
            Text("the stock gives {drawn}, not {recorded}.").format(
                drawn=drawn or "-", recorded=step.drawn or "-"
            )
        )
    place = next((at for at, one in enumerate(events) if isinstance(one, DealEnded)), None)
    if place is not None:
        after = replace(after, deal=None)
        endings = tuple(one for one in events[place:] if isinstance(one, DealEnded | MatchEnded))
        events = events[:place] + endings
    return after, events


def _cards_in(move: Move) -> Iterator[Card]:
    """All cards that the move names, by whatever text."""
    match move:
        case Draw(card=card) | Swap(card=card) | Discard(card=card):
            yield from () if card is None else (card,)
        case LayMeld(cards, named) | LayOff(cards=cards, jokers=named):
            yield from (*cards, *named)
        case Call(jokers=named, card=card):
            yield from named if card is None else (*named, card)


def _turned_over(events: Iterable[Event]) -> bool:
    return any(isinstance(event, TurnedOver) for event in events)


def _fitting_time(move: Move, window: CallWindow | None) -> int:
    """When a call is still open, and a draw need not wait for it any more."""
    if window is None:
        return 0
    if isinstance(move, Call) or window.closes is None:
        return window.opened
    return window.closes


def _pile_in_order(match: Match, deal: Deal, shuffle: Shuffle) -> Match:
    """The match in which the next turnover gives the order told by `shuffle`, without chance."""
    stays = deal.pile[-1:] if match.rules.turnover_keeps_upcard else ()
    turned = in_order(deal.pile[: len(deal.pile) - len(stays)])
    number = deal.turnovers + 1
    order = shuffle(number, turned)
    if Counter(order) != Counter(turned):
        raise _Unfit(
            Text(
                "the order of turnover {number} is not made of the cards turned over. "
                "They are {cards}."
            ).format(number=number, cards=turned)
        )
    return replace(
        match,
        rules=replace(match.rules, turnover_shuffles=False),
        deal=replace(deal, pile=(*order, *stays)),
    )


def _orders_of(record: DealRecord) -> Shuffle:
    def order(number: int, _: tuple[Card, ...]) -> tuple[Card, ...]:
        if number > len(record.turnovers):
            raise _Unfit(Text("the order of turnover {number} is not there.").format(number=number))
        return record.turnovers[number - 1]

    return order


# ------------------------------------------------------------------------------- what was played


def _recorded(event: Event) -> Recorded | None:
    match event:
        case Drew(seat, "stock", card):
            return Recorded(seat, Draw("stock"), card)
        case Drew(seat, _, card):
            return Recorded(seat, Draw("discard", card))
        case Declined(seat):
            return Recorded(seat, Draw("stock"))
        case Melded(seat=seat, cards=cards, faces=faces):
            named = (face for face, card in zip(faces, cards, strict=True) if card == JOKER)
            return Recorded(seat, LayMeld(cards, tuple(named)))
        case LaidOff(seat=seat, meld=meld, cards=cards, jokers=named):
            return Recorded(seat, LayOff(meld, cards, named))
        case Swapped(seat, meld, card):
            return Recorded(seat, Swap(meld, card))
        case Discarded(seat, card):
            return Recorded(seat, Discard(card))
        case Called(seat=seat, meld=meld, card=card, jokers=named):
            return Recorded(seat, Call(meld, named, card))
        case _:
            return None

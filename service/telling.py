"""Replays, and deals in the notation, told in lines of text for people."""

from collections.abc import Collection, Generator, Iterator, Sequence
from functools import partial

from service.replay import Document, MatchReplay, ReplayDeal
from service.rummy.model import (
    Called,
    Deal,
    DealResult,
    Event,
    LaidOff,
    Match,
    MatchResult,
    Melded,
    TurnedOver,
)
from service.rummy.notation import spelt
from service.rummy.record import DealRecord, Position, positions
from service.verify import in_deal, walked

_MOST_IN_NAME = 16
_WIDTH_OF_MOVE = 24
"""Of most moves; what follows a longer one is pushed to the right."""
_MARGIN = " " * 5
_BLOCKED = {
    "nothing_to_draw": "there was no card left to draw",
    "turnovers_used_up": "the stock was empty, and the upcard was declined",
    "turn_limit": "it had taken too many turns",
}


def told(document: Document, only: int | None = None) -> Iterator[str]:
    """All deals, or only the one with that number, with a line for each move.

    Raises BadReplay at the first move that does not fit.
    """
    names = [_short(seat.name) for seat in document.seats]
    yield from walked(document, only, partial(_told_deal, names))
    if isinstance(document, MatchReplay) and only is None:
        yield from _told_result(names, document.result)


def told_record(record: DealRecord) -> Iterator[str]:
    """Such a deal likewise, as far as it goes. Raises BadReplay."""
    names = [f"seat {seat}" for seat in range(record.rules.players)]
    with in_deal(record.number):
        yield from _told(names, record.number, "", positions(record), ())


def _told_deal(
    names: Sequence[str], deal: ReplayDeal, steps: Iterator[Position]
) -> Generator[str, None, Match]:
    forced = {number for number, move in enumerate(deal.moves, 1) if move.forced}
    match = yield from _told(names, deal.number, _begun(deal), steps, forced)
    if deal.result is None:
        yield f"{_MARGIN}  given up"
    return match


def _told_result(names: Sequence[str], result: MatchResult | None) -> Iterator[str]:
    if result is None:
        yield "The match goes on"
        return
    winners = " and ".join(names[seat] for seat in result.winners)
    yield f"Match over: {f'{winners} won' if winners else 'given up, nobody won'}"
    totals = zip(names, result.totals, strict=True)
    yield f"{_MARGIN}  {', '.join(f'{name} {total}' for name, total in totals)}"


def _told(
    names: Sequence[str],
    number: int,
    begun: str,
    steps: Iterator[Position],
    forced: Collection[int],
) -> Generator[str, None, Match]:
    """The lines of a deal; returns the match as it is after it."""
    width = max(map(len, names))
    position = next(steps)
    start = position.match.deal
    if start is not None:
        yield f"Deal {number}, dealt by {names[start.dealer]}{begun}"
        for name, dealt in zip(names, start.hands, strict=True):
            yield f"{_MARGIN}  {name:{width}}  {' '.join(dealt)}"
        yield f"{_MARGIN}  {_on_the_table(start)}"
    for place, position in enumerate(steps, 1):
        made = position.recorded
        if made is None:
            continue
        move = spelt(made) + (" (by the clock)" if place in forced else "")
        hand = " ".join(_hand(position.match, made.seat)) or "no card left"
        meld = "".join(map(_meld, position.events))
        line = f"{place:5}  {names[made.seat]:{width}}  {move:{_WIDTH_OF_MOVE}} | {hand}{meld}"
        yield line.rstrip()
        if any(isinstance(event, TurnedOver) for event in position.events) and position.match.deal:
            yield f"{_MARGIN}  the pile is turned over: {_on_the_table(position.match.deal)}"
        if position.match.deal is None and position.match.last is not None:
            yield from _ended(names, position.match.last)
    return position.match


def _ended(names: Sequence[str], result: DealResult) -> Iterator[str]:
    width = max(map(len, names))
    if result.winner is not None:
        yield f"{_MARGIN}  {names[result.winner]} is out, by a {result.how}"
    else:
        yield f"{_MARGIN}  blocked: {_BLOCKED[result.why or 'nothing_to_draw']}"
    for seat, name in enumerate(names):
        left = " ".join(result.hands[seat]) or "nothing"
        counted = f"counts {result.counts[seat]}, scores {result.scores[seat]}"
        yield f"{_MARGIN}  {name:{width}}  {counted}, total {result.totals[seat]}: {left}"


def _begun(deal: ReplayDeal) -> str:
    return f"{deal.moves[0].at:, first move at %Y-%m-%d %H:%M:%S %Z}" if deal.moves else ""


def _on_the_table(deal: Deal) -> str:
    return f"upcard {deal.upcard or 'none'}, {len(deal.stock)} in the stock"


def _hand(match: Match, seat: int) -> Sequence[str]:
    """The seat's hand, in the end what was left in it."""
    if match.deal is not None:
        return match.deal.hands[seat]
    return match.last.hands[seat] if match.last else ()


def _meld(event: Event) -> str:
    """The meld that the event is about, as it lies then, jokers as what they stand for."""
    if isinstance(event, Melded | LaidOff | Called):
        return f" | {event.meld}: {' '.join(event.faces)}"
    return ""


def _short(name: str) -> str:
    return name if len(name) <= _MOST_IN_NAME else name[: _MOST_IN_NAME - 1] + "…"

"""Every legal move, found with the guards of the engine, so that list and check cannot disagree.

Most guards are asked as the question that they raise by: raising again and again is dear.
"""

from collections.abc import Callable, Iterator
from typing import ParamSpec

from service.errors import Refused
from service.rummy import engine, melds
from service.rummy.cards import JOKER, ORDER, Card, without
from service.rummy.model import Call, Deal, Discard, Draw, LayMeld, LayOff, Match, Meld, Move, Swap
from service.rummy.rules import Rules

P = ParamSpec("P")


def legal_moves(match: Match, seat: int, now: int) -> Iterator[Move]:
    """The moves that `engine.apply` accepts from `seat` at the time `now` (milliseconds).

    First calls and draws, or discards, layoffs and swaps; then melds, those with few jokers first.
    Each move is there once: cards in the order of the meld, jokers always named, the upcard named
    in a draw. Only layoffs of several cards are left out: a set or run that takes them all takes
    them one by one in some order, so single layoffs reach the same table (and where the turn can be
    finished after all of them, it can be after each). With many jokers there can be very many
    melds; they are found only as they are taken.
    """
    deal = match.deal
    if deal is None:
        return
    yield from _calls(deal, match.rules, seat, now)
    if seat != deal.turn:
        return
    if deal.phase == "draw":
        yield from _draws(deal, match.rules, now)
        return
    yield from _discards(deal)
    yield from _layoffs(deal, match.rules)
    yield from _swaps(deal, match.rules)
    yield from _melds(deal, match.rules)


# What can only be short is given as a list, which is read faster than a generator.


def _calls(deal: Deal, rules: Rules, seat: int, now: int) -> Iterator[Call]:
    if deal.window is None or not _passes(engine.guard_may_call, deal, rules, seat, now):
        return
    for meld in engine.callable_on(deal, rules):
        if deal.upcard == JOKER:
            yield from (Call(meld.id, (face,)) for face in melds.open_faces(meld, rules))
        else:
            yield Call(meld.id)


def _draws(deal: Deal, rules: Rules, now: int) -> list[Draw]:
    if not _passes(engine.guard_call_settled, deal, rules, now):
        return []
    found = [Draw("stock")] if _passes(engine.guard_stock, deal, rules) else []
    if deal.upcard is not None:
        found.append(Draw("discard", deal.upcard))
    return found


def _discards(deal: Deal) -> list[Discard]:
    cards = dict.fromkeys(deal.hands[deal.turn])
    return [_DISCARDS[card] for card in cards if engine.may_discard(deal, card)]


_DISCARDS = {card: Discard(card) for card in ORDER}


def _layoffs(deal: Deal, rules: Rules) -> list[LayOff]:
    """The single cards of the hand that fit a meld."""
    hand = deal.hands[deal.turn]
    sure = engine.is_finishable(deal, rules, left=len(hand) - 1)
    wild = JOKER in hand
    found = []
    for meld in deal.melds:
        if not engine.may_lay_off(meld, deal.turn, rules):
            continue
        for face in melds.open_faces(meld, rules):
            if face in hand and (sure or _leaves_a_way(deal, rules, meld, face, ())):
                found.append(LayOff(meld.id, (face,)))
            if wild and (sure or _leaves_a_way(deal, rules, meld, JOKER, (face,))):
                found.append(LayOff(meld.id, (JOKER,), (face,)))
    return found


def _leaves_a_way(
    deal: Deal, rules: Rules, meld: Meld, card: Card, named: tuple[Card, ...]
) -> bool:
    """Whether the turn can be finished after that layoff."""
    grown = melds.extended(meld, (card,), named, rules)
    table = [grown if other is meld else other for other in deal.melds]
    hand = without(deal.hands[deal.turn], (card,))
    return _passes(engine.guard_finishable, hand, table, deal, rules)


def _swaps(deal: Deal, rules: Rules) -> list[Swap]:
    """The cards of the hand that a joker on the table stands for."""
    if not rules.joker_swap:
        return []
    hand = deal.hands[deal.turn]
    return [
        Swap(meld.id, face)
        for meld in deal.melds
        if meld.jokers
        for face in dict.fromkeys(meld.named)
        if face in hand
    ]


def _melds(deal: Deal, rules: Rules) -> Iterator[LayMeld]:
    if not engine.may_meld(deal, rules):
        return
    hand = deal.hands[deal.turn]
    for shape in melds.melds_in(hand, rules):
        left = len(hand) - len(shape.faces)
        if engine.is_finishable(deal, rules, left) or _passes(
            engine.guard_finishable,
            without(hand, shape.cards),
            (*deal.melds, Meld(0, deal.turn, shape.kind, shape.faces, shape.jokers)),
            deal,
            rules,
        ):
            yield LayMeld(shape.cards, shape.named)


def _passes(guard: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
    try:
        guard(*args, **kwargs)
    except Refused:
        return False
    return True

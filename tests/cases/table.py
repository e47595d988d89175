"""What the cases share: the presets, and what it means that a move is accepted or refused."""

from collections import Counter

import pytest

from service.errors import OptionsRefused, Refused
from service.rummy.cards import Card
from service.rummy.engine import apply
from service.rummy.legal import legal_moves
from service.rummy.model import Deal, LayOff, Match, Move
from service.rummy.rules import OptionProblem, OptionValue, agree
from tests import positions
from tests.positions import NOW

ALL = ("straight", "seven-card", "parlett", "call-rummy")
in_every_preset = pytest.mark.parametrize("variant", ALL)

JOKER_GAMES = ("seven-card", "parlett")
with_jokers = pytest.mark.parametrize("variant", JOKER_GAMES)

MELD_LIMIT = {"straight": "straight.3", "seven-card": "seven-card.3"}
"""The clause of the presets that allow one new meld a turn."""

NO_RETURN = {"straight": "straight.4", "parlett": "parlett.3"}
"""The clause of the presets in which the upcard just taken stays in the hand."""


def accept(match: Match, *moves: str | Move, seat: int | None = None, now: int = NOW) -> Match:
    """The match after the moves. Each is among the legal moves, and no card gets lost or made."""
    for move in map(_move, moves):
        mover = _mover(match, seat)
        after, _ = apply(match, mover, move, now)
        if not (isinstance(move, LayOff) and len(move.cards) > 1):
            legal = legal_moves(match, mover, now)
            assert any(apply(match, mover, other, now)[0] == after for other in legal), move
        if match.deal and after.deal and match.deal.number == after.deal.number:
            assert all_cards(match.deal) == all_cards(after.deal)
        match = after
    return match


def refuse(
    match: Match,
    wanted: str | Move,
    code: str,
    rule: str | None,
    *,
    seat: int | None = None,
    now: int = NOW,
) -> Refused:
    """The refusal: with that code and clause. It is no legal move, and it changed nothing."""
    mover, move = _mover(match, seat), _move(wanted)
    before = repr(match)
    with pytest.raises(Refused) as caught:
        apply(match, mover, move, now)
    assert (caught.value.code, caught.value.rule) == (code, rule), caught.value.detail
    assert repr(match) == before
    assert move not in set(legal_moves(match, mover, now))
    if match.deal is not None:
        assert any(legal_moves(match, match.deal.turn, now)), "the player is stuck"
    return caught.value


def refuse_options(variant: str, players: int, **chosen: OptionValue) -> dict[str, OptionProblem]:
    """The problems found with these options, by option."""
    with pytest.raises(OptionsRefused) as caught:
        agree(variant, players, chosen)
    return {problem.option: problem for problem in caught.value.problems}


def all_cards(deal: Deal) -> Counter[Card]:
    """Every card of the deal, wherever it lies."""
    found = Counter((*deal.stock, *deal.pile))
    for hand in deal.hands:
        found.update(hand)
    for meld in deal.melds:
        found.update(meld.cards)
    return found


def seats(hand: str, players: int, others: str = "2C") -> str:
    """Hands for that many players: the first holds `hand`, each other one card of `others`' rank.

    `others` names the first of them; the next suits follow.
    """
    suits = "CDHS" * 2
    start = suits.index(others[1])
    rest = [others[0] + suits[start + place] for place in range(players - 1)]
    return " | ".join((hand, *rest))


def _mover(match: Match, seat: int | None) -> int:
    if seat is not None:
        return seat
    return match.deal.turn if match.deal else 0


def _move(wanted: str | Move) -> Move:
    return positions.move(wanted) if isinstance(wanted, str) else wanted

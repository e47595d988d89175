"""The list of legal moves, what the engine accepts and what the rules say are one and the same.

The rules speak through `oracle`, which tries everything. Positions are random, a number each.
"""

from collections import Counter
from random import Random

import msgspec
import pytest

from service.errors import Refused
from service.rummy.engine import apply
from service.rummy.legal import legal_moves
from service.rummy.model import LayMeld, LayOff, Match, Move, Swap
from service.rummy.rules import PRESETS, OptionValue, agree
from tests.positions import after, cards, deal_of, position
from tests.rummy import oracle
from tests.rummy.chance import LATER, NOW, random_position, random_rules

clause = pytest.mark.clause

POSITIONS = 25
"""Of each preset and kind."""

KINDS: dict[str, dict[str, OptionValue]] = {
    "as the preset is": {},
    "jokers": {"jokers": 4},
    "dead ends": {"return_upcard": False, "final_discard": True, "jokers": 4},
    "dead ends with layoffs": {
        "return_upcard": False,
        "final_discard": False,
        "layoffs": "any",
        "jokers": 4,
    },
    "calls": {"call": "timed", "call_seconds": 5, "jokers": 2},
    "anything": {},
}

MUST_OCCUR = {
    "as the preset is": ("Melded", "LaidOff", "Discarded", "Drew", "not_a_meld", "does_not_fit"),
    "jokers": ("Melded JK", "LaidOff JK", "Swapped", "joker_unclear", "joker_misnamed"),
    "dead ends": ("would_be_stuck", "final_discard_needed", "upcard_returned", "Swapped", "Melded"),
    "dead ends with layoffs": ("would_be_stuck", "upcard_returned", "Melded", "Swapped"),
    "calls": ("Called", "call_pending", "call_closed", "own_discard"),
    "anything": ("Discarded",),
}
"""What the positions of each kind have to show: accepted plays, and refusals by code."""


def positions(variant: str, kind: str) -> list[Match]:
    """So many positions of a kind."""
    found = []
    for number in range(POSITIONS):
        chance = Random(f"{variant} {kind} {number}")
        low, high = PRESETS[variant].players
        players = chance.choice([low, low, 4, high])
        rules = random_rules(chance, variant, players, **KINDS[kind])
        if kind == "as the preset is":
            rules = agree(variant, players, {"deals": 1})
        found.append(
            random_position(
                chance,
                rules,
                most_in_hand=6 if rules.jokers else 7,
                draw=0.7 if kind == "calls" else 0.2,
                narrow="dead ends" in kind,
            )
        )
    return found


def told(match: Match) -> str:
    """A position for somebody who has to find out what went wrong."""
    return msgspec.json.format(msgspec.json.encode(match)).decode()


def attempt(match: Match, seat: int, move: Move, now: int) -> tuple[Match | None, str]:
    """The match after the move and its kind, or None and the code of the refusal.

    The match itself is the same afterwards, whatever happened.
    """
    before = msgspec.json.encode(match)
    try:
        result, events = apply(match, seat, move, now)
        joker = isinstance(move, LayMeld | LayOff) and "JK" in move.cards
        return result, type(events[0]).__name__ + " JK" * joker
    except Refused as error:
        return None, error.code
    finally:
        assert msgspec.json.encode(match) == before


def accepts(match: Match, seat: int, move: Move, now: int) -> bool:
    """Whether the engine accepts the move."""
    return attempt(match, seat, move, now)[0] is not None


@clause("common.3", "common.13", "common.7", "jokers.2", "call-rummy.5")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", PRESETS)
def test_the_list_the_engine_and_the_rules_agree_on_every_conceivable_move(
    variant: str, kind: str
) -> None:
    answers: Counter[str] = Counter()
    for match in positions(variant, kind):
        turn = deal_of(match).turn
        seats, times = {turn, (turn + 1) % match.rules.players}, {NOW}
        if deal_of(match).window:
            seats, times = {*seats, (turn - 1) % match.rules.players}, {NOW, LATER}
        for seat in seats:
            for now in times:
                answers += compare(match, seat, now)
    rare = [answer for answer in MUST_OCCUR[kind] if not answers[answer]]
    assert not rare, f"these positions show too little: {rare} {answers}"


def compare(match: Match, seat: int, now: int) -> Counter[str]:
    """Try everything in one position; how often each answer was given."""
    answers: Counter[str] = Counter()
    listed = list(legal_moves(match, seat, now))
    for move in listed:
        assert accepts(match, seat, move, now), f"listed, but refused: {move}\n{told(match)}"
    repeated = Counter(map(oracle.normal, listed))
    assert not repeated or max(repeated.values()) == 1, f"listed twice: {repeated}"
    by_the_rules = set()
    for move in oracle.conceivable(match, seat):
        legal = oracle.legal(match, seat, move, now)
        result, answer = attempt(match, seat, move, now)
        answers[answer] += 1
        assert legal == (result is not None), (
            f"the rules say {legal}, the engine {result is not None}: {move}\n{told(match)}"
        )
        if legal and oracle.in_full(match, move):
            by_the_rules.add(oracle.normal(move))
        if result is not None and isinstance(move, LayMeld | LayOff | Swap):
            check_result(match, result, move, seat)
    assert by_the_rules == set(repeated), told(match)
    return answers


def check_result(match: Match, result: Match, move: LayMeld | LayOff | Swap, seat: int) -> None:
    """The hand and the table after a play are those of the rules; long layoffs go step by step."""
    expected = oracle.played(oracle.turn_of(deal_of(match)), move, seat, match.rules)
    assert expected is not None
    if not expected.hand:
        assert result.last is not None
        assert result.last.winner == seat
    else:
        assert oracle.turn_of(deal_of(result)) == expected, f"{move}\n{told(match)}"
    if isinstance(move, LayOff) and len(move.cards) > 1:
        assert reachable(match, expected, seat), f"not step by step: {move}\n{told(match)}"


def reachable(match: Match, goal: oracle.Turn, seat: int) -> bool:
    """Whether layoffs of single cards lead to the same table."""
    waiting = [match]
    while waiting:
        here = waiting.pop()
        for move in legal_moves(here, seat, NOW):
            if not isinstance(move, LayOff):
                continue
            expected = oracle.laid_off(oracle.turn_of(deal_of(here)), move, seat, match.rules)
            assert expected is not None
            if expected == goal:
                return True
            if len(expected.hand) > len(goal.hand):
                waiting.append(apply(here, seat, move, NOW)[0])
    return False


# ----------------------------------------------------------------------- jokers left unnamed


@clause("jokers.2")
def test_a_joker_may_be_left_out_where_exactly_one_card_is_possible() -> None:
    answers: Counter[bool] = Counter()
    for match in (match for variant in PRESETS for match in positions(variant, "jokers")):
        deal = deal_of(match)
        listed = Counter(
            tuple(sorted(move.cards))
            for move in legal_moves(match, deal.turn, NOW)
            if isinstance(move, LayMeld)
        )
        for selection in oracle.subsets(deal.hands[deal.turn]):
            if "JK" in selection:
                accepted = accepts(match, deal.turn, LayMeld(selection), NOW)
                assert accepted == (listed[selection] == 1), f"{selection}\n{told(match)}"
                answers[accepted] += 1
    assert answers[True] > 3
    assert answers[False] > 100


@clause("common.4", "common.5")
def test_a_hand_of_ten_lists_each_meld_once() -> None:
    match = position(hands="4C 5C 6C 7C 6D 6H 6S 2D 3D KD | 2S")
    melds = {oracle.normal(m) for m in legal_moves(match, 0, NOW) if isinstance(m, LayMeld)}
    texts = [
        "4C 5C 6C", "5C 6C 7C", "4C 5C 6C 7C", "6C 6D 6H", "6C 6D 6S", "6C 6H 6S", "6D 6H 6S",
        "6C 6D 6H 6S",
    ]  # fmt: skip
    assert melds == {("meld", tuple(sorted(cards(text))), ()) for text in texts}


@clause("common.4")
def test_a_run_of_all_thirteen_is_listed_once_with_high_or_low_aces() -> None:
    suit = "AC 2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC"
    match = position(hands=f"{suit} KD | 2D", aces="high_or_low")
    whole = [m for m in legal_moves(match, 0, NOW) if isinstance(m, LayMeld) and len(m.cards) == 13]
    assert len(whole) == 1


@clause("common.3")
def test_nothing_is_listed_out_of_turn_without_a_call() -> None:
    match = position(hands="4C 5C 6C KD | 2S 2C 2D", pile="9D")
    assert list(legal_moves(match, 1, NOW)) == []
    match = after(match, "discard KD")
    assert list(legal_moves(match, 0, NOW)) == []

"""What cards left in hand count, and who has won at the end."""

import pytest

from service.rummy.model import MatchResult
from service.rummy.rules import OptionValue
from tests.cases.table import accept, in_every_preset
from tests.positions import deal_of, position

CARD_VALUES = [
    # variant, options, the two losers' hands, what they count
    ("straight", {}, "AH TS QD | 4C", (21, 4)),
    ("straight", {}, "QC 7D AS | TH 5C 3S", (18, 18)),
    ("seven-card", {}, "AH TS QD | 4C", (21, 4)),
    ("seven-card", {"jokers": 2}, "AH TS QD | JK 4C", (21, 19)),
    ("seven-card", {"jokers": 2, "aces": "high_or_low"}, "AH TS QD | JK 4C", (31, 19)),
    ("parlett", {}, "AH TS QD | 4C", (21, 4)),
    ("parlett", {"jokers": 2}, "AH TS QD | JK 4C", (21, 19)),
    ("parlett", {"jokers": 2, "aces": "high_or_low"}, "AH TS QD | JK 4C", (31, 19)),
    ("call-rummy", {}, "AH TS QD | 4C", (21, 4)),
    ("call-rummy", {}, "QC 7D AS | TH 5C 3S", (18, 18)),
    ("straight", {"aces": "high_or_low"}, "AH AS | 4C", (22, 4)),
    ("call-rummy", {"aces": "high_or_low", "jokers": 2}, "AH JK | JK 4C", (26, 19)),
    ("straight", {"ace_points": 5, "joker_points": 25, "jokers": 2}, "AH | JK", (5, 25)),
]


@pytest.mark.case(50)
@pytest.mark.parametrize(("variant", "options", "losers", "counts"), CARD_VALUES)
def test_case_50_the_cards_left_in_hand_count_by_the_options(
    variant: str, options: dict[str, OptionValue], losers: str, counts: tuple[int, int]
) -> None:
    match = position(variant, hands=f"KC | {losers}", **options)
    match = accept(match, "discard KC")
    assert match.last is not None
    assert match.last.counts == (0, *counts)
    penalty = variant == "call-rummy"
    assert match.totals == ((0, *counts) if penalty else (sum(counts), 0, 0))


@pytest.mark.case(50)
@in_every_preset
def test_case_50_each_card_has_its_value(variant: str) -> None:
    values = dict(zip("A23456789TJQK", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10), strict=True))
    for rank, value in values.items():
        for suit in "DHS":
            match = accept(position(variant, hands=f"4C | {rank}{suit}"), "discard 4C")
            assert match.last is not None
            assert match.last.counts == (0, value)


@pytest.mark.case(50)
@in_every_preset
@pytest.mark.parametrize(("aces", "value"), [("low", 1), ("high_or_low", 11)])
def test_case_50_an_ace_counts_the_same_however_aces_lie_on_the_table(
    variant: str, aces: str, value: int
) -> None:
    match = position(variant, hands="AH 2H 3H KC | AS", melds="1: AD 2D 3D", aces=aces)
    match = accept(match, "meld AH 2H 3H", "discard KC")
    assert match.last is not None
    assert match.last.counts == (0, value)


@pytest.mark.case(52)
@pytest.mark.parametrize(("hand", "total"), [("8D", 103), ("5D", 100)])
def test_case_52_the_target_is_reached_with_exactly_so_many_points_or_more(
    hand: str, total: int
) -> None:
    match = position(hands=f"KC | {hand} | 2C", totals=(93, 95, 0), target=100)
    match = accept(match, "discard KC")
    assert match.result == MatchResult(
        reason="target_reached", winners=(0,), tie=False, totals=(total, 95, 0)
    )


@pytest.mark.case(52)
def test_case_52_below_the_target_the_match_goes_on() -> None:
    match = accept(position(hands="KC | 4D", totals=(95, 95), target=100), "discard KC")
    assert match.totals == (99, 95)
    assert match.result is None
    assert deal_of(match).number == 2


@pytest.mark.case(52)
@pytest.mark.parametrize("variant", ["straight", "seven-card", "parlett"])
def test_case_52_equal_totals_share_the_win(variant: str) -> None:
    match = position(variant, hands="KC | QD", totals=(20, 30), number=2, deals=2)
    match = accept(match, "discard KC")
    assert match.result == MatchResult(
        reason="deals_played", winners=(0, 1), tie=True, totals=(30, 30)
    )


@pytest.mark.case(52)
def test_case_52_the_lowest_total_wins_where_points_are_penalties_and_is_shared_if_equal() -> None:
    match = position("call-rummy", hands="KC | 2D | QH", totals=(12, 10, 20), number=3, deals=3)
    match = accept(match, "discard KC")
    assert match.result == MatchResult(
        reason="deals_played", winners=(0, 1), tie=True, totals=(12, 12, 30)
    )


@pytest.mark.case(52)
def test_case_52_at_a_target_of_penalty_points_the_one_who_reaches_it_has_not_won() -> None:
    match = position("call-rummy", hands="KC | 2D | QH", totals=(12, 12, 90), target=100)
    match = accept(match, "discard KC")
    assert match.result == MatchResult(
        reason="target_reached", winners=(0,), tie=False, totals=(12, 14, 100)
    )


@pytest.mark.case(52)
@in_every_preset
def test_case_52_a_blocked_last_deal_ends_the_match_and_everybody_shares(variant: str) -> None:
    match = position(variant, hands="KC 2C | QD", totals=(0, 0), number=2, deals=2, turns=999)
    match = accept(match, "discard KC")
    assert match.result is not None
    assert (match.result.winners, match.result.tie) == ((0, 1), True)

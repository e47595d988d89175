"""The last card: by which way a deal ends, and that it ends once."""

import pytest

from service.rummy.model import DealResult, Discard, LayMeld, LayOff, Match
from tests.cases.online import Service, at_once
from tests.cases.table import accept, in_every_preset, refuse
from tests.positions import cards, deal_of, hand_of, position

LAST_CARD_DISCARDED = {"call-rummy": "call-rummy.3"}
"""The clause of the preset in which only a discard goes out."""

FINAL_DISCARD = [
    ("straight", "common.15"),
    ("seven-card", "common.15"),
    ("parlett", "common.15"),
    ("call-rummy", "call-rummy.3"),
]
"""The clause of each preset about the last card, for the option that it be discarded."""


def last_deal(match: Match) -> DealResult:
    assert match.last is not None
    return match.last


@pytest.mark.case(28)
@in_every_preset
def test_case_28_a_meld_that_empties_the_hand_ends_the_deal_where_no_discard_is_needed(
    variant: str,
) -> None:
    match = position(variant, hands="5H 6H | KD QD 2C", pile="3C", stock="7H 8S", phase="draw")
    match, meld = accept(match, "draw"), "meld 5H 6H 7H"
    if variant in LAST_CARD_DISCARDED:
        refuse(match, meld, "final_discard_needed", LAST_CARD_DISCARDED[variant])
        match = accept(match, "discard 7H")
        assert deal_of(match).hands[0] == cards("5H 6H")
    else:
        match = accept(match, meld)
        assert match.deal is None
        assert (last_deal(match).how, last_deal(match).winner) == ("meld", 0)
        assert last_deal(match).scores == (22, 0)


@pytest.mark.case(28)
@pytest.mark.parametrize(("variant", "clause"), FINAL_DISCARD)
def test_case_28_the_last_card_must_be_discarded_wherever_that_is_agreed(
    variant: str, clause: str
) -> None:
    match = position(variant, hands="5H 6H 7H | KD", final_discard=True)
    refuse(match, "meld 5H 6H 7H", "final_discard_needed", clause)
    match = accept(match, "discard 7H")
    assert deal_of(match).turn == 1


@pytest.mark.case(28)
@in_every_preset
@pytest.mark.parametrize("final_discard", [False, True])
def test_case_28_with_a_card_to_spare_the_meld_is_fine_and_the_discard_goes_out(
    variant: str, final_discard: bool
) -> None:
    match = position(variant, hands="5H 6H 7H KC | KD", final_discard=final_discard)
    match = accept(match, "meld 5H 6H 7H")
    assert hand_of(match) == "KC"
    match = accept(match, "discard KC")
    assert (last_deal(match).how, last_deal(match).winner) == ("discard", 0)


@pytest.mark.case(28)
@in_every_preset
def test_case_28_the_final_discard_can_be_waived(variant: str) -> None:
    match = position(variant, hands="5H 6H 7H | KD", final_discard=False)
    assert last_deal(accept(match, "meld 5H 6H 7H")).how == "meld"


@pytest.mark.case(29)
@in_every_preset
def test_case_29_a_layoff_of_the_last_card_ends_the_deal_where_no_discard_is_needed(
    variant: str,
) -> None:
    match = position(
        variant,
        hands="4C | KD | QD",
        pile="3C",
        stock="8S 9S",
        melds="0: 8C 8D 8H; 1: 4D 4H 4S",
        phase="draw",
    )
    match = accept(match, "draw", "layoff 1 8S")
    assert hand_of(match) == "4C"
    last = "layoff 2 4C"
    if variant == "seven-card":
        refuse(match, last, "not_your_meld", "seven-card.3")
    elif variant in LAST_CARD_DISCARDED:
        refuse(match, last, "final_discard_needed", LAST_CARD_DISCARDED[variant])
    else:
        match = accept(match, last)
        assert match.deal is None
        assert (last_deal(match).how, last_deal(match).winner) == ("layoff", 0)
        assert last_deal(match).scores == (20, 0, 0)
        return
    match = accept(match, "discard 4C")
    assert (last_deal(match).how, last_deal(match).winner) == ("discard", 0)


@pytest.mark.case(29)
@pytest.mark.parametrize(("variant", "clause"), FINAL_DISCARD)
def test_case_29_neither_one_card_nor_several_are_laid_off_to_an_empty_hand(
    variant: str, clause: str
) -> None:
    match = position(variant, hands="8C 9C | KD", melds="0: 5C 6C 7C", final_discard=True)
    refuse(match, "layoff 1 8C 9C", "final_discard_needed", clause)
    match = accept(match, "layoff 1 8C")
    refuse(match, "layoff 1 9C", "final_discard_needed", clause)
    assert last_deal(accept(match, "discard 9C")).how == "discard"


@pytest.mark.case(29)
def test_case_29_seven_card_rummy_goes_out_by_a_layoff_on_the_own_meld() -> None:
    match = position("seven-card", hands="8S | KD", melds="0: 8C 8D 8H")
    assert last_deal(accept(match, "layoff 1 8S")).how == "layoff"


@pytest.mark.case(29)
@in_every_preset
def test_case_29_a_swap_never_goes_out_for_the_joker_is_in_the_hand(variant: str) -> None:
    match = position(variant, hands="5S | KD", melds="0: 3S 4S JK=5S", jokers=2)
    match = accept(match, "swap 1 5S")
    assert hand_of(match) == "JK"
    assert last_deal(accept(match, "discard JK")).how == "discard"


@pytest.mark.case(31)
@in_every_preset
def test_case_31_melds_still_in_hand_count_when_somebody_goes_out(variant: str) -> None:
    match = position(variant, hands="5S 6S 7S KD | 9C", turn=1)
    match = accept(match, "discard 9C")
    refuse(match, "meld 5S 6S 7S", "match_over", "common.8", seat=0)
    refuse(match, "discard KD", "match_over", "common.8", seat=0)
    assert last_deal(match).hands == (cards("KD 5S 6S 7S"), ())
    assert last_deal(match).counts == (28, 0)
    assert match.totals == ((28, 0) if variant == "call-rummy" else (0, 28))


@pytest.mark.case(31)
@in_every_preset
def test_case_31_in_a_longer_match_the_old_hand_is_gone_with_the_deal(variant: str) -> None:
    match = position(variant, hands="5S 6S 7S KD | 9C", turn=1, deals=3)
    match = accept(match, "discard 9C")
    assert deal_of(match).number == 2
    code = "draw_first" if deal_of(match).turn == 0 else "not_your_turn"
    rule = "common.3" if code == "draw_first" else "common.1"
    refuse(match, "meld 5S 6S 7S", code, rule, seat=0)
    assert match.totals == ((28, 0) if variant == "call-rummy" else (0, 28))


@pytest.mark.case(32)
@in_every_preset
def test_case_32_after_the_end_no_move_is_made_and_nothing_is_scored_twice(variant: str) -> None:
    match = position(variant, hands="KD 2C | 9C | QS JS", turn=1)
    match = accept(match, "discard 9C")
    before = (match.totals, match.last, match.result)
    for seat in range(3):
        for move in (
            "discard 9C",
            "discard QS",
            "draw",
            "take",
            "meld QS JS TS",
            "layoff 1 QS",
        ):
            refuse(match, move, "match_over", "common.8", seat=seat)
    assert (match.totals, match.last, match.result) == before


@pytest.mark.case(32)
@in_every_preset
@pytest.mark.parametrize(
    ("hand", "melds", "winning", "final_discard"),
    [
        ("9C", "", "discard 9C", True),
        ("9C", "1: 8C 8D 8H; 1: 9D 9H 9S", "layoff 2 9C", False),
        ("5C 6C 7C", "", "meld 5C 6C 7C", False),
    ],
)
def test_case_32_the_winning_move_sent_again_is_refused_in_the_next_deal(
    variant: str,
    hand: str,
    melds: str,
    winning: Discard | LayOff | LayMeld,
    final_discard: bool,
) -> None:
    match = position(
        variant,
        hands=f"KD 2C | {hand} | QS JS",
        melds=melds,
        turn=1,
        deals=2,
        final_discard=final_discard,
    )
    match = accept(match, winning)
    totals = match.totals
    assert totals == ((12, 0, 20) if variant == "call-rummy" else (0, 32, 0))
    turn = deal_of(match).turn
    code, rule = ("draw_first", "common.3") if turn == 1 else ("not_your_turn", "common.1")
    refuse(match, winning, code, rule, seat=1)
    assert match.totals == totals


@pytest.mark.case(32)
@in_every_preset
@pytest.mark.parametrize("deals", [1, 2])
def test_case_32_requests_after_the_end_of_a_deal_change_nothing(
    service: Service, variant: str, deals: int
) -> None:
    table = service.position(
        variant, "5C 6C KD | 2C 2D 3H | 9C 9D QH", stock="7C", dealer=2, deals=deals
    )
    table.do(0, "draw", "meld 5C 6C 7C")
    game = table.do(0, "discard KD")
    assert game["last_deal"]["winner"] == 0
    assert game["totals"] == ([0, 7, 28] if variant == "call-rummy" else [35, 0, 0])
    score = table.score()
    turn = None if deals == 1 else game["deal"]["turn"]
    for seat in range(3):
        if deals == 1:
            code, rule = "match_over", "common.8"
        elif seat == turn:
            code, rule = "draw_first", "common.3"
        else:
            code, rule = "not_your_turn", "common.1"
        for late in ("discard KD", "discard QH", "meld 5C 6C 7C", "meld 9C 9D 9H"):
            table.refuse(seat, late, 409, code, rule)
    assert table.score() == score
    assert len(score["deals"]) == 1


@pytest.mark.case(32)
@in_every_preset
@pytest.mark.parametrize("deals", [1, 2])
def test_case_32_the_winning_move_sent_again_is_known_by_its_key(
    service: Service, variant: str, deals: int
) -> None:
    table = service.position(
        variant, "5C 6C KD | 2C 2D 3H | 9C 9D QH", stock="7C", dealer=2, deals=deals
    )
    table.do(0, "draw", "meld 5C 6C 7C")
    won = table.send(0, "discard KD", idempotency_key="the last card")
    assert won.status_code == 200
    score, stored = table.score(), table.stored()
    again = table.send(0, "discard KD", idempotency_key="the last card")
    assert again.headers["Idempotency-Replayed"] == "true"
    for part in ("version", "events"):
        assert again.json[part] == won.json[part]
    other = table.send(0, "discard KD", idempotency_key="another")
    code = "match_over" if deals == 1 else other.json["code"]
    assert (other.status_code, other.json["code"]) == (409, code)
    assert code in {"match_over", "not_your_turn", "draw_first"}
    assert table.score() == score
    assert table.stored() == stored


@pytest.mark.case(32)
@in_every_preset
@pytest.mark.parametrize("leaver", [0, 1, 2])
def test_case_32_who_leaves_after_the_end_changes_no_score(
    service: Service, variant: str, leaver: int
) -> None:
    table = service.position(variant, "5C 6C KD | 2C 2D 3H | 9C 9D QH", stock="7C", dealer=2)
    table.do(0, "draw", "meld 5C 6C 7C", "discard KD")
    score = table.score()
    table.refuse(leaver, "leave", 409, "match_over", "common.8", body={})
    assert table.score() == score


@pytest.mark.case(32)
@in_every_preset
@pytest.mark.parametrize("leaver", [0, 1, 2])
def test_case_32_who_leaves_between_two_deals_is_played_for_in_the_next(
    service: Service, variant: str, leaver: int
) -> None:
    table = service.position(
        variant, "5C 6C KD | 2C 2D 3H | 9C 9D QH", stock="7C", dealer=2, deals=2
    )
    table.do(0, "draw", "meld 5C 6C 7C", "discard KD")
    score = table.score()
    assert table.send(leaver, "leave", {}).status_code == 200
    assert table.score()["deals"][0] == score["deals"][0]
    ends = [entry["event"] for entry in table.events() if entry["event"]["type"] == "deal_ended"]
    assert ends[0]["result"]["totals"] == score["totals"]
    game = table.look()
    assert [seat["away"] for seat in game["seats"]].count("left") == 1
    assert game["deal"] is None or game["deal"]["turn"] != leaver


@pytest.mark.case(32)
@in_every_preset
def test_case_32_of_the_winning_move_sent_many_times_at_once_one_counts(
    service: Service, variant: str
) -> None:
    table = service.position(variant, "5C 6C KD | 2C 2D 3H", stock="7C", dealer=1, deals=2)
    table.do(0, "draw", "meld 5C 6C 7C")
    answers = at_once([lambda: table.send(0, "discard KD")] * 10)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
    assert table.score()["totals"] == ([0, 7] if variant == "call-rummy" else [7, 0])
    ended = [entry for entry in table.events() if entry["event"]["type"] == "deal_ended"]
    assert len(ended) == 1

"""The order of a turn, whose melds may be laid off on, and the card that was just taken."""

import pytest

from service.rummy.legal import legal_moves
from service.rummy.model import Match
from service.rummy.rules import OptionValue
from tests.cases.online import Service, at_once
from tests.cases.table import (
    NO_RETURN,
    accept,
    in_every_preset,
    refuse,
)
from tests.positions import NOW, cards, deal_of, hand_of, move, on_table, position

# ----------------------------------------------------------------------- melds and layoffs


@pytest.mark.case(17)
@in_every_preset
def test_case_17_a_meld_after_a_layoff_is_refused_where_the_order_is_fixed(variant: str) -> None:
    match = position(variant, hands="9S 4C 5C 6C KD | 3D", melds="0: 9C 9D 9H")
    meld = "meld 4C 5C 6C"
    assert move(meld) in set(legal_moves(match, 0, NOW))
    assert hand_of(accept(match, meld, "layoff 1 9S")) == "KD"
    match = accept(match, "layoff 1 9S")
    if variant == "straight":
        refuse(match, meld, "melds_first", "straight.3")
    else:
        assert hand_of(accept(match, meld)) == "KD"


@pytest.mark.case(17)
@pytest.mark.parametrize("variant", ["seven-card", "parlett", "call-rummy"])
def test_case_17_the_fixed_order_can_be_agreed_on_elsewhere(variant: str) -> None:
    match = position(variant, hands="9S 4C 5C 6C KD | 3D", melds="0: 9C 9D 9H", order="melds_first")
    match = accept(match, "layoff 1 9S")
    refuse(match, "meld 4C 5C 6C", "melds_first", "straight.3")


@pytest.mark.case(17)
def test_case_17_the_next_turn_begins_with_melds_again() -> None:
    match = position(hands="9S 4C 5C 6C KD | 3D 3H", melds="0: 9C 9D 9H", stock="2C 2D 2H")
    match = accept(match, "layoff 1 9S", "discard KD")
    match = accept(match, "draw", "discard 3D", "draw")
    assert hand_of(accept(match, "meld 4C 5C 6C")) == "2D"


@pytest.mark.case(17)
def test_case_17_a_swap_is_no_layoff_so_a_meld_may_follow_it() -> None:
    match = position(
        hands="5H 4C 5C 6C KD | 3D", melds="1: 4H JK=5H 6H", jokers=2, order="melds_first"
    )
    match = accept(match, "swap 1 5H", "meld 4C 5C 6C")
    assert hand_of(match) == "KD JK"


@pytest.mark.case(19)
@in_every_preset
def test_case_19_a_meld_may_be_laid_off_on_in_the_turn_it_was_made(variant: str) -> None:
    match = position(variant, hands="7C 7D 7H 7S | 3D", pile="2C", stock="KH QH", phase="draw")
    match = accept(match, "draw", "meld 7C 7D 7H", "layoff 1 7S")
    assert on_table(match, 1) == "7C 7D 7H 7S"
    match = accept(match, "discard KH")
    assert match.last is not None
    assert (match.last.how, match.last.winner) == ("discard", 0)


@pytest.mark.case(19)
@in_every_preset
def test_case_19_a_run_may_grow_again_and_again_in_one_turn(variant: str) -> None:
    match = position(variant, hands="5C 6C 7C 8C 9C TC 4C KH | 3D")
    match = accept(match, "meld 5C 6C 7C", "layoff 1 8C")
    match = accept(match, "layoff 1 4C TC 9C")
    assert on_table(match, 1) == "4C 5C 6C 7C 8C 9C TC"
    refuse(match, "layoff 1 KH", "does_not_fit", "common.4")


@pytest.mark.case(20)
@in_every_preset
@pytest.mark.parametrize("own", ["", "0: 2C 2D 2H; "])
def test_case_20_laying_off_on_another_players_meld(variant: str, own: str) -> None:
    match = position(variant, hands="8S KC 4D | 3D", melds=own + "1: 8C 8D 8H")
    number = len(deal_of(match).melds)
    layoff = f"layoff {number} 8S"
    if variant == "seven-card":
        refusal = refuse(match, layoff, "not_your_meld", "seven-card.3")
        assert refusal.params == {"meld": number, "owner": 1}
    else:
        match = accept(match, layoff)
        assert on_table(match, number) == "8C 8D 8H 8S"
        assert deal_of(match).melds[-1].owner == 1


@pytest.mark.case(20)
@in_every_preset
def test_case_20_laying_off_on_the_own_meld_of_an_earlier_turn(variant: str) -> None:
    match = position(variant, hands="8S KC 4D | 3D", melds="1: 2C 2D 2H; 0: 8C 8D 8H")
    assert on_table(accept(match, "layoff 2 8S"), 2) == "8C 8D 8H 8S"
    refuse(match, "layoff 3 8S", "no_such_meld", "common.7")
    refuse(match, "layoff 0 8S", "no_such_meld", "common.7")
    refuse(match, "layoff -1 8S", "no_such_meld", "common.7")


@pytest.mark.case(20)
@in_every_preset
def test_case_20_whose_melds_may_be_laid_off_on_is_an_option(variant: str) -> None:
    def table(layoffs: str) -> Match:
        melds = "1: 8C 8D 8H; 0: 5D 6D 7D"
        return position(variant, hands="8S 4D KC | 3D", melds=melds, layoffs=layoffs)

    others, own = "layoff 1 8S", "layoff 2 4D"
    accept(table("any"), others, own)
    refuse(table("own"), others, "not_your_meld", "seven-card.3")
    accept(table("own"), own)
    refuse(table("none"), others, "no_layoffs", "common.7")
    refuse(table("none"), own, "no_layoffs", "common.7")


# ---------------------------------------------------------------------- the card just taken


def upcard_taken(variant: str, **options: OptionValue) -> Match:
    """The player has just taken the nine of diamonds from the pile."""
    match = position(
        variant,
        hands="KC 5H 4S | 3D 3H 3S",
        pile="2C 9D",
        stock="6S 7S 8S JS",
        phase="draw",
        **options,
    )
    return accept(match, "take")


@pytest.mark.case(22)
@in_every_preset
def test_case_22_the_upcard_just_taken_is_discarded_only_where_the_rules_allow(
    variant: str,
) -> None:
    match = upcard_taken(variant)
    if variant in NO_RETURN:
        refuse(match, "discard 9D", "upcard_returned", NO_RETURN[variant])
        assert deal_of(match).taken == "9D"
        match = accept(match, "discard KC")
        assert deal_of(match).upcard == "KC"
    else:
        match = accept(match, "discard 9D")
        assert deal_of(match).pile == cards("2C 9D")


@pytest.mark.case(22)
@in_every_preset
def test_case_22_a_card_from_the_stock_may_be_discarded_at_once(variant: str) -> None:
    match = position(variant, hands="KC 5H | 3D", pile="2C", stock="9D 6S", phase="draw")
    assert deal_of(accept(match, "draw", "discard 9D")).upcard == "9D"


@pytest.mark.case(22)
@in_every_preset
def test_case_22_the_upcard_taken_may_be_discarded_in_a_later_turn(variant: str) -> None:
    match = accept(upcard_taken(variant), "discard KC")
    match = accept(match, "draw", "discard 3D")
    assert deal_of(match).taken is None
    assert deal_of(accept(match, "draw", "discard 9D")).upcard == "9D"


@pytest.mark.case(22)
@in_every_preset
def test_case_22_the_ban_is_on_the_player_who_took_the_card_not_on_the_card(variant: str) -> None:
    match = accept(upcard_taken(variant), "discard KC", "take")
    if variant in NO_RETURN:
        refuse(match, "discard KC", "upcard_returned", NO_RETURN[variant])
    assert deal_of(accept(match, "discard 3D")).upcard == "3D"


@pytest.mark.case(22)
@pytest.mark.parametrize(
    ("variant", "clause"),
    [
        ("straight", "straight.4"),
        ("seven-card", "straight.4"),
        ("parlett", "parlett.3"),
        ("call-rummy", "straight.4"),
    ],
)
def test_case_22_returning_the_upcard_is_an_option(variant: str, clause: str) -> None:
    accept(upcard_taken(variant, return_upcard=True), "discard 9D")
    refuse(upcard_taken(variant, return_upcard=False), "discard 9D", "upcard_returned", clause)


@pytest.mark.case(22)
@pytest.mark.parametrize("variant", NO_RETURN)
def test_case_22_who_held_its_twin_may_discard_the_other_one(variant: str) -> None:
    match = position(variant, hands="9D KC | 2C | 2D | 2H", pile="9D", phase="draw", decks=2)
    assert deal_of(accept(match, "take", "discard 9D")).upcard == "9D"


@pytest.mark.case(23)
@in_every_preset
def test_case_23_a_layoff_that_leaves_only_the_card_just_taken(variant: str) -> None:
    match = position(variant, hands="KS | 3C | 3D", pile="9D", melds="2: TS JS QS", phase="draw")
    match = accept(match, "take")
    layoff = "layoff 1 KS"
    if variant in NO_RETURN:
        refusal = refuse(match, layoff, "would_be_stuck", "common.13")
        assert "9D" in refusal.detail
        match = accept(match, "discard KS")
        assert deal_of(match).hands[0] == ("9D",)
    elif variant == "seven-card":
        refuse(match, layoff, "not_your_meld", "seven-card.3")
    else:
        match = accept(match, layoff, "discard 9D")
        assert match.last is not None
        assert (match.last.how, match.last.winner) == ("discard", 0)


@pytest.mark.case(23)
def test_case_23_seven_card_rummy_lets_the_card_just_taken_go_out() -> None:
    match = position(
        "seven-card", hands="KS | 3C | 3D", pile="9D", melds="0: TS JS QS", phase="draw"
    )
    match = accept(match, "take", "layoff 1 KS", "discard 9D")
    assert match.last is not None
    assert match.last.how == "discard"


@pytest.mark.case(23)
@pytest.mark.parametrize("variant", NO_RETURN)
@pytest.mark.parametrize("first", ["KS", "9D"])
def test_case_23_where_the_card_just_taken_fits_too_the_player_goes_out(
    variant: str, first: str
) -> None:
    match = position(
        variant,
        hands="KS | 3C | 3D",
        pile="9D",
        melds="2: TS JS QS; 2: 9C 9H 9S",
        phase="draw",
    )
    match = accept(match, "take")
    places = {"KS": 1, "9D": 2}
    second = "9D" if first == "KS" else "KS"
    match = accept(match, f"layoff {places[first]} {first}", f"layoff {places[second]} {second}")
    assert match.last is not None
    assert (match.last.how, match.last.winner) == ("layoff", 0)


@pytest.mark.case(23)
@pytest.mark.parametrize("variant", NO_RETURN)
def test_case_23_a_meld_that_leaves_only_the_card_just_taken(variant: str) -> None:
    def after_taking(upcard: str) -> Match:
        match = position(variant, hands="6H 7H 8H | 3C", pile=upcard, phase="draw")
        return accept(match, "take")

    meld = "meld 6H 7H 8H"
    refuse(after_taking("9D"), meld, "would_be_stuck", "common.13")
    match = accept(after_taking("9H"), meld, "layoff 1 9H")
    assert match.last is not None
    assert match.last.how == "layoff"


@pytest.mark.case(23)
@pytest.mark.parametrize("variant", NO_RETURN)
def test_case_23_a_swap_for_the_card_just_taken_keeps_the_turn_open(variant: str) -> None:
    def after_taking(swap: bool) -> Match:
        match = position(
            variant,
            hands="KS | 3C | 3D",
            pile="9D",
            melds="2: TS JS QS; 1: 8D JK=9D TD",
            phase="draw",
            jokers=2,
            joker_swap=swap,
        )
        return accept(match, "take")

    layoff = "layoff 1 KS"
    refuse(after_taking(swap=False), layoff, "would_be_stuck", "common.13")
    match = accept(after_taking(swap=True), layoff)
    refuse(match, "discard 9D", "upcard_returned", NO_RETURN[variant])
    match = accept(match, "swap 2 9D", "discard JK")
    assert match.last is not None
    assert match.last.how == "discard"


@pytest.mark.case(23)
@in_every_preset
def test_case_23_with_the_final_discard_required_the_last_card_must_be_one_that_may_go(
    variant: str,
) -> None:
    match = position(
        variant,
        hands="KS | 3C | 3D",
        pile="9D",
        melds="0: TS JS QS; 0: 9C 9H 9S",
        phase="draw",
        final_discard=True,
        return_upcard=False,
    )
    match = accept(match, "take")
    refuse(match, "layoff 1 KS", "would_be_stuck", "common.13")
    match = accept(match, "layoff 2 9D", "discard KS")
    assert match.last is not None
    assert match.last.how == "discard"


# ------------------------------------------------------------------------ the steps of a turn


@pytest.mark.case(25)
@in_every_preset
@pytest.mark.parametrize("first", ["draw", "take"])
@pytest.mark.parametrize("second", ["draw", "take"])
def test_case_25_a_second_draw_is_refused(variant: str, first: str, second: str) -> None:
    before = position(variant, hands="KC 5H | 3D", pile="2C 9D", stock="6S 7S", phase="draw")
    match = accept(before, first)
    assert len(deal_of(match).hands[0]) == 3
    drawn = len(deal_of(before).stock) - len(deal_of(match).stock)
    assert drawn == (first == "draw")
    refuse(match, second, "already_drawn", "common.3")
    accept(match, "discard KC")


@pytest.mark.case(26)
@in_every_preset
def test_case_26_nothing_is_done_before_the_draw(variant: str) -> None:
    match = position(
        variant,
        hands="5C 5D 5H 8S 6S KC | 3D",
        pile="2C",
        stock="9D 9H",
        melds="0: 8C 8D 8H; 0: 5S JK=6S 7S",
        phase="draw",
        jokers=2,
    )
    for early in (
        "meld 5C 5D 5H",
        "layoff 1 8S",
        "swap 2 6S",
        "discard KC",
    ):
        refuse(match, early, "draw_first", "common.3")
    match = accept(match, "draw", "meld 5C 5D 5H", "layoff 1 8S")
    accept(match, "discard KC")


@pytest.mark.case(26)
@in_every_preset
def test_case_26_nothing_is_done_after_the_discard(variant: str) -> None:
    match = position(
        variant,
        hands="5C 5D 5H 8S 6S KC | 3D 3H",
        pile="2C",
        stock="9D 9H",
        melds="0: 8C 8D 8H; 0: 5S JK=6S 7S",
        phase="draw",
        jokers=2,
    )
    match = accept(match, "draw", "discard KC")
    for late in (
        "meld 5C 5D 5H",
        "layoff 1 8S",
        "swap 2 6S",
        "discard 9D",
        "draw",
        "take",
    ):
        refuse(match, late, "not_your_turn", "common.1", seat=0)
    assert deal_of(accept(match, "draw")).turn == 1


# ------------------------------------------------------------------------- over the network


@pytest.mark.case(25)
@in_every_preset
def test_case_25_of_draws_sent_at_once_one_succeeds(service: Service, variant: str) -> None:
    table = service.position(variant, "5C 6C 7C | 5D 6D 7D", stock="KC QC", dealer=1)
    before = table.look(0)
    answers = at_once([lambda: table.send(0, "draw")] * 10)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
    assert {answer.json["code"] for answer in answers if answer.status_code == 409} == {
        "already_drawn"
    }
    table.refuse(0, "draw", 409, "already_drawn", "common.3")
    table.refuse(0, "take", 409, "already_drawn", "common.3")
    after = table.look(0)
    assert len(after["hand"]) == len(before["hand"]) + 1
    assert after["deal"]["stock"] == before["deal"]["stock"] - 1
    assert after["version"] == before["version"] + 1


@pytest.mark.case(25)
@pytest.mark.parametrize("variant", ["straight", "parlett", "call-rummy"])
def test_case_25_of_a_draw_from_each_pile_sent_at_once_one_succeeds(
    service: Service, variant: str
) -> None:
    table = service.position(variant, "5C 6C 7C | 5D 6D 7D", upcard="9D", dealer=1)
    before = table.look(0)
    answers = at_once([lambda: table.send(0, "draw"), lambda: table.send(0, "take 9D")] * 4)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    after = table.look(0)
    assert len(after["hand"]) == len(before["hand"]) + 1
    drawn = sum(before["deal"][pile] - after["deal"][pile] for pile in ("stock", "pile"))
    assert drawn == 1

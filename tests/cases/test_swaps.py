"""Swapping a joker out of a meld for the card it stands for."""

import pytest

from service.rummy.legal import legal_moves
from tests.cases.table import accept, in_every_preset, refuse, seats, with_jokers
from tests.positions import NOW, deal_of, hand_of, move, on_table, position

own_or_not = pytest.mark.parametrize("owner", [0, 1])


@pytest.mark.case(53)
@with_jokers
@own_or_not
def test_case_53_only_the_very_card_that_the_joker_stands_for_frees_it(
    variant: str, owner: int
) -> None:
    match = position(variant, hands="5S 5H KC | 3D", melds=f"{owner}: 3S 4S JK=5S 6S", jokers=2)
    refuse(match, "swap 1 5H", "no_joker_there", "jokers.3")
    refuse(match, "swap 1 KC", "no_joker_there", "jokers.3")
    match = accept(match, "swap 1 5S")
    assert on_table(match, 1) == "3S 4S 5S 6S"
    assert hand_of(match) == "KC 5H JK"
    assert deal_of(match).melds[0].owner == owner


@pytest.mark.case(53)
@with_jokers
def test_case_53_in_a_set_the_suit_that_was_named_counts(variant: str) -> None:
    match = position(variant, hands="5S 5H KC | 3D", melds="1: 5C 5D JK=5H", jokers=2)
    refuse(match, "swap 1 5S", "no_joker_there", "jokers.3")
    assert on_table(accept(match, "swap 1 5H"), 1) == "5C 5D 5H"


@pytest.mark.case(53)
@with_jokers
def test_case_53_of_two_jokers_the_one_that_stands_for_the_card_is_freed(variant: str) -> None:
    match = position(variant, hands="6H KC | 3D", melds="1: 4H JK=5H JK=6H 7H", jokers=2)
    match = accept(match, "swap 1 6H")
    assert on_table(match, 1) == "4H JK=5H 6H 7H"
    assert hand_of(match) == "KC JK"


@pytest.mark.case(53)
@with_jokers
def test_case_53_a_joker_freed_may_be_melded_laid_off_kept_or_discarded(variant: str) -> None:
    match = position(
        variant,
        hands="5S 9H 9C KC | 3D",
        melds="0: 3S 4S JK=5S",
        stock="2C 2D",
        jokers=2,
    )
    match = accept(match, "swap 1 5S")
    assert "JK=9D" in on_table(accept(match, "meld 9H 9C JK=9D"), 2)
    assert on_table(accept(match, "layoff 1 JK=6S"), 1) == "3S 4S 5S JK=6S"
    assert deal_of(accept(match, "discard JK")).upcard == "JK"
    assert "JK" in deal_of(accept(match, "discard KC")).hands[0]


@pytest.mark.case(53)
@in_every_preset
def test_case_53_swapping_is_an_option(variant: str) -> None:
    match = position(
        variant, hands="5S KC | 3D", melds="0: 3S 4S JK=5S", jokers=2, joker_swap=False
    )
    refuse(match, "swap 1 5S", "no_swaps", "jokers.3")


@pytest.mark.case(53)
@in_every_preset
def test_case_53_a_meld_without_jokers_has_none_to_swap(variant: str) -> None:
    match = position(variant, hands="5S KC | 3D", melds="0: 2S 3S 4S")
    refuse(match, "swap 1 5S", "no_joker_there", "jokers.3")
    refuse(match, "swap 2 5S", "no_such_meld", "common.7")


@pytest.mark.case(55)
@with_jokers
def test_case_55_the_natural_card_comes_from_the_hand_not_from_the_table_or_the_pile(
    variant: str,
) -> None:
    match = position(
        variant,
        hands="KC 2D | 3D",
        melds="0: 3S 4S JK=5S 6S; 0: 5C 5D 5H 5S",
        jokers=2,
    )
    refuse(match, "swap 1 5S", "not_in_hand", "common.3")
    match = position(variant, hands="KC 2D | 3D", melds="0: 3S 4S JK=5S 6S", pile="5S", jokers=2)
    refuse(match, "swap 1 5S", "not_in_hand", "common.3")
    assert set(legal_moves(match, 0, NOW)) == {move("discard KC"), move("discard 2D")}


@pytest.mark.case(55)
@with_jokers
def test_case_55_the_upcard_is_swapped_after_it_was_drawn(variant: str) -> None:
    match = position(
        variant,
        hands="KC 2D | 3D",
        melds="0: 3S 4S JK=5S 6S",
        pile="5S",
        phase="draw",
        jokers=2,
    )
    refuse(match, "swap 1 5S", "draw_first", "common.3")
    match = accept(match, "take", "swap 1 5S")
    assert on_table(match, 1) == "3S 4S 5S 6S"


@pytest.mark.case(56)
@with_jokers
def test_case_56_a_joker_is_swapped_out_of_an_opponents_meld_even_where_layoffs_are_on_own_melds(
    variant: str,
) -> None:
    match = position(variant, hands="TD QD KC | 3D", melds="1: 9D JK=TD JD", jokers=2)
    match = accept(match, "swap 1 TD")
    assert on_table(match, 1) == "9D TD JD"
    layoff = "layoff 1 QD"
    if variant == "seven-card":
        refuse(match, layoff, "not_your_meld", "seven-card.3")
    else:
        assert on_table(accept(match, layoff), 1) == "9D TD JD QD"


@pytest.mark.case(56)
@with_jokers
def test_case_56_a_joker_is_swapped_out_of_the_own_meld_in_a_later_turn(variant: str) -> None:
    match = position(variant, hands="9D JD JK KC 2C | 3D 3H", stock="TD 4C 5C", pile="2H", jokers=2)
    match = accept(match, "meld 9D JK JD", "discard KC")
    match = accept(match, "draw", "discard TD", "take", "swap 1 TD")
    assert on_table(match, 1) == "9D TD JD"
    assert hand_of(match) == "2C JK"


@pytest.mark.case(58)
@pytest.mark.parametrize(("variant", "players"), [("seven-card", 5), ("parlett", 4)])
def test_case_58_a_joker_that_was_swapped_out_is_not_swapped_again(
    variant: str, players: int
) -> None:
    match = position(
        variant,
        hands=seats("6H 6H 8H KC", players),
        melds="0: 5H JK=6H 7H",
        jokers=4,
        decks=2,
    )
    match = accept(match, "swap 1 6H")
    assert on_table(match, 1) == "5H 6H 7H"
    refuse(match, "swap 1 6H", "no_joker_there", "jokers.3")
    assert hand_of(match) == "KC 6H 8H JK"


@pytest.mark.case(58)
@with_jokers
def test_case_58_the_joker_freed_is_laid_off_again_once(variant: str) -> None:
    match = position(variant, hands="6H 8H KC | 3D", melds="0: 5H JK=6H 7H", jokers=2)
    match = accept(match, "swap 1 6H", "layoff 1 8H")
    again = "layoff 1 JK=9H"
    match = accept(match, again)
    assert on_table(match, 1) == "5H 6H 7H 8H JK=9H"
    refuse(match, again, "not_in_hand", "common.3")
    assert deal_of(match).melds[0].cards.count("JK") == 1
    assert hand_of(match) == "KC"

"""What everybody saw: the cards taken and not played, and the discards with what became of them.

That it is what the log tells, in any match, is in `test_properties.py`.
"""

import pytest

from service.rummy.computer import MOST_MOVES
from service.rummy.discards import turned_up
from service.rummy.model import CallWindow, Match
from service.rummy.view import MOST_THROWN, memory, sight
from tests.positions import CALLABLE, NOW, after, deal_of, position, with_deal

clause = pytest.mark.clause


def taken(match: Match) -> list[str]:
    """By seat, the cards that went into that hand face up."""
    shown = memory(match)
    assert shown is not None
    return [" ".join(cards) for cards in shown.taken]


def discards(match: Match) -> list[str]:
    """Each as "1: 9D", with "-" for who turned it up, and "1: 9D called 0" where it is gone."""
    shown = memory(match)
    assert shown is not None
    told = []
    for each in shown.discards:
        seat = "-" if each.seat is None else each.seat
        gone = "" if each.gone is None else f" {each.gone}"
        told.append(f"{seat}: {each.card}{gone}{'' if each.by is None else f' {each.by}'}")
    return told


# -------------------------------------------------------------------------------- cards taken

HELD = {"hands": "5C 5D 9S KH QD | 2S 3S 7D", "pile": "JS 5H", "phase": "draw"}


@clause("table.7")
@pytest.mark.parametrize(
    ("moves", "known"),
    [
        ("take", "5H"),
        ("take; discard KH", "5H"),
        ("take; meld 5C 5D 5H", ""),
        ("draw", ""),
        ("take; discard KH; take; discard 2S", "5H"),
        ("take; discard KH; draw; discard 2S; take; discard 5H", "2S"),
    ],
)
def test_a_card_taken_up_is_known_until_it_is_laid_or_thrown(moves: str, known: str) -> None:
    match = after(position(**HELD, melds="1: 8C 8D 8H"), *moves.split("; "))
    assert taken(match)[0] == known


@clause("table.7")
def test_a_card_taken_up_and_laid_off_is_not_in_the_hand_any_more() -> None:
    match = position(**HELD | {"pile": "JS 8S"}, melds="1: 8C 8D 8H")
    assert taken(after(match, "take")) == ["8S", ""]
    assert taken(after(match, "take", "layoff 1 8S")) == ["", ""]


@clause("table.7", "jokers.3")
def test_a_joker_swapped_out_is_seen_going_into_the_hand() -> None:
    match = position(
        "seven-card", hands="7C 9S KH QD | 2S 3S", melds="0: 6C JK=7C 8C", jokers=2, pile="9D"
    )
    match = after(match, "swap 1 7C")
    assert taken(match) == ["JK", ""]
    assert taken(after(match, "discard KH")) == ["JK", ""]
    assert taken(after(match, "discard JK")) == ["", ""]


@clause("table.7")
def test_of_two_equal_cards_the_one_seen_going_in_counts_as_the_first_to_leave() -> None:
    match = position(hands="9C 9S KH | 2S 3S", pile="9C", phase="draw", decks=2)
    match = after(match, "take")
    assert taken(match) == ["9C", ""]
    match = after(match, "discard 9C")
    assert taken(match) == ["", ""]
    assert "9C" in deal_of(match).hands[0]
    match = after(match, "take", "discard 2S")
    assert taken(match) == ["", "9C"]


@clause("table.7", "call-rummy.5")
def test_a_card_called_goes_into_no_hand() -> None:
    match = position(**CALLABLE, window=CallWindow(0, None))
    assert taken(after(match, "rummy 1", seat=2)) == ["", "", ""]


# ------------------------------------------------------------------------------- the discards


@clause("table.7")
def test_the_discards_stay_known_when_they_are_taken_up() -> None:
    match = position(hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    match = after(match, "take", "discard KH", "draw", "discard 2S", "take", "discard 5C")
    assert discards(match) == ["-: 9D taken 0", "0: KH", "1: 2S taken 0", "0: 5C"]


@clause("table.7", "call-rummy.5")
def test_who_called_a_discard_stays_known_and_who_took_the_one_beneath() -> None:
    before = {"turn": 0, "phase": "play", "hands": "8C KD | 2S 3S | TS 9S", "pile": "2C"}
    match = after(position(**CALLABLE | before), "discard 8C")
    match = after(after(match, "rummy 1", seat=2), "take")
    assert discards(match) == ["-: 2C taken 1", "0: 8C called 2"]


@clause("table.7")
@pytest.mark.parametrize("equal", [False, True])
def test_a_discard_that_lies_under_an_equal_one_is_told_apart(equal: bool) -> None:
    pile = "9D KH" if equal else "9D QH"
    match = position(hands="KH 5D JC | 2S 3S 4D", pile=pile, decks=2)
    match = after(match, "discard KH", "take", "discard 2S")
    assert discards(match) == ["-: 9D", f"-: {pile[-2:]}", "0: KH taken 1", "1: 2S"]


@clause("table.7", "straight.5", "seven-card.4")
@pytest.mark.parametrize("variant", ["straight", "seven-card"])
def test_a_turnover_takes_all_but_the_upcard_off_the_pile(variant: str) -> None:
    match = position(variant, hands="5C 5D | 2S 3S", pile="6D 7S 8H", stock="", phase="draw")
    match = after(match, "draw")
    assert discards(match) == ["-: 6D turned_over", "-: 7S turned_over", "-: 8H"]
    match = after(match, "discard 5C", "take")
    assert discards(match)[2:] == ["-: 8H", "0: 5C taken 1"]


@clause("table.7", "parlett.4")
def test_a_turnover_that_turns_a_new_upcard_begins_the_pile_with_it() -> None:
    match = position("parlett", hands="5C 5D | 2S 3S", pile="6D 7S 8H", stock="", phase="draw")
    match = after(match, "draw")
    assert discards(match) == [
        "-: 6D turned_over",
        "-: 7S turned_over",
        "-: 8H turned_over",
        "-: 6D",
    ]


@clause("table.7", "call-rummy.4")
def test_an_upcard_that_stays_is_the_upper_one_of_the_pile_though_another_was_taken() -> None:
    match = position("call-rummy", hands="5C 5D KH | 2S 3S", pile="6D 7S 8H", phase="draw")
    match = after(match, "take", "discard 5C", "take", "discard 2S")
    match = after(with_deal(match, stock=("AS",)), "take", "discard KH")
    match = after(match, "take", "discard 3S", "take", "discard 3S")
    match = after(with_deal(match, stock=("AS",)), "draw")
    assert discards(match)[:2] == ["-: 6D turned_over", "-: 7S turned_over"]
    assert [each for each in discards(match) if each.count(" ") == 1] == ["0: 3S"]
    assert deal_of(match).pile == ("3S",)


@clause("table.7", "common.2")
def test_the_next_deal_begins_with_its_upcard_and_nothing_taken() -> None:
    match = position(hands="5C 5D | 2S 3S", pile="9D 5H", phase="draw", deals=2)
    match = after(match, "take", "meld 5C 5D 5H")
    assert deal_of(match).number == 2
    assert discards(match) == [f"-: {deal_of(match).upcard}"]
    assert taken(match) == ["", ""]
    ended = position(hands="5C 5D | 2S 3S", pile="9D 5H", phase="draw")
    assert memory(after(ended, "take", "meld 5C 5D 5H")) is None


@clause("table.7", "table.6")
def test_all_discards_are_known_and_a_computer_remembers_the_last_of_them() -> None:
    match = position(hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    turns = MOST_THROWN + 6
    for turn in range(turns):
        match = after(match, "draw", f"discard {deal_of(match).stock[0]}")
        assert len(discards(match)) == turn + 2
    remembered = sight(match, 0, NOW, MOST_MOVES).thrown
    assert len(remembered) == MOST_THROWN
    assert discards(match)[-MOST_THROWN:] == [f"{seat}: {card}" for seat, card in remembered]


@clause("table.7")
@pytest.mark.parametrize("kept", [0, 1, 2])
def test_of_a_deal_begun_before_this_was_kept_what_is_known_is_right(kept: int) -> None:
    match = position(hands="5C 5D KH | 2S 3S", pile="9D 7C 8C", phase="draw")
    known = turned_up(deal_of(match).pile[3 - kept :])
    match = after(with_deal(match, discards=known), "take", "discard KH", "take", "discard 2S")
    match = after(match, "take", "discard 5C", "take", "discard 3S")
    assert discards(match)[kept:] == ["0: KH taken 1", "1: 2S taken 0", "0: 5C taken 1", "1: 3S"]
    assert discards(match)[:kept] == ["-: 7C", "-: 8C taken 0"][2 - kept :]

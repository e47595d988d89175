"""Sets and runs: aces, twins, jokers, and what may not be done to a meld on the table."""

from itertools import permutations
from typing import get_args

import pytest

from service.rummy.cards import FACES, JOKER, RANKS, SUITS, pack
from service.rummy.legal import legal_moves
from service.rummy.model import (
    Call,
    Discard,
    Draw,
    LayMeld,
    LayOff,
    Match,
    Move,
    Swap,
)
from service.rummy.rules import agree, deviations
from tests.cases.online import Service
from tests.cases.table import (
    MELD_LIMIT,
    accept,
    in_every_preset,
    refuse,
    refuse_options,
    seats,
    with_jokers,
)
from tests.positions import NOW, cards, deal_of, hand_of, move, on_table, position

both_aces = pytest.mark.parametrize("aces", ["low", "high_or_low"])

TWO_DECKS: dict[str, dict[str, int]] = {
    "seven-card": {"players": 5, "decks": 2},
    "parlett": {"players": 4, "decks": 2},
}
"""The tables that play with two decks: the fewest players of each."""


def two_decks(variant: str, hand: str, jokers: int = 0, **more: object) -> Match:
    """A position with two decks; the other players hold one card each."""
    table = TWO_DECKS[variant]
    return position(
        variant,
        hands=seats(hand, table["players"]),
        decks=table["decks"],
        jokers=jokers,
        **more,
    )


# ------------------------------------------------------------------------------ the ace


@pytest.mark.case(1)
@in_every_preset
@both_aces
def test_case_1_king_ace_two_is_no_run(variant: str, aces: str) -> None:
    match = position(variant, hands="QH KH AH 2H 9C | 3C 3D", aces=aces)
    for three in permutations(cards("KH AH 2H")):
        refuse(match, LayMeld(three), "not_a_meld", "common.4")
    refuse(match, "meld QH KH AH 2H", "not_a_meld", "common.4")


@pytest.mark.case(1)
@both_aces
def test_case_1_no_run_goes_round_the_corner_however_long(aces: str) -> None:
    for suit, other in zip(SUITS, "DHSC", strict=True):
        for length in range(3, len(RANKS)):
            for start in range(len(RANKS) + 2 - length, len(RANKS)):
                run = tuple(
                    RANKS[place % len(RANKS)] + suit for place in range(start, start + length)
                )
                assert {"K" + suit, "A" + suit, "2" + suit} <= set(run)
                match = position(hands=f"{' '.join(run)} 9{other} | 3{other}", aces=aces)
                refuse(match, LayMeld(run), "not_a_meld", "common.4")


@pytest.mark.case(1)
@in_every_preset
@both_aces
def test_case_1_no_layoff_and_no_joker_goes_round_the_corner(variant: str, aces: str) -> None:
    table = "0: AH 2H 3H; 0: QS KS AS" if aces == "high_or_low" else "0: AH 2H 3H; 0: JS QS KS"
    match = position(variant, hands="KH QH 2S JK 9C | 3C", melds=table, aces=aces, jokers=2)
    refuse(match, "layoff 1 KH", "does_not_fit", "common.4")
    refuse(match, "layoff 1 KH QH", "does_not_fit", "common.4")
    refuse(match, "layoff 1 JK=KH", "does_not_fit", "common.4")
    refuse(match, "layoff 2 2S", "does_not_fit", "common.4")
    refuse(match, "layoff 2 2S JK=AS", "does_not_fit", "common.4")
    refuse(match, "meld KH JK=AH 2S", "not_a_meld", "common.4")


ACE_HIGH = [
    ("straight", "low", False),
    ("call-rummy", "low", False),
    ("seven-card", "low", False),
    ("parlett", "low", False),
    ("seven-card", "high_or_low", True),
    ("parlett", "high_or_low", True),
    ("straight", "high_or_low", True),
    ("call-rummy", "high_or_low", True),
]


@pytest.mark.case(2)
@pytest.mark.parametrize(("variant", "aces", "allowed"), ACE_HIGH)
def test_case_2_queen_king_ace_is_a_run_only_with_high_or_low_aces(
    variant: str, aces: str, allowed: bool
) -> None:
    hand = position(variant, hands="QH KH AH 9C | 3C", aces=aces)
    table = position(variant, hands="AH 9C | 3C", melds="0: TH JH QH KH", aces=aces)
    meld, layoff = "meld QH KH AH", "layoff 1 AH"
    if allowed:
        assert on_table(accept(hand, meld), 1) == "QH KH AH"
        assert on_table(accept(table, layoff), 1) == "TH JH QH KH AH"
    else:
        refuse(hand, meld, "not_a_meld", "common.4")
        refuse(table, layoff, "does_not_fit", "common.4")


@pytest.mark.case(2)
@in_every_preset
@both_aces
def test_case_2_no_king_is_laid_off_below_a_low_ace(variant: str, aces: str) -> None:
    match = position(variant, hands="KH 4H 9C | 3C", melds="0: AH 2H 3H", aces=aces)
    refuse(match, "layoff 1 KH", "does_not_fit", "common.4")
    assert on_table(accept(match, "layoff 1 4H"), 1) == "AH 2H 3H 4H"


@pytest.mark.case(2)
@in_every_preset
def test_case_2_high_or_low_aces_may_be_agreed_anywhere_and_are_written_down(variant: str) -> None:
    rules = agree(variant, 2, {"aces": "high_or_low", "deals": 1})
    assert [deviation.option for deviation in deviations(rules)] == ["aces"]
    assert rules.ace_points == 11
    match = position(variant, hands="KC | AH AS 5D", phase="play", aces="high_or_low")
    after = accept(match, "discard KC")
    assert after.last is not None
    assert after.last.counts == (0, 27)


@pytest.mark.case(2)
@in_every_preset
def test_case_2_an_option_that_does_not_exist_is_refused(variant: str) -> None:
    problems = refuse_options(variant, 2, deals=1, ace_high=True)
    assert list(problems) == ["ace_high"]
    assert problems["ace_high"].value is True
    assert refuse_options(variant, 2, deals=1, aces="high")["aces"].rule.endswith((".4", ".6"))


@pytest.mark.case(2)
@in_every_preset
def test_case_2_no_table_is_made_with_an_option_that_does_not_exist(
    service: Service, variant: str
) -> None:
    wanted = {"variant": variant, "name": "Anna", "options": {"deals": 1, "ace_high": True}}
    answer = service.post("/v1/games", wanted)
    assert (answer.status_code, answer.json["code"]) == (422, "options_refused")
    assert [problem["option"] for problem in answer.json["options"]] == ["ace_high"]
    wanted["options"] = {"deals": 1, "aces": "high_or_low"}
    answer = service.post("/v1/games", wanted)
    assert answer.status_code == 201
    assert [item["option"] for item in answer.json["game"]["deviations"]] == ["aces"]


# ---------------------------------------------------------------------------- twins in a set


@pytest.mark.case(4)
@pytest.mark.parametrize("variant", TWO_DECKS)
def test_case_4_with_two_decks_twins_lie_side_by_side_in_a_set(variant: str) -> None:
    match = two_decks(variant, "7H 7H 7C 7D 7S KC")
    match = accept(match, "meld 7H 7H 7C")
    assert on_table(match, 1) == "7C 7H 7H"
    match = accept(match, "layoff 1 7D", "layoff 1 7S")
    assert on_table(match, 1) == "7C 7D 7H 7H 7S"
    assert hand_of(match) == "KC"


@pytest.mark.case(4)
@pytest.mark.parametrize("variant", TWO_DECKS)
def test_case_4_a_set_of_two_decks_has_up_to_eight_cards(variant: str) -> None:
    eight = cards("7C 7C 7D 7D 7H 7H 7S 7S")
    match = accept(two_decks(variant, "7C 7C 7D 7D 7H 7H 7S 7S KC"), LayMeld(eight))
    assert deal_of(match).melds[0].faces == eight


@pytest.mark.case(4)
@pytest.mark.parametrize("variant", TWO_DECKS)
def test_case_4_a_run_has_no_twins_even_with_two_decks(variant: str) -> None:
    match = two_decks(variant, "6H 7H 7H 8H KC")
    refuse(match, "meld 6H 7H 7H", "not_a_meld", "common.4")
    refuse(match, "meld 6H 7H 7H 8H", "not_a_meld", "common.4")


@pytest.mark.case(4)
@in_every_preset
def test_case_4_with_one_deck_a_second_seven_of_hearts_is_not_in_the_hand(variant: str) -> None:
    match = position(variant, hands="7H 7C 7D KC | 3C", melds="1: 9C 9D 9H")
    refuse(match, "meld 7H 7H 7C", "not_in_hand", "common.3")
    match = accept(match, "meld 7H 7C 7D")
    refuse(match, "layoff 1 7H", "not_in_hand", "common.3")


@pytest.mark.case(4)
@pytest.mark.parametrize("variant", ["straight", "call-rummy"])
def test_case_4_a_second_deck_agreed_on_brings_twins_there_too(variant: str) -> None:
    match = position(variant, hands="7H 7H 7C KC | 3C", decks=2)
    assert on_table(accept(match, "meld 7H 7H 7C"), 1) == "7C 7H 7H"


# --------------------------------------------------------------------------------- jokers


@pytest.mark.case(5)
@with_jokers
def test_case_5_with_one_deck_no_joker_is_a_fifth_seven(variant: str) -> None:
    match = position(variant, hands="JK KC | 3C | 3D", melds="0: 7C 7D 7H 7S", jokers=2)
    refuse(match, "layoff 1 JK", "does_not_fit", "common.5")
    for suit in SUITS:
        refuse(match, f"layoff 1 JK=7{suit}", "does_not_fit", "common.5")
    match = position(variant, hands="7C 7D 7H 7S JK KC | 3C | 3D", jokers=2)
    refuse(match, "meld 7C 7D 7H 7S JK", "not_a_meld", "common.5")
    refuse(match, "meld 7C 7D 7H JK=7H", "not_a_meld", "common.5")


@pytest.mark.case(5)
@pytest.mark.parametrize(("variant", "players"), [("seven-card", 6), ("parlett", 4)])
def test_case_5_with_two_decks_a_joker_is_the_fifth_seven_of_a_named_suit(
    variant: str, players: int
) -> None:
    match = position(
        variant,
        hands=seats("JK KC", players),
        melds="0: 7C 7D 7H 7S",
        jokers=4,
        decks=2,
    )
    refusal = refuse(match, "layoff 1 JK", "joker_unclear", "jokers.2")
    assert refusal.params["choices"] == ("7C", "7D", "7H", "7S")
    for suit in SUITS:
        after = accept(match, f"layoff 1 JK=7{suit}")
        assert f"JK=7{suit}" in on_table(after, 1)
    refuse(match, "layoff 1 JK=8C", "does_not_fit", "common.4")


@pytest.mark.case(5)
@with_jokers
@pytest.mark.parametrize("decks", [1, 2])
def test_case_5_a_joker_may_equal_a_card_of_another_meld(variant: str, decks: int) -> None:
    players = {1: 3, 2: TWO_DECKS[variant]["players"]}[decks]
    match = position(
        variant,
        hands=seats("5H JK 7H KC", players),
        melds="1: 6C 6D 6H",
        decks=decks,
        jokers=2,
    )
    assert on_table(accept(match, "meld 5H JK 7H"), 2) == "5H JK=6H 7H"


@pytest.mark.case(5)
@in_every_preset
def test_case_5_without_jokers_in_the_pack_nobody_holds_one(variant: str) -> None:
    rules = agree(variant, 2, {"deals": 1})
    assert JOKER not in pack(rules.decks, rules.jokers)
    match = position(variant, hands="7C 7D KC | 3C", melds="0: 9C 9D 9H")
    refuse(match, "meld 7C 7D JK", "not_in_hand", "common.3")
    refuse(match, "layoff 1 JK=9S", "not_in_hand", "common.3")


@pytest.mark.case(7)
@with_jokers
def test_case_7_jokers_may_lie_side_by_side(variant: str) -> None:
    match = position(variant, hands="4H JK JK 7H KC | 3C", jokers=2)
    named = accept(match, "meld 4H JK=5H JK=6H 7H")
    assert on_table(named, 1) == "4H JK=5H JK=6H 7H"
    assert named == accept(match, "meld 4H JK JK 7H")
    assert named == accept(match, "meld JK=6H 7H 4H JK=5H")


@pytest.mark.case(7)
@with_jokers
@pytest.mark.parametrize(
    ("laid", "named", "lies"),
    [
        ("4H JK JK JK 8H", "5H 6H 7H", "4H JK=5H JK=6H JK=7H 8H"),
        ("JK JK 7H", "5H 6H", "JK=5H JK=6H 7H"),
        ("7H JK JK JK JK", "8H 9H TH JH", "7H JK=8H JK=9H JK=TH JK=JH"),
        ("7H JK JK", "7C 7S", "JK=7C 7H JK=7S"),
    ],
)
def test_case_7_any_number_of_jokers_beside_one_natural_card(
    variant: str, laid: str, named: str, lies: str
) -> None:
    match = position(variant, hands="4H 7H 8H JK JK JK JK KC | 3C", jokers=4)
    assert on_table(accept(match, LayMeld(cards(laid), cards(named))), 1) == lies


@pytest.mark.case(7)
@with_jokers
def test_case_7_jokers_alone_are_no_meld(variant: str) -> None:
    match = position(variant, hands="JK JK JK KC | 3C", jokers=3)
    refuse(match, "meld JK=5H JK=6H JK=7H", "not_a_meld", "jokers.1")
    refuse(match, "meld JK JK JK", "not_a_meld", "jokers.1")


@pytest.mark.case(8)
@with_jokers
@pytest.mark.parametrize(("face", "lies"), [("7H", "5H 6H JK=7H"), ("4H", "JK=4H 5H 6H")])
def test_case_8_a_joker_at_the_end_of_a_run_is_the_card_that_is_named(
    variant: str, face: str, lies: str
) -> None:
    match = position(variant, hands="5H 6H JK KC | 3C", jokers=2)
    assert on_table(accept(match, f"meld 5H 6H JK={face}"), 1) == lies


@pytest.mark.case(8)
@with_jokers
def test_case_8_the_service_asks_which_card_a_joker_is_and_does_not_guess(variant: str) -> None:
    match = position(variant, hands="5H 6H JK KC | 3C", jokers=2)
    refusal = refuse(match, "meld 5H 6H JK", "joker_unclear", "jokers.2")
    assert refusal.params["choices"] == ("7H", "4H") or refusal.params["choices"] == ("4H", "7H")
    match = position(variant, hands="5H 5C JK KC | 3C", jokers=2)
    refusal = refuse(match, "meld 5H 5C JK", "joker_unclear", "jokers.2")
    assert refusal.params["choices"] == ("5D", "5S")


@pytest.mark.case(8)
@with_jokers
def test_case_8_a_joker_stays_the_card_it_was_named_as(variant: str) -> None:
    match = position(
        variant, hands="5H 6H JK 8H 9H 4H KC | 7H QC QD", jokers=2, stock="2C 2D 2S 3C"
    )
    match = accept(match, "meld 5H 6H JK=7H", "layoff 1 8H")
    assert on_table(match, 1) == "5H 6H JK=7H 8H"
    refuse(match, "swap 1 4H", "no_joker_there", "jokers.3")
    match = accept(match, "layoff 1 4H", "discard KC", "draw")
    assert on_table(match, 1) == "4H 5H 6H JK=7H 8H"
    assert on_table(accept(match, "swap 1 7H"), 1) == "4H 5H 6H 7H 8H"


@pytest.mark.case(8)
@with_jokers
@both_aces
def test_case_8_an_ace_follows_a_king_only_where_aces_are_high(variant: str, aces: str) -> None:
    match = position(variant, hands="QH KH JK 9C | 3C", jokers=2, aces=aces)
    jack, ace = "meld QH KH JK=JH", "meld QH KH JK=AH"
    assert on_table(accept(match, jack), 1) == "JK=JH QH KH"
    if aces == "low":
        refuse(match, ace, "not_a_meld", "common.4")
        assert on_table(accept(match, "meld QH KH JK"), 1) == "JK=JH QH KH"
    else:
        assert on_table(accept(match, ace), 1) == "QH KH JK=AH"
        refuse(match, "meld QH KH JK", "joker_unclear", "jokers.2")


@pytest.mark.case(8)
@with_jokers
@both_aces
def test_case_8_with_ace_and_two_a_joker_is_only_the_three(variant: str, aces: str) -> None:
    match = position(variant, hands="AH 2H JK 9C | 3C", jokers=2, aces=aces)
    assert on_table(accept(match, "meld AH 2H JK"), 1) == "AH 2H JK=3H"
    refuse(match, "meld AH 2H JK=KH", "not_a_meld", "common.4")


@pytest.mark.case(8)
@with_jokers
@pytest.mark.parametrize(
    ("named", "code", "rule"),
    [
        ("8H", "not_a_meld", "common.4"),
        ("5H", "not_a_meld", "common.4"),
        ("6C", "not_a_meld", "common.4"),
        ("6H 8H", "joker_misnamed", "jokers.2"),
        ("JK", "joker_misnamed", "jokers.2"),
    ],
)
def test_case_8_the_named_card_must_make_the_meld(
    variant: str, named: str, code: str, rule: str
) -> None:
    match = position(variant, hands="5H JK 7H KC | 3C", jokers=2)
    refuse(match, LayMeld(cards("5H JK 7H"), cards(named)), code, rule)
    assert on_table(accept(match, "meld 5H JK 7H"), 1) == "5H JK=6H 7H"


@pytest.mark.case(10)
@with_jokers
@both_aces
def test_case_10_a_joker_used_as_an_ace_follows_the_rule_for_aces(variant: str, aces: str) -> None:
    match = position(variant, hands="2S 3S QS KS JK 9C | 3C", jokers=2, aces=aces)
    assert on_table(accept(match, "meld JK=AS 2S 3S"), 1) == "JK=AS 2S 3S"
    high = "meld QS KS JK=AS"
    if aces == "low":
        refuse(match, high, "not_a_meld", "common.4")
    else:
        assert on_table(accept(match, high), 1) == "QS KS JK=AS"
    refuse(match, "meld KS JK=AS 2S", "not_a_meld", "common.4")


@pytest.mark.case(10)
@with_jokers
def test_case_10_the_ace_is_swapped_for_the_joker_that_stands_for_it(variant: str) -> None:
    match = position(variant, hands="AS 9C | 3C", melds="0: JK=AS 2S 3S", jokers=2)
    match = accept(match, "swap 1 AS")
    assert on_table(match, 1) == "AS 2S 3S"
    assert hand_of(match) == "9C JK"


@pytest.mark.case(10)
@with_jokers
@pytest.mark.parametrize(("aces", "count"), [("low", 16), ("high_or_low", 26)])
def test_case_10_a_joker_in_hand_counts_fifteen_whatever_it_could_be(
    variant: str, aces: str, count: int
) -> None:
    match = position(variant, hands="KC | JK AS", melds="1: JK=AS 2S 3S", jokers=2, aces=aces)
    after = accept(match, "discard KC")
    assert after.last is not None
    assert after.last.counts == (0, count)
    assert after.last.scores == (count, 0)


# ------------------------------------------------------------------------- the longest run

ALL_HEARTS = "AH 2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH"


def full_run(match: Match) -> Match:
    """The ace to three of hearts on the table, and all the others laid off on them one by one."""
    for rank in "456789TJQK":
        match = accept(match, f"layoff 1 {rank}H")
    assert on_table(match, 1) == ALL_HEARTS
    return match


@pytest.mark.case(11)
@in_every_preset
def test_case_11_a_run_from_ace_to_king_takes_no_other_card(variant: str) -> None:
    match = position(variant, hands="4H 5H 6H 7H 8H 9H TH JH QH KH 9C 8C | 3C", melds="0: AH 2H 3H")
    match = full_run(match)
    for face in FACES:
        if face[1] == "H" or face == "3C":
            continue
        hand = f"{face} {'9C' if face != '9C' else '8C'} | 3C"
        finished = position(variant, hands=hand, melds="0: " + ALL_HEARTS)
        refuse(finished, f"layoff 1 {face}", "does_not_fit", "common.4")


@pytest.mark.case(11)
@pytest.mark.parametrize("variant", TWO_DECKS)
@both_aces
def test_case_11_no_second_ace_finds_a_place_at_the_other_end(variant: str, aces: str) -> None:
    match = two_decks(
        variant,
        "4H 5H 6H 7H 8H 9H TH JH QH KH AH 5H JK 9C",
        jokers=2,
        melds="0: AH 2H 3H",
        aces=aces,
    )
    match = full_run(match)
    refuse(match, "layoff 1 AH", "does_not_fit", "common.4")
    refuse(match, "layoff 1 5H", "does_not_fit", "common.4")
    refuse(match, "layoff 1 JK=AH", "does_not_fit", "common.4")
    refuse(match, "layoff 1 JK", "does_not_fit", "common.4")


@pytest.mark.case(11)
@pytest.mark.parametrize("variant", TWO_DECKS)
def test_case_11_a_run_that_ends_in_the_ace_takes_no_ace_below_its_two(variant: str) -> None:
    match = two_decks(
        variant, "2H AH KH 9C", melds="0: 3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH", aces="high_or_low"
    )
    refuse(match, "layoff 1 AH", "does_not_fit", "common.4")
    refuse(match, "layoff 1 AH 2H", "does_not_fit", "common.4")
    match = accept(match, "layoff 1 2H")
    assert deal_of(match).melds[0].faces[0] == "2H"
    assert deal_of(match).melds[0].faces[-1] == "AH"
    refuse(match, "layoff 1 AH", "does_not_fit", "common.4")
    refuse(match, "layoff 1 KH", "does_not_fit", "common.4")


@pytest.mark.case(11)
@pytest.mark.parametrize("variant", TWO_DECKS)
@both_aces
def test_case_11_fourteen_cards_from_the_hand_are_no_run(variant: str, aces: str) -> None:
    match = two_decks(variant, ALL_HEARTS + " AH 9C", aces=aces)
    refuse(match, f"meld {ALL_HEARTS} AH", "not_a_meld", "common.4")
    assert on_table(accept(match, f"meld {ALL_HEARTS}"), 1) == ALL_HEARTS


# ----------------------------------------------------------- a card on the table stays there


@pytest.mark.case(13)
@pytest.mark.parametrize("variant", TWO_DECKS)
def test_case_13_a_second_six_does_not_split_a_run(variant: str) -> None:
    match = two_decks(variant, "4H 6H 9H KC", melds="0: 4H 5H 6H 7H 8H 9H")
    for card in ("4H", "6H", "9H"):
        refuse(match, f"layoff 1 {card}", "does_not_fit", "common.4")


@pytest.mark.case(13)
def test_case_13_no_move_splits_joins_or_rearranges_melds() -> None:
    moves, _ = get_args(Move)  # the union, and what is said of it
    assert set(get_args(moves)) == {Draw, LayMeld, LayOff, Swap, Discard, Call}


@pytest.mark.case(13)
@in_every_preset
def test_case_13_cards_of_a_run_on_the_table_are_not_melded_again(variant: str) -> None:
    match = position(variant, hands="TH KC | 3C", melds="0: 4H 5H 6H; 0: 7H 8H 9H")
    refuse(match, "meld 4H 5H 6H", "not_in_hand", "common.3")
    refuse(match, "layoff 1 7H", "not_in_hand", "common.3")
    refuse(match, "layoff 1 TH", "does_not_fit", "common.4")
    match = accept(match, "layoff 2 TH")
    assert (on_table(match, 1), on_table(match, 2)) == ("4H 5H 6H", "7H 8H 9H TH")


@pytest.mark.case(13)
@pytest.mark.parametrize("operation", ["split", "move", "merge", "melds/1"])
def test_case_13_there_is_no_request_to_split_or_move_melds(
    service: Service, operation: str
) -> None:
    table = service.table()
    body = {"meld": 1, "cards": ["6H"]}
    table.refuse(0, operation, 404, "no_such_route", body=body)


@pytest.mark.case(13)
@in_every_preset
def test_case_13_six_cards_from_the_hand_are_one_run_or_two(variant: str) -> None:
    match = position(variant, hands="4H 5H 6H 7H 8H 9H KC | 3C")
    one = accept(match, "meld 4H 5H 6H 7H 8H 9H")
    assert on_table(one, 1) == "4H 5H 6H 7H 8H 9H"
    match, second = accept(match, "meld 4H 5H 6H"), "meld 7H 8H 9H"
    if variant in MELD_LIMIT:
        refuse(match, second, "meld_limit", MELD_LIMIT[variant])
    else:
        match = accept(match, second)
        assert (on_table(match, 1), on_table(match, 2)) == ("4H 5H 6H", "7H 8H 9H")


@pytest.mark.case(13)
@pytest.mark.parametrize("variant", MELD_LIMIT)
def test_case_13_the_second_run_may_be_laid_in_the_next_turn(variant: str) -> None:
    match = position(variant, hands="4H 5H 6H 7H 8H 9H KC KD | 3C 3D", stock="2C 2D 2H")
    match = accept(match, "meld 4H 5H 6H", "discard KC", "draw", "discard 2C", "draw")
    assert on_table(accept(match, "meld 7H 8H 9H"), 2) == "7H 8H 9H"


@pytest.mark.case(14)
@in_every_preset
def test_case_14_no_card_is_borrowed_from_one_meld_for_another(variant: str) -> None:
    match = position(variant, hands="AS 9C | KD", melds="0: 2C 2D 2H 2S; 0: 3S 4S 5S")
    refuse(match, "layoff 2 2S", "not_in_hand", "common.3")
    refuse(match, "layoff 2 AS 2S", "not_in_hand", "common.3")
    refuse(match, "meld AS 2S 3S", "not_in_hand", "common.3")
    refuse(match, "layoff 2 AS", "does_not_fit", "common.4")
    refuse(match, "layoff 1 AS", "does_not_fit", "common.4")
    refuse(match, "layoff 1 9C", "does_not_fit", "common.4")
    assert set(legal_moves(match, 0, NOW)) == {move("discard AS"), move("discard 9C")}


HANDS_OF_16 = {
    "straight": "JC 9D 8S 6D JS 8H TD 8D 7D JD 4C",
    "seven-card": "JC 9D 8S JS 8H TD 8D JD",
    "parlett": "JC 9D 8S 6D JS 8H TD 8D 7D JD 4C",
    "call-rummy": "JC 9D 8S 6D JS 8H TD 8D 7D JD 4C",
}


@pytest.mark.case(16)
@in_every_preset
def test_case_16_a_card_is_in_one_meld_only(variant: str) -> None:
    match = position(variant, hands=HANDS_OF_16[variant] + " | 3C")
    match = accept(match, "meld 8S 8H 8D")
    if variant in MELD_LIMIT:
        refuse(match, "meld 9D TD JD", "meld_limit", MELD_LIMIT[variant])
        return
    match = accept(match, "meld 9D TD JD")
    refuse(match, "meld JC JS JD", "not_in_hand", "common.3")
    refuse(match, "meld 6D 7D 8D", "not_in_hand", "common.3")
    assert hand_of(match) == "4C JC 6D 7D JS"


@pytest.mark.case(16)
@in_every_preset
def test_case_16_a_card_is_not_named_twice_in_one_meld(variant: str) -> None:
    match = position(variant, hands=HANDS_OF_16[variant] + " | 3C")
    refuse(match, "meld 8S 8H 8H", "not_in_hand", "common.3")
    refuse(match, "meld 8S 8H 8D 8D", "not_in_hand", "common.3")

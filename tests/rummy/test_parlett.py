"""Parlett's Basic Rummy: a table for each clause."""

import pytest

from service.errors import NothingToTurnOver, UpcardReturned
from service.rummy.engine import new_match
from service.rummy.model import Drew, TurnedOver
from service.rummy.rules import agree, deviations
from tests.positions import after, deal_of, hand_of, move, on_table, position, refusal, step
from tests.rummy.tables import reasons

clause = pytest.mark.clause


@clause("parlett.1")
@pytest.mark.parametrize(
    ("players", "chosen", "decks", "size"),
    [
        (2, {}, 1, 10), (3, {}, 1, 7), (3, {"hand_size": 10}, 1, 10), (4, {}, 1, 7),
        (5, {}, 1, 7), (4, {"decks": 2}, 2, 10), (5, {"decks": 2}, 2, 10), (6, {}, 2, 10),
        (7, {}, 2, 10), (7, {"jokers": 2}, 2, 10), (4, {"decks": 2, "hand_size": 7}, 2, 7),
    ],
)  # fmt: skip
def test_players_decks_and_hand_sizes_go_together(
    players: int, chosen: dict[str, int], decks: int, size: int
) -> None:
    rules = agree("parlett", players, chosen)
    deal = deal_of(new_match(rules, "any")[0])
    assert rules.decks == decks
    assert [len(hand) for hand in deal.hands] == [size] * players
    assert len(deal.pile) == 1
    assert len(deal.stock) == 52 * decks + rules.jokers - size * players - 1


@clause("parlett.1")
@pytest.mark.parametrize(
    ("players", "chosen", "problems"),
    [
        (1, {}, ["players"]), (8, {}, ["players"]),
        (2, {"decks": 2}, ["decks"]), (3, {"decks": 2}, ["decks"]),
        (6, {"decks": 1}, ["decks"]), (7, {"decks": 1, "hand_size": 7}, ["decks"]),
        (6, {"decks": 1, "hand_size": 10}, ["decks"]),
        (5, {"hand_size": 11}, ["hand_size"]),
    ],
)  # fmt: skip
def test_other_packs_are_refused(players: int, chosen: dict[str, int], problems: list[str]) -> None:
    assert reasons("parlett", players, **chosen) == [(name, "parlett.1") for name in problems]


@clause("parlett.1", "parlett.6")
def test_there_are_no_jokers_or_two_or_more() -> None:
    assert reasons("parlett", 2, jokers=1) == [("jokers", "parlett.6")]
    for jokers in (0, 2, 3, 8):
        assert agree("parlett", 2, {"jokers": jokers}).jokers == jokers


@clause("parlett.1")
def test_what_differs_from_the_preset_is_written_down() -> None:
    assert deviations(agree("parlett", 6, {})) == ()
    found = deviations(agree("parlett", 4, {"decks": 2, "jokers": 2, "hand_size": 10}))
    assert [(one.option, one.preset, one.value) for one in found] == [
        ("decks", 1, 2), ("jokers", 0, 2),
    ]  # fmt: skip


@clause("parlett.2")
def test_any_number_of_melds_and_layoffs_on_any_meld_in_any_order() -> None:
    match = position(
        "parlett",
        hands="5C 5D 5H 7S 9C 9D 9H 8S TC JC QC KD | 2D",
        melds="1: 7C 7D 7H; 0: 8C 8D 8H",
    )
    match = after(
        match, "layoff 1 7S", "meld 5C 5D 5H", "layoff 2 8S", "meld 9C 9D 9H", "meld TC JC QC"
    )
    assert hand_of(match) == "KD"


@clause("parlett.3")
def test_the_discard_differs_from_the_upcard_taken() -> None:
    match = position("parlett", hands="5C KH | 2D 3D", pile="8D 9D", phase="draw")
    refusal(after(match, "take"), "discard 9D", UpcardReturned, "parlett.3")
    later = after(match, "take", "discard KH", "draw", "discard 2D", "draw", "discard 9D")
    assert deal_of(later).upcard == "9D"


@clause("parlett.4")
@pytest.mark.parametrize(
    ("pile", "upcard", "drawn", "stock"),
    [
        ("8D 9D", "8D", "9D", ""),
        ("8D QS 9D", "8D", "QS", "9D"),
        ("8D QS 4H 9D", "8D", "QS", "4H 9D"),
    ],
)
def test_the_whole_pile_is_turned_over_and_its_top_card_starts_a_new_one(
    pile: str, upcard: str, drawn: str, stock: str
) -> None:
    match = position("parlett", hands="5C 6S | 2D", stock="", pile=pile, phase="draw")
    match, events = step(match, move("draw"))
    assert deal_of(match).pile == (upcard,)
    assert deal_of(match).stock == tuple(stock.split())
    assert hand_of(match).split()[-1] == drawn or drawn in hand_of(match)
    assert events == (
        TurnedOver(len(stock.split()) + 1, upcard),
        Drew(0, "stock", drawn),
    )


@clause("parlett.4")
def test_a_pile_of_one_card_has_nothing_to_draw_after_its_top_is_turned_up() -> None:
    match = position("parlett", hands="5C 6S | 2D", stock="", pile="9D", phase="draw")
    refusal(match, "draw", NothingToTurnOver, "common.12")
    assert hand_of(after(match, "take")) == "5C 9D 6S"


@clause("parlett.4")
@pytest.mark.parametrize(
    ("keeps", "new", "pile", "stock", "drawn"),
    [
        (True, False, "9D", "QS 4H", "8D"),
        (False, True, "8D", "4H 9D", "QS"),
        (False, False, "", "QS 4H 9D", "8D"),
    ],
)
@pytest.mark.parametrize("turnover", ["on_demand", "last_card"])
def test_what_a_turnover_leaves_is_an_option(
    keeps: bool, new: bool, pile: str, stock: str, drawn: str, turnover: str
) -> None:
    match = position(
        "parlett", hands="5C 6S | 2D", stock="" if turnover == "on_demand" else "AS",
        pile="8D QS 4H 9D", phase="draw", turnover=turnover, turnover_keeps_upcard=keeps,
        turnover_new_upcard=new,
    )  # fmt: skip
    match = after(match, "draw")
    assert deal_of(match).pile == tuple(pile.split())
    if turnover == "on_demand":
        assert deal_of(match).stock == tuple(stock.split())
        assert drawn in hand_of(match)
    else:
        assert "AS" in hand_of(match)
        assert deal_of(match).stock == (drawn, *stock.split())
    if not pile:
        assert deal_of(after(match, "discard 5C")).pile == ("5C",)


@clause("parlett.4")
def test_a_new_upcard_is_not_turned_while_the_old_one_stays() -> None:
    problems = [("turnover_new_upcard", "parlett.4")]
    assert reasons("parlett", 2, turnover_keeps_upcard=True) == problems
    for variant, rule in (("straight", "5"), ("seven-card", "4"), ("call-rummy", "4")):
        found = reasons(variant, 2, turnover_new_upcard=True, deals=1)
        assert found == [("turnover_new_upcard", f"{variant}.{rule}")]


@clause("parlett.5")
@pytest.mark.parametrize(
    ("hand", "texts", "how"),
    [
        ("5C 5D 5H", ["meld 5C 5D 5H"], "meld"),
        ("5C 5D 5H 9C 9D 9H", ["meld 5C 5D 5H", "meld 9C 9D 9H"], "meld"),
        ("5C 5D 5H KD", ["meld 5C 5D 5H", "discard KD"], "discard"),
        ("7S", ["layoff 1 7S"], "layoff"),
    ],
)
def test_a_player_goes_out_with_or_without_a_final_discard(
    hand: str, texts: list[str], how: str
) -> None:
    result = after(position("parlett", hands=f"{hand} | 2D", melds="1: 7C 7D 7H"), *texts).last
    assert result is not None
    assert (result.winner, result.how) == (0, how)


@clause("parlett.6")
@pytest.mark.parametrize(("aces", "scores"), [("low", (46, 0)), ("high_or_low", (56, 0))])
def test_jokers_fifteen_court_cards_ten_aces_one_or_eleven(
    aces: str, scores: tuple[int, ...]
) -> None:
    match = position("parlett", hands="KH | JK JD QC AS TS", jokers=2, aces=aces)
    result = after(match, "discard KH").last
    assert result is not None
    assert result.scores == scores


@clause("parlett.6")
def test_a_run_of_three_four_joker_six() -> None:
    match = position("parlett", hands="3S 4S JK 6S 3C JK 3D KH | 2D", jokers=2)
    assert on_table(after(match, "meld 3S 4S JK 6S"), 1) == "3S 4S JK=5S 6S"
    assert on_table(after(match, "meld 3C JK=3H 3D"), 1) == "3C 3D JK=3H"

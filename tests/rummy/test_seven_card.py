"""Seven-card Rummy: a table for each clause."""

from collections import Counter

import pytest

from service.errors import MeldLimit, NotAMeld, NothingToTurnOver, NotYourMeld, NoUpcard
from service.rummy.engine import new_match
from service.rummy.rules import agree, deviations
from tests.positions import after, cards, deal_of, hand_of, on_table, position, refusal, with_deal
from tests.rummy.tables import reasons

clause = pytest.mark.clause


@clause("seven-card.1")
@pytest.mark.parametrize(
    ("players", "chosen", "stock"),
    [
        (2, {}, 52 - 14), (3, {}, 52 - 21), (4, {}, 52 - 28), (5, {}, 104 - 35),
        (6, {}, 104 - 42), (7, {}, 104 - 49), (8, {}, 104 - 56),
        (2, {"upcard": True}, 51 - 14), (8, {"upcard": True}, 103 - 56),
        (4, {"decks": 2}, 104 - 28), (4, {"jokers": 2}, 54 - 28), (8, {"jokers": 4}, 108 - 56),
    ],
)  # fmt: skip
def test_seven_cards_each_from_one_deck_or_two(
    players: int, chosen: dict[str, int], stock: int
) -> None:
    deal = deal_of(new_match(agree("seven-card", players, chosen), "any")[0])
    assert [len(hand) for hand in deal.hands] == [7] * players
    assert (len(deal.stock), len(deal.pile)) == (stock, int(chosen.get("upcard", 0)))


@clause("seven-card.1")
def test_two_to_eight_play_and_five_or_more_need_two_decks() -> None:
    for players in (1, 9):
        assert reasons("seven-card", players) == [("players", "seven-card.1")]
    for players in range(5, 9):
        assert reasons("seven-card", players, decks=1) == [("decks", "seven-card.1")]


@clause("seven-card.1")
def test_with_two_decks_there_are_two_of_each_card() -> None:
    deal = deal_of(new_match(agree("seven-card", 5, {}), "any")[0])
    everything = Counter([*deal.stock, *(card for hand in deal.hands for card in hand)])
    assert set(everything.values()) == {2}


@clause("seven-card.2")
def test_the_first_player_draws_from_the_stock_and_the_first_discard_starts_the_pile() -> None:
    match, _ = new_match(agree("seven-card", 2, {}), "any", 1)
    assert deal_of(match).pile == ()
    refusal(match, "take", NoUpcard, "common.3")
    match = after(match, "draw")
    card = deal_of(match).hands[0][0]
    assert deal_of(after(match, f"discard {card}")).pile == (card,)


@clause("seven-card.2")
def test_the_first_player_may_meld() -> None:
    match = position("seven-card", hands="5C 5D KH | 2D", stock="5H 9C", phase="draw")
    match = after(match, "draw", "meld 5C 5D 5H")
    assert hand_of(match) == "KH"


@clause("seven-card.2")
def test_as_a_variant_the_first_player_may_take_an_upcard() -> None:
    match, _ = new_match(agree("seven-card", 2, {"upcard": True}), "any", 1)
    card = deal_of(match).upcard
    assert card in hand_of(after(match, "take"))


@clause("seven-card.3")
def test_one_new_meld_a_turn_and_layoffs_on_the_own_melds_in_any_order() -> None:
    match = position(
        "seven-card",
        hands="5C 5D 5H 5S 7S 8H 9C 9D 9H KH | 2D",
        melds="0: 7C 7D 7H; 1: 8C 8D 8S",
    )
    refusal(match, "layoff 2 8H", NotYourMeld, "seven-card.3")
    match = after(match, "layoff 1 7S", "meld 5C 5D 5H", "layoff 3 5S")
    refusal(match, "meld 9C 9D 9H", MeldLimit, "seven-card.3")
    assert hand_of(match) == "9C 9D 8H 9H KH"


@clause("seven-card.3")
@pytest.mark.parametrize("text", ["layoff 1 AC", "layoff 1 5C"])
def test_single_cards_fit_at_either_end_of_a_run(text: str) -> None:
    match = position("seven-card", hands="AC 5C KH | 2D", melds="0: 2C 3C 4C")
    assert len(deal_of(after(match, text)).melds[0].faces) == 4


@clause("seven-card.4")
@pytest.mark.parametrize("size", [2, 3, 9])
def test_the_upcard_stays_and_the_rest_is_shuffled_into_a_new_stock(size: int) -> None:
    pile = list(cards("8D QS 4H 6C TC JH AS 2S 9D"))[-size:]
    match = position("seven-card", hands="5C 6D | 2D", stock="", pile=" ".join(pile), phase="draw")
    orders = set()
    for number in range(40):
        seeded = after(with_deal(match, number=number + 1), "draw")
        drawn = next(card for card in deal_of(seeded).hands[0] if card not in {"5C", "6D"})
        orders.add((drawn, *deal_of(seeded).stock))
        assert deal_of(seeded).pile == ("9D",)
        assert sorted(next(iter(orders))) == sorted(pile[:-1])
    assert len(orders) > {2: 0, 3: 1, 9: 35}[size], "and shuffled anew each time"


@clause("seven-card.4")
def test_a_turnover_that_shuffles_may_come_with_the_last_card() -> None:
    match = position(
        "seven-card", hands="5C 6D | 2D", stock="AS", pile="8D QS 4H 9D", phase="draw",
        turnover="last_card",
    )  # fmt: skip
    match = after(match, "draw")
    assert sorted(deal_of(match).stock) == ["4H", "8D", "QS"]
    assert deal_of(match).pile == ("9D",)


@clause("seven-card.4")
def test_with_only_the_upcard_left_there_is_nothing_to_shuffle() -> None:
    match = position("seven-card", hands="5C 6D | 2D", stock="", pile="9D", phase="draw")
    refusal(match, "draw", NothingToTurnOver, "common.12")


@clause("seven-card.5")
@pytest.mark.parametrize(
    ("hand", "text"),
    [("5C 5D 5H", "meld 5C 5D 5H"), ("7S", "layoff 1 7S"), ("KH", "discard KH")],
)
def test_the_deal_ends_at_once_however_the_last_card_went(hand: str, text: str) -> None:
    result = after(position("seven-card", hands=f"{hand} | 2D", melds="0: 7C 7D 7H"), text).last
    assert result is not None
    assert (result.winner, result.how) == (0, text.split()[0])


@clause("seven-card.6")
def test_jokers_come_out_of_anyones_meld_though_layoffs_are_on_the_own_only() -> None:
    match = position(
        "seven-card", hands="5H 7H KD | 2D", melds="1: 4H JK=5H 6H; 0: TH JK=JH QH", jokers=2
    )
    refusal(match, "layoff 1 7H", NotYourMeld, "seven-card.3")
    match = after(match, "swap 1 5H")
    assert on_table(match, 1) == "4H 5H 6H"
    assert on_table(after(match, "layoff 2 JK=KH"), 2) == "TH JK=JH QH JK=KH"


@clause("seven-card.6")
def test_high_or_low_aces_count_eleven() -> None:
    low, high = agree("seven-card", 2, {}), agree("seven-card", 2, {"aces": "high_or_low"})
    assert (low.ace_points, high.ace_points) == (1, 11)
    assert [found.option for found in deviations(high)] == ["aces"]
    match = position("seven-card", hands="QD KD AD 2D 9C | 2S")
    refusal(match, "meld QD KD AD", NotAMeld, "common.4")
    match = position("seven-card", hands="QD KD AD 2D 9C | 2S", aces="high_or_low")
    refusal(match, "meld KD AD 2D", NotAMeld, "common.4")
    assert on_table(after(match, "meld QD KD AD"), 1) == "QD KD AD"

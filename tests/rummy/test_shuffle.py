"""Chance from a seed: the same everywhere, and fair."""

from collections import Counter

import pytest

from service.rummy.cards import pack
from service.rummy.engine import new_match
from service.rummy.rules import agree
from service.rummy.shuffle import lot, shuffled
from tests.positions import cards, deal_of


@pytest.mark.parametrize(
    ("seed", "label", "decks", "jokers", "first", "last"),
    [
        ("rummy", "deal 1", 1, 0, "AH 4D 7H AS 3H KD 9C 8C", "4C 5C 3C 6D"),
        ("rummy", "deal 2", 1, 0, "9S 7D AD AH 6S 5S KH 6H", "3C 5C KD QC"),
        ("", "deal 1", 2, 4, "AH 7S 3H JH JK 8C 9D JH", "2H AD 2C 7H"),
        ("æøå", "deal 1 turnover 1", 1, 2, "AS AD 9S JD 7S QC TH 5H", "QD 8D 5D QH"),
    ],
)
def test_a_seed_gives_these_cards_for_ever(
    seed: str, label: str, decks: int, jokers: int, first: str, last: str
) -> None:
    order = shuffled(pack(decks, jokers), seed, label)
    assert (order[:8], order[-4:]) == (cards(first), cards(last))
    assert Counter(order) == Counter(pack(decks, jokers))


def test_a_seed_draws_these_lots_for_ever() -> None:
    assert [lot(bound, "rummy", "dealer") for bound in range(2, 9)] == [1, 0, 1, 4, 3, 0, 5]


@pytest.mark.parametrize("size", [0, 1])
def test_nothing_and_one_card_are_shuffled_already(size: int) -> None:
    assert shuffled(cards("9C KD")[:size], "any", "any") == cards("9C KD")[:size]


def test_every_card_comes_to_every_place_equally_often() -> None:
    rounds = 2600
    places = Counter(
        place_and_card
        for number in range(rounds)
        for place_and_card in enumerate(shuffled(pack(1, 0), f"seed {number}", "deal 1"))
    )
    expected = rounds / 52
    chi_square = sum((places[place, card] - expected) ** 2 / expected
                     for place in range(52) for card in pack(1, 0))  # fmt: skip
    # 51 * 51 degrees of freedom: 2601, give or take five times the deviation of 72.
    assert 2240 < chi_square < 2962


def test_every_order_of_three_comes_equally_often() -> None:
    orders = Counter(shuffled(cards("9C TC JC"), f"{number}", "deal 1") for number in range(6000))
    assert len(orders) == 6
    assert all(850 < count < 1150 for count in orders.values()), orders


def test_lots_fall_on_everybody_equally_often() -> None:
    for bound in range(2, 9):
        lots = Counter(lot(bound, f"{number}", "dealer") for number in range(1000 * bound))
        assert set(lots) == set(range(bound))
        assert all(850 < count < 1150 for count in lots.values()), lots


def test_other_seeds_deals_and_turnovers_give_other_cards() -> None:
    labels = [f"deal {n}" for n in range(1, 40)] + ["deal 1 turnover 1", "deal 1 turnover 2"]
    orders = [shuffled(pack(1, 0), seed, label) for seed in ("a", "b") for label in labels]
    assert len(set(orders)) == len(orders)


def test_a_match_is_dealt_anew_from_its_seed_only() -> None:
    rules = agree("straight", 4, {"deals": 2})
    first, again, other = (new_match(rules, seed, 0)[0] for seed in ("one", "one", "two"))
    assert first == again
    assert deal_of(first).hands != deal_of(other).hands


def test_lots_are_drawn_again_rather_than_bent() -> None:
    # Three quarters of all words: taking the rest modulo the bound would double the lowest third.
    bound = 3 * 2**30
    low = sum(lot(bound, f"{number}", "any") < 2**30 for number in range(3000))
    assert 900 < low < 1100

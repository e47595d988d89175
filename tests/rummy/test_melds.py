"""What is found with numbers and tables is what trying everything finds."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rummy.cards import FACES, JOKER, RANKS, Card
from service.rummy.engine import guard_finishable, is_finishable
from service.rummy.melds import melds_in, open_faces
from service.rummy.model import Meld
from service.rummy.rules import Rules, agree
from tests.positions import deal_of
from tests.rummy import oracle
from tests.rummy.chance import random_position, random_rules

rules_of_melds = st.builds(
    lambda decks, aces: agree(
        "straight", 2, {"deals": 1, "jokers": 8, "decks": decks, "aces": aces}
    ),
    st.integers(1, 2),
    st.sampled_from(["low", "high_or_low"]),
)


@st.composite
def hands(draw: st.DrawFn, rules: Rules) -> tuple[Card, ...]:
    """Up to nine cards, in any order, in which there are many melds: two ranks and two suits."""
    ranks = draw(st.lists(st.sampled_from(RANKS), min_size=2, max_size=2))
    suits = draw(st.lists(st.sampled_from("CDHS"), min_size=2, max_size=2))
    near = [face for face in FACES if face[0] in ranks or face[1] in suits]
    jokers = draw(st.integers(0, 3))
    cards = draw(st.lists(st.sampled_from(near * rules.decks), max_size=9 - jokers))
    kept = [
        card for card, copies in Counter(cards).items() for _ in range(min(copies, rules.decks))
    ]
    return tuple(draw(st.permutations([*kept, *[JOKER] * jokers])))


@settings(deadline=None)
@given(st.data(), rules_of_melds)
def test_the_melds_of_a_hand_are_all_selections_that_are_melds(data: st.DataObject, rules: Rules):
    hand = data.draw(hands(rules))
    found = list(melds_in(hand, rules))
    tried = {
        (tuple(sorted(cards)), tuple(sorted(named)))
        for cards in oracle.subsets(hand)
        if (natural := tuple(card for card in cards if card != JOKER))
        for named in oracle.namings(natural, len(cards) - len(natural), rules)
    }
    assert Counter(
        (tuple(sorted(shape.cards)), tuple(sorted(shape.named))) for shape in found
    ) == Counter(tried)
    assert all(len(one.jokers) <= len(other.jokers) for one, other in pairwise(found))


@pytest.mark.parametrize(("aces", "runs"), [("low", 66), ("high_or_low", 76)])
def test_all_cards_of_a_suit_are_one_run_and_each_stretch_of_it_another(aces, runs):
    rules = agree("straight", 2, {"deals": 1, "aces": aces})
    for suit in "CDHS":
        faces = [shape.faces for shape in melds_in([rank + suit for rank in RANKS], rules)]
        assert all(oracle.is_meld(run, rules) for run in faces)
        assert len(set(map(frozenset, faces))) == len(faces) == runs


@settings(deadline=None)
@given(st.data(), rules_of_melds)
def test_what_fits_on_a_meld_is_every_card_that_makes_a_meld_with_it(
    data: st.DataObject, rules: Rules
):
    hand = data.draw(hands(rules))
    for shape in melds_in(hand, rules):
        meld = Meld(1, 0, shape.kind, shape.faces, shape.jokers)
        fitting = open_faces(meld, rules)
        assert len(set(fitting)) == len(fitting)
        assert set(fitting) == {
            face for face in FACES if oracle.is_meld((*meld.faces, face), rules)
        }


@settings(deadline=None)
@given(st.sampled_from(["straight", "seven-card", "parlett", "call-rummy"]), st.integers(0, 10**6))
def test_where_a_turn_can_surely_be_finished_no_hand_of_so_many_cards_is_refused(variant, number):
    chance = Random(f"finishable {variant} {number}")
    rules = random_rules(chance, variant, 2, jokers=4)
    deal = deal_of(random_position(chance, rules, draw=0))
    for hand in oracle.subsets(deal.hands[deal.turn]):
        if is_finishable(deal, rules, left=len(hand)):
            guard_finishable(hand, deal.melds, deal, rules)

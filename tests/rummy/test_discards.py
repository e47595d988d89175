"""The discards of a deal as one text: it says what a list of them would."""

from random import Random

import pytest
from msgspec.structs import replace

from service.rummy.cards import FACES
from service.rummy.discards import Discards, Thrown, turned_up, written


def test_each_discard_is_five_characters():
    discards = turned_up(["9D"]).with_card("JK", 3).with_card("TS", 0)
    assert discards.text == "-9D..3JK..0TS.."
    assert discards.without_upcard("taken", by=1).text == "-9D..3JK..0TSt1"
    assert discards.without_upcard("called", by=2).text == "-9D..3JK..0TSc2"
    assert discards.turned_over(upcard_stays=True).text == "-9Do.3JKo.0TS.."
    assert discards.turned_over(upcard_stays=False).text == "-9Do.3JKo.0TSo."


def test_of_a_pile_that_is_not_known_nothing_is_told():
    assert Discards().without_upcard("taken", by=1) == Discards()
    for stays in (True, False):
        assert Discards("0TSt1").turned_over(upcard_stays=stays) == Discards("0TSt1")


@pytest.mark.parametrize("number", range(20))
def test_it_tells_the_same_as_a_list(number):
    chance = Random(f"discards {number}")
    discards, listed = Discards(), []
    lying: list[int] = []
    for _ in range(200):
        what = chance.choice(["discard", "discard", "discard", "turn up", "take", "call", "over"])
        seat = chance.randrange(8)
        if what in {"discard", "turn up"}:
            card, by = chance.choice(FACES), None if what == "turn up" else seat
            discards = discards.with_card(card, by)
            lying.append(len(listed))
            listed.append(Thrown(by, card))
        elif what == "over":
            stays = chance.random() < 0.5
            discards = discards.turned_over(upcard_stays=stays)
            turned, lying = (lying[:-1], lying[-1:]) if stays else (lying, [])
            for place in turned:
                listed[place] = replace(listed[place], gone="turned_over")
        elif lying:
            gone = "taken" if what == "take" else "called"
            discards = discards.without_upcard(gone, by=seat)
            place = lying.pop()
            listed[place] = replace(listed[place], gone=gone, by=seat)
        assert discards.in_order() == tuple(listed)
        assert tuple(discards.latest_first()) == tuple(reversed(listed))
        assert written(listed) == discards

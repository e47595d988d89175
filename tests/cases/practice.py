"""Practice tables: a deal written as hands, upcard and stock, as the card order that deals it."""

from collections import Counter

from service.rummy.cards import Card, pack
from service.rummy.rules import Rules
from tests.positions import cards


def card_order(
    rules: Rules, hands: str, *, upcard: str = "", stock: str = "", dealer: int
) -> list[Card]:
    """The pack in the order that deals these hands, one for each seat, between bars.

    `stock` begins the stock, the next card first. Whatever is left open, the end of a short hand
    or the upcard, is filled with cards that are named nowhere.
    """
    held = [list(cards(hand)) for hand in hands.split("|")]
    named = Counter(cards(f"{hands.replace('|', ' ')} {upcard} {stock}"))
    rest = Counter(pack(rules.decks, rules.jokers))
    rest.subtract(named)
    assert min(rest.values()) >= 0, "more of a card than the pack has"
    spare = list(rest.elements())
    for hand in held:
        while len(hand) < rules.hand_size:
            hand.append(spare.pop())
    turned = cards(upcard) if upcard or not rules.upcard else (spare.pop(),)
    left_of_dealer = held[dealer + 1 :] + held[: dealer + 1]
    dealt = [hand[turn] for turn in range(rules.hand_size) for hand in left_of_dealer]
    return [*dealt, *turned, *cards(stock), *spare]

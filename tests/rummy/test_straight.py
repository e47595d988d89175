"""Straight Rummy: a table for each clause."""

import pytest

from service.errors import MeldLimit, MeldsFirst, NoLayoffs, NotYourMeld, UpcardReturned
from service.rummy.engine import new_match
from service.rummy.model import DealResult, Match
from service.rummy.rules import agree, deviations
from tests.positions import after, cards, deal_of, hand_of, position, refusal, with_deal
from tests.rummy.tables import reasons

clause = pytest.mark.clause


def ended(match: Match) -> DealResult:
    """The result of the deal just ended."""
    assert match.last is not None
    return match.last


@clause("straight.1")
@pytest.mark.parametrize(("players", "size"), [(2, 10), (3, 7), (4, 7), (5, 6), (6, 6)])
@pytest.mark.parametrize("decks", [1, 2])
def test_ten_seven_or_six_cards_are_dealt(players: int, size: int, decks: int) -> None:
    rules = agree("straight", players, {"deals": 1, "decks": decks})
    deal = deal_of(new_match(rules, "any")[0])
    assert [len(hand) for hand in deal.hands] == [size] * players
    assert len(deal.stock) == 52 * decks - size * players - 1
    assert [found.option for found in deviations(rules)] == ["decks"][: decks - 1]


@clause("straight.1")
@pytest.mark.parametrize("players", [0, 1, 7, 8])
def test_two_to_six_play(players: int) -> None:
    assert reasons("straight", players, deals=1) == [("players", "straight.1")]


@clause("straight.2")
@pytest.mark.parametrize("upcard", [True, False])
def test_the_next_stock_card_is_turned_up(upcard: bool) -> None:
    rules = agree("straight", 2, {"deals": 1, "upcard": upcard})
    order = cards(" ".join(sorted(f"{rank}{suit}" for rank in "A23456789TJQK" for suit in "CDHS")))
    deal = deal_of(new_match(rules, "any", 0, order)[0])
    assert deal.pile == order[20 : 20 + upcard]
    assert deal.stock == order[20 + upcard :]
    assert sorted(deal.hands[1]) == sorted(order[0:20:2]), "the dealer's left gets the first card"


@clause("straight.3")
def test_melds_come_before_layoffs_and_one_meld_a_turn() -> None:
    match = position(
        hands="5C 5D 5H 7S 9C 9D 9H TS KH | 2D", melds="1: 7C 7D 7H; 0: 6S JK=7S 8S 9S", jokers=1
    )
    refusal(after(match, "meld 5C 5D 5H"), "meld 9C 9D 9H", MeldLimit, "straight.3")
    refusal(after(match, "layoff 1 7S"), "meld 5C 5D 5H", MeldsFirst, "straight.3")
    assert len(deal_of(after(match, "swap 2 7S", "meld 5C 5D 5H")).melds) == 3
    match = after(match, "meld 5C 5D 5H", "layoff 1 7S", "layoff 2 TS", "discard KH")
    assert deal_of(match).turn == 1
    later = after(match, "draw", "discard 2D", "draw", "meld 9C 9D 9H")
    assert len(deal_of(later).melds) == 4, "in a later turn there is a new meld again"


@clause("straight.3")
@pytest.mark.parametrize(
    ("order", "limit", "text", "error"),
    [
        ("free", "one", "layoff 1 7S, meld 5C 5D 5H", None),
        ("free", "one", "meld 5C 5D 5H, layoff 1 7S, meld 9C 9D 9H", MeldLimit),
        ("free", "unlimited", "meld 5C 5D 5H, layoff 1 7S, meld 9C 9D 9H", None),
        ("melds_first", "unlimited", "meld 5C 5D 5H, meld 9C 9D 9H, layoff 1 7S", None),
        ("melds_first", "unlimited", "meld 5C 5D 5H, layoff 1 7S, meld 9C 9D 9H", MeldsFirst),
        ("melds_first", "one", "meld 5C 5D 5H, layoff 1 7S, meld 9C 9D 9H", MeldLimit),
        ("melds_first", "unlimited", "layoff 1 7S, meld 5C 5D 5H", MeldsFirst),
    ],
)
def test_order_and_number_of_melds_are_options(
    order: str, limit: str, text: str, error: type[MeldLimit] | None
) -> None:
    match = position(
        hands="5C 5D 5H 7S 9C 9D 9H KH | 2D",
        melds="1: 7C 7D 7H",
        order=order,
        melds_per_turn=limit,
    )
    *before, last = text.split(", ")
    match = after(match, *before)
    if error:
        refusal(match, last, error, "straight.3")
    else:
        after(match, last)


@clause("straight.3")
@pytest.mark.parametrize(
    ("layoffs", "on_own", "on_others"),
    [
        ("any", None, None),
        ("own", None, NotYourMeld),
        ("none", NoLayoffs, NoLayoffs),
    ],
)
def test_whose_melds_take_layoffs_is_an_option(
    layoffs: str, on_own: type[NoLayoffs] | None, on_others: type[NoLayoffs] | None
) -> None:
    match = position(hands="7S 8S KH | 2D", melds="0: 7C 7D 7H; 1: 8C 8D 8H", layoffs=layoffs)
    for text, error in (("layoff 1 7S", on_own), ("layoff 2 8S", on_others)):
        if error:
            # Clauses that state such a house rule: straight.3 itself allows all melds.
            refusal(match, text, error, "common.7" if error is NoLayoffs else "seven-card.3")
        else:
            after(match, text)


@clause("straight.4")
def test_the_upcard_taken_is_not_discarded_in_that_turn() -> None:
    match = position(hands="5C 6D KH | 2D 3D", pile="8D 9D", phase="draw")
    refusal(after(match, "take"), "discard 9D", UpcardReturned, "straight.4")
    assert deal_of(after(match, "draw", "discard 6D")).upcard == "6D"
    later = after(match, "take", "discard KH", "draw", "discard 2D", "draw", "discard 9D")
    assert deal_of(later).upcard == "9D"


@clause("straight.5")
def test_the_pile_without_the_upcard_is_turned_over_unshuffled() -> None:
    match = position(hands="5C 6D | 2D 3D", stock="", pile="8D QS 4H 9D", phase="draw")
    match = after(match, "draw")
    assert hand_of(match) == "5C 6D 8D", "the oldest discard is drawn first"
    assert (deal_of(match).stock, deal_of(match).pile) == (("QS", "4H"), ("9D",))


@clause("straight.5")
def test_who_wants_the_upcard_takes_it_and_nothing_is_turned() -> None:
    match = position(hands="5C 6D | 2D 3D", stock="", pile="8D QS 4H 9D", phase="draw")
    match = after(match, "take", "discard 5C")
    assert (deal_of(match).stock, deal_of(match).turnovers) == ((), 0)
    assert hand_of(after(match, "draw"), 1) == "2D 3D 8D"


@clause("straight.5")
def test_the_last_stock_card_alone_turns_nothing() -> None:
    match = position(hands="5C 6D | 2D 3D", stock="AS", pile="8D 9D", phase="draw")
    match = after(match, "draw")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), ("8D", "9D"))


@clause("straight.6")
@pytest.mark.parametrize(
    ("text", "how"),
    [("meld 5C 5D 5H", "meld"), ("layoff 1 7S", "layoff"), ("discard KH", "discard")],
)
def test_a_player_goes_out_by_meld_layoff_or_discard(text: str, how: str) -> None:
    hand = " ".join(word for word in text.split()[1:] if word != "1")
    match = position(hands=f"{hand} | 2D", melds="1: 7C 7D 7H")
    assert ended(after(match, text)).how == how


@clause("straight.7")
def test_target_or_deals_must_be_chosen() -> None:
    assert reasons("straight", 2) == [("deals", "straight.7")]
    assert reasons("straight", 2, deals=None) == [("deals", "straight.7")]
    assert reasons("straight", 2, target=None) == [("target", "straight.7")]
    assert reasons("straight", 2, deals=1, target=100) == [("target", "straight.7")]
    for chosen in ({"deals": 1}, {"target": 1}, {"deals": None, "target": 50}):
        rules = agree("straight", 2, chosen)
        assert (rules.deals, rules.target) == (chosen.get("deals"), chosen.get("target"))


@clause("straight.7")
def test_the_winner_takes_what_the_others_hold() -> None:
    match = position(hands="KH | QC 7D AS | TH 5C 3S", target=36)
    match = after(match, "discard KH")
    assert ended(match).scores == (36, 0, 0)
    assert match.result is not None


@clause("straight.8")
@pytest.mark.parametrize(
    ("players", "size", "fits"),
    [(2, 1, True), (2, 20, True), (6, 8, True), (6, 9, False), (3, 16, True), (3, 17, False),
     (4, 12, True), (4, 13, False), (5, 10, True), (5, 11, False)],
)  # fmt: skip
def test_another_deal_size_is_a_house_rule_written_down(
    players: int, size: int, fits: bool
) -> None:
    if not fits:
        assert reasons("straight", players, deals=1, hand_size=size) == [
            ("hand_size", "straight.8")
        ]
        return
    rules = agree("straight", players, {"deals": 1, "hand_size": size})
    deal = deal_of(new_match(rules, "any")[0])
    assert {len(hand) for hand in deal.hands} == {size}
    assert len(deal.stock) == 51 - size * players
    assert [(found.option, found.value) for found in deviations(rules)] == [("hand_size", size)]


@clause("straight.8")
def test_a_smaller_hand_leaves_the_turn_as_it_is() -> None:
    match, _ = new_match(agree("straight", 2, {"deals": 1, "hand_size": 1}), "any", 1)
    match = with_deal(match, hands=(("5C",), ("6C",)), stock=("7C", "8C"), pile=("KH",))
    match = after(match, "draw", "discard 7C")
    assert deal_of(match).turn == 1

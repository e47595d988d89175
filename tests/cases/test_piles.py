"""The stock runs out: when the pile is turned over, and what happens when nothing is left."""

from collections import Counter

import pytest

from service.rummy.engine import new_match
from service.rummy.legal import legal_moves
from service.rummy.model import Match, TurnedOver
from service.rummy.rules import TURN_LIMIT, OptionValue, agree
from tests.cases.online import Service
from tests.cases.table import NO_RETURN, accept, in_every_preset, refuse, refuse_options
from tests.positions import NOW, cards, deal_of, hand_of, move, position, step, with_deal

# -------------------------------------------------------------------------- turning over


def last_stock_card(variant: str, pile: str = "2C 9D KS 4H", **options: OptionValue) -> Match:
    """A is to draw the last stock card, and holds the five of spades to discard afterwards."""
    return position(
        variant,
        hands="5S QD QH | 7C 7D 8H | TC TD JS",
        stock="JD",
        pile=pile,
        phase="draw",
        **options,
    )


@pytest.mark.case(40)
@pytest.mark.parametrize("variant", ["straight", "seven-card", "parlett"])
def test_case_40_an_empty_stock_is_renewed_only_when_somebody_draws_from_it(variant: str) -> None:
    match = accept(last_stock_card(variant), "draw")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), cards("2C 9D KS 4H"))
    match = accept(match, "discard 5S")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), cards("2C 9D KS 4H 5S"))
    taken = accept(match, "take")
    assert (deal_of(taken).stock, deal_of(taken).pile) == ((), cards("2C 9D KS 4H"))
    assert deal_of(taken).turnovers == 0


@pytest.mark.case(40)
def test_case_40_straight_rummy_turns_the_pile_under_the_upcard_unshuffled() -> None:
    match = accept(last_stock_card("straight"), "draw", "discard 5S")
    match, events = step(match, move("draw"))
    assert TurnedOver(4, "5S") in events
    assert deal_of(match).stock == cards("9D KS 4H")
    assert deal_of(match).pile == cards("5S")
    assert hand_of(match, 1) == "2C 7C 7D 8H"


@pytest.mark.case(40)
def test_case_40_seven_card_rummy_shuffles_what_lies_under_the_upcard() -> None:
    match = accept(last_stock_card("seven-card"), "draw", "discard 5S", "draw")
    assert len(deal_of(match).stock) == 3
    assert deal_of(match).pile == cards("5S")
    drawn = Counter(deal_of(match).hands[1]) - Counter(cards("7C 7D 8H"))
    assert drawn + Counter(deal_of(match).stock) == Counter(cards("2C 9D KS 4H"))


@pytest.mark.case(40)
def test_case_40_parlett_turns_the_whole_pile_and_starts_a_new_one_with_its_oldest_card() -> None:
    match = accept(last_stock_card("parlett"), "draw", "discard 5S")
    match, events = step(match, move("draw"))
    assert TurnedOver(4, "2C") in events
    assert deal_of(match).stock == cards("KS 4H 5S")
    assert deal_of(match).pile == cards("2C")
    assert hand_of(match, 1) == "7C 7D 9D 8H"


@pytest.mark.case(40)
def test_case_40_call_rummy_turns_the_pile_the_moment_the_last_stock_card_is_taken() -> None:
    match, events = step(last_stock_card("call-rummy"), move("draw"))
    assert events[-1] == TurnedOver(3, "4H")
    assert (deal_of(match).stock, deal_of(match).pile) == (cards("2C 9D KS"), cards("4H"))
    match = accept(match, "discard 5S")
    assert (deal_of(match).stock, deal_of(match).pile) == (cards("2C 9D KS"), cards("4H 5S"))
    match = accept(match, "draw")
    assert hand_of(match, 1) == "2C 7C 7D 8H"
    assert deal_of(match).stock == cards("9D KS")


@pytest.mark.case(40)
def test_case_40_call_rummy_leaves_a_pile_of_one_until_a_stock_card_is_needed() -> None:
    match = accept(last_stock_card("call-rummy", pile="4H"), "draw")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), cards("4H"))
    match = accept(match, "discard 5S", "draw")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), cards("5S"))
    assert "4H" in deal_of(match).hands[1]


@pytest.mark.case(40)
@in_every_preset
@pytest.mark.parametrize("turnover", ["on_demand", "last_card"])
def test_case_40_when_the_pile_is_turned_is_an_option(variant: str, turnover: str) -> None:
    match = accept(last_stock_card(variant, turnover=turnover), "draw")
    assert bool(deal_of(match).stock) == (turnover == "last_card")
    assert deal_of(match).turnovers == (turnover == "last_card")


# -------------------------------------------------------------------------- nothing to turn


@pytest.mark.case(41)
@in_every_preset
def test_case_41_with_an_upcard_only_it_must_be_taken(variant: str) -> None:
    match = position(variant, hands="5S QD | 7C 7D", stock="", pile="4H", phase="draw")
    refusal = refuse(match, "draw", "nothing_to_turn_over", "common.12")
    assert "take the upcard" in refusal.detail
    assert list(legal_moves(match, 0, NOW)) == [move("take 4H")]
    match = accept(match, "take")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), ())
    if variant in NO_RETURN:
        refuse(match, "discard 4H", "upcard_returned", NO_RETURN[variant])
    match = accept(match, "discard 5S")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), cards("5S"))
    accept(match, "take")


@pytest.mark.case(41)
def test_case_41_a_call_that_takes_the_last_card_blocks_the_deal() -> None:
    match = position(
        "call-rummy",
        hands="8S QD | 7C 7D | 2C 3C",
        stock="",
        pile="",
        melds="1: 8C 8D 8H",
        totals=(5, 6, 7),
        deals=2,
    )
    match = accept(match, "discard 8S")
    match = accept(match, "rummy 1", seat=2)
    assert match.last is not None
    assert (match.last.reason, match.last.why) == ("blocked", "nothing_to_draw")
    assert match.last.winner is None
    assert match.last.scores == (0, 0, 0)
    assert match.totals == (5, 6, 7)
    assert deal_of(match).number == 2
    assert deal_of(match).dealer == (match.last.dealer + 1) % 3


@pytest.mark.case(41)
@in_every_preset
def test_case_41_an_upcard_that_is_not_there_is_not_taken(variant: str) -> None:
    match = position(variant, hands="5S QD | 7C 7D", stock="KH", pile="", phase="draw")
    refuse(match, "take", "no_upcard", "common.3")
    accept(match, "draw")


@pytest.mark.case(41)
@in_every_preset
def test_case_41_used_up_turnovers_block_the_deal_unless_the_upcard_is_taken(variant: str) -> None:
    match = once_turned_over(variant)
    accept(match, "take")
    match = accept(match, "draw")
    assert match.last is not None
    assert (match.last.reason, match.last.why) == ("blocked", "turnovers_used_up")
    assert match.totals == (0, 0)
    accept(with_deal(once_turned_over(variant), turnovers=0), "draw")


@pytest.mark.case(41)
def test_case_41_hands_that_leave_no_stock_card_are_refused_and_one_card_is_enough() -> None:
    assert list(refuse_options("straight", 3, hand_size=17, deals=1)) == ["hand_size"]
    rules = agree("straight", 3, {"hand_size": 17, "upcard": False, "deals": 1})
    match, _ = new_match(rules, "seed")
    assert (len(deal_of(match).stock), deal_of(match).pile) == (1, ())
    match = accept(match, "draw", f"discard {deal_of(match).stock[0]}")
    refuse(match, "draw", "nothing_to_turn_over", "common.12")
    accept(match, "take")


def once_turned_over(variant: str) -> Match:
    """The stock is empty again at a table that turns the pile over once a deal."""
    return position(
        variant,
        hands="5S QD | 7C 7D",
        stock="",
        pile="2C 9D KS",
        phase="draw",
        turned_over=1,
        turnovers=1,
        deals=2,
    )


# -------------------------------------------------------------------------- a deal without end


def blocked_after_a_thousand_turns(match: Match, source: str) -> tuple[int, Match]:
    """Draw and throw the same card away until the deal is over: the turns that took."""
    turns = 0
    number = deal_of(match).number
    while match.deal is not None and match.deal.number == number:
        deal = match.deal
        draw = "take" if source == "discard" and deal.pile else "draw"
        match, _ = step(match, move(draw))
        hand = Counter(deal_of(match).hands[deal.turn]) - Counter(deal.hands[deal.turn])
        match, _ = step(match, move(f"discard {next(iter(hand))}"))
        turns += 1
        assert turns <= TURN_LIMIT
    return turns, match


@pytest.mark.case(43)
@pytest.mark.parametrize(
    ("variant", "source"),
    [
        ("straight", "stock"),
        ("seven-card", "stock"),
        ("parlett", "stock"),
        ("call-rummy", "stock"),
        ("seven-card", "discard"),
        ("call-rummy", "discard"),
    ],
)
def test_case_43_a_deal_that_gets_nowhere_is_blocked_after_a_thousand_turns(
    variant: str, source: str
) -> None:
    rules = agree(variant, 2, {"deals": 2})
    match, _ = new_match(rules, "the same cards for ever")
    turns, match = blocked_after_a_thousand_turns(match, source)
    assert turns == TURN_LIMIT == 1000
    assert match.last is not None
    assert (match.last.reason, match.last.why, match.last.turns) == ("blocked", "turn_limit", 1000)
    assert match.last.scores == match.totals == (0, 0)
    assert (deal_of(match).number, deal_of(match).turns) == (2, 0)
    turns, match = blocked_after_a_thousand_turns(match, source)
    assert turns == TURN_LIMIT
    assert match.result is not None
    assert (match.result.winners, match.result.tie) == ((0, 1), True)


@pytest.mark.case(43)
@in_every_preset
def test_case_43_the_turns_are_counted_in_the_deal(variant: str) -> None:
    match = position(variant, hands="5S QD | 7C 7D", stock="2C 3C 4C", turns=998)
    match = accept(match, "discard 5S")
    assert deal_of(match).turns == 999
    match = accept(match, "draw", "discard 2C")
    assert match.deal is None
    assert match.last is not None
    assert match.last.why == "turn_limit"


@pytest.mark.case(43)
@in_every_preset
def test_case_43_going_out_in_the_last_turn_still_wins(variant: str) -> None:
    match = with_deal(position(variant, hands="5S | 7C 7D"), turns=999)
    match = accept(match, "discard 5S")
    assert match.last is not None
    assert (match.last.reason, match.last.winner) == ("went_out", 0)


@pytest.mark.case(43)
def test_case_43_the_bound_and_the_count_of_turns_are_visible(service: Service) -> None:
    table = service.table("seven-card")
    deal = table.look()["deal"]
    assert (deal["turns"], deal["turn_limit"]) == (0, 1000)
    seat = deal["turn"]
    drawn = table.do(seat, "draw")
    table.do(seat, f"discard {drawn['hand'][0]}")
    assert table.look()["deal"]["turns"] == 1

"""What holds in all four games: a table for each clause of the common rules."""

from collections import Counter

import pytest

from service.errors import (
    AlreadyDrawn,
    DoesNotFit,
    DrawFirst,
    FinalDiscardNeeded,
    MatchOver,
    MeldLimit,
    NoSuchMeld,
    NotAMeld,
    NothingToTurnOver,
    NotInHand,
    NotYourTurn,
    NoUpcard,
    UpcardChanged,
    UpcardReturned,
    WouldBeStuck,
)
from service.rummy.cards import JOKER, pack, points
from service.rummy.engine import new_match
from service.rummy.legal import legal_moves
from service.rummy.model import DealResult, Dealt, Discarded, LayOff, Match
from service.rummy.rules import PRESETS, TURN_LIMIT, agree
from tests.positions import (
    after,
    cards,
    deal_of,
    hand_of,
    move,
    on_table,
    position,
    refusal,
    step,
    with_deal,
)

clause = pytest.mark.clause
every_preset = pytest.mark.parametrize("variant", PRESETS)


def last_deal(match: Match) -> DealResult:
    """The result of the deal that has just ended."""
    assert match.last is not None
    return match.last


# ------------------------------------------------------------------------------- common.1


@clause("common.1", "straight.1")
@pytest.mark.parametrize("players", range(2, 7))
def test_the_player_at_the_dealers_left_begins_and_turns_go_clockwise(players: int) -> None:
    for dealer in range(players):
        match, _ = new_match(agree("straight", players, {"deals": 1}), "any", dealer)
        order = []
        for _ in range(players + 1):
            order.append(deal_of(match).turn)
            match = after(match, "draw")
            match = after(match, f"discard {deal_of(match).hands[deal_of(match).turn][0]}")
        left = (dealer + 1) % players
        assert order == [(left + n) % players for n in range(players + 1)]


@clause("common.1")
@every_preset
def test_with_two_players_the_one_who_did_not_deal_begins(variant: str) -> None:
    for dealer, first in ((0, 1), (1, 0)):
        match, _ = new_match(agree(variant, 2, {"deals": 1}), "any", dealer)
        assert deal_of(match).turn == first


@clause("common.1")
@pytest.mark.parametrize("phase", ["draw", "play"])
@pytest.mark.parametrize(
    "text", ["draw", "take", "meld 5C 5D 5H", "layoff 1 7S", "swap 1 7S", "discard 7S"]
)
def test_nobody_plays_out_of_turn(phase: str, text: str) -> None:
    match = position(hands="9C TC | 5C 5D 5H 7S | KC", melds="1: 7C 7D 7H", pile="2D", phase=phase)
    for seat in (1, 2):
        refusal(match, text, NotYourTurn, "common.1", seat=seat)


# ------------------------------------------------------------------------------- common.2


@clause("common.2")
@every_preset
def test_the_first_dealer_is_drawn_by_lot_from_the_matchs_own_chance(variant: str) -> None:
    for players in range(*PRESETS[variant].players):
        rules = agree(variant, players, {"deals": 1})
        dealers = [deal_of(new_match(rules, f"seed {n}")[0]).dealer for n in range(40 * players)]
        again = [deal_of(new_match(rules, f"seed {n}")[0]).dealer for n in range(40 * players)]
        assert dealers == again
        assert all(20 < dealers.count(seat) < 64 for seat in range(players)), Counter(dealers)


@clause("common.2")
@pytest.mark.parametrize("dealer", range(3))
@pytest.mark.parametrize("winner", range(3))
def test_the_deal_passes_to_the_left_whoever_won(dealer: int, winner: int) -> None:
    match = position(hands="9C | 8C | 7C", pile="2D 3D", deals=5)
    match = with_deal(match, dealer=dealer, turn=winner, hands=(("9C",), ("8C",), ("7C",)))
    match = after(match, f"discard {9 - winner}C")
    assert last_deal(match).winner == winner
    assert last_deal(match).dealer == dealer
    assert (deal_of(match).number, deal_of(match).dealer) == (2, (dealer + 1) % 3)
    assert deal_of(match).turn == (dealer + 2) % 3


@clause("common.2", "common.12")
def test_the_deal_passes_to_the_left_after_a_blocked_deal_too() -> None:
    match = position(
        hands="9C 8D | 8C | 7C", stock="", pile="2D 3D", phase="draw", turnovers=0, deals=2
    )
    match = after(with_deal(match, dealer=2), "draw")
    assert last_deal(match).reason == "blocked"
    assert deal_of(match).dealer == 0


# ------------------------------------------------------------------------------- common.3


@clause("common.3")
@pytest.mark.parametrize("text", ["meld 5C 5D 5H", "layoff 1 7S", "swap 2 4H", "discard KH"])
def test_nothing_comes_before_the_draw(text: str) -> None:
    match = position(
        hands="5C 5D 5H 7S 4H KH | 2C",
        melds="0: 7C 7D 7H; 1: 3H JK=4H 5H",
        decks=2,
        jokers=1,
        pile="9D",
        phase="draw",
    )
    refusal(match, text, DrawFirst, "common.3")


@clause("common.3")
@pytest.mark.parametrize("first", ["draw", "take", "take 9D"])
@pytest.mark.parametrize("second", ["draw", "take", "take 8D"])
def test_exactly_one_card_is_drawn(first: str, second: str) -> None:
    match = after(position(hands="5C 6D | 2C", pile="8D 9D", phase="draw"), first)
    refusal(match, second, AlreadyDrawn, "common.3")


@clause("common.3")
def test_the_top_of_the_stock_or_the_upcard_is_drawn() -> None:
    match = position(hands="5C | 2C", stock="7C 6C", pile="8D 9D", phase="draw")
    assert hand_of(after(match, "draw")) == "5C 7C"
    assert hand_of(after(match, "take")) == "5C 9D"
    assert hand_of(after(match, "take 9D")) == "5C 9D"
    assert deal_of(after(match, "take")).pile == ("8D",)
    assert deal_of(after(match, "draw")).stock == ("6C",)


@clause("common.3")
@pytest.mark.parametrize("card", ["8D", "7C", "2C", "KS"])
def test_only_the_upcard_can_be_taken_from_the_pile(card: str) -> None:
    match = position(hands="5C | 2C", stock="7C 6C", pile="8D 9D", phase="draw")
    refusal(match, f"take {card}", UpcardChanged, "common.3")


@clause("common.3")
def test_from_an_empty_pile_nothing_is_taken() -> None:
    match = position(hands="5C | 2C", phase="draw", upcard=False)
    refusal(match, "take", NoUpcard, "common.3")
    refusal(match, "take 9D", NoUpcard, "common.3")


@clause("common.3")
@pytest.mark.parametrize("text", ["meld 5C 5D 5H", "layoff 1 7S", "discard KH", "draw"])
def test_nothing_comes_after_the_discard(text: str) -> None:
    match = position(hands="5C 5D 5H 7S 4H KH | 2C", melds="0: 7C 7D 7H", pile="9D")
    refusal(after(match, "discard 4H"), text, NotYourTurn, "common.1", seat=0)


@clause("common.3")
@every_preset
def test_melding_is_never_compulsory(variant: str) -> None:
    match = position(variant, hands="5C 5D 5H 7S | 2C", melds="0: 7C 7D 7H", pile="9D")
    for card in ("5C", "5D", "5H", "7S"):
        assert deal_of(after(match, f"discard {card}")).turn == 1


@clause("common.3")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("discard 9D", "the upcard"),
        ("discard 8D", "in the pile"),
        ("discard 2C", "in another hand"),
        ("discard QS", "in the stock"),
        ("discard 7C", "on the table"),
        ("discard JK", "not in the pack"),
        ("meld 5C 5D 5S", "in the stock"),
        ("meld 2C 3C 4C", "in another hand"),
        ("meld 5C 5C 5D", "in the hand, but only once"),
        ("layoff 1 7S", "in the stock"),
        ("layoff 1 7C", "on the table"),
        ("swap 1 7C", "on the table"),
    ],
)
def test_a_card_not_in_the_hand_is_one_answer_wherever_it_is(text: str, where: str) -> None:
    match = position(hands="5C 5D 5H KH | 2C 3C 4C", melds="0: 7C 7D 7H", pile="8D 9D")
    error = refusal(match, text, NotInHand, "common.3")
    assert error.detail.startswith("Not in your hand: "), where


# ------------------------------------------------------------------------------- common.4

ALWAYS_MELDS = [
    "7C 7D 7H",
    "KC KD KH KS",
    "AC AD AS",
    "4H 5H 6H",
    "6H 4H 5H",
    "9C TC JC QC",
    "AS 2S 3S",
    "3S AS 2S",
    "JD QD KD",
    "8H 9H TH JH QH",
    "AC 2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC",
    "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC",
]
MELDS_WITH_HIGH_ACES = [
    "QH KH AH",
    "AH KH QH",
    "TS JS QS KS AS",
    "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC",
]
NEVER_MELDS = [
    "7C",
    "7C 7D",
    "7C 8C",
    "7C 7D 8H",
    "4H 5C 6H",
    "4H 6H 7H",
    "4H 5H 7H 8H",
    "4H 5H 6H 8H",
    "KC AC 2C",
    "QC KC AC 2C",
    "KC AC 2C 3C",
    "AC KC 2C",
    "AC 3C 4C",
    "JC QC AC",
    "JC KC AC",
    "4H 5H 6H 7D",
    "7C 7D 7H 8H",
    "5H 6H 7H 7D 7S",
    "AC 2C 3C JC QC KC",
]


def meld_of(text: str, variant: str = "straight", **options: object) -> Match:
    """A position with just those cards and a card to discard in hand."""
    spare = next(card for card in ("9D", "8D", "9S") if card not in text)
    return position(variant, hands=f"{text} {spare} | 2D", **options)  # type: ignore[arg-type]


@clause("common.4")
@pytest.mark.parametrize("aces", ["low", "high_or_low"])
@every_preset
@pytest.mark.parametrize("text", ALWAYS_MELDS)
def test_three_or_more_of_one_rank_or_in_a_row_of_one_suit_are_a_meld(
    text: str, variant: str, aces: str
) -> None:
    match = after(meld_of(text, variant, aces=aces), f"meld {text}")
    assert sorted(deal_of(match).melds[0].cards) == sorted(cards(text))


@clause("common.4", "seven-card.6", "parlett.6")
@every_preset
@pytest.mark.parametrize("text", MELDS_WITH_HIGH_ACES)
def test_an_ace_above_the_king_needs_high_or_low_aces(text: str, variant: str) -> None:
    match = after(meld_of(text, variant, aces="high_or_low"), f"meld {text}")
    assert deal_of(match).melds[0].kind == "run"
    if len(cards(text)) < 13:
        refusal(meld_of(text, variant), f"meld {text}", NotAMeld, "common.4")


@clause("common.4")
@pytest.mark.parametrize("aces", ["low", "high_or_low"])
@every_preset
@pytest.mark.parametrize("text", NEVER_MELDS)
def test_anything_else_is_no_meld(text: str, variant: str, aces: str) -> None:
    refusal(meld_of(text, variant, aces=aces), f"meld {text}", NotAMeld, "common.4")


@clause("common.4")
@pytest.mark.parametrize("aces", ["low", "high_or_low"])
def test_no_run_is_longer_than_thirteen(aces: str) -> None:
    suit = "AC 2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC"
    match = position(hands=f"{suit} AC 2C 9D | 2D", decks=2, aces=aces)
    for text in (f"{suit} AC", f"{suit} 2C", f"{suit} AC 2C"):
        refusal(match, f"meld {text}", NotAMeld, "common.4")
    match = after(match, f"meld {suit}")
    refusal(match, "layoff 1 AC", DoesNotFit, "common.4")
    refusal(match, "layoff 1 2C", DoesNotFit, "common.4")


@clause("common.4")
@pytest.mark.parametrize(
    ("run", "card", "aces", "fits"),
    [
        ("2H 3H 4H", "AH", "low", True),
        ("2H 3H 4H", "AH", "high_or_low", True),
        ("JH QH KH", "AH", "low", False),
        ("JH QH KH", "AH", "high_or_low", True),
        ("AH 2H 3H", "KH", "low", False),
        ("AH 2H 3H", "KH", "high_or_low", False),
        ("QH KH AH", "2H", "high_or_low", False),
        ("QH KH AH", "JH", "high_or_low", True),
        ("2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH", "AH", "low", True),
        ("2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH", "AH", "high_or_low", True),
        ("3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH", "2H", "high_or_low", True),
        ("AH 2H 3H 4H 5H 6H 7H 8H 9H TH JH QH", "KH", "high_or_low", True),
    ],
)
def test_a_run_uses_an_ace_at_one_end_only(run: str, card: str, aces: str, fits: bool) -> None:
    match = position(hands=f"{card} 9D | 2D", melds=f"0: {run}", aces=aces)
    if fits:
        assert len(deal_of(after(match, f"layoff 1 {card}")).melds[0].faces) == len(run.split()) + 1
    else:
        refusal(match, f"layoff 1 {card}", DoesNotFit, "common.4")


# ------------------------------------------------------------------------------- common.5


@clause("common.5")
@pytest.mark.parametrize(
    ("text", "one_deck", "two_decks"),
    [
        ("7C 7D 7H", True, True),
        ("7C 7D 7H 7S", True, True),
        ("7C 7C 7D", False, True),
        ("7C 7C 7D 7D", False, True),
        ("7C 7C 7D 7D 7H 7H 7S 7S", False, True),
        ("7C 7C 7D 7H 7S", False, True),
        ("7C 7D JK=7H", True, True),
        ("7C 7D JK=7C", False, True),
        ("7C 7D 7H 7S JK=7S", False, True),
        ("7C 7C JK=7D", False, True),
        ("7C 7C JK=7C", False, False),
        ("7C 7C 7D 7D 7H 7H 7S 7S JK=7S", False, False),
    ],
)
def test_a_set_holds_each_card_as_often_as_the_pack_has_it(
    text: str, one_deck: bool, two_decks: bool
) -> None:
    held = " ".join(word.partition("=")[0] for word in text.split())
    twins = len(set(held.split()) - {JOKER}) < len([c for c in held.split() if c != JOKER])
    for decks, valid in ((1, one_deck), (2, two_decks)):
        if twins and decks == 1:
            match = position(hands="7C 7D 7H 7S JK 9D | 2D", jokers=2)
            refusal(match, f"meld {text}", NotInHand, "common.3")
            continue
        match = position(hands=f"{held} 9D | 2D", decks=decks, jokers=2)
        if valid:
            assert deal_of(after(match, f"meld {text}")).melds[0].kind == "set"
        else:
            refusal(match, f"meld {text}", NotAMeld, "common.5")


@clause("common.5", "seven-card.1", "parlett.1")
@pytest.mark.parametrize(("variant", "players"), [("seven-card", 5), ("parlett", 6)])
def test_the_same_card_may_stand_in_a_set_twice_and_be_laid_off(variant: str, players: int) -> None:
    others = " | ".join(["2D", "3D", "4D", "5D", "6D"][: players - 1])
    match = position(variant, hands=f"7H 7H 7C 7D 7S 9D | {others}")
    match = after(match, "meld 7H 7H 7C", "layoff 1 7D", "layoff 1 7S")
    assert on_table(match, 1) == "7C 7D 7H 7H 7S"


@clause("common.5")
@pytest.mark.parametrize(
    ("lying", "card", "decks", "fits"),
    [
        ("7C 7D 7H", "7S", 1, True),
        ("7C 7D 7H", "7S", 2, True),
        ("7C 7D 7H", "7C", 2, True),
        ("7C 7C 7H", "7C", 3, False),
        ("7C 7D 7H", "8S", 1, False),
        ("7C 7D 7H 7S", "JK=7S", 1, False),
        ("7C 7D 7H 7S", "JK=7S", 2, True),
    ],
)
def test_a_set_grows_to_each_suit_once_a_deck(
    lying: str, card: str, decks: int, fits: bool
) -> None:
    if decks == 3:  # a third twin is a joker only: the pack has no more
        card, decks = f"JK={card}", 2
    held = card.partition("=")[0]
    match = position(hands=f"{held} 9D | 2D", melds=f"0: {lying}", decks=decks, jokers=2)
    if fits:
        assert len(deal_of(after(match, f"layoff 1 {card}")).melds[0].faces) > len(lying.split())
    else:
        rule = "common.5" if "7" in card else "common.4"
        refusal(match, f"layoff 1 {card}", DoesNotFit, rule)


# ------------------------------------------------------------------------------- common.6


@clause("common.6")
@every_preset
def test_two_runs_that_come_to_touch_stay_two_melds(variant: str) -> None:
    match = position(variant, hands="6H 9D 9S | 2D", melds="0: 3H 4H 5H; 0: 7H 8H 9H")
    match = after(match, "layoff 1 6H")
    assert on_table(match, 1) == "3H 4H 5H 6H"
    assert on_table(match, 2) == "7H 8H 9H"


@clause("common.6")
@every_preset
def test_no_card_leaves_a_meld_to_make_room_elsewhere(variant: str) -> None:
    match = position(variant, hands="AS 9C KD | 3D", melds="0: 2C 2D 2H 2S; 0: 3S 4S 5S")
    refusal(match, "layoff 2 AS", DoesNotFit, "common.4")
    refusal(match, "layoff 2 2S", NotInHand, "common.3")
    refusal(match, "layoff 2 2S AS", NotInHand, "common.3")
    refusal(match, "layoff 1 9C", DoesNotFit, "common.4")
    assert hand_of(after(match, "discard AS")) == "9C KD"


@clause("common.6")
@pytest.mark.parametrize("card", ["4H", "6H", "9H"])
def test_a_run_is_not_split_by_a_second_copy_of_a_card(card: str) -> None:
    match = position(hands=f"{card} 9D | 2D", melds="0: 4H 5H 6H 7H 8H 9H", decks=2)
    refusal(match, f"layoff 1 {card}", DoesNotFit, "common.4")


# ------------------------------------------------------------------------------- common.7


@clause("common.7")
@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("layoff 1 7S", "7C 7D 7H 7S"),
        ("layoff 2 4S", "4S 5S 6S 7S"),
        ("layoff 2 8S", "5S 6S 7S 8S"),
        ("layoff 2 4S 8S", "4S 5S 6S 7S 8S"),
        ("layoff 2 3S 4S", "3S 4S 5S 6S 7S"),
        ("layoff 2 9S 8S", "5S 6S 7S 8S 9S"),
        ("layoff 2 3S 4S 8S 9S", "3S 4S 5S 6S 7S 8S 9S"),
    ],
)
def test_a_layoff_adds_one_or_more_cards_that_make_a_longer_meld(text: str, becomes: str) -> None:
    match = position(hands="7S 3S 4S 8S 9S KH | 2D", melds="1: 7C 7D 7H; 0: 5S 6S 7S", decks=2)
    match = after(match, text)
    assert on_table(match, int(text.split()[1])) == becomes
    assert len(hand_of(match).split()) == 6 - len(text.split()[2:])


@clause("common.7")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("layoff 2 9S", "common.4"),
        ("layoff 2 3S", "common.4"),
        ("layoff 2 8S KH", "common.4"),
        ("layoff 2 4S 9S", "common.4"),
        ("layoff 2 8H", "common.4"),
        ("layoff 1 8S", "common.4"),
        ("layoff 1 7S KH", "common.4"),
        ("layoff 1 7S 8S", "common.4"),
    ],
)
def test_a_layoff_is_all_or_nothing(text: str, rule: str) -> None:
    match = position(hands="7S 3S 4S 8S 9S KH 8H | 2D", melds="1: 7C 7D 7H; 0: 5S 6S 7S", decks=2)
    refusal(match, text, DoesNotFit, rule)


@clause("common.7")
@pytest.mark.parametrize("number", [0, 3, -1, 99])
def test_a_layoff_names_a_meld_that_is_there(number: int) -> None:
    match = position(hands="7S KH | 2D", melds="1: 7C 7D 7H; 0: 5C 6C 7C", decks=2)
    refusal(match, f"layoff {number} 7S", NoSuchMeld, "common.7")


@clause("common.7")
def test_a_layoff_of_no_card_is_refused() -> None:
    match = position(hands="7S KH | 2D", melds="0: 7C 7D 7H")
    refusal(match, LayOff(1, ()), DoesNotFit, "common.7")


@clause("common.7")
@every_preset
def test_a_meld_is_laid_off_on_again_and_again_and_in_the_turn_it_was_made(variant: str) -> None:
    match = position(variant, hands="5S 6S 7S 8S 9S 4S KH KD | 2D", decks=1)
    match = after(match, "meld 5S 6S 7S", "layoff 1 8S", "layoff 1 4S", "layoff 1 9S")
    assert on_table(match, 1) == "4S 5S 6S 7S 8S 9S"


# ------------------------------------------------------------------------------- common.8


@clause("common.8", "straight.6", "seven-card.5", "parlett.5")
@pytest.mark.parametrize("variant", ["straight", "seven-card", "parlett"])
@pytest.mark.parametrize(
    ("hand", "text", "how"),
    [
        ("5C 5D 5H", "meld 5C 5D 5H", "meld"),
        ("7S", "layoff 1 7S", "layoff"),
        ("3S 4S", "layoff 2 3S 4S", "layoff"),
        ("KH", "discard KH", "discard"),
    ],
)
def test_the_deal_ends_the_moment_a_hand_is_empty(
    variant: str, hand: str, text: str, how: str
) -> None:
    match = position(
        variant, hands=f"{hand} | 2D 2C 2H AD", melds="0: 7C 7D 7H; 0: 5S 6S JK=7S", jokers=2
    )
    match, events = step(match, move(text))
    assert match.deal is None
    result = last_deal(match)
    assert (result.reason, result.how, result.why, result.winner) == ("went_out", how, None, 0)
    assert result.hands == ((), cards("2C AD 2D 2H"))
    assert result.counts == (0, 7), "a meld still in hand counts against its owner"
    assert result.scores == (7, 0)
    assert [event.__class__.__name__ for event in events][1:] == ["DealEnded", "MatchEnded"]


@clause("common.8")
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("text", ["draw", "take", "meld 2C 2D 2H", "discard 2C", "rummy 1"])
def test_nobody_plays_another_card_after_the_end(seat: int, text: str) -> None:
    match = after(position(hands="KH | 2D 2C 2H", melds="0: 7C 7D 7H"), "discard KH")
    refusal(match, text, MatchOver, "common.8", seat=seat)
    assert list(legal_moves(match, seat, 10**15)) == []


@clause("common.8")
def test_the_next_deal_begins_at_once() -> None:
    match = position(hands="KH | 2D 2C 2H", melds="0: 7C 7D 7H", deals=2)
    match, events = step(match, move("discard KH"))
    assert isinstance(events[0], Discarded)
    assert isinstance(events[-1], Dealt)
    deal = deal_of(match)
    assert (deal.number, deal.phase, deal.melds, deal.turns) == (2, "draw", (), 0)
    assert [len(hand) for hand in deal.hands] == [10, 10]
    assert match.totals == (6, 0)


# ------------------------------------------------------------------------------- common.9


@clause("common.9", "call-rummy.6", "parlett.6", "jokers.4")
@every_preset
@pytest.mark.parametrize(
    ("hand", "count", "with_high_aces"),
    [
        ("AC", 1, 11),
        ("2C 3C 4C 5C 6C 7C 8C 9C", 44, 44),
        ("TC", 10, 10),
        ("JC", 10, 10),
        ("QC", 10, 10),
        ("KC", 10, 10),
        ("QC 7D AS", 18, 28),
        ("TH 5C 3S", 18, 18),
        ("JK", 15, 15),
        ("JK JK AS", 31, 41),
    ],
)
def test_court_cards_count_ten_numbers_their_number(
    variant: str, hand: str, count: int, with_high_aces: int
) -> None:
    for aces, expected in (("low", count), ("high_or_low", with_high_aces)):
        match = position(variant, hands=f"KH | {hand}", jokers=2, aces=aces)
        assert last_deal(after(match, "discard KH")).counts == (0, expected)


@clause("common.9", "jokers.4")
@pytest.mark.parametrize(
    ("chosen", "ace", "joker"),
    [
        ({}, 1, 15),
        ({"ace_points": 5}, 5, 15),
        ({"ace_points": 0, "joker_points": 0}, 0, 0),
        ({"ace_points": 50, "joker_points": 50}, 50, 50),
        ({"aces": "high_or_low"}, 11, 15),
        ({"aces": "high_or_low", "ace_points": 1}, 1, 15),
        ({"joker_points": 25}, 1, 25),
    ],
)
@every_preset
def test_ace_and_joker_count_what_was_agreed(
    variant: str, chosen: dict[str, int], ace: int, joker: int
) -> None:
    match = position(variant, hands="KH | AS JK 9C", jokers=2, **chosen)
    assert last_deal(after(match, "discard KH")).counts == (0, ace + joker + 9)
    assert points("AS", ace, joker) == ace


# ------------------------------------------------------------------------------ common.10

HANDS = "KH | QC 7D AS | TH 5C 3S"


@clause("common.10", "straight.7")
@pytest.mark.parametrize(
    ("scoring", "scores"), [("winner_takes", (36, 0, 0)), ("penalty", (0, 18, 18))]
)
@every_preset
def test_the_winner_takes_all_or_everybody_keeps_the_own_penalty(
    variant: str, scoring: str, scores: tuple[int, ...]
) -> None:
    match = position(variant, hands=HANDS, scoring=scoring, deals=2, totals=(1, 2, 3))
    match = after(match, "discard KH")
    assert last_deal(match).scores == scores
    assert match.totals == (1 + scores[0], 2 + scores[1], 3 + scores[2])
    assert last_deal(match).totals == match.totals


# ------------------------------------------------------------------------------ common.11


@clause("common.11", "straight.7")
@pytest.mark.parametrize(
    ("scoring", "target", "totals", "winners"),
    [
        ("winner_takes", 100, (64, 99, 0), (0,)),  # exactly the target is enough
        ("winner_takes", 100, (63, 99, 0), None),
        ("winner_takes", 100, (70, 99, 0), (0,)),
        ("winner_takes", 37, (1, 36, 36), (0,)),
        ("penalty", 100, (50, 82, 40), (0,)),  # seat 1 reaches it, the lowest wins
        ("penalty", 100, (50, 81, 40), None),
        ("penalty", 100, (99, 90, 40), (2,)),
        ("penalty", 100, (58, 90, 40), (0, 2)),
        ("penalty", 100, (100, 82, 82), (0, 1, 2)),
    ],
)
def test_a_target_ends_the_match_after_the_deal_that_reaches_it(
    scoring: str, target: int, totals: tuple[int, ...], winners: tuple[int, ...] | None
) -> None:
    match = position(hands=HANDS, scoring=scoring, target=target, totals=totals)
    match = after(match, "discard KH")
    if winners is None:
        assert match.result is None
        assert deal_of(match).number == 2
        return
    assert match.deal is None
    assert match.result is not None
    assert match.result.reason == "target_reached"
    assert match.result.winners == winners
    assert match.result.tie is (len(winners) > 1)
    assert match.result.totals == match.totals


@clause("common.11")
@pytest.mark.parametrize(
    ("scoring", "totals", "winners"),
    [
        ("winner_takes", (0, 0, 0), (0,)),
        ("winner_takes", (0, 36, 35), (0, 1)),
        ("winner_takes", (0, 36, 36), (0, 1, 2)),
        ("winner_takes", (0, 37, 37), (1, 2)),
        ("penalty", (0, 0, 0), (0,)),
        ("penalty", (18, 0, 0), (0, 1, 2)),
        ("penalty", (40, 2, 2), (1, 2)),
        ("penalty", (20, 2, 30), (0, 1)),
    ],
)
@pytest.mark.parametrize(("deals", "number"), [(1, 1), (3, 3), (1000, 1000)])
def test_after_the_last_deal_equal_totals_share_the_win(
    scoring: str, totals: tuple[int, ...], winners: tuple[int, ...], deals: int, number: int
) -> None:
    match = position(hands=HANDS, scoring=scoring, deals=deals, number=number, totals=totals)
    result = after(match, "discard KH").result
    assert result is not None
    assert (result.reason, result.winners) == ("deals_played", winners)
    assert result.tie is (len(winners) > 1)


@clause("common.11")
def test_before_the_last_deal_the_match_goes_on() -> None:
    for number in (1, 2):
        match = after(position(hands=HANDS, deals=3, number=number), "discard KH")
        assert match.result is None
        assert deal_of(match).number == number + 1


# ------------------------------------------------------------------------------ common.12


@clause("common.12")
def test_with_nothing_to_draw_the_deal_is_blocked_and_nobody_scores() -> None:
    match = position(
        "call-rummy",
        hands="9C 8C | 5D 4D | KS QS",
        stock="",
        pile="7S",
        melds="0: 7C 7D 7H",
        totals=(5, 6, 7),
        deals=2,
        phase="play",
    )
    match = with_deal(match, pile=())
    match = after(match, "discard 9C")  # the only card of the pile
    match = with_deal(match, pile=("7S",))
    match, events = step(match, move("rummy 1"), seat=2)
    result = last_deal(match)
    assert (result.reason, result.why, result.how) == ("blocked", "nothing_to_draw", None)
    assert result.winner is None
    assert result.scores == (0, 0, 0)
    assert result.counts == (8, 9, 20)
    assert match.totals == (5, 6, 7)
    assert deal_of(match).number == 2, "the deal counts, the next dealer deals"
    assert [type(event).__name__ for event in events] == ["Called", "DealEnded", "Dealt"]


@clause("common.12")
@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("turnover", ["on_demand", "last_card"])
def test_with_an_upcard_only_it_must_be_taken(keeps: bool, turnover: str) -> None:
    match = position(
        hands="9C 8C | 5D",
        stock="",
        pile="7S",
        phase="draw",
        turnover=turnover,
        turnover_keeps_upcard=keeps,
        turnover_new_upcard=not keeps,
    )
    refusal(match, "draw", NothingToTurnOver, "common.12")
    assert list(legal_moves(match, 0, 0)) == [move("take 7S")]
    assert hand_of(after(match, "take")) == "8C 9C 7S"


@clause("common.12")
@pytest.mark.parametrize("turnover", ["on_demand", "last_card"])
@pytest.mark.parametrize(("limit", "used"), [(0, 0), (1, 1), (100, 100)])
@pytest.mark.parametrize("pile", ["7S", "2S 7S", "2S 3S 7S"])
def test_with_the_turnovers_used_up_an_empty_stock_blocks_unless_the_upcard_is_taken(
    limit: int, used: int, pile: str, turnover: str
) -> None:
    match = position(
        hands="9C 8C | 5D", stock="", pile=pile, phase="draw", turnovers=limit, turnover=turnover
    )
    match = with_deal(match, turnovers=used)
    assert set(legal_moves(match, 0, 0)) == {move("draw"), move("take 7S")}
    assert hand_of(after(match, "take")) == "8C 9C 7S"
    blocked = after(match, "draw")
    assert last_deal(blocked).why == "turnovers_used_up"
    assert last_deal(blocked).scores == (0, 0)
    assert last_deal(blocked).hands == (cards("8C 9C"), cards("5D"))
    assert blocked.result is not None
    assert blocked.result.winners == (0, 1)
    assert blocked.result.tie


@clause("common.12")
def test_a_limited_turnover_happens_until_it_is_used_up() -> None:
    match = position(hands="9C 8C | 5D 6D", stock="", pile="2S 3S 7S", phase="draw", turnovers=2)
    match = after(match, "draw", "discard 8C", "draw", "discard 6D")
    assert deal_of(match).turnovers == 1
    match = after(match, "draw", "discard 9C")
    assert deal_of(match).turnovers == 2
    match = after(match, "draw", "discard 5D")
    assert deal_of(match).stock == ()
    assert last_deal(after(match, "draw")).why == "turnovers_used_up"


@clause("common.12")
def test_the_thousandth_turn_is_the_last() -> None:
    for turns in (0, TURN_LIMIT - 2):
        match = after(position(hands="9C 8C | 5D", turns=turns), "discard 9C")
        assert deal_of(match).turns == turns + 1
    match = position(hands="9C 8C | 5D", turns=TURN_LIMIT - 1)
    match, events = step(match, move("discard 9C"))
    result = last_deal(match)
    assert (result.why, result.turns, result.scores) == ("turn_limit", 1000, (0, 0))
    assert [type(event).__name__ for event in events] == ["Discarded", "DealEnded", "MatchEnded"]


@clause("common.12", "common.8")
@pytest.mark.parametrize(
    ("hand", "text"), [("9C", "discard 9C"), ("7S", "layoff 1 7S"), ("5C 5H 5S", "meld 5C 5H 5S")]
)
def test_who_goes_out_in_the_thousandth_turn_wins(hand: str, text: str) -> None:
    match = position(hands=f"{hand} | 5D", melds="0: 7C 7D 7H", turns=TURN_LIMIT - 1)
    result = last_deal(after(match, text))
    assert (result.reason, result.winner, result.turns) == ("went_out", 0, 1000)


# ------------------------------------------------------------------------------ common.13


@clause("common.13", "straight.4")
@pytest.mark.parametrize(
    ("hand", "text", "options"),
    [
        ("9D 5C 5D 5H", "meld 5C 5D 5H", {}),
        ("9D 7S", "layoff 1 7S", {}),
        ("9D 3S 4S", "layoff 2 3S 4S", {}),
        ("9D 5C 5D 5H", "meld 5C 5D 5H", {"final_discard": True}),
        ("TC 5C 5D 5H", "meld 5C 5D 5H", {"layoffs": "own"}),
        ("TC 5C 5D 5H", "meld 5C 5D 5H", {"layoffs": "none"}),
        ("TC 5C 5D 5H", "meld 5C 5D 5H", {"final_discard": True}),
        ("KH 5C 5D 5H", "meld 5C 5D 5H", {"joker_swap": False}),
        ("KH JK", "layoff 4 JK=JH", {"joker_swap": False}),
        ("JK 7S", "layoff 1 7S", {"final_discard": True}),
    ],
)
def test_a_play_that_would_leave_only_the_upcard_just_taken_is_refused(
    hand: str, text: str, options: dict[str, bool]
) -> None:
    match = position(
        hands=f"{hand} | 2D",
        melds="0: 7C 7D 7H; 0: 5S 6S 7S; 1: 7C 8C 9C; 1: QH JK=KH AH",
        taken=hand.split()[0],
        decks=2,
        jokers=4,
        aces="high_or_low",
        **options,
    )
    error = refusal(match, text, WouldBeStuck, "common.13")
    assert "could not play" in error.detail


@clause("common.13")
@pytest.mark.parametrize(
    ("hand", "text", "finish", "options"),
    [
        # laid off: on a meld of somebody, on the own, on the one just made
        ("TC 5C 5D 5H", "meld 5C 5D 5H", "layoff 3 TC", {}),
        ("8S 5C 5D 5H", "meld 5C 5D 5H", "layoff 2 8S", {"layoffs": "own"}),
        ("8S 7S", "layoff 1 7S", "layoff 2 8S", {}),
        ("5C 5D 5H 5S", "meld 5D 5H 5S", "layoff 5 5C", {}),
        ("3S 4S", "layoff 2 4S", "layoff 2 3S", {}),
        # swapped out: the joker may be discarded, also where the last card must be
        ("KH 5C 5D 5H", "meld 5C 5D 5H", "swap 4 KH", {}),
        ("KH 5C 5D 5H", "meld 5C 5D 5H", "swap 4 KH", {"layoffs": "own"}),
        ("KH 5C 5D 5H", "meld 5C 5D 5H", "swap 4 KH", {"layoffs": "none"}),
        ("KH 5C 5D 5H", "meld 5C 5D 5H", "swap 4 KH", {"final_discard": True}),
        # a joker taken goes wherever there is room
        ("JK 5C 5D 5H", "meld 5C 5D 5H", "layoff 5 JK=5S", {}),
        ("JK 7S", "layoff 1 7S", "layoff 4 JK=JH", {}),
        # or nothing stands in the way: another card can be discarded
        ("9D 5C 5D 5H KD", "meld 5C 5D 5H", "discard KD", {"final_discard": True}),
        ("9D JK", "discard JK", "", {}),
        ("9D 5C 5D 5H", "meld 5C 5D 5H", "discard 9D", {"return_upcard": True}),
        ("9D 5C 5D 5H", "meld 5C 5D 5H", "discard 9D",
         {"return_upcard": True, "final_discard": True}),
    ],
)  # fmt: skip
def test_it_is_refused_only_then_whatever_still_finishes_the_turn_counts(
    hand: str, text: str, finish: str, options: dict[str, bool]
) -> None:
    match = position(
        hands=f"{hand} | 2D",
        melds="0: 7C 7D 7H; 0: 5S 6S 7S; 1: 7C 8C 9C; 1: QH JK=KH AH",
        taken=None if options.get("return_upcard") else hand.split()[0],
        decks=2,
        jokers=4,
        aces="high_or_low",
        **options,
    )
    match = after(match, text)
    match = after(match, *filter(None, [finish]))
    if finish.startswith("swap"):
        match = after(match, "discard JK")
    assert match.deal is None or deal_of(match).turn == 1


@clause("common.13")
@pytest.mark.parametrize(
    ("melds", "room"),
    [
        ("1: 9C 9C 9D 9D 9H 9H 9S 9S", False),
        ("1: 9C 9C 9D 9D 9H 9H 9S", True),
        ("1: AH 2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH", False),
        ("1: AH 2H 3H 4H 5H 6H 7H 8H 9H TH JH QH", True),
        ("1: 2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH", True),
    ],
)
def test_a_joker_taken_needs_room_on_the_table(melds: str, room: bool) -> None:
    fills_up = "1: 7C 7C 7D 7D 7H JK=7H 7S"
    match = position(
        hands="JK 7S | 2D", melds=f"{fills_up}; {melds}", decks=2, jokers=2, taken="JK"
    )
    if room:
        assert hand_of(after(match, "layoff 1 7S")) == "JK"
    else:
        refusal(match, "layoff 1 7S", WouldBeStuck, "common.13")


# ------------------------------------------------------------------------------ common.14


@clause("common.14")
@pytest.mark.parametrize("variant", ["straight", "parlett"])
def test_the_twin_of_a_card_already_held_may_be_discarded(variant: str) -> None:
    decks = {"decks": 2}
    hands = "9D 8C | 2D | 3D | 4D"
    match = position(variant, hands=hands, pile="5S 9D", phase="draw", **decks)
    match = after(match, "take")
    assert move("discard 9D") in set(legal_moves(match, 0, 0))
    assert deal_of(after(match, "discard 9D")).upcard == "9D"


@clause("common.14")
@pytest.mark.parametrize("variant", ["straight", "parlett"])
def test_without_a_twin_in_hand_the_upcard_taken_stays(variant: str) -> None:
    hands = "9H 8C | 2D | 3D | 4D"
    match = position(variant, hands=hands, pile="5S 9D", phase="draw", decks=2)
    match = after(match, "take")
    rule = {"straight": "straight.4", "parlett": "parlett.3"}[variant]
    refusal(match, "discard 9D", UpcardReturned, rule)
    assert move("discard 9D") not in set(legal_moves(match, 0, 0))


@clause("common.14")
def test_a_joker_already_held_is_a_twin_of_the_joker_taken() -> None:
    match = position(hands="JK 8C | 2D", pile="5S JK", phase="draw", jokers=2)
    assert deal_of(after(match, "take", "discard JK")).upcard == JOKER
    match = position(hands="9C 8C | 2D", pile="5S JK", phase="draw", jokers=2)
    refusal(after(match, "take"), "discard JK", UpcardReturned, "straight.4")


@clause("common.14")
@pytest.mark.parametrize(
    ("variant", "chosen", "may"),
    [
        ("straight", {}, False),
        ("parlett", {}, False),
        ("seven-card", {}, True),
        ("call-rummy", {}, True),
        ("straight", {"return_upcard": True}, True),
        ("parlett", {"return_upcard": True}, True),
        ("seven-card", {"return_upcard": False}, False),
        ("call-rummy", {"return_upcard": False}, False),
    ],
)
def test_whether_the_upcard_may_go_back_is_an_option(
    variant: str, chosen: dict[str, bool], may: bool
) -> None:
    match = position(variant, hands="9H 8C | 2D", pile="5S 9D", phase="draw", **chosen)
    match = after(match, "take")
    if may:
        assert deal_of(after(match, "discard 9D")).upcard == "9D"
    else:
        rule = "parlett.3" if variant == "parlett" else "straight.4"
        refusal(match, "discard 9D", UpcardReturned, rule)
        later = after(match, "discard 8C", "draw", "discard 2D", "draw", "discard 9D")
        assert deal_of(later).upcard == "9D", "in a later turn it may be discarded"


# ------------------------------------------------------------------------------ common.15

FINAL = {
    "straight": "common.15",
    "seven-card": "common.15",
    "parlett": "common.15",
    "call-rummy": "call-rummy.3",
}


@clause("common.15", *FINAL.values())
@every_preset
@pytest.mark.parametrize(
    ("hand", "text"),
    [
        ("5C 5D 5H", "meld 5C 5D 5H"),
        ("5C JK 5H", "meld 5C JK=5S 5H"),
        ("7S", "layoff 1 7S"),
        ("JK", "layoff 1 JK=7S"),
        ("3S 4S", "layoff 2 3S 4S"),
    ],
)
def test_with_the_final_discard_no_meld_or_layoff_empties_the_hand(
    variant: str, hand: str, text: str
) -> None:
    melds = "0: 7C 7D 7H; 0: 5S 6S JK=7S"
    match = position(variant, hands=f"{hand} | 2D", melds=melds, jokers=2, final_discard=True)
    refusal(match, text, FinalDiscardNeeded, FINAL[variant])
    match = position(variant, hands=f"{hand} | 2D", melds=melds, jokers=2, final_discard=False)
    assert last_deal(after(match, text)).winner == 0
    match = position(variant, hands=f"{hand} KH | 2D", melds=melds, jokers=2, final_discard=True)
    result = last_deal(after(match, text, "discard KH"))
    assert (result.winner, result.how) == (0, "discard")


@clause("common.15", "jokers.3")
@every_preset
def test_with_the_final_discard_a_joker_swapped_out_may_be_the_last_card(variant: str) -> None:
    match = position(variant, hands="KH | 2D", melds="0: QH JK=KH JH", jokers=2, final_discard=True)
    match = after(match, "swap 1 KH")
    assert hand_of(match) == "JK"
    refusal(match, "layoff 1 JK=TH", FinalDiscardNeeded, FINAL[variant])
    assert last_deal(after(match, "discard JK")).how == "discard"


@clause("common.3", "straight.3")
def test_a_second_new_meld_is_refused_where_one_a_turn_is_agreed() -> None:
    match = position(hands="5C 5D 5H 9C 9D 9H KH | 2D")
    refusal(after(match, "meld 5C 5D 5H"), "meld 9C 9D 9H", MeldLimit, "straight.3")


@clause("common.1", "common.3")
@every_preset
def test_a_pack_is_dealt_out_whole(variant: str) -> None:
    low, high = PRESETS[variant].players
    for players in range(low, high + 1):
        rules = agree(variant, players, {"deals": 1})
        deal = deal_of(new_match(rules, "any")[0])
        everything = [card for hand in deal.hands for card in hand] + [*deal.stock, *deal.pile]
        assert Counter(everything) == Counter(pack(rules.decks, rules.jokers))

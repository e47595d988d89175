"""Call Rummy: a table for each clause."""

import pytest

from service.errors import (
    CallClosed,
    CallPending,
    DoesNotFit,
    FinalDiscardNeeded,
    JokerMisnamed,
    JokerUnclear,
    MatchOver,
    NoCalls,
    NoSuchMeld,
    NotInHand,
    OwnDiscard,
    Refused,
    UpcardChanged,
)
from service.rummy.engine import new_match
from service.rummy.legal import legal_moves
from service.rummy.model import Call, Called, CallWindow, Draw, Match
from service.rummy.rules import PRESETS, OptionValue, agree
from tests.positions import (
    NOW,
    after,
    deal_of,
    hand_of,
    move,
    on_table,
    play,
    position,
    refusal,
    step,
)
from tests.rummy.tables import reasons

clause = pytest.mark.clause


@clause("call-rummy.1")
@pytest.mark.parametrize(("players", "size"), [(2, 10), (3, 7), (4, 7), (5, 6), (6, 6)])
def test_ten_seven_or_six_cards_and_an_upcard(players: int, size: int) -> None:
    deal = deal_of(new_match(agree("call-rummy", players, {}), "any")[0])
    assert [len(hand) for hand in deal.hands] == [size] * players
    assert len(deal.pile) == 1
    assert len(deal.stock) == 51 - size * players


@clause("call-rummy.1")
@pytest.mark.parametrize("players", [1, 7])
def test_two_to_six_play(players: int) -> None:
    assert reasons("call-rummy", players) == [("players", "call-rummy.1")]


@clause("call-rummy.2")
def test_several_melds_a_turn_and_layoffs_on_any_meld() -> None:
    match = position(
        "call-rummy", hands="5C 5D 5H 7S 9C 9D 9H 8H 9S KD | 2D", decks=2,
        melds="1: 7C 7D 7H; 1: 5S 6S 7S",
    )  # fmt: skip
    match = after(match, "meld 5C 5D 5H", "layoff 1 7S", "meld 9C 9D 9H", "layoff 4 9S")
    assert hand_of(match) == "KD 8H"


@clause("call-rummy.3")
@pytest.mark.parametrize(
    ("hand", "text"),
    [("5C 5D 5H", "meld 5C 5D 5H"), ("7S", "layoff 1 7S"), ("7S 7S", "layoff 1 7S 7S")],
)
def test_only_a_discard_closes_the_deal(hand: str, text: str) -> None:
    match = position("call-rummy", hands=f"{hand} | 2D", melds="1: 7C 7D 7H", decks=2)
    refusal(match, text, FinalDiscardNeeded, "call-rummy.3")
    match = position("call-rummy", hands=f"{hand} KD | 2D", melds="1: 7C 7D 7H", decks=2)
    result = after(match, text, "discard KD").last
    assert result is not None
    assert (result.winner, result.how) == (0, "discard")


@clause("call-rummy.4")
@pytest.mark.parametrize(
    ("pile", "left", "stock"),
    [("8D QS 9D", "9D", "8D QS"), ("8D 9D", "9D", "8D"), ("9D", "9D", ""), ("", "", "")],
)
def test_with_the_last_stock_card_the_pile_becomes_the_new_stock(
    pile: str, left: str, stock: str
) -> None:
    match = position("call-rummy", hands="5C 6S | 2D", stock="AS", pile=pile, phase="draw")
    match = after(match, "draw")
    assert deal_of(match).pile == tuple(left.split())
    assert deal_of(match).stock == tuple(stock.split()), "unshuffled, the oldest first"
    assert deal_of(match).turnovers == bool(stock)


@clause("call-rummy.4")
def test_a_pile_with_nothing_to_turn_is_left_until_a_stock_card_is_needed() -> None:
    match = position("call-rummy", hands="5C 6S | 2D 3D", stock="AS", pile="9D", phase="draw")
    match = after(match, "draw", "discard 6S")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), ("9D", "6S"))
    match = after(match, "draw")
    assert hand_of(match, 1) == "2D 3D 9D"
    assert (deal_of(match).stock, deal_of(match).pile) == ((), ("6S",))


@clause("call-rummy.4")
def test_a_stock_card_before_the_last_turns_nothing() -> None:
    match = position("call-rummy", hands="5C 6S | 2D", stock="AS TS", pile="8D 9D", phase="draw")
    match = after(match, "draw")
    assert (deal_of(match).stock, deal_of(match).pile) == (("TS",), ("8D", "9D"))
    match = position("call-rummy", hands="5C 6S | 2D", stock="AS", pile="8D 9D", phase="draw")
    match = after(match, "take")
    assert (deal_of(match).stock, deal_of(match).pile) == (("AS",), ("8D",))


@clause("call-rummy.4")
def test_with_the_turnovers_used_up_the_last_card_turns_nothing() -> None:
    match = position(
        "call-rummy", hands="5C 6S | 2D", stock="AS", pile="8D 9D", phase="draw", turnovers=0
    )
    match = after(match, "draw")
    assert (deal_of(match).stock, deal_of(match).pile) == ((), ("8D", "9D"))


# ----------------------------------------------------------------------------- call-rummy.5

TIMED = {"call": "timed", "call_seconds": 5}
BOTH_KINDS = pytest.mark.parametrize("options", [{}, TIMED], ids=["next draw", "timed"])


def discarded(card: str = "7S", **options: OptionValue) -> Match:
    """Seat 0 of four has just discarded a card that fits melds 1 and 2 (if it is the 7S)."""
    match = position(
        "call-rummy",
        hands=f"{card} KD | 2D 3D | 2H 3H | 2C 3C",
        melds="1: 7C 7D 7H; 0: 4S 5S 6S; 2: TD JD QD",
        pile="9D",
        **{"jokers": 2, **options},
    )
    return after(match, f"discard {card}")


@clause("call-rummy.5")
@BOTH_KINDS
@pytest.mark.parametrize("seat", [1, 2, 3])
@pytest.mark.parametrize(("meld", "lies"), [(1, "7C 7D 7H 7S"), (2, "4S 5S 6S 7S")])
def test_anybody_else_may_call_a_discard_that_fits(
    options: dict[str, OptionValue], seat: int, meld: int, lies: str
) -> None:
    match = discarded(**options)
    hands, turn = deal_of(match).hands, deal_of(match).turn
    match, events = step(match, move(f"rummy {meld}"), seat=seat)
    assert on_table(match, meld) == lies
    assert deal_of(match).hands == hands, "no hand changes"
    assert deal_of(match).turn == turn == 1, "nor the turn order"
    assert deal_of(match).upcard == "9D", "the card beneath is the upcard again"
    assert events == (Called(seat, 0, meld, "7S", (), tuple(lies.split())),)
    assert deal_of(match).melds[meld - 1].owner == {1: 1, 2: 0}[meld]
    for again in range(4):
        refusal(match, "rummy 3", CallClosed, "call-rummy.5", seat=again)
    assert hand_of(after(match, "take"), 1) == "2D 3D 9D"


@clause("call-rummy.5")
@BOTH_KINDS
def test_the_discarder_cannot_call(options: dict[str, OptionValue]) -> None:
    match = discarded(**options)
    refusal(match, "rummy 1", OwnDiscard, "call-rummy.5", seat=0)
    assert list(legal_moves(match, 0, NOW)) == []


@clause("call-rummy.5")
@BOTH_KINDS
@pytest.mark.parametrize(
    ("text", "error", "rule"),
    [
        ("rummy 3", DoesNotFit, "common.4"),
        ("rummy 0", NoSuchMeld, "common.7"),
        ("rummy 4", NoSuchMeld, "common.7"),
        ("rummy 1 JK=7S", JokerMisnamed, "jokers.2"),
    ],
)
def test_a_call_that_does_not_fit_costs_nothing_and_leaves_the_window_open(
    options: dict[str, OptionValue], text: str, error: type[Refused], rule: str
) -> None:
    match = discarded(**options)
    refusal(match, text, error, rule, seat=2)
    for seat in (1, 2, 3):
        assert set(legal_moves(match, seat, NOW)) >= {Call(1), Call(2)}
        assert on_table(after(match, "rummy 1", seat=seat), 1) == "7C 7D 7H 7S"


@clause("call-rummy.5")
@pytest.mark.parametrize("draw", ["draw", "take", "take 7S"])
def test_the_call_is_open_until_the_next_player_draws(draw: str) -> None:
    match = discarded()
    assert on_table(after(match, "rummy 1", seat=2, now=NOW + 10**9), 1) == "7C 7D 7H 7S"
    match = after(match, draw)
    refusal(match, "rummy 1", CallClosed, "call-rummy.5", seat=2)
    assert list(legal_moves(match, 2, NOW)) == []


@clause("call-rummy.5")
@pytest.mark.parametrize("draw", ["draw", "take"])
@pytest.mark.parametrize(
    ("seconds", "later", "open_still"),
    [(5, 0, True), (5, 4999, True), (5, 5000, False), (5, 5001, False), (1, 999, True),
     (1, 1000, False), (60, 59_999, True), (60, 60_000, False)],
)  # fmt: skip
def test_a_timed_call_is_open_that_long_and_the_next_draw_waits(
    seconds: int, later: int, open_still: bool, draw: str
) -> None:
    match = discarded(call="timed", call_seconds=seconds)
    now = NOW + later
    if open_still:
        error = refusal(match, draw, CallPending, "call-rummy.5", now=now)
        assert error.params["seconds"] == -(-(seconds * 1000 - later) // 1000)
        assert on_table(after(match, "rummy 1", seat=3, now=now), 1) == "7C 7D 7H 7S"
        assert deal_of(after(after(match, "rummy 1", seat=3, now=now), draw, now=now)).turn == 1
    else:
        refusal(match, "rummy 1", CallClosed, "call-rummy.5", seat=3, now=now)
        assert deal_of(after(match, draw, now=now)).phase == "play"


@clause("call-rummy.5")
def test_the_draw_does_not_wait_for_a_discard_that_fits_nothing() -> None:
    match = discarded("8H", **TIMED)
    assert deal_of(after(match, "draw")).phase == "play"
    refusal(match, "rummy 1", DoesNotFit, "common.4", seat=2)


@clause("call-rummy.5")
@BOTH_KINDS
def test_a_joker_discarded_can_be_called_too(options: dict[str, OptionValue]) -> None:
    match = discarded("JK", **options)
    assert on_table(after(match, "rummy 1", seat=2), 1) == "7C 7D 7H JK=7S"
    refusal(match, "rummy 3", JokerUnclear, "jokers.2", seat=2)
    assert on_table(after(match, "rummy 3 JK=KD", seat=2), 3) == "TD JD QD JK=KD"
    assert on_table(after(match, "rummy 3 JK=9D", seat=2), 3) == "JK=9D TD JD QD"
    refusal(match, "rummy 3 JK=8D", DoesNotFit, "common.4", seat=2)
    refusal(match, "rummy 3 JK=JK", JokerMisnamed, "jokers.2", seat=2)


@clause("call-rummy.5")
@BOTH_KINDS
def test_the_first_upcard_cannot_be_called(options: dict[str, OptionValue]) -> None:
    match, _ = new_match(agree("call-rummy", 3, options), "any", 2)
    for seat in range(3):
        refusal(match, "rummy 1", CallClosed, "call-rummy.5", seat=seat)


@clause("call-rummy.5")
@BOTH_KINDS
def test_a_discard_that_closes_the_deal_cannot_be_called(options: dict[str, OptionValue]) -> None:
    match = position("call-rummy", hands="7S | 2D | 3D", melds="1: 7C 7D 7H", deals=2, **options)
    match = after(match, "discard 7S")
    assert deal_of(match).number == 2
    refusal(match, "rummy 1", CallClosed, "call-rummy.5", seat=1)
    match = position("call-rummy", hands="7S | 2D | 3D", melds="1: 7C 7D 7H", **options)
    refusal(after(match, "discard 7S"), "rummy 1", MatchOver, "common.8", seat=1)


@clause("call-rummy.5")
@pytest.mark.parametrize("variant", PRESETS)
def test_without_the_option_nothing_is_called(variant: str) -> None:
    match = position(variant, hands="7S KD | 2D", melds="1: 7C 7D 7H", call="off")
    match = after(match, "discard 7S")
    refusal(match, "rummy 1", NoCalls, "call-rummy.5", seat=1)
    assert set(legal_moves(match, 1, NOW)) == {move("draw"), move("take 7S")}


@clause("call-rummy.5")
@pytest.mark.parametrize("layoffs", ["any", "own", "none"])
@pytest.mark.parametrize("variant", PRESETS)
def test_a_call_lays_off_on_any_meld_whatever_is_agreed_for_turns(
    variant: str, layoffs: str
) -> None:
    match = position(
        variant, hands="7S KD | 2D | 3D", melds="0: 7C 7D 7H", layoffs=layoffs, call="next_draw"
    )
    match = after(match, "discard 7S")
    assert on_table(after(match, "rummy 1", seat=2), 1) == "7C 7D 7H 7S"


@clause("call-rummy.5")
def test_a_timed_call_needs_its_seconds_and_no_other_has_them() -> None:
    problem = [("call_seconds", "call-rummy.5")]
    assert reasons("call-rummy", 2, call="timed") == problem
    assert reasons("call-rummy", 2, call_seconds=5) == problem
    assert reasons("call-rummy", 2, call="off", call_seconds=5) == problem
    for seconds in (0, 61, -1):
        assert reasons("call-rummy", 2, call="timed", call_seconds=seconds) == problem
    for seconds in (1, 60):
        rules = agree("call-rummy", 2, {"call": "timed", "call_seconds": seconds})
        assert rules.call_seconds == seconds


# ----------------------------------------------------------------------------------------


@clause("call-rummy.6")
@pytest.mark.parametrize(
    ("hand", "count"),
    [("TC JC QC KC", 40), ("2C 3C 4C 5C 6C 7C 8C 9C", 44), ("AC AD", 2), ("TD 9D AH", 20)],
)
def test_penalty_points_stay_with_their_owner_and_low_is_good(hand: str, count: int) -> None:
    match = position("call-rummy", hands=f"KH | {hand} | 2H", totals=(30, 0, 1))
    match = after(match, "discard KH")
    assert match.last is not None
    assert match.last.scores == (0, count, 2)
    assert match.result is not None
    assert match.result.winners == (min(range(3), key=lambda seat: match.totals[seat]),)


@clause("call-rummy.7")
@pytest.mark.parametrize("text", ["discard 2D", "meld 2D 3D 4D", "layoff 1 2D"])
def test_cards_are_not_swapped_with_other_players(text: str) -> None:
    match = position("call-rummy", hands="7S KD | 2D 3D 4D", melds="1: 7C 7D 7H")
    refusal(match, text, NotInHand, "common.3")


@clause("call-rummy.7")
def test_everybody_plays_alone() -> None:
    match = position("call-rummy", hands="KH | 9C | 9C | 2C", decks=2, totals=(9, 0, 0, 9))
    match = after(match, "discard KH")
    assert match.result is not None
    assert (match.result.winners, match.result.tie) == ((0, 1, 2), True)
    assert match.totals == (9, 9, 9, 11)


@clause("call-rummy.5")
def test_a_call_or_a_draw_meant_for_another_card_does_nothing() -> None:
    match = position(
        "call-rummy",
        hands="KD QD | 2S 3S",
        pile="2C 8C",
        melds="0: 8D 8H 8S",
        phase="draw",
        window=CallWindow(1, None),
    )
    for late in (Call(1, card="2C"), Draw("stock", "2C"), Draw("discard", "2C")):
        with pytest.raises(UpcardChanged) as refused:
            step(match, late)
        assert refused.value.params == {"upcard": "8C", "expected": "2C"}
    assert on_table(play(match, Call(1, card="8C"), seat=0), 1) == "8C 8D 8H 8S"
    assert deal_of(play(match, Draw("stock", "8C"))).pile == ("2C", "8C")

"""The rest of a turn at once: the same as move by move, or nothing at all."""

import msgspec
import pytest

from service.errors import (
    DrawFirst,
    FinalDiscardNeeded,
    MatchOver,
    MeldsFirst,
    NotInHand,
    NotYourTurn,
    Refused,
    TurnUnfinished,
    UpcardReturned,
    WouldBeStuck,
)
from service.rummy.engine import apply_turn
from service.rummy.model import Event, Match
from tests.positions import NOW, after, deal_of, move, position, step

clause = pytest.mark.clause
HAND = "5C 5D 5H 7S 9C KH | 2D 3D"


def turn(match: Match, text: str, seat: int = 0) -> tuple[Match, tuple[Event, ...]]:
    """A turn of plays between commas, with a discard at the end or without."""
    moves = [move(part) for part in text.split(",") if part.strip()]
    discard = getattr(moves.pop(), "card", None) if "discard" in text else None
    return apply_turn(match, seat, moves, discard, NOW)  # type: ignore[arg-type]


@clause("common.3")
@pytest.mark.parametrize(
    "text",
    ["discard KH", "meld 5C 5D 5H,discard KH", "meld 5C 5D 5H,layoff 1 7S,discard 9C",
     "layoff 1 7S,discard 9C"],
)  # fmt: skip
def test_a_turn_at_once_is_the_turn_move_by_move(text: str) -> None:
    match = position(hands=HAND, melds="1: 7C 7D 7H")
    stepwise, events = match, ()
    for part in text.split(","):
        stepwise, happened = step(stepwise, move(part))
        events += happened
    assert turn(match, text) == (stepwise, events)


@clause("common.3", "common.8")
@pytest.mark.parametrize(
    ("text", "error", "rule"),
    [
        ("meld 5C 5D 5H", TurnUnfinished, "common.3"),
        ("", TurnUnfinished, "common.3"),
        ("layoff 1 7S,meld 5C 5D 5H,discard KH", MeldsFirst, "straight.3"),
        ("meld 5C 5D 5H,discard 5C", NotInHand, "common.3"),
        ("meld 5C 5D 5H,discard 9H", NotInHand, "common.3"),
    ],
)
def test_a_turn_at_once_is_all_or_nothing(text: str, error: type[Refused], rule: str) -> None:
    match = position(hands=HAND, melds="1: 7C 7D 7H")
    before = msgspec.json.encode(match)
    with pytest.raises(error) as caught:
        turn(match, text)
    assert caught.value.rule == rule
    assert msgspec.json.encode(match) == before
    assert deal_of(turn(match, "discard KH")[0]).turn == 1


@clause("common.8", "common.13", "common.15")
def test_a_turn_at_once_ends_where_the_hand_is_empty() -> None:
    match = position(hands="5C 5D 5H | 2D", deals=2)
    assert deal_of(turn(match, "meld 5C 5D 5H")[0]).number == 2
    with pytest.raises(NotInHand) as caught:
        turn(match, "meld 5C 5D 5H,discard 5C")
    assert caught.value.rule == "common.8"
    strict = position(hands="5C 5D 5H | 2D", final_discard=True)
    with pytest.raises(FinalDiscardNeeded):
        turn(strict, "meld 5C 5D 5H")
    stuck = position(hands="5C 5D 5H KH | 2D", taken="KH")
    with pytest.raises(WouldBeStuck):
        turn(stuck, "meld 5C 5D 5H,discard KH")
    with pytest.raises(UpcardReturned):
        turn(stuck, "discard KH")


@clause("common.1", "common.3", "common.8")
def test_a_turn_at_once_needs_the_turn_and_the_draw() -> None:
    match = position(hands=HAND, pile="9D", phase="draw")
    with pytest.raises(NotYourTurn):
        turn(match, "discard 2D", seat=1)
    with pytest.raises(DrawFirst):
        turn(match, "discard KH")
    with pytest.raises(MatchOver):
        turn(after(position(hands="KH | 2D"), "discard KH"), "discard 2D", seat=1)

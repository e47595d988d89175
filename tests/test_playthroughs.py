"""A recorded playthrough of each preset: moves, events and views, compared whole.

Where a change of the rules is meant, `make playthroughs` records them again; the difference is
then there to be read.
"""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.rummy.engine import apply, new_match
from service.rummy.legal import legal_moves
from service.rummy.model import Call, Discard, Draw, Event, LayMeld, LayOff, Match, Move, Swap
from service.rummy.rules import OptionValue, agree
from service.rummy.view import redact, view

FILES = Path(__file__).parent / "playthroughs"
START = 1_700_000_000_000
SECOND = 1000
MOST_MOVES = 3
VIEW_EVERY = 8

TABLES: dict[str, tuple[str, int, dict[str, OptionValue]]] = {
    # file: preset, players, options
    "straight": ("straight", 6, {"target": 200}),
    "seven-card": ("seven-card", 4, {"jokers": 2, "upcard": True}),
    "parlett": ("parlett", 5, {"jokers": 4, "aces": "high_or_low"}),
    "call-rummy": ("call-rummy", 6, {"deals": 4}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_match_is_played_as_it_was_recorded(name: str) -> None:
    file = FILES / f"{name}.json"
    told = written(playthrough(*TABLES[name]))
    if os.environ.get("RUMMY_REWRITE"):
        FILES.mkdir(exist_ok=True)
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8"), "if this is meant: make playthroughs"


@pytest.mark.parametrize("name", TABLES)
def test_a_recorded_match_is_a_whole_one(name: str) -> None:
    recorded = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    *_, last = recorded["steps"]
    assert last["events"][-1]["type"] == "match_ended"
    moves = {step["move"]["move"] for step in recorded["steps"]}
    assert moves >= {"draw", "discard", "meld", "layoff"}


def playthrough(variant: str, players: int, options: dict[str, OptionValue]) -> dict[str, Any]:
    """A match of a simple player at every seat, step by step; a few views of each seat."""
    rules = agree(variant, players, options)
    match, events = new_match(rules, f"the {variant} playthrough")
    now = START
    steps = []
    while match.deal is not None:
        seat, move = simple_move(match, now)
        match, happened = apply(match, seat, move, now)
        step = {"seat": seat, "move": plain(move), "events": [plain(one) for one in happened]}
        if len(steps) % VIEW_EVERY == 0 or match.deal is None:
            step["views"] = views(match, now)
        steps.append(step)
        now += SECOND
    return {
        "rules": plain(rules),
        "begins": [plain(one) for one in events],
        "as_told_to_seat_0": [plain(redact(one, 0)) for one in events],
        "steps": steps,
    }


def simple_move(match: Match, now: int) -> tuple[int, Move]:
    """Calls, melds and lays off whatever there is, only that every other seat overlooks layoffs.

    Takes an upcard of a rank that is in the hand, and discards what is alone in its rank.
    """
    deal = match.deal
    assert deal is not None
    for seat in range(match.rules.players):
        for call in legal_moves(match, seat, now):
            if isinstance(call, Call):
                return seat, call
    moves = list(legal_moves(match, deal.turn, now))
    for kind in (LayMeld, Swap) if deal.turn % 2 else (LayMeld, LayOff, Swap):
        found = [move for move in moves if isinstance(move, kind)]
        if found:
            return deal.turn, found[-1]
    draws = [move for move in moves if isinstance(move, Draw)]
    if draws:
        take = draws[-1].card is not None and useful(draws[-1].card, deal.hands[deal.turn])
        return deal.turn, draws[-1] if take else draws[0]
    discards = [move for move in moves if isinstance(move, Discard)]
    hand = deal.hands[deal.turn]
    return deal.turn, min(discards, key=lambda move: (useful(move.card, hand), move.card))


def useful(card: str, hand: tuple[str, ...]) -> bool:
    """Whether another card of the hand has its rank."""
    return sum(other[0] == card[0] for other in hand) > (card in hand)


def views(match: Match, now: int) -> dict[str, Any]:
    """What the first seat and a spectator see."""
    return {
        "seat 0": plain(view(match, 0, now, MOST_MOVES)),
        "spectator": plain(view(match, None, now, MOST_MOVES)),
    }


def plain(value: Event | Move | Match | object) -> Any:
    """A value as the JSON that it is encoded to."""
    return json.loads(msgspec.json.encode(value))


def written(recorded: dict[str, Any]) -> str:
    """JSON to be read and compared line by line: a step begins on a line of its own."""
    head = {key: value for key, value in recorded.items() if key != "steps"}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    steps = []
    for step in recorded["steps"]:
        parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in step.items()]
        steps.append("  {" + ",\n   ".join(parts) + "}")
    return "\n".join(["{", *lines, ' "steps": [', ",\n".join(steps), " ]", "}", ""])

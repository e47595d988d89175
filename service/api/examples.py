"""The examples of requests in the contract: short games that can be sent as they stand.

`first_game` goes from making a table to a second player's whole turn; `jokers_and_calls` shows what
the first has no room for. Both are practice tables, so that the cards are the ones named here.
`people_and_computers` is about who sits at a table.
"""

from typing import Any

Examples = dict[str, dict[str, Any]]

_FIRST = "first_game"
_SECOND = "jokers_and_calls"
_THIRD = "people_and_computers"


def _example(summary: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"summary": summary, "value": value}


CREATE: Examples = {
    _FIRST: _example(
        "A first game: a practice table for two, whose cards are known",
        {
            "variant": "straight",
            "name": "Anna",
            "options": {"deals": 1},
            "practice": {"seed": "907278", "dealer": 1},
        },
    ),
    _SECOND: _example(
        "A practice table with jokers and the call, started by the host",
        {
            "variant": "call-rummy",
            "name": "Anna",
            "options": {"jokers": 2},
            "autostart": False,
            "practice": {"seed": "30305", "dealer": 1},
        },
    ),
    _THIRD: _example(
        "A table with a computer player and a clock, started by the host",
        {
            "variant": "seven-card",
            "name": "Anna",
            "seats": 4,
            "computers": ["steady"],
            "options": {"turn_seconds": 60},
            "autostart": False,
        },
    ),
    "alone": _example(
        "Against two computer players: the match begins at once",
        {"variant": "parlett", "name": "Anna", "seats": 3, "computers": ["steady", "sharp"]},
    ),
    "private": _example(
        "A private table, which joining takes the invitation code of; nobody may watch",
        {"variant": "call-rummy", "name": "Anna", "private": True, "spectators": False},
    ),
    "house_rules": _example(
        "A public table for four with house rules",
        {
            "variant": "straight",
            "name": "Anna",
            "options": {"target": 100, "layoffs": "own", "aces": "high_or_low"},
            "seats": 4,
            "public": True,
        },
    ),
}

JOIN: Examples = {_FIRST: _example("Bo takes the next seat", {"name": "Bo"})}

COMPUTERS: Examples = {_THIRD: _example("A third player that never tires", {"levels": ["sharp"]})}

REMOVE: Examples = {_THIRD: _example("The player in seat 3", {"seat": 3})}

LEAVE: Examples = {_THIRD: _example("Nothing has to be said", {})}

RETURN: Examples = {_THIRD: _example("Nothing has to be said", {})}

REMATCH: Examples = {_THIRD: _example("Nothing has to be said", {})}

ENTROPY: Examples = {_THIRD: _example("Some coins, tossed by hand", {"entropy": "HTTHTHHT"})}

CLOSE: Examples = {_THIRD: _example("Nothing has to be said", {})}

QUERY: Examples = {
    _THIRD: _example("A game that is gone", {"tokens": [f"{'a' * 16}.{'A' * 43}"]}),
}

START: Examples = {_SECOND: _example("Nothing has to be said", {})}

DRAW: Examples = {
    _FIRST: _example("From the stock", {"from": "stock"}),
    "upcard": _example(
        "The upcard, if it is the nine of clubs still", {"from": "discard", "card": "9C"}
    ),
}

MELD: Examples = {
    _FIRST: _example("A run", {"cards": ["4C", "5C", "6C"]}),
    _SECOND: _example(
        "A run with a joker as its seven", {"cards": ["6C", "JK", "8C"], "jokers": ["7C"]}
    ),
}

LAYOFF: Examples = {_FIRST: _example("The seven to the run", {"meld": 1, "cards": ["7C"]})}

SWAP: Examples = {_SECOND: _example("The seven for the joker", {"meld": 1, "card": "7C"})}

DISCARD: Examples = {
    _FIRST: _example("The nine of clubs", {"card": "9C"}),
    _SECOND: _example("The ten of spades", {"card": "TS"}),
}

RUMMY: Examples = {_SECOND: _example("The nine just discarded fits meld 1", {"meld": 1})}

TURN: Examples = {
    _FIRST: _example(
        "Bo's turn: a set, a layoff on Anna's run, and the discard",
        {
            "plays": [
                {"move": "meld", "cards": ["9C", "9H", "9S"]},
                {"move": "layoff", "meld": 1, "cards": ["3C"]},
            ],
            "discard": "7H",
        },
    )
}

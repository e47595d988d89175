"""The examples of requests in the contract: short games that can be sent as they stand.

`first_game` is a whole match in five requests, and `step_by_step` the same cards played a move at a
time. `by_seed` is a table whose cards come from a seed. `people_and_computers` is about who sits at
a table. The first three are practice tables, so that the cards are the ones named here. The other
examples of tables stand alone.
"""

from typing import Any

Examples = dict[str, dict[str, Any]]

_DEAL = """\
[Rummy "1"]
[Variant "call-rummy"]
[Players "3"]
[Options "hand_size=5 deals=1"]
[Dealer "2"]
[Cards "8D 5H 4H 8H 6H 9S 8S TS QC JH JC AC 2D KD 3D 8C 7H 4D 2C 3H 9H AD AH AS 2H 2S
        3C 3S 4C 4S 5C 5D 5S 6C 6D 6S 7C 7D 7S 9C 9D TC TD TH JD JS QD QH QS KC KH KS"]

1. 0: take 8C, meld 8C 8D 8H, drop 8S; 1 calls 8S on 1
2. 1: stock 7H, meld 5H 6H 7H, drop KD
3. 2: stock 4D, lay 4H on 2, drop 4D
4. 0: stock 2C, drop 2D
"""


def _example(summary: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"summary": summary, "value": value}


CREATE: Examples = {
    "by_seed": _example(
        "A practice table for two, whose cards come from a seed",
        {
            "variant": "straight",
            "name": "Anna",
            "options": {"deals": 1},
            "practice": {"seed": "907278", "dealer": 1},
        },
    ),
    "people_and_computers": _example(
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
    "what_if": _example(
        "What if the player in seat 2 had kept the four of hearts? A deal gone on with from there",
        {
            "variant": "call-rummy",
            "name": "Anna",
            "seats": 3,
            "computers": ["steady", "sharp"],
            "practice": {"deal": _DEAL, "moves": 8},
        },
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

JOIN: Examples = {"by_seed": _example("Bo takes the next seat", {"name": "Bo"})}

COMPUTERS: Examples = {
    "people_and_computers": _example("A third player that never tires", {"levels": ["sharp"]})
}

REMOVE: Examples = {"people_and_computers": _example("The player in seat 3", {"seat": 3})}

REMATCH: Examples = {"people_and_computers": _example("Nothing has to be said", {})}

ENTROPY: Examples = {
    "people_and_computers": _example("Some coins, tossed by hand", {"entropy": "HTTHTHHT"})
}

QUERY: Examples = {
    "people_and_computers": _example(
        "Two games, of which the second is gone",
        {"tokens": [f"examplegameaaaab.{'example-token-2-':A<43}", f"{'a' * 16}.{'A' * 43}"]},
    ),
}

DRAW: Examples = {
    "first_game": _example("From the stock", {"from": "stock"}),
    "by_seed": _example(
        "The upcard, if it is the nine of clubs still", {"from": "discard", "card": "9C"}
    ),
}

MELD: Examples = {
    "step_by_step": _example(
        "A run with a joker as its six", {"cards": ["5H", "JK", "7H"], "jokers": ["6H"]}
    ),
    "set": _example("A set", {"cards": ["3C", "3D", "3S"]}),
    "by_seed": _example("A run", {"cards": ["4C", "5C", "6C"]}),
}

LAYOFF: Examples = {
    "step_by_step": _example("The eight to the run", {"meld": 1, "cards": ["8H"]}),
    "by_seed": _example("The seven to the run", {"meld": 1, "cards": ["7C"]}),
}

SWAP: Examples = {"step_by_step": _example("The six for the joker", {"meld": 1, "card": "6H"})}

DISCARD: Examples = {
    "step_by_step": _example("The nine of hearts, which fits the run", {"card": "9H"}),
    "by_seed": _example("The nine of clubs", {"card": "9C"}),
}

RUMMY: Examples = {"step_by_step": _example("The nine just discarded fits meld 1", {"meld": 1})}

TURN: Examples = {
    "first_game": _example(
        "Anna's turn: a run with a joker as its six, a layoff of two cards, and the discard",
        {
            "plays": [
                {"move": "meld", "cards": ["5H", "JK", "7H"], "jokers": ["6H"]},
                {"move": "layoff", "meld": 1, "cards": ["8H", "9H"]},
            ],
            "discard": "KD",
        },
    ),
    "going_out": _example(
        "Bo's turn: the joker for a six of his own, two sets, and out with the last card",
        {
            "plays": [
                {"move": "swap", "meld": 1, "card": "6H"},
                {"move": "meld", "cards": ["QS", "QD", "JK"], "jokers": ["QC"]},
                {"move": "meld", "cards": ["3C", "3D", "3S"]},
            ],
            "discard": "4C",
        },
    ),
    "by_seed": _example(
        "Bo's turn: a set, a layoff on Anna's run, and the discard",
        {
            "plays": [
                {"move": "meld", "cards": ["9C", "9H", "9S"]},
                {"move": "layoff", "meld": 1, "cards": ["3C"]},
            ],
            "discard": "7H",
        },
    ),
}

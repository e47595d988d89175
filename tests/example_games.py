"""The examples of the contract as games: scripts in whose order they can be sent, and playing them.

The client may be Flask's test client or a CheckedClient.
"""

from dataclasses import dataclass
from typing import Any

from service.api import examples

Step = tuple[str, str, int | None]
"""An operation by its id, the name of its example if it has a body, and the seat that sends it."""

SCRIPTS: dict[str, tuple[Step, ...]] = {
    "first_game": (
        ("createSandbox", "", None),
        ("draw", "first_game", 0),
        ("playTurn", "first_game", 0),
        ("draw", "first_game", 1),
        ("playTurn", "going_out", 1),
    ),
    "step_by_step": (
        ("createSandbox", "", None),
        ("draw", "first_game", 0),
        ("meld", "step_by_step", 0),
        ("layoff", "step_by_step", 0),
        ("discard", "step_by_step", 0),
        ("callRummy", "step_by_step", 1),
        ("draw", "first_game", 1),
        ("swap", "step_by_step", 1),
        ("meld", "set", 1),
    ),
    "by_seed": (
        ("createGame", "by_seed", None),
        ("joinGame", "by_seed", None),
        ("draw", "first_game", 0),
        ("meld", "by_seed", 0),
        ("layoff", "by_seed", 0),
        ("discard", "by_seed", 0),
        ("draw", "by_seed", 1),
        ("playTurn", "by_seed", 1),
    ),
    "people_and_computers": (
        ("createGame", "people_and_computers", None),
        ("joinGame", "by_seed", None),
        ("addEntropy", "people_and_computers", 0),
        ("addComputers", "people_and_computers", 0),
        ("removePlayer", "people_and_computers", 0),
        ("startGame", "", 0),
        ("leaveGame", "", 1),
        ("returnToGame", "", 1),
        ("leaveGame", "", 1),
        ("leaveGame", "", 0),
        ("rematch", "people_and_computers", 0),
        ("queryGames", "people_and_computers", None),
    ),
    "house_rules": (("createGame", "house_rules", None),),
    "what_if": (("createGame", "what_if", None),),
    "alone": (("createGame", "alone", None),),
    "private": (
        ("createGame", "private", None),
        ("closeTable", "", 0),
    ),
}

_BODIES = {
    "createGame": examples.CREATE,
    "joinGame": examples.JOIN,
    "addComputers": examples.COMPUTERS,
    "removePlayer": examples.REMOVE,
    "rematch": examples.REMATCH,
    "addEntropy": examples.ENTROPY,
    "queryGames": examples.QUERY,
    "draw": examples.DRAW,
    "meld": examples.MELD,
    "layoff": examples.LAYOFF,
    "swap": examples.SWAP,
    "discard": examples.DISCARD,
    "callRummy": examples.RUMMY,
    "playTurn": examples.TURN,
}
_PATHS = {
    "joinGame": "join",
    "addComputers": "computers",
    "removePlayer": "remove",
    "startGame": "start",
    "leaveGame": "leave",
    "returnToGame": "return",
    "addEntropy": "entropy",
    "closeTable": "close",
    "callRummy": "rummy",
    "playTurn": "turn",
}
_ELSEWHERE = {
    "createSandbox": "/v1/sandbox",
    "createGame": "/v1/games",
    "queryGames": "/v1/games/query",
}


@dataclass
class ExampleGame:
    """A game under way: its id, and the tokens of its seats."""

    id: str
    tokens: list[str]


def play(client: Any, steps: tuple[Step, ...]) -> ExampleGame:
    """Send the examples in order; each has to be accepted."""
    game = ExampleGame("", [])
    for operation, example, seat in steps:
        body = _BODIES[operation][example]["value"] if example else None
        if operation in _ELSEWHERE:
            path = _ELSEWHERE[operation]
        else:
            path = f"/v1/games/{game.id}/{_PATHS.get(operation, operation)}"
        _send(client, game, path, body, seat)
    return game


def _send(client: Any, game: ExampleGame, path: str, body: Any, seat: int | None) -> None:
    headers = {} if seat is None else {"Authorization": f"Bearer {game.tokens[seat]}"}
    answer = client.post(path, json=body, headers=headers)
    assert answer.status_code in {200, 201}, (path, body, answer.json)
    seats = answer.json.get("seats", [answer.json] if "token" in answer.json else [])
    if seats:
        game.id = answer.json["game"]["id"]
        game.tokens += [seat["token"] for seat in seats]

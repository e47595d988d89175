"""Links of the contract: where each answer leads, and what of it the next request takes."""

from collections.abc import Mapping
from typing import Any

_MADE = {"game_id": "$response.body#/game/id"}
"""The game in the answer."""

_SAME = {"game_id": "$request.path.game_id"}
"""The game that was asked for."""

_SEEN = {**_SAME, "header.If-Match": "$response.header.ETag"}
"""That game, if it is still as the answer shows it."""

_NEWER = {**_SAME, "header.If-None-Match": "$response.header.ETag"}
"""That game, once it is another one than the answer shows."""

_PLAYS = ("meld", "layoff", "swap", "discard", "playTurn")

_TOLD = {
    "getError": "What the first of these codes means.",
    "getEvents": "Read the log; with `wait`, as soon as there is something new.",
    "getGame": "Look at the game; with `wait`, as soon as there is another version of it.",
    "getVariant": "Look at the first of these variants.",
    "joinGame": "Take the next free seat; a private table takes its `invitation` too.",
    "listGames": "The next page, if there is one.",
}
"""What is done by following a link to these operations, where their summary says less."""

WAYS: tuple[tuple[str, int, dict[str, str], tuple[str, ...]], ...] = (
    (
        "createGame",
        201,
        _MADE,
        (
            "joinGame",
            "addComputers",
            "startGame",
            "closeTable",
            "leaveGame",
            "addEntropy",
            "getGame",
            "getGameRules",
            "getEvents",
            "listMoves",
            "draw",
        ),
    ),
    (
        "joinGame",
        201,
        _MADE,
        (
            "startGame",
            "removePlayer",
            "leaveGame",
            "addEntropy",
            "getGame",
            "getEvents",
            "listMoves",
            "draw",
        ),
    ),
    ("createSandbox", 201, _MADE, ("getGame", "getGameRules", "getEvents", "listMoves", "draw")),
    ("rematch", 201, _MADE, ("addEntropy", "leaveGame", "getGame", "listMoves", "draw")),
    ("rematch", 201, _SAME, ("rematch",)),
    ("addComputers", 200, _SAME, ("startGame", "removePlayer", "listMoves", "draw")),
    ("removePlayer", 200, _SAME, ("joinGame", "addComputers", "startGame")),
    ("startGame", 200, _SAME, ("leaveGame", "getGame", "getEvents", "listMoves", "draw")),
    ("leaveGame", 200, _SAME, ("returnToGame", "getGame")),
    ("returnToGame", 200, _SAME, ("listMoves", "draw")),
    ("addEntropy", 200, _SAME, ("startGame", "getGame")),
    ("getGame", 200, _SAME, ("joinGame", "listMoves", "getEvents", "getScore", "getGameRules")),
    ("getGame", 200, _SEEN, ("draw", "callRummy")),
    ("getGame", 200, _NEWER, ("getGame",)),
    ("getGame", 200, {**_SAME, "number": "$response.body#/last_deal/number"}, ("getDeal",)),
    ("listMoves", 200, _SEEN, ("draw", *_PLAYS, "callRummy")),
    ("draw", 200, _SAME, ("listMoves",)),
    ("draw", 200, _SEEN, _PLAYS),
    ("meld", 200, _SEEN, _PLAYS),
    ("layoff", 200, _SEEN, _PLAYS),
    ("swap", 200, _SEEN, _PLAYS),
    ("callRummy", 200, _SAME, ("draw", "callRummy")),
    *(
        (operation, 200, parameters, targets)
        for operation in ("discard", "playTurn")
        for parameters, targets in (
            (_SAME, ("draw", "callRummy", "getEvents", "getScore", "getReplay", "rematch")),
            (_NEWER, ("getGame",)),
            ({**_SAME, "number": "$response.body#/game/last_deal/number"}, ("getDeal",)),
        )
    ),
    ("getEvents", 200, {**_SAME, "after": "$response.body#/last"}, ("getEvents",)),
    ("getScore", 200, {**_SAME, "number": "$response.body#/deals/0/number"}, ("getDeal",)),
    ("getScore", 200, _SAME, ("getReplay", "rematch")),
    ("listGames", 200, {"game_id": "$response.body#/tables/0/id"}, ("joinGame", "getGameRules")),
    ("listGames", 200, {"game_id": "$response.body#/games/0/id"}, ("getGame", "listMoves")),
    ("listGames", 200, {"cursor": "$response.body#/next"}, ("listGames",)),
    ("queryGames", 200, {"game_id": "$response.body#/games/0/game/id"}, ("getGame", "listMoves")),
    (
        "listVariants",
        200,
        {"variant_id": "$response.body#/variants/0/id"},
        ("getVariant", "getVariantRules"),
    ),
    ("getVariant", 200, {"variant_id": "$response.body#/id"}, ("getVariantRules",)),
    ("listErrors", 200, {"code": "$response.body#/errors/0/code"}, ("getError",)),
)
"""From which operation, by which answer, with which parameters, to which operations."""


def put_into(operation: dict[str, Any], summaries: Mapping[str, str]) -> None:
    """Give the operation's answers their links, by the summaries of all operations.

    No link says whose token to send.
    """
    for source, status, parameters, targets in WAYS:
        if source == operation["operationId"]:
            links = operation["responses"][str(status)].setdefault("links", {})
            for target in targets:
                links[target] = {
                    "operationId": target,
                    "parameters": parameters,
                    "description": _TOLD.get(target, f"{summaries[target]}."),
                }

"""Links of the contract: where each answer leads, and what of it the next request takes."""

from typing import Any

Links = dict[str, dict[str, Any]]

_MADE = {"game_id": "$response.body#/game/id"}
"""The game in the answer."""

_SAME = {"game_id": "$request.path.game_id"}
"""The game that was asked for."""

_SEEN = {**_SAME, "header.If-Match": "$response.header.ETag"}
"""That game, if it is still as the answer shows it."""

_NEWER = {**_SAME, "header.If-None-Match": "$response.header.ETag"}
"""That game, once it is another one than the answer shows."""

_PLAYS = ("meld", "layoff", "swap", "discard", "playTurn")

_TARGETS = {
    "addComputers": "The host gives free seats to computer players.",
    "addEntropy": "Add to the chance of the next deal.",
    "callRummy": "Call the card just discarded, where the table plays with the call.",
    "closeTable": "The host gives the table up, before the start.",
    "discard": "End the turn with a card of the hand.",
    "draw": "Begin the caller's turn.",
    "getDeal": "Replay a deal that has ended, with all hands open.",
    "getError": "What the first of these codes means.",
    "getEvents": "Read the log on from here; with `wait`, as soon as there is something new.",
    "getGame": "Look at the game; with `wait`, as soon as there is another version of it.",
    "getGameRules": "Read the rules of the table.",
    "getReplay": "Replay all deals that have ended.",
    "getScore": "Read the score.",
    "getVariant": "Look at the first of these variants.",
    "getVariantRules": "Read the rules of the variant.",
    "joinGame": "Take the next free seat; a private table takes its `invitation` too.",
    "layoff": "Lay off cards of the hand on a meld of the table.",
    "leaveGame": "Give the seat up, or leave it to the computer for a while.",
    "listGames": "The next page, if there is one.",
    "listMoves": "List every legal move, as bodies ready to send.",
    "meld": "Lay a new meld of cards of the hand.",
    "playTurn": "Play the rest of the turn in one request.",
    "rematch": "Play again, when the match is over; each player sends it.",
    "removePlayer": "The host frees a seat, before the start.",
    "returnToGame": "Take the seat back from the computer.",
    "startGame": "The host starts the match with those who sit there.",
    "swap": "Swap a joker out of a meld of the table.",
}
"""What is done by following a link, by the operation that it leads to."""

_WAYS: tuple[tuple[str, int, dict[str, str], tuple[str, ...]], ...] = (
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


def links_from(operation: str) -> dict[str, Links]:
    """The links of the operation's answers, by status and name. None says whose token to send."""
    found: dict[str, Links] = {}
    for source, status, parameters, targets in _WAYS:
        if source == operation:
            links = found.setdefault(str(status), {})
            for target in targets:
                links[target] = {
                    "operationId": target,
                    "parameters": parameters,
                    "description": _TARGETS[target],
                }
    return found

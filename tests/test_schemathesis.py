"""Requests nobody would think of: Schemathesis makes them from the contract, valid and invalid.

`make test` sends a bounded number, the same ones each time. With RUMMY_FUZZ_EXAMPLES=2000 each
operation gets so many, new ones each time.
"""

import os
import re
import zlib
from typing import Any

import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, settings
from schemathesis import Case, CheckContext, GenerationMode, Response
from schemathesis.core import NotSet
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    negative_data_rejection,
    unsupported_method,
)

from service.app import create_app
from service.config import Config
from tests.example_games import SCRIPTS, ExampleGame, play, play_to_the_end

LONG = os.environ.get("RUMMY_FUZZ_EXAMPLES")

SEMANTIC = {
    "bad_cursor",
    "bad_practice",
    "bad_table",
    "bad_text",
    "idempotency_key_reused",
    "options_refused",
}
"""Refusals of what is of the documented form, for reasons that a JSON schema cannot say: characters
that no name may have, cards that are no pack, cursors of another service, options that are each
possible but not together, more computer players than seats, a key that came before."""

BODILESS = {"startGame", "closeTable", "leaveGame", "returnToGame", "rematch"}
"""The operations that need no body."""


class Front:
    """What Schemathesis talks to: any well-formed id of a game stands for the `game` set here.

    The cases themselves stay as Schemathesis made them, or it would judge them wrongly. The tests
    are made when this is imported, and the store is there only when they run: until then the
    application behind has none.
    """

    def __init__(self) -> None:
        self.app = create_app(Config(redis_url="redis://localhost:1"))
        self.game = ""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        environ["PATH_INFO"] = _ID.sub(self.game, environ["PATH_INFO"])
        return self.app(environ, start_response)


_ID = re.compile(r"(?<=v1/games/)[a-z2-7]{16}(?=/|$)")

_VERSION = re.compile(r'\*|(W/)?"[0-9]{1,15}"')

front = Front()
schema = schemathesis.openapi.from_wsgi(
    "/openapi.json",
    front,
    config=schemathesis.Config.from_dict(
        {
            "checks": {
                # 412: If-Match may name any version. 422: only with the codes of SEMANTIC.
                "positive_data_acceptance": {
                    "expected-statuses": ["2xx", "304", "401", "403", "404", "409", "412", "422"]
                }
            }
        }
    ),
)


@pytest.fixture(scope="module")
def app(redis_url: str) -> Flask:
    front.app = create_app(Config(redis_url=redis_url))
    return front.app


@schema.parametrize()
@settings(
    max_examples=int(LONG or 15),
    derandomize=LONG is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_a_documented_one(case: Case, app: Flask) -> None:
    operation = case.operation.definition.raw["operationId"]
    headers = {}
    if _is_positive(case) and case.query and "wait" in case.query:
        case.query["wait"] = 0  # nothing would happen meanwhile
    if _is_positive(case) and case.query and case.query.get("mine"):
        for other in ("cursor", "variant"):  # are for the list, which no schema can say
            case.query.pop(other, None)
    if "game_id" in case.path_parameters:
        chance = zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode())
        client = app.test_client()
        game, token = _game(client, chance, operation)
        front.game = game.id
        if chance & 192 and _is_positive(case):
            case.body = _legal_body(client, game, token, case, chance)
        if chance & 7:
            headers["Authorization"] = f"Bearer {token}"
    # Schemathesis 4.32 takes it for wrong to leave out a body that is not needed.
    excluded = []
    if operation in BODILESS and isinstance(case.body, NotSet):
        excluded.append(negative_data_rejection)
    if operation == "queryGames":  # to GET that address is to ask for a game of that name
        excluded += [allow_header_conformance, unsupported_method]
    case.call_and_validate(
        headers=headers,
        additional_checks=[valid_requests_are_understood],
        excluded_checks=excluded,
    )


@schemathesis.check
def valid_requests_are_understood(ctx: CheckContext, response: Response, case: Case) -> None:
    """A request of the documented form is refused for what it asks for, never for its form."""
    if _is_positive(case) and response.status_code == 422:
        code = response.json()["code"]
        # Schemathesis 4.32 puts a wrong If-Match into valid requests when it tries wrong ones too.
        if code == "bad_version" and not _VERSION.fullmatch(case.headers["If-Match"]):
            return
        assert code in SEMANTIC, response.text


def _game(client: FlaskClient, chance: int, operation: str) -> tuple[ExampleGame, str]:
    """A game and a token: mostly where the examples use the operation, else anywhere, or over."""
    steps = [
        (script[:before], seat or 0)
        for script in SCRIPTS.values()
        for before, (used, _, seat) in enumerate(script)
        if before and (used == operation or not chance & 24)
    ]
    if steps:
        played, seat = steps[chance % len(steps)]
        game = play(client, played)
    else:
        seat = 0
        game = play_to_the_end(client)
    return game, game.tokens[seat]


def _legal_body(client: FlaskClient, game: ExampleGame, token: str, case: Case, chance: int) -> Any:
    """A body that the rules allow now, if there is one for that operation."""
    found = client.get(f"/v1/games/{game.id}/moves", headers={"Authorization": f"Bearer {token}"})
    kind = case.operation.path.rpartition("/")[2]
    moves = found.json.get("moves", ())  # the seat of an example may have been left
    bodies = [move for move in moves if move["move"] == kind]
    if kind == "turn":
        bodies = [{"discard": move["card"]} for move in moves if move["move"] == "discard"]
    return bodies[chance % len(bodies)] if bodies else case.body


def _is_positive(case: Case) -> bool:
    return case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE

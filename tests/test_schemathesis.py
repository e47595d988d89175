"""Requests nobody would think of: Schemathesis makes them from the contract, valid and invalid.

First for each operation by itself, then in whole games that follow the links of the contract.
`make test` sends a bounded number, the same ones each time; `make fuzz` as many as it is told to,
new ones each time. Event streams are tested in http/test_streams.py. All checks of Schemathesis are
on but for the three that `_not_for` names and those that have nothing to look at: no operation
deletes anything (use_after_free), and there are no users beside the seats of a game
(object_level_authorization).
"""

import os
import re
import secrets
import zlib
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
import schemathesis
from flask import Response as FlaskResponse
from hypothesis import HealthCheck, settings
from schemathesis import Case, CheckContext, Response
from schemathesis.core import NotSet
from schemathesis.core.result import Ok
from schemathesis.generation.stateful.state_machine import StepInput, StepOutput
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    negative_data_rejection,
    unsupported_method,
)

from service.api import contract
from service.embedded import EmbeddedStore
from tests.fuzzing import Figures, Front, is_positive, operation_id
from tests.http.tables import QuickContract

CASES = int(os.environ.get("RUMMY_FUZZ_CASES", "0"))
"""How many there are to be in all; 0: few."""

SEED = int(os.environ.get("RUMMY_FUZZ_SEED") or (secrets.randbits(24) if CASES else 1))
"""The same cases come of the same seed, as long as contract and versions stay the same."""

CHAINS, STEPS = 6, 60
"""So many chains of so many requests each, at most, are made from one seed."""

SEMANTIC = {
    "bad_cursor",
    "bad_notation",
    "bad_practice",
    "bad_replay",
    "bad_table",
    "bad_text",
    "idempotency_key_reused",
    "options_refused",
}
"""Refusals of what is of the documented form, for reasons that a JSON schema cannot say: characters
that no name may have, cards that are no pack, cursors of another service, options that are each
possible but not together, more computer players than seats, a key that came before."""

alone, chained = Figures(), Figures()
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
            },
            # Only the contract's own links.
            "phases": {"stateful": {"inference": {"algorithms": []}}},
        }
    ),
)
OF_GAMES = "/v1/(games|sandbox)"
GAMES = schema.include(path_regex=OF_GAMES)
OPERATIONS = {
    operation["operationId"]: operation
    for path in schema.raw_schema["paths"].values()
    for operation in path.values()
}
REFEREE = QuickContract(contract(front.house.app))
_SETTINGS = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A store that may be emptied."""
    with EmbeddedStore(tmp_path_factory.mktemp("fuzzing")) as embedded:
        print(f"\nRUMMY_FUZZ_SEED={SEED}")
        front.open(embedded.url)
        yield


# --------------------------------------------------------------------- each operation by itself


@pytest.fixture
def seen(store: None) -> Iterator[Figures]:
    """The figures of one operation, which has to accept a request at least once."""
    front.begin(SEED)
    figures = Figures()
    yield figures
    alone.add(figures)
    assert figures.accepted, str(figures)


@schema.parametrize()
@hypothesis.seed(SEED)
@settings(_SETTINGS, max_examples=max(6, CASES // 2 // len(OPERATIONS)))
def test_every_answer_is_a_documented_one(case: Case, seen: Figures) -> None:
    headers = front.prepare(case, Random(zlib.crc32(repr(case).encode())))
    response = case.call_and_validate(
        headers=headers,
        additional_checks=ADDITIONAL,
        excluded_checks=_not_for(case),
    )
    seen.count(case, response)
    if response.status_code < 300:
        front.players.hear(_body(response))


# ----------------------------------------------------------------------- whole games, by links


def test_games_are_played_by_following_the_links(store: None) -> None:
    try:
        for number in count(SEED):
            print(f"\nChains of seed {number}", flush=True)
            _run(number)
            if alone.cases + chained.cases >= CASES:
                break
    finally:
        print(f"\nEach operation by itself: {alone}\n\nIn chains: {chained}")
    assert chained.share_of_moves > 0.3
    assert chained.matches >= 3
    if CASES:
        assert alone.accepted == OPERATIONS.keys()
        assert chained.accepted == {
            operation["operationId"]
            for path, operations in schema.raw_schema["paths"].items()
            for operation in operations.values()
            if re.match(OF_GAMES, path)
        }


def _run(seed: int) -> None:
    """Send chains of requests, each by a link from an answer before it."""

    @hypothesis.seed(seed)
    class Chains(GAMES.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            front.begin(seed)
            self.number = 0
            # Left alone, it would follow each link twice, which is less than a few turns.
            self.control.max_operations_per_source = STEPS
            chained.chains += 1

        def step(self, step: StepInput) -> StepOutput:
            link = step.transition
            if link and all(
                isinstance(found.value, Ok) and found.value.ok() is not None
                for parameters in link.parameters.values()
                for found in parameters.values()
            ):
                chained.links.add(link.id)
            return super().step(step)

        def get_call_kwargs(self, case: Case) -> dict[str, Any]:
            self.number += 1
            chance = Random(zlib.crc32(f"{self.number} {case!r}".encode()))
            return {"headers": front.prepare(case, chance)}

        def after_call(self, response: Response, case: Case) -> None:
            super().after_call(response, case)
            chained.count(case, response)
            if response.status_code < 300:
                front.players.hear(_body(response))

        def validate_response(self, response: Response, case: Case, **kwargs: Any) -> None:
            case.validate_response(
                response,
                headers=kwargs["headers"],
                additional_checks=ADDITIONAL,
                excluded_checks=_not_for(case),
                transport_kwargs=kwargs,
                recorder=self.recorder,
            )

        def teardown(self) -> None:
            matches, deals = front.players.finished()
            chained.matches += matches
            chained.deals += deals
            chained.moves_between += front.players.moves

    Chains.run(
        settings=settings(
            _SETTINGS,
            max_examples=CHAINS,
            stateful_step_count=STEPS,
            phases=[hypothesis.Phase.generate],
        )
    )


# ---------------------------------------------------------------------------------- the checks


@schemathesis.check
def valid_requests_are_understood(ctx: CheckContext, response: Response, case: Case) -> None:
    """A request of the documented form is refused for what it asks for, never for its form."""
    if is_positive(case) and response.status_code == 422:
        assert response.json()["code"] in SEMANTIC, response.text


@schemathesis.check
def answers_are_documented(ctx: CheckContext, response: Response, case: Case) -> None:
    """The tests' own referee, who also knows codes, and allows no field that is not documented."""
    if response.status_code == 404 and response.json()["code"] == "no_such_route":
        assert not is_positive(case)  # what is no number, say, makes another address of it
        return
    path = urlsplit(response.request.url).path
    headers = {name: values[0] for name, values in response.headers.items()}
    answer = FlaskResponse(response.content, response.status_code, headers)
    REFEREE.check(case.method, path.replace("%2F", "/"), answer)


@schemathesis.check
def games_stay(ctx: CheckContext, response: Response, case: Case) -> None:
    """A game that was made is there."""
    if case.path_parameters.get("game_id") in front.players.tokens:
        assert response.status_code != 404 or response.json()["code"] != "no_such_game"


ADDITIONAL = [valid_requests_are_understood, answers_are_documented, games_stay]


def _not_for(case: Case) -> list[Any]:
    """The checks of Schemathesis 4.32 that judge such a case wrongly."""
    operation = operation_id(case)
    excluded: list[Any] = []
    body = OPERATIONS[operation].get("requestBody", {"required": True})
    if not body.get("required") and isinstance(case.body, NotSet):
        excluded.append(negative_data_rejection)  # takes it for wrong to leave out what is optional
    if str(case.headers.get("Last-Event-ID", "0")).strip() == "":
        excluded.append(negative_data_rejection)  # empty is none, so that clients need not ask
    if operation == "queryGames":  # to GET that address is to ask for a game of that name
        excluded += [allow_header_conformance, unsupported_method]
        excluded += [answers_are_documented] if case.method == "GET" else []
    return excluded


def _body(response: Response) -> Any:
    return response.json() if response.headers["content-type"][0].endswith("json") else None

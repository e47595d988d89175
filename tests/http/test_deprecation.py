"""Deprecated operations: what they say in the contract and with every answer of theirs."""

from datetime import date, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from flask import Flask
from openapi_spec_validator import OpenAPIV31SpecValidator

from service.api import contract
from service.api.deprecation import SHORTEST_NOTICE, Deprecated
from service.app import create_app
from service.config import Config
from tests.contract import CheckedClient, operations_of

PAGE = "https://rummy.example/old-things"
SINCE = date(2027, 1, 31)
SUNSET = date(2027, 12, 24)
TABLE = {
    "getEvents": Deprecated(SINCE, SUNSET, PAGE),
    "getDeal": Deprecated(SINCE, SUNSET, PAGE),
    "createGame": Deprecated(SINCE, None, PAGE),
}
SAID = {
    "Deprecation": "@1801353600",
    "Sunset": "Fri, 24 Dec 2027 00:00:00 GMT",
    "Link": f'<{PAGE}>; rel="deprecation"',
}
NEW_TABLE = {"variant": "parlett", "name": "Anna", "computers": ["steady"]}


@pytest.fixture(scope="module")
def app(redis_url: str) -> Flask:
    return create_app(Config(redis_url=redis_url), deprecated=TABLE)


@pytest.fixture
def client(app: Flask) -> CheckedClient:
    return CheckedClient(app.test_client(use_cookies=False), contract(app))


@pytest.fixture
def game(client: CheckedClient) -> str:
    """The address of a match that is being played."""
    return client.post("/v1/games", json=NEW_TABLE).headers["Location"]


def said(answer: Any) -> dict[str, str]:
    """What the answer says of a deprecation."""
    return {name: answer.headers[name] for name in SAID if name in answer.headers}


# ---------------------------------------------------------------------------- the answers


def test_an_answer_says_since_when_until_when_and_what_to_do(
    client: CheckedClient, game: str
) -> None:
    answer = client.get(f"{game}/events")
    assert answer.status_code == 200
    assert said(answer) == SAID
    assert parsedate_to_datetime(answer.headers["Sunset"]).date() == SUNSET


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/games/aaaaaaaaaaaaaaaa/events", {}, 404),
        ("{game}/events?aftre=1", {}, 422),
        ("{game}/events", {"Authorization": "Basic"}, 401),
        ("{game}/deals/1", {}, 409),
    ],
)
def test_a_refusal_says_so_too(
    client: CheckedClient, game: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = client.get(path.format(game=game), headers=headers)
    assert answer.status_code == status
    assert said(answer) == SAID


def test_a_body_that_cannot_be_read_is_told_as_well(client: CheckedClient) -> None:
    answer = client.post("/v1/games", data="{", headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert said(answer).keys() == {"Deprecation", "Link"}


def test_a_failure_says_so_too(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(app.extensions, "tables")
    answer = app.test_client().get("/v1/games/aaaaaaaaaaaaaaaa/events")
    assert answer.status_code == 500
    assert said(answer) == SAID


def test_a_stream_says_so_before_its_first_event(app: Flask, game: str) -> None:
    stream = app.test_client().get(f"{game}/events", headers={"Accept": "text/event-stream"})
    assert stream.mimetype == "text/event-stream"
    assert said(stream) == SAID
    stream.close()


def test_no_sunset_is_said_where_no_day_is_set(client: CheckedClient) -> None:
    answer = client.post("/v1/games", json=NEW_TABLE)
    assert said(answer) == {name: SAID[name] for name in ("Deprecation", "Link")}


def test_head_says_what_get_says(client: CheckedClient, game: str) -> None:
    assert said(client.request("HEAD", f"{game}/events")) == SAID


def test_other_operations_say_nothing_not_even_at_the_same_address(
    client: CheckedClient, game: str
) -> None:
    for path in ("/v1/games", game, f"{game}/replay", "/v1/variants", "/nowhere"):
        assert said(client.get(path)) == {}, path
    assert said(client.post(f"{game}/events")) == {}


def test_without_an_entry_nothing_is_said(redis_url: str) -> None:
    app = create_app(Config(redis_url=redis_url), deprecated={})
    assert said(app.test_client().post("/v1/games", json=NEW_TABLE)) == {}
    assert "deprecated" not in contract(app)["paths"]["/v1/games"]["post"]


# ---------------------------------------------------------------------------- the contract


def test_the_contract_marks_them_and_says_until_when(app: Flask) -> None:
    document = contract(app)
    OpenAPIV31SpecValidator(document).validate()
    events = document["paths"]["/v1/games/{game_id}/events"]["get"]
    assert events["deprecated"] is True
    assert events["description"].endswith(
        f"Deprecated since 2027-01-31, and may be gone from 2027-12-24 on: "
        f"[what to do instead]({PAGE})."
    )
    create = document["paths"]["/v1/games"]["post"]
    assert create["description"].endswith(
        f"Deprecated since 2027-01-31: [what to do instead]({PAGE})."
    )
    marked = {
        name for name, operation in operations_of(document).items() if operation.get("deprecated")
    }
    assert marked == TABLE.keys()


def test_the_contract_documents_the_headers_of_every_answer(app: Flask) -> None:
    operation = contract(app)["paths"]["/v1/games/{game_id}/deals/{number}"]["get"]
    for status, response in operation["responses"].items():
        for name in SAID:
            assert response["headers"][name]["required"], (status, name)


def test_an_operation_that_does_not_exist_cannot_be_deprecated() -> None:
    config = Config(redis_url="redis://localhost:1")
    with pytest.raises(KeyError, match="makeGame"):
        create_app(config, deprecated={"makeGame": Deprecated(SINCE, None, PAGE)})


def test_a_sunset_leaves_as_much_time_as_is_promised() -> None:
    Deprecated(SINCE, SINCE + SHORTEST_NOTICE, PAGE)
    with pytest.raises(ValueError, match="180 days"):
        Deprecated(SINCE, SINCE + SHORTEST_NOTICE - timedelta(days=1), PAGE)

"""The contract: valid, complete, as committed, and true in every example."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask import Flask
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from service import errors
from service.api.problems import STATUS, status_of
from service.app import create_app
from service.config import Config
from tests.contract import PAGES, CheckedClient, Contract
from tests.example_games import SCRIPTS, play

COMMITTED = Path(__file__).parent.parent / "openapi"

INSIDE = {
    errors.BadCard: "a card that cannot be read is a field of invalid_request",
}
"""The leaves that no operation answers with, and why."""


@pytest.fixture(scope="module")
def app(redis_url: str) -> Flask:
    return create_app(Config(redis_url=redis_url))


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method != "parameters":
                yield path, method, operation


# ---------------------------------------------------------------------------- the document


def test_the_committed_contract_is_what_the_code_says(document: dict[str, Any]) -> None:
    as_json = json.loads((COMMITTED / "openapi.json").read_text(encoding="utf-8"))
    as_yaml = yaml.safe_load((COMMITTED / "openapi.yaml").read_text(encoding="utf-8"))
    assert json.dumps(as_json) == json.dumps(document), "openapi/ is out of date: make openapi"
    assert json.dumps(as_yaml) == json.dumps(document), "openapi/ is out of date: make openapi"


def test_the_committed_schema_of_replays_is_what_the_code_says(app: Flask) -> None:
    committed = json.loads((COMMITTED / "replay.schema.json").read_text(encoding="utf-8"))
    assert committed == app.test_client().get("/replay.schema.json").json
    Draft202012Validator.check_schema(committed)
    assert committed["$defs"].keys() >= {
        schema["$ref"].removeprefix("#/$defs/")
        for schema in _schemas_in(committed)
        if "$ref" in schema
    }


def test_the_contract_is_valid_openapi(document: dict[str, Any]) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_the_contract_is_served_with_an_etag(app: Flask, document: dict[str, Any]) -> None:
    client = app.test_client()
    served = client.get("/openapi.json")
    assert json.dumps(served.json) == json.dumps(document)
    again = client.get("/openapi.json", headers={"If-None-Match": served.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_routes_and_contract_name_the_same_operations(app: Flask, document: dict[str, Any]) -> None:
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if not PAGES.fullmatch(rule.rule)
    }
    assert routes == {(path, method) for path, method, _ in operations(document)}


def test_all_answers_but_these_have_a_version(document: dict[str, Any]) -> None:
    without = {
        operation["operationId"]
        for _, _, operation in operations(document)
        if "200" in operation["responses"]
        and "ETag" not in operation["responses"]["200"].get("headers", {})
    }
    assert without == {
        *("listVariants", "getVariant", "listGames", "queryGames", "getScore", "getEvents"),
        *("getHealth", "getReadiness", "getMetrics"),
    }


def test_operations_on_games_document_the_store_that_is_away(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        if path.startswith("/v1/games"):
            codes = operation["responses"]["503"]["x-codes"]
            assert errors.StoreUnavailable.code in codes, (path, method)


def test_every_refusal_is_documented_with_its_status(document: dict[str, Any]) -> None:
    documented = {
        (code, int(status))
        for _, _, operation in operations(document)
        for status, response in operation["responses"].items()
        for code in response.get("x-codes", ())
    }
    leaves = set(_leaves(errors.RummyError)) - set(INSIDE)
    assert {(leaf.code, status_of(leaf)) for leaf in leaves} <= documented
    assert not {leaf.code for leaf in INSIDE} & {code for code, _ in documented}


def test_every_branch_of_errors_has_its_status() -> None:
    assert set(STATUS) == set(errors.RummyError.__subclasses__())


def test_unions_are_told_apart_by_a_constant(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    unions = {name for name, schema in schemas.items() if "oneOf" in schema}
    assert unions == {"Move", "Play", "Event", "MoveAnswer", "TablesOrGames"}
    for name in unions:
        discriminator = schemas[name]["discriminator"]
        assert len(discriminator["mapping"]) == len(schemas[name]["oneOf"])
        for value, reference in discriminator["mapping"].items():
            tagged = schemas[reference.rpartition("/")[2]]
            field = discriminator["propertyName"]
            assert tagged["properties"][field].items() >= {"const": value, "type": "string"}.items()
            assert field in tagged["required"]


def test_unions_and_enumerations_have_a_name(document: dict[str, Any]) -> None:
    """Or else clients made from the contract would invent one, another at each place."""
    named = [json.dumps(schema) for schema in document["components"]["schemas"].values()]
    inside = [schema for schema in _schemas_in(document) if json.dumps(schema) not in named]
    null = {"type": "null"}
    unions = [schema.get("oneOf", schema.get("anyOf", ())) for schema in inside]
    assert [union for union in unions if len([one for one in union if one != null]) > 1] == []
    assert [schema for schema in inside if "enum" in schema] == []


def test_answers_say_which_fields_are_always_there(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    sometimes = {
        name: set(schema["properties"]) - set(schema["required"])
        for name, schema in schemas.items()
        if "title" in schema and "properties" in schema and name != "Options"
    }
    assert {name: fields for name, fields in sometimes.items() if fields} == {
        "Problem": {"rule", "params", "try", "fields", "options"},
        "Draw": {"card"},
        "LayMeld": {"jokers"},
        "LayOff": {"jokers"},
        "Call": {"jokers", "card"},
    }
    assert schemas["Draw"]["properties"]["card"]["$ref"] == "#/components/schemas/Card"


def test_times_have_their_format_and_cards_their_name(document: dict[str, Any]) -> None:
    view = document["components"]["schemas"]["GameView"]["properties"]
    times = [view[name] for name in view if name.endswith("_at")]
    assert len(times) == 4
    for time in times:
        assert {part.get("format") for part in time.get("anyOf", [time])} <= {"date-time", None}
    assert view["hand"]["anyOf"][0]["items"] == {"$ref": "#/components/schemas/Card"}


# ---------------------------------------------------------------------------- its examples


def test_every_example_of_a_request_is_in_a_script(document: dict[str, Any]) -> None:
    named = {
        (operation["operationId"], name)
        for _, _, operation in operations(document)
        for name in _examples(operation)
    }
    assert named == {step[:2] for script in SCRIPTS.values() for step in script if step[1]}


def test_the_introduction_tells_the_first_game_as_its_examples_play_it(
    document: dict[str, Any],
) -> None:
    text = document["info"]["description"]
    told = re.findall(r"^\d\. (.+?)\.\n(?=\d|\n)", text, re.MULTILINE | re.DOTALL)
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    steps = [next(word for word in re.findall(r"`(\w+)`", step) if word in ids) for step in told]
    assert steps == [operation for operation, _, _ in SCRIPTS["first_game"]]
    named = set(re.findall(r"\*\*(\w+)\*\*", text))
    assert named
    assert named <= {name for script in SCRIPTS.values() for _, name, _ in script}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_examples_can_be_sent_in_order(
    script: str, app: Flask, document: dict[str, Any]
) -> None:
    play(CheckedClient(app.test_client(), document), SCRIPTS[script])


# ---------------------------------------------------------------------------- the referee itself


def _doctored(app: Flask, **changes: Any) -> tuple[str, str, Any]:
    answer = app.test_client().get("/healthz")
    answer.status_code = changes.get("status", answer.status_code)
    answer.data = changes.get("data", answer.data)
    answer.headers["Content-Type"] = changes.get("mimetype", "application/json")
    return "GET", changes.get("path", "/healthz"), answer


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"status": 418}, "no such status"),
        ({"data": b'{"status": "unwell"}'}, "not as documented"),
        ({"data": b'{"status": "ok", "secret": "AS"}'}, "not as documented"),
        ({"data": b"{}"}, "not as documented"),
        ({"mimetype": "text/html"}, "not a documented content type"),
        ({"path": "/v1/games/aaaaaaaaaaaaaaaa"}, "header ETag is missing"),
        ({"path": "/nowhere"}, "no such status"),
        ({"path": "/healthz?unheard=of"}, "undocumented parameter"),
    ],
)
def test_the_referee_sees_a_wrong_answer(
    app: Flask, document: dict[str, Any], changes: dict[str, Any], complaint: str
) -> None:
    referee = Contract(document)
    referee.check(*_doctored(app))
    with pytest.raises(AssertionError, match=complaint):
        referee.check(*_doctored(app, **changes))


def test_the_referee_sees_a_wrong_request_that_was_accepted(
    app: Flask, document: dict[str, Any]
) -> None:
    client = CheckedClient(app.test_client(), document)
    made = client.post("/v1/games", json={"variant": "parlett", "name": "Anna"})
    with pytest.raises(AssertionError, match="accepted a body"):
        client.contract.check("POST", "/v1/games", made, {"variant": "bridge", "name": "Anna"})


def test_the_referee_sees_an_undocumented_code(app: Flask, document: dict[str, Any]) -> None:
    refused = app.test_client().get("/v1/variants/bridge")
    referee = Contract(document)
    referee.check("GET", "/v1/variants/bridge", refused)
    with pytest.raises(AssertionError, match="no_such_variant"):
        referee.check("GET", "/v1/games/aaaaaaaaaaaaaaaa", refused)


def _leaves(branch: type[errors.RummyError]) -> Iterator[type[errors.RummyError]]:
    below = branch.__subclasses__()
    if not below:
        yield branch
    for kind in below:
        yield from _leaves(kind)


def _examples(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    examples: dict[str, Any] = content.get("application/json", {}).get("examples", {})
    return examples


def _schemas_in(node: Any) -> Iterator[dict[str, Any]]:
    """Every schema and part of one, and much else that is an object."""
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, dict | list):
            yield from _schemas_in(value)
    if isinstance(node, dict):
        yield node

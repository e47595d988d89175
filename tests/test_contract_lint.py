"""The linters of the contract have teeth: a contract that is wrong in each way is found wrong.

All of it is broken in one document, each rule in a place of its own: the linters start slowly.
"""

import json
import os
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.node import NODE, TOOLS, needs_tools

OPENAPI = Path(__file__).parent.parent / "openapi"

GONE = object()
"""In the place of a value: there is none."""

GAME = "paths > /v1/games/{game_id}"
SCHEMAS = "components > schemas"
SENT = "requestBody > content > application/json"

TEXT = {"type": "string", "description": "Not much is said of it."}
NUMBER = {"type": "integer", "description": "Not much is said of it."}
LIST = {"type": "array", "items": {"$ref": "#/components/schemas/Card"}, "description": "Many."}
EITHER = [{"$ref": "#/components/schemas/Left"}, {"$ref": "#/components/schemas/Joined"}]

Way = tuple[str, str, Any]
"""A rule, the way from the top to the place (`*`: the first; in a list: the one of that name), and
what is there now.
"""

Place = tuple[str, tuple[str, ...]]
"""A rule, and where in the document."""

BROKEN: list[Way] = [
    ("operation-summary-is-a-title", "paths > /v1/games > post > summary", "Make a table."),
    ("operation-description-answers-callers", "paths > /v1/games > get > description", "Lists."),
    ("operation-id-is-camel-case", f"{GAME} > get > operationId", "get_game"),
    ("operation-says-who-may", f"{GAME}/score > get > security", GONE),
    ("operation-with-token-can-answer-401", f"{GAME}/start > post > responses > 401", GONE),
    ("operation-with-body-refuses-it", f"{GAME}/join > post > responses > 415", GONE),
    ("operation-can-be-refused", "paths > /v1/variants > get > responses > 422", GONE),
    ("operation-singular-tag", f"{GAME}/moves > get > tags", ["play", "games"]),
    ("operation-tag-defined", f"{GAME}/draw > post > tags", ["cards"]),
    ("path-is-lower-case", "paths > /v1/Games/", {}),
    ("path-is-lower-case", "paths > /v1/games/", {}),
    ("parameter-has-its-case", f"{GAME}/events > get > parameters > after > name", "afterEvent"),
    ("parameter-has-its-case", f"{GAME}/events > get > parameters > Last-Event-ID > name", "event"),
    ("parameter-is-described", f"{GAME}/score > get > parameters > after > description", GONE),
    (
        "parameter-text-is-bounded",
        "paths > /v1/variants/{variant_id} > get > parameters > variant_id > schema",
        {"type": "string"},
    ),
    (
        "parameter-text-is-bounded",
        "paths > /v1/variants > get > parameters > Accept-Language > schema",
        {"type": "string"},
    ),
    (
        "body-has-examples",
        f"{GAME}/entropy > post > {SENT} > examples",
        GONE,
    ),
    (
        "body-has-a-name",
        f"{GAME}/remove > post > {SENT} > schema",
        {"type": "object", "properties": {}},
    ),
    ("body-knows-its-fields", f"{SCHEMAS} > JoinRequest > additionalProperties", GONE),
    ("sent-text-is-bounded", f"{SCHEMAS} > JoinRequest > properties > name", TEXT),
    ("sent-list-is-bounded", f"{SCHEMAS} > MeldRequest > properties > cards", LIST),
    ("sent-number-has-its-range", f"{SCHEMAS} > SwapRequest > properties > meld", NUMBER),
    ("sent-number-has-its-range", f"{GAME}/events > get > parameters > limit > schema", NUMBER),
    ("answer-is-described", f"{GAME}/deals/{{number}} > get > responses > 200 > description", ""),
    ("answer-has-its-status", f"{GAME}/replay > get > responses > 4XX", {"description": "No."}),
    (
        "answer-has-a-name",
        f"{GAME}/moves > get > responses > 200 > content > application/json > schema",
        {"type": "array", "items": {"$ref": "#/components/schemas/LogEntry"}},
    ),
    (
        "answer-has-examples",
        f"{GAME}/score > get > responses > 200 > content > application/json > examples",
        GONE,
    ),
    (
        "answer-has-examples",
        f"{GAME}/rules > get > responses > 200 > content > text/markdown > examples",
        {},
    ),
    (
        "answer-has-examples",
        f"{GAME}/score > get > responses > 404 > content > application/problem+json > examples",
        GONE,
    ),
    (
        "refusal-is-a-problem",
        f"{GAME}/rummy > post > responses > 409 > content",
        {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    ),
    ("refusal-lists-its-codes", f"{GAME}/swap > post > responses > 409 > x-codes", []),
    (
        "refusal-says-its-language",
        f"{GAME}/meld > post > responses > 409 > headers > Content-Language",
        GONE,
    ),
    (
        "not-identified-says-how",
        f"{GAME}/layoff > post > responses > 401 > headers > WWW-Authenticate",
        GONE,
    ),
    (
        "unavailable-says-when",
        f"{GAME}/layoff > post > responses > 503 > headers > Retry-After",
        GONE,
    ),
    ("created-says-where", f"{GAME}/rematch > post > responses > 201 > headers > Location", GONE),
    ("not-modified-says-its-version", f"{GAME} > get > responses > 304 > headers", GONE),
    ("not-modified-says-its-version", f"{GAME}/rules > get > responses > 200 > headers", GONE),
    ("header-is-described", "components > headers > ContentLanguage > description", "The language"),
    (
        "example-has-a-summary",
        f"paths > /v1/games > post > {SENT} > examples > *",
        {"value": {"variant": "parlett", "name": "Anna"}},
    ),
    ("schema-is-pascal-case", f"{SCHEMAS} > score_view", {"type": "string"}),
    ("property-is-snake-case", f"{SCHEMAS} > Left > properties > leftAt", {"type": "string"}),
    ("schema-is-described", f"{SCHEMAS} > EventList > description", GONE),
    ("property-is-described", f"{SCHEMAS} > Left > properties > name", {"type": "string"}),
    ("property-is-described", f"{SCHEMAS} > Removed > properties > name > description", "name"),
    ("null-is-explained", f"{SCHEMAS} > GameView > properties > hand > description", "The hand."),
    ("null-is-explained", f"{SCHEMAS} > Options > properties > deals > description", "Deals."),
    ("schema-has-a-type", f"{SCHEMAS} > Rematch > properties > game", {"description": "It."}),
    ("schema-has-a-type", f"{SCHEMAS} > MoveList > properties > moves > items", {}),
    ("object-has-its-fields", f"{SCHEMAS} > Health > properties", GONE),
    (
        "object-has-its-fields",
        f"{SCHEMAS} > Problem > properties > params > additionalProperties",
        True,
    ),
    ("array-has-its-items", f"{SCHEMAS} > Score > properties > totals", {"type": "array"}),
    ("number-has-a-minimum", f"{SCHEMAS} > Started > properties > players", NUMBER),
    (
        "number-has-a-minimum",
        f"{SCHEMAS} > DealView > properties > melds_left",
        {"anyOf": [NUMBER, {"type": "null"}]},
    ),
    ("time-has-its-format", f"{SCHEMAS} > LogEntry > properties > at", TEXT),
    (
        "time-has-its-format",
        f"{SCHEMAS} > CallView > properties > closes_at",
        {"anyOf": [TEXT, {"type": "null"}]},
    ),
    ("duration-is-in-seconds", f"{SCHEMAS} > Rules > properties > turn_seconds", TEXT),
    ("union-is-told-apart", f"{SCHEMAS} > LogEntry > properties > event", {"oneOf": EITHER}),
    (
        "union-is-told-apart",
        f"{GAME}/discard > post > responses > 200 > content > application/json > schema",
        {"anyOf": EITHER},
    ),
    ("enum-is-snake-case", f"{SCHEMAS} > Melded > properties > kind", {"enum": ["set", "Run"]}),
    ("oas3-unused-component", f"{SCHEMAS} > Forgotten", {"type": "string"}),
    ("oas3-server-trailing-slash", "servers > 0 > url", "./"),
]
"""A way to break each rule of spectral.yaml, and some that come from spectral:oas."""

BROKEN_FOR_REDOCLY: list[Way] = [
    (
        "no-invalid-media-type-examples",
        f"{GAME}/draw > post > {SENT} > examples > * > value > from",
        "the discard pile",
    ),
    (
        "no-invalid-media-type-examples",
        f"{GAME}/join > post > {SENT} > examples > * > value > shoe_size",
        42,
    ),
    ("no-invalid-schema-examples", f"{SCHEMAS} > Card > examples > 0", "10C"),
    (
        "no-invalid-parameter-examples",
        "paths > /v1/variants/{variant_id} > get > parameters > variant_id > example",
        "Straight Rummy",
    ),
    ("no-required-schema-properties-undefined", f"{SCHEMAS} > Score > required > 0", "winner"),
    ("operation-4xx-problem-details-rfc7807", f"{SCHEMAS} > Problem > properties > type", GONE),
    ("no-unused-components", f"{SCHEMAS} > Forgotten", {"type": "string"}),
    ("no-server-trailing-slash", "servers > 0 > url", "./"),
    ("struct", "paths > /v1/games > get > summary", 7),
]
"""A way to break each rule that redocly.yaml turns on, and some of recommended-strict."""


@needs_tools
def test_spectral_finds_what_is_broken(document: dict[str, Any], tmp_path: Path) -> None:
    wrong, places = broken(document, BROKEN)
    options = ["--quiet", "--format", "json", "--ruleset", str(OPENAPI / "spectral.yaml")]
    findings = lint("spectral", wrong, tmp_path, *options)
    assert not missed(places, {(found["code"], tuple(found["path"])) for found in findings})


@needs_tools
def test_redocly_finds_what_is_broken(document: dict[str, Any], tmp_path: Path) -> None:
    wrong, places = broken(document, BROKEN_FOR_REDOCLY)
    options = ["--format", "json", "--max-problems", "1000"]
    options += ["--config", str(OPENAPI / "redocly.yaml")]
    problems = lint("redocly", wrong, tmp_path, *options)["problems"]
    found = {
        (problem["ruleId"], _steps(location["pointer"]))
        for problem in problems
        for location in problem["location"]
    }
    assert not missed(places, found)


def test_a_default_that_cannot_be_is_found(document: dict[str, Any]) -> None:
    validator = OpenAPIV31SpecValidator(document)
    assert validator.is_valid()
    seats = f"{SCHEMAS} > NewTableRequest > properties > seats"
    wrong, _ = broken(document, [("", seats, NUMBER | {"default": "two"})])
    assert "'two' is not of type 'integer'" in {
        error.message for error in OpenAPIV31SpecValidator(wrong).iter_errors()
    }


def test_every_rule_of_our_own_is_broken_once() -> None:
    rules = yaml.safe_load((OPENAPI / "spectral.yaml").read_text(encoding="utf-8"))["rules"]
    own = {name for name, rule in rules.items() if isinstance(rule, dict)}
    assert not own - {rule for rule, _, _ in BROKEN}


def test_every_rule_that_redocly_has_on_here_is_broken_once() -> None:
    rules = yaml.safe_load((OPENAPI / "redocly.yaml").read_text(encoding="utf-8"))["rules"]
    on = {name for name, severity in rules.items() if severity not in ("off", False)}
    assert not on - {rule for rule, _, _ in BROKEN_FOR_REDOCLY}


def broken(document: dict[str, Any], ways: list[Way]) -> tuple[dict[str, Any], list[Place]]:
    """The document with all these changes, and where they are."""
    wrong = deepcopy(document)
    places = []
    for rule, way, now in ways:
        node: Any = wrong
        *before, last = way.split(" > ")
        path = []
        for step in before:
            path.append(_key(node, step))
            node = node[path[-1]]
        path.append(_key(node, last))
        if now is GONE:
            del node[path[-1]]
        else:
            node[path[-1]] = deepcopy(now)
        places.append((rule, tuple(map(str, path))))
    return wrong, places


def missed(places: list[Place], found: set[Place]) -> list[Place]:
    """What was broken, and is not found there or just around it."""
    return [
        (rule, place)
        for rule, place in places
        if not any(code == rule and _is_near(path, place) for code, path in found)
    ]


def lint(tool: str, document: dict[str, Any], directory: Path, *options: str) -> Any:
    """What the tool finds in the document, as it answers in JSON."""
    file = directory / "openapi.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    ran = subprocess.run(
        [NODE, TOOLS / ".bin" / tool, "lint", *options, file],
        env=os.environ | {"REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr.decode()
    return json.loads(ran.stdout)


def _key(node: Any, step: str) -> str | int:
    """What the step of a way means there."""
    if isinstance(node, list):
        names = [item.get("name") if isinstance(item, dict) else None for item in node]
        return names.index(step) if step in names else int(step)
    return next(iter(node)) if step == "*" else step


def _steps(pointer: str) -> tuple[str, ...]:
    """The keys of a JSON pointer."""
    return tuple(
        step.replace("~1", "/").replace("~0", "~") for step in pointer.removeprefix("#/").split("/")
    )


def _is_near(path: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Whether it is at that place, inside it, or up to two steps around it."""
    together = min(len(path), len(place))
    return path[:together] == place[:together] and len(path) >= len(place) - 2

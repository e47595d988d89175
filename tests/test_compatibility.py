"""The promise of /v1: the contract against the released one, and that the comparison can fail."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

import service
from service.api import replay_schema
from tests.compatibility import breaks, breaks_of_files, unannounced
from tests.contract import operations_of

ROOT = Path(__file__).parents[1]
RELEASED = ROOT / "openapi" / "released"

Document = dict[str, Any]


def released(name: str) -> Document:
    """A document of the last release."""
    path = RELEASED / name
    assert path.is_file(), f"{path.relative_to(ROOT)} is missing: make release-contract"
    read: Document = json.loads(path.read_text(encoding="utf-8"))
    return read


# ------------------------------------------------------------------------- what was released


def test_nothing_that_was_released_breaks_without_a_version_step(document: Document) -> None:
    before = released("openapi.json")
    found = breaks(before, document)
    found += breaks_of_files(released("replay.schema.json"), replay_schema())
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = before["info"]["version"]
    wrong = unannounced(found, version, service.__version__, changelog)
    said = "\n".join(f"* {item}" for item in wrong)
    assert not wrong, (
        f"This breaks what {version} promised; keep it, or see docs/compatibility.md:\n{said}"
    )


def test_what_was_released_is_a_contract_of_no_later_version() -> None:
    before = released("openapi.json")
    OpenAPIV31SpecValidator(before).validate()
    Draft202012Validator.check_schema(released("replay.schema.json"))
    versions = [before["info"]["version"], service.__version__]
    assert sorted(versions, key=lambda said: [int(part) for part in said.split(".")]) == versions


def test_the_page_names_every_value_that_may_become_more(document: Document) -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    told = {
        field: set(re.findall(r"`(\w+)`", values))
        for fields, values in rows
        for field in re.findall(r"`([A-Za-z-]+(?:\.\w+)?)`", fields)
    }
    found = {
        f"{name}.{field}": set(values)
        for name, schema in objects(document)
        for field, written in schema["properties"].items()
        for part in written.get("anyOf", [written])
        if (values := part.get("x-extensible-enum"))
    }
    header = document["components"]["headers"]["ContentLanguage"]["schema"]
    found["Content-Language"] = set(header["x-extensible-enum"])
    options = {name for name in found if name.startswith("Rules.")}
    assert len(options) >= 7
    assert told.keys() == found.keys()
    assert all(told[name] == found[name] for name in found.keys() - options)


# ------------------------------------------------------------------------- the version


BROKEN = breaks(
    {"paths": {"/v1/games": {"get": {"operationId": "listGames", "responses": {}}}}}, {"paths": {}}
)
CHANGELOG = """# Changelog
## [Unreleased]
### Added
- `listMatches`.
### Breaking
- {entry}
## [0.1.0] - 2026-12-01
### Breaking
- `listTables` went.
"""


@pytest.mark.parametrize(
    ("before", "now", "entry", "allowed"),
    [
        ("0.1.0", "0.1.0", "`listGames` is gone.", False),
        ("0.1.0", "0.1.1", "`listGames` is gone.", False),
        ("0.1.0", "0.2.0", "`listGames` is gone.", True),
        ("0.1.0", "1.0.0", "`listGames` is gone.", True),
        ("0.9.0", "0.10.0", "`listGames` is gone.", True),
        ("0.1.0", "0.2.0", "`listTables` is gone.", False),
        ("1.2.0", "1.3.0", "`listGames` is gone.", False),
        ("1.2.0", "2.0.0", "`listGames` is gone.", True),
        ("1.2.0", "2.0.0", "Much is gone.", False),
    ],
)
def test_a_break_takes_a_step_of_the_version_and_an_entry(
    before: str, now: str, entry: str, allowed: bool
) -> None:
    said = CHANGELOG.format(entry=entry)
    assert len(BROKEN) == 1
    assert unannounced(BROKEN, before, now, said) == ([] if allowed else list(BROKEN))


@pytest.mark.parametrize("heading", ["Added", "Changed"])
def test_an_entry_elsewhere_in_the_changelog_is_not_enough(heading: str) -> None:
    said = CHANGELOG.format(entry="`listGames` is gone.").replace("Breaking", heading, 1)
    assert unannounced(BROKEN, "0.1.0", "0.2.0", said) == list(BROKEN)


def test_an_entry_of_an_earlier_version_is_not_enough() -> None:
    said = CHANGELOG.format(entry="Nothing.").replace("listTables", "listGames")
    assert unannounced(BROKEN, "0.1.0", "0.2.0", said) == list(BROKEN)


# ------------------------------------------------------------------------- values, in a table

A_STRING: Document = {"type": "string"}
NUMBER: Document = {"type": "integer", "minimum": 1, "maximum": 8}
WORD: Document = {"type": "string", "minLength": 1, "maxLength": 8, "pattern": "^[a-z]+$"}
LIST: Document = {"type": "array", "items": NUMBER, "minItems": 1, "maxItems": 3}
CLOSED: Document = {
    "type": "object",
    "properties": {"a": A_STRING, "b": NUMBER},
    "required": ["a"],
    "additionalProperties": False,
}
OPEN = {name: value for name, value in CLOSED.items() if name != "additionalProperties"}
MAP: Document = {"type": "object", "additionalProperties": NUMBER}
CHOICE: Document = {"type": "string", "enum": ["x", "y"]}
EXTENSIBLE: Document = {"type": "string", "x-extensible-enum": ["x", "y"]}
OR_NULL: Document = {"anyOf": [A_STRING, {"type": "null"}]}


def choice(*values: str) -> Document:
    return {"type": "string", "enum": list(values)}


def extensible(*values: str) -> Document:
    return {"type": "string", "x-extensible-enum": list(values)}


def without(schema: Document, *names: str) -> Document:
    """The object without these fields."""
    properties = {name: value for name, value in schema["properties"].items() if name not in names}
    required = [name for name in schema["required"] if name not in names]
    return {**schema, "properties": properties, "required": required}


def with_field(schema: Document, name: str, field: Document, *, required: bool) -> Document:
    """The object with one more field, or another one."""
    needed = [other for other in schema["required"] if other != name]
    return {
        **schema,
        "properties": {**schema["properties"], name: field},
        "required": [*needed, name] if required else needed,
    }


def union(*names: str, told_by: str = "kind") -> Document:
    return {
        "oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in names],
        "discriminator": {
            "propertyName": told_by,
            "mapping": {name.lower(): f"#/components/schemas/{name}" for name in names},
        },
    }


VARIANTS: Document = {
    name: {
        "type": "object",
        "properties": {"kind": {"type": "string", "const": name.lower()}},
        "required": ["kind"],
    }
    for name in ("Cat", "Dog", "Elk")
}


def as_request(schema: Document, **more: Document) -> Document:
    """A contract whose one operation takes such a value."""
    body = {"content": {"application/json": {"schema": schema}}}
    return one_operation({"requestBody": body}, **more)


def as_answer(schema: Document, **more: Document) -> Document:
    """A contract whose one operation gives such a value."""
    response = {"description": "", "content": {"application/json": {"schema": schema}}}
    return one_operation({"responses": {"200": response}}, **more)


def one_operation(parts: Document, **more: Document) -> Document:
    operation = {"operationId": "play", "responses": {}, **parts}
    components = {"schemas": {**VARIANTS, **more}}
    return {"paths": {"/v1/play": {"post": operation}}, "components": components}


CAT = {"$ref": "#/components/schemas/Cat"}
ASKED, ANSWERED = "a request", "an answer"
FINE = None

CHANGES = [
    # type
    ("another type", A_STRING, {"type": "integer"}, "string is not taken", "it may be integer"),
    ("null as well", A_STRING, {"type": ["string", "null"]}, FINE, "it may be null"),
    ("null as well, otherwise written", A_STRING, OR_NULL, FINE, "it may be null"),
    ("no null any more", OR_NULL, A_STRING, "null is not taken", FINE),
    ("the same, otherwise written", OR_NULL, {"type": ["string", "null"]}, FINE, FINE),
    ("a number for an integer", {"type": "integer"}, {"type": "number"}, FINE, "it may be number"),
    ("an integer for a number", {"type": "number"}, {"type": "integer"}, "number is not", FINE),
    ("anything", A_STRING, {}, FINE, "it may be null now"),
    ("only a string", {}, A_STRING, "null is not taken", FINE),
    ("never", A_STRING, False, "string is not taken", FINE),
    # values
    ("a further value", CHOICE, choice("x", "y", "z"), FINE, '"z" may come now'),
    ("a value less", CHOICE, choice("x"), '"y" is not taken', '"y" does not come'),
    ("another constant", {"const": "x"}, {"const": "y"}, '"x" is not taken', '"y" may come'),
    ("any value", CHOICE, A_STRING, FINE, "not only"),
    ("few values", A_STRING, CHOICE, "only", FINE),
    ("a constant as its enum", {"const": "x"}, choice("x"), FINE, FINE),
    ("values that are shorter", WORD, choice("ab"), "only", FINE),
    ("values that are too long", WORD, choice("a" * 9), "only", '"aaaaaaaaa" may come'),
    ("null among the values", {"enum": ["x"]}, {"enum": ["x", None]}, FINE, "it may be null"),
    ("an open value more", EXTENSIBLE, extensible("x", "y", "z"), FINE, FINE),
    ("an open value less", EXTENSIBLE, extensible("x"), FINE, '"y" does not come'),
    ("open values that are closed", EXTENSIBLE, CHOICE, "only", FINE),
    ("closed values that are open", CHOICE, EXTENSIBLE, FINE, "not only"),
    ("open values unnamed", EXTENSIBLE, A_STRING, FINE, '"x" does not come'),
    # limits
    ("a lower minimum", NUMBER, NUMBER | {"minimum": 0}, FINE, "not at least 1 any more"),
    ("a higher minimum", NUMBER, NUMBER | {"minimum": 2}, "at least 2 now", FINE),
    ("a lower maximum", NUMBER, NUMBER | {"maximum": 7}, "at most 7 now", FINE),
    ("a higher maximum", NUMBER, NUMBER | {"maximum": 9}, FINE, "not at most 8 any more"),
    ("no maximum", NUMBER, {"type": "integer", "minimum": 1}, FINE, "not at most 8 any more"),
    ("longer", WORD, WORD | {"maxLength": 9}, FINE, "not at most 8 characters any more"),
    ("shorter", WORD, WORD | {"maxLength": 7}, "at most 7 characters now", FINE),
    ("no empty text", A_STRING, A_STRING | {"minLength": 1}, "at least 1 characters", FINE),
    ("any length", A_STRING, A_STRING | {"minLength": 0}, FINE, FINE),
    ("another pattern", WORD, WORD | {"pattern": "^.+$"}, "pattern is", "pattern is not"),
    ("a pattern", A_STRING, A_STRING | {"pattern": "^a"}, "its pattern is ^a now", FINE),
    ("a format", A_STRING, A_STRING | {"format": "uuid"}, "its format is uuid now", FINE),
    ("no format", A_STRING | {"format": "uuid"}, A_STRING, FINE, "its format is not uuid"),
    ("longer lists", LIST, LIST | {"maxItems": 4}, FINE, "not at most 3 items any more"),
    ("shorter lists", LIST, LIST | {"maxItems": 2}, "at most 2 items now", FINE),
    ("other items", LIST, LIST | {"items": A_STRING}, "play, body[]: integer", "200[]: it may be"),
    ("an unknown keyword", NUMBER, NUMBER | {"not": {}}, "not may be another", "not may be"),
    ("what one refers to", {"not": CAT}, {"not": CAT}, "not may be another", "not may be"),
    # objects
    ("a field", CLOSED, with_field(CLOSED, "c", {}, required=False), FINE, "the field is new"),
    ("a field of an open one", OPEN, with_field(OPEN, "c", {}, required=False), FINE, FINE),
    ("a field needed", CLOSED, with_field(CLOSED, "c", {}, required=True), "c: it is req", "new"),
    ("a field always there", OPEN, with_field(OPEN, "c", {}, required=True), "c: it is req", FINE),
    ("a field less", OPEN, without(OPEN, "b"), "b: the field is gone", "b: the field is gone"),
    ("a field's type", OPEN, with_field(OPEN, "b", {}, required=False), FINE, "b: it may be null"),
    ("needed", OPEN, with_field(OPEN, "b", NUMBER, required=True), "b: it is required", FINE),
    (
        "not needed",
        OPEN,
        with_field(OPEN, "a", A_STRING, required=False),
        FINE,
        "it may be missing",
    ),
    ("others too", CLOSED, OPEN, FINE, "other fields may come"),
    ("no others", OPEN, CLOSED, "no other fields are taken", FINE),
    ("other values of a map", MAP, MAP | {"additionalProperties": {}}, FINE, ".*: it may be"),
    ("any values of a map", MAP, {"type": "object"}, FINE, ".*: it may be anything"),
    ("numbers in a map", {"type": "object"}, MAP, ".*: null is not taken", FINE),
    # unions
    ("a variant", union("Cat", "Dog"), union("Cat", "Dog", "Elk"), FINE, FINE),
    ("a variant less", union("Cat", "Dog"), union("Cat"), "dog is not taken", "dog does not come"),
    ("another tag", union("Cat"), union("Cat", told_by="x"), "told apart by x", "told apart by x"),
    ("a union by its tag", {"oneOf": union("Cat")["oneOf"]}, union("Cat"), FINE, FINE),
    ("no tag", union("Cat"), {"oneOf": union("Cat")["oneOf"]}, "a union", "it may be object"),
    # what only explains
    ("a title", NUMBER, NUMBER | {"title": "N", "description": "n", "examples": [1]}, FINE, FINE),
    ("deprecated", NUMBER, NUMBER | {"deprecated": True}, FINE, FINE),
    ("a default", NUMBER, NUMBER | {"default": 1}, FINE, FINE),
    ("a default less", NUMBER | {"default": 1}, NUMBER, "1 to null", "1 to null"),
    ("another default", NUMBER | {"default": 1}, NUMBER | {"default": 2}, "1 to 2", "1 to 2"),
    ("0 for false", {"default": False}, {"default": 0}, "false to 0", "false to 0"),
    ("a name", CAT, VARIANTS["Cat"], FINE, FINE),
]


@pytest.mark.parametrize(
    ("wrap", "column"), [(as_request, 3), (as_answer, 4)], ids=[ASKED, ANSWERED]
)
@pytest.mark.parametrize("change", CHANGES, ids=[change[0] for change in CHANGES])
def test_a_change_of_a_value_breaks_requests_or_answers(
    change: tuple[Any, ...], wrap: Callable[..., Document], column: int
) -> None:
    expected = change[column]
    found = breaks(wrap(change[1]), wrap(change[2]))
    if expected is FINE:
        assert found == ()
    else:
        assert any(expected in str(item) for item in found), found


def test_a_change_is_told_once_wherever_its_schema_is_used() -> None:
    reference = {"$ref": "#/components/schemas/Hand"}
    before = as_answer({"type": "object", "properties": {"mine": reference, "yours": reference}})
    after = deepcopy(before)
    before["components"]["schemas"]["Hand"] = OPEN
    after["components"]["schemas"]["Hand"] = without(OPEN, "b")
    assert [str(item) for item in breaks(before, after)] == [
        "Hand.b: the field is gone; clients that read it find nothing."
    ]


def test_what_refers_to_itself_is_compared_too() -> None:
    tree = {
        "type": "object",
        "properties": {"leaf": NUMBER, "below": {"$ref": "#/components/schemas/Tree"}},
    }
    wider = deepcopy(tree)
    wider["properties"]["leaf"] = {"type": "integer"}
    reference = {"$ref": "#/components/schemas/Tree"}
    before, after = as_answer(reference, Tree=tree), as_answer(reference, Tree=wider)
    assert {item.name for item in breaks(before, after)} == {"Tree.leaf"}
    assert breaks(before, before) == ()


def test_a_file_that_is_read_again_may_lack_nothing_and_need_nothing_new() -> None:
    assert breaks_of_files(OPEN, OPEN) == ()
    assert breaks_of_files(OPEN, with_field(OPEN, "c", {}, required=False)) == ()
    needs = breaks_of_files(OPEN, with_field(OPEN, "c", {}, required=True))
    assert [item.what for item in needs] == ["it is required now"]
    lacks = breaks_of_files(OPEN, with_field(OPEN, "a", A_STRING, required=False))
    assert [item.what for item in lacks] == ["it may be missing"]


# ------------------------------------------------------------------------- operations, in a table

LIMIT = {"in": "query", "name": "limit", "schema": NUMBER}
WISH = {"in": "header", "name": "If-Match", "schema": A_STRING}
BODY = {"required": False, "content": {"application/json": {"schema": OPEN}}}
ETAG = {"required": True, "schema": A_STRING}
GAMES: Document = {
    "servers": [{"url": "./"}],
    "components": {"securitySchemes": {"seatToken": {"type": "http", "scheme": "bearer"}}},
    "paths": {
        "/v1/games": {
            "get": {
                "operationId": "listGames",
                "summary": "List",
                "security": [{}, {"seatToken": []}],
                "parameters": [LIMIT, WISH],
                "requestBody": BODY,
                "responses": {
                    "200": {
                        "headers": {"ETag": ETAG},
                        "content": {"application/json": {"schema": OPEN}, "text/plain": {}},
                    },
                    "204": {"description": "None"},
                    "409": {"x-codes": ["not_now", "not_you"]},
                    "422": {"x-codes": ["not_so"]},
                },
            }
        }
    },
}


def changed(*path: str, to: object = ...) -> Document:
    """The contract of games with another value there, in its operation; or without it."""
    document = deepcopy(GAMES)
    node = document["paths"]["/v1/games"]["get"]
    for part in path[:-1]:
        node = node[part]
    if to is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = to
    return document


def moved(path: str) -> Document:
    return GAMES | {"paths": {path: GAMES["paths"]["/v1/games"]}}


OPERATIONS = [
    ("nothing", GAMES, FINE),
    ("a new operation", GAMES | {"paths": GAMES["paths"] | moved("/v2/games")["paths"]}, FINE),
    ("no operation", GAMES | {"paths": {}}, "it is not at GET /v1/games any more;"),
    ("another path", moved("/v1/tables"), "any more, but at GET /v1/tables"),
    ("another id", changed("operationId", to="list"), "its operationId is list now"),
    ("another summary", changed("summary", to="Tell"), FINE),
    ("marked deprecated", changed("deprecated", to=True), FINE),
    ("other servers", GAMES | {"servers": [{"url": "/api"}]}, "./ is gone"),
    ("more servers", GAMES | {"servers": [{"url": "/api"}, {"url": "./"}]}, FINE),
    ("a token needed", changed("security", to=[{"seatToken": []}]), "no token is not enough"),
    ("no token needed", changed("security", to=[]), FINE),
    ("no token taken", changed("security", to=[{}]), FINE),
    ("another way in", GAMES | {"components": {"securitySchemes": {}}}, "identify themselves"),
    ("no parameter", changed("parameters", to=[WISH]), "query parameter limit: it is gone"),
    ("a parameter", changed("parameters", to=[LIMIT, WISH, LIMIT | {"name": "after"}]), FINE),
    (
        "a needed one",
        changed("parameters", to=[LIMIT, WISH, LIMIT | {"name": "after", "required": True}]),
        "query parameter after: it is new and required",
    ),
    ("needed", changed("parameters", to=[WISH, LIMIT | {"required": True}]), "it is required now"),
    ("by a header", changed("parameters", to=[WISH, LIMIT | {"in": "header"}]), "it is gone"),
    ("headers", changed("parameters", to=[LIMIT, WISH | {"name": "IF-MATCH"}]), FINE),
    (
        "narrower",
        changed("parameters", to=[WISH, LIMIT | {"schema": NUMBER | {"maximum": 7}}]),
        "query parameter limit: at most 7 now",
    ),
    ("style", changed("parameters", to=[WISH, LIMIT | {"explode": False}]), "written otherwise"),
    ("no body", changed("requestBody"), "none is taken any more"),
    ("a body needed", changed("requestBody", "required", to=True), "body: it is required now"),
    ("another content", changed("requestBody", "content", to={}), "application/json is not taken"),
    ("a success less", changed("responses", "204"), "answer 204: it does not come any more"),
    ("a success more", changed("responses", "202", to={}), "with a status that never came"),
    ("no news", changed("responses", "304", to={}), FINE),
    ("a refusal more", changed("responses", "429", to={"x-codes": ["slow_down"]}), FINE),
    ("a code more", changed("responses", "409", "x-codes", to=["not_now", "not_you", "c"]), FINE),
    ("a code less", changed("responses", "409", "x-codes", to=["not_now"]), "the code not_you is"),
    ("no such refusal", changed("responses", "422"), "the code not_so is not among"),
    (
        "a code elsewhere",
        changed(
            "responses",
            to={
                **changed("responses", "409")["paths"]["/v1/games"]["get"]["responses"],
                "403": {"x-codes": ["not_now", "not_you"]},
            },
        ),
        "the code not_now comes with 403, not 409",
    ),
    ("no header", changed("responses", "200", "headers", to={}), "header ETag: it is gone"),
    ("a header", changed("responses", "200", "headers", to={"etag": ETAG, "Link": ETAG}), FINE),
    (
        "a header sometimes",
        changed("responses", "200", "headers", "ETag", "required", to=False),
        "header ETag: it may be missing",
    ),
    (
        "a header's form",
        changed("responses", "200", "headers", "ETag", "schema", to={"type": "integer"}),
        "header ETag: it may be integer",
    ),
    ("no plain text", changed("responses", "200", "content", "text/plain"), "text/plain is gone"),
    ("HTML", changed("responses", "200", "content", "text/html", to={}), FINE),
    (
        "a field less",
        changed("responses", "200", "content", "application/json", "schema", to=without(OPEN, "b")),
        "listGames, answer 200.b: the field is gone",
    ),
    (
        "content",
        changed("responses", "204", "content", to={"text/plain": {}}),
        "it has content now",
    ),
]


@pytest.mark.parametrize(
    ("later", "expected"), [row[1:] for row in OPERATIONS], ids=[row[0] for row in OPERATIONS]
)
def test_a_change_of_an_operation_breaks_its_callers(later: Document, expected: str | None) -> None:
    found = breaks(GAMES, later)
    if expected is FINE:
        assert found == ()
    else:
        assert any(expected in str(item) for item in found), found


# ------------------------------------------------------------------------- the real contract


def objects(document: Document) -> list[tuple[str, Document]]:
    """The named schemas that have fields."""
    schemas = document["components"]["schemas"]
    return [(name, schema) for name, schema in schemas.items() if schema.get("properties")]


def names(before: Document, after: Document) -> set[str]:
    return {item.name for item in breaks(before, after)}


def wheres(before: Document, after: Document) -> set[str]:
    return {item.where for item in breaks(before, after)}


def test_the_contract_does_not_break_itself(document: Document) -> None:
    assert breaks(document, document) == ()
    assert breaks_of_files(replay_schema(), replay_schema()) == ()


def test_every_operation_that_goes_is_missed(document: Document) -> None:
    assert names(document, document | {"paths": {}}) == operations_of(document).keys()


def test_every_operation_that_is_renamed_is_missed(document: Document) -> None:
    later = deepcopy(document)
    for operation in operations_of(later).values():
        operation["operationId"] += "2"
    assert names(document, later) == operations_of(document).keys()


def test_every_field_that_goes_is_missed(document: Document) -> None:
    later = deepcopy(document)
    for _, schema in objects(later):
        schema["properties"], schema["required"] = {}, []
    gone = {
        f"{name}.{field}" for name, schema in objects(document) for field in schema["properties"]
    }
    assert len(gone) > 300
    assert names(document, later) >= gone - unreached(document, gone)


def test_every_field_whose_type_changes_is_noticed(document: Document) -> None:
    later, changed_fields = deepcopy(document), set()
    for name, schema in objects(later):
        for field, written in schema["properties"].items():
            if "$ref" not in json.dumps(written):  # what is below could not be compared any more
                schema["properties"][field] = MAP
                changed_fields.add(f"{name}.{field}")
    assert len(changed_fields) > 200
    assert names(document, later) >= changed_fields - {"Problem.params"}


def test_every_field_that_is_needed_or_may_be_missing_is_noticed(document: Document) -> None:
    later = deepcopy(document)
    changed_fields = set()
    for name, schema in objects(later):
        asked = schema.get("additionalProperties") is False
        needed = set(schema.get("required", ()))
        schema["required"] = sorted(schema["properties"]) if asked else []
        changed_fields |= {f"{name}.{field}" for field in needed ^ set(schema["required"])}
    assert names(document, later) == changed_fields


def test_fields_that_may_be_left_out_break_nothing(document: Document) -> None:
    later = deepcopy(document)
    for _, schema in objects(later):
        schema["properties"]["novelty"] = {"type": "string"}
    assert breaks(document, later) == ()


def test_every_code_header_parameter_and_status_that_goes_is_missed(document: Document) -> None:
    later, gone = deepcopy(document), set()
    for name, operation in operations_of(later).items():
        for parameter in operation.pop("parameters", ()):
            gone.add(f"{name}, {parameter['in']} parameter {parameter['name']}")
        for status, response in operation["responses"].items():
            for header in response.pop("headers", {}):
                gone.add(f"{name}, answer {status}, header {header}")
            if response.pop("x-codes", ()):
                gone.add(name)
            if response.pop("content", {}):
                gone.add(f"{name}, answer {status}")
    assert len(gone) > 500
    assert wheres(document, later) >= gone


def test_every_variant_that_goes_is_missed_and_every_other_may_come(document: Document) -> None:
    later, unions = deepcopy(document), []

    def shorten(node: Any) -> None:
        if isinstance(node, dict):
            if mapping := node.get("discriminator", {}).get("mapping"):
                unions.append(mapping)
                value = next(iter(mapping))
                node["oneOf"].remove({"$ref": mapping.pop(value)})
            for item in node.values():
                shorten(item)
        elif isinstance(node, list):
            for item in node:
                shorten(item)

    shorten(later["components"]["schemas"])
    assert len(unions) >= 5
    assert len(breaks(document, later)) >= len(unions)
    assert all("any more" in item.what for item in breaks(document, later))
    # In answers they may come again; the plays of a turn may too, since more is taken then.
    assert breaks(later, document) == ()


def unreached(document: Document, fields: set[str]) -> set[str]:
    """The fields of schemas that are reached through fields only, all of which are gone."""
    text = json.dumps(operations_of(document))
    direct = {name for name, _ in objects(document) if f'schemas/{name}"' in text}
    return {field for field in fields if field.partition(".")[0] not in direct}


# ------------------------------------------------------------------------- any schemas at all

LEAVES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", ["string", "null"]])},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number", ["integer", "boolean"]])},
        optional={
            "minimum": st.integers(-1, 2),
            "maximum": st.integers(0, 3),
            "multipleOf": st.integers(1, 2),  # of which the comparison knows nothing
        },
    ),
    st.sampled_from([{}, {"type": "boolean"}, {"type": "null"}, {"const": "a"}, {"const": 1}]),
    st.lists(st.sampled_from(["a", "b", "ab", 1, True, None]), min_size=1, unique_by=repr).map(
        lambda values: {"enum": values}
    ),
)


def nested(schemas: st.SearchStrategy[Document]) -> st.SearchStrategy[Document]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), schemas, max_size=2),
                "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
                "additionalProperties": st.one_of(st.booleans(), schemas),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": schemas},
            optional={"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)},
        ),
        st.lists(schemas, min_size=1, max_size=2).map(lambda several: {"anyOf": several}),
    )


SCHEMAS = st.recursive(LEAVES, nested, max_leaves=4)
VALUES = st.recursive(
    st.sampled_from(["", "a", "b", "ab", "bc", -1, 0, 1, 2, 3, 1.5, True, False, None]),
    lambda values: st.one_of(
        st.lists(values, max_size=3), st.dictionaries(st.sampled_from("abcd"), values, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Document, Document]:
    """A schema, and what became of it: close to it, so that often nothing breaks."""
    old = draw(SCHEMAS)
    new = deepcopy(old)
    node: Any = new
    while True:
        below = [item for item in _items(node) if isinstance(item, dict)]
        if not below or draw(st.booleans()):
            break
        node = draw(st.sampled_from(below))
    if node and draw(st.booleans()):
        del node[draw(st.sampled_from(sorted(node)))]
    else:
        node.update(draw(SCHEMAS))
    return old, new


def _items(node: Any) -> list[Any]:
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [*below, *(further for item in below for further in _items(item))]


PAIRS = st.one_of(edited(), st.tuples(SCHEMAS, SCHEMAS)).filter(
    lambda pair: all(_is_schema(schema) for schema in pair)
)


def _is_schema(schema: Document) -> bool:
    return Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema)


@settings(max_examples=150, deadline=None)
@given(PAIRS, st.lists(VALUES, min_size=5, max_size=12))
def test_where_no_request_breaks_what_was_taken_is_taken(
    pair: tuple[Document, Document], values: list[Any]
) -> None:
    old, new = pair
    if not breaks(as_request(old), as_request(new)):
        for value in filter(Draft202012Validator(old).is_valid, values):
            assert Draft202012Validator(new).is_valid(value), value


@settings(max_examples=150, deadline=None)
@given(PAIRS, st.lists(VALUES, min_size=5, max_size=12))
def test_where_no_answer_breaks_what_comes_could_have_come(
    pair: tuple[Document, Document], values: list[Any]
) -> None:
    old, new = pair
    if not breaks(as_answer(old), as_answer(new)):
        for value in filter(Draft202012Validator(new).is_valid, values):
            assert Draft202012Validator(old).is_valid(value), value


@settings(max_examples=100, deadline=None)
@given(SCHEMAS)
def test_nothing_breaks_itself(schema: Document) -> None:
    assert breaks(as_request(schema), as_request(schema)) == ()
    assert breaks(as_answer(schema), as_answer(schema)) == ()

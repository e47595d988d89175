"""The OpenAPI contract, made from the code: routes, request schemas and the answers' structures."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import flask_smorest
import msgspec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from msgspec import Struct

import service
from service.api import (
    docs,
    games,
    http,
    language,
    naming,
    operations,
    pages,
    problems,
    refusals,
    schemas,
    variants,
)
from service.replay import DealReplay, MatchReplay
from service.rummy.cards import Card
from service.rummy.rules import OPTIONS, Rules
from service.tables import Tables
from service.text import Text
from service.views import GameId

Schema = dict[str, Any]

_INTRODUCTION = """\
Games of rummy by four rule texts, with their house rules as options.

## A first game
Each of these operations has the example **first game**; sent in this order, they play it.

1. `createGame` makes a practice table and answers with the token of seat 0, Anna's. Under
   *Authorize*, give that token.
2. `joinGame` gives Bo the other seat, and the match begins. Note his token for later.
3. `draw` takes a card, then `meld` lays a run, `layoff` adds a card to it and `discard` ends the
   turn. `game_id` is the `id` of the game in each answer.
4. With Bo's token: `draw`, its example **upcard**, and `playTurn`, which is the rest of a turn in
   one request.

Every answer lists under `moves` what the caller may do now, as bodies that are ready to send to
`POST /v1/games/{game_id}/{move}`: a bot needs nothing else.

## Words
Cards are two characters, rank then suit: `AS` `TH` `9C` `KD`; a joker is `JK`. Seats are numbered
from 0 clockwise. Times are RFC 3339 in UTC; durations are in seconds.

## Tokens
The token of a seat is in the answer to the request that takes the seat (`createGame`, `joinGame`,
`rematch`, or a repeat of one), and in no other. Send it as `Authorization: Bearer …`. Whoever has
it plays that seat.

## Versions and retries
Each change gives the game a new `version`, which is its `ETag` too (with a plus once a timed call
has closed: that changes a view, but not the game). With `If-Match: "12"` a move
counts only if the game is still at that version. With an `Idempotency-Key` of your own a request
that changes something can be sent again when its answer was lost: it is carried out once, and a
repeat gets the first answer. With `check=true` a move is only checked.

## Memory
With `memory=true` on `getGame` and on every move, the game in the answer tells under `memory` what
everybody saw in this deal and an attentive player remembers: the cards taken into a hand face up,
and all discards so far with what became of them. The table's option `memory` can forbid it.

## Waiting
With `wait` the answer comes when there is something to say, or when so many seconds are up:
`getGame` with `If-None-Match` when there is another version, `getEvents` when there is an event
`after` the last one known, `discard` and `playTurn` when the caller can act again. So a turn takes
two requests: `draw`, and `playTurn` with `wait`. `getEvents` with `Accept: text/event-stream` is
the log as it grows, each event with the `id` to resume after.

## Fairness
Before each deal the view shows a commitment to the secret that its cards will come from
(`fairness`), and each seat can add to the chance: `entropy` in `joinGame`, or `addEntropy`. When
the deal has ended its secret is shown, and anybody can work out every card.

## Replays
`getDeal` tells a deal that has ended move by move with all hands open, or with `Accept: text/plain`
as text, a line for each turn; `getReplay` has the whole match. A practice table can go on from any
point of such a text (`practice` of `createGame`).

## Alone
`createGame` with `computers` gives the other seats to computer players, and the match begins at
once: its example **alone**.

## Refusals
A refusal is `application/problem+json`, changes nothing, and has a stable `code` for programs, a
`detail` for people and, where the rules stand in the way, their clause as `rule`. Its `type` is the
address of the page that explains the code, with all that its `params` can hold. With a refused move
`try` lists up to three legal ones near to it, the nearest first, as bodies that are ready to send.
`getGameRules` has every clause in force at a table; on its page each clause has its anchor.
Each operation lists its codes by status. 503 can be tried again after the seconds in `Retry-After`.
Fields of bodies and, under `/v1`, query parameters that are not documented are refused, never
ignored.

## Languages
What people read is in English, Swedish or Danish, by the request's `Accept-Language`: `sv-FI`
is answered in Swedish, and what is not spoken here is passed over. `Content-Language` says which
it is. What programs read (codes, parameters, cards, the names of options) is the same in all.
"""

_NAMED: dict[str, Schema] = {
    schema["title"]: schema
    for schema in (
        msgspec.json.schema(Card),
        schemas.NaturalCardField.looks,
        msgspec.json.schema(GameId),
        schemas.options_schema(),
    )
}
"""Schemas that stand inside others and get a name of their own in the contract, by title."""


_DOCUMENT_ORDER = ("openapi", "info", "servers", "tags", "paths", "components")
_OPERATION_ORDER = (
    "operationId",
    "summary",
    "description",
    "tags",
    "security",
    "parameters",
    "requestBody",
    "responses",
)


class Api(flask_smorest.Api):
    """The contract without the parts of the framework that this service does not use."""

    DEFAULT_ERROR_RESPONSE_NAME = None

    def _register_responses(self) -> None:
        """Refusals are documented at each operation."""

    def _register_etag_headers(self) -> None:
        """Versions are documented at each operation."""

    def _register_pagination_header(self) -> None:
        """Pages have a cursor in the body."""


def register(app: Flask, tables: Tables) -> None:
    """Give the app its endpoints, its error answers and its contract."""
    app.extensions["tables"] = tables
    app.config.update(
        API_TITLE="Rummy",
        API_VERSION=service.__version__,
        OPENAPI_VERSION="3.1.1",
        API_SPEC_OPTIONS={
            "info": {
                "summary": "Hosts games of rummy.",
                "description": _INTRODUCTION,
                "license": {"name": "MIT", "identifier": "MIT"},
            },
            "servers": [{"url": "./", "description": "This service."}],
        },
    )
    plugin = MarshmallowPlugin(schema_name_resolver=_schema_name)
    api = Api(app, spec_kwargs={"marshmallow_plugin": plugin})
    if plugin.converter is not None:  # there from Api's making on; only its type does not say so
        plugin.converter.add_attribute_function(_field_schema)  # type: ignore[no-untyped-call]
    api.spec.components.security_scheme(
        "seatToken",
        {
            "type": "http",
            "scheme": "bearer",
            "description": "The token of a seat, from making a table or joining one.",
        },
    )
    api.spec.components.header("ContentLanguage", language.HEADER)
    for name, schema in _answer_schemas().items():
        api.spec.components.schema(name, schema)
    for request in schemas.PLAYS.values():
        api.spec.components.schema(type(request).__name__, schema=request)
    for blueprint in (
        variants.variants,
        games.games,
        games.play,
        refusals.refusals,
        operations.operations,
    ):
        api.register_blueprint(blueprint)
    problems.register(app)
    docs.register(app, contract(app), replay_schema())
    pages.register(app)
    app.after_request(http.harden)


def contract(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of the app, as plain values."""
    (registered,) = app.extensions["flask-smorest"]["apis"].values()
    document: dict[str, Any] = deepcopy(registered["ext_obj"].spec.to_dict())
    components = document["components"]
    for kind in _kinds_of(schemas.RequestSchema):
        if kind.__name__ in components["schemas"]:
            schema = components["schemas"][kind.__name__]
            schema["description"] = kind.__doc__
            _say_defaults_in_words(schema)
    components["schemas"] = _with_names(_exact(components["schemas"])) | _NAMED
    naming.give_names(document)
    for path in document["paths"].values():
        of_path = path.pop("parameters", [])
        for method, operation in path.items():
            if parameters := of_path + operation.get("parameters", []):
                operation["parameters"] = [_described(parameter) for parameter in parameters]
            operation["responses"] = dict(sorted(operation["responses"].items()))
            path[method] = _in_order(operation, _OPERATION_ORDER)
    return _in_order(document, _DOCUMENT_ORDER)


def _described(parameter: dict[str, Any]) -> dict[str, Any]:
    """The parameter, described in its schema too, where openapi-python-client looks for it."""
    schema = parameter["schema"]
    if "$ref" in schema:
        return parameter
    return parameter | {"schema": schema | {"description": parameter["description"]}}


def _say_defaults_in_words(schema: Schema) -> None:
    """Let no field of a body have a `default`, which openapi-typescript takes for a promise.

    It would demand every such field. What null and an empty list mean, the field says itself.
    """
    for field in schema.get("properties", {}).values():
        default = field.pop("default", None)
        if default not in (None, []):
            field["description"] += f" Left out: {json.dumps(default)}."


def replay_schema() -> Schema:
    """The JSON schema of replays by itself, for whoever reads them from a file."""
    references, definitions = msgspec.json.schema_components(
        (MatchReplay, DealReplay), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A replay of rummy: a match, or one deal",
        "oneOf": list(references),
        "$defs": _exact(definitions),
    }


def _in_order(node: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return dict(sorted(node.items(), key=lambda item: names.index(item[0])))


def _answer_schemas() -> dict[str, Schema]:
    """The schemas of all answers, as msgspec reads them off the structures."""
    answers = (
        *variants.ANSWERS,
        *games.ANSWERS,
        *refusals.ANSWERS,
        *operations.ANSWERS,
        problems.Problem,
    )
    _, components = msgspec.json.schema_components(
        answers, schema_hook=_text_schema, ref_template="#/components/schemas/{name}"
    )
    rules = components[Rules.__name__]["properties"]
    rules |= {name: schemas.option_schema(option) for name, option in OPTIONS.items()}
    lean = {kind.__name__ for kind in _kinds_of(Struct) if kind.__struct_config__.omit_defaults}
    for name, schema in components.items():
        _say_what_is_sent(schema, leaves_out=name in lean)
    return components | games.UNIONS


def _say_what_is_sent(schema: Schema, *, leaves_out: bool) -> None:
    """Let the schema of an answer speak of writing; as msgspec makes it, it speaks of reading.

    All its fields are there, unless it leaves out those that say nothing: they are never null then.
    """
    properties = schema.get("properties", {})
    if not leaves_out:
        schema["required"] = list(properties)
    for field in properties.values():
        if "default" in field and field.pop("default") is None and leaves_out:
            (only,) = (part for part in field.pop("anyOf") if part != {"type": "null"})
            field.update(only | field)


def _text_schema(kind: type[Any]) -> Schema:
    """The schema of a Text, which is a string in the language of the answer."""
    if issubclass(kind, Text):
        return {"type": "string"}
    raise NotImplementedError(f"{kind} has no schema")  # by which msgspec wants to be told


def _exact(node: Any) -> Any:
    """The schema with what is left to be understood by its makers: texts, constants, tags."""
    if isinstance(node, list | tuple):
        return [_exact(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {name: _exact(value) for name, value in node.items()}
    if isinstance(schema.get("enum"), list):
        values = schema.pop("enum")
        schema = {"type": "boolean" if isinstance(values[0], bool) else "string", **schema}
        schema |= {"const": values[0]} if len(values) == 1 else {"enum": values}
    if "discriminator" in schema and "anyOf" in schema:
        schema["oneOf"] = schema.pop("anyOf")
    return schema


def _with_names(node: Any) -> Any:
    """The schema with references in the place of those inside it that have a name."""
    if isinstance(node, list):
        return [_with_names(item) for item in node]
    if not isinstance(node, dict):
        return node
    named = _NAMED.get(node["title"]) if isinstance(node.get("title"), str) else None
    if named is None:
        return {name: _with_names(value) for name, value in node.items()}
    reference = {"$ref": f"#/components/schemas/{node['title']}"}
    own = {name: value for name, value in node.items() if named.get(name) != value}
    if "null" in own.pop("type", ()):
        return {"anyOf": [reference, {"type": "null"}], **own}
    return {**reference, **own}


def _kinds_of(kind: type[Any]) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds_of(below)


def _schema_name(schema: Any) -> str:
    kind = schema if isinstance(schema, type) else type(schema)
    return kind.__name__


def _field_schema(converter: Any, field: Any, **_: Any) -> dict[str, Any]:
    """What the fields of our own look like in the contract."""
    if isinstance(field, schemas.Options):
        return schemas.options_schema()
    if isinstance(field, schemas.PlayField):
        return http.told_apart(
            "move", {name: type(schema).__name__ for name, schema in schemas.PLAYS.items()}
        )
    return {}

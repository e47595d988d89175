"""The OpenAPI contract, made from the code: routes, request schemas and the answers' structures."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from inspect import getdoc
from pathlib import Path
from typing import Any

import flask_smorest
import msgspec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from msgspec import Struct

import service
from service.api import (
    deprecation,
    docs,
    games,
    http,
    language,
    links,
    observation,
    operations,
    pages,
    problems,
    rate_limits,
    recorded,
    refusals,
    schemas,
    variants,
)
from service.api.deprecation import DEPRECATED, Deprecated
from service.errors import ParamValue
from service.game import GameId
from service.replay import DealReplay, MatchReplay
from service.rummy.cards import Card
from service.rummy.model import MeldKind, Move, Source
from service.rummy.rules import OPTIONS, Rules, SetValue
from service.rummy.view import DealPhase
from service.tables import Tables
from service.text import Text
from service.views import GameStatus, LoggedEvent, OptionKind, SeatToken

Schema = dict[str, Any]

_INTRODUCTION = (Path(__file__).parent / "introduction.md").read_text(encoding="utf-8")

_PLAY = {
    "title": "Play",
    "description": "What may come between draw and discard.",
    **http.told_apart(
        "move", {name: type(schema).__name__ for name, schema in schemas.PLAYS.items()}
    ),
}
_NAMED = (
    Card,
    DealPhase,
    GameId,
    GameStatus,
    LoggedEvent,
    MeldKind,
    Move,
    OptionKind,
    ParamValue,
    SeatToken,
    SetValue,
    Source,
)
_NAMED_IN_REQUESTS: tuple[Schema, ...] = (
    schemas.LEVEL,
    schemas.NaturalCardField.looks,
    schemas.VARIANT,
    _PLAY,
    schemas.options_schema(),
    *(schemas.option_schema(option) for option in OPTIONS.values() if option.kind == "choice"),
)
"""What stands inside other schemas and has a name of its own in the contract: its `title`.

Clients made from the contract have a type for each name, and else a nameless one at each place.
"""

_SHAPE = ("type", "enum", "oneOf", "anyOf", "discriminator")
"""What a reference says for the place that it is at."""

_VALUES = ("const", "default", "enum", "example", "examples")
"""What holds values, not schemas."""

_OPEN = {
    "DealResult": ("reason", "how", "why"),
    "DiscardView": ("gone",),
    "Joined": ("computer",),
    "MatchResult": ("reason",),
    "ReplaySeat": ("computer",),
    "Rules": tuple(OPTIONS),
    "SeatView": ("computer", "away"),
}
"""The fields of answers whose values may become more within /v1 (docs/compatibility.md)."""

_DOCUMENT_ORDER = ("openapi", "info", "servers", "tags", "paths", "components")
_OPERATION_ORDER = (
    "operationId",
    "summary",
    "description",
    "tags",
    "deprecated",
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


def register(app: Flask, tables: Tables, deprecated: Mapping[str, Deprecated] = DEPRECATED) -> None:
    """Give the app its endpoints, its error answers and its contract.

    `deprecated` has the operations that will go some day, by operationId.
    """
    observation.register(app)
    app.extensions["tables"] = tables
    app.extensions["deprecated"] = deprecated
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
            "servers": [{"url": ".", "description": "This service."}],
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
    for name, header in rate_limits.COMPONENTS.items():
        api.spec.components.header(name, header)
    for name, schema in _answer_schemas().items():
        api.spec.components.schema(name, schema)
    for request in schemas.PLAYS.values():
        api.spec.components.schema(type(request).__name__, schema=request)
    for blueprint in (
        games.sandbox,
        variants.variants,
        games.games,
        games.play,
        refusals.refusals,
        operations.operations,
    ):
        api.register_blueprint(blueprint)
    problems.register(app)
    deprecation.register(app, deprecated)
    docs.register(app, contract(app), replay_schema())
    pages.register(app)


def contract(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of the app, as plain values."""
    (registered,) = app.extensions["flask-smorest"]["apis"].values()
    document: dict[str, Any] = deepcopy(registered["ext_obj"].spec.to_dict())
    components = document["components"]
    for kind in _kinds_of(schemas.RequestSchema):
        if kind.__name__ in components["schemas"]:
            schema = components["schemas"][kind.__name__]
            schema["description"] = getdoc(kind)
            _say_defaults_in_words(schema)
    components["schemas"] = _opened(_exact(components["schemas"]))
    named = _named()
    for part in ("paths", "components"):
        document[part] = _with_names(document[part], named)
    document["components"]["schemas"] |= {
        name: _with_names_inside(schema, named) for name, schema in named.items()
    }
    summaries = {
        operation["operationId"]: operation["summary"]
        for path in document["paths"].values()
        for name, operation in path.items()
        if name != "parameters"
    }
    examples = recorded.read()
    for path in document["paths"].values():
        of_path = path.pop("parameters", [])
        for method, operation in path.items():
            if parameters := of_path + operation.get("parameters", []):
                operation["parameters"] = [_described(parameter) for parameter in parameters]
            rate_limits.document_in(operation)
            deprecation.document_in(operation, app.extensions["deprecated"])
            links.put_into(operation, summaries)
            recorded.put_into(operation, examples)
            operation["responses"] = dict(sorted(operation["responses"].items()))
            path[method] = _in_order(operation, _OPERATION_ORDER)
    document["components"]["examples"] = recorded.by_name(examples)
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
        "$defs": _opened(_exact(_with_options(definitions))),
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
    components = _with_options(components)
    lean = {kind.__name__ for kind in _kinds_of(Struct) if kind.__struct_config__.omit_defaults}
    for name, schema in components.items():
        _say_what_is_sent(schema, leaves_out=name in lean)
    return components | games.UNIONS


def _with_options(components: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas, with what each option may be in that of the rules."""
    rules = components[Rules.__name__]["properties"]
    rules |= {name: schemas.option_schema(option) for name, option in OPTIONS.items()}
    return components


def _say_what_is_sent(schema: Schema, *, leaves_out: bool) -> None:
    """Let the schema of an answer speak of writing; as msgspec makes it, it speaks of reading.

    All its fields are there, unless it leaves out those that say nothing: they are never null then.
    """
    properties = schema.get("properties", {})
    if not leaves_out:
        schema["required"] = list(properties)
    for name, field in properties.items():
        if "default" in field and field.pop("default") is None and leaves_out:
            (only,) = (part for part in field.pop("anyOf") if part != {"type": "null"})
            properties[name] = {**only, **field}


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


def _opened(components: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas without limits that are not promised: a client has to take other values too."""
    for name, opened in _OPEN.items():
        if name in components:
            properties = components[name]["properties"]
            properties |= {field: _without_limits(properties[field]) for field in opened}
    return components


def _without_limits(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_limits(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {name: _without_limits(value) for name, value in node.items()}
    schema.pop("maximum", None)
    schema.pop("title", None)
    if "minimum" in schema:  # all of them count something
        schema["minimum"] = 0
    if "enum" in schema:
        values = schema["x-extensible-enum"] = schema.pop("enum")
        said = f"Now one of {', '.join(f'`{value}`' for value in values)}; more may come."
        schema["description"] = " ".join(filter(None, (schema.get("description"), said)))
    return schema


def _named() -> dict[str, Schema]:
    """The schemas that have a name of their own, by it."""
    in_answers, _ = msgspec.json.schema_components(
        _NAMED, schema_hook=_text_schema, ref_template="#/components/schemas/{name}"
    )
    return {schema["title"]: _exact(schema) for schema in (*in_answers, *_NAMED_IN_REQUESTS)}


def _with_names(node: Any, named: Mapping[str, Schema]) -> Any:
    """The part of the document with references in the place of what has a name."""
    if isinstance(node, list):
        return [_with_names(item, named) for item in node]
    if not isinstance(node, dict):
        return node
    known = named.get(node["title"]) if isinstance(node.get("title"), str) else None
    if known is None:
        return _with_names_inside(node, named)
    reference = {"$ref": f"#/components/schemas/{node['title']}"}
    own = {
        key: value for key, value in node.items() if key not in _SHAPE and known.get(key) != value
    }
    if "null" in node.get("type", ()):
        return {"anyOf": [reference, {"type": "null"}], **own}
    return {**reference, **own}


def _with_names_inside(node: Schema, named: Mapping[str, Schema]) -> Schema:
    return {
        key: value if key in _VALUES else _with_names(value, named) for key, value in node.items()
    }


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
        return _PLAY
    return {}

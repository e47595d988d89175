"""The OpenAPI contract, made from the code: routes, request schemas and the answers' structures."""

from typing import Any

import flask_smorest
import msgspec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask

import service
from service.api import docs, games, operations, problems, schemas, variants
from service.tables import Tables

_INTRODUCTION = """\
Games of rummy by four rule texts, with their house rules as options.

A first game: `POST /v1/games` makes a table and answers with a seat token; somebody else joins with
`POST /v1/games/{game_id}/join`; then each turn is a `draw`, if wished `meld`, `layoff` and `swap`,
and a `discard`. `moves` in every answer lists what the caller may do, as bodies ready to send to
`POST /v1/games/{game_id}/{move}`.

Cards are two characters, rank then suit: `AS` `TH` `9C` `KD`; a joker is `JK`. Seats are numbered
from 0 clockwise. Times are RFC 3339 in UTC.

Send the seat token as `Authorization: Bearer …`. A refusal is `application/problem+json` with a
stable `code` and the clause of the rules in `rule`; it has changed nothing. With `If-Match: "12"` a
move counts only if the game is still at that version.
"""


class Api(flask_smorest.Api):
    """The contract without the framework's own error schema."""

    def _register_responses(self) -> None:
        """Refusals are documented at each operation."""


def register(app: Flask, tables: Tables) -> None:
    """Give the app its endpoints, its error answers and its contract."""
    app.extensions["tables"] = tables
    app.config.update(
        API_TITLE="Rummy",
        API_VERSION=service.__version__,
        OPENAPI_VERSION="3.1.1",
        API_SPEC_OPTIONS={
            "info": {
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
    for name, schema in _answer_schemas().items():
        api.spec.components.schema(name, schema)
    for request in schemas.PLAYS.values():
        api.spec.components.schema(type(request).__name__, schema=request)
    for blueprint in (
        variants.variants,
        games.games,
        games.play,
        operations.operations,
    ):
        api.register_blueprint(blueprint)
    problems.register(app)
    docs.register(app)


def contract(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of the app, as plain values."""
    (registered,) = app.extensions["flask-smorest"]["apis"].values()
    document: dict[str, Any] = registered["ext_obj"].spec.to_dict()
    return document


def _answer_schemas() -> dict[str, dict[str, Any]]:
    """The schemas of all answers, as msgspec reads them off the structures."""
    answers = (
        *variants.ANSWERS,
        *games.ANSWERS,
        *operations.ANSWERS,
        problems.Problem,
    )
    _, components = msgspec.json.schema_components(
        answers, ref_template="#/components/schemas/{name}"
    )
    return components


def _schema_name(schema: Any) -> str:
    kind = schema if isinstance(schema, type) else type(schema)
    return kind.__name__


def _field_schema(converter: Any, field: Any, **_: Any) -> dict[str, Any]:
    """What the fields of our own look like in the contract."""
    if isinstance(field, schemas.Options):
        return schemas.options_schema()
    if isinstance(field, schemas.PlayField):
        references = {
            name: f"#/components/schemas/{type(schema).__name__}"
            for name, schema in schemas.PLAYS.items()
        }
        return {
            "oneOf": [{"$ref": reference} for reference in references.values()],
            "discriminator": {"propertyName": "move", "mapping": references},
        }
    return {}

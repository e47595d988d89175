"""How the API speaks HTTP: reading requests, and sending answers that are encoded once."""

import re
from collections.abc import Callable
from typing import Any, NoReturn, cast

import flask_smorest
import msgspec
from flask import Request, Response, current_app, request
from marshmallow import Schema, ValidationError
from webargs.core import missing
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from service.api import problems
from service.errors import BadToken, BadVersion, FieldProblem, InvalidRequest, RummyError
from service.tables import Tables

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_VERSION = re.compile(r'(?:W/)?"(\d{1,15})"')
_BODY = "_schema"


class Parser(FlaskParser):
    """Reads bodies as JSON and nothing else, and names every field that is wrong."""

    def __init__(self) -> None:
        # None leaves it to the schemas, which refuse what they do not know.
        super().__init__(unknown=None)

    def load_json(self, req: Request, schema: Schema) -> Any:
        body = req.get_data()
        if not body.strip():
            return {}
        if req.mimetype != "application/json" and not req.mimetype.endswith("+json"):
            raise UnsupportedMediaType(
                f"The body is sent as {req.mimetype or 'no type'}; send Content-Type: "
                "application/json."
            )
        try:
            return _decode(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadRequest(f"The body is not JSON: {error}.") from error

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        twice = [name for name, values in req.args.lists() if len(values) > 1]
        if twice:
            raise InvalidRequest(tuple(FieldProblem(name, "Is there twice.") for name in twice))
        return super().load_querystring(req, schema) if req.args else missing

    def handle_error(
        self,
        error: ValidationError,
        req: Request,
        schema: Schema,
        *,
        error_status_code: int | None,
        error_headers: Any,
    ) -> NoReturn:
        messages = cast(dict[str, Any], error.messages)
        (found,) = messages.values()
        raise InvalidRequest(tuple(_flat("", found)))


class Blueprint(flask_smorest.Blueprint):
    """A blueprint whose operations document what they can be refused with."""

    ARGUMENTS_PARSER = Parser()

    def arguments(self, schema: Schema, **kwargs: Any) -> Callable[[Any], Any]:
        decorate = super().arguments(schema, **kwargs)

        def decorator(function: Any) -> Any:
            decorated = decorate(function)
            # The refusals are documented by `refuses`, under names of our own.
            decorated._apidoc["arguments"]["responses"].clear()  # noqa: SLF001
            return decorated

        return decorator

    def refuses(self, *kinds: type[RummyError], http: tuple[int, ...] = ()) -> Any:
        """Document the leaves, and the framework's statuses, that an operation refuses with."""
        return self.doc(
            responses={**problems.documented(*kinds), **problems.documented_http(*http)}
        )


def tables() -> Tables:
    """The use cases of this app."""
    return cast(Tables, current_app.extensions["tables"])


def answer(
    body: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """The structure as JSON. Answers differ by seat and time, so nobody may keep them."""
    response = Response(_encode(body), status, headers, mimetype="application/json")
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def token() -> str | None:
    """The seat token that came with the request. Raises BadToken if it is not sent as one."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "bearer" or not credentials.strip():
        raise BadToken("Send the token of your seat as `Authorization: Bearer <token>`.")
    return credentials.strip()


def pinned_version() -> int | None:
    """The version that If-Match pins the request to. Raises BadVersion if it is not one."""
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    match = _VERSION.fullmatch(header.strip())
    if match is None:
        raise BadVersion(
            'If-Match takes one version in quotes, such as "12", as the ETag gives it.'
        )
    return int(match[1])


def known_versions() -> set[int]:
    """The versions that If-None-Match says the caller has."""
    header = request.headers.get("If-None-Match", "")
    return {int(version) for version in _VERSION.findall(header)}


def etag(version: int) -> str:
    """The ETag of a version."""
    return f'"{version}"'


def _flat(path: str, found: Any) -> list[FieldProblem]:
    """Marshmallow's nested messages as one line a field."""
    if isinstance(found, dict):
        return [
            problem
            for name, inner in found.items()
            for problem in _flat(f"{path}.{name}".strip(".") if name != _BODY else path, inner)
        ]
    reasons = " ".join(map(str, found)) if isinstance(found, list) else str(found)
    return [FieldProblem(path or "body", reasons)]

"""Reading requests: bodies and queries, checked by the schemas that the contract shows.

marshmallow checks, and webargs and the wrappers of flask-smorest are passed by: what they do for
each request is done here once, when a view is registered (docs/performance.md).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from flask import Request, request
from marshmallow import Schema, ValidationError
from werkzeug.exceptions import (
    BadRequest,
    ClientDisconnected,
    HTTPException,
    RequestEntityTooLarge,
    RequestTimeout,
    UnsupportedMediaType,
)

from service.api.schemas import MoveRequest
from service.errors import FieldProblem, InvalidRequest
from service.text import Text, listed

_BODY = "_schema"
_MOST_FIELDS = 50
"""So many wrong fields are named, so that no answer is far longer than its request."""
_MOST_BODIES = 512
_LONGEST_BODY = 256
"""So many moves of each kind, of so many bytes, are remembered by their bodies. There are few that
differ, and what they become is never changed; nothing that anybody wrote of himself is in them."""

_BYTE = re.compile(r"\(byte ([0-9]+)\)")
_CUT_SHORT = Text("The body ends before the length that was announced.")


def _number(text: str) -> int | float:
    """A number with a fraction; 2.0 is the whole number 2 in JSON, whatever wrote it so."""
    number = float(text)
    return int(number) if number.is_integer() else number


_decode = msgspec.json.Decoder(float_hook=_number).decode


def asked() -> Request:
    """The request itself. Each look through Flask's proxy costs more than what is looked for."""
    proxy: Any = request
    sent: Request = proxy._get_current_object()  # noqa: SLF001 (werkzeug documents it)
    return sent


def body_reader(schema: Schema) -> Callable[[], Any]:
    """What reads the body of a request as JSON and nothing else; no body is one without fields.

    It raises InvalidRequest with every field that is wrong, and werkzeug's exceptions for what is
    no JSON.
    """

    def load(body: bytes) -> Any:
        return _checked(schema, _values(body))

    load_again = lru_cache(_MOST_BODIES)(load) if isinstance(schema, MoveRequest) else load

    def read() -> Any:
        body = _body(asked())
        if not body.strip():
            return _checked(schema, {})
        return load_again(body) if len(body) <= _LONGEST_BODY else load(body)

    return read


def query_reader(schema: Schema) -> Callable[[], Any]:
    """What reads the query of a request; it raises InvalidRequest as that for bodies does."""
    of_nothing = schema.load({})

    def read() -> Any:
        if not request.query_string:  # as with most requests, and it always means the same
            return of_nothing
        twice = [name for name, values in request.args.lists() if len(values) > 1]
        if twice:
            reason = Text("Is there twice.")
            raise InvalidRequest(tuple(FieldProblem(name, reason) for name in twice))
        return _checked(schema, request.args.to_dict())

    return read


def _checked(schema: Schema, values: Any) -> Any:
    try:
        return schema.load(values)
    except ValidationError as error:
        fields = _flat("", error.messages)
        more = len(fields) - _MOST_FIELDS
        if more > 0:
            others = Text("More fields with something wrong: {more}").format(more=more)
            fields = [*fields[:_MOST_FIELDS], FieldProblem("body", others)]
        raise InvalidRequest(tuple(fields)) from error


def _values(body: bytes) -> Any:
    try:
        return _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRequest(_why_no_json(error)) from error


def _body(req: Request) -> bytes:
    """The whole body, within the limit, if it is JSON by what it says of itself.

    Raises RequestEntityTooLarge, UnsupportedMediaType, RequestTimeout and BadRequest.
    """
    try:
        body = req.get_data()
    except ClientDisconnected as error:
        if isinstance(error.__context__, TimeoutError):  # what it was made of
            raise RequestTimeout from error
        raise BadRequest(_CUT_SHORT) from error
    except HTTPException:
        raise
    except Exception as error:  # the server's own, of bytes that are not quite HTTP
        raise BadRequest(Text("The body does not come as HTTP sends bodies.")) from error
    announced = req.content_length
    if announced is not None and len(body) < announced:
        raise BadRequest(_CUT_SHORT)
    # A body sent in chunks has no length beforehand, and werkzeug stops reading at the limit.
    limit = req.max_content_length if announced is None else None
    if limit is not None and len(body) >= limit:
        raise RequestEntityTooLarge
    if body.strip() and req.mimetype != "application/json":
        raise UnsupportedMediaType(
            Text("The body comes as {type}; send Content-Type: application/json.").format(
                type=req.mimetype
            )
            if req.mimetype
            else Text("The body comes without a type; send Content-Type: application/json.")
        )
    return body


def _flat(path: str, found: Any) -> list[FieldProblem]:
    """Marshmallow's nested messages as one line a field."""
    if isinstance(found, dict):
        return [
            problem
            for name, inner in found.items()
            for problem in _flat(f"{path}.{name}".strip(".") if name != _BODY else path, inner)
        ]
    return [FieldProblem(path or "body", listed(found, " "))]


def _why_no_json(error: Exception) -> Text:
    if isinstance(error, RecursionError):
        return Text("The body is not JSON that can be read: it is nested too deeply.")
    if isinstance(error, msgspec.ValidationError):
        return Text("The body is not JSON that can be read: a number is too large.")
    if place := _BYTE.search(str(error)):
        return Text("The body is not JSON: the trouble begins at byte {byte}.").format(
            byte=place[1]
        )
    if isinstance(error, UnicodeError) or "UTF-8" in str(error):
        return Text("The body is not JSON: it is not in UTF-8.")
    return Text("The body is not JSON: it ends too early.")

"""How the API speaks HTTP: reading requests, and sending answers that are encoded once."""

import re
from collections.abc import Callable, Container
from functools import wraps
from inspect import unwrap
from typing import Any

import flask_smorest
import msgspec
from flask import Response, current_app, request
from marshmallow import Schema

from service.api import problems
from service.api.reading import asked, body_reader, query_reader
from service.changes import Terms
from service.errors import (
    BadIdempotencyKey,
    BadToken,
    BadVersion,
    FieldProblem,
    InvalidRequest,
    NoToken,
    RummyError,
)
from service.tables import Tables
from service.text import Text

_encode = msgspec.json.Encoder().encode
_VERSION = re.compile(r'(?:W/)?"([0-9]{1,15})\+?"')
_TAG = re.compile(r'(?:W/)?"([0-9]{1,15}\+?|[0-9a-f]{32})"')
_EVENT_ID = re.compile("[0-9]{1,15}")
_KEY = re.compile("[!-~](?:[ -~]{0,253}[!-~])?")
_HOW_TO_SEND_IT = Text("Send the token of your seat as `Authorization: Bearer <token>`.")
EVENT_STREAM = "text/event-stream"
PLAIN = "text/plain"


class Blueprint(flask_smorest.Blueprint):
    """A blueprint whose operations document what they can be refused with.

    Its views answer with a Response, and are called with what was read of the request: its body or
    query, as the decorators are from above.
    """

    def add_url_rule(
        self, rule: str, endpoint: str | None = None, view_func: Any = None, **options: Any
    ) -> None:
        """As flask-smorest has it, but the view is called without the wrappers of its decorators.

        Each of those is there for what it documents. Other decorators go below them.
        """
        readers = getattr(view_func, "readers", ())
        function = unwrap(view_func, stop=lambda inner: not hasattr(inner, "_apidoc"))

        @wraps(view_func)
        def view(**parameters: Any) -> Response:
            answered: Response = function(*[read() for read in readers], **parameters)
            return answered

        super().add_url_rule(rule, endpoint, view, **options)

    def arguments(
        self, schema: Schema, *, location: str = "json", **kwargs: Any
    ) -> Callable[[Any], Any]:
        """Read the body or query by the schema. A body without fields goes undocumented."""
        decorate = super().arguments(schema, location=location, **kwargs)
        read = query_reader(schema) if location == "query" else body_reader(schema)

        def decorator(function: Any) -> Any:
            decorated = decorate(function)
            decorated.readers = (read, *getattr(function, "readers", ()))
            if location == "query":
                decorated.reads_query = True
            # The refusals are documented by `refuses`, under names of our own; flask-smorest has no
            # other way to leave out its own.
            arguments = decorated._apidoc["arguments"]  # noqa: SLF001
            arguments["responses"].clear()
            if not schema.fields:
                arguments["parameters"].pop()
            return decorated

        return decorator

    @staticmethod
    def doc(**kwargs: Any) -> Callable[[Any], Any]:
        """As flask-smorest has it; the view is told the id of its operation too."""
        decorate = flask_smorest.Blueprint.doc(**kwargs)

        def decorator(function: Any) -> Any:
            decorated = decorate(function)
            if "operationId" in kwargs:
                decorated.operation_id = kwargs["operationId"]
            return decorated

        return decorator

    def refuses(self, *kinds: type[RummyError], http: tuple[int, ...] = ()) -> Any:
        """Document the leaves, and the framework's statuses, that an operation refuses with."""
        return self.doc(
            responses={**problems.documented(*kinds), **problems.documented_http(*http)}
        )


def told_apart(field: str, names: dict[str, str]) -> dict[str, Any]:
    """The schema of a union: the names of its schemas by the value that `field` has in each."""
    references = {value: f"#/components/schemas/{name}" for value, name in names.items()}
    return {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": field, "mapping": references},
    }


def refuse_unread_query() -> None:
    """Refuse a query where none is read: a wish must not go unheard. For before_request."""
    if not asked().query_string:
        return
    view = current_app.view_functions[request.endpoint or ""]
    if request.method == "OPTIONS":  # a browser asks beforehand, for whatever will be asked there
        return
    if request.args and not getattr(view, "reads_query", False):
        reason = Text("Unknown field.")
        raise InvalidRequest(tuple(FieldProblem(name, reason) for name in request.args))


def tables() -> Tables:
    """The use cases of this app."""
    use_cases: Tables = current_app.extensions["tables"]
    return use_cases


def answer(
    body: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """The structure as JSON. Most differ by seat and time: unless said, nobody may keep them."""
    sent = {"Content-Type": "application/json", "Cache-Control": "no-store", **(headers or {})}
    return Response(_encode(body), status, sent)


def plain(text: str, headers: dict[str, str]) -> Response:
    """The text as it is."""
    return Response(text, headers=headers, mimetype=PLAIN)


def token() -> str | None:
    """The seat token that came with the request. Raises BadToken if it is not sent as one."""
    header = _header("HTTP_AUTHORIZATION")
    if header is None:
        return None
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "bearer" or not credentials.strip():
        raise BadToken(_HOW_TO_SEND_IT)
    return credentials.strip()


def needed_token() -> str:
    """The seat token of a request that has to have one. Raises NoToken, and as `token` does."""
    given = token()
    if given is None:
        raise NoToken(_HOW_TO_SEND_IT)
    return given


def terms() -> Terms:
    """What If-Match and Idempotency-Key ask for. Raises BadVersion and BadIdempotencyKey."""
    return Terms(_pinned_version(), _idempotency_key())


def first_terms() -> Terms:
    """What Idempotency-Key asks for, where there is no version yet. Raises BadIdempotencyKey."""
    return Terms(None, _idempotency_key())


def wants(kind: str) -> bool:
    """Whether the caller takes that kind of answer rather than JSON."""
    if _header("HTTP_ACCEPT") in {None, "*/*", "application/json"}:
        return False
    return request.accept_mimetypes.best_match(["application/json", kind]) == kind


def last_event_id() -> int | None:
    """The event that Last-Event-ID resumes a stream after. Raises InvalidRequest."""
    header = request.headers.get("Last-Event-ID", "").strip()
    if not header:
        return None
    if not _EVENT_ID.fullmatch(header):
        raise InvalidRequest((FieldProblem("Last-Event-ID", Text("Is the `id` of an event.")),))
    return int(header)


def known_tags() -> Container[str]:
    """The tags of the views that the caller has by If-None-Match; what is no tag is passed over."""
    header = (_header("HTTP_IF_NONE_MATCH") or "").strip()
    if header == "*":
        return _Everything()
    found = (_TAG.fullmatch(tag.strip()) for tag in header.split(","))
    return {tag[1] for tag in found if tag is not None}


def etag(tag: str) -> str:
    """The ETag of a view."""
    return f'"{tag}"'


def _header(name: str) -> str | None:
    """The header by the name that WSGI has for it, so that each look spells no name anew."""
    header: str | None = asked().environ.get(name)
    return header


def _idempotency_key() -> str | None:
    header = _header("HTTP_IDEMPOTENCY_KEY")
    if header is None:
        return None
    if not _KEY.fullmatch(header.strip()):
        raise BadIdempotencyKey(
            Text("An Idempotency-Key has 1 to 255 printable ASCII characters, such as a UUID.")
        )
    return header.strip()


def _pinned_version() -> int | None:
    """The version that If-Match pins the request to. Raises BadVersion if it is not one."""
    header = _header("HTTP_IF_MATCH")
    if header is None or header.strip() == "*":
        return None
    match = _VERSION.fullmatch(header.strip())
    if match is None:
        raise BadVersion(
            Text('If-Match takes one version in quotes, such as "12", as the ETag gives it.')
        )
    return int(match[1])


class _Everything(Container[str]):
    def __contains__(self, _: object) -> bool:
        return True

"""How the API speaks HTTP: reading requests, and sending answers that are encoded once."""

import re
from collections.abc import Callable, Container
from typing import Any, NoReturn, cast

import flask_smorest
import msgspec
from flask import Request, Response, current_app, request
from marshmallow import Schema, ValidationError
from webargs.core import missing
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import (
    BadRequest,
    ClientDisconnected,
    HTTPException,
    RequestEntityTooLarge,
    RequestTimeout,
    UnsupportedMediaType,
)

from service.api import problems
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
from service.text import Text, listed

_encode = msgspec.json.Encoder().encode
_VERSION = re.compile(r'(?:W/)?"([0-9]{1,15})\+?"')
_TAG = re.compile(r'(?:W/)?"([0-9]{1,15}\+?|[0-9a-f]{32})"')
_EVENT_ID = re.compile("[0-9]{1,15}")
_KEY = re.compile("[!-~](?:[ -~]{0,253}[!-~])?")
_BODY = "_schema"
_MOST_FIELDS = 50
"""So many wrong fields are named, so that no answer is far longer than its request."""
_BYTE = re.compile(r"\(byte ([0-9]+)\)")
_CUT_SHORT = Text("The body ends before the length that was announced.")
_HOW_TO_SEND_IT = Text("Send the token of your seat as `Authorization: Bearer <token>`.")
_NO_DEVICES = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
EVENT_STREAM = "text/event-stream"
PLAIN = "text/plain"


def _number(text: str) -> int | float:
    """A number with a fraction; 2.0 is the whole number 2 in JSON, whatever wrote it so."""
    number = float(text)
    return int(number) if number.is_integer() else number


_decode = msgspec.json.Decoder(float_hook=_number).decode


class Parser(FlaskParser):
    """Reads bodies as JSON and nothing else, and names every field that is wrong."""

    def __init__(self) -> None:
        # None leaves it to the schemas, which refuse what they do not know.
        super().__init__(unknown=None)

    def load_json(self, req: Request, schema: Schema) -> Any:
        body = _body(req)
        if not body.strip():
            return {}
        if req.mimetype != "application/json":
            raise UnsupportedMediaType(
                Text("The body comes as {type}; send Content-Type: application/json.").format(
                    type=req.mimetype
                )
                if req.mimetype
                else Text("The body comes without a type; send Content-Type: application/json.")
            )
        try:
            return _decode(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadRequest(_why_no_json(error)) from error

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        twice = [name for name, values in req.args.lists() if len(values) > 1]
        if twice:
            reason = Text("Is there twice.")
            raise InvalidRequest(tuple(FieldProblem(name, reason) for name in twice))
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
        fields = _flat("", found)
        more = len(fields) - _MOST_FIELDS
        if more > 0:
            others = Text("More fields with something wrong: {more}").format(more=more)
            fields = [*fields[:_MOST_FIELDS], FieldProblem("body", others)]
        raise InvalidRequest(tuple(fields))


class Blueprint(flask_smorest.Blueprint):
    """A blueprint whose operations document what they can be refused with."""

    ARGUMENTS_PARSER = Parser()

    def arguments(
        self, schema: Schema, *, location: str = "json", **kwargs: Any
    ) -> Callable[[Any], Any]:
        """As flask-smorest has it; a body without fields goes undocumented."""
        decorate = super().arguments(schema, location=location, **kwargs)

        def decorator(function: Any) -> Any:
            decorated = decorate(function)
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
    view = current_app.view_functions[request.endpoint or ""]
    if request.method == "OPTIONS":  # a browser asks beforehand, for whatever will be asked there
        return
    if request.args and not getattr(view, "reads_query", False):
        reason = Text("Unknown field.")
        raise InvalidRequest(tuple(FieldProblem(name, reason) for name in request.args))


def ignore_if_match() -> None:
    """If-Match pins changes to a version, and reading changes nothing. For before_request.

    What sends pages and files would refuse it, and not as a problem.
    """
    if request.method in {"GET", "HEAD"}:
        request.environ.pop("HTTP_IF_MATCH", None)


def harden(response: Response) -> Response:
    """Tell browsers to take every answer for what it says it is, and to give it to no other page.

    Pages of origins that are allowed to (`cors`) read them nevertheless: they ask for that. That
    this is HTTPS only whoever ends TLS can promise (Strict-Transport-Security).
    """
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Permissions-Policy"] = _NO_DEVICES
    response.headers.setdefault(
        "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"
    )
    return response


def tables() -> Tables:
    """The use cases of this app."""
    return cast(Tables, current_app.extensions["tables"])


def answer(
    body: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """The structure as JSON. Most differ by seat and time: unless said, nobody may keep them."""
    response = Response(_encode(body), status, headers, mimetype="application/json")
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def plain(text: str, headers: dict[str, str]) -> Response:
    """The text as it is."""
    return Response(text, headers=headers, mimetype=PLAIN)


def token() -> str | None:
    """The seat token that came with the request. Raises BadToken if it is not sent as one."""
    header = request.headers.get("Authorization")
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
    header = request.headers.get("If-None-Match", "").strip()
    if header == "*":
        return _Everything()
    found = (_TAG.fullmatch(tag.strip()) for tag in header.split(","))
    return {tag[1] for tag in found if tag is not None}


def etag(tag: str) -> str:
    """The ETag of a view."""
    return f'"{tag}"'


def _idempotency_key() -> str | None:
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return None
    if not _KEY.fullmatch(header.strip()):
        raise BadIdempotencyKey(
            Text("An Idempotency-Key has 1 to 255 printable ASCII characters, such as a UUID.")
        )
    return header.strip()


def _pinned_version() -> int | None:
    """The version that If-Match pins the request to. Raises BadVersion if it is not one."""
    header = request.headers.get("If-Match")
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


def _body(req: Request) -> bytes:
    """The whole body, within the limit. Raises RequestEntityTooLarge and BadRequest."""
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
    if req.content_length is not None and len(body) < req.content_length:
        raise BadRequest(_CUT_SHORT)
    # A body sent in chunks has no length beforehand, and werkzeug stops reading at the limit.
    limit = req.max_content_length
    if req.content_length is None and limit is not None and len(body) >= limit:
        raise RequestEntityTooLarge
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

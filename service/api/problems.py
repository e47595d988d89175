"""Errors as answers: every refusal is RFC 9457 problem+json; the statuses stand in one table."""

import logging
from collections.abc import Callable
from typing import Annotated, Any, cast
from urllib.parse import quote

import msgspec
from flask import Flask, Response, request
from msgspec import Meta, Struct, field
from msgspec.structs import replace
from werkzeug.exceptions import HTTPException

from service import current, errors
from service.api import language
from service.catalogue import CATALOGUE
from service.errors import FieldProblem, OptionProblem, Param, RummyError
from service.rummy.model import Move
from service.text import Text, said

MIMETYPE = "application/problem+json"

STATUS: dict[type[RummyError], int] = {
    errors.BadInput: 422,
    errors.NotIdentified: 401,
    errors.NotAllowed: 403,
    errors.NotFound: 404,
    errors.Refused: 409,
    errors.Stale: 412,
    errors.TooMany: 429,
    errors.Unavailable: 503,
}
"""The HTTP status of each branch of the tree of errors."""

_OF_HTTP = {
    400: "bad_request",
    404: "no_such_route",
    405: "method_not_allowed",
    408: "body_too_slow",
    413: "body_too_large",
    415: "unsupported_media_type",
    500: "internal_error",
}
"""The code of what the framework itself refuses, by status; the catalogue has the titles."""

_OWN_WORDS = {
    404: Text("Nothing is served here; /docs shows what there is, under /v1."),
    405: Text("The header Allow names the methods of this address."),
    408: Text("The service has waited for the body as long as it waits for any."),
    413: Text("No request of this service needs a body so large."),
}
"""What to say instead of the framework's own sentences, by status."""

_REFUSED = Text("The request was refused")
_UNREAD = {
    400: Text("The request is not written as HTTP has it."),
    408: Text("The request did not arrive in time."),
    414: Text("The address is longer than any of this service."),
    417: Text("Nothing but Expect: 100-continue can be expected."),
    431: Text("The headers are more, or longer, than the service reads."),
    501: Text("No such coding of a body is known here."),
}
"""What the server refuses by itself, by status."""

_RETRY_AFTER = {
    "Retry-After": {
        "description": "After how many seconds to try again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    }
}
_HEADERS = {
    401: {
        "WWW-Authenticate": {
            "description": "How to identify oneself.",
            "required": True,
            "schema": {"type": "string", "const": "Bearer"},
        }
    },
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}
"""The headers that come with a refusal of that status, for the contract."""

_log = logging.getLogger(__name__)


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused. A refusal has changed nothing."""

    type: Annotated[
        str,
        Meta(
            description="Where the code is explained.",
            extra_json_schema={
                "format": "uri-reference",
                "pattern": "^/(.*/)?errors/[a-z0-9_]+$|^about:blank$",
            },
        ),
    ]
    title: Annotated[str, Meta(description="What the code means, in a language of the caller's.")]
    status: Annotated[
        int,
        Meta(
            description="The HTTP status.",
            extra_json_schema={"minimum": 400, "maximum": 599},
        ),
    ]
    detail: Annotated[
        str, Meta(description="What is wrong with this very request, in that language.")
    ]
    instance: Annotated[
        str,
        Meta(
            description="The path of the request.",
            extra_json_schema={"format": "uri-reference"},
        ),
    ]
    code: Annotated[
        str,
        Meta(
            description="Stable, for programs. Each operation lists its own by status.",
            extra_json_schema={"pattern": "^[a-z0-9_]+$"},
        ),
    ]
    rule: Annotated[
        errors.Clause | None,
        Meta(
            description="The clause that stands in the way; left out, never null, where none does."
        ),
    ] = None
    params: Annotated[
        dict[str, Param], Meta(description="The values that `detail` speaks of.")
    ] = {}
    instead: Annotated[
        tuple[Move, ...],
        Meta(
            description="With a refused move: up to three legal moves near to it, the nearest "
            "first, as bodies for POST /v1/games/{game_id}/{move}. None where there is none."
        ),
    ] = field(name="try", default=())
    fields: Annotated[
        tuple[FieldProblem, ...], Meta(description="With `invalid_request`: every field at fault.")
    ] = ()
    options: Annotated[
        tuple[OptionProblem, ...], Meta(description="With `options_refused`: every problem found.")
    ] = ()


def status_of(kind: type[RummyError]) -> int:
    """The HTTP status of a leaf, by its branch."""
    return next(STATUS[branch] for branch in kind.__mro__ if branch in STATUS)


def status_of_code(code: str) -> int:
    """The HTTP status of a code of the catalogue."""
    kind = CATALOGUE[code].kind
    if kind is not None:
        return status_of(kind)
    return next(status for status, known in _OF_HTTP.items() if known == code)


def register(app: Flask) -> None:
    """Answer every error of the app as a problem."""
    app.register_error_handler(RummyError, refusal)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _failure)


def refusal(error: RummyError) -> Response:
    """The error as an answer."""
    problem = Problem(
        type=_page(error.code),
        title=error.title,
        status=status_of(type(error)),
        detail=error.detail,
        instance=_place(),
        code=error.code,
        rule=error.rule,
        params=dict(error.params),
        instead=cast(tuple[Move, ...], error.instead) if isinstance(error, errors.Refused) else (),
        fields=error.fields if isinstance(error, errors.InvalidRequest) else (),
        options=error.problems if isinstance(error, errors.OptionsRefused) else (),
    )
    headers = {}
    if isinstance(error, errors.TooMany | errors.Unavailable):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, errors.NotIdentified):
        headers["WWW-Authenticate"] = "Bearer"
    return _answer(problem, headers)


def documented(*kinds: type[RummyError]) -> dict[str, Any]:
    """The responses of an operation that can be refused with these leaves, for its document."""
    by_status: dict[int, dict[str, str]] = {}
    for kind in kinds:
        by_status.setdefault(status_of(kind), {})[kind.code] = kind.title
    return {str(status): _response(status, titles) for status, titles in by_status.items()}


def documented_http(*statuses: int) -> dict[str, Any]:
    """The responses of an operation that the framework itself can refuse, for its document."""
    codes = {status: _OF_HTTP[status] for status in statuses}
    return {
        str(status): _response(status, {code: CATALOGUE[code].title})
        for status, code in codes.items()
    }


def of_server(status: int) -> tuple[str, bytes]:
    """Code and body of what the server refuses before there is a request, and so in English."""
    code = _OF_HTTP.get(status, f"http_{status}")
    known = CATALOGUE.get(code)
    title = known.title if known else _UNREAD.get(status, _REFUSED)
    problem = Problem(
        type=f"/errors/{code}" if known else "about:blank",
        title=title,
        status=status,
        detail=_UNREAD.get(status, title),
        instance="",
        code=code,
    )
    english = language.translator(language.LANGUAGES[0])
    return code, msgspec.json.encode(_said(problem, english))


def _http_error(error: HTTPException) -> Response:
    status = error.code or 500
    code = _OF_HTTP.get(status)
    title = CATALOGUE[code].title if code else _REFUSED
    # The framework's own sentences are in English only, so they are left out.
    own = error.description
    headers = {
        name: value for name, value in error.get_headers() if name in {"Allow", "Retry-After"}
    }
    return _answer(
        Problem(
            type=_page(code) if code else "about:blank",  # which says: no more than the status
            title=title,
            status=status,
            detail=own if isinstance(own, Text) else _OWN_WORDS.get(status, title),
            instance=_place(),
            code=code or f"http_{status}",
        ),
        headers,
    )


def _failure(error: Exception) -> Response:
    """Something that nobody foresaw: the log gets all of it, the client nothing but the fact."""
    _log.exception("A request failed")
    code = _OF_HTTP[500]
    return _answer(
        Problem(
            type=_page(code),
            title=CATALOGUE[code].title,
            status=500,
            detail=Text("The service failed at this request; it has been logged."),
            instance=_place(),
            code=code,
        ),
        {},
    )


def _answer(problem: Problem, headers: dict[str, str]) -> Response:
    """The problem as an answer in the caller's language."""
    current.note_code(problem.code)
    spoken = language.of_request()
    body = msgspec.json.encode(_said(problem, language.translator(spoken)))
    response = Response(body, problem.status, headers, mimetype=MIMETYPE)
    response.headers["Cache-Control"] = "no-store"
    return language.marked(response, spoken)


def _said(problem: Problem, translate: Callable[[str], str]) -> Problem:
    """The problem with each of its sentences in another language."""
    return replace(
        problem,
        title=said(problem.title, translate),
        detail=said(problem.detail, translate),
        fields=tuple(
            replace(wrong, reason=said(wrong.reason, translate)) for wrong in problem.fields
        ),
        options=tuple(
            replace(option, reason=said(option.reason, translate)) for option in problem.options
        ),
    )


def _place() -> str:
    """The path of the request as its sender sees it."""
    return quote(request.script_root + request.path)


def _page(code: str) -> str:
    """The page of the catalogue about the code; behind a proxy the service may have a prefix."""
    return f"{quote(request.script_root)}/errors/{code}"


def _response(status: int, titles: dict[str, str]) -> dict[str, Any]:
    """The response of a status; `x-codes` are its codes once more, for programs."""
    return {
        "description": "\n".join(f"* `{code}`: {title}" for code, title in titles.items()),
        "headers": language.HEADERS | _HEADERS.get(status, {}),
        "content": {MIMETYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        "x-codes": list(titles),
    }

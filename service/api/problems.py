"""Errors as answers: every refusal is RFC 9457 problem+json; the statuses stand in one table."""

import logging
from typing import Annotated, Any

import msgspec
from flask import Flask, Response, request
from msgspec import Meta, Struct
from werkzeug.exceptions import HTTPException

from service import errors
from service.errors import FieldProblem, OptionProblem, Param, RummyError

MIMETYPE = "application/problem+json"

STATUS: dict[type[RummyError], int] = {
    errors.BadInput: 422,
    errors.NotIdentified: 401,
    errors.NotAllowed: 403,
    errors.NotFound: 404,
    errors.Refused: 409,
    errors.Stale: 412,
    errors.Unavailable: 503,
}
"""The HTTP status of each branch of the tree of errors."""

_OF_HTTP = {
    400: ("bad_request", "The request cannot be read"),
    404: ("no_such_route", "There is nothing at this address"),
    405: ("method_not_allowed", "This address does not answer that method"),
    413: ("body_too_large", "The body is too large"),
    415: ("unsupported_media_type", "The body must be application/json"),
    500: ("internal_error", "The service failed"),
}
"""Code and title of what the framework itself refuses, by status."""

_OWN_WORDS = {
    404: "Nothing is served here; /docs shows what there is, under /v1.",
    405: "The header Allow names the methods of this address.",
    413: "No request of this service needs a body so large.",
}
"""What to say instead of the framework's own sentences, by status."""

_HEADERS = {
    401: {
        "WWW-Authenticate": {
            "description": "How to identify oneself.",
            "required": True,
            "schema": {"type": "string", "const": "Bearer"},
        }
    },
    503: {
        "Retry-After": {
            "description": "After how many seconds to try again.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    },
}
"""The headers that come with a refusal, for the contract."""

_log = logging.getLogger(__name__)


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused. A refusal has changed nothing."""

    type: Annotated[
        str,
        Meta(
            description="A URN that ends in the code.",
            extra_json_schema={"pattern": "^urn:rummy:problem:[a-z0-9_]+$"},
        ),
    ]
    title: Annotated[str, Meta(description="What the code means.")]
    status: Annotated[
        int,
        Meta(
            description="The HTTP status.",
            extra_json_schema={"minimum": 400, "maximum": 599},
        ),
    ]
    detail: Annotated[str, Meta(description="What is wrong with this very request.")]
    instance: Annotated[str, Meta(description="The path of the request.")]
    code: Annotated[
        str,
        Meta(
            description="Stable, for programs. Each operation lists its own by status.",
            extra_json_schema={"pattern": "^[a-z0-9_]+$"},
        ),
    ]
    rule: Annotated[str | None, Meta(description="The clause that stands in the way.")] = None
    params: Annotated[
        dict[str, Param], Meta(description="The values that `detail` speaks of.")
    ] = {}
    fields: Annotated[
        tuple[FieldProblem, ...], Meta(description="With `invalid_request`: every field at fault.")
    ] = ()
    options: Annotated[
        tuple[OptionProblem, ...], Meta(description="With `options_refused`: every problem found.")
    ] = ()


def status_of(kind: type[RummyError]) -> int:
    """The HTTP status of a leaf, by its branch."""
    return next(STATUS[branch] for branch in kind.__mro__ if branch in STATUS)


def register(app: Flask) -> None:
    """Answer every error of the app as a problem."""
    app.register_error_handler(RummyError, _refusal)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _failure)


def documented(*kinds: type[RummyError]) -> dict[str, Any]:
    """The responses of an operation that can be refused with these leaves, for its document."""
    by_status: dict[int, dict[str, str]] = {}
    for kind in kinds:
        by_status.setdefault(status_of(kind), {})[kind.code] = kind.title
    return {str(status): _response(status, titles) for status, titles in by_status.items()}


def documented_http(*statuses: int) -> dict[str, Any]:
    """The responses of an operation that the framework itself can refuse, for its document."""
    return {str(status): _response(status, dict([_OF_HTTP[status]])) for status in statuses}


def _refusal(error: RummyError) -> Response:
    status = status_of(type(error))
    problem = Problem(
        type=_urn(error.code),
        title=error.title,
        status=status,
        detail=error.detail,
        instance=request.path,
        code=error.code,
        rule=error.rule,
        params=dict(error.params),
        fields=error.fields if isinstance(error, errors.InvalidRequest) else (),
        options=error.problems if isinstance(error, errors.OptionsRefused) else (),
    )
    headers = {}
    if isinstance(error, errors.Unavailable):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, errors.NotIdentified):
        headers["WWW-Authenticate"] = "Bearer"
    return _answer(problem, headers)


def _http_error(error: HTTPException) -> Response:
    status = error.code or 500
    code, title = _OF_HTTP.get(status, (f"http_{status}", error.name))
    headers = {
        name: value for name, value in error.get_headers() if name in {"Allow", "Retry-After"}
    }
    return _answer(
        Problem(
            type=_urn(code),
            title=title,
            status=status,
            detail=_OWN_WORDS.get(status) or error.description or title,
            instance=request.path,
            code=code,
        ),
        headers,
    )


def _failure(error: Exception) -> Response:
    """Something that nobody foresaw: the log gets all of it, the client nothing but the fact."""
    _log.exception("%s %r failed", request.method, request.path)
    code, title = _OF_HTTP[500]
    return _answer(
        Problem(
            type=_urn(code),
            title=title,
            status=500,
            detail="The service failed at this request; it has been logged.",
            instance=request.path,
            code=code,
        ),
        {},
    )


def _answer(problem: Problem, headers: dict[str, str]) -> Response:
    body = msgspec.json.encode(problem, enc_hook=str)  # a Text is no str to msgspec
    response = Response(body, problem.status, headers, mimetype=MIMETYPE)
    response.headers["Cache-Control"] = "no-store"
    return response


def _urn(code: str) -> str:
    return f"urn:rummy:problem:{code}"


def _response(status: int, titles: dict[str, str]) -> dict[str, Any]:
    """The response of a status; `x-codes` are its codes once more, for programs."""
    response = {
        "description": "\n".join(f"* `{code}`: {title}" for code, title in titles.items()),
        "content": {MIMETYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        "x-codes": list(titles),
    }
    return response | ({"headers": _HEADERS[status]} if status in _HEADERS else {})

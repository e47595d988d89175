"""The endpoints that explain what the service refuses: the catalogue of its codes."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated
from urllib.parse import quote

from flask import Response, request
from msgspec import Meta, Struct

from service import errors
from service.api import pages
from service.api.http import Blueprint, refuse_unread_query
from service.api.problems import status_of_code
from service.api.sheets import clause_address
from service.catalogue import CATALOGUE, Entry
from service.text import Text, said

refusals = Blueprint(
    "refusals", __name__, url_prefix="/errors", description="What the refusals mean."
)
refusals.before_request(refuse_unread_query)

_CODE = {
    "in": "path",
    "name": "code",
    "required": True,
    "schema": {"type": "string", "pattern": "^[a-z0-9_]+$"},
    "description": "The `code` of a refusal; its `type` is this address.",
    "example": "upcard_returned",
}
_PAGE = pages.documented(pages.HTML)

_LIST = SimpleNamespace(
    title=Text("The refusals"),
    about=Text(
        "A refusal changes nothing. Its code is stable, for programs; here is what each of them "
        "means, in the order in which requests meet them."
    ),
)
_ONE = SimpleNamespace(
    rules=Text("The clauses that it can name"),
    params=Text("The values that can come with it"),
)


class ClauseLink(Struct, frozen=True):
    """A clause, and where it can be read."""

    rule: errors.Clause
    url: Annotated[
        str,
        Meta(
            description="The clause on the sheet of a variant that has it.",
            extra_json_schema={"format": "uri-reference"},
        ),
    ]


class ParamView(Struct, frozen=True):
    """A value that a refusal can carry in `params`."""

    name: Annotated[str, Meta(description="Its name in `params`.")]
    meaning: Annotated[str, Meta(description="What its value says, in the caller's language.")]


class ErrorView(Struct, frozen=True):
    """What a code means, in the language of the answer."""

    code: Annotated[str, Meta(description="Stable, for programs.")]
    status: Annotated[
        int,
        Meta(
            description="The HTTP status that it comes with.",
            extra_json_schema={"minimum": 400, "maximum": 599},
        ),
    ]
    title: Annotated[str, Meta(description="What it means, in a few words.")]
    explanation: Annotated[str, Meta(description="Why it is so, and what to do.")]
    rules: Annotated[
        tuple[ClauseLink, ...], Meta(description="The clauses that its `rule` can name.")
    ]
    params: Annotated[
        tuple[ParamView, ...], Meta(description="The values that its `params` can have.")
    ]


class ErrorList(Struct, frozen=True):
    """All codes, in the order in which requests meet them."""

    errors: Annotated[
        tuple[ErrorView, ...], Meta(description="Each code of the service once, with its meaning.")
    ]


@refusals.route("", methods=["GET"], parameters=pages.PARAMETERS)
@refusals.response(200, "ErrorList", description="All codes.", headers=pages.HEADERS)
@refusals.alt_response(304, description="The caller has this answer.", headers=pages.ETAG)
@refusals.refuses(errors.InvalidRequest)
@refusals.doc(operationId="listErrors", security=[], responses=_PAGE)
def list_errors() -> Response:
    """List the refusals

    Every code with its status, what it means and what to do, the clauses that it can name and the
    values that it can carry; with `Accept: text/html` as a page. In the caller's language.
    """
    return pages.shown(_error_list, {pages.HTML: "errors.html"}, _LIST)


@refusals.route("/<code>", methods=["GET"], parameters=[_CODE, *pages.PARAMETERS])
@refusals.response(200, "ErrorView", description="What it means.", headers=pages.HEADERS)
@refusals.alt_response(304, description="The caller has this answer.", headers=pages.ETAG)
@refusals.refuses(errors.InvalidRequest, errors.NoSuchError)
@refusals.doc(operationId="getError", security=[], responses=_PAGE)
def get_error(code: str) -> Response:
    """Explain a refusal

    What the code means and what to do; with `Accept: text/html` as a page. The `type` of every
    refusal is this address.
    """
    entry = _entry(code)
    return pages.shown(
        lambda translate: _error_view(entry, translate),
        {pages.HTML: "error.html"},
        _ONE,
        addresses={rule: f"../{clause_address(rule)}" for rule in entry.rules},
    )


def _entry(code: str) -> Entry:
    try:
        return CATALOGUE[code]
    except KeyError:
        raise errors.NoSuchError(
            Text("There is no code {asked}; GET /errors lists all of them."), asked=code
        ) from None


def _error_list(translate: Callable[[str], str]) -> ErrorList:
    return ErrorList(tuple(_error_view(entry, translate) for entry in CATALOGUE.values()))


def _error_view(entry: Entry, translate: Callable[[str], str]) -> ErrorView:
    root = quote(request.script_root)
    return ErrorView(
        code=entry.code,
        status=status_of_code(entry.code),
        title=said(entry.title, translate),
        explanation=said(entry.explanation, translate),
        rules=tuple(ClauseLink(rule, f"{root}/{clause_address(rule)}") for rule in entry.rules),
        params=tuple(
            ParamView(name, said(meaning, translate)) for name, meaning in entry.params.items()
        ),
    )


ANSWERS = (ErrorList, ErrorView)
"""The structures that these endpoints answer with, for the contract."""

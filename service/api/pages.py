"""Answers for people as well as programs: as JSON, as a page, some as Markdown, by Accept.

Every address in them is relative, so that they work under any path prefix.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import msgspec
from flask import Blueprint, Flask, Response, render_template, request
from markupsafe import Markup, escape
from msgspec import Struct

from service.api import language
from service.rummy.rules import PRESETS
from service.text import Text, said

JSON = "application/json"
MARKDOWN = "text/markdown"
HTML = "text/html"

PUBLIC = "public, max-age=300"
"""For what changes with the service alone."""

ETAG = {
    "ETag": {
        "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'},
        "description": "Of this representation in this language, for If-None-Match.",
        "required": True,
    },
}
"""The headers of the answer that there is nothing new, for the contract."""

HEADERS = ETAG | language.HEADERS
"""The headers of all other answers here, for the contract."""

IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string", "examples": ['"d2a84f4b8b650937ec8f73cd8be2c74a"']},
    "description": "The ETags that the caller has; 304 if the answer is one of them.",
}

PARAMETERS = [IF_NONE_MATCH, language.PARAMETER]
"""The headers that the answers here depend on, for the contract."""

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
_MARKED = re.compile(r"(`[^`]+`|\b[a-z-]+\.[1-9][0-9]?\b)")
"""What stands out in a sentence: names in backticks, and clauses."""
_CODE = re.compile(r"(`[^`]+`)")
_MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>#|])")

_WORDS = SimpleNamespace(
    skip=Text("To the content"),
    contents=Text("Contents"),
    rules=Text("The rules of the variants"),
    refusals=Text("All refusals explained"),
    docs=Text("The API"),
)
"""What every page says."""


def register(app: Flask) -> None:
    """Let the app render the pages."""
    blueprint = Blueprint("pages", __name__, template_folder="templates")
    blueprint.add_app_template_filter(_linked, "linked")
    blueprint.add_app_template_filter(_in_markdown, "in_markdown")
    blueprint.add_app_template_filter(_value, "value")
    app.register_blueprint(blueprint)


def documented(*kinds: str) -> dict[int, Any]:
    """The other forms of a JSON answer, for the contract."""
    return {200: {"content": {kind: {"schema": {"type": "string"}} for kind in kinds}}}


def shown(
    make: Callable[[Callable[[str], str]], Struct],
    templates: Mapping[str, str],
    words: SimpleNamespace,
    *,
    caching: str = PUBLIC,
    vary: tuple[str, ...] = (),
    **context: object,
) -> Response:
    """The answer in the caller's language, as JSON or by the template of the form that is wanted.

    `make` makes it, given how to translate. The templates get it as `answer`, their `words`, and
    the `context`.
    """
    spoken = language.of_request()
    translate = language.translator(spoken)
    answer = make(translate)
    kind = request.accept_mimetypes.best_match([JSON, *templates], default=JSON)
    content = (
        msgspec.json.encode(answer)
        if kind == JSON
        else render_template(
            templates[kind],
            answer=answer,
            words=words,
            common=_WORDS,
            say=partial(said, translate=translate),
            presets=PRESETS.values(),
            language=spoken,
            root="../" * (request.path.count("/") - 1),
            **context,
        ).encode()
    )
    response = Response(content, mimetype=kind)
    response.headers["Cache-Control"] = caching
    response.vary.update(("Accept", *vary))
    if kind == HTML:
        response.headers["Content-Security-Policy"] = _POLICY
    # Not of the content alone: in two languages it can be the same.
    response.set_etag(sha256(f"{kind} {spoken}\n".encode() + content).hexdigest()[:32])
    response.make_conditional(request)
    return language.marked(response, spoken)


def _linked(text: str, addresses: Mapping[str, str]) -> Markup:
    """The text with names as code, and each clause that has an address as a link to it."""
    return Markup("").join(_element(part, addresses) for part in _MARKED.split(text))


def _element(part: str, addresses: Mapping[str, str]) -> Markup:
    if part.startswith("`") and part.endswith("`") and len(part) > 1:
        return Markup("<code>{}</code>").format(part.strip("`"))
    if part in addresses:
        return Markup('<a href="{}">{}</a>').format(addresses[part], part)
    return escape(part)


def _in_markdown(text: str) -> str:
    """The text with the signs escaped that mean something in Markdown; names stay code."""
    parts = _CODE.split(text)
    return "".join(
        part if _CODE.fullmatch(part) else _MARKDOWN_SIGNS.sub(r"\\\1", part) for part in parts
    )


def _value(value: object) -> str:
    """The value of an option as it is written in JSON, a word without its quotes."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

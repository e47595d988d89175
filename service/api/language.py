"""In which language a request is answered, and how a sentence is said in it."""

import gettext
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from flask import Response, request

LANGUAGES = ("en", "sv", "da")
"""What the service speaks, the usual one first; the sentences themselves are in that."""

HEADER = {
    "description": "The language of what people read in the answer, by Accept-Language.",
    "required": True,
    "schema": {"type": "string", "x-extensible-enum": list(LANGUAGES)},
}
"""The header Content-Language, for the contract."""

HEADERS = {"Content-Language": {"$ref": "#/components/headers/ContentLanguage"}}
"""The header of an answer in the caller's language, for the contract."""

PARAMETER = {
    "in": "header",
    "name": "Accept-Language",
    "schema": {"type": "string", "examples": ["sv, en;q=0.5"]},
    "description": "The languages that the caller reads; the best of `en`, `sv` and `da` is taken.",
}
"""The header by which the caller wishes for a language, for the contract."""

_CATALOGUES = Path(__file__).parent.parent / "locale"
_SUBTAG = re.compile("[-_]")


def of_request() -> str:
    """The language that the caller understands best, by Accept-Language."""
    return best(request.accept_languages)


def best(wanted: Iterable[tuple[str, float]]) -> str:
    """The language for somebody with these wishes: language ranges and their quality.

    `sv-FI` is content with Swedish. What the service does not speak is passed over, and `*` is any
    language that was not named. The first language is for those who wish nothing, unless they
    refuse it (quality 0).
    """
    ranges = [(given.lower(), quality) for given, quality in wanted]
    refused = {given for given, quality in ranges if not quality}
    open_to = [language for language in LANGUAGES if language not in refused]
    named = {_SUBTAG.split(given)[0] for given, _ in ranges}
    for given, quality in sorted(ranges, key=lambda wish: -wish[1]):
        language = _SUBTAG.split(given)[0]
        if given == "*":
            language = next((other for other in LANGUAGES if other not in named), given)
        if quality and language in open_to:
            return language
    return (open_to or LANGUAGES)[0]


def translator(language: str) -> Callable[[str], str]:
    """What puts messages into one of LANGUAGES, for `service.text.said`."""
    return _TRANSLATORS[language]


def marked(response: Response, language: str) -> Response:
    """The response, saying in which language it is and that this was the caller's choice."""
    response.headers["Content-Language"] = language
    response.vary.add("Accept-Language")
    return response


def _catalogue(language: str) -> gettext.NullTranslations:
    if language == LANGUAGES[0]:
        return gettext.NullTranslations()
    return gettext.translation("rummy", _CATALOGUES, [language])


# Read when the service starts, so that a missing catalogue is no surprise later.
_TRANSLATORS = {language: _catalogue(language).gettext for language in LANGUAGES}

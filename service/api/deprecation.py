"""Operations that will go some day: what the contract and every answer of theirs say about it."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from flask import Flask, Response, request
from msgspec import Struct
from werkzeug.http import http_date

SHORTEST_NOTICE = timedelta(days=180)
"""So long a deprecated operation stays at least (docs/compatibility.md)."""

_HEADERS = {
    "Deprecation": {
        "description": "Since when the operation is deprecated: `@` and Unix seconds (RFC 9745).",
        "required": True,
        "schema": {"type": "string", "pattern": "^@[0-9]+$"},
    },
    "Link": {
        "description": "Where it is told what to do instead, with the relation `deprecation`.",
        "required": True,
        "schema": {"type": "string"},
    },
}
_SUNSET = {
    "Sunset": {
        "description": "From when on the operation may be gone (RFC 8594).",
        "required": True,
        "schema": {"type": "string"},
    },
}


class Deprecated(Struct, frozen=True):
    """Since when an operation is deprecated, when it may go, and where it is told what to do.

    The days begin at midnight in UTC. `sunset` None: no day is set yet.
    """

    since: date
    sunset: date | None
    link: str

    def __post_init__(self) -> None:
        assert (  # noqa: S101
            self.sunset is None or self.sunset >= self.since + SHORTEST_NOTICE
        ), f"the sunset is less than {SHORTEST_NOTICE.days} days away"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that say so in each answer."""
        said = (
            ("Deprecation", f"@{int(_midnight(self.since).timestamp())}"),
            ("Link", f'<{self.link}>; rel="deprecation"'),
        )
        return (
            said if self.sunset is None else (*said, ("Sunset", http_date(_midnight(self.sunset))))
        )


DEPRECATED: dict[str, Deprecated] = {}
"""The deprecated operations by operationId. A field or parameter is marked in its schema alone."""


def register(app: Flask, table: Mapping[str, Deprecated]) -> None:
    """Send the headers with every answer of these operations, refusals and streams included.

    Raises KeyError if an operation does not exist.
    """
    endpoints = {
        getattr(view, "operation_id", None): endpoint
        for endpoint, view in app.view_functions.items()
    }
    headers = {endpoints[name]: deprecated.headers for name, deprecated in table.items()}

    def say(response: Response) -> Response:
        for name, value in headers.get(request.endpoint or "", ()):
            response.headers.add(name, value)
        return response

    if headers:
        app.after_request(say)


def document_in(operation: dict[str, Any], table: Mapping[str, Deprecated]) -> None:
    """Tell of it in the contract, if the operation is one of them."""
    deprecated = table.get(operation["operationId"])
    if deprecated is None:
        return
    operation["deprecated"] = True
    operation["description"] += f"\n\n{_sentence(deprecated)}"
    said = _HEADERS if deprecated.sunset is None else _HEADERS | _SUNSET
    for response in operation["responses"].values():
        response["headers"] = response.get("headers", {}) | said


def _sentence(deprecated: Deprecated) -> str:
    until = "" if deprecated.sunset is None else f", and may be gone from {deprecated.sunset} on"
    return f"Deprecated since {deprecated.since}{until}: [what to do instead]({deprecated.link})."


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)

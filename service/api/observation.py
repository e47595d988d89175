"""What every request and answer has in common: an id, headers, a line in the log, its metrics.

It stands around the whole application, so that nothing is answered past it.
"""

import logging
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from flask import Flask
from werkzeug.wsgi import ClosingIterator

from service import current, metrics
from service.api.reading import asked

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEADER = "X-Request-ID"

_GAME_ID = re.compile("[a-z2-7]{16}")
_PARAMETER = re.compile("<(?:[^:>]+:)?([^>]+)>")
_CONTENT_SECURITY_POLICY = "Content-Security-Policy"
_NO_PAGE = (_CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'")
_HARDENING = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    (
        "Permissions-Policy",
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
)
"""They tell browsers to take every answer for what it says it is, and to give it to no other page.
Pages of origins that are allowed to (`cors`) read them nevertheless: they ask for that. That this
is HTTPS only whoever ends TLS can promise (Strict-Transport-Security)."""

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

_log = logging.getLogger("service.requests")


class Observed:
    """An application with each request seen from its beginning until its answer has been sent."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        seen = current.begin(method, environ.get("HTTP_X_REQUEST_ID"))
        if method in {"GET", "HEAD"}:
            # If-Match pins changes to a version, and reading changes nothing. What sends pages and
            # files would refuse it, and not as a problem.
            environ.pop("HTTP_IF_MATCH", None)

        def started(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            seen.status = int(status[:3])
            more = [(HEADER, seen.id), *seen.headers, *_HARDENING]
            if not any(name == _CONTENT_SECURITY_POLICY for name, _ in headers):
                more.append(_NO_PAGE)
            return start_response(status, headers + more, exc_info)

        def ended() -> None:
            # As a proxy in front is believed it: that has been put into the environment meanwhile.
            seen.address = environ.get("REMOTE_ADDR", "")
            tell(seen)

        try:
            return ClosingIterator(self._app(environ, started), ended)
        except BaseException:  # such as that the worker ends
            seen.let_go()
            raise


def register(app: Flask) -> None:
    """Let the app tell which operation a request is for."""

    @cache
    def names(endpoint: str, rule: str) -> tuple[str, str]:
        view = app.view_functions[endpoint]
        return getattr(view, "operation_id", "page"), _PARAMETER.sub(r"{\1}", rule)

    @app.before_request
    def note_operation() -> None:
        seen, sent = current.request(), asked()
        if seen is None or sent.url_rule is None:
            return
        seen.operation, seen.route = names(sent.url_rule.endpoint, sent.url_rule.rule)
        game = (sent.view_args or {}).get("game_id", "")
        if _GAME_ID.fullmatch(game):  # and nothing else that somebody may have put there
            seen.game = game


def tell(seen: current.Request) -> None:
    """Count and log a request that has been answered."""
    seen.let_go()
    metrics.labelled(metrics.REQUESTS, seen.operation, seen.status).inc()
    if seen.streams:
        metrics.STREAM_SECONDS.observe(seen.seconds)
    else:
        took = seen.seconds - seen.waited
        metrics.labelled(metrics.REQUEST_SECONDS, seen.operation).observe(took)
        if seen.waited:
            metrics.WAIT_SECONDS.observe(seen.waited)
    if seen.code:
        metrics.REFUSALS.labels(seen.code).inc()
    if _log.isEnabledFor(logging.INFO):
        _log.info(
            "%s %s %d",
            _method(seen),
            seen.route or "-",
            seen.status,
            extra={"fields": _fields(seen)},
        )
    current.end()


def _fields(seen: current.Request) -> dict[str, object]:
    fields = {
        "request_id": seen.id,
        "trace_id": seen.trace,
        "method": _method(seen),
        "operation": seen.operation,
        "route": seen.route,
        "status": seen.status,
        "code": seen.code,
        "game": seen.game,
        "seat": seen.seat,
        "duration_ms": _milliseconds(seen.seconds),
        "waited_ms": _milliseconds(seen.waited) or None,
        "stream": seen.streams or None,
        "address": seen.address[:64],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _method(seen: current.Request) -> str:
    return seen.method if seen.method in _METHODS else "other"


def _milliseconds(seconds: float) -> float:
    return round(1000 * seconds, 1)

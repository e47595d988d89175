"""Letting pages of other origins use the API, where the operator says so.

There are no cookies, and no page has a token that nobody gave it: so `*` lets nobody do what a
program on any machine could not do.
"""

from flask import Flask
from flask_cors import CORS

_ASKED = [
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "X-Request-ID",
]
"""What a request may have besides what every page may send."""

_TOLD = [
    "Deprecation",
    "ETag",
    "Idempotency-Replayed",
    "Link",
    "Location",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "Sunset",
    "WWW-Authenticate",
    "X-Request-ID",
]
"""What a page may read of an answer besides what it may read of any."""

_DAY = 86_400


def register(app: Flask, origins: tuple[str, ...]) -> None:
    """Let pages of these origins ask for everything, and read the answers."""
    # As plain text an origin would be taken for a pattern if it looks like one: none of these does.
    CORS(
        app,
        origins=list(origins),
        methods=["GET", "HEAD", "POST", "OPTIONS"],
        allow_headers=_ASKED,
        expose_headers=_TOLD,
        max_age=_DAY,
        send_wildcard=True,
    )

"""Answers that are sent as they are made: the log of a game as it grows, and long documents."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import msgspec
from flask import Response, request
from msgspec import Struct

from service import current
from service.api.http import EVENT_STREAM
from service.game import Game, Status
from service.tables import News
from service.views import GameView, log_entries

_RETRY_MS = 1000
"""When to come back after a stream has ended without `end`."""

_encode = msgspec.json.Encoder().encode


class End(Struct, frozen=True):
    """What the last event of a stream says; a stream that ends without it is to be resumed."""

    status: Status


def streamed(news: Iterator[News], view: Callable[[Game, int | None], GameView]) -> Response:
    """The news as a stream: a full view, then each entry of the log with its id.

    Raises what the first of the news raises, so that a refusal is still a problem.
    """
    first = next(news)
    current.note_stream()
    beginning = _event("game", first.last, _encode(view(first.game, first.seat)))
    response = Response(_events([beginning], news, _patience()), mimetype=EVENT_STREAM)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"  # or nginx would keep all of it back
    return response


def in_parts(parts: Iterator[bytes], headers: dict[str, str]) -> Response:
    """The parts of a JSON document, each made when the client has taken those before.

    Raises what the first part raises, so that a refusal is still a problem.
    """
    first = next(parts)
    return Response(_taken(first, parts, _patience()), headers=headers, mimetype="application/json")


def _patience() -> AbstractContextManager[None]:
    """What ends the connection of a client that takes nothing (`service.connections.Line`)."""
    line = request.environ.get("gunicorn.socket")
    return line.impatient() if line else nullcontext()


def _taken(
    first: bytes, parts: Iterator[bytes], patience: AbstractContextManager[None]
) -> Iterator[bytes]:
    with patience:
        yield first
        yield from parts


def _events(
    beginning: list[bytes], news: Iterator[News], patience: AbstractContextManager[None]
) -> Iterator[bytes]:
    with patience:
        yield f"retry: {_RETRY_MS}\n\n".encode() + beginning.pop()
        # A stream waits most of the time, and there are thousands: what was told need not be held
        # until there is something new. The server holds the last part, and sends nothing of this.
        yield b""
        yield from map(_text, news)


def _text(item: News) -> bytes:
    """What is sent of the news: made once for all who are told the same from the same seat."""
    if item.is_end:
        return _event("end", None, _encode(End(item.game.status)))
    text = item.batch.texts.get(item.seat)
    if text is None:
        entries = log_entries(item.game, item.batch.entries, item.seat)
        text = b"".join(_event("entry", entry.id, _encode(entry)) for entry in entries)
        item.batch.texts[item.seat] = text
    return text or b":\n\n"


def _event(kind: Literal["game", "entry", "end"], number: int | None, data: bytes) -> bytes:
    identity = b"" if number is None else b"id: %d\n" % number
    return b"event: %s\n%sdata: %s\n\n" % (kind.encode(), identity, data)

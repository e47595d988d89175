"""What a client may do with its connection: how slowly it may speak, and what it hears otherwise.

gunicorn leaves it to the server in front to wait for slow clients. Here a connection that says
nothing holds one of the places for others, so there is an end to it.
"""

import time
from http import HTTPStatus
from types import TracebackType
from typing import Any

import gevent
from gunicorn import util
from gunicorn.http import errors

FIRST_SECONDS = 10
"""A new connection has so long for the headers of its first request."""

CROWDED_SECONDS = 3
"""So long has any connection where most places are taken."""

BODY_SECONDS = 10
"""A body has to be there within so long: what anybody needs to say comes by the slowest line."""

_MOST_UNREAD = 256 * 1024
"""Of a body that was not wanted so much is passed over, so that the client reads its refusal."""

_LOOKING_AWAY_SECONDS = 1

_STATUS: dict[type[Exception], int] = {
    errors.LimitRequestLine: 414,
    errors.LimitRequestHeaders: 431,
    errors.ExpectationFailed: 417,
    errors.UnsupportedTransferCoding: 501,
}
_OUR_OWN_FAULT = (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName)


class Patience(gevent.Timeout):
    """So many seconds for the headers of the next request; then the connection just ends.

    It ends as quietly for who breaks off in the middle of them: gunicorn would log what was sent
    until then, and there may be a token in it.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds, False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        done: bool | None = super().__exit__(kind, error, trace)
        if isinstance(error, errors.NoMoreData):
            raise StopIteration("The client broke off.") from None
        return done


class TimelyBody:
    """The body of a request, which has to come soon: reading it raises TimeoutError.

    What is left of it when the request is answered is passed over, but not for ever.
    """

    failed = False

    def __init__(self, request: Any) -> None:
        self._request = request
        self._body = request.body
        self._until = time.monotonic() + BODY_SECONDS
        self._unread = _MOST_UNREAD
        self._is_answered = False

    def read(self, size: int | None = None) -> bytes:
        """The next bytes, or at the end none."""
        try:
            with gevent.Timeout(max(self._until - time.monotonic(), 0), TimeoutError):
                data: bytes = self._body.read(size)
        except BaseException:
            self.failed = True  # nobody knows where the next request would begin
            self._request.force_close()
            raise
        if self._is_answered:
            self._unread -= len(data)
            if self._unread < 0:
                raise StopIteration("The body has no end.")
        return data

    def answered(self) -> None:
        """From here on nobody wants it any more."""
        self._is_answered = True
        self._until = min(self._until, time.monotonic() + _LOOKING_AWAY_SECONDS)


def status_of(error: BaseException) -> int:
    """The HTTP status for what the server cannot make a request of, or cannot answer."""
    if not isinstance(error, errors.ParseException) or isinstance(error, _OUR_OWN_FAULT):
        return 500
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)


def refuse(client: Any, status: int, headers: dict[str, str]) -> str:
    """Tell the client in the form of all other refusals; the code of this one is returned."""
    # Imported in the worker, after gevent has patched what it builds on.
    from service.api.problems import MIMETYPE, of_server

    code, body = of_server(status)
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        "Connection: close\r\n"
        f"Content-Type: {MIMETYPE}\r\n"
        "Content-Language: en\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        f"Content-Length: {len(body)}\r\n"
    )
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    util.write_nonblock(client, f"{head}\r\n".encode() + body)
    return code

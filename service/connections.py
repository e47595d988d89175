"""What a client may do with its connection: how slowly it may speak, and what it hears otherwise.

gunicorn leaves it to the server in front to wait for slow clients. Here a connection that says
nothing holds one of the places for others, so there is an end to it.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

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

MOST_SEND_SECONDS = 30
"""A client that takes nothing for so long is let go."""

_MOST_UNSENT = 64 * 1024
"""Bytes that the system is asked to hold for a client; left alone it holds some megabytes."""

_STATUS: dict[type[Exception], int] = {
    errors.LimitRequestLine: 414,
    errors.LimitRequestHeaders: 431,
    errors.ExpectationFailed: 417,
    errors.UnsupportedTransferCoding: 501,
}
_OUR_OWN_FAULT = (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName)


class Line:
    """A client's connection, with what gunicorn asks of a socket.

    How long a client may take is looked at every now and then (`let_go_if_late`): a timer for each
    thing that is waited for would cost as much as a twentieth of a move.
    """

    def __init__(self, client: Any) -> None:
        self.has_asked = False
        """Whether there has been a request."""
        self.is_idle = True
        """Whether all requests are answered that have come."""
        self.is_late = False
        self.answered_in = -1
        """In which iteration of the event loop the last request was answered."""
        self.body_until: float | None = None
        """Until when the body has to be there that is being read (monotonic)."""
        self._client = client
        self._is_read = False
        self._since = time.monotonic()
        self._holds = False
        self._head = b""

    def recv(self, size: int) -> bytes:
        """What comes next; nothing from who is late."""
        self._is_read = True
        try:
            data: bytes = self._client.recv(size)
        finally:
            self._is_read = False
        return b"" if self.is_late else data

    def sendall(self, data: bytes) -> None:
        """Send, but let the head of an answer wait for the body.

        gunicorn sends them one after another. In one piece it is one system call and one packet,
        and the client is woken once.
        """
        if self._holds:
            self._head, self._holds = data, False
            return
        if self._head:
            data, self._head = self._head + data, b""
        self._client.sendall(data)

    def send(self, data: bytes) -> int:
        """Send what stands alone, such as that a body may come."""
        sent: int = self._client.send(data)
        return sent

    def begin_answer(self) -> None:
        """A request has come."""
        self.has_asked = True
        self.is_idle = False
        self._holds = True

    def end_answer(self) -> None:
        """All of the answer has been said. Raises OSError if the client is gone."""
        self._since = time.monotonic()
        self._holds = False
        head, self._head = self._head, b""
        if head:
            self._client.sendall(head)
        self.is_idle = True

    def let_go_if_late(self, now: float, kept: float, *, crowded: bool) -> None:
        """Read no more of a client who lets others wait for too long, which ends the connection.

        `kept`: so many seconds one that has asked before may be silent.
        """
        if not self._is_read:
            return
        if self.body_until is None:
            patience = CROWDED_SECONDS if crowded else kept if self.has_asked else FIRST_SECONDS
            late = now > self._since + patience
        else:
            late = now > self.body_until
        if late:
            self.is_late = True
            self.read_no_more()

    def read_no_more(self) -> None:
        """What has come by now is still read, and then the end; gevent would break reading off."""
        with suppress(OSError):
            self._client._sock.shutdown(socket.SHUT_RD)  # noqa: SLF001

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Give up on a client that takes nothing, or whose machine has gone without a word."""
        client = self._client
        if hasattr(socket, "TCP_USER_TIMEOUT") and client.family != socket.AF_UNIX:
            milliseconds = 1000 * MOST_SEND_SECONDS
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_UNSENT)
        before = client.gettimeout()
        client.settimeout(MOST_SEND_SECONDS)
        try:
            yield
        finally:
            client.settimeout(before)

    def send_at_once(self, data: bytes) -> None:
        """Send, but wait for nobody who takes nothing. Raises OSError."""
        util.write_nonblock(self._client, data)

    def setblocking(self, flag: bool) -> None:
        """As of a socket."""
        self._client.setblocking(flag)

    def shutdown(self, how: int) -> None:
        """As of a socket."""
        self._client.shutdown(how)

    def close(self) -> None:
        """As of a socket."""
        self._client.close()


class Quiet:
    """Around the reading of a head: it ends quietly for who breaks off in the middle of it.

    gunicorn would log what was sent until then, and there may be a token in it.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, errors.NoMoreData):
            raise StopIteration("The client broke off.") from None


class TimelyBody:
    """The body of a request, which has to come soon: reading it raises TimeoutError.

    What is left of it when the request is answered is passed over, but not for ever.
    """

    failed = False

    def __init__(self, request: Any, line: Line) -> None:
        self._request = request
        self._line = line
        self._body = request.body
        self._until = time.monotonic() + BODY_SECONDS
        self._unread = _MOST_UNREAD
        self._is_answered = False

    def read(self, size: int | None = None) -> bytes:
        """The next bytes, or at the end none."""
        self._line.body_until = self._until
        try:
            data: bytes = self._body.read(size)
            if self._line.is_late:
                raise TimeoutError
        except BaseException as error:
            self.failed = True  # nobody knows where the next request would begin
            self._request.force_close()
            if self._line.is_late:
                raise TimeoutError from error
            raise
        finally:
            self._line.body_until = None
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


def refuse(client: Line, status: int, headers: dict[str, str]) -> str:
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
    client.send_at_once(f"{head}\r\n".encode() + body)
    return code

"""The request that is being answered here and now: what is logged and counted of it when it ends.

It belongs to the thread or greenlet that answers. Whoever learns something about it notes it, so
that no layer has to hand it on. Nothing secret is noted: no token, no key, no name, no body.
"""

import re
import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TOKEN = re.compile(r"[a-z2-7]{16}\.[A-Za-z0-9_-]{43}")


class Request:
    """What is known of a request so far.

    `operation` is its operationId in the contract, `page` for what is not in it, `none` for what
    is served nowhere: there are as many values as operations, whatever clients send. `route` is the
    path with its parameters in braces. `headers` go into the answer too. `waited` are the seconds
    in which it only waited for news. `afterwards` is called when all of the answer has been sent,
    or given up.
    """

    __slots__ = (
        "address",
        "afterwards",
        "began",
        "code",
        "game",
        "headers",
        "id",
        "method",
        "operation",
        "route",
        "seat",
        "status",
        "streams",
        "trace",
        "waited",
    )

    def __init__(self, request_id: str, method: str) -> None:
        self.id = request_id
        self.method = method
        self.began = time.perf_counter()
        self.address = ""
        self.operation = "none"
        self.route: str | None = None
        self.status = 0
        self.code: str | None = None
        self.game: str | None = None
        self.seat: int | None = None
        self.headers: tuple[tuple[str, str], ...] = ()
        self.waited = 0.0
        self.streams = False
        self.trace: str | None = None
        self.afterwards: Callable[[], None] | None = None

    @property
    def seconds(self) -> float:
        """How long ago it began."""
        return time.perf_counter() - self.began

    def let_go(self) -> None:
        """Do what is to be done afterwards, once."""
        call, self.afterwards = self.afterwards, None
        if call is not None:
            call()


_current: ContextVar[Request | None] = ContextVar("request", default=None)


def request() -> Request | None:
    """The request; None where nothing is being answered, as in a test of a lower layer."""
    return _current.get()


def begin(method: str, wanted_id: str | None = None) -> Request:
    """A request begins: with the id that its sender gave it, if it can be used, or a new one.

    It is logged, so the token of a seat cannot.
    """
    can_be_used = wanted_id and _ID.fullmatch(wanted_id) and not _TOKEN.search(wanted_id)
    began = Request(wanted_id if wanted_id and can_be_used else secrets.token_hex(12), method)
    _current.set(began)
    return began


def end() -> None:
    """It has been answered."""
    _current.set(None)


def note_seat(seat: int | None, game: str | None = None) -> None:
    """It is from that seat, and about that game if its path does not say so."""
    known = _current.get()
    if known is not None:
        known.seat = seat
        known.game = game or known.game


def note_headers(headers: tuple[tuple[str, str], ...]) -> None:
    """Its answer has these too, whatever it will be."""
    known = _current.get()
    if known is not None:
        known.headers = headers


def note_afterwards(call: Callable[[], None]) -> None:
    """Do that when it has been answered, whatever comes of it."""
    known = _current.get()
    if known is not None:
        known.afterwards = call


def note_code(code: str) -> None:
    """It is refused with that code."""
    known = _current.get()
    if known is not None:
        known.code = code


def note_wait(seconds: float) -> None:
    """It has waited so long for something to happen."""
    known = _current.get()
    if known is not None:
        known.waited += seconds


def note_stream() -> None:
    """Its answer goes on for as long as there is news."""
    known = _current.get()
    if known is not None:
        known.streams = True

"""How often who may ask for what: 429 for those who ask more often, and for nobody else.

What somebody does from a seat is counted by the hash of the token, so that nobody else can use it
up: neither at the table nor behind the same address. Other requests are counted by address. A
token or code that is wrong is counted when it has been refused, by address; one that is right is
never asked about those. docs/security.md has the reasons for all of it.
"""

import threading
from collections import Counter
from contextlib import suppress
from functools import partial
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Any

from flask import Flask, Request, Response, request
from limits import parse_many
from msgspec import Struct
from msgspec.structs import replace

from service import current
from service.api import http, problems
from service.api.reading import asked
from service.config import Config
from service.counters import Counted, Counters, Window
from service.errors import (
    BadToken,
    InvitationNeeded,
    NotYourSeat,
    RateLimited,
    RummyError,
)
from service.servers import Servers
from service.text import Text
from service.tokens import game_id_of, hash_of

LIMITED = {
    "createGame": "create",
    "createSandbox": "create",
    "rematch": "create",
    "joinGame": "join",
    "addComputers": "changes",
    "removePlayer": "changes",
    "startGame": "changes",
    "closeTable": "changes",
    "leaveGame": "changes",
    "returnToGame": "changes",
    "draw": "changes",
    "meld": "changes",
    "layoff": "changes",
    "swap": "changes",
    "discard": "changes",
    "callRummy": "changes",
    "playTurn": "changes",
    "addEntropy": "entropy",
    "getReplay": "replays",
    "queryGames": "queries",
}
"""The limit that an operation is counted under, by operationId."""

_FROM_A_SEAT = {"changes", "entropy", "replays"}
"""What is counted by the token, if one was sent."""

_AHEAD = {"changes": 20}
"""What comes with every move is told to Redis when it is one in so many of what is allowed, and not
each time (`Counters.count_ahead`): a round trip less, for a limit that is generous anyway."""

_FAILURES = "failures"
_WAITS = "waits"
_GUESSES = (BadToken, NotYourSeat, InvitationNeeded)
"""What the answer to a wrong token or code is."""

_LONGEST_SECONDS = 0.2
"""A store that is well answers in a hundredth of that; the request still has to wait for it too."""

_WAIT_SECONDS = 5
"""When to come back for who has too many requests waiting: nobody knows when one of them ends."""

HEADERS: dict[str, Any] = {
    "RateLimit-Policy": {"$ref": "#/components/headers/RateLimitPolicy"},
    "RateLimit": {"$ref": "#/components/headers/RateLimit"},
}
"""The headers of every answer of an operation that is limited, for the contract."""

COMPONENTS: dict[str, dict[str, Any]] = {
    "RateLimitPolicy": {
        "description": (
            "The limits that the request was counted under: `q` requests in `w` seconds. Missing "
            "where it was not counted."
        ),
        "schema": {"type": "string", "examples": ['"create";q=120;w=60']},
    },
    "RateLimit": {
        "description": (
            "What is left of them: `r` requests for the next `t` seconds. Of `changes` it can be a "
            "few less, as each worker counts some by itself before it tells the others."
        ),
        "schema": {"type": "string", "examples": ['"create";r=119;t=60']},
    },
}


class _Limit(Struct, frozen=True):
    """The windows of a limit, what they are called in the headers, and when Redis is told."""

    name: str
    windows: tuple[Window, ...]
    policies: tuple[str, ...]
    policy: str
    most_untold: int = 1

    def headers(self, found: Counted) -> tuple[tuple[str, str], ...]:
        """What an answer says of it."""
        left = [
            f'"{name}";r={max(window.most - count, 0)};t={ceil(left)}'
            for name, window, count, left in zip(
                self.policies, self.windows, found.counts, found.seconds_left, strict=True
            )
        ]
        return (("RateLimit-Policy", self.policy), ("RateLimit", ", ".join(left)))


def register(app: Flask, config: Config) -> None:
    """Let the app refuse who asks too often."""
    limits = _RateLimits(app, config)
    app.before_request(limits.guard)
    for leaf in _GUESSES:
        app.register_error_handler(leaf, limits.judge_guess)


def document_in(operation: dict[str, Any]) -> None:
    """Tell of the headers in the contract, if the operation is limited."""
    if operation["operationId"] in LIMITED:
        for response in operation["responses"].values():
            response["headers"] = response.get("headers", {}) | HEADERS


class _RateLimits:
    """The limits of one app, and who is waiting in this process."""

    def __init__(self, app: Flask, config: Config) -> None:
        patience = min(config.redis_timeout_seconds, _LONGEST_SECONDS)
        self._counters = Counters(Servers.named_in(replace(config, redis_timeout_seconds=patience)))
        self._failures = _limit(_FAILURES, config.limit_failures)
        self._limits = {
            name: _limit(name, getattr(config, f"limit_{name}"))
            for name in dict.fromkeys(LIMITED.values())
        }
        self._by_endpoint: dict[str, _Limit] = {
            endpoint: self._limits[LIMITED[operation]]
            for endpoint, view in app.view_functions.items()
            if (operation := getattr(view, "operation_id", "")) in LIMITED
        }
        self._most_waits = config.most_waits
        self._waiting: Counter[str] = Counter()
        self._lock = threading.Lock()

    def guard(self) -> None:
        """Refuse the request if it is one too many. Raises RateLimited."""
        sent = asked()
        if sent.method == "OPTIONS":  # a browser asks on its own account
            return
        limit = self._by_endpoint.get(sent.endpoint or "")
        if limit is not None:
            self._count(limit, _seat_or_address() if limit.name in _FROM_A_SEAT else _address())
        if _asks_to_wait(sent):
            self._enter(_seat_or_address())

    def judge_guess(self, error: RummyError) -> Response:
        """The refusal of a wrong token or code; of too many, that they are too many."""
        try:
            self._count(self._failures, _address())
        except RateLimited as limited:
            return problems.refusal(limited)
        current.note_headers(())
        return problems.refusal(error)

    def _count(self, limit: _Limit, key: str) -> None:
        name = f"{limit.name}:{key}"
        if limit.most_untold > 1:
            counted = self._counters.count_ahead(name, limit.windows[0], limit.most_untold)
        else:
            counted = self._counters.count(name, limit.windows)
        if counted is None:
            return
        current.note_headers(limit.headers(counted))
        if not counted.fits:
            raise _refused(limit, counted)

    def _enter(self, key: str) -> None:
        with self._lock:
            if self._waiting[key] >= self._most_waits:
                raise RateLimited(
                    Text(
                        "{most} requests are being kept waiting already; come back when one of "
                        "them is answered."
                    ),
                    retry_after_seconds=_WAIT_SECONDS,
                    limit=_WAITS,
                    most=self._most_waits,
                )
            self._waiting[key] += 1
        current.note_afterwards(partial(self._leave, key))

    def _leave(self, key: str) -> None:
        with self._lock:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]


def _limit(name: str, rates: str) -> _Limit:
    windows = tuple(Window(item.amount, item.get_expiry()) for item in parse_many(rates))
    is_one = len(windows) == 1
    policies = (name,) if is_one else tuple(f"{name}-{window.seconds}" for window in windows)
    policy = ", ".join(
        f'"{name}";q={window.most};w={window.seconds}'
        for name, window in zip(policies, windows, strict=True)
    )
    # What is forgotten at the end of one window would be missing in a longer one.
    most_untold = windows[0].most // _AHEAD[name] if is_one and name in _AHEAD else 1
    return _Limit(name, windows, policies, policy, most_untold)


def _refused(limit: _Limit, counted: Counted) -> RateLimited:
    """The refusal by the window that is full for the longest time."""
    left, window = max(
        (
            (left, window)
            for left, window, count in zip(
                counted.seconds_left, limit.windows, counted.counts, strict=True
            )
            if count >= window.most
        ),
        key=lambda full: full[0],
    )
    return RateLimited(
        _WRONG_TOO_OFTEN if limit.name == _FAILURES else _TOO_OFTEN,
        retry_after_seconds=max(1, ceil(left)),
        limit=limit.name,
        most=window.most,
        window_seconds=window.seconds,
    )


_TOO_OFTEN = Text(
    "That was more than {most} such requests in {window_seconds} seconds; come back in "
    "{retry_after_seconds} seconds."
)
_WRONG_TOO_OFTEN = Text(
    "From this address more than {most} tokens and codes were wrong in {window_seconds} seconds; "
    "come back in {retry_after_seconds} seconds."
)


def _asks_to_wait(sent: Request) -> bool:
    """Whether the request may be kept waiting: by `wait`, or as a stream."""
    if sent.query_string and sent.args.get("wait", "0").strip("0"):
        return True
    return sent.method == "GET" and http.wants(http.EVENT_STREAM)


def _seat_or_address() -> str:
    """The seat that the token claims, or where the request comes from if it has none.

    What cannot be a token is refused later on, and as a guess.
    """
    with suppress(BadToken):
        token = http.token()
        if token is not None:
            game_id_of(token)
            return hash_of(token)[:32]
    return _address()


def _address() -> str:
    """Where the request comes from; of IPv6 the network, since each house has one of its own."""
    text = request.remote_addr or ""
    try:
        address = ip_address(text)
    except ValueError:  # a Unix socket has none
        return text or "local"
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return text

"""Counting what happens in windows of time: for limits that all workers of all machines share.

The counters are in the same Redis as the games, as `rummy:limits:{…}:…`, and go with their windows.
Counting is one round trip. It never keeps anybody: what cannot be counted soon is not counted, and
after trouble nothing is for a moment, so that a store that does not answer is waited for once.
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import redis
from limits.storage import RedisStorage, storage_from_string
from msgspec import Struct
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

_SCRIPT = Path(__file__).with_suffix(".lua").read_bytes()

_LONGEST_SECONDS = 0.2
"""A store that is well answers in a hundredth of that; the request still has to wait for it too."""

_REST_SECONDS = 1.0
"""After trouble nothing is counted for so long."""

_AT_ONCE = 16
"""Connections, and so requests that are being counted at a time."""


class Window(Struct, frozen=True):
    """At most so many in so many seconds."""

    most: int
    seconds: int


class Counted(Struct, frozen=True):
    """What became of one that was to be counted: of each window the count, and when it ends."""

    fits: bool
    counts: tuple[int, ...]
    seconds_left: tuple[float, ...]


class Counters:
    """The counters in one Redis. Made without touching it; each worker process needs its own."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        self._url = url
        self._timeout_seconds = min(timeout_seconds, _LONGEST_SECONDS)
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._script: Script | None = None
        self._resting_until = 0.0

    def count(self, key: str, windows: Sequence[Window]) -> Counted | None:
        """Count one more under that key, unless one of the windows is full: then none counts it.

        None: it could not be counted.
        """
        if self._is_resting():
            return None
        with self._places:
            if self._is_resting():  # somebody met trouble while this one waited
                return None
            try:
                answer = self._run(key, windows)
            except (redis.RedisError, OSError):
                self._resting_until = time.monotonic() + _REST_SECONDS
                return None
        fits, *counts = cast(list[int], answer)
        left = tuple(milliseconds / 1000 for milliseconds in counts[1::2])
        return Counted(bool(fits), tuple(counts[::2]), left)

    def _is_resting(self) -> bool:
        return time.monotonic() < self._resting_until

    def _run(self, key: str, windows: Sequence[Window]) -> Any:
        if self._script is None:
            storage = _storage(self._url, self._timeout_seconds)
            self._script = storage.get_connection().register_script(_SCRIPT)
        return self._script(
            [f"rummy:limits:{{{key}}}:{window.seconds}" for window in windows],
            [part for window in windows for part in (window.most, window.seconds * 1000)],
        )


def _storage(url: str, timeout_seconds: float) -> RedisStorage:
    """The store by any of the addresses that RUMMY_REDIS_URL can be; of a cluster it asks one."""
    scheme, _, rest = url.partition("://")
    options: dict[str, Any] = {
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": timeout_seconds,
        "protocol": 2,  # with 3 the pool no longer looks whether an idle connection is still good
    }
    if scheme == "unix":
        scheme = "redis+unix"
    if scheme.startswith("rediss+"):
        scheme, options["ssl"] = scheme.replace("rediss", "redis"), True
    if scheme != "redis+cluster":  # which has to hear twice where a key has gone
        options["retry"] = Retry(NoBackoff(), 0)
    return cast(RedisStorage, storage_from_string(f"{scheme}://{rest}", **options))

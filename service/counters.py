"""Counting what happens in windows of time: for limits that all workers of all machines share.

The counters are in the same Redis as the games, as `rummy:limits:{…}:…`, and go with their windows.
Counting is one round trip. It never keeps anybody: what cannot be counted soon is not counted, and
after trouble nothing is for a moment, so that a store that does not answer is waited for once.
"""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from redis.exceptions import NoScriptError

from service.errors import StoreUnavailable
from service.servers import Command, Servers

_SCRIPT = Path(__file__).with_suffix(".lua").read_bytes()

_SCRIPT_SHA = hashlib.sha1(_SCRIPT, usedforsecurity=False).hexdigest()

_REST_SECONDS = 1.0
"""After trouble nothing is counted for so long."""


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
    """The counters in the servers. Made without touching them; each worker process has its own."""

    def __init__(self, servers: Servers) -> None:
        """`servers` that are not waited for as long as those of the games."""
        self._servers = servers
        self._resting_until = 0.0

    def count(self, key: str, windows: Sequence[Window]) -> Counted | None:
        """Count one more under that key, unless one of the windows is full: then none counts it.

        None: it could not be counted.
        """
        if time.monotonic() < self._resting_until:
            return None
        try:
            answer = self._run(key, windows)
        except StoreUnavailable:
            self._resting_until = time.monotonic() + _REST_SECONDS
            return None
        fits, *counts = cast(list[int], answer)
        left = tuple(milliseconds / 1000 for milliseconds in counts[1::2])
        return Counted(bool(fits), tuple(counts[::2]), left)

    def _run(self, key: str, windows: Sequence[Window]) -> Any:
        keys = [f"rummy:limits:{{{key}}}:{window.seconds}" for window in windows]
        arguments = [part for window in windows for part in (window.most, window.seconds * 1000)]
        rest: Command = (len(keys), *keys, *arguments)
        try:
            (answer,) = self._servers.ask(keys[0], [("EVALSHA", _SCRIPT_SHA, *rest)], "change")
        except NoScriptError:
            (answer,) = self._servers.ask(keys[0], [("EVAL", _SCRIPT, *rest)], "change")
        return answer

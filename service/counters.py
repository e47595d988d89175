"""Counting what happens in windows of time: for limits that all workers of all machines share.

The counters are in the same Redis as the games, as `rummy:limits:{…}:…`, and go with their windows.
Counting is one round trip, or none where a process may count some by itself before it tells Redis.
It never keeps anybody: what cannot be counted soon is not counted, and after trouble nothing is for
a moment, so that a store that does not answer is waited for once.
"""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from redis.exceptions import NoScriptError

from service.errors import StoreUnavailable
from service.redis_server import Command
from service.servers import Servers

_SCRIPT = Path(__file__).with_suffix(".lua").read_bytes()

_SCRIPT_SHA = hashlib.sha1(_SCRIPT, usedforsecurity=False).hexdigest()

_MOST_KEPT = 4096
"""Under so many keys a process counts by itself; under others it tells Redis at once."""

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


class _Ahead(Struct):
    """What a process knows of a window, and how many more it has let through since it was told."""

    ends_at: float
    count: int = 0
    untold: int = 0


class Counters:
    """The counters in the servers. Made without touching them; each worker process has its own."""

    def __init__(self, servers: Servers) -> None:
        """`servers` that are not waited for as long as those of the games."""
        self._servers = servers
        self._resting_until = 0.0
        self._ahead: dict[str, _Ahead] = {}

    def count(self, key: str, windows: Sequence[Window]) -> Counted | None:
        """Count one more under that key, unless one of the windows is full: then none counts it.

        None: it could not be counted.
        """
        return self._tell(key, windows, 1)

    def count_ahead(self, key: str, window: Window, most_untold: int) -> Counted | None:
        """As `count`, but Redis is told of so many at once: all processes together may exceed it.

        Each of them by less than that. What it has not told when the window ends it forgets.
        """
        now = time.monotonic()
        known = self._ahead.get(key)
        if known is None or known.ends_at <= now:
            known = _Ahead(now + window.seconds)
            if not self._has_room(now):
                return self._tell(key, (window,), 1)
            self._ahead[key] = known
        known.untold += 1
        # In the second half Redis is told at once: who paces by what is left may not be misled.
        if known.untold < most_untold and known.count + known.untold <= window.most // 2:
            return Counted(True, (known.count + known.untold,), (known.ends_at - now,))
        untold, known.untold = known.untold, 0  # before others come while this is being told
        told = self._tell(key, (window,), untold)
        if told is not None:
            known.count, known.ends_at = told.counts[0], now + told.seconds_left[0]
        return told

    def _has_room(self, now: float) -> bool:
        if len(self._ahead) >= _MOST_KEPT:
            self._ahead = {key: known for key, known in self._ahead.items() if known.ends_at > now}
        return len(self._ahead) < _MOST_KEPT

    def _tell(self, key: str, windows: Sequence[Window], amount: int) -> Counted | None:
        if time.monotonic() < self._resting_until:
            return None
        try:
            answer = self._run(key, windows, amount)
        except StoreUnavailable:
            self._resting_until = time.monotonic() + _REST_SECONDS
            return None
        fits, *counts = cast(list[int], answer)
        left = tuple(milliseconds / 1000 for milliseconds in counts[1::2])
        return Counted(bool(fits), tuple(counts[::2]), left)

    def _run(self, key: str, windows: Sequence[Window], amount: int) -> Any:
        keys = [f"rummy:limits:{{{key}}}:{window.seconds}" for window in windows]
        arguments = [part for window in windows for part in (window.most, window.seconds * 1000)]
        rest: Command = (len(keys), *keys, amount, *arguments)
        try:
            (answer,) = self._servers.ask(keys[0], [("EVALSHA", _SCRIPT_SHA, *rest)], "change")
        except NoScriptError:
            (answer,) = self._servers.ask(keys[0], [("EVAL", _SCRIPT, *rest)], "change")
        return answer

"""What those who wait for a game read when its bell has rung: once for all of them in a process.

Reading is most of what news costs, and all who wait for a game are woken at once. A reading is good
for everybody whose bell has not rung since it was begun. Who only looks does not come here: a
client that has been told of a change must find it there, whether the bell has rung here or not.
"""

import threading
import time
from collections.abc import Callable
from weakref import WeakValueDictionary

from msgspec import Struct, field

from service.autoplay import is_due
from service.changes import Changes
from service.errors import StoreUnavailable
from service.game import Game, Logged
from service.redis_server import unavailable

MOST_ENTRIES = 100
"""So many entries of a log are read at a time."""

TRY_AGAIN_SECONDS = 5.0
"""When to try again what is due, and could not be stored."""

_TOGETHER_SECONDS = 1.0
"""Readings that follow each other so closely hand on what they have of the log, so that who is a
little behind need not read it anew. After a second it may have been undone by a failover."""


class Batch(Struct, frozen=True):
    """Entries of a log that many are told at once.

    `texts` is for whoever tells them: what they come to for a seat (None: for spectators), so that
    it is written once. What one seat may know is never under the number of another.
    """

    entries: tuple[Logged, ...]
    texts: dict[int | None, bytes] = field(default_factory=dict)


class Reading:
    """A game, and the last entries of its log: those after the number `base`, without gaps."""

    def __init__(
        self, began: float, at: int, game: Game, base: int, log: tuple[Logged, ...]
    ) -> None:
        """`began`: when it was asked for (time.monotonic); `at`: so too, by the clock of games."""
        self.began = began
        self.at = at
        self.game = game
        self.base = base
        self.log = log
        self._batches: dict[int, Batch] = {}

    @property
    def last(self) -> int:
        """The number of the last entry that is known."""
        return self.base + len(self.log)

    def after(self, number: int) -> Batch | None:
        """The entries after that one; None if some of them are not known here."""
        if not self.base <= number <= self.last or self.last < self.game.events:
            return None
        batch = self._batches.get(number)
        if batch is None:
            batch = self._batches[number] = Batch(self.log[number - self.base :])
        return batch


class Shared:
    """What was read last of one game, in one process; there as long as somebody holds it."""

    def __init__(self, game_id: str, changes: Changes, clock: Callable[[], int]) -> None:
        self._game_id = game_id
        self._changes = changes
        self._clock = clock
        self._lock = threading.Lock()
        self._found: Reading | None = None
        self._failures = 0

    def latest(self, since: float, after: int) -> Reading:
        """The game as it was read at that time (time.monotonic) or later, with what was due done.

        The log begins after that entry where nobody has read it before. Raises as `Changes.read`.
        """
        found = self._found
        if found is not None and self._is_good(found, since):
            return found
        failures = self._failures
        with self._lock:
            found = self._found
            if found is not None and self._is_good(found, since):
                return found
            # Those who waited here do not try one after another what takes a second each time.
            if self._failures != failures:
                raise unavailable()
            try:
                self._found = found = self._read(found, after)
            except StoreUnavailable:
                self._failures += 1
                raise
        return found

    def _is_good(self, found: Reading, since: float) -> bool:
        if found.began < since:
            return False
        if not is_due(found.game, self._clock()):
            return True
        was_tried = is_due(found.game, found.at)
        return was_tried and time.monotonic() - found.began < TRY_AGAIN_SECONDS

    def _read(self, before: Reading | None, after: int) -> Reading:
        began, at = time.monotonic(), self._clock()
        start = after if before is None else before.last
        game, logged = self._changes.read(self._game_id, start, MOST_ENTRIES)
        if before is None or began - before.began > _TOGETHER_SECONDS:
            return Reading(began, at, game, start, logged)
        log = (*before.log, *logged)[-MOST_ENTRIES:]
        return Reading(began, at, game, start + len(logged) - len(log), log)


class Readings:
    """What was read last of each game that somebody in this process waits for."""

    def __init__(self, changes: Changes, clock: Callable[[], int]) -> None:
        self._changes = changes
        self._clock = clock
        self._shared: WeakValueDictionary[str, Shared] = WeakValueDictionary()

    def of(self, game_id: str) -> Shared:
        """That of this game, to be held as long as it is waited for."""
        shared = self._shared.get(game_id)
        if shared is None:
            shared = self._shared.setdefault(game_id, Shared(game_id, self._changes, self._clock))
        return shared

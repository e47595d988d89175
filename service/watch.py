"""Waiting for a game to change: the bells that commits ring, heard once for a whole process.

A ring carries nothing: who is woken reads the store, which alone knows. So a ring too many does no
harm. One too few is made up for by asking the store for the versions of all games that are waited
for, each MOST_SILENCE_SECONDS: many in one round trip, so that it costs next to nothing.

One thread for each server that has games, the listener, has the connection to it and its table of
bells for itself. Everybody else only puts wishes into its queue. So nobody who leaves needs a lock,
and nothing goes wrong when a waiter is killed, or ended by the garbage collector in the middle of
something else. gunicorn's gevent worker makes greenlets of the threads.

When another server has come to have a game, the listener that finds out puts its bells into the
queue of the one there. They ring once they can be heard again, since they may have missed one.
"""

import logging
import math
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import redis

from service import current
from service.errors import StoreUnavailable
from service.line import Line
from service.redis_server import Command
from service.redis_url import Host
from service.servers import Servers

MOST_SILENCE_SECONDS = 5.0
"""Nobody is without news for longer, whether the bell can be heard or not."""

_AT_ONCE = 100
"""The versions of so many games are asked for at a time; then those who ring have their turn."""

_SUBSCRIBE_SECONDS = 1.0
_TICK_SECONDS = 1.0
"""Two of them and the time that a line has for its answer make the five seconds within which one
that is half dead is noticed."""

_SOCKET_SECONDS = 1.0
"""For connecting and sending; the listener never waits on the socket for a ring."""

_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
_STEADY_SECONDS = 10.0
"""A connection that was up for so long had nothing wrong with it from the beginning."""

_NOTHING = -1
"""No game has that version."""

_log = logging.getLogger(__name__)


class Bell:
    """What one waiter listens to. Made by `Watch.listen`; most of it is for Watch alone.

    Into `seen` the waiter puts the version of the game that it knows: it rings for any other.
    `rung_at`: what was read before that moment (time.monotonic) may be out of date.
    """

    __slots__ = ("_rung", "_watch", "channel", "gone", "heard", "listener", "rung_at", "seen")

    def __init__(self, watch: "Watch", channel: bytes) -> None:
        self.channel = channel
        self.gone = False
        self.heard = False
        self.listener: _Listener | None = None
        self.rung_at = time.monotonic()
        self.seen = _NOTHING
        self._watch = watch
        self._rung = threading.Event()

    def wait(self, seconds: float) -> bool:
        """Whether it rang since the last wait or, before the first, since `listen`: then read.

        Returns as soon as that is so, and False after `seconds`. At once when the worker is
        stopping: look at `Watch.stopping` before waiting again. A bell that cannot be heard counts
        as rung after MOST_SILENCE_SECONDS.
        """
        rang = False
        if not self._watch.stopping:
            began = time.monotonic()
            longest = seconds if self.heard else min(seconds, MOST_SILENCE_SECONDS)
            rang = self._rung.wait(max(0.0, longest))
            if not rang and longest < seconds:
                self.rung_at, rang = time.monotonic(), True
            current.note_wait(time.monotonic() - began)
        # A ring that is wiped out here came before the caller reads.
        self._rung.clear()
        return rang

    def ring(self) -> None:
        self.rung_at = time.monotonic()
        self._rung.set()


class Watch:
    """All bells of one process, over one connection to each server that has games of theirs.

    Raises nothing when the store is away. Made without touching it, and good for one process: the
    one that listens first, which may be a fork of the one that made it. `stopping` says whether the
    process is about to end; it is asked about once a second from the first `listen` until it first
    says so.
    """

    def __init__(self, servers: Servers, stopping: Callable[[], bool] | None = None) -> None:
        self._servers = servers
        self._ask_stopping = stopping
        self._ask_again = 0.0
        self._stopping = False
        self._placing = threading.Lock()
        self._listeners: dict[Host | None, _Listener] = {}
        """By where they listen; at None are the bells of games that nobody seems to have."""

    @property
    def stopping(self) -> bool:
        """Whether this process is about to end: who waits should answer now."""
        return self._stopping

    @contextmanager
    def listen(self, game_id: str) -> Iterator[Bell]:
        """The bell of a game, to be waited for in a loop: read first, then wait, then read again.

        A change that comes after the reading rings it. When the store is away or slow this takes a
        second or two, and the bell rings once as soon as it can be heard. The id is not looked at:
        ask for games that exist.
        """
        bell = Bell(self, f"rummy:{{{game_id}}}:bell".encode())
        try:
            self.place(bell)
            bell.wait(_SUBSCRIBE_SECONDS)
            yield bell
        finally:
            # Without a nudge: this has time until the next tick, and who listens again before, as
            # those do who poll, finds the subscription still there.
            bell.gone = True
            if bell.listener is not None:
                bell.listener.wishes.append((bell, False))

    def place(self, bell: Bell) -> None:
        """Hand a bell to the listener of the server that has its game now."""
        try:
            place = self._servers.place_of(bell.channel.decode())
        except StoreUnavailable:
            place = None
        with self._placing:
            if self._stopping:
                return
            listener = self._listeners.get(place)
            if listener is None:
                listener = self._listeners[place] = _Listener(self, self._servers, place)
                threading.Thread(target=listener.run, name="watch", daemon=True).start()
            bell.listener = listener
            listener.wishes.append((bell, True))
            listener.nudge()
        if bell.gone:  # meanwhile, and it may have told the listener before
            listener.wishes.append((bell, False))

    def look_whether_stopping(self) -> bool:
        """For the listeners: when this is so, each wakes who waits for its bells, and ends."""
        now = time.monotonic()
        if not self._stopping and self._ask_stopping is not None and now >= self._ask_again:
            self._ask_again = now + _TICK_SECONDS / 2
            # A waiter puts its wish, then looks whether we are stopping; a listener looks at its
            # wishes after this.
            self._stopping = self._ask_stopping()
        return self._stopping

    def release(self, listener: "_Listener", anyway: bool = False) -> bool:
        """Whether a listener may end: nobody needs it, and nobody will come to it any more."""
        with self._placing:
            if not anyway and (listener.bells or listener.wishes):
                return False
            if self._listeners.get(listener.place) is listener:
                del self._listeners[listener.place]
            return True


class _Listener:
    """Hears the bells of the games that one server has."""

    def __init__(self, watch: Watch, servers: Servers, place: Host | None) -> None:
        self.place = place
        self.wishes: deque[tuple[Bell, bool]] = deque()
        """Who comes (True) and who leaves, in this order."""
        self.bells: dict[bytes, set[Bell]] = {}
        """By channel, never empty; for the listener alone."""
        self._watch = watch
        self._servers = servers
        self._known: object = None
        self._lost: set[bytes] = set()
        self._unchecked: list[bytes] = []
        """Of which games the version is still to be asked for, of those there were then."""
        self._checked_at = time.monotonic()
        self._nudged, self._nudge = socket.socketpair()
        self._nudged.setblocking(False)
        self._nudge.setblocking(False)

    def nudge(self) -> None:
        """Let it look at the wishes now."""
        with suppress(OSError):  # full: it has been nudged often enough
            self._nudge.send(b".")

    def run(self) -> None:
        """Connect, again and again, until the process is stopping or the server has no games."""
        connection = None
        pause = 0.0
        try:
            while not self._watch.look_whether_stopping() and not self._is_needless():
                up_since = math.inf
                try:
                    # One for all attempts: the pool makes a hundred and no more.
                    connection = connection or self._connection()
                    connection.connect()
                    up_since = time.monotonic()
                    self._attend(connection)
                except (redis.RedisError, OSError) as error:
                    if connection is not None:
                        connection.disconnect()
                    self._hear_nothing()
                    if self.place is not None:
                        self._servers.doubt(self.place)
                    if time.monotonic() - up_since > _STEADY_SECONDS:
                        pause = 0.0
                    if not pause:
                        _log.warning("The bells of the store cannot be heard: %s", error)
                    pause = min(2 * pause or _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
                    self._take_wishes()  # or they would pile up while the store is away
                    self._move_away()
                    time.sleep(pause)
        finally:  # after what nobody expects too: the next to listen starts anew
            self._watch.release(self, anyway=True)
            if connection is not None:
                connection.disconnect()
            self._take_wishes()
            self._hear_nothing()
            self._ring_all()
            self._nudged.close()
            self._nudge.close()

    def _connection(self) -> Any:
        if self.place is None:
            raise redis.ConnectionError("nobody knows which server has the games")
        return self._servers.connection(self.place, _SOCKET_SECONDS)

    def _attend(self, connection: Any) -> None:
        """Serve all bells over a fresh connection; returns when stopping, or needed no more."""
        line = Line(connection, self._servers, self.bells)
        self._lost = set()
        poll = select.poll()
        poll.register(self._nudged, select.POLLIN)
        spoken_to = connection._get_socket()  # noqa: SLF001 (there is no other way)
        poll.register(spoken_to, select.POLLIN)
        # All come anew, and are rung once heard: they may have missed something. At the left end,
        # or those who have left meanwhile would come back.
        self.wishes.extendleft((bell, True) for bells in self.bells.values() for bell in bells)
        tick = time.monotonic()
        left: set[bytes] = set()
        while True:
            now = time.monotonic()
            if now >= tick:
                if not line.check(now) and self.place is not None:
                    self._servers.doubt(self.place)
                left |= self._move_away() | self._lost
                self._move(self._lost)
                self._lost = set()
                if self._watch.look_whether_stopping() or self._is_needless():
                    return
            if now >= tick or self.wishes:
                came, channels = self._take_wishes()
                line.tell(came, channels | left)
                left.clear()
            tick = tick if now < tick else now + _TICK_SECONDS
            self._check_versions(now)
            pause = 0.0 if self._unchecked else max(0.0, tick - time.monotonic())
            ready = dict(poll.poll(1000 * pause))
            if self._nudged.fileno() in ready:
                self._nudged.recv(4096)
            if spoken_to.fileno() in ready:
                # Not at once: two servers may name each other until both know.
                self._lost |= line.hear()

    def _check_versions(self, now: float) -> None:
        """Ring the bells of games that are not at the version that was seen last.

        That is for what no ring tells of: one that got lost, and a game that has expired. Who waits
        can see for himself while the store does not answer.
        """
        if now - self._checked_at >= MOST_SILENCE_SECONDS:
            self._unchecked = list(self.bells)
            self._checked_at = now
        asked, self._unchecked = self._unchecked[:_AT_ONCE], self._unchecked[_AT_ONCE:]
        try:
            versions = self._servers.ask_each([_version_of(channel) for channel in asked])
        except StoreUnavailable:
            self._unchecked = []
            self._ring_all()
            return
        for channel, version in zip(asked, versions, strict=True):
            for bell in self.bells.get(channel, ()):
                if bell.seen != int(version or 0):
                    bell.ring()

    def _hear_nothing(self) -> None:
        """Trust nothing but the time from here on."""
        for bells in self.bells.values():
            for bell in bells:
                bell.heard = False
        if time.monotonic() - self._checked_at >= MOST_SILENCE_SECONDS:
            self._checked_at = time.monotonic()
            self._ring_all()

    def _ring_all(self) -> None:
        for bells in self.bells.values():
            for bell in bells:
                bell.ring()

    def _take_wishes(self) -> tuple[list[Bell], set[bytes]]:
        """The bells that came, and all channels to which somebody came or which somebody left."""
        came = []
        channels = set()
        for _ in range(len(self.wishes)):
            bell, comes = self.wishes.popleft()
            channels.add(bell.channel)
            bells = self.bells.setdefault(bell.channel, set())
            if comes:
                bells.add(bell)
                came.append(bell)
            else:
                bells.discard(bell)
            if not bells:
                del self.bells[bell.channel]
        return came, channels

    def _is_needless(self) -> bool:
        if self.bells or self.wishes:
            return False
        if self.place is not None and self._servers.has(self.place):
            return False
        return self._watch.release(self)

    def _move_away(self) -> set[bytes]:
        """Hand on the bells of games that other servers have now, and return their channels."""
        known = self._servers.look()
        if known is self._known:
            return set()
        self._known = known
        left = {channel for channel in self.bells if self._is_elsewhere(channel)}
        self._move(left)
        return left

    def _is_elsewhere(self, channel: bytes) -> bool:
        try:
            return self._servers.place_of(channel.decode()) != self.place
        except StoreUnavailable:
            return False

    def _move(self, channels: set[bytes]) -> None:
        for channel in channels:
            for bell in self.bells.pop(channel, ()):
                bell.heard = False
                self._watch.place(bell)


def _version_of(channel: bytes) -> tuple[str, Command]:
    """Where the version is of the game with that bell, and how it is asked for."""
    key = channel.decode().removesuffix("bell") + "game"
    return key, ("HGET", key, "version")

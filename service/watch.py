"""Waiting for a game to change: the bells that commits ring, heard once for a whole process.

A ring carries nothing: who is woken reads the store, which alone knows. So a ring too many does no
harm, and one too few is made up for after MOST_SILENCE_SECONDS.

One thread, the listener, has the connection and the table of bells for itself. Everybody else only
puts wishes into a queue. So nobody who leaves needs a lock, and nothing goes wrong when a waiter is
killed, or ended by the garbage collector in the middle of something else. gunicorn's gevent worker
makes greenlets of the threads.
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

MOST_SILENCE_SECONDS = 5.0
"""No wait is longer, whether the bell can be heard or not."""

_SUBSCRIBE_SECONDS = 1.0
_TICK_SECONDS = 1.0
_ANSWER_SECONDS = 3.0
"""A connection on which a question stays open as long as this is dead. Two ticks and this make the
five seconds within which a half-dead one is noticed."""

_SOCKET_SECONDS = 1.0
"""For connecting and sending; the listener never waits on the socket for a ring."""

_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
_STEADY_SECONDS = 10.0
"""A connection that was up for so long had nothing wrong with it from the beginning."""

_log = logging.getLogger(__name__)


class Bell:
    """What one waiter listens to. Made by `Watch.listen`; `ring` and the fields are for Watch."""

    __slots__ = ("_rung", "_watch", "channel", "heard")

    def __init__(self, watch: "Watch", channel: bytes) -> None:
        self.channel = channel
        self.heard = False
        self._watch = watch
        self._rung = threading.Event()

    def wait(self, seconds: float) -> None:
        """Return when it rang since the last wait or, before the first, since `listen`.

        Returns after `seconds` or MOST_SILENCE_SECONDS at the latest, and at once when the worker
        is stopping: look at `Watch.stopping` before waiting again. There may also have been no
        change at all: read.
        """
        if not self._watch.stopping:
            began = time.monotonic()
            self._rung.wait(max(0.0, min(seconds, MOST_SILENCE_SECONDS)))
            current.note_wait(time.monotonic() - began)
        # A ring that is wiped out here came before the caller reads.
        self._rung.clear()

    def ring(self) -> None:
        self._rung.set()


class Watch:
    """All bells of one process, over one connection. Raises nothing when the store is away.

    Made without touching Redis, and good for one process: the one that listens first, which may be
    a fork of the one that made it. `stopping` says whether the process is about to end; it is asked
    about once a second from the first `listen` until it first says so.
    """

    def __init__(self, url: str, stopping: Callable[[], bool] | None = None) -> None:
        self._pool = redis.ConnectionPool.from_url(
            url,
            protocol=2,
            socket_timeout=_SOCKET_SECONDS,
            socket_connect_timeout=_SOCKET_SECONDS,
        )
        self._ask_stopping = stopping
        self._stopping = False
        self._starting = threading.Lock()
        self._listening = False
        self._nudge: socket.socket
        self._wishes: deque[tuple[Bell, bool]] = deque()
        """Who comes (True) and who leaves, in this order."""
        self._bells: dict[bytes, set[Bell]] = {}
        """By channel, never empty; for the listener alone."""

    @property
    def stopping(self) -> bool:
        """Whether this process is about to end: who waits should answer now."""
        return self._stopping

    @contextmanager
    def listen(self, game_id: str) -> Iterator[Bell]:
        """The bell of a game, to be waited for in a loop: read first, then wait, then read again.

        A change that comes after the reading rings it. When the store is away or slow this takes a
        second, and the bell rings once as soon as it can be heard. The id is not looked at: ask for
        games that exist.
        """
        self._start()
        bell = Bell(self, f"rummy:{{{game_id}}}:bell".encode())
        try:
            self._wishes.append((bell, True))
            with suppress(OSError):  # full: the listener has been nudged often enough
                self._nudge.send(b".")
            bell.wait(_SUBSCRIBE_SECONDS)
            yield bell
        finally:
            # Without a nudge: this has time until the next tick, and who listens again before, as
            # those do who poll, finds the subscription still there.
            self._wishes.append((bell, False))

    def _start(self) -> None:
        with self._starting:
            if self._listening or self._stopping:
                return
            nudged, self._nudge = socket.socketpair()
            nudged.setblocking(False)
            self._nudge.setblocking(False)
            self._listening = True
            threading.Thread(
                target=self._keep_listening, args=(nudged,), name="watch", daemon=True
            ).start()

    def _keep_listening(self, nudged: socket.socket) -> None:
        """Connect, again and again, until the process is stopping."""
        # One for all attempts: the pool makes a hundred and no more.
        connection: Any = self._pool.make_connection()
        pause = 0.0
        try:
            while not self._look_whether_stopping():
                up_since = math.inf
                try:
                    connection.connect()
                    up_since = time.monotonic()
                    self._attend(connection, nudged)
                except (redis.RedisError, OSError) as error:
                    connection.disconnect()
                    if time.monotonic() - up_since > _STEADY_SECONDS:
                        pause = 0.0
                    if not pause:
                        _log.warning("The bells of the store cannot be heard: %s", error)
                    pause = min(2 * pause or _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
                    self._take_wishes()  # or they would pile up while the store is away
                    time.sleep(pause)
        finally:  # after what nobody expects too: the next to listen starts anew
            connection.disconnect()
            nudged.close()
            self._nudge.close()
            self._listening = False

    def _look_whether_stopping(self) -> bool:
        if not self._stopping and self._ask_stopping is not None and self._ask_stopping():
            # In this order: a waiter puts its wish, then looks whether we are stopping.
            self._stopping = True
            self._take_wishes()
            for bells in self._bells.values():
                for bell in bells:
                    bell.ring()
        return self._stopping

    def _attend(self, connection: Any, nudged: socket.socket) -> None:
        """Serve all bells over a fresh connection; returns when stopping."""
        line = _Line(connection, self._bells)
        poll = select.poll()
        poll.register(nudged, select.POLLIN)
        spoken_to = connection._get_socket()  # noqa: SLF001 (there is no other way)
        poll.register(spoken_to, select.POLLIN)
        # All come anew, and are rung once heard: they may have missed something. At the left end,
        # or those who have left meanwhile would come back.
        self._wishes.extendleft((bell, True) for bells in self._bells.values() for bell in bells)
        tick = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= tick:
                if self._look_whether_stopping():
                    return
                line.check(now)
            if now >= tick or self._wishes:
                line.tell(*self._take_wishes())
            tick = tick if now < tick else now + _TICK_SECONDS
            ready = dict(poll.poll(1000 * max(0.0, tick - time.monotonic())))
            if nudged.fileno() in ready:
                nudged.recv(4096)
            if spoken_to.fileno() in ready:
                line.hear()

    def _take_wishes(self) -> tuple[list[Bell], set[bytes]]:
        """The bells that came, and all channels to which somebody came or which somebody left."""
        came = []
        channels = set()
        for _ in range(len(self._wishes)):
            bell, comes = self._wishes.popleft()
            channels.add(bell.channel)
            bells = self._bells.setdefault(bell.channel, set())
            if comes:
                bells.add(bell)
                came.append(bell)
            else:
                bells.discard(bell)
            if not bells:
                del self._bells[bell.channel]
        return came, channels


class _Line:
    """One connection as long as it lasts: what was said on it, and what has been answered.

    Whatever is said ends with a PING. Answers come in order, so its answer confirms all before it,
    without looking at which SUBSCRIBE was confirmed; and a line that is dead does not answer.
    """

    def __init__(self, connection: Any, bells: dict[bytes, set[Bell]]) -> None:
        self._connection = connection
        self._bells = bells
        self._subscribed: set[bytes] = set()
        self._unanswered: deque[tuple[float, list[Bell]]] = deque()

    def tell(self, came: list[Bell], channels: set[bytes]) -> None:
        """Bring the subscriptions to these channels up to date."""
        wanted = channels & self._bells.keys()
        new = wanted - self._subscribed
        gone = (channels - wanted) & self._subscribed
        commands: list[tuple[bytes, ...]] = [(b"PING",)]
        if gone:
            commands.insert(0, (b"UNSUBSCRIBE", *gone))
        if new:
            commands.insert(0, (b"SUBSCRIBE", *new))
        self._connection.send_packed_command(
            self._connection.pack_commands(commands), check_health=False
        )
        self._subscribed |= new
        self._subscribed -= gone
        self._unanswered.append((time.monotonic(), came))

    def hear(self) -> None:
        """Ring all bells that what has arrived is about."""
        with suppress(redis.TimeoutError):  # nothing more has arrived
            while True:
                match self._connection.read_response(
                    timeout=0, disconnect_on_error=False, push_request=True
                ):
                    case [b"message", channel, _]:
                        for bell in self._bells.get(channel, ()):
                            # The ring may come by a subscription that has been ended since: it
                            # does not mean that the next will be heard.
                            if bell.heard:
                                bell.ring()
                    case b"PONG" | [b"pong", _]:
                        _, came = self._unanswered.popleft()
                        for bell in came:
                            bell.heard = True
                            bell.ring()

    def check(self, now: float) -> None:
        """Raise redis.TimeoutError if the line is dead."""
        if self._unanswered and now - self._unanswered[0][0] >= _ANSWER_SECONDS:
            raise redis.TimeoutError("it does not answer")

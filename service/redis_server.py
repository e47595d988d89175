"""One server of Redis: how it is connected to, and a round trip.

redis-py connects, packs and parses. Its pool and its pipeline are passed by: before each round trip
the pool looks whether the connection is still good, and with the locks, the retries and the events
of both that is as much work again as the round trip itself (docs/performance.md).
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from service import metrics
from service.errors import StoreUnavailable
from service.text import Text

Command = tuple[str | bytes | int, ...]

CONNECTIONS = 32
"""To one server."""


class Server:
    """One server, with so many connections."""

    def __init__(self, client: redis.Redis) -> None:
        self.troubles = 0
        self._pool = client.connection_pool
        self._slots = Slots(CONNECTIONS)
        self._idle: list[Any] = []
        """Those that nobody uses, the last used at the end; some may have been closed."""

    def answers(self, commands: Sequence[Command]) -> list[Any]:
        """What it answers, errors too. Raises those of the connection, and StoreUnavailable.

        Who was still waiting for a connection when somebody else waited in vain for an answer is
        not sent into that one after another. A server that says at once that it takes no changes
        may answer them.
        """
        troubles = self.troubles
        with self._slots:
            if self.troubles != troubles:
                raise unavailable()
            try:
                return self._round_trip(commands)
            except redis.RedisError:
                self.troubles += 1
                raise

    @property
    def is_busy(self) -> bool:
        """Whether as many wait for a connection as there are."""
        return self._slots.waiting >= CONNECTIONS

    def hang_up(self) -> None:
        """Let go of the connections that nobody uses at the moment."""
        closed = []
        with suppress(IndexError):
            while True:
                closed.append(self._idle.pop())
                closed[-1].disconnect()
        self._idle += closed

    def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._pool.make_connection()
        try:
            was_open = connection.is_connected
            try:
                return _answers(connection, commands)
            except redis.ConnectionError:
                # That it was closed while nobody used it shows only now. The others may be too.
                if not was_open:
                    raise
                self.hang_up()
                return _answers(connection, commands)
        finally:
            self._idle.append(connection)


class Slots:
    """So many at a time, and the others in the order in which they came.

    At a threading.Semaphore one who comes again at once passes those who wait and are only being
    woken. Among many who read on and on some would wait for minutes.
    """

    def __init__(self, number: int) -> None:
        self._lock = threading.Lock()
        self._free = number
        """0 as long as somebody waits."""
        self._waiting: deque[threading.Lock] = deque()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            with metrics.STORE_QUEUE.track_inprogress():
                turn.acquire()
        except BaseException:  # ended while waiting: nobody may be given the turn of who is gone
            with self._lock:
                has_turn = turn not in self._waiting
                if not has_turn:
                    self._waiting.remove(turn)
            if has_turn:
                self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


def unavailable() -> StoreUnavailable:
    """What is raised when the store cannot be used at the moment."""
    return StoreUnavailable(Text("The store of the games does not answer at the moment."))


def client_of(
    url: str,
    timeout_seconds: float,
    username: str | None,
    password: str | None,
    connected: Callable[[Any], None] | None = None,
) -> redis.Redis:
    """A client that does not connect yet, and never sends anything again by itself.

    A command that timed out may still be waiting in the server, and a second wait would not fit
    into the second that callers are promised. `connected` does what is to be done with a new
    connection before it is used.
    """

    def begin(connection: Any) -> None:
        (connected or _begin)(connection)
        _let_answers_come_first(connection)

    return redis.Redis.from_url(
        url,
        username=username,
        password=password,
        max_connections=CONNECTIONS,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        redis_connect_func=begin,
        # Answers are texts, numbers and lists then, whichever command they are to.
        protocol=2,
    )


def _begin(connection: Any) -> None:
    connection.on_connect()


def _let_answers_come_first(connection: Any) -> None:
    """Let whoever waits for an answer go on before others begin something, if they share a loop.

    The later one who has begun is done, the later is the slowest of all.
    """
    with suppress(AttributeError):  # where sockets are gevent's, and its loop is libev
        event = connection._sock._read_event  # noqa: SLF001
        event.priority = event.loop.MAXPRI


def be_primary(connection: Any) -> None:
    """Refuse a server that was the primary once: a replica answers too, with what is older."""
    connection.on_connect()
    connection.send_command("ROLE")
    if connection.read_response()[0] != b"master":
        raise redis.ConnectionError("it is not the primary any more")


def without_errors(answers: list[Any]) -> list[Any]:
    """The answers. Raises the first that is an error."""
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _answers(connection: Any, commands: Sequence[Command]) -> list[Any]:
    """All answers, as they come over the line; or else the connection is closed."""
    try:
        connection.send_packed_command(connection.pack_commands(commands))
        return [_answer(connection) for _ in commands]
    except BaseException:  # whoever has it next would read the answers to this
        connection.disconnect()
        raise


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ConnectionError:
        raise
    except redis.ResponseError as error:
        return error

"""Two thousand clients that wait, half by polls and half by streams: what they cost, and whom.

Two services, each with a store of its own: one with the crowd, and one without. The same moves are
made at both in turn, at tables of which nobody waits for news.
"""

import random
import re
import selectors
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from math import ceil
from statistics import median, quantiles
from urllib.request import urlopen

import msgspec

from bench import services
from bench.figures import Effort, Figure, Goal, Row, Section, interleaved
from bench.games import Table, tables
from bench.load import request
from bench.services import Served, cpu_seconds, memory_bytes
from service.embedded import EmbeddedStore
from service.servers import Servers
from service.store import Expiry, Store

GAMES = 1_000
"""With a crowd: of each, one seat polls, and the other follows the stream."""

FOLLOWERS = 500
"""Of one game."""

_MOVERS = 4
_MOVERS_TABLES = 40
_MOST_PER_SECOND = 1_000
_AT_ONCE = 50
"""So many begin to wait at a time."""

_DELIVERIES = 100
_EVENTS = 10
_WAIT_SECONDS = (30, 60)
"""So long polls wait: not all equally long, or all would come again at once."""

_PATIENCE_SECONDS = 60.0
_EXPIRY = Expiry(86_400, 86_400, 86_400)
_KINDS = ("poll", "stream")
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")

_encode = msgspec.json.Encoder().encode


def measure(effort: Effort) -> Section:
    """What waiting costs those who wait, and those who move."""
    with _place() as quiet, _place() as crowded:
        empty = memory_bytes(crowded.served.workers)
        with _crowd(crowded) as crowd:
            memory = (memory_bytes(crowded.served.workers) - empty) / (2 * GAMES * 1024)
            found = interleaved(
                effort.rounds,
                {
                    "without": lambda: _moves(quiet, crowd, effort.seconds),
                    "with": lambda: _moves(crowded, crowd, effort.seconds),
                    "idle": lambda: {"cores": crowd.idle(effort.seconds)},
                    "delivery": crowd.deliver,
                },
            )
        with _followers(quiet) as followers:
            followers.tell_all()  # for nothing: what each reads when it comes does not count
            found |= interleaved(effort.rounds, {"one game": followers.tell_all})
    note = (
        f"Half of the {2 * GAMES:,} poll, half follow a stream, one of each at {GAMES:,} tables. "
        f"A move is a draw or a discard, one at a time over {_MOVERS} connections. CPU is that of "
        "the workers and of Valkey, the crowd's own included. Delivery is counted from the answer "
        "to the move until the waiter has its own, which may come first."
    )
    return Section(f"{2 * GAMES:,} waiting clients", tuple(_rows(found, memory)), (note,))


def _rows(found: Mapping[str, Mapping[str, tuple[float, ...]]], memory: float) -> Iterator[Row]:
    for name, measure, goal in (
        ("a move, median", "median", Goal("≤", 1.5)),
        ("a move, p99", "p99", None),
        ("a move, CPU", "cpu", Goal("≤", 1.5)),
    ):
        without = Figure(f"{name}, nobody waiting", "ms", found["without"][measure])
        crowded = Figure(f"{name}, with the crowd", "ms", found["with"][measure])
        yield from (Row(without), Row(crowded), Row(crowded, without, goal))
    yield Row(Figure("memory of a waiting client", "kB", (memory,)))
    yield Row(Figure("CPU while nothing happens", "cores", found["idle"]["cores"]))
    for measure, samples in found["delivery"].items():
        yield Row(Figure(f"delivery to a {measure}", "ms", samples))
    for measure, samples in found["one game"].items():
        yield Row(Figure(f"{FOLLOWERS} streams of one game: {measure}", "ms", samples))


# -------------------------------------------------------------------------- where it is played


class _Place:
    """A service with its store."""

    def __init__(self, valkey: EmbeddedStore, served: Served) -> None:
        self.served = served
        self._valkey = valkey
        self._store = Store(Servers(valkey.url, timeout_seconds=5), _EXPIRY)

    def cpu(self) -> float:
        """Seconds of a processor that it has used."""
        return cpu_seconds([*self.served.processes, self._valkey.pid])

    def games(self, number: int, moves: int) -> list["_Game"]:
        """So many new ones, each with so many moves to come."""
        fresh = [each.anew() for each in islice(cycle(tables(_MOVERS_TABLES, moves)), number)]
        for table in fresh:
            self._store.commit(table.game, table.logged)
        return [_Game(table) for table in fresh]

    def waiting(self) -> float:
        """How many are kept waiting here."""
        host, port = self.served.address
        with urlopen(f"http://{host}:{port}/metrics") as answer:
            told = re.findall(rb"(?m)^rummy_waiting\{.*\} ([0-9.]+)$", answer.read())
        return sum(map(float, told))


@contextmanager
def _place() -> Iterator[_Place]:
    with (
        services.store() as valkey,
        services.service(valkey.url, RUMMY_MOST_WAITS="4000") as served,
    ):
        yield _Place(valkey, served)


class _Game:
    """One that is being played."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.version = table.game.version
        self._moves = iter(table.moves)

    def move(self, connection: socket.socket) -> float:
        """Make the next move; how many seconds it took until the answer was there."""
        seat, move = next(self._moves)
        path = f"/v1/games/{self.table.game.id}/{move.__struct_config__.tag}"
        asked = request("POST", path, self.table.tokens[seat], _encode(move))
        began = time.perf_counter()
        connection.sendall(asked)
        answer = b""
        while not _is_whole(answer):
            answer += _received(connection)
        took = time.perf_counter() - began
        self.version += 1
        assert b'"version":%d,' % self.version in answer, answer
        return took


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


def _received(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    assert received, "the service has hung up"
    return received


@contextmanager
def _connections(place: _Place, number: int = _MOVERS) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(each) for each in place.served.connections(number)]


def _moves(place: _Place, crowd: "_Crowd", seconds: float) -> dict[str, float]:
    """Moves for so long, while the crowd goes on waiting."""
    games = cycle(place.games(_MOVERS_TABLES, ceil(_MOST_PER_SECOND * seconds / _MOVERS_TABLES)))
    took = []
    with _connections(place) as connections:
        used, end = place.cpu(), time.monotonic() + seconds
        for game, connection in zip(games, cycle(connections)):
            took.append(game.move(connection))
            crowd.tend()
            if time.monotonic() > end:
                break
        used = place.cpu() - used
    return {**_told(took), "cpu": 1000 * used / len(took)}


def _told(seconds: Sequence[float]) -> dict[str, float]:
    """What is told of many times, in ms."""
    return {"median": 1000 * median(seconds), "p99": 1000 * quantiles(seconds, n=100)[-1]}


# ---------------------------------------------------------------------------------- who waits


class _Waiter:
    """One who waits for news of a game, by polls or by a stream."""

    def __init__(self, kind: str, game: _Game, seat: int, connection: socket.socket) -> None:
        self.kind = kind
        self.game = game
        self.connection = connection
        self.told_at = 0.0
        self._token = game.table.tokens[seat]
        self._received = b""

    def ask(self) -> None:
        """Wait for what comes next."""
        path, version = f"/v1/games/{self.game.table.game.id}", self.game.version
        if self.kind == "poll":
            path += f"?wait={random.randint(*_WAIT_SECONDS)}"
            asked = request("GET", path, self._token, known_version=version)
        else:
            asked = request("GET", f"{path}/events", self._token)
            asked = asked.replace(b"application/json", b"text/event-stream")
        self.connection.sendall(asked)

    def hear(self) -> None:
        """Take what has come, and ask anew when that was all."""
        now = time.perf_counter()
        self._received += _received(self.connection)
        if self.kind == "stream":
            if b"event: entry" in self._received:
                self.told_at = now
            self._received = self._received[-20:]
        elif _is_whole(self._received):
            if self._received.startswith(b"HTTP/1.1 200"):
                self.told_at = now
            self._received = b""
            self.ask()


class _Crowd:
    """All who wait at one place, in one loop."""

    def __init__(self, place: _Place, waiters: Sequence[_Waiter]) -> None:
        self._place = place
        self._waiters = waiters
        self._selector = selectors.DefaultSelector()
        for number, waiter in enumerate(waiters, 1):
            self._selector.register(waiter.connection, selectors.EVENT_READ, waiter)
            waiter.ask()
            if number % _AT_ONCE == 0 or number == len(waiters):
                self._settle(number)

    def tend(self, seconds: float = 0.0) -> None:
        """Hear what has come, or else comes next within so long."""
        for key, _ in self._selector.select(seconds):
            key.data.hear()

    def idle(self, seconds: float) -> float:
        """Only wait for so long; how many cores the service keeps busy meanwhile."""
        used, began = self._place.cpu(), time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            self.tend(left)
        return (self._place.cpu() - used) / (time.monotonic() - began)

    def deliver(self) -> dict[str, float]:
        """Moves at some tables; when those who wait there are told, by kind."""
        took: dict[str, list[float]] = {kind: [] for kind in _KINDS}
        at = random.sample(range(0, len(self._waiters), len(_KINDS)), _DELIVERIES)
        with _connections(self._place) as connections:
            for first, connection in zip(at, cycle(connections), strict=False):
                waiters = self._waiters[first : first + len(_KINDS)]
                for waiter, seconds in zip(waiters, self._told(waiters, connection), strict=True):
                    took[waiter.kind].append(seconds)
        told = {kind: _told(seconds) for kind, seconds in took.items()}
        return {f"{kind}, {name}": told[kind][name] for kind in told for name in told[kind]}

    def tell_all(self) -> dict[str, float]:
        """Moves at the one table that all wait for; when they are told."""
        medians, last, used = [], [], self._place.cpu()
        with _connections(self._place) as connections:
            for connection in islice(cycle(connections), _EVENTS):
                took = self._told(self._waiters, connection)
                medians.append(1000 * median(took))
                last.append(1000 * max(took))
        used = self._place.cpu() - used
        return {
            "delivery, median": median(medians),
            "delivery to the last": median(last),
            "CPU for each and event": 1000 * used / (_EVENTS * len(self._waiters)),
        }

    def _told(self, waiters: Sequence[_Waiter], connection: socket.socket) -> list[float]:
        """A move at their table; how long after the answer each is told."""
        for waiter in waiters:
            waiter.told_at = 0.0
        waiters[0].game.move(connection)
        answered, end = time.perf_counter(), time.monotonic() + _PATIENCE_SECONDS
        while not all(waiter.told_at for waiter in waiters):
            assert time.monotonic() < end, "not all were told"
            self.tend(0.5)
        self.idle(0.02)  # until those who poll wait again
        return [waiter.told_at - answered for waiter in waiters]

    def _settle(self, number: int) -> None:
        """Return when so many wait."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while self._place.waiting() < number:
            assert time.monotonic() < end, "not all have come"
            self.tend(0.1)


@contextmanager
def _crowd(place: _Place) -> Iterator[_Crowd]:
    games = place.games(GAMES, moves=2 * _EVENTS)
    with _connections(place, len(_KINDS) * GAMES) as connections:
        # The connections come worker by worker: each worker has as many of both kinds.
        seats = [(kind, game, seat) for game in games for seat, kind in enumerate(_KINDS)]
        yield _Crowd(
            place,
            [_Waiter(*seat, each) for seat, each in zip(seats, connections, strict=True)],
        )


@contextmanager
def _followers(place: _Place) -> Iterator[_Crowd]:
    (game,) = place.games(1, moves=1_000)
    with _connections(place, FOLLOWERS) as connections:
        seats = cycle(range(len(game.table.tokens)))
        yield _Crowd(
            place,
            [
                _Waiter("stream", game, seat, each)
                for seat, each in zip(seats, connections, strict=False)
            ],
        )

"""Two thousand clients that wait, half by long polls and half by streams: what each of them costs.

The service runs twice, each with two workers and a store of its own: one with the crowd, one
without. The same moves are made at both in turn, at tables of which nobody waits for news.
"""

import os
import random
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles

from msgspec import Struct, json

from bench.figures import Effort, Figure, Goal, Row, Section, interleaved

TABLES = 1_000
"""With a crowd, each has one who polls, and one who follows its stream."""

FOLLOWERS = 500
"""Of one game."""

_MOVERS = 4
_AT_ONCE = 100
"""So many come at a time."""

_DELIVERIES = 60
_EVENTS = 20
_WAIT_SECONDS = (30, 60)
"""So long a poll waits: not all equally long, or they would all come again at once."""

_PATIENCE = 60.0
_SETTINGS = {
    "RUMMY_LIMIT_CREATE": "1000000/minute",
    "RUMMY_LIMIT_JOIN": "1000000/minute",
    "RUMMY_LIMIT_CHANGES": "1000000/minute",
    "RUMMY_MOST_WAITS": "4000",
}
"""All is counted, and nobody refused."""

_TICKS = os.sysconf("SC_CLK_TCK")


def measure(effort: Effort) -> Section:
    """What waiting costs those who wait, and those who move."""
    with _served() as quiet, _served() as crowded:
        movers = {service: _Movers(service) for service in (quiet, crowded)}
        before = crowded.memory()
        with _crowd(crowded) as crowd:
            memory = (crowded.memory() - before) / len(crowd.waiters)
            found = interleaved(
                effort.rounds,
                {
                    "without": lambda: movers[quiet].play(effort.seconds, crowd),
                    "with": lambda: movers[crowded].play(effort.seconds, crowd),
                    "idle": lambda: {"cores": crowd.idle(effort.seconds)},
                    "delivery": crowd.deliver,
                },
            )
        with _followers(quiet) as followers:
            found |= interleaved(effort.rounds, {"one game": followers.deliver})
    return Section(f"{2 * TABLES:,} waiting clients", tuple(_rows(found, memory)), _NOTES)


_NOTES = (
    "A move is a draw or a discard, one at a time over "
    f"{_MOVERS} connections. CPU is that of the workers and the store, the waiters' own included. "
    "Delivery is counted from the answer to the move to the answer of who waits, which may come "
    "first.",
)


def _rows(found: Mapping[str, Mapping[str, tuple[float, ...]]], memory: float) -> Iterator[Row]:
    def row(what: str, group: str, measure: str, unit: str) -> Row:
        return Row(Figure(what, unit, found[group][measure]))

    for name, measure, unit, goal in (
        ("a move, median", "median", "ms", Goal("≤", 1.5)),
        ("a move, p99", "p99", "ms", None),
        ("CPU of a move", "cpu", "ms", None),
    ):
        without = Figure(f"{name}, nobody waiting", unit, found["without"][measure])
        crowded = Figure(f"{name}, with the crowd", unit, found["with"][measure])
        yield from (Row(without), Row(crowded), Row(crowded, without, goal))
    yield Row(Figure("memory of a waiting client", "kB", (memory / 1024,)))
    yield row("CPU of the crowd while nothing happens", "idle", "cores", "cores")
    for kind in ("poll", "stream"):
        yield row(f"delivery to a {kind}, median", "delivery", f"{kind} median", "ms")
        yield row(f"delivery to a {kind}, p99", "delivery", f"{kind} p99", "ms")
    of_many = f"{FOLLOWERS} streams of one game"
    yield row(f"{of_many}, delivery, median", "one game", "median", "ms")
    yield row(f"{of_many}, delivery to the last", "one game", "last", "ms")
    yield row(f"{of_many}, CPU for each and event", "one game", "cpu", "ms")


# ------------------------------------------------------------------------------- the service


class _Service:
    """A running `rummy serve`, and what it takes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        found = re.search(r"http://([^:]+):(\d+)", process.stdout.readline())
        assert found, process.stdout.read()
        self.address = (found[1], int(found[2]))

    def cpu(self) -> float:
        """Seconds of CPU so far, of all its processes."""
        return sum(map(_cpu, [self._process.pid, *_children(self._process.pid)]))

    def memory(self) -> int:
        """Bytes of memory of its workers, each its share of what they share."""
        workers = [pid for pid in _children(self._process.pid) if not _is_store(pid)]
        return sum(map(_proportional_set_size, workers))

    def waiting(self) -> int:
        """How many it keeps waiting."""
        with _Line(self) as line:
            told = line.ask(_request("GET", "/metrics"))
        found = re.findall(rb"^rummy_waiting\{.*\} ([0-9.]+)$", told, re.MULTILINE)
        return int(sum(map(float, found)))


@contextmanager
def _served() -> Iterator[_Service]:
    with tempfile.TemporaryDirectory(prefix="rummy-") as data:
        process = subprocess.Popen(
            [sys.executable, "-c", "from service.cli import main; main()", "serve"]
            + ["--port=0", "--workers=2", f"--data-dir={data}"],
            env={**os.environ, **_SETTINGS},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield _Service(process)
        finally:
            process.terminate()
            process.wait()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_store(pid: int) -> bool:
    return "valkey" in Path(f"/proc/{pid}/cmdline").read_text()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _proportional_set_size(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * sum(map(int, re.findall(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)))


# --------------------------------------------------------------------------- who makes moves


class _Deal(Struct):
    turn: int
    phase: str


class _Game(Struct):
    id: str
    version: int
    deal: _Deal | None
    hand: list[str] | None


class _Answer(Struct):
    """Of what a change is answered with, so much is needed here."""

    game: _Game
    token: str = ""


_answer = json.Decoder(_Answer).decode


class _Line:
    """A connection on which one request after another is made."""

    def __init__(self, service: _Service) -> None:
        self.socket = socket.create_connection(service.address, _PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> "_Line":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, request: bytes) -> bytes:
        """The body of the answer, which has to be one of success."""
        self.socket.sendall(request)
        told = b""
        while (end := told.find(b"\r\n\r\n")) < 0:
            told += self.received()
        found = re.search(rb"(?i)content-length: (\d+)", told[:end])
        assert found and told.startswith(b"HTTP/1.1 20"), told
        while len(told) < end + 4 + int(found[1]):
            told += self.received()
        return told[end + 4 :]

    def received(self) -> bytes:
        """What has come, or comes next."""
        received = self.socket.recv(1 << 16)
        assert received, "the service has hung up"
        return received


@contextmanager
def _lines(service: _Service) -> Iterator[list[_Line]]:
    """Some new ones: those that are idle for a while are closed."""
    with ExitStack() as stack:
        yield [stack.enter_context(_Line(service)) for _ in range(_MOVERS)]


def _request(method: str, path: str, token: str = "", body: object = None, **more: str) -> bytes:
    headers = {"Host": "localhost", **{name.replace("_", "-"): more[name] for name in more}}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    sent = b"" if body is None else json.encode(body)
    if sent:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(sent))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + sent


class _Table:
    """A match that goes on for ever, played without a thought."""

    def __init__(self, line: _Line) -> None:
        wish = {"variant": "straight", "name": "Ada", "options": {"deals": 1000}}
        made = self._seated(line, "/v1/games", wish)
        joined = self._seated(line, f"/v1/games/{made.game.id}/join", {"name": "Bo"})
        self.id = made.game.id
        self.tokens = (made.token, joined.token)
        self.game = joined.game

    def move(self, line: _Line) -> float:
        """The next move; how many seconds its answer took."""
        deal, token = self.game.deal, self.tokens[self.game.deal.turn]
        if deal.phase == "draw":
            move, body = "draw", {"from": "stock"}
        else:
            move, body = "discard", {"card": self.game.hand[0]}
        request = _request("POST", f"/v1/games/{self.id}/{move}", token, body)
        began = time.perf_counter()
        told = line.ask(request)
        took = time.perf_counter() - began
        self.game = _answer(told).game
        return took

    def _seated(self, line: _Line, path: str, body: object) -> _Answer:
        return _answer(line.ask(_request("POST", path, body=body)))


class _Movers:
    """Some who make moves, one at a time, at tables of which nobody waits for news."""

    def __init__(self, service: _Service) -> None:
        self._service = service
        with _Line(service) as line:
            self._tables = [_Table(line) for _ in range(_MOVERS)]

    def play(self, seconds: float, crowd: "_Crowd") -> dict[str, float]:
        """Moves for so long; the crowd goes on waiting meanwhile."""
        took = []
        with _lines(self._service) as lines:
            cpu, end = self._service.cpu(), time.monotonic() + seconds
            while time.monotonic() < end:
                for line, table in zip(lines, self._tables, strict=True):
                    took.append(table.move(line))
                    crowd.tend()
            used = self._service.cpu() - cpu
        return {**_told(took), "cpu": 1000 * used / len(took)}


def _told(seconds: Sequence[float]) -> dict[str, float]:
    """What is told of many times, in milliseconds."""
    return {"median": 1000 * median(seconds), "p99": 1000 * quantiles(seconds, n=100)[-1]}


# -------------------------------------------------------------------------------- who waits


class _Waiter:
    """One who waits for news of a table, by polls or by a stream."""

    def __init__(self, service: _Service, table: _Table, kind: str, token: str = "") -> None:
        self.kind = kind
        self.table = table
        self.told_at = 0.0
        self._token = token
        self._service = service
        self._received = b""

    def come(self) -> None:
        """Connect, and begin to wait."""
        self._line = _Line(self._service)
        self.ask()

    @property
    def socket(self) -> socket.socket:
        return self._line.socket

    def ask(self) -> None:
        """Wait for what comes next."""
        path, version = f"/v1/games/{self.table.id}", self.table.game.version
        if self.kind == "poll":
            seconds = random.randint(*_WAIT_SECONDS)
            known = {"If_None_Match": f'"{version}"'}
            request = _request("GET", f"{path}?wait={seconds}", self._token, **known)
        else:
            request = _request("GET", f"{path}/events", self._token, Accept="text/event-stream")
        self.socket.sendall(request)

    def hear(self) -> None:
        """Take what has come; a poll that is over is made anew."""
        now = time.perf_counter()
        self._received += self._line.received()
        if self.kind == "stream":
            if b"event: entry" in self._received:
                self.told_at = now
            self._received = self._received[-20:]
            return
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if end and len(body) >= (int(length[1]) if length else 0):
            if head.startswith(b"HTTP/1.1 200"):
                self.told_at = now
            self._received = b""
            self.ask()


class _Crowd:
    """All who wait, in one loop."""

    def __init__(self, service: _Service, waiters: Sequence[_Waiter]) -> None:
        self.waiters = waiters
        self._service = service
        self._selector = selectors.DefaultSelector()
        for waiting, waiter in enumerate(waiters):
            if waiting % _AT_ONCE == 0:
                self._settle(waiting)
            waiter.come()
            self._selector.register(waiter.socket, selectors.EVENT_READ, waiter)
        self._settle(len(waiters))

    def tend(self, seconds: float = 0.0) -> None:
        """Hear what has come, or comes within so long."""
        for key, _ in self._selector.select(seconds):
            key.data.hear()

    def idle(self, seconds: float) -> float:
        """Do nothing else for so long; how many cores the service is busy with meanwhile."""
        cpu, began = self._service.cpu(), time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            self.tend(left)
        return (self._service.cpu() - cpu) / (time.monotonic() - began)

    def deliver(self) -> dict[str, float]:
        """Moves at tables of theirs; how long after the answer they are told, by kind."""
        by_table: dict[str, list[_Waiter]] = {}
        for waiter in self.waiters:
            by_table.setdefault(waiter.table.id, []).append(waiter)
        took: dict[str, list[float]] = {"poll": [], "stream": []}
        with _lines(self._service) as lines:
            for number, waiters in enumerate(random.sample(list(by_table.values()), _DELIVERIES)):
                for kind, seconds in self.told(waiters, lines[number % _MOVERS]):
                    took[kind].append(seconds)
        return {
            f"{kind} {name}": value
            for kind, seconds in took.items()
            for name, value in _told(seconds).items()
        }

    def told(self, waiters: Sequence[_Waiter], line: _Line) -> list[tuple[str, float]]:
        """A move at their table: kind and time of each who is told."""
        for waiter in waiters:
            waiter.told_at = 0.0
        waiters[0].table.move(line)
        answered = time.perf_counter()
        deadline = time.monotonic() + _PATIENCE
        while not all(waiter.told_at for waiter in waiters):
            assert time.monotonic() < deadline
            self.tend(0.5)
        self.idle(0.02)  # until those who poll wait again
        return [(waiter.kind, waiter.told_at - answered) for waiter in waiters]

    def _settle(self, waiting: int) -> None:
        """Go on when so many wait."""
        deadline = time.monotonic() + _PATIENCE
        while self._service.waiting() < waiting:
            assert time.monotonic() < deadline
            self.tend(0.1)

    def close(self) -> None:
        """All go."""
        for waiter in self.waiters:
            waiter.socket.close()
        self._selector.close()


@contextmanager
def _crowd(service: _Service) -> Iterator[_Crowd]:
    with ThreadPoolExecutor(_MOVERS) as threads:
        tables = list(threads.map(lambda _: _Table(_Line(service)), range(TABLES)))
    kinds = tuple(enumerate(("poll", "stream")))
    waiters = [
        _Waiter(service, table, kind, table.tokens[seat])
        for table in tables
        for seat, kind in kinds
    ]
    crowd = _Crowd(service, waiters)
    yield crowd
    crowd.close()


class _Followers:
    """Many who follow one game, as spectators."""

    def __init__(self, service: _Service) -> None:
        self._service = service
        with _Line(service) as line:
            self._table = _Table(line)
        self.crowd = _Crowd(
            service, [_Waiter(service, self._table, "stream") for _ in range(FOLLOWERS)]
        )

    def deliver(self) -> dict[str, float]:
        """Some moves; how long after the answer they are told."""
        cpu, medians, last = self._service.cpu(), [], []
        with _Line(self._service) as line:
            for _ in range(_EVENTS):
                seconds = [took for _, took in self.crowd.told(self.crowd.waiters, line)]
                medians.append(median(seconds))
                last.append(max(seconds))
        used = self._service.cpu() - cpu
        return {
            "median": 1000 * median(medians),
            "last": 1000 * median(last),
            "cpu": 1000 * used / (_EVENTS * FOLLOWERS),
        }


@contextmanager
def _followers(service: _Service) -> Iterator[_Followers]:
    followers = _Followers(service)
    yield followers
    followers.crowd.close()

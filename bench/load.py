"""Clients that cost little: prepared requests over connections that are kept open.

A connection has one request at a time. Every answer is looked at: its status, what it begins with,
and whether all of it has come.
"""

import gc
import re
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from statistics import quantiles
from typing import Self

from msgspec import Struct

from bench.services import Served, cpu_seconds

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_PATIENCE_SECONDS = 30.0
_LOOKED_AT = 100
_WARM_SHARE = 0.1
"""For so much of the time the load is given before it counts."""


class WrongAnswer(Exception):
    """An answer was not what it had to be."""


class Step(Struct, frozen=True):
    """A request by the connection of that number.

    Its answer has the `status`, and `shows` near the beginning of its body.
    """

    connection: int
    request: bytes
    status: bytes
    shows: bytes


class Measured(Struct, frozen=True):
    """What came of some seconds: the latency of each answer, in milliseconds."""

    seconds: float
    latencies: list[float]

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds


def request(
    method: str, path: str, token: str, body: bytes = b"", known_version: int | None = None
) -> bytes:
    """A request with the headers that a program sends."""
    head = (
        f"{method} {path} HTTP/1.1\r\n"
        "Host: 127.0.0.1:8000\r\n"
        "User-Agent: bench\r\n"
        "Accept: application/json\r\n"
        f"Authorization: Bearer {token}\r\n"
    )
    if known_version is not None:
        head += f'If-None-Match: "{known_version}"\r\n'
    if method == "POST":
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + body


def sample(
    served: Served,
    store: int,
    connections: int,
    lines: Iterable[Iterator[Step]],
    seconds: float,
) -> dict[str, float]:
    """What comes of that load over so many connections for so many seconds; `store`: its process.

    Latencies in ms, times of a processor in µs for each request.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(each) for each in served.connections(connections)]
        load = stack.enter_context(Load(opened, lines))
        load.run(seconds * _WARM_SHARE)
        return taken(served, store, load, seconds)


def taken(served: Served, store: int, load: "Load", seconds: float) -> dict[str, float]:
    """What comes of so many more seconds of that load. As `sample`."""
    processes = served.processes
    served_before, stored_before = cpu_seconds(processes), cpu_seconds([store])
    measured = load.run(seconds)
    serving = cpu_seconds(processes) - served_before
    storing = cpu_seconds([store]) - stored_before
    each = 1e6 / len(measured.latencies)
    percentiles = quantiles(measured.latencies, n=100)
    return {
        "per second": measured.per_second,
        "p50": percentiles[49],
        "p99": percentiles[98],
        "cpu": serving * each,
        "store cpu": storing * each,
    }


class Load:
    """Clients who go through their `lines`: the steps of one game, each after the one before.

    A connection takes the lines whose next step is its own in turn.
    """

    def __init__(
        self, connections: Sequence[socket.socket], lines: Iterable[Iterator[Step]]
    ) -> None:
        self._connections = connections
        self._selector = selectors.DefaultSelector()
        for number, connection in enumerate(connections):
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, number)
        self._ready: list[deque[tuple[Step, Iterator[Step]]]] = [deque() for _ in connections]
        for line in lines:
            self._come_to(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def run(self, seconds: float) -> Measured:
        """Ask for so long, and wait for what is still to be answered. Raises WrongAnswer."""
        asked: list[tuple[float, Step, Iterator[Step]] | None] = [None] * len(self._connections)
        answers = [b""] * len(self._connections)
        latencies: list[float] = []
        pending = 0
        gc.disable()  # it would look through all the prepared requests, while somebody waits
        began = now = time.perf_counter()
        end = began + seconds
        try:
            idle = set(range(len(self._connections)))
            while True:
                if now < end:
                    for number in [each for each in idle if self._ready[each]]:
                        step, line = self._ready[number].popleft()
                        idle.discard(number)
                        asked[number] = (time.perf_counter(), step, line)
                        self._connections[number].sendall(step.request)
                        pending += 1
                if not pending:
                    break
                events = self._selector.select(_PATIENCE_SECONDS)
                if not events:
                    raise WrongAnswer(f"{pending} requests were not answered")
                for key, _ in events:
                    number = key.data
                    came = self._connections[number].recv(262_144)
                    now = time.perf_counter()
                    waited_for = asked[number]
                    if not came or waited_for is None:
                        raise WrongAnswer(f"A connection was closed, or spoke unasked: {came!r}")
                    answer = answers[number] + came
                    at, step, line = waited_for
                    if not _is_whole(answer, step):
                        answers[number] = answer
                        continue
                    latencies.append(1000 * (now - at))
                    answers[number], asked[number] = b"", None
                    idle.add(number)
                    pending -= 1
                    self._come_to(line)
        finally:
            gc.enable()
        return Measured(now - began, latencies)

    def _come_to(self, line: Iterator[Step]) -> None:
        """Let the connection of the line's next step take it in its turn, if there is one."""
        step = next(line, None)
        if step is not None:
            self._ready[step.connection].append((step, line))


def _is_whole(answer: bytes, step: Step) -> bool:
    """Whether all of it has come. Raises WrongAnswer if it is not what it had to be."""
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return False
    length = _LENGTH.search(answer, 0, head)
    body = head + 4
    has_body = step.status != b"304"
    if has_body and length and len(answer) < body + int(length[1]):
        return False
    is_right = answer[9:12] == step.status and step.shows in answer[body : body + _LOOKED_AT]
    if not is_right or len(answer) != body + (int(length[1]) if has_body and length else 0):
        raise WrongAnswer(f"{step.request!r} was answered {answer!r}")
    return True

"""How long the service takes to start, what its first requests cost, and the memory of a worker."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from http.client import HTTPResponse
from socket import socket

from bench import services
from bench.figures import Effort, Figure, Row, Section, interleaved
from bench.services import Served

_MEASURES = {
    "answer": ("until the first answer", "s"),
    "cpu": ("CPU of all processes until all workers serve", "s"),
    "worker": ("memory of a worker", "MB"),
    "master": ("memory of the master", "MB"),
}
_OF_THE_SERVICE = {
    "first": ("the first table that a worker makes", "ms"),
    "later": ("a table that it makes later", "ms"),
}
_LATER = 50
_TABLE = b'{"variant":"straight","name":"Ada","options":{"deals":1}}'


def measure(effort: Effort) -> Section:
    """The service beside the bare Flask app, started anew in each round."""
    with services.store() as valkey:
        found = interleaved(
            effort.rounds,
            {
                "service": partial(_sample, services.service, valkey.url, makes_tables=True),
                "bare Flask": partial(_sample, services.bare_flask, valkey.url, makes_tables=False),
            },
        )
    measures = _MEASURES | _OF_THE_SERVICE
    rows = [
        Row(Figure(f"{name}: {measures[measure][0]}", measures[measure][1], samples))
        for name, each in found.items()
        for measure, samples in each.items()
    ]
    note = (
        "With two workers. Memory is the proportional set size: what processes share is shared "
        "out among them. The time of the Valkey that `rummy serve` can start is not in it."
    )
    return Section("Starting", tuple(rows), (note,))


def _sample(
    start: Callable[[str], AbstractContextManager[Served]], url: str, *, makes_tables: bool
) -> Mapping[str, float]:
    began = time.monotonic()
    with start(url) as served:
        served.connection().close()
        answered = time.monotonic() - began
        connections = served.connections(services.WORKERS)
        found = {
            "answer": answered,
            "cpu": services.cpu_seconds(served.processes),
            "worker": services.memory_bytes(served.workers) / services.WORKERS / 1e6,
            "master": services.memory_bytes([served.process.pid]) / 1e6,
        }
        if makes_tables:
            found["first"] = _milliseconds(connections[0])
            found["later"] = min(_milliseconds(connections[0]) for _ in range(_LATER))
        for connection in connections:
            connection.close()
        return found


def _milliseconds(connection: socket) -> float:
    """What it takes to make a table."""
    began = time.perf_counter()
    connection.sendall(
        b"POST /v1/games HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(_TABLE), _TABLE)
    )
    with HTTPResponse(connection) as answer:
        answer.begin()
        answer.read()
    return 1000 * (time.perf_counter() - began)

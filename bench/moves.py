"""A move: a legal draw or discard at one of many tables, by people who keep their connections."""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from bench.contest import (
    BARE_FLASK,
    FAST_API,
    SERVERS,
    SERVICE,
    TABLES,
    Alternative,
    Comparison,
    connection_of,
    measured,
    rows,
)
from bench.figures import Effort, Goal, Section
from bench.games import Table
from bench.load import Step, request

_CONNECTIONS = (16, 64)
_APART = f"{SERVICE}, {_CONNECTIONS[0]} connections, apart"
_GOALS = {
    BARE_FLASK: {"per second": Goal("≥", 0.9), "p99": Goal("≤", 1.0), "cpu": Goal("≤", 1.11)},
    FAST_API: {"per second": Goal("≥", 1.0), "p99": Goal("≤", 1.0), "cpu": Goal("≤", 1.0)},
}
"""What the service should come to beside each reference."""

_encode = msgspec.json.Encoder().encode


def measure(effort: Effort) -> Section:
    """The service beside the references, with few and with many connections."""
    alternatives = {
        _name(server, connections): Alternative(server, lines, connections)
        for connections in _CONNECTIONS
        for server in SERVERS
    }
    alternatives[_APART] = Alternative(SERVICE, partial(lines, apart=True), _CONNECTIONS[0])
    comparisons = [
        Comparison(_name(SERVICE, connections), _name(server, connections), measure, goal)
        for connections in _CONNECTIONS
        for server, goals in _GOALS.items()
        if server in SERVERS
        for measure, goal in goals.items()
    ]
    comparisons += [
        Comparison(_APART, _name(BARE_FLASK, _CONNECTIONS[0]), measure)
        for measure in ("per second", "cpu")
    ]
    note = (
        f"Draws and discards at {TABLES} tables of two, in the middle of deals. As chance has it, "
        "the two of every other table are connected to one worker, and of the rest to different "
        "ones: so half of the draws find a copy of their game. `apart`: all are at different "
        "workers. Client, workers and Valkey share the machine."
    )
    return Section("A move", rows(measured(effort, alternatives), comparisons), (note,))


def lines(
    tables: Sequence[Table], connections: int, *, apart: bool = False
) -> list[Iterator[Step]]:
    """The moves of each table, by players as `connection_of` has them."""
    return [_steps(table, place, connections, apart) for place, table in enumerate(tables)]


def _name(server: str, connections: int) -> str:
    return f"{server}, {connections} connections"


def _steps(table: Table, place: int, connections: int, apart: bool) -> Iterator[Step]:
    for version, (seat, move) in enumerate(table.moves, table.game.version + 1):
        path = f"/v1/games/{table.game.id}/{move.__struct_config__.tag}"
        yield Step(
            connection_of(place, seat, connections, apart=apart),
            request("POST", path, table.tokens[seat], _encode(move)),
            b"200",
            b'"version":%d,' % version,
        )

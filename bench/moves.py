"""A move: a legal draw or discard at one of many tables, by people who keep their connections."""

from collections.abc import Iterator, Sequence

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
    comparisons = [
        Comparison(_name(SERVICE, connections), _name(server, connections), measure, goal)
        for connections in _CONNECTIONS
        for server, goals in _GOALS.items()
        if server in SERVERS
        for measure, goal in goals.items()
    ]
    note = (
        f"Draws and discards at {TABLES} tables of two, in the middle of deals. Each seat has "
        "a connection of its own, the two of a table to different workers. Client, workers and "
        "Valkey share the machine."
    )
    return Section("A move", rows(measured(effort, alternatives), comparisons), (note,))


def lines(tables: Sequence[Table], connections: int) -> list[Iterator[Step]]:
    """The moves of each table."""
    return [_steps(table, place, connections) for place, table in enumerate(tables)]


def _name(server: str, connections: int) -> str:
    return f"{server}, {connections} connections"


def _steps(table: Table, place: int, connections: int) -> Iterator[Step]:
    for version, (seat, move) in enumerate(table.moves, table.game.version + 1):
        path = f"/v1/games/{table.game.id}/{move.__struct_config__.tag}"
        yield Step(
            connection_of(place, seat, connections),
            request("POST", path, table.tokens[seat], _encode(move)),
            b"200",
            b'"version":%d,' % version,
        )

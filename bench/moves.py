"""A move: a legal draw or discard at one of many tables, by people who keep their connections."""

from collections.abc import Iterator, Sequence

import msgspec

from bench.contest import (
    BARE_FLASK,
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
}
"""What the service should come to beside each reference."""

_encode = msgspec.json.Encoder().encode


def measure(effort: Effort) -> Section:
    """The service beside the references, with few and with many connections."""
    alternatives = {
        _name(server, connections): Alternative(server, move_lines, connections)
        for connections in _CONNECTIONS
        for server in SERVERS
    }
    comparisons = [
        Comparison(_name(SERVICE, connections), _name(server, connections), measure, goal)
        for connections in _CONNECTIONS
        for server, goals in _GOALS.items()
        for measure, goal in goals.items()
    ]
    note = (
        f"Draws and discards at {TABLES} tables of two, in the middle of deals. Each seat has "
        "a connection of its own, the two of a table to different workers. Client, workers and "
        "Valkey share the machine."
    )
    return Section("A move", rows(measured(effort, alternatives), comparisons), (note,))


def _name(server: str, connections: int) -> str:
    return f"{server}, {connections} connections"


def move_lines(tables: Sequence[Table], connections: int) -> list[Iterator[Step]]:
    """The moves to come at these tables, each by the connection of its seat."""
    return [iter(_steps(table, place, connections)) for place, table in enumerate(tables)]


def _steps(table: Table, place: int, connections: int) -> list[Step]:
    return [
        Step(
            connection_of(place, seat, connections),
            request(
                "POST",
                f"/v1/games/{table.game.id}/{move.__struct_config__.tag}",
                table.tokens[seat],
                _encode(move),
            ),
            b"200",
            b'"version":%d,' % version,
        )
        for version, (seat, move) in enumerate(table.moves, table.game.version + 1)
    ]

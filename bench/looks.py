"""A look: GET of a game being played, by players who have that version or have not."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle

from bench.contest import (
    BARE_FLASK,
    SERVERS,
    SERVICE,
    TABLES,
    Alternative,
    Comparison,
    Lines,
    connection_of,
    measured,
    rows,
)
from bench.figures import Effort, Goal, Section
from bench.games import Table
from bench.load import Step, request

_CONNECTIONS = 16
_AT_LEAST = Goal("≥", 0.9)


def measure(effort: Effort) -> Section:
    """The service beside the references, and beside one GET of the store behind a bare view."""
    alternatives = {
        f"{server}, {status}": Alternative(server, _lines("/v1/games", status), _CONNECTIONS)
        for status in (200, 304)
        for server in SERVERS
    }
    one_get = f"{BARE_FLASK}, 304 by one GET"
    alternatives[one_get] = Alternative(BARE_FLASK, _lines("/one-get", 304), _CONNECTIONS)
    comparisons = [
        Comparison(f"{SERVICE}, {status}", f"{server}, {status}", measure)
        for status in (200, 304)
        for server in SERVERS
        if server != SERVICE
        for measure in ("per second", "p99", "cpu")
    ]
    comparisons += [
        Comparison(f"{SERVICE}, 304", one_get, "per second", _AT_LEAST),
        Comparison(f"{SERVICE}, 304", one_get, "cpu", Goal("≤", 1 / _AT_LEAST.value)),
    ]
    note = (
        f"GET of {TABLES} games of two in turn over {_CONNECTIONS} connections: 200 to who has not "
        "the version that it is at, 304 to who has it. `304 by one GET` asks Redis for one thing, "
        "and knows of no seats; the others check the token, for which they need the record."
    )
    return Section("A look", rows(measured(effort, alternatives), comparisons), (note,))


def _lines(path: str, status: int) -> Lines:
    return partial(_looks, path, status)


def _looks(
    path: str, status: int, tables: Sequence[Table], connections: int
) -> list[Iterator[Step]]:
    return [
        cycle(_steps(path, status, table, place, connections)) for place, table in enumerate(tables)
    ]


def _steps(path: str, status: int, table: Table, place: int, connections: int) -> list[Step]:
    """One look of each seat."""
    version = table.game.version
    return [
        Step(
            connection_of(place, seat, connections),
            request(
                "GET",
                f"{path}/{table.game.id}",
                token,
                known_version=version if status == 304 else version - 1,
            ),
            str(status).encode(),
            b"" if status == 304 else f'"version":{version},'.encode(),
        )
        for seat, token in enumerate(table.tokens)
    ]

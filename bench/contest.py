"""The service and the references under the same load in turn, and the rows that come of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from math import ceil

from msgspec import Struct

from bench import services
from bench.figures import Effort, Figure, Goal, Row, interleaved
from bench.games import Table, tables
from bench.load import Load, Step, taken
from service.servers import Servers
from service.store import Expiry, Store

SERVICE, BARE_FLASK, FAST_API = "service", "bare Flask", "FastAPI"
SERVERS = {SERVICE: services.service, BARE_FLASK: services.bare_flask}
if find_spec("fastapi") and find_spec("uvicorn"):
    SERVERS[FAST_API] = services.fast_api
"""What takes part, by the name of each; FastAPI where it is installed."""

TABLES = 400
"""So many games are played at a time."""

MEASURES = {
    "per second": ("requests", "/s"),
    "p50": ("latency, median", "ms"),
    "p99": ("latency, p99", "ms"),
    "cpu": ("CPU a request", "µs"),
    "store cpu": ("CPU of Valkey a request", "µs"),
}

_MOST_PER_SECOND = 3000
"""Nobody answers more moves, so there are always some left to be made."""

_SLICE_SECONDS = 0.5
_WARM_SLICES = 2

_EXPIRY = Expiry(86_400, 86_400, 86_400)

Lines = Callable[[Sequence[Table], int], Iterable[Iterator[Step]]]
"""The requests at these tables over so many connections: those of each table in their order."""

Samples = Mapping[str, Mapping[str, tuple[float, ...]]]
"""Of each alternative, by its name, the samples of MEASURES."""


class Alternative(Struct, frozen=True):
    """Who is asked, by the name in SERVERS, and for what, over how many connections."""

    server: str
    lines: Lines
    connections: int


class Comparison(Struct, frozen=True):
    """One alternative beside another, by their names, in one of MEASURES."""

    one: str
    other: str
    measure: str
    goal: Goal | None = None


def measured(effort: Effort, alternatives: Mapping[str, Alternative]) -> Samples:
    """What comes of the alternatives, each at tables of its own that are as the others' are.

    They take turns of half a second for as long as their rounds would take: the speed of a machine
    that is shared changes from one second to the next, and so for all of them alike.
    """
    total = effort.rounds * effort.seconds
    slice_seconds = min(_SLICE_SECONDS, effort.seconds)
    with services.store() as valkey, ExitStack() as stack:
        names = dict.fromkeys(each.server for each in alternatives.values())
        urls = {name: services.database(valkey, number) for number, name in enumerate(names)}
        served = {name: stack.enter_context(SERVERS[name](urls[name])) for name in names}
        moves = ceil(_MOST_PER_SECOND * (total + _WARM_SLICES * slice_seconds) / TABLES)
        fresh = {name: stored(urls[each.server], moves) for name, each in alternatives.items()}
        loads = {}
        for name, each in alternatives.items():
            server, number = served[each.server], each.connections
            opened = [stack.enter_context(one) for one in server.connections(number)]
            load = stack.enter_context(Load(opened, each.lines(fresh[name], number)))
            loads[name] = partial(taken, server, valkey.pid, load, slice_seconds)
        interleaved(_WARM_SLICES, loads)  # for nothing: what is done first takes longer
        return interleaved(max(1, round(total / slice_seconds)), loads)


def rows(found: Samples, comparisons: Iterable[Comparison]) -> tuple[Row, ...]:
    """All that was measured, and what of it is beside what."""
    figures = {
        (name, measure): Figure(f"{name}: {what}", unit, samples[measure])
        for name, samples in found.items()
        for measure, (what, unit) in MEASURES.items()
    }
    return (
        *map(Row, figures.values()),
        *(
            Row(figures[each.one, each.measure], figures[each.other, each.measure], each.goal)
            for each in comparisons
        ),
    )


def connection_of(place: int, seat: int, connections: int, *, apart: bool = False) -> int:
    """The number of the connection that a seat of the table at that place comes by.

    The first half of the connections are one worker's, the second half the other's. As chance has
    it where two people connect, the seats of every other table are at one worker, and those of the
    others at both; or those of all tables, if they are to be `apart`.
    """
    half = connections // services.WORKERS
    group = place // half
    both = apart or group % 2
    return place % half + half * ((group // 2 + (seat if both else 0)) % services.WORKERS)


def stored(url: str, moves: int) -> list[Table]:
    """The tables, each with so many moves to come, in that database."""
    fresh = [table.anew() for table in tables(TABLES, moves)]
    store = Store(Servers(url, timeout_seconds=5), _EXPIRY)
    for table in fresh:
        store.commit(table.game, table.logged)
    return fresh

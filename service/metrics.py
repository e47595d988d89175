"""What is counted, for Prometheus. A label has few values, whatever clients send.

Imported in the workers only, once `metrics_folder` knows where they count.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

import service
from service import metrics_folder

_untold: list[Any] = []
"""The values that have gone on since `tell`."""

if metrics_folder.folder() is not None:
    # The library would take the process id, and so leave files behind for each worker there was.
    _InFile: Any = values.MultiProcessValue(metrics_folder.number)  # type: ignore[no-untyped-call]

    class _Counted(_InFile):  # type: ignore[misc]
        """Counts in memory, until it is told.

        The library writes each time, which for all that is counted of a move is 0.07 of the move.
        Nothing here gives way to others, so there is no lock.
        """

        _more = 0.0

        def inc(self, amount: float) -> None:
            if not self._more:
                _untold.append(self)
            self._more += amount

        def set(self, value: float, timestamp: float | None = None) -> None:
            self._more = 0.0
            super().set(value, timestamp)

        def tell(self) -> None:
            more, self._more = self._more, 0.0
            super().inc(more)

    values.ValueClass = _Counted

disable_created_metrics()  # type: ignore[no-untyped-call]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_MOMENTS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""A move takes some milliseconds; the store is given up after 0.8 s, tried twice at the most."""

_registry = CollectorRegistry()

# ---------------------------------------------------------------------------------- the process

INFO = Gauge(
    "rummy_info",
    "1, with the version of the service.",
    ["version"],
    registry=_registry,
    multiprocess_mode="livemax",
)
INFO.labels(service.__version__).set(1)
WORKERS = Gauge(
    "rummy_workers", "Worker processes now.", registry=_registry, multiprocess_mode="livesum"
)
WORKER_STARTS = Counter("rummy_worker_starts", "Worker processes that began.", registry=_registry)
LOOP_LAG = Gauge(
    "rummy_loop_lag_seconds",
    "How late the latest worker was in the last second: others had to wait so long for their turn.",
    registry=_registry,
    multiprocess_mode="livemax",
)

# ---------------------------------------------------------------------------------------- requests

REQUESTS = Counter(
    "rummy_requests",
    "Answers, by operationId (`page`: none; `none`: nothing is served there) and HTTP status.",
    ["operation", "status"],
    registry=_registry,
)
REQUEST_SECONDS = Histogram(
    "rummy_request_seconds",
    "How long requests took, without the time spent waiting for news; no streams.",
    ["operation"],
    buckets=_MOMENTS,
    registry=_registry,
)
REFUSALS = Counter("rummy_refusals", "Refused requests, by code.", ["code"], registry=_registry)
for _code in ("internal_error", "rate_limited", "store_unavailable", "too_busy"):
    REFUSALS.labels(_code)  # there from the beginning, so that the first can be seen to come
WAITING = Gauge(
    "rummy_waiting",
    "Clients that wait for news now: by a request with `wait`, or a stream.",
    ["how"],
    registry=_registry,
    multiprocess_mode="livesum",
)
for _how in ("wait", "stream"):
    WAITING.labels(_how)
WAIT_SECONDS = Histogram(
    "rummy_wait_seconds",
    "How long requests with `wait` waited for news.",
    buckets=(0.1, 1.0, 5.0, 15.0, 30.0, 60.0),
    registry=_registry,
)
STREAM_SECONDS = Histogram(
    "rummy_stream_seconds",
    "How long streams were open.",
    buckets=(1.0, 15.0, 60.0, 300.0, 1800.0, 7200.0),
    registry=_registry,
)

# ------------------------------------------------------------------------------------------- games

TABLES = Counter("rummy_tables", "Tables made.", registry=_registry)
BEGUN = Counter("rummy_matches_begun", "Matches begun.", registry=_registry)
ENDED = Counter(
    "rummy_matches_ended", "Matches ended, by the reason.", ["reason"], registry=_registry
)
MOVES = Counter(
    "rummy_moves",
    "Moves, by kind and by who made them: `person`, `computer`, or `clock` for a person.",
    ["move", "by"],
    registry=_registry,
)
CONFLICTS = Counter(
    "rummy_commit_conflicts",
    "Changes that came second and were decided anew.",
    registry=_registry,
)

# --------------------------------------------------------------------------------------- the store

STORE_SECONDS = Histogram(
    "rummy_store_seconds",
    "How long the store took, to `read`, to make a `change`, or for a `ping`.",
    ["call"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0),
    registry=_registry,
)
STORE_ERRORS = Counter(
    "rummy_store_errors",
    "Calls to the store that failed: no `connection`, no answer in time (`timeout`), a change that "
    "was refused (`read_only`) or is on too few `replicas`, or anything (`refused`).",
    ["error"],
    registry=_registry,
)
for _error in ("connection", "timeout", "read_only", "replicas", "refused"):
    STORE_ERRORS.labels(_error)
STORE_QUEUE = Gauge(
    "rummy_store_queue",
    "Requests that wait for a connection to the store now.",
    registry=_registry,
    multiprocess_mode="livesum",
)


@cache
def labelled(metric: Any, *values: object) -> Any:
    """The metric with these labels, which are few: the library makes texts of them each time."""
    return metric.labels(*values)


def worker_began() -> None:
    """Count this process as a worker from now on."""
    WORKERS.set(1)
    WORKER_STARTS.inc()
    tell()  # so that one that ends at once shows


def tell() -> None:
    """Put into the files, where any worker finds it, what this one has counted since the last time.

    Somebody has to do that every now and then. What a worker that is killed has not told is lost.
    """
    told = list(_untold)
    _untold.clear()
    for value in told:
        value.tell()


def exposition(games: Mapping[str, int], seconds: Mapping[str, float]) -> bytes:
    """All of it, summed over the workers, as Prometheus reads it.

    `games` are those in the store by how they stand; `seconds` has the values of `_OF_STORE`. Both
    are empty while nothing is known of them.
    """
    tell()
    folder = metrics_folder.folder()
    if folder is None:
        counted = _registry
    else:
        counted = CollectorRegistry()
        MultiProcessCollector(counted, str(folder))  # type: ignore[no-untyped-call]
    stored = CollectorRegistry()
    stored.register(_Stored(games, seconds))
    return generate_latest(counted) + generate_latest(stored)


_OF_STORE = {
    "rummy_overdue_seconds": "How long the oldest deadline has passed for which nobody looks.",
    "rummy_census_age_seconds": "How long ago the games in the store were counted.",
    "rummy_census_seconds": "How long it took to count them.",
}


class _Stored(Collector):
    """What is not counted by this process but read from the store, for one answer."""

    def __init__(self, games: Mapping[str, int], seconds: Mapping[str, float]) -> None:
        self._games = games
        self._seconds = seconds

    def collect(self) -> Iterator[Metric]:
        if self._games:
            games = GaugeMetricFamily("rummy_games", "Games in the store.", labels=["status"])
            for status, number in self._games.items():
                games.add_metric([status], number)
            yield games
        for name, value in self._seconds.items():
            yield GaugeMetricFamily(name, _OF_STORE[name], value=value)

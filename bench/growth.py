"""Whether a move gets slower: with the number of games stored, and with a deal that goes on."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import cast

import redis
from msgspec.structs import replace

from bench import services
from bench.figures import Effort, Figure, Goal, Row, Section, interleaved
from bench.games import Table, tables
from bench.load import sample
from bench.moves import lines
from bench.services import Served
from bench.sizes import OPTIONS, played
from service.embedded import EmbeddedStore
from service.game import Logged, RecordFormat
from service.rummy.engine import apply
from service.servers import Servers
from service.store import Expiry, Store
from service.tokens import new_game_id

GAMES = (100, 10_000, 100_000)
"""So many games are stored, the last number only where there is the memory for it."""

_ENOUGH_BYTES = 4_000_000_000

TABLES = 64
"""Moves are made at so many of them."""

_EARLY_MOVES, _LATE_MOVES, _MOVES = 20, 1_800, 1_960
"""Moves in a deal, two for each turn; a deal has a thousand turns at the most."""

_CONNECTIONS = 16
_EXPIRY = Expiry(86_400, 86_400, 86_400)
_LIFETIME_MS = 7 * 86_400_000
_BATCH = 500
_PARTS = ("game", "events", "deals", "begins")
_FORMATS: tuple[RecordFormat, ...] = (3, 4)
_MEASURES = {
    "cpu": ("CPU a move", "µs"),
    "store cpu": ("CPU of Valkey a move", "µs"),
    "p50": ("latency, median", "ms"),
    "p99": ("latency, p99", "ms"),
}
_ONLY_IN_DEALS = {"record": ("the game in the store", "bytes")}
_LEVEL = Goal("≤", 1.1)
"""What differs by less may be noise."""


def measure(effort: Effort) -> Section:
    """More and more games, then longer and longer deals."""
    note = (
        f"Draws and discards at {TABLES} tables over {_CONNECTIONS} connections. The other games "
        "are copies of matches that were played. For each number of games, and for each format of "
        "the record, there is a service of its own, and in each round all are asked in turn."
    )
    return Section("Growth", (*_by_games(effort), *_by_length(effort)), (note,))


def _by_games(effort: Effort) -> list[Row]:
    numbers = [number for number in GAMES if number < max(GAMES) or _has_memory()]
    stored = {}
    with ExitStack() as stack:
        alternatives = {}
        for number in numbers:
            valkey = stack.enter_context(services.store())
            stored[number] = _fill(valkey, number - TABLES)
            served = stack.enter_context(services.service(valkey.url, RUMMY_RECORD_FORMAT="4"))
            alternatives[f"{number:,} games"] = partial(
                _sample, served, valkey, 4, _tables(_EARLY_MOVES), effort.seconds
            )
        found = interleaved(effort.rounds, alternatives)
    figures = _figures(found, _MEASURES)
    few, *more = found
    return [
        *map(Row, figures.values()),
        *(
            Row(figures[name, measure], figures[few, measure], _LEVEL)
            for name in more
            for measure in ("cpu", "store cpu", "p50")
        ),
        *(
            Row(Figure(f"{number:,} games: memory of Valkey for each", "bytes", (size,)))
            for number, size in stored.items()
        ),
    ]


def _by_length(effort: Effort) -> list[Row]:
    early, late = (f"after {moves // 2} turns" for moves in (_EARLY_MOVES, _LATE_MOVES))
    with services.store() as valkey, ExitStack() as stack:
        alternatives = {}
        for number in _FORMATS:
            form = str(number)
            served = stack.enter_context(services.service(valkey.url, RUMMY_RECORD_FORMAT=form))
            for name, moves in ((early, _EARLY_MOVES), (late, _LATE_MOVES)):
                alternatives[f"format {number}, {name}"] = partial(
                    _sample, served, valkey, number, _tables(moves), effort.seconds
                )
        found = interleaved(effort.rounds, alternatives)
    figures = _figures(found, _MEASURES | _ONLY_IN_DEALS)
    return [
        *map(Row, figures.values()),
        *(
            Row(
                figures[f"format {number}, {late}", measure],
                figures[f"format {number}, {early}", measure],
                _LEVEL if number == max(_FORMATS) else None,
            )
            for number in _FORMATS
            for measure in ("cpu", "store cpu", "p50")
        ),
    ]


def _figures(
    found: Mapping[str, Mapping[str, tuple[float, ...]]], measures: Mapping[str, tuple[str, str]]
) -> dict[tuple[str, str], Figure]:
    return {
        (name, measure): Figure(f"{name}: {what}", unit, samples[measure])
        for name, samples in found.items()
        for measure, (what, unit) in measures.items()
    }


def _sample(
    served: Served,
    valkey: EmbeddedStore,
    number: RecordFormat,
    waiting: Sequence[Table],
    seconds: float,
) -> Mapping[str, float]:
    """What moves cost at these tables, stored anew beside all that is there."""
    store = Store(Servers(valkey.url, timeout_seconds=5), _EXPIRY, record_format=number)
    fresh = [table.anew() for table in waiting]
    for table in fresh:
        store.commit(table.game, table.logged)
    measured = sample(served, valkey.pid, _CONNECTIONS, lines(fresh, _CONNECTIONS), seconds)
    with redis.Redis.from_url(valkey.url) as client:
        keys = [[f"rummy:{{{table.game.id}}}:{part}" for part in _PARTS] for table in fresh]
        record = client.memory_usage(keys[0][0], samples=0)
        for each in keys:
            client.delete(*each)
    return measured | {"record": record}


def _tables(moves: int) -> list[Table]:
    """The tables after so many moves of the deal, with those to come."""
    return [_advanced(table, moves) for table in tables(TABLES, _MOVES)]


def _advanced(table: Table, moves: int) -> Table:
    game, logged = table.game, list(table.logged)
    match = game.match
    assert match is not None
    for seat, move in table.moves[:moves]:
        match, events = apply(match, seat, move, game.changed_at)
        for event in events:
            logged.append(Logged(len(logged) + 1, 1, game.changed_at, event))
    game = replace(game, match=match, events=len(logged))
    return replace(table, game=game, logged=tuple(logged), moves=table.moves[moves:])


# ------------------------------------------------------------------------------- many games


def _fill(valkey: EmbeddedStore, number: int) -> float:
    """Store so many games that were played; the memory that each of them takes."""
    with redis.Redis.from_url(valkey.url) as client:
        client.config_set("appendfsync", "no")
        models = [_dumped(valkey.url, client, variant) for variant in OPTIONS]
        before = client.info("memory")["used_memory"]
        for first in range(0, number, _BATCH):
            with client.pipeline(transaction=False) as pipe:
                for place in range(first, min(first + _BATCH, number)):
                    game_id = new_game_id(secrets.token_bytes)
                    for part, dump in models[place % len(models)].items():
                        pipe.restore(f"rummy:{{{game_id}}}:{part}", _LIFETIME_MS, dump)
                pipe.execute()
        taken = client.info("memory")["used_memory"] - before
        client.config_set("appendfsync", "always")
        return float(taken / number)


def _dumped(url: str, client: redis.Redis, variant: str) -> dict[str, bytes]:
    """A match that was played, as Valkey can take it in under any name."""
    for game in played(url, 4, variant):
        game_id = game.id
    return {part: cast(bytes, client.dump(f"rummy:{{{game_id}}}:{part}")) for part in _PARTS}


def _has_memory() -> bool:
    (available,) = (
        int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable:")
    )
    return available > _ENOUGH_BYTES

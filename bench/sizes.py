"""What a game takes in the store: matches of two are played, and Valkey is asked for the memory."""

import secrets
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import cast

import redis

from bench import services
from bench.figures import Effort, Figure, Goal, Row, Section
from service.changes import Terms
from service.game import Game, RecordFormat
from service.new_table import NewTable
from service.rummy import computer
from service.rummy.view import sight
from service.servers import Servers
from service.store import Expiry, Store
from service.tables import Tables
from service.watch import Watch

OPTIONS: Mapping[str, Mapping[str, int]] = {
    "straight": {"deals": 2},
    "seven-card": {},
    "parlett": {},
    "call-rummy": {},
}
"""What is played, with presets as they are but where something has to be chosen."""

_EXPIRY = Expiry(86_400, 86_400, 86_400)
_FORMATS: tuple[RecordFormat, ...] = (3, 4)
_GOALS = {
    "record": Goal("≤", 2048),
    "log": Goal("≤", 80),
    "requests": Goal("≤", 2048),
}
_MEASURES = {
    "record": ("the running game, at its largest", "bytes"),
    "log": ("the log of the match, for each event", "bytes"),
    "requests": ("what the last 32 requests of a seat are remembered by", "bytes"),
    "claim": ("what a request that took a seat is remembered by, for a day", "bytes"),
    "creation": ("what a request that made a table is remembered by, for a day", "bytes"),
    "whole": ("all of the match when it is over", "bytes"),
}


def measure(effort: Effort) -> Section:
    """In both formats, a match of each preset in each round."""
    rows: list[Row] = []
    with services.store() as valkey:
        for number in _FORMATS:
            samples = [
                _sample(valkey.url, number, variant)
                for _ in range(effort.rounds)
                for variant in OPTIONS
            ]
            rows += [
                Row(
                    Figure(f"format {number}: {what}", unit, tuple(each[name] for each in samples)),
                    goal=_GOALS.get(name) if number == max(_FORMATS) else None,
                )
                for name, (what, unit) in _MEASURES.items()
            ]
    note = (
        "MEMORY USAGE of the service's own Valkey, which is what the allocator gave: a log has "
        "room for some more events. Each move has an Idempotency-Key; the running game is without "
        f"what these are remembered by. Played by computers: {', '.join(OPTIONS)}."
    )
    return Section("What a game takes in the store", tuple(rows), (note,))


def _sample(url: str, number: RecordFormat, variant: str) -> Mapping[str, float]:
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        largest, remembered = 0, 0.0
        game_id = ""
        for game in played(url, number, variant):
            game_id = game.id
            whole, record = _record(client, game_id)
            if game.status == "playing":
                largest = max(largest, record)
            remembered = max(remembered, (whole - record) / len(game.seats))
        events = f"rummy:{{{game_id}}}:events"
        sizes = {key: _taken(client, key) for key in client.scan_iter("rummy:*")}
        return {
            "record": largest,
            "log": sizes[events.encode()] / client.xlen(events),
            "requests": remembered,
            "claim": fmean(size for key, size in sizes.items() if b":claim:" in key),
            "creation": fmean(size for key, size in sizes.items() if b":create:" in key),
            "whole": sum(sizes.values()),
        }


def played(url: str, number: RecordFormat, variant: str) -> Iterator[Game]:
    """A match between computers that sit there as people do, after each of its changes."""
    servers = Servers(url, timeout_seconds=5)
    tables = Tables(Store(servers, _EXPIRY, record_format=number), Watch(servers))
    wish = NewTable(
        variant=variant,
        name="Ada",
        options=dict(OPTIONS[variant]),
        seats=2,
        public=False,
        autostart=True,
    )
    made = tables.create(wish, _once())
    joined = tables.join(made.game.id, "Bo", terms=_once())
    tokens, game = (made.token, joined.token), joined.game
    yield game
    while game.match and game.match.deal:
        now, seat = tables.clock(), game.match.deal.turn
        seen = sight(game.match, seat, now, computer.MOST_MOVES)
        move = computer.choose("steady", seen, f"{game.id} {game.version}")
        game = tables.play(game.id, tokens[seat], move, _once()).game
        yield game


def _once() -> Terms:
    return Terms(key=secrets.token_hex(16))


def _record(client: redis.Redis, game_id: str) -> tuple[int, int]:
    """What the game takes with what requests are remembered by, and without."""
    key = f"rummy:{{{game_id}}}:game"
    copy = f"{key} without"
    client.copy(key, copy, replace=True)
    names = [
        name for name in cast("list[bytes]", client.hkeys(key)) if name.startswith(b"requests:")
    ]
    if names:
        client.hdel(copy, *names)
    sizes = _taken(client, key), _taken(client, copy) - len(" without")
    client.delete(copy)
    return sizes


def _taken(client: redis.Redis, key: str | bytes) -> int:
    return cast(int, client.memory_usage(key, samples=0))

"""What those who wait for a game read together: never older than the bell, and nothing left out."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from service import readings
from service.changes import Changes
from service.embedded import EmbeddedStore
from service.errors import NoSuchGame, StoreUnavailable
from service.game import Game
from service.readings import MOST_ENTRIES, Reading, Readings, Shared
from service.rummy.model import Drew
from service.servers import Servers
from service.store import Store
from service.tokens import new_seed
from tests.http.tables import Clock
from tests.test_store import EXPIRY, change, create, table

DREW = Drew(0, "stock", "AS")
SERVER_SECONDS = 0.8


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedStore]:
    """A server of the test's own, free to be stalled."""
    with EmbeddedStore(tmp_path / "data") as started:
        yield started


@pytest.fixture
def store(server: EmbeddedStore) -> Store:
    return Store(Servers(server.url, SERVER_SECONDS), EXPIRY)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def read(store: Store, clock: Clock) -> Readings:
    return Readings(Changes(store, clock, lambda size: b"\0" * size), clock)


def numbers(reading: Reading, after: int) -> list[int] | None:
    batch = reading.after(after)
    return None if batch is None else [entry.number for entry in batch.entries]


def played(store: Store, game: Game, events: int = 1) -> Game:
    """The game some events further on."""
    return change(store, game, *[DREW] * events)


# ------------------------------------------------------------------------------- how old it is


def test_nothing_is_read_again_until_the_bell_has_rung(store, read):
    game = create(store)
    shared = read.of(game.id)
    first = shared.latest(0, game.events)
    game = played(store, game)
    assert shared.latest(first.began, game.events) is first
    rung_at = time.monotonic()
    second = shared.latest(rung_at, game.events)
    assert second.began >= rung_at
    assert second.game == store.load(game.id)
    assert shared.latest(rung_at, game.events) is second


def test_all_who_wait_for_one_game_share_it_and_nobody_else(store, read):
    game, other = create(store), create(store)
    shared = read.of(game.id)
    assert read.of(game.id) is shared
    assert read.of(other.id) is not shared
    assert read.of(other.id).latest(0, 0).game.id == other.id


def test_nothing_is_kept_when_nobody_waits_any_more(store, read):
    game = create(store)
    shared = read.of(game.id)
    shared.latest(0, game.events)
    assert len(read._shared) == 1
    del shared
    assert len(read._shared) == 0


def test_many_who_are_woken_at_once_read_once(server, store, read):
    game = create(store)
    shared = read.of(game.id)
    with redis.Redis.from_url(server.url) as own, ThreadPoolExecutor(40) as threads:
        ready = threading.Barrier(40)

        def woken(_: int) -> Reading:
            ready.wait()
            return shared.latest(rung_at, game.events)

        rung_at = time.monotonic()
        own.config_resetstat()
        found = list(threads.map(woken, range(40)))
        assert own.info("commandstats")["cmdstat_xrange"]["calls"] == 1
    assert all(reading is found[0] for reading in found)


def test_a_game_that_is_gone_is_gone_for_all(server, store, read):
    game = create(store)
    shared = read.of(game.id)
    shared.latest(0, game.events)
    store.delete([game.id])
    for _ in range(2):
        with pytest.raises(NoSuchGame):
            shared.latest(time.monotonic(), game.events)


# --------------------------------------------------------------------------------- what it has


def test_who_is_a_little_behind_is_told_what_others_have_read(store, read):
    game = create(store)
    shared = read.of(game.id)
    shared.latest(0, game.events)
    game = played(store, game, 2)
    shared.latest(time.monotonic(), game.events)
    game = played(store, game, 1)
    latest = shared.latest(time.monotonic(), game.events)
    told = {after: numbers(latest, after) for after in range(6)}
    assert told == {0: None, 1: [2, 3, 4], 2: [3, 4], 3: [4], 4: [], 5: None}


def test_what_was_read_long_ago_is_not_handed_on(store, read, monkeypatch):
    """It may have been undone since, by a failover."""
    monkeypatch.setattr(readings, "_TOGETHER_SECONDS", 0.0)
    game = create(store)
    shared = read.of(game.id)
    for _ in range(2):
        game = played(store, game)
        latest = shared.latest(time.monotonic(), game.events - 1)
    assert [numbers(latest, after) for after in range(4)] == [None, None, [3], []]


def test_what_is_handed_on_is_bounded_and_has_no_gaps(store, read):
    game = create(store)
    shared = read.of(game.id)
    for _ in range(6):
        game = played(store, game, 40)
        latest = shared.latest(time.monotonic(), game.events - 40)
        assert len(latest.log) <= MOST_ENTRIES
        assert numbers(latest, game.events - 1) == [game.events]
        first = latest.base + 1
        assert numbers(latest, latest.base) == list(range(first, game.events + 1))


def test_where_more_has_happened_than_is_read_at_a_time_nothing_is_left_out(store, read):
    game = create(store)
    shared = read.of(game.id)
    shared.latest(0, game.events)
    game = played(store, game, MOST_ENTRIES + 50)
    latest = shared.latest(time.monotonic(), game.events)
    assert numbers(latest, 1) is None
    assert numbers(latest, MOST_ENTRIES + 1) is None
    latest = shared.latest(time.monotonic(), game.events)
    assert numbers(latest, game.events - 3) == [game.events - 2, game.events - 1, game.events]


def test_those_who_know_the_same_are_told_in_one_batch(store, read):
    game = create(store)
    shared = read.of(game.id)
    shared.latest(0, game.events)
    game = played(store, game, 2)
    latest = shared.latest(time.monotonic(), game.events)
    assert latest.after(1) is latest.after(1)
    assert latest.after(1) is not latest.after(2)


# ------------------------------------------------------------------- when something is wrong


def latest_or_none(shared: Shared) -> Reading | None:
    try:
        return shared.latest(time.monotonic(), 0)
    except StoreUnavailable:
        return None


def test_a_store_that_does_not_answer_holds_up_all_at_once_and_not_in_turn(server, store, read):
    shared = read.of(create(store).id)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with ThreadPoolExecutor(30) as threads:
            found = list(threads.map(lambda _: latest_or_none(shared), range(30)))
        assert time.monotonic() - began < 10 * SERVER_SECONDS
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert found == [None] * 30
    assert latest_or_none(shared) is not None


def test_what_is_due_is_done_by_who_reads_as_soon_as_it_is_due(store, read, clock):
    game = table(due=clock.now + 1_000, seed=new_seed(lambda size: b"\0" * size))
    store.commit(game, ())
    shared = read.of(game.id)
    before = shared.latest(0, game.events)
    assert shared.latest(0, game.events) is before
    clock.forward(1)
    after = shared.latest(0, game.events)
    assert (after.game.due, after.game.version) == (None, 2)


def test_what_is_due_and_cannot_be_stored_is_tried_again_but_not_at_once(
    server, store, read, clock, monkeypatch
):
    game = table(due=clock.now, seed=new_seed(lambda size: b"\0" * size))
    store.commit(game, ())
    shared = read.of(game.id)
    with redis.Redis.from_url(server.url) as own:
        own.config_set("min-replicas-to-write", 1)
        tried = shared.latest(0, game.events)
        assert tried.game.due == game.due
        own.config_set("min-replicas-to-write", 0)
    assert shared.latest(0, game.events) is tried
    monkeypatch.setattr(readings, "TRY_AGAIN_SECONDS", 0.0)
    assert shared.latest(0, game.events).game.due is None

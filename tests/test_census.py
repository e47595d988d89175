"""How many games there are: counted by their fields, once a minute for all processes."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from service.embedded import EmbeddedStore
from service.servers import Servers
from service.store import Census, Store
from tests.test_store import EXPIRY, FINISHED, LATER, NOW, change, create, start


@pytest.fixture(scope="module")
def own_redis() -> Iterator[redis.Redis]:
    """A server of these tests' own, since all its games are counted."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as server:
        yield redis.Redis.from_url(server.url)


@pytest.fixture
def store(own_redis: redis.Redis) -> Store:
    own_redis.flushdb()
    return another(own_redis)


def another(own_redis: redis.Redis) -> Store:
    """What another process has."""
    return Store(Servers(f"unix://{own_redis.get_connection_kwargs()['path']}", 2), EXPIRY)


def scans(own_redis: redis.Redis) -> int:
    """How often keys were looked for."""
    return own_redis.info("commandstats").get("cmdstat_scan", {"calls": 0})["calls"]


def counts(census: Census | None) -> list[int]:
    assert census is not None
    return [*census.games.values(), census.unreadable]


def some_of_each(store: Store) -> None:
    """One waits, two are played, three are finished, four closed."""
    create(store)
    for _ in range(2):
        start(store, create(store))
    for _ in range(3):
        change(store, start(store, create(store)), match=FINISHED)
    for _ in range(4):
        change(store, create(store), closed=True)


def test_games_are_counted_by_how_they_stand(store):
    assert counts(store.counted(NOW)) == [0, 0, 0, 0, 0]
    some_of_each(store)
    assert counts(store.counted(NOW)) == [1, 2, 3, 4, 0]


def test_many_games_are_counted_each_once(store):
    for _ in range(1500):
        create(store)
    assert counts(store.counted(NOW)) == [1500, 0, 0, 0, 0]


def test_games_of_before_are_counted_by_their_records(store, own_redis):
    some_of_each(store)
    for key in own_redis.keys("rummy:{*}:game"):
        own_redis.hdel(key, "standing")
    assert counts(store.counted(NOW)) == [1, 2, 3, 4, 0]


def test_what_an_older_worker_left_behind_is_not_believed(store, own_redis):
    """It stores the next version, and knows nothing of the field."""
    game = change(store, start(store, create(store)), due=NOW)
    key = f"rummy:{{{game.id}}}:game"
    stale = own_redis.hget(key, "standing")
    change(store, game, match=FINISHED, due=None)
    own_redis.hset(key, "standing", stale)
    census = store.counted(LATER)
    assert (counts(census), census.overdue_since) == ([0, 0, 1, 0, 0], None)


def test_what_cannot_be_read_is_counted_too(store, own_redis):
    game = create(store)
    key = f"rummy:{{{game.id}}}:game"
    own_redis.hdel(key, "standing")
    own_redis.hset(key, "record", '{"format":99}')
    assert counts(store.counted(NOW)) == [0, 0, 0, 0, 1]


def test_a_key_that_is_not_ours_does_not_keep_the_games_from_being_counted(store, own_redis):
    create(store)
    own_redis.set("rummy:{aaaaaaaaaaaaaaaa}:game", "text")
    own_redis.hset("rummy:{no id at all}:game", "record", "text")
    assert counts(store.counted(NOW)) == [1, 0, 0, 0, 0]
    assert len(list(store.all_games())) == 1


def test_the_oldest_deadline_that_has_passed_is_told(store):
    assert store.counted(LATER).overdue_since is None
    for due in (LATER - 5, LATER - 7, LATER + 9, None):
        change(store, start(store, create(store)), due=due)
    assert store.counted(LATER).overdue_since == LATER - 7
    assert store.counted(LATER - 7).overdue_since is None


def test_within_a_minute_all_processes_count_once(store, own_redis):
    create(store)
    before = scans(own_redis)
    census = store.census(NOW)
    assert counts(census) == [1, 0, 0, 0, 0]
    counted = scans(own_redis)
    assert counted > before
    create(store)
    assert store.census(NOW) == another(own_redis).census(NOW) == census
    assert scans(own_redis) == counted
    assert 50_000 < own_redis.pttl("rummy:census:taken") <= 60_000
    own_redis.delete("rummy:census:taken")
    assert counts(another(own_redis).census(NOW)) == [2, 0, 0, 0, 0]


def test_of_many_at_once_one_counts_and_the_others_do_not_wait(store, own_redis):
    create(store)
    before = scans(own_redis)
    stores = [another(own_redis) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(lambda each: each.census(NOW), stores))
    assert scans(own_redis) == before + 1
    known = [census for census in told if census is not None]
    assert known
    assert all(counts(census) == [1, 0, 0, 0, 0] for census in known)

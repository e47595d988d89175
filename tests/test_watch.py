"""Waiting, against real servers: no ring is lost, however many wait and whatever befalls the line.

Where a test waits for a ring, silence lasts much longer than its patience: only a ring can end it.
"""

import gc
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import redis

from service import line, watch
from service.embedded import EmbeddedStore
from service.servers import Servers
from service.watch import Bell, Watch
from tests import fleets
from tests.fleets import raw_client
from tests.patience import until
from tests.test_store import EXPIRY, Store, change, create

ROOT = Path(__file__).parent.parent
SILENCE = 60.0
PATIENCE = 20.0
MOMENT = 0.3


@pytest.fixture(autouse=True)
def long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", SILENCE)


class Switch:
    """What a worker knows: whether it is about to end, and how often it has been asked."""

    def __init__(self) -> None:
        self.on = False
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.on


@pytest.fixture
def switch() -> Iterator[Switch]:
    """Turned on at the end, so that no test leaves a listener behind."""
    stopping = Switch()
    yield stopping
    stopping.on = True


@pytest.fixture(scope="module")
def strangers() -> set[threading.Thread]:
    """The listeners that other tests of this process have left behind."""
    return set(threading.enumerate())


@pytest.fixture
def alone(
    caplog: pytest.LogCaptureFixture, strangers: set[threading.Thread]
) -> pytest.LogCaptureFixture:
    """The log, once the listeners of the tests before, of this file, have ended."""
    until(
        lambda: (
            not any(
                thread.name == "watch" and thread not in strangers
                for thread in threading.enumerate()
            )
        )
    )
    caplog.clear()
    return caplog


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedStore]:
    """A server of the test's own, free to be killed."""
    with EmbeddedStore(tmp_path / "data") as started:
        yield started


@pytest.fixture
def own(server: EmbeddedStore) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
def raw(each_redis_url: str) -> Iterator[redis.Redis]:
    with raw_client(each_redis_url) as client:
        yield client


def new_id() -> str:
    return secrets.token_hex(8)


def channel(game: str) -> str:
    return f"rummy:{{{game}}}:bell"


def ring(client: redis.Redis, game: str) -> int:
    """How many heard it."""
    return fleets.ring(client, channel(game))


def listeners(client: redis.Redis, game: str) -> int:
    return fleets.listeners(client, channel(game))


def rings(bell: Bell, within: float = PATIENCE) -> bool:
    began = time.monotonic()
    bell.wait(within)
    return time.monotonic() - began < within


def is_clean(watching: Watch) -> bool:
    listeners = watching._listeners.values()
    return not any(listener.bells or listener.wishes for listener in listeners)


class Waiter(threading.Thread):
    """Waits for one game until it should leave, and counts how often it was woken."""

    def __init__(self, watching: Watch, game: str) -> None:
        super().__init__(daemon=True)
        self.woken = 0
        self._watching = watching
        self._game = game
        self._listening = threading.Event()
        self._leaving = False
        self.start()
        assert self._listening.wait(PATIENCE)

    def run(self) -> None:
        with self._watching.listen(self._game) as bell:
            self._listening.set()
            while not (self._leaving or self._watching.stopping):
                bell.wait(SILENCE)
                self.woken += 1

    def leave(self, client: redis.Redis) -> None:
        self._leaving = True
        ring(client, self._game)
        self.join(PATIENCE)
        assert not self.is_alive()


class Tunnel:
    """A way to a server.

    It can go dead: what is connected stays so, but nothing comes through. And it can be made
    impassable for a while to what goes to the server.
    """

    def __init__(self, upstream: str, path: Path) -> None:
        self.url = f"unix://{path}"
        self.connections = 0
        self.passable = threading.Event()
        self.passable.set()
        self._dead = 0
        self._upstream = redis.connection.parse_url(upstream)["path"]
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def die(self) -> None:
        """For those connected now and the next; who connects after that gets through."""
        self._dead = self.connections + 1

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._upstream)
            for way in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._carry, args=(*way, self.connections), daemon=True
                ).start()

    def _carry(self, start: socket.socket, end: socket.socket, forth: bool, number: int) -> None:
        with suppress(OSError):
            while data := start.recv(1 << 16):
                if forth:
                    self.passable.wait(PATIENCE)
                if number > self._dead:
                    end.sendall(data)
            end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def tunnel(server: EmbeddedStore, tmp_path: Path) -> Iterator[Tunnel]:
    made = Tunnel(server.url, tmp_path / "tunnel")
    yield made
    made.close()


# ----------------------------------------------------------------------------------------- rings


def test_a_ring_wakes_those_who_wait_for_its_game_and_nobody_else(each_redis_url, raw, switch):
    watching = Watch(Servers(each_redis_url, 2), switch)
    game, other = new_id(), new_id()
    with watching.listen(game) as first, watching.listen(game) as second:
        with watching.listen(other) as elsewhere:
            assert ring(raw, game) == 1
            assert rings(first)
            assert rings(second)
            assert not rings(elsewhere, MOMENT)
            assert ring(raw, other) == 1
            assert rings(elsewhere)
        assert not rings(first, MOMENT)
        assert not rings(second, MOMENT)


def test_a_commit_rings(server, switch):
    store = Store(Servers(server.url, 0.8), EXPIRY)
    watching = Watch(Servers(server.url, 2), switch)
    game = create(store)
    with watching.listen(game.id) as bell:
        assert not rings(bell, MOMENT)
        change(store, game)
        assert rings(bell)


def test_a_ring_wakes_who_is_already_waiting(redis_url, switch):
    watching = Watch(Servers(redis_url, 2), switch)
    game = new_id()
    with redis.Redis.from_url(redis_url) as raw, watching.listen(game) as bell:
        for _ in range(5):
            later = threading.Timer(0.1, ring, (raw, game))
            later.start()
            assert rings(bell)
            later.join()


def test_a_ring_before_the_wait_is_kept_for_it_and_used_up_by_it(each_redis_url, raw, switch):
    watching = Watch(Servers(each_redis_url, 2), switch)
    game = new_id()
    with watching.listen(game) as bell:
        for _ in range(3):
            assert ring(raw, game) == 1
        time.sleep(MOMENT)
        assert rings(bell)
        assert not rings(bell, MOMENT)
        ring(raw, game)
        assert rings(bell)


def test_to_begin_to_listen_is_not_a_ring(each_redis_url, switch):
    watching = Watch(Servers(each_redis_url, 2), switch)
    game = new_id()
    with watching.listen(game) as first, watching.listen(game) as second:
        assert not rings(first, MOMENT)
        assert not rings(second, MOMENT)


def test_who_listens_is_subscribed_at_once(each_redis_url, raw, switch):
    watching = Watch(Servers(each_redis_url, 2), switch)
    began = time.monotonic()
    for _ in range(100):
        game = new_id()
        with watching.listen(game):
            assert listeners(raw, game) == 1
    assert time.monotonic() - began < PATIENCE  # no waiting for the next tick


def test_who_listens_again_hears_whatever_became_of_the_subscription_before(redis_url, switch):
    watching = Watch(Servers(redis_url, 2), switch)
    game, passer_by = new_id(), new_id()
    with redis.Redis.from_url(redis_url) as raw:
        for number in range(300):
            with watching.listen(game) as bell:
                assert ring(raw, game) == 1
                assert rings(bell)
            if number % 2:  # ends the subscription, or nearly
                with watching.listen(passer_by):
                    pass


def test_a_late_ring_of_an_ended_subscription_does_not_pass_for_a_new_one(
    tunnel, own, switch, monkeypatch
):
    monkeypatch.setattr(watch, "_SUBSCRIBE_SECONDS", PATIENCE)
    monkeypatch.setattr(line, "_ANSWER_SECONDS", PATIENCE)
    watching = Watch(Servers(tunnel.url, 2), switch)
    game = new_id()
    with watching.listen(game):
        tunnel.passable.clear()
    until(lambda: is_clean(watching))
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(Waiter, watching, game)
        until(lambda: not is_clean(watching))
        assert ring(own, game) == 1
        time.sleep(MOMENT)
        assert not coming.done()
        tunnel.passable.set()
        waiter = coming.result()
    assert listeners(own, game) == 1
    waiter.leave(own)


def test_all_of_a_crowd_are_woken_by_one_ring(redis_url, switch):
    watching = Watch(Servers(redis_url, 2), switch)
    game = new_id()
    with redis.Redis.from_url(redis_url) as raw:
        with ThreadPoolExecutor(200) as threads:
            waiters = list(threads.map(lambda _: Waiter(watching, game), range(200)))
        assert ring(raw, game) == 1
        until(lambda: all(waiter.woken for waiter in waiters))
        assert {waiter.woken for waiter in waiters} == {1}
        for waiter in waiters:
            waiter.leave(raw)


def test_a_wait_is_never_longer_than_asked_for_nor_than_the_longest_silence(
    redis_url, switch, monkeypatch
):
    watching = Watch(Servers(redis_url, 2), switch)
    with watching.listen(new_id()) as bell:
        for seconds in (-1, 0, MOMENT):
            began = time.monotonic()
            bell.wait(seconds)
            assert time.monotonic() - began >= seconds
        monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", MOMENT)
        assert rings(bell)


def test_a_bell_rings_for_a_version_that_nobody_rang_for_and_for_no_other(
    each_redis_url, raw, switch, monkeypatch
):
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", MOMENT)
    watching = Watch(Servers(each_redis_url, 2), switch)
    game, other = new_id(), new_id()
    for each in (game, other):
        raw.hset(f"rummy:{{{each}}}:game", "version", 7)
    with watching.listen(game) as bell, watching.listen(other) as another:
        bell.seen = another.seen = 7
        bell.wait(0)
        another.wait(0)
        assert not bell.wait(3)  # in which the versions are asked for three times
        raw.hset(f"rummy:{{{game}}}:game", "version", 8)
        missed = time.monotonic()
        assert bell.wait(PATIENCE)
        assert bell.rung_at > missed
        bell.seen = 8
        assert not bell.wait(3)
        assert not another.wait(0)
        raw.delete(f"rummy:{{{other}}}:game")  # as it expires
        assert another.wait(PATIENCE)


def test_the_versions_of_many_games_are_asked_for_in_few_round_trips(
    server, own, switch, monkeypatch
):
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", MOMENT)
    watching = Watch(Servers(server.url, 2), switch)
    with ExitStack() as stack:
        games = [new_id() for _ in range(250)]
        with ThreadPoolExecutor(50) as threads:
            bells = list(
                threads.map(lambda game: stack.enter_context(watching.listen(game)), games)
            )
        for game, bell in zip(games, bells, strict=True):
            own.hset(f"rummy:{{{game}}}:game", "version", 1)
            bell.seen = 1
        until(lambda: sum(bell.wait(0) for bell in bells) == 0)
        own.config_resetstat()
        assert not bells[0].wait(3)
        calls = own.info("commandstats")["cmdstat_hget"]["calls"]
        assert 250 <= calls <= 250 * 4
        assert not any(bell.wait(0) for bell in bells)
        (last,) = own.pipeline().hset(f"rummy:{{{games[-1]}}}:game", "version", 2).execute()
        assert last == 0
        assert bells[-1].wait(PATIENCE)
        assert not any(bell.wait(0) for bell in bells[:-1])


def test_a_bell_that_cannot_be_heard_counts_as_rung_after_the_longest_silence(
    server, own, switch, monkeypatch
):
    watching = Watch(Servers(server.url, 2), switch)
    with watching.listen(new_id()) as bell, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(bell.wait, PATIENCE)
        monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", 2.0)
        server.kill()  # in the middle of the wait
        assert waiting.result()
        with watching.listen(new_id()) as during:
            for each in (bell, during):
                began = time.monotonic()
                assert each.wait(PATIENCE)
                assert time.monotonic() - began < PATIENCE / 2
                assert not each.wait(0.1)


# ------------------------------------------------------------------------------- what is held


def test_a_subscription_ends_with_the_last_who_listens(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)
    game, other = new_id(), new_id()
    with watching.listen(other):
        with watching.listen(game):
            with watching.listen(game):
                assert listeners(own, game) == 1
            time.sleep(1.5)  # time enough for a subscription to be ended wrongly
            assert listeners(own, game) == 1
        until(lambda: listeners(own, game) == 0)
        assert listeners(own, other) == 1
    until(lambda: not own.pubsub_channels())
    until(lambda: is_clean(watching))


def fail(watching: Watch, game: str) -> None:
    with pytest.raises(KeyError), watching.listen(game):
        raise KeyError


def close_a_stream(watching: Watch, game: str) -> None:
    stream = streaming(watching, game)
    next(stream)
    stream.close()


def forget_a_stream(watching: Watch, game: str) -> None:
    stream = streaming(watching, game)
    next(stream)
    cycle = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()


def streaming(watching: Watch, game: str) -> Iterator[None]:
    with watching.listen(game) as bell:
        while True:
            yield
            bell.wait(1)


@pytest.mark.parametrize("leave", [fail, close_a_stream, forget_a_stream])
def test_nothing_is_left_of_who_leaves_early(server, own, switch, leave):
    watching = Watch(Servers(server.url, 2), switch)
    for _ in range(20):
        leave(watching, new_id())
    until(lambda: not own.pubsub_channels())
    until(lambda: is_clean(watching))


def test_one_connection_serves_all_and_none_is_made_before_somebody_listens(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)
    assert own.info("clients")["connected_clients"] == 1
    waiters = [Waiter(watching, new_id()) for _ in range(50)]
    assert len(own.pubsub_channels()) == 50
    assert len(own.client_list(_type="pubsub")) == 1
    assert own.info("clients")["connected_clients"] == 2
    for waiter in waiters:
        waiter.leave(own)
    assert own.info("clients")["connected_clients"] == 2


def test_no_ring_is_lost_when_many_come_and_go_at_once(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)
    games = [new_id() for _ in range(3)]

    def commit(game: str) -> None:
        with own.pipeline() as both:
            both.incr(game).publish(channel(game), "1").execute()

    with ThreadPoolExecutor(4) as committers, ThreadPoolExecutor(24) as threads:

        def wait_for_changes(number: int) -> int:
            lost = 0
            for turn in range(60):
                game = games[(number + turn) % 3]
                with suppress(KeyError), watching.listen(game) as bell:
                    version = own.get(game)
                    committed = committers.submit(commit, game)
                    if turn % 4 == number % 4:
                        raise KeyError(game)
                    while own.get(game) == version:
                        lost += not rings(bell, 5)
                    committed.result()
            return lost

        assert list(threads.map(wait_for_changes, range(24))) == [0] * 24
    until(lambda: not own.pubsub_channels())
    until(lambda: is_clean(watching))
    gc.collect()
    bells = [thing for thing in gc.get_objects() if isinstance(thing, Bell)]
    assert not [bell for bell in bells if bell._watch is watching]


# ------------------------------------------------------------------------------------ outages


def test_a_killed_connection_wakes_all_and_later_rings_are_heard(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)
    game, other = new_id(), new_id()
    with watching.listen(game) as bell, watching.listen(other) as another:
        for _ in range(3):
            assert own.client_kill_filter(_type="pubsub") == 1
            assert rings(bell)
            assert rings(another)
            assert listeners(own, game) == listeners(own, other) == 1
            assert not rings(bell, MOMENT)
            ring(own, game)
            assert rings(bell)
    assert len(own.client_list(_type="pubsub")) == 1


def test_more_connections_are_made_than_a_pool_would_allow(server, own, switch, monkeypatch):
    monkeypatch.setattr(watch, "_LONGEST_PAUSE_SECONDS", 0.001)
    watching = Watch(Servers(server.url, 2), switch)
    game = new_id()
    with watching.listen(game) as bell:
        for _ in range(120):
            own.client_kill_filter(_type="pubsub")
            assert rings(bell)


@pytest.mark.parametrize("end", [EmbeddedStore.kill, EmbeddedStore.stop])
def test_a_restarted_server_wakes_all_and_later_rings_are_heard(alone, server, own, switch, end):
    watching = Watch(Servers(server.url, 2), switch)
    game, comer = new_id(), new_id()
    with watching.listen(game) as bell:
        end(server)
        assert not rings(bell, MOMENT)
        with watching.listen(comer) as during:  # takes a second, raises nothing
            server.start()
            assert rings(bell)
            assert rings(during)
            ring(own, comer)
            assert rings(during)
            assert not rings(bell, MOMENT)
            ring(own, game)
            assert rings(bell)
    (record,) = alone.records
    assert record.levelno == logging.WARNING


def test_a_stalled_server_holds_nobody_up_and_wakes_all_when_it_goes_on(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)
    game, other = new_id(), new_id()
    with watching.listen(game) as bell:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with watching.listen(other) as another:
                assert not rings(another, MOMENT)
            assert time.monotonic() - began < PATIENCE
            assert not rings(bell, 6)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert rings(bell)
        until(lambda: len(own.client_list(_type="pubsub")) == 1)
        ring(own, game)
        assert rings(bell)


def test_a_connection_that_is_dead_without_a_word_is_replaced_soon(tunnel, own, switch):
    watching = Watch(Servers(tunnel.url, 2), switch)
    game = new_id()
    with watching.listen(game) as bell:
        ring(own, game)
        assert rings(bell)
        tunnel.die()
        ring(own, game)  # the one that is lost
        assert rings(bell, 12)
        ring(own, game)
        assert rings(bell)
        assert tunnel.connections == 3


def test_a_quiet_connection_is_kept(tunnel, switch):
    watching = Watch(Servers(tunnel.url, 2), switch)
    with watching.listen(new_id()) as bell:
        assert not rings(bell, 6)
    assert tunnel.connections == 1


@pytest.mark.parametrize("scheme", ["unix", "redis"])
def test_without_a_server_nothing_is_raised_and_nothing_kept(alone, tmp_path, switch, scheme):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nowhere = {"unix": f"unix://{tmp_path}/nowhere", "redis": f"redis://127.0.0.1:{port}"}
    watching = Watch(Servers(nowhere[scheme], 2), switch)
    began = time.monotonic()
    with watching.listen(new_id()) as bell:
        assert time.monotonic() - began < PATIENCE
        assert not rings(bell, MOMENT)
    until(lambda: is_clean(watching))
    assert len(alone.records) == 1


def test_a_server_that_hangs_up_is_not_stormed(alone, switch):
    calls = []

    def hang_up() -> None:
        with suppress(OSError):
            while True:
                client, _ = unkind.accept()
                client.close()
                calls.append(time.monotonic())

    with socket.create_server(("127.0.0.1", 0)) as unkind:
        threading.Thread(target=hang_up, daemon=True).start()
        watching = Watch(Servers(f"redis://127.0.0.1:{unkind.getsockname()[1]}", 2), switch)
        with watching.listen(new_id()) as bell:
            assert not rings(bell, 1)
        unkind.shutdown(socket.SHUT_RDWR)
    assert 3 <= len(calls) < 20
    assert len(alone.records) == 1


def test_who_leaves_during_an_outage_does_not_come_back_with_the_server(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)

    def pass_by(number: int) -> None:
        time.sleep(number / 100)
        with watching.listen(new_id()) as bell:
            bell.wait(0)

    with ThreadPoolExecutor(100) as threads:
        passing = [threads.submit(pass_by, number) for number in range(100)]
        server.kill()
        time.sleep(1.5)
        server.start()
        for passer_by in passing:
            passer_by.result()
    until(lambda: not own.pubsub_channels())
    until(lambda: is_clean(watching))


def test_who_listens_before_there_is_a_server_hears_once_there_is(tmp_path, switch):
    server = EmbeddedStore(tmp_path)
    watching = Watch(Servers(f"unix://{tmp_path}/valkey.sock", 2), switch)
    game = new_id()
    with watching.listen(game) as bell, server, redis.Redis.from_url(server.url) as raw:
        assert rings(bell)
        ring(raw, game)
        assert rings(bell)


# ----------------------------------------------------------------------------------- stopping


def test_a_worker_that_stops_wakes_all_and_lets_nobody_wait_again(server, own, switch):
    watching = Watch(Servers(server.url, 2), switch)
    waiters = [Waiter(watching, new_id()) for _ in range(20)]
    game = new_id()
    with watching.listen(game) as bell:
        assert not watching.stopping
        switch.on = True
        assert rings(bell)
        assert watching.stopping
        for _ in range(1000):
            assert rings(bell)
        with watching.listen(new_id()) as another:
            assert rings(another)
        until(lambda: all(waiter.woken for waiter in waiters))
    until(lambda: not own.client_list(_type="pubsub"))


def test_so_it_does_when_there_is_no_server(tmp_path, switch):
    watching = Watch(Servers(f"unix://{tmp_path}/nowhere", 2), switch)
    with watching.listen(new_id()) as bell:
        switch.on = True
        assert rings(bell)
        assert watching.stopping


def test_whether_it_stops_is_asked_about_once_a_second_however_many_wait(redis_url, switch):
    watching = Watch(Servers(redis_url, 2), switch)
    with redis.Redis.from_url(redis_url) as raw:
        waiters = [Waiter(watching, new_id()) for _ in range(20)]
        before = switch.asked
        time.sleep(3)
        assert 1 <= switch.asked - before <= 4
        for waiter in waiters:
            waiter.leave(raw)


# ------------------------------------------------------------------------------ other processes


def run(script: str, *arguments: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


FORKS = """
import json, os, sys, time
import redis
from service import watch
from service.servers import Servers

watch.MOST_SILENCE_SECONDS = 60
watching = watch.Watch(Servers(sys.argv[1], 2))
children = []
for number in range(3):
    ready, says_ready = os.pipe()
    if not (child := os.fork()):
        with watching.listen(f"game {number}") as bell:
            os.write(says_ready, b".")
            began = time.monotonic()
            bell.wait(20)
            os._exit(time.monotonic() - began >= 20)
    os.read(ready, 1)
    children.append(child)
with redis.Redis.from_url(sys.argv[1]) as raw:
    connections = len(raw.client_list(_type="pubsub"))
    heard = [raw.publish(f"rummy:{{game {number}}}:bell", "1") for number in range(3)]
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(json.dumps({"connections": connections, "heard": heard, "codes": codes}))
"""


def test_made_before_a_fork_it_works_in_each_child_by_itself(server):
    assert run(FORKS, server.url) == {"connections": 3, "heard": [1, 1, 1], "codes": [0, 0, 0]}


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import json, sys, time
import gevent, redis
from service import watch
from service.servers import Servers

watch.MOST_SILENCE_SECONDS = 60
raw = redis.Redis.from_url(sys.argv[1])
watching = watch.Watch(Servers(sys.argv[1], 2))
woken = [0] * 2000
listening = []

def waiter(number):
    with watching.listen(f"game {number % 1000}") as bell:
        listening.append(number)
        while True:
            bell.wait(60)
            woken[number] += 1

def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()

greenlets = [gevent.spawn(waiter, number) for number in range(2000)]
answer = {"listening": wait_until(lambda: len(listening) == 2000)}
answer["early"] = sum(woken)
answer["channels"] = len(raw.pubsub_channels())
answer["connections"] = len(raw.client_list(_type="pubsub"))
with raw.pipeline(transaction=False) as rings:
    for number in range(1000):
        rings.publish(f"rummy:{{game {number}}}:bell", "1")
    answer["heard"] = sum(rings.execute())
answer["all woken"] = wait_until(lambda: min(woken) > 0)
time.sleep(0.2)
answer["most woken"] = max(woken)
raw.client_kill_filter(_type="pubsub")
answer["all woken by the loss"] = wait_until(lambda: min(woken) > 1)
gevent.killall(greenlets)
answer["left"] = wait_until(lambda: not raw.pubsub_channels() and not any(
    listener.bells for listener in watching._listeners.values()
))
print(json.dumps(answer))
"""


def test_two_thousand_greenlets_on_a_thousand_games_are_woken_over_one_connection(server):
    answer = run(GREENLETS, server.url)
    assert answer == {
        "listening": True,
        "early": 0,
        "channels": 1000,
        "connections": 1,
        "heard": 1000,
        "all woken": True,
        "most woken": 1,
        "all woken by the loss": True,
        "left": True,
    }

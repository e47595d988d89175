"""The Valkey that the service starts itself: one per data directory, and no data lost."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from service.embedded import EmbeddedStore, EmbeddedStoreError
from tests.fleets import raw_client
from tests.patience import until
from tests.serving import is_alive
from tests.small_disk import NoDisk, SmallDisk, small_disk


def value_of_x(url: str) -> bytes | None:
    with redis.Redis.from_url(url) as client:
        return client.get("x")


def set_x(url: str, value: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.set("x", value)


def answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as client:
            return client.ping()
    except redis.ConnectionError:
        return False


def test_it_answers_as_soon_as_it_is_started(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        assert answers(store.url)


def test_it_ends_when_it_is_stopped_and_leaves_no_socket(tmp_path):
    store = EmbeddedStore(tmp_path)
    store.start()
    pid = store.pid
    store.stop()
    assert not is_alive(pid)
    assert not list(tmp_path.glob("*.sock"))


def test_stopping_twice_is_fine(tmp_path):
    store = EmbeddedStore(tmp_path)
    store.start()
    store.stop()
    store.stop()


def test_the_data_is_kept_after_a_stop(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        set_x(store.url, "kept")
    with EmbeddedStore(tmp_path) as store:
        assert value_of_x(store.url) == b"kept"


def test_the_data_is_kept_after_kill_9(tmp_path):
    store = EmbeddedStore(tmp_path)
    set_x(store.start(), "kept")
    store.kill()
    assert value_of_x(store.start()) == b"kept"
    store.stop()


def test_nobody_else_can_read_the_data(tmp_path):
    directory = tmp_path / "new" / "data"
    with EmbeddedStore(directory) as store:
        set_x(store.url, "secret")
        assert directory.stat().st_mode & 0o777 == 0o700
        files = [path for path in directory.rglob("*") if path.name != "valkey.log"]
        assert files
        assert all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_it_cannot_be_reached_over_the_network(tmp_path):
    with EmbeddedStore(tmp_path) as store, redis.Redis.from_url(store.url) as client:
        assert client.config_get("port") == {"port": "0"}


def test_a_second_start_on_the_same_directory_is_refused(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        set_x(store.url, "first")
        with pytest.raises(EmbeddedStoreError, match=f"{tmp_path} is in use"):
            EmbeddedStore(tmp_path).start()
        assert value_of_x(store.url) == b"first"


def test_a_socket_that_was_left_behind_does_no_harm(tmp_path):
    store = EmbeddedStore(tmp_path)
    store.start()
    os.kill(store.pid, signal.SIGKILL)
    until(lambda: not is_alive(store.pid))
    left = (tmp_path / "valkey.sock").rename(tmp_path / "left.sock")
    store.stop()
    left.rename(tmp_path / "valkey.sock")
    with EmbeddedStore(tmp_path) as again:
        assert value_of_x(again.url) is None


@pytest.mark.parametrize("name", ["d" * 100, "with space, ? and #", "ünïcödé"])
def test_a_directory_may_have_any_name(tmp_path, name):
    with EmbeddedStore(tmp_path / name) as store:
        set_x(store.url, "here")
        assert value_of_x(store.url) == b"here"
        socket = Path(redis.connection.parse_url(store.url)["path"])
        assert len(os.fsencode(socket)) <= 103
        assert socket.parent.stat().st_mode & 0o077 == 0
    assert not socket.exists()
    assert (tmp_path / name / "appendonlydir").is_dir()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedStoreError, match=f"Cannot use {tmp_path}/file"):
        EmbeddedStore(tmp_path / "file").start()


def test_data_that_cannot_be_read_is_told_with_the_words_of_the_server(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        set_x(store.url, "1")
    for file in (tmp_path / "appendonlydir").glob("*.incr.aof"):
        file.write_text("this is no append-only file\n")
    with pytest.raises(EmbeddedStoreError, match=r"(?s)ended as soon as it started.*file format"):
        EmbeddedStore(tmp_path).start()


def test_a_server_program_that_cannot_run_is_told(tmp_path):
    with pytest.raises(EmbeddedStoreError, match="Cannot start /no/such/program"):
        EmbeddedStore(tmp_path, binary=Path("/no/such/program")).start()
    with EmbeddedStore(tmp_path) as store:
        assert answers(store.url)


def test_a_living_server_is_not_revived(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        pid = store.pid
        assert not store.revive()
        assert store.pid == pid


def test_a_dead_server_is_revived_at_the_same_address_with_its_data(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        url, pid = store.url, store.pid
        set_x(url, "kept")
        os.kill(pid, signal.SIGKILL)
        until(store.revive)
        assert store.pid != pid
        assert store.url == url
        until(lambda: answers(url))
        assert value_of_x(url) == b"kept"
        with pytest.raises(EmbeddedStoreError):
            EmbeddedStore(tmp_path).start()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(small_disk(tmp_path / "disk", megabytes=32))
        except NoDisk as error:
            pytest.skip(str(error))
        yield disk


def test_on_a_full_disk_it_refuses_changes_and_answers_questions(disk):
    with EmbeddedStore(disk.path / "data") as store:
        set_x(store.url, "kept")
        assert not store.watch_the_disk()
        disk.fill(left=4_000_000)
        assert store.watch_the_disk()
        assert store.is_full
        with pytest.raises(redis.ResponseError, match="NOREPLICAS"):
            set_x(store.url, "more")
        assert value_of_x(store.url) == b"kept"
        assert not store.watch_the_disk()
        disk.empty()
        assert store.watch_the_disk()
        assert not store.is_full
        set_x(store.url, "more")


def test_a_server_that_ended_because_it_could_not_write_goes_on_when_there_is_room(disk):
    with EmbeddedStore(disk.path / "data") as store:
        set_x(store.url, "kept")
        disk.fill()
        with pytest.raises(redis.ConnectionError):
            set_x(store.url, "too much" * 100_000)
        until(store.revive)
        assert store.is_full
        until(lambda: answers(store.url))
        assert value_of_x(store.url) == b"kept"
        with pytest.raises(redis.ResponseError, match="NOREPLICAS"):
            set_x(store.url, "more")
        assert answers(store.url)
        disk.empty()
        assert store.watch_the_disk()
        set_x(store.url, "more")


STARTS_A_STORE = """
import sys, time
from pathlib import Path
from service.embedded import EmbeddedStore

store = EmbeddedStore(Path(sys.argv[1]))
store.start()
print(store.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_no_server_is_left_behind_when_its_parent_is_killed(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS_A_STORE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.wait()
    with EmbeddedStore(tmp_path):
        assert not is_alive(pid)


def test_a_forked_child_does_not_stop_the_server_of_its_parent(tmp_path):
    with EmbeddedStore(tmp_path) as store:
        child = os.fork()
        if child == 0:
            store.stop()
            os._exit(0)
        os.waitpid(child, 0)
        assert value_of_x(store.url) is None


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_the_data_can_be_taken_to_a_redis(tmp_path):
    with EmbeddedStore(tmp_path) as store, redis.Redis.from_url(store.url) as client:
        client.set("x", "1", ex=1000)
        client.xadd("stream", {"event": "drawn"})
        client.bgrewriteaof()
        until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
        client.set("x", "2", ex=1000)
    with (
        EmbeddedStore(tmp_path, binary=Path(str(shutil.which("redis-server")))) as store,
        redis.Redis.from_url(store.url) as client,
    ):
        assert "valkey_version" not in client.info("server")
        assert client.get("x") == b"2"
        assert client.xlen("stream") == 1


def test_a_server_answers_whichever_the_tests_run_against(each_redis_url):
    with raw_client(each_redis_url) as client:
        assert client.ping()

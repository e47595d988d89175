"""Whether the service can serve: broken is told from busy, and from full."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from service.app import create_app
from service.config import Config
from tests.contract import CheckedClient
from tests.http.tables import House, code
from tests.patience import until


def told(house: House) -> str:
    """What /readyz says: `ok`, what is true besides, or the code of the refusal."""
    answer = house.client().get("/readyz")
    if answer.status_code != 200:
        return code(answer)
    return " ".join(word for word, is_so in answer.json.items() if is_so).replace("status", "ok")


def test_a_store_that_answers_is_ok(fragile):
    assert told(fragile) == "ok"


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_a_store_that_does_not_answer_is_told_within_a_second(fragile, valkey, sign):
    os.kill(valkey.pid, sign)
    try:
        began = time.monotonic()
        answer = fragile.client().get("/readyz")
        assert time.monotonic() - began < 1.5
        assert (answer.status_code, code(answer)) == (503, "store_unavailable")
        assert answer.headers["Retry-After"]
    finally:
        os.kill(valkey.pid, signal.SIGCONT) if sign == signal.SIGSTOP else None


def test_that_it_has_just_answered_counts_for_nothing_once_somebody_has_met_trouble(
    fragile, valkey
):
    table = fragile.table("straight")
    assert told(fragile) == "ok"
    os.kill(valkey.pid, signal.SIGKILL)
    assert code(table.stranger.get()) == "store_unavailable"
    assert told(fragile) == "store_unavailable"


def test_a_store_that_is_full_is_ready_to_be_read(fragile, valkey):
    table = fragile.table("straight")
    with redis.Redis.from_url(valkey.url) as raw:
        raw.config_set("maxmemory", 1)
        assert told(fragile) == "ok"  # nobody has tried yet
        assert code(table.mover.draw("stock")) == "store_unavailable"
        assert told(fragile) == "ok read_only"
        assert table.stranger.get().status_code == 200
        raw.config_set("maxmemory", 0)
    assert table.mover.draw("stock").status_code == 200
    assert told(fragile) == "ok"


def test_as_long_as_a_store_takes_no_changes_ping_may_be_refused_too(fragile, valkey):
    (valkey.directory / "dump.rdb").mkdir()  # as with a disk that is full: it cannot be saved
    with redis.Redis.from_url(valkey.url) as raw:
        raw.config_set("save", "3600 1")
        raw.set("x", 1)
        raw.bgsave()
        until(lambda: raw.info("persistence")["rdb_last_bgsave_status"] == "err")
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            raw.ping()
        assert told(fragile) == "ok read_only"


def test_who_has_much_to_do_is_busy_and_says_so_at_once(fragile):
    crowd, slow = 200, ThreadPoolExecutor(200)
    table = fragile.table("straight")
    leave = threading.Event()
    said = set()

    def ask() -> None:
        client = fragile.client()
        while not leave.is_set():
            assert client.get(f"/v1/games/{table.id}").status_code == 200

    asking = [slow.submit(ask) for _ in range(crowd)]
    try:
        deadline = time.monotonic() + 20
        while "ok busy" not in said and time.monotonic() < deadline:
            said.add(told(fragile))
    finally:
        leave.set()
        for one in asking:
            one.result(30)
    assert "ok busy" in said <= {"ok", "ok busy"}
    assert told(fragile) == "ok"


def test_a_process_that_is_about_to_end_is_not_ready(house, redis_url):
    app = create_app(Config(redis_url=redis_url), stopping=lambda: True)
    client = CheckedClient(app.test_client(), house.client().contract)
    answer = client.get("/readyz")
    assert (answer.status_code, code(answer)) == (503, "stopping")
    assert client.get("/healthz").status_code == 200
    assert client.get("/v1/variants").status_code == 200


def test_that_the_process_is_up_is_told_without_the_store():
    client = create_app(Config(redis_url="redis://127.0.0.1:1")).test_client()
    assert client.get("/healthz").json == {"status": "ok"}
    assert client.get("/readyz").status_code == 503

"""What is counted, over all workers, whatever becomes of them."""

import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from service import __version__
from service.app import create_app
from service.config import Config
from service.embedded import EmbeddedStore
from tests.http.tables import House
from tests.patience import until
from tests.serving import command
from tests.watched import Watched, watching

Samples = dict[str, float]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.fixture
def service(tmp_path) -> Iterator[Watched]:
    """One whose workers may be killed."""
    with two_workers(tmp_path) as watched:
        yield watched


@pytest.fixture(scope="module")
def steady(tmp_path_factory) -> Iterator[Watched]:
    """One for all tests that only count."""
    with two_workers(tmp_path_factory.mktemp("steady")) as watched:
        yield watched


@contextmanager
def two_workers(directory: Path) -> Iterator[Watched]:
    with watching(directory, "--workers=2") as watched:
        until(lambda: samples(watched)["rummy_workers"] == 2, 60)
        yield watched


class Counted:
    """What has been counted since this was made."""

    def __init__(self, service: Watched) -> None:
        self._service = service
        self._before = settled(service)

    def __call__(self) -> Samples:
        now = settled(self._service)
        return {name: now[name] - self._before.get(name, 0) for name in now}


def samples(service: Watched) -> Samples:
    """The values by name and labels, as Prometheus reads them."""
    answer = service.get("/metrics")
    assert answer.status_code == 200
    return values(answer.text)


def settled(service: Watched) -> Samples:
    """The same once nothing more comes: workers tell the others five times a second."""
    while True:
        before = samples(service)
        time.sleep(0.3)
        now = samples(service)
        if all(now[name] == before.get(name) for name in now if is_of_clients(name)):
            return now


def is_of_clients(name: str) -> bool:
    own = ("lag", "getMetrics", "census", "overdue", "rummy_games", "rummy_store_seconds")
    return not any(word in name for word in own)


def values(text: str) -> Samples:
    return {
        sample.name
        + (
            "{"
            + ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            + "}"
            if sample.labels
            else ""
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def folder(service: Watched) -> Path:
    (found,) = Path("/dev/shm").glob(f"rummy-metrics-{service.process.pid}-*")
    return found


def ask_many(service: Watched, number: int) -> None:
    """Each over a connection of its own, so that all workers get some."""
    with ThreadPoolExecutor(8) as threads:
        assert all(
            answer.status_code == 200
            for answer in threads.map(lambda _: service.get("/healthz"), range(number))
        )


ASKED = 'rummy_requests_total{operation="getHealth",status="200"}'


# ------------------------------------------------------------------------------ over all workers


def test_every_worker_tells_the_sum_over_all(service):
    ask_many(service, 60)
    until(lambda: {samples(service)[ASKED] for _ in range(10)} == {60})
    counted = {file.name for file in folder(service).iterdir()}
    assert {"counter_0.db", "counter_1.db"} <= counted


def test_what_a_killed_worker_counted_stays_and_what_it_was_doing_goes(service):
    game, (first, _) = service.sandbox()
    ask_many(service, 40)
    with service.get(
        f"{game}/events", headers=first | {"Accept": "text/event-stream"}, stream=True
    ) as stream:
        next(stream.iter_lines())
        assert settled(service)['rummy_waiting{how="stream"}'] == 1
        killed = service.workers()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(service.workers() - killed) == 2)
        until(lambda: samples(service)["rummy_workers"] == 2, 60)
    told = settled(service)
    assert told[ASKED] == 40
    assert told['rummy_waiting{how="stream"}'] == 0
    assert told["rummy_worker_starts_total"] == 4


def test_what_a_worker_counted_last_is_told_when_it_ends(service):
    ask_many(service, 40)
    ended = service.workers()
    for pid in ended:
        os.kill(pid, signal.SIGTERM)
    until(lambda: len(service.workers() - ended) == 2, 60)
    until(lambda: samples(service)["rummy_workers"] == 2, 60)
    assert settled(service)[ASKED] == 40


def test_workers_that_come_and_go_leave_no_files_behind(service):
    ask_many(service, 20)
    assert settled(service)[ASKED] == 20
    before = {file.name for file in folder(service).iterdir()}
    for _ in range(3):
        (killed, *_) = service.workers()
        os.kill(killed, signal.SIGKILL)
        until(lambda killed=killed: len(service.workers() - {killed}) == 2)
        until(lambda: samples(service)["rummy_workers"] == 2, 60)
    assert {file.name for file in folder(service).iterdir()} == before
    assert samples(service)[ASKED] == 20


def test_a_reload_keeps_what_was_counted(service):
    ask_many(service, 20)
    for _ in range(2):
        old = service.workers()
        os.kill(service.process.pid, signal.SIGHUP)
        until(lambda old=old: len(service.workers()) == 2 and not service.workers() & old, 60)
        until(lambda: samples(service)["rummy_workers"] == 2, 60)
    assert settled(service)[ASKED] == 20
    # While old and new ones overlap there are twice as many, however often that happens.
    assert len(list(folder(service).glob("counter_*.db"))) <= 4


def test_the_folder_goes_with_the_service(service):
    there = folder(service)
    service.process.terminate()
    service.process.wait(15)
    assert not there.exists()


def test_the_folder_of_a_killed_service_goes_with_the_next(tmp_path):
    (tmp_path / "first").mkdir()
    with watching(tmp_path / "first", "--workers=1") as killed:
        there = folder(killed)
        workers = killed.workers()
        killed.process.kill()
        killed.process.wait()
        until(lambda: not any(command(pid) for pid in workers))
        with watching(tmp_path, "--workers=1"):
            assert not there.exists()


# -------------------------------------------------------------------------------- what is counted


def test_requests_refusals_and_moves_are_counted(steady):
    counted = Counted(steady)
    game, (first, second) = steady.sandbox()
    assert steady.post(f"{game}/draw", {"from": "stock"}, headers=second).status_code == 409
    assert steady.post(f"{game}/draw", {"from": "stock"}, headers=first).status_code == 200
    assert steady.post(f"{game}/draw?check=true", {"from": "stock"}, headers=first).status_code
    told = counted()
    assert told['rummy_requests_total{operation="draw",status="200"}'] == 1
    assert told['rummy_requests_total{operation="draw",status="409"}'] == 2
    assert told['rummy_refusals_total{code="not_your_turn"}'] == 1
    assert told['rummy_moves_total{by="person",move="draw"}'] == 1  # what was only checked is none
    assert told['rummy_request_seconds_count{operation="draw"}'] == 3
    assert told["rummy_tables_total"] == told["rummy_matches_begun_total"] == 1
    assert told['rummy_store_seconds_count{call="change"}'] >= 3
    assert told['rummy_store_seconds_count{call="read"}'] >= 3
    assert samples(steady)[f'rummy_info{{version="{__version__}"}}'] == 1


def test_who_played_is_told_apart_and_how_matches_end(steady):
    counted = Counted(steady)
    made = steady.post(
        "/v1/games",
        {
            "variant": "straight",
            "name": "Ada",
            "seats": 2,
            "computers": ["steady"],
            "options": {"deals": 1, "turn_seconds": 5, "away_after": 2},
        },
    ).json()
    game, ada = f"/v1/games/{made['game']['id']}", {"Authorization": f"Bearer {made['token']}"}
    until(lambda: steady.get(game, headers=ada).json()["status"] == "finished", 30)
    told = counted()
    assert told['rummy_moves_total{by="clock",move="discard"}'] == 2
    assert told['rummy_moves_total{by="computer",move="discard"}'] >= 1
    assert not told.get('rummy_moves_total{by="person",move="discard"}')
    assert told['rummy_matches_ended_total{reason="abandoned"}'] == 1


def test_waiting_spoils_no_figure_of_how_long_requests_take(steady):
    game, (first, _) = steady.sandbox()
    version = steady.get(game, headers=first).headers["ETag"]
    counted = Counted(steady)
    known = first | {"If-None-Match": version}
    assert steady.get(f"{game}?wait=2", headers=known).status_code == 304
    with steady.get(
        f"{game}/events", headers=first | {"Accept": "text/event-stream"}, stream=True
    ) as stream:
        next(stream.iter_lines())
    told = counted()
    assert told['rummy_request_seconds_sum{operation="getGame"}'] < 1
    assert told["rummy_wait_seconds_count"] == 1
    assert 1.8 < told["rummy_wait_seconds_sum"] < 3
    assert not told.get('rummy_request_seconds_count{operation="getEvents"}')


def test_a_race_that_is_lost_is_counted(steady):
    counted = Counted(steady)
    made = steady.post("/v1/games", {"variant": "seven-card", "name": "Ada", "seats": 8}).json()
    game = f"/v1/games/{made['game']['id']}"

    def join(number: int) -> int:
        return steady.post(f"{game}/join", {"name": f"Nr {number}"}).status_code

    with ThreadPoolExecutor(7) as threads:
        assert set(threads.map(join, range(7))) == {201}
    assert counted()["rummy_commit_conflicts_total"] >= 1


def test_what_the_store_fails_at_is_counted_by_its_kind(steady):
    counted = Counted(steady)
    (valkey,) = [
        int(pid)
        for pid in Path(f"/proc/{steady.process.pid}/task/{steady.process.pid}/children")
        .read_text()
        .split()
        if "valkey" in command(int(pid))
    ]
    os.kill(valkey, signal.SIGSTOP)
    try:
        assert steady.get("/v1/games").status_code == 503
    finally:
        os.kill(valkey, signal.SIGCONT)
    told = counted()
    assert told['rummy_store_errors_total{error="timeout"}'] >= 1
    assert told['rummy_refusals_total{code="store_unavailable"}'] >= 1


def test_the_games_in_the_store_are_told_and_while_it_is_away_all_else_is(tmp_path):
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as valkey:
        house = House(valkey.url)
        house.table("straight")
        house.waiting("straight")
        told = values(house.client().get("/metrics").text)
        assert told['rummy_games{status="playing"}'] == told['rummy_games{status="waiting"}'] == 1
        assert told['rummy_games{status="unreadable"}'] == 0
        assert told["rummy_overdue_seconds"] == 0
        assert 0 <= told["rummy_census_age_seconds"] < 60
        valkey.kill()
        told = values(house.client().get("/metrics").text)
    assert "rummy_workers" in told
    assert "rummy_overdue_seconds" not in told


# ---------------------------------------------------------------------------------------- bounds


def test_a_client_cannot_make_labels(steady):
    def names() -> set[str]:
        return set(settled(steady))

    steady.get("/nowhere")
    steady.get("/v1/games/nonsense")
    steady.get("/v1/variants/nonsense")
    requests.request("PUT", f"{steady.url}/v1/games", timeout=5)
    steady.get("/docs")
    before, counted = names(), Counted(steady)
    for number in range(30):
        hostile = {"X-Request-ID": f"id-{number}", "Accept-Language": f"x-{number}"}
        steady.get(f"/nowhere/{number}", headers=hostile)
        steady.get(f"/v1/games/nonsense{number}", headers=hostile)
        steady.get(f"/v1/variants/nonsense{number}", headers=hostile)
        requests.request(f"METHOD{number}", f"{steady.url}/v1/games", timeout=5)
    assert names() == before
    assert counted()['rummy_requests_total{operation="none",status="404"}'] == 30


def test_every_value_of_a_label_is_a_word(steady):
    steady.sandbox()
    for name in samples(steady):
        for label, value in re.findall(r'(\w+)="([^"]*)"', name):
            assert re.fullmatch(r"[A-Za-z_]+|\d{3}|[0-9.]+(e-05)?|\+Inf", value), (label, value)


# ---------------------------------------------------------------------------------- who may see it


def asked(redis_url: str, headers: dict[str, str], **settings) -> int:
    app = create_app(Config(redis_url=redis_url, **settings))
    return app.test_client().get("/metrics", headers=headers).status_code


def test_who_comes_through_a_proxy_finds_no_metrics(redis_url):
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    assert asked(redis_url, {}, proxies=1) == 200
    assert asked(redis_url, forwarded, proxies=1) == 404
    assert asked(redis_url, forwarded) == 200  # nobody has put a proxy in front


def test_metrics_can_be_turned_off(redis_url, tmp_path):
    assert asked(redis_url, {}, metrics=False) == 404
    with watching(tmp_path, "--workers=1", RUMMY_METRICS="false") as service:
        assert service.get("/metrics").status_code == 404
        assert service.get("/healthz").status_code == 200
        assert not list(Path("/dev/shm").glob(f"rummy-metrics-{service.process.pid}-*"))

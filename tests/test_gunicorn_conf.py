"""deploy/gunicorn.conf.py with a real gunicorn: it serves what `rummy serve` serves."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests

from tests.patience import until
from tests.serving import ENVIRONMENT, ROOT, children
from tests.test_nginx import free_port

GUNICORN = (sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py")
TABLE = {"variant": "straight", "name": "Ada", "options": {"deals": 1}}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


class Served:
    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def is_up(self) -> bool:
        assert self.process.poll() is None
        try:
            return requests.get(f"{self.url}/healthz", timeout=2).status_code == 200
        except requests.RequestException:
            return False


@contextmanager
def gunicorn(redis_url: str, *options: str) -> Iterator[Served]:
    port = free_port()
    process = subprocess.Popen(
        [*GUNICORN, f"--bind=127.0.0.1:{port}", *options],
        cwd=ROOT,
        env=ENVIRONMENT | {"RUMMY_REDIS_URL": redis_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    served = Served(process, f"http://127.0.0.1:{port}")
    try:
        until(served.is_up, 20)
        yield served
    finally:
        process.terminate()
        process.wait(15)
        assert process.stdout is not None
        process.stdout.close()


def test_a_stream_ends_in_order_and_all_is_over_within_seconds(redis_url):
    with gunicorn(redis_url) as served:
        made = requests.post(f"{served.url}/v1/games", json=TABLE, timeout=10)
        events = f"{served.url}{made.headers['Location']}/events"
        accept = {"Accept": "text/event-stream"}
        with requests.get(events, headers=accept, stream=True, timeout=10) as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith(b"event: game"))
            begun = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            list(lines)  # broken off it would raise
        served.process.wait(10)
        assert time.monotonic() - begun < 7
        assert served.process.returncode == 0
        assert served.process.stdout.read() == ""


def test_there_is_a_worker_for_each_core_unless_told(redis_url):
    with gunicorn(redis_url) as served:
        assert len(children(served.process.pid)) == len(os.sched_getaffinity(0))
    with gunicorn(redis_url, "--workers=1") as served:
        assert len(children(served.process.pid)) == 1


def test_its_answers_are_those_of_the_service(redis_url):
    with gunicorn(redis_url, "--workers=1") as served:
        forged = {"X-Forwarded-Prefix": "/elsewhere", "Script-Name": "/elsewhere"}
        answer = requests.get(f"{served.url}/v1/games/nothing", headers=forged, timeout=10)
        assert answer.json()["instance"] == "/v1/games/nothing"
        long = requests.get(f"{served.url}/{'a' * 3000}", timeout=10)
        assert long.status_code == 414


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "RUMMY_REDIS_URL is not set: only `rummy serve` starts a store of its own.\n"),
        (
            {"RUMMY_PROXIES": "x"},
            "The environment cannot be used:\nRUMMY_PROXIES='x': Expected `int`\n",
        ),
    ],
)
def test_an_environment_that_cannot_be_used_is_told(environment, said):
    ended = subprocess.run(
        GUNICORN,
        cwd=ROOT,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == said

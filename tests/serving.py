"""A `rummy serve` of its own for tests that come from outside, and its processes."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
RUMMY = (sys.executable, "-c", "from service.cli import main; main(prog_name='rummy')")
"""The command, whether it is installed or not."""

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("RUMMY_")},
    "RUMMY_RATE_LIMITS": "false",  # tests ask for more than anybody else
}
TABLE = {"variant": "straight", "name": "Ada", "options": {"deals": 1}, "public": True}


class Service:
    """A running `rummy serve`: its address and its master process, leader of a process group."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.greeting = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", self.greeting)
        assert found, self.greeting + process.stdout.read()
        self.url = found.group()

    def get(self, path: str, **options) -> requests.Response:
        return requests.get(self.url + path, timeout=PATIENCE, **options)

    def is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/readyz", timeout=2).status_code == 200
        except requests.RequestException:
            return False

    def make_table(self) -> int:
        answer = requests.post(f"{self.url}/v1/games", json=TABLE, timeout=PATIENCE)
        return answer.status_code

    def connection(self) -> socket.socket:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return socket.create_connection((host, int(port)), timeout=10)

    def valkey(self) -> int:
        (pid,) = [pid for pid in children(self.process.pid) if "valkey" in command(pid)]
        return pid

    def ends_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


@contextmanager
def serving(data: Path, *options: str, **environment: str) -> Iterator[Service]:
    """A service that keeps its games there, while it runs, on any free port.

    `environment` are its settings; there are no rate limits unless they say so.
    """
    process = subprocess.Popen(
        [*RUMMY, "serve", "--port=0", f"--data-dir={data}", *options],
        cwd=ROOT,
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield Service(process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(15)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def served_at(data: Path, **environment: str) -> Iterator[str]:
    """The address of such a service, which has one worker."""
    with serving(data, "--workers=1", **environment) as service:
        yield service.url


def rummy(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUMMY, *arguments],
        cwd=ROOT,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command(pid: int) -> str:
    """How it was started; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

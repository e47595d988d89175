"""The service that is given trouble: a real `rummy serve`, its workers and its store, in /proc."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
import requests

from tests.serving import ENVIRONMENT, ROOT, RUMMY, children, command
from tests.soak.clock import Clock

WELL_SECONDS = 60
"""So long a service may take until it is well again, on a busy machine."""

_HELD = {"01", "04", "05", "08"}
"""States of connections in /proc/net/tcp that a process has not closed, or not got rid of."""


@dataclass(frozen=True)
class Size:
    """What a process holds."""

    memory: int
    """Bytes of its own in memory."""
    files: int
    threads: int


class Served:
    """A running service."""

    def __init__(
        self, process: subprocess.Popen[bytes], data: Path, log: Path, clock: Clock | None
    ) -> None:
        self.log = log
        self.clock = clock
        self.store_url = f"unix://{data}/valkey.sock"
        self._process = process
        wait_until(lambda: "http://" in log.read_text(), "it says where it is")
        found = re.search(r"http://\S+:\d+", log.read_text())
        assert found
        self.address = found.group()

    @property
    def master(self) -> int:
        return self._process.pid

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def store(self) -> int:
        """The process of the embedded store, or 0 while there is none."""
        return next((pid for pid in self._children() if "valkey" in command(pid)), 0)

    def workers(self) -> list[int]:
        return [pid for pid in self._children() if "valkey" not in command(pid)]

    def redis(self) -> redis.Redis:
        """A line to the store, past the service."""
        return redis.Redis.from_url(self.store_url, socket_timeout=10)

    def ask(self, path: str, token: str = "") -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return requests.get(self.address + path, headers=headers, timeout=20)

    def post(self, path: str, token: str, body: dict, key: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
        return requests.post(self.address + path, headers=headers, json=body, timeout=20)

    def wait_until_well(self, workers: int) -> None:
        """Return when each of so many workers is asked alone, and its store answers it."""
        wait_until(lambda: len(self.workers()) == workers, "all workers are there")
        wait_until(self._says_ready, "it says that it is ready")
        for worker in self.workers():
            with self._only(worker):
                wait_until(self._says_ready, f"worker {worker} answers")

    def is_at_rest(self) -> bool:
        """Whether no worker computes anything while nobody asks for anything."""
        before = {pid: _seconds(pid) for pid in self.workers()}
        time.sleep(0.7)
        return all(_seconds(pid) - before[pid] < 0.4 for pid in before)

    def connections(self) -> int:
        """How many it has with clients; each of them is a greenlet of a worker, too."""
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        ends = [(fields[1].rpartition(":")[2], fields[3]) for fields in map(str.split, lines)]
        return sum(port == f"{self.port:04X}" and state in _HELD for port, state in ends)

    def sizes(self) -> tuple[Size, Size]:
        """The largest worker in each respect, and the store."""
        workers = [_size(pid) for pid in self.workers()]
        return (
            Size(*(max(values) for values in zip(*map(_values, workers), strict=True))),
            _size(self.store()),
        )

    def _children(self) -> list[int]:
        return [pid for pid in children(self.master) if _state(pid) not in "ZX"]

    @contextmanager
    def _only(self, worker: int) -> Iterator[None]:
        """Let the other workers stand still: whatever is asked for, this one has to answer."""
        others = [pid for pid in self.workers() if pid != worker]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)

    def _says_ready(self) -> bool:
        try:
            return all(
                requests.get(self.address + path, timeout=5).status_code == 200
                for path in ("/healthz", "/readyz")
            )
        except requests.RequestException:
            return False


@contextmanager
def served(data: Path, workers: int, log: Path, clock: Clock | None) -> Iterator[Served]:
    """The service, its games in that directory, until the block ends."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*RUMMY, "serve", "--port=0", f"--workers={workers}", f"--data-dir={data}"],
            cwd=ROOT,
            env=ENVIRONMENT | (clock.environment if clock else {}),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Served(process, data, log, clock)
    finally:
        process.terminate()
        process.wait(30)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = WELL_SECONDS) -> None:
    """Raise AssertionError unless it comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)


def _values(size: Size) -> tuple[int, int, int]:
    return size.memory, size.files, size.threads


def _size(pid: int) -> Size:
    told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return Size(
        memory=int(told["RssAnon"].split()[0]) * 1024,
        files=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(told["Threads"]),
    )


def _seconds(pid: int) -> float:
    """The time that the process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"

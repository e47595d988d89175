"""gunicorn, set up for many waiting players, and the embedded store at its side."""

import errno
import gc
import os
import resource
import signal
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from wsgiref.types import WSGIApplication

import click
import gevent
import msgspec
from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.ggevent import GeventWorker

from service.config import Config
from service.embedded import EmbeddedStore, EmbeddedStoreError

_BACKLOG = 2048
_MOST_FILES = 10_240
"""Room for `worker_connections` and the store in each worker; what macOS grants at the most."""

_PORT_SECONDS = 2.0
_NOTIFY_SECONDS = 1.0
_GLANCE_SECONDS = 0.05


class ServerError(Exception):
    """The service cannot be reached under the address that was asked for."""


def serve(config: Config, *, host: str, port: int, workers: int, data_directory: Path) -> None:
    """Serve until a signal ends it; port 0 takes any free one.

    With no Redis in the config a Valkey of our own runs meanwhile, its data in the directory.
    Leaves by SystemExit. Raises ServerError and EmbeddedStoreError when it cannot start.
    """
    _allow_many_files()
    listener = _listen(host, port)
    if config.redis_url is not None:
        _Application(config, listener, workers, store=None).run()
        return
    # Started here, in the main thread of the master: Linux ends the server with that thread. The
    # workers leave through this block too, but a forked child cannot stop the store.
    with EmbeddedStore(data_directory) as store:
        config = msgspec.structs.replace(config, redis_url=store.url)
        _Application(config, listener, workers, store).run()


def _allow_many_files() -> None:
    """Raise the limit of open files as far as is allowed: each waiting client holds one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # macOS names a limit that it does not grant
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Application(BaseApplication):
    def __init__(
        self, config: Config, listener: socket.socket, workers: int, store: EmbeddedStore | None
    ) -> None:
        self.store = store
        self.worker: _Worker | None = None
        self._config = config
        self._settings = {
            "bind": f"fd://{listener.detach()}",
            "workers": workers,
            "worker_class": _Worker,
            "worker_connections": 4000,
            "keepalive": 30,
            "graceful_timeout": 4,
            "limit_request_line": 2048,
            "limit_request_fields": 64,
            # Heartbeats in memory: a busy disk must not make a worker look dead.
            "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,  # noqa: S108 (gunicorn makes the names)
            "control_socket_disable": True,
            # Which proxy is believed is the application's to decide (RUMMY_PROXIES).
            "forwarded_allow_ips": "",
            "secure_scheme_headers": {},
            "loglevel": config.log_level,
            "proc_name": "rummy",
            "when_ready": _greet,
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        # Imported in the worker, after gevent has patched what it builds on.
        from service.app import create_app

        return create_app(self._config, stopping=self._is_stopping)

    def run(self) -> None:
        _Master(self).run()

    def _is_stopping(self) -> bool:
        return self.worker is not None and not self.worker.alive


class _Master(Arbiter):
    def manage_workers(self) -> None:
        """Look after the workers, and after the store: called each second and when a child ends."""
        super().manage_workers()
        store = self.app.store
        if store is None:
            return
        try:
            revived = store.revive()
        except EmbeddedStoreError as error:
            self.log.error("The embedded Valkey has ended: %s", error)
            return
        if revived:
            self.log.warning("The embedded Valkey had ended and was started again")
        if store.watch_the_disk() or (revived and store.is_full):
            if store.is_full:
                self.log.error("The disk is full: games can be looked at, but not go on")
            else:
                self.log.warning("There is room on the disk again: games go on")


class _Worker(GeventWorker):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._told_to_end = Event()
        self._between_requests: set[Any] = set()
        """Connections that are open, on which no request has come that is not answered yet."""

    def run(self) -> None:
        """Serve until told to end, and then until all requests are answered, but not for ever.

        gunicorn's own way looks once a second, waits for connections that are only kept open, and
        measures by a clock that may be set.
        """
        servers = [
            StreamServer(
                listener,
                handle=partial(self.handle, listener),
                spawn=Pool(self.worker_connections),
            )
            for listener in self.sockets
        ]
        for server in servers:
            server.max_accept = 1  # so that the workers share them
            server.start()
        while self.alive:
            self.notify()
            self._told_to_end.wait(_NOTIFY_SECONDS)
        for server in servers:
            server.close()
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while any(len(server.pool) for server in servers) and time.monotonic() < deadline:
            self.notify()
            for client in self._between_requests:
                # A request that has arrived is still read, and answered; gevent's own shutdown()
                # would break the reading off.
                with suppress(OSError):
                    client._sock.shutdown(socket.SHUT_RD)  # noqa: SLF001
            gevent.sleep(_GLANCE_SECONDS)
        for server in servers:
            if len(server.pool):
                self.log.warning("Requests that took too long are cut off: %d", len(server.pool))
            server.stop(timeout=1)
        # Or the interpreter looks through all that there is, some times, before it ends.
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Do what TERM asks for at once."""
        if not self.booted:  # nobody is served yet, and the rest of the start takes seconds
            sys.exit(0)
        super().handle_exit(sig, frame)
        self._told_to_end.set()

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection until it is closed."""
        self._between_requests.add(client)
        try:
            super().handle(listener, client, addr)
        finally:
            self._between_requests.discard(client)

    def init_process(self) -> None:
        # What is inherited from the master puts a TERM into a queue that nobody looks at here.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.app.worker = self
        super().init_process()

    def init_signals(self) -> None:
        """Leave Ctrl-C to the master: a worker that is told to end twice ends with a traceback."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> None:
        """Let go of a client that takes nothing any more, without a traceback for each of them."""
        self._between_requests.discard(sock)
        try:
            super().handle_request(listener_name, req, sock, addr)
        except OSError as error:
            self.log.debug("A client is gone: %s", error)
            raise StopIteration from None
        self._between_requests.add(sock)


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else starts, so that a taken port leaves nothing behind.

    Waits a moment for the port: the workers of a killed predecessor let go within a second.
    """
    deadline = time.monotonic() + _PORT_SECONDS
    while True:
        try:
            return _bind(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                reason = error.strerror
            elif time.monotonic() > deadline:
                reason = "something else listens there; choose another port"
            else:
                time.sleep(0.1)
                continue
            raise ServerError(f"Cannot listen on {host} port {port}: {reason}.") from error


def _bind(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _greet(master: _Master) -> None:
    host, port, *_ = master.LISTENERS[0].getsockname()
    if host in {"0.0.0.0", "::"}:  # noqa: S104 (compared, not bound)
        host = "localhost"
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    click.echo(f"Rummy is served at {url} - to try it: {url}/docs - Ctrl-C ends it")

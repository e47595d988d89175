"""gunicorn, set up for many waiting players, and the embedded store at its side."""

import errno
import os
import resource
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIApplication

import click
import gevent
import msgspec
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.ggevent import GeventWorker

from service.config import Config
from service.connections import (
    CROWDED_SECONDS,
    FIRST_SECONDS,
    Patience,
    TimelyBody,
    refuse,
    status_of,
)
from service.embedded import EmbeddedStore, EmbeddedStoreError

_BACKLOG = 2048
_MOST_FILES = 10_240
"""Room for `worker_connections` and the store in each worker; what macOS grants at the most."""

_PORT_SECONDS = 2.0


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
        try:
            if self.app.store is not None and self.app.store.revive():
                self.log.warning("The embedded Valkey had ended and was started again")
        except EmbeddedStoreError as error:
            self.log.error("The embedded Valkey has ended: %s", error)


class _Worker(GeventWorker):
    open_connections = 0

    def init_process(self) -> None:
        self.app.worker = self
        super().init_process()

    def init_signals(self) -> None:
        """Leave Ctrl-C to the master: a worker that is told to end twice ends with a traceback."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        self.open_connections += 1
        try:
            super().handle(listener, client, addr)
        finally:
            self.open_connections -= 1

    def timeout_ctx(self) -> Patience:
        """Give a client time to think, unless others need its place or it has never said a word."""
        if self.open_connections > self.worker_connections / 2:
            return Patience(CROWDED_SECONDS)
        has_asked = getattr(gevent.getcurrent(), "has_asked", False)
        return Patience(self.cfg.keepalive if has_asked else FIRST_SECONDS)

    def handle_error(self, _: Any, client: Any, __: Any, exc: BaseException) -> None:
        """Refuse what is not quite HTTP. The log is not told what it says: there may be a token."""
        status = status_of(exc)
        if status == 500:
            self.log.error("A request failed", exc_info=exc)
        else:
            self.log.info("Refused %s with %s", type(exc).__name__, status)
        with suppress(OSError):
            refuse(client, status)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> None:
        """Let go of a client that takes nothing any more, without a traceback for each of them."""
        gevent.getcurrent().has_asked = True  # each connection is a greenlet
        req.body = body = TimelyBody(req)
        try:
            super().handle_request(listener_name, req, sock, addr)
        except OSError as error:
            self.log.debug("A client is gone: %s", error)
            raise StopIteration from None
        finally:
            body.answered()


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

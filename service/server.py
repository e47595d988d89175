"""gunicorn, set up for many waiting players, and the embedded store at its side."""

import errno
import logging
import os
import resource
import signal
import socket
import time
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar
from wsgiref.types import WSGIApplication

import click
import gevent
import msgspec
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.ggevent import GeventWorker

from service import current, logs, metrics_folder
from service.config import Config, load_config
from service.connections import CROWDED_SECONDS, Patience, TimelyBody, refuse, status_of
from service.embedded import EmbeddedStore, EmbeddedStoreError

_BACKLOG = 2048
_MOST_FILES = 10_240
"""Room for `worker_connections` and the store in each worker; what macOS grants at the most."""

_PORT_SECONDS = 2.0
_NOTIFY_SECONDS = 1.0
"""How often gunicorn's gevent workers say that they live."""

_log = logging.getLogger(__name__)


class ServerError(Exception):
    """The service cannot be reached under the address that was asked for."""


def serve(config: Config, *, host: str, port: int, workers: int, data_directory: Path) -> None:
    """Serve until a signal ends it; port 0 takes any free one.

    With no Redis in the config a Valkey of our own runs meanwhile, its data in the directory.
    Leaves by SystemExit. Raises ServerError and EmbeddedStoreError when it cannot start.
    """
    prepare(config)
    listener = _listen(host, port)
    if config.redis_url is not None:
        _Application(config, listener, workers, store=None).run()
        return
    # Started here, in the main thread of the master: Linux ends the server with that thread. The
    # workers leave through this block too, but a forked child cannot stop the store.
    with EmbeddedStore(data_directory) as store:
        config = msgspec.structs.replace(config, redis_url=store.url)
        _Application(config, listener, workers, store).run()


def settings(config: Config) -> dict[str, Any]:
    """What gunicorn has to be told, whoever starts it, but for its address and the workers."""
    return (metrics_folder.hooks() if config.metrics else {}) | {
        "worker_class": Worker,
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
        "logger_class": _Log,
        "proc_name": "rummy",
    }


def application() -> WSGIApplication:
    """The service as the environment wants it, for workers of a gunicorn that others started."""
    return _application(load_config(os.environ))


def prepare(config: Config) -> None:
    """What the master does first, whoever starts it."""
    logs.configure(config.log_level, config.log_format)
    _allow_many_files()


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
        self._config = config
        self._settings = settings(config) | {
            "bind": f"fd://{listener.detach()}",
            "workers": workers,
            "when_ready": _greet,
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        return _application(self._config)

    def run(self) -> None:
        _Master(self).run()


class _Master(Arbiter):
    def manage_workers(self) -> None:
        """Look after the workers, and after the store: called each second and when a child ends."""
        super().manage_workers()
        try:
            if self.app.store is not None and self.app.store.revive():
                self.log.warning("The embedded Valkey had ended and was started again")
        except EmbeddedStoreError as error:
            self.log.error("The embedded Valkey has ended: %s", error)


class _Log(Logger):
    """What gunicorn says, among what the service says, in the same form."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class Worker(GeventWorker):
    """A gevent worker that ends without a word, and does not complain of clients that are gone."""

    here: ClassVar["Worker | None"] = None
    """The one that this process is."""
    open_connections = 0

    def init_process(self) -> None:
        Worker.here = self
        super().init_process()

    def run(self) -> None:
        # Imported here: what counts is for the workers only.
        from service import metrics

        gevent.get_hub().print_exception = _log_exception
        metrics.worker_began()
        self._notified = time.monotonic()
        super().run()

    def notify(self) -> None:
        """Tell the master that this worker lives, each second, and the metrics how late that is."""
        from service import metrics

        super().notify()
        now = time.monotonic()
        metrics.LOOP_LAG.set(max(0.0, now - self._notified - _NOTIFY_SECONDS))
        self._notified = now

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
        """Give a client time to think, unless others need its place."""
        is_crowded = self.open_connections > self.worker_connections / 2
        return Patience(CROWDED_SECONDS if is_crowded else self.cfg.keepalive)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> None:
        """Let go of a client that takes nothing any more, without a traceback for each of them."""
        req.body = body = TimelyBody(req)
        try:
            super().handle_request(listener_name, req, sock, addr)
        except OSError as error:
            self.log.debug("A client is gone: %s", error)
            raise StopIteration from None
        finally:
            body.answered()

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Refuse what is not HTTP, or has failed outside of the application.

        The log gets nothing of what was sent: there may be a token in it.
        """
        if isinstance(exc, gevent.GreenletExit):  # the worker ends, and this client has to go
            return
        # Imported here: Flask is for the workers only.
        from service.api import observation

        seen = current.request() or current.begin(req.method if req else "")
        seen.address = addr[0] if addr else ""
        seen.status = status_of(exc)
        if seen.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error("A request failed outside of the application", exc_info=exc)
        with suppress(OSError):  # it may be gone
            seen.code = refuse(client, seen.status, {observation.HEADER: seen.id})
        observation.tell(seen)


def _log_exception(context: object, kind: Any, error: Any, trace: Any) -> None:
    """Take what gevent would print of a greenlet that failed into the log."""
    if isinstance(error, BaseException):
        _log.error("%r failed", context, exc_info=(kind, error, trace))


def _application(config: Config) -> WSGIApplication:
    # Imported in the worker, after gevent has patched what it builds on.
    from service.app import create_app

    return create_app(config, stopping=_is_stopping)


def _is_stopping() -> bool:
    return Worker.here is not None and not Worker.here.alive


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

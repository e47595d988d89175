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
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from service import logs, metrics_folder, tracing
from service.config import Config, ConfigError, load_config
from service.embedded import EmbeddedStore, EmbeddedStoreError
from service.worker import ENDING, Worker

_BACKLOG = 2048
_MOST_FILES = 10_240
"""Room for `worker_connections` and the store in each worker; what macOS grants at the most."""

_PORT_SECONDS = 2.0


class ServerError(Exception):
    """The service cannot be reached under the address that was asked for."""


def serve(config: Config, *, host: str, port: int, workers: int, data_directory: Path) -> None:
    """Serve until a signal ends it; port 0 takes any free one.

    With no Redis in the config a Valkey of our own runs meanwhile, its data in the directory.
    Leaves by SystemExit. Raises ConfigError, ServerError and EmbeddedStoreError if it cannot start.
    """
    prepare(config)
    listener = _listen(host, port)
    if config.redis_url is not None:
        _Application(config, listener, workers, store=None).run()
        return
    # Started here, in the main thread of the master: Linux ends the server with that thread. The
    # workers leave through this block too, but a forked child cannot stop the store.
    with EmbeddedStore(data_directory) as store:
        _Application(config.with_own_store(store.url), listener, workers, store).run()


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
        # What it says in debugging has the paths of requests, with all that somebody put there.
        "loglevel": "info" if config.log_level == "debug" else config.log_level,
        "logger_class": _Log,
        "proc_name": "rummy",
    }


def application() -> WSGIApplication:
    """The service as the environment wants it, for workers of a gunicorn that others started."""
    return _application(load_config(os.environ))


def prepare(config: Config) -> None:
    """What the master does first, whoever starts it. Raises ConfigError."""
    if config.tracing and not tracing.is_installed():
        raise ConfigError(["RUMMY_TRACING needs more: pip install 'rummy-service[otel]'"])
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
    def spawn_worker(self) -> int:
        """Fork a worker, which is told to end only when it can hear that (Worker.init_process)."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            return int(super().spawn_worker())
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def manage_workers(self) -> None:
        """Look after the workers, and after the store: called each second and when a child ends."""
        if not self._waits_for_successors():
            super().manage_workers()
        if self.app.store is not None:
            self._look_after(self.app.store)

    def _waits_for_successors(self) -> bool:
        """Whether those that were replaced have to stay, since those after them do not serve yet.

        gunicorn ends them as soon as it has started the others, and for seconds nobody serves.
        """
        workers = sorted(self.WORKERS.values(), key=lambda worker: worker.age)
        replaced, staying = workers[: -self.num_workers], workers[-self.num_workers :]
        return any(map(_serves, replaced)) and not all(map(_serves, staying))

    def _look_after(self, store: EmbeddedStore) -> None:
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


def _serves(worker: Worker) -> bool:
    """Whether it has given a sign of life.

    That is the time since the machine was started; what is there before is the time of day.
    """
    return bool(worker.tmp.last_update() <= time.monotonic())


class _Log(Logger):
    """What gunicorn says, among what the service says, in the same form."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


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

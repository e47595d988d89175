"""One process of gunicorn: how it takes connections, lets them go, and ends."""

import gc
import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from types import FrameType
from typing import Any, ClassVar

import gevent
from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.workers.ggevent import GeventWorker

from service import current
from service.connections import Line, Quiet, TimelyBody, refuse, status_of

_NOTIFY_SECONDS = 1.0
"""How often a worker says that it lives."""

_LOOK_SECONDS = 0.2
"""How often it looks for clients who take too long, and tells the others what it has counted."""

_GLANCE_SECONDS = 0.05

_MOST_ACCEPTED = 16
"""So many connections a worker takes before it goes on with the requests of others. With gunicorn's
1 the workers share them evenly, but behind a thousand that came at once the next one waits for a
minute; with gevent's 100 one worker would have nearly all."""

_A_MOMENT = 1e-6
"""In seconds; the others have their turn meanwhile. Not so with gevent.sleep(0): who comes back by
that comes back again, fifty times, before gevent looks whether anything has come for others."""

_QUIET = Quiet()

ENDING = (signal.SIGTERM, signal.SIGQUIT)
"""What the master tells a worker to end with."""

_log = logging.getLogger(__name__)


class Worker(GeventWorker):
    """A gevent worker that ends as soon as it may, and gives no client more than its due."""

    here: ClassVar["Worker | None"] = None
    """The one that this process is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._told_to_end = Event()
        self._lines: set[Line] = set()
        self._notified = time.monotonic()

    def init_process(self) -> None:
        # What is inherited from the master puts these into a queue that nobody looks at here.
        for number in ENDING:
            signal.signal(number, _leave)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        Worker.here = self
        # Two dozen of them are looked up in each request, and none of them changes any more.
        self.cfg.__dict__.update({name: each.get() for name, each in self.cfg.settings.items()})
        super().init_process()

    def init_signals(self) -> None:
        """Leave Ctrl-C to the master: a worker that is told to end twice ends with a traceback."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        """Serve until told to end, and then until all requests are answered, but not for ever.

        gunicorn's own way looks once a second, waits for connections that are only kept open, and
        measures by a clock that may be set.
        """
        # Imported here: what counts is for the workers only.
        from service import metrics

        gevent.get_hub().print_exception = _log_exception
        metrics.worker_began()
        for look in (metrics.tell, self._let_go_of_the_late):
            gevent.spawn(_again_and_again, look)
        # What is there now stays, and to look through all of it stops everybody for 0.1 s.
        gc.collect()
        gc.freeze()
        self._notified = time.monotonic()
        servers = [
            StreamServer(
                listener,
                handle=partial(self.handle, _Named(listener.getsockname())),
                spawn=Pool(self.worker_connections),
            )
            for listener in self.sockets
        ]
        for server in servers:
            server.max_accept = _MOST_ACCEPTED
            server.start()
        while self.alive:
            self.notify()
            self._told_to_end.wait(_NOTIFY_SECONDS)
        for server in servers:
            server.close()
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while any(len(server.pool) for server in servers) and time.monotonic() < deadline:
            self.notify()
            for line in self._lines:
                if line.is_idle:
                    line.read_no_more()
            gevent.sleep(_GLANCE_SECONDS)
        for server in servers:
            if len(server.pool):
                self.log.warning("Requests that took too long are cut off: %d", len(server.pool))
            server.stop(timeout=1)
        metrics.tell()
        # Or the interpreter looks through all that there is, some times, before it ends.
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Do what TERM asks for at once."""
        if not self.booted:
            _leave(sig, frame)
        super().handle_exit(sig, frame)
        self._told_to_end.set()

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C asks for, which reaches a worker as QUIT, at once."""
        if not self.booted:
            _leave(sig, frame)
        super().handle_quit(sig, frame)

    def notify(self) -> None:
        """Tell the master that this worker lives, each second, and the metrics how late that is."""
        from service import metrics

        super().notify()
        now = time.monotonic()
        metrics.LOOP_LAG.set(max(0.0, now - self._notified - _NOTIFY_SECONDS))
        self._notified = now

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection until it is closed."""
        line = Line(client)
        self._lines.add(line)
        try:
            super().handle(listener, line, addr)
        finally:
            self._lines.discard(line)

    def timeout_ctx(self) -> Quiet:
        """What gunicorn reads the head of a request in."""
        return _QUIET

    def handle_request(self, listener_name: Any, req: Any, sock: Line, addr: Any) -> None:
        """Let go of a client that takes nothing any more, without a traceback for each of them."""
        loop = gevent.get_hub().loop
        sock.begin_answer()
        # Where this client sends on before others are looked at again, their turn comes first.
        if loop.iteration == sock.answered_in:
            gevent.sleep(_A_MOMENT)
        req.body = body = TimelyBody(req, sock)
        try:
            try:
                super().handle_request(listener_name, req, sock, addr)
            finally:
                body.answered()
                sock.end_answer()
        except OSError as error:
            _log.debug("A client is gone: %s", error)
            raise StopIteration from None
        sock.answered_in = loop.iteration

    def _let_go_of_the_late(self) -> None:
        now, kept = time.monotonic(), self.cfg.keepalive
        crowded = len(self._lines) > self.worker_connections / 2
        for line in self._lines:
            line.let_go_if_late(now, kept, crowded=crowded)

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


def _again_and_again(look: Callable[[], None]) -> None:
    while True:
        gevent.sleep(_LOOK_SECONDS)
        look()


def _leave(_: int, __: FrameType | None) -> None:
    """End: nobody is served yet, and the rest of the start takes seconds.

    Not by an exception, which is lost where it comes up in what Python calls back.
    """
    os._exit(0)


class _Named:
    """What gunicorn asks a listener, which may be closed before the turn of a client comes."""

    def __init__(self, name: Any) -> None:
        self._name = name

    def getsockname(self) -> Any:
        return self._name


def _log_exception(context: object, kind: Any, error: Any, trace: Any) -> None:
    """Take what gevent would print of a greenlet that failed into the log."""
    if isinstance(error, BaseException):
        _log.error("%r failed", context, exc_info=(kind, error, trace))

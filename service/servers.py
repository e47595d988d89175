"""The servers behind a URL: one, a set with sentinels, or a cluster.

The primary of a key is asked for everything. Who that is is found out when it is first needed, and
again when a server is in trouble or says that it is another (see `topology`). All keys of a game
are on one server, so what is asked about a game is one round trip over one connection.
"""

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar, cast

import redis
from msgspec import Struct
from redis import exceptions
from redis.crc import key_slot

from service import metrics, redis_url
from service.config import Config
from service.errors import StoreUnavailable
from service.redis_server import (
    Command,
    Server,
    be_primary,
    client_of,
    unavailable,
    without_errors,
)
from service.redis_url import Host
from service.topology import (
    LOOK_AROUND_SECONDS,
    NAMED,
    NO_CREDENTIALS,
    Credentials,
    Map,
    finder,
)

_RETRIES = 2
_REDIRECTIONS = 5
_PAUSE_SECONDS = (0.03, 0.1)
_PATIENCE_SECONDS = 0.5
"""Nothing is sent again after so long; with the time-out it makes the second that is promised."""

_BETWEEN_LOOKS_SECONDS = 0.1
_BLIND_SECONDS = 5.0
"""If nobody can say who has what, what was known is used for so long before they are asked anew."""

_MOVING = exceptions.AskError
"""Moved for good, which is a kind of it, or only asked to look there this time."""

_LOST = (redis.ConnectionError, exceptions.ClusterDownError, exceptions.ReadOnlyError)
"""What may be over as soon as another server has become the primary."""

_IN_TROUBLE = (
    redis.ConnectionError,
    redis.TimeoutError,
    exceptions.InvalidResponse,
    exceptions.ClusterDownError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
    exceptions.MovedError,
)
_TROUBLE_CODES = {"BUSY", "DB", "MISCONF", "NOPERM", "NOREPLICAS", "WRONGPASS"}
"""Words that answers begin with of a server that is busy, or was not set up for us."""

_READ_ONLY_CODES = {"MISCONF", "NOREPLICAS"}
"""Those of a server that takes no changes, but would be read."""

_FRESH_SECONDS = 1.0
_REFUSING_SECONDS = 30.0
"""So long a refused change is thought to be the rule."""

Call = Literal["read", "change", "ping"]
"""What the metrics name what is asked."""

_Answers = TypeVar("_Answers")

_log = logging.getLogger(__name__)


class Condition(Struct, frozen=True):
    """How the servers are, if one answers.

    `busy`: as many wait for a connection as there are. `read_only`: a server takes no changes.
    """

    busy: bool
    read_only: bool


class Servers:
    """The servers behind one URL. Made without touching them; each worker process needs its own.

    What is asked raises StoreUnavailable within about a second when who is needed for it is down,
    stalled or refuses to work, and works again as soon as they do. One that is stalled holds up
    nobody who needs another.
    """

    def __init__(
        self, url: str, timeout_seconds: float, credentials: Credentials = NO_CREDENTIALS
    ) -> None:
        """Raise ValueError if that is no such URL."""
        self._url = redis_url.parse(url)
        self.timeout_seconds = timeout_seconds
        """So long an answer is waited for."""
        self._credentials = credentials
        self._servers: dict[Host, Server] = {}
        self._finder = finder(self._url, credentials)
        self._map = None if self._finder else Map([(0, 0, NAMED)])
        self._doubted: Host | None = None
        self._looking = threading.Lock()
        self._not_before = 0.0
        self._blind = False
        self._answered_at = -math.inf
        """When one answered last (monotonic), unless there has been trouble since."""
        self._refused_at = -math.inf
        """When a change was refused last, unless one has been made since."""

    @classmethod
    def named_in(cls, config: Config) -> "Servers":
        """Those that the configuration names."""
        credentials = Credentials(
            config.redis_username,
            config.redis_password,
            config.redis_sentinel_username,
            config.redis_sentinel_password,
        )
        return cls(config.redis_url or "", config.redis_timeout_seconds, credentials)

    @property
    def together(self) -> bool:
        """Whether all keys are on one server, so that one round trip can be about any of them."""
        return self._url.kind != "cluster"

    def ask(self, key: str, commands: Sequence[Command], call: Call = "read") -> list[Any]:
        """The answers to these commands by the server that has the key, as they come over the line.

        All of them are about keys that are where this one is, and go over one connection, in order
        and in one round trip. They may be carried out twice: when the answer is lost they are sent
        again. Raises what the first of them was refused with, without its arguments.
        """
        return self._counted(call, self._ask, key, commands)

    def ask_each(self, questions: Sequence[tuple[str, Command]]) -> list[Any]:
        """The answers to commands about keys that may be anywhere, in that order.

        In one round trip to each server. Raises as `ask`.
        """
        if not questions:
            return []
        if self.together:
            commands = [command for _, command in questions]
            return self._counted("read", self._ask, questions[0][0], commands)
        return self._counted("read", self._ask_each, questions)

    def keys(
        self, pattern: str, at_once: int = 200, kind: str | None = None
    ) -> Iterator[list[str]]:
        """All keys like that, about so many at once; one may come twice, as with SCAN.

        `kind`: only of that type, as TYPE names it.
        """
        of_kind = ("TYPE", kind) if kind else ()
        for place in self.places():
            cursor = b"0"
            while True:
                command = ("SCAN", cursor, "MATCH", pattern, "COUNT", at_once, *of_kind)
                ((cursor, found),) = self._ask_at(place, [command])
                if found:
                    yield [key.decode() for key in found]
                if cursor == b"0":
                    break

    def condition(self) -> Condition:
        """How they are. Raises StoreUnavailable if none answers.

        They are not asked if one has just answered somebody: so this is told at once when many
        wait, and costs nothing however often somebody wants to know.
        """
        if time.monotonic() - self._answered_at > _FRESH_SECONDS:
            try:
                self._counted("ping", self._ping)
            except StoreUnavailable as error:
                # A full disk has this refused too, with everything that changes something.
                if _kind(error.__cause__) != "read_only":
                    raise
        return Condition(
            busy=any(server.is_busy for server in self._servers.values()),
            read_only=time.monotonic() - self._refused_at < _REFUSING_SECONDS,
        )

    def told_of_themselves(self) -> list[dict[str, Any]]:
        """What each primary answers to INFO, parsed."""
        told = []
        for place in self.places():
            with self._client(place, self.timeout_seconds) as client:
                try:
                    told.append(cast("dict[str, Any]", client.info()))
                except redis.RedisError as error:
                    raise unavailable() from error
        return told

    def places(self) -> tuple[Host, ...]:
        """Where the primaries are, as far as is known."""
        return self._known().places

    def place_of(self, key: str) -> Host:
        """Where the primary of that key is. Raises StoreUnavailable if nobody has it."""
        known = self._known()
        try:
            return known.place(self.slot_of(key))
        except redis.ConnectionError as error:
            known.until = 0
            raise unavailable() from error

    def look(self) -> object:
        """Find out who has what if that is due; returns the same as long as nothing is new.

        Without raising anything: None if nothing is known.
        """
        with suppress(StoreUnavailable):
            return self._known()
        return None

    def has(self, place: Host) -> bool:
        """Whether a primary is there, or nothing is known."""
        return self._map is None or place in self._map.places

    def slot_of(self, key: str) -> int:
        """The number that a cluster shares keys out by."""
        return 0 if self.together else key_slot(key.encode())

    def doubt(self, place: Host) -> None:
        """Whoever is there does not answer: perhaps it is not the primary any more."""
        self._doubted = place

    def follow(self, error: exceptions.MovedError) -> None:
        """Somebody says that a slot is elsewhere now."""
        self._follow(self._known(), error)

    def connection(self, place: Host, timeout_seconds: float) -> Any:
        """A connection to whoever is there, for oneself; it is not connected yet."""
        return self._client(place, timeout_seconds).connection_pool.make_connection()

    def _counted(self, call: Call, ask: Callable[..., _Answers], *arguments: Any) -> _Answers:
        """Ask, and note how it goes, for the metrics and to know how the servers are."""
        began = time.perf_counter()
        try:
            answers = ask(*arguments)
        except StoreUnavailable as error:
            kind = _kind(error.__cause__)
            metrics.STORE_ERRORS.labels(kind).inc()
            self._answered_at = -math.inf
            if kind == "read_only":
                self._refused_at = time.monotonic()
            raise
        else:
            self._answered_at = time.monotonic()
            if call == "change":
                self._refused_at = -math.inf
            return answers
        finally:
            metrics.labelled(metrics.STORE_SECONDS, call).observe(time.perf_counter() - began)

    def _ask(self, key: str, commands: Sequence[Command]) -> list[Any]:
        give_up = time.monotonic() + _PATIENCE_SECONDS
        slot = self.slot_of(key)
        redirections = retries = 0
        while True:
            known = self._known()
            place = None
            try:
                place = known.place(slot)
                return without_errors(self._answers(place, commands))
            except exceptions.MovedError as error:
                self._follow(known, error)
                redirections += 1
                if redirections > _REDIRECTIONS:
                    raise unavailable() from error
            except exceptions.TryAgainError as error:
                # Some keys of the game are here and some there: its slot is just being moved.
                if time.monotonic() > give_up:
                    raise unavailable() from error
                _pause()
            except redis.RedisError as error:
                if not _is_trouble(error):
                    raise
                self._doubt(known, place)
                retries += 1
                if not isinstance(error, _LOST) or retries > _RETRIES or time.monotonic() > give_up:
                    raise unavailable() from error
                _pause()
                self._look_around(known, patient=True)

    def _ask_each(self, questions: Sequence[tuple[str, Command]]) -> list[Any]:
        known = self._known()
        at: dict[Host, list[int]] = {}
        unanswered = set(range(len(questions)))
        answers: list[Any] = [None] * len(questions)
        for number, (key, _) in enumerate(questions):
            with suppress(redis.ConnectionError):
                at.setdefault(known.place(self.slot_of(key)), []).append(number)
        for place, numbers in at.items():
            try:
                found = self._server(place).answers([questions[number][1] for number in numbers])
            except _LOST:
                continue
            except redis.TimeoutError as error:
                self._doubt(known, place)
                raise unavailable() from error
            for number, answer in zip(numbers, found, strict=True):
                if not isinstance(answer, Exception):
                    answers[number] = answer
                    unanswered.discard(number)
        for number in sorted(unanswered):
            key, command = questions[number]
            (answers[number],) = self._ask(key, [command])
        return answers

    def _ping(self) -> None:
        """Raise StoreUnavailable unless at least one primary answers."""
        give_up = time.monotonic() + _PATIENCE_SECONDS
        trouble: StoreUnavailable | None = None
        for place in sorted(self.places(), key=lambda place: self._server(place).troubles):
            try:
                self._ask_at(place, [("PING",)])
            except StoreUnavailable as error:
                trouble = error
                if time.monotonic() > give_up:
                    raise
            else:
                return
        raise trouble or unavailable()

    def _known(self) -> Map:
        """Who has what, found out if that is due; one finds out, and others use what was known."""
        known = self._map
        if known is None:
            self._look_around(None, patient=True)
        elif self._doubted or time.monotonic() > known.until:
            self._look_around(known, patient=False)
        if self._map is None:
            raise unavailable()
        return self._map

    def _look_around(self, known: Map | None, patient: bool) -> None:
        """Find out who has what, unless that has been done since it was `known`, or just now."""
        if self._finder is None:
            self._doubted = None
            return
        if not self._looking.acquire(timeout=LOOK_AROUND_SECONDS if patient else 0):
            return
        try:
            if self._map is not known or time.monotonic() < self._not_before:
                return
            doubted, self._doubted = self._doubted, None
            try:
                found = self._finder.map(doubted)
            except redis.RedisError as error:
                if known is not None:
                    known.until = time.monotonic() + _BLIND_SECONDS
                if not self._blind:
                    _log.warning("Nobody says where the games are: %s", error)
                self._blind = True
            else:
                self._blind = False
                if known is not None and known.is_like(found):
                    known.until = found.until
                else:
                    self._map = found
                    self._forget_others(found)
            self._not_before = time.monotonic() + _BETWEEN_LOOKS_SECONDS
        finally:
            self._looking.release()

    def _forget_others(self, known: Map) -> None:
        for place in self._servers.keys() - set(known.places):
            self._servers.pop(place).hang_up()

    def _follow(self, known: Map, error: exceptions.MovedError) -> None:
        if self.together:
            if not self._blind:
                _log.warning("That Redis is part of a cluster: its URL begins with redis+cluster:")
            self._blind = True
            raise unavailable() from error
        known.moved[error.slot_id] = (error.host or known.place(error.slot_id)[0], error.port)
        # Others may have moved too. Whoever is asked for all of them need not know of this one yet:
        # then it says so again.
        known.until = 0

    def _doubt(self, known: Map, place: Host | None) -> None:
        if place is None:
            known.until = 0
        else:
            self._doubted = place

    def _server(self, place: Host) -> Server:
        server = self._servers.get(place)
        if server is None:
            made = Server(self._client(place, self.timeout_seconds))
            server = self._servers.setdefault(place, made)
        return server

    def _client(self, place: Host, timeout_seconds: float) -> redis.Redis:
        return client_of(
            self._url.text if place == NAMED else self._url.of_server(place),
            timeout_seconds,
            self._credentials.username,
            self._credentials.password,
            be_primary if self._url.kind == "sentinel" else None,
        )

    def _ask_at(self, place: Host, commands: Sequence[Command]) -> list[Any]:
        try:
            return without_errors(self._server(place).answers(commands))
        except redis.RedisError as error:
            if not _is_trouble(error):
                raise
            self.doubt(place)
            raise unavailable() from error

    def _answers(self, place: Host, commands: Sequence[Command]) -> list[Any]:
        server = self._server(place)
        answers = server.answers(commands)
        if not any(isinstance(answer, _MOVING) for answer in answers):
            return answers
        # A slot is being moved, key by key: each command goes where its key is by then, one after
        # another, because what is asked later may not be older than what was asked before.
        answers = []
        for step in _steps(commands):
            found = server.answers(step)
            if type(found[0]) is exceptions.AskError:
                host = (found[0].host or place[0], found[0].port)
                found = self._server(host).answers([("ASKING",), *step])[1:]
            answers += found
        return answers


def _steps(commands: Iterable[Command]) -> list[list[Command]]:
    """What has to be sent together: WAIT is about what was sent before it."""
    steps: list[list[Command]] = []
    for command in commands:
        if command[0] == "WAIT":
            steps[-1].append(command)
        else:
            steps.append([command])
    return steps


def _is_trouble(error: redis.RedisError) -> bool:
    return isinstance(error, _IN_TROUBLE) or str(error).partition(" ")[0] in _TROUBLE_CODES


def _kind(error: BaseException | None) -> str:
    """What the metrics call it."""
    if isinstance(error, redis.TimeoutError):
        return "timeout"
    refuses_changes = isinstance(error, exceptions.OutOfMemoryError | exceptions.ReadOnlyError)
    if refuses_changes or str(error).partition(" ")[0] in _READ_ONLY_CODES:
        return "read_only"
    if error is None or isinstance(error, redis.ConnectionError):
        return "connection"
    return "refused"


def _pause() -> None:
    time.sleep(random.uniform(*_PAUSE_SECONDS))  # noqa: S311 (so that not all come at once)

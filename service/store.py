"""All of Redis: the keys, the connection, loading, and the one way to write.

Of a game there are `rummy:{ID}:game` (hash: record, version, nonces of the last commits, `standing`
(version, status and deadline, to be counted by), and by seat the last requests with an
Idempotency-Key), `rummy:{ID}:events` (stream, an event's number is
its id), `rummy:{ID}:deals` (list of results), `rummy:{ID}:begins` (hash: by deal the event that it
begins with), `rummy:{ID}:claim:…` (a request with such a key that took a seat) and the channel
`rummy:{ID}:bell`, on which each new version is published. The braces keep them on one node of a
cluster. `rummy:open` is the index of open tables, `rummy:create:…` the id of the game that a
request with an Idempotency-Key makes, `rummy:census` how many games there were when they were last
counted, `rummy:frozen` says that no tables are made.

Every method raises StoreUnavailable within about a second when Redis is down, stalled or refuses to
work, and works again as soon as Redis does.
"""

import hashlib
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import msgspec
import redis
from msgspec import Struct
from redis import exceptions
from redis.backoff import ExponentialWithJitterBackoff
from redis.client import Pipeline
from redis.retry import Retry

from service.errors import BadCursor, NoSuchGame, StoreUnavailable, UnreadableRecord
from service.game import (
    STATUSES,
    Closed,
    Game,
    Logged,
    Remembered,
    Started,
    Status,
    decode,
    decode_event,
    decode_result,
    encode,
    encode_event,
    encode_result,
)
from service.rummy.model import DealEnded, DealResult, Dealt
from service.text import Text

_COMMIT = Path(__file__).with_name("commit.lua").read_text()
_COMMIT_SHA = hashlib.sha1(_COMMIT.encode(), usedforsecurity=False).hexdigest()

_GAME_ID = re.compile(r"[a-z2-7]{16}")

_OPEN = "rummy:open"
_ENTRY = re.compile(r"[0-9]{13}[a-z2-7]{16}")

_MOST_ENTRIES = 1000
"""So many entries a page looks at before it ends, even if few of them are wanted."""

_CREATION_MS = 60_000
"""The record of a table comes after its entry, but not as late as this."""

_LONGEST_WAIT = 20
"""A table that has waited so many times the expiry, prolonged by people who came and went, is not
listed any more."""

_CLAIM_MS = 24 * 3_600_000
"""A request that took a seat can be repeated for so long."""

_LOG_PAGE = 1000
"""So many entries of the log are read at a time."""

_CENSUS = "rummy:census"
_CENSUS_TAKEN = "rummy:census:taken"
_CENSUS_MS = 60_000
_CENSUS_KEPT_MS = 10 * _CENSUS_MS
_FROZEN = "rummy:frozen"

_SCANNED = 200
"""So many keys the server looks at in one go, well under a millisecond of its time; the answers
about them keep a worker busy for a few."""

_CONNECTIONS = 32
_RETRIES = 2
_IN_TROUBLE = (
    redis.ConnectionError,
    redis.TimeoutError,
    exceptions.InvalidResponse,
    exceptions.ClusterDownError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
)
_TROUBLE_CODES = {"BUSY", "DB", "MISCONF", "NOPERM", "NOREPLICAS", "WRONGPASS"}
"""Words that answers begin with of a server that is busy, or was not set up for us."""


class Expiry(Struct, frozen=True):
    """How long a game is kept after its last change."""

    unstarted_seconds: int
    running_seconds: int
    finished_seconds: int


class Mark(Struct, frozen=True):
    """What a request with an Idempotency-Key is known by.

    `key` and `request` are hashes, in hex, of the key and of what is asked for. `owner` is the hash
    of the seat's token; empty for a request that takes a seat.
    """

    key: str
    request: str
    owner: str = ""


class Census(Struct, frozen=True, kw_only=True):
    """How many games there were when they were counted, in ms since 1970.

    `overdue_since` is the oldest deadline that had passed by then: nobody has looked at that game
    since. `unreadable` are those that another version of the service wrote.
    """

    games: dict[Status, int]
    unreadable: int
    overdue_since: int | None
    taken_at: int
    took_seconds: float


class Freeze(Struct, frozen=True):
    """That no tables are made: since when (ms since 1970), and why, for people; empty: unsaid."""

    since: int
    reason: str


class Kept(Struct, frozen=True):
    """One key of a game: the bytes that it takes, and the ms after which it goes (-1: never)."""

    key: str
    bytes: int
    expires_in_ms: int


class Server(Struct, frozen=True, kw_only=True):
    """What a server of the store says of itself; texts and numbers as it says them."""

    kind: str
    version: str
    role: str
    replicas: int
    clients: int
    memory_bytes: int
    memory_limit_bytes: int
    """0: none."""
    eviction: str
    append_only: bool
    last_write: str
    """Whether it could write its append-only file the last time: `ok`, or else."""
    last_save: str


class LostRace(Exception):
    """Another commit came first.

    `current` is the game as it is now, `remembered` the earlier request with the same mark.
    """

    def __init__(self, current: Game, remembered: Remembered | None) -> None:
        super().__init__(f"the game is at version {current.version}")
        self.current = current
        self.remembered = remembered


class Store:
    """The games in one Redis. Made without touching it; each worker process needs its own."""

    def __init__(self, url: str, timeout_seconds: float, expiry: Expiry) -> None:
        self._redis = _client(url, timeout_seconds)
        self._expiry = expiry
        self._slots = _Slots(_CONNECTIONS)
        self._troubles = 0

    def load(self, game_id: str) -> Game:
        """The game as it is now. Raises NoSuchGame and UnreadableRecord."""
        with self._slot():
            record = self._redis.hget(_key(game_id, "game"), "record")
        return _game_of(record)

    def load_marked(self, game_id: str, mark: Mark) -> tuple[Game, Remembered | None]:
        """The game, and the request with that mark that has changed it before. Raises as `load`."""
        # Both at one moment: the game must not be older than the request that changed it.
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hget(_key(game_id, "game"), "record")
        if mark.owner:
            pipeline.hget(_key(game_id, "game"), _field(mark))
        else:
            pipeline.get(_claim(game_id, mark))
        with self._slot():
            record, remembered = _answers(pipeline)
        return _game_of(record), _found(mark, remembered)

    def id_of(self, mark: Mark) -> str | None:
        """The id of the game that the request with that mark makes, if it has one."""
        with self._slot():
            found = self._redis.get(_create(mark))
        return cast(bytes, found).decode() if found else None

    def id_for(self, mark: Mark, new_id: str) -> str:
        """The id of the game that the request with that mark makes: the new one, the first time.

        Kept for as long as a request that takes a seat can be repeated.
        """
        with self._slot():
            earlier = self._redis.set(_create(mark), new_id, nx=True, get=True, px=_CLAIM_MS)
        return cast(bytes, earlier).decode() if earlier else new_id

    def load_many(self, game_ids: Sequence[str]) -> tuple[Game | None, ...]:
        """The games in that order, in one round trip; None for those that are gone."""
        pipeline = self._redis.pipeline(transaction=False)
        for game_id in game_ids:
            pipeline.hget(_key(game_id, "game"), "record")
        with self._slot():
            records = _answers(pipeline)
        return tuple(None if record is None else decode(record) for record in records)

    def commit(
        self,
        game: Game,
        logged: Sequence[Logged],
        mark: Mark | None = None,
        remembered: Remembered | None = None,
    ) -> None:
        """Store the next version of a game with the events that led to it; version 1 creates it.

        What is to be remembered of the request with that mark is stored with it, if given.

        Raises LostRace if that version exists, NoSuchGame if the game has expired meanwhile. After
        StoreUnavailable the change may have been stored nevertheless.
        """
        keys = [_key(game.id, part) for part in ("game", "events", "deals", "begins")]
        if mark and not mark.owner:
            keys.append(_claim(game.id, mark))
        arguments = [
            bell_of(game.id),
            game.version,
            encode(game),
            secrets.token_hex(8),
            self._lifetime_ms(game),
            _CLAIM_MS,
            _field(mark) if mark and mark.owner else "",
            _memory(mark, remembered) if mark and remembered else "",
            _standing(game),
            *_event_arguments(logged),
        ]
        with self._slot():
            try:
                answer = self._send(game, keys, arguments)
            except exceptions.NoScriptError:  # the server has been restarted
                self._redis.script_load(_COMMIT)
                answer = self._send(game, keys, arguments)
        match answer:
            case [b"gone"]:
                if _is_open(game):  # the entry went first
                    with suppress(StoreUnavailable), self._slot():
                        self._redis.zrem(_OPEN, _entry(game))
                raise _no_such_game()
            case [b"lost", record, earlier]:
                raise LostRace(decode(record), _found(mark, earlier) if mark else None)
        if game.public and any(isinstance(entry.event, Started | Closed) for entry in logged):
            with suppress(StoreUnavailable), self._slot():  # readers remove it if this fails
                self._redis.zrem(_OPEN, _entry(game))

    def events(self, game_id: str, after: int, limit: int) -> tuple[Logged, ...]:
        """At most `limit` (from 1) entries of the log with a number above `after`, in order."""
        pipeline = self._redis.pipeline(transaction=False)
        _ask_events(pipeline, game_id, after, limit)
        with self._slot():
            (entries,) = _answers(pipeline)
        return _logged(entries)

    def read(self, game_id: str, after: int, limit: int) -> tuple[Game, tuple[Logged, ...]]:
        """The game and a part of its log, as `load` and `events`, in one round trip.

        The log is read first, so the game knows of every entry: whoever may read the entries by
        the game as it is then may read them.
        """
        pipeline = self._redis.pipeline(transaction=False)
        _ask_events(pipeline, game_id, after, limit)
        pipeline.hget(_key(game_id, "game"), "record")
        with self._slot():
            entries, record = _answers(pipeline)
        return _game_of(record), _logged(entries)

    def logs_of_deals(self, game_id: str, first: int, last: int) -> Iterator[tuple[Logged, ...]]:
        """The logs of these deals, each from its beginning to the beginning of the next, in order.

        None comes of deals that are not known to have begun. The log is read a page at a time, so
        that a long match need not be in memory at once.
        """
        with self._slot():
            begins = cast(
                list[bytes | None],
                self._redis.hmget(_key(game_id, "begins"), [str(first), str(last + 1)]),
            )
        if begins[0] is None:
            return
        after, end = int(begins[0]) - 1, int(begins[1]) - 1 if begins[1] else 2**63
        deal: list[Logged] = []
        while after < end and (page := self.events(game_id, after, min(end - after, _LOG_PAGE))):
            for entry in page:
                if isinstance(entry.event, Dealt) and deal:
                    yield tuple(deal)
                    deal = []
                deal.append(entry)
            after = page[-1].number
        if deal:
            yield tuple(deal)

    def results(self, game_id: str, after: int, limit: int) -> tuple[DealResult, ...]:
        """At most `limit` results of deals that have ended after the one numbered `after`."""
        with self._slot():
            results = self._redis.lrange(_key(game_id, "deals"), after, after + limit - 1)
        return tuple(decode_result(result) for result in cast(list[bytes], results))

    def open_tables(
        self,
        limit: int,
        before: str | None,
        now: int,
        wanted: Callable[[Game], bool] = lambda _: True,
    ) -> tuple[tuple[Game, ...], str | None]:
        """At most `limit` (from 1) public tables with a free seat at `now` (ms), the newest first.

        Only the `wanted` ones: where they are rare, a page can have fewer though others follow. The
        second value is the cursor to pass as `before` for the page that follows, None after the
        last. It stays good when tables come and go. Raises BadCursor.
        """
        if before is not None and not _ENTRY.fullmatch(before):
            raise BadCursor(Text("The cursor is not one that this list has given out."))
        found: list[Game] = []
        with self._slot():
            left, count = _MOST_ENTRIES, limit + 1
            while left > 0:
                left -= count
                entries = self._entries(before, count)
                found += filter(wanted, self._open_among(entries, now))
                if len(found) > limit:
                    return tuple(found[:limit]), _entry(found[limit - 1])
                if len(entries) < count:
                    return tuple(found), None
                before = entries[-1]
                count = min(2 * count, left)
        return tuple(found), before

    def ping(self) -> None:
        """Raise StoreUnavailable unless Redis answers."""
        with self._slot():
            self._redis.ping()

    def expires_at(self, game: Game) -> int:
        """When the game will be deleted if nothing more happens, in ms since 1970."""
        return game.changed_at + self._lifetime_ms(game)

    # --------------------------------------------------------------- all games, for operators

    def census(self, now: int) -> Census | None:
        """How many games there are, counted once a minute by all processes together.

        What was counted last while somebody else counts, or None if nothing is known yet. One game
        may be counted twice while the store grows.
        """
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.get(_CENSUS)
        pipeline.set(_CENSUS_TAKEN, 1, nx=True, px=_CENSUS_MS)
        with self._slot():
            kept, is_ours_to_take = _answers(pipeline)
        if not is_ours_to_take:
            return msgspec.json.decode(kept, type=Census) if kept else None
        census = self.counted(now)
        with self._slot():
            self._redis.set(_CENSUS, msgspec.json.encode(census), px=_CENSUS_KEPT_MS)
        return census

    def counted(self, now: int) -> Census:
        """How many games there are, counted now (ms since 1970)."""
        began = time.monotonic()
        games = dict.fromkeys(STATUSES, 0)
        unreadable, oldest = 0, now
        for game_ids in self._all_ids():
            for standing in self._standings(game_ids):
                if standing is None:
                    unreadable += 1
                    continue
                status, due = standing
                games[status] += 1
                oldest = min(oldest, due or oldest)
        return Census(
            games=games,
            unreadable=unreadable,
            overdue_since=oldest if oldest < now else None,
            taken_at=now,
            took_seconds=time.monotonic() - began,
        )

    def all_games(self) -> Iterator[Game | None]:
        """Every game, in no order, as it is stored; None for one that cannot be read.

        One may come twice while the store grows.
        """
        for game_ids in self._all_ids():
            yield from self._readable(game_ids)

    def kept(self, game_id: str) -> tuple[Kept, ...]:
        """All keys of a game. Raises NoSuchGame for what cannot be an id."""
        keys = sorted({key for keys in self._scan(_key(game_id, "*")) for key in keys})
        pipeline = self._redis.pipeline(transaction=False)
        for key in keys:
            pipeline.memory_usage(key)
            pipeline.pttl(key)
        with self._slot():
            answers = iter(_answers(pipeline))
        return tuple(
            Kept(key.decode(), size, lifetime)
            for key, size, lifetime in zip(keys, answers, answers, strict=True)
            if size is not None
        )

    def delete(self, game_ids: Sequence[str]) -> tuple[str, ...]:
        """Delete all that is kept of these games; returns the ids of which there was anything.

        Whoever waits for one of them is woken. A change that is just being made is not stored any
        more, or is deleted too.
        """
        wanted = set(filter(_GAME_ID.fullmatch, game_ids))
        parts = ("game", "events", "deals", "begins")
        keys_of = {game_id: [_key(game_id, part) for part in parts] for game_id in wanted}
        # The requests that made them go first: a repeat would make the game again under its id.
        self._forget_creations(wanted)
        found = set()
        for game_id, keys in keys_of.items():
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.unlink(*keys)
            pipeline.publish(bell_of(game_id), 0)
            with self._slot():
                if _answers(pipeline)[0]:
                    found.add(game_id)
        # From here on nobody takes a seat in them any more.
        for page in self._scan("rummy:{*}:claim:*"):
            for claim in page:
                if _id_in(claim) in wanted:
                    found.add(_id_in(claim))
                    with self._slot():
                        self._redis.unlink(claim)
        self._forget_entries(wanted)
        return tuple(game_id for game_id in game_ids if game_id in found)

    def freeze(self, freeze: Freeze) -> None:
        """Let no tables be made from now on."""
        with self._slot():
            self._redis.set(_FROZEN, msgspec.json.encode(freeze))

    def thaw(self) -> bool:
        """Let tables be made again; says whether they were not."""
        with self._slot():
            return bool(self._redis.delete(_FROZEN))

    def frozen(self) -> Freeze | None:
        """Whether no tables are made, and why."""
        with self._slot():
            freeze = cast(bytes | None, self._redis.get(_FROZEN))
        return msgspec.json.decode(freeze, type=Freeze) if freeze else None

    def servers(self) -> tuple[Server, ...]:
        """What each server says of itself that new games are written to."""
        with self._slot():
            return tuple(_server(each.info()) for each in self._primaries())

    def _primaries(self) -> tuple[redis.Redis, ...]:
        return (self._redis,)

    def _scan(self, pattern: str) -> Iterator[list[bytes]]:
        """All keys of that form, some at a time, so that nobody waits for the whole of it."""
        for server in self._primaries():
            cursor = None
            while cursor != 0:
                with self._slot():
                    cursor, keys = cast(
                        tuple[int, list[bytes]],
                        server.scan(cursor or 0, match=pattern, count=_SCANNED),
                    )
                if keys:
                    yield keys

    def _all_ids(self) -> Iterator[list[str]]:
        for keys in self._scan("rummy:{*}:game"):
            yield [_id_in(key) for key in keys]

    def _standings(self, game_ids: Sequence[str]) -> Iterator[tuple[Status, int | None] | None]:
        """Status and deadline of each game that is still there; None: it cannot be read."""
        pipeline = self._redis.pipeline(transaction=False)
        for game_id in game_ids:
            pipeline.hmget(_key(game_id, "game"), "version", "standing")
        with self._slot():
            answers = _answers(pipeline)
        untold = []
        for game_id, (version, standing) in zip(game_ids, answers, strict=True):
            told = (standing or b"").split()
            if told and told[0] == version:
                yield cast(Status, told[1].decode()), int(told[2]) if len(told) > 2 else None
            elif version:  # the last change was made by a version of before
                untold.append(game_id)
        for game in self._readable(untold):
            yield (game.status, game.due) if game else None

    def _readable(self, game_ids: Sequence[str]) -> Iterator[Game | None]:
        """Those of the games that are still there; None for one that cannot be read."""
        pipeline = self._redis.pipeline(transaction=False)
        for game_id in game_ids:
            pipeline.hget(_key(game_id, "game"), "record")
        with self._slot():
            records = _answers(pipeline)
        for record in filter(None, records):
            try:
                yield decode(record)
            except UnreadableRecord:
                yield None

    def _forget_creations(self, game_ids: Container[str]) -> None:
        for keys in self._scan("rummy:create:*"):
            pipeline = self._redis.pipeline(transaction=False)
            for key in keys:
                pipeline.get(key)
            with self._slot():
                made = _answers(pipeline)
            gone = [
                key
                for key, game_id in zip(keys, made, strict=True)
                if game_id and game_id.decode() in game_ids
            ]
            for key in gone:  # one by one: they may be on different nodes
                with self._slot():
                    self._redis.unlink(key)

    def _forget_entries(self, game_ids: Container[str]) -> None:
        """Take tables out of the index of open ones, whenever they say that they were made."""
        cursor = None
        while cursor != 0:
            with self._slot():
                cursor, entries = cast(
                    tuple[int, list[tuple[bytes, float]]],
                    self._redis.zscan(_OPEN, cursor or 0, count=_SCANNED),
                )
                if gone := [entry for entry, _ in entries if entry[13:].decode() in game_ids]:
                    self._redis.zrem(_OPEN, *gone)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Wait for a connection, and make StoreUnavailable of what a server in trouble causes.

        Who was still waiting when somebody else met trouble is not sent into it one after another.
        """
        troubles = self._troubles
        with self._slots:
            if self._troubles != troubles:
                raise _unavailable()
            try:
                yield
            except redis.RedisError as error:
                if not _is_trouble(error):
                    raise
                self._troubles += 1
                raise _unavailable() from error

    def _lifetime_ms(self, game: Game) -> int:
        seconds = {
            "waiting": self._expiry.unstarted_seconds,
            "playing": self._expiry.running_seconds,
            "finished": self._expiry.finished_seconds,
            "closed": self._expiry.unstarted_seconds,
        }
        # What is due has to be done by somebody before the game may go.
        until_due = max(0, game.due - game.changed_at) if game.due else 0
        return until_due + 1000 * seconds[game.status]

    def _send(self, game: Game, keys: list[str], arguments: list[int | str | bytes]) -> Any:
        """Run the script, in one round trip with the entry of an open table.

        The entry goes first: should the commit fail, there is one too many, which readers pass over
        and remove, and never one too few.
        """
        pipeline = self._redis.pipeline(transaction=False)
        if _is_open(game):
            oldest = game.created_at - _LONGEST_WAIT * self._lifetime_ms(game)
            pipeline.zadd(_OPEN, {_entry(game): 0})
            pipeline.zremrangebylex(_OPEN, "-", f"({max(oldest, 0):013}")
        pipeline.evalsha(_COMMIT_SHA, len(keys), *keys, *arguments)
        return _answers(pipeline)[-1]

    def _entries(self, before: str | None, count: int) -> list[str]:
        entries = self._redis.zrange(
            _OPEN,
            "+" if before is None else f"({before}",
            "-",
            desc=True,
            bylex=True,
            offset=0,
            num=count,
        )
        return [entry.decode() for entry in cast(list[bytes], entries)]

    def _open_among(self, entries: list[str], now: int) -> list[Game]:
        """The open tables of these entries; removes those that can never be open again."""
        pipeline = self._redis.pipeline(transaction=False)
        for entry in entries:
            pipeline.hget(_key(entry[13:], "game"), "record")
        found = []
        stale = []
        # The entry of a table that is just being made comes a moment before its record.
        settled = f"{now - _CREATION_MS:013}"
        for entry, record in zip(entries, _answers(pipeline), strict=True):
            if record is None:
                if entry < settled:
                    stale.append(entry)
                continue
            try:
                game = decode(record)
            except UnreadableRecord:  # for the version of the service that wrote it
                continue
            if entry != _entry(game):  # of a request that made the table at once with another
                stale.append(entry)
            elif _is_open(game):
                found.append(game)
            elif game.status != "waiting":  # it can never be open again
                stale.append(entry)
        if stale:
            self._redis.zrem(_OPEN, *stale)
        return found


class _Slots:
    """So many at a time, and the others in the order in which they came.

    At a threading.Semaphore one who comes again at once passes those who wait and are only being
    woken. Among many who read on and on some would wait for minutes.
    """

    def __init__(self, number: int) -> None:
        self._lock = threading.Lock()
        self._free = number
        """0 as long as somebody waits."""
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # ended while waiting: nobody may be given the turn of who is gone
            with self._lock:
                has_turn = turn not in self._waiting
                if not has_turn:
                    self._waiting.remove(turn)
            if has_turn:
                self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


def _client(url: str, timeout_seconds: float) -> redis.Redis:
    """A client that does not connect yet.

    Only lost connections are tried again: a command that timed out may still be waiting in the
    server, and a second wait would not fit into the second that callers are promised.
    """
    return redis.Redis.from_url(
        url,
        max_connections=_CONNECTIONS,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(
            ExponentialWithJitterBackoff(cap=0.1, base=0.03), _RETRIES, (redis.ConnectionError,)
        ),
        # With protocol 3 the pool no longer looks whether an idle connection is still good.
        protocol=2,
    )


def bell_of(game_id: str) -> str:
    """The channel on which each new version of that game is published."""
    return _key(game_id, "bell")


def _is_trouble(error: redis.RedisError) -> bool:
    return isinstance(error, _IN_TROUBLE) or str(error).partition(" ")[0] in _TROUBLE_CODES


def _answers(pipeline: Pipeline) -> list[Any]:
    """Send the commands; raises the first error as it came, without the command's arguments."""
    answers = pipeline.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _key(game_id: str, part: str) -> str:
    """Raise NoSuchGame for what cannot be the id of a game."""
    if not _GAME_ID.fullmatch(game_id):
        raise _no_such_game()
    return f"rummy:{{{game_id}}}:{part}"


def _game_of(record: Any) -> Game:
    if record is None:
        raise _no_such_game()
    return decode(cast(bytes, record))


def _field(mark: Mark) -> str:
    """The field of the game's hash with the last requests of that seat."""
    return f"requests:{mark.owner[:32]}"


def _create(mark: Mark) -> str:
    return f"rummy:create:{mark.key}"


def _claim(game_id: str, mark: Mark) -> str:
    return _key(game_id, f"claim:{mark.key[:32]}")


def _memory(mark: Mark, remembered: Remembered) -> str:
    """One line: what the request is found by, then what is remembered of it."""
    return f"{mark.key[:32]} {msgspec.json.encode(remembered).decode()}"


def _found(mark: Mark, lines: bytes | None) -> Remembered | None:
    """What is remembered under that mark."""
    for line in (lines or b"").decode().split("\n"):
        key, _, remembered = line.partition(" ")
        if key == mark.key[:32]:
            return msgspec.json.decode(remembered, type=Remembered)
    return None


def _ask_events(pipeline: Pipeline, game_id: str, after: int, limit: int) -> None:
    start = f"{min(after + 1, 2**63)}-0"
    pipeline.xrange(_key(game_id, "events"), min=start, count=limit)


def _logged(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> tuple[Logged, ...]:
    return tuple(
        Logged(
            number=int(entry.partition(b"-")[0]),
            version=int(fields[b"v"]),
            at=int(fields[b"t"]),
            event=decode_event(fields[b"e"]),
            forced=fields.get(b"f") == b"1",
        )
        for entry, fields in entries
    )


def _event_arguments(logged: Sequence[Logged]) -> Iterator[int | bytes]:
    yield len(logged)
    for entry in logged:
        yield entry.number
        yield entry.version
        yield entry.at
        yield encode_event(entry.event)
        yield int(entry.forced)
    begun = [(entry.event.deal, entry.number) for entry in logged if isinstance(entry.event, Dealt)]
    yield len(begun)
    for deal, number in begun:
        yield deal
        yield number
    for entry in logged:
        if isinstance(entry.event, DealEnded):
            yield encode_result(entry.event.result)


def _standing(game: Game) -> str:
    """What a game is counted by. With its version: who does not know of this leaves it behind."""
    return f"{game.version} {game.status} {'' if game.due is None else game.due}"


def _id_in(key: bytes) -> str:
    """The id of the game whose key that is."""
    return key[7:23].decode()


def _server(told: dict[str, Any]) -> Server:
    kind = told.get("server_name", "redis")
    return Server(
        kind=kind,
        version=str(told.get(f"{kind}_version") or told["redis_version"]),
        role=told["role"],
        replicas=told.get("connected_slaves", 0),
        clients=told["connected_clients"],
        memory_bytes=told["used_memory"],
        memory_limit_bytes=told["maxmemory"],
        eviction=told["maxmemory_policy"],
        append_only=told["aof_enabled"] == 1,
        last_write=told["aof_last_write_status"],
        last_save=told["rdb_last_bgsave_status"],
    )


def _is_open(game: Game) -> bool:
    return game.public and game.status == "waiting" and len(game.seats) < game.size


def _entry(game: Game) -> str:
    """A table in the index of open ones: all have the score 0, so these texts are the order."""
    return f"{game.created_at:013}{game.id}"


def _no_such_game() -> NoSuchGame:
    return NoSuchGame(Text("There is no game with this id; it may have expired."))


def _unavailable() -> StoreUnavailable:
    return StoreUnavailable(Text("The store of the games does not answer at the moment."))

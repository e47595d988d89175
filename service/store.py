"""What is kept in Redis: the keys, loading, and the one way to write.

Of a game there are `rummy:{ID}:game` (hash: record, version, nonces of the last commits, `standing`
(version, status and deadline, to be counted by), and by seat the last requests with an Idempotency-
Key), `rummy:{ID}:events` (stream, see `_entry_of_log`), `rummy:{ID}:deals` (list of
results), `rummy:{ID}:begins` (hash: by deal the event that it begins with), `rummy:{ID}:claim:…` (a
request with such a key that took a seat) and the channel `rummy:{ID}:bell`, on which each new
version is published. The braces keep them on one node of a cluster. `rummy:open` is the index of
open tables, `rummy:create:…` the id of the game that a request with an Idempotency-Key makes,
`rummy:census` how many games there were when they were last counted, `rummy:frozen` says that no
tables are made: these may be on any node.

Every method raises StoreUnavailable within about a second when a server that it needs is down,
stalled or refuses to work, and works again as soon as it does, or another has taken its place (see
`servers`). Replicas follow the primary a moment later, so another one may know less: what was
stored last, and who has seen it, may be lost with a primary, unless the store waits for replicas.
"""

import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct
from redis.exceptions import NoScriptError

from service import metrics
from service.config import Config
from service.errors import BadCursor, NoSuchGame, StoreUnavailable, UnreadableRecord
from service.game import (
    FORMAT,
    STATUSES,
    WRITTEN,
    Closed,
    Game,
    Logged,
    RecordFormat,
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
from service.redis_server import Command, unavailable
from service.rummy.model import DealEnded, DealResult, Dealt
from service.servers import Condition, Servers
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

_SHORT = 16
"""So much of a hash tells the requests of one seat apart that are remembered. The script of a
commit knows it, too."""

_LOG_PAGE = 1000
"""So many entries of the log are read at a time."""

_CENSUS = "rummy:census"
_CENSUS_TAKEN = "rummy:census:taken"
_CENSUS_MS = 60_000
_CENSUS_KEPT_MS = 10 * _CENSUS_MS
_FROZEN = "rummy:frozen"

_NONCE_BYTES = 6
_NONCE_CHARACTERS = 8
"""Of the nonce of a commit. In version 0.1.0 there are more, and these tell it from others, too."""

_MOST_COPIES = 2000
"""So many games a worker keeps as it has seen them last; one takes some 10 kB."""

_REPLICAS_SHARE = 0.5
"""Of the time that a server has for its answer, so much is for its replicas."""

_TOUCH = """
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end
"""
"""Changes nothing, but is passed on to the replicas. WAIT waits for what its connection wrote."""

_GAME_AND_CLAIM = "return {redis.call('HGET', KEYS[1], 'record'), redis.call('GET', KEYS[2])}"
"""Both at one moment: the game must not be older than the request that changed it."""


class Expiry(Struct, frozen=True):
    """How long a game is kept after its last change."""

    unstarted_seconds: int
    running_seconds: int
    finished_seconds: int


class Unseen(Enum):
    """Why one of many games cannot be seen: it is gone, or another version wrote its record."""

    GONE = auto()
    UNREADABLE = auto()


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


class Copy(Struct):
    """A game as this process knows it, its record, and the commit that made it so.

    It may have gone on since. Its version alone would not tell: where a primary was lost with what
    it stored last, another version of the same number may have come after it.
    """

    game: Game
    record: bytes
    commit: str
    left_by: int | None = None
    """Who left the turn to others with it, as a number that tells callers apart."""


class LostRace(Exception):
    """Another commit came first.

    `current` is the game as it is now, `remembered` the earlier request with the same mark.
    """

    def __init__(self, current: Game, remembered: Remembered | None) -> None:
        super().__init__(f"the game is at version {current.version}")
        self.current = current
        self.remembered = remembered


class Store:
    """The games in the servers. Made without touching them; each worker process needs its own."""

    def __init__(
        self,
        servers: Servers,
        expiry: Expiry,
        *,
        record_format: RecordFormat = WRITTEN,
        replicas: int = 0,
    ) -> None:
        """`replicas`: how many of them have a change before it counts as stored."""
        self._servers = servers
        self._kept_seconds: dict[Status, int] = {
            "waiting": expiry.unstarted_seconds,
            "playing": expiry.running_seconds,
            "finished": expiry.finished_seconds,
            "closed": expiry.unstarted_seconds,
        }
        self._record_format = record_format
        self._replicas = replicas
        self._copies: OrderedDict[str, Copy] = OrderedDict()
        """Of the games that were loaded or stored here last, the latest at the end."""

    @classmethod
    def configured(cls, servers: Servers, config: Config) -> "Store":
        """The games in these servers, kept as the configuration wants it."""
        expiry = Expiry(
            config.expire_unstarted_seconds,
            config.expire_running_seconds,
            config.expire_finished_seconds,
        )
        return cls(
            servers,
            expiry,
            record_format=config.record_format,
            replicas=config.redis_replicas,
        )

    def load(self, game_id: str) -> Game:
        """The game as it is now. Raises NoSuchGame and UnreadableRecord."""
        key, command = _asked_with_commits(game_id)
        ((record, commits),) = self._servers.ask(key, [command])
        return self._known(game_id, record, commits)

    def copy_of(self, game_id: str) -> Copy | None:
        """The game as this process knows it, if it does. What is decided on it has to be committed.

        Only the store can say whether it is still so: nobody may be answered by a copy.
        """
        return self._copies.get(game_id)

    def load_marked(self, game_id: str, mark: Mark) -> tuple[Game, Remembered | None]:
        """The game, and the request with that mark that has changed it before. Raises as `load`.

        What such a request has changed is on as many replicas then as any change that is stored.
        """
        key = _key(game_id, "game")
        commits = None
        if mark.owner:
            command: Command = ("HMGET", key, "record", _field(mark), "commits")
            ((record, lines, commits),) = self._servers.ask(key, [command])
        else:
            command = ("EVAL", _GAME_AND_CLAIM, 2, key, _claim(game_id, mark))
            ((record, lines),) = self._servers.ask(key, [command])
        remembered = _found(mark, lines)
        if remembered and self._replicas:
            self._write(key, [("EVAL", _TOUCH, 1, key)])
        return self._known(game_id, record, commits), remembered

    def id_of(self, mark: Mark) -> str | None:
        """The id of the game that the request with that mark makes, if it has one."""
        (found,) = self._servers.ask(_create(mark), [("GET", _create(mark))])
        return cast(bytes, found).decode() if found else None

    def id_for(self, mark: Mark, new_id: str) -> str:
        """The id of the game that the request with that mark makes: the new one, the first time.

        Kept for as long as a request that takes a seat can be repeated.
        """
        key = _create(mark)
        (earlier,) = self._write(key, [("SET", key, new_id, "NX", "GET", "PX", _CLAIM_MS)])
        return cast(bytes, earlier).decode() if earlier else new_id

    def load_many(self, game_ids: Sequence[str]) -> tuple[Game | Unseen, ...]:
        """The games in that order, or why there is none to see: a round trip to each server."""
        records = self._servers.ask_each([_asked(game_id) for game_id in game_ids])
        return tuple(_game_or_why_not(record) for record in records)

    def commit(
        self,
        game: Game,
        logged: Sequence[Logged],
        mark: Mark | None = None,
        remembered: Remembered | None = None,
        copy: Copy | None = None,
    ) -> None:
        """Store the next version of a game with the events that led to it; version 1 creates it.

        What is to be remembered of the request with that mark is stored with it, if given. With the
        `copy` that it was decided on, it is stored only if the game is still exactly that, and no
        request with that mark has been carried out.

        Raises LostRace if that version exists, NoSuchGame if the game has expired meanwhile. After
        StoreUnavailable the change may have been stored nevertheless, on fewer replicas than it
        should be or on all of them.
        """
        prefix = _key(game.id, "")
        keys = [prefix + part for part in ("game", "events", "deals", "begins")]
        if mark and not mark.owner:
            keys.append(_claim(game.id, mark))
        record = encode(game, self._record_format)
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        arguments: list[int | str | bytes] = [
            self._ring,
            bell_of(game.id),
            game.version,
            record,
            nonce,
            self._lifetime_ms(game),
            _CLAIM_MS,
            _field(mark) if mark and mark.owner else "",
            _memory(mark, remembered, self._record_format) if mark and remembered else "",
            _standing(game),
            copy.commit if copy else "",
            *log_arguments(logged, self._record_format),
        ]
        try:
            answer = self._send(game, ("EVALSHA", _COMMIT_SHA, len(keys), *keys, *arguments))
        except NoScriptError:  # that server has been restarted, or has become the primary
            answer = self._send(game, ("EVAL", _COMMIT, len(keys), *keys, *arguments))
        match answer:
            case [b"gone"]:
                if _is_open(game):  # the entry went first
                    with suppress(StoreUnavailable):
                        self._change(_OPEN, ("ZREM", _OPEN, _entry(game)))
                raise _no_such_game()
            case [b"lost", record, earlier, commits]:
                if copy is None:  # or it is only as good as that guess
                    metrics.CONFLICTS.inc()
                current = self._known(game.id, record, commits)
                raise LostRace(current, _found(mark, earlier) if mark else None)
        self._keep(Copy(game, record, nonce))
        if game.public and any(isinstance(entry.event, Started | Closed) for entry in logged):
            with suppress(StoreUnavailable):  # readers remove it if this fails
                self._change(_OPEN, ("ZREM", _OPEN, _entry(game)))

    def events(self, game_id: str, after: int, limit: int) -> tuple[Logged, ...]:
        """At most `limit` (from 1) entries of the log with a number above `after`, in order."""
        command = _events(game_id, after, limit)
        (entries,) = self._servers.ask(_key(game_id, "events"), [command])
        return _logged(entries)

    def read(self, game_id: str, after: int, limit: int) -> tuple[Game, tuple[Logged, ...]]:
        """The game and a part of its log, as `load` and `events`, in one round trip.

        The log is read first, so the game knows of every entry: whoever may read the entries by
        the game as it is then may read them.
        """
        key, command = _asked_with_commits(game_id)
        entries, (record, commits) = self._servers.ask(
            key, [_events(game_id, after, limit), command]
        )
        return self._known(game_id, record, commits), _logged(entries)

    def logs_of_deals(self, game_id: str, first: int, last: int) -> Iterator[tuple[Logged, ...]]:
        """The logs of these deals, each from its beginning to the beginning of the next, in order.

        None comes of deals that are not known to have begun. The log is read a page at a time, so
        that a long match need not be in memory at once.
        """
        key = _key(game_id, "begins")
        (begins,) = self._servers.ask(key, [("HMGET", key, first, last + 1)])
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
        key = _key(game_id, "deals")
        (results,) = self._servers.ask(key, [("LRANGE", key, after, after + limit - 1)])
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

    def condition(self) -> Condition:
        """How the servers are. Raises StoreUnavailable if none answers."""
        return self._servers.condition()

    def expires_at(self, game: Game) -> int:
        """When the game will be deleted if nothing more happens, in ms since 1970."""
        return game.changed_at + self._lifetime_ms(game)

    # --------------------------------------------------------------- all games, for operators

    def census(self, now: int) -> Census | None:
        """How many games there are, counted once a minute by all processes together.

        What was counted last while somebody else counts, or None if nothing is known yet. One game
        may be counted twice while the store grows.
        """
        taking: Command = ("SET", _CENSUS_TAKEN, 1, "NX", "PX", _CENSUS_MS)
        kept, is_ours_to_take = self._servers.ask_each(
            [(_CENSUS, ("GET", _CENSUS)), (_CENSUS_TAKEN, taking)]
        )
        if not is_ours_to_take:
            return msgspec.json.decode(kept, type=Census) if kept else None
        census = self.counted(now)
        self._change(_CENSUS, ("SET", _CENSUS, msgspec.json.encode(census), "PX", _CENSUS_KEPT_MS))
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
        pattern = _key(game_id, "*")
        keys = sorted({key for keys in self._servers.keys(pattern) for key in keys})
        commands = [
            command for key in keys for command in (("MEMORY", "USAGE", key), ("PTTL", key))
        ]
        answers = iter(self._servers.ask(pattern, commands)) if commands else iter(())
        return tuple(
            Kept(key, size, lifetime)
            for key, size, lifetime in zip(keys, answers, answers, strict=True)
            if size is not None
        )

    def delete(self, game_ids: Sequence[str]) -> tuple[str, ...]:
        """Delete all that is kept of these games; returns the ids of which there was anything.

        Whoever waits for one of them is woken. A change that is just being made is not stored any
        more, or is deleted too. After StoreUnavailable some of it may be gone: delete them again.
        """
        wanted = set(filter(_GAME_ID.fullmatch, game_ids))
        # The requests that made them go first: a repeat would make the game again under its id.
        self._forget_creations(wanted)
        found = set()
        for game_id in wanted:
            keys = [_key(game_id, part) for part in ("game", "events", "deals", "begins")]
            unlinked, _ = self._write(
                keys[0], [("UNLINK", *keys), (self._ring, bell_of(game_id), 0)]
            )
            if unlinked:
                found.add(game_id)
        # From here on nobody takes a seat in them any more.
        for page in self._servers.keys("rummy:{*}:claim:*"):
            for claim in page:
                if _id_in(claim) in wanted:
                    found.add(_id_in(claim))
                    self._write(claim, [("UNLINK", claim)])
        self._forget_entries(wanted)
        return tuple(game_id for game_id in game_ids if game_id in found)

    def freeze(self, freeze: Freeze) -> None:
        """Let no tables be made from now on."""
        self._change(_FROZEN, ("SET", _FROZEN, msgspec.json.encode(freeze)))

    def thaw(self) -> bool:
        """Let tables be made again; says whether they were not."""
        return bool(self._change(_FROZEN, ("DEL", _FROZEN)))

    def frozen(self) -> Freeze | None:
        """Whether no tables are made, and why."""
        (freeze,) = self._servers.ask(_FROZEN, [("GET", _FROZEN)])
        return msgspec.json.decode(freeze, type=Freeze) if freeze else None

    def servers(self) -> tuple[Server, ...]:
        """What each server says of itself that new games are written to."""
        return tuple(_server(told) for told in self._servers.told_of_themselves())

    # ------------------------------------------------------------------------- how it is done

    def _known(self, game_id: str, record: bytes | None, commits: bytes | None) -> Game:
        """The game with that record, which is decoded only if its copy here is not just that."""
        if record is None:
            self._copies.pop(game_id, None)
            raise _no_such_game()
        if not commits:
            return decode(record)
        copy = self._copies.get(game_id)
        game = copy.game if copy and copy.record == record else decode(record)
        self._keep(Copy(game, record, commits[:_NONCE_CHARACTERS].decode()))
        return game

    def _keep(self, copy: Copy) -> None:
        self._copies.pop(copy.game.id, None)
        self._copies[copy.game.id] = copy
        if len(self._copies) > _MOST_COPIES:
            self._copies.popitem(last=False)

    @property
    def _ring(self) -> str:
        """How a bell is rung."""
        return "PUBLISH" if self._servers.together else "SPUBLISH"

    def _change(self, key: str, command: Command) -> Any:
        """Change something that need not be on any replica yet."""
        (answer,) = self._servers.ask(key, [command], call="change")
        return answer

    def _all_ids(self) -> Iterator[list[str]]:
        # One key that is not ours does not keep all others from being seen.
        for keys in self._servers.keys("rummy:{*}:game", kind="hash"):
            yield [found for found in map(_id_in, keys) if _GAME_ID.fullmatch(found)]

    def _standings(self, game_ids: Sequence[str]) -> Iterator[tuple[Status, int | None] | None]:
        """Status and deadline of each game that is still there; None: it cannot be read."""
        keys = [_key(game_id, "game") for game_id in game_ids]
        answers = self._servers.ask_each(
            [(key, ("HMGET", key, "version", "standing")) for key in keys]
        )
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
        records = self._servers.ask_each([_asked(game_id) for game_id in game_ids])
        for record in filter(None, records):
            try:
                yield decode(record)
            except UnreadableRecord:
                yield None

    def _forget_creations(self, game_ids: Container[str]) -> None:
        for keys in self._servers.keys("rummy:create:*"):
            made = self._servers.ask_each([(key, ("GET", key)) for key in keys])
            for key, game_id in zip(keys, made, strict=True):
                if game_id and game_id.decode() in game_ids:
                    self._change(key, ("UNLINK", key))

    def _forget_entries(self, game_ids: Container[str]) -> None:
        """Take tables out of the index of open ones, whenever they say that they were made."""
        cursor = None
        while cursor != b"0":
            scan: Command = ("ZSCAN", _OPEN, cursor or 0, "COUNT", _LOG_PAGE)
            ((cursor, found),) = self._servers.ask(_OPEN, [scan])
            if gone := [entry for entry in found[::2] if entry[13:].decode() in game_ids]:
                self._change(_OPEN, ("ZREM", _OPEN, *gone))

    def _lifetime_ms(self, game: Game) -> int:
        # What is due has to be done by somebody before the game may go.
        until_due = max(0, game.due - game.changed_at) if game.due else 0
        return until_due + 1000 * self._kept_seconds[game.status]

    def _send(self, game: Game, commit: Command) -> Any:
        """Commit, and on a single server in the same round trip the entry of an open table.

        The entry goes first: should the commit fail, there is one too many, which readers pass over
        and remove, and never one too few.
        """
        entry: list[Command] = []
        if _is_open(game):
            oldest = game.created_at - _LONGEST_WAIT * self._lifetime_ms(game)
            entry.append(("ZADD", _OPEN, 0, _entry(game)))
            entry.append(("ZREMRANGEBYLEX", _OPEN, "-", f"({max(oldest, 0):013}"))
        if entry and not self._servers.together:
            self._write(_OPEN, entry)
            entry = []
        return self._write(_key(game.id, "game"), [*entry, commit])[-1]

    def _write(self, key: str, commands: list[Command]) -> list[Any]:
        """Raise StoreUnavailable, too, if not enough replicas have it in time.

        Of one of our own they are asked in the same round trip.
        """
        if not self._replicas:
            return self._servers.ask(key, commands, call="change")
        patience_ms = round(1000 * _REPLICAS_SHARE * self._servers.timeout_seconds)
        *answers, replicas = self._servers.ask(
            key, [*commands, ("WAIT", self._replicas, patience_ms)], call="change"
        )
        if replicas < self._replicas:
            metrics.STORE_ERRORS.labels("replicas").inc()
            raise unavailable()
        return answers

    def _entries(self, before: str | None, count: int) -> list[str]:
        start = "+" if before is None else f"({before}"
        command = ("ZRANGE", _OPEN, start, "-", "BYLEX", "REV", "LIMIT", 0, count)
        (entries,) = self._servers.ask(_OPEN, [command])
        return [entry.decode() for entry in entries]

    def _open_among(self, entries: list[str], now: int) -> list[Game]:
        """The open tables of these entries; removes those that can never be open again."""
        records = self._servers.ask_each([_asked(entry[13:]) for entry in entries])
        found = []
        stale = []
        # The entry of a table that is just being made comes a moment before its record.
        settled = f"{now - _CREATION_MS:013}"
        for entry, record in zip(entries, records, strict=True):
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
            with suppress(StoreUnavailable):  # it takes no changes now: the next reader does it
                self._change(_OPEN, ("ZREM", _OPEN, *stale))
        return found


def bell_of(game_id: str) -> str:
    """The channel on which each new version of that game is published."""
    return _key(game_id, "bell")


def _key(game_id: str, part: str) -> str:
    """Raise NoSuchGame for what cannot be the id of a game."""
    if not _GAME_ID.fullmatch(game_id):
        raise _no_such_game()
    return f"rummy:{{{game_id}}}:{part}"


def _game_of(record: Any) -> Game:
    if record is None:
        raise _no_such_game()
    return decode(cast(bytes, record))


def _game_or_why_not(record: Any) -> Game | Unseen:
    try:
        return _game_of(record)
    except NoSuchGame:
        return Unseen.GONE
    except UnreadableRecord:
        return Unseen.UNREADABLE


def _field(mark: Mark) -> str:
    """The field of the game's hash with the last requests of that seat."""
    return f"requests:{mark.owner[:32]}"


def _create(mark: Mark) -> str:
    return f"rummy:create:{mark.key}"


def _claim(game_id: str, mark: Mark) -> str:
    return _key(game_id, f"claim:{mark.key[:32]}")


def _memory(mark: Mark, remembered: Remembered, record_format: RecordFormat) -> str:
    """One line: what the request is found by, then what is remembered of it.

    Version 0.1.0 takes JSON only. Else a seat's is short, since there are many of these: the
    beginnings of both hashes are enough to know one of its requests again.
    """
    if record_format == FORMAT and mark.owner and not remembered.salt:
        numbers = (remembered.version, remembered.first, remembered.last, remembered.seat)
        return " ".join((mark.key[:_SHORT], mark.request[:_SHORT], *map(str, numbers)))
    return f"{mark.key[:32]} {msgspec.json.encode(remembered).decode()}"


def _found(mark: Mark, lines: bytes | None) -> Remembered | None:
    """What is remembered under that mark."""
    if not lines or mark.key[:_SHORT].encode() not in lines:  # as of nearly every request
        return None
    for line in lines.decode().split("\n"):
        key, _, remembered = line.partition(" ")
        if key == mark.key[:32]:
            return msgspec.json.decode(remembered, type=Remembered)
        if key == mark.key[:_SHORT]:
            request, *numbers = remembered.split(" ")
            version, first, last, seat = map(int, numbers)
            if mark.request.startswith(request):
                request = mark.request
            return Remembered(request, version, first, last, seat)
    return None


def _asked(game_id: str) -> tuple[str, Command]:
    """Where the record is, and how it is asked for."""
    key = _key(game_id, "game")
    return key, ("HGET", key, "record")


def _asked_with_commits(game_id: str) -> tuple[str, Command]:
    """As `_asked`, with the nonces of the last commits: the last one says which record it is."""
    key = _key(game_id, "game")
    return key, ("HMGET", key, "record", "commits")


def _events(game_id: str, after: int, limit: int) -> Command:
    start = f"{min(after + 1, 2**63)}-0"
    return ("XRANGE", _key(game_id, "events"), start, "+", "COUNT", limit)


def _logged(entries: list[tuple[bytes, list[bytes]]]) -> tuple[Logged, ...]:
    return tuple(_entry_of_log(number, fields) for number, fields in entries)


def _entry_of_log(number: bytes, fields: list[bytes]) -> Logged:
    """An entry of the stream. Its id is the number of the event and the time, `12-1764547200000`.

    The fields are `v`, the version; `e`, the event; and `f`, which is 1 if it was forced. Beside
    records of before format 4 the time is in `t`, and all fields are there.
    """
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    count, _, at = number.partition(b"-")
    return Logged(
        number=int(count),
        version=int(values[b"v"]),
        at=int(values.get(b"t", at)),
        event=decode_event(values[b"e"]),
        forced=values.get(b"f") == b"1",
    )


def log_arguments(
    logged: Sequence[Logged], record_format: RecordFormat = WRITTEN
) -> Iterator[int | str | bytes]:
    """What the script of a commit is given of the entries of the log, behind all else."""
    yield len(logged)
    for entry in logged:
        event = encode_event(entry.event, record_format)
        words: tuple[int | str | bytes, ...]
        if record_format == FORMAT:
            yield f"{entry.number}-{entry.at}"
            words = ("v", entry.version, "e", event, *(("f", 1) if entry.forced else ()))
        else:
            yield f"{entry.number}-0"
            forced = int(entry.forced)
            words = ("v", entry.version, "t", entry.at, "e", event, "f", forced)
        yield len(words)
        yield from words
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


def _id_in(key: str) -> str:
    """The id of the game whose key that is."""
    return key[7:23]


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

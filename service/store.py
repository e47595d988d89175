"""What is kept in Redis: the keys, loading, and the one way to write.

Of a game there are `rummy:{ID}:game` (hash: record, version, nonces of the last commits, and by
seat the last requests with an Idempotency-Key), `rummy:{ID}:events` (stream, an event's number is
its id), `rummy:{ID}:deals` (list of results), `rummy:{ID}:begins` (hash: by deal the event that it
begins with), `rummy:{ID}:claim:…` (a request with such a key that took a seat) and the channel
`rummy:{ID}:bell`, on which each new version is published. The braces keep them on one node of a
cluster. `rummy:open` is the index of open tables, `rummy:create:…` the id of the game that a
request with an Idempotency-Key makes: these may be on any node.

Every method raises StoreUnavailable within about a second when a server that it needs is down,
stalled or refuses to work, and works again as soon as it does, or another has taken its place (see
`servers`). Replicas follow the primary a moment later, so another one may know less: what was
stored last, and who has seen it, may be lost with a primary, unless the store waits for replicas.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct
from redis.exceptions import NoScriptError

from service.errors import BadCursor, NoSuchGame, StoreUnavailable, UnreadableRecord
from service.game import (
    Closed,
    Game,
    Logged,
    Remembered,
    Started,
    decode,
    decode_event,
    decode_result,
    encode,
    encode_event,
    encode_result,
)
from service.rummy.model import DealEnded, DealResult, Dealt
from service.servers import Command, Servers, unavailable
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


class Mark(Struct, frozen=True):
    """What a request with an Idempotency-Key is known by.

    `key` and `request` are hashes, in hex, of the key and of what is asked for. `owner` is the hash
    of the seat's token; empty for a request that takes a seat.
    """

    key: str
    request: str
    owner: str = ""


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

    def __init__(self, servers: Servers, expiry: Expiry, replicas: int = 0) -> None:
        """`replicas`: how many of them have a change before it counts as stored."""
        self._servers = servers
        self._expiry = expiry
        self._replicas = replicas

    def load(self, game_id: str) -> Game:
        """The game as it is now. Raises NoSuchGame and UnreadableRecord."""
        key = _key(game_id, "game")
        (record,) = self._servers.ask(key, [("HGET", key, "record")])
        return _game_of(record)

    def load_marked(self, game_id: str, mark: Mark) -> tuple[Game, Remembered | None]:
        """The game, and the request with that mark that has changed it before. Raises as `load`.

        What such a request has changed is on as many replicas then as any change that is stored.
        """
        key = _key(game_id, "game")
        if mark.owner:
            command: Command = ("HMGET", key, "record", _field(mark))
        else:
            command = ("EVAL", _GAME_AND_CLAIM, 2, key, _claim(game_id, mark))
        ((record, lines),) = self._servers.ask(key, [command])
        remembered = _found(mark, lines)
        if remembered and self._replicas:
            self._write(key, [("EVAL", _TOUCH, 1, key)])
        return _game_of(record), remembered

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

    def load_many(self, game_ids: Sequence[str]) -> tuple[Game | None, ...]:
        """The games in that order, None for those that are gone: a round trip to each server."""
        records = self._servers.ask_each([_asked(game_id) for game_id in game_ids])
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
        StoreUnavailable the change may have been stored nevertheless, on fewer replicas than it
        should be or on all of them.
        """
        keys = [_key(game.id, part) for part in ("game", "events", "deals", "begins")]
        if mark and not mark.owner:
            keys.append(_claim(game.id, mark))
        arguments: list[int | str | bytes] = [
            "PUBLISH" if self._servers.together else "SPUBLISH",
            bell_of(game.id),
            game.version,
            encode(game),
            secrets.token_hex(8),
            self._lifetime_ms(game),
            _CLAIM_MS,
            _field(mark) if mark and mark.owner else "",
            _memory(mark, remembered) if mark and remembered else "",
            *_event_arguments(logged),
        ]
        try:
            answer = self._send(game, ("EVALSHA", _COMMIT_SHA, len(keys), *keys, *arguments))
        except NoScriptError:  # that server has been restarted, or has become the primary
            answer = self._send(game, ("EVAL", _COMMIT, len(keys), *keys, *arguments))
        match answer:
            case [b"gone"]:
                raise _no_such_game()
            case [b"lost", record, earlier]:
                raise LostRace(decode(record), _found(mark, earlier) if mark else None)
        if game.public and any(isinstance(entry.event, Started | Closed) for entry in logged):
            with suppress(StoreUnavailable):  # readers remove it if this fails
                self._servers.ask(_OPEN, [("ZREM", _OPEN, _entry(game))])

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
        key, command = _asked(game_id)
        entries, record = self._servers.ask(key, [_events(game_id, after, limit), command])
        return _game_of(record), _logged(entries)

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

    def ping(self) -> None:
        """Raise StoreUnavailable unless a server answers; of a cluster any of them."""
        self._servers.ping()

    def expires_at(self, game: Game) -> int:
        """When the game will be deleted if nothing more happens, in ms since 1970."""
        return game.changed_at + self._lifetime_ms(game)

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
            return self._servers.ask(key, commands)
        patience_ms = round(1000 * _REPLICAS_SHARE * self._servers.timeout_seconds)
        *answers, replicas = self._servers.ask(
            key, [*commands, ("WAIT", self._replicas, patience_ms)]
        )
        if replicas < self._replicas:
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
            self._servers.ask(_OPEN, [("ZREM", _OPEN, *stale)])
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


def _asked(game_id: str) -> tuple[str, Command]:
    """Where the record is, and how it is asked for."""
    key = _key(game_id, "game")
    return key, ("HGET", key, "record")


def _events(game_id: str, after: int, limit: int) -> Command:
    start = f"{min(after + 1, 2**63)}-0"
    return ("XRANGE", _key(game_id, "events"), start, "+", "COUNT", limit)


def _logged(entries: list[tuple[bytes, list[bytes]]]) -> tuple[Logged, ...]:
    return tuple(_entry_of_log(number, fields) for number, fields in entries)


def _entry_of_log(number: bytes, fields: list[bytes]) -> Logged:
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    return Logged(
        number=int(number.partition(b"-")[0]),
        version=int(values[b"v"]),
        at=int(values[b"t"]),
        event=decode_event(values[b"e"]),
        forced=values.get(b"f") == b"1",
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


def _is_open(game: Game) -> bool:
    return game.public and game.status == "waiting" and len(game.seats) < game.size


def _entry(game: Game) -> str:
    """A table in the index of open ones: all have the score 0, so these texts are the order."""
    return f"{game.created_at:013}{game.id}"


def _no_such_game() -> NoSuchGame:
    return NoSuchGame(Text("There is no game with this id; it may have expired."))

"""Bots at the tables of a service: contests in which a side is a program of somebody else.

A bot is a command. It is started with the address of the service in SERVICE and with the tokens of
its seats, each at another table, in SEAT_TOKENS, with spaces between them. It plays them all until
every match is over, and then ends with 0.

The tables are practice tables, so that a deal can be played twice; nobody at them is told the seed.
The two plays of a deal are in different batches, and a bot has a process of its own for each batch
and for each of its seats at a table: no process sees a deal twice, or two hands of it. A bot that
leaves notes for its other processes is not kept from that.
"""

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from msgspec import Struct

from service.arena import Contest, Pair, Played, lead_of, pair_of
from service.client import Client, ServiceError, environment
from service.processes import end_with_parent, undisturbed
from service.rummy.computer import Level
from service.rummy.model import DealResult

_GLANCE_SECONDS = 0.05
"""How often the processes are looked at."""

_LOOK_SECONDS = 1.0
"""How often the tables are looked at."""

_END_SECONDS = 3
"""So long a process that is told to end may take."""

_TABLES_A_LOOK = 50
"""As many as one request may ask for."""

_MOST_HEARD = 4_000
_MOST_LINES = 10
"""Bytes that are kept of what a process says, and lines that are told of it."""

_READ_BYTES = 64 * 1024
_READS = 16
"""So much is taken at a glance of a process that never stops talking."""

_SIDES = ("first", "second")


class BotError(Exception):
    """A bot did not play to the end; the message names it, the table and its last words."""


class Bot(Struct, frozen=True):
    """A command that plays, and what it is called."""

    name: str
    command: str

    def __str__(self) -> str:
        return self.command

    @property
    def words(self) -> list[str]:
        """The program and its arguments; no shell reads them. Raises ValueError."""
        return shlex.split(self.command)


Party = Level | Bot


class Pace(NamedTuple):
    """How much goes on at the same time, and how long a move may take."""

    jobs: int
    """Batches at once."""
    tables: int
    """Tables in a batch, which are the seats that a process plays at once."""
    patience: float
    """Seconds without a move, of a bot that should make one, that end the contest."""


class Play(Struct, frozen=True, kw_only=True):
    """A deal that was played at a table; each is played twice."""

    number: int
    exchange: int
    dealer: int
    sides: tuple[int, ...]
    result: DealResult
    replay: str | None


def name_of(party: Party) -> str:
    """What the table of results calls it."""
    return party.name if isinstance(party, Bot) else party


def why_not(bot: Bot) -> str:
    """Why the bot cannot be started; empty if it can."""
    try:
        words = bot.words
    except ValueError as error:
        return f"{bot.command!r} cannot be read: {error}."
    if not words:
        return "the command is empty."
    return "" if shutil.which(words[0]) else f"there is no program {words[0]!r}."


def plays(
    contest: Contest[Party], client: Client, pace: Pace, replays: Path | None = None
) -> Generator[Play, None, None]:
    """Play the contest: each play when it is over, in no order.

    With `replays` each one's document is written into that directory. Raises BotError and
    ServiceError. It has to be closed; then no process runs any more.
    """
    waiting = _batches(contest.deals, pace.tables)
    running: list[_Batch] = []
    try:
        while True:
            while len(running) < pace.jobs and (wanted := next(waiting, None)):
                running.append(_Batch(contest, client, pace))
                running[-1].begin(*wanted)
            if not running:
                return
            for batch in running:
                for table in batch.look():
                    yield _play(contest, client, table, replays)
            running = [batch for batch in running if not batch.is_over]
            time.sleep(_GLANCE_SECONDS)
    finally:
        with undisturbed():
            # All at once: the slowest takes as long as it may, not each after the other.
            for batch in running:
                batch.tell_to_end()
            for batch in running:
                batch.wait_for_end()


def pairs(contest: Contest[Party], played: Sequence[Play]) -> tuple[list[Pair], list[Play]]:
    """The two plays of each deal as what they are together, and these plays in their order.

    Of a contest that was broken off those up to the first deal that was not played twice: long
    matches end late, so all that had ended would be more of the short ones.
    """
    known = {(play.number, play.exchange): play for play in played}
    found: list[Pair] = []
    whole: list[Play] = []
    for number in range(contest.deals):
        two = [known[key] for exchange in (0, 1) if (key := (number, exchange)) in known]
        if len(two) < 2:
            break
        results, sides = [play.result for play in two], [play.sides for play in two]
        found.append(pair_of(contest.rules, results, sides))
        whole += two
    return found, whole


def told(contest: Contest[Party], play: Play) -> Played:
    """The play as the file of results tells it."""
    winner = play.result.winner
    return Played(
        deal=play.number + 1,
        seed=contest.seed_of(play.number),
        dealer=play.dealer,
        seats=tuple(_SIDES[side] for side in play.sides),
        winner=None if winner is None else _SIDES[play.sides[winner]],
        lead=lead_of(play.result, play.sides, contest.rules),
        turns=play.result.turns,
        replay=play.replay,
    )


# -------------------------------------------------------------------------------- at the service


class _Seat(Struct):
    away: str | None


class _Deal(Struct):
    turn: int


class _Game(Struct):
    """What is read of a game: no more, so that the service may be of another version."""

    id: str
    version: int
    status: str
    seats: tuple[_Seat, ...]
    deal: _Deal | None
    last_deal: DealResult | None


class _Seated(Struct):
    token: str
    game: _Game


class _Changed(Struct):
    game: _Game


class _Own(Struct):
    token: int
    game: _Game


class _OwnGames(Struct):
    games: tuple[_Own, ...]


class _Table:
    """A table, as it was when it was last looked at."""

    def __init__(self, contest: Contest[Party], client: Client, number: int, exchange: int) -> None:
        self.number = number
        self.exchange = exchange
        self.sides = contest.seated(exchange)
        self.dealer = contest.dealer_of(number)
        self.seed = contest.seed_of(number)
        parties = [contest.sides[side] for side in self.sides]
        # Who makes a table sits at seat 0, so that has to be a bot. All move up, and the dealer
        # with them: everybody gets the same cards, and has the same neighbours.
        first = next(seat for seat, party in enumerate(parties) if isinstance(party, Bot))
        parties = parties[first:] + parties[:first]
        self.sides = self.sides[first:] + self.sides[:first]
        self.dealer = (self.dealer - first) % len(parties)
        maker = parties[0]
        assert isinstance(maker, Bot), "just moved there"  # noqa: S101
        wanted = {
            "variant": contest.rules.variant,
            "seats": len(parties),
            "options": contest.chosen,
            "name": maker.name,
            "practice": {"seed": self.seed, "dealer": self.dealer},
        }
        made = client.post("/v1/games", wanted, _Seated)
        self.tokens = {0: _checked(made.token)}
        self.game = made.game
        path = f"/v1/games/{made.game.id}"
        for seat, party in enumerate(parties[1:], 1):
            if isinstance(party, Bot):
                joined = client.post(f"{path}/join", {"name": party.name}, _Seated)
                self.tokens[seat], self.game = _checked(joined.token), joined.game
            else:
                levels = {"levels": [party]}
                self.game = client.post(f"{path}/computers", levels, _Changed, made.token).game

    @property
    def is_over(self) -> bool:
        return self.game.status == "finished"

    def waits_for(self, seat: int) -> bool:
        return self.game.deal is not None and self.game.deal.turn == seat

    def __str__(self) -> str:
        return (
            f"table {self.game.id}, deal {self.number + 1} "
            f"(practice seed {self.seed!r}, dealer {self.dealer})"
        )


def _checked(token: str) -> str:
    """The token, which has to fit into an environment, with spaces around it."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ServiceError(f"The service gave a token that cannot be one: {token!r}")
    return token


def _look_at(client: Client, tables: Sequence[_Table]) -> None:
    """See how things stand at these tables now. Raises ServiceError."""
    for start in range(0, len(tables), _TABLES_A_LOOK):
        asked = tables[start : start + _TABLES_A_LOOK]
        tokens = [table.tokens[0] for table in asked]
        found = client.post("/v1/games/query", {"tokens": tokens}, _OwnGames).games
        if len(found) < len(asked):
            raise ServiceError("The service has lost tables while they were played at.")
        for own in found:
            asked[own.token].game = own.game


def _play(contest: Contest[Party], client: Client, table: _Table, replays: Path | None) -> Play:
    """What came of the table, its replay kept. Raises ServiceError."""
    result = table.game.last_deal
    assert result is not None, "who gave up is away, which was looked at"  # noqa: S101
    name = None
    if replays is not None:
        name = f"{contest.rules.variant}-{table.number + 1:05}-{table.exchange + 1}.json"
        document = client.get(f"/v1/games/{table.game.id}/replay", table.tokens[0])
        (replays / name).write_bytes(document)
    return Play(
        number=table.number,
        exchange=table.exchange,
        dealer=table.dealer,
        sides=table.sides,
        result=result,
        replay=name,
    )


# ------------------------------------------------------------------------------------ processes


def _batches(deals: int, tables: int) -> Iterator[tuple[range, int]]:
    """The deals that each batch plays, and whether with the seats exchanged."""
    for start in range(0, deals, tables):
        for exchange in (0, 1):
            yield range(start, min(start + tables, deals)), exchange


class _Batch:
    """Some tables, and the processes that play at them: one for each seat of a bot's."""

    def __init__(self, contest: Contest[Party], client: Client, pace: Pace) -> None:
        self._contest = contest
        self._client = client
        self._patience = pace.patience + (contest.rules.call_seconds or 0)
        self._tables: list[_Table] = []
        self._players: list[_Player] = []
        self._next_look = 0.0

    def begin(self, numbers: Sequence[int], exchange: int) -> None:
        """Make the tables and start the bots. Raises ServiceError and BotError."""
        for number in numbers:
            self._tables.append(_Table(self._contest, self._client, number, exchange))
        for seat in self._tables[0].tokens:
            bot = self._contest.sides[self._tables[0].sides[seat]]
            assert isinstance(bot, Bot), "computers have no tokens"  # noqa: S101
            with undisturbed():  # or one that has just started would be known to nobody
                self._players.append(_Player(bot, seat, self._tables, self._client.address))

    @property
    def is_over(self) -> bool:
        return all(player.ended for player in self._players)

    def look(self) -> Iterator[_Table]:
        """The tables at which a match has just ended. Raises BotError and ServiceError."""
        # In this order: who had ended by then has to have played all that is seen after.
        news = [player.glance() for player in self._players]
        now = time.monotonic()
        if now < self._next_look and not any(news):
            return
        self._next_look = now + _LOOK_SECONDS
        unfinished = [table for table in self._tables if not table.is_over]
        _look_at(self._client, unfinished)
        for player in self._players:
            player.judge(self._patience)
        yield from (table for table in unfinished if table.is_over)

    def tell_to_end(self) -> None:
        """Ask the processes to end."""
        for player in self._players:
            player.tell_to_end()

    def wait_for_end(self) -> None:
        """Wait until they have ended, by force if it takes too long."""
        deadline = time.monotonic() + _END_SECONDS
        for player in self._players:
            player.wait_for_end(deadline)


class _Player:
    """A process of a bot, which plays one seat at each table of a batch."""

    def __init__(self, bot: Bot, seat: int, tables: Sequence[_Table], address: str) -> None:
        self.ended = False
        self._bot = bot
        self._seat = seat
        self._tables = tables
        self._heard = b""
        self._moved = time.monotonic()
        self._awaited: Mapping[str, int] = {}
        tokens = " ".join(table.tokens[seat] for table in tables)
        try:
            self._process = subprocess.Popen(
                bot.words,
                env={**environment(), "SERVICE": address, "SEAT_TOKENS": tokens},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Of its own, so that what it has started itself can be ended with it.
                start_new_session=True,
                preexec_fn=end_with_parent(),  # noqa: PLW1509 (it only calls prctl)
            )
        except OSError as error:
            raise BotError(f"{bot.name} ({bot.command}) cannot be started: {error}") from error
        assert self._process.stderr is not None, "it is a pipe"  # noqa: S101
        self._errors = self._process.stderr
        os.set_blocking(self._errors.fileno(), False)

    def glance(self) -> bool:
        """Hear what it says, and see whether it has just ended."""
        if self.ended:
            return False
        has_ended = self._has_ended()
        self._hear()
        if has_ended:
            self._bury()
        return has_ended

    def judge(self, patience: float) -> None:
        """Raise BotError if it has gone, or makes no move, while its seats are not played out."""
        left = [table for table in self._tables if not table.is_over]
        awaited = {
            table.game.id: table.game.version for table in left if table.waits_for(self._seat)
        }
        for table in self._tables:
            if table.game.seats[self._seat].away is not None:
                self._fail("left its seat, or let the clock play it", table)
        if self.ended:
            if self._process.returncode:
                self._fail(f"ended with {_exit(self._process.returncode)}", *self._first(left))
            if left:
                self._fail("ended before its matches were over", *self._first(left))
            return
        now = time.monotonic()
        has_moved = not self._awaited.items() <= awaited.items()
        if has_moved or (left and not awaited):
            self._moved = now
        self._awaited = awaited
        if now - self._moved > patience:
            if left:
                self._fail(
                    f"has made no move that counts for {patience:.0f} seconds", *self._first(left)
                )
            self._fail(f"still runs {patience:.0f} seconds after its last match")

    def tell_to_end(self) -> None:
        """Ask it to end, and what it has started."""
        if not self.ended:
            self._signal(signal.SIGTERM)

    def wait_for_end(self, deadline: float) -> None:
        """Wait until then for its end, and put an end to it and to what it has left."""
        if self.ended:
            return
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(_GLANCE_SECONDS)
        self._bury()

    def _has_ended(self) -> bool:
        """Whether it has, though nobody has asked for its exit code: until then its id is taken."""
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            return self._process.poll() is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def _bury(self) -> None:
        """End by force what runs of it: itself, or what it has left behind; then forget it."""
        # In this order: once the leader's exit code is asked for, and its group is empty, another
        # process may get the id, and would be killed instead.
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._errors.close()
        self.ended = True

    def _signal(self, by: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):  # the latter on macOS, of zombies
            os.killpg(self._process.pid, by)

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(_READS):
                heard = os.read(self._errors.fileno(), _READ_BYTES)
                if not heard:
                    return
                self._heard = (self._heard + heard)[-_MOST_HEARD:]

    def _first(self, left: Sequence[_Table]) -> Sequence[_Table]:
        """The table to name: where it is awaited, if there is one."""
        return sorted(left, key=lambda table: not table.waits_for(self._seat))[:1]

    def _fail(self, what: str, *where: _Table) -> NoReturn:
        place = "".join(f" at {table}" for table in where)
        lines = self._heard.decode(errors="replace").splitlines()[-_MOST_LINES:]
        words = "\n".join(["The last that it wrote to its standard error:", *lines])
        said = words if lines else "It wrote nothing to its standard error."
        raise BotError(f"{self._bot.name} ({self._bot.command}) {what}{place}.\n{said}")


def _exit(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"

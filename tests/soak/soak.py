"""Players at many tables, one trouble after another, and what is found after each."""

import json
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import redis

from tests.serving import ENVIRONMENT, ROOT
from tests.small_disk import NoDisk, SmallDisk, small_disk
from tests.soak.clock import Clock, NoClock
from tests.soak.judge import Findings, Judge
from tests.soak.served import Served, Size, served, wait_until
from tests.soak.troubles import NotHere, Setting, name_of

WORKERS = 2
TABLES_A_PROCESS = 100
_DISK_MEGABYTES = 512

MEMORY_MORE = 24 * 1024 * 1024
"""A worker may hold so much more than before: what Python has asked for once it rarely gives back,
and each place for a connection to the store is taken at some time."""

STORE_MEMORY_MORE = 16 * 1024 * 1024
"""The store may hold so much more than its games have grown."""

FILES_MORE = 40
"""A worker keeps up to 32 connections to the store, and that of the bells."""

THREADS_MORE = 2

_OUTAGE = {"store_unavailable", "too_busy", "rate_limited"}
"""Refusals after which one comes again."""


_ANSWER_SECONDS = 180
"""So long players may take to bring their last requests to an answer."""


class Stuck(Exception):
    """It cannot be gone on with: some request is never answered."""


@dataclass
class Row:
    """What one trouble came to."""

    trouble: str
    acknowledged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    no_answer: int = 0
    longest_gap: float = 0
    slowest: float = 0
    lost: int = 0
    doubled: int = 0
    before: tuple[Size, Size] | None = None
    after: tuple[Size, Size] | None = None
    wrong: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def is_well(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


class Soak:
    """A service, and those who play there all the time."""

    def __init__(self, service: Served, disk: SmallDisk | None, tables: int, pause: float) -> None:
        self.service = service
        self._disk = disk
        self._crowd = 1000 if tables >= 50 else 200
        self._judge = Judge(service)
        self._players: list[subprocess.Popen[str]] = []
        for first in range(0, tables, TABLES_A_PROCESS):
            number = min(TABLES_A_PROCESS, tables - first)
            self._players.append(_players(service.address, number, pause, first))

    def warm_up(self, seconds: float) -> None:
        """Let them play undisturbed, and take what the service holds then as what is usual."""
        self.service.wait_until_well(WORKERS)
        self._tell("play")
        self._wait_for_moves(seconds)
        row = Row("none")
        self._tables = self._pause(row)
        self._look(row, self._tables)
        assert row.is_well, row.wrong
        self._usual = self.service.sizes()

    def give(self, trouble: Callable[[Setting], None], seconds: float) -> Row:
        """Make that trouble while they play, for about so many seconds, and see what is left."""
        row = Row(name_of(trouble), before=(self._usual[0], self.service.sizes()[1]))
        stored = self._stored()
        game = next(table["id"] for table in self._tables if not table["over"])
        logged = len(self.service.log.read_text())
        self._tell("play")
        self._wait_for_moves(seconds / 4)
        try:
            setting = Setting(
                self.service, seconds / 2, self._crowd, self._disk, game, self._wait_for_moves
            )
            self._check(row, lambda: trouble(setting))
        except NotHere as missing:
            row.skipped = f"skipped: it takes {missing}"
        self._check(row, lambda: self.service.wait_until_well(WORKERS))
        self._check(row, lambda: self._wait_for_moves(seconds / 4))
        self._tables = self._pause(row)
        self._look(row, self._tables)
        self._check(row, lambda: self._wait_until_small(row, self._stored() - stored))
        if "Traceback" in (said := self.service.log.read_text()[logged:]):
            row.wrong.append(f"the log has a traceback:\n{said[-3000:]}")
        return row

    def stop(self) -> None:
        """Send everybody home."""
        for players in self._players:
            players.kill()
            players.communicate()

    def _wait_for_moves(self, seconds: float) -> None:
        """Let them play for so long, and until more moves have been made at all."""
        before = sum(self._tell("count"))
        time.sleep(seconds)
        wait_until(lambda: sum(self._tell("count")) > before, "moves are made")

    def _pause(self, row: Row) -> list[dict]:
        tables = []
        for told in self._tell("pause"):
            row.acknowledged += told["acknowledged"]
            row.refused += Counter(told["refused"])
            row.no_answer += told["no_answer"]
            row.longest_gap = max(row.longest_gap, told["longest_gap"])
            row.slowest = max(row.slowest, told["slowest"])
            row.wrong += told["wrong"]
            tables += told["tables"]
        return tables

    def _look(self, row: Row, tables: list[dict]) -> None:
        findings = Findings()
        for table in tables:
            self._judge.look_at(table, findings)
        row.lost, row.doubled = findings.lost, findings.doubled
        row.wrong += findings.other

    def _wait_until_small(self, row: Row, more_data: int) -> None:
        """Until the service holds no more than before, and does nothing."""
        worker, store = row.before or self._usual

        def is_small() -> bool:
            row.after = now, its = self.service.sizes()
            return (
                now.memory <= worker.memory + MEMORY_MORE
                and now.files <= worker.files + FILES_MORE
                and now.threads <= worker.threads + THREADS_MORE
                and its.memory <= store.memory + 2 * max(more_data, 0) + STORE_MEMORY_MORE
                and its.files <= store.files + WORKERS * FILES_MORE
                and its.threads <= store.threads + THREADS_MORE
                and self.service.connections() == 0
                and self.service.is_at_rest()
            )

        wait_until(is_small, "the service holds no more than before, and does nothing")

    def _stored(self) -> int:
        with self.service.redis() as store:
            return int(store.info("memory")["used_memory_dataset"])

    def _check(self, row: Row, check: Callable[[], None]) -> None:
        try:
            check()
        except (AssertionError, OSError, redis.RedisError) as error:
            row.wrong.append(f"{error or error!r}")

    def _tell(self, order: str) -> list:
        for players in self._players:
            assert players.stdin is not None
            players.stdin.write(f"{order}\n")
            players.stdin.flush()
        if order == "play":
            return []
        answers = []
        for players in self._players:
            assert players.stdout is not None
            if not select.select([players.stdout], [], [], _ANSWER_SECONDS)[0]:
                raise Stuck(f"a player has had no answer for {_ANSWER_SECONDS} s")
            line = players.stdout.readline()
            assert line, "the players have failed; they say why on the standard error"
            answers.append(json.loads(line))
        return answers


@contextmanager
def soaking(directory: Path, tables: int, pause: float) -> Iterator[Soak]:
    """A service and so many tables, all that it keeps in the directory.

    Its games are on a disk of their own, and its clock can be set, where that can be had.
    """
    disk: SmallDisk | None = None
    clock: Clock | None = None
    with ExitStack() as stack:
        with suppress(NoDisk):
            disk = stack.enter_context(small_disk(directory / "disk", _DISK_MEGABYTES))
        with suppress(NoClock):
            clock = Clock(directory)
        data = (disk.path if disk else directory) / "data"
        service = stack.enter_context(served(data, WORKERS, directory / "log", clock))
        soak = Soak(service, disk, tables, pause)
        stack.callback(soak.stop)
        yield soak


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table of results."""
    yield (
        f"{'trouble':20}{'moves':>7}{'503':>6}{'cut':>6}{'gap s':>7}{'slowest':>8}{'lost':>5}"
        f"{'doubled':>8}{'worker MB':>12}{'store MB':>12}  "
    )
    for row in rows:
        later = sum(count for code, count in row.refused.items() if code in _OUTAGE)
        others = {code: count for code, count in row.refused.items() if code not in _OUTAGE}
        sizes = [_megabytes(row, place) for place in (0, 1)]
        yield (
            f"{row.trouble:20}{row.acknowledged:7}{later:6}{row.no_answer:6}"
            f"{row.longest_gap:7.1f}{row.slowest:8.1f}{row.lost:5}{row.doubled:8}"
            f"{sizes[0]:>12}{sizes[1]:>12}  "
            f"{row.skipped or ('ok' if row.is_well else 'FAILED')}"
            f"{''.join(f' {code} {count}' for code, count in sorted(others.items()))}"
        )
        yield from (f"    {wrong}" for wrong in row.wrong)


def _megabytes(row: Row, place: int) -> str:
    if not (row.before and row.after):
        return ""
    return " ".join(f"{each[place].memory / 2**20:.0f}" for each in (row.before, row.after))


def _players(address: str, tables: int, pause: float, seed: int) -> subprocess.Popen[str]:
    options = [f"--tables={tables}", f"--pause={pause}", f"--seed={seed}"]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.soak.players", address, *options],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

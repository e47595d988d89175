"""Matches are played on, while servers die, stand still and are moved.

Two services share the games, and each commit waits for a replica. What was acknowledged is there in
the end, once. `TRIALS=5 .venv/bin/pytest -s tests/scale/test_failover.py` does all of it so often
and prints what it has cost: the longest time without a move at a table, and what clients met.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests
from redis.crc import key_slot

from tests.fleets import Fleet, Moving, can_move_at_once, move_at_once
from tests.patience import until
from tests.scale.conftest import Dock
from tests.scale.matches import PATIENCE, Match, Reader, Table
from tests.serving import served_at

TRIALS = int(os.environ.get("TRIALS", "1"))
TABLES = 4
MOST_UNDONE = 10
"""In one match: a failover can undo the change that was just being made there, and its events."""


Accident = Callable[[Fleet, list[Match]], None]


@contextmanager
def services(fleet: Fleet, directory: Path, replicas: int) -> Iterator[list[str]]:
    """The addresses of two of them, on different ports."""
    settings = {"RUMMY_REDIS_URL": fleet.url, "RUMMY_REDIS_REPLICAS": str(replicas)}
    with ExitStack() as stack:
        addresses = [stack.enter_context(served_at(directory, **settings)) for _ in range(2)]
        for address in addresses:
            until(lambda address=address: requests.get(f"{address}/readyz", timeout=60).ok)
        yield addresses


def key(match: Match) -> str:
    return f"rummy:{{{match.id}}}:game"


def kill_a_primary(fleet: Fleet, matches: list[Match]) -> None:
    gone = fleet.primary(key(matches[0]))
    gone.kill()
    until(lambda: fleet.primary(key(matches[0])) is not gone)
    gone.start()  # in a cluster its place would be without a replica


def stall_a_primary(fleet: Fleet, matches: list[Match]) -> None:
    gone = fleet.primary(key(matches[0]))
    gone.stall()
    time.sleep(10)
    gone.go_on()


def lose_a_replica(fleet: Fleet, matches: list[Match]) -> None:
    gone = fleet.replicas(fleet.primary(key(matches[0])))[0]
    gone.kill()
    time.sleep(2)
    gone.start()


def reshard(fleet: Fleet, matches: list[Match]) -> None:
    for match in matches[:2]:
        source = fleet.primary(key(match))
        Moving(key_slot(key(match).encode()), source, fleet.other(source)).finish()


def reshard_at_once(fleet: Fleet, matches: list[Match]) -> None:
    if not can_move_at_once(fleet.nodes[0]):
        pytest.skip("this server cannot move slots at once")
    for match in matches[:2]:
        source = fleet.primary(key(match))
        move_at_once(key_slot(key(match).encode()), source, fleet.other(source))


ACCIDENTS: dict[str, list[Accident]] = {
    "sets": [lose_a_replica, stall_a_primary, kill_a_primary],
    "clusters": [reshard, reshard_at_once, lose_a_replica, kill_a_primary, stall_a_primary],
}


class Play:
    """Matches at several tables, on two services that share the games."""

    def __init__(self, fleet: Fleet, addresses: list[str]) -> None:
        self.enough = threading.Event()
        self.tables = [Table(addresses, number, self.enough) for number in range(TABLES)]
        self.readers: list[tuple[Reader, Match]] = []
        self._fleet = fleet
        self._addresses = addresses
        for table in self.tables:
            table.start()
        self._wait_for_moves()

    def through(self, accident: Accident) -> str:
        """Play on while it happens, and until all go on; returns what that has cost, as a line."""
        current = [table.matches[-1] for table in self.tables]
        for streams in (False, True):
            reader = Reader(self._addresses, current[0], streams)
            self.readers.append((reader, current[0]))
            reader.start()
        begun = time.monotonic()
        errors = self._errors()
        accident(self._fleet, current)
        self._wait_for_moves()
        gap = max(table.gap(begun) for table in self.tables)
        met = dict(self._errors() - errors)
        return f"{accident.__name__:24}{gap:6.1f} s  {met}"

    def end(self) -> tuple[int, int, int]:
        """Play all matches to their end; returns how many moves were told, lost and doubled.

        A reader has missed nothing, but may have seen what was never acknowledged, and was undone.
        """
        self.enough.set()
        for thread in (*self.tables, *(reader for reader, _ in self.readers)):
            thread.join(PATIENCE)
            assert not thread.is_alive()
            if thread.failure:
                raise thread.failure
        for reader, match in self.readers:
            log = match.log(0)
            assert [entry["id"] for entry in reader.entries] == [entry["id"] for entry in log]
            undone = sum(seen != kept for seen, kept in zip(reader.entries, log, strict=True))
            assert undone < MOST_UNDONE
        audits = [match.audit() for table in self.tables for match in table.matches]
        lost, doubled = (sum(counts) for counts in zip(*audits, strict=True))
        return sum(table.moves for table in self.tables), lost, doubled

    def _wait_for_moves(self) -> None:
        """Until there are some more at each table."""
        before = [table.moves for table in self.tables]
        until(
            lambda: all(
                table.moves > moves + 2 or table.failure
                for table, moves in zip(self.tables, before, strict=True)
            )
        )

    def _errors(self) -> Counter[str]:
        return sum((table.client.errors for table in self.tables), Counter())


@pytest.mark.parametrize("kind", ACCIDENTS)
def test_matches_are_played_on_and_nothing_acknowledged_is_lost(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    dock: Dock = request.getfixturevalue(kind)
    fleet = dock.fleet()
    for node in fleet.nodes:
        node.ask("CONFIG", "SET", "min-replicas-to-write", 1, "min-replicas-max-lag", 2)
    with services(fleet, tmp_path, replicas=1) as addresses:
        play = Play(fleet, addresses)
        for trial in range(TRIALS):
            for accident in ACCIDENTS[kind]:
                fleet.settle()
                print(f"\n{kind:10}{trial + 1:3}  {play.through(accident)}", end="")
        moves, lost, doubled = play.end()
        print(f"\n{kind:10}{moves:5} moves acknowledged, {lost} lost, {doubled} doubled")
        assert (lost, doubled) == (0, 0)
    dock.close()

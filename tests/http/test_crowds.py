"""Many who wait, on a real server with two workers: all are told, and the others hardly notice.

The numbers are small here, so that it takes seconds; no claim about speed is made.
"""

import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import requests
from msgspec.structs import replace

from service.api import contract
from service.game import Logged
from service.redis_server import Slots
from service.rummy.model import Drew
from tests import serving
from tests.contract import CheckedClient
from tests.fleets import listeners
from tests.http.simple_player import choose
from tests.http.sse import PATIENCE, Follower, Line, Reader
from tests.http.tables import House, QuickContract, Table
from tests.patience import until
from tests.serving import Service, children, command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

WAITERS = 300
STREAMS = 60
DEAD = 30
GIVES_UP_SECONDS = 2

IMPATIENT = f"""
from service import server

load = server._Application.load

def load_impatient(self):
    application = load(self)
    from service import connections
    connections.MOST_SEND_SECONDS = {GIVES_UP_SECONDS}
    return application

server._Application.load = load_impatient
from service.cli import main
main(prog_name="rummy")
"""
"""The service, but a client that takes nothing is given up sooner than a test can wait for."""


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def service(data: Path) -> Iterator[Service]:
    """A service with two workers that says nothing but its greeting, whatever its clients do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "RUMMY", [sys.executable, "-c", IMPATIENT])
        with serving.serving(data, "--workers", "2") as running:
            yield running
            running.process.terminate()
            running.process.wait(15)
            assert running.process.stdout.read() == ""


@pytest.fixture(scope="module")
def house(service: Service, data: Path) -> House:
    """The tables of the service, made and played from behind its back, when both workers work."""
    tables = House(f"unix://{data}/valkey.sock")
    table = tables.table("straight")
    path = f"/v1/games/{table.id}/events?after=1000&wait=1"
    lines: list[Line] = []

    def both_have_come() -> bool:
        lines.append(Line(service.url, path, {"Accept": "*/*"}))
        return is_waited_for(table, 2)

    until(both_have_come)
    for line in lines:
        line.read_head().close()
    return tables


@pytest.fixture(scope="module")
def judge(house: House) -> QuickContract:
    return QuickContract(contract(house.app))


@pytest.fixture
def move(service: Service, judge: QuickContract) -> Iterator[Callable[[Table], None]]:
    """Makes a move at a table, over a connection to the service that stays open."""
    chance = Random(1)
    with requests.Session() as session:
        client = CheckedClient(session, judge, service.url)

        def make(table: Table) -> None:
            path = f"/v1/games/{table.id}"
            mover = table.players[table.game().match.deal.turn]
            headers = mover._headers({})
            view = client.get(path, headers=headers, timeout=PATIENCE).json()
            chosen = choose(view, chance)
            answer = client.post(
                f"{path}/{chosen['move']}", json=chosen, headers=headers, timeout=PATIENCE
            )
            assert answer.status_code == 200, answer.text

        yield make


def workers(service: Service) -> list[int]:
    return [pid for pid in children(service.process.pid) if "valkey" not in command(pid)]


def ports(lines: Iterable[Line]) -> set[str]:
    """Where the clients are, to know their connections by."""
    return {f"{line.socket.getsockname()[1]:04X}" for line in lines}


def held(service: Service, clients: set[str]) -> list[int]:
    """For each client whose connection a worker still holds, the bytes that could not be sent."""
    port = f"{int(service.url.rpartition(':')[2]):04X}"
    unsent = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, here, there, _, sizes, _, _, _, _, inode, *_ = line.split()
        if here.endswith(f":{port}") and there.rpartition(":")[2] in clients:
            unsent[f"socket:[{inode}]"] = int(sizes.partition(":")[0], 16)
    found = []
    for pid in workers(service):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                found.append(str(file.readlink()))
    return [unsent[name] for name in found if name in unsent]


def memory(service: Service) -> int:
    """The bytes of memory that the workers have."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in workers(service))
    return pages * os.sysconf("SC_PAGE_SIZE")


def is_waited_for(table: Table, by: int = 1) -> bool:
    """Whether so many workers listen to the bell of the game."""
    return listeners(table.house.redis, f"rummy:{{{table.id}}}:bell") >= by


# ----------------------------------------------------------------------------------- waiting


def test_moves_are_made_while_hundreds_wait_and_all_are_told_when_their_game_changes(
    service, house, move
):
    watched = [house.table("straight", deals=10) for _ in range(WAITERS // 10)]
    other = house.table("straight", deals=1000, hand_size=3)
    lines: dict[int, tuple[Line, Table]] = {}
    for table in watched:
        game = table.game()
        for number in range(10):
            path, headers = f"/v1/games/{table.id}?wait=60", {"Accept": "*/*"}
            if number % 2:
                path = f"/v1/games/{table.id}/events?after={game.events}&wait=60"
            else:
                headers["If-None-Match"] = f'"{game.version}"'
            line = Line(service.url, path, headers)
            lines[line.socket.fileno()] = (line, table)
    clients = ports(line for line, _ in lines.values())
    until(lambda: len(held(service, clients)) == WAITERS)
    until(lambda: all(map(is_waited_for, watched)))
    poll = select.poll()
    for number in lines:
        poll.register(number, select.POLLIN)
    for _ in range(20):
        move(other)
    assert poll.poll(0) == []
    for table in watched:
        assert table.mover.draw("stock").status_code == 200
    for line, table in lines.values():
        assert line.read_head().status == 200
        body = b"".join(line.pieces())
        assert table.id.encode() in body
        line.close()
    until(lambda: not held(service, clients))


def test_all_who_follow_a_game_are_told_each_event_once_and_in_order(service, house, move):
    table = house.table("straight", deals=1000, hand_size=3)
    following = []
    for number in range(STREAMS):
        watcher = table.watchers[number % 3]
        path = f"/v1/games/{table.id}/events?after=0"
        line = Line(service.url, path, watcher._headers({})).read_head()
        following.append((Follower(line), watcher))
    for _ in range(20):
        move(table)
    logs = {watcher.seat: watcher.log() for watcher in table.watchers}
    for follower, watcher in following:
        log = logs[watcher.seat]
        follower.next("game")
        assert follower.entries(log[-1]["id"]) == log
        assert follower.is_silent(0)
        follower.leave()


def calls(house: House) -> Counter[str]:
    """How often the store has been asked for logs (xrange), records (hmget) and versions (hget)."""
    told = house.redis.info("commandstats")
    names = ("xrange", "hmget", "hget")
    return Counter({name: told.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in names})


def test_an_event_is_read_once_in_each_worker_however_many_are_told(service, house, move):
    table = house.table("straight", deals=1000, hand_size=3)
    followers = []
    for number in range(STREAMS):
        watcher = table.watchers[number % 3]
        line = Line(service.url, f"/v1/games/{table.id}/events", watcher._headers({}))
        followers.append((Follower(line.read_head()), watcher))
    for follower, _ in followers:
        follower.next("game")
    move(table)  # once all have come, and each has read what there was then
    (entry,) = table.stranger.log(table.game().events - 1)
    for follower, _ in followers:
        assert follower.next("entry").id == entry["id"]
    before = calls(house)
    for _ in range(5):
        move(table)
    told = [[follower.next("entry").data for _ in range(5)] for follower, _ in followers]
    asked = calls(house) - before
    assert 5 <= asked["xrange"] <= 5 * 2, "two workers, each of which may have heard of all"
    for (follower, watcher), entries in zip(followers, told, strict=True):
        assert entries == watcher.log(entry["id"])
        follower.leave()


def test_who_waits_while_nothing_happens_asks_for_nothing(service, house):
    """But each worker asks for the version, each five seconds."""
    table = house.table("straight")
    version = table.game().version
    path, headers = f"/v1/games/{table.id}", {"Accept": "*/*", "If-None-Match": f'"{version}"'}
    lines = [Line(service.url, f"{path}?wait=60", headers) for _ in range(STREAMS)]
    lines += [Line(service.url, f"{path}/events") for _ in range(STREAMS)]
    until(lambda: len(held(service, ports(lines))) == 2 * STREAMS)
    until(lambda: is_waited_for(table))
    time.sleep(2)  # until each has read what there was when it came
    before = calls(house)
    time.sleep(11)
    asked = calls(house) - before
    assert asked["xrange"] == asked["hmget"] == 0
    assert 0 < asked["hget"] < STREAMS / 2, "and for those that the tests before have waited for"
    for line in lines:
        line.close()


def test_what_is_due_happens_once_however_many_wait_for_it_on_two_workers(service, house):
    """The shortest turn clock, and a computer that leaves people time for a call: real seconds."""
    forced = house.waiting("straight", 2, 2, more={"autostart": False}, turn_seconds=5)
    assert forced.players[0].post("start").status_code == 200
    called = house.position(
        "call-rummy",
        hands="KD QD 8C | 2S 3S 9H | TS 9S JD",
        pile="2C",
        melds="0: 8D 8H 8S",
    )
    game = called.game()
    seats = (game.seats[0], replace(game.seats[1], computer="steady", token_hash=None))
    seats = (*seats, game.seats[2])
    house.store.commit(replace(game, version=game.version + 1, seats=seats), ())
    assert called.players[0].play("discard 8C").status_code == 200
    assert called.game().match.deal.turn == 1
    tables = (forced, called)
    before = [table.game() for table in tables]
    followers = [
        [
            Follower(
                Line(service.url, f"/v1/games/{table.id}/events?after={game.events}").read_head()
            )
            for _ in range(STREAMS // 2)
        ]
        for table, game in zip(tables, before, strict=True)
    ]
    expected = (["drew", "discarded"], ["drew"])
    for table, game, all_of_them, types in zip(tables, before, followers, expected, strict=True):
        until(lambda table=table: is_waited_for(table, 2))
        log = []
        for follower in all_of_them:
            follower.next("game")
            log.append([follower.next("entry").data for _ in types])
            follower.leave()
        assert all(entries == log[0] for entries in log)
        assert [entry["event"]["type"] for entry in log[0]] == types
        assert {entry["forced"] for entry in log[0]} == {table is forced}
        assert {entry["version"] for entry in log[0]} == {game.version + 1}
        assert log[0] == table.stranger.log(game.events)[: len(types)]


# -------------------------------------------------------------------------- the slow, the dead


def with_a_long_log(house: House, entries: int) -> Table:
    """A match whose log is longer than any that is played."""
    table = house.table("straight")
    game = table.game()
    while game.events < entries:
        events = range(game.events + 1, game.events + 1001)
        game = replace(game, version=game.version + 1, events=game.events + 1000)
        drawn = Drew(0, "stock", "9C")
        house.store.commit(
            game, [Logged(number, game.version, game.changed_at, drawn) for number in events]
        )
    return table


def test_what_is_held_for_clients_that_take_nothing_is_bounded_and_they_are_given_up(
    service, house, move
):
    table = with_a_long_log(house, 6_000)
    other = house.table("straight", deals=1000, hand_size=3)
    before = memory(service)
    path = f"/v1/games/{table.id}/events?after=0"
    dead = [Line(service.url, path, buffer=4096) for _ in range(DEAD)]
    clients = ports(dead)
    until(lambda: sum(unsent > 0 for unsent in held(service, clients)) >= DEAD // 2)
    most, unsent = 0, held(service, clients)
    while unsent:
        assert len(unsent) <= DEAD
        most = max(most, *unsent)
        move(other)
        unsent = held(service, clients)
    assert 0 < most < 512 * 1024, "of more than a megabyte that each could be sent"
    assert memory(service) - before < DEAD * 1024 * 1024
    for line in dead:
        line.close()


def test_a_slow_client_that_takes_something_is_told_all(service, house):
    table = with_a_long_log(house, 2_000)
    line = Line(service.url, f"/v1/games/{table.id}/events?after=0", buffer=4096).read_head()
    reader, told = Reader(), 0
    for piece in line.pieces():
        for news in reader.feed(piece):
            if news.kind == "entry":
                told += 1
                assert news.id == told
        time.sleep(0.1)  # for each page: longer in all than is waited for one that takes nothing
        if told >= 2_000:
            break
    line.close()


def reset(line: Line) -> None:
    """Go away without a farewell."""
    line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line._file.close()
    line.socket.close()


@pytest.mark.parametrize("part", ["events", ""], ids=["streams", "polls"])
def test_clients_that_vanish_leave_nothing_behind(service, house, move, part):
    table = house.table("straight", deals=1000, hand_size=3)
    version = table.game().version
    path, known = f"/v1/games/{table.id}", {"If-None-Match": f'"{version}"', "Accept": "*/*"}
    lines = [
        Line(service.url, f"{path}/events?after=0")
        if part
        else Line(service.url, f"{path}?wait=60", known)
        for _ in range(DEAD * 2)
    ]
    clients = ports(lines)
    until(lambda: len(held(service, clients)) == DEAD * 2)
    until(lambda: is_waited_for(table))
    for number, line in enumerate(lines):
        if number % 2:
            reset(line)
        else:
            line.close()
    deadline = time.monotonic() + PATIENCE
    while held(service, clients):  # who is gone is found out by telling them something
        assert time.monotonic() < deadline
        move(table)


# --------------------------------------------------------------------------- a turn for each


def test_who_waits_for_the_store_is_not_passed_by_who_comes_again():
    slots = Slots(2)
    while slots._free > 1:
        slots.__enter__()  # one is left
    order: list[str] = []

    def come() -> None:
        with slots:
            order.append("who waited")

    for _ in range(20):
        order.clear()
        waiting = threading.Thread(target=come)
        with slots:
            waiting.start()
            until(lambda: bool(slots._waiting))
        with slots:
            order.append("who comes again")
        waiting.join()
        assert order == ["who waited", "who comes again"]


KILLED_WHILE_WAITING = """
from gevent import monkey
monkey.patch_all()
import gevent
from service.redis_server import Slots

slots = Slots(2)
served = []

def come(name, seconds):
    with slots:
        gevent.sleep(seconds)
        served.append(name)

first = [gevent.spawn(come, f"first {n}", 0.2) for n in range(2)]
gevent.sleep(0.01)
waiting = [gevent.spawn(come, n, 0) for n in range(6)]
gevent.sleep(0.01)
gevent.killall(waiting[1:3])              # while they wait
gevent.joinall(first)
waiting[3].kill(block=False)              # with the turn perhaps given already
gevent.joinall(waiting, timeout=5)
gevent.joinall([gevent.spawn(come, f"last {n}", 0.01) for n in range(2)], timeout=5)
print(slots._free, len(slots._waiting), *served, sep=",")
"""


def test_who_is_killed_while_waiting_for_the_store_takes_no_turn_away():
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_WAITING],
        cwd=serving.ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    free, waiting, *served = ended.stdout.strip().split(",")
    assert (free, waiting) == ("2", "0")
    assert Counter(served) - Counter(["3"]) == Counter(
        ["first 0", "first 1", "0", "4", "5", "last 0", "last 1"]
    )

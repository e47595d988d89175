"""Answers are lost after a change was stored, or before: the request, sent again, counts once.

A real gunicorn, and between it and its store a line that is cut at exactly the worst moment: when
the store has answered commits and nobody has been told. Then the workers are killed.
"""

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
import requests

from service.api import contract
from service.embedded import EmbeddedStore
from service.store import Mark, Unseen
from service.tokens import game_id_for, hash_of, new_game_id
from tests.contract import CheckedClient
from tests.http.tables import House, Player, QuickContract, Table, assert_no_card_is_lost
from tests.patience import until
from tests.serving import is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

ROOT = Path(__file__).parent.parent.parent
RUMMY = [sys.executable, "-c", "from service.cli import main; main(prog_name='rummy')"]
PATIENCE = 60.0
LOST = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
"""How a client notices that the worker has died, before the answer or in the middle of it."""

Moment = Literal["before", "after"]
Commit = tuple[str, int]
"""A game and its version after the commit."""

_COMMIT = re.compile(rb"EVALSHA\r\n.{40,400}?rummy:\{(\w+)\}:bell\r\n\$\d+\r\n(\d+)\r\n", re.DOTALL)
_STORED = b"*1\r\n$6\r\nstored\r\n"


class Line:
    """A line of TCP to the socket of a store, that can be cut.

    Armed, it waits for certain commits. `before`: they do not reach the store. `after`: the store
    has carried them out and has answered, and the answers go no further. When all of them are held
    like that `accident` happens, and then their connections are gone.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._lock = threading.Lock()
        self._moment: Moment = "after"
        self._awaited: set[Commit] = set()
        self._accident: Callable[[], None] = lambda: None
        self.happened = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def arm(self, moment: Moment, commits: Sequence[Commit], accident: Callable[[], None]) -> None:
        with self._lock:
            self.happened.clear()
            self._moment, self._awaited, self._accident = moment, set(commits), accident

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                store = socket.socket(socket.AF_UNIX)
                try:
                    store.connect(self._store)
                except OSError:
                    client.close()
                    continue
                asked: list[Commit] = []
                for carry in (self._carry_there, self._carry_back):
                    threading.Thread(target=carry, args=(client, store, asked), daemon=True).start()

    def _carry_there(
        self, client: socket.socket, store: socket.socket, asked: list[Commit]
    ) -> None:
        seen = b""
        with suppress(OSError):
            while piece := client.recv(65536):
                seen = seen[-500:] + piece
                if found := _COMMIT.search(seen):
                    seen = b""
                    asked[:] = [(found[1].decode(), int(found[2]))]
                    if self._is_cut("before", asked):
                        break
                store.sendall(piece)
        _hang_up(client, store)

    def _carry_back(self, client: socket.socket, store: socket.socket, asked: list[Commit]) -> None:
        seen = b""
        with suppress(OSError):
            while piece := store.recv(65536):
                seen = seen[-len(_STORED) :] + piece
                if _STORED in seen:
                    seen = b""
                    if self._is_cut("after", asked):
                        break
                client.sendall(piece)
        _hang_up(client, store)

    def _is_cut(self, moment: Moment, asked: list[Commit]) -> bool:
        with self._lock:
            if self._moment != moment or not self._awaited.intersection(asked):
                return False
            self._awaited.difference_update(asked)
            if not self._awaited:
                self._accident()
                self.happened.set()
        return self.happened.wait(PATIENCE)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Service:
    """`rummy serve` with two workers at the other end of the line."""

    def __init__(self, process: subprocess.Popen[str], line: Line, judge: QuickContract) -> None:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", greeting)
        assert found, greeting
        self.url = found.group()
        self.line = line
        self._master = process.pid
        self._judge = judge

    def kill_workers(self) -> None:
        for pid in self.workers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self._master}/task/{self._master}/children").read_text()
        return [int(pid) for pid in children.split()]

    def request(
        self, method: str, path: str, token: str | None = None, key: str = "", body: object = None
    ) -> requests.Response:
        """The answer, on a connection of its own; held against the contract."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if key:
            headers["Idempotency-Key"] = key
        sent = {} if body is None else {"json": body}
        with requests.Session() as session:
            client = CheckedClient(session, self._judge, self.url)
            return client.request(method, path, headers=headers, timeout=PATIENCE, **sent)

    def is_ready(self) -> bool:
        return self.request("GET", "/readyz").status_code == 200


@contextmanager
def serving(line: Line, judge: QuickContract) -> Iterator[Service]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RUMMY_")}
    environment["RUMMY_RATE_LIMITS"] = "false"  # the players here are faster than any others
    # Generous, so that nothing is given up because several commits are held until all are there.
    environment |= {"RUMMY_REDIS_URL": line.url, "RUMMY_REDIS_TIMEOUT_SECONDS": "30"}
    process = subprocess.Popen(
        [*RUMMY, "serve", "--port", "0", "--workers", "2"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield Service(process, line, judge)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedStore]:
    """A server of these tests' own, free to be killed; its socket's path has to be short."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as store:
        yield store


@pytest.fixture(scope="module")
def behind(valkey: EmbeddedStore) -> House:
    """The same games without the line: for setting the tables, and for looking at the store."""
    return House(valkey.url)


@pytest.fixture(scope="module")
def service(valkey: EmbeddedStore, behind: House) -> Iterator[Service]:
    line = Line(unquote(urlsplit(valkey.url).path))
    try:
        with serving(line, QuickContract(contract(behind.app))) as service:
            yield service
    finally:
        line.close()


class Wish(NamedTuple):
    """A request: where it goes, its body, token and key, and the kinds of events that it makes.

    `changes`: the game and the version that it makes. `cut`: the commit that meets the accident.
    `there`: whether the request is carried out by what is stored up to that commit.
    """

    path: str
    body: object
    token: str | None
    key: str
    made: list[str]
    changes: Commit
    cut: Commit
    there: bool = True

    def send(self, service: Service) -> requests.Response:
        return service.request("POST", self.path, self.token, self.key, self.body)

    def is_lost(self, service: Service) -> bool:
        """Whether the connection breaks without an answer."""
        try:
            self.send(service)
        except LOST:
            return True
        return False


def new_key() -> str:
    return f"a lost answer {time.monotonic_ns()}"


def at(table: Table, part: str, body: object, token: str | None, *made: str) -> Wish:
    commit = (table.id, table.game().version + 1)
    return Wish(f"/v1/games/{table.id}/{part}", body, token, new_key(), [*made], commit, commit)


def drawing(house: House) -> Wish:
    table = house.table("straight")
    return at(table, "draw", {"from": "stock"}, table.mover.token, "drew")


def a_turn(house: House) -> Wish:
    table = house.position(hands="5C 5D 5H KH QD | 2S 3S", pile="9D")
    body = {"plays": [{"move": "meld", "cards": ["5C", "5D", "5H"]}], "discard": "KH"}
    return at(table, "turn", body, table.players[0].token, "melded", "discarded")


def creating(house: House) -> Wish:
    body = {"variant": "straight", "name": "ada", "options": {"deals": 1}, "private": True}
    key = new_key()
    # The first half of an earlier attempt: it came to an id, and no further.
    commit = (house.store.id_for(Mark(hash_of(key), ""), new_game_id(secrets.token_bytes)), 1)
    return Wish("/v1/games", body, None, key, ["committed", "joined"], commit, commit)


def joining(house: House) -> Wish:
    table = house.waiting("straight", 2)
    return at(table, "join", {"name": "bo"}, None, "joined", "started", "dealer_drawn", "dealt")


def leaving(house: House) -> Wish:
    table = house.waiting("straight", 3, 3, more={"autostart": False})
    return at(table, "leave", None, table.players[1].token, "left")


def a_rematch(house: House, commit: int) -> Wish:
    """Cut at one of its commits: they make the table, take the seat and tell the old game."""
    table = house.position(hands="5C 5D 5H | 2S 3S")
    table.players[0].play("meld 5C 5D 5H")
    old = table.game()
    new = game_id_for(hash_of(table.players[0].token), f"rematch of {old.id}")
    commits = [(new, 1), (new, 2), (old.id, old.version + 1)]
    return at(table, "rematch", None, table.players[0].token, "joined")._replace(
        changes=(new, 2), cut=commits[commit], there=commit > 0
    )


WISHES: dict[str, Callable[[House], Wish]] = {
    "create": creating,
    "join": joining,
    "leave": leaving,
    "draw": drawing,
    "turn": a_turn,
    "rematch, making the table": lambda house: a_rematch(house, 0),
    "rematch, taking the seat": lambda house: a_rematch(house, 1),
    "rematch, telling the old game": lambda house: a_rematch(house, 2),
}


def wishes(house: House) -> list[Wish]:
    return [make(house) for make in WISHES.values()]


def lose_answers(
    service: Service, wishes: Sequence[Wish], moment: Moment, accident: Callable[[], None]
) -> None:
    """Send them all at once; none of them is answered, because of the accident."""
    service.line.arm(moment, [wish.cut for wish in wishes], accident)
    with ThreadPoolExecutor(len(wishes)) as threads:
        lost = list(threads.map(lambda wish: wish.is_lost(service), wishes))
    assert service.line.happened.is_set()
    assert lost == [True] * len(wishes)


def carried_out(house: House, commit: Commit) -> bool:
    game_id, version = commit
    (game,) = house.store.load_many([game_id])
    if isinstance(game, Unseen):
        return False
    assert game.version <= version
    return game.version == version


def assert_carried_out_once(service: Service, house: House, wish: Wish, answer: Any) -> None:
    """The answer tells what the wish makes, and the log has it once, at its end."""
    assert answer.status_code in {200, 201}, answer.text
    told = answer.json()
    assert (told["game"]["id"], told["version"]) == wish.changes
    assert [entry["event"]["type"] for entry in told["events"]] == wish.made
    assert carried_out(house, wish.changes)
    game = house.store.load(told["game"]["id"])
    log = log_of(house, game.id)
    assert log[-len(wish.made) :] == wish.made
    assert log.count(wish.made[-1]) == 1
    if "token" in told:
        assert game.seats[told["seat"]].token_hash == hash_of(told["token"])
        looked = service.request("GET", f"/v1/games/{game.id}", told["token"])
        assert looked.json()["you"] == told["seat"]
    if wish.path.endswith("rematch"):
        old = game.rematch_of
        assert house.store.load(old).rematch == game.id
        assert log_of(house, old).count("rematch") == 1


def log_of(house: House, game_id: str) -> list[str]:
    """The kinds of events of the game, which are numbered without gaps."""
    logged = house.store.events(game_id, 0, 10_000)
    assert [entry.number for entry in logged] == list(range(1, len(logged) + 1))
    assert len(logged) == house.store.load(game_id).events
    return [type(entry.event).__struct_config__.tag for entry in logged]


def is_replayed(answer: requests.Response) -> bool:
    return answer.headers.get("Idempotency-Replayed") == "true"


@pytest.mark.parametrize("trial", range(2))
def test_killed_between_commit_and_answer_the_retry_gives_one_change(service, behind, trial):
    sent = wishes(behind)
    killed = service.workers()
    lose_answers(service, sent, "after", service.kill_workers)
    assert all(carried_out(behind, wish.cut) for wish in sent)
    for wish in sent:
        assert carried_out(behind, wish.changes) == wish.there
        retried = wish.send(service)
        assert is_replayed(retried) == wish.there
        assert_carried_out_once(service, behind, wish, retried)
        once_more = wish.send(service)
        assert is_replayed(once_more)
        assert once_more.json() == retried.json()
    assert not set(killed) & set(service.workers())


def test_killed_before_the_store_has_the_commit_the_retry_carries_it_out(service, behind):
    sent = wishes(behind)
    lose_answers(service, sent, "before", service.kill_workers)
    assert not any(carried_out(behind, wish.cut) for wish in sent)
    for wish in sent:
        was_there = carried_out(behind, wish.changes)
        assert was_there == (wish.cut[0] != wish.changes[0])
        retried = wish.send(service)
        assert is_replayed(retried) == was_there
        assert_carried_out_once(service, behind, wish, retried)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_line_cut_at_a_commit_is_noticed_by_nobody(service, behind, moment):
    for wish in wishes(behind):
        service.line.arm(moment, [wish.cut], lambda: None)
        first = wish.send(service)
        assert service.line.happened.is_set()
        assert not is_replayed(first)
        assert_carried_out_once(service, behind, wish, first)
        repeat = wish.send(service)
        assert is_replayed(repeat)
        assert repeat.json() == first.json()


@pytest.mark.parametrize("workers", ["live", "die"])
def test_a_store_killed_after_the_commit_remembers_it_when_it_is_back(
    service, behind, valkey, workers
):
    sent = wishes(behind)
    killed = valkey.pid

    def accident() -> None:
        os.kill(killed, signal.SIGKILL)
        until(lambda: not is_alive(killed))
        if workers == "die":
            service.kill_workers()

    if workers == "die":
        lose_answers(service, sent, "after", accident)
    else:
        service.line.arm("after", [wish.cut for wish in sent], accident)
        with ThreadPoolExecutor(len(sent)) as threads:
            refused = list(threads.map(lambda wish: wish.send(service), sent))
        assert service.line.happened.is_set()
        assert {answer.status_code for answer in refused} <= {200, 201, 503}
    until(valkey.revive)
    until(service.is_ready)
    for wish in sent:
        retried = wish.send(service)
        assert is_replayed(retried) == wish.there
        assert_carried_out_once(service, behind, wish, retried)


def test_while_workers_are_killed_again_and_again_every_move_counts_once(service, behind):
    table = behind.table("straight", 3, deals=1000, hand_size=3)
    since = table.game().version
    over = threading.Event()

    def play(player: Player) -> list[int]:
        """The versions that the player's moves have made; each is sent until it is answered."""
        chance, versions = Random(player.seat), []
        path = f"/v1/games/{table.id}"
        while not over.is_set():
            moves = insist(lambda: service.request("GET", f"{path}/moves", player.token))["moves"]
            if not moves:
                time.sleep(0.02)
                continue
            move, key = chance.choice(moves), new_key()
            answer = insist(
                lambda move=move, key=key: service.request(
                    "POST", f"{path}/{move['move']}", player.token, key, move
                )
            )
            versions.append(answer["version"])
        return versions

    with ThreadPoolExecutor(len(table.players)) as threads:
        playing = [threads.submit(play, player) for player in table.players]
        try:
            for _ in range(2):
                version = table.game().version
                until(
                    lambda version=version: (
                        table.game().version > version + 5 or any(map(Future.done, playing))
                    )
                )
                service.kill_workers()
        finally:
            over.set()
        versions = [version for thread in playing for version in thread.result(PATIENCE)]
    assert sorted(versions) == list(range(since + 1, table.game().version + 1))
    assert_no_card_is_lost(table.game())
    log_of(behind, table.id)


def insist(request: Callable[[], requests.Response]) -> Any:
    """The answer in the end, whatever dies meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(*LOST):
            answer = request()
            assert answer.status_code == 200, answer.text
            return answer.json()
        assert time.monotonic() < deadline

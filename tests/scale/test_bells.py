"""Who waits for a game hears of changes wherever the game goes."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from redis.crc import key_slot

from service import watch
from service.servers import Servers
from service.store import Store
from service.watch import Bell, Watch
from tests.fleets import Fleet, Moving, Node, can_move_at_once, move_at_once
from tests.patience import until
from tests.scale.test_servers import persistently
from tests.test_store import EXPIRY, change, create, key

SILENCE = 60.0
"""A wait ends long before by a ring, or never in time."""


@pytest.fixture(autouse=True)
def long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", SILENCE)


class Reader(threading.Thread):
    """Follows a game as the service does it: reads, then waits for the bell, then reads again."""

    def __init__(self, servers: Servers, watching: Watch, game_id: str) -> None:
        super().__init__(daemon=True)
        self.version = 0
        self.listens = threading.Event()
        self.over = False
        self._store = Store(servers, EXPIRY)
        self._watch = watching
        self._id = game_id
        self.start()
        assert self.listens.wait(SILENCE)

    def reads(self, version: int) -> bool:
        """Whether it comes to that version, long before it would have looked by itself."""
        until(lambda: self.version == version, SILENCE / 2)
        return True

    def run(self) -> None:
        with self._watch.listen(self._id) as bell:
            while not self.over and not self._watch.stopping:
                self.version = persistently(lambda: self._store.load(self._id)).version
                self.listens.set()
                bell.wait(SILENCE)


@pytest.fixture
def watching(fleet: Fleet) -> Iterator[tuple[Servers, Watch]]:
    stopping = threading.Event()
    servers = Servers(fleet.url, 0.8)
    yield servers, Watch(servers, stopping.is_set)
    stopping.set()


def count_lines(node: Node) -> int:
    """How many subscribe there, besides the sentinels."""
    lines = node.ask("CLIENT", "LIST", "TYPE", "pubsub").decode().split("\n")
    return len([line for line in lines if line and "name=sentinel" not in line])


def test_all_games_are_heard_over_one_line_to_each_server(fleet, watching):
    store = Store(watching[0], EXPIRY)
    games = [create(store) for _ in range(24)]
    readers = [Reader(*watching, game.id) for game in games]
    for game in games:
        change(store, game)
    assert all(reader.reads(2) for reader in readers)
    lines = [count_lines(node) for node in fleet.primaries()]
    assert lines == [1] * len(lines)


@pytest.mark.parametrize("end", [Node.kill, Node.stall])
def test_after_a_failover_each_change_is_heard(fleet, watching, end):
    store = Store(Servers(fleet.url, 0.8), EXPIRY, replicas=1)
    games = [create(store) for _ in range(6)]
    readers = [Reader(*watching, game.id) for game in games]
    end(fleet.primary(key(games[0], "game")))
    store = Store(Servers(fleet.url, 0.8), EXPIRY)
    for version in (2, 3):
        games = [persistently(lambda game=game: change(store, game)) for game in games]
        until(
            lambda version=version: all(reader.version == version for reader in readers),
            SILENCE / 4,
        )


@pytest.mark.parametrize("fleet", ["nodes"], indirect=True)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_game_that_moves_is_heard_where_it_went(fleet, watching, at_once):
    if at_once and not can_move_at_once(fleet.nodes[0]):
        pytest.skip("this server cannot move slots at once")
    store = Store(Servers(fleet.url, 0.8), EXPIRY)
    game, other = create(store), create(store)
    reader, elsewhere = Reader(*watching, game.id), Reader(*watching, other.id)
    slot = key_slot(key(game, "game").encode())
    for _ in range(3):
        source = fleet.primary(key(game, "game"))
        if at_once:
            move_at_once(slot, source, fleet.other(source))
        else:
            Moving(slot, source, fleet.other(source)).finish()
        for _ in range(2):
            game = persistently(partial(change, store, game))
            assert reader.reads(game.version)
        other = change(store, other)
        assert elsewhere.reads(other.version)


def test_who_begins_to_listen_while_nobody_has_the_game_hears_of_it_later(fleet, watching):
    store = Store(Servers(fleet.url, 0.8), EXPIRY, replicas=1)
    game = create(store)
    gone = fleet.primary(key(game, "game"))
    replicas = fleet.replicas(gone)
    for node in (gone, *replicas):
        node.stall()
    rung = threading.Event()

    def wait(bell: Bell) -> None:
        bell.wait(SILENCE)
        rung.set()

    with watching[1].listen(game.id) as bell:
        threading.Thread(target=wait, args=(bell,), daemon=True).start()
        for node in (gone, *replicas):
            node.go_on()
        assert rung.wait(SILENCE / 2)

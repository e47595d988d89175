"""Who has which key, when it changes: found again within moments, or said to be unavailable."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import pytest
from redis.crc import key_slot

from service import metrics
from service.errors import NoSuchGame, StoreUnavailable
from service.game import Game, Joined, Remembered
from service.servers import Credentials, Servers
from service.store import Mark, Store
from tests.fleets import (
    Fleet,
    Moving,
    Node,
    can_move_at_once,
    free_ports,
    id_in_slot,
    move_at_once,
    sentinel_set,
)
from tests.patience import PATIENCE, until
from tests.test_store import EXPIRY, LATER, change, create, key, log, new_id, table

NOT_A_HANG = 4.0
"""Seconds; the aim is one, but the machines that run tests can be slow."""

Answer = TypeVar("Answer")


def missed_by_replicas() -> float:
    """How many changes the metrics say were on too few of them."""
    (errors,) = metrics.STORE_ERRORS.collect()
    return next(one.value for one in errors.samples if one.labels["error"] == "replicas")


def store_of(fleet: Fleet, replicas: int = 0) -> Store:
    return Store(Servers(fleet.url, 0.8), EXPIRY, replicas=replicas)


def is_unavailable(ask: Callable[[], object]) -> bool:
    """Whether the store says so, and soon; it may not say or do anything else but answer."""
    began = time.monotonic()
    try:
        ask()
    except StoreUnavailable:
        assert time.monotonic() - began < NOT_A_HANG
        return True
    return False


def persistently(ask: Callable[[], Answer]) -> Answer:
    """The answer, as somebody gets it who asks again as long as the store is unavailable."""
    answers: list[Answer] = []
    until(lambda: not is_unavailable(lambda: answers.append(ask())))
    return answers[0]


def game_at(store: Store, fleet: Fleet, node: Node) -> Game:
    """A new table that this one has."""
    while True:
        game = table()
        if fleet.primary(key(game, "game")) is node:
            store.commit(game, log(game, Joined(0, "Ada")))
            return game


def games_of_a_slot(store: Store, count: int) -> tuple[int, list[Game]]:
    """The number of a slot, and some tables that are in it."""
    slot = key_slot(new_id().encode())
    return slot, [create(store, id=id_in_slot(slot)) for _ in range(count)]


# ---------------------------------------------------------------------------------- the primary


@pytest.mark.parametrize("end", [Node.kill, Node.stall])
def test_when_a_primary_is_gone_another_takes_over_and_is_found(fleet, end):
    store, idle = store_of(fleet, replicas=1), store_of(fleet)
    game = create(store)
    idle.load(game.id)
    gone = fleet.primary(key(game, "game"))
    end(gone)
    assert persistently(lambda: store.load(game.id)) == game
    after = persistently(lambda: change(idle, game))
    assert store.load(game.id) == after
    assert [entry.number for entry in store.events(game.id, 0, 10)] == [1, 2]
    assert fleet.primary(key(game, "game")) is not gone


def test_a_primary_that_stood_still_while_it_was_replaced_is_not_asked_again(sentinels):
    store, idle = store_of(sentinels, replicas=1), store_of(sentinels)
    game = create(store)
    idle.load(game.id)
    stalled = sentinels.primary()
    stalled.stall()
    until(lambda: sentinels.primary() is not stalled)
    game = persistently(lambda: change(store_of(sentinels, replicas=1), game))
    stalled.go_on()
    assert idle.load(game.id) == game
    game = change(idle, game)
    sentinels.revive()
    assert store.load(game.id) == game


def test_one_that_is_stalled_holds_up_nobody_who_needs_another(nodes):
    store = store_of(nodes)
    stalled = nodes.primary()
    here = game_at(store, nodes, stalled)
    elsewhere = [game_at(store, nodes, node) for node in nodes.primaries() if node is not stalled]
    over = threading.Event()

    def ask_on(game: Game) -> list[bool]:
        refused = []
        while not over.is_set():
            refused.append(is_unavailable(lambda: store.load(game.id)))
        return refused

    with ThreadPoolExecutor(60) as threads:
        stalled.stall()
        waiting = [threads.submit(ask_on, here) for _ in range(50)]
        served = [threads.submit(ask_on, game) for game in elsewhere * 5]
        until(lambda: any(True for asking in waiting if asking.running()))
        store.condition()
        time.sleep(1.0)
        over.set()
        assert all(asking.result() for asking in waiting)
        for asking in served:
            assert len(asking.result()) > 20
            assert not any(asking.result())


def test_who_is_asked_where_the_games_are_may_be_stalled_too(nodes):
    game = create(store_of(nodes))
    needed = nodes.primary(key(game, "game"))
    stalled = [node for node in nodes.nodes if node is not needed][:2]
    for node in stalled:
        node.stall()
    for _ in range(5):
        assert persistently(lambda: store_of(nodes).load(game.id)) == game


def test_neither_a_dead_nor_a_stalled_sentinel_makes_requests_slow(sentinels):
    store = store_of(sentinels)
    game = create(store)
    for end in (Node.kill, Node.stall):
        end(sentinels.sentinels[0])
        sentinels.sentinels.append(sentinels.sentinels.pop(0))
        began = time.monotonic()
        for _ in range(200):
            assert store.load(game.id) == game
        assert time.monotonic() - began < NOT_A_HANG
    assert store_of(sentinels).load(game.id) == game


def test_without_any_sentinel_the_primary_that_was_known_is_used(sentinels, caplog):
    store = store_of(sentinels)
    game = create(store)
    for sentinel in sentinels.sentinels:
        sentinel.kill()
    time.sleep(1.2)  # what they have said is not good any more
    for _ in range(20):
        game = change(store, game)
    assert is_unavailable(lambda: store_of(sentinels).load(game.id))
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_each_node_is_asked_once_and_one_that_has_left_not_at_all(nodes):
    servers = Servers(nodes.url, 0.8)
    asked = servers._finder._informants
    for _ in range(3):
        servers.doubt(servers.places()[0])
        servers.look()
        time.sleep(0.15)  # they are not asked more often
    assert sorted(port for _, port in asked._hosts) == sorted(node.port for node in nodes.nodes)
    asked.know([("127.0.0.1", 1)])
    asked.know([("127.0.0.1", 2)])
    named = [node.port for node in nodes.nodes[:4]]
    assert sorted(port for _, port in asked._hosts) == [2, *sorted(named)]
    assert asked._servers.keys() <= set(asked._hosts)


@pytest.mark.parametrize("kind", ["sentinel", "cluster"])
def test_servers_can_be_named_before_they_are_there(kind):
    (port,) = free_ports(1)
    name = "/games" if kind == "sentinel" else ""
    store = Store(Servers(f"redis+{kind}://127.0.0.1:{port}{name}", 0.8), EXPIRY)
    assert is_unavailable(store.condition)
    assert is_unavailable(lambda: store.load(new_id()))


def test_a_cluster_is_not_taken_for_a_single_server(nodes, caplog):
    store = Store(Servers(f"redis://{nodes.nodes[0].host}", 0.8), EXPIRY)
    assert any(is_unavailable(lambda: create(store)) for _ in range(50))
    (warning,) = caplog.records
    assert "redis+cluster" in warning.message


def test_neither_is_a_server_for_a_sentinel_nor_for_a_node(redis_url, sentinels):
    primary = sentinels.primary()
    for url in (f"redis+sentinel://{primary.host}/games", f"redis+cluster://{primary.host}"):
        assert is_unavailable(lambda url=url: Store(Servers(url, 0.8), EXPIRY).condition())


def test_a_cluster_is_ready_as_long_as_one_of_its_servers_answers(nodes):
    store = store_of(nodes)
    store.condition()
    down = nodes.primaries()[:2]
    for node in down:
        node.kill()
    time.sleep(1.1)  # an answer of before counts for a second
    persistently(store.condition)


def test_the_keys_of_all_servers_are_found(fleet):
    store = store_of(fleet)
    games = [create(store) for _ in range(30)]
    found = {
        name for some in Servers(fleet.url, 0.8).keys("rummy:{*}:game", at_once=7) for name in some
    }
    assert found >= {key(game, "game") for game in games}


def test_after_a_failover_the_lobby_is_as_it_was(fleet):
    store = store_of(fleet, replicas=1)
    tables = [create(store, created_at=LATER - 60_000 + number) for number in range(6)]
    gone = fleet.primary("rummy:open")
    gone.kill()
    newest_first = tuple(reversed(tables))
    listed = persistently(lambda: store.open_tables(6, None, LATER)[0])
    assert listed == newest_first
    assert persistently(lambda: store.load_many([game.id for game in tables])) == tuple(tables)


# ------------------------------------------------------------------------------------- replicas


def test_without_its_replica_a_change_is_not_called_stored(fleet):
    store, lenient = store_of(fleet, replicas=1), store_of(fleet)
    game = create(store)
    mark = Mark("a" * 64, "b" * 64, "c" * 64)
    replicas = fleet.replicas(fleet.primary(key(game, "game")))
    for replica in replicas:
        replica.stall()
    remembered = Remembered(request=mark.request, version=2, first=1, last=0, seat=0, salt="")
    after = table(**{name: getattr(game, name) for name in ("id", "seats")}, version=2)
    before = missed_by_replicas()
    assert is_unavailable(lambda: store.commit(after, (), mark, remembered))
    assert missed_by_replicas() == before + 1
    assert lenient.load_marked(game.id, mark) == (after, remembered)
    assert is_unavailable(lambda: store.load_marked(game.id, mark))
    assert is_unavailable(lambda: store.commit(after, (), mark, remembered))
    for replica in replicas:
        replica.go_on()
    assert persistently(lambda: store.load_marked(game.id, mark)) == (after, remembered)


def test_one_replica_that_is_lost_is_missed_by_nobody_if_another_is_there(sentinels):
    store = store_of(sentinels, replicas=1)
    game = create(store)
    sentinels.replicas(sentinels.primary())[0].kill()
    for _ in range(20):
        game = change(store, game)
    assert store.load(game.id) == game


# ---------------------------------------------------------------------------------------- slots


def test_games_of_a_slot_that_is_being_moved_are_read_and_afterwards_played(nodes):
    store, other = store_of(nodes), store_of(nodes)
    slot, (moved, torn, still) = games_of_a_slot(store, 3)
    source = nodes.primary(key(still, "game"))
    moving = Moving(slot, source, nodes.other(source))
    moving.move(key(moved, "game"), key(moved, "events"))
    moving.move(key(torn, "events"))
    for game in (moved, torn, still):
        for _ in range(2):
            assert other.load(game.id) == game
            assert other.read(game.id, 0, 10) == (game, log(game, Joined(0, "Ada")))
            assert other.events(game.id, 0, 10) == log(game, Joined(0, "Ada"))
    games = (moved, torn, still)
    assert other.load_many([game.id for game in games]) == games
    with pytest.raises(NoSuchGame):
        other.load(id_in_slot(slot))
    assert is_unavailable(lambda: change(other, still))  # its keys could be torn apart
    moving.finish()
    for game in games:
        assert store.load(game.id) == game
        after = persistently(lambda game=game: change(other, game))
        assert store.load(game.id) == after
    nodes.settle()


@pytest.mark.parametrize("at_once", [True, False])
def test_who_plays_while_the_slot_of_the_game_is_moved_loses_nothing(nodes, at_once):
    if at_once and not can_move_at_once(nodes.nodes[0]):
        pytest.skip("this server cannot move slots at once")
    store = store_of(nodes)
    slot, games = games_of_a_slot(store, 4)
    over = threading.Event()

    def play(game: Game) -> Game:
        while not over.is_set():
            game = persistently(partial(change, store, game))
        return game

    source = nodes.primary(key(games[0], "game"))
    target = nodes.other(source)
    with ThreadPoolExecutor(4) as threads:
        playing = [threads.submit(play, game) for game in games]
        time.sleep(0.2)
        for _ in range(2):
            if at_once:
                move_at_once(slot, source, target)
            else:
                Moving(slot, source, target).finish()
            source, target = target, source
            time.sleep(0.3)
        over.set()
        for played in playing:
            game = played.result(PATIENCE)
            assert store.load(game.id) == game
            numbers = [entry.number for entry in store.events(game.id, 0, 100_000)]
            assert numbers == list(range(1, game.events + 1))
            assert len(numbers) > 10


# ------------------------------------------------------------------------------------ passwords


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Servers and sentinels that want passwords, and not the same."""
    directory = tmp_path_factory.mktemp("guarded")
    with sentinel_set(directory, 1, password="pá:ss@1", sentinel_password="word:2") as fleet:
        yield fleet


def test_passwords_come_by_url_or_beside_it(guarded):
    hosts = guarded.url.partition("://")[2]
    by_url = Servers(
        f"redis+sentinel://:p%C3%A1%3Ass%401@{hosts}",
        0.8,
        Credentials(sentinel_password="word:2"),
    )
    beside = Servers(
        guarded.url,
        0.8,
        Credentials("default", "pá:ss@1", "default", "word:2"),
    )
    game = create(Store(by_url, EXPIRY))
    assert Store(beside, EXPIRY).load(game.id) == game


@pytest.mark.parametrize(
    "credentials",
    [
        Credentials(password="pá:ss@1"),
        Credentials(password="wrong", sentinel_password="word:2"),
        Credentials(password="pá:ss@1", sentinel_password="wrong"),
    ],
)
def test_a_wrong_password_is_an_outage_and_told_to_nobody(guarded, credentials, caplog):
    servers = Servers(guarded.url, 0.8, credentials)
    with pytest.raises(StoreUnavailable) as refusal:
        Store(servers, EXPIRY).condition()
    told = [str(refusal.value), *(record.getMessage() for record in caplog.records)]
    for secret in ("pá:ss@1", "word:2", "wrong"):
        assert not any(secret in text for text in told)

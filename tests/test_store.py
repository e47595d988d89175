"""The store, against real servers: one commit wins, a repeat is one commit, an outage is told."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from msgspec.structs import replace
from redis.cluster import RedisCluster

from service.embedded import EmbeddedStore, find_binary
from service.errors import BadCursor, NoSuchGame, StoreUnavailable, UnreadableRecord
from service.game import Event, Game, Joined, Logged, Seat, Started
from service.rummy import rules
from service.rummy.model import DealEnded, DealResult, Drew, Match, MatchResult
from service.servers import Servers
from service.store import Expiry, LostRace, Store
from tests.fleets import free_ports, raw_client
from tests.patience import until

EXPIRY = Expiry(unstarted_seconds=1_000, running_seconds=20_000, finished_seconds=300_000)
NOW = 1_790_000_000_000
LATER = NOW + 120_000
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def new_id() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(16))


def table(**fields) -> Game:
    """A public table for two, as made by its host."""
    made: dict = {
        "id": new_id(),
        "version": 1,
        "created_at": NOW,
        "changed_at": NOW,
        "variant": "straight",
        "chosen": {},
        "seats": (Seat("Ada", "0" * 64),),
        "size": 2,
        "public": True,
        "autostart": True,
        "events": 1,
    }
    return Game(**made | fields)


def log(game: Game, *events: Event) -> tuple[Logged, ...]:
    """These events as the last ones of the game's log."""
    first = game.events - len(events) + 1
    return tuple(
        Logged(number, game.version, game.changed_at, event)
        for number, event in enumerate(events, first)
    )


def create(store: Store, **fields) -> Game:
    game = table(**fields)
    store.commit(game, log(game, Joined(0, "Ada")))
    return game


def change(store: Store, game: Game, *events: Event, **fields) -> Game:
    """Commit the next version of the game; without events, a card is drawn."""
    events = events or (Drew(0, "stock", "AS"),)
    after = replace(game, version=game.version + 1, events=game.events + len(events), **fields)
    store.commit(after, log(after, *events))
    return after


def start(store: Store, game: Game) -> Game:
    return change(store, game, Started(2), match=match())


def match(result: MatchResult | None = None) -> Match:
    agreed = rules.agree("straight", 2, {"deals": 1})
    return Match(rules=agreed, seed="7", totals=(0, 0), result=result)


FINISHED = match(MatchResult(reason="deals_played", winners=(0,), tie=False, totals=(10, 0)))


def deal_result(number: int) -> DealResult:
    return DealResult(
        number=number,
        dealer=0,
        reason="went_out",
        how="discard",
        winner=1,
        hands=(("KS", "KD"), ()),
        counts=(20, 0),
        scores=(0, 20),
        totals=(0, 20 * number),
        turns=9,
    )


def server_or_skip(name: str, directory: Path) -> EmbeddedStore:
    if name == "valkey":
        return EmbeddedStore(directory)
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed")
    return EmbeddedStore(directory, binary=Path(binary))


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedStore]:
    """A server of the test's own: empty, and free to be stopped."""
    with server_or_skip(request.param, tmp_path) as started:
        yield started


@pytest.fixture
def own(server: EmbeddedStore) -> Store:
    return Store(Servers(server.url, 0.8), EXPIRY)


@pytest.fixture
def raw(each_redis_url: str) -> Iterator[redis.Redis]:
    with raw_client(each_redis_url) as client:
        yield client


@pytest.fixture
def empty(raw: redis.Redis, store: Store) -> Store:
    """Without any open tables."""
    raw.delete("rummy:open")
    return store


@pytest.fixture
def store(each_redis_url: str) -> Store:
    return Store(Servers(each_redis_url, 0.8), EXPIRY)


def key(game: Game, part: str) -> str:
    return f"rummy:{{{game.id}}}:{part}"


# ------------------------------------------------------------------------------------- records


def test_what_was_committed_is_loaded(store):
    game = create(store)
    assert store.load(game.id) == game
    after = change(store, game)
    assert store.load(game.id) == after


def test_a_game_that_was_never_made_is_not_found(store):
    with pytest.raises(NoSuchGame):
        store.load(new_id())


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "a" * 15,
        "a" * 17,
        "A" * 16,
        "a" * 15 + "1",
        "{" + "a" * 15,
        "a" * 16 + "\n",
        "*" * 16,
        "ä" * 16,
        "\ud800" * 16,
        "\0" * 16,
    ],
)
def test_what_cannot_be_an_id_is_not_found(store, garbage):
    for look in (
        lambda: store.load(garbage),
        lambda: store.events(garbage, 0, 10),
        lambda: store.results(garbage, 0, 10),
        lambda: store.commit(table(id=garbage), ()),
    ):
        with pytest.raises(NoSuchGame):
            look()


def test_a_game_cannot_be_made_twice(store):
    game = create(store)
    with pytest.raises(LostRace) as lost:
        store.commit(replace(game, size=4), log(game, Joined(0, "Eve")))
    assert lost.value.current == game
    assert store.load(game.id) == game
    assert store.events(game.id, 0, 10) == log(game, Joined(0, "Ada"))


@pytest.mark.parametrize("version", [1, 2, 4, 9])
def test_only_the_next_version_is_accepted(store, version):
    game = change(store, create(store))
    with pytest.raises(LostRace) as lost:
        store.commit(replace(game, version=version), ())
    assert lost.value.current == game
    assert store.load(game.id) == game


def test_of_32_commits_at_once_one_wins_and_the_others_are_handed_its_game(store):
    game = create(store, public=False)
    together = threading.Barrier(32)

    def save(name: str) -> Game | LostRace:
        after = replace(game, version=2, events=2, seats=(*game.seats, Seat(name, "1" * 64)))
        together.wait()
        try:
            store.commit(after, log(after, Joined(1, name)))
        except LostRace as lost:
            return lost
        return after

    with ThreadPoolExecutor(32) as threads:
        outcomes = list(threads.map(save, [f"Bob {number}" for number in range(32)]))
    (winner,) = [outcome for outcome in outcomes if isinstance(outcome, Game)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, LostRace)]
    assert len(lost) == 31
    assert all(race.current == winner for race in lost)
    assert store.load(game.id) == winner
    assert [entry.event for entry in store.events(game.id, 1, 10)] == [
        Joined(1, winner.seats[1].name)
    ]


def test_a_game_that_expired_meanwhile_does_not_come_back(store, raw):
    game = create(store)
    raw.delete(*(key(game, part) for part in ("game", "events", "deals")))
    with pytest.raises(NoSuchGame):
        change(store, game)
    assert not raw.exists(*(key(game, part) for part in ("game", "events", "deals")))


@pytest.mark.parametrize(
    "record", [b"", b"\x00\xff", b"{}", b'{"format":999,"game":{}}', b"[" * 10_000]
)
def test_a_record_that_cannot_be_read_is_refused(store, raw, record):
    game = create(store)
    raw.hset(key(game, "game"), "record", record)
    with pytest.raises(UnreadableRecord):
        store.load(game.id)


def test_a_record_of_an_unknown_format_is_refused_and_stays_as_it_is(store, raw):
    game = create(store)
    known = raw.hget(key(game, "game"), "record")
    unknown = known.replace(b'"format":3', b'"format":999')
    assert unknown != known
    raw.hset(key(game, "game"), "record", unknown)
    with pytest.raises(UnreadableRecord):
        store.load(game.id)
    with pytest.raises(UnreadableRecord):
        store.commit(game, ())
    assert raw.hget(key(game, "game"), "record") == unknown


def test_the_record_does_not_grow_with_the_log(store, raw):
    game = create(store)
    sizes = []
    for number in range(1, 91):
        game = change(store, game, *[Drew(0, "stock", "AS")] * 3, DealEnded(deal_result(number)))
        sizes.append(sum(map(len, raw.hvals(key(game, "game")))))
    assert game.events == raw.xlen(key(game, "events")) == 361
    assert sizes[30] == sizes[-1]


# --------------------------------------------------------------------------------- log, results


def test_the_log_is_read_in_pages_without_a_gap(store):
    game = create(store)
    for count in (1, 3, 2, 5):
        game = change(store, game, *[Drew(0, "stock", "AS")] * count)
    pages = [store.events(game.id, after, 5) for after in (0, 5, 10, 12, 2**70)]
    assert [[entry.number for entry in page] for page in pages] == [
        [1, 2, 3, 4, 5],
        [6, 7, 8, 9, 10],
        [11, 12],
        [],
        [],
    ]
    assert [entry.version for entry in (*pages[0], *pages[1])] == [1, 2, 3, 3, 3, 4, 4, 5, 5, 5]


def test_an_event_comes_back_as_it_was_logged(store):
    events = (Joined(1, "Zoë 🂡"), Drew(1, "stock", "TD"), DealEnded(deal_result(1)))
    game = change(store, create(store), *events, changed_at=NOW + 77)
    assert store.events(game.id, 1, 10) == log(game, *events)


def test_the_results_of_the_deals_are_kept_in_order(store):
    game = create(store)
    assert store.results(game.id, 0, 10) == ()
    game = change(store, game, DealEnded(deal_result(1)), Drew(0, "stock", "AS"))
    game = change(store, game)
    game = change(store, game, DealEnded(deal_result(2)))
    assert store.results(game.id, 0, 10) == (deal_result(1), deal_result(2))
    assert store.results(game.id, 0, 1) == (deal_result(1),)
    assert store.results(game.id, 1, 1) == (deal_result(2),)
    assert store.results(game.id, 2, 1) == ()


def test_each_commit_rings_the_bell_with_the_version(store, raw):
    game = create(store)
    with raw.pubsub(ignore_subscribe_messages=True) as bell:
        if isinstance(raw, RedisCluster):
            bell.ssubscribe(key(game, "bell"))
            hear = bell.get_sharded_message
        else:
            bell.subscribe(key(game, "bell"))
            hear = bell.get_message
        assert hear(timeout=5) is None  # the subscription itself
        change(store, game)
        with pytest.raises(LostRace):
            change(store, game)
        message = hear(timeout=5)
        assert message is not None
        assert message["data"] == b"2"
        assert hear(timeout=0.05) is None


# -------------------------------------------------------------------------------------- expiry


@pytest.mark.parametrize(
    ("state", "seconds"),
    [
        (None, EXPIRY.unstarted_seconds),
        (match(), EXPIRY.running_seconds),
        (FINISHED, EXPIRY.finished_seconds),
    ],
    ids=["waiting", "playing", "finished"],
)
def test_every_commit_sets_the_expiry_of_all_keys_by_the_status(store, raw, state, seconds):
    game = change(store, create(store), DealEnded(deal_result(1)))
    keys = [key(game, part) for part in ("game", "events", "deals")]
    for name in keys:
        raw.persist(name)
    game = change(store, game, match=state, changed_at=NOW + 5)
    for name in keys:
        assert seconds - 60 < raw.ttl(name) <= seconds
    # Servers differ in whether the time stands still in a script: the game is the first to go.
    assert raw.pexpiretime(keys[0]) == min(raw.pexpiretime(name) for name in keys)
    assert store.expires_at(game) == NOW + 5 + 1000 * seconds


def test_no_key_of_a_game_is_left_without_expiry(store, raw):
    game = change(store, create(store), DealEnded(deal_result(1)))
    keys = list(raw.scan_iter(f"rummy:{{{game.id}}}:*"))
    assert len(keys) == 3
    assert all(raw.ttl(name) > 0 for name in keys)


# -------------------------------------------------------------------------------- lost answers


class Cutter:
    """A proxy before a server: it cuts the next `cuts` connections that bring a commit.

    It does so when the server has answered, before the client hears of it, and calls `meanwhile`.
    """

    def __init__(self, upstream: str, path: Path) -> None:
        self.url = f"unix://{path}"
        self.cuts = 0
        self.commits = 0
        self.requests = 0
        self.meanwhile: Callable[[], None] = lambda: None
        self._upstream = redis.connection.parse_url(upstream)["path"]
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._upstream)
            while request := client.recv(1 << 20):
                self.requests += 1
                server.sendall(request)
                answer = server.recv(1 << 20)
                if b"EVAL" in request and b"-NOSCRIPT" not in answer:
                    self.commits += 1
                    if self.cuts:
                        self.cuts -= 1
                        self.meanwhile()
                        return
                client.sendall(answer)


@pytest.fixture
def cutter(server: EmbeddedStore, tmp_path: Path) -> Iterator[Cutter]:
    proxy = Cutter(server.url, tmp_path / "cutter")
    yield proxy
    proxy.close()


def test_a_commit_whose_answer_was_lost_is_one_commit_and_a_success(own, cutter):
    game = create(own, public=False)
    cutter.cuts = 1
    after = change(Store(Servers(cutter.url, 0.8), EXPIRY), game, Drew(0, "stock", "AS"))
    assert cutter.commits == 2
    assert own.load(game.id) == after
    assert own.events(game.id, 1, 10) == log(after, Drew(0, "stock", "AS"))


def test_so_is_the_making_of_a_public_table(own, cutter):
    cutter.cuts = 2
    game = create(Store(Servers(cutter.url, 0.8), EXPIRY))
    assert cutter.commits == 3
    assert own.open_tables(10, None, LATER) == ((game,), None)
    assert own.events(game.id, 0, 10) == log(game, Joined(0, "Ada"))


def test_so_is_a_commit_that_others_have_built_upon_before_it_was_repeated(own, cutter):
    game = create(own)

    def others_go_on() -> None:
        current = own.load(game.id)
        for _ in range(15):
            current = change(own, current)

    cutter.cuts, cutter.meanwhile = 1, others_go_on
    change(Store(Servers(cutter.url, 0.8), EXPIRY), game, DealEnded(deal_result(1)))
    assert own.load(game.id).version == 17
    assert own.results(game.id, 0, 10) == (deal_result(1),)
    assert [entry.number for entry in own.events(game.id, 0, 100)] == list(range(1, 18))


def test_a_commit_that_is_cut_off_each_time_is_told_as_an_outage_and_stored_once(own, cutter):
    game = create(own)
    cutter.cuts = 99
    with pytest.raises(StoreUnavailable):
        change(Store(Servers(cutter.url, 0.8), EXPIRY), game)
    assert own.load(game.id).version == 2
    assert own.events(game.id, 0, 10)[-1].number == 2


# ------------------------------------------------------------------------------------- outages


NOT_A_HANG = 3.0
"""Seconds; the aim is one, but the machines that run tests can be slow."""


def assert_everything_is_refused_soon(store: Store, game: Game) -> None:
    for ask in (
        lambda: store.load(game.id),
        lambda: change(store, game),
        lambda: create(store),
        lambda: store.events(game.id, 0, 10),
        lambda: store.results(game.id, 0, 10),
        lambda: store.open_tables(10, None, LATER),
        store.condition,  # which asks nobody as long as somebody has just been answered
    ):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            ask()
        assert time.monotonic() - began < NOT_A_HANG


def test_a_store_can_be_made_before_its_server(tmp_path):
    server = EmbeddedStore(tmp_path)
    url = f"unix://{tmp_path}/valkey.sock"
    store = Store(Servers(url, 0.8), EXPIRY)
    with pytest.raises(StoreUnavailable):
        store.condition()
    with server:
        assert server.url == url
        store.condition()


def test_a_stopped_server_is_an_outage_that_ends_with_its_start(server, own):
    game = create(own)
    server.stop()
    assert_everything_is_refused_soon(own, game)
    server.start()
    assert own.load(game.id) == game
    assert change(own, game) == own.load(game.id)


def test_a_restart_between_two_requests_goes_unnoticed(server, own):
    game = create(own)
    server.kill()
    server.start()
    game = change(own, game)
    server.stop()
    server.start()
    assert own.load(game.id) == game


def test_a_stalled_server_is_an_outage_that_ends_when_it_goes_on(server):
    own = Store(Servers(server.url, 0.2), EXPIRY)
    game = create(own, public=False)
    other = create(own, public=False)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        assert_everything_is_refused_soon(own, game)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    # What timed out may have been stored, once, and no answer is taken for another's.
    assert own.load(game.id).version in (1, 2)
    assert own.load(other.id) == other
    assert len(own.events(game.id, 0, 10)) == own.load(game.id).version


def test_a_crowd_is_refused_together_by_a_stalled_server(server):
    own = Store(Servers(server.url, 0.3), EXPIRY)
    game = create(own)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with ThreadPoolExecutor(300) as threads:
            asked = [threads.submit(own.load, game.id) for _ in range(300)]
            errors = [answer.exception() for answer in asked]
        assert time.monotonic() - began < NOT_A_HANG
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert all(isinstance(error, StoreUnavailable) for error in errors)
    assert own.load(game.id) == game


def test_a_crowd_is_served_with_few_connections(server, own):
    game = create(own)
    with ThreadPoolExecutor(300) as threads:
        loaded = list(threads.map(own.load, [game.id] * 3000))
    assert loaded == [game] * 3000
    with redis.Redis.from_url(server.url) as raw:
        assert raw.info("clients")["connected_clients"] <= 33


@pytest.mark.parametrize(
    ("trouble", "end"),
    [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ],
    ids=["out of memory", "no replicas", "read only"],
)
def test_a_server_that_refuses_to_write_is_an_outage_and_nothing_is_half_stored(
    server, own, trouble, end
):
    game = create(own)
    with redis.Redis.from_url(server.url) as raw:
        raw.execute_command(*trouble.split())
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                change(own, game)
            with pytest.raises(StoreUnavailable):
                create(own)
        assert own.load(game.id) == game
        assert len(own.events(game.id, 0, 10)) == 1
        raw.execute_command(*end.split())
    change(own, game)
    create(own)


def test_while_a_server_refuses_to_write_a_crowd_is_answered_what_it_asks(server, own):
    """Nobody who waits for a connection is refused because a change was."""
    game = create(own)
    with redis.Redis.from_url(server.url) as raw:
        raw.config_set("min-replicas-to-write", 1)

        def come(number: int) -> bool:
            if number % 2:
                return own.load(game.id) == game
            with pytest.raises(StoreUnavailable):
                change(own, game)
            return True

        with ThreadPoolExecutor(200) as threads:
            assert all(threads.map(come, range(1000)))


def test_a_server_busy_with_a_script_is_an_outage(server, own):
    game = create(own)
    with redis.Redis.from_url(server.url) as raw:
        raw.config_set("lua-time-limit", 1)
        endless = threading.Thread(target=run_endless_script, args=(server.url,))
        endless.start()
        try:
            until(lambda: not answers(raw))
            assert_everything_is_refused_soon(own, game)
        finally:
            raw.script_kill()
            endless.join()
    assert own.load(game.id) == game


def run_endless_script(url: str) -> None:
    with redis.Redis.from_url(url) as raw, pytest.raises(redis.ResponseError):
        raw.eval("while true do end", 0)


def test_a_mistake_of_ours_is_not_taken_for_an_outage(store, raw):
    game = create(store)
    raw.set(key(game, "game"), "not a hash")
    for ask in (lambda: store.load(game.id), lambda: change(store, game)):
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            ask()


def test_no_card_is_in_the_text_of_an_error(store, raw):
    game = create(store)
    raw.set(key(game, "game"), "not a hash")
    with pytest.raises(redis.ResponseError) as error:
        change(store, game, Drew(0, "stock", "QD"))
    assert "QD" not in str(error.value)


def test_a_server_that_has_forgotten_the_script_is_given_it_again(store, raw):
    game = create(store)
    raw.script_flush()
    game = change(store, game)
    assert store.load(game.id) == game


# ---------------------------------------------------------------------------------- round trips


def test_a_load_and_a_commit_take_one_round_trip_each(own, cutter):
    store = Store(Servers(cutter.url, 0.8), EXPIRY)
    game = create(own)
    store.load(game.id)
    for ask in (
        lambda: store.load(game.id),
        lambda: change(store, game),
        lambda: create(store),
        lambda: store.events(game.id, 0, 10),
    ):
        before = cutter.requests
        ask()
        assert cutter.requests == before + 1
    before = cutter.requests
    with pytest.raises(LostRace):
        change(store, game)
    assert cutter.requests == before + 1


# ---------------------------------------------------------------------------------- open tables


def ids(games: tuple[Game, ...]) -> list[str]:
    return [game.id for game in games]


def all_pages(store: Store, limit: int) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        games, cursor = store.open_tables(limit, cursor, LATER)
        pages.append(ids(games))
        if cursor is None:
            return pages


def test_without_tables_the_list_is_empty(empty):
    assert empty.open_tables(5, None, LATER) == ((), None)


def test_open_tables_are_listed_in_pages_the_newest_first(empty):
    tables = [create(empty, created_at=NOW + number) for number in range(7)]
    newest_first = ids(tuple(reversed(tables)))
    assert all_pages(empty, 3) == [newest_first[:3], newest_first[3:6], newest_first[6:]]
    assert all_pages(empty, 7) == [newest_first]


def test_tables_made_in_the_same_millisecond_are_all_listed_once(empty):
    tables = [create(empty) for _ in range(9)]
    pages = all_pages(empty, 2)
    assert [len(page) for page in pages] == [2, 2, 2, 2, 1]
    assert sorted(game_id for page in pages for game_id in page) == sorted(ids(tuple(tables)))


def test_the_cursor_stays_good_when_tables_come_and_go(empty):
    tables = [create(empty, created_at=NOW + number) for number in range(6)]
    _, cursor = empty.open_tables(2, None, LATER)
    create(empty, created_at=NOW + 100)
    start(empty, tables[4])  # the one that the cursor was made of
    start(empty, tables[3])
    games, cursor = empty.open_tables(2, cursor, LATER)
    assert ids(games) == [tables[2].id, tables[1].id]
    games, cursor = empty.open_tables(2, cursor, LATER)
    assert (ids(games), cursor) == ([tables[0].id], None)


@pytest.mark.parametrize(
    "cursor", ["", "x", "+", "-", "[a", "1" * 13 + "A" * 16, "1" * 13 + "a" * 16 + "\n"]
)
def test_what_is_no_cursor_is_refused(empty, cursor):
    with pytest.raises(BadCursor):
        empty.open_tables(5, cursor, LATER)


def test_private_full_and_running_tables_are_not_listed(empty):
    create(empty, public=False)
    start(empty, create(empty))
    start(empty, create(empty, public=False))
    full = create(empty, autostart=False)
    guest = Seat("Bob", "1" * 64)
    change(empty, full, Joined(1, "Bob"), seats=(*full.seats, guest))
    three = create(empty, size=3)
    three = change(empty, three, Joined(1, "Bob"), seats=(*three.seats, guest))
    assert empty.open_tables(10, None, LATER) == ((three,), None)


def test_a_table_that_lost_its_guest_is_listed_again(empty):
    game = create(empty, autostart=False)
    full = change(empty, game, seats=(*game.seats, Seat("Bob", "1" * 64)))
    assert empty.open_tables(10, None, LATER) == ((), None)
    again = change(empty, full, seats=game.seats)
    assert empty.open_tables(10, None, LATER) == ((again,), None)


def entry(game: Game) -> str:
    return f"{game.created_at:013}{game.id}"


def test_entries_of_games_that_began_or_are_gone_are_passed_over_and_removed(raw, empty):
    waiting = create(empty, created_at=NOW - 1)
    started, gone = start(empty, create(empty)), create(empty)
    raw.zadd("rummy:open", {entry(started): 0})  # as if the process had died before removing it
    raw.delete(key(gone, "game"))
    assert raw.zcard("rummy:open") == 3
    assert empty.open_tables(2, None, LATER) == ((waiting,), None)
    assert raw.zrange("rummy:open", 0, -1) == [entry(waiting).encode()]


def test_the_list_can_be_read_while_entries_cannot_be_removed(server, own):
    with redis.Redis.from_url(server.url) as raw:
        waiting, gone = create(own, created_at=NOW - 1), create(own)
        raw.delete(key(gone, "game"))
        raw.config_set("min-replicas-to-write", 1)
        assert own.open_tables(2, None, LATER) == ((waiting,), None)
        assert raw.zcard("rummy:open") == 2
        raw.config_set("min-replicas-to-write", 0)
        assert own.open_tables(2, None, LATER) == ((waiting,), None)
        assert raw.zcard("rummy:open") == 1


def test_the_entry_of_a_table_that_is_just_being_made_is_left_alone(raw, empty):
    coming = table(created_at=LATER)
    raw.zadd("rummy:open", {entry(coming): 0})
    assert empty.open_tables(5, None, LATER) == ((), None)
    empty.commit(coming, log(coming, Joined(0, "Ada")))
    assert empty.open_tables(5, None, LATER) == ((coming,), None)


def test_a_record_of_another_version_of_the_service_does_not_spoil_the_list(raw, empty):
    other, game = create(empty), create(empty)
    raw.hset(key(other, "game"), "record", b'{"format":999}')
    assert empty.open_tables(5, None, LATER) == ((game,), None)
    assert raw.zcard("rummy:open") == 2


def test_a_page_is_full_however_many_entries_before_it_are_stale(raw, empty):
    old = [create(empty, created_at=NOW - 100 + number) for number in range(5)]
    raw.zadd("rummy:open", {entry(table()): 0 for _ in range(500)})
    games, cursor = empty.open_tables(3, None, LATER)
    assert ids(games) == [old[4].id, old[3].id, old[2].id]
    assert ids(empty.open_tables(3, cursor, LATER)[0]) == [old[1].id, old[0].id]
    assert raw.zcard("rummy:open") == 5


def test_the_index_forgets_tables_that_nobody_ever_lists(raw, empty):
    create(empty, created_at=NOW - 30 * EXPIRY.unstarted_seconds * 1000)
    game = create(empty)
    assert raw.zrange("rummy:open", 0, -1) == [entry(game).encode()]


def test_a_page_ends_where_it_has_looked_at_enough_and_the_next_goes_on(raw, empty):
    wanted = create(empty, variant="parlett", created_at=NOW)
    for later in range(1, 1_300):
        game = table(created_at=NOW + later)
        empty.commit(game, log(game, Joined(0, "Ada")))

    def is_parlett(game: Game) -> bool:
        return game.variant == "parlett"

    found, cursor = empty.open_tables(10, None, LATER, is_parlett)
    assert (found, cursor is None) == ((), False)
    assert empty.open_tables(10, cursor, LATER, is_parlett) == ((wanted,), None)


def test_a_lost_race_does_not_take_a_table_out_of_the_list(empty):
    game = create(empty, size=3)
    joined = change(empty, game, seats=(*game.seats, Seat("Bob", "1" * 64)))
    with pytest.raises(LostRace):
        start(empty, game)
    assert empty.open_tables(5, None, LATER) == ((joined,), None)


# ------------------------------------------------------------------------------------- cluster


@pytest.fixture(params=["valkey", "redis"])
def cluster_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A cluster of one node, which wants the keys of a script in one slot."""
    binary = find_binary() if request.param == "valkey" else shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed")
    port, bus = free_ports(2)
    options = {
        "bind": "127.0.0.1",
        "port": port,
        "cluster-port": bus,
        "cluster-enabled": "yes",
        "save": "",
        "dir": tmp_path,
        "logfile": tmp_path / "log",
    }
    command = [str(binary)]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    process = subprocess.Popen(command)
    try:
        with redis.Redis(host="127.0.0.1", port=port) as raw:
            until(lambda: answers(raw))
            raw.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            until(lambda: raw.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def answers(raw: redis.Redis) -> bool:
    try:
        return raw.ping()
    except redis.RedisError:
        return False


def test_a_commit_keeps_to_the_rules_of_a_cluster(cluster_url):
    store = Store(Servers(cluster_url, 0.8), EXPIRY)
    tables = [create(store, created_at=NOW + number) for number in range(3)]
    game = start(store, tables[1])
    game = change(store, game, DealEnded(deal_result(1)))
    assert store.load(game.id) == game
    assert store.results(game.id, 0, 10) == (deal_result(1),)
    assert all_pages(store, 5) == [[tables[2].id, tables[0].id]]


def test_a_game_is_kept_until_what_is_due_has_had_time_to_be_done(store, raw):
    game = start(store, create(store))
    clock = change(store, game, due=game.changed_at + 7_000_000_000)
    assert store.expires_at(clock) == clock.due + 1000 * EXPIRY.running_seconds
    for part in ("game", "events"):
        assert raw.pttl(key(clock, part)) > 7_000_000_000

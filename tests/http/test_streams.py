"""The log as server-sent events: whole, in order, to be resumed anywhere, and to each the own."""

import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
import redis
import requests
from msgspec.structs import replace

from service import store, tables, watch
from service.api import contract
from service.embedded import EmbeddedStore
from service.rummy.model import CallWindow
from service.servers import Servers
from service.tables import Tables
from service.watch import Watch
from tests.contract import CheckedClient
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.sse import (
    PATIENCE,
    STREAM,
    Cut,
    Ended,
    Follower,
    Line,
    Reader,
    entries_of,
    follow,
    kinds_of,
    open_stream,
)
from tests.http.tables import House, Player, QuickContract, Table, code
from tests.patience import until
from tests.positions import CALLABLE
from tests.serving import Service, children, serving

SILENCE = 60.0

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.fixture
def long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the bell can tell that there is news; and nobody looks for a sign of life."""
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", SILENCE)
    monkeypatch.setattr(tables, "HEARTBEAT_SECONDS", SILENCE)


def play_on(table: Table, moves: int | None = None, seed: int = 1) -> None:
    """Play so many moves, or until the match is over."""
    chance = Random(seed)
    for _ in itertools.count() if moves is None else range(moves):
        player = table.mover
        answer = player.make(choose(player.look(), chance))
        assert answer.status_code == 200, answer.text
        if answer.json["game"]["status"] == "finished":
            return


@pytest.fixture(scope="module")
def played(house: House) -> Table:
    """A match that is over."""
    table = house.table("straight", 3, seed="streams", deals=2, hand_size=4)
    play_on(table)
    return table


def whole(player: Player, query: str = "", **headers: str) -> list:
    """The whole of a stream that ends."""
    return follow(player, query, **headers).rest()


# ------------------------------------------------------------------------------ what it tells


@pytest.mark.usefixtures("long_silence")
def test_first_comes_the_game_and_then_what_happens(house):
    table = house.position(hands="5C 5D 5H KH QH | 2S 3S")
    followers = {watcher.seat: follow(watcher) for watcher in table.watchers}
    for watcher in table.watchers:
        game = followers[watcher.seat].next("game")
        assert game.data == watcher.look()
        assert game.id == table.game().events
    before = table.game().events
    table.players[0].play("meld 5C 5D 5H")
    for watcher in table.watchers:
        assert followers[watcher.seat].entries(before + 1) == watcher.log(before)
    table.players[0].play("discard KH")
    table.players[1].play("draw")
    for watcher in table.watchers:
        assert followers[watcher.seat].entries(before + 3) == watcher.log(before + 1)
        assert followers[watcher.seat].reader.retry == 1000


@pytest.mark.usefixtures("long_silence")
def test_a_stream_tells_from_the_beginning_of_a_table_to_the_end_of_its_match(house):
    table = house.waiting("straight", 3, more={"practice": {"seed": "streams"}}, hand_size=4)
    followers = [follow(table.players[0], "after=0"), follow(table.stranger, "after=0")]
    for name in ("bo", "cleo"):
        table.seat(Player(house.client(), table.id).post("join", {"name": name}))
    followers += [follow(player, "after=0") for player in table.players[1:]]
    play_on(table)
    readers = [table.players[0], table.stranger, *table.players[1:]]
    for watcher, follower in zip(readers, followers, strict=True):
        news = follower.rest()
        assert kinds_of(news) == ["game", *["entry"] * (len(news) - 2), "end"]
        assert entries_of(news) == watcher.log()
        assert news[-1].data == {"status": "finished"}
        assert follower.reader.left == b""
        book = Ledger(watcher.seat)
        book.enter(entries_of(news))
        book.agrees_with(watcher.look())


def test_of_stock_cards_everybody_is_told_only_the_own(played):
    for watcher in played.watchers:
        drawn = [
            entry["event"]
            for entry in entries_of(whole(watcher, "after=0"))
            if entry["event"]["type"] == "drew" and entry["event"]["source"] == "stock"
        ]
        assert {event["seat"] for event in drawn} == {0, 1, 2}
        for event in drawn:
            assert (event["card"] is not None) == (event["seat"] == watcher.seat)


def test_the_end_is_told_when_the_table_is_closed(house):
    for way in ("close", "leave"):
        table = house.waiting("straight", 3)
        follower = follow(table.stranger)
        follower.next("game")
        assert table.players[0].post(way).status_code == 200
        *entries, end = follower.rest()
        assert entries[-1].data["event"] == {"type": "closed"}
        assert (end.kind, end.data) == ("end", {"status": "closed"})


def test_the_end_is_told_when_the_match_is_abandoned(house):
    table = house.table("straight")
    follower = follow(table.stranger)
    follower.next("game")
    for player in table.players:
        player.post("leave")
    *entries, end = follower.rest()
    assert entries[-1].data["event"]["type"] == "match_ended"
    assert (end.kind, end.data) == ("end", {"status": "finished"})


def test_of_a_match_that_is_over_the_rest_of_the_log_is_told_and_the_end(played):
    log = played.stranger.log()
    for after in (None, 0, 1, len(log) // 2, len(log) - 1, len(log), len(log) + 1, 2**53):
        news = whole(played.stranger, "" if after is None else f"after={after}")
        assert news[0].data == played.stranger.look()
        assert entries_of(news) == log[len(log) if after is None else after :]
        assert kinds_of(news) == ["game", *["entry"] * (len(news) - 2), "end"]


def test_of_a_closed_table_the_end_is_told_at_once(house):
    table = house.waiting("straight", 3)
    table.players[0].post("close")
    assert kinds_of(whole(table.stranger)) == ["game", "end"]


def test_who_knows_more_than_has_happened_is_told_all_that_happens_from_now_on(house):
    """After a store that has lost its last second, say."""
    table = house.table("straight")
    follower = follow(table.stranger, last_event_id="1000")
    events = table.game().events
    assert follower.next("game").id == events
    play_on(table, 2)
    assert follower.entries(events + 2) == table.stranger.log(events)
    follower.leave()


# ---------------------------------------------------------------------------------- resuming


def test_a_stream_that_is_cut_after_any_byte_is_resumed_without_gap_or_repeat(played):
    log = played.players[1].log()
    body = b"".join(open_stream(played.players[1], "after=0").response)
    step = max(1, len(body) // 90) | 1  # odd, so that it comes to all kinds of places
    for end in range(0, len(body), step):
        reader = Reader()
        before = reader.feed(body[:end])
        known = [news.id for news in before if news.id is not None]
        if known:
            after = whole(played.players[1], last_event_id=str(known[-1]))
        else:
            after = whole(played.players[1], "after=0")
        assert entries_of(before) + entries_of(after) == log


@pytest.mark.parametrize("by", ["last_event_id", "after"])
def test_a_stream_that_is_cut_after_each_entry_while_moves_are_made_is_resumed(house, by):
    table = house.table("straight", 3, seed="streams", deals=2, hand_size=4)
    told: list[dict] = []
    with ThreadPoolExecutor(1) as thread:
        playing = thread.submit(play_on, table)
        for most in itertools.cycle((1, 2, 7, 3)):
            last = str(told[-1]["id"] if told else 0)
            if by == "after":
                follower = follow(table.stranger, f"after={last}")
            else:
                follower = follow(table.stranger, "after=1000", last_event_id=last)
            assert follower.next("game").id == int(last)
            news = follower.next()
            while news.kind == "entry" and (told.append(news.data), len(told) % most)[1]:
                news = follower.next()
            follower.leave()
            if news.kind == "end":
                break
        playing.result(PATIENCE)
    assert told == table.stranger.log()


def test_where_a_stream_begins_if_nothing_is_said_is_now(house):
    table = house.table("straight")
    follower = follow(table.stranger)
    assert follower.next("game").id == table.game().events
    assert follower.is_silent(0.3)
    play_on(table, 1)
    assert follower.next("entry").id == table.game().events
    follower.leave()


BAD_IDS = ["-1", "1.5", "abc", "1 2", "1,2", "+1", "0x1", "9" * 16, "1e3", "null", "é"]


@pytest.mark.parametrize("text", BAD_IDS)
def test_a_last_event_id_that_is_none_is_refused(played, text):
    player = played.players[0]
    headers = player._headers({"accept": STREAM, "last_event_id": text})
    answer = player.client.get(player._path("events"), headers=headers)
    assert (answer.status_code, code(answer)) == (422, "invalid_request")
    assert [problem["field"] for problem in answer.json["fields"]] == ["Last-Event-ID"]


@pytest.mark.parametrize("text", ["", " ", "0", " 3 ", "003"])
def test_a_last_event_id_that_is_one_or_empty_is_taken(played, text):
    log = played.stranger.log()
    news = whole(played.stranger, last_event_id=text)
    assert entries_of(news) == (log[int(text) :] if text.strip() else [])


BAD_QUERIES = ["after=-1", "after=x", "after=1&after=2", "wait=61", "limit=0", "aftre=1"]


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_a_stream_is_asked_for_as_the_log_is(played, query):
    answer = played.stranger.get(f"events?{query}", accept=STREAM)
    assert (answer.status_code, code(answer)) == (422, "invalid_request")


def test_a_stream_never_waits_longer_or_ends_sooner_than_it_would(played):
    log = played.stranger.log()
    assert entries_of(whole(played.stranger, "after=0&limit=1&wait=1")) == log


# ---------------------------------------------------------------------------- who gets one


ACCEPTED = {
    "text/event-stream": True,
    "text/event-stream, */*": True,
    "text/event-stream, application/json;q=0.5": True,
    "application/json": False,
    "*/*": False,
    "text/html, application/xhtml+xml, */*;q=0.8": False,
    "application/json, text/event-stream;q=0.9": False,
    "text/event-stream;q=0, */*": False,
    "": False,
}


@pytest.mark.parametrize(("accept", "is_stream"), ACCEPTED.items())
def test_who_asks_for_a_stream_before_all_gets_one(played, accept, is_stream):
    answer = open_stream(played.stranger, "after=0", accept=accept)
    mimetype = answer.headers["Content-Type"].partition(";")[0]
    assert mimetype == (STREAM if is_stream else "application/json")
    if is_stream:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Content-Length" not in answer.headers
    answer.close()


def stranger_with(token: str | None, game_id: str | None = None) -> Callable[[Table], Player]:
    return lambda table: Player(table.house.client(), game_id or table.id, None, token)


REFUSED = {
    "a game that is not there": (stranger_with(None, "a" * 16), 404),
    "not a token": (stranger_with("x"), 401),
    "a token of another table": (stranger_with(f"{'a' * 16}.{'x' * 43}"), 403),
    "a spectator where none is wanted": (stranger_with(None), 403),
}


@pytest.mark.parametrize(("who", "status"), REFUSED.values(), ids=list(REFUSED))
@pytest.mark.parametrize("resumed", [{}, {"last_event_id": "2"}], ids=["new", "resumed"])
def test_who_may_not_follow_is_refused_before_the_stream_begins(house, who, status, resumed):
    table = house.waiting("straight", 2, 2, more={"spectators": False})
    answer = who(table).get("events", accept=STREAM, **resumed)
    assert answer.status_code == status
    assert answer.mimetype == "application/problem+json"


def test_who_is_removed_is_told_nothing_more_and_may_not_resume(house):
    table = house.waiting("straight", 3, 3, more={"autostart": False})
    removed = table.players[1]
    follower = follow(removed)
    follower.next("game")
    table.players[0].post("remove", {"seat": 1})
    assert follower.rest() == []
    assert code(removed.get("events", accept=STREAM, last_event_id="3")) == "not_your_seat"


def test_who_watches_a_table_without_spectators_is_told_nothing_of_the_match(house):
    table = house.waiting("straight", 2, more={"spectators": False})
    follower = follow(table.stranger)
    follower.next("game")
    table.seat(Player(house.client(), table.id).post("join", {"name": "bo"}))
    assert follower.rest() == []
    assert code(table.stranger.get("events", accept=STREAM)) == "no_spectators"


def test_seats_that_move_up_while_their_streams_are_open_are_told_the_own_cards(house):
    table = house.waiting("straight", 5, 5, more={"autostart": False})
    followers = [follow(player) for player in table.players]
    for follower in followers:
        follower.next("game")
    with ThreadPoolExecutor(2) as threads:
        leaving = threads.submit(table.players[1].post, "leave")
        removing = threads.submit(table.twin(table.players[0]).post, "remove", {"seat": 3})
        assert {leaving.result().status_code, removing.result().status_code} == {200}
    # Which of two came first decides who was in seat 3; those who stay know by their token.
    stay = [player for player in table.players if player.get().status_code == 200]
    assert len(stay) == 3
    assert table.players[0].post("start").status_code == 200
    hands = set()
    for player in stay:
        own = player.look()
        last = table.game().events
        told = followers[table.players.index(player)].entries(last)
        assert told[-1]["event"]["hand"] == own["hand"]
        hands.add(tuple(own["hand"]))
    assert len(hands) == 3
    for follower in followers:
        follower.leave()


def test_seats_that_move_down_in_a_rematch_are_told_the_own_cards(house):
    """Who comes late to a rematch sits down before those who sat behind."""
    old = house.position(hands="5C 5D 5H | 2S 3S | 4S 4H")
    house.store.commit(replace(old.game(), version=old.game().version + 1, autostart=True), ())
    old.players[0].play("meld 5C 5D 5H")
    seated = [old.players[2].post("rematch")]
    new = Table(house, seated[0].json["game"]["id"])
    players = [new.seat(seated[0])]
    followers = [follow(players[0], "after=0")]
    for place in (1, 0):
        players.append(new.seat(old.players[place].post("rematch")))
        followers.append(follow(players[-1], "after=0"))
    last = new.game().events
    for player, follower, seat in zip(players, followers, (2, 1, 0), strict=True):
        follower.next("game")
        own = player.look()
        assert own["you"] == seat
        assert own["status"] == "playing"
        dealt = [entry["event"] for entry in follower.entries(last)][-1]
        assert dealt["hand"] == own["hand"]
        follower.leave()


# ---------------------------------------------------------------------- what happens by itself


def test_who_takes_the_news_late_is_told_all_in_order(house):
    """The others have read it long ago, so not all of it is there any more for those behind."""
    table = house.table("straight", hand_size=3, deals=1000)
    tables, chance = house.app.extensions["tables"], Random(2)
    following = {
        (watcher.seat, pace): tables.follow(table.id, watcher.token, None)
        for watcher in table.watchers
        for pace in (1, 3, 7, 50)
    }
    told = {who: [*next(news).batch.entries] for who, news in following.items()}
    after = table.game().events
    for number in range(50):
        mover = table.mover
        mover.make(choose(mover.look(), chance))
        if number == 30:
            time.sleep(1.1)  # longer than readings are handed on
        for (seat, pace), news in following.items():
            if number % pace == 0:
                told[seat, pace] += next(news).batch.entries
    log = house.store.events(table.id, after, 1000)
    for who, news in following.items():
        while len(told[who]) < len(log):
            told[who] += next(news).batch.entries
        assert tuple(told[who]) == log
        news.close()


def test_who_follows_hears_a_sign_of_life_while_nothing_happens(house, monkeypatch):
    monkeypatch.setattr(tables, "HEARTBEAT_SECONDS", 0.2)
    table = house.table("straight")
    follower = follow(table.stranger)
    follower.next("game")
    until(lambda: follower.reader.signs_of_life >= 3)
    assert follower.is_silent(0)
    play_on(table, 1)
    follower.next("entry")
    signs = follower.reader.signs_of_life
    until(lambda: follower.reader.signs_of_life > signs)
    follower.leave()


def due_soon(table: Table) -> None:
    game = table.game()
    due = time.time_ns() // 1_000_000 + 400
    table.house.store.commit(replace(game, version=game.version + 1, due=due), ())


@pytest.mark.usefixtures("long_silence")
def test_who_follows_makes_the_turn_happen_whose_time_is_up(house):
    table = house.position(hands="KD QD | 2S 3S", turn_seconds=60)
    due_soon(table)
    followers = [follow(table.stranger, "after=3") for _ in range(8)]
    for follower in followers:
        follower.next("game")
        entry = follower.next("entry").data
        assert (entry["event"]["type"], entry["forced"]) == ("discarded", True)
    assert table.game().events == 4
    for follower in followers:
        follower.leave()


@pytest.mark.usefixtures("long_silence")
def test_who_follows_makes_the_computer_play_that_left_time_for_a_call(house):
    window = CallWindow(0, None)
    table = house.position(**CALLABLE, window=window)
    game = table.game()
    seats = (game.seats[0], replace(game.seats[1], computer="random", token_hash=None))
    seats += game.seats[2:]
    house.store.commit(replace(game, version=game.version + 1, seats=seats), ())
    due_soon(table)
    follower = follow(table.stranger, f"after={game.events}")
    follower.next("game")
    first = follower.next("entry").data
    assert (first["event"]["type"], first["event"]["seat"]) == ("drew", 1)
    follower.leave()


# ----------------------------------------------------------------------- when things go wrong


def test_a_stream_ends_without_an_end_when_its_worker_stops(redis_url):
    house = House(redis_url)
    stopping: list[bool] = []
    house.app.extensions["tables"] = Tables(
        house.store, Watch(Servers(redis_url, 2), lambda: bool(stopping))
    )
    table = house.table("straight")
    follower = follow(table.stranger)
    follower.next("game")
    stopping.append(True)
    assert follower.rest() == []
    # Whoever comes by a connection that is still open is told to go on elsewhere.
    assert kinds_of(whole(table.stranger)) == ["game"]


def test_a_stream_outlives_a_restart_of_the_store():
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as valkey:
        house = House(valkey.url)
        table = house.table("straight", deals=1000, hand_size=3)
        follower = follow(table.stranger, "after=0")
        follower.next("game")
        for _ in range(2):
            play_on(table, 3)
            os.kill(valkey.pid, signal.SIGKILL)
            until(valkey.revive)
            until(lambda: house.client().get("/readyz").status_code == 200)
            play_on(table, 3)
        log = table.stranger.log()
        assert follower.entries(log[-1]["id"]) == log
        follower.leave()


# -------------------------------------------------------------------- over sockets, for real


@pytest.fixture(scope="module")
def judge(house: House) -> QuickContract:
    return QuickContract(contract(house.app))


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Where the service keeps its games; the path of the store's socket has to be short."""
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def service(data: Path) -> Iterator[Service]:
    """A service with two workers, for trouble that it recovers from."""
    with serving(data, "--workers", "2") as running:
        yield running


class Distant:
    """A match at a service that listens somewhere, played and followed from here."""

    def __init__(self, url: str, judge: QuickContract, **options) -> None:
        self.url = url
        self.judge = judge
        options = {"deals": 1000, "hand_size": 3} | options
        body = {"variant": "straight", "name": "ada", "options": options}
        made = self.send("POST", "/v1/games", json=body)
        self.path = f"/v1/games/{made['game']['id']}"
        joined = self.send("POST", f"{self.path}/join", json={"name": "bo"})
        self.tokens = [made["token"], joined["token"]]
        self.chance = Random(1)

    def bearer(self, seat: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[seat]}"}

    def play(self, moves: int) -> None:
        """Make so many moves, each sent again until it is known to have been made."""
        for _ in range(moves):
            turn = self.send("GET", self.path)["deal"]["turn"]
            view = self.send("GET", self.path, headers=self.bearer(turn))
            move = choose(view, self.chance)
            key = {"Idempotency-Key": f"move {view['version']}"}
            headers = self.bearer(turn) | key
            self.send("POST", f"{self.path}/{move['move']}", json=move, headers=headers)

    def log(self) -> list[dict]:
        """The log as seat 0 may read it."""
        path = f"{self.path}/events?limit=500"
        page = self.send("GET", path, headers=self.bearer(0))
        assert not page["more"]
        return page["events"]

    def follow(self, last: int = 0) -> Follower:
        """What seat 0 is told after that entry, and the game before it."""
        headers = self.bearer(0) | {"Last-Event-ID": str(last)}
        line = patiently(lambda: Line(self.url, f"{self.path}/events", headers).read_head())
        return Follower(line, self.judge)

    def send(self, method: str, path: str, **sent) -> dict:
        def ask() -> Response:
            with requests.Session() as session:
                client = CheckedClient(session, self.judge, self.url)
                return Response(client.request(method, path, timeout=PATIENCE, **sent))

        return patiently(ask).body


class Response:
    """What counts of an answer."""

    def __init__(self, answer: requests.Response) -> None:
        self.status = answer.status_code
        self.body = answer.json()
        assert self.status in (200, 201, 503), answer.text


def patiently(ask: Callable[[], Any]) -> Any:
    """The answer, asked for again after a lost connection or a 503, as a good client does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            answer = ask()
            if answer.status != 503:
                return answer
        except (OSError, Cut):  # as requests' errors are
            pass
        assert time.monotonic() < deadline, "the service did not recover"
        time.sleep(0.05)


def begin(match: Distant, number: int) -> tuple[list[Follower], list[list[dict]]]:
    """So many who follow, on all workers, and what they have been told."""
    match.play(4)
    last = len(match.log())
    followers = [match.follow() for _ in range(number)]
    for follower in followers:
        follower.next("game")
    return followers, [follower.entries(last) for follower in followers]


def finish(match: Distant, followers: list[Follower], told: list[list[dict]]) -> None:
    """Play on; all are told all, each stream resumed as often as it ends."""
    match.play(4)
    log = match.log()
    for follower, entries in zip(followers, told, strict=True):
        while entries[-1]["id"] < log[-1]["id"]:
            try:
                news = follower.next()
            except Ended:
                follower = match.follow(entries[-1]["id"])
                continue
            assert news.kind in ("game", "entry")
            if news.kind == "entry":
                entries.append(news.data)
        assert entries == log
        follower.leave()


def test_a_head_request_for_a_stream_has_no_body_and_ends(service, judge):
    match = Distant(service.url, judge)
    line = Line(service.url, f"{match.path}/events", match.bearer(0), method="HEAD").read_head()
    assert (line.status, line.headers["content-type"].partition(";")[0]) == (200, STREAM)
    if line.headers.get("connection") != "close":
        line.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.read_head().status == 200
    line.close()


def test_a_connection_can_be_used_again_after_a_stream_has_ended(service, judge):
    match = Distant(service.url, judge)
    for seat in (0, 1):
        match.send("POST", f"{match.path}/leave", headers=match.bearer(seat))
    line = Line(service.url, f"{match.path}/events", match.bearer(0)).read_head()
    follower = Follower(line, judge)
    assert kinds_of(follower.rest()) == ["game", "end"]
    assert follower.cut is None
    line.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert line.read_head().status == 200
    line.close()


@on_linux
def test_a_killed_worker_is_survived_without_gap_or_repeat(service, judge):
    match = Distant(service.url, judge)
    followers, told = begin(match, 8)
    victim = next(pid for pid in children(service.process.pid) if pid != service.valkey())
    os.kill(victim, signal.SIGKILL)
    finish(match, followers, told)


@on_linux
def test_a_killed_store_is_survived_without_gap_or_repeat(service, judge):
    match = Distant(service.url, judge)
    followers, told = begin(match, 6)
    os.kill(service.valkey(), signal.SIGKILL)
    finish(match, followers, told)


def test_when_the_line_of_the_bells_is_cut_no_stream_ends_and_the_news_come(service, judge, data):
    match = Distant(service.url, judge)
    followers, told = begin(match, 6)
    with redis.Redis(unix_socket_path=str(data / "valkey.sock")) as raw:
        assert raw.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    began = time.monotonic()
    finish(match, followers, told)
    assert time.monotonic() - began < 15
    assert all(follower.left for follower in followers)


def test_a_change_of_which_no_bell_tells_is_noticed_by_all_workers(
    service, judge, data, monkeypatch
):
    match = Distant(service.url, judge)
    followers, told = begin(match, 6)
    monkeypatch.setattr(store, "bell_of", lambda _: "nobody listens there")
    silent = House(f"unix://{data}/valkey.sock")
    turn = silent.client().get(match.path).json["deal"]["turn"]
    mover = Player(silent.client(), match.path.rpartition("/")[2], turn, match.tokens[turn])
    move = choose(mover.look(), match.chance)
    began = time.monotonic()
    assert mover.make(move).status_code == 200
    for follower, entries in zip(followers, told, strict=True):
        assert follower.next("entry").id == entries[-1]["id"] + 1
        follower.leave()
    assert time.monotonic() - began < 15  # five seconds, on a machine with something to do


def all_end_cleanly(match: Distant, followers: list[Follower], told: list[list[dict]]) -> None:
    """Soon after their worker was told to, or others serve: whole answers, not the match's end."""
    began = time.monotonic()
    for follower, entries in zip(followers, told, strict=True):
        rest = follower.rest()
        assert "end" not in kinds_of(rest)
        entries += entries_of(rest)
        assert (follower.cut, follower.reader.left) == (None, b"")
        assert follower.answer.headers["transfer-encoding"] == "chunked"
        follower.leave()
    assert time.monotonic() - began < 40  # and not when the match is over


def waiting_lines(match: Distant) -> list[Line]:
    """One who waits for the log, and one who waits for the game."""
    version = match.send("GET", match.path)["version"]
    known = {"Accept": "*/*", "If-None-Match": f'"{version}"'}
    lines = [
        Line(match.url, f"{match.path}/events?after=1000&wait=60", {"Accept": "*/*"}),
        Line(match.url, f"{match.path}?wait=60", known),
    ]
    time.sleep(1)  # until they wait
    return lines


def test_who_waits_is_answered_and_streams_end_cleanly_when_the_service_is_stopped(judge):
    with tempfile.TemporaryDirectory() as directory:
        with serving(Path(directory), "--workers", "2") as first:
            match = Distant(first.url, judge)
            followers, told = begin(match, 6)
            page, view = waiting_lines(match)
            first.process.send_signal(signal.SIGTERM)
            all_end_cleanly(match, followers, told)
            assert page.read_head().status == 200
            assert json.loads(b"".join(page.pieces()))["events"] == []
            assert view.read_head().status == 304
            for line in (page, view):
                line.close()
            assert first.ends_within(15)
            assert first.process.returncode == 0
            assert first.process.stdout.read() == ""
        with serving(Path(directory), "--workers", "1") as second:
            match.url = second.url
            finish(match, followers, told)


def test_streams_end_cleanly_with_a_worker_that_is_replaced_and_go_on_at_the_next(service, judge):
    match = Distant(service.url, judge)
    followers, told = begin(match, 6)
    service.process.send_signal(signal.SIGHUP)
    all_end_cleanly(match, followers, told)
    finish(match, followers, told)

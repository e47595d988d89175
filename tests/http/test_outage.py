"""The store goes away and comes back: said at once, nothing acknowledged is lost, no restart."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event

import pytest
from werkzeug.test import TestResponse

from service.embedded import EmbeddedStore
from tests.contract import operations_of
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import House, Table, code
from tests.http.test_races import at_once
from tests.patience import until

SOON = 1.5
"""Seconds within which a store that does not answer is told."""


def kill(valkey: EmbeddedStore) -> None:
    os.kill(valkey.pid, signal.SIGKILL)


def revive(valkey: EmbeddedStore, house: House) -> None:
    """Start the server again, and wait until it answers."""
    until(valkey.revive)
    until(lambda: house.client().get("/readyz").status_code == 200)


REQUESTS = {
    "createSandbox": ("POST", "/v1/sandbox", {}),
    "createGame": ("POST", "", {"variant": "straight", "name": "ada", "options": {"deals": 1}}),
    "listGames": ("GET", "", None),
    "getGame": ("GET", "/{id}", None),
    "getGameRules": ("GET", "/{id}/rules", None),
    "joinGame": ("POST", "/{id}/join", {"name": "eva"}),
    "addComputers": ("POST", "/{id}/computers", {"levels": ["steady"]}),
    "removePlayer": ("POST", "/{id}/remove", {"seat": 1}),
    "startGame": ("POST", "/{id}/start", {}),
    "closeTable": ("POST", "/{id}/close", {}),
    "leaveGame": ("POST", "/{id}/leave", {}),
    "returnToGame": ("POST", "/{id}/return", {}),
    "rematch": ("POST", "/{id}/rematch", {}),
    "addEntropy": ("POST", "/{id}/entropy", {"entropy": "HTTHTHHT"}),
    "queryGames": ("POST", "/query", {"tokens": [f"{'a' * 16}.{'A' * 43}"]}),
    "getScore": ("GET", "/{id}/score", None),
    "getEvents": ("GET", "/{id}/events", None),
    "getDeal": ("GET", "/{id}/deals/1", None),
    "getReplay": ("GET", "/{id}/replay", None),
    "listMoves": ("GET", "/{id}/moves", None),
    "draw": ("POST", "/{id}/draw", {"from": "stock"}),
    "meld": ("POST", "/{id}/meld", {"cards": ["5C", "5D", "5H"]}),
    "layoff": ("POST", "/{id}/layoff", {"meld": 1, "cards": ["5S"]}),
    "swap": ("POST", "/{id}/swap", {"meld": 1, "card": "5S"}),
    "discard": ("POST", "/{id}/discard", {"card": "5S"}),
    "callRummy": ("POST", "/{id}/rummy", {"meld": 1}),
    "playTurn": ("POST", "/{id}/turn", {"discard": "5S"}),
}
"""A request to every endpoint that needs the store."""

WITHOUT_STORE = {
    "getHealth": "/healthz",
    "getMetrics": "/metrics",
    "listVariants": "/v1/variants",
    "getVariant": "/v1/variants/straight",
    "getVariantRules": "/v1/variants/straight/rules",
    "listErrors": "/errors",
    "getError": "/errors/draw_first",
}


def ask(table: Table, method: str, part: str, body: object) -> tuple[TestResponse, float]:
    """The answer, and the seconds that it took."""
    sent = {} if body is None else {"json": body}
    headers = {"Authorization": f"Bearer {table.players[0].token}"}
    began = time.monotonic()
    path = part if part.startswith("/v1") else "/v1/games" + part.format(id=table.id)
    answer = table.house.client().request(method, path, headers=headers, **sent)
    return answer, time.monotonic() - began


def test_every_operation_is_tried_without_its_store(document):
    known = operations_of(document).keys()
    assert known == REQUESTS.keys() | WITHOUT_STORE.keys() | {"getReadiness"}


@pytest.mark.parametrize("trouble", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "stalled"])
def test_without_the_store_every_endpoint_that_needs_it_says_so_at_once(fragile, valkey, trouble):
    table = fragile.table("straight")
    os.kill(valkey.pid, trouble)
    try:
        with ThreadPoolExecutor(8) as threads:  # more would wait for each other, not for the store
            answers = threads.map(lambda request: ask(table, *request), REQUESTS.values())
        for name, (answer, seconds) in zip(REQUESTS, answers, strict=True):
            assert (answer.status_code, code(answer)) == (503, "store_unavailable"), name
            assert int(answer.headers["Retry-After"]) >= 1
            assert seconds < SOON, name
        assert fragile.client().get("/readyz").status_code == 503
        for path in WITHOUT_STORE.values():
            assert fragile.client().get(path).status_code == 200
    finally:
        if trouble == signal.SIGSTOP:
            os.kill(valkey.pid, signal.SIGCONT)


def test_many_who_wait_for_a_stalled_store_are_all_told_at_once(fragile, valkey):
    table = fragile.table("straight")
    table.stranger.look()
    os.kill(valkey.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        answers = at_once(*[lambda: table.house.client().get(f"/v1/games/{table.id}")] * 60)
    finally:
        os.kill(valkey.pid, signal.SIGCONT)
    assert {answer.status_code for answer in answers} == {503}
    assert time.monotonic() - began < 2 * SOON


def test_what_is_wrong_with_the_request_is_told_without_the_store_too(fragile, valkey):
    table = fragile.table("straight")
    kill(valkey)
    assert code(table.players[0].post("discard", {"card": "10H"})) == "invalid_request"
    assert code(table.players[0].post("draw", {"from": "stock"}, if_match="x")) == "bad_version"
    assert code(fragile.new_table("straight", options={})) == "options_refused"


def test_when_the_store_is_back_everything_acknowledged_is_there_and_the_match_goes_on(
    fragile, valkey
):
    table = fragile.table("straight")
    mover = table.mover
    mover.draw("stock")
    answer = mover.post("discard", {"card": mover.look()["hand"][0]})
    before = {watcher.seat: (watcher.look(), watcher.log()) for watcher in table.watchers}
    kill(valkey)
    assert mover.get().status_code == 503
    revive(valkey, fragile)
    assert {watcher.seat: (watcher.look(), watcher.log()) for watcher in table.watchers} == before
    assert answer.json["game"] == before[mover.seat][0]
    following = table.mover
    assert following.seat != mover.seat
    assert following.draw("stock").json["version"] == answer.json["version"] + 1


def test_after_a_stall_the_match_goes_on(fragile, valkey):
    table = fragile.table("straight")
    mover = table.mover
    os.kill(valkey.pid, signal.SIGSTOP)
    assert mover.draw("stock").status_code == 503
    os.kill(valkey.pid, signal.SIGCONT)
    until(lambda: fragile.client().get("/readyz").status_code == 200)
    assert code(mover.draw("stock")) in {"200", "already_drawn"}
    assert table.game().version == 3
    assert [entry["id"] for entry in table.stranger.log()] == list(range(1, 8))


def test_a_restart_between_two_requests_is_not_noticed(fragile, valkey):
    table = fragile.table("straight")
    mover = table.mover
    kill(valkey)
    revive(valkey, House(valkey.url))
    assert mover.draw("stock").status_code == 200


def test_killed_in_the_middle_of_play_no_acknowledged_move_is_lost(fragile, valkey):
    table = fragile.table("straight", deals=1000, hand_size=3)
    acknowledged = [2]
    played_enough, killed = Event(), Event()

    def play() -> None:
        chance = Random(5)
        view = table.mover.look()
        while True:
            player = table.players[view["deal"]["turn"]]
            look = player.get()
            answer = player.make(choose(look.json, chance)) if look.status_code == 200 else look
            if answer.status_code == 503:
                assert killed.is_set()
                return
            view = answer.json["game"]
            acknowledged.append(answer.json["version"])
            if len(acknowledged) == 30:
                played_enough.set()

    with ThreadPoolExecutor(1) as thread:
        playing = thread.submit(play)
        assert played_enough.wait(20)
        killed.set()
        kill(valkey)
        playing.result(20)
    revive(valkey, fragile)
    assert acknowledged == list(range(2, 2 + len(acknowledged)))
    assert acknowledged[-1] <= table.game().version <= acknowledged[-1] + 1
    for watcher in table.watchers:
        book = Ledger(watcher.seat)
        book.enter(watcher.log())
        book.agrees_with(watcher.look())

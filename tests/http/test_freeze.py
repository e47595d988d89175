"""New tables are frozen: none is made, and everything else goes on."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from service.embedded import EmbeddedStore
from service.store import Freeze
from tests.http.tables import House, Table, code
from tests.http.test_rematch import over

BODY = {"variant": "straight", "name": "ada", "options": {"deals": 1}}
KEY = {"Idempotency-Key": "a key that nobody guesses"}
FREEZE = Freeze(1_790_000_000_000, "an upgrade until noon")


@pytest.fixture(scope="module")
def cold_house() -> Iterator[House]:
    """On a store of its own, or other tests would be refused their tables meanwhile."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as store:
        yield House(store.url)


@pytest.fixture
def cold(cold_house: House) -> House:
    """One where nothing is frozen yet."""
    cold_house.redis.flushdb()
    return cold_house


def make(house: House, **headers: str) -> TestResponse:
    return house.client().post("/v1/games", json=BODY, headers=headers)


NEW_TABLES: dict[str, Callable[[House], TestResponse]] = {
    "a table": make,
    "a table with a key": lambda house: make(house, **KEY),
    "a practice table": lambda house: house.new_table(
        "straight", options={"deals": 1}, practice={"seed": "tea"}
    ),
    "a sandbox": lambda house: house.client().post("/v1/sandbox", json={}),
}


@pytest.mark.parametrize("ask", NEW_TABLES.values(), ids=NEW_TABLES)
def test_no_table_is_made_and_nothing_is_left_of_the_attempt(cold, ask):
    cold.store.freeze(FREEZE)
    answer = ask(cold)
    assert (answer.status_code, code(answer)) == (503, "tables_frozen")
    assert answer.headers["Retry-After"] == "60"
    assert answer.json["params"] == {"reason": FREEZE.reason}
    assert FREEZE.reason in answer.json["detail"]
    assert cold.redis.keys() == [b"rummy:frozen"]
    cold.store.thaw()
    assert ask(cold).status_code == 201


def test_without_a_reason_none_is_told(cold):
    cold.store.freeze(Freeze(FREEZE.since, ""))
    answer = make(cold)
    assert code(answer) == "tables_frozen"
    assert "params" not in answer.json


def test_what_is_wrong_with_a_wish_is_told_all_the_same(cold):
    cold.store.freeze(FREEZE)
    assert code(cold.new_table("straight", options={})) == "options_refused"


def test_a_table_that_was_made_before_is_answered_to_a_repeat(cold):
    made = make(cold, **KEY)
    sandbox = cold.client().post(
        "/v1/sandbox", json={}, headers=KEY | {"Idempotency-Key": "s" * 20}
    )
    cold.store.freeze(FREEZE)
    again = make(cold, **KEY)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json["token"] == made.json["token"]
    again = cold.client().post("/v1/sandbox", json={}, headers=KEY | {"Idempotency-Key": "s" * 20})
    assert again.json["seats"] == sandbox.json["seats"]


def test_no_rematch_is_made_but_one_that_is_there_is_joined(cold):
    waiting, none = over(cold), over(cold)
    first = waiting.players[0].post("rematch")
    cold.store.freeze(FREEZE)
    stored = none.stored()
    assert code(none.players[0].post("rematch")) == "tables_frozen"
    assert none.stored() == stored
    assert waiting.players[0].post("rematch").json["token"] == first.json["token"]
    answer = waiting.players[1].post("rematch")
    assert (answer.status_code, answer.json["game"]["status"]) == (201, "playing")


def test_games_go_on_seats_are_taken_and_the_service_is_ready(cold):
    table, playing = cold.waiting("straight", 3, more={"public": True}), cold.table("straight")
    cold.store.freeze(FREEZE)
    assert cold.client().get("/readyz").status_code == 200
    assert [each["id"] for each in cold.client().get("/v1/games").json["tables"]] == [table.id]
    table.seat(table.stranger.post("join", {"name": "bo"}))
    assert table.players[0].post("computers", {"levels": ["steady"]}).status_code == 200
    assert playing.mover.draw("stock").status_code == 200


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_move_costs_no_more_round_trips(cold, is_frozen):
    table: Table = cold.table("straight")
    mover = table.mover
    if is_frozen:
        cold.store.freeze(FREEZE)
    before = cold.redis.info("commandstats")
    assert mover.draw("stock").status_code == 200
    after = cold.redis.info("commandstats")
    asked = {name for name in after if after[name] != before.get(name)}
    assert {"cmdstat_get", "cmdstat_scan"} & asked == set()

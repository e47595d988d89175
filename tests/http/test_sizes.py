"""What a match that was played takes in the store: bounded, whoever plays and for how long."""

from random import Random

import pytest

from service.embedded import EmbeddedStore
from tests.http.simple_player import choose
from tests.http.tables import House, Table
from tests.http.test_idempotency import new_key


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory):
    """On a store of the service's own, which is told how large the nodes of a log are."""
    with EmbeddedStore(tmp_path_factory.mktemp("sizes")) as store:
        yield House(store.url, record_format=4)


def taken(house: House, key: str) -> int:
    """The bytes of memory that the key takes, those that are only set aside for it included."""
    return house.redis.memory_usage(key, samples=0)


def play(table: Table, *, repeatable: bool) -> int:
    """Play to the end; what the record took at the most, and all else that is with it."""
    chance, largest = Random(1), 0
    key = f"rummy:{{{table.id}}}:game"
    view = table.stranger.look()
    while view["status"] == "playing":
        player = table.players[view["deal"]["turn"]]
        move = choose(player.look(), chance)
        headers = {"idempotency_key": new_key()} if repeatable else {}
        answer = player.make(move, **headers)
        assert answer.status_code == 200, answer.text
        largest = max(largest, taken(table.house, key))
        view = table.stranger.look()
    return largest


@pytest.mark.parametrize("variant", ["straight", "seven-card", "parlett", "call-rummy"])
def test_a_match_of_two_takes_little(house, variant):
    table = house.table(variant, 2, seed="sizes")
    assert play(table, repeatable=False) <= 2048
    events = f"rummy:{{{table.id}}}:events"
    assert taken(house, events) <= 80 * house.redis.xlen(events)


def test_what_requests_are_remembered_by_is_bounded(house):
    table = house.table("straight", 2, seed="sizes", deals=5)
    play(table, repeatable=True)
    fields = house.redis.hgetall(f"rummy:{{{table.id}}}:game")
    remembered = [text for name, text in fields.items() if name.startswith(b"requests:")]
    assert [len(text.split(b"\n")) for text in remembered] == [32, 32]
    assert all(len(text) <= 32 * 56 for text in remembered)

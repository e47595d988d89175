"""What a worker remembers of a game is only a guess: the store has the last word."""

from collections import Counter

import pytest

from service.store import _MOST_COPIES
from tests.http.tables import House, Table, assert_no_card_is_lost, code

LOADS = {"cmdstat_hget", "cmdstat_hmget"}


@pytest.fixture
def here(redis_url) -> House:
    return House(redis_url)


@pytest.fixture
def there(redis_url) -> House:
    """Another worker."""
    return House(redis_url)


def elsewhere(table: Table, house: House) -> Table:
    """The same table, as its players have it who came to another worker."""
    found = Table(house, table.id)
    for player in table.players:
        found.players.append(type(player)(house.client(), table.id, player.seat, player.token))
    return found


def loads(house: House) -> int:
    """How often anybody has asked the store for a record."""
    stats = house.redis.info("commandstats")
    counted = sum(stats.get(name, {"calls": 0})["calls"] for name in LOADS)
    # The script of a commit asks for something too, once.
    return counted - stats.get("cmdstat_evalsha", {"calls": 0})["calls"]


def test_who_moves_after_a_look_at_the_same_worker_needs_one_round_trip(here):
    table = here.table("straight", seed="copies")
    mover = table.mover  # looks
    before = loads(here)
    assert code(mover.draw("stock")) == "200"
    card = mover.look()["hand"][0]
    assert code(mover.play(f"discard {card}")) == "200"
    assert loads(here) - before == 1  # of the look


def test_a_copy_that_is_out_of_date_changes_nothing(here, there):
    table = here.table("straight", seed="copies", deals=2)
    same = elsewhere(table, there)
    turns = 0
    while table.stranger.look()["status"] == "playing" and turns < 40:
        seat = same.stranger.look()["deal"]["turn"]
        mine, yours = (table, same) if turns % 2 else (same, table)
        assert code(yours.players[1 - seat].draw("stock")) == "not_your_turn"
        assert code(mine.players[seat].draw("stock")) == "200"
        assert code(yours.players[seat].draw("stock")) == "already_drawn"
        hand = mine.players[seat].look()["hand"]
        assert code(yours.players[seat].play(f"discard {hand[turns % len(hand)]}")) == "200"
        turns += 1
    assert turns > 20
    assert_no_card_is_lost(table.game())
    log = table.stranger.log()
    assert [entry["id"] for entry in log] == list(range(1, len(log) + 1))
    drawn = Counter(entry["version"] for entry in log if entry["event"]["type"] == "drew")
    assert set(drawn.values()) == {1}


def test_a_request_that_was_carried_out_elsewhere_is_not_carried_out_again_on_a_new_copy(
    here, there
):
    table = here.table("straight", deals=3)
    same = elsewhere(table, there)
    player, twin = table.players[0], same.players[0]
    sent = {"entropy": "27-coins"}
    key = {"idempotency_key": "the-same-key"}
    first = player.post("entropy", sent, **key)
    twin.look()  # so that its worker has the newest copy
    again = twin.post("entropy", sent, **key)
    assert (code(first), code(again)) == ("200", "200")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json["events"] == first.json["events"]
    added = [one for one in table.stranger.log() if one["event"]["type"] == "entropy_added"]
    assert len(added) == 1
    other = twin.post("entropy", {"entropy": "other"}, **key)
    assert code(other) == "idempotency_key_reused"


def test_after_a_failover_a_copy_of_what_was_lost_is_not_built_on(here, there):
    table = here.table("straight", seed="copies")
    same = elsewhere(table, there)
    keys = [f"rummy:{{{table.id}}}:{part}" for part in ("game", "events")]
    seat = table.mover.seat
    before = {key: here.redis.dump(key) for key in keys}
    lost = table.players[seat].draw("stock")
    for key, value in before.items():  # the replica that has become the primary never had it
        here.redis.restore(key, 60_000, value, replace=True)
    drawn = same.players[seat].draw("discard")
    assert drawn.json["version"] == lost.json["version"]
    kept = [card for card in lost.json["game"]["hand"] if card not in drawn.json["game"]["hand"]]
    assert code(table.players[seat].play(f"discard {kept[0]}")) == "not_in_hand"
    legal = drawn.json["game"]["hand"][0]
    assert code(table.players[seat].play(f"discard {legal}")) == "200"
    assert_no_card_is_lost(table.game())
    drew = [one["event"] for one in table.stranger.log() if one["event"]["type"] == "drew"]
    assert [event["source"] for event in drew] == ["discard"]


def test_a_game_that_was_deleted_is_gone_for_those_who_remember_it_too(here, there):
    table = here.table("straight", seed="copies")
    mover = table.mover
    there.store.delete([table.id])
    assert code(mover.draw("stock")) == "no_such_game"
    assert not here.redis.keys(f"rummy:{{{table.id}}}:*")
    assert code(mover.get("")) == "no_such_game"


def test_a_worker_remembers_so_many_games_and_no_more(here):
    store = here.app.extensions["tables"]._store
    first = here.table("straight")
    for _ in range(_MOST_COPIES):
        here.new_table("straight", options={"deals": 1})
    assert len(store._copies) == _MOST_COPIES
    assert store.copy_of(first.id) is None
    assert code(first.mover.draw("stock")) == "200"

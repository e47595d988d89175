"""Games that versions of before have stored, byte for byte, go on in this one.

The records were written by the last code of their format. They hold the tokens of their players.
"""

import json
from pathlib import Path

import pytest

from tests import fair
from tests.http.tables import House, Player, Table, assert_no_card_is_lost, code
from tests.http.test_fairness import add, fairness, played, told

KEPT = json.loads((Path(__file__).parent.parent / "records_of_before.json").read_text())

FORMATS = (1, 2)
each_format = pytest.mark.parametrize("number", FORMATS)


def restored(house: House, what: str, number: int) -> Table:
    """That game of that format, put into the store as it was. For one test each."""
    (kept,) = (kept for kept in KEPT if (kept["what"], kept["format"]) == (what, number))
    assert json.loads(kept["game"]["record"])["format"] == number
    part = f"rummy:{{{kept['id']}}}:"
    house.redis.delete(*(part + name for name in ("game", "events", "deals", "begins")))
    house.redis.hset(part + "game", mapping=kept["game"])
    for entry, fields in kept["events"]:
        house.redis.xadd(part + "events", fields, id=entry)
    for result in kept["deals"]:
        house.redis.rpush(part + "deals", result)
    table = Table(house, kept["id"])
    table.players = [
        Player(house.client(), table.id, seat, token) for seat, token in enumerate(kept["tokens"])
    ]
    return table


def look_everywhere(table: Table) -> None:
    """The contract judges what everybody can ask for."""
    for watcher in table.watchers:
        assert watcher.look()["id"] == table.id
        assert watcher.log()
        for part in ("?memory=true", "score", "rules"):
            assert watcher.get(part).status_code == 200


def assert_the_pile_is_remembered(table: Table) -> None:
    deal = table.game().match.deal
    if deal is not None:
        assert [thrown.card for thrown in deal.thrown if thrown.gone is None] == list(deal.pile)


def play_to_the_end(table: Table) -> None:
    for _ in played(table):
        assert_the_pile_is_remembered(table)
        assert_no_card_is_lost(table.game())
    look_everywhere(table)
    assert table.stranger.look()["result"]["reason"] == "deals_played"


def assert_proved(table: Table, deal: int, promised: str, entropy: list[str]) -> None:
    """The cards of that deal follow from what was committed to and from what the seats added."""
    (proof,) = (
        event["proof"] for event in told(table, "revealed") if event["proof"]["deal"] == deal
    )
    assert proof["commitment"] == promised
    assert promised == fair.commitment(table.id, deal, proof["nonce"], proof["seed"])
    assert proof["entropy"] == entropy
    options = table.stranger.look()["options"]
    pack = fair.pack(options["decks"], options["jokers"])
    replayed = table.stranger.get(f"deals/{deal}")
    assert replayed.status_code == 200, replayed.text
    cards = fair.shuffled(fair.key(proof["seed"], proof["entropy"]), "cards", pack)
    assert replayed.json["deal"]["cards"] == cards


@each_format
@pytest.mark.parametrize("what", ["straight", "call"])
def test_a_match_goes_on_and_its_later_deals_are_proved(house, what, number):
    table = restored(house, what, number)
    look_everywhere(table)
    assert_no_card_is_lost(table.game())
    assert_the_pile_is_remembered(table)
    view = table.stranger.look()
    running = view["deal"]["number"]
    assert view["deal"]["pile"] >= 3
    lying = table.players[0].get("?memory=true").json["memory"]["discards"]
    assert lying[-1] == {"seat": None, "card": view["deal"]["upcard"], "gone": None, "by": None}
    assert fairness(table)["commitment"] is None
    promised = fairness(table)["next"]["commitment"]
    if what == "call":
        caller = next(player for player in table.players if "rummy" in str(player.look()["moves"]))
        assert caller.play(f"rummy {view['deal']['call']['melds'][0]}").status_code == 200
        seen = caller.get("?memory=true").json["memory"]["discards"]
        assert seen[-1] == lying[-1] | {"gone": "called", "by": caller.seat}
    add(table, 1, "heads")
    play_to_the_end(table)

    results = table.stranger.get("score").json["deals"]
    assert [result["number"] for result in results] == list(range(1, running + 2))
    for deal in range(1, running + 1):
        answer = table.stranger.get(f"deals/{deal}")
        assert (code(answer), answer.json["params"]) == ("no_replay", {"deal": deal})
    entropy = ["", "heads", *("" for _ in table.players[2:])]
    assert_proved(table, running + 1, promised, entropy)


@each_format
def test_a_table_that_waits_fills_up_and_its_match_is_proved(house, number):
    table = restored(house, "waiting", number)
    table.stranger.look()
    add(table, 0, "heads")
    promised = fairness(table)["next"]["commitment"]
    table.seat(table.stranger.post("join", {"name": "cleo"}))
    play_to_the_end(table)
    assert_proved(table, 1, promised, ["heads", "", ""])


@each_format
def test_a_finished_match_can_be_read_and_played_again(house, number):
    table = restored(house, "finished", number)
    look_everywhere(table)
    assert len(table.stranger.get("score").json["deals"]) == 1
    answer = table.stranger.get("deals/1")
    assert (code(answer), answer.json["params"]) == ("no_replay", {"deal": 1})
    again = [player.post("rematch") for player in table.players]
    assert [answer.status_code for answer in again] == [201, 201]
    assert again[1].json["game"]["status"] == "playing"

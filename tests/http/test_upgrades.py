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

each_format = pytest.mark.parametrize("number", [1, 2])
each_of_0_1_0 = pytest.mark.parametrize(
    "what", [kept["what"] for kept in KEPT if kept["format"] == 3]
)


def kept_as(what: str, number: int) -> dict:
    """What the store held of that game, and of format 3 on, what was answered about it."""
    (kept,) = (kept for kept in KEPT if (kept["what"], kept["format"]) == (what, number))
    return kept


def restored(house: House, what: str, number: int) -> Table:
    """That game of that format, put into the store as it was. For one test each."""
    kept = kept_as(what, number)
    assert json.loads(kept["game"]["record"])["format"] == number
    part = f"rummy:{{{kept['id']}}}:"
    house.redis.delete(*house.redis.scan_iter(part + "*"), part)
    house.redis.hset(part + "game", mapping=kept["game"])
    for entry, fields in kept["events"]:
        house.redis.xadd(part + "events", fields, id=entry)
    for result in kept["deals"]:
        house.redis.rpush(part + "deals", result)
    for deal, number in kept.get("begins", {}).items():
        house.redis.hset(part + "begins", deal, number)
    for name, remembered in kept.get("claims", {}).items():
        house.redis.set(part + name, remembered)
    table = Table(house, kept["id"])
    table.players = [
        Player(house.client(), table.id, seat, token)
        for seat, token in enumerate(kept["tokens"])
        if token is not None
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


def play_to_the_end(table: Table, seed: int = 1) -> None:
    for _ in played(table, seed):
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


# ------------------------------------------------------------------------------- those of 0.1.0


def assert_says_all_of(new: object, old: object, where: str = "") -> None:
    """The new answer may say more, but nothing else."""
    if isinstance(old, dict):
        assert isinstance(new, dict), where
        for name, value in old.items():
            assert_says_all_of(new[name], value, f"{where}.{name}")
    elif isinstance(old, list):
        assert isinstance(new, list), where
        assert len(new) == len(old), where
        for place, value in enumerate(old):
            assert_says_all_of(new[place], value, f"{where}[{place}]")
    else:
        assert new == old, where


@each_of_0_1_0
def test_a_game_of_0_1_0_looks_as_it_did(timed_house, clock, what):
    kept = kept_as(what, 3)
    clock.now = kept["now"]
    table = restored(timed_house, what, 3)
    before = table.stored()
    memory = "?memory=true" if table.game().status == "playing" else ""
    for watcher, seen in zip((table.players[0], table.stranger), kept["seen"], strict=True):
        assert_says_all_of(watcher.get(memory).json, seen)
        assert watcher.get("score").status_code in {200, 403}
    assert table.stored() == before


@pytest.mark.parametrize("what", ["middle", "waiting"])
def test_a_request_that_0_1_0_carried_out_is_not_carried_out_again(house, what):
    """So a wish must be known by the same hash for ever: of a move, and of who takes a seat."""
    (first,) = kept_as(what, 3)["repeats"]
    table = restored(house, what, 3)
    before = table.stored()
    sender = table.stranger if first["seat"] is None else table.players[first["seat"]]
    answer = sender.post(first["part"], first["body"], idempotency_key=first["key"])
    assert answer.status_code == first["status"]
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert_says_all_of(answer.json, first["answer"])
    assert table.stored() == before


def test_the_cards_of_a_deal_that_0_1_0_dealt_are_proved(timed_house, clock):
    clock.now = kept_as("middle", 3)["now"]
    table = restored(timed_house, "middle", 3)
    assert table.stranger.look()["deal"]["number"] == 2
    promised = fairness(table)["commitment"]
    play_to_the_end(table, seed=4)
    assert_proved(table, 2, promised, ["", "heads"])
    for deal in (1, 2):
        assert table.stranger.get(f"deals/{deal}").status_code == 200


def test_who_asked_0_1_0_for_a_rematch_meets_who_asks_now(timed_house, clock):
    clock.now = kept_as("finished", 3)["now"]
    before = restored(timed_house, "finished", 3)
    table = restored(timed_house, "rematch", 3)
    for player in before.players[:2]:
        answer = player.post("rematch")
        assert answer.status_code == 201, answer.text
        assert answer.json["game"]["id"] == table.id
    assert table.stranger.look()["status"] == "playing"


def test_an_invitation_that_0_1_0_gave_out_is_good(timed_house, clock):
    kept = kept_as("waiting", 3)
    clock.now = kept["now"]
    table = restored(timed_house, "waiting", 3)
    assert code(table.stranger.post("join", {"name": "cleo"})) == "invitation_needed"
    joined = {"name": "cleo", "invitation": kept["invitation"]}
    table.seat(table.stranger.post("join", joined))
    assert table.players[0].look()["status"] == "playing"


def test_who_was_away_at_0_1_0_comes_back(timed_house, clock):
    clock.now = kept_as("away", 3)["now"]
    table = restored(timed_house, "away", 3)
    away = [seat["away"] for seat in table.stranger.look()["seats"]]
    assert {*away} == {None, "left", "timed_out"}
    for player in table.players:
        if away[player.seat]:
            assert player.post("return").status_code == 200
    assert {seat["away"] for seat in table.stranger.look()["seats"]} == {None}
    assert_no_card_is_lost(table.game())

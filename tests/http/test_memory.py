"""`memory=true`: what everybody saw, on request, and for nobody where the table forbids it.

That it is what the log tells is held against every match in `test_matches.py`.
"""

from random import Random

import msgspec
import pytest
from werkzeug.test import TestResponse

from service.rummy.model import CallWindow
from service.rummy.rules import PRESETS
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import Clock, House, Player, code
from tests.http.test_races import at_once
from tests.positions import CALLABLE

clause = pytest.mark.clause

OPEN = {"hands": "5C 5D 5H 8S KH QD | 2S 3S 4D", "melds": "1: 8C 8D 8H", "pile": "JS 9D"}
TO_DRAW = OPEN | {"phase": "draw"}
JOKER = {
    "variant": "seven-card", "hands": "7C KH QD | 2S 3S", "melds": "0: 6C JK=7C 8C",
    "jokers": 2, "pile": "9D",
}  # fmt: skip


def memory_of(player: Player) -> dict | None:
    answer = player.get("?memory=true")
    assert answer.status_code == 200, answer.text
    return answer.json["memory"]


def entry(seat: int | None, card: str, gone: str | None = None, by: int | None = None) -> dict:
    return {"seat": seat, "card": card, "gone": gone, "by": by}


# ------------------------------------------------------------------------------- who is told


@clause("table.7")
def test_who_asks_is_told_what_everybody_saw_and_nobody_else(house: House) -> None:
    table = house.position(**TO_DRAW)
    for text in ("take 9D", "discard KH"):
        assert table.players[0].play(text).json["game"]["memory"] is None
    for watcher in table.watchers:
        assert watcher.look()["memory"] is None
        assert watcher.get("?memory=false").json["memory"] is None
        assert memory_of(watcher) == {
            "taken": [["9D"], []],
            "discards": [entry(None, "JS"), entry(None, "9D", "taken", 0), entry(0, "KH")],
        }


@clause("table.7")
def test_the_view_is_the_same_but_for_the_memory(house: House) -> None:
    table = house.position(**OPEN)
    for watcher in table.watchers:
        told = watcher.get("?memory=true").json
        assert told.pop("memory")
        asked = watcher.look()
        assert asked.pop("memory") is None
        assert told == asked


MOVES = {
    "draw": (TO_DRAW, {"from": "discard"}, 0),
    "meld": (OPEN, {"cards": ["5C", "5D", "5H"]}, 0),
    "layoff": (OPEN, {"meld": 1, "cards": ["8S"]}, 0),
    "swap": (JOKER, {"meld": 1, "card": "7C"}, 0),
    "discard": (OPEN, {"card": "KH"}, 0),
    "turn": (OPEN, {"plays": [], "discard": "KH"}, 0),
    "rummy": (CALLABLE | {"window": CallWindow(0, None)}, {"meld": 1}, 2),
}


@clause("table.7")
@pytest.mark.parametrize("move", MOVES)
def test_every_move_and_its_check_can_be_answered_with_it(house: House, move: str) -> None:
    position, body, seat = MOVES[move]
    table = house.position(**position)
    player = table.players[seat]
    before = memory_of(player)
    foretold = player.post(f"{move}?memory=true&check=true", body).json["game"]["memory"]
    assert memory_of(player) == before
    answer = player.post(f"{move}?memory=true", body)
    assert answer.status_code == 200, answer.text
    told = answer.json["game"]["memory"]
    assert told == foretold == memory_of(table.stranger)
    assert told != before or move in {"meld", "layoff"}


@clause("table.7")
def test_there_is_nothing_to_remember_before_the_start_and_after_the_end(house: House) -> None:
    table = house.waiting("straight", 2)
    assert [memory_of(watcher) for watcher in table.watchers] == [None, None]
    table = house.position(hands="5C 5D 5H | 2S 3S", pile="9D")
    ended = table.players[0].post("meld?memory=true", {"cards": ["5C", "5D", "5H"]})
    assert ended.json["game"]["status"] == "finished"
    assert ended.json["game"]["memory"] is None
    assert memory_of(table.stranger) is None


@clause("table.7")
def test_the_next_deal_begins_anew(house: House) -> None:
    table = house.position(hands="5C 5D 5H | 2S 3S", pile="9D", deals=2)
    ended = table.players[0].post("meld?memory=true", {"cards": ["5C", "5D", "5H"]})
    upcard = ended.json["game"]["deal"]["upcard"]
    assert ended.json["game"]["memory"] == {
        "taken": [[], []],
        "discards": [entry(None, upcard)],
    }


@clause("table.7")
def test_who_may_not_watch_is_not_told(house: House) -> None:
    table = house.waiting("straight", 2, taken=2, more={"spectators": False})
    answer = table.stranger.get("?memory=true")
    assert (answer.status_code, code(answer)) == (403, "no_spectators")
    assert memory_of(table.players[0])


@pytest.mark.parametrize("part", ["events?memory=true", "moves?memory=true", "score?memory=true"])
def test_it_is_part_of_a_view_and_of_nothing_else(house: House, part: str) -> None:
    assert code(house.position(**OPEN).players[0].get(part)) == "invalid_request"


@pytest.mark.parametrize(
    ("query", "answered"),
    [
        ("memory", "200"),
        ("memory=true", "200"),
        ("memory=false", "200"),
        ("memory=1", "invalid_request"),
        ("memory=True", "invalid_request"),
        ("memory=true&memory=true", "invalid_request"),
    ],
)
def test_it_is_asked_for_as_other_switches_are(house: House, query: str, answered: str) -> None:
    assert code(house.position(**OPEN).players[0].get(f"?{query}")) == answered


# -------------------------------------------------------------------------- versions and waiting


def test_who_has_this_version_is_told_that_nothing_is_new(house: House) -> None:
    table = house.position(**OPEN)
    player = table.players[0]
    seen = player.get("?memory=true")
    assert seen.headers["ETag"] == player.get().headers["ETag"]
    again = player.get("?memory=true", if_none_match=seen.headers["ETag"])
    assert (again.status_code, again.data) == (304, b"")
    player.play("discard KH")
    changed = player.get("?memory=true", if_none_match=seen.headers["ETag"])
    assert changed.json["memory"]["discards"][-1] == entry(0, "KH")


def test_who_waits_for_a_change_is_told_what_everybody_saw_of_it(house: House) -> None:
    table = house.position(**OPEN)
    tag = table.stranger.get().headers["ETag"]
    looked, discarded = at_once(
        lambda: table.stranger.get("?memory=true&wait=20", if_none_match=tag),
        lambda: table.players[0].play("discard KH"),
    )
    assert discarded.status_code == 200
    assert looked.json["memory"]["discards"][-1] == entry(0, "KH")


def test_who_waits_for_the_own_turn_is_told_what_everybody_saw_meanwhile(house: House) -> None:
    table = house.table("straight", 2, seed="waits")
    other, player = table.mover, next(p for p in table.players if p.seat != table.mover.seat)
    other.draw("stock")
    other.play(f"discard {other.look()['hand'][0]}")
    tag = player.draw("stock").headers["ETag"]
    card = player.look()["hand"][0]

    def answer_it() -> TestResponse:
        table.stranger.get("?wait=20", if_none_match=tag)
        assert other.draw("discard").status_code == 200
        kept = next(each for each in other.look()["hand"] if each != card)
        return other.play(f"discard {kept}")

    answered, _ = at_once(
        lambda: player.post("discard?memory=true&wait=20", {"card": card}), answer_it
    )
    game = answered.json["game"]
    assert game["deal"]["turn"] == player.seat
    assert card in game["memory"]["taken"][other.seat]
    assert game["memory"]["discards"][-2] == entry(player.seat, card, "taken", other.seat)


# --------------------------------------------------------------------------- where it is forbidden


def forbidden(answer: TestResponse) -> bool:
    return (answer.status_code, code(answer), answer.json["rule"]) == (409, "no_memory", "table.7")


@clause("table.7")
@pytest.mark.parametrize("variant", PRESETS)
def test_a_table_can_forbid_it_from_beginning_to_end(house: House, variant: str) -> None:
    table = house.waiting(variant, 2, memory=False)
    options = [item["option"] for item in table.stranger.look()["deviations"]]
    assert options == ["memory"]
    assert all(forbidden(watcher.get("?memory=true")) for watcher in table.watchers)
    table.seat(table.stranger.post("join", {"name": "bo"}))
    assert all(forbidden(watcher.get("?memory=true")) for watcher in table.watchers)
    assert all(watcher.get("?memory=false").status_code == 200 for watcher in table.watchers)
    for player in table.players:
        player.post("leave")
    assert table.stranger.look()["status"] == "finished"
    assert all(forbidden(watcher.get("?memory=true")) for watcher in table.watchers)


@clause("table.7")
def test_it_is_refused_at_once_and_not_after_the_wait(house: House) -> None:
    table = house.position(**OPEN, memory=False)
    tag = table.stranger.get().headers["ETag"]
    assert forbidden(table.stranger.get("?memory=true&wait=60", if_none_match=tag))


@clause("table.7")
@pytest.mark.parametrize("move", MOVES)
def test_a_move_that_asks_for_it_is_not_made(house: House, move: str) -> None:
    position, body, seat = MOVES[move]
    table = house.position(**position, memory=False)
    before = table.stored()
    for query in ("memory=true", "memory=true&check=true"):
        assert forbidden(table.players[seat].post(f"{move}?{query}", body))
    assert table.stored() == before
    assert table.players[seat].post(move, body).json["game"]["memory"] is None


@clause("table.7")
def test_a_repeat_of_a_move_is_not_a_way_to_ask(house: House) -> None:
    table = house.position(**OPEN, memory=False)
    player, sent = table.players[0], {"idempotency_key": "one"}
    assert forbidden(player.post("discard?memory=true", {"card": "KH"}, **sent))
    assert player.post("discard", {"card": "KH"}, **sent).status_code == 200
    before = table.stored()
    assert forbidden(player.post("discard?memory=true", {"card": "KH"}, **sent))
    assert table.stored() == before
    repeated = player.post("discard", {"card": "KH"}, **sent)
    assert repeated.headers["Idempotency-Replayed"] == "true"


@clause("table.7")
def test_a_repeat_may_ask_for_it_where_it_is_allowed(house: House) -> None:
    table = house.position(**OPEN)
    player, sent = table.players[0], {"idempotency_key": "one"}
    assert player.post("discard", {"card": "KH"}, **sent).json["game"]["memory"] is None
    repeated = player.post("discard?memory=true", {"card": "KH"}, **sent)
    assert repeated.headers["Idempotency-Replayed"] == "true"
    assert repeated.json["game"]["memory"] == memory_of(table.stranger)


@clause("table.7", "table.6")
def test_computers_play_the_same_whatever_the_option_says(house: House) -> None:
    stories = []
    for memory in (True, False):
        table = house.waiting(
            "parlett",
            3,
            more={"computers": ["sharp", "sharp"], "practice": {"seed": "same"}},
            memory=memory,
        )
        chance = Random(1)
        while (view := table.players[0].look())["status"] == "playing":
            assert table.players[0].make(choose(view, chance, 0)).status_code == 200
        told = [entry["event"] for entry in table.stranger.log()]
        # Commitments are of the game, so they differ.
        stories.append([one for one in told if one["type"] not in {"committed", "revealed"}])
    assert stories[0] == stories[1]
    assert len(stories[0]) > 20


@clause("table.7")
def test_a_rematch_is_played_from_memory_too(house: House) -> None:
    table = house.waiting("straight", 2, taken=2, memory=False)
    for player in table.players:
        player.post("leave")
    again = table.players[0].post("rematch").json["game"]
    assert again["options"]["memory"] is False


# ------------------------------------------------------------------------------ it is the log's


@clause("table.7")
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("straight", {}),
        ("seven-card", {"jokers": 4, "layoffs": "any"}),
        ("parlett", {"jokers": 4}),
        ("call-rummy", {"jokers": 2}),
        ("straight", {"decks": 2, "jokers": 6, "turnover": "last_card"}),
    ],
)
def test_with_computers_and_calls_it_is_what_every_reader_of_the_log_knows(
    timed_house: House, clock: Clock, variant: str, options: dict
) -> None:
    table = timed_house.waiting(
        variant,
        3,
        taken=2,
        more={"autostart": False, "practice": {"seed": f"books {variant}"}},
        **options,
    )
    table.players[0].post("computers", {"levels": ["sharp"]})
    assert table.players[0].post("start").status_code == 200
    chance = Random(variant)
    books = {watcher.seat: Ledger(watcher.seat) for watcher in table.watchers}
    for _ in range(60):
        movers = [player for player in table.players if player.look()["moves"]]
        if table.stranger.look()["status"] == "finished":
            break
        if not movers:  # a computer lets people call
            clock.forward(6)
            continue
        player = chance.choice(movers)
        move = choose(player.look(), chance, 1)
        answer = player.post(f"{move['move']}?memory=true", move)
        assert answer.status_code == 200, answer.text
        for watcher in table.watchers:
            book = books[watcher.seat]
            book.enter(watcher.log(after=book.read))
            book.agrees_with(watcher.get("?memory=true").json)
        books[player.seat].agrees_with(answer.json["game"])


# ------------------------------------------------------------------------------ records of before


@clause("table.7")
def test_a_match_stored_before_there_was_a_memory_goes_on_and_is_remembered_from_then_on(
    house: House,
) -> None:
    table = house.position(**TO_DRAW)
    key = f"rummy:{{{table.id}}}:game"
    record = msgspec.json.decode(house.redis.hget(key, "record"))
    match = record["game"]["match"]
    del match["rules"]["memory"]
    del match["deal"]["discards"]
    match["deal"]["thrown"] = [[1, "JS"], [0, "9D"]]
    house.redis.hset(key, "record", msgspec.json.encode(record))
    assert memory_of(table.stranger) == {"taken": [[], []], "discards": []}
    assert table.players[0].play("take 9D").status_code == 200
    assert table.players[0].play("discard KH").status_code == 200
    assert memory_of(table.stranger) == {"taken": [["9D"], []], "discards": [entry(0, "KH")]}

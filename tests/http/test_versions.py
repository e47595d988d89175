"""Versions: ETag on what is answered, If-Match on what is asked, 304 where nothing is new."""

import pytest

from service.rummy.model import CallWindow
from tests.http.tables import code


def test_the_etag_is_the_version(house):
    table = house.table("straight")
    mover = table.mover
    assert table.stranger.get().headers["ETag"] == '"2"'
    answer = mover.draw("stock")
    assert (answer.json["version"], answer.headers["ETag"]) == (3, '"3"')
    assert mover.get("moves").headers["ETag"] == '"3"'


def test_each_change_makes_one_version_more_and_a_refusal_none(house):
    table = house.waiting("straight", 2)
    assert table.stranger.look()["version"] == 1
    table.seat(table.stranger.post("join", {"name": "bo"}))
    assert table.stranger.look()["version"] == 2
    assert code(table.mover.post("discard", {"card": "AS"})) == "draw_first"
    assert table.stranger.look()["version"] == 2


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ('"2"', "200"),
        ('W/"2"', "200"),
        (' "2" ', "200"),
        ("*", "200"),
        ('"1"', "stale_version"),
        ('"3"', "stale_version"),
        ('"0"', "stale_version"),
        ('"999999999999999"', "stale_version"),
        ("2", "bad_version"),
        ('"two"', "bad_version"),
        ('"-2"', "bad_version"),
        ('"2', "bad_version"),
        ('""', "bad_version"),
        ("", "bad_version"),
        ('"9999999999999999999999"', "bad_version"),
        ('"2"x', "bad_version"),
        ("²", "bad_version"),
        ("\x7f", "bad_version"),
    ],
)
def test_a_move_for_one_version(house, sent, answered):
    table = house.table("straight")
    assert code(table.mover.draw("stock", if_match=sent)) == answered


def test_a_move_for_a_version_that_is_gone_tells_which_one_it_is_now(house):
    table = house.table("straight")
    refused = table.mover.draw("stock", if_match='"1"')
    assert refused.status_code == 412
    assert refused.json["params"] == {"version": 2, "expected": 1}


def test_every_change_can_be_pinned(house):
    waiting = house.waiting("straight", 3, taken=2)
    assert code(waiting.stranger.post("join", {"name": "eva"}, if_match='"1"')) == "stale_version"
    assert code(waiting.players[0].post("start", if_match='"1"')) == "stale_version"
    table = house.position("call-rummy", hands="5C 5D 5H 7S KH | 2S 3S", melds="0: 7C 7D 7H")
    for text in ("meld 5C 5D 5H", "layoff 1 7S", "discard KH", "rummy 1", "draw", "swap 1 7C"):
        assert code(table.players[0].play(text, if_match='"1"')) == "stale_version"
    turn = {"plays": [], "discard": "KH"}
    assert code(table.players[0].post("turn", turn, if_match='"1"')) == "stale_version"


def test_the_version_is_looked_at_before_the_rules(house):
    table = house.table("straight")
    waits = next(player for player in table.players if player.seat != table.mover.seat)
    assert code(waits.draw("stock")) == "not_your_turn"
    assert code(waits.draw("stock", if_match='"1"')) == "stale_version"


def test_who_has_no_seat_is_told_so_whatever_the_version(house):
    table = house.table("straight")
    for sent in ('"1"', '"2"'):
        assert code(table.stranger.draw("stock", if_match=sent)) == "no_token"


# ---------------------------------------------------------------------------------- 304


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ('"2"', 304),
        ('W/"2"', 304),
        ('"1", "2"', 304),
        ('"1",W/"2" , "5"', 304),
        ('"1"', 200),
        ('"3"', 200),
        ("2", 200),
        ('"two"', 200),
        ('"22"', 200),
        ("", 200),
        ('"' + "9" * 3000 + '"', 200),
    ],
)
def test_who_has_this_version_is_told_that_nothing_is_new(house, sent, answered):
    table = house.table("straight")
    for watcher in table.watchers:
        answer = watcher.get(if_none_match=sent)
        assert answer.status_code == answered
        assert answer.headers["ETag"] == '"2"'
        assert answer.headers["Vary"] == "Authorization"
        assert "no-cache" in answer.headers["Cache-Control"]
        assert (answer.data == b"") == (answered == 304)


def test_a_change_is_seen_by_everybody_who_polls(house):
    table = house.table("straight")
    seen = table.stranger.get().headers["ETag"]
    table.mover.draw("stock")
    for watcher in table.watchers:
        assert watcher.get(if_none_match=seen).status_code == 200
        assert watcher.get(if_none_match='"3"').status_code == 304


def test_a_token_that_opens_nothing_is_refused_even_where_nothing_is_new(house):
    table = house.table("straight")
    assert table.stranger.get(if_none_match='"2"', authorization="Bearer x").status_code == 401


def test_answers_that_are_nobody_elses_are_not_to_be_kept(house):
    table = house.table("straight")
    for answer in (
        table.mover.draw("stock"),
        table.players[0].get("events"),
        table.stranger.post("join", {"name": "eva"}),
        house.new_table("straight", options={"deals": 1}),
    ):
        assert answer.headers["Cache-Control"] == "no-store"


# ------------------------------------------------------------------------------ the timed call


CALLABLE = {
    "variant": "call-rummy",
    "phase": "draw",
    "turn": 1,
    "hands": "KD QD | 2S 3S",
    "pile": "2C 8C",
    "melds": "1: 8D 8H 8S",
    "call": "timed",
    "call_seconds": 9,
}


def test_a_call_closes_by_the_clock_alone_and_no_304_hides_it(timed_house, clock):
    table = timed_house.position(**CALLABLE, window=CallWindow(0, clock.now + 9_000))
    before = table.players[1].get()
    assert before.json["deal"]["call"]["melds"] == [1]
    assert [move["move"] for move in before.json["moves"]] == ["rummy"]
    clock.forward(8.999)
    assert code(table.players[1].draw("stock")) == "call_pending"
    clock.forward(0.001)
    after = table.players[1].get(if_none_match=before.headers["ETag"])
    assert after.status_code == 200
    assert after.json["version"] == before.json["version"]
    assert after.json["deal"]["call"] is None
    assert {move["move"] for move in after.json["moves"]} == {"draw"}
    assert code(table.players[1].play("rummy 1")) == "call_closed"
    assert code(table.players[1].draw("stock")) == "200"


def test_who_has_seen_that_the_call_closed_is_not_told_again(timed_house, clock):
    table = timed_house.position(**CALLABLE, window=CallWindow(0, clock.now + 9_000))
    before = table.players[1].get()
    clock.forward(10)
    closed = table.players[1].get(if_none_match=before.headers["ETag"])
    assert closed.headers["ETag"] == before.headers["ETag"][:-1] + '+"'
    assert closed.json["version"] == before.json["version"]
    again = table.players[1].get(if_none_match=closed.headers["ETag"])
    assert (again.status_code, again.headers["ETag"]) == (304, closed.headers["ETag"])
    moved = table.players[1].draw("stock", if_match=closed.headers["ETag"])
    assert moved.status_code == 200


def test_once_the_call_is_settled_304_is_back(timed_house, clock):
    table = timed_house.position(**CALLABLE, window=CallWindow(0, clock.now + 9_000))
    called = table.players[1].play("rummy 1")
    assert called.status_code == 200
    seen = called.headers["ETag"]
    assert table.players[1].get(if_none_match=seen).status_code == 304


def test_a_timed_call_says_until_when(timed_house, clock):
    table = timed_house.position(
        **CALLABLE | {"turn": 0, "phase": "play", "hands": "8C KD | 2S 3S", "pile": "2C"}
    )
    clock.now = 1_800_000_000_000
    call = table.players[0].play("discard 8C").json["game"]["deal"]["call"]
    assert call["closes_at"] == "2027-01-15T08:00:09Z"
    refused = table.players[1].draw("stock")
    assert refused.json["params"] == {"seconds": 9, "upcard": "8C"}


def test_a_call_until_the_next_draw_is_kept_by_its_version(house):
    untimed = CALLABLE | {"call": "next_draw", "call_seconds": None}
    table = house.position(**untimed, window=CallWindow(0, None))
    seen = table.players[1].get()
    assert seen.json["deal"]["call"]["closes_at"] is None
    assert table.players[1].get(if_none_match=seen.headers["ETag"]).status_code == 304

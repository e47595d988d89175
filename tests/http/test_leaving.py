"""Leaving, before the start and during play, and coming back: nobody else's turn is touched."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from werkzeug.test import TestResponse

from service.rummy.model import CallWindow
from service.rummy.rules import PRESETS
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import House, Player, Table, assert_no_card_is_lost, code
from tests.http.test_races import again_and_again, at_once, codes
from tests.positions import CALLABLE, position
from tests.turn_order import TurnOrder

FIFTH = "5C 5D 5H"


def happened(entries: list[dict]) -> list[str]:
    return [entry["event"]["type"] for entry in entries]


def names(view: dict) -> list[str]:
    return [seat["name"] for seat in view["seats"]]


def listed(house: House, table: Table) -> bool:
    """Whether the table is in the list of open tables."""
    tables, following = [], ""
    while following is not None:
        cursor = f"&cursor={following}" if following else ""
        page = house.client().get(f"/v1/games?limit=100{cursor}").json
        tables += [found["id"] for found in page["tables"]]
        following = page["next"]
    return table.id in tables


def assert_order_of_turns(table: Table, first: int | None = None) -> None:
    """The log from its beginning, or from the turn of the seat `first` in an unwritten deal."""
    order = TurnOrder(len(table.stranger.look()["seats"]))
    if first is not None:
        order.deal, order.turn, order.dealer = 1, first, (first - 1) % order.players
    for entry in table.stranger.log():
        order.read(entry["event"])


# ------------------------------------------------------------------------------ before the start


@pytest.mark.clause("table.3")
@pytest.mark.parametrize("leaver", [1, 2, 3])
def test_before_the_start_the_seats_behind_move_up_with_their_tokens(house, leaver):
    table = house.waiting("straight", 6, taken=4)
    answer = table.players[leaver].post("leave")
    assert happened(answer.json["events"]) == ["left"]
    assert answer.json["game"]["you"] is None
    left = ["ada", "bo", "cleo", "dan"]
    del left[leaver]
    stayed = [player for player in table.players if player.seat != leaver]
    for seat, player in enumerate(stayed):
        view = player.look()
        assert (view["you"], names(view)) == (seat, left)
        assert [taken["seat"] for taken in view["seats"]] == [0, 1, 2]
    late = table.stranger.post("join", {"name": "eva"})
    assert (late.json["seat"], names(late.json["game"])) == (3, [*left, "eva"])


@pytest.mark.clause("table.3")
def test_the_token_of_who_left_opens_nothing(house):
    table = house.waiting("straight", 3, taken=2)
    player = table.players[1]
    player.post("leave")
    asked = [player.get(part) for part in ("", "events", "moves", "score")]
    asked += [player.post(part) for part in ("leave", "return", "start", "close", "rematch")]
    asked += [player.draw("stock"), player.post("remove", {"seat": 0})]
    assert {code(answer) for answer in asked} == {"not_your_seat"}
    assert house.client().post("/v1/games/query", json={"tokens": [player.token]}).json == {
        "games": [],
        "gone": [0],
    }


@pytest.mark.clause("table.3")
def test_the_hosts_part_passes_on_to_the_next_person(house):
    table = house.waiting("straight", 5, taken=1, more={"autostart": False})
    assert table.players[0].post("computers", {"levels": ["steady", "random"]}).status_code == 200
    for name in ("bo", "cleo"):
        table.seat(table.stranger.post("join", {"name": name}))
    assert table.players[0].post("leave").status_code == 200
    view = table.stranger.look()
    assert [seat["name"] for seat in view["seats"] if seat["host"]] == ["bo"]
    assert code(table.players[2].post("start")) == "not_the_host"
    assert table.players[1].post("remove", {"seat": 0}).status_code == 200
    assert table.players[1].post("start").status_code == 200
    assert_order_of_turns(table)


@pytest.mark.clause("table.3")
@pytest.mark.parametrize("computers", [[], ["sharp", "steady"]], ids=["alone", "with computers"])
def test_the_last_person_closes_the_table(house, computers):
    table = house.waiting("straight", 5, more={"public": True, "autostart": False})
    if computers:
        table.players[0].post("computers", {"levels": computers})
    assert listed(house, table)
    answer = table.players[0].post("leave")
    assert happened(answer.json["events"]) == ["left", "closed"]
    assert answer.json["game"]["status"] == "closed"
    assert not listed(house, table)
    assert code(table.stranger.post("join", {"name": "eva"})) == "table_closed"
    assert table.stranger.look()["status"] == "closed"


@pytest.mark.clause("table.3")
def test_a_full_table_that_somebody_leaves_is_in_the_list_again(house):
    table = house.waiting("straight", 2, more={"public": True, "autostart": False})
    assert listed(house, table)
    table.seat(table.stranger.post("join", {"name": "bo"}))
    assert not listed(house, table)
    table.players[1].post("leave")
    assert listed(house, table)
    table.seat(table.stranger.post("join", {"name": "cleo"}))
    table.players[0].post("remove", {"seat": 1})
    assert listed(house, table)


@pytest.mark.clause("table.3")
def test_the_last_seat_taken_after_somebody_left_begins_the_match(house):
    table = house.waiting("straight", 3, taken=2)
    table.players[1].post("leave")
    table.seat(table.stranger.post("join", {"name": "cleo"}))
    assert table.stranger.look()["status"] == "waiting"
    table.seat(table.stranger.post("join", {"name": "dan"}))
    view = table.stranger.look()
    assert (view["status"], names(view)) == ("playing", ["ada", "cleo", "dan"])
    book = Ledger(None)
    book.enter(table.stranger.log())
    book.agrees_with(view)


@pytest.mark.clause("table.3")
@pytest.mark.parametrize("who", ["a person", "a computer"])
def test_the_host_removes(house, who):
    table = house.waiting("straight", 4, taken=2, more={"autostart": False})
    table.players[0].post("computers", {"levels": ["steady"]})
    seat = 1 if who == "a person" else 2
    answer = table.players[0].post("remove", {"seat": seat})
    assert happened(answer.json["events"]) == ["removed"]
    assert len(answer.json["game"]["seats"]) == 2
    token_opens = code(table.players[1].get()) == "200"
    assert token_opens == (who == "a computer")


@pytest.mark.clause("table.3")
def test_a_removal_that_says_who_is_meant_hits_nobody_who_has_moved_up(house):
    table = house.waiting("straight", 4, taken=3)
    table.players[1].post("leave")
    stored = table.stored()
    assert code(table.players[0].post("remove", {"seat": 1, "name": "bo"})) == "no_such_seat"
    assert table.stored() == stored
    answer = table.players[0].post("remove", {"seat": 1, "name": "cleo"})
    assert names(answer.json["game"]) == ["ada"]


@pytest.mark.clause("table.3")
@again_and_again
def test_a_leaver_against_the_removal_of_the_same_and_of_the_next(house, trial):
    table = house.waiting("straight", 5, taken=4)
    host = table.players[0]
    answers = at_once(
        lambda: table.players[1].post("leave"),
        lambda: host.post("remove", {"seat": 1, "name": "bo"}),
        lambda: table.twin(host).post("remove", {"seat": 2, "name": "cleo"}),
    )
    assert set(codes(answers)) <= {"200", "no_such_seat", "not_your_seat"}
    sitting = names(table.stranger.look())
    assert "bo" not in sitting
    assert {"ada", "dan"} <= set(sitting)
    assert ("cleo" in sitting) == (answers[2].status_code != 200)


@pytest.mark.clause("table.3")
def test_a_closed_table_is_as_it_was_and_nobody_comes_in(house):
    table = house.waiting("straight", 3, taken=2, more={"public": True})
    host, guest = table.players
    assert code(guest.post("close")) == "not_the_host"
    answer = host.post("close")
    assert happened(answer.json["events"]) == ["closed"]
    assert names(answer.json["game"]) == ["ada", "bo"]
    assert not listed(house, table)
    before = table.stored()
    again = host.post("close")
    assert (again.status_code, again.json["events"]) == (200, [])
    closed = {
        "join": lambda: table.stranger.post("join", {"name": "eva"}),
        "start": lambda: host.post("start"),
        "computers": lambda: host.post("computers", {"levels": ["steady"]}),
        "remove": lambda: host.post("remove", {"seat": 1}),
        "leave": lambda: guest.post("leave"),
        "return": lambda: guest.post("return"),
        "rematch": lambda: guest.post("rematch"),
        "draw": lambda: guest.draw("stock"),
    }
    assert {wish: code(ask()) for wish, ask in closed.items()} == dict.fromkeys(
        closed, "table_closed"
    )
    assert table.stored() == before
    assert guest.look()["status"] == "closed"


@pytest.mark.clause("table.3", "table.4")
def test_once_the_match_has_begun_the_seats_are_fixed(house):
    table = house.table("straight", 3)
    host = table.players[0]
    before = table.stored()
    for part, body in (
        ("remove", {"seat": 1}),
        ("remove", {"seat": 7}),
        ("close", None),
        ("start", None),
        ("computers", {"levels": ["steady"]}),
        ("join", {"name": "eva"}),
    ):
        assert code(host.post(part, body)) == "already_started", part
    assert table.stored() == before


@pytest.mark.clause("table.3")
@again_and_again
def test_a_leaver_against_a_join_against_a_start(house, trial):
    table = house.waiting("straight", 4, taken=3, more={"autostart": False})
    left, joined, started = at_once(
        lambda: table.players[1].post("leave"),
        lambda: table.stranger.post("join", {"name": "eva"}),
        lambda: table.players[0].post("start"),
    )
    assert (code(left), code(started)) == ("200", "200")
    assert code(joined) in {"201", "already_started"}
    view = table.stranger.look()
    assert view["status"] == "playing"
    sitting = names(view)
    if joined.status_code == 201:
        assert "eva" in sitting
    away = [seat["name"] for seat in view["seats"] if seat["away"]]
    assert ("bo" in sitting) == (away == ["bo"])
    book = Ledger(None)
    book.enter(table.stranger.log())
    book.agrees_with(view)


@pytest.mark.clause("table.3")
@again_and_again
def test_all_leave_at_once_before_the_start(house, trial):
    table = house.waiting("straight", 5, taken=4, more={"public": True})
    answers = at_once(*(lambda player=player: player.post("leave") for player in table.players))
    assert codes(answers) == {"200": 4}
    log = table.stranger.log()
    assert happened(log)[-5:] == ["left"] * 4 + ["closed"]
    assert table.stranger.look()["seats"] == []
    assert not listed(house, table)


# ------------------------------------------------------------------------------- during play

# fmt: off
MOMENTS: dict[str, tuple[dict, tuple[str, ...]]] = {
    "before the draw": ({}, ()),
    "after a draw from the stock": ({}, ("draw",)),
    "after a draw from the pile": ({}, ("take",)),
    "with a meld laid": ({}, ("draw", f"meld {FIFTH}")),
    "with a meld laid and the upcard in the hand": ({}, ("take", f"meld {FIFTH}")),
    "with a layoff made": ({"melds": "1: 7C 7D 7H"}, ("draw", "layoff 1 7S")),
    "with another meld in the hand": ({"hands": f"{FIFTH} 8C 8D 8H KH | 2S 3D 4H | TS QS JD"},
                                      ("draw", f"meld {FIFTH}")),
    "with nothing but the upcard left that could be laid off": (
        {"hands": f"{FIFTH} | 2S 3D 4H | TS QS JD", "pile": "9D", "melds": "0: 9C 9H 9S"},
        ("take", f"meld {FIFTH}")),
    "with one card that must be discarded": (
        {"hands": f"{FIFTH} | 2S 3D 4H | TS QS JD", "final_discard": True},
        ("draw", f"meld {FIFTH}")),
    "with the stock used up": ({"stock": "", "pile": "9D 4C"}, ()),
    "with only the upcard to draw": ({"stock": "", "pile": "9D"}, ()),
    "in the last turn that a deal may have": ({"turns": 999}, ("draw",)),
}
# fmt: on
HANDS = f"{FIFTH} 7S KH | 2S 3D 4H | TS QS JD"


@pytest.mark.clause("table.4")
@pytest.mark.parametrize("variant", PRESETS)
@pytest.mark.parametrize(("written", "played"), MOMENTS.values(), ids=MOMENTS)
def test_who_is_on_turn_leaves_and_the_next_is_to_move(house, variant, written, played):
    if variant == "seven-card" and "melds" in written:
        written = written | {"melds": written["melds"].replace("1:", "0:")}
    match = position(variant, **{"hands": HANDS, "phase": "draw", "pile": "9D"} | written)
    table = house.at(match)
    for move in played:
        assert table.players[0].play(move).status_code == 200, move
    before = table.stranger.look()
    answer = table.players[0].post("leave")
    view = answer.json["game"]
    assert happened(answer.json["events"])[0] == "left"
    assert view["version"] == before["version"] + 1
    assert names(view) == names(before)
    assert [seat["away"] for seat in view["seats"]] == ["left", None, None]
    assert_order_of_turns(table, first=0)
    if view["status"] == "finished":  # the computer went out, or the deal was blocked
        assert happened(answer.json["events"])[-2:] == ["deal_ended", "match_ended"]
        assert view["result"]["reason"] == "deals_played"
        return
    assert (view["deal"]["turn"], view["deal"]["phase"]) == (1, "draw")
    assert happened(answer.json["events"]).count("discarded") == 1
    assert happened(answer.json["events"]).count("drew") == (before["deal"]["phase"] == "draw")
    for meld, now in zip(before["deal"]["melds"], view["deal"]["melds"], strict=False):
        assert (now["id"], now["owner"]) == (meld["id"], meld["owner"])
        assert set(meld["cards"]) <= set(now["cards"])
    (*_, draw) = table.players[1].look()["moves"]
    assert (draw["move"], table.players[1].make(draw).status_code) == ("draw", 200)
    assert code(table.players[0].draw("stock")) == "seat_away"


@pytest.mark.clause("table.4")
@pytest.mark.parametrize("variant", PRESETS)
@pytest.mark.parametrize("phase", ["draw", "play"])
@pytest.mark.parametrize("leaver", [1, 2])
def test_who_is_not_on_turn_leaves_and_nothing_moves(house, variant, phase, leaver):
    """Seat 2 is the dealer."""
    table = house.at(position(variant, hands=HANDS, pile="9D", phase=phase))
    before = table.players[0].look()
    answer = table.players[leaver].post("leave")
    assert happened(answer.json["events"]) == ["left"]
    after = table.players[0].look()
    for part in ("deal", "hand", "moves", "totals"):
        assert after[part] == before[part], part
    if phase == "draw":
        table.players[0].draw("stock")
    answer = table.players[0].play("discard KH")
    turn = answer.json["game"]["deal"]["turn"]
    assert turn == (2 if leaver == 1 else 1)
    assert_no_card_is_lost(table.game())


@pytest.mark.clause("table.4")
def test_several_who_leave_are_all_played_for(house):
    table = house.table("seven-card", 8, seed="many leave")
    gone = [player for player in table.players if player is not table.players[0]]
    for player in gone[:6]:
        assert player.post("leave").status_code == 200
    view = table.stranger.look()
    assert [seat["away"] for seat in view["seats"]] == [None, *["left"] * 6, None]
    assert view["deal"]["turn"] in {0, 7}
    assert_order_of_turns(table)
    assert_no_card_is_lost(table.game())


@pytest.mark.clause("table.4")
def test_the_leaver_still_sees_the_own_hand_and_has_no_moves(house):
    table = house.at(position(hands=HANDS, pile="9D", turn=1, phase="draw"))
    leaver = table.players[0]
    assert sorted(leaver.post("leave").json["game"]["hand"]) == sorted(HANDS.split()[:5])
    view = leaver.look()
    assert (view["you"], view["moves"], view["moves_truncated"]) == (0, [], False)


@pytest.mark.clause("table.4")
def test_who_is_away_is_offered_no_call_that_would_be_refused(house):
    """The list of moves and what is accepted agree for who is away, too."""
    match = position(
        **CALLABLE,
        window=CallWindow(0, None),
    )
    table = house.at(match)
    caller = table.players[2]
    (call,) = caller.get("moves").json["moves"]
    caller.post("leave")
    assert (caller.get("moves").json["moves"], caller.look()["moves"]) == ([], [])
    assert code(caller.make(call)) == "seat_away"
    queried = house.client().post("/v1/games/query", json={"tokens": [caller.token]}).json
    assert [game["can_act"] for game in queried["games"]] == [False]
    caller.post("return")
    assert caller.make(call).status_code == 200


@pytest.mark.clause("table.4")
def test_what_a_leaver_draws_and_holds_is_shown_to_nobody(house):
    table = house.table("straight", 3, seed="hidden")
    leaver = table.mover
    leaver.post("leave")
    other = next(player for player in table.players if player is not leaver)
    for _ in range(3):
        mover = table.mover
        move = next(m for m in mover.draw("stock").json["game"]["moves"] if m["move"] == "discard")
        mover.make(move)
    for player in (other, table.stranger):
        events = [entry["event"] for entry in player.log()]
        drawn = [e for e in events if e["type"] == "drew" and e["seat"] == leaver.seat]
        assert len(drawn) > 1
        assert all((e["card"] is None) == (e["source"] == "stock") for e in drawn)
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())


# -------------------------------------------------------------------------------- coming back


@pytest.mark.clause("table.4")
@pytest.mark.parametrize("variant", PRESETS)
def test_who_returns_plays_on_from_the_own_seat(house, variant):
    table = house.table(variant, 3, seed="back")
    leaver = table.mover
    leaver.post("leave")
    melds = table.stranger.look()["deal"]["melds"]
    answer = leaver.post("return")
    view = answer.json["game"]
    assert happened(answer.json["events"]) == ["returned"]
    assert view["you"] == leaver.seat
    assert [seat["away"] for seat in view["seats"]] == [None] * 3
    assert view["deal"]["melds"] == melds
    turns = []
    for _ in range(6):
        mover = table.mover
        turns.append(mover.seat)
        moves = mover.draw("stock").json["game"]["moves"]
        mover.make(next(move for move in moves if move["move"] == "discard"))
    assert turns == [(leaver.seat + 1 + turn) % 3 for turn in range(6)]
    assert_order_of_turns(table)


NOTHING_HAPPENS: dict[str, tuple[tuple[str, ...], str]] = {
    "leaving twice": (("leave",), "leave"),
    "returning without having left": ((), "return"),
    "returning twice": (("leave", "return"), "return"),
}


@pytest.mark.clause("table.4")
@pytest.mark.parametrize(("before", "wish"), NOTHING_HAPPENS.values(), ids=NOTHING_HAPPENS)
def test_the_second_click_does_nothing(house, before, wish):
    table = house.table("straight", 3)
    player = next(player for player in table.players if player is not table.mover)
    for part in before:
        player.post(part)
    stored = table.stored()
    answer = player.post(wish)
    assert (answer.status_code, answer.json["events"]) == (200, [])
    assert table.stored() == stored


@pytest.mark.clause("table.4")
@again_and_again
@pytest.mark.parametrize("wish", ["leave", "return"])
def test_two_clicks_at_once_count_once(house, wish, trial):
    table = house.table("straight", 3)
    player = table.mover
    if wish == "return":
        player.post("leave")
    version = table.game().version
    answers = at_once(*(lambda: table.twin(player).post(wish),) * 4)
    assert codes(answers) == {"200": 4}
    assert [bool(answer.json["events"]) for answer in answers].count(True) == 1
    assert table.game().version == version + 1
    assert_order_of_turns(table)


@pytest.mark.clause("table.4")
@pytest.mark.parametrize("wish", ["leave", "return"])
def test_after_the_match_there_is_nothing_to_leave(house, wish):
    table = house.at(position(hands=f"{FIFTH} | 2S 3S | TS 9S"))
    table.players[0].play(f"meld {FIFTH}")
    stored = table.stored()
    for player in table.players:
        answer = player.post(wish)
        assert (code(answer), answer.json["rule"]) == ("match_over", "common.8")
    assert table.stored() == stored


def test_before_the_start_there_is_nothing_to_return_to(house):
    table = house.waiting("straight", 3, taken=2)
    assert code(table.players[1].post("return")) == "not_started"


@pytest.mark.clause("table.4", "table.6")
def test_who_returns_while_the_computer_waits_for_a_call_plays_the_turn(timed_house, clock):
    match = position(
        **CALLABLE,
        window=CallWindow(0, None, clock.now),
    )
    table = timed_house.at(match)
    left = table.players[1].post("leave").json["game"]
    assert (left["deal"]["turn"], left["deal"]["phase"], left["moves"]) == (1, "draw", [])
    clock.forward(4.999)
    back = table.players[1].post("return").json["game"]
    assert [move["move"] for move in back["moves"]] == ["rummy", "draw", "draw"]
    clock.forward(3_600)
    assert table.players[1].draw("stock").status_code == 200
    assert_order_of_turns(table, first=1)


@pytest.mark.clause("table.4", "table.6")
def test_who_leaves_and_returns_does_not_make_the_others_wait_anew(timed_house, clock):
    match = position(
        **CALLABLE,
        window=CallWindow(0, None, clock.now),
    )
    table = timed_house.at(match)
    for _ in range(5):
        assert table.players[1].post("leave").json["game"]["deal"]["turn"] == 1
        clock.forward(0.5)
        assert table.players[1].post("return").json["game"]["deal"]["turn"] == 1
        clock.forward(0.4)
    table.players[1].post("leave")
    clock.forward(0.5)
    assert table.stranger.look()["deal"]["turn"] == 2


# ------------------------------------------------------------------------------ everybody goes


@pytest.mark.clause("table.5")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_when_all_have_left_the_match_is_abandoned_and_nobody_wins(house, order):
    match = position(
        hands=HANDS, pile="9D", phase="draw", totals=(20, 5, 0), deals=None, target=900, number=3
    )
    table = house.at(match)
    for seat in order[:2]:
        assert table.players[seat].post("leave").json["game"]["status"] == "playing"
    answer = table.players[order[2]].post("leave")
    view = answer.json["game"]
    assert (view["status"], view["deal"], view["totals"]) == ("finished", None, [20, 5, 0])
    assert view["result"] == {
        "reason": "abandoned",
        "winners": [],
        "tie": False,
        "totals": [20, 5, 0],
    }
    assert happened(answer.json["events"]) == ["left", "match_ended"]
    assert table.stranger.get("score").json["deals"] == []
    for player in table.players:
        for answer in (player.post("return"), player.post("leave"), player.draw("stock")):
            assert code(answer) == "match_over"


@pytest.mark.clause("table.5")
def test_one_person_with_computers_leaves_and_the_match_is_over(house):
    levels = ["random", "steady", "random"]
    table = house.waiting("straight", 4, more={"computers": levels}, deals=50)
    view = table.players[0].post("leave").json["game"]
    assert (view["status"], view["result"]["reason"]) == ("finished", "abandoned")
    assert_order_of_turns(table)


@pytest.mark.clause("table.5")
@again_and_again
def test_all_leave_at_once_during_play(house, trial):
    table = house.table("straight", 4)
    answers = at_once(*(lambda player=player: player.post("leave") for player in table.players))
    assert codes(answers) == {"200": 4}
    log = happened(table.stranger.log())
    assert (log.count("left"), log.count("match_ended"), log[-1]) == (4, 1, "match_ended")
    assert table.stranger.look()["result"]["reason"] == "abandoned"
    assert_order_of_turns(table)


# ------------------------------------------------------------------------- all kinds of orders


@pytest.mark.clause("table.1", "table.4")
@pytest.mark.parametrize("number", range(12))
def test_people_leave_and_return_while_others_play(timed_house, clock, number):
    """Held against the log alone: the turns go round, and what each may see adds up."""
    chance = Random(f"come and go {number}")
    variant = list(PRESETS)[number % 4]
    table = timed_house.table(
        variant,
        chance.choice([3, 4]),
        seed=f"come and go {number}",
        turn_seconds=60,
        away_after=2,
        deals=50,
        hand_size=5,
    )
    done = set()
    for _ in range(30):
        if table.game().status != "playing":  # too many let their turns pass
            break
        player = chance.choice(table.players)
        wish = chance.choice(["leave", "return", "return", "time", *["move"] * 8])
        if wish == "time":
            clock.forward(chance.choice([4, 61]))
        elif wish == "move":
            player = table.mover
            make_a_move(player, chance)
        elif sum(not seat.away for seat in table.game().seats) > 1 or wish == "return":
            assert code(player.post(wish)) == "200"
        done.add(wish)
    assert done >= {"leave", "return", "move"}
    game = table.game()
    assert game.status == "playing" or game.match.result.reason == "abandoned"
    assert_no_card_is_lost(game)
    assert_order_of_turns(table)
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())


def make_a_move(player: Player, chance: Random) -> None:
    view = player.look()
    if view["moves"]:
        assert code(player.make(choose(view, chance))) == "200"


@pytest.mark.clause("table.4")
def test_eight_windows_leave_return_and_play_at_the_same_time(house):
    """Each seat from two windows, all at once."""
    table = house.table("straight", 4, deals=500, hand_size=4)
    answers: list[TestResponse] = []

    def play(place: int) -> None:
        player = table.twin(table.players[place % 4])
        chance = Random(place)
        wishes: list[Callable[[], TestResponse]] = [
            lambda: player.post("leave"),
            lambda: player.post("return"),
        ]
        for _ in range(30):
            # Seat 0 stays, so that the match goes on.
            if chance.random() < 0.3 and place % 4:
                answers.append(chance.choice(wishes)())
            view = player.look()
            if view["moves"]:
                answers.append(player.make(choose(view, chance)))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(play, range(8)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert codes(answers)["200"] > 20
    assert table.game().status == "playing"
    assert_no_card_is_lost(table.game())
    assert_order_of_turns(table)
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())

"""Computer players at the table: when they come, how they move, and when they wait for people."""

from collections.abc import Sequence
from datetime import datetime
from random import Random

import pytest

from service.rummy.cards import RANKS
from service.rummy.computer import LEVELS
from service.rummy.model import CallWindow, Match
from service.rummy.rules import PRESETS
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import House, Table, assert_no_card_is_lost, code
from tests.positions import CALLABLE, position
from tests.turn_order import TurnOrder

ALL_COUNTS = [
    (variant, count) for variant, preset in PRESETS.items() for count in range(1, preset.players[1])
]
FULL_TABLES = [(variant, preset.players[1] - 1) for variant, preset in PRESETS.items()]


def with_computers(
    house: House, variant: str, levels: Sequence[str], *, seed: str | None = None, **options
) -> Table:
    """One person, and these computer players at all other seats."""
    more = {"computers": list(levels)} | ({"practice": {"seed": seed}} if seed else {})
    return house.waiting(variant, len(levels) + 1, more=more, **options)


def some_levels(count: int) -> list[str]:
    return [LEVELS[seat % len(LEVELS)] for seat in range(count)]


def happened(entries: list[dict]) -> list[str]:
    return [entry["event"]["type"] for entry in entries]


def assert_books_agree(table: Table) -> None:
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())
    order = TurnOrder(len(table.stranger.look()["seats"]))
    for entry in table.stranger.log():
        order.read(entry["event"])


# ---------------------------------------------------------------------------- at the table


@pytest.mark.clause("table.6")
@pytest.mark.parametrize(("variant", "count"), ALL_COUNTS)
def test_with_computers_at_all_other_seats_the_match_begins_at_once(house, variant, count):
    # Of many deals: one can be over before the person's first turn.
    table = with_computers(house, variant, some_levels(count), deals=50)
    view = table.players[0].look()
    assert (view["status"], view["version"], len(view["seats"])) == ("playing", 1, count + 1)
    assert [seat["computer"] for seat in view["seats"]] == [None, *some_levels(count)]
    assert [seat["host"] for seat in view["seats"]] == [True] + [False] * count
    assert len({seat["name"] for seat in view["seats"]}) == count + 1
    assert view["deal"]["phase"] == "draw"
    # It is the person's turn, unless a computer leaves the time to call what another has thrown.
    assert {move["move"] for move in view["moves"]} == (
        {"rummy"} if view["deal"]["turn"] != 0 else {"draw", *(["rummy"] * may_call(view))}
    )
    assert_books_agree(table)


def may_call(view: dict) -> bool:
    return view["deal"]["call"] is not None and view["deal"]["call"]["discarded_by"] != view["you"]


@pytest.mark.clause("table.6")
@pytest.mark.parametrize("one", [True, False], ids=["one computer", "a full table"])
@pytest.mark.parametrize(("variant", "count"), FULL_TABLES)
def test_a_person_alone_can_play_a_match_to_its_end(house, variant, count, one):
    levels = ["steady"] if one else (["random", "steady"] * 4)[:count]
    table = with_computers(house, variant, levels, seed=f"alone {count}", hand_size=6)
    person, chance = table.players[0], Random(count)
    view = person.look()
    for _ in range(400):
        if view["status"] == "finished":
            break
        if view["deal"]["turn"] != 0:
            # What a computer has thrown can be called by the person, who does.
            assert {move["move"] for move in view["moves"]} == {"rummy"}
        before = view["version"]
        answer = person.make(choose(view, chance))
        assert answer.status_code == 200, answer.text
        view = answer.json["game"]
        assert view["version"] == before + 1
    assert view["result"]["reason"] == "deals_played"
    assert_books_agree(table)


@pytest.mark.clause("table.6")
def test_a_long_match_with_seven_computers(house):
    """Every level in it, deal after deal; each request makes one version."""
    table = with_computers(
        house, "seven-card", some_levels(7), seed="long", deals=3, hand_size=5, jokers=4
    )
    person, chance, version = table.players[0], Random(7), 1
    view = person.look()
    for _ in range(400):
        if view["status"] == "finished":
            break
        answer = person.make(choose(view, chance))
        view, version = answer.json["game"], version + 1
        assert view["version"] == version
        assert_no_card_is_lost(table.game())
    assert view["result"]["reason"] == "deals_played"
    assert [deal["number"] for deal in person.get("score").json["deals"]] == [1, 2, 3]
    assert_books_agree(table)


def test_computers_come_before_the_start_too_and_the_last_seat_begins_the_match(house):
    table = house.waiting("straight", 4)
    answer = table.players[0].post("computers", {"levels": ["sharp"]})
    assert happened(answer.json["events"]) == ["joined"]
    assert answer.json["game"]["status"] == "waiting"
    table.seat(table.stranger.post("join", {"name": "bo"}))
    answer = table.players[0].post("computers", {"levels": ["steady"]})
    view = answer.json["game"]
    assert happened(answer.json["events"])[:4] == ["joined", "started", "dealer_drawn", "dealt"]
    assert [seat["computer"] for seat in view["seats"]] == [None, "sharp", None, "steady"]
    assert view["version"] == 4
    assert_books_agree(table)


@pytest.mark.clause("table.6")
def test_some_computers_wait_with_the_people_for_the_rest(house):
    table = house.waiting("straight", 3, more={"computers": ["random"], "public": True})
    view = table.stranger.look()
    assert (view["status"], len(view["seats"])) == ("waiting", 2)
    listed = house.client().get("/v1/games?limit=100").json["tables"]
    (found,) = [item for item in listed if item["id"] == table.id]
    assert (found["taken"], found["computers"], found["host"]) == (2, 1, "ada")
    table.seat(table.stranger.post("join", {"name": "bo"}))
    assert table.stranger.look()["status"] == "playing"


NOT_SEATED = {
    "as many as there are seats": ({"seats": 2, "computers": ["steady"] * 2}, "bad_table"),
    "more than there are seats": ({"seats": 2, "computers": ["steady"] * 5}, "bad_table"),
    "more than any table has": ({"seats": 8, "computers": ["steady"] * 8}, "invalid_request"),
    "a level that there is not": ({"computers": ["perfect"]}, "invalid_request"),
    "a level in capitals": ({"computers": ["Steady"]}, "invalid_request"),
    "a number for a level": ({"computers": [1]}, "invalid_request"),
    "a level alone": ({"computers": "steady"}, "invalid_request"),
}


@pytest.mark.clause("table.6")
@pytest.mark.parametrize(("wish", "refusal"), NOT_SEATED.values(), ids=NOT_SEATED)
def test_a_table_of_computers_only_or_of_unknown_ones_is_not_made(house, wish, refusal):
    answer = house.new_table("seven-card", **wish)
    assert (answer.status_code, code(answer)) == (422, refusal)
    assert "computers" in answer.json["detail"]


NOT_ADDED = {
    "by a guest": (1, {"levels": ["steady"]}, "not_the_host"),
    "by nobody": (None, {"levels": ["steady"]}, "no_token"),
    "more than there are free seats": (0, {"levels": ["steady"] * 3}, "table_full"),
    "none": (0, {"levels": []}, "invalid_request"),
    "of a level that there is not": (0, {"levels": ["steady", "perfect"]}, "invalid_request"),
    "without saying which": (0, {}, "invalid_request"),
}


@pytest.mark.parametrize(("seat", "body", "refusal"), NOT_ADDED.values(), ids=NOT_ADDED)
def test_computers_that_are_not_added(house, seat, body, refusal):
    table = house.waiting("straight", 4, taken=2)
    before = table.stored()
    asker = table.stranger if seat is None else table.players[seat]
    assert code(asker.post("computers", body)) == refusal
    assert table.stored() == before


def test_computers_added_together_are_added_all_or_none(house):
    """Their number must fit the options, or the table would begin a match it cannot play."""
    table = house.waiting("parlett", 4, decks=2, more={"autostart": False})
    assert code(table.players[0].post("computers", {"levels": ["steady"] * 4})) == "table_full"
    assert len(table.stranger.look()["seats"]) == 1
    assert code(table.players[0].post("computers", {"levels": ["steady"] * 3})) == "200"
    assert table.players[0].post("start").status_code == 200


# ------------------------------------------------------------------------------- their moves


@pytest.mark.clause("table.6")
def test_their_moves_come_in_the_same_change_one_after_another(house):
    table = with_computers(house, "straight", ["steady", "random", "sharp"], seed="same change")
    person = table.players[0]
    view = person.draw("stock").json["game"]
    discard = next(move for move in view["moves"] if move["move"] == "discard")
    answer = person.make(discard)
    events = answer.json["events"]
    assert {entry["version"] for entry in events} == {view["version"] + 1}
    assert {entry["event"].get("seat", 0) for entry in events} == {0, 1, 2, 3}
    assert not any(entry["forced"] for entry in events)
    assert events == person.log(after=events[0]["id"] - 1)
    by_time = [datetime.fromisoformat(entry["at"]) for entry in person.log()]
    assert by_time == sorted(by_time)
    # Each step has a time of its own, for clients that show one after another.
    steps = [entry["at"] for entry in events if entry["event"]["type"] in {"drew", "discarded"}]
    assert len(set(steps)) == len(steps)
    assert answer.json["game"]["changed_at"] == events[-1]["at"]


@pytest.mark.clause("table.6")
def test_what_they_draw_is_hidden_from_the_person(house):
    table = with_computers(house, "seven-card", ["steady"] * 3, seed="hidden")
    view = table.players[0].draw("stock").json["game"]
    table.players[0].make(next(move for move in view["moves"] if move["move"] == "discard"))
    drawn = [
        entry["event"]
        for entry in table.players[0].log()
        if entry["event"]["type"] == "drew" and entry["event"]["source"] == "stock"
    ]
    assert {event["seat"] for event in drawn if event["card"] is None} - {0}
    assert all((event["card"] is None) == (event["seat"] != 0) for event in drawn)


@pytest.mark.clause("table.6")
def test_the_end_of_a_deal_lets_them_begin_the_next(house):
    match = position(hands="5C 5D 5H | 2S 3D | TS QC | JD 9H", deals=2)
    table = house.at(match, computers={1: "steady", 2: "random", 3: "steady"})
    answer = table.players[0].play("meld 5C 5D 5H")
    told = happened(answer.json["events"])
    assert told[:3] == ["melded", "deal_ended", "dealt"]
    view = answer.json["game"]
    # Seat 3 dealt before, seat 0 deals now: the computers at 1, 2 and 3 play first.
    assert (view["deal"]["number"], view["deal"]["dealer"], view["deal"]["turn"]) == (2, 0, 0)
    assert told.count("discarded") == 3
    assert {entry["version"] for entry in answer.json["events"]} == {view["version"]}


@pytest.mark.clause("table.6")
def test_a_computer_that_goes_out_ends_the_match_in_the_same_change(house):
    match = position(hands="KH QD | 5C 5D 5H", stock="7S 8S")
    table = house.at(match, computers={1: "steady"})
    answer = table.players[0].play("discard KH")
    view = answer.json["game"]
    assert (view["status"], view["result"]["winners"]) == ("finished", [1])
    assert happened(answer.json["events"])[-2:] == ["deal_ended", "match_ended"]
    assert view["version"] == table.game().version


@pytest.mark.clause("table.6")
@pytest.mark.parametrize("first", [0, 1, 2])
def test_whoever_begins_the_person_is_to_move(house, first):
    """The dealer is the seat before who begins."""
    practice = {"seed": "who begins", "dealer": (first - 1) % 3}
    table = house.waiting(
        "straight", 3, more={"computers": ["steady", "random"], "practice": practice}
    )
    log = table.stranger.log()
    assert happened(log).count("discarded") == {0: 0, 1: 2, 2: 1}[first]
    assert {entry["version"] for entry in log} == {1}
    assert table.players[0].look()["deal"]["turn"] == 0


# --------------------------------------------------------------------------- waiting for calls


def callable_position(window: CallWindow | None, **written: object) -> Match:
    """Seat 0 has discarded 8C, which fits a meld; seat 1 is to draw."""
    hands = "KD QD | 2S 3H | TS 9H"
    return position(**CALLABLE | {"hands": hands, "window": window} | written)


def about_to_discard(**written: object) -> Match:
    """Seat 0 is about to discard 8C."""
    hands = "KD 8C | 2S 3H | TS 9H"
    return callable_position(None, turn=0, phase="play", pile="2C", hands=hands, **written)


@pytest.mark.clause("table.6", "call-rummy.5")
def test_after_a_discard_that_can_be_called_people_have_five_seconds(timed_house, clock):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    view = table.players[0].play("discard 8C").json["game"]
    assert (view["deal"]["turn"], view["deal"]["phase"]) == (1, "draw")
    assert view["deal"]["call"]["card"] == "8C"
    assert view["turn_ends_at"] is None
    assert [move["move"] for move in table.players[2].look()["moves"]] == ["rummy"]
    clock.forward(4.999)
    assert table.stranger.look()["version"] == view["version"]
    clock.forward(0.001)
    after = table.stranger.look()
    assert (after["version"], after["deal"]["turn"]) == (view["version"] + 1, 2)
    log = [e for e in table.stranger.log() if e["version"] == after["version"]]
    assert happened(log)[0] == "drew"
    assert not any(entry["forced"] for entry in log)
    assert table.players[2].draw("stock").status_code == 200


@pytest.mark.clause("table.6", "call-rummy.5")
def test_a_call_in_time_is_made_and_the_computer_goes_on_at_once(timed_house, clock):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    table.players[0].play("discard 8C")
    clock.forward(4)
    answer = table.players[2].play("rummy 1")
    told = happened(answer.json["events"])
    assert told[:2] == ["called", "drew"]
    assert answer.json["game"]["deal"]["turn"] == 2
    assert {entry["version"] for entry in answer.json["events"]} == {answer.json["version"]}


@pytest.mark.clause("table.6", "call-rummy.5")
def test_a_call_that_comes_too_late_is_refused(timed_house, clock):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    table.players[0].play("discard 8C")
    clock.forward(5)
    assert code(table.players[2].play("rummy 1")) in {"call_closed", "does_not_fit"}
    assert table.stranger.look()["deal"]["turn"] == 2


@pytest.mark.clause("table.6", "call-rummy.5")
def test_a_refused_call_gives_nobody_more_time(timed_house, clock):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    table.players[0].play("discard 8C")
    clock.forward(4.5)
    assert code(table.players[0].play("rummy 1")) == "own_discard"
    assert code(table.players[2].play("rummy 7")) == "no_such_meld"
    clock.forward(0.5)
    assert table.stranger.look()["deal"]["turn"] == 2


@pytest.mark.clause("table.6", "call-rummy.5")
def test_where_only_the_discarder_is_a_person_nobody_waits(timed_house):
    table = timed_house.at(about_to_discard(), computers={1: "steady", 2: "steady"})
    view = table.players[0].play("discard 8C").json["game"]
    assert view["deal"]["turn"] == 0


@pytest.mark.clause("table.6", "call-rummy.5")
def test_where_the_others_are_away_nobody_waits(timed_house):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    table.players[2].post("leave")
    assert table.players[0].play("discard 8C").json["game"]["deal"]["turn"] == 0


@pytest.mark.clause("table.6", "call-rummy.5")
def test_when_the_last_who_could_call_leaves_the_computer_goes_on(timed_house):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    table.players[0].play("discard 8C")
    answer = table.players[2].post("leave")
    assert happened(answer.json["events"])[:2] == ["left", "drew"]
    assert answer.json["game"]["deal"]["turn"] == 0


@pytest.mark.clause("table.6", "call-rummy.5")
def test_a_person_on_turn_is_not_waited_for(timed_house, clock):
    """Only a computer waits: a person may draw at once, and ends the call."""
    table = timed_house.at(about_to_discard(), computers={2: "steady"})
    table.players[0].play("discard 8C")
    assert table.players[1].draw("stock").status_code == 200


@pytest.mark.clause("table.6", "call-rummy.5")
def test_people_can_call_what_a_computer_throws(timed_house, clock):
    """With two decks both cards of the computer's hand are 8C, so that it must throw one."""
    match = callable_position(
        None,
        decks=2,
        layoffs="none",
        turn=0,
        phase="play",
        pile="2C",
        hands="8C 8C | 2S 3H | TS 9H",
    )
    table = timed_house.at(match, computers={0: "random", 1: "random"}, due=clock.now)
    view = table.players[2].look()
    assert (view["deal"]["turn"], view["deal"]["upcard"]) == (1, "8C")
    assert view["deal"]["call"]["discarded_by"] == 0
    clock.forward(4.999)
    answer = table.players[2].play("rummy 1")
    assert happened(answer.json["events"])[:2] == ["called", "drew"]


@pytest.mark.clause("table.6", "call-rummy.5")
@pytest.mark.parametrize("people", [[0, 2], [0]], ids=["somebody could call", "nobody could call"])
def test_a_timed_call_is_waited_for_until_it_closes(timed_house, clock, people):
    computers = {seat: "steady" for seat in range(3) if seat not in people}
    table = timed_house.at(about_to_discard(call="timed", call_seconds=9), computers=computers)
    version = table.players[0].play("discard 8C").json["version"]
    clock.forward(8.999)
    assert table.stranger.look()["version"] == version
    clock.forward(0.001)
    view = table.stranger.look()
    assert view["version"] == version + 1
    assert view["deal"]["turn"] == people[-1]


@pytest.mark.clause("table.6", "call-rummy.5")
def test_a_card_that_fits_nowhere_is_not_waited_for(timed_house):
    table = timed_house.at(about_to_discard(), computers={1: "steady"})
    assert table.players[0].play("discard KD").json["game"]["deal"]["turn"] == 2


@pytest.mark.clause("table.6", "call-rummy.5")
def test_without_calls_at_the_table_nobody_waits(timed_house):
    table = timed_house.at(about_to_discard(call="off"), computers={1: "steady"})
    assert table.players[0].play("discard 8C").json["game"]["deal"]["turn"] == 2


@pytest.mark.clause("table.1", "table.6")
def test_the_turn_clock_begins_when_the_computer_has_waited_and_played(timed_house, clock):
    match = about_to_discard(turn_seconds=60)
    table = timed_house.at(match, computers={1: "steady"}, due=clock.now + 60_000)
    table.players[0].play("discard 8C")
    clock.forward(5)
    ends = datetime.fromisoformat(table.stranger.look()["turn_ends_at"]).timestamp() * 1000
    assert round(ends) == clock.now + 60_000


@pytest.mark.clause("table.6", "call-rummy.5")
def test_two_people_call_what_two_computers_and_they_themselves_throw(timed_house, clock):
    """With a set of every rank on the table, and no layoffs, nearly all that is thrown fits."""
    match = position(
        "call-rummy",
        decks=2,
        layoffs="none",
        phase="draw",
        hands="2S 4S 6S 8S TS | 3S 5S 7S 9S JS | 2S 4S 6S QS AS | 3S 5S 7S KS JS",
        melds="; ".join(
            f"{place % 4}: {rank}C {rank}D {rank}H" for place, rank in enumerate(RANKS)
        ),
        pile="KS",
        deals=40,
    )
    table = timed_house.at(match, computers={1: "steady", 3: "random"})
    host, chance = table.players[0], Random(4)
    view, waited = host.look(), 0
    for _ in range(60):
        turn = view["deal"]["turn"]
        if turn in (0, 2):
            player = table.players[turn]
            answer = player.make(choose(view if view["you"] == turn else player.look(), chance))
            assert answer.status_code == 200, answer.text
            view = answer.json["game"]
            continue
        # It waits: somebody of those there may call, and nobody may do anything else.
        waited += 1
        people = [table.players[seat] for seat in (0, 2)]
        calls = [(player, move) for player in people for move in player.look()["moves"]]
        assert {move["move"] for _, move in calls} == {"rummy"}
        if chance.random() < 0.5:
            player, move = calls[0]
            assert code(player.make(move)) == "200"
        else:
            clock.forward(5)
        assert_no_card_is_lost(table.game())
        view = host.look()
    told = happened(table.stranger.log())
    assert waited > 5
    assert told.count("called") > 2
    order = TurnOrder(4)
    order.deal, order.turn, order.dealer = 1, 0, 3
    for entry in table.stranger.log():
        order.read(entry["event"])

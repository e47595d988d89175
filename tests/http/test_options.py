"""House rules at the table: agreed when it is made, settled when it starts, the same for all."""

import pytest

from tests.http.tables import code


def settled(view: dict, *names: str) -> dict:
    return {name: view["options"][name] for name in names}


def written_down(view: dict) -> dict:
    """The deviations as option: (the variant's, the table's, the clause)."""
    return {
        item["option"]: (item["preset"], item["value"], item["rule"]) for item in view["deviations"]
    }


# ------------------------------------------------------------------------------ for how many


def test_a_table_for_four_is_settled_for_the_two_who_come(house):
    table = house.waiting("straight", 4, taken=2)
    view = table.stranger.look()
    assert (view["size"], len(view["seats"])) == (4, 2)
    assert settled(view, "players", "hand_size") == {"players": 4, "hand_size": 7}
    view = table.players[0].post("start").json["game"]
    assert (view["size"], view["status"]) == (2, "playing")
    assert settled(view, "players", "hand_size") == {"players": 2, "hand_size": 10}
    assert view["deal"]["hand_sizes"] == [10, 10]
    assert view["deviations"] == []
    assert code(table.stranger.post("join", {"name": "eva"})) == "already_started"


@pytest.mark.parametrize(
    ("variant", "players", "decks", "hand_size"),
    [
        ("straight", 2, 1, 10),
        ("straight", 4, 1, 7),
        ("straight", 5, 1, 6),
        ("seven-card", 4, 1, 7),
        ("seven-card", 5, 2, 7),
        ("parlett", 2, 1, 10),
        ("parlett", 3, 1, 7),
        ("parlett", 5, 1, 7),
        ("parlett", 6, 2, 10),
        ("call-rummy", 6, 1, 6),
    ],
)
def test_the_deal_of_each_variant(house, variant, players, decks, hand_size):
    view = house.table(variant, players).stranger.look()
    assert settled(view, "decks", "hand_size") == {"decks": decks, "hand_size": hand_size}
    assert view["deal"]["hand_sizes"] == [hand_size] * players
    dealt = players * hand_size + view["options"]["upcard"]
    assert view["deal"]["stock"] == 52 * decks - dealt


UNFIT = [
    ("parlett", 4, {"decks": 2}, {}, "parlett.1"),
    ("parlett", 6, {"jokers": 8, "decks": 2}, {}, "parlett.1"),
    ("straight", 4, {}, {"practice": {"seed": "x", "dealer": 3}}, None),
]


@pytest.mark.parametrize(("variant", "seats", "options", "more", "rule"), UNFIT)
def test_a_start_that_the_options_do_not_fit_is_refused_and_the_table_waits_on(
    house, variant, seats, options, more, rule
):
    table = house.waiting(variant, seats, taken=2, more=more, **options)
    before = table.stored()
    refused = table.players[0].post("start")
    assert (refused.status_code, code(refused)) == (409, "options_do_not_fit")
    assert refused.json.get("rule") == rule
    assert refused.json["params"] == {"players": 2}
    assert table.stored() == before
    while table.stranger.look()["status"] == "waiting":
        table.seat(table.stranger.post("join", {"name": "eva"}))
    assert len(table.players) == seats


def test_a_card_order_for_four_does_not_fit_two_who_play_with_fewer_decks(house):
    order = [rank + suit for suit in "CDHS" for rank in "A23456789TJQK"] * 2
    more = {"practice": {"order": order, "dealer": 0}}
    table = house.waiting("seven-card", 5, taken=2, more=more)
    refused = table.players[0].post("start")
    assert code(refused) == "options_do_not_fit"
    assert "52 cards" in refused.json["detail"]


def test_a_card_order_is_dealt_as_it_lies(house):
    order = [rank + suit for suit in "CDHS" for rank in "A23456789TJQK"]
    table = house.waiting("straight", 2, taken=2, more={"practice": {"order": order, "dealer": 1}})
    first, second = (player.look() for player in table.players)
    assert first["hand"] == ["AC", "3C", "5C", "7C", "9C", "JC", "KC", "2D", "4D", "6D"]
    assert second["hand"] == ["2C", "4C", "6C", "8C", "TC", "QC", "AD", "3D", "5D", "7D"]
    assert first["deal"]["upcard"] == "8D"
    assert table.players[0].draw("stock").json["events"][0]["event"]["card"] == "9D"


# ------------------------------------------------------------------------------ who starts it


def test_the_last_seat_taken_starts_the_match(house):
    table = house.waiting("straight", 3, taken=2)
    assert table.stranger.look()["status"] == "waiting"
    joined = table.stranger.post("join", {"name": "eva"})
    assert [entry["event"]["type"] for entry in joined.json["events"]] == [
        "joined",
        "started",
        "dealer_drawn",
        "dealt",
    ]
    assert joined.json["game"]["status"] == "playing"


def test_without_autostart_a_full_table_waits_for_the_host(house):
    table = house.waiting("straight", 2, taken=2, more={"autostart": False})
    view = table.stranger.look()
    assert (view["status"], view["autostart"], view["deal"]) == ("waiting", False, None)
    assert code(table.stranger.post("join", {"name": "eva"})) == "table_full"
    assert code(table.players[1].post("start")) == "not_the_host"
    assert code(table.stranger.post("start")) == "no_token"
    assert code(table.players[0].post("start")) == "200"


@pytest.mark.parametrize("body", [None, {}])
def test_a_start_needs_no_body(house, body):
    table = house.waiting("straight", 3, taken=2)
    assert table.players[0].post("start", body).status_code == 200


# ------------------------------------------------------------------------------ how it ends


@pytest.mark.parametrize(
    ("variant", "options", "answered"),
    [
        ("straight", {}, "options_refused"),
        ("straight", {"deals": 3}, "201"),
        ("straight", {"target": 100}, "201"),
        ("straight", {"deals": 3, "target": 100}, "options_refused"),
        ("straight", {"deals": None, "target": 100}, "201"),
        ("straight", {"deals": None}, "options_refused"),
        ("seven-card", {}, "201"),
        ("seven-card", {"target": 100}, "201"),
        ("seven-card", {"deals": None}, "options_refused"),
        ("call-rummy", {"deals": 0}, "options_refused"),
        ("call-rummy", {"deals": 1000}, "201"),
        ("call-rummy", {"deals": 1001}, "options_refused"),
        ("parlett", {"target": 100_001}, "options_refused"),
    ],
)
def test_how_the_match_ends_is_agreed_beforehand(house, variant, options, answered):
    assert code(house.new_table(variant, options=options)) == answered


def test_one_deal_unless_a_target_is_chosen(house):
    assert settled(house.table("parlett").stranger.look(), "deals", "target") == {
        "deals": 1,
        "target": None,
    }
    assert settled(house.table("parlett", target=50).stranger.look(), "deals", "target") == {
        "deals": None,
        "target": 50,
    }


# ------------------------------------------------------------------------------ written down


@pytest.mark.parametrize(
    ("variant", "options", "deviations"),
    [
        ("straight", {"deals": 5}, {}),
        ("straight", {"aces": "low", "hand_size": 10}, {}),
        ("straight", {"hand_size": 9}, {"hand_size": (10, 9, "straight.8")}),
        ("straight", {"final_discard": True}, {"final_discard": (False, True, "straight.6")}),
        ("seven-card", {"aces": "high_or_low"}, {"aces": ("low", "high_or_low", "seven-card.6")}),
        (
            "seven-card",
            {"jokers": 2, "upcard": True},
            {"jokers": (0, 2, "seven-card.6"), "upcard": (False, True, "seven-card.2")},
        ),
        (
            "call-rummy",
            {"call": "timed", "call_seconds": 7},
            {
                "call": ("next_draw", "timed", "call-rummy.5"),
                "call_seconds": (None, 7, "call-rummy.5"),
            },
        ),
    ],
)
def test_what_differs_from_the_variant_is_written_down(house, variant, options, deviations):
    table = house.table(variant, **options)
    for watcher in table.watchers:
        assert written_down(watcher.look()) == deviations


def test_the_options_are_the_same_for_everybody_and_from_beginning_to_end(house):
    table = house.waiting("straight", 2, taken=1, aces="high_or_low", ace_points=5, target=7)
    told = table.stranger.look()["options"]
    table.seat(table.stranger.post("join", {"name": "bo"}))
    assert all(watcher.look()["options"] == told for watcher in table.watchers)
    table.mover.draw("stock")
    assert all(watcher.look()["options"] == told for watcher in table.watchers)


def test_every_option_of_a_variant_is_in_the_view_with_its_default(house):
    for variant in house.client().get("/v1/variants").json["variants"]:
        options = {"deals": 1} if variant["must_choose"] else {}
        view = house.table(variant["id"], **options).stranger.look()
        defaults = {
            option["name"]: {item["players"]: item["value"] for item in option["defaults"]}[2]
            for option in variant["options"]
        }
        assert view["options"] == defaults | options | {"variant": variant["id"], "players": 2}


# ------------------------------------------------------------------------------ who sees what


def test_a_stranger_sees_what_everybody_sees_and_no_hand(house):
    table = house.position("straight", hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    mover, waits, stranger = (watcher.look() for watcher in table.watchers)
    own = {"you", "hand", "moves", "moves_truncated", "may_not_discard"}
    assert {name for name in mover if mover[name] != stranger[name]} <= own
    assert {name for name in waits if waits[name] != stranger[name]} <= own
    assert (stranger["you"], stranger["hand"], stranger["moves"]) == (None, None, [])
    assert (mover["you"], mover["hand"]) == (0, ["5C", "5D", "KH"])
    assert (waits["you"], waits["hand"], waits["moves"]) == (1, ["2S", "3S"], [])
    assert mover["moves"] == [
        {"move": "draw", "from": "stock"},
        {"move": "draw", "from": "discard", "card": "9D"},
    ]


def test_only_the_taker_is_told_which_card_may_not_go_back(house):
    table = house.position("straight", hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    assert table.players[0].play("take").json["game"]["may_not_discard"] == "9D"
    assert table.players[1].look()["may_not_discard"] is None
    assert table.stranger.look()["may_not_discard"] is None


def test_a_practice_table_says_so_everywhere(house):
    table = house.waiting("straight", 3, taken=2, more={"practice": {"seed": "x"}, "public": True})
    assert all(watcher.look()["practice"] for watcher in table.watchers)
    listed = house.client().get("/v1/games?limit=100").json["tables"]
    assert [item["practice"] for item in listed if item["id"] == table.id] == [True]
    started = table.players[0].post("start").json
    assert started["game"]["practice"]


def test_the_seed_of_a_real_table_is_in_no_answer(house):
    table = house.table("straight")
    seed = table.game().match.seed
    for watcher in table.watchers:
        for part in ("", "events", "score"):
            assert seed not in watcher.get(part).text

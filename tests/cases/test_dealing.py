"""Setting up: hand sizes, the end of the match, options in force, and the shuffle."""

from collections import Counter

import pytest
from msgspec import to_builtins
from werkzeug.test import TestResponse

from service.rummy.cards import pack
from service.rummy.engine import new_match
from service.rummy.rules import OPTIONS, OptionValue, Rules, agree, deviations
from tests.cases.online import Service
from tests.cases.table import accept, in_every_preset, refuse_options
from tests.positions import deal_of, position, with_deal

# ------------------------------------------------------------------------------- deal sizes

DEALS = [
    # variant, players, options, cards each, stock, pile
    ("straight", 2, {}, 10, 31, 1),
    ("straight", 3, {}, 7, 30, 1),
    ("straight", 4, {}, 7, 23, 1),
    ("straight", 5, {}, 6, 21, 1),
    ("straight", 6, {}, 6, 15, 1),
    ("call-rummy", 2, {}, 10, 31, 1),
    ("call-rummy", 3, {}, 7, 30, 1),
    ("call-rummy", 4, {}, 7, 23, 1),
    ("call-rummy", 5, {}, 6, 21, 1),
    ("call-rummy", 6, {}, 6, 15, 1),
    ("seven-card", 2, {}, 7, 38, 0),
    ("seven-card", 3, {}, 7, 31, 0),
    ("seven-card", 4, {}, 7, 24, 0),
    ("seven-card", 5, {}, 7, 69, 0),
    ("seven-card", 6, {}, 7, 62, 0),
    ("seven-card", 7, {}, 7, 55, 0),
    ("seven-card", 8, {}, 7, 48, 0),
    ("seven-card", 2, {"upcard": True}, 7, 37, 1),
    ("seven-card", 8, {"upcard": True}, 7, 47, 1),
    ("seven-card", 4, {"jokers": 2}, 7, 26, 0),
    ("seven-card", 5, {"jokers": 4}, 7, 73, 0),
    ("seven-card", 6, {"jokers": 4, "upcard": True}, 7, 65, 1),
    ("parlett", 2, {}, 10, 31, 1),
    ("parlett", 3, {}, 7, 30, 1),
    ("parlett", 3, {"hand_size": 10}, 10, 21, 1),
    ("parlett", 4, {}, 7, 23, 1),
    ("parlett", 5, {}, 7, 16, 1),
    ("parlett", 4, {"decks": 2}, 10, 63, 1),
    ("parlett", 5, {"decks": 2}, 10, 53, 1),
    ("parlett", 6, {}, 10, 43, 1),
    ("parlett", 7, {}, 10, 33, 1),
    ("parlett", 2, {"jokers": 2}, 10, 33, 1),
]


@pytest.mark.case(44)
@pytest.mark.parametrize(("variant", "players", "options", "each", "stock", "pile"), DEALS)
def test_case_44_every_number_of_players_gets_its_deal(
    variant: str, players: int, options: dict[str, int], each: int, stock: int, pile: int
) -> None:
    rules = agree(variant, players, {"deals": 1, **options})
    deal = deal_of(new_match(rules, "seed")[0])
    assert [len(hand) for hand in deal.hands] == [each] * players
    assert (len(deal.stock), len(deal.pile)) == (stock, pile)
    dealt = Counter((*deal.stock, *deal.pile))
    for hand in deal.hands:
        dealt.update(hand)
    assert dealt == Counter(pack(rules.decks, rules.jokers))


@pytest.mark.case(44)
def test_case_44_every_number_of_players_of_every_variant_is_in_the_table() -> None:
    ranges = {"straight": 6, "seven-card": 8, "parlett": 7, "call-rummy": 6}
    expected = {(name, players) for name, most in ranges.items() for players in range(2, most + 1)}
    assert {(variant, players) for variant, players, *_ in DEALS} == expected
    for variant, most in ranges.items():
        for players in (1, most + 1):
            problem = refuse_options(variant, players, deals=1)["players"]
            assert problem.value == players
            assert problem.rule == f"{variant}.1"


@pytest.mark.case(44)
@pytest.mark.parametrize(
    ("variant", "players", "decks"),
    [("parlett", 2, 2), ("parlett", 3, 2), ("parlett", 6, 1), ("parlett", 7, 1)]
    + [("seven-card", players, 1) for players in range(5, 9)],
)
def test_case_44_a_number_of_decks_that_the_rules_do_not_know_is_refused(
    variant: str, players: int, decks: int
) -> None:
    problem = refuse_options(variant, players, decks=decks)["decks"]
    assert (problem.value, problem.rule) == (decks, f"{variant}.1")


@pytest.mark.case(44)
@in_every_preset
def test_case_44_the_deal_goes_round_from_the_dealers_left_then_the_upcard_then_the_stock(
    variant: str,
) -> None:
    rules = agree(variant, 3, {"deals": 1, "hand_size": 2})
    order = pack(1, 0)
    deal = deal_of(new_match(rules, "seed", dealer=0, order=order)[0])
    assert [set(hand) for hand in deal.hands] == [
        {order[2], order[5]},
        {order[0], order[3]},
        {order[1], order[4]},
    ]
    rest = order[6:]
    assert deal.pile + deal.stock == rest
    assert len(deal.pile) == rules.upcard
    assert deal.turn == 1


# ----------------------------------------------------------------------- how the match ends


@pytest.mark.case(46)
def test_case_46_straight_rummy_has_no_default_for_how_the_match_ends() -> None:
    assert refuse_options("straight", 2)["deals"].rule == "straight.7"
    both = refuse_options("straight", 2, deals=3, target=100)
    assert all(problem.rule == "straight.7" for problem in both.values())
    assert both
    assert agree("straight", 2, {"target": 100}).target == 100
    assert agree("straight", 2, {"target": 100}).deals is None
    assert agree("straight", 2, {"deals": 3}).deals == 3
    assert agree("straight", 2, {"deals": 3}).target is None


@pytest.mark.case(46)
@pytest.mark.parametrize("variant", ["seven-card", "parlett", "call-rummy"])
def test_case_46_the_other_games_are_one_deal_unless_chosen(variant: str) -> None:
    assert (agree(variant, 2, {}).deals, agree(variant, 2, {}).target) == (1, None)
    assert (agree(variant, 2, {"deals": 4}).deals, agree(variant, 2, {"deals": 4}).target) == (
        4,
        None,
    )
    chosen = agree(variant, 2, {"target": 50})
    assert (chosen.deals, chosen.target) == (None, 50)
    assert refuse_options(variant, 2, deals=1, target=100)


@pytest.mark.case(46)
@in_every_preset
@pytest.mark.parametrize(
    ("option", "value"),
    [("deals", 0), ("deals", -1), ("target", 0), ("target", True), ("deals", "3")],
)
def test_case_46_an_end_that_is_no_end_is_refused(
    variant: str, option: str, value: int | str
) -> None:
    assert option in refuse_options(variant, 2, **{option: value})


def new_table(service: Service, variant: str, **options: OptionValue) -> TestResponse:
    return service.post("/v1/games", {"variant": variant, "name": "Anna", "options": options})


@pytest.mark.case(46)
def test_case_46_no_table_of_straight_rummy_without_an_agreed_end(service: Service) -> None:
    for options in (
        {},
        {"deals": 3, "target": 100},
        {"deals": None},
        {"deals": None, "target": None},
    ):
        answer = new_table(service, "straight", **options)
        assert (answer.status_code, answer.json["code"]) == (422, "options_refused")
        assert answer.json["rule"] == "straight.7"
        assert {problem["option"] for problem in answer.json["options"]} <= {"deals", "target"}
    for deals, target in ((3, None), (None, 100)):
        options = {"deals": deals} if deals else {"target": target}
        answer = new_table(service, "straight", **options)
        assert answer.status_code == 201
        shown = answer.json["game"]["options"]
        assert (shown["deals"], shown["target"]) == (deals, target)


@pytest.mark.case(46)
@pytest.mark.parametrize("variant", ["seven-card", "parlett", "call-rummy"])
def test_case_46_the_default_of_the_other_games_is_documented(
    service: Service, variant: str
) -> None:
    shown = new_table(service, variant).json["game"]["options"]
    assert (shown["deals"], shown["target"]) == (1, None)
    documented = service.get(f"/v1/variants/{variant}").json
    assert documented["must_choose"] == []
    deals = next(option for option in documented["options"] if option["name"] == "deals")
    assert {default["value"] for default in deals["defaults"]} == {1}
    assert service.get("/v1/variants/straight").json["must_choose"] == ["deals", "target"]


@pytest.mark.case(46)
@pytest.mark.case(47)
@in_every_preset
def test_case_46_after_the_deal_no_request_changes_an_option(
    service: Service, variant: str
) -> None:
    table = service.table(variant)
    options, stored = table.look()["options"], table.stored()
    body = {"options": {"target": 500}, "target": 500}
    client = service.app.test_client()
    headers = {"Authorization": f"Bearer {table.tokens[0]}"}
    for method in ("PATCH", "PUT"):
        answer = client.open(table.path, method=method, json=body, headers=headers)
        assert (answer.status_code, answer.json["code"]) == (405, "method_not_allowed")
    table.refuse(0, "options", 404, "no_such_route", body=body)
    table.refuse(0, "start", 422, "invalid_request", body=body)
    table.refuse(0, "start", 409, "already_started", None, body={})
    assert table.look()["options"] == options
    assert table.stored() == stored


# -------------------------------------------------------------------------- options in force


@pytest.mark.case(47)
def test_case_47_every_option_has_its_effective_value_and_the_deviations_are_listed() -> None:
    rules = agree("seven-card", 3, {"jokers": 2, "aces": "high_or_low", "upcard": False})
    fields = set(Rules.__struct_fields__) - {"variant", "players"}
    assert fields == set(OPTIONS)
    assert (rules.variant, rules.jokers, rules.aces, rules.upcard) == (
        "seven-card",
        2,
        "high_or_low",
        False,
    )
    assert (rules.ace_points, rules.hand_size, rules.decks, rules.layoffs) == (11, 7, 1, "own")
    assert {item.option: (item.preset, item.value) for item in deviations(rules)} == {
        "jokers": (0, 2),
        "aces": ("low", "high_or_low"),
    }


@pytest.mark.case(47)
@in_every_preset
def test_case_47_a_table_that_changes_nothing_has_no_deviations(variant: str) -> None:
    for players in range(2, 7):
        assert deviations(agree(variant, players, {"deals": 3})) == ()


@pytest.mark.case(47)
@in_every_preset
def test_case_47_everybody_is_shown_the_same_rules_before_and_after_the_deal(
    service: Service, variant: str
) -> None:
    table = service.table(
        variant, public=True, seats=3, taken=2, jokers=2, aces="high_or_low", upcard=False
    )
    expected = agree(variant, 3, {"jokers": 2, "aces": "high_or_low", "upcard": False, "deals": 1})
    waiting = [table.look(seat) for seat in (0, 1, None)]
    listed = next(
        entry
        for entry in service.get("/v1/games?limit=100").json["tables"]
        if entry["id"] == table.id
    )
    assert listed["variant"] == variant
    assert listed["deviations"] == waiting[0]["deviations"]
    table.join("Player 2")
    for game in (*waiting, *(table.look(seat) for seat in (0, 1, 2, None))):
        assert game["variant"] == variant
        assert game["options"] == to_builtins(expected)
        assert game["deviations"] == list(to_builtins(deviations(expected)))
    assert len(table.look(0)["hand"]) == expected.hand_size
    assert table.look()["deal"]["upcard"] is None


@pytest.mark.case(47)
def test_case_47_options_that_depend_on_the_players_are_settled_when_the_match_starts(
    service: Service,
) -> None:
    table = service.table("call-rummy", seats=5, taken=2, autostart=False)
    assert table.look()["options"]["hand_size"] == 6
    table.send(0, "start", {})
    game = table.look(0)
    assert (game["options"]["players"], game["options"]["hand_size"]) == (2, 10)
    assert len(game["hand"]) == 10


# ------------------------------------------------------------------------------- the shuffle


@pytest.mark.case(49)
@in_every_preset
def test_case_49_other_seeds_and_later_deals_are_shuffled_otherwise(variant: str) -> None:
    rules = agree(variant, 2, {"deals": 2})
    deals = [deal_of(new_match(rules, f"seed {number}")[0]) for number in range(50)]
    assert len({deal.hands for deal in deals}) == 50
    assert len({deal.stock for deal in deals}) == 50
    assert {deal.dealer for deal in deals} == {0, 1}


@pytest.mark.case(49)
@in_every_preset
def test_case_49_the_second_deal_is_another_one(variant: str) -> None:
    match, _ = new_match(agree(variant, 2, {"deals": 2}), "seed")
    first = deal_of(match)
    match = with_deal(match, turns=999)
    match = accept(match, "draw")
    match = accept(match, f"discard {deal_of(match).hands[deal_of(match).turn][0]}")
    second = deal_of(match)
    assert second.number == 2
    assert second.dealer != first.dealer
    assert set(second.hands).isdisjoint(first.hands)
    assert second.stock != first.stock


@pytest.mark.case(49)
def test_case_49_two_turnovers_of_the_same_discards_are_shuffled_otherwise() -> None:
    def stock_after_turning(turned_over: int, number: int) -> tuple[str, ...]:
        match = position(
            "seven-card",
            hands="KC QD | 3D",
            stock="",
            pile="2C 4C 6C 8C TC 2D 4D 6D 8D TD 2H 4H 6H 8H TH 5S",
            phase="draw",
            turned_over=turned_over,
            number=number,
            deals=3,
        )
        return deal_of(accept(match, "draw")).stock

    orders = {
        stock_after_turning(turned_over, number) for turned_over in range(5) for number in (1, 2)
    }
    assert len(orders) == 10
    assert not any(list(order) == sorted(order) for order in orders)


@pytest.mark.case(49)
@in_every_preset
def test_case_49_no_two_of_fifty_tables_are_dealt_the_same(service: Service, variant: str) -> None:
    tables = [service.table(variant) for _ in range(50)]
    views = [table.look(0) for table in tables]
    assert len({tuple(view["hand"]) for view in views}) == 50
    assert not any(view["practice"] for view in views)
    assert {view["deal"]["dealer"] for view in views} == {0, 1}


@pytest.mark.case(49)
def test_case_49_a_given_order_is_for_one_deal_and_shown_as_practice(service: Service) -> None:
    def second_deal() -> list[list[str]]:
        table = service.position("parlett", "5C 6C | 2C 2D", stock="7C", public=True, deals=2)
        game = table.do(0, "draw", "meld 5C 6C 7C")
        assert game["deal"]["number"] == 2
        assert game["practice"] is True
        return [table.look(seat)["hand"] for seat in (0, 1)]

    deals = [second_deal() for _ in range(20)]
    assert not any(hands == [["5C", "6C"], ["2C", "2D"]] for hands in deals)
    assert len({str(hands) for hands in deals}) > 15


@pytest.mark.case(49)
def test_case_49_a_waiting_practice_table_is_listed_as_such(service: Service) -> None:
    practice, real = (
        service.table(public=True, taken=1, practice=known) for known in ({"seed": "x"}, None)
    )
    listed = {
        entry["id"]: entry["practice"]
        for entry in service.get("/v1/games?limit=100").json["tables"]
    }
    assert (listed[practice.id], listed[real.id]) == (True, False)


@pytest.mark.case(49)
def test_case_49_a_deal_of_unequal_chances_is_recognised() -> None:
    """A look at the shuffle: over many seeds each card comes first about equally often."""
    rules = agree("seven-card", 2, {})
    first = Counter(
        deal_of(new_match(rules, f"look {number}")[0]).stock[0] for number in range(2080)
    )
    assert len(first) == 52
    assert max(first.values()) < 80

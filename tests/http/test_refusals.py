"""Every refusal: what is asked, which status, code and clause answer, and that nothing changed."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client, TestResponse

from service.api.problems import status_of_code
from service.app import create_app
from service.catalogue import CATALOGUE
from service.config import Config
from service.errors import BadCard, RummyError
from service.rummy.cards import parse_card
from service.rummy.model import Move
from service.rummy.rules import OPTIONS, PRESETS
from tests.http.refusals import MOVES, REQUESTS, UNHEARD, ask, laid_out, playing
from tests.http.tables import House, Player, Table
from tests.positions import move


def leaves(kind: type[RummyError] = RummyError) -> Iterator[type[RummyError]]:
    """The errors that are raised: those that no other is a kind of."""
    kinds = kind.__subclasses__()
    if not kinds:
        yield kind
    for inner in kinds:
        yield from leaves(inner)


CANNOT_BE_REACHED = {
    "bad_card": "a card that is none is an invalid_request, which names its field",
}
ELSEWHERE = {
    "rate_limited": "test_rate_limits.py",
    "store_unavailable": "test_outage.py",
    "too_busy": "test_races.py",
    "tables_frozen": "test_freeze.py",
    "stopping": "test_readiness.py",
}


def test_what_is_refused_elsewhere_is_looked_for_there():
    for code, file in ELSEWHERE.items():
        assert f'"{code}"' in Path(__file__).with_name(file).read_text()


def test_each_leaf_of_the_tree_of_errors_is_refused_here_or_it_is_said_why_not():
    told = {refusal.code for refusal in MOVES} | {code for _, _, code, _, _ in REQUESTS}
    known = told | CANNOT_BE_REACHED.keys() | ELSEWHERE.keys()
    assert known == {leaf.code for leaf in leaves()}
    assert not told & CANNOT_BE_REACHED.keys()
    assert CATALOGUE.keys() == known | {code for _, code, *_ in UNHEARD}
    assert all(CATALOGUE[leaf.code].kind is leaf for leaf in leaves())


# ------------------------------------------------------------------------------------- moves


NOTHING_IS_NEAR = {"no_calls", "call_closed", "own_discard"}
"""To a call where there is none, whatever else may be legal."""


@pytest.mark.parametrize("line", MOVES, ids=lambda line: f"{line.code}: {line.text}")
def test_a_move_is_refused_with_its_clause_and_changes_nothing(house, line):
    table, player = laid_out(house, line)
    answer = refused(table, lambda: ask(player, line.text))
    assert (answer.status_code, answer.json["code"], answer.json["rule"]) == (
        409,
        line.code,
        line.rule,
    )
    assert refused(table, lambda: ask(player, line.text, "?check=true")).json == answer.json
    legal = listed(player)
    assert line.text.startswith("turn") or move(line.text) not in legal
    suggested = answer.json.get("try", [])
    assert len(suggested) <= 3
    assert bool(suggested) == (bool(legal) and line.code not in NOTHING_IS_NEAR), suggested
    for body in suggested:
        assert player.post(f"{body['move']}?check=true", body).status_code == 200, body
    if suggested:
        assert player.make(suggested[0]).status_code == 200
    else:
        assert is_playable(table)


# ------------------------------------------------------------------------------ other requests


@pytest.mark.parametrize(
    ("status", "code", "setting", "ask_for"),
    [pytest.param(*line, id=title) for title, *line in REQUESTS],
)
def test_a_request_is_refused_and_changes_nothing(house, status, code, setting, ask_for):
    table = setting(house)
    answer = refused(table, lambda: ask_for(table))
    assert (answer.status_code, answer.json["code"]) == (status, code), answer.text
    assert answer.json["status"] == status
    assert answer.json["type"] == f"/errors/{code}"
    assert answer.json["title"] == CATALOGUE[code].title
    assert answer.json["detail"]
    assert "try" not in answer.json
    assert ("Retry-After" in answer.headers) == (status == 503)
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    if setting is playing:
        assert is_playable(table)


# ------------------------------------------------------------------- what the framework refuses


@pytest.mark.parametrize(("status", "code", "ask_for"), UNHEARD)
def test_what_the_framework_refuses_is_explained_too(redis_url, status, code, ask_for):
    app = create_app(Config(redis_url=redis_url))
    app.add_url_rule("/broken", view_func=lambda: 1 / 0)
    answer = ask_for(app.test_client())
    assert (answer.status_code, answer.json["code"]) == (status, code)
    assert answer.json["type"] == f"/errors/{code}"
    assert answer.json["title"] == CATALOGUE[code].title
    assert answer.json.keys() == {"type", "title", "status", "detail", "instance", "code"}


def test_behind_a_prefix_the_type_has_the_prefix_too(house):
    client = Client(DispatcherMiddleware(house.app, {"/cards & more": house.app}))
    answer = client.get("/cards & more/v1/games/aaaaaaaaaaaaaaaa")
    assert answer.json["type"] == "/cards%20%26%20more/errors/no_such_game"
    answer = client.get("/cards & more/v1/tables")
    assert answer.json["type"] == "/cards%20%26%20more/errors/no_such_route"


# -------------------------------------------------------------------------------- the catalogue


def test_each_entry_explains_its_code_in_two_to_four_sentences():
    for entry in CATALOGUE.values():
        assert 2 <= entry.explanation.count(". ") + 1 <= 4, entry.code
        assert entry.explanation.endswith("."), entry.code
        assert all(text.endswith(".") for text in entry.params.values()), entry.code
        assert entry.title, entry.code
        assert 400 <= status_of_code(entry.code) <= 599


def test_the_catalogue_lists_no_clause_and_no_value_that_no_refusal_has(house):
    """That it lists all that a refusal has is seen to wherever a test is refused anything."""
    seen: dict[str, tuple[set, set]] = defaultdict(lambda: (set(), set()))
    for answer in everything_refused(house):
        rules, params = seen[answer.json["code"]]
        rules.update({answer.json["rule"]} if "rule" in answer.json else ())
        params.update(answer.json.get("params", ()))
    with pytest.raises(BadCard) as refusal:
        parse_card("10H")
    seen["bad_card"] = (set(), {*refusal.value.params})
    known = {entry.code: ({*entry.rules}, {*entry.params}) for entry in CATALOGUE.values()}
    never = CANNOT_BE_REACHED.keys() - {"bad_card"} | ELSEWHERE.keys()
    assert {code: known[code] for code in seen} == seen
    assert known.keys() - seen.keys() == never | {code for _, code, _ in UNHEARD}


def everything_refused(house: House) -> Iterator[TestResponse]:
    """The answers to all lines of the tables, and to every option with a wrong value."""
    for line in MOVES:
        yield ask(laid_out(house, line)[1], line.text)
    for _, _, _, setting, ask_for in REQUESTS:
        yield ask_for(setting(house))
    for variant in PRESETS:
        for option in OPTIONS.values():
            wrong = option.high + 1 if option.kind == "number" else "wild"
            yield house.new_table(variant, options={option.name: wrong})


# --------------------------------------------------------------------------------- what they say


def test_a_card_is_not_in_your_hand_wherever_it_is(house):
    table = house.position(
        hands="5C 5D KH | 2S 3S", pile="9C 9D", melds="1: 7C 7D 7H", stock="4D AC"
    )
    answers = {
        card: table.players[0].play(f"discard {card}").json
        for card in ("2S", "9C", "9D", "7C", "4D", "AC")
    }
    told = {str(answer).replace(card, "??") for card, answer in answers.items()}
    assert len(told) == 1, told


def test_a_turn_is_all_or_nothing(house):
    table = house.position(hands="5C 5D 5H 7S KH QH | 2S 3S", melds="1: 7C 7D 7H")
    turn = {
        "plays": [
            {"move": "meld", "cards": ["5C", "5D", "5H"]},
            {"move": "layoff", "meld": 1, "cards": ["7S"]},
        ]
    }
    for discard, code, rule in (
        (None, "turn_unfinished", "common.3"),
        ("2S", "not_in_hand", "common.3"),
        ("5C", "not_in_hand", "common.3"),
    ):
        body = turn | {"discard": discard}
        answer = refused(table, lambda body=body: table.players[0].post("turn", body))
        assert (answer.json["code"], answer.json["rule"]) == (code, rule)
    answer = table.players[0].post("turn", turn | {"discard": "KH"})
    assert [entry["event"]["type"] for entry in answer.json["events"]] == [
        "melded",
        "laid_off",
        "discarded",
    ]
    assert answer.json["game"]["hand"] == ["QH"]


def test_every_problem_with_the_options_is_told_at_once(house):
    options = {"decks": 3, "jokers": -1, "moonlight": True, "aces": "wild"}
    answer = house.new_table("straight", options=options | {"deals": 1})
    assert {problem["option"]: problem["rule"] for problem in answer.json["options"]} == {
        "decks": "straight.1",
        "jokers": "jokers.1",
        "moonlight": None,
        "aces": "common.4",
    }


def test_every_field_at_fault_is_told_at_once(house):
    answer = house.client().post(
        "/v1/games", json={"variant": "canasta", "seats": 1, "colour": "red"}
    )
    assert {problem["field"] for problem in answer.json["fields"]} == {
        "variant",
        "name",
        "seats",
        "colour",
    }


def listed(player: Player) -> list[Move]:
    """The moves that the service lists for the player."""
    return [msgspec.convert(item, Move) for item in player.get("moves").json["moves"]]


def refused(table: Table, request: Callable[[], TestResponse]) -> TestResponse:
    """The answer to a request that leaves everything in the store as it was, byte for byte."""
    before = table.stored()
    answer = request()
    assert answer.status_code >= 400, answer.text
    assert table.stored() == before
    return answer


def is_playable(table: Table) -> bool:
    """Somebody at the table still has a move, and it is accepted."""
    for player in table.players:
        moves = player.get("moves").json["moves"]
        if moves:
            return player.make(moves[0]).status_code == 200
    return False

"""`check=true`: what a move would come to, and nothing of it happens.

The clock stands still from check to move, so that everything in the two answers can be compared.
"""

import json
import re
from collections.abc import Iterator
from random import Random

import msgspec
import pytest
from werkzeug.test import TestResponse

from service.rummy.model import CallWindow
from service.rummy.rules import PRESETS
from tests import positions
from tests.http.tables import Player, Table, code

A_CARD = re.compile(r"(?<![\w.-])[A2-9TJQK][CDHS](?![\w.-])")
MOVES = ("draw", "meld", "layoff", "swap", "discard", "rummy", "turn")


def check(player: Player, part: str, body: object, **headers: str) -> TestResponse:
    return player.post(f"{part}?check=true", body, **headers)


def assert_foretold(table: Table, player: Player, part: str, body: dict) -> TestResponse:
    """The move's answer, after the check has told the very same and has changed nothing."""
    before = table.stored()
    known = cards_known_to(player) | pile_of(table) | set(A_CARD.findall(json.dumps(body)))
    checked = check(player, part, body)
    assert table.stored() == before
    assert "Idempotency-Replayed" not in checked.headers
    answer = player.post(part, body)
    if answer.status_code != 200:
        assert checked.status_code == answer.status_code, checked.text
        assert checked.json == answer.json
        assert table.stored() == before
        return answer
    assert checked.status_code == 200, checked.text
    version = answer.json["version"] - 1
    assert (checked.json["type"], checked.json["version"]) == ("checked", version)
    assert checked.headers["ETag"] == f'"{version}"'
    assert checked.json["game"] == (None if reveals(answer) else answer.json["game"])
    assert cards_in(checked.json) <= known
    return answer


def reveals(answer: TestResponse) -> bool:
    """Whether whoever knows what this move does knows cards that were hidden before it."""
    events = [entry["event"] for entry in answer.json["events"]]
    return any(
        event["type"] in {"deal_ended", "turned_over"} or event.get("source") == "stock"
        for event in events
    )


def cards_known_to(player: Player) -> set[str]:
    """Every card that is in anything that the player can read."""
    return cards_in([player.look(), player.log()])


def pile_of(table: Table) -> set[str]:
    """The discard pile, which everybody has seen grow; a position's log does not tell it."""
    match = table.game().match
    return set(match.deal.pile) if match and match.deal else set()


def cards_in(value: object) -> set[str]:
    """The cards in an answer; what a listed move would have a joker stand for is none."""
    return set(A_CARD.findall(json.dumps(_without_wishes(value))))


def _without_wishes(value: object) -> object:
    if isinstance(value, list):
        return [_without_wishes(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("move") in {"meld", "layoff", "rummy"}:
        value = {name: inner for name, inner in value.items() if name != "jokers"}
    return {name: _without_wishes(inner) for name, inner in value.items()}


# ---------------------------------------------------------------------------- matches at random


HOUSE_RULES = [
    *((variant, {}) for variant in PRESETS),
    ("straight", {"jokers": 3, "joker_swap": True, "layoffs": "any", "aces": "high_or_low"}),
    ("parlett", {"jokers": 4, "joker_swap": True, "turnover_shuffles": True, "hand_size": 5}),
    ("call-rummy", {"call": "timed", "call_seconds": 30, "jokers": 2, "turn_seconds": 60}),
    ("seven-card", {"call": "next_draw", "final_discard": True, "decks": 2, "turn_seconds": 20}),
    ("straight", {"hand_size": 14, "turnover": "last_card", "turnovers": 1}),
]


def wishes(player: Player, chance: Random) -> Iterator[tuple[str, dict]]:
    """A few moves that the player could try: legal ones of each kind, and others."""
    view = player.look()
    legal = view["moves"]
    for kind in MOVES:
        of_kind = [move for move in legal if move["move"] == kind]
        for move in chance.sample(of_kind, min(2, len(of_kind))):
            yield kind, move
    plays = [move for move in legal if move["move"] in {"meld", "layoff", "swap"}]
    hand = view["hand"] or ["AS"]
    yield (
        "turn",
        {
            "plays": chance.sample(plays, min(len(plays), 2)),
            "discard": chance.choice(hand),
        },
    )
    card = chance.choice(A_PACK)
    yield chance.choice(
        [
            ("draw", {"from": "discard", "card": card}),
            ("draw", {"from": "stock"}),
            ("discard", {"card": card}),
            ("meld", {"cards": chance.sample(hand, min(3, len(hand)))}),
            ("layoff", {"meld": chance.randint(1, 3), "cards": [chance.choice(hand)]}),
            ("swap", {"meld": chance.randint(1, 3), "card": card}),
            ("rummy", {"meld": chance.randint(1, 3)}),
        ]
    )


A_PACK = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]


@pytest.mark.parametrize("number", range(len(HOUSE_RULES)))
def test_in_a_match_at_random_every_check_tells_what_the_move_does(timed_house, clock, number):
    variant, options = HOUSE_RULES[number]
    chance = Random(number)
    players = chance.randint(2, 3)
    table = timed_house.table(variant, players, seed=f"checks {number}", deals=2, **options)
    told: set[str] = set()
    for _ in range(11):
        game = table.game()
        if game.match.deal is None:
            break
        for player in table.players:
            tried = list(wishes(player, chance))
            before = table.stored()
            told.update(code(check(player, part, body)) for part, body in tried)
            assert table.stored() == before
        mover = table.players[game.match.deal.turn]
        part, body = chance.choice(list(wishes(mover, chance))[:-1])
        if assert_foretold(table, mover, part, body).status_code != 200:
            legal = chance.choice(mover.look()["moves"] or [{"move": "draw", "from": "stock"}])
            assert_foretold(table, mover, legal["move"], legal)
        if chance.random() < 0.3:
            clock.forward(chance.choice([1, 31]))
    assert {"200", "not_your_turn"} <= told


# ------------------------------------------------------------------------------------ positions

OPEN = {"hands": "5C 5D 5H 8C KH QD | 2S 3S", "melds": "1: 8D 8H 8S; 0: 2C 3C 4C", "pile": "9D"}
TO_DRAW = {**OPEN, "phase": "draw"}
JOKERS = {
    "variant": "seven-card",
    "hands": "7C JK KH QD | 2S 3S",
    "melds": "0: 6C JK=7C 8C",
    "pile": "9D",
    "jokers": 2,
    "joker_swap": True,
    "layoffs": "any",
}
CALL = {
    "variant": "call-rummy",
    "phase": "draw",
    "turn": 1,
    "hands": "2S 3S | KD QD | TS 9S",
    "pile": "2C 8C",
    "melds": "1: 8D 8H 8S",
    "window": CallWindow(2, None),
}

LEGAL = {
    "a stock card": (TO_DRAW, "draw"),
    "the upcard": (TO_DRAW, "take"),
    "the upcard by name": (TO_DRAW, "take 9D"),
    "the only card of the pile": ({**TO_DRAW, "stock": "AS"}, "take"),
    "the last stock card": ({**TO_DRAW, "stock": "AS"}, "draw"),
    "a stock card when the pile is turned over": (
        {**TO_DRAW, "stock": "", "pile": "9D 9S"},
        "draw",
    ),
    "a stock card when nothing can be turned over": (
        {**TO_DRAW, "stock": "", "pile": "9D 9S", "turnovers": 0},
        "draw",
    ),
    "a meld": (OPEN, "meld 5C 5D 5H"),
    "a layoff on the own run": (OPEN, "layoff 2 5C"),
    "a layoff on another's set": (OPEN, "layoff 1 8C"),
    "a discard": (OPEN, "discard KH"),
    "a discard that fits a meld": (OPEN, "discard 8C"),
    "a discard that can be called": ({**OPEN, "variant": "call-rummy"}, "discard 8C"),
    "a discard that can be called for a while": (
        {**OPEN, "variant": "call-rummy", "call": "timed", "call_seconds": 20},
        "discard 8C",
    ),
    "a discard with a clock": ({**OPEN, "turn_seconds": 60}, "discard KH"),
    "a swap": (JOKERS, "swap 1 7C"),
    "a layoff of a joker": (JOKERS, "layoff 1 JK=9C"),
    "a call": (CALL, "rummy 1"),
    "going out with a meld": ({"hands": "5C 5D 5H | 2S 3S", "pile": "9D"}, "meld 5C 5D 5H"),
    "going out with a meld before the last deal": (
        {"hands": "5C 5D 5H | 2S 3S", "pile": "9D", "deals": 2},
        "meld 5C 5D 5H",
    ),
    "going out with a discard": ({"hands": "KH | 2S 3S", "pile": "9D"}, "discard KH"),
    "a turn": (OPEN, "meld 5C 5D 5H", "layoff 1 8C", "discard KH"),
    "a turn of a discard": (OPEN, "discard KH"),
    "a turn that goes out": (
        {"hands": "5C 5D 5H KH | 2S 3S", "pile": "9D"},
        "meld 5C 5D 5H",
        "discard KH",
    ),
    "a turn with a swap": (JOKERS, "swap 1 7C", "discard KH"),
    "a discard after so many turns that the deal is blocked": (
        {**OPEN, "turns": 999},
        "discard KH",
    ),
}

SHOWN = {
    "a stock card": False,
    "the last stock card": False,
    "a stock card when the pile is turned over": False,
    "a stock card when nothing can be turned over": False,
    "going out with a meld": False,
    "going out with a meld before the last deal": False,
    "going out with a discard": False,
    "a turn that goes out": False,
    "a discard after so many turns that the deal is blocked": False,
}
"""Whether the game is shown as it would be; all others are."""

ILLEGAL = {
    "a second draw": (OPEN, "draw", "already_drawn"),
    "another upcard": (TO_DRAW, "take 9H", "upcard_changed"),
    "an upcard that is not there": ({**TO_DRAW, "pile": ""}, "take", "no_upcard"),
    "a stock card that cannot be had": (
        {**TO_DRAW, "stock": "", "pile": "9D", "turnover_keeps_upcard": True},
        "draw",
        "nothing_to_turn_over",
    ),
    "a discard before the draw": (TO_DRAW, "discard KH", "draw_first"),
    "a card that lies somewhere else": (OPEN, "discard 2S", "not_in_hand"),
    "a card that nobody has": (OPEN, "discard AS", "not_in_hand"),
    "no meld": (OPEN, "meld 5C 5D KH", "not_a_meld"),
    "a second meld": (
        {**OPEN, "hands": "5C 5D 5H KC KD KH QD | 2S 3S", "new_melds": 1},
        "meld 5C 5D 5H",
        "meld_limit",
    ),
    "a card that does not fit": (OPEN, "layoff 1 KH", "does_not_fit"),
    "a meld that is not there": (OPEN, "layoff 9 KH", "no_such_meld"),
    "another's meld": ({**OPEN, "layoffs": "own"}, "layoff 1 8C", "not_your_meld"),
    "no layoffs": ({**OPEN, "layoffs": "none"}, "layoff 1 8C", "no_layoffs"),
    "no swaps": ({**JOKERS, "joker_swap": False}, "swap 1 7C", "no_swaps"),
    "no joker there": (JOKERS, "swap 1 KH", "no_joker_there"),
    "a joker that could stand for two cards": (JOKERS, "layoff 1 JK", "joker_unclear"),
    "a joker that is named wrongly": (JOKERS, "layoff 1 7C=5C JK=9C", "joker_misnamed"),
    "the upcard just taken": ({**OPEN, "taken": "KH"}, "discard KH", "upcard_returned"),
    "no calls": (OPEN, "rummy 1", "no_calls"),
    "nothing to call": ({**CALL, "window": None}, "rummy 1", "call_closed"),
    "the own discard": ({**CALL, "window": CallWindow(0, None)}, "rummy 1", "own_discard"),
    "a timed call before the draw": (
        {
            **CALL,
            "turn": 0,
            "call": "timed",
            "call_seconds": 20,
            "window": CallWindow(2, 10**14),
        },
        "draw",
        "call_pending",
    ),
    "no cards left to discard": (
        {**OPEN, "hands": "5C 5D 5H | 2S 3S", "final_discard": True},
        "meld 5C 5D 5H",
        "final_discard_needed",
    ),
}


def request(*texts: str) -> tuple[str, dict]:
    """Where to send moves written as in `tests.positions`, and the body."""
    moves = [msgspec.to_builtins(positions.move(text)) for text in texts]
    if len(moves) == 1:
        return moves[0]["move"], moves[0]
    return "turn", {"plays": moves[:-1], "discard": moves[-1]["card"]}


@pytest.mark.parametrize("name", LEGAL)
def test_a_check_tells_what_a_legal_move_does(timed_house, clock, name):
    position, *texts = LEGAL[name]
    table = timed_house.position(**position)
    part, body = request(*texts)
    if name == "a turn of a discard":
        part, body = "turn", {"discard": body["card"]}
    checked = check(table.players[0], part, body)
    assert (checked.json["game"] is not None) == SHOWN.get(name, True)
    assert assert_foretold(table, table.players[0], part, body).status_code == 200


@pytest.mark.parametrize("name", ILLEGAL)
def test_a_check_refuses_as_the_move_is_refused(timed_house, clock, name):
    position, text, refusal = ILLEGAL[name]
    table = timed_house.at(_position(**position))
    part, body = request(text)
    assert code(assert_foretold(table, table.players[0], part, body)) == refusal
    if part not in {"draw", "rummy", "discard"}:
        body = {"plays": [body], "discard": "QD"}
        refused = assert_foretold(table, table.players[0], "turn", body)
        assert code(refused) == refusal
        assert refused.json["params"]["play"] == 0


def _position(new_melds: int = 0, **written: object):
    match = positions.position(**written)
    return positions.with_deal(match, new_melds=new_melds)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [("draw", "not_your_turn"), ("discard 2S", "not_your_turn"), ("rummy 1", "no_calls")],
)
def test_out_of_turn(timed_house, text, refusal):
    table = timed_house.position(**OPEN)
    assert code(assert_foretold(table, table.players[1], *request(text))) == refusal


AT_OTHER_TIMES = {
    "before the start": ("not_started", Table.game),
    "at a closed table": ("table_closed", lambda table: table.players[0].post("close")),
}


@pytest.mark.parametrize("name", AT_OTHER_TIMES)
@pytest.mark.parametrize("text", ["draw", "discard KH", "meld 5C 5D 5H"])
def test_when_no_match_is_on(house, name, text):
    refusal, happens = AT_OTHER_TIMES[name]
    table = house.waiting("straight", 3)
    happens(table)
    assert code(assert_foretold(table, table.players[0], *request(text))) == refusal


def test_after_the_match_and_after_leaving_it(house):
    table = house.position(hands="5C 5D 5H | 2S 3S | 4S 6S", pile="9D")
    table.players[1].post("leave")
    assert code(assert_foretold(table, table.players[1], *request("draw"))) == "seat_away"
    table.players[0].play("meld 5C 5D 5H")
    for player in table.players:
        assert code(assert_foretold(table, player, *request("draw"))) == "match_over"


def test_the_unknown_game(house):
    nowhere = Player(house.client(), "a" * 16, token=house.table("straight").players[0].token)
    checked, real = check(nowhere, *request("draw")), nowhere.post(*request("draw"))
    assert (checked.status_code, checked.json) == (404, real.json)


# ----------------------------------------------------------------------------------- who may ask


@pytest.mark.parametrize("token", [None, "x", "foreign"])
def test_a_check_takes_the_token_of_the_seat_as_the_move_does(house, token):
    table = house.position(**OPEN)
    if token == "foreign":
        token = house.table("straight").players[0].token
    stranger = Player(house.client(), table.id, token=token)
    before = table.stored()
    for part, body in map(request, ("draw", "meld 5C 5D 5H", "layoff 1 8C", "swap 1 8C")):
        checked, real = check(stranger, part, body), stranger.post(part, body)
        assert checked.status_code in {401, 403}
        assert (checked.status_code, checked.json) == (real.status_code, real.json)
    assert table.stored() == before


@pytest.mark.parametrize("version", ['"1"', '"99"', "3", "x", ""])
def test_a_check_honours_if_match_as_the_move_does(house, version):
    table = house.position(**OPEN)
    ada = table.players[0]
    for part, body in (request("discard KH"), request("meld 5C 5D 5H", "discard KH")):
        checked = check(ada, part, body, if_match=version)
        real = ada.post(part, body, if_match=version)
        assert checked.status_code in {412, 422}
        assert (checked.status_code, checked.json) == (real.status_code, real.json)
    pinned = f'"{table.game().version}"'
    assert check(ada, *request("discard KH"), if_match=pinned).status_code == 200


MALFORMED = {
    "draw": [{}, {"from": "hand"}, {"from": "stock", "x": 1}],
    "meld": [{}, {"cards": []}, {"cards": ["10H"]}],
    "layoff": [{"meld": 0, "cards": ["5C"]}, {"meld": 1.5, "cards": ["5C"]}],
    "swap": [{"meld": 1, "card": "JK"}],
    "discard": [{"card": "as"}, {"move": "draw", "card": "AS"}],
    "rummy": [{}, {"meld": "1"}],
    "turn": [{"plays": [{"move": "draw"}]}, {"discard": 5}],
}


def test_a_check_refuses_a_malformed_move_as_the_move_is_refused(house):
    assert MALFORMED.keys() == set(MOVES)
    table = house.position(**OPEN)
    for part, bodies in MALFORMED.items():
        for body in bodies:
            refused = assert_foretold(table, table.players[0], part, body)
            assert code(refused) == "invalid_request", (part, body)


# -------------------------------------------------------------------------------- how it is asked


def test_every_move_can_be_checked_and_nothing_else(house, document):
    found = {
        path.rpartition("/")[2]
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if isinstance(operation, dict)
        and any(parameter["name"] == "check" for parameter in operation.get("parameters", ()))
    }
    assert found == set(MOVES)
    table = house.waiting("straight", 3, 2)
    before = table.stored()
    for part in ("start", "leave", "close", "return", "rematch"):
        refused = table.players[0].post(f"{part}?check=true")
        assert code(refused) == "invalid_request"
    assert table.stored() == before


@pytest.mark.parametrize(
    "query",
    [
        "check=1",
        "check=yes",
        "check=TRUE",
        "check=null",
        "check=true&check=true",
        "check=true&check=false",
        "check=tru\u00e9",
        "checks=true",
        "check=true&wait=5",
        "check=true&wait=x",
    ],
)
def test_what_is_not_quite_a_check_is_refused_and_never_carried_out(house, query):
    table = house.position(**OPEN)
    before = table.stored()
    for part, body in (request("discard KH"), ("turn", {"discard": "KH"}), request("draw")):
        refused = table.players[0].post(f"{part}?{query}", body)
        assert (refused.status_code, code(refused)) == (422, "invalid_request")
        assert refused.json["fields"][0]["field"] in {"check", "checks", "wait"}
    assert table.stored() == before


def test_a_check_by_its_name_alone_and_one_that_says_false(house):
    table = house.position(**OPEN)
    ada = table.players[0]
    before = table.stored()
    assert ada.post("meld?check", {"cards": ["5C", "5D", "5H"]}).json["type"] == "checked"
    assert ada.post("discard?check=true&wait=0", {"card": "KH"}).json["type"] == "checked"
    assert table.stored() == before
    made = ada.post("meld?check=false", {"cards": ["5C", "5D", "5H"]})
    assert [entry["event"]["type"] for entry in made.json["events"]] == ["melded"]


# ------------------------------------------------------------------------------- with other things


def test_a_check_with_a_key_remembers_nothing(house):
    table = house.position(**OPEN)
    ada = table.players[0]
    before = table.stored()
    for text in ("discard KH", "discard QD", "meld 5C 5D 5H", "draw"):
        checked = check(ada, *request(text), idempotency_key="a key")
        assert code(checked) == ("already_drawn" if text == "draw" else "200")
    assert table.stored() == before
    made = ada.post(*request("discard KH"), idempotency_key="a key")
    assert made.status_code == 200
    assert "Idempotency-Replayed" not in made.headers
    after = table.stored()
    checked = check(ada, *request("discard KH"), idempotency_key="a key")
    assert code(checked) == "not_your_turn"
    assert table.stored() == after
    repeat = ada.post(*request("discard KH"), idempotency_key="a key")
    assert repeat.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("key", ["", "k" * 256, "\x00"])
def test_a_key_that_is_none_is_refused_with_a_check_too(house, key):
    table = house.position(**OPEN)
    refused = check(table.players[0], *request("discard KH"), idempotency_key=key)
    assert (refused.status_code, code(refused)) == (422, "bad_idempotency_key")


def test_at_a_table_with_computers_the_check_stops_before_they_play(timed_house, clock):
    match = positions.position("straight", **OPEN)
    table = timed_house.at(match, computers={1: "steady"})
    ada = table.players[0]
    before = table.stored()
    checked = check(ada, *request("discard KH")).json["game"]
    assert table.stored() == before
    assert (checked["version"], checked["deal"]["turn"]) == (table.game().version + 1, 1)
    assert (checked["deal"]["upcard"], checked["turn_ends_at"], checked["moves"]) == (
        "KH",
        None,
        [],
    )
    assert cards_in(checked) <= cards_known_to(ada)
    made = ada.post(*request("discard KH"))
    assert len(made.json["events"]) > 1
    assert made.json["game"]["deal"]["turn"] == 0


def test_a_check_tells_the_deadline_of_the_turn_that_would_follow(timed_house, clock):
    table = timed_house.table("straight", seed="deadline", turn_seconds=60)
    mover = table.mover
    mover.draw("discard")
    clock.forward(20)
    view = mover.look()
    card = next(move["card"] for move in view["moves"] if move["move"] == "discard")
    checked = check(mover, "discard", {"card": card}).json["game"]
    assert checked["turn_ends_at"] > view["turn_ends_at"]
    assert mover.look()["turn_ends_at"] == view["turn_ends_at"]
    assert assert_foretold(table, mover, "discard", {"card": card}).status_code == 200


def test_a_check_after_the_deadline_finds_the_turn_played_like_anybody_who_looks(
    timed_house, clock
):
    table = timed_house.table("straight", turn_seconds=60)
    mover = table.mover
    clock.forward(61)
    checked = check(mover, *request("draw"))
    assert code(checked) == "not_your_turn"
    forced = [entry["event"]["type"] for entry in table.stranger.log() if entry["forced"]]
    assert forced == ["drew", "discarded"]
    assert checked.json == mover.post(*request("draw")).json


def test_a_checked_move_does_not_count_as_one_of_the_players_own(timed_house, clock):
    table = timed_house.table("straight", turn_seconds=60, away_after=1)
    mover = table.mover
    assert check(mover, *request("draw")).status_code == 200
    clock.forward(61)
    assert table.stranger.look()["seats"][mover.seat]["away"] == "timed_out"


def test_a_check_rings_no_bell(house):
    table = house.position(**OPEN)
    listener = house.redis.pubsub()
    listener.subscribe(f"rummy:{{{table.id}}}:bell")
    assert listener.get_message(timeout=30)["type"] == "subscribe"
    assert check(table.players[0], *request("discard KH")).status_code == 200
    assert table.players[0].play("discard KH").status_code == 200
    rung = listener.get_message(timeout=30)
    assert int(rung["data"]) == table.game().version
    listener.close()

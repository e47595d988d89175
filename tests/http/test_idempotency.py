"""Idempotency-Key: a request sent again is carried out once, and gets the first answer.

What is kept is compared in the store itself, byte for byte.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from msgspec import structs
from werkzeug.test import TestResponse

from service.api import contract
from service.rummy.cards import pack
from service.rummy.model import CallWindow
from tests.http.tables import EXPIRY, House, Player, Table, code
from tests.http.test_races import at_once

KEY = "0b6e1d5e-3f0c-4a57-9a53-b7c1f0a6d2e4"
OTHER_KEY = "7d0a44c1-52b6-4c5e-8f5e-0d0c2c9f7b11"
DAY = 86_400

again_and_again = pytest.mark.parametrize("trial", range(3))


def new_key() -> str:
    """What makes tables has to be new in each run: the store may have been there before."""
    return f"{time.time_ns()} {KEY}"


@dataclass(frozen=True)
class Wish:
    """A request that is accepted as things stand: who sends it, where to, and its body.

    `again`: how it fares when it is sent once more with a new key. `other`: another wish of the
    same client, where to and its body. `games`: those that it has to do with.
    """

    player: Player
    part: str
    body: object
    again: str
    other: tuple[str, object]
    games: tuple[str, ...]
    key: str = field(default_factory=new_key)

    def send(self, key: str | None = None, **headers: str) -> TestResponse:
        key = self.key if key is None else key
        return self.player.post(self.part, self.body, idempotency_key=key, **headers)

    def send_without_key(self) -> TestResponse:
        return self.player.post(self.part, self.body)

    def send_other(self) -> TestResponse:
        """The other wish, with the key of this one."""
        return self.player.post(*self.other, idempotency_key=self.key)


class Maker(Player):
    """Somebody who makes a table: all requests go there, whatever their part."""

    def _path(self, part: str) -> str:
        return "/v1/games" + (f"/{part}" if part else "")


def in_play(
    move: str, again: str, other: tuple[str, object], body: object = None, **position: object
) -> Callable[[House], Wish]:
    """A move of seat 0 at that position."""

    def wish(house: House) -> Wish:
        table = house.position(**{"variant": "straight", **position})
        return Wish(table.players[0], move, body, again, other, (table.id,))

    return wish


def of_host(
    part: str, body: object, again: str, other: tuple[str, object], taken: int = 2
) -> Callable[[House], Wish]:
    """A request of the host at a table for four that waits."""

    def wish(house: House) -> Wish:
        table = house.waiting("straight", 4, taken, more={"autostart": False})
        return Wish(table.players[0], part, body, again, other, (table.id,))

    return wish


def creating(house: House) -> Wish:
    body = {
        "variant": "straight",
        "name": "ada",
        "options": {"deals": 2},
        "seats": 3,
        "private": True,
        "computers": ["random"],
    }
    return Wish(Maker(house.client(), ""), "", body, "201", ("", {**body, "name": "eva"}), ())


def joining(house: House) -> Wish:
    made = house.new_table("straight", 3, options={"deals": 1}, private=True).json
    player = Player(house.client(), made["game"]["id"])
    body = {"name": "bo", "invitation": made["invitation"]}
    other = ("join", {**body, "name": "bob"})
    return Wish(player, "join", body, "201", other, (player.game_id,))


def leaving(house: House) -> Wish:
    table = house.waiting("straight", 4, 2, more={"autostart": False})
    return Wish(table.players[1], "leave", None, "not_your_seat", ("return", None), (table.id,))


def leaving_in_play(house: House) -> Wish:
    table = house.table("straight", 3)
    return Wish(table.players[1], "leave", None, "200", ("return", None), (table.id,))


def returning(house: House) -> Wish:
    table = house.table("straight", 3)
    table.players[1].post("leave")
    return Wish(table.players[1], "return", None, "200", ("leave", None), (table.id,))


def finished(house: House) -> Table:
    table = house.position(hands="5C 5D 5H | 2S 3S")
    assert table.players[0].play("meld 5C 5D 5H").json["game"]["status"] == "finished"
    return table


def asking_for_a_rematch(house: House) -> Wish:
    table = finished(house)
    following = table.players[1].post("rematch").json["game"]["id"]
    other = ("join", {"name": "ada"})
    return Wish(table.players[0], "rematch", None, "201", other, (table.id, following))


FITTING = {"hands": "8C KH QD | 2S 3S", "melds": "1: 8D 8H 8S", "pile": "9D"}
JOKERS = {"jokers": 2, "joker_swap": True}

WISHES: dict[str, Callable[[House], Wish]] = {
    "createGame": creating,
    "joinGame": joining,
    "addComputers": of_host(
        "computers", {"levels": ["steady"]}, "200", ("computers", {"levels": ["random"]})
    ),
    "removePlayer": of_host("remove", {"seat": 1}, "no_such_seat", ("remove", {"seat": 2})),
    "startGame": of_host("start", None, "already_started", ("close", None)),
    "addEntropy": of_host(
        "entropy", {"entropy": "heads"}, "200", ("entropy", {"entropy": "tails"})
    ),
    "closeTable": of_host("close", None, "200", ("start", None)),
    "leaveGame": leaving,
    "leaveGame in play": leaving_in_play,
    "returnToGame": returning,
    "rematch": asking_for_a_rematch,
    "draw": in_play(
        "draw",
        "already_drawn",
        ("draw", {"from": "discard"}),
        {"from": "stock"},
        phase="draw",
        **FITTING,
    ),
    "meld": in_play(
        "meld",
        "meld_limit",
        ("meld", {"cards": ["6C", "6D", "6H"]}),
        {"cards": ["5C", "5D", "5H"]},
        hands="5C 5D 5H 6C 6D 6H KH | 2S 3S",
    ),
    "layoff": in_play(
        "layoff",
        "not_in_hand",
        ("layoff", {"meld": 2, "cards": ["8C"]}),
        {"meld": 1, "cards": ["8C"]},
        **FITTING,
    ),
    "swap": in_play(
        "swap",
        "not_in_hand",
        ("swap", {"meld": 1, "card": "KH"}),
        {"meld": 1, "card": "5C"},
        hands="5C KH QD | 2S 3S",
        melds="1: JK=5C 6C 7C",
        variant="seven-card",
        **JOKERS,
    ),
    "discard": in_play(
        "discard", "not_your_turn", ("discard", {"card": "QD"}), {"card": "KH"}, **FITTING
    ),
    "callRummy": in_play(
        "rummy",
        "call_closed",
        ("rummy", {"meld": 2}),
        {"meld": 1},
        variant="call-rummy",
        phase="draw",
        turn=1,
        hands="2S 3S | KD QD | TS 9S",
        pile="2C 8C",
        melds="1: 8D 8H 8S",
        window=CallWindow(2, None),
    ),
    "playTurn": in_play(
        "turn",
        "not_your_turn",
        ("discard", {"card": "KH"}),
        {"plays": [{"move": "layoff", "meld": 1, "cards": ["8C"]}], "discard": "KH"},
        **FITTING,
    ),
}
"""By operation: everything that a POST can change."""

every_wish = pytest.mark.parametrize("make", WISHES.values(), ids=WISHES)

CHANGE_NOTHING = {"queryGames"}
"""A POST only so that tokens are not in the address."""


def kept(house: House, *game_ids: str) -> dict[str, object]:
    """All that the store keeps of these games, byte for byte."""
    found: dict[str, object] = {}
    read = {
        b"hash": house.redis.hgetall,
        b"stream": house.redis.xrange,
        b"list": lambda key: house.redis.lrange(key, 0, -1),
        b"string": house.redis.get,
    }
    for game_id in game_ids:
        for key in keys_of(house, game_id):
            found[key] = read[house.redis.type(key)](key)
    return found


def keys_of(house: House, game_id: str) -> list[str]:
    return sorted(
        key.decode() for key in house.redis.scan_iter(f"rummy:{{{game_id}}}:*", count=10_000)
    )


def games_in(wish: Wish, answer: TestResponse) -> tuple[str, ...]:
    """The games that the request has to do with, also the one that it has made."""
    return tuple({*wish.games, answer.json["game"]["id"]})


def assert_replayed(answer: TestResponse, first: TestResponse) -> None:
    """The answer is the first one once more; the game in it may have gone on."""
    assert answer.status_code == first.status_code, answer.text
    assert answer.headers.get("Idempotency-Replayed") == "true"
    assert {name: value for name, value in answer.json.items() if name != "game"} == {
        name: value for name, value in first.json.items() if name != "game"
    }
    assert answer.json["game"]["id"] == first.json["game"]["id"]
    assert answer.headers.get("Location") == first.headers.get("Location")


def is_replayed(answer: TestResponse) -> bool:
    return "Idempotency-Replayed" in answer.headers


def operations(house: House) -> dict[str, dict]:
    """Every operation of the contract that changes something."""
    return {
        methods["post"]["operationId"]: methods["post"]
        for methods in contract(house.app)["paths"].values()
        if "post" in methods and methods["post"]["operationId"] not in CHANGE_NOTHING
    }


def test_every_operation_that_changes_something_takes_a_key_and_is_tried_here(house):
    found = operations(house)
    # What a sandbox answers with is of its own kind: test_sandbox tries that.
    assert {name.partition(" ")[0] for name in WISHES} | {"createSandbox"} == found.keys()
    for name, operation in found.items():
        headers = {parameter["name"] for parameter in operation["parameters"]}
        assert "Idempotency-Key" in headers, name
        (status,) = {"200", "201"} & operation["responses"].keys()
        assert "Idempotency-Replayed" in operation["responses"][status]["headers"], name
        codes = set(operation["responses"]["422"]["x-codes"])
        assert {"bad_idempotency_key", "idempotency_key_reused"} <= codes, name


# ------------------------------------------------------------------------------- the same wish


@every_wish
def test_a_repeat_gets_the_first_answer_and_changes_nothing(house, make):
    wish = make(house)
    first = wish.send()
    assert first.status_code in {200, 201}, first.text
    assert not is_replayed(first)
    assert first.json["events"]
    before = kept(house, *games_in(wish, first))
    for _ in range(2):
        repeat = wish.send()
        assert_replayed(repeat, first)
        assert repeat.json == first.json
        assert repeat.headers["ETag"] == first.headers["ETag"]
    assert kept(house, *games_in(wish, first)) == before
    assert code(wish.send(new_key())) == wish.again
    assert_replayed(wish.send(), first)


@every_wish
def test_the_key_is_looked_at_before_the_version(house, make):
    wish = make(house)
    version = wish.player.get().headers.get("ETag", '"0"')
    first = wish.send(if_match=version)
    assert first.status_code in {200, 201}, first.text
    before = kept(house, *games_in(wish, first))
    assert_replayed(wish.send(if_match=version), first)
    assert_replayed(wish.send(if_match='"99"'), first)
    assert_replayed(wish.send(), first)
    assert kept(house, *games_in(wish, first)) == before


@pytest.mark.parametrize("name", ["createGame", "joinGame", "rematch", "draw", "startGame"])
def test_without_a_key_nothing_is_remembered(house, name):
    wish = WISHES[name](house)
    first = wish.send_without_key()
    assert first.status_code in {200, 201}, first.text
    for game_id in games_in(wish, first):
        assert not any(":claim:" in key for key in keys_of(house, game_id))
        fields = house.redis.hkeys(f"rummy:{{{game_id}}}:game")
        assert sorted(fields) == [b"commits", b"record", b"standing", b"version"]


@every_wish
def test_a_repeat_is_answered_with_the_game_as_it_is_now(house, make):
    wish = make(house)
    first = wish.send()
    table = Table(house, first.json["game"]["id"])
    game = table.game()
    house.store.commit(structs.replace(game, version=game.version + 1), ())
    repeat = wish.send()
    assert_replayed(repeat, first)
    assert repeat.json["game"]["version"] == first.json["game"]["version"] + 1
    assert repeat.headers["ETag"] == f'"{game.version + 1}"'


# ------------------------------------------------------------------------------- another wish


@every_wish
def test_another_wish_with_the_same_key_is_refused_and_changes_nothing(house, make):
    wish = make(house)
    first = wish.send()
    if wish.part == "rematch":  # it is remembered with the seat that it gave
        wish = replace(
            wish,
            player=Player(house.client(), first.json["game"]["id"], token=first.json["token"]),
            other=("leave", None),
        )
    before = kept(house, *games_in(wish, first))
    refused = wish.send_other()
    assert (refused.status_code, code(refused)) == (422, "idempotency_key_reused")
    assert kept(house, *games_in(wish, first)) == before
    if wish.part != "rematch":
        assert_replayed(wish.send(), first)


def test_the_same_key_for_a_draw_and_then_for_the_discard_is_refused(house):
    table = house.table("straight")
    mover = table.mover
    assert mover.draw("stock", idempotency_key="1").status_code == 200
    before = table.stored()
    card = mover.look()["hand"][0]
    for part, body in {
        "discard": {"card": card},
        "turn": {"discard": card},
        "draw": {"from": "discard"},
        "leave": None,
        "return": None,
    }.items():
        assert code(mover.post(part, body, idempotency_key="1")) == "idempotency_key_reused"
    assert table.stored() == before
    assert mover.post("discard", {"card": card}, idempotency_key="2").status_code == 200


def test_a_turn_of_nothing_but_a_discard_is_not_the_same_wish_as_that_discard(house):
    table = house.position(hands="8C KH QD | 2S 3S")
    assert table.players[0].post("turn", {"discard": "KH"}, idempotency_key="1").status_code == 200
    refused = table.players[0].post("discard", {"card": "KH"}, idempotency_key="1")
    assert code(refused) == "idempotency_key_reused"


def test_a_key_that_made_a_table_does_not_join_it(house):
    made = creating(house)
    table = Table(house, made.send().json["game"]["id"])
    before = kept(house, table.id)
    refused = table.stranger.post("join", {"name": "ada"}, idempotency_key=made.key)
    assert code(refused) == "idempotency_key_reused"
    assert kept(house, table.id) == before


DIFFERENTLY_WRITTEN: dict[str, tuple[bytes, list[bytes], list[bytes]]] = {
    "createGame": (
        b'{"variant": "straight", "name": "Ada", "options": {"deals": 2, "jokers": 1}, "seats": 3}',
        [
            b'{"seats":3,"options":{"jokers":1,"deals":2},\n\t"name":"Ada","variant":"straight"}',
            b'{"variant":"straight","name":"Ada","options":{"deals":2.0,"jokers":1e0},"seats":3.0}',
            b'{"variant":"straight","name":"\\u0041da","options":{"deals":2,"jokers":1},"seats":3}',
            b"""{"variant": "straight", "name": "Ada", "options": {"deals": 2, "jokers": 1},
                "seats": 3, "public": false, "computers": [], "practice": null}""",
        ],
        [
            b'{"variant":"straight","name":"Ada","options":{"deals":3,"jokers":1},"seats":3}',
            b'{"variant":"straight","name":"Ada","options":{"deals":2,"jokers":2},"seats":3}',
            b'{"variant":"straight","name":"Ada","options":{"deals":2,"jokers":1},"seats":2}',
            b'{"variant":"straight","name":"ada","options":{"deals":2,"jokers":1},"seats":3}',
            b'{"variant":"parlett","name":"Ada","options":{"deals":2,"jokers":1},"seats":3}',
        ],
    ),
    "joinGame": (
        b'{"name": "Bo"}',
        [b'{ "name" : "Bo" }', b'{"invitation": null, "name": "B\\u006f"}'],
        [b'{"name": "bo"}', b'{"name": "Bo", "invitation": "aaaaa-bbbbb"}'],
    ),
    "layoff": (
        b'{"meld": 1, "cards": ["8C"]}',
        [
            b' {"cards" : ["8C"], "meld" : 1.0, "move": "layoff"}\n',
            b'{"meld":1,"cards":["8\\u0043"],"jokers":[]}',
        ],
        [b'{"meld": 2, "cards": ["8C"]}', b'{"meld": 1, "cards": ["8C", "8C"]}'],
    ),
}


@pytest.mark.parametrize("name", DIFFERENTLY_WRITTEN)
def test_the_same_wish_written_differently_is_the_same_wish(house, name):
    written, same, other = DIFFERENTLY_WRITTEN[name]
    wish = WISHES[name](house)
    player = house.waiting("straight", 3).stranger if name == "joinGame" else wish.player

    def send(body: bytes) -> TestResponse:
        headers = player._headers({"idempotency_key": wish.key})
        return player.client.post(
            player._path(wish.part), data=body, headers=headers, content_type="application/json"
        )

    first = send(written)
    assert first.status_code in {200, 201}, first.text
    before = kept(house, first.json["game"]["id"])
    for body in same:
        assert_replayed(send(body), first)
    for body in other:
        assert code(send(body)) == "idempotency_key_reused", body
    assert kept(house, first.json["game"]["id"]) == before


# ------------------------------------------------------------------------------ whose key it is


def test_the_same_key_of_another_seat_is_another_key(house):
    table = house.table("straight", 3)
    for _ in table.players:
        mover = table.mover
        drawn = mover.draw("stock", idempotency_key="draw")
        assert drawn.status_code == 200
        assert not is_replayed(drawn)
        body = {"discard": mover.look()["hand"][0]}
        assert not is_replayed(mover.post("turn", body, idempotency_key="turn"))
    assert table.stranger.look()["deal"]["turns"] == 3


def test_the_same_key_at_another_game_is_another_key(house):
    tables = [house.waiting("straight", 3) for _ in range(2)]
    seats = [table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY) for table in tables]
    assert [seat.status_code for seat in seats] == [201, 201]
    assert not any(map(is_replayed, seats))
    assert seats[0].json["token"] != seats[1].json["token"]
    for table, seat in zip(tables, seats, strict=True):
        player = Player(house.client(), table.id, token=seat.json["token"])
        assert not is_replayed(player.post("leave", idempotency_key="leave"))


def test_a_guessed_key_shows_nobody_what_another_seat_has_done(house):
    table = house.table("straight", 3)
    mover = table.mover
    drawn = mover.draw("stock", idempotency_key="guessed")
    card = drawn.json["events"][0]["event"]["card"]
    before = table.stored()
    for other in table.players:
        if other.seat != mover.seat:
            refused = other.draw("stock", idempotency_key="guessed")
            assert code(refused) == "not_your_turn"
            assert card not in refused.text
    assert code(table.stranger.draw("stock", idempotency_key="guessed")) == "no_token"
    foreign = house.waiting("straight", 2).players[0].token
    for token, told in {
        foreign: "not_your_seat",
        "no token": "bad_token",
        mover.token[:-1] + ("A" if mover.token[-1] != "A" else "B"): "not_your_seat",
    }.items():
        stranger = Player(house.client(), table.id, token=token)
        assert code(stranger.draw("stock", idempotency_key="guessed")) == told
    assert table.stored() == before


def test_a_key_alone_opens_no_seat(house):
    table = house.waiting("straight", 3)
    taken = table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY)
    for body in ({"name": "eva"}, {"name": "bo", "invitation": "aaaaa-bbbbb"}):
        refused = Table(house, table.id).stranger.post("join", body, idempotency_key=KEY)
        assert code(refused) == "idempotency_key_reused"
        assert taken.json["token"] not in refused.text


# ------------------------------------------------------------------------------- what is refused


REFUSED_FIRST = {
    "a draw out of turn": (
        {"hands": "5C 5D KH | 2S 3S", "phase": "draw", "turn": 1},
        ("draw", {"from": "stock"}),
        "not_your_turn",
        lambda table: (
            table.players[1].play("draw") and table.players[1].post("discard", {"card": "2S"})
        ),
    ),
    "a meld before the draw": (
        {"hands": "5C 5D 5H KH 9D | 2S 3S", "phase": "draw", "pile": "9S"},
        ("meld", {"cards": ["5C", "5D", "5H"]}),
        "draw_first",
        lambda table: table.players[0].draw("discard"),
    ),
    "a layoff on a meld that is not there yet": (
        {"hands": "5C 5D 5H 5S KH | 2S 3S"},
        ("layoff", {"meld": 1, "cards": ["5S"]}),
        "no_such_meld",
        lambda table: table.players[0].play("meld 5C 5D 5H"),
    ),
}


@pytest.mark.parametrize(
    ("position", "wish", "refusal", "then"), REFUSED_FIRST.values(), ids=REFUSED_FIRST
)
def test_what_was_refused_is_carried_out_once_when_it_is_possible(
    house, position, wish, refusal, then
):
    table = house.position(**position)
    ada = table.players[0]
    before = table.stored()
    for _ in range(2):
        refused = ada.post(*wish, idempotency_key="1")
        assert code(refused) == refusal
        assert not is_replayed(refused)
    assert table.stored() == before
    assert then(table).status_code == 200
    first = ada.post(*wish, idempotency_key="1")
    assert first.status_code == 200, first.text
    assert not is_replayed(first)
    after = table.stored()
    assert_replayed(ada.post(*wish, idempotency_key="1"), first)
    assert table.stored() == after


def test_what_was_refused_for_its_version_is_carried_out_at_the_right_one(house):
    table = house.table("straight")
    mover = table.mover
    refused = mover.draw("stock", idempotency_key="1", if_match='"1"')
    assert code(refused) == "stale_version"
    first = mover.draw("stock", idempotency_key="1", if_match='"2"')
    assert first.json["version"] == 3
    assert not is_replayed(first)
    assert_replayed(mover.draw("stock", idempotency_key="1", if_match='"1"'), first)


def test_a_refused_wish_does_not_use_up_the_key(house):
    table = house.table("straight")
    mover = table.mover
    assert code(mover.post("discard", {"card": "AS"}, idempotency_key="1")) == "draw_first"
    assert mover.draw("stock", idempotency_key="1").status_code == 200


def test_a_full_table_refuses_a_join_and_takes_it_later_with_the_same_key(house):
    table = house.waiting("straight", 2, 2, more={"autostart": False})

    def join() -> TestResponse:
        return table.stranger.post("join", {"name": "eva"}, idempotency_key=KEY)

    assert code(join()) == "table_full"
    table.players[1].post("leave")
    first = join()
    assert first.json["seat"] == 1
    assert not is_replayed(first)
    assert_replayed(join(), first)


def test_a_table_that_was_refused_is_made_with_the_same_key(house):
    maker, key = Maker(house.client(), ""), new_key()

    def create(**options: object) -> TestResponse:
        body = {"variant": "straight", "name": "ada", "options": options}
        return maker.post("", body, idempotency_key=key)

    assert code(create()) == "options_refused"
    first = create(deals=1)
    assert first.status_code == 201
    assert_replayed(create(deals=1), first)
    assert code(create(deals=2)) == "idempotency_key_reused"


# ----------------------------------------------------------------------------------- bad keys


BAD_KEYS = {
    "empty": "",
    "blank": "   ",
    "256 characters": "k" * 256,
    "not ASCII": "schl\xfcssel-schl\xfcssel",
    "NUL": "0123456789\x000123456789",
    "a control character": "0123456789\x7f0123456789",
    "a tab": "0123456789\t0123456789",
}


@pytest.mark.parametrize("name", ["createGame", "joinGame", "draw", "startGame", "rematch"])
def test_a_key_that_is_none_is_refused(house, name):
    wish = WISHES[name](house)
    before = kept(house, *wish.games)
    for what, key in BAD_KEYS.items():
        refused = wish.send(key)
        assert (refused.status_code, code(refused)) == (422, "bad_idempotency_key"), what
        assert "1 to 255" in refused.json["detail"]
    assert kept(house, *wish.games) == before
    assert not is_replayed(wish.send())


@pytest.mark.parametrize("name", ["createGame", "joinGame"])
def test_a_key_that_can_be_guessed_takes_no_seat(house, name):
    wish = WISHES[name](house)
    for key in ("1", "k" * 15, "  0123456789  "):
        refused = wish.send(key)
        assert (refused.status_code, code(refused)) == (422, "bad_idempotency_key"), key
        assert "at least 16 characters" in refused.json["detail"]
        assert "hard to guess" in refused.json["detail"]
    assert not is_replayed(wish.send(new_key()))


@pytest.mark.parametrize(
    ("name", "shortest"), [("createGame", 16), ("joinGame", 16), ("draw", 1), ("rematch", 1)]
)
def test_the_longest_and_the_shortest_key(house, name, shortest):
    for length in (shortest, 255):
        wish = WISHES[name](house)
        key = (new_key()[::-1] + "k" * 255)[:length]
        first = wish.send(key)
        assert first.status_code in {200, 201}, first.text
        assert_replayed(wish.send(key), first)


def test_blanks_around_a_key_do_not_count_and_inside_they_do(house):
    table = house.table("straight")
    mover = table.mover
    first = mover.draw("stock", idempotency_key="a key")
    assert_replayed(mover.draw("stock", idempotency_key="  a key "), first)
    assert code(mover.draw("stock", idempotency_key="a  key")) == "already_drawn"
    assert code(mover.draw("stock", idempotency_key="A key")) == "already_drawn"


# ------------------------------------------------------------------------ how long and how much


def busy_host(house: House) -> tuple[Table, Callable[[int], tuple[str, object]]]:
    """A table, and the host's request of each number: a player comes, a player goes."""
    table = house.waiting("straight", 2, more={"autostart": False})

    def request(number: int) -> tuple[str, object]:
        return ("remove", {"seat": 1}) if number % 2 else ("computers", {"levels": ["random"]})

    return table, request


def test_the_last_32_requests_of_a_seat_can_be_repeated(house):
    table, request = busy_host(house)
    host = table.players[0]
    firsts = [host.post(*request(number), idempotency_key=f"key {number}") for number in range(50)]
    assert {first.status_code for first in firsts} == {200}
    before = table.stored()
    for number in reversed(range(18, 50)):
        assert_replayed(
            host.post(*request(number), idempotency_key=f"key {number}"), firsts[number]
        )
    assert table.stored() == before


def test_what_is_kept_does_not_grow_with_the_keys_that_were_used(house):
    table, request = busy_host(house)
    host = table.players[0]
    sizes = []
    for number in range(105):
        assert host.post(*request(number), idempotency_key=f"{number:04}").status_code == 200
        if number % 35 == 34:
            stored = table.stored()["game"]
            assert len(stored) == 5
            sizes.append(sum(map(len, stored.values())))
    assert max(sizes) - min(sizes) < 200  # the numbers in it grow by a digit
    assert not any(":claim:" in key for key in keys_of(house, table.id))


def test_the_requests_of_other_seats_push_none_out(house):
    table = house.table("straight", 3)
    mover = table.mover
    other = table.players[mover.seat - 1]
    drawn = mover.draw("stock", idempotency_key="1")
    for number in range(17):
        assert other.post("leave", idempotency_key=f"l{number}").status_code == 200
        assert other.post("return", idempotency_key=f"r{number}").status_code == 200
    assert_replayed(mover.draw("stock", idempotency_key="1"), drawn)


def claims(house: House, game_id: str) -> list[int]:
    """How many seconds each claim is still kept."""
    return [house.redis.ttl(key) for key in keys_of(house, game_id) if ":claim:" in key]


def test_a_request_that_took_a_seat_is_kept_for_a_day_whatever_becomes_of_the_game(timed_house):
    house = timed_house
    made = house.client().post(
        "/v1/games",
        json={"variant": "straight", "name": "ada", "options": {"deals": 1}, "seats": 3},
        headers={"Idempotency-Key": new_key()},
    )
    table = Table(house, made.json["game"]["id"])
    ada = table.seat(made)
    joined = table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY)
    assert len(claims(house, table.id)) == 2
    assert house.redis.ttl(f"rummy:{{{table.id}}}:game") <= EXPIRY.unstarted_seconds
    for _ in range(20):
        assert ada.post("computers", {"levels": ["random"]}).status_code == 200
        if table.stranger.look()["status"] == "playing":
            break
        assert ada.post("remove", {"seat": 2}).status_code == 200
    assert all(DAY - 600 < seconds <= DAY for seconds in claims(house, table.id))
    repeat = table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY)
    assert_replayed(repeat, joined)
    assert repeat.json["game"]["status"] == "playing"
    assert all(DAY - 600 < seconds <= DAY for seconds in claims(house, table.id))


def test_a_join_at_a_game_that_has_expired_meanwhile_is_told_so(house):
    table = house.waiting("straight", 3)
    assert table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY).status_code == 201
    house.redis.delete(*(key for key in keys_of(house, table.id) if ":claim:" not in key))
    assert code(table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY)) == "no_such_game"
    assert len(keys_of(house, table.id)) == 1


def test_a_key_that_made_a_table_more_than_a_day_ago_makes_another(house):
    wish = creating(house)
    first = wish.send()
    game_id = first.json["game"]["id"]
    (claim,) = [key for key in keys_of(house, game_id) if ":claim:" in key]
    house.redis.delete(claim, *house.redis.scan_iter("rummy:create:*"))
    before = kept(house, game_id)
    second = wish.send()
    assert second.status_code == 201
    assert second.json["game"]["id"] != game_id
    assert second.json["token"] != first.json["token"]
    assert kept(house, game_id) == before


def test_the_id_of_a_table_tells_nothing_of_the_key_that_made_it(house):
    ids = set()
    for _ in range(2):
        wish = creating(house)
        ids.add(wish.send().json["game"]["id"])
        house.redis.delete(*house.redis.scan_iter("rummy:create:*"))
    assert len(ids) == 2


def test_the_store_holds_neither_keys_nor_tokens_nor_invitations(house):
    created = creating(house)
    made = created.send().json
    table = Table(house, made["game"]["id"])
    body = {"name": "bo", "invitation": made["invitation"]}
    joined = table.stranger.post("join", body, idempotency_key=OTHER_KEY).json
    bo = Player(house.client(), table.id, token=joined["token"])
    assert bo.post("leave", idempotency_key="a key that leaves").status_code == 200
    secrets = [
        created.key,
        OTHER_KEY,
        "a key that leaves",
        made["invitation"],
        made["invitation"].replace("-", ""),
        made["token"],
        made["token"].partition(".")[2],
        joined["token"].partition(".")[2],
    ]
    stored = repr(kept(house, table.id)).casefold()
    for secret in secrets:
        assert secret.casefold() not in stored


# ------------------------------------------------------------------------- a rolling upgrade

AS_BEFORE = {
    "9a3f3e18020cc8112e64d6e842c580f85d50bb1f264b7981008b9510a18216d7": ("join", {"name": "bo"}),
    "4355d55ff4bf785df065b0d10d027888cb81413a50ec824ae81ec5a9411f0d03": ("rematch", None),
    "4c787f9840c68062648bffb182c69777814203727b54e1493291706039eee11d": ("create", None),
    "bb767463febdac21395bf29380a43552a4d88235026deab5564913eb14f6baa1": (
        "create",
        {"seed": "one"},
    ),
    "a097da2b09dea13ba4fee47f17b9d0d0065b035174eb0ec4a595db0cbcf8a291": (
        "create",
        {"seed": "one", "dealer": 1},
    ),
    "7ede2e709b384cd485e13c3a9ee96648cbb519e4c3b9702cceeeb7248ed81eee": (
        "create",
        {"order": list(pack(1, 0)), "dealer": 0},
    ),
}
"""Requests with a key by the hash that the version before committed shuffles knew them by."""


@pytest.mark.parametrize("request_hash", AS_BEFORE)
def test_a_request_is_known_by_the_hash_that_it_had_before_an_upgrade(house, request_hash):
    """So whoever lost the answer of the old version gets it again of the new one."""
    part, body = AS_BEFORE[request_hash]
    key = new_key()
    if part == "create":
        practice = {"practice": body} if body else {}
        wanted = {"variant": "seven-card", "name": "ada", "seats": 2, **practice}
        maker = Maker(house.client(), "")
        answer = maker.post("", wanted, idempotency_key=key)
    elif part == "join":
        table = house.waiting("straight", 2)
        answer = table.stranger.post("join", body, idempotency_key=key)
    else:
        table = house.table("straight", 2)
        for player in table.players:
            player.post("leave")
        answer = table.players[0].post("rematch", idempotency_key=key)
    assert answer.status_code == 201, answer.text
    game_id = answer.json["game"]["id"]
    kept = [house.redis.get(name) for name in house.redis.scan_iter(f"rummy:{{{game_id}}}:claim:*")]
    kept += house.redis.hgetall(f"rummy:{{{game_id}}}:game").values()
    assert any(f'"request":"{request_hash}"'.encode() in value for value in kept)


# ----------------------------------------------------------------------- the game has moved on


def test_a_join_and_a_create_are_replayed_when_the_match_has_begun_and_when_it_is_over(house):
    order = ["5C", "2C", "5D", "3D", "5H", "4S", "9D"]
    rest = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]
    body = {
        "variant": "straight",
        "name": "ada",
        "options": {"deals": 1, "hand_size": 3},
        "practice": {
            "dealer": 1,
            "order": [*order, *(card for card in rest if card not in order)],
        },
    }
    maker, key = Maker(house.client(), ""), new_key()

    def create() -> TestResponse:
        return maker.post("", body, idempotency_key=key)

    made = create()
    table = Table(house, made.json["game"]["id"])
    ada = table.seat(made)

    def join() -> TestResponse:
        return table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY)

    joined = join()
    assert joined.json["game"]["status"] == "playing"
    assert joined.json["game"]["hand"] == ["2C", "3D", "4S"]
    for status in ("playing", "finished"):
        before = kept(house, table.id)
        repeat = create()
        assert_replayed(repeat, made)
        assert repeat.json["game"]["status"] == status
        assert repeat.json["game"] == ada.look()
        repeat = join()
        assert_replayed(repeat, joined)
        assert repeat.json["game"]["status"] == status
        assert kept(house, table.id) == before
        if status == "playing":
            first = ada.draw("stock", idempotency_key="draw")
            meld = {"cards": ["5C", "5D", "5H"]}
            assert ada.post("meld", meld, idempotency_key="meld").status_code == 200
            card = ada.look()["hand"][0]
            last = ada.post("discard", {"card": card}, idempotency_key="out")
            assert last.json["game"]["status"] == "finished"
    assert_replayed(ada.draw("stock", idempotency_key="draw"), first)
    assert_replayed(ada.post("discard", {"card": card}, idempotency_key="out"), last)
    assert code(ada.draw("stock", idempotency_key="another")) == "match_over"


def test_a_join_is_replayed_when_its_seat_was_removed_meanwhile(house):
    table = house.waiting("straight", 4, 2, more={"autostart": False})

    def join() -> TestResponse:
        return table.stranger.post("join", {"name": "cleo"}, idempotency_key=KEY)

    first = join()
    assert table.players[0].post("remove", {"seat": 2}).status_code == 200
    before = kept(house, table.id)
    repeat = join()
    assert_replayed(repeat, first)
    assert repeat.json["game"]["you"] is None
    assert [seat["name"] for seat in repeat.json["game"]["seats"]] == ["ada", "bo"]
    assert kept(house, table.id) == before
    cleo = Player(house.client(), table.id, token=repeat.json["token"])
    assert code(cleo.get()) == "not_your_seat"
    again = table.stranger.post("join", {"name": "cleo"}, idempotency_key=OTHER_KEY)
    assert again.json["token"] != first.json["token"]


def test_a_join_is_replayed_with_its_first_seat_when_those_before_have_left(house):
    table = house.waiting("straight", 4, 2, more={"autostart": False})

    def join() -> TestResponse:
        return table.stranger.post("join", {"name": "cleo"}, idempotency_key=KEY)

    first = join()
    table.players[1].post("leave")
    repeat = join()
    assert_replayed(repeat, first)
    assert (repeat.json["seat"], repeat.json["game"]["you"]) == (2, 1)


def test_create_and_join_are_replayed_after_the_table_was_closed(house):
    made = creating(house)
    first = made.send()
    table = Table(house, first.json["game"]["id"])
    ada = table.seat(first)
    body = {"name": "bo", "invitation": first.json["invitation"]}
    ada.post("remove", {"seat": 1})
    joined = table.stranger.post("join", body, idempotency_key=KEY)
    assert ada.post("close", idempotency_key="closed").status_code == 200
    before = kept(house, table.id)
    repeat = made.send()
    assert_replayed(repeat, first)
    assert repeat.json["game"]["status"] == "closed"
    assert_replayed(table.stranger.post("join", body, idempotency_key=KEY), joined)
    assert kept(house, table.id) == before


def test_a_leave_is_not_done_again_after_a_return(house):
    table = house.table("straight", 3)
    bo = table.players[1]
    left = bo.post("leave", idempotency_key="left")
    back = bo.post("return", idempotency_key="back")
    before = table.stored()
    repeat = bo.post("leave", idempotency_key="left")
    assert_replayed(repeat, left)
    assert repeat.json["game"]["seats"][1]["away"] is None
    assert_replayed(bo.post("return", idempotency_key="back"), back)
    assert table.stored() == before


@pytest.mark.parametrize("gone", ["left", "removed"])
def test_who_was_at_a_table_does_not_see_by_a_repeat_what_only_players_may_see(house, gone):
    table = house.waiting("straight", 3, 2, more={"autostart": False, "spectators": False})
    ada = table.players[0]
    joined = table.stranger.post("join", {"name": "cleo"}, idempotency_key=KEY)
    cleo = Player(house.client(), table.id, token=joined.json["token"])
    if gone == "left":
        left = cleo.post("leave", idempotency_key="left")
    else:
        ada.post("remove", {"seat": 2})
    assert ada.post("start").status_code == 200
    assert code(table.stranger.get()) == "no_spectators"
    repeat = table.stranger.post("join", {"name": "cleo"}, idempotency_key=KEY)
    assert_replayed(repeat, joined)
    assert repeat.json["game"]["deal"] is None
    if gone == "left":
        repeat = cleo.post("leave", idempotency_key="left")
        assert_replayed(repeat, left)
        assert repeat.json["game"]["deal"] is None
    assert f'"{ada.look()["deal"]["upcard"]}"' not in repeat.text


# -------------------------------------------------------------------------------- many at once


@again_and_again
def test_of_twenty_who_make_the_same_table_at_once_all_get_the_same(house, trial):
    key = new_key()
    body = {"variant": "straight", "name": "ada", "options": {"deals": 1}, "public": True}
    clients = [house.client() for _ in range(20)]
    answers = at_once(
        *(
            lambda client=client: client.post(
                "/v1/games", json=body, headers={"Idempotency-Key": key}
            )
            for client in clients
        )
    )
    (first,) = [answer for answer in answers if not is_replayed(answer)]
    for answer in answers:
        if answer is not first:
            assert_replayed(answer, first)
    table = Table(house, first.json["game"]["id"])
    assert table.game().version == 1
    listed = house.client().get("/v1/games?limit=100").json["tables"]
    assert [entry["id"] for entry in listed].count(table.id) == 1


@again_and_again
def test_of_twenty_joins_with_one_key_at_once_one_takes_a_seat(house, trial):
    table = house.waiting("seven-card", 8)
    visitors = [Player(house.client(), table.id) for _ in range(20)]
    answers = at_once(
        *(
            lambda visitor=visitor: visitor.post("join", {"name": "bo"}, idempotency_key=KEY)
            for visitor in visitors
        )
    )
    (first,) = [answer for answer in answers if not is_replayed(answer)]
    for answer in answers:
        if answer is not first:
            assert_replayed(answer, first)
    assert table.game().version == 2
    assert [seat["name"] for seat in table.stranger.look()["seats"]] == ["ada", "bo"]


@again_and_again
def test_of_twenty_with_keys_of_their_own_one_gets_the_last_seat_and_gets_it_again(house, trial):
    table = house.waiting("straight", 2, more={"autostart": trial % 2 == 0})
    visitors = [Player(house.client(), table.id) for _ in range(20)]

    def join(place: int) -> TestResponse:
        key = f"{KEY} {place}"
        return visitors[place].post("join", {"name": f"guest {place}"}, idempotency_key=key)

    answers = at_once(*(lambda place=place: join(place) for place in range(20)))
    late = "already_started" if trial % 2 == 0 else "table_full"
    assert Counter(map(code, answers)) == {"201": 1, late: 19}
    for place, answer in enumerate(answers):
        repeat = join(place)
        if answer.status_code == 201:
            assert_replayed(repeat, answer)
        else:
            assert code(repeat) == late
    assert len(table.game().seats) == 2


@pytest.mark.parametrize("name", [*sorted(WISHES.keys() - {"createGame", "joinGame"}), "draw"])
def test_a_request_sent_many_times_at_once_has_one_effect(house, name):
    wish = WISHES[name](house)
    seen = {game_id: house.store.load(game_id).version for game_id in wish.games}
    windows = [
        replace(wish, player=Player(house.client(), wish.player.game_id, token=wish.player.token))
        for _ in range(20 if name == "draw" else 5)
    ]
    answers = at_once(*(window.send for window in windows))
    (first,) = [answer for answer in answers if not is_replayed(answer)]
    for answer in answers:
        if answer is not first:
            assert_replayed(answer, first)
    versions = {game_id: house.store.load(game_id).version for game_id in wish.games}
    acted_on = first.json["game"]["id"]
    assert versions == {**seen, acted_on: seen[acted_on] + 1}


@again_and_again
def test_calls_of_all_seats_at_once_with_keys(house, trial):
    table = house.position(
        "call-rummy",
        phase="draw",
        turn=1,
        hands="KD QD | 2S 3S | TS 9S | TD 9D",
        pile="2C 8C",
        melds="0: 8D 8H 8S",
        window=CallWindow(0, None),
    )
    callers = [table.twin(table.players[seat]) for seat in (1, 2, 3) for _ in range(3)]
    answers = at_once(
        *(lambda caller=caller: caller.play("rummy 1", idempotency_key="c") for caller in callers)
    )
    accepted = [answer for answer in answers if answer.status_code == 200]
    (first,) = [answer for answer in accepted if not is_replayed(answer)]
    for answer in accepted:
        if answer is not first:
            assert_replayed(answer, first)
    winner = first.json["game"]["you"]
    for caller, answer in zip(callers, answers, strict=True):
        assert code(answer) == ("200" if caller.seat == winner else "call_closed")
    assert [entry["event"]["type"] for entry in table.stranger.log()].count("called") == 1
    repeats = [caller.play("rummy 1", idempotency_key="c") for caller in callers]
    assert list(map(code, repeats)) == list(map(code, answers))


def test_eight_seats_play_at_once_and_send_everything_twice(house):
    table = house.table("seven-card", 8, deals=1000, hand_size=3)
    since = table.game().version
    pairs: list[tuple[TestResponse, TestResponse]] = []

    def play(seat: int) -> None:
        windows = [table.twin(table.players[seat]) for _ in range(2)]
        chance = Random(seat)
        with ThreadPoolExecutor(2) as threads:
            for number in range(200):
                if len(pairs) >= 25:
                    return
                view = windows[0].look()
                moves = view["moves"] or [
                    {"move": "discard", "card": card} for card in view["hand"][:1]
                ]
                move = chance.choice(moves)
                key = f"{seat} {number}"
                sent = [
                    threads.submit(window.make, move, idempotency_key=key) for window in windows
                ]
                one, other = (answer.result() for answer in sent)
                if one.status_code == other.status_code == 200:
                    pairs.append((one, other))
                elif 200 in {one.status_code, other.status_code}:
                    # One of them came when it was not possible yet; from now on it is remembered.
                    done = one if one.status_code == 200 else other
                    pairs.append((done, windows[0].make(move, idempotency_key=key)))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(play, range(8)))
    versions = []
    for pair in pairs:
        first, repeat = sorted(pair, key=is_replayed)
        assert not is_replayed(first)
        assert_replayed(repeat, first)
        versions.append(first.json["version"])
    assert sorted(versions) == list(range(since + 1, table.game().version + 1))


# ------------------------------------------------------------------- waiting, and the turn clock


def test_a_repeat_waits_as_the_request_would(house):
    table = house.table("straight")
    mover = table.mover
    other = table.players[1 - mover.seat]
    mover.draw("stock")
    body = {"card": mover.look()["hand"][0]}
    first = mover.post("discard", body, idempotency_key="1")
    assert [entry["event"]["type"] for entry in first.json["events"]] == ["discarded"]
    with ThreadPoolExecutor(1) as thread:
        twin = table.twin(mover)
        waiting = thread.submit(twin.post, "discard?wait=60", body, idempotency_key="1")
        other.draw("stock")
        assert not waiting.done() or waiting.result().json["game"]["deal"]["turn"] == mover.seat
        other.post("discard", {"card": other.look()["hand"][0]})
        answer = waiting.result(50)
    assert is_replayed(answer)
    assert answer.json["version"] == first.json["version"]
    told = [entry["event"]["type"] for entry in answer.json["events"]]
    assert told == ["discarded", "drew", "discarded"]
    assert answer.json["events"][0] == first.json["events"][0]
    assert answer.json["events"][1]["event"]["card"] is None
    assert answer.json["game"]["deal"]["turn"] == mover.seat
    before = table.stored()
    assert mover.post("discard?wait=60", body, idempotency_key="1").json == answer.json
    assert_replayed(mover.post("discard", body, idempotency_key="1"), first)
    assert table.stored() == before


def test_how_long_somebody_waits_is_no_part_of_the_wish(house):
    table = house.position(hands="8C KH QD | 2S 3S", pile="9D")
    ada = table.players[0]
    first = ada.post("turn?wait=0", {"discard": "KH"}, idempotency_key="1")
    assert_replayed(ada.post("turn?wait=1", {"discard": "KH"}, idempotency_key="1"), first)


def test_keys_with_turns_forced_in_between(timed_house, clock):
    table = timed_house.table("straight", turn_seconds=10)
    mover = table.mover
    other = table.players[1 - mover.seat]
    drawn = mover.draw("stock", idempotency_key="draw")
    card = drawn.json["game"]["hand"][0]
    clock.forward(11)
    late = mover.post("discard", {"card": card}, idempotency_key="discard")
    assert code(late) == "not_your_turn"
    repeat = mover.draw("stock", idempotency_key="draw")
    assert_replayed(repeat, drawn)
    assert repeat.json["game"]["deal"]["turn"] == other.seat
    forced = [entry for entry in table.stranger.log() if entry["forced"]]
    assert [entry["event"]["type"] for entry in forced] == ["discarded"]
    clock.forward(11)  # the other's whole turn
    card = mover.look()["hand"][0]
    mover.draw("stock", idempotency_key="draw again")
    first = mover.post("discard", {"card": card}, idempotency_key="discard again")
    assert first.status_code == 200
    assert_replayed(mover.draw("stock", idempotency_key="draw"), drawn)
    before = table.stored()
    assert_replayed(mover.post("discard", {"card": card}, idempotency_key="discard again"), first)
    assert table.stored() == before


def test_a_repeat_after_the_deadline_tells_of_the_forced_turn(timed_house, clock):
    table = timed_house.table("straight", turn_seconds=10)
    mover = table.mover
    drawn = mover.draw("stock", idempotency_key="draw")
    clock.forward(11)
    repeat = mover.draw("stock", idempotency_key="draw")
    assert_replayed(repeat, drawn)
    assert repeat.json["game"] == mover.look()
    assert repeat.json["game"]["deal"]["turn"] != mover.seat
    assert [entry["forced"] for entry in table.stranger.log()[-2:]] == [False, True]


def test_a_repeated_create_after_the_deadline_tells_of_the_forced_turn(timed_house, clock):
    body = {
        "variant": "straight",
        "name": "ada",
        "options": {"deals": 1, "turn_seconds": 10},
        "computers": ["random"],
    }
    key = {"Idempotency-Key": new_key()}
    client = timed_house.client()
    made = client.post("/v1/games", json=body, headers=key)
    clock.forward(11)
    repeat = client.post("/v1/games", json=body, headers=key)
    assert_replayed(repeat, made)
    assert repeat.json["game"]["version"] == made.json["game"]["version"] + 1


@again_and_again
def test_a_keyed_move_against_its_deadline(timed_house, clock, trial):
    table = timed_house.table("straight", 3, turn_seconds=10)
    mover, since = table.mover, table.game().version
    clock.forward(11)
    windows = [table.twin(mover) for _ in range(6)]
    answers = at_once(
        *(lambda window=window: window.draw("stock", idempotency_key="k") for window in windows)
    )
    assert set(map(code, answers)) == {"not_your_turn"}
    game = table.game()
    assert game.version == since + 1
    assert game.match.deal.turns == 1


# --------------------------------------------------------------------------- tokens of keyed seats


def test_the_token_of_a_keyed_seat_works_as_any_other(house):
    made = creating(house).send().json
    table = Table(house, made["game"]["id"])
    body = {"name": "bo", "invitation": made["invitation"]}
    joined = table.stranger.post("join", body, idempotency_key=KEY).json
    for seat, taken in ((0, made), (2, joined)):
        player = Player(house.client(), table.id, token=taken["token"])
        assert player.look()["you"] == taken["seat"] == seat
        assert player.get("moves").status_code == 200
        assert player.get("events").status_code == 200
        assert player.get("score").status_code == 200
        mine = player.client.get(
            "/v1/games?mine", headers={"Authorization": f"Bearer {taken['token']}"}
        )
        assert [game["you"] for game in mine.json["games"]] == [seat]
        assert player.post("leave").status_code == 200
        assert player.post("return").json["game"]["you"] == seat
    asked = house.client().post(
        "/v1/games/query", json={"tokens": [made["token"], joined["token"]]}
    )
    assert sorted(game["token"] for game in asked.json["games"]) == [0, 1]


def test_no_two_keyed_seats_have_the_same_token(house):
    table = house.waiting("seven-card", 8)
    tokens = {
        table.stranger.post(
            "join", {"name": f"guest {place}"}, idempotency_key=f"{KEY} {place}"
        ).json["token"]
        for place in range(7)
    }
    assert len(tokens) == 7


def test_a_key_used_once_more_after_it_has_expired_gives_another_token(house):
    table = house.waiting("straight", 4)
    first = table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY).json
    (claim,) = [key for key in keys_of(house, table.id) if ":claim:" in key]
    house.redis.delete(claim)
    second = table.stranger.post("join", {"name": "bo"}, idempotency_key=KEY)
    assert not is_replayed(second)
    assert (second.json["seat"], second.json["token"] == first["token"]) == (2, False)


def test_the_key_is_in_no_answer(house):
    wish = joining(house)
    for answer in (wish.send(), wish.send(), wish.send_other()):
        assert wish.key not in answer.text + json.dumps(dict(answer.headers))

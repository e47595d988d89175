"""Hosting: refusals, hidden cards, tokens, races, silent players, garbage, and what a bot needs."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.rummy.cards import FACES, JOKER
from service.rummy.legal import legal_moves
from service.rummy.model import Discard, Draw
from tests.cases import client
from tests.cases.online import Json, Service, Table, at_once
from tests.cases.table import NO_RETURN, accept, in_every_preset, refuse
from tests.http.tables import Clock
from tests.positions import NOW, deal_of, position

# ------------------------------------------------------------------------- cards not in hand


@pytest.mark.case(59)
@in_every_preset
def test_case_59_a_card_not_in_the_hand_is_refused_the_same_wherever_it_is(
    service: Service, variant: str
) -> None:
    table = service.position(variant, "5C 6C 7C 2S KD | 9C 9D 9H 3S 3D", stock="KC 4H QC", dealer=0)
    table.do(1, "draw", "meld 9C 9D 9H", "discard 3S")
    own = set(table.do(0, "draw")["hand"])
    elsewhere = {
        "in another hand": "3D",
        "in the stock": "QC",
        "in the discard pile": "3S",
        "on the table": "9C",
        "not in the pack": JOKER,
    }
    assert own.isdisjoint(elsewhere.values())
    for request in ("discard {}", "meld {} 5C 6C", "layoff 1 {}", "layoff 1 2S {}", "swap 1 {}"):
        problems = [
            str(table.refuse(0, request.format(card), 409, "not_in_hand", "common.3")).replace(
                card, "the card"
            )
            for card in elsewhere.values()
            if card != JOKER or not request.startswith("swap")
        ]
        assert len(set(problems)) == 1, problems
    table.do(0, "discard KD")


@pytest.mark.case(59)
@in_every_preset
@pytest.mark.parametrize(
    "card", ["11H", "", None, 1e9, 9, True, "9", "9X", "9CC", "9c", " 9C", [], ["KC"], {}, "🂡"]
)
def test_case_59_what_is_no_card_is_refused(service: Service, variant: str, card: object) -> None:
    table = service.position(variant, "5C 6C 7C | 9C 9D 9H", stock="KC", dealer=1)
    table.do(0, "draw")
    problem = table.refuse(0, "discard", 422, "invalid_request", body={"card": card})
    assert [field["field"].split(".")[0] for field in problem["fields"]] == ["card"]
    table.refuse(0, "meld", 422, "invalid_request", body={"cards": ["5C", "6C", card]})
    table.do(0, "discard KC")


@pytest.mark.case(61)
@in_every_preset
def test_case_61_a_card_that_was_just_melded_is_not_discarded(
    service: Service, variant: str
) -> None:
    table = service.position(
        variant, "5C 5D 5H 2S 3S | 9C 9D 9H 4S 6S", upcard="", stock="KC QC", dealer=1
    )
    table.do(0, "draw", "discard KC")
    table.do(1, "draw", "discard QC")
    table.do(0, "draw", "meld 5C 5D 5H")
    for card in ("5C", "5D", "5H"):
        table.refuse(0, f"discard {card}", 409, "not_in_hand", "common.3")
    for card in ("KC", "QC"):
        table.refuse(0, f"discard {card}", 409, "not_in_hand", "common.3")
    table.refuse(0, "discard", 422, "invalid_request", body={})
    table.refuse(0, "discard", 422, "invalid_request", body={"card": None})
    table.refuse(0, "turn", 409, "turn_unfinished", "common.3", body={})
    deal = table.look()["deal"]
    assert (deal["turn"], deal["phase"]) == (0, "play")
    assert table.do(0, "discard 2S")["deal"]["turn"] == 1


# ----------------------------------------------------------------- a refusal changes nothing

REFUSALS: list[tuple[int | None, str, Any, dict[str, str], int, str]] = [
    # seat, what is asked for, its body, headers, status, code
    (0, "draw", None, {}, 409, "already_drawn"),
    (0, "take", None, {}, 409, "already_drawn"),
    (1, "draw", None, {}, 409, "not_your_turn"),
    (1, "discard 9C", None, {}, 409, "not_your_turn"),
    (1, "meld 9C 9D 9H", None, {}, 409, "not_your_turn"),
    (0, "discard 9C", None, {}, 409, "not_in_hand"),
    (0, "meld 5C 5D 2S", None, {}, 409, "not_a_meld"),
    (0, "meld 5C 5D", None, {}, 409, "not_a_meld"),
    (0, "meld 5C 5D 9H", None, {}, 409, "not_in_hand"),
    (0, "layoff 1 2S", None, {}, 409, "no_such_meld"),
    (0, "swap 1 2S", None, {}, 409, "no_such_meld"),
    (0, "rummy 1", None, {}, 409, "no_calls"),
    (
        0,
        "turn",
        {"plays": [{"move": "meld", "cards": ["5C", "5D", "5H"]}], "discard": "9C"},
        {},
        409,
        "not_in_hand",
    ),
    (
        0,
        "turn",
        {
            "plays": [
                {"move": "meld", "cards": ["5C", "5D", "5H"]},
                {"move": "layoff", "meld": 1, "cards": ["2S"]},
            ],
            "discard": "3S",
        },
        {},
        409,
        "does_not_fit",
    ),
    (
        0,
        "turn",
        {"plays": [{"move": "meld", "cards": ["5C", "5D", "5H"]}]},
        {},
        409,
        "turn_unfinished",
    ),
    (0, "discard", {"card": "10H"}, {}, 422, "invalid_request"),
    (0, "discard", {"card": "2S", "seat": 1}, {}, 422, "invalid_request"),
    (0, "discard", [], {}, 422, "invalid_request"),
    (0, "discard", {"card": "2S"}, {"If_Match": '"1"'}, 412, "stale_version"),
    (0, "discard", {"card": "2S"}, {"If_Match": "soon"}, 422, "bad_version"),
    (None, "discard", {"card": "2S"}, {}, 401, "no_token"),
    (None, "discard", {"card": "2S"}, {"Authorization": "Bearer x"}, 401, "bad_token"),
    (0, "start", {}, {}, 409, "already_started"),
    (1, "start", {}, {}, 403, "not_the_host"),
    (None, "join", {"name": "Late"}, {}, 409, "already_started"),
    (0, "nonsense", {}, {}, 404, "no_such_route"),
]


@pytest.mark.case(62)
def test_case_62_a_refused_request_changes_nothing_not_even_the_version(service: Service) -> None:
    table = service.position("straight", "5C 5D 5H 2S 3S | 9C 9D 9H 4S 6S", stock="KC QC", dealer=1)
    table.do(0, "draw")
    views = [table.look(seat) for seat in (0, 1, None)]
    logs = [table.events(seat) for seat in (0, 1, None)]
    before = table.stored()
    etag = service.get(table.path, table.tokens[1]).headers["ETag"]
    for seat, wanted, body, headers, status, code in REFUSALS:
        answer = table.send(seat, wanted, body, **headers)
        assert (answer.status_code, answer.json["code"]) == (status, code), (wanted, answer.json)
        assert answer.mimetype == "application/problem+json"
        assert table.stored() == before
    broken = service.app.test_client().post(
        f"{table.path}/discard",
        data=b'{"card": "2S"',
        content_type="application/json",
        headers={"Authorization": f"Bearer {table.tokens[0]}"},
    )
    assert (broken.status_code, broken.json["code"]) == (400, "bad_request")
    assert table.stored() == before
    assert [table.look(seat) for seat in (0, 1, None)] == views
    assert [table.events(seat) for seat in (0, 1, None)] == logs
    assert service.get(table.path, table.tokens[1]).headers["ETag"] == etag
    answer = service.get(table.path, table.tokens[1], If_None_Match=etag)
    assert answer.status_code == 304
    table.do(0, "meld 5C 5D 5H", "discard 2S")


@pytest.mark.case(62)
@in_every_preset
def test_case_62_a_turn_in_one_request_is_made_whole_or_not_at_all(
    service: Service, variant: str
) -> None:
    table = service.position(variant, "5C 5D 5H 2S 3S | 9C 9D 9H 4S 6S", stock="5S QC", dealer=1)
    table.do(0, "draw")
    plays = [
        {"move": "meld", "cards": ["5C", "5D", "5H"]},
        {"move": "layoff", "meld": 1, "cards": ["5S"]},
    ]
    table.refuse(0, "turn", 409, "not_in_hand", "common.3", body={"plays": plays, "discard": "5S"})
    table.refuse(
        0,
        "turn",
        409,
        "does_not_fit",
        "common.4",
        body={
            "plays": [*plays, {"move": "layoff", "meld": 1, "cards": ["3S"]}],
            "discard": "2S",
        },
    )
    answer = table.send(0, "turn", {"plays": plays, "discard": "2S"})
    assert answer.status_code == 200
    assert answer.json["game"]["hand"] == ["3S"]
    assert answer.json["game"]["deal"]["turn"] == 1


# ------------------------------------------------------------------------------- stale views


def called_between(service: Service) -> tuple[Table, int]:
    """Seat 3 discarded the eight of spades; seat 0 looked; then seat 2 called it onto the eights.

    The table, and the version that seat 0 has seen.
    """
    table = service.position(
        "call-rummy",
        "2C 3C 4C 6C 9C | 2D 3D 4D 6D 9D | 2H 3H 4H 6H 9H | 8C 8D 8H 8S 2S",
        upcard="KD",
        stock="KC",
        dealer=2,
    )
    table.do(3, "draw", "meld 8C 8D 8H", "discard 8S")
    seen = table.look(0)
    assert seen["deal"]["upcard"] == "8S"
    table.do(2, "rummy 1")
    return table, seen["version"]


@pytest.mark.case(64)
def test_case_64_a_move_pinned_to_a_version_is_refused_once_the_game_has_moved_on(
    service: Service,
) -> None:
    table, version = called_between(service)
    problem = table.refuse(
        0,
        "draw",
        412,
        "stale_version",
        body={"from": "discard"},
        If_Match=f'"{version}"',
    )
    assert problem["params"] == {"version": version + 1, "expected": version}
    answer = table.send(0, "draw", {"from": "discard"}, If_Match=f'"{version + 1}"')
    assert answer.status_code == 200
    assert "KD" in answer.json["game"]["hand"]


@pytest.mark.case(64)
def test_case_64_a_draw_that_names_the_upcard_takes_that_card_or_none(service: Service) -> None:
    table, _ = called_between(service)
    problem = table.refuse(0, "take 8S", 409, "upcard_changed", "common.3")
    assert problem["params"] == {"upcard": "KD", "expected": "8S"}
    assert "KD" in table.do(0, "take KD")["hand"]


@pytest.mark.case(64)
def test_case_64_a_draw_that_names_nothing_takes_the_upcard_there_is(service: Service) -> None:
    table, _ = called_between(service)
    game = table.do(0, "take")
    assert "KD" in game["hand"]
    assert "8S" not in game["hand"]


@pytest.mark.case(64)
def test_case_64_of_moves_pinned_to_the_same_version_one_succeeds(service: Service) -> None:
    table = service.position("call-rummy", "5C 6C 2C | 5D 6D 2D", dealer=1)
    version = table.look()["version"]
    answers = at_once(
        [lambda: table.send(0, "draw", {"from": "stock"}, If_Match=f'"{version}"')] * 8
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7


# ------------------------------------------------------------------------------ hidden cards

A_CARD = re.compile(r"(?<![\w.-])(?:[A2-9TJQK][CDHS])(?![\w.-])")


def payloads(table: Table, seat: int | None) -> Iterator[str]:
    """All that somebody can read of a game: its view, log, score, moves; with the headers."""
    urls = [table.path + path for path in ("", "/events?limit=500", "/score", "/moves")]
    for url in (*urls, "/v1/games?mine"):
        answer = table.service.get(url, table.token(seat))
        yield f"{answer.text} {answer.headers}"


def probes(table: Table, seat: int | None, hidden: set[str]) -> Iterator[str]:
    """Refusals of requests that name a hidden card, without that card."""
    for card in sorted(hidden)[::15]:
        for wanted in (f"discard {card}", f"take {card}", f"layoff 1 {card}", f"swap 1 {card}"):
            before = table.stored()
            answer = table.send(seat, wanted)
            assert 400 <= answer.status_code < 500
            assert table.stored() == before
            yield answer.text.replace(card, "")


def a_step(
    table: Table, chance: Random, prefer: tuple[str, ...]
) -> tuple[int, TestResponse] | None:
    """The next move of a game, at random but rather one of those preferred; None at its end."""
    game = table.look()
    if game["deal"] is None:
        return None
    for seat in range(len(table.tokens)):
        if (
            game["deal"]["call"]
            and (calls := [move for move in table.moves(seat) if move["move"] == "rummy"])
            and chance.random() < 0.7
        ):
            return seat, table.send(seat, "rummy", calls[0])
    seat = game["deal"]["turn"]
    moves = table.moves(seat)
    wished = [move for move in moves if move["move"] in prefer or move.get("from") in prefer]
    chosen = chance.choice(wished if wished and chance.random() < 0.8 else moves)
    return seat, table.send(seat, chosen["move"], chosen)


@pytest.mark.case(65)
@in_every_preset
def test_case_65_no_answer_holds_a_card_that_its_reader_may_not_know(
    service: Service, variant: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    table = service.table(variant, seats=3, public=True, hand_size=12)
    readers = (0, 1, 2, None)
    tables = service.app.extensions["tables"]
    known: dict[int | None, set[str]] = {reader: set() for reader in readers}
    chance = Random(variant)
    for number in range(30):
        match = tables.look(table.id, None)[0].match
        if match.deal is None:
            break
        public = {*match.deal.pile, *(face for meld in match.deal.melds for face in meld.faces)}
        for reader in readers:
            known[reader] |= public
            if reader is not None:
                known[reader] |= set(match.deal.hands[reader])
            unknown = set(FACES) - known[reader]
            texts = list(payloads(table, reader))
            if number % 8 == 0:
                texts += probes(table, reader, unknown)
            for text in texts:
                assert unknown.isdisjoint(A_CARD.findall(text))
        step = a_step(table, chance, ("meld", "layoff"))
        assert step is not None
        mover, answer = step
        assert answer.status_code == 200
        if answer.json["game"]["last_deal"]:  # all hands are counted, and so are public
            break
        drawn = set(answer.json["game"]["hand"] or ())
        assert set(A_CARD.findall(answer.text)) <= known[mover] | drawn
    listed = service.get("/v1/games?limit=100").json["tables"]
    assert not A_CARD.findall(str([{**entry, "host": "somebody"} for entry in listed]))
    assert not A_CARD.findall(caplog.text)
    assert not any(token in caplog.text for token in table.tokens)


@pytest.mark.case(65)
@in_every_preset
def test_case_65_only_who_draws_from_the_stock_reads_the_card_in_the_log(
    service: Service, variant: str
) -> None:
    table = service.position(variant, "5C 6C 7C | 9C 9D 9H", stock="KC QC", dealer=1)
    table.do(0, "draw", "discard 5C")
    table.do(1, "take 5C")

    def draws(seat: int | None) -> list[str | None]:
        events = [entry["event"] for entry in table.events(seat)]
        return [event["card"] for event in events if event["type"] == "drew"]

    assert draws(0) == ["KC", "5C"]
    assert draws(1) == [None, "5C"]
    assert draws(None) == [None, "5C"]


@pytest.mark.case(65)
@in_every_preset
def test_case_65_after_the_deal_the_hands_are_counted_in_the_open_and_the_stock_stays_hidden(
    service: Service, variant: str
) -> None:
    table = service.position(
        variant, "5C 6C KD | 2C 2D 3H", upcard="", stock="7C QC QD QH QS", dealer=1
    )
    table.do(0, "draw", "meld 5C 6C 7C", "discard KD")
    assert table.look()["status"] == "finished"
    for reader in (0, 1, None):
        for text in payloads(table, reader):
            assert {"QC", "QD", "QH", "QS"}.isdisjoint(A_CARD.findall(text))
        assert table.look(reader)["last_deal"]["hands"] == [[], ["2C", "2D", "3H"]]


@pytest.mark.case(65)
def test_case_65_documents_and_metrics_tell_nothing_of_games(service: Service) -> None:
    paths = ["/openapi.json", "/v1/variants", "/metrics", "/healthz", "/readyz", "/docs"]
    documents = {path: service.get(path).text for path in paths if path != "/metrics"}
    table = service.table("straight")
    seat = table.look()["deal"]["turn"]
    table.do(seat, "draw")
    for path in paths:
        text = service.get(path).text
        assert path == "/metrics" or text == documents[path]
        assert table.id not in text
        assert not any(token in text for token in table.tokens)


# -------------------------------------------------------------------------------- the seed


def keys_in(value: object) -> Iterator[str]:
    """Every name in a JSON value, at any depth."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from keys_in(inner)


@pytest.mark.case(67)
@in_every_preset
@pytest.mark.parametrize("practice", [None, {"seed": "a seed that nobody should read"}])
def test_case_67_nothing_that_a_player_reads_tells_the_chance_to_come(
    service: Service,
    variant: str,
    practice: Json | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    table = service.table(variant, seats=2, deals=2, practice=practice, public=True)
    match = service.app.extensions["tables"].look(table.id, None)[0].match
    chance = Random(variant)
    for number in range(20):
        step = a_step(table, chance, ("meld", "layoff"))
        if step is None:
            break
        texts = [step[1].text]
        if number % 8 == 0:
            texts += [text for reader in (0, 1, None) for text in payloads(table, reader)]
        assert not any(match.seed in text for text in texts)
    for reader in (0, 1, None):
        game, events = table.look(reader), table.events(reader)
        names = set(keys_in([game, events, table.score()]))
        assert not {name for name in names if re.search("seed|rng|random|token|nonce", name)}
        assert isinstance(game["deal"]["stock"], int)
        assert all(
            isinstance(entry["event"]["stock"], int)
            for entry in events
            if "stock" in entry["event"]
        )
    assert match.seed not in caplog.text


@pytest.mark.case(67)
def test_case_67_a_hand_is_shown_sorted_so_that_its_order_tells_nothing(service: Service) -> None:
    table = service.position("seven-card", "KS 2C JK 5H AD 9C 3D | 4C 4D 4H 4S 6C 6D 6H", jokers=2)
    assert table.look(0)["hand"] == ["2C", "9C", "AD", "3D", "5H", "KS", "JK"]
    dealt = next(e["event"] for e in table.events(0) if e["event"]["type"] == "dealt")
    assert dealt["hand"] == ["2C", "9C", "AD", "3D", "5H", "KS", "JK"]
    assert dealt["hand_sizes"] == [7, 7]


# ------------------------------------------------------------------- spectators and strangers


@pytest.mark.case(68)
@in_every_preset
def test_case_68_without_a_seat_token_nobody_sees_a_hand(service: Service, variant: str) -> None:
    table = service.position(variant, "5C 6C 7C | 9C 9D 9H", stock="KC QC", dealer=1)
    other = service.table(variant)
    public = table.look()
    assert (public["you"], public["hand"], public["moves"]) == (None, None, [])
    seen = table.look(0)
    assert (seen["you"], seen["hand"]) == (0, ["5C", "6C", "7C"])
    for query in ("?seat=1", "?seat=B", "?token=" + table.tokens[1], "?you=1"):
        for token in (None, table.tokens[0]):
            answer = service.get(table.path + query, token)
            assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")
            assert not A_CARD.findall(answer.text)
    game, _, secret = table.tokens[1].partition(".")
    wrong = [
        ("Bearer nonsense", 401, "bad_token"),
        ("Bearer ", 401, "bad_token"),
        ("Basic " + table.tokens[1], 401, "bad_token"),
        (table.tokens[1], 401, "bad_token"),
        ("Bearer " + secret, 401, "bad_token"),
        (f"Bearer {game}.{secret[::-1]}", 403, "not_your_seat"),
        (f"Bearer {game}.{'A' * len(secret)}", 403, "not_your_seat"),
        (f"Bearer {other.tokens[0]}", 403, "not_your_seat"),
        (f"Bearer {other.id}.{secret}", 403, "not_your_seat"),
    ]
    for header, status, code in wrong:
        for path in ("", "/events", "/moves"):
            answer = service.get(table.path + path, Authorization=header)
            assert (answer.status_code, answer.json["code"]) == (status, code), (path, header)
            assert not A_CARD.findall(answer.text)
        table.refuse(None, "draw", status, code, body={"from": "stock"}, Authorization=header)
    table.refuse(None, "draw", 401, "no_token")
    answer = service.get(table.path + "/moves")
    assert (answer.status_code, answer.json["code"]) == (401, "no_token")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.case(68)
@in_every_preset
def test_case_68_a_token_moves_for_its_own_seat_only(service: Service, variant: str) -> None:
    """No request names a seat: the token is the seat, so that another's turn is refused as such."""
    table = service.position(variant, "5C 6C 7C | 9C 9D 9H", stock="KC QC", dealer=0)
    assert table.look()["deal"]["turn"] == 1
    table.refuse(0, "draw", 409, "not_your_turn", "common.1")
    table.refuse(0, "draw?seat=1", 422, "invalid_request", body={"from": "stock"})
    table.refuse(0, "draw", 422, "invalid_request", body={"from": "stock", "seat": 1})
    table.do(1, "draw")
    table.refuse(0, "discard 9C", 409, "not_your_turn", "common.1")
    table.refuse(0, "start", 409, "already_started", None, body={})


@pytest.mark.case(68)
def test_case_68_a_token_is_told_once_and_stored_nowhere(service: Service) -> None:
    table = service.table("call-rummy", seats=3, public=True, taken=2)
    for reader in (0, 1, None):
        texts = list(payloads(table, reader))
        assert not any(token in text for text in texts for token in table.tokens)
        assert not any(token[17:] in text for text in texts for token in table.tokens)
    stored = (
        b"".join(
            service.redis.hget(f"rummy:{{{table.id}}}:game", name) or b"" for name in ("record",)
        )
        + str(service.redis.xrange(f"rummy:{{{table.id}}}:events")).encode()
    )
    assert table.id.encode() in stored
    assert not any(token.partition(".")[2].encode() in stored for token in table.tokens)


# ------------------------------------------------------------------------------ joining races


@pytest.mark.case(70)
@in_every_preset
@pytest.mark.parametrize("autostart", [True, False])
def test_case_70_of_twenty_who_want_the_last_seat_one_gets_it(
    service: Service, variant: str, autostart: bool
) -> None:
    table = service.table(variant, taken=1, autostart=autostart)
    answers = at_once(
        [
            lambda name=f"Guest {number}": service.post(f"{table.path}/join", {"name": name})
            for number in range(20)
        ]
    )
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 19}
    assert {answer.json["code"] for answer in answers if answer.status_code == 409} == {
        "already_started" if autostart else "table_full"
    }
    game = table.look()
    joined = next(answer.json for answer in answers if answer.status_code == 201)
    assert [seat["seat"] for seat in game["seats"]] == [0, 1]
    assert game["seats"][1]["name"] == joined["game"]["seats"][1]["name"]
    assert (game["status"] == "playing") == autostart
    names = [entry["event"]["type"] for entry in table.events()]
    assert names.count("joined") == 2
    assert names.count("started") == autostart


@pytest.mark.case(70)
@pytest.mark.parametrize("repetition", range(8))
def test_case_70_a_start_and_a_join_at_once_leave_the_joiner_in_or_out(
    service: Service, repetition: int
) -> None:
    table = service.table("call-rummy", seats=3, taken=2, autostart=False)
    joined, started = at_once(
        [
            lambda: service.post(f"{table.path}/join", {"name": "Late"}),
            lambda: table.send(0, "start", {}),
        ]
    )
    assert started.status_code == 200
    game = table.look()
    players = 3 if joined.status_code == 201 else 2
    assert joined.status_code == 201 or joined.json["code"] == "already_started"
    assert len(game["seats"]) == game["options"]["players"] == players
    assert game["deal"]["hand_sizes"] == [10 if players == 2 else 7] * players
    assert len(game["totals"]) == players
    if players == 3:
        answer = service.get(table.path, joined.json["token"])
        assert len(answer.json["hand"]) == 7


@pytest.mark.case(70)
@in_every_preset
def test_case_70_nobody_plays_alone(service: Service, variant: str) -> None:
    table = service.table(variant, seats=3, taken=1, autostart=False)
    table.refuse(0, "start", 409, "too_few_players", f"{variant}.1", body={})
    table.join("Player 1")
    table.refuse(1, "start", 403, "not_the_host", body={})
    assert table.send(0, "start", {}).status_code == 200
    answers = at_once([lambda: table.send(0, "start", {})] * 5)
    assert {answer.json["code"] for answer in answers} == {"already_started"}


# ---------------------------------------------------------------------------- silent players


def events_of(table: Table, seat: int | None = None) -> list[Json]:
    return [entry["event"] for entry in table.events(seat)]


@pytest.mark.case(71)
@in_every_preset
@pytest.mark.parametrize("moment", ["before the draw", "after the draw", "with a meld laid"])
@pytest.mark.parametrize("dealer", [0, 1])
def test_case_71_a_player_who_goes_silent_blocks_nobodys_view_and_loses_no_turn(
    service: Service, variant: str, moment: str, dealer: int
) -> None:
    table = service.position(
        variant,
        "2C 3D 4S 6H | 5C 5D 5H KS | 7C 8D 9S JH | QC KD AS TH",
        stock="3H 4H",
        dealer=dealer,
    )
    turn = table.look()["deal"]["turn"]
    while turn != 1:
        table.do(turn, "draw")
        hand = table.look(turn)["hand"]
        table.do(turn, f"discard {hand[0]}")
        turn = (turn + 1) % 4
    if moment != "before the draw":
        table.do(1, "draw")
    if moment == "with a meld laid":
        table.do(1, "meld 5C 5D 5H")
    before = table.look()
    for seat in (0, 2, 3):
        for wanted in ("draw", "take", "discard 2C", "meld 5C 5D 5H"):
            table.refuse(seat, wanted, 409, "not_your_turn", "common.1")
        assert table.moves(seat) == []
        assert table.look(seat)["deal"] == before["deal"]
    assert table.look() == before
    if moment == "before the draw":
        table.do(1, "draw")
    after = table.do(1, "discard KS")
    assert after["deal"]["turn"] == 2
    assert after["deal"]["melds"] == before["deal"]["melds"]
    assert [seat["seat"] for seat in after["seats"]] == [0, 1, 2, 3]
    table.refuse(1, "draw", 409, "not_your_turn", "common.1")
    table.do(2, "draw")


@pytest.mark.case(71)
@in_every_preset
@pytest.mark.parametrize("moment", ["before the draw", "after the draw", "with a meld laid"])
@pytest.mark.parametrize("dealer", [0, 1])
def test_case_71_when_the_player_to_move_leaves_the_next_is_to_move_once(
    service: Service, variant: str, moment: str, dealer: int
) -> None:
    table = service.position(
        variant,
        "2C 3D 4S 6H | 5C 5D 5H KS | 7C 8D 9S JH | QC KD AS TH",
        stock="3H 4H 2D 2H 2S 9H TD JC QH 6C 8C 7D AH 3C 4D 6S 8S TC",
        dealer=dealer,
    )
    turn = table.look()["deal"]["turn"]
    while turn != 1:
        table.do(turn, "draw")
        throw(table)
        turn = (turn + 1) % 4
    if moment != "before the draw":
        table.do(1, "draw")
    if moment == "with a meld laid":
        table.do(1, "meld 5C 5D 5H")
    before = table.look()
    left = table.send(1, "leave", {}).json["game"]

    assert (left["deal"]["turn"], left["deal"]["phase"]) == (2, "draw")
    assert [seat["name"] for seat in left["seats"]] == [seat["name"] for seat in before["seats"]]
    for meld in before["deal"]["melds"]:
        assert any(set(meld["cards"]) <= set(now["cards"]) for now in left["deal"]["melds"])
    thrown = [event for event in events_of(table) if event["type"] == "discarded"]
    assert [event["seat"] for event in thrown].count(1) == 1
    table.refuse(1, "draw", 409, "seat_away", "table.4")

    turns = []
    for _ in range(6):
        turns.append(table.look()["deal"]["turn"])
        table.do(turns[-1], "draw")
        throw(table)
    assert turns == [2, 3, 0] * 2  # the computer plays seat 1 in between, once a round
    assert table.send(1, "return", {}).status_code == 200
    for turn in (2, 3, 0, 1):
        assert table.look()["deal"]["turn"] == turn
        table.do(turn, "draw")
        throw(table)


@pytest.mark.case(73)
@in_every_preset
@pytest.mark.parametrize("moment", ["before the draw", "after the draw", "with a meld laid"])
def test_case_73_who_leaves_and_returns_has_the_seat_between_the_same_neighbours(
    service: Service, variant: str, moment: str
) -> None:
    table = service.position(
        variant,
        "2C 3D 4S 6H | 7C 8D 9S JH | 5C 5D 5H KS | QC KD AS TH",
        stock="JC QD 3H 4H",
    )
    names = [seat["name"] for seat in table.look()["seats"]]
    for seat, drawn in ((0, "JC"), (1, "QD")):
        table.do(seat, "draw", f"discard {drawn}")
    if moment != "before the draw":
        table.do(2, "draw")
    if moment == "with a meld laid":
        table.do(2, "meld 5C 5D 5H")
    for wish in ("leave", "return", "leave", "return"):
        assert table.send(2, wish, {}).status_code == 200
    assert [seat["name"] for seat in table.look()["seats"]] == names
    turns = []
    for _ in range(8):
        turns.append(table.look()["deal"]["turn"])
        table.do(turns[-1], "draw")
        throw(table)
    assert turns == [3, 0, 1, 2] * 2


@pytest.mark.case(73)
@in_every_preset
def test_case_73_who_comes_back_with_the_same_token_finds_the_half_finished_turn(
    service: Service, variant: str
) -> None:
    table = service.position(
        variant,
        "2C 3D 4S 6H | 7C 8D 9S JH | 5C 5D 5H KS | QC KD AS TH",
        stock="JC QD",
    )
    names = [seat["name"] for seat in table.look()["seats"]]
    for seat, drawn in ((0, "JC"), (1, "QD")):
        table.do(seat, "draw", f"discard {drawn}")
    left = table.do(2, "draw", "meld 5C 5D 5H")

    back = Table(service, table.id, table.tokens[2])
    found = back.look(0)
    assert found == left
    assert (found["you"], found["deal"]["turn"], found["deal"]["phase"]) == (2, 2, "play")
    back.refuse(0, "draw", 409, "already_drawn", "common.3")
    answer = service.get("/v1/games?mine", table.tokens[2])
    assert [game["id"] for game in answer.json["games"]] == [table.id]

    turns = []
    back.do(0, "discard KS")
    for _ in range(8):
        seat = table.look()["deal"]["turn"]
        turns.append(seat)
        hand = table.do(seat, "draw")["hand"]
        table.do(seat, f"discard {hand[0]}")
    assert turns == [3, 0, 1, 2] * 2
    assert [seat["name"] for seat in table.look()["seats"]] == names


@pytest.mark.case(74)
@in_every_preset
@pytest.mark.parametrize("hand", ["KC 5H", "KC"])
def test_case_74_a_turn_can_always_be_finished_by_a_draw_and_a_legal_discard(
    variant: str, hand: str
) -> None:
    match = position(variant, hands=f"{hand} | 3D 3H", pile="2C 9D", stock="6S", phase="draw")
    assert Draw("stock") in set(legal_moves(match, 0, NOW))
    taken = accept(match, "take")
    discards = {move.card for move in legal_moves(taken, 0, NOW) if isinstance(move, Discard)}
    if variant in NO_RETURN:
        refuse(taken, "discard 9D", "upcard_returned", NO_RETURN[variant])
        assert discards == set(hand.split())
    else:
        assert discards == {*hand.split(), "9D"}
    drawn = accept(match, "draw")
    assert deal_of(accept(drawn, "discard 6S")).turn == 1


def nine_thrown(service: Service, variant: str, hand: str) -> Table:
    """Seat 1 has thrown 9D; it is the turn of seat 0, with that hand, and the clock runs."""
    others = "9D" if hand == "KC" else "9D 3D"
    table = service.position(
        variant, f"{hand} | {others}", stock="6S 8S QC", dealer=0, turn_seconds=60
    )
    table.do(1, "draw", "discard 9D")
    return table


def forced_of(table: Table, seat: int | None, since: int) -> list[Json]:
    """What the clock has done since that event, as the log tells the seat, and nobody else."""
    entries = table.events(seat, after=since)
    assert all(entry["forced"] for entry in entries)
    return [entry["event"] for entry in entries]


@pytest.mark.case(74)
@in_every_preset
@pytest.mark.parametrize("hand", ["KC 5H", "KC"])
def test_case_74_who_goes_silent_with_the_upcard_taken_throws_what_may_be_thrown(
    timed_service: Service, clock: Clock, variant: str, hand: str
) -> None:
    table = nine_thrown(timed_service, variant, hand)
    table.do(0, "take")
    seen = table.events()[-1]["id"]
    clock.forward(60)
    (thrown,) = forced_of(table, 0, seen)
    assert thrown["type"] == "discarded"
    assert thrown["card"] in hand.split() or (variant not in NO_RETURN and thrown["card"] == "9D")
    assert table.look()["deal"]["turn"] == 1


@pytest.mark.case(74)
@in_every_preset
@pytest.mark.parametrize("hand", ["KC 5H", "KC"])
def test_case_74_who_goes_silent_before_the_draw_throws_the_stock_card(
    timed_service: Service, clock: Clock, variant: str, hand: str
) -> None:
    table = nine_thrown(timed_service, variant, hand)
    seen = table.events()[-1]["id"]
    clock.forward(60)
    drew, thrown = forced_of(table, 0, seen)
    assert (drew["type"], drew["source"], drew["card"]) == ("drew", "stock", "8S")
    assert (thrown["type"], thrown["card"]) == ("discarded", "8S")
    assert forced_of(table, 1, seen)[0]["card"] is None
    assert set(table.look(0)["hand"]) == set(hand.split())


@pytest.mark.case(74)
@pytest.mark.parametrize("call", ["next_draw", "timed"])
def test_case_74_the_clock_neither_calls_nor_melds(
    timed_service: Service, clock: Clock, call: str
) -> None:
    seconds = {"call_seconds": 5} if call == "timed" else {}
    table = timed_service.position(
        "call-rummy",
        "5C 5D 5H KS | 8C 8D 8H 8S",
        stock="2C 3C 4C",
        dealer=0,
        turn_seconds=60,
        call=call,
        **seconds,
    )
    table.do(1, "draw", "meld 8C 8D 8H", "discard 8S")
    seen = table.events()[-1]["id"]
    assert table.moves(0)[0]["move"] == "rummy"
    clock.forward(65)
    assert [event["type"] for event in forced_of(table, 0, seen)] == ["drew", "discarded"]
    assert len(table.look()["deal"]["melds"]) == 1


@pytest.mark.case(74)
@in_every_preset
def test_case_74_with_the_stock_empty_the_draw_turns_the_pile_over(variant: str) -> None:
    match = position(variant, hands="KC 5H | 3D 3H", pile="2C 9D 6S", stock="", phase="draw")
    assert Draw("stock") in set(legal_moves(match, 0, NOW))
    drawn = accept(match, "draw")
    assert deal_of(drawn).turnovers >= 1
    (card,) = Counter(deal_of(drawn).hands[0]) - Counter(("KC", "5H"))
    assert deal_of(accept(drawn, f"discard {card}")).upcard == card


# ----------------------------------------------------------------------------------- garbage

NO_MOVE: list[object] = [
    [],
    {},
    None,
    "7H",
    7,
    True,
    {"cards": "7H"},
    {"cards": []},
    {"cards": [[]]},
    {"cards": [["5C", "5D", "5H"]]},
    {"cards": ["5C", "5D"] * 30},
    {"cards": {"0": "5C"}},
    {"cards": [None, None, None]},
    {"cards": ["5c", "5d", "5h"]},
    {"cards": ["5♣", "5♦", "5♥"]},
    {"cards": ["10H", "10C", "10D"]},
    {"card": "EH"},
    {"card": "KnH"},
    {"card": "\u0000"},
    {"card": "5C\u0000"},
    {"card": "\ud800"},
    {"meld": -1, "cards": ["5C"]},
    {"meld": 0, "cards": ["5C"]},
    {"meld": "1", "cards": ["5C"]},
    {"meld": 1.5, "cards": ["5C"]},
    {"meld": True, "cards": ["5C"]},
    {"meld": 10**30, "cards": ["5C"]},
    {"meld": None, "card": "5C"},
    {"from": "hand"},
    {"from": ["stock"]},
    {"from": None},
    {"from": "Stock"},
    {"move": "fly"},
    {"plays": {}},
    {"plays": [[]]},
    {"plays": [{"move": "discard", "card": "5C"}]},
    {"plays": [{"move": "meld"}]},
    {"plays": [{"move": ["meld"]}]},
    {"jokers": "5C", "cards": ["5C", "5D", "5H"]},
    {"jokers": ["JK"], "cards": ["5C", "5D", "JK"]},
    {"cards": ["5C", "5D", "5H"], "extra": 1},
    {"name": 7},
    {"name": ""},
    {"name": "\u0007"},
    {"name": "x" * 1000},
    {"variant": "canasta", "name": "Anna"},
    {"variant": "straight", "name": "Anna", "options": []},
    {"variant": "straight", "name": "Anna", "options": {"deals": 1, "jokers": [2]}},
    {"variant": "straight", "name": "Anna", "options": {"deals": 1}, "seats": "two"},
    {"variant": "straight", "name": "Anna", "options": {"deals": 1}, "practice": {}},
]

OPERATIONS = ["draw", "meld", "layoff", "swap", "discard", "rummy", "turn", "join", ""]


@pytest.mark.case(76)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_case_76_garbage_gets_a_clean_refusal_and_the_game_goes_on(
    service: Service, operation: str
) -> None:
    table = service.position("straight", "5C 5D 5H KS | 9C 9D 9H 3S", stock="KC QC", dealer=1)
    table.do(0, "draw")
    before = table.stored()
    path = f"{table.path}/{operation}" if operation else "/v1/games"
    for body in NO_MOVE:
        answer = service.post(path, body, table.tokens[0])
        assert 400 <= answer.status_code < 500, (operation, body, answer.status_code)
        assert answer.mimetype == "application/problem+json"
        assert answer.json["code"]
        assert table.stored() == before, (operation, body)
    table.do(0, "meld 5C 5D 5H", "discard KC")


@pytest.mark.case(76)
@pytest.mark.parametrize(
    ("data", "content_type", "status", "code"),
    [
        (b'{"card": "KC"', "application/json", 400, "bad_request"),
        (b"card=KC", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b'{"card": "KC"}', "text/plain", 415, "unsupported_media_type"),
        (b'{"card": "KC"}', "", 415, "unsupported_media_type"),
        (b"\xff\xfe{}", "application/json", 400, "bad_request"),
        (b'{"card": "\xff"}', "application/json", 400, "bad_request"),
        (b"[" * 30_000, "application/json", 400, "bad_request"),
        (b'{"card": NaN}', "application/json", 400, "bad_request"),
        (b'{"card": "KC"}}', "application/json", 400, "bad_request"),
        (b" " * 1_000_000, "application/json", 413, "body_too_large"),
        (b'{"card": "' + b"K" * 1_000_000 + b'"}', "application/json", 413, "body_too_large"),
        (b"", "application/json", 422, "invalid_request"),
        (b"null", "application/json", 422, "invalid_request"),
    ],
    ids=str,
)
def test_case_76_a_body_that_is_not_json_of_a_fair_size_is_refused(
    service: Service, data: bytes, content_type: str, status: int, code: str
) -> None:
    table = service.position("straight", "5C 5D 5H KS | 9C 9D 9H 3S", stock="KC QC", dealer=1)
    table.do(0, "draw")
    before = table.stored()
    headers = {"Authorization": f"Bearer {table.tokens[0]}"}
    answer = service.app.test_client().post(
        f"{table.path}/discard", data=data, content_type=content_type, headers=headers
    )
    table.refused(answer, status, code, None, before)
    table.do(0, "discard KC")


@pytest.mark.case(76)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("7h", "7H"),
        ("7♥", "7H"),
        ("♥7", "7H"),
        ("H7", "7H"),
        ("10H", "TH"),
        ("EH", "AH"),
        ("KnH", "JH"),
        ("DH", "QH"),
        ("joker", "JK"),
    ],
)
def test_case_76_a_card_in_another_notation_is_refused_with_the_right_spelling(
    service: Service, written: str, meant: str
) -> None:
    table = service.position("straight", "5C 5D 5H KS | 9C 9D 9H 3S", stock="KC QC", dealer=1)
    table.do(0, "draw")
    problem = table.refuse(0, "discard", 422, "invalid_request", body={"card": written})
    assert problem["fields"][0]["field"] == "card"
    assert f"Did you mean {meant}?" in problem["fields"][0]["reason"]
    assert "rank then suit" in problem["detail"]


@pytest.mark.case(76)
@pytest.mark.parametrize(
    ("wanted", "status", "code", "rule"),
    [
        ("meld 5C 5D", 409, "not_a_meld", "common.4"),
        ("layoff 2 5C", 409, "no_such_meld", "common.7"),
        ("layoff 999 5C", 409, "no_such_meld", "common.7"),
        ("swap 2 5C", 409, "no_such_meld", "common.7"),
        ("rummy 1", 409, "no_calls", "call-rummy.5"),
    ],
)
def test_case_76_a_well_formed_move_that_makes_no_sense_names_its_clause(
    service: Service, wanted: str, status: int, code: str, rule: str
) -> None:
    other = service.position("straight", "8C 8D 8H 7C 7D 7H KS | 9C 9D 9H 3S", dealer=1)
    other.do(0, "draw", "meld 8C 8D 8H")
    table = service.position("straight", "5C 5D 5H KS | 9C 9D 9H 3S", stock="KC QC", dealer=1)
    table.do(0, "draw")
    table.refuse(0, wanted, status, code, rule)
    table.do(0, "meld 5C 5D 5H", "discard KC")


@pytest.mark.case(76)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/games/x",
        "/v1/games/aaaaaaaaaaaaaaaa",
        "/v1/games/AAAAAAAAAAAAAAAA",
        "/v1/games/%00",
        "/v1/games/*",
        "/v1/games/%7Brummy%7D",
        "/v1/games/" + "a" * 5000,
        "/v1/games/aaaaaaaaaaaaaaaa/events",
        "/v1/games/aaaaaaaaaaaaaaaa/score",
        "/v1/nothing",
    ],
)
def test_case_76_an_address_of_nothing_is_not_found(service: Service, path: str) -> None:
    answer = service.get(path)
    assert answer.status_code == 404
    assert answer.mimetype == "application/problem+json"
    assert answer.json["code"] in {"no_such_game", "no_such_route"}


@pytest.mark.case(76)
@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=x",
        "after=1.5",
        "limit=0",
        "limit=501",
        "limit=",
        "after=1&after=2",
        "since=3",
        f"after={10**30}",
    ],
)
def test_case_76_a_query_that_makes_no_sense_is_refused(service: Service, query: str) -> None:
    table = service.table("straight")
    answer = service.get(f"{table.path}/events?{query}")
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")


# ------------------------------------------------------------------------------ coming back


@pytest.mark.case(77)
def test_case_77_a_bot_finds_all_its_games_and_everything_it_missed(service: Service) -> None:
    tables = [service.table("seven-card", deals=2) for _ in range(12)]
    seen = {table.id: table.events(1)[-1]["id"] for table in tables}
    for number, table in enumerate(tables):
        for _ in range(number % 4):
            seat = table.look()["deal"]["turn"]
            hand = table.do(seat, "draw")["hand"]
            table.do(seat, f"discard {hand[0]}")

    found = {}
    for table in tables:
        mine = service.get("/v1/games?mine", table.tokens[1]).json["games"]
        assert [(game["id"], game["you"], game["status"]) for game in mine] == [
            (table.id, 1, "playing")
        ]
        found[table.id] = mine[0]["deal"]["turn"]
    assert found == {table.id: table.look()["deal"]["turn"] for table in tables}

    for number, table in enumerate(tables):
        missed = table.events(1, after=seen[table.id])
        assert [entry["id"] for entry in missed] == list(
            range(seen[table.id] + 1, seen[table.id] + 1 + 2 * (number % 4))
        )
        assert {entry["game"] for entry in missed} <= {table.id}
        whole = table.events(1)
        assert [entry["id"] for entry in whole] == list(range(1, len(whole) + 1))
        assert [entry["version"] for entry in whole] == sorted(entry["version"] for entry in whole)
        assert whole[-1]["version"] == table.look()["version"]


@pytest.mark.case(77)
def test_case_77_one_request_finds_all_twelve_games_the_own_turns_first(service: Service) -> None:
    tables = [service.table("seven-card", seats=2 + number % 3) for number in range(12)]
    answer = service.post("/v1/games/query", {"tokens": [table.tokens[1] for table in tables]}).json
    assert answer["gone"] == []
    assert {game["game"]["id"] for game in answer["games"]} == {table.id for table in tables}
    mine = [game["game"]["deal"]["turn"] == 1 for game in answer["games"]]
    assert mine == [game["can_act"] for game in answer["games"]]
    assert mine == sorted(mine, reverse=True)
    for game in answer["games"]:
        assert game["game"] == tables[game["token"]].look(1)


class Stream:
    """A stream of a seat, read as far as the test wants."""

    def __init__(self, table: Table, seat: int, last: int | None = None) -> None:
        headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {table.token(seat)}"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self._answer = table.service.app.test_client().get(
            f"{table.path}/events", headers=headers, buffered=False
        )
        assert self._answer.mimetype == "text/event-stream"
        self._pieces = iter(self._answer.response)
        self._text = ""
        self._next()  # how soon to come back
        self.game = self._next()

    def read(self, number: int) -> list[Json]:
        """So many entries of the log."""
        return [self._next() for _ in range(number)]

    def ends(self) -> bool:
        """Whether all has been told, and the last is that the match is over."""
        return self._next() == {"status": "finished"} and not self._text

    def kill(self) -> None:
        self._answer.close()

    def _next(self) -> Json:
        while "\n\n" not in self._text:
            piece = next(self._pieces)
            self._text += piece.decode() if isinstance(piece, bytes) else piece
        event, _, self._text = self._text.partition("\n\n")
        data = [line for line in event.split("\n") if line.startswith("data: ")]
        return dict(json.loads(data[0].removeprefix("data: "))) if data else {}


@pytest.mark.case(77)
def test_case_77_of_two_streams_each_tells_of_its_own_game_and_misses_nothing(
    service: Service,
) -> None:
    """Both are killed and opened again; that a stream has ended means nothing."""
    tables = [service.table("straight", seats=3) for _ in range(2)]
    last = {table.id: table.events(0)[-1]["id"] for table in tables}
    told: dict[str, list[Json]] = {table.id: [] for table in tables}
    for _ in range(3):
        streams = [Stream(table, 0, last[table.id]) for table in tables]
        for _ in range(2):
            for table, stream in zip(tables, streams, strict=True):
                assert stream.game["id"] == table.id
                table.do(table.look()["deal"]["turn"], "draw")
                throw(table)
                told[table.id] += stream.read(2)
        for table, stream in zip(tables, streams, strict=True):
            stream.kill()
            last[table.id] = told[table.id][-1]["id"]
            # Nobody is there when this happens, and it is told when the stream is opened again.
            table.do(table.look()["deal"]["turn"], "draw")
            throw(table)
            missed = Stream(table, 0, last[table.id])
            told[table.id] += missed.read(2)
            missed.kill()
            last[table.id] = told[table.id][-1]["id"]
    for table in tables:
        log = table.events(0)
        assert told[table.id] == log[-len(told[table.id]) :]
        assert [entry["id"] for entry in log] == list(range(1, len(log) + 1))
        assert {entry["game"] for entry in log} == {table.id}
        assert table.look()["status"] == "playing"


@pytest.mark.case(77)
def test_case_77_only_the_end_of_the_match_is_told_as_the_end(service: Service) -> None:
    table = service.position("straight", "5C 6C KD | 2C 2D 3H", stock="7C", dealer=1)
    stream = Stream(table, 1, table.events()[-1]["id"])
    table.do(0, "draw", "meld 5C 6C 7C", "discard KD")
    assert [entry["event"]["type"] for entry in stream.read(5)] == [
        "drew",
        "melded",
        "discarded",
        "deal_ended",
        "revealed",
    ]
    assert [entry["event"]["type"] for entry in stream.read(1)] == ["match_ended"]
    assert stream.ends()


@pytest.mark.case(77)
def test_case_77_the_log_is_the_same_in_pages_of_any_size(service: Service) -> None:
    tables = [service.table("straight", seats=3) for _ in range(2)]
    chance = Random(77)
    for _ in range(20):
        for table in tables:
            a_step(table, chance, ("meld",))
    pages: dict[str, list[Json]] = {table.id: [] for table in tables}
    after = dict.fromkeys(pages, 0)
    more = dict.fromkeys(pages, True)
    while any(more.values()):
        for table in tables:
            page = service.get(
                f"{table.path}/events?after={after[table.id]}&limit=3", table.tokens[0]
            ).json
            assert page["status"] == "playing"
            pages[table.id] += page["events"]
            after[table.id], more[table.id] = page["last"], page["more"]
    for table in tables:
        assert pages[table.id] == table.events(0)
        assert {entry["game"] for entry in pages[table.id]} == {table.id}
        end = service.get(f"{table.path}/events?after={after[table.id]}").json
        assert (end["events"], end["more"], end["status"]) == ([], False, "playing")


@pytest.mark.case(77)
@in_every_preset
def test_case_77_only_the_status_says_that_a_game_is_over(service: Service, variant: str) -> None:
    table = service.position(variant, "5C 6C KD | 2C 2D 3H", stock="7C", dealer=1)
    table.do(0, "draw", "meld 5C 6C 7C")
    assert table.look()["status"] == "playing"
    table.do(0, "discard KD")
    for reader in (0, 1, None):
        game = table.look(reader)
        assert (game["status"], game["deal"]) == ("finished", None)
        assert game["result"]["winners"] == [0]
        page = service.get(f"{table.path}/events?after=0&limit=2", table.token(reader)).json
        assert (page["status"], page["more"]) == ("finished", True)
    mine = service.get("/v1/games?mine", table.tokens[1]).json["games"]
    assert [game["status"] for game in mine] == ["finished"]


# ------------------------------------------------------------------------------ the top card


def pile_told(events: list[Json], options: Json) -> list[str]:
    """The discard pile, oldest first, as the log tells of it."""
    pile: list[str] = []
    for event in (entry["event"] for entry in events):
        match event["type"]:
            case "dealt":
                pile = [event["upcard"]] if event["upcard"] else []
            case "discarded":
                pile.append(event["card"])
            case "drew" if event["from" if "from" in event else "source"] == "discard":
                assert pile.pop() == event["card"]
            case "called":
                assert pile.pop() == event["card"]
            case "turned_over":
                pile = [event["upcard"]] if event["upcard"] else []
                assert options["turnover_keeps_upcard"] or options["turnover_new_upcard"]
    return pile


def take_and_check(table: Table) -> str:
    """Whoever's turn it is takes the upcard: the hand gains it, the card beneath is the next."""
    before = table.look()
    seat, top = before["deal"]["turn"], before["deal"]["upcard"]
    pile = pile_told(table.events(), before["options"])
    assert pile[-1] == top
    hand = table.look(seat)["hand"]
    after = table.do(seat, "take")
    assert Counter(after["hand"]) == Counter([*hand, top])
    assert after["deal"]["upcard"] == (pile[-2] if len(pile) > 1 else None)
    assert after["deal"]["pile"] == len(pile) - 1
    assert after["deal"]["stock"] == before["deal"]["stock"]
    return str(top)


def throw(table: Table, card: str | None = None) -> None:
    """Discard a card of the hand: the one named, or the first that may go."""
    seat = table.look()["deal"]["turn"]
    moves = [move["card"] for move in table.moves(seat) if move["move"] == "discard"]
    table.do(seat, f"discard {card or moves[0]}")


@pytest.mark.case(79)
@in_every_preset
def test_case_79_the_card_taken_is_the_upcard_shown(service: Service, variant: str) -> None:
    table = service.position(variant, "5C 6D 7H | 9C TD JH | QC KD AH", stock="2C 3C 4C", dealer=2)
    for seat, drawn in ((0, "2C"), (1, "3C"), (2, "4C")):
        table.do(seat, "draw", f"discard {drawn}")
    assert take_and_check(table) == "4C"
    throw(table, "5C")
    assert take_and_check(table) == "5C"
    throw(table, "9C")
    assert take_and_check(table) == "9C"


@pytest.mark.case(79)
@in_every_preset
def test_case_79_after_a_turnover_the_card_taken_is_still_the_upcard_shown(
    service: Service, variant: str
) -> None:
    table = service.table(
        variant, seats=4, hand_size=12, practice={"seed": f"few cards of {variant}"}
    )
    for _ in range(3):
        while table.look()["deal"]["turnovers"] == 0:
            table.do(table.look()["deal"]["turn"], "draw")
            throw(table)
        take_and_check(table)
        throw(table)
    assert table.look()["deal"]["turnovers"] >= 1


@pytest.mark.case(79)
def test_case_79_right_after_parletts_turnover_the_new_upcard_is_there_for_the_next_player(
    service: Service,
) -> None:
    order_of_play = "2C 3C 4C"
    table = service.position(
        "parlett",
        "5C 5D 6H 6S 7C 7D 8H 8S 9C 9D TH TS | 5H 5S 6C 6D 7H 7S 8C 8D 9H 9S TC TD"
        " | JC JD QH QS KC KD AH AS 2D 2H 3D 3H | JH JS QC QD KH KS AC AD 2S 3S 4D 4H",
        upcard="4S",
        stock=order_of_play,
    )
    for seat, drawn in enumerate(order_of_play.split()):
        table.do(seat, "draw", f"discard {drawn}")
    game = table.do(3, "draw")
    assert (game["deal"]["upcard"], game["deal"]["pile"], game["deal"]["stock"]) == ("4S", 1, 2)
    assert "2C" in game["hand"]
    throw(table, "JH")
    assert take_and_check(table) == "JH"
    throw(table, "5C")
    table.do(1, "draw", "discard 5H")
    assert pile_told(table.events(), game["options"]) == ["4S", "5C", "5H"]


@pytest.mark.case(79)
def test_case_79_after_a_call_the_card_beneath_is_the_upcard(service: Service) -> None:
    table, _ = called_between(service)
    assert take_and_check(table) == "KD"
    assert table.look()["deal"]["upcard"] is None
    throw(table)
    take_and_check(table)


@pytest.mark.case(79)
@in_every_preset
@pytest.mark.parametrize("moment", ["before the draw", "after the draw", "out of turn"])
def test_case_79_after_a_player_has_left_the_card_taken_is_the_upcard_shown(
    service: Service, variant: str, moment: str
) -> None:
    table = service.position(
        variant, "5C 6D 7H | 9C TD JH | QC KD AH", stock="2C 3C 4C 8S", dealer=2
    )
    table.do(0, "draw", "discard 2C")
    if moment == "after the draw":
        table.do(1, "draw")
    if moment == "out of turn":
        table.do(1, "draw", "discard 3C")
        assert table.send(0, "leave", {}).status_code == 200
    else:
        assert table.send(1, "leave", {}).status_code == 200
    assert table.look()["deal"]["turn"] == 2
    for _ in range(3):
        take_and_check(table)
        throw(table)


# ----------------------------------------------------------------------------- what a bot sees

WALKS: list[tuple[str, int, str, Json]] = [
    # variant, seats, seed of a game in which there is something to do, options
    ("straight", 3, "j", {"hand_size": 12}),
    ("straight", 2, "i", {"jokers": 2, "hand_size": 9, "final_discard": True}),
    ("seven-card", 3, "j", {"hand_size": 12}),
    ("seven-card", 2, "h", {"jokers": 2, "aces": "high_or_low", "upcard": True}),
    ("seven-card", 5, "j", {"jokers": 4}),
    ("parlett", 3, "j", {"hand_size": 12}),
    ("parlett", 2, "i", {"jokers": 2, "hand_size": 9}),
    ("parlett", 4, "e", {"decks": 2, "hand_size": 12}),
    ("call-rummy", 3, "b", {"hand_size": 12}),
    ("call-rummy", 3, "i", {"jokers": 2, "hand_size": 8, "return_upcard": False}),
]


def wrong_moves(game: Json, right: set[client.Move], chance: Random) -> list[client.Move]:
    """Moves that the rules do not allow now, though their form is fine."""
    hand = game["hand"]
    natural = [card for card in hand if card != JOKER]
    melds = [meld["id"] for meld in game["deal"]["melds"]] + [len(game["deal"]["melds"]) + 1]
    wrong: list[client.Move] = [("draw", "stock"), ("draw", "discard")]
    wrong += [("discard", card) for card in (*FACES, JOKER)]
    wrong += [("layoff", meld, (card,), ()) for meld in melds for card in natural]
    wrong += [("swap", meld, card) for meld in melds for card in natural]
    wrong += [("rummy", meld, ()) for meld in melds]
    if game["deal"]["upcard"] == JOKER:
        wrong = [move for move in wrong if move[0] != "rummy"]
    wrong += [
        ("meld", tuple(sorted(chance.sample(natural, 3))), ())
        for _ in range(10)
        if len(natural) >= 3
    ]
    return [move for move in dict.fromkeys(wrong) if move not in right]


def compare(table: Table, seat: int, chance: Random) -> set[client.Move]:
    """What a client finds is what the service lists, and accepts; nothing else is accepted."""
    game = table.look(seat)
    right = client.every_move(game)
    answer = table.service.get(f"{table.path}/moves", table.token(seat)).json
    assert not answer["truncated"]
    assert Counter(client.key(move) for move in answer["moves"]) == Counter(right)
    assert game["moves"] == answer["moves"][:100]
    assert game["moves_truncated"] == (len(answer["moves"]) > 100)
    stored, snapshot = table.stored(), table.snapshot()
    for move in chance.sample(sorted(right, key=str), min(len(right), 3)):
        body = client.body_of(move)
        answer = table.send(seat, body["move"], body)
        assert answer.status_code == 200, (move, answer.json)
        table.restore(snapshot)
    for move in (wrong := wrong_moves(game, right, chance)) and chance.sample(
        wrong, min(len(wrong), 4)
    ):
        body = client.body_of(move)
        answer = table.send(seat, body["move"], body)
        assert answer.status_code == 409, (move, answer.json)
    assert table.stored() == stored
    return right


@pytest.mark.case(80)
@pytest.mark.parametrize(("variant", "seats", "seed", "options"), WALKS)
def test_case_80_a_client_finds_every_legal_move_in_the_documented_view(
    service: Service, variant: str, seats: int, seed: str, options: Json
) -> None:
    chance, samples = Random(seed), Random(f"samples of {seed}")
    table = service.table(variant, seats=seats, practice={"seed": seed, "dealer": 0}, **options)
    met: set[str] = set()
    for number in range(24):
        deal = table.look()["deal"]
        if deal is None:
            break
        everybody = deal["call"] or number % 8 == 0
        for seat in range(seats) if everybody else [deal["turn"]]:
            met |= {move[0] for move in compare(table, seat, samples)}
        a_step(table, chance, ("meld", "layoff", "swap"))
    assert {"draw", "discard", "meld", "layoff"} <= met
    assert "swap" in met or "jokers" not in options
    assert "rummy" in met or variant != "call-rummy" or "jokers" in options


@pytest.mark.case(80)
def test_case_80_swaps_calls_and_cards_that_may_not_go_back_are_found_too(
    service: Service,
) -> None:
    chance = Random(80)
    table = service.position(
        "call-rummy",
        "3S JK 5S 2C 2D 9H | 4S 6S KC KD KH 9C | 7S 8S QC QD QH 9D",
        upcard="TS",
        stock="AC AD",
        jokers=2,
        return_upcard=False,
    )
    table.do(0, "draw", "meld 3S JK=4S 5S", "discard AC")
    table.do(1, "take")
    assert table.look(1)["may_not_discard"] == "AC"
    assert table.look(0)["may_not_discard"] is None
    found = compare(table, 1, chance)
    assert ("swap", 1, "4S") in found
    assert ("layoff", 1, ("6S",), ()) in found
    assert ("discard", "AC") not in found
    table.do(1, "swap 1 4S", "discard 6S")
    assert table.look(1)["deal"]["melds"][0]["cards"] == ["3S", "4S", "5S"]
    for seat, may_call in ((0, True), (1, False), (2, True)):
        assert (("rummy", 1, ()) in compare(table, seat, chance)) == may_call
    table.do(0, "rummy 1")
    assert ("layoff", 1, ("7S",), ()) not in compare(table, 2, chance)
    table.do(2, "draw")
    assert ("layoff", 1, ("7S",), ()) in compare(table, 2, chance)


@pytest.mark.case(80)
def test_case_80_the_view_names_all_that_a_player_must_know(service: Service) -> None:
    table = service.position(
        "seven-card",
        "3S JK 5S 2C 2D 9H | 4S 6S KC KD KH 9C",
        stock="AC AD",
        jokers=2,
        aces="high_or_low",
    )
    game = table.do(0, "draw", "meld 3S JK=4S 5S")
    assert game["deal"]["melds"] == [
        {
            "id": 1,
            "owner": 0,
            "kind": "run",
            "cards": ["3S", "JK", "5S"],
            "faces": ["3S", "4S", "5S"],
        }
    ]
    assert (game["deal"]["phase"], game["deal"]["melds_left"]) == ("play", 0)
    assert (game["options"]["aces"], game["options"]["layoffs"]) == ("high_or_low", "own")
    assert {"may_not_discard", "moves", "moves_truncated"} <= set(game)
    assert {"call", "upcard", "stock", "pile", "hand_sizes", "turn", "dealer"} <= set(game["deal"])

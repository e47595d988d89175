"""What is too long, too large, malformed or meant to break something is refused, and politely."""

import json

import pytest

from tests.http.tables import House, code

TABLE = {"variant": "straight", "name": "ada", "options": {"deals": 1}}


def make(house: House, **body: object) -> str:
    return code(house.client().post("/v1/games", json=TABLE | body))


def send(house: House, body: bytes, content_type: str | None = "application/json", **headers):
    return house.client().post(
        "/v1/games", data=body, content_type=content_type, headers=headers or None
    )


# ------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Ada", "Ada"),
        ("  Ada   Lovelace ", "Ada Lovelace"),
        ("Å" * 40, "Å" * 40),
        ("A\u030a" * 40, "Å" * 40),
        ("e\u0301va", "éva"),
        ("한국어", "한국어"),
        ("🦊", "🦊"),
        ("👩‍🚀 Ada", "👩‍🚀 Ada"),
        ("🇸🇪", "🇸🇪"),
        ("محمد", "محمد"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("{ada}", "{ada}"),
        ("'; DROP TABLE games; --", "'; DROP TABLE games; --"),
        ("null", "null"),
        ("\u00a0Ada\u3000", "Ada"),
    ],
)
def test_names_that_people_have(house, name, kept):
    table = house.waiting("straight", 2, more={"name": name, "public": True})
    table.seat(table.stranger.post("join", {"name": name}))
    assert [seat["name"] for seat in table.stranger.look()["seats"]] == [kept, kept]
    told = [entry["event"] for entry in table.stranger.log()]
    assert [event["name"] for event in told if event["type"] == "joined"] == [kept, kept]


@pytest.mark.parametrize(
    ("name", "answered"),
    [
        ("", "invalid_request"),
        (" ", "bad_text"),
        ("\u3000", "bad_text"),
        ("\u200d", "bad_text"),
        ("\u3164", "bad_text"),
        ("x" * 41, "bad_text"),
        ("x" * 201, "invalid_request"),
        ("🦊" * 41, "bad_text"),
        ("a\x00", "bad_text"),
        ("\x1b[31mada", "bad_text"),
        ("a\tb", "bad_text"),
        ("ada\nbo", "bad_text"),
        ("ada\r", "bad_text"),
        ("a\x7f", "bad_text"),
        ("a\x85b", "bad_text"),
        ("a\u202eb", "bad_text"),
        ("a\u2066b", "bad_text"),
        ("\u200fada", "bad_text"),
        ("a\u200bb", "bad_text"),
        ("\ufeffada", "bad_text"),
        ("a\u2028b", "bad_text"),
        ("a\u00adb", "bad_text"),
        ("a\ue000", "bad_text"),
        ("a\uffff", "bad_text"),
        ("a\U000e0041", "bad_text"),
        (5, "invalid_request"),
        (None, "invalid_request"),
        (["ada"], "invalid_request"),
        ({"first": "ada"}, "invalid_request"),
        (True, "invalid_request"),
    ],
)
def test_names_that_would_fool_somebody_are_refused(house, name, answered):
    assert make(house, name=name) == answered
    table = house.waiting("straight", 2)
    before = table.stored()
    assert code(table.stranger.post("join", {"name": name})) == answered
    assert table.stored() == before


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff", "\\ud800x", "\\udc00\\ud800"])
@pytest.mark.parametrize(
    "body",
    [
        '{"variant": "straight", "options": {"deals": 1}, "name": "%s"}',
        '{"variant": "%s", "name": "ada"}',
        '{"variant": "straight", "name": "ada", "options": {"%s": 1}}',
        '{"variant": "straight", "name": "ada", "options": {"aces": "%s"}}',
        '{"variant": "straight", "name": "ada", "practice": {"seed": "%s"}}',
        '{"%s": 1}',
    ],
)
def test_lone_surrogates_are_no_text(house, body, text):
    answer = send(house, (body % text).encode())
    assert answer.status_code in {400, 422}


# ------------------------------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    ("body", "answered"),
    [
        (b"", "invalid_request"),
        (b" \n\t", "invalid_request"),
        (b"null", "invalid_request"),
        (b"[]", "invalid_request"),
        (b"[{}]", "invalid_request"),
        (b'"straight"', "invalid_request"),
        (b"1", "invalid_request"),
        (b"{}", "invalid_request"),
        (b"{", "bad_request"),
        (b"{}x", "bad_request"),
        (b"{'variant': 'straight'}", "bad_request"),
        (b'{"variant": "straight",}', "bad_request"),
        (b"\xff\xfe{\x00}\x00", "bad_request"),
        (b"\xef\xbb\xbf{}", "bad_request"),
        (b'{"name": "\xed\xa0\x80"}', "bad_request"),
        (b'{"name": "\xc3\x28"}', "bad_request"),
        (b'{"name": "a\x00b"}', "bad_request"),
        (b'{"seats": NaN}', "bad_request"),
        (b'{"seats": Infinity}', "bad_request"),
        (b'{"seats": 1e999}', "invalid_request"),
        (b'{"seats": ' + b"9" * 5_000 + b"}", "bad_request"),
        (b"[" * 60_000, "bad_request"),
        (b'{"a":' * 10_000, "bad_request"),
        (b'{"options":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001, "bad_request"),
        (b'{"practice":' + b"[" * 500 + b"]" * 500 + b"}", "invalid_request"),
    ],
)
def test_bodies_that_are_no_request(house, body, answered):
    assert code(send(house, body)) == answered


@pytest.mark.parametrize(
    "content_type",
    [
        "application/problem+json",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
        "x",
    ],
)
def test_a_body_of_another_type_is_415(house, content_type):
    answer = send(house, json.dumps(TABLE).encode(), content_type)
    assert (answer.status_code, code(answer)) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"]
)
def test_json_is_json_in_all_its_spellings(house, content_type):
    assert send(house, json.dumps(TABLE).encode(), content_type).status_code == 201


@pytest.mark.parametrize("path", ["", "/{id}/join", "/{id}/start", "/{id}/draw", "/{id}/turn"])
@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_a_body_of_more_than_64_kibibytes_is_413(house, path, content_type):
    table = house.waiting("straight", 3, taken=2)
    answer = house.client().post(
        "/v1/games" + path.format(id=table.id),
        data=b" " * (64 * 1024 + 1),
        content_type=content_type,
        headers={"Authorization": f"Bearer {table.players[0].token}"},
    )
    assert (answer.status_code, code(answer)) == (413, "body_too_large")


def test_a_body_of_64_kibibytes_is_read(house):
    body = json.dumps(TABLE).encode()
    assert send(house, body.ljust(64 * 1024)).status_code == 201


# ------------------------------------------------------------------------------------- fields


@pytest.mark.parametrize(
    "body",
    [
        {"seats": 1},
        {"seats": 9},
        {"seats": 0},
        {"seats": -2},
        {"seats": 10**30},
        {"seats": 2.5},
        {"seats": 1e300},
        {"seats": "2"},
        {"seats": True},
        {"seats": None},
        {"public": 1},
        {"public": "yes"},
        {"autostart": None},
        {"variant": "Straight"},
        {"variant": "canasta"},
        {"variant": ["straight"]},
        {"options": []},
        {"options": None},
        {"options": {"deals": 1.5}},
        {"options": {"deals": [1]}},
        {"options": {"deals": {"$gt": 0}}},
        {"practice": "demo"},
        {"practice": {"seed": ""}},
        {"practice": {"seed": "x" * 201}},
        {"practice": {"seed": 5}},
        {"practice": {"order": []}},
        {"practice": {"order": ["AS"] * 113}},
        {"practice": {"order": ["as"]}},
        {"practice": {"order": "AS"}},
        {"practice": {"seed": "x", "dealer": -1}},
        {"practice": {"seed": "x", "dealer": 8}},
        {"practice": {"seed": "x", "dealer": "0"}},
        {"practice": {"seed": "x", "luck": 1}},
        {"token": "x"},
        {"_schema": 1},
        {"__proto__": {}},
    ],
    ids=str,
)
def test_fields_that_are_not_of_the_documented_form(house, body):
    answer = house.client().post("/v1/games", json=TABLE | body)
    assert (answer.status_code, code(answer)) == (422, "invalid_request")
    assert answer.json["fields"]


@pytest.mark.parametrize(
    "options",
    [
        {"deals": 10**30},
        {"deals": 10**3_000},
        {"deals": -(10**30)},
        {"deals": True},
        {"deals": "1"},
        {"hand_size": 27},
        {"hand_size": 21},
        {"hand_size": None},
        {"jokers": 9},
        {"decks": "two"},
        {"call": "timed"},
        {"call_seconds": 5},
        {"call": "timed", "call_seconds": 61},
        {"turnover_new_upcard": True},
        {"aces": "x" * 10_000},
        {"moon\nlight": 1},
        {"": 1},
        {"🦊": None},
        {"variant": "parlett"},
        {"players": 3},
    ],
    ids=lambda options: str(options)[:60],
)
def test_options_that_cannot_be_played(house, options):
    answer = house.client().post("/v1/games", json=TABLE | {"options": {"deals": 1} | options})
    assert (answer.status_code, code(answer)) == (422, "options_refused")
    assert answer.json["options"]


@pytest.mark.parametrize(("variant", "most"), [("straight", 6), ("parlett", 7), ("seven-card", 8)])
def test_a_variant_has_so_many_seats_and_no_more(house, variant, most):
    assert make(house, variant=variant, seats=most) == "201"
    if most < 8:
        assert make(house, variant=variant, seats=most + 1) == "options_refused"


@pytest.mark.parametrize(
    ("move", "body"),
    [
        ("draw", {}),
        ("draw", {"from": "hand"}),
        ("draw", {"from": None}),
        ("draw", {"from": "stock", "move": "discard"}),
        ("draw", {"from": "discard", "card": "10H"}),
        ("meld", {"cards": []}),
        ("meld", {"cards": ["5C"] * 31}),
        ("meld", {"cards": "5C"}),
        ("meld", {"cards": {"0": "5C"}}),
        ("meld", {"cards": ["5C", None, 5, ["5D"]]}),
        ("meld", {"cards": ["5c"]}),
        ("meld", {"cards": ["5C "]}),
        ("meld", {"cards": ["\x00\x00"]}),
        ("meld", {"cards": ["🂡"]}),
        ("meld", {"cards": ["5C"] * 3, "jokers": ["JK"]}),
        ("meld", {"cards": ["5C"] * 3, "jokers": ["5C"] * 31}),
        ("layoff", {"cards": ["5C"]}),
        ("layoff", {"meld": 0, "cards": ["5C"]}),
        ("layoff", {"meld": -1, "cards": ["5C"]}),
        ("layoff", {"meld": 1001, "cards": ["5C"]}),
        ("layoff", {"meld": 10**40, "cards": ["5C"]}),
        ("layoff", {"meld": 1.5, "cards": ["5C"]}),
        ("layoff", {"meld": "1", "cards": ["5C"]}),
        ("layoff", {"meld": True, "cards": ["5C"]}),
        ("swap", {"meld": 1}),
        ("swap", {"meld": 1, "card": "JK"}),
        ("discard", {}),
        ("discard", {"card": None}),
        ("discard", {"card": ["5C"]}),
        ("discard", {"card": "5C" * 5_000}),
        ("discard", {"card": "5C", "seat": 1}),
        ("rummy", {}),
        ("turn", {"plays": None}),
        ("turn", {"plays": {}}),
        ("turn", {"plays": [5]}),
        ("turn", {"plays": [{}]}),
        ("turn", {"plays": [{"move": "draw", "from": "stock"}]}),
        ("turn", {"plays": [{"move": "discard", "card": "5C"}]}),
        ("turn", {"plays": [{"move": ["meld"], "cards": ["5C"]}]}),
        ("turn", {"plays": [{"move": "meld", "cards": ["5C"] * 3}] * 31}),
        ("turn", {"discard": "joker"}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_moves_that_are_not_of_the_documented_form(house, move, body):
    table = house.position(hands="5C 5D 5H KH | 2S 3S", pile="9D")
    before = table.stored()
    answer = table.players[0].post(move, body)
    assert (answer.status_code, code(answer)) == (422, "invalid_request")
    assert answer.json["fields"]
    assert table.stored() == before


def test_a_whole_number_may_be_written_with_a_fraction_of_nothing(house):
    body = b'{"variant": "straight", "name": "ada", "seats": 3.0, "options": {"deals": 2e0}}'
    view = send(house, body).json["game"]
    assert (view["size"], view["options"]["deals"]) == (3, 2)


def test_a_card_in_another_notation_is_refused_with_a_hint(house):
    table = house.position(hands="TH KD | 2S 3S")
    for written, meant in [
        ("10H", "TH"),
        ("th", "TH"),
        ("♥10", "TH"),
        ("Kd", "KD"),
        ("joker", "JK"),
    ]:
        refused = table.players[0].post("discard", {"card": written})
        assert f"Did you mean {meant}?" in refused.json["detail"]


# ------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "x",
        "{id}",
        "%7Bid%7D",
        "*",
        "%00",
        "a" * 16,
        "A" * 16,
        "a" * 15 + "%0A",
        "a" * 16 + "%0A",
        "a" * 17,
        "a" * 5_000,
        "é",
        "🦊",
        "%ff%fe",
        "%ed%a0%80",
        "%F0%9F%A6%8A",
        "a" * 16 + ":game",
        "a" * 16 + "%20",
        "%25",
        "null",
        "1",
        "-1",
        "ａ" * 16,
        "aaaa:bbbb}:game{",
    ],
)
@pytest.mark.parametrize("part", ["", "/score", "/events"])
def test_what_is_no_game_is_not_found(house, name, part):
    answer = house.client().get(f"/v1/games/{name}{part}")
    assert answer.status_code == 404
    assert code(answer) in {"no_such_game", "no_such_route"}


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v1/games/",
        "/v1/games/../x",
        "/v1//games",
        "/v1/game",
        "/v2/games",
        "/V1/games",
        "/v1/variants/",
        "/metrics.json",
        "/.env",
        "/favicon.ico",
        "/x%00y",
        "/%ff",
        "/🦊",
        "/" + "x" * 8_000,
    ],
)
def test_where_nothing_is_a_problem_says_so(house, path):
    answer = house.client().get(path)
    assert (answer.status_code, code(answer)) == (404, "no_such_route")


@pytest.mark.parametrize(
    "name", ["canasta", "STRAIGHT", "%00", "x" * 3_000, "🦊", "%ff", "{variant_id}", "straight%0a"]
)
def test_what_is_no_variant_is_not_found(house, name):
    answer = house.client().get(f"/v1/variants/{name}")
    assert (answer.status_code, code(answer)) == (404, "no_such_variant")


# ------------------------------------------------------------------------------------- queries


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=1.5",
        "limit=1e1",
        "limit=%00",
        "limit=%2B5",
        "limit=1_0",
        "limit=%205",
        "limit=１",
        "limit=" + "9" * 5_000,
        "limit=1&limit=2",
        "cursor=",
        "cursor=" + "x" * 201,
        "cursor[]=x",
        "mine=no",
        "mine=1",
        "page=2",
        "%ff=1",
        "_schema=1",
        "🦊=1",
    ],
)
def test_a_query_that_is_not_documented_is_refused(house, query):
    answer = house.client().get(f"/v1/games?{query}")
    assert (answer.status_code, code(answer)) == (422, "invalid_request")


@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=x",
        "after=",
        "after=9007199254740993",
        "after=" + "9" * 400,
        "limit=0",
        "limit=501",
        "after=1&after=2",
        "wait=forever",
    ],
)
def test_a_page_of_the_log_that_there_cannot_be_is_refused(house, query):
    table = house.table("straight")
    answer = table.stranger.get(f"events?{query}")
    assert (answer.status_code, code(answer)) == (422, "invalid_request")


@pytest.mark.parametrize("part", ["", "/score", "/moves"])
def test_a_query_where_none_is_read_is_refused(house, part):
    table = house.table("straight")
    answer = table.stranger.client.get(f"/v1/games/{table.id}{part}?patience=5")
    assert (answer.status_code, code(answer)) == (422, "invalid_request")


def test_a_page_behind_the_end_of_the_log_is_empty(house):
    table = house.table("straight")
    answer = table.stranger.get("events?after=9007199254740992").json
    assert (answer["events"], answer["more"]) == ([], False)


@pytest.mark.parametrize(
    "cursor",
    ["x", "%00", "0", "9" * 29, "1" * 13 + "A" * 16, "1" * 13 + "a" * 16 + "%0a", "%ff", "🦊"],
)
def test_a_cursor_that_was_never_given_out_is_refused(house, cursor):
    answer = house.client().get(f"/v1/games?cursor={cursor}")
    assert (answer.status_code, code(answer)) == (422, "bad_cursor")


# ------------------------------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    ("header", "answered"),
    [
        ("Bearer {token}", "200"),
        ("bearer {token}", "200"),
        ("BEARER   {token} ", "200"),
        ("", "bad_token"),
        ("Bearer", "bad_token"),
        ("Bearer ", "bad_token"),
        ("{token}", "bad_token"),
        ("Basic {token}", "bad_token"),
        ("Bearer {token}x", "bad_token"),
        ("Bearer {token} {token}", "bad_token"),
        ("Bearer {token}, Bearer {token}", "bad_token"),
        ("Bearer é", "bad_token"),
        ("Bearer \x00", "bad_token"),
        ("Bearer " + "x" * 5_000, "bad_token"),
        ("Bearer null", "bad_token"),
    ],
)
def test_a_token_is_sent_as_bearer(house, header, answered):
    table = house.table("straight")
    sent = header.format(token=table.players[0].token)
    for part in ("", "moves", "events"):
        assert code(table.stranger.get(part, authorization=sent)) == answered


def test_a_token_with_any_sign_changed_opens_nothing(house):
    table = house.table("straight")
    token = table.players[0].token
    for place in range(0, len(token), 5):
        other = "a" if token[place] != "a" else "b"
        changed = token[:place] + other + token[place + 1 :]
        answer = table.stranger.get("moves", authorization=f"Bearer {changed}")
        assert answer.status_code in {401, 403}


def test_a_token_is_in_no_answer_but_the_one_that_gives_it(house):
    table = house.table("straight")
    for player in table.players:
        for answer in (player.get(), player.get("events"), player.get("moves"), player.draw("x")):
            assert player.token.partition(".")[2] not in answer.text + str(answer.headers)


def test_a_token_is_not_stored(house):
    table = house.table("straight")
    for player in table.players:
        assert player.token.partition(".")[2] not in str(table.stored())


# ------------------------------------------------------------------------------------- methods


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "BREW"])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/games", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("/v1/games/{id}", {"GET", "HEAD", "OPTIONS"}),
        ("/v1/games/{id}/draw", {"OPTIONS", "POST"}),
        ("/healthz", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_a_method_that_is_not_answered_is_405(house, method, path, allowed):
    table = house.table("straight")
    answer = house.client().request(method, path.format(id=table.id))
    assert (answer.status_code, code(answer)) == (405, "method_not_allowed")
    assert set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "path", ["/v1/games", "/v1/games/{id}", "/v1/games/{id}/score", "/healthz"]
)
def test_head_is_get_without_the_body(house, path):
    table = house.table("straight")
    asked = path.format(id=table.id)
    got, head = house.client().get(asked), house.client().request("HEAD", asked)
    assert (head.status_code, head.data) == (200, b"")
    assert head.headers.get("ETag") == got.headers.get("ETag")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]


def test_options_says_what_is_answered(house):
    answer = house.app.test_client().options("/v1/games")
    assert (answer.status_code, answer.data) == (200, b"")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "POST"}


@pytest.mark.parametrize(
    "header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"]
)
def test_no_header_makes_another_method_of_a_request(house, header):
    table = house.table("straight")
    before = table.stored()
    assert table.stranger.get(**{header: "POST"}).status_code == 200
    assert table.stranger.post("", **{header: "GET"}).status_code == 405
    assert table.stored() == before


def test_a_body_where_none_is_expected_does_not_matter(house):
    table = house.table("straight")
    client = house.client()
    for part in ("", "/score", "/events"):
        answer = client.get(f"/v1/games/{table.id}{part}", data=b"{", content_type="text/plain")
        assert answer.status_code == 200

"""Requests that are wrong in form: each is refused with its code, and none is guessed at."""

from typing import Any

import pytest
from flask import Flask

from service.app import create_app
from service.config import Config
from tests.contract import CheckedClient
from tests.example_games import SCRIPTS, ExampleGame, play

DEEP = b'{"card": ' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.fixture(scope="module")
def app(redis_url: str) -> Flask:
    return create_app(Config(redis_url=redis_url))


@pytest.fixture(scope="module")
def client(app: Flask, document: dict[str, Any]) -> CheckedClient:
    return CheckedClient(app.test_client(), document)


@pytest.fixture(scope="module")
def game(client: CheckedClient) -> ExampleGame:
    """The first game after the draw."""
    return play(client, SCRIPTS["by_seed"][:3])


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "invalid_request"),
        (b"  ", 422, "invalid_request"),
        (b"null", 422, "invalid_request"),
        (b"[]", 422, "invalid_request"),
        (b'"9C"', 422, "invalid_request"),
        (b"{", 400, "bad_request"),
        (b"\xff\xfe", 400, "bad_request"),
        (DEEP, 400, "bad_request"),
        (b" " * 70_000, 413, "body_too_large"),
        (b'{"card": "9C", "cards": []}', 422, "invalid_request"),
        (b'{"card": "9C\\u0000"}', 422, "invalid_request"),
        (b'{"card": "\\ud800"}', 400, "bad_request"),
        (b'{"card": ["9C"]}', 422, "invalid_request"),
        (b'{"card": 9}', 422, "invalid_request"),
        (b'{"card": null}', 422, "invalid_request"),
        (b'{"card": "9C", "move": "draw"}', 422, "invalid_request"),
    ],
)
def test_a_body_of_the_wrong_form_is_refused(
    client: CheckedClient, game: ExampleGame, body: bytes, status: int, code: str
) -> None:
    headers = {"Authorization": f"Bearer {game.tokens[0]}", "Content-Type": "application/json"}
    answer = client.post(f"/v1/games/{game.id}/discard", data=body, headers=headers)
    assert (answer.status_code, answer.json["code"]) == (status, code)


@pytest.mark.parametrize(
    "meld", [b"9" * 40, b"1e400", b"1e308", b"1.5", b"-1", b"0", b"true", b'"1"', b"null", b"[1]"]
)
def test_a_number_that_is_none_or_too_large_is_refused(
    client: CheckedClient, game: ExampleGame, meld: bytes
) -> None:
    headers = {"Authorization": f"Bearer {game.tokens[0]}", "Content-Type": "application/json"}
    body = b'{"cards": ["9C"], "meld": ' + meld + b"}"
    answer = client.post(f"/v1/games/{game.id}/layoff", data=body, headers=headers)
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/problem+json"]
)
def test_a_body_of_another_type_is_refused(
    client: CheckedClient, game: ExampleGame, kind: str | None
) -> None:
    headers = {"Authorization": f"Bearer {game.tokens[0]}"}
    answer = client.post(
        f"/v1/games/{game.id}/discard", data=b'{"card": "9C"}', headers=headers, content_type=kind
    )
    assert (answer.status_code, answer.json["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Authorization": ""}, 401, "bad_token"),
        ({"Authorization": "Bearer "}, 401, "bad_token"),
        ({"Authorization": "Basic QW5uYQ=="}, 401, "bad_token"),
        ({"Authorization": "Bearer \xe9"}, 401, "bad_token"),
        ({"If-Match": "3"}, 422, "bad_version"),
        ({"If-Match": '"1", "2"'}, 422, "bad_version"),
        ({"If-Match": '"-1"'}, 422, "bad_version"),
        ({"If-Match": '"' + "9" * 30 + '"'}, 422, "bad_version"),
    ],
)
def test_a_header_of_the_wrong_form_is_refused(
    client: CheckedClient,
    game: ExampleGame,
    headers: dict[str, str],
    status: int,
    code: str,
) -> None:
    good = {"Authorization": f"Bearer {game.tokens[0]}"}
    answer = client.post(
        f"/v1/games/{game.id}/discard", json={"card": "9C"}, headers=good | headers
    )
    assert (answer.status_code, answer.json["code"]) == (status, code)


def test_who_is_not_identified_learns_no_more(client: CheckedClient) -> None:
    for headers in ({}, {"If-Match": "nonsense"}):
        answer = client.post(
            "/v1/games/aaaaaaaaaaaaaaaa/discard", json={"card": "9C"}, headers=headers
        )
        assert (answer.status_code, answer.json["code"]) == (401, "no_token")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=",
        "limit=1_0",
        "limit=%2B5",
        "limit=5%20",
        "limit=%D9%A3",
        "limit=" + "9" * 5000,
        "limit=5&limit=5",
        "cursor=",
        "mine=1",
        "page=2",
    ],
)
def test_a_query_of_the_wrong_form_is_refused(client: CheckedClient, query: str) -> None:
    answer = client.get(f"/v1/games?{query}")
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("cursor", ["%00", "%ff", "abc", "\u2603"])
def test_a_cursor_from_elsewhere_is_refused(client: CheckedClient, cursor: str) -> None:
    answer = client.get(f"/v1/games?cursor={cursor}")
    assert (answer.status_code, answer.json["code"]) == (422, "bad_cursor")


def test_a_query_where_none_is_read_is_refused(client: CheckedClient, game: ExampleGame) -> None:
    for path in ("/v1/variants", f"/v1/games/{game.id}", f"/v1/games/{game.id}/score"):
        answer = client.get(f"{path}?patience=30")
        assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")
        assert answer.json["fields"] == [{"field": "patience", "reason": "Unknown field."}]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "QUERY", "NONSENSE"])
def test_another_method_is_refused(client: CheckedClient, game: ExampleGame, method: str) -> None:
    answer = client.request(method, f"/v1/games/{game.id}")
    assert answer.json["code"] == "method_not_allowed"
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize(
    "path",
    ["/v1//games", "/v1//variants", "/docs//docs.js", "/v1/games/", "/v1/", "/v1/games/x/y/z"],
)
def test_another_address_is_not_found(client: CheckedClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json["code"]) == (404, "no_such_route")


@pytest.mark.parametrize("name", ["\x00", "\u202e", "\n", " ", "\u0378", "x" * 41])
def test_a_name_that_cannot_be_shown_is_refused(client: CheckedClient, name: str) -> None:
    answer = client.post("/v1/games", json={"variant": "parlett", "name": name})
    assert (answer.status_code, answer.json["code"]) == (422, "bad_text")


@pytest.mark.parametrize(
    "change",
    [
        {"options": None},
        {"options": {"deals": [1]}},
        {"options": {"deals": 1.5}},
        {"seats": "2"},
        {"public": 1},
        {"practice": []},
        {"practice": {"order": []}},
        {"practice": {"seed": "x", "more": 1}},
        {"variant": "bridge"},
    ],
)
def test_a_table_of_the_wrong_form_is_refused(
    client: CheckedClient, change: dict[str, Any]
) -> None:
    table = {"variant": "parlett", "name": "Anna"} | change
    answer = client.post("/v1/games", json=table)
    assert (answer.status_code, answer.json["code"]) == (422, "invalid_request")


def test_a_refusal_names_the_path_as_it_stands_in_an_address(client: CheckedClient) -> None:
    answer = client.get("/v1/games/%C3%A5%20%7C%00")
    assert answer.json["instance"] == "/v1/games/%C3%A5%20%7C%00"


def test_a_whole_number_may_be_written_with_a_fraction(client: CheckedClient) -> None:
    table = {"variant": "parlett", "name": "Anna", "seats": 2.0, "options": {"deals": 3.0}}
    answer = client.post("/v1/games", json=table)
    assert answer.status_code == 201
    assert answer.json["game"]["options"]["deals"] == 3


@pytest.mark.parametrize(
    "more",
    [
        {"practice": {"order": ["XX"] * 9000}},
        {"options": {f"option {number}": 1 for number in range(3000)}},
        {"practice": {"deal": '[Rummy "1"]\n[Variant "straight"]\n[Players "2"]\n[Dealer "0"]\n'
                      f'[Cards "AS"]\n[Options "{" ".join(f"x{n}=1" for n in range(5000))}"]\n'}},
        {f"field {number}": 1 for number in range(3000)},
    ],
    ids=["cards", "options", "options of a deal", "fields"],
)  # fmt: skip
def test_nonsense_at_length_is_refused_in_short(client: CheckedClient, more: Any) -> None:
    body = {"variant": "straight", "name": "ada", **more}
    answer = client.post("/v1/games", json=body)
    assert answer.status_code == 422
    assert len(answer.data) < 40_000

"""The sandbox: a table for one person to try everything out at."""

import pytest

from tests.http.tables import House, code


def made(house: House):
    answer = house.client().post("/v1/sandbox")
    assert answer.status_code == 201, answer.json
    return answer


def send(house: House, game: str, token: str, move: str, body: dict):
    headers = {"Authorization": f"Bearer {token}"}
    return house.client().post(f"/v1/games/{game}/{move}", json=body, headers=headers)


def test_both_seats_are_taken_and_both_tokens_given(house: House) -> None:
    answer = made(house)
    game, seats = answer.json["game"], answer.json["seats"]
    assert [(seat["seat"], seat["name"]) for seat in seats] == [(0, "Anna"), (1, "Bo")]
    assert answer.headers["Location"] == f"/v1/games/{game['id']}"
    assert answer.headers["ETag"] == f'"{game["version"]}"'
    assert (game["you"], game["status"], game["practice"]) == (0, "playing", True)
    assert {move["move"] for move in game["moves"]} == {"draw"}
    for seat in seats:
        headers = {"Authorization": f"Bearer {seat['token']}"}
        seen = house.client().get(f"/v1/games/{game['id']}", headers=headers).json
        assert (seen["you"], len(seen["hand"])) == (seat["seat"], 6)


def test_the_cards_are_the_same_each_time_and_the_tables_are_not(house: House) -> None:
    one, other = made(house).json, made(house).json
    assert one["game"]["hand"] == other["game"]["hand"]
    assert one["game"]["id"] != other["game"]["id"]
    assert not {seat["token"] for seat in one["seats"]} & {seat["token"] for seat in other["seats"]}
    moved = send(house, one["game"]["id"], one["seats"][0]["token"], "draw", {"from": "stock"})
    assert moved.status_code == 200
    strange = send(house, one["game"]["id"], other["seats"][1]["token"], "draw", {"from": "stock"})
    assert code(strange) == "not_your_seat"


def test_with_a_key_it_is_made_once_and_both_tokens_are_given_again(house: House) -> None:
    key = {"Idempotency-Key": "a-sandbox-for-somebody"}
    first = house.client().post("/v1/sandbox", headers=key)
    assert "Idempotency-Replayed" not in first.headers
    game, seats = first.json["game"]["id"], first.json["seats"]
    assert send(house, game, seats[0]["token"], "draw", {"from": "stock"}).status_code == 200
    again = house.client().post("/v1/sandbox", headers=key)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert (again.json["seats"], again.json["game"]["id"]) == (seats, game)
    assert {move["move"] for move in again.json["game"]["moves"]} >= {"meld", "discard"}
    other = house.client().post("/v1/sandbox", headers={"Idempotency-Key": "a-sandbox-for-others"})
    assert other.json["game"]["id"] != game


def test_its_key_must_be_hard_to_guess_and_mean_nothing_else(house: House) -> None:
    short = house.client().post("/v1/sandbox", headers={"Idempotency-Key": "1"})
    assert (short.status_code, code(short)) == (422, "bad_idempotency_key")
    key = {"Idempotency-Key": "a-table-or-a-sandbox"}
    table = {"variant": "parlett", "name": "Eva"}
    assert house.client().post("/v1/games", json=table, headers=key).status_code == 201
    reused = house.client().post("/v1/sandbox", headers=key)
    assert (reused.status_code, code(reused)) == (422, "idempotency_key_reused")


def test_there_is_a_use_for_every_kind_of_move(house: House) -> None:
    table = made(house).json
    game, (anna, bo) = table["game"]["id"], (seat["token"] for seat in table["seats"])
    for token, move, body in (
        (anna, "draw", {"from": "stock"}),
        (anna, "meld", {"cards": ["5H", "JK", "7H"]}),
        (anna, "layoff", {"meld": 1, "cards": ["8H"]}),
        (anna, "discard", {"card": "9H"}),
        (bo, "rummy", {"meld": 1}),
        (bo, "draw", {"from": "stock"}),
        (bo, "swap", {"meld": 1, "card": "6H"}),
        (bo, "meld", {"cards": ["3C", "3D", "3S"]}),
        (bo, "meld", {"cards": ["QS", "QD", "JK"], "jokers": ["QC"]}),
        (bo, "discard", {"card": "4C"}),
    ):
        done = send(house, game, token, move, body)
        assert done.status_code == 200, (move, done.json)
    assert (done.json["game"]["status"], done.json["game"]["result"]["winners"]) == (
        "finished",
        [1],
    )
    assert house.client().get(f"/v1/games/{game}/deals/1").status_code == 200


def test_a_whole_turn_may_say_that_it_is_one_as_every_move_may(house: House) -> None:
    table = made(house).json
    game, anna = table["game"]["id"], table["seats"][0]["token"]
    assert send(house, game, anna, "draw", {"move": "draw", "from": "stock"}).status_code == 200
    other = send(house, game, anna, "turn", {"move": "discard", "discard": "9H"})
    assert (other.status_code, [field["field"] for field in other.json["fields"]]) == (
        422,
        ["move"],
    )
    assert send(house, game, anna, "turn", {"move": "turn", "discard": "9H"}).status_code == 200


@pytest.mark.parametrize("body", [{"variant": "straight"}, []])
def test_it_takes_no_wishes(house: House, body: object) -> None:
    refused = house.client().post("/v1/sandbox", json=body)
    assert (refused.status_code, code(refused)) == (422, "invalid_request")

"""Tables that are not for everybody: by invitation, without spectators; and lists that are asked
for a part of the tables only.
"""

from collections.abc import Callable
from random import Random

import pytest

from service.rummy.rules import PRESETS
from tests.http.sse import open_stream
from tests.http.tables import NAMES, House, Player, Table, code
from tests.http.test_races import again_and_again, at_once, codes

# -------------------------------------------------------------------------------- invitations


def private(house: House, seats: int = 3, **more: object) -> tuple[Table, str]:
    """A private table and its code."""
    made = house.new_table("straight", seats, options={"deals": 1}, private=True, **more)
    assert made.status_code == 201, made.text
    table = Table(house, made.json["game"]["id"])
    table.seat(made)
    return table, made.json["invitation"]


def join(table: Table, invitation: object, name: str = "bo") -> str:
    return code(table.stranger.post("join", {"name": name, "invitation": invitation}))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it was given": str,
    "in capitals": str.upper,
    "with a capital": str.capitalize,
    "without the dash": lambda text: text.replace("-", ""),
    "with a space": lambda text: text.replace("-", " "),
    "with blanks around it": lambda text: f"  {text}\t",
    "letter by letter": " ".join,
    "with dashes everywhere": lambda text: "--".join(text) + "-",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_who_has_the_code_may_join_however_it_is_written(house, spelling):
    table, invitation = private(house)
    assert join(table, spelling(invitation)) == "201"


NO_CODE: dict[str, Callable[[str], object]] = {
    "none": lambda _: None,
    "another": lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"),
    "a part": lambda text: text[:5],
    "more": lambda text: text + "a",
    "backwards": lambda text: text[::-1],
    "blanks": lambda _: "   ",
    "dashes": lambda _: "---",
}


@pytest.mark.parametrize("wrong", NO_CODE.values(), ids=NO_CODE)
def test_who_has_not_the_code_may_not(house, wrong):
    table, invitation = private(house)
    stored = table.stored()
    assert join(table, wrong(invitation)) == "invitation_needed"
    assert code(table.stranger.post("join", {"name": "bo"})) == "invitation_needed"
    assert table.stored() == stored


def test_the_code_of_one_table_opens_no_other(house):
    (first, one), (second, other) = private(house), private(house)
    assert one != other
    assert join(first, other) == join(second, one) == "invitation_needed"


def test_nobody_is_told_at_a_private_table_what_only_a_guest_may_know(house):
    """Without the code it is one answer, whether the table is full or not."""
    table, invitation = private(house, 2, autostart=False)
    assert join(table, invitation) == "201"
    assert join(table, None, "cleo") == "invitation_needed"
    assert join(table, invitation, "cleo") == "table_full"


def test_a_table_that_takes_no_code_does_not_mind_one(house):
    table = house.waiting("straight", 3)
    assert join(table, "abcde-fghij") == "201"


@pytest.mark.parametrize("invitation", ["", "a" * 201, 7, ["abcde"], True])
def test_a_code_that_is_no_text_is_refused(house, invitation):
    table, _ = private(house)
    assert join(table, invitation) == "invalid_request"


def test_a_table_is_not_public_and_private(house):
    answer = house.new_table("straight", options={"deals": 1}, public=True, private=True)
    assert (answer.status_code, "private" in answer.json["detail"]) == (422, True)


def test_only_the_maker_is_given_the_code_and_only_where_there_is_one(house):
    table, invitation = private(house)
    assert table.stranger.look()["private"] is True
    guest = table.stranger.post("join", {"name": "bo", "invitation": invitation}).json
    assert guest["invitation"] is None
    public = house.new_table("straight", options={"deals": 1}, public=True).json
    assert (public["invitation"], public["game"]["private"]) == (None, False)


def test_the_code_is_in_no_answer_and_not_in_the_store(house):
    key = "a key that nobody guesses 1"
    body = {"variant": "straight", "name": "ada", "options": {"deals": 1}, "private": True}
    made = house.client().post("/v1/games", json=body, headers={"Idempotency-Key": key})
    invitation = made.json["invitation"]
    table = Table(house, made.json["game"]["id"])
    table.seat(made)
    table.seat(table.stranger.post("join", {"name": "bo", "invitation": invitation.upper()}))
    told = [
        player.get(part).text
        for player in table.watchers
        for part in ("", "events", "score", "moves")
    ]
    told += [house.client().get("/v1/games?limit=100").text, str(table.stored()), str(table.game())]
    told += [
        str(house.redis.get(name)) + str(name)
        for name in house.redis.scan_iter(f"rummy:*{table.id}*")
        if house.redis.type(name) == b"string"
    ]
    bare = invitation.replace("-", "")
    for text in told:
        assert invitation not in text
        assert bare not in text.lower()


def test_a_private_table_is_in_no_list_even_when_somebody_leaves_it(house):
    table, invitation = private(house, 2, autostart=False)
    listed = house.client().get("/v1/games?limit=100").text
    table.seat(table.stranger.post("join", {"name": "bo", "invitation": invitation}))
    table.players[1].post("leave")
    listed += house.client().get("/v1/games?limit=100").text
    assert table.id not in listed


def test_the_code_stays_good_when_its_maker_leaves(house):
    table, invitation = private(house)
    table.seat(table.stranger.post("join", {"name": "bo", "invitation": invitation}))
    table.players[0].post("leave")
    assert join(table, invitation, "cleo") == "201"
    assert join(table, None, "dan") == "invitation_needed"


@again_and_again
def test_of_ten_with_the_code_and_ten_without_one_of_the_ten_gets_the_last_seat(house, trial):
    table, invitation = private(house, 2)
    clients = [house.client() for _ in range(20)]
    answers = at_once(
        *(
            lambda client=client, number=number: client.post(
                f"/v1/games/{table.id}/join",
                json={"name": f"guest {number}"}
                | ({"invitation": invitation} if number % 2 else {}),
            )
            for number, client in enumerate(clients)
        )
    )
    told = codes(answers)
    assert told["201"] == 1
    assert told["already_started"] + told["invitation_needed"] == 19
    assert {code(answer) for answer in answers[::2]} <= {"invitation_needed", "already_started"}


# ---------------------------------------------------------------------------------- spectators

PARTS = ("", "events", "events?after=3", "score")


def test_without_spectators_a_match_is_for_those_who_play_it(house):
    table = house.waiting("straight", 2, more={"spectators": False})
    for part in PARTS:
        assert code(table.stranger.get(part)) == "200", part
    table.seat(table.stranger.post("join", {"name": "bo"}))
    for part in PARTS:
        answer = table.stranger.get(part)
        assert (answer.status_code, code(answer)) == (403, "no_spectators"), part
        assert code(table.stranger.get(part, if_none_match='"2"')) == "no_spectators"
    assert open_stream(table.stranger).status_code == 403
    for player in table.players:
        for part in PARTS:
            assert code(player.get(part)) == "200"
    elsewhere = house.waiting("straight").players[0].token
    intruder = Player(house.client(), table.id, 0, elsewhere)
    assert {code(intruder.get(part)) for part in PARTS} == {"not_your_seat"}


def test_the_result_of_a_match_without_spectators_is_not_for_them_either(house):
    table = house.waiting("straight", 2, taken=2, more={"spectators": False})
    for player in table.players:
        assert player.post("leave").status_code == 200
    assert {code(table.stranger.get(part)) for part in PARTS} == {"no_spectators"}
    assert table.players[0].look()["status"] == "finished"


def test_a_refusal_without_spectators_tells_nothing_of_the_match(house):
    table = house.waiting("straight", 2, taken=2, more={"spectators": False})
    body = table.stranger.get().json
    assert "players" not in body
    assert set(body) <= {"type", "title", "status", "detail", "instance", "code", "rule", "params"}
    assert not any(name in body["detail"] for name in NAMES[:2])
    assert "ETag" not in table.stranger.get().headers


def test_who_left_before_the_start_is_no_spectator_either(house):
    table = house.waiting("straight", 3, taken=2, more={"spectators": False})
    gone = table.players[1]
    gone.post("leave")
    for name in ("cleo", "dan"):
        table.seat(table.stranger.post("join", {"name": name}))
    assert {code(gone.get(part)) for part in PARTS} == {"not_your_seat"}


def test_the_list_says_whether_a_table_may_be_watched(house):
    tables = [
        house.waiting("straight", more={"public": True, "spectators": spectators})
        for spectators in (True, False)
    ]
    listed = house.client().get("/v1/games?limit=100").json["tables"]
    said = {item["id"]: item["spectators"] for item in listed}
    assert [said[table.id] for table in tables] == [True, False]


# --------------------------------------------------------------------------- a part of the list


def pages(house: House, query: str, between: Callable[[], object] = lambda: None) -> list[dict]:
    """All tables that the query finds, page by page, with something done between two pages."""
    found: list[dict] = []
    cursor = ""
    while True:
        answer = house.client().get(f"/v1/games?{query}{cursor}")
        assert answer.status_code == 200, answer.text
        found += answer.json["tables"]
        if answer.json["next"] is None:
            return found
        cursor = f"&cursor={answer.json['next']}"
        between()


def some_tables(house: House, number: int) -> list[Table]:
    """Public tables of all variants with more and fewer free seats."""
    variants = list(PRESETS)
    return [
        house.waiting(
            variants[place % 4], 2 + place % 5, taken=1 + place % 2, more=public_and_waiting()
        )
        for place in range(number)
    ]


def public_and_waiting() -> dict:
    return {"public": True, "autostart": False}


FILTERS: dict[str, tuple[str, Callable[[dict], bool]]] = {
    "of a variant": ("variant=parlett", lambda item: item["variant"] == "parlett"),
    "with two free seats": ("open_seats=2", lambda item: item["size"] - item["taken"] >= 2),
    "with four free seats": ("open_seats=4", lambda item: item["size"] - item["taken"] >= 4),
    "of a variant, with two free seats": (
        "variant=straight&open_seats=2",
        lambda item: item["variant"] == "straight" and item["size"] - item["taken"] >= 2,
    ),
    "with more free seats than any has": ("open_seats=7", lambda _: False),
}


@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize(("query", "wanted"), FILTERS.values(), ids=FILTERS)
def test_a_list_of_some_tables_is_the_whole_list_without_the_others(house, query, wanted, limit):
    some_tables(house, 12)
    whole = pages(house, "limit=100")
    found = pages(house, f"{query}&limit={limit}")
    assert found == [item for item in whole if wanted(item)]
    assert found or "7" in query


def test_while_tables_come_and_go_none_that_stays_is_missed_and_none_is_there_twice(house):
    chance = Random(12)
    stays = some_tables(house, 16)
    goes = some_tables(house, 16)
    views = [table.stranger.look() for table in stays]
    wanted = {
        view["id"]
        for view in views
        if view["variant"] == "seven-card" and len(view["seats"]) < view["size"]
    }
    assert len(wanted) > 2

    def come_and_go() -> None:
        house.waiting("seven-card", 3, more=public_and_waiting())
        if goes:
            table = goes.pop(chance.randrange(len(goes)))
            table.players[0].post(chance.choice(["close", "leave"]))
            if table.stranger.look()["status"] == "waiting":
                table.stranger.post("join", {"name": "late"})

    found = [item["id"] for item in pages(house, "variant=seven-card&limit=2", come_and_go)]
    assert len(found) == len(set(found))
    assert wanted <= set(found)


NO_FILTER = {
    "a variant that there is not": "variant=canasta",
    "an empty variant": "variant=",
    "no free seat": "open_seats=0",
    "more free seats than a table has": "open_seats=8",
    "a number that is none": "open_seats=two",
    "a filter that there is not": "host=ada",
    "the same twice": "variant=parlett&variant=straight",
}


@pytest.mark.parametrize("query", NO_FILTER.values(), ids=NO_FILTER)
def test_a_list_of_what_cannot_be_is_refused(house, query):
    assert code(house.client().get(f"/v1/games?{query}")) == "invalid_request"

"""Two versions of the service side by side on one Redis, as while workers are replaced.

One writes the format of the version before, the other its own; each request goes to one of them, by
lot. That code of before reads what is written for it is held in `test_record_format.py`.
"""

import json
from collections.abc import Iterator
from random import Random

import pytest
from werkzeug.test import TestResponse

from service.replay import decoded
from service.verify import checked
from tests.http.simple_player import choose
from tests.http.sse import entries_of, follow, kinds_of
from tests.http.tables import Clock, House, Player, Table, assert_no_card_is_lost
from tests.http.test_idempotency import new_key
from tests.test_record_format import number_of


class Either:
    """A client that a load balancer sends here and there."""

    def __init__(self, clients: list, chance: Random) -> None:
        self._clients = clients
        self._chance = chance

    def get(self, *args: object, **kwargs: object) -> TestResponse:
        return self._chance.choice(self._clients).get(*args, **kwargs)

    def post(self, *args: object, **kwargs: object) -> TestResponse:
        return self._chance.choice(self._clients).post(*args, **kwargs)


class SideBySide(House):
    """The two versions. What a test does behind their back is done as the newer one does it."""

    def __init__(self, redis_url: str, clock: Clock) -> None:
        super().__init__(redis_url, clock, record_format=4)
        self.before = House(redis_url, clock, record_format=3)
        self.chance = Random()

    def client(self) -> Either:
        return Either(self.clients(), self.chance)

    def clients(self) -> list:
        """A client of each version."""
        return [self.before.client(), super().client()]


@pytest.fixture(scope="module")
def versions(redis_url: str) -> SideBySide:
    return SideBySide(redis_url, Clock())


@pytest.fixture
def both(versions: SideBySide) -> SideBySide:
    """With the time of day, and with chance of its own for each test, always the same."""
    versions.clock.set()
    versions.chance.seed(1)
    return versions


def format_of(table: Table) -> int:
    record = table.house.redis.hget(f"rummy:{{{table.id}}}:game", "record")
    return number_of(record)


def twice(player: Player, part: str, body: object = None) -> TestResponse:
    """The answer to a request whose answer was lost: it was sent again, perhaps to the other."""
    key = new_key()
    first = player.post(part, body, idempotency_key=key)
    assert first.status_code in {200, 201}, first.text
    again = player.post(part, body, idempotency_key=key)
    assert again.status_code == first.status_code, again.text
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json["version"] == first.json["version"]
    assert again.json["events"] == first.json["events"]
    assert again.json.get("token") == first.json.get("token")
    return first


def play(table: Table, chance: Random, most: int = 10_000) -> set[int]:
    """Each seat makes its moves, calls among them; the formats that the record had meanwhile."""
    formats = set()
    clock = table.house.clock
    seated = {player.seat: player for player in table.players}
    for _ in range(most):
        view = table.stranger.look()
        if view["status"] != "playing":
            break
        clock.forward(1)
        mover, move = seated.get(view["deal"]["turn"]), None
        if view["deal"]["call"] and chance.random() < 0.7:
            mover, move = next(calls(table.players), (mover, None))
        if move is None and view["deal"]["call"]:
            clock.forward(6)  # nobody calls, and computers and agreed seconds waited for that
        if mover is None:
            continue
        move = move or choose(mover.look(), chance)
        if chance.random() < 0.2:
            twice(mover, move["move"], move)
        else:
            answer = mover.make(move)
            assert answer.status_code == 200, answer.text
        formats.add(format_of(table))
        assert_no_card_is_lost(table.game())
    return formats


def calls(players: list[Player]) -> Iterator[tuple[Player, dict]]:
    """Who can call, and how."""
    for player in players:
        for move in player.look()["moves"]:
            if move["move"] == "rummy":
                yield player, move


def told_by_each(table: Table) -> list[dict]:
    """What each version tells of a match that is over."""
    told = []
    for client in table.house.clients():
        watcher = Player(client, table.id)
        told.append(
            {
                "game": watcher.look(),
                "log": watcher.log(),
                "score": watcher.get("score").json,
                "replay": watcher.get("replay").json,
            }
        )
    return told


def followers(table: Table) -> list:
    """A spectator of each version."""
    return [follow(Player(client, table.id), "after=0") for client in table.house.clients()]


MATCHES = {
    "straight": ("straight", 2, {"deals": 2, "hand_size": 3}, {}),
    "straight with jokers": ("straight", 3, {"jokers": 2, "hand_size": 5}, {}),
    "with a clock and a computer": (
        "straight", 3, {"turn_seconds": 60, "hand_size": 5}, {"computers": ["steady"]}),
    "seven-card": ("seven-card", 3, {"jokers": 2, "hand_size": 5}, {}),
    "parlett": ("parlett", 2, {"deals": 2, "hand_size": 4}, {}),
    "parlett with two decks": ("parlett", 4, {"decks": 2, "jokers": 4, "hand_size": 4}, {}),
    "call-rummy": ("call-rummy", 3, {"deals": 2, "hand_size": 5}, {}),
    "call-rummy against the clock": (
        "call-rummy", 3, {"call": "timed", "call_seconds": 5, "hand_size": 4},
        {"computers": ["random"]}),
}  # fmt: skip


@pytest.mark.parametrize(("variant", "seats", "options", "more"), MATCHES.values(), ids=MATCHES)
def test_a_match_and_its_rematch_are_played_across(both, variant, seats, options, more):
    chance = Random(f"{variant} {seats}")
    people = seats - len(more.get("computers", []))
    more = more | {"public": True, "practice": {"seed": "across"}}
    table = both.waiting(variant, seats, 1, more=more, **options)
    for client in both.clients():
        open_tables = client.get("/v1/games").json["tables"]
        assert table.id in [listed["id"] for listed in open_tables]
    for number in range(1, people):
        table.seat(twice(table.stranger, "join", {"name": f"guest {number}"}))
    streams = followers(table)
    assert play(table, chance) == {3, 4}

    before, after = told_by_each(table)
    assert before == after
    assert before["game"]["result"]["reason"] in {"deals_played", "target_reached"}
    assert [entry["id"] for entry in before["log"]] == list(range(1, len(before["log"]) + 1))
    for stream in streams:
        news = stream.rest()
        assert kinds_of(news)[-1] == "end"
        assert entries_of(news) == before["log"]
    assert list(checked(decoded(json.dumps(before["replay"]).encode())))

    seated = [twice(player, "rematch").json for player in table.players]
    again = Table(both, seated[0]["game"]["id"])
    again.players = [
        Player(both.client(), again.id, seat["seat"], seat["token"]) for seat in seated
    ]
    play(again, chance, most=10)
    assert again.stranger.look()["version"] > 10
    before, after = (client.get(f"/v1/games/{again.id}").json for client in both.clients())
    assert before == after


def test_who_waits_at_one_version_hears_of_a_move_at_the_other(both):
    table = both.table("straight")
    for mover, waiter in (both.clients(), both.clients()[::-1]):
        turn = table.stranger.look()["deal"]["turn"]
        player = table.players[turn]
        stream = follow(Player(waiter, table.id, player.seat, player.token))
        stream.next("game")
        here = Player(mover, table.id, player.seat, player.token)
        answer = here.make(choose(here.look(), Random(1)))
        assert answer.status_code == 200
        assert [entry["id"] for entry in stream.entries(answer.json["events"][-1]["id"])] == [
            entry["id"] for entry in answer.json["events"]
        ]
        stream.leave()


def test_a_request_that_one_carried_out_is_known_to_the_other_who_has_seen_what_came_of_it(both):
    """It could be carried out again, so the rules do not keep it from that."""
    table = both.table("straight", deals=2)
    for here, there in (both.clients(), both.clients()[::-1]):
        key, answers = new_key(), []
        for client in (here, there):
            player = Player(client, table.id, 0, table.players[0].token)
            answers.append(player.post("entropy", {"entropy": "heads"}, idempotency_key=key))
            for each in (here, there):
                assert each.get(f"/v1/games/{table.id}").json == table.stranger.look()
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json["events"] == answers[1].json["events"]
        assert answers[1].headers["Idempotency-Replayed"] == "true"


def test_a_table_fills_up_and_is_left_across(both):
    table = both.waiting("parlett", 4, 1, more={"autostart": False, "public": True})
    for number in range(3):
        table.seat(twice(table.stranger, "join", {"name": f"guest {number}", "entropy": "heads"}))
    twice(table.players[3], "leave")
    twice(table.players[0], "remove", {"seat": 2})
    assert [seat["name"] for seat in table.stranger.look()["seats"]] == ["ada", "guest 0"]
    twice(table.players[0], "start")
    twice(table.players[1], "leave")
    twice(table.players[1], "return")
    assert [client.get(f"/v1/games/{table.id}").json for client in both.clients()] == [
        table.stranger.look()
    ] * 2


def test_a_switch_there_and_back_loses_nothing(both):
    """The next change writes what is to be written now, and the game stays what it is."""
    table = both.table("straight", 3, seed="switch")
    seen = []
    for client in both.clients() * 3:
        here = [Player(client, table.id, who.seat, who.token) for who in table.players]
        turn = here[0].look()["deal"]["turn"]
        seen.append([who.get("?memory=true").json for who in here])
        assert here[turn].make(choose(here[turn].look(), Random(1))).status_code == 200
        assert format_of(table) == (4 if client.client.application is both.app else 3)
        for other in both.clients():
            assert [
                Player(other, table.id, who.seat, who.token).get("?memory=true").json
                for who in table.players
            ] == [who.get("?memory=true").json for who in table.players]
    assert len({json.dumps(views) for views in seen}) == len(seen)

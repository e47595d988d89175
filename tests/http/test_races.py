"""Many at once: one wins, the others are told, and nothing is lost or done twice."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import pytest
from werkzeug.test import TestResponse

from service.rummy.model import CallWindow
from service.servers import Servers
from service.store import Store
from service.tables import Tables
from service.watch import Watch
from tests.http.ledger import Ledger
from tests.http.refusals import overtaken
from tests.http.tables import EXPIRY, House, Overtaken, Table, assert_no_card_is_lost, code
from tests.positions import CALLABLE

again_and_again = pytest.mark.parametrize("trial", range(6))


def at_once(*requests: Callable[[], TestResponse]) -> list[TestResponse]:
    """The answers to requests that are sent at the same moment, each from a thread of its own."""
    barrier = Barrier(len(requests))

    def send(request: Callable[[], TestResponse]) -> TestResponse:
        barrier.wait()
        return request()

    with ThreadPoolExecutor(len(requests)) as threads:
        return list(threads.map(send, requests))


def codes(answers: Sequence[TestResponse]) -> Counter[str]:
    return Counter(code(answer) for answer in answers)


def newcomers(table: Table, number: int) -> list[Callable[[], TestResponse]]:
    def join(client, name: str) -> TestResponse:
        return client.post(f"/v1/games/{table.id}/join", json={"name": name})

    clients = [table.house.client() for _ in range(number)]
    return [
        lambda client=client, name=f"guest {place}": join(client, name)
        for place, client in enumerate(clients)
    ]


def assert_consistent(table: Table, answers: Sequence[TestResponse], since: int) -> None:
    """The log has no gaps, and holds what the accepted requests were told, each once.

    `since` is the version before the requests; each that was accepted made one more.
    """
    accepted = sorted(
        (answer.json for answer in answers if answer.status_code < 300),
        key=lambda body: body["version"],
    )
    versions = [body["version"] for body in accepted]
    assert versions == list(range(since + 1, since + 1 + len(accepted)))
    game = table.game()
    assert game.version == since + len(accepted)
    log = table.stranger.log()
    assert [entry["id"] for entry in log] == list(range(1, game.events + 1))
    told = [(entry["id"], entry["event"]["type"]) for body in accepted for entry in body["events"]]
    assert told == [
        (entry["id"], entry["event"]["type"]) for entry in log if entry["version"] > since
    ]
    if game.match is not None:
        assert_no_card_is_lost(game)


# ------------------------------------------------------------------------------------- seats


@again_and_again
def test_of_twenty_who_want_the_last_seat_one_gets_it(house, trial):
    table = house.waiting("straight", 2, more={"autostart": False})
    answers = at_once(*newcomers(table, 20))
    assert codes(answers) == {"201": 1, "table_full": 19}
    assert_consistent(table, answers, since=1)
    (winner,) = [answer.json for answer in answers if answer.status_code == 201]
    assert table.seat(next(a for a in answers if a.status_code == 201)).look()["you"] == 1
    assert [seat["name"] for seat in table.stranger.look()["seats"]] == [
        "ada",
        winner["game"]["seats"][1]["name"],
    ]


@again_and_again
def test_who_comes_too_late_for_the_seat_that_starts_the_match_is_told_so(house, trial):
    table = house.waiting("straight", 2)
    answers = at_once(*newcomers(table, 8))
    assert codes(answers) == {"201": 1, "already_started": 7}
    assert_consistent(table, answers, since=1)
    assert table.stranger.look()["status"] == "playing"


@again_and_again
def test_eight_who_come_at_once_get_a_seat_each(house, trial):
    table = house.waiting("seven-card", 8)
    answers = at_once(*newcomers(table, 9))
    assert codes(answers) == {"201": 7, "already_started": 2}
    assert_consistent(table, answers, since=1)
    taken = [answer.json for answer in answers if answer.status_code == 201]
    assert sorted(seated["seat"] for seated in taken) == list(range(1, 8))
    assert len({seated["token"] for seated in taken}) == 7


@again_and_again
def test_a_start_against_a_join(house, trial):
    table = house.waiting("straight", 4, taken=2, more={"autostart": False})
    joined, started = answers = at_once(
        *newcomers(table, 1), lambda: table.players[0].post("start")
    )
    assert started.status_code == 200
    assert code(joined) in {"201", "already_started"}
    assert_consistent(table, answers, since=2)
    players = 3 if joined.status_code == 201 else 2
    view = table.stranger.look()
    assert view["size"] == view["options"]["players"] == len(view["seats"]) == players
    assert len(view["deal"]["hand_sizes"]) == players


@again_and_again
def test_a_start_against_the_join_that_starts(house, trial):
    table = house.waiting("straight", 3, taken=2)
    answers = at_once(*newcomers(table, 1), lambda: table.players[0].post("start"))
    assert sorted(codes(answers)) in (["201", "already_started"], ["200", "already_started"])
    assert_consistent(table, answers, since=2)
    starts = [entry for entry in table.stranger.log() if entry["event"]["type"] == "started"]
    assert len(starts) == 1


@again_and_again
def test_of_two_starts_one_counts(house, trial):
    table = house.waiting("straight", 3, taken=2)
    host = table.players[0]
    answers = at_once(lambda: host.post("start"), lambda: table.twin(host).post("start"))
    assert codes(answers) == {"200": 1, "already_started": 1}
    assert_consistent(table, answers, since=2)


# ------------------------------------------------------------------------------------- moves


@again_and_again
def test_two_windows_of_one_seat_draw_one_card(house, trial):
    table = house.table("straight")
    mover = table.mover
    answers = at_once(lambda: mover.draw("stock"), lambda: table.twin(mover).draw("stock"))
    assert codes(answers) == {"200": 1, "already_drawn": 1}
    assert_consistent(table, answers, since=2)
    assert len(mover.look()["hand"]) == 11


@again_and_again
def test_the_same_draw_for_the_same_version_counts_once(house, trial):
    table = house.table("straight")
    mover, seen = table.mover, table.stranger.get().headers["ETag"]
    answers = at_once(
        lambda: mover.draw("stock", if_match=seen),
        lambda: table.twin(mover).draw("stock", if_match=seen),
    )
    assert codes(answers) == {"200": 1, "stale_version": 1}
    assert_consistent(table, answers, since=2)


@again_and_again
def test_stock_and_upcard_cannot_both_be_drawn(house, trial):
    table = house.table("straight")
    mover = table.mover
    answers = at_once(lambda: mover.draw("stock"), lambda: table.twin(mover).draw("discard"))
    assert codes(answers) == {"200": 1, "already_drawn": 1}
    assert_consistent(table, answers, since=2)


@again_and_again
def test_of_two_who_call_one_is_first(house, trial):
    table = house.position(**CALLABLE, window=CallWindow(0, None))
    since = table.game().version
    answers = at_once(
        lambda: table.players[1].play("rummy 1"), lambda: table.players[2].play("rummy 1")
    )
    assert codes(answers) == {"200": 1, "call_closed": 1}
    assert_consistent(table, answers, since)
    assert table.stranger.look()["deal"]["upcard"] == "2C"


@again_and_again
def test_a_call_against_the_next_draw(house, trial):
    table = house.position(**CALLABLE, window=CallWindow(0, None))
    since = table.game().version
    called, drawn = answers = at_once(
        lambda: table.players[2].play("rummy 1"), lambda: table.players[1].draw("stock")
    )
    assert drawn.status_code == 200
    assert code(called) in {"200", "call_closed"}
    assert_consistent(table, answers, since)
    deal = table.stranger.look()["deal"]
    assert deal["upcard"] == ("2C" if called.status_code == 200 else "8C")


@again_and_again
def test_a_call_against_whoever_takes_the_card(house, trial):
    table = house.position(**CALLABLE, window=CallWindow(0, None))
    since = table.game().version
    called, taken = answers = at_once(
        lambda: table.players[2].play("rummy 1"),
        lambda: table.players[1].post("draw", {"from": "discard", "card": "8C"}),
    )
    assert sorted(map(code, answers)) in (["200", "upcard_changed"], ["200", "call_closed"])
    assert_consistent(table, answers, since)
    assert ("8C" in table.players[1].look()["hand"]) == (taken.status_code == 200)
    assert called.status_code != taken.status_code


class Interrupted(Store):
    """A store that answers, but only after something else has happened."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def results(self, game_id: str, after: int, limit: int):
        self.meanwhile()
        return super().results(game_id, after, limit)


def test_a_score_read_while_the_deal_ends_adds_up(redis_url):
    house = House(redis_url)
    table = house.position(hands="5C 5D 5H | 2S 3S", deals=2)
    store = Interrupted(Servers(redis_url, 2), EXPIRY)
    store.meanwhile = lambda: table.players[0].play("meld 5C 5D 5H")
    other = House(redis_url)
    other.app.extensions["tables"] = Tables(store, Watch(Servers(redis_url, 2)))
    score = other.client().get(f"/v1/games/{table.id}/score").json
    assert score["totals"] == (score["deals"][-1]["totals"] if score["deals"] else [0, 0])


def test_who_is_overtaken_again_and_again_is_told_to_send_it_again(redis_url):
    clock = Overtaken()
    answer = overtaken(House(redis_url, clock), clock)
    assert (answer.status_code, code(answer)) == (503, "too_busy")
    assert int(answer.headers["Retry-After"]) >= 1


def test_sixteen_windows_of_eight_seats_play_whatever_they_may(house):
    table = house.table("seven-card", 8, deals=100, hand_size=3)
    since = table.game().version
    answers: list[TestResponse] = []

    def play(place: int) -> None:
        player = table.twin(table.players[place % 8])
        chance = Random(place)
        for _ in range(200):
            if len(answers) > 150:
                return
            view = player.look()
            pinned = {"if_match": f'"{view["version"]}"'} if chance.random() < 0.5 else {}
            hand, moves = view["hand"], view["moves"]
            if moves:
                answers.append(player.make(chance.choice(moves), **pinned))
            elif chance.random() < 0.1:
                answers.append(player.post("discard", {"card": chance.choice(hand)}, **pinned))

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(play, range(16)))
    assert {answer.status_code for answer in answers} <= {200, 409, 412}
    assert_consistent(table, answers, since)
    assert codes(answers)["200"] > 20
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())

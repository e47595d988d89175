"""The rematch: whoever asks, in whatever order and how often, there is one, with the old order."""

from itertools import permutations
from random import Random

import pytest
from werkzeug.test import TestResponse

from service.errors import StoreUnavailable
from service.servers import Servers
from service.store import Store
from service.tables import Tables
from service.watch import Watch
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import EXPIRY, NAMES, House, Player, Table, code
from tests.http.test_races import again_and_again, at_once, codes


def over(house: House, players: int = 2, **more: object) -> Table:
    """A match that is over: all have left it, so that it was abandoned."""
    table = house.waiting("seven-card", players, players, more=more)
    for player in table.players:
        assert player.post("leave").status_code == 200
    return table


def won(house: House) -> Table:
    """A match that was played to its end."""
    table = house.table("parlett", 3, seed="short", hand_size=3)
    chance = Random(3)
    while (view := table.stranger.look())["status"] == "playing":
        player = table.players[view["deal"]["turn"]]
        assert player.make(choose(player.look(), chance)).status_code == 200
    assert view["result"]["winners"]
    return table


def next_table(table: Table, answers: list[TestResponse]) -> Table:
    """The table of the rematch, with those who were given a seat there, in the order of seats."""
    (game_id,) = {answer.json["game"]["id"] for answer in answers}
    following = Table(table.house, game_id)
    for answer in answers:
        following.seat(answer)
    return following


def names(view: dict) -> list[str]:
    return [seat["name"] for seat in view["seats"]]


def happened(table: Table) -> list[str]:
    return [entry["event"]["type"] for entry in table.stranger.log()]


@pytest.mark.parametrize("setting", [over, won])
def test_the_first_who_asks_makes_it_and_the_last_begins_it(house, setting):
    table = setting(house)
    last = len(table.players) - 1
    answers = []
    for number, player in enumerate(table.players):
        answer = player.post("rematch")
        assert (answer.status_code, answer.json["seat"]) == (201, number)
        assert answer.headers["Location"] == f"/v1/games/{answer.json['game']['id']}"
        assert answer.json["game"]["status"] == ("playing" if number == last else "waiting")
        answers.append(answer)
    following = next_table(table, answers)
    old, new = table.stranger.look(), following.stranger.look()
    assert (old["rematch"], old["rematch_of"]) == (new["id"], None)
    assert (new["rematch"], new["rematch_of"]) == (None, old["id"])
    assert names(new) == names(old)
    for part in ("variant", "options", "size", "autostart", "spectators", "practice"):
        assert new[part] == old[part], part
    for number, player in enumerate(following.players):
        assert player.look()["you"] == number
    for player in following.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_in_whatever_order_they_ask_they_sit_as_before(house, order):
    table = over(house, 3)
    tokens = {}
    for place in order:
        answer = table.players[place].post("rematch")
        tokens[place] = answer.json["token"]
    game_id = answer.json["game"]["id"]
    for place, token in tokens.items():
        view = Player(house.client(), game_id, place, token).look()
        assert (view["you"], view["seats"][place]["name"]) == (place, NAMES[place])
        assert view["status"] == "playing"


@again_and_again
@pytest.mark.parametrize("players", [2, 4])
def test_all_ask_at_once_and_there_is_one(house, players, trial):
    table = over(house, players)
    answers = at_once(*(lambda player=player: player.post("rematch") for player in table.players))
    assert codes(answers) == {"201": players}
    (game_id,) = {answer.json["game"]["id"] for answer in answers}
    assert len({answer.json["token"] for answer in answers}) == players
    for place, answer in enumerate(answers):
        view = Player(house.client(), game_id, place, answer.json["token"]).look()
        assert (view["you"], names(view)) == (place, list(NAMES[:players]))
    told = happened(Table(house, game_id))
    assert (told.count("joined"), told.count("started")) == (players, 1)
    assert happened(table).count("rematch") == 1
    assert table.stranger.look()["rematch"] == game_id
    stranger = Player(house.client(), game_id)
    book = Ledger(None)
    book.enter(stranger.log())
    book.agrees_with(stranger.look())
    assert stranger.look()["status"] == "playing"


@again_and_again
def test_one_who_asks_ten_times_at_once_has_one_seat(house, trial):
    table = over(house, 3)
    player = table.players[1]
    answers = at_once(*(lambda: table.twin(player).post("rematch"),) * 10)
    assert codes(answers) == {"201": 10}
    assert len({(a.json["game"]["id"], a.json["seat"], a.json["token"]) for a in answers}) == 1
    new = Table(house, answers[0].json["game"]["id"])
    assert names(new.stranger.look()) == ["bo"]


def test_asked_again_it_is_the_same_seat_and_token_before_and_after_the_start(house):
    table = over(house, 2)
    first = table.players[0].post("rematch")
    again = table.players[0].post("rematch")
    table.players[1].post("rematch")
    later = table.players[0].post("rematch")
    for answer in (again, later):
        assert answer.status_code == 201
        assert answer.headers["Idempotency-Replayed"] == "true"
        for part in ("seat", "token"):
            assert answer.json[part] == first.json[part]
        assert answer.json["game"]["id"] == first.json["game"]["id"]
        assert answer.json["events"] == []
    assert later.json["game"]["status"] == "playing"
    assert "Idempotency-Replayed" not in first.headers


def test_who_asks_again_when_others_have_sat_down_before_is_told_the_seat_of_now(house):
    table = over(house, 3)
    assert table.players[2].post("rematch").json["seat"] == 0
    table.players[0].post("rematch")
    assert table.players[2].post("rematch").json["seat"] == 1


def test_the_tokens_of_the_old_game_do_not_open_the_new(house):
    table = over(house, 2)
    game_id = table.players[0].post("rematch").json["game"]["id"]
    old = Player(house.client(), game_id, 0, table.players[0].token)
    assert code(old.get()) == "not_your_seat"
    assert table.players[0].look()["you"] == 0


@pytest.mark.parametrize("invitation", [None, "abcde-fghij"])
def test_strangers_cannot_join_it(house, invitation):
    table = over(house, 3, public=True)
    answer = table.players[0].post("rematch").json
    new = Table(house, answer["game"]["id"])
    for client in (new.stranger, Player(house.client(), new.id, 0, table.players[1].token)):
        refused = client.post("join", {"name": "eva", "invitation": invitation})
        assert code(refused) == "invitation_needed"
        assert table.id in refused.json["detail"]
    assert new.id not in house.client().get("/v1/games?limit=100").text
    assert answer["game"]["public"] is False


def test_a_private_tables_rematch_needs_no_code_of_its_players(house):
    made = house.new_table("seven-card", 2, private=True)
    table = Table(house, made.json["game"]["id"])
    table.seat(made)
    guest = {"name": "bo", "invitation": made.json["invitation"]}
    table.seat(table.stranger.post("join", guest))
    for player in table.players:
        player.post("leave")
    answers = [player.post("rematch") for player in table.players]
    assert codes(answers) == {"201": 2}
    assert {answer.json["invitation"] for answer in answers} == {None}


@pytest.mark.clause("table.6")
def test_computers_come_along_and_sit_where_they_sat(house):
    table = house.waiting("seven-card", 5, more={"autostart": False})
    host = table.players[0]
    host.post("computers", {"levels": ["random"]})
    table.seat(table.stranger.post("join", {"name": "bo"}))
    host.post("computers", {"levels": ["sharp", "steady"]})
    host.post("start")
    for player in table.players:
        player.post("leave")
    old = table.stranger.look()
    assert [seat["computer"] for seat in old["seats"]][1::2] == ["random", "sharp"]
    first = table.players[1].post("rematch").json
    assert [seat["computer"] for seat in first["game"]["seats"]] == [
        "random",
        None,
        "sharp",
        "steady",
    ]
    assert [seat["name"] for seat in first["game"]["seats"] if seat["host"]] == ["bo"]
    second = table.players[0].post("rematch").json
    assert names(second["game"]) == names(old)
    assert (first["seat"], second["seat"], second["game"]["status"]) == (1, 0, "waiting")
    begun = Player(house.client(), second["game"]["id"], 0, second["token"]).post("start")
    assert begun.json["game"]["status"] == "playing"
    assert [seat["away"] for seat in begun.json["game"]["seats"]] == [None] * 5


@pytest.mark.clause("table.6")
def test_a_person_alone_plays_the_computers_again_at_once(house):
    table = house.waiting("seven-card", 4, more={"computers": ["steady"] * 3}, deals=50)
    table.players[0].post("leave")
    answer = table.players[0].post("rematch").json
    assert answer["game"]["status"] == "playing"
    assert [seat["computer"] for seat in answer["game"]["seats"]] == [None] + ["steady"] * 3
    assert answer["game"]["deal"]["turn"] == 0


def test_who_was_away_is_a_person_in_the_rematch(timed_house, clock):
    table = timed_house.table("seven-card", 2, turn_seconds=60, away_after=1)
    for _ in range(2):
        clock.forward(60)
        table.stranger.get()
    assert table.stranger.look()["result"]["reason"] == "abandoned"
    answers = [player.post("rematch") for player in table.players]
    view = answers[-1].json["game"]
    assert [seat["away"] for seat in view["seats"]] == [None, None]
    assert view["turn_ends_at"] is not None
    assert view["options"]["turn_seconds"] == 60


def test_a_rematch_may_begin_without_those_who_do_not_come(house):
    table = over(house, 3)
    answers = [table.players[place].post("rematch") for place in (2, 0)]
    following = next_table(table, answers)
    assert names(following.stranger.look()) == ["ada", "cleo"]
    host = next(player for player in following.players if player.look()["you"] == 0)
    assert host.post("start").json["game"]["options"]["players"] == 2
    assert code(table.players[1].post("rematch")) == "already_started"


@pytest.mark.clause("table.3")
def test_who_was_first_to_come_and_goes_again_does_not_shut_the_others_out(house):
    table = over(house, 3)
    first = table.players[0].post("rematch").json
    following = Player(house.client(), first["game"]["id"], 0, first["token"])
    assert following.post("leave").json["game"]["status"] == "waiting"
    answers = [player.post("rematch") for player in table.players]
    assert codes(answers) == {"201": 3}
    assert answers[0].json["token"] == first["token"]
    assert answers[-1].json["game"]["status"] == "playing"


@pytest.mark.parametrize(
    ("setting", "refusal"),
    [("playing", "match_not_over"), ("waiting", "not_started"), ("closed", "table_closed")],
)
def test_before_the_end_there_is_none(house, setting, refusal):
    table = house.waiting("seven-card", 2, 2 if setting == "playing" else 1)
    if setting == "closed":
        table.players[0].post("close")
    before = table.stored()
    assert code(table.players[0].post("rematch")) == refusal
    assert table.stored() == before


def test_a_rematch_for_another_version_is_not_made(house):
    table = over(house, 2)
    assert code(table.players[0].post("rematch", if_match='"1"')) == "stale_version"
    version = table.stranger.look()["version"]
    assert table.stranger.look()["rematch"] is None
    assert code(table.players[0].post("rematch", if_match=f'"{version}"')) == "201"


def test_a_rematch_of_a_rematch_of_a_rematch(house):
    table = over(house, 3)
    seen = [table.id]
    for _ in range(3):
        order = (len(seen), len(seen) + 1, len(seen) + 2)
        answers = {place % 3: table.players[place % 3].post("rematch") for place in order}
        table = next_table(table, [answers[place] for place in range(3)])
        seen.append(table.id)
        view = table.stranger.look()
        assert (names(view), view["rematch_of"]) == (list(NAMES[:3]), seen[-2])
        # Who sat down before others has a token of the seat that it became.
        table.players.sort(key=lambda player: player.look()["you"])
        for player in table.players:
            player.post("leave")
    assert len(set(seen)) == 4


def test_the_old_game_tells_of_it_in_its_log_and_its_version(house):
    table = over(house, 2)
    version = table.stranger.look()["version"]
    game_id = table.players[0].post("rematch").json["game"]["id"]
    entry = table.stranger.log()[-1]
    assert entry["event"] == {"type": "rematch", "game": game_id}
    assert entry["version"] == table.stranger.look()["version"] == version + 1
    table.players[1].post("rematch")
    assert table.stranger.look()["version"] == version + 1
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())


# --------------------------------------------------------------------- killed half-way through


class Dying(Store):
    """A store that dies after so many commits."""

    commits = 0

    def commit(self, *args, **kwargs) -> None:
        if self.commits == 0:
            raise StoreUnavailable("It has died.")
        self.commits -= 1
        super().commit(*args, **kwargs)


@pytest.mark.parametrize("commits", [0, 1, 2, 3])
@pytest.mark.parametrize("who", [0, 1, 2])
def test_a_rematch_that_was_cut_off_half_way_is_completed_by_whoever_asks_next(
    redis_url, house, commits, who
):
    """After the table was made, after the seat was taken, after the old game pointed to it."""
    table = over(house, 3)
    dying = Dying(Servers(redis_url, 2), EXPIRY)
    other = house_on(house, dying, redis_url)
    dying.commits = commits
    cut_off = Player(other.client(), table.id, who, table.players[who].token).post("rematch")
    assert cut_off.status_code == (201 if commits == 3 else 503)
    answers = [player.post("rematch") for player in table.players]
    assert codes(answers) == {"201": 3}
    (game_id,) = {answer.json["game"]["id"] for answer in answers}
    new = Table(house, game_id)
    assert names(new.stranger.look()) == list(NAMES[:3])
    assert new.stranger.look()["status"] == "playing"
    assert table.stranger.look()["rematch"] == game_id
    assert (happened(new).count("joined"), happened(table).count("rematch")) == (3, 1)


def house_on(house: House, store: Store, redis_url: str) -> House:
    """A service on that store."""
    other = House(redis_url)
    other.app.extensions["tables"] = Tables(store, Watch(Servers(redis_url, 2)))
    return other

"""Many games in one request: which are found, in which order, and what each seat is shown."""

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace
from werkzeug.test import TestResponse

from service.game import Game
from service.rummy.model import CallWindow
from service.servers import Servers
from service.store import Store
from service.tables import Tables
from service.watch import Watch
from tests.http.tables import EXPIRY, House, Player, Table, assert_no_card_is_lost, code
from tests.positions import CALLABLE, position


def query(house: House, *tokens: object) -> TestResponse:
    return house.client().post("/v1/games/query", json={"tokens": list(tokens)})


def found(house: House, *tokens: str) -> list[dict]:
    answer = query(house, *tokens)
    assert answer.status_code == 200, answer.text
    return answer.json["games"]


def not_on_turn(table: Table) -> Player:
    mover = table.mover
    return next(player for player in table.players if player is not mover)


# ------------------------------------------------------------------------------------ the order


def test_the_most_urgent_come_first(timed_house, clock):
    """In whatever order the tokens are sent."""
    house = timed_house
    expected: list[str] = []

    def put(player: Player) -> None:
        assert player.token is not None
        expected.append(player.token)
        clock.forward(0.01)

    soon = house.table("straight", turn_seconds=10)
    later = house.table("straight", turn_seconds=50)
    put(soon.mover)
    put(later.mover)
    put(house.table("straight").mover)  # with no deadline: who has waited longest
    put(house.table("straight").mover)
    put(not_on_turn(house.table("straight", turn_seconds=8)))
    put(not_on_turn(house.table("straight")))
    put(house.waiting("straight").players[0])
    over = house.table("straight", turn_seconds=600)
    for player in over.players:
        player.post("leave")
    put(over.players[0])
    for trial in range(6):
        tokens = expected.copy()
        Random(trial).shuffle(tokens)
        games = found(house, *tokens)
        assert [tokens[game["token"]] for game in games] == expected
        assert [game["can_act"] for game in games] == [True] * 4 + [False] * 4
    assert [game["game"]["status"] for game in games] == ["playing"] * 6 + ["waiting", "finished"]


def test_the_one_whose_turn_it_is_has_a_move_and_the_others_have_none(house):
    table = house.table("seven-card", 4)
    games = found(house, *(player.token for player in table.players))
    assert [game["token"] for game in games if game["can_act"]] == [table.mover.seat]
    for game in games:
        assert game["can_act"] == bool(game["game"]["moves"])
        assert game["game"]["you"] == game["token"]


def test_who_may_call_has_something_to_do_before_those_who_wait(house):
    match = position(
        **CALLABLE,
        window=CallWindow(0, None),
    )
    called = house.at(match)
    calm = house.table("straight")
    tokens = [not_on_turn(calm).token, called.players[2].token, called.players[0].token]
    games = found(house, *tokens)
    assert games[0]["token"] == 1
    assert [game["can_act"] for game in games] == [True, False, False]


@pytest.mark.clause("table.4")
def test_who_is_away_has_nothing_to_do(timed_house, clock):
    calm = timed_house.table("straight", turn_seconds=5)
    clock.forward(0.5)
    match = position(
        **CALLABLE,
        window=CallWindow(0, None, clock.now),
    )
    table = timed_house.at(match)
    for seat in (1, 2):
        table.players[seat].post("leave")
        (game,) = found(timed_house, table.players[seat].token)
        assert (game["can_act"], game["game"]["moves"]) == (False, [])
        assert game["game"]["seats"][seat]["away"] == "left"
        # What the others wait for comes later than the deadline at the other table.
        games = found(timed_house, table.players[seat].token, not_on_turn(calm).token)
        assert [game["token"] for game in games] == [1, 0]
        table.players[seat].post("return")


# --------------------------------------------------------------------------------- what is found


def test_twelve_games_are_all_found_with_whose_turn_it_is(house):
    tables = [house.table("seven-card", 2 + number % 3) for number in range(12)]
    games = found(house, *(table.players[1].token for table in tables))
    assert {game["game"]["id"]: game["game"]["deal"]["turn"] for game in games} == {
        table.id: table.stranger.look()["deal"]["turn"] for table in tables
    }
    assert [game["game"]["you"] for game in games] == [1] * 12
    assert sorted(game["token"] for game in games) == list(range(12))


def test_each_is_shown_what_a_look_would_show(house):
    tables = [house.table("straight"), house.waiting("parlett", 3), house.table("call-rummy", 4)]
    for game in found(house, *(table.players[0].token for table in tables)):
        assert game["game"] == tables[game["token"]].players[0].look()


def test_several_seats_of_one_game_each_see_the_own_hand(house):
    table = house.table("straight", 4)
    hands = table.game().match.deal.hands
    games = found(house, *(player.token for player in table.players))
    assert len(games) == 4
    for game in games:
        seat = game["token"]
        assert (game["game"]["you"], tuple(game["game"]["hand"])) == (seat, hands[seat])
        assert_only_own_cards(game, hands, seat)


def assert_only_own_cards(game: dict, hands: tuple[tuple[str, ...], ...], seat: int) -> None:
    told = str(game)
    for other, hand in enumerate(hands):
        if other != seat:
            assert not any(f"'{card}'" in told for card in hand)


def test_the_same_token_twice_is_answered_twice(house):
    table = house.table("straight")
    token = table.players[0].token
    games = found(house, token, token)
    assert sorted(game["token"] for game in games) == [0, 1]
    assert games[0]["game"] == games[1]["game"]


def expired(house: House) -> str:
    table = house.table("straight")
    house.redis.delete(f"rummy:{{{table.id}}}:game")
    return table.players[0].token


def left(house: House) -> str:
    table = house.waiting("straight", 3, taken=2)
    table.players[1].post("leave")
    return table.players[1].token


def was_removed(house: House) -> str:
    table = house.waiting("straight", 3, taken=2)
    table.players[0].post("remove", {"seat": 1})
    return table.players[1].token


# fmt: off
GONE: dict[str, Callable[[House], str]] = {
    "of a game that there is not": lambda _: f"{'a' * 16}.{'A' * 43}",
    "never given out, of a game that there is": lambda house: (
        f"{house.waiting('straight').id}.{'A' * 43}"),
    "of a game that has expired": expired,
    "of somebody who left before the start": left,
    "of somebody who was removed": was_removed,
    "of another game, with this one's id": lambda house: (
        house.waiting("straight").id + house.waiting("straight").players[0].token[16:]),
}
# fmt: on


@pytest.mark.parametrize("token", GONE.values(), ids=GONE)
def test_a_token_that_opens_nothing_is_told_apart_and_hides_no_other(house, token):
    table = house.table("straight")
    answer = query(house, table.players[0].token, token(house), table.players[1].token).json
    assert answer["gone"] == [1]
    assert sorted(game["token"] for game in answer["games"]) == [0, 2]


def test_when_all_are_gone_there_are_no_games(house):
    tokens = [gone(house) for gone in GONE.values()]
    assert query(house, *tokens).json == {"games": [], "gone": list(range(len(tokens)))}


NO_TOKEN = ["", "swordfish", "a" * 16, f"{'a' * 16}.", f"{'A' * 16}.{'A' * 43}", f"é{'a' * 59}"]


@pytest.mark.parametrize("text", NO_TOKEN)
def test_a_text_that_is_no_token_is_refused_with_all_of_the_request(house, text):
    table = house.table("straight")
    for tokens in ([text], [table.players[0].token, text]):
        answer = query(house, *tokens)
        assert (answer.status_code, code(answer)) == (401, "bad_token")
        assert table.id not in answer.text


@pytest.mark.parametrize("tokens", [[], [None], [7], [["a"]], "a token", None, {}])
def test_what_is_no_list_of_texts_is_refused(house, tokens):
    answer = house.client().post("/v1/games/query", json={"tokens": tokens})
    assert code(answer) == "invalid_request"


def test_fifty_at_a_time_and_no_more(house):
    table = house.table("straight", 2)
    tokens = [table.players[number % 2].token for number in range(51)]
    assert len(found(house, *tokens[:50])) == 50
    answer = query(house, *tokens)
    assert (answer.status_code, code(answer)) == (422, "invalid_request")


def test_a_query_is_no_move(house):
    tables = [house.table("straight"), house.waiting("straight", 3)]
    before = [table.stored() for table in tables]
    found(house, *(table.players[0].token for table in tables))
    assert [table.stored() for table in tables] == before


# ------------------------------------------------------------------------- what is due meanwhile


@pytest.mark.clause("table.1")
def test_what_is_due_in_any_of_them_is_done_once(timed_house, clock):
    tables = [timed_house.table("straight", 3, turn_seconds=60) for _ in range(4)]
    versions = [table.game().version for table in tables]
    tokens = [player.token for table in tables for player in table.players]
    clock.forward(60)
    games = found(timed_house, *tokens)
    for table, version in zip(tables, versions, strict=True):
        assert table.game().version == version + 1
        assert table.game().match.deal.turns == 1
        assert {g["game"]["version"] for g in games if g["game"]["id"] == table.id} == {version + 1}
        assert_no_card_is_lost(table.game())
    assert sum(game["can_act"] for game in games) == 4


class Expiring(Store):
    """A store in which games expire just before they are changed."""

    def commit(self, game: Game, *args: object, **kwargs: object) -> None:
        key = f"rummy:{{{game.id}}}:game"
        self._servers.ask(key, [("DEL", key)])
        super().commit(game, *args, **kwargs)


def test_a_game_that_expires_while_it_is_looked_at_is_gone(redis_url, timed_house, clock):
    table = timed_house.table("straight", turn_seconds=60)
    stays = timed_house.table("straight")
    other = House(redis_url, clock)
    other.app.extensions["tables"] = Tables(
        Expiring(Servers(redis_url, 2), EXPIRY), Watch(Servers(redis_url, 2)), clock
    )
    clock.forward(60)
    answer = query(other, table.players[0].token, stays.players[0].token)
    assert answer.status_code == 200, answer.text
    assert answer.json["gone"] == [0]
    assert [game["game"]["id"] for game in answer.json["games"]] == [stays.id]


def test_of_games_with_a_clock_the_deadline_counts_not_the_age(timed_house, clock):
    """A game made first, but whose turn began anew, comes after one whose turn ends sooner."""
    first = timed_house.table("straight", turn_seconds=60)
    clock.forward(20)
    second = timed_house.table("straight", turn_seconds=60)
    clock.forward(10)
    game = first.game()
    timed_house.store.commit(replace(game, version=game.version + 1, due=clock.now + 60_000), ())
    games = found(timed_house, first.mover.token, second.mover.token)
    assert [found["token"] for found in games] == [1, 0]


# -------------------------------------------------------------- what another version has stored


def spoil(table: Table) -> None:
    """As if a newer version of the service had stored the game."""
    table.house.redis.hset(f"rummy:{{{table.id}}}:game", "record", b'{"format":999,"game":{}}')


def test_a_game_that_cannot_be_read_is_not_called_gone_and_hides_no_other(house):
    table, spoilt = house.table("straight"), house.table("straight")
    spoil(spoilt)
    nowhere = f"{'a' * 16}.{'A' * 43}"
    tokens = [spoilt.players[0].token, table.players[0].token, nowhere]
    answer = query(house, *tokens)
    assert answer.status_code == 200, answer.text
    assert [game["token"] for game in answer.json["games"]] == [1]
    assert answer.json["gone"] == [2]


def test_when_none_can_be_read_it_is_to_be_tried_again(house):
    spoilt = house.table("straight")
    spoil(spoilt)
    answer = query(house, *(player.token for player in spoilt.players))
    assert (answer.status_code, code(answer)) == (503, "unreadable_record")
    assert answer.headers["Retry-After"] == "30"


class Upgrading(Store):
    """A store in which a newer version of the service is always faster."""

    def commit(self, game: Game, *args: object, **kwargs: object) -> None:
        key = f"rummy:{{{game.id}}}:game"
        unknown = b'{"format":999}'
        self._servers.ask(key, [("HSET", key, "version", game.version, "record", unknown)])
        super().commit(game, *args, **kwargs)


def test_so_is_a_game_that_another_version_changes_while_it_is_looked_at(
    redis_url, timed_house, clock
):
    table = timed_house.table("straight", turn_seconds=60)
    stays = timed_house.table("straight")
    other = House(redis_url, clock)
    store = Upgrading(Servers(redis_url, 2), EXPIRY)
    other.app.extensions["tables"] = Tables(store, Watch(Servers(redis_url, 2)), clock)
    clock.forward(60)
    answer = query(other, table.players[0].token, stays.players[0].token)
    assert answer.status_code == 200, answer.text
    assert answer.json["gone"] == []
    assert [game["game"]["id"] for game in answer.json["games"]] == [stays.id]

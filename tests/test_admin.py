"""`rummy admin` beside a service that runs, with its own store and with one that has a password."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
import redis
import requests
from click.testing import CliRunner, Result
from msgspec.structs import replace

from service.admin import Admin
from service.cli import main
from service.embedded import EmbeddedStore, running_at
from service.errors import NoSuchGame
from service.game import Game, Seat
from service.rummy.model import Deal, Match
from service.servers import Servers
from service.store import Store
from tests.fleets import cluster
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.sse import Follower, Line, kinds_of
from tests.http.tables import EXPIRY, Clock, House, Player, Table, code
from tests.positions import position
from tests.serving import rummy, serving
from tests.test_store import create

KEY = "a key that nobody guesses"


class Place:
    """A service that runs, its store, and the commands for whoever runs it."""

    def __init__(self, service: str, store: str, data: Path, environment: dict[str, str]) -> None:
        self.service = service
        self.store = store
        self.data = data
        self.environment = environment
        self.house = House(store)
        self.timed_house = House(store, Clock())

    def run(self, *arguments: str, answer: str | None = None) -> Result:
        """What the command says, and how it ends."""
        ours = {name: None for name in os.environ if name.startswith("RUMMY_")}
        return CliRunner().invoke(
            main,
            ["admin", "--data-dir", str(self.data), *arguments],
            input=answer,
            env=ours | self.environment,
        )

    def said(self, *arguments: str) -> str:
        """What the command says when all goes well."""
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    def told(self, *arguments: str) -> dict | list:
        return json.loads(self.said(*arguments))


@pytest.fixture(scope="module", params=["its own store", "a store with a password"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environment = {"RUMMY_RATE_LIMITS": "false"}
        if request.param == "a store with a password":
            named = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = stack.enter_context(EmbeddedStore(named)).url
            redis.Redis.from_url(url).config_set("requirepass", "sesame")
            environment["RUMMY_REDIS_URL"] = url.replace("unix://", "unix://:sesame@")
        service = stack.enter_context(serving(data, "--workers", "2", **environment))
        url = environment.get("RUMMY_REDIS_URL") or running_at(data)
        assert url is not None
        yield Place(service.url, url, data, environment)


@pytest.fixture
def empty(place: Place) -> Place:
    place.house.redis.flushdb()
    return place


def everything(store: redis.Redis) -> Iterator[bytes]:
    """Each key of the store, with all that is in it."""
    read = {
        b"string": store.get,
        b"hash": store.hgetall,
        b"list": lambda key: store.lrange(key, 0, -1),
        b"zset": lambda key: store.zrange(key, 0, -1),
        b"set": store.smembers,
        b"stream": store.xrange,
    }
    for key in store.scan_iter():
        yield key
        yield repr(read[store.type(key)](key)).encode()


def traces(place: Place, *texts: str) -> list[bytes]:
    """What is in the store that has one of these texts in it."""
    return [
        kept
        for kept in everything(place.house.redis)
        if any(text.encode() in kept for text in texts)
    ]


def well_used(house: House) -> tuple[Table, list[str]]:
    """A table that has left all the traces that one can, and the hashes of its tokens."""
    body = {
        "variant": "straight",
        "name": "ada",
        "options": {"deals": 2, "memory": False},
        "public": True,
    }
    made = house.client().post("/v1/games", json=body, headers={"Idempotency-Key": KEY})
    table = Table(house, made.json["game"]["id"])
    table.seat(made)
    table.seat(table.stranger.post("join", {"name": "bo"}, idempotency_key=f"{KEY} too"))
    assert table.mover.draw("stock", idempotency_key="a draw").status_code == 200
    return table, [seat.token_hash for seat in table.game().seats if seat.token_hash]


# ------------------------------------------------------------------------------------ deleting


def test_a_deleted_game_leaves_no_trace(empty):
    other = empty.house.table("straight")
    table, hashes = well_used(empty.house)
    assert len(hashes) == 2
    assert len(traces(empty, table.id)) > 5
    assert traces(empty, *hashes)
    assert empty.said("delete", table.id, "--yes") == f"Deleted {table.id}.\n"
    assert traces(empty, table.id, *hashes) == []
    assert code(table.players[0].get()) == code(table.stranger.get()) == "no_such_game"
    assert other.stranger.get().status_code == 200
    assert other.mover.draw("stock").status_code == 200


def test_a_second_deletion_says_that_there_is_none_and_the_others_are_deleted(empty):
    first, second = empty.house.table("straight"), empty.house.waiting("straight")
    empty.said("delete", first.id, "--yes")
    result = empty.run("delete", first.id, second.id, "nonsense", "--yes")
    assert (result.exit_code, result.stdout) == (1, f"Deleted {second.id}.\n")
    assert result.stderr == f"Error: There is no game {first.id}, nonsense.\n"
    assert traces(empty, first.id, second.id) == []


def test_nothing_is_deleted_before_it_is_confirmed(empty):
    table = empty.house.waiting("straight")
    for answer in ("n\n", ""):
        assert empty.run("delete", table.id, answer=answer).exit_code == 1
        assert table.stranger.get().status_code == 200
    assert empty.run("delete", table.id, answer="y\n").exit_code == 0
    assert code(table.stranger.get()) == "no_such_game"


def test_a_game_of_another_version_of_the_service_can_be_deleted(empty):
    table = empty.house.waiting("straight", more={"public": True})
    key = f"rummy:{{{table.id}}}:game"
    empty.house.redis.hset(key, "record", '{"format":99}')
    assert "1 games that another version" in empty.run("list").stderr
    empty.said("delete", table.id, "--yes")
    assert traces(empty, table.id) == []


def test_whoever_repeats_what_made_a_deleted_table_makes_another(empty):
    table, _ = well_used(empty.house)
    empty.said("delete", table.id, "--yes")
    again, _ = well_used(empty.house)
    assert again.id != table.id


def test_links_to_a_deleted_game_stay_and_lead_nowhere(empty):
    table = empty.house.table("straight")
    for player in table.players:
        player.post("leave")
    following = table.players[0].post("rematch").json
    empty.said("delete", table.id, "--yes")
    followed = empty.house.client().get(f"/v1/games/{following['game']['id']}").json
    assert (followed["rematch_of"], followed["status"]) == (table.id, "waiting")
    assert code(empty.house.client().get(f"/v1/games/{table.id}")) == "no_such_game"


def test_who_waits_for_a_game_is_told_at_once_that_it_is_deleted(empty):
    table = empty.house.table("straight")
    path = f"/v1/games/{table.id}"
    stream = Follower(Line(empty.service, f"{path}/events").read_head())
    version = stream.next("game").data["version"]
    with ThreadPoolExecutor(2) as threads:
        waits = [
            threads.submit(
                lambda part=part: requests.get(
                    f"{empty.service}{path}{part}",
                    headers={"If-None-Match": f'"{version}"'},
                    timeout=40,
                )
            )
            for part in ("?wait=30", "/events?after=100&wait=30")
        ]
        time.sleep(0.5)
        began = time.monotonic()
        empty.said("delete", table.id, "--yes")
        answers = [wait.result(30) for wait in waits]
    assert [answer.json()["code"] for answer in answers] == ["no_such_game"] * 2
    assert stream.rest() == []
    assert stream.cut is None  # a clean end, and no `end` as of a match
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("trial", range(4))
def test_a_game_that_is_deleted_in_full_play_does_not_come_back(empty, trial):
    """Players, newcomers and watchers go on until they are told; then nothing of it is there."""
    table = empty.house.waiting("straight", 3, 2, more={"public": True}, deals=100)
    if trial % 2:
        table.players[0].post("start")

    def play(player: Player) -> None:
        chance = Random(trial)
        while True:
            look = player.get()
            if look.status_code == 404:
                return
            moves = look.json["moves"]
            if moves:
                player.make(choose(look.json, chance))

    def come_and_go(number: int) -> None:
        while True:
            name = {"name": f"guest {number}"}
            joined = table.stranger.post("join", name, idempotency_key=f"{KEY} {time.time_ns()}")
            if joined.status_code == 404:
                return
            if joined.status_code == 201:
                token = joined.json["token"]
                Player(empty.house.client(), table.id, 0, token).post("leave")

    with ThreadPoolExecutor(4) as threads:
        busy = [threads.submit(play, player) for player in table.players]
        busy += [threads.submit(come_and_go, number) for number in range(2)]
        time.sleep(0.4)
        empty.said("delete", table.id, "--yes")
        for each in busy:
            each.result(20)
    assert traces(empty, table.id) == []


def test_a_move_that_was_thought_of_before_the_deletion_is_not_stored(empty):
    store = Store(Servers(empty.store, 2), EXPIRY)
    game = create(store)
    store.delete([game.id])
    with pytest.raises(NoSuchGame):
        store.commit(replace(game, version=2), ())
    assert traces(empty, game.id) == []


# ------------------------------------------------------------------------------------- closing


def closed_in_play(place: Place) -> tuple[Table, Clock]:
    """A match with a clock and a computer, whose match was ended from outside."""
    house = place.timed_house
    house.clock.set()
    table = house.waiting("straight", 3, 2, deals=5, turn_seconds=60)
    table.players[0].post("computers", {"levels": ["steady"]})
    assert table.mover.draw("stock").status_code == 200
    assert table.game().due is not None
    Admin(house.store, house.clock).close(table.id)
    return table, house.clock


def test_a_match_that_is_closed_ends_without_a_winner_and_nothing_goes_on(empty):
    table, clock = closed_in_play(empty)
    game = table.game()
    log = table.stranger.log()
    assert [entry["event"]["type"] for entry in log[-3:]] == ["closed", "revealed", "match_ended"]
    clock.forward(100_000)
    for watcher in table.watchers:
        view = watcher.look()
        assert (view["status"], view["deal"], view["moves"]) == ("finished", None, [])
        assert view["result"] == {
            "reason": "abandoned",
            "winners": [],
            "tie": False,
            "totals": [0, 0, 0],
        }
        assert view["turn_ends_at"] is None
        book = Ledger(watcher.seat)
        book.enter(watcher.log())
        book.agrees_with(view)
    assert code(table.players[0].draw("stock")) == "match_over"
    assert code(table.players[0].post("leave")) == "match_over"
    assert code(table.players[0].post("close")) == "already_started"
    assert table.game() == game
    assert game.due is None
    assert table.players[0].post("rematch").status_code == 201


def test_a_match_that_is_closed_can_be_verified(empty, tmp_path):
    table, _ = closed_in_play(empty)
    file = tmp_path / "replay.json"
    empty.said("export", table.id, "--replay", "--out", str(file))
    checked = CliRunner().invoke(main, ["verify", str(file)])
    assert checked.exit_code == 0, checked.output
    assert "All of it fits" in checked.output
    assert "abandoned" not in empty.said("list")
    assert table.stranger.get("replay").json == json.loads(file.read_text())


@pytest.mark.parametrize("is_playing", [True, False])
def test_who_waits_is_told_at_once_that_the_game_is_closed(empty, is_playing):
    table = empty.house.waiting("straight", 2, 2 if is_playing else 1)
    path = f"/v1/games/{table.id}"
    stream = Follower(Line(empty.service, f"{path}/events").read_head())
    version = stream.next("game").data["version"]
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(
            requests.get,
            f"{empty.service}{path}?wait=30",
            headers={"If-None-Match": f'"{version}"'},
            timeout=40,
        )
        time.sleep(0.5)
        began = time.monotonic()
        status = "finished" if is_playing else "closed"
        assert empty.said("close", table.id) == f"Game {table.id}: it is {status} now.\n"
        assert waiting.result(30).json()["status"] == status
    told = stream.rest()
    assert kinds_of(told) == ["entry"] * (3 if is_playing else 1) + ["end"]
    assert told[-1].data == {"status": status}
    assert time.monotonic() - began < 5
    said = empty.said("close", table.id)
    assert said == f"Game {table.id}: it was {status} before; nothing is done.\n"


def test_a_rematch_that_waits_can_be_closed_from_outside(empty):
    table = empty.house.table("straight")
    for player in table.players:
        player.post("leave")
    following = table.players[0].post("rematch").json["game"]["id"]
    empty.said("close", following)
    assert code(table.players[1].post("rematch")) == "table_closed"


def test_what_is_due_is_done_before_a_match_is_closed(empty):
    """The turn whose time was up counts, as for everybody who looks."""
    house = empty.timed_house
    house.clock.set()
    table = house.table("straight", turn_seconds=60)
    house.clock.forward(61)
    Admin(house.store, house.clock).close(table.id)
    log = table.stranger.log()
    assert [entry["event"]["type"] for entry in log if entry["forced"]] == ["drew", "discarded"]
    assert log[-1]["event"]["type"] == "match_ended"


# ------------------------------------------------------------------------------------- looking


def test_the_list_has_each_game_once_the_last_changed_first(empty):
    tables = [empty.house.waiting("straight"), empty.house.table("parlett", deals=1)]
    tables[0].players[0].post("close")
    tables.append(empty.house.table("seven-card"))
    listed = empty.told("list", "--json")
    assert [game["id"] for game in listed] == [tables[2].id, tables[0].id, tables[1].id]
    assert [game["status"] for game in listed] == ["playing", "closed", "playing"]
    assert listed[0].keys() == {
        *("id", "status", "variant", "players", "size"),
        *("version", "changed_at", "due", "expires_at"),
    }
    assert listed[0]["players"] == ["ada", "bo"]
    oldest = empty.told("list", "--json", "--oldest")
    assert oldest == listed[::-1]
    assert empty.told("list", "--json", "--status", "closed") == [listed[1]]
    assert empty.told("list", "--json", "--variant", "parlett") == [listed[2]]
    assert empty.told("list", "--json", "--older-than", "1h") == []
    assert len(empty.told("list", "--json", "--older-than", "0s")) == 3
    head, *lines = empty.said("list").splitlines()
    assert head.split()[:4] == ["id", "status", "variant", "seats"]
    assert [line.split()[0] for line in lines] == [game["id"] for game in listed]


def test_of_a_thousand_games_no_more_are_listed_than_asked_for(empty):
    store = Store(Servers(empty.store, 2), EXPIRY)
    for second in range(1000):
        create(store, changed_at=1_790_000_000_000 + 1000 * second)
    result = empty.run("list")
    assert len(result.stdout.splitlines()) == 1 + 50
    assert result.stderr == "50 of 1000 games; --limit lists more.\n"
    assert "2026-09-21 14:29:59Z" in result.stdout.splitlines()[1]
    result = empty.run("list", "--limit", "1000", "--json")
    assert (len(json.loads(result.stdout)), result.stderr) == (1000, "")


def test_a_name_can_do_nothing_to_a_terminal(empty):
    """No such name is taken, but the store may have one."""
    evil = "\x1b]0;owned\x07\x9bA\u202eeve\n"
    game = create(
        Store(Servers(empty.store, 2), EXPIRY), seats=(Seat(evil, "0" * 64),), chosen={"deals": 1}
    )
    for arguments in (
        ("list",),
        ("list", "--json"),
        ("show", game.id),
        ("show", game.id, "--json"),
        ("export", game.id, "--hidden"),
    ):
        said = empty.said(*arguments)
        assert said.replace("\n", "").isprintable(), arguments
        assert "eve" in said


def test_hidden_cards_are_shown_only_when_asked_for_and_hashes_never(empty):
    table, hashes = well_used(empty.house)
    game = table.game()
    deal = game.match.deal
    secrets = [game.seed, " ".join(deal.hands[0]), " ".join(deal.stock[:5])]
    for arguments in (("list",), ("show", table.id), ("status",)):
        for form in ((), ("--json",)):
            said = empty.said(*arguments, *form)
            assert not any(secret in said for secret in [*secrets, *hashes])
            assert '"hidden": {' not in said
    result = empty.run("show", table.id, "--hidden")
    assert all(secret in result.stdout for secret in secrets)
    assert "Warning" in result.stderr
    told = empty.told("show", table.id, "--hidden", "--json")
    assert told["hidden"]["hands"] == [list(hand) for hand in deal.hands]
    everything = empty.said("export", table.id, "--hidden") + str(told)
    tokens = [player.token for player in table.players]
    assert not any(secret in everything for secret in [*hashes, *tokens])


def test_a_shown_game_has_its_keys_and_their_lives(empty):
    table, _ = well_used(empty.house)
    shown = empty.told("show", table.id, "--json")
    parts = [key["key"].split(":")[2] for key in shown["keys"]]
    assert parts == ["begins", "claim", "claim", "events", "game"]
    assert all(key["bytes"] > 0 and key["expires_in_ms"] > 0 for key in shown["keys"])
    said = empty.said("show", table.id)
    assert "ada, person" in said
    assert "memory=false*" in said


def test_the_export_of_a_match_that_is_played_must_be_asked_for_twice(empty):
    table = empty.house.table("straight")
    result = empty.run("export", table.id)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--hidden" in result.stderr


def test_the_export_has_all_that_is_kept_of_a_game(empty, tmp_path):
    table = empty.house.table("parlett", 3, seed="short", hand_size=3, deals=3)
    chance = Random(3)
    while (view := table.stranger.look())["status"] == "playing":
        player = table.players[view["deal"]["turn"]]
        player.make(choose(player.look(), chance))
    file = tmp_path / "export.json"
    assert empty.said("export", table.id, "--out", str(file)) == ""
    assert file.stat().st_mode & 0o777 == 0o600
    exported = json.loads(file.read_text())
    assert exported == json.loads(empty.said("export", table.id)) | {
        "exported_at": exported["exported_at"]
    }
    assert exported["format"] == "rummy-export-1"
    game = table.game()
    assert [entry["id"] for entry in exported["log"]] == list(range(1, game.events + 1))
    assert len(exported["results"]) == 3
    assert exported["results"] == table.stranger.get("score").json["deals"]
    assert exported["game"]["seed"] == "short"
    # Whatever a record comes to hold is exported, but for the hashes of secrets.
    held = {*Game.__struct_fields__} - {"invitation", "closed", "events"}
    assert held <= exported["game"].keys()
    held = {*Seat.__struct_fields__} - {"token_hash"}
    assert held <= exported["game"]["seats"][0].keys()
    assert {*Match.__struct_fields__} <= exported["game"]["match"].keys()


def test_the_export_of_a_deal_has_its_fields_by_name(empty):
    table = empty.house.at(position(hands="5C 5D KH | 2S 3S", melds="0: 7C 7D 7H", pile="9D"))
    deal = json.loads(empty.said("export", table.id, "--hidden"))["game"]["match"]["deal"]
    assert {*Deal.__struct_fields__} <= deal.keys()
    assert deal["discards"] == [[None, "9D", None, None]]
    assert deal["melds"][0]["faces"] == ["7C", "7D", "7H"]


def test_the_status_tells_of_the_store_and_its_games(empty):
    empty.house.table("straight")
    status = empty.told("status", "--json")
    (server,) = status["servers"]
    assert (server["kind"], server["role"], server["append_only"]) == ("valkey", "master", True)
    assert server["memory_bytes"] > 0
    assert status["census"]["games"] == {"waiting": 0, "playing": 1, "finished": 0, "closed": 0}
    assert status["frozen"] is None
    assert "1 playing" in empty.said("status")


# -------------------------------------------------------------------------------------- freezing


def test_new_tables_are_frozen_in_all_workers_at_once(empty):
    body = {"variant": "straight", "name": "ada", "options": {"deals": 1}}

    def make() -> requests.Response:
        # A connection of its own each time: any of the workers takes it.
        return requests.post(f"{empty.service}/v1/games", json=body, timeout=10)

    assert {make().status_code for _ in range(8)} == {201}
    empty.said("freeze", "--reason", "back at \x1b[31mnoon")
    try:
        answers = [make() for _ in range(20)]
        assert {answer.status_code for answer in answers} == {503}
        assert {answer.json()["code"] for answer in answers} == {"tables_frozen"}
        assert answers[0].json()["params"] == {"reason": "back at [31mnoon"}
        assert answers[0].headers["Retry-After"] == "60"
        assert requests.get(f"{empty.service}/readyz", timeout=10).status_code == 200
        assert "back at [31mnoon" in empty.said("status")
        assert empty.told("status", "--json")["frozen"]["reason"] == "back at [31mnoon"
    finally:
        empty.said("thaw")
    assert {make().status_code for _ in range(8)} == {201}
    assert empty.said("thaw") == "New tables were not frozen.\n"


# --------------------------------------------------------------------------------- what goes wrong


def test_a_store_that_does_not_answer_is_one_clear_line():
    result = rummy("admin", "list", RUMMY_REDIS_URL="redis://me:sesame@localhost:1")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: The store cannot do that: ")
    assert result.stderr.count("\n") == 1
    assert "sesame" not in result.stderr


def test_a_wrong_password_is_one_clear_line_without_it(redis_url):
    if not redis_url.startswith("unix"):
        pytest.skip("for the embedded store")
    wrong = redis_url.replace("unix://", "unix://nobody:sesame@")
    result = rummy("admin", "status", RUMMY_REDIS_URL=wrong)
    assert result.returncode == 1
    assert "invalid username-password pair" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "sesame" not in result.stderr


def test_a_variable_that_is_no_setting_is_told_as_by_serve():
    result = rummy("admin", "list", RUMMY_REDIS_ULR="redis://localhost")
    assert result.returncode == 2
    assert "did you mean RUMMY_REDIS_URL" in result.stderr


def test_where_there_is_no_store_none_is_made(tmp_path):
    result = rummy("admin", "--data-dir", str(tmp_path / "games"), "list")
    assert result.returncode == 1
    assert "There is no store" in result.stderr
    assert not (tmp_path / "games").exists()


def test_there_is_no_such_game(place):
    for command in (("show",), ("export",), ("export", "--replay"), ("close",)):
        for game_id in ("a" * 16, "nonsense", "rummy:*", "aaaaaaaaaaaaaaa*"):
            result = place.run(*command, game_id)
            assert (result.exit_code, result.stdout) == (1, ""), command
            assert result.stderr == "Error: There is no game with this id; it may have expired.\n"


def test_while_the_service_is_down_its_own_store_is_looked_after_too():
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        with EmbeddedStore(data) as store:
            table = House(store.url).waiting("straight")
            assert running_at(data) == store.url
        assert running_at(data) is None
        result = rummy("admin", "--data-dir", directory, "close", table.id)
        assert (result.returncode, result.stderr) == (0, "")
        with EmbeddedStore(data) as store:
            assert House(store.url).store.load(table.id).status == "closed"
            # A copy of the directory is another one, whatever its files say.
            copy = data / "copy"
            copy.mkdir()
            (copy / "lock").write_bytes((data / "lock").read_bytes())
            assert running_at(copy) is None


def test_all_primaries_of_a_cluster_are_looked_after(tmp_path):
    with tempfile.TemporaryDirectory() as directory, cluster(Path(directory), replicas=0) as fleet:
        place = Place("", fleet.url, tmp_path, {"RUMMY_REDIS_URL": fleet.url})
        tables = [place.house.waiting("straight", more={"public": True}) for _ in range(8)]
        table, hashes = well_used(place.house)
        listed = place.told("list", "--json")
        assert {game["id"] for game in listed} == {table.id, *(each.id for each in tables)}
        status = place.told("status", "--json")
        assert len(status["servers"]) == 3
        assert status["census"]["games"]["waiting"] == 8
        parts = [key["key"].split(":")[2] for key in place.told("show", table.id, "--json")["keys"]]
        assert parts == ["begins", "claim", "claim", "events", "game"]
        gone = [table.id, *(each.id for each in tables[:4])]
        place.said("delete", *gone, "--yes")
        for node in fleet.primaries():
            with redis.Redis(port=node.port) as server:
                kept = b"".join(everything(server))
                assert not any(text.encode() in kept for text in [*gone, *hashes])
        assert len(place.told("list", "--json")) == 4
        place.said("freeze")
        assert code(place.house.new_table("straight", options={"deals": 1})) == "tables_frozen"
        place.said("thaw")


def test_a_store_whose_socket_lies_elsewhere_is_found():
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / ("d" * 120)
        with EmbeddedStore(data) as store:
            assert not store.url.endswith(f"{'d' * 120}/valkey.sock")
            House(store.url).waiting("straight")
            result = rummy("admin", "--data-dir", str(data), "list", "--json")
            assert len(json.loads(result.stdout)) == 1

"""Who asks too often is put off, and nobody else is: not at the same table, not behind the same
address."""

import os
import re
import secrets
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address

import pytest
import redis
import requests
from werkzeug.test import TestResponse

from service.api.rate_limits import LIMITED
from service.config import Config
from service.counters import Counters, Window
from service.servers import Servers
from service.tokens import hash_of
from tests.contract import operations_of
from tests.http.refusals import too_often
from tests.http.tables import House, Player, code
from tests.serving import served_at


def strict(redis_url: str, **limits: object) -> House:
    """A service with these limits."""
    return House(redis_url, rate_limits=True, **limits)


@pytest.fixture
def address() -> str:
    """An address that nobody has asked from."""
    return str(IPv4Address(secrets.randbits(32)))


def ask(house: House, method: str, path: str, address: str, **options: object) -> TestResponse:
    return house.client().request(
        method, path, environ_overrides={"REMOTE_ADDR": address}, **options
    )


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# ------------------------------------------------------------------------------- what it is like


def test_one_too_many_is_told_when_to_come_back(house):
    answer = too_often(house)
    assert (answer.status_code, code(answer)) == (429, "rate_limited")
    seconds = int(answer.headers["Retry-After"])
    assert 58 <= seconds <= 60
    assert answer.json["params"] == {
        "limit": "create",
        "most": 1,
        "window_seconds": 60,
        "retry_after_seconds": seconds,
    }
    assert answer.headers["RateLimit-Policy"] == '"create";q=1;w=60'
    assert answer.headers["RateLimit"] == f'"create";r=0;t={seconds}'


def test_each_answer_says_how_many_more_there_may_be(redis_url, address):
    house = strict(redis_url, limit_create="3/minute;5/hour")
    told = [
        ask(house, "POST", "/v1/sandbox", address, json={}).headers["RateLimit"] for _ in range(4)
    ]
    left = [re.findall(r"r=(\d)", text) for text in told]
    assert left == [["2", "4"], ["1", "3"], ["0", "2"], ["0", "2"]]
    assert told[0].startswith('"create-60";r=2;t=60, "create-3600";r=4;t=3600')


def test_when_the_time_is_up_it_goes_on(redis_url, address):
    house = strict(redis_url, limit_create="1/second")
    assert ask(house, "POST", "/v1/sandbox", address, json={}).status_code == 201
    refused = ask(house, "POST", "/v1/sandbox", address, json={})
    assert refused.status_code == 429
    time.sleep(int(refused.headers["Retry-After"]))
    assert ask(house, "POST", "/v1/sandbox", address, json={}).status_code == 201


def test_two_windows_can_be_full_for_equally_long(redis_url, address):
    house = strict(redis_url, limit_create="1/minute;1/hour")
    ask(house, "POST", "/v1/sandbox", address, json={})
    for key in house.redis.scan_iter(f"rummy:limits:{{create:{address}}}:*"):
        house.redis.pexpireat(key, round(1000 * time.time()) + 30_000)
    answer = ask(house, "POST", "/v1/sandbox", address, json={})
    assert code(answer) == "rate_limited"
    assert int(answer.headers["Retry-After"]) <= 30


def test_what_was_put_off_has_not_been_counted(redis_url, address):
    house = strict(redis_url, limit_create="1/second;3/hour")
    for _ in range(5):
        ask(house, "POST", "/v1/sandbox", address, json={})
    time.sleep(1)
    assert ask(house, "POST", "/v1/sandbox", address, json={}).status_code == 201


def test_what_was_put_off_has_not_happened(redis_url):
    house = strict(redis_url, limit_changes="1/minute")
    table = house.table("straight")
    mover = table.mover
    mover.draw("stock")
    before = table.stored()
    card = mover.look()["hand"][0]
    answer = mover.post("discard", {"card": card}, idempotency_key="k")
    assert (answer.status_code, table.stored()) == (429, before)


def test_every_limit_can_be_reached_by_what_it_is_for(redis_url, address, document):
    assert LIMITED.keys() <= operations_of(document).keys()
    for name in set(LIMITED.values()) | {"failures"}:
        assert f"limit_{name}" in Config.__struct_fields__


def test_every_change_is_limited(document):
    changes = {
        name
        for name, operation in operations_of(document).items()
        if "requestBody" in operation or "Idempotency-Key" in str(operation.get("parameters"))
    }
    assert changes <= LIMITED.keys()


def test_a_browser_that_asks_beforehand_is_not_counted(redis_url, address):
    house = strict(redis_url, limit_create="1/minute")
    for _ in range(3):
        assert ask(house, "OPTIONS", "/v1/sandbox", address).status_code == 200
    assert ask(house, "POST", "/v1/sandbox", address, json={}).status_code == 201


# ------------------------------------------------------------------------------- who is counted


def test_others_at_the_table_and_at_the_address_do_not_keep_a_seat_from_its_move(redis_url):
    house = strict(redis_url, limit_changes="5/minute", limit_failures="2/minute")
    table = house.table("straight", players=3)
    mover = table.mover
    for other in table.players:
        if other is not mover:
            assert "429" in {str(other.draw("stock").status_code) for _ in range(9)}
    for _ in range(9):
        made_up = Player(house.client(), table.id, None, f"{table.id}.{secrets.token_urlsafe(32)}")
        refused = made_up.draw("stock")
    assert code(refused) == "rate_limited"
    assert mover.draw("stock").status_code == 200


def test_a_token_that_is_right_is_never_refused_for_wrong_ones(redis_url, address):
    house = strict(redis_url, limit_failures="2/minute")
    table = house.table("straight")
    path = f"/v1/games/{table.id}"
    wrong = bearer(f"{table.id}.{'A' * 43}")
    refused = [code(ask(house, "GET", path, address, headers=wrong)) for _ in range(4)]
    assert refused == ["not_your_seat", "not_your_seat", "rate_limited", "rate_limited"]
    assert code(ask(house, "GET", path, address, headers=bearer("x"))) == "rate_limited"
    for player in table.players:
        right = ask(house, "GET", path, address, headers=bearer(player.token))
        assert right.status_code == 200
    assert ask(house, "GET", path, address).status_code == 200


def test_a_host_and_who_forgets_the_token_have_not_guessed(redis_url, address):
    house = strict(redis_url, limit_failures="1/minute")
    table = house.waiting("straight", 3, 2)
    start = f"/v1/games/{table.id}/start"
    guest = bearer(table.players[1].token)
    for _ in range(3):
        assert code(ask(house, "POST", start, address, json={})) == "no_token"
        answer = ask(house, "POST", start, address, json={}, headers=guest)
        assert code(answer) == "not_the_host"


def test_invitations_are_guessed_slowly(redis_url, address):
    house = strict(redis_url, limit_join="3/minute")
    table = house.waiting("straight", 3, more={"private": True})
    join = f"/v1/games/{table.id}/join"
    body = {"name": "bo", "invitation": "aaaaa-aaaaa"}
    answers = [code(ask(house, "POST", join, address, json=body)) for _ in range(4)]
    assert answers == ["invitation_needed"] * 3 + ["rate_limited"]


def test_addresses_are_counted_for_themselves_and_networks_of_ipv6_as_one(redis_url):
    house = strict(redis_url, limit_create="1/hour")
    network = f"2001:db8:{secrets.randbits(16):x}:{secrets.randbits(16):x}"

    def make(address: str) -> int:
        return ask(house, "POST", "/v1/sandbox", address, json={}).status_code

    assert [make(f"{network}::1"), make(f"{network}:abcd::2")] == [201, 429]
    assert make(f"2001:db8:0:{secrets.randbits(16):x}::1") == 201
    mapped = str(IPv4Address(secrets.randbits(32)))
    assert [make(mapped), make(f"::ffff:{mapped}")] == [201, 429]


def test_a_forged_address_counts_only_where_a_proxy_is_believed(redis_url, address):
    def make(house: House, forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded}
        return ask(house, "POST", "/v1/sandbox", address, json={}, headers=headers).status_code

    open_house = strict(redis_url, limit_create="1/hour")
    assert [make(open_house, "192.0.2.1"), make(open_house, "192.0.2.2")] == [201, 429]
    behind = strict(redis_url, limit_create="1/hour", proxies=1)
    real = str(IPv4Address(secrets.randbits(32)))
    assert make(behind, real) == 201
    # What the client itself wrote stands before what the proxy has added.
    assert [make(behind, f"192.0.2.{n}, {real}") for n in range(3)] == [429, 429, 429]
    assert make(behind, f"{real}, {IPv4Address(secrets.randbits(32))}") == 201


def test_nothing_that_is_kept_for_it_is_a_secret_or_stays(redis_url, address):
    house = strict(redis_url, limit_changes="10/minute")
    table = house.table("straight")
    token = table.players[0].token
    table.players[0].draw("stock")
    keys = [key.decode() for key in house.redis.scan_iter("rummy:limits:*")]
    assert any(hash_of(token)[:32] in key for key in keys)
    assert not any(token in key or token.partition(".")[2] in key for key in keys)
    assert all(house.redis.pttl(key) > 0 for key in keys if house.redis.exists(key))


# ------------------------------------------------------------------------------ what it may cost


def test_counting_is_one_round_trip_however_many_windows_there_are(redis_url, address):
    house = strict(redis_url, limit_create="100/minute;1000/hour;2000/day")
    free = House(redis_url)

    def trips(house: House) -> int:
        before = house.redis.info("commandstats")
        ask(house, "POST", "/v1/sandbox", address, json={})
        after = house.redis.info("commandstats")
        sent = "cmdstat_evalsha"
        return after[sent]["calls"] - before[sent]["calls"]

    trips(house)
    trips(free)
    assert trips(house) == trips(free) + 1


@pytest.mark.parametrize("trouble", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "stalled"])
def test_without_the_store_nobody_waits_longer_for_the_limits(valkey, trouble):
    house = strict(valkey.url)
    table = house.table("straight")
    os.kill(valkey.pid, trouble)
    try:
        for _ in range(3):
            began = time.monotonic()
            answer = table.players[0].draw("stock")
            assert (answer.status_code, code(answer)) == (503, "store_unavailable")
            assert time.monotonic() - began < 1.5  # its own 0.8 seconds, and 0.2 once
        began = time.monotonic()
        with ThreadPoolExecutor(60) as threads:
            answers = list(threads.map(lambda _: table.players[0].draw("stock"), range(60)))
        assert {answer.status_code for answer in answers} == {503}
        assert time.monotonic() - began < 2.5
    finally:
        if trouble == signal.SIGSTOP:
            os.kill(valkey.pid, signal.SIGCONT)


def test_where_nothing_can_be_counted_all_goes_on_and_is_counted_again_soon(valkey):
    house = strict(valkey.url, limit_create="2/hour")
    house.redis.config_set("maxmemory", 1)  # reading goes on, and nothing can be written
    house.redis.config_set("maxmemory-policy", "noeviction")
    answer = ask(house, "POST", "/v1/sandbox", "192.0.2.1", json={})
    assert code(answer) == "store_unavailable"
    house.redis.config_set("maxmemory", 0)
    time.sleep(1.1)
    made = [ask(house, "POST", "/v1/sandbox", "192.0.2.1", json={}) for _ in range(3)]
    assert [answer.status_code for answer in made] == [201, 201, 429]


def test_many_at_once_are_counted_one_by_one(each_redis_url):
    counters = Counters(Servers(each_redis_url, 5))
    key = secrets.token_hex(8)
    with ThreadPoolExecutor(40) as threads:
        counted = list(threads.map(lambda _: counters.count(key, [Window(25, 60)]), range(40)))
    known = [each for each in counted if each is not None]
    assert sum(each.fits for each in known) == min(25, len(known))
    assert len(known) == 40


def test_what_is_counted_ahead_exceeds_the_limit_by_less_than_a_share_of_each_process(redis_url):
    key, window = secrets.token_hex(8), Window(40, 60)
    processes = [Counters(Servers(redis_url, 5)) for _ in range(3)]
    fitting = [0, 0, 0]
    for turn in range(300):
        counted = processes[turn % 3].count_ahead(key, window, 5)
        assert counted is not None
        assert counted.counts[0] <= 40 + 4
        assert 50 < counted.seconds_left[0] <= 60
        fitting[turn % 3] += counted.fits
    assert 40 <= sum(fitting) <= 40 + 3 * 4
    with redis.Redis.from_url(redis_url) as raw:
        assert int(raw.get(f"rummy:limits:{{{key}}}:60") or 0) == 40
    alone = Counters(Servers(redis_url, 5))
    key = secrets.token_hex(8)
    counted_alone = [alone.count_ahead(key, window, 5) for _ in range(50)]
    assert [each.fits for each in counted_alone if each] == [True] * 40 + [False] * 10
    assert [each.counts[0] for each in counted_alone if each] == [*range(1, 41), *[40] * 10]


def test_what_is_counted_ahead_costs_few_round_trips_and_is_forgotten_with_its_window(redis_url):
    with redis.Redis.from_url(redis_url) as raw:

        def told() -> int:
            return sum(
                command["calls"]
                for name, command in raw.info("commandstats").items()
                if name in {"cmdstat_evalsha", "cmdstat_eval"}
            )

        counters = Counters(Servers(redis_url, 5))
        key, window = secrets.token_hex(8), Window(100, 1)
        counters.count(key, [window])  # the script is known from now on
        before = told()
        assert all(counters.count_ahead(key, window, 5) for _ in range(4))
        assert told() == before
        assert all(counters.count_ahead(key, window, 5) for _ in range(6))
        assert told() - before == 2
        time.sleep(1.1)
        counted = counters.count_ahead(key, window, 5)
        assert counted is not None
        assert counted.counts == (1,)


def test_many_tokens_that_nobody_has_take_no_room_in_a_process(redis_url):
    counters = Counters(Servers(redis_url, 5))
    for number in range(4200):
        counters.count_ahead(f"{number}", Window(100, 60), 5)
    assert len(counters._ahead) == 4096


def test_a_counter_whose_time_is_up_leaves_nothing_to_the_next_window(redis_url):
    key = secrets.token_hex(8)
    with redis.Redis.from_url(redis_url) as raw:
        raw.set(f"rummy:limits:{{{key}}}:60", 25)  # as in its last millisecond: nothing is left
        counted = Counters(Servers(redis_url, 5)).count(key, [Window(25, 60)])
        assert counted is not None
        assert (counted.fits, counted.counts, counted.seconds_left) == (True, (1,), (60,))
        assert raw.pttl(f"rummy:limits:{{{key}}}:60") > 0


# ---------------------------------------------------------------------------- on a real service


def test_waiting_requests_are_bounded_by_seat_and_their_places_come_back(tmp_path):
    with served_at(tmp_path, RUMMY_RATE_LIMITS="true", RUMMY_MOST_WAITS="2") as address:
        made = requests.post(f"{address}/v1/sandbox", json={}, timeout=9).json()
        game = f"{address}/v1/games/{made['game']['id']}"
        anna, bo = (bearer(seat["token"]) for seat in made["seats"])
        stream = {"Accept": "text/event-stream"}

        def events(who: dict[str, str]) -> requests.Response:
            return requests.get(f"{game}/events", headers=who | stream, stream=True, timeout=9)

        first, second = events(anna), events(anna)
        third = events(anna)
        assert third.status_code == 429
        assert third.json()["params"] == {"limit": "waits", "most": 2, "retry_after_seconds": 5}
        waited = requests.get(f"{game}?wait=5", headers=anna | {"If-None-Match": '"2"'}, timeout=9)
        assert waited.status_code == 429
        assert requests.get(game, headers=anna, timeout=9).status_code == 200
        assert events(bo).status_code == events({}).status_code == 200
        first.close()
        second.close()
        requests.post(f"{game}/draw", headers=anna, json={"from": "stock"}, timeout=9)
        deadline = time.monotonic() + 20
        while events(anna).status_code == 429:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_the_client_in_python_comes_back_when_it_was_asked_to(tmp_path):
    from service.client import Client

    with served_at(tmp_path, RUMMY_RATE_LIMITS="true", RUMMY_LIMIT_CREATE="1/second") as address:
        client = Client(address)
        began = time.monotonic()
        for _ in range(3):
            client.post("/v1/sandbox", {}, dict)
        assert time.monotonic() - began > 1

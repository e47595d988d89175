"""A match against `rummy serve`, with two workers and real sockets, as two browsers would play it.

Each player polls for news with If-None-Match and knows nothing but the own answers.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
import requests

from service.api import contract
from tests.contract import CheckedClient
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import House, QuickContract

ROOT = Path(__file__).parent.parent.parent
RUMMY = [sys.executable, "-c", "from service.cli import main; main(prog_name='rummy')"]
PATIENCE = 60.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a service with two workers and a store of its own listens."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RUMMY_")}
    environment["RUMMY_RATE_LIMITS"] = "false"  # the players here are faster than any others
    data = tmp_path_factory.mktemp("served")
    process = subprocess.Popen(
        [*RUMMY, "serve", "--port", "0", "--workers", "2", "--data-dir", str(data)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    greeting = process.stdout.readline()
    found = re.search(r"http://\S+:\d+", greeting)
    try:
        assert found, greeting
        yield found.group()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(15)
        process.stdout.close()
    assert process.returncode == 0


@pytest.fixture(scope="module")
def judge(house: House) -> QuickContract:
    return QuickContract(contract(house.app))


@pytest.fixture
def browser(address: str, judge: QuickContract) -> Iterator[Callable[[], CheckedClient]]:
    """Makes clients that keep their connection open, until the end of the test."""
    with ExitStack() as sessions:
        yield lambda: CheckedClient(sessions.enter_context(requests.Session()), judge, address)


class Polling:
    """A player in a browser of the own."""

    def __init__(self, client: CheckedClient, seated: dict, seed: int) -> None:
        self.client = client
        self.path = f"/v1/games/{seated['game']['id']}"
        self.seat = seated["seat"]
        self.headers = {"Authorization": f"Bearer {seated['token']}"}
        self.chance = Random(seed)
        self.unchanged = 0
        self.book = Ledger(self.seat)

    def play(self) -> dict:
        """Play to the end of the match and return the last view."""
        deadline = time.monotonic() + PATIENCE
        view = self.look()
        while view["status"] != "finished":
            assert time.monotonic() < deadline
            if view["deal"] and view["deal"]["turn"] == self.seat:
                move = choose(view, self.chance)
                pinned = self.headers | {"If-Match": f'"{view["version"]}"'}
                answer = self.client.post(
                    f"{self.path}/{move['move']}", json=move, headers=pinned, timeout=5
                )
                assert answer.status_code == 200, answer.text
                view = answer.json()["game"]
            else:
                view = self.poll(view)
        self.read_on()
        return view

    def look(self) -> dict:
        return self.client.get(self.path, headers=self.headers, timeout=5).json()

    def poll(self, view: dict) -> dict:
        """The view when it is another one; each new one agrees with the log."""
        known = self.headers | {"If-None-Match": f'"{view["version"]}"'}
        answer = self.client.get(self.path, headers=known, timeout=5)
        if answer.status_code == 304:
            self.unchanged += 1
            time.sleep(0.02)
            return view
        assert answer.json()["version"] > view["version"]
        return answer.json()

    def read_on(self) -> None:
        page = {"more": True}
        while page["more"]:
            page = self.client.get(
                f"{self.path}/events?after={self.book.read}&limit=40",
                headers=self.headers,
                timeout=5,
            ).json()
            self.book.enter(page["events"])


def test_a_match_between_two_browsers(browser):
    ada, bo = browser(), browser()
    made = ada.post(
        "/v1/games",
        json={
            "variant": "straight",
            "name": "ada",
            "public": True,
            "options": {"deals": 2, "hand_size": 4},
            "practice": {"seed": "served"},
        },
        timeout=5,
    ).json()
    (listed,) = bo.get("/v1/games", timeout=5).json()["tables"]
    assert listed["id"] == made["game"]["id"]
    joined = bo.post(f"/v1/games/{listed['id']}/join", json={"name": "bo"}, timeout=5).json()
    players = [Polling(ada, made, 1), Polling(bo, joined, 2)]
    with ThreadPoolExecutor(2) as threads:
        views = list(threads.map(Polling.play, players))
    assert views[0]["result"] == views[1]["result"]
    score = ada.get(f"/v1/games/{listed['id']}/score", timeout=5).json()
    for player, view in zip(players, views, strict=True):
        assert player.unchanged
        player.book.agrees_with(view)
        assert player.book.results == score["deals"]


def test_the_answers_have_the_headers_that_they_have_in_process(browser):
    client = browser()
    made = client.post(
        "/v1/games",
        json={"variant": "straight", "name": "ada", "options": {"deals": 1}},
        timeout=5,
    )
    game = made.json()["game"]["id"]
    assert made.headers["Location"] == f"/v1/games/{game}"
    assert made.headers["ETag"] == '"1"'
    unchanged = client.get(f"/v1/games/{game}", headers={"If-None-Match": 'W/"1"'}, timeout=5)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    head = client.request("HEAD", f"/v1/games/{game}", timeout=5)
    assert (head.status_code, head.content) == (200, b"")


def test_a_body_sent_in_chunks_is_read_and_limited(browser):
    client = browser()
    typed = {"headers": {"Content-Type": "application/json"}, "timeout": 5}
    small = [b'{"variant": "straight", ', b'"name": "ada", "options": {"deals": 1}}']
    assert client.post("/v1/games", data=iter(small), **typed).status_code == 201
    large = (b" " * 10_000 for _ in range(8))
    assert client.post("/v1/games", data=large, **typed).status_code == 413
    assert client.get("/healthz", timeout=5).status_code == 200


@pytest.mark.parametrize("path", ["/v1/games/../../etc/passwd", "/v1/games/%00", "/%ff", "/🦊"])
def test_odd_paths_are_not_found(browser, path):
    assert browser().get(path, timeout=5).status_code == 404


WHOLE = b"POST /v1/games HTTP/1.1\r\nContent-Type: application/json\r\n"
CHUNKED = WHOLE + b"Transfer-Encoding: chunked\r\n"


NOT_QUITE_HTTP = {
    "a long path": (b"GET /v1/games/" + b"a" * 5_000 + b" HTTP/1.1\r\n\r\n", 414),
    "a long header": (b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    "many headers": (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431),
    "another protocol": (b"\x16\x03\x01\r\n\r\n", 400),
    "less than nothing": (WHOLE + b"Content-Length: -5\r\n\r\n{}", 400),
    "far too much": (WHOLE + b"Content-Length: 99999999999\r\n\r\n", 413),
    "less than was said": (WHOLE + b"Content-Length: 500\r\n\r\n{", 400),
    "a whole table, but less than was said": (
        WHOLE
        + b"Content-Length: 500\r\n\r\n"
        + b'{"variant": "straight", "name": "Ada", "options": {"deals": 1}}',
        400,
    ),
    "two lengths": (CHUNKED + b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk of no size": (CHUNKED + b"\r\nzz\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk cut short": (CHUNKED + b"\r\nff\r\n{}", 400),
}


@pytest.mark.parametrize(("sent", "status"), NOT_QUITE_HTTP.values(), ids=NOT_QUITE_HTTP)
def test_what_is_not_quite_http_is_refused(address, sent, status):
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").readline()
    assert answer.split()[1] == b"%d" % status

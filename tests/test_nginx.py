"""deploy/nginx.conf in a real nginx, with two real services of one store behind it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
import requests

from deploy.check import nginx_for
from tests.patience import until
from tests.serving import Service, serving
from tests.test_docs import Browser, Page, browser

__all__ = ["browser"]

ROOT = Path(__file__).parent.parent
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
TABLE = {"variant": "straight", "name": "Ada", "options": {"deals": 1}}
SECONDS = 10

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
    pytest.mark.skipif(NGINX is None and not os.environ.get("CI"), reason="nginx is not installed"),
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def proxied(place: Path, behind_it: list[str]) -> Iterator[str]:
    """The address of nginx with the configuration as it is, but for ports and files."""
    port = free_port()
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    servers = (f"server {one.removeprefix('http://')}\\1" for one in behind_it)
    text, found = re.subn(r"(?m)^ +server 127\.0\.0\.1:8000( .*;)$", " ".join(servers), text)
    assert found == 1
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};", 1)
    process = subprocess.Popen(
        [str(NGINX), "-c", nginx_for(text, place), "-g", "daemon off;"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        deadline = time.monotonic() + SECONDS
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(SECONDS)
        process.stderr.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nginx")


@pytest.fixture(scope="module")
def server(place: Path, redis_url: str) -> Iterator[str]:
    with ExitStack() as stack:
        services = [stack.enter_context(behind(place, redis_url)) for _ in range(2)]
        yield stack.enter_context(proxied(place, [one.url for one in services]))


@contextmanager
def behind(place: Path, redis_url: str) -> Iterator[Service]:
    environment = {"RUMMY_REDIS_URL": redis_url, "RUMMY_PROXIES": "1", "RUMMY_RATE_LIMITS": "false"}
    with serving(place, "--workers", "1", **environment) as service:
        yield service


@pytest.fixture
def address(server: str) -> str:
    return f"{server}/rummy"


def made(address: str) -> dict:
    answer = requests.post(f"{address}/v1/sandbox", json={}, timeout=SECONDS)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_bots_play_a_match_through_it(address):
    match = ["examples/match.py", "--quiet", "--url", address, "--option", "deals=1"]
    subprocess.run([sys.executable, *match], cwd=ROOT, timeout=120, check=True)


def test_an_event_comes_at_once_though_the_stream_is_compressed(address):
    table = made(address)
    game = f"{address}/v1/games/{table['game']['id']}"
    accept = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
    with requests.get(f"{game}/events", headers=accept, stream=True, timeout=SECONDS) as stream:
        assert stream.headers["Content-Encoding"] == "gzip"
        text = Unpacked(stream)
        text.read_until(b"event: game\n")
        token = {"Authorization": f"Bearer {table['seats'][0]['token']}"}
        moved = requests.post(
            f"{game}/draw", json={"from": "stock"}, headers=token, timeout=SECONDS
        )
        assert moved.status_code == 200
        done = time.monotonic()
        text.read_until(b'"drew"')
        assert time.monotonic() - done < 0.5


class Unpacked:
    """The text of a compressed answer, as soon as there is any."""

    def __init__(self, answer: requests.Response) -> None:
        self._socket = answer.raw
        self._unpack = zlib.decompressobj(wbits=31)
        self.text = b""

    def read_until(self, wanted: bytes) -> None:
        while wanted not in self.text:
            piece = self._socket.read1(65536, decode_content=False)
            assert piece, "the stream is over"
            self.text += self._unpack.decompress(piece)


def test_what_waits_is_not_cut_off(address):
    table = made(address)
    game = f"{address}/v1/games/{table['game']['id']}"
    begun = time.monotonic()
    known = {"If-None-Match": f'"{table["game"]["version"]}"'}
    assert requests.get(f"{game}?wait=3", headers=known, timeout=SECONDS).status_code == 304
    assert time.monotonic() - begun >= 3


def test_addresses_in_answers_have_the_prefix(address, server):
    answer = requests.post(f"{address}/v1/games", json=TABLE, timeout=SECONDS)
    assert answer.headers["Location"].startswith("/rummy/v1/games/")
    assert requests.get(server + answer.headers["Location"], timeout=SECONDS).status_code == 200
    refused = requests.get(f"{address}/v1/games/nothing", timeout=SECONDS)
    problem = refused.json()
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert problem["instance"] == "/rummy/v1/games/nothing"
    assert requests.get(server + problem["type"], timeout=SECONDS).status_code == 200


def test_the_page_can_be_used_under_the_prefix(address, browser: Browser):
    page = Page(browser, address)
    assert page.send("sandbox", "createSandbox")["HTTP"] == 201
    assert page.send("play", "draw")["HTTP"] == 200
    assert {url.startswith((f"{address}/", "data:")) for url in browser.requested} == {True}
    assert browser.complaints == []


@pytest.mark.parametrize("path", ["", "/"])
def test_the_prefix_alone_leads_to_the_page(address, path):
    answer = requests.get(address + path, timeout=SECONDS)
    assert answer.status_code == 200
    assert answer.url == f"{address}/docs"


FOR_THE_OPERATOR = ["metrics", "readyz", "metrics/", "/metrics", "./readyz", "%6detrics"]


@pytest.mark.parametrize("path", FOR_THE_OPERATOR)
def test_what_is_for_the_operator_is_not_given_out(server, path):
    host, _, port = server.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        # By hand, since requests would clean the path.
        connection.sendall(f"GET /rummy/{path} HTTP/1.0\r\n\r\n".encode())
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.split()[1] == b"404"
    assert is_problem(json.loads(body), 404)


def test_nothing_else_is_served_there(server):
    assert requests.get(f"{server}/v1/variants", timeout=SECONDS).status_code == 404
    assert requests.get(f"{server}/rummyx/healthz", timeout=SECONDS).status_code == 404


def is_problem(body: dict, status: int) -> bool:
    needed = {"type", "title", "status", "detail", "instance", "code"}
    return needed <= body.keys() and body["status"] == status


def test_a_body_that_is_too_large_is_a_problem_whoever_refuses_it(address):
    typed = {"headers": {"Content-Type": "application/json"}, "timeout": SECONDS}
    for size in (70_000, 200_000):
        answer = requests.post(f"{address}/v1/games", data=b" " * size, **typed)
        assert answer.status_code == 413
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "body_too_large"
        assert is_problem(answer.json(), 413)


def test_nobody_can_forge_where_the_service_is(address):
    forged = {"X-Forwarded-Prefix": "/elsewhere", "X-Forwarded-Host": "elsewhere"}
    answer = requests.get(f"{address}/v1/games/nothing", headers=forged, timeout=SECONDS)
    assert answer.json()["type"].startswith("/rummy/")
    assert "elsewhere" not in answer.text


def test_no_token_is_logged_but_the_request_id(address, place):
    headers = {"Authorization": "Bearer secret-token", "X-Request-ID": "of-the-client"}
    requests.get(f"{address}/v1/variants", headers=headers, timeout=SECONDS)
    headers["X-Request-ID"] = "not one, as it has spaces"
    requests.get(f"{address}/v1/variants?not_logged=1", headers=headers, timeout=SECONDS)
    log: list[dict[str, str]] = []

    def both_are_logged() -> bool:  # nginx does so after it has answered
        lines = (place / "access.log").read_text().splitlines(keepends=True)
        log[:] = [json.loads(line) for line in lines if line.endswith("\n")]
        return any(entry["request_id"] == "of-the-client" for entry in log[:-1])

    until(both_are_logged)
    after = [entry["request_id"] for entry in log].index("of-the-client") + 1
    assert re.fullmatch("[0-9a-f]{32}", log[after]["request_id"])
    assert "secret-token" not in str(log)
    assert "not_logged" not in str(log)


def test_a_slow_client_is_let_go(server):
    host, _, port = server.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"POST /rummy/v1/games HTTP/1.1\r\nHost: x\r\n")
        begun = time.monotonic()
        with suppress(ConnectionResetError):
            assert b"200" not in connection.recv(100)
    assert 8 < time.monotonic() - begun < 20


def test_a_killed_process_is_not_noticed_and_with_both_gone_all_is_told(tmp_path, redis_url):
    with ExitStack() as stack:
        services = [stack.enter_context(behind(tmp_path, redis_url)) for _ in range(2)]
        address = f"{stack.enter_context(proxied(tmp_path, [one.url for one in services]))}/rummy"
        game = f"{address}/v1/games/{made(address)['game']['id']}"
        kill(services[0])
        assert {requests.get(game, timeout=SECONDS).status_code for _ in range(20)} == {200}
        # A process that is not there took nothing, so that also a POST is for the other.
        assert made(address)
        kill(services[1])
        answer = requests.get(game, timeout=SECONDS)
        assert answer.status_code == 503
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert int(answer.headers["Retry-After"]) > 0
        assert is_problem(answer.json(), 503)


def kill(service: Service) -> None:
    os.killpg(service.process.pid, signal.SIGKILL)
    service.process.wait()


def test_a_post_that_was_sent_is_not_sent_again(tmp_path):
    taken: list[bytes] = []
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        for listener in listeners:
            Thread(target=take_and_say_nothing, args=(listener, taken), daemon=True).start()
        addresses = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
        address = stack.enter_context(proxied(tmp_path, addresses))
        answer = requests.post(f"{address}/rummy/v1/games", json=TABLE, timeout=SECONDS)
        assert answer.status_code == 503
        assert len(taken) == 1


def take_and_say_nothing(listener: socket.socket, taken: list[bytes]) -> None:
    with suppress(OSError):  # it is closed when nobody came
        connection, _ = listener.accept()
        taken.append(connection.recv(65536))
        connection.close()

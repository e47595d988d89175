"""What the service says while it runs: lines that can be read by machines, and nothing secret."""

import logging
import os
import re
import signal
import socket
import sys
import time
from contextlib import nullcontext

import pytest
import requests

from service import current
from service.api.observation import Observed
from service.logs import JsonLines, TextLines
from tests.patience import until
from tests.watched import Watched, watching

JSON = {"RUMMY_LOG_FORMAT": "json", "RUMMY_LOG_LEVEL": "info"}
KEY = "key-that-opens-a-seat-again"
SIGNS_OF_LIFE = {"time", "level", "logger", "pid", "message"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with watching(tmp_path_factory.mktemp("logs"), "--workers=2", **JSON) as watched:
        yield watched


def sent(service: Watched, data: bytes) -> bytes:
    """What is answered to these bytes."""
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


# ----------------------------------------------------------------------------------- request ids


@pytest.mark.parametrize("own", ["a", "7f3c.A_b-9", "x" * 128])
def test_the_id_that_a_request_brings_comes_back(service, own):
    answer = service.get("/healthz", headers={"X-Request-ID": own})
    assert answer.headers["X-Request-ID"] == own


TOKEN = f"{'a' * 16}.{'B' * 43}"


@pytest.mark.parametrize(
    "other", [None, "", "a b", "x" * 129, "ü".encode(), "a\tb", "a,b", '"', TOKEN, f"id-{TOKEN}"]
)
def test_one_without_a_usable_id_gets_one(service, other):
    answer = service.get("/healthz", headers={"X-Request-ID": other} if other is not None else {})
    assert re.fullmatch("[0-9a-f]{24}", answer.headers["X-Request-ID"])


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/nowhere",
        "/docs",
        "/docs-assets/swagger-ui.css",
        "/openapi.json",
        "/v1/games/x",
    ],
)
def test_every_answer_has_an_id(service, path):
    assert service.get(path).headers["X-Request-ID"]


def test_a_stream_has_an_id_and_one_line_when_it_ends(service):
    game, (first, second) = service.sandbox()
    taken = first | {"Accept": "text/event-stream"}
    with service.get(f"{game}/events", headers=taken, stream=True) as stream:
        own = stream.headers["X-Request-ID"]
        next(stream.iter_lines())
        assert not [line for line in service.lines() if line.get("request_id") == own]
    for change in ("leave", "return"):  # that nobody takes it any more is noticed at the second
        service.post(f"{game}/{change}", {}, headers=second)
        time.sleep(0.2)
    line = service.request_line(stream)
    assert (line["operation"], line["stream"], line["seat"]) == ("getEvents", True, 0)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nAuthorization: Bearer sesame\x01\r\n\r\n", 400),
        (b"GET /sesame HTTP/9.1\r\n\r\n", 400),
        (b"GET /sesame" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nX: sesame" + b"a" * 20_000 + b"\r\n\r\n", 431),
        (b"POST /v1/games HTTP/1.1\r\nTransfer-Encoding: sesame\r\n\r\n", 501),
    ],
)
def test_what_is_not_http_has_an_id_and_a_line_that_repeats_nothing_of_it(service, data, status):
    head = sent(service, data).decode()
    assert head.startswith(f"HTTP/1.1 {status} ")
    own = re.search(r"\r\nX-Request-ID: (\S+)\r\n", head)
    assert own
    until(lambda: [one for one in service.lines() if one.get("request_id") == own[1]])
    (line,) = [one for one in service.lines() if one.get("request_id") == own[1]]
    code = "bad_request" if status == 400 else f"http_{status}"
    assert (line["operation"], line["status"], line["code"]) == ("none", status, code)
    assert "sesame" not in service.log.read_text()


# ------------------------------------------------------------------------------------- the lines


def test_a_request_is_one_line_that_says_what_it_was_and_how_it_ended(service):
    game, (first, _) = service.sandbox()
    answer = service.post(f"{game}/draw?check=true", {"from": "stock"}, headers=first)
    line = service.request_line(answer)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line.pop("pid") in service.workers()
    assert 0 < line.pop("duration_ms") < 5000
    assert line == {
        "level": "info",
        "logger": "service.requests",
        "message": "POST /v1/games/{game_id}/draw 200",
        "request_id": answer.headers["X-Request-ID"],
        "method": "POST",
        "operation": "draw",
        "route": "/v1/games/{game_id}/draw",
        "status": 200,
        "game": game.rpartition("/")[2],
        "seat": 0,
        "address": "127.0.0.1",
    }


def test_a_refusal_has_its_code_and_the_seat_that_was_refused(service):
    game, (_, second) = service.sandbox()
    answer = service.post(f"{game}/draw", {"from": "stock"}, headers=second)
    line = service.request_line(answer)
    assert (line["status"], line["code"], line["seat"]) == (409, "not_your_turn", 1)


def test_a_table_that_is_made_has_its_game_though_the_path_does_not(service):
    answer = service.post(
        "/v1/games", {"variant": "straight", "name": "Ada", "options": {"deals": 1}}
    )
    line = service.request_line(answer)
    assert (line["game"], line["seat"]) == (answer.json()["game"]["id"], 0)


def test_the_time_that_was_spent_waiting_is_told_apart(service):
    game, (first, _) = service.sandbox()
    version = service.get(game, headers=first).headers["ETag"]
    answer = service.get(f"{game}?wait=1", headers=first | {"If-None-Match": version})
    line = service.request_line(answer)
    assert 900 < line["waited_ms"] <= line["duration_ms"]


@pytest.mark.parametrize(
    "path", ["/v1/games/%0aforged%1b%5b31m", "/%ff%00", "/v1/nowhere?token=sesame", "/" + "a" * 900]
)
def test_of_a_hostile_path_nothing_is_written(service, path):
    answer = requests.get(service.url + path, timeout=10, headers={"User-Agent": "sesame"})
    line = service.request_line(answer)
    assert line["status"] == 404
    assert "game" not in line
    assert not re.search("forged|sesame|a{40}", service.log.read_text())


def test_an_odd_method_is_one_of_others(service):
    answer = requests.request("SESAME", service.url + "/healthz", timeout=10)
    assert service.request_line(answer)["method"] == "other"
    assert "SESAME" not in service.log.read_text()


def test_at_the_most_talkative_nothing_secret_is_written(tmp_path):
    with watching(tmp_path, "--workers=1", RUMMY_LOG_LEVEL="debug", RUMMY_LOG_FORMAT="json") as it:
        keyed = {"Idempotency-Key": KEY}
        body = {"variant": "straight", "name": "Zenobia", "options": {"deals": 1}, "private": True}
        made = it.post("/v1/games", body, headers=keyed).json()
        game = f"/v1/games/{made['game']['id']}"
        joined = it.post(
            f"{game}/join",
            {"name": "Xanthippe", "invitation": made["invitation"], "entropy": "HTTHTHHT"},
            headers={"Idempotency-Key": KEY + "-too"},
        ).json()
        tokens = [made["token"], joined["token"]]
        for token in tokens:
            header = {"Authorization": f"Bearer {token}"}
            it.post(f"{game}/draw", {"from": "stock"}, headers=header | keyed)
            it.post(f"{game}/discard", {"card": "nonsense"}, headers=header)
            it.get(f"{game}/events", headers=header)
            sent(it, b"GET / HTTP/1.1\r\nAuthorization: Bearer %s\x01\r\n\r\n" % token.encode())
        it.post("/v1/games/query", {"tokens": tokens})
        it.get(game, headers={"Authorization": f"Bearer {tokens[0]}x"})
        it.get(f"/v1/games/{tokens[0]}", headers={"X-Request-ID": tokens[1]})
        os.kill(it.process.pid, signal.SIGHUP)
        until(lambda: "Handling signal: hup" in it.log.read_text())
    written = it.log.read_text()
    assert len(it.lines()) > 15
    names = ["Zenobia", "Xanthippe", "HTTHTHHT"]
    for secret in (*tokens, *(token.partition(".")[2] for token in tokens), KEY, *names):
        assert secret not in written
    assert made["invitation"] not in written


def test_what_gunicorn_says_is_in_the_same_form(service):
    lines = [line for line in service.lines() if line["logger"] == "gunicorn.error"]
    assert any("Booting worker" in line["message"] for line in lines)
    assert all(line.keys() == SIGNS_OF_LIFE for line in lines)


def test_unless_it_is_asked_for_nothing_is_written_about_requests(tmp_path):
    with watching(tmp_path, "--workers=1") as it:
        it.get("/healthz")
        it.get("/nowhere")
    assert it.log.read_text() == ""


# --------------------------------------------------------------------------------------- formats


def record(message: str, error: BaseException | None = None, **fields: object):
    exc_info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord("service.x", logging.ERROR, "", 1, message, (), exc_info)
    made.fields = fields
    return made


def failure(message: str) -> Exception:
    try:
        raise RuntimeError(message)
    except RuntimeError as error:
        return error


def test_a_traceback_is_one_field_of_a_json_line():
    line = JsonLines().format(record("it failed", failure("sentence\nwith a line")))
    assert "\n" not in line
    assert r'with a line"' in line
    assert '"traceback": "Traceback' in line


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_no_line_moves_a_cursor_or_begins_another(form):
    line = form.format(record("a\nb\x1b[31m\u202e\x85", name="c\nd\x9b"))
    assert line.isprintable()
    assert len(form.format(record("a" * 100_000))) < 3000


def test_lines_about_a_request_have_its_id():
    began = current.begin("GET", "my-id")
    try:
        assert '"request_id": "my-id"' in JsonLines().format(record("something is odd"))
        assert (
            TextLines()
            .format(record("something is odd"))
            .endswith(" ERROR service.x: something is odd request_id=my-id")
        )
    finally:
        current.end()
    assert began.id == "my-id"
    assert "request_id" not in JsonLines().format(record("something is odd"))


@pytest.mark.parametrize("end", [SystemExit, ValueError, None])
def test_what_is_to_be_done_afterwards_is_done_once_whatever_becomes_of_the_request(end):
    done = []

    def app(_environ, start_response):
        current.note_afterwards(lambda: done.append(1))
        if end:
            raise end
        start_response("200 OK", [])
        return [b"it is"]

    with pytest.raises(end) if end else nullcontext():
        parts = Observed(app)({"REQUEST_METHOD": "GET"}, lambda *_: None)
        assert list(parts) == [b"it is"]
        assert not done
        parts.close()
    assert done == [1]

"""Clients that keep a connection and say nothing, or too little, or what is not HTTP: real sockets
on a real service."""

import json
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest
import requests

from service.connections import BODY_SECONDS, CROWDED_SECONDS, FIRST_SECONDS
from tests.serving import served_at

TYPED = b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = TYPED + b"Transfer-Encoding: chunked\r\n"
ASKED = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
SLACK = 4.0
"""Seconds that a busy machine may take on top."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Host and port of a service with one worker."""
    with served_at(tmp_path_factory.mktemp("slow")) as address:
        assert requests.get(f"{address}/readyz", timeout=30).ok  # it is loaded now
        host, _, port = address.removeprefix("http://").partition(":")
        yield host, int(port)


@contextmanager
def connected(place: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(place, timeout=60) as connection:
        yield connection


def told(place: tuple[str, int], sent: bytes, *more: tuple[float, bytes]) -> tuple[bytes, float]:
    """All that the service says until it ends the connection, and after how many seconds.

    `more` is what is sent later on, each after so many seconds.
    """
    with connected(place) as connection:
        began = time.monotonic()
        connection.sendall(sent)
        said = b""
        try:
            for pause, part in more:
                time.sleep(pause)
                connection.sendall(part)
            while part := connection.recv(65536):
                said += part
        except (ConnectionResetError, BrokenPipeError):
            pass
        return said, time.monotonic() - began


def problem(said: bytes) -> tuple[int, dict]:
    """The status and the problem of an answer."""
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head, said
    assert b"nosniff" in head
    return int(said.split()[1]), json.loads(body)


def test_who_is_slow_is_let_go_and_nobody_else_has_to_wait(place):
    slowly = [(1.0, b"X")] * int(FIRST_SECONDS + SLACK)
    half = TYPED + b'Content-Length: 90\r\n\r\n{"variant": '
    cases = {
        "nothing": (b"", ()),
        "half a header": (b"GET /healthz HTTP/1.1\r\nAuthoriz", ()),
        "a letter a second": (b"GET /healthz HTTP/1.1\r\nX-", slowly),
        "half a body": (half, ()),
        "a body a letter a second": (half, slowly),
        "half a chunk": (CHUNKED + b"\r\n50\r\n{", ()),
        "no chunk": (CHUNKED + b"\r\n", ()),
    }
    with ThreadPoolExecutor(len(cases)) as threads:
        found = {
            name: threads.submit(told, place, sent, *more) for name, (sent, more) in cases.items()
        }
        for _ in range(10):
            began = time.monotonic()
            assert requests.get(f"http://{place[0]}:{place[1]}/readyz", timeout=9).ok
            assert time.monotonic() - began < SLACK
            time.sleep(0.5)
        ended = {name: future.result() for name, future in found.items()}
    for name, (said, seconds) in ended.items():
        assert seconds < max(FIRST_SECONDS, BODY_SECONDS) + 2 * SLACK, name
        if "body" in name or "chunk" in name:
            if said:  # who still sends may be cut off before the answer is read
                status, body = problem(said)
                assert (status, body["code"]) == (408, "body_too_slow"), name
                assert b"Connection: close" in said
            else:
                assert name == "a body a letter a second"
        else:
            assert said == b"", name


def test_a_connection_that_has_asked_is_kept_for_the_next_request(place):
    with connected(place) as connection:
        for _ in range(2):
            connection.sendall(ASKED)
            said = b""
            while not said.endswith(b'{"status":"ok"}'):
                part = connection.recv(65536)
                assert part
                said += part
            time.sleep(FIRST_SECONDS + 1 if _ == 0 else 0)


def test_a_thousand_who_say_nothing_are_let_go(place):
    room(1_500)
    with ExitStack() as stack:
        silent = [stack.enter_context(connected(place)) for _ in range(1_000)]
        assert requests.get(f"http://{place[0]}:{place[1]}/readyz", timeout=5).ok
        deadline = time.monotonic() + FIRST_SECONDS + 2 * SLACK
        for connection in silent:
            connection.settimeout(max(deadline - time.monotonic(), 0.1))
            assert connection.recv(1) == b""


def test_where_most_places_are_taken_who_says_nothing_is_kept_for_a_moment_only(place):
    room(2_500)
    with ExitStack() as stack:
        has_asked = stack.enter_context(connected(place))
        has_asked.sendall(ASKED)
        assert has_asked.recv(65536).startswith(b"HTTP/1.1 200")
        silent = [stack.enter_context(connected(place)) for _ in range(2_050)]
        began = time.monotonic()
        for connection in (has_asked, silent[0]):  # those that have been silent for longest
            assert connection.recv(1) == b""
        assert time.monotonic() - began < CROWDED_SECONDS + SLACK


def room(files: int) -> None:
    """So many files may be open, or the test is skipped."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < files:
        pytest.skip(f"only {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files), hard))


def test_a_body_that_nobody_wants_is_passed_over_but_not_for_ever(place):
    endless = TYPED + b"Content-Length: 99999999999\r\n\r\n"
    with connected(place) as connection:
        connection.sendall(endless)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
        sent, began = 0, time.monotonic()
        with suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() - began < 10:
                sent += connection.send(b" " * 65536)
        assert time.monotonic() - began < 10
        assert sent < 20_000_000


# ------------------------------------------------------------------------- what is not quite HTTP

NOT_HTTP = {
    "a long path": (b"GET /" + b"a" * 5_000 + b" HTTP/1.1\r\n\r\n", 414),
    "a long header": (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431),
    "headers without end": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200_000, 431),
    "another protocol": (b"\x16\x03\x01\r\n\r\n", 400),
    "another version": (b"GET / HTTP/3.0\r\n\r\n", 400),
    "no version": (b"GET /\r\n\r\n", 400),
    "a method that is none": (b"GE(T / HTTP/1.1\r\n\r\n", 400),
    "a header without a colon": (b"GET / HTTP/1.1\r\nAuthorization Bearer x\r\n\r\n", 400),
    "a folded header": (b"GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n", 400),
    "a blank before the colon": (b"GET / HTTP/1.1\r\nContent-Length : 2\r\n\r\n{}", 400),
    "NUL in a header": (b"GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 400),
    "NUL in a name": (b"GET / HTTP/1.1\r\nX\0: a\r\n\r\n", 400),
    "a bare LF": (b"GET / HTTP/1.1\nHost: x\n\n", 400),
    "a bare LF among headers": (b"GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400),
    "a bare CR": (b"GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", 400),
    "two lengths": (TYPED + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    "a length and chunks": (CHUNKED + b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "chunks twice": (TYPED + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks that are none": (TYPED + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    "chunks in HTTP/1.0": (CHUNKED.replace(b"1.1", b"1.0") + b"\r\n0\r\n\r\n", 400),
    "less than nothing": (TYPED + b"Content-Length: -5\r\n\r\n{}", 400),
    "a length that is none": (TYPED + b"Content-Length: 0x2\r\n\r\n{}", 400),
    "something else expected": (TYPED + b"Expect: a miracle\r\n\r\n", 417),
}


@pytest.mark.parametrize(("sent", "status"), NOT_HTTP.values(), ids=NOT_HTTP)
def test_what_is_not_quite_http_is_refused_in_the_form_of_all_refusals(place, sent, status):
    said, seconds = told(place, sent + ASKED)
    assert said.count(b"HTTP/1.1 ") == 1, "what follows is no request"
    found, body = problem(said)
    assert (found, body["status"]) == (status, status)
    assert body["title"]
    assert body["detail"].endswith(".")
    assert seconds < SLACK
    for secret in (b"gunicorn", b"Python", b".py", b"Traceback", b"miracle", b"<"):
        assert secret not in said


def test_old_and_odd_requests_that_are_http_are_answered(place):
    old, _ = told(place, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert old.startswith(b"HTTP/1.0 200")
    anywhere, _ = told(
        place, b"GET /v1/variants HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    )
    assert anywhere.startswith(b"HTTP/1.1 200")
    assert b"evil.example" not in anywhere
    moved, _ = told(place, b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert b"\r\nLocation: docs\r\n" in moved

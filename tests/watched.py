"""A `rummy serve` whose log can be read: for tests of what it says about itself."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.patience import until
from tests.serving import ENVIRONMENT, ROOT, RUMMY, children, command


class Watched:
    """A running service: where it answers, its master process, and its log."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.log = log
        greeting = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", greeting)
        assert found, greeting + log.read_text()
        self.url = found.group()

    def answers(self) -> bool:
        try:
            return self.get("/v1/variants").status_code == 200
        except requests.RequestException:
            return False

    def get(self, path: str, **options) -> requests.Response:
        return requests.get(self.url + path, timeout=30, **options)

    def post(self, path: str, body: object, **options) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=30, **options)

    def sandbox(self) -> tuple[str, list[dict[str, str]]]:
        """The address of a new practice table, and the headers of its two players."""
        made = self.post("/v1/sandbox", {}).json()
        tokens = [seat["token"] for seat in made["seats"]]
        headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
        return f"/v1/games/{made['game']['id']}", headers

    def lines(self) -> list[dict]:
        """The log so far, each line of which has to be JSON; one may just be being written."""
        lines = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def request_line(self, answer: requests.Response) -> dict:
        """The one line of that request, which is written when it has been answered."""
        found: list[dict] = []

        def is_written() -> bool:
            own = answer.headers["X-Request-ID"]
            of_requests = [one for one in self.lines() if one["logger"] == "service.requests"]
            found[:] = [line for line in of_requests if line["request_id"] == own]
            return bool(found)

        until(is_written)
        (line,) = found
        return line

    def workers(self) -> set[int]:
        """The process ids of the workers."""
        return {pid for pid in children(self.process.pid) if "valkey" not in command(pid)}


@contextmanager
def watching(directory: Path, *options: str, **environment: str) -> Iterator[Watched]:
    """A service that keeps its games and its log there, while the block lasts."""
    log = directory / "service.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*RUMMY, "serve", "--port=0", f"--data-dir={directory / 'data'}", *options],
            cwd=ROOT,
            env=ENVIRONMENT | environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        service = Watched(process, log)
        until(service.answers, 60)
        yield service
    finally:
        process.terminate()
        process.wait(15)
        assert process.stdout is not None
        process.stdout.close()

"""Matches over HTTP that go on through accidents, and the books that are kept of them.

Several services share the games. A client of theirs does as the contract says: it waits as long as
`Retry-After` asks for, then sends the same request again, with the same Idempotency-Key, and to
another of them. What was answered is what must be there in the end, once.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any
from uuid import uuid4

import requests

from tests.http.ledger import Ledger
from tests.http.simple_player import choose

PATIENCE = 180.0
"""For one answer in the end, and for the rest of a match."""

_ANSWER_SECONDS = 10.0
_THOUGHT_SECONDS = 0.05
_MOST_MOVES = 5_000
_LOST = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)


class Client:
    """Somebody who has several addresses of the service, and does not give up."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.errors: Counter[str] = Counter()
        self.repeats = 0
        self._addresses = list(addresses)
        self._session = requests.Session()

    def ask(
        self, method: str, path: str, token: str = "", key: str = "", body: object = None
    ) -> Any:
        """The JSON of the answer in the end."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if key:
            headers["Idempotency-Key"] = key
        sent = {} if body is None else {"json": body}
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self._session.request(
                    method,
                    self._addresses[0] + path,
                    headers=headers,
                    timeout=_ANSWER_SECONDS + 60 * ("wait=" in path),
                    **sent,
                )
            except _LOST as error:
                self.errors[type(error).__name__] += 1
                pause = 0.1
            else:
                if answer.status_code < 400:
                    self.repeats += answer.headers.get("Idempotency-Replayed") == "true"
                    return answer.json()
                self.errors[answer.json()["code"]] += 1
                if answer.status_code != 503:
                    raise Refused(answer.text)
                pause = float(answer.headers["Retry-After"])
            assert time.monotonic() < deadline, "nobody answers"
            self._addresses.append(self._addresses.pop(0))
            time.sleep(pause)


class Refused(Exception):
    """The service says that it cannot be, which only happens where something was lost."""


class Match:
    """Two players at a table, until the match is over; all that they were told is kept."""

    def __init__(self, client: Client, chance: Random) -> None:
        self.told: list[tuple[int, dict[str, Any]]] = []
        """Of each accepted move its seat and the answer."""
        self.times: list[float] = []
        """When that was."""
        self._client = client
        self._chance = chance
        options = {"deals": 1, "hand_size": 5}
        body = {"variant": "straight", "name": "ada", "options": options}
        made = client.ask("POST", "/v1/games", key=str(uuid4()), body=body)
        self.id: str = made["game"]["id"]
        self.path = f"/v1/games/{self.id}"
        joined = client.ask("POST", f"{self.path}/join", key=str(uuid4()), body={"name": "bo"})
        self.tokens = [made["token"], joined["token"]]

    def play(self) -> None:
        seat = 0
        while (view := self.look(seat))["status"] != "finished":
            assert len(self.told) < _MOST_MOVES, "the match does not end"
            if view["deal"]["turn"] != seat:
                seat = view["deal"]["turn"]
                continue
            move = choose(view, self._chance)
            path, token = f"{self.path}/{move['move']}", self.tokens[seat]
            try:
                answer = self._client.ask("POST", path, token, str(uuid4()), move)
            except Refused:
                continue
            self.told.append((seat, answer))
            self.times.append(time.monotonic())
            time.sleep(_THOUGHT_SECONDS)

    def look(self, seat: int) -> Any:
        return self._client.ask("GET", self.path, self.tokens[seat])

    def log(self, seat: int) -> list[dict[str, Any]]:
        """All of the log, as that seat may read it."""
        entries: list[dict[str, Any]] = []
        page: dict[str, Any] = {"more": True}
        while page["more"]:
            path = f"{self.path}/events?after={len(entries)}"
            page = self._client.ask("GET", path, self.tokens[seat])
            entries += page["events"]
        return entries

    def audit(self) -> tuple[int, int]:
        """How many acknowledged moves are lost, and how many are there that nobody was told of.

        The rest of the books must be right: a log without gaps, nothing twice, the match scored.
        """
        logs = [self.log(seat) for seat in range(2)]
        for seat, log in enumerate(logs):
            book = Ledger(seat)
            book.enter(log)
            book.agrees_with(self.look(seat))
            score = self._client.ask("GET", f"{self.path}/score", self.tokens[seat])
            assert book.results == score["deals"]
            assert len(book.results) == 1
        lost = 0
        for seat, answer in self.told:
            first, last = answer["events"][0]["id"], answer["events"][-1]["id"]
            lost += logs[seat][first - 1 : last] != answer["events"]
        moves = {entry["version"] for entry in logs[0] if entry["event"]["type"] in _MOVES}
        return lost, len(moves - {answer["version"] for _, answer in self.told})


_MOVES = {"drew", "declined", "melded", "laid_off", "swapped", "discarded", "called"}


class Table(threading.Thread):
    """Match after match is played here, until it is enough."""

    def __init__(self, addresses: Sequence[str], number: int, enough: threading.Event) -> None:
        super().__init__(daemon=True, name=f"table {number}")
        turned = number % len(addresses)
        self.client = Client([*addresses[turned:], *addresses[:turned]])
        self.matches: list[Match] = []
        self.failure: BaseException | None = None
        self._chance = Random(number)
        self._enough = enough

    def run(self) -> None:
        try:
            while not self._enough.is_set():
                self.matches.append(Match(self.client, self._chance))
                self.matches[-1].play()
        except BaseException as error:  # noqa: BLE001 (raised by who looks after it)
            self.failure = error

    @property
    def moves(self) -> int:
        return sum(len(match.told) for match in self.matches)

    def gap(self, begun: float) -> float:
        """The longest time without an accepted move since then."""
        times = [moment for match in self.matches for moment in match.times if moment > begun]
        return max((late - soon for soon, late in pairwise([begun, *times])), default=0.0)


class Reader(threading.Thread):
    """Follows the log of a match by long polls or over a stream, from one service to another."""

    def __init__(self, addresses: Sequence[str], match: Match, streams: bool) -> None:
        super().__init__(daemon=True, name="reader")
        self.entries: list[dict[str, Any]] = []
        self.failure: BaseException | None = None
        self._client = Client(addresses)
        self._addresses = list(addresses)
        self._path = f"{match.path}/events"
        self._token = match.tokens[0]
        self._streams = streams

    def run(self) -> None:
        try:
            while not self._is_over():
                if self._streams:
                    self._stream()
                else:
                    path = f"{self._path}?after={len(self.entries)}&wait=20"
                    self._take(self._client.ask("GET", path, self._token)["events"])
        except BaseException as error:  # noqa: BLE001 (raised by who looks after it)
            self.failure = error

    def _is_over(self) -> bool:
        return any(entry["event"]["type"] == "match_ended" for entry in self.entries)

    def _take(self, entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            assert entry["id"] == len(self.entries) + 1
            self.entries.append(entry)

    def _stream(self) -> None:
        """Read until the stream ends, and the next time go on where it ended, elsewhere."""
        self._addresses.append(self._addresses.pop(0))
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "text/event-stream",
            "Last-Event-ID": str(len(self.entries)),
        }
        with suppress(*_LOST):
            answer = requests.get(
                self._addresses[0] + self._path, headers=headers, stream=True, timeout=20
            )
            with answer:
                if answer.status_code != 200:
                    assert answer.status_code == 503, answer.text
                    time.sleep(float(answer.headers["Retry-After"]))
                    return
                kind = ""
                for line in answer.iter_lines(chunk_size=1, decode_unicode=True):
                    name, _, text = line.partition(": ")
                    if name == "event":
                        kind = text
                    elif name == "data" and kind == "entry":
                        self._take([json.loads(text)])

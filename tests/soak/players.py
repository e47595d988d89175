"""A process full of players, who keep at it whatever happens and write down what was acknowledged.

It is told `play`, `pause` or `end` on its standard input, a word to a line. Between two of these it
keeps its tables going: a match that has ended is followed by another one. At `pause` everybody
brings the request that is on its way to an answer, repeating it if need be, and hangs up; then one
line of JSON goes to the standard output, a `Report`.

Each change has an Idempotency-Key of its own and is repeated until it is answered. So there is no
move of which nobody knows whether it was made: all that are in the log were acknowledged.
"""

from gevent import monkey

monkey.patch_all()

import http.client  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from argparse import ArgumentParser  # noqa: E402
from collections import Counter  # noqa: E402
from pathlib import Path  # noqa: E402
from random import Random  # noqa: E402
from urllib.parse import urlsplit  # noqa: E402
from uuid import UUID  # noqa: E402

import gevent  # noqa: E402
from gevent.event import Event  # noqa: E402
from gevent.fileobject import FileObject  # noqa: E402

from tests.http.simple_player import choose  # noqa: E402

CONTRACT = Path(__file__).parents[2] / "openapi" / "openapi.json"

KINDS = (
    {"variant": "straight", "options": {"deals": 1}},
    {"variant": "seven-card", "options": {"deals": 2}, "seats": 3},
    {"variant": "parlett", "options": {"deals": 1, "turn_seconds": 60}},
    {"variant": "call-rummy", "options": {"deals": 2}},
    {"variant": "straight", "options": {"deals": 2, "turn_seconds": 90}, "seats": 3},
    {"variant": "seven-card", "options": {"deals": 1}, "seats": 3, "computers": ["steady"]},
)
"""What is played, one table after another: with and without clocks, calls and computers."""

ANSWER_SECONDS = 15
"""So long a request may be silent before it is sent again on another connection."""

WAIT_SECONDS = 2
"""So long a player asks to be kept waiting for news."""

LATER = {429, 503}


class Book:
    """What happened to all requests of this process since it was last asked."""

    def __init__(self, contract: dict) -> None:
        self._statuses = {
            (method.upper(), path): set(operation["responses"])
            for path, operations in contract["paths"].items()
            for method, operation in operations.items()
        }
        self.begin()

    def begin(self) -> None:
        """Forget what was before."""
        self.acknowledged = 0
        self.refused: Counter[str] = Counter()
        self.no_answer = 0
        self.wrong: list[str] = []
        self.longest_gap = self.slowest = 0.0
        self._last = time.monotonic()

    def moved(self, first_sent: float) -> None:
        """Count an acknowledged move."""
        now = time.monotonic()
        self.acknowledged += 1
        self.longest_gap = max(self.longest_gap, now - self._last)
        self.slowest = max(self.slowest, now - first_sent)
        self._last = now

    def answered(self, method: str, path: str, status: int, problem: dict) -> None:
        """Count a refusal, and keep whatever the contract does not know."""
        template = re.sub(r"/games/[a-z2-7]{16}", "/games/{game_id}", path.partition("?")[0])
        if status >= 400:
            self.refused[problem.get("code", str(status))] += 1
        if str(status) not in self._statuses.get((method, template), ()):
            self.wrong.append(f"{method} {template}: {status} {json.dumps(problem)[:300]}")


class Line:
    """A connection of one player, who does not give up."""

    def __init__(self, address: str, book: Book) -> None:
        self._host = urlsplit(address).netloc
        self._book = book
        self._connection = http.client.HTTPConnection(self._host, timeout=ANSWER_SECONDS)

    def ask(
        self,
        method: str,
        path: str,
        token: str = "",
        body: dict | None = None,
        key: str = "",
        tag: str = "",
    ) -> tuple[int, dict, str]:
        """Status, body and ETag of the first answer that is not about coming again."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Idempotency-Key": key} if key else {}
        headers |= {"If-None-Match": tag} if tag else {}
        sent = None if body is None else json.dumps(body)
        while True:
            try:
                self._connection.request(method, path, sent, headers)
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self._book.no_answer += 1
                self.hang_up()
                gevent.sleep(0.2)
                continue
            told = json.loads(content) if content else {}
            self._book.answered(method, path, answer.status, told)
            if answer.status not in LATER:
                return answer.status, told, answer.headers.get("ETag", "")
            gevent.sleep(int(answer.headers["Retry-After"]))

    def hang_up(self) -> None:
        """Let go of the connection; the next request makes another one."""
        self._connection.close()


class Table:
    """A match: the tokens of its people by seat, and their moves that were acknowledged."""

    def __init__(self, game_id: str, tokens: dict[int, str]) -> None:
        self.id = game_id
        self.tokens = tokens
        self.moves: list[dict] = []
        self.is_over = False


class Players:
    """All tables of the process, and who plays at them."""

    def __init__(self, address: str, tables: int, pause: float, seed: int) -> None:
        self.book = Book(json.loads(CONTRACT.read_text()))
        self._address = address
        self._pause = pause
        self._seed = seed
        self._gate = Event()
        self._lines: list[Line] = []
        self._busy = 0
        self._tables: list[Table] = []
        self._places = [gevent.spawn(self._keep_playing, number) for number in range(tables)]

    def play(self) -> None:
        """Go on."""
        self.book.begin()
        self._gate.set()

    def pause(self) -> list[Table]:
        """Let everybody finish the request that is on its way; returns all tables since the last.

        Whoever cannot get an answer keeps this waiting.
        """
        self._gate.clear()
        while self._busy:
            gevent.sleep(0.02)
        for line in self._lines:
            line.hang_up()
        tables = self._tables
        self._tables = [table for table in tables if not table.is_over]
        return tables

    def _keep_playing(self, number: int) -> None:
        chance = Random(f"{self._seed} {number}")
        while True:
            with self._at_it():
                table = self._make(KINDS[number % len(KINDS)], chance)
            self._tables.append(table)
            gevent.joinall(
                [gevent.spawn(self._sit, table, seat, chance) for seat in table.tokens],
                raise_error=True,
            )
            table.is_over = True

    def _make(self, kind: dict, chance: Random) -> Table:
        line = self._line()
        wanted = {"name": "P0", **kind}
        status, made, _ = line.ask("POST", "/v1/games", "", wanted, _key(chance))
        assert status == 201, made
        game_id, tokens = made["game"]["id"], {made["seat"]: made["token"]}
        while made["game"]["status"] == "waiting":
            path, name = f"/v1/games/{game_id}/join", {"name": f"P{len(tokens)}"}
            status, made, _ = line.ask("POST", path, "", name, _key(chance))
            assert status == 201, made
            tokens[made["seat"]] = made["token"]
        self._lines.remove(line)
        line.hang_up()
        return Table(game_id, tokens)

    def _sit(self, table: Table, seat: int, chance: Random) -> None:
        """Play this seat until the match is over."""
        line, path, token = self._line(), f"/v1/games/{table.id}", table.tokens[seat]
        view, tag = None, ""
        while view is None or view["status"] == "playing":
            if view is not None and view["seats"][seat]["away"]:  # played by force too often
                with self._at_it():
                    line.ask("POST", f"{path}/return", token, {}, _key(chance))
                view = None
            elif view is not None and view["moves"]:
                gevent.sleep(self._pause * chance.uniform(0.5, 1.5))
                with self._at_it():
                    view, tag = self._move(line, table, seat, choose(view, chance), chance)
            else:
                with self._at_it():
                    wait = f"?wait={WAIT_SECONDS}" if view else ""
                    status, told, new = line.ask("GET", path + wait, token, tag=tag if view else "")
                assert status in {200, 304}, told
                view, tag = (told, new) if status == 200 else (view, tag)
        self._lines.remove(line)
        line.hang_up()

    def _move(
        self, line: Line, table: Table, seat: int, move: dict, chance: Random
    ) -> tuple[dict | None, str]:
        """The view after the move, or None if it was refused: the clock was faster."""
        key, began = _key(chance), time.monotonic()
        path = f"/v1/games/{table.id}/{move['move']}"
        status, told, tag = line.ask("POST", path, table.tokens[seat], move, key)
        if status != 200:
            return None, ""
        self.book.moved(began)
        table.moves.append({"seat": seat, "move": move, "key": key, "version": told["version"]})
        return told["game"], tag

    def _line(self) -> Line:
        self._lines.append(Line(self._address, self.book))
        return self._lines[-1]

    def _at_it(self) -> "_AtIt":
        return _AtIt(self)


class _AtIt:
    """Wait for the gate, and be waited for by who closes it."""

    def __init__(self, players: Players) -> None:
        self._players = players

    def __enter__(self) -> None:
        self._players._gate.wait()
        self._players._busy += 1

    def __exit__(self, *_: object) -> None:
        self._players._busy -= 1


def _key(chance: Random) -> str:
    return str(UUID(int=chance.getrandbits(128)))


def _report(players: Players) -> dict:
    tables = players.pause()
    book = players.book
    return {
        "acknowledged": book.acknowledged,
        "refused": book.refused,
        "no_answer": book.no_answer,
        "wrong": book.wrong[:20],
        "longest_gap": book.longest_gap,
        "slowest": book.slowest,
        "tables": [
            {"id": table.id, "tokens": table.tokens, "moves": table.moves, "over": table.is_over}
            for table in tables
        ],
    }


def main() -> None:
    """Do what is told on the standard input."""
    parser = ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--tables", type=int, required=True)
    parser.add_argument("--pause", type=float, required=True, help="seconds before each move")
    parser.add_argument("--seed", type=int, required=True)
    asked = parser.parse_args()
    players = Players(asked.address, asked.tables, asked.pause, asked.seed)
    for place in players._places:
        place.link_exception(_fail)
    orders = FileObject(sys.stdin, "r")
    for order in orders:
        match order.strip():
            case "play":
                players.play()
            case "count":
                print(json.dumps(players.book.acknowledged), flush=True)
            case "pause":
                print(json.dumps(_report(players)), flush=True)
            case "end":
                break


def _fail(place: gevent.Greenlet) -> None:
    sys.stderr.write(f"A table has failed: {place.exception!r}\n")
    sys.stderr.flush()
    # What was asked for will never come: let whoever asks see that at once.
    import os

    os._exit(1)


if __name__ == "__main__":
    main()

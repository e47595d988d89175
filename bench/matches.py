"""Whole matches of two, played by bots over HTTP that know no more than what they are answered."""

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from http.client import HTTPException, HTTPResponse
from math import ceil
from typing import Any

from msgspec import Struct

from bench import services
from bench.figures import Effort, Figure, Goal, Row, Section, interleaved
from bench.services import Served

TABLES = 8
"""At so many tables a match is going on at a time; a match that ends is followed by another."""

OPTIONS: dict[str, dict[str, object]] = {
    "straight": {"deals": 2},
    "seven-card": {"deals": 2},
    "parlett": {"deals": 2},
    "call-rummy": {"deals": 2},
}

_MEASURES = {
    "turns": ("turns", "/s"),
    "requests": ("requests a turn", ""),
    "cpu": ("CPU of the service a turn", "µs"),
    "store cpu": ("CPU of Valkey a turn", "µs"),
}
_REQUESTS = Goal("≤", 2.0)

_SETTINGS = {
    "RUMMY_LIMIT_CREATE": "1000000/minute",
    "RUMMY_LIMIT_JOIN": "1000000/minute",
    "RUMMY_MOST_WAITS": "1000",
}
_RANKS = "A23456789TJQK"
_PATIENCE_SECONDS = 60.0


class Refused(Exception):
    """The service did not do what a bot asked for."""


def measure(effort: Effort) -> Section:
    """Each preset in turn."""
    with services.store() as valkey, services.service(valkey.url, **_SETTINGS) as served:
        for connection in served.connections(services.WORKERS):  # all of them serve then
            connection.close()
        for variant in OPTIONS:  # the first requests of a worker are slow
            _play_a_match(served, variant, _Book(_PATIENCE_SECONDS))
        found = interleaved(
            effort.rounds,
            {
                variant: partial(_sample, served, valkey.pid, variant, effort.seconds)
                for variant in OPTIONS
            },
        )
    rows = [
        Row(
            Figure(f"{variant}: {what}", unit, samples[name]),
            goal=_REQUESTS if name == "requests" else None,
        )
        for variant, samples in found.items()
        for name, (what, unit) in _MEASURES.items()
    ]
    note = (
        f"Two bots at each of {TABLES} tables, all of them in this process. A turn is a draw and "
        "the rest of the turn, which waits until the bot may act again. From the first turn of a "
        "match on all requests of a bot count, also those by which it only looks. Nobody calls."
    )
    return Section("Whole matches", tuple(rows), (note,))


def _sample(served: Served, store: int, variant: str, seconds: float) -> Mapping[str, float]:
    book = _Book(seconds)
    processes = served.processes
    served_before = services.cpu_seconds(processes)
    stored_before = services.cpu_seconds([store])
    tables = [
        threading.Thread(target=_keep_playing, args=(served, variant, book)) for _ in range(TABLES)
    ]
    for table in tables:
        table.start()
    for table in tables:
        table.join()
    if book.failure:
        raise book.failure
    each = 1e6 / book.turns
    return {
        "turns": book.turns / book.seconds,
        "requests": book.requests / book.turns,
        "cpu": (services.cpu_seconds(processes) - served_before) * each,
        "store cpu": (services.cpu_seconds([store]) - stored_before) * each,
    }


class _Book:
    """What all bots together did until it was time to stop."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self.requests = 0
        self.turns = 0
        self.failure: Exception | None = None

    @property
    def left(self) -> float:
        """So many seconds are left."""
        return 0 if self.failure else max(0, self._end - time.monotonic())

    def add(self, requests: int, turns: int) -> None:
        with self._lock:
            self.requests += requests
            self.turns += turns


class _Seat(Struct):
    """A seat, its connection, and what it was answered last."""

    line: "_Line"
    path: str
    token: str
    game: dict[str, Any] = {}
    tag: str = ""


class _Line:
    """A connection that is kept open."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=_PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests = 0

    def __enter__(self) -> "_Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(
        self, method: str, path: str, token: str, body: object = None, tag: str = ""
    ) -> tuple[int, Any, str]:
        """Status, body and ETag of the answer."""
        self.requests += 1
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
        head += "Content-Type: application/json\r\n" if content else ""
        head += f"Authorization: Bearer {token}\r\n" if token else ""
        head += f"If-None-Match: {tag}\r\n" if tag else ""
        self._socket.sendall(f"{head}\r\n".encode() + content)
        with HTTPResponse(self._socket, method=method) as answer:
            answer.begin()
            said = answer.read()
            return answer.status, json.loads(said or b"{}"), answer.headers["ETag"] or ""


def _keep_playing(served: Served, variant: str, book: _Book) -> None:
    try:
        while book.left:
            _play_a_match(served, variant, book)
    except (OSError, HTTPException, Refused) as error:
        book.failure = error


def _play_a_match(served: Served, variant: str, book: _Book) -> None:
    """Make a table, and let both bots play there, each in a thread of its own."""
    with _Line(served.address) as first, _Line(served.address) as second:
        wish = {"variant": variant, "name": "Ada", "options": OPTIONS[variant]}
        made = _accepted(*first.ask("POST", "/v1/games", "", wish)[:2])
        path = f"/v1/games/{made['game']['id']}"
        joined = _accepted(*second.ask("POST", f"{path}/join", "", {"name": "Bo"})[:2])
        seats = (_Seat(first, path, made["token"]), _Seat(second, path, joined["token"]))
        other = threading.Thread(target=_play_and_note, args=(seats[1], book))
        other.start()
        _play_and_note(seats[0], book)
        other.join()


def _play_and_note(seat: _Seat, book: _Book) -> None:
    turns = 0
    try:
        _look(seat, 0)
        while seat.game["status"] == "playing" and book.left:
            if any(move["move"] == "draw" for move in seat.game["moves"]):
                if not turns:
                    seat.line.requests = 0
                _act(seat, "draw", _draw(seat.game))
                if seat.game["status"] == "playing":
                    # The other bot stops when the time is up, too.
                    wait = f"wait={ceil(book.left)}"
                    _act(seat, f"turn?{wait}", _rest_of_turn(seat.game))
                turns += 1
            else:
                _look(seat, ceil(book.left))
    except (OSError, HTTPException, Refused) as error:
        book.failure = error
    if turns:
        book.add(seat.line.requests, turns)


def _look(seat: _Seat, wait: int) -> None:
    """See the game, as soon as it is another one than was seen last."""
    path = f"{seat.path}?wait={wait}"
    status, game, tag = seat.line.ask("GET", path, seat.token, tag=seat.tag)
    if status != 304:
        seat.game, seat.tag = _accepted(status, game), tag


def _act(seat: _Seat, what: str, body: object) -> None:
    status, changed, tag = seat.line.ask("POST", f"{seat.path}/{what}", seat.token, body)
    seat.game, seat.tag = _accepted(status, changed)["game"], tag


def _accepted(status: int, body: Any) -> Any:
    if status not in {200, 201}:
        raise Refused(f"{status}: {body}")
    return body


# ------------------------------------------------------------------------------ how a bot plays


def _draw(game: Mapping[str, Any]) -> object:
    """The upcard if it goes with two cards of the hand, or if there is nothing else."""
    draws = {move["from"]: move for move in game["moves"] if move["move"] == "draw"}
    upcard = draws.get("discard")
    if upcard and ("stock" not in draws or _friends(upcard["card"], game["hand"]) >= 2):
        return {"from": "discard"}
    return {"from": "stock"}


def _rest_of_turn(game: Mapping[str, Any]) -> object:
    """One thing laid down, if anything can be, and the dearest card that goes with the fewest."""
    moves, hand = game["moves"], list(game["hand"])
    play = next((move for move in moves if move["move"] in {"meld", "layoff"}), None)
    laid = [] if play is None else play["cards"] if "cards" in play else [play["card"]]
    for card in laid:
        hand.remove(card)
    discards = [move["card"] for move in moves if move["move"] == "discard"]
    left = [card for card in discards if card in hand] or ([] if laid else discards)
    return {
        "plays": [] if play is None else [play],
        "discard": min(left, key=lambda card: _use(card, hand)) if left else None,
    }


def _use(card: str, hand: Sequence[str]) -> tuple[int, int]:
    return _friends(card, hand), -_RANKS.index(card[0])


def _friends(card: str, hand: Sequence[str]) -> int:
    """How many of these cards could be in a meld with that one."""
    place = _RANKS.index(card[0])
    return sum(
        other != card
        and (
            other[0] == card[0]
            or (other[1] == card[1] and abs(_RANKS.index(other[0]) - place) <= 2)
        )
        for other in hand
    )

"""Server-sent events, read as strictly as the contract promises them.

    follower = follow(table.players[0])                 # in the process of the test
    follower = Follower(Line(address, path, headers))   # over a socket
    view = follower.next("game").data

Each has a thread of its own that reads, so that a test can wait with patience, and never for ever.
"""

import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from werkzeug.test import TestResponse

from tests.http.tables import Player, QuickContract

STREAM = "text/event-stream"
PATIENCE = 30.0
SHAPES = {"game": "GameView", "entry": "LogEntry"}


class News(NamedTuple):
    """One event of a stream."""

    kind: str
    id: int | None
    data: dict[str, Any]


class Reader:
    """Makes events of bytes, however they come in pieces; nothing may come but what is promised."""

    def __init__(self) -> None:
        self.signs_of_life = 0
        self.retry: int | None = None
        self.left = b""

    def feed(self, piece: bytes) -> list[News]:
        """The events that are complete with this piece."""
        *blocks, self.left = (self.left + piece).split(b"\n\n")
        found = (self._event(block.decode()) for block in blocks)
        return [news for news in found if news is not None]

    def _event(self, block: str) -> News | None:
        lines = block.split("\n")
        if lines == [":"]:
            self.signs_of_life += 1
            return None
        fields = dict(line.split(": ", 1) for line in lines)
        assert len(fields) == len(lines), block
        if fields.keys() == {"retry"}:
            self.retry = int(fields["retry"])
            return None
        assert fields.keys() - {"id"} == {"event", "data"}, block
        identity = int(fields["id"]) if "id" in fields else None
        return News(fields["event"], identity, json.loads(fields["data"]))


class Answer(Protocol):
    """An answer whose body is still to come."""

    status: int
    headers: dict[str, str]

    def pieces(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...


class Cut(Exception):
    """The connection ended before the answer did."""


class Ended(AssertionError):
    """The stream is over, and something was expected."""


class Line:
    """A request on a socket of its own, and its answer piece by piece."""

    def __init__(
        self,
        address: str,
        path: str,
        headers: dict[str, str] | None = None,
        method: str = "GET",
        buffer: int | None = None,
    ) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self.socket = socket.socket()
        if buffer is not None:  # before connecting, or the window is larger
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((host, int(port)))
        sent = {"Host": host, "Accept": STREAM} | (headers or {})
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in sent.items())]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self.socket.makefile("rb")
        self.status = 0
        self.headers: dict[str, str] = {}

    def read_head(self) -> "Line":
        """Read the answer as far as its headers."""
        self.status = int(self._line().split()[1])
        while line := self._line():
            name, _, text = line.partition(": ")
            self.headers[name.lower()] = text
        return self

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes. Raises Cut if the connection ends before it does."""
        if self.headers.get("transfer-encoding") != "chunked":
            yield self._exactly(int(self.headers.get("content-length", 0)))
            return
        while size := int(self._line(), 16):
            yield self._exactly(size)
            assert self._line() == ""
        assert self._line() == ""

    def hang_up(self) -> None:
        """End the connection; whoever reads from it is told so."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection, and forget what was not read; nobody may be reading."""
        self.hang_up()
        self._file.close()  # which holds the socket open too
        self.socket.close()

    def _line(self) -> str:
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise Cut
        return line[:-2].decode()

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise Cut
        return data


class Inside:
    """The answer to a request in the process of the test."""

    def __init__(self, answer: TestResponse) -> None:
        self._answer = answer
        self.status = answer.status_code
        self.headers = {name.lower(): text for name, text in answer.headers}

    def pieces(self) -> Iterator[bytes]:
        yield from self._answer.response

    def close(self) -> None:
        self._answer.close()


class Follower(threading.Thread):
    """Somebody who follows a stream."""

    def __init__(self, answer: Answer, judge: QuickContract | None = None) -> None:
        super().__init__(daemon=True)
        self.answer = answer
        self.reader = Reader()
        self.cut: BaseException | None = None
        """What ended the reading, if not the end of the answer."""
        self.left = False
        self._judge = judge
        self._told: queue.Queue[News | None] = queue.Queue()
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, STREAM)
        self.start()

    def run(self) -> None:
        try:
            for piece in self.answer.pieces():
                for news in self.reader.feed(piece):
                    self._told.put(news)
                if self.left:
                    break
        except (Cut, OSError, AssertionError, ValueError) as error:
            self.cut = error
        finally:
            if isinstance(self.answer, Inside):  # nobody else may touch what is being read
                self.answer.close()
            self._told.put(None)

    def next(self, kind: str | None = None, within: float = PATIENCE) -> News:
        """What comes next; AssertionError if nothing does, or something else; or Ended."""
        try:
            news = self._told.get(timeout=within)
        except queue.Empty:
            raise AssertionError("nothing came in time") from None
        if news is None:
            self._told.put(None)
            raise Ended("the stream has ended") from self.cut
        self._check(news)
        assert kind in (None, news.kind), news
        return news

    def entries(self, last: int, within: float = PATIENCE) -> list[dict]:
        """The entries that come next, up to the one with that id."""
        found = [self.next("entry", within).data]
        while found[-1]["id"] < last:
            found.append(self.next("entry", within).data)
        return found

    def rest(self, within: float = PATIENCE) -> list[News]:
        """All that still comes until the stream ends."""
        found = []
        while True:
            try:
                news = self._told.get(timeout=within)
            except queue.Empty:
                raise AssertionError(f"it did not end after {found[-1:]}") from None
            if news is None:
                self._told.put(None)
                return found
            self._check(news)
            found.append(news)

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long, not even the end."""
        try:
            self._told.put(self._told.get(timeout=seconds))
        except queue.Empty:
            return True
        return False

    def leave(self) -> None:
        """Go away: over a socket at once, in process with whatever comes next."""
        self.left = True
        if isinstance(self.answer, Line):
            self.answer.hang_up()
            self.join(PATIENCE)
            self.answer.close()

    def _check(self, news: News) -> None:
        if news.kind == "end":
            assert news.id is None
            assert news.data.keys() == {"status"}
        elif self._judge is not None:
            schema = {"$ref": f"#/components/schemas/{SHAPES[news.kind]}"}
            self._judge._validate(news.kind, schema, news.data, self._judge._answers)
        if news.kind == "entry":
            assert news.id == news.data["id"]


def open_stream(player: Player, query: str = "", **headers: str) -> TestResponse:
    """The answer to whoever asks for the log as a stream, in process; the body is not read yet."""
    sent = player._headers({"accept": STREAM} | headers)
    path = player._path("events") + (f"?{query}" if query else "")
    return player.client.client.get(path, headers=sent, buffered=False)


def follow(player: Player, query: str = "", **headers: str) -> Follower:
    """Follow the log of the player's game in process; each event is held against the contract."""
    return Follower(Inside(open_stream(player, query, **headers)), player.client.contract)


def entries_of(news: list[News]) -> list[dict]:
    """The entries among the news."""
    return [item.data for item in news if item.kind == "entry"]


def kinds_of(news: list[News]) -> list[str]:
    """What the news are, in order."""
    return [item.kind for item in news]

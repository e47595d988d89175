"""A table of the running service: its seats, what is sent from them, and what is stored of it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import msgspec
import redis
from flask import Flask
from werkzeug.test import TestResponse

from service.rummy.rules import OptionValue, agree
from tests.cases.practice import card_order
from tests.positions import move

Json = dict[str, Any]
Snapshot = dict[bytes, bytes]


class Service:
    """The service with its store."""

    def __init__(self, app: Flask, redis_url: str) -> None:
        self.app = app
        self.redis = redis.Redis.from_url(redis_url)

    def table(
        self,
        variant: str = "straight",
        *,
        seats: int = 2,
        taken: int | None = None,
        public: bool = False,
        autostart: bool = True,
        practice: Json | None = None,
        **options: OptionValue,
    ) -> "Table":
        """A new table with that many seats, `taken` of them (all, if not given) by players."""
        wanted: Json = {
            "variant": variant,
            "name": "Player 0",
            "seats": seats,
            "public": public,
            "autostart": autostart,
            "options": _with_end(variant, options),
        }
        if practice is not None:
            wanted["practice"] = practice
        answer = self.post("/v1/games", wanted)
        assert answer.status_code == 201, answer.json
        table = Table(self, answer.json["game"]["id"], answer.json["token"])
        for number in range(1, seats if taken is None else taken):
            table.join(f"Player {number}")
        return table

    def position(
        self,
        variant: str,
        hands: str,
        *,
        upcard: str = "",
        stock: str = "",
        dealer: int | None = None,
        public: bool = False,
        **options: OptionValue,
    ) -> "Table":
        """A practice table on which these hands are dealt, all of them as long as the longest.

        Without a `dealer` the last seat deals, so that seat 0 plays first.
        """
        held = [hand.split() for hand in hands.split("|")]
        options = {"hand_size": max(map(len, held)), **options}
        dealer = len(held) - 1 if dealer is None else dealer
        rules = agree(variant, len(held), _with_end(variant, options))
        order = card_order(rules, hands, upcard=upcard, stock=stock, dealer=dealer)
        return self.table(
            variant,
            seats=len(held),
            public=public,
            practice={"order": order, "dealer": dealer},
            **options,
        )

    def post(
        self, path: str, body: object = None, token: str | None = None, **headers: str
    ) -> TestResponse:
        return self.app.test_client().post(path, json=body, headers=_headers(token, headers))

    def get(self, path: str, token: str | None = None, **headers: str) -> TestResponse:
        return self.app.test_client().get(path, headers=_headers(token, headers))


class Table:
    """One table; `tokens` are those of its seats, in order."""

    def __init__(self, service: Service, game: str, token: str) -> None:
        self.service = service
        self.id = game
        self.path = f"/v1/games/{game}"
        self.tokens = [token]

    def join(self, name: str) -> None:
        answer = self.service.post(f"{self.path}/join", {"name": name})
        assert answer.status_code == 201, answer.json
        self.tokens.append(answer.json["token"])

    def token(self, seat: int | None) -> str | None:
        """The token of a seat; None is somebody without."""
        return None if seat is None else self.tokens[seat]

    def send(
        self, seat: int | None, wanted: str, body: object = None, **headers: str
    ) -> TestResponse:
        """Send a move as text ("discard KC"), or a body to a path ("start", {})."""
        if body is None:
            body = msgspec.to_builtins(move(wanted))
            wanted = wanted.split()[0].replace("take", "draw")
        return self.service.post(f"{self.path}/{wanted}", body, self.token(seat), **headers)

    def do(self, seat: int, *moves: str) -> Json:
        """Make the moves, which are accepted; the game as the seat sees it then."""
        game: Json = {}
        for text in moves:
            answer = self.send(seat, text)
            assert answer.status_code == 200, answer.json
            game = answer.json["game"]
        return game

    def refuse(
        self,
        seat: int | None,
        wanted: str,
        status: int,
        code: str,
        rule: str | None = None,
        body: object = None,
        **headers: str,
    ) -> Json:
        """The problem that the request is answered with; nothing has changed."""
        before = self.stored()
        answer = self.send(seat, wanted, body, **headers)
        return self.refused(answer, status, code, rule, before)

    def refused(
        self,
        answer: TestResponse,
        status: int,
        code: str,
        rule: str | None,
        before: dict[bytes, bytes],
    ) -> Json:
        """The problem in the answer, which left the table as it was."""
        assert answer.mimetype == "application/problem+json", answer.text
        problem: Json = answer.json
        assert (answer.status_code, problem["code"], problem.get("rule")) == (status, code, rule), (
            problem
        )
        assert problem["status"] == status
        assert self.stored() == before
        return problem

    def look(self, seat: int | None = None) -> Json:
        """The game as the seat, or a stranger, sees it."""
        answer = self.service.get(self.path, self.token(seat))
        assert answer.status_code == 200, answer.json
        return dict(answer.json)

    def moves(self, seat: int) -> list[Json]:
        answer = self.service.get(f"{self.path}/moves", self.token(seat))
        assert answer.status_code == 200, answer.json
        return list(answer.json["moves"])

    def score(self) -> Json:
        return dict(self.service.get(f"{self.path}/score").json)

    def events(self, seat: int | None = None, after: int = 0) -> list[Json]:
        """The log after an event, all pages of it."""
        found: list[Json] = []
        while True:
            path = f"{self.path}/events?after={after}&limit=500"
            page = self.service.get(path, self.token(seat)).json
            found += page["events"]
            after = page["last"]
            if not page["more"]:
                return found

    def stored(self) -> object:
        """Everything that the store holds of the game, byte for byte."""
        game, events, deals = self._keys()
        pipeline = self.service.redis.pipeline()
        pipeline.hgetall(game)
        pipeline.xrange(events)
        pipeline.lrange(deals, 0, -1)
        return pipeline.execute()

    def snapshot(self) -> Snapshot:
        """The game as `restore` takes it. Not to be compared: servers pack the same differently."""
        pipeline = self.service.redis.pipeline()
        for key in self._keys():
            pipeline.dump(key)
        dumps = zip(self._keys(), pipeline.execute(), strict=True)
        return {key: dump for key, dump in dumps if dump is not None}

    def restore(self, snapshot: Snapshot) -> None:
        """Put back what the store held of the game."""
        pipeline = self.service.redis.pipeline()
        pipeline.delete(*self._keys())
        for key, dump in snapshot.items():
            pipeline.restore(key, 3_600_000, dump)
        pipeline.execute()

    def _keys(self) -> list[bytes]:
        return [f"rummy:{{{self.id}}}:{part}".encode() for part in ("game", "events", "deals")]


def at_once(requests: Sequence[Callable[[], TestResponse]]) -> list[TestResponse]:
    """The answers to requests that are all sent at the same moment."""
    barrier = Barrier(len(requests))

    def send(request: Callable[[], TestResponse]) -> TestResponse:
        barrier.wait()
        return request()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(send, requests))


def _with_end(variant: str, options: dict[str, OptionValue]) -> dict[str, OptionValue]:
    """The options, and one deal where the variant leaves how the match ends to be chosen."""
    ends = variant != "straight" or "deals" in options or "target" in options
    return options if ends else {**options, "deals": 1}


def _headers(token: str | None, headers: dict[str, str]) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return named if token is None else {"Authorization": f"Bearer {token}", **named}

"""Tables over HTTP, for tests that read like the rule book.

table = house.table("straight", players=2, deals=1)
answer = table.players[1].draw("stock")
table = house.position("straight", hands="5C 5D KH | 2S 3S", pile="9D")
table.players[0].play("discard KH")
"""

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import jsonschema_rs
import msgspec
from msgspec.structs import replace
from referencing import Registry
from werkzeug.test import TestResponse

from service.api import contract
from service.app import create_app
from service.config import Config
from service.game import Game, Seat, with_seat
from service.rummy.cards import pack
from service.rummy.computer import Level
from service.rummy.model import Match
from service.servers import Servers
from service.store import Expiry, Store
from service.tables import Tables
from service.tokens import Chance
from service.watch import Watch
from tests import positions
from tests.contract import CheckedClient, Contract
from tests.fleets import raw_client

NAMES = ("ada", "bo", "cleo", "dan", "eva", "finn", "gro", "hal")
EXPIRY = Expiry(unstarted_seconds=3_600, running_seconds=3_600, finished_seconds=3_600)


class Clock:
    """The time that the service believes in, in milliseconds; it stands still until moved on."""

    def __init__(self) -> None:
        self.set()

    def set(self) -> None:
        """Show the time of day."""
        self.now = time.time_ns() // 1_000_000

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


class Overtaken(Clock):
    """A clock by which everybody else is faster: before it is read, the game has gone on."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self) -> int:
        self.meanwhile()
        return super().__call__()


class House:
    """The service on a real store, and what can be seen of the store behind its back."""

    def __init__(
        self,
        redis_url: str,
        clock: Clock | None = None,
        chance: Chance = secrets.token_bytes,
        expiry: Expiry = EXPIRY,
        **settings: object,
    ) -> None:
        """`settings` as in the configuration; there are no rate limits unless they say so."""
        self.clock = clock
        self.redis_url = redis_url
        self.redis = raw_client(redis_url)
        config = Config(**{"redis_url": redis_url, "rate_limits": False} | settings)
        self.store = Store(Servers(redis_url, 2), expiry, record_format=config.record_format)
        self.app = create_app(config)
        if clock is not None:
            self.app.extensions["tables"] = Tables(
                self.store, Watch(Servers(redis_url, 2)), clock, chance
            )
        self._contract = QuickContract(contract(self.app))

    def client(self) -> CheckedClient:
        """A client of its own, as each thread needs one; the contract judges every answer."""
        return CheckedClient(self.app.test_client(use_cookies=False), self._contract)

    def new_table(self, variant: str, seats: int = 2, **wanted: object) -> TestResponse:
        """The answer to whoever makes a table; `wanted` is the rest of the request's body."""
        body = {"variant": variant, "name": NAMES[0], "seats": seats, **wanted}
        return self.client().post("/v1/games", json=body)

    def waiting(
        self, variant: str, seats: int = 2, taken: int = 1, *, more: dict | None = None, **options
    ) -> "Table":
        """A table that so many people sit at, with these options and what else the body holds."""
        if variant == "straight" and "target" not in options:
            options.setdefault("deals", 1)
        made = self.new_table(variant, seats, options=options, **(more or {}))
        assert made.status_code == 201, made.text
        table = Table(self, made.json["game"]["id"])
        table.seat(made)
        for name in NAMES[1:taken]:
            table.seat(table.stranger.post("join", {"name": name}))
        return table

    def table(
        self, variant: str, players: int = 2, *, seed: str | None = None, **options
    ) -> "Table":
        """A match just begun; with a `seed` always the same one."""
        more = {"practice": {"seed": seed}} if seed else {}
        return self.waiting(variant, players, players, more=more, **options)

    def position(self, variant: str = "straight", **written: object) -> "Table":
        """A match in the middle of a deal, written as in `tests.positions`."""
        return self.at(positions.position(variant, **written))

    def at(
        self, match: Match, *, computers: Mapping[int, Level] | None = None, due: int | None = None
    ) -> "Table":
        """A table at which this match is being played, at some seats by computers.

        `due`: when it goes on by itself.
        """
        players = match.rules.players
        table = self.waiting(match.rules.variant, players, players, more={"autostart": False})
        game = table.game()
        for seat, level in (computers or {}).items():
            game = with_seat(game, seat, Seat(f"Computer {seat}", None, computer=level))
        self.store.commit(replace(game, version=game.version + 1, match=match, due=due), ())
        return table


class QuickContract(Contract):
    """The same judge with its schemas compiled: whole matches ask it thousands of times."""

    def __init__(self, document: dict) -> None:
        super().__init__(document)
        self._compiled: dict = {}

    def _validate(self, where: str, schema: dict, value: object, registry: Registry) -> None:
        key = (id(registry), json.dumps(schema))
        validator = self._compiled.get(key)
        if validator is None:
            document = registry["urn:contract"].contents
            validator = self._compiled[key] = jsonschema_rs.Draft202012Validator(
                document | {"$id": "urn:contract", "allOf": [schema]}, validate_formats=True
            )
        if not validator.is_valid(value):
            super()._validate(where, schema, value, registry)
            raise AssertionError(f"{where}: not as documented")


class Player:
    """Somebody at a table, or somebody who only watches: then without seat and token."""

    def __init__(
        self, client: CheckedClient, game_id: str, seat: int | None = None, token: str | None = None
    ) -> None:
        self.client = client
        self.game_id = game_id
        self.seat = seat
        self.token = token

    def get(self, part: str = "", **headers: str) -> TestResponse:
        return self.client.get(self._path(part), headers=self._headers(headers))

    def post(self, part: str, body: object = None, **headers: str) -> TestResponse:
        sent = {} if body is None else {"json": body}
        return self.client.post(self._path(part), headers=self._headers(headers), **sent)

    def draw(self, source: str, **headers: str) -> TestResponse:
        return self.post("draw", {"from": source}, **headers)

    def play(self, text: str, **headers: str) -> TestResponse:
        """A move written as in `tests.positions`: "draw", "take 9D", "meld 5C JK=6C 7C" ..."""
        return self.make(msgspec.to_builtins(positions.move(text)), **headers)

    def make(self, move: dict, **headers: str) -> TestResponse:
        """A move as the service lists it."""
        return self.post(move["move"], move, **headers)

    def look(self) -> dict:
        answer = self.get()
        assert answer.status_code == 200, answer.text
        return answer.json

    def log(self, after: int = 0, page: int = 500) -> list[dict]:
        """The log from there on, read page by page."""
        entries: list[dict] = []
        more = True
        while more:
            answer = self.get(f"events?after={after}&limit={page}")
            assert answer.status_code == 200, answer.text
            entries += answer.json["events"]
            after, more = answer.json["last"], answer.json["more"]
        return entries

    def _path(self, part: str) -> str:
        return f"/v1/games/{self.game_id}" + (f"/{part}" if part and part[0] != "?" else part)

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        """Headers by name, with underscores for dashes: `if_match='"3"'`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            sent.setdefault("authorization", f"Bearer {self.token}")
        return sent


class Table:
    """A game and those who sit there, each with a client of the own."""

    def __init__(self, house: House, game_id: str) -> None:
        self.house = house
        self.id = game_id
        self.players: list[Player] = []
        self.stranger = Player(house.client(), game_id)

    @property
    def watchers(self) -> Sequence[Player]:
        return (*self.players, self.stranger)

    @property
    def mover(self) -> Player:
        """Whose turn it is."""
        return self.players[self.stranger.look()["deal"]["turn"]]

    def seat(self, answer: TestResponse) -> Player:
        """Who has just been given a seat."""
        assert answer.status_code == 201, answer.text
        taken = answer.json
        player = Player(self.house.client(), self.id, taken["seat"], taken["token"])
        self.players.append(player)
        return player

    def twin(self, player: Player) -> Player:
        """The same seat, played from another window."""
        return Player(self.house.client(), self.id, player.seat, player.token)

    def game(self) -> Game:
        """The record, with all that is hidden."""
        return self.house.store.load(self.id)

    def stored(self) -> dict[str, object]:
        """All that the store keeps of the game, byte for byte."""
        part = f"rummy:{{{self.id}}}:"
        return {
            "game": self.house.redis.hgetall(part + "game"),
            "events": self.house.redis.xrange(part + "events"),
            "deals": self.house.redis.lrange(part + "deals", 0, -1),
        }

    def record_size(self) -> int:
        """How many bytes the record has."""
        return len(self.house.redis.hget(f"rummy:{{{self.id}}}:game", "record"))


def code(answer: TestResponse) -> str:
    """The code of a refusal, or the status of any other answer, for short tables."""
    return answer.json["code"] if answer.status_code >= 400 else str(answer.status_code)


def assert_no_card_is_lost(game: Game) -> None:
    deal, rules = game.match.deal, game.match.rules
    if deal is None:
        return
    found = Counter((*deal.stock, *deal.pile))
    for hand in deal.hands:
        found.update(hand)
    for meld in deal.melds:
        found.update(meld.cards)
    assert found == Counter(pack(rules.decks, rules.jokers))

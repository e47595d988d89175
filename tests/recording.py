"""The recording of the answers that the contract has as examples.

The service is really asked: the games of `tests.example_games` are played, looked at from where it
teaches something, and each refusal is provoked by a line of `tests.http.refusals`. Only time and
chance are the recording's own, and every game is alone in the store, at the same time and with the
same id, so that the same answers come out each time, and a new game changes none of the others'.
"""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from service.app import create_app
from service.config import Config
from service.rummy.model import CallWindow
from service.store import Expiry
from tests.contract import PROBLEM, operations_of
from tests.example_games import SCRIPTS, ExampleGame, play
from tests.http.refusals import (
    CALLED,
    MOVES,
    REQUESTS,
    UNHEARD,
    ask,
    laid_out,
    overtaken,
    refusal,
    too_often,
    while_frozen,
)
from tests.http.tables import House, Overtaken

Example = dict[str, Any]

_START = 1_767_268_800_000
"""Noon of the first of January 2026 (UTC), in milliseconds."""
_STEP_SECONDS = 2
"""What passes between two requests."""
_NO_STORE = "redis://127.0.0.1:1"
"""Nobody listens there."""

_PENDING = refusal(
    "draw",
    "call_pending",
    "call-rummy.5",
    seat=1,
    **CALLED | {"call": "timed", "call_seconds": 9, "window": CallWindow(0, _START + 9_000)},
)
"""In the tests this window stays open for ever, which no time of a real one is like."""

_DERIVED = re.compile(r"\b([a-z2-7]{16})\.(?!example-)[A-Za-z0-9_-]{43}")
"""A token that was made from another one, as that of a rematch is."""
_TOKEN_LETTERS = 43
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


class ExampleChance:
    """Chance that can be foreseen, and makes ids and tokens that are seen to be examples."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Give the same again from now on."""
        self._ids = self._secrets = 0

    def __call__(self, length: int) -> bytes:
        if length == 10:
            self._ids += 1
            return base64.b32decode(f"examplegameaaaa{_LETTERS[self._ids]}".upper())
        assert length == 32
        self._secrets += 1
        return base64.urlsafe_b64decode(_token_part(f"example-token-{self._secrets}-") + "=")


def _token_part(beginning: str) -> str:
    return beginning.ljust(_TOKEN_LETTERS, "A")


class Look(NamedTuple):
    """A request that only reads, and what its answer is an example of.

    `most` shortens the lists of those names in the answer, `lines` a text.
    """

    operation: str
    name: str
    summary: str
    path: str
    seat: int | None = None
    accept: str = "application/json"
    most: Mapping[str, int] = MappingProxyType({})
    lines: int | None = None


_RULES = "/v1/variants/straight/rules?players=4"
_SHEET = {"sections": 1, "clauses": 3}
# fmt: off
LOOKS: dict[str, tuple[Look, ...]] = {
    "first_game": (
        Look("getScore", "first_game", "A match of one deal", "/v1/games/{id}/score"),
        Look("getDeal", "json", "A deal of four requests", "/v1/games/{id}/deals/1"),
        Look("getDeal", "text", "The same in the notation", "/v1/games/{id}/deals/1",
             accept="text/plain"),
        Look("getReplay", "first_game", "A match of one deal", "/v1/games/{id}/replay"),
        Look("getEvents", "stream", "The end of a match, as a stream",
             "/v1/games/{id}/events?after=16", accept="text/event-stream"),
    ),
    "step_by_step": (
        Look("getGame", "player", "As Bo sees it: it is his turn", "/v1/games/{id}", 1),
        Look("getGame", "spectator", "As everybody may see it", "/v1/games/{id}"),
        Look("getGame", "memory", "With what everybody saw in this deal",
             "/v1/games/{id}?memory=true", 1),
        Look("listMoves", "step_by_step", "What Bo can do now", "/v1/games/{id}/moves", 1),
        Look("getEvents", "page", "Bo's first three moves",
             "/v1/games/{id}/events?after=10&limit=3", 0),
        Look("listGames", "own", "The game that the token is for", "/v1/games?mine=true", 1),
    ),
    "house_rules": (
        Look("listGames", "tables", "A table that waits for three more",
             "/v1/games?open_seats=3"),
        Look("getGameRules", "json", "The first clauses", "/v1/games/{id}/rules", most=_SHEET),
        Look("getGameRules", "markdown", "The beginning", "/v1/games/{id}/rules",
             accept="text/markdown", lines=20),
        Look("getGameRules", "html", "The beginning of the page", "/v1/games/{id}/rules",
             accept="text/html", lines=20),
    ),
    "nothing": (
        Look("listVariants", "variants", "The first two, each with its first two options",
             "/v1/variants", most={"variants": 2, "options": 2}),
        Look("getVariant", "variant", "With its first three options", "/v1/variants/straight",
             most={"options": 3}),
        Look("getVariantRules", "json", "The first clauses", _RULES,
             most=_SHEET),
        Look("getVariantRules", "markdown", "The beginning", _RULES,
             accept="text/markdown", lines=20),
        Look("getVariantRules", "html", "The beginning of the page",
             _RULES, accept="text/html", lines=20),
        Look("listErrors", "json", "The first three", "/errors", most={"errors": 3}),
        Look("listErrors", "html", "The beginning of the page", "/errors", accept="text/html",
             lines=20),
        Look("getError", "json", "Why an upcard cannot be put back", "/errors/upcard_returned"),
        Look("getError", "html", "The same as a page", "/errors/upcard_returned",
             accept="text/html"),
        Look("getHealth", "ok", "It is up", "/healthz"),
        Look("getReadiness", "ok", "It can serve", "/readyz"),
        Look("getMetrics", "text", "The first of them", "/metrics", accept="text/plain", lines=3),
    ),
}
# fmt: on
"""What is looked at after which game; and after all of them, what has to do with none."""

_BODILESS = {"done": {"value": None}}
"""What stands for the example of a request that has no body."""

SUMMARIES = {
    ("createSandbox", "done"): "Both seats with their tokens, and the table as Anna sees it",
    ("addEntropy", "people_and_computers"): "It will be mixed into the first deal",
    ("removePlayer", "people_and_computers"): "The seat is free again",
    ("startGame", "done"): "The cards are dealt",
    ("leaveGame", "done"): "The computer plays Bo's seat",
    ("returnToGame", "done"): "Bo plays again",
    ("rematch", "people_and_computers"): "Anna's seat in the game that follows",
    ("closeTable", "done"): "Nobody can join any more",
}
"""Of the answers that the summaries of their requests do not fit."""


def recorded(redis_url: str) -> dict[str, Any]:
    """The examples of all answers, as service/api/recorded.json has them. Empties the store."""
    return Recording(redis_url).all()


class Recording:
    """The service at a fixed time, and the answers that were noted so far."""

    def __init__(self, redis_url: str) -> None:
        self.clock, self.chance = Overtaken(), ExampleChance()
        self.house = House(redis_url, self.clock, self.chance, _usual_expiry())
        self.client = self.house.client()
        self.document = self.client.contract.document
        self.answers: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))

    def all(self) -> dict[str, Any]:
        for name, script in SCRIPTS.items():
            self.begin()
            self.look(LOOKS.get(name, ()), play(self, script))
        self.look(LOOKS["nothing"], ExampleGame("", []))
        return {"answers": self.answers, "refusals": dict(sorted(self.refusals()))}

    def begin(self) -> None:
        """Everything as it was at first."""
        self.house.redis.flushdb()
        self.clock.now = _START
        self.clock.meanwhile = lambda: None
        self.chance.begin()

    def post(self, path: str, **sent: Any) -> TestResponse:
        """Send it; if it is an example of a request, note the answer under its name.

        If it is a move it is checked first.
        """
        operation = self.client.contract.operation("POST", path)
        examples = _BODILESS
        if "requestBody" in operation:
            examples = operation["requestBody"]["content"]["application/json"]["examples"]
        names = [name for name in examples if examples[name]["value"] == sent["json"]]
        if names and "check" in _parameters(operation):
            checked = self.client.post(f"{path}?check=true", **sent)
            self.note(operation["operationId"], "checked", "Only checked: it is legal", checked)
        answer = self.client.post(path, **sent)
        for name in names:
            key = operation["operationId"], name
            summary = SUMMARIES.get(key) or examples[name]["summary"]
            self.note(*key, summary, answer)
        self.clock.forward(_STEP_SECONDS)
        return answer

    def look(self, looks: tuple[Look, ...], game: ExampleGame) -> None:
        """Ask, and note what the answers are."""
        for look in looks:
            headers = {"Accept": look.accept}
            if look.seat is not None:
                headers["Authorization"] = f"Bearer {game.tokens[look.seat]}"
            answer = self.client.get(look.path.format(id=game.id), headers=headers)
            assert answer.status_code == 200, answer.text
            self.note(look.operation, look.name, look.summary, answer, look.most, look.lines)

    def note(
        self,
        operation: str,
        name: str,
        summary: str,
        answer: TestResponse,
        most: Mapping[str, int] = MappingProxyType({}),
        lines: int | None = None,
    ) -> None:
        """Keep the answer as an example, unless there is one of that name."""
        text = _DERIVED.sub(rf"\1.{_token_part('example-token-derived-')}", answer.text)
        value = shortened(json.loads(text), most) if answer.is_json else _begun(text, lines)
        of_kind = self.answers[operation][str(answer.status_code)][answer.mimetype]
        of_kind.setdefault(name, {"summary": summary, "value": value})

    def refusals(self) -> Iterator[tuple[str, Example]]:
        """An example for each code that the contract names."""
        provocations = self.provocations()
        for code in self.codes():
            said = f"No request is refused with {code}: add a line to tests/http/refusals.py."
            assert code in provocations, said
            self.begin()
            answer = provocations[code]()
            assert (answer.mimetype, answer.json["code"]) == (PROBLEM, code), answer.text
            yield code, {"summary": answer.json["title"], "value": answer.json}

    def codes(self) -> set[str]:
        return {
            code
            for operation in operations_of(self.document).values()
            for response in operation["responses"].values()
            for code in response.get("x-codes", ())
        }

    def provocations(self) -> dict[str, Callable[[], TestResponse]]:
        """For each code a request that is refused with it."""
        house = self.house
        away = House(_NO_STORE, self.clock, self.chance).client()
        found: dict[str, Callable[[], TestResponse]] = {
            "rate_limited": lambda: too_often(house),
            "too_busy": lambda: overtaken(house, self.clock),
            "call_pending": lambda: ask(laid_out(house, _PENDING)[1], _PENDING.text),
            "tables_frozen": lambda: while_frozen(house),
            "store_unavailable": lambda: away.get("/v1/games/examplegameaaaab"),
            "stopping": lambda: self.stopping().get("/readyz"),
        }
        for line in MOVES:
            found.setdefault(line.code, lambda line=line: ask(laid_out(house, line)[1], line.text))
        for _, _, code, setting, ask_for in REQUESTS:
            found.setdefault(code, lambda setting=setting, ask_for=ask_for: ask_for(setting(house)))
        for _, code, ask_for in UNHEARD:
            found.setdefault(code, lambda ask_for=ask_for: ask_for(house.client()))
        return found

    def stopping(self) -> FlaskClient:
        """A client of a process that is about to end."""
        return create_app(Config(redis_url=_NO_STORE), stopping=lambda: True).test_client()


def _usual_expiry() -> Expiry:
    """As a service has it whose operator has not chosen another."""
    usual = Config()
    return Expiry(
        usual.expire_unstarted_seconds, usual.expire_running_seconds, usual.expire_finished_seconds
    )


def _parameters(operation: dict[str, Any]) -> set[str]:
    return {parameter["name"] for parameter in operation.get("parameters", ())}


def shortened(value: Any, most: Mapping[str, int]) -> Any:
    """The answer with no more items in the lists of those names."""
    if isinstance(value, list):
        return [shortened(item, most) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: shortened(item[: most[name]] if name in most else item, most)
        for name, item in value.items()
    }


def _begun(text: str, lines: int | None) -> str:
    return text if lines is None else "".join([*text.splitlines(keepends=True)[:lines], "…\n"])


def written(examples: dict[str, Any]) -> str:
    """As the file has them."""
    return json.dumps(examples, ensure_ascii=False, indent=1) + "\n"

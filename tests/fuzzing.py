"""What the fuzzing of the contract needs besides Schemathesis: people who play, and figures.

A schema cannot say whose turn it is, which token opens a game, or what can be melded. So requests
made from the schema alone would be refused nearly always. `Players` remember the tokens that the
service gave out, bring a game to where an operation can be accepted, and say with which token and
which body. They do so for most of the valid requests; all others go out as they were made.
"""

import re
from collections import Counter
from random import Random
from typing import Any

from schemathesis import Case, GenerationMode
from schemathesis.generation.meta import CoveragePhaseData

from service.rummy.rules import PRESETS
from tests.example_games import SCRIPTS, Step, play
from tests.http.simple_player import choose
from tests.http.tables import Clock, House

MOVES = {
    "draw": "draw",
    "meld": "meld",
    "layoff": "layoff",
    "swap": "swap",
    "discard": "discard",
    "callRummy": "rummy",
    "playTurn": "turn",
}
"""The operations that are moves, and the move."""

_BEFORE_THE_START = {"joinGame", "addComputers", "removePlayer", "startGame", "closeTable"}
_OF_TWO = {"startGame", "removePlayer"}
_AFTER_A_DEAL = {"getDeal", "getReplay", "getScore", "rematch"}
_BY_EXAMPLE = {"meld": 0.3, "layoff": 0.5, "swap": 0.7, "callRummy": 0.7, "returnToGame": 0.7}
"""How often a game is taken that is where an example has the operation: by chance it is rare."""

_MOST_TO_PLAY = 8
"""So many moves a game is played on for the move that is wanted."""

_MOST_OF_A_MATCH = 60
"""So many moves a match is played on where one that is over is wanted."""

_MOST_KEPT = 6
"""So many games are gone on with; older ones are left alone."""

_OTHER_METHODS = "(other methods)"
_START = 1_800_000_000_000
_SECONDS = (0, 0.2, 1, 3, 20)
"""So long it takes until the next request: now and then a turn or a call is too late."""

_ID = re.compile(r"(?<=v1/games/)[a-z2-7]{16}(?=/|$)")
_WAIT = re.compile(r"(?<=\bwait=)0*([1-5]?[0-9]|60)(?=&|$)")


class Front:
    """What Schemathesis talks to: a well-formed id that no game has stands for the `game` set here.

    A wrong case stays as Schemathesis made it, or it would judge it wrongly, and yet it is about a
    game that there is. Nobody waits: nothing would happen meanwhile. The tests are made when this
    is imported, and the store is there only when they run: until then `house` has none.
    """

    def __init__(self) -> None:
        self.clock, self.chance = Clock(), Random()
        self.open("redis://localhost:1")

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        environ["PATH_INFO"] = _ID.sub(self._id, environ["PATH_INFO"])
        environ["QUERY_STRING"] = _WAIT.sub("0", environ.get("QUERY_STRING", ""))
        return self.house.app(environ, start_response)

    def open(self, redis_url: str) -> None:
        """Serve from that store."""
        self.house = House(redis_url, self.clock, self.chance.randbytes)
        self.players = Players(self.house.client())
        self.game: str | None = None

    def begin(self, seed: int) -> None:
        """No games, and the chance that belongs to the seed."""
        self.house.redis.flushdb()
        self.clock.now = _START
        self.chance.seed(seed)
        self.players = Players(self.house.client())
        self.game = None

    def prepare(self, case: Case, chance: Random) -> dict[str, str]:
        """Make a valid case one that can be accepted, mostly; the headers to send it with."""
        self.game = None
        self.clock.forward(chance.choice(_SECONDS))
        self.players.look_again()
        if _has_stray_if_match(case):
            del case.headers["If-Match"]
        if is_positive(case):
            _with_what_no_schema_can_say(case, chance)
        asked = case.path_parameters.get("game_id")
        if chance.random() < 0.03:
            return {}
        if asked is None:
            token = self._prepare_lists(case, chance)
        else:
            token = self._prepare_game(case, str(asked), chance)
        return {} if chance.random() < 0.03 else bearer(token)

    def _prepare_lists(self, case: Case, chance: Random) -> str:
        token = self.players.somebody(chance)
        if is_positive(case) and chance.random() < 0.75:
            if operation_id(case) == "createGame":
                case.body = some_table(chance)
            elif operation_id(case) == "queryGames":
                case.body = {"tokens": [token, self.players.somebody(chance)]}
        return token

    def _prepare_game(self, case: Case, asked: str, chance: Random) -> str:
        operation, valid, players = operation_id(case), is_positive(case), self.players
        game = players.game_for(operation, asked, chance)
        if operation in MOVES:
            game, token, body = players.move_for(operation, game, chance)
        else:
            token, body = players.token_for(operation, game, chance), None
        if not valid:
            self.game = game
            return token
        case.path_parameters["game_id"] = game
        if body and chance.random() < 0.85:
            case.body = body
        elif isinstance(case.body, dict) and chance.random() < 0.75:
            case.body = case.body | players.what_fits(operation, game)
        if "number" in case.path_parameters and chance.random() < 0.5:
            case.path_parameters["number"] = 1
        if "If-Match" in case.headers and chance.random() < 0.75:
            case.headers["If-Match"] = f'"{players.version(game)}"'
        return players.somebody(chance) if chance.random() < 0.05 else token

    def _id(self, found: re.Match[str]) -> str:
        return found[0] if self.game is None or found[0] in self.players.tokens else self.game


class Players:
    """Those who sit at the tables that were made through this client."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.tokens: dict[str, list[str]] = {}
        self.invitations: dict[str, str] = {}
        self._seen: dict[str, list[tuple[str, Any]]] = {}
        self.moves = 0
        """Those that were made to bring games somewhere."""

    def look_again(self) -> None:
        """Something may have changed."""
        self._seen.clear()

    def hear(self, answer: Any) -> None:
        """Remember the tokens that an answer gives out."""
        if not isinstance(answer, dict) or not isinstance(answer.get("game"), dict):
            return
        given = [seat["token"] for seat in answer.get("seats", [answer]) if "token" in seat]
        if given:
            game = answer["game"]["id"]
            known = self.tokens.pop(game, [])
            self.tokens[game] = known + [token for token in given if token not in known]
            if answer.get("invitation"):
                self.invitations[game] = answer["invitation"]

    def somebody(self, chance: Random) -> str:
        """Any token."""
        kept = [game for game in self.tokens if self.tokens[game]][-_MOST_KEPT:]
        game = chance.choice(kept) if kept else self._new_table(some_table(chance))
        return chance.choice(self.tokens[game])

    def game_for(self, operation: str, asked: str, chance: Random) -> str:
        """A game for that operation: the one asked for, if it is known and will do."""
        if chance.random() < _BY_EXAMPLE.get(operation, 0):
            return self._as_in_an_example(operation, chance)
        kept = list(self.tokens)[-_MOST_KEPT:]
        if chance.random() < 0.02 or not kept:
            return self._new_table(some_table(chance))
        game = asked if asked in self.tokens else chance.choice(kept)
        views = self._views(game)
        status = views[0][1]["status"] if views else "closed"
        if operation in _BEFORE_THE_START and chance.random() < 0.8:
            too_few = operation in _OF_TWO and len(views) < 2
            return self._waiting_table(chance) if status != "waiting" or too_few else game
        if operation in _AFTER_A_DEAL and status != "finished" and chance.random() < 0.5:
            return self._finished_match(chance)
        if operation in MOVES and status in ("finished", "closed") and chance.random() < 0.9:
            return self._new_table(some_table(chance))
        return game if views else self._new_table(some_table(chance))

    def token_for(self, operation: str, game: str, chance: Random) -> str:
        """A token of that game: of its host where only the host may."""
        tokens = [token for token, _ in self._views(game)]
        host = operation in _BEFORE_THE_START and chance.random() < 0.9
        return tokens[0] if host else chance.choice(tokens)

    def move_for(
        self, operation: str, game: str, chance: Random
    ) -> tuple[str, str, dict[str, Any] | None]:
        """A game where somebody may make such a move, if it comes to that; the token, the body."""
        for _ in range(_MOST_TO_PLAY):
            views = self._views(game)
            chance.shuffle(views)
            for token, view in views:
                if legal := _legal(MOVES[operation], view["moves"]):
                    return game, token, chance.choice(legal)
            if not self._play_on(game, views, chance):
                game = self._new_table(some_table(chance))
        return game, chance.choice(self.tokens[game]), None

    def what_fits(self, operation: str, game: str) -> dict[str, Any]:
        """What the body needs at that table."""
        if operation == "joinGame" and game in self.invitations:
            return {"invitation": self.invitations[game]}
        if operation == "removePlayer":
            return {"seat": 1, "name": None}
        return {}

    def version(self, game: str) -> int:
        """The version that the game has now."""
        views = self._views(game)
        return views[0][1]["version"] if views else 1

    def finished(self) -> tuple[int, int]:
        """How many matches are finished, and how many deals were played to their end in all."""
        self.look_again()
        seen = [views[0][1] for game in self.tokens if (views := self._views(game))]
        deals = [view["last_deal"]["number"] for view in seen if view["last_deal"]]
        return sum(view["status"] == "finished" for view in seen), sum(deals)

    def _play_on(self, game: str, views: list[tuple[str, Any]], chance: Random) -> bool:
        """Make one move, or fill the table and start; False if there is nothing to do."""
        for token, view in views:
            if view["moves"]:
                move = choose(view, chance)
                answer = self._post(f"/v1/games/{game}/{move['move']}", move, token)
                assert answer.status_code == 200, (move, answer.json)
                self.moves += 1
                return True
        if not views or views[0][1]["status"] != "waiting":
            return False
        body = {"name": "Bo", "invitation": self.invitations.get(game)}
        joined = self._post(f"/v1/games/{game}/join", body)
        self.hear(joined.json)
        started = self._post(f"/v1/games/{game}/start", None, self.tokens[game][0])
        return joined.status_code == 201 or started.status_code == 200

    def _new_table(self, body: dict[str, Any]) -> str:
        made = self._post("/v1/games", body)
        assert made.status_code == 201, (body, made.json)
        self.hear(made.json)
        game: str = made.json["game"]["id"]
        return game

    def _waiting_table(self, chance: Random) -> str:
        game = self._new_table({**some_table(chance), "seats": 4, "autostart": False})
        body = {"name": "Bo", "invitation": self.invitations.get(game)}
        self.hear(self._post(f"/v1/games/{game}/join", body).json)
        return game

    def _finished_match(self, chance: Random) -> str:
        """The match of the examples, or one that is played for so long that it mostly is over."""
        if chance.random() < 0.7:
            return self._played(SCRIPTS["first_game"])
        game = self._new_table(some_table(chance))
        for _ in range(_MOST_OF_A_MATCH):
            if not self._play_on(game, self._views(game), chance):
                break
        return game

    def _as_in_an_example(self, operation: str, chance: Random) -> str:
        """A game as it is where an example makes that move."""
        return self._played(
            chance.choice(
                [
                    script[:before]
                    for script in SCRIPTS.values()
                    for before, (used, _, _) in enumerate(script)
                    if used == operation
                ]
            )
        )

    def _played(self, steps: tuple[Step, ...]) -> str:
        played = play(self.client, steps)
        self.tokens[played.id] = played.tokens
        return played.id

    def _views(self, game: str) -> list[tuple[str, Any]]:
        """The tokens that open the game, each with what its seat sees."""
        if game not in self._seen:
            tokens = self.tokens[game]
            found = (
                self._post("/v1/games/query", {"tokens": tokens}).json["games"] if tokens else []
            )
            views = {tokens[one["token"]]: one["game"] for one in found}
            self.tokens[game] = [token for token in tokens if token in views]  # the others are gone
            self._seen = {game: [(token, views[token]) for token in self.tokens[game]]}
        return self._seen[game].copy()

    def _post(self, path: str, body: dict[str, Any] | None, token: str | None = None) -> Any:
        self.look_again()
        sent = {} if body is None else {"json": body}
        return self.client.post(path, headers=bearer(token) if token else {}, **sent)


class Figures:
    """What was sent and what came of it."""

    def __init__(self) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        """The cases by operation and status."""
        self.codes: Counter[str] = Counter()
        self.moves: Counter[str] = Counter()
        """Accepted moves, by operation."""
        self.links: set[str] = set()
        """Those that were followed with all that they take."""
        self.chains = self.matches = self.deals = self.moves_between = 0
        """Chains of cases, the matches and deals that were over after them, and moves made besides
        to bring a game somewhere."""

    @property
    def cases(self) -> int:
        """How many there were."""
        return self.statuses.total()

    @property
    def accepted(self) -> set[str]:
        """The operations that accepted a request."""
        reached = {operation for operation, status in self.statuses if status < 300}
        return reached - {_OTHER_METHODS}

    @property
    def share_of_moves(self) -> float:
        """How many of the moves were accepted."""
        tried = sum(number for (name, _), number in self.statuses.items() if name in MOVES)
        return self.moves.total() / tried

    def count(self, case: Case, response: Any) -> None:
        """Count a case and its answer."""
        operation, status = operation_id(case), response.status_code
        if case.method.upper() != case.operation.method.upper():
            operation = _OTHER_METHODS
        self.statuses[operation, status] += 1
        if status >= 400:
            self.codes[response.json()["code"]] += 1
        elif operation in MOVES:
            self.moves[operation] += 1

    def add(self, other: "Figures") -> None:
        """Count what others counted."""
        self.statuses += other.statuses
        self.codes += other.codes
        self.moves += other.moves

    def __str__(self) -> str:
        lines = [f"{self.cases} cases, by operation and status:"]
        for operation in sorted({operation for operation, _ in self.statuses}):
            of_it = {s: n for (o, s), n in sorted(self.statuses.items()) if o == operation}
            each = "  ".join(f"{status}: {number}" for status, number in of_it.items())
            lines.append(f"  {operation:16} {sum(of_it.values()):6}   {each}")
        lines.append("Refusals: " + _listed(self.codes))
        if self.moves:
            moves = f"{_listed(self.moves)}, {self.share_of_moves:.0%} of those tried"
            lines.append(f"Accepted moves: {self.moves.total()} ({moves})")
        if self.chains:
            lines.append(
                f"{self.chains} chains, {len(self.links)} links followed, {self.moves_between} "
                f"moves besides; {self.matches} matches and {self.deals} deals played to the end"
            )
        return "\n".join(lines)


def operation_id(case: Case) -> str:
    """The operation that the case is for."""
    name: str = case.operation.definition.raw["operationId"]
    return name


def is_positive(case: Case) -> bool:
    """Whether the case is of the documented form."""
    return case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE


def bearer(token: str) -> dict[str, str]:
    """The header that says who asks."""
    return {"Authorization": f"Bearer {token}"}


def some_table(chance: Random) -> dict[str, Any]:
    """The body for a table whose match does not take long."""
    variant = chance.choice(sorted(PRESETS))
    options: dict[str, Any] = {"hand_size": chance.randint(3, 7), "deals": chance.choice([1, 1, 2])}
    if chance.random() < 0.5:
        options["jokers"] = 2
    return {
        "variant": variant,
        "name": "Anna",
        "options": options,
        **chance.choice(
            [
                {},
                {},
                {"public": True},
                {"private": True},
                {"spectators": False},
                {"seats": 3, "computers": [chance.choice(["random", "steady", "sharp"])]},
            ]
        ),
    }


def _has_stray_if_match(case: Case) -> bool:
    """Schemathesis 4.32 puts a wrong If-Match into all cases when it tries out other things."""
    tried = case.meta.phase.data if case.meta else None
    return isinstance(tried, CoveragePhaseData) and (
        case.headers.get("If-Match") == "0" and tried.parameter != "If-Match"
    )


def _with_what_no_schema_can_say(case: Case, chance: Random) -> None:
    if "Idempotency-Key" in case.headers and chance.random() < 0.75:
        case.headers["Idempotency-Key"] = f"{chance.getrandbits(128):032x}"
    if case.query and case.query.get("mine"):
        for other in ("cursor", "variant"):  # are for the list of tables
            case.query.pop(other, None)


def _legal(kind: str, moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bodies for that kind of move."""
    if kind != "turn":
        return [move for move in moves if move["move"] == kind]
    plays = [[], *([move] for move in moves if move["move"] in ("meld", "layoff", "swap"))]
    discards = [move["card"] for move in moves if move["move"] == "discard"]
    return [
        {"plays": played, "discard": card}
        for played in plays
        for card in discards
        if not any(card in (*play.get("cards", ()), play.get("card")) for play in played)
    ]


def _listed(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counter.most_common())

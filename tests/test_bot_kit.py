"""The bots of examples/, in Python and JavaScript, as processes that play at a real `rummy serve`.

They are started as an author or the arena starts them. What a network does to them is done by a
proxy in between; whatever it does, each of their moves has to count exactly once.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
import requests

from tests.node import NODE
from tests.serving import ENVIRONMENT, ROOT, served_at

PYTHON = ROOT / "examples" / "bot.py"
JAVASCRIPT = ROOT / "examples" / "bot.mjs"
COMMANDS = {"python": (sys.executable, PYTHON), "javascript": (str(NODE), JAVASCRIPT)}
MOVES = {"drew", "melded", "laid_off", "swapped", "discarded", "called"}
"""The events of moves that a player makes: one each."""

PATIENCE = 120

Command = tuple[str, Path]


@pytest.fixture(params=COMMANDS)
def bot(request: pytest.FixtureRequest) -> Command:
    """The program that runs a bot, and the bot."""
    return COMMANDS[request.param]


@contextmanager
def started(bot: Command, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*bot, *arguments],
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], *, fails: bool = False) -> tuple[str, str]:
    """What it wrote to its output and as errors, once it has ended."""
    told, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode != 0) == fails, complaints
    return told, complaints


def run(bot: Command, *arguments: str, fails: bool = False, **environment: str) -> tuple[str, str]:
    with started(bot, *arguments, **environment) as process:
        return ended(process, fails=fails)


def ask(method: str, address: str, body: object = None, token: str | None = None) -> dict:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = requests.request(method, address, json=body, headers=headers, timeout=30)
    assert answer.ok, answer.text
    return answer.json()


def table(service: str, *, people: int = 1, **wanted: object) -> list[str]:
    """The tokens of the people at a new table; one of them needs a computer player as well.

    The cards are always the same: with others, two bots could wait for the same ones for very long.
    """
    practice = {"seed": "kit"}
    body = {"variant": "parlett", "name": "Ada", "seats": max(people, 2), "practice": practice}
    body |= wanted
    if people == 1 and "computers" not in body:
        body["computers"] = ["random"]
    first = ask("POST", f"{service}/v1/games", body)
    join = f"{service}/v1/games/{first['game']['id']}/join"
    others = [ask("POST", join, {"name": name}) for name in ("Bo", "Cleo", "Dan")[: people - 1]]
    return [first["token"], *(other["token"] for other in others)]


def game_of(token: str) -> str:
    return token.partition(".")[0]


def look(service: str, token: str) -> dict:
    return ask("GET", f"{service}/v1/games/{game_of(token)}")


def log(service: str, token: str) -> list[dict]:
    """The events of the game."""
    page = ask("GET", f"{service}/v1/games/{game_of(token)}/events?after=0&limit=500")
    assert not page["more"]
    return [entry["event"] for entry in page["events"]]


def moves_of(events: Sequence[dict], seat: int) -> list[dict]:
    return [event for event in events if event["type"] in MOVES and event["seat"] == seat]


def replaced(bot: Command, code: str, directory: Path) -> Command:
    """The bot with that code in the place of what is to be replaced."""
    program, source = bot
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    start, end = (number for number, line in enumerate(lines) if " ----------" in line)
    copy = directory / f"mine{source.suffix}"
    copy.write_text("".join([*lines[: start + 1], code, "\n", *lines[end:]]), encoding="utf-8")
    return program, copy


# ------------------------------------------------------------------------ how they are written


@pytest.mark.parametrize("source", [PYTHON, JAVASCRIPT], ids=lambda path: path.name)
def test_a_bot_has_at_most_100_lines_of_100_columns(source):
    lines = source.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("source", [PYTHON, JAVASCRIPT], ids=lambda path: path.name)
def test_what_is_to_be_replaced_is_marked_and_short(source):
    marks = [line for line in source.read_text().splitlines() if " ----------" in line]
    assert [mark.strip("/#- ") for mark in marks] == [
        "CHOOSE A MOVE: replace this by your own ideas",
        "the rest can stay as it is",
    ]
    first, second = (source.read_text().index(mark) for mark in marks)
    assert source.read_text()[first:second].count("\n") <= 25


def test_the_bots_need_nothing_but_their_languages():
    imported = re.findall(r"^(?:import|from) (\w+)", PYTHON.read_text(), re.MULTILINE)
    assert set(imported) <= set(sys.stdlib_module_names)
    imported = re.findall(r'^import .* from "(.+)";$', JAVASCRIPT.read_text(), re.MULTILINE)
    assert all(name.startswith("node:") for name in imported)


def test_the_files_that_the_kit_speaks_of_are_there():
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text)
    assert links
    assert [link for link in links if not (ROOT / "examples" / link).exists()] == []


# ----------------------------------------------------------------------------------- they play


def test_a_bot_plays_a_match_of_each_variant_and_all_of_them_at_once(service, bot):
    variants = ("straight", "seven-card", "parlett", "call-rummy")
    seats = [
        token
        for variant in variants
        for token in table(service, people=2, variant=variant, options={"deals": 1})
    ]
    told, complaints = run(bot, SERVICE=service, SEAT_TOKENS=" ".join(seats))
    assert complaints == ""
    games = {game_of(token): look(service, token) for token in seats}
    assert [game["status"] for game in games.values()] == ["finished"] * 4
    lines = sorted(told.splitlines())
    assert [line.split()[0] for line in lines] == sorted(2 * list(games))
    for game_id, game in games.items():
        own = [line for line in lines if line.startswith(f"{game_id} finished ")]
        won = [line for line in own if " finished won [" in line]
        assert len(own) == 2
        assert len(won) == len(game["result"]["winners"])


def test_a_bot_that_is_put_off_comes_back_and_plays_its_match_to_the_end(tmp_path, bot):
    limits = {"RUMMY_RATE_LIMITS": "true", "RUMMY_LIMIT_CHANGES": "4/second"}
    with served_at(tmp_path, **limits) as strict, Proxy(strict) as proxy:
        (token,) = table(strict, options={"deals": 1})
        run(bot, SERVICE=proxy.address, SEAT_TOKENS=token)
        assert look(strict, token)["status"] == "finished"
        own = moves_of(log(strict, token), 0)
    # None of them was made twice, and at least one was put off.
    assert len(proxy.moves()) > len(own)


def test_a_turn_without_melds_costs_two_requests(service, bot):
    with Proxy(service) as proxy:
        (token,) = table(service, practice={"seed": "cost"})
        run(bot, SERVICE=proxy.address, SEAT_TOKENS=token)
    events = moves_of(log(service, token), 0)
    assert len(proxy.moves()) == len(events)
    looks = [sent for sent in proxy.seen if sent.method == "GET"]
    assert len(looks) <= 3


def test_a_bot_may_also_choose_a_whole_turn(service, bot, tmp_path):
    code = WHOLE_TURNS[bot[1].suffix]
    with Proxy(service) as proxy:
        (token,) = table(service, practice={"seed": "whole"}, options={"hand_size": 5})
        run(replaced(bot, code, tmp_path), SERVICE=proxy.address, SEAT_TOKENS=token)
    kinds = [sent.path.split("/")[-1] for sent in proxy.moves()]
    assert set(kinds) == {"draw", "turn?wait=30"}
    assert look(service, token)["status"] == "finished"


WHOLE_TURNS = {
    ".py": """
def choose(game):
    for move in game["moves"]:
        if move["move"] == "draw":
            return move
    plays = [move for move in game["moves"] if move["move"] in ("meld", "layoff")][:1]
    left = [card for card in game["hand"] if not plays or card not in plays[0]["cards"]]
    card = next((card for card in left if card != game["may_not_discard"]), None)
    return {"move": "turn", "plays": plays, "discard": card}
""",
    ".mjs": """
function choose(game) {
  const draw = game.moves.find((move) => move.move === "draw");
  if (draw) return draw;
  const plays = game.moves.filter((move) => ["meld", "layoff"].includes(move.move)).slice(0, 1);
  const left = game.hand.filter((card) => !plays[0]?.cards.includes(card));
  const discard = left.find((card) => card !== game.may_not_discard) ?? null;
  return { move: "turn", plays, discard };
}
""",
}


def test_a_bot_runs_in_the_node_of_this_machine_too(service):
    node = shutil.which("node")
    version = node and subprocess.check_output([node, "--version"], text=True)
    if not node or int(version.strip("v").split(".")[0]) < 20:
        pytest.skip("Node 20 or newer is not installed")
    (token,) = table(service)
    told, complaints = run((node, JAVASCRIPT), SERVICE=service, SEAT_TOKENS=token)
    assert re.fullmatch(rf"{game_of(token)} finished (not )?won \[ \d+, \d+ \]\n", told)
    assert complaints == ""


def test_one_bot_takes_a_seat_and_later_another_goes_on_with_it(service, bot):
    (ada,) = table(service, computers=[])
    with started(bot, "--url", service, "--game", game_of(ada), "--name", "Bo") as process:
        line = process.stdout.readline()
        assert line.startswith("To go on with this seat later: SEAT_TOKENS=")
    seats = " ".join([ada, line.strip().partition("=")[2]])
    told, _ = run(bot, SERVICE=service, SEAT_TOKENS=seats)
    assert [seat["name"] for seat in look(service, ada)["seats"]] == ["Ada", "Bo"]
    assert len(told.splitlines()) == 2


def test_a_bot_takes_its_seat_back_from_the_computer(service, bot):
    ada, bo = table(service, people=2)
    ask("POST", f"{service}/v1/games/{game_of(ada)}/leave", {}, ada)
    with started(bot, SERVICE=service, SEAT_TOKENS=ada) as process:
        deadline = time.monotonic() + PATIENCE
        while not any(event["type"] == "returned" for event in log(service, ada)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        run(bot, SERVICE=service, SEAT_TOKENS=bo)
        ended(process)
    events = log(service, ada)
    returned = next(at for at, event in enumerate(events) if event["type"] == "returned")
    assert moves_of(events[returned:], 0)


def test_a_bot_that_waits_at_a_table_that_is_closed_ends_well(service, bot):
    (ada,) = table(service, computers=[], seats=3)
    bo = ask("POST", f"{service}/v1/games/{game_of(ada)}/join", {"name": "Bo"})["token"]
    with started(bot, SERVICE=service, SEAT_TOKENS=bo) as process:
        time.sleep(0.5)
        ask("POST", f"{service}/v1/games/{game_of(ada)}/close", {}, ada)
        told, complaints = ended(process)
    assert told.startswith(f"{game_of(ada)} closed not won ")
    assert complaints == ""


# -------------------------------------------------------------------------------- they are refused


def test_a_bot_with_nothing_to_play_tells_how_it_is_used(bot):
    told, complaints = run(bot, fails=True)
    assert told == ""
    assert complaints.startswith("usage: bot.")


@pytest.mark.parametrize("url", ["ftp://here", "nonsense", "http://"])
def test_a_bot_that_is_given_no_web_address_says_so_at_once(bot, url):
    _, complaints = run(bot, "--url", url, "--game", "abc", fails=True)
    assert "web address" in complaints or complaints.startswith("usage: bot.")
    assert len(complaints.splitlines()) == 1


def test_a_bot_that_does_not_know_an_option_tells_how_it_is_used(bot):
    _, complaints = run(bot, "--nope", fails=True)
    assert complaints.startswith("usage: bot.")
    assert not re.search("Traceback|^ +at ", complaints, re.MULTILINE)


@pytest.mark.parametrize("status", [302, 404])
def test_a_bot_at_another_service_gives_up_at_once(bot, status):
    with Elsewhere([(status, {"Location": "/"})]) as other:
        _, complaints = run(bot, "--url", other.address, "--game", "abc", fails=True)
    assert complaints == f"answered with {status}\n"
    assert other.answers == []


@pytest.mark.parametrize("after", ["Mon, 30 Nov 2026 14:00:00 GMT", "0.5", "-5"])
def test_a_bot_that_cannot_read_how_long_to_wait_waits_a_second(bot, after):
    with Elsewhere([(503, {"Retry-After": after}), (404, {})]) as other:
        began = time.monotonic()
        _, complaints = run(bot, "--url", other.address, "--game", "abc", fails=True)
        assert time.monotonic() - began >= 1
    first, second = complaints.splitlines()
    assert first.endswith("/v1/games/abc/join: put off with 503")
    assert second == "answered with 404"


def test_a_bot_that_finds_no_free_seat_says_so(service, bot):
    ada, _ = table(service, people=2)
    _, complaints = run(bot, "--url", service, "--game", game_of(ada), fails=True)
    assert complaints == "The match has begun; seats and options are fixed.\n"


def test_a_seat_that_cannot_be_played_does_not_stop_the_others(service, bot):
    tokens = [table(service)[0], table(service)[0]]
    wrong = tokens[0][:-4] + "AAAA"
    seats = " ".join([wrong, *tokens])
    told, complaints = run(bot, SERVICE=service, SEAT_TOKENS=seats, fails=True)
    assert complaints.endswith("The token is not of a seat at this table.\n")
    assert [look(service, token)["status"] for token in tokens] == ["finished"] * 2
    assert sorted(line.split()[0] for line in told.splitlines()) == sorted(map(game_of, tokens))


def test_a_seat_tells_how_it_ended_when_it_did_and_not_after_those_before(service, bot):
    waiting, playing = *table(service, computers=[]), *table(service)
    with started(bot, SERVICE=service, SEAT_TOKENS=f"{waiting} {playing}") as process:
        assert process.stdout.readline().startswith(f"{game_of(playing)} finished ")
        assert look(service, waiting)["status"] == "waiting"


def test_a_bot_whose_choice_is_refused_twice_gives_up_and_shows_what_would_do(
    service, bot, tmp_path
):
    mine = replaced(bot, BAD_CHOICES[bot[1].suffix], tmp_path)
    (token,) = table(service, practice={"seed": "bad", "dealer": 1})
    before = look(service, token)
    _, complaints = run(mine, SERVICE=service, SEAT_TOKENS=token, fails=True)
    first, second = complaints.splitlines()
    refusal = "Draw a card first, from the stock or the upcard."
    assert re.search(rf": {refusal} .*\bdraw\b.*\bstock\b", first)
    assert second.endswith(f": {refusal}")
    assert look(service, token)["version"] == before["version"]


BAD_CHOICES = {
    ".py": "def choose(game):\n    return {'move': 'discard', 'card': game['hand'][0]}\n",
    ".mjs": 'const choose = (game) => ({ move: "discard", card: game.hand[0] });\n',
}


def test_a_mistake_in_choose_is_shown_and_ends_the_bot(service, bot, tmp_path):
    mine = replaced(bot, MISTAKES[bot[1].suffix], tmp_path)
    _, complaints = run(mine, SERVICE=service, SEAT_TOKENS=table(service)[0], fails=True)
    assert "choose" in complaints
    assert "nothing" in complaints


MISTAKES = {
    ".py": "def choose(game):\n    return nothing\n",
    ".mjs": "const choose = (game) => nothing;\n",
}


# -------------------------------------------------------- the service is away, the network is bad


def test_a_bot_plays_on_after_a_restart_of_the_service(tmp_path, bot):
    with ExitStack() as stack:
        with served_at(tmp_path) as service:
            # The address stays the same; the port of the service could be another's by then.
            proxy = stack.enter_context(Proxy(service))
            seats = table(service, people=2, options={"deals": 2})
            process = stack.enter_context(
                started(bot, SERVICE=proxy.address, SEAT_TOKENS=" ".join(seats))
            )
            deadline = time.monotonic() + PATIENCE
            while len(log(service, seats[0])) < 20:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        proxy.service = stack.enter_context(served_at(tmp_path))
        _, complaints = ended(process)
        game, events = look(proxy.service, seats[0]), log(proxy.service, seats[0])
    assert re.search("no answer|put off", complaints)
    assert game["status"] == "finished"
    assert sum(event["type"] == "deal_ended" for event in events) == 2


@pytest.mark.parametrize("trouble", ["put off", "lost", "refused"])
def test_each_move_counts_once_whatever_happens_on_the_way(service, bot, trouble):
    with Proxy(service, *TROUBLES[trouble]) as proxy:
        (token,) = table(service, options={"deals": 2}, computers=["steady"])
        _, complaints = run(bot, SERVICE=proxy.address, SEAT_TOKENS=token)
    assert proxy.troubles == []  # each of them happened
    assert look(service, token)["status"] == "finished"
    sent: dict[str, list[Sent]] = {}
    for request in proxy.moves():
        sent.setdefault(request.key, []).append(request)
    accepted = [key for key, tries in sent.items() if tries[-1].status == 200]
    assert len(moves_of(log(service, token), 0)) == len(accepted)
    for tries in sent.values():
        assert len({(one.path, one.version) for one in tries}) == 1
        match tries[0].trouble:
            case "429" | "503":
                assert tries[1].at - tries[0].at >= 1  # as Retry-After asked for
                assert not tries[1].replayed
            case "502" | "never arrives":
                assert not tries[1].replayed
            case "answer lost" | "answer cut":
                assert tries[1].replayed
            case "409" | "412":
                assert len(tries) == 1
            case None:
                assert len(tries) == 1
    assert len(complaints.splitlines()) == len(TROUBLES[trouble])


TROUBLES = {
    "put off": ("503", "429", "502", "503"),
    "lost": ("never arrives", "answer lost", "answer cut", "answer lost", "answer cut"),
    "refused": ("412", "409", "412", "409"),
}


class Sent(NamedTuple):
    """A request as it came to the proxy, and what became of it; status 0: nobody was told."""

    method: str
    path: str
    key: str
    version: str | None
    trouble: str | None
    status: int
    replayed: bool
    at: float


class Proxy(ThreadingHTTPServer):
    """Stands between a bot and the service, and gives every third new move one of the troubles."""

    def __init__(self, service: str, *troubles: str) -> None:
        super().__init__(("127.0.0.1", 0), Forwarding)
        self.service = service
        self.troubles = list(troubles)
        self.seen: list[Sent] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def moves(self) -> list[Sent]:
        return [sent for sent in self.seen if sent.method == "POST"]

    def trouble_for(self, method: str, key: str) -> str | None:
        known = {sent.key for sent in self.moves()}
        new = method == "POST" and key not in known
        return self.troubles.pop(0) if new and len(known) % 3 == 2 and self.troubles else None


class Elsewhere(ThreadingHTTPServer):
    """Something that is no service of rummy, and what it answers, one after the other."""

    def __init__(self, answers: list[tuple[int, dict[str, str]]]) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.answers = answers
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Page(BaseHTTPRequestHandler):
    """A page for people."""

    protocol_version = "HTTP/1.1"
    server: Elsewhere

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, headers = self.server.answers.pop(0)
        content = b"<p>Hello.</p>"
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Forwarding(BaseHTTPRequestHandler):
    """Passes a request on and the answer back, or not quite."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def do_GET(self) -> None:
        self.forward()

    do_POST = do_GET  # noqa: N815 (the name that the server asks for)

    def forward(self) -> None:
        at, path = time.monotonic(), self.path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
        key = self.headers.get("Idempotency-Key", "")
        trouble = self.server.trouble_for(self.command, key)
        status, replayed = 0, False
        if trouble in ("502", "503", "429"):
            status = int(trouble)
            self.answer(status, b"<p>Later.</p>", {"Retry-After": "1"} if status != 502 else {})
        elif trouble == "never arrives":
            self.close_connection = True
        else:
            if trouble == "412":
                headers["If-Match"] = '"1"'
            if trouble == "409":  # what cannot be done now, instead of what can
                drawing = path.endswith("/draw")
                path = f"/v1/games/{path.split('/')[3]}/{'discard' if drawing else 'draw'}"
                body = json.dumps({"card": "JK"} if drawing else {"from": "stock"}).encode()
            address = f"{self.server.service}{path}"
            try:
                answer = requests.request(
                    self.command, address, data=body, headers=headers, timeout=60
                )
            except requests.ConnectionError:  # the service is away
                self.close_connection = True
                return
            status, replayed = answer.status_code, "Idempotency-Replayed" in answer.headers
            back = {name: answer.headers[name] for name in ("ETag",) if name in answer.headers}
            if trouble == "answer lost":
                self.close_connection = True
            else:
                cut = len(answer.content) // 2 if trouble == "answer cut" else None
                self.answer(status, answer.content, back, cut)
        version = self.headers.get("If-Match")
        self.server.seen.append(
            Sent(self.command, self.path, key, version, trouble, status, replayed, at)
        )

    def answer(
        self, status: int, content: bytes, headers: dict[str, str], cut: int | None = None
    ) -> None:
        self.send_response(status)
        if status != 304:
            headers = headers | {"Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[:cut])
        self.close_connection = cut is not None

    def log_message(self, *_: object) -> None:
        """Nothing."""


PASSED_ON = ("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match")

"""The examples and the README's first game, run as a reader runs them, against `rummy serve`."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
import requests
from msgspec.structs import fields

from service.config import PREFIX, Config
from tests.serving import ENVIRONMENT, ROOT, RUMMY, serving

MATCH = ROOT / "examples" / "match.py"
BOT = ROOT / "examples" / "bot.py"
README = (ROOT / "README.md").read_text(encoding="utf-8")
OUTCOME = r"\w+( and \w+)* (wins|share the win): \w+ \d+(, \w+ \d+)+"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running `rummy serve`."""
    with serving(tmp_path_factory.mktemp("data")) as address:
        yield address


def run(script: Path, *arguments: str, succeeds: bool = True) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, str(script), *arguments],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (ended.returncode == 0) == succeeds, ended.stderr
    return ended


def make_table(service: str, **wanted) -> dict:
    body = {"variant": "parlett", "name": "Ada", **wanted}
    answer = requests.post(f"{service}/v1/games", json=body, timeout=30)
    assert answer.status_code == 201, answer.text
    return answer.json()


# ----------------------------------------------------------------------------- match.py


@pytest.mark.parametrize("variant", ["straight", "seven-card", "parlett", "call-rummy"])
def test_bots_play_a_match_of_each_variant_to_the_end(service, variant):
    told = run(MATCH, "--url", service, "--variant", variant, "--players=2", "--seed=cedar")
    lines = told.stdout.splitlines()
    assert lines[0].startswith(f"A match of {variant}, deals: 1, table ")
    assert sum(line.startswith("Deal 1, dealt by ") for line in lines) == 1
    assert sum(" goes out with a " in line or "The deal is blocked" in line for line in lines) == 1
    assert re.fullmatch(OUTCOME, lines[-1])
    assert told.stderr == ""


def test_a_match_has_as_many_deals_and_players_and_such_rules_as_asked_for(service):
    rules = ["--option=deals=2", "--option=jokers=4", "--option=call=next_draw"]
    told = run(MATCH, "--url", service, "--variant=parlett", "--players=4", "--seed=tea", *rules)
    lines = told.stdout.splitlines()
    assert "  House rule: jokers is 4, not 0." in lines
    assert sum(line.startswith("Deal ") for line in lines) == 2
    assert lines[-1].count(",") == 3


def test_quiet_is_the_outcome_alone_and_the_demo_brings_its_own_service():
    told = run(MATCH, "--quiet", "--players=2", "--seed=maple", "--option=hand_size=4")
    assert re.fullmatch(OUTCOME + "\n", told.stdout)


def test_a_refused_table_is_told_in_one_line(service):
    told = run(MATCH, "--url", service, "--option=jokers=99", succeeds=False)
    assert told.stderr == "These options cannot be played: jokers: must be from 0 to 8\n"


# ------------------------------------------------------------------------------- bot.py


def test_the_bot_is_short_enough_to_be_read():
    assert len(BOT.read_text(encoding="utf-8").splitlines()) <= 140


def test_the_bot_needs_requests_and_nothing_else_beyond_the_standard_library():
    imported = re.findall(r"^(?:import|from) (\w+)", BOT.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(imported) - set(sys.stdlib_module_names) == {"requests"}


def test_one_bot_takes_a_seat_and_another_goes_on_with_one(service):
    table = make_table(service, practice={"seed": "maple"}, options={"hand_size": 4})
    game_id = table["game"]["id"]
    with subprocess.Popen(
        [sys.executable, str(BOT), "--url", service, "--game", game_id, "--name", "Bo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as joiner:
        assert joiner.stdout is not None
        assert joiner.stdout.readline().startswith("Seat 1. To go on with it later: --token ")
        host = run(BOT, "--url", service, "--game", game_id, "--token", table["token"])
        told, complaints = joiner.communicate(timeout=60)
    assert joiner.returncode == 0, complaints
    assert re.fullmatch(r"Ada: \d+( \(won\))?\nBo: \d+( \(won\))?\n", told)
    assert host.stdout == told


def test_a_bot_that_finds_no_free_seat_says_so(service):
    table = make_table(service)
    game = f"{service}/v1/games/{table['game']['id']}"
    requests.post(f"{game}/join", json={"name": "Bo"}, timeout=30)
    told = run(BOT, "--url", service, "--game", table["game"]["id"], succeeds=False)
    assert "The match has begun" in told.stderr


class Moody(BaseHTTPRequestHandler):
    """A service that is away first, then refuses a move, then says that the match is over."""

    seen: ClassVar[list[str]] = []
    at: ClassVar[list[float]] = []

    def do_GET(self) -> None:
        if not self.seen:
            self.answer(503, {"detail": "The store is away."}, {"Retry-After": "1"})
        elif "POST" not in self.seen:
            moves = [{"move": "draw", "from": "stock"}]
            self.answer(200, GAME | {"status": "playing", "moves": moves}, {"ETag": '"7"'})
        else:
            self.answer(200, GAME | {"status": "finished"}, {"ETag": '"8"'})

    def do_POST(self) -> None:
        assert self.headers["If-Match"] == '"7"'
        self.answer(409, {"detail": "It is the turn of seat 1."}, {})

    def answer(self, status: int, body: dict, headers: dict[str, str]) -> None:
        self.seen.append(self.command)
        self.at.append(time.monotonic())
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


GAME = {
    "moves": [],
    "hand": [],
    "you": 0,
    "seats": [{"seat": 0, "name": "Ada", "away": None}],
    "totals": [0],
    "result": {"winners": [0]},
}


def test_the_bot_waits_for_a_service_that_is_away_and_looks_again_after_a_refusal():
    with ThreadingHTTPServer(("127.0.0.1", 0), Moody) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        told = run(BOT, "--url", address, "--game=any", "--token=any")
        server.shutdown()
    assert Moody.seen == ["GET", "GET", "POST", "GET"]
    assert Moody.at[1] - Moody.at[0] >= 1
    assert told.stderr == "The store is away.\nIt is the turn of seat 1.\n"
    assert told.stdout == "Ada: 0 (won)\n"


# ---------------------------------------------------------------------------- README.md


def test_the_first_game_in_curl_works_as_printed(service):
    """All its commands in order, in one shell; only the addresses are others."""
    for program in ("bash", "curl", "python3"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    parts = ("A first game in curl", "Waiting", "Replays")
    text = "".join(README.split(f"\n## {part}\n")[1].split("\n## ")[0] for part in parts)
    commands = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    printed = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert "SERVICE=http://127.0.0.1:8000\n" in commands
    commands = commands.replace("http://127.0.0.1:8000", service)
    commands = commands.replace(".venv/bin/rummy", shlex.join(RUMMY))
    ended = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    rest = ended.stdout
    assert len(printed) == 11
    for expected in printed:
        _, found, rest = rest.partition(expected)
        assert found, f"not printed, or not in this order:\n{expected}\nall of it:\n{ended.stdout}"


def test_the_files_that_readme_speaks_of_exist():
    links = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", README)
    assert links
    missing = [link for link in links if not (ROOT / link).exists()]
    assert missing == []


def test_readme_has_every_setting_with_its_default():
    rows = dict(re.findall(r"^\| `(RUMMY_\w+)` \| (\S+) \|", README, re.MULTILINE))
    settings = {PREFIX + field.name.upper(): field.default for field in fields(Config)}
    assert rows == {
        name: "none" if default is None else str(default) for name, default in settings.items()
    }

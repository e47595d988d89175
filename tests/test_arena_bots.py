"""Bots in the arena: a real service, real processes, whatever they do."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shlex import join
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from service.arena import contest
from service.cli import main
from service.rummy.engine import new_match
from tests.serving import ENVIRONMENT, ROOT, RUMMY

SHORT = ["--option", "turnovers=0"]
"""So a deal is over when the stock is, though it may be blocked then."""

COMMON = """
import json, os, sys, time
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

TOKENS = os.environ["SEAT_TOKENS"].split()

class Table:
    def __init__(self, token):
        self.line = HTTPConnection(os.environ["SERVICE"].removeprefix("http://"), timeout=60)
        self.path = f"/v1/games/{token.split('.')[0]}"
        self.seat = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, path="", body=None, **headers):
        method, sent = ("GET", None) if body is None else ("POST", json.dumps(body))
        self.line.request(method, self.path + path, sent, self.seat | headers)
        answer = self.line.getresponse()
        return json.loads(answer.read() or "{}")

    def play(self):
        game = self.ask()
        while game["status"] == "playing":
            if game["moves"]:
                move = max(game["moves"], key=lambda move: self.value(move, game["hand"]))
                end = "?wait=20" if move["move"] == "discard" else ""
                game = self.ask(f"/{move['move']}{end}", move)["game"]
            else:
                tag = f'"{game["version"]}"'
                game = self.ask("?wait=20", **{"If-None-Match": tag}) or game

    def value(self, move, hand):
        if move["move"] == "discard":
            return -self.friends(move["card"], hand)
        if move["move"] == "draw":
            return move["from"] == "discard" and self.friends(move["card"], hand) > 1
        return len(move["cards"])

    def friends(self, card, hand):
        ranks = "A23456789TJQK"
        place = ranks.index(card[0])
        near = {rank + card[1] for rank in ranks[max(place - 2, 0) : place + 3]}
        return sum(other in near or other[0] == card[0] for other in hand)

TABLES = [Table(token) for token in TOKENS]

def play_all():
    threads = [Thread(target=table.play) for table in TABLES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

PLAIN = "play_all()"
"""Collects what fits, lays what it can, and discards what fits least: the same every time."""


class Bots:
    """Writes bots, and lets the arena play them."""

    def __init__(self, directory: Path, service: str) -> None:
        self.directory = directory
        self.service = service

    def write(self, program: str) -> str:
        """The command that runs it."""
        path = self.directory / f"bot-{len(list(self.directory.glob('bot-*')))}.py"
        path.write_text(COMMON + program, encoding="utf-8")
        return join([sys.executable, str(path)])

    def arena(self, *words: str) -> Result:
        common = ["--variant", "straight", "--deals", "2", *SHORT, "--url", self.service]
        return CliRunner().invoke(main, ["arena", *common, *words])

    def fails(self, program: str, *words: str) -> str:
        """What the arena says when this bot plays against steady."""
        command = self.write(program)
        ran = self.arena("--bot", command, *words)
        assert ran.exit_code == 1, ran.output
        assert f"Error: bot 1 ({command}) " in ran.output
        return ran.output


@pytest.fixture
def bots(tmp_path: Path, service: str) -> Bots:
    return Bots(tmp_path, service)


# -------------------------------------------------------------------------------- what it measures


def test_a_bot_plays_a_level_and_the_file_is_the_same_every_time(bots, tmp_path):
    words = ["--bot", bots.write(PLAIN), "--second", "steady", "--deals", "2", "--seed", "tea"]
    files = []
    for pace in (["--tables", "2"], ["--tables", "1", "--jobs", "1"]):
        files.append(tmp_path / f"{len(files)}.json")
        ran = bots.arena(*words, *pace, "--out", str(files[-1]))
        assert ran.exit_code == 0, ran.output
        assert ran.output.splitlines()[0].startswith("bot 1: ")
        assert " 4 " in ran.output.splitlines()[2]
        assert ran.output.splitlines()[-1] == "The seed was tea"
    assert files[0].read_bytes() == files[1].read_bytes()
    (found,) = json.loads(files[0].read_text())
    assert (found["first"], found["second"]) == (words[1], "steady")
    assert (found["deals"], found["plays"], found["options"]) == (2, 4, "turnovers=0")
    assert [play["deal"] for play in found["played"]] == [1, 1, 2, 2]
    assert found["played"][2]["seed"] == found["played"][3]["seed"] == "tea straight 1"
    won = Counter(play.get("winner") for play in found["played"])
    assert (won["first"], won["second"]) == (found["first_won"], found["second_won"])
    assert found["lead"] == pytest.approx(sum(play["lead"] for play in found["played"]) / 4)
    turns = sum(play["turns"] for play in found["played"])
    assert found["turns"] == pytest.approx(turns / 4, abs=0.01)


def test_a_bot_is_as_good_as_itself(bots, tmp_path):
    out = tmp_path / "out.csv"
    command = bots.write(PLAIN)
    ran = bots.arena("--bot", command, "--bot", command, "--deals", "3", "--out", str(out))
    assert ran.exit_code == 0, ran.output
    assert ran.output.splitlines()[:2] == [f"bot 1: {command}", f"bot 2: {command}"]
    assert "+0.00 ± 0.00" in ran.output
    assert "+0 (-338 to +338)" in ran.output  # what three pairs tell that came out even
    assert re.fullmatch("The seed was [0-9a-f]{32}", ran.output.splitlines()[-1])
    assert "played" not in out.read_text().splitlines()[0]


NOTES = """
notes = Path(sys.argv[0]).parent / "notes"
notes.mkdir(exist_ok=True)
seen = [json.dumps([table.ask("?memory=true"), table.ask("/events")]) for table in TABLES]
play_all()
(notes / str(os.getpid())).write_text(json.dumps({"tokens": TOKENS, "seen": seen}))
"""


@pytest.mark.parametrize(("players", "sides"), [(2, ["bot", "bot"]), (3, ["bot"]), (4, ["bot"])])
def test_both_plays_of_a_deal_have_its_cards_and_no_process_sees_them_twice(
    bots, tmp_path, players, sides
):
    replays, out = tmp_path / "replays", tmp_path / "out.json"
    words = [word for _ in sides for word in ("--bot", bots.write(NOTES))]
    words += ["--players", str(players), "--seed", "a secret one", "--tables", "2"]
    ran = bots.arena(*words, "--deals", "3", "--replays", str(replays), "--out", str(out))
    assert ran.exit_code == 0, ran.output
    deal_of: dict[str, int] = {}
    hands: dict[int, list[dict]] = defaultdict(list)
    played = json.loads(out.read_text())[0]["played"]
    for play in played:
        document = json.loads((replays / play["replay"]).read_text())
        deal_of[document["game"]] = play["deal"]
        (deal,) = document["deals"]
        assert deal["dealer"] == play["dealer"]
        order = [(deal["dealer"] + place) % players for place in range(1, players + 1)]
        whose = [play["seats"][seat] for seat in order]  # as the cards are dealt
        hands[play["deal"]].append({"cards": deal["cards"], "whose": whose})
    other = {"first": "second", "second": "first"}
    for number, (one, two) in hands.items():
        assert one["cards"] == two["cards"]
        assert one["whose"] == [other[side] for side in two["whose"]]
        same = contest(
            "straight",
            players,
            {"turnovers": 0},
            ("steady", "steady"),
            3,
            "a secret one",
        )
        match, _ = new_match(
            same.rules, same.seed_of(number - 1), dealer=same.dealer_of(number - 1)
        )
        assert match.deal is not None
        dealt = [card for hand in match.deal.hands for card in hand]
        assert sorted(one["cards"][: len(dealt)]) == sorted(dealt)
    assert len(deal_of) == 6
    notes = [json.loads(path.read_text()) for path in (tmp_path / "notes").iterdir()]
    seats = sum(play["seats"].count("first") for play in played)
    assert sum(len(note["tokens"]) for note in notes) == seats * len(sides)
    for note in notes:
        deals = [deal_of[token.split(".")[0]] for token in note["tokens"]]
        assert len(set(deals)) == len(deals)
        assert not any("a secret one" in seen for seen in note["seen"])


# ---------------------------------------------------------------------------- what goes wrong


def test_a_bot_that_crashes_is_named_with_the_table_and_its_last_words(bots):
    said = bots.fails("TABLES[0].ask()\nraise SystemExit('I cannot see my cards')")
    assert "ended with exit code 1 at table " in said
    assert "deal 1 (practice seed '" in said
    assert said.endswith("standard error:\nI cannot see my cards\n")


def test_nobody_can_guess_the_seed(bots):
    seeds = [re.findall(r"seed '([0-9a-f]{32}) ", bots.fails("sys.exit(1)")) for _ in range(2)]
    assert [len(found) for found in seeds] == [1, 1]
    assert seeds[0] != seeds[1]


def test_a_bot_that_is_killed_is_told_so(bots):
    assert "ended with signal 9 at table" in bots.fails("os.kill(os.getpid(), 9)")


def test_a_bot_that_does_nothing_is_not_waited_for_any_longer(bots):
    program = "print('thinking', file=sys.stderr, flush=True)\ntime.sleep(600)"
    said = bots.fails(program, "--patience", "5")
    assert "has made no move that counts for 5 seconds at table " in said
    assert said.endswith("\nthinking\n")


GARBAGE = """
while True:
    for table in TABLES:
        print(table.ask("/discard", {"card": "JK"})["code"], file=sys.stderr, flush=True)
"""


def test_a_bot_that_makes_illegal_moves_for_ever_is_stopped(bots):
    said = bots.fails(GARBAGE, "--patience", "5")
    assert "has made no move that counts for 5 seconds at table " in said
    lines = said.split("standard error:\n")[1].splitlines()
    assert len(lines) == 10
    assert set(lines) <= {"not_in_hand", "draw_first", "not_your_turn"}


def test_a_bot_that_says_too_much_is_stopped_all_the_same(bots):
    said = bots.fails("while True: print('z' * 10_000, file=sys.stderr)", "--patience", "2")
    assert "has made no move" in said
    assert len(said) < 8_000


def test_a_bot_that_ends_too_early_is_told_so(bots):
    said = bots.fails("TABLES[0].play()", "--tables", "2")
    assert "ended before its matches were over at table " in said
    assert "deal 2 " in said
    assert "It wrote nothing to its standard error." in said


def test_a_bot_that_does_not_end_is_told_so(bots):
    said = bots.fails("play_all()\ntime.sleep(600)", "--patience", "10")
    assert "still runs 10 seconds after its last match" in said


def test_a_bot_that_leaves_its_seat_is_told_so(bots):
    said = bots.fails("TABLES[0].ask('/leave', {})\ntime.sleep(600)")
    assert "left its seat" in said


def test_the_bot_that_is_awaited_is_named_and_not_the_one_that_waits(bots):
    idle = bots.write("time.sleep(600)")
    ran = bots.arena("--bot", bots.write(PLAIN), "--bot", idle, "--patience", "10")
    assert f"Error: bot 2 ({idle}) has made no move" in ran.output


def test_a_refusal_of_the_service_is_told(bots):
    ran = bots.arena("--bot", bots.write(PLAIN), "--seed", "tea\a")
    assert ran.exit_code == 1
    assert "Error: http://" in ran.output
    assert "422" in ran.output


def test_a_service_that_is_not_there_is_told_at_once(bots):
    ran = bots.arena("--bot", "true", "--url", "http://127.0.0.1:9")
    assert ran.exit_code == 1
    assert "Error: http://127.0.0.1:9/v1/games cannot be reached: " in ran.output


LINGERS = """
import signal, subprocess
before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which the child takes over
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
signal.signal(signal.SIGTERM, before)
pids = Path(sys.argv[0]).parent / "pids"
pids.mkdir(exist_ok=True)
(pids / f"{os.getpid()}.part").write_text(f"{os.getpid()} {child.pid} {os.environ['SERVICE']}")
(pids / f"{os.getpid()}.part").rename(pids / f"{os.getpid()}")
"""


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text() if sys.platform == "linux" else ""
        os.kill(pid, 0)
    except (OSError, ProcessLookupError):
        return False
    return ") Z " not in status  # whom nobody has asked for yet


def all_end(pids: list[int]) -> bool:
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_running, pids))


@pytest.mark.parametrize(
    ("end", "code"),
    [("sys.exit('enough')", 1), ("os._exit(0)", 1), (PLAIN, 0)],
    ids=["fails", "too early", "well"],
)
def test_what_a_bot_has_started_ends_with_it(bots, tmp_path, end, code):
    assert bots.arena("--bot", bots.write(LINGERS + end)).exit_code == code
    notes = [path.read_text().split() for path in tmp_path.glob("pids/*")]
    assert notes
    assert all_end([int(pid) for note in notes for pid in note[:2]])


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_with_the_arena_its_bots_and_its_service_end(bots, tmp_path, by):
    command = bots.write(LINGERS + "time.sleep(600)")
    words = ["--variant", "straight", "--bot", command, "--bot", command, "--jobs", "1"]
    with subprocess.Popen(
        [*RUMMY, "arena", *words, "--workers", "1"],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as arena:
        deadline = time.monotonic() + 90
        notes: list[Path] = []
        while len(notes) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
            notes = [path for path in tmp_path.glob("pids/*") if not path.suffix]
        for _ in range(4):  # as people do who see nothing happen
            arena.send_signal(by)
            time.sleep(0.2)
        said, _ = arena.communicate(timeout=30)
    assert arena.returncode == (1 if by == signal.SIGINT else 128 + by), said
    assert "Traceback" not in said
    assert said.count("\nEnding what was started; that takes some seconds.\n") == 1
    assert len(notes) == 2, said
    words = [word for note in notes for word in note.read_text().split()]
    assert all_end([int(word) for word in words if word.isdecimal()])
    address = words[2]
    ran = CliRunner().invoke(main, ["verify", f"{address}/v1/games/none/replay"])
    assert "cannot be reached" in ran.output


def test_without_a_service_the_arena_brings_its_own(bots):
    ran = CliRunner().invoke(
        main,
        ["arena", "--variant", "seven-card", "--deals", "2", *SHORT, "--bot", bots.write(PLAIN)],
    )
    assert ran.exit_code == 0, ran.output
    assert "seven-card        2  bot 1   steady      4" in ran.output


# ---------------------------------------------------------------------------- it is broken off

THE_FIFTH = """
def is_the_fifth():
    for number in range(1, 6):
        try:
            (Path(sys.argv[0]).parent / f"start-{number}").touch(exist_ok=False)
            return number == 5
        except FileExistsError:
            pass

if is_the_fifth():
"""
"""What follows, one line, is done by the fifth process of the bot that is started."""

BROKEN_OFF = ["--seed", "tea", "--tables", "1", "--jobs", "1"]
"""So the fifth process is the first that plays the third deal."""


@pytest.fixture
def two_deals(bots, tmp_path) -> bytes:
    """The file of the contest of which the first two deals are played."""
    out = tmp_path / "two.json"
    ran = bots.arena("--bot", bots.write(PLAIN), *BROKEN_OFF, "--out", str(out))
    assert ran.exit_code == 0, ran.output
    return out.read_bytes()


def as_if_of(file: bytes, command: str) -> list[dict]:
    """The results, as if the first side had been that command."""
    return [{**found, "first": command} for found in json.loads(file)]


def test_what_was_played_before_a_failure_is_kept(bots, tmp_path, two_deals):
    out = tmp_path / "out.json"
    command = bots.write(THE_FIFTH + "    sys.exit('tired')\n" + PLAIN)
    ran = bots.arena("--bot", command, *BROKEN_OFF, "--deals", "5", "--out", str(out))
    assert ran.exit_code == 1
    table, error = ran.output.split("Error: bot 1 ")
    assert [line[:44] for line in table.splitlines()[2:]] == [
        "straight          2  bot 1   steady      4  ",
        "It was broken off; these are its first 2 dea",
        "The seed was tea",
    ]
    assert error.endswith("\ntired\n")
    assert json.loads(out.read_bytes()) == as_if_of(two_deals, command)


def test_what_was_played_before_an_interruption_is_kept(bots, tmp_path, two_deals):
    out = tmp_path / "out.json"
    command = bots.write(THE_FIFTH + "    time.sleep(600)\n" + PLAIN)
    words = ["--variant", "straight", *SHORT, "--url", bots.service, "--bot", command, *BROKEN_OFF]
    with subprocess.Popen(
        [*RUMMY, "arena", *words, "--deals", "5", "--out", str(out)],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as arena:
        deadline = time.monotonic() + 120
        while not (tmp_path / "start-5").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        arena.send_signal(signal.SIGINT)
        said, _ = arena.communicate(timeout=60)
    assert arena.returncode == 1, said
    assert "It was broken off; these are its first 2 deals.\nThe seed was tea\n" in said
    assert said.endswith("Aborted!\n")
    assert json.loads(out.read_bytes()) == as_if_of(two_deals, command)


# ------------------------------------------------------------------------ what a bot is not told


def test_a_bot_is_not_told_the_seed_nor_what_else_is_ours(bots, tmp_path):
    program = "Path(sys.argv[0]).with_name('told').write_text('\\n'.join(os.environ))\n" + PLAIN
    ours = {"ARENA_SEED": "tea", "SEAT_TOKEN": "mine", "RUMMY_REDIS_URL": "redis://here"}
    words = ["--variant", "straight", "--deals", "2", *SHORT, "--url", bots.service]
    ran = CliRunner(env=ours | {"MINE": "1"}).invoke(
        main, ["arena", *words, "--bot", bots.write(program)]
    )
    assert ran.exit_code == 0, ran.output
    assert ran.output.endswith("The seed was tea\n")
    told = set((tmp_path / "told").read_text().split())
    assert {"SERVICE", "SEAT_TOKENS", "PATH", "MINE"} <= told
    assert not told & set(ours)


class OddService(BaseHTTPRequestHandler):
    """Gives a seat whose token nobody can be started with."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        game = {"id": "a", "version": 1, "status": "playing", "seats": [], "deal": None}
        answer = json.dumps({"token": "a.\0", "game": game | {"last_deal": None}}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_token_that_cannot_be_one_is_told_in_a_line():
    with ThreadingHTTPServer(("127.0.0.1", 0), OddService) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        ran = CliRunner().invoke(main, ["arena", "--deals", "2", "--url", url, "--bot", "true"])
        server.shutdown()
    assert ran.exit_code == 1
    assert "Error: The service gave a token that cannot be one: 'a.\\x00'" in ran.output


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--bot", "true", "--first", "sharp"], "--first"),
        (["--bot", "true", "--bot", "true", "--second", "sharp"], "--second"),
        (["--bot", "true", "--bot", "true", "--bot", "true"], "--bot"),
        (["--bot", "true", "--times"], "--times"),
        (["--bot", ""], "the command is empty"),
        (["--bot", "no-such-program --fast"], "there is no program 'no-such-program'"),
        (["--bot", "bot 'unclosed"], "cannot be read: No closing quotation"),
        (["--bot", "true", "--url", "localhost:8000"], "--url"),
        (["--bot", "true", "--url", "http://localhost", "--workers", "2"], "--workers"),
        (["--bot", "true", "--option", "deals=3"], "deals"),
        (["--bot", "true", "--option", "target=100"], "target"),
        (["--bot", "true", "--players", "9"], "--players"),
        (["--bot", "true", "--patience", "0"], "--patience"),
        (["--bot", "true", "--patience", "nan"], "--patience"),
        (["--bot", "true", "--patience", "inf"], "--patience"),
        (["--bot", "true", "--tables", "0"], "--tables"),
        (["--bot", "true", "--seed", "x" * 188], "at most 187 characters"),
        (["--bot", "true", "--url", "http://[::1"], "is no address: Invalid IPv6 URL"),
        (["--bot", "true", "--url", "http://here:port"], "is no address: Port could not"),
        (["--bot", "true", "--url", "http://"], "names no host"),
        (["--bot", "true", "--url", "http://here?x=1"], "may have no space, ?, # or @"),
        (["--bot", "true", "--url", "http://me@here"], "may have no space, ?, # or @"),
        (["--url", "http://localhost"], "--url"),
        (["--tables", "3"], "--tables"),
        (["--patience", "3"], "--patience"),
        (["--replays", "here"], "--replays"),
        (["--workers", "3"], "--workers"),
    ],
)
def test_bad_input_is_refused_and_named(words: list[str], named: str):
    ran = CliRunner().invoke(main, ["arena", "--deals", "2", *words])
    assert ran.exit_code == 2, ran.output
    assert named in ran.output
    assert "Traceback" not in ran.output

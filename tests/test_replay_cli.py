"""`rummy verify` and `rummy replay`, of files, the standard input and a running service."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread

import msgspec
import pytest
import requests
from click.testing import CliRunner, Result

from service import cli, client
from service.cli import main
from tests.http.simple_player import choose
from tests.replays import Over
from tests.serving import ENVIRONMENT, RUMMY

OVER = Over("straight", 2, "told 29", hand_size=5, jokers=4, deals=2, keen=1)


def rummy(*arguments: str, text: bytes | None = None, token: str | None = None) -> Result:
    """How the command ends; it never ends with another error than one of click's."""
    result = CliRunner().invoke(main, arguments, input=text, env={"SEAT_TOKEN": token})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def fails(*arguments: str, text: bytes | None = None, status: int = 1) -> str:
    """What it says of why it fails: one line."""
    result = rummy(*arguments, text=text)
    assert result.exit_code == status, result.output
    *_, last = result.stderr.splitlines()
    assert last.startswith("Error: ")
    return last.removeprefix("Error: ")


@pytest.fixture
def match(tmp_path: Path) -> str:
    """The name of a file with the replay of a match."""
    return put(tmp_path / "match.json", msgspec.json.encode(OVER.replay()))


@pytest.fixture
def deal(tmp_path: Path) -> str:
    """The name of a file with the replay of its second deal."""
    return put(tmp_path / "deal.json", msgspec.json.encode(OVER.deal(2)))


def put(file: Path, content: bytes | str) -> str:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(file)


# ------------------------------------------------------------------------------------- of files


def test_verify_says_what_it_has_checked(match, deal):
    result = rummy("verify", match)
    assert (result.exit_code, result.stderr) == (0, "")
    first, *lines = result.stdout.splitlines()
    assert first == f"Game {OVER.game.id}: straight; seats: 0 Ada, 1 Bo"
    assert [line for line in lines if not line.startswith(" ")] == [
        "Deal 1",
        "Deal 2",
        "Match",
        "All of it fits.",
        "Compare commitments and what the seats added with what was shown before the deals.",
    ]
    for one in OVER.replay().deals:
        assert one.proof.commitment in result.stdout
    result = rummy("verify", deal)
    assert result.exit_code == 0
    assert "Deal 1" not in result.stdout
    assert "All of it fits." in result.stdout


def test_verify_says_of_practice_that_its_cards_were_known(tmp_path):
    document = json.loads(msgspec.json.encode(OVER.replay())) | {"practice": True}
    result = rummy("verify", put(tmp_path / "practice.json", json.dumps(document)))
    assert "It was a practice table: who made it could know the cards beforehand." in result.stdout
    assert "Compare" not in result.stdout


def test_replay_tells_move_by_move(match, deal):
    result = rummy("replay", match)
    assert (result.exit_code, result.stderr) == (0, "")
    moves = [line for line in result.stdout.splitlines() if re.match(r" {0,4}\d+  ", line)]
    assert len(moves) == sum(len(one.moves) for one in OVER.replay().deals)
    assert result.stdout.splitlines()[-2].startswith("Match over: ")
    of_deal = rummy("replay", deal)
    assert of_deal.exit_code == 0
    assert of_deal.stdout == rummy("replay", match, "--deal", "2").stdout
    assert of_deal.stdout.split("\n", 1)[1] in result.stdout


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_one_deal_can_be_named(command, match, deal):
    result = rummy(command, match, "--deal", "2")
    assert result.exit_code == 0
    assert "Deal 2" in result.stdout
    assert "Deal 1" not in result.stdout
    assert rummy(command, deal, "--deal", "2").exit_code == 0
    assert fails(command, match, "--deal", "3") == "There is no deal 3 in the document."
    assert fails(command, deal, "--deal", "1") == "There is no deal 1 in the document."
    assert rummy(command, match, "--deal", "0").exit_code == 2


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_the_standard_input_can_be_read(command, match):
    piped = rummy(command, "-", text=Path(match).read_bytes())
    assert (piped.exit_code, piped.stdout) == (0, rummy(command, match).stdout)


def test_a_deal_in_the_notation_can_be_told_but_not_verified(tmp_path):
    text = OVER.deal(2).notation
    file = put(tmp_path / "deal.txt", text)
    result = rummy("replay", file)
    assert result.exit_code == 0
    assert result.stdout.startswith("Deal 2, dealt by seat ")
    assert "seat 1  drop " in result.stdout
    for before in (b"\n", b" \n", b"# told by Ada\n", b"\n# {\n\n"):
        assert rummy("replay", "-", text=before + text.encode()).stdout == result.stdout
    assert "nothing is proved of the cards; rummy replay plays it again" in fails("verify", file)
    half = put(tmp_path / "half.txt", text[: text.index("\n3. ")] + "\n")
    assert rummy("replay", half).stdout in result.stdout
    wrong = put(tmp_path / "wrong.txt", text.replace("\n2. ", "\n3. "))
    assert f"{wrong}: Line " in fails("replay", wrong)
    drop = put(tmp_path / "drop.txt", re.sub("stock ..", "drop AS", text, count=1))
    assert "Deal 2: Move " in fails("replay", drop)


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_a_move_that_does_not_fit_ends_it_with_an_error(command, tmp_path):
    document = json.loads(msgspec.json.encode(OVER.replay()))
    (place, move) = next(
        (place, move) for place, move in enumerate(document["deals"][1]["moves"]) if move["drawn"]
    )
    move["drawn"] = "9C" if move["drawn"] != "9C" else "9D"
    file = put(tmp_path / "wrong.json", json.dumps(document))
    result = rummy(command, file)
    assert result.exit_code == 1
    assert "Deal 1" in result.stdout
    assert "All of it fits" not in result.stdout
    assert f"Error: Deal 2: Move {place + 1}, by seat {move['seat']}: the stock gives " in (
        result.stderr
    )


@pytest.mark.parametrize("command", ["verify", "replay"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "This is not a replay: "),
        (b"hello", "This is not a replay: "),
        (b"null", "This is not a replay: "),
        (b'{"openapi": "3.1.1"}', "missing required field `format`"),
        (b'{"format": "rummy-replay-7"}', "This is not a replay: Invalid value 'rummy-replay-7'"),
        (b'{"format": "rummy-replay-1"}', "missing required field `game`"),
        (b'{"a":' * 100_000, "This is not a replay: "),
        (b"\xff\xfe\x00", "This is not a replay: "),
        (b"[Rummy", "Line 1: the bracket is not closed"),
        (b"[" * 100_000, "Line 1: the text has more than 60000 characters"),
        (b'[Rummy "\xff"]', "can't decode byte 0xff"),
    ],
)
def test_what_is_no_replay_is_said_in_a_line(command, content, why, tmp_path):
    file = put(tmp_path / "file", content)
    said = fails(command, file)
    assert said.startswith(f"{file}: ")
    assert why in said


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_a_file_that_cannot_be_read_is_said_in_a_line(command, tmp_path, monkeypatch):
    assert "cannot be read: " in fails(command, str(tmp_path / "nothing.json"))
    assert "cannot be read: " in fails(command, str(tmp_path))
    assert "cannot be read: " in fails(command, "a\0b")
    assert "Missing argument" in fails(command, status=2)
    monkeypatch.setattr(cli, "MOST_BYTES", 100)
    large = put(tmp_path / "large", b"{" * 101)
    assert "is larger than 100 bytes" in fails(command, large)


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_what_others_have_written_cannot_move_the_cursor(command, tmp_path):
    document = json.loads(msgspec.json.encode(OVER.replay()))
    document["seats"][0]["name"] = "A\x1b[2Jd\u202ea\n"
    result = rummy(command, put(tmp_path / "file", json.dumps(document)))
    assert "game" in fails(command, put(tmp_path / "id", json.dumps(document | {"game": "x\x07"})))
    document["options"]["variant"] = "\x1b[2J" + "x" * 10_000
    error = fails(command, put(tmp_path / "other", json.dumps(document)))
    assert len(error) < 600
    assert not set("\x1b\x07\u202e") & set(result.output + error)
    assert "A[2Jda" in result.stdout


# --------------------------------------------------------------------------------- of a service


@pytest.fixture(scope="module")
def played(service: str) -> tuple[str, str]:
    """The address of a match of two deals that nobody may watch, and the token of a seat."""
    body = {
        "variant": "straight",
        "name": "Ada",
        "options": {"deals": 2, "hand_size": 4},
        "computers": ["steady"],
        "spectators": False,
    }
    made = requests.post(f"{service}/v1/games", json=body, timeout=30).json()
    game = f"{service}/v1/games/{made['game']['id']}"
    headers = {"Authorization": f"Bearer {made['token']}"}
    view, chance = made["game"], Random(1)
    for _ in range(2_000):
        if view["status"] == "finished":
            return game, made["token"]
        move = choose(view, chance)
        answer = requests.post(f"{game}/{move['move']}", json=move, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        view = answer.json()["game"]
    pytest.fail("the match has no end")


@pytest.mark.parametrize("part", ["replay", "deals/1", "deals/2"])
def test_a_running_service_is_asked_with_a_token(part, played):
    game, token = played
    for command in ("verify", "replay"):
        with_option = rummy(command, f"{game}/{part}", "--token", token)
        assert with_option.exit_code == 0, with_option.output
        by_environment = rummy(command, f"{game}/{part}", token=token)
        assert by_environment.output == with_option.output
    assert "Only those who play may look" not in with_option.output
    assert "(403 no_spectators)" in fails("verify", f"{game}/{part}")


def test_it_works_as_a_command_of_its_own(played):
    game, token = played
    for command, last in (("verify", "Compare commitments"), ("replay", "       Ada ")):
        ended = subprocess.run(
            [*RUMMY, command, f"{game}/replay"],
            env=ENVIRONMENT | {"SEAT_TOKEN": token},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.splitlines()[-1].startswith(last)
    ended = subprocess.run(
        [*RUMMY, "verify", f"{game}/replay"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1


def test_the_end_of_a_pipe_is_no_error(played):
    game, token = played
    ended = subprocess.run(
        ["bash", "-c", f'"$0" "$@" {game}/replay | head -1', *RUMMY, "replay"],
        env=ENVIRONMENT | {"SEAT_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.startswith("Game ")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_what_a_service_refuses_is_said_in_its_words(command, service, played):
    nowhere = f"{service}/v1/games/{'a' * 16}/replay"
    assert fails(command, nowhere) == (
        f"{nowhere}: There is no game with this id; it may have expired. (404 no_such_game)"
    )
    game, token = played
    assert "(404 no_such_deal)" in fails(command, f"{game}/deals/3", "--token", token)
    assert "(404 no_such_route)" in fails(command, f"{service}/replay")
    assert "missing required field `format`" in fails(command, f"{service}/v1/variants")
    assert "missing required field `format`" in fails(command, game, "--token", token)
    assert "This is not a replay" in fails(command, f"{service}/docs/")


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_an_address_that_does_not_answer_is_said_in_a_line(command, played):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "cannot be reached: " in fails(command, f"http://127.0.0.1:{port}/")
    assert "cannot be reached: " in fails(command, "http://[")
    assert "cannot be reached: " in fails(command, "http://")
    assert "cannot be reached: " in fails(command, "http://127.0.0.1:99999999/")
    game, _ = played
    for token in ("a\nb", "ä€"):
        assert "cannot be reached: " in fails(command, f"{game}/replay", "--token", token)


class Elsewhere(BaseHTTPRequestHandler):
    """A server that sends on, breaks off, or does not speak like a service."""

    seen: list[str | None]

    def do_GET(self) -> None:
        type(self).seen.append(self.headers.get("Authorization"))
        match self.path:
            case "/redirect":
                self.send_response(302)
                self.send_header("Location", "/there")
                self.end_headers()
            case "/half":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"{")
            case "/page":
                self.send_response(500)
                self.end_headers()
                self.wfile.write(b"<html>")
            case "/noise":
                self.wfile.write(b"noise\r\n\r\n")
            case _:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(msgspec.json.encode(OVER.replay()))

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    Elsewhere.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_token_is_for_the_service_that_was_named_alone(elsewhere):
    result = rummy("verify", f"{elsewhere}/redirect", "--token", "secret")
    assert result.exit_code == 0
    assert Elsewhere.seen == ["Bearer secret", None]


def test_a_server_that_does_not_speak_like_a_service_is_told_in_a_line(elsewhere):
    assert "cannot be reached: " in fails("verify", f"{elsewhere}/noise")
    assert "HTTP Error 500" in fails("verify", f"{elsewhere}/page")
    assert "cannot be reached: IncompleteRead(" in fails("verify", f"{elsewhere}/half")


def test_an_answer_that_is_too_large_is_not_taken_for_a_part_of_it(elsewhere, monkeypatch):
    monkeypatch.setattr(client, "MOST_BYTES", 100)
    assert "is larger than 100 bytes" in fails("verify", f"{elsewhere}/there")

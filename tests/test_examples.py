"""The examples and the README's first game, run as a reader runs them, against `rummy serve`."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import fields

from service.config import PREFIX, Config
from tests.serving import ENVIRONMENT, ROOT, RUMMY

MATCH = ROOT / "examples" / "match.py"
README = (ROOT / "README.md").read_text(encoding="utf-8")
OUTCOME = r"\w+( and \w+)* (wins|share the win): \w+ \d+(, \w+ \d+)+"


def run(script: Path, *arguments: str, succeeds: bool = True) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, str(script), *arguments],
        env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (ended.returncode == 0) == succeeds, ended.stderr
    return ended


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
    rows = re.findall(r"^\| (`RUMMY_[^|]+) \| (\S+) \|", README, re.MULTILINE)
    told = {name: default for names, default in rows for name in re.findall(r"\w+", names)}
    assert told == {
        PREFIX + field.name.upper(): default_in_words(field.default) for field in fields(Config)
    }


def default_in_words(default: object) -> str:
    if default in (None, ()):
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)

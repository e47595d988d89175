"""docs/your-first-bot.md, followed from its first line to its last as a reader follows it.

Its commands are run in one shell, its files written when it says so, and what it shows is what has
to be printed, apart from the ids of games.
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.node import NODE
from tests.serving import ENVIRONMENT, ROOT, RUMMY

TUTORIAL = ROOT / "docs" / "your-first-bot.md"
TEXT = TUTORIAL.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
GAME_ID = re.compile(r"\b[a-z2-7]{16}\b")
START = "make run\n"
"""What the first command is; here the service is started on any free port."""

OF_MAKE = {"PORT", "WORKERS", "DATA", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"}
"""What make takes from its environment."""


def test_following_the_tutorial_prints_what_it_shows(service, tmp_path):
    for program in ("bash", "curl", "python3"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # In the order of the reader's: an editor's work is a file that is copied into its place.
    steps, shown, files = [], [], Files(tmp_path)
    for kind, block in BLOCKS:
        match kind:
            case "sh" if block == START:
                assert not steps
            case "sh":
                files.copied(block)
                steps.append(block)
            case "python" | "js":
                steps.append(files.edited(kind, block))
            case "text":
                shown.append(block)
    commands = "".join(steps).replace("http://127.0.0.1:8000", service)
    ended = subprocess.run(
        [
            "bash",
            "-e",
            "-o",
            "pipefail",
            "-c",
            commands.replace(".venv/bin/rummy", shlex.join(RUMMY)),
        ],
        cwd=tmp_path,
        env={
            **ENVIRONMENT,
            "PATH": f"{NODE.parent}{os.pathsep}{ENVIRONMENT['PATH']}",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    rest = printed = GAME_ID.sub("ID", ended.stdout)
    for expected in shown:
        _, found, rest = rest.partition(GAME_ID.sub("ID", expected))
        assert found, f"not printed, or not in this order:\n{expected}\nall of it:\n{printed}"


class Files:
    """What the reader's own files have in them, as they are copied and edited."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.versions = 0
        self.own: dict[str, tuple[str, list[str]]] = {}
        """By the ending: its name and its lines."""

    def copied(self, commands: str) -> None:
        for source, name in re.findall(r"^cp (\S+) (\S+)$", commands, re.MULTILINE):
            text = (ROOT / source).read_text(encoding="utf-8")
            self.own[Path(name).suffix] = (name, text.splitlines(keepends=True))

    def edited(self, kind: str, code: str) -> str:
        """The command that puts the file with that code into the place of what it was."""
        ending = {"python": ".py", "js": ".mjs"}[kind]
        name, lines = self.own[ending]
        if "choose(" in code:  # all that is between the two lines of dashes
            first, last = (at for at, line in enumerate(lines) if " ----------" in line)
            lines = [*lines[: first + 1], code, "\n\n", *lines[last:]]
        else:
            lines = with_function("".join(lines), code)
        self.own[ending] = (name, lines)
        self.versions += 1
        version = self.directory / f"{self.versions}{ending}"
        version.write_text("".join(lines), encoding="utf-8")
        return f"cp {version} {name}\n"


def with_function(program: str, code: str) -> list[str]:
    """The lines of the program, with that function instead of the one of its name."""
    (new,) = ast.parse(code).body
    assert isinstance(new, ast.FunctionDef)
    (old,) = (
        node
        for node in ast.parse(program).body
        if isinstance(node, ast.FunctionDef) and node.name == new.name
    )
    lines = program.splitlines(keepends=True)
    return [*lines[: old.lineno - 1], code, *lines[old.end_lineno :]]


def test_each_file_that_it_speaks_of_is_there():
    links = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", TEXT)
    assert links
    assert [link for link in links if not (TUTORIAL.parent / link).exists()] == []


def test_the_first_command_serves_where_the_tutorial_says():
    # As in a new terminal, even if these tests are run by a make that was given a port.
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in OF_MAKE}
    command = subprocess.run(
        ["make", "--dry-run", "run"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "rummy serve --port 8000" in command
    assert BLOCKS[0] == ("sh", START)


def test_it_hides_no_kind_of_block_from_the_test():
    assert {kind for kind, _ in BLOCKS} == {"sh", "text", "python", "js"}
    assert TEXT.count("\n```") == 2 * len(BLOCKS)

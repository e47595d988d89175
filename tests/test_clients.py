"""Clients that nobody here wrote: generators make them from the contract, and each plays a match.

What each does with its client is in tests/clients: making a table, taking a seat, every kind of
request of a turn, a refusal, If-Match and Idempotency-Key, the score and the log, by its types
alone. What it had of the match in the end, written as JSON again, has to be what the service says:
then nothing was lost on the way through its types.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import requests

from tests.node import NODE, TOOLS, needs_tools
from tests.serving import ROOT

CONTRACT = ROOT / "openapi" / "openapi.json"
DRIVERS = ROOT / "tests" / "clients"
BIN = Path(sys.executable).parent
ENVIRONMENT = os.environ | {
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",  # openapi-python-client calls ruff
    "JAVA_OPTS": "-XX:TieredStopAtLevel=1",  # half the time, as it is over so soon
}

DROPPED = re.compile(
    "unsupported|not supported|skip|could not|not generated|missing|inline", re.IGNORECASE
)
"""What a generator says of something that it leaves out, or has to invent a name for."""

HARMLESS = (
    "OpenAPI 3.1 support is still in beta",
    # Of unions whose members are no objects, such as ParamValue: they have no name, nor need one.
    "ModelUtils - Failed to get the schema name: null",
    "'scheme' not defined in the spec (2.0). Default to [http]",  # the server is .
    "options supplied by user",  # no tests and no documents were asked for
    "Skipping generation of Webhooks",  # there are none
)
"""What openapi-generator says, and loses nothing by."""

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|\+00:00)")


def run(*command: str | Path, **more: Any) -> str:
    """What the command prints, on both outputs; it has to succeed."""
    ended = subprocess.run(
        command,
        env=ENVIRONMENT | more.pop("env", {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        **more,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def test_openapi_python_client(service: str, tmp_path: Path) -> None:
    said = run(
        BIN / "openapi-python-client",
        "generate",
        f"--path={CONTRACT}",
        f"--output-path={tmp_path / 'rummy_client'}",
        "--meta=none",
        "--fail-on-warning",
    )
    assert not DROPPED.search(said), said
    driver = DRIVERS / "with_openapi_python_client.py"
    check_types(driver, tmp_path)
    check_told(service, run(sys.executable, driver, service, env={"PYTHONPATH": str(tmp_path)}))


def test_openapi_generator(service: str, tmp_path: Path) -> None:
    said = run(
        BIN / "openapi-generator-cli",
        "generate",
        f"--input-spec={CONTRACT}",
        "--generator-name=python",
        f"--output={tmp_path}",
        "--package-name=rummy_api",
        "--global-property=apis,models,supportingFiles,"
        "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false",
    )
    lines = [line for line in said.splitlines() if not any(known in line for known in HARMLESS)]
    complaint = re.compile(f" WARN | ERROR |{DROPPED.pattern}", re.IGNORECASE)
    assert [line for line in lines if complaint.search(line)] == []
    driver = DRIVERS / "with_openapi_generator.py"
    check_told(service, run(sys.executable, driver, service, env={"PYTHONPATH": str(tmp_path)}))


@needs_tools
def test_openapi_typescript_with_openapi_fetch(service: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(TOOLS, target_is_directory=True)
    for part in ("with_openapi_fetch.ts", "tsconfig.json"):
        shutil.copy(DRIVERS / part, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    make = TOOLS / "openapi-typescript" / "bin" / "cli.js"
    said = run(NODE, make, CONTRACT, f"--output={tmp_path / 'rummy.d.ts'}")
    assert not DROPPED.search(said), said
    run(NODE, TOOLS / "typescript" / "bin" / "tsc", cwd=tmp_path)
    check_told(service, run(NODE, tmp_path / "out" / "with_openapi_fetch.js", service))


def check_types(driver: Path, client: Path) -> None:
    """The program means what the types of its client say; the client is not judged."""
    options = ("--strict", "--follow-imports=silent", f"--config-file={os.devnull}")
    cache = f"--cache-dir={client / 'cache'}"
    run(BIN / "mypy", *options, cache, driver, env={"MYPYPATH": str(client)})


def check_told(service: str, told: str) -> None:
    """What the program printed of its match is what the service says of it."""
    match = json.loads(told)
    assert match["game"]["status"] == "finished"
    address = f"{service}/v1/games/{match['game']['id']}"
    headers = {"Authorization": f"Bearer {match['token']}"}
    for part, path in {"game": "", "score": "/score", "events": "/events?limit=500"}.items():
        said = requests.get(address + path, headers=headers, timeout=30).json()
        assert plain(match[part]) == plain(said)


def plain(found: Any) -> Any:
    """The same, with each time as a time, however it is written."""
    if isinstance(found, dict):
        return {name: plain(value) for name, value in found.items()}
    if isinstance(found, list):
        return [plain(item) for item in found]
    if isinstance(found, str) and TIME.fullmatch(found):
        return datetime.fromisoformat(found)
    return found

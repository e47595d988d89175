"""Backup and restore by the commands of deploy/README.md, while people play: nothing is missing."""

import re
import shutil
import subprocess
from pathlib import Path
from threading import Event, Thread

import pytest
import requests

from tests.serving import ROOT, served_at

CLI = next(filter(None, map(shutil.which, ("valkey-cli", "redis-cli"))), None)
SECONDS = 30


def commands(after: str) -> str:
    """The commands of the page that follow these words."""
    page = (ROOT / "deploy" / "README.md").read_text()
    found = re.search(rf"{re.escape(after)}.*?```sh\n(.*?)```", page, re.DOTALL)
    assert found
    return found[1].replace("valkey-cli -s", f"{CLI} -s")


def run(script: str, **variables: Path) -> None:
    environment = {name: str(path) for name, path in variables.items()} | {"PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-eu", "-c", script], env=environment, timeout=SECONDS, check=True)


@pytest.mark.skipif(CLI is None, reason="neither valkey-cli nor redis-cli is installed")
def test_what_was_acknowledged_before_the_copy_is_there_after_the_restore(tmp_path):
    data, backup = tmp_path / "data", tmp_path / "backup"
    made: list[str] = []
    stop = Event()

    def play(address: str) -> None:
        while not stop.is_set():
            table = requests.post(f"{address}/v1/sandbox", json={}, timeout=SECONDS).json()
            token = {"Authorization": f"Bearer {table['seats'][0]['token']}"}
            game = f"/v1/games/{table['game']['id']}"
            moved = {"from": "stock"}
            done = requests.post(
                f"{address}{game}/draw", json=moved, headers=token, timeout=SECONDS
            )
            assert done.status_code == 200
            made.append(game)

    with served_at(data) as address:
        player = Thread(target=play, args=(address,))
        player.start()
        try:
            while len(made) < 10:
                stop.wait(0.01)
            before = len(made)
            run(commands("They can be copied while people play"), DATA=data, BACKUP=backup)
            while len(made) < before + 5:
                stop.wait(0.01)
        finally:
            stop.set()
            player.join()
    run(commands("To restore"), DATA=data, BACKUP=backup)
    with served_at(data) as address:
        for game in made[:before]:
            view = requests.get(f"{address}{game}", timeout=SECONDS).json()
            assert view["deal"]["phase"] == "play", view
        last = requests.get(f"{address}{made[-1]}", timeout=SECONDS)
        assert last.status_code == 404  # it was made after the copy

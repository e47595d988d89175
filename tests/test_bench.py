"""The bench measures what it says: every answer is looked at, and every figure is there."""

import http.client
import re
import sys
from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from bench import contest, looks, moves, services, waiting
from bench.figures import Effort
from bench.games import Table
from bench.load import WrongAnswer, sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what things cost")

_LITTLE = Effort(rounds=1, seconds=0.1)
_VARIES = re.compile(rb'"([0-9]{4}-[^"]*Z|[a-z2-7]{16}|[0-9a-f]{64})"')
"""Times, ids of games, and the commitments that come from them."""


@pytest.fixture(autouse=True)
def few_tables(monkeypatch):
    monkeypatch.setattr(contest, "TABLES", 32)


@pytest.mark.parametrize("section", [moves, looks])
def test_all_that_is_compared_is_measured_and_answers_as_it_must(section):
    measured = section.measure(_LITTLE)
    for server in contest.SERVERS:
        assert any(server in row.figure.name for row in measured.rows)
    assert all(len(row.samples) == 1 and row.samples[0] > 0 for row in measured.rows)
    assert any(row.goal is not None for row in measured.rows)


def test_all_who_wait_are_told_and_it_is_measured_when_and_at_what_cost(monkeypatch):
    for name, few in {"GAMES": 20, "FOLLOWERS": 10, "_DELIVERIES": 5, "_MOVERS_TABLES": 4}.items():
        monkeypatch.setattr(waiting, name, few)
    measured = waiting.measure(_LITTLE)
    assert all(len(row.samples) == 1 for row in measured.rows)
    names = " ".join(row.figure.name for row in measured.rows)
    for part in ("move, p99", "memory", "while nothing", "poll, p99", "stream, p99", "one game"):
        assert part in names
    assert any(row.goal is not None for row in measured.rows)


def test_references_answer_a_move_and_a_look_with_the_same_bytes_as_the_service():
    with services.store() as valkey:
        url = services.database(valkey, 0)
        answers = {}
        for name, start in contest.SERVERS.items():
            with start(url) as served:
                table, *_ = contest.stored(url, moves=8)
                answers[name] = list(_played(served.address, table))
    first, *others = answers.values()
    assert len(first) == 10
    assert others
    assert all(other == first for other in others)


def test_an_answer_that_is_not_what_it_must_be_ends_the_bench():
    with services.store() as valkey:
        url = services.database(valkey, 0)
        with services.bare_flask(url) as served:
            table, *_ = contest.stored(url, moves=8)
            too_early = replace(table, moves=table.moves[1:])
            steps = moves.lines([too_early], 2)
            with pytest.raises(WrongAnswer, match="INTERNAL SERVER ERROR"):
                sample(served, valkey.pid, 2, steps, _LITTLE.seconds)


def _played(address: tuple[str, int], table: Table) -> Iterator[bytes]:
    """What the table's moves are answered with, and looks after them, but for what varies."""
    client = http.client.HTTPConnection(*address)
    game = f"/v1/games/{table.game.id}"
    for seat, move in table.moves:
        headers = {"Authorization": f"Bearer {table.tokens[seat]}"}
        path = f"{game}/{move.__struct_config__.tag}"
        client.request(
            "POST",
            path,
            msgspec.json.encode(move),
            headers | {"Content-Type": "application/json"},
        )
        answer = client.getresponse()
        yield _VARIES.sub(b'"..."', answer.read())
        assert answer.status == 200
    for known, status in ((1, 200), (9, 304)):
        client.request("GET", game, headers=headers | {"If-None-Match": f'"{known}"'})
        answer = client.getresponse()
        yield _VARIES.sub(b'"..."', answer.read())
        assert answer.status == status

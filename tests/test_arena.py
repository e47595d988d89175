"""The arena: the same figures every time, seats exchanged, and the better level wins."""

import csv
import itertools
import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from service.arena import Contest, Pair, contest, elo, pair_of, pairs, play_pair, result
from service.cli import main
from service.rummy.computer import Level
from service.rummy.model import DealResult
from service.rummy.rules import PRESETS

DEALS = 30
"""So few tell sharp from steady where it holds its melds back, and by far the better for it."""


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["arena", "--jobs", "1", *words])


def of(variant: str, first: Level, second: Level, players: int = 2, deals: int = DEALS) -> Contest:
    return contest(variant, players, {}, (first, second), deals, "test")


# -------------------------------------------------------------------------------- what it measures


def test_a_deal_is_played_twice_with_the_seats_exchanged():
    for number in range(4):
        pair = play_pair(of("straight", "steady", "steady"), number)
        assert pair.lead == 0, "the same level in every seat makes as much with either half"
        assert pair.wins[0] == pair.wins[1]


def test_levels_exchanged_give_the_opposite_result():
    one = list(pairs(of("parlett", "sharp", "steady", deals=5), 1))
    other = list(pairs(of("parlett", "steady", "sharp", deals=5), 1))
    assert [pair.lead for pair in one] == [-pair.lead for pair in other]
    assert [pair.wins for pair in one] == [pair.wins[::-1] for pair in other]


@pytest.mark.parametrize("variant", PRESETS)
def test_the_levels_come_in_their_order(variant: str):
    steady = of(variant, "steady", "random", deals=20)
    outcome = result(steady, list(pairs(steady, 1)))
    assert outcome.first_share > 0.9
    assert outcome.lead > 20
    assert outcome.plays == 40 == outcome.first_won + outcome.second_won + outcome.blocked


@pytest.mark.parametrize("variant", ["parlett", "call-rummy"])
def test_sharp_beats_steady(variant: str):
    sharp = of(variant, "sharp", "steady")
    outcome = result(sharp, list(pairs(sharp, 1)))
    assert outcome.first_share > 0.5
    assert outcome.lead > 0


def test_with_an_odd_number_of_seats_both_levels_sit_equally_often():
    outcome = result(
        three := of("straight", "steady", "steady", players=3, deals=3), list(pairs(three, 1))
    )
    assert outcome.lead == 0
    assert outcome.first_won == outcome.second_won


# ------------------------------------------------------------------------------------------ Elo


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Ten pairs, all even, are taken as ten observations: between 0.237 and 0.763.
        ([0.5] * 10, (0, -203.5, 203.5)),
        ([0.5] * 1000, (0, -21.5, 21.5)),
        # 0.75 is 190.8 points; by Wilson with 99 observations it is between 0.656 and 0.825.
        ([1.0] * 75 + [0.0] * 25, (190.8, 112.5, 269.2)),
        ([1.0] * 25 + [0.0] * 75, (-190.8, -269.2, -112.5)),
        # With a third of the variance it is as with 297: between 0.698 and 0.796.
        ([1.0] * 50 + [0.5] * 50, (190.8, 145.4, 236.3)),
        # Who won all of ten is not known to be better than by 160 points, nor how much better.
        ([1.0] * 10, (700, 166.1, 700)),
        ([0.0] * 10, (-700, -700, -166.1)),
        ([1.0] * 500, (700, 700, 700)),
        ([1.0] * 499 + [0.5], (700, 700, 700)),
    ],
)
def test_a_difference_in_elo_is_that_of_the_scores_with_the_interval_of_wilson(scores, expected):
    assert elo(scores) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ([(1, 1)] * 10, (0.5, 0.2366, 0.7634)),
        ([(2, 0)] * 10, (1, 0.7225, 1)),
        ([(0, 2)] * 10, (0, 0, 0.2775)),
        ([(2, 0)] * 9 + [(1, 1)], (0.95, 0.7572, 0.9914)),
    ],
)
def test_the_part_that_was_won_is_told_with_an_interval_that_is_never_nothing(wins, expected):
    of_ten = of("straight", "steady", "steady", deals=10)
    outcome = result(of_ten, [Pair(wins=each, lead=0, turns=40) for each in wins])
    told = (outcome.first_share, outcome.first_share_low, outcome.first_share_high)
    assert told == pytest.approx(expected, abs=0.0001)


def test_what_nobody_won_is_half_a_win():
    rules = of("straight", "steady", "steady").rules
    blocked = DealResult(
        number=1, dealer=0, reason="blocked", hands=((), ()), counts=(0, 0), scores=(0, 0),
        totals=(0, 0), turns=40,
    )  # fmt: skip
    won = replace(blocked, reason="went_out", winner=0, scores=(30, 0))
    seatings = ((0, 1), (1, 0))
    scores = [
        pair_of(rules, results, seatings).score
        for results in itertools.product((blocked, won), repeat=2)
    ]
    assert scores == [0.5, 0.25, 0.75, 0.5]


def test_the_table_says_more_than_700_and_no_infinite_number():
    ran = run("--variant", "seven-card", "--deals", "3", "--first", "sharp", "--second", "random")
    assert "> 700 (" in ran.output
    assert "to > 700)" in ran.output
    assert "inf" not in ran.output


# --------------------------------------------------------------------------------- the command


def test_the_files_are_the_same_on_any_number_of_processes(tmp_path: Path):
    files = []
    for jobs in ("1", "2"):
        files.append(tmp_path / f"{jobs}.csv")
        words = ["--variant", "seven-card", "--deals", "7", "--out", str(files[-1])]
        ran = run(*words, "--jobs", jobs)
        assert ran.exit_code == 0, ran.output
    assert all(one.read_bytes() == other.read_bytes() for one, other in pairwise(files))


def test_another_seed_deals_other_cards():
    same = ["--variant", "seven-card", "--deals", "3"]
    assert run(*same).output == run(*same).output != run(*same, "--seed", "other").output


def test_the_files_say_what_was_played_and_what_came_of_it(tmp_path: Path):
    words = ["--variant", "parlett", "--variant", "seven-card", "--deals", "4", "--players", "4"]
    words += ["--option", "jokers=2", "--option", "aces=high_or_low", "--first", "steady"]
    table, document = tmp_path / "result.csv", tmp_path / "result.json"
    assert run(*words, "--second", "random", "--out", str(table)).exit_code == 0
    assert run(*words, "--second", "random", "--out", str(document)).exit_code == 0
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    objects = json.loads(document.read_text())
    assert [row["variant"] for row in rows] == ["parlett", "seven-card"]
    assert rows == [{name: str(value) for name, value in each.items()} for each in objects]
    assert objects[0]["options"] == "aces=high_or_low jokers=2"
    assert objects[0]["players"] == 4
    assert (objects[0]["first"], objects[0]["second"]) == ("steady", "random")
    assert (objects[0]["deals"], objects[0]["plays"]) == (4, 8)
    shares = [objects[0][f"first_share{end}"] for end in ("_low", "", "_high")]
    assert [0, *shares, 1] == sorted([0, *shares, 1])
    assert objects[0]["elo_low"] <= objects[0]["elo"] <= objects[0]["elo_high"] <= 700
    assert not any("microseconds" in name for name in objects[0])


def test_times_are_told_when_they_are_asked_for(tmp_path: Path):
    out = tmp_path / "result.json"
    ran = run("--variant", "straight", "--deals", "2", "--times", "--out", str(out))
    assert "µs" in ran.output
    assert json.loads(out.read_text())[0]["first_microseconds"] > 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--variant", "whist"], "--variant"),
        (["--players", "9"], "--players"),
        (["--option", "jokers"], "--option"),
        (["--option", "jokers=many"], "jokers"),
        (["--option", "joker=2"], "did you mean jokers"),
        (["--option", "call=never"], "call"),
        (["--option", "deals=3"], "deals"),
        (["--option", "target=100"], "target"),
        (["--first", "wise"], "--first"),
        (["--deals", "1"], "--deals"),
        (["--jobs", "0"], "--jobs"),
        (["--out", "result.txt"], "--out"),
        (["--out", "/nowhere/at/all.csv"], "--out"),
    ],
)
def test_bad_input_is_refused_and_named(words: list[str], named: str):
    ran = run("--deals", "2", *words)
    assert ran.exit_code == 2, ran.output
    assert named in ran.output
    assert "Traceback" not in ran.output

"""Computer players against each other, in this process and without a store, to measure them.

Each deal of cards is played twice, the second time with the levels' seats exchanged, so that good
cards come to both. Such a pair is one observation: what is said of a contest is a mean of pairs,
with 1.96 standard errors to each side of it (95 % confidence). All chance comes from the seed, so a
contest gives the same figures on every machine and on any number of processes; but not its times.
"""

import csv
import io
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from statistics import fmean, stdev
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from service.errors import OptionProblem, OptionsRefused
from service.rummy.computer import MOST_MOVES, Level, choose
from service.rummy.engine import apply, new_match
from service.rummy.model import DealResult
from service.rummy.rules import OPTIONS, Choices, OptionValue, Rules, agree, clause
from service.rummy.view import sight
from service.text import Text

Format = Literal["csv", "json"]

FEWEST_DEALS = 2
"""Below that there is no spread to tell the confidence from."""

_FIRST, _SECOND = 0, 1
_CONFIDENT = 1.96
_CHUNK = 5
"""Deals that a process is given at a time."""


class Contest(Struct, frozen=True, kw_only=True):
    """Two levels at one table: the seats are the one's and the other's by turns."""

    rules: Rules
    options: str
    levels: tuple[Level, Level]
    deals: int
    """Deals of cards; each is played twice."""
    seed: str


class Clock(NamedTuple):
    """How many decisions a level made, and how long they took together."""

    decisions: int = 0
    seconds: float = 0.0


class Pair(Struct, frozen=True, kw_only=True):
    """What came of one deal of cards, played twice. Of two figures the first level's is first."""

    wins: tuple[int, int]
    lead: float
    """How many points a seat of the first level made more than one of the second, a play."""
    turns: int
    clocks: tuple[Clock, Clock]


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a contest: one line of the table. `_error` is half of a confidence interval."""

    variant: str
    players: int
    options: str
    first: Level
    second: Level
    seed: str
    deals: int
    plays: int
    first_won: int
    second_won: int
    blocked: int
    first_share: float
    """Of all plays, blocked ones included, those in which a seat of the first level went out."""
    first_share_error: float
    lead: float
    lead_error: float
    turns: float
    first_microseconds: float | None = None
    """What a decision took on average. None: times were not asked for."""
    second_microseconds: float | None = None


def contest(
    variant: str, players: int, chosen: Choices, levels: tuple[Level, Level], deals: int, seed: str
) -> Contest:
    """A contest by the rules of `variant` with the `chosen` options, a deal at a time.

    Raises NoSuchVariant and OptionsRefused.
    """
    single = tuple(
        OptionProblem(
            name, chosen[name], Text("the arena plays single deals"), clause(variant, name)
        )
        for name in ("deals", "target")
        if name in chosen
    )
    if single:
        raise OptionsRefused(single)
    rules = agree(variant, players, {**chosen, "deals": 1})
    options = " ".join(f"{name}={_written(value)}" for name, value in sorted(chosen.items()))
    return Contest(rules=rules, options=options, levels=levels, deals=deals, seed=seed)


def choices(texts: Sequence[str]) -> Choices:
    """The options of texts such as `jokers=2`, `upcard=true` or `turnovers=null`.

    Raises OptionsRefused. Whether there is such an option, with such a value, the rules say.
    """
    chosen: dict[str, OptionValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            problem = OptionProblem(text, None, Text("write NAME=VALUE, such as jokers=2"), None)
            raise OptionsRefused((problem,))
        chosen[name] = _value(name, value)
    return chosen


def pairs(contest: Contest, jobs: int) -> Iterator[Pair]:
    """Play the contest on so many processes: each deal of cards in its order."""
    play = partial(play_pair, contest)
    if jobs == 1:
        yield from map(play, range(contest.deals))
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(play, range(contest.deals), chunksize=_CHUNK)


def play_pair(contest: Contest, number: int) -> Pair:
    """Play the deal of that number twice, with the seats exchanged."""
    wins, clocks = [0, 0], [Clock(), Clock()]
    turns, leads = 0, []
    for exchange in (0, 1):
        sides = [(seat + exchange) % 2 for seat in range(contest.rules.players)]
        result = _play(contest, number, sides, clocks)
        if result.winner is not None:
            wins[sides[result.winner]] += 1
        turns += result.turns
        leads.append(_lead(result, sides, contest.rules))
    return Pair(
        wins=(wins[_FIRST], wins[_SECOND]),
        lead=fmean(leads),
        turns=turns,
        clocks=(clocks[_FIRST], clocks[_SECOND]),
    )


def result(contest: Contest, played: Sequence[Pair], *, times: bool = False) -> Result:
    """What the pairs come to; with `times`, also how long a decision took."""
    plays = 2 * len(played)
    first, second = (sum(pair.wins[side] for pair in played) for side in (_FIRST, _SECOND))
    share, share_error = _mean([pair.wins[_FIRST] / 2 for pair in played])
    lead, lead_error = _mean([pair.lead for pair in played])
    slow = [_microseconds(played, side) if times else None for side in (_FIRST, _SECOND)]
    return Result(
        variant=contest.rules.variant,
        players=contest.rules.players,
        options=contest.options,
        first=contest.levels[_FIRST],
        second=contest.levels[_SECOND],
        seed=contest.seed,
        deals=len(played),
        plays=plays,
        first_won=first,
        second_won=second,
        blocked=plays - first - second,
        first_share=share,
        first_share_error=share_error,
        lead=lead,
        lead_error=lead_error,
        turns=round(sum(pair.turns for pair in played) / plays, 2),
        first_microseconds=slow[_FIRST],
        second_microseconds=slow[_SECOND],
    )


def written(results: Sequence[Result], form: Format) -> str:
    """The results as a file: a line, or an object, for each."""
    rows = [msgspec.to_builtins(result) for result in results]
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"
    text = io.StringIO()
    lines = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()


HEADING = (
    "variant     players  first   second  plays   won by first     lead in points   blocked  turns"
)


def line(result: Result) -> str:
    """The result as a line of the table under HEADING."""
    share = f"{result.first_share:.1%} ± {100 * result.first_share_error:.1f}"
    lead = f"{result.lead:+.2f} ± {result.lead_error:.2f}"
    text = (
        f"{result.variant:<10}  {result.players:>7}  {result.first:<6}  {result.second:<6}  "
        f"{result.plays:>5}   {share:<13}    {lead:<14}   {result.blocked:>7}  {result.turns:>5.1f}"
    )
    if result.first_microseconds is None:
        return text
    return f"{text}   {result.first_microseconds:.0f} / {result.second_microseconds:.0f} µs"


def _play(contest: Contest, number: int, sides: Sequence[int], clocks: list[Clock]) -> DealResult:
    """Play the deal to its end; the seats are the levels' whose place `sides` gives."""
    rules = contest.rules
    seed = f"{contest.seed} {rules.variant} {number}"
    match, _ = new_match(rules, seed, dealer=number % rules.players)
    now = steps = 0
    while match.deal is not None:
        seat = match.deal.turn
        side = sides[seat]
        seen = sight(match, seat, now, MOST_MOVES)
        begun = time.process_time()
        move = choose(contest.levels[side], seen, f"{seed} {steps}")
        taken = time.process_time() - begun
        clocks[side] = Clock(clocks[side].decisions + 1, clocks[side].seconds + taken)
        match, _ = apply(match, seat, move, now)
        now += 1000 * (rules.call_seconds or 0)  # nobody calls, and a draw waits for calls
        steps += 1
    assert match.last is not None, "a match of one deal is over when its deal is"  # noqa: S101
    return match.last


def _lead(result: DealResult, sides: Sequence[int], rules: Rules) -> float:
    first, second = (
        fmean(score for score, own in zip(result.scores, sides, strict=True) if own == side)
        for side in (_FIRST, _SECOND)
    )
    return second - first if rules.scoring == "penalty" else first - second


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and what is on each side of it within the confidence interval."""
    return round(fmean(values), 4), round(_CONFIDENT * stdev(values) / len(values) ** 0.5, 4)


def _microseconds(played: Sequence[Pair], side: int) -> float:
    decisions = sum(pair.clocks[side].decisions for pair in played)
    return round(1e6 * sum(pair.clocks[side].seconds for pair in played) / decisions, 1)


def _value(name: str, text: str) -> OptionValue:
    """The value that the text means; text that means nothing else is left to be refused."""
    if name in OPTIONS and OPTIONS[name].kind == "choice":
        return text
    words: Mapping[str, OptionValue] = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    return int(text) if text.removeprefix("-").isdecimal() else text


def _written(value: OptionValue) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

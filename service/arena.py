"""Contests of two sides and their figures, and computer players against each other in this process.

Each deal of cards is played twice, the second time with the sides' seats exchanged, so that good
cards come to both. Such a pair is one observation: what is said of a contest is a mean of pairs,
with its interval of 95 % confidence. All chance comes from the seed, so a
contest of levels gives the same figures on every machine and on any number of processes; but not
its times. `service.bots` plays the contests in which a side is a program of somebody else.
"""

import csv
import io
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from statistics import fmean, stdev
from typing import Generic, Literal, NamedTuple, TypeVar

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

MOST_ELO = 700
"""So much is the most that is said of a difference: who won all has no finite one."""

FIRST, SECOND = 0, 1
"""The two sides, where something is told of each by its place."""

_CONFIDENT = 1.96
_CHUNK = 5
"""Deals that a process is given at a time."""


Side = TypeVar("Side")


class Contest(Struct, Generic[Side], frozen=True, kw_only=True):
    """Two sides at one table: the seats are the one's and the other's by turns."""

    rules: Rules
    chosen: Choices
    sides: tuple[Side, Side]
    deals: int
    """Deals of cards; each is played twice."""
    seed: str
    """Who knows it knows all cards."""

    def seed_of(self, number: int) -> str:
        """Where the chance of the deal of that number comes from, from 0."""
        return f"{self.seed} {self.rules.variant} {number}"

    def dealer_of(self, number: int) -> int:
        """The seat that deals it: each in turn."""
        return number % self.rules.players

    def seated(self, exchange: int) -> tuple[int, ...]:
        """Whose each seat is, FIRST or SECOND; in the second play, `exchange` 1, the other's."""
        return tuple((seat + exchange) % 2 for seat in range(self.rules.players))


class Clock(NamedTuple):
    """How many decisions a level made, and how long they took together."""

    decisions: int = 0
    seconds: float = 0.0


class Pair(Struct, frozen=True, kw_only=True):
    """What came of one deal of cards, played twice. Of two figures the first side's is first."""

    wins: tuple[int, int]
    lead: float
    """How many points a seat of the first side made more than one of the second, a play."""
    turns: int
    clocks: tuple[Clock, Clock] = (Clock(), Clock())

    @property
    def score(self) -> float:
        """The first side's part of both plays, from 0 to 1; what nobody won is half each one's."""
        return (2 + self.wins[FIRST] - self.wins[SECOND]) / 4


class Elo(NamedTuple):
    """A difference in Elo points with the ends of its confidence interval, MOST_ELO at the most."""

    difference: float
    low: float
    high: float


class Played(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One play of a contest at a table of a service."""

    deal: int
    """Which of the contest's, from 1: each is there twice."""
    seed: str
    """With the dealer it makes the same cards at any practice table of these options."""
    dealer: int
    seats: tuple[str, ...]
    """Whose each seat was: `first` or `second`."""
    winner: str | None
    """`first`, `second`, or null: nobody went out."""
    lead: float
    turns: int
    replay: str | None = None
    """The file with its replay, if that was kept."""


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a contest: one line of the table.

    `_low` and `_high` are the ends of a confidence interval, `_error` is half of one.
    """

    variant: str
    players: int
    options: str
    first: str
    """The level, or the command of the bot."""
    second: str
    seed: str
    deals: int
    plays: int
    first_won: int
    second_won: int
    blocked: int
    first_share: float
    """Of all plays, blocked ones included, those in which a seat of the first side went out."""
    first_share_low: float
    first_share_high: float
    lead: float
    lead_error: float
    elo: float
    elo_low: float
    elo_high: float
    turns: float
    first_microseconds: float | None = None
    """What a decision took on average. None: times were not asked for."""
    second_microseconds: float | None = None
    played: tuple[Played, ...] = ()
    """Each play, where bots played. In JSON only."""


def contest(
    variant: str, players: int, chosen: Choices, sides: tuple[Side, Side], deals: int, seed: str
) -> Contest[Side]:
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
    chosen = {**chosen, "deals": 1}
    rules = agree(variant, players, chosen)
    return Contest(rules=rules, chosen=chosen, sides=sides, deals=deals, seed=seed)


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


def pairs(contest: Contest[Level], jobs: int) -> Iterator[Pair]:
    """Play the contest on so many processes: each deal of cards in its order."""
    play = partial(play_pair, contest)
    if jobs == 1:
        yield from map(play, range(contest.deals))
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(play, range(contest.deals), chunksize=_CHUNK)


def play_pair(contest: Contest[Level], number: int) -> Pair:
    """Play the deal of that number twice, with the seats exchanged."""
    clocks = [Clock(), Clock()]
    seatings = (contest.seated(0), contest.seated(1))
    results = [_play(contest, number, sides, clocks) for sides in seatings]
    pair = pair_of(contest.rules, results, seatings)
    return msgspec.structs.replace(pair, clocks=(clocks[FIRST], clocks[SECOND]))


def pair_of(rules: Rules, results: Sequence[DealResult], seatings: Sequence[Sequence[int]]) -> Pair:
    """What came of the two plays of a deal; `seatings` says whose each seat was in each."""
    wins = [0, 0]
    for result, sides in zip(results, seatings, strict=True):
        if result.winner is not None:
            wins[sides[result.winner]] += 1
    return Pair(
        wins=(wins[FIRST], wins[SECOND]),
        lead=fmean(map(lead_of, results, seatings, [rules, rules])),
        turns=sum(result.turns for result in results),
    )


def lead_of(result: DealResult, sides: Sequence[int], rules: Rules) -> float:
    """How many points a seat of the first side made more than one of the second."""
    first, second = (
        fmean(score for score, own in zip(result.scores, sides, strict=True) if own == side)
        for side in (FIRST, SECOND)
    )
    return second - first if rules.scoring == "penalty" else first - second


def elo(scores: Sequence[float]) -> Elo:
    """By how many Elo points the first side is the stronger, told by the scores of the pairs.

    A mean score p is a difference of 400·log10(p / (1 - p)). The interval is that of the score,
    carried over.
    """
    return Elo(*map(_elo_points, (fmean(scores), *_interval(scores))))


def result(
    contest: Contest[Side],
    pairs: Sequence[Pair],
    *,
    times: bool = False,
    played: tuple[Played, ...] = (),
) -> Result:
    """What the pairs come to; with `times`, also how long a decision took."""
    plays = 2 * len(pairs)
    first, second = (sum(pair.wins[side] for pair in pairs) for side in (FIRST, SECOND))
    shares = [pair.wins[FIRST] / 2 for pair in pairs]
    share_low, share_high = _interval(shares)
    lead, lead_error = _mean([pair.lead for pair in pairs])
    difference = elo([pair.score for pair in pairs])
    slow = [_microseconds(pairs, side) if times else None for side in (FIRST, SECOND)]
    return Result(
        variant=contest.rules.variant,
        players=contest.rules.players,
        options=_options(contest.chosen),
        first=str(contest.sides[FIRST]),
        second=str(contest.sides[SECOND]),
        seed=contest.seed,
        deals=len(pairs),
        plays=plays,
        first_won=first,
        second_won=second,
        blocked=plays - first - second,
        first_share=round(fmean(shares), 4),
        first_share_low=round(share_low, 4),
        first_share_high=round(share_high, 4),
        lead=lead,
        lead_error=lead_error,
        elo=difference.difference,
        elo_low=difference.low,
        elo_high=difference.high,
        turns=round(sum(pair.turns for pair in pairs) / plays, 2),
        first_microseconds=slow[FIRST],
        second_microseconds=slow[SECOND],
        played=played,
    )


def written(results: Sequence[Result], form: Format) -> str:
    """The results as a file: a line, or an object, for each."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(results), indent=2).decode() + "\n"
    rows = [msgspec.to_builtins(msgspec.structs.replace(result, played=())) for result in results]
    text = io.StringIO()
    lines = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()


HEADING = (
    "variant     players  first   second  plays   won by first              lead in points    "
    "Elo                      blocked  turns"
)


def line(result: Result, sides: Sequence[str]) -> str:
    """The result as a line of the table under HEADING, the sides called so."""
    share_low, share_high = 100 * result.first_share_low, 100 * result.first_share_high
    share = f"{result.first_share:.1%} ({share_low:.1f} to {share_high:.1f})"
    lead = f"{result.lead:+.2f} ± {result.lead_error:.2f}"
    low, high = _elo_text(result.elo_low), _elo_text(result.elo_high)
    difference = f"{_elo_text(result.elo)} ({low} to {high})"
    text = (
        f"{result.variant:<10}  {result.players:>7}  {sides[FIRST]:<6}  {sides[SECOND]:<6}  "
        f"{result.plays:>5}   {share:<22}    {lead:<15}   {difference:<23}  "
        f"{result.blocked:>7}  {result.turns:>5.1f}"
    )
    if result.first_microseconds is None:
        return text
    return f"{text}   {result.first_microseconds:.0f} / {result.second_microseconds:.0f} µs"


def _play(
    contest: Contest[Level], number: int, sides: Sequence[int], clocks: list[Clock]
) -> DealResult:
    """Play the deal to its end; the seats are the levels' whose place `sides` gives."""
    rules, seed = contest.rules, contest.seed_of(number)
    match, _ = new_match(rules, seed, dealer=contest.dealer_of(number))
    now = steps = 0
    while match.deal is not None:
        seat = match.deal.turn
        side = sides[seat]
        seen = sight(match, seat, now, MOST_MOVES)
        begun = time.process_time()
        move = choose(contest.sides[side], seen, f"{seed} {steps}")
        taken = time.process_time() - begun
        clocks[side] = Clock(clocks[side].decisions + 1, clocks[side].seconds + taken)
        match, _ = apply(match, seat, move, now)
        now += 1000 * (rules.call_seconds or 0)  # nobody calls, and a draw waits for calls
        steps += 1
    assert match.last is not None, "a match of one deal is over when its deal is"  # noqa: S101
    return match.last


def _interval(parts: Sequence[float]) -> tuple[float, float]:
    """The confidence interval of the mean of the pairs' parts, each from 0 to 1: that of Wilson.

    It takes as many observations as let single plays vary as much as the pairs do,
    p·(1 - p) / (their variance / their number). Where the pairs do not vary it takes their number:
    that they came out the same so far does not say that they always do.
    """
    part, variance = fmean(parts), stdev(parts) ** 2
    free = part * (1 - part)
    pull = _CONFIDENT**2 / len(parts)
    if variance:
        pull *= variance / free
    middle = (part + pull / 2) / (1 + pull)
    half = math.sqrt(pull * free + pull**2 / 4) / (1 + pull)
    return max(middle - half, 0), min(middle + half, 1)


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and what is on each side of it within the confidence interval."""
    return round(fmean(values), 4), round(_CONFIDENT * stdev(values) / len(values) ** 0.5, 4)


def _elo_points(score: float) -> float:
    if not 0 < score < 1:
        return math.copysign(MOST_ELO, score - 0.5)
    points = 400 * math.log10(score / (1 - score))
    return round(min(max(points, -MOST_ELO), MOST_ELO), 1)


def _elo_text(points: float) -> str:
    if abs(points) == MOST_ELO:
        return f"> {MOST_ELO}" if points > 0 else f"< -{MOST_ELO}"
    return f"{points:+.0f}"


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


def _options(chosen: Choices) -> str:
    """What was chosen, in a line; each play is a single deal, which goes without saying."""
    told = sorted((name, value) for name, value in chosen.items() if name != "deals")
    return " ".join(f"{name}={_written(value)}" for name, value in told)


def _written(value: OptionValue) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

"""The command `rummy arena`: what it is asked for, what it shows, and how it ends."""

import math
import os
import secrets
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

import click

from service import arena as arenas
from service import bots
from service.client import SEED_VARIABLE, Client, ServiceError, own_service
from service.errors import OptionsRefused
from service.new_table import MOST_SEED_CHARACTERS
from service.processes import ended_by_signals
from service.rummy.computer import LEVELS, Level
from service.rummy.rules import PRESETS
from service.terminal import failure, printable, say

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_Played = TypeVar("_Played")

_DEALS = 2000
_DEALS_OF_BOTS = 500
_SEED = "arena"
_MOST_PATIENCE = 86_400


def _web_address(_: click.Context, option: click.Parameter, url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError as error:
        raise click.BadParameter(f"{url} is no address: {error}.", param=option) from error
    if parts.scheme not in {"http", "https"}:
        raise click.BadParameter(f"{url} does not begin with http:// or https://.", param=option)
    if not host:
        raise click.BadParameter(f"{url} names no host.", param=option)
    if not url.isprintable() or set(url) & set(" ?#@"):
        reason = f"{url} may have no space, ?, # or @."
        raise click.BadParameter(reason, param=option)
    return url.rstrip("/")


def _number(_: click.Context, option: click.Parameter, value: float) -> float:
    if math.isnan(value):  # which no range keeps out
        raise click.BadParameter(f"{value} is no number.", param=option)
    return value


@click.command()
@click.option(
    "--variant",
    "variants",
    type=click.Choice(list(PRESETS)),
    multiple=True,
    help="What to play; may be repeated.  [default: every variant]",
)
@click.option("--players", type=int, default=2, show_default=True, help="Seats at the table.")
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="A house rule, such as jokers=2; may be repeated.",
)
@click.option(
    "--first", type=click.Choice(LEVELS), default="sharp", show_default=True, help="One level."
)
@click.option(
    "--second", type=click.Choice(LEVELS), default="steady", show_default=True, help="The other."
)
@click.option(
    "--bot",
    "commands",
    metavar="COMMAND",
    multiple=True,
    help="A program that plays over HTTP in the place of --first; given twice, the other one in "
    "that of --second.",
)
@click.option(
    "--deals",
    type=click.IntRange(min=arenas.FEWEST_DEALS),
    show_default=f"{_DEALS}; {_DEALS_OF_BOTS} with --bot",
    help="Deals of cards, each played twice with the seats exchanged.",
)
@click.option(
    "--seed",
    envvar=SEED_VARIABLE,
    show_envvar=True,
    show_default=f"{_SEED}; a secret one with --bot",
    help="Where all chance comes from. Who knows it can know the cards, and everybody on the "
    "machine can read a command line.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=os.cpu_count() or 1,
    show_default="one for each processor",
    help="Processes; the results are the same with any number. With --bot: of each seat of a bot.",
)
@click.option("--times", is_flag=True, help="Also measure how long a decision takes.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="File to write the results into: .csv or .json.",
)
@click.option(
    "--tables",
    type=click.IntRange(1, 200),
    default=20,
    show_default=True,
    help="With --bot: tables that a process of a bot plays at once.",
)
@click.option(
    "--patience",
    type=click.FloatRange(1, _MOST_PATIENCE),
    callback=_number,
    default=60,
    show_default=True,
    help="With --bot: seconds without a move that end the contest.",
)
@click.option(
    "--replays",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    help="With --bot: directory to write the replay of each play into.",
)
@click.option(
    "--url", callback=_web_address, help="With --bot: play at this service, not at one of our own."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="With --bot: worker processes of our own service.",
)
@click.pass_context
def arena(
    context: click.Context,
    variants: tuple[str, ...],
    players: int,
    options: tuple[str, ...],
    first: Level,
    second: Level,
    commands: tuple[str, ...],
    deals: int | None,
    seed: str | None,
    jobs: int,
    times: bool,
    out: Path | None,
    tables: int,
    patience: float,
    replays: Path | None,
    url: str | None,
    workers: int,
) -> None:
    """Let two sides play each other, and measure which is the better.

    A side is a level of the computer players or, with --bot, a program that speaks HTTP: it is told
    the service in SERVICE and the tokens of its seats in SEAT_TOKENS, with spaces between them.
    """
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    sides = _sides((first, second), commands, given)
    form = _format(out)
    if deals is None:
        deals = _DEALS_OF_BOTS if commands else _DEALS
    # A bot that can guess the seed knows the cards: it could try it against the commitment.
    seed = seed or (secrets.token_hex(16) if commands else _SEED)
    try:
        chosen = arenas.choices(options)
        contests = [
            arenas.contest(variant, players, chosen, sides, deals, seed)
            for variant in variants or PRESETS
        ]
    except OptionsRefused as refusal:
        named = {problem.option for problem in refusal.problems}
        hint = "--players" if "players" in named else "--option"
        raise click.BadParameter(str(refusal), param_hint=hint) from refusal
    if commands:
        _look_at_seed(contests)
    results: list[arenas.Result] = []
    with ended_by_signals():
        try:
            if commands:
                pace = bots.Pace(jobs, tables, patience)
                _play_bots(contests, pace, replays, url, workers, results)
            else:
                _play_levels(
                    cast(list[arenas.Contest[Level]], contests), jobs, results, times=times
                )
        finally:  # whatever breaks it off, what was played is not lost
            if results and commands:
                click.echo(f"The seed was {seed}")
            if results and out is not None and form is not None:
                _write(out, arenas.written(results, form))


def _look_at_seed(contests: list[arenas.Contest[bots.Party]]) -> None:
    """Refuse a seed that no table of a service would take, before one is started."""
    seeds = [contest.seed_of(contest.deals - 1) for contest in contests]
    added = max(map(len, seeds)) - len(contests[0].seed)
    if len(contests[0].seed) + added > MOST_SEED_CHARACTERS:
        most = MOST_SEED_CHARACTERS - added
        raise click.BadParameter(f"it may have at most {most} characters.", param_hint="--seed")


def _play_levels(
    contests: list[arenas.Contest[Level]], jobs: int, results: list[arenas.Result], *, times: bool
) -> None:
    """Add to the results what came of each contest, of one that is broken off too."""
    click.echo(arenas.HEADING)
    for contest in contests:
        pairs: list[arenas.Pair] = []
        try:
            with _bar(arenas.pairs(contest, jobs), contest.deals, contest.rules.variant) as bar:
                for pair in bar:
                    pairs.append(pair)  # noqa: PERF402 (they are to be there if the next is not)
        finally:
            if len(pairs) >= arenas.FEWEST_DEALS:
                results.append(arenas.result(contest, pairs, times=times))
                _tell(contest, results[-1], contest.sides)


def _play_bots(
    contests: list[arenas.Contest[bots.Party]],
    pace: bots.Pace,
    replays: Path | None,
    url: str | None,
    workers: int,
    results: list[arenas.Result],
) -> None:
    """Add to the results what came of each contest, of one that is broken off too.

    Their processes, and a service of our own, have ended in any case.
    """
    if replays is not None:
        replays.mkdir(parents=True, exist_ok=True)
    try:
        with _service(url, workers) as address:
            for side in contests[0].sides:
                if isinstance(side, bots.Bot):
                    say(f"{side.name}: {side.command}")
            click.echo(arenas.HEADING)
            for contest in contests:
                _play_contest_of_bots(contest, Client(address), pace, replays, results)
    except ServiceError as error:
        raise failure(str(error)) from error
    except bots.BotError as error:
        raise click.ClickException("\n".join(map(printable, str(error).splitlines()))) from error


def _play_contest_of_bots(
    contest: arenas.Contest[bots.Party],
    client: Client,
    pace: bots.Pace,
    replays: Path | None,
    results: list[arenas.Result],
) -> None:
    played: list[bots.Play] = []
    try:
        with (
            closing(bots.plays(contest, client, pace, replays)) as playing,
            _bar(playing, 2 * contest.deals, contest.rules.variant) as bar,
        ):
            for play in bar:
                played.append(play)  # noqa: PERF402 (they are to be there if the next is not)
    finally:
        pairs, whole = bots.pairs(contest, played)
        if len(pairs) >= arenas.FEWEST_DEALS:
            told = tuple(bots.told(contest, play) for play in whole)
            results.append(arenas.result(contest, pairs, played=told))
            _tell(contest, results[-1], [*map(bots.name_of, contest.sides)])


def _tell(
    contest: arenas.Contest[arenas.Side], result: arenas.Result, sides: Sequence[str]
) -> None:
    click.echo(arenas.line(result, sides))
    if result.deals < contest.deals:
        click.echo(f"It was broken off; these are its first {result.deals} deals.")


def _sides(
    levels: tuple[Level, Level], commands: tuple[str, ...], given: set[str]
) -> tuple[bots.Party, bots.Party]:
    """Who plays whom; `given` are the parameters that somebody has set."""
    for_bots = {"tables", "patience", "replays", "url", "workers"} & given
    for name in sorted(for_bots if not commands else set()):
        raise click.BadParameter("it is for contests with --bot.", param_hint=f"--{name}")
    if len(commands) > 2:
        raise click.BadParameter("there are two sides; give it twice at most.", param_hint="--bot")
    taken = ("first", "second")[: len(commands)]
    for name in taken:
        if name in given:
            raise click.BadParameter(f"a bot takes the part of --{name}.", param_hint=f"--{name}")
    if commands and "times" in given:
        raise click.BadParameter("decisions of bots are not timed.", param_hint="--times")
    if {"url", "workers"} <= given:
        raise click.BadParameter(
            "there is no service of our own with --url.", param_hint="--workers"
        )
    found = [bots.Bot(f"bot {place}", command) for place, command in enumerate(commands, 1)]
    for bot in found:
        if reason := bots.why_not(bot):
            raise click.BadParameter(reason, param_hint="--bot")
    first, second = found[:1] or levels[:1], found[1:] or levels[1:]
    return first[0], second[0]


def _bar(played: Iterable[_Played], length: int, label: str) -> "ProgressBar[_Played]":
    """A progress bar, for a person who looks."""
    hidden = not sys.stderr.isatty()
    return click.progressbar(
        played, length=length, label=f"{label:10}", file=sys.stderr, hidden=hidden
    )


def _service(url: str | None, workers: int) -> AbstractContextManager[str]:
    """The address of the service to play at, for as long as it is there."""
    return nullcontext(url) if url else own_service(workers)


def _format(out: Path | None) -> arenas.Format | None:
    """What the name of the file asks for; refused before anything is played."""
    if out is None:
        return None
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no directory {out.parent}.", param_hint="--out")
    match out.suffix:
        case ".csv":
            return "csv"
        case ".json":
            return "json"
    raise click.BadParameter(f"{out} must end in .csv or .json.", param_hint="--out")


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}.") from error

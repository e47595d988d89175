"""The command line: `rummy serve`, `openapi`, `arena`, `verify` and `replay`."""

import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click
import yaml

from service import __version__, bots
from service import arena as arenas
from service.client import MOST_BYTES, Client, ServiceError, own_service
from service.config import Config, ConfigError, load_config
from service.errors import BadNotation, BadReplay, OptionsRefused
from service.processes import ended_by_signals
from service.replay import Document, decoded
from service.rummy.computer import LEVELS, Level
from service.rummy.notation import read
from service.rummy.record import DealRecord
from service.rummy.rules import PRESETS
from service.telling import told, told_record
from service.verify import checked

_MOST_SAID = 500
"""So much an error says of what somebody else has written."""

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_Played = TypeVar("_Played")

_DEALS = 2000
_DEALS_OF_BOTS = 500
_SEED = "arena"

_SOURCE = click.argument("source", metavar="FILE|URL")
_DEAL = click.option(
    "--deal", "only", type=click.IntRange(min=1), help="Only the deal with this number."
)

_TOKEN = click.option(
    "--token",
    envvar="SEAT_TOKEN",
    help="The token of a seat, for a match without spectators; or in SEAT_TOKEN.",
)


def _web_address(_: click.Context, option: click.Parameter, url: str | None) -> str | None:
    if url is not None and not url.startswith(("http://", "https://")):
        raise click.BadParameter(f"{url} does not begin with http:// or https://.", param=option)
    return url and url.rstrip("/")


@click.group()
@click.version_option(__version__, prog_name="rummy")
def main() -> None:
    """Host games of rummy over HTTP."""


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Worker processes.",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".data"),
    show_default=True,
    help="Where the games are kept when RUMMY_REDIS_URL is not set.",
)
def serve(host: str, port: int, workers: int, data_dir: Path) -> None:
    """Serve the API; everything else is set by RUMMY_ variables."""
    # Imported here: gunicorn is for this command only.
    from service.embedded import EmbeddedStoreError
    from service.server import ServerError
    from service.server import serve as serve_until_ended

    try:
        serve_until_ended(
            load_config(os.environ), host=host, port=port, workers=workers, data_directory=data_dir
        )
    except ConfigError as error:
        click.echo("The environment cannot be used:", err=True)
        for problem in error.problems:
            click.echo(f"  {problem}", err=True)
        sys.exit(2)
    except (ServerError, EmbeddedStoreError) as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("openapi"),
    show_default=True,
    help="Directory to write into.",
)
def openapi(out: Path) -> None:
    """Write the contract as openapi.json and openapi.yaml, and the schema of replays."""
    from service.api import contract, replay_schema
    from service.app import create_app

    # The contract needs an application, but none of its answers: no Redis is ever reached.
    document = contract(create_app(Config(redis_url="redis://localhost")))
    out.mkdir(parents=True, exist_ok=True)
    (out / "openapi.json").write_text(
        json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "replay.schema.json").write_text(
        json.dumps(replay_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "openapi.yaml").write_text(
        yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )


@main.command()
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
    show_default=f"{_SEED}; a secret one with --bot",
    help="Where all chance comes from. Who knows it can know the cards.",
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
    type=click.FloatRange(min=1),
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
        pace = bots.Pace(jobs, tables, patience)
        results = _results_of_bots(contests, pace, replays, url, workers)
        click.echo(f"The seed was {seed}")
    else:
        results = _results_of_levels(cast(list[arenas.Contest[Level]], contests), jobs, times=times)
    if out is not None and form is not None:
        out.write_text(arenas.written(results, form), encoding="utf-8")


def _results_of_levels(
    contests: list[arenas.Contest[Level]], jobs: int, *, times: bool
) -> list[arenas.Result]:
    results: list[arenas.Result] = []
    click.echo(arenas.HEADING)
    for contest in contests:
        with _bar(arenas.pairs(contest, jobs), contest.deals, contest.rules.variant) as played:
            results.append(arenas.result(contest, list(played), times=times))
        click.echo(arenas.line(results[-1], contest.sides))
    return results


def _results_of_bots(
    contests: list[arenas.Contest[bots.Party]],
    pace: bots.Pace,
    replays: Path | None,
    url: str | None,
    workers: int,
) -> list[arenas.Result]:
    """What came of the contests; their processes, and a service of our own, ended in any case."""
    if replays is not None:
        replays.mkdir(parents=True, exist_ok=True)
    results: list[arenas.Result] = []
    try:
        with ended_by_signals(), _service(url, workers) as address:
            for side in contests[0].sides:
                if isinstance(side, bots.Bot):
                    _say(f"{side.name}: {side.command}")
            click.echo(arenas.HEADING)
            for contest in contests:
                results.append(_result_of_bots(contest, Client(address), pace, replays))
                click.echo(arenas.line(results[-1], [*map(bots.name_of, contest.sides)]))
    except ServiceError as error:
        raise _failure(str(error)) from error
    except bots.BotError as error:
        raise click.ClickException("\n".join(map(_printable, str(error).splitlines()))) from error
    return results


def _result_of_bots(
    contest: arenas.Contest[bots.Party], client: Client, pace: bots.Pace, replays: Path | None
) -> arenas.Result:
    with (
        closing(bots.plays(contest, client, pace, replays)) as playing,
        _bar(playing, 2 * contest.deals, contest.rules.variant) as bar,
    ):
        played = sorted(bar, key=lambda play: (play.number, play.exchange))
    return arenas.result(
        contest,
        bots.pairs(contest, played),
        played=tuple(bots.told(contest, play) for play in played),
    )


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


@main.command()
@_SOURCE
@_TOKEN
@_DEAL
def verify(source: str, token: str | None, only: int | None) -> None:
    """Check that nobody chose the cards, that every move was legal, and the count.

    FILE or URL is a replay of a match (GET /v1/games/{id}/replay) or of a deal (…/deals/{n}); -
    reads it from the standard input. What fits is told; the first thing that does not ends it.
    """
    document = _document(source, token)
    if isinstance(document, DealRecord):
        raise click.ClickException(
            f"{source} is a deal in the notation, in which nothing is proved of the cards; "
            "rummy replay plays it again."
        )
    _say(_title(document))
    shown = None
    with _refusing():
        for deal, fits in checked(document, only):
            if deal != shown:
                _say(f"Deal {deal}" if deal else "Match")
                shown = deal
            _say(f"  {fits}")
    _say("All of it fits.")
    if document.practice:
        _say("It was a practice table: who made it could know the cards beforehand.")
    else:
        _say("Compare commitments and what the seats added with what was shown before the deals.")


@main.command()
@_SOURCE
@_TOKEN
@_DEAL
def replay(source: str, token: str | None, only: int | None) -> None:
    """Tell a match or a deal move by move, played again by the rules.

    FILE or URL as for verify; a deal in the notation (docs/notation.md) will do too. In each line
    stand the move, then the hand after it, then the meld that it touched. It ends with an error at
    the first move that does not fit.
    """
    document = _document(source, token)
    with _refusing():
        if isinstance(document, DealRecord):
            lines = told_record(document)
        else:
            _say(_title(document))
            lines = told(document, only)
        for line in lines:
            _say(line)


def _title(document: Document) -> str:
    seats = (f"{seat} {who.name}" for seat, who in enumerate(document.seats))
    return f"Game {document.game}: {document.options.variant}; seats: {', '.join(seats)}"


def _say(line: str) -> None:
    click.echo(_printable(line))


@contextmanager
def _refusing() -> Iterator[None]:
    """Make the command end with what does not fit."""
    try:
        yield
    except BadReplay as refusal:
        raise _failure(refusal.detail) from refusal


def _failure(detail: str) -> click.ClickException:
    """What ends the command, in one line that is not too long."""
    said = detail if len(detail) <= _MOST_SAID else f"{detail[:_MOST_SAID]}…"
    return click.ClickException(_printable(said))


def _printable(text: str) -> str:
    """The text, which anybody may have written, without signs that move the cursor or hide."""
    return "".join(sign for sign in text if sign.isprintable())


def _document(source: str, token: str | None) -> Document | DealRecord:
    """The replay, or deal in the notation, in a file or at an address."""
    content = _read(source, token)
    try:
        if content.lstrip().startswith((b"[", b"#")):  # which no replay does
            return read(content.decode())
        return decoded(content)
    except (BadNotation, BadReplay, UnicodeError) as error:
        raise _failure(f"{source}: {error}") from error


def _read(source: str, token: str | None) -> bytes:
    """What is there. Raises click.ClickException."""
    try:
        if source.startswith(("http://", "https://")):
            return Client(source).get("", token or "")
        with click.open_file(source, "rb") as file:
            content: bytes = file.read(MOST_BYTES + 1)
    except ServiceError as error:
        raise _failure(str(error)) from error
    except (OSError, ValueError) as error:
        raise _failure(f"{source} cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise _failure(f"{source} is larger than {MOST_BYTES} bytes, so it is not read.")
    return content


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

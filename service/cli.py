"""The command line: `rummy serve`, `openapi`, `arena`, `verify` and `replay`."""

import json
import os
import sys
from pathlib import Path
from typing import cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click
import msgspec
import yaml

from service import __version__
from service import arena as arenas
from service.config import Config, ConfigError, load_config
from service.errors import BadReplay, OptionsRefused
from service.replay import Document, checked, told
from service.rummy.computer import LEVELS, Level
from service.rummy.rules import PRESETS

_SECONDS = 60
"""So long an answer of a service may take."""

_TOKEN = click.option(
    "--token",
    envvar="SEAT_TOKEN",
    help="The token of a seat, for a match without spectators; or in SEAT_TOKEN.",
)


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
    "--deals",
    type=click.IntRange(min=arenas.FEWEST_DEALS),
    default=2000,
    show_default=True,
    help="Deals of cards, each played twice with the seats exchanged.",
)
@click.option("--seed", default="arena", show_default=True, help="Where all chance comes from.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=os.cpu_count() or 1,
    show_default="one for each processor",
    help="Processes; the results are the same with any number.",
)
@click.option("--times", is_flag=True, help="Also measure how long a decision takes.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="File to write the results into: .csv or .json.",
)
def arena(
    variants: tuple[str, ...],
    players: int,
    options: tuple[str, ...],
    first: Level,
    second: Level,
    deals: int,
    seed: str,
    jobs: int,
    times: bool,
    out: Path | None,
) -> None:
    """Let two levels of computer players play each other, and measure which is the better."""
    form = _format(out)
    try:
        chosen = arenas.choices(options)
        contests = [
            arenas.contest(variant, players, chosen, (first, second), deals, seed)
            for variant in variants or PRESETS
        ]
    except OptionsRefused as refusal:
        named = {problem.option for problem in refusal.problems}
        hint = "--players" if "players" in named else "--option"
        raise click.BadParameter(str(refusal), param_hint=hint) from refusal
    results: list[arenas.Result] = []
    click.echo(arenas.HEADING)
    for contest in contests:
        label = f"{contest.rules.variant:10}"
        played = arenas.pairs(contest, jobs)
        hidden = not sys.stderr.isatty()
        with click.progressbar(
            played, length=deals, label=label, file=sys.stderr, hidden=hidden
        ) as bar:
            results.append(arenas.result(contest, list(bar), times=times))
        click.echo(arenas.line(results[-1]))
    if out is not None and form is not None:
        out.write_text(arenas.written(results, form), encoding="utf-8")


@main.command()
@click.argument("source", metavar="FILE|URL")
@_TOKEN
def verify(source: str, token: str | None) -> None:
    """Check that the cards were what had been committed to, and that every move was legal.

    FILE or URL is a replay of a match (GET /v1/games/{id}/replay) or a deal (…/deals/{n}); - reads
    it from the standard input. What was checked is told; the first thing that does not fit ends it.
    """
    document = _document(source, token)
    _title(document)
    shown = 0
    try:
        for deal, fits in checked(document):
            if deal != shown:
                click.echo(f"Deal {deal}" if deal else "Match")
                shown = deal
            click.echo(f"  {fits}")
    except BadReplay as refusal:
        raise click.ClickException(refusal.detail) from refusal
    click.echo("All of it fits.")


@main.command()
@click.argument("source", metavar="FILE|URL")
@_TOKEN
@click.option("--deal", "only", type=click.IntRange(min=1), help="Only the deal with this number.")
def replay(source: str, token: str | None, only: int | None) -> None:
    """Tell a match or a deal move by move, played again by the rules.

    FILE or URL as for verify. It ends with an error at the first move that does not fit.
    """
    document = _document(source, token)
    _title(document)
    try:
        for line in told(document, only):
            click.echo(line)
    except BadReplay as refusal:
        raise click.ClickException(refusal.detail) from refusal


def _title(document: Document) -> None:
    rules = document.options
    names = ", ".join(f"{seat} {who.name}" for seat, who in enumerate(document.seats))
    click.echo(f"Game {document.game}: {rules.variant}, {rules.players} players: {names}")


def _document(source: str, token: str | None) -> Document:
    """The replay in a file or at an address. Raises click.ClickException."""
    try:
        return msgspec.json.decode(_read(source, token), type=Document)
    except msgspec.MsgspecError as error:
        raise click.ClickException(f"{source} is not a replay: {error}") from error


def _read(source: str, token: str | None) -> bytes:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        if source.startswith(("http://", "https://")):
            with urlopen(Request(source, headers=headers), timeout=_SECONDS) as answer:  # noqa: S310
                return cast(bytes, answer.read())
        with click.open_file(source, "rb") as file:
            return cast(bytes, file.read())
    except HTTPError as error:
        raise click.ClickException(f"{source}: {error} {_detail(error)}") from error
    except OSError as error:
        raise click.ClickException(f"{source} cannot be read: {error}") from error


def _detail(error: HTTPError) -> str:
    """What the service says in a refusal, if it was one of the service."""
    try:
        problem = json.loads(error.read())
        return str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return ""


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

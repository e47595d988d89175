"""The command line: `rummy serve`, `openapi`, `arena`, `verify` and `replay`."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click
import yaml

from service import __version__
from service import arena as arenas
from service.config import Config, ConfigError, load_config
from service.errors import BadNotation, BadReplay, OptionsRefused
from service.replay import Document, decoded
from service.rummy.computer import LEVELS, Level
from service.rummy.notation import read
from service.rummy.record import DealRecord
from service.rummy.rules import PRESETS
from service.telling import told, told_record
from service.verify import checked

_SECONDS = 60
"""So long a service may be silent."""

_MOST_BYTES = 200_000_000
"""More than any replay has: it takes some 10,000 bytes for each deal."""

_MOST_SAID = 500
"""So much an error says of what somebody else has written."""

_SOURCE = click.argument("source", metavar="FILE|URL")
_DEAL = click.option(
    "--deal", "only", type=click.IntRange(min=1), help="Only the deal with this number."
)

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
            content = _fetched(source, token)
        else:
            with click.open_file(source, "rb") as file:
                content = file.read(_MOST_BYTES + 1)
    except HTTPError as error:
        raise _failure(f"{source}: {_detail(error) or error}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise _failure(f"{source} cannot be read: {error}") from error
    if len(content) > _MOST_BYTES:
        raise _failure(f"{source} is larger than {_MOST_BYTES} bytes, so it is not read.")
    return content


def _fetched(address: str, token: str | None) -> bytes:
    request = Request(address)  # noqa: S310 (the caller has looked: it is http or https)
    if token:  # wherever this service might send us on to, the token is not for others
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 (as above)
        return cast(bytes, answer.read(_MOST_BYTES + 1))


def _detail(error: HTTPError) -> str:
    """What the service says in a refusal, if it was one of the service."""
    try:
        problem = json.loads(error.read(_MOST_BYTES))
        return f"{problem['detail']} ({error.code} {problem['code']})"
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
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

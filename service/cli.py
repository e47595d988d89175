"""The command line: `rummy serve`, `openapi`, `admin`, `arena`, `verify` and `replay`."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import yaml

from service import __version__
from service.cli_admin import admin
from service.cli_arena import arena
from service.client import MOST_BYTES, TOKEN_VARIABLE, Client, ServiceError
from service.config import Config, ConfigError, load_config
from service.errors import BadNotation, BadReplay
from service.processes import usable_cores
from service.replay import Document, decoded
from service.rummy.notation import read
from service.rummy.record import DealRecord
from service.telling import told, told_record
from service.terminal import failure, refuse_environment, say
from service.verify import checked

_MOST_WORKERS = 64


class _Workers(click.IntRange):
    """A number, or `auto`."""

    name = "number or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        value = min(usable_cores(), _MOST_WORKERS) if value == "auto" else value
        return super().convert(value, param, ctx)


_SOURCE = click.argument("source", metavar="FILE|URL")
_DEAL = click.option(
    "--deal", "only", type=click.IntRange(min=1), help="Only the deal with this number."
)

_TOKEN = click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    help="The token of a seat, for a match without spectators; or in SEAT_TOKEN.",
)


@click.group()
@click.version_option(__version__, prog_name="rummy")
def main() -> None:
    """Host games of rummy over HTTP."""


main.add_command(admin)
main.add_command(arena)


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
    type=_Workers(1, _MOST_WORKERS),
    default=2,
    show_default=True,
    help="Worker processes; auto makes it one for each core that may be used.",
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
        refuse_environment(error.problems)
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
    say(_title(document))
    shown = None
    with _refusing():
        for deal, fits in checked(document, only):
            if deal != shown:
                say(f"Deal {deal}" if deal else "Match")
                shown = deal
            say(f"  {fits}")
    say("All of it fits.")
    if document.practice:
        say("It was a practice table: who made it could know the cards beforehand.")
    else:
        say("Compare commitments and what the seats added with what was shown before the deals.")


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
            say(_title(document))
            lines = told(document, only)
        for line in lines:
            say(line)


def _title(document: Document) -> str:
    seats = (f"{seat} {who.name}" for seat, who in enumerate(document.seats))
    return f"Game {document.game}: {document.options.variant}; seats: {', '.join(seats)}"


@contextmanager
def _refusing() -> Iterator[None]:
    """Make the command end with what does not fit."""
    try:
        yield
    except BadReplay as refusal:
        raise failure(refusal.detail) from refusal


def _document(source: str, token: str | None) -> Document | DealRecord:
    """The replay, or deal in the notation, in a file or at an address."""
    content = _read(source, token)
    try:
        if content.lstrip().startswith((b"[", b"#")):  # which no replay does
            return read(content.decode())
        return decoded(content)
    except (BadNotation, BadReplay, UnicodeError) as error:
        raise failure(f"{source}: {error}") from error


def _read(source: str, token: str | None) -> bytes:
    """What is there. Raises click.ClickException."""
    try:
        if source.startswith(("http://", "https://")):
            return Client(source).get("", token or "")
        with click.open_file(source, "rb") as file:
            content: bytes = file.read(MOST_BYTES + 1)
    except ServiceError as error:
        raise failure(str(error)) from error
    except (OSError, ValueError) as error:
        raise failure(f"{source} cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise failure(f"{source} is larger than {MOST_BYTES} bytes, so it is not read.")
    return content

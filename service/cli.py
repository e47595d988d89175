"""The command line: `rummy serve` and `rummy openapi`."""

import json
import os
import sys
from pathlib import Path

import click
import yaml

from service import __version__
from service.config import Config, ConfigError, load_config


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
    """Write the contract as openapi.json and openapi.yaml."""
    from service.api import contract
    from service.app import create_app

    # The contract needs an application, but none of its answers: no Redis is ever reached.
    document = contract(create_app(Config(redis_url="redis://localhost")))
    out.mkdir(parents=True, exist_ok=True)
    (out / "openapi.json").write_text(
        json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "openapi.yaml").write_text(
        yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )

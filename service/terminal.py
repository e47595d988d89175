"""What the commands say of texts that others have written: a service, a bot, who made a replay."""

import sys
from collections.abc import Iterable
from typing import NoReturn

import click

_MOST_SAID = 500
"""So much an error says of what somebody else has written."""


def say(line: str) -> None:
    """Print the line."""
    click.echo(printable(line))


def failure(detail: str) -> click.ClickException:
    """What ends the command, in one line that is not too long."""
    said = detail if len(detail) <= _MOST_SAID else f"{detail[:_MOST_SAID]}…"
    return click.ClickException(printable(said))


def refuse_environment(problems: Iterable[str]) -> NoReturn:
    """End the command because the environment cannot be used, which these problems say of it."""
    click.echo("The environment cannot be used:", err=True)
    for problem in problems:
        click.echo(f"  {printable(problem)}", err=True)
    sys.exit(2)


def printable(text: str) -> str:
    """The text, which anybody may have written, without signs that move the cursor or hide."""
    return "".join(sign for sign in text if sign.isprintable())

"""The commands `rummy admin …`, for whoever runs the service: what they ask for and what they say.

They speak to the store, not to the service, so that they work while that is down.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
import msgspec

from service.config import Config, ConfigError, load_config
from service.embedded import EmbeddedStore, EmbeddedStoreError, running_at
from service.errors import RummyError, StoreUnavailable
from service.game import STATUSES, Status
from service.rummy.rules import PRESETS
from service.terminal import failure, printable, refuse_environment, say

if TYPE_CHECKING:
    from service.admin import Admin, Found, Listed, Shown
    from service.store import Census, Freeze, Server

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_MOST_REASON_CHARACTERS = 200
_MOST_NAMES_SHOWN = 40
_OPTIONS_WIDTH = 86
_LABEL = 11


class _Age(click.ParamType[int]):
    """A time such as 90s, 15m, 12h or 30d; in seconds."""

    name = "age"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        number, unit = value[:-1], value[-1:]
        if unit not in _SECONDS or not (number.isascii() and number.isdigit()):
            self.fail(f"{value} is no age; write one like 90s, 15m, 12h or 30d.", param, context)
        return int(number) * _SECONDS[unit]


@click.group()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".data"),
    show_default=True,
    help="Where `rummy serve` keeps the games when RUMMY_REDIS_URL is not set.",
)
@click.pass_context
def admin(context: click.Context, data_dir: Path) -> None:
    """Look after the games: list, show, export, close and delete them, freeze new tables.

    The store is the one that the service uses, named by the same RUMMY_ variables. Where it is the
    service's own, in --data-dir, the service may run or not. Ends with 0 if all was done, 1 if it
    could not be, 2 if it was not understood.
    """
    context.obj = data_dir


def _at_the_store(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command what can be done there, and make one line of what goes wrong."""

    @click.pass_context
    @wraps(command)
    def run(context: click.Context, /, **given: Any) -> None:
        with _telling_what_fails(), _opened(context.obj) as games:
            command(games, **given)

    return run


# --------------------------------------------------------------------------------- looking


@admin.command("list")
@click.option(
    "--status",
    "statuses",
    type=click.Choice(STATUSES),
    multiple=True,
    help="Only games of this status; may be repeated.",
)
@click.option("--variant", type=click.Choice(list(PRESETS)), help="Only games of this variant.")
@click.option(
    "--older-than", type=_Age(), metavar="AGE", help="Only games unchanged for so long: 12h, 30d."
)
@click.option("--oldest", is_flag=True, help="Those first that have not changed for longest.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="So many at the most.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON, a list of objects.")
@_at_the_store
def list_games(
    games: "Admin",
    statuses: tuple[Status, ...],
    variant: str | None,
    older_than: int | None,
    oldest: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List games, the last changed first.

    Reads every game of the store, some at a time: with many of them it takes seconds, and nobody
    waits for it.
    """
    found = games.find(statuses or STATUSES, variant, older_than or 0, limit, oldest_first=oldest)
    if as_json:
        _print_json(msgspec.to_builtins(found.games))
    else:
        _print_table(found.games)
    _print_what_is_not_listed(found)


@admin.command()
@click.argument("game_id", metavar="ID")
@click.option("--hidden", is_flag=True, help="Also hands, stock and seed, which no player may see.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, an object.")
@_at_the_store
def show(games: "Admin", game_id: str, hidden: bool, as_json: bool) -> None:
    """Show one game: how it stands, and what is kept of it."""
    shown = games.show(game_id, hidden=hidden)
    if hidden:
        _warn("Hidden cards and the seed follow: who plays in this game must not see them.")
    if as_json:
        _print_json(msgspec.to_builtins(shown))
    else:
        _print_game(shown)


@admin.command()
@click.argument("game_id", metavar="ID")
@click.option("--replay", is_flag=True, help="Only what everybody may see: the deals that ended.")
@click.option("--hidden", is_flag=True, help="Also of a match that is not over, with its secrets.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="File to write it into.  [default: the standard output]",
)
@_at_the_store
def export(
    games: "Admin",
    game_id: str,
    replay: bool,
    hidden: bool,
    out: Path | None,
) -> None:
    """Export all that is kept of a game as one JSON document.

    Its record, its log and the results of its deals, but no token and no hash: for who asks which
    data there is of them, or for a report of an error. Until the match is over that gives away
    hidden cards and what chance will bring, so it takes --hidden. With --replay it is what
    GET /v1/games/{id}/replay answers, which `rummy verify` checks.
    """
    if replay:
        pieces: Iterator[bytes] = chain(games.replay(game_id), [b"\n"])
    else:
        game, pieces = games.exported(game_id)
        if not game.is_over:
            if not hidden:
                raise click.ClickException(
                    f"The game is {game.status}: its export would give away hidden cards and its "
                    "seed. Say --hidden to have it, and keep it from the players; or take --replay."
                )
            _warn("The export has hidden cards and the seed: who plays must not see them.")
    with _written_to(out) as file:
        for piece in pieces:
            file.write(_safe(piece))


@admin.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON, an object.")
@_at_the_store
def status(games: "Admin", as_json: bool) -> None:
    """Say how the store is and how many games there are.

    And whether new tables are frozen. The games are counted anew, some at a time.
    """
    servers, census, freeze = games.status()
    if as_json:
        told = {"servers": servers, "census": census, "frozen": freeze}
        _print_json(msgspec.to_builtins(told))
    else:
        _print_status(servers, census, freeze)


# -------------------------------------------------------------------------------- changing


@admin.command()
@click.argument("game_id", metavar="ID")
@_at_the_store
def close(games: "Admin", game_id: str) -> None:
    """Close a waiting table, or end a match.

    A match ends as `abandoned`: the totals stand, nobody wins, and the secret of the deal that was
    being played is shown. Everybody who waits is told, and the log has `closed`.
    """
    game, closed = games.close(game_id)
    how = f"it is {game.status} now" if closed else f"it was {game.status} before; nothing is done"
    click.echo(f"Game {game.id}: {how}.")


@admin.command()
@click.argument("game_ids", metavar="ID…", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@_at_the_store
def delete(games: "Admin", game_ids: tuple[str, ...], yes: bool) -> None:
    """Delete games with all their traces in the store.

    Whoever plays or watches is told that there is no such game. A rematch and the match before it
    are games of their own, which keep its id as a link. Append-only files, replicas and backups
    need time or help to forget: see deploy/README.md.
    """
    wanted = tuple(dict.fromkeys(game_ids))
    if not yes:
        them = "this game" if len(wanted) == 1 else f"these {len(wanted)} games"
        click.confirm(f"Delete {them} for good?", abort=True)
    deleted = games.delete(wanted)
    for game_id in deleted:
        click.echo(f"Deleted {game_id}.")
    if missing := [game_id for game_id in wanted if game_id not in deleted]:
        raise failure(f"There is no game {', '.join(missing)}.")


@admin.command()
@click.option("--reason", default="", help="Why, for those who are refused.")
@_at_the_store
def freeze(games: "Admin", reason: str) -> None:
    """Let no new tables be made until they are thawed.

    As before an upgrade. Who wants one is refused with 503 tables_frozen and the reason. All games
    go on, seats can be taken, and the service stays ready.
    """
    reason = " ".join(printable(reason.replace("\n", " ")).split())
    if len(reason) > _MOST_REASON_CHARACTERS:
        raise failure(f"The reason may have at most {_MOST_REASON_CHARACTERS} characters.")
    games.freeze(reason)
    click.echo("No new tables are made from now on; rummy admin thaw lets them be made again.")


@admin.command()
@_at_the_store
def thaw(games: "Admin") -> None:
    """Let new tables be made again."""
    was = games.thaw()
    click.echo("New tables are made again." if was else "New tables were not frozen.")


# -------------------------------------------------------------------------------- the store


@contextmanager
def _telling_what_fails() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        refuse_environment(error.problems)
    except EmbeddedStoreError as error:
        raise click.ClickException(str(error)) from error
    except StoreUnavailable as error:
        raise failure(f"The store cannot do that: {error.__cause__ or error}") from error
    except RummyError as error:
        raise failure(str(error)) from error
    except BrokenPipeError:  # who reads has had enough
        raise
    except OSError as error:
        raise failure(f"It cannot be written: {error.strerror}") from error


@contextmanager
def _opened(data_dir: Path) -> Iterator["Admin"]:
    """The store that the environment names, or that in the directory, whether it runs or not."""
    config = load_config(os.environ)
    with ExitStack() as stack:
        if config.redis_url is None:
            config = config.with_own_store(running_at(data_dir) or _started(stack, data_dir))
        yield _admin(config)


def _started(stack: ExitStack, data_dir: Path) -> str:
    """The address of the store in that directory, which runs until the stack is unwound."""
    if not data_dir.is_dir():
        raise failure(
            f"There is no store: RUMMY_REDIS_URL is not set, and {data_dir} is not there."
        )
    # The lock on the directory keeps a service from starting meanwhile, and us from starting beside
    # one.
    return stack.enter_context(EmbeddedStore(data_dir)).url


def _admin(config: Config) -> "Admin":
    # Imported here: of the commands that start with this one, rummy serve must not meet Redis
    # before gevent has patched what that builds on.
    from service.admin import Admin
    from service.servers import Servers
    from service.store import Store

    store = Store.configured(Servers.named_in(config), config)
    return Admin(store, lambda: time.time_ns() // 1_000_000)


# ------------------------------------------------------------------------------- what is said


def _warn(line: str) -> None:
    click.echo(f"Warning: {line}", err=True)


def _print_json(value: Any) -> None:
    # Pure ASCII: names can do nothing to a terminal, and mean the same to a program.
    click.echo(json.dumps(value, indent=2))


def _safe(piece: bytes) -> str:
    """The JSON in pure ASCII, for the same reason."""
    return "".join(
        sign if sign.isascii() and sign != "\x7f" else json.dumps(sign)[1:-1]
        for sign in piece.decode()
    )


@contextmanager
def _written_to(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        yield sys.stdout
        return
    # What is in it concerns nobody else on the machine.
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        yield file


def _print_table(games: "tuple[Listed, ...]") -> None:
    rows = [
        (
            game.id,
            game.status,
            game.variant,
            f"{len(game.players)}/{game.size}",
            str(game.version),
            _time(game.changed_at),
            _time(game.due),
            _time(game.expires_at),
            _names(game.players),
        )
        for game in games
    ]
    heads = ("id", "status", "variant", "seats", "version", "changed", "due", "expires", "players")
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        cells = zip(row, widths, strict=True)
        say("  ".join(cell.ljust(width) for cell, width in cells).rstrip())


def _print_what_is_not_listed(found: "Found") -> None:
    if found.fitting > len(found.games):
        said = f"{len(found.games)} of {found.fitting} games; --limit lists more."
        click.echo(said, err=True)
    if found.unreadable:
        said = f"Not looked at: {found.unreadable} games that another version of the service wrote."
        click.echo(said, err=True)


def _print_game(game: "Shown") -> None:
    _field("game", game.id)
    _field("status", f"{game.status}, version {game.version}, {game.events} events")
    _field("variant", game.variant)
    deviating = {deviation.option for deviation in game.deviations}
    options = [
        f"{name}={json.dumps(value)}{'*' if name in deviating else ''}"
        for name, value in msgspec.to_builtins(game.options).items()
        if name != "variant"
    ]
    _field("options", *_wrapped(options))
    marks = ("public", "private", "spectators", "autostart", "practice")
    _field("table", ", ".join(f"{mark} {_yes(getattr(game, mark))}" for mark in marks))
    _field("seats", f"{len(game.seats)} of {game.size}")
    for number, seat in enumerate(game.seats):
        told = [seat.name, seat.kind, seat.computer, seat.away and f"away: {seat.away}"]
        if seat.forced:
            told.append(f"forced turns in a row: {seat.forced}")
        _field(f"  {number}", ", ".join(filter(None, told)))
    if game.deal is not None:
        _field("deal", f"{game.deal}, seat {game.turn} is on turn")
    if game.totals:
        _field("totals", " ".join(map(str, game.totals)))
    if game.result is not None:
        winners = ", ".join(map(str, game.result.winners)) or "nobody"
        _field("result", f"{game.result.reason}, won by {winners}")
    for name in ("created", "changed", "expires"):
        _field(name, _time(getattr(game, f"{name}_at")))
    _field("due", _time(game.due))
    _field("rematch", f"{game.rematch or '-'}, of {game.rematch_of or '-'}")
    for kept in game.keys:
        _field("key", f"{kept.key}  {kept.bytes} bytes, {_lifetime(kept.expires_in_ms)}")
    if game.hidden is not None:
        _field("seed", game.hidden.seed)
        for number, hand in enumerate(game.hidden.hands):
            _field(f"hand {number}", " ".join(hand))
        if game.deal is not None:
            _field("stock", *_wrapped(game.hidden.stock))


def _print_status(servers: "tuple[Server, ...]", census: "Census", freeze: "Freeze | None") -> None:
    for server in servers:
        most = (
            f"of {_megabytes(server.memory_limit_bytes)}"
            if server.memory_limit_bytes
            else "no limit"
        )
        _field(
            "store", f"{server.kind} {server.version}, {server.role}, {server.replicas} replicas"
        )
        _field("memory", f"{_megabytes(server.memory_bytes)}, {most}, {server.eviction}")
        log = f"append-only file, last write {server.last_write}"
        _field(
            "on disk",
            f"{log if server.append_only else 'no append-only file'}; last save {server.last_save}",
        )
        _field("clients", str(server.clients))
    _field("games", ", ".join(f"{count} {status}" for status, count in census.games.items()))
    if census.unreadable:
        _field("", f"{census.unreadable} that another version of the service wrote")
    _field("counted", f"in {census.took_seconds:.1f} s")
    if census.overdue_since is not None:
        late = (census.taken_at - census.overdue_since) / 1000
        _field("overdue", f"for {late:.0f} s at the most: nobody has looked at that game since")
    if freeze is None:
        _field("tables", "are made")
    else:
        since = _time(datetime.fromtimestamp(freeze.since / 1000, UTC))
        _field("tables", f"frozen since {since}{f': {freeze.reason}' if freeze.reason else ''}")


def _field(name: str, *lines: str) -> None:
    for line in lines or ("",):
        say(f"{name:{_LABEL}}{line}".rstrip())
        name = ""


def _wrapped(words: Iterable[str]) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + len(word) >= _OPTIONS_WIDTH:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


def _names(players: tuple[str, ...]) -> str:
    names = ", ".join(players)
    return names if len(names) <= _MOST_NAMES_SHOWN else f"{names[: _MOST_NAMES_SHOWN - 1]}…"


def _time(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M:%SZ}"


def _yes(given: bool) -> str:
    return "yes" if given else "no"


def _lifetime(milliseconds: int) -> str:
    return "kept for ever" if milliseconds < 0 else f"{milliseconds // 1000} s to live"


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"

"""The work of a request without any framework, by the service's own functions: the same everywhere.

A move is two round trips: the record is loaded, and committed by the service's own script.
"""

import hashlib
import secrets
import time
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

import service
from service.autoplay import carried_on
from service.game import Game, Logged, encode, with_seat
from service.redis_server import Command
from service.rummy.engine import apply
from service.rummy.model import Move
from service.seating import guard_playing, guard_present, seat_of
from service.store import bell_of, log_arguments
from service.views import Changed, GameView, game_view, log_entries

COMMIT = Path(service.__file__).with_name("commit.lua").read_text()
_COMMIT_SHA = hashlib.sha1(COMMIT.encode(), usedforsecurity=False).hexdigest()
_LIFETIME_MS = 7 * 86_400_000


def key_of(game_id: str, part: str) -> str:
    return f"rummy:{{{game_id}}}:{part}"


def moved(game: Game, token: str, move: Move) -> tuple[Game, tuple[Logged, ...], int]:
    """The game after the move, what it put into the log, and the seat whose token that is."""
    now = time.time_ns() // 1_000_000
    seat = seat_of(game, token)
    guard_present(game, seat)
    match, events = apply(guard_playing(game), seat, move, now)
    after = with_seat(replace(game, match=match), seat, replace(game.seats[seat], forced=0))
    after, steps = carried_on(game, after, now)
    version = game.version + 1
    logged = tuple(
        Logged(number, version, now, event)
        for number, event in enumerate(
            chain(events, *(step.events for step in steps)), game.events + 1
        )
    )
    after = replace(after, version=version, changed_at=now, events=game.events + len(logged))
    return after, logged, seat


def load(game_id: str) -> Command:
    """What a record is asked for by."""
    return "HGET", key_of(game_id, "game"), "record"


def commit(game: Game, logged: tuple[Logged, ...]) -> Command:
    """What the game is stored by, a move that ends no deal at the most."""
    keys = [key_of(game.id, part) for part in ("game", "events", "deals", "begins")]
    command: list[str | bytes | int] = ["EVALSHA", _COMMIT_SHA, len(keys), *keys]
    command += ["PUBLISH", bell_of(game.id), game.version, encode(game), secrets.token_hex(8)]
    command += [_LIFETIME_MS, 0, "", "", f"{game.version} {game.status} ", ""]
    return (*command, *log_arguments(logged))


def seen(game: Game, seat: int | None) -> GameView:
    """The game as that seat sees it."""
    now = time.time_ns() // 1_000_000
    return game_view(game, seat, now, game.changed_at + _LIFETIME_MS)


def answer(game: Game, logged: tuple[Logged, ...], seat: int) -> Changed:
    """What a move is answered with."""
    return Changed(game.version, seen(game, seat), log_entries(game, logged, seat))

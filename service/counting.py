"""What the metrics count of a game: by the log of a change that has been stored."""

from collections.abc import Sequence

from service import metrics
from service.game import Game, Logged
from service.rummy.model import (
    Called,
    Declined,
    Discarded,
    Drew,
    LaidOff,
    MatchEnded,
    Melded,
    Swapped,
)

_MOVES = {
    Drew: "draw",
    Declined: "draw",
    Melded: "meld",
    LaidOff: "layoff",
    Swapped: "swap",
    Discarded: "discard",
    Called: "rummy",
}


def count(before: Game, game: Game, logged: Sequence[Logged]) -> None:
    """Count the moves of that change, and whether a match began or ended with it."""
    if before.match is None and game.match is not None:
        metrics.BEGUN.inc()
    for entry in logged:
        event = entry.event
        if move := _MOVES.get(type(event)):
            metrics.labelled(metrics.MOVES, move, _by(game, entry)).inc()
        elif isinstance(event, MatchEnded):
            metrics.ENDED.labels(event.result.reason).inc()


def _by(game: Game, entry: Logged) -> str:
    if entry.forced:
        return "clock"
    seat: int = entry.event.seat  # type: ignore[union-attr]
    return "person" if game.seats[seat].played_by is None else "computer"

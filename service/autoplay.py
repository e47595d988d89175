"""What happens at a table by itself: the computer's turns, the turn clock, the end of an empty one.

Pure, and applied by whoever looks next: `Game.due` says when there is something to do.
"""

from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from service.game import Event, Game, WentAway, with_seat
from service.rummy import computer
from service.rummy.cards import Card, points
from service.rummy.engine import abandon, apply, callable_on, stock_card_is_there
from service.rummy.legal import legal_moves
from service.rummy.model import Call, Deal, Discard, Draw, Drew, Match, Move
from service.rummy.rules import CALL_GRACE_SECONDS, Rules
from service.rummy.view import sight, waits_for_call

_MOST_DISCARDS = 40
"""More than there are in any hand."""


class Step(Struct, frozen=True):
    """What one move did; it is `forced` if the clock made it."""

    events: tuple[Event, ...]
    forced: bool = False


def is_due(game: Game, now: int) -> bool:
    """Whether the game goes on by itself at the time `now` (milliseconds)."""
    return game.due is not None and now >= game.due


def next_moment(game: Game, now: int) -> int | None:
    """When something changes at the table though nobody moves; None: not before somebody does."""
    window = game.match.deal.window if game.match and game.match.deal else None
    moments = [game.due, window.closes if window else None]
    return min((moment for moment in moments if moment is not None and moment > now), default=None)


def tag_of(game: Game, now: int) -> str:
    """What a view of the game is known by: the version, and a plus once a timed call has closed.

    Only then does a view change without a new version: the next player may draw.
    """
    window = game.match.deal.window if game.match and game.match.deal else None
    closed = window is not None and not window.is_open(now)
    waited = closed and game.match is not None and waits_for_call(game.match)
    return f"{game.version}+" if waited else str(game.version)


def gone_on(game: Game, now: int) -> tuple[Game, tuple[Step, ...]]:
    """The game after what was due: the forced turn of a person, or the computers' turns."""
    steps: tuple[Step, ...] = ()
    match, after = game.match, game
    if match and match.deal and game.seats[match.deal.turn].played_by is None:
        after, steps = _forced_turn(game, match, match.deal, now)
    after, more = carried_on(game, after, now)
    return after, steps + more


def carried_on(before: Game, game: Game, now: int) -> tuple[Game, tuple[Step, ...]]:
    """The game after the computers have played, until a person is on turn or somebody may call.

    `before` is the game before what changed it to `game`. The clock of a turn runs on while it is
    the same person's turn. A match that no person plays any more is abandoned (table.5).
    """
    steps: list[Step] = []
    while game.match is not None and game.match.deal is not None:
        match, deal = game.match, game.match.deal
        level = game.seats[deal.turn].played_by
        if all(seat.played_by is not None for seat in game.seats):
            match, events = abandon(match)
        elif level is None:
            due = _deadline(before, game, deal, match.rules, now)
            return replace(game, due=due), tuple(steps)
        else:
            draws_at = _may_draw_at(game, deal, match.rules, now)
            if draws_at > now:
                return replace(game, due=draws_at), tuple(steps)
            move = _chosen(match, deal, level, len(steps), now)
            match, events = apply(match, deal.turn, move, now)
        game = replace(game, match=match)
        steps.append(Step(events))
    return replace(game, due=None), tuple(steps)


def _chosen(match: Match, deal: Deal, level: computer.Level, step: int, now: int) -> Move:
    seen = sight(match, deal.turn, now, computer.MOST_MOVES)
    return computer.choose(level, seen, f"{match.seed} computer {deal.number} {deal.turns} {step}")


def _forced_turn(game: Game, match: Match, deal: Deal, now: int) -> tuple[Game, tuple[Step, ...]]:
    """The person's turn as the clock plays it: a draw if needed, then a discard (table.1)."""
    seat, turn = deal.turn, _turn_of(game)
    steps: list[Step] = []
    drawn: Card | None = None
    while _turn_of(game) == turn:
        match, events = apply(match, seat, _forced_move(match, seat, drawn, now), now)
        drawn = next((event.card for event in events if isinstance(event, Drew)), drawn)
        game = replace(game, match=match)
        steps.append(Step(events, forced=True))
    who = game.seats[seat]
    who = replace(who, forced=who.forced + 1)
    if who.forced >= match.rules.away_after and match.result is None:
        who = replace(who, away="timed_out")
        steps.append(Step((WentAway(seat),)))
    return with_seat(game, seat, who), tuple(steps)


def _forced_move(match: Match, seat: int, drawn: Card | None, now: int) -> Move:
    """A stock card, or else the upcard; then the card just drawn, or else the dearest that may go.

    Where nothing may be discarded, what the turn can still be finished with: a layoff or a swap.
    """
    # But for calls, draws come first, and discards before all other plays.
    legal = (move for move in legal_moves(match, seat, now) if not isinstance(move, Call))
    moves = list(islice(legal, _MOST_DISCARDS))
    draws = [move for move in moves if isinstance(move, Draw)]
    if match.deal and not stock_card_is_there(match.deal, match.rules):
        draws.reverse()  # the upcard, if there is one
    discards = [move for move in moves if isinstance(move, Discard)]
    if draws or not discards:
        return (draws or moves)[0]
    if drawn is not None and Discard(drawn) in discards:
        return Discard(drawn)
    rules = match.rules
    return max(discards, key=lambda move: points(move.card, rules.ace_points, rules.joker_points))


def _deadline(before: Game, game: Game, deal: Deal, rules: Rules, now: int) -> int | None:
    """When the person on turn has to be done; None: there is no clock."""
    if rules.turn_seconds is None:
        return None
    if _turn_of(before) == _turn_of(game) and before.seats[deal.turn].played_by is None:
        return before.due
    closes = deal.window.closes if deal.window else None
    # The draw waits for a timed call, and so does the clock.
    start = max(now, closes) if closes is not None and callable_on(deal, rules) else now
    return start + rules.turn_seconds * 1000


def _may_draw_at(game: Game, deal: Deal, rules: Rules, now: int) -> int:
    """When the computer on turn draws: at once, unless somebody may still call (table.6)."""
    window = deal.window
    if deal.phase != "draw" or window is None or not window.is_open(now):
        return now
    if not callable_on(deal, rules):
        return now
    if window.closes is not None:
        return window.closes
    seats = enumerate(game.seats)
    if not any(seat.played_by is None and number != window.seat for number, seat in seats):
        return now
    # From the discard on, so that nobody who leaves and returns makes the others wait anew.
    return window.opened + 1000 * CALL_GRACE_SECONDS


def _turn_of(game: Game) -> tuple[int, int] | None:
    """Which turn of the match is being played: the deal, and the turns before it."""
    deal = game.match.deal if game.match else None
    return (deal.number, deal.turns) if deal else None

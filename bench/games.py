"""Games in the middle of play, with moves that are known beforehand: worked out by the engine."""

import secrets
import time
from functools import lru_cache
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from service.game import Event, Game, Logged, Seat
from service.new_table import NewTable, empty_table
from service.rummy.engine import apply
from service.rummy.legal import legal_moves
from service.rummy.model import Discard, Draw, LayMeld, LayOff, Match, Move
from service.seating import seated
from service.tokens import hash_of, new_game_id, new_token

WARM_TURNS = 12
"""So many turns the players have had before: there are melds on the table, and discards."""

_FROM_THE_PILE = 0.25
"""So many of the draws take the upcard."""

_TABLE = NewTable(
    variant="straight",
    name="Ada",
    options={"deals": 50},
    seats=2,
    public=False,
    autostart=True,
)


class Table(Struct, frozen=True):
    """A game as it is to be stored, the tokens of its seats, and the moves that follow, by seat.

    They are draws and discards, which lay nothing down, so no deal ends by them.
    """

    game: Game
    logged: tuple[Logged, ...]
    tokens: tuple[str, ...]
    moves: tuple[tuple[int, Move], ...]

    def anew(self) -> "Table":
        """The same under an id and with tokens that nobody has seen yet."""
        game_id = new_game_id(secrets.token_bytes)
        tokens = tuple(new_token(game_id, secrets.token_bytes) for _ in self.tokens)
        seats = tuple(
            replace(seat, token_hash=hash_of(token))
            for seat, token in zip(self.game.seats, tokens, strict=True)
        )
        match = self.game.match and replace(self.game.match, game=game_id)
        return replace(
            self, game=replace(self.game, id=game_id, seats=seats, match=match), tokens=tokens
        )


@lru_cache(maxsize=1)
def tables(number: int, moves: int) -> tuple[Table, ...]:
    """So many tables of two, each with so many moves to come; the same ones each time."""
    return tuple(_table(seed, moves) for seed in range(number))


def _table(seed: int, moves: int) -> Table:
    chance = Random(seed)
    now = time.time_ns() // 1_000_000
    game_id = new_game_id(chance.randbytes)
    tokens = tuple(new_token(game_id, chance.randbytes) for _ in range(_TABLE.seats))
    game = empty_table(_TABLE, game_id, now, chance.randbytes(32).hex())
    events: list[Event] = []
    for name, token in zip(("Ada", "Bo"), tokens, strict=True):
        game, happened = seated(game, Seat(name, hash_of(token)), now)
        events += happened
    match = game.match
    assert match is not None
    while match.deal and (match.deal.turns < WARM_TURNS or match.deal.phase != "draw"):
        match, happened = apply(match, match.deal.turn, _lively(match, chance), now)
        events += happened
    logged = tuple(Logged(number, 1, now, event) for number, event in enumerate(events, 1))
    game = replace(game, match=match, version=1, events=len(logged))
    return Table(game, logged, tokens, _quiet_moves(match, moves, chance))


def _lively(match: Match, chance: Random) -> Move:
    """A move of somebody who lays down whatever goes, but keeps some cards."""
    assert match.deal is not None
    turn = match.deal.turn
    if match.deal.phase == "draw":
        return _draw(chance)
    legal = list(legal_moves(match, turn, 0))
    if len(match.deal.hands[turn]) > 6:
        for move in legal:
            if isinstance(move, LayMeld | LayOff):
                return move
    return chance.choice([move for move in legal if isinstance(move, Discard)])


def _quiet_moves(match: Match, number: int, chance: Random) -> tuple[tuple[int, Move], ...]:
    """So many draws and discards by turns."""
    found: list[tuple[int, Move]] = []
    for _ in range(number // 2):
        assert match.deal is not None
        turn, draw = match.deal.turn, _draw(chance)
        match, _ = apply(match, turn, draw, 0)
        assert match.deal is not None
        hand = [card for card in match.deal.hands[turn] if card != match.deal.taken]
        discard = Discard(chance.choice(hand))
        match, _ = apply(match, turn, discard, 0)
        found += [(turn, draw), (turn, discard)]
    return tuple(found)


def _draw(chance: Random) -> Draw:
    return Draw("discard" if chance.random() < _FROM_THE_PILE else "stock")

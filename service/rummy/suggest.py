"""Legal moves near to one that was refused, so that a refusal can say what would have gone."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from service.errors import Refused
from service.rummy import melds
from service.rummy.cards import JOKER, ORDER, RANK_OF, Card, points
from service.rummy.engine import apply
from service.rummy.legal import legal_moves
from service.rummy.model import (
    Call,
    Deal,
    Discard,
    Draw,
    LayMeld,
    LayOff,
    Match,
    Move,
    Play,
    Swap,
    Turn,
)
from service.rummy.rules import Rules

MOST_LOOKED_AT = 500
"""So many legal moves are compared; with many jokers there can be thousands."""

_CLOSE = 2
"""Cards of a suit so many ranks apart may yet come to be a run."""


def near(
    match: Match,
    seat: int,
    wanted: Move | Turn,
    now: int,
    *,
    play: int | None = None,
    most: int = 3,
) -> tuple[Move, ...]:
    """Up to `most` legal moves of `seat` at the time `now`, the nearest to what was `wanted` first.

    `play` says which play of a turn was refused; without it the discard was. The moves are legal in
    `match`, as it was before the turn. Who is not on turn gets none but calls that are open.

    For a draw there are the other draws or, once one was made, a move of each kind that can follow;
    for a call other calls; for a discard other discards. For a play there are those that use most
    of its cards, and those of its kind on the same meld; where there are none, all of its kind;
    where there are none either, discards.
    """
    deal, rules = match.deal, match.rules
    if deal is None:
        return ()
    step = _step(wanted, play)
    legal = tuple(islice(legal_moves(match, seat, now), MOST_LOOKED_AT))
    calls = [move for move in legal if isinstance(move, Call)]
    if isinstance(step, Call):
        return tuple(sorted(calls, key=lambda call: call.meld != step.meld)[:most])
    if seat != deal.turn:
        return tuple(calls[:most])
    if deal.phase == "draw":
        source = step.source if isinstance(step, Draw) else None
        draws = [move for move in legal if isinstance(move, Draw)]
        draws.sort(key=lambda draw: draw.source != source)
        return tuple((draws or calls)[:most])
    plays = [move for move in legal if isinstance(move, Play)]
    if isinstance(step, Play):
        nearest = _nearest(step, [*_with_the_same_cards(match, deal, step, now), *plays])
        if nearest:
            return tuple(nearest[:most])
    discards = _loneliest_first(legal, deal, rules, kept=_cards_played(wanted))
    if isinstance(step, Draw):
        return _one_of_each_kind((*plays, *discards), most)
    return tuple((discards or plays)[:most])


def _step(wanted: Move | Turn, play: int | None) -> Move | None:
    """The move that was refused; None: the missing end of a turn."""
    if not isinstance(wanted, Turn):
        return wanted
    if play is not None:
        return wanted.plays[play]
    return None if wanted.discard is None else Discard(wanted.discard)


def _one_of_each_kind(moves: Sequence[Move], most: int) -> tuple[Move, ...]:
    firsts = {type(move): move for move in reversed(moves)}
    return tuple(firsts[kind] for kind in (LayMeld, LayOff, Discard, Swap) if kind in firsts)[:most]


# ----------------------------------------------------------------------------------------- plays


def _nearest(step: Play, plays: Sequence[Play]) -> list[Play]:
    """The plays that use any of the cards, most of them first, and those of the kind on that meld.

    If there is none, those of the kind. Among equals those of the same kind come first, those with
    the fewest other cards, those on the same meld and with the jokers named as they were.
    """
    wanted, named = _cards(step), _names(step)
    shared = {move: _shared(wanted, _cards(move)) for move in plays}
    of_the_kind = [move for move in shared if type(move) is type(step)]
    there = [move for move in of_the_kind if _on(step) == _on(move) is not None]
    best = {move for move in shared if shared[move]} | set(there)

    def distance(move: Play) -> tuple[int, ...]:
        return (
            -shared[move],
            type(move) is not type(step),
            len(_cards(move)) - shared[move],
            _on(move) != _on(step),
            -_shared(named, _names(move)),
        )

    return sorted((move for move in shared if move in best) if best else of_the_kind, key=distance)


def _with_the_same_cards(match: Match, deal: Deal, step: Play, now: int) -> Iterator[Play]:
    """The very same cards once more: as a new meld and on each meld, jokers as they can stand.

    The list of legal moves has such layoffs one card at a time only, and may be too long to be
    looked at down to such melds.
    """
    cards, rules = _cards(step), match.rules
    if Counter(cards) - Counter(deal.hands[deal.turn]):
        return
    for named in melds.namings(cards, rules):
        if _goes(match, deal.turn, LayMeld(cards, named), now):
            shape = melds.form(cards, named, rules)
            yield LayMeld(shape.cards, shape.named)
    for meld in deal.melds:
        for named in melds.namings(cards, rules, on=meld):
            if _goes(match, deal.turn, move := LayOff(meld.id, cards, named), now):
                yield move


def _goes(match: Match, seat: int, move: Move, now: int) -> bool:
    try:
        apply(match, seat, move, now)
    except Refused:
        return False
    return True


def _cards(play: Play) -> tuple[Card, ...]:
    return (play.card,) if isinstance(play, Swap) else play.cards


def _names(play: Play) -> tuple[Card, ...]:
    return () if isinstance(play, Swap) else play.jokers


def _shared(some: Sequence[Card], others: Sequence[Card]) -> int:
    """How many cards are in both, copies for copies."""
    left = list(others)
    for card in some:
        if card in left:
            left.remove(card)
    return len(others) - len(left)


def _on(play: Play) -> int | None:
    return None if isinstance(play, LayMeld) else play.meld


def _cards_played(wanted: Move | Turn) -> set[Card]:
    """The cards that were to be played, so that they are best kept."""
    if isinstance(wanted, Turn):
        return {card for play in wanted.plays for card in _cards(play)}
    return set(_cards(wanted)) if isinstance(wanted, Play) else set()


# -------------------------------------------------------------------------------------- discards


def _loneliest_first(
    legal: Sequence[Move], deal: Deal, rules: Rules, kept: Collection[Card]
) -> list[Discard]:
    """The discards: first what has the fewest cards of its rank or near in its suit beside it.

    Of those, what counts most. Jokers come last, and before them what is best `kept`.
    """
    hand = deal.hands[deal.turn]

    def worth(move: Discard) -> tuple[int, ...]:
        card = move.card
        return (
            card == JOKER,
            card in kept,
            sum(_goes_with(card, other) for other in hand),
            -points(card, rules.ace_points, rules.joker_points),
            ORDER[card],
        )

    return sorted((move for move in legal if isinstance(move, Discard)), key=worth)


def _goes_with(card: Card, other: Card) -> bool:
    """Whether the two may come to lie in one meld; with itself any card does."""
    if JOKER in (card, other):
        return False
    if card[0] == other[0]:
        return True
    return card[1] == other[1] and abs(RANK_OF[card] - RANK_OF[other]) <= _CLOSE

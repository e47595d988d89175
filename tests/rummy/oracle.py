"""A second implementation of the rules: slow, obvious, and without a line of the engine.

Only the constants of the cards and the values of the model are shared. A move is judged by trying
everything: every slice of the alphabet of ranks for a run, every naming of a joker, every sequence
of plays for the question whether a turn can still be finished.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

from service.rummy.cards import FACES, JOKER, Card
from service.rummy.model import Call, Deal, Discard, Draw, LayMeld, LayOff, Match, Move, Swap
from service.rummy.rules import Rules

Laid = tuple[tuple[Card, bool], ...]
"""The cards of a meld, sorted: what each is or stands for, and whether a joker stands for it."""


class Turn(NamedTuple):
    """All that matters for the rest of a turn."""

    hand: tuple[Card, ...]
    table: tuple[tuple[int, Laid], ...]
    """Owner and cards of each meld."""
    new_melds: int
    laid_off: bool
    taken: Card | None
    """What may not be discarded."""


# ------------------------------------------------------------------------------ what is a meld


def is_meld(faces: Iterable[Card], rules: Rules) -> bool:
    """common.4 and common.5, for what the cards are or stand for."""
    return _is_meld(tuple(sorted(faces)), rules.decks, rules.aces)


@lru_cache(maxsize=200_000)
def _is_meld(faces: tuple[Card, ...], decks: int, aces: str) -> bool:
    if len(faces) < 3:
        return False
    if len({face[0] for face in faces}) == 1:
        return all(faces.count(face) <= decks for face in faces)
    if len({face[1] for face in faces}) > 1:
        return False
    ranks = "".join(sorted(face[0] for face in faces))
    alphabets = ["A23456789TJQK"] + ["23456789TJQKA"] * (aces == "high_or_low")
    return any(
        ranks == "".join(sorted(alphabet[start : start + len(ranks)]))
        for alphabet in alphabets
        for start in range(len(alphabet))
    )


def namings(
    natural: tuple[Card, ...], jokers: int, rules: Rules, lying: tuple[Card, ...] = ()
) -> list[tuple[Card, ...]]:
    """Every choice of cards for so many jokers that makes a meld of everything (jokers.2)."""
    return _namings(tuple(sorted(natural + lying)), jokers, rules.decks, rules.aces)


@lru_cache(maxsize=200_000)
def _namings(faces: tuple[Card, ...], jokers: int, decks: int, aces: str) -> list[tuple[Card, ...]]:
    if jokers == 0:
        return [()] if _is_meld(faces, decks, aces) else []
    akin = [face for face in FACES if _one_rank_or_suit((*faces, face))]
    return [
        choice
        for choice in combinations_with_replacement(akin, jokers)
        if _is_meld(tuple(sorted(faces + choice)), decks, aces)
    ]


def _one_rank_or_suit(faces: tuple[Card, ...]) -> bool:
    return len({face[0] for face in faces}) == 1 or len({face[1] for face in faces}) == 1


# -------------------------------------------------------------------------------- one play


def melded(turn: Turn, move: LayMeld, seat: int, rules: Rules) -> Turn | None:
    """The turn after a new meld, or None if it is against the rules (common.13 apart)."""
    hand = _less(turn.hand, move.cards)
    if hand is None:
        return None
    if rules.melds_per_turn == "one" and turn.new_melds >= 1:
        return None
    if rules.order == "melds_first" and turn.laid_off:
        return None
    natural = tuple(card for card in move.cards if card != JOKER)
    if not natural:
        return None
    laid = _laid(natural, move.cards.count(JOKER), move.jokers, (), rules)
    if laid is None or (not hand and rules.final_discard):
        return None
    return turn._replace(hand=hand, table=(*turn.table, (seat, laid)), new_melds=turn.new_melds + 1)


def laid_off(turn: Turn, move: LayOff, seat: int, rules: Rules) -> Turn | None:
    """The turn after a layoff, or None if it is against the rules (common.13 apart)."""
    hand = _less(turn.hand, move.cards)
    if hand is None or not move.cards or not 1 <= move.meld <= len(turn.table):
        return None
    owner, lying = turn.table[move.meld - 1]
    if rules.layoffs == "none" or (rules.layoffs == "own" and owner != seat):
        return None
    natural = tuple(card for card in move.cards if card != JOKER)
    laid = _laid(natural, move.cards.count(JOKER), move.jokers, lying, rules)
    if laid is None or (not hand and rules.final_discard):
        return None
    table = list(turn.table)
    table[move.meld - 1] = (owner, laid)
    return turn._replace(hand=hand, table=tuple(table), laid_off=True)


def swapped(turn: Turn, move: Swap, rules: Rules) -> Turn | None:
    """The turn after a joker was swapped out, or None if it is against the rules (jokers.3)."""
    hand = _less(turn.hand, (move.card,))
    if hand is None or not rules.joker_swap or not 1 <= move.meld <= len(turn.table):
        return None
    owner, lying = turn.table[move.meld - 1]
    if (move.card, True) not in lying:
        return None
    cards = list(lying)
    cards[cards.index((move.card, True))] = (move.card, False)
    table = list(turn.table)
    table[move.meld - 1] = (owner, tuple(sorted(cards)))
    return turn._replace(
        hand=tuple(sorted((*hand, JOKER))),
        table=tuple(table),
        # This joker may be discarded, and nobody can tell it from one taken as the upcard.
        taken=None if turn.taken == JOKER else turn.taken,
    )


def _laid(
    natural: tuple[Card, ...], jokers: int, named: tuple[Card, ...], lying: Laid, rules: Rules
) -> Laid | None:
    """The cards as they come to lie, with the jokers named or with the only possible names."""
    faces = tuple(face for face, _ in lying)
    possible = namings(natural, jokers, rules, faces)
    if named:
        if len(named) != jokers or tuple(sorted(named)) not in map(tuple, map(sorted, possible)):
            return None
    elif len(possible) != 1:
        return None
    else:
        named = possible[0]
    new = [(face, False) for face in natural] + [(face, True) for face in named]
    return tuple(sorted([*lying, *new]))


def _less(hand: tuple[Card, ...], cards: Iterable[Card]) -> tuple[Card, ...] | None:
    rest = list(hand)
    for card in cards:
        if card not in rest:
            return None
        rest.remove(card)
    return tuple(rest)


# --------------------------------------------------------------------------- the end of a turn


def can_finish(turn: Turn, seat: int, rules: Rules) -> bool:
    """Whether any sequence of plays and a discard finishes the turn (common.13)."""
    seen: set[Turn] = set()

    def search(turn: Turn) -> bool:
        if not turn.hand or any(card != turn.taken for card in turn.hand):
            return True
        if turn in seen:
            return False
        seen.add(turn)
        return any(map(search, _after_any_play(turn, seat, rules)))

    return search(turn)


def _after_any_play(turn: Turn, seat: int, rules: Rules) -> Iterator[Turn]:
    for move in plays(turn, rules):
        match move:
            case LayMeld():
                result = melded(turn, move, seat, rules)
            case LayOff():
                result = laid_off(turn, move, seat, rules)
            case Swap():
                result = swapped(turn, move, rules)
        if result is not None:
            yield result


def plays(turn: Turn, rules: Rules, most: int = 99) -> Iterator[LayMeld | LayOff | Swap]:
    """Every meld, layoff (of at most `most` cards) and swap that one could think of.

    With every naming of the jokers that could make a meld, though not more: which naming is
    accepted where it makes none, `stray_namings` asks.
    """
    for cards in subsets(turn.hand):
        natural = tuple(card for card in cards if card != JOKER)
        jokers = len(cards) - len(natural)
        if natural:
            for named in namings(natural, jokers, rules):
                yield LayMeld(cards, named)
        for number, (_, lying) in enumerate(turn.table, 1):
            if 1 <= len(cards) <= most:
                for named in namings(natural, jokers, rules, tuple(face for face, _ in lying)):
                    yield LayOff(number, cards, named)
    for number in range(1, len(turn.table) + 1):
        for card in sorted(set(turn.hand)):
            yield Swap(number, card)


def subsets(hand: tuple[Card, ...]) -> Iterator[tuple[Card, ...]]:
    """Every selection of cards from a hand, each once."""
    seen = set()
    for size in range(len(hand) + 1):
        for cards in combinations(sorted(hand), size):
            if cards not in seen:
                seen.add(cards)
                yield cards


# ---------------------------------------------------------------------------- is a move legal


def turn_of(deal: Deal) -> Turn:
    """The turn being played, as this module sees it."""
    return Turn(
        hand=tuple(sorted(deal.hands[deal.turn])),
        table=tuple(
            (
                meld.owner,
                tuple(
                    sorted((face, place in meld.jokers) for place, face in enumerate(meld.faces))
                ),
            )
            for meld in deal.melds
        ),
        new_melds=deal.new_melds,
        laid_off=deal.laid_off,
        taken=deal.taken,
    )


def legal(match: Match, seat: int, move: Move, now: int) -> bool:
    """Whether the rules allow `seat` that move."""
    deal, rules = match.deal, match.rules
    if deal is None:
        return False
    if isinstance(move, Call):
        return _may_call(deal, rules, seat, move, now)
    if seat != deal.turn:
        return False
    if isinstance(move, Draw):
        return _may_draw(deal, rules, move, now)
    if deal.phase == "draw":
        return False
    return legal_in_turn(turn_of(deal), seat, move, rules)


def legal_in_turn(turn: Turn, seat: int, move: Move, rules: Rules) -> bool:
    """Whether the rules allow the play or discard after the draw."""
    match move:
        case Discard():
            return move.card in turn.hand and move.card != turn.taken
        case LayMeld() | LayOff() | Swap():
            result = played(turn, move, seat, rules)
            return result is not None and can_finish(result, seat, rules)
        case _:
            return False


def played(turn: Turn, move: LayMeld | LayOff | Swap, seat: int, rules: Rules) -> Turn | None:
    """The turn after a play, or None if it is against the rules (common.13 apart)."""
    match move:
        case LayMeld():
            return melded(turn, move, seat, rules)
        case LayOff():
            return laid_off(turn, move, seat, rules)
        case Swap():
            return swapped(turn, move, rules)


def _may_draw(deal: Deal, rules: Rules, move: Draw, now: int) -> bool:
    """common.3, common.12, and call-rummy.5 for the wait."""
    if deal.phase != "draw":
        return False
    window = deal.window
    if window is not None and window.closes is not None and now < window.closes:
        turn = turn_of(deal)
        if any(_fits(deal.pile[-1], lying, rules) for _, lying in turn.table):
            return False
    if move.source == "discard":
        return bool(deal.pile) and move.card in {None, deal.pile[-1]}
    if deal.stock:
        return True
    if rules.turnovers is not None and deal.turnovers >= rules.turnovers:
        return True  # and blocks the deal
    turned = list(deal.pile)
    if rules.turnover_keeps_upcard:
        turned = turned[:-1]
    if rules.turnover_new_upcard:
        turned = turned[1:]
    return bool(turned)


def _fits(card: Card, lying: Laid, rules: Rules) -> bool:
    faces = tuple(face for face, _ in lying)
    if card == JOKER:
        return bool(namings((), 1, rules, faces))
    return is_meld((*faces, card), rules)


def _may_call(deal: Deal, rules: Rules, seat: int, move: Call, now: int) -> bool:
    """call-rummy.5. On whose melds one may lay off in a turn does not matter here."""
    window = deal.window
    if rules.call == "off" or window is None or window.seat == seat:
        return False
    if window.closes is not None and now >= window.closes:
        return False
    if not 1 <= move.meld <= len(deal.melds):
        return False
    card, lying = deal.pile[-1], turn_of(deal).table[move.meld - 1][1]
    natural = () if card == JOKER else (card,)
    return _laid(natural, 1 - len(natural), move.jokers, lying, rules) is not None


# ---------------------------------------------------------------------- everything conceivable


def stray_namings(cards: tuple[Card, ...]) -> Iterator[tuple[Card, ...]]:
    """Names for jokers that do not belong: too many, too few, a joker, cards of any kind."""
    jokers = cards.count(JOKER)
    yield ("7C",) * (jokers + 1)
    if jokers:
        yield (JOKER,) * jokers
        yield ("7C",) * jokers
        yield ("AH",) * jokers
        yield ("KH",) * jokers
        yield ()
    if jokers > 1:
        yield ("7C",) * (jokers - 1)
    if jokers == 1:
        yield from ((face,) for face in FACES)


def conceivable(match: Match, seat: int) -> Iterator[Move]:
    """Every move that anybody could think of at this point, most of them nonsense.

    Melds of every selection of the hand, layoffs of up to three cards on every meld and on none,
    each with every sensible naming of the jokers and a lot of others; every swap, discard, draw.
    Before the draw and out of turn, when nothing can be played, four cards are enough.
    """
    deal, rules = match.deal, match.rules
    if deal is None:
        return
    yield Draw("stock")
    yield Draw("discard")
    turn = turn_of(deal)
    if seat != deal.turn or deal.phase == "draw":
        turn = turn._replace(hand=turn.hand[:4])
    for card in (*FACES, JOKER):
        yield Draw("discard", card)
        yield Discard(card)
    for number in range(len(turn.table) + 2):
        yield Call(number)
        if deal.window:
            yield Call(number, (JOKER,))
            yield from (Call(number, (face,)) for face in FACES)
        for card in (*sorted(set(turn.hand)), "AC", "7C", "KH"):
            yield Swap(number, card)
    yield from plays(turn, rules, most=3)
    for cards in subsets(turn.hand):
        for named in stray_namings(cards):
            yield LayMeld(cards, named)
            if 1 <= len(cards) <= 3:
                yield from (LayOff(n, cards, named) for n in range(len(turn.table) + 2))
        yield LayMeld(cards)
        if len(cards) <= 3:
            yield from (LayOff(n, cards) for n in range(len(turn.table) + 2))
    yield LayMeld((*turn.hand[:2], "7C"))
    yield LayMeld((*turn.hand[:2], *turn.hand[:2]))
    yield from (LayOff(n, ("7C",)) for n in range(len(turn.table) + 2))


def normal(move: Move) -> tuple[object, ...]:
    """The same for moves that do the same: the order of cards and of names does not matter."""
    match move:
        case LayMeld():
            return ("meld", tuple(sorted(move.cards)), tuple(sorted(move.jokers)))
        case LayOff():
            return ("layoff", move.meld, tuple(sorted(move.cards)), tuple(sorted(move.jokers)))
        case Swap():
            return ("swap", move.meld, move.card)
        case Discard():
            return ("discard", move.card)
        case Draw():
            return ("draw", move.source)
        case Call():
            return ("rummy", move.meld, move.jokers)


def in_full(match: Match, move: Move) -> bool:
    """Whether the move is written as a list of moves writes it: jokers named, upcard named."""
    deal = match.deal
    if deal is None:
        return False
    match move:
        case LayMeld():
            return len(move.jokers) == move.cards.count(JOKER)
        case LayOff():
            return len(move.cards) == 1 and len(move.jokers) == move.cards.count(JOKER)
        case Call():
            return len(move.jokers) == (deal.upcard == JOKER)
        case Draw():
            return move.source == "stock" or move.card is not None
        case _:
            return True

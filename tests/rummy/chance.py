"""Random tables, positions and players, each from a number, so that every run is the same."""

from collections import Counter
from itertools import islice
from random import Random

from msgspec.structs import replace

from service.errors import OptionsRefused
from service.rummy.cards import FACES, JOKER, RANKS, SUITS, Card, in_order, pack
from service.rummy.legal import legal_moves
from service.rummy.melds import form
from service.rummy.model import (
    CallWindow,
    Deal,
    Discard,
    Draw,
    LayMeld,
    LayOff,
    Match,
    Meld,
    Move,
    Swap,
)
from service.rummy.rules import OPTIONS, OptionValue, Rules, agree
from tests.rummy import oracle

NOW = 1_000_000
LATER = 10**12
"""After any timed call."""


# ---------------------------------------------------------------------------------- tables


OF_PLAY = [option for option in OPTIONS.values() if not option.rule.startswith("table.")]
"""The options that the engine plays by; the others are for the table around it."""


def random_rules(chance: Random, variant: str, players: int, **fixed: OptionValue) -> Rules:
    """Some rules that go together: a few options of the preset changed at random."""
    while True:
        chosen: dict[str, OptionValue] = {"deals": chance.randint(1, 3)}
        for option in chance.sample(OF_PLAY, chance.randint(0, 9)):
            if option.name in {"deals", "call_seconds"}:
                continue
            if option.name == "target":
                chosen.pop("deals", None)
                chosen["target"] = chance.choice([1, 20, 60])
            elif option.kind == "switch":
                chosen[option.name] = chance.random() < 0.5
            elif option.kind == "choice":
                chosen[option.name] = chance.choice(option.choices)
            elif option.name == "turnovers":
                chosen[option.name] = chance.choice([None, 0, 1, 2])
            else:
                chosen[option.name] = chance.randint(option.low, min(option.high, 20))
        if chosen.get("call") == "timed":
            chosen["call_seconds"] = chance.choice([1, 5, 60])
        try:
            return agree(variant, players, chosen | fixed)
        except OptionsRefused:
            continue


# ------------------------------------------------------------------------------- positions


def random_position(
    chance: Random,
    rules: Rules,
    most_in_hand: int = 7,
    draw: float = 0.25,
    *,
    narrow: bool = False,
) -> Match:
    """A position in the middle of a deal: a whole pack, valid melds, hands in which much fits.

    `draw` is how likely the turn is still to begin. In a narrow position the hand is what can be
    played and one card more, which may not be discarded.
    """
    left = Counter(pack(rules.decks, rules.jokers))
    melds: list[Meld] = []
    for _ in range(chance.randint(0, 3)):
        meld = _random_meld(chance, rules, left, len(melds) + 1)
        if meld is not None:
            melds.append(meld)
    turn = chance.randrange(rules.players)
    sizes = [
        chance.randint(1, most_in_hand if seat == turn else 3) for seat in range(rules.players)
    ]
    hands = [in_order(_random_hand(chance, left, melds, rules, size)) for size in sizes]
    taken = None
    if narrow:
        left.update(hands[turn])
        hands[turn], taken = _narrow_hand(chance, left, melds, rules)
    rest = list(left.elements())
    chance.shuffle(rest)
    fitting = [card for meld in melds for card in _fitting(meld, rules) if card in rest]
    if fitting and chance.random() < 0.6:
        card = chance.choice([*fitting, *fitting, *([JOKER] if JOKER in rest else [])])
        rest.remove(card)
        rest.append(card)
    size = min(len(rest), chance.choice([0, 1, 1, 2, 3, 9]))
    pile = [rest.pop() for _ in range(size)][::-1]
    if chance.random() < 0.4:  # the stock is used up, or nearly
        kept = chance.choice([0, 0, 1])
        pile, rest = rest[kept:] + pile if chance.random() < 0.5 else pile, rest[:kept]
    used = chance.randint(0, rules.turnovers) if rules.turnovers is not None else 0
    deal = Deal(
        number=1,
        dealer=chance.randrange(rules.players),
        hands=tuple(hands),
        stock=tuple(rest),
        pile=tuple(pile),
        turn=turn,
        melds=tuple(melds),
        turnovers=used,
    )
    if taken is not None:
        deal = replace(deal, phase="play", taken=taken)
    elif chance.random() < draw:
        deal = _beginning(chance, deal, rules)
    else:
        deal = _midway(chance, deal, rules)
    return Match(rules=rules, seed="any", totals=(0,) * rules.players, deal=deal)


def _beginning(chance: Random, deal: Deal, rules: Rules) -> Deal:
    """Before the draw, perhaps with a card that may be called."""
    if rules.call == "off" or not deal.pile or chance.random() < 0.2:
        return deal
    closes = NOW + chance.choice([-1, 0, 1, 1000, 5000]) if rules.call_seconds else None
    return replace(deal, window=CallWindow((deal.turn - 1) % rules.players, closes))


def _midway(chance: Random, deal: Deal, rules: Rules) -> Deal:
    """After the draw, perhaps with an upcard that may not go back, or after a play."""
    taken = None
    if not rules.return_upcard and chance.random() < 0.7:
        single = [card for card, count in Counter(deal.hands[deal.turn]).items() if count == 1]
        taken = chance.choice(single) if single else None
    return replace(
        deal,
        phase="play",
        taken=taken,
        new_melds=chance.choice([0, 0, 0, 1]),
        laid_off=chance.random() < 0.15,
    )


def _random_meld(chance: Random, rules: Rules, left: Counter[Card], number: int) -> Meld | None:
    if chance.random() < 0.5:
        rank = chance.choice(RANKS)
        faces = [rank + suit for suit in SUITS] * rules.decks
        chance.shuffle(faces)
        faces = faces[: chance.choice([3, 3, 4, 5, 7, 8])]
    else:
        alphabet = RANKS + ("A" if rules.aces == "high_or_low" else "")
        length = chance.choice([3, 3, 4, 5, 11, 12, 13])
        start = chance.randint(0, len(alphabet) - length)
        suit = chance.choice(SUITS)
        faces = [rank + suit for rank in alphabet[start : start + length]]
    cards: list[Card] = []
    named: list[Card] = []
    for face in faces:
        if left[JOKER] > len(named) < len(faces) - 1 and chance.random() < 0.3:
            cards.append(JOKER)
            named.append(face)
        else:
            cards.append(face)
    if Counter(cards) - left:
        return None
    left.subtract(cards)
    shape = form(cards, named, rules)
    return Meld(number, chance.randrange(rules.players), shape.kind, shape.faces, shape.jokers)


def _fitting(meld: Meld, rules: Rules) -> list[Card]:
    """The cards that could be laid off on a meld."""
    return [face for (face,) in oracle.namings((), 1, rules, meld.faces)]


def _random_hand(
    chance: Random, left: Counter[Card], melds: list[Meld], rules: Rules, size: int
) -> list[Card]:
    """A hand of pieces: what makes a meld, what fits one, what swaps a joker out, anything."""
    hand: list[Card] = []
    while len(hand) < size and left.total() > 0:
        piece: list[Card] = []
        match chance.randrange(6):
            case 0:  # of one rank
                rank = chance.choice(RANKS)
                piece = chance.sample([rank + suit for suit in SUITS] * rules.decks, 3)
            case 1:  # in a row
                start = chance.randrange(52)
                piece = [FACES[(start + n) % 52] for n in range(3)]
            case 2 if melds:
                fitting = _fitting(chance.choice(melds), rules)
                piece = chance.sample(fitting, min(len(fitting), 2))
            case 3 if melds:
                meld = chance.choice(melds)
                piece = [meld.faces[place] for place in meld.jokers][:1]
            case 4 if hand.count(JOKER) < 2:  # with more there is too much to try one by one
                piece = [JOKER]
            case 5:
                piece = [chance.choice(FACES)]
        for card in piece[: size - len(hand)]:
            if left[card] > 0:
                hand.append(card)
                left[card] -= 1
    return hand


def _narrow_hand(
    chance: Random, left: Counter[Card], melds: list[Meld], rules: Rules
) -> tuple[tuple[Card, ...], Card]:
    """A piece that can be played, and a card taken from the pile."""
    fitting = [card for meld in melds for card in _fitting(meld, rules)]
    near = [meld.faces[place] for meld in melds for place in meld.jokers] * 3 + fitting
    while True:
        start, rank = chance.randrange(52), chance.choice(RANKS)
        in_a_row = [FACES[(start + n) % 52] for n in range(3)]
        pieces = [in_a_row, [JOKER, *in_a_row[1:]], [rank + suit for suit in SUITS], [JOKER]]
        piece = Counter(chance.choice(pieces + [[card] for card in fitting]))
        taken = chance.choice([*near, JOKER, *chance.sample(FACES, 3)])
        hand = piece + Counter([taken])
        if not hand - left and hand[taken] == 1:
            left.subtract(hand)
            return in_order(hand.elements()), taken


# ---------------------------------------------------------------------------------- players


def choose(chance: Random, match: Match, seat: int, now: int, keen: float = 0.7) -> Move:
    """One of the first legal moves; a keen player melds and lays off where possible."""
    moves = list(islice(legal_moves(match, seat, now), 200))
    made = [move for move in moves if isinstance(move, LayMeld | LayOff | Swap)]
    if made and chance.random() < keen:
        return chance.choice(made)
    ends = [move for move in moves if isinstance(move, Discard | Draw)]
    return chance.choice(ends or moves)

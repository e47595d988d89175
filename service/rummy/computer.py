"""The computer players: `choose` gives the move of the seat on turn, from what that seat may see.

Each step of a turn is decided anew from the seat's sight, so that nothing has to be kept from one
step to the next. Every turn ends all the same: a meld or layoff takes cards out of the hand, and a
swap takes a natural card out of it, which nothing brings back.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, islice
from typing import Literal, NamedTuple, get_args

from msgspec.structs import replace

from service.rummy.cards import (
    FACES,
    JOKER,
    ORDER,
    RANK_OF,
    RANKS,
    SUITS,
    Card,
    points,
    without,
)
from service.rummy.melds import melds_in, open_faces
from service.rummy.model import Call, Discard, Draw, LayMeld, LayOff, Meld, Move, Swap
from service.rummy.rules import MIN_MELD, Rules
from service.rummy.shuffle import lot
from service.rummy.view import DealView, Sight

Level = Literal["random", "steady", "sharp"]
LEVELS: tuple[Level, ...] = get_args(Level)

MOST_MOVES = 500
"""So many legal moves the sight should list. Only hands with several jokers have more."""

_PER_CARD = 10
"""A card left in the hand costs so much besides its points: one king is better than two aces."""

_MOST_FORMS = 200
"""So many melds of a hand are looked at. Only hands with several jokers have more."""

_MOST_TRIES = 1_000
"""So many groups are tried in the search for the best plan; without jokers it needs far fewer."""

_STALE_TURNOVERS = 3
"""After so many turnovers nothing comes of what each seat keeps, so any dead card goes. Where four
had to discard the last card, this ended half of the deals that had gone on for 1,000 turns."""

# What sharp plays by, each tuned in the arena against steady; the figures are in docs/computers.md.

_MELD_WORTH = 80.0
"""What a meld to come is worth, in points. With 20 sharp won no more deals than steady; with 120 it
won a few more of them and fewer points, for it was caught with dear cards."""

_CARDS_TO_COME = 9.0
"""So many unseen cards come by before the end, while the others' hands are as dealt. Less as they
shrink: without that sharp was not ahead in seven-card rummy."""

_HALF_USED = 0.4
"""How far a card that is planned for one meld counts for another. Between 0.1 and 0.8 all alike."""

_UPCARD_WORTH = 60.0
"""What an upcard must promise to be taken though it makes no meld yet. A bit better than never."""

_DANGER = 10.0
"""What it costs to throw a card that is certain to give the next player a meld. With 60 sharp
spoiled its own hand for it, and lost most of what it was ahead."""

_THROWN_BEFORE = 0.5
"""How likely a danger is still, if the next player has thrown a card near it. A guess."""

_HOLD_ABOVE = 3
"""Melds are held back while every other hand has more cards than this. With 1 or 2 sharp was caught
with everything; never to hold back made it half as good."""


def choose(level: Level, sight: Sight, seed: str) -> Move:
    """One legal move for the seat that is on turn, one of `sight.view.moves`, and never a call.

    There must be one. All its chance comes from `seed`.
    """
    moves: tuple[Move, ...]
    moves = tuple(move for move in sight.view.moves if not isinstance(move, Call))
    if level != "random" and len(moves) > 1:
        player = _Sharp(sight, moves) if level == "sharp" else _Steady(sight, moves)
        moves = player.best_moves()
    return moves[lot(len(moves), seed.encode(), "move") if len(moves) > 1 else 0]


# ----------------------------------------------------------------------------------- the levels


class _Steady:
    """Melds and lays off what it can, takes what helps at once, discards dead weight."""

    def __init__(self, sight: Sight, moves: tuple[Move, ...]) -> None:
        assert sight.view.deal is not None, "a seat on turn has a deal"  # noqa: S101
        self.sight = sight
        self.rules: Rules = sight.rules
        self.deal: DealView = sight.view.deal
        self.hand: tuple[Card, ...] = sight.view.hand or ()
        self.moves = moves
        self.weights = _weights(self.rules.ace_points, self.rules.joker_points)

    def best_moves(self) -> tuple[Move, ...]:
        """The moves that are equally good, and better than all others."""
        if self.deal.phase == "draw":
            upcard = self.deal.upcard
            takes = upcard is not None and self.takes(upcard)
            return (Draw("discard", upcard),) if takes else self.moves[:1]
        groups = _groups(self.sight, self.hand, self.weights)
        plan = self.plan(self.hand, groups)
        play = self.play(plan, groups)
        if play is not None:
            return (play,)
        discards = [move for move in self.moves if isinstance(move, Discard)]
        if not discards:  # the one card left may not be discarded, but it can be played
            return self.moves
        discards = [move for move in discards if move.card in plan.rest] or discards
        if self.deal.turnovers >= _STALE_TURNOVERS:
            return tuple(discards)
        costs = [self.discard_cost(move.card, plan, groups) for move in discards]
        return tuple(move for move, cost in zip(discards, costs, strict=True) if cost == min(costs))

    def takes(self, upcard: Card) -> bool:
        """Whether the upcard is drawn: it can be laid at once, and makes nothing else dead."""
        hand = (*self.hand, upcard)
        groups = _groups(self.sight, hand, self.weights)
        return self.plan(hand, groups).cost <= self.plan(self.hand, groups).cost

    def play(self, plan: "_Plan", groups: Sequence["_Group"]) -> Move | None:
        """A swap that lets more be laid, else the first move of the plan; None: discard."""
        for move in self.moves:
            if isinstance(move, Swap):
                hand = (*without(self.hand, (move.card,)), JOKER)
                better = self.plan(hand, _groups(self.sight, hand, self.weights))
                if better.cost < plan.cost:
                    return move
        if self.deal.melds_left is not None:
            now = self.plan(self.hand, groups, self.deal.melds_left)
            plan = now if now.goes_out else plan
        if not plan.goes_out and self.waits(plan):
            return None
        listed = set(self.moves)
        return next((group.move for group in plan.groups if group.move in listed), None)

    def waits(self, plan: "_Plan") -> bool:
        """Whether nothing is laid yet: with nothing to lay off on, too few cards would be left.

        Who must discard the last card needs three cards to make a meld of next turn, else two.
        """
        longest = max((len(group.cards) for group in plan.groups), default=0)
        left = len(self.hand) - longest - 1
        return self.rules.layoffs == "none" and left < MIN_MELD - 1 + self.rules.final_discard

    def discard_cost(self, card: Card, plan: "_Plan", groups: Sequence["_Group"]) -> float:
        """What is lost with the card; a card that goes with another in the hand is kept longer."""
        others = without(self.hand, (card,))
        pair = _PER_CARD if any(_goes_with(card, other) for other in others) else 0
        return self.cost_without(card, plan, groups) + pair

    def cost_without(self, card: Card, plan: "_Plan", groups: Sequence["_Group"]) -> float:
        """What is left in the hand after the best plan, if the card is discarded."""
        if card in plan.rest:
            return plan.cost - self.weights[card]
        return self.plan(without(self.hand, (card,)), groups).cost

    def plan(
        self, hand: Sequence[Card], groups: Sequence["_Group"], most_melds: int | None = None
    ) -> "_Plan":
        """The best plan for cards of which `groups` are all the groups, and perhaps more."""
        return _best_plan(
            hand, groups, self.weights, most_melds, keeps_one=self.rules.final_discard
        )


class _Sharp(_Steady):
    """Weighs what may still come and what the others collect, and holds its melds back."""

    def __init__(self, sight: Sight, moves: tuple[Move, ...]) -> None:
        super().__init__(sight, moves)
        deal, rules = self.deal, self.rules
        melded = (card for meld in deal.melds for card in meld.cards)
        picked = (card for seat, card in sight.picked if seat != sight.seat)
        seen = Counter((*self.hand, *sight.pile, *melded, *picked))
        unseen = {face: rules.decks - seen.get(face, 0) for face in FACES}
        following = (sight.seat + 1) % rules.players
        collected = {card for seat, card in sight.picked if seat == following}
        self.thrown = {card for seat, card in sight.thrown if seat == following}
        others = [size for seat, size in enumerate(deal.hand_sizes) if seat != sight.seat]
        self.fewest = min(others)
        hidden = max(1, rules.decks * len(FACES) + rules.jokers - seen.total())
        coming = _CARDS_TO_COME * min(1.0, self.fewest / rules.hand_size) / hidden
        dealt = deal.hand_sizes[following] / hidden
        self.mine = {face: unseen[face] * coming for face in FACES}
        """How likely each card is in this hand before the end."""
        self.theirs = {face: 1.0 if face in collected else unseen[face] * dealt for face in FACES}
        """How likely each card is in the next player's hand."""

    def takes(self, upcard: Card) -> bool:
        """Whether the upcard is drawn: it can be laid, or promises much."""
        if super().takes(upcard):
            return True
        if upcard == JOKER:
            return True
        groups = _groups(self.sight, self.hand, self.weights)
        promise = self.prospects(upcard, self.plan(self.hand, groups))
        return promise - self.weights[upcard] + _PER_CARD > _UPCARD_WORTH

    def waits(self, plan: "_Plan") -> bool:
        """Whether melds are held back, to go out in one stroke: others lay off on what lies there.

        Only where one turn is enough for all of them, and while nobody else is close to going out.
        Not where being caught costs points whoever goes out, and several others may.
        """
        rules = self.rules
        holds = (
            rules.layoffs == "any"
            and rules.melds_per_turn == "unlimited"
            and (rules.scoring == "winner_takes" or rules.players == 2)
        )
        return (holds and self.fewest > _HOLD_ABOVE) or super().waits(plan)

    def discard_cost(self, card: Card, plan: "_Plan", groups: Sequence["_Group"]) -> float:
        """What is left in the hand, what can no longer come of it, and what it gives away."""
        cost = self.cost_without(card, plan, groups)
        if card == JOKER:
            return cost + 2 * _MELD_WORTH
        danger = _DANGER * _chance(card, self.theirs, self.rules)
        if any(_goes_with(card, other) for other in self.thrown):
            danger *= _THROWN_BEFORE
        return cost + self.prospects(card, plan) + danger

    def prospects(self, card: Card, plan: "_Plan") -> float:
        """What the melds are worth that the card may come to be in."""
        likely = dict(self.mine)
        for group in plan.groups:
            likely |= dict.fromkeys(group.cards, _HALF_USED)
        likely |= dict.fromkeys(plan.rest, 1.0)
        return _MELD_WORTH * _chance(card, likely, self.rules)


def _goes_with(card: Card, other: Card) -> bool:
    """Whether two cards can be in one meld of three."""
    if JOKER in {card, other}:
        return True
    near = card[1] == other[1] and abs(RANK_OF[card] - RANK_OF[other]) < MIN_MELD
    return near or card[0] == other[0]


def _chance(card: Card, likely: Mapping[Card, float], rules: Rules) -> float:
    """How many melds of three with the card are to be expected, if its partners are so likely."""
    return sum(
        likely[one] * likely[other]
        for one, other in _partners(card, rules.aces == "high_or_low", rules.decks)
    )


@cache
def _partners(card: Card, high_aces: bool, decks: int) -> tuple[tuple[Card, Card], ...]:
    """The pairs that make a meld of three with the card."""
    rank, suit = card[0], card[1]
    same = [rank + other for other in SUITS for _ in range(decks)]
    same.remove(card)
    pairs = dict.fromkeys(combinations(same, 2))
    line = RANKS + ("A" if high_aces else "")
    for start in range(len(line) - MIN_MELD + 1):
        run = [each + suit for each in line[start : start + MIN_MELD]]
        if card in run:
            run.remove(card)
            pairs[run[0], run[1]] = None
    return tuple(pairs)


@cache
def _weights(ace: int, joker: int) -> Mapping[Card, int]:
    """What it costs to be left with each card."""
    return {card: points(card, ace, joker) + _PER_CARD for card in ORDER}


# ------------------------------------------------------------------ the best way to lay a hand


class _Group(NamedTuple):
    """Cards that can be laid together, as a meld or on a meld, and the move that begins it."""

    cards: tuple[Card, ...]
    needs: int
    """The cards as one number: see `_bundle`."""
    weight: int
    move: LayMeld | LayOff


class _Plan(NamedTuple):
    """Groups that can be laid together, melds first, and the rest: dead weight."""

    groups: tuple[_Group, ...]
    rest: tuple[Card, ...]
    cost: int
    """What the rest weighs."""

    @property
    def goes_out(self) -> bool:
        """Whether nothing is left but a card to discard."""
        return len(self.rest) <= 1


_BITS = 5
_UNITS = {card: 1 << _BITS * place for card, place in ORDER.items()}
_GUARDS = sum(unit << _BITS - 1 for unit in _UNITS.values())


def _bundle(cards: Iterable[Card]) -> int:
    """Cards as one number: five bits count the copies of each, the highest of them left free."""
    return sum(map(_UNITS.__getitem__, cards))


def _fitting(groups: Iterable[_Group], bundle: int) -> list[_Group]:
    """The groups whose cards are all in the bundle: nothing is borrowed from a free bit."""
    guarded = bundle | _GUARDS
    return [group for group in groups if guarded - group.needs & _GUARDS == _GUARDS]


def _best_plan(
    hand: Sequence[Card],
    groups: Sequence[_Group],
    weights: Mapping[Card, int],
    most_melds: int | None,
    *,
    keeps_one: bool,
) -> _Plan:
    """The plan that leaves the least weight, with at most so many new melds (None: any number).

    `keeps_one`: a card has to be left to discard. `groups` are tried in their order, the heaviest
    first, so that a search that is cut short has found something good.
    """
    total = sum(map(weights.__getitem__, hand))
    best: tuple[_Group, ...] = ()
    most = 0
    tries = _MOST_TRIES

    def search(
        chosen: tuple[_Group, ...], weight: int, left: int, options: list[_Group], melds: int
    ) -> None:
        nonlocal best, most, tries
        if weight > most and (left or not keeps_one):
            best, most = chosen, weight
        ahead = sum(option.weight for option in options)
        for place, group in enumerate(options):
            if tries <= 0 or weight + ahead <= most or most == total:
                return
            ahead -= group.weight
            is_meld = isinstance(group.move, LayMeld)
            if is_meld and melds == most_melds:
                continue
            remaining = left - group.needs
            later = options[place + 1 :]
            tries -= 1 + len(later)
            fitting = _fitting(later, remaining)
            search((*chosen, group), weight + group.weight, remaining, fitting, melds + is_meld)

    bundle = _bundle(hand)
    search((), 0, bundle, _fitting(groups, bundle), 0)
    rest = without(tuple(hand), (card for group in best for card in group.cards))
    in_order = sorted(best, key=lambda group: isinstance(group.move, LayOff))
    return _Plan(tuple(in_order), rest, total - most)


def _groups(sight: Sight, hand: Sequence[Card], weights: Mapping[Card, int]) -> list[_Group]:
    """What can be laid of that hand, now or in a later turn, the heaviest first."""
    found: dict[int, _Group] = {}
    for cards, move in (*_new_melds(hand, sight.rules), *_layoffs(sight, hand)):
        needs = _bundle(cards)
        if needs not in found:
            found[needs] = _Group(cards, needs, sum(map(weights.__getitem__, cards)), move)
    return sorted(found.values(), key=lambda group: -group.weight)


def _new_melds(
    hand: Sequence[Card], rules: Rules
) -> Iterator[tuple[tuple[Card, ...], LayMeld | LayOff]]:
    """The melds of a hand, without those where a joker stands for a card that is in it."""
    held = frozenset(hand)
    for form in islice(melds_in(hand, rules), _MOST_FORMS):
        named = form.named
        if held.isdisjoint(named):
            cards = form.cards
            yield cards, LayMeld(cards, named)


def _layoffs(
    sight: Sight, hand: Sequence[Card]
) -> Iterator[tuple[tuple[Card, ...], LayMeld | LayOff]]:
    """What fits the melds on the table: cards one at a time, and rows of them at a run's end."""
    rules = sight.rules
    if rules.layoffs == "none" or sight.view.deal is None:
        return
    for lying in sight.view.deal.melds:
        if rules.layoffs == "any" or lying.owner == sight.seat:
            meld = Meld(lying.id, lying.owner, lying.kind, lying.faces)
            for face in open_faces(meld, rules):
                row = _row(meld, face, hand, rules)
                for length in range(1, len(row) + 1):
                    named = (face,) if row[0] == JOKER else ()
                    yield tuple(row[:length]), LayOff(meld.id, (row[0],), named)


def _row(meld: Meld, face: Card, hand: Sequence[Card], rules: Rules) -> list[Card]:
    """The cards of the hand that can follow each other onto the meld, from that face outwards.

    Only the first of them may be a joker.
    """
    left, row = list(hand), list[Card]()
    card = face if face in left else JOKER
    while card in left:
        left.remove(card)
        row.append(card)
        if meld.kind == "set":
            break
        before = open_faces(meld, rules)
        below = RANK_OF[face] == RANK_OF[meld.faces[0]] - 1
        meld = replace(meld, faces=(face, *meld.faces) if below else (*meld.faces, face))
        card = face = next((new for new in open_faces(meld, rules) if new not in before), "")
    return row

"""What is a set, what is a run, what fits on a meld, and which card a joker stands for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise

from msgspec import Struct
from msgspec.structs import replace

from service.errors import DoesNotFit, JokerMisnamed, JokerUnclear, NotAMeld
from service.rummy.cards import JOKER, RANK_OF, RANKS, SUITS, Card, in_order
from service.rummy.model import Meld, MeldKind, cards_of, named_in
from service.rummy.rules import LONGEST_RUN, MIN_MELD, Rules
from service.text import Text, either, listed

_NINE = RANKS.index("9") + 1
_KING = len(RANKS)
_HIGH_ACE = _KING + 1


class Form(Struct, frozen=True):
    """Cards in the shape of a meld: `faces` in order, `jokers` the places where a joker lies."""

    kind: MeldKind
    faces: tuple[Card, ...]
    jokers: tuple[int, ...] = ()

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards themselves, jokers as jokers."""
        return cards_of(self.faces, self.jokers)

    @property
    def named(self) -> tuple[Card, ...]:
        """What each joker stands for, in order."""
        return named_in(self.faces, self.jokers)


def form(cards: Sequence[Card], named: Sequence[Card], rules: Rules) -> Form:
    """The new meld that `cards` make, its jokers standing for the `named` cards.

    Without `named` the jokers stand for the only cards that make a meld of it. Raises NotAMeld,
    JokerUnclear where more than one choice is possible, JokerMisnamed where the names do not match
    the jokers in number (common.4, common.5, jokers.1, jokers.2).
    """
    natural = [card for card in cards if card != JOKER]
    jokers = len(cards) - len(natural)
    if len(cards) < MIN_MELD:
        raise NotAMeld(
            Text("{cards}: a meld has at least {fewest} cards."),
            rule="common.4",
            cards=tuple(cards),
            fewest=MIN_MELD,
        )
    if not natural:
        raise NotAMeld(
            Text("{cards}: at least one card of a meld is not a joker."),
            rule="jokers.1",
            cards=tuple(cards),
        )
    stands_for = _stands_for(natural, jokers, named, rules, cards)
    found = _shape(natural, stands_for, rules) if stands_for is not None else None
    if found is None:
        faces = natural + list(stands_for or ())
        why = _why_no_meld(faces, len(cards) - len(faces), rules)
        raise NotAMeld(
            Text("{cards}: {reason}.").format(cards=tuple(cards), reason=why),
            rule=_clause_of(faces),
            cards=tuple(cards),
        )
    return found


def extended(meld: Meld, cards: Sequence[Card], named: Sequence[Card], rules: Rules) -> Meld:
    """The meld with `cards` laid off on it, all of them, its own unmoved (common.6, common.7).

    `named` as in `form`. Raises DoesNotFit, JokerUnclear, JokerMisnamed.
    """
    if not cards:
        raise DoesNotFit(Text("Name at least one card to lay off."), rule="common.7", meld=meld.id)
    natural = [card for card in cards if card != JOKER]
    jokers = len(cards) - len(natural)
    lying = list(meld.faces)
    stands_for = _stands_for(lying + natural, jokers, named, rules, cards, on=meld)
    if stands_for is not None:
        old = [(face, place in meld.jokers) for place, face in enumerate(meld.faces)]
        new = [(face, False) for face in natural] + [(face, True) for face in stands_for]
        found = _shape_of(old + new, rules, ace_is_high=_ends_in_ace(meld))
        if found is not None:
            return replace(meld, faces=found.faces, jokers=found.jokers)
    faces = lying + natural + list(stands_for or ())
    why = _why_no_meld(faces, len(lying) + len(cards) - len(faces), rules, on=meld.kind)
    raise DoesNotFit(
        Text("{cards} on {meld}: {reason}.").format(
            cards=tuple(cards), meld=meld.cards, reason=why
        ),
        rule=_clause_of(faces),
        meld=meld.id,
        cards=tuple(cards),
    )


def faces_for(card: Card, meld: Meld, rules: Rules) -> tuple[Card, ...]:
    """What `card` could be on the meld now: itself if it fits, a joker any card that fits."""
    faces = open_faces(meld, rules)
    if card == JOKER:
        return faces
    return (card,) if card in faces else ()


def namings(cards: Sequence[Card], rules: Rules, on: Meld | None = None) -> list[tuple[Card, ...]]:
    """Everything that the jokers among `cards` could stand for to fit together, and with that meld.

    One empty choice if there is no joker and they fit; a new meld may still have too few cards.
    """
    natural = [card for card in cards if card != JOKER]
    lying = on.faces if on is not None else ()
    return _possible([*lying, *natural], len(cards) - len(natural), rules, on)


def added_jokers(before: Meld, meld: Meld) -> tuple[Card, ...]:
    """What the jokers stand for that lie in `meld` and did not `before`."""
    return in_order((Counter(meld.named) - Counter(before.named)).elements())


def swapped(meld: Meld, card: Card) -> Meld | None:
    """The meld with the natural `card` in place of a joker that stands for it, if there is one."""
    for place in meld.jokers:
        if meld.faces[place] == card:
            return replace(meld, jokers=tuple(other for other in meld.jokers if other != place))
    return None


def open_faces(meld: Meld, rules: Rules) -> tuple[Card, ...]:
    """The cards that fit the meld now, one at a time; a joker could lie there for any of them."""
    if meld.kind == "set":
        return _open_in_set(meld.faces, rules.decks)
    return _open_in_run(meld.faces, _top(rules))


def melds_in(hand: Sequence[Card], rules: Rules) -> Iterator[Form]:
    """Every meld that cards of this hand can make, each once, those with few jokers first.

    Joker for joker and face for face: where a joker could stand for a card that is also in the
    hand, both are given. With many jokers there are a great many, so take no more than needed.
    """
    top = _top(rules)
    jokers = hand.count(JOKER)
    ranks = sum(map(_OF_RANK.__getitem__, hand))
    places = sum(map(_PLACES[top].__getitem__, set(hand)))
    for used in range(jokers + 1):
        # Two numbers tell of most hands that there is no meld in them, all ranks and suits at once.
        if often := _often(ranks, max(1, MIN_MELD - used)):
            for rank in dict.fromkeys([card[0] for card in hand if often & _OF_RANK[card] << 7]):
                counts = tuple([hand.count(rank + suit) for suit in SUITS])
                yield from _sets_of(rank, counts, used, rules.decks)
        if used or _in_a_row(places):
            for number, suit in enumerate(SUITS):
                yield from _runs_of(suit, places >> _LANE * number & _SUIT, used, top)


# ------------------------------------------------------------------------------- which shape


def _shape(natural: Sequence[Card], jokers: Sequence[Card], rules: Rules) -> Form | None:
    laid = [(face, False) for face in natural] + [(face, True) for face in jokers]
    return _shape_of(laid, rules, ace_is_high=False)


def _shape_of(laid: list[tuple[Card, bool]], rules: Rules, *, ace_is_high: bool) -> Form | None:
    """Faces (each with whether a joker shows it) in meld order, or None if they are no meld.

    `ace_is_high` says where the ace of a full run of thirteen lies.
    """
    faces = [face for face, _ in laid]
    if len({face[0] for face in faces}) == 1:
        if any(faces.count(face) > rules.decks for face in faces):
            return None
        return _form("set", sorted(laid))
    if len({face[1] for face in faces}) != 1 or len(set(faces)) != len(faces):
        return None
    for high in (ace_is_high, not ace_is_high):
        if high and rules.aces == "low":
            continue
        ranks = sorted(_place(face, high=high) for face in faces)
        if ranks[-1] - ranks[0] == len(ranks) - 1:
            return _form("run", sorted(laid, key=lambda card: _place(card[0], high=high)))
    return None


def _form(kind: MeldKind, laid: list[tuple[Card, bool]]) -> Form:
    jokers = tuple(place for place, (_, is_joker) in enumerate(laid) if is_joker)
    return Form(kind, tuple(face for face, _ in laid), jokers)


def _ends_in_ace(meld: Meld) -> bool:
    return meld.kind == "run" and RANK_OF[meld.faces[-1]] == 1


def _place(face: Card, *, high: bool) -> int:
    rank = RANK_OF[face]
    return _HIGH_ACE if high and rank == 1 else rank


def _face(place: int, suit: str) -> Card:
    return RANKS[(place - 1) % len(RANKS)] + suit


def _top(rules: Rules) -> int:
    """The highest place of a run: a king's, or that of an ace above it."""
    return _KING if rules.aces == "low" else _HIGH_ACE


# ---------------------------------------------------------------------------- what fits on a meld
# Each view and each list of moves asks about all melds on the table, which are the same for long.


@cache
def _open_in_set(faces: tuple[Card, ...], decks: int) -> tuple[Card, ...]:
    rank = faces[0][0]
    return tuple(rank + suit for suit in SUITS if faces.count(rank + suit) < decks)


@cache
def _open_in_run(faces: tuple[Card, ...], top: int) -> tuple[Card, ...]:
    if len(faces) >= LONGEST_RUN:
        return ()
    suit = faces[0][1]
    low, high = RANK_OF[faces[0]], RANK_OF[faces[-1]]
    if high == 1:
        high = _HIGH_ACE
    ends = (_face(place, suit) for place in (low - 1, high + 1) if 1 <= place <= top)
    return tuple(dict.fromkeys(ends))


# ------------------------------------------------------------------ what the jokers stand for


def _stands_for(
    fixed: Sequence[Card],
    jokers: int,
    named: Sequence[Card],
    rules: Rules,
    cards: Sequence[Card],
    on: Meld | None = None,
) -> Sequence[Card] | None:
    """The faces that the jokers get: the named ones, or the only possible ones, if any.

    `fixed` are the faces that are certain. A joker named as a joker or in a wrong number raises
    JokerMisnamed; more than one possibility raises JokerUnclear (jokers.2).
    """
    if named:
        if len(named) != jokers or JOKER in named:
            raise JokerMisnamed(
                Text(
                    "{cards}: `jokers` names {jokers}; it takes one natural card for each joker, "
                    "and the number of jokers is {needed}."
                ),
                rule="jokers.2",
                cards=tuple(cards),
                jokers=tuple(named),
                needed=jokers,
            )
        return named
    if not jokers:
        return ()
    possible = _possible(fixed, jokers, rules, on)
    if len(possible) > 1:
        choices = tuple(" ".join(choice) for choice in possible)
        detail = (
            Text("{cards}: the joker could stand for {choices}; say which in `jokers`.")
            if jokers == 1
            else Text("{cards}: the jokers could stand for {choices}; say which in `jokers`.")
        )
        raise JokerUnclear(
            detail.format(cards=tuple(cards), choices=either(choices)),
            rule="jokers.2",
            cards=tuple(cards),
            choices=choices,
        )
    return possible[0] if possible else None


def _possible(
    fixed: Sequence[Card], jokers: int, rules: Rules, on: Meld | None
) -> list[tuple[Card, ...]]:
    """Every choice of faces for so many jokers that makes a meld with the `fixed` faces."""
    found: list[tuple[Card, ...]] = []
    ranks = {face[0] for face in fixed}
    suits = {face[1] for face in fixed}
    if len(ranks) == 1 and (on is None or on.kind == "set"):
        rank = ranks.pop()
        for choice in combinations_with_replacement([rank + suit for suit in SUITS], jokers):
            faces = [*fixed, *choice]
            if all(faces.count(face) <= rules.decks for face in faces):
                found.append(choice)
    length = len(fixed) + jokers
    if len(suits) == 1 and (on is None or on.kind == "run") and length <= LONGEST_RUN:
        suit = suits.pop()
        needed = set(fixed)
        for start in range(1, _top(rules) - length + 2):
            window = [_face(place, suit) for place in range(start, start + length)]
            missing = in_order(face for face in window if face not in needed)
            if len(missing) == jokers and len(needed) == len(fixed) and missing not in found:
                found.append(missing)
    return found


# ------------------------------------------------------------------------ all melds of a hand
# A hand is two numbers here. The one has a byte for each rank, which counts its natural cards. The
# other has a lane of 16 bits for each suit, in which bit n is set if the card of place n is held;
# bits 0 and 15 stay free, so that nothing is shifted from one suit into a run of the next.

_LANE = 16
_SUIT = (1 << _LANE) - 1

_OF_RANK = {JOKER: 0} | {card: 1 << 8 * (rank - 1) for card, rank in RANK_OF.items()}
_ALL_RANKS = sum(1 << 8 * place for place in range(len(RANKS)))


def _places(top: int) -> dict[Card, int]:
    """The places of each card in a run, an ace's on both sides if the highest is above a king."""
    places = {JOKER: 0}
    for card, rank in RANK_OF.items():
        both = 1 << rank | (rank == 1 and top == _HIGH_ACE) << _HIGH_ACE
        places[card] = both << _LANE * SUITS.index(card[1])
    return places


_PLACES = {top: _places(top) for top in (_KING, _HIGH_ACE)}


def _often(ranks: int, times: int) -> int:
    """The highest bit of each byte whose rank has at least so many natural cards.

    With what they lack of 128 added, those come to 128 or more, but no byte to 256: of two decks a
    hand has eight cards of a rank at the most.
    """
    return ranks + _ALL_RANKS * (128 - times) & _ALL_RANKS << 7


def _in_a_row(places: int) -> int:
    """The places that three cards in a row begin at, where there are any."""
    return places & places >> 1 & places >> 2


def _sets_of(rank: str, counts: tuple[int, ...], jokers: int, decks: int) -> Iterable[Form]:
    """The sets of a rank with exactly so many jokers; `counts` are the natural cards by suit."""
    if sum(counts) + jokers < MIN_MELD:
        return ()
    return _sets(rank, counts, jokers, decks) if jokers else _natural_sets(rank, counts, decks)


@cache
def _natural_sets(rank: str, counts: tuple[int, ...], decks: int) -> tuple[Form, ...]:
    """The sets without jokers: few, and the same ones are asked for again and again."""
    return tuple(_sets(rank, counts, 0, decks))


def _sets(rank: str, counts: tuple[int, ...], jokers: int, decks: int) -> Iterator[Form]:
    for suits, places in _set_shapes(counts, jokers, decks):
        yield Form("set", tuple([rank + suit for suit in suits]), places)


@cache
def _set_shapes(
    counts: tuple[int, ...], jokers: int, decks: int
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Every set of one rank with exactly so many jokers: the suits, and the places of the jokers.

    `counts` are the natural cards held by suit. There are few different arguments, so each is
    worked out once.
    """
    shapes: list[tuple[str, tuple[int, ...]]] = [("", ())]
    for suit, count in zip(SUITS, counts, strict=True):
        shapes = [
            (first + suit * wild, (*places, *range(len(first), len(first) + wild)))
            for suits, places in shapes
            for first in (suits + suit * natural for natural in range(min(count, decks) + 1))
            for wild in range(min(jokers - len(places), decks - first.count(suit)) + 1)
        ]
    return tuple(
        (suits, places)
        for suits, places in shapes
        if len(suits) >= MIN_MELD and len(places) == jokers and len(suits) > jokers
    )


def _runs_of(suit: str, held: int, jokers: int, top: int) -> Iterable[Form]:
    """The runs of a suit with exactly so many jokers; in `held` bit n is set if place n is held."""
    if jokers:
        return _runs(suit, held, jokers, top) if held else ()
    starts = _in_a_row(held)
    return _natural_runs(suit, starts | starts << 1 | starts << 2, top) if starts else ()


@cache
def _natural_runs(suit: str, held: int, top: int) -> tuple[Form, ...]:
    """The runs without jokers: few, where only cards are `held` that are three in a row."""
    return tuple(_runs(suit, held, 0, top))


def _runs(suit: str, held: int, jokers: int, top: int) -> Iterator[Form]:
    """The runs of a suit, by where they start and then by length.

    A stretch has at least the gaps of the shorter ones from the same start, so each start is left
    as soon as there are more gaps than jokers. All thirteen cards are one run, its ace first: with
    the ace last it would be the same cards.
    """
    for start in range(1, top - MIN_MELD + 2):
        longest = LONGEST_RUN if start == 1 else LONGEST_RUN - 1
        for end in range(start + MIN_MELD, min(top + 1, start + longest) + 1):
            length = end - start
            gaps = length - (held >> start & (1 << length) - 1).bit_count()
            if gaps > jokers:
                break
            if jokers < length:
                yield from _run_shapes(held, start, end, jokers - gaps, suit)


def _run_shapes(held: int, start: int, end: int, spare: int, suit: str) -> Iterator[Form]:
    """The runs of one stretch: jokers in its gaps, and `spare` more in place of cards held."""
    faces = _stretch(suit, start, end)
    gaps = tuple([place - start for place in range(start, end) if not held >> place & 1])
    if not spare:
        yield Form("run", faces, gaps)
        return
    natural = [place - start for place in range(start, end) if held >> place & 1]
    for more in combinations(natural, spare):
        yield Form("run", faces, tuple(sorted((*gaps, *more))))


@cache
def _stretch(suit: str, start: int, end: int) -> tuple[Card, ...]:
    """The cards of a suit from the place `start` to before `end`."""
    return tuple(_face(place, suit) for place in range(start, end))


# -------------------------------------------------------------------------------- explaining


def _why_no_meld(
    faces: Sequence[Card], jokers: int, rules: Rules, on: MeldKind | None = None
) -> Text:
    """Why these faces are neither a set nor a run, for a person to read.

    Where cards are laid on a meld, its own faces come first and it is `on` that kind of meld.
    `jokers` is the number of jokers more, which can stand for no card.
    """
    rank, suit = (faces[0][0], faces[0][1]) if on else (_commonest(faces, 0), _commonest(faces, 1))
    other_rank = tuple(face for face in faces if face[0] != rank)
    other_suit = tuple(face for face in faces if face[1] != suit)
    if not other_rank:
        return _about_sets(faces, rules)
    if not other_suit:
        return _about_runs(faces, jokers, rules)
    several = len(faces) > 2
    set_wanted = on == "set" if on else several and len(other_rank) == 1
    run_wanted = on == "run" if on else several and len(other_suit) == 1 and _close(faces, jokers)
    if set_wanted and not run_wanted:
        return Text("the rank of {odd} does not fit into a set with {rest}").format(
            odd=other_rank, rest=tuple(face for face in faces if face[0] == rank)
        )
    if run_wanted and not set_wanted:
        return Text("the suit of {odd} does not fit into a run with {rest}").format(
            odd=other_suit, rest=tuple(face for face in faces if face[1] == suit)
        )
    return Text("the cards have neither the same rank (a set) nor the same suit (a run)")


def _about_sets(faces: Sequence[Card], rules: Rules) -> Text:
    """Why these faces, all of one rank, are no set."""
    too_often = next((face for face in faces if faces.count(face) > rules.decks), None)
    if too_often is None:
        return Text("a set has at most {most} cards at this table, jokers included").format(
            most=rules.fullest_set
        )
    if rules.decks == 1:
        return Text(
            "a set in one deck has each suit once, jokers included, and {card} is there more often"
        ).format(card=too_often)
    return Text(
        "a set in two decks has each suit at most twice, jokers included, and {card} is there "
        "more often"
    ).format(card=too_often)


def _about_runs(faces: Sequence[Card], jokers: int, rules: Rules) -> Text:
    """Why these faces, all of one suit, are no run."""
    twice = next((face for face in faces if faces.count(face) > 1), None)
    if twice:
        return Text("a run has each card once, and {card} is there more often").format(card=twice)
    ranks = {face[0] for face in faces}
    if {"K", "A", "2"} <= ranks and len(ranks) < len(RANKS):
        return Text("{aces}; a run does not go round the corner").format(aces=_about_aces(rules))
    gaps = _gaps(faces, rules)
    if any(lower == 1 and upper > _NINE for lower, upper in gaps) and rules.aces == "low":
        return _about_aces(rules)
    missing = [place for lower, upper in gaps for place in range(lower + 1, upper)]
    if len(missing) > jokers > 0:
        return Text("{missing} are missing, more than the jokers can stand for").format(
            missing=_ranks(missing)
        )
    if missing and not jokers:
        return listed([_about_gap(lower, upper) for lower, upper in gaps])
    return Text("the jokers can stand for no cards that would make a meld of it")


def _about_gap(lower: int, upper: int) -> Text:
    missing = _ranks(range(lower + 1, upper))
    detail = (
        Text("the {missing} is missing between {lower} and {upper}")
        if len(missing) == 1
        else Text("{missing} are missing between {lower} and {upper}")
    )
    (below, above) = _ranks((lower, upper))
    return detail.format(missing=missing, lower=below, upper=above)


def _about_aces(rules: Rules) -> Text:
    if rules.aces == "low":
        return Text("aces are low, so nothing follows a king")
    return Text("a run uses an ace at one end only, and an ace is next to a 2 or a king")


def _gaps(faces: Sequence[Card], rules: Rules) -> list[tuple[int, int]]:
    """The places on both sides of each gap, an ace where it makes the gaps smaller."""
    highs = (False,) if rules.aces == "low" else (False, True)
    places = min(
        (sorted(_place(face, high=high) for face in faces) for high in highs),
        key=lambda places: places[-1] - places[0],
    )
    return [(lower, upper) for lower, upper in pairwise(places) if upper - lower > 1]


def _close(faces: Sequence[Card], jokers: int) -> bool:
    """Whether the faces would be a run if they were of one suit."""
    places = {RANK_OF[face] for face in faces}
    together = max(places) - min(places) < len(faces) + jokers
    return together and len(places) == len(faces)


def _commonest(faces: Sequence[Card], part: int) -> str:
    """The rank (part 0) or suit (part 1) that most of the faces have."""
    ((found, _),) = Counter(face[part] for face in faces).most_common(1)
    return found


def _ranks(places: Iterable[int]) -> tuple[str, ...]:
    """The ranks of these places as people write them."""
    ranks = (RANKS[(place - 1) % len(RANKS)] for place in places)
    return tuple("10" if rank == "T" else rank for rank in ranks)


def _clause_of(faces: Sequence[Card]) -> str:
    """common.5 is about sets, common.4 about all the rest."""
    return "common.5" if len({face[0] for face in faces}) == 1 else "common.4"

"""Positions written as text, for tests that read like the rule book.

    match = position("straight", hands="5C 5D KH | 2S 3S", upcard="9D", melds="0: 7C 7D 7H")

Seat 0 is to move. Cards not named anywhere lie in the stock, so that every position is a whole pack.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from service.rummy.cards import JOKER, Card, in_order, pack, parse_card
from service.rummy.engine import apply
from service.rummy.melds import form
from service.rummy.model import CallWindow, Deal, Event, Match, Meld, Move
from service.rummy.rules import OptionValue, Rules, agree

NOW = 1_000_000


def cards(text: str) -> tuple[Card, ...]:
    """The cards of a text such as "5C 5D JK"."""
    return tuple(parse_card(word) for word in text.split())


def position(
    variant: str = "straight",
    *,
    hands: str,
    pile: str = "",
    stock: str | None = None,
    melds: str = "",
    phase: str = "play",
    turn: int = 0,
    taken: str | None = None,
    window: CallWindow | None = None,
    totals: Sequence[int] | None = None,
    number: int = 1,
    turns: int = 0,
    turnovers: int = 0,
    **options: OptionValue,
) -> Match:
    """A match in the middle of a deal.

    `hands`: one for each seat, between bars. `pile`: oldest first, the upcard last. `stock`: next
    card first; left out, it is all the rest of the pack. `melds`: "0: 7C 7D 7H; 1: 3S JK=4S 5S",
    the owner before the colon. `taken`: the upcard taken this turn, where it may not be discarded.
    The match is one deal unless `deals` or `target` says otherwise.
    """
    held = tuple(in_order(cards(hand)) for hand in hands.split("|"))
    if "target" not in options:
        options.setdefault("deals", 1)
    rules = agree(variant, len(held), options)
    table = tuple(_meld(place, text, rules) for place, text in enumerate(_split(melds), 1))
    discards = cards(pile)
    seen = [card for hand in held for card in hand]
    seen += [card for meld in table for card in meld.cards] + list(discards)
    rest = Counter(pack(rules.decks, rules.jokers))
    rest.subtract(seen)
    assert min(rest.values()) >= 0, "more of a card than the pack has"
    return Match(
        rules=rules,
        seed="position",
        totals=tuple(totals or (0,) * rules.players),
        deal=Deal(
            number=number,
            dealer=(turn - 1) % rules.players,
            hands=held,
            stock=in_order(rest.elements()) if stock is None else cards(stock),
            pile=discards,
            turn=turn,
            phase="draw" if phase == "draw" else "play",
            melds=table,
            turns=turns,
            turnovers=turnovers,
            taken=taken,
            window=window,
        ),
    )


def play(match: Match, *moves: Move, seat: int | None = None, now: int = NOW) -> Match:
    """The match after the moves, each by the seat whose turn it is (or by `seat`)."""
    for move in moves:
        match, _ = step(match, move, seat=seat, now=now)
    return match


def step(
    match: Match, move: Move, *, seat: int | None = None, now: int = NOW
) -> tuple[Match, tuple[Event, ...]]:
    """The match after one move, and its events."""
    assert match.deal is not None
    return apply(match, match.deal.turn if seat is None else seat, move, now)


def deal_of(match: Match) -> Deal:
    """The deal being played."""
    assert match.deal is not None
    return match.deal


def hand_of(match: Match, seat: int = 0) -> str:
    """A hand as text."""
    return " ".join(deal_of(match).hands[seat])


def on_table(match: Match, number: int) -> str:
    """A meld as text, jokers with what they stand for: "4H JK=5H 6H"."""
    meld = deal_of(match).melds[number - 1]
    return " ".join(
        card if card != JOKER else f"{JOKER}={face}"
        for card, face in zip(meld.cards, meld.faces, strict=True)
    )


def with_deal(match: Match, **changes: object) -> Match:
    """The match with something changed in its deal."""
    return replace(match, deal=replace(deal_of(match), **changes))


def _meld(number: int, text: str, rules: Rules) -> Meld:
    owner, _, names = text.partition(":")
    words = [word.partition("=") for word in names.split()]
    named = [face for _, _, face in words if face]
    shape = form(cards(" ".join(word for word, _, _ in words)), cards(" ".join(named)), rules)
    return Meld(number, int(owner), shape.kind, shape.faces, shape.jokers)


def _split(text: str) -> list[str]:
    return [part for part in text.split(";") if part.strip()]

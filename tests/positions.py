"""Positions written as text, for tests that read like the rule book.

    match = position("straight", hands="5C 5D KH | 2S 3S", pile="9D", melds="0: 7C 7D 7H")
    match = after(match, "layoff 1 7S", "discard KH")

Seat 0 is to move. Cards not named anywhere lie in the stock, so that every position is a whole
pack.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from service.errors import Refused
from service.rummy.cards import JOKER, Card, in_order, pack, parse_card
from service.rummy.discards import turned_up
from service.rummy.engine import apply
from service.rummy.legal import legal_moves
from service.rummy.melds import form
from service.rummy.model import (
    Call,
    CallWindow,
    Deal,
    Discard,
    Draw,
    Event,
    LayMeld,
    LayOff,
    Match,
    Meld,
    Move,
    Swap,
)
from service.rummy.rules import OptionValue, Rules, agree

NOW = 1_000_000


CALLABLE: dict[str, object] = {
    "variant": "call-rummy",
    "phase": "draw",
    "turn": 1,
    "hands": "KD QD | 2S 3S | TS 9S",
    "pile": "2C 8C",
    "melds": "0: 8D 8H 8S",
}
"""Seat 0 has discarded 8C, which fits its own meld; seat 1 is to draw. The `window` says until when
it can be called."""


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
    turned_over: int = 0,
    **options: OptionValue,
) -> Match:
    """A match in the middle of a deal.

    `hands`: one for each seat, between bars. `pile`: oldest first, the upcard last. `stock`: next
    card first; left out, it is all the rest of the pack. `melds`: "0: 7C 7D 7H; 1: 3S JK=4S 5S",
    the owner before the colon. `taken`: the upcard taken this turn, where it may not be discarded.
    `turns`, `turned_over`: how many turns and turnovers the deal has had.
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
            turnovers=turned_over,
            taken=taken,
            window=window,
            discards=turned_up(discards),
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
    return apply(match, deal_of(match).turn if seat is None else seat, move, now)


def move(text: str) -> Move:
    """The move of a text: "draw", "take", "take 9D" (if that is still the upcard), "discard KH",
    "meld 5C JK=6C 7C", "layoff 1 8C" (on meld 1), "swap 1 6C", "rummy 1" or "rummy 1 JK=4C".

    A plain JK leaves out what the joker stands for.
    """
    verb, *words = text.split()
    number = int(words.pop(0)) if verb in {"layoff", "swap", "rummy"} else 0
    played = cards(" ".join(word.partition("=")[0] for word in words))
    named = cards(" ".join(word.partition("=")[2] for word in words))
    match verb:
        case "draw":
            return Draw("stock")
        case "take":
            return Draw("discard", *played)
        case "discard":
            return Discard(*played)
        case "meld":
            return LayMeld(played, named)
        case "layoff":
            return LayOff(number, played, named)
        case "swap":
            return Swap(number, *played)
        case "rummy":
            return Call(number, named)
    raise ValueError(text)


def after(match: Match, *texts: str, seat: int | None = None, now: int = NOW) -> Match:
    """The match after moves written as text, each by the seat whose turn it is (or by `seat`)."""
    return play(match, *(move(text) for text in texts), seat=seat, now=now)


def refusal(
    match: Match,
    text: str | Move,
    error: type[Refused],
    rule: str,
    *,
    seat: int | None = None,
    now: int = NOW,
) -> Refused:
    """The refusal of a move: that error, by that clause, nothing changed, and play can go on."""
    before = msgspec.json.encode(match)
    with pytest.raises(Refused) as caught:
        step(match, move(text) if isinstance(text, str) else text, seat=seat, now=now)
    assert (type(caught.value), caught.value.rule) == (error, rule), caught.value.detail
    assert caught.value.code == error.code
    assert msgspec.json.encode(match) == before
    if match.deal is not None:
        seats = range(match.rules.players)
        assert any(next(legal_moves(match, who, now), None) for who in seats)
    return caught.value


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

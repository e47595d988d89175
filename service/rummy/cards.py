"""Cards are strings of two characters, rank then suit: `AS TH 9C KD`; a joker is `JK`."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from service.errors import BadCard
from service.text import Text

Card = Annotated[
    str,
    Meta(
        title="Card",
        description="A card: rank (A23456789TJQK) then suit (CDHS), or JK for a joker.",
        extra_json_schema={"pattern": "^([A23456789TJQK][CDHS]|JK)$", "examples": ["9C"]},
    ),
]
"""A card as text. The pattern is for the contract; cards are checked where they come in."""

JOKER: Card = "JK"
RANKS = "A23456789TJQK"
SUITS = "CDHS"
FACES: tuple[Card, ...] = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""The 52 natural cards, suit by suit, ace first."""

ORDER: dict[Card, int] = {card: place for place, card in enumerate((*FACES, JOKER))}
"""Where a card stands in a sorted hand; its keys are all the cards there are."""

RANK_OF: dict[Card, int] = {face: RANKS.index(face[0]) + 1 for face in FACES}
"""1 for an ace up to 13 for a king."""

_COURT_POINTS = 10
_LOCAL_RANKS = {"E": "A", "ES": "A", "KN": "J", "B": "J", "D": "Q", "10": "T", "1": "A"}
_SUIT_SIGNS = {"♣": "C", "♦": "D", "♥": "H", "♠": "S"}


def parse_card(text: object) -> Card:
    """Return `text` if it is a card as the service writes cards.

    Raises BadCard otherwise, with the right spelling where one can be guessed.
    """
    if isinstance(text, str) and text in ORDER:
        return text
    guess = _guess(text) if isinstance(text, str) else None
    shown = repr(text)[:24]
    raise BadCard(
        Text(
            "{value} is not a card; cards are two characters, rank then suit, such as AS TH 9C KD, "
            "and JK for a joker. Did you mean {hint}?"
        )
        if guess
        else Text(
            "{value} is not a card; cards are two characters, rank then suit, such as AS TH 9C KD, "
            "and JK for a joker."
        ),
        value=shown,
        hint=guess,
    )


def pack(decks: int, jokers: int) -> tuple[Card, ...]:
    """All cards of a pack of `decks` times 52 cards and `jokers` jokers, in a fixed order."""
    return FACES * decks + (JOKER,) * jokers


def points(card: Card, ace: int, joker: int) -> int:
    """What a card left in hand counts, given the points of an ace and a joker (common.9)."""
    if card == JOKER:
        return joker
    rank = RANK_OF[card]
    return ace if rank == 1 else min(rank, _COURT_POINTS)


def in_order(cards: Iterable[Card]) -> tuple[Card, ...]:
    """The cards sorted as a hand is held: by suit, then rank, jokers last."""
    return tuple(sorted(cards, key=ORDER.__getitem__))


def without(hand: tuple[Card, ...], cards: Iterable[Card]) -> tuple[Card, ...]:
    """The hand less one copy of each of `cards`; each must be there (ValueError if not)."""
    rest = list(hand)
    for card in cards:
        rest.remove(card)
    return tuple(rest)


def _guess(text: str) -> Card | None:
    """The card that somebody with another notation probably means, or None."""
    plain = "".join(_SUIT_SIGNS.get(sign, sign) for sign in text.strip().upper()[:8])
    if plain in {"JOKER", "JKR", "X", "*"}:
        return JOKER
    for rank, suit in ((plain[:-1], plain[-1:]), (plain[1:], plain[:1])):
        card = _LOCAL_RANKS.get(rank, rank) + suit
        if card in ORDER:
            return card
    return None

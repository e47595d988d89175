"""All that came onto the discard pile in a deal, with what became of it, as one short text.

The text is read only where somebody asks what was thrown, so that a deal of a thousand turns is
loaded and stored as fast as one of ten.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

from msgspec import Struct

from service.rummy.cards import Card

Gone = Literal["taken", "called", "turned_over"]

_LETTERS: dict[Gone, str] = {"taken": "t", "called": "c", "turned_over": "o"}
_GONE = {letter: gone for gone, letter in _LETTERS.items()}

_NOBODY = "-"
_LIES = ".."
_SIZE = 5


class Thrown(Struct, frozen=True, array_like=True):
    """A card that came onto the discard pile, and what everybody saw become of it.

    `seat` discarded it; None: it was turned up, at the deal or by a turnover, or that is not known
    of a deal of before this was kept. `gone` is how it left the pile, None while it lies there;
    `by` who took it up or called it.
    """

    seat: int | None
    card: Card
    gone: Gone | None = None
    by: int | None = None


class Discards(Struct, frozen=True, array_like=True):
    """The discards of a deal, in order.

    `text` has five characters for each: the seat that discarded it or `-`; the card; then `..`
    while it lies on the pile, `t2` or `c2` if seat 2 took or called it, `o.` if it was turned over.
    """

    text: str = ""

    def with_card(self, card: Card, seat: int | None = None) -> "Discards":
        """After the seat has discarded the card; None: it was turned up."""
        return Discards(f"{self.text}{_digit(seat)}{card}{_LIES}")

    def without_upcard(self, gone: Gone, by: int) -> "Discards":
        """After the upcard has left the pile. Of a pile that is not known nothing is told."""
        before, lies, after = self.text.rpartition(_LIES)
        return Discards(f"{before}{_LETTERS[gone]}{by}{after}") if lies else self

    def turned_over(self, *, upcard_stays: bool) -> "Discards":
        """After the pile has become the stock, all of it or all but the upcard."""
        turned = self.text.rpartition(_LIES)[0] if upcard_stays else self.text
        gone = turned.replace(_LIES, f"{_LETTERS['turned_over']}.")
        return Discards(gone + self.text[len(turned) :])

    def in_order(self) -> tuple[Thrown, ...]:
        """Each of them, the oldest first."""
        text = self.text
        return tuple([_read(text[at : at + _SIZE]) for at in range(0, len(text), _SIZE)])

    def latest_first(self) -> Iterator[Thrown]:
        """Each of them, read one after another."""
        text = self.text
        return (_read(text[at - _SIZE : at]) for at in range(len(text), 0, -_SIZE))


def turned_up(pile: Iterable[Card]) -> Discards:
    """A pile of which it is not known who threw its cards, or that nobody did."""
    return written(Thrown(None, card) for card in pile)


def written(thrown: Iterable[Thrown]) -> Discards:
    """These discards as the text that says the same."""
    return Discards("".join(map(_entry, thrown)))


# There are not many different ones, and each is asked for again and again.


@cache
def _read(entry: str) -> Thrown:
    seat, card, gone, by = entry[0], entry[1:3], entry[3], entry[4]
    return Thrown(
        None if seat == _NOBODY else int(seat),
        card,
        _GONE.get(gone),
        None if by == "." else int(by),
    )


@cache
def _entry(thrown: Thrown) -> str:
    how = _LETTERS[thrown.gone] if thrown.gone else "."
    return f"{_digit(thrown.seat)}{thrown.card}{how}{'.' if thrown.by is None else thrown.by}"


def _digit(seat: int | None) -> str:
    return _NOBODY if seat is None else str(seat)

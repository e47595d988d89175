"""Chance from a seed: HMAC-SHA256 as a counter-mode stream, and an unbiased Fisher–Yates shuffle.

Independent of Python's `random`, so that the same seed gives the same cards in every version.
"""

import hmac
from collections.abc import Iterator, Sequence

from service.rummy.cards import Card

_WORD = 2**32


def shuffled(cards: Sequence[Card], seed: str, label: str) -> tuple[Card, ...]:
    """The cards in the order that `seed` gives for the occasion `label`; the first is on top."""
    words = _words(seed, label)
    order = list(cards)
    for place in range(len(order) - 1, 0, -1):
        other = _below(place + 1, words)
        order[place], order[other] = order[other], order[place]
    return tuple(order)


def lot(bound: int, seed: str, label: str) -> int:
    """A number from 0 to `bound` - 1, each equally likely, that `seed` gives for `label`."""
    return _below(bound, _words(seed, label))


def _words(seed: str, label: str) -> Iterator[int]:
    """Numbers of 32 bits: block i is HMAC(seed, label, NUL, i as 4 bytes), read big-endian."""
    counter = 0
    while True:
        message = label.encode() + b"\0" + counter.to_bytes(4, "big")
        block = hmac.digest(seed.encode(), message, "sha256")
        for start in range(0, len(block), 4):
            yield int.from_bytes(block[start : start + 4], "big")
        counter += 1


def _below(bound: int, words: Iterator[int]) -> int:
    """The next number below `bound`; words past the last whole multiple of it are skipped."""
    limit = _WORD - _WORD % bound
    return next(word for word in words if word < limit) % bound

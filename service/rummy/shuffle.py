"""Chance that can be proved: a seed that is committed to, and an unbiased shuffle made of it.

The shuffle is called `rummy-shuffle-1`; docs/fairness.md says exactly how it works, with test
vectors, and examples/verify.mjs is a second implementation. It owes nothing to Python's `random`
and stays as it is in all versions: another one would get another name.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from service.rummy.cards import Card

SHUFFLE = "rummy-shuffle-1"
"""The name of the shuffle, which goes into every commitment and key."""

DEALER = "dealer"
CARDS = "cards"
"""Labels of what is drawn for a deal: the first dealer's lot, and the order of the cards."""

_WORD = 2**32


class Secret(Struct, frozen=True):
    """What the chance of one deal comes from: 64 and 32 hexadecimal digits.

    Hidden until the deal has ended.
    """

    seed: str
    nonce: str


def secret_of(seed: str, deal: int) -> Secret:
    """The secret of a deal of the match that has this seed.

    The other way does not go: who is shown the secret of a deal learns nothing about the others.
    """

    def derived(what: str) -> str:
        return hmac.digest(seed.encode(), f"deal {deal} {what}".encode(), "sha256").hex()

    return Secret(derived("seed"), derived("nonce")[:32])


def commitment(secret: Secret, game: str, deal: int) -> str:
    """What the secret is fixed by before the deal: 64 hexadecimal digits.

    SHA-256 of the lines: the shuffle's name, the game's id, the deal's number, nonce, seed; each
    with a line feed behind it.
    """
    lines = (SHUFFLE, game, deal, secret.nonce, secret.seed)
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


@lru_cache(maxsize=4096)  # they are part of every view of a game
def committed(seed: str, game: str, deal: int) -> str:
    """The commitment to the secret of that deal, in the match that has this seed."""
    return commitment(secret_of(seed, deal), game, deal)


def key_of(seed: str, entropy: Sequence[str]) -> bytes:
    """The key of the chance of a deal: 32 bytes.

    HMAC-SHA256, keyed by the seed's digits, of the lines: the shuffle's name, then for each seat
    that added entropy its number, a space and the entropy. `entropy` is by seat, empty for none.
    """
    lines = [SHUFFLE, *(f"{seat} {added}" for seat, added in enumerate(entropy) if added)]
    text = "".join(f"{line}\n" for line in lines)
    return hmac.digest(seed.encode(), text.encode(), "sha256")


def turnover_label(number: int) -> str:
    """The label of the reshuffle of the deal's turnover with that number, from 1."""
    return f"turnover {number}"


def shuffled(cards: Sequence[Card], key: bytes, label: str) -> tuple[Card, ...]:
    """The cards in the order that `key` gives for the occasion `label`; the first is on top."""
    words = _words(key, label)
    order = list(cards)
    for place in range(len(order) - 1, 0, -1):
        other = _below(place + 1, words)
        order[place], order[other] = order[other], order[place]
    return tuple(order)


def lot(bound: int, key: bytes, label: str) -> int:
    """A number from 0 to `bound` - 1, each equally likely, that `key` gives for `label`."""
    return _below(bound, _words(key, label))


def _words(key: bytes, label: str) -> Iterator[int]:
    """Numbers of 32 bits: block i is HMAC(key, label, NUL, i as 4 bytes), read big-endian."""
    counter = 0
    while True:
        message = label.encode() + b"\0" + counter.to_bytes(4, "big")
        block = hmac.digest(key, message, "sha256")
        for start in range(0, len(block), 4):
            yield int.from_bytes(block[start : start + 4], "big")
        counter += 1


def _below(bound: int, words: Iterator[int]) -> int:
    """The next number below `bound`; words past the last whole multiple of it are skipped."""
    limit = _WORD - _WORD % bound
    return next(word for word in words if word < limit) % bound

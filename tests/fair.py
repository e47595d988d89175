"""Another writing of docs/fairness.md, from that page alone, to hold the service's own against."""

import hashlib
import hmac
import struct
from collections.abc import Iterator, Sequence
from itertools import count

RANKS, SUITS = "A23456789TJQK", "CDHS"
DECK = [rank + suit for suit in SUITS for rank in RANKS]


def secret(match_seed: str, deal: int) -> tuple[str, str]:
    """Seed and nonce of a deal, from the seed of a practice table."""
    seed, nonce = (_hmac(match_seed.encode(), f"deal {deal} {what}") for what in ("seed", "nonce"))
    return seed.hex(), nonce[:16].hex()


def commitment(game: str, deal: int, nonce: str, seed: str) -> str:
    text = f"rummy-shuffle-1\n{game}\n{deal}\n{nonce}\n{seed}\n"
    return hashlib.sha256(text.encode()).hexdigest()


def key(seed: str, entropy: Sequence[str]) -> bytes:
    text = "rummy-shuffle-1\n"
    for seat, added in enumerate(entropy):
        if added:
            text += f"{seat} {added}\n"
    return _hmac(seed.encode(), text)


def stream(key: bytes, label: str) -> Iterator[int]:
    for block in count():
        message = label.encode() + b"\x00" + struct.pack(">I", block)
        yield from struct.unpack(">8I", hmac.new(key, message, hashlib.sha256).digest())


def below(bound: int, words: Iterator[int]) -> int:
    usable = 2**32 // bound * bound
    word = next(words)
    while word >= usable:
        word = next(words)
    return word % bound


def lot(key: bytes, label: str, bound: int) -> int:
    return below(bound, stream(key, label))


def shuffled(key: bytes, label: str, cards: Sequence[str]) -> list[str]:
    words, order = stream(key, label), list(cards)
    for place in reversed(range(1, len(order))):
        other = below(place + 1, words)
        order[place], order[other] = order[other], order[place]
    return order


def pack(decks: int, jokers: int) -> list[str]:
    return DECK * decks + ["JK"] * jokers


def in_order(cards: Sequence[str]) -> list[str]:
    return sorted(cards, key=[*DECK, "JK"].index)


def turned_over(key: bytes, number: int, cards: Sequence[str]) -> list[str]:
    return shuffled(key, f"turnover {number}", in_order(cards))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()

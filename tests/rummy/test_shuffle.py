"""Chance from a seed: the same everywhere, and fair."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import service
from service.rummy.cards import pack
from service.rummy.engine import abandon, new_match
from service.rummy.model import Committed, Revealed
from service.rummy.rules import agree
from service.rummy.shuffle import (
    CARDS,
    DEALER,
    SHUFFLE,
    Secret,
    commitment,
    key_of,
    lot,
    secret_of,
    shuffled,
    turnover_label,
)
from tests.positions import cards, deal_of

KEY = bytes(range(32))


def key(text: object) -> bytes:
    return key_of(f"{text}", ())


@pytest.mark.parametrize("size", [0, 1])
def test_nothing_and_one_card_are_shuffled_already(size: int) -> None:
    assert shuffled(cards("9C KD")[:size], KEY, "any") == cards("9C KD")[:size]


def test_every_card_comes_to_every_place_equally_often() -> None:
    rounds = 2600
    places = Counter(
        place_and_card
        for number in range(rounds)
        for place_and_card in enumerate(shuffled(pack(1, 0), key(number), CARDS))
    )
    expected = rounds / 52
    chi_square = sum((places[place, card] - expected) ** 2 / expected
                     for place in range(52) for card in pack(1, 0))  # fmt: skip
    # 51 * 51 degrees of freedom: 2601, give or take five times the deviation of 72.
    assert 2240 < chi_square < 2962


def test_every_order_of_three_comes_equally_often() -> None:
    orders = Counter(shuffled(cards("9C TC JC"), key(number), CARDS) for number in range(6000))
    assert len(orders) == 6
    assert all(850 < count < 1150 for count in orders.values()), orders


def test_lots_fall_on_everybody_equally_often() -> None:
    for bound in range(2, 9):
        lots = Counter(lot(bound, key(number), DEALER) for number in range(1000 * bound))
        assert set(lots) == set(range(bound))
        assert all(850 < count < 1150 for count in lots.values()), lots


def test_other_seeds_deals_entropy_and_turnovers_give_other_cards() -> None:
    keys = [
        key_of(secret_of(seed, deal).seed, entropy)
        for seed in ("a", "b")
        for deal in range(1, 20)
        for entropy in ((), ("x", ""), ("", "x"), ("x", "x"), ("y", "x"))
    ]
    labels = [CARDS, turnover_label(1), turnover_label(2)]
    orders = [shuffled(pack(1, 0), key, label) for key in keys for label in labels]
    assert len(set(orders)) == len(orders)


def test_a_commitment_binds_the_secret_the_game_and_the_deal() -> None:
    secret = secret_of("any", 1)
    other = Secret(secret.seed, secret.nonce[::-1])
    assert other != secret
    made = [
        commitment(secret, "game", 1),
        commitment(secret_of("any", 2), "game", 1),
        commitment(other, "game", 1),
        commitment(secret, "other", 1),
        commitment(secret, "game", 2),
    ]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in made)


def test_a_match_is_dealt_anew_from_its_seed_only() -> None:
    rules = agree("straight", 4, {"deals": 2})
    first, again, other = (new_match(rules, seed, 0)[0] for seed in ("one", "one", "two"))
    assert first == again
    assert deal_of(first).hands != deal_of(other).hands


def test_lots_are_drawn_again_rather_than_bent() -> None:
    # Three quarters of all words: taking the rest modulo the bound would double the lowest third.
    bound = 3 * 2**30
    low = sum(lot(bound, key(number), "any") < 2**30 for number in range(3000))
    assert 900 < low < 1100


def test_nothing_below_the_tables_knows_another_chance() -> None:
    package = Path(service.__file__).parent
    modules = [package / "game.py", package / "seating.py", *(package / "rummy").glob("*.py")]
    for module in modules:
        imported = re.findall(
            r"^\s*(?:import|from) (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert not {"random", "secrets", "uuid", "time", "os"} & set(imported), module.name


def test_the_name_of_the_shuffle_is_in_the_deal_the_commitment_and_the_proof() -> None:
    match, events = new_match(agree("straight", 2, {"deals": 2}), "any")
    assert deal_of(match).shuffle == SHUFFLE == "rummy-shuffle-1"
    assert [one.shuffle for one in events if isinstance(one, Committed)] == [SHUFFLE]
    _, events = abandon(match)
    assert [one.proof.shuffle for one in events if isinstance(one, Revealed)] == [SHUFFLE]


def test_every_process_shuffles_alike() -> None:
    """Whatever its hash seed is."""
    command = (
        "from service.rummy.engine import new_match; from service.rummy.rules import agree; "
        "match, _ = new_match(agree('parlett', 3, {}), 'any', entropy=('x', '', 'y')); print(match)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", command],
            cwd=Path(service.__file__).parents[1],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
    assert told == {f"{new_match(agree('parlett', 3, {}), 'any', entropy=('x', '', 'y'))[0]}\n"}

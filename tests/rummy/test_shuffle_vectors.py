"""docs/fairness.md and its test vectors, which stay as they are for ever, and the code agree."""

import json
import re
from itertools import islice
from pathlib import Path

import pytest

from service.rummy.cards import in_order, pack
from service.rummy.engine import new_match
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
from service.rummy.shuffle import _below as below
from service.rummy.shuffle import _words as words
from tests import fair
from tests.positions import cards, deal_of

DOCS = Path(__file__).parents[2] / "docs"
VECTORS = json.loads((DOCS / "shuffle-vectors.json").read_text(encoding="utf-8"))


def of(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", VECTORS[kind])


@of("secrets")
def test_secrets(vector: dict) -> None:
    made = secret_of(vector["match_seed"], vector["deal"])
    assert made == Secret(vector["seed"], vector["nonce"])
    assert fair.secret(vector["match_seed"], vector["deal"]) == (made.seed, made.nonce)


@of("commitments")
def test_commitments(vector: dict) -> None:
    secret = Secret(vector["seed"], vector["nonce"])
    assert commitment(secret, vector["game"], vector["deal"]) == vector["commitment"]
    assert vector["commitment"] == fair.commitment(
        vector["game"], vector["deal"], secret.nonce, secret.seed
    )


@of("keys")
def test_keys(vector: dict) -> None:
    assert key_of(vector["seed"], vector["entropy"]).hex() == vector["key"]
    assert fair.key(vector["seed"], vector["entropy"]).hex() == vector["key"]


@of("lots")
def test_lots(vector: dict) -> None:
    key = key_of(vector["seed"], vector["entropy"])
    for stream in (words, fair.stream):
        taken = list(islice(stream(key, vector["label"]), vector["word"] + vector["skipped"] + 1))
        rest = iter(taken[vector["word"] :])
        assert below(vector["bound"], rest) == vector["gives"]
        assert list(rest) == [], "all of those are skipped"
        assert fair.below(vector["bound"], iter(taken[vector["word"] :])) == vector["gives"]
    if vector["word"] == 0:
        assert lot(vector["bound"], key, vector["label"]) == vector["gives"]


DEALS = [(match, deal) for match in VECTORS["matches"] for deal in match["deals"]]


@pytest.mark.parametrize(("match", "deal"), DEALS)
def test_deals(match: dict, deal: dict) -> None:
    options, proof = match["options"], deal["proof"]
    secret = Secret(proof["seed"], proof["nonce"])
    assert commitment(secret, match["game"], deal["number"]) == proof["commitment"]
    assert proof["shuffle"] == SHUFFLE
    key = key_of(secret.seed, proof["entropy"])
    if deal["number"] == 1:
        assert lot(options["players"], key, DEALER) == deal["dealer"]
    unshuffled = pack(options["decks"], options["jokers"])
    assert list(shuffled(unshuffled, key, CARDS)) == deal["cards"]
    for number, order in enumerate(deal["turnovers"], 1):
        assert list(shuffled(in_order(order), key, turnover_label(number))) == order
        assert fair.turned_over(key, number, order) == order


def test_the_vectors_have_all_that_can_go_wrong() -> None:
    packs = {(match["options"]["decks"], match["options"]["jokers"]) for match, _ in DEALS}
    assert packs >= {(1, 0), (2, 4)}
    turned = [order for _, deal in DEALS for order in deal["turnovers"]]
    assert {len(order) for order in turned} >= {0, 1, 2, 30}
    assert any(len(set(order)) < len(order) for order in turned)
    assert any(one["entropy"][0] == "" != one["entropy"][1] for one in VECTORS["keys"][1:])
    assert {one["skipped"] for one in VECTORS["lots"]} >= {0, 1, 2}
    # The number of the block, eight words each, in one byte, two and three.
    blocks = {one["word"] // 8 for one in VECTORS["lots"]}
    assert {0, 1, 2**8, 2**16} <= blocks


def test_the_example_in_the_docs_is_what_the_code_gives() -> None:
    text = (DOCS / "fairness.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(game .*?)```$", text, re.MULTILINE | re.DOTALL)
    printed: dict[str, str] = {}
    for line in block.splitlines():
        name, value = line[:16].strip(), line[16:]
        if name:
            printed[name] = value
        else:  # a long value goes on
            printed["cards"] += f" {value}"
    assert printed == worked_example()


def worked_example() -> dict[str, str]:
    match_seed, game = VECTORS["secrets"][0]["match_seed"], VECTORS["commitments"][0]["game"]
    entropy = ("HTTHTHHT", "", "27-coins-and-a-die")
    rules = agree("straight", 3, {"deals": 1, "hand_size": 3})
    match, _ = new_match(rules, match_seed, game=game, entropy=entropy)
    deal, secret = deal_of(match), secret_of(match_seed, 1)
    key = key_of(secret.seed, entropy)
    drawn = list(islice(words(key, CARDS), 4))
    order = shuffled(pack(1, 0), key, CARDS)
    turned = cards("9S 2D KH 2C 9D")
    return {
        "game": game,
        "deal": "1",
        "nonce": secret.nonce,
        "seed": secret.seed,
        "entropy": ", ".join(added or '""' for added in entropy),
        "commitment": commitment(secret, game, 1),
        "key": key.hex(),
        "dealer, word": str(next(words(key, DEALER))),
        "dealer": str(deal.dealer),
        "cards, words": " ".join(map(str, drawn)) + " …",
        "cards, lots": " ".join(str(word % (52 - at)) for at, word in enumerate(drawn)) + " …",
        "cards": " ".join(order),
        **{f"hand of seat {seat}": " ".join(hand) for seat, hand in enumerate(deal.hands)},
        "upcard": str(deal.upcard),
        "stock": " ".join(deal.stock[:5]) + " …",
        "turned over": " ".join(turned),
        "turnover 1": " ".join(shuffled(in_order(turned), key, turnover_label(1))),
    }

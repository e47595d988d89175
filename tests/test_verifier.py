"""examples/verify.mjs, the second implementation of the shuffle, in a real Node."""

import json
import subprocess
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread

import msgspec
import pytest

from service.rummy.cards import pack
from service.rummy.engine import new_match, with_entropy
from service.rummy.model import DealEnded, Proof, Revealed
from service.rummy.rules import PRESETS, agree
from service.rummy.shuffle import CARDS, key_of, shuffled
from tests import fair
from tests.node import NODE
from tests.positions import deal_of
from tests.rummy.test_properties import steps
from tests.rummy.test_record import Played
from tests.test_docs import CHROMIUM, Browser

ROOT = Path(__file__).parent.parent
VERIFIER = ROOT / "examples" / "verify.mjs"
VECTORS = ROOT / "docs" / "shuffle-vectors.json"
GAME = "n2k7wq4zr5xt3m6a"


def verified(file: str, text: str = "", *, fits: bool = True) -> list[str]:
    """The lines that it says of the file, or of the text on its standard input."""
    ended = subprocess.run(
        [NODE, VERIFIER, file], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stderr == ""
    assert ended.returncode == (0 if fits else 1), ended.stdout
    return ended.stdout.splitlines()


def wrong(document: dict) -> list[str]:
    """What it says does not fit in the document."""
    lines = verified("-", json.dumps(document), fits=False)
    return [line.removeprefix("WRONG ") for line in lines if line.startswith("WRONG ")]


def committed(deal: dict) -> str:
    """What it says of the commitment of the deal."""
    proof = deal["proof"]
    added = [f"{seat} {text}" for seat, text in enumerate(proof["entropy"]) if text]
    return f"commitment {proof['commitment']}, mixed with: {', '.join(added) or 'nothing'}"


def replay(variant: str, players: int = 3, **options: object) -> dict:
    """A match of two deals by random players of the engine, with entropy for each."""
    rules = agree(variant, players, {"deals": 2, **options})
    entropy = ("x", *("",) * (players - 2), "~")
    start, _ = new_match(rules, f"verify {variant}", game=GAME, entropy=entropy)
    start = with_entropy(start, 1, "27-coins-and-a-die")
    deal, deals = Played(start), []
    for *_, match, events, _ in steps(start, Random(variant), 0.2, 4_000):
        deal.went_on(events, match)
        for event in events:
            if isinstance(event, Revealed):
                deals.append(told(deal, event.proof))
                deal = Played(match)
    assert len(deals) == 2
    return {
        "format": "rummy-replay-1",
        "game": GAME,
        "options": msgspec.to_builtins(rules),
        "dealer_by_lot": True,
        "deals": deals,
    }


def told(deal: Played, proof: Proof) -> dict:
    start = deal_of(deal.start)
    (ended,) = (event for event in deal.events if isinstance(event, DealEnded))
    rules = deal.start.rules
    cards = shuffled(pack(rules.decks, rules.jokers), key_of(proof.seed, proof.entropy), CARDS)
    assert start.stock == cards[-len(start.stock) :], "the engine dealt these"
    return {
        "number": start.number,
        "dealer": start.dealer,
        "cards": cards,
        "turnovers": deal.turnovers,
        "proof": msgspec.to_builtins(proof),
        "moves": [],
        "result": msgspec.to_builtins(ended.result),
    }


@pytest.fixture(scope="module")
def seven_card() -> dict:
    """Two deals of seven-card rummy, with turnovers that were shuffled in both."""
    document: dict = json.loads(msgspec.json.encode(replay("seven-card", 4, jokers=2, hand_size=9)))
    assert all(deal["turnovers"] for deal in document["deals"])
    return document


# ------------------------------------------------------------------------------- the program


def test_the_verifier_is_short_enough_to_be_read():
    lines = VERIFIER.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100


def test_the_verifier_needs_nothing_but_what_node_and_browsers_have():
    text = VERIFIER.read_text(encoding="utf-8")
    assert text.count("import(") == 2
    assert 'import("node:fs")' in text
    assert 'import("node:crypto")' in text
    assert "require(" not in text


def test_it_agrees_with_the_test_vectors():
    lines = verified(str(VECTORS))
    assert {line.split()[0] for line in lines} == {"ok"}
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    deals = [deal for match in vectors["matches"] for deal in match["deals"]]
    turned = sum(len(deal["turnovers"]) for deal in deals)
    assert len(lines) == len(vectors["lots"]) + 3 * len(deals) + turned


@pytest.mark.parametrize("at", [0, 20, -1])
def test_it_finds_a_wrong_vector(at):
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    vectors["lots"][at]["gives"] += 1
    assert wrong(vectors) == [f"lot {vectors['lots'][at]['gives']}"]


# ---------------------------------------------------------------------------------- replays


@pytest.mark.parametrize("variant", PRESETS)
def test_it_agrees_with_the_engine(variant, tmp_path):
    document = replay(variant)
    file = tmp_path / "replay.json"
    file.write_bytes(msgspec.json.encode(document))
    told = verified(str(file))
    expected = []
    for deal in document["deals"]:
        turned = [f"turnover {number}" for number in range(1, len(deal["turnovers"]) + 1)]
        what = [committed(deal), "dealer", "cards", *turned]
        expected += [f"ok deal {deal['number']}: {one}" for one in what]
    assert told == expected


@pytest.mark.parametrize("place", [0, 1])
def test_it_checks_a_single_deal(seven_card, place):
    document = deepcopy(seven_card) | {"format": "rummy-deal-1"}
    deal = document["deal"] = document.pop("deals")[place]
    lines = verified("-", json.dumps(document))
    assert f"ok deal {place + 1}: cards" in lines
    # Who dealt the second deal follows from the first.
    assert f"{['ok', 'not proved'][place]} deal {place + 1}: dealer" in lines
    swapped(deal["cards"])
    assert wrong(document) == [f"deal {place + 1}: cards"]


def test_it_says_what_cannot_be_proved(seven_card):
    document = deepcopy(seven_card) | {"dealer_by_lot": False, "practice": True}
    document["deals"][0]["proof"]["laid_out"] = True
    swapped(document["deals"][0]["cards"])
    turned = len(document["deals"][0]["turnovers"])
    lines = verified("-", json.dumps(document))
    assert [line for line in lines if not line.startswith("ok deal 2: ")] == [
        f"ok deal 1: {committed(document['deals'][0])}",
        "not proved deal 1: dealer",
        "not proved deal 1: cards, laid out",
        *(f"ok deal 1: turnover {number + 1}" for number in range(turned)),
    ]
    document["deals"][0]["turnovers_given"] = 1
    swapped(document["deals"][0]["turnovers"][0])
    lines = verified("-", json.dumps(document))
    assert "not proved deal 1: turnover 1, laid out" in lines
    document["deals"][0]["turnovers_given"] = 0
    assert wrong(document) == ["deal 1: turnover 1"]


def test_it_believes_that_of_practice_only(seven_card):
    document = deepcopy(seven_card) | {"dealer_by_lot": False}
    assert wrong(document) == ["deal 1: dealer"]
    for practice, number in ((False, 1), (True, 2)):
        document = deepcopy(seven_card) | {"practice": practice}
        document["deals"][number - 1]["proof"]["laid_out"] = True
        swapped(document["deals"][number - 1]["cards"])
        assert wrong(document) == [f"deal {number}: cards"]


def test_a_document_that_lacks_deals_is_not_a_good_one(seven_card):
    document = deepcopy(seven_card)
    del document["deals"][0]
    assert wrong(document) == ["deal 2: dealer"]
    assert verified("-", json.dumps(document | {"deals": []}), fits=False) == []


# ----------------------------------------------------------------------------- tampered ones


def swapped(cards: list[str], first: int = 0) -> None:
    """The card there exchanged with the next other one."""
    place = next(place for place, card in enumerate(cards) if card != cards[first])
    cards[first], cards[place] = cards[place], cards[first]


def other_digit(text: str) -> str:
    return ("1" if text[0] == "0" else "0") + text[1:]


def change(part: str, changed: Callable[[str], str]) -> Callable[[dict], None]:
    def tamper(deal: dict) -> None:
        deal["proof"][part] = changed(deal["proof"][part])

    return tamper


def with_two_secrets(deal: dict) -> None:
    """One commitment that fits another nonce and seed as well, were line feeds let pass."""
    proof = deal["proof"]
    proof["seed"] = f"{'a' * 32}\n{proof['seed']}"
    proof["commitment"] = fair.commitment(GAME, deal["number"], proof["nonce"], proof["seed"])
    key = fair.key(proof["seed"], proof["entropy"])
    deal["cards"] = fair.shuffled(key, "cards", fair.pack(1, 2))
    deal["turnovers"] = []


COMMITMENT, CARDS_TOO = ["commitment"], ["commitment", "cards", "turnover 1"]
TAMPERED: dict[str, tuple[Callable[[dict], None], list[str]]] = {
    "two cards exchanged": (lambda deal: swapped(deal["cards"]), ["cards"]),
    "a card of the stock": (lambda deal: swapped(deal["cards"], -1), ["cards"]),
    "a card another": (lambda deal: deal["cards"].__setitem__(9, "JK"), ["cards"]),
    "a card missing": (lambda deal: deal["cards"].pop(), ["cards"]),
    "a turnover": (lambda deal: swapped(deal["turnovers"][0]), ["turnover 1"]),
    "a card less in a turnover": (lambda deal: deal["turnovers"][0].pop(), ["turnover 1"]),
    "a turnover too many": (lambda deal: deal["turnovers"].insert(0, ["AS", "2S", "3S"]),
                            ["turnover 1", "turnover 2"]),
    "the seed": (change("seed", other_digit), CARDS_TOO),
    "the nonce": (change("nonce", other_digit), COMMITMENT),
    "the seed in capitals": (change("seed", str.upper), CARDS_TOO),
    "the commitment": (change("commitment", other_digit), COMMITMENT),
    "another shuffle": (change("shuffle", lambda name: name + "0"), COMMITMENT),
    "the entropy": (lambda deal: deal["proof"]["entropy"].__setitem__(2, "y"),
                    ["cards", "turnover 1"]),
    "no entropy": (lambda deal: deal["proof"].update(entropy=[]), ["cards", "turnover 1"]),
    "the seats of entropy": (lambda deal: deal["proof"]["entropy"].insert(0, ""),
                             ["commitment", "cards", "turnover 1"]),
    "entropy of nobody": (lambda deal: deal["proof"]["entropy"].append("z"),
                          ["commitment", "cards", "turnover 1"]),
    "entropy in two lines": (lambda deal: deal["proof"].update(entropy=["x\n3 ~"]), COMMITMENT),
    "entropy with a space": (lambda deal: deal["proof"].update(entropy=["a b"]), COMMITMENT),
    "long entropy": (lambda deal: deal["proof"].update(entropy=["x" * 101]), COMMITMENT),
    "two secrets": (with_two_secrets, COMMITMENT),
}  # fmt: skip


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("tamper", "expected"), TAMPERED.values(), ids=TAMPERED)
def test_a_changed_document_is_caught_at_its_deal(seven_card, number, tamper, expected):
    document = deepcopy(seven_card)
    tamper(document["deals"][number - 1])
    found = wrong(document)
    assert {line.partition(":")[0] for line in found} == {f"deal {number}"}
    named = {line.removeprefix(f"deal {number}: ").partition(" ")[0] for line in found}
    assert named >= {what.partition(" ")[0] for what in expected}


def test_another_game_or_another_dealer_is_caught(seven_card):
    document = deepcopy(seven_card) | {"game": "4h6fpa2cqv7sl3yd"}
    assert [line.split()[2] for line in wrong(document)] == ["commitment", "commitment"]
    for number in (0, 1):
        document = deepcopy(seven_card)
        deals = document["deals"]
        deals[number]["dealer"] = (deals[number]["dealer"] + 1) % 4
        assert f"deal {number + 1}: dealer" in wrong(document)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7"])
def test_a_file_that_cannot_be_read_is_not_taken_for_a_good_one(text):
    command = [NODE, VERIFIER, "-"]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert ended.returncode == 1


# ------------------------------------------------------------------------------- in a browser


class Quiet(SimpleHTTPRequestHandler):
    """Gives out files and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


def test_it_agrees_with_the_test_vectors_in_a_browser(tmp_path):
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    browser = Browser(CHROMIUM, tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=ROOT)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        browser.open(f"http://127.0.0.1:{server.server_address[1]}/docs/shuffle-vectors.json")
        browser.wait_for("location.protocol === 'http:' && document.readyState === 'complete'")
        browser.run(
            """found = []; over = false; import("/examples/verify.mjs").then(async ({ verify }) => {
            const vectors = await (await fetch("/docs/shuffle-vectors.json")).json();
            await verify(vectors, (what, fits) => found.push(fits)); over = true; }); 0"""
        )
        browser.wait_for("over")
        assert browser.run("found.length") == len(verified(str(VECTORS)))
        assert browser.run("found.every((fits) => fits === true)")
        server.shutdown()
    browser.close()

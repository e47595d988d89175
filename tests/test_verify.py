"""Replays that are checked: what was tampered with is found, and where; told: as people read it."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

import msgspec
import pytest

from service.errors import BadReplay
from service.replay import Document, MatchReplay, decoded, record_of
from service.rummy.cards import pack
from service.rummy.notation import read
from service.telling import told, told_record
from service.verify import checked
from tests.replays import Over

MATCHES = {
    "straight": Over("straight", 3, "checked", deals=3),
    "for a target": Over("straight", 2, "checked", target=60, hand_size=4, jokers=4, keen=1),
    "reshuffles": Over("seven-card", 2, "checked", hand_size=20, jokers=4, deals=2, keen=0.2),
    "last card": Over("seven-card", 3, "checked", hand_size=12, turnover="last_card", keen=0.2),
    "two decks": Over("parlett", 6, "checked", jokers=4, deals=2),
    "blocked": Over("straight", 2, "checked", hand_size=20, deals=2, turnovers=0, keen=0),
    "too many turns": Over("straight", 2, "checked", hand_size=3, deals=1, keen=0),
    "calls": Over("call-rummy", 3, "checked", jokers=2, deals=2),
    "timed calls": Over("call-rummy", 4, "checked", call="timed", call_seconds=5, keen=0.4),
    "given up": Over("straight", 2, "checked", deals=9, hand_size=4, most=60),
    "given up at once": Over("parlett", 2, "checked", most=1),
    "laid out": Over("straight", 2, "checked", deals=2, order=pack(1, 0)),
    "many at the table": Over("seven-card", 8, "checked", layoffs="any", aces="high_or_low"),
}


def documents(name: str) -> Iterator[Document]:
    """The whole match, and each of its deals."""
    over = MATCHES[name]
    match = over.replay()
    yield match
    for deal in match.deals:
        yield over.deal(deal.number)


def as_json(document: Document) -> Any:
    return json.loads(msgspec.json.encode(document))


def of_json(document: Any) -> Document:
    return decoded(json.dumps(document).encode())


def found(document: Document, only: int | None = None) -> list[str]:
    return [str(fits) for _, fits in checked(document, only)]


def refused(document: Any, only: int | None = None) -> BadReplay:
    """How the JSON is refused."""
    with pytest.raises(BadReplay) as caught:
        found(of_json(document), only)
    return caught.value


# ------------------------------------------------------------------------------ what is right


@pytest.mark.parametrize("name", MATCHES)
def test_what_the_service_gives_out_fits(name):
    for document in documents(name):
        assert decoded(msgspec.json.encode(document)) == document
        lines = found(document)
        deals = document.deals if isinstance(document, MatchReplay) else (document.deal,)
        moves = [f"gave the cards that it says: {len(deal.moves)}" for deal in deals]
        assert [line for line in lines if line.startswith("Every move")] == [
            f"Every move was legal, and {count}" for count in moves
        ]
        for deal in deals:
            assert f"committed to: {deal.proof.commitment}" in "\n".join(lines)


@pytest.mark.parametrize("name", MATCHES)
def test_the_notation_of_a_deal_is_the_deal(name):
    for _, *deals in [documents(name)]:
        for document in deals:
            assert read(document.notation) == record_of(document.options, document.deal)


def test_it_is_said_what_was_proved_and_what_was_not():
    lines = found(MATCHES["reshuffles"].replay())
    assert sum(line.startswith("Mixed in is what seat 1 had added: ") for line in lines) == 1
    assert sum(line.startswith("Mixed in is what seat 0 had added: ") for line in lines) == 1
    assert sum("drawn by lot" in line for line in lines) == 1
    assert sum("Each reshuffle is as the secret gives it" in line for line in lines) == 2
    assert "The cards lay in the order that the secret gives: 56" in lines
    laid_out = found(MATCHES["laid out"].replay())
    assert sum("laid out for practice, so nothing is proved" in line for line in laid_out) == 1
    assert sum("lay in the order" in line for line in laid_out) == 1
    assert "The deal was given up" in found(MATCHES["given up"].replay())


def test_a_match_that_goes_on_is_right_as_far_as_it_is():
    over = MATCHES["straight"]
    for deals in (1, 2):
        document = over.going_on(deals)
        assert document.result is None
        assert found(document)[-1] == f"It goes on after these deals: {deals}"


def test_a_match_in_its_first_deal_has_nothing_to_check_yet():
    document = as_json(MATCHES["straight"].going_on(1)) | {"deals": []}
    assert refused(document).detail == "No deal in it has ended yet."


def test_one_deal_of_a_match_can_be_checked_alone():
    document = MATCHES["straight"].replay()
    assert {deal for deal, _ in checked(document, 2)} == {2}
    other = as_json(document)
    other["deals"][0]["moves"].pop()
    assert {deal for deal, _ in checked(of_json(other), 3)} == {3}
    assert refused(other, 1).params == {"deal": 1}
    assert refused(other, 4).detail == "There is no deal 4 in the document."


# ------------------------------------------------------------------------------ tampered with


@cache
def original(name: str) -> str:
    return json.dumps(as_json(MATCHES[name].replay()))


def a_move(deal: dict, kind: str, **also: object) -> int:
    """The place of a move of that kind, not among the first."""
    return next(
        place
        for place, move in enumerate(deal["moves"])
        if place > 4 and move["move"]["move"] == kind and also.items() <= move["move"].items()
    )


def a_draw(deal: dict) -> int:
    return a_move(deal, "draw", **{"from": "stock"})


def drew_another(deal: dict) -> int:
    place = a_draw(deal)
    drawn = deal["moves"][place]["drawn"]
    deal["moves"][place]["drawn"] = "9C" if drawn != "9C" else "9D"
    return place


def drew_nothing(deal: dict) -> int:
    place = a_draw(deal)
    deal["moves"][place]["drawn"] = None
    return place


def drew_from_elsewhere(deal: dict) -> int:
    place = a_draw(deal)
    deal["moves"][place] |= {"move": {"move": "draw", "from": "discard"}, "drawn": None}
    return place


def discarded_another(deal: dict) -> int:
    place = a_move(deal, "discard")
    card = deal["moves"][place]["move"]["card"]
    deal["moves"][place]["move"]["card"] = next(
        other for other in deal["cards"] if other[0] != card[0]
    )
    return None  # it may have been in the hand, and be missing later only


def discarded_no_card(deal: dict) -> int:
    place = a_move(deal, "discard")
    deal["moves"][place]["move"]["card"] = "XX"
    return place


def melded_fewer(deal: dict) -> int:
    place = a_move(deal, "meld")
    deal["moves"][place]["move"]["cards"] = deal["moves"][place]["move"]["cards"][:2]
    return place


def melded_in_another_order(deal: dict) -> int:
    place = a_move(deal, "meld")
    deal["moves"][place]["move"]["cards"].reverse()
    return place


def laid_off_elsewhere(deal: dict) -> int:
    place = a_move(deal, "layoff")
    deal["moves"][place]["move"]["meld"] = 99
    return place


def moved_by_another(deal: dict) -> int:
    place = a_move(deal, "discard")
    deal["moves"][place]["seat"] = 1 - deal["moves"][place]["seat"]
    return place


def moved_by_nobody(deal: dict) -> int:
    place = a_move(deal, "discard")
    deal["moves"][place]["seat"] = -1
    return place


def left_out(deal: dict) -> int:
    place = a_draw(deal)
    del deal["moves"][place]
    return place


def added(deal: dict) -> int:
    place = a_move(deal, "discard")
    deal["moves"].insert(place, deepcopy(deal["moves"][place]))
    return place + 1


def exchanged(deal: dict) -> int:
    place = a_draw(deal)
    moves = deal["moves"]
    moves[place], moves[place + 1] = moves[place + 1], moves[place]
    return place


def came_before(deal: dict) -> int:
    deal["moves"][7]["at"] = "1970-01-01T00:00:00Z"
    return 7


def counted_wrongly(deal: dict) -> int:
    deal["moves"][7]["event"] = deal["moves"][6]["event"]
    return 7


def went_on(deal: dict) -> int:
    deal["moves"].append(deepcopy(deal["moves"][-2]))
    return len(deal["moves"]) - 1


MOVES = [
    drew_another, drew_nothing, drew_from_elsewhere, discarded_another, discarded_no_card,
    melded_fewer, melded_in_another_order, laid_off_elsewhere, moved_by_another, moved_by_nobody,
    left_out, added, exchanged, came_before, counted_wrongly, went_on,
]  # fmt: skip


@pytest.mark.parametrize("deal", [0, 1])
@pytest.mark.parametrize("change", MOVES)
def test_a_move_that_was_changed_is_found_by_its_number(change, deal):
    document = json.loads(original("reshuffles"))
    place = change(document["deals"][deal])
    error = refused(document)
    assert error.params["deal"] == deal + 1
    if place is not None:
        assert error.params["move"] == place + 1
        assert error.detail.startswith(f"Deal {deal + 1}: Move {place + 1}, by seat ")
    assert str(replay_fails(of_json(document))) == str(error)


def replay_fails(document: Document) -> BadReplay:
    """How the telling ends, after it has told what fits."""
    lines: list[str] = []
    with pytest.raises(BadReplay) as caught:
        lines.extend(told(document))
    moves = [line for line in lines if line[:5].strip().isdigit()]
    deal = sum(line.startswith("Deal ") for line in lines)
    assert deal == caught.value.params["deal"]
    if "move" in caught.value.params:
        assert int(moves[-1][:5]) == caught.value.params["move"] - 1
    return caught.value


def exchange(cards: list, one: int, other: int) -> None:
    cards[one], cards[other] = cards[other], cards[one]


def turned(text: str) -> str:
    """Another text of the same form."""
    return text[:-1] + ("2" if text.endswith("1") else "1")


# fmt: off
CHANGES: list[tuple[str, Callable[[dict], object], str]] = [
    ("the last two cards", lambda deal: exchange(deal["cards"], -1, -2), "not in the order"),
    ("the first two cards", lambda deal: exchange(deal["cards"], 0, 1), "not in the order"),
    ("a card moved", lambda deal: deal["cards"].append(deal["cards"].pop(0)),
     "not in the order"),
    ("a card less", lambda deal: deal["cards"].pop(), "not in the order"),
    ("no cards", lambda deal: deal["cards"].clear(), "not in the order"),
    ("a reshuffle", lambda deal: exchange(deal["turnovers"][0], 0, 1), "turnover 1 is not in the"),
    ("a later reshuffle", lambda deal: exchange(deal["turnovers"][-1], -1, -2), "turnover "),
    ("a reshuffle less", lambda deal: deal["turnovers"].pop(), "is not there"),
    ("a reshuffle twice", lambda deal: deal["turnovers"].append(deal["turnovers"][-1]), "turnover"),
    ("the first reshuffle gone", lambda deal: deal["turnovers"].pop(0), "turnover "),
    ("reshuffles given", lambda deal: deal.update(turnovers_given=1), "more than can have been"),
    ("a reshuffle of nonsense", lambda deal: deal["turnovers"][0].append("XX"), "turnover 1 "),
    ("the seed", lambda deal: deal["proof"].update(seed=turned(deal["proof"]["seed"])),
     "not the one that was committed to"),
    ("the nonce", lambda deal: deal["proof"].update(nonce=turned(deal["proof"]["nonce"])),
     "not the one that was committed to"),
    ("the commitment",
     lambda deal: deal["proof"].update(commitment=turned(deal["proof"]["commitment"])),
     "not the one that was committed to"),
    ("a seed in capitals", lambda deal: deal["proof"].update(seed=deal["proof"]["seed"].upper()),
     "not of the documented form"),
    ("a longer nonce", lambda deal: deal["proof"].update(nonce=deal["proof"]["nonce"] + "\n"),
     "not of the documented form"),
    ("the entropy", lambda deal: deal["proof"].update(entropy=["x", "y"]), "not in the order|lot"),
    ("no entropy", lambda deal: deal["proof"].update(entropy=[]), "not in the order|lot fell"),
    ("entropy in two lines", lambda deal: deal["proof"].update(entropy=["x\n1 y", ""]),
     "not of the documented form"),
    ("entropy of too many", lambda deal: deal["proof"]["entropy"].append("z"), "for each seat"),
    ("another shuffle", lambda deal: deal["proof"].update(shuffle="rummy-shuffle-0"),
     "the shuffle rummy-shuffle-0, not rummy-shuffle-1"),
    ("the proof of another deal", lambda deal: deal["proof"].update(deal=7), "is for deal 7"),
    ("cards laid out", lambda deal: deal["proof"].update(laid_out=True), "practice"),
    ("the dealer", lambda deal: deal.update(dealer=1 - deal["dealer"]), "dealer"),
    ("a dealer who is not there", lambda deal: deal.update(dealer=2), "dealer"),
    ("the totals before", lambda deal: deal.update(totals=[1, 0]), "`totals`"),
    ("totals of too few", lambda deal: deal.update(totals=[0]), "`totals`"),
    ("the number", lambda deal: deal.update(number=9), "is missing before it"),
    ("no result", lambda deal: deal.update(result=None), "do not lead to the result"),
    ("no last move", lambda deal: deal["moves"].pop(), "do not lead to the result"),
    ("the scores", lambda deal: deal["result"]["scores"].reverse(), "do not lead to the result"),
    ("the totals after", lambda deal: deal["result"]["totals"].reverse(), "do not lead to"),
    ("the counts", lambda deal: deal["result"]["counts"].reverse(), "do not lead to the result"),
    ("a hand in the end", lambda deal: deal["result"]["hands"].reverse(), "do not lead to"),
    ("the turns", lambda deal: deal["result"].update(turns=1), "do not lead to the result"),
    ("who went out", lambda deal: deal["result"].update(winner=1 - deal["result"]["winner"]),
     "do not lead to the result"),
]
# fmt: on


@pytest.mark.parametrize("deal", [0, 1])
@pytest.mark.parametrize(
    ("change", "why"), [pytest.param(*line, id=title) for title, *line in CHANGES]
)
def test_a_deal_that_was_changed_is_found_with_its_number(change, why, deal):
    document = json.loads(original("reshuffles"))
    number = document["deals"][deal]["number"]
    change(document["deals"][deal])
    error = refused(document)
    assert any(part in error.detail for part in why.split("|")), error.detail
    if "number" not in error.params and "is missing" not in why:
        assert error.params["deal"] == number
        assert error.detail.startswith(f"Deal {number}: ")


# fmt: off
OF_MATCH: list[tuple[str, Callable[[dict], object], str]] = [
    ("the game", lambda match: match.update(game="z" * 16), "Deal 1: the secret is not the one"),
    ("the first deal gone", lambda match: match["deals"].pop(0), "Deal 2: deal 1 is missing"),
    ("a deal in the middle gone", lambda match: match["deals"].pop(1), "Deal 3: deal 2 is missing"),
    ("the last deal gone", lambda match: match["deals"].pop(), "do not lead to the result of the"),
    ("a deal twice", lambda match: match["deals"].append(match["deals"][-1]),
     "Deal 3: deal 4 is missing"),
    ("deals exchanged", lambda match: exchange(match["deals"], 1, 2), "Deal 3: deal 2 is missing"),
    ("no deals", lambda match: match["deals"].clear(), "No deal in it has ended yet."),
    ("the winners", lambda match: match["result"].update(winners=[0, 1, 2]), "do not lead to"),
    ("a tie", lambda match: match["result"].update(tie=True), "do not lead to the result of the"),
    ("the totals", lambda match: match["result"].update(totals=[0, 0, 0]), "do not lead to the"),
    ("no result", lambda match: match.update(result=None), "do not lead to the result of the"),
    ("given up", lambda match: match["result"].update(reason="abandoned"), "do not lead to the"),
    ("fewer deals agreed", lambda match: match["options"].update(deals=2),
     "Deal 3: the match was over before it"),
    ("more deals agreed", lambda match: match["options"].update(deals=4), "do not lead to"),
    ("another hand size", lambda match: match["options"].update(hand_size=6), "Move "),
    ("jokers in the pack", lambda match: match["options"].update(jokers=2), "not in the order"),
    ("options that do not go together", lambda match: match["options"].update(hand_size=40),
     "hand_size: "),
    ("a variant that does not exist", lambda match: match["options"].update(variant="canasta"),
     "canasta"),
    ("too many players", lambda match: match["options"].update(players=9), "players"),
    ("another number of players", lambda match: match["options"].update(players=2), "`seats`"),
    ("a seat more", lambda match: match["seats"].append(match["seats"][0]), "`seats`"),
    ("no seats", lambda match: match["seats"].clear(), "`seats`"),
    ("a dealer who was not drawn", lambda match: match.update(dealer_by_lot=False), "by lot"),
]
# fmt: on


@pytest.mark.parametrize(
    ("change", "why"), [pytest.param(*line, id=title) for title, *line in OF_MATCH]
)
def test_a_match_that_was_changed_is_found(change, why):
    document = json.loads(original("straight"))
    change(document)
    assert why in refused(document).detail


def test_nothing_comes_after_a_deal_that_was_given_up():
    document = as_json(MATCHES["given up"].replay())
    last = document["deals"][-1]
    document["deals"].append(last | {"number": last["number"] + 1})
    assert "the match was over before it" in refused(document).detail
    document = as_json(MATCHES["given up"].replay())
    document["result"]["totals"][0] += 1
    assert "do not lead to the result of the match" in refused(document).detail
    assert "do not lead" in refused(document | {"result": None}).detail


def test_the_reshuffles_of_another_deal_that_practice_goes_on_with_are_not_proved():
    """Only the first ones of a deal that was laid out; what comes later is by the secret."""
    document = json.loads(original("reshuffles"))
    first = document["deals"][0]
    document["practice"] = first["proof"]["laid_out"] = True
    assert "Each reshuffle is as the secret gives it" in "\n".join(found(of_json(document)))
    assert len(first["turnovers"]) > 1
    first["turnovers_given"] = 1
    assert "Nothing is proved of the first reshuffles: 1" in found(of_json(document))
    first["turnovers_given"] = len(first["turnovers"]) + 1
    assert "more than can have been given" in refused(document).detail
    first["turnovers_given"] = 1
    exchange(first["turnovers"][-1], 0, 1)
    assert "is not in the order that the secret gives" in refused(document).detail


# ---------------------------------------------------------------- every value, one after another

NOT_PROVED = {
    "options": "an option that made no difference in these deals",
    "practice": "who says of a match that it was practice claims less",
    "dealer_by_lot": "where it was set for practice, the lot can have fallen on the same seat",
    "seats": "names and levels are not in what the engine plays",
    "deals.moves.at": "as long as no time goes back",
    "deals.moves.event": "as long as the numbers rise",
    "deals.moves.forced": "whose clock it was, the rules do not know",
    "deals.moves.seat": "of a call: anybody but the discarder could have made it",
    "deals.moves": "a deal that was given up could have been given up before its last move",
    "deals.moves.move.card": "nor does anything come of the last discard of such a deal",
}


def leaves(node: Any, path: tuple = ()) -> Iterator[tuple]:
    """The paths of all values, and of all lists, in a JSON document."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from leaves(value, (*path, name))
        return
    yield path
    if isinstance(node, list):
        for place, value in enumerate(node):
            yield from leaves(value, (*path, place))


def others(value: Any) -> Iterator[Any]:
    """Values that somebody could have put in the place of this one."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case str():
            yield from (value + "0", value[:-1], turned(value))
            yield "9C" if value != "9C" else "9D"
            yield value.replace("1970", "1971")
            yield None
        case None:
            yield from ("9C", 0, {})
        case list():
            yield value[1:]
            yield [*value, *value[-1:]]
            if len(value) > 1:
                yield [value[1], value[0], *value[2:]]


def changed(document: dict, path: tuple, value: Any) -> dict:
    """A copy with that value there."""
    copy = deepcopy(document)
    inner = copy
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return copy


SMALL: dict[str, Document] = {
    "match": Over("call-rummy", 3, "s64", hand_size=4, jokers=6, deals=2, keen=1).replay(),
    "calls": Over("call-rummy", 3, "s373", hand_size=5, jokers=8, keen=0.5).replay(),
    "given up": Over("seven-card", 2, "small", hand_size=20, jokers=4, keen=0, most=70).replay(),
    "deal": Over("straight", 2, "told 29", hand_size=5, jokers=4, deals=1, keen=1).deal(1),
}


@pytest.mark.parametrize("name", SMALL)
def test_every_value_that_is_changed_is_found_or_is_one_of_those_that_nothing_proves(name):
    original = SMALL[name]
    document = as_json(original)
    names = {"deal": "deals"}  # a document of one deal has it under another name
    unproved = set()
    for path in leaves(document):
        inner = document
        for step in path:
            inner = inner[step]
        for value in others(inner):
            try:
                other = of_json(changed(document, path, value))
                if other == original:
                    continue
                found(other)
            except BadReplay:
                continue
            place = [names.get(step, step) for step in path if isinstance(step, str)]
            unproved.add(".".join(place[:1] if place[0] in {"options", "seats"} else place))
    assert unproved <= NOT_PROVED.keys()
    if name == "deal":
        assert "options" not in unproved, "they are in the notation"
        assert "seats" not in unproved, "their names are remarks there"
    if name != "given up":
        assert not unproved & {"deals.moves", "deals.moves.move.card"}
    if name != "calls":
        assert "deals.moves.seat" not in unproved


def test_a_document_of_one_deal_shows_what_the_moves_lead_to():
    document = as_json(MATCHES["calls"].deal(1))
    for place in (0, 5, len(document["positions"]) - 1):
        hands = document["positions"][place]["hands"]
        other = changed(document, ("positions", place, "hands"), hands[::-1])
        error = refused(other)
        assert error.params == {"deal": 1, "move": place}
        assert f"`positions` shows something else after move {place}" in error.detail
    shorter = changed(document, ("positions",), document["positions"][:-1])
    assert "`positions`" in refused(shorter).detail
    longer = changed(document, ("positions",), document["positions"] * 2)
    assert "`positions` has not one for the start and each move" in refused(longer).detail
    other = changed(document, ("notation",), document["notation"] + "\n")
    assert "`notation` tells another deal" in refused(other).detail
    other = changed(document, ("seats", 0, "name"), "Zoe")
    assert "`notation` tells another deal" in refused(other).detail


# ------------------------------------------------------------------------------------- hostile

HUGE = 10**30
ENDLESS = "1" + "0" * 6000
TEXTS = {
    "nothing": b"",
    "no JSON": b"hello",
    "half": b'{"format":"rummy-replay-1"',
    "another JSON": b'{"openapi":"3.1.1"}',
    "null": b"null",
    "a list": b"[]",
    "deeply nested": b"[" * 200_000,
    "deeply nested objects": b'{"a":' * 200_000,
    "nested in a field": b'{"format":"rummy-replay-1","game":' + b"[" * 200_000,
    "nested in an unknown field": b'{"format":"rummy-replay-1","x":' + b"[" * 200_000,
    "another format": b'{"format":"rummy-replay-2"}',
    "a format that is a list": b'{"format":[]}',
    "no UTF-8": b'{"format":"rummy-replay-1","game":"\xff\xfe"}',
    "NaN": b'{"format":"rummy-replay-1","game":NaN}',
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_no_replay_is_refused(text):
    with pytest.raises(BadReplay) as caught:
        decoded(text)
    assert caught.value.detail.startswith("This is not a replay: ")


# fmt: off
HOSTILE: list[tuple[str, tuple, Any]] = [
    ("a huge number of a deal", ("deals", 0, "number"), HUGE),
    ("deal 0", ("deals", 0, "number"), 0),
    ("a large number of a deal", ("deals", 0, "number"), 999_999_999),
    ("a negative dealer", ("deals", 0, "dealer"), -1),
    ("a huge dealer", ("deals", 0, "dealer"), HUGE),
    ("huge totals", ("deals", 0, "totals"), [HUGE, 0]),
    ("negative totals", ("deals", 0, "totals"), [-1, 0]),
    ("no totals", ("deals", 0, "totals"), []),
    ("a thousand totals", ("deals", 0, "totals"), [0] * 1000),
    ("no cards", ("deals", 0, "cards"), []),
    ("empty cards", ("deals", 0, "cards"), [""] * 60),
    ("many cards", ("deals", 0, "cards"), ["AS"] * 100_000),
    ("long cards", ("deals", 0, "cards"), ["AS" * 100_000]),
    ("cards with escapes", ("deals", 0, "cards"), ["\x1b[2J", "\u202e"]),
    ("many reshuffles", ("deals", 0, "turnovers"), [[]] * 100_000),
    ("reshuffles of nonsense", ("deals", 0, "turnovers"), [["\x00"]] * 10),
    ("a long reshuffle", ("deals", 0, "turnovers"), [["AS"] * 100_000]),
    ("no moves", ("deals", 0, "moves"), []),
    ("a negative seat", ("deals", 0, "moves", 0, "seat"), -1),
    ("a huge seat", ("deals", 0, "moves", 0, "seat"), HUGE),
    ("a huge meld", ("deals", 0, "moves", 0, "move"), {"move": "swap", "meld": HUGE, "card": "AS"}),
    ("a negative meld", ("deals", 0, "moves", 0, "move"), {"move": "rummy", "meld": -HUGE}),
    ("a meld of nothing", ("deals", 0, "moves", 0, "move"), {"move": "meld", "cards": []}),
    ("a meld of too much", ("deals", 0, "moves", 0, "move"),
     {"move": "meld", "cards": ["AS"] * 50_000, "jokers": ["AS"] * 50_000}),
    ("an unknown move", ("deals", 0, "moves", 0, "move"), {"move": "cheat"}),
    ("a time without zone", ("deals", 0, "moves", 0, "at"), "2020-01-01T00:00:00"),
    ("a time that is none", ("deals", 0, "moves", 0, "at"), "yesterday"),
    ("event 0", ("deals", 0, "moves", 0, "event"), 0),
    ("a huge result", ("deals", 0, "result", "totals"), [HUGE, -HUGE]),
    ("a result of nobody", ("deals", 0, "result", "hands"), []),
    ("a seed that is long", ("deals", 0, "proof", "seed"), "0" * 1_000_000),
    ("a huge deal in the proof", ("deals", 0, "proof", "deal"), HUGE),
    ("entropy of many", ("deals", 0, "proof", "entropy"), ["x"] * 100_000),
    ("entropy that is long", ("deals", 0, "proof", "entropy"), ["x" * 1_000_000, ""]),
    ("an unknown shuffle", ("deals", 0, "proof", "shuffle"), "mine\x1b[2J"),
    ("no players", ("options", "players"), 0),
    ("players below none", ("options", "players"), -1),
    ("a thousand players", ("options", "players"), 1000),
    ("huge players", ("options", "players"), HUGE),
    ("a thousand seats", ("seats",), [{"name": "x", "computer": None}] * 1000),
    ("no seats", ("seats",), []),
    ("huge decks", ("options", "decks"), HUGE),
    ("many decks", ("options", "decks"), 10**9),
    ("no decks", ("options", "decks"), 0),
    ("huge jokers", ("options", "jokers"), 10**9),
    ("negative jokers", ("options", "jokers"), -1),
    ("a huge hand", ("options", "hand_size"), HUGE),
    ("no hand", ("options", "hand_size"), 0),
    ("a long variant", ("options", "variant"), "x" * 100_000),
    ("deals and a target", ("options", "target"), 100),
    ("no end", ("options", "deals"), None),
    ("deals a thousand times", ("deals",), [{}] * 1000),
    ("a huge result of the match", ("result", "totals"), [HUGE, HUGE]),
    ("winners who are not there", ("result", "winners"), [7, -1]),
]
# fmt: on


@pytest.mark.parametrize(
    ("path", "value"), [pytest.param(*line, id=title) for title, *line in HOSTILE]
)
def test_a_hostile_document_is_refused_in_no_time(path, value):
    document = changed(as_json(MATCHES["reshuffles"].replay()), path, value)
    text = json.dumps(document).encode()
    began = time.monotonic()
    with pytest.raises(BadReplay) as caught:
        list(checked(decoded(text)))
    assert caught.value.detail
    with suppress(BadReplay):  # what is told is what the engine plays: the proof is left alone
        list(told(decoded(text)))
    assert time.monotonic() - began < 3


def test_a_number_without_end_is_refused():
    text = json.dumps(as_json(MATCHES["straight"].replay()))
    for field in ("number", "dealer", "seat", "event", "deal", "players", "decks", "turns"):
        start = text.index(f'"{field}": ') + len(field) + 4
        endless = text[:start] + ENDLESS + text[start + 1 :]
        with pytest.raises(BadReplay):
            list(checked(decoded(endless.encode())))


def test_documents_with_anything_anywhere_are_refused_or_right():
    """Values moved to places where they do not belong."""
    document = as_json(SMALL["deal"])
    paths = list(leaves(document))
    chance = Random(1)
    for _ in range(500):
        value = document
        for step in chance.choice(paths):
            value = value[step]
        other = changed(document, chance.choice(paths), value)
        for reader in (checked, told):
            with suppress(BadReplay):
                list(reader(of_json(other)))


# ------------------------------------------------------------------------------------- telling


@pytest.mark.parametrize("name", MATCHES)
def test_every_move_is_told_in_a_line_of_its_own(name):
    for document in documents(name):
        lines = list(told(document))
        numbers = [int(line[:5]) for line in lines if line[:5].strip().isdigit()]
        deals = document.deals if isinstance(document, MatchReplay) else (document.deal,)
        assert numbers == [number for deal in deals for number in range(1, len(deal.moves) + 1)]
        assert [line for line in lines if line.startswith("Deal ")] == [
            f"Deal {deal.number}, dealt by {document.seats[deal.dealer].name}, first move at "
            f"{deal.moves[0].at:%Y-%m-%d %H:%M:%S} UTC"
            for deal in deals
        ]
        assert not any(line != line.rstrip() for line in lines)


TOLD = """\
Deal 1, dealt by Bo, first move at 1970-01-01 00:16:40 UTC
       Ada  AH 8H 9H TH QH
       Bo   AD JH 4S 7S JS
       upcard 4C, 45 in the stock
    1  Ada  stock QS                 | AH 8H 9H TH QH QS
    2  Ada  meld 8H 9H TH            | AH QH QS | 1: 8H 9H TH
    3  Ada  drop AH                  | QH QS
    4  Bo   take AH                  | AD AH JH 4S 7S JS
    5  Bo   lay JH on 1              | AD AH 4S 7S JS | 1: 8H 9H TH JH
    6  Bo   drop AD                  | AH 4S 7S JS
    7  Ada  stock KH                 | QH KH QS
    8  Ada  lay QH on 1              | KH QS | 1: 8H 9H TH JH QH
    9  Ada  lay KH on 1              | QS | 1: 8H 9H TH JH QH KH
   10  Ada  drop QS                  | no card left
       Ada is out, by a discard
       Ada  counts 0, scores 22, total 22: nothing
       Bo   counts 22, scores 0, total 0: AH 4S 7S JS
Match over: Ada won
       Ada 22, Bo 0
"""


def test_a_short_deal_reads_like_this():
    over = Over("straight", 2, "told 29", hand_size=5, jokers=4, deals=1, keen=1)
    assert "\n".join((*told(over.replay()), "")) == TOLD


def test_one_deal_can_be_told_alone():
    document = MATCHES["straight"].replay()
    lines = list(told(document, 2))
    assert lines[0].startswith("Deal 2, ")
    assert sum(line.startswith(("Deal ", "Match ")) for line in lines) == 1
    with pytest.raises(BadReplay, match=r"There is no deal 9 in the document\."):
        list(told(document, 9))


def test_names_that_are_long_are_cut_short():
    document = as_json(MATCHES["straight"].replay())
    document["seats"][0]["name"] = "Maximiliane von und zu"
    lines = list(told(of_json(document)))
    assert "Maximiliane von…" in "\n".join(lines)
    assert "Maximiliane von " not in "\n".join(lines)


def test_forced_moves_ends_and_turnovers_are_told():
    document = as_json(MATCHES["reshuffles"].replay())
    document["deals"][0]["moves"][2]["forced"] = True
    text = "\n".join(told(of_json(document)))
    assert text.count("(by the clock)") == 1
    turned = sum(len(deal["turnovers"]) for deal in document["deals"])
    assert text.count("the pile is turned over: upcard ") == turned
    assert "blocked: the stock was empty, and the upcard was declined" in "\n".join(
        told(MATCHES["blocked"].replay())
    )
    assert "blocked: it had taken too many turns" in "\n".join(
        told(MATCHES["too many turns"].replay())
    )
    given_up = "\n".join(told(MATCHES["given up"].replay()))
    assert "\n       given up\nMatch over: given up, nobody won\n" in given_up


def test_a_deal_in_the_notation_is_told_as_far_as_it_goes():
    for name in MATCHES:
        record = read(MATCHES[name].deal(1).notation)
        moves = sum(line[:5].strip().isdigit() for line in told_record(record))
        assert moves == len(record.moves)

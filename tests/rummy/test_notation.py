"""A deal as text: what is written reads as it was, and what cannot be read is told by its line."""

from contextlib import suppress
from pathlib import Path
from random import Random
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import BadNotation
from service.rummy.cards import FACES, JOKER, Card, pack
from service.rummy.model import Call, Discard, Draw, LayMeld, LayOff, Swap
from service.rummy.notation import MOST_CHARACTERS, read, written
from service.rummy.record import DealRecord, Recorded, positions
from service.rummy.rules import PRESETS, agree, choices_of
from tests.rummy.chance import random_rules
from tests.rummy.test_properties import TOURS
from tests.rummy.test_record import played

DEAL = """\
[Rummy "1"]
[Variant "call-rummy"]
[Players "3"]
[Options "jokers=2 hand_size=3 deals=1"]
[Deal "1"]
[Dealer "2"]
[Totals "0 0 0"]
[Cards "4C 9H 5S 4D 7H 5C JK KS 2H 9C 4S TD 5D AH AC AD AS 2C 2D 2S 3C 3D 3H 3S 4H 5H
        6C 6D 6H 6S 7C 7D 7S 8C 8D 8H 8S 9D 9S TC TH TS JC JD JH JS QC QD QH QS KC KD
        KH JK"]
# seat 0: Ada

1. 0: take 9C, drop 4D; 1 calls 4D on 1
"""

# ----------------------------------------------------------------------------- there and back


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("variant", PRESETS)
def test_a_deal_with_options_at_random_reads_as_it_was(variant: str, number: int):
    chance = Random(f"notation {variant} {number}")
    rules = random_rules(chance, variant, chance.randint(*PRESETS[variant].players))
    for deal in played(rules, f"{number}", keen=chance.choice([0.3, 0.7, 1.0]), most=300):
        check(deal.record)


def test_rare_deals_read_as_they_were():
    for place, tour in enumerate(TOURS):
        rules = agree(tour.variant, tour.players, tour.options)
        for deal in played(rules, f"notation {place}", tour.keen):
            check(deal.record)


def check(record: DealRecord) -> None:
    text = written(record)
    assert read(text) == record
    assert written(read(text)) == text
    assert len(text) < MOST_CHARACTERS / 2
    assert max(map(len, text.splitlines())) <= 100 + 3 * record.rules.hand_size


def test_the_choices_of_rules_agree_to_the_same_rules():
    chance = Random("choices")
    for _ in range(500):
        variant = chance.choice(list(PRESETS))
        rules = random_rules(chance, variant, chance.randint(*PRESETS[variant].players))
        assert agree(variant, rules.players, choices_of(rules)) == rules


card = st.sampled_from((*FACES, JOKER))
faces = st.sampled_from(FACES)
meld_number = st.integers(1, 99)


@st.composite
def laid(draw: st.DrawFn) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    cards = draw(st.lists(card, min_size=1, max_size=14))
    jokers = cards.count(JOKER)
    named = draw(st.one_of(st.just([]), st.lists(faces, min_size=jokers, max_size=jokers)))
    return tuple(cards), tuple(named)


@st.composite
def called(draw: st.DrawFn) -> Call:
    one = draw(st.none() | card)
    named = draw(st.tuples() | st.tuples(faces)) if one == JOKER else ()
    return Call(draw(meld_number), named, one)


any_move = st.one_of(
    st.builds(lambda drawn: (Draw("stock"), drawn), st.none() | card),
    st.builds(
        lambda move: (move, None),
        st.one_of(
            st.builds(lambda taken: Draw("discard", taken), st.none() | card),
            st.builds(lambda cards: LayMeld(*cards), laid()),
            st.builds(lambda meld, cards: LayOff(meld, *cards), meld_number, laid()),
            st.builds(Swap, meld_number, card),
            st.builds(Discard, card),
            called(),
        ),
    ),
)


@given(
    moves=st.lists(
        st.builds(lambda seat, move: Recorded(seat, *move), st.integers(0, 7), any_move)
    ),
    number=st.integers(1, 1000),
    dealer=st.integers(0, 7),
    totals=st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
    turnovers=st.lists(st.lists(card, max_size=60)),
    rules=st.integers().map(lambda number: random_rules(Random(number), "parlett", 3)),
    names=st.lists(st.text()),
)
def test_any_record_reads_as_it_was(moves, number, dealer, totals, turnovers, rules, names):
    record = DealRecord(
        rules=rules,
        number=number,
        dealer=dealer,
        cards=pack(rules.decks, rules.jokers),
        totals=tuple(totals),
        moves=tuple(moves),
        turnovers=tuple(map(tuple, turnovers)),
    )
    text = written(record, names)
    if len(text) <= MOST_CHARACTERS:
        assert read(text) == record
    assert written(read(written(record))) == written(record)


# ----------------------------------------------------------------------------- as people write


def test_a_deal_reads_as_the_moves_it_tells_of():
    record = read(
        DEAL
        + """\
2. 1: stock 4S, meld 4C JK=5C 6C, lay JK 9D on 12, swap 5H in 2, drop 4D; 0 calls JK=7C on 1
3. 2: stock none
4. 0: take
"""
    )
    assert record.moves == (
        Recorded(0, Draw("discard", "9C")),
        Recorded(0, Discard("4D")),
        Recorded(1, Call(1, (), "4D")),
        Recorded(1, Draw("stock"), "4S"),
        Recorded(1, LayMeld(("4C", "JK", "6C"), ("5C",))),
        Recorded(1, LayOff(12, ("JK", "9D"))),
        Recorded(1, Swap(2, "5H")),
        Recorded(1, Discard("4D")),
        Recorded(0, Call(1, ("7C",), "JK")),
        Recorded(2, Draw("stock")),
        Recorded(0, Draw("discard")),
    )
    assert record.rules == agree("call-rummy", 3, {"jokers": 2, "hand_size": 3})
    assert (record.number, record.dealer, record.totals) == (1, 2, (0, 0, 0))


def test_what_is_as_usual_can_be_left_out_and_space_and_remarks_do_not_matter():
    record = read(DEAL)
    short = "".join(
        line + "  # that is so\r\n\n"
        for line in DEAL.split("\n")
        if not line.startswith(("[Deal ", "[Totals", "#"))
    )
    assert read(short) == record
    assert read(DEAL.replace("1. 0: take 9C, drop 4D; 1", "1.0 :take  9C,drop 4D ;1 ")) == record
    lines = DEAL.split("\n")
    assert read("\n".join([*reversed(lines[:7]), *lines[7:]])) == record


def test_names_are_remarks():
    record = read(DEAL)
    text = written(record, ["Ada", 'B"o #1]'])
    assert '# seat 0: Ada\n# seat 1: B"o #1]\n' in text
    assert read(text) == record


def test_a_text_can_be_played_from_there_on():
    rules = agree("straight", 2, {"deals": 1})
    (deal,) = played(rules, "text")
    text = written(deal.record)
    *_, last = positions(read(text))
    assert last.match.last == deal.after[-1].last


# ------------------------------------------------------------------------------ what is wrong

WRONG = [
    # what is written, what instead, the line, and what is said of it
    ('[Rummy "1"]\n', "", 12, "[Rummy] is missing"),
    ('[Rummy "1"]', '[Rummy "2"]', 1, "only edition 1"),
    ('"call-rummy"', '"crazy"', 2, "no variant"),
    ('[Players "3"]', '[Players "7"]', 4, "for 2 to 6 players"),
    ('[Players "3"]', '[Players "three"]', 3, "whole numbers"),
    ('[Players "3"]', '[Players "3 3"]', 3, "this many of them: 1"),
    ('[Players "3"]', "[Players 3]", 3, "expected a line such as"),
    ('[Players "3"]', '[Players "3"', 3, "expected a line such as"),
    ('[Players "3"]', '[Player "3"]', 3, "there is no [Player]"),
    ('[Players "3"]', '[Players "3"]\n[Players "3"]', 4, "twice"),
    ("hand_size=3", "handsize=3", 4, "did you mean hand_size"),
    ("hand_size=3", "hand_size=0", 4, "hand_size"),
    ("hand_size=3", "hand_size=-3", 4, "whole number"),
    ("hand_size=3", "hand_size=null", 4, "must have a value"),
    ("hand_size=3", "hand_size", 4, "not hand_size"),
    ("hand_size=3", "=3", 4, "not =3"),
    ("hand_size=3", "jokers=3", 4, "twice"),
    ('[Deal "1"]', '[Deal "-1"]', 5, "whole numbers"),
    ('[Dealer "2"]', "", 13, "[Dealer] is missing"),
    ('[Totals "0 0 0"]', '[Totals "0 0"]', 7, "this many of them: 3"),
    ("4C 9H", "4C 10H", 8, "Did you mean TH?"),
    ('KH JK"]', "KH JK", 8, "the bracket is not closed"),
    ("1. 0: take", "2. 0: take", 13, "expected turn 1"),
    ("1. 0: take", "0: take", 13, "expected turn 1"),
    ("0: take 9C", "Ada: take 9C", 13, 'a seat, not "Ada"'),
    ("0: take 9C", "take 9C", 13, "for a call"),
    ("take 9C", "take 9C 8C", 13, "expected one card"),
    ("take 9C", "take nine", 13, "is not a card"),
    ("take 9C", "draw 9C", 13, 'not "draw"'),
    ("take 9C", "", 13, 'not ""'),
    ("take 9C", "stock", 13, "expected one card"),
    ("take 9C", "meld", 13, "expected cards"),
    ("take 9C", "meld 4C=5C", 13, "only a joker stands"),
    ("take 9C", "meld JK=", 13, "is not a card"),
    ("take 9C", "lay 4C", 13, 'expected "on"'),
    ("take 9C", "lay on 1", 13, "expected cards"),
    ("take 9C", "swap 4C on 1", 13, 'expected "in"'),
    ("take 9C", "swap in 1", 13, "expected one card"),
    ("take 9C", "lay 4C on x", 13, 'a meld, not "x"'),
    ("1 calls", "calls", 13, "for a call"),
    ("1 calls", "x calls", 13, 'a seat, not "x"'),
    ("1 calls", "1: take; 1 calls", 13, "only calls come behind"),
    ("calls 4D on 1", "calls 4D 5D on 1", 13, "one card is called"),
    ("calls 4D on 1", "calls 4D", 13, 'expected "on"'),
    ("on 1\n", 'on 1\n[Deal "1"]', 14, "come before the turns"),
]


@pytest.mark.parametrize(("old", "new", "line", "said"), WRONG)
def test_what_is_not_in_the_notation_is_told_by_its_line(old, new, line, said):
    assert DEAL.count(old) == 1
    with pytest.raises(BadNotation) as caught:
        read(DEAL.replace(old, new))
    assert caught.value.detail.startswith(f"Line {line}: "), caught.value.detail
    assert caught.value.params == {"line": line}
    assert said in caught.value.detail


@pytest.mark.parametrize("text", ["", " ", "# nothing", "\0", "[" * 50_000, "x" * 70_000, "\n" * 9])
def test_a_text_that_is_no_deal_at_all_is_refused(text):
    with pytest.raises(BadNotation):
        read(text)


@given(
    st.text() | st.lists(st.sampled_from([*DEAL.split(), "\n", "1.", "[", '"', "="])).map(" ".join)
)
def test_whatever_is_written_is_read_or_refused(text):
    for attempt in (text, DEAL + text, text + DEAL):
        with suppress(BadNotation):
            read(attempt)


@given(st.integers(0, len(DEAL)), st.integers(0, 9), st.text(max_size=9))
def test_a_deal_with_something_else_in_it_is_read_or_refused(place, length, text):
    with suppress(BadNotation):
        read(DEAL[:place] + text + DEAL[place + length :])


@pytest.mark.parametrize(
    "part", ["[", '[A "', "1. 0: take, ", "; ", "x=", '[Options "' + "a=1 ", "9", "JK ", "\n["]
)
def test_long_texts_are_read_fast(part):
    text = part * (MOST_CHARACTERS // len(part))
    start = perf_counter()
    for attempt in (text, (DEAL + text)[:MOST_CHARACTERS]):
        with pytest.raises(BadNotation):
            read(attempt)
    assert perf_counter() - start < 0.5


# ------------------------------------------------------------------------------- as it is described


def test_the_example_of_the_description_is_a_deal_as_the_service_writes_it():
    page = (Path(__file__).parents[2] / "docs" / "notation.md").read_text()
    text = page.partition("```text\n")[2].partition("```")[0]
    record = read(text)
    assert written(record, ["Ada", "Bo", "Cleo"]) == text
    *_, last = positions(record)
    assert last.match.last is not None
    assert (last.match.last.winner, last.match.last.how) == (0, "discard")
    assert record.moves[16].move == Swap(2, "3H")
    for header in ("Rummy", "Variant", "Players", "Options", "Deal", "Dealer", "Totals", "Cards"):
        assert f'\n| `[{header} "' in page

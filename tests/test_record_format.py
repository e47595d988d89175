"""What a record looks like: the format of this version, and the one that 0.1.0 reads and writes.

The code of 0.1.0 is not here any more. What holds its place: records that it wrote, which come out
again byte for byte, and `format_3.schema.json`, made from its types, which knows no other field.
"""

import json
from itertools import islice
from pathlib import Path
from random import Random

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from service.config import Config
from service.errors import UnreadableRecord
from service.game import FORMAT, WRITTEN, Game, Practice, Seat, decode, encode
from service.rummy.engine import new_match
from service.rummy.model import Match
from service.rummy.rules import PRESETS
from tests.rummy.chance import random_position, random_rules
from tests.rummy.test_properties import steps

HERE = Path(__file__).parent
KEPT = json.loads((HERE / "records_of_before.json").read_text())
IS_FORMAT_3 = jsonschema_rs.Draft202012Validator(
    json.loads((HERE / "format_3.schema.json").read_text())
)

each_kept = pytest.mark.parametrize(
    "kept", KEPT, ids=lambda kept: f"{kept['what']}-{kept['format']}"
)
each_of_format_3 = pytest.mark.parametrize(
    "kept", [kept for kept in KEPT if kept["format"] == 3], ids=lambda kept: kept["what"]
)


def record_of(kept: dict) -> bytes:
    return kept["game"]["record"].encode()


def number_of(record: bytes) -> int:
    return json.loads(record)["format"]


@each_of_format_3
def test_what_0_1_0_wrote_is_written_again_byte_for_byte(kept):
    record = record_of(kept)
    assert IS_FORMAT_3.is_valid(json.loads(record))
    game = decode(record)
    assert encode(game, 3) == record
    assert encode(decode(encode(game, 4)), 3) == record


@each_kept
def test_what_was_ever_written_says_the_same_in_every_format(kept):
    game = decode(record_of(kept))
    assert number_of(encode(game)) == WRITTEN
    assert number_of(encode(game, FORMAT)) == FORMAT
    assert decode(encode(game, 3)) == decode(encode(game, 4)) == game
    assert len(encode(game, 4)) < len(encode(game, 3))


def test_unless_told_otherwise_what_0_1_0_can_read_is_written():
    assert Config().record_format == WRITTEN == 3


@pytest.mark.parametrize("number", [0, 5, "4", None])
def test_any_other_format_is_refused(number):
    record = json.loads(record_of(KEPT[-1]))
    with pytest.raises(UnreadableRecord):
        decode(json.dumps(record | {"format": number}).encode())


# ---------------------------------------------------------------------------- all that can be


@st.composite
def matches(draw: st.DrawFn) -> Match:
    """A position that may come about, or what a match has come to after some moves."""
    chance = draw(st.randoms(use_true_random=False))
    variant = draw(st.sampled_from(sorted(PRESETS)))
    rules = random_rules(chance, variant, chance.randint(*PRESETS[variant].players))
    if draw(st.booleans()):
        return random_position(chance, rules)
    match, _ = new_match(rules, "a seed", game="a" * 16, entropy=("heads",) * rules.players)
    for step in islice(steps(match, chance, 0.7), chance.randint(0, 60)):
        match = step[3]
    return match


text = st.text('å☂ab"\\\n0', max_size=5)
maybe_number = st.none() | st.integers(0, 10**15)
seats = st.builds(
    Seat,
    name=text,
    token_hash=st.none() | text,
    computer=st.sampled_from([None, "random", "steady", "sharp"]),
    away=st.sampled_from([None, "left", "timed_out"]),
    forced=st.integers(0, 9),
    place=st.none() | st.integers(0, 7),
    entropy=text,
)
games = st.builds(
    Game,
    id=text,
    version=st.integers(1, 2**53),
    created_at=st.integers(0, 2**53),
    changed_at=st.integers(0, 2**53),
    variant=st.sampled_from(sorted(PRESETS)),
    chosen=st.dictionaries(text, st.none() | st.booleans() | st.integers(0, 999) | text),
    seats=st.lists(seats, max_size=3).map(tuple),
    size=st.integers(2, 8),
    public=st.booleans(),
    autostart=st.booleans(),
    seed=text,
    practice=st.none()
    | st.builds(
        Practice,
        seed=text,
        order=st.sampled_from([None, ("AS", "JK")]),
        dealer=st.none() | st.integers(0, 7),
        deal=st.none() | text,
    ),
    match=st.none() | matches(),
    events=st.integers(0, 2**53),
    invitation=st.none() | text,
    spectators=st.booleans(),
    closed=st.booleans(),
    due=maybe_number,
    rematch=st.none() | text,
    rematch_of=st.none() | text,
)


@settings(deadline=None)
@given(games)
def test_whatever_there_can_be_comes_back_as_it_was_in_both_formats(game):
    written = encode(game, 3)
    assert decode(written) == game
    assert decode(encode(game, 4)) == game
    IS_FORMAT_3.validate(json.loads(written))


def test_a_field_that_0_1_0_does_not_know_would_be_noticed():
    record = json.loads(record_of(KEPT[-1]))
    assert IS_FORMAT_3.is_valid(record)
    record["game"]["dog"] = None
    assert not IS_FORMAT_3.is_valid(record)


def test_in_the_long_run_a_record_hardly_grows_with_the_discards():
    """A deal may have a thousand turns."""
    chance = Random(1)
    rules = random_rules(chance, "straight", 2, jokers=0, decks=1)
    match, _ = new_match(rules, "a seed")
    for step in islice(steps(match, chance, 0.0), 1200):
        match = step[3]
    assert match.deal is not None
    assert len(match.deal.thrown) > 300
    game = decode(record_of(KEPT[-1]))
    game = replace(game, match=match)
    shorter = replace(match, deal=replace(match.deal, discards=type(match.deal.discards)()))
    grown = len(encode(game, 4)) - len(encode(replace(game, match=shorter), 4))
    assert grown <= 5 * len(match.deal.thrown) + 20

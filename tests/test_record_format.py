"""What a record and a log look like: in the format of this version, and as 0.1.0 has them.

The code of 0.1.0 is not here any more. What holds its place: records that it wrote, which come out
again byte for byte, and `format_3.schema.json`, made from its types, which knows no other field.
"""

import json
import os
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from service import game
from service.config import Config
from service.errors import UnreadableRecord
from service.game import (
    FORMAT,
    WRITTEN,
    Event,
    Game,
    Practice,
    Removed,
    Returned,
    Seat,
    decode,
    decode_event,
    encode,
    encode_event,
)
from service.rummy.engine import new_match
from service.rummy.model import Declined, Match
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
    if record.startswith(b"{"):
        return json.loads(record)["format"]
    return msgspec.msgpack.decode(record)[0]


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


@pytest.mark.parametrize("number", [0, 4, 5, "3", None])
def test_any_other_format_is_refused(number):
    record = json.loads(record_of(KEPT[-1]))
    with pytest.raises(UnreadableRecord):
        decode(json.dumps(record | {"format": number}).encode())
    if number != 4:
        _, *row = msgspec.msgpack.decode(encode(decode(record_of(KEPT[-1])), 4))
        with pytest.raises(UnreadableRecord):
            decode(msgspec.msgpack.encode([number, *row]))


@pytest.mark.parametrize("garbage", [b"", b"{", b"\x93", b"\x93\x04\xc0", b"null", b"\xff"])
def test_what_is_no_record_is_refused(garbage):
    with pytest.raises(UnreadableRecord):
        decode(garbage)
    with pytest.raises(UnreadableRecord):
        decode_event(garbage)


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


def layout_of(kind: Any) -> dict[str, list[str]]:
    """The fields of all structs that a row or a value of that kind is made of, in their order."""
    info = msgspec.inspect.type_info(kind)
    found: dict[str, list[str]] = {}

    def look(part: object) -> None:
        if isinstance(part, msgspec.inspect.StructType) and part.array_like:
            name = f"{part.cls.__name__} {'' if part.tag is None else part.tag}".strip()
            fields = [
                field.name + ("" if field.required else " may be missing") for field in part.fields
            ]
            assert found.setdefault(name, fields) == fields
            for field in part.fields:
                look(field.type)
        for inside in ("types", "item_types"):
            for item in getattr(part, inside, ()):
                look(item)
        look_into = getattr(part, "item_type", None)
        if look_into is not None:
            look(look_into)

    look(info)
    return found


def test_in_rows_a_field_is_only_added_at_the_end():
    """What was stored once is read by its places: see `service.rows`."""
    kept = HERE / "rows_of_format_4.json"
    layout: dict[str, list[str]] = {}
    for kind in (game._Record, game._RULES.row, game._EventRow):
        layout |= layout_of(kind)
    if os.environ.get("RUMMY_REWRITE"):
        kept.write_text(json.dumps(layout, indent=1) + "\n")
    for name, fields in json.loads(kept.read_text()).items():
        assert layout[name][: len(fields)] == fields, name
        assert all(field.endswith("may be missing") for field in layout[name][len(fields) :]), name


def test_every_event_is_written_as_0_1_0_did_or_as_a_row():
    of_0_1_0 = [kept for kept in KEPT if kept["format"] == 3]
    logs = [fields["e"].encode() for kept in of_0_1_0 for _, fields in kept["events"]]
    logs += [encode_event(event, 3) for event in (Declined(1), Removed(1, "å☂"), Returned(0))]
    kinds = set()
    for text in logs:
        event = decode_event(text)
        kinds.add(type(event))
        assert encode_event(event, 3) == text
        assert decode_event(encode_event(event, 4)) == event
        assert len(encode_event(event, 4)) < 0.75 * len(text)
    assert kinds == set(get_args(Event))


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

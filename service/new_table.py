"""A table as somebody wants it, before anybody sits there."""

import secrets
import unicodedata

from msgspec import Struct
from msgspec.structs import replace

from service.errors import BadPractice, BadTable, BadText
from service.game import Event, Game, Practice
from service.rummy.cards import Card
from service.rummy.computer import Level
from service.rummy.engine import new_match
from service.rummy.rules import Choices, agree
from service.seating import seated
from service.text import Text

MOST_NAME_CHARACTERS = 40
MOST_SEED_CHARACTERS = 200

_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that show nothing."""
_JOINERS = "\u200c\u200d"
"""Invisible, but needed to write some languages and emoji."""


class PracticeWish(Struct, frozen=True, kw_only=True):
    """Which cards a practice table is to have: a seed, an order of the pack, or both."""

    seed: str | None = None
    order: tuple[Card, ...] | None = None
    dealer: int | None = None


class NewTable(Struct, frozen=True, kw_only=True):
    """What somebody asks for who makes a table."""

    variant: str
    name: str
    options: Choices
    seats: int
    public: bool
    autostart: bool
    private: bool = False
    spectators: bool = True
    computers: tuple[Level, ...] = ()
    practice: PracticeWish | None = None


def empty_table(wanted: NewTable, game_id: str, now: int) -> Game:
    """The table before its maker sits down, still without an invitation code.

    Raises NoSuchVariant, OptionsRefused, BadTable, BadPractice and BadText.
    """
    rules = agree(wanted.variant, wanted.seats, wanted.options)
    if len(wanted.computers) >= wanted.seats:
        raise BadTable(
            Text("{field}: with {seats} seats there is room for {most} beside yours."),
            field="computers",
            seats=wanted.seats,
            most=wanted.seats - 1,
        )
    if wanted.public and wanted.private:
        raise BadTable(
            Text("{field}: a public table is for everybody; choose one of the two."),
            field="private",
        )
    practice = _practice(wanted.practice)
    if practice:  # what cannot be dealt is refused now, not when the last player comes
        new_match(rules, practice.seed, practice.dealer, practice.order)
    return Game(
        id=game_id,
        version=0,
        created_at=now,
        changed_at=now,
        variant=wanted.variant,
        chosen=dict(wanted.options),
        seats=(),
        size=wanted.seats,
        public=wanted.public,
        autostart=wanted.autostart,
        practice=practice,
        spectators=wanted.spectators,
    )


def rematch_of(old: Game, game_id: str, now: int) -> tuple[Game, Game, tuple[Event, ...]]:
    """The table for another match of the same people: empty, and with the computers at theirs.

    The events tell of them.
    """
    empty = Game(
        id=game_id,
        version=0,
        created_at=now,
        changed_at=now,
        variant=old.variant,
        chosen=old.chosen,
        seats=(),
        size=old.size,
        public=False,
        autostart=old.autostart,
        practice=old.practice,
        spectators=old.spectators,
        rematch_of=old.id,
    )
    game, events = empty, tuple[Event, ...]()
    for place, seat in enumerate(old.seats):
        if not seat.is_persons:
            game, joined = seated(game, replace(seat, place=place), seed="")
            events += joined
    return empty, game, events


def clean_name(name: str) -> str:
    """The name in composed form with single spaces. Raises BadText."""
    return _clean("name", name, MOST_NAME_CHARACTERS)


def _practice(wish: PracticeWish | None) -> Practice | None:
    if wish is None:
        return None
    if wish.seed is None and wish.order is None:
        raise BadPractice(Text("A practice table needs a seed, or the order of the cards."))
    seed = secrets.token_hex(32)
    if wish.seed is not None:
        seed = _clean("practice.seed", wish.seed, MOST_SEED_CHARACTERS)
    return Practice(seed, wish.order, wish.dealer)


def _clean(field: str, text: str, most: int) -> str:
    """The text in composed form with single spaces; BadText if it is empty, long or unprintable."""
    for sign in text:
        category = unicodedata.category(sign)
        hidden = sign in _BLANK or (category == "Cf" and sign not in _JOINERS)
        if hidden or category in _UNPRINTABLE:
            raise BadText(
                Text("{field}: {sign} is a control or invisible character; leave it out."),
                field=field,
                sign=f"U+{ord(sign):04X}",
            )
    clean = " ".join(unicodedata.normalize("NFC", text).split())
    if not clean.strip(_JOINERS + " "):
        clean = ""
    if not 1 <= len(clean) <= most:
        raise BadText(
            Text("{field}: must have 1 to {most} characters, not {length}."),
            field=field,
            most=most,
            length=len(clean),
        )
    return clean

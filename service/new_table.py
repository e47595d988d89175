"""A table as somebody wants it, before anybody sits there."""

import unicodedata

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from service.errors import BadPractice, BadTable, BadText
from service.game import Event, Game, Practice
from service.rummy.cards import Card, pack
from service.rummy.computer import Level
from service.rummy.engine import new_match
from service.rummy.notation import written
from service.rummy.record import DealRecord
from service.rummy.rules import Choices, agree
from service.rummy.shuffle import shuffled
from service.seating import first_commitment, seated
from service.text import Text
from service.what_if import choices_for, deal_until, guard_options, guard_seats

MOST_NAME_CHARACTERS = 40
MOST_SEED_CHARACTERS = 200

SANDBOX_NAMES = ("Anna", "Bo")
"""Who sits in the sandbox, by seat."""

# fmt: off
_FIRST_CARDS = (
    "5H", "6H", "JK", "3C", "7H", "3D", "8H", "3S", "9H", "QS", "KD", "QD",  # dealt by turns
    "TC",  # the upcard
    "2S", "4C",  # drawn by seat 0 and seat 1
)
# fmt: on

_UNPRINTABLE = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that show nothing."""
_JOINERS = "\u200c\u200d"
"""Invisible, but needed to write some languages and emoji."""


class PracticeWish(Struct, frozen=True, kw_only=True):
    """Which cards a practice table is to have: a seed, an order of the pack, or both.

    Or it goes on with a `deal` in the notation, after so many of its `moves`; unset: after all.
    """

    # Unset is not None: what was added later must not change the hash of a wish without it, or an
    # Idempotency-Key would not be good any more after an upgrade.

    seed: str | None = None
    order: tuple[Card, ...] | None = None
    dealer: int | None = None
    deal: str | UnsetType = UNSET
    moves: int | UnsetType = UNSET


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


def sandbox() -> NewTable:
    """The table for trying things out: its first turns have a use for every kind of move.

    Seat 0 begins. A run with a joker in it, a layoff, a discard that can be called; then seat 1
    can swap the joker out and go out.
    """
    rest = list(pack(1, 2))
    for card in _FIRST_CARDS:
        rest.remove(card)
    order = (*_FIRST_CARDS, *shuffled(rest, b"", "sandbox"))
    return NewTable(
        variant="call-rummy",
        name=SANDBOX_NAMES[0],
        options={"deals": 1, "hand_size": 6, "jokers": 2},
        seats=2,
        public=False,
        autostart=True,
        practice=PracticeWish(seed="sandbox", order=order, dealer=1),
    )


def empty_table(wanted: NewTable, game_id: str, now: int, seed: str) -> Game:
    """The table before its maker sits down, still without an invitation code.

    All chance of its match comes from `seed`, or from that of the practice. Raises NoSuchVariant,
    OptionsRefused, BadTable, BadPractice, BadNotation, BadReplay and BadText.
    """
    record, chosen = _begun_deal(wanted.practice), wanted.options
    if record:
        guard_seats(record, wanted.variant, wanted.seats)
        chosen = choices_for(record, chosen)
    rules = agree(wanted.variant, wanted.seats, chosen)
    if record:
        guard_options(record, rules)
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
    practice = _practice(wanted.practice, seed, record)
    if practice:  # what cannot be dealt is refused now, not when the last player comes
        new_match(rules, practice.seed, practice.dealer, practice.order)
    return Game(
        id=game_id,
        version=0,
        created_at=now,
        changed_at=now,
        variant=wanted.variant,
        chosen=dict(chosen),
        seats=(),
        size=wanted.seats,
        public=wanted.public,
        autostart=wanted.autostart,
        seed=practice.seed if practice else seed,
        practice=practice,
        spectators=wanted.spectators,
    )


def rematch_of(
    old: Game, game_id: str, now: int, seed: str
) -> tuple[Game, Game, tuple[Event, ...]]:
    """The table for another match of the same people: empty, and with the computers at theirs.

    The events tell of them. All chance comes from `seed`; practice begins with the same cards.
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
        seed=old.practice.seed if old.practice else seed,
        practice=old.practice,
        spectators=old.spectators,
        rematch_of=old.id,
    )
    game, events = empty, first_commitment(empty)
    for place, seat in enumerate(old.seats):
        if not seat.is_persons:
            game, joined = seated(game, replace(seat, place=place), now)
            events += joined
    return empty, game, events


def clean_name(name: str) -> str:
    """The name in composed form with single spaces. Raises BadText."""
    return _clean("name", name, MOST_NAME_CHARACTERS)


def _begun_deal(wish: PracticeWish | None) -> DealRecord | None:
    """The deal that the table is to go on with, if it is; as far as it was played."""
    if wish is None:
        return None
    if wish.deal is UNSET:
        if wish.moves is not UNSET:
            raise BadPractice(Text("practice.moves: it counts those of a deal; send that too."))
        return None
    if wish.order is not None or wish.dealer is not None:
        raise BadPractice(Text("practice.deal says the order and the dealer; leave them out."))
    return deal_until(wish.deal, None if wish.moves is UNSET else wish.moves)


def _practice(wish: PracticeWish | None, seed: str, record: DealRecord | None) -> Practice | None:
    if wish is None:
        return None
    if wish.seed is None and wish.order is None and record is None:
        raise BadPractice(Text("A practice table needs a seed, the order of the cards, or a deal."))
    if wish.seed is not None:
        seed = _clean("practice.seed", wish.seed, MOST_SEED_CHARACTERS)
    if record:
        return Practice(seed, record.cards, record.dealer, written(record))
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

"""The requests: what each body and query may hold, and what it becomes inside.

Responses are documented by the structures of `service.views` themselves.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from marshmallow import (
    RAISE,
    Schema,
    ValidationError,
    fields,
    post_load,
    validate,
    validates_schema,
)
from marshmallow.types import ErrorMessages

from service.errors import BadCard
from service.new_table import MOST_NAME_CHARACTERS, NewTable, PracticeWish
from service.rummy.cards import Card, parse_card
from service.rummy.computer import LEVELS
from service.rummy.model import Call, Discard, Draw, LayMeld, LayOff, Move, Play, Swap, Turn
from service.rummy.notation import MOST_CHARACTERS
from service.rummy.rules import OPTIONS, PRESETS, Option
from service.text import Text
from service.views import SeatToken

MOST_CARDS = 30
"""More cards than any hand can have."""

_DIGITS = re.compile("[0-9]{1,16}")
_MOST_CARDS_IN_PACK = 112
_MOST_TEXT = 200
_MOST_MELD = 1000
_MOST_TOKENS = 50
_MOST_WAIT_SECONDS = 60
_FEWEST_SEATS = min(preset.players[0] for preset in PRESETS.values())
_MOST_SEATS = max(preset.players[1] for preset in PRESETS.values())


def _characters(least: int, most: int, said: int | None = None) -> validate.Length:
    """So many characters, or as it is `said` at most."""
    error = Text("Must have {least} to {most} characters.").format(least=least, most=said or most)
    return validate.Length(least, most, error=error)


def _items(least: int, most: int) -> validate.Length:
    error = Text("Must have {least} to {most} items.").format(least=least, most=most)
    return validate.Length(least, most, error=error)


def _range(low: int, high: int) -> validate.Range:
    error = Text("Must be from {low} to {high}.").format(low=low, high=high)
    return validate.Range(low, high, error=error)


def _one_of(choices: Sequence[str]) -> validate.OneOf:
    return validate.OneOf(choices, error=_ONE_OF.format(choices=", ".join(choices)))


_ONE_OF = Text("Must be one of: {choices}.")
_NAME_LENGTH = _characters(1, _MOST_TEXT, said=MOST_NAME_CHARACTERS)
"""Of the text as it is sent; once composed it is held against the stricter limit."""


# marshmallow's own sentences know no language, so each is given anew.
_OF_FIELDS: ErrorMessages = {
    "required": Text("Missing data for required field."),
    "null": Text("Field may not be null."),
}
_OF_STRINGS: ErrorMessages = {"invalid": Text("Not a valid string.")}
_OF_LISTS: ErrorMessages = {"invalid": Text("Not a valid list.")}
_OF_OBJECTS: dict[str, str] = {
    "unknown": Text("Unknown field."),
    "type": Text("Must be an object."),
}


class _Told(fields.Field[Any]):
    """What is told of a field of any kind that is missing or null."""

    default_error_messages = _OF_FIELDS


class StringField(_Told, fields.String):
    """A text."""

    default_error_messages = _OF_STRINGS


class CardField(StringField):
    """A card, as rank and suit."""

    looks: ClassVar[dict[str, Any]] = msgspec.json.schema(Card)

    def __init__(self, **kwargs: Any) -> None:
        looks = {name: value for name, value in self.looks.items() if name != "type"}
        super().__init__(metadata=looks | kwargs.pop("metadata", {}), **kwargs)

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> Card:
        try:
            return parse_card(value)
        except BadCard as error:
            raise ValidationError(error.detail) from error


class NaturalCardField(CardField):
    """A card that is no joker."""

    looks: ClassVar[dict[str, Any]] = {
        "type": "string",
        "title": "NaturalCard",
        "description": "A card that is no joker: rank (A23456789TJQK) then suit (CDHS).",
        "pattern": "^[A23456789TJQK][CDHS]$",
        "examples": ["9C"],
    }

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> Card:
        card = super()._deserialize(value, *args, **kwargs)
        if card == "JK":
            raise ValidationError(Text("Name a natural card, not a joker."))
        return card


class TupleOf(_Told, fields.List[Any]):
    """A list that arrives as a tuple."""

    default_error_messages = _OF_LISTS

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> Any:
        return tuple(super()._deserialize(value, *args, **kwargs))


class Flag(_Told, fields.Boolean):
    """true or false, and nothing that only looks like it."""

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError(Text("Must be true or false."))
        return value


class Number(_Told, fields.Integer):
    """A whole number, and nothing that only looks like it."""

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(strict=True, validate=_range(low, high), **kwargs)

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValidationError(Text("Must be a whole number."))
        return value


class QueryNumber(_Told, fields.Integer):
    """A whole number in a query string, in plain digits."""

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(validate=_range(low, high), **kwargs)

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> int:
        if not isinstance(value, str) or not _DIGITS.fullmatch(value):
            raise ValidationError(Text("Must be a whole number in plain digits."))
        return int(value)


class QueryFlag(_Told, fields.Boolean):
    """A switch in a query string: its name alone, `true` or `false`."""

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> bool:
        if value not in ("", "true", "false"):
            raise ValidationError(
                Text("Write `{field}=true`, or leave it out.").format(field=self.name)
            )
        return value != "false"


class Options(_Told):
    """House-rule options by name; the rules say whether they can be played."""

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError(Text("Must be an object: option names and their values."))
        wrong = [name for name, choice in value.items() if isinstance(choice, dict | list | float)]
        if wrong:
            reason = Text("Must be true or false, a whole number, a text or null.")
            raise ValidationError({name: [reason] for name in wrong})
        return value


def options_schema() -> dict[str, Any]:
    """The JSON schema of the options of a new table."""
    return {
        "type": "object",
        "title": "Options",
        "description": (
            "House rules, agreed before the cards are dealt. What is left out is as the variant "
            "has it. GET /v1/variants tells the defaults."
        ),
        "additionalProperties": False,
        "properties": {option.name: option_schema(option) for option in OPTIONS.values()},
    }


def option_schema(option: Option) -> dict[str, Any]:
    """The JSON schema of one option's values."""
    schema: dict[str, Any]
    if option.kind == "switch":
        schema = {"type": "boolean"}
    elif option.kind == "choice":
        title = f"{option.name.title().replace('_', '')}Option"
        schema = {"type": "string", "title": title, "enum": list(option.choices)}
    else:
        schema = {"type": "integer", "minimum": option.low, "maximum": option.high}
    if option.nothing:
        schema["type"] = [schema["type"], "null"]
    null = f" Null: {option.nothing}." if option.nothing else ""
    return schema | {"description": option.summary + null}


class NestedField(_Told, fields.Nested):
    """An object inside the body."""


class RequestSchema(Schema):
    """What every request shares: an unknown field is refused."""

    error_messages = _OF_OBJECTS

    class Meta:
        unknown = RAISE


LEVEL: dict[str, Any] = {
    "title": "ComputerLevel",
    "description": "How well a computer player plays.",
    "type": "string",
    "enum": list(LEVELS),
}
VARIANT: dict[str, Any] = {
    "title": "VariantId",
    "description": "The id of a variant.",
    "type": "string",
    "enum": list(PRESETS),
}


def _level() -> StringField:
    return StringField(validate=_one_of(LEVELS), metadata=LEVEL | {"examples": ["steady"]})


class PracticeRequest(RequestSchema):
    """Cards known beforehand: a seed, or the order of the first deal, or both.

    Or a deal to go on with, and a seed for what comes later.
    """

    seed = StringField(
        validate=_characters(1, _MOST_TEXT),
        metadata={"description": "All chance of the match comes from it.", "examples": ["demo"]},
    )
    order = TupleOf(
        CardField(),
        validate=_items(1, _MOST_CARDS_IN_PACK),
        metadata={
            "description": (
                "The whole pack for the first deal: dealt a card at a time from the dealer's left, "
                "then the upcard if the variant has one, then the stock, the next card first."
            )
        },
    )
    dealer = Number(
        0,
        _MOST_SEATS - 1,
        metadata={"description": "The seat that deals first; left out, it is drawn by lot."},
    )
    deal = StringField(
        validate=_characters(1, MOST_CHARACTERS),
        metadata={
            "description": (
                "A deal in the text notation (docs/notation.md) that the match begins with, and "
                "goes on from some point of it. `variant` and `seats` must be those of the deal, "
                "and so must each of the `options` that is named, but for how the match ends and "
                "what is about the table only; what is not named is as in the deal. `order` and "
                "`dealer` cannot be given with it."
            )
        },
    )
    moves = Number(
        0,
        MOST_CHARACTERS,
        metadata={
            "description": (
                "After so many moves of `deal` the players of this table go on: each take, stock, "
                "meld, lay, swap, drop and call is one. Left out: after all of them. The deal must "
                "not be over by then."
            )
        },
    )

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> PracticeWish:
        return PracticeWish(**data)


class NewTableRequest(RequestSchema):
    """A table to make."""

    variant = StringField(
        required=True,
        validate=_one_of(tuple(PRESETS)),
        metadata=VARIANT | {"description": "The rule text to play by.", "examples": ["straight"]},
    )
    name = StringField(
        required=True,
        validate=_NAME_LENGTH,
        metadata={
            "description": f"The name of the maker, up to {MOST_NAME_CHARACTERS} characters.",
            "examples": ["Anna"],
        },
    )
    options = Options(load_default=dict)
    seats = Number(
        _FEWEST_SEATS,
        _MOST_SEATS,
        load_default=2,
        metadata={"description": "How many seats, the maker's included."},
    )
    public = Flag(
        load_default=False,
        metadata={"description": "Whether the table is listed while it waits for players."},
    )
    private = Flag(
        load_default=False,
        metadata={
            "description": "Whether joining takes an invitation code, which the maker is given."
        },
    )
    spectators = Flag(
        load_default=True,
        metadata={"description": "Whether the match may be watched without a seat."},
    )
    computers = TupleOf(
        _level(),
        load_default=(),
        validate=_items(0, _MOST_SEATS - 1),
        metadata={
            "description": "Computer players for the next seats, by level, so that fewer people "
            "are needed. With all other seats given to them the match starts at once.",
        },
    )
    autostart = Flag(
        load_default=True,
        metadata={"description": "Whether the match starts when the last seat is taken."},
    )
    practice = NestedField(
        PracticeRequest,
        allow_none=True,
        load_default=None,
        metadata={
            "description": "For practice, tutorials and tests, and shown as such everywhere; null "
            "or left out: nobody knows the cards beforehand."
        },
    )

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> NewTable:
        return NewTable(**data)


def _entropy(**presence: Any) -> StringField:
    return StringField(
        validate=validate.Regexp(
            r"^[!-~]{1,100}(?!\s)$",  # a plain $ lets a line feed pass
            error=Text("Must have 1 to 100 printable ASCII characters, without spaces."),
        ),
        metadata={
            "description": "Anything that nobody else can foresee: the next deal's cards depend on "
            "it too. Everybody sees it."
            + (" Null or left out: nothing." if "load_default" in presence else ""),
            "examples": ["27-coins-and-a-die"],
        },
        **presence,
    )


class JoinRequest(RequestSchema):
    """Who takes a seat."""

    name = StringField(
        required=True,
        validate=_NAME_LENGTH,
        metadata={
            "description": f"Up to {MOST_NAME_CHARACTERS} characters.",
            "examples": ["Bo"],
        },
    )
    invitation = StringField(
        allow_none=True,
        load_default=None,
        validate=_characters(1, _MOST_TEXT),
        metadata={
            "description": "The code of a private table; small or large letters, with or without "
            "the dash. Null or left out: the table is not private."
        },
    )
    entropy = _entropy(allow_none=True, load_default=None)


class EmptyRequest(RequestSchema):
    """Nothing: the request needs no body."""


class RematchRequest(RequestSchema):
    """Who comes again."""

    entropy = _entropy(allow_none=True, load_default=None)


class EntropyRequest(RequestSchema):
    """What a seat adds to the chance of the next deal."""

    entropy = _entropy(required=True)


class ComputersRequest(RequestSchema):
    """The computer players that take the next free seats."""

    levels = TupleOf(
        _level(),
        required=True,
        validate=_items(1, _MOST_SEATS - 1),
        metadata={"description": "One for each, by level."},
    )


class Removal(msgspec.Struct, frozen=True):
    """Who is to be removed: the seat, and if it is said who has it."""

    seat: int
    name: str | None


class RemoveRequest(RequestSchema):
    """Who is removed."""

    seat = Number(
        0, _MOST_SEATS - 1, required=True, metadata={"description": "The seat to be freed."}
    )
    name = StringField(
        allow_none=True,
        load_default=None,
        validate=_NAME_LENGTH,
        metadata={
            "description": "Only if this is who sits there, as seats move up when others leave; "
            "null or left out: whoever it is."
        },
    )

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Removal:
        return Removal(**data)


class GamesOfRequest(RequestSchema):
    """The seats whose games are asked for."""

    tokens = TupleOf(
        StringField(metadata=msgspec.json.schema(SeatToken)),
        required=True,
        validate=_items(1, _MOST_TOKENS),
        metadata={"description": "Seat tokens, of any games."},
    )


def _move(name: str, *, required: bool = False) -> StringField:
    return StringField(
        required=required,
        validate=_one_of((name,)),
        metadata={
            "description": (
                "Tells the plays of a turn apart."
                if required
                else "May be left out; moves are listed with it."
            ),
        },
    )


def _jokers() -> TupleOf:
    return TupleOf(
        NaturalCardField(),
        validate=_items(0, MOST_CARDS),
        load_default=(),
        metadata={
            "description": (
                "The natural card that each joker among the cards stands for, in any order. May be "
                "left out where only one choice is possible."
            )
        },
    )


def _as_in(move: type[Move], field: str) -> dict[str, Any]:
    """The description that the move has of that field."""
    schema = msgspec.json.schema(move)["$defs"][move.__name__]
    return {"description": schema["properties"][field]["description"]}


def _cards(move: type[Move]) -> TupleOf:
    return TupleOf(
        CardField(),
        required=True,
        validate=_items(1, MOST_CARDS),
        metadata=_as_in(move, "cards"),
    )


def _meld() -> Number:
    return Number(
        1, _MOST_MELD, required=True, metadata={"description": "The `id` of a meld on the table."}
    )


def _expected() -> CardField:
    return CardField(
        allow_none=True,
        load_default=None,
        metadata={
            "description": (
                "The upcard as the caller knows it: if it is another one now, nothing happens. "
                "Null or left out: whatever it is."
            )
        },
    )


class MoveRequest(RequestSchema):
    """A move, which the same body always means."""


class DrawRequest(MoveRequest):
    """Where to draw from."""

    move = _move("draw")
    source = StringField(
        required=True,
        data_key="from",
        validate=_one_of(("stock", "discard")),
        metadata={"title": "DrawSource"},
    )
    card = _expected()

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Move:
        return Draw(data["source"], data["card"])


class MeldRequest(MoveRequest):
    """A new meld."""

    move = _move("meld")
    cards = _cards(LayMeld)
    jokers = _jokers()

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Play:
        return LayMeld(data["cards"], data["jokers"])


class LayoffRequest(MoveRequest):
    """Cards for a meld on the table."""

    move = _move("layoff")
    meld = _meld()
    cards = _cards(LayOff)
    jokers = _jokers()

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Play:
        return LayOff(data["meld"], data["cards"], data["jokers"])


class SwapRequest(MoveRequest):
    """A natural card for the joker that stands for it."""

    move = _move("swap")
    meld = _meld()
    card = NaturalCardField(required=True, metadata=_as_in(Swap, "card"))

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Play:
        return Swap(data["meld"], data["card"])


class DiscardRequest(MoveRequest):
    """The card to discard."""

    move = _move("discard")
    card = CardField(required=True, metadata=_as_in(Discard, "card"))

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Move:
        return Discard(data["card"])


class RummyRequest(MoveRequest):
    """The meld that the upcard fits."""

    move = _move("rummy")
    meld = _meld()
    jokers = _jokers()
    card = _expected()

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Move:
        return Call(data["meld"], data["jokers"], data["card"])


class MeldPlay(MeldRequest):
    """A new meld as one of the plays of a turn."""

    move = _move("meld", required=True)


class LayoffPlay(LayoffRequest):
    """A layoff as one of the plays of a turn."""

    move = _move("layoff", required=True)


class SwapPlay(SwapRequest):
    """A swap as one of the plays of a turn."""

    move = _move("swap", required=True)


PLAYS: dict[str, RequestSchema] = {
    "meld": MeldPlay(),
    "layoff": LayoffPlay(),
    "swap": SwapPlay(),
}


class PlayField(_Told):
    """A meld, a layoff or a swap, told apart by its `move`."""

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> Play:
        if not isinstance(value, dict):
            raise ValidationError(Text("Must be an object."))
        kind = value.get("move")
        schema = PLAYS.get(kind) if isinstance(kind, str) else None
        if schema is None:
            raise ValidationError({"move": [_ONE_OF.format(choices=", ".join(PLAYS))]})
        play: Play = schema.load(value)
        return play


class TurnRequest(MoveRequest):
    """The rest of a turn: what to play, in order, and what to discard."""

    move = _move("turn")
    plays = TupleOf(
        PlayField(),
        load_default=(),
        validate=_items(0, MOST_CARDS),
        metadata={"description": "Melds, layoffs and swaps, in order."},
    )
    discard = CardField(
        allow_none=True,
        load_default=None,
        metadata={
            "description": "The card that ends the turn. Null or left out, which it may be only "
            "where the plays empty the hand: none."
        },
    )

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Turn:
        return Turn(data["plays"], data["discard"])


class MoveWish(msgspec.Struct, frozen=True):
    """How a move is asked for: only checked, with what was seen, how long to wait after it."""

    check: bool
    memory: bool
    wait: int = 0


class LookWish(msgspec.Struct, frozen=True):
    """How somebody looks at a game: how long to wait first, and whether with what was seen."""

    wait: int
    memory: bool


class ListWish(msgspec.Struct, frozen=True):
    """Which games somebody asks for: a page of open tables, or the own game."""

    limit: int
    mine: bool
    open_seats: int
    cursor: str | None = None
    variant: str | None = None


class PageWish(msgspec.Struct, frozen=True):
    """Which part of a log, or of the finished deals, somebody asks for, and waits for."""

    limit: int
    after: int | None = None
    wait: int = 0


def _wait(what: str) -> QueryNumber:
    return QueryNumber(
        0,
        _MOST_WAIT_SECONDS,
        load_default=0,
        metadata={"description": f"Seconds to wait for {what}; 0: none."},
    )


def _memory() -> QueryFlag:
    return QueryFlag(
        load_default=False,
        metadata={
            "description": "Fill in `memory`: the cards that everybody saw go into a hand, and "
            "the discards so far. A table can forbid it."
        },
    )


class MoveQuery(RequestSchema):
    """How a move is asked for."""

    check = QueryFlag(
        load_default=False,
        metadata={
            "description": "Only say what would happen: refuse the move as if it were made, or "
            "answer with the game as it would be. Nothing changes."
        },
    )
    memory = _memory()

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> MoveWish:
        return MoveWish(**data)


class LastMoveQuery(MoveQuery):
    """How a move is asked for that ends a turn."""

    wait = _wait("the caller to be able to act again, or the match to end, before answering")

    @validates_schema
    def refuse_both(self, data: dict[str, Any], **_: Any) -> None:
        if data["check"] and data["wait"]:
            raise ValidationError(
                Text("A move that is only checked changes nothing to wait for."), "wait"
            )


class SheetQuery(RequestSchema):
    """For how many players a variant's rule sheet is."""

    players = QueryNumber(
        _FEWEST_SEATS,
        _MOST_SEATS,
        load_default=None,
        metadata={
            "description": "The number of players; without it (null), all that the variant is for."
        },
    )


class LookQuery(RequestSchema):
    """How somebody looks at a game."""

    wait = _wait("a version that If-None-Match does not name")
    memory = _memory()

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> LookWish:
        return LookWish(**data)


class GamesQuery(RequestSchema):
    """Which page of the open tables."""

    limit = QueryNumber(1, 100, load_default=20, metadata={"description": "Tables on a page."})
    cursor = StringField(
        validate=_characters(1, _MOST_TEXT),
        metadata={"description": "The `next` of the page before."},
    )
    variant = StringField(
        validate=_one_of(tuple(PRESETS)),
        metadata=VARIANT | {"description": "Only tables of this variant."},
    )
    open_seats = QueryNumber(
        1,
        _MOST_SEATS - 1,
        load_default=1,
        metadata={"description": "Only tables with at least so many free seats."},
    )
    mine = QueryFlag(
        load_default=False,
        metadata={
            "description": "Instead of open tables, the game that the token sent has a seat in."
        },
    )

    @validates_schema
    def refuse_both(self, data: dict[str, Any], **_: Any) -> None:
        for name in ("cursor", "variant"):
            if data["mine"] and name in data:
                raise ValidationError(Text("Is for the list of open tables, not for `mine`."), name)

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> ListWish:
        return ListWish(**data)


class ScoreQuery(RequestSchema):
    """Which of the finished deals."""

    after = QueryNumber(
        0,
        2**53,
        load_default=0,
        metadata={"description": "The number of the last deal known; 0: from the first."},
    )
    limit = QueryNumber(1, 500, load_default=100, metadata={"description": "Deals on a page."})

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> PageWish:
        return PageWish(**data)


class EventsQuery(RequestSchema):
    """Which page of the log."""

    after = QueryNumber(
        0,
        2**53,
        metadata={
            "description": "The id of the last event known. Left out: from the beginning, or for a "
            "stream from now on."
        },
    )
    limit = QueryNumber(
        1, 500, load_default=100, metadata={"description": "Events on a page; not of a stream."}
    )
    wait = _wait("the first of them; not of a stream, which always does")

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> PageWish:
        return PageWish(**data)

"""A deal as text that people read and write: what PGN is to chess. See docs/notation.md.

[Rummy "1"]
[Variant "straight"]
…
1. 1: take KH, meld JH QH KH, lay TH on 1, drop 9C
2. 0: stock 4D, meld 4H JK=5H 6H, drop 4D; 1 calls 4D on 2
"""

import re
import textwrap
from collections.abc import Iterator, Sequence

from service.errors import BadCard, BadNotation, NoSuchVariant, OptionsRefused
from service.rummy.cards import JOKER, Card, parse_card
from service.rummy.model import Call, Discard, Draw, LayMeld, LayOff, Move, Swap
from service.rummy.record import DealRecord, Recorded
from service.rummy.rules import OptionValue, Rules, agree, choices_of
from service.text import Text

MOST_CHARACTERS = 60_000
"""Longer texts are not read: the longest deal that the rules allow takes half of it."""

EDITION = "1"
"""The edition of this notation, which every text begins with."""

_MOST_IN_LINE = 87
"""Room for half a deck, and how it begins and ends."""
_MOST_DIGITS = 9
_MOST_IN_WORD = 40
_HEADER = re.compile(r'\[([A-Za-z]+)\s+"([^"]*)"\s*\]')
_TURN = re.compile(r"(\d{1,9})\.(.*)", re.DOTALL)
_NEEDED = ("Rummy", "Variant", "Players", "Dealer", "Cards")
_OPTIONAL = ("Options", "Deal", "Totals", "Turnover")
_PLAIN: dict[str, OptionValue] = {"null": None, "true": True, "false": False}


def written(record: DealRecord, names: Sequence[str] = ()) -> str:
    """The deal as text; `names`, by seat, become remarks. The moves are as `recorded` gives them.

    Such a record is read from the text again as it was.
    """
    rules = record.rules
    options = " ".join(f"{name}={_value(value)}" for name, value in choices_of(rules).items())
    lines = [
        _header("Rummy", EDITION),
        _header("Variant", rules.variant),
        _header("Players", str(rules.players)),
        _header("Options", options),
        _header("Deal", str(record.number)),
        _header("Dealer", str(record.dealer)),
        _header("Totals", " ".join(map(str, record.totals))),
        _header("Cards", " ".join(record.cards)),
        *(_header("Turnover", " ".join(order)) for order in record.turnovers),
        *(f"# seat {seat}: {' '.join(name.split())}" for seat, name in enumerate(names)),
    ]
    turns = [f"{number}. {turn}" for number, turn in enumerate(_turns(record.moves), 1)]
    return "\n".join([*lines, *([""] if turns else []), *turns, ""])


def read(text: str) -> DealRecord:
    """The deal that the text tells of; whether it can be played so is for `positions` to say.

    Raises BadNotation with the number of a line that is not as it must be.
    """
    if len(text) > MOST_CHARACTERS:
        raise _wrong(1, Text("the text has more than {most} characters."), most=MOST_CHARACTERS)
    headers: dict[str, list[_Line]] = {}
    moves: list[Recorded] = []
    turns, line = 0, 1
    for line, content in _statements(_lines(text)):
        if not content.startswith("["):
            if not turns:
                _check_headers(headers, line)
            turns += 1
            moves += _moves_of(line, content, turns)
            continue
        if turns:
            raise _wrong(line, Text("the lines in brackets come before the turns."))
        name, value = _named(line, content)
        if name in headers and name != "Turnover":
            raise _wrong(line, Text("[{name}] is there twice."), name=name)
        headers.setdefault(name, []).append((line, value))
    _check_headers(headers, line)
    rules = _rules(headers)
    return DealRecord(
        rules=rules,
        number=_numbers(headers, "Deal", 1)[0] if "Deal" in headers else 1,
        dealer=_numbers(headers, "Dealer", 1)[0],
        cards=_cards(*headers["Cards"][0]),
        totals=(
            _numbers(headers, "Totals", rules.players)
            if "Totals" in headers
            else (0,) * rules.players
        ),
        moves=tuple(moves),
        turnovers=tuple(_cards(*order) for order in headers.get("Turnover", ())),
    )


# ------------------------------------------------------------------------------------- writing


def _header(name: str, value: str) -> str:
    """The header's line; what does not fit goes below the beginning of the value."""
    start = f'[{name} "'
    return textwrap.fill(
        value + '"]',
        _MOST_IN_LINE,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _value(value: OptionValue) -> str:
    return next((word for word, plain in _PLAIN.items() if value is plain), str(value))


def _turns(moves: Sequence[Recorded]) -> Iterator[str]:
    """One text for each turn: what the player did, and the call that followed."""
    turn, over = "", True
    for recorded in moves:
        seat, move = recorded.seat, recorded.move
        if isinstance(move, Call):
            turn += f"{'; ' if turn else ''}{seat} {spelt(recorded)}"
            over = True
            continue
        if over or isinstance(move, Draw) or not turn.startswith(f"{seat}: "):
            if turn:
                yield turn
            turn = f"{seat}: {spelt(recorded)}"
        else:
            turn += f", {spelt(recorded)}"
        over = isinstance(move, Discard)
    if turn:
        yield turn


def spelt(recorded: Recorded) -> str:
    """The move as a turn has it, without the seat."""
    match recorded.move:
        case Draw(source="stock"):
            return f"stock {recorded.drawn or 'none'}"
        case Draw(card=card):
            return f"take {card}" if card else "take"
        case LayMeld(cards, named):
            return f"meld {_faced(cards, named)}"
        case LayOff(meld, cards, named):
            return f"lay {_faced(cards, named)} on {meld}"
        case Swap(meld, card):
            return f"swap {card} in {meld}"
        case Discard(card):
            return f"drop {card}"
        case Call(meld):
            return f"calls {_called(recorded.move)}on {meld}"


def _called(move: Call) -> str:
    return "" if move.card is None else f"{_faced((move.card,), move.jokers)} "


def _faced(cards: Sequence[Card], named: Sequence[Card]) -> str:
    """The cards, each joker with the card it stands for, where that is named."""
    faces = iter(named)
    return " ".join(
        f"{card}={face}" if card == JOKER and (face := next(faces, None)) else card
        for card in cards
    )


# ------------------------------------------------------------------------------------- reading

_Line = tuple[int, str]
"""The number of a line, from 1, and what stands there."""


def _wrong(line: int, why: Text, **values: str | int) -> BadNotation:
    said = why.format(**values) if values else why
    return BadNotation(Text("Line {line}: {why}").format(line=line, why=said), line=line)


def _lines(text: str) -> Iterator[_Line]:
    """The lines with anything on them, without remarks."""
    for number, line in enumerate(text.split("\n"), 1):
        content = line.partition("#")[0].strip()
        if content:
            yield number, content


def _statements(lines: Iterator[_Line]) -> Iterator[_Line]:
    """Headers and turns, each with the number of its first line; a header may have several."""
    for first, content in lines:
        parts = [content]
        while content.startswith("[") and not parts[-1].endswith("]"):
            line = next(lines, None)
            if line is None:
                raise _wrong(first, Text("the bracket is not closed."))
            parts.append(line[1])
        yield first, "\n".join(parts)


def _named(line: int, content: str) -> tuple[str, str]:
    """A header's name and value."""
    found = _HEADER.fullmatch(content)
    if not found:
        raise _wrong(line, Text('expected a line such as [Dealer "1"].'))
    name = found[1]
    if name not in _NEEDED and name not in _OPTIONAL:
        names = (*_NEEDED, *_OPTIONAL)
        raise _wrong(
            line,
            Text("there is no [{name}]; there are {names}."),
            name=name[:_MOST_IN_WORD],
            names=", ".join(names),
        )
    return name, found[2]


def _check_headers(headers: dict[str, list[_Line]], before: int) -> None:
    for name in _NEEDED:
        if name not in headers:
            raise _wrong(before, Text("[{name}] is missing before the turns."), name=name)
    line, edition = headers["Rummy"][0]
    if edition != EDITION:
        raise _wrong(
            line, Text("only edition {edition} of the notation can be read."), edition=EDITION
        )


def _rules(headers: dict[str, list[_Line]]) -> Rules:
    line, variant = headers["Variant"][0]
    (players,) = _numbers(headers, "Players", 1)
    options: dict[str, OptionValue] = {}
    if "Options" in headers:
        line = headers["Options"][0][0]
        options = _options(*headers["Options"][0])
    try:
        return agree(variant[:_MOST_IN_WORD], players, options)
    except NoSuchVariant as error:
        raise _wrong(headers["Variant"][0][0], error.detail) from error
    except OptionsRefused as error:
        raise _wrong(line, error.detail) from error


def _options(line: int, value: str) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for word in value.split():
        name, _, chosen = word.partition("=")
        if not name or not chosen or len(word) > _MOST_IN_WORD:
            raise _wrong(
                line,
                Text("expected options such as hand_size=8, not {word}."),
                word=word[:_MOST_IN_WORD],
            )
        if name in options:
            raise _wrong(line, Text("the option {name} is there twice."), name=name)
        number = int(chosen) if _is_number(chosen) else chosen
        options[name] = _PLAIN.get(chosen, number)
    return options


def _numbers(headers: dict[str, list[_Line]], name: str, count: int) -> tuple[int, ...]:
    """The numbers of a header, which must be so many."""
    line, value = headers[name][0]
    words = value.split()
    if len(words) != count or not all(map(_is_number, words)):
        raise _wrong(
            line,
            Text("[{name}] takes whole numbers from 0, this many of them: {count}."),
            name=name,
            count=count,
        )
    return tuple(map(int, words))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS


def _cards(line: int, value: str) -> tuple[Card, ...]:
    return tuple(_card(line, word) for word in value.split())


def _card(line: int, word: str) -> Card:
    try:
        return parse_card(word)
    except BadCard as error:
        raise _wrong(line, error.detail) from error


# ------------------------------------------------------------------------------- reading turns


def _moves_of(line: int, content: str, number: int) -> Iterator[Recorded]:
    """The moves of a turn, and the calls behind it."""
    found = _TURN.fullmatch(content)
    if not found or int(found[1]) != number:
        raise _wrong(
            line, Text('expected turn {number}, such as "{number}. 0: take"…'), number=number
        )
    for place, part in enumerate(found[2].split(";")):
        seat, colon, plays = part.partition(":")
        if not colon:
            yield _call(line, part.split())
        elif place:
            raise _wrong(line, Text("only calls come behind a semicolon; a turn has its own line."))
        else:
            player = _number(line, seat.strip(), Text("a seat"))
            for play in plays.split(","):
                yield _play(line, player, play.split())


def _play(line: int, seat: int, words: Sequence[str]) -> Recorded:
    kind, rest = (words[0], words[1:]) if words else ("", words)
    move: Move
    match kind:
        case "take":
            move = Draw("discard", _one_card(line, rest) if rest else None)
        case "stock":
            drawn = None if list(rest) == ["none"] else _one_card(line, rest)
            return Recorded(seat, Draw("stock"), drawn)
        case "meld":
            move = LayMeld(*_faced_cards(line, rest))
        case "lay":
            rest, meld = _at_meld(line, rest, "on")
            move = LayOff(meld, *_faced_cards(line, rest))
        case "swap":
            rest, meld = _at_meld(line, rest, "in")
            move = Swap(meld, _one_card(line, rest))
        case "drop":
            move = Discard(_one_card(line, rest))
        case _:
            raise _wrong(
                line,
                Text('expected take, stock, meld, lay, swap or drop, not "{word}".'),
                word=kind[:_MOST_IN_WORD],
            )
    return Recorded(seat, move)


def _call(line: int, words: Sequence[str]) -> Recorded:
    if len(words) < 2 or words[1] != "calls":
        raise _wrong(line, Text('expected "0: …" for a turn, or "0 calls 4D on 1" for a call.'))
    seat = _number(line, words[0], Text("a seat"))
    rest, meld = _at_meld(line, words[2:], "on")
    cards, named = _faced_cards(line, rest) if rest else ((), ())
    if len(cards) > 1:
        raise _wrong(line, Text("one card is called."))
    return Recorded(seat, Call(meld, named, cards[0] if cards else None))


def _one_card(line: int, words: Sequence[str]) -> Card:
    if len(words) != 1:
        raise _wrong(line, Text("expected one card."))
    return _card(line, words[0])


def _faced_cards(line: int, words: Sequence[str]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Cards, and what the jokers among them stand for, where it is said."""
    if not words:
        raise _wrong(line, Text("expected cards."))
    cards, named = [], []
    for word in words:
        card, equals, face = word.partition("=")
        cards.append(_card(line, card))
        if equals:
            if card != JOKER:
                raise _wrong(line, Text("only a joker stands for another card: JK=5H."))
            named.append(_card(line, face))
    return tuple(cards), tuple(named)


def _at_meld(line: int, words: Sequence[str], link: str) -> tuple[Sequence[str], int]:
    """What stands before, and the number of the meld behind "on" or "in"."""
    if len(words) < 2 or words[-2] != link:
        raise _wrong(line, Text('expected "{link}" and the number of a meld.'), link=link)
    return words[:-2], _number(line, words[-1], Text("a meld"))


def _number(line: int, word: str, what: Text) -> int:
    if not _is_number(word):
        raise _wrong(
            line,
            Text('expected the number of {what}, not "{word}".'),
            what=what,
            word=word[:_MOST_IN_WORD],
        )
    return int(word)

"""The rule sheet of a table: every clause in force there, in sentences made from its options.

The options' sentences come from `clauses`, by the values that the engine plays, so the sheet cannot
say anything else. Every clause that a refusal at the table can name is on it.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from service.rummy import clauses
from service.rummy.rules import (
    OPTIONS,
    PRESETS,
    OptionValue,
    Rules,
    clause,
    deviations,
    preset_of,
    usual_rules,
    usual_values,
)
from service.text import Text


class Stated(Struct, frozen=True):
    """The option whose value a sentence says."""

    name: str
    value: OptionValue
    usual: OptionValue
    """The variant's own value."""
    deviates: bool
    """Whether it is one of the table's deviations."""
    instead_of: Text | None
    """Where it deviates: what the sheet would say with the variant's own value."""


class Sentence(Struct, frozen=True):
    """One thing that a clause says."""

    text: Text
    decided: bool
    """A ruling of the service, where the texts are silent or unclear."""
    option: Stated | None
    """None: the sentence is not about the value of an option."""
    players: tuple[int, ...]
    """The numbers of players that it holds for."""


class Clause(Struct, frozen=True):
    """A clause, by its number."""

    number: str
    sentences: tuple[Sentence, ...]


class Section(Struct, frozen=True):
    """The clauses of one part: `common`, `jokers`, the variant's, `other` texts', `table`."""

    id: str
    title: str
    clauses: tuple[Clause, ...]


class Sheet(Struct, frozen=True):
    """The rules of a table, or of a variant for the given numbers of players."""

    variant: str
    players: tuple[int, ...]
    sections: tuple[Section, ...]


@lru_cache(maxsize=512)
def sheet_of(rules: Rules) -> Sheet:
    """The rule sheet of a table that plays these rules."""
    return _sheet(rules.variant, (rules.players,), [_places(rules)])


@lru_cache(maxsize=64)
def sheet_of_variant(variant: str, players: int | None = None) -> Sheet:
    """The rule sheet of a variant as it is, for that number of players or for all it can have.

    Raises NoSuchVariant, and OptionsRefused where the variant is not for so many.
    """
    fewest, most = preset_of(variant).players
    numbers = tuple(range(fewest, most + 1)) if players is None else (players,)
    return _sheet(variant, numbers, [_places(usual_rules(variant, number)) for number in numbers])


def span(numbers: Sequence[int]) -> str:
    """Neighbouring numbers in short: `3–5`, or `2` where it is one."""
    return f"{numbers[0]}–{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


# ------------------------------------------------------------------------------ putting together

Place = tuple[str, Sentence | None]
"""A clause, and what it says in one place; None: nothing, under these rules."""


def _places(rules: Rules) -> list[Place]:
    """Every place of every clause, in the same order whatever the number of players."""
    variant = rules.variant
    usual = usual_values(rules)
    deviating = {deviation.option for deviation in deviations(rules)}
    said: dict[str, list[Sentence | None]] = {number: [] for number in _own_clauses(variant)}
    said[clause(variant, "players")] += _lines(clauses.OF_PLAYERS, rules)
    said[clause(variant, "jokers")] += _lines(clauses.OF_JOKERS, rules)
    for option in OPTIONS:
        own = clause(variant, option)
        number = OPTIONS[option].rule if option in deviating else own
        stated = _stated(option, rules, usual[option], deviates=option in deviating)
        decided = number == own and (number, option) in clauses.DECIDED_VALUES
        there = said.setdefault(number, [])
        there.append(Sentence(_text(option, rules), decided and not stated.deviates, stated, ()))
        there += _lines(clauses.MORE.get(option, ()), rules)
        if number != own:
            moved = clauses.MOVED.format(option=option, clause=number)
            said[own].append(Sentence(moved, decided=False, option=None, players=()))
    for number in _own_clauses(variant):
        said[number] += _lines(clauses.LINES.get(number, ()), rules)
    return [(number, sentence) for number in sorted(said, key=_order) for sentence in said[number]]


def _own_clauses(variant: str) -> set[str]:
    """The clauses that are on each sheet of the variant, whatever its options."""
    named = {clause(variant, option) for option in (*OPTIONS, "players")}
    return named | {number for number in clauses.LINES if _part(number) in (*_SHARED, variant)}


def _stated(option: str, rules: Rules, usual: OptionValue, *, deviates: bool) -> Stated:
    instead_of = clauses.says(option, usual) if deviates else None
    return Stated(option, getattr(rules, option), usual, deviates, instead_of)


def _text(option: str, rules: Rules) -> Text:
    if option in clauses.LEFT_OPEN and rules.deals is None and rules.target is None:
        return clauses.LEFT_OPEN[option]
    return clauses.says(option, getattr(rules, option))


def _lines(lines: Sequence[clauses.Line], rules: Rules) -> Iterator[Sentence | None]:
    for line in lines:
        text = line.text.format(**line.values(rules)) if line.values else line.text
        yield Sentence(text, line.decided, None, ()) if line.when(rules) else None


def _sheet(variant: str, numbers: tuple[int, ...], places: Sequence[Sequence[Place]]) -> Sheet:
    """The sheet for these numbers of players, from the places of the clauses for each of them."""
    said: dict[str, list[Sentence]] = {}
    for together in zip(*places, strict=True):
        number = together[0][0]
        said.setdefault(number, []).extend(
            _grouped(numbers, [sentence for _, sentence in together])
        )
    titles: dict[str, str] = {**clauses.TITLES, variant: preset_of(variant).name}
    sections = []
    for part in ("common", "jokers", variant, "other", "table"):
        there = [number for number in said if _section(number, variant) == part]
        if there:
            found = tuple(Clause(number, tuple(said[number])) for number in there)
            sections.append(Section(part, titles[part], found))
    return Sheet(variant, numbers, tuple(sections))


def _grouped(numbers: Sequence[int], said: Sequence[Sentence | None]) -> Iterator[Sentence]:
    """What one place says, once for each group of neighbouring numbers of players."""
    for sentence, group in groupby(zip(said, numbers, strict=True), key=lambda pair: pair[0]):
        if sentence is None:
            continue
        players = tuple(number for _, number in group)
        text = sentence.text
        if players != numbers:
            text = clauses.FOR_SOME.format(players=span(players), sentence=text)
        yield replace(sentence, text=text, players=players)


def _section(number: str, variant: str) -> str:
    part = _part(number)
    return part if part in (*_SHARED, variant) else "other"


def _part(number: str) -> str:
    return number.partition(".")[0]


def _order(number: str) -> tuple[int, int]:
    """Where a clause stands among all."""
    part, _, place = number.partition(".")
    return ("common", "jokers", *PRESETS, "table").index(part), int(place)


_SHARED = ("common", "jokers", "table")

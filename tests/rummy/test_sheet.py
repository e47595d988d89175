"""The rule sheet says each option's value in its clause, and has every clause that is cited.

What the sheet says is compared with what the rules say of themselves, over every preset, number of
players and value, and over random combinations.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from service.errors import NoSuchVariant, OptionsRefused, Refused
from service.rummy import clauses
from service.rummy.cards import FACES, JOKER, Card
from service.rummy.engine import apply
from service.rummy.model import Call, Discard, Draw, LayMeld, LayOff, Match, Move, Swap
from service.rummy.rules import (
    OPTIONS,
    PRESETS,
    Option,
    OptionValue,
    Rules,
    agree,
    clause,
    deviations,
    usual_values,
)
from service.rummy.sheet import Sentence, Sheet, sheet_of, sheet_of_variant
from service.text import Text, said
from tests.rummy.chance import NOW, random_position, random_rules

TABLES = [
    (preset.id, players)
    for preset in PRESETS.values()
    for players in range(preset.players[0], preset.players[1] + 1)
]
GOES_WITH: dict[str, dict[str, OptionValue]] = {
    "call_seconds": {"call": "timed"},
    "turnover_new_upcard": {"turnover_keeps_upcard": False},
    "turnover_keeps_upcard": {"turnover_new_upcard": False},
    "target": {"deals": None},
}
"""What else has to be chosen with an option so that it can be played."""


def values_of(option: Option) -> list[OptionValue]:
    """Every value of a choice or switch; of a number both ends and some between."""
    if option.kind == "switch":
        return [True, False]
    if option.kind == "choice":
        return list(option.choices)
    numbers = {option.low, option.low + 1, (option.low + option.high) // 2, option.high}
    numbers |= {7, 10} & set(range(option.low, option.high + 1))
    return [*sorted(numbers), *([None] if option.nothing else [])]


def with_value(variant: str, players: int, option: str, value: OptionValue) -> Rules | None:
    """The rules with that value, if they can be played."""
    chosen: dict[str, OptionValue] = {"deals": 1} | GOES_WITH.get(option, {}) | {option: value}
    if option == "call":
        chosen["call_seconds"] = 5 if value == "timed" else None
    if option in GOES_WITH and value is None:
        chosen = {"deals": 1}
    if option == "deals" and value is None:
        chosen["target"] = 100
    try:
        return agree(variant, players, chosen)
    except OptionsRefused:
        return None


def statements(sheet: Sheet) -> Iterator[tuple[str, Sentence]]:
    """Every sentence with the number of its clause."""
    for section in sheet.sections:
        for found in section.clauses:
            for sentence in found.sentences:
                yield found.number, sentence


def numbers(sheet: Sheet) -> list[str]:
    return [found.number for section in sheet.sections for found in section.clauses]


def agrees_with_the_rules(rules: Rules) -> None:
    """The sheet says each option's value once, in its clause, and marks the deviations."""
    sheet = sheet_of(rules)
    assert sheet.players == (rules.players,)
    said_of = [(at, sentence) for at, sentence in statements(sheet) if sentence.option]
    assert Counter(sentence.option.name for _, sentence in said_of) == Counter(list(OPTIONS))
    deviating = {found.option: found for found in deviations(rules)}
    for at, sentence in said_of:
        stated = sentence.option
        assert stated.value == getattr(rules, stated.name)
        assert sentence.text == clauses.says(stated.name, stated.value)
        assert stated.deviates == (stated.name in deviating)
        assert stated.usual == usual_values(rules)[stated.name]
        if stated.deviates:
            assert stated.usual == deviating[stated.name].preset
            assert stated.instead_of == clauses.says(stated.name, stated.usual) != sentence.text
            assert at == OPTIONS[stated.name].rule == rules.clause(stated.name)
            assert not sentence.decided
        else:
            assert stated.instead_of is None
            assert at == clause(rules.variant, stated.name)
    is_well_written(sheet)


def is_well_written(sheet: Sheet) -> None:
    """Clauses in order, each with something to say, in whole sentences without gaps."""
    assert [section.id for section in sheet.sections if section.id != "other"] == [
        "common",
        "jokers",
        sheet.variant,
        "table",
    ]
    assert len(set(numbers(sheet))) == len(numbers(sheet))
    assert all(found.sentences for section in sheet.sections for found in section.clauses)
    for at, sentence in statements(sheet):
        assert isinstance(sentence.text, Text)
        assert sentence.text.endswith("."), (at, sentence.text)
        assert sentence.text[0].isupper() or sentence.text.startswith('"'), (at, sentence.text)
        assert not {"{", "}"} & set(sentence.text), (at, sentence.text)
        assert said(sentence.text, str) == sentence.text


# ------------------------------------------------------------------------------- the options


@pytest.mark.parametrize("option", OPTIONS.values(), ids=list(OPTIONS))
def test_every_value_of_every_option_has_its_sentence(option: Option):
    says = clauses.SAYS[option.name]
    sentences = {clauses.says(option.name, value) for value in values_of(option)}
    assert len(sentences) == len(values_of(option))
    wanted = set(values_of(option)) if option.kind != "number" else set(says) - {clauses.ANY}
    assert set(says) - {clauses.ANY} == wanted
    assert (None in says) == bool(option.nothing)
    if clauses.ANY in says:
        assert "{value}" in says[clauses.ANY]


def test_no_sentence_is_about_an_option_or_clause_that_is_not_there():
    assert clauses.SAYS.keys() == OPTIONS.keys()
    assert clauses.MORE.keys() <= OPTIONS.keys()
    known = {number for preset in PRESETS for number in numbers(sheet_of_variant(preset))}
    assert clauses.LINES.keys() <= known
    for number, option in clauses.DECIDED_VALUES:
        assert number in {clause(preset, option) for preset in PRESETS}


@pytest.mark.parametrize(("variant", "players"), TABLES)
def test_the_sheet_says_every_value_and_marks_what_deviates(variant: str, players: int):
    played = 0
    for option in OPTIONS.values():
        for value in values_of(option):
            rules = with_value(variant, players, option.name, value)
            if rules is not None:
                assert getattr(rules, option.name) == value
                agrees_with_the_rules(rules)
                played += 1
    assert played > 60


def test_every_value_is_on_the_sheet_of_some_table():
    for option in OPTIONS.values():
        for value in values_of(option):
            tables = [with_value(*table, option.name, value) for table in TABLES]
            assert any(tables), (option.name, value)


@pytest.mark.parametrize("number", range(300))
def test_the_sheet_agrees_with_random_rules(number: int):
    chance = Random(number)
    variant, players = chance.choice(TABLES)
    agrees_with_the_rules(random_rules(chance, variant, players))


# --------------------------------------------------------------------- which clauses are there


@pytest.mark.parametrize("number", range(150))
def test_every_clause_that_is_cited_is_on_the_sheet(number: int):
    chance = Random(number)
    rules = random_rules(chance, *chance.choice(TABLES))
    cited = {clause(rules.variant, option) for option in (*OPTIONS, "players")}
    cited |= {deviation.rule for deviation in deviations(rules)}
    cited |= {rules.clause(option) for option in PRESETS[rules.variant].values}
    for _ in range(20):
        match = random_position(chance, rules)
        for _ in range(30):
            cited |= refusal(match, chance)
    assert cited <= set(numbers(sheet_of(rules)))


def test_random_moves_cite_most_clauses_that_moves_can():
    """Or the test above would show little."""
    cited: set[str] = set()
    for number in range(60):
        chance = Random(number)
        match = random_position(chance, random_rules(chance, *chance.choice(TABLES)))
        for _ in range(60):
            cited |= refusal(match, chance)
    assert cited >= {"common.1", "common.3", "common.4", "common.7", "common.12"}
    assert cited >= {"jokers.2", "jokers.3", "call-rummy.5", "straight.3", "seven-card.3"}


@pytest.mark.parametrize("variant", PRESETS)
def test_what_is_refused_off_the_table_is_on_every_sheet(variant: str):
    """Seating and the clock, which the engine does not know."""
    always = {"common.3", "common.8", "table.2", "table.3", "table.4", clause(variant, "players")}
    assert always <= set(numbers(sheet_of_variant(variant)))


def refusal(match: Match, chance: Random) -> set[str]:
    """The clause by which a random move is refused, if it is."""
    seat = match.deal.turn if chance.random() < 0.9 else chance.randrange(match.rules.players)
    try:
        apply(match, seat, random_move(match, chance, seat), NOW)
    except Refused as refused:
        return {refused.rule} if refused.rule else set()
    return set()


def random_move(match: Match, chance: Random, seat: int) -> Move:
    """A move of some kind with cards mostly from the hand; seldom a legal one."""
    hand = match.deal.hands[seat]

    def card() -> Card:
        return chance.choice(hand) if chance.random() < 0.9 else chance.choice([*FACES, JOKER])

    size = min(len(hand), chance.choice([1, 2, 3, 3, 3, 4]))
    cards = tuple(chance.sample(hand, size)) if chance.random() < 0.8 else (card(), card(), card())
    jokers = (chance.choice(FACES),) if chance.random() < 0.3 else ()
    meld = chance.randint(1, len(match.deal.melds) + 1)
    return chance.choice(
        [
            Draw(chance.choice(["stock", "discard"])),
            LayMeld(cards, jokers),
            LayOff(meld, cards[: chance.choice([1, 1, 2])], jokers),
            Swap(meld, card()),
            Discard(card()),
            Call(meld, jokers=jokers),
        ]
    )


# ------------------------------------------------------------------------- single sentences


def says(sheet: Sheet, number: str) -> str:
    """All that a clause says."""
    return " ".join(sentence.text for at, sentence in statements(sheet) if at == number)


@pytest.mark.clause("common.4", "common.5")
def test_sets_and_runs_are_described_as_they_are_played():
    low = sheet_of(agree("parlett", 4, {"decks": 1}))
    high = sheet_of(agree("parlett", 4, {"decks": 2, "aces": "high_or_low"}))
    assert "nothing follows a king" in says(low, "common.4")
    assert "at most 4 cards, one of each suit" in says(low, "common.5")
    assert "after the king" in says(high, "common.4")
    assert "so is Q-K-A" in says(high, "common.4")
    assert "at most 8 cards, and may hold the same card twice" in says(high, "common.5")


@pytest.mark.clause("common.7", "seven-card.3")
def test_a_table_without_layoffs_says_so():
    without = sheet_of(agree("call-rummy", 3, {"layoffs": "none"}))
    assert "but a card that is called (call-rummy.5)" in says(without, "common.7")
    assert "No cards are laid off" in says(without, "seven-card.3")
    assert "the option `layoffs`: see seven-card.3" in says(without, "call-rummy.2")
    silent = sheet_of(agree("call-rummy", 3, {"layoffs": "none", "call": "off"}))
    assert "Nothing is laid off at this table." in says(silent, "common.7")


@pytest.mark.clause("straight.8")
def test_another_number_of_cards_is_in_the_clause_of_that_house_rule():
    dealt = sheet_of(agree("parlett", 3, {"hand_size": 10}))
    assert "Number of cards dealt to each player: 10." in says(dealt, "straight.8")
    assert "see straight.8" in says(dealt, "parlett.1")
    assert "straight.8" not in numbers(sheet_of_variant("parlett"))


# ------------------------------------------------------------------------ for all players


@pytest.mark.parametrize("variant", PRESETS)
def test_a_variants_sheet_without_a_number_of_players_says_what_holds_for_which(variant: str):
    preset = PRESETS[variant]
    everyone = tuple(range(preset.players[0], preset.players[1] + 1))
    sheet = sheet_of_variant(variant)
    assert sheet.players == everyone
    is_well_written(sheet)
    for players in everyone:
        # A sentence for some begins with whom it is for; else it is the one of their own sheet.
        own = sheet_of_variant(variant, players)
        here = [(at, found) for at, found in statements(sheet) if players in found.players]
        for (at, found), (own_at, alone) in zip(here, statements(own), strict=True):
            assert at == own_at
            assert found.text.endswith(alone.text)
            assert (found.text == alone.text) == (found.players == everyone)
            assert found.option == alone.option


def test_hand_sizes_are_said_by_groups_of_players():
    said_of = [
        sentence.text
        for at, sentence in statements(sheet_of_variant("straight"))
        if sentence.option and sentence.option.name == "hand_size"
    ]
    assert said_of == [
        "With 2 players: Number of cards dealt to each player: 10.",
        "With 3–4 players: Number of cards dealt to each player: 7.",
        "With 5–6 players: Number of cards dealt to each player: 6.",
    ]


def test_the_end_of_the_match_is_left_to_the_table_where_it_has_to_be_chosen():
    assert "Each table chooses" in says(sheet_of_variant("straight"), "straight.7")
    assert "Each table chooses" not in says(sheet_of_variant("parlett"), "common.11")
    chosen = sheet_of(agree("straight", 2, {"target": 100}))
    assert "total reaches 100" in says(chosen, "straight.7")


def test_a_variants_sheet_is_the_one_of_a_table_that_changes_nothing():
    for variant, players in TABLES:
        if PRESETS[variant].match_end == "deals":
            assert sheet_of_variant(variant, players) == sheet_of(agree(variant, players, {}))


def test_a_sheet_for_too_many_players_is_refused_with_the_clause():
    with pytest.raises(OptionsRefused) as caught:
        sheet_of_variant("straight", 7)
    assert [(found.option, found.rule) for found in caught.value.problems] == [
        ("players", "straight.1")
    ]
    with pytest.raises(NoSuchVariant):
        sheet_of_variant("canasta")


# --------------------------------------------------------------------------- other languages


def test_a_sentence_for_some_players_is_translated_inside_out():
    catalogue = {
        "With {players} players: {sentence}": "Med {players} spelare: {sentence}",
        "Number of cards dealt to each player: {value}.": "Kort per spelare: {value}.",
    }
    found = [
        said(sentence.text, lambda message: catalogue.get(message, message))
        for at, sentence in statements(sheet_of_variant("straight"))
        if sentence.option and sentence.option.name == "hand_size"
    ]
    assert found[0] == "Med 2 spelare: Kort per spelare: 10."

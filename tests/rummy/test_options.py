"""The options and the presets: the table of the rules, and what does not go together."""

import pytest

from service.errors import NoSuchVariant
from service.rummy.rules import (
    OPTIONS,
    PRESETS,
    OptionValue,
    agree,
    defaults,
    deviations,
    preset_of,
)
from tests.rummy.tables import reasons

clause = pytest.mark.clause
every_preset = pytest.mark.parametrize("variant", PRESETS)

TABLE: list[tuple[str, OptionValue, OptionValue, OptionValue, OptionValue]] = [
    # option, straight, seven-card, parlett, call-rummy
    ("decks", 1, 1, 1, 1),
    ("jokers", 0, 0, 0, 0),
    ("hand_size", 7, 7, 7, 7),
    ("upcard", True, False, True, True),
    ("melds_per_turn", "one", "one", "unlimited", "unlimited"),
    ("order", "melds_first", "free", "free", "free"),
    ("layoffs", "any", "own", "any", "any"),
    ("final_discard", False, False, False, True),
    ("return_upcard", False, True, False, True),
    ("aces", "low", "low", "low", "low"),
    ("ace_points", 1, 1, 1, 1),
    ("joker_points", 15, 15, 15, 15),
    ("joker_swap", True, True, True, True),
    ("turnover", "on_demand", "on_demand", "on_demand", "last_card"),
    ("turnover_keeps_upcard", True, True, False, True),
    ("turnover_shuffles", False, True, False, False),
    ("turnover_new_upcard", False, False, True, False),
    ("turnovers", None, None, None, None),
    ("call", "off", "off", "off", "next_draw"),
    ("call_seconds", None, None, None, None),
    ("scoring", "winner_takes", "winner_takes", "winner_takes", "penalty"),
    ("deals", None, 1, 1, 1),
    ("target", None, None, None, None),
    ("turn_seconds", None, None, None, None),
    ("away_after", 3, 3, 3, 3),
    ("memory", True, True, True, True),
]


@clause("straight.1", "seven-card.1", "parlett.1", "call-rummy.1")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_the_presets_are_the_table_of_the_rules(row: tuple[OptionValue, ...]) -> None:
    option, *values = row
    assert [defaults(PRESETS[variant], 3)[str(option)] for variant in PRESETS] == values


@clause("common.1")
def test_the_table_is_complete() -> None:
    assert [row[0] for row in TABLE] == list(OPTIONS)
    assert list(PRESETS) == ["straight", "seven-card", "parlett", "call-rummy"]


@clause("straight.1", "seven-card.1", "parlett.1", "call-rummy.1")
@every_preset
def test_the_preset_as_it_is_can_be_played_by_everybody_it_is_for(variant: str) -> None:
    low, high = preset_of(variant).players
    for players in range(low, high + 1):
        assert deviations(agree(variant, players, {"deals": 1})) == ()


VALUES: dict[str, tuple[list[OptionValue], list[OptionValue]]] = {
    # option: some values that are accepted, some that never are
    "decks": ([1], [0, 3, -1, None, "1", True, 1.5]),  # type: ignore[list-item]
    "jokers": ([0, 2, 8], [-1, 9, None, "2", True]),
    "hand_size": ([1, 16], [0, 21, -1, None, "7", True]),
    "upcard": ([True, False], [None, 0, 1, "yes"]),
    "melds_per_turn": ([*OPTIONS["melds_per_turn"].choices], ["two", 1, None, True, ""]),
    "order": ([*OPTIONS["order"].choices], ["fixed", None, True]),
    "layoffs": ([*OPTIONS["layoffs"].choices], ["others", None, False]),
    "final_discard": ([True, False], [None, 1, "yes"]),
    "return_upcard": ([True, False], [None, 0]),
    "aces": ([*OPTIONS["aces"].choices], ["high", None, 1]),
    "ace_points": ([0, 1, 11, 50], [-1, 51, None, "11", True]),
    "joker_points": ([0, 15, 50], [-1, 51, None, True]),
    "joker_swap": ([True, False], [None, 1]),
    "turnover": ([*OPTIONS["turnover"].choices], ["never", None]),
    "turnover_keeps_upcard": ([False], [None, 1]),
    "turnover_shuffles": ([True, False], [None, 1]),
    "turnover_new_upcard": ([False], [None, 1]),
    "turnovers": ([None, 0, 1, 100], [-1, 101, "none", True]),
    "call": (["off", "next_draw"], ["on", None, True]),
    "call_seconds": ([None], [0, 61, "5", True]),
    "scoring": ([*OPTIONS["scoring"].choices], ["losers", None]),
    "deals": ([1, 1000], [0, 1001, -1, "1", True]),
    "target": ([None], [0, 100_001, -1, "100", True]),
    "turn_seconds": ([None, 5, 604_800], [0, 4, 604_801, "5", True]),
    "away_after": ([1, 3, 100], [None, 0, 101, "3", True]),
    "memory": ([True, False], [None, 0, 1, "yes"]),
}


@clause("common.1", "straight.8")
@every_preset
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_takes_its_values_on_every_preset_and_no_others(
    variant: str, option: str
) -> None:
    good, bad = VALUES[option]
    for value in good:
        rules = agree(variant, 3, {"deals": 1, option: value})
        assert getattr(rules, option) == value
        written = {found.option: found.value for found in deviations(rules)}
        usual = defaults(PRESETS[variant], 3)[option]
        expected = {} if option in {"deals", "target"} or value == usual else {option: value}
        assert written == expected
    for value in bad:
        rule = (OPTIONS[option].rules).get(variant, OPTIONS[option].rule)
        assert reasons(variant, 3, **{"deals": 1, option: value}) == [(option, rule)]


@clause("common.11")
@every_preset
def test_a_target_is_chosen_instead_of_a_number_of_deals(variant: str) -> None:
    for target in (1, 100_000):
        rules = agree(variant, 2, {"target": target})
        assert (rules.deals, rules.target) == (None, target)
    rule = "straight.7" if variant == "straight" else "common.11"
    assert reasons(variant, 2, deals=3, target=100) == [("target", rule)]
    assert reasons(variant, 2, deals=None) == [("deals", rule)]


@clause("common.1")
@every_preset
@pytest.mark.parametrize("name", ["joker", "Jokers", "players", "variant", "", "deal_size"])
def test_an_unknown_option_is_refused_never_ignored(variant: str, name: str) -> None:
    assert reasons(variant, 2, **{"deals": 1, name: 1}) == [(name, None)]


@clause("common.1")
def test_every_problem_is_listed_at_once() -> None:
    found = reasons("straight", 9, aces="both", joker=2, jokers=9)
    assert [option for option, _ in found] == ["players", "aces", "joker", "jokers"]
    found = reasons(
        "parlett", 3, decks=2, jokers=1, hand_size=20, turnover_keeps_upcard=True, call_seconds=3,
        deals=1, target=1,
    )  # fmt: skip
    assert [option for option, _ in found] == [
        "decks", "jokers", "turnover_new_upcard", "call_seconds", "target",
    ]  # fmt: skip
    found = reasons("call-rummy", 6, hand_size=9, call="timed", turnover_new_upcard=True)
    assert [option for option, _ in found] == ["hand_size", "turnover_new_upcard", "call_seconds"]


@clause("common.1", "straight.8")
@pytest.mark.parametrize(
    ("players", "chosen", "fits"),
    [
        (2, {"hand_size": 20, "upcard": True}, True),
        (5, {"hand_size": 10, "upcard": True}, True),  # 50 + 1 + 1
        (3, {"hand_size": 17, "upcard": True}, False),  # 51 + 1 + 1
        (3, {"hand_size": 17, "upcard": False}, True),  # 51 + 1
        (3, {"hand_size": 17, "upcard": True, "jokers": 1}, True),
        (6, {"hand_size": 17, "upcard": True, "decks": 2}, True),  # 102 + 1 + 1
        (6, {"hand_size": 17, "upcard": True, "decks": 2, "jokers": 8}, True),
        (6, {"hand_size": 18, "upcard": True, "decks": 2}, False),
        (6, {"hand_size": 18, "upcard": True, "decks": 2, "jokers": 6}, True),
    ],
)
def test_hands_upcard_and_a_card_for_the_stock_are_in_the_pack(
    players: int, chosen: dict[str, OptionValue], fits: bool
) -> None:
    if fits:
        agree("straight", players, {"deals": 1, **chosen})
    else:
        assert reasons("straight", players, deals=1, **chosen) == [("hand_size", "straight.8")]


@clause("common.9")
@every_preset
def test_an_ace_counts_eleven_where_it_may_be_high_unless_agreed_otherwise(variant: str) -> None:
    assert agree(variant, 2, {"deals": 1, "aces": "high_or_low"}).ace_points == 11
    rules = agree(variant, 2, {"deals": 1, "aces": "high_or_low", "ace_points": 1})
    assert [(one.option, one.preset, one.value) for one in deviations(rules)] == [
        ("aces", "low", "high_or_low"), ("ace_points", 11, 1),
    ]  # fmt: skip


@clause("common.1")
def test_there_are_four_variants() -> None:
    for name in ("gin", "", "Straight"):
        with pytest.raises(NoSuchVariant):
            agree(name, 2, {})

"""The house rules: every option with its values, the four presets as data, and how they agree.

A preset is nothing but a set of option values. Nothing outside this module's tables knows the
presets' names.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Annotated, Literal

from msgspec import Meta, Struct, convert

from service.errors import Clause, NoSuchVariant, OptionProblem, OptionsRefused
from service.rummy.cards import RANKS, SUITS
from service.text import Text, either

SetValue = Annotated[
    bool | int | str,
    Meta(title="OptionValue", description="The value of an option of any kind."),
]
OptionValue = SetValue | None
UsualValue = Annotated[
    OptionValue,
    Meta(description="The variant's own value; null means what it does for this option."),
]
ValueInForce = Annotated[
    OptionValue, Meta(description="The value in force; null means what it does for this option.")
]
Choices = Mapping[str, OptionValue]
"""Option values as somebody chose them, by option name; what is not chosen is not in it."""

MIN_MELD = 3
"""The fewest cards of a meld (common.4)."""

LONGEST_RUN = len(RANKS)
"""No run uses an ace at both ends (common.4)."""

TURN_LIMIT = 1000
"""A deal of so many turns is blocked (common.12)."""

AWAY_AFTER = 3
"""Forced turns in a row after which a player counts as away, unless chosen otherwise (table.2)."""

CALL_GRACE_SECONDS = 5
"""A computer leaves people so long to call a discard before it draws (table.6)."""

UNLIMITED = None

_MOST_PROBLEMS = 30
"""More than there are options: so many problems are told of nonsense."""


class Rules(Struct, frozen=True, kw_only=True):
    """What one table plays, for the number of people who play: every option's effective value."""

    variant: Annotated[str, Meta(description="The id of the variant.")]
    players: Annotated[
        int,
        Meta(
            description="How many play; before the start, how many seats the table has.",
            extra_json_schema={"minimum": 2, "maximum": 8},
        ),
    ]
    decks: int
    jokers: int
    hand_size: int
    upcard: bool
    melds_per_turn: Literal["one", "unlimited"]
    order: Literal["melds_first", "free"]
    layoffs: Literal["any", "own", "none"]
    final_discard: bool
    return_upcard: bool
    aces: Literal["low", "high_or_low"]
    ace_points: int
    joker_points: int
    joker_swap: bool
    turnover: Literal["on_demand", "last_card"]
    turnover_keeps_upcard: bool
    turnover_shuffles: bool
    turnover_new_upcard: bool
    turnovers: int | None
    call: Literal["off", "next_draw", "timed"]
    call_seconds: int | None
    scoring: Literal["winner_takes", "penalty"]
    deals: int | None
    target: int | None
    turn_seconds: int | None = None
    away_after: int = AWAY_AFTER
    memory: bool = True

    @property
    def fullest_set(self) -> int:
        """The most cards of a set: each of the four suits once a deck (common.5)."""
        return len(SUITS) * self.decks

    def clause(self, option: str) -> str:
        """The clause that an option's value in force here comes from.

        The variant's own, or for a house rule the one that states such a rule.
        """
        if getattr(self, option) == preset_of(self.variant).values.get(option):
            return clause(self.variant, option)
        return OPTIONS[option].rule


class Option(Struct, frozen=True, kw_only=True):
    """One house-rule option: what it may be, what it means, and where the rules speak of it."""

    name: str
    summary: Text
    kind: Literal["choice", "number", "switch"]
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    unit: Text | None = None
    nothing: Text | None = None
    """What leaving a number out (null) means; None where null is no value."""
    rule: str
    rules: dict[str, str] = {}
    """Clauses of the variants that have one of their own. `rule` is for the others, and for a table
    that plays it as a house rule."""
    of_cards: bool = True
    """Whether it is about the cards and what they count; the others are about the table."""

    def problem(self, value: OptionValue) -> Text | None:
        """Why `value` can never be this option's value, or None if it can."""
        if value is None:
            return None if self.nothing else Text("must have a value")
        if self.kind == "switch":
            return None if isinstance(value, bool) else Text("must be true or false")
        if self.kind == "choice":
            if value in self.choices:
                return None
            return Text("must be one of {choices}").format(choices=", ".join(self.choices))
        if not isinstance(value, int) or isinstance(value, bool):
            return Text("must be a whole number")
        if self.low <= value <= self.high:
            return None
        return Text("must be from {low} to {high}").format(low=self.low, high=self.high)


class Preset(Struct, frozen=True, kw_only=True):
    """A variant: the option values of one rule text, some by the number of players."""

    id: str
    name: Text
    summary: Text
    source: Text
    players: tuple[int, int]
    decks: dict[int, tuple[int, ...]]
    """By players: the numbers of decks that may be played, the usual one first."""
    hand_sizes: dict[int, dict[int, int]]
    """By decks and players: the cards dealt to each."""
    fewest_jokers: int = 1
    """With any jokers at all, at least so many."""
    values: dict[str, OptionValue]
    """The options that do not depend on the number of players."""
    match_end: str = "deals"
    """`deals`: a match is one deal unless chosen otherwise. `must_choose`: there is no default."""


def agree(variant: str, players: int, chosen: Choices) -> Rules:
    """The rules of a table of `players` people who changed the `chosen` options of `variant`.

    Raises NoSuchVariant, and OptionsRefused with every problem found at once, the first 30 of them.
    """
    preset = preset_of(variant)
    problems = tuple(islice(_value_problems(preset, players, chosen), _MOST_PROBLEMS))
    if problems:
        raise OptionsRefused(problems)
    values = _effective(preset, players, chosen)
    rules = convert({"variant": variant, "players": players, **values}, Rules)
    problems = tuple(_joint_problems(preset, rules, chosen))
    if problems:
        raise OptionsRefused(problems)
    return rules


def preset_of(variant: str) -> Preset:
    """The preset with that id. Raises NoSuchVariant."""
    try:
        return PRESETS[variant]
    except KeyError:
        raise NoSuchVariant(
            Text("There is no variant {variant}; there are {variants}.").format(
                variant=repr(variant), variants=", ".join(PRESETS)
            ),
            variant=variant,
        ) from None


class Deviation(Struct, frozen=True):
    """One option that differs from the preset: to be written down before the cards are dealt."""

    option: Annotated[str, Meta(description="The name of the option.")]
    preset: UsualValue
    value: ValueInForce
    rule: Annotated[Clause, Meta(description="The clause of the variant that the option is about.")]


@lru_cache(maxsize=1024)  # it is part of every view of a game
def deviations(rules: Rules) -> tuple[Deviation, ...]:
    """Where these rules differ from their preset for the same number of players and decks.

    How the match ends is a choice that every table makes, so it is no deviation.
    """
    usual = usual_values(rules)
    return tuple(
        Deviation(option, usual[option], getattr(rules, option), clause(rules.variant, option))
        for option in OPTIONS
        if option not in _MATCH_END and getattr(rules, option) != usual[option]
    )


def choices_of(rules: Rules) -> Choices:
    """The choices by which `agree` comes to these rules: what deviates, and how the match ends."""
    chosen: dict[str, OptionValue] = {
        deviation.option: deviation.value for deviation in deviations(rules)
    }
    ending = "deals" if rules.target is None else "target"
    return chosen | {ending: getattr(rules, ending)}


def usual_values(rules: Rules) -> dict[str, OptionValue]:
    """The preset's own value of every option, for as many players, decks and as high aces."""
    preset = preset_of(rules.variant)
    usual = _effective(preset, rules.players, {"decks": rules.decks, "aces": rules.aces})
    return usual | {"decks": preset.decks[rules.players][0], "aces": preset.values["aces"]}


def usual_rules(variant: str, players: int) -> Rules:
    """The preset as it is; how the match ends is left open where each table has to choose.

    Raises NoSuchVariant, and OptionsRefused where it is not for so many players.
    """
    preset = preset_of(variant)
    problems = tuple(_value_problems(preset, players, {}))
    if problems:
        raise OptionsRefused(problems)
    values = defaults(preset, players)
    return convert({"variant": variant, "players": players, **values}, Rules)


def defaults(preset: Preset, players: int) -> dict[str, OptionValue]:
    """The preset's own option values for so many players."""
    return _effective(preset, players, {})


def clause(variant: str, option: str) -> str:
    """The clause that speaks of `option` in `variant`; `players` counts as an option here."""
    entry = OPTIONS.get(option, _PLAYERS)
    return entry.rules.get(variant, entry.rule)


def _effective(preset: Preset, players: int, chosen: Choices) -> dict[str, OptionValue]:
    """Every option's value: the chosen one, else the preset's for what else is chosen."""
    values: dict[str, OptionValue] = dict(preset.values)
    decks = chosen.get("decks", preset.decks[players][0])
    values["decks"] = decks
    values["hand_size"] = _usual_hand_size(preset, players, decks)
    aces = chosen.get("aces", values["aces"])
    values["ace_points"] = _HIGH_ACE_POINTS if aces == "high_or_low" else _LOW_ACE_POINTS
    values["deals"] = values["target"] = values["call_seconds"] = values["turn_seconds"] = None
    values["away_after"] = AWAY_AFTER
    values["memory"] = True
    if preset.match_end == "deals" and chosen.get("target") is None:
        values["deals"] = 1
    values |= chosen
    return {name: values[name] for name in OPTIONS}


def _usual_hand_size(preset: Preset, players: int, decks: OptionValue) -> int:
    """The preset's deal; with a number of decks that it has no table for, as with the usual one."""
    usual = preset.hand_sizes.get(preset.decks[players][0], preset.hand_sizes[1])
    chosen = preset.hand_sizes.get(decks, usual) if isinstance(decks, int) else usual
    return chosen.get(players, usual[players])


def _value_problems(preset: Preset, players: int, chosen: Choices) -> Iterator[OptionProblem]:
    """What is wrong with each choice by itself."""
    fewest, most = preset.players
    if not fewest <= players <= most:
        yield OptionProblem(
            "players",
            players,
            Text("{variant} is for {fewest} to {most} players").format(
                variant=preset.name, fewest=fewest, most=most
            ),
            clause(preset.id, "players"),
        )
    for name, value in chosen.items():
        if name not in OPTIONS:
            yield OptionProblem(name, value, _no_such_option(name), None)
        elif reason := OPTIONS[name].problem(value):
            yield OptionProblem(name, value, reason, clause(preset.id, name))


def _no_such_option(name: str) -> Text:
    near = get_close_matches(name, OPTIONS, n=1)
    if near:
        return Text("there is no such option; did you mean {option}?").format(option=near[0])
    return Text("there is no such option; there are {options}").format(options=", ".join(OPTIONS))


def _joint_problems(preset: Preset, rules: Rules, chosen: Choices) -> Iterator[OptionProblem]:
    """What is wrong with the choices together."""

    def problem(option: str, reason: Text) -> OptionProblem:
        return OptionProblem(option, getattr(rules, option), reason, clause(preset.id, option))

    cards = len(RANKS) * len(SUITS) * rules.decks + rules.jokers
    needed = rules.hand_size * rules.players + rules.upcard + 1
    if rules.decks not in preset.decks[rules.players]:
        yield problem(
            "decks",
            Text("with {players} players {variant} takes {usual}, not {decks}").format(
                players=rules.players,
                variant=preset.name,
                usual=either([str(decks) for decks in preset.decks[rules.players]]),
                decks=rules.decks,
            ),
        )
    elif needed > cards:
        yield problem(
            "hand_size",
            Text(
                "{players} hands of {hand_size}, the upcard if there is one and a card for the "
                "stock are {needed} cards; the pack has {cards}"
            ).format(players=rules.players, hand_size=rules.hand_size, needed=needed, cards=cards),
        )
    if 0 < rules.jokers < preset.fewest_jokers:
        yield problem(
            "jokers",
            Text("{variant} is played with none or at least {fewest}").format(
                variant=preset.name, fewest=preset.fewest_jokers
            ),
        )
    if rules.turnover_new_upcard and rules.turnover_keeps_upcard:
        yield problem(
            "turnover_new_upcard",
            Text("a new upcard cannot be turned while the old one stays (turnover_keeps_upcard)"),
        )
    if rules.call == "timed" and rules.call_seconds is None:
        yield problem("call_seconds", Text("a timed call needs the number of seconds"))
    if rules.call != "timed" and rules.call_seconds is not None:
        yield problem(
            "call_seconds",
            Text("is only for a timed call, and call is {call}").format(call=rules.call),
        )
    if rules.deals is not None and rules.target is not None:
        yield problem(
            "target", Text("a match ends after a number of deals or at a target, not both")
        )
    if rules.deals is None and rules.target is None:
        ending = next((name for name in _MATCH_END if name in chosen), "deals")
        yield problem(
            ending,
            Text("say how the match ends: choose deals (a number of deals) or target (a score)"),
        )


_LOW_ACE_POINTS = 1
_HIGH_ACE_POINTS = 11
_MATCH_END = ("deals", "target")


def _clauses(straight: int, seven_card: int, parlett: int, call_rummy: int) -> dict[str, str]:
    """The clause of each variant, by its number."""
    return {
        "straight": f"straight.{straight}",
        "seven-card": f"seven-card.{seven_card}",
        "parlett": f"parlett.{parlett}",
        "call-rummy": f"call-rummy.{call_rummy}",
    }


_PLAYERS = Option(
    name="players",
    summary=Text("How many people play."),
    kind="number",
    rule="common.1",
    rules=_clauses(1, 1, 1, 1),
)
_TURN = _clauses(3, 3, 2, 2)
_TURNOVER = _clauses(5, 4, 4, 4)

OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            name="decks",
            summary=Text("Decks of 52 cards shuffled together."),
            kind="number",
            low=1,
            high=2,
            unit=Text("decks"),
            rule="common.5",
            rules=_PLAYERS.rules,
        ),
        Option(
            name="jokers",
            summary=Text("Jokers in the whole pack."),
            kind="number",
            low=0,
            high=8,
            unit=Text("cards"),
            rule="jokers.1",
            rules={"seven-card": "seven-card.6", "parlett": "parlett.6"},
        ),
        Option(
            name="hand_size",
            summary=Text("Cards dealt to each player."),
            kind="number",
            low=1,
            high=20,
            unit=Text("cards"),
            rule="straight.8",
            rules=_PLAYERS.rules | {"straight": "straight.8"},
        ),
        Option(
            name="upcard",
            summary=Text("Whether a card is turned up at the deal to start the discard pile."),
            kind="switch",
            rule="straight.2",
            rules=_clauses(2, 2, 1, 1),
        ),
        Option(
            name="melds_per_turn",
            summary=Text("How many new melds a player may lay down in a turn."),
            kind="choice",
            choices=("one", "unlimited"),
            rule="straight.3",
            rules=_TURN,
        ),
        Option(
            name="order",
            summary=Text("melds_first: after a layoff no new meld that turn. free: in any order."),
            kind="choice",
            choices=("melds_first", "free"),
            rule="straight.3",
            rules=_TURN,
        ),
        Option(
            name="layoffs",
            summary=Text("Whose melds a player may lay off on."),
            kind="choice",
            choices=("any", "own", "none"),
            rule="seven-card.3",
            rules=_TURN,
        ),
        Option(
            name="final_discard",
            summary=Text("Whether the last card must be discarded to go out."),
            kind="switch",
            rule="common.15",
            rules=_clauses(6, 5, 5, 3),
        ),
        Option(
            name="return_upcard",
            summary=Text("Whether the upcard taken in a turn may be discarded in the same turn."),
            kind="switch",
            rule="straight.4",
            rules={
                "parlett": "parlett.3",
                "seven-card": "common.14",
                "call-rummy": "common.14",
            },
        ),
        Option(
            name="aces",
            summary=Text("low: A-2-3 only. high_or_low: Q-K-A is a run too."),
            kind="choice",
            choices=("low", "high_or_low"),
            rule="common.4",
            rules={"seven-card": "seven-card.6", "parlett": "parlett.6"},
        ),
        Option(
            name="ace_points",
            summary=Text("What an ace left in hand counts: 1, or 11 with high-or-low aces."),
            kind="number",
            low=0,
            high=50,
            unit=Text("points"),
            rule="common.9",
            rules={
                "seven-card": "seven-card.6",
                "parlett": "parlett.6",
                "call-rummy": "call-rummy.6",
            },
        ),
        Option(
            name="joker_points",
            summary=Text("What a joker left in hand counts."),
            kind="number",
            low=0,
            high=50,
            unit=Text("points"),
            rule="jokers.4",
            rules={"seven-card": "seven-card.6", "parlett": "parlett.6"},
        ),
        Option(
            name="joker_swap",
            summary=Text("Whether jokers on the table may be swapped for the card they stand for."),
            kind="switch",
            rule="jokers.3",
        ),
        Option(
            name="turnover",
            summary=Text(
                "When the discard pile becomes the stock: on_demand, when somebody draws from the "
                "empty stock; last_card, the moment the last stock card is taken."
            ),
            kind="choice",
            choices=("on_demand", "last_card"),
            rule="common.12",
            rules=_TURNOVER,
        ),
        Option(
            name="turnover_keeps_upcard",
            summary=Text(
                "Whether the upcard stays on the discard pile when the rest is turned over."
            ),
            kind="switch",
            rule="common.12",
            rules=_TURNOVER,
        ),
        Option(
            name="turnover_shuffles",
            summary=Text(
                "Whether the cards turned over are shuffled; else the oldest is drawn first."
            ),
            kind="switch",
            rule="common.12",
            rules=_TURNOVER,
        ),
        Option(
            name="turnover_new_upcard",
            summary=Text("Whether the top card of the new stock is turned up to start a new pile."),
            kind="switch",
            rule="common.12",
            rules=_TURNOVER,
        ),
        Option(
            name="turnovers",
            summary=Text("How often in a deal the discard pile may become the stock."),
            kind="number",
            low=0,
            high=100,
            unit=Text("turnovers"),
            nothing=Text("unlimited"),
            rule="common.12",
        ),
        Option(
            name="call",
            summary=Text(
                'The "Rummy!" call: off; next_draw, open until the next player draws; timed, open '
                "for call_seconds, and the next draw waits for it."
            ),
            kind="choice",
            choices=("off", "next_draw", "timed"),
            rule="call-rummy.5",
        ),
        Option(
            name="call_seconds",
            summary=Text("How long a timed call is open."),
            kind="number",
            low=1,
            high=60,
            unit=Text("seconds"),
            nothing=Text("the call is not timed"),
            rule="call-rummy.5",
        ),
        Option(
            name="scoring",
            summary=Text(
                "winner_takes: who goes out scores all other hands, the highest total wins. "
                "penalty: everybody scores the own hand, the lowest total wins."
            ),
            kind="choice",
            choices=("winner_takes", "penalty"),
            rule="common.10",
            rules={"straight": "straight.7", "call-rummy": "call-rummy.6"},
        ),
        Option(
            name="deals",
            summary=Text("The match ends after so many deals."),
            kind="number",
            low=1,
            high=1000,
            unit=Text("deals"),
            nothing=Text("the match ends at a target"),
            rule="common.11",
            rules={"straight": "straight.7"},
        ),
        Option(
            name="target",
            summary=Text("The match ends after the deal in which a player reaches so many points."),
            kind="number",
            low=1,
            high=100_000,
            unit=Text("points"),
            nothing=Text("the match ends after a number of deals"),
            rule="common.11",
            rules={"straight": "straight.7"},
        ),
        Option(
            name="turn_seconds",
            summary=Text("How long a player has for a turn before it is played by force."),
            kind="number",
            low=5,
            high=7 * 86_400,
            unit=Text("seconds"),
            nothing=Text("there is no clock"),
            rule="table.1",
            of_cards=False,
        ),
        Option(
            name="away_after",
            summary=Text("After so many forced turns in a row the computer plays the seat."),
            kind="number",
            low=1,
            high=100,
            unit=Text("turns"),
            rule="table.2",
            of_cards=False,
        ),
        Option(
            name="memory",
            summary=Text(
                "Whether the view tells on request what everybody saw: the cards that went into "
                "hands face up, and the discards so far."
            ),
            kind="switch",
            rule="table.7",
            of_cards=False,
        ),
    )
}
"""Every option, in the order in which the rules speak of them."""

_TEN_SEVEN_SIX = {2: 10, 3: 7, 4: 7, 5: 6, 6: 6}
_ONE_OR_TWO = (1, 2)

PRESETS: dict[str, Preset] = {
    preset.id: preset
    for preset in (
        Preset(
            id="straight",
            name=Text("Straight Rummy"),
            summary=Text(
                "Basic Rummy after Pagat: one new meld a turn, then layoffs on anyone's melds; "
                "the winner takes the points."
            ),
            source=Text("A Swedish guide to Basic or Straight Rummy, after Pagat"),
            players=(2, 6),
            decks=dict.fromkeys(range(2, 7), _ONE_OR_TWO),
            hand_sizes={1: _TEN_SEVEN_SIX},
            match_end="must_choose",
            values={
                "jokers": 0,
                "upcard": True,
                "melds_per_turn": "one",
                "order": "melds_first",
                "layoffs": "any",
                "final_discard": False,
                "return_upcard": False,
                "aces": "low",
                "joker_points": 15,
                "joker_swap": True,
                "turnover": "on_demand",
                "turnover_keeps_upcard": True,
                "turnover_shuffles": False,
                "turnover_new_upcard": False,
                "turnovers": UNLIMITED,
                "call": "off",
                "scoring": "winner_takes",
            },
        ),
        Preset(
            id="seven-card",
            name=Text("Seven-card Rummy"),
            summary=Text(
                "The Swedish game: seven cards, no upcard at the deal, layoffs on the own melds; "
                "jokers and high aces as variants."
            ),
            source=Text("A Swedish description of seven-card rummy with its variants"),
            players=(2, 8),
            decks=dict.fromkeys(range(2, 5), _ONE_OR_TWO) | dict.fromkeys(range(5, 9), (2,)),
            hand_sizes={1: dict.fromkeys(range(2, 9), 7)},
            values={
                "jokers": 0,
                "upcard": False,
                "melds_per_turn": "one",
                "order": "free",
                "layoffs": "own",
                "final_discard": False,
                "return_upcard": True,
                "aces": "low",
                "joker_points": 15,
                "joker_swap": True,
                "turnover": "on_demand",
                "turnover_keeps_upcard": True,
                "turnover_shuffles": True,
                "turnover_new_upcard": False,
                "turnovers": UNLIMITED,
                "call": "off",
                "scoring": "winner_takes",
            },
        ),
        Preset(
            id="parlett",
            name=Text("Parlett's Basic Rummy"),
            summary=Text(
                "Any number of melds a turn, layoffs on anyone's melds, one or two decks, jokers "
                "if wished; the whole pile is turned over."
            ),
            source=Text("David Parlett's basic rummy, in a Danish translation"),
            players=(2, 7),
            decks={2: (1,), 3: (1,), 4: (1, 2), 5: (1, 2), 6: (2,), 7: (2,)},
            hand_sizes={
                1: {2: 10, 3: 7, 4: 7, 5: 7},
                2: {4: 10, 5: 10, 6: 10, 7: 10},
            },
            fewest_jokers=2,
            values={
                "jokers": 0,
                "upcard": True,
                "melds_per_turn": "unlimited",
                "order": "free",
                "layoffs": "any",
                "final_discard": False,
                "return_upcard": False,
                "aces": "low",
                "joker_points": 15,
                "joker_swap": True,
                "turnover": "on_demand",
                "turnover_keeps_upcard": False,
                "turnover_shuffles": False,
                "turnover_new_upcard": True,
                "turnovers": UNLIMITED,
                "call": "off",
                "scoring": "winner_takes",
            },
        ),
        Preset(
            id="call-rummy",
            name=Text("Call Rummy"),
            summary=Text(
                'The Danish game: only a discard goes out; a misplaced discard is called "Rummy!"; '
                "penalty points, low is good."
            ),
            source=Text("A Danish rule book of rummy with the Rummy call"),
            players=(2, 6),
            decks=dict.fromkeys(range(2, 7), _ONE_OR_TWO),
            hand_sizes={1: _TEN_SEVEN_SIX},
            values={
                "jokers": 0,
                "upcard": True,
                "melds_per_turn": "unlimited",
                "order": "free",
                "layoffs": "any",
                "final_discard": True,
                "return_upcard": True,
                "aces": "low",
                "joker_points": 15,
                "joker_swap": True,
                "turnover": "last_card",
                "turnover_keeps_upcard": True,
                "turnover_shuffles": False,
                "turnover_new_upcard": False,
                "turnovers": UNLIMITED,
                "call": "next_draw",
                "scoring": "penalty",
            },
        ),
    )
}
"""The four rule texts. A preset is one entry here; nothing else knows them by name."""

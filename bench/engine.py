"""The rules alone, in this process, without HTTP and Redis. All times are CPU time."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from random import Random
from statistics import median

from bench.figures import Effort, Figure, Goal, Row, Section, interleaved
from service.errors import Refused
from service.rummy.computer import LEVELS, MOST_MOVES, Level, choose
from service.rummy.engine import apply, new_match
from service.rummy.legal import legal_moves
from service.rummy.model import LayMeld, Match, Move
from service.rummy.rules import PRESETS, OptionValue, Rules, agree
from service.rummy.suggest import near
from service.rummy.view import sight

Deals = Callable[[], int]
"""Plays a deal and returns how many actions that took."""

_WORST: dict[str, tuple[str, dict[str, OptionValue]]] = {
    "seven-card, 8 jokers": ("seven-card", {"jokers": 8}),
    "straight, hands of 15, 8 jokers": ("straight", {"decks": 2, "hand_size": 15, "jokers": 8}),
}
"""Tables with the most melds in a hand, besides the variants as they are."""

_ENVIRONMENT = "RLCard's environment"
"""It makes what a learning program sees of each state, which the others do not."""

_SHARP = {"median": Goal("≤", 5), "p99": Goal("≤", 20)}
_POSITIONS = 500


def measure(effort: Effort) -> Section:
    """Random play, lists of legal moves, computer players, and moves refused with others instead.

    Nothing is waited for here, so that a part of the seconds is enough.
    """
    usual = {variant: _rules(variant) for variant in PRESETS}
    worst = {table: _rules(variant, **chosen) for table, (variant, chosen) in _WORST.items()}
    others, missing = _others()
    return Section(
        "The engine alone: two players, one process, CPU time",
        (
            *_random_play(usual, others, effort),
            *_lists(usual, effort),
            *_decisions(usual | worst, effort),
            *_refusals(usual | worst, effort),
        ),
        ("In random play all legal moves are listed before each action.", *missing),
    )


# ----------------------------------------------------------------------------------- random play


def _random_play(
    tables: Mapping[str, Rules], others: dict[str, Deals], effort: Effort
) -> Iterator[Row]:
    """Deals played by taking any of the legal moves; others play gin rummy."""
    deals: dict[str, Deals] = {
        name: partial(_deal, rules, Random(name)) for name, rules in tables.items()
    }
    alternatives = {
        name: partial(_rate, deal, effort.seconds / 4) for name, deal in (deals | others).items()
    }
    rates = {
        name: Figure(f"random play, {name}", "actions/s", found["rate"])
        for name, found in interleaved(effort.rounds, alternatives).items()
    }
    yield from map(Row, rates.values())
    for other in others:
        for name in tables:
            goal = None if other == _ENVIRONMENT else Goal("≥", 1)
            yield Row(rates[name], rates[other], goal)


def _rate(deal: Deals, seconds: float) -> dict[str, float]:
    actions, begun = 0, time.process_time()
    while (taken := time.process_time() - begun) < seconds:
        actions += deal()
    return {"rate": actions / taken}


def _deal(rules: Rules, chance: Random) -> int:
    actions, now = 0, 0
    match, _ = new_match(rules, str(chance.random()))
    while match.deal is not None:
        seat = match.deal.turn
        moves = tuple(legal_moves(match, seat, now))
        match, _ = apply(match, seat, moves[int(chance.random() * len(moves))], now)
        now += _call_time(rules)
        actions += 1
    return actions


def _others() -> tuple[dict[str, Deals], tuple[str, ...]]:
    """What else plays gin rummy in Python and is installed here, and notes about what is not."""
    found: dict[str, Deals] = {}
    missing = []
    for name, (package, deals) in _OTHERS.items():
        try:
            found[name] = deals(Random(name))
        except ImportError:
            missing.append(f"{name} is left out: pip install {package}.")
    return found, tuple(missing)


def _open_spiel(chance: Random, *, counts_chance: bool) -> Deals:
    """It deals, and gives cards of the stock, by actions of chance, which may be counted too."""
    game = import_module("pyspiel").load_game("gin_rummy")

    def deal() -> int:
        actions = 0
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes = state.chance_outcomes()
                state.apply_action(outcomes[int(chance.random() * len(outcomes))][0])
                actions += counts_chance
            else:
                legal = state.legal_actions()
                state.apply_action(legal[int(chance.random() * len(legal))])
                actions += 1
        return actions

    return deal


def _rlcard_game(chance: Random) -> Deals:
    game = import_module("rlcard.games.gin_rummy.game").GinRummyGame()
    game.np_random = import_module("numpy.random").RandomState(1)

    def deal() -> int:
        actions = 0
        game.init_game()
        while not game.is_over():
            legal = game.judge.get_legal_actions()
            game.step(legal[int(chance.random() * len(legal))])
            actions += 1
        return actions

    return deal


def _rlcard_environment(chance: Random) -> Deals:
    environment = import_module("rlcard").make("gin-rummy", config={"seed": 1})

    def deal() -> int:
        actions = 0
        state, _ = environment.reset()
        while not environment.is_over():
            legal = list(state["legal_actions"])
            state, _ = environment.step(legal[int(chance.random() * len(legal))])
            actions += 1
        return actions

    return deal


_OTHERS: dict[str, tuple[str, Callable[[Random], Deals]]] = {
    "OpenSpiel": ("open-spiel", partial(_open_spiel, counts_chance=False)),
    "OpenSpiel with its actions of chance": (
        "open-spiel",
        partial(_open_spiel, counts_chance=True),
    ),
    "RLCard's game": ("rlcard", _rlcard_game),
    _ENVIRONMENT: ("rlcard", _rlcard_environment),
}


# ----------------------------------------------------------------- lists, decisions and refusals


def _lists(tables: Mapping[str, Rules], effort: Effort) -> Iterator[Row]:
    """All legal moves of the seat on turn, where steady players come to."""
    alternatives = {name: partial(_list_time, _positions(each)) for name, each in tables.items()}
    for name, found in interleaved(effort.rounds, alternatives).items():
        yield Row(Figure(f"all legal moves, {name}", "µs", found["mean"]))


def _list_time(positions: list[tuple[Match, int]]) -> dict[str, float]:
    begun = time.process_time()
    for match, now in positions:
        tuple(legal_moves(match, _turn(match), now))
    return {"mean": 1e6 * (time.process_time() - begun) / len(positions)}


def _decisions(tables: Mapping[str, Rules], effort: Effort) -> Iterator[Row]:
    """Decisions of the computer, from what it sees to its move."""
    alternatives = {
        f"{level}, {name}": partial(_decision_times, rules, level, effort.seconds / 10)
        for level in LEVELS
        for name, rules in tables.items()
    }
    for name, found in interleaved(effort.rounds, alternatives).items():
        goals = _SHARP if name.startswith("sharp") else {}
        yield from _rows(f"a decision of {name}", found, goals)


def _decision_times(rules: Rules, level: Level, seconds: float) -> dict[str, float]:
    begun = time.process_time()
    times = []
    for match, now in _played(rules, level):
        before = time.process_time()
        _choice(match, level, now)
        times.append(time.process_time() - before)
        if before - begun > seconds:
            break
    return _spread(times)


def _refusals(tables: Mapping[str, Rules], effort: Effort) -> Iterator[Row]:
    """Three cards that are no meld, refused with what could be played instead."""
    alternatives = {
        name: partial(_refusal_times, _positions(each)) for name, each in tables.items()
    }
    for name, found in interleaved(effort.rounds, alternatives).items():
        yield from _rows(f"a refusal with moves instead, {name}", found, {})


def _refusal_times(positions: list[tuple[Match, int]]) -> dict[str, float]:
    times = []
    for match, now in positions:
        seat = _turn(match)
        hand = match.deal.hands[seat] if match.deal else ()
        wanted = LayMeld(hand[:3])
        before = time.process_time()
        try:
            apply(match, seat, wanted, now)
        except Refused:
            near(match, seat, wanted, now)
            times.append(time.process_time() - before)
    return _spread(times)


# --------------------------------------------------------------------------------------- helpers


def _rules(variant: str, **chosen: OptionValue) -> Rules:
    return agree(variant, 2, {"deals": 1, **chosen})


def _call_time(rules: Rules) -> int:
    """Milliseconds from one move to the next: nobody calls, and a draw waits for calls."""
    return 1000 * (rules.call_seconds or 0)


def _turn(match: Match) -> int:
    assert match.deal is not None, "positions are of deals being played"
    return match.deal.turn


def _positions(rules: Rules) -> list[tuple[Match, int]]:
    return list(islice(_played(rules, "steady"), _POSITIONS))


def _played(rules: Rules, level: Level) -> Iterator[tuple[Match, int]]:
    """Where computer players of that level come to, deal after deal, the same ones each time."""
    number = 0
    while True:
        number += 1
        match, now = new_match(rules, str(number))[0], 0
        while match.deal is not None:
            yield match, now
            match, _ = apply(match, match.deal.turn, _choice(match, level, now), now)
            now += _call_time(rules)


def _choice(match: Match, level: Level, now: int) -> Move:
    return choose(level, sight(match, _turn(match), now, MOST_MOVES), str(now))


def _spread(seconds: Iterable[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median": 1000 * median(ordered),
        "p99": 1000 * ordered[int(0.99 * len(ordered))],
    }


def _rows(
    name: str, found: Mapping[str, tuple[float, ...]], goals: Mapping[str, Goal]
) -> Iterator[Row]:
    for measure, samples in found.items():
        yield Row(Figure(f"{name}, {measure}", "ms", samples), goal=goals.get(measure))

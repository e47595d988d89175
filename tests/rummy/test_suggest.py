"""What a refusal suggests instead: which legal moves are near to the one that was wanted."""

import time
from collections import Counter
from random import Random

import pytest

from service.errors import Refused
from service.rummy.cards import FACES, JOKER, Card, pack
from service.rummy.engine import apply, apply_turn
from service.rummy.legal import legal_moves
from service.rummy.model import (
    Call,
    CallWindow,
    Discard,
    Draw,
    LayMeld,
    LayOff,
    Match,
    Move,
    Play,
    Swap,
    Turn,
)
from service.rummy.rules import PRESETS, OptionValue
from service.rummy.suggest import near
from tests.positions import CALLABLE, NOW, after, cards, deal_of, move, position
from tests.rummy.chance import random_position, random_rules
from tests.rummy.test_legal import told

OPEN = CallWindow(0, None)
JOKERS = {"variant": "seven-card", "jokers": 4}


def written(suggested: Move) -> str:
    """A move as `tests.positions.move` reads it."""
    match suggested:
        case Draw("stock"):
            return "draw"
        case Draw(_, card):
            return f"take {card}"
        case Discard(card):
            return f"discard {card}"
        case LayMeld(played, named):
            return f"meld {_words(played, named)}"
        case LayOff(meld, played, named):
            return f"layoff {meld} {_words(played, named)}"
        case Swap(meld, card):
            return f"swap {meld} {card}"
        case Call(meld, named):
            return " ".join(["rummy", str(meld), *(f"JK={face}" for face in named)])


def _words(played: tuple[Card, ...], named: tuple[Card, ...]) -> str:
    faces = iter(named)
    return " ".join(f"JK={next(faces, '?')}" if card == JOKER else card for card in played)


# fmt: off
LINES = [
    # a meld: those that share most of its cards, with the fewest others
    ("meld 5C 5D 9S", ["meld 5C 5D 5H"], {"hands": "5C 5D 5H 9S KH | 2S"}),
    ("meld 5C 5D 5S", ["meld 5C 5D 5H"], {"hands": "5C 5D 5H 9S KH | 2S"}),
    ("meld 5C 5D", ["meld 5C 5D 5S", "meld 5C 5D 5H", "meld 5C 5D 5H 5S"],
     {"hands": "5C 5D 5H 5S KH | 2S"}),
    ("meld 5H 6H 8H", ["meld 5H 6H 7H 8H", "meld 5H 6H 7H", "meld 6H 7H 8H"],
     {"hands": "5H 6H 7H 8H KH | 2S"}),
    ("meld 7C 8C TC", ["layoff 1 7C"], {"hands": "7C 8C TC KD KH | 2S", "melds": "1: 4C 5C 6C"}),
    ("meld 9C 9D 2H", ["meld KC KD KH"], {"hands": "9C 9D 2H KC KD KH | 2S"}),
    # jokers: what they can stand for
    ("meld 5C JK 6C", ["meld JK=4C 5C 6C", "meld 5C 6C JK=7C"],
     JOKERS | {"hands": "5C 6C JK KH | 2S"}),
    ("meld 5C JK=9C 6C", ["meld JK=4C 5C 6C", "meld 5C 6C JK=7C"],
     JOKERS | {"hands": "5C 6C JK KH | 2S"}),
    ("meld 5C 6C=7C JK=8C", ["meld 5C 6C JK=7C", "meld JK=4C 5C 6C"],
     JOKERS | {"hands": "5C 6C JK KH | 2S"}),
    ("meld 5C 5D JK", ["meld 5C 5D JK=5H", "meld 5C 5D JK=5S"],
     JOKERS | {"hands": "5C 5D JK KH | 2S"}),
    ("meld 5C JK JK", ["meld 5C JK=5D JK=5H", "meld 5C JK=5D JK=5S", "meld 5C JK=5H JK=5S"],
     JOKERS | {"hands": "5C JK JK KH | 2S"}),
    ("layoff 1 JK", ["layoff 1 JK=4C", "layoff 1 JK=8C"],
     JOKERS | {"hands": "JK KH | 2S", "melds": "0: 5C 6C 7C"}),
    ("layoff 1 JK=9C", ["layoff 1 JK=4C", "layoff 1 JK=8C"],
     JOKERS | {"hands": "JK KH | 2S", "melds": "0: 5C 6C 7C"}),
    ("layoff 1 JK=4C 9C", ["layoff 1 JK=8C 9C", "layoff 1 JK=4C", "layoff 1 JK=8C"],
     JOKERS | {"hands": "9C JK KH | 2S", "melds": "0: 5C 6C 7C; 0: 9D 9H 9S"}),
    ("swap 1 8C", ["swap 2 8C", "layoff 1 8C"],
     JOKERS | {"hands": "8C KH | 2S", "melds": "0: 5C 6C 7C; 1: 8D 8H JK=8C"}),
    ("swap 1 9C", ["layoff 2 9C", "swap 1 8C"],
     JOKERS | {"hands": "8C 9C KH | 2S", "melds": "1: JK=8C 8D 8H; 0: 9D 9H JK=9S"}),
    # a layoff: the same cards on another meld, or as a meld, or fewer of them
    ("layoff 1 9S", ["layoff 2 9S"], {"hands": "9S KH | 2S", "melds": "1: 4C 5C 6C; 1: 9C 9D 9H"}),
    ("layoff 1 7C 8C", ["layoff 2 7C 8C", "layoff 2 7C"],
     {"hands": "7C 8C KH | 2S", "melds": "1: 9D 9H 9S; 1: 4C 5C 6C"}),
    ("layoff 1 7C 7D 7H", ["meld 7C 7D 7H"],
     {"hands": "7C 7D 7H KH | 2S", "melds": "1: 9D 9H 9S"}),
    ("layoff 1 9S KH", ["layoff 1 9S"], {"hands": "9S KH 2C | 2S", "melds": "1: 9C 9D 9H"}),
    ("layoff 1 2C", ["layoff 1 9S"], {"hands": "9S KH 2C | 2S", "melds": "1: 9C 9D 9H"}),
    # what ends the turn where nothing can be played, without the cards that were to be
    ("meld 5C 5D 9S", ["discard KH", "discard 9S", "discard 5C"], {"hands": "5C 5D 9S KH | 2S"}),
    ("layoff 1 9S", ["discard KH", "discard 9S"],
     {"hands": "9S KH | 2S", "melds": "1: 9C 9D 9H", "layoffs": "none"}),
    ("meld 5C 5D 5H", ["discard 5C", "discard 5D", "discard 5H"],
     {"hands": "5C 5D 5H 9D | 2S", "taken": "9D"}),
    # a discard: the loneliest first, of those what counts most, a joker last
    ("discard 9D", ["discard KH", "discard 4S", "discard 8C"],
     {"hands": "7C 8C 4S 9D KH JK | 2S", "jokers": 2, "taken": "9D"}),
    ("discard 6S", ["discard KH", "discard 8D", "discard JK"],
     {"hands": "8D KH JK | 2S", "jokers": 2}),
    ("discard 9D", ["layoff 1 9D"],
     {"hands": "9D | 2S", "taken": "9D", "melds": "1: 9C 9H 9S"}),
    # the step of the turn
    ("discard KH", ["draw", "take 9D"], {"hands": "9S KH | 2S", "phase": "draw", "pile": "9D"}),
    ("meld 5C 5D 5H", ["draw"], {"hands": "5C 5D 5H KH | 2S", "phase": "draw"}),
    ("draw", ["meld 5C 5D 5H", "layoff 1 9S", "discard KH"],
     {"hands": "5C 5D 5H 9S KH | 2S", "melds": "1: 9C 9D 9H"}),
    ("take 8C", ["discard KH"], {"hands": "9S KH | 2S", "pile": "8C", "taken": "9S"}),
    # the draw
    ("take 9C", ["take 8C", "draw"], {"hands": "9S KH | 2S", "phase": "draw", "pile": "8C"}),
    ("take", ["draw"], {"hands": "9S KH | 2S", "phase": "draw"}),
    ("draw", ["take 8C"], {"hands": "9S KH | 2S", "phase": "draw", "pile": "8C", "stock": ""}),
    ("draw", ["rummy 1"],
     CALLABLE | {"call": "timed", "call_seconds": 9, "window": CallWindow(0, NOW + 1), "seat": 1}),
    # out of turn: only a call
    ("draw", [], {"hands": "9S KH | 2S 3S", "seat": 1}),
    ("discard 2S", [], {"hands": "9S KH | 2S 3S", "phase": "draw", "seat": 1}),
    ("draw", ["rummy 1"], CALLABLE | {"window": OPEN, "seat": 2}),
    ("draw", [], CALLABLE | {"window": OPEN, "seat": 0}),
    # the call
    ("rummy 2", ["rummy 1"], CALLABLE | {"window": OPEN, "seat": 2}),
    ("rummy 2", ["rummy 1", "rummy 3"],
     CALLABLE | {"window": OPEN, "seat": 2, "melds": "0: 8D 8H 8S; 1: 2D 3D 4D; 2: 5C 6C 7C"}),
    ("rummy 2", ["rummy 2 JK=2C", "rummy 2 JK=6C", "rummy 1 JK=8C"],
     CALLABLE | {"window": OPEN, "seat": 2, "pile": "JK", "jokers": 1,
                 "melds": "0: 8D 8H 8S; 1: 3C 4C 5C"}),
    ("rummy 1", [], CALLABLE | {"window": OPEN, "seat": 0}),
    ("rummy 1", [], CALLABLE | {"window": None, "seat": 2}),
    ("rummy 1", [], {"hands": "9S KH | 2S", "pile": "8C"}),
]
# fmt: on


@pytest.mark.parametrize(("wanted", "expected", "setting"), LINES)
def test_what_is_near_to_a_move(wanted: str, expected: list[str], setting: dict) -> None:
    setting = dict(setting)
    seat = setting.pop("seat", 0)
    match = position(**setting)
    with pytest.raises(Refused):
        apply(match, seat, move(wanted), NOW)
    assert [written(found) for found in near(match, seat, move(wanted), NOW)] == expected


def test_nothing_is_near_when_the_match_is_over() -> None:
    match = after(position(hands="5C 5D 5H | 2S"), "meld 5C 5D 5H")
    assert match.deal is None
    assert near(match, 0, Draw("stock"), NOW) == near(match, 1, Discard("2S"), NOW) == ()


# ------------------------------------------------------------------------------- whole turns

# fmt: off
TURNS = [
    (["meld 5C 5D 5H", "layoff 1 KH"], "9S", ["layoff 1 9S"]),
    (["meld 5C 5D 9S"], "KH", ["meld 5C 5D 5H", "layoff 1 9S"]),
    (["meld 5C 5D 5H", "meld 6C 6D 9S"], "KH", ["layoff 1 9S"]),
    # the discard: rather not what was to be played
    (["meld 5C 5D 5H"], "5C", ["discard QD", "discard KH", "discard 9S"]),
    (["meld 5C 5D 5H", "layoff 1 9S"], "2S", ["discard QD", "discard KH", "discard 6C"]),
    (["meld 5C 5D 5H"], None, ["discard QD", "discard KH", "discard 9S"]),
]
# fmt: on


@pytest.mark.parametrize(("plays", "discard", "expected"), TURNS)
def test_near_to_a_turn_is_what_is_near_to_the_step_that_was_refused(
    plays: list[str], discard: str | None, expected: list[str]
) -> None:
    match = position(hands="5C 5D 5H 6C 6D 9S QD KH | 2S", melds="1: 9C 9D 9H")
    turn = Turn(tuple(move(text) for text in plays), discard)
    with pytest.raises(Refused) as refusal:
        apply_turn(match, 0, turn.plays, turn.discard, NOW)
    found = near(match, 0, turn, NOW, play=refusal.value.params.get("play"))
    assert [written(move) for move in found] == expected


def test_near_to_a_turn_without_a_draw_are_the_draws() -> None:
    match = position(hands="5C 5D 5H KH | 2S", phase="draw", pile="9D")
    turn = Turn((LayMeld(cards("5C 5D 5H")),), "KH")
    assert [written(found) for found in near(match, 0, turn, NOW)] == ["draw", "take 9D"]
    assert near(match, 1, turn, NOW) == ()


# ------------------------------------------------------------------------- in any position

KINDS: dict[str, dict[str, OptionValue]] = {
    "as it comes": {},
    "jokers": {"jokers": 8},
    "two decks": {"decks": 2, "jokers": 4},
    "calls": {"call": "timed", "call_seconds": 5, "jokers": 2},
    "dead ends": {"return_upcard": False, "final_discard": True, "jokers": 4},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", PRESETS)
def test_whatever_is_refused_each_suggestion_is_accepted(variant: str, kind: str) -> None:
    answers: Counter[str] = Counter()
    for number in range(25):
        chance = Random(f"{variant} {kind} {number}")
        players = chance.choice([4, *PRESETS[variant].players[kind == "two decks" :]])
        rules = random_rules(chance, variant, players, **KINDS[kind])
        match = random_position(
            chance,
            rules,
            most_in_hand=chance.choice([3, 9, 20]),
            narrow=kind == "dead ends" and number % 2 == 0,
        )
        for _ in range(25):
            seat = chance.choice([deal_of(match).turn] * 3 + [*range(rules.players)])
            wanted = wish(chance, match, seat)
            try:
                if isinstance(wanted, Turn):
                    apply_turn(match, seat, wanted.plays, wanted.discard, NOW)
                else:
                    apply(match, seat, wanted, NOW)
            except Refused as refusal:
                play = refusal.params.get("play")
                found = near(match, seat, wanted, NOW, play=play)
                check(match, seat, wanted, found)
                assert near(match, seat, wanted, NOW, play=play) == found
                answers[refusal.code] += 1
                answers["with suggestions"] += bool(found)
    assert answers.total() > 250, answers
    assert len(answers) > 10, answers


def check(match: Match, seat: int, wanted: Move | Turn, found: tuple[Move, ...]) -> None:
    """The suggestions are few, different, accepted, and of the own cards alone."""
    assert len(set(found)) == len(found) <= 3, told(match)
    deal = deal_of(match)
    for suggested in found:
        apply(match, seat, suggested, NOW)
        assert suggested != wanted or isinstance(wanted, Turn)
        if seat != deal.turn:
            assert isinstance(suggested, Call)
        match suggested:
            case LayMeld() | LayOff():
                assert not Counter(suggested.cards) - Counter(deal.hands[seat])
            case Swap() | Discard():
                assert suggested.card in deal.hands[seat]
            case Draw():
                assert suggested.card in {None, deal.upcard}
    if not isinstance(wanted, Call):
        assert bool(found) == (next(legal_moves(match, seat, NOW), None) is not None), told(match)


def wish(chance: Random, match: Match, seat: int) -> Move | Turn:
    """Something that a player might try who has not understood the rules."""
    deal = deal_of(match)
    hand = deal.hands[seat]

    def some(most: int) -> tuple[Card, ...]:
        held = chance.sample(hand, min(len(hand), chance.randint(1, most)))
        return (*held, *([chance.choice(FACES)] if chance.random() < 0.3 else []))

    def names(played: tuple[Card, ...]) -> tuple[Card, ...]:
        if chance.random() < 0.5:
            return ()
        wrong = chance.choice([0, 0, 0, 1])
        return tuple(chance.choice(FACES) for _ in range(played.count(JOKER) + wrong))

    def play() -> Play:
        meld = chance.randint(1, len(deal.melds) + 1)
        match chance.randrange(4):
            case 0 | 1:
                played = some(6)
                return LayMeld(played, names(played))
            case 2:
                played = some(3)
                return LayOff(meld, played, names(played))
            case _:
                return Swap(meld, some(1)[-1])

    match chance.randrange(9):
        case 0:
            return Draw(chance.choice(["stock", "discard"]), chance.choice([None, *FACES]))
        case 1:
            return Discard(some(1)[-1])
        case 2:
            return Call(chance.randint(1, 4), names((JOKER,)))
        case 3:
            plays = tuple(play() for _ in range(chance.randint(0, 3)))
            return Turn(plays, chance.choice([None, some(1)[-1]]))
        case _:
            return play()


@pytest.mark.parametrize("seed", range(5))
def test_eight_jokers_among_twenty_cards_are_looked_through_in_no_time(seed: int) -> None:
    left = list(pack(2, 0))
    Random(seed).shuffle(left)
    hand, table = left[:12] + [JOKER] * 8, "1: 4C 5C 6C; 1: 7D 8D 9D; 1: KC KD KH"
    match = position(
        hands=f"{' '.join(hand)} | 2S", melds=table, decks=2, jokers=8, aces="high_or_low"
    )
    for text in (f"meld {' '.join(hand)}", "meld JK JK 2S", "layoff 1 JK JK JK JK JK"):
        began = time.process_time()
        near(match, 0, move(text), NOW)
        assert time.process_time() - began < 0.5

"""The computer players: what they may know, that they always finish, and what each level does."""

import inspect
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from service.rummy.cards import JOKER, in_order
from service.rummy.computer import LEVELS, MOST_MOVES, Level, choose
from service.rummy.engine import apply, new_match
from service.rummy.model import Call, CallWindow, Event, Match, Move, TurnedOver
from service.rummy.rules import PRESETS, agree
from service.rummy.view import Sight, sight
from tests.positions import deal_of, move, position, with_deal
from tests.rummy.chance import LATER, random_position, random_rules

clause = pytest.mark.clause

Step = tuple[Match, Move, Match, tuple[Event, ...], int]
"""A match before a move, the move, the match and events after it, the time."""


def seen(match: Match, most_moves: int = MOST_MOVES, now: int = LATER) -> Sight:
    """What the seat on turn sees; without `now`, after any timed call."""
    return sight(match, deal_of(match).turn, now, most_moves)


def played(match: Match, levels: list[Level], seed: str, most: int = 5_000) -> Iterator[Step]:
    """A match played by computers alone."""
    for step in range(most):
        if match.deal is None:
            return
        now = LATER + step * 60_000  # after any timed call
        seat = match.deal.turn
        made = choose(levels[seat], seen(match, now=now), f"{seed} {step}")
        after, events = apply(match, seat, made, now)
        yield match, made, after, events, now
        match = after


def dealt_anew(match: Match, chance: Random) -> Match:
    """The same to the seat on turn: all that it has not seen is shuffled, hands and stock alike."""
    deal = deal_of(match)
    known = [
        Counter(hand if seat == deal.turn else (card for who, card in deal.picked if who == seat))
        for seat, hand in enumerate(deal.hands)
    ]
    hidden = [*deal.stock]
    for hand, seen_there in zip(deal.hands, known, strict=True):
        hidden += (Counter(hand) - seen_there).elements()
    chance.shuffle(hidden)
    hands = []
    for hand, seen_there in zip(deal.hands, known, strict=True):
        unseen = [hidden.pop() for _ in range(len(hand) - seen_there.total())]
        hands.append(in_order([*seen_there.elements(), *unseen]))
    match = replace(match, seed=f"another {chance.random()}")
    return with_deal(match, hands=tuple(hands), stock=tuple(hidden))


# ----------------------------------------------------------------------------- what they know


def test_a_computer_is_given_a_sight_and_a_seed_and_nothing_else():
    asked = inspect.signature(choose).parameters
    assert {name: asked[name].annotation for name in asked} == {
        "level": Level,
        "sight": Sight,
        "seed": str,
    }


@pytest.mark.parametrize("variant", PRESETS)
def test_what_a_seat_has_not_seen_changes_nothing_for_it(variant: str):
    compared = changed = 0
    for number in range(5):
        chance = Random(f"{variant} {number}")
        players = chance.choice([2, 3, 4])
        rules = random_rules(chance, variant, players, hand_size=7)
        match, _ = new_match(rules, f"cards {number}")
        levels = [chance.choice(LEVELS) for _ in range(players)]
        for before, _, _, _, now in played(match, levels, f"{number}", most=60):
            other = dealt_anew(before, chance)
            sights = seen(before, now=now), seen(other, now=now)
            # The other seed has other commitments, which tell nothing about it.
            same = replace(sights[1].view, fairness=sights[0].view.fairness)
            assert sights[0] == replace(sights[1], view=same)
            for level in LEVELS:
                assert choose(level, sights[0], "any") == choose(level, sights[1], "any")
            compared += 1
            changed += deal_of(other).hands != deal_of(before).hands
    assert compared > 150
    assert changed > 0.8 * compared, "it is nearly always another deal"


def test_the_random_level_chooses_among_all_moves_by_the_seed():
    match = position(hands="2C 5D 9H KS | 4S", melds="1: 6C 7C 8C")
    moves = {choose("random", seen(match), f"seed {number}") for number in range(100)}
    assert moves == set(seen(match).view.moves)


@pytest.mark.parametrize("level", LEVELS)
@clause("call-rummy.5")
def test_a_computer_never_calls(level: Level):
    match = position(
        "call-rummy",
        hands="2C 5D KH | 4S 9D",
        pile="9C 7S",
        melds="0: 7C 7D 7H",
        phase="draw",
        window=CallWindow(1, None),
    )
    assert any(isinstance(each, Call) for each in seen(match).view.moves)
    for number in range(20):
        assert not isinstance(choose(level, seen(match), f"seed {number}"), Call)


# ------------------------------------------------------------------------- they always finish


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("variant", PRESETS)
def test_every_choice_is_a_legal_move_and_every_turn_ends(variant: str, level: Level):
    turns = 0
    for number in range(7):
        chance = Random(f"{variant} {level} {number}")
        players = chance.choice([2, 3, 4])
        match, _ = new_match(random_rules(chance, variant, players), f"cards {number}")
        in_turn = 0
        for before, made, after, _, now in played(match, [level] * players, f"{number}", most=200):
            deal = deal_of(before)
            assert made in seen(before, most_moves=10**6, now=now).view.moves
            in_turn += 1
            # A draw, at most a swap and a layoff for each card, a discard.
            assert in_turn <= 2 + 2 * (before.rules.hand_size + 1)
            if after.deal is None or (after.deal.number, after.deal.turns) != (
                deal.number,
                deal.turns,
            ):
                in_turn = 0
                turns += 1
    assert turns > 150


@pytest.mark.parametrize("level", LEVELS)
def test_any_position_has_a_choice_and_the_same_one_again(level: Level):
    chosen = 0
    for number in range(150):
        chance = Random(f"position {number}")
        rules = random_rules(chance, chance.choice(list(PRESETS)), 4)
        match = random_position(chance, rules, narrow=number % 3 == 0)
        for most_moves in (3, MOST_MOVES):
            view = seen(match, most_moves).view
            if any(not isinstance(each, Call) for each in view.moves):
                made = choose(level, seen(match, most_moves), "any")
                assert made in view.moves
                assert choose(level, seen(match, most_moves), "any") == made
                chosen += 1
    assert chosen > 250


@pytest.mark.parametrize("level", LEVELS)
def test_many_jokers_are_no_trouble(level: Level):
    rules = agree("parlett", 4, {"decks": 2, "jokers": 8, "hand_size": 20})
    for number in range(2):
        match, _ = new_match(rules, f"jokers {number}")
        *_, (_, _, last, _, _) = played(match, [level] * 4, f"{number}", most=400)
        assert level == "random" or last.deal is None


@pytest.mark.parametrize("variant", PRESETS)
@clause("common.11")
def test_computers_play_a_whole_match_in_which_the_stock_runs_out(variant: str):
    rules = agree(variant, 4, {"deals": 8})
    levels: list[Level] = ["sharp", "steady", "sharp", "random"]
    match, _ = new_match(rules, "long")
    turned_over = 0
    for _, _, after, events, _ in played(match, levels, "long", most=30_000):
        turned_over += sum(isinstance(event, TurnedOver) for event in events)
        match = after
    assert match.result is not None
    assert match.last is not None
    assert match.last.number == 8
    assert turned_over > 0


# --------------------------------------------------------------------------- what steady does


STEADY = {
    "lays a set": ({"hands": "7C 7D 7H KS 2D | 4S"}, "meld 7C 7D 7H"),
    "lays the longest run": ({"hands": "5H 6H 7H 8H KS | 4S"}, "meld 5H 6H 7H 8H"),
    "lays the melds that leave the least": (
        {"hands": "7C 7D 7H 8H 9H TH 2S | 4S", "variant": "parlett"},
        "meld 8H 9H TH",
    ),
    "melds with a joker": (
        {"hands": "QC QD JK 4S 9H | 4C", "jokers": 2, "variant": "parlett"},
        "meld QC QD JK=QS",
    ),
    "lays off": ({"hands": "8C KS 2D | 4S", "melds": "1: 5C 6C 7C"}, "layoff 1 8C"),
    "lays off on its own melds only": (
        {"hands": "8C 3D 2S | 4S", "melds": "1: 5C 6C 7C", "variant": "seven-card"},
        "discard 8C",
    ),
    "swaps a joker out that it can use": (
        {
            "hands": "6C QC QD 2S | 4S",
            "melds": "1: 5C JK=6C 7C",
            "jokers": 2,
            "variant": "parlett",
        },
        "swap 1 6C",
    ),
    "leaves a joker that is only dear to be caught with": (
        {
            "hands": "6C 9D 2S | 4S",
            "melds": "1: 5C JK=6C 7C",
            "jokers": 2,
            "variant": "parlett",
            "layoffs": "none",
        },
        "discard 9D",
    ),
    "discards the dearest card": ({"hands": "KS 9D 5H 2C | 4S"}, "discard KS"),
    "keeps a pair rather than a dear card": ({"hands": "KS KD 9H 2C | 4S"}, "discard 9H"),
    "keeps neighbours": ({"hands": "QS KS 9H 2C | 4S"}, "discard 9H"),
    "takes the upcard that makes a meld": (
        {"hands": "7C 7D KS 2D | 4S", "pile": "7H", "phase": "draw"},
        "take 7H",
    ),
    "takes the upcard that can be laid off": (
        {"hands": "KS 2D | 4S", "pile": "8C", "phase": "draw", "melds": "1: 5C 6C 7C"},
        "take 8C",
    ),
    "leaves an upcard that only makes a pair": (
        {"hands": "7C KS 2D | 4S", "pile": "7H", "phase": "draw"},
        "draw",
    ),
    "keeps enough to go out with": (
        {"hands": "7C 7D 7H KS 2D | 4S", "layoffs": "none", "final_discard": True},
        "discard KS",
    ),
    "goes out rather than lay the dearest meld": (
        {"hands": "3C 3D 3H 3S KD | 4S", "final_discard": True},
        "meld 3C 3D 3H 3S",
    ),
}


# Where any number of melds can be laid, sharp may hold them back.
ALSO_SHARP = [idea for idea, (table, _) in STEADY.items() if table.get("variant") != "parlett"]


@pytest.mark.parametrize(
    ("level", "idea"),
    [*(("steady", idea) for idea in STEADY), *(("sharp", idea) for idea in ALSO_SHARP)],
)
def test_steady_play(level: Level, idea: str):
    table, expected = STEADY[idea]
    assert choose(level, seen(position(**table)), "any") == move(expected)


# ---------------------------------------------------------------------------- what sharp does

DEAD_SEVENS = {"hands": "7C 7D TH TS 2C | 4S 5D 6H 9C", "pile": "6C 8C 6D 8D 7H 7S 3D"}
DEAD_TENS = {"hands": "7C 7D TH TS 2C | 4S 5D 6H 9C", "pile": "9H JH 9S JS TC TD 3D"}
COLLECTS = {"hands": "5S 4D KC KD 8C 9C | 5D 5H 2C JD JH", "pile": "3C"}
HOLDING = {"hands": "7C 7D 7H KS 2D 9S | 4S 5D 6H 9C", "variant": "parlett"}


def test_sharp_keeps_a_pair_that_can_still_become_a_set():
    dead_sevens, dead_tens = position(**DEAD_SEVENS), position(**DEAD_TENS)
    assert choose("sharp", seen(dead_sevens), "any") in {move("discard 7C"), move("discard 7D")}
    assert choose("sharp", seen(dead_tens), "any") in {move("discard TH"), move("discard TS")}


def test_sharp_does_not_throw_what_the_next_player_collects():
    match = position(**COLLECTS)
    assert choose("sharp", seen(match), "any") == move("discard 5S")
    match = with_deal(match, picked=((1, "5D"), (1, "5H")))
    assert choose("sharp", seen(match), "any") == move("discard 4D")


def test_sharp_holds_its_melds_back_where_others_would_lay_off_on_them():
    assert choose("sharp", seen(position(**HOLDING)), "any") == move("discard KS")
    own = position(**HOLDING, layoffs="own")
    assert choose("sharp", seen(own), "any") == move("meld 7C 7D 7H")


def test_sharp_holds_nothing_back_where_any_of_several_others_makes_it_pay():
    hands = HOLDING["hands"] + " | 4D 5C 6S 9H"
    paying = position(hands=hands, variant="call-rummy")
    assert choose("sharp", seen(paying), "any") == move("meld 7C 7D 7H")


def test_what_is_kept_too_long_goes_by_chance():
    stale = position(hands="AS KD KH | 4S 5D", turned_over=3)
    for level in ("steady", "sharp"):
        thrown = {choose(level, seen(stale), f"seed {number}") for number in range(50)}
        assert thrown == {move("discard AS"), move("discard KD"), move("discard KH")}


def test_sharp_lays_its_melds_down_when_another_is_nearly_out():
    late = position(**HOLDING | {"hands": "7C 7D 7H KS 2D 9S | 4S 5D 6H"})
    assert choose("sharp", seen(late), "any") == move("meld 7C 7D 7H")


def test_sharp_goes_out_when_it_can():
    match = position("parlett", hands="7C 7D 7H KS KD KC 9S | 4S 5D 6H 9C")
    match, _ = apply(match, 0, choose("sharp", seen(match), "any"), LATER)
    match, _ = apply(match, 0, choose("sharp", seen(match), "any"), LATER)
    match, _ = apply(match, 0, choose("sharp", seen(match), "any"), LATER)
    assert match.last is not None
    assert match.last.winner == 0


def test_sharp_takes_an_upcard_that_promises_much_and_any_joker():
    hand, many = "7C 8D KS 2H TS QH 4C", "4S 5S 6H AC 9S TD JD AH 3H KC"
    match = position(hands=f"{hand} | {many}", pile="7D", phase="draw")
    assert choose("steady", seen(match), "any") == move("draw")
    assert choose("sharp", seen(match), "any") == move("take 7D")
    match = position(hands="7C 2D KS TH | 4S 5D", pile="JK", phase="draw", jokers=1)
    assert choose("sharp", seen(match), "any") == move(f"take {JOKER}")


def test_sharp_keeps_its_joker():
    match = position(hands="JK KS 2D 9H | 4S 5D 6H", jokers=1, joker_points=50)
    assert choose("sharp", seen(match), "any") != move("discard JK")

"""What happens at a table by itself, as a pure function: forced turns, and the computers' turns.

Tables of forced turns, then whole matches that nobody plays, then people who come and go as they
like: whatever they do, the turn goes round, and somebody or something is always to move.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from service.autoplay import Step, carried_on, gone_on, is_due, next_moment
from service.errors import Refused
from service.game import Event, Game, Seat
from service.rummy.cards import pack
from service.rummy.computer import Level
from service.rummy.engine import apply, callable_on, new_match
from service.rummy.legal import legal_moves
from service.rummy.model import CallWindow, Discard, Draw, Match
from service.rummy.rules import CALL_GRACE_SECONDS, PRESETS, Rules, agree
from service.seating import Change, guard_present, left, returned
from tests.positions import CALLABLE, after, deal_of, position
from tests.rummy.chance import LATER, random_position, random_rules
from tests.turn_order import TurnOrder

NOW = 1_000_000
TURN_MS = 60_000


def game_of(
    match: Match, computers: dict[int, Level] | None = None, due: int | None = None
) -> Game:
    """A table at which that match is played, by people but for these computers."""
    seats = tuple(
        Seat(f"Computer {seat}", None, computer=computers[seat])
        if computers and seat in computers
        else Seat(f"Player {seat}", f"hash {seat}")
        for seat in range(match.rules.players)
    )
    return Game(
        id="a" * 16,
        version=2,
        created_at=0,
        changed_at=0,
        variant=match.rules.variant,
        chosen={},
        seats=seats,
        size=len(seats),
        public=False,
        autostart=True,
        match=match,
        due=due,
    )


def in_words(event: Event) -> str:
    told = msgspec.to_builtins(event)
    match told["type"]:
        case "drew":
            return f"{told['source']} {told['card']}"
        case "discarded":
            return f"discard {told['card']}"
        case "laid_off":
            return f"layoff {' '.join(told['cards'])}"
        case "swapped":
            return f"swap {told['card']}"
        case "deal_ended":
            result = told["result"]
            return f"{result['reason']} {result['how'] or result['why']}"
    return told["type"]


def all_events(steps: tuple[Step, ...]) -> list[Event]:
    return [event for step in steps for event in step.events]


def cards_of(match: Match) -> Counter[str]:
    deal = deal_of(match)
    found = Counter((*deal.stock, *deal.pile))
    for group in (*deal.hands, *(meld.cards for meld in deal.melds)):
        found.update(group)
    return found


def assert_no_card_is_lost(before: Match, match: Match) -> None:
    """A written position may have fewer cards than the pack; a new deal has the whole of it."""
    if match.deal is not None and match.deal.number == deal_of(before).number:
        assert cards_of(match) == cards_of(before)
    elif match.deal is not None:
        assert cards_of(match) == Counter(pack(match.rules.decks, match.rules.jokers))


# ------------------------------------------------------------------------------- forced turns

TWO_DECKS_OF_MELDS = "; ".join(f"0: {rank}C {rank}D {rank}H" for rank in "3456789TJQA")

# fmt: off
FORCED_TURNS: dict[str, tuple[dict, tuple[str, ...], list[str]]] = {
    # the position, what the player had done, and the forced rest of the turn
    "a stock card is drawn and thrown": (
        {"hands": "5C 5D KH | 2S 3S", "stock": "4S 9S", "pile": "JC", "phase": "draw"}, (),
        ["stock 4S", "discard 4S"]),
    "who has drawn throws what counts most": (
        {"hands": "5C 5D KH | 2S 3S", "stock": "9S 4D", "pile": "JC", "phase": "draw"}, ("draw",),
        ["discard KH"]),
    "a joker counts more than a king": (
        {"variant": "parlett", "jokers": 2, "hands": "5C KH JK | 2S 3S"}, (),
        ["discard JK"]),
    "unless it counts nothing": (
        {"variant": "parlett", "jokers": 2, "joker_points": 0, "hands": "5C KH JK | 2S 3S"}, (),
        ["discard KH"]),
    "a high ace counts more than a king": (
        {"aces": "high_or_low", "hands": "AC KH | 2S 3S"}, (),
        ["discard AC"]),
    "a meld in the hand stays there": (
        {"hands": "5C 5D 5H KH | 2S 3S", "stock": "5S", "pile": "9C", "phase": "draw"}, (),
        ["stock 5S", "discard 5S"]),
    "a half-done turn keeps its meld on the table": (
        {"hands": "5C 5D 5H 2H 9H | 2S 3S", "stock": "KS", "pile": "9C", "phase": "draw"},
        ("draw", "meld 5C 5D 5H"),
        ["discard KS"]),
    "a turn with layoffs left over lays nothing off": (
        {"hands": "7S 2H | 2S 3S", "melds": "0: 7C 7D 7H"}, (),
        ["discard 7S"]),
    "the upcard taken may not go back (straight)": (
        {"hands": "5C 9D | 2S 3S", "pile": "2C KH", "phase": "draw"}, ("take",),
        ["discard 9D"]),
    "the upcard taken may not go back (parlett)": (
        {"variant": "parlett", "hands": "5C 9D | 2S 3S", "pile": "2C KH", "phase": "draw"},
        ("take",), ["discard 9D"]),
    "the upcard taken may go back (seven-card)": (
        {"variant": "seven-card", "hands": "5C 9D | 2S 3S", "pile": "2C KH", "phase": "draw"},
        ("take",), ["discard KH"]),
    "the upcard taken may go back (call-rummy)": (
        {"variant": "call-rummy", "hands": "5C 9D | 2S 3S", "pile": "2C KH", "phase": "draw"},
        ("take",), ["discard KH"]),
    "with a twin in the hand the upcard taken may go back": (
        {"decks": 2, "hands": "5C KH | 2S 3S", "pile": "2C KH", "phase": "draw"}, ("take",),
        ["discard KH"]),
    "a card and the upcard taken: the card goes": (
        {"hands": "5C | 2S 3S", "pile": "2C KH", "phase": "draw"}, ("take",),
        ["discard 5C"]),
    "nothing but the upcard taken: it is laid off": (
        {"hands": "5C 5D 5H | 2S 3S", "pile": "9D", "melds": "1: 9C 9H 9S", "phase": "draw"},
        ("take", "meld 5C 5D 5H"),
        ["layoff 9D", "went_out layoff", "match_ended"]),
    "nothing but the upcard taken: it is swapped, and the joker goes": (
        {"variant": "parlett", "jokers": 2, "hands": "5C 5D 5H | 2S 3S", "pile": "9D",
         "melds": "1: 9C JK=9D 9H 9S", "phase": "draw"},
        ("take", "meld 5C 5D 5H"),
        ["swap 9D", "discard JK", "went_out discard", "match_ended"]),
    "nothing but the upcard taken, and only a discard goes out: it is swapped": (
        {"variant": "parlett", "jokers": 2, "final_discard": True, "hands": "5C 5D 5H | 2S 3S",
         "pile": "9D", "melds": "1: JK=9D TD JD", "phase": "draw"},
        ("take", "meld 5C 5D 5H"),
        ["swap 9D", "discard JK", "went_out discard", "match_ended"]),
    "the last card of the hand goes out": (
        {"hands": "KH | 2S 3S"}, (),
        ["discard KH", "went_out discard", "match_ended"]),
    "an end of a deal by force begins the next": (
        {"hands": "KH | 2S 3S", "deals": 2}, (),
        ["discard KH", "went_out discard", "dealt"]),
    "the empty stock is renewed (straight)": (
        {"hands": "5C KH | 2S 3S", "stock": "", "pile": "2C 9D 6S", "phase": "draw"}, (),
        ["turned_over", "stock 2C", "discard 2C"]),
    "the empty stock is renewed (parlett)": (
        {"variant": "parlett", "hands": "5C KH | 2S 3S", "stock": "", "pile": "2C 9D 6S",
         "phase": "draw"}, (),
        ["turned_over", "stock 9D", "discard 9D"]),
    "the empty stock is renewed (call-rummy)": (
        {"variant": "call-rummy", "hands": "5C KH | 2S 3S", "stock": "", "pile": "2C 9D 6S",
         "phase": "draw"}, (),
        ["turned_over", "stock 2C", "discard 2C"]),
    "the stock's last card is drawn and the pile becomes the stock": (
        {"variant": "call-rummy", "hands": "5C KH | 2S 3S", "stock": "4D", "pile": "2C 9D 6S",
         "phase": "draw"}, (),
        ["stock 4D", "turned_over", "discard 4D"]),
    "there is only the upcard, and another card goes (straight)": (
        {"hands": "5C 9H | 2S 3S", "stock": "", "pile": "KD", "phase": "draw"}, (),
        ["discard KD", "discard 9H"]),
    "there is only the upcard, and it goes back (seven-card)": (
        {"variant": "seven-card", "hands": "5C 9H | 2S 3S", "stock": "", "pile": "3D",
         "phase": "draw"}, (),
        ["discard 3D", "discard 3D"]),
    "the turnovers are used up: the upcard, rather than a blocked deal": (
        {"hands": "5C KH | 2S 3S", "stock": "", "pile": "2C 9D", "turnovers": 1, "turned_over": 1,
         "phase": "draw"}, (),
        ["discard 9D", "discard KH"]),
    "the turnovers are used up and there is no upcard: the deal is blocked": (
        {"hands": "5C KH | 2S 3S", "stock": "", "pile": "", "turnovers": 1, "turned_over": 1,
         "phase": "draw"}, (),
        ["declined", "blocked turnovers_used_up", "match_ended"]),
    "the last turn that a deal may have": (
        {"hands": "5C KH | 2S 3S", "stock": "4D", "pile": "2C", "turns": 999, "phase": "draw"}, (),
        ["stock 4D", "discard 4D", "blocked turn_limit", "match_ended"]),
    "a call is left alone": (
        {"variant": "call-rummy", "hands": "5C KH | 2S 3S", "stock": "4D 9S", "pile": "2C 8C",
         "melds": "1: 8D 8H 8S", "window": CallWindow(1, None), "phase": "draw"}, (),
        ["stock 4D", "discard 4D"]),
    "more calls than anybody counts are left alone": (
        {"variant": "call-rummy", "decks": 2, "jokers": 4, "hands": "5C KH | 2S 3S",
         "pile": "2C JK", "melds": TWO_DECKS_OF_MELDS, "window": CallWindow(1, None),
         "phase": "draw"}, (),
        ["stock AC", "discard AC"]),
    "a draw of which two kinds are legal is from the stock": (
        {"variant": "call-rummy", "hands": "5C 5D KH | 2S 3S", "stock": "4D", "pile": "2C 5H",
         "phase": "draw"}, (),
        ["stock 4D", "turned_over", "discard 4D"]),
}
# fmt: on


@pytest.mark.clause("table.1")
@pytest.mark.parametrize(("written", "played", "forced"), FORCED_TURNS.values(), ids=FORCED_TURNS)
def test_a_forced_turn(written, played, forced):
    match = after(position(**written, turn_seconds=60), *played)
    game, steps = gone_on(game_of(match, due=NOW), NOW)
    told = [in_words(event) for event in all_events(steps)]
    assert told == forced
    assert all(step.forced for step in steps)
    assert game.seats[0].forced == 1
    assert_no_card_is_lost(match, game.match)
    assert game.due == (None if game.match.deal is None else NOW + TURN_MS)


@pytest.mark.clause("table.1")
def test_the_renewed_stock_of_seven_card_is_shuffled_and_gives_its_first_card():
    match = position(
        "seven-card", hands="5C KH | 2S 3S", stock="", pile="2C 9D 4H 6S", phase="draw"
    )
    game, steps = gone_on(game_of(match, due=NOW), NOW)
    assert in_words(all_events(steps)[0]) == "turned_over"
    _, drew, discarded = all_events(steps)
    assert drew.card in {"2C", "9D", "4H"}
    assert discarded.card == drew.card
    assert deal_of(game.match).pile == ("6S", drew.card)


@pytest.mark.clause("table.1")
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("variant", PRESETS)
def test_whatever_the_position_a_turn_can_be_forced_and_never_melds(variant, narrow):
    for number in range(120):
        chance = Random(f"{variant} {narrow} {number}")
        fewest, most = PRESETS[variant].players
        rules = random_rules(chance, variant, chance.randint(fewest, most))
        match = random_position(chance, rules, draw=0.6, narrow=narrow)
        if next(legal_moves(match, deal_of(match).turn, LATER), None) is None:
            continue  # a made-up position in which nobody could have come to be
        assert_forced_turn(match)


def assert_forced_turn(match: Match) -> None:
    """The turn is played to its end, and anything but a draw and a discard only where it must."""
    seat, number, turns = deal_of(match).turn, deal_of(match).number, deal_of(match).turns
    game, steps = gone_on(game_of(match, due=LATER), LATER)
    deal = game.match.deal
    assert deal is None or (deal.number, deal.turns) != (number, turns)
    assert_no_card_is_lost(match, game.match)
    order = TurnOrder(match.rules.players)
    order.turn, order.deal = seat, number
    order.dealer, order.drawn = deal_of(match).dealer, deal_of(match).phase == "play"
    for event in all_events(steps):
        may_discard = match.deal and any(
            isinstance(move, Discard) for move in legal_moves(match, seat, LATER)
        )
        order.read(told := msgspec.to_builtins(event))
        assert told["type"] not in {"melded", "called"}
        if told["type"] in {"laid_off", "swapped"}:
            assert deal_of(match).phase == "play"
            assert not may_discard
        match = replay(match, seat, told)


def replay(match: Match, seat: int, told: dict) -> Match:
    """The match after the move that the event tells of."""
    move = None
    match told["type"]:
        case "drew":
            move = Draw(told["source"])
        case "declined":
            move = Draw("stock")
        case "discarded":
            move = Discard(told["card"])
        case "laid_off" | "swapped":
            move = next(
                legal
                for legal in legal_moves(match, seat, LATER)
                if in_words(apply(match, seat, legal, LATER)[1][0])
                == f"{'layoff' if told['type'] == 'laid_off' else 'swap'} "
                + " ".join(told.get("cards", [told.get("card")]))
            )
    return match if move is None else apply(match, seat, move, LATER)[0]


# -------------------------------------------------------------------- matches nobody plays


@pytest.mark.clause("table.1", "table.2", "table.5")
@pytest.mark.parametrize("fullest", [False, True], ids=["fewest", "most"])
@pytest.mark.parametrize("variant", PRESETS)
def test_a_match_of_silent_players_goes_on_until_all_are_away(variant, fullest):
    players = PRESETS[variant].players[fullest]
    rules = agree(variant, players, {"turn_seconds": 60, "away_after": 25, "deals": 1})
    match, _ = new_match(rules, f"silent {variant}")
    order = TurnOrder(players)
    order.deal, order.dealer, order.turn = 1, deal_of(match).dealer, deal_of(match).turn
    empty = game_of(match)
    game, _ = carried_on(replace(empty, match=None), empty, NOW)
    turnovers, forced = 0, 0
    while game.status == "playing":
        assert not is_due(game, game.due - 1)
        assert next_moment(game, game.due - 1) == game.due
        turn, now = deal_of(game.match).turn, game.due + 1_234
        before = game.match
        game, steps = gone_on(game, now)
        assert_no_card_is_lost(before, game.match)
        for step in steps:
            for event in step.events:
                order.read(told := msgspec.to_builtins(event))
                kind = told["type"]
                turnovers += kind == "turned_over"
                ends = {"went_away", "revealed", "match_ended"}
                assert kind in {"drew", "discarded", "turned_over"} | ends
                assert step.forced == (kind in {"drew", "discarded", "turned_over"})
        forced += 1
        assert order.turns.total() == forced  # one turn each time, never two
        assert game.seats[turn].forced == -(-forced // players)
        assert game.due == (now + TURN_MS if game.status == "playing" else None)
    assert turnovers > 0, "the stock was not exhausted"
    assert forced == 25 * players
    assert all(seat.away == "timed_out" for seat in game.seats)
    assert game.match.result.reason == "abandoned"
    assert game.match.result.totals == (0,) * players


# ------------------------------------------------------------------- people who come and go


class Room:
    """A table without a store: what is done to the game of a table, and checked after each time."""

    def __init__(self, game: Game, now: int) -> None:
        self.now = now
        self.order = TurnOrder(len(game.seats))
        deal = deal_of(game.match)
        self.order.deal, self.order.dealer, self.order.turn = 1, deal.dealer, deal.turn
        self.game = game
        self.commit(*carried_on(replace(game, match=None), game, now))

    def do(self, act: Callable[..., Change], *wish: object) -> None:
        """What somebody does, after what is due and with what follows from it."""
        self.look()
        with suppress(Refused):
            changed, events = act(self.game, *wish)
            if events:
                changed, steps = carried_on(self.game, changed, self.now)
                self.commit(changed, (Step(events), *steps))

    def look(self) -> None:
        while is_due(self.game, self.now):
            self.commit(*gone_on(self.game, self.now))

    def commit(self, game: Game, steps: tuple[Step, ...]) -> None:
        for event in all_events(steps):
            self.order.read(msgspec.to_builtins(event))
        assert_no_card_is_lost(self.game.match, game.match)
        self.game = game
        deal, rules = game.match.deal, game.match.rules
        if deal is None:
            assert game.due is None
            return
        assert self.order.turn == deal.turn
        assert any(seat.played_by is None for seat in game.seats)
        closes = deal.window.closes if deal.window and callable_on(deal, rules) else None
        if game.seats[deal.turn].played_by is not None:
            # A computer waits for nothing but a call.
            assert callable_on(deal, rules)
            assert self.now < game.due <= (closes or self.now + 1000 * CALL_GRACE_SECONDS)
        elif rules.turn_seconds is None:
            assert game.due is None
        else:
            # The time that a call had, the turn keeps when it is made.
            seconds = rules.turn_seconds + (rules.call_seconds or 0)
            assert self.now < game.due <= self.now + 1000 * seconds
        if closes is None or closes <= self.now:
            assert next(legal_moves(game.match, deal.turn, self.now), None) is not None


def some_rules(chance: Random, variant: str) -> Rules:
    fewest, most = PRESETS[variant].players
    clock = {"turn_seconds": chance.choice([None, 5, 60]), "away_after": chance.randint(1, 3)}
    return random_rules(chance, variant, chance.randint(fewest, most), **clock)


@pytest.mark.clause("table.1", "table.2", "table.4", "table.5", "table.6")
@pytest.mark.parametrize("variant", PRESETS)
@pytest.mark.parametrize("number", range(12))
def test_whoever_comes_and_goes_the_turn_goes_round(variant, number):
    chance = Random(f"come and go {variant} {number}")
    rules = some_rules(chance, variant)
    match, _ = new_match(rules, str(number))
    seats = range(rules.players)
    some = chance.sample(seats, chance.randrange(rules.players))
    levels = {seat: chance.choice(["random", "steady"]) for seat in some}
    room = Room(game_of(match, levels), NOW)
    people = [seat for seat in seats if seat not in levels]
    for _ in range(250):
        if room.game.status != "playing":
            break
        seat = chance.choice(people)
        wish = chance.random()
        if wish < 0.08:
            room.do(left, seat)
        elif wish < 0.2:
            room.do(returned, seat)
        elif wish < 0.3:
            room.now += chance.choice([1, 1_000, 4_999, 5_000, 61_000, 200_000])
            room.look()
        else:
            turn = deal_of(room.game.match).turn
            room.do(any_move, seat if wish < 0.5 or turn in levels else turn, room.now, chance)
    for seat in people:
        room.do(left, seat)
    assert room.game.status == "finished"


def any_move(game: Game, seat: int, now: int, chance: Random) -> Change:
    """Some legal move of that seat, if it is there and has one."""
    guard_present(game, seat)
    moves = list(legal_moves(game.match, seat, now))[:60]
    if not moves:
        return game, ()
    match, events = apply(game.match, seat, chance.choice(moves), now)
    return replace(game, match=match), events


# ---------------------------------------------------------------------- waiting for a call


WAITS = {
    # the window, how it was changed, who is a computer, and how long seat 1 waits
    "five seconds from the discard": (CallWindow(0, None, NOW), {}, [1], 5_000),
    "what is left of the five seconds": (CallWindow(0, None, NOW - 3_000), {}, [1], 2_000),
    "not when they are over": (CallWindow(0, None, NOW - 5_000), {}, [1], None),
    "until a timed call closes": (
        CallWindow(0, NOW + 9_000, NOW),
        {"call": "timed", "call_seconds": 9},
        [1],
        9_000,
    ),
    "until a timed call closes that nobody will make": (
        CallWindow(0, NOW + 9_000, NOW),
        {"call": "timed", "call_seconds": 9},
        [1, 2],
        9_000,
    ),
    "not when the timed call is closed": (
        CallWindow(0, NOW, NOW - 9_000),
        {"call": "timed", "call_seconds": 9},
        [1],
        None,
    ),
    "not when it is called already": (None, {"pile": "2C", "melds": "0: 8C 8D 8H 8S"}, [1], None),
    "not for a card that fits nowhere": (
        CallWindow(0, None, NOW),
        {"pile": "2C 7C"},
        [1],
        None,
    ),
    "not when only the discarder is a person": (CallWindow(0, None, NOW), {}, [1, 2], None),
    "for a computer's discard, when another is a person": (
        CallWindow(0, None, NOW),
        {},
        [0, 1],
        5_000,
    ),
}


@pytest.mark.clause("table.6", "call-rummy.5")
@pytest.mark.parametrize(("window", "changed", "computers", "waits"), WAITS.values(), ids=WAITS)
def test_a_computer_waits_for_a_call(window, changed, computers, waits):
    match = position(**CALLABLE | {"stock": "AC AD AH AS", "window": window} | changed)
    game = game_of(match, dict.fromkeys(computers, "steady"))
    game, steps = carried_on(replace(game, match=None), game, NOW)
    if waits is not None:
        assert (game.due, steps) == (NOW + waits, ())
        assert gone_on(game, game.due)[1]
    else:
        assert steps
        assert deal_of(game.match).turn != 1 or deal_of(game.match).turns > 1


@pytest.mark.clause("table.4")
def test_who_leaves_and_returns_again_and_again_cannot_hold_the_table_up():
    match = position(**CALLABLE, window=CallWindow(0, None, NOW), turn_seconds=5)
    room = Room(game_of(match), NOW)
    for _ in range(20):
        room.do(left, 1)
        room.now += 1_000
        room.do(returned, 1)
        room.now += 3_900
        room.look()
        if deal_of(room.game.match).turn != 1:
            break
    assert deal_of(room.game.match).turn == 2
    assert room.now - NOW <= 1000 * CALL_GRACE_SECONDS + 2 * 5_000

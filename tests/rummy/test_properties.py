"""What holds in every match, however it is played: whole matches by random players.

Each match has a number from which all its chance comes, so that every run is the same.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from service.errors import Refused
from service.game import (
    Game,
    Practice,
    Seat,
    decode,
    decode_event,
    decode_result,
    encode,
    encode_event,
    encode_result,
)
from service.rummy.cards import FACES, JOKER, Card, pack
from service.rummy.engine import apply, new_match
from service.rummy.legal import legal_moves
from service.rummy.melds import melds_in, open_faces
from service.rummy.model import (
    Call,
    Called,
    Deal,
    DealEnded,
    DealerDrawn,
    Dealt,
    Declined,
    Discard,
    Discarded,
    Draw,
    Drew,
    Event,
    LaidOff,
    LayMeld,
    LayOff,
    Match,
    MatchEnded,
    Melded,
    Move,
    Swap,
    Swapped,
    TurnedOver,
)
from service.rummy.rules import PRESETS, TURN_LIMIT, OptionValue, Rules, agree
from service.rummy.shuffle import secret_of
from service.rummy.view import DealtTo, PublicEvent, memory, redact, view
from tests.positions import deal_of
from tests.remembered import remembered
from tests.rummy.chance import LATER, NOW, choose, random_rules

clause = pytest.mark.clause
MOST_MOVES = 20
SEED = "the-seed-that-nobody-may-see"

Step = tuple[Match, int, Move, Match, tuple[Event, ...], int]
"""A match before a move, who made which, the match and events after it, the time."""


# -------------------------------------------------------------------------- playing a match


def steps(match: Match, chance: Random, keen: float, most: int = 10_000) -> Iterator[Step]:
    """A match played to its end by players of whom some call and some meld."""
    now = NOW
    for _ in range(most):
        deal = match.deal
        if deal is None:
            return
        now += chance.choice([1, 500, 3000])
        seat, move = _next_move(match, deal, chance, keen, now)
        if move is None:  # a call is open, and nobody calls: the draw waits
            assert deal.window is not None
            assert deal.window.closes is not None
            now = deal.window.closes
            seat, move = _next_move(match, deal, chance, keen, now)
            assert move is not None, "with the call closed, the player can go on"
        after, events = apply(match, seat, move, now)
        yield match, seat, move, after, events, now
        match = after


def _next_move(
    match: Match, deal: Deal, chance: Random, keen: float, now: int
) -> tuple[int, Move | None]:
    if deal.window is not None and chance.random() < 0.6:
        calls = [
            (seat, move)
            for seat in range(match.rules.players)
            for move in legal_moves(match, seat, now)
            if isinstance(move, Call)
        ]
        if calls:
            return chance.choice(calls)
    if next((m for m in legal_moves(match, deal.turn, now) if not isinstance(m, Call)), None):
        return deal.turn, choose(chance, match, deal.turn, now, keen)
    return deal.turn, None


def attempts(match: Match, chance: Random) -> Iterator[Move]:
    """Things a player might try, allowed or not."""
    deal = deal_of(match)
    hand = deal.hands[deal.turn]
    for shape in islice(melds_in(hand, match.rules), 3):
        yield LayMeld(shape.cards, shape.named)
        yield LayMeld(shape.cards)
    for meld in deal.melds[-3:]:
        yield LayOff(meld.id, hand[-1:])
        yield from (LayOff(meld.id, (JOKER,), (face,)) for face in open_faces(meld, match.rules))
        yield LayOff(meld.id, hand[:2])
        yield LayOff(meld.id, (chance.choice(hand),))
        yield Swap(meld.id, chance.choice(meld.faces))
        yield Call(meld.id)
    yield Discard(chance.choice(FACES))
    yield Discard(deal.taken or JOKER)
    yield Draw("stock")
    yield Draw("discard", chance.choice(FACES))
    yield LayMeld(tuple(chance.sample(hand, min(3, len(hand)))))


# ------------------------------------------------------------------------ a reader of the log


class Reader:
    """Somebody who knows nothing but what the log tells a spectator."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.stock = 0
        self.pile: list[Card] = []
        self.melds: list[list[Card]] = []
        self.jokers: list[Counter[Card]] = []
        self.totals: tuple[int, ...] | None = None

    def read(self, event: PublicEvent) -> None:
        match event:
            case DealtTo():
                self.sizes, self.stock = list(event.hand_sizes), event.stock
                self.pile = [event.upcard] if event.upcard else []
                self.melds, self.jokers = [], []
            case Drew(seat, source, card):
                self.sizes[seat] += 1
                if source == "stock":
                    assert card is None
                    self.stock -= 1
                else:
                    assert self.pile.pop() == card
            case TurnedOver(stock, upcard):
                turned = self.stock + len(self.pile)
                assert turned == stock + (upcard is not None)
                self.stock, self.pile = stock, [upcard] if upcard else []
            case Melded(seat=seat, meld=number, cards=played, faces=faces):
                assert number == len(self.melds) + 1
                self.sizes[seat] -= len(played)
                self.melds.append([])
                self.jokers.append(Counter())
                named = tuple(
                    face for face, card in zip(faces, played, strict=True) if card == JOKER
                )
                self._grow(number, played, named, faces)
            case LaidOff(seat=seat, meld=number, cards=played, jokers=named, faces=faces):
                self.sizes[seat] -= len(played)
                self._grow(number, played, named, faces)
            case Called(meld=number, card=card, jokers=named, faces=faces):
                assert self.pile.pop() == card
                self._grow(number, (card,), named, faces)
            case Swapped(_, number, card):
                self.jokers[number - 1] -= Counter([card])
            case Discarded(seat, card):
                self.sizes[seat] -= 1
                self.pile.append(card)
            case DealEnded(result):
                assert [len(hand) for hand in result.hands] == self.sizes
                before = self.totals or (0,) * len(result.scores)
                self.totals = result.totals
                assert self.totals == tuple(map(sum, zip(before, result.scores, strict=True)))
            case MatchEnded(result):
                assert result.totals == self.totals
            case DealerDrawn() | Declined():
                pass

    def _grow(
        self,
        number: int,
        played: tuple[Card, ...],
        named: tuple[Card, ...],
        faces: tuple[Card, ...],
    ) -> None:
        natural = [card for card in played if card != JOKER]
        assert Counter(faces) == Counter([*self.melds[number - 1], *natural, *named])
        assert len(named) == played.count(JOKER)
        self.melds[number - 1] = list(faces)
        self.jokers[number - 1] += Counter(named)

    def check(self, deal: Deal) -> None:
        assert self.sizes == [len(hand) for hand in deal.hands]
        assert (self.stock, self.pile) == (len(deal.stock), list(deal.pile))
        assert self.melds == [list(meld.faces) for meld in deal.melds]
        assert self.jokers == [
            Counter(meld.faces[place] for place in meld.jokers) for meld in deal.melds
        ]


# ----------------------------------------------------------------------- what always holds


def check_match(rules: Rules, number: str, keen: float = 0.7, most: int = 10_000) -> Counter[str]:
    """Play a match and check every step; how often rare things happened."""
    chance = Random(number)
    start, events = new_match(rules, SEED + number)
    seen: Counter[str] = Counter()
    reader = Reader()
    for event in events:
        reader.read(redact(event, None))
    told = list(events)
    dealt = 0
    for before, _, move, match, events, now in steps(start, chance, keen, most):
        dealt = note(seen, before, move, match, events, dealt)
        check_cards(match)
        check_events(events, before, match, reader)
        for event in events:
            if isinstance(event, Dealt):
                told.clear()
            told.append(event)
        deal = deal_of(before)
        if deal.turns < 20 or deal.turns % 50 == 0:
            check_memory(match, told)
        tight = deal.phase == "play" and len(deal.hands[deal.turn]) <= (4 if deal.taken else 1)
        if chance.random() < (0.01 if deal.turns > 50 else 1 if tight else 0.1):
            seen += check_refusals(before, chance, now)
            check_record(match, now)
            check_hidden(match, events, chance, now)
        if match.deal is not None:
            assert next(legal_moves(match, match.deal.turn, LATER), None), "somebody can move"
    return seen


def check_cards(match: Match) -> None:
    """No card comes or goes."""
    deal, rules = match.deal, match.rules
    if deal is None:
        return
    everything = [card for hand in deal.hands for card in hand]
    everything += [card for meld in deal.melds for card in meld.cards]
    everything += [*deal.stock, *deal.pile]
    assert Counter(everything) == Counter(pack(rules.decks, rules.jokers))


def check_events(events: tuple[Event, ...], before: Match, after: Match, reader: Reader) -> None:
    """Who reads the log knows the table; the dealer rotates; a deal has at most 1,000 turns."""
    for event in events:
        assert decode_event(encode_event(event)) == event
        reader.read(redact(event, None))
        if isinstance(event, DealEnded):
            result = event.result
            assert decode_result(encode_result(result)) == result
            assert result.turns <= TURN_LIMIT
            assert after.totals == result.totals
            assert after.last == result
            if after.deal is not None:
                assert after.deal.dealer == (result.dealer + 1) % after.rules.players
                assert after.deal.number == result.number + 1
    if after.deal is not None:
        reader.check(after.deal)


def check_memory(match: Match, told: list[Event]) -> None:
    """Whoever read the log of the deal with attention knows what the memory tells, and no less."""
    if match.deal is None:
        assert memory(match) is None
        return
    shown = as_json(memory(match))
    options = as_json(match.rules)
    for seat in (None, *range(match.rules.players)):
        read = as_json([redact(event, seat) for event in told])
        assert shown == remembered(read, options)
    lying = [entry["card"] for entry in shown["discards"] if entry["gone"] is None]
    assert lying == list(match.deal.pile)
    for cards, hand in zip(shown["taken"], match.deal.hands, strict=True):
        assert not Counter(cards) - Counter(hand)


def check_refusals(match: Match, chance: Random, now: int) -> Counter[str]:
    """Whatever is refused changes nothing."""
    codes: Counter[str] = Counter()
    stored = msgspec.json.encode(match)
    for move in attempts(match, chance):
        anybody = chance.randrange(match.rules.players)
        try:
            apply(match, chance.choice([deal_of(match).turn] * 3 + [anybody]), move, now - 1)
        except Refused as error:
            codes[error.code] += 1
    assert msgspec.json.encode(match) == stored
    return codes


def check_record(match: Match, now: int) -> None:
    """What is stored comes back as it was."""
    game = Game(
        id="ABC", version=7, created_at=now, changed_at=now, variant=match.rules.variant,
        chosen={"deals": 1}, seats=(Seat("Ada", "0" * 64),), size=match.rules.players,
        public=True, autostart=True, practice=Practice("x", ("9C",), 1), match=match, events=9,
    )  # fmt: skip
    assert decode(encode(game)) == game


def check_hidden(match: Match, events: tuple[Event, ...], chance: Random, now: int) -> None:
    """A view is the same whatever the reader cannot know; the seeds are nowhere."""
    deal = match.deal
    secrets = [SEED]
    if deal is not None:
        of_deals = (secret_of(match.seed, deal.number + later) for later in (0, 1, 2))
        secrets += [text for secret in of_deals for text in (secret.seed, secret.nonce)]
    for seat in (None, *range(match.rules.players)):
        seen = view(match, seat, now, MOST_MOVES)
        told = [msgspec.json.encode(redact(event, seat)) for event in events]
        for text in (msgspec.json.encode(seen), *told):
            assert not any(secret.encode() in text for secret in secrets)
        if deal is not None:
            unseen = dealt_otherwise(match, deal, seat, chance)
            other = view(unseen, seat, now, MOST_MOVES)
            # That is made of the seed alone, which is another one now.
            assert other.fairness != seen.fairness
            assert replace(other, fairness=seen.fairness) == seen
            assert memory(unseen) == memory(match)
            if match.rules.decks == 1 and not match.rules.jokers:
                check_strings(match, deal, seat, now)


def dealt_otherwise(match: Match, deal: Deal, seat: int | None, chance: Random) -> Match:
    """The match with all the cards that `seat` cannot see dealt in another way."""
    hidden = [card for place, hand in enumerate(deal.hands) if place != seat for card in hand]
    hidden += deal.stock
    chance.shuffle(hidden)
    hands = tuple(
        hand if place == seat else tuple(hidden.pop() for _ in hand)
        for place, hand in enumerate(deal.hands)
    )
    deal = replace(
        deal, hands=hands, stock=tuple(hidden), taken=deal.taken if deal.turn == seat else None
    )
    return replace(match, seed="another", deal=deal)


def check_strings(match: Match, deal: Deal, seat: int | None, now: int) -> None:
    """Where each card is there once: none that is hidden stands in a view."""
    hidden = {card for place, hand in enumerate(deal.hands) if place != seat for card in hand}
    hidden |= set(deal.stock)
    shown = replace(view(match, seat, now, MOST_MOVES), last_deal=None)
    assert not hidden & set(strings(msgspec.to_builtins(shown)))


def as_json(value: object) -> Any:
    """The value as a client reads it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def strings(value: object) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *strings(inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def note(
    seen: Counter[str], before: Match, move: Move, after: Match, events: tuple[Event, ...],
    dealt: int,
) -> int:  # fmt: skip
    """Count what happened; the size of the stock when the deal began."""
    rules = before.rules
    if deal_of(before).turns == 0 and deal_of(before).phase == "draw":
        dealt = len(deal_of(before).stock)
    for event in events:
        match event:
            case TurnedOver():
                what = "keeps" if rules.turnover_keeps_upcard else "turns new"
                what = what if rules.turnover_keeps_upcard or rules.turnover_new_upcard else "all"
                shuffles = " shuffled" if rules.turnover_shuffles else ""
                seen[f"turnover {rules.turnover} {what}{shuffles}"] += 1
            case Swapped():
                seen["swap"] += 1
            case LaidOff(cards=cards) if JOKER in cards:
                seen["joker laid off"] += 1
            case Melded(cards=cards) if JOKER in cards:
                seen["joker melded"] += 1
            case Called():
                seen[f"call {rules.call}"] += 1
            case DealEnded(result):
                seen[f"{result.reason} {result.how or result.why}"] += 1
                if result.turns > dealt:
                    seen["longer than the stock"] += 1
                if result.how == "discard" and rules.final_discard:
                    seen["final discard"] += 1
            case MatchEnded(result):
                seen[f"{result.reason}{' tie' if result.tie else ''}"] += 1
    return dealt


# --------------------------------------------------------------------------------- the tests

EVERY_TABLE = [
    (variant, players)
    for variant, preset in PRESETS.items()
    for players in range(preset.players[0], preset.players[1] + 1)
]


@clause("common.3", "common.8", "common.12", "common.13")
@pytest.mark.parametrize(("variant", "players"), EVERY_TABLE)
def test_a_match_of_every_preset_and_number_of_players(variant: str, players: int) -> None:
    check_match(agree(variant, players, {"deals": 2}), f"{variant} {players}")


@clause("common.3", "common.8", "common.12", "common.13")
@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("variant", PRESETS)
def test_a_match_with_options_at_random(variant: str, number: int) -> None:
    chance = Random(f"options {variant} {number}")
    rules = random_rules(chance, variant, chance.randint(*PRESETS[variant].players))
    check_match(rules, f"{number}", keen=chance.choice([0.3, 0.7, 1.0]), most=400)


class Tour(NamedTuple):
    """A table at which rare things happen."""

    variant: str
    players: int
    options: dict[str, OptionValue]
    keen: float = 0.7
    times: int = 3


TOURS = [
    Tour("straight", 2, {"hand_size": 20, "deals": 2}, keen=0.2),
    Tour("straight", 2, {"hand_size": 20, "deals": 2, "turnovers": 0}, keen=0.2),
    Tour("straight", 2, {"target": 60, "hand_size": 4}, keen=1, times=2),
    Tour("straight", 2, {"hand_size": 3, "deals": 10, "jokers": 8}, keen=1),
    Tour("straight", 2, {"hand_size": 3, "deals": 1}, keen=0, times=1),
    Tour("seven-card", 2, {"hand_size": 20, "jokers": 4, "deals": 2}, keen=0.2),
    Tour("seven-card", 3, {"hand_size": 12, "turnover": "last_card", "deals": 1}, keen=0.2),
    Tour("parlett", 2, {"hand_size": 20, "jokers": 4, "deals": 2}, keen=0.2),
    Tour("parlett", 2, {"hand_size": 20, "turnover": "last_card", "deals": 1}, keen=0.3),
    Tour("parlett", 2, {"hand_size": 18, "turnover_new_upcard": False, "deals": 1}, keen=0.2),
    Tour("parlett", 2, {"hand_size": 4, "jokers": 8, "deals": 10}, keen=1, times=2),
    Tour("call-rummy", 3, {"hand_size": 12, "jokers": 2, "deals": 2}, keen=0.4),
    Tour(
        "call-rummy",
        4,
        {"hand_size": 10, "jokers": 2, "call": "timed", "call_seconds": 5, "deals": 2},
        keen=0.4,
    ),
    Tour(
        "call-rummy", 2, {"hand_size": 3, "return_upcard": False, "jokers": 8, "deals": 10}, keen=1
    ),
    Tour(
        "call-rummy",
        3,
        {"hand_size": 17, "upcard": False, "deals": 20, "final_discard": False, "turnovers": 0},
        keen=0.6,
        times=3,
    ),
    Tour("call-rummy", 3, {"hand_size": 17, "upcard": False, "deals": 5}, keen=0.3, times=2),
    Tour("parlett", 2, {"hand_size": 6, "jokers": 8, "deals": 20}, keen=0.9),
    Tour("call-rummy", 2, {"hand_size": 4, "jokers": 8, "deals": 10}, keen=1),
]

MUST_OCCUR = {
    "turnover on_demand keeps": 2,
    "turnover on_demand keeps shuffled": 2,
    "turnover on_demand turns new": 2,
    "turnover on_demand all": 2,
    "turnover last_card keeps": 2,
    "turnover last_card keeps shuffled": 2,
    "turnover last_card turns new": 2,
    "blocked nothing_to_draw": 1,
    "blocked turnovers_used_up": 2,
    "blocked turn_limit": 1,
    "went_out meld": 2,
    "went_out layoff": 1,
    "went_out discard": 2,
    "final discard": 2,
    "longer than the stock": 2,
    "swap": 2,
    "joker laid off": 2,
    "joker melded": 2,
    "call next_draw": 2,
    "call timed": 2,
    "deals_played": 2,
    "target_reached": 1,
    # refusals, by code
    "would_be_stuck": 1,
    "final_discard_needed": 2,
    "upcard_returned": 2,
    "joker_unclear": 2,
    "call_pending": 1,
    "melds_first": 2,
    "meld_limit": 2,
    "not_your_meld": 2,
}


@cache
def seen_on_tour() -> Counter[str]:
    """What happened at all those tables."""
    seen: Counter[str] = Counter()
    for place, tour in enumerate(TOURS):
        for number in range(tour.times):
            rules = agree(tour.variant, tour.players, tour.options)
            seen += check_match(rules, f"tour {place} {number}", tour.keen)
    return seen


@clause("common.12", "common.13", "common.15", "jokers.3", "call-rummy.5")
def test_everything_rare_really_happens() -> None:
    seen = seen_on_tour()
    assert not {what: seen[what] for what, least in MUST_OCCUR.items() if seen[what] < least}, seen


@clause("common.2")
@pytest.mark.parametrize("variant", PRESETS)
def test_the_same_seed_and_moves_make_the_same_match(variant: str) -> None:
    def story(seed: str) -> list[Event]:
        match, events = new_match(agree(variant, 3, {"deals": 2}), seed)
        told = list(events)
        for *_, events, _ in steps(match, Random(variant), keen=0.7):
            told += events
        return told

    assert story("one") == story("one")
    assert story("one") != story("two")


@pytest.mark.parametrize("seat", [None, 0, 1, 2])
def test_the_cards_dealt_and_drawn_are_told_to_their_owner_only(seat: int | None) -> None:
    match, events = new_match(agree("straight", 3, {"deals": 1}), "any")
    told = msgspec.to_builtins(redact(events[1], seat))
    hands = deal_of(match).hands
    own = set(hands[seat]) if seat is not None else set()
    mentioned = set(strings(told)) & set(FACES)
    assert mentioned == own | {deal_of(match).upcard}
    turn = deal_of(match).turn
    _, (drew,) = apply(match, turn, Draw("stock"), NOW)
    mentioned = set(strings(msgspec.to_builtins(redact(drew, seat)))) & set(FACES)
    assert mentioned == ({deal_of(match).stock[0]} if seat == turn else set())

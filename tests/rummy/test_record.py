"""A deal that is recorded plays again as it was played, and a changed one fails where it must."""

from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from service.errors import BadReplay
from service.rummy.cards import Card
from service.rummy.engine import new_match
from service.rummy.model import (
    Call,
    Committed,
    DealEnded,
    DealResult,
    Dealt,
    Declined,
    Discard,
    Draw,
    Drew,
    Event,
    LayMeld,
    LayOff,
    Match,
    MatchEnded,
    Revealed,
    Swap,
    TurnedOver,
)
from service.rummy.record import (
    DealRecord,
    Recorded,
    positions,
    recorded,
    with_turnovers,
)
from service.rummy.rules import PRESETS, Rules, agree
from tests.positions import deal_of
from tests.rummy.chance import random_rules
from tests.rummy.test_properties import EVERY_TABLE, TOURS, steps


class Played:
    """One deal of a match as it was played: where it began, what happened, how it went on."""

    def __init__(self, start: Match) -> None:
        self.start = start
        self.events: list[Event] = []
        self.after: list[Match] = []
        self.turnovers: list[tuple[Card, ...]] = []

    def went_on(self, events: tuple[Event, ...], match: Match) -> None:
        """Take down what a move did."""
        others = Dealt | Committed | Revealed
        self.events += [event for event in events if not isinstance(event, others)]
        self.after.append(match)
        kinds = [type(event) for event in events]
        if match.rules.turnover_shuffles and TurnedOver in kinds:
            deal = deal_of(match)
            order = list(deal.stock)
            if kinds[0] is TurnedOver:
                order[:0] = [event.card for event in events if isinstance(event, Drew)]
            if match.rules.turnover_new_upcard:
                order[:0] = deal.pile
            self.turnovers.append(tuple(order))

    @property
    def record(self) -> DealRecord:
        """What a log and the shuffle tell of it."""
        deal = deal_of(self.start)
        return DealRecord(
            rules=self.start.rules,
            number=deal.number,
            dealer=deal.dealer,
            cards=pack_in_order(self.start),
            totals=self.start.totals,
            moves=recorded(self.events),
            turnovers=tuple(self.turnovers),
        )


def pack_in_order(match: Match) -> tuple[Card, ...]:
    """A pack that gives this deal: hands are sorted, so it need not be the one dealt from."""
    deal, rules = deal_of(match), match.rules
    seats = [(deal.dealer + 1 + place) % rules.players for place in range(rules.players)]
    dealt = [deal.hands[seat][place] for place in range(rules.hand_size) for seat in seats]
    return (*dealt, *deal.pile, *deal.stock)


def played(rules: Rules, number: str, keen: float = 0.7, most: int = 10_000) -> Iterator[Played]:
    """The deals of a match of random players."""
    start, _ = new_match(rules, number)
    deal = Played(start)
    for *_, match, events, _ in steps(start, Random(number), keen, most):
        deal.went_on(events, match)
        if any(isinstance(event, DealEnded) for event in events):
            yield deal
            deal = Played(match)
    if deal.after:
        yield deal


def check(deal: Played) -> DealRecord:
    """The record plays again as the deal was played."""
    record = deal.record
    begin, *again = positions(record)
    assert begin.recorded is None
    assert begin.events == (Dealt(
        record.number, record.dealer, deal_of(deal.start).hands,
        deal_of(deal.start).upcard, len(deal_of(deal.start).stock),
    ),)  # fmt: skip
    assert [event for position in again for event in position.events] == deal.events
    assert tuple(position.recorded for position in again) == record.moves
    without_orders = replace(record, turnovers=())
    assert with_turnovers(without_orders, lambda number, _: record.turnovers[number - 1]) == record
    for position, match in zip(again, deal.after, strict=True):
        assert table_of(position.match, record.number) == table_of(match, record.number)
        assert position.match.rules == record.rules
    return record


def table_of(match: Match, number: int) -> object:
    """All but the times, the match's chance and the deal after."""
    deal = match.deal
    if deal is None or deal.number != number:
        return match.totals, match.last, match.result
    window = deal.window and deal.window.seat
    same = replace(deal, window=None, entropy=(), shuffle=None, laid_out=False)
    return match.totals, same, window


@pytest.mark.parametrize(("variant", "players"), EVERY_TABLE)
def test_a_deal_of_every_preset_and_number_of_players_plays_again(variant: str, players: int):
    for deal in played(agree(variant, players, {"deals": 2}), f"{variant} {players}", most=500):
        check(deal)


@pytest.mark.parametrize("number", range(25))
@pytest.mark.parametrize("variant", PRESETS)
def test_a_deal_with_options_at_random_plays_again(variant: str, number: int):
    chance = Random(f"record {variant} {number}")
    rules = random_rules(chance, variant, chance.randint(*PRESETS[variant].players))
    for deal in played(rules, f"{number}", keen=chance.choice([0.3, 0.7, 1.0]), most=300):
        check(deal)


def test_rare_deals_play_again():
    seen, most_turnovers = set(), 0
    for place, tour in enumerate(TOURS):
        rules = agree(tour.variant, tour.players, tour.options)
        for deal in played(rules, f"record {place}", tour.keen):
            record = check(deal)
            seen |= {type(event) for event in deal.events}
            most_turnovers = max(most_turnovers, len(record.turnovers))
    assert {TurnedOver, Declined, MatchEnded, DealEnded} <= seen
    assert most_turnovers > 1


# ------------------------------------------------------------------------------- changed records


@pytest.fixture(scope="module")
def record() -> DealRecord:
    """A deal of two people in which the pile is shuffled, and jokers are played."""
    rules = agree("seven-card", 2, {"hand_size": 20, "jokers": 4, "deals": 2})
    (deal, *_) = (deal for deal in played(rules, "broken", keen=0.2) if deal.turnovers)
    return deal.record


def broken(record: DealRecord, **changed: object) -> BadReplay:
    """How the record fails with something changed."""
    with pytest.raises(BadReplay) as caught:
        list(positions(replace(record, **changed)))
    return caught.value


def moved(record: DealRecord, place: int, **changed: object) -> BadReplay:
    """How the record fails with the move at that place changed."""
    moves = list(record.moves)
    moves[place] = replace(moves[place], **changed)
    return broken(record, moves=tuple(moves))


def test_a_move_that_the_engine_refuses_is_named_with_its_reason_and_clause(record: DealRecord):
    error = moved(record, 0, move=Discard("9C"))
    assert error.params == {"move": 1}
    seat = record.moves[0].seat
    assert error.detail.startswith(f"Move 1, by seat {seat}: Draw a card first")
    assert error.detail.endswith(" (common.3)")


def test_a_move_of_another_seat_is_refused(record: DealRecord):
    error = moved(record, 0, seat=1 - record.moves[0].seat)
    assert error.detail.endswith("(common.1)")


def test_a_card_that_the_stock_does_not_give_is_noticed(record: DealRecord):
    place = next(place for place, move in enumerate(record.moves) if move.drawn)
    drawn = record.moves[place].drawn
    error = moved(record, place, drawn="JK" if drawn != "JK" else "9C")
    assert error.params["move"] == place + 1
    assert f"the stock gives {drawn}, not " in error.detail
    error = moved(record, place, drawn=None)
    assert error.detail.endswith(f"the stock gives {drawn}, not -.")


def test_a_card_drawn_by_no_draw_is_noticed(record: DealRecord):
    place = next(n for n, move in enumerate(record.moves) if isinstance(move.move, Discard))
    assert moved(record, place, drawn="9C").params["move"] == place + 1


def test_two_cards_of_the_pack_exchanged_are_noticed_when_they_come(record: DealRecord):
    swapped = (*record.cards[:-2], record.cards[-1], record.cards[-2])
    stock_draws = [number for number, move in enumerate(record.moves, 1) if move.drawn]
    size = len(record.cards) - 2 * record.rules.hand_size
    assert broken(record, cards=swapped).params["move"] == stock_draws[size - 2]


def test_the_order_of_a_turnover_must_be_made_of_the_cards_turned_over(record: DealRecord):
    first, *others = record.turnovers
    error = broken(record, turnovers=((*first[:-1], "JK"), *others))
    assert "the order of turnover 1 is not made of the cards turned over" in error.detail
    assert "turnover 1 is not made" in broken(record, turnovers=(first[:-1], *others)).detail
    assert "the order of turnover 1 is not there" in broken(record, turnovers=()).detail
    error = broken(record, turnovers=(*record.turnovers, first))
    assert f"shuffled turnovers: {len(others) + 2}. There were: {len(others) + 1}." in error.detail


def test_another_order_of_a_turnover_is_noticed_when_the_next_card_is_drawn(record: DealRecord):
    first, *others = record.turnovers
    error = broken(record, turnovers=((first[-1], *first[1:-1], first[0]), *others))
    assert f"the stock gives {first[-1]}, not {first[0]}" in error.detail


def test_nothing_comes_after_the_end_of_a_deal(record: DealRecord):
    last = record.moves[-1]
    error = broken(record, moves=(*record.moves, last))
    assert error.params["move"] == len(record.moves) + 1
    assert error.detail.endswith("the deal is over.")


def test_the_cards_must_be_the_pack(record: DealRecord):
    assert record.cards.count("JK") == 4
    error = broken(record, cards=tuple("9C" if card == "JK" else card for card in record.cards))
    assert error.params == {}
    assert "the pack of 56 cards. Missing: JK JK JK JK. Too many: 9C 9C 9C 9C." in error.detail
    assert "Missing: -." in broken(record, cards=(*record.cards, "nonsense")).detail


def test_seats_and_cards_of_a_move_must_be_some(record: DealRecord):
    call = Recorded(7, Call(1), None)
    assert broken(record, moves=(*record.moves[:2], call)).detail.endswith("no such seat.")
    for move in (
        Draw("discard", "10H"), LayMeld(("1C", "2C", "3C")), LayMeld(("JK", "2C", "3C"), ("C1",)),
        LayOff(1, ("",)), Swap(1, "JOKER"), Discard("as"), Call(1, (), "X"), Call(1, ("X",)),
    ):  # fmt: skip
        assert "not all of its cards are cards" in moved(record, 0, move=move).detail


def test_the_rules_must_go_together(record: DealRecord):
    rules = replace(record.rules, hand_size=50, call="timed")
    wrong = replace(record.rules, hand_size=50)
    assert broken(record, rules=wrong).detail.startswith("hand_size: must be")
    assert "hand_size: must be" in broken(record, rules=rules).detail
    assert "for 2 to 8 players" in broken(record, rules=replace(record.rules, players=9)).detail
    assert "no variant" in broken(record, rules=replace(record.rules, variant="x")).detail


def test_dealer_and_totals_must_fit_the_players(record: DealRecord):
    assert "There is no seat 2 to deal" in broken(record, dealer=2).detail
    assert "each of the 2 seats" in broken(record, totals=(0,)).detail
    assert "each of the 2 seats" in broken(record, totals=(0, -1)).detail
    assert "counted from 1" in broken(record, number=0).detail


def test_what_came_before_and_how_the_match_ends_do_not_stand_in_the_way():
    rules = agree("straight", 2, {"target": 10, "hand_size": 3, "jokers": 8})
    (deal, *_) = played(rules, "totals", keen=1)
    score = max(deal_result(deal.record).scores)
    late = replace(deal.record, number=40, totals=(500, 7))
    assert deal_result(late).number == 40
    assert sum(deal_result(late).totals) == 507 + score


def deal_result(record: DealRecord) -> DealResult:
    """How the deal ended."""
    *_, last = positions(record)
    assert last.match.deal is None
    assert last.match.last is not None
    return last.match.last


def test_a_call_and_the_draw_after_it_need_no_times():
    rules = agree("call-rummy", 3, {"call": "timed", "call_seconds": 5})
    for number in range(20):
        for deal in played(rules, f"timed {number}", keen=0.4):
            if not any(isinstance(move.move, Call) for move in deal.record.moves):
                continue
            *_, last = positions(deal.record)
            assert last.match.last == deal.after[-1].last
            return
    pytest.fail("nobody called")


def test_what_comes_after_is_the_chance_of_the_match_given(record: DealRecord):
    match, _ = new_match(record.rules, "another", record.dealer, record.cards)
    part = replace(record, moves=record.moves[:9], turnovers=())
    first, *_, last = positions(part, match)
    assert (first.match, first.events) == (match, ())
    assert last.match.seed == "another"
    *_, other = positions(part)
    assert last.match.deal == other.match.deal

"""Practice tables that go on with a deal from some point of it."""

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from msgspec.structs import replace

from service.rummy.cards import pack
from service.rummy.legal import legal_moves
from service.rummy.model import Call, Discard, Draw, LayMeld, LayOff, Match, Swap
from service.rummy.notation import written
from service.rummy.record import DealRecord, Position, Recorded, positions
from service.rummy.rules import agree
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import House, Table, assert_no_card_is_lost, code
from tests.positions import cards
from tests.rummy.test_record import played

DEALS = {
    "plain": ("straight", 2, {"deals": 1}),
    "for target": ("straight", 3, {"target": 200, "hand_size": 5}),
    "jokers": ("straight", 2, {"deals": 1, "jokers": 8}),
    "shuffled turnovers": ("seven-card", 2, {"hand_size": 20, "jokers": 4}),
    "two decks": ("parlett", 6, {"jokers": 4}),
    "calls": ("call-rummy", 3, {"jokers": 2}),
    "timed calls": ("call-rummy", 4, {"call": "timed", "call_seconds": 5}),
    "many at the table": ("seven-card", 8, {"layoffs": "any", "aces": "high_or_low"}),
}


def a_deal(name: str) -> DealRecord:
    """A deal that random players have played to its end."""
    variant, players, options = DEALS[name]
    rules = agree(variant, players, options)
    keen = 0.2 if "turnovers" in name else 0.8
    return next(played(rules, f"what if {name}", keen)).record


def going_on(house: House, deal: DealRecord, moves: int | None = None, **more: object) -> Table:
    """A table of people who go on with the deal after so many moves."""
    practice = {"deal": written(deal)} | ({} if moves is None else {"moves": moves})
    practice |= more.pop("practice", {})
    made = house.new_table(deal.rules.variant, deal.rules.players, practice=practice, **more)
    assert made.status_code == 201, made.text
    table = Table(house, made.json["game"]["id"])
    table.seat(made)
    for number in range(1, deal.rules.players - len(more.get("computers", ()))):
        table.seat(table.stranger.post("join", {"name": f"player {number}"}))
    return table


def refused(house: House, deal: DealRecord | str, moves: int | None = None, **more: object) -> dict:
    """The answer to who wants to go on with such a deal and cannot."""
    text = deal if isinstance(deal, str) else written(deal)
    practice = {"deal": text} | ({} if moves is None else {"moves": moves})
    body = {"variant": "straight", "seats": 2, "practice": practice} | more
    answer = house.new_table(body.pop("variant"), body.pop("seats"), **body)
    assert answer.status_code == 422, answer.text
    return answer.json


def after(deal: DealRecord, moves: int) -> Position:
    """Where the deal stood after so many moves."""
    return next(islice(positions(deal), moves, None))


def without_times(match: Match) -> object:
    """All about the deal but when a card was discarded, and what only new matches have."""
    window = match.deal.window and match.deal.window.seat
    return match.deal.hands, match.deal.stock, match.deal.pile, match.deal.turn, match.deal.phase, (
        match.deal.melds, match.deal.turns, match.deal.turnovers, match.deal.taken,
        match.deal.new_melds, match.deal.laid_off, match.deal.picked, match.deal.thrown, window,
        match.totals,
    )  # fmt: skip


def some_points(deal: DealRecord) -> Iterator[int]:
    """The start, the last point but the end, after a call, in the middle of a turn, and others."""
    yield from (0, 1, 2, len(deal.moves) - 1)
    kinds = [type(move.move) for move in deal.moves]
    for kind in (Call, Swap, LayMeld, LayOff, Discard):
        if kind in kinds[:-1]:
            yield kinds.index(kind) + 1
    yield Random(1).randrange(len(deal.moves))


def assert_books_agree(table: Table) -> None:
    for watcher in table.watchers:
        book = Ledger(watcher.seat)
        book.enter(watcher.log())
        book.agrees_with(watcher.look())


def play_on(table: Table, chance: Random) -> None:
    """The match to its end, by the moves that are listed."""
    for _ in range(6_000):
        now = table.stranger.look()
        if now["status"] == "finished":
            return
        player = table.players[now["deal"]["turn"]]
        if now["deal"]["call"] and chance.random() < 0.5:
            player = table.players[now["deal"]["call"]["discarded_by"] - 1]
        view = player.look()
        if not view["moves"]:
            continue
        calls = _calls(view)
        answer = player.make(calls[0] if calls else choose(view, chance))
        assert answer.status_code == 200, answer.text
        assert_no_card_is_lost(table.game())
    pytest.fail("the match has no end")


def _calls(view: dict) -> list[dict]:
    return [move for move in view["moves"] or () if move["move"] == "rummy"]


# ------------------------------------------------------------------------------ the point itself


@pytest.mark.parametrize("name", DEALS)
def test_the_table_stands_as_the_deal_did_and_the_log_tells_how_it_came_there(house, name):
    deal = a_deal(name)
    for moves in sorted(set(some_points(deal))):
        table = going_on(house, deal, moves)
        game, there = table.game(), after(deal, moves)
        assert without_times(game.match) == without_times(there.match)
        assert game.match.rules == replace(deal.rules, deals=game.match.rules.deals)
        assert_no_card_is_lost(game)
        assert_books_agree(table)
        assert table.stranger.look()["practice"]


@pytest.mark.parametrize("name", DEALS)
def test_each_move_that_is_listed_there_is_accepted(house, name):
    deal = a_deal(name)
    for moves in sorted(set(some_points(deal))):
        table = going_on(house, deal, moves)
        now = table.game().changed_at
        for player in table.players:
            listed = player.get("moves").json["moves"]
            possible = list(islice(legal_moves(table.game().match, player.seat, now), 200))
            assert len(listed) == len(possible)
            for move in listed[:10]:
                body = {key: value for key, value in move.items() if key != "move"}
                checked = player.post(f"{move['move']}?check=true", body)
                assert checked.status_code == 200, (move, checked.text)


@pytest.mark.parametrize("name", [name for name in DEALS if name != "timed calls"])
def test_the_deal_can_be_played_to_its_end_from_its_middle(house, name):
    deal = a_deal(name)
    deal = replace(deal, totals=tuple(range(5, 5 + deal.rules.players)))
    middle = max(len(deal.moves) // 2, len(deal.moves) - 30)
    table = going_on(house, deal, middle, options={"deals": 1})
    play_on(table, Random(name))
    view = table.stranger.look()
    result = view["result"]
    scores = view["last_deal"]["scores"]
    assert result["reason"] == "deals_played"
    assert result["totals"] == [
        before + score for before, score in zip(deal.totals, scores, strict=True)
    ]
    assert_books_agree(table)
    (told,) = table.stranger.get("score").json["deals"]
    assert told == view["last_deal"]


def test_with_no_number_of_moves_it_goes_on_after_all_of_them(house):
    deal = a_deal("jokers")
    deal = replace(deal, moves=deal.moves[:7])
    assert without_times(going_on(house, deal).game().match) == without_times(after(deal, 7).match)


def test_what_comes_after_is_chance_or_the_seed(house):
    deal = a_deal("shuffled turnovers")
    turned = next(
        number
        for number, position in enumerate(positions(deal))
        if len(position.match.deal.stock) == 0
    )
    assert deal.turnovers
    stocks = set()
    for practice in ({"seed": "one"}, {"seed": "one"}, {"seed": "two"}, {}, {}):
        table = going_on(house, deal, turned, practice=practice)
        chance = Random(1)
        while not table.stranger.look()["deal"]["turnovers"]:
            player = table.mover
            assert player.make(choose(player.look(), chance, patience=1)).status_code == 200
        stocks.add(table.game().match.deal.stock)
    assert len(stocks) == 4


def test_moves_that_come_after_the_point_need_not_be_possible(house):
    deal = a_deal("plain")
    nonsense = Recorded(0, LayMeld(("AS", "AS", "AS")))
    table = going_on(house, replace(deal, moves=(*deal.moves[:4], nonsense)), 4)
    assert without_times(table.game().match) == without_times(after(deal, 4).match)


def test_a_card_just_discarded_can_be_called_from_when_the_match_begins(timed_house, clock):
    deal = a_callable_deal()
    clock.forward(500)
    table = going_on(timed_house, deal)
    caller = table.players[2]
    view = caller.look()
    assert view["deal"]["call"]["discarded_by"] == 0
    assert code(table.players[1].draw("stock")) == "call_pending"
    clock.forward(4)
    assert caller.make(_calls(view)[0]).status_code == 200
    later = going_on(timed_house, deal)
    clock.forward(6)
    assert later.stranger.look()["deal"]["call"] is None
    assert later.players[1].draw("stock").status_code == 200


def a_callable_deal() -> DealRecord:
    """Seat 0 has laid 8D 8H 8S and discarded 8C, which fits there."""
    rules = agree("call-rummy", 3, {"hand_size": 5, "call": "timed", "call_seconds": 5})
    hands = (cards("8D 8H 8S 8C 2D"), cards("2S 3S TS JC KD"), cards("AC 4D 6H 9S QC"))
    dealt = [hands[seat][place] for place in range(5) for seat in range(3)]
    rest = [card for card in pack(1, 0) if card not in dealt]
    return DealRecord(
        rules=rules,
        number=1,
        dealer=2,
        cards=(*dealt, *rest),
        totals=(0, 0, 0),
        moves=(
            Recorded(0, Draw("discard", rest[0])),
            Recorded(0, LayMeld(("8D", "8H", "8S"))),
            Recorded(0, Discard("8C")),
        ),
    )


# -------------------------------------------------------------------------------- the table


def test_computers_play_on_from_there(house):
    deal = a_deal("jokers")
    turn = after(deal, 6).match.deal.turn
    table = going_on(house, deal, 6, computers=["steady"])
    assert table.stranger.look()["deal"]["turn"] == 0
    moved = [entry["event"] for entry in table.stranger.log()]
    assert (len([event for event in moved if event["type"] == "drew"]) > 3) == (turn == 1)
    assert_books_agree(table)
    play_on(table, Random(1))


def test_a_table_for_computers_with_a_call_open_waits_for_people(timed_house, clock):
    deal = a_callable_deal()
    table = going_on(timed_house, deal, computers=["steady", "random"])
    assert table.stranger.look()["deal"]["turns"] == 1
    clock.forward(6)
    assert table.stranger.look()["deal"]["turns"] > 1


def test_the_host_can_start_it_later_and_a_clock_runs_from_then(timed_house, clock):
    deal = a_deal("plain")
    table = going_on(timed_house, deal, 5, autostart=False, options={"turn_seconds": 30})
    clock.forward(3_000)
    assert table.players[0].post("start").status_code == 200
    ends = table.stranger.look()["turn_ends_at"]
    assert ends is not None
    assert table.game().due == clock.now + 30_000


def test_fewer_people_than_in_the_deal_cannot_go_on_with_it(house):
    deal = a_deal("for target")
    table = going_on(house, deal, 5, autostart=False)
    assert table.players[2].post("leave").status_code == 200
    answer = table.players[0].post("start")
    assert code(answer) == "options_do_not_fit"
    assert "the deal to go on with has 3, not 2" in answer.json["detail"]


def test_a_rematch_goes_on_from_the_same_point(house):
    deal = a_deal("two decks")
    table = going_on(house, deal, 30)
    before = without_times(table.game().match)
    for player in table.players:
        assert player.post("leave").status_code == 200
    for player in table.players:
        answer = player.post("rematch")
        assert answer.status_code == 201
    assert without_times(Table(house, answer.json["game"]["id"]).game().match) == before


def test_the_options_of_the_deal_are_those_of_the_table(house):
    deal = replace(a_deal("calls"), number=3, totals=(4, 0, 9))
    deal = replace(deal, rules=replace(deal.rules, deals=5, turn_seconds=60))
    view = going_on(house, deal, 3).stranger.look()
    assert view["options"]["jokers"] == 2
    assert (view["options"]["deals"], view["options"]["turn_seconds"]) == (3, 60)
    assert (view["totals"], view["deal"]["number"]) == ([4, 0, 9], 1)
    chosen = {"jokers": 2, "call": "next_draw", "target": 100, "turn_seconds": None}
    view = going_on(house, deal, 3, options=chosen).stranger.look()
    assert view["options"]["deals"] is None
    assert (view["options"]["target"], view["options"]["turn_seconds"]) == (100, None)


def test_a_long_deal_can_be_gone_on_with_too(house):
    rules = agree("straight", 2, {"hand_size": 3, "deals": 1})
    deal = next(played(rules, "long", keen=0)).record
    table = going_on(house, deal, len(deal.moves) - 1)
    assert table.stranger.look()["deal"]["turns"] == 999
    assert table.record_size() < 40_000


# ------------------------------------------------------------------------------ what is refused


def test_a_point_at_which_the_deal_is_over_is_refused_with_the_last_that_is_not(house):
    deal = a_deal("plain")
    last = len(deal.moves)
    for moves in (None, last):
        answer = refused(house, deal, moves)
        assert (answer["code"], answer["params"]["most"]) == ("bad_practice", last - 1)
        assert f"take {last - 1} at the most" in answer["detail"]
    answer = refused(house, deal, last + 1)
    assert (answer["code"], answer["params"]["most"]) == ("bad_practice", last)


def test_a_deal_that_cannot_be_played_is_refused_with_its_move(house):
    deal = a_deal("plain")
    moves = (*deal.moves[:4], Recorded(deal.moves[4].seat, Discard("JK")))
    answer = refused(house, replace(deal, moves=moves))
    assert (answer["code"], answer["params"]["move"]) == ("bad_replay", 5)
    assert "JK is not in your hand" in answer["detail"] or "Not in your hand" in answer["detail"]


def with_line(deal: DealRecord, old: str, new: str) -> str:
    text = written(deal)
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('[Rummy "1"]', "", 11),
        ('[Players "2"]', '[Players "two"]', 3),
        ('deals=1"', 'deals=one"', 4),
        ("1. ", "1: ", 11),
        ("drop", "put", 11),
        ("\n", "", 1),
        ("\n", "\0", 1),
    ],
)
def test_a_text_that_is_no_deal_is_refused_with_its_line(house, old, new, line):
    answer = refused(house, with_line(a_deal("plain"), old, new))
    assert (answer["code"], answer["params"]) == ("bad_notation", {"line": line})


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"seats": 3}, "seats"),
        ({"variant": "parlett"}, "variant"),
        ({"options": {"hand_size": 7}}, "options.hand_size"),
        ({"options": {"decks": 2}}, "options.decks"),
        ({"options": {"turnovers": 3}}, "options.turnovers"),
        ({"options": {"ace_points": 3}}, "options.ace_points"),
    ],
)
def test_what_is_otherwise_than_in_the_deal_is_refused_by_its_name(house, more, field):
    answer = refused(house, a_deal("plain"), 3, **more)
    assert (answer["code"], answer["params"]["field"]) == ("bad_practice", field)
    assert answer["detail"].startswith(f"{field}: ")


@pytest.mark.parametrize(
    ("practice", "expected"),
    [
        ({"dealer": 0}, "bad_practice"),
        ({"order": list(pack(1, 0))}, "bad_practice"),
        ({"deal": ""}, "invalid_request"),
        ({"deal": "x" * 60_001}, "invalid_request"),
        ({"deal": "x" * 60_000}, "bad_notation"),
        ({"deal": 5}, "invalid_request"),
        ({"moves": -1}, "invalid_request"),
        ({"moves": "all"}, "invalid_request"),
        ({"moves": 10**30}, "invalid_request"),
        ({"seed": ""}, "invalid_request"),
    ],
)
def test_what_does_not_go_with_a_deal_is_refused(house, practice, expected):
    deal = written(a_deal("plain"))
    answer = refused(house, "", practice={"deal": deal, "moves": 3} | practice)
    assert answer["code"] == expected


def test_a_number_of_moves_needs_a_deal(house):
    answer = refused(house, "", options={"deals": 1}, practice={"seed": "x", "moves": 3})
    assert answer["code"] == "bad_practice"
    assert "practice.moves" in answer["detail"]


def test_options_that_do_not_exist_are_refused_as_ever(house):
    assert refused(house, a_deal("plain"), 3, options={"luck": 1})["code"] == "options_refused"

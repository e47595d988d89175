"""The turn clock: what the deadline says, and what happens when it passes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from random import Random
from threading import Barrier

import pytest
import requests
from msgspec.structs import replace
from werkzeug.test import TestResponse

from service.game import with_seat
from service.rummy.model import CallWindow, Match
from service.rummy.rules import PRESETS
from service.servers import Servers
from service.store import Store
from service.tables import Tables
from service.watch import Watch
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import EXPIRY, Clock, House, Player, Table, assert_no_card_is_lost, code
from tests.http.test_races import at_once
from tests.positions import CALLABLE, position
from tests.serving import serving
from tests.turn_order import TurnOrder

SECONDS = 60
MS = 1000 * SECONDS


def deadline(view: dict) -> int:
    """When the turn ends, in milliseconds."""
    return round(datetime.fromisoformat(view["turn_ends_at"]).timestamp() * 1000)


def ends_at(table: Table) -> int:
    return deadline(table.stranger.look())


def happened(entries: list[dict]) -> list[str]:
    """What the entries of a log tell, the forced ones with an exclamation mark."""
    return [entry["event"]["type"] + "!" * entry["forced"] for entry in entries]


def since(table: Table, version: int) -> list[dict]:
    return [entry for entry in table.stranger.log() if entry["version"] > version]


def play_turn(player: Player) -> TestResponse:
    """A draw, and the first discard listed."""
    moves = player.draw("stock").json["game"]["moves"]
    discard = next(move for move in moves if move["move"] == "discard")
    return player.make(discard)


def timed_position(hands: str, **written: object) -> Match:
    """Before the draw of seat 0, with a clock."""
    return position(**{"hands": hands, "phase": "draw", "turn_seconds": SECONDS} | written)


def callable_position(**written: object) -> Match:
    """Seat 0 has discarded 8C, which fits its own meld; seat 1 is to draw."""
    window = CallWindow(0, None)
    return position(**CALLABLE | {"window": window, "turn_seconds": SECONDS} | written)


def about_to_discard(card: str, **written: object) -> Match:
    """Seat 0 is about to discard that card, which can be called if it is 8C."""
    hands = f"KD {card} | 2S 3S | TS 9S"
    return callable_position(
        turn=0, phase="play", hands=hands, pile="2C", window=None, call="timed", **written
    )


def alter(table: Table, **changes: object) -> None:
    """Store the game with something changed."""
    game = table.game()
    table.house.store.commit(replace(game, version=game.version + 1, **changes), ())


def assert_books_agree(table: Table) -> None:
    """Each seat's log, and a spectator's, tells what the view shows, and the turns go round."""
    for player in table.watchers:
        book = Ledger(player.seat)
        book.enter(player.log())
        book.agrees_with(player.look())
    log = table.stranger.log()
    order = TurnOrder(len(table.stranger.look()["seats"]))
    for entry in log:
        order.read(entry["event"])
    times = [datetime.fromisoformat(entry["at"]) for entry in log]
    assert times == sorted(times)


# ------------------------------------------------------------------------------- the deadline


@pytest.mark.clause("table.1")
@pytest.mark.parametrize("variant", PRESETS)
def test_everybody_sees_when_the_turn_ends(timed_house, clock, variant):
    table = timed_house.table(variant, 3 if variant != "seven-card" else 4, turn_seconds=SECONDS)
    assert {deadline(player.look()) for player in table.watchers} == {clock.now + MS}


def test_without_a_clock_there_is_no_deadline_and_nothing_is_forced(timed_house, clock):
    table = timed_house.table("straight")
    clock.forward(86_400)
    view = table.stranger.look()
    assert (view["turn_ends_at"], view["version"]) == (None, 2)


@pytest.mark.parametrize("status", ["waiting", "finished"])
def test_there_is_no_deadline_but_during_play(timed_house, clock, status):
    if status == "waiting":
        table = timed_house.waiting("straight", 2, turn_seconds=SECONDS)
    else:
        table = timed_house.position(hands="5C 5D 5H | 2S 3S", turn_seconds=SECONDS)
        table.players[0].play("meld 5C 5D 5H")
    clock.forward(10 * SECONDS)
    view = table.stranger.look()
    assert (view["status"], view["turn_ends_at"]) == (status, None)


def test_the_deadline_is_in_the_view_and_nowhere_else(timed_house):
    table = timed_house.table("straight", turn_seconds=SECONDS)
    player = table.players[0]
    elsewhere = [player.get(part).text for part in ("events", "score")]
    elsewhere += [player.get("moves").text] if player is table.mover else []
    assert "turn_ends_at" in player.get().text
    assert not any("ends_at" in text or "due" in text for text in elsewhere)
    assert '"due"' not in player.get().text


@pytest.mark.clause("table.1")
def test_the_deadline_stays_while_the_player_plays(timed_house, clock):
    table = timed_house.at(
        timed_position("5C 5D 5H 7S 9H KH | 2S 3S", melds="1: 7C 7D 7H"), due=clock.now + MS
    )
    begun = clock.now
    for move in ("draw", "meld 5C 5D 5H", "layoff 1 7S"):
        clock.forward(7)
        answer = table.players[0].play(move)
        assert deadline(answer.json["game"]) == begun + MS
    clock.forward(7)
    answer = table.players[0].play("discard KH")
    assert deadline(answer.json["game"]) == clock.now + MS


@pytest.mark.clause("table.1")
def test_the_deadline_stays_when_somebody_calls(timed_house, clock):
    table = timed_house.at(callable_position(), due=clock.now + MS)
    before = ends_at(table)
    clock.forward(5)
    assert table.players[2].play("rummy 1").status_code == 200
    assert ends_at(table) == before


@pytest.mark.clause("table.1", "table.4")
def test_the_deadline_stays_when_others_leave_and_return(timed_house, clock):
    table = timed_house.table("straight", 3, turn_seconds=SECONDS)
    before = ends_at(table)
    other = next(player for player in table.players if player is not table.mover)
    for part in ("leave", "return", "leave"):
        clock.forward(5)
        assert other.post(part).status_code == 200
        assert ends_at(table) == before


@pytest.mark.clause("table.1")
def test_each_turn_and_each_deal_has_its_full_time(timed_house, clock):
    match = timed_position("5C 5D 5H | 2S 3S", stock="KH 4D", deals=2)
    table = timed_house.at(match, due=clock.now + MS)
    clock.forward(50)
    table.players[0].draw("stock")
    table.players[0].play("meld 5C 5D 5H")
    answer = table.players[0].play("discard KH")
    assert answer.json["game"]["deal"]["number"] == 2
    assert deadline(answer.json["game"]) == clock.now + MS
    clock.forward(11)
    assert deadline(play_turn(table.mover).json["game"]) == clock.now + MS


@pytest.mark.clause("table.1", "call-rummy.5")
def test_while_a_timed_call_is_open_the_clock_waits_too(timed_house, clock):
    table = timed_house.at(about_to_discard("8C", call_seconds=9), due=clock.now + MS)
    answer = table.players[0].play("discard 8C")
    assert deadline(answer.json["game"]) == clock.now + 9_000 + MS
    clock.forward(4)
    called = table.players[2].play("rummy 1")
    assert deadline(called.json["game"]) == clock.now + 5_000 + MS


@pytest.mark.clause("table.1", "call-rummy.5")
def test_a_discard_that_fits_nowhere_gives_nobody_more_time(timed_house, clock):
    table = timed_house.at(about_to_discard("7C", call_seconds=9), due=clock.now + MS)
    assert deadline(table.players[0].play("discard 7C").json["game"]) == clock.now + MS


@pytest.mark.clause("table.1", "call-rummy.5")
def test_a_turn_is_not_forced_while_a_timed_call_is_open(timed_house, clock):
    match = about_to_discard("8C", call_seconds=60, turn_seconds=5)
    table = timed_house.at(match, due=clock.now + 5_000)
    assert table.players[0].play("discard 8C").status_code == 200
    version = table.stranger.look()["version"]
    clock.forward(64.999)
    assert table.stranger.look()["version"] == version
    clock.forward(0.001)
    assert happened(since(table, table.stranger.look()["version"] - 1)) == ["drew!", "discarded!"]


# -------------------------------------------------------------------------- the forced turn


@pytest.mark.clause("table.1")
@pytest.mark.parametrize("variant", PRESETS)
def test_when_the_time_is_up_the_turn_is_played_and_marked_so(timed_house, clock, variant):
    table = timed_house.table(variant, 2, turn_seconds=SECONDS, seed=f"silent {variant}")
    silent, before = table.mover, table.stranger.look()
    clock.forward(SECONDS - 0.001)
    assert table.stranger.look() == before
    clock.forward(0.001)
    view = table.stranger.look()
    assert (view["version"], view["deal"]["turn"]) == (before["version"] + 1, 1 - silent.seat)
    entries = since(table, before["version"])
    assert happened(entries) == ["drew!", "discarded!"]
    drawn, thrown = (
        entry["event"] for entry in silent.log() if entry["version"] == view["version"]
    )
    assert (drawn["source"], drawn["card"]) == ("stock", thrown["card"])
    assert entries[0]["event"]["card"] is None
    assert_books_agree(table)


@pytest.mark.clause("table.1")
def test_who_looks_late_gives_the_next_player_the_full_time_all_the_same(timed_house, clock):
    table = timed_house.table("straight", 3, turn_seconds=SECONDS)
    clock.forward(30 * SECONDS)
    view = table.stranger.look()
    assert deadline(view) == clock.now + MS
    assert view["version"] == 4
    assert table.stranger.look() == view


def test_what_a_player_does_is_not_marked_and_what_the_clock_does_is(timed_house, clock):
    table = timed_house.table("straight", turn_seconds=SECONDS)
    table.mover.draw("stock")
    clock.forward(SECONDS)
    view = table.stranger.look()
    assert happened(since(table, 2)) == ["drew", "discarded!"]
    play_turn(table.players[view["deal"]["turn"]])
    assert happened(since(table, view["version"])) == ["drew", "discarded"]


LOOKS: dict[str, Callable[[Table, Player], TestResponse]] = {
    "a look": lambda _, player: player.get(),
    "a stranger's look": lambda table, _player: table.stranger.get(),
    "a look that knows this version": lambda _, player: player.get(if_none_match='"2"'),
    "a page of the log": lambda _, player: player.get("events?after=6"),
    "the score": lambda _, player: player.get("score"),
    "the legal moves": lambda _, player: player.get("moves"),
    "the own game": lambda table, player: table.house.client().get(
        "/v1/games?mine", headers={"authorization": f"Bearer {player.token}"}
    ),
    "many games": lambda table, player: table.house.client().post(
        "/v1/games/query", json={"tokens": [player.token]}
    ),
    "leaving": lambda _, player: player.post("leave"),
    "a move": lambda _, player: player.draw("stock"),
    "a check": lambda _, player: player.post("draw?check=true", {"from": "stock"}),
    "a refused move": lambda _, player: player.play("discard 2C"),
    "a join": lambda table, _player: table.stranger.post("join", {"name": "eva"}),
}


@pytest.mark.clause("table.1")
@pytest.mark.parametrize("by_the_silent", [False, True], ids=["another", "the silent player"])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_whoever_asks_for_whatever_finds_the_turn_played(timed_house, clock, look, by_the_silent):
    table = timed_house.table("straight", 3, turn_seconds=SECONDS)
    silent = table.mover
    other = table.players[(silent.seat + 1) % 3]
    clock.forward(SECONDS)
    look(table, silent if by_the_silent else other)
    told = happened(since(table, 3))
    assert told[:2] == ["drew!", "discarded!"]
    assert told.count("discarded!") == 1


@pytest.mark.clause("table.1")
def test_the_view_after_a_late_look_is_the_one_after_the_forced_turn(timed_house, clock):
    """Nobody is shown a turn that is over."""
    table = timed_house.table("straight", turn_seconds=SECONDS)
    silent = table.mover
    other = table.players[1 - silent.seat]
    clock.forward(SECONDS)
    assert silent.get("moves").json["moves"] == []
    assert other.get("moves").json["moves"]
    page = silent.get("events?after=0").json
    assert page["last"] == page["events"][-1]["id"] == table.game().events


@pytest.mark.clause("table.1")
def test_a_move_that_comes_too_late_is_not_made_in_the_next_turn(timed_house, clock):
    """With all others computers it is the same player's turn again, at once."""
    more = {"computers": ["steady"]}
    table = timed_house.waiting("straight", 2, 1, more=more, deals=50, turn_seconds=60)
    player = table.players[0]
    seen = player.look()
    for part, body in (("draw", {"from": "stock"}), ("turn", {"discard": seen["hand"][0]})):
        clock.forward(SECONDS)
        answer = player.post(part, body, if_match=f'"{seen["version"]}"')
        assert code(answer) == "stale_version"
        now = player.look()
        if now["status"] == "finished":
            break
        assert (now["deal"]["turn"], now["deal"]["phase"]) == (0, "draw")
        seen = now


@pytest.mark.clause("table.1")
def test_a_late_discard_is_refused_where_the_turn_has_passed_on(timed_house, clock):
    table = timed_house.table("straight", turn_seconds=SECONDS)
    player = table.mover
    view = player.draw("stock").json["game"]
    clock.forward(SECONDS)
    late = {"card": view["hand"][0]}
    assert code(player.post("discard", late)) == "not_your_turn"
    assert code(player.post("discard", late, if_match=f'"{view["version"]}"')) == "stale_version"
    assert happened(since(table, 2)) == ["drew", "discarded!"]


@pytest.mark.clause("table.1")
def test_a_forced_discard_that_ends_the_deal_begins_the_next_with_its_full_time(timed_house, clock):
    table = timed_house.at(timed_position("KH | 2S 3S", deals=2, phase="play"), due=clock.now + 1)
    clock.forward(1)
    view = table.stranger.look()
    assert (view["deal"]["number"], view["totals"]) == (2, [5, 0])
    assert deadline(view) == clock.now + MS
    assert happened(since(table, view["version"] - 1)) == [
        "discarded!",
        "deal_ended!",
        "dealt!",
    ]


@pytest.mark.clause("table.1")
def test_where_a_workers_clock_is_behind_the_log_does_not_go_back(timed_house, clock):
    table = timed_house.table("straight", turn_seconds=SECONDS)
    clock.forward(SECONDS)
    table.stranger.get()
    clock.forward(-20)
    play_turn(table.mover)
    clock.forward(SECONDS)
    table.stranger.get()
    forced, own = ["drew!", "discarded!"], ["drew", "discarded"]
    assert happened(table.stranger.log())[-6:] == [*forced, *own, *forced]
    assert_books_agree(table)


# --------------------------------------------------------------------------- exactly once


@pytest.mark.clause("table.1")
@pytest.mark.parametrize("trial", range(4))
def test_though_twenty_look_at_once_the_turn_is_forced_once(timed_house, clock, trial):
    table = timed_house.table("straight", 4, turn_seconds=SECONDS)
    version = table.stranger.look()["version"]
    watchers = [table.twin(table.players[number % 4]) for number in range(20)]
    clock.forward(SECONDS)
    looks = [
        (lambda player=player, part=part: player.get(part))
        for player, part in zip(watchers, ("", "events", "score", "moves") * 5, strict=True)
    ]
    answers = at_once(*looks)
    assert Counter(answer.status_code for answer in answers) == {200: 20}
    assert {answer.json["version"] for answer in answers if "version" in answer.json} == {
        version + 1
    }
    assert happened(since(table, version)) == ["drew!", "discarded!"]
    assert_no_card_is_lost(table.game())


@pytest.mark.clause("table.1")
@pytest.mark.parametrize("pinned", [False, True], ids=["", "for that version"])
@pytest.mark.parametrize("trial", range(6))
def test_the_deadline_against_a_move_one_of_both(timed_house, clock, pinned, trial):
    table = timed_house.table("straight", 3, turn_seconds=SECONDS)
    player = table.mover
    view = player.draw("stock").json["game"]
    version, card = view["version"], view["hand"][trial]
    clock.forward(SECONDS - 0.001)
    terms = {"if_match": f'"{version}"'} if pinned else {}

    def time_passes() -> TestResponse:
        clock.forward(0.001)
        return table.stranger.get()

    move, *_ = at_once(
        lambda: player.play(f"discard {card}", **terms),
        time_passes,
        *(lambda: table.twin(table.players[0]).get(),) * 3,
    )
    entries = since(table, version)
    if move.status_code == 200:
        assert happened(entries) == ["discarded"]
        assert entries[0]["event"]["card"] == card
    else:
        assert code(move) in ({"stale_version"} if pinned else {"not_your_turn"})
        assert happened(entries) == ["discarded!"]
    assert table.stranger.look()["deal"]["turn"] == (player.seat + 1) % 3
    assert_no_card_is_lost(table.game())


class Overtaken(Store):
    """A store in which something else is stored just before the first change."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def commit(self, *args: object, **kwargs: object) -> None:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        super().commit(*args, **kwargs)


@pytest.mark.clause("table.1")
def test_who_comes_to_force_a_turn_that_has_just_been_ended_sees_how(redis_url, house, clock):
    """The clock of the one who looks is ahead; for the player it is not too late."""
    table = house.table("straight", turn_seconds=SECONDS)
    player = table.mover
    card = player.draw("stock").json["game"]["hand"][0]
    clock.forward(SECONDS / 2)
    alter(table, due=clock.now)
    store = Overtaken(Servers(redis_url, 2), EXPIRY)
    store.meanwhile = lambda: player.play(f"discard {card}")
    ahead = House(redis_url, clock)
    ahead.app.extensions["tables"] = Tables(store, Watch(Servers(redis_url, 2)), clock)
    view = Player(ahead.client(), table.id).look()
    assert (view["version"], view["deal"]["upcard"]) == (5, card)
    assert happened(since(table, 2)) == ["drew", "discarded"]


# -------------------------------------------------------------------------------- being away


def a_silent_turn(table: Table, clock: Clock) -> None:
    """The player on turn lets it pass."""
    clock.forward(SECONDS)
    assert table.stranger.get().status_code == 200


@pytest.mark.clause("table.2")
@pytest.mark.parametrize("after", [1, 3])
def test_after_so_many_forced_turns_in_a_row_the_computer_plays(timed_house, clock, after):
    table = timed_house.table("straight", turn_seconds=SECONDS, away_after=after)
    silent, other = table.mover, table.players[1 - table.mover.seat]
    for turns in range(1, after + 1):
        a_silent_turn(table, clock)
        seat = table.stranger.look()["seats"][silent.seat]
        assert seat["away"] == ("timed_out" if turns == after else None)
        assert seat["computer"] == ("steady" if turns == after else None)
        if turns < after:
            play_turn(other)
    last = since(table, table.game().version - 1)
    assert happened(last) == ["drew!", "discarded!", "went_away"]
    answer = play_turn(other)
    # It is the other's turn again: the computer has played in the same change.
    assert answer.json["game"]["deal"]["turn"] == other.seat
    assert not any(entry["forced"] for entry in answer.json["events"])
    assert_books_agree(table)


@pytest.mark.clause("table.2")
@pytest.mark.parametrize(("seat", "own"), [(1, "draw"), (1, "take"), (2, "rummy 1")])
def test_any_own_move_begins_the_count_anew(timed_house, clock, seat, own):
    table = timed_house.at(callable_position(away_after=3), due=clock.now + MS)
    game = table.game()
    alter(table, seats=with_seat(game, seat, replace(game.seats[seat], forced=2)).seats)
    assert table.players[seat].play(own).status_code == 200
    for forced in (1, 2):
        while True:
            turn = table.stranger.look()["deal"]["turn"]
            a_silent_turn(table, clock)
            if turn == seat:
                break
            alter(
                table,
                seats=tuple(
                    replace(who, forced=forced - 1) if place != seat else who
                    for place, who in enumerate(table.game().seats)
                ),
            )
        assert table.game().seats[seat].forced == forced
        assert table.stranger.look()["seats"][seat]["away"] is None


@pytest.mark.clause("table.2")
def test_who_is_away_is_told_so_and_returns_with_the_full_time(timed_house, clock):
    table = timed_house.table("straight", 3, turn_seconds=SECONDS, away_after=1)
    silent = table.mover
    a_silent_turn(table, clock)
    for request in (
        lambda: silent.draw("stock"),
        lambda: silent.play("discard 2C"),
        lambda: silent.play("rummy 1"),
        lambda: silent.post("turn", {"discard": "2C"}),
        lambda: silent.post("draw?check=true", {"from": "stock"}),
    ):
        answer = request()
        assert (answer.status_code, code(answer), answer.json["rule"]) == (
            409,
            "seat_away",
            "table.2",
        )
    answer = silent.post("return")
    assert happened(answer.json["events"]) == ["returned"]
    assert answer.json["game"]["seats"][silent.seat]["away"] is None
    for _ in range(2):
        play_turn(table.mover)
    view = table.stranger.look()
    assert (view["deal"]["turn"], deadline(view)) == (silent.seat, clock.now + MS)
    assert silent.draw("stock").status_code == 200
    assert_books_agree(table)


@pytest.mark.clause("table.2", "table.4")
def test_who_returns_while_the_computer_waits_for_a_call_has_the_full_time(timed_house, clock):
    match = callable_position(window=CallWindow(0, None, clock.now))
    table = timed_house.at(match, due=clock.now + 1_000)
    table.players[1].post("leave")
    assert table.stranger.look()["turn_ends_at"] is None
    clock.forward(4)
    answer = table.players[1].post("return")
    assert deadline(answer.json["game"]) == clock.now + MS
    clock.forward(30)
    assert play_turn(table.players[1]).status_code == 200


@pytest.mark.clause("table.2", "table.5")
@pytest.mark.parametrize("after", [1, 2])
def test_when_all_are_away_the_match_is_abandoned(timed_house, clock, after):
    table = timed_house.table("straight", 3, turn_seconds=SECONDS, away_after=after)
    for _ in range(3 * after - 1):
        a_silent_turn(table, clock)
        assert table.stranger.look()["status"] == "playing"
    a_silent_turn(table, clock)
    view = table.stranger.look()
    assert view["status"] == "finished"
    assert view["result"] == {
        "reason": "abandoned",
        "winners": [],
        "tie": False,
        "totals": [0, 0, 0],
    }
    assert happened(table.stranger.log())[-3:] == ["went_away", "revealed", "match_ended"]
    version = view["version"]
    clock.forward(10 * SECONDS)
    assert table.stranger.look()["version"] == version
    assert_books_agree(table)


# ----------------------------------------------------------------------------- whole matches


@pytest.mark.clause("table.1", "table.2")
@pytest.mark.parametrize("variant", PRESETS)
def test_a_match_of_silent_players(timed_house, clock, variant):
    """Nobody does anything: the pile becomes the stock, and no card is lost on the way."""
    table = timed_house.table(
        variant, 2, seed="silence", turn_seconds=SECONDS, away_after=20, hand_size=18
    )
    versions = table.stranger.look()["version"]
    while (view := table.stranger.look())["status"] == "playing":
        assert_no_card_is_lost(table.game())
        assert view["version"] == versions
        clock.forward(SECONDS)
        versions += 1
    assert view["result"]["reason"] == "abandoned"
    told = Counter(happened(table.stranger.log()))
    assert told["turned_over!"] > 0, "the stock was not exhausted"
    assert (told["drew!"], told["discarded!"]) == (40, 40)
    assert not told.keys() & {"drew", "discarded", "melded!", "called!", "laid_off!"}
    assert_books_agree(table)


@pytest.mark.clause("table.1", "table.2")
@pytest.mark.parametrize("variant", PRESETS)
def test_a_match_in_which_some_are_slow(timed_house, clock, variant):
    """Now and then somebody lets a turn pass, before the draw or after it."""
    chance = Random(variant)
    table = timed_house.table(
        variant, 3, seed="slow", turn_seconds=SECONDS, away_after=100, hand_size=4, deals=99
    )
    view = table.mover.look()
    for _ in range(100):
        if chance.random() < 0.2:
            clock.forward(SECONDS)
            assert_no_card_is_lost(table.game())
            view = table.mover.look()
        move = choose(view, chance)
        answer = table.players[view["you"]].make(move)
        assert answer.status_code == 200, answer.text
        view = answer.json["game"]
        if view["deal"]["turn"] != view["you"]:
            view = table.players[view["deal"]["turn"]].look()
    told = Counter(happened(table.stranger.log()))
    assert told["discarded!"] > told["drew!"] > 0
    assert told["discarded"] > told["drew"] - told["discarded!"] > 0
    assert_books_agree(table)


# ------------------------------------------------------------------------ with real workers


@pytest.fixture(scope="module")
def address(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with two workers on the store of these tests."""
    data = tmp_path_factory.mktemp("clock")
    with serving(data, "--workers", "2", RUMMY_REDIS_URL=redis_url) as service:
        yield service.url


def milliseconds() -> int:
    return time.time_ns() // 1_000_000


def wait_until(moment: int) -> None:
    while milliseconds() < moment:
        time.sleep(0.001)


def expired_soon(house: House, number: int) -> list[Table]:
    """So many tables of three, at which a card was drawn and the time is up in a second or so."""
    tables = [house.table("straight", 3, turn_seconds=SECONDS) for _ in range(number)]
    for table in tables:
        table.mover.draw("stock")
    due = milliseconds() + 1_500
    for table in tables:
        alter(table, due=due)
    return tables


@pytest.mark.clause("table.1")
def test_over_two_workers_the_turn_is_forced_once_though_twenty_look(house, address):
    tables = expired_soon(house, 3)
    due = tables[0].game().due
    barrier = Barrier(20)

    def look(number: int) -> list[int]:
        versions = []
        with requests.Session() as session:
            session.get(f"{address}/healthz", timeout=10)
            for table in tables:
                barrier.wait()
                wait_until(due)
                url = f"{address}/v1/games/{table.id}"
                versions.append(session.get(url, timeout=10).json()["version"])
        return versions

    with ThreadPoolExecutor(20) as threads:
        seen = list(threads.map(look, range(20)))
    for place, table in enumerate(tables):
        game = table.game()
        assert {versions[place] for versions in seen} == {game.version}
        assert happened(table.stranger.log())[-2:] == ["drew", "discarded!"]
        assert game.match.deal.turns == 1
        assert_no_card_is_lost(game)


@pytest.mark.clause("table.1")
def test_over_two_workers_the_deadline_against_a_move(house, address):
    """Some moves are sent a little too early, some a little too late."""
    tables = expired_soon(house, 12)
    games = [table.game() for table in tables]

    def discard(place: int) -> requests.Response:
        table, deal = tables[place], games[place].match.deal
        with requests.Session() as session:
            session.get(f"{address}/healthz", timeout=10)
            wait_until(games[place].due + 2 * place - 16)
            return session.post(
                f"{address}/v1/games/{table.id}/discard",
                json={"card": deal.hands[deal.turn][0]},
                headers={"Authorization": f"Bearer {table.players[deal.turn].token}"},
                timeout=10,
            )

    def look(place: int) -> requests.Response:
        with requests.Session() as session:
            session.get(f"{address}/healthz", timeout=10)
            wait_until(games[place].due)
            return session.get(f"{address}/v1/games/{tables[place].id}", timeout=10)

    with ThreadPoolExecutor(24) as threads:
        moves = [threads.submit(discard, place) for place in range(12)]
        looks = [threads.submit(look, place) for place in range(12)]
        for table, move, looked in zip(tables, moves, looks, strict=True):
            assert looked.result().status_code == 200
            status = move.result().status_code
            assert status in {200, 409}
            told = happened(table.stranger.log())
            assert told[-2:] == ["drew", "discarded" if status == 200 else "discarded!"]
            assert table.game().match.deal.turns == 1
            assert_no_card_is_lost(table.game())


@pytest.mark.clause("table.1")
def test_who_waits_for_news_is_given_the_forced_turn_with_nobody_else_looking(house, address):
    (table,) = expired_soon(house, 1)
    version = table.game().version
    answer = requests.get(
        f"{address}/v1/games/{table.id}?wait=50",
        headers={"If-None-Match": f'"{version}"'},
        timeout=60,
    )
    assert answer.json()["version"] == version + 1
    assert happened(table.stranger.log())[-2:] == ["drew", "discarded!"]

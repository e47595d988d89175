"""Waiting for an answer: long polls of the log and of the game, and moves that wait for the next.

Where something has to wake a waiter, silence lasts longer than the test's patience: only the bell,
or what happens by itself at the table, can end the wait.
"""

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from werkzeug.test import TestResponse

from examples.bot import choose
from service import store, watch
from service.embedded import EmbeddedStore
from service.rummy.model import CallWindow
from service.rummy.rules import PRESETS
from service.servers import Servers
from service.tables import Tables
from service.watch import Watch
from tests.fleets import listeners, ring
from tests.http.tables import House, Player, Table, code
from tests.patience import until
from tests.positions import CALLABLE, position, with_deal

PATIENCE = 20.0
SILENCE = 60.0
SOON_MS = 400

Submit = Callable[..., "Future[TestResponse]"]


@pytest.fixture(autouse=True)
def long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", SILENCE)


@pytest.fixture
def meanwhile() -> Iterator[Submit]:
    """Does something in another thread: `meanwhile(look, player, "wait=20")`."""
    with ThreadPoolExecutor(40) as threads:
        yield threads.submit


def look(player: Player, query: str = "", version: int | None = None) -> TestResponse:
    """The game as the player sees it, if it is not at that version any more."""
    known = {} if version is None else {"if_none_match": f'"{version}"'}
    path = player._path("") + (f"?{query}" if query else "")
    return player.client.get(path, headers=player._headers(known))


def news(player: Player, after: int, query: str = "wait=60") -> TestResponse:
    return player.get(f"events?after={after}&{query}")


def wait_until_somebody_waits(table: Table) -> None:
    """Until the game's bell is listened to."""
    channel = f"rummy:{{{table.id}}}:bell"
    until(lambda: listeners(table.house.redis, channel) > 0)


def types(events: Sequence[dict]) -> list[str]:
    return [entry["event"]["type"] for entry in events]


def soon() -> int:
    return time.time_ns() // 1_000_000 + SOON_MS


def due_soon(table: Table, **seats: str) -> None:
    """Let the table go on by itself in a moment; `seat1="steady"`: played by the computer."""
    game = table.game()
    places = {int(name.removeprefix("seat")): level for name, level in seats.items()}
    taken = tuple(
        replace(seat, computer=places[number], token_hash=None) if number in places else seat
        for number, seat in enumerate(game.seats)
    )
    game = replace(game, version=game.version + 1, due=soon(), seats=taken)
    table.house.store.commit(game, ())


# ------------------------------------------------------------------------------------ the log


def join(table: Table) -> TestResponse:
    return table.stranger.post("join", {"name": "cleo"})


HAPPENINGS: dict[str, tuple[Callable[[Table], TestResponse], list[str]]] = {
    "somebody joins": (join, ["joined"]),
    "somebody leaves": (lambda table: table.players[1].post("leave"), ["left"]),
    "one is removed": (lambda table: table.players[0].post("remove", {"seat": 1}), ["removed"]),
    "a computer comes": (
        lambda table: table.players[0].post("computers", {"levels": ["random"]}),
        ["joined"],
    ),
    "the match begins": (
        lambda table: table.players[0].post("start"),
        ["started", "dealer_drawn", "dealt"],
    ),
    "the table is closed": (lambda table: table.players[0].post("close"), ["closed"]),
}


@pytest.mark.parametrize(("happens", "told"), HAPPENINGS.values(), ids=HAPPENINGS)
def test_who_waits_at_a_table_is_told_as_soon_as_something_happens(house, meanwhile, happens, told):
    table = house.waiting("straight", 4, taken=2, more={"autostart": False})
    after = table.game().events
    waiters = [table.twin(table.players[0]), Player(house.client(), table.id)]
    answers = [meanwhile(news, waiter, after) for waiter in waiters]
    looks = [meanwhile(look, waiter, "wait=60", table.game().version) for waiter in waiters]
    wait_until_somebody_waits(table)
    done = happens(table)
    assert done.status_code < 300, done.text
    for answer in answers:
        page = answer.result(PATIENCE).json
        assert types(page["events"]) == told
        assert [entry["id"] for entry in page["events"]] == list(
            range(after + 1, after + 1 + len(told))
        )
        assert page["last"] == after + len(told)
    for waiter, answer in zip(waiters, looks, strict=True):
        assert answer.result(PATIENCE).json == waiter.look()


def test_who_waits_for_the_log_is_told_of_moves_and_sees_the_own_stock_cards_only(house, meanwhile):
    table = house.table("straight", 3)
    after = table.game().events
    mover = table.mover
    waiting = {
        watcher.seat: meanwhile(news, table.twin(watcher), after) for watcher in table.watchers
    }
    wait_until_somebody_waits(table)
    drawn = mover.draw("stock").json["events"][0]["event"]["card"]
    for seat, answer in waiting.items():
        (entry,) = answer.result(PATIENCE).json["events"]
        assert entry["event"]["type"] == "drew"
        assert entry["event"]["card"] == (drawn if seat == mover.seat else None)


def test_when_the_time_is_up_there_is_nothing(house, meanwhile):
    """And who knows more than has happened is put right."""
    table = house.table("straight")
    last = table.game().events
    began = time.monotonic()
    pages = [
        meanwhile(news, table.twin(table.players[0]), after, "wait=1") for after in (last, 1000)
    ]
    for page in pages:
        nothing = {"events": [], "last": last, "more": False, "status": "playing"}
        assert page.result(PATIENCE).json == nothing
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize("query", ["wait=60", "wait=0", "limit=500"])
def test_what_has_happened_already_is_told_at_once(house, meanwhile, query):
    table = house.table("straight")
    page = meanwhile(news, table.players[0], 0, query).result(PATIENCE).json
    assert page["events"] == table.players[0].log()


def test_a_page_that_was_waited_for_has_no_more_than_its_limit(house, meanwhile):
    table = house.position(hands="5C 5D 5H KH | 2S 3S")
    after = table.game().events
    waiting = meanwhile(news, table.stranger, after, "wait=60&limit=1")
    wait_until_somebody_waits(table)
    table.players[0].post(
        "turn", {"plays": [{"move": "meld", "cards": ["5C", "5D", "5H"]}], "discard": "KH"}
    )
    page = waiting.result(PATIENCE).json
    assert (types(page["events"]), page["more"], page["last"]) == (["melded"], True, after + 1)


# ----------------------------------------------------------------------------------- the game


def test_who_has_the_game_waits_for_another_version(house, meanwhile):
    table = house.table("straight")
    answers = {
        watcher: meanwhile(look, table.twin(watcher), "wait=60", table.game().version)
        for watcher in table.watchers
    }
    wait_until_somebody_waits(table)
    version = table.mover.draw("stock").json["version"]
    for watcher, answer in answers.items():
        answer = answer.result(PATIENCE)
        assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{version}"')
        assert answer.json == watcher.look()


WAYS_TO_NAME_IT = ['"{}"', 'W/"{}"', '"1", "{}", "99"', "*"]


def test_when_the_time_is_up_the_game_is_unchanged(house, meanwhile):
    table = house.table("straight")
    version = table.game().version
    began = time.monotonic()
    answers = []
    for written in WAYS_TO_NAME_IT:
        player = table.twin(table.players[0])
        headers = player._headers({"if_none_match": written.format(version)})
        path = player._path("") + "?wait=1"
        answers.append(meanwhile(player.client.get, path, headers=headers))
    for answer in answers:
        answer = answer.result(PATIENCE)
        assert time.monotonic() - began >= 1
        assert (answer.status_code, answer.text) == (304, "")
        assert answer.headers["ETag"] == f'"{version}"'


NOT_KNOWN = {"no header": None, "another version": '"1"', "no version": "W/x", "nothing": ""}


@pytest.mark.parametrize("header", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_who_does_not_have_the_game_is_answered_at_once(house, meanwhile, header):
    table = house.table("straight")
    player = table.players[0]
    headers = player._headers({} if header is None else {"if_none_match": header})
    path = player._path("") + "?wait=60"
    answer = meanwhile(player.client.get, path, headers=headers).result(PATIENCE)
    assert (answer.status_code, answer.json) == (200, player.look())


TIMED = {
    "variant": "call-rummy",
    "phase": "draw",
    "turn": 1,
    "hands": "KD QD | 2S 3S | TS 9S",
    "pile": "2C 8C",
    "melds": "0: 8D 8H 8S",
    "call": "timed",
    "call_seconds": 5,
}
"""Seat 0 has discarded 8C, which fits a meld; seat 1 may draw when the call has closed."""


def test_the_end_of_a_timed_call_wakes_all_who_wait_and_the_next_player_may_draw(house, meanwhile):
    table = house.position(**TIMED, window=CallWindow(0, soon()))
    version = table.game().version
    assert code(table.players[1].draw("stock")) == "call_pending"
    waiting = [
        meanwhile(look, table.twin(watcher), "wait=60", version) for watcher in table.watchers
    ]
    for watcher, answer in zip(table.watchers, waiting, strict=True):
        answer = answer.result(PATIENCE)
        assert (answer.status_code, answer.json["version"]) == (200, version)
        assert answer.json["deal"]["call"] is None
        assert bool(answer.json["moves"]) == (watcher.seat == 1)
    assert table.players[1].draw("stock").status_code == 200


def test_who_waits_for_the_shortest_timed_call_to_close_may_draw_then(house, meanwhile):
    table = house.position(
        **TIMED
        | {"phase": "play", "turn": 0, "pile": "2C", "call_seconds": 1}
        | {"hands": "KD QD 8C | 2S 3S | TS 9S"}
    )
    discarded = table.players[0].play("discard 8C")
    assert discarded.status_code == 200
    version = discarded.json["version"]
    answer = meanwhile(look, table.players[1], "wait=60", version).result(PATIENCE)
    assert (answer.status_code, answer.json["version"]) == (200, version)
    assert {move["move"] for move in answer.json["moves"]} == {"draw"}


def test_who_looked_while_the_call_was_open_and_waits_after_it_is_answered_at_once(
    house, meanwhile
):
    table = house.position(**TIMED, window=CallWindow(0, soon()))
    seen = look(table.players[1])
    assert seen.json["deal"]["call"]
    assert not [move for move in seen.json["moves"] if move["move"] == "draw"]
    until(lambda: look(table.stranger).json["deal"]["call"] is None)
    answer = meanwhile(look, table.players[1], "wait=60", seen.json["version"]).result(PATIENCE)
    assert answer.status_code == 200
    assert {move["move"] for move in answer.json["moves"]} == {"draw"}


def test_a_call_that_does_not_hold_up_the_draw_is_not_waited_for(house):
    """The window of a discard that fits nothing closes, and nothing changes for anybody."""
    table = house.position(**TIMED | {"pile": "2C 7C"}, window=CallWindow(0, soon()))
    assert look(table.players[0], "wait=1", table.game().version).status_code == 304


# ---------------------------------------------------------------------------------- the moves


THREE = {"hands": "KD QD 4C | 8C 3S JC | TS 9S 2H", "pile": "2C", "phase": "play"}
ENDINGS: dict[str, dict] = {
    "discard": {"card": "KD"},
    "turn": {"plays": [], "discard": "KD"},
}


@pytest.mark.parametrize(("move", "body"), ENDINGS.items(), ids=ENDINGS)
def test_a_move_that_waits_is_answered_when_the_caller_can_act_again(house, meanwhile, move, body):
    table = house.position(**THREE)
    ada, bo, cleo = table.players
    before = table.game()
    waiting = meanwhile(table.twin(ada).post, f"{move}?wait=60", body)
    wait_until_somebody_waits(table)
    bo.play("draw")
    bo.play("discard 3S")
    cleo.play("draw")
    assert not waiting.done()
    cleo.play("discard 9S")
    answer = waiting.result(PATIENCE)
    told = answer.json
    assert told["game"] == ada.look()
    assert told["game"]["moves"]
    assert told["version"] == before.version + 1
    assert told["game"]["version"] == before.version + 5
    assert answer.headers["ETag"] == f'"{before.version + 5}"'
    assert told["events"] == ada.log(before.events)
    assert types(told["events"]) == ["discarded", "drew", "discarded", "drew", "discarded"]
    assert told["events"][1]["event"]["card"] is None
    assert told["events"][0]["version"] == told["version"]
    assert ada.draw("stock", if_match=answer.headers["ETag"]).status_code == 200


@pytest.mark.parametrize(("move", "body"), ENDINGS.items(), ids=ENDINGS)
def test_a_move_that_waits_is_answered_when_the_match_ends(house, meanwhile, move, body):
    table = house.position(hands="KD QD 4C | 5C 5D", pile="2C 5H", turns=1)
    ada, bo = table.players
    waiting = meanwhile(table.twin(ada).post, f"{move}?wait=60", body)
    wait_until_somebody_waits(table)
    house.store.commit(_with_upcard(table, "5H"), ())
    bo.play("take 5H")
    bo.play("meld 5C 5D 5H")
    told = waiting.result(PATIENCE).json
    assert told["game"]["status"] == "finished"
    assert types(told["events"])[-2:] == ["deal_ended", "match_ended"]
    assert told["events"] == ada.log(told["events"][0]["id"] - 1)


def _with_upcard(table: Table, card: str):
    """The record with that card of the discard pile on top."""
    game = table.game()
    deal = game.match.deal
    pile = (*(other for other in deal.pile if other != card), card)
    match = replace(game.match, deal=replace(deal, pile=pile))
    return replace(game, version=game.version + 1, match=match)


def test_who_ends_the_match_does_not_wait(house, meanwhile):
    table = house.position(hands="5C 5D 5H KD | 2S 3S")
    body = {"plays": [{"move": "meld", "cards": ["5C", "5D", "5H"]}], "discard": "KD"}
    told = meanwhile(table.players[0].post, "turn?wait=60", body).result(PATIENCE).json
    assert told["game"]["status"] == "finished"
    assert types(told["events"]) == ["melded", "discarded", "deal_ended", "match_ended"]


def test_who_begins_the_next_deal_does_not_wait(house, meanwhile):
    match = position(hands="5C 5D 5H KD | 2S 3S", deals=2)
    table = house.at(with_deal(match, dealer=0))  # so seat 1 deals next, and seat 0 begins
    body = {"plays": [{"move": "meld", "cards": ["5C", "5D", "5H"]}], "discard": "KD"}
    told = meanwhile(table.players[0].post, "turn?wait=60", body).result(PATIENCE).json
    assert types(told["events"]) == ["melded", "discarded", "deal_ended", "dealt"]
    assert told["events"][-1]["event"]["hand"] == told["game"]["hand"]
    assert {move["move"] for move in told["game"]["moves"]} == {"draw"}


def test_when_the_time_is_up_a_move_is_answered_with_what_has_happened_until_then(house, meanwhile):
    table = house.position(**THREE)
    ada, bo, _ = table.players
    before = table.game()
    waiting = meanwhile(table.twin(ada).post, "discard?wait=2", {"card": "KD"})
    wait_until_somebody_waits(table)
    bo.play("draw")
    answer = waiting.result(PATIENCE)
    told = answer.json
    assert types(told["events"]) == ["discarded", "drew"]
    assert told["version"] == before.version + 1
    assert answer.headers["ETag"] == f'"{before.version + 2}"'
    assert told["game"] == ada.look()
    assert told["game"]["moves"] == []


def test_who_waits_is_answered_when_there_is_something_to_call(house, meanwhile):
    table = house.position("call-rummy", **THREE, melds="0: 8D 8H 8S")
    ada, bo, cleo = table.players
    waiting = meanwhile(table.twin(ada).post, "discard?wait=60", {"card": "KD"})
    wait_until_somebody_waits(table)
    bo.play("draw")
    bo.play("discard 8C")
    told = waiting.result(PATIENCE).json
    assert told["game"]["deal"]["turn"] == cleo.seat
    assert {move["move"] for move in told["game"]["moves"]} == {"rummy"}
    assert types(told["events"]) == ["discarded", "drew", "discarded"]
    assert ada.play("rummy 1").status_code == 200


@pytest.mark.parametrize("seen", ["before", "after"])
def test_a_repeat_of_a_move_waits_too_and_is_told_the_same(house, meanwhile, seen):
    table = house.position(**THREE)
    ada, bo, cleo = table.players
    key = {"idempotency_key": f"a lost answer {seen}"}
    first = ada.post("discard", {"card": "KD"}, **key)
    if seen == "after":
        bo.play("draw")
    again = meanwhile(table.twin(ada).post, "discard?wait=60", {"card": "KD"}, **key)
    wait_until_somebody_waits(table)
    for player, card in ((bo, "3S"), (cleo, "9S")):
        if player is not bo or seen == "before":
            player.play("draw")
        player.play(f"discard {card}")
    answer = again.result(PATIENCE)
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert answer.json["version"] == first.json["version"]
    assert types(answer.json["events"]) == ["discarded", "drew", "discarded", "drew", "discarded"]
    assert answer.json["game"] == ada.look()


def test_a_refused_move_is_not_waited_for(house, meanwhile):
    table = house.position(**THREE)
    refused = meanwhile(table.players[1].post, "discard?wait=60", {"card": "3S"})
    assert code(refused.result(PATIENCE)) == "not_your_turn"


def test_who_leaves_by_another_window_waits_until_the_match_is_over(house, meanwhile):
    table = house.position(**THREE)
    ada, bo, cleo = table.players
    waiting = meanwhile(table.twin(ada).post, "discard?wait=60", {"card": "KD"})
    wait_until_somebody_waits(table)
    for player in (ada, cleo, bo):
        assert player.post("leave").status_code == 200
    told = waiting.result(PATIENCE).json
    assert told["game"]["result"]["reason"] == "abandoned"
    assert types(told["events"])[-1] == "match_ended"


# --------------------------------------------------------------------------- what is refused


WAITING = {
    "getEvents": ("GET", "events"),
    "getGame": ("GET", ""),
    "discard": ("POST", "discard"),
    "playTurn": ("POST", "turn"),
}
BAD_WAITS = ["-1", "61", "1.5", "abc", "", "%20", "+1", "1e1", "٣", "1,2", "0x1", "9" * 30]


def ask(player: Player, method: str, part: str, query: str) -> TestResponse:
    path = player._path(part) + f"?{query}"
    body = {"json": {"card": "KD"} if part == "discard" else {"discard": "KD"}}
    sent = body if method == "POST" else {}
    return player.client.request(method, path, headers=player._headers({}), **sent)


@pytest.mark.parametrize(("method", "part"), WAITING.values(), ids=WAITING)
def test_how_long_to_wait_is_a_whole_number_of_seconds_up_to_sixty(house, method, part):
    table = house.position(**THREE)
    before = table.stored()
    for text in BAD_WAITS:
        answer = ask(table.players[0], method, part, f"wait={text}")
        assert (answer.status_code, code(answer)) == (422, "invalid_request"), text
        assert [problem["field"] for problem in answer.json["fields"]] == ["wait"], text
    answer = ask(table.players[0], method, part, "wait=1&wait=2")
    assert answer.json["fields"] == [{"field": "wait", "reason": "Is there twice."}]
    assert table.stored() == before


@pytest.mark.parametrize("part", ["discard", "turn"])
@pytest.mark.parametrize("query", ["wait=5&check=true", "check&wait=60"])
def test_a_move_is_either_checked_or_waited_with(house, part, query):
    table = house.position(**THREE)
    before = table.stored()
    answer = ask(table.players[0], "POST", part, query)
    assert (answer.status_code, answer.json["fields"][0]["field"]) == (422, "wait")
    assert table.stored() == before
    assert ask(table.players[0], "POST", part, "check=true&wait=0").json["type"] == "checked"
    assert table.stored() == before


NOTHING_TO_WAIT_FOR = {
    "draw": {"from": "stock"},
    "meld": {"cards": ["KD", "KC", "KS"]},
    "layoff": {"meld": 1, "cards": ["KD"]},
    "swap": {"meld": 1, "card": "KD"},
    "rummy": {"meld": 1},
    "leave": {},
    "moves": None,
    "score": None,
}


@pytest.mark.parametrize(("part", "body"), NOTHING_TO_WAIT_FOR.items(), ids=NOTHING_TO_WAIT_FOR)
def test_where_there_is_nothing_to_wait_for_the_wish_is_refused(house, part, body):
    table = house.position(**THREE)
    player = table.players[0]
    answer = player.get(f"{part}?wait=5") if body is None else player.post(f"{part}?wait=5", body)
    assert (answer.status_code, code(answer)) == (422, "invalid_request")
    assert [problem["field"] for problem in answer.json["fields"]] == ["wait"]


# ------------------------------------------------------------------------- who may be told what


REFUSED_AT_ONCE = {
    "no token at all": ("Basic x", "bad_token"),
    "not a token": ("Bearer x", "bad_token"),
    "the token of another table": (None, "not_your_seat"),
}


@pytest.mark.parametrize(("header", "refusal"), REFUSED_AT_ONCE.values(), ids=list(REFUSED_AT_ONCE))
@pytest.mark.parametrize("part", ["", "events"])
def test_who_may_not_look_is_not_kept_waiting(house, meanwhile, header, refusal, part):
    table, other = house.table("straight"), house.table("straight")
    given = header or f"Bearer {other.players[0].token}"
    headers = {"authorization": given, "if_none_match": f'"{table.game().version}"'}
    sent = table.stranger._headers(headers)
    path = table.stranger._path(part) + "?wait=60" + "&after=4" * bool(part)
    answer = meanwhile(table.stranger.client.get, path, headers=sent).result(PATIENCE)
    assert code(answer) == refusal


def test_a_game_that_is_not_there_is_not_waited_for(house, meanwhile):
    nobody = Player(house.client(), "a" * 16)
    assert code(meanwhile(news, nobody, 0).result(PATIENCE)) == "no_such_game"
    assert code(meanwhile(look, nobody, "wait=60", 1).result(PATIENCE)) == "no_such_game"


def test_who_is_removed_while_waiting_is_told_nothing_more(house, meanwhile):
    table = house.waiting("straight", 3, taken=3, more={"autostart": False})
    removed = table.players[1]
    game = table.game()
    waiting = [
        meanwhile(news, table.twin(removed), game.events),
        meanwhile(look, table.twin(removed), "wait=60", game.version),
    ]
    wait_until_somebody_waits(table)
    table.players[0].post("remove", {"seat": 1})
    assert [code(answer.result(PATIENCE)) for answer in waiting] == ["not_your_seat"] * 2


def test_who_watches_a_table_without_spectators_is_sent_away_when_the_match_begins(
    house, meanwhile
):
    table = house.waiting("straight", 2, more={"spectators": False})
    game = table.game()
    waiting = [
        meanwhile(news, table.stranger, game.events),
        meanwhile(look, Player(house.client(), table.id), "wait=60", game.version),
    ]
    wait_until_somebody_waits(table)
    newcomer = Player(house.client(), table.id)
    assert newcomer.post("join", {"name": "bo"}).status_code == 201
    assert [code(answer.result(PATIENCE)) for answer in waiting] == ["no_spectators"] * 2


@pytest.mark.parametrize("waits_for", ["log", "game"])
def test_who_moves_up_while_waiting_is_dealt_the_own_hand(house, meanwhile, waits_for):
    """All in one wait: the seats move up, and the match begins."""
    table = house.waiting("straight", 5, taken=5, more={"autostart": False})
    game = table.game()
    later = game.version + 2  # so many changes are known: all of the leaving, but not the start
    ways = {
        "log": lambda player: news(player, game.events + 2),
        "game": lambda player: player.client.get(
            player._path("") + "?wait=60",
            headers=player._headers(
                {"if_none_match": ", ".join(f'"{n}"' for n in range(game.version, later + 1))}
            ),
        ),
    }
    stay = [table.players[number] for number in (0, 2, 4)]
    waiting = [meanwhile(ways[waits_for], table.twin(player)) for player in stay]
    wait_until_somebody_waits(table)
    table.players[1].post("leave")
    table.players[0].post("remove", {"seat": 2})
    assert not any(answer.done() for answer in waiting)
    table.players[0].post("start")
    hands = []
    for seat, (player, answer) in enumerate(zip(stay, waiting, strict=True)):
        answer = answer.result(PATIENCE)
        own = player.look()
        assert own["you"] == seat
        if waits_for == "game":
            assert answer.json == own
        else:
            (dealt,) = [entry["event"] for entry in answer.json["events"]][-1:]
            assert dealt["hand"] == own["hand"]
        hands.append(tuple(own["hand"]))
    assert len(set(hands)) == 3


def test_a_game_that_expires_while_it_is_waited_for_is_gone(house, meanwhile):
    table = house.waiting("straight", 3)
    waiting = meanwhile(news, table.stranger, table.game().events)
    wait_until_somebody_waits(table)
    house.redis.delete(f"rummy:{{{table.id}}}:game", f"rummy:{{{table.id}}}:events")
    ring(house.redis, f"rummy:{{{table.id}}}:bell", "gone")
    assert code(waiting.result(PATIENCE)) == "no_such_game"


# ---------------------------------------------------------------------- what happens by itself


def by_log(player: Player, table: Table) -> TestResponse:
    return news(player, table.game().events)


def by_game(player: Player, table: Table) -> TestResponse:
    return look(player, "wait=60", table.game().version)


@pytest.mark.parametrize("wait", [by_log, by_game])
@pytest.mark.parametrize("who", ["the player", "another", "a spectator"])
def test_a_waiter_alone_makes_the_turn_happen_whose_time_is_up(house, meanwhile, wait, who):
    table = house.position(**THREE, turn_seconds=5)
    due_soon(table)
    players = {"the player": 0, "another": 1, "a spectator": 3}
    watcher = table.watchers[players[who]]
    answer = meanwhile(wait, watcher, table).result(PATIENCE)
    assert answer.status_code == 200
    (entry,) = table.stranger.log(4)
    assert (entry["event"]["type"], entry["forced"]) == ("discarded", True)
    game = table.game()
    assert game.match.deal.turn == 1
    assert game.due - game.changed_at == 5_000


def test_who_has_moved_and_waits_makes_the_next_turns_happen(house, meanwhile):
    """Nobody but the one who waits is there: the turns of the others pass by force."""
    table = house.position(**THREE, turn_seconds=5)
    ada = table.players[0]
    waiting = meanwhile(table.twin(ada).post, "discard?wait=60", {"card": "KD"})
    for _ in range(2):
        wait_until_somebody_waits(table)
        until(lambda: table.game().due is not None)
        due_soon(table)
        turn = table.game().match.deal.turn
        until(lambda turn=turn: table.game().match.deal.turn != turn)
    told = waiting.result(PATIENCE).json
    assert [entry["forced"] for entry in told["events"]] == [False, *[True] * 4]
    assert types(told["events"]) == ["discarded", "drew", "discarded", "drew", "discarded"]
    assert told["game"]["moves"]


@pytest.mark.parametrize("wait", [by_log, by_game])
def test_a_waiter_alone_makes_the_computer_play_that_left_time_for_a_call(house, meanwhile, wait):
    table = house.position(**CALLABLE, window=CallWindow(0, None))
    due_soon(table, seat1="steady")
    before = table.game()
    answer = meanwhile(wait, table.stranger, table).result(PATIENCE)
    assert answer.status_code == 200
    played = table.stranger.log(before.events)
    assert types(played)[0] == "drew"
    assert {entry["event"]["seat"] for entry in played} == {1}
    assert {entry["version"] for entry in played} == {before.version + 1}
    assert not any(entry["forced"] for entry in played)


def test_many_waiters_make_a_turn_happen_once(house, meanwhile):
    table = house.position(**THREE, turn_seconds=5)
    due_soon(table)
    before = table.game()
    waiters = [table.twin(table.watchers[number % 4]) for number in range(32)]
    pages = [meanwhile(news, waiter, before.events) for waiter in waiters]
    assert {tuple(types(page.result(PATIENCE).json["events"])) for page in pages} == {
        ("discarded",)
    }
    after = table.game()
    assert (after.version, after.events) == (before.version + 1, before.events + 1)


# ------------------------------------------------------------------- when something is wrong


def test_a_worker_that_stops_answers_all_who_wait(redis_url, meanwhile):
    house = House(redis_url)
    stopping: list[bool] = []
    house.app.extensions["tables"] = Tables(
        house.store, Watch(Servers(redis_url, 2), lambda: bool(stopping))
    )
    table = house.position(**THREE)
    game = table.game()
    waiting = [
        meanwhile(news, table.stranger, game.events + 1),
        meanwhile(look, table.players[1], "wait=60", game.version + 1),
        meanwhile(table.twin(table.players[0]).post, "discard?wait=60", {"card": "KD"}),
    ]
    until(lambda: table.game().version > game.version)
    wait_until_somebody_waits(table)
    stopping.append(True)
    page, view, moved = (answer.result(PATIENCE) for answer in waiting)
    assert page.json["events"] == []
    assert view.status_code in (200, 304)
    assert types(moved.json["events"]) == ["discarded"]
    assert moved.json["game"]["moves"] == []


def test_who_waits_is_told_of_a_change_for_which_no_bell_has_rung(house, meanwhile, monkeypatch):
    monkeypatch.setattr(watch, "MOST_SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(store, "bell_of", lambda _: "nobody listens there")
    table = house.position(**THREE)
    game = table.game()
    waiting = [
        meanwhile(news, table.stranger, game.events),
        meanwhile(look, table.players[1], "wait=60", game.version),
    ]
    wait_until_somebody_waits(table)
    time.sleep(1)  # until what was asked before the wait has been answered
    assert not any(answer.done() for answer in waiting)
    moved = meanwhile(table.twin(table.players[0]).post, "discard?wait=60", {"card": "KD"})
    page, view = (answer.result(PATIENCE) for answer in waiting)
    assert types(page.json["events"]) == ["discarded"]
    assert view.json["version"] == game.version + 1
    for text in ("draw", "discard 3S"):
        table.players[1].play(text)
    for text in ("draw", "discard 9S"):
        table.players[2].play(text)
    assert len(moved.result(PATIENCE).json["events"]) == 5


@pytest.mark.parametrize("wait", [by_log, by_game])
def test_a_turn_that_could_not_be_stored_happens_when_the_store_takes_it(fragile, meanwhile, wait):
    table = fragile.position(**THREE, turn_seconds=5)
    due_soon(table)
    waiting = meanwhile(wait, table.stranger, table)
    wait_until_somebody_waits(table)
    fragile.redis.config_set("min-replicas-to-write", 1)
    time.sleep(2 * SOON_MS / 1000)
    assert not waiting.done()
    fragile.redis.config_set("min-replicas-to-write", 0)
    assert waiting.result(PATIENCE).status_code == 200
    assert table.game().match.deal.turn == 1


def test_a_restarted_store_does_not_end_a_wait(meanwhile):
    with tempfile.TemporaryDirectory() as directory, EmbeddedStore(Path(directory)) as valkey:
        house = House(valkey.url)
        table = house.table("straight")
        waiting = meanwhile(news, table.stranger, table.game().events)
        wait_until_somebody_waits(table)
        time.sleep(1)  # until what was asked before the wait has been answered
        os.kill(valkey.pid, signal.SIGKILL)
        until(valkey.revive)
        until(lambda: house.client().get("/readyz").status_code == 200)
        wait_until_somebody_waits(table)
        assert not waiting.done()
        assert table.mover.draw("stock").status_code == 200
        assert types(waiting.result(PATIENCE).json["events"]) == ["drew"]


# ------------------------------------------------------------------------ two requests a turn


class Bot:
    """Plays a seat with two requests a turn, and counts its requests by kind."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.sent: Counter[str] = Counter()
        self.told: list[dict] = []

    def play(self) -> dict:
        """Play to the end of the match and return the last view."""
        deadline = time.monotonic() + 3 * PATIENCE
        answer = self.ask("look", look, self.player)
        while (game := answer.json.get("game", answer.json))["status"] != "finished":
            assert time.monotonic() < deadline
            if not game["moves"]:
                answer = self.ask("wait", look, self.player, "wait=60", game["version"])
                continue
            path, body = chosen(game)
            path += "?wait=60" * (path == "turn")
            pinned = {"if_match": answer.headers["ETag"]}
            answer = self.ask(path, self.player.post, path, body, **pinned)
            self.told += answer.json["events"]
        return game

    def ask(self, kind: str, send: Callable[..., TestResponse], *arguments, **headers):
        self.sent[kind.partition("?")[0]] += 1
        answer = send(*arguments, **headers)
        assert answer.status_code == 200, answer.text
        return answer


def chosen(game: dict) -> tuple[str, dict]:
    """The end of the address and the body: a draw, a call, or all the rest of a turn."""
    move = choose(game)
    if move["move"] in ("draw", "rummy"):
        return move["move"], move
    plays = [move] if move["move"] in ("meld", "layoff") else []
    left = [card for card in game["hand"] if not plays or card not in move["cards"]]
    drops = [{"move": "discard", "card": card} for card in left if card != game["may_not_discard"]]
    drop = choose({"moves": drops, "hand": left})["card"] if drops else None
    return "turn", {"plays": plays, "discard": drop}


@pytest.mark.parametrize("variant", PRESETS)
def test_a_bot_needs_two_requests_a_turn(house, meanwhile, variant):
    table = house.table(variant, 2, seed="tea", deals=2, hand_size=6)
    bots = [Bot(player) for player in table.players]
    views = [play.result(4 * PATIENCE) for play in [meanwhile(bot.play) for bot in bots]]
    log = table.stranger.log()
    assert views[0]["result"] == views[1]["result"]
    for seat, (bot, view) in enumerate(zip(bots, views, strict=True)):
        made = Counter(
            entry["event"]["type"] for entry in log if entry["event"].get("seat") == seat
        )
        assert made["drew"] > 5
        assert bot.sent["draw"] == bot.sent["turn"] == made["drew"]
        assert bot.sent["rummy"] == made["called"]
        # Before its first move it looks, and then at the other's draw and at what follows that.
        begun = bot.sent["look"] + bot.sent["wait"]
        assert begun <= 3
        assert bot.sent.total() == begun + 2 * made["drew"] + made["called"]
        assert view == bot.player.look()
        # The answers together are the log from the bot's first move on, without gap or repeat.
        first = bot.told[0]["id"]
        assert bot.told == bot.player.log(first - 1)

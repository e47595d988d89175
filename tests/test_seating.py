"""Who sits where, as pure functions: seats close up, the host's part passes on, order is kept.

A table is written as its seats in order: "ada bo *steady cleo", a star before computer players.
"""

from itertools import permutations

import pytest
from msgspec.structs import replace

from service.errors import (
    AlreadyStarted,
    MatchOver,
    NoSuchSeat,
    NotStarted,
    OwnSeat,
    RummyError,
    TableClosed,
    TableFull,
)
from service.game import Game, Seat
from service.rummy.computer import LEVELS
from service.rummy.engine import abandon
from service.seating import begun, closed, computer_seat, left, removed, returned, seated

NOW = 1_000_000


def table(written: str, size: int = 6, *, autostart: bool = False) -> Game:
    return Game(
        id="a" * 16,
        version=1,
        created_at=0,
        changed_at=0,
        variant="seven-card",
        chosen={"deals": 1},
        seats=tuple(seat(word) for word in written.split()),
        size=size,
        public=True,
        autostart=autostart,
    )


def seat(word: str, place: int | None = None) -> Seat:
    if word.startswith("*"):
        return Seat(word, None, computer=word[1:].rstrip("2345"), place=place)
    return Seat(word, f"hash of {word}", place=place)


def written(game: Game) -> str:
    return " ".join(seat.name for seat in game.seats)


def host(game: Game) -> str:
    return game.seats[game.host].name


LEAVING = {
    # the seats, who leaves, the seats afterwards, the host then
    "the last": ("ada bo cleo", 2, "ada bo", "ada"),
    "one in the middle": ("ada bo cleo dan", 1, "ada cleo dan", "ada"),
    "the host": ("ada bo cleo", 0, "bo cleo", "bo"),
    "the host, before a computer": ("ada *steady bo", 0, "*steady bo", "bo"),
    "the host, behind a computer": ("*steady ada bo", 1, "*steady bo", "bo"),
    "one of two hosts to be": ("ada *sharp bo *random cleo", 2, "ada *sharp *random cleo", "ada"),
}


@pytest.mark.clause("table.3")
@pytest.mark.parametrize(("before", "who", "after", "then_host"), LEAVING.values(), ids=LEAVING)
def test_who_leaves_before_the_start_is_followed_by_those_behind(before, who, after, then_host):
    game, events = left(table(before), who)
    assert (written(game), host(game), game.status) == (after, then_host, "waiting")
    (event,) = events
    assert (event.seat, event.name) == (who, before.split()[who])
    # Names and tokens go together still.
    assert all(seat == table(seat.name).seats[0] for seat in game.seats)


@pytest.mark.clause("table.3")
@pytest.mark.parametrize(
    ("before", "who"),
    [("ada", 0), ("ada *steady", 0), ("*steady *sharp ada", 2)],
    ids=["alone", "before a computer", "behind computers"],
)
def test_the_last_person_closes_the_table(before, who):
    game, events = left(table(before), who)
    assert game.status == "closed"
    assert [type(event).__name__ for event in events] == ["Left", "Closed"]
    with pytest.raises(TableClosed):
        seated(game, seat("eva"), NOW)


@pytest.mark.clause("table.3")
def test_a_rematch_waits_for_its_players_though_the_first_of_them_leaves():
    game = replace(table("ada *steady"), rematch_of="b" * 16)
    game, _ = left(game, 0)
    assert game.status == "waiting"
    game, _ = seated(game, seat("bo", place=0), NOW)
    assert (host(game), game.status) == ("bo", "waiting")


REMOVING = {
    "a person": ("ada bo cleo", 0, 1, "ada cleo"),
    "a computer": ("ada *steady cleo", 0, 1, "ada cleo"),
    "by a host who does not sit first": ("*steady ada bo", 1, 0, "ada bo"),
}


@pytest.mark.clause("table.3")
@pytest.mark.parametrize(("before", "by", "who", "after"), REMOVING.values(), ids=REMOVING)
def test_the_host_removes(before, by, who, after):
    game, events = removed(table(before), by, who)
    assert written(game) == after
    assert [(event.seat, event.name) for event in events] == [(who, before.split()[who])]


def playing() -> Game:
    game, _ = begun(table("ada bo cleo"), NOW)
    return game


def over() -> Game:
    game = playing()
    match, _ = abandon(game.match)
    return replace(game, match=match)


def shut() -> Game:
    game, _ = closed(table("ada bo"))
    return game


REFUSALS = {
    "removing somebody who is not there": (table("ada bo"), removed, (0, 2), NoSuchSeat),
    "removing oneself": (table("ada bo"), removed, (0, 0), OwnSeat),
    "removing during play": (playing(), removed, (0, 1), AlreadyStarted),
    "removing at a closed table": (shut(), removed, (0, 1), TableClosed),
    "closing during play": (playing(), closed, (), AlreadyStarted),
    "closing after the match": (over(), closed, (), AlreadyStarted),
    "leaving a closed table": (shut(), left, (0,), TableClosed),
    "leaving after the match": (over(), left, (0,), MatchOver),
    "returning before the start": (table("ada bo"), returned, (0,), NotStarted),
    "returning to a closed table": (shut(), returned, (0,), TableClosed),
    "returning after the match": (over(), returned, (0,), MatchOver),
    "sitting down during play": (playing(), seated, (seat("eva"), NOW), AlreadyStarted),
    "sitting down at a full table": (
        table("ada bo", 2),
        seated,
        (seat("eva"), NOW),
        TableFull,
    ),
    "beginning twice": (playing(), begun, (NOW,), AlreadyStarted),
    "beginning at a closed table": (shut(), begun, (NOW,), TableClosed),
}


@pytest.mark.clause("table.3", "table.4")
@pytest.mark.parametrize(("game", "act", "wish", "error"), REFUSALS.values(), ids=REFUSALS)
def test_refusals(game, act, wish, error: type[RummyError]):
    with pytest.raises(error) as caught:
        act(game, *wish)
    assert caught.value.detail


@pytest.mark.clause("table.4")
def test_who_leaves_during_play_keeps_the_seat_and_leaving_again_does_nothing():
    before = playing()
    away, events = left(before, 1)
    assert (written(away), away.match) == (written(before), before.match)
    assert [seat.played_by for seat in away.seats] == [None, "steady", None]
    assert len(events) == 1
    assert left(away, 1) == (away, ())
    back, events = returned(away, 1)
    assert back == before
    assert len(events) == 1
    assert returned(back, 1) == (back, ())


@pytest.mark.clause("table.4")
def test_who_was_away_after_forced_turns_can_leave_too_and_returns_as_if_new():
    game = playing()
    silent = replace(game.seats[1], away="timed_out", forced=3)
    game = replace(game, seats=(game.seats[0], silent, game.seats[2]))
    game, events = left(game, 1)
    assert (game.seats[1].away, len(events)) == ("left", 1)
    game, _ = returned(game, 1)
    assert (game.seats[1].away, game.seats[1].forced) == (None, 0)


def test_closing_twice_does_nothing():
    assert closed(shut()) == (shut(), ())


@pytest.mark.clause("table.6")
@pytest.mark.parametrize("level", LEVELS)
def test_computer_players_have_names_of_their_own(level):
    game = table(f"Computer-{level}", 8)
    taken = replace(game.seats[0], name=f"Computer {level} 2")
    game = replace(game, seats=(taken,))
    for _ in range(7):
        player = computer_seat(game, level)
        assert (player.computer, player.token_hash) == (level, None)
        game, _ = seated(game, player, NOW)
    names = [seat.name for seat in game.seats]
    assert len(set(names)) == 8
    game, _ = removed(game, 0, 3)
    game, _ = seated(game, computer_seat(game, level), NOW)
    assert len({seat.name for seat in game.seats}) == 8


OLD_TABLES = ("ada bo", "ada bo cleo dan", "ada *steady bo", "*steady ada *sharp bo *random cleo")


@pytest.mark.parametrize("old", OLD_TABLES)
def test_in_whatever_order_they_come_a_rematch_has_the_old_order(old):
    names = old.split()
    computers = [place for place, name in enumerate(names) if name.startswith("*")]
    people = [place for place in range(len(names)) if place not in computers]
    for coming in permutations(people):
        game = table("", len(names), autostart=True)
        for place in (*computers, *coming):
            assert game.status == "waiting"
            game, events = seated(game, seat(names[place], place), NOW)
            assert game.seats[events[0].seat].name == names[place]
            sitting = [names.index(seat.name) for seat in game.seats]
            assert sitting == sorted(sitting)
        assert (written(game), game.status) == (old, "playing")


def test_in_a_rematch_who_had_no_seat_before_sits_behind_those_there():
    game = table("", 5)
    for player in (seat("cleo", 2), computer_seat(game, "steady"), seat("ada", 0), seat("bo", 1)):
        game, _ = seated(game, player, NOW)
    assert written(game) == "ada bo cleo Computer steady"

"""Requests that are refused, in tables: what is asked where, and with which code it is refused.

The first line with a code is what `tests.recording` records as its example in the contract.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address

import msgspec
from msgspec.structs import replace
from werkzeug.test import Client, TestResponse

from service.rummy.cards import pack
from service.rummy.model import CallWindow
from service.rummy.rules import PRESETS
from service.store import Freeze
from tests.http.tables import House, Overtaken, Player, Table
from tests.positions import move

# ------------------------------------------------------------------------------------- moves


@dataclass(frozen=True)
class Refusal:
    """One line of the table: a position, who asks for what, and the answer.

    A text such as "turn meld 5C 5D 5H / layoff 1 9S / discard KH" is a whole turn.
    """

    text: str
    code: str
    rule: str | None
    position: dict = field(default_factory=dict)
    seat: int = 0


def refusal(text: str, code: str, rule: str | None, *, seat: int = 0, **position) -> Refusal:
    return Refusal(text, code, rule, {"hands": "5C 5D 5H 9S KH | 2S 3S 7D"} | position, seat)


CALLED = {
    "variant": "call-rummy",
    "phase": "draw",
    "turn": 1,
    "pile": "2C 8C",
    "melds": "0: 8D 8H 8S; 1: 3C 4C 5C",
    "hands": "KD QD | 2S 3S",
    "window": CallWindow(0, None),
}
"""Seat 0 has just discarded 8C, which fits meld 1; it is the turn of seat 1."""

# fmt: off
MOVES = [
    # whose turn, and which step of it
    refusal("draw", "not_your_turn", "common.1", seat=1),
    refusal("meld 5C 5D 5H", "not_your_turn", "common.1", seat=1),
    refusal("discard 2S", "not_your_turn", "common.1", seat=1),
    refusal("discard KH", "draw_first", "common.3", phase="draw"),
    refusal("meld 5C 5D 5H", "draw_first", "common.3", phase="draw"),
    refusal("layoff 1 5S", "draw_first", "common.3", phase="draw"),
    refusal("swap 1 5S", "draw_first", "common.3", phase="draw"),
    refusal("draw", "already_drawn", "common.3"),
    refusal("take", "already_drawn", "common.3", pile="8C"),
    # the draw
    refusal("take", "no_upcard", "common.3", phase="draw", variant="seven-card"),
    refusal("take 9C", "upcard_changed", "common.3", phase="draw", pile="8C"),
    refusal("draw", "nothing_to_turn_over", "common.12", phase="draw", pile="8C", stock=""),
    refusal(
        "draw",
        "call_pending",
        "call-rummy.5",
        seat=1,
        **CALLED | {"call": "timed", "call_seconds": 9, "window": CallWindow(0, 2**52)},
    ),
    # the cards
    refusal("discard 2S", "not_in_hand", "common.3"),
    refusal("discard 6S", "not_in_hand", "common.3"),
    refusal("meld 5C 5D 5S", "not_in_hand", "common.3"),
    refusal("meld 5C 5C 5D", "not_in_hand", "common.3"),
    refusal("layoff 1 2S", "not_in_hand", "common.3", melds="1: 4S 5S 6S"),
    refusal("swap 1 2S", "not_in_hand", "common.3", melds="1: 4S 5S 6S"),
    # new melds
    refusal("meld 5C 5D 9S", "not_a_meld", "common.4"),
    refusal("meld 5C 5D", "not_a_meld", "common.4"),
    refusal("meld QH KH AH", "not_a_meld", "common.4", hands="QH KH AH 2C | 2S"),
    refusal(
        "meld 7C 7D 7H",
        "meld_limit",
        "straight.3",
        hands="5C 5D 5H 7C 7D 7H KH | 2S",
        after=("meld 5C 5D 5H",),
    ),
    refusal(
        "meld 5C 5D 5H",
        "melds_first",
        "straight.3",
        hands="5C 5D 5H 7S KH | 2S",
        melds="0: 7C 7D 7H",
        after=("layoff 1 7S",),
    ),
    refusal(
        "meld 5C 5D 5H", "final_discard_needed", "call-rummy.3", variant="call-rummy",
        hands="5C 5D 5H | 2S",
    ),
    refusal(
        "meld 5C 5D 5H", "would_be_stuck", "common.13", hands="5C 5D 5H | 2S", pile="9D",
        phase="draw", after=("take 9D",),
    ),
    # jokers
    refusal(
        "meld 5C JK 6C", "joker_unclear", "jokers.2", variant="seven-card", jokers=2,
        hands="5C 6C JK KH | 2S",
    ),
    refusal(
        "meld 5C JK=9C 6C", "not_a_meld", "common.4", variant="seven-card", jokers=2,
        hands="5C 6C JK KH | 2S",
    ),
    refusal(  # two cards are named for one joker
        "meld 5C 6C=4C JK=7C", "joker_misnamed", "jokers.2", variant="seven-card", jokers=2,
        hands="5C 6C JK KH | 2S",
    ),
    refusal(
        "swap 1 5C", "no_joker_there", "jokers.3", variant="seven-card", jokers=2,
        melds="1: 7C JK=8C 9C",
    ),
    refusal(
        "swap 1 5C", "no_swaps", "jokers.3", variant="seven-card", jokers=2, joker_swap=False,
        melds="1: JK=5C 6C 7C",
    ),
    # layoffs
    refusal("layoff 1 5C", "no_such_meld", "common.7"),
    refusal("swap 1 5C", "no_such_meld", "common.7"),
    refusal("layoff 2 5C", "no_such_meld", "common.7", melds="1: 8C 8D 8H"),
    refusal("layoff 1 5C", "does_not_fit", "common.4", melds="1: 8C 8D 8H"),
    refusal("layoff 1 9S KH", "does_not_fit", "common.4", melds="1: 9C 9D 9H"),
    refusal("layoff 1 9S", "no_layoffs", "common.7", melds="1: 9C 9D 9H", layoffs="none"),
    refusal("layoff 1 9S", "not_your_meld", "seven-card.3", melds="1: 9C 9D 9H",
            variant="seven-card"),
    # the discard
    refusal(
        "discard 9D", "upcard_returned", "straight.4", pile="9D", phase="draw", after=("take 9D",)
    ),
    refusal(
        "discard 9D", "upcard_returned", "parlett.3", variant="parlett", pile="9D", phase="draw",
        after=("take 9D",),
    ),
    refusal("turn", "turn_unfinished", "common.3"),
    # a whole turn: which of its plays
    refusal("turn meld 5C 5D 9S / discard KH", "not_a_meld", "common.4"),
    refusal("turn meld 5C 5D 5H / meld 5C 5D 5S / discard KH", "meld_limit", "straight.3"),
    refusal("turn meld 5C 5D 5S / discard KH", "not_in_hand", "common.3"),
    refusal("turn meld 5C 5D 5H / discard 5C", "not_in_hand", "common.3"),
    refusal("turn meld 5C 5D 5H / discard KH", "not_in_hand", "common.8", hands="5C 5D 5H | 2S"),
    refusal(
        "turn layoff 1 9S / meld 5C 5D 5H / discard KH", "melds_first", "straight.3",
        melds="1: 9C 9D 9H",
    ),
    refusal(
        "turn meld 5C 5D 5H", "final_discard_needed", "call-rummy.3", variant="call-rummy",
        hands="5C 5D 5H | 2S",
    ),
    refusal(
        "turn meld 5C 5D 5H", "would_be_stuck", "common.13", hands="5C 5D 5H 9D | 2S", taken="9D",
    ),
    refusal(
        "turn meld 5C JK 6C / discard KH", "joker_unclear", "jokers.2", variant="seven-card",
        jokers=2, hands="5C 6C JK KH | 2S",
    ),
    refusal(
        "turn meld 5C 6C=4C JK=7C / discard KH", "joker_misnamed", "jokers.2",
        variant="seven-card", jokers=2, hands="5C 6C JK KH | 2S",
    ),
    refusal(
        "turn swap 1 5C / discard KH", "no_joker_there", "jokers.3", variant="seven-card",
        jokers=2, melds="1: 7C JK=8C 9C",
    ),
    refusal(
        "turn swap 1 5C / discard KH", "no_swaps", "jokers.3", variant="seven-card", jokers=2,
        joker_swap=False, melds="1: JK=5C 6C 7C",
    ),
    refusal("turn layoff 1 5C / discard KH", "no_such_meld", "common.7"),
    refusal("turn layoff 1 5C / discard KH", "does_not_fit", "common.4", melds="1: 8C 8D 8H"),
    refusal(
        "turn layoff 1 9S / discard KH", "no_layoffs", "common.7", melds="1: 9C 9D 9H",
        layoffs="none",
    ),
    refusal(
        "turn layoff 1 9S / discard KH", "not_your_meld", "seven-card.3", melds="1: 9C 9D 9H",
        variant="seven-card",
    ),
    refusal("turn discard KH", "draw_first", "common.3", phase="draw"),
    refusal("turn discard 2S", "not_your_turn", "common.1", seat=1),
    # the other clauses
    refusal(
        "meld 5C 5D 5H 5S JK=5C", "not_a_meld", "common.5", jokers=2,
        hands="5C 5D 5H 5S JK KH | 2S",
    ),
    refusal("meld JK JK JK", "not_a_meld", "jokers.1", jokers=3, hands="JK JK JK KH | 2S"),
    refusal(
        "layoff 1 JK", "does_not_fit", "common.5", jokers=2, hands="JK KH | 2S",
        melds="1: 8C 8D 8H 8S",
    ),
    refusal(
        "meld 7C 7D 7H", "meld_limit", "seven-card.3", variant="seven-card",
        hands="5C 5D 5H 7C 7D 7H KH | 2S", after=("meld 5C 5D 5H",),
    ),
    refusal(
        "meld 5C 5D 5H", "final_discard_needed", "common.15", final_discard=True,
        hands="5C 5D 5H | 2S",
    ),
    # the call
    refusal("rummy 1", "no_calls", "call-rummy.5", pile="8C", seat=1),
    refusal("rummy 1", "own_discard", "call-rummy.5", **CALLED),
    refusal("rummy 2", "does_not_fit", "common.4", seat=1, **CALLED),
    refusal("rummy 3", "no_such_meld", "common.7", seat=1, **CALLED),
    refusal("rummy 1", "call_closed", "call-rummy.5", seat=1, **CALLED | {"window": None}),
    refusal(
        "rummy 1", "call_closed", "call-rummy.5", seat=1,
        **CALLED | {"call": "timed", "call_seconds": 9, "window": CallWindow(0, 1)},
    ),
]
# fmt: on


def ask(player: Player, text: str, query: str = "") -> TestResponse:
    if not text.startswith("turn"):
        body = msgspec.to_builtins(move(text))
        return player.post(body["move"] + query, body)
    steps = [msgspec.to_builtins(move(step)) for step in text[5:].split("/") if step.strip()]
    plays = [step for step in steps if step["move"] != "discard"]
    discards = [step["card"] for step in steps if step["move"] == "discard"]
    return player.post("turn" + query, {"plays": plays, "discard": (*discards, None)[0]})


def laid_out(house: House, line: Refusal) -> tuple[Table, Player]:
    """The position of the line, and who is refused there."""
    position = dict(line.position)
    before = position.pop("after", ())
    table = house.position(**position)
    for text in before:
        assert table.players[0].play(text).status_code == 200
    return table, table.players[line.seat]


# ------------------------------------------------------------------------------ other requests

Ask = Callable[[Table], TestResponse]


def playing(house: House) -> Table:
    return house.position(hands="5C 5D KH | 2S 3S", pile="9D")


def waiting(house: House) -> Table:
    return house.waiting("straight", 3, taken=2)


def just_made(house: House) -> Table:
    return house.waiting("straight", 3)


def full(house: House) -> Table:
    return house.waiting("straight", 2, taken=2, more={"autostart": False})


def over(house: House) -> Table:
    table = house.position(hands="5C 5D 5H | 2S 3S")
    assert table.players[0].play("meld 5C 5D 5H").status_code == 200
    return table


def a_rematch(house: House) -> Table:
    asked = over(house).players[0].post("rematch")
    table = Table(house, asked.json["game"]["id"])
    table.seat(asked)
    return table


def from_memory(house: House) -> Table:
    return house.position(hands="5C 5D KH | 2S 3S", pile="9D", memory=False)


def by_invitation(house: House) -> Table:
    return house.waiting("straight", 3, more={"private": True})


def unwatched(house: House) -> Table:
    return house.waiting("straight", 2, taken=2, more={"spectators": False})


def shut(house: House) -> Table:
    table = waiting(house)
    assert table.players[0].post("close").status_code == 200
    return table


def left_by_the_guest(house: House) -> Table:
    table = house.position(hands="5C 5D KH | 2S 3S", pile="9D")
    assert table.players[1].post("leave").status_code == 200
    return table


def let_pass_by_the_guest(house: House) -> Table:
    """The guest let a turn pass and counts as away."""
    table = left_by_the_guest(house)
    game = table.game()
    away = replace(game.seats[1], away="timed_out", forced=3)
    game = replace(game, version=game.version + 1, seats=(game.seats[0], away))
    house.store.commit(game, ())
    return table


def drawn_with_a_key(house: House) -> Table:
    table = house.position(hands="5C 5D KH | 2S 3S", pile="9D", phase="draw")
    assert table.players[0].draw("stock", idempotency_key="one").status_code == 200
    return table


def for_five_with_four(house: House) -> Table:
    """With four players it would be one deck, which has too few cards."""
    return house.waiting("seven-card", 5, taken=4, hand_size=20)


def in_order_for_five_with_four(house: House) -> Table:
    """With four players it would be one deck, and the order of the cards is one of two."""
    practice = {"order": list(pack(2, 0))}
    return house.waiting("seven-card", 5, taken=4, more={"practice": practice})


def alone_at(variant: str) -> Callable[[House], Table]:
    return lambda house: house.waiting(variant, 3)


def for_four_with_two(house: House) -> Table:
    """Parlett's game with two decks is for four players and more."""
    return house.waiting("parlett", 4, taken=2, decks=2)


def of_a_later_service(house: House) -> Table:
    table = playing(house)
    later = {"record": b'{"format":99,"game":{}}', "commits": "of another"}
    house.redis.hset(f"rummy:{{{table.id}}}:game", mapping=later)
    return table


A_DEAL = f"""\
[Rummy "1"]
[Variant "straight"]
[Players "2"]
[Options "deals=1"]
[Dealer "0"]
[Cards "{" ".join(pack(1, 0))}"]
1. 1: take
"""


def new(table: Table, **body: object) -> TestResponse:
    return table.house.new_table(body.pop("variant", "straight"), **body)


def elsewhere(table: Table) -> Player:
    """Somebody with a seat at another table."""
    return Player(
        table.house.client(), table.id, 0, table.house.waiting("straight").players[0].token
    )


def forger(table: Table, token: str) -> Player:
    return Player(table.house.client(), table.id, 0, token)


HOST = 0
GUEST = 1
# fmt: off
REQUESTS: list[tuple[str, int, str, Callable[[House], Table], Ask]] = [
    ("a move without a token", 401, "no_token", playing,
     lambda table: table.stranger.play("discard KH")),
    ("legal moves without a token", 401, "no_token", playing,
     lambda table: table.stranger.get("moves")),
    ("a start without a token", 401, "no_token", waiting,
     lambda table: table.stranger.post("start")),
    ("the own game without a token", 401, "no_token", playing,
     lambda table: table.house.client().get("/v1/games?mine")),
    ("a move with a token of another form", 401, "bad_token", playing,
     lambda table: forger(table, "swordfish").play("discard KH")),
    ("a look with a token of another form", 401, "bad_token", playing,
     lambda table: forger(table, table.players[HOST].token + "x").get()),
    ("a token in another scheme", 401, "bad_token", playing,
     lambda table: table.players[HOST].get(authorization=f"Basic {table.players[HOST].token}")),
    ("a move with a token of another table", 403, "not_your_seat", playing,
     lambda table: elsewhere(table).play("discard KH")),
    ("a look with a token of another table", 403, "not_your_seat", playing,
     lambda table: elsewhere(table).get()),
    ("the log with a token of another table", 403, "not_your_seat", playing,
     lambda table: elsewhere(table).get("events")),
    ("a token that was never given out", 403, "not_your_seat", playing,
     lambda table: forger(table, f"{table.id}.{'A' * 43}").play("discard KH")),
    ("a start by a guest", 403, "not_the_host", waiting,
     lambda table: table.players[GUEST].post("start")),
    ("a game that does not exist", 404, "no_such_game", playing,
     lambda table: Player(table.house.client(), "a" * 16).get()),
    ("a move in a game that does not exist", 404, "no_such_game", playing,
     lambda table: Player(table.house.client(), "a" * 16, 0, table.players[HOST].token).draw(
         "stock")),
    ("joining a game that does not exist", 404, "no_such_game", playing,
     lambda table: Player(table.house.client(), "a" * 16).post("join", {"name": "eva"})),
    ("a variant that does not exist", 404, "no_such_variant", playing,
     lambda table: table.house.client().get("/v1/variants/canasta")),
    ("the rules of a variant that does not exist", 404, "no_such_variant", playing,
     lambda table: table.house.client().get("/v1/variants/canasta/rules")),
    ("the rules of a game with a token of another table", 403, "not_your_seat", playing,
     lambda table: elsewhere(table).get("rules")),
    ("a code that does not exist", 404, "no_such_error", playing,
     lambda table: table.house.client().get("/errors/canasta")),
    ("a look with what everybody saw, from memory", 409, "no_memory", from_memory,
     lambda table: table.players[GUEST].get("?memory=true")),
    ("a spectator's look at such a table", 409, "no_memory", from_memory,
     lambda table: table.stranger.get("?memory=true")),
    ("a move at such a table, to be answered with it", 409, "no_memory", from_memory,
     lambda table: table.players[HOST].post("discard?memory=true", {"card": "KH"})),
    ("a check of such a move", 409, "no_memory", from_memory,
     lambda table: table.players[HOST].post("discard?memory=true&check=true", {"card": "KH"})),
    ("a seat at a full table", 409, "table_full", full,
     lambda table: table.stranger.post("join", {"name": "eva"})),
    ("a seat when the match has begun", 409, "already_started", playing,
     lambda table: table.stranger.post("join", {"name": "eva"})),
    ("a second start", 409, "already_started", playing,
     lambda table: table.players[HOST].post("start")),
    ("a start with nobody else there", 409, "too_few_players", just_made,
     lambda table: table.players[HOST].post("start")),
    *((f"a start of {variant} with nobody else there", 409, "too_few_players", alone_at(variant),
       lambda table: table.players[HOST].post("start")) for variant in PRESETS),
    ("a start that the options do not fit", 409, "options_do_not_fit", for_four_with_two,
     lambda table: table.players[HOST].post("start")),
    ("a start with too many cards for each", 409, "options_do_not_fit", for_five_with_four,
     lambda table: table.players[HOST].post("start")),
    ("a start that the order does not fit", 409, "options_do_not_fit", in_order_for_five_with_four,
     lambda table: table.players[HOST].post("start")),
    ("a move before the start", 409, "not_started", waiting,
     lambda table: table.players[HOST].draw("stock")),
    ("a turn before the start", 409, "not_started", waiting,
     lambda table: table.players[HOST].post("turn", {"discard": "KH"})),
    ("a call before the start", 409, "not_started", waiting,
     lambda table: table.players[GUEST].play("rummy 1")),
    ("a seat by invitation without one", 403, "invitation_needed", by_invitation,
     lambda table: table.stranger.post("join", {"name": "eva"})),
    ("a seat with another invitation", 403, "invitation_needed", by_invitation,
     lambda table: table.stranger.post("join", {"name": "eva", "invitation": "abcde-fghij"})),
    ("a seat in a rematch of others", 403, "invitation_needed", a_rematch,
     lambda table: table.stranger.post("join", {"name": "eva"})),
    ("a look at a match without spectators", 403, "no_spectators", unwatched,
     lambda table: table.stranger.get()),
    ("the log of a match without spectators", 403, "no_spectators", unwatched,
     lambda table: table.stranger.get("events")),
    ("the rules of a match without spectators", 403, "no_spectators", unwatched,
     lambda table: table.stranger.get("rules")),
    ("the score of a match without spectators", 403, "no_spectators", unwatched,
     lambda table: table.stranger.get("score")),
    ("a seat at a closed table", 409, "table_closed", shut,
     lambda table: table.stranger.post("join", {"name": "eva"})),
    ("a start of a closed table", 409, "table_closed", shut,
     lambda table: table.players[HOST].post("start")),
    ("a move at a closed table", 409, "table_closed", shut,
     lambda table: table.players[HOST].draw("stock")),
    ("leaving a closed table", 409, "table_closed", shut,
     lambda table: table.players[GUEST].post("leave")),
    ("returning to a closed table", 409, "table_closed", shut,
     lambda table: table.players[GUEST].post("return")),
    ("a rematch of a closed table", 409, "table_closed", shut,
     lambda table: table.players[GUEST].post("rematch")),
    ("computers for a closed table", 409, "table_closed", shut,
     lambda table: table.players[HOST].post("computers", {"levels": ["steady"]})),
    ("computers from a guest", 403, "not_the_host", waiting,
     lambda table: table.players[GUEST].post("computers", {"levels": ["steady"]})),
    ("computers for a full table", 409, "table_full", waiting,
     lambda table: table.players[HOST].post("computers", {"levels": ["steady"] * 2})),
    ("computers when the match has begun", 409, "already_started", playing,
     lambda table: table.players[HOST].post("computers", {"levels": ["steady"]})),
    ("removing by a guest", 403, "not_the_host", waiting,
     lambda table: table.players[GUEST].post("remove", {"seat": HOST})),
    ("removing who is not there", 409, "no_such_seat", waiting,
     lambda table: table.players[HOST].post("remove", {"seat": 2})),
    ("removing who is not there any more", 409, "no_such_seat", waiting,
     lambda table: table.players[HOST].post("remove", {"seat": GUEST, "name": "eva"})),
    ("removing oneself", 409, "own_seat", waiting,
     lambda table: table.players[HOST].post("remove", {"seat": HOST})),
    ("removing when the match has begun", 409, "already_started", playing,
     lambda table: table.players[HOST].post("remove", {"seat": GUEST})),
    ("closing by a guest", 403, "not_the_host", waiting,
     lambda table: table.players[GUEST].post("close")),
    ("closing when the match has begun", 409, "already_started", playing,
     lambda table: table.players[HOST].post("close")),
    ("a move after leaving", 409, "seat_away", left_by_the_guest,
     lambda table: table.players[GUEST].draw("stock")),
    ("a turn after leaving", 409, "seat_away", left_by_the_guest,
     lambda table: table.players[GUEST].post("turn", {"discard": "2S"})),
    ("a move after letting turns pass", 409, "seat_away", let_pass_by_the_guest,
     lambda table: table.players[GUEST].draw("stock")),
    ("entropy for a closed table", 409, "table_closed", shut,
     lambda table: table.players[HOST].post("entropy", {"entropy": "heads"})),
    ("entropy in the last deal", 409, "no_next_deal", playing,
     lambda table: table.players[GUEST].post("entropy", {"entropy": "heads"})),
    ("entropy after the end", 409, "match_over", over,
     lambda table: table.players[GUEST].post("entropy", {"entropy": "heads"})),
    ("the deal that is being played", 409, "deal_not_over", playing,
     lambda table: table.players[GUEST].get("deals/1")),
    ("a deal that has not begun", 404, "no_such_deal", playing,
     lambda table: table.players[GUEST].get("deals/2")),
    ("a deal before the start", 409, "not_started", waiting,
     lambda table: table.players[GUEST].get("deals/1")),
    ("a replay before the start", 409, "not_started", waiting,
     lambda table: table.stranger.get("replay")),
    ("a replay of a closed table", 409, "table_closed", shut,
     lambda table: table.stranger.get("replay")),
    ("a replay of a match without spectators", 403, "no_spectators", unwatched,
     lambda table: table.stranger.get("replay")),
    ("a deal of a match without spectators", 403, "no_spectators", unwatched,
     lambda table: table.stranger.get("deals/1")),
    ("a replay of a deal of which nobody knows how it began", 409, "no_replay", over,
     lambda table: table.stranger.get("replay")),
    ("returning before the start", 409, "not_started", waiting,
     lambda table: table.players[GUEST].post("return")),
    ("leaving after the end", 409, "match_over", over,
     lambda table: table.players[GUEST].post("leave")),
    ("returning after the end", 409, "match_over", over,
     lambda table: table.players[GUEST].post("return")),
    ("a rematch before the start", 409, "not_started", waiting,
     lambda table: table.players[HOST].post("rematch")),
    ("a rematch during the match", 409, "match_not_over", playing,
     lambda table: table.players[HOST].post("rematch")),
    ("a rematch closed by who came first", 409, "rematch_stays", a_rematch,
     lambda table: table.players[HOST].post("close")),
    ("a rematch by nobody", 401, "no_token", over,
     lambda table: table.stranger.post("rematch")),
    ("many games with something that is no token", 401, "bad_token", playing,
     lambda table: table.house.client().post("/v1/games/query", json={"tokens": ["swordfish"]})),
    ("a key for a seat that can be guessed", 422, "bad_idempotency_key", waiting,
     lambda table: table.stranger.post("join", {"name": "eva"}, idempotency_key="1")),
    ("a key of a move that cannot be read", 422, "bad_idempotency_key", playing,
     lambda table: table.players[HOST].play("discard KH", idempotency_key="a" * 256)),
    ("the key of another move", 422, "idempotency_key_reused", drawn_with_a_key,
     lambda table: table.players[HOST].play("discard KH", idempotency_key="one")),
    ("a table of computers only", 422, "bad_table", playing,
     lambda table: new(table, options={"deals": 1}, computers=["steady"] * 2)),
    ("a table that is public and private", 422, "bad_table", playing,
     lambda table: new(table, options={"deals": 1}, public=True, private=True)),
    ("a move after the end", 409, "match_over", over,
     lambda table: table.players[GUEST].draw("stock")),
    ("a turn after the end", 409, "match_over", over,
     lambda table: table.players[HOST].post("turn", {"discard": "KH"})),
    ("a move for another version", 412, "stale_version", playing,
     lambda table: table.players[HOST].play("discard KH", if_match='"1"')),
    ("a join for another version", 412, "stale_version", waiting,
     lambda table: table.stranger.post("join", {"name": "eva"}, if_match='"1"')),
    ("a version that is none", 422, "bad_version", playing,
     lambda table: table.players[HOST].play("discard KH", if_match="latest")),
    ("a cursor that is none", 422, "bad_cursor", playing,
     lambda table: table.house.client().get("/v1/games?cursor=first")),
    ("a name that is too long", 422, "bad_text", waiting,
     lambda table: table.stranger.post("join", {"name": "e" * 100})),
    ("a name that cannot be read", 422, "bad_text", waiting,
     lambda table: table.stranger.post("join", {"name": "e\u202eva"})),
    ("a field too many", 422, "invalid_request", playing,
     lambda table: table.players[HOST].post("discard", {"card": "KH", "face": "up"})),
    ("a card that is none", 422, "invalid_request", playing,
     lambda table: table.players[HOST].post("discard", {"card": "10H"})),
    ("a deal with no end agreed", 422, "options_refused", playing,
     lambda table: new(table, options={})),
    ("the rules of a variant for too many players", 422, "options_refused", playing,
     lambda table: table.house.client().get("/v1/variants/straight/rules?players=7")),
    ("a practice table without a seed", 422, "bad_practice", playing,
     lambda table: new(table, options={"deals": 1}, practice={})),
    ("a dealer who does not sit there", 422, "bad_practice", playing,
     lambda table: new(table, options={"deals": 1}, practice={"seed": "tea", "dealer": 5})),
    ("a deal with other options than the table's", 422, "bad_practice", playing,
     lambda table: new(table, options={"jokers": 2}, practice={"deal": A_DEAL})),
    ("a text that is no deal", 422, "bad_notation", playing,
     lambda table: new(table, practice={"deal": "[Rummy]"})),
    ("a deal that cannot be played", 422, "bad_replay", playing,
     lambda table: new(table, practice={"deal": A_DEAL.replace("take", "drop AC")})),
    ("a deal with a pack that is none", 422, "bad_replay", playing,
     lambda table: new(table, practice={"deal": A_DEAL.replace("AS", "2S")})),
    ("a deal that has not so many moves", 422, "bad_practice", playing,
     lambda table: new(table, practice={"deal": A_DEAL, "moves": 2})),
    ("a deal of another variant", 422, "bad_practice", playing,
     lambda table: new(table, variant="parlett", practice={"deal": A_DEAL})),
    ("a pack that is none", 422, "bad_practice", playing,
     lambda table: new(table, options={"deals": 1}, practice={"order": ["AS"] * 52})),
    ("a record of a later version of the service", 503, "unreadable_record", of_a_later_service,
     lambda table: table.players[HOST].play("discard KH")),
    ("a look at such a record", 503, "unreadable_record", of_a_later_service,
     lambda table: table.stranger.get()),
]
# fmt: on


def overtaken(house: House, clock: Overtaken) -> TestResponse:
    """The answer to a move before every attempt at which somebody else changes the game."""
    table = house.table("straight", seed="tea")
    mover = table.mover

    def change() -> None:
        game = table.game()
        house.store.commit(replace(game, version=game.version + 1), ())

    clock.meanwhile = change
    return mover.draw("stock")


def while_frozen(house: House) -> TestResponse:
    """The answer to who wants a table while none are made."""
    house.store.freeze(Freeze(0, "the service is being renewed"))
    try:
        return house.new_table("straight", options={"deals": 1})
    finally:
        house.store.thaw()


def too_often(house: House) -> TestResponse:
    """The answer to the second sandbox that somebody makes in a minute, where one is enough."""
    strict = House(house.redis_url, house.clock, rate_limits=True, limit_create="1/minute")
    client = strict.client()
    for _ in range(50):
        from_anywhere = {"REMOTE_ADDR": str(IPv4Address(secrets.randbits(32)))}
        client.post("/v1/sandbox", json={}, environ_overrides=from_anywhere)
        answer = client.post("/v1/sandbox", json={}, environ_overrides=from_anywhere)
        # The store measures the minute, and the answer is recorded: it has to be the same each
        # time, however long the first one took.
        if answer.json["params"]["retry_after_seconds"] == 60:
            break
    return answer


# ------------------------------------------------------------------- what the framework refuses


class Late:
    """A body that does not come."""

    def read(self, _: int | None = -1) -> bytes:
        raise TimeoutError


# fmt: off
UNHEARD: list[tuple[int, str, Callable[[Client], TestResponse]]] = [
    (400, "bad_request",
     lambda client: client.post("/v1/games", data=b"{", content_type="application/json")),
    (404, "no_such_route", lambda client: client.get("/v2/games")),
    (405, "method_not_allowed", lambda client: client.delete("/v1/games")),
    (408, "body_too_slow",
     lambda client: client.post(
         "/v1/games", content_type="application/json",
         environ_overrides={"wsgi.input": Late(), "CONTENT_LENGTH": "9"})),
    (413, "body_too_large", lambda client: client.post("/v1/games", data=b" " * 70_000)),
    (415, "unsupported_media_type",
     lambda client: client.post("/v1/games", data=b"{}", content_type="text/plain")),
    (500, "internal_error", lambda client: client.get("/broken")),
]
# fmt: on

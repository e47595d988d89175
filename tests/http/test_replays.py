"""Replays over HTTP: deals and whole matches that are over, held against the log and the score."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random

import jsonschema
import jsonschema_rs
import msgspec
import pytest
from msgspec.structs import replace

from service.api import replay_schema
from service.replay import decoded, record_of
from service.rummy.cards import pack
from service.rummy.notation import read, written
from service.rummy.rules import agree
from service.rummy.shuffle import secret_of
from service.telling import told
from service.verify import checked
from tests.http.simple_player import choose
from tests.http.tables import Player, Table, code
from tests.rummy.test_record import played


def play(table: Table, chance: Random, patience: int = 0, deals: int = 0) -> None:
    """Play to the end, or until so many deals are over.

    Before the pile was turned over `patience` times in a deal nothing is laid down.
    """
    for _ in range(6_000):
        match = table.game().match
        over = match.last.number if match.last else 0
        if match.result or over >= deals > 0:
            return
        caller = _caller(table, chance) if match.deal.window else None
        player = caller or table.players[match.deal.turn]
        view = player.look()
        if not view["moves"]:  # the draw waits for a call that nobody makes
            table.house.clock.forward(60)
            continue
        answer = player.make(choose(view, chance, patience))
        assert answer.status_code == 200, answer.text
        if table.house.clock:
            table.house.clock.forward(chance.choice([0, 0, 0.001, 2]))
    pytest.fail("the match has no end")


def _caller(table: Table, chance: Random) -> Player | None:
    if chance.random() < 0.4:
        return None
    for player in table.players:
        if any(move["move"] == "rummy" for move in player.look()["moves"]):
            return player
    return None


class Books:
    """What the whole log tells of one deal, all hands open: the table after each of its moves."""

    MOVES = frozenset({
        "drew", "declined", "melded", "laid_off", "swapped", "discarded", "called",
    })  # fmt: skip

    def __init__(self, options: dict, entries: list[dict]) -> None:
        self.pack = Counter(pack(options["decks"], options["jokers"]))
        self.positions: list[dict] = []
        self.moves: list[dict] = []
        self.result: dict | None = None
        self.turnovers = 0
        for entry, following in zip(entries, [*entries[1:], None], strict=True):
            event = entry["event"]
            if handle := getattr(self, f"_{event['type']}", None):
                handle(event)
            if event["type"] in self.MOVES:
                self.moves.append(entry)
            if event["type"] in self.MOVES | {"dealt"}:
                self.positions.append(self._now())
            # Either it gives the card of the draw that follows, or it is the end of the one before.
            elif event["type"] == "turned_over" and following["event"]["type"] != "drew":
                self.positions[-1] = self._now()

    def _now(self) -> dict:
        seen = Counter(self.pile)
        for hand in self.hands:
            seen += hand
        for meld in self.melds.values():
            seen.update(meld["cards"])
        assert not seen - self.pack
        assert seen.total() + self.stock == self.pack.total()
        return {
            "hands": [sorted(hand.elements()) for hand in self.hands],
            "pile": list(self.pile),
            "stock": self.stock,
            "melds": {number: list(meld["faces"]) for number, meld in self.melds.items()},
        }

    def _dealt(self, event: dict) -> None:
        self.hands = [Counter(hand) for hand in event["hands"]]
        self.pile = [event["upcard"]] if event["upcard"] else []
        self.stock = event["stock"]
        self.melds: dict[int, dict] = {}
        self.dealer = event["dealer"]

    def _drew(self, event: dict) -> None:
        if event["source"] == "stock":
            self.stock -= 1
        else:
            assert self.pile.pop() == event["card"]
        self.hands[event["seat"]][event["card"]] += 1

    def _turned_over(self, event: dict) -> None:
        self.turnovers += 1
        self.stock = event["stock"]
        self.pile = [event["upcard"]] if event["upcard"] else []

    def _melded(self, event: dict) -> None:
        self.melds[event["meld"]] = {"cards": list(event["cards"]), "faces": event["faces"]}
        self.hands[event["seat"]] -= Counter(event["cards"])

    def _laid_off(self, event: dict) -> None:
        self.melds[event["meld"]]["cards"] += event["cards"]
        self.melds[event["meld"]]["faces"] = event["faces"]
        self.hands[event["seat"]] -= Counter(event["cards"])

    def _swapped(self, event: dict) -> None:
        cards = self.melds[event["meld"]]["cards"]
        cards[cards.index("JK")] = event["card"]
        self.hands[event["seat"]] -= Counter([event["card"]])
        self.hands[event["seat"]]["JK"] += 1

    def _discarded(self, event: dict) -> None:
        self.hands[event["seat"]] -= Counter([event["card"]])
        self.pile.append(event["card"])

    def _called(self, event: dict) -> None:
        assert self.pile.pop() == event["card"]
        self.melds[event["meld"]]["cards"].append(event["card"])
        self.melds[event["meld"]]["faces"] = event["faces"]

    def _deal_ended(self, event: dict) -> None:
        self.result = event["result"]


def books(table: Table) -> Iterator[Books]:
    """One for each deal, from all that the store keeps of the game."""
    options = msgspec.to_builtins(table.game().match.rules)
    deal: list[dict] = []
    stored = table.house.store.events(table.id, 0, 10**6)
    for entry in json.loads(msgspec.json.encode(stored)):
        if entry["event"]["type"] == "dealt":
            if deal:
                yield Books(options, deal)
            deal = [entry]
        elif deal:
            deal.append(entry)
    yield Books(options, deal)


@cache
def schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(replay_schema(), validate_formats=True)


def replay_of(table: Table, player: Player | None = None) -> dict:
    """The document of the match, which is one by the published schema and fits."""
    answer = (player or table.stranger).get("replay")
    assert answer.status_code == 200, answer.text
    schema().validate(answer.json)
    document = decoded(answer.data)
    assert decoded(msgspec.json.encode(document)) == document
    if document.deals:
        assert [deal for deal, _ in checked(document)][-1] == 0
        assert len(list(told(document))) >= sum(len(deal.moves) for deal in document.deals)
    return answer.json


def deal_of(table: Table, number: int, player: Player | None = None) -> dict:
    """The document of one deal, likewise."""
    answer = (player or table.stranger).get(f"deals/{number}")
    assert answer.status_code == 200, answer.text
    schema().validate(answer.json)
    document = decoded(answer.data)
    assert {deal for deal, _ in checked(document)} == {number}
    text = (player or table.stranger).get(f"deals/{number}", accept="text/plain")
    assert text.content_type == "text/plain; charset=utf-8"
    assert text.text == answer.json["notation"]
    assert read(text.text) == record_of(document.options, document.deal)
    return answer.json


def examine(table: Table) -> dict:
    """The replay of a match that is over, held against log and score."""
    match = replay_of(table)
    view, score = table.stranger.look(), table.stranger.get("score").json
    assert match["game"] == table.id
    assert match["options"] == view["options"]
    assert match["practice"] == view["practice"]
    assert [seat["name"] for seat in match["seats"]] == [seat["name"] for seat in view["seats"]]
    assert match["result"] == view["result"] == score["result"]
    results = [deal["result"] for deal in match["deals"] if deal["result"]]
    assert results == score["deals"]
    public = {entry["id"]: entry for entry in table.stranger.log()}
    commitments = [
        entry["event"]["commitment"]
        for entry in public.values()
        if entry["event"]["type"] == "committed"
    ]
    totals = [0] * len(match["seats"])
    if match["deals"][0]["proof"]["laid_out"]:
        totals = match["deals"][0]["totals"]
    for number, (book, deal) in enumerate(zip(books(table), match["deals"], strict=True), 1):
        assert (deal["number"], deal["dealer"]) == (number, book.dealer)
        assert deal["totals"] == totals
        assert deal["result"] == book.result
        assert deal["proof"]["commitment"] == commitments[number - 1]
        totals = deal["result"]["totals"] if deal["result"] else totals
        for move, entry in zip(deal["moves"], book.moves, strict=True):
            told = public[move["event"]]
            assert move["event"] == entry["number"]
            assert (move["at"], move["forced"]) == (told["at"], told["forced"])
            assert move["seat"] == entry["event"]["seat"]
        times = [move["at"] for move in deal["moves"]]
        assert times == sorted(times, key=lambda at: at.rstrip("Z"))
        document = deal_of(table, number)
        assert document["deal"] == deal
        shown = document["positions"]
        going_on = book.positions[: len(shown)]
        assert len(book.positions) - len(shown) == (deal["result"] is not None)
        for position, expected in zip(shown, going_on, strict=True):
            assert [sorted(hand) for hand in position["hands"]] == expected["hands"]
            assert position["pile"] == expected["pile"]
            assert position["stock"] == expected["stock"]
            melds = {meld["id"]: meld["faces"] for meld in position["melds"]}
            assert melds == expected["melds"]
        if deal["result"]:
            left = [sorted(hand) for hand in deal["result"]["hands"]]
            assert book.positions[-1]["hands"] == left
        shuffled = match["options"]["turnover_shuffles"]
        assert len(deal["turnovers"]) == (book.turnovers if shuffled else 0)
    return match


# ------------------------------------------------------------------------------ whole matches

MATCHES = {
    "straight": ("straight", 2, {"deals": 3}, 0),
    "straight for a target": ("straight", 3, {"target": 60, "jokers": 4, "hand_size": 5}, 0),
    "seven-card": ("seven-card", 4, {"deals": 2}, 0),
    "reshuffles": ("seven-card", 2, {"hand_size": 20, "jokers": 4, "deals": 2}, 2),
    "the last card": ("seven-card", 3, {"hand_size": 12, "turnover": "last_card"}, 2),
    "parlett with two decks": ("parlett", 6, {"jokers": 4, "deals": 2}, 0),
    "turnovers without a shuffle": ("parlett", 2, {"hand_size": 20, "jokers": 2}, 2),
    "call-rummy": ("call-rummy", 3, {"jokers": 2, "deals": 2}, 0),
    "swaps": ("call-rummy", 4, {"jokers": 8, "deals": 3}, 0),
    "blocked": ("straight", 2, {"hand_size": 20, "turnovers": 0, "deals": 2}, 9),
    "many at the table": ("seven-card", 8, {"layoffs": "any", "aces": "high_or_low"}, 0),
}


@pytest.mark.parametrize("name", MATCHES)
def test_a_match_can_be_replayed_and_every_hand_is_as_the_log_tells(house, name):
    variant, players, options, patience = MATCHES[name]
    table = house.table(variant, players, seed=f"replay {name}", **options)
    play(table, Random(name), patience)
    match = examine(table)
    assert match["practice"]
    assert match["dealer_by_lot"]
    blocked = {deal["result"]["reason"] for deal in match["deals"]}
    assert ("blocked" in blocked) == (name == "blocked")
    if name in {"reshuffles", "the last card"}:
        assert any(deal["turnovers"] for deal in match["deals"])


def test_a_match_that_was_no_practice_with_entropy_of_its_players(house):
    table = house.waiting("straight", 3, 2, deals=2)
    assert table.players[0].post("entropy", {"entropy": "27-coins"}).status_code == 200
    joined = table.stranger.post("join", {"name": "cleo", "entropy": "a-die"})
    table.seat(joined)
    assert table.players[1].post("entropy", {"entropy": "rain"}).status_code == 200
    play(table, Random(1))
    match = examine(table)
    assert not match["practice"]
    assert [deal["proof"]["entropy"] for deal in match["deals"]] == [
        ["27-coins", "", "a-die"],
        ["", "rain", ""],
    ]


def test_a_match_with_timed_calls_and_a_clock(timed_house, clock):
    options = {"call": "timed", "call_seconds": 5, "turn_seconds": 30, "away_after": 3, "deals": 2}
    table = timed_house.table("call-rummy", 3, seed="timed calls", **options)
    chance = Random(5)
    for _ in range(5):  # somebody sleeps now and then
        clock.forward(60)
        table.stranger.look()
        player = table.players[table.game().match.deal.turn]
        clock.forward(10)
        if view := player.look():
            assert player.make(choose(view, chance)).status_code in {200, 409}
    play(table, chance)
    match = examine(table)
    moves = [move for deal in match["deals"] for move in deal["moves"]]
    assert any(move["forced"] for move in moves)
    assert not all(move["forced"] for move in moves)
    assert any(move["move"]["move"] == "rummy" for move in moves)


def test_a_match_with_computers_says_who_they_were(house):
    levels = ["steady", "sharp", "random"]
    table = house.waiting("parlett", 4, more={"computers": levels}, deals=3, jokers=2)
    play(table, Random(2))
    match = examine(table)
    assert [seat["computer"] for seat in match["seats"]] == [None, *levels]


def test_a_deal_that_was_given_up_is_shown_as_far_as_it_was_played(house):
    table = house.table("straight", 2, seed="given up", deals=5)
    play(table, Random(3), deals=1)
    for _ in range(3):
        player = table.mover
        assert player.make(choose(player.look(), Random(1))).status_code == 200
    for player in table.players:
        assert player.post("leave").status_code == 200
    match = examine(table)
    assert match["result"]["reason"] == "abandoned"
    assert [deal["result"] is None for deal in match["deals"]] == [False, True]
    assert len(match["deals"][1]["moves"]) >= 3
    assert match["result"]["totals"] == match["deals"][1]["totals"]


def test_a_match_that_was_given_up_before_any_move(house):
    table = house.table("parlett", 2)
    mover = table.mover
    for player in (table.players[1 - mover.seat], mover):
        assert player.post("leave").status_code == 200
    match = examine(table)
    assert [deal["moves"] for deal in match["deals"]] == [[]]
    assert len(deal_of(table, 1)["positions"]) == 1


@pytest.mark.parametrize(
    ("practice", "by_lot", "laid_out"),
    [
        ({"seed": "tea"}, True, False),
        ({"seed": "tea", "dealer": 1}, False, False),
        ({"order": list(pack(1, 0))[::-1]}, True, True),
        ({"order": list(pack(1, 0))[::-1], "dealer": 0}, False, True),
    ],
)
def test_practice_is_replayed_as_it_was_laid_out(house, practice, by_lot, laid_out):
    table = house.waiting("straight", 2, 2, more={"practice": practice}, deals=2)
    play(table, Random(4))
    match = examine(table)
    assert (match["practice"], match["dealer_by_lot"]) == (True, by_lot)
    assert [deal["proof"]["laid_out"] for deal in match["deals"]] == [laid_out, False]
    if laid_out:
        assert match["deals"][0]["cards"] == practice["order"]


@pytest.mark.parametrize("seed", ["the same", None])
def test_what_if_is_replayed_with_the_moves_that_it_began_with(house, seed):
    """The deal that is gone on with has reshuffles before the point, and has more after it."""
    first = house.table("seven-card", 2, seed="the same", hand_size=20, jokers=4, deals=2)
    play(first, Random("what if"), patience=3)
    before = deal_of(first, 1)
    stocks = [position["stock"] for position in before["positions"]]
    turned = [place for place in range(1, len(stocks)) if stocks[place] > stocks[place - 1]]
    point = turned[1] + 2
    practice = {"deal": before["notation"], "moves": point} | ({"seed": seed} if seed else {})
    table = house.waiting("seven-card", 2, 2, more={"practice": practice})
    play(table, Random("other"), patience=4)
    match = examine(table)
    deal = match["deals"][0]
    assert deal["proof"]["laid_out"]
    assert not match["dealer_by_lot"]
    assert deal["cards"] == before["deal"]["cards"]
    told = [(move["seat"], move["move"], move["drawn"]) for move in deal["moves"]]
    assert told[:point] == [
        (move["seat"], move["move"], move["drawn"]) for move in before["deal"]["moves"][:point]
    ]
    assert deal["turnovers"][:2] == before["deal"]["turnovers"][:2]
    assert len(deal["turnovers"]) > 2
    found = [
        str(fits)
        for number, fits in checked(decoded(table.stranger.get("replay").data))
        if number == 1
    ]
    told = [text for text in found if "reshuffle" in text]
    assert deal["turnovers_given"] == 2
    assert told == ["Nothing is proved of the first reshuffles: 2"]


@pytest.mark.parametrize("seed", "abcdef")
def test_reshuffles_before_the_point_may_happen_to_be_as_the_secret_gives_them(house, seed):
    """Of two cards half of them are, by any secret."""
    rules = agree("seven-card", 3, {"hand_size": 17, "jokers": 2, "decks": 1, "deals": 1})
    deal = next(played(rules, "two cards", keen=0)).record
    assert {len(order) for order in deal.turnovers} == {2}
    practice = {"deal": written(deal), "moves": 20, "seed": seed}
    table = house.waiting("seven-card", 3, 3, more={"practice": practice})
    for player in table.players:
        assert player.post("leave").status_code == 200
    (told,) = replay_of(table)["deals"]
    assert 2 < told["turnovers_given"] <= len(told["turnovers"])


def test_what_if_of_a_later_deal_keeps_its_totals(house):
    first = house.table("straight", 2, seed="later", deals=3)
    play(first, Random(1))
    before = deal_of(first, 3)
    assert any(before["deal"]["totals"])
    practice = {"deal": before["notation"], "moves": 5}
    table = house.waiting("straight", 2, 2, more={"practice": practice})
    play(table, Random(2))
    match = examine(table)
    assert match["deals"][0]["totals"] == before["deal"]["totals"]


def test_a_rematch_has_a_replay_of_its_own(house):
    table = house.table("straight", 2, deals=1, hand_size=3)
    play(table, Random(1))
    again = Table(house, "")
    for player in table.players:
        answer = player.post("rematch")
        again.id = answer.json["game"]["id"]
        again.seat(answer)
    again.stranger = Player(house.client(), again.id)
    play(again, Random(2))
    assert examine(again)["game"] == again.id != examine(table)["game"]


def test_a_long_match_is_one_document(house):
    """Its log is read in many pages."""
    table = house.waiting(
        "straight", 3, more={"computers": ["steady", "random"]}, deals=60, hand_size=3
    )
    play(table, Random(6))
    match = replay_of(table)
    assert len(match["deals"]) == 60
    assert table.game().events > 2_000
    results = [deal["result"] for deal in match["deals"]]
    assert results == table.stranger.get("score?limit=100").json["deals"]
    for number in (1, 30, 60):
        assert deal_of(table, number)["deal"] == match["deals"][number - 1]


# ------------------------------------------------------------------------- while the match goes on


def secrets_of(table: Table, number: int) -> Iterator[str]:
    """What would give away the deals from that one on."""
    match = table.game().match
    yield match.seed
    for deal in range(number, number + 3):
        secret = secret_of(match.seed, deal)
        yield from (secret.seed, secret.nonce)


def test_only_deals_that_are_over_are_shown_and_nothing_of_what_comes(house):
    table = house.waiting("straight", 2, 2, deals=3, hand_size=6)
    chance = Random(8)
    seen: dict[int, str] = {}
    for over in range(3):
        for step in range(3):
            match = table.game().match
            if (match.last.number if match.last else 0) != over:
                break
            for watcher in table.watchers:
                document = replay_of(table, watcher)
                assert document["result"] is None
                assert [deal["number"] for deal in document["deals"]] == list(range(1, over + 1))
                deals = str(document["deals"])
                assert seen.setdefault(over, deals) == deals, "it does not change with the next"
                assert deals.startswith(seen.get(over - 1, "[")[:-1])
                told = str(document) + "".join(
                    watcher.get(f"deals/{number}").text for number in range(1, over + 1)
                )
                assert not [secret for secret in secrets_of(table, over + 1) if secret in told]
                assert code(watcher.get(f"deals/{over + 1}")) == "deal_not_over"
                assert code(watcher.get(f"deals/{over + 2}")) == "no_such_deal"
                for other in ("deals/0", f"deals/{10**30}"):
                    assert code(watcher.get(other)) == "no_such_deal"
            player = table.players[match.deal.turn]
            if step < 2:
                player.make(choose(player.look(), chance))
        play(table, chance, deals=over + 1)
    whole = examine(table)
    for over, deals in seen.items():
        assert str(whole["deals"][:over]) == deals


def test_no_card_of_the_deal_being_played_is_in_a_replay(house):
    """With as few cards dealt as can be, the deal before shows hardly any card at all."""
    table = house.table("straight", 2, seed="hidden", hand_size=3, deals=9)
    play(table, Random(1), deals=3)
    running = table.game().match.deal
    order = ", ".join(f'"{card}"' for card in running.stock[:4])
    hands = [", ".join(f'"{card}"' for card in hand) for hand in running.hands]
    for watcher in table.watchers:
        text = msgspec.json.encode(watcher.get("replay").json).decode().replace('","', '", "')
        assert order not in text
        for number in (1, 2, 3):
            plain = watcher.get(f"deals/{number}", accept="text/plain").text
            assert " ".join(running.stock[:4]) not in plain
        assert [hand for hand in hands if hand in text] == []


def test_who_may_look_at_the_match_may_look_at_its_replay(house):
    table = house.waiting("straight", 2, 2, more={"spectators": False}, deals=2, hand_size=4)
    play(table, Random(1), deals=1)
    for part in ("replay", "deals/1", "deals/2"):
        assert code(table.stranger.get(part)) == "no_spectators"
    for player in table.players:
        assert len(replay_of(table, player)["deals"]) == 1
        assert deal_of(table, 1, player)["deal"]["number"] == 1
    elsewhere = house.waiting("straight").players[0]
    stranger = Player(house.client(), table.id, 0, elsewhere.token)
    assert code(stranger.get("replay")) == "not_your_seat"


def test_before_a_match_there_is_nothing_to_replay(house):
    table = house.waiting("straight", 3, 2)
    for part in ("replay", "deals/1"):
        assert code(table.stranger.get(part)) == "not_started"
    table.players[0].post("close")
    for part in ("replay", "deals/1"):
        assert code(table.stranger.get(part)) == "table_closed"
    nowhere = Player(house.client(), "a" * 16)
    for part in ("replay", "deals/1"):
        assert code(nowhere.get(part)) == "no_such_game"


# -------------------------------------------------------------------- of an older version


def make_older(table: Table, deals: int) -> None:
    """Take out of the store what versions of before did not keep of so many deals."""
    part = f"rummy:{{{table.id}}}:"
    for logged in table.house.store.events(table.id, 0, 10**6):
        event = msgspec.to_builtins(logged.event)
        if event["type"] == "revealed" and event["proof"]["deal"] <= deals:
            table.house.redis.xdel(part + "events", f"{logged.number}-0")
    for number in range(1, deals + 1):
        table.house.redis.hdel(part + "begins", str(number))


def test_a_deal_of_before_has_no_replay(house):
    table = house.waiting("straight", 2, 2, deals=3, hand_size=4)
    play(table, Random(1))
    make_older(table, 1)
    for part in ("replay", "deals/1"):
        answer = table.stranger.get(part)
        assert (code(answer), answer.json["params"]) == ("no_replay", {"deal": 1})
    assert deal_of(table, 2)["deal"]["number"] == 2
    assert deal_of(table, 3)["deal"]["number"] == 3


def test_a_deal_that_was_dealt_by_an_older_version_and_played_by_this_one(house):
    """Its secret was not committed to, so it is not shown; nor is where it begins known."""
    table = house.position(hands="5C 5D 5H | 2S 3S")
    game = table.game()
    old = replace(game.match, deal=replace(game.match.deal, shuffle=None))
    house.store.commit(replace(game, version=game.version + 1, match=old), ())
    assert table.players[0].play("meld 5C 5D 5H").status_code == 200
    for part in ("replay", "deals/1"):
        answer = table.stranger.get(part)
        assert (code(answer), answer.json["params"]) == ("no_replay", {"deal": 1})


def test_a_log_of_which_a_part_is_gone_is_no_replay(house):
    table = house.waiting("straight", 2, 2, deals=2, hand_size=4)
    play(table, Random(1))
    house.redis.delete(f"rummy:{{{table.id}}}:events")
    for part in ("replay", "deals/2"):
        assert code(table.stranger.get(part)) == "no_replay"


# -------------------------------------------------------------------------------- the schema


def test_the_schema_is_published_and_stands_by_itself(house):
    answer = house.client().get("/replay.schema.json")
    assert answer.status_code == 200
    jsonschema.Draft202012Validator.check_schema(answer.json)
    assert answer.json == replay_schema()
    table = house.table("straight", 2, seed="schema", hand_size=3, deals=1)
    play(table, Random(1))
    whole = jsonschema.Draft202012Validator(answer.json)
    for part in ("replay", "deals/1"):
        document = table.stranger.get(part).json
        assert whole.is_valid(document)
        assert not whole.is_valid(document | {"format": "rummy-replay-9"})
        for field in document:
            assert not whole.is_valid({name: document[name] for name in document if name != field})


def test_either_form_can_be_asked_for(house):
    table = house.table("straight", 2, seed="forms", hand_size=3, deals=1)
    play(table, Random(1))
    for accept, kind in (
        ("text/plain", "text/plain"),
        ("text/*", "text/plain"),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("text/plain;q=0.5, application/json", "application/json"),
    ):
        answer = table.stranger.get("deals/1", accept=accept)
        assert answer.status_code == 200
        assert answer.content_type.startswith(kind)
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers["Vary"] == "Authorization, Accept"


# -------------------------------------------------------------------------------- nothing new

PARTS = {
    "the match": ("replay", {}),
    "a deal": ("deals/1", {}),
    "its text": ("deals/1", {"accept": "text/plain"}),
    "another deal": ("deals/2", {}),
}


def tags_of(table: Table) -> dict[str, str]:
    """The tag of each part that there is, with which there is nothing new."""
    tags = {}
    for name, (part, headers) in PARTS.items():
        answer = table.stranger.get(part, **headers)
        if answer.status_code == 200:
            tags[name] = answer.headers["ETag"]
            again = table.stranger.get(part, **headers, if_none_match=f'"7", W/{tags[name]}')
            assert (again.status_code, again.data) == (304, b"")
            for header in ("ETag", "Cache-Control", "Vary"):
                assert again.headers[header] == answer.headers[header]
            other = table.stranger.get(part, **headers, if_none_match='"7"')
            assert other.data == answer.data
    assert len(set(tags.values())) == len(tags)
    return tags


def test_a_replay_keeps_its_tag_until_it_shows_something_else(house):
    table = house.waiting("straight", 2, 2, deals=3, hand_size=4)
    play(table, Random(1), deals=1)
    first = tags_of(table)
    assert list(first) == list(PARTS)[:3]
    play_one(table)
    assert tags_of(table) == first, "what is still being played is not in it"
    play(table, Random(1), deals=2)
    second = tags_of(table)
    assert second["the match"] != first["the match"]
    assert second["a deal"] == first["a deal"]
    table.mover.post("leave")
    third = tags_of(table)
    assert not set(third.values()) & set(second.values()), "the computer plays that seat now"
    assert table.stranger.get("replay", if_none_match=second["the match"]).status_code == 200


def test_a_replay_has_another_tag_when_the_match_is_given_up(house):
    table = house.waiting("straight", 2, 2, deals=9, hand_size=4)
    play(table, Random(1), deals=1)
    for player in table.players:
        player.post("leave")
    document = table.stranger.get("replay")
    assert document.json["result"]["reason"] == "abandoned"
    assert tags_of(table)["the match"] == document.headers["ETag"]


def test_who_has_the_replay_is_told_so_before_the_log_is_read(house):
    table = house.waiting("straight", 2, 2, deals=2, hand_size=4)
    play(table, Random(1))
    tags = tags_of(table)
    house.redis.delete(f"rummy:{{{table.id}}}:events")
    for name, (part, headers) in PARTS.items():
        assert code(table.stranger.get(part, **headers)) == "no_replay"
        known = table.stranger.get(part, **headers, if_none_match=tags[name])
        assert known.status_code == 304


def test_a_replay_that_is_refused_is_refused_with_any_tag(house):
    table = house.waiting("straight", 2, 2, more={"spectators": False}, deals=1, hand_size=4)
    play(table, Random(1))
    tag = table.players[0].get("replay").headers["ETag"]
    assert code(table.stranger.get("replay", if_none_match=tag)) == "no_spectators"
    assert table.players[1].get("replay", if_none_match=tag).status_code == 304


def play_one(table: Table) -> None:
    player = table.mover
    assert player.make(choose(player.look(), Random(1))).status_code == 200

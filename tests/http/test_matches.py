"""Whole matches over HTTP, to the end, by players who see nothing but their own view.

Most are practice tables, so that each match is the same in every run.
"""

import re
from itertools import cycle
from random import Random

import pytest
from werkzeug.test import TestResponse

from service.game import Game
from tests.http.ledger import Ledger
from tests.http.simple_player import choose
from tests.http.tables import Clock, Player, Table, assert_no_card_is_lost

CARD = re.compile(r"\b[A23456789TJQK][CDHS]\b")
MOST_CHANGES = 5_000


class Match:
    """A match being played, with a book kept by each seat and by a spectator."""

    def __init__(self, table: Table, seed: int, patience: int = 0) -> None:
        self.table = table
        self.chance = Random(seed)
        self.patience = patience
        self.books = {player.seat: Ledger(player.seat) for player in table.watchers}
        self.watching = cycle(table.watchers)
        self.secrets = Secrets(table.game())
        self.sizes: list[int] = []
        """How large the record was in the first turn of each deal: each deal begins anew."""
        self.changes = 0

    def play(self) -> None:
        """Play to the end; after every other change one of the watchers looks and reads on."""
        version = self.table.game().version
        view = self.table.mover.look()
        while view["status"] == "playing":
            player = self._caller() or self.table.players[view["deal"]["turn"]]
            before = player.look() if player.seat != view["you"] else view
            patience = self.patience if before["deal"]["number"] == 1 else 0
            answer = player.make(choose(before, self.chance, patience))
            version += 1
            assert (answer.status_code, answer.json["version"]) == (200, version), answer.text
            view = answer.json["game"]
            assert [entry["version"] for entry in answer.json["events"]] == [version] * len(
                answer.json["events"]
            )
            self._look_around(answer, player)
            self.changes += 1
            assert self.changes < MOST_CHANGES

    def _look_around(self, answer: TestResponse, mover: Player) -> None:
        game = self.table.game()
        assert_no_card_is_lost(game)
        if game.match.deal and game.match.deal.turns == 0:
            self.sizes.append(self.table.record_size())
        self.secrets.learn(game)
        self.secrets.are_kept_by(answer, mover.seat)
        if self.changes % 2:
            return
        watcher = next(self.watching)
        book = self.books[watcher.seat]
        query = "?memory=true" if self.changes % 4 else ""
        look, read = watcher.get(query), watcher.get(f"events?after={book.read}&limit=500")
        self.secrets.are_kept_by(look, watcher.seat)
        self.secrets.are_kept_by(read, watcher.seat)
        book.enter(read.json["events"])
        book.agrees_with(look.json)
        if watcher.seat is not None and self.changes % 10 == 0:
            listed = watcher.get("moves")
            self.secrets.are_kept_by(listed, watcher.seat)
            assert listed.json["moves"][: len(look.json["moves"])] == look.json["moves"]

    def _caller(self) -> Player | None:
        """Somebody who may call the discard, if anybody feels like it."""
        shown = self.table.stranger.look()["deal"] if self.table.game().match.deal.window else None
        if shown is None or shown["call"] is None or self.chance.random() < 0.3:
            return None
        discarder = shown["call"]["discarded_by"]
        callers = [player for player in self.table.players if player.seat != discarder]
        return self.chance.choice(callers)

    def the_log_tells_it_all(self) -> None:
        """Every watcher reads the log from beginning to end, and comes to the score."""
        score = self.table.stranger.get("score").json
        final = self.table.stranger.look()
        for player in self.table.watchers:
            book = Ledger(player.seat)
            book.enter(player.log(page=self.chance.choice([7, 50, 500])))
            book.agrees_with(player.look())
            assert book.read == self.table.game().events
            assert score["deals"] == book.results
            assert score["totals"] == book.totals == final["totals"]
            assert score["result"] == book.result == final["result"]
            self.books[player.seat] = book

    @property
    def book(self) -> Ledger:
        return self.books[None]


class Secrets:
    """The cards that nobody may learn from an answer. With one deck a card is in one place only."""

    def __init__(self, game: Game) -> None:
        self.unique = game.match.rules.decks == 1
        self.deal = 0
        self.public: set[str] = set()
        self.hands: list[set[str]] = []
        self.learn(game)

    def learn(self, game: Game) -> None:
        """What has lain open on the table in this deal, and what each player has held."""
        deal = game.match.deal
        if deal is None:
            return
        if deal.number != self.deal:
            self.deal, self.public = deal.number, set()
            self.hands = [set() for _ in deal.hands]
        self.public.update(deal.pile)
        for meld in deal.melds:
            self.public.update(meld.faces)
        for known, hand in zip(self.hands, deal.hands, strict=True):
            known.update(hand)

    def are_kept_by(self, answer: TestResponse, seat: int | None) -> None:
        """No card is in the answer but those that the seat has held and those that lay open."""
        if not self.unique:
            return
        # What a joker in the own hand could stand for is nothing that anybody was told.
        text = re.sub(r"'jokers': \[[^\]]*\]", "", of_this_deal(answer))
        told = set(CARD.findall(f"{text} {answer.headers}"))
        known = self.public | (set() if seat is None else self.hands[seat])
        assert told <= known, f"seat {seat} was told {told - known}"


def of_this_deal(answer: TestResponse) -> str:
    """The answer without what it tells of finished deals, whose hands are open."""
    body = answer.json
    entries = body.get("events", [])
    ends = [place for place, entry in enumerate(entries) if entry["event"]["type"] == "deal_ended"]
    if entries:
        body["events"] = entries[ends[-1] + 1 :] if ends else entries
    for view in (body, body.get("game", {})):
        if isinstance(view, dict):
            view.pop("last_deal", None)
    return str(body)


def played(table: Table, seed: int = 1, patience: int = 0) -> Match:
    match = Match(table, seed, patience)
    match.play()
    match.the_log_tells_it_all()
    return match


# ------------------------------------------------------------------------ long matches


@pytest.mark.parametrize(
    ("variant", "players", "options", "seed"),
    [
        ("straight", 2, {"deals": 2}, 7),
        ("seven-card", 4, {"jokers": 2, "deals": 2}, 2),
        ("parlett", 3, {"deals": 2, "hand_size": 10}, 7),
        ("call-rummy", 3, {"deals": 2}, 2),
    ],
)
def test_a_match_in_which_the_stock_runs_out(house, variant, players, options, seed):
    table = house.table(variant, players, seed=f"{variant} {seed}", **options)
    match = played(table, seed, patience=1)
    assert match.book.turnovers
    assert [result["number"] for result in match.book.results] == [1, 2]


def test_the_record_does_not_grow_with_the_match(house):
    match = played(house.table("straight", 2, seed="growth", deals=12, hand_size=3))
    half = len(match.sizes) // 2
    assert max(match.sizes[half:]) < 1.1 * max(match.sizes[:half])
    assert len(match.book.results) == 12
    assert len(match.sizes) >= 16


# ------------------------------------------------------------------------ many kinds of tables


@pytest.mark.parametrize(
    ("variant", "players", "options", "seed"),
    [
        ("straight", 2, {"target": 50}, 1),
        ("straight", 3, {"final_discard": True, "aces": "high_or_low"}, 7),
        (
            "straight",
            4,
            {"layoffs": "none", "melds_per_turn": "unlimited", "hand_size": 3, "deals": 3},
            4,
        ),
        ("straight", 6, {"hand_size": 4, "turnovers": 1}, 4),
        ("seven-card", 2, {"jokers": 2, "aces": "high_or_low", "upcard": True, "deals": 2}, 2),
        ("seven-card", 5, {"jokers": 4}, 1),
        ("parlett", 2, {"target": 80, "joker_swap": False, "jokers": 4}, 5),
        ("parlett", 4, {"decks": 2, "jokers": 4}, 2),
        ("parlett", 7, {"aces": "high_or_low"}, 2),
        ("call-rummy", 2, {"target": 40}, 5),
        ("call-rummy", 4, {"jokers": 3, "scoring": "winner_takes", "deals": 2}, 5),
        ("call-rummy", 6, {"decks": 2, "deals": 2, "hand_size": 3}, 3),
    ],
)
def test_a_match_to_the_end(house, variant, players, options, seed):
    match = played(house.table(variant, players, seed=f"{variant} {seed}", **options), seed)
    score = match.table.stranger.get("score").json
    assert score["status"] == "finished"
    if "target" in options:
        reached = [max(deal["totals"]) >= options["target"] for deal in score["deals"]]
        assert reached == [False] * (len(reached) - 1) + [True]
    else:
        assert len(score["deals"]) == options.get("deals", 1)
    low = match.table.stranger.look()["options"]["scoring"] == "penalty"
    best = (min if low else max)(score["totals"])
    winners = [seat for seat, total in enumerate(score["totals"]) if total == best]
    assert score["result"]["winners"] == winners


def test_a_match_at_a_table_whose_cards_nobody_knows_beforehand(house):
    table = house.table("seven-card", 3, hand_size=3, deals=2)
    assert not table.stranger.look()["practice"]
    assert len(played(table).book.results) == 2


@pytest.mark.parametrize("players", range(2, 9))
def test_seven_card_rummy_is_for_two_to_eight(house, players):
    table = house.table("seven-card", players, seed=f"seven-card {players}", hand_size=3)
    assert table.stranger.look()["options"]["decks"] == (1 if players < 5 else 2)
    assert played(table, seed=players).book.result["reason"] == "deals_played"


def test_a_match_with_a_timed_call(timed_house, clock):
    table = timed_house.table(
        "call-rummy", 4, seed="call-rummy 3", call="timed", call_seconds=5, jokers=3, deals=4
    )
    match = HurriedMatch(table, clock, seed=1)
    match.play()
    match.the_log_tells_it_all()
    assert match.book.calls


class HurriedMatch(Match):
    """Nobody moves while a call is open, unless to call."""

    def __init__(self, table: Table, clock: Clock, seed: int) -> None:
        super().__init__(table, seed)
        self.clock = clock

    def _caller(self) -> Player | None:
        caller = super()._caller()
        deal = self.table.stranger.look()["deal"]
        if caller is None and deal["call"] is not None:
            refused = self.table.players[deal["turn"]].draw("stock")
            assert refused.json["code"] == "call_pending"
            self.clock.forward(5)
            assert self.table.stranger.look()["deal"]["call"] is None
        return caller


# ------------------------------------------------------------------------ after the end


def test_after_the_end_nobody_plays_another_card_and_everybody_can_look(house):
    table = house.position("straight", hands="5C 5D 5H | 2S 3S", pile="9D")
    assert table.players[0].play("meld 5C 5D 5H").status_code == 200
    view = table.players[1].look()
    assert (view["status"], view["deal"], view["moves"]) == ("finished", None, [])
    assert view["last_deal"]["hands"] == [[], ["2S", "3S"]]
    assert view["result"]["winners"] == [0]
    assert table.players[1].get("moves").json["moves"] == []
    refused = table.players[1].draw("stock")
    assert (refused.status_code, refused.json["code"]) == (409, "match_over")


def test_the_next_deal_is_in_the_answer_that_ends_the_one_before(house):
    table = house.position("straight", hands="5C 5D 5H | 2S 3S", pile="9D", deals=2)
    answer = table.players[0].play("meld 5C 5D 5H")
    assert [entry["event"]["type"] for entry in answer.json["events"]] == [
        "melded",
        "deal_ended",
        "dealt",
    ]
    deal = answer.json["game"]["deal"]
    assert (deal["number"], deal["dealer"], deal["turn"]) == (2, 0, 1)
    assert answer.json["game"]["last_deal"]["scores"] == [5, 0]

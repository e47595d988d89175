"""Fair cards over HTTP: committed to, mixed with what the seats add, shown after, never before.

Whether they are is worked out by `tests.fair`, which knows docs/fairness.md and not the service.
"""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from werkzeug.test import TestResponse

from service.rummy.rules import PRESETS
from tests import fair
from tests.http.simple_player import choose
from tests.http.tables import Player, Table, code
from tests.test_verifier import verified, wrong

NEVER = 99
"""The patience of players who lay nothing down before the pile was turned over so often."""


def played(
    table: Table, seed: object = 1, patience: int = 0, to_the_end: bool = True
) -> Iterator[TestResponse]:
    """The answers to the moves of the match, or of its deal, one by one."""
    chance = Random(f"{seed}")
    view = table.stranger.look()
    number = view["deal"]["number"]
    while view["status"] == "playing" and (to_the_end or view["deal"]["number"] == number):
        player = table.players[view["deal"]["turn"]]
        patient = patience if view["deal"]["number"] == number else 0
        answer = player.make(choose(player.look(), chance, patient))
        assert answer.status_code == 200, answer.text
        view = answer.json["game"]
        yield answer


def play_out(table: Table, seed: object = 1, patience: int = 0) -> None:
    for _ in played(table, seed, patience):
        pass


def play_a_deal(table: Table, seed: object = 1, patience: int = 0) -> None:
    for _ in played(table, seed, patience, to_the_end=False):
        pass


def fairness(table: Table) -> dict:
    """What everybody sees of it."""
    seen = [watcher.look()["fairness"] for watcher in table.watchers]
    assert all(one == seen[0] for one in seen)
    return seen[0]


def told(table: Table, kind: str) -> list[dict]:
    """The events of that kind in the log, which everybody can read."""
    logs = [
        [entry["event"] for entry in watcher.log() if entry["event"]["type"] == kind]
        for watcher in table.watchers
    ]
    if kind != "dealt":
        assert all(log == logs[-1] for log in logs)
    return logs[-1]


def add(table: Table, seat: int, entropy: str) -> dict:
    answer = table.players[seat].post("entropy", {"entropy": entropy})
    assert answer.status_code == 200, answer.text
    return answer.json


def hands(table: Table) -> list[list[str]]:
    return [player.look()["hand"] for player in table.players]


# ------------------------------------------------------------------------- worked out from the log


class Shown:
    """All that the seats of a table were shown together, and whether it is what was promised."""

    def __init__(self, table: Table) -> None:
        self.game = table.id
        self.options = table.stranger.look()["options"]
        logs = [player.log() for player in table.players]
        self.entries = [entry["event"] for entry in table.stranger.log()]
        for place, event in enumerate(self.entries):
            if event["type"] == "dealt":
                event["hands"] = [log[place]["event"]["hand"] for log in logs]
            if event["type"] == "drew":
                event["card"] = logs[event["seat"]][place]["event"]["card"]
        self.proofs = {
            event["proof"]["deal"]: event["proof"]
            for event in self.entries
            if event["type"] == "revealed"
        }
        self.commitments: dict[int, str] = {}
        self.entropy: dict[int, str] = {}
        self.keys: dict[int, bytes] = {}
        self.turned_over = 0
        self.reshuffles = 0
        self.checked = 0

    def check(self) -> "Shown":
        """Everything that happened in deals that have ended was fixed before."""
        for event in self.entries:
            happened = getattr(self, "_" + event["type"], None)
            if happened:
                happened(event)
        return self

    def _committed(self, event: dict) -> None:
        assert event["deal"] == len(self.commitments) + 1
        assert event["shuffle"] == "rummy-shuffle-1"
        self.commitments[event["deal"]] = event["commitment"]
        self.entropy = {}

    def _entropy_added(self, event: dict) -> None:
        self.entropy[event["seat"]] = event["entropy"]

    def _dealer_drawn(self, event: dict) -> None:
        self.dealer = event["seat"] - 1
        key = self._key(1)
        if key and event["by_lot"]:
            assert event["seat"] == fair.lot(key, "dealer", self.options["players"])

    def _dealt(self, event: dict) -> None:
        players, size = self.options["players"], self.options["hand_size"]
        self.dealer = (self.dealer + 1) % players
        assert event["dealer"] == self.dealer
        self.number, self.turnovers = event["deal"], 0
        self.key = self._key(self.number)
        self.upcards = [event["upcard"]] if event["upcard"] else []
        if not self.key:
            return
        self.checked += 1
        pack = fair.pack(self.options["decks"], self.options["jokers"])
        self.stock = fair.shuffled(self.key, "cards", pack)
        dealt: list[list[str]] = [[] for _ in range(players)]
        for place in range(size * players):
            dealt[(self.dealer + 1 + place) % players].append(self.stock.pop(0))
        assert [Counter(hand) for hand in dealt] == [Counter(hand) for hand in event["hands"]]
        if self.options["upcard"]:
            assert self.upcards == [self.stock.pop(0)]
        assert event["stock"] == len(self.stock)

    def _key(self, number: int) -> bytes | None:
        """The key of that deal; None: it has not ended."""
        proof = self.proofs.get(number)
        if proof is None:
            return None
        assert proof["shuffle"] == "rummy-shuffle-1"
        assert proof["commitment"] == self.commitments[number]
        assert proof["commitment"] == fair.commitment(
            self.game, number, proof["nonce"], proof["seed"]
        )
        if number not in self.keys:
            added = {seat: text for seat, text in enumerate(proof["entropy"]) if text}
            assert added == self.entropy
            self.keys[number] = fair.key(proof["seed"], proof["entropy"])
        return self.keys[number]

    def _drew(self, event: dict) -> None:
        if event["source"] == "discard":
            assert event["card"] == self.upcards.pop()
        elif self.key:
            assert event["card"] == self.stock.pop(0)

    def _discarded(self, event: dict) -> None:
        self.upcards.append(event["card"])

    def _called(self, event: dict) -> None:
        assert event["card"] == self.upcards.pop()

    def _turned_over(self, event: dict) -> None:
        if not self.key:
            return
        assert self.stock == []
        self.turnovers += 1
        self.turned_over += 1
        stays = [self.upcards.pop()] if self.options["turnover_keeps_upcard"] else []
        self.stock = self.upcards
        if self.options["turnover_shuffles"]:
            self.stock = fair.turned_over(self.key, self.turnovers, self.stock)
            self.reshuffles += 1
        if self.options["turnover_new_upcard"]:
            stays = [self.stock.pop(0)]
        self.upcards = stays
        assert event["stock"] == len(self.stock)
        assert event["upcard"] == (stays[0] if stays else None)


# ------------------------------------------------------------------------------- the commitment


@pytest.mark.clause("table.7")
def test_the_commitment_is_shown_before_anybody_adds_entropy_and_before_the_deal(house):
    table = house.waiting("straight", 2, deals=2, more={"autostart": False})
    first = fairness(table)["next"]
    assert (first["deal"], first["entropy"]) == (1, [])
    assert fairness(table) == {
        "shuffle": "rummy-shuffle-1", "commitment": None, "next": first, "revealed": None
    }  # fmt: skip
    table.seat(table.stranger.post("join", {"name": "bo", "entropy": "heads"}))
    table.players[0].post("start")
    kinds = [entry["event"]["type"] for entry in table.stranger.log()]
    assert kinds == [
        "committed", "joined", "joined", "entropy_added", "started", "dealer_drawn", "dealt",
        "committed",
    ]  # fmt: skip
    one, two = told(table, "committed")
    assert (one["deal"], two["deal"]) == (1, 2)
    now = fairness(table)
    assert now["commitment"] == first["commitment"] == one["commitment"]
    assert (now["next"]["deal"], now["next"]["commitment"]) == (2, two["commitment"])


def test_the_commitment_stays_as_it_is_until_it_is_redeemed(house):
    table = house.table("seven-card", 2, seed="stays", deals=3, hand_size=3)
    seen: dict[int, set[str]] = {}
    for answer in played(table):
        now = answer.json["game"]["fairness"]
        deal = answer.json["game"]["deal"]
        if deal:
            seen.setdefault(deal["number"], set()).add(now["commitment"])
        if now["next"]:
            seen.setdefault(now["next"]["deal"], set()).add(now["next"]["commitment"])
    proofs = [event["proof"] for event in told(table, "revealed")]
    assert seen == {proof["deal"]: {proof["commitment"]} for proof in proofs}
    assert len({proof["commitment"] for proof in proofs}) == 3


def test_no_two_tables_have_the_same_commitment(house):
    tables = [house.waiting("straight", 2, more={"practice": {"seed": "same"}}) for _ in range(3)]
    assert len({fairness(table)["next"]["commitment"] for table in tables}) == 3


def test_in_the_last_deal_there_is_no_next_one(house):
    table = house.table("straight", 2, deals=1)
    assert fairness(table)["next"] is None
    assert [event["deal"] for event in told(table, "committed")] == [1]


def test_a_target_can_be_reached_before_the_next_deal(house):
    table = house.table("straight", 2, seed="target", target=1, hand_size=3)
    assert fairness(table)["next"]["deal"] == 2
    play_out(table)
    assert fairness(table)["next"] is None
    shown = Shown(table).check()
    assert len(shown.commitments) == len(shown.proofs) + 1


# ----------------------------------------------------------------------------------- the entropy


@pytest.mark.clause("table.7")
def test_entropy_at_joining_by_post_replaced_and_of_several_seats(house):
    table = house.waiting("straight", 3, deals=2, more={"autostart": False})
    table.seat(table.stranger.post("join", {"name": "bo", "entropy": "tails"}))
    assert fairness(table)["next"]["entropy"] == ["", "tails"]
    add(table, 0, "heads")
    add(table, 1, "edge")
    table.seat(table.stranger.post("join", {"name": "cleo"}))
    assert fairness(table)["next"]["entropy"] == ["heads", "edge", ""]
    table.players[0].post("start")
    assert [(event["seat"], event["entropy"]) for event in told(table, "entropy_added")] == [
        (1, "tails"), (0, "heads"), (1, "edge"),
    ]  # fmt: skip
    play_a_deal(table)
    assert fairness(table)["revealed"]["entropy"] == ["heads", "edge", ""]
    assert Shown(table).check().checked == 1


def test_the_same_again_changes_nothing(house):
    table = house.table("straight", 2, deals=2)
    first = add(table, 1, "heads")
    again = add(table, 1, "heads")
    assert again["version"] == first["version"]
    assert again["events"] == []
    assert len(told(table, "entropy_added")) == 1


@pytest.mark.clause("table.7")
def test_entropy_counts_for_the_next_deal_alone(house):
    table = house.table("seven-card", 2, seed="counts", deals=4, hand_size=3)
    add(table, 1, "for-deal-2")
    assert fairness(table)["next"]["entropy"] == ["", "for-deal-2"]
    play_a_deal(table)
    assert fairness(table)["next"]["entropy"] == []
    play_a_deal(table)
    add(table, 0, "for-deal-4")
    play_out(table)
    proofs = [event["proof"] for event in told(table, "revealed")]
    assert [proof["entropy"] for proof in proofs] == [
        [], ["", "for-deal-2"], [], ["for-deal-4", ""],
    ]  # fmt: skip
    assert Shown(table).check().checked == 4


def test_entropy_for_the_next_deal_changes_nothing_of_this_one(house):
    one, other = (house.table("straight", 2, seed="steady", deals=2) for _ in range(2))
    add(other, 0, "heads")
    assert hands(one) == hands(other)
    seat = one.stranger.look()["deal"]["turn"]
    drawn = [table.players[seat].draw("stock").json["game"]["hand"] for table in (one, other)]
    assert drawn[0] == drawn[1]


def test_other_entropy_gives_other_cards_of_the_same_seed(house):
    dealt = []
    for added in ({}, {"entropy": "a"}, {"entropy": "b"}, {"entropy": "a"}):
        table = house.waiting("straight", 2, more={"practice": {"seed": "same"}})
        table.seat(table.stranger.post("join", {"name": "bo", **added}))
        dealt.append(hands(table))
    assert dealt[1] == dealt[3]
    assert len({json.dumps(one) for one in dealt}) == 3


def test_the_cards_depend_on_the_seat_that_adds(house):
    dealt = []
    for seat in (0, 1):
        table = house.waiting(
            "straight", 2, 2, more={"practice": {"seed": "same"}, "autostart": False}
        )
        add(table, seat, "heads")
        table.players[0].post("start")
        dealt.append(hands(table))
    assert dealt[0] != dealt[1]


def test_before_the_start_entropy_goes_with_its_player(house):
    table = house.waiting("straight", 4, 3, more={"autostart": False})
    add(table, 1, "of-bo")
    add(table, 2, "of-cleo")
    table.players[1].post("leave")
    assert table.stranger.look()["fairness"]["next"]["entropy"] == ["", "of-cleo"]
    table.players[2].post("leave")
    assert table.stranger.look()["fairness"]["next"]["entropy"] == []


def test_the_entropy_of_who_left_the_match_stays(house):
    table = house.table("straight", 3, deals=2)
    add(table, 1, "of-bo")
    table.players[1].post("leave")
    assert fairness(table)["next"]["entropy"] == ["", "of-bo", ""]


BAD = {
    "empty": "",
    "a space": "heads tails",
    "spaces": "   ",
    "a line feed at the end": "heads\n",
    "a tab": "a\tb",
    "too long": "a" * 101,
    "not ASCII": "æble",
    "a zero byte": "a\0",
    "a number": 7,
    "a list": ["heads"],
}


@pytest.mark.parametrize("entropy", BAD.values(), ids=BAD)
def test_what_is_no_entropy_is_refused_by_the_name_of_the_field(house, entropy):
    table = house.waiting("straight", 3, 2)
    stored = table.stored()
    for answer in (
        table.stranger.post("join", {"name": "cleo", "entropy": entropy}),
        table.players[0].post("entropy", {"entropy": entropy}),
        table.players[0].post("rematch", {"entropy": entropy}),
    ):
        assert (answer.status_code, code(answer)) == (422, "invalid_request")
        assert [wrong["field"] for wrong in answer.json["fields"]] == ["entropy"]
    assert table.stored() == stored


@pytest.mark.parametrize("body", [{}, {"entropy": None}, None])
def test_entropy_of_its_own_has_to_be_there(house, body):
    table = house.waiting("straight", 2)
    assert table.players[0].post("entropy", body).status_code == 422


@pytest.mark.parametrize("entropy", ["!", "~" * 100, "\"\\'<>&%", "0", "null"])
def test_any_printable_text_without_spaces_is_entropy(house, entropy):
    table = house.table("seven-card", 2, seed="any", deals=2, hand_size=3)
    add(table, 1, entropy)
    play_out(table)
    assert Shown(table).check().proofs[2]["entropy"] == ["", entropy]


def test_the_maker_of_a_table_adds_no_entropy_before_the_commitment_can_be_seen(house):
    answer = house.new_table("straight", options={"deals": 1}, entropy="heads")
    assert answer.status_code == 422
    assert "entropy" in answer.text


# ------------------------------------------------------------------------ when the deal has ended


@pytest.mark.parametrize("how", ["went_out", "blocked", "abandoned"])
def test_the_secret_is_shown_however_the_deal_ended(house, how):
    table = house.table("seven-card", 2, seed=how, deals=3, turnovers=0, upcard=True)
    if how == "abandoned":
        table.mover.draw("stock")
        for player in table.players:
            player.post("leave")
        assert table.stranger.look()["result"]["reason"] == how
    else:
        play_a_deal(table, patience=NEVER if how == "blocked" else 0)
        assert table.stranger.look()["last_deal"]["reason"] == how
    shown = Shown(table).check()
    assert list(shown.proofs) == [1]
    assert shown.checked == 1
    assert fairness(table)["revealed"] == shown.proofs[1]
    assert fairness(table)["revealed"]["laid_out"] is False
    # The next one's stays hidden, and if there is none it stays so for good.
    assert (fairness(table)["next"] is None) == (how == "abandoned")


def test_a_deal_that_was_laid_out_says_so(house):
    order = fair.pack(1, 0)
    practice = {"order": order, "seed": "laid out", "dealer": 1}
    table = house.waiting("straight", 2, 2, more={"practice": practice}, deals=2)
    play_out(table)
    first, second = (event["proof"] for event in told(table, "revealed"))
    assert (first["laid_out"], second["laid_out"]) == (True, False)
    for proof in (first, second):
        assert (proof["seed"], proof["nonce"]) == fair.secret("laid out", proof["deal"])
        assert proof["commitment"] == fair.commitment(
            table.id, proof["deal"], proof["nonce"], proof["seed"]
        )


LONG: list[tuple[str, int, dict, int]] = [
    ("straight", 2, {"deals": 2}, 7),
    ("seven-card", 3, {"jokers": 2, "deals": 2}, 2),
    ("seven-card", 5, {"deals": 2, "turnover_new_upcard": True, "turnover_keeps_upcard": False}, 1),
    ("parlett", 3, {"deals": 2, "hand_size": 10}, 7),
    ("parlett", 4, {"decks": 2, "jokers": 4}, 2),
    ("call-rummy", 3, {"deals": 2}, 2),
]


@pytest.mark.clause("table.7")
@pytest.mark.parametrize(("variant", "players", "options", "seed"), LONG)
def test_whole_matches_are_what_was_promised(house, variant, players, options, seed):
    more = {"practice": {"seed": f"fair {seed}"}, "autostart": False}
    table = house.waiting(variant, players, players, more=more, **options)
    add(table, players - 1, "27-coins-and-a-die")
    table.players[0].post("start")
    if options.get("deals", 1) > 1:
        add(table, 0, "HTTHTHHT")
        add(table, 1, "x")
    play_out(table, seed, patience=2)
    shown = Shown(table).check()
    assert shown.checked == len(shown.proofs) == options.get("deals", 1)
    assert shown.turned_over > 0
    assert shown.reshuffles == (shown.turned_over if variant == "seven-card" else 0)
    assert len(shown.keys[1]) == 32
    replay = table.stranger.get("replay").json
    assert [deal["proof"] for deal in replay["deals"]] == list(shown.proofs.values())


def test_the_verifier_agrees_with_the_replays_that_the_service_gives(house):
    table = house.table("seven-card", 4, seed="verifier", deals=2, jokers=2)
    add(table, 3, "~")
    play_out(table, patience=1)
    replay = table.stranger.get("replay").json
    lines = verified("-", json.dumps(replay))
    turned = Shown(table).check().reshuffles
    assert turned > 0
    assert len(lines) == 2 * 3 + turned
    assert {line.split()[0] for line in lines} == {"ok"}
    for number in (1, 2):
        deal = table.stranger.get(f"deals/{number}").json
        assert f"ok deal {number}: cards" in verified("-", json.dumps(deal))
    replay["deals"][1]["cards"].reverse()
    assert wrong(replay) == ["deal 2: cards"]


def test_a_table_whose_seed_nobody_knows_is_what_was_promised(house):
    table = house.table("seven-card", 4, deals=3, hand_size=3)
    play_out(table)
    assert Shown(table).check().checked == 3


def test_a_rematch_has_commitments_of_its_own(house):
    table = house.waiting("straight", 2, 2, more={"autostart": False}, hand_size=3)
    table.players[0].post("start")
    play_out(table)
    answers = [player.post("rematch", {"entropy": f"of-{player.seat}"}) for player in table.players]
    following = Table(house, answers[0].json["game"]["id"])
    for answer in answers:
        following.seat(answer)
    assert [entry["event"]["type"] for entry in following.stranger.log()] == [
        "committed", "joined", "entropy_added", "joined", "entropy_added"
    ]  # fmt: skip
    add(following, 0, "another")
    following.players[0].post("start")
    play_out(following)
    old, new = (Shown(one).check() for one in (table, following))
    assert new.proofs[1]["entropy"] == ["another", "of-1"]
    assert {old.proofs[1][part] for part in ("seed", "nonce", "commitment")}.isdisjoint(
        new.proofs[1][part] for part in ("seed", "nonce", "commitment")
    )


# ------------------------------------------------------------------------------ never before that


class Spy:
    """Looks for the secrets of deals that have not ended in all that the service says."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.looked = 0

    def look(self) -> None:
        """Ask for everything that can be asked for, as everybody."""
        running = self.running
        for answer in self._answers(running):
            self.search(answer, running)

    @property
    def running(self) -> int:
        """The deal that is played, or waited for."""
        view = self.table.stranger.look()
        revealed = view["fairness"]["revealed"]
        return revealed["deal"] + 1 if revealed else 1

    def search(self, answer: TestResponse, running: int) -> None:
        game = self.table.game()
        seed = game.match.seed if game.match else game.seed
        text = f"{answer.get_data(as_text=True)} {answer.headers}"
        assert seed not in text
        for deal in range(running, running + 3):
            secret, nonce = fair.secret(seed, deal)
            for entropy in ((), game.match.deal.entropy if game.match and game.match.deal else ()):
                assert fair.key(secret, entropy).hex() not in text
            assert secret not in text, f"{answer.request.path} tells the secret of deal {deal}"
            assert nonce not in text, f"{answer.request.path} tells the nonce of deal {deal}"
        self.looked += 1

    def _answers(self, running: int) -> Iterator[TestResponse]:
        table = self.table
        for watcher in table.watchers:
            for part in ("", "?memory=true", "events?limit=500", "score", "replay"):
                yield watcher.get(part)
            for number in range(1, running + 2):
                yield watcher.get(f"deals/{number}")
            if watcher.seat is not None:
                yield watcher.get("moves")
                yield watcher.post("draw?check=true", {"from": "stock"})
                yield watcher.post("turn?check=true", {"plays": [], "discard": "AS"})
                yield watcher.post("discard", {"card": "JK"})
                yield watcher.post("meld", {"cards": ["AS", "AS", "AS"]})
                yield watcher.post("rematch", {})
        yield table.stranger.post("join", {"name": "eva"})
        yield table.stranger.client.get("/v1/games?limit=100")
        tokens = [player.token for player in table.players]
        yield table.stranger.client.post("/v1/games/query", json={"tokens": tokens})


@pytest.mark.parametrize("practice", [True, False])
@pytest.mark.parametrize("variant", PRESETS)
def test_the_secret_of_a_deal_that_has_not_ended_is_nowhere(house, variant, practice):
    more: dict[str, object] = {"public": True, "autostart": False}
    if practice:
        more["practice"] = {"seed": f"a seed that is found nowhere else {variant}"}
    table = house.waiting(variant, 2, 2, more=more, deals=2, hand_size=3, decks=1)
    spy = Spy(table)
    add(table, 1, "heads")
    spy.look()
    table.players[0].post("start")
    add(table, 0, "tails")
    spy.look()
    deal, turnovers = 1, 0
    for place, answer in enumerate(played(table, variant, patience=1)):
        game = answer.json["game"]
        over = len([e for e in answer.json["events"] if e["event"]["type"] == "revealed"])
        deal += over
        spy.search(answer, deal)
        turned = game["deal"]["turnovers"] if game["deal"] else 0
        if over or turned != turnovers or place % 20 == 7:
            spy.look()
        turnovers = turned
    assert deal == 3
    assert spy.looked > 100
    assert Shown(table).check().checked == 2


def test_while_a_deal_is_played_its_reshuffles_reveal_nothing(house):
    table = house.table("seven-card", 2, seed="reshuffles")
    turnovers = 0
    for answer in played(table, patience=3):
        turnovers += sum(e["event"]["type"] == "turned_over" for e in answer.json["events"])
        over = answer.json["game"]["status"] == "finished"
        assert (answer.json["game"]["fairness"]["revealed"] is not None) == over
    assert turnovers >= 3
    assert Shown(table).check().reshuffles == turnovers


def test_a_match_that_is_not_for_spectators_shows_them_nothing_of_it(house):
    table = house.waiting("straight", 2, 2, more={"spectators": False}, hand_size=3, deals=2)
    chance = Random(1)
    while (view := table.players[0].look())["fairness"]["revealed"] is None:
        player = table.players[view["deal"]["turn"]]
        assert player.make(choose(player.look(), chance)).status_code == 200
    assert code(table.stranger.get()) == "no_spectators"
    assert code(table.stranger.get("events")) == "no_spectators"
    late = Player(house.client(), table.id)
    assert "seed" not in late.post("join", {"name": "eva"}).text


# ------------------------------------------------------------------------- records of before


NEW = {
    "game": ("seed",),
    "match": ("game", "entropy", "revealed"),
    "deal": ("entropy", "shuffle", "laid_out"),
}


def as_it_was(table: Table) -> None:
    """The table's record as the version before committed shuffles stored it, by a commit of its."""
    key = f"rummy:{{{table.id}}}:game"
    stored = json.loads(table.house.redis.hget(key, "record"))
    assert stored["format"] >= 3
    stored["format"] = 2
    game = stored["game"]
    match = game["match"] or {}
    for part, fields in ((game, "game"), (match, "match"), (match.get("deal") or {}, "deal")):
        for field in NEW[fields]:
            part.pop(field, None)
    for seat in game["seats"]:
        seat.pop("entropy", None)
    table.house.redis.hset(key, mapping={"record": json.dumps(stored), "commits": "of another "})


@pytest.mark.parametrize("practice", ["an old one", None])
def test_a_match_of_before_goes_on_and_its_next_deals_are_committed_to(house, practice):
    table = house.table("straight", 2, seed=practice, deals=3, hand_size=3)
    before = hands(table)
    as_it_was(table)
    assert hands(table) == before
    now = fairness(table)
    assert (now["commitment"], now["revealed"], now["next"]["deal"]) == (None, None, 2)
    promised = {2: now["next"]["commitment"]}
    add(table, 1, "heads")
    play_a_deal(table)
    assert told(table, "revealed") == []
    now = fairness(table)
    assert (now["commitment"], now["revealed"]) == (promised[2], None)
    promised[3] = now["next"]["commitment"]
    play_out(table)
    proofs = {event["proof"]["deal"]: event["proof"] for event in told(table, "revealed")}
    assert {number: proof["commitment"] for number, proof in proofs.items()} == promised
    assert proofs[2]["entropy"] == ["", "heads"]
    assert Shown(table).check().checked == 2


def test_a_deal_of_before_that_is_given_up_is_not_shown(house):
    table = house.table("straight", 2, deals=2)
    as_it_was(table)
    for player in table.players:
        player.post("leave")
    assert told(table, "revealed") == []
    assert fairness(table)["revealed"] is None


def test_a_table_of_before_that_waits_has_its_secret_from_the_first_change_on(house):
    table = house.waiting("straight", 3, 2, more={"autostart": False}, hand_size=3)
    as_it_was(table)
    assert fairness(table) is None
    add(table, 0, "heads")
    promised = fairness(table)["next"]["commitment"]
    assert fairness(table)["next"]["entropy"] == ["heads", ""]
    table.players[0].post("start")
    play_out(table)
    proof = fairness(table)["revealed"]
    assert proof["commitment"] == promised
    assert promised == fair.commitment(table.id, 1, proof["nonce"], proof["seed"])


def test_a_finished_match_of_before_can_be_read(house):
    table = house.table("straight", 2, hand_size=3)
    play_out(table)
    as_it_was(table)
    assert table.stranger.look()["fairness"]["revealed"] is None
    assert table.stranger.get("score").status_code == 200


def test_a_rematch_asked_for_again_brings_other_entropy_until_the_match_begins(house):
    table = house.table("seven-card", 3, seed="again", deals=2)
    for player in table.players:
        player.post("leave")
    first, again, same = (
        table.players[1].post("rematch", {"entropy": text} if text else {})
        for text in ("heads", "tails", "tails")
    )
    assert first.json["game"]["fairness"]["next"]["entropy"] == ["heads"]
    for answer in (again, same, table.players[1].post("rematch", {})):
        assert answer.json["token"] == first.json["token"]
        assert answer.json["game"]["fairness"]["next"]["entropy"] == ["tails"]
    assert [entry["event"]["type"] for entry in again.json["events"]] == ["entropy_added"]
    assert same.json["events"] == []
    for player in (table.players[0], table.players[2]):
        begun = player.post("rematch", {"entropy": f"of-{player.seat}"})
    assert begun.json["game"]["status"] == "playing"
    late = table.players[1].post("rematch", {"entropy": "late"})
    assert late.json["token"] == first.json["token"]
    assert late.json["game"]["fairness"]["next"]["entropy"] == []

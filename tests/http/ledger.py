"""What a reader of the log knows: the table rebuilt from the events alone, to hold against a view.

The events are those that one seat, or a spectator, may read.
"""

from collections import Counter

from tests.remembered import remembered


class Ledger:
    """The book that a player keeps of the match."""

    def __init__(self, seat: int | None) -> None:
        self.seat = seat
        self.read = 0
        self.turnovers = 0
        self.calls = 0
        self.stock = 0
        self.pile: list[str] = []
        self.sizes: list[int] = []
        self.hand: Counter[str] | None = None
        self.melds: dict[int, list[str]] = {}
        self.dealers: list[int] = []
        self.results: list[dict] = []
        self.totals: list[int] = []
        self.result: dict | None = None
        self.names: list[str] = []
        self.away: set[int] = set()
        self.rematch: str | None = None
        self.commitments: dict[int, str] = {}
        self.entropy: dict[int, str] = {}
        self.revealed: list[dict] = []
        self.of_deal: list[dict] = []

    def enter(self, entries: list[dict]) -> None:
        """Write down what comes next in the log. There are no gaps and nothing comes twice."""
        for entry in entries:
            assert entry["id"] == self.read + 1
            self.read = entry["id"]
            event = entry["event"]
            if event["type"] == "dealt":
                self.of_deal = []
            self.of_deal.append(event)
            getattr(self, "_" + event["type"])(event)

    def agrees_with(self, view: dict) -> None:
        """The view shows what the log told."""
        assert [seat["name"] for seat in view["seats"]] == self.names
        assert {seat["seat"] for seat in view["seats"] if seat["away"]} == self.away
        assert view["rematch"] == self.rematch
        assert view["you"] == self.seat
        assert view["totals"] == self.totals
        assert view["result"] == self.result
        assert view["last_deal"] == (self.results[-1] if self.results else None)
        deal = view["deal"]
        if deal is None:
            assert self.result is not None
            assert view["memory"] is None
            return
        if view["memory"] is not None:  # asked for
            assert view["memory"] == remembered(self.of_deal, view["options"])
        assert deal["number"] == len(self.dealers)
        assert deal["dealer"] == self.dealers[-1]
        assert deal["stock"] == self.stock
        assert deal["pile"] == len(self.pile)
        assert deal["upcard"] == (self.pile[-1] if self.pile else None)
        assert deal["hand_sizes"] == self.sizes
        assert {meld["id"]: meld["faces"] for meld in deal["melds"]} == self.melds
        if self.hand is None:
            assert view["hand"] is None
        else:
            assert Counter(view["hand"]) == self.hand

    def _joined(self, event: dict) -> None:
        assert event["seat"] <= len(self.names)
        self.names.insert(event["seat"], event["name"])

    def _left(self, event: dict) -> None:
        assert self.names[event["seat"]] == event["name"]
        if self.dealers:
            self.away.add(event["seat"])
        else:
            del self.names[event["seat"]]

    def _removed(self, event: dict) -> None:
        assert self.names.pop(event["seat"]) == event["name"]
        assert not self.dealers

    def _closed(self, event: dict) -> None:
        assert self.result is None, event

    def _went_away(self, event: dict) -> None:
        assert event["seat"] not in self.away
        self.away.add(event["seat"])

    def _returned(self, event: dict) -> None:
        self.away.remove(event["seat"])

    def _rematch(self, event: dict) -> None:
        assert self.rematch is None
        assert self.result is not None
        self.rematch = event["game"]

    def _started(self, event: dict) -> None:
        assert event["players"] == len(self.names)
        self.totals = event["totals"]
        assert len(self.totals) == event["players"]

    def _committed(self, event: dict) -> None:
        assert event["deal"] == len(self.commitments) + 1
        self.commitments[event["deal"]] = event["commitment"]

    def _entropy_added(self, event: dict) -> None:
        assert len(self.commitments) == len(self.dealers) + 1, "it is for a deal committed to"
        self.entropy[event["seat"]] = event["entropy"]

    def _revealed(self, event: dict) -> None:
        proof = event["proof"]
        assert proof["deal"] == len(self.dealers)
        assert proof["commitment"] == self.commitments[proof["deal"]]
        self.revealed.append(proof)

    def _dealer_drawn(self, event: dict) -> None:
        self.first_dealer = event["seat"]

    def _dealt(self, event: dict) -> None:
        players = len(self.names)
        assert event["deal"] == len(self.results) + 1
        assert event["dealer"] == (self.first_dealer + len(self.results)) % players
        self.dealers.append(event["dealer"])
        self.stock = event["stock"]
        self.pile = [event["upcard"]] if event["upcard"] else []
        self.sizes = list(event["hand_sizes"])
        self.melds = {}
        self.hand = None if self.seat is None else Counter(event["hand"])
        assert (event["hand"] is None) == (self.seat is None)

    def _drew(self, event: dict) -> None:
        self.sizes[event["seat"]] += 1
        if event["source"] == "stock":
            self.stock -= 1
            assert (event["card"] is None) == (event["seat"] != self.seat)
        else:
            assert event["card"] == self.pile.pop()
        if self.hand is not None and event["seat"] == self.seat:
            self.hand[event["card"]] += 1

    def _declined(self, _event: dict) -> None:
        assert self.stock == 0
        assert self.turnovers, "there is none left"

    def _turned_over(self, event: dict) -> None:
        assert self.stock == 0
        left = [event["upcard"]] if event["upcard"] else []
        assert event["stock"] == len(self.pile) - len(left)
        self.stock = event["stock"]
        self.pile = left
        self.turnovers += 1

    def _melded(self, event: dict) -> None:
        assert event["meld"] == len(self.melds) + 1
        self._played(event, event["cards"])

    def _laid_off(self, event: dict) -> None:
        assert len(event["faces"]) == len(self.melds[event["meld"]]) + len(event["cards"])
        self._played(event, event["cards"])

    def _swapped(self, event: dict) -> None:
        if self.hand is not None and event["seat"] == self.seat:
            self.hand += Counter(["JK"])
            self.hand -= Counter([event["card"]])

    def _discarded(self, event: dict) -> None:
        self.pile.append(event["card"])
        self._leaves_hand(event, [event["card"]])

    def _called(self, event: dict) -> None:
        assert event["card"] == self.pile.pop()
        assert event["seat"] != event["discarder"]
        self.melds[event["meld"]] = event["faces"]
        self.calls += 1

    def _deal_ended(self, event: dict) -> None:
        result = event["result"]
        assert result["number"] == len(self.dealers)
        assert result["dealer"] == self.dealers[-1]
        assert [len(hand) for hand in result["hands"]] == self.sizes
        if self.hand is not None:
            assert Counter(result["hands"][self.seat]) == self.hand
        self.totals = [
            total + score for total, score in zip(self.totals, result["scores"], strict=True)
        ]
        assert result["totals"] == self.totals
        self.results.append(result)

    def _match_ended(self, event: dict) -> None:
        self.result = event["result"]

    def _played(self, event: dict, cards: list[str]) -> None:
        self.melds[event["meld"]] = event["faces"]
        self._leaves_hand(event, cards)

    def _leaves_hand(self, event: dict, cards: list[str]) -> None:
        self.sizes[event["seat"]] -= len(cards)
        if self.hand is not None and event["seat"] == self.seat:
            assert not Counter(cards) - self.hand
            self.hand -= Counter(cards)

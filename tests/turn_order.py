"""Whose turn it is, from the log alone: no turn is skipped, doubled or taken out of order."""

from collections import Counter


class TurnOrder:
    """Reads the events of a match one by one, as they are logged, and holds them to the rules.

    `turns` counts the finished turns of each seat.
    """

    def __init__(self, players: int) -> None:
        self.players = players
        self.deal = 0
        self.dealer: int | None = None
        self.turn: int | None = None
        self.drawn = False
        self.turns: Counter[int] = Counter()

    def read(self, event: dict) -> None:
        seat = event.get("seat")
        match event["type"]:
            case "dealt":
                assert self.turn is None, "the deal before has not ended"
                if self.dealer is not None:
                    assert event["dealer"] == (self.dealer + 1) % self.players
                self.deal += 1
                assert event["deal"] == self.deal
                self.dealer = event["dealer"]
                self.turn, self.drawn = (self.dealer + 1) % self.players, False
            case "drew" | "declined":
                assert (seat, self.drawn) == (self.turn, False), event
                self.drawn = True
            case "melded" | "laid_off" | "swapped":
                assert (seat, self.drawn) == (self.turn, True), event
            case "discarded":
                assert (seat, self.drawn) == (self.turn, True), event
                self.turns[seat] += 1
                self.turn, self.drawn = (seat + 1) % self.players, False
            case "called":
                assert not self.drawn, event
                assert event["discarder"] == (self.turn - 1) % self.players != seat, event
            case "deal_ended":
                assert self.turn is not None
                assert event["result"]["number"] == self.deal
                self.turn = None
            case "match_ended":
                self.turn = None

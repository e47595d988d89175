"""What an attentive reader of the log remembers, worked out from the events alone."""

from collections.abc import Iterable, Mapping
from typing import Any

from service.rummy.cards import JOKER, in_order

Event = Mapping[str, Any]


def remembered(events: Iterable[Event], options: Mapping[str, Any]) -> dict[str, Any]:
    """The `memory` of the deal that these events, as JSON, tell from its beginning.

    They are those that any one seat, or a spectator, may read.
    """
    taken: list[list[str]] = [[] for _ in range(options["players"])]
    discards: list[dict[str, Any]] = []
    pile: list[dict[str, Any]] = []

    def put(seat: int | None, card: str) -> None:
        pile.append({"seat": seat, "card": card, "gone": None, "by": None})
        discards.append(pile[-1])

    def pick(event: Event, gone: str) -> None:
        assert pile[-1]["card"] == event["card"]
        pile.pop().update(gone=gone, by=event["seat"])

    for event in events:
        cards = event.get("cards", [event.get("card")])
        match event["type"]:
            case "dealt" if event["upcard"]:
                put(None, event["upcard"])
            case "drew" if event["source"] == "discard":
                pick(event, "taken")
                taken[event["seat"]].append(event["card"])
            case "called":
                pick(event, "called")
            case "turned_over":
                stays = [pile.pop()] if options["turnover_keeps_upcard"] else []
                for entry in pile:
                    entry["gone"] = "turned_over"
                pile[:] = stays
                if event["upcard"] and not stays:
                    put(None, event["upcard"])
            case "discarded" | "melded" | "laid_off" | "swapped":
                for card in cards:
                    if card in taken[event["seat"]]:
                        taken[event["seat"]].remove(card)
                if event["type"] == "discarded":
                    put(event["seat"], event["card"])
                elif event["type"] == "swapped":
                    taken[event["seat"]].append(JOKER)
    return {"taken": [list(in_order(cards)) for cards in taken], "discards": discards}

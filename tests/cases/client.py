"""A player who knows the rules and the documented answers, and nothing of the service's inside."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement
from typing import Any

Json = dict[str, Any]
Move = tuple[Any, ...]

JOKER = "JK"
RANKS = "A23456789TJQK"
CARDS = [rank + suit for rank in RANKS for suit in "CDHS"]


def every_move(game: Json) -> set[Move]:
    """All moves of the caller, one card at a time where cards are laid off, jokers named."""
    deal = game["deal"]
    if deal is None or game["you"] is None:
        return set()
    moves = set(_calls(game))
    if deal["turn"] == game["you"]:
        moves |= set(_draws(game) if deal["phase"] == "draw" else _plays(game))
    return moves


def key(body: Json) -> Move:
    """A move's body in the form of `every_move`: cards and named cards sorted."""
    cards = body.get("cards", ())
    jokers = tuple(sorted(body.get("jokers", ())))
    match body["move"]:
        case "draw":
            return ("draw", body["from"])
        case "discard":
            return ("discard", body["card"])
        case "swap":
            return ("swap", body["meld"], body["card"])
        case "rummy":
            return ("rummy", body["meld"], jokers)
        case "meld":
            return ("meld", tuple(sorted(cards)), jokers)
        case "layoff":
            return ("layoff", body["meld"], tuple(sorted(cards)), jokers)
    raise ValueError(body)


def body_of(move: Move) -> Json:
    """What to send for a move."""
    match move:
        case ("draw", source):
            return {"move": "draw", "from": source}
        case ("discard", card):
            return {"move": "discard", "card": card}
        case ("swap", meld, card):
            return {"move": "swap", "meld": meld, "card": card}
        case ("rummy", meld, jokers):
            return {"move": "rummy", "meld": meld, "jokers": list(jokers)}
        case ("meld", cards, jokers):
            return {"move": "meld", "cards": list(cards), "jokers": list(jokers)}
        case ("layoff", meld, cards, jokers):
            return {"move": "layoff", "meld": meld, "cards": list(cards), "jokers": list(jokers)}
    raise ValueError(move)


def is_meld(faces: list[str], options: Json) -> bool:
    """Whether the cards, jokers as what they stand for, are a set or a run."""
    if len(faces) < 3:
        return False
    if len({face[0] for face in faces}) == 1:
        return max(Counter(faces).values()) <= options["decks"]
    if len({face[1] for face in faces}) > 1 or len(set(faces)) < len(faces):
        return False
    low = sorted(RANKS.index(face[0]) for face in faces)
    high = sorted(place or len(RANKS) for place in low)
    runs = [low] if options["aces"] == "low" else [low, high]
    return any(places[-1] - places[0] == len(places) - 1 for places in runs)


def _draws(game: Json) -> Iterator[Move]:
    deal, options = game["deal"], game["options"]
    if deal["call"] and deal["call"]["closes_at"]:
        return
    stays = options["turnover_keeps_upcard"] + options["turnover_new_upcard"]
    used_up = options["turnovers"] is not None and deal["turnovers"] >= options["turnovers"]
    if deal["stock"] or used_up or deal["pile"] > stays:
        yield ("draw", "stock")
    if deal["upcard"]:
        yield ("draw", "discard")


def _calls(game: Json) -> Iterator[Move]:
    call = game["deal"]["call"]
    if call is None or call["discarded_by"] == game["you"]:
        return
    for meld in game["deal"]["melds"]:
        for face in CARDS if call["card"] == JOKER else [call["card"]]:
            if is_meld([*meld["faces"], face], game["options"]):
                yield ("rummy", meld["id"], (face,) if call["card"] == JOKER else ())


def _plays(game: Json) -> Iterator[Move]:
    deal, options, hand = game["deal"], game["options"], game["hand"]
    table = {meld["id"]: meld for meld in deal["melds"]}
    for card in hand:
        if card != game["may_not_discard"]:
            yield ("discard", card)
    for move, rest, changed in _single_plays(game, hand, table):
        if _can_finish(game, rest, changed):
            yield move
    if deal["melds_left"] == 0:
        return
    for cards in _choices(hand):
        natural = [card for card in cards if card != JOKER]
        jokers = len(cards) - len(natural)
        if not natural or len({c[0] for c in natural}) > 1 < len({c[1] for c in natural}):
            continue
        rest = list((Counter(hand) - Counter(cards)).elements())
        for named in combinations_with_replacement(CARDS, jokers):
            faces = [*natural, *named]
            laid = {"id": 0, "owner": game["you"], "cards": cards, "faces": faces}
            if is_meld(faces, options) and _can_finish(game, rest, {**table, 0: laid}):
                yield ("meld", tuple(sorted(cards)), tuple(sorted(named)))


def _single_plays(
    game: Json, hand: list[str], table: dict[int, Json]
) -> Iterator[tuple[Move, list[str], dict[int, Json]]]:
    """Each layoff of one card and each swap, with the hand and the melds that it leaves."""
    options = game["options"]
    for number, meld in table.items():
        whose = options["layoffs"]
        may_lay_off = whose == "any" or (whose == "own" and meld["owner"] == game["you"])
        for card in set(hand):
            rest = list((Counter(hand) - Counter([card])).elements())
            for face in CARDS if card == JOKER else [card]:
                if may_lay_off and is_meld([*meld["faces"], face], options):
                    named = (face,) if card == JOKER else ()
                    grown = {
                        **meld,
                        "cards": [*meld["cards"], card],
                        "faces": [*meld["faces"], face],
                    }
                    yield ("layoff", number, (card,), named), rest, {**table, number: grown}
            for place, face in enumerate(meld["faces"]):
                if options["joker_swap"] and face == card and meld["cards"][place] == JOKER:
                    cards = [*meld["cards"]]
                    cards[place] = card
                    freed = {**table, number: {**meld, "cards": cards}}
                    yield ("swap", number, card), [*rest, JOKER], freed


def _can_finish(game: Json, hand: list[str], table: dict[int, Json]) -> bool:
    """Whether the turn can still end: out, with a discard, or after more layoffs and swaps."""
    if not hand:
        return not game["options"]["final_discard"]
    if any(card != game["may_not_discard"] for card in hand):
        return True
    return any(_can_finish(game, *left) for _, *left in _single_plays(game, hand, table))


def _choices(hand: list[str]) -> set[tuple[str, ...]]:
    """Every choice of three or more cards of the hand."""
    return {cards for size in range(3, len(hand) + 1) for cards in combinations(sorted(hand), size)}

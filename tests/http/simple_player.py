"""A player who knows nothing but the view: picks one of the `moves` listed there."""

from random import Random


def choose(view: dict, chance: Random, patience: int = 0) -> dict:
    """The move to make. Nothing is laid down before the pile was turned over `patience` times."""
    moves = view["moves"]
    kinds = {move["move"]: move for move in reversed(moves)}
    patient = view["deal"]["turnovers"] < patience
    if "draw" in kinds:
        return _draw(moves, view, chance, patient)
    discards = [move for move in moves if move["move"] == "discard"]
    if "layoff" in kinds and chance.random() < 0.2:
        # Overlooked: the card is thrown away, so that there is something to call.
        discards = [move for move in discards if move["card"] in kinds["layoff"]["cards"]]
        if discards:
            return discards[0]
    for kind in ("rummy", "meld", "layoff", "swap"):
        if kind in kinds and not patient:
            return kinds[kind]
    if discards and chance.random() < 0.25:  # so that nobody waits for the same card for ever
        return chance.choice(discards)
    if discards:
        return min(discards, key=lambda move: _use(move["card"], view["hand"]))
    return moves[0]


def _draw(moves: list[dict], view: dict, chance: Random, patient: bool) -> dict:
    upcard = view["deal"]["upcard"]
    wanted = upcard is not None and _use(upcard, [*view["hand"], upcard])[0] > 2
    draws = {move["from"]: move for move in moves if move["move"] == "draw"}
    if "stock" not in draws or ("discard" in draws and not patient and wanted):
        return draws["discard"]
    if "discard" in draws and chance.random() < 0.1:
        return draws["discard"]
    return draws["stock"]


def _use(card: str, hand: list[str]) -> tuple[int, int]:
    """What the card is good for: how many others it could be melded with, then how low it is."""
    if card == "JK":
        return 99, 0
    ranks = "A23456789TJQK"
    rank = ranks.index(card[0])
    neighbours = 0
    for other in hand:
        if other == "JK" or other == card:
            continue
        near = other[1] == card[1] and abs(ranks.index(other[0]) - rank) <= 2
        neighbours += other[0] == card[0] or near
    return neighbours, -rank

"""A bot that plays any variant of rummy over the API; to make your own, replace `choose`."""

import argparse
import sys
import time
from collections import Counter
from uuid import uuid4

import requests

RANKS = "A23456789TJQK"


# ---------------------------------------------------------------- replace this with your own ideas
def choose(game):
    """What to send next: the end of its address and its body; or None to wait.

    `game` is the game as this seat may see it, with its hand. Each of game["moves"] is a body for
    the address that its "move" names; all that comes after the draw can go into one "turn".
    """
    kinds = {move["move"]: move for move in game["moves"]}
    if "rummy" in kinds:
        return "rummy", kinds["rummy"]
    if "draw" in kinds:
        draws = {move["from"]: move for move in game["moves"]}
        wanted = "discard" in draws and friends(draws["discard"]["card"], game["hand"]) > 1
        return "draw", draws["discard" if wanted or "stock" not in draws else "stock"]
    if "discard" in kinds:
        return "turn", rest_of_turn(game)
    return next(iter(kinds.items()))


def rest_of_turn(game):
    """Melds and layoffs, the largest first, and to discard what is good for least."""
    hand, plays, grown, melds_left = Counter(game["hand"]), [], set(), game["deal"]["melds_left"]
    moves = [move for move in game["moves"] if move["move"] in ("meld", "layoff")]
    for move in sorted(moves, key=lambda move: (move["move"] == "layoff", -len(move["cards"]))):
        rest = hand - Counter(move["cards"])
        may_end = set(rest) - {game["may_not_discard"]} or (
            not rest and not game["options"]["final_discard"]
        )
        is_there = rest.total() == hand.total() - len(move["cards"])
        is_allowed = melds_left != 0 if move["move"] == "meld" else move["meld"] not in grown
        if is_there and is_allowed and may_end:
            hand = rest
            plays.append(move)
            grown.add(move.get("meld"))
            melds_left = melds_left and melds_left - (move["move"] == "meld")
    hand -= Counter([game["may_not_discard"]])
    held = list(hand.elements())
    worth = {card: (friends(card, held), -RANKS.find(card[0])) for card in held}
    return {"plays": plays, "discard": min(held, key=worth.get, default=None)}


def friends(card, hand):
    """How many other cards in the hand could be in a meld with this one."""
    if card == "JK":
        return len(hand)
    place = RANKS.index(card[0])
    near = {card[0] + suit for suit in "CDHS"}
    near |= {rank + card[1] for rank in RANKS[max(place - 2, 0) : place + 3]} - {card}
    return sum(other in near for other in hand)


# ---------------------------------------------------------------------- the rest need not change
def play(url, game_id, token, choose=choose):
    """Play a seat until the match is over; the game as it is then. Two requests are a turn."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"
    address, version, game = f"{url}/v1/games/{game_id}", "", None
    while game is None or game["status"] in ("waiting", "playing"):
        # Answered when there is something new, after half a minute at the latest.
        answer = send(session, "GET", f"{address}?wait=30", {"If-None-Match": version})
        while answer.status_code == 200:
            game, version = answer.json(), answer.headers["ETag"]
            game = game.get("game", game)  # a move is answered with the game and its events
            move = choose(game) if game["moves"] else None
            if game["status"] == "playing" and game["seats"][game["you"]]["away"]:
                move = "return", {}  # the computer has played meanwhile
            if move is None:
                break
            path = f"{address}/{move[0]}" + "?wait=30" * (move[0] == "turn")
            # Pinned to what was looked at; with a key of its own it can be sent again unharmed.
            headers = {"If-Match": version, "Idempotency-Key": str(uuid4())}
            answer = send(session, "POST", path, headers, json=move[1])
        if answer.status_code in (409, 412):  # refused, or not possible any more: look again
            print(answer.json()["detail"], file=sys.stderr)
            version = ""
            time.sleep(0.5)
        elif answer.status_code != 304:
            answer.raise_for_status()
    return game


def send(session, method, address, headers, **body):
    """The answer, asked for again for a while if the line or the service was lost."""
    pause = 1
    while True:
        try:
            answer = session.request(method, address, headers=headers, timeout=60, **body)
            if answer.status_code != 503 or pause > 10:
                return answer
            print(answer.json()["detail"], file=sys.stderr)
        except requests.RequestException:
            if pause > 10:
                raise
        time.sleep(pause)
        pause *= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the service is")
    parser.add_argument("--game", required=True, metavar="ID", help="which table")
    parser.add_argument("--name", default="Bot", help="the name to take a seat under")
    parser.add_argument("--invitation", metavar="CODE", help="the code of a private table")
    parser.add_argument("--token", help="go on with a seat taken before")
    given = parser.parse_args()
    token = given.token
    if token is None:
        path = f"{given.url}/v1/games/{given.game}/join"
        wanted = {"name": given.name, "invitation": given.invitation}
        key = {"Idempotency-Key": str(uuid4())}
        answer = send(requests.Session(), "POST", path, key, json=wanted)
        token = answer.json().get("token") or sys.exit(answer.json()["detail"])
        print(f"Seat {answer.json()['seat']}. To go on with it later: --token {token}", flush=True)
    try:
        game = play(given.url, given.game, token)
    except requests.HTTPError as error:  # such as a seat that the host has freed
        sys.exit(error.response.json()["detail"])
    winners = game["result"]["winners"] if game["result"] else ()  # a table may have been closed
    for seat in game["seats"]:
        won = " (won)" * (seat["seat"] in winners)
        print(f"{seat['name']}: {game['totals'][seat['seat']]}{won}")


if __name__ == "__main__":
    main()

"""A bot that plays any variant of rummy over the API; to make your own, replace `choose`."""

import argparse
import sys
import time

import requests

RANKS = "A23456789TJQK"


# ---------------------------------------------------------------- replace this with your own ideas
def choose(game):
    """One of game["moves"], or None to wait: nobody has to call "Rummy!".

    `game` is the game as this seat may see it, with its hand; a move is a dict such as
    {"move": "draw", "from": "stock"} or {"move": "meld", "cards": ["7C", "7D", "7H"]}.
    """
    moves, hand = game["moves"], game["hand"]
    plays = [move for move in moves if move["move"] in ("rummy", "meld", "layoff", "swap")]
    if plays:  # the more cards leave the hand, the better
        return max(plays, key=lambda move: len(move.get("cards", ())))
    draws = {move["from"]: move for move in moves if move["move"] == "draw"}
    if "discard" in draws and ("stock" not in draws or friends(draws["discard"]["card"], hand) > 1):
        return draws["discard"]
    if draws:
        return draws["stock"]
    return min(moves, key=lambda move: (friends(move["card"], hand), -RANKS.find(move["card"][0])))


def friends(card, hand):
    """How many other cards in the hand could be in a meld with this one."""
    if card == "JK":
        return len(hand)
    place = RANKS.index(card[0])
    near = {card[0] + suit for suit in "CDHS"}
    near |= {rank + card[1] for rank in RANKS[max(place - 2, 0) : place + 3]} - {card}
    return sum(other in near for other in hand)


# ---------------------------------------------------------------------- the rest need not change
def play(url, game_id, token, choose=choose, pause=0.5):
    """Play a seat until the match is over, looking every `pause` seconds; the game as it is then"""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"
    address, version, game = f"{url}/v1/games/{game_id}", "", None
    while game is None or game["status"] != "finished":
        answer = session.get(address, headers={"If-None-Match": version}, timeout=30)
        while answer.status_code == 200:
            game, version = answer.json(), answer.headers["ETag"]
            game = game.get("game", game)  # a move is answered with the game and its events
            move = choose(game) if game["moves"] else None
            if move is None:
                break
            path, pinned = f"{address}/{move['move']}", {"If-Match": version}
            answer = session.post(path, json=move, headers=pinned, timeout=30)
        if answer.status_code in (409, 412, 503):  # refused or not possible now: look again
            print(answer.json()["detail"], file=sys.stderr)
            version = ""
        else:
            answer.raise_for_status()
        time.sleep(float(answer.headers.get("Retry-After", pause)))
    return game


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the service is")
    parser.add_argument("--game", required=True, metavar="ID", help="which table")
    parser.add_argument("--name", default="Bot", help="the name to take a seat under")
    parser.add_argument("--token", help="go on with a seat taken before")
    given = parser.parse_args()
    token = given.token
    if token is None:
        path = f"{given.url}/v1/games/{given.game}/join"
        answer = requests.post(path, json={"name": given.name}, timeout=30)
        token = answer.json().get("token") or sys.exit(answer.json()["detail"])
        print(f"Seat {answer.json()['seat']}. To go on with it later: --token {token}", flush=True)
    game = play(given.url, given.game, token)
    for seat in game["seats"]:
        won = " (won)" * (seat["seat"] in game["result"]["winners"])
        print(f"{seat['name']}: {game['totals'][seat['seat']]}{won}")


if __name__ == "__main__":
    main()

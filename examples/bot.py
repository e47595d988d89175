"""Plays rummy over the API, at many tables at once; README.md beside it tells how it works."""

import json
import os
import signal
import sys
import time
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor, as_completed
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from uuid import uuid4

# ------------------------------------------------- CHOOSE A MOVE: replace this by your own ideas
RANKS = "A23456789TJQK"


def choose(game):  # one of game["moves"], all that this seat may do now: that of the most value
    return max(game["moves"], key=lambda move: value(move, game["hand"]))


def value(move, hand):
    if move["move"] == "discard":  # what has the fewest friends, and of such cards the highest
        return RANKS.index(move["card"][0]) / 20 - friends(move["card"], hand)
    if move["move"] == "draw":  # the upcard if it has two friends, else from the stock
        return friends(move["card"], hand) - 1.5 if move["from"] == "discard" else 0
    return 100 + ["swap", "layoff", "meld", "rummy"].index(move["move"])  # whatever can be laid


def friends(card, hand):  # how many cards of the hand could be in a meld with this one
    place, suit = RANKS.index(card[0]), card[1]
    near = {rank + suit for rank in RANKS[max(place - 2, 0) : place + 3]} | {"JK"}
    return sum(card == "JK" or other in near or other[0] == card[0] for other in hand)


# ------------------------------------------------------------------- the rest can stay as it is
def play(service, token, tell=print):  # a seat until its match is over, and tell how it ended
    line, path = connect(f"{service}/v1/games/{token.split('.')[0]}")
    seat, game, tag, refused = {"Authorization": f"Bearer {token}"}, None, "", None
    while game is None or game["status"] in ("waiting", "playing"):
        away = game and game["seats"][game["you"]]["away"]  # and the computer plays meanwhile
        move = {"move": "return"} if away else game and game["moves"] and choose(game)
        if move:  # it counts only if nothing has changed since that version of the game
            end = move["move"] + "?wait=30" * (move["move"] in ("discard", "turn"))
            status, body, new = send(line, "POST", f"{path}/{end}", seat | {"If-Match": tag}, move)
        else:  # answered when there is something new, or after half a minute
            status, body, new = send(line, "GET", f"{path}?wait=30", seat | {"If-None-Match": tag})
        if status == 200:  # after a move it is the game and what happened
            game, tag = body.get("game", body), new
        elif status == 412 or (status == 409 and tag != refused):  # look again and choose anew
            print(f"{path}: {body['detail']}", *body.get("try", ()), file=sys.stderr)
            game, tag, refused = None, "", tag
        elif status != 304:
            sys.exit(f"{path}: {body['detail']}")
    won = "won" if game["result"] and game["you"] in game["result"]["winners"] else "not won"
    tell(f"{game['id']} {game['status']} {won} {game['totals']}\n", end="", flush=True)


def connect(address):
    scheme, _, host, path = address.split("/", 3)
    kind = {"http:": HTTPConnection, "https:": HTTPSConnection}.get(host and scheme)
    return (kind or sys.exit(f"{address} is no web address"))(host, timeout=60), f"/{path}"


def send(line, method, path, headers, body=None):  # the same again, but it counts once
    headers |= {"Content-Type": "application/json", "Idempotency-Key": str(uuid4())}
    content = body and json.dumps({name: body[name] for name in body if name != "move"})
    for pause in (0, 1, 2, 4, 8, 15, 30, 30, 30):
        try:
            line.request(method, path, content, headers)
            answer = line.getresponse()
            status, said, after = answer.status, answer.read(), answer.headers["Retry-After"] or "1"
            if status != 429 and status < 500:
                ours = status in (200, 201, 304) or b'"detail"' in said  # else it is of others
                said = json.loads(said or "{}") if ours else {"detail": f"answered with {status}"}
                return status, said, answer.headers["ETag"]
            why, wait = f"put off with {status}", int(after) if after.isdecimal() else 1
        except (OSError, HTTPException, ValueError) as error:
            why, wait = f"no answer ({error})", 0
        print(f"{path}: {why}", file=sys.stderr)
        line.close()  # the next request opens it again
        time.sleep(wait + pause)
    sys.exit(f"{path}: gave up after two minutes")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once
    tokens = os.environ.get("SEAT_TOKENS", "").split()
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=os.environ.get("SERVICE", "http://127.0.0.1:8000"))
    parser.add_argument("--game", required=not tokens, help="the table to take a seat at")
    parser.add_argument("--name", default="Bot", help="the name to take it under")
    given = parser.parse_args()
    if not tokens:
        line, path = connect(f"{given.url}/v1/games/{given.game}/join")
        _, body, _ = send(line, "POST", path, {}, {"name": given.name})
        tokens = [body.get("token") or sys.exit(body["detail"])]
        print(f"To go on with this seat later: SEAT_TOKENS={tokens[0]}", flush=True)
    pool = ThreadPoolExecutor(len(tokens))
    for seat in as_completed([pool.submit(play, given.url, token) for token in tokens]):
        seat.result()  # the first that fails is told here at once; the others play on

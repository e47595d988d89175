"""Seats bots at a new table, lets them play a match over the API and tells its story.

With no --url it starts a service of its own for as long as the match lasts.
"""

import argparse
import json
import sys
from contextlib import contextmanager
from threading import Thread

import bot

NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Greta", "Hugo")


def main():
    given = arguments()
    with serving(given.url) as url:
        seats = make_table(url, given)
        game_id = seats[0]["game"]["id"]
        failures = start_bots(url, [seat["token"] for seat in seats])
        game = asked(url, "GET", f"/v1/games/{game_id}")
        tell = Story(game, quiet=given.quiet)
        for entry in events(url, game_id, failures):
            tell.about(entry["event"])
        print(outcome(asked(url, "GET", f"/v1/games/{game_id}")))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="play at this service instead of one of our own")
    parser.add_argument("--variant", default="straight", help="straight unless named")
    parser.add_argument("--players", type=int, default=3, help="how many bots (3)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        type=option,
        metavar="NAME=VALUE",
        help="a house rule, such as jokers=2 or aces=high_or_low; may be repeated",
    )
    parser.add_argument("--seed", help="a practice table: the same seed deals the same cards")
    parser.add_argument("--quiet", action="store_true", help="tell the outcome only")
    return parser.parse_args()


def option(text):
    """`jokers=2` as ("jokers", 2), `layoffs=own` as ("layoffs", "own")."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: write it as name=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@contextmanager
def serving(url):
    """The address of a running service; one of our own, with nothing kept, if there is none yet."""
    if url:
        yield url.rstrip("/")
        return
    # Imported here: a copy of this file that is given a service needs nothing of the project.
    from service.client import ServiceError, own_service

    try:
        with own_service(workers=1) as own:
            yield own
    except ServiceError as error:
        sys.exit(str(error))


def make_table(url, given):
    """What each bot was answered when it took its seat."""
    options = dict(given.option)
    must_choose = asked(url, "GET", f"/v1/variants/{given.variant}")["must_choose"]
    if must_choose and not set(must_choose) & set(options):
        options["deals"] = 1
    wanted = {
        "variant": given.variant,
        "name": NAMES[0],
        "seats": given.players,
        "options": options,
        "practice": {"seed": given.seed} if given.seed else None,
    }
    first = asked(url, "POST", "/v1/games", wanted)
    join = f"/v1/games/{first['game']['id']}/join"
    return [first, *(asked(url, "POST", join, {"name": name}) for name in NAMES[1 : given.players])]


def start_bots(url, tokens):
    """Let each bot play in a thread of its own; the list fills with what goes wrong there."""
    failures = []

    def play(token):
        try:
            bot.play(url, token, tell=lambda *_, **__: None)  # the story tells it
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it is, it is told)
            failures.append(error)

    for token in tokens:
        Thread(target=play, args=[token], daemon=True).start()
    return failures


def events(url, game_id, failures):
    """The log as a spectator reads it, while it grows, to the end of the match."""
    last, status, more = 0, "playing", False
    while more or status != "finished":
        if failures:
            sys.exit(f"A bot failed: {failures[0]}")
        path = f"/v1/games/{game_id}/events?after={last}&limit=500&wait=2"
        page = asked(url, "GET", path)
        yield from page["events"]
        last, status, more = page["last"], page["status"], page["more"]


class Story:
    """Tells a match event by event, a line for each turn."""

    def __init__(self, game, quiet):
        self.names = [seat["name"] for seat in game["seats"]]
        self.width = max(map(len, self.names))
        self.quiet = quiet
        self.turn = []
        options = game["options"]
        end = f"deals: {options['deals']}" if options["deals"] else f"target: {options['target']}"
        self.say(f"A match of {game['variant']}, {end}, table {game['id']}.")
        for deviation in game["deviations"]:
            names = ("option", "value", "preset")
            self.say("  House rule: {} is {}, not {}.".format(*map(deviation.get, names)))

    def say(self, line=""):
        if not self.quiet:
            print(line, flush=True)

    def about(self, event):
        kind = event["type"]
        if kind in ("dealt", "called", "deal_ended"):
            getattr(self, kind)(event)
        elif kind in PHRASES:
            self.turn.append(PHRASES[kind](event))
            if kind == "discarded":
                self.end_turn(event["seat"])

    def end_turn(self, seat):
        if self.turn:
            self.say(f"  {self.names[seat]:{self.width}}  {', '.join(self.turn)}")
        self.turn = []

    def dealt(self, event):
        upcard = f"the upcard is {event['upcard']}" if event["upcard"] else "no upcard"
        self.say(f"\nDeal {event['deal']}, dealt by {self.names[event['dealer']]}: {upcard}.")

    def called(self, event):
        discarder, faces = self.names[event["discarder"]], " ".join(event["faces"])
        line = f'calls "Rummy!" on the {event["card"]} of {discarder}: meld {event["meld"]} is '
        self.say(f"  {self.names[event['seat']]:{self.width}}  {line}{faces}")

    def deal_ended(self, event):
        result = event["result"]
        if result["winner"] is None:
            # Asking for a card may have been what ended it, so that no turn is open here.
            self.say(f"  The deal is blocked: {result['why'].replace('_', ' ')}.")
        else:
            self.end_turn(result["winner"])
            how = {"meld": "a meld", "layoff": "a layoff", "discard": "a discard"}[result["how"]]
            name = self.names[result["winner"]]
            self.say(f"  {name} goes out with {how} after {result['turns']} turns.")
        rows = zip(self.names, result["counts"], result["scores"], result["totals"], strict=True)
        for seat, (name, count, score, total) in enumerate(rows):
            hand = " ".join(result["hands"][seat])
            line = f"  {name:{self.width}}  holds {count:3}, scores {score:3}, total {total:3}"
            self.say(f"{line}   {hand}".rstrip())


PHRASES = {
    "drew": lambda event: (
        "draws" if event["source"] == "stock" else f"takes the upcard {event['card']}"
    ),
    "turned_over": lambda event: f"turns the pile over ({event['stock']} cards)",
    "melded": lambda event: f"melds {' '.join(event['cards'])}{stands_for(event)}",
    "laid_off": lambda event: (
        f"lays off {' '.join(event['cards'])} (meld {event['meld']} is {' '.join(event['faces'])})"
    ),
    "swapped": lambda event: f"swaps {event['card']} for the joker in meld {event['meld']}",
    "discarded": lambda event: f"discards {event['card']}",
}


def stands_for(melded):
    """What the jokers of a new meld stand for, where it has any."""
    return f" as {' '.join(melded['faces'])}" if "JK" in melded["cards"] else ""


def outcome(game):
    """The last line: who won, and the totals."""
    names = [seat["name"] for seat in game["seats"]]
    winners = [names[seat] for seat in game["result"]["winners"]]
    totals = ", ".join(map("{} {}".format, names, game["totals"]))
    verb = "share the win" if game["result"]["tie"] else "wins"
    return f"{' and '.join(winners)} {verb}: {totals}"


def asked(url, method, path, body=None):
    """What the service answers; a refusal ends the program with its reason."""
    line, place = bot.connect(url + path)
    status, answer, _ = bot.send(line, method, place, {}, body)
    line.close()
    return answer if status < 400 else sys.exit(f"{answer['title']}: {answer['detail']}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped.")

"""Whether a game is as those who played it know it: every move there, once, by the rules."""

import time
from collections import Counter
from datetime import datetime

from service.errors import RummyError
from service.replay import decoded
from service.servers import Servers
from service.store import Expiry, Store
from service.verify import checked
from tests.http.ledger import Ledger
from tests.http.tables import assert_no_card_is_lost
from tests.soak.served import Served

EVENT_OF = {
    "draw": ("drew", "declined"),
    "meld": ("melded",),
    "layoff": ("laid_off",),
    "swap": ("swapped",),
    "discard": ("discarded",),
    "rummy": ("called",),
}
"""The type of the one event that a move puts into the log, besides those that follow from it."""

_MOVES = {kind for kinds in EVENT_OF.values() for kind in kinds}
_PAGE = 500
_EXPIRY = Expiry(86_400, 86_400, 86_400)


class Findings:
    """What is wrong, of all games together."""

    def __init__(self) -> None:
        self.lost = 0
        self.doubled = 0
        self.other: list[str] = []


class Judge:
    """Looks at games through the service, and once past it."""

    def __init__(self, service: Served) -> None:
        self._service = service
        self._store = Store(Servers(service.store_url, 10), _EXPIRY)

    def look_at(self, table: dict, findings: Findings) -> None:
        """Hold the game against the acknowledged moves of the table, as a player reported it."""
        try:
            seat, token = next(iter(table["tokens"].items()))
            log, view = self._read(table["id"], token)
            _count(table, log, findings)
            book = Ledger(int(seat))
            book.enter(log)
            book.agrees_with(view)
            times = [datetime.fromisoformat(entry["at"]) for entry in log]
            assert times == sorted(times), "the log goes back in time"
            game = self._store.load(table["id"])
            if game.match:
                assert_no_card_is_lost(game)
            if view["last_deal"]:
                self._verify(table["id"])
            self._repeat(table)
        except (AssertionError, KeyError, ValueError, OSError, RummyError) as error:
            findings.other.append(f"game {table['id']}: {error!r}"[:300])

    def _read(self, game_id: str, token: str) -> tuple[list[dict], dict]:
        """The whole log and the view that it leads to; a clock may go on meanwhile."""
        log: list[dict] = []
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            after = log[-1]["id"] if log else 0
            path = f"/v1/games/{game_id}/events?limit={_PAGE}&after={after}"
            answer = self._service.ask(path, token)
            assert answer.status_code == 200, answer.text
            log += answer.json()["events"]
            view = self._service.ask(f"/v1/games/{game_id}?memory=true", token).json()
            if log and log[-1]["version"] == view["version"]:
                return log, view
        raise AssertionError("the log does not lead to what is shown")

    def _verify(self, game_id: str) -> None:
        """The replay fits: the secrets, every move by the rules, the count of each deal."""
        answer = self._service.ask(f"/v1/games/{game_id}/replay")
        assert answer.status_code == 200, answer.text
        assert list(checked(decoded(answer.content)))

    def _repeat(self, table: dict) -> None:
        """Each seat's last move, sent again, is answered by what it came to."""
        for move in {move["seat"]: move for move in table["moves"]}.values():
            answer = self._service.post(
                f"/v1/games/{table['id']}/{move['move']['move']}",
                table["tokens"][str(move["seat"])],
                move["move"],
                move["key"],
            )
            assert answer.status_code == 200, answer.text
            assert answer.headers.get("Idempotency-Replayed") == "true", "a move was made again"
            assert answer.json()["version"] == move["version"]


def _count(table: dict, log: list[dict], findings: Findings) -> None:
    """Find each acknowledged move in the log, and an acknowledged move for each in the log."""
    logged: Counter[tuple[int, int, str]] = Counter()
    away: set[int] = set()
    for entry in log:
        event = entry["event"]
        kind, seat = event["type"], event.get("seat")
        if kind in {"went_away", "left"}:
            away.add(seat)
        elif kind == "returned":
            away.discard(seat)
        elif kind in _MOVES and str(seat) in table["tokens"] and seat not in away:
            logged[entry["version"], seat, kind] += not entry["forced"]
    for move in table["moves"]:
        kinds = EVENT_OF[move["move"]["move"]]
        of_it = ((move["version"], move["seat"], kind) for kind in kinds)
        found = next((each for each in of_it if logged[each]), None)
        if found:
            logged[found] -= 1
        else:
            findings.lost += 1
    findings.doubled += sum(logged.values())

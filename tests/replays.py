"""Matches played by the engine alone, and their documents: no store and no HTTP."""

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from service.game import Game, Logged, Practice, Seat
from service.replay import DealReplay, MatchReplay, deal_replay, decoded, match_replay
from service.rummy.cards import Card
from service.rummy.engine import abandon, new_match, with_entropy
from service.rummy.model import DealEnded, Dealt, Event, Match
from service.rummy.rules import agree
from tests.positions import NOW
from tests.rummy.test_properties import steps

NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gro", "Hal")


class Over:
    """A match of random players with its log, as the service would have kept it.

    It ends by itself, or is given up after `most` moves.
    """

    def __init__(
        self,
        variant: str,
        players: int,
        name: str = "over",
        *,
        keen: float = 0.7,
        most: int = 10_000,
        order: Sequence[Card] | None = None,
        **options: object,
    ) -> None:
        rules = agree(variant, players, options)
        entropy = ("", "27-coins", *("" for _ in range(players - 2)))
        match, dealt = new_match(rules, name, None, order, game="n2k7wq4zr5xt3m6a", entropy=entropy)
        self._deals: list[list[Logged]] = []
        self._events = 3
        self._log(dealt, NOW)
        if rules.deals != 1:
            match = with_entropy(match, 0, "and-a-die")
        for *_, after, events, now in steps(match, Random(name), keen, most):
            match = after
            self._log(events, now)
        if match.result is None:
            match, events = abandon(match)
            self._log(events, now)
        self.game = Game(
            id=match.game,
            version=9,
            created_at=0,
            changed_at=0,
            variant=variant,
            chosen={},
            seats=tuple(Seat(name, "hash") for name in NAMES[:players]),
            size=players,
            public=False,
            autostart=True,
            practice=Practice(name, tuple(order)) if order else None,
            match=match,
        )

    def _log(self, events: Sequence[Event], now: int) -> None:
        for event in events:
            self._events += 1
            if isinstance(event, Dealt):
                self._deals.append([])
            if self._deals:
                self._deals[-1].append(Logged(self._events, self._events, now, event))

    @property
    def _match(self) -> Match:
        assert self.game.match is not None
        return self.game.match

    def replay(self) -> MatchReplay:
        return self._document(self.game, self._deals)

    def deal(self, number: int) -> DealReplay:
        logged = self._deals[number - 1]
        return deal_replay(self.game, self._match.rules, number, logged)

    def going_on(self, deals: int) -> MatchReplay:
        """The document as it was when so many of its deals had ended."""
        ends = (one.event for one in self._deals[deals - 1] if isinstance(one.event, DealEnded))
        ended = replace(self._match, last=next(ends).result, result=None)
        return self._document(replace(self.game, match=ended), self._deals[:deals])

    def _document(self, game: Game, deals: list[list[Logged]]) -> MatchReplay:
        parts = match_replay(game, self._match.rules, iter(deals))
        document = decoded(b"".join(parts))
        assert isinstance(document, MatchReplay)
        return document

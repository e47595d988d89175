"""Deals and matches that are over as documents: what happened, and the proof that it was fair.

They are made of the log, and hold all that anybody needs to play them again and to check them:
`verify` does that, and `telling` tells them.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from service import __version__
from service.errors import BadReplay, NoReplay
from service.game import Game, GameId, Logged, PlayerName, TableEvent
from service.rummy.cards import Card, pack
from service.rummy.computer import Level
from service.rummy.model import (
    Count,
    Deal,
    DealEnded,
    Dealer,
    DealResult,
    Dealt,
    MatchResult,
    Move,
    Proof,
    Revealed,
    SeatNumber,
    TurnedOver,
)
from service.rummy.notation import read, written
from service.rummy.record import (
    DealRecord,
    Recorded,
    Shuffle,
    positions,
    recorded,
    with_turnovers,
)
from service.rummy.rules import Rules
from service.rummy.shuffle import CARDS, key_of, shuffled, turnover_label
from service.rummy.view import Instant, MeldView, instant, melds_of
from service.text import Text

_Number = Annotated[int, Meta(ge=0, le=999_999_999)]
"""Of any size that occurs: documents are read from anywhere."""


class ReplaySeat(Struct, frozen=True):
    """Who sat there when the match ended, or sits there now."""

    name: PlayerName
    computer: Annotated[
        Level | None, Meta(description="The level of a computer player; null: a person.")
    ]


class ReplayMove(Struct, frozen=True, kw_only=True):
    """A move as it was made."""

    seat: Annotated[SeatNumber, Meta(description="Who made it.")]
    move: Annotated[
        Move,
        Meta(description="The move, complete: jokers are named, and the card taken or called."),
    ]
    drawn: Annotated[
        Card | None,
        Meta(description="The card that the stock gave; null: it was no draw from the stock."),
    ]
    at: Annotated[Instant, Meta(description="When it was made, in UTC.")]
    forced: Annotated[bool, Meta(description="Whether the clock did it, not the player.")]
    event: Annotated[int, Meta(ge=1, description="Its number in the log of the game.")]


class ReplayDeal(Struct, frozen=True, kw_only=True):
    """A deal that has ended: its cards, every move, the count, and the proof of its chance."""

    number: Annotated[_Number, Meta(description="Which deal of the match, from 1.")]
    dealer: Dealer
    totals: Annotated[tuple[_Number, ...], Meta(description="The points before the deal, by seat.")]
    cards: Annotated[
        tuple[Card, ...], Meta(description="The whole pack, the first card to be dealt first.")
    ]
    turnovers: Annotated[
        tuple[tuple[Card, ...], ...],
        Meta(
            description="For each turnover that was shuffled the cards in their new order, the "
            "first on top, before any new upcard was turned."
        ),
    ]
    turnovers_given: Annotated[
        _Number,
        Meta(
            description="How many of the first of these practice began with, where it went on with "
            "another deal: nothing is proved of them."
        ),
    ]
    moves: Annotated[tuple[ReplayMove, ...], Meta(description="All of them, in order.")]
    result: Annotated[
        DealResult | None, Meta(description="How it ended; null: it was given up (table.5).")
    ]
    proof: Proof


class ReplayPosition(Struct, frozen=True, kw_only=True):
    """How things stood, with every hand open."""

    hands: Annotated[
        tuple[tuple[Card, ...], ...],
        Meta(description="All hands, by seat; each by suit, then rank."),
    ]
    melds: Annotated[
        tuple[MeldView, ...], Meta(description="Those on the table, as they were laid.")
    ]
    stock: Annotated[Count, Meta(description="Cards in the stock.")]
    pile: Annotated[tuple[Card, ...], Meta(description="The discard pile; the upcard is the last.")]


class _Replay(Struct, frozen=True, kw_only=True):
    """What is told of the table."""

    game: GameId
    options: Annotated[Rules, Meta(description="Every option's effective value at the table.")]
    seats: Annotated[tuple[ReplaySeat, ...], Meta(description="Clockwise, from seat 0.")]
    practice: Annotated[
        bool, Meta(description="Whether it was a practice table: then somebody knew the cards.")
    ]
    dealer_by_lot: Annotated[
        bool, Meta(description="Whether the first dealer was drawn by lot, not set for practice.")
    ]


class DealReplay(_Replay, frozen=True, kw_only=True, tag_field="format", tag="rummy-deal-1"):
    """One deal that has ended, with how things stood at its start and after every move."""

    deal: ReplayDeal
    positions: Annotated[
        tuple[ReplayPosition, ...],
        Meta(
            description="At the start, then after each move, as long as the deal went on; what is "
            "left in the hands at the end is in the result."
        ),
    ]
    notation: Annotated[str, Meta(description="The deal as text, which practice can start from.")]


class MatchReplay(_Replay, frozen=True, kw_only=True, tag_field="format", tag="rummy-replay-1"):
    """All deals of a match that have ended, in order, and its result if it is over."""

    deals: Annotated[tuple[ReplayDeal, ...], Meta(description="In order, from the first.")]
    result: Annotated[
        MatchResult | None, Meta(description="How the match ended; null: it goes on.")
    ]


Document = DealReplay | MatchReplay

_decoder: msgspec.json.Decoder[Document] = msgspec.json.Decoder(Document)


def deal_replay(game: Game, rules: Rules, number: int, logged: Sequence[Logged]) -> DealReplay:
    """The deal with that number, of which `logged` is the log.

    Raises NoReplay if it is from before shuffles were committed to.
    """
    deal = _replayed(game, rules, number, logged)
    record = record_of(rules, deal)
    return DealReplay(
        **_table(game, rules),
        deal=deal,
        positions=tuple(
            position_of(going_on)
            for position in positions(record)
            if (going_on := position.match.deal)
        ),
        notation=_written(game, record),
    )


def match_replay(game: Game, rules: Rules, logs: Iterator[Sequence[Logged]]) -> Iterator[bytes]:
    """The MatchReplay as JSON in parts, a deal each, read when it is its turn.

    `logs` are the logs of the deals that have ended, from the first on. All of a long match would
    be some hundred megabytes at once. Raises NoReplay if a log is missing, or from before shuffles
    were committed to: at the first part, unless there is a gap behind it.
    """
    result = game.match.result if game.match else None
    frame = msgspec.json.encode(MatchReplay(**_table(game, rules), deals=(), result=result))
    begin, deals, end = frame.partition(b'"deals":[')
    part = begin + deals
    for number in range(1, deals_over(game) + 1):
        deal = _replayed(game, rules, number, next(logs, ()))
        yield part + msgspec.json.encode(deal)
        part = b","
    yield end if part == b"," else part + end


def deal_notation(game: Game, rules: Rules, number: int, logged: Sequence[Logged]) -> str:
    """The deal as text. Raises NoReplay as `deal_replay` does."""
    return _written(game, record_of(rules, _replayed(game, rules, number, logged)))


def replay_tag(game: Game, deal: int | None = None, *, text: bool = False) -> str:
    """What the document of the match, or of that deal of it, or its text, is known by now.

    32 hexadecimal digits; no log is needed for it, as deals that have ended never change.
    """
    over = (deals_over(game), game.match and game.match.result) if deal is None else deal
    shown = msgspec.json.encode((__version__, over, text, _seats(game)))
    return sha256(shown).hexdigest()[:32]


def deals_over(game: Game) -> int:
    """How many deals have ended, one that was given up included."""
    match = game.match
    if match is None:
        return 0
    ended = match.last.number if match.last else 0
    given_up = match.result is not None and match.result.reason == "abandoned"
    return ended + given_up


def decoded(text: bytes) -> Document:
    """The document that is written there as JSON. Raises BadReplay if none is."""
    try:
        return _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise BadReplay(Text("This is not a replay: {why}").format(why=str(error))) from error


def deals_of(document: Document) -> tuple[ReplayDeal, ...]:
    """All deals of the document."""
    return document.deals if isinstance(document, MatchReplay) else (document.deal,)


def deals_named(document: Document, only: int | None) -> tuple[ReplayDeal, ...]:
    """All its deals, or the one with the number `only`. Raises BadReplay if it is not there."""
    deals = deals_of(document)
    named = tuple(deal for deal in deals if only in {None, deal.number})
    if not named and only is not None:
        raise BadReplay(Text("There is no deal {deal} in the document."), deal=only)
    return named


def record_of(rules: Rules, deal: ReplayDeal) -> DealRecord:
    """The deal as what the engine plays again."""
    return DealRecord(
        rules=rules,
        number=deal.number,
        dealer=deal.dealer,
        cards=deal.cards,
        totals=deal.totals,
        moves=tuple(Recorded(move.seat, move.move, move.drawn) for move in deal.moves),
        turnovers=deal.turnovers,
    )


def position_of(deal: Deal) -> ReplayPosition:
    """How things stand in the deal, as a document shows it."""
    return ReplayPosition(
        hands=deal.hands, melds=melds_of(deal), stock=len(deal.stock), pile=deal.pile
    )


# ---------------------------------------------------------------------------------- from the log


def _replayed(game: Game, rules: Rules, number: int, logged: Sequence[Logged]) -> ReplayDeal:
    events = [entry.event for entry in logged]
    proof = next((event.proof for event in events if isinstance(event, Revealed)), None)
    result = next((event.result for event in events if isinstance(event, DealEnded)), None)
    if proof is None:
        raise NoReplay(
            Text("Deal {deal} is from before the service kept what a replay needs."), deal=number
        )
    key = key_of(proof.seed, proof.entropy)
    given = _turnovers_given(game, proof)
    deal = ReplayDeal(
        number=number,
        dealer=next(event.dealer for event in events if isinstance(event, Dealt)),
        totals=_totals_before(game, result),
        cards=_cards(game, rules, proof, key),
        turnovers=(),
        turnovers_given=len(given),
        moves=tuple(_moves(logged)),
        result=result,
        proof=proof,
    )
    if rules.turnover_shuffles and any(isinstance(event, TurnedOver) for event in events):
        record = with_turnovers(record_of(rules, deal), _orders(key, given))
        return replace(deal, turnovers=record.turnovers)
    return deal


def _totals_before(game: Game, result: DealResult | None) -> tuple[int, ...]:
    if result is None:  # it was given up
        return game.match.totals if game.match else ()
    return tuple(total - score for total, score in zip(result.totals, result.scores, strict=True))


def _cards(game: Game, rules: Rules, proof: Proof, key: bytes) -> tuple[Card, ...]:
    if proof.laid_out and game.practice and game.practice.order:
        return game.practice.order
    return shuffled(pack(rules.decks, rules.jokers), key, CARDS)


def _turnovers_given(game: Game, proof: Proof) -> tuple[tuple[Card, ...], ...]:
    practice = game.practice if proof.laid_out else None
    return read(practice.deal).turnovers if practice and practice.deal else ()


def _orders(key: bytes, given: Sequence[tuple[Card, ...]]) -> Shuffle:
    """The orders of shuffled turnovers: first those that were given, then by the key."""

    def order(number: int, cards: tuple[Card, ...]) -> tuple[Card, ...]:
        if number <= len(given):
            return given[number - 1]
        return shuffled(cards, key, turnover_label(number))

    return order


def _moves(logged: Sequence[Logged]) -> Iterator[ReplayMove]:
    for entry in logged:
        events = () if isinstance(entry.event, TableEvent) else (entry.event,)
        for step in recorded(events):
            yield ReplayMove(
                seat=step.seat,
                move=step.move,
                drawn=step.drawn,
                at=instant(entry.at),
                forced=entry.forced,
                event=entry.number,
            )


def _written(game: Game, record: DealRecord) -> str:
    return written(record, [seat.name for seat in game.seats])


def _table(game: Game, rules: Rules) -> dict[str, Any]:
    """The fields of `_Replay`."""
    return {
        "game": game.id,
        "options": rules,
        "seats": _seats(game),
        "practice": game.practice is not None,
        "dealer_by_lot": game.practice is None or game.practice.dealer is None,
    }


def _seats(game: Game) -> tuple[ReplaySeat, ...]:
    return tuple(ReplaySeat(seat.name, seat.played_by) for seat in game.seats)

"""Deals and matches that are over as documents: what happened, and the proof that it was fair.

They are made of the log, played again by the engine, and can be checked by anybody who has them:
`checked` says what fits and refuses what does not.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from service.errors import BadReplay, NoReplay
from service.game import Game, Logged, TableEvent
from service.rummy.cards import Card, pack
from service.rummy.computer import Level
from service.rummy.model import (
    Count,
    Deal,
    DealEnded,
    DealResult,
    Dealt,
    MatchResult,
    Move,
    Proof,
    Revealed,
    SeatNumber,
    TurnedOver,
)
from service.rummy.notation import read, spelt, written
from service.rummy.record import (
    DealRecord,
    Position,
    Recorded,
    Shuffle,
    positions,
    recorded,
    with_turnovers,
)
from service.rummy.rules import Rules
from service.rummy.shuffle import (
    CARDS,
    DEALER,
    SHUFFLE,
    Secret,
    commitment,
    key_of,
    lot,
    shuffled,
    turnover_label,
)
from service.rummy.view import Instant, MeldView, instant, melds_of
from service.text import Text


class ReplaySeat(Struct, frozen=True):
    """Who sat there when the match ended, or sits there now."""

    name: str
    computer: Annotated[
        Level | None, Meta(description="The level of a computer player; null: a person.")
    ]


class ReplayMove(Struct, frozen=True, kw_only=True):
    """A move as it was made."""

    seat: SeatNumber
    move: Move
    drawn: Annotated[
        Card | None,
        Meta(description="The card that the stock gave; null: it was no draw from the stock."),
    ]
    at: Instant
    forced: Annotated[bool, Meta(description="Whether the clock did it, not the player.")]
    event: Annotated[int, Meta(ge=1, description="Its number in the log of the game.")]


class ReplayDeal(Struct, frozen=True, kw_only=True):
    """A deal that has ended: its cards, every move, the count, and the proof of its chance."""

    number: Annotated[Count, Meta(description="Which deal of the match, from 1.")]
    dealer: SeatNumber
    totals: Annotated[tuple[Count, ...], Meta(description="By seat, before the deal.")]
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
    moves: tuple[ReplayMove, ...]
    result: Annotated[
        DealResult | None, Meta(description="How it ended; null: it was given up (table.5).")
    ]
    proof: Proof


class ReplayPosition(Struct, frozen=True, kw_only=True):
    """How things stood, with every hand open."""

    hands: tuple[tuple[Card, ...], ...]
    melds: tuple[MeldView, ...]
    stock: Annotated[Count, Meta(description="Cards in the stock.")]
    pile: Annotated[tuple[Card, ...], Meta(description="The discard pile; the upcard is the last.")]


class DealReplay(Struct, frozen=True, kw_only=True, tag_field="format", tag="rummy-deal-1"):
    """One deal that has ended, with how things stood at its start and after every move."""

    game: str
    options: Rules
    seats: tuple[ReplaySeat, ...]
    dealer_by_lot: Annotated[
        bool, Meta(description="Whether the first dealer was drawn by lot, not set for practice.")
    ]
    deal: ReplayDeal
    positions: Annotated[
        tuple[ReplayPosition, ...],
        Meta(
            description="At the start, then after each move, as long as the deal went on; what is "
            "left in the hands at the end is in the result."
        ),
    ]
    notation: Annotated[str, Meta(description="The deal as text, which practice can start from.")]


class MatchReplay(Struct, frozen=True, kw_only=True, tag_field="format", tag="rummy-replay-1"):
    """All deals of a match that have ended, in order, and its result if it is over."""

    game: str
    options: Rules
    seats: tuple[ReplaySeat, ...]
    dealer_by_lot: Annotated[
        bool, Meta(description="Whether the first dealer was drawn by lot, not set for practice.")
    ]
    deals: tuple[ReplayDeal, ...]
    result: Annotated[MatchResult | None, Meta(description="Null: the match goes on.")]


Document = DealReplay | MatchReplay


def deal_replay(game: Game, rules: Rules, number: int, logged: Sequence[Logged]) -> DealReplay:
    """The deal with that number, of which `logged` is the log.

    Raises NoReplay if it is from before shuffles were committed to.
    """
    deal, record = _replayed(game, rules, number, logged)
    return DealReplay(
        game=game.id,
        options=rules,
        seats=_seats(game),
        dealer_by_lot=_dealer_by_lot(game),
        deal=deal,
        positions=tuple(
            _position(going_on)
            for position in positions(record)
            if (going_on := position.match.deal)
        ),
        notation=written(record, [seat.name for seat in game.seats]),
    )


def match_replay(game: Game, rules: Rules, logs: Iterable[Sequence[Logged]]) -> MatchReplay:
    """The match, of which `logs` are the logs of the deals that have ended, from the first on.

    Raises NoReplay if one is from before shuffles were committed to.
    """
    return MatchReplay(
        game=game.id,
        options=rules,
        seats=_seats(game),
        dealer_by_lot=_dealer_by_lot(game),
        deals=tuple(
            _replayed(game, rules, number, logged)[0] for number, logged in enumerate(logs, 1)
        ),
        result=game.match.result if game.match else None,
    )


def deals_over(game: Game) -> int:
    """How many deals have ended, one that was given up included."""
    match = game.match
    if match is None:
        return 0
    ended = match.last.number if match.last else 0
    given_up = match.result is not None and match.result.reason == "abandoned"
    return ended + given_up


# ---------------------------------------------------------------------------------- from the log


def _replayed(
    game: Game, rules: Rules, number: int, logged: Sequence[Logged]
) -> tuple[ReplayDeal, DealRecord]:
    proof = next((one.event.proof for one in logged if isinstance(one.event, Revealed)), None)
    result = next((one.event.result for one in logged if isinstance(one.event, DealEnded)), None)
    if proof is None:
        raise NoReplay(
            Text("Deal {deal} is from before the service kept what a replay needs."), deal=number
        )
    moves = tuple(_moves(logged))
    record = _record(game, rules, proof, logged, result)
    deal = ReplayDeal(
        number=number,
        dealer=record.dealer,
        totals=record.totals,
        cards=record.cards,
        turnovers=record.turnovers,
        moves=moves,
        result=result,
        proof=proof,
    )
    return deal, record


def _record(
    game: Game, rules: Rules, proof: Proof, logged: Sequence[Logged], result: DealResult | None
) -> DealRecord:
    events = [entry.event for entry in logged if not isinstance(entry.event, TableEvent)]
    dealer = next(event.dealer for event in events if isinstance(event, Dealt))
    key = key_of(proof.seed, proof.entropy)
    if proof.laid_out and game.practice and game.practice.order:
        cards = game.practice.order
    else:
        cards = shuffled(pack(rules.decks, rules.jokers), key, CARDS)
    if result is not None:
        totals = tuple(
            total - score for total, score in zip(result.totals, result.scores, strict=True)
        )
    else:
        totals = game.match.totals if game.match else ()
    record = DealRecord(
        rules=rules,
        number=proof.deal,
        dealer=dealer,
        cards=cards,
        totals=totals,
        moves=recorded(events),
    )
    if rules.turnover_shuffles and any(isinstance(event, TurnedOver) for event in events):
        practice = game.practice if proof.laid_out else None
        before = read(practice.deal).turnovers if practice and practice.deal else ()
        return with_turnovers(record, _orders(key, before))
    return record


def _orders(key: bytes, before: Sequence[tuple[Card, ...]] = ()) -> Shuffle:
    """The orders of shuffled turnovers: those of `before` practice began, then by the key."""

    def order(number: int, cards: tuple[Card, ...]) -> tuple[Card, ...]:
        if number <= len(before):
            return before[number - 1]
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


def _position(deal: Deal) -> ReplayPosition:
    return ReplayPosition(
        hands=deal.hands, melds=melds_of(deal), stock=len(deal.stock), pile=deal.pile
    )


def _seats(game: Game) -> tuple[ReplaySeat, ...]:
    return tuple(ReplaySeat(seat.name, seat.played_by) for seat in game.seats)


def _dealer_by_lot(game: Game) -> bool:
    return game.practice is None or game.practice.dealer is None


# --------------------------------------------------------------------------------------- telling


def told(document: Document, only: int | None = None) -> Iterator[str]:
    """The deals move by move, a line each; only the one with that number, if one is named.

    Raises BadReplay at the first move that does not fit.
    """
    deals = document.deals if isinstance(document, MatchReplay) else (document.deal,)
    if only is not None and only not in {deal.number for deal in deals}:
        raise BadReplay(Text("There is no deal {deal} in it."), deal=only)
    for deal in deals:
        if only in {None, deal.number}:
            yield from _told_deal(document, deal)
    if isinstance(document, MatchReplay) and document.result and only is None:
        result = document.result
        winners = ", ".join(document.seats[seat].name for seat in result.winners)
        yield f"Match over ({result.reason}): {winners or 'nobody'} won. Totals: {result.totals}"


def _told_deal(document: Document, deal: ReplayDeal) -> Iterator[str]:
    names = [seat.name for seat in document.seats]
    width = max(map(len, names))
    steps = positions(record_of(document.options, deal))
    start = next(steps).match.deal
    yield f"Deal {deal.number}, dealt by {names[deal.dealer]}"
    for seat, hand in enumerate(start.hands if start else ()):
        yield f"      {names[seat]:{width}}  is dealt {' '.join(hand)}"
    yield f"      {'':{width}}  upcard {start.upcard if start and start.upcard else 'none'}"
    for number, (move, position) in enumerate(zip(deal.moves, steps, strict=True), 1):
        after = position.match.deal
        did = spelt(Recorded(move.seat, move.move, move.drawn))
        forced = " (by the clock)" if move.forced else ""
        left = "" if after is None else f"| {' '.join(after.hands[move.seat])}"
        yield f"{number:5} {names[move.seat]:{width}}  {did + forced:<32} {left}".rstrip()
    result = deal.result
    if result is None:
        yield "      given up"
        return
    ended = f"out by {result.how}" if result.how else f"blocked ({result.why})"
    yield f"      {ended}; left in the hands {result.counts}, scores {result.scores}"


# -------------------------------------------------------------------------------------- checking


def checked(document: Document) -> Iterator[tuple[int, Text]]:
    """What was found to be right, with the number of its deal (0: the match), as it is found.

    Raises BadReplay at the first thing that does not fit, which says where it is.
    """
    deals = document.deals if isinstance(document, MatchReplay) else (document.deal,)
    if len(document.seats) != document.options.players:
        raise BadReplay(Text("There is not one of `seats` for each of the `players`."))
    ended: MatchResult | None = None
    before: ReplayDeal | None = None
    for deal in deals:
        if ended is not None or (before is not None and before.result is None):
            raise BadReplay(Text("Deal {deal}: the match was over before it."), deal=deal.number)
        try:
            if isinstance(document, MatchReplay):
                _check_follows(deal, before)
            yield from ((deal.number, fits) for fits in _checked_shuffle(document, deal))
            *_, last = positions(record_of(document.options, deal))
            yield from ((deal.number, fits) for fits in _checked_play(document, deal, last))
        except BadReplay as refusal:
            refusal.detail = Text("Deal {deal}: {why}").format(deal=deal.number, why=refusal.detail)
            refusal.params["deal"] = deal.number
            raise
        ended = last.match.result
        before = deal
    if isinstance(document, MatchReplay):
        yield 0, _checked_result(document, ended, before)


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


def _check_follows(deal: ReplayDeal, before: ReplayDeal | None) -> None:
    """The deal is the one after `before`: its number, its dealer, the totals (common.2)."""
    players = len(deal.totals)
    number = 1 if before is None else before.number + 1
    if deal.number != number:
        raise BadReplay(Text("deal {number} is missing before it."), number=number)
    if before is not None and deal.dealer != (before.dealer + 1) % players:
        raise BadReplay(
            Text("seat {dealer} is not at the left of the dealer before."),
            rule="common.2",
            dealer=deal.dealer,
        )
    result = before.result if before else None
    if before is None and deal.proof.laid_out:
        return  # practice can go on with a deal of another match
    if deal.totals != (result.totals if result else (0,) * players):
        raise BadReplay(Text("`totals` are not those after the deal before."))


def _checked_shuffle(document: Document, deal: ReplayDeal) -> Iterator[Text]:
    """The commitment, and all that the secret decides at the start of the deal."""
    rules, proof = document.options, deal.proof
    if (proof.deal, proof.shuffle) != (deal.number, SHUFFLE):
        raise BadReplay(
            Text("the proof is for deal {number} and the shuffle {shuffle}, not for {known}."),
            number=proof.deal,
            shuffle=proof.shuffle,
            known=SHUFFLE,
        )
    if proof.commitment != commitment(Secret(proof.seed, proof.nonce), document.game, deal.number):
        raise BadReplay(Text("the secret is not the one that was committed to."))
    yield Text("The secret is the one that was committed to: {commitment}").format(
        commitment=proof.commitment
    )
    if len(proof.entropy) not in {0, rules.players}:
        raise BadReplay(Text("`entropy` has not an item for each seat."))
    key = key_of(proof.seed, proof.entropy)
    if deal.number == 1 and document.dealer_by_lot:
        if deal.dealer != lot(rules.players, key, DEALER):
            raise BadReplay(Text("the lot fell on another first dealer."), dealer=deal.dealer)
        yield Text("The first dealer was drawn by lot: seat {dealer}").format(dealer=deal.dealer)
    if proof.laid_out:
        yield Text("The cards were laid out for practice, so nothing is proved of their order")
    elif deal.cards != shuffled(pack(rules.decks, rules.jokers), key, CARDS):
        raise BadReplay(Text("the cards are not in the order that the secret gives."))
    else:
        yield Text("The {count} cards lay in the order that the secret gives").format(
            count=len(deal.cards)
        )


def _checked_play(document: Document, deal: ReplayDeal, last: Position) -> Iterator[Text]:
    """What the secret decides later, and the end, which the engine came to as the `last`."""
    key = key_of(deal.proof.seed, deal.proof.entropy)
    # Practice can have gone on with a deal whose reshuffles came from another secret.
    given = deal.turnovers if deal.proof.laid_out else ()
    orders = with_turnovers(record_of(document.options, deal), _orders(key, given)).turnovers
    for number, (order, wanted) in enumerate(zip(deal.turnovers, orders, strict=True), 1):
        if order != wanted:
            raise BadReplay(
                Text("turnover {number} is not in the order that the secret gives."),
                number=number,
            )
    if orders and not given:
        yield Text("Each reshuffle is as the secret gives it: {count}").format(count=len(orders))
    yield Text("Every move was legal, and gave the cards that it says: {count}").format(
        count=len(deal.moves)
    )
    found = last.match.last if last.match.deal is None else None
    if deal.result != found:
        raise BadReplay(
            Text("the moves do not lead to the result that is given."), number=deal.number
        )
    if found is None:
        yield Text("The deal was given up")
    else:
        yield Text("The count is right: {scores}").format(scores=found.scores)


def _checked_result(
    document: MatchReplay, ended: MatchResult | None, last: ReplayDeal | None
) -> Text:
    """The result of the match, which the last deal led to if it was not given up."""
    result = document.result
    if result is not None and result.reason == "abandoned":
        given_up = last is not None and last.result is None
        totals = last.totals if last else ()
        fits = given_up and result == MatchResult(
            reason="abandoned", winners=(), tie=False, totals=totals
        )
    else:
        fits = result == ended and (last is None or last.result is not None)
    if not fits:
        raise BadReplay(Text("The deals do not lead to the result of the match that is given."))
    if result is None:
        return Text("The match goes on after these deals: {count}").format(
            count=len(document.deals)
        )
    return Text("The totals are right: {totals}").format(totals=result.totals)

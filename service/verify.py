"""The checking of replays: that nobody chose the cards, and that the moves lead to what is told.

What a document alone cannot prove is left to its reader: that the commitments are those shown
before the deals, who the players were, and how fast they moved.
"""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from service.errors import BadReplay
from service.replay import (
    DealReplay,
    Document,
    MatchReplay,
    ReplayDeal,
    ReplayMove,
    deals_named,
    deals_of,
    position_of,
    record_of,
)
from service.rummy.cards import ORDER, Card, in_order, pack
from service.rummy.model import Match, MatchResult
from service.rummy.notation import spelt, written
from service.rummy.record import Position, guard_rules, positions, recorded, unfit
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
from service.text import Text

# What the lines are made of that are hashed: in any other form a second secret could hide there.
_SEED = re.compile("[0-9a-f]{64}")
_NONCE = re.compile("[0-9a-f]{32}")
_ENTROPY = re.compile("[!-~]{0,100}")

_T = TypeVar("_T")
_OfDeal = Callable[[ReplayDeal, Iterator[Position]], Generator[_T, None, Match]]
"""Looks at a deal and its positions, as the engine plays it again; returns the match after it."""


def checked(document: Document, only: int | None = None) -> Iterator[tuple[int, Text]]:
    """What was found to be right, with the number of its deal (0: the match), as it is found.

    All of it, or only the deal with that number. Raises BadReplay at the first thing that does not
    fit; its `params` name the `deal` and, where it is one, the `move`.
    """
    yield from walked(document, only, partial(_checked, document))
    if isinstance(document, MatchReplay) and only is None:
        yield 0, _found_of_match(document)


def walked(document: Document, only: int | None, of_deal: _OfDeal[_T]) -> Iterator[_T]:
    """What `of_deal` finds in each deal, or only in that one, as they follow one another.

    Raises BadReplay where one does not follow, or they do not lead to the result of the match, and
    tells the deal of each that `of_deal` raises.
    """
    _guard_table(document)
    if not deals_named(document, only):
        raise BadReplay(Text("No deal in it has ended yet."))
    before: ReplayDeal | None = None
    ended: MatchResult | None = None
    for deal in deals_of(document):
        if only in {None, deal.number}:
            with in_deal(deal.number):
                if isinstance(document, MatchReplay):
                    _guard_order(document.options, deal, before, ended)
                last = yield from of_deal(deal, _replayed(document.options, deal))
            ended = last.result
        before = deal
    if isinstance(document, MatchReplay) and only is None:
        _guard_result(document, ended)


def _replayed(rules: Rules, deal: ReplayDeal) -> Iterator[Position]:
    """The start, then how things stood after each move, as the engine plays it again.

    Raises BadReplay at the first move that does not fit, with its number from 1 as `move` in the
    `params`; and in the end if the moves do not lead to the deal's result.
    """
    before: ReplayMove | None = None
    for number, position in enumerate(positions(record_of(rules, deal))):
        if position.recorded is not None:
            # The engine takes less than the log tells, such as a draw without the card's name.
            (logged,) = recorded(position.events)
            if logged != position.recorded:
                detail = Text("the log would have it as {move}.").format(move=spelt(logged))
                raise unfit(number, position.recorded, detail)
            move = deal.moves[number - 1]
            if before and not _comes_after(before, move):
                raise unfit(
                    number, position.recorded, Text("it was made before the move ahead of it.")
                )
            before = move
        yield position
    if position.match.last != deal.result:
        raise BadReplay(Text("the moves do not lead to the result that is given."))


@contextmanager
def in_deal(number: int) -> Iterator[None]:
    """What does not fit meanwhile is told of the deal with that number."""
    try:
        yield
    except BadReplay as refusal:
        detail = Text("Deal {deal}: {why}")
        refusal.detail = detail.format(deal=number, why=refusal.detail)
        refusal.params["deal"] = number
        raise


def _checked(
    document: Document, deal: ReplayDeal, steps: Iterator[Position]
) -> Generator[tuple[int, Text], None, Match]:
    for fits in _checked_chance(document, deal):
        yield deal.number, fits
    match = _played(document, deal, steps)
    for fits in _found(deal):
        yield deal.number, fits
    return match


def _guard_table(document: Document) -> None:
    """The options and seats are some that a table can have. Raises BadReplay."""
    guard_rules(document.options)
    if len(document.seats) != document.options.players:
        raise BadReplay(Text("There is not one of `seats` for each of the `players`."))
    if not (document.practice or document.dealer_by_lot):
        raise BadReplay(Text("Only at a practice table the first dealer is not drawn by lot."))


def _guard_order(
    rules: Rules, deal: ReplayDeal, before: ReplayDeal | None, ended: MatchResult | None
) -> None:
    """The deal is the one after `before`, with which the match `ended` or not (common.2).

    Raises BadReplay.
    """
    number = 1 if before is None else before.number + 1
    if deal.number != number:
        raise BadReplay(Text("deal {number} is missing before it.").format(number=number))
    if before is None:
        return
    if before.result is None or ended is not None:
        raise BadReplay(Text("the match was over before it."))
    if deal.dealer != (before.dealer + 1) % rules.players:
        raise BadReplay(Text("the dealer does not sit at the left of the dealer before."))
    if deal.totals != before.result.totals:
        raise BadReplay(Text("`totals` are not those after the deal before."))
    if before.moves and deal.moves and not _comes_after(before.moves[-1], deal.moves[0]):
        raise BadReplay(Text("it begins before the end of the deal before."))


def _guard_result(document: MatchReplay, ended: MatchResult | None) -> None:
    """The match has the result that it `ended` with by its last deal, or was given up in that.

    Raises BadReplay.
    """
    last = document.deals[-1] if document.deals else None
    if last is not None and last.result is None:
        ended = MatchResult(reason="abandoned", winners=(), tie=False, totals=last.totals)
    if document.result != ended:
        raise BadReplay(Text("The deals do not lead to the result of the match that is given."))


# ------------------------------------------------------------------------------------- the chance


def _checked_chance(document: Document, deal: ReplayDeal) -> Iterator[Text]:
    """The commitment, and all that follows from the secret (docs/fairness.md)."""
    rules, proof = document.options, deal.proof
    if proof.laid_out and not (document.practice and deal.number == 1):
        raise BadReplay(Text("only the first deal of a practice table can be laid out."))
    if deal.number == 1 and not proof.laid_out and any(deal.totals):
        raise BadReplay(Text("`totals` of the first deal are not 0."))
    _check_secret(document, deal)
    yield Text("The secret is the one that was committed to: {commitment}").format(
        commitment=proof.commitment
    )
    for seat, text in enumerate(proof.entropy):
        if text:
            yield Text("Mixed in is what seat {seat} had added: {text}").format(
                seat=seat, text=text
            )
    key = key_of(proof.seed, proof.entropy)
    if deal.number == 1 and document.dealer_by_lot:
        if deal.dealer != lot(rules.players, key, DEALER):
            raise BadReplay(Text("the lot fell on another first dealer."))
        yield Text("The first dealer was drawn by lot: seat {dealer}").format(dealer=deal.dealer)
    yield _checked_cards(rules, deal, key)
    if deal.turnovers or deal.turnovers_given:
        yield _checked_turnovers(deal, key)


def _check_secret(document: Document, deal: ReplayDeal) -> None:
    proof = deal.proof
    if (proof.deal, proof.shuffle) != (deal.number, SHUFFLE):
        raise BadReplay(
            Text("the proof is for deal {number} and the shuffle {shuffle}, not {known}.").format(
                number=proof.deal, shuffle=proof.shuffle, known=SHUFFLE
            )
        )
    if not (
        _SEED.fullmatch(proof.seed)
        and _NONCE.fullmatch(proof.nonce)
        and all(map(_ENTROPY.fullmatch, proof.entropy))
    ):
        raise BadReplay(Text("`seed`, `nonce` or `entropy` is not of the documented form."))
    if len(proof.entropy) not in {0, document.options.players}:
        raise BadReplay(Text("`entropy` has not an item for each seat."))
    if proof.commitment != commitment(Secret(proof.seed, proof.nonce), document.game, deal.number):
        raise BadReplay(Text("the secret is not the one that was committed to."))


def _checked_cards(rules: Rules, deal: ReplayDeal, key: bytes) -> Text:
    if deal.proof.laid_out:
        return Text("The cards were laid out for practice, so nothing is proved of their order")
    if deal.cards != shuffled(pack(rules.decks, rules.jokers), key, CARDS):
        raise BadReplay(Text("the cards are not in the order that the secret gives."))
    return Text("The cards lay in the order that the secret gives: {count}").format(
        count=len(deal.cards)
    )


def _checked_turnovers(deal: ReplayDeal, key: bytes) -> Text:
    """That they are made of the cards turned over is for the engine to say."""
    given = deal.turnovers_given
    if given > (len(deal.turnovers) if deal.proof.laid_out else 0):
        raise BadReplay(Text("`turnovers_given` are more than can have been given."))
    for number, order in enumerate(deal.turnovers, 1):
        if number > given and not _is_shuffled(order, key, turnover_label(number)):
            raise BadReplay(
                Text("turnover {number} is not in the order that the secret gives.").format(
                    number=number
                )
            )
    # Practice can go on with another deal after some turnovers, which another secret has shuffled.
    if given:
        return Text("Nothing is proved of the first reshuffles: {count}").format(count=given)
    return Text("Each reshuffle is as the secret gives it: {count}").format(
        count=len(deal.turnovers)
    )


def _is_shuffled(order: tuple[Card, ...], key: bytes, label: str) -> bool:
    return all(card in ORDER for card in order) and order == shuffled(in_order(order), key, label)


# -------------------------------------------------------------------------------------- the moves


def _comes_after(before: ReplayMove, move: ReplayMove) -> bool:
    """Times never go back, and the events of a log are counted."""
    return move.at >= before.at and move.event > before.event


def _played(document: Document, deal: ReplayDeal, steps: Iterator[Position]) -> Match:
    """The match as it is in the end, and that a document of one deal shows it on the way."""
    shown = document.positions if isinstance(document, DealReplay) else None
    seen = 0
    for number, position in enumerate(steps):
        if shown is None or position.match.deal is None:
            continue
        seen += 1
        if position_of(position.match.deal) != next(iter(shown[number : number + 1]), None):
            raise BadReplay(
                Text("`positions` shows something else after move {move}."), move=number
            )
    if isinstance(document, DealReplay):
        if len(document.positions) != seen:
            raise BadReplay(Text("`positions` has not one for the start and each move."))
        names = [seat.name for seat in document.seats]
        if document.notation != written(record_of(document.options, deal), names):
            raise BadReplay(Text("`notation` tells another deal."))
    return position.match


def _found(deal: ReplayDeal) -> Iterator[Text]:
    yield Text("Every move was legal, and gave the cards that it says: {count}").format(
        count=len(deal.moves)
    )
    if deal.result is None:
        yield Text("The deal was given up")
    else:
        yield Text("The count is right: {scores}").format(scores=deal.result.scores)


def _found_of_match(document: MatchReplay) -> Text:
    if document.result is None:
        return Text("It goes on after these deals: {count}").format(count=len(document.deals))
    return Text("The totals are right: {totals}").format(totals=document.result.totals)

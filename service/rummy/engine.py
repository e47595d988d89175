"""The rules as one function: `apply` takes a match and a move to the next match and its events.

It refuses by raising and never changes what it was given. Guards come in one order: is the match
over, is it the player's turn, is it time for this step, are the cards there, do they fit, can the
turn still be finished. `legal` builds its list on the same guards.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from service.errors import (
    AlreadyDrawn,
    BadPractice,
    CallClosed,
    CallPending,
    DrawFirst,
    FinalDiscardNeeded,
    MatchOver,
    MeldLimit,
    MeldsFirst,
    NoCalls,
    NoJokerThere,
    NoLayoffs,
    NoNextDeal,
    NoSuchMeld,
    NoSwaps,
    NothingToTurnOver,
    NotInHand,
    NotYourMeld,
    NotYourTurn,
    NoUpcard,
    OwnDiscard,
    Refused,
    TurnUnfinished,
    UpcardChanged,
    UpcardReturned,
    WouldBeStuck,
)
from service.rummy import melds
from service.rummy.cards import JOKER, Card, in_order, pack, points, without
from service.rummy.discards import turned_up
from service.rummy.model import (
    Blocked,
    Call,
    Called,
    CallWindow,
    Committed,
    Deal,
    DealEnded,
    DealerDrawn,
    DealResult,
    Dealt,
    Declined,
    Discard,
    Discarded,
    Draw,
    Drew,
    Event,
    LaidOff,
    LayMeld,
    LayOff,
    Match,
    MatchEnded,
    MatchResult,
    Meld,
    Melded,
    Move,
    Play,
    Proof,
    Revealed,
    Swap,
    Swapped,
    TurnedOver,
    WentOut,
)
from service.rummy.rules import TURN_LIMIT, Rules
from service.rummy.shuffle import (
    CARDS,
    DEALER,
    SHUFFLE,
    committed,
    key_of,
    lot,
    secret_of,
    shuffled,
    turnover_label,
)
from service.text import Text

Change = tuple[Match, tuple[Event, ...]]
"""A match after a change, and the events that tell of the change."""

_ORDER_IS_OFF = {
    (True, True): Text(
        "The card order is not the pack of {cards} cards: missing {missing}; too many {extra}."
    ),
    (True, False): Text("The card order is not the pack of {cards} cards: missing {missing}."),
    (False, True): Text("The card order is not the pack of {cards} cards: too many {extra}."),
}
"""How an order is no pack: whether cards are missing, whether there are too many."""


def new_match(
    rules: Rules,
    seed: str,
    dealer: int | None = None,
    order: Sequence[Card] | None = None,
    *,
    game: str = "",
    entropy: tuple[str, ...] = (),
) -> Change:
    """A match with its first deal dealt.

    All chance comes from `seed`, which is committed to by the id of the `game`, and from what the
    seats have added, by seat. For practice the first `dealer` and the `order` of the pack, the
    first card to be dealt first, can be given; BadPractice if they do not fit the rules.
    """
    if dealer is not None and not 0 <= dealer < rules.players:
        raise BadPractice(
            Text("There is no seat {dealer} to deal first; seats are 0 to {last}."),
            dealer=dealer,
            last=rules.players - 1,
        )
    if order is not None:
        _check_order(order, rules)
    by_lot = dealer is None
    key = key_of(secret_of(seed, 1).seed, entropy)
    first = lot(rules.players, key, DEALER) if dealer is None else dealer
    totals = (0,) * rules.players
    match = Match(rules=rules, seed=seed, totals=totals, game=game, entropy=entropy)
    match, dealt = _new_deal(match, number=1, dealer=first, order=order)
    return match, (DealerDrawn(first, by_lot), *dealt)


def apply(match: Match, seat: int, move: Move, now: int) -> Change:
    """The match after `seat` makes `move` at the time `now` (milliseconds), and what happened.

    Raises a leaf of errors.Refused that names the clause; then nothing has happened.
    """
    deal = guard_running(match)
    if isinstance(move, Call):
        return _call(match, deal, seat, move, now)
    guard_turn(deal, seat)
    if isinstance(move, Draw):
        return _draw(match, deal, move, now)
    guard_drawn(deal)
    match move:
        case LayMeld():
            return _lay_meld(match, deal, move)
        case LayOff():
            return _lay_off(match, deal, move)
        case Swap():
            return _swap(match, deal, move)
        case Discard():
            return _discard(match, deal, move, now)


def apply_turn(
    match: Match, seat: int, plays: Sequence[Play], discard: Card | None, now: int
) -> Change:
    """The rest of a turn: the plays in order, then the discard; all of it or nothing.

    Raises as `apply` does; TurnUnfinished where no `discard` is named though cards are left, and
    NotInHand where something is left to do after the hand is empty. The place of a play that is
    refused, from 0, is in the refusal's `params["play"]`.
    """
    deal = guard_running(match)
    guard_turn(deal, seat)
    guard_drawn(deal)
    moves: tuple[Move, ...] = (*plays, *((Discard(discard),) if discard is not None else ()))
    events: tuple[Event, ...] = ()
    over = False
    for place, move in enumerate(moves):
        if over:
            raise NotInHand(
                Text("The plays before empty your hand, which ends the deal."), rule="common.8"
            )
        try:
            match, happened = apply(match, seat, move, now)
        except Refused as refusal:
            if place < len(plays):
                refusal.params["play"] = place
            raise
        events += happened
        over = match.deal is None or match.deal.number != deal.number
    if discard is None and not over:
        raise TurnUnfinished(
            Text("Name the card to discard; only a turn that empties the hand ends without."),
            rule="common.3",
        )
    return match, events


def abandon(match: Match) -> Change:
    """The match ended by everybody leaving: the deal is not counted, and nobody wins (table.5).

    Raises MatchOver.
    """
    deal = guard_running(match)
    ending = MatchResult(reason="abandoned", winners=(), tie=False, totals=match.totals)
    proof = _proof(match, deal)
    match = replace(match, deal=None, result=ending, revealed=proof)
    return match, (*_shown(proof), MatchEnded(ending))


def with_entropy(match: Match, seat: int, entropy: str) -> Match:
    """The match with what that seat adds to the chance of its next deal (table.8).

    It takes the place of what the seat had added to that deal before. Raises MatchOver, and
    NoNextDeal in the last deal.
    """
    deal = guard_running(match)
    if not _another_follows(match.rules, deal.number):
        raise NoNextDeal(
            Text("Deal {deal} is the last of the match; there is none to add entropy to."),
            rule="table.8",
            deal=deal.number,
        )
    added = list(match.entropy or ("",) * match.rules.players)
    added[seat] = entropy
    return replace(match, entropy=tuple(added))


def next_deal(match: Match) -> int | None:
    """The number of the deal after the one being played; None: none will follow."""
    deal = match.deal
    if deal is None or not _another_follows(match.rules, deal.number):
        return None
    return deal.number + 1


# --------------------------------------------------------------------------------- guards
# Each raises or lets pass. legal.py asks the same ones, or the questions that they raise by.


def guard_running(match: Match) -> Deal:
    """The deal being played; MatchOver if there is none."""
    if match.deal is None:
        raise MatchOver(Text("The match is over; nobody plays another card."), rule="common.8")
    return match.deal


def guard_turn(deal: Deal, seat: int) -> None:
    """It is that seat's turn (common.1)."""
    if deal.turn != seat:
        raise NotYourTurn(Text("It is the turn of seat {turn}."), rule="common.1", turn=deal.turn)


def guard_drawn(deal: Deal) -> None:
    """The player has drawn (common.3)."""
    if deal.phase == "draw":
        raise DrawFirst(Text("Draw a card first, from the stock or the upcard."), rule="common.3")


def guard_not_drawn(deal: Deal) -> None:
    """The player has not drawn (common.3)."""
    if deal.phase == "play":
        raise AlreadyDrawn(
            Text("You have drawn this turn; meld, lay off or swap as you like, then discard."),
            rule="common.3",
        )


def guard_call_settled(deal: Deal, rules: Rules, now: int) -> None:
    """No timed call is open that the draw would have to wait for (call-rummy.5)."""
    window = deal.window
    if window is None or window.closes is None or not window.is_open(now):
        return
    if callable_on(deal, rules):
        seconds = -(-(window.closes - now) // 1000)
        raise CallPending(
            Text("{upcard} fits a meld and may still be called for {seconds} s; draw after that."),
            rule="call-rummy.5",
            upcard=deal.upcard,
            seconds=seconds,
        )


def guard_stock(deal: Deal, rules: Rules) -> None:
    """A stock card can be had, or asking for one ends the deal (common.12)."""
    if deal.stock or _turnovers_used_up(deal, rules) or _can_turn_over(deal, rules):
        return
    raise NothingToTurnOver(
        Text("The stock is empty and the discard pile has no card to turn over; take the upcard."),
        rule="common.12",
    )


def guard_expected(deal: Deal, expected: Card | None) -> None:
    """The upcard is the one that the player expects, if any."""
    if expected is not None and expected != deal.upcard:
        raise UpcardChanged(
            Text("The upcard is {upcard} now, not {expected}.")
            if deal.upcard
            else Text("There is no upcard now; {expected} is gone."),
            rule="common.3",
            upcard=deal.upcard,
            expected=expected,
        )


def guard_upcard(deal: Deal) -> Card:
    """The upcard, which can be taken."""
    if deal.upcard is None:
        raise NoUpcard(Text("There is no upcard to take; draw from the stock."), rule="common.3")
    return deal.upcard


def guard_may_meld(deal: Deal, rules: Rules) -> None:
    """A new meld may be laid at this point of the turn."""
    if may_meld(deal, rules):
        return
    if melds_left(deal, rules) == 0:
        raise MeldLimit(
            Text("You have laid a new meld this turn; the limit is {limit}."),
            rule=rules.clause("melds_per_turn"),
            limit=1,
        )
    raise MeldsFirst(
        Text("You have laid off this turn; new melds come before layoffs."),
        rule=rules.clause("order"),
    )


def guard_layoffs(rules: Rules) -> None:
    """Cards may be laid off at this table."""
    if rules.layoffs == "none":
        raise NoLayoffs(Text("Nothing is laid off at this table."), rule="common.7")


def guard_may_lay_off(deal: Deal, rules: Rules, meld: Meld) -> None:
    """The player may lay off on that meld."""
    if not may_lay_off(meld, deal.turn, rules):
        raise NotYourMeld(
            Text("Meld {meld} lies in front of seat {owner}; lay off on your own melds only."),
            rule=rules.clause("layoffs"),
            meld=meld.id,
            owner=meld.owner,
        )


def guard_may_swap(rules: Rules) -> None:
    """Jokers may be swapped out at this table."""
    if not rules.joker_swap:
        raise NoSwaps(
            Text("Jokers stay where they are laid at this table."),
            rule=rules.clause("joker_swap"),
        )


def guard_may_discard(deal: Deal, rules: Rules, card: Card) -> None:
    """The card is not the upcard that was taken this turn (straight.4, parlett.3)."""
    if not may_discard(deal, card):
        raise UpcardReturned(
            Text("You took {card} from the discard pile this turn; discard another card."),
            rule=rules.clause("return_upcard"),
            card=card,
        )


def guard_finishable(
    hand: tuple[Card, ...], table: Sequence[Meld], deal: Deal, rules: Rules
) -> None:
    """The turn can still end with that hand and those melds (common.13, common.15).

    A hand with any card that may be discarded can end the turn. Else all that is left is the upcard
    just taken, a single card, for an equal one would have lifted the ban.
    """
    if not hand:
        if rules.final_discard:
            raise FinalDiscardNeeded(
                Text("The last card must be discarded to go out, so one has to stay in your hand."),
                rule=rules.clause("final_discard"),
            )
        return
    if hand != (deal.taken,) or _can_play(hand[0], table, deal.turn, rules):
        return
    raise WouldBeStuck(
        Text(
            "You would be left with {card}, the upcard that you took, which you may not discard "
            "this turn and could not play."
        ),
        rule="common.13",
        card=hand[0],
    )


def guard_may_call(deal: Deal, rules: Rules, seat: int, now: int) -> CallWindow:
    """The open call, which that seat may make (call-rummy.5)."""
    if rules.call == "off":
        raise NoCalls(Text("Nothing is called at this table."), rule="call-rummy.5")
    window = deal.window
    if window is None or not window.is_open(now):
        raise CallClosed(
            Text(
                "Only a card that a player has just discarded may be called, and only until the "
                "next draw or until the time is up."
            ),
            rule="call-rummy.5",
        )
    if window.seat == seat:
        raise OwnDiscard(
            Text("You discarded {card} yourself."), rule="call-rummy.5", card=deal.upcard
        )
    return window


# ---------------------------------------------------------- questions, of guards and of others


def may_meld(deal: Deal, rules: Rules) -> bool:
    """Whether a new meld may be laid at this point of the turn."""
    return melds_left(deal, rules) != 0 and not melds_are_over(deal, rules)


def may_lay_off(meld: Meld, seat: int, rules: Rules) -> bool:
    """Whether the seat may lay off on that meld."""
    return rules.layoffs == "any" or (rules.layoffs == "own" and meld.owner == seat)


def may_discard(deal: Deal, card: Card) -> bool:
    """Whether that card of the hand may be discarded."""
    return card != deal.taken


def stock_card_is_there(deal: Deal, rules: Rules) -> bool:
    """Whether a stock draw gives a card; else it is refused, or ends the deal (common.12)."""
    renewable = _can_turn_over(deal, rules) and not _turnovers_used_up(deal, rules)
    return bool(deal.stock) or renewable


def is_finishable(deal: Deal, rules: Rules, left: int) -> bool:
    """Whether guard_finishable lets every play pass that leaves so many cards in the hand."""
    return left > 1 or (deal.taken is None and not rules.final_discard)


def melds_left(deal: Deal, rules: Rules) -> int | None:
    """New melds that the limit still allows this turn; None: any number."""
    return None if rules.melds_per_turn == "unlimited" else 1 - deal.new_melds


def melds_are_over(deal: Deal, rules: Rules) -> bool:
    """Whether a layoff this turn has ended the time for new melds."""
    return rules.order == "melds_first" and deal.laid_off


def callable_on(deal: Deal, rules: Rules) -> tuple[Meld, ...]:
    """The melds that the upcard fits directly, whoever laid them."""
    card = deal.upcard
    return tuple(meld for meld in deal.melds if card and melds.faces_for(card, meld, rules))


# --------------------------------------------------------------------------------- the moves


def _draw(match: Match, deal: Deal, move: Draw, now: int) -> Change:
    guard_not_drawn(deal)
    guard_call_settled(deal, match.rules, now)
    if move.source == "discard":
        upcard = guard_upcard(deal)
        guard_expected(deal, move.card)
        return _take_upcard(match, deal, upcard)
    guard_expected(deal, move.card)
    guard_stock(deal, match.rules)
    if not deal.stock and _turnovers_used_up(deal, match.rules):
        match, ended = _block(match, deal, "turnovers_used_up")
        return match, (Declined(deal.turn), *ended)
    return _draw_from_stock(match, deal)


def _take_upcard(match: Match, deal: Deal, card: Card) -> Change:
    hand = deal.hands[deal.turn]
    # With an equal card in hand nobody can tell whether "the other one" is discarded (common.14).
    banned = not match.rules.return_upcard and card not in hand
    deal = replace(
        deal,
        hands=_hands_with(deal, in_order((*hand, card))),
        pile=deal.pile[:-1],
        phase="play",
        taken=card if banned else None,
        window=None,
        picked=(*deal.picked, (deal.turn, card)),
        discards=deal.discards.without_upcard("taken", by=deal.turn),
    )
    return replace(match, deal=deal), (Drew(deal.turn, "discard", card),)


def _draw_from_stock(match: Match, deal: Deal) -> Change:
    events: list[Event] = []
    if not deal.stock:
        deal, turned = _turn_over(match, deal)
        events.append(turned)
    card, stock = deal.stock[0], deal.stock[1:]
    hands = _hands_with(deal, in_order((*deal.hands[deal.turn], card)))
    deal = replace(deal, hands=hands, stock=stock, phase="play", window=None)
    events.append(Drew(deal.turn, "stock", card))
    rules = match.rules
    last_card = rules.turnover == "last_card" and not stock
    if last_card and not _turnovers_used_up(deal, rules) and _can_turn_over(deal, rules):
        deal, turned = _turn_over(match, deal)
        events.append(turned)
    return replace(match, deal=deal), tuple(events)


def _lay_meld(match: Match, deal: Deal, move: LayMeld) -> Change:
    seat, rules = deal.turn, match.rules
    guard_may_meld(deal, rules)
    hand = _taken_from_hand(deal, move.cards)
    shape = melds.form(move.cards, move.jokers, rules)
    meld = Meld(len(deal.melds) + 1, seat, shape.kind, shape.faces, shape.jokers)
    table = (*deal.melds, meld)
    guard_finishable(hand, table, deal, rules)
    deal = replace(
        deal,
        hands=_hands_with(deal, hand),
        picked=_picked_without(deal, move.cards),
        melds=table,
        new_melds=deal.new_melds + 1,
    )
    event = Melded(seat, meld.id, meld.kind, meld.cards, meld.faces)
    return _after_play(match, deal, event, "meld")


def _lay_off(match: Match, deal: Deal, move: LayOff) -> Change:
    seat, rules = deal.turn, match.rules
    guard_layoffs(rules)
    hand = _taken_from_hand(deal, move.cards)
    before = _meld_of(deal, move.meld)
    guard_may_lay_off(deal, rules, before)
    meld = melds.extended(before, move.cards, move.jokers, rules)
    table = _with_meld(deal, meld)
    guard_finishable(hand, table, deal, rules)
    deal = replace(
        deal,
        hands=_hands_with(deal, hand),
        picked=_picked_without(deal, move.cards),
        melds=table,
        laid_off=True,
    )
    jokers = melds.added_jokers(before, meld)
    event = LaidOff(seat, meld.id, in_order(move.cards), jokers, meld.faces)
    return _after_play(match, deal, event, "layoff")


def _swap(match: Match, deal: Deal, move: Swap) -> Change:
    seat, rules = deal.turn, match.rules
    guard_may_swap(rules)
    hand = _taken_from_hand(deal, (move.card,))
    meld = melds.swapped(_meld_of(deal, move.meld), move.card)
    if meld is None:
        raise NoJokerThere(
            Text("No joker in meld {meld} stands for {card}."),
            rule="jokers.3",
            meld=move.meld,
            card=move.card,
        )
    deal = replace(
        deal,
        hands=_hands_with(deal, in_order((*hand, JOKER))),
        picked=(*_picked_without(deal, (move.card,)), (seat, JOKER)),
        melds=_with_meld(deal, meld),
        # That joker may be discarded (jokers.3), and nobody can tell two jokers apart (common.14).
        taken=None if deal.taken == JOKER else deal.taken,
    )
    return replace(match, deal=deal), (Swapped(seat, meld.id, move.card),)


def _discard(match: Match, deal: Deal, move: Discard, now: int) -> Change:
    seat, rules = deal.turn, match.rules
    hand = _taken_from_hand(deal, (move.card,))
    guard_may_discard(deal, rules, move.card)
    deal = replace(
        deal,
        hands=_hands_with(deal, hand),
        pile=(*deal.pile, move.card),
        picked=_picked_without(deal, (move.card,)),
        turns=deal.turns + 1,
        discards=deal.discards.with_card(move.card, seat),
    )
    events: tuple[Event, ...] = (Discarded(seat, move.card),)
    if not hand:
        match, ended = _go_out(match, deal, "discard")
        return match, events + ended
    if deal.turns >= TURN_LIMIT:
        match, ended = _block(match, deal, "turn_limit")
        return match, events + ended
    closes = None if rules.call_seconds is None else now + rules.call_seconds * 1000
    deal = replace(
        deal,
        turn=(seat + 1) % rules.players,
        phase="draw",
        taken=None,
        new_melds=0,
        laid_off=False,
        window=None if rules.call == "off" else CallWindow(seat, closes, now),
    )
    return replace(match, deal=deal), events


def _call(match: Match, deal: Deal, seat: int, move: Call, now: int) -> Change:
    rules = match.rules
    window = guard_may_call(deal, rules, seat, now)
    guard_expected(deal, move.card)
    card = deal.pile[-1]
    before = _meld_of(deal, move.meld)
    meld = melds.extended(before, (card,), move.jokers, rules)
    jokers = melds.added_jokers(before, meld)
    deal = replace(
        deal,
        melds=_with_meld(deal, meld),
        pile=deal.pile[:-1],
        window=None,
        discards=deal.discards.without_upcard("called", by=seat),
    )
    events: tuple[Event, ...] = (Called(seat, window.seat, meld.id, card, jokers, meld.faces),)
    if not deal.stock and not deal.pile:
        match, ended = _block(match, deal, "nothing_to_draw")
        return match, events + ended
    return replace(match, deal=deal), events


# ------------------------------------------------------------------------------ the stock


def _turn_over(match: Match, deal: Deal) -> tuple[Deal, TurnedOver]:
    """The discard pile as the new stock, as the options say; there must be something to turn."""
    rules = match.rules
    number = deal.turnovers + 1
    stock, pile = deal.pile, deal.pile[:0]
    if rules.turnover_keeps_upcard:
        stock, pile = stock[:-1], stock[-1:]
    if rules.turnover_shuffles:
        stock = shuffled(
            in_order(stock), _key(match, deal.number, deal.entropy), turnover_label(number)
        )
    if rules.turnover_new_upcard:
        stock, pile = stock[1:], stock[:1]
    discards = deal.discards.turned_over(upcard_stays=rules.turnover_keeps_upcard)
    if rules.turnover_new_upcard:
        discards = discards.with_card(pile[0])
    deal = replace(deal, stock=stock, pile=pile, turnovers=number, discards=discards)
    return deal, TurnedOver(len(stock), deal.upcard)


def _turnovers_used_up(deal: Deal, rules: Rules) -> bool:
    return rules.turnovers is not None and deal.turnovers >= rules.turnovers


def _can_turn_over(deal: Deal, rules: Rules) -> bool:
    """Whether a turnover would give at least one card to draw."""
    stays = rules.turnover_keeps_upcard + rules.turnover_new_upcard
    return len(deal.pile) > stays


# --------------------------------------------------------------------- beginnings and ends


def _new_deal(
    match: Match, *, number: int, dealer: int, order: Sequence[Card] | None = None
) -> Change:
    """Deal: a card at a time from the dealer's left, then the upcard if there is one."""
    rules = match.rules
    cards = tuple(order or _shuffled_pack(match, number))
    dealt = rules.players * rules.hand_size
    hands = tuple(
        in_order(cards[(seat - dealer - 1) % rules.players : dealt : rules.players])
        for seat in range(rules.players)
    )
    pile = cards[dealt : dealt + rules.upcard]
    stock = cards[dealt + rules.upcard :]
    turn = (dealer + 1) % rules.players
    deal = Deal(
        number,
        dealer,
        hands,
        stock,
        pile,
        turn,
        discards=turned_up(pile),
        entropy=match.entropy,
        shuffle=SHUFFLE,
        laid_out=order is not None,
    )
    events: tuple[Event, ...] = (Dealt(number, dealer, hands, deal.upcard, len(stock)),)
    if _another_follows(rules, number):
        promise = committed(match.seed, match.game, number + 1)
        events += (Committed(number + 1, SHUFFLE, promise),)
    return replace(match, deal=deal, entropy=()), events


def _another_follows(rules: Rules, number: int) -> bool:
    """Whether a deal can follow the one with that number."""
    return rules.deals is None or number < rules.deals


def _shuffled_pack(match: Match, number: int) -> tuple[Card, ...]:
    cards = pack(match.rules.decks, match.rules.jokers)
    return shuffled(cards, _key(match, number, match.entropy), CARDS)


def _key(match: Match, number: int, entropy: Sequence[str]) -> bytes:
    """The key of the chance of that deal."""
    return key_of(secret_of(match.seed, number).seed, entropy)


def _proof(match: Match, deal: Deal) -> Proof | None:
    """Where the chance of the deal came from; None: it was not committed to."""
    if deal.shuffle is None:
        return None
    secret = secret_of(match.seed, deal.number)
    return Proof(
        deal=deal.number,
        shuffle=deal.shuffle,
        commitment=committed(match.seed, match.game, deal.number),
        nonce=secret.nonce,
        seed=secret.seed,
        entropy=deal.entropy,
        laid_out=deal.laid_out,
    )


def _check_order(order: Sequence[Card], rules: Rules) -> None:
    """The given card order is the pack, card for card."""
    wanted = Counter(pack(rules.decks, rules.jokers))
    given = Counter(order)
    if given != wanted:
        missing, extra = (
            in_order((wanted - given).elements()),
            in_order((given - wanted).elements()),
        )
        raise BadPractice(
            _ORDER_IS_OFF[bool(missing), bool(extra)],
            cards=wanted.total(),
            missing=missing,
            extra=extra,
        )


def _after_play(match: Match, deal: Deal, event: Event, how: WentOut) -> Change:
    """A meld or layoff that empties the hand ends the deal at once (common.8)."""
    if deal.hands[deal.turn]:
        return replace(match, deal=deal), (event,)
    match, ended = _go_out(match, replace(deal, turns=deal.turns + 1), how)
    return match, (event, *ended)


def _go_out(match: Match, deal: Deal, how: WentOut) -> Change:
    rules, winner = match.rules, deal.turn
    counts = _counts(deal, rules)
    if rules.scoring == "penalty":
        scores = counts
    else:
        scores = tuple(sum(counts) if seat == winner else 0 for seat in range(rules.players))
    result = DealResult(
        number=deal.number,
        dealer=deal.dealer,
        reason="went_out",
        how=how,
        winner=winner,
        hands=deal.hands,
        counts=counts,
        scores=scores,
        totals=_added(match.totals, scores),
        turns=deal.turns,
    )
    return _after_deal(match, deal, result)


def _block(match: Match, deal: Deal, why: Blocked) -> Change:
    """The deal ends without a winner; nobody scores, but it counts (common.12)."""
    result = DealResult(
        number=deal.number,
        dealer=deal.dealer,
        reason="blocked",
        why=why,
        hands=deal.hands,
        counts=_counts(deal, match.rules),
        scores=(0,) * match.rules.players,
        totals=match.totals,
        turns=deal.turns,
    )
    return _after_deal(match, deal, result)


def _after_deal(match: Match, deal: Deal, result: DealResult) -> Change:
    """The next deal, or the end of the match (common.2, common.11)."""
    rules = match.rules
    proof = _proof(match, deal)
    match = replace(match, totals=result.totals, last=result, deal=None, revealed=proof)
    ended: tuple[Event, ...] = (DealEnded(result), *_shown(proof))
    played = not _another_follows(rules, result.number)
    reached = rules.target is not None and max(result.totals) >= rules.target
    if not played and not reached:
        dealer = (result.dealer + 1) % rules.players
        match, dealt = _new_deal(match, number=result.number + 1, dealer=dealer)
        return match, (*ended, *dealt)
    best = min(result.totals) if rules.scoring == "penalty" else max(result.totals)
    winners = tuple(seat for seat, total in enumerate(result.totals) if total == best)
    ending = MatchResult(
        reason="deals_played" if played else "target_reached",
        winners=winners,
        tie=len(winners) > 1,
        totals=result.totals,
    )
    return replace(match, result=ending), (*ended, MatchEnded(ending))


def _shown(proof: Proof | None) -> tuple[Revealed, ...]:
    return () if proof is None else (Revealed(proof),)


def _counts(deal: Deal, rules: Rules) -> tuple[int, ...]:
    return tuple(
        sum(points(card, rules.ace_points, rules.joker_points) for card in hand)
        for hand in deal.hands
    )


def _added(totals: Sequence[int], scores: Sequence[int]) -> tuple[int, ...]:
    return tuple(total + score for total, score in zip(totals, scores, strict=True))


def deal_from(match: Match, number: int, dealer: int, order: Sequence[Card]) -> Change:
    """The match with that deal dealt from the pack in that `order`, which must be the whole pack.

    All that went before is the match's totals.
    """
    return _new_deal(match, number=number, dealer=dealer, order=order)


# ------------------------------------------------------------------------ hands and melds


def _taken_from_hand(deal: Deal, cards: Sequence[Card]) -> tuple[Card, ...]:
    """The hand of the player whose turn it is, less `cards`; NotInHand if one is not there.

    The same answer wherever the card is, so that it tells nothing about other hands.
    """
    hand = deal.hands[deal.turn]
    try:
        return without(hand, cards)
    except ValueError:
        lacking = Counter(cards) - Counter(hand)
        raise NotInHand(
            Text("Not in your hand: {cards}."), rule="common.3", cards=in_order(lacking.elements())
        ) from None


def _meld_of(deal: Deal, number: int) -> Meld:
    if not 1 <= number <= len(deal.melds):
        raise NoSuchMeld(
            Text("There is no meld {meld} on the table."), rule="common.7", meld=number
        )
    return deal.melds[number - 1]


def _hands_with(deal: Deal, hand: tuple[Card, ...]) -> tuple[tuple[Card, ...], ...]:
    """All hands, with another one for the player whose turn it is."""
    return (*deal.hands[: deal.turn], hand, *deal.hands[deal.turn + 1 :])


def _picked_without(deal: Deal, cards: Sequence[Card]) -> tuple[tuple[int, Card], ...]:
    """What was picked, after everybody has seen these cards leave the hand of the one on turn."""
    picked = list(deal.picked)
    for card in cards:
        if (deal.turn, card) in picked:
            picked.remove((deal.turn, card))
    return tuple(picked)


def _with_meld(deal: Deal, meld: Meld) -> tuple[Meld, ...]:
    """The melds on the table with `meld` as it is now."""
    table = list(deal.melds)
    table[meld.id - 1] = meld
    return tuple(table)


def _can_play(card: Card, table: Sequence[Meld], seat: int, rules: Rules) -> bool:
    """Whether a last card that may not be discarded can leave the hand, or be swapped.

    It can be laid off where that may empty the hand; a natural card can be swapped for a joker,
    which may then be discarded.
    """
    if not rules.final_discard and any(
        may_lay_off(meld, seat, rules) and melds.faces_for(card, meld, rules) for meld in table
    ):
        return True
    return rules.joker_swap and any(melds.swapped(meld, card) for meld in table)

"""What the clauses say, as data: a sentence for each value of each option, and what is always so.

Every sentence is for people and can be said in other languages. `sheet` puts them together.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from service.rummy.cards import points
from service.rummy.rules import (
    CALL_GRACE_SECONDS,
    LONGEST_RUN,
    MIN_MELD,
    TURN_LIMIT,
    OptionValue,
    Rules,
    preset_of,
)
from service.text import Text


def says(option: str, value: OptionValue) -> Text:
    """What the option says with that value."""
    by_value = SAYS[option]
    return by_value[value] if value in by_value else by_value[ANY].format(value=value)


# ------------------------------------------------------------------------ what the options say

ANY = "any number"

SAYS: dict[str, Mapping[OptionValue, Text]] = {
    "decks": {
        1: Text("The pack is one deck of 52 cards."),
        2: Text("The pack is two decks of 52 cards, shuffled together."),
    },
    "jokers": {
        0: Text("The pack has no jokers."),
        ANY: Text("Number of jokers in the pack: {value}."),
    },
    "hand_size": {ANY: Text("Number of cards dealt to each player: {value}.")},
    "upcard": {
        True: Text(
            "After the deal the next card is turned up as the upcard and begins the discard pile."
        ),
        False: Text(
            "No card is turned up at the deal: the first player can only draw from the stock, and "
            "the first discard begins the discard pile."
        ),
    },
    "melds_per_turn": {
        "one": Text("At most one new meld may be laid in a turn."),
        "unlimited": Text("Any number of new melds may be laid in a turn."),
    },
    "order": {
        "melds_first": Text("Once a card is laid off, no new meld follows in that turn."),
        "free": Text("New melds and layoffs may come in any order."),
    },
    "layoffs": {
        "any": Text(
            "Any number of cards may be laid off in a turn, on any meld on the table, no matter "
            "whose it is."
        ),
        "own": Text(
            "Any number of cards may be laid off in a turn, but only on melds that lie in front of "
            "the player."
        ),
        "none": Text("No cards are laid off on melds."),
    },
    "final_discard": {
        True: Text("A player goes out by discarding the last card, and in no other way."),
        False: Text("A player goes out with a final discard or without."),
    },
    "return_upcard": {
        True: Text("The upcard that a player takes may be discarded in the same turn."),
        False: Text(
            "The upcard that a player takes may not be discarded in the same turn. In a later turn "
            "it may."
        ),
    },
    "aces": {
        "low": Text("Aces are low: A-2-3 is a run, Q-K-A is none."),
        "high_or_low": Text("Aces are high or low: A-2-3 is a run, and so is Q-K-A."),
    },
    "ace_points": {ANY: Text("What an ace left in a hand counts: {value}.")},
    "joker_points": {ANY: Text("What a joker left in a hand counts: {value}.")},
    "joker_swap": {
        True: Text(
            "In the own turn, after the draw, a player may take a joker out of any meld on the "
            "table, by putting the natural card that it stands for in its place."
        ),
        False: Text("Jokers on the table stay where they are laid."),
    },
    "turnover": {
        "on_demand": Text(
            "If the discard pile is turned over, that happens when a player draws from the empty "
            "stock."
        ),
        "last_card": Text(
            "If the discard pile is turned over, that happens the moment the last card of the "
            "stock is taken. If it has nothing to turn over then, it is left until a player draws "
            "from the empty stock."
        ),
    },
    "turnover_keeps_upcard": {
        True: Text("The upcard stays where it is when the pile beneath it is turned over."),
        False: Text("The upcard is turned over with the rest of the pile."),
    },
    "turnover_shuffles": {
        True: Text("The cards turned over are shuffled and become the stock."),
        False: Text(
            "The cards turned over are not shuffled: they lie in the stock in the order in which "
            "they were discarded, the oldest on top."
        ),
    },
    "turnover_new_upcard": {
        True: Text("The top card of the new stock is turned up and begins a new pile."),
        False: Text("No card of the new stock is turned up."),
    },
    "turnovers": {
        None: Text("The discard pile may be turned over any number of times in a deal."),
        0: Text("The discard pile is never turned over."),
        ANY: Text(
            "The number of times that the discard pile may be turned over in a deal: {value}."
        ),
    },
    "call": {
        "off": Text('A discard cannot be called ("Rummy!").'),
        "next_draw": Text(
            '"Rummy!": when a card that a player has just discarded fits a meld on the table as it '
            "is, any other player may call it until the next player draws."
        ),
        "timed": Text(
            '"Rummy!": when a card that a player has just discarded fits a meld on the table as it '
            "is, any other player may call it for some seconds, and the next draw waits for that."
        ),
    },
    "call_seconds": {
        None: Text("No time in seconds is set for the call."),
        ANY: Text("The call is open for this number of seconds: {value}."),
    },
    "scoring": {
        "winner_takes": Text("Whoever wins the deal takes the points."),
        "penalty": Text("What is left in a hand is penalty points."),
    },
    "deals": {
        None: Text("No number of deals ends the match."),
        ANY: Text("The match ends after this number of deals: {value}."),
    },
    "target": {
        None: Text("No total of points ends the match."),
        ANY: Text("The match ends after the deal in which some player's total reaches {value}."),
    },
    "turn_seconds": {
        None: Text("There is no clock: a turn may take as long as it takes."),
        ANY: Text("Each turn has a deadline after this number of seconds: {value}."),
    },
    "away_after": {
        ANY: Text(
            "A player counts as away, and the computer plays the seat, after this number of forced "
            "turns in a row: {value}."
        ),
    },
    "memory": {
        True: Text(
            "What everybody saw in the deal being played can be asked for: the cards seen going "
            "into each hand, and all that came onto the discard pile."
        ),
        False: Text("Everybody keeps in mind what was seen; the service does not tell it again."),
    },
}
"""What each value of each option says; numbers that have no sentence of their own say `ANY`."""

LEFT_OPEN: dict[str, Text] = {
    "deals": Text("Each table chooses whether a number of deals ends the match, and which."),
    "target": Text("Each table chooses whether a total of points ends the match, and which."),
}
"""What the options say that a variant leaves to each table, as long as none of them is chosen."""

DECIDED_VALUES = {
    ("seven-card.3", "melds_per_turn"),
    ("seven-card.3", "layoffs"),
    ("seven-card.4", "turnover"),
    ("call-rummy.4", "turnover_keeps_upcard"),
    ("common.14", "return_upcard"),
}
"""Where a variant's own value is a ruling of the service."""


# ------------------------------------------------------------------------ what is always so


class Line(Struct, frozen=True):
    """A sentence that is not the value of an option, and for which rules it is said."""

    text: Text
    when: Callable[[Rules], bool] = lambda _: True
    decided: bool = False
    values: Callable[[Rules], dict[str, object]] | None = None


OF_PLAYERS = (
    Line(
        Text("The game is for {fewest} to {most} players."),
        values=lambda rules: dict(
            zip(("fewest", "most"), preset_of(rules.variant).players, strict=True)
        ),
    ),
    Line(
        Text("The pack may have one deck or two, as the table agrees."),
        when=lambda rules: len(preset_of(rules.variant).decks[rules.players]) > 1,
    ),
)
"""In the clause of each variant that says how many can play it."""

OF_JOKERS = (
    Line(
        Text("The pack has no jokers or at least {jokers}."),
        when=lambda rules: preset_of(rules.variant).fewest_jokers > 1,
        values=lambda rules: {"jokers": preset_of(rules.variant).fewest_jokers},
    ),
)

LINES: dict[str, tuple[Line, ...]] = {
    "common.1": (
        Line(Text("The seats stand in clockwise order, and the turn passes clockwise.")),
        Line(
            Text(
                "The dealer's left-hand neighbour has the first turn; with two players that is "
                "whoever did not deal."
            )
        ),
    ),
    "common.2": (
        Line(Text("Lots are drawn for the first dealer."), decided=True),
        Line(
            Text("After each deal the dealer's left-hand neighbour deals, whoever won."),
            decided=True,
        ),
        Line(Text("Cards are dealt one at a time, beginning at the dealer's left."), decided=True),
    ),
    "common.3": (
        Line(
            Text(
                "A turn begins with drawing exactly one card: the top of the stock, or the upcard. "
                "Of the discard pile nothing but the upcard can be taken."
            )
        ),
        Line(
            Text(
                "Then the player may lay cards on the table as the other clauses allow; nobody "
                "ever has to. Only cards in the own hand can be played."
            )
        ),
        Line(
            Text(
                "Discarding one card ends the turn. Nothing comes before the draw or after the "
                "discard."
            )
        ),
    ),
    "common.4": (
        Line(
            Text("A set is at least {cards} cards of the same rank.").format(cards=MIN_MELD),
        ),
        Line(
            Text("A run is at least {cards} consecutive cards of the same suit.").format(
                cards=MIN_MELD
            ),
        ),
        Line(
            Text("The king is the highest rank and the ace the lowest, so nothing follows a king."),
            when=lambda rules: rules.aces == "low",
        ),
        Line(
            Text("In a run the ace stands before the two or after the king."),
            when=lambda rules: rules.aces == "high_or_low",
        ),
        Line(
            Text(
                "A run does not go round the corner: K-A-2 is none, and the longest run has "
                "{cards} cards."
            ).format(cards=LONGEST_RUN)
        ),
    ),
    "common.5": (
        Line(
            Text("A set has at most {cards} cards, one of each suit."),
            when=lambda rules: rules.decks == 1,
            values=lambda rules: {"cards": rules.fullest_set},
        ),
        Line(
            Text("A set has at most {cards} cards, and may hold the same card twice."),
            when=lambda rules: rules.decks > 1,
            values=lambda rules: {"cards": rules.fullest_set},
        ),
    ),
    "common.6": (
        Line(
            Text(
                "A card on the table belongs to its meld for the rest of the deal. Melds are "
                "neither split nor joined nor rearranged; runs that come to touch remain two."
            )
        ),
        Line(
            Text("The only card that ever leaves the table is a joker that is swapped (jokers.3)."),
            when=lambda rules: rules.jokers > 0 and rules.joker_swap,
        ),
        Line(
            Text("No card ever leaves the table before the deal is over."),
            when=lambda rules: rules.jokers == 0 or not rules.joker_swap,
        ),
    ),
    "common.7": (
        Line(Text("Melds on the table have numbers, in the order in which they are laid.")),
        Line(
            Text(
                "A layoff names one meld and adds one or several cards from the hand to it. What "
                "comes out must be a valid meld, or none of the cards is laid off."
            ),
            when=lambda rules: rules.layoffs != "none",
        ),
        Line(
            Text(
                "The same meld can be laid off on any number of times, and in the very turn in "
                "which it was laid."
            ),
            when=lambda rules: rules.layoffs != "none",
        ),
        Line(
            Text("Nothing is laid off at this table."),
            when=lambda rules: rules.layoffs == "none" and rules.call == "off",
        ),
        Line(
            Text("Nothing is laid off at this table but a card that is called (call-rummy.5)."),
            when=lambda rules: rules.layoffs == "none" and rules.call != "off",
        ),
    ),
    "common.8": (
        Line(
            Text("As soon as a hand is empty the deal is over. Nobody plays anything more."),
        ),
        Line(Text("Melds that are still in a hand count as what they are there: cards in hand.")),
    ),
    "common.9": (
        Line(
            Text("A king, queen, jack or ten counts {court}, a two to nine its number.").format(
                court=points("KS", 0, 0)
            )
        ),
    ),
    "common.10": (
        Line(
            Text("The player who went out scores the sum of what all other hands count."),
            when=lambda rules: rules.scoring == "winner_takes",
        ),
        Line(
            Text("Each player scores what the own hand counts, and low is good."),
            when=lambda rules: rules.scoring == "penalty",
        ),
    ),
    "common.11": (
        Line(
            Text("The highest total wins the match."),
            when=lambda rules: rules.scoring == "winner_takes",
        ),
        Line(
            Text("The lowest total wins the match."),
            when=lambda rules: rules.scoring == "penalty",
        ),
        Line(
            Text("To equal the total that ends the match is enough."),
            when=lambda rules: rules.target is not None,
        ),
        Line(
            Text("Players who tie for the win share it, and the result says that it is a tie."),
            decided=True,
        ),
    ),
    "common.12": (
        Line(
            Text(
                "When nothing can be drawn (no stock, no pile to turn over, no upcard), the deal "
                "is blocked: nobody wins it or scores, it counts as a deal, and the next dealer "
                "deals."
            ),
            decided=True,
        ),
        Line(
            Text("When only the upcard is there, it must be taken."),
            when=lambda rules: rules.turnovers is None,
            decided=True,
        ),
        Line(
            Text("While a turnover is left and only the upcard is there, it must be taken."),
            when=lambda rules: bool(rules.turnovers),
            decided=True,
        ),
        Line(
            Text(
                "When no turnover is left and the stock is empty, a player may still take the "
                "upcard; to ask for a stock card is then how the player declines it, and blocks "
                "the deal."
            ),
            when=lambda rules: rules.turnovers is not None,
            decided=True,
        ),
        Line(
            Text("A deal is also blocked after {turns} turns.").format(turns=TURN_LIMIT),
            decided=True,
        ),
    ),
    "common.13": (
        Line(
            Text(
                "A play that would leave a player unable to finish the turn is refused. It is "
                "refused only then: whatever can still be played in order to finish counts."
            ),
            decided=True,
        ),
    ),
    "common.14": (
        Line(
            Text("Cards are named by their face, and nobody can tell equal ones apart."),
            decided=True,
        ),
        Line(
            Text(
                "Who held an equal card before taking the upcard may discard the other one in that "
                "turn. Otherwise the ban on returning the upcard is on its face and holds for the "
                "whole turn."
            ),
            when=lambda rules: not rules.return_upcard,
            decided=True,
        ),
        Line(
            Text(
                "A joker taken as the upcard bans every joker from being discarded in that turn, "
                "unless a joker was in the hand before."
            ),
            when=lambda rules: rules.jokers > 0 and not rules.return_upcard,
            decided=True,
        ),
        Line(
            Text("That ban on jokers ends when a joker is swapped out afterwards (jokers.3)."),
            when=lambda rules: rules.jokers > 0 and not rules.return_upcard and rules.joker_swap,
            decided=True,
        ),
    ),
    "common.15": (
        Line(
            Text("No meld or layoff may empty the hand, because the last card must be discarded."),
            when=lambda rules: rules.final_discard,
        ),
        Line(
            Text("Any play may empty the hand, because the last card need not be discarded."),
            when=lambda rules: not rules.final_discard,
        ),
    ),
    "jokers.1": (
        Line(
            Text(
                "The pack of this sheet has no jokers, so what the clauses say of jokers is "
                "without effect."
            ),
            when=lambda rules: rules.jokers == 0,
        ),
        Line(
            Text(
                "A joker can stand for any card of the pack. A meld may have several, next to each "
                "other as well."
            )
        ),
        Line(Text("At least one card of each meld is natural."), decided=True),
    ),
    "jokers.2": (
        Line(
            Text(
                "On the table each joker stands for one certain card, rank and suit. This is fixed "
                "when it is laid, and it never slides along."
            ),
            decided=True,
        ),
        Line(
            Text(
                "The player says which card. Where there is only one choice this may be left out, "
                "and where there are more the service asks instead of guessing."
            ),
            decided=True,
        ),
        Line(
            Text(
                "A joker may stand for a card that lies in another meld, but no meld holds a face "
                "more often than the pack has it."
            ),
            decided=True,
        ),
    ),
    "jokers.3": (
        Line(
            Text(
                "The joker that was swapped out goes into the hand. It need not be used at once: "
                "it may be kept or played like any other card."
            ),
            when=lambda rules: rules.joker_swap,
            decided=True,
        ),
        Line(
            Text("A swap is neither a meld nor a layoff, and does not count as one."),
            when=lambda rules: rules.joker_swap,
            decided=True,
        ),
    ),
    "jokers.4": (
        Line(
            Text(
                "What a joker left in a hand counts does not depend on what it might have stood "
                "for."
            )
        ),
    ),
    "straight.7": (
        Line(
            Text(
                "How the match ends has to be chosen: exactly one of a number of deals (`deals`) "
                "and a total of points (`target`)."
            )
        ),
    ),
    "straight.8": (
        Line(
            Text(
                "Dealing other numbers of cards is a house rule, and is written down before the "
                "cards are dealt."
            )
        ),
    ),
    "seven-card.5": (Line(Text("The deal ends the moment when somebody's last card has gone.")),),
    "seven-card.6": (
        Line(
            Text(
                "The text has as variants: two jokers with one deck and four with two, which may "
                "be swapped out of anybody's melds; and aces high or low, an ace in a hand then "
                "counting 11."
            )
        ),
    ),
    "parlett.1": (
        Line(
            Text("The table may agree on ten cards for each player."),
            when=lambda rules: rules.players == 3,
        ),
    ),
    "call-rummy.7": (
        Line(
            Text(
                "Everybody plays alone. No cards change hands between players, and nobody can be "
                "blocked as on a board."
            )
        ),
    ),
    "table.1": (
        Line(
            Text(
                "After the deadline the turn is played by force: a card is drawn from the stock if "
                "none was (the upcard where there is nothing else), then one is discarded that may "
                "be. That is the card just drawn, or, for a player who had drawn, the one that "
                "counts most."
            ),
            when=lambda rules: rules.turn_seconds is not None,
        ),
        Line(
            Text(
                "Nothing is melded or called by force; a card is laid off or swapped only where "
                "nothing may be discarded. The log marks such moves as forced."
            ),
            when=lambda rules: rules.turn_seconds is not None,
        ),
        Line(
            Text("Where a timed call is open, the time of the turn begins when that closes."),
            when=lambda rules: rules.turn_seconds is not None and rules.call == "timed",
        ),
    ),
    "table.2": (Line(Text("Any move of the player's own starts the count again.")),),
    "table.3": (
        Line(
            Text(
                "Before the match begins a player may leave, and the host may remove one or close "
                "the table. The seat is free again and those behind move up, in the same order."
            )
        ),
        Line(
            Text(
                "The host is always the first person in the order of the seats. When the last "
                "person leaves, the table is closed."
            )
        ),
        Line(
            Text(
                "A rematch is not closed by anybody: it waits for its players, and those who are "
                "there may start without the others."
            )
        ),
    ),
    "table.4": (
        Line(
            Text(
                "Who leaves during the match keeps the seat: the computer plays it from that "
                "moment on, and the player takes it back at will. Cards, melds, scores and the "
                "order of seats stay as they are."
            )
        ),
    ),
    "table.5": (
        Line(
            Text(
                "When no seat is played by a person any more the match ends as abandoned. The deal "
                "that was being played is not counted, the totals stand, and nobody wins."
            )
        ),
        Line(Text("A match that whoever runs the service closes ends in the same way.")),
    ),
    "table.6": (
        Line(
            Text(
                "Computer players know what their seat sees and remember what everybody saw, "
                "nothing else."
            )
        ),
        Line(Text("Computer players move at once."), when=lambda rules: rules.call == "off"),
        Line(
            Text(
                "Computer players do not call, and move at once. But where a card just discarded "
                "could be called, a computer draws at the earliest {seconds} seconds after the "
                "discard, if a person could call."
            ).format(seconds=CALL_GRACE_SECONDS),
            when=lambda rules: rules.call == "next_draw",
        ),
        Line(
            Text(
                "Computer players do not call, and move at once. But where a card just discarded "
                "could be called, a computer waits until the call closes before it draws."
            ),
            when=lambda rules: rules.call == "timed",
        ),
    ),
    "table.7": (Line(Text("Computer players remember by themselves.")),),
    "table.8": (
        Line(
            Text(
                "The chance of each deal comes from a secret that the service fixes beforehand, "
                "showing a commitment to it, and from what the seats add to it."
            )
        ),
        Line(
            Text(
                "A seat adds to it at joining or while the deal before is played. What it adds "
                "counts for the next deal alone."
            )
        ),
        Line(
            Text(
                "When the deal has ended or was given up its secret is shown, and anybody can work "
                "out the first dealer, the order of the cards and each reshuffle."
            )
        ),
    ),
}
"""The sentences of each clause that are not the value of an option.

Those of a variant's clauses are said at tables of that variant alone.
"""

MORE: dict[str, tuple[Line, ...]] = {
    "upcard": (
        Line(
            Text("That first turn is a turn like any other, so the player may meld."),
            when=lambda rules: not rules.upcard,
            decided=True,
        ),
    ),
    "turnover_new_upcard": (
        Line(
            Text(
                "Turning that card up is part of the draw that needs the turnover, and the card "
                "drawn is the one after."
            ),
            when=lambda rules: rules.turnover_new_upcard and rules.turnover == "on_demand",
            decided=True,
        ),
    ),
    "call": (
        Line(
            Text(
                "The first to call names the meld, and the card is laid off there. The caller's "
                "hand does not change and neither does whose turn it is; the card beneath is the "
                "upcard again."
            ),
            when=lambda rules: rules.call != "off",
        ),
        Line(
            Text(
                "Who discarded the card cannot call it. Neither the upcard of the deal nor a "
                "discard that ends the deal can be called. The call may be laid on anybody's meld."
            ),
            when=lambda rules: rules.call != "off",
            decided=True,
        ),
        Line(
            Text(
                "A call that does not fit is refused, costs nothing and leaves the call open. A "
                "call that leaves nothing to draw blocks the deal (common.12)."
            ),
            when=lambda rules: rules.call != "off",
            decided=True,
        ),
    ),
}
"""What goes with the value of an option, in whichever clause that stands."""

MOVED = Text("This table has agreed on another value of the option `{option}`: see {clause}.")
"""In a variant's clause, where the value in force stands in another one."""

FOR_SOME = Text("With {players} players: {sentence}")

TITLES = {
    "common": Text("What all four texts share"),
    "jokers": Text("Jokers"),
    "other": Text("From the other texts"),
    "table": Text("At the table"),
}
"""The sections in their order; the variant's own comes before `other`."""

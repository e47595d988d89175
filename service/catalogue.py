"""Every refusal explained: what its code means, why it is so, what to do, and what it carries.

A table beside the tree of errors rather than a part of it: the clauses that many codes can cite
follow from the options and presets, which lie above `errors`. What the framework refuses has no
class of its own, so its title stands here too.
"""

from collections.abc import Iterable

from msgspec import Struct

from service import errors
from service.errors import RummyError
from service.rummy.rules import OPTIONS, PRESETS, OptionValue, clause
from service.text import Text


class Entry(Struct, frozen=True):
    """What a code means.

    `rules` are all clauses that a refusal with this code can cite; empty: it cites none. `params`
    are all values that it can carry, each with what it is. `kind` is the leaf that is raised; None:
    the framework refuses it.
    """

    code: str
    title: Text
    explanation: Text
    rules: tuple[str, ...]
    params: dict[str, Text]
    kind: type[RummyError] | None


# --------------------------------------------------------------------- how the entries are written


def _leaf(
    kind: type[RummyError], explanation: Text, *, rules: Iterable[str] = (), **params: Text
) -> Entry:
    return Entry(kind.code, kind.title, explanation, tuple(dict.fromkeys(rules)), params, kind)


def _of_framework(code: str, title: Text, explanation: Text) -> Entry:
    return Entry(code, title, explanation, (), {}, None)


def _wherever(option: str, value: OptionValue) -> list[str]:
    """The clauses that tables with that value play by: the variants' own, the house rule's."""
    return [
        clause(preset.id, option) if preset.values[option] == value else OPTIONS[option].rule
        for preset in PRESETS.values()
    ]


def _in_variants(*options: str) -> list[str]:
    """The clauses of the variants for these options."""
    return [clause(variant, option) for variant in PRESETS for option in options]


def _with_fewer_players(*options: str) -> list[str]:
    """The clauses of these options in the variants that take more decks for more players."""
    varied = [preset.id for preset in PRESETS.values() if len({*preset.decks.values()}) > 1]
    return [clause(variant, option) for variant in varied for option in options]


_CARDS = Text("The cards that were sent for it, a list.")
_CARD = Text("The card.")
_MELD = Text("The number of the meld on the table, from 1.")
_PLAY = Text(
    "In a whole turn: which of its plays was refused, from 0. Missing where a single move was sent."
)
_DEAL = Text("Which deal of the match, from 1.")
_SEAT = Text("The number of the seat, from 0.")
_SEATS = Text("How many seats the table has.")
_PLAYERS = Text("How many players there are.")

# ------------------------------------------------------------------------------------- the entries

CATALOGUE: dict[str, Entry] = {
    entry.code: entry
    for entry in (
        # the request itself
        _leaf(
            errors.BadCard,
            Text(
                "A card is written as two characters, the rank and then the suit, such as AS TH 9C "
                "KD; a joker is JK. One way of writing keeps logs, rules and requests comparable. "
                "Write the card like that. In a body it is told as `invalid_request`, which names "
                "the field."
            ),
            value=Text("What was sent, shortened."),
            hint=Text("The card that was probably meant; null where nothing can be guessed."),
        ),
        _leaf(
            errors.BadText,
            Text(
                "A name or another text is empty, too long, or has signs in it that nobody can "
                "see. Everybody at the table reads it, so nobody may look like somebody else. "
                "Leave out what the detail names, and send it again."
            ),
            field=Text("The field of the request that holds the text."),
            sign=Text("The sign that cannot be used, by its number in Unicode."),
            most=Text("How many characters the text may have."),
            length=Text("How many characters it has."),
        ),
        _leaf(
            errors.BadCursor,
            Text(
                "The cursor of a list was not given out by this service, or was changed on the "
                "way. A cursor has no meaning but to the list that it came from. Ask for the first "
                "page without one, and take the next from the answer."
            ),
        ),
        _leaf(
            errors.BadVersion,
            Text(
                "The header If-Match holds something else than one version in quotes, such as "
                '"12". Guessing could let a late move count. Send the ETag of the view that the '
                "move was chosen by, or leave the header out."
            ),
        ),
        _leaf(
            errors.BadIdempotencyKey,
            Text(
                "The header Idempotency-Key is empty, too long, or has signs in it that a header "
                "cannot hold; or it is too easy to guess for a request that takes a seat, since "
                "whoever repeats such a request gets the token of the seat. Take a new UUID for "
                "each request."
            ),
            least=Text("How many characters the key must have for such a request."),
        ),
        _leaf(
            errors.IdempotencyKeyReused,
            Text(
                "The same Idempotency-Key came before with another request. A key stands for one "
                "wish, so that a repeat of it can get the first answer. Nothing has been done: "
                "send this request with a key of its own."
            ),
        ),
        _leaf(
            errors.InvalidRequest,
            Text(
                "Fields, query parameters or headers are missing, unknown or of another form than "
                "documented. What is not understood is refused rather than passed over, so that a "
                "slip of the pen is found at once. The list `fields` names each of them with the "
                "reason; correct them all."
            ),
        ),
        _leaf(
            errors.BadPractice,
            Text(
                "A practice table says beforehand how the cards come: by a seed, by the order of "
                "the whole pack, or by a deal that it goes on with. What was sent holds none of "
                "them, names a dealer who does not sit there, lists other cards than the pack has "
                "with these options, or asks for another table, or for a later point, than the "
                "deal has. Correct it as the detail says."
            ),
            dealer=Text("The seat that was to deal first."),
            last=Text("The last seat that there is; the first is 0."),
            cards=Text("How many cards the pack has."),
            field=Text("The field of the request in which the table differs from the deal."),
            most=Text("After how many moves the deal can be gone on with at the latest."),
            missing=Text("The cards of the pack that the order lacks, a list."),
            extra=Text("The cards that the order has too often, a list."),
        ),
        _leaf(
            errors.BadNotation,
            Text(
                "A deal is written as text in a notation of the service, with a line for each "
                "turn, so that it can be read, sent and gone on with. This text is not written "
                "so. Correct the line that the detail names; docs/notation.md of the service says "
                "what is expected there."
            ),
            line=Text("The number of the line, from 1."),
        ),
        _leaf(
            errors.BadReplay,
            Text(
                "A recorded deal is played again by the rules, move by move, before it is used. "
                "One of its moves is against them, gives another card than is recorded, or the "
                "deal cannot begin so. Correct the record, or go on with it from a point before."
            ),
            move=Text("The first move that fails, from 1; missing where the deal cannot begin."),
        ),
        _leaf(
            errors.BadTable,
            Text(
                "What was asked for cannot be one table: computer players on all seats, or public "
                "and private at once. The maker of a table sits there, and an invitation makes no "
                "sense where everybody may come. Choose one of the two, or fewer computers."
            ),
            field=Text("The field of the request that is at fault."),
            seats=_SEATS,
            most=Text("For how many computer players there is room."),
        ),
        _leaf(
            errors.OptionsRefused,
            Text(
                "Some of the options do not exist, have a value that they cannot have, or cannot "
                "be played together or by so many players. The list `options` names every problem "
                "with the reason and the clause; the rule given here is that of the first. Change "
                "them; GET /v1/variants shows what each option can be."
            ),
            rules=_in_variants("players", *OPTIONS),
        ),
        _of_framework(
            "bad_request",
            Text("The request cannot be read"),
            Text(
                "The body is not JSON, ends too early, or cannot be read at all. So it is not "
                "known what was wanted. Send it again as JSON, whole."
            ),
        ),
        _of_framework(
            "no_such_route",
            Text("There is nothing at this address"),
            Text(
                "The path of the request is none of those that the service serves. Paths are taken "
                "literally: capital letters and a slash at the end count. /docs lists them all."
            ),
        ),
        _of_framework(
            "method_not_allowed",
            Text("This address does not answer that method"),
            Text(
                "The address exists, but is for another method. What reads is GET, what changes "
                "something is POST. The header Allow names what the address takes."
            ),
        ),
        _of_framework(
            "body_too_slow",
            Text("The body did not arrive in time"),
            Text(
                "The headers of the request came, and then the body did not, or too slowly. The "
                "service does not wait for it any longer, so that nobody can hold it up. Nothing "
                "has happened; send the request again as a whole."
            ),
        ),
        _of_framework(
            "body_too_large",
            Text("The body is too large"),
            Text(
                "The body is longer than the service accepts. No request needs so much, and the "
                "limit keeps one caller from using up what all share. Send only the documented "
                "fields."
            ),
        ),
        _of_framework(
            "unsupported_media_type",
            Text("The body must be application/json"),
            Text(
                "A body came as something else than JSON, or did not say as what. Guessing is how "
                "forms of strange pages get through. Send Content-Type: application/json."
            ),
        ),
        # who is asking, and for what
        _leaf(
            errors.NoToken,
            Text(
                "The request is for somebody who has a seat, and no token came with it. The token "
                "of a seat is in the answer to the request that took the seat. Send it in the "
                "header Authorization, as Bearer and the token."
            ),
        ),
        _leaf(
            errors.BadToken,
            Text(
                "What was sent as a token does not have the form of one, or came in another scheme "
                "than Bearer. A token is never read as half right. Send the one that came with "
                "the seat, whole and unchanged; or none, to look on as a spectator."
            ),
        ),
        _leaf(
            errors.NotYourSeat,
            Text(
                "The token is of a seat at another table, or of one that its player has left. A "
                "token opens its own seat and no other, not even for looking. Send the token that "
                "belongs to this game, or none."
            ),
        ),
        _leaf(
            errors.NotTheHost,
            Text(
                "Only the host starts the match, adds computer players, removes somebody or closes "
                "the table. The host is the first person in the order of the seats. Ask the host, "
                "who is marked in the view."
            ),
            host=Text("The seat of the host, from 0."),
        ),
        _leaf(
            errors.InvitationNeeded,
            Text(
                "The table is private, or a rematch that waits for its own players. Who made a "
                "private table was given a code that opens it. Ask for the code and send it as "
                "`invitation`; the seat in a rematch is taken with POST rematch on the game "
                "before."
            ),
            game=Text("Of a rematch: the id of the game before."),
        ),
        _leaf(
            errors.NoSpectators,
            Text(
                "This table is played without spectators, so its game, log and score are shown to "
                "those who play. That was chosen when the table was made. Send the token of a "
                "seat."
            ),
        ),
        _leaf(
            errors.NoSuchGame,
            Text(
                "No game has this id. Either it never had one, or the game has expired: games are "
                "deleted some time after their last change. Check the id; an expired game does not "
                "come back."
            ),
        ),
        _leaf(
            errors.NoSuchDeal,
            Text(
                "The match has not come to a deal with that number, or never will. Deals are "
                "counted from 1. The score lists those that have ended."
            ),
            deal=_DEAL,
        ),
        _leaf(
            errors.NoSuchVariant,
            Text(
                "No variant of rummy has this id here. GET /v1/variants lists those that the "
                "service plays; all else is made with their options. Take one of those."
            ),
            variant=Text("The id that was asked for."),
        ),
        _leaf(
            errors.NoSuchError,
            Text(
                "No refusal of this service has the code that was asked for. GET /errors lists all "
                "that there are; the type of a refusal is the address that explains it."
            ),
            asked=Text("The code that was asked for."),
        ),
        # the table
        _leaf(
            errors.TableFull,
            Text(
                "There are fewer free seats than were asked for. The number of seats is fixed when "
                "the table is made. Ask for fewer, or find or make another table."
            ),
            seats=_SEATS,
            free=Text("How many of them are free."),
            wanted=Text("How many were asked for."),
        ),
        _leaf(
            errors.AlreadyStarted,
            Text(
                "The match has begun, and with it seats and options are fixed: nobody joins, is "
                "removed or closes the table any more. Look on as a spectator where that is "
                "allowed, or find another table."
            ),
        ),
        _leaf(
            errors.TableClosed,
            Text(
                "The table was given up before a match began, by its host or because everybody had "
                "left. Nothing happens there any more. Find or make another table."
            ),
            rules=["table.3"],
        ),
        _leaf(
            errors.RematchStays,
            Text(
                "A rematch waits for the players of the match before, and whoever comes first must "
                "not shut the others out. So nobody closes it. Leave it, or start with those who "
                "are there."
            ),
            rules=["table.3"],
        ),
        _leaf(
            errors.DealNotOver,
            Text(
                "A deal can be replayed when it has ended: its replay shows every hand, the stock "
                "and the secret that the cards came from. Until then read the game and its log. "
                "Ask again when the log has the event revealed for that deal."
            ),
            deal=_DEAL,
        ),
        _leaf(
            errors.NoMemory,
            Text(
                "At this table everybody keeps in mind what was seen, so the view does not tell "
                "the cards taken and the discards again. That option was agreed when the table "
                "was made. Send the request without memory; the move was not made."
            ),
            rules=["table.7"],
        ),
        _leaf(
            errors.NoReplay,
            Text(
                "The deal was played by an earlier version of the service, which did not keep what "
                "a replay needs. Its result is in the score, and its moves are in the log. Deals "
                "that began later can be replayed."
            ),
            deal=_DEAL,
        ),
        _leaf(
            errors.NoNextDeal,
            Text(
                "What a seat adds counts for the next deal, and after this one there will be none. "
                "The chance of a deal is settled when it is dealt. Add entropy while the table "
                "waits, or during an earlier deal."
            ),
            rules=["table.8"],
            deal=_DEAL,
        ),
        _leaf(
            errors.NoSuchSeat,
            Text(
                "Nobody sits on that seat, or somebody else than was named. Before the start the "
                "seats behind move up when one is left, so the numbers may have changed. Look at "
                "the table again."
            ),
            seat=_SEAT,
            name=Text("The name that was expected on that seat, if one was sent."),
            holder=Text("The name of who sits there now."),
        ),
        _leaf(
            errors.OwnSeat,
            Text(
                "The host removes others; the own seat is given up with POST leave. These are two "
                "requests so that neither happens by mistake. Leave, and the next person is the "
                "host."
            ),
            rules=["table.3"],
            seat=_SEAT,
        ),
        _leaf(
            errors.SeatAway,
            Text(
                "The computer plays your seat, since you left or let too many turns pass. While it "
                "does, your own moves do not count, so that two do not play one hand. POST return "
                "takes the seat back at once."
            ),
            rules=["table.2", "table.4"],
        ),
        _leaf(
            errors.MatchNotOver,
            Text(
                "A rematch follows a match, and this one is still being played. Ask again when its "
                "`status` is `finished`."
            ),
        ),
        _leaf(
            errors.NotStarted,
            Text(
                "The table still waits for its players, so no cards are dealt and nobody can move. "
                "The match begins with the last seat taken or when the host starts it. Wait for "
                "the status `playing`."
            ),
            rules=["common.3"],
        ),
        _leaf(
            errors.TooFewPlayers,
            Text(
                "Rummy needs somebody to play against. Wait for another player, or let the host "
                "add a computer."
            ),
            rules=_in_variants("players"),
            players=_PLAYERS,
            seats=_SEATS,
            fewest=Text("How many players there must be."),
        ),
        _leaf(
            errors.OptionsDoNotFit,
            Text(
                "The match would begin with fewer players than the table was made for, and for so "
                "few the chosen options, or the order of the practice cards, do not fit. The "
                "number of decks, for one, depends on the players. Wait for more, or make a table "
                "with other options."
            ),
            rules=_with_fewer_players("decks", "hand_size"),
            players=_PLAYERS,
        ),
        # whose turn it is, and which step of it
        _leaf(
            errors.MatchOver,
            Text(
                "The match has ended, so no more cards are played and no seats change hands. The "
                "result is in the view and every deal in the score. POST rematch gives the same "
                "people another match."
            ),
            rules=["common.8"],
        ),
        _leaf(
            errors.NotYourTurn,
            Text(
                "Players take turns clockwise, and it is somebody else's. Wait until `turn` in the "
                "view is your seat; with `wait` the service tells you. Where cards are called, a "
                "call may be open to you meanwhile."
            ),
            rules=["common.1"],
            turn=Text("The seat whose turn it is, from 0."),
        ),
        _leaf(
            errors.DrawFirst,
            Text(
                "Each turn begins with drawing one card, and nothing comes before that. Draw from "
                "the stock or take the upcard, then play."
            ),
            rules=["common.3"],
        ),
        _leaf(
            errors.AlreadyDrawn,
            Text(
                "Exactly one card is drawn in a turn, and you have drawn it. Now meld, lay off and "
                "swap as you like, or not at all. A discard ends the turn."
            ),
            rules=["common.3"],
        ),
        _leaf(
            errors.CallPending,
            Text(
                "The card just discarded fits a meld on the table, and the others have some "
                "seconds to call it. Until that time is up the next player does not draw. Draw "
                "after that, or call the card yourself."
            ),
            rules=["call-rummy.5"],
            upcard=Text("The card that can be called."),
            seconds=Text("How long the call is still open, in seconds, rounded up."),
        ),
        _leaf(
            errors.NoUpcard,
            Text(
                "The discard pile is empty: no card was turned up at the deal, or it was taken. Of "
                "the pile only its top card can be had. Draw from the stock."
            ),
            rules=["common.3"],
        ),
        _leaf(
            errors.UpcardChanged,
            Text(
                "The request named the card that its sender believed to be the upcard, and another "
                "lies there now, or none. So the view that the move was chosen by is out of date. "
                "Look again and choose anew."
            ),
            rules=["common.3"],
            upcard=Text("The upcard now; null where the pile is empty."),
            expected=Text("The card that the request named."),
        ),
        _leaf(
            errors.NothingToTurnOver,
            Text(
                "The stock is empty, and the discard pile has no card beneath its upcard that "
                "could become a new one. A player has to draw something, and there is the upcard "
                "alone. Take the upcard."
            ),
            rules=["common.12"],
        ),
        # the cards
        _leaf(
            errors.NotInHand,
            Text(
                "A move uses a card that you do not hold, or uses one more often than you hold it. "
                "Where the card is instead is not said. In a whole turn it can also be that the "
                "plays before have emptied your hand, which ends the deal. Play the cards of "
                "`hand` in your view."
            ),
            rules=["common.3", "common.8"],
            cards=Text("The cards that are lacking, a list."),
            play=_PLAY,
        ),
        _leaf(
            errors.NoSuchMeld,
            Text(
                "No meld on the table has that number. Melds are numbered from 1 in the order in "
                "which they are laid, anew in each deal. Take the `id` of one of the melds in the "
                "view."
            ),
            rules=["common.7"],
            meld=Text("The number that was sent."),
            play=_PLAY,
        ),
        _leaf(
            errors.NotAMeld,
            Text(
                "A meld is a set, three or more cards of one rank, or a run, three or more "
                "consecutive cards of one suit. A joker stands for any card, but at least one card "
                "of a meld is natural, and no card is there more often than the pack has it. "
                "Choose other cards, or keep these until the missing one comes."
            ),
            rules=["common.4", "common.5", "jokers.1"],
            cards=_CARDS,
            fewest=Text("How many cards a meld has at least, where these are too few."),
            play=_PLAY,
        ),
        _leaf(
            errors.DoesNotFit,
            Text(
                "With these cards the meld on the table would be neither a set nor a run, and what "
                "lies there is not rearranged. A set takes its own rank, a run the next card of "
                "its suit at either end. Lay the cards off elsewhere, or fewer of them."
            ),
            rules=["common.4", "common.5"],
            meld=_MELD,
            cards=_CARDS,
            play=_PLAY,
        ),
        _leaf(
            errors.JokerUnclear,
            Text(
                "On the table each joker stands for one certain card, and here it could be more "
                "than one. What is chosen stays, and others may lay off beside it, so the service "
                "does not guess. Name the card in `jokers`."
            ),
            rules=["jokers.2"],
            cards=_CARDS,
            choices=Text("What the jokers could stand for, a list; each entry names all of them."),
            play=_PLAY,
        ),
        _leaf(
            errors.JokerMisnamed,
            Text(
                "The field `jokers` names one natural card for each joker among the cards, in any "
                "order, and nothing for other cards. Here their numbers differ, or a joker is "
                "named as a joker. Correct `jokers`, or leave it out where there is only one "
                "choice."
            ),
            rules=["jokers.2"],
            cards=_CARDS,
            jokers=Text("The cards that were named for the jokers, a list."),
            needed=Text("How many there must be: one for each joker."),
            play=_PLAY,
        ),
        # melds, layoffs and swaps
        _leaf(
            errors.MeldLimit,
            Text(
                "At this table one new meld may be laid in a turn, and it lies there. More may be "
                "laid in your next turns. Lay off or discard now."
            ),
            rules=_wherever("melds_per_turn", "one"),
            limit=Text("How many new melds may be laid in a turn."),
            play=_PLAY,
        ),
        _leaf(
            errors.MeldsFirst,
            Text(
                "At this table the order of a turn is fixed: new melds come before layoffs, and "
                "you have laid off. The meld has to wait for your next turn. Lay off more, or "
                "discard."
            ),
            rules=_wherever("order", "melds_first"),
            play=_PLAY,
        ),
        _leaf(
            errors.NoLayoffs,
            Text(
                "At this table nothing is laid off, by a house rule. Cards leave the hand as new "
                "melds or as discards. Meld or discard."
            ),
            rules=["common.7"],
            play=_PLAY,
        ),
        _leaf(
            errors.NotYourMeld,
            Text(
                "At this table cards are laid off on the own melds alone, and somebody else laid "
                "that one. Choose a meld whose `owner` is your seat, or keep the card."
            ),
            rules=_wherever("layoffs", "own"),
            meld=_MELD,
            owner=Text("The seat that laid the meld, from 0."),
            play=_PLAY,
        ),
        _leaf(
            errors.FinalDiscardNeeded,
            Text(
                "At this table only a discard ends the deal, so no meld or layoff may empty the "
                "hand. Keep one card to discard: meld or lay off fewer cards."
            ),
            rules=_wherever("final_discard", value=True),
            play=_PLAY,
        ),
        _leaf(
            errors.WouldBeStuck,
            Text(
                "After that play a single card would be left: the upcard that you took, which may "
                "not go back in the same turn and could not be played either. Nobody is let into a "
                "turn that cannot end. Play so that another card remains to be discarded."
            ),
            rules=["common.13"],
            card=Text("The card that would be left."),
            play=_PLAY,
        ),
        _leaf(
            errors.UpcardReturned,
            Text(
                "The upcard that a player takes may not be discarded in the same turn at this "
                "table, since that would be no draw at all. In a later turn it may. Discard "
                "another card."
            ),
            rules=_wherever("return_upcard", value=False),
            card=_CARD,
        ),
        _leaf(
            errors.NoSwaps,
            Text(
                "At this table jokers stay where they were laid, by a house rule. Lay the natural "
                "card off where it fits, or keep it."
            ),
            rules=_wherever("joker_swap", value=False),
            play=_PLAY,
        ),
        _leaf(
            errors.NoJokerThere,
            Text(
                "A joker leaves a meld only for the very card that it stands for, rank and suit, "
                "and no joker in that meld stands for this one. The `faces` of the meld show what "
                "each joker stands for. Choose another meld or card."
            ),
            rules=["jokers.3"],
            meld=_MELD,
            card=_CARD,
            play=_PLAY,
        ),
        # the call
        _leaf(
            errors.NoCalls,
            Text(
                'At this table discards are not called: the "Rummy!" call is an option, and it is '
                "off. What others discard can be drawn as the upcard in your turn."
            ),
            rules=["call-rummy.5"],
        ),
        _leaf(
            errors.CallClosed,
            Text(
                "Only a card that a player has just discarded can be called, and only until the "
                "next player draws or the seconds for it are up. The upcard of the deal cannot be "
                "called, nor one that was called before. Wait for the next discard that fits."
            ),
            rules=["call-rummy.5"],
        ),
        _leaf(
            errors.OwnDiscard,
            Text(
                "The call belongs to the others: who discarded the card had the turn to lay it "
                "off. In your own turn, lay off what fits before you discard."
            ),
            rules=["call-rummy.5"],
            card=_CARD,
        ),
        _leaf(
            errors.TurnUnfinished,
            Text(
                "The rest of a turn ends with a discard, unless its plays empty the hand, and none "
                "was named though cards are left. A turn is taken as a whole or not at all, so "
                "nothing has been played. Name the card to discard."
            ),
            rules=["common.3"],
        ),
        # the rest
        _leaf(
            errors.StaleVersion,
            Text(
                "The request was to count only at a certain version of the game, and the game has "
                "moved on since. So what it was based on may no longer be true. Look at the game "
                "again and choose anew."
            ),
            version=Text("The version of the game now."),
            expected=Text("The version that the request named."),
        ),
        _leaf(
            errors.RateLimited,
            Text(
                "So many requests of this kind came from the seat, or from the address, that this "
                "one was not looked at; or too many wrong tokens and codes. Nothing has happened. "
                "Send it again after the seconds in Retry-After; the header RateLimit says "
                "beforehand how many more there may be."
            ),
            limit=Text("The name of the limit, as in the header RateLimit-Policy."),
            most=Text("How many are allowed."),
            window_seconds=Text(
                "In how many seconds; missing where requests are kept waiting at the same time."
            ),
            retry_after_seconds=Text("After how many seconds to send it again."),
        ),
        _leaf(
            errors.StoreUnavailable,
            Text(
                "The store that keeps the games does not answer at the moment. It is not certain "
                "whether this request was carried out. Send it again after the seconds in Retry-"
                "After, with the same Idempotency-Key if it had one."
            ),
        ),
        _leaf(
            errors.Stopping,
            Text(
                "The process that was asked whether it can serve has been told to end. It finishes "
                "what it has begun, and takes nothing new. Send requests to another one, or wait "
                "until it has been started again."
            ),
        ),
        _leaf(
            errors.TooBusy,
            Text(
                "Others changed the game faster than this request could, again and again, or "
                "another request with the same key is still being carried out. So this one was "
                "given up, and nothing was done. Send it again after the seconds in Retry-After."
            ),
        ),
        _leaf(
            errors.TablesFrozen,
            Text(
                "Whoever runs the service lets no new tables be made for a while, as before the "
                "service is renewed. All games go on, and at tables that there are seats can be "
                "taken. Try again after the seconds in Retry-After."
            ),
            reason=Text("Why, as whoever runs the service has put it."),
        ),
        _leaf(
            errors.UnreadableRecord,
            Text(
                "The game was stored by another version of the service, and this one does not know "
                "its form. That happens while the service is being renewed. Try again after the "
                "seconds in Retry-After."
            ),
        ),
        _of_framework(
            "internal_error",
            Text("The service failed"),
            Text(
                "Something happened that the service was not made for. It was logged, and the "
                "fault is not the caller's. Look at the game to see whether the request was "
                "carried out before sending it again."
            ),
        ),
    )
}
"""Every code that an answer can have, in the order in which requests meet them."""

"""One tree of errors: a branch says what kind of thing went wrong, a leaf has the clients' code.

Only `service.api` knows which HTTP status a branch becomes. What is raised here changed nothing.
"""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from service.text import Text

Param = bool | int | str | None | tuple[str, ...]


class RummyError(Exception):
    """Something that the service refuses or cannot do.

    `code` is stable and meant for programs; `detail` is for people and about this very request;
    `rule` is the clause of the rules that stood in the way, where there is one; `params` are the
    values that `detail` speaks of.
    """

    code: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, detail: str, *, rule: str | None = None, **params: Param) -> None:
        """`detail` is filled with the `params` if it has not been filled before."""
        super().__init__(detail)
        self._detail = detail
        self.rule = rule
        self.params = params

    @property
    def detail(self) -> str:
        """What is wrong with this very request, as a Text."""
        # Filled when it is read: looking for the legal moves raises and drops a great many.
        if isinstance(self._detail, Text) and self.params and not self._detail.values:
            self._detail = self._detail.format(**self.params)
        return self._detail

    @detail.setter
    def detail(self, detail: str) -> None:
        self._detail = detail

    def __str__(self) -> str:
        return self.detail


# ------------------------------------------------------------------ the request itself is wrong


class BadInput(RummyError):
    """The request cannot be understood, whatever the state of the game."""


class FieldProblem(Struct, frozen=True):
    """What is wrong with one field of a request."""

    field: Annotated[str, Meta(description="The field's path, such as `cards.2`.")]
    reason: str


class OptionProblem(Struct, frozen=True):
    """Why an option was refused."""

    option: str
    value: bool | int | str | None
    reason: str
    rule: Annotated[str | None, Meta(description="The clause that the option is about.")]


class BadCard(BadInput):
    code = "bad_card"
    title = "That is not a card"


class BadText(BadInput):
    code = "bad_text"
    title = "The text cannot be used"


class BadCursor(BadInput):
    code = "bad_cursor"
    title = "The cursor is not one of ours"


class BadVersion(BadInput):
    code = "bad_version"
    title = "If-Match does not name a version"


class BadIdempotencyKey(BadInput):
    code = "bad_idempotency_key"
    title = "The Idempotency-Key cannot be used"


class IdempotencyKeyReused(BadInput):
    code = "idempotency_key_reused"
    title = "The Idempotency-Key was used for another request"


class InvalidRequest(BadInput):
    """Fields of the request that are missing, unknown or of the wrong form; all of them at once."""

    code = "invalid_request"
    title = "The request is not of the documented form"

    def __init__(self, fields: tuple[FieldProblem, ...]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.reason}" for problem in fields))
        self.fields = fields


class BadPractice(BadInput):
    code = "bad_practice"
    title = "The practice table cannot be laid out like that"


class BadTable(BadInput):
    code = "bad_table"
    title = "The table cannot be set up like that"


class OptionsRefused(BadInput):
    """The options do not go together; every problem found is listed, not just the first."""

    code = "options_refused"
    title = "These options cannot be played"

    def __init__(self, problems: tuple[OptionProblem, ...]) -> None:
        first = problems[0]
        super().__init__(
            "; ".join(f"{problem.option}: {problem.reason}" for problem in problems),
            rule=first.rule,
        )
        self.problems = problems


# ------------------------------------------------------------------ who is asking, and for what


class NotIdentified(RummyError):
    """No usable seat token came with a request that needs one."""


class NoToken(NotIdentified):
    code = "no_token"
    title = "A seat token is needed"


class BadToken(NotIdentified):
    code = "bad_token"
    title = "That is not a seat token"


class NotAllowed(RummyError):
    """The caller is known and may not do this."""


class NotYourSeat(NotAllowed):
    code = "not_your_seat"
    title = "The token is not of a seat at this table"


class NotTheHost(NotAllowed):
    code = "not_the_host"
    title = "Only the host may do this"


class InvitationNeeded(NotAllowed):
    code = "invitation_needed"
    title = "This table is by invitation"


class NoSpectators(NotAllowed):
    code = "no_spectators"
    title = "Only those who play may look"


class NotFound(RummyError):
    """The thing that the request names does not exist."""


class NoSuchGame(NotFound):
    code = "no_such_game"
    title = "There is no such game"


class NoSuchVariant(NotFound):
    code = "no_such_variant"
    title = "There is no such variant"


# ------------------------------------------------------------------ refused as things stand now


class Refused(RummyError):
    """Understood, but not possible as the game stands, or against its rules."""


class TableFull(Refused):
    code = "table_full"
    title = "There are not so many free seats"


class AlreadyStarted(Refused):
    code = "already_started"
    title = "The match has begun"


class TableClosed(Refused):
    code = "table_closed"
    title = "The table was closed"


class RematchStays(Refused):
    code = "rematch_stays"
    title = "A rematch stays open for its players"


class NoSuchSeat(Refused):
    code = "no_such_seat"
    title = "Nobody has that seat"


class OwnSeat(Refused):
    code = "own_seat"
    title = "That is your own seat"


class SeatAway(Refused):
    code = "seat_away"
    title = "The computer plays your seat"


class NoMemory(Refused):
    code = "no_memory"
    title = Text("This table plays from memory")


class MatchNotOver(Refused):
    code = "match_not_over"
    title = "The match is not over"


class NotStarted(Refused):
    code = "not_started"
    title = "The match has not begun"


class TooFewPlayers(Refused):
    code = "too_few_players"
    title = "At least two seats must be taken"


class OptionsDoNotFit(Refused):
    code = "options_do_not_fit"
    title = "The options do not fit this number of players"


class MatchOver(Refused):
    code = "match_over"
    title = "The match is over"


class NotYourTurn(Refused):
    code = "not_your_turn"
    title = "It is another player's turn"


class DrawFirst(Refused):
    code = "draw_first"
    title = "A turn begins with a draw"


class AlreadyDrawn(Refused):
    code = "already_drawn"
    title = "One card a turn is drawn"


class CallPending(Refused):
    code = "call_pending"
    title = "The discard can still be called"


class NoUpcard(Refused):
    code = "no_upcard"
    title = "The discard pile is empty"


class UpcardChanged(Refused):
    code = "upcard_changed"
    title = "Another card is the upcard now"


class NothingToTurnOver(Refused):
    code = "nothing_to_turn_over"
    title = "The stock is empty and cannot be renewed"


class NotInHand(Refused):
    code = "not_in_hand"
    title = "The card is not in your hand"


class NoSuchMeld(Refused):
    code = "no_such_meld"
    title = "There is no such meld on the table"


class NotAMeld(Refused):
    code = "not_a_meld"
    title = "These cards are no meld"


class DoesNotFit(Refused):
    code = "does_not_fit"
    title = "The card does not fit that meld"


class JokerUnclear(Refused):
    code = "joker_unclear"
    title = "Say which card the joker stands for"


class JokerMisnamed(Refused):
    code = "joker_misnamed"
    title = "The cards named for the jokers do not match the jokers"


class MeldLimit(Refused):
    code = "meld_limit"
    title = "No more new melds this turn"


class MeldsFirst(Refused):
    code = "melds_first"
    title = "New melds come before layoffs"


class NoLayoffs(Refused):
    code = "no_layoffs"
    title = "This table plays without layoffs"


class NotYourMeld(Refused):
    code = "not_your_meld"
    title = "Only your own melds may be laid off on"


class FinalDiscardNeeded(Refused):
    code = "final_discard_needed"
    title = "The last card must be discarded"


class WouldBeStuck(Refused):
    code = "would_be_stuck"
    title = "The turn could not be finished after that"


class UpcardReturned(Refused):
    code = "upcard_returned"
    title = "The upcard just taken may not be discarded"


class NoSwaps(Refused):
    code = "no_swaps"
    title = "Jokers on the table stay where they are"


class NoJokerThere(Refused):
    code = "no_joker_there"
    title = "No joker in that meld stands for that card"


class NoCalls(Refused):
    code = "no_calls"
    title = "This table plays without the call"


class CallClosed(Refused):
    code = "call_closed"
    title = "There is nothing to call"


class OwnDiscard(Refused):
    code = "own_discard"
    title = "The own discard cannot be called"


class TurnUnfinished(Refused):
    code = "turn_unfinished"
    title = "A turn ends with a discard"


# ------------------------------------------------------------------ the rest


class Stale(RummyError):
    """The request was pinned to a version that is no longer the current one."""


class StaleVersion(Stale):
    code = "stale_version"
    title = "The game has moved on"


class Unavailable(RummyError):
    """Nothing is wrong with the request; trying again later can help.

    `retry_after_seconds` says when.
    """

    retry_after_seconds: ClassVar[int] = 1


class StoreUnavailable(Unavailable):
    code = "store_unavailable"
    title = "The store does not answer"


class TooBusy(Unavailable):
    code = "too_busy"
    title = "Too many changes at once"


class UnreadableRecord(Unavailable):
    """The record was written by a version of the service that this one does not know."""

    code = "unreadable_record"
    title = "The game was stored by another version of the service"
    retry_after_seconds: ClassVar[int] = 30

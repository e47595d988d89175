"""One tree of errors: a branch says what kind of thing went wrong, a leaf has the clients' code.

Only `service.api` knows which HTTP status a branch becomes. What is raised here changed nothing.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from service.text import Text, listed

Clause = Annotated[
    str,
    Meta(
        description="A clause of the rules.",
        extra_json_schema={"pattern": r"^[a-z-]+\.[1-9][0-9]?$", "examples": ["straight.4"]},
    ),
]
ParamValue = Annotated[
    bool | int | str | tuple[str, ...],
    Meta(title="ParamValue", description="A value in a `detail`."),
]
Param = ParamValue | None


class RummyError(Exception):
    """Something that the service refuses or cannot do.

    `code` is stable and meant for programs; `detail` is for people and about this very request;
    `rule` is the clause of the rules that stood in the way, where there is one; `params` are the
    values that `detail` speaks of. Params are the same in every language: a sentence inside
    another one is filled in beforehand.
    """

    code: ClassVar[str]
    title: ClassVar[Text]

    def __init__(self, detail: Text, *, rule: str | None = None, **params: Param) -> None:
        """`detail` is filled with the `params` if it has not been filled before."""
        super().__init__(detail)
        self._detail = detail
        self.rule = rule
        self.params = params

    @property
    def detail(self) -> Text:
        """What is wrong with this very request."""
        # Filled when it is read: looking for the legal moves raises and drops a great many.
        if self.params and not self._detail.values:
            self._detail = self._detail.format(**self.params)
        return self._detail

    @detail.setter
    def detail(self, detail: Text) -> None:
        self._detail = detail

    def __str__(self) -> str:
        return self.detail


# ------------------------------------------------------------------ the request itself is wrong


class BadInput(RummyError):
    """The request cannot be understood, whatever the state of the game."""


class FieldProblem(Struct, frozen=True):
    """What is wrong with one field of a request."""

    field: Annotated[str, Meta(description="The field's path, such as `cards.2`.")]
    reason: Annotated[
        Text, Meta(description="What is wrong with its value, in the caller's language.")
    ]


class OptionProblem(Struct, frozen=True):
    """Why an option was refused."""

    option: Annotated[str, Meta(description="The name of the option, as it was sent.")]
    value: Annotated[
        Annotated[bool | int | str, Meta(title="OptionValue")] | None,  # as in rules.py
        Meta(
            description="The value that it would have: what was sent, or else what follows from "
            "the variant and the other options; null means what it does for this option."
        ),
    ]
    reason: Annotated[Text, Meta(description="Why it cannot be, in the caller's language.")]
    rule: Annotated[
        Clause | None,
        Meta(description="The clause that the option is about; null: there is no such option."),
    ]


class BadCard(BadInput):
    code = "bad_card"
    title = Text("That is not a card")


class BadText(BadInput):
    code = "bad_text"
    title = Text("The text cannot be used")


class BadCursor(BadInput):
    code = "bad_cursor"
    title = Text("The cursor is not one of ours")


class BadVersion(BadInput):
    code = "bad_version"
    title = Text("If-Match does not name a version")


class BadIdempotencyKey(BadInput):
    code = "bad_idempotency_key"
    title = Text("The Idempotency-Key cannot be used")


class IdempotencyKeyReused(BadInput):
    code = "idempotency_key_reused"
    title = Text("The Idempotency-Key was used for another request")


class InvalidRequest(BadInput):
    """Fields of the request that are missing, unknown or of the wrong form; all of them at once."""

    code = "invalid_request"
    title = Text("The request is not of the documented form")

    def __init__(self, fields: tuple[FieldProblem, ...]) -> None:
        super().__init__(listed([_about(problem.field, problem.reason) for problem in fields]))
        self.fields = fields


class BadPractice(BadInput):
    code = "bad_practice"
    title = Text("The practice table cannot be laid out like that")


class BadNotation(BadInput):
    """A text that is no deal in the service's notation; `line` says where, from 1."""

    code = "bad_notation"
    title = Text("The text is not a deal in the notation")


class BadReplay(BadInput):
    """A recorded deal that the engine cannot play like that; `move` is the first that fails."""

    code = "bad_replay"
    title = Text("The deal cannot be played again like that")


class BadTable(BadInput):
    code = "bad_table"
    title = Text("The table cannot be set up like that")


class OptionsRefused(BadInput):
    """The options do not go together; every problem found is listed, not just the first."""

    code = "options_refused"
    title = Text("These options cannot be played")

    def __init__(self, problems: tuple[OptionProblem, ...]) -> None:
        first = problems[0]
        super().__init__(
            listed([_about(problem.option, problem.reason) for problem in problems]),
            rule=first.rule,
        )
        self.problems = problems


# ------------------------------------------------------------------ who is asking, and for what


class NotIdentified(RummyError):
    """No usable seat token came with a request that needs one."""


class NoToken(NotIdentified):
    code = "no_token"
    title = Text("A seat token is needed")


class BadToken(NotIdentified):
    code = "bad_token"
    title = Text("That is not a seat token")


class NotAllowed(RummyError):
    """The caller is known and may not do this."""


class NotYourSeat(NotAllowed):
    code = "not_your_seat"
    title = Text("The token is not of a seat at this table")


class NotTheHost(NotAllowed):
    code = "not_the_host"
    title = Text("Only the host may do this")


class InvitationNeeded(NotAllowed):
    code = "invitation_needed"
    title = Text("This table is by invitation")


class NoSpectators(NotAllowed):
    code = "no_spectators"
    title = Text("Only those who play may look")


class NotFound(RummyError):
    """The thing that the request names does not exist."""


class NoSuchGame(NotFound):
    code = "no_such_game"
    title = Text("There is no such game")


class NoSuchDeal(NotFound):
    code = "no_such_deal"
    title = Text("There is no such deal")


class NoSuchVariant(NotFound):
    code = "no_such_variant"
    title = Text("There is no such variant")


class NoSuchError(NotFound):
    code = "no_such_error"
    title = Text("No refusal has that code")


# ------------------------------------------------------------------ refused as things stand now


class Refused(RummyError):
    """Understood, but not possible as the game stands, or against its rules."""

    find_instead: Callable[[], tuple[Struct, ...]] | None = None

    @property
    def instead(self) -> tuple[Struct, ...]:
        """Of a player's move: legal ones near to it, at the same point of the game (rummy.suggest).

        Found when somebody wants to know: not every refusal comes to be told.
        """
        return self.find_instead() if self.find_instead else ()


class TableFull(Refused):
    code = "table_full"
    title = Text("There are not so many free seats")


class AlreadyStarted(Refused):
    code = "already_started"
    title = Text("The match has begun")


class TableClosed(Refused):
    code = "table_closed"
    title = Text("The table was closed")


class RematchStays(Refused):
    code = "rematch_stays"
    title = Text("A rematch stays open for its players")


class DealNotOver(Refused):
    code = "deal_not_over"
    title = Text("The deal is still being played")


class NoReplay(Refused):
    code = "no_replay"
    title = Text("There is no replay of that deal")


class NoNextDeal(Refused):
    code = "no_next_deal"
    title = Text("No deal follows this one")


class NoSuchSeat(Refused):
    code = "no_such_seat"
    title = Text("Nobody has that seat")


class OwnSeat(Refused):
    code = "own_seat"
    title = Text("That is your own seat")


class SeatAway(Refused):
    code = "seat_away"
    title = Text("The computer plays your seat")


class NoMemory(Refused):
    code = "no_memory"
    title = Text("This table plays from memory")


class MatchNotOver(Refused):
    code = "match_not_over"
    title = Text("The match is not over")


class NotStarted(Refused):
    code = "not_started"
    title = Text("The match has not begun")


class TooFewPlayers(Refused):
    code = "too_few_players"
    title = Text("At least two seats must be taken")


class OptionsDoNotFit(Refused):
    code = "options_do_not_fit"
    title = Text("The options do not fit this number of players")


class MatchOver(Refused):
    code = "match_over"
    title = Text("The match is over")


class NotYourTurn(Refused):
    code = "not_your_turn"
    title = Text("It is another player's turn")


class DrawFirst(Refused):
    code = "draw_first"
    title = Text("A turn begins with a draw")


class AlreadyDrawn(Refused):
    code = "already_drawn"
    title = Text("One card a turn is drawn")


class CallPending(Refused):
    code = "call_pending"
    title = Text("The discard can still be called")


class NoUpcard(Refused):
    code = "no_upcard"
    title = Text("The discard pile is empty")


class UpcardChanged(Refused):
    code = "upcard_changed"
    title = Text("Another card is the upcard now")


class NothingToTurnOver(Refused):
    code = "nothing_to_turn_over"
    title = Text("The stock is empty and cannot be renewed")


class NotInHand(Refused):
    code = "not_in_hand"
    title = Text("The card is not in your hand")


class NoSuchMeld(Refused):
    code = "no_such_meld"
    title = Text("There is no such meld on the table")


class NotAMeld(Refused):
    code = "not_a_meld"
    title = Text("These cards are no meld")


class DoesNotFit(Refused):
    code = "does_not_fit"
    title = Text("The card does not fit that meld")


class JokerUnclear(Refused):
    code = "joker_unclear"
    title = Text("Say which card the joker stands for")


class JokerMisnamed(Refused):
    code = "joker_misnamed"
    title = Text("The cards named for the jokers do not match the jokers")


class MeldLimit(Refused):
    code = "meld_limit"
    title = Text("No more new melds this turn")


class MeldsFirst(Refused):
    code = "melds_first"
    title = Text("New melds come before layoffs")


class NoLayoffs(Refused):
    code = "no_layoffs"
    title = Text("This table plays without layoffs")


class NotYourMeld(Refused):
    code = "not_your_meld"
    title = Text("Only your own melds may be laid off on")


class FinalDiscardNeeded(Refused):
    code = "final_discard_needed"
    title = Text("The last card must be discarded")


class WouldBeStuck(Refused):
    code = "would_be_stuck"
    title = Text("The turn could not be finished after that")


class UpcardReturned(Refused):
    code = "upcard_returned"
    title = Text("The upcard just taken may not be discarded")


class NoSwaps(Refused):
    code = "no_swaps"
    title = Text("Jokers on the table stay where they are")


class NoJokerThere(Refused):
    code = "no_joker_there"
    title = Text("No joker in that meld stands for that card")


class NoCalls(Refused):
    code = "no_calls"
    title = Text("This table plays without the call")


class CallClosed(Refused):
    code = "call_closed"
    title = Text("There is nothing to call")


class OwnDiscard(Refused):
    code = "own_discard"
    title = Text("The own discard cannot be called")


class TurnUnfinished(Refused):
    code = "turn_unfinished"
    title = Text("A turn ends with a discard")


# ------------------------------------------------------------------ the rest


class Stale(RummyError):
    """The request was pinned to a version that is no longer the current one."""


class StaleVersion(Stale):
    code = "stale_version"
    title = Text("The game has moved on")


class TooMany(RummyError):
    """Nothing is wrong with the request but that it is one too many.

    `retry_after_seconds` says when to send it again, as do the params.
    """

    def __init__(self, detail: Text, *, retry_after_seconds: int, **params: Param) -> None:
        super().__init__(detail)
        self.params = {**params, "retry_after_seconds": retry_after_seconds}
        self.retry_after_seconds = retry_after_seconds


class RateLimited(TooMany):
    code = "rate_limited"
    title = Text("Too many requests")


class Unavailable(RummyError):
    """Nothing is wrong with the request; trying again later can help.

    `retry_after_seconds` says when.
    """

    retry_after_seconds: ClassVar[int] = 1


class StoreUnavailable(Unavailable):
    code = "store_unavailable"
    title = Text("The store does not answer")


class Stopping(Unavailable):
    code = "stopping"
    title = Text("The process is about to end")


class TooBusy(Unavailable):
    code = "too_busy"
    title = Text("Too many changes at once")


class TablesFrozen(Unavailable):
    code = "tables_frozen"
    title = Text("No new tables at the moment")
    retry_after_seconds = 60


class UnreadableRecord(Unavailable):
    """The record was written by a version of the service that this one does not know."""

    code = "unreadable_record"
    title = Text("The game was stored by another version of the service")
    retry_after_seconds: ClassVar[int] = 30


def _about(name: str, reason: Text) -> Text:
    return Text("{name}: {reason}").format(name=name, reason=reason)

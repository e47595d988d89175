"""The answers: a game, its log and its score as one caller may see them, and the variants.

These structures are the contract's schemas too, so that document and answer cannot disagree.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Struct

from service.errors import Clause
from service.game import (
    Away,
    Closed,
    EntropyAdded,
    Event,
    Game,
    GameId,
    Joined,
    Left,
    Logged,
    PlayerName,
    Rematch,
    Removed,
    Returned,
    Started,
    Status,
    TableEvent,
    WentAway,
)
from service.rummy.cards import Card
from service.rummy.computer import Level
from service.rummy.model import Count, DealResult, MatchResult, Move, SeatNumber
from service.rummy.rules import (
    OPTIONS,
    PRESETS,
    Deviation,
    Option,
    OptionValue,
    Rules,
    UsualValue,
    ValueInForce,
    clause,
    defaults,
    deviations,
    preset_of,
)
from service.rummy.sheet import Sentence, Sheet
from service.rummy.view import (
    DealView,
    Fairness,
    Instant,
    MemoryView,
    PublicEvent,
    fairness_before,
    instant,
    memory,
    moves_of,
    redact,
    view,
)
from service.seating import added_entropy, rules_of
from service.text import said

MOST_MOVES_IN_VIEW = 100
"""So many moves a view lists; GET /moves lists more."""

MOST_MOVES = 2_000
"""So many moves GET /moves lists."""

SeatToken = Annotated[
    str,
    Meta(
        title="SeatToken",
        description="The token of a seat: the id of its game, a dot, and 256 bits of chance.",
        pattern=r"^[a-z2-7]{16}\.[A-Za-z0-9_-]{43}$",
    ),
]
VariantId = Annotated[
    str,
    Meta(
        description="The id of a variant.",
        extra_json_schema={"pattern": "^[a-z]+(-[a-z]+)*$", "examples": ["straight"]},
    ),
]
Version = Annotated[
    int, Meta(ge=1, description="Counts the changes of a game. The ETag is this number.")
]
_VariantName = Annotated[str, Meta(description="The name of the variant.")]
_VariantSummary = Annotated[str, Meta(description="What is special about the variant.")]
_VariantSource = Annotated[str, Meta(description="The rule text that the variant follows.")]
GameStatus = Annotated[
    Status,
    Meta(
        title="GameStatus",
        description=(
            "`waiting` for players; `playing`; `finished`: the match is over; `closed`: the table "
            "was given up before a match began."
        ),
    ),
]
OptionKind = Annotated[
    Literal["choice", "number", "switch"],
    Meta(title="OptionKind", description="What kind of values an option has."),
]


class SeatView(Struct, frozen=True):
    """A taken seat. Seats are numbered clockwise. Before the start they have no gaps."""

    seat: SeatNumber
    name: PlayerName
    host: Annotated[bool, Meta(description="Whether its player may start the match.")]
    computer: Annotated[
        Level | None, Meta(description="The level of the computer that plays it; null: a person.")
    ]
    away: Annotated[
        Away | None,
        Meta(
            description="Why the computer plays a person's seat, who can take it back: the player "
            "`left`, or `timed_out` by letting too many turns pass (table.2); null: nobody is away."
        ),
    ]


class GameView(Struct, frozen=True, kw_only=True):
    """A game as the caller may see it; spectators see no hand and no moves."""

    id: GameId
    version: Version
    status: GameStatus
    variant: VariantId
    practice: Annotated[bool, Meta(description="Whether the cards are known beforehand.")]
    public: Annotated[bool, Meta(description="Whether the table is listed while it waits.")]
    private: Annotated[bool, Meta(description="Whether joining takes an invitation code.")]
    spectators: Annotated[bool, Meta(description="Whether it may be watched without a seat.")]
    autostart: Annotated[bool, Meta(description="Whether it starts with the last seat taken.")]
    size: Annotated[Count, Meta(description="How many seats the table has.")]
    seats: Annotated[tuple[SeatView, ...], Meta(description="Those taken, clockwise.")]
    you: Annotated[SeatNumber | None, Meta(description="The caller's seat; null: none here.")]
    options: Annotated[
        Rules,
        Meta(description="Every option's effective value; before the start, for a full table."),
    ]
    deviations: Annotated[
        tuple[Deviation, ...],
        Meta(description="Written down: where the options differ from the variant's own."),
    ]
    created_at: Annotated[Instant, Meta(description="When the table was made, in UTC.")]
    changed_at: Annotated[Instant, Meta(description="When it came to this version, in UTC.")]
    expires_at: Annotated[Instant, Meta(description="When it is deleted if nobody moves, in UTC.")]
    turn_ends_at: Annotated[
        Instant | None,
        Meta(
            description="When the turn is played by force (table.1), in UTC; null: there is no "
            "clock, or no person is on turn."
        ),
    ]
    rematch: Annotated[
        GameId | None,
        Meta(description="The game that follows this one; null: nobody has asked for a rematch."),
    ]
    rematch_of: Annotated[
        GameId | None,
        Meta(description="The game that this one follows; null: it is no rematch."),
    ]
    deal: Annotated[
        DealView | None,
        Meta(description="The deal being played; null: before the start and after the end."),
    ]
    hand: Annotated[
        tuple[Card, ...] | None,
        Meta(
            description="The caller's cards, by suit, then rank; null: the caller has no seat, or "
            "no deal is being played."
        ),
    ]
    may_not_discard: Annotated[
        Card | None,
        Meta(
            description="The upcard that the caller took and may not discard this turn "
            "(straight.4, common.14); null: there is none."
        ),
    ]
    moves: Annotated[
        tuple[Move, ...],
        Meta(
            description="What the caller may do now, as bodies for POST /v1/games/{game_id}/{move}."
        ),
    ]
    moves_truncated: Annotated[
        bool, Meta(description="Whether there are more moves than listed; see GET moves.")
    ]
    memory: Annotated[
        MemoryView | None,
        Meta(
            description="Asked for with `memory=true`: what everybody saw of the deal being played "
            "(table.7). Null: not asked for, or no deal is being played."
        ),
    ]
    totals: Annotated[tuple[Count, ...], Meta(description="The points so far, by seat.")]
    last_deal: Annotated[
        DealResult | None,
        Meta(description="How the last deal that ended went; null: none has ended."),
    ]
    result: Annotated[
        MatchResult | None, Meta(description="How the match ended; null: it is not over.")
    ]
    fairness: Annotated[
        Fairness | None,
        Meta(
            description="What proves that the cards were not chosen; null: the game may not be "
            "watched, or was made before there were commitments."
        ),
    ]


LoggedEvent = Annotated[
    Joined
    | Left
    | Removed
    | Closed
    | WentAway
    | Returned
    | EntropyAdded
    | Started
    | Rematch
    | PublicEvent,
    Meta(title="Event", description="What happened, by its `type`."),
]


class LogEntry(Struct, frozen=True):
    """One event of a game."""

    id: Annotated[int, Meta(ge=1, description="Counts from 1 without gaps.")]
    game: GameId
    version: Annotated[Version, Meta(description="The version that the change made.")]
    at: Annotated[Instant, Meta(description="When it happened, in UTC.")]
    forced: Annotated[bool, Meta(description="Whether the clock did it, not the player.")]
    event: Annotated[
        LoggedEvent,
        Meta(description="What happened, as far as the reader may know it, by its `type`."),
    ]


class Changed(Struct, frozen=True, tag_field="type", tag="changed"):
    """The answer to a change: what it did, and the game as it is now."""

    version: Annotated[Version, Meta(description="The version that the change made.")]
    game: GameView
    events: Annotated[
        tuple[LogEntry, ...],
        Meta(description="What the change did, in order; after a `wait`, all that came since."),
    ]


class Seated(Struct, frozen=True):
    """The answer to taking a seat, with the token that is the seat's key."""

    seat: Annotated[SeatNumber, Meta(description="The seat taken, by the number it has now.")]
    token: Annotated[
        SeatToken,
        Meta(
            description="Send it as `Authorization: Bearer …`. It is shown again only by a repeat "
            "of this request: with the same Idempotency-Key, or of a rematch."
        ),
    ]
    invitation: Annotated[
        str | None,
        Meta(
            description="The maker of a private table gets the code here that joining takes; null "
            "for everybody else.",
            extra_json_schema={"examples": ["k7fq2-mxp4d"]},
        ),
    ]
    version: Annotated[Version, Meta(description="The version that the change made.")]
    game: GameView
    events: Annotated[tuple[LogEntry, ...], Meta(description="What the change did, in order.")]


class SandboxSeat(Struct, frozen=True):
    """A seat of a sandbox, with the token that is its key."""

    seat: SeatNumber
    name: PlayerName
    token: SeatToken


class Sandbox(Struct, frozen=True):
    """A practice table with both its seats taken, ready to be played."""

    seats: Annotated[tuple[SandboxSeat, ...], Meta(description="Both, clockwise.")]
    game: Annotated[GameView, Meta(description="As seat 0 sees it, whose turn it is.")]


class Checked(Struct, frozen=True, tag_field="type", tag="checked"):
    """The answer to a move that was only checked: it would be accepted. Nothing has changed."""

    version: Annotated[Version, Meta(description="The game's version, as it was and is.")]
    game: Annotated[
        GameView | None,
        Meta(
            description="The game as the move would leave it, before anybody else moves; null if "
            "it would show what is hidden now."
        ),
    ]


class TableView(Struct, frozen=True, kw_only=True):
    """An open table in the list."""

    id: GameId
    variant: VariantId
    practice: Annotated[bool, Meta(description="Whether the cards are known beforehand.")]
    size: Annotated[Count, Meta(description="How many seats the table has.")]
    taken: Annotated[Count, Meta(description="How many of them are taken.")]
    computers: Annotated[Count, Meta(description="How many of those by computer players.")]
    host: Annotated[str, Meta(description="The name of the host.")]
    spectators: Annotated[bool, Meta(description="Whether it may be watched without a seat.")]
    autostart: Annotated[bool, Meta(description="Whether it starts with the last seat taken.")]
    options: Annotated[Rules, Meta(description="Every option's effective value for a full table.")]
    deviations: Annotated[
        tuple[Deviation, ...],
        Meta(description="Written down: where the options differ from the variant's own."),
    ]
    created_at: Annotated[Instant, Meta(description="When it was made, in UTC.")]
    expires_at: Annotated[Instant, Meta(description="When it is deleted if nobody comes, in UTC.")]


class TableList(Struct, frozen=True, tag_field="type", tag="tables"):
    """Open public tables, the newest first."""

    tables: Annotated[tuple[TableView, ...], Meta(description="One page of them.")]
    next: Annotated[
        str | None, Meta(description="The `cursor` of the next page; null: this is the last one.")
    ]


class GameList(Struct, frozen=True, tag_field="type", tag="games"):
    """The games that the caller's token has a seat in."""

    games: Annotated[tuple[GameView, ...], Meta(description="One, or none if the game is gone.")]


class OwnGame(Struct, frozen=True):
    """One of the caller's games."""

    token: Annotated[Count, Meta(description="Which of the tokens sent opens it, from 0.")]
    can_act: Annotated[bool, Meta(description="Whether there is a move to make now.")]
    game: GameView


class OwnGames(Struct, frozen=True):
    """The caller's games, the most urgent first."""

    games: Annotated[
        tuple[OwnGame, ...],
        Meta(
            description="Where there is a move to make, by deadline; then those being played, "
            "those waiting, those that are over."
        ),
    ]
    gone: Annotated[
        tuple[Count, ...],
        Meta(description="Which of the tokens open nothing any more, from 0."),
    ]


class EventList(Struct, frozen=True):
    """A page of a game's log."""

    events: Annotated[tuple[LogEntry, ...], Meta(description="In order, without gaps.")]
    last: Annotated[Count, Meta(description="The `after` of the next page: the last id here.")]
    more: Annotated[bool, Meta(description="Whether the log went on when it was read.")]
    status: GameStatus


class MoveList(Struct, frozen=True):
    """Every legal move of the caller, as bodies for POST /v1/games/{game_id}/{move}."""

    version: Version
    moves: Annotated[
        tuple[Move, ...], Meta(description="Those the caller may make now; none: it cannot act.")
    ]
    truncated: Annotated[bool, Meta(description="Whether there are more than are listed.")]


class Score(Struct, frozen=True):
    """The totals, and each finished deal with every hand counted."""

    game: GameId
    version: Version
    status: GameStatus
    totals: Annotated[tuple[Count, ...], Meta(description="The points so far, by seat.")]
    deals: Annotated[tuple[DealResult, ...], Meta(description="The deals that ended, in order.")]
    more: Annotated[bool, Meta(description="Whether there are more finished deals.")]
    result: Annotated[
        MatchResult | None, Meta(description="How the match ended; null: it is not over.")
    ]


class DefaultFor(Struct, frozen=True):
    """An option's default for a number of players."""

    players: Annotated[Count, Meta(description="The number of players.")]
    value: Annotated[
        OptionValue,
        Meta(
            description="The default; null means what `null_means` says, or that one must choose."
        ),
    ]


class OptionView(Struct, frozen=True, kw_only=True):
    """A house-rule option: its values, what they mean, its defaults and its clause."""

    name: Annotated[str, Meta(description="Its name in `options`, the same in every language.")]
    summary: Annotated[str, Meta(description="What it is about, and what its values mean.")]
    kind: Annotated[
        OptionKind,
        Meta(description="Its values: one of `choices`, a whole number, or true and false."),
    ]
    choices: Annotated[
        tuple[str, ...], Meta(description="The values of a choice; empty for the other kinds.")
    ]
    low: Annotated[
        Count | None, Meta(description="The least value of a number; null: it is of another kind.")
    ]
    high: Annotated[
        Count | None,
        Meta(description="The greatest value of a number; null: it is of another kind."),
    ]
    unit: Annotated[
        str | None, Meta(description="What a number counts; null: it is of another kind.")
    ]
    null_means: Annotated[
        str | None,
        Meta(description="What the value null means; null here: the option cannot be null."),
    ]
    rule: Annotated[Clause, Meta(description="The clause of the rules that it is about.")]
    defaults: Annotated[tuple[DefaultFor, ...], Meta(description="By number of players.")]


class VariantView(Struct, frozen=True, kw_only=True):
    """A variant: one rule text as a set of option values, told in the language of the answer."""

    id: VariantId
    name: _VariantName
    summary: _VariantSummary
    source: _VariantSource
    fewest_players: Annotated[Count, Meta(description="It is for so many players at least.")]
    most_players: Annotated[Count, Meta(description="It is for so many players at most.")]
    must_choose: Annotated[
        tuple[str, ...], Meta(description="Exactly one of these options has to be chosen.")
    ]
    options: Annotated[
        tuple[OptionView, ...],
        Meta(description="Every option, in the order in which the rules speak of them."),
    ]


class VariantList(Struct, frozen=True):
    """All variants."""

    variants: Annotated[tuple[VariantView, ...], Meta(description="Each rule text once.")]


class StatedOption(Struct, frozen=True):
    """The option whose value a sentence says."""

    name: Annotated[str, Meta(description="The name of the option.")]
    value: ValueInForce
    usual: UsualValue
    deviates: Annotated[bool, Meta(description="Whether it is one of the table's deviations.")]
    instead_of: Annotated[
        str | None,
        Meta(
            description="The sentence with the variant's own value; null: the value does not "
            "deviate from it."
        ),
    ]


class SentenceView(Struct, frozen=True):
    """One thing that a clause says, in the language of the answer."""

    text: Annotated[str, Meta(description="The sentence, with names of the API in backticks.")]
    decided: Annotated[
        bool,
        Meta(description="A ruling of the service, where the rule texts are silent or unclear."),
    ]
    option: Annotated[
        StatedOption | None,
        Meta(description="The option whose value it says; null: it is about no option's value."),
    ]
    players: Annotated[
        tuple[Count, ...], Meta(description="The numbers of players that it holds for.")
    ]


class ClauseView(Struct, frozen=True):
    """A clause in force, which the `rule` of a refusal names; in a page it has its anchor."""

    rule: Clause
    sentences: Annotated[tuple[SentenceView, ...], Meta(description="All that it says, in order.")]


class SectionView(Struct, frozen=True):
    """The clauses of one part of the rules."""

    id: Annotated[
        str,
        Meta(
            description="`common`, `jokers`, the id of the variant, `other` (what is in force from "
            "the other rule texts) or `table`."
        ),
    ]
    title: Annotated[str, Meta(description="What the part is called.")]
    clauses: Annotated[tuple[ClauseView, ...], Meta(description="By their numbers.")]


class RuleSheet(Struct, frozen=True):
    """The rules of a variant or of one table, made from the options in force."""

    variant: VariantId
    name: _VariantName
    summary: _VariantSummary
    source: _VariantSource
    game: Annotated[GameId | None, Meta(description="The table; null: the variant as it is.")]
    players: Annotated[
        tuple[Count, ...], Meta(description="The numbers of players that it is for.")
    ]
    sections: Annotated[
        tuple[SectionView, ...],
        Meta(description="The parts of the rules that have clauses in force."),
    ]


class Health(Struct, frozen=True):
    """Whether the service is up."""

    status: Literal["ok"]


class Readiness(Struct, frozen=True):
    """How well the service can serve."""

    status: Literal["ok"]
    busy: Annotated[
        bool, Meta(description="Answers come late, because this process has much to do.")
    ]
    read_only: Annotated[
        bool,
        Meta(
            description="The store takes no changes at the moment, so they are refused with 503; "
            "what only reads is answered."
        ),
    ]


def game_view(
    game: Game, seat: int | None, now: int, expires_at: int, *, remembers: bool = False
) -> GameView:
    """The game as `seat` may see it, with what everybody saw if it `remembers`; times in ms."""
    rules = rules_of(game)
    # By a repeated request somebody may look who has no seat any more.
    seen = game.match if game.spectators or seat is not None else None
    match = view(seen, seat, now, MOST_MOVES_IN_VIEW) if seen else None
    host = game.host
    # Who is away may come back, and nothing else.
    away = seat is not None and game.seats[seat].away is not None
    return GameView(
        id=game.id,
        version=game.version,
        status=game.status,
        variant=game.variant,
        practice=game.practice is not None,
        public=game.public,
        private=game.invitation is not None,
        spectators=game.spectators,
        autostart=game.autostart,
        size=game.size,
        seats=tuple(
            SeatView(number, taken.name, number == host, taken.played_by, taken.away)
            for number, taken in enumerate(game.seats)
        ),
        you=seat,
        options=rules,
        deviations=deviations(rules),
        created_at=instant(game.created_at),
        changed_at=instant(game.changed_at),
        expires_at=instant(expires_at),
        turn_ends_at=_turn_ends_at(game),
        rematch=game.rematch,
        rematch_of=game.rematch_of,
        deal=match.deal if match else None,
        hand=match.hand if match else None,
        may_not_discard=match.may_not_discard if match else None,
        moves=match.moves if match and not away else (),
        moves_truncated=match.moves_truncated if match and not away else False,
        memory=memory(seen) if seen and remembers else None,
        totals=match.totals if match else (0,) * len(game.seats),
        last_deal=match.last_deal if match else None,
        result=match.result if match else None,
        fairness=match.fairness if match else _fairness_before(game),
    )


def own_games(found: Iterable[tuple[int, GameView]], gone: tuple[int, ...]) -> OwnGames:
    """The views of the games that tokens open, by the token's place."""
    games = tuple(OwnGame(place, bool(game.moves), game) for place, game in found)
    return OwnGames(games, gone)


def log_entries(game: Game, logged: Iterable[Logged], seat: int | None) -> tuple[LogEntry, ...]:
    """The entries of the log as `seat` may read them."""
    return tuple(
        LogEntry(
            entry.number,
            game.id,
            entry.version,
            instant(entry.at),
            entry.forced,
            _public(entry.event, seat),
        )
        for entry in logged
    )


def event_page(
    game: Game, logged: tuple[Logged, ...], seat: int | None, after: int, limit: int
) -> EventList:
    """The page of `limit` events after the one numbered `after`; `logged` may have one more."""
    page = logged[:limit]
    last = page[-1].number if page else min(after, game.events)
    return EventList(log_entries(game, page, seat), last, len(logged) > limit, game.status)


def table_view(game: Game, expires_at: int) -> TableView:
    """A waiting table as the list shows it."""
    rules = rules_of(game)
    return TableView(
        id=game.id,
        variant=game.variant,
        practice=game.practice is not None,
        size=game.size,
        taken=len(game.seats),
        computers=sum(not seat.is_persons for seat in game.seats),
        spectators=game.spectators,
        host="" if game.host is None else game.seats[game.host].name,
        autostart=game.autostart,
        options=rules,
        deviations=deviations(rules),
        created_at=instant(game.created_at),
        expires_at=instant(expires_at),
    )


def move_list(game: Game, seat: int, now: int) -> MoveList:
    """What that seat may do at the time `now` (milliseconds)."""
    if game.match is None or game.seats[seat].away is not None:
        return MoveList(game.version, (), False)
    moves, truncated = moves_of(game.match, seat, now, MOST_MOVES)
    return MoveList(game.version, moves, truncated)


def score_view(game: Game, results: tuple[DealResult, ...], limit: int) -> Score:
    """The score of a game with a page of `limit` finished deals; `results` may have one more.

    Results of deals that ended after the game was read are left out, so that all of it adds up.
    """
    match = game.match
    finished = match.last.number if match and match.last else 0
    page = tuple(result for result in results if result.number <= finished)
    return Score(
        game=game.id,
        version=game.version,
        status=game.status,
        totals=match.totals if match else (0,) * len(game.seats),
        deals=page[:limit],
        more=len(page) > limit,
        result=match.result if match else None,
    )


def variant_views(translate: Callable[[str], str]) -> VariantList:
    """All variants with all their options, in the language that `translate` puts messages into."""
    return VariantList(tuple(variant_view(variant, translate) for variant in PRESETS))


@lru_cache(maxsize=64)  # each variant in each language
def variant_view(variant: str, translate: Callable[[str], str]) -> VariantView:
    """One variant with all its options in that language. Raises NoSuchVariant."""
    preset = preset_of(variant)
    fewest, most = preset.players
    by_players = {players: defaults(preset, players) for players in range(fewest, most + 1)}
    return VariantView(
        id=preset.id,
        name=said(preset.name, translate),
        summary=said(preset.summary, translate),
        source=said(preset.source, translate),
        fewest_players=fewest,
        most_players=most,
        must_choose=("deals", "target") if preset.match_end == "must_choose" else (),
        options=tuple(
            _option_view(
                option,
                clause(preset.id, option.name),
                tuple(
                    DefaultFor(players, values[option.name])
                    for players, values in by_players.items()
                ),
                translate,
            )
            for option in OPTIONS.values()
        ),
    )


def rule_sheet(
    sheet: Sheet, translate: Callable[[str], str], game_id: str | None = None
) -> RuleSheet:
    """A rule sheet in the language that `translate` puts messages into."""
    preset = preset_of(sheet.variant)
    return RuleSheet(
        variant=preset.id,
        name=said(preset.name, translate),
        summary=said(preset.summary, translate),
        source=said(preset.source, translate),
        game=game_id,
        players=sheet.players,
        sections=tuple(
            SectionView(
                section.id,
                said(section.title, translate),
                tuple(
                    ClauseView(
                        clause.number,
                        tuple(_sentence_view(sentence, translate) for sentence in clause.sentences),
                    )
                    for clause in section.clauses
                ),
            )
            for section in sheet.sections
        ),
    )


def _sentence_view(sentence: Sentence, translate: Callable[[str], str]) -> SentenceView:
    option = sentence.option
    stated = None
    if option is not None:
        instead_of = None if option.instead_of is None else said(option.instead_of, translate)
        stated = StatedOption(option.name, option.value, option.usual, option.deviates, instead_of)
    return SentenceView(said(sentence.text, translate), sentence.decided, stated, sentence.players)


def _option_view(
    option: Option,
    rule: str,
    by_players: tuple[DefaultFor, ...],
    translate: Callable[[str], str],
) -> OptionView:
    number = option.kind == "number"
    return OptionView(
        name=option.name,
        summary=said(option.summary, translate),
        kind=option.kind,
        choices=option.choices,
        low=option.low if number else None,
        high=option.high if number else None,
        unit=None if option.unit is None else said(option.unit, translate),
        null_means=None if option.nothing is None else said(option.nothing, translate),
        rule=rule,
        defaults=by_players,
    )


def _fairness_before(game: Game) -> Fairness | None:
    """What is shown while the match is waited for."""
    if game.status != "waiting" or not game.seed:
        return None
    return fairness_before(game.seed, game.id, added_entropy(game))


def _turn_ends_at(game: Game) -> datetime | None:
    """The deadline of the person on turn; what is due of a computer is nobody's deadline."""
    deal = game.match.deal if game.match else None
    if game.due is None or deal is None or game.seats[deal.turn].played_by is not None:
        return None
    return instant(game.due)


def _public(event: Event, seat: int | None) -> TableEvent | PublicEvent:
    return event if isinstance(event, TableEvent) else redact(event, seat)

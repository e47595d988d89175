"""Who sits at a table: taking seats, leaving, coming back, beginning the match. Pure.

Before the match begins seats have no gaps: who leaves is followed by those behind, in their order.
From then on seats are fixed, and the computer plays for who is away.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from service.errors import (
    AlreadyStarted,
    BadNotation,
    BadPractice,
    BadReplay,
    InvitationNeeded,
    MatchOver,
    NoMemory,
    NoSpectators,
    NoSuchSeat,
    NotStarted,
    NotTheHost,
    NotYourSeat,
    OptionsDoNotFit,
    OptionsRefused,
    OwnSeat,
    RematchStays,
    SeatAway,
    TableClosed,
    TableFull,
    TooFewPlayers,
)
from service.game import (
    Closed,
    EntropyAdded,
    Event,
    Game,
    Joined,
    Left,
    Removed,
    Returned,
    Seat,
    Started,
    with_seat,
)
from service.rummy.computer import Level
from service.rummy.engine import abandon, new_match, with_entropy
from service.rummy.model import Committed, Match
from service.rummy.notation import read
from service.rummy.rules import Rules, agree, clause
from service.rummy.shuffle import SHUFFLE, committed
from service.text import Text
from service.tokens import game_id_of, hash_of, same
from service.what_if import gone_to, guard_seats

Change = tuple[Game, tuple[Event, ...]]
"""A game after a change, and the events that tell of the change."""

_FEWEST_PLAYERS = 2


def rules_of(game: Game) -> Rules:
    """The rules in force; before the start those of a full table."""
    return game.match.rules if game.match else agree(game.variant, game.size, game.chosen)


def seen_from(game: Game, token: str | None) -> int | None:
    """The caller's seat; None for a spectator. Raises BadToken, NotYourSeat, NoSpectators."""
    if token is not None:
        return seat_of(game, token)
    if not game.spectators and game.match is not None:
        raise NoSpectators(Text("This match is for those who play it; send the token of a seat."))
    return None


def seat_of(game: Game, token: str) -> int:
    """The seat that the token opens. Raises BadToken, NotYourSeat."""
    game_id_of(token)
    found = find_seat(game, token)
    if found is None:
        raise NotYourSeat(Text("The token is not of a seat at this table."))
    return found


def find_seat(game: Game, token: str) -> int | None:
    """The seat that the token opens, if there is one."""
    token_hash = hash_of(token)
    found = None
    for number, seat in enumerate(game.seats):
        if same(seat.token_hash, token_hash):
            found = number
    return found


def hosted(game: Game, seat: int) -> Game:
    """The game, if that is the host's seat. Raises NotTheHost."""
    if seat != game.host:
        raise NotTheHost(Text("Only the host of the table may do this."), host=game.host)
    return game


def guard_open(game: Game) -> None:
    """The table still waits for its match. Raises AlreadyStarted and TableClosed."""
    if game.closed:
        raise TableClosed(Text("The table was closed before a match began."), rule="table.3")
    if game.match is not None:
        raise AlreadyStarted(Text("The match has begun; seats and options are fixed."))


def guard_playing(game: Game) -> Match:
    """The match. Raises NotStarted and TableClosed; it may be over."""
    if game.closed:
        raise TableClosed(Text("The table was closed before a match began."), rule="table.3")
    if game.match is None:
        raise NotStarted(Text("The match has not begun; no cards are dealt."), rule="common.3")
    return game.match


def guard_present(game: Game, seat: int) -> None:
    """The player of that seat is there and plays it. Raises SeatAway."""
    away = game.seats[seat].away
    if away is not None and game.status == "playing":
        if away == "left":
            raise SeatAway(
                Text("You left, so the computer plays your seat; POST return to take it back."),
                rule="table.4",
            )
        raise SeatAway(
            Text(
                "Too many of your turns were forced, so the computer plays your seat; POST return "
                "to take it back."
            ),
            rule="table.2",
        )


def guard_memory(game: Game) -> None:
    """Views of that table may tell what everybody saw. Raises NoMemory."""
    if not rules_of(game).memory:
        raise NoMemory(
            Text("At this table everybody keeps in mind what was seen; ask without `memory`."),
            rule="table.7",
        )


def guard_invited(game: Game, code_hash: str | None) -> None:
    """Whoever has that code may join. Raises InvitationNeeded."""
    if game.rematch_of is not None:
        raise InvitationNeeded(
            Text(
                "This rematch is for the players of game {game}; they take their seats with POST "
                "rematch there."
            ),
            game=game.rematch_of,
        )
    if game.invitation is not None and not same(game.invitation, code_hash or ""):
        raise InvitationNeeded(
            Text("That is not the invitation code of this table.")
            if code_hash
            else Text("Send the code of the table, which its maker was given, as `invitation`.")
        )


def first_commitment(empty: Game) -> tuple[Event, ...]:
    """The event of a table that was made: the secret of its first deal is fixed (table.8)."""
    return (Committed(1, SHUFFLE, committed(empty.seed, empty.id, 1)),)


def seated(game: Game, seat: Seat, now: int) -> Change:
    """The next free seat taken; the match begun if that was the last and the table says so.

    Who has a `place` from the match before sits down before the first who had a later one. Raises
    AlreadyStarted, TableClosed, TableFull, OptionsDoNotFit.
    """
    guard_open(game)
    if len(game.seats) >= game.size:
        raise TableFull(Text("All {seats} seats are taken."), seats=game.size)
    number = len(game.seats)
    if seat.place is not None:
        later = (
            at
            for at, other in enumerate(game.seats)
            if other.place is not None and other.place > seat.place
        )
        number = next(later, number)
    game = replace(game, seats=(*game.seats[:number], seat, *game.seats[number:]))
    events: tuple[Event, ...] = (Joined(number, seat.name, seat.computer),)
    if seat.entropy:
        events += (EntropyAdded(number, seat.entropy),)
    if game.autostart and len(game.seats) == game.size:
        game, started = begun(game, now)
        events += started
    return game, events


def with_computers(game: Game, levels: Sequence[Level], now: int) -> Change:
    """The next free seats given to computer players. Raises as `seated` does."""
    guard_open(game)
    free = game.size - len(game.seats)
    if len(levels) > free:
        raise TableFull(
            Text("Free seats: {free} of {seats}, too few for {wanted}."),
            free=free,
            seats=game.size,
            wanted=len(levels),
        )
    events: tuple[Event, ...] = ()
    for level in levels:
        game, joined = seated(game, computer_seat(game, level), now)
        events += joined
    return game, events


def computer_seat(game: Game, level: Level) -> Seat:
    """A computer player of that level, under a name that nobody at the table has."""
    names = {seat.name for seat in game.seats}
    name, number = f"Computer {level}", 1
    while name in names:
        number += 1
        name = f"Computer {level} {number}"
    return Seat(name, None, computer=level)


def begun(game: Game, now: int) -> Change:
    """The match begun `now` (milliseconds), for those who sit there.

    Raises AlreadyStarted, TableClosed, TooFewPlayers and OptionsDoNotFit.
    """
    guard_open(game)
    players = len(game.seats)
    if players < _FEWEST_PLAYERS:
        raise TooFewPlayers(
            Text("Seats taken: {players} of {seats}; rummy needs {fewest} players."),
            rule=clause(game.variant, "players"),
            players=players,
            seats=game.size,
            fewest=_FEWEST_PLAYERS,
        )
    practice = game.practice
    try:
        record = read(practice.deal) if practice and practice.deal else None
        if record is not None:
            guard_seats(record, game.variant, players)
        rules = agree(game.variant, players, game.chosen)
        match, dealt = new_match(
            rules,
            game.seed,
            practice.dealer if practice else None,
            practice.order if practice else None,
            game=game.id,
            entropy=added_entropy(game),
        )
        if record is not None:
            match, played = gone_to(match, record, now)
            dealt += played
    except (OptionsRefused, BadPractice, BadNotation, BadReplay) as error:
        raise OptionsDoNotFit(
            Text("With {players} players this table cannot be played: {reason}").format(
                players=players, reason=error.detail
            ),
            rule=error.rule,
            players=players,
        ) from error
    seats = tuple(replace(seat, entropy="") for seat in game.seats)
    return replace(game, match=match, seats=seats, size=players), (
        Started(players, match.totals),
        *dealt,
    )


def added_entropy(game: Game) -> tuple[str, ...]:
    """What the seats add to the chance of the first deal, by seat; no items: nobody adds any."""
    added = tuple(seat.entropy for seat in game.seats)
    return added if any(added) else ()


def mixed(game: Game, seat: int, entropy: str) -> Change:
    """That seat's entropy for the next deal, in the place of what it had added (table.8).

    Without effect if it is the same. Raises TableClosed, MatchOver, NoNextDeal.
    """
    before, event = game, EntropyAdded(seat, entropy)
    if game.closed or game.match is not None:
        game = replace(game, match=with_entropy(guard_playing(game), seat, entropy))
    else:
        game = with_seat(game, seat, replace(game.seats[seat], entropy=entropy))
    return game, () if game == before else (event,)


def left(game: Game, seat: int) -> Change:
    """That player gone: before the start the seat is free, then the computer plays it.

    Without effect on a seat that was left before. Raises TableClosed and MatchOver.
    """
    if game.closed:
        raise TableClosed(Text("The table was closed before a match began."), rule="table.3")
    who = game.seats[seat]
    event = Left(seat, who.name)
    if game.match is None:
        game, closed = _closed_if_empty(_without(game, seat))
        return game, (event, *closed)
    _guard_not_over(game)
    if who.away == "left":
        return game, ()
    return with_seat(game, seat, replace(who, away="left")), (event,)


def removed(game: Game, by: int, seat: int, name: str | None = None) -> Change:
    """That seat freed by the host, before the start; if a name is given, only if it is theirs.

    Raises AlreadyStarted, TableClosed, NoSuchSeat, OwnSeat.
    """
    guard_open(game)
    if seat >= len(game.seats):
        raise NoSuchSeat(Text("Nobody has seat {seat}."), seat=seat)
    if name is not None and name != game.seats[seat].name:
        raise NoSuchSeat(
            Text("Seat {seat} is {holder}'s now, not {name}'s."),
            seat=seat,
            holder=game.seats[seat].name,
            name=name,
        )
    if seat == by:
        raise OwnSeat(Text("Your own seat you give up with POST leave."), rule="table.3", seat=seat)
    return _without(game, seat), (Removed(seat, game.seats[seat].name),)


def closed(game: Game) -> Change:
    """The table given up before the start; a closed one as it is.

    Raises AlreadyStarted, and RematchStays: who comes first must not shut the others out.
    """
    if game.closed:
        return game, ()
    if game.rematch_of is not None and game.match is None:
        raise RematchStays(
            Text("The others may still come; leave it, or start with those who are there."),
            rule="table.3",
        )
    guard_open(game)
    return replace(game, closed=True), (Closed(),)


def shut(game: Game) -> Change:
    """All given up by whoever runs the service: a table, a rematch too, or a match (table.5).

    Without effect where it is over already.
    """
    if game.is_over:
        return game, ()
    if game.match is None:
        return replace(game, closed=True), (Closed(),)
    match, events = abandon(game.match)
    return replace(game, match=match), (Closed(), *events)


def returned(game: Game, seat: int) -> Change:
    """That player back on the own seat. Without effect if that is so. Raises as `guard_playing`."""
    guard_playing(game)
    _guard_not_over(game)
    who = game.seats[seat]
    if who.away is None:
        return game, ()
    return with_seat(game, seat, replace(who, away=None, forced=0)), (Returned(seat),)


def _guard_not_over(game: Game) -> None:
    if game.status == "finished":
        raise MatchOver(Text("The match is over; nobody has to leave or return."), rule="common.8")


def _without(game: Game, seat: int) -> Game:
    return replace(game, seats=(*game.seats[:seat], *game.seats[seat + 1 :]))


def _closed_if_empty(game: Game) -> Change:
    # The others of a rematch can still come: who was there first must not shut them out.
    if game.rematch_of is not None or any(seat.is_persons for seat in game.seats):
        return game, ()
    return replace(game, closed=True), (Closed(),)

"""What if: practice tables that go on with a deal from some point of it."""

from itertools import islice

from msgspec.structs import replace

from service.errors import BadPractice
from service.rummy.model import Event, Match, TurnedOver
from service.rummy.notation import read
from service.rummy.record import DealRecord, positions
from service.rummy.rules import OPTIONS, Choices, OptionValue, Rules, choices_of
from service.text import Text

_FREE = {"deals", "target"} | {name for name, option in OPTIONS.items() if not option.of_cards}
"""What a table can have otherwise than the deal it goes on with: how the match ends, and what is
about the table, not the cards."""


def deal_until(text: str, moves: int | None) -> DealRecord:
    """The deal in the notation `text` with so many of its moves, all of them if None.

    Raises BadNotation; BadReplay if it cannot be played so far; BadPractice if it has not so many
    moves, or is over by then.
    """
    record = read(text)
    most = len(record.moves)
    wanted = most if moves is None else moves
    if wanted > most:
        raise BadPractice(Text("practice.moves: for this deal it is from 0 to {most}."), most=most)
    turnovers, over = 0, False
    for position in islice(positions(record), wanted + 1):
        turnovers += any(isinstance(event, TurnedOver) for event in position.events)
        over = position.match.deal is None
    if over:
        raise BadPractice(
            Text("practice.moves: by then the deal is over; take {most} at the most."),
            most=wanted - 1,
        )
    return replace(record, moves=record.moves[:wanted], turnovers=record.turnovers[:turnovers])


def choices_for(record: DealRecord, chosen: Choices) -> Choices:
    """The options of a table that goes on with the deal, of which some were `chosen` by name.

    Where it was not chosen how the match ends, it has as many deals as were left with this one.
    """
    options = dict(choices_of(record.rules))
    if record.rules.deals is not None:
        options["deals"] = max(1, record.rules.deals - record.number + 1)
    if "deals" in chosen or "target" in chosen:
        options.pop("deals", None)
        options.pop("target", None)
    return options | dict(chosen)


def guard_seats(record: DealRecord, variant: str, players: int) -> None:
    """So many people can go on with the deal by that variant. Raises BadPractice."""
    rules = record.rules
    for field, deal, table in (
        ("variant", rules.variant, variant),
        ("seats", rules.players, players),
    ):
        if deal != table:
            raise _differs(field, deal, table)


def guard_options(record: DealRecord, rules: Rules) -> None:
    """The table plays the cards by the options of the deal. Raises BadPractice."""
    for name in OPTIONS:
        deal, table = getattr(record.rules, name), getattr(rules, name)
        if deal != table and name not in _FREE:
            raise _differs(f"options.{name}", deal, table)


def gone_to(match: Match, record: DealRecord, now: int) -> tuple[Match, tuple[Event, ...]]:
    """The match with its first deal, just dealt, gone on to the end of that record; and how.

    A card that can be called there was discarded `now` (milliseconds). Raises BadReplay.
    """
    match, events = replace(match, totals=record.totals), tuple[Event, ...]()
    for position in positions(replace(record, rules=match.rules), match):
        match = position.match
        events += position.events
    deal, seconds = match.deal, match.rules.call_seconds
    if deal is not None and deal.window is not None:
        closes = None if seconds is None else now + seconds * 1000
        window = replace(deal.window, opened=now, closes=closes)
        match = replace(match, deal=replace(deal, window=window))
    return match, events


def _differs(field: str, deal: OptionValue, table: OptionValue) -> BadPractice:
    return BadPractice(
        Text("{field}: the deal to go on with has {deal}, not {table}.").format(
            field=field,
            deal="null" if deal is None else deal,
            table="null" if table is None else table,
        ),
        field=field,
    )

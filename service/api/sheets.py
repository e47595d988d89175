"""Rule sheets as answers: JSON, Markdown and a page, in which every clause has its anchor."""

from types import SimpleNamespace

from flask import Response

from service.api import pages
from service.rummy.rules import PRESETS
from service.rummy.sheet import Sheet, span
from service.text import Text
from service.views import ClauseView, RuleSheet, SentenceView, rule_sheet

OTHER_FORMS = pages.documented(pages.MARKDOWN, pages.HTML)
"""What a sheet is answered as besides JSON, for the contract."""

_TEMPLATES = {pages.MARKDOWN: "sheet.md", pages.HTML: "sheet.html"}

_WORDS = SimpleNamespace(
    of_variant=Text("The rules of {variant}"),
    of_table=Text("The rules of a table of {variant}"),
    players=Text("For {players} players."),
    source=Text("The text that this variant follows: {source}."),
    house_rules=Text("The house rules of this table"),
    no_house_rules=Text("This table plays the variant without house rules."),
    house_rule=Text("House rule."),
    otherwise=Text("Without it: {sentence}"),
    decided=Text("Decided"),
    about_decided=Text(
        "What is marked as decided is a ruling of this service, where the rule texts are silent or "
        "unclear."
    ),
)


def shown(sheet: Sheet) -> Response:
    """The sheet of a variant, which changes with the service alone."""
    return _shown(sheet, None, caching=pages.PUBLIC)


def shown_to_caller(sheet: Sheet, game_id: str) -> Response:
    """The sheet of a table, for those who may see it."""
    return _shown(sheet, game_id, caching="private, no-cache", vary=("Authorization",))


def clause_address(number: str) -> str:
    """Where a clause stands on a variant's sheet, from the root of the service."""
    part = number.partition(".")[0]
    variant = part if part in PRESETS else next(iter(PRESETS))
    return f"v1/variants/{variant}/rules#{number}"


def _shown(
    sheet: Sheet, game_id: str | None, *, caching: str, vary: tuple[str, ...] = ()
) -> Response:
    numbers = [clause.number for section in sheet.sections for clause in section.clauses]
    return pages.shown(
        lambda translate: rule_sheet(sheet, translate, game_id),
        _TEMPLATES,
        _WORDS,
        caching=caching,
        vary=vary,
        players=span(sheet.players),
        addresses={number: f"#{number}" for number in numbers},
        deviating=_deviating,
    )


def _deviating(sheet: RuleSheet) -> list[tuple[ClauseView, SentenceView]]:
    """The sentences of the house rules, each with its clause."""
    return [
        (clause, sentence)
        for section in sheet.sections
        for clause in section.clauses
        for sentence in clause.sentences
        if sentence.option is not None and sentence.option.deviates
    ]

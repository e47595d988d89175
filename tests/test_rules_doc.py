"""docs/rules.md and the code speak of the same clauses, options, values and defaults."""

import re
from pathlib import Path

import pytest

from service.rummy.rules import OPTIONS, PRESETS, Option, Preset, clause, defaults
from service.rummy.sheet import sheet_of_variant

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
CLAUSE = r"(?:common|jokers|straight|seven-card|parlett|call-rummy|table)\.\d+"
HOW_MANY = {
    "common": 15,
    "jokers": 4,
    "straight": 8,
    "seven-card": 6,
    "parlett": 6,
    "call-rummy": 7,
    "table": 8,
}


def written_clauses() -> list[str]:
    """The clauses of the page in their order: each begins a paragraph with its bold number."""
    return re.findall(rf"^\*\*({CLAUSE})\*\*", PAGE, flags=re.MULTILINE)


def clauses_in_code() -> set[str]:
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("service/**/*.py"))
    named = set(re.findall(rf'"({CLAUSE})"', sources))
    return named | {clause(preset, option) for preset in PRESETS for option in OPTIONS}


def test_every_clause_is_there_once_and_in_order():
    wanted = [f"{part}.{number + 1}" for part, many in HOW_MANY.items() for number in range(many)]
    assert written_clauses() == wanted


def test_every_clause_that_the_code_names_is_on_the_page():
    assert len(clauses_in_code()) > 30
    assert clauses_in_code() - set(written_clauses()) == set()


def test_the_rule_sheets_have_the_clauses_of_the_page():
    shared = [number for number in written_clauses() if number.partition(".")[0] not in PRESETS]
    for preset in PRESETS:
        sections = {section.id: section.clauses for section in sheet_of_variant(preset).sections}
        others = [clause.number for clause in sections.pop("other", ())]
        listed = [clause.number for clauses in sections.values() for clause in clauses]
        own = [number for number in written_clauses() if number.startswith(f"{preset}.")]
        assert sorted(listed) == sorted(shared + own)
        assert set(others) <= set(written_clauses()) - set(listed)


def test_every_clause_that_the_page_refers_to_is_on_it():
    assert set(re.findall(rf"\b{CLAUSE}\b", PAGE)) == set(written_clauses())


def test_the_table_has_every_variant_and_every_option_and_no_other():
    (head,) = re.findall(r"^\| option \|.*$", PAGE, flags=re.MULTILINE)
    assert cells(head) == ["option", "values", *PRESETS, "clauses"]
    assert re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE) == list(OPTIONS)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=list(OPTIONS))
def test_the_table_has_each_option_with_its_values_defaults_and_clauses(option: Option):
    (row,) = re.findall(rf"^\| `{option.name}` \|.*$", PAGE, flags=re.MULTILINE)
    named = dict.fromkeys(clause(preset, option.name) for preset in PRESETS)
    assert cells(row) == [
        f"`{option.name}`",
        values(option),
        *(default(preset, option) for preset in PRESETS.values()),
        ", ".join(named),
    ]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_readme_lists_each_variant_with_its_players_and_links_to_its_rules(preset: Preset):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    fewest, most = preset.players
    assert f"| [`{preset.id}`](docs/rules.md#{preset.id}) | {fewest}–{most} |" in readme
    assert f"\n## {preset.id}\n" in PAGE


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("| ").split(" | ")]


def values(option: Option) -> str:
    """The values as the page lists them, `null` last."""
    if option.kind == "switch":
        plain = "true, false"
    elif option.kind == "choice":
        plain = ", ".join(option.choices)
    else:
        plain = f"{option.low}–{option.high}"
    return plain + (", null" if option.nothing else "")


def default(preset: Preset, option: Option) -> str:
    """The default as the page has it: `7`, or `10 for 2, 7 for 3–4` where players matter."""
    fewest, most = preset.players
    groups: list[tuple[object, list[int]]] = []
    for players in range(fewest, most + 1):
        value = defaults(preset, players)[option.name]
        if groups and groups[-1][0] == value:
            groups[-1][1].append(players)
        else:
            groups.append((value, [players]))
    if len(groups) == 1:
        return text(groups[0][0])
    spans = [(text(value), played) for value, played in groups]
    return ", ".join(
        f"{value} for {played[0]}" + (f"–{played[-1]}" if len(played) > 1 else "")
        for value, played in spans
    )


def text(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)

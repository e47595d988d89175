"""Every clause of the rules is tested: its number stands in the mark of a test."""

import ast
from functools import cache
from pathlib import Path

import pytest

from service.rummy.rules import OPTIONS, PRESETS, clause

COUNTS = {
    "common": 15,
    "jokers": 4,
    "straight": 8,
    "seven-card": 6,
    "parlett": 6,
    "call-rummy": 7,
    "table": 7,
}
CLAUSES = {f"{group}.{n}" for group, count in COUNTS.items() for n in range(1, count + 1)}


@cache
def marked() -> dict[str, list[str]]:
    """The tests by the clauses that their marks name, whichever tests are run."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parents[1].rglob("test_*.py")):
        constants: dict[str, list[str]] = {}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Assign(targets=[ast.Name(name)], value=ast.Dict(values=values)):
                    constants[name] = [v.value for v in values if isinstance(v, ast.Constant)]
                case ast.FunctionDef(name=name) if name.startswith("test_"):
                    for number in _numbers(node, constants):
                        found.setdefault(number, []).append(f"{path.name}::{name}")
    return found


def _numbers(test: ast.FunctionDef, constants: dict[str, list[str]]) -> list[str]:
    numbers: list[str] = []
    for mark in test.decorator_list:
        match mark:
            case ast.Call(func=ast.Name("clause") | ast.Attribute(attr="clause"), args=args):
                for arg in args:
                    match arg:
                        case ast.Constant(value=str(number)):
                            numbers.append(number)
                        case ast.Starred(ast.Call(ast.Attribute(ast.Name(name)))):
                            numbers += constants[name]
    return numbers


@pytest.mark.parametrize("number", sorted(CLAUSES))
def test_every_clause_is_tested(number: str) -> None:
    assert marked().get(number), f"no test is marked with {number}"


def test_no_test_names_a_clause_that_is_not_there() -> None:
    assert set(marked()) <= CLAUSES


def test_every_option_names_a_clause_that_is_there() -> None:
    named = {clause(variant, option) for variant in PRESETS for option in (*OPTIONS, "players")}
    assert named <= CLAUSES

"""That every case has its test, and every test of a case its number."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CASES = {
    "test_melds": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16),
    "test_turns": (17, 19, 20, 22, 23, 25, 26),
    "test_going_out": (28, 29, 31, 32),
    "test_calls": (34, 35, 37, 38),
    "test_piles": (40, 41, 43),
    "test_dealing": (44, 46, 47, 49),
    "test_scoring": (50, 52),
    "test_swaps": (53, 55, 56, 58),
    "test_service": (59, 61, 62, 64, 65, 67, 68, 70, 71, 73, 74, 76, 77, 79, 80),
}
"""Where each of the cases is tested."""


def marked_in(module: str) -> Iterator[tuple[str, set[int]]]:
    """The tests of a file, each with the cases that it is marked with."""
    functions: list[tuple[str, Callable[..., None]]] = inspect.getmembers(
        importlib.import_module(f"tests.cases.{module}"), inspect.isfunction
    )
    for name, function in functions:
        if name.startswith("test_"):
            marks = getattr(function, "pytestmark", [])
            yield name, {mark.args[0] for mark in marks if mark.name == "case"}


def test_there_are_fifty_four_cases() -> None:
    numbers = [number for cases in CASES.values() for number in cases]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 54


def test_every_file_of_cases_is_listed() -> None:
    found = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert found == {*CASES, Path(__file__).stem}


@pytest.mark.parametrize("module", CASES)
def test_every_case_has_a_test_that_names_it(module: str) -> None:
    covered: set[int] = set()
    for name, numbers in marked_in(module):
        named = re.match(r"test_case_(\d+)_[a-z]", name)
        assert named, name
        assert int(named[1]) in numbers, name
        covered |= numbers
    assert covered == set(CASES[module])

"""The catalogues have every sentence of the service, and each translation the same values."""

import ast
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from marshmallow import validate

from service import errors
from service.api import schemas
from service.api.language import LANGUAGES, translator
from service.text import Text

SERVICE = Path(__file__).parent.parent / "service"
OTHERS = LANGUAGES[1:]
NAMES = re.compile(r"{(\w+)}")


@cache
def extracted() -> frozenset[str]:
    """The messages that `make translations` finds."""
    found = extract_from_dir(SERVICE, keywords={"Text": None})
    return frozenset(message for _, _, message, _, _ in found if isinstance(message, str))


@cache
def catalogue(language: str) -> Catalog:
    with place(language, "po").open("rb") as file:
        return read_po(file, locale=language, domain="rummy")


def place(language: str, ending: str) -> Path:
    return SERVICE / "locale" / language / "LC_MESSAGES" / f"rummy.{ending}"


def test_there_is_a_catalogue_for_each_language_and_no_other():
    assert {path.name for path in (SERVICE / "locale").iterdir()} == set(OTHERS)


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_has_a_translation_and_no_translation_is_left_over(language):
    """`make translations` brings the catalogues up to date; what is then empty is to be written."""
    messages = {message.id: message for message in catalogue(language) if message.id}
    assert extracted() - messages.keys() == set(), "not in the catalogue"
    assert messages.keys() - extracted() == set(), "nobody says that any more"
    assert {text for text, message in messages.items() if not message.string} == set()
    assert {text for text, message in messages.items() if message.fuzzy} == set()
    assert not catalogue(language).obsolete


@pytest.mark.parametrize("language", OTHERS)
def test_every_translation_has_the_same_values_and_ends_like_the_sentence(language):
    for message in catalogue(language):
        if message.id:
            said = message.string
            assert set(NAMES.findall(said)) == set(NAMES.findall(message.id)), message.id
            assert NAMES.sub("", said).count("{") == NAMES.sub("", said).count("}") == 0, said
            assert said.strip() == said, message.id
            assert (said[-1] in ".?") == (message.id[-1] in ".?"), message.id
            assert set(re.findall("`[^`]+`", said)) == set(re.findall("`[^`]+`", message.id)), said


@pytest.mark.parametrize("language", OTHERS)
def test_the_compiled_catalogue_is_the_written_one(language):
    compiled = io.BytesIO()
    write_mo(compiled, catalogue(language))
    assert place(language, "mo").read_bytes() == compiled.getvalue()
    translate = translator(language)
    for message in catalogue(language):
        if message.id:
            assert translate(message.id) == message.string


# ------------------------------------------------------------------------------ in the sources


def calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(SERVICE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(SERVICE)}:{node.lineno}", node


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def literals(node: ast.expr) -> list[str]:
    """The messages of a Text, or of both Texts of a choice."""
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    if isinstance(node, ast.Call) and name_of(node) == "Text":
        return [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    return []


def test_every_text_is_a_literal_so_that_it_can_be_found():
    for where, call in calls():
        if name_of(call) == "Text" and not where.startswith("text.py"):
            assert literals(call), where


def test_a_refusal_has_a_param_for_each_value_that_it_speaks_of():
    leaves = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    found = 0
    for where, call in calls():
        if name_of(call) in leaves and call.args:
            given = {keyword.arg for keyword in call.keywords}
            for message in literals(call.args[0]):
                found += 1
                assert set(NAMES.findall(message)) <= given, f"{where}: {message}"
    assert found > 60


def test_every_title_is_a_text():
    for kind in vars(errors).values():
        if isinstance(kind, type) and "code" in vars(kind):
            assert isinstance(kind.title, Text), kind


# marshmallow has more sentences than these, for cases that our fields decide themselves.
NEVER_SAID = {"validator_failed", "invalid_utf8", "too_large"}
DECIDES = (
    schemas.Flag,
    schemas.Number,
    schemas.QueryNumber,
    schemas.QueryFlag,
)
"""Fields that say themselves what is invalid."""


def fields_of(kind: type = schemas.RequestSchema) -> Iterator[tuple[str, object]]:
    for inner in kind.__subclasses__():
        for name, field in inner().fields.items():
            yield f"{inner.__name__}.{name}", field
            if isinstance(field, schemas.TupleOf):
                yield f"{inner.__name__}.{name}[]", field.inner
        yield from fields_of(inner)


def test_whatever_is_said_of_a_field_is_a_text():
    assert all(isinstance(told, Text) for told in schemas.RequestSchema.error_messages.values())
    kinds = set()
    for name, field in fields_of():
        kinds.add(type(field))
        silent = NEVER_SAID | ({"invalid"} if isinstance(field, DECIDES) else set())
        if isinstance(field, schemas.NestedField):
            silent = silent | {"type"}
        for key in field.error_messages.keys() - silent:
            assert isinstance(field.error_messages[key], Text), (name, key)
        for validator in field.validators:
            assert isinstance(validator, validate.Validator), name
            assert isinstance(validator.error, Text), name
    assert len(kinds) > 8

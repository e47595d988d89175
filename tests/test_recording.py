"""The examples of answers in the contract: one for each, and just what the service answers."""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from service.api.recorded import FILE
from service.embedded import EmbeddedStore
from tests.contract import PROBLEM, Contract, assert_explained, examples_of, operations_of
from tests.http.sse import SHAPES, STREAM, Reader
from tests.recording import recorded, written


def test_the_examples_are_what_the_service_answers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with EmbeddedStore(tmp_path_factory.mktemp("recording")) as store:
        told = written(recorded(store.url))
    if os.environ.get("RUMMY_REWRITE"):
        FILE.write_text(told, encoding="utf-8")
    assert told == FILE.read_text(encoding="utf-8"), "if this is meant: make openapi"


def answers(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str, dict[str, Any]]]:
    """Each answer that has a body: where, the response, its media type and the content."""
    for name, operation in operations_of(document).items():
        for status, response in operation["responses"].items():
            for kind, content in response.get("content", {}).items():
                yield f"{name} {status} {kind}", response, kind, content


def test_every_answer_has_an_example_and_every_refusal_one_for_each_code(
    document: dict[str, Any],
) -> None:
    for where, response, kind, content in answers(document):
        names = list(content.get("examples", ()))
        assert names, where
        if kind == PROBLEM:
            assert names == response["x-codes"], where


def test_no_example_is_left_over(document: dict[str, Any]) -> None:
    told = json.loads(FILE.read_bytes())
    named = {
        f"{operation}.{name}"
        for operation, by_status in told["answers"].items()
        for by_kind in by_status.values()
        for of_kind in by_kind.values()
        for name in of_kind
    }
    assert document["components"]["examples"].keys() == named | told["refusals"].keys()


def test_every_example_is_of_the_documented_form(document: dict[str, Any]) -> None:
    referee = Contract(document)
    for where, _, kind, content in answers(document):
        for name, value in examples_of(document, content).items():
            referee.check_value(f"{where} {name}", content["schema"], value)
            if kind == PROBLEM:
                assert value["code"] == name
                assert_explained(where, value)


def test_the_streams_are_made_of_documented_events(document: dict[str, Any]) -> None:
    referee = Contract(document)
    streams = [
        text
        for _, _, kind, content in answers(document)
        if kind == STREAM
        for text in examples_of(document, content).values()
    ]
    assert streams
    for text in streams:
        told = Reader().feed(text.encode())
        assert {news.kind for news in told} == {"game", "entry", "end"}
        for news in told:
            if news.kind in SHAPES:
                schema = {"$ref": f"#/components/schemas/{SHAPES[news.kind]}"}
                referee.check_value(news.kind, schema, news.data)


def test_each_shape_that_an_answer_can_have_has_an_example(document: dict[str, Any]) -> None:
    several = 0
    for where, _, _, content in answers(document):
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        if shapes := document["components"]["schemas"].get(name, {}).get("discriminator"):
            values = examples_of(document, content)
            shown = {value[shapes["propertyName"]] for value in values.values()}
            assert shown == set(shapes["mapping"]), where
            several += 1
    assert several == 8  # of seven moves, and of the list


def test_each_example_of_a_request_has_an_answer_of_the_same_name(
    document: dict[str, Any],
) -> None:
    for operation in operations_of(document).values():
        if "requestBody" in operation:
            sent = operation["requestBody"]["content"]["application/json"]["examples"]
            (success,) = operation["responses"].keys() & {"200", "201"}
            answered = operation["responses"][success]["content"]["application/json"]
            assert answered["examples"].keys() - {"checked"} == sent.keys()


def test_a_token_in_an_example_is_seen_to_be_none() -> None:
    tokens = re.findall(r"\b[a-z2-7]{16}\.([A-Za-z0-9_-]{43})\b", FILE.read_text(encoding="utf-8"))
    assert tokens
    assert all(token.startswith("example-token-") for token in tokens)

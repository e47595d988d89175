"""The links of the contract: each leads to an operation, and gives it values that answers have.

Whether whole games can be played by them is tested in test_schemathesis.py.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from service.api import contract
from service.api.links import WAYS
from service.app import create_app
from service.config import Config

DOCUMENT = contract(create_app(Config(redis_url="redis://localhost:1")))
OPERATIONS = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for operation in path.values()
}


class Link(NamedTuple):
    """A link, and the answer that it is of."""

    source: str
    status: str
    definition: dict[str, Any]

    @property
    def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = OPERATIONS[self.source]["responses"][self.status]
        return found

    @property
    def target(self) -> str:
        found: str = self.definition["operationId"]
        return found

    def __str__(self) -> str:
        return f"{self.source} {self.status} -> {self.target}"


LINKS = [
    Link(source, status, definition)
    for source, operation in OPERATIONS.items()
    for status, response in operation["responses"].items()
    for definition in response.get("links", {}).values()
]


def test_all_links_are_in_the_document() -> None:
    assert sum(len(targets) for *_, targets in WAYS) == len(LINKS)


def test_every_operation_on_a_thing_is_led_to() -> None:
    on_a_thing = {
        operation["operationId"]
        for path, operations in DOCUMENT["paths"].items()
        for operation in operations.values()
        if "{" in path
    }
    assert on_a_thing <= {link.target for link in LINKS}


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_link_gives_all_that_the_operation_needs(link: Link) -> None:
    parameters = {
        parameter["name"]: parameter for parameter in OPERATIONS[link.target]["parameters"]
    }
    given = dict(_name_and_place(name) for name in link.definition["parameters"])
    for name, place in given.items():
        assert place in (None, parameters[name]["in"]), name
    assert {name for name in parameters if parameters[name].get("required")} <= given.keys()


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_link_takes_what_an_answer_in_the_examples_has(link: Link) -> None:
    for expression in link.definition["parameters"].values():
        if expression.startswith("$request.path."):
            name = expression.removeprefix("$request.path.")
            parameters = OPERATIONS[link.source]["parameters"]
            assert any((one["in"], one["name"]) == ("path", name) for one in parameters)
        elif expression.startswith("$response.header."):
            assert link.answer["headers"][expression.removeprefix("$response.header.")]["required"]
        else:
            pointer = expression.removeprefix("$response.body#/").split("/")
            assert any(_leads_somewhere(pointer, body) for body in _examples(link.answer))


def _name_and_place(name: str) -> tuple[str, str | None]:
    place, _, bare = name.rpartition(".")
    return bare, place or None


def _examples(answer: dict[str, Any]) -> Iterator[Any]:
    for reference in answer["content"]["application/json"]["examples"].values():
        name = reference["$ref"].removeprefix("#/components/examples/")
        yield DOCUMENT["components"]["examples"][name]["value"]


def _leads_somewhere(pointer: list[str], body: Any) -> bool:
    """Whether the pointer finds something, or the null before it: a page or deal not there yet."""
    for part in pointer:
        if body is None:
            return True
        if isinstance(body, list):
            if int(part) >= len(body):
                return False
            body = body[int(part)]
        elif part not in body:
            return False
        else:
            body = body[part]
    return True

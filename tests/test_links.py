"""The links of the contract: each leads to an operation, and gives it values that answers have.

Whether whole games can be played by them is tested in test_schemathesis.py.
"""

from typing import Any, NamedTuple

import pytest

from service.api.links import links_from
from tests.contract import examples_of, operations_of

Operations = dict[str, dict[str, Any]]


class Link(NamedTuple):
    """A link, and the answer that it is of."""

    source: str
    status: str
    answer: dict[str, Any]
    definition: dict[str, Any]

    @property
    def target(self) -> str:
        found: str = self.definition["operationId"]
        return found

    def __str__(self) -> str:
        return f"{self.source} {self.status} -> {self.target}"


@pytest.fixture(scope="module")
def operations(document: dict[str, Any]) -> Operations:
    return operations_of(document)


@pytest.fixture(scope="module")
def links(operations: Operations) -> list[Link]:
    return [
        Link(source, status, response, definition)
        for source, operation in operations.items()
        for status, response in operation["responses"].items()
        for definition in response.get("links", {}).values()
    ]


def test_all_links_are_in_the_document(operations: Operations, links: list[Link]) -> None:
    known = [answer for source in operations for answer in links_from(source).values()]
    assert sum(map(len, known)) == len(links)
    assert len({str(link) for link in links}) == len(links)


def test_every_operation_on_a_thing_is_led_to(document: dict[str, Any], links: list[Link]) -> None:
    on_a_thing = {path: methods for path, methods in document["paths"].items() if "{" in path}
    assert operations_of({"paths": on_a_thing}).keys() <= {link.target for link in links}


def test_a_link_gives_all_that_the_operation_needs(
    operations: Operations, links: list[Link]
) -> None:
    for link in links:
        parameters = {
            parameter["name"]: parameter for parameter in operations[link.target]["parameters"]
        }
        given = dict(_name_and_place(name) for name in link.definition["parameters"])
        for name, place in given.items():
            assert place in (None, parameters[name]["in"]), (str(link), name)
        needed = {name for name in parameters if parameters[name].get("required")}
        assert needed <= given.keys(), str(link)


def test_a_link_takes_what_an_answer_in_the_examples_has(
    document: dict[str, Any], operations: Operations, links: list[Link]
) -> None:
    for link in links:
        in_path = {
            parameter["name"]
            for parameter in operations[link.source].get("parameters", ())
            if parameter["in"] == "path"
        }
        for expression in link.definition["parameters"].values():
            said = str(link), expression
            if expression.startswith("$request.path."):
                assert expression.removeprefix("$request.path.") in in_path, said
            elif expression.startswith("$response.header."):
                name = expression.removeprefix("$response.header.")
                assert link.answer["headers"][name]["required"], said
            else:
                pointer = expression.removeprefix("$response.body#/").split("/")
                bodies = examples_of(document, link.answer["content"]["application/json"])
                assert any(_leads_somewhere(pointer, body) for body in bodies.values()), said


def _name_and_place(name: str) -> tuple[str, str | None]:
    place, _, bare = name.rpartition(".")
    return bare, place or None


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

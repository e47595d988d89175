"""The contract as a referee: every answer that a test receives is checked against it.

    client = CheckedClient(app.test_client(), Contract(contract(app)))
    client.post("/v1/games", json={...})     # AssertionError if the answer is not as documented

A refusal has to be one that the catalogue explains, too, with its clause and values.
Works for Flask's test client and for a `requests.Session` alike. Stricter than the document in two
things: an answer may hold no field that the document does not name, and of values of which it says
that more may come only those that it names.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from service.catalogue import CATALOGUE

PROBLEM = "application/problem+json"
PAGES = re.compile(r"/|/docs(/.*)?|/openapi\.json|/replay\.schema\.json")
"""What the service answers besides the operations of the contract."""

SOMETIMES_WITHOUT_A_CLAUSE = {
    "options_refused": "an option that does not exist has no clause",
    "bad_replay": "only a move is against a clause, and it may not be a move that fails",
    "options_do_not_fit": "an order of practice cards is against no clause",
}
"""Codes that cite a clause as a rule."""

_DOCUMENT = "urn:contract"
_LANGUAGE = {"Content-Language": {"$ref": "#/components/headers/ContentLanguage"}}
_NOWHERE = {
    status: {
        "headers": _LANGUAGE,
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in ("404", "400")
}
_ALLOW = {"Allow": {"required": True, "schema": {"type": "string"}}}
_OPTIONS = {"200": {"headers": _ALLOW}}
_WRONG_METHOD = {
    "405": {
        "headers": _ALLOW | _LANGUAGE,
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


class Contract:
    """An OpenAPI document that can judge answers."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        closed = _closed(document)
        resource = Resource(contents=closed, specification=DRAFT202012)
        self._answers = Registry().with_resource(_DOCUMENT, resource)
        resource = Resource(contents=document, specification=DRAFT202012)
        self._requests = Registry().with_resource(_DOCUMENT, resource)
        self._paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in document["paths"]
        ]

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        """The operation that answers there, or None."""
        methods = self.document["paths"].get(self._template(path), {})
        found: dict[str, Any] | None = methods.get(method.lower())
        return found

    def check(self, method: str, url: str, response: Any, body: Any = None) -> None:
        """Raise AssertionError unless the answer is one that the contract allows.

        `body` is what was sent; an accepted request has to be a documented one.
        """
        parts = urlsplit(url)
        responses = self._responses(method, parts.path)
        if responses is None:
            return
        where = f"{method.upper()} {url} -> {response.status_code}"
        documented = responses.get(str(response.status_code))
        assert documented is not None, f"{where}: no such status there: {_content(response)!r}"
        self._check_headers(where, documented, response)
        self._check_body(where, documented, response, bodiless=method.upper() == "HEAD")
        operation = self.operation(method, parts.path)
        if operation is not None and 200 <= response.status_code < 300:
            self._check_request(where, operation, parts.query, body)

    def check_value(self, where: str, schema: dict[str, Any], value: Any) -> None:
        """Raise AssertionError unless an answer of that schema may have this value."""
        self._validate(where, schema, value, self._answers)

    def _template(self, path: str) -> str:
        exact = [template for pattern, template in self._paths if pattern.fullmatch(path)]
        return min(exact, key=lambda template: template.count("{"), default="")

    def _responses(self, method: str, path: str) -> dict[str, Any] | None:
        """The answers allowed there; None where anything is, because it is a page."""
        if PAGES.fullmatch(path):
            return None
        if not self._template(path):
            return _NOWHERE
        if method.upper() == "OPTIONS":
            return _OPTIONS
        operation = self.operation("get" if method.upper() == "HEAD" else method, path)
        responses: dict[str, Any] = operation["responses"] if operation else _WRONG_METHOD
        return responses

    def _check_headers(self, where: str, documented: dict[str, Any], response: Any) -> None:
        for name, written in documented.get("headers", {}).items():
            header = self._header(written)
            value = response.headers.get(name)
            if value is None:
                assert not header.get("required"), f"{where}: the header {name} is missing"
                continue
            sent = int(value) if header["schema"].get("type") == "integer" else value
            self._validate(f"{where}: header {name}", header["schema"], sent, self._answers)

    def _header(self, written: dict[str, Any]) -> dict[str, Any]:
        """The header as it is written there, or where the reference points to."""
        if "$ref" not in written:
            return written
        name = written["$ref"].removeprefix("#/components/headers/")
        found: dict[str, Any] = self.document["components"]["headers"][name]
        return found

    def _check_body(
        self, where: str, documented: dict[str, Any], response: Any, *, bodiless: bool
    ) -> None:
        content = documented.get("content")
        if content is None:
            assert not _content(response), f"{where}: a body, and none is documented"
            return
        mimetype = response.headers.get("Content-Type", "").partition(";")[0].strip()
        assert mimetype in content, f"{where}: {mimetype!r} is not a documented content type"
        if not bodiless:
            text = _content(response).decode()
            answer = json.loads(text) if mimetype.endswith("json") else text
            self._validate(where, content[mimetype]["schema"], answer, self._answers)
            if mimetype == PROBLEM:
                assert answer["status"] == response.status_code, f"{where}: says another status"
                codes = documented.get("x-codes", [answer["code"]])
                assert answer["code"] in codes, f"{where}: {answer['code']} is not among {codes}"
                assert_explained(where, answer)

    def _check_request(self, where: str, operation: dict[str, Any], query: str, body: Any) -> None:
        names = {
            parameter["name"]
            for parameter in operation.get("parameters", ())
            if parameter["in"] == "query"
        }
        for name, _ in parse_qsl(query, keep_blank_values=True):
            assert name in names, f"{where}: accepted the undocumented parameter {name!r}"
        if body is not None:
            documented = operation.get("requestBody")
            assert documented, f"{where}: accepted a body, and none is documented"
            schema = documented["content"]["application/json"]["schema"]
            self._validate(f"{where}: accepted a body", schema, body, self._requests)

    def _validate(
        self, where: str, schema: dict[str, Any], value: Any, registry: Registry[Any]
    ) -> None:
        validator = Draft202012Validator(
            {"$id": _DOCUMENT + ":here", **_absolute(schema)},
            registry=registry,
            format_checker=FormatChecker(),
        )
        found = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        assert not found, f"{where}: not as documented: {'; '.join(found)[:2000]}"


def operations_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The operations of a contract by their ids."""
    return {
        operation["operationId"]: operation
        for path in document["paths"].values()
        for operation in path.values()
    }


def examples_of(document: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """The values of the examples of an answer, by name."""
    examples = document["components"]["examples"]
    return {
        name: examples[reference["$ref"].removeprefix("#/components/examples/")]["value"]
        for name, reference in content["examples"].items()
    }


def assert_explained(where: str, problem: dict[str, Any]) -> None:
    """The catalogue has the code of this refusal, its clause and all its values."""
    entry = CATALOGUE[problem["code"]]
    rule = problem.get("rule")
    without = rule is None and (not entry.rules or entry.code in SOMETIMES_WITHOUT_A_CLAUSE)
    assert without or rule in entry.rules, f"{where}: {entry.code} does not know {rule}"
    unknown = problem.get("params", {}).keys() - entry.params
    assert not unknown, f"{where}: {entry.code} does not know the params {unknown}"


class CheckedClient:
    """A client whose every answer has to be one that the contract allows.

    `client` is Flask's test client, or a `requests.Session` together with the `base` of its URLs.
    """

    def __init__(self, client: Any, contract: Contract | dict[str, Any], base: str = "") -> None:
        self.client = client
        self.contract = contract if isinstance(contract, Contract) else Contract(contract)
        self.base = base

    def get(self, path: str, **kwargs: Any) -> Any:
        return self.request("GET", path, **kwargs)

    def post(self, path: str, **kwargs: Any) -> Any:
        return self.request("POST", path, **kwargs)

    def request(self, method: str, path: str, **kwargs: Any) -> Any:
        """The answer, checked; keyword arguments as the client underneath takes them."""
        ask = self.client.request if self.base else self._open
        response = ask(method, self.base + path, **kwargs)
        sent = kwargs.get("json")
        if sent is not None:
            sent = json.loads(json.dumps(sent))
        self.contract.check(method, _asked(response, path), response, sent)
        return response

    def _open(self, method: str, path: str, **kwargs: Any) -> Any:
        return self.client.open(path, method=method, **kwargs)


def _asked(response: Any, path: str) -> str:
    """Path and query as they were sent: parameters may have been given apart from the path."""
    if hasattr(response, "request") and hasattr(response.request, "query_string"):
        query = response.request.query_string.decode()
        return path.partition("?")[0] + (f"?{query}" if query else "")
    url = urlsplit(response.request.url)
    return path.partition("?")[0] + (f"?{url.query}" if url.query else "")


def _content(response: Any) -> bytes:
    content: bytes = response.data if hasattr(response, "data") else response.content
    return content


def _absolute(schema: Any) -> Any:
    """The schema with its references into the document, wherever it is used."""
    if isinstance(schema, dict):
        return {
            name: _DOCUMENT + value if name == "$ref" else _absolute(value)
            for name, value in schema.items()
        }
    return [_absolute(item) for item in schema] if isinstance(schema, list) else schema


def _closed(node: Any) -> Any:
    """The document with objects limited to documented fields, and values to those it names."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {name: _closed(value) for name, value in node.items()}
    if node.get("type") == "object" and "properties" in node:
        closed.setdefault("additionalProperties", False)
    if "x-extensible-enum" in node:
        closed["enum"] = node["x-extensible-enum"]
    return closed

"""What a contract breaks of what an earlier one promised (docs/compatibility.md).

    breaks(released, now)    # () if every client of `released` gets on with `now`

What has a name stays: operations, parameters, fields, values, codes, headers. Requests may only be
taken more freely, answers only be held to more; fields, variants of a union that is told apart, and
values of an `x-extensible-enum` may come into answers, since clients have to expect that.

Where it cannot be seen that nothing breaks (another pattern, a keyword that is not known here) it
counts as broken: better a step of the version too many than a client that fails.
"""

import json
import re
from collections.abc import Iterator
from math import inf
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

Node = Any
"""A part of a JSON document."""

NOTES = {
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "title",
}
"""Keywords of a schema that limit no value."""

TYPES = ("null", "boolean", "number", "string", "array", "object")
KINDS = {
    type(None): ("null",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
}
"""The types of JSON that a value of a type of Python is of."""

UNION = "a union told apart by a field"
EXACT = ("pattern", "format")
"""Keywords of which only the same is known to be no narrower."""

OF_TYPE = {
    "string": ("pattern", "format", "minLength", "maxLength"),
    "number": ("format", "minimum", "maximum"),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}
"""The keywords that limit values of one type only."""

OF_ONE_TYPE = {keyword for keywords in OF_TYPE.values() for keyword in keywords}

LEAST_AND_MOST = (
    ("minimum", "maximum", -inf, ""),
    ("minLength", "maxLength", 0, " characters"),
    ("minItems", "maxItems", 0, " items"),
)
"""Keywords of a least and a greatest number, the least one if none is said, and of what."""

KNOWN = {
    *NOTES,
    *OF_ONE_TYPE,
    *("type", "enum", "const", "default", "x-extensible-enum"),
}


class Break(NamedTuple):
    """One thing that the later contract breaks: where, what, and why that breaks whom."""

    where: str
    what: str
    whom: str

    @property
    def name(self) -> str:
        """The operation, or the schema's field, by which a changelog names it."""
        return self.where.partition(",")[0]

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.whom}."


class Variant(NamedTuple):
    """One kind of value that a schema allows: a single type, with its limits."""

    type: str
    schema: dict[str, Node]
    reference: Node
    """The schema as it is written, with its name if it has one."""


def breaks(released: dict[str, Node], now: dict[str, Node]) -> tuple[Break, ...]:
    """All that breaks between two OpenAPI documents, each thing once."""
    return tuple(dict.fromkeys(_Comparison(released, now).of_contracts()))


def breaks_of_files(released: dict[str, Node], now: dict[str, Node]) -> tuple[Break, ...]:
    """All that breaks between two JSON schemas of files, which clients read and give back."""
    comparison = _Comparison(released, now)
    found = (
        comparison.of_schemas("the file", released, now, asked=asked) for asked in (True, False)
    )
    return tuple(dict.fromkeys(item for items in found for item in items))


def unannounced(
    found: tuple[Break, ...], released: str, version: str, changelog: str
) -> list[Break]:
    """The breaks that a version after the released one may not have.

    It has to be a step of the major version, or before 1.0 of the minor one; and `changelog` has to
    name each of them, in backticks, under a heading "Breaking" above the released version.
    """
    before, after = (tuple(map(int, number.split("."))) for number in (released, version))
    part = 1 if before[0] else 2
    if after[:part] <= before[:part]:
        return list(found)
    since = changelog.partition(f"\n## [{released}]")[0]
    sections = re.findall(r"^### Breaking\n(.*?)(?=^##|\Z)", since, re.MULTILINE | re.DOTALL)
    return [item for item in found if not any(f"`{item.name}`" in said for said in sections)]


class _Comparison:
    """An earlier document and a later one. `asked`: of requests; else of answers."""

    def __init__(self, old: dict[str, Node], new: dict[str, Node]) -> None:
        self.old = old
        self.new = new
        self._found: dict[tuple[object, ...], tuple[Break, ...]] = {}

    # ------------------------------------------------------------------------- operations

    def of_contracts(self) -> Iterator[Break]:
        old, new = dict(_operations(self.old)), dict(_operations(self.new))
        elsewhere = {operation["operationId"]: place for place, operation in new.items()}
        for place, operation in old.items():
            name = operation["operationId"]
            if place in new:
                yield from self._of_operations(name, operation, new[place])
                continue
            moved = f", but at {elsewhere[name]}" if name in elsewhere else ""
            yield Break(name, f"it is not at {place} any more{moved}", "its callers find nothing")
        yield from self._of_components()

    def _of_components(self) -> Iterator[Break]:
        old, new = self.old.get("components", {}), self.new.get("components", {})
        for name in sorted(old.get("schemas", {}).keys() - new.get("schemas", {}).keys()):
            yield Break(name, "no schema has this name", "code of generated clients names it")
        schemes = new.get("securitySchemes", {})
        for name, scheme in old.get("securitySchemes", {}).items():
            if _limits(scheme) != _limits(schemes.get(name, {})):
                yield Break(name, "callers identify themselves otherwise", "the others are refused")
        servers = [server["url"] for server in self.new.get("servers", ())]
        for server in self.old.get("servers", ()):
            if server["url"] not in servers:
                yield Break(
                    "servers", f"{server['url']} is gone", "clients that use it find nothing"
                )

    def _of_operations(self, name: str, old: Node, new: Node) -> Iterator[Break]:
        if new["operationId"] != name:
            what = f"its operationId is {new['operationId']} now"
            yield Break(name, what, "generated clients name their functions by it")
        yield from self._of_security(name, old, new)
        yield from self._of_parameters(name, old, new)
        yield from self._of_bodies(name, old.get("requestBody"), new.get("requestBody"))
        yield from self._of_answers(name, old["responses"], new["responses"])

    def _of_security(self, name: str, old: Node, new: Node) -> Iterator[Break]:
        enough = new.get("security", self.new.get("security")) or [{}]
        for way in old.get("security", self.old.get("security")) or [{}]:
            if not any(_is_part(other, way) for other in enough):
                said = " and ".join(way) or "no token"
                yield Break(name, f"{said} is not enough any more", "who comes so is refused")

    def _of_parameters(self, name: str, old: Node, new: Node) -> Iterator[Break]:
        before, after = self._parameters(self.old, old), self._parameters(self.new, new)
        for place, parameter in before.items():
            where = f"{name}, {parameter['in']} parameter {parameter['name']}"
            if place not in after:
                yield Break(where, "it is gone", "clients that send it are refused or not heard")
                continue
            later = after[place]
            if later.get("required") and not parameter.get("required"):
                yield Break(where, "it is required now", "clients that leave it out are refused")
            form = ("style", "explode", "allowReserved", "content")
            if [parameter.get(part) for part in form] != [later.get(part) for part in form]:
                yield Break(where, "it is written otherwise", "what clients send is misunderstood")
            earlier = parameter.get("schema", {})
            yield from self.of_schemas(where, earlier, later.get("schema", {}), asked=True)
        for place in sorted(after.keys() - before.keys()):
            if after[place].get("required"):
                where = f"{name}, {after[place]['in']} parameter {after[place]['name']}"
                yield Break(where, "it is new and required", "clients do not know it")

    def _of_bodies(self, name: str, old: Node, new: Node) -> Iterator[Break]:
        where = f"{name}, body"
        new = self._followed(self.new, new or {})
        if old is None:
            if new.get("required"):
                yield Break(where, "there has to be one now", "clients that send none are refused")
            return
        old = self._followed(self.old, old)
        if not new:
            yield Break(where, "none is taken any more", "what clients send is not heard")
            return
        if new.get("required") and not old.get("required"):
            yield Break(where, "it is required now", "clients that send none are refused")
        for kind, content in old["content"].items():
            if kind not in new["content"]:
                yield Break(
                    where, f"{kind} is not taken any more", "clients that send it are refused"
                )
                continue
            schemas = content.get("schema", {}), new["content"][kind].get("schema", {})
            yield from self.of_schemas(where, *schemas, asked=True)

    # ------------------------------------------------------------------------- answers

    def _of_answers(self, name: str, old: Node, new: Node) -> Iterator[Break]:
        for status, response in old.items():
            where = f"{name}, answer {status}"
            earlier = self._followed(self.old, response)
            if status in new:
                later = self._followed(self.new, new[status])
                yield from self._of_headers(where, earlier, later)
                yield from self._of_contents(where, earlier, later)
            elif status[0] < "4":
                yield Break(where, "it does not come any more", "clients that count on it fail")
        for status in sorted(new.keys() - old.keys()):
            # 304 comes to those only who ask for it, and unknown refusals are read by their class.
            if status[0] < "4" and status != "304":
                what = "a success with a status that never came"
                yield Break(f"{name}, answer {status}", what, "clients do not take it for one")
        yield from self._of_codes(name, _codes(old), _codes(new))

    def _of_codes(
        self, name: str, old: dict[str, set[str]], new: dict[str, set[str]]
    ) -> Iterator[Break]:
        for code, statuses in old.items():
            if code not in new:
                what = f"the code {code} is not among its refusals any more"
                yield Break(name, what, "clients that act on it do not recognise the case")
            elif not statuses <= new[code]:
                what = f"the code {code} comes with {_listed(new[code])}, not {_listed(statuses)}"
                yield Break(name, what, "clients that go by the status take it for something else")

    def _of_headers(self, where: str, old: Node, new: Node) -> Iterator[Break]:
        after = {name.lower(): header for name, header in new.get("headers", {}).items()}
        for name, header in old.get("headers", {}).items():
            place = f"{where}, header {name}"
            if name.lower() not in after:
                yield Break(place, "it is gone", "clients that read it find nothing")
                continue
            earlier = self._followed(self.old, header)
            later = self._followed(self.new, after[name.lower()])
            if earlier.get("required") and not later.get("required"):
                yield Break(place, "it may be missing", "clients count on it")
            schemas = earlier.get("schema", {}), later.get("schema", {})
            yield from self.of_schemas(place, *schemas, asked=False)

    def _of_contents(self, where: str, old: Node, new: Node) -> Iterator[Break]:
        after = new.get("content", {})
        for kind, content in old.get("content", {}).items():
            if kind not in after:
                yield Break(where, f"{kind} is gone", "clients that ask for it do not get it")
                continue
            schemas = content.get("schema", {}), after[kind].get("schema", {})
            yield from self.of_schemas(where, *schemas, asked=False)
        if after and not old.get("content"):
            yield Break(where, "it has content now", "clients that read none stumble over it")

    # ------------------------------------------------------------------------- schemas

    def of_schemas(self, where: str, old: Node, new: Node, *, asked: bool) -> tuple[Break, ...]:
        """What breaks where a value was described by `old` and is by `new`."""
        names = _name(old), _name(new)
        if not all(names):
            return tuple(self._of_schemas(where, old, new, asked))
        key = (old["$ref"], new["$ref"], asked)
        if key not in self._found:
            self._found[key] = ()  # what refers to itself is as good as the rest of it
            self._found[key] = tuple(self._of_schemas(names[0], old, new, asked))
        return self._found[key]

    def _of_schemas(self, where: str, old: Node, new: Node, asked: bool) -> Iterator[Break]:
        earlier, later = _whole(self.old, old), _whole(self.new, new)
        if "default" in earlier and _written(earlier["default"]) != _written(later.get("default")):
            said = f"{_written(earlier['default'])} to {_written(later.get('default'))}"
            whom = "who leaves it out" if asked else "who finds it left out"
            yield Break(where, f"left out, it went from meaning {said}", f"{whom} means the former")
        if not _limits(later if asked else earlier):
            return  # anything goes
        before = list(_variants(self.old, old))
        apart = any(variant.type == UNION for variant in before)
        after = list(_variants(self.new, new, apart=apart))
        for narrow in before if asked else after:
            wide = [
                other
                for other in (after if asked else before)
                if other.type == narrow.type or (narrow.type, other.type) == ("integer", "number")
            ]
            if wide:
                pairs = ((narrow, other) if asked else (other, narrow) for other in wide)
                tries = (tuple(self._of_variants(where, *pair, asked)) for pair in pairs)
                yield from min(tries, key=len)
            elif asked:
                yield Break(
                    where, f"{narrow.type} is not taken any more", "who sends it is refused"
                )
            else:
                yield Break(where, f"it may be {narrow.type} now", "clients do not expect that")

    def _of_variants(self, where: str, old: Variant, new: Variant, asked: bool) -> Iterator[Break]:
        if _name(old.reference) and _name(new.reference) and old.type == "object":
            key = (old.reference["$ref"], new.reference["$ref"], asked, "object")
            if key not in self._found:
                self._found[key] = ()
                self._found[key] = tuple(self._of_objects(_name(old.reference), old, new, asked))
            yield from self._found[key]
        elif old.type == UNION:
            yield from self._of_unions(where, old.schema, new.schema, asked)
        elif old.type == "object":
            yield from self._of_objects(where, old, new, asked)
        else:
            yield from _of_values(where, old.schema, new.schema, asked)
            yield from _of_limits(where, old.schema, new.schema, asked)
            if old.type == "array":
                items = old.schema.get("items", {}), new.schema.get("items", {})
                yield from self.of_schemas(f"{where}[]", *items, asked=asked)

    def _of_unions(self, where: str, old: Node, new: Node, asked: bool) -> Iterator[Break]:
        """Unions whose variants are told apart; new ones may come into answers too."""
        told, tells = old["discriminator"], new["discriminator"]
        if told["propertyName"] != tells["propertyName"]:
            what = f"told apart by {tells['propertyName']}, not by {told['propertyName']}"
            yield Break(where, what, "clients look at the field of before")
        for value, reference in told["mapping"].items():
            if value in tells["mapping"]:
                schemas = {"$ref": reference}, {"$ref": tells["mapping"][value]}
                yield from self.of_schemas(where, *schemas, asked=asked)
            elif asked:
                yield Break(where, f"{value} is not taken any more", "who sends it is refused")
            else:
                yield Break(
                    where, f"{value} does not come any more", "who waits for it waits for ever"
                )

    def _of_objects(self, where: str, old: Variant, new: Variant, asked: bool) -> Iterator[Break]:
        yield from _of_values(where, old.schema, new.schema, asked)
        yield from _of_limits(where, old.schema, new.schema, asked)
        before, after = old.schema.get("properties", {}), new.schema.get("properties", {})
        for name, schema in before.items():
            place = f"{where}.{name}"
            if name in after:
                yield from self.of_schemas(place, schema, after[name], asked=asked)
            elif asked:
                yield Break(place, "the field is gone", "clients that send it are refused")
            else:
                yield Break(place, "the field is gone", "clients that read it find nothing")
        needed, given = (set(side.schema.get("required", ())) for side in (old, new))
        for name in sorted(given - needed if asked else needed - given):
            if asked:
                yield Break(f"{where}.{name}", "it is required now", "who leaves it out is refused")
            elif name in after or name not in before:
                yield Break(f"{where}.{name}", "it may be missing", "clients count on it")
        others = tuple(side.schema.get("additionalProperties", True) for side in (old, new))
        for name in sorted(after.keys() - before.keys()):
            # Answers may have more fields, but not among those that are all of one kind.
            if others[0] is not False and (asked or others[0] is not True):
                yield from self.of_schemas(f"{where}.{name}", others[0], after[name], asked=asked)
            elif not asked and others[0] is False:
                yield Break(f"{where}.{name}", "the field is new", "no other field was to come")
        yield from self._of_others(where, *others, asked)

    def _of_others(self, where: str, old: Node, new: Node, asked: bool) -> Iterator[Break]:
        """Fields that have no names of their own."""
        narrow, wide = (old, new) if asked else (new, old)
        if narrow is False or wide is True:
            return
        if wide is False:
            what = "no other fields are taken" if asked else "other fields may come"
            whom = "who sends them is refused" if asked else "clients do not expect them"
            yield Break(where, what, whom)
        elif asked or narrow is not True:
            yield from self.of_schemas(f"{where}.*", old, new, asked=asked)
        else:
            yield Break(f"{where}.*", "it may be anything now", "clients do not expect that")

    def _parameters(self, document: Node, operation: Node) -> dict[tuple[str, str], Node]:
        found = (self._followed(document, item) for item in operation.get("parameters", ()))
        return {
            (item["in"], item["name"].lower() if item["in"] == "header" else item["name"]): item
            for item in found
        }

    def _followed(self, document: Node, node: Node) -> Node:
        return _at(document, node["$ref"]) if "$ref" in node else node


def _of_values(where: str, old: Node, new: Node, asked: bool) -> Iterator[Break]:
    """What breaks between values that are listed."""
    before, after = _values(old), _values(new)
    narrow, wide = (before, after) if asked else (after, before)
    if narrow is not None:
        limits = _limits(new if asked else old)
        for value in narrow:
            if not _is_valid(value, limits):
                what = "is not taken any more" if asked else "may come now"
                whom = "who sends it is refused" if asked else "clients do not know it"
                yield Break(where, f"{_written(value)} {what}", whom)
    elif wide is not None:
        said = _listed(map(_written, wide))
        what = f"only {said} is taken now" if asked else f"not only {said} may come now"
        whom = "who sends another value is refused" if asked else "clients know no others"
        yield Break(where, what, whom)
    if not asked:
        yield from _of_names(where, old, new)


def _is_valid(value: Node, limits: dict[str, Node]) -> bool:
    if limits.keys() == {"type", "enum"}:
        return value in limits["enum"]
    return Draft202012Validator(limits).is_valid(value)


def _of_names(where: str, old: Node, new: Node) -> Iterator[Break]:
    """The values that were named of an answer, and do not come any more."""
    before, after = (
        values if (values := _values(side)) is not None else side.get("x-extensible-enum")
        for side in (old, new)
    )
    if before is not None and (after is not None or "x-extensible-enum" in old):
        for value in before:
            if _written(value) not in map(_written, after or ()):
                what = f"{_written(value)} does not come any more"
                yield Break(where, what, "who waits for it waits for ever")


def _of_limits(where: str, old: Node, new: Node, asked: bool) -> Iterator[Break]:
    """What breaks between numbers, lengths, patterns and formats."""
    narrow, wide = (old, new) if asked else (new, old)
    if _values(narrow) is not None:
        return  # each of them has been held against all of this
    whom = "who goes beyond is refused" if asked else "clients count on the limit"
    for limit in _narrower(narrow, wide):
        yield Break(where, f"{limit} now" if asked else f"not {limit} any more", whom)
    for keyword in EXACT:
        if keyword in wide and narrow.get(keyword) != wide[keyword]:
            what = f"its {keyword} is {wide[keyword]} now"
            if not asked:
                what = f"its {keyword} is not {wide[keyword]} any more"
            yield Break(where, what, whom)
    unknown = {keyword for keyword in {*old, *new} - KNOWN if not keyword.startswith("x-")}
    for keyword in sorted(unknown):
        # What the same reference leads to may be another, too.
        if old.get(keyword) != new.get(keyword) or '"$ref"' in _written(new.get(keyword)):
            what = f"{keyword} may be another"
            yield Break(where, what, "whether that breaks anybody is not known here")


# ----------------------------------------------------------------------------------- schemas


def _variants(document: Node, schema: Node, *, apart: bool = True) -> Iterator[Variant]:
    """The kinds of values that a schema allows, each with its limits.

    `apart`: a union whose variants are told apart is one of them, as a whole.
    """
    whole = _whole(document, schema)
    if apart and whole.get("discriminator", {}).get("mapping"):
        yield Variant(UNION, whole, schema)
        return
    for several in ("anyOf", "oneOf"):
        if several in whole:
            kinds = _types(whole)
            rest = _limits({name: whole[name] for name in whole if name not in {several, "type"}})
            for item in whole[several]:
                for variant in _variants(document, item, apart=apart):
                    kind = _common(variant.type, kinds)
                    if kind is not None:
                        limits = _merged(_of_type(rest, kind), {**variant.schema, "type": kind})
                        yield Variant(kind, limits, variant.reference)
            return
    values = _values(whole)
    for kind in _types(whole):
        limits = {**_of_type(whole, kind), "type": kind}
        if values is not None:
            limits.pop("const", None)
            limits["enum"] = [value for value in values if _is_of(value, kind)]
        if limits.get("enum") != []:
            yield Variant(kind, limits, schema)


def _common(kind: str, kinds: list[str]) -> str | None:
    """The type of what is of that kind, and of one of these."""
    if kind in {*kinds, UNION} or (kind == "integer" and "number" in kinds):
        return kind
    return "integer" if kind == "number" and "integer" in kinds else None


def _of_type(schema: Node, kind: str) -> dict[str, Node]:
    """The schema without what limits other types only."""
    own = OF_TYPE.get("number" if kind == "integer" else kind, ())
    return {name: schema[name] for name in schema if name in own or name not in OF_ONE_TYPE}


def _types(schema: Node) -> list[str]:
    kinds = schema.get("type", list(TYPES))
    return [kinds] if isinstance(kinds, str) else kinds


def _is_of(value: Node, kind: str) -> bool:
    whole = isinstance(value, float) and value.is_integer()
    return kind in (*KINDS[type(value)], *(("integer",) if whole else ()))


def _values(schema: Node) -> list[Node] | None:
    """The only values that it allows, if they are listed."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _whole(document: Node, schema: Node) -> dict[str, Node]:
    """The schema and what it refers to, in one."""
    if isinstance(schema, bool):
        return {} if schema else {"enum": []}
    whole = {name: value for name, value in schema.items() if name != "$ref"}
    if "$ref" in schema:
        whole = _merged(_whole(document, _at(document, schema["$ref"])), whole)
    return whole


def _merged(under: dict[str, Node], over: dict[str, Node]) -> dict[str, Node]:
    """Both schemas in one: a value has to be of both. What is limited twice stays in an allOf."""
    merged = under | over
    for name in under.keys() & over.keys() - NOTES - {"default"}:
        if name == "properties" and _agree(under[name], over[name]):
            merged[name] = under[name] | over[name]
        elif name == "required":
            merged[name] = sorted({*under[name], *over[name]})
        elif under[name] != over[name]:
            merged["allOf"] = [*merged.get("allOf", ()), {name: under[name]}]
    return merged


def _agree(some: dict[str, Node], others: dict[str, Node]) -> bool:
    return all(some[name] == others[name] for name in some.keys() & others.keys())


def _limits(schema: Node) -> dict[str, Node]:
    """The schema without what only explains."""
    return {
        name: value
        for name, value in schema.items()
        if name not in NOTES | {"default"} and not name.startswith("x-")
    }


def _narrower(narrow: Node, wide: Node) -> Iterator[str]:
    """The limits of `wide` that are not within those of `narrow`, in words."""
    for low, high, least, unit in LEAST_AND_MOST:
        if wide.get(low, least) > narrow.get(low, least):
            yield f"at least {wide[low]}{unit}"
        if wide.get(high, inf) < narrow.get(high, inf):
            yield f"at most {wide[high]}{unit}"


def _name(schema: Node) -> str:
    """The name of a schema that is referred to, if what is written beside only explains."""
    if (
        isinstance(schema, bool)
        or "$ref" not in schema
        or set(schema) - {"$ref", "default"} - NOTES
    ):
        return ""
    name: str = schema["$ref"].rpartition("/")[2]
    return name


def _at(document: Node, reference: str) -> Node:
    """What a reference into the document points to."""
    node = document
    for part in reference.removeprefix("#/").split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return node


# --------------------------------------------------------------------------------- contracts


def _operations(document: Node) -> Iterator[tuple[str, Node]]:
    """Each operation with its method and path."""
    for path, methods in document.get("paths", {}).items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _codes(responses: Node) -> dict[str, set[str]]:
    """The statuses of each code."""
    codes: dict[str, set[str]] = {}
    for status, response in responses.items():
        for code in response.get("x-codes", ()):
            codes.setdefault(code, set()).add(status)
    return codes


def _is_part(needed: dict[str, list[str]], given: dict[str, list[str]]) -> bool:
    """Whether who has what is given has all that is needed."""
    return all(name in given and {*scopes} <= {*given[name]} for name, scopes in needed.items())


def _written(value: Node) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _listed(words: Any) -> str:
    return ", ".join(sorted(words))

"""Names in the contract for the unions and enumerations that stand inside its schemas.

Clients made from the contract have a type for each name, and else a nameless one at each place.
"""

import json
from collections.abc import Mapping
from typing import Any

from service.rummy.rules import OPTIONS

Schema = dict[str, Any]

_PLACES: dict[str, tuple[str, str]] = {
    "Move": (
        "MoveList.properties.moves.items",
        "A move, as the body of POST /v1/games/{game_id}/{move}.",
    ),
    "Play": ("TurnRequest.properties.plays.items", "What may come between draw and discard."),
    "Event": ("LogEntry.properties.event", "What happened, by its `type`."),
    "OptionValue": ("Deviation.properties.value", "The value of an option of any kind."),
    "ParamValue": ("Problem.properties.params.additionalProperties", "A value in a `detail`."),
    "VariantId": ("NewTableRequest.properties.variant", "The id of a variant."),
    "GameStatus": ("GameView.properties.status", ""),
    "ComputerLevel": (
        "ComputersRequest.properties.levels.items",
        "How well a computer player plays.",
    ),
    "DealPhase": ("DealView.properties.phase", "What a turn waits for."),
    "DrawSource": ("DrawRequest.properties.from", "The top of the stock, or the upcard."),
    "MeldKind": ("MeldView.properties.kind", "A set or a run (common.4)."),
    "OptionKind": ("OptionView.properties.kind", "What kind of values an option has."),
    **{
        f"{option.name.title().replace('_', '')}Option": (
            f"Options.properties.{option.name}",
            f"{option.summary}",
        )
        for option in OPTIONS.values()
        if option.kind == "choice"
    },
}
"""One place at which each of them stands, and what it is; no words: as at that place."""

_CONTENT = ("type", "enum", "oneOf", "anyOf", "discriminator")
_VALUES = {"example", "examples", "default", "const", "enum"}
"""What holds values, not schemas."""


def give_names(document: Schema) -> None:
    """Put references in the place of what gets a name, wherever it stands in the document."""
    schemas = document["components"]["schemas"]
    named: dict[str, Schema] = {}
    names: dict[str, str] = {}
    for name, (place, description) in _PLACES.items():
        found = schemas
        for step in place.split("."):
            found = found[step]
        content = _without_null({part: found[part] for part in _CONTENT if part in found})
        named[name] = {"description": description or found["description"], **content}
        names[_key(content)] = name
    for part in ("paths", "components"):
        document[part] = _referring(document[part], names, named)
    document["components"]["schemas"] |= named


def _referring(node: Any, names: Mapping[str, str], named: Mapping[str, Schema]) -> Any:
    if isinstance(node, list):
        return [_referring(item, names, named) for item in node]
    if not isinstance(node, dict):
        return node
    content = {part: node[part] for part in _CONTENT if part in node}
    name = names.get(_key(_without_null(content)))
    if name is None:
        return {
            key: value if key in _VALUES else _referring(value, names, named)
            for key, value in node.items()
        }
    reference = {"$ref": f"#/components/schemas/{name}"}
    own = {
        key: value
        for key, value in node.items()
        if key not in _CONTENT and named[name].get(key) != value
    }
    if {"type": "null"} in node.get("anyOf", ()):
        return {"anyOf": [reference, {"type": "null"}], **own}
    return {**reference, **own}


def _without_null(content: Schema) -> Schema:
    """The union without its null, and the enumeration itself where only null is beside it."""
    parts = [part for part in content.get("anyOf", ()) if part != {"type": "null"}]
    if len(parts) == 1:
        return {part: parts[0][part] for part in _CONTENT if part in parts[0]}
    return content | {"anyOf": parts} if parts else content


def _key(content: Schema) -> str:
    """The same for all that mean the same, whatever the order."""
    kinds = content.get("oneOf") or content.get("anyOf") or content.get("enum") or ()
    return json.dumps(sorted(json.dumps(kind, sort_keys=True) for kind in kinds)) if kinds else ""

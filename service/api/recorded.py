"""The examples of answers in the contract: what the service said when it was asked for them.

They lie in recorded.json, which tests/recording.py writes (`make openapi`) and nobody by hand.
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recorded.json")


def put_into(document: dict[str, Any]) -> None:
    """Give every answer of the contract its examples.

    A refusal looks the same wherever it comes from, so there is one example for each code, and all
    operations refer to that.
    """
    recorded = json.loads(FILE.read_bytes())
    shared: dict[str, Any] = {}
    for path in document["paths"].values():
        for operation in path.values():
            name = operation["operationId"]
            answers = recorded["answers"].get(name, {})
            for status, response in operation["responses"].items():
                refusals = _of_codes(recorded["refusals"], response)
                for kind, content in response.get("content", {}).items():
                    own = answers.get(status, {}).get(kind, {})
                    examples = refusals or {f"{name}.{one}": own[one] for one in own}
                    if examples:
                        content["examples"] = {_short(full): _reference(full) for full in examples}
                    shared |= examples
    document["components"]["examples"] = dict(sorted(shared.items()))


def _of_codes(refusals: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    return {code: refusals[code] for code in response.get("x-codes", ()) if code in refusals}


def _short(full: str) -> str:
    return full.rpartition(".")[2]


def _reference(full: str) -> dict[str, str]:
    return {"$ref": f"#/components/examples/{full}"}

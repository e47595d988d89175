"""The examples of answers in the contract: what the service said when it was asked for them.

They lie in recorded.json, which tests/recording.py writes (`make openapi`) and nobody by hand.
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recorded.json")


def read() -> Any:
    """The examples as they lie in the file."""
    return json.loads(FILE.read_bytes())


def by_name(recorded: Any) -> dict[str, Any]:
    """The examples by their names in the contract."""
    answers = {
        f"{operation}.{name}": example
        for operation, by_status in recorded["answers"].items()
        for by_kind in by_status.values()
        for examples in by_kind.values()
        for name, example in examples.items()
    }
    return dict(sorted((answers | recorded["refusals"]).items()))


def put_into(operation: dict[str, Any], recorded: Any) -> None:
    """Give every answer of the operation its examples.

    A refusal looks the same wherever it comes from, so there is one example for each code, and all
    operations refer to that.
    """
    name = operation["operationId"]
    answers = recorded["answers"].get(name, {})
    for status, response in operation["responses"].items():
        refusals = [code for code in response.get("x-codes", ()) if code in recorded["refusals"]]
        for kind, content in response.get("content", {}).items():
            own = answers.get(status, {}).get(kind, {})
            if examples := refusals or [f"{name}.{one}" for one in own]:
                content["examples"] = {_short(full): _reference(full) for full in examples}


def _short(full: str) -> str:
    return full.rpartition(".")[2]


def _reference(full: str) -> dict[str, str]:
    return {"$ref": f"#/components/examples/{full}"}

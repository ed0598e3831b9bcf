"""`rlvr plan --json` against documents that were recorded, so that other programs can rely on it.

`python -m tests.harness.plan.test_document` records them again, after a change of an estimate or of a declaration.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rlvr
from harness.spec.host import given
from tests.hosts import WITHOUT_BFLOAT16

RECORDED = Path(__file__).parent / "documents.json"
COMMANDS: dict[str, dict[str, Any]] = {
    "a processor": {
        "paper": "egsw", "scale": "small", "arm": "grpo", "seeds": 2, "max_steps": 4, "hardware.device": "cpu",
    },
    "a refused arm, a training of rounds and an untrained model": {
        "paper": "trial_and_error", "scale": "paper", "arm": ["base", "grpo", "rft"], "model": ["7b", "32b"],
        "backend": "trl", "hardware": "h100x8", "price": 3, "seeds": 1,
    },
    "a tiny model": {"paper": "egsw", "arm": "grpo", "seeds": 1, "max_steps": 1},
}  # fmt: skip


def document(command: dict[str, Any]) -> dict[str, Any]:
    """The JSON document of a plan, without what depends on the machine's disk and packages."""
    with given(WITHOUT_BFLOAT16):
        plan_document: dict[str, Any] = json.loads(rlvr.plan(**command).as_json())
    assert plan_document.pop("missing") is None or command["paper"] == "egsw"
    return plan_document


@pytest.mark.parametrize("name", COMMANDS)
def test_the_json_of_a_plan_is_as_recorded(name: str) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert recorded.keys() == COMMANDS.keys()
    assert document(COMMANDS[name]) == recorded[name]


if __name__ == "__main__":
    documents = {name: document(command) for name, command in COMMANDS.items()}
    RECORDED.write_text(json.dumps(documents, indent=1, sort_keys=True) + "\n", encoding="utf-8")

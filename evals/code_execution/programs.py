"""The program inside a response, by the extraction policy `program`: the prompt's code, then the response's last fenced
Python block that defines the function. `MODULE:FUNCTION` as the policy is a reward that is a program itself.

Separate from the grader, so that reading a policy's name does not import the grader's rules.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable

POLICIES = ("program",)
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python|python3|py)?[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE | re.IGNORECASE
)


def reward_of(policy: str) -> Callable[[str, str], float | None]:
    """The reward of (response, gold) that MODULE:FUNCTION names.

    Raises:
        ValueError: it cannot be imported.
    """
    where, _, name = policy.partition(":")
    try:
        reward: Callable[[str, str], float | None] = getattr(importlib.import_module(where), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"extraction={policy}: expected MODULE:FUNCTION of (response, answer): {error}") from error
    return reward


def last_block(response: str, entry_point: str) -> str | None:
    """The last fenced Python block that defines the function, or None."""
    defines = re.compile(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", re.MULTILINE)
    blocks = [block for block in _BLOCK.findall(response) if defines.search(block)]
    return blocks[-1] if blocks else None

"""The program inside a response, by an extraction policy:

    program      the prompt, then the response's last fenced Python block that defines the function (a chat model)
    completion   the prompt directly followed by the response, up to the first line that starts something other than
                 the function's body (a base model; Chen et al., arXiv 2107.03374, section 3.1)

Separate from the grader, so that reading a policy's name does not import the grader's rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable

STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")  # as in the paper: lines that end the function's body
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python|python3|py)?[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE | re.IGNORECASE
)


def last_block(response: str, entry_point: str) -> str | None:
    """The last fenced Python block that defines the function, or None."""
    defines = re.compile(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", re.MULTILINE)
    blocks = [block for block in _BLOCK.findall(response) if defines.search(block)]
    return blocks[-1] if blocks else None


def completion(response: str, _: str = "") -> str | None:
    """The response up to the first of STOPS; None when only white space is left."""
    ends = [at for stop in STOPS if (at := response.find(stop)) >= 0]
    kept = response[: min(ends, default=len(response))]
    return kept if kept.strip() else None


# how to extract the answer, and what joins it to the prompt
POLICIES: dict[str, tuple[Callable[[str, str], str | None], str]] = {
    "program": (last_block, "\n\n"),
    "completion": (completion, ""),
}

"""How responses used tools, and what that brings: for verdict tables drawn with `evals.engines.tools`
(arXiv 2508.07534, section 2.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.analysis.token_table import need_columns
from evals.engines.tools import next_block

if TYPE_CHECKING:
    import pandas as pd

_OUTPUT = re.compile(r"\n```output\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^[A-Za-z_.]*(?:Error|Exception|Interrupt|Warning|Iteration)\b|^the program was ended:")


@dataclass(frozen=True)
class ToolUse:
    """Of a table: its responses, the share of them that ran code, the mean number of blocks that ran in a response, and
    the share of blocks that ended with an error (None where no block ran). Fractions."""

    responses: int
    share: float
    mean_blocks: float
    failed: float | None


def outputs(response: str, turns: int) -> list[str]:
    """What the Python blocks of a response printed, in order; at most `turns` of them ran."""
    found: list[str] = []
    at = 0
    while len(found) < turns and (block := next_block(response, at)) is not None:
        output = _OUTPUT.match(response, block[1])
        if output is None:
            break  # no block after one that did not run ran
        found.append(output.group(1))
        at = output.end()
    return found


def tool_use(table: pd.DataFrame, turns: int) -> ToolUse:
    """How the responses of a table used their tools.

    Args:
        table: drawn with tools; needs the column response. turns: as they were drawn with.
    Raises:
        ValueError: no rows, or a column is missing.
    """
    need_columns(table, ("response",), "verdict table")
    if not len(table):
        raise ValueError("verdict table: expected one response or more, got none")
    ran = [outputs(str(response), turns) for response in table["response"]]
    blocks = [output for one in ran for output in one]
    ended_badly = [bool(_ERROR.match((output.splitlines() or [""])[-1])) for output in blocks]
    return ToolUse(
        len(ran),
        sum(map(bool, ran)) / len(ran),
        len(blocks) / len(ran),
        sum(ended_badly) / len(blocks) if blocks else None,
    )

"""What ran, read back from the responses."""

from __future__ import annotations

import pandas as pd
import pytest

from evals.analysis.tool_use import ToolUse, outputs, tool_use
from evals.engines.tools import output_block
from evals.scripts import Printed


def ran(program: str, printed: Printed) -> str:
    return f"```python\n{program}\n```{output_block(printed, 100)}"


ONE = ran("print(1)", Printed("1\n", False, None))
BAD = ran("1 / 0", Printed("2\n", False, "ZeroDivisionError: division by zero"))
SILENT = ran("x = 1", Printed("", False, None))


@pytest.mark.parametrize(
    ("response", "turns", "found"),
    [
        (f"So\n{ONE}and\n{BAD}\\boxed{{1}}", 4, ["1\n", "2\nZeroDivisionError: division by zero\n"]),
        (f"{ONE}{BAD}", 1, ["1\n"]),  # the model wrote the second output itself
        (SILENT, 4, [""]),
        ("```python\nprint(1)\n```\nnothing ran", 4, []),
        (f"```python\nprint(1)\n```\n{ONE}", 4, []),
        ("no code", 4, []),
    ],
)
def test_outputs(response: str, turns: int, found: list[str]) -> None:
    assert outputs(response, turns) == found


def test_use_by_hand() -> None:
    table = pd.DataFrame({"response": [ONE + BAD, SILENT, "x", "y"]})
    assert tool_use(table, 4) == ToolUse(responses=4, share=0.5, mean_blocks=0.75, failed=1 / 3)
    assert tool_use(table[2:], 4) == ToolUse(2, 0.0, 0.0, None)
    with pytest.raises(ValueError, match="one response or more"):
        tool_use(table[:0], 4)

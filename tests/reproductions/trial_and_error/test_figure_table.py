"""The page of trial_and_error names a function for each figure that is plotted again."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "reproductions" / "trial_and_error" / "README.md"
PACKAGES = ("reproductions.trial_and_error.figures", "evals.analysis")


def test_every_function_of_the_table_exists() -> None:
    table = PAGE.read_text().partition("| figure |")[2].partition("\n\n")[0]
    names = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+\.\w+)`", line)]
    assert len(names) >= 12
    for name in names:
        module, function = name.split(".")
        found = [f"{package}.{module}" for package in PACKAGES if importlib.util.find_spec(f"{package}.{module}")]
        assert len(found) == 1 and callable(getattr(importlib.import_module(found[0]), function)), name

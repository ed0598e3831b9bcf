"""results/faults.md: each number that is a number of tests is the number that pytest collects."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "results" / "faults.md"
COUNTED = (
    *("tests/safety/", "tests/evals/sampling/test_replies.py", "tests/evals/grading/test_quoted_markers.py"),
    *("tests/evals/grading/test_far_larger.py", "tests/evals/answer_files/test_shapes.py"),
    *("tests/evals/answer_files/test_missing.py", "tests/evals/answer_files/test_repeats.py"),
    "tests/evals/answer_files/test_advice.py",
)
"""Where one try is one test. Other rows count the tries inside of tests, or runs by hand."""


def stated() -> Counter[str]:
    """Module -> how many tries the page states, of all its rows together."""
    tries: Counter[str] = Counter()
    module = ""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 5 or not re.search(r"`pytest|^the same$", cells[4]):
            continue
        command = re.search(r"`pytest (tests/\S+\.py)`", cells[4])
        module = command[1] if command else module if cells[4] == "the same" else ""
        if module.startswith(COUNTED):
            tries[module] += int(cells[2].replace(",", ""))
            assert cells[2] == cells[3], f"{module}: {cells[3]} of {cells[2]} are kept"
    return tries


def collected(modules: list[str]) -> Counter[str]:
    """Module -> how many tests pytest finds in it."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-n0", *modules]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return Counter(line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line)


@pytest.mark.slow
def test_the_numbers_of_tests_are_those_that_pytest_collects() -> None:
    page = stated()
    assert len(page) >= 10
    assert page == collected(sorted(page))


def test_the_explanation_states_how_many_promises_there_are() -> None:
    text = (ROOT / "docs" / "explanation" / "reliability.md").read_text(encoding="utf-8")
    table = PAGE.read_text(encoding="utf-8").partition("| promise |")[2].partition("\n\n")[0]
    rows = table.splitlines()[2:]  # without the rest of the header and the line below it
    assert f"lists {len(rows)} promises" in " ".join(text.split())

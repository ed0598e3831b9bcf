"""Every `console` block of a tutorial is typed as it stands, and prints what the page shows.

A line of a page that is `...` stands for any lines. Above a block, a comment that readers do not see may say:

- `<!-- tolerance 6: why -->`: numbers with decimals may differ by so much.
- `<!-- first words: why -->`: only the first word of each line is compared.
- `<!-- not run: why -->`: nothing is typed. `NOT_RUN` counts these blocks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.shared import SHARED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?:<!-- ([\w .]+): [^>]+ -->\n)?```console\n(.*?)```", flags=re.S)
NOT_RUN = {"tutorials/evaluate.md": 1}  # it downloads a model, or needs files of the reader
ELSEWHERE = {"tutorials/add-a-method.md": "tests/rlvr/test_new.py", "tutorials/notebook.md": "tests/examples"}
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Step:
    """One command of a page, the lines that the page shows below it, and how they are compared."""

    command: str
    shown: tuple[str, ...]
    mode: str


def steps(page: str) -> list[Step]:
    tutorial_steps = []
    for mode, block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            tutorial_steps.append(Step(command, tuple(line for line in shown if line.strip()), mode))
    return tutorial_steps


def parts(line: str) -> list[str]:
    """Words and numbers of a line, without rules of tables and the mark of approximate intervals."""
    return re.findall(r"[+-]?\d[\d,]*(?:\.\d+)?|[^\W\d]+|[^\w\s~-]", line)


def alike(shown: str, printed: str, mode: str) -> bool:
    if mode == "first words":
        return shown.split()[:1] == printed.split()[:1]
    tolerance = float(mode.removeprefix("tolerance ")) if mode else 0.0
    shown_parts, printed_parts = parts(shown), parts(printed)
    return len(shown_parts) == len(printed_parts) and all(
        abs(float(a) - float(b)) <= tolerance
        if tolerance and "." in a and NUMBER.fullmatch(a) and NUMBER.fullmatch(b)
        else a == b
        for a, b in zip(shown_parts, printed_parts, strict=True)
    )


def missing(shown: Sequence[str], printed: Sequence[str], mode: str) -> str | None:
    """The first shown line that was not printed where it should be. Lines between two `...` stand together."""
    place = 0
    for chunk in re.split(r"^\s*\.\.\.$", "\n".join(shown), flags=re.M):
        lines = [line for line in chunk.split("\n") if line.strip()]
        begun = 0  # the most lines of the chunk that stand together anywhere
        for start in range(place, len(printed) + 1):
            pairs = zip(lines, printed[start:], strict=False)
            position = next(
                (n for n, (a, b) in enumerate(pairs) if not alike(a, b, mode)), min(len(lines), len(printed) - start)
            )
            begun = max(begun, position)
            if position == len(lines):
                place = start + position
                break
        else:
            return lines[begun]
    return None


def follow(page: str, folder: Path) -> None:
    """Type the page's commands in a folder that has the examples of the repository."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
        program = folder / "bin" / "rlvr"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rlvr "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    settings = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RLVR_HOME": f"{folder}/runs",
    }
    env = {**os.environ, **settings, "RLVR_SHARED": str(SHARED), "COLUMNS": "80"}
    for step in steps(page):
        if step.mode == "not run":
            continue
        done = subprocess.run(["bash", "-c", step.command], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{page}: {step.command}\n{done.stderr[-2000:]}"
        printed = [line for line in done.stdout.splitlines() if line.strip()]
        lost = missing(step.shown, printed, step.mode)
        assert lost is None, f"{page}: {step.command} does not print\n{lost}\nIt prints\n{done.stdout[:3000]}"


@pytest.mark.parametrize("page", ["tutorials/audit.md", "how-to/agree.md"])
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    assert len(steps(page)) >= 1
    follow(page, tmp_path)


@pytest.mark.exhaustive
def test_a_tiny_model_is_trained_and_evaluated_as_the_pages_show(tmp_path: Path) -> None:
    follow("tutorials/train-tiny.md", tmp_path)
    follow("tutorials/evaluate.md", tmp_path)


def test_every_tutorial_is_typed_here_or_in_another_test() -> None:
    pages = {f"tutorials/{path.name}" for path in (DOCS / "tutorials").glob("*.md")}
    assert {page for page in pages if not steps(page)} == set(ELSEWHERE)
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())
    left_out = Counter(page for page in pages for mode, _ in BLOCK.findall((DOCS / page).read_text()) if "not" in mode)
    assert left_out == NOT_RUN


@pytest.mark.parametrize(
    ("shown", "printed", "mode", "lost"),
    [
        (["a 1.0"], ["head", "a 1.0", "foot"], "", None),
        (["a 1.0", "foot"], ["a 1.0", "b", "foot"], "", "foot"),  # a line between them is not shown
        (["a 1.0", "...", "foot"], ["a 1.0", "b", "foot"], "", None),
        (["a 1.0"], ["a 1.1"], "", "a 1.0"),
        (["a 1.0"], ["a 6.9"], "tolerance 6", None),
        (["a 1.0"], ["a 7.1"], "tolerance 6", "a 1.0"),
        (["a 48 1.0"], ["a 47 1.0"], "tolerance 6", "a 48 1.0"),  # whole numbers are counts
        (["a [+1.0, 2.0] higher"], ["a  ~[+1.5, 2.0]  higher"], "tolerance 6", None),
        (["a [+1.0, 2.0] higher"], ["a [+1.0, 2.0] lower"], "tolerance 6", "a [+1.0, 2.0] higher"),
        (["row 1, x", "gold 2"], ["row 7, y", "gold 3"], "first words", None),
        (["row 1, x", "gold 2"], ["row 7, y", "rule 3"], "first words", "gold 2"),
    ],
)
def test_shown_lines_are_compared(shown: list[str], printed: list[str], mode: str, lost: str | None) -> None:
    assert missing(shown, printed, mode) == lost

"""Unscored answers cannot raise a score in silence: both ends are printed wherever they differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlvr.cli import main

LONG = r"\boxed{" + "1+" * 6000 + "1}"  # more than the grader reads: unscored
TOWER = r"\boxed{9^{9^{9^{9}}}}"  # not 4, and plainly so


@pytest.mark.parametrize(("rest", "ends"), [(LONG, ("100.0", "as wrong 25.0")), (TOWER, ("25.0", None))])
def test_one_correct_and_three_unscored_samples(
    rest: str, ends: tuple[str, str | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    responses = [r"\boxed{4}", rest, rest, rest]
    rows = [{"problem_id": p, "answer": "4", "response": r} for p in ("a", "b") for r in responses]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["grade", str(path), "workers=1"]) == 0
    printed = capsys.readouterr().out
    # of four samples one is correct: avg@4 is 1/4, or 1 where the other three have no verdict
    [average] = [line for line in printed.splitlines() if "avg@4" in line]
    assert ends[0] in average
    assert ("as wrong" in average) == (ends[1] is not None)
    assert ends[1] is None or ends[1] in average

"""The page on Gemma's base model, counted by hand from its archive."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.record.archive import read_archive

RESULTS = Path("results")


@pytest.fixture(scope="module")
def printed() -> list[float]:
    """The values of the page's table: pass@1, avg@8, pass@8 in percent."""
    rows = re.findall(r"^\| (?:pass|avg)@\d.*?\| ([\d.]+) \|", (RESULTS / "gemma.md").read_text(encoding="utf-8"), re.M)
    return [float(value) for value in rows]


def test_the_page_has_the_scores_of_the_archive(printed: list[float]) -> None:
    (run,) = read_archive(RESULTS / "real" / "gemma.tar.xz")
    greedy, sampled = (run.verdicts(name) for name in ("two_steps", "two_steps_sampled"))
    right = [verdict == "correct" for verdict in greedy["verdict"]]
    by_problem: dict[str, list[bool]] = {}
    for problem, verdict in zip(sampled["problem_id"], sampled["verdict"], strict=True):
        by_problem.setdefault(problem, []).append(verdict == "correct")
    assert len(right) == 500 and {len(verdicts) for verdicts in by_problem.values()} == {8} and len(by_problem) == 250
    assert not {*greedy["verdict"], *sampled["verdict"]} - {"correct", "wrong", "no_answer"}
    counted = [sum(right) / 500, sum(map(sum, by_problem.values())) / 2000, sum(map(any, by_problem.values())) / 250]
    assert [f"{100 * share:.1f}" for share in counted] == [f"{value:.1f}" for value in printed]

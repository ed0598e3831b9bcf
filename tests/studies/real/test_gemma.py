"""The page on Gemma, counted by hand from its archives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.record.archive import read_archive
from harness.record.run import Run

RESULTS = Path("results")


@pytest.fixture(scope="module")
def printed() -> list[float]:
    """The values of the page's table: pass@1, avg@8, pass@8 in percent."""
    rows = re.findall(r"^\| (?:pass|avg)@\d.*?\| ([\d.]+) \|", (RESULTS / "gemma.md").read_text(encoding="utf-8"), re.M)
    return [float(value) for value in rows]


def counted(run: Run) -> list[str]:
    """pass@1, avg@8 and pass@8 of a run in percent, counted from its verdicts."""
    greedy, sampled = (run.verdicts(name) for name in ("two_steps", "two_steps_sampled"))
    right = [verdict == "correct" for verdict in greedy["verdict"]]
    by_problem: dict[str, list[bool]] = {}
    for problem, verdict in zip(sampled["problem_id"], sampled["verdict"], strict=True):
        by_problem.setdefault(problem, []).append(verdict == "correct")
    assert len(right) == 500 and {len(verdicts) for verdicts in by_problem.values()} == {8} and len(by_problem) == 250
    assert not {*greedy["verdict"], *sampled["verdict"]} - {"correct", "wrong", "no_answer", "truncated"}
    shares = [sum(right) / 500, sum(map(sum, by_problem.values())) / 2000, sum(map(any, by_problem.values())) / 250]
    return [f"{100 * share:.1f}" for share in shares]


def test_the_page_has_the_scores_of_the_archive(printed: list[float]) -> None:
    (run,) = read_archive(RESULTS / "real" / "gemma.tar.xz")
    assert counted(run) == [f"{value:.1f}" for value in printed]


def test_the_page_has_the_scores_of_the_trained_runs() -> None:
    base, grpo = sorted(read_archive(RESULTS / "real" / "gemma_runs.tar.xz"), key=lambda run: run.arm)
    page = (RESULTS / "gemma.md").read_text(encoding="utf-8")
    for run, label in ((base, "base"), (grpo, "grpo, seed 0")):
        (row,) = re.findall(rf"^\| {label} \|(.*)\|$", page, re.MULTILINE)
        assert re.findall(r"([\d.]+) \[", row) == counted(run)
    rewarded = {step: reward for step, reward in grpo.metrics("train/reward") if reward}
    assert (grpo.arm, grpo.seed, rewarded) == ("grpo", 0, {3: 2 / 32, 17: 2 / 32})
    assert dict(grpo.metrics("train/truncated_fraction"))[4] == 31 / 32

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
    base, grpo, coin = runs = sorted(read_archive(RESULTS / "real" / "gemma_runs.tar.xz"), key=lambda run: run.arm)
    page = (RESULTS / "gemma.md").read_text(encoding="utf-8")
    assert [(run.arm, run.seed) for run in runs[1:]] == [("grpo", 0), ("grpo+random_reward", 0)]
    for run, label in ((base, "base"), (grpo, "grpo, seed 0"), (coin, "coin as reward, seed 0")):
        (row,) = re.findall(rf"^\| {label} \|(.*)\|$", page, re.MULTILINE)
        assert re.findall(r"([\d.]+) \[", row) == counted(run)
    assert correct_rollouts(grpo) == {3: 2, 17: 2} and correct_rollouts(coin) == {2: 2}
    assert dict(grpo.metrics("train/truncated_fraction"))[4] == 31 / 32
    assert all(norm == 0 for step, norm in grpo.metrics("train/grad_norm") if step not in (3, 17))
    assert all(norm > 0 for _, norm in coin.metrics("train/grad_norm"))
    assert min(share for step, share in coin.metrics("train/truncated_fraction") if step >= 8) == 31 / 32


def correct_rollouts(run: Run) -> dict[int, float]:
    """Rollout -> how many of its 32 responses are correct, where there is any."""
    return {step: 32 * reward for step, reward in run.metrics("train/reward") if reward}

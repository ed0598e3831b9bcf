from __future__ import annotations

import pytest

from evals.grading.verdicts import Verdict
from evals.sampling.engines import Completion
from evals.sampling.progress import Progress, grading_bar, pass_at_1
from evals.stats.intervals import over_problems


def some(problem: str, *samples: int) -> list[Completion]:
    return [Completion((problem, sample), "x", 10, "stop") for sample in samples]


def test_the_progress_line(capfd: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    line = Progress("toy", 3, 2, 1, True, clock=lambda: now[0])
    line.sampled(some("a", 0), kept=True)
    now[0] = 104.0
    line.sampled(some("a", 1) + some("b", 0))
    line.graded([(("a", 0), Verdict.CORRECT), (("a", 1), Verdict.WRONG), (("b", 0), Verdict.UNSCORED)])
    # a is whole, b is not; 20 new tokens in 4 s; one scored problem, half right: no interval of one problem
    assert line.text() == "problems 1/3, 5 tokens/s, pass@1=50.0%"
    line.graded([(("b", 1), Verdict.TRUNCATED)])
    spread = over_problems([0.5, 0.0])
    assert spread is not None
    # two problems: rough
    assert line.text().endswith(f"pass@1=25.0% ~[{100 * spread.low:.1f}, {100 * spread.high:.1f}]")
    line.close()
    shown = capfd.readouterr().err
    assert "3/6" in shown and "problems 1/3" in shown  # one kept, two new


def test_each_problem_counts_once() -> None:
    # 3/4 and 0/1: the mean over problems is 3/8, over samples it would be 3/5
    assert pass_at_1({"a": [True, True, True, False], "b": [False]}).startswith("pass@1=37.5%")


def test_without_a_terminal_a_grading_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with grading_bar("grading") as report:
        report(1, 2)
        report(2, 2)
    assert capfd.readouterr() == ("", "")

from __future__ import annotations

import contextlib

import pytest

from evals.grading.verdicts import Verdict
from evals.sampling.engines import Completion
from evals.sampling.progress import LINES_S, Bar, Progress, grading_bar, pass_at_1
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
    assert line.text().endswith(
        f"pass@1=25.0% ~[{100 * spread.low:.1f}, {100 * spread.high:.1f}]"
    )  # two problems: rough
    line.close()
    shown = capfd.readouterr().err
    assert shown.splitlines()[-1].startswith("toy: 3/6 samples, problems 1/3, ")  # no terminal: a plain line


def test_each_problem_counts_once() -> None:
    # 3/4 and 0/1: the mean over problems is 3/8, over samples it would be 3/5
    assert pass_at_1({"a": [True, True, True, False], "b": [False]}).startswith("pass@1=37.5%")


def test_without_a_terminal_few_lines_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    bar = Bar("toy", 100, done=10, clock=lambda: now[0])
    for done in (20, 30, 40):  # at 0, 29.9 and 30 seconds: only the last is due
        now[0] = {20: 0.0, 30: LINES_S - 0.1, 40: LINES_S}[done]
        bar.update(done, lambda: "text")
    assert capfd.readouterr().err == "toy: 40/100 samples, text\n"
    bar.update(100)
    bar.close()
    assert capfd.readouterr().err == "toy: 100/100 samples\n"


def test_a_short_grading_is_silent_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with grading_bar("grading") as report:
        report(1, 2)
        report(2, 2)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pseudo-terminal: the name, how many of how many, and the text behind them."""
    import os
    import pty
    import sys

    main, side = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with os.fdopen(side, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        bar = Bar("[toy]", 8)
        bar.update(8, lambda: "pass@1=50.0%")
        bar.close()
    shown = b""
    with contextlib.suppress(OSError):  # Linux says so when the other side is closed and everything is read
        while part := os.read(main, 65536):
            shown += part
    os.close(main)
    text = shown.decode()
    assert "[toy]" in text and "8/8" in text and "pass@1=50.0%" in text and "\x1b" in text

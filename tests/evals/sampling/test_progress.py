from __future__ import annotations

import pytest

from evals.sampling.engines import Completion
from evals.sampling.progress import grading_bar, sampling_bar


def test_the_bar_counts_samples_of_an_earlier_run_as_done(capfd: pytest.CaptureFixture[str]) -> None:
    with sampling_bar("toy", 6, 1, True) as sampled:
        sampled([Completion(("a", 1), "x", 10, "stop"), Completion(("b", 0), "x", 10, "stop")])
    shown = capfd.readouterr().err
    assert "3/6" in shown and "tokens/s" in shown  # one kept, two new


def test_without_a_terminal_a_grading_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with grading_bar("grading") as report:
        report(1, 2)
        report(2, 2)
    assert capfd.readouterr() == ("", "")

"""Accuracy against length at the best step."""

from __future__ import annotations

import pytest

from reproductions.erpo.figures import accuracy_against_length, best_steps
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.test_training_figures import NAMES, scores


def test_the_best_step_is_that_of_the_highest_accuracy() -> None:
    best = best_steps(NAMES, scores())
    assert best.to_dict("records") == [
        {"model": "GRPO", "benchmark": "a", "step": 4, "accuracy (%)": pytest.approx(30), "tokens": 20.0}
    ]
    check_renders(accuracy_against_length(NAMES, best))

"""Figures of stages and of reward against entropy: what captions say of breaks and fits, and runs that lack metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evals.analysis.training_curves import Curves
from evals.plots.plot import Plot
from harness.analysis.material import Material
from reproductions.trial_and_error.figures import training_stages
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.test_training_figures import ENTROPY, NAMES, curves


def plotted(monkeypatch: pytest.MonkeyPatch, of_runs: Curves) -> dict[str, Plot]:
    monkeypatch.setattr(Material, "names", NAMES)
    monkeypatch.setattr(Material, "curves", lambda self: of_runs)
    plots = {plot.name: plot for plot in training_stages(Material([], [], Path()))}
    for plot in plots.values():
        check_renders(plot)
    return plots


def test_each_figure_shows_the_metrics_that_the_curves_have(monkeypatch: pytest.MonkeyPatch) -> None:
    law = curves(**{"train/reward": 0.9 - 0.3 * np.exp(ENTROPY)})
    plots = plotted(monkeypatch, {"GRPO": curves(), NAMES[2]: law})
    assert list(plots) == ["training_stages", "training_entropy_by_outcome", "training_entropy_reward"]
    assert "GRPO: step 20 [20, 20]" in plots["training_stages"].caption
    assert "a = 0.3 [0.3, 0.3], b = 0.9 [0.9, 0.9]" in plots["training_entropy_reward"].caption
    assert "GRPO, incorrect, rising: -" in plots["training_entropy_by_outcome"].caption


def test_short_and_gappy_curves_are_plotted(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = curves().head(6).assign(**{"train/entropy": 0.5, "train/entropy_positive": np.nan})
    plots = plotted(monkeypatch, {"GRPO": gaps})
    assert "GRPO: none (needs at least 10 steps, got 6)" in plots["training_stages"].caption
    assert "GRPO: no fit (x must vary" in plots["training_entropy_reward"].caption
    assert ", correct," not in plots["training_entropy_by_outcome"].caption.split("interval;")[2]
    assert not plotted(monkeypatch, {"GRPO": curves()[["step", "train/reward"]]})

"""Figures of the words: which there are, what they say, and each is plotted with parts missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evals.analysis.subjects import Subject
from evals.analysis.words.embedders import CharacterNgrams
from evals.analysis.words.plots import plot_words, two_components
from evals.plots.plot import Plot, save
from tests.evals.analysis.tokens import token_table

TOKENS = ["So", " x", " =", " 3", ".", "\n", "Let", "'s", " check", ":", " the", " sum", " is", " 7", ".", " Wait", "!"]


def table(seed: int, problems: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return token_table({
        (f"p{i}", s): [(token, float(generator.gamma(1))) for token in generator.permutation(TOKENS)]
        for i in range(problems) for s in range(2)
    })  # fmt: skip


def plotted(names: list[str], problems: int = 4, **options: object) -> dict[str, Plot]:
    tables = {name: table(i, problems) for i, name in enumerate(names)}
    plots = plot_words([Subject(name, {}) for name in names], tables, benchmark="aime24", **options)  # type: ignore[arg-type]
    return {plot.name: plot for plot in plots}


def plot_all(plots: dict[str, Plot]) -> None:
    """As `save` does, without writing files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for plot in plots.values():
        figure = Figure(figsize=plot.size, layout="constrained")
        FigureCanvasAgg(figure)
        plot.render(figure)
        figure.draw_without_rendering()
        assert len(plot.numbers) > 0 and any(axis.get_xlabel() for axis in figure.axes)


def test_every_figure_with_its_paper() -> None:
    moved = table(5, 4)
    change = pd.Series(np.random.default_rng(0).uniform(-0.1, 0.1, len(moved)))
    plots = plotted(["base", "GRPO", "x" * 90], embedder=CharacterNgrams(), changes={"GRPO": (moved, change)})
    assert {name: plot.source for name, plot in plots.items()} == {
        "token_categories": "arXiv 2508.07534, Table 5",
        "category_entropy": "",
        "exploratory_entropy": "arXiv 2506.14758, Fig. 2 (right)",
        "exploratory_counts": "arXiv 2506.14758, Fig. 8",
        "category_changes": "arXiv 2508.07534, section 3.2.2",
        "rare_sentences": "arXiv 2506.14758, Fig. 3",
    }
    for name in ("exploratory_entropy", "rare_sentences"):
        assert "not SBERT" in plots[name].caption
    for name, plot in plots.items():
        if name != "category_changes":
            assert plot.caption.startswith("aime24: 4 problems, 8 responses of each run.")
        if name != "rare_sentences":
            assert " assumed" in plot.caption
    assert set(plots["exploratory_entropy"].numbers["comparison"]) == {"pivotal", "reflective", "rare"}
    plot_all(plots)


def test_the_points_of_the_map_are_an_image(tmp_path: Path) -> None:
    """As shapes, a thousand points of a kind make an SVG of most of a megabyte."""
    plots = plotted(["base", "GRPO"], embedder=CharacterNgrams())["rare_sentences"]
    svg = save(plots, tmp_path)["svg"].read_text()
    assert "<image" in svg and svg.count("PathCollection") == 3  # those of the legend


def test_one_run_and_one_problem() -> None:
    plots = plotted(["base"], 1, embedder=CharacterNgrams())
    assert sorted(plots) == ["category_entropy", "exploratory_counts", "exploratory_entropy", "token_categories"]
    assert "Rare sentences: not measured" in plots["exploratory_entropy"].caption
    assert plots["exploratory_entropy"].numbers["difference_low"].isna().all()
    plot_all(plots)


def test_runs_without_tokens_are_named_and_absent_categories_are_plotted() -> None:
    plain = token_table({("p", 0): [("the", 1.0), (" sum", 0.0)]})
    subjects = [Subject(name, {}) for name in ("base", "lost", "GRPO")]
    plots = plot_words(subjects, {"base": plain, "GRPO": plain})
    assert all("Not measured: lost." in plot.caption for plot in plots)
    plot_all({plot.name: plot for plot in plots})
    with pytest.raises(ValueError, match="expected one at least"):
        plot_words(subjects, {})


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_principal_components(shape: tuple[int, int]) -> None:
    vectors = np.random.default_rng(2).normal(size=shape) * np.linspace(1, 4, shape[1])
    centre, axes, explained = two_components(vectors)
    _, values, rows = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    assert abs(axes @ rows[:2].T) == pytest.approx(np.eye(2), abs=1e-6)  # but for their signs
    assert explained == pytest.approx((values[:2] ** 2).sum() / (values**2).sum())
    assert centre == pytest.approx(vectors.mean(axis=0)) and (axes.max(axis=1) >= -axes.min(axis=1)).all()

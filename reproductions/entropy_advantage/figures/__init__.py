"""The figures of arXiv 2506.14758, for runs of one's own (`rlvr analyze`)."""

from __future__ import annotations

from evals.plots.plot import Plot
from harness.analysis.families import Family
from harness.analysis.material import Material


def exploration(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 2, 3 and 8."""
    from evals.analysis.embedders import load_embedder
    from reproductions.entropy_advantage.figures.exploration import plot_exploration

    embedder = None if m.embedder is None else load_embedder(m.embedder)
    return plot_exploration(m.names, m.tokens(benchmark), benchmark, embedder=embedder)


FAMILIES = {"words": Family("Words", of_benchmark=(exploration,))}

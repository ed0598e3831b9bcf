"""Renders a figure as `save` does, without writing files."""

from __future__ import annotations

from evals.plots.plot import Plot


def check_renders(plot: Plot) -> None:
    """It can be rendered, everything is inside the page, and it has its texts and numbers."""
    plot.figure.draw_without_rendering()
    box = plot.figure.get_tightbbox()
    width, height = plot.size
    assert box.x0 > -0.05 and box.y0 > -0.05 and box.x1 < width + 0.05 and box.y1 < height + 0.05, plot.name
    assert plot.name and plot.title and plot.caption and len(plot.numbers)

"""A figure as a value: its content, its numbers, and how to render it. All figures share one style.

Each figure function returns a `Plot`; `save` writes it as SVG and PNG, and its numbers as CSV. This module depends on
no analysis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito's palette, distinct for all kinds of colour vision; the first is for the base model
PALETTE = ("#666666", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
WIDTH, HEIGHT = 5.2, 3.4  # inches, of one panel
_DPI = 160  # of the PNG, and of what an SVG holds as an image (artists with rasterized=True)


@dataclass(frozen=True)
class Plot:
    """A figure that is not rendered yet.

    Args:
        name: a file name without ending.
        title: the figure's content in words; printed above the figure, not inside it.
        caption: n, the intervals and what they cover, and all else that a reader needs.
        source: the paper and figure that it redraws ("arXiv 2508.07534, Fig. 1a"), or "" for one of ours.
        numbers: every number in the figure, one row a point; `unit` names what `low`, `mean` and `high` are in.
        render: plots on an empty matplotlib Figure; labels its axes with units.
        size: inches.
    """

    name: str
    title: str
    caption: str
    source: str
    numbers: pd.DataFrame
    render: Callable[[Any], None]
    size: tuple[float, float] = (WIDTH, HEIGHT)


def look(index: int) -> dict[str, Any]:
    """Colour, marker and line style of the series with that number: each alone tells the series apart.

    Raises:
        ValueError: more series than there are distinct styles.
    """
    if not 0 <= index < len(PALETTE):
        raise ValueError(f"series: expected at most {len(PALETTE)} in one figure, got number {index + 1}")
    return {"color": PALETTE[index], "marker": MARKERS[index], "linestyle": LINES[index]}


def tidy(axis: Any) -> None:
    """A light grid behind the data and no box around it."""
    axis.grid(linewidth=0.4, alpha=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def wrap_name(name: str, width: int) -> str:
    """A name in lines of at most `width` characters, broken at spaces; a longer word after an underscore, a plus or a
    slash."""
    parts = []
    for word in re.findall(r"\S+\s*", name):
        parts += [word] if len(word.rstrip()) <= width else re.findall(r"[^_+/]+[_+/]*|[_+/]+", word)
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


ENDINGS = ("svg", "png", "csv")


def save(plot: Plot, folder: Path, endings: Sequence[str] = ENDINGS) -> dict[str, Path]:
    """Write NAME.svg, NAME.png and NAME.csv (the numbers), or only some `endings`; same input, same files.

    Returns:
        ending without its dot -> path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {ending: folder / f"{plot.name}.{ending}" for ending in endings}
    if pictures := [ending for ending in endings if ending in ("svg", "png")]:
        _render(plot, {ending: paths[ending] for ending in pictures})
    if "csv" in paths:
        write_atomically(paths["csv"], lambda part: plot.numbers.to_csv(part, index=False))
    return paths


def _render(plot: Plot, paths: Mapping[str, Path]) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "rlvr", "svg.fonttype": "path", "font.size": 9, "axes.titlesize": 9}):
        figure = Figure(figsize=plot.size, layout="constrained")
        FigureCanvasAgg(figure)
        plot.render(figure)
        for ending, path in paths.items():
            options: dict[str, Any] = {"metadata": {"Date": None}} if ending == "svg" else {}
            write_atomically(path, partial(figure.savefig, format=ending, dpi=_DPI, **options))

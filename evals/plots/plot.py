"""A figure as a value: its content, its numbers, and how to render it. All figures share one style.

Each figure function returns a `Plot`, which a notebook shows. `save` writes it as SVG and PNG, and its numbers as CSV.
This module depends on no analysis.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.csv_text import csv_text
from evals.files import write_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, distinct for all kinds of colour vision. The first is for the base model
PALETTE = ("#666666", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
WIDTH, HEIGHT = 5.2, 3.4  # inches, of one panel
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}}
NUMBERS = "SHA-256 of the numbers as CSV"  # names a text inside each PNG
_DPI = 160  # for the PNG, and for what an SVG holds as an image (artists with rasterized=True)


@dataclass(frozen=True, repr=False)
class Plot:
    """A figure that is not rendered yet.

    Args:
        name: a file name without ending.
        title: the figure's content in words. Printed above the figure, not inside it.
        caption: n, the intervals and what they cover, and all else that a reader needs.
        source: the paper and figure that it redraws ("arXiv 2508.07534, Fig. 1a"), or "" for one of ours.
        numbers: every number in the figure, one row a point. `unit` names what `low`, `mean` and `high` are in.
        render: plots on an empty matplotlib Figure. Labels its axes with units.
        size: inches.
    """

    name: str
    title: str
    caption: str
    source: str
    numbers: pd.DataFrame
    render: Callable[[Figure], None]
    size: tuple[float, float] = (WIDTH, HEIGHT)

    @cached_property
    def figure(self) -> Figure:
        """matplotlib's figure."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with _style():
            figure = Figure(figsize=self.size, layout="constrained")
            FigureCanvasAgg(figure)
            self.render(figure)
        return figure

    def rendered(self, form: str) -> bytes:
        """The figure as a file of that form, svg, png or pdf. The same numbers give the same file.

        A PNG contains the SHA-256 of NAME.csv (`NUMBERS`). A test can so find a picture of other numbers.
        """
        file = BytesIO()
        digest = {NUMBERS: hashlib.sha256(csv_text(self.numbers).encode()).hexdigest()}
        with _style():
            self.figure.savefig(file, format=form, dpi=_DPI, metadata=digest if form == "png" else UNDATED.get(form))
        return file.getvalue()

    def __repr__(self) -> str:
        return f"{self.title}\n{self.numbers}\n{self.caption}"

    def _repr_svg_(self) -> str:
        return self.rendered("svg").decode()


def _style() -> AbstractContextManager[None]:
    from matplotlib import rc_context

    return rc_context(
        {"svg.hashsalt": "rlvr", "svg.fonttype": "path", "pdf.fonttype": 42, "font.size": 9, "axes.titlesize": 9}
    )


def look(index: int) -> dict[str, Any]:
    """Colour, marker and line style of the series with that number: each alone tells the series apart.

    Raises:
        ValueError: more series than there are distinct styles.
    """
    if not 0 <= index < len(PALETTE):
        raise ValueError(f"series: expected at most {len(PALETTE)} in one figure, got number {index + 1}")
    return {"color": PALETTE[index], "marker": MARKERS[index], "linestyle": LINES[index]}


def tidy(axis: Axes) -> None:
    """A light grid behind the data and no box around it."""
    axis.grid(linewidth=0.4, alpha=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def wrap_name(name: str, width: int) -> str:
    """A name in lines of at most `width` characters, broken at spaces. A longer word after an underscore, a plus or a
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


def save(plot: Plot, folder: Path, endings: Sequence[str] = ("svg", "png", "csv")) -> dict[str, Path]:
    """Write NAME.svg, NAME.png and NAME.csv (the numbers), or only some `endings`. Same input, same files.

    Returns:
        ending without its dot -> path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {ending: folder / f"{plot.name}.{ending}" for ending in endings}
    for ending, path in paths.items():
        write_bytes(path, csv_text(plot.numbers).encode() if ending == "csv" else plot.rendered(ending))
    return paths


def write_dark(figure: Path) -> None:
    """Write NAME-dark.png beside NAME.png, for a page on a dark ground: the lightness inverted, the hues unchanged."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    light, texts = Image.open(figure), PngInfo()
    for key in {NUMBERS} & light.info.keys():
        texts.add_text(key, light.info[key])
    lightness, *hues = light.convert("YCbCr").split()
    dark = Image.merge("YCbCr", (lightness.point(lambda level: 255 - 0.93 * level), *hues))
    dark.convert("RGB").save(figure.with_stem(f"{figure.stem}-dark"), pnginfo=texts)

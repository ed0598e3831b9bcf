"""The differences of a comparison as a forest plot: one panel for each unit, one row for each benchmark and metric."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from io import BytesIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from evals.plots.parts import ForestRow, Verdict, forest
from evals.stats.compare import CompareResult, Line
from evals.stats.score import p_words

# Okabe and Ito's palette, distinct for all kinds of colour vision; marker shapes repeat the information
_STYLE = {
    "higher": Verdict("#0072B2", "o"),
    "lower": Verdict("#D55E00", "s"),
    "equal": Verdict("#009E73", "^"),
    "checkpoint higher": Verdict("#0072B2", "o", filled=False),
    "checkpoint lower": Verdict("#D55E00", "s", filled=False),
    "checkpoints equal": Verdict("#009E73", "^", filled=False),
    "not resolved": Verdict("#666666", "D", filled=False),
    "not known": Verdict("#666666", "D", filled=False),
}
_AXIS = {
    "%": "difference A − B, percentage points",
    "tokens": "difference A − B, tokens",
    "problems": "difference A − B, number of problems",
}
_ROW, _TOP, _WIDTH = 0.34, 1.0, 9.0  # inches


class Differences(Figure):
    """The lines that have an interval, as matplotlib's figure; a notebook shows it.

    Raises:
        ValueError: no line has an interval.
    """

    def __init__(self, result: CompareResult) -> None:
        shown = [line for line in result.lines if line.low is not None]
        if not shown:
            raise ValueError("no difference has an interval, so there is nothing to plot")
        panels = [[line for line in shown if line.unit == unit] for unit in _AXIS]
        panels = [lines for lines in panels if lines]
        caption = textwrap.fill(_caption(result, shown), 140)
        below = 0.17 * (caption.count("\n") + 1) + 0.15
        height = sum(_ROW * len(lines) + _TOP for lines in panels) + 0.6 + below
        with rc_context({"font.size": 9}):
            super().__init__(figsize=(_WIDTH, height), layout="constrained")
            self.get_layout_engine().set(w_pad=0.1, rect=(0, below / height, 1, 1 - below / height))  # type: ignore[union-attr, call-arg]
            axes = self.subplots(len(panels), 1, squeeze=False, height_ratios=[_ROW * len(p) + _TOP for p in panels])
            for axis, lines in zip(axes[:, 0], panels, strict=True):
                forest(axis, [_row(line) for line in lines], _AXIS[lines[0].unit])
            self.suptitle(f"A: {_short(result.a)}\nB: {_short(result.b)}", size=10)
            self.text(0.01, 0.08 / height, caption, size=8, va="bottom")

    def rendered(self, form: str) -> bytes:
        """The figure as a file of that form, svg or png; the same table gives the same file."""
        file = BytesIO()
        with rc_context({"svg.hashsalt": "rlvr", "font.size": 9}):
            self.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.rendered("svg").decode()


def _row(line: Line) -> ForestRow:
    assert line.difference is not None and line.low is not None and line.high is not None
    low, middle, high = (line.factor * v for v in (line.low, line.difference, line.high))
    note = f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]  {p_words(line.p_holm)}"
    return ForestRow(f"{line.benchmark}  {line.name}", low, middle, high, _STYLE[line.verdict], note)


def _caption(result: CompareResult, lines: Sequence[Line]) -> str:
    sizes = dict.fromkeys(
        f"{line.benchmark}: {line.problems} problems, n = {_pair(line.samples_a, line.samples_b)} samples, "
        f"{_pair(line.seeds_a, line.seeds_b)} training seed(s)"
        for line in lines
    )
    covers = " or ".join(dict.fromkeys(str(line.covers) for line in lines))
    level = f"{100 * (lines[0].level or 0):.0f} %"
    text = (
        f"Bars: {level} intervals over {covers}. p: corrected by Holm over the benchmarks of a metric. Blue circle: A "
        f"higher; orange square: A lower; open grey diamond: not resolved. {'; '.join(sizes)}."
    )
    if any(line.verdict.startswith("checkpoint") for line in lines):
        text += " Open circle or square: these two checkpoints differ; one training seed says nothing of the method."
    if any(line.verdict == "equal" for line in lines):
        text += f" Green triangle: equal within {100 * (lines[0].margin or 0):g} points."
    excluded = len(result.lines) - len(lines)
    if excluded:
        text += f" {excluded} lines have no interval and are not shown."
    if result.different:
        text += " MEASURED DIFFERENTLY: " + "; ".join(result.different) + "."
    return text


def _pair(a: int, b: int) -> str:
    return str(a) if a == b else f"{a} (A) and {b} (B)"


def _short(name: str) -> str:
    return name if len(name) <= 90 else "…" + name[-89:]

"""Scores, differences, intervals and p-values as people read them; one format everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evals.stats.intervals import Interval

if TYPE_CHECKING:
    from evals.stats.compare import Line
    from evals.stats.score import Score

NONE = "–"


def number_text(value: float | None, factor: float = 1.0, form: str = ".1f") -> str:
    """A number times `factor`; a dash where there is none."""
    return NONE if value is None else format(factor * value, form)


def bounds_text(interval: Interval | None, factor: float = 1.0, form: str = ".1f") -> str:
    """ "[44.0, 50.6]", with "~" before it where it is approximate; a dash where there is none."""
    if interval is None:
        return NONE
    return f"{interval.mark}[{number_text(interval.low, factor, form)}, {number_text(interval.high, factor, form)}]"


def score_text(score: Score | None) -> str:
    """ "47.3 [44.0, 50.6] (2 unscored; as wrong 46.9)", in percent or the metric's own unit; why there is no value."""
    if score is None:
        return NONE
    if score.value is None:
        return f"{NONE} ({score.why})"
    text = number_text(score.value, score.factor)
    if score.interval is not None:
        text += f" {bounds_text(score.interval, score.factor)}"
    if not score.unscored:
        return text
    if score.as_wrong is None or score.as_wrong == score.value:
        return f"{text} ({score.unscored} unscored)"
    return f"{text} ({score.unscored} unscored; as wrong {number_text(score.as_wrong, score.factor)})"


def line_interval(line: Line) -> Interval | None:
    """The interval of a comparison's line."""
    if line.low is None or line.high is None:
        return None
    return Interval(line.low, line.high, line.level or 0.95, line.covers or "", bool(line.rough))


def line_form(line: Line) -> str:
    """The format of a difference: one digit, or three significant ones for a training curve in its own unit."""
    return "+.3g" if line.unit == "value" else "+.1f"


def difference_text(line: Line) -> str:
    """ "+4.5 [+1.2, +7.8]"; why there is none."""
    if line.difference is None:
        return f"{NONE} ({line.why})"
    form = line_form(line)
    return f"{number_text(line.difference, line.factor, form)} {bounds_text(line_interval(line), line.factor, form)}"


def p_words(p: float | None) -> str:
    """ "p = 0.043" or "p < 0.001", for a caption; "" where there is none."""
    return "" if p is None or p != p else f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def p_text(p: float | None) -> str:
    """ "0.043", "<0.001", or a dash."""
    return NONE if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001"

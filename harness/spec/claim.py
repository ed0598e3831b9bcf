"""A paper's claim as data: the comparison that decides it, and when it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_type_hints

from harness.errors import UsageError
from harness.spec.ranges import check_value

Metric = Literal["avg", "pass", "maj", "fmt", "no_answer_rate", "mean_tokens", "truncation_rate", "unsolvable"]
NEED_MARGIN = ("not lower", "not higher", "equal")


@dataclass(frozen=True)
class Curve:
    """A training curve that a claim is about, averaged over a window of the training. One value a seed.

    Attributes:
        metric: its MLflow name, as "train/entropy".
        window: start and end of the average over the claim's arm, as shares of its optimiser steps.
        than_window: the window of the other arm. None: the same. With different windows, an arm can be compared with
            itself ("the entropy falls": window=(0.8, 1), than_window=(0, 0.2), direction="lower").
        than_metric: metric of the other arm. "": the same. With different metrics, an arm can be compared with itself
            too.
        less: a metric that is subtracted at each step, on both sides ("the gap between two curves closes"). "": none.
    """

    metric: str
    window: tuple[float, float] = (0.0, 1.0)
    than_window: tuple[float, float] | None = None
    than_metric: str = ""
    less: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics that the claim reads."""
        return tuple(dict.fromkeys(name for name in (self.metric, self.than_metric, self.less) if name))

    def __post_init__(self) -> None:
        for name in ("window", "than_window"):
            window = getattr(self, name)
            if window is not None and not 0 <= window[0] < window[1] <= 1:
                raise UsageError(f"curve {self.metric}: {name}: expected 0 <= start < end <= 1, got {window}")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, in our words, and the comparison that decides it (see `harness.tables.claims`).

    A claim without a deciding comparison names no arms. `undecided` then says why.

    Attributes:
        text: the claim, one sentence. where: section, table or figure of the paper.
        arm, than: keys of the paper's arms. The claim is about arm - than.
        than_model: the base model of `than`, a key of `Reproduction.models`. "": the same as the arm's.
        direction: of the difference. "not lower", "not higher" and "equal" need `margin`.
        metric: the metric to compare. `metrics` instead if the claim names several.
        ks: the k of pass@k, maj@k, unsolvable@k. (): the largest that both runs allow.
        models: base models of `arm`. (): all models that have both arms.
        benchmarks: (): all that were measured. Other scales always use their own.
        over: "each": true in every setting (base model x benchmark x metric). "most": in more than half of them.
            "average": of the mean over the benchmarks, for each base model and metric. Both arms need all of them.
        margin: a difference up to this size counts as none. A fraction (tokens for mean_tokens, the curve's own unit
            for a curve). If it is None and the direction needs none, "equal within" uses half of the gain in the
            paper's tables for this claim.
        curve: the training curve that the claim is about. None: it is about verdicts.
        undecided: why no comparison decides the claim.
    """

    text: str
    where: str
    arm: str = ""
    than: str = ""
    direction: Literal["higher", "lower", "not lower", "not higher", "equal"] = "higher"
    metric: Metric = "avg"
    metrics: tuple[Metric, ...] = ()
    ks: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    than_model: str = ""
    benchmarks: tuple[str, ...] = ()
    over: Literal["each", "most", "average"] = "each"
    margin: float | None = None
    curve: Curve | None = None
    undecided: str = ""

    def __post_init__(self) -> None:
        for key in ("direction", "metric", "over"):
            check_value(f"claim.{key}", getattr(self, key), _KINDS[key])
        for metric in self.metrics:
            check_value("claim.metrics", metric, _KINDS["metric"])
        if bool(self.arm) != bool(self.than) or bool(self.arm) == bool(self.undecided):
            raise UsageError(
                f"claim {self.text!r}: expected two arms, or none and `undecided`, got arm={self.arm!r}, "
                f"than={self.than!r}, undecided={self.undecided!r}"
            )
        if self.margin is not None and not self.margin > 0:
            raise UsageError(f"claim {self.text!r}: margin: expected a number above 0, got {self.margin!r}")
        if self.direction in NEED_MARGIN and self.margin is None:
            raise UsageError(
                f"claim {self.text!r}: direction={self.direction!r} needs a margin: the largest difference that counts "
                "as none (a fraction, 0.01 is one point)"
            )
        curve = self.curve
        same = curve is None or (curve.than_window in (None, curve.window) and curve.than_metric in ("", curve.metric))
        if self.arm and self.arm == self.than and not self.than_model and same:
            raise UsageError(f"claim {self.text!r}: compares {self.arm!r} with itself")

    @property
    def compared(self) -> tuple[Metric, ...]:
        """The metrics that the claim is about."""
        return self.metrics or (self.metric,)


_KINDS = get_type_hints(Claim)

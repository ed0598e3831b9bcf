"""The evidence of an audit in training curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from evals.audit.curves import EVALUATION, TABLE
from evals.audit.evidence import FULL, Evidence, digits_of, resolution_of
from evals.errors import UsageError
from evals.suggest import expected

SIZE = "n_problems"  # the column of a curve that says how many problems are behind its scores
TOTALS = (SIZE, "total", "n", "denominator", "n_total", "num_total")  # columns with what counts are counts of
_COUNT = re.compile(r"correct|solved|passed|right|successes|count", re.IGNORECASE)
_NO_COUNT = re.compile(r"rate|pct|percent|ratio|share|fraction|acc|mean|avg|%|@", re.IGNORECASE)


def _overwritten(curve: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The points of a metric that a later line of the same step replaced."""
    rows = pd.DataFrame(curve.attrs.get("repeated", {}), columns=["step", metric])
    points = rows[["step", metric]].dropna()
    kept = points["step"].map(curve.set_index("step")[metric])
    overwritten = pd.DataFrame(points[points[metric] != kept]).set_axis(["checkpoint", "value"], axis=1)
    return overwritten.assign(resumed=curve.attrs.get("resumed", True))


def in_percent(scores: pd.Series) -> bool:
    """Whether the scores of a curve are percentages: as shares none would be above 1."""
    return bool(scores.max() > 1)


def curve_evidence(
    curves: Mapping[str, pd.DataFrame],
    metric: str,
    *,
    problems: int | None = None,
    settings: Mapping[str, object] | None = None,
    recipes: bool = False,
) -> Evidence:
    """The checkpoints that curves evaluated; percentages become shares, and so do counts beside their total.

    Args:
        curves: seed (or recipe) -> its curve. metric: a column. settings: of the run.
        problems: of the benchmark, if known; else what a column n_problems of the curves says.
        recipes: each curve is another recipe, of which the last value counts.
    Raises:
        UsageError: a curve lacks the metric, its values are neither shares nor percentages, or are counts of no total.
    """
    parts, before = [], []
    for seed, curve in curves.items():
        if metric not in curve:
            metrics = [str(column) for column in curve if column not in ("step", TABLE)]
            if not metrics:
                raise UsageError(f"metric={metric}: {seed} has numbers for its steps alone, so it has no metric")
            raise UsageError(f"metric: {expected(metric, metrics)}")
        before.append(_overwritten(curve, metric).assign(seed=seed))
        _refuse_nan(str(seed), curve, metric)
        points = curve[["step", metric]].dropna().set_axis(["checkpoint", "value"], axis=1)
        parts.append(points.assign(seed=seed))
        if problems is None and SIZE in curve and curve[SIZE].nunique() == 1:
            problems = int(curve[SIZE].dropna().iloc[0])
    scores, overwritten = pd.concat(parts, ignore_index=True), pd.concat(before, ignore_index=True)
    total = _total(curves, metric, scores["value"], problems)
    unit = total or (100 if in_percent(scores["value"]) else 1)
    lowest, highest = scores["value"].min(), scores["value"].max()
    if not 0 <= lowest <= highest <= unit:
        raise UsageError(
            f"metric={metric}: its values are {lowest:g} to {highest:g}. An audit needs shares from 0 to 1, or "
            "percentages from 0 to 100. A reward outside of them cannot be audited. To draw it, type rlvr curves FILE"
        )
    written = pd.concat([scores["value"], overwritten["value"]])
    in_text = (curve.attrs.get("digits", {}).get(metric, 0) for curve in curves.values())
    digits = FULL if total else max(*map(digits_of, written), *in_text) + (2 if unit == 100 else 0)
    scores["value"] /= unit
    overwritten["value"] /= unit
    beside = {} if recipes else _beside(curves, metric, 1 if total else unit)
    untrained = not scores["checkpoint"].any() and all(curve["step"].max() > 0 for curve in curves.values())
    names: dict[int, str] = {}
    if recipes:
        ends = scores.groupby("seed", sort=False).tail(1)
        names = dict(enumerate(ends["seed"]))
        scores = ends.assign(checkpoint=range(len(ends)), seed="")
    return replace(
        Evidence.of_scores(scores, problems or total, settings),
        overwritten=None if recipes else overwritten,
        resolution=resolution_of(digits),
        names=names,
        recipes=recipes,
        beside=beside,
        family=family_of(metric, beside),
        reward=metric if training_reward(metric) else "",
        untrained=untrained,
    )


def _total(curves: Mapping[str, pd.DataFrame], metric: str, values: pd.Series, problems: int | None) -> int | None:
    """The number that a metric's values are counts of. None if they are none.

    Whole numbers are counts if the metric's name says so, or if they are no percentages of so many problems.

    Raises:
        UsageError: they are counts, and no column says of how many.
    """
    named = _COUNT.search(metric) is not None and _NO_COUNT.search(metric) is None
    columns = [name for name in TOTALS if named and name != metric and all(name in curve for curve in curves.values())]
    totals = {float(value) for name in columns[:1] for curve in curves.values() for value in curve[name].dropna()}
    whole = max(totals, default=problems)
    if not whole or (values % 1 != 0).any() or not 0 <= values.min() <= values.max() <= whole:
        return None
    if len(totals) == 1 and whole > 1:
        return int(whole)
    as_percentages = 100 / whole * (values * whole / 100).round()
    if values.max() <= 1 or not (named or ((as_percentages - values).abs() > 0.5).any()):
        return None
    raise UsageError(
        f"metric={metric}: its values are whole numbers from {values.min():g} to {values.max():g}, and may be counts "
        f"of {whole:g} problems. If they are counts, add a column total to the file. If they are percentages, leave "
        "out problems="
    )


def _refuse_nan(name: str, curve: pd.DataFrame, metric: str) -> None:
    """Raise UsageError if the last score of a curve is NaN: the last number would be an earlier step's."""
    at = curve.attrs.get("nan", {}).get(metric)
    numbers = curve.loc[curve[metric].notna(), "step"]
    if at is not None and (numbers.empty or at > numbers.max()):
        last = "it has no number" if numbers.empty else f"its last number is of step {numbers.max():g}"
        raise UsageError(
            f"{name}: {metric} is nan at step {at:g}, and {last}. If the training failed there, delete the lines after "
            "the last number"
        )


def _beside(curves: Mapping[str, pd.DataFrame], metric: str, unit: int) -> dict[str, pd.DataFrame]:
    """The scores by other metrics of an evaluation that every curve has, as shares: name -> `seed`, `checkpoint`,
    `value`. Beside a metric of a name like val/..., other such metrics; else other columns that no trainer logs of
    itself.

    Args:
        unit: 100 where the metric is in percent.
    """
    evaluation = EVALUATION.search(metric.lower()) is not None
    scores: dict[str, pd.DataFrame] = {}
    for name in map(str, next(iter(curves.values()))):
        alike = EVALUATION.search(name.lower()) if evaluation else not training_reward(name)
        if name in (metric, "step", SIZE) or not alike or _NO_SCORE.search(name.lower()):
            continue
        if not all(name in curve and curve[name].notna().any() for curve in curves.values()):
            continue
        tables = [
            curve[["step", name]].dropna().set_axis(["checkpoint", "value"], axis=1).assign(seed=seed)
            for seed, curve in curves.items()
        ]
        table = pd.concat(tables, ignore_index=True)
        table["value"] /= unit
        if table["value"].between(0, 1).all():
            scores[name] = table
    return scores


_WORDS_OF_NAMES = re.compile(r"[^/_.\s-]+")
_METRIC_WORDS = re.compile(r"@|acc|reward|score|best|maj|mean|pass|f1|match|std")


def family_of(metric: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names, among these, of the same metric of another benchmark. They differ from the metric's name in one run of
    words, none of which is of a metric: val/aime24/acc beside val/math500/acc."""

    def differing(a: list[str], b: list[str]) -> list[str]:
        while a and b and a[0] == b[0]:
            a, b = a[1:], b[1:]
        while a and b and a[-1] == b[-1]:
            a, b = a[:-1], b[:-1]
        return [*a, *b] if a and b else ["@"]

    words = _WORDS_OF_NAMES.findall(metric)
    rest = ((name, differing(words, _WORDS_OF_NAMES.findall(name))) for name in names if name != metric)
    return tuple(name for name, apart in rest if not any(_METRIC_WORDS.search(word.lower()) for word in apart))


_REWARD = re.compile(r"reward|critic/score|advantage|\breturns?\b|\btrain")
_NO_SCORE = re.compile(
    r"std|loss|\blr\b|learning_rate|entropy|\bkl|grad|length|time|runtime|per_second|clip|epoch|perplexity|step"
)


def training_reward(metric: str) -> bool:
    """Whether a name is of what a trainer logs of its own rollouts, such as critic/rewards/mean, and not of an
    evaluation, such as val-core/openai/gsm8k/reward/mean@1."""
    return bool(_REWARD.search(metric.lower())) and not EVALUATION.search(metric.lower())

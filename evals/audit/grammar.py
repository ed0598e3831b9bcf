"""The choices that some files offer: what people do with an evaluation, one dimension after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from evals.audit.composition import Choice, Dimension, Grammar, Name, among
from evals.audit.evidence import NOT_COLUMNS, Evidence
from evals.audit.printed import Printed

MIN_CHECKPOINTS = 3
MOST_PARTS = 20  # values of a column that cuts a benchmark into parts
MOST_KS = 64  # samples of a problem up to which every k of pass@k is tried. Powers of two beyond
LATER = {3: 2.0, 2: 3.0, 5: 2.5, 10: 2.5}  # the last checkpoints that people average over -> bits
MOST_LATER = 20
LONG_CURVE = 6  # checkpoints that people smooth
SMOOTHING = (0.6, 0.9, 0.99, 0.95, 0.8, 0.5)  # what people set in trackers. The first is TensorBoard's default
COMMON = {"model": 0, "benchmark": 1}  # columns whose parts are named first -> bits of a choice among them


def grammar_of(evidence: Evidence, printed: Printed, base: Evidence | None) -> Grammar:
    """The choices beside the ordinary one, by dimension, of these files and those of the base model."""
    by_dimension: dict[Dimension, list[Choice]] = {}
    for choices in (_of_rows(evidence), _of_metrics(evidence, printed), _of_ends(evidence), _against(base)):
        for choice in choices:
            by_dimension.setdefault(choice.dimension, []).append(choice)
    return by_dimension


def _of_rows(evidence: Evidence) -> Iterator[Choice]:
    """Which rows, and by which verdict."""
    metrics = [*evidence.beside]
    for name in metrics:
        yield Choice("source", "metric", value=name, bits=among(len(metrics), 2), words=f"{name} of the same log")
    samples = evidence.samples
    if samples is None:
        return
    for column, values in parts(samples).items():
        bits = among(len(values), COMMON.get(column, 2))
        for value in values:
            words = f"the problems of {column} {value} alone" if column not in COMMON else f"the {column} {value} alone"
            yield Choice("part", "part", column, value, bits, words, "another denominator")
    columns = conditions(samples)
    for column, values in columns.items():
        for value in values:
            bits = among(len(values), 1) + among(len(columns), 0)
            words = f"the rows of {column} {value} alone"
            yield Choice("part", "part", column, value, bits, words, "another denominator")
    for name, kept, words in (
        ("finished", samples.get("truncated", pd.Series(dtype=float)) != 1, "that were not cut off"),
        ("answered", samples["answer"].notna() if "answer" in samples else pd.Series(dtype=bool), "with an answer"),
    ):
        if 0 < kept.sum() < len(samples) == len(kept):
            text = f"only the {int(kept.sum())} of {len(samples)} responses {words}"
            yield Choice("kept", name, bits=2, words=text, cause="another denominator")
    for column, words, bits in (("ours", "by our verdicts", 2), ("strict", "by our verdicts on answers in a box", 2.5)):
        if column in samples:
            yield Choice("verdict", "label", column, bits=bits, words=words)
    label_columns = [column for column in numbers(samples) if samples[column].dropna().between(0, 1).all()]
    for column in label_columns:
        yield Choice("verdict", "label", column, bits=among(len(label_columns), 2), words=f"by the column {column}")
    if samples["label"].isna().any():
        for counted_as, words, bits in ((0, "wrong", 2), (1, "correct", 2.5)):
            text = f"samples without a verdict counted as {words}"
            yield Choice("unlabelled", "filled", counted_as, bits=bits, words=text, cause="another denominator")


def _of_metrics(evidence: Evidence, printed: Printed) -> Iterator[Choice]:
    """Which metric, and what it is averaged over."""
    if evidence.family:
        what = f"mean of {len(evidence.family) + 1} benchmarks"
        yield Choice("average", "equal", bits=2, words=f"the {what}, each with the same weight")
        yield Choice("average", "geometric", bits=4, words=f"the geometric {what}")
    samples = evidence.samples
    if samples is None:
        return
    sizes = samples.groupby(["seed", "checkpoint", "problem_id"])["label"].size()
    n = int(sizes.min())
    if n > 1:
        yield from _of_several_samples(samples, n, printed.k)
    elif sizes.max() > 1:
        yield Choice("taken", "first", 1, bits=2, words="the first sample of each problem")
    text = "all samples pooled, though problems have unequal numbers of them"
    if sizes.nunique() > 1 or samples["label"].isna().any():
        yield Choice("average", "pooled", bits=2, words=text, cause="another denominator")
    problems = int(samples.groupby(["seed", "checkpoint"])["problem_id"].nunique().max())
    wholes = evidence.whole_sizes(problems)
    for total in wholes:
        text = f"the {total - problems} missing of {total} problems counted as wrong"
        yield Choice("average", "total", total, bits=among(len(wholes), 2), words=text, cause="another denominator")
    columns = parts(samples)
    for column, values in columns.items():
        bits = 2 if column in COMMON else among(len(columns), 3)
        what = f"{len(values)} {'benchmarks' if column == 'benchmark' else f'values of {column}'}"
        yield Choice("average", "equal", column, bits=bits, words=f"the mean of {what}, each with the same weight")
        yield Choice("average", "geometric", column, bits=bits + 2, words=f"the geometric mean of {what}")


def _of_several_samples(samples: pd.DataFrame, n: int, k: int) -> Iterator[Choice]:
    """The choices among at least n > 1 samples of each problem."""
    yield Choice("taken", "first", 1, bits=2, words="the first sample of each problem")
    firsts = [2**i for i in range(1, n.bit_length()) if 2**i < n]
    for first in firsts:
        words = f"the first {first} samples of each problem"
        yield Choice("taken", "first", first, bits=among(len(firsts), 2.5), words=words)
    if k > 1:
        yield Choice("metric", "avg", bits=1, words=f"the average of {n} samples")
    powers = [2**i for i in range(1, n.bit_length())]
    usual = dict.fromkeys([*powers, n])
    ks = dict.fromkeys([*usual, *(range(2, n + 1) if n <= MOST_KS else ())])
    for size in ks:
        bits = among(len(usual), 1) if size in usual else among(len(ks), 2)
        if size != k:
            yield Choice("metric", "pass", size, bits=bits, words=f"pass@{size}")
        text = f"problems of which all of {n} samples are correct" if size == n else f"all of {size} samples correct"
        yield Choice("metric", "all", size, bits=bits + (0.5 if size == n else 2), words=text)
    by = numbers(samples)
    for column in by:
        words = f"best of {n} by the column {column}"
        yield Choice("metric", "best", value=column, bits=among(len(by), 2), words=words)
    if "answer" in samples:
        yield Choice("metric", "majority", n, bits=2, words=f"maj@{n}")
        yield Choice("metric", "majority, the first", n, bits=3, words=f"maj@{n}, of equally many the first answer")
        for size in (k for k in usual if 2 < k < n):
            yield Choice("metric", "majority of k", size, bits=among(len(usual), 2), words=f"maj@{size}")
    words = f"problems of which most of {n} samples are correct"
    yield Choice("metric", "most", bits=3 if "answer" in samples else 2, words=words)


def _of_ends(evidence: Evidence) -> Iterator[Choice]:
    """Which checkpoint and which seeds: the numbers that one table of scores has."""
    if evidence.recipes:
        yield from _of_recipes(evidence)
        return
    scores = evidence.scores
    by_seed = scores.groupby("seed", sort=False)["value"]
    fewest, several = int(by_seed.size().min()), evidence.seeds > 1
    if len(scores) > evidence.seeds:
        yield from _of_checkpoints(evidence, fewest)
    if evidence.overwritten is not None:
        for number, (_, row) in enumerate(evidence.overwritten.iterrows()):
            resumed = "step {:g} before a resumed run logged it again"
            words = (resumed if row["resumed"] else "an earlier row of step {:g}").format(row["checkpoint"])
            bits = among(len(evidence.overwritten), 1.5)
            yield Choice("checkpoint", "overwritten", number, bits=bits, words=words, cause="another checkpoint")
    if not several:
        return
    last, count = evidence.last, evidence.seeds
    largest = last["seed"].iloc[int(last["value"].argmax())]
    seeds = [*dict.fromkeys(scores["seed"])]
    yield Choice("seeds", "best", bits=0.9, words=f"seed {largest} of {count}, the largest", cause="seeds")
    yield Choice("seeds", "worst", bits=3.5, words=f"the smallest of {count} seeds", cause="seeds")
    yield Choice("seeds", "median", bits=3, words="the median over seeds")
    for number, seed in enumerate(seeds):
        words = f"seed {seed} of {count}"
        yield Choice("seeds", "one", number, bits=among(count, 2.5), words=words, cause="seeds")
        if count > 2:
            words = f"the mean of {count - 1} of {count} seeds, without seed {seed}"
            bits = among(count, 2.5)
            yield Choice("seeds", "without", number, bits=bits, words=words, cause="another denominator")
    for most in range(1, count // 2):
        words = f"the mean of {count} seeds without the {most} smallest and largest"
        bits = 1 + most
        yield Choice("seeds", "trimmed", most, bits=bits, words=words, cause="another denominator")


def _of_recipes(evidence: Evidence) -> Iterator[Choice]:
    """Each recipe. The ordinary one is the largest, which is a choice if there are several (`selection`)."""
    rows = evidence.scores
    for position, (label, row) in enumerate(rows.iterrows()):
        if label not in evidence.last.index:
            # half the bits: the user says that the printed one is one of them
            bits = among(len(rows), 0) / 2
            yield Choice("checkpoint", "at", position, str(row["checkpoint"]), bits, evidence.called(row), None)


def _of_checkpoints(evidence: Evidence, fewest: int) -> Iterator[Choice]:
    scores, several = evidence.scores, evidence.seeds > 1
    largest = scores.iloc[int(scores["value"].argmax())]
    named = f", {evidence.called(largest)}" if evidence.names else ""
    choice = len(scores) >= MIN_CHECKPOINTS
    words = f"the largest of {len(scores)} checkpoints{named}" if choice else f"the score of {evidence.called(largest)}"
    yield Choice("checkpoint", "largest", bits=1 if choice else 3, words=words, cause=_chosen(choice))
    if several:
        words = "the mean over seeds of each seed's best checkpoint"
        yield Choice("checkpoint", "best", bits=1, words=words, cause="another checkpoint")
    if evidence.family or (evidence.samples is not None and parts(evidence.samples)):
        words = "each part at its own best checkpoint"
        yield Choice("checkpoint", "own best", bits=2, words=words, cause="selection")
    steps = sorted(scores["checkpoint"].unique())
    if several and len(steps) > 1:
        words = "the best checkpoint of the mean over seeds"
        yield Choice("checkpoint", "together", bits=2, words=words, cause="another checkpoint")
    for position, step in enumerate(steps):
        row = scores[scores["checkpoint"] == step].iloc[0]
        words = evidence.names.get(step, f"checkpoint {step:g}")
        words = words if several else f"the score of {evidence.called(row)}"
        bits = among(len(steps), 0.3)
        yield Choice("checkpoint", "at", position, str(step), bits, words, "another checkpoint")
    for count in dict.fromkeys([*range(2, min(MOST_LATER, fewest) + 1), fewest]):
        words = f"the mean of the last {count} checkpoints" if count < fewest else "the mean of all checkpoints"
        yield Choice("checkpoint", "mean", count, bits=LATER.get(count, 3.5), words=words)
    if fewest >= LONG_CURVE:
        for weight in SMOOTHING:
            bits = among(len(SMOOTHING), 2)
            words = f"the curve smoothed by {weight:g}"
            yield Choice("checkpoint", "smoothed", weight, bits=bits, words=words)
            words = f"{words} from its first value on"
            yield Choice("checkpoint", "smoothed", weight, "first", bits + 0.5, words)


def _against(base: Evidence | None) -> Iterator[Choice]:
    """The number's last step: against another one."""
    if base is not None:
        yield Choice("against", "gain", bits=2, words="the gain over the base model")
        words = "the gain in shares of the base model's score"
        yield Choice("against", "relative", bits=2.5, words=words)
        yield Choice("against", "base", bits=2, words="the score of the base model", cause="another model")
        words = "the share of the base model's errors that are gone"
        yield Choice("against", "fewer errors", bits=4, words=words)
    yield Choice("against", "error", bits=4, words="the share that is incorrect")


def _chosen(choice: bool) -> Name:
    """Whether a largest score is the choice of one among several."""
    return "selection" if choice else "another checkpoint"


def parts(samples: pd.DataFrame) -> dict[str, list[str]]:
    """The columns that cut the problems into 2 to `MOST_PARTS` parts, and their values. A column is one if it is the
    same in all rows of a problem, or names a benchmark or a model."""
    values_by_column: dict[str, list[str]] = {}
    for column in map(str, samples):
        if column in NOT_COLUMNS or pd.api.types.is_float_dtype(samples[column]) or samples[column].isna().any():
            continue
        values = sorted(samples[column].astype(str).unique())
        if {value.lower() for value in values} <= {"true", "false"}:  # a verdict: all of one value have one score
            continue
        apart = column in COMMON or samples.groupby("problem_id")[column].nunique().max() == 1
        if 2 <= len(values) <= MOST_PARTS and apart:
            values_by_column[column] = values
    return values_by_column


def conditions(samples: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of 2 to `MOST_PARTS` values, each of which every problem has equally often, such as a budget of
    tokens; and their values."""
    values_by_column: dict[str, list[str]] = {}
    for column in map(str, samples):
        if column in (*NOT_COLUMNS, *COMMON) or samples[column].isna().any():
            continue
        values = sorted(samples[column].astype(str).unique())
        if not 2 <= len(values) <= MOST_PARTS or {value.lower() for value in values} <= {"true", "false"}:
            continue
        table = pd.crosstab(samples["problem_id"], samples[column].astype(str))
        if len(table) > 1 and (table == table.iloc[0]).all(axis=None) and table.iloc[0].nunique() == 1:
            values_by_column[column] = values
    return values_by_column


def numbers(samples: pd.DataFrame) -> Sequence[str]:
    """The columns of numbers beside the verdicts, such as a reward or a log-probability, that differ among samples."""
    return [
        column
        for column in map(str, samples)
        if column not in NOT_COLUMNS
        and pd.api.types.is_numeric_dtype(samples[column])
        and np.isfinite(samples[column].dropna().astype(float)).all()
        and samples.groupby("problem_id")[column].nunique().max() > 1
    ]

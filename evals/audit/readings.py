"""What people print of an evaluation: every other number than the last checkpoint's mean score, by name.

A reading is a number that the same files give by an ordinary practice. The first that has the printed digits names it;
so they stand in the order in which a reader would suspect them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evals.audit.evidence import Evidence
from evals.audit.printed import Printed

Vector = NDArray[np.float64]
Kind = Literal["another metric", "another checkpoint", "another denominator"]
SHOWN_LATER = 5  # last checkpoints that people average over, at most
SMOOTHING = (0.6, 0.9)  # TensorBoard's default, and what people set for a smooth line
PARTS = ("level", "subject", "type", "difficulty", "category", "source")  # columns that cut a benchmark into parts
MOST_PARTS = 20
MOST_KS = 64  # samples of a problem up to which every k of pass@k is tried; powers of two beyond


@dataclass(frozen=True)
class Reading:
    """One number that the files give.

    Attributes:
        kind: which cause it is, if it is what was printed. text: what it is, for a sentence.
        value: as a share. row: the checkpoint whose samples it rests on, a position in `Evidence.scores`.
        chance: of a number of another origin to be one of as many like this one (`hit_by_chance`); 0 for those that
            are few.
        finer: it is a mean of scores, which has values between those of single scores.
        rare: so few print it that any other reading with the digits comes first.
    """

    kind: Kind
    text: str
    value: float
    row: int
    chance: float = 0.0
    finer: bool = False
    rare: bool = False


def readings(evidence: Evidence, printed: Printed, base: Evidence | None = None) -> Iterator[Reading]:
    """Every reading but the last checkpoint's own score.

    Args:
        base: of the model that it is compared with: the number may be the gain over it.
    """
    last, mean = _last(evidence)[-1], _mean_of_last(evidence, printed.k)
    yield from _of_several_seeds(evidence, printed.unit)
    for name, value in evidence.beside.items():
        yield Reading("another metric", f"{name} of the same log", value, last)
    if not evidence.recipes:
        yield from _of_single_checkpoints(evidence, printed)
        yield from _means_of_checkpoints(evidence)
    for row in _looked_at(evidence):
        yield from _of_samples(evidence, row, printed.k)
        yield from _of_parts(evidence, row, printed.unit)
    if base is not None:
        before = _mean_of_last(base, printed.k)
        what = f" in pass@{printed.k}" if printed.k > 1 else ""
        yield Reading("another metric", f"the gain{what} over the base model", mean - before, last)
        if before > 0:
            yield Reading("another metric", "the gain in shares of the base model's score", mean / before - 1, last)
    yield Reading("another metric", "the share that is incorrect", 1 - mean, last, rare=True)


def _mean_of_last(evidence: Evidence, k: int) -> float:
    """The last checkpoint's score under pass@k, mean over seeds."""
    return float(scores_at(evidence, k).loc[evidence.last.index, "value"].mean())


def scores_at(evidence: Evidence, k: int) -> pd.DataFrame:
    """`Evidence.scores` under pass@k."""
    if k == 1 or evidence.samples is None:
        return evidence.scores
    values = [pass_at(evidence.at(row), k) for _, row in evidence.scores.iterrows()]
    return evidence.scores.assign(value=values)


def _last(evidence: Evidence) -> list[int]:
    """Positions of the last checkpoint of each seed."""
    return [int(i) for i in evidence.scores.index.get_indexer(evidence.last.index)]


def _looked_at(evidence: Evidence) -> list[int]:
    """Positions of the checkpoints whose samples are read in other ways: the last ones, and the largest."""
    return list(dict.fromkeys([*_last(evidence), int(evidence.scores["value"].argmax())]))


def _of_several_seeds(evidence: Evidence, unit: float) -> Iterator[Reading]:
    scores, last = evidence.scores, _last(evidence)[-1]
    by_seed = scores.groupby("seed", sort=False)["value"]
    if evidence.seeds == 1:
        return
    if len(scores) > evidence.seeds:
        best = float(by_seed.max().mean())
        yield Reading(
            "another checkpoint", "the mean over seeds of each seed's best checkpoint", best, last, finer=True
        )
        common = scores.pivot_table(index="checkpoint", columns="seed", values="value").dropna().mean(axis=1)
        of_each = evidence.samples_in_score
        chance = hit_by_chance(common.tolist(), of_each and of_each * evidence.seeds, unit)
        for checkpoint, value in common.iloc[:-1].items():
            text = f"checkpoint {checkpoint:g}, mean over seeds"
            yield Reading("another checkpoint", text, float(value), last, chance)
    yield Reading("another metric", "the median over seeds", float(evidence.last["value"].median()), last)
    for _, row in evidence.last.iterrows() if evidence.seeds > 2 else ():
        others = float(evidence.last["value"].drop(row.name).mean())
        text = f"the mean of {evidence.seeds - 1} of {evidence.seeds} seeds, without seed {row['seed']}"
        yield Reading("another denominator", text, others, last, finer=True)


def _of_single_checkpoints(evidence: Evidence, printed: Printed) -> Iterator[Reading]:
    """Single checkpoints of single seeds, also those that a resumed run logged again."""
    scores = scores_at(evidence, printed.k)
    values = [*scores["value"]]
    before = pd.DataFrame(columns=scores.columns) if evidence.overwritten is None else evidence.overwritten
    chance = hit_by_chance([*values, *before["value"]], evidence.samples_in_score, printed.unit)
    for position, (_, row) in enumerate(scores.iterrows()):
        yield Reading("another checkpoint", f"the score of {evidence.called(row)}", row["value"], position, chance)
    for _, row in before.iterrows():
        text = f"step {row['checkpoint']:g} before a resumed run logged it again"
        yield Reading("another checkpoint", text, float(row["value"]), _last(evidence)[-1])


def _means_of_checkpoints(evidence: Evidence) -> Iterator[Reading]:
    if evidence.seeds == 1 and len(evidence.scores) > 2:
        for weight in SMOOTHING:
            for text, value in _smoothed(evidence.scores["value"].to_numpy(), weight):
                yield Reading("another metric", text, value, _last(evidence)[-1], finer=True)
    by_seed = evidence.scores.groupby("seed", sort=False)["value"]
    each = "" if evidence.seeds == 1 else ", mean over seeds"
    fewest = int(by_seed.size().min())
    for count in [*range(2, min(SHOWN_LATER, fewest) + 1), *([fewest] if fewest > SHOWN_LATER else [])]:
        value = float(np.mean([values.iloc[-count:].mean() for _, values in by_seed]))
        which = f"the last {count} checkpoints" if count < fewest or fewest <= SHOWN_LATER else "all checkpoints"
        yield Reading(
            "another metric", f"the mean of {which}{each}", value, _last(evidence)[-1], finer=evidence.seeds == 1
        )


def _smoothed(values: Vector, weight: float) -> Iterator[tuple[str, float]]:
    """The last value of a curve as trackers smooth it: s <- weight s + (1 - weight) value, from 0 and divided by
    1 - weight^n (TensorBoard's), or from the first value."""
    of_each = weight ** np.arange(len(values))[::-1]
    yield f"the curve smoothed by {weight:g}", float((1 - weight) * of_each @ values / (1 - weight ** len(values)))
    first = float(of_each[0] * values[0] + (1 - weight) * of_each[1:] @ values[1:])
    yield f"the curve smoothed by {weight:g} from its first value on", first


def _of_parts(evidence: Evidence, row: int, unit: float) -> Iterator[Reading]:
    """The problems alone that share a value of a column such as `level`, at one checkpoint."""
    if evidence.samples is None:
        return
    samples = evidence.at(evidence.scores.iloc[row])
    for column in sorted({*PARTS} & {*samples}):
        means = samples.groupby([column, "problem_id"])["label"].mean().groupby(level=column)
        if 2 <= len(means) <= MOST_PARTS:
            values, fewest = means.mean(), int(means.size().min()) * evidence.samples_per_problem
            chance = hit_by_chance(values.tolist(), fewest, unit)
            for part, value in values.items():
                text = f"the problems of {column} {part} alone"
                yield Reading("another denominator", text, float(value), row, chance)


def _of_samples(evidence: Evidence, row: int, k: int) -> Iterator[Reading]:
    """The same samples of one checkpoint, counted in other ways."""
    if evidence.samples is None:
        return
    at = evidence.scores.iloc[row]
    samples = evidence.at(at)
    own = at["value"] if k == 1 else pass_at(samples, k)
    where = "" if row in _last(evidence) and evidence.seeds == 1 else f" of {evidence.called(at)}"
    for kind, text, value in _counted(samples, k):
        if abs(value - own) < 1e-12:
            continue  # counted so it is the checkpoint's own score
        yield Reading(kind, f"{text}{where}", value, row)
    found = samples["problem_id"].nunique()
    for total in evidence.whole_sizes(found):
        value = float(samples.groupby("problem_id")["label"].mean().sum() / total)
        text = f"the {total - found} missing of {total} problems counted as wrong"
        yield Reading("another denominator", text, value, row)


def _counted(samples: pd.DataFrame, k: int) -> Iterator[tuple[Kind, str, float]]:
    grouped = samples.groupby("problem_id")["label"]
    n = int(grouped.size().min())
    if n > 1:
        yield "another metric", "the first sample of each problem", float(grouped.first().mean())
        if k != 1:
            yield "another metric", f"the average of {n} samples", float(grouped.mean().mean())
        for other in _ks(n, k):
            yield "another metric", f"pass@{other}", pass_at(samples, other)
        for name, value in _majorities(samples, n):
            yield "another metric", name, value
        for first in (2**i for i in range(1, n.bit_length()) if 2**i < n):
            value = float(grouped.head(first).groupby(samples["problem_id"]).mean().mean())
            yield "another metric", f"the first {first} samples of each problem", value
    if grouped.size().nunique() > 1:
        text = "all samples pooled, though problems have unequal numbers of them"
        yield "another denominator", text, float(samples["label"].mean())
    if "benchmark" in samples and samples["benchmark"].nunique() > 1:
        means = samples.groupby(["benchmark", "problem_id"])["label"].mean().groupby(level="benchmark").mean()
        yield "another metric", f"the mean of {len(means)} benchmarks, each with the same weight", float(means.mean())
        for benchmark, value in means.items():
            yield "another metric", f"the benchmark {benchmark} alone", float(value)
    for column, text in (("ours", "by our verdicts"), ("strict", "by our verdicts on answers in a box")):
        if column in samples:
            yield "another metric", text, float(samples.groupby("problem_id")[column].mean().mean())
    yield from _left_out(samples, k)


def _left_out(samples: pd.DataFrame, k: int) -> Iterator[tuple[Kind, str, float]]:
    """Over some of the samples, or over those without a verdict too."""
    kept = []
    if "truncated" in samples:
        kept.append((samples["truncated"] != 1, "that were not cut off"))
    if "answer" in samples:
        kept.append((samples["answer"].notna(), "with an answer"))
    for which, text in kept:
        if 0 < which.sum() < len(samples):
            some = samples[which]
            for value in (some.groupby("problem_id")["label"].mean().mean(), some["label"].mean()):
                yield "another denominator", f"only the {len(some)} of {len(samples)} responses {text}", float(value)
    if samples["label"].isna().any():
        for of, text in ((0, "wrong"), (1, "correct")):
            filled = samples.assign(label=samples["label"].fillna(of))
            value = float(filled.groupby("problem_id")["label"].mean().mean()) if k == 1 else pass_at(filled, k)
            yield "another denominator", f"samples without a verdict counted as {text}", value


def _ks(n: int, k: int) -> list[int]:
    ks = range(2, n + 1) if n <= MOST_KS else [*(2**i for i in range(1, n.bit_length())), n]
    return [other for other in dict.fromkeys(ks) if other != k and other <= n]


def pass_at(samples: pd.DataFrame, k: int) -> float:
    """pass@k, 1 - C(n - c, k) / C(n, k), mean over the problems with at least k samples; NaN without one."""
    return float(pass_at_of_each(samples, k).mean())


def pass_at_of_each(samples: pd.DataFrame, k: int) -> pd.Series:
    """pass@k of the problems with at least k labelled samples, by problem."""
    from evals.stats.verdict_table import pass_at_k

    counts = samples.groupby("problem_id")["label"].agg(["count", "sum"])
    counts = counts[counts["count"] >= k]
    return pd.Series([pass_at_k(int(n), int(c), k) for n, c in counts.to_numpy()], counts.index, dtype=float)


def _majorities(samples: pd.DataFrame, n: int) -> Iterator[tuple[str, float]]:
    """maj@n by answers, however ties are broken; without answers, the problems of which most samples are correct."""
    if "answer" in samples:
        yield f"maj@{n}", majority(samples)
        yield f"maj@{n}, of equally many the first answer", majority(samples, first=True)
    else:
        share = samples.groupby("problem_id")["label"].mean()
        yield f"problems of which most of {n} samples are correct", float((share > 0.5).mean())


def majority(samples: pd.DataFrame, first: bool = False) -> float:
    """maj@n: whether the most frequent answer is labelled correct; a problem without any answer is wrong. Answers are
    the same if their texts are.

    Args:
        first: of answers that are equally frequent, the one that came first counts; else they share equally.
    """
    answered = samples.dropna(subset=["answer"])
    votes = answered.groupby(["problem_id", "answer"], sort=False)["label"].agg(["size", "mean"]).reset_index()
    most = votes[votes["size"] == votes.groupby("problem_id")["size"].transform("max")]
    by_problem = most.groupby("problem_id")["mean"]
    of_problem = by_problem.first() if first else by_problem.mean()
    return float(of_problem.reindex(samples["problem_id"].unique(), fill_value=0.0).mean())


def hit_by_chance(values: Iterable[float], samples: int | None, unit: float) -> float:
    """The chance that a number of another origin has the digits of one of these: the share of the scores that the
    benchmark has between the least and the largest of them, or within five points of their middle if that is wider.

    Args:
        values: shares. samples: behind each; scores are multiples of 1 / samples, or of `unit` if that is wider or the
            number is not known. unit: one of the last printed digit, as a share.
    """
    known: Sequence[float] = [value for value in values if np.isfinite(value)]
    middle = (min(known) + max(known)) / 2
    low, high = min(*known, middle - 0.05), max(*known, middle + 0.05)
    step = max(unit, 1 / samples if samples else 0.0)
    cells = np.floor(np.clip([low, high], 0, 1) / step + 1e-9)
    there = {int(value / step + 0.5) for value in known}
    return float(min(1.0, len(there) / (cells[1] - cells[0] + 1)))

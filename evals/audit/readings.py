"""What people print of an evaluation: every other number than the last checkpoint's mean score, by name.

A reading is a number that the same files give by an ordinary practice. The first that has the printed digits names it;
so they stand in the order in which a reader would suspect them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from evals.audit.evidence import Evidence

Kind = Literal["another metric", "another checkpoint", "another denominator"]
SHOWN_LATER = 5  # last checkpoints that people average over, at most
MOST_KS = 64  # samples of a problem up to which every k of pass@k is tried; powers of two beyond


@dataclass(frozen=True)
class Reading:
    """One number that the files give.

    Attributes:
        kind: which cause it is, if it is what was printed. text: what it is, for a sentence.
        value: as a share. row: the checkpoint whose samples it rests on, a position in `Evidence.scores`.
    """

    kind: Kind
    text: str
    value: float
    row: int


def readings(evidence: Evidence, k: int) -> Iterator[Reading]:
    """Every reading but the last checkpoint's own score, and single checkpoints of single seeds.

    Args:
        k: the number was printed as pass@k.
    """
    yield from _of_several_checkpoints(evidence)
    for row in _looked_at(evidence):
        yield from _of_samples(evidence, row, k)
    if evidence.overwritten is not None:
        points = evidence.overwritten[["checkpoint", "value"]].astype(float).to_numpy()
        for checkpoint, value in points:
            text = f"step {checkpoint:g} before a resumed run logged it again"
            yield Reading("another checkpoint", text, float(value), _last(evidence)[-1])


def _last(evidence: Evidence) -> list[int]:
    """Positions of the last checkpoint of each seed."""
    return [int(i) for i in evidence.scores.index.get_indexer(evidence.last.index)]


def _looked_at(evidence: Evidence) -> list[int]:
    """Positions of the checkpoints whose samples are read in other ways: the last ones, and the largest."""
    return list(dict.fromkeys([*_last(evidence), int(evidence.scores["value"].argmax())]))


def _of_several_checkpoints(evidence: Evidence) -> Iterator[Reading]:
    scores, final = evidence.scores, _last(evidence)
    by_seed = scores.groupby("seed", sort=False)["value"]
    seeds = by_seed.ngroups
    each = "" if seeds == 1 else ", mean over seeds"
    if seeds > 1 and len(scores) > seeds:
        best = float(by_seed.max().mean())
        yield Reading("another checkpoint", "the mean over seeds of each seed's best checkpoint", best, final[-1])
        common = scores.pivot_table(index="checkpoint", columns="seed", values="value").dropna()
        for checkpoint, row in common.iloc[:-1].iterrows():
            text = f"checkpoint {checkpoint}, mean over seeds"
            yield Reading("another checkpoint", text, float(row.mean()), final[-1])
    fewest = int(by_seed.size().min())
    for count in [*range(2, min(SHOWN_LATER, fewest) + 1), *([fewest] if fewest > SHOWN_LATER else [])]:
        value = float(np.mean([values.iloc[-count:].mean() for _, values in by_seed]))
        which = f"the last {count} checkpoints" if count < fewest or fewest <= SHOWN_LATER else "all checkpoints"
        yield Reading("another metric", f"the mean of {which}{each}", value, final[-1])


def _of_samples(evidence: Evidence, row: int, k: int) -> Iterator[Reading]:
    """The same samples of one checkpoint, counted in other ways."""
    if evidence.samples is None:
        return
    at = evidence.scores.iloc[row]
    samples = evidence.at(at)
    where = "" if row in _last(evidence) else f" of checkpoint {at['checkpoint']}"
    grouped = samples.groupby("problem_id")["label"]
    n = int(grouped.size().min())

    def reading(kind: Kind, text: str, value: float) -> Reading:
        return Reading(kind, f"{text}{where}", value, row)

    if n > 1:
        yield reading("another metric", "the first sample of each problem", float(grouped.first().mean()))
        if k != 1:
            yield reading("another metric", f"the average of {n} samples", float(grouped.mean().mean()))
        for other in _ks(n, k):
            yield reading("another metric", f"pass@{other}", pass_at(samples, other))
        if "answer" in samples:
            yield reading("another metric", f"maj@{n}", majority(samples))
    if grouped.size().nunique() > 1:
        text = "all samples pooled, though problems have unequal numbers of them"
        yield reading("another denominator", text, float(samples["label"].mean()))
    if "benchmark" in samples and samples["benchmark"].nunique() > 1:
        means = samples.groupby(["benchmark", "problem_id"])["label"].mean().groupby(level="benchmark").mean()
        yield reading("another metric", f"the mean of {len(means)} benchmarks, each with the same weight", means.mean())
    if "truncated" in samples and 0 < samples["truncated"].sum() < len(samples):
        whole = samples[samples["truncated"] != 1]
        text = f"only the {len(whole)} of {len(samples)} responses that were not cut off"
        for value in (whole.groupby("problem_id")["label"].mean().mean(), whole["label"].mean()):
            yield reading("another denominator", text, float(value))
    if samples["label"].isna().any():
        value = float(samples["label"].fillna(0).groupby(samples["problem_id"]).mean().mean())
        yield reading("another denominator", "samples without a verdict counted as wrong", value)
    found = samples["problem_id"].nunique()
    for total in evidence.whole_sizes(found):
        value = float(grouped.mean().sum() / total)
        yield reading("another denominator", f"the {total - found} missing of {total} problems counted as wrong", value)


def _ks(n: int, k: int) -> list[int]:
    ks = range(2, n + 1) if n <= MOST_KS else [*(2**i for i in range(1, n.bit_length())), n]
    return [other for other in dict.fromkeys(ks) if other != k and other <= n]


def pass_at(samples: pd.DataFrame, k: int) -> float:
    """pass@k, 1 - C(n - c, k) / C(n, k), mean over the problems with at least k samples; NaN without one."""
    from evals.stats.verdict_table import pass_at_k

    counts = samples.groupby("problem_id")["label"].agg(["count", "sum"])
    values = [pass_at_k(int(n), int(c), k) for n, c in counts.itertuples(index=False) if n >= k]
    return float(np.mean(values)) if values else float("nan")


def majority(samples: pd.DataFrame) -> float:
    """maj@n: whether the most frequent answer is labelled correct, ties shared equally; a problem without any answer is
    wrong. Answers are the same if their texts are."""
    answered = samples.dropna(subset=["answer"])
    votes = answered.groupby(["problem_id", "answer"])["label"].agg(["size", "mean"]).reset_index()
    most = votes["size"] == votes.groupby("problem_id")["size"].transform("max")
    of_problem = votes[most].groupby("problem_id")["mean"].mean()
    return float(of_problem.reindex(samples["problem_id"].unique(), fill_value=0.0).mean())


def hit_by_chance(values: Sequence[float], problems: int | None, unit: float) -> float:
    """The chance that a number of another origin has the digits of one of these: the share of the scores that the
    benchmark has between the least and the largest of them, or within five points of their middle if that is wider.

    Args:
        values: shares. problems: of the benchmark; its scores are multiples of 1 / problems, or of `unit` if that is
            wider or the number is not known. unit: one of the last printed digit, as a share.
    """
    known = np.asarray([value for value in values if np.isfinite(value)])
    middle = (known.min() + known.max()) / 2
    low, high = min(known.min(), middle - 0.05), max(known.max(), middle + 0.05)
    step = max(unit, 1 / problems if problems else 0.0)
    cells = np.floor(np.clip([low, high], 0, 1) / step + 1e-9)
    there = {int(value / step + 0.5) for value in known}
    return float(min(1.0, len(there) / (cells[1] - cells[0] + 1)))

"""The table of scores, by group, seed and checkpoint, that a composition's first choices make of files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evals.audit.composition import Choice, Composition, Dimension
from evals.audit.evidence import Evidence, Vector

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Scores(Protocol):
    """Files that have a table of scores for each composition."""

    def table(self, composition: Composition) -> Vector:
        """[G, S, C]: of each group (one, where the average has none), seed and checkpoint, or NaN where there is
        none."""


def scores_of(evidence: Evidence, k: int) -> Scores:
    """The tables of some files, whose ordinary metric is pass@k (k = 1: the average)."""
    return OfCurves(evidence) if evidence.samples is None else OfSamples(evidence, k)


class OfCurves:
    """The table of scores without verdicts: a metric's, or those of a family of metrics as groups."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.seeds = [*dict.fromkeys(evidence.scores["seed"])]
        self.checkpoints = sorted(evidence.scores["checkpoint"].unique())

    def _matrix(self, scores: pd.DataFrame) -> Vector:
        wide = scores.pivot_table(index="seed", columns="checkpoint", values="value")
        return np.asarray(wide.reindex(index=self.seeds, columns=self.checkpoints), dtype=float)

    @cached_property
    def _by_name(self) -> dict[str, Vector]:
        scores_by_name = {"": self._matrix(self.evidence.scores)}
        return scores_by_name | {name: self._matrix(scores) for name, scores in self.evidence.beside.items()}

    def table(self, composition: Composition) -> Vector:
        """As `Scores.table`."""
        average = composition.chose("average")
        names: Iterable[str] = ["", *self.evidence.family] if average.what else [composition.chose("source").value]
        return _averaged(np.stack([self._by_name[name] for name in names]), average)


class OfSamples:
    """The table of verdicts on samples."""

    def __init__(self, evidence: Evidence, k: int) -> None:
        assert evidence.samples is not None
        rows, samples = evidence.scores, evidence.samples
        self.frame, self.k = samples, k
        seeds, checkpoints = [*dict.fromkeys(rows["seed"])], sorted(rows["checkpoint"].unique())
        self.shape = len(seeds), len(checkpoints)
        self.problem, problems = pd.factorize(samples["problem_id"])
        self.problems = len(problems)
        cell = samples["seed"].map(dict(zip(seeds, range(len(seeds)), strict=True))) * len(checkpoints)
        cell += samples["checkpoint"].map(dict(zip(checkpoints, range(len(checkpoints)), strict=True)))
        self.inside = cell.notna().to_numpy()  # a checkpoint without any label has no score
        self.key: Codes = cell.fillna(0).to_numpy(dtype=np.int64) * self.problems + self.problem
        self.position = samples.groupby(self.key).cumcount().to_numpy()
        self.answers = pd.factorize(samples["answer"])[0] if "answer" in samples else np.full(len(samples), -1)
        self.masks: dict[Choice, Mask] = {}

    def _mask(self, choice: Choice) -> Mask:
        if choice not in self.masks:
            self.masks[choice] = self._rows(choice)
        return self.masks[choice]

    def _rows(self, choice: Choice) -> Mask:
        if choice.dimension == "part":
            return np.asarray(self.frame[str(choice.argument)].astype(str) == choice.value)
        if choice.what == "finished":
            return np.asarray(self.frame["truncated"] != 1)
        if choice.what == "answered":
            return np.asarray(self.frame["answer"].notna())
        return np.asarray(self.position < float(choice.argument))

    def _label(self, verdict: Choice, unlabelled: Choice) -> Vector:
        label = self.frame[str(verdict.argument) or "label"].to_numpy(dtype=float)
        return np.nan_to_num(label, nan=float(unlabelled.argument)) if unlabelled.what else label

    def table(self, composition: Composition) -> Vector:
        """As `Scores.table`."""
        label = self._label(composition.chose("verdict"), composition.chose("unlabelled"))
        mask = self.inside & ~np.isnan(label)
        dimensions: tuple[Dimension, ...] = ("part", "kept", "taken")
        for choice in map(composition.chose, dimensions):
            if choice.what:
                mask &= self._mask(choice)
        key, label = self.key[mask], label[mask]
        cells = self.shape[0] * self.shape[1] * self.problems
        n = np.bincount(key, minlength=cells)
        c: Vector = np.bincount(key, weights=label, minlength=cells).astype(float)
        average, metric = composition.chose("average"), composition.chose("metric")
        averaged = metric.what == "avg" or (not metric.what and self.k == 1)
        if not averaged and (average.what == "pooled" or not np.isin(label, (0, 1)).all()):
            return np.full((1, *self.shape), np.nan)  # a pooled pass@k, or one of rewards: there is none
        if average.what == "pooled":
            of_cell = self.problems
            values = _ratio(c.reshape(-1, of_cell).sum(axis=1), n.reshape(-1, of_cell).sum(axis=1))
            return values.reshape(1, *self.shape)
        values = self._metric(metric, n, c, key, label, mask).reshape(-1, self.problems)
        if average.what == "total":
            sums = np.where((~np.isnan(values)).any(axis=1), np.nansum(values, axis=1), np.nan)
            return (sums / float(average.argument)).reshape(1, *self.shape)
        groups = self._groups(str(average.argument)) if average.what else [slice(None)]
        of_groups = [_mean(values[:, group]).reshape(self.shape) for group in groups]
        return _averaged(np.stack(of_groups), average)

    def _groups(self, column: str) -> list[Codes]:
        """The problems of each value of a column."""
        of_problem = self.frame.groupby(self.problem)[column].first()
        return [np.asarray(group.index) for _, group in of_problem.groupby(of_problem.astype(str))]

    def _metric(self, metric: Choice, n: Codes, c: Vector, key: Codes, label: Vector, mask: Mask) -> Vector:
        """The metric of each problem at each checkpoint: [cells], or NaN where it has too few samples."""
        k = int(metric.argument or self.k)
        if metric.what == "avg" or (not metric.what and k == 1):
            return _ratio(c, n)
        if metric.what in ("", "pass"):
            return 1 - _none_in(n - c, n, k)
        if metric.what == "all":
            return _none_in(c, n, k)
        if metric.what == "most":
            most: Vector = np.where(n > 0, c > n / 2, np.nan)
            return most
        values = np.where(n > 0, 0.0, np.nan)
        if metric.what == "best":
            by = self.frame[metric.value].to_numpy(dtype=float)[mask]
            order = np.lexsort((-np.nan_to_num(by, nan=-np.inf), key))  # the first of equals
            at, first = np.unique(key[order], return_index=True)
            values[at] = label[order][first]
            return values
        return self._majority(metric, n, key, label, mask, values)

    def _majority(self, metric: Choice, n: Codes, key: Codes, label: Vector, mask: Mask, values: Vector) -> Vector:
        """maj@k by the texts of answers: whether the most frequent one is labelled correct; of equally frequent ones
        each counts its share, or the first alone. A problem without any answer is wrong."""
        from evals.stats.verdict_table import maj_of_votes

        votes: dict[int, dict[int, list[float]]] = {}
        for at, answer, right in zip(key.tolist(), self.answers[mask].tolist(), label.tolist(), strict=True):
            if answer >= 0:
                votes.setdefault(at, {}).setdefault(answer, []).append(right)
        k = int(metric.argument)
        for at, of_answer in votes.items():
            sizes = {answer: len(labels) for answer, labels in of_answer.items()}
            if metric.what == "majority of k":
                correct = {answer for answer, labels in of_answer.items() if sum(labels) > len(labels) / 2}
                rivals = tuple(sorted(size for answer, size in sizes.items() if answer not in correct))
                of_correct = sum(sizes[answer] for answer in correct)
                values[at] = maj_of_votes(int(n[at]), of_correct, rivals, k) if n[at] >= k else np.nan
                continue
            most = max(sizes.values())
            winners = [sum(labels) / len(labels) for labels in of_answer.values() if len(labels) == most]
            values[at] = winners[0] if metric.what == "majority, the first" else sum(winners) / len(winners)
        return values


def _ratio(above: Vector, below: NDArray[np.number]) -> Vector:
    share: Vector = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return share


def _mean(values: Vector) -> Vector:
    """The mean of each row's numbers, or NaN where it has none."""
    known = ~np.isnan(values)
    return _ratio(np.where(known, values, 0).sum(axis=1), known.sum(axis=1))


def _none_in(count: Vector, n: Codes, k: int) -> Vector:
    """C(count, k) / C(n, k): the share of k-subsets that hold only those, or NaN where n < k."""
    share: Vector = np.ones(len(n))
    for i in range(k):
        share *= np.divide(np.maximum(count - i, 0), n - i, out=np.full(len(n), np.nan), where=n > i)
    return share


def _averaged(groups: Vector, average: Choice) -> Vector:
    """The groups themselves, where each has the same weight. Their geometric mean, as one."""
    if average.what == "geometric":
        groups = np.prod(groups, axis=0, keepdims=True) ** (1 / len(groups))
    return groups

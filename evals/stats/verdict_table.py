"""A verdict table as the metrics read it: checked once, and counted by training seed and problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.grading.verdicts import Verdict
from evals.stats.metrics import g_pass_at_k, maj_of_votes, pass_at_k, unsolvable_at_k

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("avg", "pass", "maj", "g_pass", "unsolvable", "fmt", "mean_tokens", "truncation_rate")
OF_K = ("pass", "maj", "g_pass", "unsolvable")  # one score per k (and tau); the others are one score in all

OF_VERDICTS = ("avg", "pass", "maj", "g_pass", "unsolvable")  # unscored samples change these

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


def check_request(metrics: Sequence[str], ks: Sequence[int]) -> None:
    """Raises ValueError for a metric that is not in METRICS, or a k below 1."""
    if unknown := [m for m in metrics if m not in METRICS]:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {unknown[0]!r}")
    if any(k < 1 for k in ks):
        raise ValueError(f"every k must be at least 1, got ks = {list(ks)}")


class VerdictTable:
    """A checked verdict table of one benchmark. Arrays are [S, P]: training seeds x problems, both sorted.

    Attributes:
        samples: rows of the table. unscored: those without a verdict.
        generated, scored, correct: samples, scored ones, correct ones of each problem under each seed.
        n: samples of every problem under every seed; None if they differ.

    Raises:
        ValueError: no rows, a missing column, an unknown verdict, several benchmarks, or a sample that is there twice.
    """

    def __init__(self, rows: Any) -> None:
        import pandas as pd

        frame = _checked(rows)
        self.samples = len(frame)
        seed_of, seeds = pd.factorize(frame["train_seed"], sort=True)
        problem_of, problems = pd.factorize(frame["problem_id"], sort=True)
        self.seeds: list[Any] = list(seeds)
        self.problems: list[str] = list(problems)
        self._cell = seed_of * len(problems) + problem_of
        self._frame = frame
        verdict = frame["verdict"].to_numpy()
        self._is_scored = verdict != Verdict.UNSCORED
        self._is_correct = verdict == Verdict.CORRECT
        self.generated = self._count()
        self.scored = self._count(self._is_scored)
        self.correct = self._count(self._is_correct)
        self.unscored = self.samples - int(self._is_scored.sum())
        sizes = np.unique(self.generated)
        self.n = int(sizes[0]) if len(sizes) == 1 else None  # a problem that a seed lacks has size 0

    @cached_property
    def unscored_as_wrong(self) -> VerdictTable:
        """The same table with every unscored sample counted as incorrect."""
        frame = self._frame.copy()
        frame["verdict"] = np.where(self._is_scored, frame["verdict"], str(Verdict.WRONG))
        return VerdictTable(frame)

    def values(self, metric: str, k: int | None = None, tau: float | None = None) -> Matrix:
        """One metric of every problem under every seed, [S, P]; NaN where it has none (too few scored samples).

        Raises:
            ValueError: tau outside (0, 1], or verdicts that contradict the answer classes.
        """
        if metric == "avg":
            return _ratio(self.correct, self.scored)
        if metric == "fmt":
            return _ratio(self._count(self._frame["boxed"].to_numpy(bool)), self.generated)
        if metric == "mean_tokens":
            return self._mean_of_known(self._frame["tokens"])
        if metric == "truncation_rate":
            reason = self._frame["finish_reason"]
            return self._mean_of_known((reason == "length").astype(float).where(reason.notna()))
        if metric == "maj":
            return self._maj(k)
        if metric == "g_pass":
            if tau is None or not 0 < tau <= 1:
                raise ValueError(f"tau must lie in (0, 1], got {tau!r}")
            return self._of_counts(lambda n, c, at: g_pass_at_k(n, c, at, tau), k)
        return self._of_counts({"pass": pass_at_k, "unsolvable": unsolvable_at_k}[metric], k)

    def why_none(self, metric: str, k: int | None) -> str:
        """Why no problem has a value of this metric."""
        if metric == "mean_tokens":
            return "no problem has a response of known length in every training seed"
        if metric == "truncation_rate":
            return "no problem has a response with a known finish reason in every training seed"
        if metric == "avg":
            return f"no problem has a scored sample in every training seed; unscored samples: {self.unscored}"
        name = {"g_pass": "G-Pass"}.get(metric, metric)
        most = int(self.scored.max())
        if k is not None and most >= k:
            return f"{name}@{k}: no problem has k = {k} scored samples in every training seed"
        return f"{name}@{k} needs k = {k} scored samples of a problem, the most that one has is n = {most}"

    def _count(self, mask: Any = None) -> Counts:
        shape = (len(self.seeds), len(self.problems))
        cells = self._cell if mask is None else self._cell[mask]
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def _mean_of_known(self, column: pd.Series) -> Matrix:
        known = column.notna().to_numpy()
        sums = np.bincount(self._cell[known], column[known].to_numpy(float), self.generated.size)
        return _ratio(sums.reshape(self.generated.shape), self._count(known))

    def _of_counts(self, metric: Callable[[int, int, int], float], k: int | None) -> Matrix:
        """A metric of (n, c, k): computed once for each pair (n, c) that occurs."""
        result = np.full(self.scored.shape, np.nan)
        if k is None:
            return result
        pairs = np.stack([self.scored, self.correct], axis=-1).reshape(-1, 2)
        different, where = np.unique(pairs, axis=0, return_inverse=True)
        values = [metric(int(n), int(c), k) if n >= k else np.nan for n, c in different]
        return np.asarray(values, dtype=float)[where.reshape(-1)].reshape(result.shape)

    def _maj(self, k: int | None) -> Matrix:
        values = np.full(self.scored.size, np.nan)
        if k is None:
            return values.reshape(self.scored.shape)
        scored = self.scored.reshape(-1)
        for cell in np.flatnonzero(scored >= k):
            right, rivals = self._votes.get(int(cell), (0, ()))
            values[cell] = maj_of_votes(int(scored[cell]), right, rivals, k)
        return values.reshape(self.scored.shape)

    @cached_property
    def _votes(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """Cell -> (votes of the correct class, sorted votes of the other classes)."""
        import pandas as pd

        classes = self._frame["answer_class"]
        named = classes.notna().to_numpy() & self._is_scored
        if (lost := np.flatnonzero(self._is_correct & ~named)).size:
            self._contradiction(self._cell[lost[0]], "a correct sample must have an answer class, got None")
        counted = pd.DataFrame(
            {
                "cell": self._cell[named],
                "class": classes[named].to_numpy(float).astype(np.int64),
                "correct": self._is_correct[named],
            }
        )
        groups = counted.groupby(["cell", "class"])["correct"].agg(["size", "sum"]).reset_index()
        right = groups[groups["sum"] > 0]
        if (twice := right[right["cell"].duplicated(keep=False)]).size:
            cell = int(twice["cell"].iloc[0])
            of_cell = twice[twice["cell"] == cell]["class"].tolist()
            self._contradiction(cell, f"one answer class may be correct, got {of_cell}")
        if (mixed := right[right["sum"] < right["size"]]).size:
            cell, answer = int(mixed["cell"].iloc[0]), mixed["class"].iloc[0]
            self._contradiction(cell, f"answer class {answer} is correct in one sample and not in another")
        votes: dict[int, tuple[int, list[int]]] = {}
        for cell, size, correct in zip(groups["cell"], groups["size"], groups["sum"], strict=True):
            of_right, rivals = votes.get(cell, (0, []))
            votes[cell] = (size, rivals) if correct else (of_right, [*rivals, size])
        return {int(cell): (int(of_right), tuple(sorted(rivals))) for cell, (of_right, rivals) in votes.items()}

    def _contradiction(self, cell: int, text: str) -> None:
        raise ValueError(f"problem {self.problems[cell % len(self.problems)]!r}: {text}")


def complete(values: Matrix) -> NDArray[np.bool_]:
    """[P]: the problems with a value under every seed of [S, P]."""
    return np.asarray(~np.isnan(values).any(axis=0))


def _ratio(counts: Any, of: Counts) -> Matrix:
    return np.asarray(np.divide(counts, of, out=np.full(of.shape, np.nan), where=of > 0))


_NEEDED = ("problem_id", "sample", "verdict", "answer_class", "boxed")
_OPTIONAL = {"train_seed": 0, "tokens": None, "finish_reason": None}


def _checked(rows: Any) -> pd.DataFrame:
    """The table with all columns that are read; or a ValueError that names what is wrong with it."""
    frame: pd.DataFrame = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise ValueError(f"the verdict table lacks the column(s) {', '.join(missing)}")
    if len(frame) == 0:
        raise ValueError("the verdict table has no rows")
    if "benchmark" in frame.columns and frame["benchmark"].nunique() > 1:
        raise ValueError(f"score one benchmark at a time, got {', '.join(sorted(frame['benchmark'].unique()))}")
    if unknown := set(frame["verdict"].unique()) - set(Verdict):
        raise ValueError(f"verdict must be one of {', '.join(Verdict)}, got {', '.join(map(repr, unknown))}")
    frame = frame.assign(**{name: value for name, value in _OPTIONAL.items() if name not in frame.columns})
    for name in ("train_seed", "problem_id", "sample", "boxed"):
        if frame[name].isna().any():
            raise ValueError(f"{name} must have a value in every row of the verdict table")
    key = ["train_seed", "problem_id", "sample"]
    twice = frame[frame.duplicated(key)]
    if len(twice):
        which = ", ".join(f"{name} {value}" for name, value in twice[key].iloc[0].items())
        raise ValueError(f"the verdict table holds the same sample twice: {which}")
    return frame.reset_index(drop=True)

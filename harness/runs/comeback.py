"""Do our own committed numbers come back? Train the same arms and seeds again here, and compare cell by cell with the
archive.

Three answers for a cell: *equal* to the last digit; *comes back*: today's value is inside the 95 % prediction interval
for one more run; *does not come back*. *cannot tell*: the archive shows no spread to predict from.

Floating-point sums differ between types of CPU. On another machine a training therefore takes another course, and its
result is like that of another seed. The interval is for a new run on the same problems:

    trained arm     the one of `evals.stats.prediction` for one more run, from S >= 2 committed seeds (each with its own
                    samples) that differ
    untrained arm   value +- 1.96 sqrt(2 v): v is the variance of sampling alone, each problem's correct responses
                    binomial with p = (c + 1/2) / (n + 1), so that 0 of n is not treated as certain
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, fmean, variance
from typing import Any

from evals.stats.prediction import Repeat
from evals.stats.verdict_table import pass_at_k
from harness.runs.archive import read_archive, verdict_table

METRICS = ("avg", "pass", "maj", "mean_tokens")
EQUAL, BACK, NOT_BACK, UNKNOWN = "equal", "comes back", "does not come back", "cannot tell"


@dataclass(frozen=True)
class Cell:
    """One score of one run, committed and today. Shares are in [0, 1]; `low` and `high` bound the prediction."""

    arm: str
    seed: int
    benchmark: str
    metric: str
    committed: float
    today: float | None
    low: float | None
    high: float | None

    @property
    def answer(self) -> str:
        """One of EQUAL, BACK, NOT_BACK, UNKNOWN; a score that is missing today has not come back."""
        if self.today is None:
            return NOT_BACK
        if self.today == self.committed:
            return EQUAL
        if self.low is None or self.high is None:
            return UNKNOWN
        return BACK if self.low <= self.today <= self.high else NOT_BACK


@dataclass(frozen=True)
class Run:
    """A run of an archive: its tags, its record, and benchmark -> score key -> value (None: not measured)."""

    tags: Mapping[str, str]
    record: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, float | None]]
    correct: Mapping[str, list[tuple[int, int]]]  # benchmark -> (samples, correct ones) of each problem

    @property
    def kind(self) -> tuple[str, ...]:
        """The data that all seeds of one arm share."""
        return tuple(self.tags[f"rlvr.{name}"] for name in ("scale", "backend", "model", "arm", "overrides"))

    @property
    def seed(self) -> int:
        return int(self.tags["rlvr.seed"])


def read_runs(archive: Path) -> list[Run]:
    """The runs of an archive, their scores computed from the verdicts by today's code."""
    from evals.stats.score import score

    contents = read_archive(archive)
    runs = []
    for entry in json.loads(contents["index.json"]):
        record = json.loads(contents[f"{entry['folder']}/record.json"])
        scores, correct = {}, {}
        for benchmark in record["scores"]:
            data = contents[f"{entry['folder']}/{benchmark}/verdicts.parquet"]
            table = verdict_table(data, int(entry["tags"]["rlvr.seed"]))
            declared = record["settings"]["protocol.ks"]["value"]
            ks: Any = declared.get(benchmark, declared.get("default")) if isinstance(declared, dict) else declared
            scores[benchmark] = {s.key: s.value for s in score(table, ks=ks, metrics=METRICS)}
            frame = table.to_pandas()
            by_problem = (frame["verdict"] == "correct").groupby(frame["problem_id"]).agg(["size", "sum"])
            correct[benchmark] = [(int(n), int(c)) for n, c in by_problem.itertuples(index=False)]
        runs.append(Run(entry["tags"], record, scores, correct))
    return runs


def compare(committed: Iterable[Run], today: Iterable[Run]) -> list[Cell]:
    """Every committed score of the runs that were trained again, beside today's."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in committed:
        groups.setdefault(run.kind, []).append(run)
    cells = []
    for new in today:
        seeds = groups.get(new.kind, [])
        for old in (run for run in seeds if run.seed == new.seed):
            for benchmark, scores in old.scores.items():
                for key, value in scores.items():
                    if value is None:
                        continue
                    low, high = prediction(seeds, old, benchmark, key)
                    now = new.scores.get(benchmark, {}).get(key)
                    cells.append(Cell(old.tags["rlvr.arm"], old.seed, benchmark, key, value, now, low, high))
    return cells


def prediction(seeds: list[Run], old: Run, benchmark: str, key: str) -> tuple[float | None, float | None]:
    """The 95 % prediction interval for one more run of an arm; (None, None) if no spread is known."""
    if old.record["training"] is None:
        return _untrained(old, benchmark, key)
    values = [v for run in seeds if (v := run.scores.get(benchmark, {}).get(key)) is not None]
    if len(values) < 2 or (one := variance(values)) == 0:
        return None, None
    half = Repeat(fmean(values), one / len(values), one, len(values) - 1.0).half()
    return fmean(values) - half, fmean(values) + half


def _untrained(old: Run, benchmark: str, key: str) -> tuple[float | None, float | None]:
    metric, _, k = key.partition("_at_")
    if metric not in ("pass", "avg"):
        return None, None
    counts = old.correct[benchmark]
    v = sum(_sampling_variance(n, c, int(k) if metric == "pass" else 1) for n, c in counts) / len(counts) ** 2
    half = NormalDist().inv_cdf(0.975) * math.sqrt(2 * v)
    value = old.scores[benchmark][key]
    assert value is not None
    return value - half, value + half


def _sampling_variance(n: int, c: int, k: int) -> float:
    """The variance of a problem's pass@k over new samples: c' ~ Binomial(n, (c + 1/2) / (n + 1))."""
    p = (c + 0.5) / (n + 1)
    weights = [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
    values = [pass_at_k(n, x, k) for x in range(n + 1)]
    mean = sum(w * value for w, value in zip(weights, values, strict=True))
    return sum(w * (value - mean) ** 2 for w, value in zip(weights, values, strict=True))


def changed_settings(old: Run, new: Run) -> list[str]:
    """Declared values that have changed since, as "key: then -> now"."""
    absent = {"value": "not declared"}
    changed = []
    for key in sorted({*old.record["settings"], *new.record["settings"]}):
        then, now = (run.record["settings"].get(key, absent)["value"] for run in (old, new))
        if then != now:
            changed.append(f"{key}: {then!r} -> {now!r}")
    return changed


def page(cells: list[Cell], committed: list[Run], today: list[Run]) -> str:
    """The comparison as Markdown: what came back, each cell, and the two machines."""
    counts = {answer: sum(cell.answer == answer for cell in cells) for answer in (EQUAL, BACK, NOT_BACK, UNKNOWN)}
    lines = [
        "# Do our own numbers come back?",
        "",
        "Tiny scale. Committed runs trained again, from the same base model and seeds; written by rlvr comeback.",
        "",
        "; ".join(f"{answer}: {count}" for answer, count in counts.items()) + f" (of {len(cells)} cells)",
        "",
        "| | committed | today |",
        "| --- | --- | --- |",
    ]
    by_kind = {(run.kind, run.seed): run for run in committed}
    pairs = [(by_kind[run.kind, run.seed], run) for run in today if (run.kind, run.seed) in by_kind]
    for name in ("commit", "cpu", "cpus", "torch_threads", "instruction_set", "python", "platform"):
        then, now = (
            {str(side.record["environment"].get(name)) for side in sides} for sides in zip(*pairs, strict=True)
        )
        lines.append(f"| {name} | {', '.join(sorted(then))} | {', '.join(sorted(now))} |")
    for old, new in pairs:
        if changed := changed_settings(old, new):
            lines += ["", f"{old.tags['rlvr.arm']}, seed {old.seed}: declared values changed: {'; '.join(changed)}"]
    lines += ["", "| arm | seed | benchmark | score | committed | today | prediction | |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for cell in cells:
        predicted = "-" if cell.low is None or cell.high is None else f"[{cell.low:.4g}, {cell.high:.4g}]"
        measured = "missing" if cell.today is None else f"{cell.today:.6g}"
        what = (cell.arm, cell.seed, cell.benchmark, cell.metric)
        fields = (*what, f"{cell.committed:.6g}", measured, predicted, cell.answer)
        lines.append(f"| {' | '.join(map(str, fields))} |")
    return "\n".join([*lines, ""])

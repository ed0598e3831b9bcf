"""Two runs on the same problems: the difference of every metric, how sure it is, and whether both were measured alike.

result = compare_runs(read_run([Path("a")]), read_run([Path("b")]))
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evals.grading.verdicts import Verdict
from evals.provenance import differing_fields
from evals.stats.differences import holm
from evals.stats.measured_run import MeasuredRun, decisive_differences
from evals.stats.score import TAUS, Comparison, compare, factor, unit
from evals.stats.verdict_table import METRICS, OF_K

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05


@dataclass(frozen=True)
class Line:
    """One metric on one benchmark: a minus b over the `problems` with a value in both runs.

    Values are fractions (mean length: tokens). `p_holm` is `p_value` corrected for all lines of the table. `shared`
    counts the problems that are in both tables, `only_a` and `only_b` those in one. What could not be computed is None,
    and `why` says so.
    """

    benchmark: str
    name: str
    metric: str
    k: int | None
    tau: float | None
    unit: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    level: float | None
    covers: str | None
    rough: bool | None
    p_value: float | None
    p_holm: float | None
    test: str | None
    problems: int
    shared: int
    only_a: int
    only_b: int
    samples_a: int
    samples_b: int
    seeds_a: int
    seeds_b: int
    why: str | None

    @property
    def factor(self) -> float:
        """From the values to `unit`."""
        return factor(self.metric, self.problems)

    @property
    def verdict(self) -> str:
        """ "higher" or "lower" where the interval does not hold zero and the corrected p-value is at most 5 %."""
        if self.low is None or self.high is None or self.p_holm is None:
            return "not known"
        if self.low <= 0 <= self.high or self.p_holm > ALPHA:
            return "not resolved"
        return "higher" if self.low > 0 else "lower"


@dataclass(frozen=True)
class CompareResult:
    """`different`: what was measured in another way (only with allow_different). `notes`: what a reader must know."""

    a: str
    b: str
    lines: tuple[Line, ...]
    different: tuple[str, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        lines = [{**asdict(line), "verdict": line.verdict} for line in self.lines]
        return {
            "a": self.a,
            "b": self.b,
            "different": list(self.different),
            "notes": list(self.notes),
            "lines": lines,
        }


def compare_runs(
    a: MeasuredRun,
    b: MeasuredRun,
    *,
    metrics: Sequence[str] = ("avg", "pass", "maj"),
    ks: Sequence[int] | None = None,
    taus: Sequence[float] = TAUS,
    benchmarks: Sequence[str] | None = None,
    seed: int = 0,
    allow_different: bool = False,
) -> CompareResult:
    """Every metric on every benchmark that both runs have.

    Args:
        metrics: of `verdict_table.METRICS`.
        ks: for pass, maj, g_pass, unsolvable. None takes the fewest samples that a problem has in either run, leaving
            these metrics out where that is 1: they are then the same as avg.
        taus: for g_pass.
        benchmarks: some of those in both; None takes them all.
        seed: draws the sign flips of the tests.
        allow_different: compare though protocol, prompt, decoding or data differ; the result says what does.
    Raises:
        ValueError: no benchmark, or no problem, in common; an unknown metric or benchmark; measured in different ways;
            other golds for the same problem; or as `score.compare`.
    """
    if strange := [m for m in metrics if m not in METRICS]:
        raise ValueError(f"metrics: expected some of {', '.join(METRICS)}, got {strange[0]!r}")
    common = [name for name in a.tables if name in b.tables]
    if not common:
        raise ValueError(f"no benchmark in common: {a.name} has {', '.join(a.tables)}, {b.name} {', '.join(b.tables)}")
    if strange := [name for name in benchmarks or () if name not in common]:
        raise ValueError(f"benchmarks: expected some of {', '.join(common)} (in both runs), got {strange[0]!r}")
    chosen = [name for name in common if benchmarks is None or name in benchmarks]
    different = [text for name in chosen for text in _different(a, b, name)]
    if different and not allow_different:
        raise ValueError(
            "measured in different ways (allow_different=true compares all the same): " + "; ".join(different)
        )
    rows = [row for name in chosen for row in _compared(name, a.tables[name], b.tables[name], metrics, ks, taus, seed)]
    known = [c.result.p_value for _, c, _ in rows if c.result is not None and c.result.p_value is not None]
    corrected = iter(holm(known))
    lines = []
    for benchmark, c, counts in rows:
        has_p = c.result is not None and c.result.p_value is not None
        lines.append(_line(benchmark, c, counts, next(corrected) if has_p else None))
    return CompareResult(a.name, b.name, tuple(lines), tuple(different), tuple(_notes(a, b, chosen)))


def _different(a: MeasuredRun, b: MeasuredRun, benchmark: str) -> list[str]:
    pairs = decisive_differences(a.conditions[benchmark], b.conditions[benchmark])
    return [f"{benchmark}: {field} is {json.dumps(x)} in A and {json.dumps(y)} in B" for field, x, y in pairs]


def _notes(a: MeasuredRun, b: MeasuredRun, benchmarks: Sequence[str]) -> list[str]:
    notes = []
    for side, run, other in (("A", a, b), ("B", b, a)):
        if left := [name for name in run.tables if name not in other.tables]:
            notes.append(f"only {side} has {', '.join(left)}")
        if unknown := [name for name in benchmarks if run.conditions[name] is None]:
            notes.append(
                f"{side} has no manifest.json for {', '.join(unknown)}: that both were measured alike was not checked"
            )
    for name in benchmarks:
        x, y = a.conditions[name], b.conditions[name]
        if x is not None and y is not None:
            notes += [
                f"{name}: {field} is {json.dumps(p)} in A and {json.dumps(q)} in B"
                for field, p, q in differing_fields(x.get("engine"), y.get("engine"), "engine")
            ]
        notes += [
            f"{name}: {side} has {count} unscored samples, which count neither as right nor as wrong"
            for side, run in (("A", a), ("B", b))
            if (count := int((run.tables[name]["verdict"] == Verdict.UNSCORED).sum()))
        ]
    return notes


Counts = dict[str, int]


def _compared(
    benchmark: str,
    a: pd.DataFrame,
    b: pd.DataFrame,
    metrics: Sequence[str],
    ks: Sequence[int] | None,
    taus: Sequence[float],
    seed: int,
) -> list[tuple[str, Comparison, Counts]]:
    counts = _counts(benchmark, a, b)
    if ks is None:
        fewest = min(counts["samples_a"], counts["samples_b"])
        ks = (fewest,) if fewest > 1 else ()
    asked = [
        (metric, k, tau)
        for metric in metrics
        for k in (ks if metric in OF_K else (None,))
        for tau in (taus if metric == "g_pass" else (None,))
    ]
    return [(benchmark, compare(a, b, metric, k, tau, seed=seed), counts) for metric, k, tau in asked]


def _counts(benchmark: str, a: pd.DataFrame, b: pd.DataFrame) -> Counts:
    """Shared problems, and the fewest samples of a problem in each; refuses other golds for the same problem."""
    gold_a, gold_b = (dict(zip(t["problem_id"], t["gold"], strict=True)) for t in (a, b))
    shared = gold_a.keys() & gold_b.keys()
    if not shared:
        raise ValueError(f"{benchmark}: no problem in common ({len(gold_a)} in A, {len(gold_b)} in B)")
    if other := sorted(p for p in shared if gold_a[p] != gold_b[p]):
        first = other[0]
        raise ValueError(
            f"{benchmark}: the gold of {len(other)} problems differs, as of {first!r}: {gold_a[first]!r} in A, "
            f"{gold_b[first]!r} in B"
        )
    found = {"shared": len(shared), "only_a": len(gold_a) - len(shared), "only_b": len(gold_b) - len(shared)}
    for side, table in (("a", a), ("b", b)):
        seeds = table["train_seed"] if "train_seed" in table else table["problem_id"].map(lambda _: 0)
        found[f"samples_{side}"] = int(table.groupby([seeds.rename("seed"), table["problem_id"]]).size().min())
        found[f"seeds_{side}"] = int(seeds.nunique())
    return found


def _line(benchmark: str, c: Comparison, counts: Counts, p_holm: float | None) -> Line:
    result = c.result
    interval = result.interval if result else None
    return Line(
        benchmark=benchmark,
        name=c.name,
        metric=c.metric,
        k=c.k,
        tau=c.tau,
        unit=unit(c.metric),
        a=c.a,
        b=c.b,
        difference=result.difference if result else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.level if interval else None,
        covers=interval.covers if interval else None,
        rough=interval.rough if interval else None,
        p_value=result.p_value if result else None,
        p_holm=p_holm,
        test=result.test if result else None,
        problems=c.problems,
        why=c.why,
        **counts,
    )

"""Compare two runs on the same problems: every metric's difference with its uncertainty, if measured the same way.

result = compare_runs(MeasuredRun("a", tables, conditions, trained=True), other)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evals.errors import UsageError
from evals.provenance import differing_fields
from evals.stats.collapses import Collapses, Undoing, collapses, undoing
from evals.stats.differences import ALPHA, Word, holm, paired, paired_average, scoped, word
from evals.stats.intervals import Interval
from evals.stats.measured_run import MeasuredRun, decisive_differences
from evals.stats.score import (
    FRACTIONS,
    NONE,
    bounds_of,
    bounds_text,
    common_values,
    factor,
    mean_of,
    metric_name,
    number_text,
    p_text,
    score,
    unit,
    unscored_text,
)
from evals.stats.verdict_table import COMPARED, OF_K, Matrix, VerdictTable, check_request

OF_CORRECTNESS = ("avg", "pass", "maj")  # higher is better
AVERAGE = "average"  # the benchmark of a line over the mean of several


@dataclass(frozen=True, kw_only=True)
class Line:
    """One metric on one benchmark: a minus b over the `problems` with a value in both runs.

    Values are fractions (mean length: tokens). `p_holm` is `p_value` corrected for the comparisons that `family`
    names. `seeds_covered`: about methods, not about two checkpoints. `margin` and `p_equal_holm` are those of "equal
    within the margin". `shared` counts the problems that are in both tables, `only_a` and `only_b` those in one.
    `scores_a` and `scores_b` have the mean of each training seed, and are () for a side that was not trained.
    Values that cannot be computed are None, and `why` gives the reason. From `difference` to `p_not_higher`: those of
    `Paired.parts`.
    """

    benchmark: str
    name: str
    metric: str
    k: int | None = None
    a: float | None
    b: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    covers: str | None = None
    rough: bool | None = None
    p_value: float | None = None
    test: str | None = None
    seeds_covered: bool = False
    p_not_lower: float | None = None
    p_not_higher: float | None = None
    p_holm: float | None = None
    p_equal_holm: float | None = None
    family: str = ""
    margin: float | None = None
    problems: int
    shared: int = 0
    only_a: int = 0
    only_b: int = 0
    samples_a: int = 0
    samples_b: int = 0
    seeds_a: int = 0
    seeds_b: int = 0
    scores_a: tuple[float, ...] = ()
    scores_b: tuple[float, ...] = ()
    why: str | None = None

    def as_dict(self) -> dict[str, object]:
        """For a JSON document."""
        undone = None if self.undone_by is None else asdict(self.undone_by)
        unit = FRACTIONS.get(self.unit, self.unit)
        return {**asdict(self), "unit": unit, "verdict": self.verdict, "undone_by": undone}

    @property
    def excluded(self) -> int:
        """The problems in one run only, or without a value in one."""
        return self.shared - self.problems + self.only_a + self.only_b

    @property
    def unit(self) -> str:
        """See `score.unit`."""
        return unit(self.metric)

    @property
    def interval(self) -> Interval | None:
        """The interval of the difference."""
        if self.low is None or self.high is None:
            return None
        return Interval(self.low, self.high, self.level or 0.95, self.covers or "", bool(self.rough))

    @property
    def factor(self) -> float:
        """From the values to `unit`."""
        return factor(self.metric, self.problems)

    @property
    def p_equal(self) -> float | None:
        """The p-value of "the difference is at least the margin", either way: the larger one of two one-sided tests
        (TOST), or None without a margin."""
        if self.p_not_lower is None or self.p_not_higher is None:
            return None
        return max(self.p_not_lower, self.p_not_higher)

    @property
    def plain_verdict(self) -> Word:
        """The verdict that the corrected p-values allow, about trainings like those at hand: see
        `evals.stats.differences.word`."""
        return word(self.difference, self.p_holm, self.p_equal_holm, self.seeds_covered)

    @property
    def undone_by(self) -> Undoing | None:
        """Collapses that would undo the plain verdict, and that these seeds may not show."""
        if self.a is None or self.b is None or self.plain_verdict not in ("higher", "lower", "equal"):
            return None
        seeds = len(self.scores_a), len(self.scores_b)
        within = self.margin if self.plain_verdict == "equal" else None
        return undoing((self.a, self.b), seeds, self.metric, within=within)

    @property
    def verdict(self) -> Word:
        """The plain verdict with its scope: see `evals.stats.differences.scoped`."""
        return scoped(self.plain_verdict, self.undone_by is not None)

    @property
    def collapsed(self) -> dict[str, Collapses]:
        """The sides ("a", "b") of which a seed collapsed, in a metric of correctness."""
        sides = {"a": self.scores_a, "b": self.scores_b} if self.metric in OF_CORRECTNESS else {}
        collapses_by_side = {side: collapses(scores) for side, scores in sides.items() if scores}
        return {side: collapse for side, collapse in collapses_by_side.items() if collapse.count}


def problems_in_both(lines: Sequence[Line]) -> str:
    """How many problems the lines of a benchmark are over, in words."""
    of_metric: dict[int, list[str]] = {}
    for line in lines:
        of_metric.setdefault(line.problems, []).append(line.name)
    excluded = max(line.excluded for line in lines)
    counts = [
        f"{problems} ({', '.join(dict.fromkeys(names))})" if len(of_metric) > 1 else str(problems)
        for problems, names in sorted(of_metric.items())
    ]
    text = f"{' or '.join(counts)} problems in both"
    return text + (f", up to {excluded} excluded (in one run only, or without a value)" if excluded else "")


def line_form(line: Line) -> str:
    """The format of a difference: one digit, or three significant ones for a training curve in its own unit."""
    return "+.3g" if line.unit == "value" else "+.1f"


def difference_text(line: Line) -> str:
    """ "+4.5 [+1.2, +7.8]". Without a difference, the reason."""
    if line.difference is None:
        return f"{NONE} ({line.why})"
    form = line_form(line)
    return f"{number_text(line.difference, line.factor, form)} {bounds_text(line.interval, line.factor, form)}"


def method_p_text(line: Line, p: float | None = None) -> str:
    """The p-value of a difference (Holm's, or `p`) in a table about methods: a dash where the difference is one of
    checkpoints, with fewer than three training seeds of a trained arm, because it is none of the methods."""
    return p_text(line.p_holm if p is None else p) if line.seeds_covered else NONE


def corrected(lines: Sequence[Line], family: str, size: int | None = None) -> list[Line]:
    """The lines with p-values corrected together (Holm).

    Args:
        family: its name, for readers. size: the number of declared comparisons. None: these lines.
    """
    p_values = holm([line.p_value for line in lines], family=size)
    p_equals = holm([line.p_equal for line in lines], family=None if size is None else size)
    return [
        replace(line, p_holm=p, p_equal_holm=q, family=family)
        for line, p, q in zip(lines, p_values, p_equals, strict=True)
    ]


def whole_table(families: Sequence[Sequence[Line]]) -> str:
    """How often some verdict of a table is false, and how many verdicts remain if all that it shows is one family.

    Each family errs in at most 5 % of tables, so some family in at most 1 - 0.95^F of them if they are independent, and
    less often if they share an arm. "" for one family.

    Args:
        families: the lines of each difference, corrected within it.
    """
    families = [lines for lines in families if any(line.p_value is not None for line in lines)]
    if len(families) < 2:
        return ""
    before = [line for lines in families for line in lines]
    after = corrected(before, "the whole table")
    resolved = [(line.plain_verdict, kept.plain_verdict) for line, kept in zip(before, after, strict=True)]
    directed = [(word, kept) for word, kept in resolved if word.endswith(("higher", "lower"))]
    text = (
        f"Suppose that no arm differs from another. Each of the {len(families)} differences then has a false verdict "
        f"in up to {100 * ALPHA:g} % of such tables. At least one difference has a false verdict in up to "
        f"{100 * (1 - (1 - ALPHA) ** len(families)):.0f} % of such tables."
    )
    if directed:
        remain = sum(word == kept for word, kept in directed)
        text += (
            f" With one correction over all {len(before)} comparisons, {remain} of the {len(directed)} verdicts "
            "*higher* or *lower* remain."
        )
    return text


@dataclass(frozen=True)
class CompareResult:
    """`different`: differences in how the runs were measured (only with allow_different). `notes`: warnings for the
    reader."""

    a: str
    b: str
    lines: tuple[Line, ...]
    different: tuple[str, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        lines = [line.as_dict() for line in self.lines]
        return {"a": self.a, "b": self.b, "different": [*self.different], "notes": [*self.notes], "lines": lines}


def compare_runs(
    a: MeasuredRun,
    b: MeasuredRun,
    *,
    metrics: Sequence[str] = COMPARED,
    ks: Sequence[int] | None = None,
    benchmarks: Sequence[str] | None = None,
    margin: float | None = None,
    allow_different: bool = False,
) -> CompareResult:
    """Every metric on every benchmark that both runs have.

    The p-values of one metric are corrected together, over the benchmarks: that family depends neither on the other
    metrics nor on other runs in the store.

    Args:
        metrics: of `verdict_table.METRICS`.
        ks: for pass, maj, unsolvable. None takes the fewest samples that a problem has in either run. If that
            is 1, these metrics equal avg and are skipped.
        benchmarks: some of those in both. None takes them all.
        margin: a difference up to this size counts as none, for "equal". A fraction.
        allow_different: compare even if protocol, prompt, decoding or data differ. The result lists the differences.
    Raises:
        UsageError: no benchmark, or no problem, in common; an unknown benchmark; measured in different ways; other
            golds for the same problem.
        ValueError: an unknown metric, or as `score`.
    """
    check_request(metrics, ks or ())
    chosen = _common(a, b, benchmarks)
    different = [text for name in chosen for text in measured_differently(a, b, name)]
    if different and not allow_different:
        raise UsageError("measured in different ways (allow_different=true compares anyway): " + "; ".join(different))
    notes = _notes(a, b, chosen)
    if all(_one_model(a, b, name) for name in chosen):
        a, b = replace(a, trained=False), replace(b, trained=False)
        notes.append("A and B are one model: a difference is one of how it was measured, not of training seeds")
    compared = [line for name in chosen for line in _compared(name, a, b, metrics, ks, margin)]
    return CompareResult(a.name, b.name, _corrected_by_metric(compared), tuple(different), tuple(notes))


def _common(a: MeasuredRun, b: MeasuredRun, benchmarks: Sequence[str] | None) -> list[str]:
    """The benchmarks that both runs have, or the chosen ones of them."""
    common = [name for name in a.tables if name in b.tables]
    if not common:
        has = "; ".join(f"{run.name} has {', '.join(run.tables) or 'no verdicts'}" for run in (a, b))
        raise UsageError(f"no benchmark in common: {has} (rlvr grade FILE benchmark=NAME out=FILE names a file's)")
    if strange := [name for name in benchmarks or () if name not in common]:
        raise UsageError(f"benchmarks: expected some of {', '.join(common)} (in both runs), got {strange[0]!r}")
    return [name for name in common if benchmarks is None or name in benchmarks]


def _corrected_by_metric(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines of each metric corrected together, in the order of all lines."""
    by_metric: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        by_metric.setdefault((line.metric, line.k), []).append(line)
    families = {}
    for metric, family in by_metric.items():
        # a family is a set: its name does not depend on the order of the benchmarks
        name = f"A - B, {family[0].name}, {', '.join(sorted(line.benchmark for line in family))}"
        families[metric] = iter(corrected(family, name))
    return tuple(next(families[line.metric, line.k]) for line in lines)


def compare_average(
    a: MeasuredRun,
    b: MeasuredRun,
    benchmarks: Sequence[str],
    metric: str,
    *,
    ks: Sequence[int] = (),
    margin: float | None = None,
) -> Line:
    """One metric's mean over several benchmarks, each with the same weight. p-values not corrected yet.

    Args:
        ks: for metrics of k: the first of them that a benchmark allows. (): the most samples that both runs have there.
    """
    pairs, counts, used = [], [], []
    for benchmark in benchmarks:
        tables = a.tables[benchmark], b.tables[benchmark]
        count = _counts(benchmark, *tables)
        fewest = min(count["samples_a"], count["samples_b"])
        k = None if metric not in OF_K else next((k for k in ks if k <= fewest), fewest)
        of_a, of_b = common_values(*tables, metric, k)
        if not of_a.shape[1]:
            raise UsageError(f"{benchmark}: no problem has {metric_name(metric, k)} in both runs")
        pairs.append((of_a, of_b))
        counts.append(count)
        used.append(k)
    result = paired_average(pairs, trained=(a.trained, b.trained), bounds=bounds_of(metric), margin=margin)
    k = used[0] if len(set(used)) == 1 else None
    total: dict[str, Any] = {key: sum(c[key] for c in counts) for key in ("shared", "only_a", "only_b")}
    fewest_counts: dict[str, Any] = {
        key: min(c[key] for c in counts) for key in ("samples_a", "samples_b", "seeds_a", "seeds_b")
    }
    return Line(
        benchmark=AVERAGE,
        name=metric_name(metric, k),
        metric=metric,
        **result.parts(),
        **total,
        **fewest_counts,
        scores_a=_means([_seed_scores(of_a, a) for of_a, _ in pairs]),
        scores_b=_means([_seed_scores(of_b, b) for _, of_b in pairs]),
        problems=sum(table.shape[1] for table, _ in pairs),
        a=float(sum(of_a.mean() for of_a, _ in pairs) / len(pairs)),
        b=float(sum(of_b.mean() for _, of_b in pairs) / len(pairs)),
        k=k,
        margin=margin,
    )


def measured_differently(a: MeasuredRun, b: MeasuredRun, benchmark: str) -> list[str]:
    """The parts that decide a measurement on this benchmark and differ between the two, a text each."""
    x, y = a.conditions[benchmark], b.conditions[benchmark]
    pairs = decisive_differences(x, y)
    if _both_graded(a, b, benchmark):
        pairs += differing_fields(a.graded_by[benchmark], b.graded_by[benchmark], "grading")
    hash_of = " (a hash of the first prompt as the model gets it: chat template, examples)"
    return [
        f"{benchmark}: {field}{hash_of if field.endswith('first_sha256') else ''} is {json.dumps(x)} in A and "
        f"{json.dumps(y)} in B"
        for field, x, y in pairs
    ]


def _one_model(a: MeasuredRun, b: MeasuredRun, benchmark: str) -> bool:
    """Whether both sides are the same model, by its hash, or its name at one server."""
    x, y = a.conditions[benchmark], b.conditions[benchmark]
    if x is None or y is None or len(a.tables[benchmark].seeds) > 1 or len(b.tables[benchmark].seeds) > 1:
        return False
    servers = [record.get("engine", {}).get("url") for record in (x, y)]
    return x.get("model") is not None and x["model"] == y.get("model") and servers[0] == servers[1]


def _both_graded(a: MeasuredRun, b: MeasuredRun, benchmark: str) -> bool:
    """Whether it is known of both how answers were read."""
    return None not in (a.graded_by.get(benchmark), b.graded_by.get(benchmark))


def _whatever_they_are(run: MeasuredRun, benchmark: str) -> str:
    """The bounds of the average, whatever its unscored samples are, or "" if they do not change it."""
    [average] = score(run.tables[benchmark], ks=(), metrics=("avg",))
    ends = unscored_text(average).removeprefix(": ")
    return f": {average.name} is {number_text(average.value, 100)} without them, and {ends}" if ends else ""


def _notes(a: MeasuredRun, b: MeasuredRun, benchmarks: Sequence[str]) -> list[str]:
    notes = []
    for side, run, other_run in (("A", a, b), ("B", b, a)):
        if left := [name for name in run.tables if name not in other_run.tables]:
            notes.append(f"only {side} has {', '.join(left)}")
        for graded, what in ((True, "sampled"), (False, "measured")):
            unknown = [n for n in benchmarks if run.conditions[n] is None and _both_graded(a, b, n) is graded]
            if unknown:
                notes.append(
                    f"how {side} was {what} on {', '.join(unknown)} is not known: that both were {what} alike was not "
                    "checked"
                )
    for name in benchmarks:
        x, y = a.conditions[name], b.conditions[name]
        if x is not None and y is not None:
            notes += [
                f"{name}: {field} is {json.dumps(p)} in A and {json.dumps(q)} in B"
                for field, p, q in differing_fields(x.get("engine"), y.get("engine"), "engine")
            ]
        notes += [
            f"{name}: {side} has {count} unscored sample{'s, which count' if count > 1 else ', which counts'} "
            f"neither as correct nor as incorrect{_whatever_they_are(run, name)}"
            for side, run in (("A", a), ("B", b))
            if (count := run.tables[name].unscored)
        ]
    return notes


def _compared(
    benchmark: str,
    a: MeasuredRun,
    b: MeasuredRun,
    metrics: Sequence[str],
    ks: Sequence[int] | None,
    margin: float | None,
) -> list[Line]:
    of_a, of_b = a.tables[benchmark], b.tables[benchmark]
    counts = _counts(benchmark, of_a, of_b)
    if ks is None:
        fewest = min(counts["samples_a"], counts["samples_b"])
        ks = (fewest,) if fewest > 1 else ()
    requested = [(metric, k) for metric in metrics for k in (ks if metric in OF_K else (None,))]
    return [_line(benchmark, (a, b), metric, k, counts, margin) for metric, k in requested]


def _line(
    benchmark: str,
    runs: tuple[MeasuredRun, MeasuredRun],
    metric: str,
    k: int | None,
    counts: Mapping[str, Any],
    margin: float | None,
) -> Line:
    """One metric on one benchmark, over the problems with a value in both runs."""
    a, b = (run.tables[benchmark] for run in runs)
    of_a, of_b = common_values(a, b, metric, k)
    if metric == "avg":
        k = a.n if a.n == b.n else None
    problems = of_a.shape[1]
    trained = (runs[0].trained, runs[1].trained)
    return Line(
        benchmark=benchmark,
        name=metric_name(metric, k),
        metric=metric,
        k=k,
        a=mean_of(of_a) if problems else None,
        b=mean_of(of_b) if problems else None,
        **(paired(of_a, of_b, trained=trained, bounds=bounds_of(metric), margin=margin).parts() if problems else {}),
        **counts,
        scores_a=_seed_scores(of_a, runs[0]),
        scores_b=_seed_scores(of_b, runs[1]),
        problems=problems,
        margin=margin,
        why=None if problems else f"no problem has a value in both tables ({len({*a.problems, *b.problems})} problems)",
    )


def _means(scores: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Each training seed's mean over benchmarks."""
    return tuple(sum(of_seed) / len(of_seed) for of_seed in zip(*scores, strict=True))


def _seed_scores(values: Matrix, run: MeasuredRun) -> tuple[float, ...]:
    """The mean of each training seed of [S, P], or () without a training, or without a problem."""
    return tuple(values.mean(axis=1).tolist()) if run.trained and values.size else ()


def _counts(benchmark: str, a: VerdictTable, b: VerdictTable) -> dict[str, Any]:
    """Shared problems, and the fewest samples of a problem in each. Refuses other golds for the same problem."""
    gold_a, gold_b = a.golds, b.golds
    shared = gold_a.keys() & gold_b.keys()
    if not shared:
        first_a, first_b = (next(iter(golds), None) for golds in (gold_a, gold_b))
        raise UsageError(
            f"{benchmark}: no problem in common ({len(gold_a)} in A, such as {first_a!r}, {len(gold_b)} in B, such as "
            f"{first_b!r}). If two files name the same problems otherwise, rlvr grade FILE "
            "columns=problem_id:problem out=GRADED.jsonl names them by their text"
        )
    if differing := sorted(p for p in shared if gold_a[p] != gold_b[p]):
        first = differing[0]
        raise UsageError(
            f"{benchmark}: the gold of {len(differing)} problems differs, as of {first!r}: {gold_a[first]!r} in A, "
            f"{gold_b[first]!r} in B. rlvr grade FILE gold=GOLDS out=GRADED.jsonl grades each by the golds of one file"
        )
    counts = {"shared": len(shared), "only_a": len(gold_a) - len(shared), "only_b": len(gold_b) - len(shared)}
    for side, table in (("a", a), ("b", b)):
        counts[f"samples_{side}"] = int(table.generated[table.generated > 0].min())
        counts[f"seeds_{side}"] = len(table.seeds)
    return counts

"""Compare two methods, and say what a difference needs to be resolved."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from harness.errors import UsageError, choose
from rlvr.results import Result

if TYPE_CHECKING:
    from evals.notebook import Printed
    from evals.plots.plot import Plot
    from evals.stats.compare import CompareResult
    from harness.tables.measured import Measured
    from rlvr.runs import Run

PathLike = str | os.PathLike[str]


class Difference(Result):
    """Method a minus method b, paired by problem, with Holm's correction over the benchmarks of each metric."""

    def __init__(self, result: CompareResult) -> None:
        from rlvr.compare_text import as_text, printed

        document = result.as_dict()
        super().__init__(document, lambda: as_text(result), document["lines"], printed=[printed(result)])
        self.result = result

    @property
    def lines(self) -> list[dict[str, Any]]:
        """One dictionary for each benchmark and metric: a, b, difference, low, high, p_value, p_holm, verdict, ..."""
        lines: list[dict[str, Any]] = self.document["lines"]
        return lines

    @property
    def notes(self) -> list[str]:
        """Warnings, and what was measured differently in the two runs."""
        return [*(f"measured differently: {text}" for text in self.result.different), *self.result.notes]

    def plot(self) -> Plot:
        """The differences with their intervals, one row for each benchmark and metric; `figure` is matplotlib's."""
        from evals.plots.comparison import differences

        return differences(self.result)

    def formats(self) -> dict[str, Callable[[], str | bytes]]:
        return super().formats() | {f".{form}": lambda form=form: self.plot().rendered(form) for form in ("svg", "png")}


def compare(
    a: PathLike | Run | None = None,
    b: PathLike | Run | None = None,
    *,
    paper: str | None = None,
    arm: Sequence[str] | None = None,
    scale: str = "tiny",
    model: str | None = None,
    metrics: Sequence[str] | None = None,
    ks: Sequence[int] | int | None = None,
    benchmarks: Sequence[str] | None = None,
    margin: float | None = None,
    allow_different: bool = False,
    **values: Any,
) -> Difference:
    """The differences of two methods on the same problems: A minus B, paired by problem.

        rlvr compare paper=egsw arm=egsw,grpo
        rlvr compare ours.jsonl theirs.jsonl out=difference.svg

    Args:
        a: a job's folder, the folder of an evaluation, or a file of verdicts (as rlvr grade out=FILE writes), or the
            beginning of a name that rlvr show prints; training seeds of one method are joined by commas: a0,a1,a2.
        b: likewise.
        paper: instead of A and B: two arms of this paper, with all their finished training seeds under RLVR_HOME.
        arm: those arms, as arm=mine,grpo.
        scale: of the arms.
        model: of the arms: their base model, where several were trained.
        metrics: of avg, pass, maj (these are the default), unsolvable, fmt, mean_tokens, truncation_rate.
        ks: for pass, maj, unsolvable (default: the fewest samples of a problem).
        benchmarks: some of those in both.
        margin: a difference up to this size (a fraction, as 0.01) counts as none: adds the verdict equal.
        allow_different: compare even if protocol, prompt, decoding or data differ; the output says what differs.
        **values: of the arms, where they were trained with several: egsw.alpha=0.5.
    Raises:
        UsageError: no such run, no problem in common, other golds, or measured differently.
    """
    from rlvr.evaluation import at_least_one

    if paper is None and (a is None or b is None):  # before anything heavy is imported
        raise UsageError("b: missing; give two runs, or paper=KEY arm=A,B")
    from evals.stats.verdict_table import METRICS

    metrics = choose("metrics", metrics, METRICS, default=["avg", "pass", "maj"])
    ks = at_least_one("ks", ks)
    if margin is not None and not 0 < margin < 1:
        raise UsageError(f"margin={margin}: expected a fraction between 0 and 1, as 0.01 for one point")
    if paper is not None and (a is not None or b is not None):
        raise UsageError(f"paper={paper}: expected it with arm=A,B, or two runs, not both")
    if paper is None and values:
        raise UsageError(f"{next(iter(values))}: no such key of two runs")
    from evals.stats.compare import compare_runs
    from harness.record.find import method

    first, second = (
        method(os.fspath(run)) if isinstance(run, (str, os.PathLike)) else cast("Run", run).measured
        for run in ((a, b) if paper is None else _two_arms(paper, arm, scale, model, values))
    )
    given: dict[str, Any] = {"metrics": metrics, "ks": ks, "benchmarks": benchmarks, "margin": margin}
    try:
        return Difference(compare_runs(first, second, **given, allow_different=allow_different))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _two_arms(
    paper: str, arms: Sequence[str] | None, scale: str, model: str | None, values: Mapping[str, Any]
) -> list[Run]:
    """The two arms of a paper, each with all its finished training seeds under RLVR_HOME."""
    from harness.record.find import runs
    from harness.runs.track import home
    from harness.spec import catalogue
    from harness.tables.measured import comparable, gather, same_setting
    from rlvr.runs import read_run

    choose("paper", [paper], catalogue.papers())
    if arms is None or len(arms) != 2:
        raise UsageError(f"arm: expected two arms, as arm=mine,grpo, got {','.join(arms or []) or 'none'}")

    def given(m: Measured) -> set[str]:
        """The keys of `values` that an arm has, if they have these values."""
        settings = next(iter(m.runs.values())).settings
        return {key for key, value in values.items() if str(settings.get(key, {}).get("value")) == str(value)}

    found = [m for m in gather(paper, [r for r in runs(paper=paper, scale=scale) if r.arm in arms]) if m.seeds]
    pairs = [
        (a, b)
        for a in found
        for b in found
        if [a.arm, b.arm] == [*arms] and same_setting(a, b) and comparable(a, b) and model in (None, a.model)
        if given(a) | given(b) == values.keys()
    ]
    each = [" ".join(dict.fromkeys((f"model={a.model}", *a.replaced, *b.replaced))) for a, b in pairs]
    if not pairs:
        there = ", ".join(m.label(f"{m.model}/{m.arm}") for m in found) or "none"
        raise UsageError(f"arm={','.join(arms)}: expected finished runs of both in {home()}, found {there}")
    if len(pairs) > 1:
        which = "Give what tells them apart, a declared value too"
        raise UsageError(f"arm={','.join(arms)}: both were trained with: {'; '.join(each)}. {which}")
    return [
        read_run(
            *(m.runs[seed].folder for seed in m.seeds), name=f"{m.arm} ({len(m.seeds)} seed{'s' * (len(m.seeds) > 1)})"
        )
        for m in pairs[0]
    ]


def power(
    difference: float | None = None,
    *,
    benchmark: str | None = None,
    problems: int | None = None,
    samples: Sequence[int] | int | None = None,
    seeds: Sequence[int] | int | None = None,
    power: float = 0.8,
    runs: Sequence[str] | None = None,
    aa: bool = False,
    paper: str | None = None,
    **values: Any,
) -> Result:
    """What a difference needs: samples and training seeds. What a paper's claims need: seeds, hours, a price.

        rlvr power difference=0.02 benchmark=math500
        rlvr power paper=egsw hardware=h100x8
        rlvr power aa=true 'runs=[RUNS_OF_ONE_ARM]'

    Args:
        difference: between the two methods' scores, as a fraction.
        benchmark: its number of problems, and what is published about its noise.
        problems: how many problems (default: the benchmark's).
        samples: what to try (default 1,4,16,64).
        seeds: what to try, for each method (default 1,3,5,10).
        power: the chance to resolve the difference.
        runs: measure the noise on one run (see rlvr compare), and how much the difference varies over problems on two:
            runs=[A,B].
        aa: instead split the training seeds of the runs, one method, at random into two sides and count the verdicts:
            all are false, and 5 percent of them are allowed.
        paper: instead the seeds that resolve the differences that its tables print, claim by claim, the main one first.
        **values: the model's values as fractions (evals/stats/power.py): within_sd= difference_sd= seed_sd=. With
            paper=, options of `rlvr plan`: hardware= (default h100x8), hardware.KEY=, backend=, protocol.n=, ...
    Raises:
        UsageError: a value out of range, or nothing to compute a power of.
    """
    from rlvr.evaluation import at_least_one

    samples, seeds = at_least_one("samples", samples), at_least_one("seeds", seeds)
    if aa:
        return _aa(runs or [], seeds)
    if not 0 < power < 1:
        raise UsageError(f"power: expected a number between 0 and 1, got {power:g}")
    if paper is not None:
        named = {"difference": difference, "benchmark": benchmark, "problems": problems, "samples": samples}
        for key, value in {**named, "seeds": seeds, "runs": runs}.items():
            if value is not None:
                raise UsageError(
                    f"{key}={value}: expected paper={paper} without it; the paper's tables and protocol say it"
                )
        machine = {} if any(key.startswith("hardware") for key in values) else {"hardware": "h100x8"}
        return _claims(paper, machine | values, power)
    if difference is None:
        raise UsageError("difference: missing; give difference=0.05 (a fraction), paper=KEY, or aa=true")
    from evals.data import benchmarks
    from evals.stats.power import MOST, chance, default_spread, measured_spread, seeds_needed
    from harness.record.find import check_names, method

    names = runs or []
    if benchmark is not None and not names:
        choose("benchmark", [benchmark], benchmarks.names())
    if len(names) > 2:
        raise UsageError(f"runs: expected one run or two, got {len(names)}")
    check_names(*names)
    try:
        noise = default_spread(benchmark or "")
        choose("key", list(values), noise.sourced())
        if names:
            measured = [method(text) for text in names]
            shared = [name for name in measured[0].tables if name in measured[-1].tables]
            if benchmark is None and len(shared) == 1:
                (benchmark,) = shared
            if benchmark is None or benchmark not in shared:
                raise UsageError(f"benchmark={benchmark}: expected one of {', '.join(shared) or 'none'}")
            first, *other = [run.tables[benchmark] for run in measured]
            if problems is None and benchmark not in benchmarks.names():  # your own
                problems = len(first.problems)
            noise = measured_spread(first, " and ".join(names), fallback=noise, other=other[0] if other else None)
        noise = noise.override({key: float(value) for key, value in values.items()}, "command line")
        if problems is None and benchmark is None:
            raise UsageError("benchmark: missing; give benchmark=NAME, problems=N or runs=[RUN]")
        problems = problems or benchmarks.count(benchmark or "")
        rows, flat, cells = [], [], []
        for n in samples or (1, 4, 16, 64):
            sizes = {"problems": problems, "samples": n}
            chances = {str(k): chance(difference, noise, **sizes, seeds=k) for k in seeds or (1, 3, 5, 10)}
            needed = seeds_needed(difference, noise, **sizes, target_power=power)
            rows.append({"samples": n, "power_by_seeds": chances, "seeds_needed": needed})
            shares = {f"{k} seed{'s' * (k != '1')}": c for k, c in chances.items()}
            flat.append({"samples": n, **{k: round(c, 4) for k, c in shares.items()}, f"seeds for {power:.0%}": needed})
            cells.append((f"{n}", *(f"{c:.0%}" for c in shares.values()), f"{needed or f'> {MOST}'}"))
    except ValueError as error:
        raise UsageError(str(error)) from error
    model = {key: sourced.as_dict() for key, sourced in noise.sourced().items()}
    said = {"difference": difference, "power": power, "benchmark": benchmark, "problems": problems}
    document = {**said, "model": model, "most": MOST, "rows": rows}
    table = (list(flat[0]), cells)
    return Result(document, lambda: _power_text(said, model, table), flat, printed=[table])


def _power_text(said: Mapping[str, Any], model: Mapping[str, Any], table: Printed) -> str:
    from evals.notebook import text_table
    from evals.stats.intervals import MIN_SEEDS

    lines = [
        f"The chance to resolve a difference of {100 * said['difference']:g} points between two methods on the same "
        f"{said['problems']} problems, two-sided test at the 5 % level; seeds are for each method.",
        text_table(*table),
        f"With fewer than {MIN_SEEDS} seeds the test covers problems only, not other training seeds.",
        "Standard deviations in points, and where they come from:",
    ]
    for key, of in model.items():
        source = of["note"] if of["note"].startswith("measured") else f"{of['origin']}: {of['note']}"
        lines.append(f"  {key:<14} {100 * of['value']:>5.1f}  {source}")
    return "\n".join(lines)


def _claims(paper: str, values: Mapping[str, Any], target: float) -> Result:
    """For each claim about accuracies whose difference the paper prints, in its order, and each base model."""
    from evals.data import benchmarks
    from evals.notebook import text_table
    from evals.stats.power import default_spread, seeds_of_claim
    from harness.launch.prepare import declaration, planned
    from harness.spec import catalogue
    from rlvr.terminal import paragraph

    declared, run = declaration(paper), ""
    rows: list[dict[str, Any]] = []
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for cell in catalogue.published(paper):
        if cell.metric.startswith("avg") and cell.benchmark in benchmarks.names():
            scores.setdefault((cell.model, cell.arm), {})[cell.benchmark] = cell.value / 100
    for claim in declared.claims:
        ours = claim.arm and "avg" in claim.compared and not (claim.curve or claim.than_model or claim.margin)
        for model in declared.claimed_models(claim) if ours else ():
            one, other = (scores.get((model, arm), {}) for arm in (claim.arm, claim.than))
            printed = {b: one[b] - other[b] for b in claim.benchmarks or one if b in one and b in other}
            if not printed:
                continue
            options = {"model": model, "arm": [claim.than, claim.arm], "protocol.benchmarks": list(printed), **values}
            arms = planned(paper, {**options, "scale": "paper", "seeds": 1}, check=False)["arms"]
            n = arms[0]["settings"]["protocol.n"]["value"]
            samples = {b: n if isinstance(n, int) else n.get(b, n["default"]) for b in printed}
            parts = [(d, default_spread(b), benchmarks.count(b), samples[b]) for b, d in printed.items()]
            seeds = seeds_of_claim(claim.over, parts, target)
            row: dict[str, Any] = {"claim": claim.text, "model": model, "printed": printed, "seeds": seeds}
            row |= {key: getattr(claim, key) for key in ("where", "arm", "than", "over")}
            for key in ("gpu_hours", "price"):
                each = [(arm["cost_per_run"][key], seeds if arm["method"] else 1) for arm in arms]
                known = seeds is not None and all(cost is not None for cost, _ in each)
                row[key] = sum(cost * runs for cost, runs in each) if known else None
            row["cannot run"] = next((arm["refused"] for arm in arms if arm["refused"]), None)
            rows.append(row)
            if not run and seeds is not None and row["cannot run"] is None:
                words = {"paper": paper, **options, "seeds": seeds, "scale": "paper"}
                shown = {k: f"[{','.join(v)}]" if isinstance(v, list) else v for k, v in words.items()}
                run = shlex.join(["rlvr", "run", *(f"{key}={value}" for key, value in shown.items())])
    if not rows:
        raise UsageError(f"paper={paper}: none of its claims compares accuracies that its tables print")
    cells = [
        (
            f"{row['model']}: {row['arm']} - {row['than']}",
            f"{row['over']} of {len(row['printed'])}" if len(row["printed"]) > 2 else ", ".join(row["printed"]),
            f"{100 * sum(row['printed'].values()) / len(row['printed']):+.1f}",
            *("–" if row[key] is None else f"{row[key]:,.0f}" for key in ("seeds", "gpu_hours", "price")),
        )
        for row in rows
    ]
    notes = [
        "printed: the mean difference in points. seeds: of each trained arm, with which the protocol's samples resolve "
        f"it with a chance of {target:.0%}; –: no number of them, more problems would be needed.",
        *dict.fromkeys(f"cannot run: {row['cannot run']}" for row in rows if row["cannot run"]),
    ]
    table = text_table(("claim", "benchmarks", "printed", "seeds", "GPU-hours", "USD"), cells, left=2)
    first = [f"the first claim that can be resolved:\n  {run}"] if run else []
    text = "\n".join([table, *map(paragraph, notes), *first])
    return Result({"paper": paper, "power": target, "claims": rows, "run": run or None}, text, rows)


def _aa(names: Sequence[str], sizes: Sequence[int] | None) -> Result:
    from tabulate import tabulate

    from evals.stats.aa import SIZES, aa
    from evals.stats.verdict_table import complete
    from harness.record.find import check_names, method

    if len(names) != 1:
        raise UsageError(f"runs: expected the runs of one method (a glob of folders) with aa=true, got {len(names)}")
    check_names(*names)
    tables = {name: table.values("avg") for name, table in method(names[0]).tables.items()}
    try:
        rates = aa({name: v[:, complete(v)] for name, v in tables.items()}, sizes=sizes or SIZES)
    except ValueError as error:
        raise UsageError(f"runs={names[0]}: {error}") from error
    rows = []
    for rate in rates:
        about = {"verdicts about": "the method" if rate.about_method else "checkpoints"}
        share = {"share": round(rate.false / rate.splits, 4), "low": round(rate.low, 4), "high": round(rate.high, 4)}
        rows.append({**vars(rate), **about, **share, **rate.by_benchmark})
        del rows[-1]["by_benchmark"]
    head = f"{names[0]} against itself: the seeds split into two sides; every verdict is false, 5 % of them are allowed"
    return Result({"runs": names[0], "rates": rows}, lambda: f"{head}\n\n{tabulate(rows, 'keys')}", rows)

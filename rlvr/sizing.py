"""The needs of a difference to be resolved, those of a paper's claims, and how often a comparison errs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evals.notebook import Block, Table
from harness.errors import UsageError, choose
from rlvr.results import Result

if TYPE_CHECKING:
    from evals.stats.power import Spread
    from harness.plan.seeds import ClaimSeeds


def power(
    difference: float,
    *,
    benchmark: str | None = None,
    problems: int | None = None,
    samples: Sequence[int] | int | None = None,
    seeds: Sequence[int] | int | None = None,
    power: float = 0.8,
    runs: Sequence[str] | None = None,
    **values: float,
) -> Result:
    """Say how many samples and training seeds a difference needs.

        rlvr power difference=0.02 benchmark=math500

    Args:
        difference: the difference between the two methods' scores, as a fraction.
        benchmark: a benchmark by name: its number of problems, and what is published about its noise.
        problems: number of problems (default: the benchmark's number).
        samples: numbers of samples per problem to try (default: 1,4,16,64).
        seeds: numbers of training seeds per method to try (default: 1,3,5,10).
        power: the chance to resolve the difference.
        runs: one run: measure its noise. Two runs, runs=[A,B]: also measure how much their difference varies over
            problems. Runs have the forms of `rlvr compare`.
        **values: values of the model as fractions (evals/stats/power.py): within_sd= difference_sd= seed_sd=.

    Raises:
        UsageError: a value out of range, or nothing to compute a power of.
    """
    from rlvr.evaluation import at_least_one

    samples, seeds = at_least_one("samples", samples), at_least_one("seeds", seeds)
    _check_power(power)
    from evals.data import benchmarks
    from evals.stats.power import MOST, default_spread
    from harness.record.find import check_names

    names = runs or []
    if benchmark is not None and not names:
        choose("benchmark", [benchmark], benchmarks.names())
    if len(names) > 2:
        raise UsageError(f"runs: expected one run or two, got {len(names)}")
    check_names(*names)
    noise, note = default_spread(benchmark or ""), ""
    choose("key", list(values), noise.sourced())
    if names:
        benchmark, problems, noise, note = _measured(names, benchmark, problems, noise)
    noise = noise.override(values, "command line")
    if problems is None and benchmark is None:
        raise UsageError("benchmark: missing. Give benchmark=NAME, problems=N or runs=[RUN]")
    if problems is None:
        problems = benchmarks.count(benchmark or "")
    cells = [_cell(difference, noise, problems, n, seeds or (1, 3, 5, 10), power) for n in samples or (1, 4, 16, 64)]
    model = {key: sourced.as_dict() for key, sourced in noise.sourced().items()}
    facts: dict[str, object] = {"difference": difference, "power": power, "benchmark": benchmark, "problems": problems}
    facts |= {"runs": [*names], "note": note or None}
    document = {**facts, "model": model, "most": MOST, "rows": [cell.as_dict() for cell in cells]}
    table, *checkpoints = tables = _power_tables(cells, power)
    flat = [cell.flat(power) for cell in cells]
    return Result(document, lambda: _power_report(facts, model, table, checkpoints), flat, printed=tables)


def _measured(
    names: Sequence[str], benchmark: str | None, problems: int | None, noise: Spread
) -> tuple[str, int | None, Spread, str]:
    """The benchmark, its number of problems, the noise of one run or of two, and a note on what limits it.

    Raises:
        UsageError: the runs do not share the benchmark, or share several and none is named.
    """
    from evals.data import benchmarks
    from evals.stats.compare import measured_differently
    from evals.stats.power import measured_spread
    from harness.record.find import method

    runs = [method(text) for text in names]
    shared = [name for name in runs[0].tables if name in runs[-1].tables]
    if benchmark is None and len(shared) == 1:
        (benchmark,) = shared
    if benchmark is None or benchmark not in shared:
        got = "missing" if benchmark is None else f"got {benchmark}"
        expected = f"one of {', '.join(shared)}" if shared else "one that both were measured on; they share none"
        raise UsageError(f"benchmark: {got}. Expected {expected}")
    first, other = runs[0].tables[benchmark], runs[1].tables[benchmark] if len(runs) > 1 else None
    if problems is None and benchmark not in benchmarks.names():  # your own
        problems = len(first.problems)
    both = " and ".join(names)
    measured = measured_spread(first, both, fallback=noise, second=other)
    if measured is noise:
        note = f"Nothing could be measured on {both}: the samples of each problem are all correct or all wrong."
    elif other is not None and (unlike := measured_differently(runs[0], runs[1], benchmark)):
        note = f"MEASURED DIFFERENTLY, so that difference_sd is not of the models alone: {'; '.join(unlike)}."
    else:
        note = ""
    return benchmark, problems, measured, note


@dataclass(frozen=True)
class _Cell:
    """The power at one number of samples: by number of seeds, and the seeds that the asked power needs."""

    samples: int
    chances: Mapping[int, float]
    seeds_needed: int | None

    def methods(self) -> dict[str, float]:
        """Chances of a test about methods, which counts seeds."""
        from evals.stats.intervals import MIN_SEEDS

        return {f"{k} seeds": chance for k, chance in self.chances.items() if k >= MIN_SEEDS}

    def checkpoints(self) -> dict[str, float]:
        """Chances of a test about checkpoints, which counts problems alone."""
        from evals.stats.intervals import MIN_SEEDS

        return {f"{k} seed{'s' * (k != 1)}": chance for k, chance in self.chances.items() if k < MIN_SEEDS}

    def as_dict(self) -> dict[str, object]:
        by_seeds = {str(k): chance for k, chance in self.chances.items()}
        return {"samples": self.samples, "power_by_seeds": by_seeds, "seeds_needed": self.seeds_needed}

    def flat(self, power: float) -> dict[str, object]:
        """A row of a table of values."""
        methods = {name: round(chance, 4) for name, chance in self.methods().items()}
        checkpoints = {f"{name}, problems only": round(chance, 4) for name, chance in self.checkpoints().items()}
        return {"samples": self.samples, **methods, f"seeds for {power:.0%}": self.seeds_needed, **checkpoints}


def _cell(difference: float, noise: Spread, problems: int, samples: int, seeds: Sequence[int], power: float) -> _Cell:
    from evals.stats.power import chance, seeds_needed

    sizes = {"problems": problems, "samples": samples}
    chances = {k: chance(difference, noise, **sizes, seeds=k) for k in seeds}
    return _Cell(samples, chances, seeds_needed(difference, noise, **sizes, target_power=power))


def _power_tables(cells: Sequence[_Cell], power: float) -> list[Table]:
    """The table of methods, and the one of checkpoints, if it was asked for."""
    from evals.stats.power import MOST

    head = ["samples", *cells[0].methods(), f"seeds for {power:.0%}"]
    needed = [f"{cell.seeds_needed or f'> {MOST}'}" for cell in cells]
    shares = [[f"{chance:.0%}" for chance in cell.methods().values()] for cell in cells]
    rows = [(f"{c.samples}", *row, n) for c, row, n in zip(cells, shares, needed, strict=True)]
    if not (single := cells[0].checkpoints()):
        return [Table(head, rows)]
    alone = [(f"{c.samples}", *(f"{chance:.0%}" for chance in c.checkpoints().values())) for c in cells]
    return [Table(head, rows), Table(["samples", *single], alone)]


def _check_power(power: float) -> None:
    if not 0 < power < 1:
        raise UsageError(f"power: expected a number between 0 and 1, got {power:g}")


_ADVICE = (
    "Yours may differ from one paper's and from assumptions: runs=[A,B] measures them on runs of two methods.",
    "difference_sd is measured on two methods, runs=[A,B], and seed_sd on three training seeds of one, runs='[NAME*]'.",
    "seed_sd is measured on three training seeds of a method, all whose names begin alike: runs='[NAME*,B]'.",
)  # with no run, one, two


def _power_report(
    facts: Mapping[str, Any], model: Mapping[str, Any], table: Table, checkpoints: Sequence[Table]
) -> list[Block]:
    """`checkpoints`: the table of the test that covers problems alone, if it was asked for."""
    from evals.stats.intervals import MIN_SEEDS

    lines: list[Block] = [
        f"The chance to resolve a difference of {100 * facts['difference']:g} points between two methods on the same "
        f"{facts['problems']} problems, two-sided test at the 5 % level. Seeds are for each method.",
        table,
    ]
    for apart in checkpoints:
        lines += [
            f"Another test, with fewer than {MIN_SEEDS} seeds: do two checkpoints differ? It ignores other seeds.",
            apart,
        ]
    lines += [
        "Standard deviations in points, and where they come from:",
    ]
    for key, value in model.items():
        source = value["note"] if value["note"].startswith("measured") else f"{value['origin']}: {value['note']}"
        lines.append(f"  {key:<14} {100 * value['value']:>5.1f}  {source}")
    if facts["note"]:
        lines.append(facts["note"])
    elif any(not value["note"].startswith("measured") and value["origin"] != "user" for value in model.values()):
        lines.append(_ADVICE[min(2, len(facts["runs"]))])
    return lines


def seeds(paper: str, *, power: float = 0.8, **values: object) -> Result:
    """Say how many training seeds a paper's claims need, with hours and a price.

        rlvr seeds paper=egsw hardware=h100x8

    The table has one row per claim and base model, in the paper's order. A claim has a row only if the paper's
    tables give its difference in accuracy. The row says how many seeds resolve a difference of that size, with the
    samples of the protocol.

    Args:
        paper: the paper's key. `rlvr list` shows the keys.
        power: the chance to resolve the difference.
        **values: options of `rlvr plan`: hardware= (default: h100x8), hardware.KEY=, backend=, protocol.n=, ...

    Raises:
        UsageError: a value out of range, or a paper without such a claim.
    """
    _check_power(power)
    for key in ("seeds", "scale", "model", "arm", "arms"):
        if key in values:
            raise UsageError(f"{key}={values[key]}: no such option. Every claim of the paper is planned at paper scale")
    if not any(key.startswith("hardware") for key in values):
        values["hardware"] = "h100x8"
    from harness.launch.prepare import declaration, planned
    from harness.plan.seeds import claim_seeds

    rows = list(claim_seeds(declaration(paper), values, power, partial(planned, paper, check=False)))
    if not rows:
        raise UsageError(f"paper={paper}: none of its claims compares accuracies that its tables print")
    run = next((row.command(paper) for row in rows if row.can_run), None)
    documents = [row.as_dict() for row in rows]
    document = {"paper": paper, "power": power, "claims": documents, "run": run}
    return Result(document, lambda: _seeds_report(rows, power, run), documents)


def _seeds_report(rows: Sequence[ClaimSeeds], power: float, run: str | None) -> list[Block]:
    """A table of the claims, notes, and the first command that can run."""
    from rlvr.terminal import paragraph

    cells = [
        (
            f"{row.model}: {row.claim.arm} - {row.claim.than}",
            f"{row.claim.over} of {len(row.printed)}" if len(row.printed) > 2 else ", ".join(row.printed),
            f"{100 * sum(row.printed.values()) / len(row.printed):+.1f}",
            *("–" if value is None else f"{value:,.0f}" for value in (row.seeds, row.gpu_hours, row.price)),
        )
        for row in rows
    ]
    reasons = {"cannot run": [row.cannot_run for row in rows], "does not fit": [row.does_not_fit for row in rows]}
    notes = [
        "printed: the mean difference in points. seeds: of each trained arm, with which the protocol's samples resolve "
        f"it with a chance of {power:.0%}; –: no number of them, more problems would be needed.",
        *dict.fromkeys(f"{what}: {why}" for what, each in reasons.items() for why in each if why),
    ]
    table = Table(("claim", "benchmarks", "printed", "seeds", "GPU-hours", "USD"), cells, left=2)
    first = [] if run is None else [f"the first claim that can be resolved:\n  {run}"]
    return [table, *map(paragraph, notes), *first]


def aa(runs: str, *, seeds: Sequence[int] | int | None = None) -> Result:
    """Test the comparison itself: compare a method with itself, and count false verdicts.

        rlvr aa 'RUNS_OF_ONE_ARM'

    The training seeds of one method are split at random into two sides, many times. Both sides are the same method.
    With three or more seeds per side, every verdict "higher" or "lower" is therefore false. If the comparison works,
    at most 5 % of the splits have a false verdict. With fewer seeds, a verdict is about these checkpoints only. Two
    checkpoints of one method can truly differ, so such a verdict is not false.

    share is the share of splits with a verdict on at least one benchmark. low and high are its 95 % interval.

    Args:
        runs: the training seeds of one method: folders, names of runs, or their beginnings. Join them with commas, or
            write * for the rest ('tiny-grpo*').
        seeds: numbers of seeds per side (default: 1, 3, 5 and 10, if there are enough).

    Raises:
        UsageError: no such runs, or too few seeds.
    """
    from evals.stats.aa import SIZES
    from evals.stats.aa import aa as false_verdicts
    from evals.stats.verdict_table import complete
    from harness.record.find import check_names, method
    from rlvr.evaluation import at_least_one

    runs = runs.removeprefix("[").removesuffix("]")
    check_names(runs)
    tables = {name: table.values("avg") for name, table in method(runs).tables.items()}
    available = min((len(values) for values in tables.values()), default=0)
    sizes = at_least_one("seeds", seeds) or SIZES
    if seeds is not None and (many := [size for size in sizes if 2 * size > available]):
        raise UsageError(f"seeds={many[0]}: two sides need {2 * many[0]} training seeds of the method, got {available}")
    rates = false_verdicts({name: v[:, complete(v)] for name, v in tables.items()}, sizes=sizes)
    rows = []
    for rate in rates:
        about = {"verdicts about": "the method" if rate.about_method else "checkpoints"}
        share = {"share": round(rate.false / rate.splits, 4), "low": round(rate.low, 4), "high": round(rate.high, 4)}
        rows.append({**vars(rate), **about, **share, **rate.by_benchmark})
        del rows[-1]["by_benchmark"]
    head = (
        f"{runs} against itself: the seeds split into two sides; a verdict about the method is false, 5 % of them are "
        "allowed; one about checkpoints (fewer than three seeds a side) is not: they do differ\n"
        "splits: tried; disjoint: the most that share no run; share: of the splits with a verdict on some benchmark; "
        "low, high: its 95 % interval"
    )
    cells = [[f"{value:g}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    table = Table([*rows[0]], cells, left=0)
    return Result({"runs": runs, "rates": rows}, lambda: [head, "", table], rows)

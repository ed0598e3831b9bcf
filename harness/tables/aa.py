"""The page of an A/A test: training seeds of an arm against other seeds of the same arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.stats.aa import SplitRate, aa_test, untrained_test
from evals.stats.score import NONE, number_text
from evals.stats.verdict_table import complete
from harness.errors import UsageError, nearest
from harness.spec.scales import SCALES
from harness.tables.grid import Grid
from harness.tables.measured import Measured

WANTED = 20  # runs


def pick(measured: Sequence[Measured], *, scale: str, model: str | None, arms: Sequence[str]) -> list[Measured]:
    """The arms to test: trained arms of one scale and base model, each with the fewest overrides.

    Raises:
        UsageError: an arm that was not measured, was not trained, or has fewer than two seeds.
    """
    here = [m for m in measured if m.scale == scale and m.trained and model in (None, m.model)]
    chosen = []
    for arm in arms:
        versions = sorted((m for m in here if m.arm == arm), key=lambda m: (-len(m.seeds), len(m.replaced)))
        if not versions:
            known = list(dict.fromkeys(m.arm for m in here))
            raise UsageError(
                f"arm={arm}: no trained arm at {scale} scale; {nearest(arm, known) if known else 'none is'}"
            )
        if len(versions[0].seeds) < 2:
            raise UsageError(f"arm={arm}: expected at least two training seeds, got {len(versions[0].seeds)}")
        chosen.append(versions[0])
    return chosen


@dataclass(frozen=True)
class Tested:
    """The A/A test of one arm: against itself, and against an untrained model that is equal to it."""

    arm: Measured
    itself: Sequence[SplitRate]
    untrained: Sequence[SplitRate]


def tested(m: Measured, *, sizes: Sequence[int], splits: int, seed: int) -> Tested:
    """In mean accuracy on the arm's benchmarks."""
    tables = {}
    for benchmark in m.verdicts:
        values = m.held(benchmark).values("avg")
        tables[benchmark] = values[:, complete(values)]
    return Tested(
        m,
        aa_test(tables, sizes=sizes, splits=splits, seed=seed),
        untrained_test(tables, sizes=sizes, splits=splits, seed=seed),
    )


def document(paper: str, of_arms: Sequence[Tested]) -> dict[str, Any]:
    """One JSON document."""
    return {
        "paper": paper,
        "arms": [
            {
                "arm": t.arm.arm,
                "model": t.arm.model,
                "scale": t.arm.scale,
                "runs": len(t.arm.seeds),
                "seed_sd": _spread(t.arm),
                "rates": [asdict(rate) for rate in t.itself],
                "against_untrained": [asdict(rate) for rate in t.untrained],
            }
            for t in of_arms
        ],
    }


def page(paper: str, command: str, of_arms: Sequence[Tested]) -> str:
    """The Markdown page."""
    lines = [
        f"# A/A test: {paper}",
        "",
        f"Written by `{command}` from the verdicts in MLflow; not edited by hand. "
        f"{SCALES[of_arms[0].arm.scale].label}.",
        "",
        "The training runs of one arm are split at random into two disjoint sides, which are compared as a table of "
        "differences compares two arms: avg, paired by problem, interval over problems and seeds, Holm over the "
        "benchmarks. Both sides are the same method, so every verdict is a false positive; 5 % of them are allowed. "
        "With one seed a side no verdict about a method is possible: the words then are about two checkpoints, and "
        "the first row counts how often these differ.",
        "",
    ]
    for t in of_arms:
        m, rows = t.arm, t.itself
        benchmarks = list(m.verdicts)
        spread = ", ".join(f"{name} {number_text(sd, 100)}" for name, sd in _spread(m).items())
        grid = Grid(
            f"{m.label(m.arm)}: {len(m.seeds)} runs",
            (
                "seeds a side",
                "splits (at once disjoint)",
                "false verdicts",
                "share [95 %]",
                "two checkpoints differ",
                *benchmarks,
            ),
            tuple(_row(rate, benchmarks) for rate in rows),
            (
                f"Standard deviation over seeds, points: {spread}. A benchmark's column counts the verdicts (with one "
                "seed: the words about checkpoints) on it. Splits overlap where there are more than can be disjoint at "
                "once. Interval: the jackknife over runs; where no split has a verdict, Clopper and Pearson's for the "
                "disjoint ones.",
                *((f"{m.divergence()}; excluded.",) if m.diverged else ()),
                *(
                    (f"Fewer than {WANTED} runs: the shares of many seeds a side rest on few different splits.",)
                    if len(m.seeds) < WANTED
                    else ()
                ),
            ),
        )
        lines += [grid.markdown(), _untrained(m, t.untrained).markdown()]
    return "\n".join(lines)


def _untrained(m: Measured, rates: Sequence[SplitRate]) -> Grid:
    benchmarks = list(m.verdicts)
    return Grid(
        f"{m.label(m.arm)} against an untrained model that is equal to it",
        ("seeds", "choices (at once disjoint)", "false verdicts", "share [95 %]", *benchmarks),
        tuple(
            (
                str(rate.seeds),
                f"{rate.splits} ({rate.disjoint})",
                str(rate.false),
                _share(rate, rate.false),
                *(str(rate.by_benchmark[name]) for name in benchmarks),
            )
            for rate in rates
        ),
        (
            "Some of the runs against a constructed model without seeds. Its value on each problem lies between the "
            "mean of these runs and that of the others, where the difference has the variance that it would have "
            "against the method's own mean (evals.stats.aa.untrained_test). One side has no seeds, as with a trained "
            "arm and its base model, so a skew of the seeds does not cancel.",
        ),
    )


def _share(rate: SplitRate, counted: int) -> str:
    low, high = number_text(rate.low, 100), number_text(rate.high, 100)
    return f"{number_text(counted / rate.splits, 100)} % [{low}, {high}]"


def _row(rate: SplitRate, benchmarks: Sequence[str]) -> tuple[str, ...]:
    counted = rate.checkpoints if rate.seeds == 1 else rate.false
    share = _share(rate, counted)
    return (
        str(rate.seeds),
        f"{rate.splits} ({rate.disjoint})",
        str(rate.false),
        "none possible" if rate.seeds == 1 else share,
        share if rate.seeds == 1 else NONE,
        *(str(rate.by_benchmark[name]) for name in benchmarks),
    )


def _spread(m: Measured) -> dict[str, float]:
    """Benchmark -> the standard deviation of the seeds' means."""
    spread = {}
    for benchmark in m.verdicts:
        values = m.held(benchmark).values("avg")
        spread[benchmark] = float(values[:, complete(values)].mean(axis=1).std(ddof=1))
    return spread

"""The A/A test of an arm's runs, and its page."""

from __future__ import annotations

from collections.abc import Sequence

from evals.stats.aa import SIZES, SplitRate, aa
from evals.stats.verdict_table import complete
from harness.errors import UsageError, nearest
from harness.spec.scales import SCALES
from harness.tables.grid import Grid
from harness.tables.measured import Measured


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
            trained = list(dict.fromkeys(m.arm for m in here))
            raise UsageError(
                f"arm={arm}: no trained arm at {scale} scale; {nearest(arm, trained) if trained else 'none is'}"
            )
        if len(versions[0].seeds) < 2:
            raise UsageError(f"arm={arm}: expected at least two training seeds, got {len(versions[0].seeds)}")
        chosen.append(versions[0])
    return chosen


def aa_of(m: Measured, *, sizes: Sequence[int] = SIZES) -> list[SplitRate]:
    """In mean accuracy on the arm's benchmarks."""
    tables = {}
    for benchmark in m.verdicts:
        values = m.verdicts[benchmark].values("avg")
        tables[benchmark] = values[:, complete(values)]
    return aa(tables, sizes=sizes)


def page(paper: str, command: str, tests: Sequence[tuple[Measured, Sequence[SplitRate]]]) -> str:
    """The Markdown page."""
    lines = [
        f"# A/A test: {paper}",
        "",
        f"Written by `{command}`; not edited by hand. {SCALES[tests[0][0].scale].label}.",
        "",
        "The training runs of one arm are split at random into two disjoint sides, which are compared as a table of "
        "differences compares two arms: avg, paired by problem, interval over problems and seeds, Holm over the "
        "benchmarks. Both sides are the same method, so every verdict is a false positive; 5 % of them are allowed. "
        "With one seed a side the words are about two checkpoints, and the row counts how often these differ.",
        "",
    ]
    for m, rates in tests:
        notes = [
            "A benchmark's column counts the verdicts on it. Splits overlap where there are more than can be disjoint "
            "at once. Interval: the jackknife over runs; where no split has a verdict, Clopper and Pearson's for the "
            "disjoint ones."
        ]
        if m.diverged:
            notes.append(f"{m.divergence()}; excluded.")
        title = f"{m.label(m.arm)}: {len(m.seeds)} runs"
        header = ("seeds", "verdicts about", "splits (at once disjoint)", "false", "share [95 %]", *m.verdicts)
        rows = [
            (
                str(rate.seeds),
                "the method" if rate.about_method else "checkpoints",
                f"{rate.splits} ({rate.disjoint})",
                str(rate.false),
                f"{100 * rate.false / rate.splits:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]",
                *map(str, rate.by_benchmark.values()),
            )
            for rate in rates
        ]
        lines.append(Grid(title, header, tuple(rows), tuple(notes)).markdown())
    return "\n".join(lines)

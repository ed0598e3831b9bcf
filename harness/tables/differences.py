"""The declared contrasts of a paper: paired by problem, each corrected over its own benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from evals.plots.figures import ENDS, point_rows
from evals.plots.plot import Plot
from evals.stats.collapses import MEANS
from evals.stats.compare import Line, compare_average, compare_runs, difference_text, method_p_text, whole_table
from evals.stats.differences import ALPHA, FEW_SEEDS, SCOPE
from evals.stats.score import NONE
from harness.spec import Reproduction
from harness.tables.grid import Grid
from harness.tables.measured import (
    ALIKE,
    Measured,
    alike,
    common_overrides,
    comparable,
    differing_conditions,
    in_all_arms,
    rough,
    same_setting,
)

NO_P = (
    "A dash for p: a trained arm has fewer than three training seeds, and the verdict is about the measured "
    "checkpoints. `rlvr compare` prints its p"
)


def difference_grid(paper: Reproduction, measured: Sequence[Measured]) -> Grid | None:
    """Every declared contrast (`Reproduction.compared_arms`) that was measured, in mean accuracy.

    The family of a correction is one contrast over its benchmarks. A verdict therefore does not depend on other runs in
    the store, and `rlvr compare` of the same two runs gives the same verdict.
    """
    common = common_overrides(measured)
    rows, collapsed, families, different = [], [], [], []
    for a, b in contrasts(paper, measured):
        if not set(a.verdicts) & set(b.verdicts):
            continue
        lines = compare_runs(a.run, b.run, metrics=("avg",), allow_different=True).lines
        name = f"{a.label(a.arm, common)} − {b.label(b.arm, common)}"
        diverged = "; ".join(f"{m.arm} {m.divergence()}" for m in (a, b) if m.lost)
        same = alike(a, b)
        families.append([] if same else lines)
        rows += [(name, a.base, a.scale, line.benchmark, *_cells(line, same), diverged) for line in lines]
        different += [f"Measured differently: {name} on {a.base}: {text}." for text in differing_conditions(a, b)]
        sides = {"a": a, "b": b}
        collapsed += [
            f"{sides[side].label(sides[side].arm, common)} on {line.benchmark}: {fall.text()}"
            for line in lines
            for side, fall in line.collapsed.items()
        ]
    if not rows:
        return None
    header = ["difference", "model", "scale", "benchmark", "points [95 % interval]", "seeds", "p (Holm)", "verdict"]
    if any(row[-1] for row in rows):
        header.append("diverged")
    shown = [row[: len(header)] for row in rows]
    not_tested = f"Not tested: {ALIKE}." if any(row[7] == "not tested" for row in rows) else ""
    notes = (_seeds_note(rows, collapsed), not_tested, rough(rows), whole_table(families), *different)
    return Grid(
        f"{paper.key}: paired differences of mean accuracy",
        tuple(header),
        tuple(shown),
        (
            "The differences are paired by problem. The interval covers problems. It also covers training seeds if "
            "every trained arm has at least three. Each p-value is corrected (Holm) over the benchmarks of one "
            f"difference on one model and scale. Not resolved: p (Holm) is above {ALPHA}.",
            *(text.strip() for text in notes if text),
        ),
        in_all_arms(common),
    )


def _seeds_note(rows: Sequence[Sequence[str]], collapsed: Sequence[str]) -> str:
    """Sentences about p-values and verdicts that depend on the training seeds, where a row has one."""
    verdicts = [row[7] for row in rows]
    sentences = {
        f"{NO_P}.": any(row[6] == NONE for row in rows),
        f"{FEW_SEEDS}.": any("checkpoint" in verdict for verdict in verdicts),
        f"{SCOPE[:1].upper()}{SCOPE[1:]}.": any("without collapses" in verdict for verdict in verdicts),
        f"Collapsed: {'; '.join(dict.fromkeys(collapsed))}. {MEANS}.": bool(collapsed),
    }
    return " ".join(sentence for sentence, is_true in sentences.items() if is_true)


def difference_plot(paper: Reproduction, measured: Sequence[Measured], scale: str) -> Plot | None:
    """The declared contrasts of one scale as points with intervals, in mean accuracy over the benchmarks that both arms
    have; None without one."""
    import pandas as pd

    of_scale = [m for m in measured if m.scale == scale]
    common, several = common_overrides(of_scale), len({m.model for m in of_scale}) > 1
    rows = []
    for a, b in contrasts(paper, of_scale):
        shared = [name for name in a.verdicts if name in b.verdicts]
        line = compare_average(a.run, b.run, shared, "avg", ks=(), margin=None) if shared else None
        if line is None or line.difference is None or line.low is None or line.high is None:
            continue
        name = f"{a.label(a.arm, common)} − {b.label(b.arm, common)}"
        ends = (100 * value for value in (line.low, line.difference, line.high))
        rows.append((f"{a.base}: {name}" if several else name, *ends))
    if not rows:
        return None
    numbers = pd.DataFrame(rows, columns=["difference", *ENDS]).assign(model="difference")
    return point_rows(
        paper.key,
        f"Differences of mean accuracy at {scale} scale",
        "The figure shows differences between two arms, averaged over the benchmarks that both have, paired by "
        "problem. The lines are 95 % intervals over problems. They also cover training seeds if every trained arm has "
        "at least three. They are not corrected for the number of rows.",
        "",
        numbers,
        ["difference"],
        by="difference",
        labels={name: name for name in dict.fromkeys(numbers["difference"])},
        unit=f"difference, percentage points ({scale} scale)",
        mark=0.0,
    )


def contrasts(paper: Reproduction, measured: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """The measured pairs: each declared contrast with the same values replaced, and each arm with other values against
    the same arm as declared."""
    for arm, than in paper.compared_arms():
        for a, b in product(measured, measured):
            if (a.arm, b.arm) == (arm, than) and same_setting(a, b) and comparable(a, b):
                yield a, b
    for a, b in product(measured, measured):
        if a.arm == b.arm and a.trained and a.replaced and not b.replaced and same_setting(a, b):
            yield a, b


def _cells(line: Line, same: bool) -> tuple[str, str, str, str]:
    seeds = f"{line.seeds_a} and {line.seeds_b}"
    return difference_text(line), seeds, method_p_text(line), "not tested" if same else line.verdict

"""Arms with indistinguishable trainings: every sample of every seed is the same, so comparing them tests nothing.

Different declarations can give equal samples: a schedule that never starts, a bound that is never reached, or an effect
too small for so few steps. The logged metrics help to distinguish these cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from evals.stats.measured_run import MeasuredRun
from harness.tables.measured import Measured

TIMES = "seconds"  # of a step: always different


def same_samples(a: MeasuredRun, b: MeasuredRun) -> bool:
    """Every verdict, answer and length of every sample is equal, in the same training seeds and benchmarks."""
    if a.tables.keys() != b.tables.keys() or not a.tables:
        return False
    return all(a.tables[name].fingerprints == b.tables[name].fingerprints for name in a.tables)


def alike(a: Measured, b: Measured) -> bool:
    """Both arms are trained, and gave the same samples."""
    return a.trained and b.trained and same_samples(a.run, b.run)


def pairs_alike(measured: Iterable[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """Every pair of equal arms of one scale, backend and base model, with the same overrides."""
    for a, b in combinations(measured, 2):
        same = (a.scale, a.backend, a.model, a.replaced) == (b.scale, b.backend, b.model, b.replaced)
        if same and a.arm != b.arm and alike(a, b):
            yield a, b


def why_alike(a: Measured, b: Measured) -> str:
    """The last logged values of the two trainings: where and by how much they differ."""
    logged = [
        (seed, name, points[-1][1], b.curves[seed][name][-1][1])
        for seed in a.seeds
        for name, points in a.curves.get(seed, {}).items()
        if name.startswith("train/") and TIMES not in name and name in b.curves.get(seed, {})
    ]
    if not logged:
        return f"{a.arm} and {b.arm} gave the same samples in every training seed"
    text = f"{a.arm} did not differ from {b.arm}: the same samples in every training seed"
    differing = [(abs(x - y) / max(abs(x), abs(y)), seed, name, x, y) for seed, name, x, y in logged if x != y]
    if not differing:
        return f"{text}, and every last logged value is equal: the setting in which they differ never took effect"
    _, seed, name, x, y = max(differing)
    return (
        f"{text}; the weights do differ, by too little in so few steps to change one sample (largest relative "
        f"difference of a last logged value: {name} {x:.5g} and {y:.5g}, seed {seed})"
    )

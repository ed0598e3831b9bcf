"""Tables of the measurements at scales other than the paper's: a table for each scale and benchmark."""

from __future__ import annotations

from collections.abc import Iterable

from harness.spec.scales import SCALES
from harness.tables.alike import pairs_alike, why_alike
from harness.tables.grid import Grid
from harness.tables.measured import HOW, Measured, common_overrides, how, in_all_arms, rough, show


def scale_grids(paper: str, measured: list[Measured]) -> list[Grid]:
    """The measurements at other scales, with each scale's label and benchmarks."""
    grids = []
    for scale in dict.fromkeys(m.scale for m in measured if m.scale != "paper"):
        arms = [m for m in measured if m.scale == scale]
        skipped = _skipped(paper, arms, scale) + [f"{why_alike(a, b)}." for a, b in pairs_alike(arms)]
        common = common_overrides(arms)
        for benchmark in dict.fromkeys(b for m in arms for b in m.scores):
            every = dict.fromkeys(key for m in arms for key in m.scores.get(benchmark, {}))
            keys = [k for k in every if _wanted(k, every)]
            names = {
                k: next(m.scores[benchmark][k].name for m in arms if k in m.scores.get(benchmark, {})) for k in keys
            }
            rows = [
                (_name(m, common), *(show(m.scores.get(benchmark, {}).get(k), m) for k in keys), *how(m)) for m in arms
            ]
            notes = (
                f"{SCALES[scale].label}. Percent, except tokens and unsolvable (a number of problems); mean [95 % "
                f"interval over {_covers(arms, benchmark)}].{rough(rows)}",
                *skipped,
            )
            skipped = []  # once is enough
            grids.append(
                Grid(
                    f"{paper}, {scale} scale: {benchmark}",
                    ("arm", *(names[k] for k in keys), *HOW),
                    tuple(rows),
                    notes,
                    in_all_arms(common),
                )
            )
    return grids


def _name(m: Measured, common: tuple[str, ...]) -> str:
    """The arm, its own overrides, and the seeds that diverged."""
    return ", ".join(part for part in (m.label(m.arm, common), m.divergence()) if part)


def _skipped(paper: str, measured: list[Measured], scale: str) -> list[str]:
    """One note for each arm of the measured models that no backend in the store can train at this scale."""
    from harness.backends import refusals
    from harness.command.resolve import resolve
    from harness.spec import catalogue

    have = {(m.model, m.arm) for m in measured}
    by_name = {(a.model, a.key) for a in catalogue.load(paper).arms if a.sweep}  # no bare run wants these
    models = list(dict.fromkeys(m.model for m in measured))
    refused = [
        refusals(resolve(paper, models=models, sets=["all"], scale=scale, backend=name))
        for name in dict.fromkeys(m.backend for m in measured)
    ]
    return [
        f"Skipped {model}/{arm}: {refused[0][model, arm]}"
        for model, arm in (refused[0] if refused else {})
        if (model, arm) not in have | by_name and all((model, arm) in other for other in refused)
    ]


def _wanted(key: str, keys: Iterable[str]) -> bool:
    """Of pass@k, maj@k and unsolvable@k only the largest k is shown; the CSV has all."""
    metric, _, k = key.partition("_at_")
    if metric not in ("pass", "maj", "unsolvable"):
        return True
    return int(k) == max(int(other.partition("_at_")[2]) for other in keys if other.startswith(f"{metric}_at_"))


def _covers(arms: list[Measured], benchmark: str) -> str:
    covers = {s.interval.covers for m in arms for s in m.scores.get(benchmark, {}).values() if s.interval}
    return " or ".join(sorted(covers)) or "nothing: no interval could be computed"

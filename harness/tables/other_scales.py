"""Tables of the measurements at scales other than the paper's: a table for each scale and benchmark."""

from __future__ import annotations

from collections.abc import Iterable

from harness.spec.scales import SCALES
from harness.tables.grid import Grid
from harness.tables.measured import HOW, Measured, common_overrides, how, in_all_arms, rough, show


def scale_grids(paper: str, measured: list[Measured]) -> list[Grid]:
    """The measurements at other scales, with each scale's label and benchmarks."""
    grids = []
    for scale in dict.fromkeys(m.scale for m in measured if m.scale != "paper"):
        arms = [m for m in measured if m.scale == scale]
        common = common_overrides(arms)
        for benchmark in dict.fromkeys(b for m in arms for b in m.scores):
            every = dict.fromkeys(key for m in arms for key in m.scores.get(benchmark, {}))
            keys = [k for k in every if _wanted(k, every)]
            names = {
                k: next(m.scores[benchmark][k].name for m in arms if k in m.scores.get(benchmark, {})) for k in keys
            }
            rows = [
                (_name(m, common), *(show(m.scores.get(benchmark, {}).get(k), m, benchmark) for k in keys), *how(m))
                for m in arms
            ]
            notes = (
                f"{SCALES[scale].label}. A cell is a mean [95 % interval over "
                f"{_covers(arms, benchmark)}] in percent. Tokens and unsolvable problems are counts.",
                *filter(None, [rough(rows).strip()]),
            )
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


def _wanted(key: str, keys: Iterable[str]) -> bool:
    """Only the largest k of pass@k, maj@k and unsolvable@k is shown. The CSV has all."""
    metric, _, k = key.partition("_at_")
    if metric not in ("pass", "maj", "unsolvable"):
        return True
    return int(k) == max(int(sibling.partition("_at_")[2]) for sibling in keys if sibling.startswith(f"{metric}_at_"))


def _covers(arms: list[Measured], benchmark: str) -> str:
    covers = {s.interval.covers for m in arms for s in m.scores.get(benchmark, {}).values() if s.interval}
    return " or ".join(sorted(covers)) or "nothing: no interval could be computed"

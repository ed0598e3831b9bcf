"""Every arm of every paper on 8 H100s: memory of one GPU, the settings that make it fit, and the approximate time.

python -m benchmarks.plans [--write]      the tables; --write keeps them in results/plans_h100x8.md
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pages import main
from harness.backends import refusals
from harness.backends.seconds import ASSUMPTIONS
from harness.command.resolve import BACKENDS, resolve
from harness.plan.machine import take_machine
from harness.plan.plan import plan
from harness.plan.profiles import PROFILES
from harness.spec import catalogue
from harness.spec.hardware import GPUS

PROFILE = "h100x8"
PAGE = Path(__file__).resolve().parents[1] / "results" / f"plans_{PROFILE}.md"


@dataclass(frozen=True)
class Row:
    """One arm under one backend."""

    model: str
    arm: str
    backend: str
    steps: int
    peak: float | None  # bytes of one GPU; None if the backend cannot train the arm
    fits: bool
    settings: str  # those that the profile chose; else what would make it fit, or why the backend cannot train it
    hours: tuple[float, float, float] | None

    @property
    def name(self) -> str:
        return f"{self.model}/{self.arm}"

    @property
    def cells(self) -> tuple[str, ...]:
        """All cells of the table's row but the names."""
        gb = "-" if self.peak is None else f"{self.peak / 1e9:.0f}"
        hours = "-" if self.hours is None else "{1:,.0f} ({0:,.0f} to {2:,.0f})".format(*self.hours)
        answer = "cannot train" if self.peak is None else "yes" if self.fits else "no"
        return self.backend, f"{self.steps:,}", gb, answer, hours, self.settings.replace("|", "/")


def rows(paper: str) -> list[Row]:
    """A row for each trained arm: under the first backend with which it fits, or under each if none fits."""
    every = list(dict.fromkeys(arm.key for arm in catalogue.load(paper).arms))
    by_arm: dict[str, list[Row]] = {}
    for backend in BACKENDS:
        jobs = resolve(paper, scale="paper", backend=backend, arms=every, seeds=[0])
        machine = take_machine({"hardware": PROFILE, "backend": backend})
        machines = machine.by_arm(jobs)
        for arm in plan(jobs, refusals(jobs, machines), machines=machines)["arms"]:
            if arm["method"]:
                row = _row(arm, backend)
                by_arm.setdefault(row.name, []).append(row)
    return [row for of in by_arm.values() for row in (next(([r] for r in of if r.fits), of))]


def _row(arm: dict[str, Any], backend: str) -> Row:
    memory, cost = arm["memory"], arm["cost_per_run"]
    low, middle, high = (cost[key] for key in ("gpu_hours_low", "gpu_hours", "gpu_hours_high"))
    hours = None if middle is None else (low, middle, high)
    common = {"model": arm["model"], "arm": arm["arm"], "backend": backend, "steps": arm["steps"], "hours": hours}
    if memory is None:
        return Row(**common, peak=None, fits=False, settings=arm["refused"] or "the shape of the model is not known")
    settings = _own(memory["settings"]) if memory["fits"] else f"would fit with {memory['remedy'] or 'nothing known'}"
    return Row(**common, peak=memory["peak"], fits=memory["fits"], settings=settings)


def _own(settings: str) -> str:
    """The settings that differ from the profile's."""
    shared = ("device", "gpu", "processes", "rollouts", "engine", "engine_replicas", "gradient_checkpointing")
    kept = [s.removeprefix("hardware.") for s in settings.split()]
    return " ".join(s for s in kept if s.partition("=")[0] not in shared) or "-"


def page() -> str:
    """The tables as Markdown."""
    memory = GPUS[PROFILES[PROFILE].gpu].memory / 1e9
    lines = [
        f"# Every arm at paper scale on `hardware={PROFILE}`: planned, not run",
        "",
        "Written by `python -m benchmarks.plans --write`, from the memory model and the estimate of `rlvr plan`; a",
        f"test keeps it so. Nothing here was measured. One GPU holds {memory:.0f} GB, of which 94 % count as usable.",
        "GPU-hours of training and evaluation, one seed: middle (range). Each arm is under the first backend with",
        "which it fits.",
        f"Assumed: {ASSUMPTIONS}.",
        "",
    ]
    for paper in catalogue.papers():
        lines += [
            f"## {paper}",
            "",
            "| model | arms | backend | steps | GB on a GPU | fits | GPU-hours | settings beside the profile's |",
            "| --- | --- | --- | ---: | ---: | --- | ---: | --- |",
            *lines_of([(row.model, row.arm, row.cells) for row in rows(paper)]),
            "",
        ]
    return "\n".join(lines)


def lines_of(plans: Iterable[tuple[str, str, tuple[str, ...]]]) -> list[str]:
    """One line for all arms of a model with the same plan, from (model, arm, the other cells)."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for model, arm, cells in plans:
        alike.setdefault((model, cells), []).append(arm)
    return [f"| {model} | {', '.join(arms)} | {' | '.join(cells)} |" for (model, cells), arms in alike.items()]


if __name__ == "__main__":
    main(__doc__, PAGE, page)

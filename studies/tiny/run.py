"""Run the study: the search first, then the runs that count, tier by tier. The same command resumes."""

from __future__ import annotations

from collections.abc import Sequence

from evals.imports import uncollected
from harness.spec.job import Job
from studies.tiny.design import Design
from studies.tiny.jobs import Settings, base_jobs, knob_jobs, rate_jobs, study_jobs
from studies.tiny.tuning import Trial, accuracies, chosen, search, trials


def run_study(design: Design, command: str, *, tiers: Sequence[int], seeds: int | None = None) -> int:
    """Run everything unfinished of some tiers. Returns how many jobs failed.

    Args:
        design: with the families to run now. seeds: only this many, the first ones.
    Raises:
        as `harness.jobs.run.run_jobs`.
    """
    failed = _run(base_jobs(design), command)
    for tier in tiers:
        settings = tune(design, command, tier)
        last = seeds if seeds is not None else design.seeds
        jobs = [job for job in study_jobs(design, settings, tiers=[tier]) if job.seed < last]
        failed += _run(jobs, command)
    return failed


def run_variations(design: Design, command: str) -> int:
    """Run the exploratory variations (`studies.tiny.variations`) of the tiers whose search is finished. Returns how
    many jobs failed."""
    from harness.runs.track import Tracker
    from studies.tiny.variations import alternative_jobs, sweep_jobs

    settings = search(design, accuracies(Tracker.open(), design)).settings
    return _run([*alternative_jobs(design, settings), *sweep_jobs(design, settings)], command)


def tune(design: Design, command: str, tier: int) -> Settings:
    """Run the search of a tier; returns the chosen settings.

    Raises:
        RuntimeError: a trial failed; the best of the others would not follow the registration.
    """
    rates = rate_jobs(design, tier)
    _run(rates, command)
    best = chosen(design, _finished(design, tier)[: len(rates)], tier)
    _run(knob_jobs(design, tier, best), command)
    return chosen(design, _finished(design, tier, knobs=True), tier)


def _finished(design: Design, tier: int, *, knobs: bool = False) -> list[Trial]:
    """The trials of a tier; all of them must have ended."""
    from harness.runs.track import Tracker

    tried = trials(design, accuracies(Tracker.open(), design), tier)
    needed = tried if knobs else tried[: len(rate_jobs(design, tier))]
    if failed := [t for t in needed if t.accuracy == "unfinished"]:
        names = ", ".join(f"{t.scale} {t.paper} {t.method} {dict(t.values)}" for t in failed)
        raise RuntimeError(f"the search is not finished, so nothing is chosen: {names}; the same command tries again")
    return tried


def _run(jobs: Sequence[Job], command: str) -> int:
    if not jobs:
        return 0
    from harness.jobs.run import check_data, run_jobs
    from harness.plan.machine import check_machine, take_machine
    from harness.runs.disk import full_disk_named
    from harness.runs.interrupt import handled
    from harness.runs.track import make_home

    _one_thread()
    _import_everything()
    machines = take_machine({}).by_arm(list(jobs))
    home = make_home()
    data_dir = check_data(list(jobs), None)
    check_machine(list(jobs), machines, data_dir=data_dir)
    machines = {key: hardware.with_device() for key, hardware in machines.items()}
    with handled(), full_disk_named(home):
        outcomes = run_jobs(jobs, hardware=machines, data_dir=data_dir, command=command, keep_going=True)
    return sum(outcome.error is not None for outcome in outcomes)


def _one_thread() -> None:
    """One thread for every run of the study, because the number of threads decides the last bits of a sum."""
    import torch

    torch.set_num_threads(1)


def _import_everything() -> None:
    """Import the packages of every run, so that the collections at its end do not visit half a million objects."""
    with uncollected():
        import mlflow  # noqa: F401
        from transformers import Qwen2ForCausalLM  # noqa: F401

        import harness.backends.trl.trainer  # noqa: F401

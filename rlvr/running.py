"""Train and evaluate one arm from Python, as `rlvr run` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from harness.command.config import read_seeds
from harness.command.resolve import resolve
from harness.plan.machine import take_hardware
from harness.spec import Arm, Experiment, Reproduction, assumed
from rlvr.runs import Run, read_run


def run_arm(
    of: str | Experiment,
    arm: str | None = None,
    *,
    model: str | None = None,
    seed: int = 0,
    scale: str = "tiny",
    backend: str = "trl",
    protocol: str = "egsw",
    data_dir: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    **hardware: Any,
) -> Run:
    """Train (unless it is the base model), evaluate, log to MLflow. Blocks until done; a second call resumes.

        rlvr.run_arm("egsw", "grpo", overrides={"max_steps": 20})
        rlvr.run_arm(rlvr.experiment(learning_rate=3e-6), "mine")

    Args:
        of: the key of a paper, or an experiment. arm: one of the paper's arms, or a name for the experiment.
        model: the paper's base model (default: the first). scale: "tiny" or "paper".
        protocol: how an experiment is measured at paper scale (a paper brings its own).
        overrides: values by key, as `rlvr plan` lists them. hardware: fields of `harness.spec.hardware.Hardware`.
    Returns:
        The run, whose scores are at `scale`: tiny-scale numbers say nothing about a paper's own.
    Raises:
        ValueError: an unknown name or key, a value that does not fit, a backend that cannot train the arm, or data that
            is not the pinned version; always before training starts.
    """
    seeds, machine = (
        read_seeds([seed], 1),
        take_hardware({f"hardware.{key}": value for key, value in hardware.items()}, backend),
    )
    choice: dict[str, Any] = {"scale": scale, "backend": backend, "seeds": seeds, "overrides": overrides}
    if isinstance(of, Experiment):
        jobs = resolve(_declared(of, arm or "mine", protocol), **choice)
    else:
        if arm is None:
            raise ValueError("arm: missing; give one of the paper's arms")
        jobs = resolve(of, arms=[arm], models=None if model is None else [model], **choice)
    from harness.backends import backend as backend_of
    from harness.backends import refusals
    from harness.jobs.run import check_data, run

    if isinstance(of, Experiment) and machine.processes > 1:
        raise ValueError(
            "processes: expected 1 for an experiment declared in Python, which other processes cannot look up"
        )
    for error in refusals(jobs, machine).values():
        raise error
    machine = machine.with_device()
    backend_of(backend).ready(machine)
    folder = check_data(jobs[:1], None if data_dir is None else os.fspath(data_dir))
    command = f"rlvr.run_arm({jobs[0].paper!r}, {jobs[0].arm!r})"
    (done,) = run(jobs[:1], hardware=machine, data_dir=folder, command=command)
    return read_run(done, name=f"{jobs[0].paper}/{jobs[0].arm} ({scale} scale)")


def _declared(experiment: Experiment, name: str, protocol: str) -> Reproduction:
    """The experiment as a declaration with one arm."""
    return Reproduction(
        key="notebook",
        title="An experiment declared in Python",
        arxiv="none",
        models={"model": experiment.base_model},
        arms=(Arm(name, "model", name, experiment),),
        protocol=protocol,
        seeds=assumed(1, "declared in Python: one run"),
        departures=(),
    )

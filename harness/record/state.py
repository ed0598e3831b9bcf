"""The state of each job under the runs' folder: submitted, running, finished, diverged, trained nothing, failed,
stopped or damaged, and of each evaluation with samples to come."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evals.errors import DamagedFileError
from evals.files import is_locked, last_row, read_jsonl, read_object, write_json
from harness.record.record import RECORD, TRAINING_LOG, ms
from harness.record.run import Run
from harness.spec.scales import SCALES

SLURM = "slurm.json"  # an unfinished job that was given to Slurm: {"id": text}
ENDED = ("finished", "diverged", "trained nothing")  # states of runs with a complete result
ERROR = "error.json"  # error of the last try of an unfinished job: {"error": text, "when": UTC}


@dataclass(frozen=True)
class JobState:
    """One job's folder.

    `step` and `reward` are of the last logged optimiser step (None before the first). `idle_s` is the age of the newest
    log line or record. `error` is the last try's.
    """

    paper: str
    scale: str
    name: str
    state: str
    step: int | None
    reward: float | None
    idle_s: float
    error: str | None
    folder: Path


@dataclass(frozen=True)
class Growing:
    """An evaluation with samples to come.

    `state` is running, failed or stopped. `error` the last try's. `progress` is benchmark -> (samples that are there,
    samples of each problem that are wanted).
    """

    folder: Path
    state: str
    error: str | None
    progress: Mapping[str, tuple[int, int]]

    def __str__(self) -> str:
        each = (
            f"{sampled} samples of {name}, to be {n} of each problem" for name, (sampled, n) in self.progress.items()
        )
        return f"{self.state} with {'; '.join(each)}"


def job_states(home: Path) -> list[JobState]:
    """Every job under the folder (RLVR_HOME), by paper, scale and name. Changes nothing."""
    marks = (RECORD, ERROR, SLURM, TRAINING_LOG)
    folders = sorted({path.parent for mark in marks for path in home.glob(f"*/*/*/{mark}")})
    # the cache of `rlvr analyze` holds records too, which are no jobs
    return [job_state(folder) for folder in folders if folder.parent.name in SCALES]


def job_state(folder: Path) -> JobState:
    """The state of one job's folder."""
    signs = [folder / name for name in (RECORD, ERROR, SLURM, TRAINING_LOG)]  # not mlflow.json, which sync writes
    signs += [*folder.glob("*/*.jsonl"), *folder.glob("eval/*/shards")]
    newest = max((path.lstat().st_mtime for path in signs if os.path.lexists(path)), default=folder.lstat().st_mtime)
    try:
        state, step, reward, error = _state(folder)
        if state in ENDED and (ended := Run(folder).finished) is not None:
            newest = _seconds(ended, folder / RECORD)  # an import is no sign of the run
    except (DamagedFileError, OSError) as damage:
        state, step, reward, error = "damaged", None, None, str(damage)
    paper, scale = folder.parent.parent.name, folder.parent.name
    return JobState(paper, scale, folder.name, state, step, reward, time.time() - newest, error, folder)


def _seconds(ended: str, path: Path) -> int:
    """Since 1970, of a time in a record.

    Raises:
        DamagedFileError: it is none.
    """
    try:
        return ms(ended) // 1000
    except ValueError as error:
        raise DamagedFileError(path, f"finished: {error}") from error


def _ended(run: Run) -> str:
    return "diverged" if run.diverged else "trained nothing" if run.trained_nothing else "finished"


def _state(folder: Path) -> tuple[str, int | None, float | None, str | None]:
    """(state, last step, its reward, error)."""
    run = Run(folder)
    if run.is_finished and not is_locked(folder):
        step, rewards = max(run.curve, default=None), run.metrics("train/reward")
        reward = rewards[-1][1] if rewards else None  # an update without a rollout of its own has none
        return _ended(run), step, reward, None
    error = (read_object(folder / ERROR) or {}).get("error")
    if is_locked(folder):
        state, error = "running", None
    elif not error and in_slurm(folder) is not None:
        state = "submitted"  # squeue says more
    else:
        state = "failed" if error else "stopped"
    step, metrics = last_step(folder / TRAINING_LOG)
    return state, step, metrics.get("train/reward"), error


def growing(folder: Path) -> Growing | None:
    """The missing parts in the folder of an evaluation, or None: it is whole, or something else."""
    from evals.sampling.store import GROWING, SampleStore

    parts = sorted(path.parent for path in folder.glob(f"*/{GROWING}"))
    progress = {part.name: state for part in parts if (state := SampleStore(part).growing()) is not None}
    if not progress:
        return None
    if any(is_locked(part) for part in parts):
        return Growing(folder, "running", None, progress)
    error = (read_object(folder / ERROR) or {}).get("error")
    return Growing(folder, "failed" if error else "stopped", error, progress)


def progress(run: Run) -> str | None:
    """How far a training or an evaluation is that has not ended. None: it has, or nothing is known of it."""
    if (evaluation := growing(run.folder)) is not None:
        return str(evaluation)
    if "settings" not in run.record or (run.is_finished and not is_locked(run.folder)):
        return None
    state, step, reward, _ = _state(run.folder)
    at = "before its first step" if step is None else f"after step {step}"
    return f"{state} {at}" + ("" if reward is None else f", training reward {reward:.3f}")


def note_slurm(folder: Path, job_id: str) -> None:
    """Record the id that Slurm gave to the job of this folder."""
    write_json(folder / SLURM, {"id": job_id})


def in_slurm(folder: Path) -> str | None:
    """The id that Slurm gave to the job of this folder. None: it was not given to Slurm."""
    content = read_object(folder / SLURM, "id")
    return None if content is None else str(content["id"])


def last_step(path: Path) -> tuple[int | None, dict[str, float]]:
    """(step, metrics) of the last whole line of a training's metrics.jsonl, with the reward of the last rollout where
    this step is a later update of it. Without a line, (None, {})."""
    row = last_row(path, "step", "metrics") if path.is_file() else None
    if row is None:
        return None, {}
    metrics: dict[str, float] = dict(row["metrics"])
    if "train/reward" in metrics:
        return row["step"], metrics
    every = read_jsonl(path, "step", "metrics")
    metrics = {
        name: value
        for row_before in every
        if row_before["step"] == row["step"]
        for name, value in row_before["metrics"].items()
    }
    rewards = [row_before["metrics"]["train/reward"] for row_before in every if "train/reward" in row_before["metrics"]]
    return row["step"], ({"train/reward": rewards[-1]} if rewards else {}) | metrics

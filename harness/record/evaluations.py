"""Evaluations without training (`rlvr eval`): where they are, and their mirror in MLflow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from evals.files import read_object, write_json
from evals.redaction import redact
from harness.record.mirror import show_samples
from harness.record.record import CURVES, FINAL, LINK, RECORD, SCORES, ms
from harness.record.run import Run
from harness.record.state import ERROR, Growing, growing
from harness.record.write import now
from harness.runs.track import Tracker, home, make_home, no_store

NAME = "evaluations"  # the name of the folder, and of MLflow's experiment


def folder_of(name: str) -> Path:
    """Where an evaluation of that name goes."""
    return home() / NAME / name


def evaluations() -> list[Run]:
    """The finished evaluations under RLVR_HOME, and those elsewhere that are linked there."""
    return [Run(path.parent) for path in sorted((home() / NAME).glob(f"*/{RECORD}"))]


def unfinished() -> list[Growing]:
    """The evaluations under RLVR_HOME with samples to come."""
    from evals.sampling.store import GROWING

    folders = sorted({path.parents[1] for path in (home() / NAME).glob(f"*/*/{GROWING}")})
    return [evaluation for folder in folders if (evaluation := growing(folder)) is not None]


def note_error(folder: Path, error: Exception) -> None:
    """Note what ended the last try, for `unfinished`."""
    write_json(folder / ERROR, {"error": redact(str(error)), "when": now()})


def link(folder: Path) -> None:
    """Make an evaluation in a folder elsewhere (`out=`) known under RLVR_HOME: a link of its name. Where two folders
    have one name, the second link has four digits of its path too. A link to a folder that is gone is replaced.

    Raises:
        RefusedError: RLVR_HOME cannot be written to.
    """
    folder = folder.resolve()
    place = make_home() / NAME
    if folder.is_relative_to(place):
        return
    place.mkdir(exist_ok=True)
    digits = hashlib.sha256(bytes(folder)).hexdigest()[:4]
    for at in (place / folder.name, place / f"{folder.name}-{digits}"):
        if at.is_symlink() and not at.exists():
            at.unlink()
        if at.exists() and at.resolve() == folder:
            return
        if not at.exists():
            at.symlink_to(folder, target_is_directory=True)
            return


def curves() -> list[Run]:
    """The training curves of other tools that were imported."""
    return [Run(path.parent) for path in sorted((home() / CURVES).glob(f"*/{RECORD}"))]


def to_mlflow(folder: Path, params: Mapping[str, str], values: Mapping[str, float]) -> None:
    """Write an evaluation into MLflow, and what was written into its scores.json, for `sync`.

    Args:
        values: metric -> value.
    Raises:
        StoreError: the store cannot be used.
    """
    calls = read_object(folder / SCORES) or {}
    name = _digest(params)
    write_json(folder / SCORES, {**calls, name: {"params": dict(params), "values": dict(values)}})
    with _store_errors():
        _send(folder, name, Tracker.open())


def sync() -> int:
    """Send MLflow the evaluations that it lacks. Returns how many were sent.

    Raises:
        StoreError: the store cannot be used. DamagedFileError: a file of an evaluation is.
    """
    folders = [run.folder for run in evaluations() if (run.folder / SCORES).is_file()]
    with _store_errors():
        tracker = Tracker.open()
        return sum(any([_send(f, name, tracker) for name in read_object(f / SCORES) or {}]) for f in folders)


@contextmanager
def _store_errors() -> Iterator[None]:
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        raise no_store(error) from error


def _digest(params: Mapping[str, str]) -> str:
    """The digest of a call's values: MLflow changes no param of a run, so that other values are another run."""
    return hashlib.sha256(repr(sorted(params.items())).encode()).hexdigest()[:8]


def _send(folder: Path, call: str, tracker: Tracker) -> bool:
    """Write a call's scores of an evaluation into MLflow, unless they are there."""
    from mlflow.entities import Metric, Param, RunTag

    run, written = Run(folder), (read_object(folder / SCORES) or {})[call]
    params, values = written["params"], written["values"]
    ended = ms(run.record["finished"])
    run_id = tracker.run_of(NAME, folder.name, f"{run.record['id']}-{call}", ms(run.record["started"]))
    sent = tracker.client.get_run(run_id)
    if sent.info.status == "FINISHED" and sent.data.metrics == values:
        return False
    tracker.client.log_batch(
        run_id,
        metrics=[Metric(name, value, ended, 0) for name, value in values.items()],
        params=[Param(key, value) for key, value in params.items()],
        tags=[RunTag("rlvr.kind", "evaluation"), RunTag("rlvr.folder", str(folder))],
    )
    link = _training_of(run)
    if link is not None and tracker.has_run(link):  # the run in MLflow that trained the model
        tracker.client.set_tag(run_id, "mlflow.parentRunId", link)
    show_samples(tracker, run_id, run)
    for name in (*run.record["files"], RECORD):
        tracker.client.log_artifact(run_id, str(folder / name), name.rpartition("/")[0] or None)
    tracker.end(run_id, "FINISHED", ms(run.record["started"]), ended)
    return True


def _training_of(run: Run) -> str | None:
    """The id in MLflow of the run that trained the evaluated model, or None for a model from elsewhere."""
    if (model := run.model_folder) is None or not Path(model).as_posix().endswith(f"/{FINAL}"):
        return None
    link = read_object(Path(model).parents[1] / LINK, "run_id")
    return None if link is None else str(link["run_id"])

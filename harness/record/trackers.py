"""Other trackers beside MLflow: Trackio and W&B get the same runs by the same names (`rlvr export format=trackio`)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from evals.files import read_json, write_json
from harness.errors import UsageError
from harness.record.mirror import final_scores, params_of, run_name
from harness.record.run import IDENTITY, Run


class OtherTracker(Protocol):
    """The interface of a tracker beside MLflow: one run at a time, metrics by step under MLflow's own names."""

    name: str

    def start(self, project: str, run: str, config: Mapping[str, Any]) -> None: ...

    def metrics(self, step: int, values: Mapping[str, float]) -> None: ...

    def finish(self) -> None: ...


class Trackio:
    """trackio: a local store, no account."""

    name = "trackio"

    def __init__(self) -> None:
        self._module = _module("trackio")

    def start(self, project: str, run: str, config: Mapping[str, Any]) -> None:
        self._module.init(project=project, name=run, config=dict(config))

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._module.log(dict(values), step=step)

    def finish(self) -> None:
        self._module.finish()


class WandB:
    """Weights & Biases, offline unless WANDB_MODE says otherwise: `wandb sync` uploads."""

    name = "wandb"

    def __init__(self) -> None:
        self._module = _module("wandb")
        self._run: Any = None

    def start(self, project: str, run: str, config: Mapping[str, Any]) -> None:
        import os

        mode = os.environ.get("WANDB_MODE", "offline")
        self._run = self._module.init(project=project, name=run, config=dict(config), mode=mode)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def finish(self) -> None:
        self._run.finish()


TRACKERS: dict[str, type[Trackio] | type[WandB]] = {"trackio": Trackio, "wandb": WandB}


def other_tracker(name: str) -> OtherTracker:
    """A tracker by its name.

    Raises:
        UsageError: its package is not installed.
    """
    return TRACKERS[name]()


def copy(run: Run, to: OtherTracker) -> int:
    """Write a run into another tracker: its values, what it is, every metric at its step under its own name.

    Returns:
        How many steps were written; 0 if that tracker has the run already (trackers.json in the run's folder).
    """
    noted = run.folder / "trackers.json"
    have = read_json(noted) or []
    if to.name in have:
        return 0
    about = {key: str(run.record[key]) for key in IDENTITY} | {"digest": run.digest, "overrides": run.overrides}
    to.start(run.paper, run_name(run.record), {**params_of(run.settings), **{f"rlvr.{k}": v for k, v in about.items()}})
    try:
        for step, values in run.curve.items():
            to.metrics(step, values)
        for step, values in [final_scores(run.record)]:
            to.metrics(step, values)
    finally:
        to.finish()
    write_json(noted, [*have, to.name])
    return len(run.curve)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"tracker={name}: its package is not installed; pip install {name}") from error

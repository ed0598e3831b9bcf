"""Other trackers beside MLflow: Trackio and W&B get the same runs by the same names, from MLflow (`rlvr export
format=trackio`). Every table still comes from MLflow.

    with tracker("trackio") as to: mirror(run, MLflow's tracker, to)
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from harness.errors import UsageError
from harness.runs.track import Tracker

MIRRORED = "rlvr.mirrored"  # tag of a run in MLflow: the trackers that have it, joined by commas


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


def mirror(run: Any, source: Tracker, to: OtherTracker) -> int:
    """Write an MLflow run into another tracker: its params, its rlvr tags, every metric at its step under its own name.

    Returns:
        How many steps were written; 0 if that tracker has the run already.
    """
    have = [name for name in run.data.tags.get(MIRRORED, "").split(",") if name]
    if to.name in have:
        return 0
    steps: dict[int, dict[str, float]] = {}
    for metric in sorted(run.data.metrics):
        for step, value in source.history(run.info.run_id, metric):
            steps.setdefault(step, {})[metric] = value
    tags = {key: value for key, value in run.data.tags.items() if key.startswith("rlvr.") and key != MIRRORED}
    to.start(
        run.data.tags["rlvr.paper"], str(run.info.run_name), {**run.data.params, **tags, "mlflow": run.info.run_id}
    )
    try:
        for step in sorted(steps):
            to.metrics(step, steps[step])
    finally:
        to.finish()
    source.tags(run.info.run_id, {MIRRORED: ",".join([*have, to.name])})
    return len(steps)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"tracker={name}: its package is not installed; pip install {name}") from error

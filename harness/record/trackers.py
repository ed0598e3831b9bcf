"""Other trackers beside MLflow: Trackio and W&B get the same runs by the same names (`rlvr export format=trackio`).

Trackio (a local store, no account) has W&B's interface. W&B is offline unless WANDB_MODE says otherwise: `wandb sync`
uploads.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from evals.files import read_json, write_json
from harness.errors import UsageError
from harness.record.mirror import final_scores, params_of, run_name
from harness.record.run import IDENTITY, Run


def other_tracker(name: str) -> Any:
    """The module of a tracker: trackio or wandb.

    Raises:
        UsageError: its package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"tracker={name}: its package is not installed; pip install {name}") from error


def copy(run: Run, to: Any) -> int:
    """Write a run into another tracker: its values, what it is, every metric at its step under its own name.

    Args:
        to: of `other_tracker`.
    Returns:
        How many steps were written; 0 if that tracker has the run already (trackers.json in the run's folder).
    """
    noted = run.folder / "trackers.json"
    have = read_json(noted) or []
    if to.__name__ in have:
        return 0
    about = {key: str(run.record[key]) for key in IDENTITY} | {"digest": run.digest, "overrides": run.overrides}
    config = {**params_of(run.settings), **{f"rlvr.{key}": value for key, value in about.items()}}
    mode = {"mode": os.environ.get("WANDB_MODE", "offline")} if to.__name__ == "wandb" else {}
    started = to.init(project=run.paper, name=run_name(run.record), config=config, **mode)
    try:
        for step, values in [*run.curve.items(), final_scores(run.record)]:
            started.log(dict(values), step=step)
    finally:
        started.finish()
    write_json(noted, [*have, to.__name__])
    return len(run.curve)

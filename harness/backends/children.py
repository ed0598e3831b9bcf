"""Training processes beside this one: what they are ordered to do, and the wait for their end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.files import write_json
from harness.runs.interrupt import finishing, requested
from harness.step.finite import FILE, raise_left_word

if TYPE_CHECKING:
    from harness.spec.job import Job

STOP = "stop"  # a file in a training's folder that asks the training processes to save and stop


def job_order(job: Job) -> dict[str, Any]:
    """What another process needs to declare the same job (`harness.command.resolve.resolve_order`). `overrides` are of
    this arm only: the other process would refuse those of the command's other arms."""
    keys = ("paper", "model", "arm", "scale", "backend", "seed", "overrides", "digest")
    return {key: getattr(job, key) for key in keys}


def write_order(order: dict[str, Any], out_dir: Path) -> Path:
    """Write an order into a training's folder, without the messages of an earlier attempt."""
    for message in (FILE, STOP):
        (out_dir / message).unlink(missing_ok=True)
    write_json(out_dir / "order.json", order)
    return out_dir / "order.json"


def wait(process: subprocess.Popen[Any], out_dir: Path, look: Callable[[], None], *, every_s: float) -> int:
    """Wait for a training's process, which no signal must reach: at a signal to this one it is asked to save and stop.

    Args:
        look: called again and again, and once more after the end.
    Returns:
        The exit code.
    Raises:
        Diverged: a training process said so before it ended.
    """
    try:
        with finishing():
            while (code := process.poll()) is None:
                if requested():
                    (out_dir / STOP).touch()
                look()
                time.sleep(every_s)
            look()
    finally:
        (out_dir / STOP).unlink(missing_ok=True)
    if code != 0:
        raise_left_word(out_dir)
    return code

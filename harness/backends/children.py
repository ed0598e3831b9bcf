"""Training processes beside this one: what they are ordered to do, and the wait for their end."""

from __future__ import annotations

import pickle
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.runs.interrupt import MINUTES, finishing, out_of_time, requested
from harness.step.finite import FILE, raise_left_word

ORDER = "order.pkl"  # in a training's folder: what its processes are told
STOP = "stop"
"""A file in a training's folder that asks the training processes to save and stop; its text is MINUTES if the time is
over."""


def write_order(order: object, out_dir: Path) -> Path:
    """Pickle an order into a training's folder, without the messages of an earlier attempt."""
    out_dir.mkdir(parents=True, exist_ok=True)
    for message in (FILE, STOP):
        (out_dir / message).unlink(missing_ok=True)
    (out_dir / ORDER).write_bytes(pickle.dumps(order))
    return out_dir / ORDER


def read_order(file: str) -> Any:
    """The order that `write_order` wrote in the process that started this one."""
    return pickle.loads(Path(file).read_bytes())  # noqa: S301


def wait(process: subprocess.Popen[bytes], out_dir: Path, look: Callable[[], None], *, every_s: float) -> int:
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
                    (out_dir / STOP).write_text(MINUTES if out_of_time() else "")
                look()
                time.sleep(every_s)
            look()
    finally:
        (out_dir / STOP).unlink(missing_ok=True)
    if code != 0:
        raise_left_word(out_dir)
    return code

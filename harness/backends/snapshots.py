"""Models saved during a training: plain folders that an evaluation loads, beside the checkpoints to resume from.

    <out_dir>/snapshots/step-<optimiser step>/     written to its end when it has this name

A backend writes them every `hardware.snapshot_every` steps and calls `notify`; the process that called `launch` may
observe that (`observed`).
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals.files import rename_folder

SNAPSHOTS = "snapshots"
_observers: list[Callable[[], None]] = []


@contextmanager
def observed(call: Callable[[], None] | None) -> Iterator[None]:
    """Inside the block, `call` runs whenever a backend reports a possible new snapshot."""
    if call is None:
        yield
        return
    _observers.append(call)
    try:
        yield
    finally:
        _observers.remove(call)


def notify() -> None:
    """Tell the observer that there may be a new snapshot. Python's and numpy's generators are as before afterwards."""
    import numpy as np

    if not _observers:
        return
    states = random.getstate(), np.random.get_state()
    try:
        for call in list(_observers):
            call()
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def snapshot_folder(out_dir: Path, step: int) -> Path:
    """Where the model after that optimiser step is kept."""
    return out_dir / SNAPSHOTS / f"step-{step:06d}"


def snapshots(out_dir: Path) -> list[tuple[int, Path]]:
    """(step, folder) of each complete snapshot, in order of the steps."""
    by_step = [(int(path.name.removeprefix("step-")), path) for path in (out_dir / SNAPSHOTS).glob("step-*")]
    return sorted(by_step)


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """A folder to write a snapshot into; it gets its name when everything is there."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    shutil.rmtree(folder, ignore_errors=True)
    rename_folder(part, folder)


def snapshotter(out_dir: Path, every: int | None, save: Callable[[Path], None], *, main: bool) -> Any:
    """A transformers callback that saves a snapshot every so many optimiser steps.

    Args:
        save: called on every process with the folder to write to. main: whether this process renames and notifies.
    """
    import torch
    from transformers import TrainerCallback

    class Snapshot(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if every is None or state.global_step % every:
                return
            folder = snapshot_folder(out_dir, state.global_step)
            if not main:
                save(folder)
                return
            with torch.random.fork_rng():  # later random numbers are the same as without a snapshot
                with writing(folder) as part:
                    save(part)
                notify()

    return Snapshot()

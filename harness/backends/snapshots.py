"""Models saved during a training for evaluation: plain folders, separate from the checkpoints to resume from.

    <out_dir>/snapshots/step-<optimiser step>/     complete once it has this name

A backend writes one every `hardware.snapshot_every` steps and calls `notify`. The process that called `launch` may
observe that (`observed`). A training in the same process whose rollouts come from vLLM passes that engine (`Held`): it
has the weights of the snapshot, or before the first step those of the base model.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evals.files import rename_folder

if TYPE_CHECKING:
    from transformers import TrainerCallback, TrainerState

    from evals.sampling.engines.base import Engine

SNAPSHOTS = "snapshots"


@dataclass(frozen=True)
class Held:
    """The rollouts' engine with the weights of one step's snapshot: `engine(folder)`, a context, gives it."""

    step: int
    engine: Callable[[str], AbstractContextManager[Engine]]


_observers: list[Callable[[Held | None], None]] = []


@contextmanager
def observed(call: Callable[[Held | None], None] | None) -> Iterator[None]:
    """Inside the block, `call` runs when a backend reports a possible new snapshot. It gets the engine of the
    rollouts if that is in this process."""
    if call is None:
        yield
        return
    _observers.append(call)
    try:
        yield
    finally:
        _observers.remove(call)


def notify(held: Held | None = None) -> None:
    """Tell the observer of a possible new snapshot. Leaves Python's and numpy's random generators unchanged."""
    import numpy as np

    if not _observers:
        return
    states = random.getstate(), np.random.get_state()
    try:
        for call in list(_observers):
            call(held)
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def snapshot_folder(out_dir: Path, step: int) -> Path:
    """The folder of the model after this optimiser step."""
    return out_dir / SNAPSHOTS / f"step-{step:06d}"


def snapshots(out_dir: Path) -> list[tuple[int, Path]]:
    """(step, folder) of each complete snapshot, in order of the steps."""
    by_step = [(int(path.name.removeprefix("step-")), path) for path in (out_dir / SNAPSHOTS).glob("step-*")]
    return sorted(by_step)


def drop_snapshots(out_dir: Path, *, after: int) -> None:
    """Delete the snapshots after a step, from whose checkpoint the training goes on."""
    for step, folder in snapshots(out_dir):
        if step > after:
            shutil.rmtree(folder)


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """A folder to write a snapshot into. It gets its final name when it is complete."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    shutil.rmtree(folder, ignore_errors=True)
    rename_folder(part, folder)


def snapshotter(
    out_dir: Path,
    every: int | None,
    save: Callable[[Path], None],
    *,
    main: bool,
    engine: Callable[[str], AbstractContextManager[Engine]] | None,
) -> TrainerCallback:
    """A transformers callback that saves a snapshot every `every` optimiser steps.

    Args:
        save: called on every process with the folder to write to. main: whether this process renames and notifies.
        engine: as in `Held`. None: the rollouts have none in this process.
    """
    import torch
    from transformers import TrainerCallback

    def tell(step: int) -> None:
        notify(None if engine is None else Held(step, engine))

    class Snapshot(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: object, state: TrainerState, control: object, **kwargs: object) -> None:
            if every is not None and engine is not None and state.global_step == 0:
                with torch.random.fork_rng():
                    tell(0)

        def on_step_end(self, args: object, state: TrainerState, control: object, **kwargs: object) -> None:
            if every is None or state.global_step % every:
                return
            folder = snapshot_folder(out_dir, state.global_step)
            if not main:
                save(folder)
                return
            with torch.random.fork_rng():  # later random numbers are the same as without a snapshot
                with writing(folder) as part:
                    save(part)
                tell(state.global_step)

    return Snapshot()

"""Only a checkpoint whose every file is as it was written is used."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evals.errors import DamagedFileError
from harness.backends.checkpoints import WHOLE, damage, last_verified, seal
from harness.backends.trl.common import checkpoint_step


def make(folder: Path, step: int) -> Path:
    checkpoint = folder / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    for name in ("model.safetensors", "optimizer.pt", "rng_state.pth", "trainer_state.json"):
        if name.endswith((".pt", ".pth")):
            torch.save({"step": step, "state": np.ones(2)}, checkpoint / name)  # as of numpy's generator
        else:
            (checkpoint / name).write_text(f"{name} of step {step}")
    seal(checkpoint)
    return checkpoint


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "rng_state.pth", "trainer_state.json", WHOLE])
@pytest.mark.parametrize("how", [Path.unlink, change, cut])
def test_a_damaged_checkpoint_is_replaced_by_the_previous_one(
    name: str, how: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = make(tmp_path, 9), make(tmp_path, 10)
    assert last_verified(tmp_path.glob("checkpoint-*"), checkpoint_step) == newer  # 10 after 9, by number
    how(newer / name)
    if name == WHOLE and how is change:
        assert damage(newer) is None  # a blank after the JSON changes nothing
        return
    assert last_verified(tmp_path.glob("checkpoint-*"), checkpoint_step) == older
    assert not newer.exists(), "or the trainer would write into it"
    assert bool(capsys.readouterr().err) == (not (name == WHOLE and how is Path.unlink)), (
        "pieces that a kill left are nothing to tell"
    )


def test_no_whole_checkpoint_gives_none(tmp_path: Path) -> None:
    make(tmp_path, 1).joinpath("optimizer.pt").unlink()
    assert last_verified(tmp_path.glob("checkpoint-*"), checkpoint_step) is None


@pytest.mark.parametrize("write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))])
@pytest.mark.parametrize("name", ["optimizer.pt", "rng_state.pth"])
def test_a_file_that_may_run_code_is_named_and_not_loaded(
    name: str, write: Callable[[Any, Path], object], tmp_path: Path
) -> None:
    """Under a fitting seal. veRL would load it as a pickle."""
    checkpoint = make(tmp_path, 1)
    write({"step": print}, checkpoint / name)
    seal(checkpoint)
    with pytest.raises(DamagedFileError, match=rf"{name} is damaged \(loading it may run") as refused:
        last_verified(tmp_path.glob("checkpoint-*"), checkpoint_step)
    assert refused.value.path == checkpoint / name and checkpoint.exists()

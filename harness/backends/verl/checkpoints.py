"""veRL's checkpoints: which are complete, our state in them, and the model in the last one.

<out_dir>/checkpoints/global_step_<rollouts>/actor/huggingface    the policy, as transformers load it
<out_dir>/checkpoints/global_step_<rollouts>/whole                written last, when the checkpoint is complete
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from evals.files import write_json
from harness.backends.checkpoints import WHOLE, last_verified, seal
from harness.backends.common import describe_as_base
from harness.backends.snapshots import snapshot_folder
from harness.backends.verl.reference import REFERENCE

STATE = "rlvr_state.json"  # our own state, read when a training resumes
TYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}  # name in safetensors -> name in a configuration
KEPT = 2  # keep the previous one until the newest is verified


def export(checkpoint: Path, final: Path, base_model: str) -> None:
    """Copy the policy of a checkpoint to `final`, a plain model folder. All but its weights is its base model's."""
    part = final.with_name(".final.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(checkpoint / "actor" / "huggingface", part)
    describe_as_base(part, base_model, _dtype(part))
    shutil.rmtree(final, ignore_errors=True)
    part.rename(final)


def _dtype(folder: Path) -> str:
    """The type of a saved model's weights: veRL's own configuration has the base model's."""
    from safetensors import safe_open

    with safe_open(min(folder.glob("*.safetensors")), "numpy") as weights:
        return TYPES[weights.get_slice(min(weights.keys())).get_dtype()]


class MarkWhole:
    """veRL's checkpoint callback: runs on the driver when all processes have written."""

    def __init__(self, config: object = None) -> None:
        self.config = config

    def on_save(self, trainer: Any, checkpoint_dir: str, **_: object) -> None:
        folder = Path(checkpoint_dir)
        write_json(folder / STATE, {"entropy_coefficient": trainer.entropy_coefficient})
        if trainer.reference_was_reset:
            trainer.actor_rollout_wg.save_reference(str(folder / REFERENCE))
        seal(folder)
        step = trainer.order.snapshot_step(step_of(folder))
        if step is not None:
            target = snapshot_folder(trainer.order.out_dir, step)
            target.parent.mkdir(exist_ok=True)
            export(folder, target, trainer.order.base_model)
        for old in whole_checkpoints(folder.parent)[:-KEPT]:
            shutil.rmtree(old)


def whole_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints, oldest first."""
    marked = [path.parent for path in folder.glob(f"global_step_*/{WHOLE}")]
    return sorted(marked, key=step_of)


def step_of(checkpoint: Path) -> int:
    """The number of rollouts that a checkpoint's folder is named by."""
    return int(checkpoint.name.rpartition("_")[2])


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint, verified. Newer incomplete or damaged ones are removed: veRL would write the next
    ones over them."""
    return last_verified(folder.glob("global_step_*"), step_of)

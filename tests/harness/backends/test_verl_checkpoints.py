"""Which of veRL's checkpoints count, and the model of an evaluated one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from harness.backends.checkpoints import WHOLE
from harness.backends.snapshots import snapshots
from harness.backends.verl.checkpoints import KEPT, STATE, MarkWhole, last_checkpoint, whole_checkpoints


class _Trainer:
    """The parts of a trainer that a checkpoint asks for. It keeps the folders that its reference was written to."""

    entropy_coefficient = 0.25

    def __init__(self, *, reference_was_reset: bool = False) -> None:
        self.reference_was_reset = reference_was_reset
        self.order = self.actor_rollout_wg = self
        self.saved: list[str] = []

    def save_reference(self, folder: str) -> None:
        assert not Path(folder).with_name(WHOLE).exists()  # the mark comes last
        self.saved.append(folder)

    def snapshot_step(self, _: int) -> None:
        """No evaluation during this training."""


def test_only_whole_checkpoints_count_and_the_last_two_stay(tmp_path: Path) -> None:
    for step in (2, 4, 10):
        folder = tmp_path / f"global_step_{step}"
        folder.mkdir()
        MarkWhole().on_save(_Trainer(), str(folder))
    (tmp_path / "global_step_12").mkdir()  # a kill left it without its mark
    assert [path.name for path in whole_checkpoints(tmp_path)] == ["global_step_4", "global_step_10"]  # by number
    assert len(whole_checkpoints(tmp_path)) == KEPT
    assert json.loads((tmp_path / "global_step_10" / STATE).read_text()) == {"entropy_coefficient": 0.25}
    assert last_checkpoint(tmp_path) == tmp_path / "global_step_10"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["global_step_10", "global_step_4"]
    assert (tmp_path / "global_step_4" / WHOLE).exists()


@pytest.mark.parametrize("reset", [True, False])
def test_a_reference_that_was_reset_belongs_to_the_checkpoint(reset: bool, tmp_path: Path) -> None:
    trainer = _Trainer(reference_was_reset=reset)
    folder = tmp_path / "global_step_3"
    folder.mkdir()
    MarkWhole().on_save(trainer, str(folder))
    assert trainer.saved == [str(folder / "reference")] * reset
    assert (folder / WHOLE).exists()


def test_a_checkpoint_at_an_evaluated_step_leaves_its_model_as_a_snapshot(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text('{"dtype": "bfloat16", "eos_token_id": 7}')
    (base / "generation_config.json").write_text('{"eos_token_id": 7}')

    class Trainer(_Trainer):
        out_dir, base_model = tmp_path, str(base)

        def snapshot_step(self, rollouts: int) -> int | None:  # type: ignore[override]
            return 2 * rollouts if rollouts % 2 == 0 else None  # two updates a rollout, eval.every=4

    for rollouts in (1, 2):
        folder = tmp_path / "checkpoints" / f"global_step_{rollouts}"
        model = folder / "actor" / "huggingface"
        model.mkdir(parents=True)
        (model / "config.json").write_text('{"dtype": "float32", "eos_token_id": [7, 8], "use_cache": false}')
        (model / "generation_config.json").write_text('{"eos_token_id": [7, 8]}')
        save_file({"a": torch.full((1,), float(rollouts))}, model / "model.safetensors")
        MarkWhole().on_save(Trainer(), str(folder))
    assert snapshots(tmp_path) == [(4, tmp_path / "snapshots" / "step-000004")]
    made = tmp_path / "snapshots" / "step-000004"
    assert load_file(made / "model.safetensors")["a"].item() == 2
    # all but the weights and their type is the base model's
    assert json.loads((made / "config.json").read_text()) == {"dtype": "float32", "eos_token_id": 7}
    assert json.loads((made / "generation_config.json").read_text()) == {"eos_token_id": 7}
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == ["step-000004"]  # no part is left

"""A checkpoint becomes a plain model: LoRA merged into the weights, under the names that the plain model has."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from harness.backends.checkpoints import WHOLE
from harness.backends.snapshots import snapshots
from harness.backends.verl.checkpoints import KEPT, STATE, MarkWhole, last_checkpoint, whole_checkpoints
from harness.backends.verl.export import export, merged
from tests.experiments import save_random_model


def test_weights_are_merged_by_hand() -> None:
    # W = 0 (2 x 2), A = [1 2] (1 x 2), B = [[1], [3]] (2 x 1), scale 2: W + 2 B A = [[2, 4], [6, 12]]
    weights = merged(
        {
            "base_model.model.a.b.base_layer.weight": torch.zeros(2, 2),
            "base_model.model.a.b.lora_A.default.weight": torch.tensor([[1.0, 2.0]]),
            "base_model.model.a.b.lora_B.default.weight": torch.tensor([[1.0], [3.0]]),
            "base_model.model.norm.weight": torch.ones(2),
        },
        scale=2.0,
    )
    assert weights.keys() == {"a.b.weight", "norm.weight"}
    assert weights["a.b.weight"].tolist() == [[2.0, 4.0], [6.0, 12.0]]


def test_an_exported_lora_model_is_the_one_that_peft_merges(tmp_path: Path) -> None:
    import peft
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(save_random_model(tmp_path / "base"), dtype=torch.float32)
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=2, lora_alpha=6, target_modules="all-linear"))
    generator = torch.Generator().manual_seed(0)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            parameter.data = torch.randn(parameter.shape, generator=generator)
    actor = tmp_path / "global_step_1" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    base.config.save_pretrained(actor / "huggingface")
    tied = {name: value.clone() for name, value in adapted.state_dict().items() if "lm_head" not in name}
    save_file(tied, actor / "huggingface" / "model.safetensors", metadata={"format": "pt"})
    (actor / "lora_train_meta.json").write_text(json.dumps({"r": 2, "lora_alpha": 6}))

    export(actor.parent, tmp_path / "final")
    mine = AutoModelForCausalLM.from_pretrained(tmp_path / "final", dtype=torch.float32)
    theirs = adapted.merge_and_unload()
    ids = torch.randint(2, 20, (2, 7), generator=generator)
    with torch.inference_mode():
        torch.testing.assert_close(mine(ids).logits, theirs(ids).logits, rtol=1e-4, atol=1e-4)


class _Trainer:
    """What a checkpoint asks of the trainer."""

    entropy_coefficient = 0.25

    def __init__(self) -> None:
        self.order = self

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


def test_a_checkpoint_at_an_evaluated_step_leaves_its_model_as_a_snapshot(tmp_path: Path) -> None:
    class Trainer(_Trainer):
        out_dir = tmp_path

        def snapshot_step(self, rollouts: int) -> int | None:  # type: ignore[override]
            return 2 * rollouts if rollouts % 2 == 0 else None  # two updates a rollout, eval.every=4

    for rollouts in (1, 2):
        folder = tmp_path / "checkpoints" / f"global_step_{rollouts}"
        model = folder / "actor" / "huggingface"
        model.mkdir(parents=True)
        (model / "config.json").write_text(str(rollouts))
        MarkWhole().on_save(Trainer(), str(folder))
    assert snapshots(tmp_path) == [(4, tmp_path / "snapshots" / "step-000004")]
    assert (tmp_path / "snapshots" / "step-000004" / "config.json").read_text() == "2"
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == ["step-000004"]  # no part is left

"""Faults injected into real trainings: each stops at its step, names the quantity, and saves nothing that is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from evals.provenance import Origin, assumed
from harness.backends.checkpoints import WHOLE
from harness.backends.trl import common
from harness.backends.trl.hardware import TrlHardware
from harness.spec import use
from harness.step.batch import TokenBatch
from harness.step.finite import Diverged
from tests import experiments
from tests.harness.backends.test_trl_finetune import PAIRS
from tests.harness.backends.test_trl_trainer import make_trainer

pytestmark = pytest.mark.slow

NAN = float("nan")
CPU = TrlHardware(device="cpu", save_every=1)
STEPS = 4
Fault = Callable[[Any], None]


def at_step(trainer: Any, step: int, fault: Callable[[Any], None]) -> None:
    """Inject the fault when the given step (from 1) begins."""
    from transformers import TrainerCallback

    class Inject(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.global_step + 1 == step:
                fault(model)

    trainer.add_callback(Inject())


def nan_gradient(model: Any) -> None:
    parameter = next(model.parameters())
    parameter.register_hook(lambda gradient: gradient.index_fill(0, torch.tensor([0]), NAN))


def nan_logits(model: Any) -> None:
    """NaN logits in the training pass alone (generation has no gradients), through the last hidden states of one
    sequence."""

    def break_one(_: Any, __: Any, output: Any) -> Any:
        if torch.is_grad_enabled():
            output = output.clone()
            output[0] = NAN
        return output

    model.model.norm.register_forward_hook(break_one)


def grpo_trainer(model: Path, out: Path, rewards: Callable[..., list[float | None]], **values: Any) -> Any:
    import peft

    declared = experiments.experiment().override({"max_steps": STEPS, **values}, Origin.USER, "a test")
    lora = common.to_lora_config(declared)
    return make_trainer(
        declared,
        model,
        out,
        None,
        reward_funcs=[rewards],
        peft_config=None if lora is None else peft.LoraConfig(**lora),
        callbacks=[common.reporter({}, out, lambda *_: None, lambda _: None)],
    )


def run_to_end(trainer: Any, out: Path) -> None:
    common.run_to_end(trainer, out, CPU)


def alternate(completions: list[str], **_: Any) -> list[float | None]:
    return [float(i % 2) for i in range(len(completions))]


def kept_steps(out: Path) -> list[int]:
    """The steps of the complete checkpoints, whose weights must be finite, and there is no final model."""
    folders = [path.parent for path in out.glob(f"checkpoint-*/{WHOLE}")]
    for folder in out.glob("checkpoint-*"):
        for name, tensor in load_file(folder / "model.safetensors").items():
            assert tensor.isfinite().all(), (folder, name)
    assert not (out / "final").exists()
    return sorted(int(folder.name.partition("-")[2]) for folder in folders)


@pytest.mark.parametrize(
    ("fault", "quantity"), [(nan_gradient, "gradient norm"), (nan_logits, "loss")], ids=["gradient", "logits"]
)
def test_a_fault_in_a_grpo_step_stops_the_training(
    fault: Fault, quantity: str, random_model: Path, tmp_path: Path
) -> None:
    trainer = grpo_trainer(random_model, tmp_path, alternate)
    at_step(trainer, 3, fault)
    with pytest.raises(Diverged, match=f"step 3: {quantity} is nan"):
        run_to_end(trainer, tmp_path)
    assert kept_steps(tmp_path) == [1, 2]


def test_an_error_inside_a_step_is_unchanged_and_costs_only_that_step(random_model: Path, tmp_path: Path) -> None:
    """Out of memory, and a reward that raises: never a reward of zero, and a later start resumes after step 2."""
    from torch import OutOfMemoryError

    def no_memory(_: Any) -> None:
        raise OutOfMemoryError("no memory is left")

    trainer = grpo_trainer(random_model, tmp_path, alternate)
    at_step(trainer, 3, no_memory)
    with pytest.raises(OutOfMemoryError, match="no memory is left"):
        run_to_end(trainer, tmp_path)
    assert kept_steps(tmp_path) == [1, 2]

    def raises(completions: list[str], **_: Any) -> list[float | None]:
        raise ZeroDivisionError("in the reward")

    with pytest.raises(ZeroDivisionError, match="in the reward"):
        run_to_end(grpo_trainer(random_model, tmp_path, raises), tmp_path)
    assert kept_steps(tmp_path) == [1, 2]
    trainer = grpo_trainer(random_model, tmp_path, alternate)
    run_to_end(trainer, tmp_path)
    assert trainer.state.global_step == STEPS
    assert (tmp_path / "final").is_dir()


def test_a_weight_that_becomes_nan_is_never_saved(random_model: Path, tmp_path: Path) -> None:
    trainer = grpo_trainer(random_model, tmp_path, alternate)

    def at_update(model: Any) -> None:
        parameter = next(model.parameters())
        trainer.optimizer.optimizer.register_step_post_hook(lambda *_: parameter.data.view(-1)[:1].fill_(NAN))

    at_step(trainer, 2, at_update)
    with pytest.raises(Diverged, match=r"step 2: weight .*embed.* is nan"):
        run_to_end(trainer, tmp_path)
    assert kept_steps(tmp_path) == [1]


def test_an_infinite_reward_stops_and_a_missing_one_does_not(random_model: Path, tmp_path: Path) -> None:
    def infinite(completions: list[str], **_: Any) -> list[float | None]:
        return [float("inf"), *([0.0] * (len(completions) - 1))]

    def missing(completions: list[str], **_: Any) -> list[float | None]:
        return [None, *(float(i % 2) for i in range(len(completions) - 1))]

    with pytest.raises(Diverged, match="step 1: reward is inf"):
        run_to_end(grpo_trainer(random_model, tmp_path / "a", infinite), tmp_path / "a")
    run_to_end(grpo_trainer(random_model, tmp_path / "b", missing, max_steps=2), tmp_path / "b")
    assert (tmp_path / "b" / "final").is_dir()


def test_overflowing_weights_of_a_method_stop_the_training(random_model: Path, tmp_path: Path) -> None:
    def overflow(batch: TokenBatch, *, factor: float) -> torch.Tensor:
        return batch.mask * torch.tensor(factor, dtype=torch.float32)

    globals()["overflow"] = overflow
    method = replace(experiments.GRPO, weights=(use(overflow, factor=assumed(1e39, "a test")),))
    trainer = grpo_trainer(random_model, tmp_path, alternate)
    trainer.experiment = replace(trainer.experiment, method=method)
    with pytest.raises(Diverged, match="step 1: weights of the method is inf"):
        run_to_end(trainer, tmp_path)


def test_supervised_fine_tuning_stops_too(random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trl

    from harness.backends.trl.finetune import finetune

    made = trl.SFTTrainer.__init__

    def with_fault(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        at_step(self, 2, nan_gradient)

    monkeypatch.setattr(trl.SFTTrainer, "__init__", with_fault)
    declared = experiments.finetune().override({"max_steps": 3}, Origin.USER, "a test")
    with pytest.raises(Diverged, match="step 2: gradient norm is nan"):
        finetune(
            declared,
            base_model=str(random_model),
            seed=0,
            out_dir=tmp_path,
            hardware=CPU,
            on_metrics=lambda *_: None,
            pairs=PAIRS,
        )
    assert kept_steps(tmp_path) == [1]

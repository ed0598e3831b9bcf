"""What both kinds of training share: arguments of the trainer, checkpoints, step metrics, the final model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.spec import Training
from harness.spec.hardware import Hardware
from harness.step.finite import check_number, check_weights

OnMetrics = Callable[[int, int, dict[str, float]], None]  # (step, total steps, metrics), after every optimiser step
WHOLE = "whole"  # an empty file, written into a checkpoint last


def trainer_arguments(training: Training, hardware: Hardware, *, seed: int, out_dir: Path) -> dict[str, Any]:
    """Keyword arguments that `GRPOConfig` and `SFTConfig` both have: the update, the machine, the record. Pure."""
    e = {key: sourced.value for key, sourced in training.settings().items()}
    schedule = "constant_with_warmup" if e["lr_schedule"] == "constant" and e["warmup_ratio"] else e["lr_schedule"]
    return {
        "output_dir": str(out_dir),
        "seed": seed,
        "data_seed": seed,
        # the update
        "learning_rate": e["learning_rate"],
        "lr_scheduler_type": schedule,
        "warmup_steps": e["warmup_ratio"],  # a float below 1 is a share of all steps
        "optim": "adamw_torch",
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "adam_epsilon": 1e-8,
        "weight_decay": e["weight_decay"],
        "max_grad_norm": e["max_grad_norm"],
        "num_train_epochs": e["epochs"],
        "max_steps": -1 if e["max_steps"] is None else e["max_steps"],
        "bf16": e["precision"] == "bfloat16",
        "model_init_kwargs": {"dtype": e["precision"]},
        # the machine
        "use_cpu": hardware.device == "cpu",
        "dataloader_pin_memory": hardware.device == "gpu",
        "gradient_checkpointing": hardware.gradient_checkpointing,
        "deepspeed": hardware.deepspeed,
        # the record
        "save_strategy": "steps",
        "save_steps": hardware.save_every,
        "save_total_limit": 2,  # the one before stays until the newest is known to be whole
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # it would log another loss in the place of one that is not finite
        "report_to": [],
        "disable_tqdm": True,
    }


def to_lora_config(training: Training) -> dict[str, Any] | None:
    """Keyword arguments for `peft.LoraConfig` over all linear layers; None when all weights are trained."""
    rank = training.lora_rank.value
    if rank is None:
        return None
    return {
        "r": rank,
        "lora_alpha": training.lora_alpha.value,
        "lora_dropout": training.lora_dropout.value,
        "target_modules": "all-linear",
        "task_type": "CAUSAL_LM",
    }


def last_whole_checkpoint(out_dir: Path) -> str | None:
    """The newest complete checkpoint; a kill may have left a newer one incomplete."""
    whole = [path.parent for path in out_dir.glob(f"checkpoint-*/{WHOLE}")]
    return str(max(whole, key=lambda path: int(path.name.partition("-")[2]))) if whole else None


def reporter(names: Mapping[str, str], out_dir: Path, on_metrics: OnMetrics) -> Any:
    """A trainer callback: report the metrics in `names` (trainer's name -> ours), mark complete checkpoints, stop at
    weights that are not finite."""
    from transformers import TrainerCallback

    class Report(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **kwargs: Any) -> None:
            metrics = {names[k]: float(v) for k, v in logs.items() if k in names and v is not None}
            if metrics and state.is_world_process_zero:
                on_metrics(state.global_step, state.max_steps, metrics)

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            check_weights(model.named_parameters(), step=state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            check_weights(model.named_parameters(), step=state.global_step)  # before a checkpoint is saved

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.is_world_process_zero:
                (out_dir / f"checkpoint-{state.global_step}" / WHOLE).touch()

    return Report()


class StopAtNonFinite:
    """For a transformers Trainer: raise Diverged at a loss or gradient norm that is not finite, before the update.

    Every process checks its own loss; the gradient norm is that of all processes.
    """

    if TYPE_CHECKING:
        state: Any

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        loss = super().training_step(*args, **kwargs)  # type: ignore[misc]
        check_number(float(loss), "loss", step=self.state.global_step + 1)
        return loss

    def _get_grad_norm(self, *args: Any, **kwargs: Any) -> Any:
        norm = super()._get_grad_norm(*args, **kwargs)  # type: ignore[misc]
        if norm is not None:
            check_number(float(norm), "gradient norm", step=self.state.global_step + 1)
        return norm


def run_to_end(trainer: Any, out_dir: Path) -> str | None:
    """Train, from the last whole checkpoint if there is one (which is returned), and save `out_dir/final`."""
    from transformers.trainer_callback import PrinterCallback

    trainer.remove_callback(PrinterCallback)  # it prints every log to stdout, which is for results
    last = last_whole_checkpoint(out_dir)
    trainer.train(resume_from_checkpoint=last)
    if hasattr(trainer.model, "merge_and_unload"):  # LoRA: what is measured is one plain model
        trainer.model = trainer.model.merge_and_unload()
    trainer.save_model(str(out_dir / "final"))
    return last

"""Shared by both kinds of training: trainer arguments, checkpoints, step metrics, the final model."""

from __future__ import annotations

import copy
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.files import rename_folder
from evals.log import logger
from harness.backends.checkpoints import last_verified, seal
from harness.backends.children import STOP
from harness.backends.common import describe_as_base
from harness.backends.snapshots import drop_snapshots, snapshot_folder, snapshotter, writing
from harness.backends.trl.hardware import TrlHardware, deepspeed_file
from harness.runs.interrupt import MINUTES, Interrupted, finishing, out_of_time, requested
from harness.spec import Training
from harness.spec.declarations import Precision, warmup_steps
from harness.step.finite import check_number, check_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

    from evals.sampling.engines.vllm import VllmEngine

OnMetrics = Callable[[int, int, dict[str, float]], None]  # (step, total steps, metrics), after every optimiser step
OnStart = Callable[[int], None]  # the step that the training goes on from, before it does


def trainer_arguments(
    training: Training, hardware: TrlHardware, *, seed: int, out_dir: Path, rows: int | None
) -> dict[str, Any]:
    """Keyword arguments that `GRPOConfig` and `SFTConfig` both have: the update, the machine, the record. Pure.

    Args:
        rows: training rows of one start. None: those that are declared.
    """
    e: dict[str, Any] = {key: sourced.value for key, sourced in training.settings().items()}
    warmup = warmup_steps(training, rows)
    schedule = "constant_with_warmup" if e["lr_schedule"] == "constant" and warmup else e["lr_schedule"]
    return {
        "output_dir": str(out_dir),
        "seed": seed,
        "data_seed": seed,
        # the update
        "learning_rate": e["learning_rate"],
        "lr_scheduler_type": schedule,
        "warmup_steps": warmup,
        "optim": "adamw_torch",
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "adam_epsilon": 1e-8,
        "weight_decay": e["weight_decay"],
        "max_grad_norm": e["max_grad_norm"],
        # by epochs, TRL would round up, and could end within a rollout
        "max_steps": training.steps_per_start(rows),
        "bf16": e["precision"] in ("bfloat16", "pure_bfloat16"),
        "fp16": e["precision"] == "float16",
        "model_init_kwargs": {"dtype": weights_dtype(e["precision"], lora=e["lora_rank"] is not None)},
        # the machine
        "full_determinism": hardware.deterministic,
        "use_cpu": hardware.device == "cpu",
        "dataloader_pin_memory": hardware.device == "gpu",
        "gradient_checkpointing": hardware.gradient_checkpointing,
        "deepspeed": None if hardware.deepspeed is None else deepspeed_file(hardware.deepspeed),
        # the record
        "save_strategy": "steps",
        "save_steps": hardware.save_every,
        "save_total_limit": 2,  # keep the one before until the newest is known to be whole
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # it would log another loss in place of one that is not finite
        "report_to": [],
        "disable_tqdm": True,
    }


def weights_dtype(precision: Precision, *, lora: bool) -> str:
    """The number type in which to load the model. In mixed precision trained weights must be float32: all weights, or
    LoRA's adapters, which peft creates in float32 beside frozen weights of any type."""
    if precision == "float32" or (precision != "pure_bfloat16" and not lora):
        return "float32"
    return passes_dtype(precision)


def passes_dtype(precision: Precision) -> str:
    """The number type of the passes and of the saved model."""
    return "bfloat16" if precision == "pure_bfloat16" else precision


def to_lora_config(training: Training) -> dict[str, object] | None:
    """Keyword arguments for `peft.LoraConfig` over all linear layers, or None when all weights are trained."""
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


def checkpoint_step(checkpoint: Path) -> int:
    """The optimiser step that a checkpoint's folder is named by."""
    return int(checkpoint.name.partition("-")[2])


def reporter(names: Mapping[str, str], out_dir: Path, on_metrics: OnMetrics, on_start: OnStart) -> object:
    """A trainer callback: report the start and the metrics in `names` (trainer's name -> ours), seal checkpoints, stop
    at weights that are not finite."""
    from transformers import TrainerCallback

    class Report(TrainerCallback):  # type: ignore[misc]
        def on_log(
            self, args: object, state: TrainerState, control: TrainerControl, logs: dict[str, Any], **kwargs: object
        ) -> None:
            metrics = {names[k]: float(v) for k, v in logs.items() if k in names and v is not None}
            if metrics and state.is_world_process_zero:
                on_metrics(state.global_step, state.max_steps, metrics)

        def on_train_begin(
            self, args: object, state: TrainerState, control: TrainerControl, model: PreTrainedModel, **kwargs: object
        ) -> None:
            check_weights(model.named_parameters(), step=state.global_step)
            if state.is_world_process_zero:
                on_start(state.global_step)
                drop_snapshots(out_dir, after=state.global_step)

        def on_step_end(
            self, args: object, state: TrainerState, control: TrainerControl, model: PreTrainedModel, **kwargs: object
        ) -> None:
            check_weights(model.named_parameters(), step=state.global_step)  # before a checkpoint is saved

        def on_save(self, args: object, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
            _wait_for_all()  # each process writes its own file
            if state.is_world_process_zero:
                seal(out_dir / f"checkpoint-{state.global_step}")

    return Report()


class StopAtNonFinite:
    """For a transformers Trainer: raise Diverged at a loss or gradient norm that is not finite, before the update.

    Every process checks its own loss. The gradient norm is that of all processes. Tied weights, which a checkpoint has
    once, are not missing.
    """

    if TYPE_CHECKING:
        state: TrainerState
        args: TrainingArguments
        model: PreTrainedModel

    def training_step(self, *args: object, **kwargs: object) -> object:
        loss = super().training_step(*args, **kwargs)  # type: ignore[misc]
        check_number(float(loss), "loss", step=self.state.global_step + 1)
        return loss

    def _get_grad_norm(self, *args: object, **kwargs: object) -> object:
        norm = super()._get_grad_norm(*args, **kwargs)  # type: ignore[misc]
        if norm is not None and not self.args.fp16:  # a loss scaled for float16 skips overflows
            check_number(float(norm), "gradient norm", step=self.state.global_step + 1)
        return norm

    def _issue_warnings_after_load(self, loading: Any) -> None:
        loading.missing_keys[:] = sorted({*loading.missing_keys} - {*self.model.all_tied_weights_keys})
        super()._issue_warnings_after_load(loading)  # type: ignore[misc]


def saver(out_dir: Path, *, save_minutes: float, rollout_steps: int) -> TrainerCallback:
    """A trainer callback that saves by time, and stops after a saved step when a signal asks for it, or where the time
    is over (`spent`).

    Args:
        save_minutes: the most training time that a kill may lose, if a rollout takes less.
        rollout_steps: optimiser steps of one rollout. The one in progress is in no checkpoint, so it is finished first.
    """
    from transformers import TrainerCallback

    class Save(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.saved = time.monotonic()
            self.stopped = self.spent = False

        def on_step_end(self, args: object, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
            if state.global_step % rollout_steps:
                return
            due = time.monotonic() - self.saved > 60 * save_minutes
            due, stop = _from_main_process((due, requested() or (out_dir / STOP).exists()))
            control.should_save |= due or stop
            if stop and state.global_step < state.max_steps:
                self.stopped = control.should_training_stop = True
                stop_reason = (out_dir / STOP).read_text() if (out_dir / STOP).exists() else ""
                self.spent = _from_main_process(out_of_time() or stop_reason == MINUTES)

        def on_save(self, args: object, state: object, control: object, **kwargs: object) -> None:
            self.saved = time.monotonic()

    return Save()


def run_to_end(
    trainer: Trainer, out_dir: Path, hardware: TrlHardware, *, precision: Precision = "float32", rollout_steps: int = 1
) -> str | None:
    """Train, from the last complete checkpoint if there is one (it is returned), and save `out_dir/final`.

    The final model has the number type of the passes, which sampling and evaluation use too.

    Raises:
        Interrupted: a signal asked to stop. The last step is saved.
    """
    from transformers.trainer_callback import PrinterCallback

    _know_numbered_cpus()
    trainer.remove_callback(PrinterCallback)  # it prints every log to stdout, which is for results
    main, colocated = trainer.is_world_process_zero(), getattr(trainer, "use_vllm", False)
    saving = saver(out_dir, save_minutes=hardware.save_minutes, rollout_steps=rollout_steps)
    trainer.add_callback(saving)
    trainer.add_callback(
        snapshotter(
            out_dir,
            hardware.snapshot_every,
            lambda folder: save_snapshot(trainer, folder, precision),
            main=main,
            engine=partial(rollout_engine, trainer) if colocated and hardware.processes == 1 else None,
        )
    )
    newest = last_verified(out_dir.glob("checkpoint-*"), checkpoint_step) if main else None
    last: str | None = _from_main_process(None if newest is None else str(newest))
    state = None if last is None else json.loads((Path(last) / "trainer_state.json").read_text())
    if main and state is not None:
        logger.info(f"    resuming after step {state['global_step']} of {state['max_steps']}")
    if state is not None and state["global_step"] >= state["max_steps"]:
        from transformers.trainer_utils import align_special_tokens

        align_special_tokens(trainer.model, trainer.processing_class)  # as `train` does: the same files come out
        trainer._load_from_checkpoint(last)  # all steps are done: `train` would make one more
        trainer.state.global_step = state["global_step"]
    else:
        with finishing():
            trainer.train(resume_from_checkpoint=last)
        if saving.stopped:
            step = trainer.state.global_step
            if saving.spent:  # this model is evaluated
                with writing(snapshot_folder(out_dir, step)) if main else nullcontext(out_dir) as folder:
                    save_snapshot(trainer, folder, precision)
                _wait_for_all()
            raise Interrupted(f"after step {step} of {trainer.state.max_steps}")
    part = out_dir / ".final.part"
    if main:
        shutil.rmtree(part, ignore_errors=True)
    save_snapshot(trainer, part, precision)
    if main:
        shutil.rmtree(out_dir / "final", ignore_errors=True)
        rename_folder(part, out_dir / "final")
    _wait_for_all()
    return last


def read_prompts(trainer: Trainer, hardware: TrlHardware, prompts: Iterable[str]) -> dict[str, float] | None:
    """How well the model predicts the first of these rendered prompts, for the record. Warns of one that cannot read
    them. None: not measured, because DeepSpeed has not put the whole weights on a GPU, or no prompt has two tokens."""
    from evals.sampling.engines.encode import prompt_tokens
    from evals.sampling.prompt_nats import PROMPTS, prompt_nats

    if hardware.deepspeed:
        return None
    tokenizer = trainer.processing_class
    read = prompt_nats(trainer.model, tokenizer, [prompt_tokens(tokenizer, text) for text in islice(prompts, PROMPTS)])
    if read is not None and read.warning and trainer.is_world_process_zero():
        logger.warning(f"    warning: {read.warning}")
    return None if read is None else read.as_record()


@contextmanager
def rollout_engine(trainer: Trainer, folder: str) -> Iterator[VllmEngine]:
    """The vLLM of the rollouts with the current weights, for the model in `folder`. It may sleep afterwards."""
    from evals.sampling.engines.vllm import VllmEngine

    rollouts = trainer.vllm_generation
    engine = VllmEngine(folder, dtype=str(rollouts.llm.model_config.dtype).removeprefix("torch."))
    rollouts.sync_weights()  # wakes the weights
    if rollouts.enable_sleep_mode:
        rollouts.llm.wake_up(tags=["kv_cache"])
    engine.llm = rollouts.llm
    try:
        yield engine
    finally:
        if rollouts.enable_sleep_mode:
            rollouts.llm.sleep(level=2)
            rollouts._llm_weights_sleeping = True  # as TRL's own `generate` leaves it


def save_snapshot(trainer: Trainer, folder: Path, precision: Precision) -> None:
    """Save the current policy as a plain model: LoRA merged, in the type of the passes, which sampling and evaluation
    use too. All but its weights is its base model's. The trained weights do not change. Called on every process. The
    main one writes."""
    import torch

    dtype = getattr(torch, passes_dtype(precision))
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_and_unload"):
        plain = copy.deepcopy(model).float().merge_and_unload().to(dtype)
        weights = plain.state_dict()
    else:
        plain, weights = model, trainer.accelerator.get_state_dict(trainer.model_wrapped)
    if not trainer.is_world_process_zero():
        return
    weights = {name: value.to(dtype) for name, value in weights.items()}
    if getattr(plain.config, "tie_word_embeddings", False):
        weights.pop("lm_head.weight", None)
    plain.save_pretrained(folder, state_dict=weights)
    describe_as_base(folder, plain.config._name_or_path, str(dtype).removeprefix("torch."))


def _from_main_process(value: object) -> Any:
    """The main process's value, on every process."""
    import torch.distributed

    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return value
    values = [value]
    torch.distributed.broadcast_object_list(values, src=0)
    return values[0]


def _wait_for_all() -> None:
    import torch.distributed

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


@cache  # registered once per process: torch sorts its registry and cannot sort two entries of equal priority
def _know_numbered_cpus() -> None:
    """Let torch load to "cpu:0": a process of several on a CPU has that device, and transformers loads the optimiser's
    state to it, which torch refuses."""
    import torch

    def restore(storage: Any, location: str) -> Any:
        return storage if location.startswith("cpu:") else None

    torch.serialization.register_package(5, lambda _: None, restore)

"""Train one arm with TRL: data, rewards, checkpoints, resuming, metrics. Heavy imports happen inside."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from evals.imports import uncollected
from evals.library_output import bars_too
from evals.sampling.engines.vllm import set_up, shut_down
from harness.backends.common import prompt_rows
from harness.backends.trl.common import OnMetrics, OnStart, read_prompts, reporter, run_to_end, to_lora_config
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.pulse import Pulse
from harness.backends.trl.translate import to_grpo_config
from harness.backends.vllm_weights import replaceable
from harness.data.base_models import locate
from harness.spec import Experiment
from harness.spec.declarations import SELF
from harness.step.learning import UNEQUAL_BOXES
from harness.step.mismatch import MISMATCH_METRICS
from harness.step.own_rewards import limits_of
from harness.step.rewards import unequal_boxes
from harness.step.spread import SPREAD_METRICS
from harness.step.step_metrics import STEP_METRICS

if TYPE_CHECKING:
    from evals.grading import Grader

# TRL's name of a step metric -> the name that both backends log. Our own metrics have one name in both
OUR_NAMES = {
    "entropy_coefficient": "train/entropy_coefficient",
    "kl": "train/kl",
    "clip_fraction": "train/clip_fraction",
    "grad_norm": "train/grad_norm",
    "learning_rate": "train/learning_rate",
    "completions/mean_length": "train/response_length",
    "completions/clipped_ratio": "train/truncated_fraction",
    "step_time": "train/step_seconds",
    **{name: name for name in (*STEP_METRICS, *SPREAD_METRICS, *MISMATCH_METRICS, UNEQUAL_BOXES)},
}
# environment variables that TRL sets for its vLLM. A later training would take itself for one of several processes
LAUNCHED = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


def train(
    experiment: Experiment,
    *,
    base_model: str,
    seed: int,
    out_dir: Path,
    hardware: TrlHardware,
    on_metrics: OnMetrics,
    on_start: OnStart = lambda step: None,
) -> dict[str, object]:
    """Train and save the final model under `out_dir/final`. Continue from the last checkpoint when there is one.

    Args:
        base_model: the resolved `experiment.base_model` on this machine (a folder, or a hub id).
        on_metrics: called on the main process with (step, total steps, metrics) after every optimiser step.
        on_start: called there with the steps that are done, before the first of this call.
    Returns:
        What a record keeps: steps, training rows, rows dropped for their length, hash of the data, seconds.
    """
    from evals.data import prompts
    from evals.grading import Grader

    with uncollected():
        import peft
        import torch
        import transformers
        from datasets import Dataset
        from transformers import AutoTokenizer
        from trl import GRPOConfig

        from harness.backends.trl.trainer import MethodTrainer

    started = time.monotonic()
    transformers.utils.logging.disable_progress_bar()
    lora = to_lora_config(experiment)
    tokenizer = AutoTokenizer.from_pretrained(base_model, padding_side="left")
    policy = prompts.get(experiment.prompt.value).policy
    teacher = experiment.reference_model.value
    rows, dropped, digest = prompt_rows(experiment, tokenizer, seed=seed)
    arguments = to_grpo_config(experiment, hardware, seed=seed, out_dir=out_dir, rows=len(rows))
    torch.manual_seed(seed)
    before = {*os.environ}
    colocated = hardware.rollouts == "vllm_colocate"
    if colocated:
        set_up(cpu=not torch.cuda.is_available())
    with replaceable() if colocated else nullcontext(), bars_too() if colocated else nullcontext():
        trainer = MethodTrainer(
            experiment,
            reference_model=None if teacher in (None, SELF) else locate(teacher),
            model=base_model,
            reward_funcs=reward_functions(experiment, Grader(reasoning=experiment.reasoning.value), policy=policy),
            args=GRPOConfig(**arguments),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            peft_config=None if lora is None else peft.LoraConfig(**lora),
            callbacks=[reporter(OUR_NAMES, out_dir, on_metrics, on_start)],
        )
    read = read_prompts(trainer, hardware, (row["prompt"] for row in rows))
    try:
        with Pulse(trainer) if trainer.is_world_process_zero() else nullcontext():
            last = run_to_end(
                trainer,
                out_dir,
                hardware,
                precision=experiment.precision.value,
                rollout_steps=experiment.updates_per_rollout.value,
            )
    finally:
        if trainer.use_vllm and hardware.processes == 1:  # others end with their process
            shut_down(trainer.vllm_generation.llm)
            for name in LAUNCHED - before:
                os.environ.pop(name, None)
    return {
        "steps": trainer.state.global_step,
        "resumed_from": last,
        "train_rows": len(rows),
        "train_rows_dropped_for_length": dropped,
        "train_data_sha256": digest,
        "prompt_nats": read,
        "reward_limits_s": limits_of(experiment.rewards.value),
        "train_seconds": round(time.monotonic() - started, 1),
    }


def reward_functions(experiment: Experiment, grader: Grader, *, policy: str) -> list[Callable[..., list[float | None]]]:
    """One function for each reward, in the form that TRL calls. The responses of a step are graded once."""
    from evals.grading.reasoning import begins
    from harness.step.rewards import score_responses

    names, size, unscored = experiment.rewards.value, experiment.group_size.value, experiment.unscored.value
    cache: dict[str, list[float | None]] = {}

    def reward_function(name: str) -> Callable[..., list[float | None]]:
        def reward(
            prompts: list[str],
            completions: list[str],
            answer: list[str],
            log_metric: Callable[[str, float], None] | None = None,  # TRL's. Not there for greedy responses
            **_: object,
        ) -> list[float | None]:
            if name == names[0]:  # TRL asks each reward in turn
                if log_metric is not None:
                    log_metric(UNEQUAL_BOXES, unequal_boxes(completions))
                cache.update(
                    score_responses(
                        names,
                        completions,
                        answer,
                        grader,
                        policy=policy,
                        begun=[begins(prompt) for prompt in prompts],
                        group_size=size,
                        unscored=unscored,
                    )
                )
            return cache[name]

        reward.__name__ = name
        return reward

    return [reward_function(name) for name in names]

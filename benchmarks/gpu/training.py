"""Optimiser steps of TRL on random models: seconds, tokens/s, peak memory beside the plan; the same steps twice."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.gpu.bench import Bench, random_model
from evals.provenance import Origin
from harness.backends.memory import USABLE
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.needs import need
from harness.plan.profiles import judge
from harness.spec import Experiment
from harness.spec.architecture import Architecture


def steps(bench: Bench) -> Iterator[dict[str, Any]]:
    """TRL steps of a random model of each shape: bfloat16 passes, float32 masters, or LoRA where those do not fit."""
    for name, a in bench.sizes.shapes.items():
        declared, hardware = experiment(bench, bench.sizes.steps), machine(bench)
        planned = need(a, declared, hardware, bench.memory())
        row: dict[str, Any] = {"shape": name, "parameters": a.parameters, "plan_bytes": planned.peak}
        if planned.peak > USABLE * bench.memory():
            yield {**row, "lora_rank": None, "skipped": "the plan says that float32 masters do not fit"}
            declared = declared.override({"lora_rank": 32}, Origin.USER, "a benchmark")
            row["plan_bytes"] = need(a, declared, hardware, bench.memory()).peak
        trained = train(bench, a, declared, hardware)
        if trained["tokens_per_second"]:
            bench.token_seconds[name] = 1 / trained["tokens_per_second"]
        ratio = trained["peak_bytes"] / row["plan_bytes"] if trained["peak_bytes"] else None
        yield {**row, "lora_rank": declared.lora_rank.value, **trained, "peak_over_plan": ratio}


def determinism(bench: Bench) -> Iterator[dict[str, Any]]:
    """The same three steps twice, with default settings and `deterministic=true`: are the weights bit-identical?"""
    name, a = next(iter(bench.sizes.shapes.items()))
    declared = experiment(bench, min(3, bench.sizes.steps))
    if not judge(declared, "trl", machine(bench), memory=bench.memory()).fits:
        raise ValueError("the training does not fit into the GPU's memory")
    import torch

    try:
        for asked in (False, True):
            twice = [train(bench, a, declared, machine(bench, deterministic=asked)) for _ in range(2)]
            first, second = (one["weights"] for one in twice)
            yield {
                "shape": name,
                "deterministic": asked,
                "equal": first == second,
                "weights": [first, second],
                "seconds_per_step": [one["seconds_per_step"] for one in twice],
            }
    finally:
        torch.use_deterministic_algorithms(False)


def machine(bench: Bench, **settings: Any) -> TrlHardware:
    """The hardware settings of every training in this file."""
    device = "gpu" if bench.device == "cuda" else "cpu"
    return TrlHardware(device=device, micro_batch=2, gradient_checkpointing=True, **settings)


def experiment(bench: Bench, count: int) -> Experiment:
    """GRPO at the benchmark's sizes."""
    from harness.command.resolve import resolve

    (job,) = resolve("egsw", arms=["grpo"], seeds=[0])
    assert isinstance(job.experiment, Experiment)
    s = bench.sizes
    values = {
        "prompts_per_rollout": s.prompts,
        "group_size": s.group,
        "max_prompt_tokens": s.prompt,
        "max_completion_tokens": s.completion,
        "max_steps": count,
        "rewards": ["accuracy"],
        "reward_weights": [1.0],
        "learning_rate": 1e-6,
        "kl_beta": 0.0,
        "precision": "bfloat16",
        "updates_per_rollout": 1,
    }
    return job.experiment.override(values, Origin.USER, "a benchmark")


def train(bench: Bench, a: Architecture, declared: Experiment, hardware: TrlHardware) -> dict[str, Any]:
    """Seconds, tokens/s and peak bytes of the steps of one training, and a hash of its final weights."""
    import peft
    import torch
    from datasets import Dataset
    from transformers import AutoTokenizer, TrainerCallback
    from transformers.trainer_callback import PrinterCallback
    from trl import GRPOConfig

    from harness.backends.trl.common import to_lora_config
    from harness.backends.trl.trainer import MethodTrainer
    from harness.backends.trl.translate import to_grpo_config
    from harness.data.base_models import locate

    times: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            bench.sync()
            times.append(time.perf_counter())

    tokenizer = AutoTokenizer.from_pretrained(locate("tiny"), padding_side="left")
    torch.manual_seed(0)
    model = random_model(a, bench.device)
    lora = to_lora_config(declared)
    with tempfile.TemporaryDirectory() as folder:
        arguments = to_grpo_config(declared, hardware, seed=0, out_dir=Path(folder))
        arguments |= {"model_init_kwargs": None, "save_strategy": "no"}
        bench.peak(reset=True)
        trainer = MethodTrainer(
            declared,
            model=model,
            reward_funcs=[_lengths],
            args=GRPOConfig(**arguments),
            train_dataset=Dataset.from_list([{"prompt": "1 + 2 * 3 = "}] * 64),
            processing_class=tokenizer,
            peft_config=None if lora is None else peft.LoraConfig(**lora),
            callbacks=[Clock()],
        )
        trainer.remove_callback(PrinterCallback)  # stdout is for the rows
        start = time.perf_counter()
        trainer.train()
    each = [b - a_ for a_, b in zip([start, *times], times, strict=False)]
    done = trainer.state.log_history
    lengths = [row["completions/mean_length"] for row in done if "completions/mean_length" in row]
    sequences = declared.prompts_per_rollout.value * declared.group_size.value
    seconds = median(each[1:] or each)
    return {
        "seconds_per_step": seconds,
        "seconds_all": each,
        "tokens_per_second": sequences * median(lengths) / seconds if lengths else None,
        "peak_bytes": bench.peak(),
        "weights": _digest(trainer.model),
    }


def _lengths(completions: list[str], **_: Any) -> list[float]:
    """A reward that varies within a group."""
    return [float(len(text) % 7) for text in completions]


def _digest(model: Any) -> str:
    import hashlib

    import torch

    digest = hashlib.sha256()
    for _, parameter in sorted(model.named_parameters()):
        digest.update(parameter.detach().to("cpu", torch.float32).numpy().tobytes())
    return digest.hexdigest()[:16]

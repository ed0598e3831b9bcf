"""Supervised fine-tuning of one arm with TRL: rows, checkpoints, resuming, metrics. Heavy imports happen inside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.imports import uncollected
from evals.sampling.engines.encode import prompt_tokens
from harness.backends.trl.common import (
    OnMetrics,
    OnStart,
    StopAtNonFinite,
    read_prompts,
    reporter,
    run_to_end,
    to_lora_config,
)
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.translate_sft import to_sft_config
from harness.errors import UsageError
from harness.spec import Finetune

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# TRL's name of a step metric -> the name that every backend logs it under
OUR_NAMES = {
    "loss": "train/loss",
    "entropy": "train/entropy",
    "mean_token_accuracy": "train/token_accuracy",
    "grad_norm": "train/grad_norm",
    "learning_rate": "train/learning_rate",
}
IGNORED = -100  # label of a token that the loss passes over (torch's cross_entropy)


def encode(prompt: str, solution: str, tokenizer: PreTrainedTokenizerBase, *, max_tokens: int) -> dict[str, Any]:
    """Token ids and labels of one row, cut to `max_tokens`. The prompt's labels are `IGNORED`.

    The prompt is tokenised separately from the solution, as in generation. The solution ends with the tokenizer's
    end-of-text token, at which sampling stops.

    Returns:
        `input_ids`, `labels` (lists of one length), and `tokens`, the length before cutting.
    """
    start = prompt_tokens(tokenizer, prompt)
    end = [*tokenizer.encode(solution, add_special_tokens=False), tokenizer.eos_token_id]
    ids, labels = [*start, *end], [IGNORED] * len(start) + end
    return {"input_ids": ids[:max_tokens], "labels": labels[:max_tokens], "tokens": len(ids)}


def usable(row: dict[str, Any], declared: Finetune) -> bool:
    """Whether to train on a row of `encode`: it is short enough (or may be cut) and has a solution token left."""
    short = row["tokens"] <= declared.max_tokens.value
    return (short or declared.too_long.value == "cut") and any(label != IGNORED for label in row["labels"])


def finetune(
    declared: Finetune,
    *,
    base_model: str,
    seed: int,
    out_dir: Path,
    hardware: TrlHardware,
    on_metrics: OnMetrics,
    on_start: OnStart = lambda step: None,
    pairs: list[dict[str, str]] | None = None,
) -> dict[str, Any]:
    """Train and save the final model under `out_dir/final`. Continue from the last checkpoint when there is one.

    Args:
        base_model: the resolved `declared.base_model` on this machine (a folder, or a hub id).
        on_metrics: called on the main process with (step, total steps, metrics) after every optimiser step.
        on_start: called there with the steps that are done, before the first of this call.
        pairs: rows with `problem` and `solution` to train on instead of those of `declared.dataset` (a round of
            rejection sampling makes its own).
    Returns:
        What a record keeps: steps, training rows, rows dropped or cut for their length, hash of the data, seconds.
    Raises:
        UsageError: the data are wrong, or no row is short enough.
    """
    from evals.data import prompts
    from evals.data.benchmarks import Problem
    from harness.data.problems import content_hash, load_solutions

    with uncollected():
        import peft
        import torch
        import transformers
        from datasets import Dataset
        from transformers import AutoTokenizer
        from trl import SFTConfig, SFTTrainer

    class FinetuneTrainer(StopAtNonFinite, SFTTrainer):  # type: ignore[misc]
        """SFTTrainer that stops at a loss or gradient that is not finite."""

    started = time.monotonic()
    transformers.utils.logging.disable_progress_bar()
    lora = to_lora_config(declared)
    tokenizer = AutoTokenizer.from_pretrained(base_model)
    if tokenizer.eos_token_id is None:
        raise UsageError(f"base_model={base_model!r}: its tokenizer has no end-of-text token to end a solution with")
    pairs = load_solutions(declared.dataset.value, seed=seed) if pairs is None else pairs
    prompt, limit = prompts.get(declared.prompt.value), declared.max_tokens.value
    texts = [prompts.render(prompt, Problem(str(i), pair["problem"], ""), tokenizer) for i, pair in enumerate(pairs)]
    rows = []
    for text, pair in zip(texts, pairs, strict=True):
        rows.append(encode(text, pair["solution"], tokenizer, max_tokens=limit))
    usable_rows = [row for row in rows if usable(row, declared)]
    if not usable_rows:
        raise UsageError(
            f"max_tokens: expected at least one of {len(rows)} rows (prompt and solution) to fit into {limit} tokens. "
            f"The shortest has {min((row['tokens'] for row in rows), default=0)}"
        )
    arguments = to_sft_config(declared, hardware, seed=seed, out_dir=out_dir, rows=len(usable_rows))
    torch.manual_seed(seed)
    trainer = FinetuneTrainer(
        model=base_model,
        args=SFTConfig(**arguments),
        train_dataset=Dataset.from_list([{key: row[key] for key in ("input_ids", "labels")} for row in usable_rows]),
        processing_class=tokenizer,
        peft_config=None if lora is None else peft.LoraConfig(**lora),
        callbacks=[reporter(OUR_NAMES, out_dir, on_metrics, on_start)],
    )
    read = read_prompts(trainer, hardware, texts)
    last = run_to_end(trainer, out_dir, hardware, precision=declared.precision.value)
    return {
        "steps": trainer.state.global_step,
        "resumed_from": last,
        "train_rows": len(usable_rows),
        "train_rows_dropped_for_length": len(rows) - len(usable_rows),
        "train_rows_cut": sum(row["tokens"] > limit for row in usable_rows),
        "train_data_sha256": content_hash(pairs),
        "prompt_nats": read,
        "train_seconds": round(time.monotonic() - started, 1),
    }

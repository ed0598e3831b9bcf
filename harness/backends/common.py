"""Shared by all backends: the training prompts, and the logging of step metrics."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import uuid4

from evals.data.prompts import Prompt
from evals.files import text_sha256
from harness.backends.errors import CannotExpress
from harness.record.write import Recorder
from harness.spec import Experiment, Training
from harness.spec.hardware import Hardware
from harness.spec.rejection import Rejection
from harness.step.mismatch import FLAGS, mismatch_flag


def needs_gpu(training: Training, hardware: Hardware) -> None:
    """Raise ValueError for a precision that this device cannot train in."""
    if training.precision.value == "float16" and hardware.device == "cpu":
        raise ValueError(
            "precision: expected float32, bfloat16 or pure_bfloat16 on a CPU, got 'float16', whose scaled loss needs a "
            "GPU"
        )


def whole_update(backend: str, experiment: Experiment) -> None:
    """Raise CannotExpress for a statistic over a rollout of several updates: a method sees one update."""
    for key, sourced in experiment.settings().items():
        if key.endswith(".scope") and sourced.value == "rollout" and experiment.updates_per_rollout.value > 1:
            why = f"its rollout is cut into updates_per_rollout={experiment.updates_per_rollout.value}, and a method "
            raise CannotExpress(backend, key, sourced, why + "sees one update")


def needs_reference(experiment: Experiment) -> bool:
    """Whether the reference model's log-probabilities are read, by the KL term or by the method."""
    return bool(experiment.kl_beta.value) or "ref_logp" in experiment.method.reads


def optimiser_steps(training: Training, rows: int | None = None) -> int:
    """Optimiser steps of a training on that many rows (None: those that it declares)."""
    rows = training.dataset_rows.value if rows is None else rows
    if isinstance(training, Rejection):
        return training.rounds.value * training.steps_per_round()
    if training.max_steps.value is not None:
        return training.max_steps.value
    if isinstance(training, Experiment):
        rollouts = rows // training.prompts_per_rollout.value
        return int(rollouts * training.epochs.value) * training.updates_per_rollout.value
    return math.ceil(math.ceil(rows / training.batch_size.value) * training.epochs.value)


def prompt_rows(experiment: Experiment, tokenizer: Any, *, seed: int) -> tuple[list[dict[str, str]], int, str]:
    """(rows with the rendered prompt and the answer; how many were too long; hash of the data).

    Raises:
        ValueError: the data cannot be loaded, or too few rows are short enough for one rollout.
    """
    from evals.data import prompts
    from harness.data.problems import content_hash, load_problems

    problems = load_problems(experiment.dataset.value, seed=seed)
    digest = content_hash(problems)
    prompt = prompts.get(experiment.prompt.value)
    rows = _rendered(_Rows(digest, prompt, _identity(tokenizer), problems, tokenizer))
    limit = experiment.max_prompt_tokens.value
    kept = [{"prompt": text, "answer": answer} for text, answer, length in rows if length <= limit]
    if len(kept) < experiment.prompts_per_rollout.value:
        raise ValueError(
            f"max_prompt_tokens: {len(kept)} of {len(rows)} prompts have at most {limit} tokens; expected at least "
            f"prompts_per_rollout={experiment.prompts_per_rollout.value}"
        )
    return kept, len(rows) - len(kept), digest


@dataclass(frozen=True)
class _Rows:
    """Problems to render: `digest`, `prompt` and `identity` (of the tokenizer) decide the result."""

    digest: str
    prompt: Prompt
    identity: str
    problems: list[dict[str, str]] = field(compare=False)
    tokenizer: Any = field(compare=False)


@lru_cache(maxsize=4)  # a study trains many arms on the problems of each seed
def _rendered(rows: _Rows) -> tuple[tuple[str, str, int], ...]:
    """(rendered prompt, answer, tokens of the prompt) of each problem."""
    from evals.data import prompts
    from evals.data.benchmarks import Problem
    from evals.sampling.engines.encode import prompt_tokens

    made = []
    for i, problem in enumerate(rows.problems):
        text = prompts.render(rows.prompt, Problem(str(i), problem["problem"], problem["answer"]), rows.tokenizer)
        made.append((text, problem["answer"], len(prompt_tokens(rows.tokenizer, text))))
    return tuple(made)


def _identity(tokenizer: Any) -> str:
    """Identifies everything that decides the text and tokens of a prompt; unique if the tokenizer cannot be
    serialised."""
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        return uuid4().hex
    return text_sha256(json.dumps([fast.to_str(), tokenizer.chat_template, tokenizer.bos_token], default=str))


def metrics_reporter(recorder: Recorder, *, steps_before: int = 0) -> Callable[[int, int, dict[str, float]], None]:
    """Record each step, and show a bar on a terminal or about ten lines elsewhere.

    `steps_before` (of earlier trainings of the same job) is added to the steps that are logged.
    """
    first: list[tuple[int, float]] = []  # the first reported step and its time: start-up time is not step time
    bar: list[Any] = []
    warned: set[str] = set()  # kinds of mismatch between sampler and trainer

    def report(step: int, total: int, metrics: dict[str, float]) -> None:
        recorder.metrics(steps_before + step, metrics)
        flag = mismatch_flag(metrics)
        if flag is not None and flag not in warned:
            warned.add(flag)
            kl, gap = metrics["train/mismatch_kl"], metrics["train/mismatch_max_logp_gap"]
            numbers = f"KL {kl:.2g}, |log r| up to {gap:.2g}"
            print(f"    warning: step {steps_before + step}: {FLAGS[flag]} ({numbers})", file=sys.stderr, flush=True)
        if not first:
            first.append((step, time.monotonic()))
        text = "  ".join(
            f"{label} {metrics[key]:.3f}"
            for label, key in (("reward", "train/reward"), ("loss", "train/loss"), ("entropy", "train/entropy"))
            if key in metrics
        )
        if sys.stderr.isatty():
            if not bar:
                from tqdm import tqdm

                bar.append(tqdm(total=total, initial=step - 1, desc="    training", leave=True))
            bar[0].set_postfix_str(text)
            bar[0].update(step - bar[0].n)
            if step == total:
                bar[0].close()
        elif step == total or step % max(1, total // 10) == 0:
            first_step, when = first[0]
            rate = "" if step == first_step else f"  {(time.monotonic() - when) / (step - first_step):.2f} s/step"
            print(f"    step {step}/{total}  {text}{rate}", file=sys.stderr, flush=True)

    return report

"""What every backend shares: the prompts that it trains on, and where the metrics of a step go."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.files import append_jsonl, mend_jsonl, read_jsonl
from harness.backends.errors import CannotExpress
from harness.runs.outbox import Outbox
from harness.spec import Experiment, Training
from harness.spec.hardware import Hardware
from harness.step.mismatch import FLAGS, mismatch_flag


def needs_gpu(training: Training, hardware: Hardware) -> None:
    """Raise ValueError for a precision that the machine's kind of device cannot train in."""
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


def prompt_rows(experiment: Experiment, tokenizer: Any, *, seed: int) -> tuple[list[dict[str, str]], int, str]:
    """(rows with prompt, as the model sees it, and answer; how many were too long; hash of the data).

    Raises:
        ValueError: the data cannot be loaded, or fewer rows than one rollout needs are short enough.
    """
    from evals.data import prompts
    from evals.data.benchmarks import Problem
    from evals.sampling.engines.encode import prompt_tokens
    from harness.data.problems import content_hash, load_problems

    problems = load_problems(experiment.dataset.value, seed=seed)
    prompt = prompts.get(experiment.prompt.value)
    rows = [
        {"prompt": prompts.render(prompt, Problem(str(i), p["problem"], p["answer"]), tokenizer), "answer": p["answer"]}
        for i, p in enumerate(problems)
    ]
    limit = experiment.max_prompt_tokens.value
    kept = [row for row in rows if len(prompt_tokens(tokenizer, row["prompt"])) <= limit]
    if len(kept) < experiment.prompts_per_rollout.value:
        raise ValueError(
            f"max_prompt_tokens: {len(kept)} of {len(rows)} prompts have at most {limit} tokens; expected at least "
            f"prompts_per_rollout={experiment.prompts_per_rollout.value}"
        )
    return kept, len(rows) - len(kept), content_hash(problems)


def metrics_reporter(
    outbox: Outbox, kept: Path, *, steps_before: int = 0
) -> Callable[[int, int, dict[str, float]], None]:
    """Log each step to MLflow and to a file, and show a bar on a terminal or about ten lines elsewhere.

    `steps_before` (of earlier trainings of the same job) is added to the steps that are logged.
    """
    first: list[tuple[int, float]] = []  # the first reported step and its time: start-up time is not step time
    bar: list[Any] = []
    known: list[set[int]] = []  # the steps in the file, once it has been read
    warned: set[str] = set()  # kinds of mismatch between sampler and trainer

    def report(step: int, total: int, metrics: dict[str, float]) -> None:
        outbox.metrics(steps_before + step, metrics)
        if not known:
            mend_jsonl(kept)
            known.extend([{row["step"] for row in read_jsonl(kept)}])
        if steps_before + step not in known[0]:  # else it was trained again after a kill
            known[0].add(steps_before + step)
            append_jsonl(kept, {"step": steps_before + step, "metrics": metrics})
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

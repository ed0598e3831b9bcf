"""Shared by all backends: the training prompts, and the logging of step metrics."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from evals.files import read_json, write_text
from evals.fingerprint import DESCRIPTION, model_folder
from evals.log import draws, logger, on_terminal
from harness.backends.errors import CannotExpress
from harness.errors import UsageError
from harness.record.write import Recorder
from harness.runs.interrupt import requested
from harness.spec import Experiment, Training
from harness.spec.declarations import SELF
from harness.spec.hardware import Hardware
from harness.step.learning import EQUAL, LIMITS, warnings
from harness.step.mismatch import FLAGS, mismatch_flag


def needs_gpu(training: Training, hardware: Hardware) -> None:
    """Raise UsageError for a precision that this device cannot train in."""
    if training.precision.value == "float16" and hardware.device == "cpu":
        raise UsageError(
            "precision: expected float32, bfloat16 or pure_bfloat16 on a CPU, got 'float16', whose scaled loss needs a "
            "GPU"
        )


def describe_as_base(folder: Path, base_model: str, dtype: str) -> None:
    """Give a saved model the files of its base model but for the weights and their type: configuration, generation
    configuration, tokenizer, chat template. Trainers change them: no cache, other end and padding tokens."""
    source = model_folder(base_model)
    for pattern in DESCRIPTION:
        for written in folder.glob(pattern):
            written.unlink()
        for file in source.glob(pattern):
            shutil.copyfile(file, folder / file.name)
    config = read_json(source / "config.json")
    key = "dtype" if "dtype" in config else "torch_dtype"
    write_text(folder / "config.json", json.dumps({**config, key: dtype}, indent=2) + "\n")


def cut_update(sequences: int, hardware: Hardware) -> tuple[int, int]:
    """(sequences of an optimiser step on one process, sequences of one of its forward passes).

    Args:
        sequences: of an optimiser step (for fine-tuning: rows).
    Raises:
        UsageError: the counts do not divide (the key, its value and what was expected are named).
    """
    share, remainder = divmod(sequences, hardware.ranks)
    if remainder or not share:
        raise UsageError(
            f"hardware.processes: expected a divisor of the {sequences} sequences of an update (with several machines, "
            f"processes x nodes / sequence_parallel), got {hardware.ranks}"
        )
    micro_batch = hardware.micro_batch or share
    if share % micro_batch:
        raise UsageError(
            f"hardware.micro_batch: expected a divisor of the {share} sequences that a process holds of an update, "
            f"got {micro_batch}"
        )
    return share, micro_batch


def whole_update(backend: str, experiment: Experiment) -> None:
    """Raise CannotExpress for a statistic over a rollout of several updates: a method sees one update."""
    for key, sourced in experiment.settings().items():
        if key.endswith(".scope") and sourced.value == "rollout" and experiment.updates_per_rollout.value > 1:
            why = f"its rollout is cut into updates_per_rollout={experiment.updates_per_rollout.value}, and a method "
            raise CannotExpress(backend, key, sourced, why + "sees one update")


def needs_reference(experiment: Experiment) -> bool:
    """Whether the reference model's log-probabilities are read, by the KL term or by the method."""
    return bool(experiment.kl_beta.value) or "ref_logp" in experiment.method.reads


def is_self_taught(experiment: Experiment) -> bool:
    """Whether the reference is the policy itself, shown a correct response of the group (`SELF`)."""
    return needs_reference(experiment) and experiment.reference_model.value == SELF


RESPONSE = "\ue000"  # in a rendered prompt: where a response will stand
SOON = 10  # steps after which a run without a signal is said to be one
SHOWN = f"\n\nCorrect solution:\n\n{RESPONSE}\n\nCorrectly solve the original question."


def prompt_rows(experiment: Experiment, tokenizer: object, *, seed: int) -> tuple[list[dict[str, str]], int, str]:
    """(rows with the rendered prompt, the answer, columns that the method reads, and `with_response` for a policy that
    teaches itself, how many were too long, hash of the data).

    Raises:
        UsageError: the data cannot be loaded, or too few rows are short enough for one rollout.
    """
    from evals.data import prompts
    from evals.data.benchmarks import Problem
    from evals.sampling.engines.encode import prompt_tokens
    from harness.data.problems import content_hash, load_problems

    more = experiment.method.columns
    problems = load_problems(experiment.dataset.value, seed=seed, more=more)
    prompt, limit = prompts.get(experiment.prompt.value), experiment.max_prompt_tokens.value
    rows = []
    for i, problem in enumerate(problems):
        problem_asked = Problem(str(i), problem["problem"], problem["answer"])
        text = prompts.render(prompt, problem_asked, tokenizer)
        if len(prompt_tokens(tokenizer, text)) <= limit:
            rows.append({"prompt": text, "answer": problem["answer"], **{name: problem[name] for name in more}})
            if is_self_taught(experiment):
                shown = replace(problem_asked, problem=problem_asked.problem + SHOWN)
                rows[-1]["with_response"] = prompts.render(prompt, shown, tokenizer)
    if len(rows) < experiment.prompts_per_rollout.value:
        raise UsageError(
            f"max_prompt_tokens: {len(rows)} of {len(problems)} prompts have at most {limit} tokens. Expected at least "
            f"prompts_per_rollout={experiment.prompts_per_rollout.value}"
        )
    if not experiment.steps(len(rows)):
        raise UsageError(
            f"epochs={experiment.epochs.value}: {len(rows)} of {len(problems)} prompts have at most "
            f"max_prompt_tokens={limit} tokens, which give no rollout of "
            f"prompts_per_rollout={experiment.prompts_per_rollout.value}. Give more epochs, or max_steps=N"
        )
    return rows, len(problems) - len(rows), content_hash(problems)


def metrics_reporter(recorder: Recorder, *, steps_before: int = 0) -> Callable[[int, int, dict[str, float]], None]:
    """Record each step, and show a bar on a terminal, a bar and a chart in a notebook, or about ten lines elsewhere.

    `steps_before` (of earlier trainings of the same job) is added to the steps that are logged.
    """
    bar: list[Any] = []
    notebook = in_notebook() and draws()
    draw = live_chart() if notebook else lambda step, metrics: None
    warned: set[str] = set()  # kinds of mismatch between sampler and trainer
    shares: dict[str, list[tuple[int, float]]] = {metric: [] for metric in LIMITS}
    last: dict[str, float] = {}  # the last step's that had scored responses

    def report(step: int, total: int, metrics: dict[str, float]) -> None:
        recorder.metrics(steps_before + step, metrics)
        draw(steps_before + step, metrics)
        flag = mismatch_flag(metrics)
        if flag is not None and flag not in warned:
            warned.add(flag)
            kl, gap = metrics["train/mismatch_kl"], metrics["train/mismatch_max_logp_gap"]
            numbers = f"KL {kl:.2g}, |log r| up to {gap:.2g}"
            logger.warning(f"    warning: step {steps_before + step}: {FLAGS[flag]} ({numbers})")
        for metric, points in shares.items():
            points += [(steps_before + step, metrics[metric])] if metric in metrics else []
            few = len(points) < min(SOON, total)
            for line in () if few or metric in warned else warnings([{metric: points}]):
                warned.add(metric)
                logger.warning(f"    warning: so far, {line}")
        last.update({key: metrics[key] for key in ("train/reward", EQUAL) if key in metrics})
        shown = {**last, **metrics}
        text = "  ".join(
            f"{label} {shown[key]:.3f}"
            for label, key in (("reward", "train/reward"), ("loss", "train/loss"), ("entropy", "train/entropy"))
            if key in shown
        )
        if EQUAL in shown:
            text += f"  equal rewards {shown[EQUAL]:.0%} of groups"
        if notebook or on_terminal():
            if not bar:
                from tqdm.auto import tqdm

                form = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}, {remaining} left{postfix}"
                bar.append(tqdm(total=total, initial=step - 1, desc="    training", bar_format=form))
            bar[0].set_postfix_str(text)
            bar[0].update(step - bar[0].n)
            if step == total or requested():  # the last step of this process
                bar[0].close()
        elif step == total or step % max(1, total // 10) == 0:
            logger.info(f"    step {step}/{total}  {text}")

    return report


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows what is displayed."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def live_chart() -> Callable[[int, Mapping[str, float]], None]:
    """A chart of reward and entropy in the notebook's cell, drawn again after each step."""
    from IPython.display import SVG, display
    from matplotlib.figure import Figure

    shown: Any = display(display_id=True)  # type: ignore[no-untyped-call]
    curves: dict[str, list[tuple[int, float]]] = {"train/reward": [], "train/entropy": []}

    def draw(step: int, metrics: Mapping[str, float]) -> None:
        figure = Figure(figsize=(7, 2.2), layout="constrained")
        for (name, points), axis in zip(curves.items(), figure.subplots(1, 2), strict=True):
            points += [(step, metrics[name])] if name in metrics else []
            axis.plot(*zip(*points, strict=True), ".-") if points else None
            axis.set(xlabel="step", title=name.removeprefix("train/"))
        file = BytesIO()
        figure.savefig(file, format="svg")
        shown.update(SVG(file.getvalue().decode()))  # type: ignore[no-untyped-call]

    return draw

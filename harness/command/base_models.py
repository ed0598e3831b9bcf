"""Check before the start that a base model's folder has all that a job needs. Loads no weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.data.prompts import Prompt
from evals.sampling.engines.encode import load_tokenizer, model_stop_tokens
from harness.data.base_models import locate
from harness.data.tiny import FAMILIES
from harness.errors import UsageError
from harness.spec.job import Job

WEIGHTS = ("model*.safetensors", "pytorch_model*.bin", "adapter_model*.safetensors", "adapter_model*.bin")
PROBLEM = Problem("0", "What is 1 plus 2?", "3")


def check_base_models(jobs: Iterable[Job]) -> None:
    """Raise UsageError for a folder without weights, tokenizer or end token, or with a chat template that cannot render
    the prompts of training and evaluation (which would fail hours later). Hub ids are not checked.

    The shipped base models have all of these, but their template takes no system message.
    """
    wanted: dict[tuple[str, Prompt], None] = {}
    for job in jobs:
        base = job.base_model.value
        if Path(base).is_dir() or base in FAMILIES:
            wanted |= dict.fromkeys((base, prompt) for _, prompt in prompts_of(job))
    for base in dict.fromkeys(base for base, _ in wanted):
        tried = [p for b, p in wanted if b == base and p.chat and (base not in FAMILIES or p.system is not None)]
        if base in FAMILIES and not tried:
            continue
        try:
            _check_weights(Path(locate(base)))
            tokenizer = load_tokenizer(locate(base))
            model_stop_tokens(locate(base), tokenizer)
            for prompt in tried:
                prompts.render(prompt, PROBLEM, tokenizer)
        except UsageError as error:
            raise UsageError(f"base_model={base}: {error}") from error


def prompts_of(job: Job) -> Iterator[tuple[str, Prompt]]:
    """("training" or a benchmark's name, its prompt)."""
    if job.experiment is not None:
        yield "training", prompts.get(job.experiment.prompt.value)
    for benchmark in job.protocol.benchmarks.value:
        yield benchmark, job.protocol.prompt_of(benchmark)


def _check_weights(folder: Path) -> None:
    if not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        raise UsageError(f"it has no weights. Expected one of {', '.join(WEIGHTS[:2])} in the folder")

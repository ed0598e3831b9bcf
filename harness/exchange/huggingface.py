"""Hugging Face: `.eval_results/*.yaml` for a model's repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from evals.files import write_text
from harness.errors import UsageError
from harness.exchange.source import (
    dataset_of,
    decoding_of,
    identity_of,
    scores_of,
)
from harness.record.run import Run

URL = re.compile(r"https?://\S+")


def write_eval_results(run: Run, out: Path, *, source_url: str | None) -> list[Path]:
    """`.eval_results/<benchmark>.yaml`: avg@n in percent, in the form that huggingface_hub reads back.

    Args:
        source_url: where the evaluation can be seen; None leaves the source out.
    Raises:
        UsageError: no benchmark of the run is a dataset of the hub, or source_url is no address.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub._eval_results import parse_eval_result_entries

    _check_url(source_url)
    written = []
    for benchmark in run.benchmarks:
        dataset = dataset_of(benchmark)
        if "hf_repo" not in dataset:
            continue
        average = next(s for s in scores_of(run, benchmark) if s.metric == "avg")
        if average.value is None:
            continue
        entry = EvalResultEntry(
            dataset_id=dataset["hf_repo"],
            task_id=benchmark,
            value=round(100 * average.value, 4),
            dataset_revision=dataset.get("revision"),
            date=run.finished,
            source_url=source_url,
            source_name=None if source_url is None else "rlvr-harness",
            notes=note(run, benchmark, average),
        )
        data = eval_result_entries_to_yaml([entry])
        if parse_eval_result_entries(data) != [entry]:
            raise UsageError(f"{benchmark}: huggingface_hub reads another entry than was written")
        (out / ".eval_results").mkdir(parents=True, exist_ok=True)
        path = out / ".eval_results" / f"{benchmark}.yaml"
        write_text(path, yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
        written.append(path)
    if not written:
        raise UsageError(
            f"{run.name}: `.eval_results` name a dataset of the hub, and none of {', '.join(run.benchmarks)} is one"
        )
    return written


def note(run: Run, benchmark: str, score: Any) -> str:
    """Describes a number: metric, interval, samples, decoding, prompt, and the scale unless it is the paper's."""
    parts = [score.name]
    if score.interval is not None:
        low, high = 100 * score.interval.low, 100 * score.interval.high
        parts.append(f"95 % interval [{low:.1f}, {high:.1f}] over {score.interval.covers}")
    parts += [f"{key}={value}" for key, value in decoding_of(run, benchmark).items()]
    parts.append(f"{score.problems} problems, {score.unscored} samples unscored")
    if prompt := (identity_of(run, benchmark).get("prompt") or {}).get("name"):
        parts.append(f"prompt {prompt}")
    return "; ".join([*parts, run.label] if run.label else parts)


def _check_url(url: str | None) -> None:
    if url is not None and not URL.fullmatch(url):
        raise UsageError(f"source_url: expected an address (https://...), got {url!r}")

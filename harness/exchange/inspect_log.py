"""A log that inspect_ai reads and its viewer shows: our samples with our verdicts, as `.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evals.files import text_sha256, write_text
from evals.grading.verdicts import Verdict
from harness import __version__
from harness.errors import UsageError
from harness.exchange.source import (
    Problems,
    dataset_of,
    decoding_of,
    question,
    scores_of,
)
from harness.record.run import Run

VALUES = {Verdict.CORRECT: "C", Verdict.WRONG: "I", Verdict.NO_ANSWER: "N", Verdict.TRUNCATED: "N"}
"""inspect's letters: correct, incorrect, no answer. An unscored sample has no score at all."""
UNKNOWN_TIME = "1970-01-01T00:00:00+00:00"  # inspect wants one; an evaluation without a record has none


def write_logs(run: Run, model: str, out: Path, problems: Problems | None = None) -> list[Path]:
    """<benchmark>.json for each benchmark.

    Raises:
        UsageError: the run's responses were not kept.
    """
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for benchmark in run.benchmarks:
        path = out / f"{benchmark}.json"
        write_text(path, json.dumps(log(run, benchmark, model, problems or {}), indent=1, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def log(run: Run, benchmark: str, model: str, problems: Problems) -> dict[str, Any]:
    """One EvalLog."""
    rows = run.rows(benchmark)
    if not any(row.get("response") for row in rows):
        raise UsageError(f"{run.name}: the verdicts of {benchmark} were kept without the responses")
    known, decoding = dataset_of(benchmark), decoding_of(run, benchmark)
    ids = list(dict.fromkeys(row["problem_id"] for row in rows))
    epochs = max(row["sample"] for row in rows) + 1
    when = run.finished or UNKNOWN_TIME
    identity = text_sha256(json.dumps([run.name, benchmark, model, when]))[:22]
    config = {key: decoding[key] for key in ("temperature", "top_p", "max_tokens") if key in decoding}
    metadata = {key: run.record[key] for key in ("paper", "arm", "scale", "seed", "digest") if key in run.record}
    if run.label:
        metadata["scale_label"] = run.label
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": identity,
            "run_id": identity,
            "created": when,
            "task": benchmark,
            "task_id": identity,
            "task_version": 0,
            "dataset": {
                "name": known.get("hf_repo", benchmark),
                "samples": len(ids),
                "sample_ids": ids,
                "shuffled": False,
            },
            "model": model,
            "model_generate_config": config,
            "config": {"epochs": epochs, "epochs_reducer": ["mean"]},
            "packages": {"rlvr-harness": __version__},
            "metadata": metadata,
            "scorers": [{"name": "rlvr-harness"}],
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": config},
        "results": _results(run, benchmark, len(rows)),
        "stats": {"started_at": when, "completed_at": when, "model_usage": {}},
        "samples": [_sample(benchmark, row, model, problems) for row in rows],
    }


def _results(run: Run, benchmark: str, samples: int) -> dict[str, Any]:
    metrics = {
        s.name: {
            "name": s.name,
            "value": s.value,
            "params": {},
            "metadata": {}
            if s.interval is None
            else {
                "low": s.interval.low,
                "high": s.interval.high,
                "level": s.interval.level,
                "covers": s.interval.covers,
            },
        }
        for s in scores_of(run, benchmark)
        if s.value is not None
    }
    one = {"name": "rlvr-harness", "scorer": "rlvr-harness", "reducer": "mean", "params": {}, "metrics": metrics}
    return {"total_samples": samples, "completed_samples": samples, "scores": [one]}


def _sample(benchmark: str, row: dict[str, Any], model: str, problems: Problems) -> dict[str, Any]:
    text = question(problems, benchmark, row)
    stop = {"stop": "stop", "length": "max_tokens"}.get(row["finish_reason"] or "", "unknown")
    message = {"role": "assistant", "content": row["response"], "source": "generate", "model": model}
    output: dict[str, Any] = {
        "model": model,
        "choices": [{"message": message, "stop_reason": stop}],
        "completion": row["response"],
    }
    if row["tokens"] is not None:
        output["usage"] = {"output_tokens": row["tokens"]}  # the prompt's length is not known
    sample: dict[str, Any] = {
        "id": row["problem_id"],
        "epoch": row["sample"] + 1,
        "input": text,
        "target": row["gold"],
        "messages": [{"role": "user", "content": text}, message],
        "output": output,
        "metadata": {"verdict": row["verdict"], "sampling_seed": row.get("seed"), "reason": row["reason"]},
    }
    if row["verdict"] != Verdict.UNSCORED:
        score = {"value": VALUES[Verdict(row["verdict"])], "answer": row["answer"], "explanation": row["verdict"]}
        sample["scores"] = {"rlvr-harness": score}
    return sample

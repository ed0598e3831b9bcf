"""Run rejection-sampling fine-tuning: rounds of sample, filter, select, fine-tune, each resumable by its files.

<out_dir>/round-<n>/samples/         the round's samples and verdicts (`evals.sampling.store`)
                    selected.jsonl   the rows to fine-tune on: problem and solution, and the values that selected them
                    train/           checkpoints, then train/final, the round's model (deleted after the next round)
                    round.json       written when the round is done
<out_dir>/final/                     the last round's model
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.data import prompts
from evals.data.benchmarks import Benchmark, Problem
from evals.files import read_json, read_jsonl, write_json, write_jsonl
from evals.grading.verdicts import Verdict
from evals.sampling.engines import Decoding
from evals.sampling.evaluate import sample_problems
from harness.backends.engine import close, sampling_engine
from harness.data.problems import content_hash, load_problems
from harness.errors import UsageError
from harness.spec.hardware import Hardware
from harness.spec.rejection import Rejection, Sample

Tune = Callable[..., dict[str, object]]
"""(model, out_dir, pairs, steps_before) -> the record of it: fine-tunes a model on the rows of the file `pairs`
(`problem`, `solution`) into `out_dir/final`; `steps_before`: optimiser steps of the rounds before."""


def run_rounds(
    declared: Rejection, *, base_model: str, seed: int, out_dir: Path, hardware: Hardware, tune: Tune
) -> dict[str, object]:
    """Run or resume all rounds. Returns the training's part of the record. The model is `out_dir/final`.

    Args:
        base_model: the resolved `declared.base_model` on this machine.
    Raises:
        UsageError: the data are wrong, or a round finds nothing to fine-tune on.
    """
    problems = load_problems(declared.dataset.value, seed=seed)
    size = declared.problems_per_round.value
    if size > len(problems):
        raise UsageError(f"problems_per_round: expected at most the {len(problems)} of the data set, got {size}")
    model = base_model
    records: list[dict[str, Any]] = []
    for number in range(declared.rounds.value):
        folder = out_dir / f"round-{number}"
        record = read_json(folder / "round.json")
        if record is None:
            chosen = random.Random(f"problems {seed} {number}").sample(range(len(problems)), size)
            round_problems = [Problem(str(i), problems[i]["problem"], problems[i]["answer"]) for i in chosen]
            counts = select_samples(declared, round_problems, model, folder, seed, hardware)
            trained = tune(
                model if declared.start_from.value == "last" else base_model,
                out_dir=folder / "train",
                pairs=folder / "selected.jsonl",
                steps_before=sum(r["training"]["steps"] for r in records),
            )
            record = {**counts, "training": trained}
            write_json(folder / "round.json", record)
        records.append(record)
        _drop(out_dir / f"round-{number - 1}" / "train")
        model = str(folder / "train" / "final")
    if not (out_dir / "final").is_dir():
        Path(model).replace(out_dir / "final")
    _drop(Path(model).parent)
    return {
        "steps": sum(r["training"]["steps"] for r in records),
        "train_rows": sum(r["training"]["train_rows"] for r in records),
        "train_seconds": round(sum(r["training"]["train_seconds"] for r in records), 1),
        "train_data_sha256": content_hash(problems),
        "prompt_nats": records[0]["training"].get("prompt_nats"),  # the base model read them
        "rounds": records,
    }


def select_samples(
    declared: Rejection, problems: Sequence[Problem], model: str, folder: Path, seed: int, hardware: Hardware
) -> dict[str, object]:
    """Sample, filter, measure, select: writes `selected.jsonl`. Returns counts and means, which it also keeps."""
    counts: dict[str, Any] | None = read_json(folder / "selected.json")
    if counts is not None:
        return counts
    from evals.analysis.token_pass import measure

    engine = sampling_engine(hardware, model, declared.max_completion_tokens.value)
    # The text after the first box may be cut off, so the first box must be correct.
    prompt = replace(prompts.get(declared.prompt.value), policy="boxed_first")
    texts = tuple(prompts.render(prompt, problem, engine.tokenizer) for problem in problems)
    rows = [{"problem": p.problem, "answer": p.answer} for p in problems]
    benchmark = Benchmark(folder.name, tuple(problems), content_hash(rows), declared.dataset.value)
    decoding = Decoding(
        declared.rollout_temperature.value,
        declared.rollout_top_p.value,
        declared.max_completion_tokens.value,
        stop=prompt.stop or None,
    )
    verdicts = sample_problems(
        benchmark,
        engine,
        prompt=prompt,
        decoding=decoding,
        n=declared.samples_per_problem.value,
        seed=seed,
        model_path=model,
        folder=folder / "samples",
    )
    close(engine)
    del engine  # free its model for the measuring one, and that one for the fine-tuning
    samples = read_samples(verdicts, problems)
    passed = [result for sample in samples if (result := declared.passed(sample)) is not None]
    prompt_of = {problem.id: text for problem, text in zip(problems, texts, strict=True)}
    measures = measure(
        model,
        [(prompt_of[s.problem_id], s.response) for s in passed],
        mass=declared.branching_mass.value,
        device="cpu" if hardware.device == "cpu" else None,
    )
    passed = [
        replace(s, mean_entropy=m.mean_entropy, mean_branching=m.mean_branching)
        for s, m in zip(passed, measures, strict=True)
    ]
    chosen = declared.choose(passed, random.Random(f"selection {seed} {folder.name}"))
    counts = {"sampled": summary(samples), "passed": summary(passed), "selected": summary(chosen)}
    selected = [asdict(sample) for sample in chosen]
    for row in selected:
        row["solution"] = row.pop("response")
    write_jsonl(folder / "selected.jsonl", selected)
    write_json(folder / "selected.json", counts)
    return counts


def _drop(folder: Path) -> None:
    """Delete a folder that is no longer needed, if it exists."""
    if folder.is_dir():
        shutil.rmtree(folder)


def read_samples(verdicts: Path, problems: Sequence[Problem]) -> list[Sample]:
    """The rows of a verdict table as samples. Those that could not be scored are neither correct nor incorrect."""
    import pyarrow.parquet as pq

    text_of = {problem.id: problem.problem for problem in problems}
    table = pq.read_table(verdicts, columns=["problem_id", "response", "verdict"])
    return [
        Sample(
            row["problem_id"],
            text_of[row["problem_id"]],
            row["response"],
            None if row["verdict"] == Verdict.UNSCORED else row["verdict"] == Verdict.CORRECT,
        )
        for row in table.to_pylist()
    ]


def summary(samples: Sequence[Sample]) -> dict[str, object]:
    """Counts, and the measured means (null if not measured)."""
    measured = [s for s in samples if s.mean_entropy is not None and s.mean_branching is not None]
    return {
        "samples": len(samples),
        "correct": sum(s.correct is True for s in samples),
        "incorrect": sum(s.correct is False for s in samples),
        "unscored": sum(s.correct is None for s in samples),
        "mean_entropy": fmean(s.mean_entropy or 0.0 for s in measured) if measured else None,
        "mean_branching": fmean(s.mean_branching or 0.0 for s in measured) if measured else None,
    }


def read_pairs(path: Path) -> list[dict[str, str]]:
    """The rows that a round fine-tunes on: `problem` and `solution`."""
    return [{"problem": row["problem"], "solution": row["solution"]} for row in read_jsonl(path, "problem", "solution")]

"""Small finished runs in folders, as a job leaves them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.files import write_json
from harness.record.names import folder_name
from harness.record.record import read_record, run_identity
from harness.record.run import Run
from harness.record.write import Recorder, now

SETTINGS = {
    "base_model": {"value": "tiny", "origin": "scale", "note": "scale=tiny", "was": None},
    "alpha": {"value": 0.5, "origin": "assumed", "note": "why", "was": None},
    "protocol.ks": {"value": [1], "origin": "assumed", "note": "why", "was": None},
    "protocol.n": {"value": 1, "origin": "assumed", "note": "why", "was": None},
    "protocol.prompt": {"value": {"default": "boxed_system"}, "origin": "paper", "note": "p", "was": None},
}
MODEL = ("model.safetensors", "chat_template.jinja")
IDENTITY: dict[str, Any] = {
    "decoding": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 64},
    "prompt": {"name": "plain", "first_sha256": "aa"},
    "data": {"sha256": "dd", "changed": False, "choice_seed": 0},
    "engine": {"name": "transformers", "dtype": "float32"},
    "model": {"sha256": "00"},
}


def arm_record(*, arm: str = "grpo", seed: int = 0, paper: str = "egsw", **more: Any) -> dict[str, Any]:
    """The record that a job writes when it begins."""
    settings = {key: value for key, value in SETTINGS.items() if arm != "base" or key != "alpha"}
    return {
        "kind": "arm", "paper": paper, "model": "math-7b", "arm": arm, "title": arm, "scale": "tiny", "backend": "trl",
        "seed": seed, "scale_label": "tiny scale", "digest": f"{sum(map(ord, arm)):08x}", "overrides": {},
        "settings": settings, "base_model": {"loaded_from": "tiny", "sha256": "00aabb" + "0" * 58},
        "environment": {"command": "rlvr run", "commit": "0123456789abcdef", "packages": {}, "lock_sha256": None},
        "own_files": {}, "hardware": {}, **more,
    }  # fmt: skip


def started(home: Path, **fields: Any) -> Recorder:
    """A run that has begun: its record says so, and nothing else is there."""
    record = arm_record(**fields)
    recorder = Recorder(home / record["paper"] / record["scale"] / folder_name(record))
    recorder.folder.mkdir(parents=True)
    recorder.start(**record)
    return recorder


def rows_of(benchmark: str, problems: int, correct: int, unscored: int = 0) -> list[dict[str, Any]]:
    """One sample a problem. The first `correct` are, the last `unscored` have no verdict."""
    return [
        {
            "benchmark": benchmark, "problem_id": str(i), "sample": 0, "gold": "1", "response": "text", "boxed": True,
            "answer_class": None if i >= problems - unscored else int(i >= correct),
            "verdict": "unscored" if i >= problems - unscored else "correct" if i < correct else "wrong",
            "reason": "time: a test" if i >= problems - unscored else None,
            "problem": f"What is {i}?",
        }
        for i in range(problems)
    ]  # fmt: skip


def finished(
    home: Path,
    correct: Mapping[str, int] | None = None,
    *,
    problems: Mapping[str, int] | None = None,
    unscored: int = 0,
    steps: int = 3,
    unmoved: bool = False,
    **more: Any,
) -> Run:
    """A finished run with a model, a curve of `steps` steps, and for each benchmark so many correct problems (of 8).

    Args:
        unmoved: the record says that no weight of the model changed.
    """
    import pyarrow as pa

    from evals.files import write_parquet
    from evals.grading.verdicts import schema
    from evals.sampling.store import OWNER, owner_of
    from evals.stats.score import score

    recorder = started(home, **more)
    folder = recorder.folder
    for step in range(1, steps + 1):
        recorder.metrics(step, {"train/loss": 1.0 / step, "train/reward": 0.5})
    (folder / "train" / "final").mkdir(parents=True)
    for name in MODEL:
        (folder / "train" / "final" / name).write_bytes(folder.name.encode())
    scores: dict[str, Any] = {}
    files = [*(folder / "train" / "final" / name for name in MODEL), *([folder / "metrics.jsonl"] if steps else [])]
    for benchmark, right in (correct or {"b": 5}).items():
        place = folder / "eval" / benchmark
        place.mkdir(parents=True)
        table = pa.Table.from_pylist(
            rows_of(benchmark, (problems or {}).get(benchmark, 8), right, unscored), schema=schema()
        )
        record = read_record(folder / "run.json") or {}
        manifest = {"identity": {**IDENTITY, "benchmark": benchmark}, "run": run_identity(record), "record": {}}
        owner = json.dumps(owner_of(manifest), sort_keys=True)
        write_parquet(table.replace_schema_metadata({OWNER: owner}), place / "verdicts.parquet")
        write_json(place / "manifest.json", manifest)
        files += [place / "verdicts.parquet", place / "manifest.json"]
        scores[benchmark] = {s.key: {"value": s.value} for s in score(table, ks=[1], metrics=("avg",))}
    recorder.update(
        state="finished",
        finished=now(),
        scores=scores,
        training={"steps": steps} | ({"moved": {"norm": 0.0, "changed": 0, "weights": 8}} if unmoved else {}),
        diverged=None,
        mismatch={},
        files=recorder.hashes(files),
    )
    return Run(folder)

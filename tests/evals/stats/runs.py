"""Small measured runs on disk, for the tests of comparison and power."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.evals.stats.test_score import table

IDENTITY: dict[str, Any] = {
    "decoding": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 64},
    "prompt": {"name": "plain", "first_sha256": "aa"},
    "data": {"sha256": "dd", "changed": False, "choice_seed": 0},
    "engine": {"name": "transformers", "dtype": "float32"},
}


def save_run(folder: Path, benchmark: str, problems: dict[str, str], *, gold: str = "1", **identity: Any) -> Path:
    """Write <folder>/<benchmark>/verdicts.parquet (letters as in test_score) and its manifest.json; returns folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = table(problems, benchmark=benchmark, gold=gold, response="", tokens=3, finish_reason="stop")
    target = folder / benchmark
    target.mkdir(parents=True)
    frame["answer_class"] = frame["answer_class"].astype("Int32")
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), target / "verdicts.parquet")
    manifest = {"identity": {**IDENTITY, **identity}, "record": {"protocol": {"name": "tiny"}}}
    (target / "manifest.json").write_text(json.dumps(manifest))
    return folder


def random_verdicts(
    rng: np.random.Generator, benchmark: str, shape: tuple[int, int, int], chance: Any, **columns: Any
) -> pd.DataFrame:
    """Samples of `shape` (training seeds, problems, samples of each), each correct with the chance that fits it."""
    correct = (rng.random(shape) < chance).ravel()
    seed, problem, sample = np.indices(shape).reshape(3, -1)
    rows = {
        "benchmark": benchmark, "train_seed": seed, "problem_id": [f"p{p}" for p in problem], "sample": sample,
        "gold": "1", "boxed": True, "verdict": np.where(correct, "correct", "wrong"),
        "answer_class": np.where(correct, 0, 1), "tokens": 10, **columns,
    }  # fmt: skip
    return pd.DataFrame(rows)

"""Small measured runs on disk, for the tests of comparison and power."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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

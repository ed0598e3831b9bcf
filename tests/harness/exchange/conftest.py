"""A small finished job, on disk as `rlvr run` leaves one; its verdicts are ours on inspect's real log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.answer_files import grade_file
from evals.answer_files.reading import Reading
from evals.files import file_sha256, write_json
from harness.record.run import with_sha256

LOG = Path(__file__).parents[2] / "evals" / "answer_files" / "real" / "inspect" / "six_sums.eval"


def manifest(benchmark: str) -> dict[str, Any]:
    return {
        "identity": {
            "benchmark": benchmark,
            "decoding": {"temperature": 0.6, "top_p": 0.95, "max_tokens": 256},
            "prompt": {"name": "boxed", "first_sha256": "0"},
            "engine": {"name": "transformers", "transformers": "5.10.4"},
            "seed": 3,
        },
        "record": {
            "protocol": {"name": "small", "ks": {"value": [1, 2], "origin": "assumed", "note": "", "was": None}}
        },
    }


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """<tmp>/job with math500 (a dataset of the hub by name; its problems are six sums) and sums."""
    from evals.files import read_parquet
    from evals.stats.score import score

    folder = tmp_path / "job"
    scores, files = {}, {}
    for benchmark in ("math500", "sums"):
        table = folder / "eval" / benchmark / "verdicts.parquet"
        table.parent.mkdir(parents=True)
        grade_file(LOG, out=table, reading=Reading(benchmark=benchmark))
        table.with_name("manifest.json").write_text(json.dumps(manifest(benchmark)))
        for path in (table, table.with_name("manifest.json")):
            files[f"eval/{benchmark}/{path.name}"] = file_sha256(path)
        scores[benchmark] = {s.key: {"value": s.value} for s in score(read_parquet(table), ks=[1, 2])}
    settings = {"base_model": {"value": "tiny", "origin": "scale", "note": "scale=tiny", "was": None}}
    record = {
        "paper": "egsw", "model": "math-7b", "arm": "base", "title": "Base", "scale": "tiny", "seed": 3,
        "scale_label": "tiny scale: says nothing about the paper's own numbers", "backend": "trl", "digest": "abc",
        "overrides": {}, "settings": settings, "base_model": {"loaded_from": "tiny", "sha256": "00"}, "training": None,
        "kind": "arm", "state": "finished", "diverged": None, "files": files, "scores": scores,
        "finished": "2026-11-22T09:00:00Z",
        "environment": {"command": "rlvr run paper=egsw arm=base", "commit": "0" * 40, "lock_sha256": None},
    }  # fmt: skip
    write_json(folder / "run.json", with_sha256(record))
    return folder

"""The tiny GRPO and EGSW arms on this device, beside the prediction interval of the committed CPU runs."""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu.bench import Bench
from evals.stats.intervals import t_quantile
from harness.backends.trl.hardware import TrlHardware

RECORDS = Path(__file__).resolve().parents[2] / "results" / "records" / "egsw.zip"


def tiny(bench: Bench) -> Iterator[dict[str, Any]]:
    """Each arm's scores, with the prediction interval of committed CPU runs that have the same settings."""
    from harness.command.resolve import resolve
    from harness.jobs.run import check_data, read_record, run

    values = {"max_steps": bench.sizes.tiny_steps}
    if bench.device == "cpu":
        values |= {"protocol.rows": 2, "protocol.n": 1, "protocol.ks": [1], "group_size": 2, "prompts_per_rollout": 2}
    arms = ["grpo"] if bench.device == "cpu" else ["grpo", "egsw"]
    before = os.environ.get("RLVR_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RLVR_HOME"] = folder
        try:
            jobs = resolve("egsw", arms=arms, seeds=[0], overrides=values)
            hardware = TrlHardware(device="gpu" if bench.device == "cuda" else "cpu")
            for path in run(jobs, hardware=hardware, data_dir=check_data(jobs, None), command="benchmarks.gpu"):
                record = read_record(path / "record.json")
                assert record is not None
                known = of_seeds(RECORDS, record)
                yield {
                    "arm": record["arm"],
                    "seconds": record["training"]["train_seconds"],
                    "scores": {name: row(value, known.get(name, ())) for name, value in scores(record).items()},
                }
        finally:
            if before is None:
                del os.environ["RLVR_HOME"]
            else:
                os.environ["RLVR_HOME"] = before


def row(value: float, seeds: Sequence[float]) -> dict[str, Any]:
    """A score beside the CPU's 95 % prediction interval; `inside` is None with fewer than two seeds."""
    interval = prediction(seeds)
    inside = None if interval is None else interval[0] <= value <= interval[1]
    return {"value": value, "cpu_low_high": interval, "cpu_seeds": len(seeds), "inside": inside}


def prediction(seeds: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Prediction interval of one more run of the arm: mean +- t s sqrt(1 + 1/S), within 0 to 1; None for one seed."""
    count = len(seeds)
    if count < 2:
        return None
    mean = sum(seeds) / count
    spread = math.sqrt(sum((x - mean) ** 2 for x in seeds) / (count - 1))
    half = t_quantile((1 + level) / 2, count - 1) * spread * math.sqrt(1 + 1 / count)
    return max(0.0, mean - half), min(1.0, mean + half)


def of_seeds(archive: Path, like: Mapping[str, Any]) -> dict[str, list[float]]:
    """benchmark/avg -> the scores of the committed runs like a record, one per seed; {} if there are none.

    Like: the same arm and scale, and the same value of every setting of the committed run (newer settings are
    ignored).
    """
    mine = {key: of["value"] for key, of in like["settings"].items()}
    by_name: dict[str, list[float]] = {}
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as files:
        for entry in json.loads(files.read("index.json")):
            record = json.loads(files.read(f"{entry['folder']}/record.json"))
            theirs = {key: of["value"] for key, of in record["settings"].items()}
            same = all(record[key] == like[key] for key in ("paper", "model", "arm", "scale", "backend"))
            if same and all(key in mine and mine[key] == value for key, value in theirs.items()):
                for name, value in scores(record).items():
                    by_name.setdefault(name, []).append(value)
    return by_name


def scores(record: dict[str, Any]) -> dict[str, float]:
    """benchmark/avg_at_n -> mean accuracy of a record."""
    return {
        f"{benchmark}/{key}": score["value"]
        for benchmark, of in record["scores"].items()
        for key, score in of.items()
        if key.startswith("avg") and score["value"] is not None
    }

"""Finished runs as one small file per paper, to commit: the data behind all tables, without responses.

<paper>.zip     index.json                       one entry per run: its name and its MLflow tags
                <run>/record.json                the run's record (`harness.jobs.run`)
                <run>/metrics.jsonl              its training curve: a line a step
                <run>/<benchmark>/verdicts.parquet   problem, sample, verdict, answer class, tokens, ...
                <run>/<benchmark>/manifest.json  how the samples were generated

Equal runs give equal bytes. `export_runs` writes such a file from MLflow, and `import_runs` reads it into MLflow again,
where `rlvr tables` treats the runs like local ones.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals.files import DamagedFileError, write_atomically
from evals.sampling.engines.base import sample_seed
from harness.runs.scratch import scratch_store
from harness.runs.track import METRICS_AT_ONCE, Tracker

COLUMNS = ("problem_id", "sample", "gold", "tokens", "finish_reason", "boxed", "answer", "answer_class")
"""Columns kept of a verdict table, with `benchmark`, `verdict` and `reason`; responses are not kept. `seed` is kept
where it is not `sample_seed` of the run: random numbers do not compress, and were over half of an archive."""

IMPORTED = "rlvr.imported"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in the archive, so that equal runs give equal bytes


def export_runs(
    paper: str,
    tracker: Tracker,
    path: Path,
    *,
    scale: str | None = None,
    digests: frozenset[str] | None = None,
    missing_ok: bool = False,
) -> int:
    """Write the finished runs of a paper; the newest of several with one digest and seed. Returns how many.

    Args:
        scale, digests: only runs of this scale, of jobs with these digests (`Job.digest`).
        missing_ok: no such run is no error, and nothing is written.
    Raises:
        ValueError: the store has no finished run of that paper (and scale).
    """
    runs: dict[tuple[str, int], Any] = {}
    for run in tracker.arms(paper):  # newest first
        tags = run.data.tags
        known = digests is None or tags["rlvr.digest"].partition("-")[0] in digests
        if known and scale in (None, tags["rlvr.scale"]):
            runs.setdefault((tags["rlvr.digest"], int(tags["rlvr.seed"])), run)
    if not runs and missing_ok:
        return 0
    if not runs:
        raise ValueError(f"paper {paper!r}: expected finished runs in MLflow, found none")
    files: dict[str, bytes] = {}
    index = []
    with tempfile.TemporaryDirectory() as scratch:
        for key in sorted(runs):
            run = runs[key]
            tags = {k: v for k, v in sorted(run.data.tags.items()) if k.startswith("rlvr.") and k != IMPORTED}
            name = "-".join((tags["rlvr.model"], tags["rlvr.arm"], key[0], f"seed{key[1]}"))
            index.append({"folder": name, "run_name": run.info.run_name, "tags": tags})
            files |= {f"{name}/{file}": data for file, data in _run_files(run, tracker, Path(scratch) / name)}
    files["index.json"] = _json(index)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda part: _write_zip(part, files))
    return len(index)


def import_runs(path: Path, tracker: Tracker) -> int:
    """Log the runs of an archive in MLflow; skip those that it already has (digest and seed).

    Returns:
        How many were logged.
    Raises:
        DamagedFileError: not an archive that `export_runs` wrote.
    """
    contents = read_archive(path)
    index = json.loads(contents["index.json"])
    logged = 0
    known: dict[str, set[tuple[str, str]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for entry in index:
            tags, folder = entry["tags"], entry["folder"]
            paper = tags["rlvr.paper"]
            if paper not in known:
                there = (run.data.tags for run in tracker.arms(paper))
                known[paper] = {(tag["rlvr.digest"], tag["rlvr.seed"]) for tag in there}
            if (tags["rlvr.digest"], tags["rlvr.seed"]) in known[paper]:
                continue
            files = {k.removeprefix(f"{folder}/"): v for k, v in contents.items() if k.startswith(f"{folder}/")}
            _log(tracker, entry, files, Path(scratch) / folder, path.name)
            logged += 1
    return logged


@contextmanager
def imported(paths: Sequence[Path]) -> Iterator[Tracker]:
    """A temporary store that holds the runs of some archives and nothing else.

    Raises:
        DamagedFileError: one is not an archive.
    """
    with scratch_store():
        tracker = Tracker.open()
        for path in paths:
            import_runs(path, tracker)
        yield tracker


def read_archive(path: Path) -> dict[str, bytes]:
    """Every file of an archive by its name.

    Raises:
        DamagedFileError: it is not such an archive.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError) as error:
        raise DamagedFileError(path, f"not a zip file: {error}", "restore it (git checkout)") from error
    if "index.json" not in contents:
        raise DamagedFileError(path, "no index.json", "restore it (git checkout)")
    return contents


def _run_files(run: Any, tracker: Tracker, scratch: Path) -> Iterator[tuple[str, bytes]]:
    scratch.mkdir()
    run_id = run.info.run_id
    record = json.loads(tracker.download(run_id, "record.json", scratch).read_bytes())
    yield "record.json", _json(record)
    yield "metrics.jsonl", _curves(run, tracker)
    for benchmark in record["scores"]:
        folder = tracker.download(run_id, f"verdicts/{benchmark}", scratch)
        yield f"{benchmark}/verdicts.parquet", _reduced(folder / "verdicts.parquet", int(run.data.tags["rlvr.seed"]))
        for file in sorted(folder.glob("*.json")):
            yield f"{benchmark}/{file.name}", file.read_bytes()


def _curves(run: Any, tracker: Tracker) -> bytes:
    """The metrics by step, as JSON Lines; of a point that was logged twice, the last."""
    steps: dict[int, dict[str, float]] = {}
    for key in sorted(run.data.metrics):
        for point in tracker.client.get_metric_history(run.info.run_id, key):
            steps.setdefault(point.step, {})[key] = point.value
    lines = (json.dumps({"step": step, "metrics": steps[step]}, sort_keys=True) + "\n" for step in sorted(steps))
    return "".join(lines).encode()


def _reduced(path: Path, seed: int) -> bytes:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["benchmark", *COLUMNS, "verdict", "reason", "seed"])
    if table["seed"].to_pylist() == _sample_seeds(table, seed):
        table = table.drop_columns(["seed"])
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd", compression_level=19)
    return out.getvalue()


def verdict_table(data: bytes, seed: int) -> Any:
    """A verdict table of the full schema; its responses, which are not kept, are empty.

    Args:
        seed: of the run.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evals.grading.verdicts import schema

    table = pq.read_table(io.BytesIO(data))
    table = table.append_column("response", pa.array([""] * len(table), pa.string()))
    if "seed" not in table.column_names:
        table = table.append_column("seed", pa.array(_sample_seeds(table, seed), pa.int64()))
    return table.select(schema().names).cast(schema())


def _sample_seeds(table: Any, seed: int) -> list[int]:
    rows = zip(*(table[name].to_pylist() for name in ("benchmark", "problem_id", "sample")), strict=True)
    return [sample_seed(seed, benchmark, (problem, sample)) for benchmark, problem, sample in rows]


def _log(tracker: Tracker, entry: dict[str, Any], files: dict[str, bytes], scratch: Path, source: str) -> None:
    import pyarrow.parquet as pq

    tags = {**entry["tags"], IMPORTED: f"from {source}; responses are not kept there"}
    run_id = tracker.run(tracker.experiment(tags["rlvr.paper"]), None, entry["run_name"], tags)
    now = int(time.time() * 1000)
    steps = [json.loads(line) for line in files["metrics.jsonl"].splitlines()]
    points = [(key, step["step"], now, value) for step in steps for key, value in step["metrics"].items()]
    for start in range(0, len(points), METRICS_AT_ONCE):  # a call for each step takes most of an import's time
        tracker.log_points(run_id, points[start : start + METRICS_AT_ONCE])
    for name, data in files.items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("verdicts.parquet"):
            pq.write_table(verdict_table(data, int(tags["rlvr.seed"])), path)
        elif name != "metrics.jsonl":
            path.write_bytes(data)
        else:
            continue
        benchmark = Path(name).parent.as_posix()
        tracker.artifact(run_id, path, None if benchmark == "." else f"verdicts/{benchmark}")
    tracker.finish(run_id, "FINISHED")


def _write_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name], zipfile.ZIP_DEFLATED, 9)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def papers_in(paths: Sequence[Path]) -> list[str]:
    """The papers of archives, by the runs that they hold.

    Raises:
        DamagedFileError: one is not an archive.
    """
    named = {entry["tags"]["rlvr.paper"] for path in paths for entry in json.loads(read_archive(path)["index.json"])}
    return sorted(named)

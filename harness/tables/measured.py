"""What MLflow holds about a paper: its finished arms, with scores recomputed from the verdicts that they logged."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.files import read_json
from harness.runs.track import Tracker
from harness.spec import catalogue

METRICS = ("avg", "pass", "maj", "unsolvable", "fmt", "mean_tokens")


@dataclass(frozen=True)
class Measured:
    """One arm as MLflow holds it: all seeds that share every value."""

    model: str
    arm: str
    title: str
    scale: str
    backend: str
    overrides: str  # of the command line, key=value
    digest: str
    seeds: tuple[int, ...]
    commits: tuple[str, ...]
    commands: tuple[str, ...]  # that made the runs
    origins: dict[str, int]  # how many values come from where
    n: dict[str, int]  # samples a problem, by benchmark
    verdicts: dict[str, Any]  # benchmark -> DataFrame of all seeds, with a column train_seed
    scores: dict[str, dict[str, Any]]  # benchmark -> score key -> Score
    run_ids: dict[int, str] = field(default_factory=dict)  # seed -> MLflow run
    records: dict[int, dict[str, Any]] = field(default_factory=dict)  # seed -> its record.json

    def label(self, name: str) -> str:
        """`name`, and what tells this arm from others of that name: backend and overridden values."""
        parts = [
            name,
            f"({self.backend})" if self.backend != "trl" else "",
            f"[{self.overrides}]" if self.overrides else "",
        ]
        return " ".join(p for p in parts if p)


def gather(paper: str, tracker: Tracker) -> list[Measured]:
    """All finished arms of a paper in the store, in the paper's order; of two versions of an arm, the newer."""
    groups: dict[tuple[str, ...], dict[str, dict[int, Any]]] = {}
    for run in tracker.arms(paper):  # newest first
        tag = run.data.tags
        key = tuple(tag[f"rlvr.{name}"] for name in ("scale", "backend", "model", "arm", "overrides"))
        versions = groups.setdefault(key, {})
        versions.setdefault(tag["rlvr.digest"], {}).setdefault(int(tag["rlvr.seed"]), run)
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for versions in groups.values():
            digest, runs = next(iter(versions.items()))
            measured.append(_measured(digest, dict(sorted(runs.items())), tracker, Path(folder)))
    order = [(a.model, a.key) for a in catalogue.load(paper).arms]
    rank = {key: i for i, key in enumerate(order)}
    return sorted(measured, key=lambda m: (m.scale, rank.get((m.model, m.arm), len(rank)), m.backend, m.overrides))


def _measured(digest: str, runs: dict[int, Any], tracker: Tracker, folder: Path) -> Measured:
    import pandas as pd

    from evals.stats.score import score

    records: dict[int, Any] = {}
    tables: dict[str, list[Any]] = {}
    for seed, run in runs.items():
        records[seed] = read_json(tracker.download(run.info.run_id, "record.json", _sub(folder, run.info.run_id)))
        for benchmark in records[seed]["scores"]:
            path = tracker.download(run.info.run_id, f"verdicts/{benchmark}", _sub(folder, run.info.run_id))
            frame = pd.read_parquet(path / "verdicts.parquet").assign(train_seed=seed)
            tables.setdefault(benchmark, []).append(frame)
    record = next(iter(records.values()))
    verdicts = {benchmark: pd.concat(frames, ignore_index=True) for benchmark, frames in tables.items()}
    ks = {benchmark: _by_benchmark(record["settings"]["protocol.ks"]["value"], benchmark) for benchmark in verdicts}
    origins: dict[str, int] = {}
    for sourced in record["settings"].values():
        origins[sourced["origin"]] = origins.get(sourced["origin"], 0) + 1
    return Measured(
        model=record["model"],
        arm=record["arm"],
        title=record["title"],
        scale=record["scale"],
        backend=record["backend"],
        overrides=" ".join(f"{k}={v}" for k, v in sorted(record["overrides"].items())),
        digest=digest,
        seeds=tuple(records),
        commands=tuple(dict.fromkeys(as_typed(r["environment"].get("command", "")) for r in records.values())),
        commits=tuple(dict.fromkeys(str(r["environment"]["commit"])[:10] for r in records.values())),
        origins=origins,
        n={b: int(_by_benchmark(record["settings"]["protocol.n"]["value"], b)) for b in verdicts},
        verdicts=verdicts,
        scores={b: {s.key: s for s in score(table, ks=ks[b], metrics=METRICS)} for b, table in verdicts.items()},
        run_ids={seed: run.info.run_id for seed, run in runs.items()},
        records=records,
    )


def as_typed(command: str) -> str:
    """The command without the folder that its program was in."""
    program, _, rest = command.partition(" ")
    name = Path(program).name
    return f"{'rlvr' if name in ('cli.py', '__main__.py') else name} {rest}".strip()  # nox starts the module


def _sub(folder: Path, name: str) -> Path:
    (folder / name).mkdir(exist_ok=True)
    return folder / name


def _by_benchmark(value: Any, benchmark: str) -> Any:
    return value.get(benchmark, value.get("default")) if isinstance(value, dict) else value

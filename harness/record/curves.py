"""Training curves of other tools as runs: a folder each, which `rlvr analyze` draws beside ours."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from evals.audit.reading import in_percent, read_curve
from evals.audit.tool_faults import known_faults
from evals.files import append_jsonl, file_sha256, read_object
from harness.errors import UsageError, nearest
from harness.record.record import CURVES, RECORD, TRAINING_LOG
from harness.record.run import Run
from harness.record.write import Recorder, now
from harness.runs.track import make_home

NAMES = {  # ours -> what veRL and TRL call it, the latter in trackers with train/ before it
    "train/reward": ("critic/score/mean", "reward", "critic/rewards/mean"),  # the last after the penalty for KL
    "train/entropy": ("actor/entropy", "actor/entropy_loss", "entropy"),
    "train/grad_norm": ("actor/grad_norm", "grad_norm"),
    "train/kl": ("actor/kl_loss", "kl"),
    "train/response_length": ("response_length/mean", "completions/mean_length"),
    "train/step_seconds": ("timing_s/step", "step_time"),
}


def import_curve(path: Path, name: str, seed: int, columns: Mapping[str, str]) -> Run:
    """A file of any form of `evals.audit.reading.read_curve` as a finished run, in place of one of that name and seed.

    Args:
        name: of the method. seed: tells its runs apart.
        columns: our metric -> theirs, beside `NAMES`: curve/gsm8k/avg_at_1 for a score while it trained, step for the
            optimiser step.
    Raises:
        UsageError: the file is of no known form or has none of the metrics.
    """
    own = {ours: theirs for ours, theirs in columns.items() if ours != "step"}
    if strange := [ours for ours in own if ours not in NAMES and not ours.startswith("curve/")]:
        raise UsageError(f"columns={strange[0]}: {nearest(strange[0], [*NAMES, 'curve/BENCHMARK/avg_at_1', 'step'])}")
    if path.suffix == ".parquet":
        raise UsageError(f"{path}: expected an archive or a training curve; of responses: rlvr grade {path}")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        curve = read_curve(text, name=str(path), step=columns.get("step"))
    except ValueError as error:
        raise UsageError(f"{error}. If these are responses: rlvr grade {path}") from error
    usual: dict[str, str] = {}
    for ours, names in NAMES.items():
        for theirs in (ours, *(prefix + name for name in names for prefix in ("", "train/"))):
            if theirs in curve:
                usual.setdefault(ours, theirs)
    found = usual | own
    there = ", ".join(str(column) for column in curve if column != "step")
    if missing := [theirs for theirs in found.values() if theirs not in curve]:
        raise UsageError(f"columns: {path}: no metric {missing[0]!r}; it has {there}")
    if not found:
        raise UsageError(f"{path}: no metric of a known name; it has {there}. Give columns=train/reward:NAME,...")
    folder = make_home() / CURVES / f"{name}-seed{seed}"
    if replaced := folder.exists():
        before = (read_object(folder / RECORD) or {}).get("source", {}).get("file")
        shutil.rmtree(folder)
    recorder = Recorder(folder)
    folder.mkdir(parents=True)
    percent = [theirs for ours, theirs in found.items() if ours.startswith("curve/") and in_percent(curve[theirs])]
    curve[percent] /= 100
    for row in curve.to_dict("records"):
        values = {ours: float(row[theirs]) for ours, theirs in found.items() if row[theirs] == row[theirs]}
        append_jsonl(folder / TRAINING_LOG, {"step": int(row["step"]), "metrics": values, "time": 0})
    left = [str(column) for column in curve if column not in ("step", *found.values())]
    source = {
        "file": str(path),
        "sha256": file_sha256(path),
        "columns": found,
        "left": left,
        "replaced": replaced,
        "in_place_of": before if replaced and before != str(path) else None,
        "percent": percent,
        "faults": [*known_faults(text, curve)],
    }
    recorder.start(kind=CURVES, arm=name, seed=seed, source=source)
    recorder.update(files=recorder.hashes([folder / TRAINING_LOG]), state="finished", finished=now())
    return Run(folder)

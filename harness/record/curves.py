"""Training curves of other tools as runs: a folder each, which `rlvr analyze` draws beside ours."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from evals.audit.reading import read_curve
from evals.files import append_jsonl, file_sha256
from harness.errors import UsageError
from harness.record.run import CURVES, METRICS, Run
from harness.record.write import Recorder, now
from harness.runs.track import make_home

NAMES = {  # ours -> what veRL and TRL call it
    "train/reward": ("critic/score/mean", "reward"),
    "train/entropy": ("actor/entropy", "actor/entropy_loss", "entropy"),
    "train/grad_norm": ("actor/grad_norm", "grad_norm"),
    "train/kl": ("actor/kl_loss", "kl"),
    "train/response_length": ("response_length/mean", "completions/mean_length"),
    "train/step_seconds": ("timing_s/step",),
}


def import_curve(path: Path, name: str, seed: int, columns: Mapping[str, str]) -> Run:
    """A file of any form of `evals.audit.reading.read_curve` as a finished run, in place of one of that name and seed.

    Args:
        name: of the method. seed: tells its runs apart.
        columns: our metric -> theirs, beside `NAMES`, such as curve/gsm8k/avg_at_1 for a score while it trained.
    Raises:
        UsageError: the file is of no known form or has none of the metrics.
    """
    try:
        curve = read_curve(path.read_text(encoding="utf-8", errors="replace"), name=str(path))
    except ValueError as error:
        raise UsageError(str(error)) from error
    usual = {ours: theirs for ours, names in NAMES.items() for theirs in names if theirs in curve}
    found = usual | dict(columns)
    missing = [theirs for theirs in found.values() if theirs not in curve]
    if missing or not found:
        usual_names = [theirs for names in NAMES.values() for theirs in names]
        wanted = " or ".join(map(repr, missing or usual_names))
        raise UsageError(f"columns: {path}: expected the metric {wanted}, got {', '.join(map(str, curve))}")
    folder = make_home() / CURVES / f"{name}-seed{seed}"
    if replaced := folder.exists():
        shutil.rmtree(folder)
    recorder = Recorder(folder)
    folder.mkdir(parents=True)
    for row in curve.to_dict("records"):
        values = {ours: float(row[theirs]) for ours, theirs in found.items() if row[theirs] == row[theirs]}
        append_jsonl(folder / METRICS, {"step": int(row["step"]), "metrics": values, "time": 0})
    source = {"file": str(path), "sha256": file_sha256(path), "columns": found, "replaced": replaced}
    recorder.start(kind=CURVES, arm=name, seed=seed, source=source)
    recorder.update(files=recorder.hashes([folder / METRICS]), state="finished", finished=now())
    return Run(folder)

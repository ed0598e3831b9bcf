"""Training curves of other tools as runs: a folder each, which `rlvr analyze` draws beside ours."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evals.answer_files.what_to_type import argument
from evals.audit.curve_evidence import in_percent
from evals.audit.curves import read_curve
from evals.audit.tool_faults import known_faults
from evals.convert import refuse_converted
from evals.files import append_jsonl, file_sha256, rename_folder
from evals.names import plain_name
from evals.paths import ROW
from harness.errors import UsageError, nearest
from harness.record.owned import refuse_foreign
from harness.record.record import CURVES, RECORD, TRAINING_LOG, read_record
from harness.record.run import Run
from harness.record.write import Recorder, now
from harness.runs.track import make_home

if TYPE_CHECKING:
    import pandas as pd

NAMES = {  # ours -> what veRL, slime and TRL call it, the last in trackers with train/ before it
    "train/reward": ("critic/score/mean", "reward", "rollout/raw_reward", "critic/rewards/mean"),
    "train/entropy": ("actor/entropy", "actor/entropy_loss", "entropy", "entropy_loss"),
    "train/grad_norm": ("actor/grad_norm", "grad_norm"),
    "train/kl": ("actor/kl_loss", "kl"),
    "train/response_length": ("response_length/mean", "completions/mean_length", "completion_length"),
    "train/step_seconds": ("timing_s/step", "step_time"),
}

_REWARD = re.compile(r"reward|return|score|fitness|correct|acc|success", re.IGNORECASE)  # names that a reward may have
_NO_REWARD = re.compile(r"loss|time|date|(^|_)(pid|t_start|lr|seed|ids?)$", re.IGNORECASE)
SHOWN = 20  # metrics that an error lists
LARGEST = 1e8  # the largest value of a reward. A larger number is a time.


@dataclass(frozen=True)
class Curve:
    """A file that was read, before anything is written: its steps, our metric -> theirs, and the known faults of the
    tool that wrote it."""

    path: Path
    table: pd.DataFrame
    metrics: Mapping[str, str]
    faults: tuple[str, ...]


def import_curves(
    paths: Sequence[Path], name: str, columns: Mapping[str, str], conditions: Sequence[str] = ()
) -> tuple[list[Run], int]:
    """Files of any form of `evals.audit.curves.read_curve` as finished runs, in place of those of that name.

    Every file is read, and every folder is checked, before the first one is replaced.

    Args:
        paths: one file per training seed.
        name: of the method, a plain one (`evals.names`).
        columns: our metric -> theirs, beside `NAMES`: curve/gsm8k/avg_at_1 for a score while it trained, step for the
            optimiser step.
        conditions: on the rows that are read (`evals.paths.kept`).
    Returns:
        The runs, and how many further seeds of an earlier import were deleted.
    Raises:
        UsageError: the name is not plain, a file is of no known form, has none of the metrics or a step that is no
            whole number, or a folder of this name is not an import.
    """
    plain_name("name", name)
    curves = [_read(path, columns, conditions) for path in paths]
    place = make_home() / CURVES
    folders = sorted(place.iterdir()) if place.is_dir() else []
    before = [folder for folder in folders if re.fullmatch(rf"{re.escape(name)}-seed\d+", folder.name)]
    for folder in before:
        refuse_foreign(folder, CURVES, "Give the curve another name: name=NAME")
    new = [place / f"{name}-seed{seed}" for seed in range(len(curves))]
    percent = {metric for curve in curves for metric in _in_percent(curve)}  # all seeds of a method have one unit
    for seed, (curve, folder) in enumerate(zip(curves, new, strict=True)):
        _write(curve, folder, name, seed, percent)
    outdated = [folder for folder in before if folder not in new]
    for folder in outdated:  # a mean over the seeds of two imports is of neither
        shutil.rmtree(folder)
    return [Run(folder) for folder in new], len(outdated)


def _read(path: Path, columns: Mapping[str, str], conditions: Sequence[str]) -> Curve:
    named_columns = {metric: source_column for metric, source_column in columns.items() if metric != "step"}
    if strange := [metric for metric in named_columns if metric not in NAMES and not metric.startswith("curve/")]:
        raise UsageError(f"columns={strange[0]}: {nearest(strange[0], [*NAMES, 'curve/BENCHMARK/avg_at_1', 'step'])}")
    refuse_converted(path)
    if path.suffix == ".parquet":
        raise UsageError(f"{path}: expected an archive or a training curve. For responses, type rlvr grade {path}")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        curve = read_curve(
            text,
            name=str(path),
            step=columns.get("step"),
            wanted=named_columns.values(),
            conditions=conditions,
        )
    except ValueError as error:
        listed = "\n" in str(error)
        raise UsageError(f"{error}{chr(10) if listed else '. '}If these are responses: rlvr grade {path}") from error
    if len(fractions := curve["step"][curve["step"] % 1 != 0]):
        raise UsageError(
            f"{path}: step: expected whole numbers, got {fractions.iloc[0]:g}. Name a column of optimiser steps with "
            f"columns=step:NAME, or number the rows with columns=step:{ROW}"
        )
    metrics = _usual_columns(curve) | named_columns
    named = [str(column) for column in curve if column != "step"]
    if missing := [source_column for source_column in metrics.values() if source_column not in curve]:
        raise UsageError(f"columns: {path}: no metric {missing[0]!r}. {_available(named)}")
    if not metrics:
        raise UsageError(f"{path}: no metric of a known name. {_available(named)}. {_advice(curve, named, columns)}")
    return Curve(path, curve, metrics, known_faults(text, curve))


def _usual_columns(curve: pd.DataFrame) -> dict[str, str]:
    """Metric -> the first of its `NAMES` that is a column with a number."""
    usual: dict[str, str] = {}
    for metric, names in NAMES.items():
        for source_column in (metric, *(prefix + name for name in names for prefix in ("", "train/"))):
            if source_column in curve and curve[source_column].notna().any():
                usual.setdefault(metric, source_column)
    return usual


def _may_be_reward(name: str) -> bool:
    return bool(_REWARD.search(name)) and not _NO_REWARD.search(name)


def _available(metrics: Sequence[str]) -> str:
    shown = sorted(metrics, key=lambda name: not _may_be_reward(name))[:SHOWN]
    return f"It has {', '.join(shown)}" + f" and {len(metrics) - len(shown)} more" * (len(metrics) > len(shown))


def _advice(curve: pd.DataFrame, metrics: Sequence[str], columns: Mapping[str, str]) -> str:
    """The option that names the reward of a curve."""
    rewards = [n for n in metrics if _may_be_reward(n) and not curve[n].max() > LARGEST and curve[n].nunique() > 1]
    typed = argument({"train/reward": rewards[0] if len(rewards) == 1 else "NAME", **columns}, metrics)
    if len(rewards) == 1:
        return f"Type {typed}, or another of these names"
    return f"Type {typed}. NAME " + (f"may be {', '.join(rewards[:SHOWN])}" if rewards else "is the metric to draw")


def _in_percent(curve: Curve) -> list[str]:
    """The scores that a file can only have in percent."""
    return [m for m, name in curve.metrics.items() if m.startswith("curve/") and in_percent(curve.table[name])]


def _write(curve: Curve, folder: Path, name: str, seed: int, percent: Collection[str]) -> None:
    """Write a run, in place of the import that is there.

    Args:
        percent: our metrics that the files of all seeds have in percent.
    """
    before = (read_record(folder / RECORD) or {}).get("source", {}).get("file")
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # left by an import that was killed
    part.mkdir(parents=True)
    table, metrics = curve.table.copy(), curve.metrics
    in_hundredths = list(dict.fromkeys(name for metric, name in metrics.items() if metric in percent))
    table[in_hundredths] /= 100
    for row in table.to_dict("records"):
        values = {metric: float(row[name]) for metric, name in metrics.items() if row[name] == row[name]}
        append_jsonl(part / TRAINING_LOG, {"step": int(row["step"]), "metrics": values, "time": 0})
    source = {
        "file": str(curve.path),
        "sha256": file_sha256(curve.path),
        "columns": metrics,
        "left": [str(column) for column in table if column not in ("step", *metrics.values())]
        + [f"{name} (no number)" for name in curve.table.attrs["words"] if name not in table],
        "chosen": curve.table.attrs["chosen"],
        "repeats": curve.table.attrs["replaced"],
        "replaced": before is not None,
        "in_place_of": before if before != str(curve.path) else None,
        "percent": in_hundredths,
        "faults": curve.faults,
    }
    recorder = Recorder(part)
    recorder.start(kind=CURVES, arm=name, seed=seed, source=source)
    recorder.update(files=recorder.hashes([part / TRAINING_LOG]), state="finished", finished=now())
    if folder.exists():
        shutil.rmtree(folder)
    rename_folder(part, folder)

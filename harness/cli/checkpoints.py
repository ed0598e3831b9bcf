"""`rlvr analyze checkpoints=[A,B]`: evaluate the checkpoints first, as `rlvr eval` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.cli.evaluation import Evaluation, take_evaluation
from harness.errors import UsageError


def labels(checkpoints: Sequence[str]) -> list[str]:
    """A name for each: the last part of its path, or as many parts as tell them apart.

    Raises:
        UsageError: a folder that is not there, or a model that is there twice.
    """
    for path in checkpoints:
        if (Path(path).is_absolute() or path.startswith(".") or path.count("/") > 1) and not Path(path).is_dir():
            raise UsageError(f"checkpoints: {path}: expected a model's folder, or a hub id (OWNER/NAME)")
    parts = [Path(path).resolve().parts if Path(path).is_dir() else tuple(path.split("/")) for path in checkpoints]
    for length in range(1, 1 + max(map(len, parts))):
        candidates = ["-".join(part.strip("/") for part in own[-length:]).strip("-") for own in parts]
        if len(set(candidates)) == len(candidates):
            return candidates
    raise UsageError(f"checkpoints: expected each once, got {', '.join(checkpoints)}")


def evaluations(
    checkpoints: Sequence[str],
    options: Mapping[str, Any],
    *,
    benchmarks: Sequence[str] | None,
    data_dir: str | None,
) -> list[Evaluation]:
    """The evaluation of each checkpoint, all checked before the first is run.

    Args:
        options: of `rlvr eval`, without model and out. data_dir: None takes the hub, and for the tiny tiers the folder
            that `rlvr run` makes them in.
    Raises:
        UsageError: as `labels` and `rlvr eval`.
    """
    given = dict(options)
    if benchmarks is not None:
        given["benchmarks"] = list(benchmarks)
    planned = []
    for path, label in zip(checkpoints, labels(checkpoints), strict=True):
        planned.append(take_evaluation({**given, **({"data_dir": data_dir} if data_dir else {})}, path, label=label))
    return planned

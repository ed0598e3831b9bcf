"""Audit a printed number: how it comes about from the files behind it, and what is left of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.errors import UsageError
from rlvr.results import Result

if TYPE_CHECKING:
    from evals.audit import Evidence

PathLike = str | os.PathLike[str]


def audit(
    *source: PathLike,
    printed: str,
    metric: str | None = None,
    kind: str | None = None,
    files: Literal["checkpoints", "seeds"] = "checkpoints",
    base: list[PathLike] | None = None,
    problems: int | None = None,
    label: str | None = None,
    columns: dict[str, str] | None = None,
    k: int = 1,
    where: str = "",
    workers: int | None = None,
) -> Result:
    """Take a printed score apart: is it in the files behind it, and does it rest on a choice, a seed or a grader?

        rlvr audit logs.txt printed=46.7 metric=aime24 problems=30
        rlvr audit step_100.jsonl step_200.jsonl printed=52.4

    The verdict is one of: stands, stands with another number, not in the file, within selection, within seeds, made by
    the grader, cannot tell. `evals/audit/audit.py` has the rule of each cause.

    Args:
        *source: training curves (console logs of veRL, trainer_state.json, MLPerf logs, lighteval tables, CSV and
            JSON Lines of trackers), a file a seed; or graded responses in any format of `rlvr grade`, a file a
            checkpoint.
        printed: the score in percent, with its digits as printed.
        metric: of curves: the name of the score.
        kind: of curves: verl, trl, mllog, lighteval, csv or jsonl (default: found by the content).
        files: of graded responses: what one file is.
        base: files of the model that it is compared with.
        problems: of curves: how many problems the score is over; without it, the choice of a checkpoint is not judged.
        label: which of the authors' verdicts, where a file has several.
        columns: our column:theirs, as in rlvr grade.
        k: the printed score is pass@k.
        where: it is printed.
        workers: grading processes (default: one a core).
    Raises:
        UsageError: a file cannot be read, or lacks the metric or the authors' verdicts.
    """
    from evals.audit import Printed
    from evals.audit import audit as take_apart

    if not source:
        raise UsageError("SOURCE: missing; expected files of curves or of graded responses")
    try:
        claim = Printed(printed, where, k)
        read = [
            _evidence([Path(file) for file in group], metric, kind, files, problems, label, columns, workers)
            for group in (source, base)
            if group
        ]
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    result = take_apart(claim, read[0], base=read[1] if len(read) > 1 else None)
    document = {
        "printed": printed,
        "where": where,
        "verdict": result.verdict,
        "causes": [asdict(cause) for cause in result.causes],
        "file": result.file,
        "ours": result.ours,
        "selection": None if result.selection is None else asdict(result.selection),
        "seeds": result.seeds,
    }
    return Result(document, str(result), [{"verdict": result.verdict, **asdict(cause)} for cause in result.causes])


def _evidence(
    paths: Sequence[Path],
    metric: str | None,
    kind: str | None,
    files: str,
    problems: int | None,
    label: str | None,
    columns: dict[str, str] | None,
    workers: int | None,
) -> Evidence:
    import pandas as pd

    from evals.answer_files.reading import Reading, read_answers
    from evals.audit import Evidence
    from evals.audit.reading import checkpoint_numbers, curve_evidence, graded, read_curve
    from evals.grading import Grader

    if metric is not None:
        curves = {str(path): read_curve(path.read_text(errors="replace"), name=str(path), kind=kind) for path in paths}
        return curve_evidence(curves, metric, problems=problems)
    tables = []
    with Grader(workers=workers or os.cpu_count() or 1) as grader:
        for number, path in zip(checkpoint_numbers(paths), paths, strict=True):
            read = read_answers(path, Reading(columns=columns or {}, label=label))
            if not any(row.get("expected") is not None for row in read.rows):
                there = f"label=NAME chooses one of {', '.join(read.labels)}" if read.labels else "it has none"
                raise ValueError(f"{path}: no verdicts of the authors; {there}. A curve needs metric=NAME")
            table = graded(read.rows, grader)
            tables.append(table.assign(**{"checkpoint" if files == "checkpoints" else "seed": number}))
    return Evidence.of_samples(pd.concat(tables, ignore_index=True))

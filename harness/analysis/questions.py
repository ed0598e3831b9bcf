"""The problems' text of a run: a column of its verdicts, or of files without one the benchmark's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.data import benchmarks, prompts
from evals.data.benchmarks import OwnBenchmark
from evals.errors import UsageError
from harness.record.run import Run

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("problem", *benchmarks.USUAL["problem"])  # "problem" of our evaluations, others of graded answers


def questions(run: Run, benchmark: str, table: pd.DataFrame, *, data_dir: str | None) -> dict[str, str]:
    """problem_id -> question, with the choices as they were offered, or {} where no file at hand has the problems.

    Nothing is downloaded. A file whose problems are not those that were measured is not read.

    Args:
        table: the run's rows of that benchmark.
        data_dir: where the benchmarks are. None: where the evaluation read them.
    Raises:
        DamagedFileError: the manifest is.
    """
    column = next((name for name in COLUMNS if name in table), None)
    rows = [] if column is None else zip(table["problem_id"], table[column], strict=True)
    texts = {str(problem): text for problem, text in rows if isinstance(text, str)}
    manifest = run.manifest(benchmark)
    if texts or manifest is None:
        return texts
    data, record = manifest["identity"]["data"], manifest["record"]
    place = data_dir or record.get("data_dir")
    is_own_file = next((name for name in own_benchmarks(manifest) if name == benchmark), None)
    if is_own_file is None and (place is None or not Path(place).is_dir()):
        return {}
    choice_seed = data["choice_seed"]
    how: dict[str, Any] = {
        "allow_changed_data": data["changed"],
        "choice_seed": 0 if choice_seed is None else choice_seed,
    }
    try:
        dataset = benchmarks.load(is_own_file or benchmark, data_dir=place, **how)
    except (ValueError, OSError):  # the file has moved
        return {}
    if dataset.sha256 != data["sha256"]:
        return {}
    return {problem.id: prompts.question(problem) for problem in dataset.problems}


def own_benchmarks(manifest: Mapping[str, Any]) -> Iterator[OwnBenchmark]:
    """The user's files that an evaluation read, except those whose name is one of ours today."""
    for file in manifest["record"].get("own_benchmarks", ()):
        with suppress(UsageError):
            yield OwnBenchmark.parse(file)


def shared(of_runs: list[Mapping[str, Mapping[str, str]]]) -> dict[tuple[str, str], str]:
    """(benchmark, problem_id) -> question of several runs of the same problems: one run's file serves the others."""
    return {
        (b, p): text
        for texts_of_run in reversed(of_runs)
        for b, texts in texts_of_run.items()
        for p, text in texts.items()
    }

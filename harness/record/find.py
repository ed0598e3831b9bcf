"""Find runs by what names them: paths, globs, archives, or RLVR_HOME by paper and scale."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from evals.files import content_sha256
from evals.provenance import differing_fields
from evals.sampling.store import GROWING
from evals.stats.measured_run import Conditions, MeasuredRun, decisive_differences
from harness.errors import UsageError
from harness.record.archive import SUFFIX, read_archive
from harness.record.record import CURVES, IDENTITY, RECORD
from harness.record.run import Run, VerdictFile, counted
from harness.record.state import growing, progress
from harness.record.verdict_files import columns_of
from harness.spec.scales import SCALES

EXPECTED = "expected a run's folder, a folder of an evaluation, an archive or a file of verdicts"


def runs(
    *what: str | Path,
    paper: str | None = None,
    scale: str | None = None,
    finished: bool = True,
) -> list[Run]:
    """The runs that these names say, in their order. Without any, those of this project.

    Args:
        what: each a run's folder, a folder of runs or archives, the folder of an evaluation, a glob of them, an
            archive, or a file of verdicts (as `rlvr grade out=FILE` writes). None: the tracking server that
            MLFLOW_TRACKING_URI names, else RLVR_HOME.
        paper, scale: only runs of these.
        finished: only those with a result.
    Raises:
        UsageError: no such path or run. DamagedFileError: a run's record is.
    """
    matches = [run for text in what for run in _named(str(text))] if what else _project(paper)
    return [
        run
        for run in matches
        if paper in (None, run.record.get("paper"))
        and scale in (None, run.record.get("scale"))
        and (not finished or run.is_finished or "state" not in run.record)
    ]


def check_names(*texts: str) -> None:
    """Before heavy imports, refuse a name of no run.

    Args:
        texts: one method each. Its training seeds are joined by commas.
    Raises:
        UsageError: as `places`.
    """
    for part in (part for text in texts for part in text.split(",") if part):
        places(part)


def places(text: str, expected: str = EXPECTED) -> list[Path]:
    """The folders that a text names: a path, the matches of a glob, the one run under RLVR_HOME whose name begins so,
    or with * all whose names do.

    Raises:
        UsageError: none, or several runs. `expected` says what could have been given.
    """
    if Path(text).exists():
        return [Path(text)]
    if paths := [Path(path) for path in sorted(glob.glob(text))]:
        return paths
    named = beginning(text)
    whole = glob.escape(text).replace("…", "*")  # as `rlvr show` shortens it
    exact = [folder for folder in named if fnmatchcase(folder.name, whole)] or named
    if not exact or (len(exact) > 1 and "*" not in text):
        names = ", ".join(folder.name for folder in exact)
        if not exact and "*" not in text:
            expected = f"{expected}; there is no such path, and no run of this name (rlvr show lists them)"
        several = f"; {len(exact)} names of runs begin so: {names} ({text}* is all of them)" if exact else ""
        raise UsageError(f"{text}: {expected}{several}")
    return exact


def beginning(text: str) -> list[Path]:
    """The runs under RLVR_HOME whose name begins so, or as `rlvr show` shortens it. * stands for any characters."""
    from harness.runs.track import home

    begins = re.sub(r"\*+$", "", glob.escape(text).replace("…", "*").replace("[*]", "*"))
    kept = ("evaluations", "curves", *(f"*/{scale}" for scale in SCALES))
    recorded = [record.parent for at in kept for record in sorted(home().glob(f"{at}/{begins}*/{RECORD}"))]
    begun = sorted(file.parents[1] for file in home().glob(f"evaluations/{begins}*/*/{GROWING}"))
    sampled = [folder for folder in begun if any(folder.glob("*/shards/*.parquet"))]
    return [*dict.fromkeys([*recorded, *sampled])] or begun  # one without a sample only where nothing else begins so


def method(text: str) -> MeasuredRun:
    """The verdicts of one method, to compare: of the runs that a text names, its training seeds joined by commas.

    Raises:
        UsageError: as `seeds_of`, or as `together`.
    """
    return together(seeds_of(text), text)


def seeds_of(text: str) -> list[Run]:
    """The runs that a text names, joined by commas: the training seeds of one method.

    Raises:
        UsageError: none, as `runs`, or one without verdicts.
    """
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise UsageError(f"{text!r}: {EXPECTED}")
    seeds = runs(*parts, finished=False)
    for run in seeds:
        if not run.benchmarks and run.record.get("kind") != CURVES:
            if (state := progress(run)) is not None:
                raise UsageError(f"{run.folder}: no verdicts yet ({state})")
            raise UsageError(
                f"{run.folder}: expected a verdicts.parquet, or a folder with one or with <benchmark>/ ones"
            )
    check_apart(seeds)
    return seeds


def check_apart(seeds: Sequence[Run]) -> None:
    """Raise UsageError if two of these are one run, as a folder and its copy: the same file of verdicts, of the same
    settings and training seed where they are recorded."""
    paths: dict[tuple[object, ...], Path] = {}
    for run in seeds:
        for path in {path for path in run.tables.values() if path.is_file()}:
            what = content_sha256(path), *(run.record.get(key) for key in (*IDENTITY, "digest"))
            if what in paths:
                raise UsageError(f"{path} and {paths[what]} are the same verdicts: expected different runs")
            paths[what] = path


def together(seeds: Sequence[Run], name: str) -> MeasuredRun:
    """The training seeds of one method, numbered in their order, to score and compare.

    Raises:
        UsageError: as `conditions_of`, or a file of several seeds among several.
    """
    conditions, first = conditions_of(seeds), seeds[0]
    numbered = {first.record.get("seed", 0): first} if len(seeds) == 1 else dict(enumerate(seeds))
    tables = {benchmark: counted(numbered, benchmark) for benchmark in first.benchmarks}
    graded_by = {benchmark: first.graded_by(benchmark) for benchmark in first.benchmarks}
    return MeasuredRun(name, tables, conditions, any(run.trained for run in seeds), graded_by)


def conditions_of(seeds: Sequence[Run]) -> dict[str, Conditions | None]:
    """How the training seeds of one method were measured, by benchmark.

    Raises:
        UsageError: of other settings than the first's, on other benchmarks, or measured in another way.
    """
    first = seeds[0]
    conditions = {benchmark: first.conditions(benchmark) for benchmark in first.benchmarks}
    for run in seeds[1:]:
        if run.record.get("digest") != first.record.get("digest"):
            raise UsageError(f"{run.folder} is no other seed of {first.folder}: their settings differ")
        if sorted(run.benchmarks) != sorted(first.benchmarks):
            names, first_names = (", ".join(measured_run.benchmarks) or "none" for measured_run in (run, first))
            raise UsageError(
                f"{run.folder} is no other seed of {first.folder}: it was measured on {names}, "
                f"and that on {first_names}"
            )
        for benchmark, of_first in conditions.items():
            differing = decisive_differences(of_first, run.conditions(benchmark))
            how = first.graded_by(benchmark), run.graded_by(benchmark)
            if of_first is None and None not in how:  # graded answers of others
                differing += differing_fields(*how, "grading")
            for field, before, now in differing:
                raise UsageError(
                    f"{run.folder} is no other seed of {first.folder}: on {benchmark}, {field} is {now!r} and not "
                    f"{before!r}"
                )
    return conditions


def _named(text: str) -> Iterator[Run]:
    for path in places(text):
        if path.is_dir():
            yield from _in_folder(path)
        elif path.name.endswith(SUFFIX):
            yield from read_archive(path)
        else:
            yield _graded(path)


def _graded(path: Path) -> Run:
    """The run that is a file of verdicts: `verdicts.parquet`, or what `rlvr grade out=` wrote."""
    if path.suffix not in (".parquet", ".jsonl") or "verdict" not in columns_of(path):
        if path.suffix == ".csv":
            with path.open(errors="replace") as file:
                scores = "metric" in file.readline().strip().split(",")
        else:
            scores = path.suffix == ".parquet" and "metric" in columns_of(path)
        if scores:
            raise UsageError(
                f"{path}: has scores alone. Expected verdicts, as `rlvr grade ANSWERS out=FILE.jsonl` writes"
            )
        raise UsageError(
            f"{path}: expected a file of verdicts, which `rlvr grade {path} out=FILE.jsonl` makes of answers"
        )
    return VerdictFile(path)


def _in_folder(folder: Path) -> Iterable[Run]:
    """The run of a folder, or the runs in a folder of them (RLVR_HOME, a paper's, a scale's) or of archives."""
    if folder.name == "eval" and (folder.parent / RECORD).is_file():
        return [Run(folder.parent)]
    if not (folder / RECORD).is_file():
        if archives := sorted(folder.glob(f"*{SUFFIX}")):
            return [run for archive in archives for run in read_archive(archive)]
        for depth in ("*", "*/*", "*/*/*"):
            if records := sorted(folder.glob(f"{depth}/{RECORD}")):
                return [Run(record.parent) for record in records]
    run = Run(folder)
    if not run.record and not run.benchmarks and growing(folder) is None:
        raise UsageError(f"{folder}: {EXPECTED}")
    return [run]


def _project(paper: str | None) -> list[Run]:
    from harness.record.mirror import mirrored_runs, run_folders

    if os.environ.get("MLFLOW_TRACKING_URI"):
        return mirrored_runs(paper)
    return [Run(folder) for folder in run_folders(paper)]

"""Runs out to files and other formats, and in from archives."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.log import logger
from evals.paths import conditions_of
from harness.errors import UsageError, choose, refuse_unused
from rlvr.results import Result, as_folder, results_folder
from rlvr.terminal import paragraph

PathLike = str | os.PathLike[str]
CHECK = "check it with: rlvr verify {}"


def export(
    run: str | None = None,
    *,
    paper: list[str] | None = None,
    scale: str | None = None,
    by: str | None = None,
    out: PathLike | None = None,
) -> Result:
    """Export one run with its responses, or the finished runs of papers without them.

        rlvr export RUN out=run.tar.xz
        rlvr export paper=egsw by="Ada Example"

    The file of a run contains its questions and responses too. Without RUN, there is one small file per paper, from
    which tables are computed. It contains the verdicts, tokens and curves of its runs.

    Args:
        run: the run: a run's folder, the folder of an evaluation, or the beginning of a name that `rlvr show` prints.
        paper: the papers (default: all that have finished runs).
        scale: export only runs of this scale.
        by: the name of who measured them, for tables that show runs of several people
            (docs/how-to/contribute-a-measurement.md).
        out: a folder, or for RUN or one paper a new file .tar.xz (default: below RLVR_HOME/results).
            out=results/records replaces the archives of this repository.

    Raises:
        UsageError: no such run or paper, or no finished runs of it.
    """
    if run is not None:
        refuse_unused("with a run", paper=paper, scale=scale)
        return _bundle(run, by, out)
    from harness.record.archive import newest, write_archive
    from harness.record.find import runs
    from harness.record.state import ENDED, job_states
    from harness.runs.track import home
    from harness.spec.catalogue import papers

    targets = _targets(choose("paper", paper, papers()), out)
    written, lines = [], []
    for key, path in targets.items():
        selected = newest(runs(paper=key, scale=scale))
        if not selected:
            if paper is not None:
                scales = Counter(run.scale for run in newest(runs(paper=key)))
                elsewhere = f"; at other scales: {', '.join(f'{n} {at}' for at, n in scales.items())}" if scales else ""
                at = f" at scale={scale}" if scale else ""
                raise UsageError(f"paper {key!r}: expected finished runs{at}, found none{elsewhere}")
            continue
        replaced = ", in place of the file that was there" if path.exists() else ""
        count = write_archive(selected, path, by=by)
        written.append(path)
        lines.append(f"{path}: {count} run{'s' * (count != 1)}, {path.stat().st_size / 2**20:.2f} MB{replaced}")
        states = Counter(job.state for job in job_states(home()) if job.paper == key and scale in (None, job.scale))
        if left := [f"{n} {state}" for state, n in states.items() if state not in ENDED]:
            lines.append(f"    without the unfinished: {', '.join(left)} (rlvr show)")
    lines += [CHECK.format(written[0].parent if len(written) > 1 else written[0])] if written else []
    return _files(written, "\n".join(lines) or "no finished runs of a paper; one evaluation: rlvr export NAME")


def _targets(papers: Sequence[str], out: PathLike | None) -> dict[str, Path]:
    """Paper -> its file: `out` itself, or one in the folder `out`."""
    from harness.record.archive import SUFFIX

    if out is None or not Path(out).name.endswith(SUFFIX):
        folder = results_folder() / "records" if out is None else as_folder(out, f"NAME{SUFFIX} of one paper, ")
        return {paper: folder / f"{paper}{SUFFIX}" for paper in papers}
    if len(papers) > 1:
        raise UsageError(f"out={Path(out)}: expected a folder, or one paper (paper=KEY) for one file")
    return dict.fromkeys(papers, _new(Path(out)))


def _new(path: Path) -> Path:
    """An archive to write. An old one is not replaced: it may say who measured its runs."""
    from harness.record.archive import SUFFIX

    if not path.name.endswith(SUFFIX) or path.exists():
        reason = ". This file exists already" if path.exists() else ""
        raise UsageError(f"out={path}: expected a new file that ends in {SUFFIX}{reason}")
    return path


def _bundle(run: str, by: str | None, out: PathLike | None) -> Result:
    """One run or one evaluation as one file, with its questions and responses."""
    from harness.record.archive import SUFFIX, write_archive
    from harness.record.find import seeds_of

    if Path(run).is_file() and not run.endswith(SUFFIX):
        raise UsageError(
            f"{run}: expected a run or an evaluation. A file of verdicts needs no archive: send it as it is"
        )
    selected = seeds_of(run)
    if len(selected) != 1:
        raise UsageError(f"{run}: expected one run, found {len(selected)}")
    target = _new(Path(out) if out is not None else results_folder() / "bundles" / f"{Path(run).name}{SUFFIX}")
    write_archive(selected, target, responses=True, by=by)
    none = f"\nwithout responses: {selected[0].name} has none, as imported runs have"
    without = "" if selected[0].keeps_responses else none
    return _files([target], f"{target}{without}\n{CHECK.format(target)}")


def sync() -> Result:
    """Send MLflow the runs and evaluations that it lacks.

    Use it after a server was away, or to fill another store (MLFLOW_TRACKING_URI).
    """
    from harness.record.evaluations import sync as deliver_evaluations
    from harness.record.mirror import sync as deliver
    from harness.runs.track import shown_uri

    sent, left, why = deliver()
    measured = 0 if why else deliver_evaluations()
    counts = f"{sent} run{'s' * (sent != 1)} and {measured} evaluation{'s' * (measured != 1)}"
    text = f"brought {counts} to {shown_uri()}; "
    text += f"runs that still lack something there: {len(left)}" if left or why else "nothing is lacking there"
    document = {"delivered": sent, "evaluations": measured, "pending": len(left)}
    return Result(document, text + (f": {why}" if why else ""), exit_code=1 if why or left else 0)


def _files(paths: Sequence[Path], text: str) -> Result:
    files = [str(path) for path in paths]
    return Result({"files": files}, text, [{"file": file} for file in files])


def import_(*files: PathLike) -> Result:
    """Import exported archives into RLVR_HOME, and their trained runs into MLflow.

        rlvr import results/records

    Runs that are already there are skipped. If such a run lacks its responses or the name of who measured it, import
    adds them. Every archive is checked first, as `rlvr verify` does. If one has a fault, nothing is imported (exit code
    1).

    Args:
        *files: archives (.tar.xz), or folders of archives, as `rlvr export` writes them.

    Raises:
        UsageError: no such file, or one that is no archive.
    """
    from harness.record.archive import import_archive

    checked = verify(*files)
    if checked.exit_code:
        return checked
    rows, lines = [], []
    for path in _archives(files):
        added, completed, existing = import_archive(path)
        rows.append({"file": str(path), "runs": added, "completed": completed, "there": existing})
        filled = f"; there, and given responses or who measured them: {completed}" if completed else ""
        lines.append(f"{path}: runs added: {added}{filled}" + f"; there already: {existing}" * (existing > 0))
    return Result({"imported": rows}, "\n".join(lines), rows)


def verify(*files: PathLike, contribution: bool = False) -> Result:
    """Check exported archives: the hash of every file, and all scores again from the verdicts.

        rlvr verify run.tar.xz
        rlvr verify run.tar.xz contribution=true

    Exit code 1: a file is damaged, or a recomputed score differs.

    Args:
        *files: archives (.tar.xz), or folders of archives, as `rlvr export` writes them.
        contribution: check four more things, which the tables of this checkout need: the name of who measured, code
            that is committed and in this checkout's history, the values that are declared here, and a public source
            for an equation or data of your own.

    Raises:
        UsageError: no such file, or one that is no archive.
    """
    from evals.errors import DamagedFileError
    from harness.record.verify import verify as faults_of

    archives = _archives(files)
    logger.info(f"computing every score of {', '.join(map(str, archives))} again")
    wrong = []
    for path in archives:
        try:
            faults = faults_of(path, contribution=contribution)
        except DamagedFileError as error:
            faults = [str(error).removeprefix(f"{path} ")]
        wrong += [{"file": str(path), "wrong": fault} for fault in faults]
    lines = [f"{row['file']}: {row['wrong']}" for row in wrong]
    whole = [f"{path}: whole; every score comes back from its verdicts" for path in archives]
    return Result({"wrong": wrong}, "\n".join(lines or whole), wrong, exit_code=1 if wrong else 0)


def curves(
    *files: PathLike,
    name: str | None = None,
    columns: dict[str, str] | None = None,
    rows: Sequence[str] | str | None = None,
) -> Result:
    """Read training curves of other tools as runs. `rlvr report` and `rlvr analyze` draw them beside your runs.

        rlvr curves seed1.log seed2.log name=theirs

    Args:
        *files: console logs of veRL, trainer_state.json, MLPerf logs, CSV and JSON Lines, one file per training seed.
        name: a name for the method (default: the first file's name).
        columns: pairs of our metric and theirs. Example:
            columns=train/reward:score,curve/gsm8k/avg_at_1:val/acc,step:iter (default: the names that veRL and TRL use
            for reward, entropy, gradient norm, KL, length and time of a step).
        rows: the rows to read. Example: rows=run?grpo reads the rows whose run is grpo.

    Raises:
        UsageError: no such file, or a curve without known metrics.
    """
    from evals.same_file import refuse_same
    from harness.record.curves import import_curves

    paths = _existing(files, "logs or tables of a training, one a seed")
    refuse_same(paths, "a seed")
    runs, deleted = import_curves(paths, paths[0].stem if name is None else name, columns or {}, conditions_of(rows))
    imported = [{"file": str(p), "run": str(r.folder), "steps": len(r.curve)} for p, r in zip(paths, runs, strict=True)]
    lines = [f"{row['run']}: {row['steps']} steps of {row['file']}" for row in imported]
    sentences = {path: _told_of(run.record["source"]) for path, run in zip(paths, runs, strict=True)}
    alike = all(lines_of_file == sentences[paths[0]] for lines_of_file in sentences.values())
    for path, lines_of_file in list(sentences.items())[: 1 if alike else None]:
        lines += lines_of_file if alike else [f"{path}:", *(f"  {line}" for line in lines_of_file)]
    if deleted:
        lines.append(f"deleted: {deleted} more seeds of an earlier import of this name")
    lines.append(f"draw them: {shlex.join(['rlvr', 'page', ','.join(str(run.folder) for run in runs)])}")
    lines.append(f"beside your runs: add curves={str(runs[0].folder).removesuffix('0')}* to rlvr page or rlvr report")
    return Result({"imported": imported}, "\n".join(lines), imported)


def _told_of(source: Mapping[str, Any]) -> list[str]:
    """The columns that were taken of one file of curves, and those that were not."""
    read = ", ".join(f"{column} from {source_column}" for column, source_column in source["columns"].items())
    lines = [f"{'imported again' if source['replaced'] else 'imported'}: {read}"]
    if source["in_place_of"]:
        lines.append(f"in place of {source['in_place_of']}, which had this name; name=NAME keeps both")
    if source["chosen"]:
        lines.append(source["chosen"])
    if source["percent"]:
        lines.append(f"in percent in the file, kept as shares: {', '.join(source['percent'])}")
    rows, step, rows_of_step = source["repeats"]
    if rows:
        lines.append(
            paragraph(
                f"{rows} rows are not kept, because a later row of their step has other values. Step {step:g} has "
                f"{rows_of_step} rows. If they are several runs, type rows=COLUMN?VALUE to read one"
            )
        )
    lines += [paragraph(f"a known fault of the tool: {fault}") for fault in source["faults"]]
    if source["left"]:
        lines.append(paragraph(f"left out (columns=OURS:THEIRS takes them): {', '.join(source['left'])}"))
    return lines


def _archives(files: Sequence[PathLike]) -> list[Path]:
    paths = _existing(files, "archives, or folders of them")
    archives = [archive for file in paths for archive in (sorted(file.glob("*.tar.xz")) if file.is_dir() else [file])]
    if not archives or any(archive.suffixes[-2:] != [".tar", ".xz"] for archive in archives):
        given = ", ".join(map(str, files))
        raise UsageError(
            f"files: expected archives (.tar.xz), got {given}. For training curves, type rlvr curves {given}"
        )
    return archives


def _existing(files: Sequence[PathLike], what: str) -> list[Path]:
    if not files:
        raise UsageError(f"files: missing. Give {what}")
    paths = [Path(file) for file in files]
    if missing := [str(file) for file in paths if not file.exists()]:
        raise UsageError(f"files: no such file {missing[0]!r}")
    return paths

"""Runs out to files and other formats, and in from archives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from harness.errors import UsageError, choose
from rlvr.results import Result, results_folder

PathLike = str | os.PathLike[str]
RELATIONS = ("first_party", "third_party", "collaborative", "other")
STORES = ("mlflow", "trackio", "wandb")


def export(
    run: str | None = None,
    *,
    format: Literal["records", "bundle", "eee", "hf", "mlflow", "trackio", "wandb"] = "records",
    paper: list[str] | None = None,
    scale: str | None = None,
    out: PathLike | None = None,
    responses: bool = True,
    model: str | None = None,
    organisation: str | None = None,
    relationship: str | None = None,
    data_dir: PathLike | None = None,
    source_url: str | None = None,
) -> Result:
    """Export finished runs: a paper's as one small file, or one run in another format, or all to another tracker.

        rlvr export paper=egsw
        rlvr export RUN format=bundle
        rlvr export format=mlflow

    Args:
        run: of one run: a job's folder, the folder of an evaluation, or the MLflow run id of an arm.
        format: records: what tables are computed from, of all runs of a paper (verdicts, tokens, curves; no responses).
            Of one run: bundle (with everything that rlvr import verify=true computes again), eee (Every Eval Ever),
            hf (.eval_results/*.yaml of a model's repository).
            mlflow: send what MLflow does not have yet, in order and once, after a server was away or into another
            store; trackio, wandb: then write the finished runs into that tracker too, each once.
        paper: of records, trackio and wandb: which papers (default: all that have finished runs).
        scale: of records: only runs of this scale.
        out: folder or file (default below RLVR_HOME/results; out=results/records writes a checkout's own archives).
        responses: of bundle: keep the responses' text.
        model: of eee, required: ORG/NAME, what the model is called.
        organisation: of eee, required: who evaluated.
        relationship: of eee, required: first_party, third_party, collaborative or other, to the model's developer.
        data_dir: of eee: the benchmarks' files, to have the problems' texts beside their ids.
        source_url: of hf: where the evaluation can be seen.
    Raises:
        UsageError: no such run, or an option that the format needs is missing.
    """
    if format in STORES:
        return _sync(None if format == "mlflow" else format, paper)
    if format == "records":
        if run is not None:
            raise UsageError(f"format: missing; give format=bundle, eee or hf with run={run}")
        return _records(paper, scale, out)
    if run is None:
        raise UsageError(f"run: missing; format={format} is of one run")
    if format == "bundle":
        return _bundle(run, out, responses)
    target = Path(out) if out is not None else results_folder() / "exports" / f"{Path(run).name}-{format}"
    if format == "hf":
        from harness.exchange.huggingface import write_eval_results

        return _files(write_eval_results(_one(run), target, source_url=source_url))
    if model is None or organisation is None or relationship is None:
        needed = {
            "model=ORG/NAME, what the model is called": model,
            "organisation=NAME, who evaluated": organisation,
            f"relationship={'|'.join(RELATIONS)}, to the model's developer": relationship,
        }
        raise UsageError(f"format=eee also needs: {'; '.join(key for key, value in needed.items() if value is None)}")
    choose("relationship", [relationship], RELATIONS)
    if not all(model.partition("/")[::2]):
        raise UsageError(f"model: expected ORGANISATION/NAME, got {model!r}")
    from harness.exchange.eee import write_records
    from harness.exchange.source import problems_of

    source = _one(run)
    problems = problems_of(source, None if data_dir is None else os.fspath(data_dir))
    who = {"organisation": organisation, "relationship": relationship}
    return _files(write_records(source, model, target, **who, problems=problems))


def _files(paths: Sequence[Path], text: str | None = None) -> Result:
    files = [str(path) for path in paths]
    return Result({"files": files}, "\n".join(files) if text is None else text, [{"file": file} for file in files])


def _one(text: str) -> Any:
    """The one run that a text names.

    Raises:
        UsageError: none, or several.
    """
    from harness.record.find import seeds_of

    found = seeds_of(text)
    if len(found) != 1:
        raise UsageError(f"{text}: expected one run, found {len(found)}")
    return found[0]


def _records(paper: list[str] | None, scale: str | None, out: PathLike | None) -> Result:
    from harness.record.archive import SUFFIX, newest, write_archive
    from harness.record.find import runs
    from harness.spec.catalogue import papers

    chosen = choose("paper", paper, papers())
    folder = Path(out) if out is not None else results_folder() / "records"
    written, lines = [], []
    for key in chosen:
        path = folder / f"{key}{SUFFIX}"
        found = newest(runs(paper=key, scale=scale))
        if not found:
            if paper is not None:
                raise UsageError(f"paper {key!r}: expected finished runs, found none")
            continue
        count = write_archive(found, path)
        written.append(path)
        lines.append(f"{path}: {count} runs, {path.stat().st_size / 2**20:.2f} MB")
    return _files(written, "\n".join(lines) or "no finished runs")


def _bundle(run: str, out: PathLike | None, responses: bool) -> Result:
    from harness.exchange.bundle import write_bundle

    target = Path(out) if out is not None else results_folder() / "bundles" / f"{Path(run).name}.tar.xz"
    write_bundle(_one(run), target, responses=responses)
    return _files([target], f"{target}: check it with: rlvr import {target} verify=true")


def _sync(other_name: str | None, paper: list[str] | None) -> Result:
    """Bring MLflow up to date with the runs' folders, and finished runs to another tracker."""
    from harness.record.find import runs
    from harness.record.mirror import sync
    from harness.record.trackers import copy, other_tracker
    from harness.runs.track import shown_uri
    from harness.spec.catalogue import papers

    chosen = choose("paper", paper, papers())
    other = None if other_name is None else other_tracker(other_name)
    sent, left, why = sync()
    lines = [f"brought {sent} runs to {shown_uri()}; {len(left)} lack something" + (f": {why}" if why else "")]
    if other is not None and not why:
        new = sum(copy(run, other) > 0 for key in chosen for run in runs(paper=key))
        lines.append(f"{other_name}: {new} runs written")
    document = {"delivered": sent, "pending": len(left)}
    return Result(document, "\n".join(lines), exit_code=1 if why or left else 0)


def import_(*files: PathLike, verify: bool = False) -> Result:
    """Bring exported archives into RLVR_HOME, and from there into MLflow; runs that are there already are skipped.

        rlvr import results/records
        rlvr import BUNDLE verify=true

    Args:
        *files: archives (.tar.xz) or folders of them, as rlvr export writes.
        verify: import nothing: check the hash of every file of an archive or bundle, and compute its scores again from
            the verdicts. Exit code 1: a number does not come back.
    Raises:
        UsageError: no such file, or one that is no archive.
    """
    if not files:
        raise UsageError("files: missing; give archives, folders of them, or a bundle")
    paths = [Path(file) for file in files]
    if missing := [str(file) for file in paths if not file.exists()]:
        raise UsageError(f"files: no such file {missing[0]!r}")
    if verify:
        return _verified(paths)
    archives = [archive for file in paths for archive in (sorted(file.glob("*.tar.xz")) if file.is_dir() else [file])]
    if not archives or any(archive.suffixes[-2:] != [".tar", ".xz"] for archive in archives):
        raise UsageError(f"files: expected archives (.tar.xz), got {', '.join(map(str, files))}")
    from harness.record.archive import import_archive

    rows = [{"file": str(path), "runs": import_archive(path)} for path in archives]
    return Result({"imported": rows}, "\n".join(f"{row['file']}: {row['runs']} runs added" for row in rows), rows)


def _verified(paths: Sequence[Path]) -> Result:
    from harness.exchange.bundle import verify

    rows = [{"file": str(path), "wrong": line} for path in paths for line in verify(path)]
    lines = [f"{row['file']}: {row['wrong']}" for row in rows]
    whole = [f"{path}: whole; every number comes back from its verdicts" for path in paths]
    return Result({"wrong": rows}, "\n".join(lines or whole), rows, exit_code=1 if rows else 0)

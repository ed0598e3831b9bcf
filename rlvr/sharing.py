"""Runs out to files and other formats, and in from archives and other people's logs."""

from __future__ import annotations

import os
import sys
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
    format: Literal[
        "records", "bundle", "eee", "hf", "model-index", "inspect", "mlflow", "trackio", "wandb"
    ] = "records",
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
            hf (.eval_results/*.yaml of a model's repository), model-index (of its card), inspect (logs of our samples).
            mlflow: send what MLflow does not have yet, in order and once, after a server was away or into another
            store; trackio, wandb: then write the finished runs into that tracker too, each once.
        paper: of records, trackio and wandb: which papers (default: all that have finished runs).
        scale: of records: only runs of this scale.
        out: folder or file (default below RLVR_HOME/results; out=results/records writes a checkout's own archives).
        responses: of bundle: keep the responses' text.
        model: ORG/NAME: what the model is called; required by eee, model-index and inspect.
        organisation: of eee, required: who evaluated.
        relationship: of eee, required: first_party, third_party, collaborative or other, to the model's developer.
        data_dir: of eee and inspect: the benchmarks' files, to have the problems' texts beside their ids.
        source_url: of hf and model-index: where the evaluation can be seen.
    Raises:
        UsageError: no such run, or an option that the format needs is missing.
    """
    if format in STORES:
        return _sync(None if format == "mlflow" else format, paper)
    if format == "records":
        if run is not None:
            raise UsageError(f"format: missing; give format=bundle, eee, hf, model-index or inspect with run={run}")
        return _records(paper, scale, out)
    if run is None:
        raise UsageError(f"run: missing; format={format} is of one run")
    if format == "bundle":
        return _bundle(run, out, responses)
    wanted = {
        "model": (model, format != "hf", "ORG/NAME, what the model is called"),
        "organisation": (organisation, format == "eee", "NAME, who evaluated"),
        "relationship": (relationship, format == "eee", f"{'|'.join(RELATIONS)}, to the model's developer"),
    }
    if missing := [f"{key}={what}" for key, (value, needed, what) in wanted.items() if needed and value is None]:
        raise UsageError(f"format={format} also needs: {'; '.join(missing)}")
    choose("relationship", [relationship or "other"], RELATIONS)
    if format == "eee" and not all((model or "").partition("/")[::2]):
        raise UsageError(f"model: expected ORGANISATION/NAME, got {model!r}")
    target = Path(out) if out is not None else results_folder() / "exports" / f"{Path(run).name}-{format}"
    folder = None if data_dir is None else os.fspath(data_dir)
    from harness.exchange.source import problems_of

    source = _one(run)
    problems = problems_of(source, folder) if format in ("eee", "inspect") else {}
    if format == "eee":
        from harness.exchange.eee import write_records

        who = {"organisation": organisation or "", "relationship": relationship or ""}
        written = write_records(source, model or "", target, **who, problems=problems)
    elif format == "inspect":
        from harness.exchange.inspect_log import write_logs

        written = write_logs(source, model or "", target, problems)
    elif format == "hf":
        from harness.exchange.huggingface import write_eval_results

        written = write_eval_results(source, target, source_url=source_url)
    else:
        from harness.exchange.huggingface import write_model_index

        written = write_model_index(source, model or "", target, source_url=source_url)
    return _files(written)


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
        lines.append(f"{other.name}: {new} runs written")
    document = {"delivered": sent, "pending": len(left)}
    return Result(document, "\n".join(lines), exit_code=1 if why or left else 0)


def import_(
    *files: PathLike,
    verify: bool = False,
    repository: str | None = None,
    commit: str | None = None,
    path: str | None = None,
    model: str | None = None,
    temperature: float | str | None = None,
    max_tokens: int | str | None = None,
    top_p: float | None = None,
    reported: float | None = None,
    columns: dict[str, str] | None = None,
    gold: PathLike | None = None,
    benchmark: str | None = None,
    label: str | None = None,
    policy: str | None = None,
) -> Result:
    """Bring runs into MLflow: exported archives, or generations of others in any format that rlvr grade reads.

        rlvr import results/records
        rlvr import samples.jsonl model=ORG/NAME temperature=1 max_tokens=4096
        rlvr import BUNDLE verify=true

    The runs go to RLVR_HOME, and from there to MLflow; those that are there already are skipped. Generations of others
    become runs that say "generated by owner/repository@commit, graded by us"; `rlvr tables` shows them in a table of
    their own.

    Args:
        *files: archives (.tar.xz) or folders of them, as rlvr export writes; or files of answers.
        verify: import nothing: check the hash of every file of an archive or bundle, and compute its scores again from
            the verdicts. Exit code 1: a number does not come back.
        repository: of answers: OWNER/NAME they are from; a manifest.json beside the file may say so instead.
        commit: of answers: of that repository.
        path: of answers: the file's, in that repository.
        model: of answers: ORG/NAME; required where the file does not state it, as temperature and max_tokens are.
        temperature: of answers: a number, or unknown.
        max_tokens: of answers: a number, or unknown.
        top_p: of answers.
        reported: of answers: the score that the repository states, in percent.
        columns: our column:theirs, as columns=problem_id:idx,response:output.
        gold: the file with gold answers.
        benchmark: what the problems are called.
        label: which of the authors' verdicts is read, where there are several.
        policy: how answers are extracted (default boxed_last).
    Raises:
        UsageError: no such file, or one that is none of these.
    """
    if not files:
        raise UsageError("files: missing; give archives, folders of them, a bundle, or files of answers")
    paths = [Path(file) for file in files]
    if missing := [str(file) for file in paths if not file.exists()]:
        raise UsageError(f"files: no such file {missing[0]!r}")
    if verify:
        return _verified(paths)
    found = [archive for file in paths for archive in (sorted(file.glob("*.tar.xz")) if file.is_dir() else [file])]
    if found and all(file.name.endswith(".tar.xz") for file in found):
        return _import_archives(found)
    if any(file.is_dir() for file in paths):
        raise UsageError(f"files: expected archives (.tar.xz) in {paths[0]}")
    from rlvr.evaluation import reading_of

    reading = reading_of(columns, gold, benchmark, label, policy)
    if path is not None and len(paths) > 1:
        raise UsageError("path: expected a single file with it")
    where = {"repository": repository, "commit": commit, "path": path, "reported": reported, "benchmark": benchmark}
    settings = {"model": model, "temperature": temperature, "max_tokens": max_tokens, "top_p": top_p}
    return _import_logs(paths, where, settings, reading, policy)


def _verified(paths: Sequence[Path]) -> Result:
    from harness.exchange.bundle import verify

    rows = [{"file": str(path), "wrong": line} for path in paths for line in verify(path)]
    lines = [f"{row['file']}: {row['wrong']}" for row in rows]
    whole = [f"{path}: whole; every number comes back from its verdicts" for path in paths]
    return Result({"wrong": rows}, "\n".join(lines or whole), rows, exit_code=1 if rows else 0)


def _import_archives(paths: Sequence[Path]) -> Result:
    from harness.record.archive import import_archive

    rows = [{"file": str(path), "runs": import_archive(path)} for path in paths]
    return Result({"imported": rows}, "\n".join(f"{row['file']}: {row['runs']} runs added" for row in rows), rows)


def _import_logs(
    paths: Sequence[Path], where: dict[str, Any], settings: dict[str, Any], reading: Any, policy: str | None
) -> Result:
    from harness.record.logs import described, import_log
    from harness.record.mirror import sync

    logs = [described(file, where) for file in paths]
    rows = []
    made: list[Path] = []
    try:
        for log in logs:
            folders = import_log(log, reading, policy, settings)
            names = [folder.name for folder in folders]
            made += folders
            print(f"{log.file}: {', '.join(names) or 'there already'}; {log.provenance}", file=sys.stderr)
            rows.append({"file": str(log.file), "runs": names, "provenance": str(log.provenance)})
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    sync(made)
    lines = [f"{row['file']}: {', '.join(row['runs']) or 'there already'}" for row in rows]
    return Result({"imported": rows}, "\n".join(lines), rows)

"""Runs out to files and other formats, and in from archives and other people's logs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from evals.redaction import redact
from harness.errors import UsageError, choose
from rlvr.results import Result

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
    target = Path(out) if out is not None else _results() / "exports" / f"{Path(run).name}-{format}"
    folder = None if data_dir is None else os.fspath(data_dir)
    from harness.exchange.source import opened

    with opened(run, data_dir=folder, with_problems=format in ("eee", "inspect")) as source:
        if format == "eee":
            from harness.exchange.eee import write_records

            who = {"organisation": organisation or "", "relationship": relationship or ""}
            written = write_records(source, model or "", target, **who)
        elif format == "inspect":
            from harness.exchange.inspect_log import write_logs

            written = write_logs(source, model or "", target)
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


def _results() -> Path:
    from rlvr.writing import results_folder

    return results_folder()


def _records(paper: list[str] | None, scale: str | None, out: PathLike | None) -> Result:
    from harness.runs.archive import export_runs
    from harness.runs.track import Tracker
    from harness.spec.catalogue import papers

    chosen = choose("paper", paper, papers())
    folder = Path(out) if out is not None else _results() / "records"
    tracker = Tracker.open()
    written, lines = [], []
    for key in chosen:
        path = folder / f"{key}.zip"
        try:
            count = export_runs(key, tracker, path, scale=scale)
        except ValueError as error:
            if paper is not None:
                raise UsageError(str(error)) from error
            continue
        written.append(path)
        lines.append(f"{path}: {count} runs, {path.stat().st_size / 2**20:.2f} MB")
    return _files(written, "\n".join(lines) or "no finished runs")


def _bundle(run: str, out: PathLike | None, responses: bool) -> Result:
    from harness.exchange.bundle import write_bundle
    from harness.exchange.source import opened

    target = Path(out) if out is not None else _results() / "bundles" / f"{Path(run).name}.zip"
    with opened(run) as source:
        curve = Path(run) / "train" / "metrics.jsonl"
        files = write_bundle(source, target, responses=responses, curve=curve)
    text = f"{target}: {len(files)} files; check it with: rlvr import {target} verify=true"
    return _files([target], text)


def _sync(other_name: str | None, paper: list[str] | None) -> Result:
    """Send pending data in the runs' folders to MLflow, and finished runs to another tracker."""
    from harness.runs.delivery import Deliverer
    from harness.runs.outbox import outboxes
    from harness.runs.track import Tracker, home, shown_uri
    from harness.runs.trackers import mirror, other_tracker
    from harness.spec.catalogue import papers

    chosen = choose("paper", paper, papers())
    other = None if other_name is None else other_tracker(other_name)
    tracker = Tracker.open()
    from mlflow.exceptions import MlflowException

    deliverer = Deliverer(tracker)
    sent, why = 0, ""
    for outbox in outboxes(home()):
        waiting = outbox.pending()
        try:
            run_id, count = outbox.delivered()
            if run_id is not None and count and not tracker.has_run(run_id):  # a new store, or another one
                outbox.note_delivered(None, 0)
                waiting = outbox.pending()
            deliverer.deliver(outbox)
        except (MlflowException, OSError) as error:  # the store has gone, or fails; what was sent is noted
            why = f": {redact(str(error))[:300]}. The same command again sends the rest"
        sent += waiting - outbox.pending()
        if why:
            break
    pending = sum(outbox.pending() for outbox in outboxes(home()))
    lines = [f"delivered {sent} messages to {shown_uri()}; {pending} are pending{why}"]
    if other is not None and not why:
        new = sum(mirror(run, tracker, other) > 0 for key in chosen for run in tracker.arms(key))
        lines.append(f"{other.name}: {new} runs written")
    return Result({"delivered": sent, "pending": pending}, "\n".join(lines), exit_code=1 if why or pending else 0)


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
    curve: str | None = None,
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

    Runs that MLflow has already are skipped. Generations of others become runs that say "generated by
    owner/repository@commit, graded by us"; `rlvr tables` shows them in a table of their own.

    Args:
        *files: archives (.zip) or folders of them, as rlvr export writes; or files of answers.
        verify: import nothing: check the sums of a bundle (rlvr export format=bundle), compute its scores and tables
            again from the verdicts, and compare the bytes. Exit code 1: a number does not come back.
        repository: of answers: OWNER/NAME they are from; a manifest.json beside the file may say so instead.
        commit: of answers: of that repository.
        path: of answers: the file's, in that repository.
        model: of answers: ORG/NAME; required where the file does not state it, as temperature and max_tokens are.
        temperature: of answers: a number, or unknown.
        max_tokens: of answers: a number, or unknown.
        top_p: of answers.
        reported: of answers: the score that the repository states, in percent.
        curve: of answers: a name: the files are steps of one training (checkpoint-21, ...): one more run, a curve.
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
    archives = [zipped for file in paths for zipped in (sorted(file.glob("*.zip")) if file.is_dir() else [file])]
    if archives and all(file.suffix == ".zip" for file in archives):
        return _import_archives(archives)
    if any(file.is_dir() for file in paths):
        raise UsageError(f"files: expected archives (.zip) in {paths[0]}")
    from rlvr.evaluation import reading_of

    reading = reading_of(columns, gold, benchmark, label, policy)
    if path is not None and len(paths) > 1:
        raise UsageError("path: expected a single file with it")
    where = {"repository": repository, "commit": commit, "path": path, "reported": reported, "benchmark": benchmark}
    settings = {"model": model, "temperature": temperature, "max_tokens": max_tokens, "top_p": top_p}
    return _import_logs(paths, where, settings, reading, policy, curve)


def _verified(paths: Sequence[Path]) -> Result:
    from harness.exchange.bundle import verify

    rows = [{"file": str(path), "wrong": line} for path in paths for line in verify(path)]
    lines = [f"{row['file']}: {row['wrong']}" for row in rows]
    whole = [f"{path}: whole; every number comes back from its verdicts" for path in paths]
    return Result({"wrong": rows}, "\n".join(lines or whole), rows, exit_code=1 if rows else 0)


def _import_archives(paths: Sequence[Path]) -> Result:
    from harness.runs.archive import import_runs
    from harness.runs.track import Tracker

    tracker = Tracker.open()
    rows = [{"file": str(path), "runs": import_runs(path, tracker)} for path in paths]
    return Result({"imported": rows}, "\n".join(f"{row['file']}: {row['runs']} runs logged" for row in rows), rows)


def _import_logs(
    paths: Sequence[Path],
    where: dict[str, Any],
    settings: dict[str, Any],
    reading: Any,
    policy: str | None,
    curve: str | None,
) -> Result:
    from harness.runs.logs import described, import_log, log_curve
    from harness.runs.track import Tracker

    logs = [described(file, where) for file in paths]
    tracker = Tracker.open()
    rows = []
    try:
        for log in logs:
            names = import_log(log, reading, policy, settings, tracker)
            print(f"{log.file}: {', '.join(names) or 'there already'}; {log.provenance}", file=sys.stderr)
            rows.append({"file": str(log.file), "runs": names, "provenance": str(log.provenance)})
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    lines = [f"{row['file']}: {', '.join(row['runs']) or 'there already'}" for row in rows]
    if curve is not None:
        lines.append(f"curve: {log_curve(logs, curve, tracker)}")
    return Result({"imported": rows}, "\n".join(lines), rows)

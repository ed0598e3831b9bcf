"""Run jobs: train, evaluate, log, record. After a kill at any point, the same command resumes.

Each job has one folder, named by the digest of everything that decides its result:

    <home>/<paper>/<scale>/<model>-<arm>-<digest>-<base model>-seed<k>/
        train/          checkpoints; train/final is the trained model
        eval/           samples and verdicts, one folder a benchmark
        trained.json    written when training is done, with the hashes of train/final
        record.json     written last, when the job is finished; with the hashes of the verdicts
        mlflow.jsonl    the messages for MLflow (`harness.runs.outbox`); mlflow.json: the run, and what was delivered
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evals.files import RefusedError, differing_files, file_sha256, folder_sha256s, locked, read_jsonl, write_json
from evals.fingerprint import model_fingerprint
from evals.grading.grader import graders_kept
from evals.redaction import redact
from harness.backends.engine import sampling_engine
from harness.backends.snapshots import observed
from harness.command.watch import Watch
from harness.data.base_models import locate
from harness.data.tiny.base import fixed_threads
from harness.jobs.pace import time_left
from harness.jobs.records import mismatches, read_record, write_record
from harness.jobs.reporting import Delivery, reporting, say
from harness.jobs.watching import Watcher
from harness.runs.interrupt import check, finishing
from harness.runs.outbox import Outbox
from harness.runs.record import environment, gpus
from harness.runs.state import ERROR
from harness.runs.track import home
from harness.spec.hardware import Hardware, Machines, of_job
from harness.spec.job import Job
from harness.spec.scales import SCALES
from harness.step.finite import Diverged


@dataclass(frozen=True)
class Outcome:
    """How a job ended: the folder of its record, or the error that stopped it."""

    job: Job
    folder: Path | None
    error: Exception | None = None
    diverged: bool = False


def run(jobs: Sequence[Job], *, hardware: Machines, data_dir: str | None, command: str) -> list[Path]:
    """Run all jobs of a command in order, up to the first that fails. Returns the folders of their records.

    A training that diverges is recorded as such and not evaluated; the other jobs still run.

    Args:
        hardware: of all arms, or by (model, arm). data_dir: where the benchmarks are, as `check_data` gave it.
    Raises:
        RefusedError: MLflow's store cannot be used, a file is damaged, another process runs the same job.
        ValueError: wrong training data or settings, before the model that needs them is trained.
        Interrupted: a signal asked to stop; everything is saved.
    """
    outcomes = run_jobs(jobs, hardware=hardware, data_dir=data_dir, command=command)
    return [outcome.folder for outcome in outcomes if outcome.folder is not None]


def run_jobs(
    jobs: Sequence[Job],
    *,
    hardware: Machines,
    data_dir: str | None,
    command: str,
    keep_going: bool = False,
    watch: Watch | None = None,
) -> list[Outcome]:
    """Run jobs of any papers, arms and seeds in this process, which imports and opens the store once.

    Args:
        hardware, data_dir: as `run`.
        watch: evaluations while a model trains, and the snapshots that stay.
        keep_going: after a job that fails, continue with the next one; its error is in its outcome, and printed.
    Returns:
        one outcome for each job, in order.
    Raises:
        as `run`; with `keep_going` only what stops every job: no store, an interruption.
    """
    machines = {(j.model, j.arm): of_job(hardware, j.model, j.arm).with_device() for j in jobs}
    watch = watch or Watch()
    outcomes: list[Outcome] = []
    took: list[float] = []
    with reporting([(jobs, command)]) as reports, graders_kept():
        bases = {job.base_model.value: locate(job.base_model.value) for job in jobs}
        for number, job in enumerate(jobs, 1):
            gc.collect()  # free the memory of an earlier job's model, also of another command
            check(f"after {number - 1} of {len(jobs)} jobs")
            left = time_left(took, len(jobs) - number + 1)
            say(f"[{number}/{len(jobs)}] {job.paper} {job.name} ({job.scale} scale{left})")
            started = time.monotonic()
            try:
                machine = machines[job.model, job.arm]
                base = bases[job.base_model.value]
                folder = run_job(job, base, reports.courier, reports.parent(job), machine, data_dir, command, watch)
                outcomes.append(Outcome(job, folder, diverged=has_diverged(folder)))
            except Exception as error:  # a failure of one job goes into its outcome, and the other jobs run
                if not keep_going:
                    raise
                say(f"    failed: {type(error).__name__}: {redact(str(error))}")
                outcomes.append(Outcome(job, None, error))
                reports.failed.add(0)
            took.append(time.monotonic() - started)
    return outcomes


def has_diverged(folder: Path) -> bool:
    """Whether the record in a job's folder is of a training that diverged."""
    return bool((read_record(folder / "record.json") or {}).get("diverged"))


def run_job(
    job: Job,
    base: str,
    courier: Delivery,
    parent: Outbox,
    hardware: Hardware,
    data_dir: str | None,
    command: str,
    watch: Watch | None = None,
) -> Path:
    """Run or resume one arm and seed. Returns its folder."""
    if watch is not None:
        hardware = replace(hardware, snapshot_every=hardware.snapshot_every or watch.snapshot_every)
    fingerprint = model_fingerprint(base)
    folder = job_folder(job, fingerprint)
    with locked(folder), fixed_threads(hardware.threads) if hardware.threads else nullcontext():
        outbox = Outbox(folder)
        finished = read_record(folder / "record.json")
        if finished is not None and not (broken := differing_files(folder, finished.get("files", {}))):
            if not outbox.finished():  # deleted, or killed between the record and its end
                _refill(outbox, job, fingerprint, finished, folder, parent)
            courier.watch(outbox)  # for example a new store
            _say_finished(finished, folder)
            return folder
        status = "FAILED"
        _start(outbox, job, fingerprint, folder, parent)
        courier.watch(outbox)
        try:
            if finished is not None:
                say(f"    {'; '.join(broken)}: evaluating again")
            verdicts: dict[str, Path] = {}
            diverged: Diverged | None = None
            training: dict[str, Any] | None = None
            try:
                model, training = _train_watched(job, base, folder, outbox, hardware, data_dir, watch)
                check(f"after training {job.name}")
                verdicts = _evaluate(job, model, folder, hardware, data_dir)
            except Diverged as error:  # a result, not a failure: it is not evaluated, and its table cell says so
                diverged = error
                say(f"    {error}; not evaluated. The last good checkpoint is kept in {folder / 'train'}")
            if finished is None:
                made = _record(job, base, fingerprint, hardware, training, verdicts, diverged, folder, command)
                record = write_record(folder / "record.json", made)
            else:
                record = _made_again(folder, finished, verdicts)
            _log(outbox, record, verdicts, folder)
            (folder / ERROR).unlink(missing_ok=True)
            status = "FINISHED"
        except KeyboardInterrupt as interruption:
            status = "KILLED"
            if outbox.started():
                outbox.tags({"rlvr.stopped": str(interruption) or "interrupted"})
            raise
        except Exception as error:  # record it for `rlvr status`, then raise it again
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            write_json(folder / ERROR, {"error": redact(f"{type(error).__name__}: {error}"), "when": when})
            raise
        finally:
            outbox.finish(status)
    return folder


def _say_finished(record: dict[str, Any], folder: Path) -> None:
    if record.get("diverged"):
        say(f"    {Diverged(**record['diverged'])}, as recorded in {folder}")
    commit = str(record["environment"]["commit"])[:10]
    say(f"    finished already, on {record['finished']} with code at {commit}: {folder}")


def _train_watched(
    job: Job,
    base: str,
    folder: Path,
    outbox: Outbox,
    hardware: Hardware,
    data_dir: str | None,
    watch: Watch | None,
) -> tuple[str, dict[str, Any] | None]:
    """`_train`, with the evaluations that `watch` asks for before, during and after it."""
    watcher = None
    if watch is not None and watch.snapshot_every and job.experiment is not None:
        watcher = Watcher(job, watch, folder, outbox, hardware, data_dir)
        if watch.every:
            watcher.measure(0, base)
    with observed(watcher):
        model, training = _train(job, base, folder, outbox, hardware)
    if watcher is not None:
        watcher()  # snapshots saved while the previous one was evaluated
        if watch is not None and watch.every and training is not None:
            watcher.measure(training["steps"], Path(model))
    return model, training


def job_folder(job: Job, base_fingerprint: str) -> Path:
    """The folder of a job; another base model (for example the tiny one rebuilt) gives another folder."""
    name = f"{job.model}-{job.arm}-{job.digest}-{base_fingerprint[:6]}-seed{job.seed}"
    return home() / job.paper / job.scale / name


def _train(job: Job, base: str, folder: Path, outbox: Outbox, hardware: Hardware) -> tuple[str, dict[str, Any] | None]:
    """(folder of the model to measure, the training's part of the record)."""
    if job.experiment is None:
        return base, None
    final = folder / "train" / "final"
    done = read_record(folder / "trained.json")
    if done is not None and (broken := differing_files(final, done.get("final_sha256", {"config.json": ""}))):
        say(f"    {final}: {'; '.join(broken)}: trained again from the last checkpoint")
        done = None
    if done is None:
        from harness.backends import backend

        done = backend(job.backend).launch(job, base, folder / "train", outbox, hardware)
        done = write_record(folder / "trained.json", {**done, "final_sha256": folder_sha256s(final)})
    return str(final), {key: value for key, value in done.items() if key not in ("final_sha256", "sha256")}


def check_data(jobs: list[Job], data_dir: str | None) -> str | None:
    """Load every benchmark once, before anything is trained; returns the folder they are in (None: the hub).

    Raises:
        ValueError: a benchmark is missing, or is not the pinned version.
    """
    from evals.data import benchmarks

    if data_dir is None and SCALES[jobs[0].scale].family:
        from harness.data.tiny import write_benchmarks

        data_dir = str(home() / "tiny-benchmarks")
        Path(data_dir).mkdir(parents=True, exist_ok=True)
        write_benchmarks(Path(data_dir))
    for name in dict.fromkeys(name for job in jobs for name in job.protocol.benchmarks.value):
        benchmarks.load(name, data_dir=data_dir)
    return data_dir


def _evaluate(job: Job, model: str, folder: Path, hardware: Hardware, data_dir: str | None) -> dict[str, Path]:
    from evals.sampling.evaluate import evaluate

    say(f"    evaluating {', '.join(job.protocol.benchmarks.value)}")
    with finishing():
        return evaluate(
            model,
            job.protocol,
            out_dir=folder / "eval",
            data_dir=data_dir,
            seed=job.seed,
            engine=sampling_engine(hardware, model),
            workers=hardware.grader_workers,
            limit_s=hardware.grader_limit_s,
            after_batch=check,
        )


def _record(
    job: Job,
    base: str,
    fingerprint: str,
    hardware: Hardware,
    training: dict[str, Any] | None,
    verdicts: dict[str, Path],
    diverged: Diverged | None,
    folder: Path,
    command: str,
) -> dict[str, Any]:
    from evals.files import read_parquet
    from evals.stats.score import score

    scores: dict[str, dict[str, Any]] = {}
    for benchmark, path in verdicts.items():
        metrics = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")
        table = read_parquet(path)
        scores[benchmark] = {
            s.key: asdict(s) for s in score(table, ks=job.protocol.value("ks", benchmark), metrics=metrics)
        }
    return {
        "paper": job.paper,
        "model": job.model,
        "arm": job.arm,
        "title": job.title,
        "scale": job.scale,
        "scale_label": SCALES[job.scale].label,
        "backend": job.backend,
        "seed": job.seed,
        "digest": job.digest,
        "overrides": job.overrides,
        "settings": {key: sourced.as_dict() for key, sourced in job.settings().items()},
        "own_files": job.own_files(),
        "base_model": {"loaded_from": base, "sha256": fingerprint},
        "training": training,
        "mismatch": mismatches(folder),  # of sampler and trainer, by kind; {} if there is none
        "diverged": None if diverged is None else diverged.as_dict(),  # {step, quantity, value}; then scores is empty
        "files": _hashes(folder, verdicts),
        "scores": scores,
        "hardware": {**asdict(hardware), "gpus": gpus()},
        "environment": {**environment(), "command": command},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _start(outbox: Outbox, job: Job, fingerprint: str, folder: Path, parent: Outbox) -> None:
    """Open the outbox; a missing one is created with the steps trained so far."""
    new = not outbox.file.exists()
    outbox.start(job.paper, run_name(job), _tags(job, fingerprint), parent)
    outbox.settings(job.settings())
    if new:
        for row in read_jsonl(folder / "train" / "metrics.jsonl"):
            outbox.metrics(row["step"], row["metrics"])


def _refill(outbox: Outbox, job: Job, fingerprint: str, finished: dict[str, Any], folder: Path, parent: Outbox) -> None:
    """Write the outbox of a finished job again, from its files."""
    _start(outbox, job, fingerprint, folder, parent)
    verdicts = {
        Path(name).parent.name: folder / name for name in finished.get("files", {}) if name.endswith(".parquet")
    }
    _log(outbox, finished, verdicts, folder)
    outbox.finish("FINISHED")


def _hashes(folder: Path, verdicts: dict[str, Path]) -> dict[str, str]:
    """SHA-256 of the verdict tables and their manifests, by path in the job's folder."""
    files = [file for table in verdicts.values() for file in (table, table.with_name("manifest.json"))]
    return {str(file.relative_to(folder)): file_sha256(file) for file in files}


def _made_again(folder: Path, finished: dict[str, Any], verdicts: dict[str, Path]) -> dict[str, Any]:
    """The record of a finished job whose files were written again; manifests may differ (for example in versions).

    Raises:
        RefusedError: the record's scores are not of these verdicts.
    """
    tables = {name: sha256 for name, sha256 in finished.get("files", {}).items() if name.endswith(".parquet")}
    if broken := differing_files(folder, tables):
        raise RefusedError(
            f"{folder / 'record.json'} does not match the files beside it ({'; '.join(broken)}, also when rewritten): "
            "delete it, and the same command makes it again from them"
        )
    return write_record(folder / "record.json", {**finished, "files": _hashes(folder, verdicts)})


def _log(outbox: Outbox, record: dict[str, Any], verdicts: dict[str, Path], folder: Path) -> None:
    values: dict[str, float] = {}
    for benchmark, scores in record["scores"].items():
        for key, score in scores.items():
            if score["value"] is not None:
                values[f"eval/{benchmark}/{key}"] = score["value"]
    if record.get("diverged"):
        outbox.tags({"rlvr.diverged": str(Diverged(**record["diverged"]))})
    if record.get("mismatch"):
        outbox.tags({"rlvr.mismatch": ", ".join(sorted(record["mismatch"]))})
    outbox.scores((record["training"] or {}).get("steps", 0), values)
    for benchmark, path in verdicts.items():
        outbox.artifact(path, f"verdicts/{benchmark}")
        outbox.artifact(path.with_name("manifest.json"), f"verdicts/{benchmark}")
    outbox.artifact(folder / "record.json")


def _tags(job: Job, base_fingerprint: str) -> dict[str, str]:
    return {
        "rlvr.kind": "arm",
        "rlvr.paper": job.paper,
        "rlvr.model": job.model,
        "rlvr.arm": job.arm,
        "rlvr.scale": job.scale,
        "rlvr.backend": job.backend,
        "rlvr.seed": str(job.seed),
        "rlvr.digest": f"{job.digest}-{base_fingerprint[:6]}",
        "rlvr.overrides": " ".join(f"{k}={v}" for k, v in sorted(job.overrides.items())),
        "mlflow.note.content": f"{job.title}. {SCALES[job.scale].label}.",  # the description that MLflow shows
    }


def run_name(job: Job) -> str:
    """The run's name in MLflow: model, arm and seed, and the overrides that distinguish it."""
    overrides = " ".join(f"{k}={v}" for k, v in sorted(job.overrides.items()))
    return f"{job.name} [{overrides}]" if overrides else job.name

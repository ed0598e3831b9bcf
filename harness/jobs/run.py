"""Run jobs: train, evaluate, log, record. Killed at any point and started again, a command goes on where it was.

Each job has one folder, named by the digest of all that decides its result:

    <home>/<paper>/<scale>/<model>-<arm>-<digest>-<base model>-seed<k>/
        train/          checkpoints; train/final is the trained model
        eval/           samples and verdicts, one folder a benchmark
        trained.json    written when training is done
        record.json     written when everything is done: the job is finished
        mlflow.json     the MLflow run that belongs to this folder
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.files import locked, read_json, write_json
from evals.fingerprint import model_fingerprint
from harness.command.resolve import Job
from harness.data.base_models import locate
from harness.runs.record import environment, gpus
from harness.runs.track import Tracker, home
from harness.spec.hardware import Hardware
from harness.spec.scales import SCALES
from harness.step.finite import Diverged


def run(jobs: list[Job], *, hardware: Hardware, data_dir: str | None, command: str) -> list[Path]:
    """Run all jobs in order and skip finished ones. Returns the folders of their records.

    A training that diverges is recorded as such and not evaluated; the other jobs still run.

    Args:
        data_dir: where the benchmarks are, as `check_data` gave it.
    Raises:
        ValueError: wrong training data or settings, before the model that needs them is trained.
        RuntimeError: another process is at work on the same job.
    """
    hardware = hardware.with_device()
    bases = {job.base_model.value: locate(job.base_model.value) for job in jobs}
    tracker = Tracker.open()
    experiment_id = tracker.experiment(jobs[0].paper)
    parent = _parent_run(tracker, experiment_id, jobs, command)
    folders = []
    status = "FAILED"
    try:
        for number, job in enumerate(jobs, 1):
            say(f"[{number}/{len(jobs)}] {job.paper} {job.name} ({job.scale} scale)")
            folders.append(
                run_job(job, bases[job.base_model.value], tracker, experiment_id, parent, hardware, data_dir)
            )
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        tracker.finish(parent, status)
    return folders


def run_job(
    job: Job, base: str, tracker: Tracker, experiment_id: str, parent: str, hardware: Hardware, data_dir: str | None
) -> Path:
    """One arm and seed, from wherever it was left. Returns its folder."""
    fingerprint = model_fingerprint(base)
    folder = job_folder(job, fingerprint)
    with locked(folder):
        link = read_json(folder / "mlflow.json") or {}
        finished = read_json(folder / "record.json")
        run_id = tracker.run(
            experiment_id, link.get("run_id"), job.name, {**_tags(job, fingerprint), "mlflow.parentRunId": parent}
        )
        known = run_id == link.get("run_id")
        if finished and known:
            if finished.get("diverged"):
                say(f"    {Diverged(**finished['diverged'])}, as recorded in {folder}")
            tracker.finish(run_id, "FINISHED")
            commit = str(finished["environment"]["commit"])[:10]
            say(f"    finished already, on {finished['finished']} with code at {commit}: {folder}")
            return folder
        write_json(folder / "mlflow.json", {"run_id": run_id})
        status = "FAILED"
        try:
            tracker.settings(run_id, job.settings())
            if not known:
                _replay(tracker, run_id, folder / "train" / "metrics.jsonl")
            verdicts: dict[str, Path] = {}
            diverged: Diverged | None = None
            training: dict[str, Any] | None = None
            try:
                if finished and finished.get("diverged"):
                    raise Diverged(**finished["diverged"])
                model, training = _train(job, base, folder, tracker, run_id, hardware)
                verdicts = _evaluate(job, model, folder, hardware, data_dir)
            except Diverged as error:  # a result, not a failure: nothing of it is evaluated, and its table cell says so
                diverged = error
                say(f"    {error}; not evaluated. The last good checkpoint is kept in {folder / 'train'}")
            record = finished or _record(job, base, fingerprint, hardware, training, verdicts, diverged)
            _log(tracker, run_id, record, verdicts, folder)
            if diverged is not None:
                tracker.tags(run_id, {"rlvr.diverged": str(diverged)})
            write_json(folder / "record.json", record)
            status = "FINISHED"
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        finally:
            tracker.finish(run_id, status)
    return folder


def job_folder(job: Job, base_fingerprint: str) -> Path:
    """The folder of a job; another base model (the tiny one rebuilt, say) gives another folder."""
    name = f"{job.model}-{job.arm}-{job.digest}-{base_fingerprint[:6]}-seed{job.seed}"
    return home() / job.paper / job.scale / name


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a job that `run` returned."""
    record: dict[str, Any] = read_json(folder / "record.json")
    return record


def say(text: str) -> None:
    """Progress goes to stderr; stdout is for results."""
    print(text, file=sys.stderr, flush=True)


def _replay(tracker: Tracker, run_id: str, kept: Path) -> None:
    """Log the steps that were trained under another run (whose store is gone, or was another one)."""
    if kept.is_file():
        steps = (json.loads(line) for line in kept.read_text().splitlines())
        for step, metrics in {s["step"]: s["metrics"] for s in steps}.items():
            tracker.metrics(run_id, step, metrics)


def _train(
    job: Job, base: str, folder: Path, tracker: Tracker, run_id: str, hardware: Hardware
) -> tuple[str, dict[str, Any] | None]:
    """(folder of the model to measure, what the record keeps of the training)."""
    if job.experiment is None:
        return base, None
    done: dict[str, Any] | None = read_json(folder / "trained.json")
    if done is None:
        from harness.backends import backend

        done = backend(job.backend).launch(job, base, folder / "train", tracker, run_id, hardware)
        write_json(folder / "trained.json", done)
    return str(folder / "train" / "final"), done


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
    return evaluate(
        model,
        job.protocol,
        out_dir=folder / "eval",
        data_dir=data_dir,
        seed=job.seed,
        workers=hardware.grader_workers,
        limit_s=hardware.grader_limit_s,
    )


def _record(
    job: Job,
    base: str,
    fingerprint: str,
    hardware: Hardware,
    training: dict[str, Any] | None,
    verdicts: dict[str, Path],
    diverged: Diverged | None = None,
) -> dict[str, Any]:
    import pyarrow.parquet as pq

    from evals.stats.score import score

    scores: dict[str, dict[str, Any]] = {}
    for benchmark, path in verdicts.items():
        metrics = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")
        table = pq.read_table(path)
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
        "base_model": {"loaded_from": base, "sha256": fingerprint},
        "training": training,
        "diverged": None if diverged is None else diverged.as_dict(),  # {step, quantity, value}; then scores is empty
        "scores": scores,
        "hardware": {**asdict(hardware), "gpus": gpus()},
        "environment": environment(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _log(tracker: Tracker, run_id: str, record: dict[str, Any], verdicts: dict[str, Path], folder: Path) -> None:
    values: dict[str, float] = {}
    for benchmark, scores in record["scores"].items():
        for key, score in scores.items():
            if score["value"] is not None:
                values[f"eval/{benchmark}/{key}"] = score["value"]
    tracker.metrics(run_id, (record["training"] or {}).get("steps", 0), values)
    for benchmark, path in verdicts.items():
        tracker.artifact(run_id, path, f"verdicts/{benchmark}")
        tracker.artifact(run_id, path.with_name("manifest.json"), f"verdicts/{benchmark}")
    pending = folder / "artifact" / "record.json"
    write_json(pending, record)
    tracker.artifact(run_id, pending)


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
    }


def _parent_run(tracker: Tracker, experiment_id: str, jobs: list[Job], command: str) -> str:
    """The parent run of this command; the same command again continues the same one."""
    key = hashlib.sha256(" ".join(f"{job.digest}-{job.seed}" for job in jobs).encode()).hexdigest()[:8]
    link = home() / jobs[0].paper / jobs[0].scale / f"command-{key}.json"
    known = (read_json(link) or {}).get("run_id")
    tags = {"rlvr.kind": "command", "rlvr.paper": jobs[0].paper, "rlvr.scale": jobs[0].scale, "rlvr.command": command}
    run_id = tracker.run(experiment_id, known, f"{jobs[0].scale}: {command}"[:250], tags)
    write_json(link, {"run_id": run_id, "command": command})
    return run_id

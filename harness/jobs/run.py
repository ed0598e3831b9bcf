"""Run jobs: train, evaluate, record. After a kill at any point, the same command resumes.

Each job has one folder, named by the digest of everything that decides its result (`harness.record.run`):

    <home>/<paper>/<scale>/<base model>-<arm>-<digest>-<its hash>-seed<k>/
"""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evals.errors import DamagedFileError, RefusedError
from evals.files import locked, write_json
from evals.log import logger
from evals.redaction import redact
from harness.backends.engine import close, sampling_engine
from harness.backends.snapshots import observed, snapshots
from harness.command.watch import Watch, due
from harness.data.base_models import fingerprint, located
from harness.data.overlap import as_record, overlaps
from harness.jobs.moved import moved, sentence
from harness.jobs.watching import Watcher, scores_of
from harness.record.mirror import BackgroundMirror, mirroring
from harness.record.names import folder_of
from harness.record.record import CURVE, FINAL, RECORD, TRAINING_LOG, run_identity
from harness.record.run import Run
from harness.record.state import ERROR
from harness.record.write import Recorder, now
from harness.runs.interrupt import MINUTES, PATIENCE_S, SAMPLING, Interrupted, budget, check, finishing
from harness.runs.record import environment, gpus
from harness.runs.track import home
from harness.spec.hardware import Hardware, Machines, of_job
from harness.spec.job import Job
from harness.spec.scales import SCALES
from harness.step.finite import Diverged
from harness.step.mismatch import mismatch_summary


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended: its folder, or the error that stopped it.

    Args:
        so_far: of a training whose time is over (`minutes=`): how far it came. It is not finished.
    """

    job: Job
    folder: Path | None
    error: Exception | None = None
    diverged: bool = False
    so_far: str | None = None


def outcome_of(job: Job, run: Run) -> JobOutcome:
    """How a job ended whose run stopped without an error."""
    return JobOutcome(job, run.folder, diverged=run.diverged is not None, so_far=run.so_far)


def run_jobs(
    jobs: Sequence[Job],
    *,
    hardware: Machines,
    data_dir: str | None,
    command: str,
    keep_going: bool = False,
    watch: Watch | None = None,
) -> list[JobOutcome]:
    """Run jobs of any papers, arms and seeds in this process, one after another.

    A training that diverges is recorded as such and not evaluated. The other jobs still run.

    Args:
        hardware: of all arms, or by (model, arm). data_dir: where the benchmarks are, as `check_data` gave it.
        watch: evaluations while a model trains, and the snapshots that stay.
        keep_going: after a job that fails, continue with the next one. Its error is in its outcome, and printed.
    Returns:
        one outcome for each job, in order.
    Raises:
        RefusedError: MLflow's store cannot be used, a file is damaged, another process runs the same job.
        ValueError: wrong training data or settings, before the model that needs them is trained.
        Interrupted: a signal asked to stop. Everything is saved.
        With `keep_going` only what stops every job: no store, an interruption.
    """
    machines = {(j.model, j.arm): of_job(hardware, j.model, j.arm).with_device() for j in jobs}
    outcomes: list[JobOutcome] = []
    with mirroring() as mirror:
        for number, job in enumerate(jobs, 1):
            release()  # the memory of an earlier job's model, also of another command
            check(f"after {number - 1} of {len(jobs)} jobs")
            logger.info(f"[{number}/{len(jobs)}] {job.paper} {job.name} ({job.scale} scale)")
            try:
                base = located(job, home() / "base-models")
                finished = JobRun(job, base, machines[job.model, job.arm], data_dir, command, watch).run(mirror)
                outcomes.append(outcome_of(job, finished))
            except Exception as error:  # a failure of one job goes into its outcome, and the other jobs run
                if not keep_going:
                    raise
                logger.warning(f"    failed: {type(error).__name__}: {redact(str(error))}")
                outcomes.append(JobOutcome(job, None, error))
    return outcomes


def release() -> None:
    """Free the memory of models that nothing uses any more, for engines that ask how much of a GPU is free."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


class JobRun:
    """One job in its folder: trained, evaluated and recorded, or resumed where it stopped.

    Args:
        base: the base model, a folder or a hub id. data_dir: as `run_jobs`. command: for the record.
    """

    def __init__(
        self, job: Job, base: str, hardware: Hardware, data_dir: str | None, command: str, watch: Watch | None = None
    ) -> None:
        self.job, self.base, self.data_dir, self.command = job, base, data_dir, command
        self.watch = watch or Watch()
        self.hardware = replace(hardware, snapshot_every=hardware.snapshot_every or self.watch.snapshot_every)
        self.fingerprint = fingerprint(base, hardware)
        self.folder = job_folder(job, self.fingerprint)
        self.recorder = Recorder(self.folder)

    def run(self, mirror: BackgroundMirror | None = None) -> Run:
        """Do what is missing. The finished run.

        Args:
            mirror: what brings MLflow up to date. None: the process that started this one does.
        Raises:
            as `run_jobs`.
        """
        with locked(self.folder), fixed_threads(self.hardware.threads):
            if mirror is not None:
                mirror.watch(self.folder)
            before = Run(self.folder)
            if not (self.folder / RECORD).is_file() or not before.is_finished:
                if not (self.folder / RECORD).is_file():
                    say_other_versions(self.job, self.folder)
                self.start()
            elif damaged := before.damage():
                for name in (TRAINING_LOG, CURVE):  # no command makes these again
                    if name in before.record["files"]:
                        before.file(name)
                logger.warning(f"    {'; '.join(damaged)}: made again")
            else:
                say_finished(before)
                return before
            try:
                try:
                    model = self.train()
                    check(f"after training {self.job.name}")
                    self.finish(self.evaluate(model))
                except Diverged as error:  # a result, not a failure: it is not evaluated, and its table cell says so
                    logger.warning(
                        f"    {error}; not evaluated. The last good checkpoint is kept in {self.folder / 'train'}"
                    )
                    self.finish({}, error)
            except KeyboardInterrupt as interruption:
                if isinstance(interruption, Interrupted) and interruption.signal == MINUTES:
                    self.measure_so_far(interruption)
                    return Run(self.folder)
                self.recorder.update(state="stopped", stopped=str(interruption) or "interrupted")
                raise
            except Exception as error:  # record it for `rlvr show`, then raise it again
                text = redact(f"{type(error).__name__}: {error}")
                write_json(self.folder / ERROR, {"error": text, "when": now()})
                self.recorder.update(state="failed")
                raise
            return Run(self.folder)

    def start(self) -> None:
        """Write the record of a run that begins, or goes on."""
        job = self.job
        identity = {key: getattr(job, key) for key in ("paper", "model", "arm", "title", "scale", "backend", "seed")}
        self.recorder.start(
            **identity,
            kind="arm",
            scale_label=SCALES[job.scale].label,
            digest=job.digest,
            overrides=job.overrides,
            settings={key: sourced.as_dict() for key, sourced in job.settings().items()},
            own_files=job.own_files(),
            base_model={"loaded_from": self.base, "sha256": self.fingerprint},
            hardware={**asdict(self.hardware), "gpus": gpus()},
            overlap=as_record(overlaps(job, self.data_dir, self.watch.protocol(job.protocol).benchmarks.value)),
            environment={**environment(), "command": self.command},
        )

    def train(self) -> str:
        """Train, or take the model that was trained. Returns the folder or hub id of the model to evaluate."""
        if self.job.experiment is None:
            self.recorder.update(training=None)
            return self.base
        watcher = None
        if self.watch.snapshot_every:
            watcher = Watcher(self.job, self.base, self.watch, self.recorder, self.hardware, self.data_dir)
            watcher()
        final = self.folder / FINAL
        try:
            with observed(watcher), budget(self.watch.minutes):
                training = self._trained_before()
                if training is None:
                    from harness.backends import backend

                    launch = backend(self.job.backend).launch
                    training = launch(self.job, self.base, self.folder / "train", self.recorder, self.hardware)
                    files = self.recorder.hashes(path for path in final.rglob("*") if path.is_file())
                    change = moved(self.base, final)
                    logger.info(f"    {sentence(change, self.job.experiment.precision.value)}")
                    training["moved"] = None if change is None else change.as_record()
                    self.recorder.update(training=training, files=files)
        except Diverged:
            if watcher is not None:
                watcher(ended=True)
            raise
        release()
        if watcher is not None:
            watcher(ended=True)  # also snapshots saved while the previous one was evaluated
            if self.watch.every:
                watcher.measure(training["steps"], final)
        return str(final)

    def measure_so_far(self, stop: Interrupted) -> None:
        """Evaluate the model of a training whose time is over as a point of its curve, and record how far it came. The
        run is not finished: the same command goes on."""
        text = f"{self.watch.minutes:g} minutes of training are over {stop.where}"
        logger.info(f"    {text}; evaluating this model, then the same command goes on from it")
        release()
        watcher = Watcher(self.job, self.base, self.watch, self.recorder, self.hardware, self.data_dir)
        for step, model in snapshots(self.folder / "train")[-1:]:  # rejection sampling saves no model within a round
            watcher.measure(step, model)
            if not (self.watch.keep and due(step, self.watch.keep, watcher.stride)):
                shutil.rmtree(model)
        self.recorder.update(state="stopped", stopped=text, so_far=text)

    def _trained_before(self) -> dict[str, Any] | None:
        """The training's part of the record, if it is done and its model is whole."""
        so_far = Run(self.folder)
        training: dict[str, Any] | None = so_far.record.get("training")
        if training is not None and (damaged := so_far.damage(FINAL)):
            logger.warning(f"    {'; '.join(damaged)}: trained again from the last checkpoint")
            return None
        return training

    def evaluate(self, model: str) -> dict[str, Path]:
        """Sample and grade. Benchmark -> its file of verdicts."""
        from evals.sampling.evaluate import evaluate

        logger.info(f"    evaluating {', '.join(self.job.protocol.benchmarks.value)}")
        engine = sampling_engine(self.hardware, model, self.job.protocol.longest)
        try:
            with finishing(SAMPLING, PATIENCE_S):
                return evaluate(
                    model,
                    self.job.protocol,
                    out_dir=self.folder / "eval",
                    data_dir=self.data_dir,
                    seed=self.job.seed,
                    engine=engine,
                    check=check,
                    run=run_identity(Run(self.folder).record),
                    progress=True,  # in a log a line every 30 s: a slow evaluation is no silent one
                )
        finally:
            close(engine)  # the next job needs its memory

    def finish(self, verdicts: dict[str, Path], diverged: Diverged | None = None) -> None:
        """Complete the record: scores, and the hashes of model, curves, verdicts and manifests.

        Raises:
            RefusedError: verdicts that were made again are not those of the recorded scores.
        """
        before = Run(self.folder)
        files = self.recorder.hashes(_files(self.folder))
        if before.record.get("scores"):  # a finished run whose files were made again. Manifests may hold versions.
            listed = {name: sha256 for name, sha256 in before.record["files"].items() if "manifest" not in name}
            if changed := [name for name, sha256 in listed.items() if files.get(name) != sha256]:
                raise RefusedError(
                    f"{self.folder / RECORD} does not match the files beside it ({', '.join(changed)}, also when made "
                    "again): delete it, and the same command makes it again from them"
                )
            self.recorder.update(state="finished", finished=before.finished or now(), files=files)
            return
        self.recorder.update(
            state="finished",
            finished=now(),
            scores=scores_of(verdicts, self.job.protocol),
            diverged=None if diverged is None else diverged.as_dict(),  # {step, quantity, value}. Then scores is empty
            mismatch=mismatch_summary(before.curve),  # between sampler and trainer, by kind. {} if there is none.
            training=before.record.get("training"),
            files=files,
        )
        (self.folder / ERROR).unlink(missing_ok=True)


@contextmanager
def fixed_threads(threads: int | None) -> Iterator[None]:
    """Run torch with this many threads inside the block. None: as many as it has."""
    if threads is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _files(folder: Path) -> list[Path]:
    """The files that a finished record lists: the model, the curve, and every evaluation."""
    files = [folder / TRAINING_LOG, folder / CURVE, *(folder / FINAL).rglob("*")]
    for place in ("eval/*", "curve/*/*"):
        files += [*folder.glob(f"{place}/verdicts.parquet"), *folder.glob(f"{place}/manifest.json")]
    return [path for path in files if path.is_file()]


def say_finished(run: Run) -> None:
    if run.diverged is not None:
        logger.info(f"    {Diverged(**run.diverged)}, as recorded in {run.folder}")
    logger.info(f"    finished already, on {run.finished} with code at {run.commit}: {run.folder}")


def say_other_versions(job: Job, folder: Path) -> None:
    """Name the unfinished runs of this arm and seed under other values, code or weights, which do not go on here."""
    for record in sorted(folder.parent.glob(f"*-{job.arm}-*-seed{job.seed}/{RECORD}")):
        run = Run(record.parent)
        try:
            goes_on_elsewhere = (run.arm, run.model) == (job.arm, job.model) and not run.is_finished
        except DamagedFileError:  # another's damage stops no run. rlvr show names it
            continue
        if goes_on_elsewhere:
            logger.info(f"    begins anew: {record.parent} is of other values, code or weights, and is kept")


def job_folder(job: Job, base_fingerprint: str) -> Path:
    """The folder of a job. Another base model (for example the tiny one rebuilt) gives another folder."""
    identity = {"model": job.model, "arm": job.arm, "digest": job.digest, "seed": job.seed}
    base = {"base_model": {"sha256": base_fingerprint}, "settings": {"base_model": job.base_model.as_dict()}}
    return folder_of(home() / job.paper / job.scale, identity | base)


def check_data(jobs: list[Job], data_dir: str | None) -> str | None:
    """Load every benchmark once, before anything is trained. Returns the folder they are in (None: the hub).

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

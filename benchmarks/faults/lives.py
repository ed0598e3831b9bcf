"""Processes of the `rlvr` command, forked from one process that has done the imports, then killed or signalled.

A fork runs the real command and saves the 10 s of imports.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

STEPS = 6
RUN = [
    "run",
    "paper=egsw",
    "arm=egsw",
    "seeds=1",
    f"max_steps={STEPS}",
    "prompts_per_rollout=2",
    "group_size=4",
    "max_completion_tokens=8",
    "kl_beta=0.04",
    "protocol.benchmarks=[tiny_short]",
    "protocol.rows=4",
    "protocol.n=2",
    "protocol.ks=[1,2]",
    "protocol.max_tokens=8",
    "hardware.device=cpu",
]


@dataclass(frozen=True)
class Life:
    """How one process of the command ended."""

    code: int  # the exit code; minus the signal number if a signal killed it
    out: str
    err: str
    seconds: float

    @property
    def traceback(self) -> bool:
        return "Traceback (most recent call last)" in self.err


def warm() -> None:
    """Import and read what every fork needs, without starting threads."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # as Tracker.open, before it imports MLflow
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import torch
    from mlflow import MlflowClient  # noqa: F401
    from safetensors.torch import load_file  # noqa: F401

    import harness.backends.trl.train
    import harness.backends.trl.trainer
    import harness.cli.main
    import harness.jobs.run
    import harness.tables.tabulate  # noqa: F401
    from harness.cli.training import prepare
    from harness.data.problems import load_problems

    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        os.environ["RLVR_HOME"] = folder
        prepare([*RUN[1:], "hardware.save_every=1"])  # declarations, command line
        del os.environ["RLVR_HOME"]
    load_problems("tiny", seed=0)
    gc.collect()
    gc.freeze()  # a fork collects only its own garbage


def live(
    arguments: Sequence[str],
    home: Path,
    *,
    environment: Mapping[str, str] | None = None,
    inside: Callable[[], None] | None = None,
    meanwhile: Callable[[int], None] | None = None,
    limit_s: float = 300,
) -> Life:
    """Run `rlvr` with these arguments in a fork.

    Args:
        inside: called in the fork before the command: installs faults.
        meanwhile: called here with the fork's process id while it runs: kills or signals it, breaks servers.
    """
    home.mkdir(parents=True, exist_ok=True)
    streams = [home.parent / f"{home.name}.{name}" for name in ("out", "err")]
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _be(arguments, home, environment or {}, inside, streams)
    try:
        if meanwhile is not None:
            meanwhile(pid)
        code = _wait(pid, begin + limit_s)
    except BaseException:
        os.killpg(pid, signal.SIGKILL)
        raise
    seconds = time.monotonic() - begin
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # its grading processes would end without this; do not wait for them
    out, err = (stream.read_text(errors="replace") for stream in streams)
    return Life(code, out, err, seconds)


def _be(
    arguments: Sequence[str],
    home: Path,
    environment: Mapping[str, str],
    inside: Callable[[], None] | None,
    streams: Sequence[Path],
) -> None:
    """The fork: never returns."""
    code = 1
    try:
        os.setsid()
        for stream, number in zip(streams, (1, 2), strict=True):
            os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        os.environ.update({"RLVR_HOME": str(home), "OMP_NUM_THREADS": "1", **environment})
        sys.argv = ["rlvr", *arguments]
        from harness.cli.main import main

        if inside is not None:
            inside()
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException:
            import traceback

            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(pid: int, deadline: float) -> int:
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return -999
        time.sleep(0.01)


def when(condition: Callable[[], bool], then: Callable[[int], None]) -> Callable[[int], None]:
    """A `meanwhile`: call `then` once the condition holds; do nothing if the process ends first."""

    def watch(pid: int) -> None:
        while not condition():
            done = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if done is not None:
                return
            time.sleep(0.005)
        then(pid)

    return watch


def after(seconds: float, number: int) -> Callable[[int], None]:
    """A `meanwhile`: send a signal after `seconds`."""
    begin = time.monotonic()
    return when(lambda: time.monotonic() - begin > seconds, lambda pid: os.kill(pid, number))


# -- what a run leaves -------------------------------------------------------------------------------------------------


def job_folder(home: Path, arm: str = "egsw") -> Path:
    (folder,) = (home / "egsw" / "tiny").glob(f"math-7b-{arm}-*")
    return folder


def reached(home: Path, step: int) -> Callable[[], bool]:
    """Whether that step has been logged."""

    def there() -> bool:
        return any(f'"step": {step},' in path.read_text() for path in home.glob("egsw/tiny/*/train/metrics.jsonl"))

    return there


def result(home: Path, *, uri: str | None = None) -> dict[str, Any]:
    """`_result` in a fork: this process opens no store, because every fork would inherit its threads and files.

    Raises:
        AssertionError: as `_result`.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writing, "wb") as answer:
            try:
                result: Any = _result(home, uri)
            except (AssertionError, ValueError, OSError) as error:
                result = str(error) or type(error).__name__
            except BaseException as error:
                result = f"{type(error).__name__}: {error}"
            pickle.dump(result, answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        data = answer.read()
    os.waitpid(pid, 0)
    result = pickle.loads(data)
    if isinstance(result, str):
        raise AssertionError(result)
    return dict(result)


def _result(home: Path, uri: str | None) -> dict[str, Any]:
    """All results that two runs of one job must share: weights, verdicts, and MLflow points (without their times).

    Raises:
        AssertionError: MLflow has not exactly one finished run, or has a point twice.
    """
    from mlflow import MlflowClient

    from evals.files import file_sha256

    folder = job_folder(home)
    client = MlflowClient(tracking_uri=uri or f"sqlite:///{home / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("egsw")
    assert experiment is not None, "no experiment in MLflow"
    runs = client.search_runs([experiment.experiment_id], filter_string="tags.`rlvr.kind` = 'arm'")
    assert len(runs) == 1, f"{len(runs)} runs in MLflow"
    assert runs[0].info.status == "FINISHED", runs[0].info.status
    points: dict[str, list[tuple[int, float]]] = {}
    for name in runs[0].data.metrics:
        history = client.get_metric_history(runs[0].info.run_id, name)
        steps = [point.step for point in history]
        assert len(set(steps)) == len(steps), f"{name}: doubled points at steps {steps}"
        points[name] = sorted((p.step, 0.0 if name == "train/step_seconds" else p.value) for p in history)
    return {
        "weights": file_sha256(folder / "train" / "final" / "model.safetensors"),
        "verdicts": file_sha256(folder / "eval" / "tiny_short" / "verdicts.parquet"),
        "points": points,
        "artifacts": sorted(a.path for a in client.list_artifacts(runs[0].info.run_id)),
    }


def difference(home: Path, expected: Mapping[str, Any], *, uri: str | None = None) -> str | None:
    """How a finished run differs from the expected one, in words; None if it does not."""
    try:
        got = result(home, uri=uri)
    except AssertionError as error:
        return str(error)
    wrong = [key for key in expected if got[key] != expected[key]]
    return f"different {', '.join(wrong)}" if wrong else None

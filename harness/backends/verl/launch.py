"""Start a training with veRL and watch it: steps to MLflow, a clear error if it dies, no process left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from evals.environment import variables
from evals.files import write_json
from harness.backends.common import metrics_reporter, optimiser_steps, prompt_rows
from harness.backends.snapshots import notify
from harness.backends.verl import CHECKPOINTS, ROWS, STEPS, STOP
from harness.backends.verl.checkpoints import last_checkpoint, step_of
from harness.backends.verl.export import export
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.processes import Session
from harness.record.write import Recorder
from harness.runs.interrupt import Interrupted, finishing, requested
from harness.spec import Experiment
from harness.spec.job import Job
from harness.step.finite import FILE, raise_left_word

DRIVER = (sys.executable, "-m", "harness.backends.verl.driver")
LOG = "verl.log"
_POLL_S = 0.5
_LAST_LINES = 40

OnStep = Callable[[int, int, dict[str, float]], None]


def launch(job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: VerlHardware) -> dict[str, Any]:
    """Train `job` into `out_dir/final`, from its last whole checkpoint if there is one; returns what the record keeps.

    Raises:
        ValueError: the training data cannot be used.
        RuntimeError: the training ended with an error, or stood still; the last lines of its log are in the message.
        Interrupted: a signal asked to stop; the last rollout is saved.
    """
    import transformers
    from transformers import AutoConfig, AutoTokenizer

    from evals.data import prompts
    from evals.sampling.engines.encode import model_stop_tokens
    from harness.backends.verl.rows import write_rows

    assert isinstance(job.experiment, Experiment)
    installed(hardware)
    started = time.monotonic()
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(base_model)
    rows, dropped, digest = prompt_rows(job.experiment, tokenizer, seed=job.seed)
    write_rows(rows, out_dir / ROWS)
    known = last_checkpoint(out_dir / CHECKPOINTS)
    order = {
        **{
            key: getattr(job, key)
            for key in ("paper", "model", "arm", "scale", "backend", "seed", "overrides", "digest")
        },
        "base_model": base_model,
        "out_dir": str(out_dir),
        "hardware": asdict(hardware),
        "rows": len(rows),
        "policy": prompts.get(job.experiment.prompt.value).policy,
        "vocab_size": AutoConfig.from_pretrained(base_model).vocab_size,
        "end_tokens": model_stop_tokens(base_model, tokenizer),
        "resume_from": None if known is None else str(known),
    }
    steps = optimiser_steps(job.experiment, len(rows))
    if known is None or step_of(known) * job.experiment.updates_per_rollout.value < steps:
        run_driver(order, out_dir, hardware, metrics_reporter(recorder))
        known = last_checkpoint(out_dir / CHECKPOINTS)
    if known is None:
        raise RuntimeError(f"training with veRL ended without a checkpoint. {_last_lines(out_dir / LOG)}")
    if (done := step_of(known) * job.experiment.updates_per_rollout.value) < steps:
        raise Interrupted(f"after step {done} of {steps}")
    export(known, out_dir / "final")
    return {
        "steps": steps,
        "resumed_from": order["resume_from"],
        "train_rows": len(rows),
        "train_rows_dropped_for_length": dropped,
        "train_data_sha256": digest,
        "train_seconds": round(time.monotonic() - started, 1),
    }


def installed(hardware: VerlHardware) -> None:
    """Raise ValueError if veRL is missing; set the environment that it reads at import."""
    from importlib.util import find_spec

    if find_spec("verl") is None:
        raise ValueError(
            "backend=verl: veRL is not in this environment; `nox -s KEY -- backend=verl` uses one that has it "
            "(requirements/verl.lock)"
        )
    os.environ.update({key: value for key, value in environment(hardware).items() if key.startswith("VERL_")})


def run_driver(order: dict[str, Any], out_dir: Path, hardware: VerlHardware, on_step: OnStep) -> None:
    """Run the driver process to its end, and pass on each step as it arrives.

    Raises:
        RuntimeError: as `launch`.
    """
    scratch = Path(tempfile.mkdtemp(prefix="rlvr"))  # short: Ray's sockets are in it
    steps, log = out_dir / STEPS, out_dir / LOG
    steps.write_text("")
    (out_dir / FILE).unlink(missing_ok=True)
    (out_dir / STOP).unlink(missing_ok=True)
    write_json(out_dir / "order.json", {**order, "scratch": str(scratch)})
    with Session(uuid4().hex, scratch) as session, log.open("a") as output, finishing():
        driver = subprocess.Popen(
            [*DRIVER, str(out_dir / "order.json")],
            stdout=output,
            stderr=output,
            env={**environment(hardware), **session.environment()},
            start_new_session=True,  # a Ctrl-C at the terminal must not reach it: we ask it to save and stop
        )
        lines = _follow(steps)
        moved = time.monotonic()
        code = None
        while code is None:
            code = driver.poll()
            if requested() and not (out_dir / STOP).exists():
                (out_dir / STOP).touch()
            for line in lines():
                moved = time.monotonic()
                on_step(line["step"], line["total"], line["metrics"])
            before = time.monotonic()
            notify()
            moved += time.monotonic() - before  # an evaluation in between must not count as a hang
            if time.monotonic() - moved > 60 * hardware.stall_minutes:
                raise RuntimeError(
                    f"no step in {hardware.stall_minutes:g} minutes (hardware.stall_minutes): the training hangs. "
                    + _last_lines(log)
                )
            time.sleep(_POLL_S)
    if code != 0:
        raise_left_word(out_dir)
        raise RuntimeError(f"training with veRL ended with exit code {code}. " + _last_lines(log))


def environment(hardware: VerlHardware) -> dict[str, str]:
    """The environment of the driver and of all processes under it."""
    own = {
        "VERL_USE_EXTERNAL_MODULES": "harness.backends.verl.extension",
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # Ray gives its workers, which do all the work, the lowest priority
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HYDRA_FULL_ERROR": "1",
    }
    if hardware.device == "cpu":
        own |= {
            "VERL_PLATFORM": "cpu",
            "VERL_ENGINE_DEVICE": "cuda",  # the FSDP engine is registered under this name; nothing of CUDA is touched
            "VLLM_TARGET_DEVICE": "cpu",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
            "OMP_WAIT_POLICY": "PASSIVE",  # many processes share the cores: waiting threads must not spin
            "GLOO_SOCKET_IFNAME": "lo",
        }
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**variables(), "PYTHONPATH": path, **own}


def _follow(path: Path) -> Callable[[], Iterator[dict[str, Any]]]:
    """A function that returns the complete lines added since its last call."""
    position = 0

    def added() -> Iterator[dict[str, Any]]:
        nonlocal position
        with path.open("rb") as file:
            file.seek(position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                position += len(line)
                yield json.loads(line)

    return added


def _last_lines(log: Path) -> str:
    with log.open(errors="replace") as file:
        lines = deque(file, maxlen=_LAST_LINES)
    return f"The end of {log}:\n{''.join(lines)}"

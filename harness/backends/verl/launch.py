"""Start a training with veRL and watch it: steps to the run's metrics.jsonl, a clear error if it dies, and no process
left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from evals.environment import variables
from evals.files import read_json, read_jsonl, write_jsonl
from evals.log import logger
from harness.backends.children import wait, write_order
from harness.backends.common import metrics_reporter, prompt_rows
from harness.backends.snapshots import drop_snapshots, notify, snapshot_folder
from harness.backends.verl import CHECKPOINTS, PROMPT_NATS, ROWS, STEPS
from harness.backends.verl.checkpoints import export, last_checkpoint, step_of
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.order import Order
from harness.backends.verl.processes import Session
from harness.backends.verl.translate import check_thoughts
from harness.errors import UsageError
from harness.record.record import TRAINING_LOG
from harness.record.write import Recorder
from harness.runs.interrupt import Interrupted, out_of_time
from harness.spec import Experiment
from harness.spec.job import Job
from harness.step.own_rewards import limits_of

DRIVER = (sys.executable, "-m", "harness.backends.verl.driver")
LOG = "verl.log"
_LAST_LINES = 40

OnStep = Callable[[int, int, dict[str, float]], None]


def launch(job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: VerlHardware) -> dict[str, object]:
    """Train `job` into `out_dir/final`, from its last whole checkpoint if there is one. Returns what the record keeps.

    Raises:
        UsageError: the training data cannot be used.
        RuntimeError: the training ended with an error, or stood still. The last lines of its log are in the message.
        Interrupted: a signal asked to stop. The last rollout is saved.
    """
    import transformers
    from transformers import AutoConfig, AutoTokenizer

    from evals.data import prompts
    from evals.sampling.engines.encode import model_stop_tokens

    experiment = job.experiment
    assert isinstance(experiment, Experiment)
    installed(hardware)
    started = time.monotonic()
    transformers.utils.logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(base_model)
    check_thoughts(experiment, tokenizer)
    rows, dropped, digest = prompt_rows(experiment, tokenizer, seed=job.seed)
    write_jsonl(out_dir / ROWS, rows)
    if (checkpoint := last_checkpoint(out_dir / CHECKPOINTS)) is not None:
        logger.info(f"    resuming after rollout {step_of(checkpoint)}")
    prompt = prompts.get(experiment.prompt.value)
    order = Order(
        experiment,
        base_model,
        out_dir,
        hardware,
        job.seed,
        rows=len(rows),
        policy=prompt.policy,
        stop=prompt.stop,
        vocab_size=AutoConfig.from_pretrained(base_model).vocab_size,
        end_tokens=tuple(model_stop_tokens(base_model, tokenizer)),
        resume_from=checkpoint,
    )
    updates, steps = experiment.updates_per_rollout.value, order.steps
    report = metrics_reporter(recorder)
    if checkpoint is not None:  # what a launcher that was killed had not read yet
        known = {row["step"] for row in read_jsonl(recorder.folder / TRAINING_LOG, "step")}
        for line in read_jsonl(out_dir / STEPS, "step", "total", "metrics"):
            if line["step"] <= step_of(checkpoint) * updates and line["step"] not in known:
                report(line["step"], line["total"], line["metrics"])
    done = 0 if checkpoint is None else step_of(checkpoint) * updates
    if done < steps:
        recorder.rewind(done)
        drop_snapshots(out_dir, after=done)
        run_driver(order, report)
        checkpoint = last_checkpoint(out_dir / CHECKPOINTS)
    if checkpoint is None:
        raise RuntimeError(f"training with veRL ended without a checkpoint. {_last_lines(out_dir / LOG)}")
    if step_of(checkpoint) * updates < steps:
        step = step_of(checkpoint) * updates
        if out_of_time():  # this model is evaluated
            target = snapshot_folder(out_dir, step)
            target.parent.mkdir(exist_ok=True)
            export(checkpoint, target, base_model)
        raise Interrupted(f"after step {step} of {steps}")
    export(checkpoint, out_dir / "final", base_model)
    return {
        "steps": steps,
        "resumed_from": None if order.resume_from is None else str(order.resume_from),
        "train_rows": len(rows),
        "train_rows_dropped_for_length": dropped,
        "train_data_sha256": digest,
        "prompt_nats": _prompts(out_dir).get("record"),
        "reward_limits_s": limits_of(experiment.rewards.value),
        "train_seconds": round(time.monotonic() - started, 1),
    }


def _prompts(out_dir: Path) -> dict[str, object]:
    """The report of the first rollout on its prompts (`trainer`), or nothing if it has not ended."""
    return read_json(out_dir / PROMPT_NATS) or {}


def installed(hardware: VerlHardware) -> None:
    """Raise UsageError if veRL is missing. Set the environment that it reads at import."""
    from importlib.util import find_spec

    if find_spec("verl") is None:
        raise UsageError(
            "backend=verl: veRL is not in this environment. nox with the paper's key uses one that has it "
            "(requirements/verl.lock), as `nox -s egsw -- backend=verl`"
        )
    os.environ.update({key: value for key, value in environment(hardware).items() if key.startswith("VERL_")})


def run_driver(order: Order, on_step: OnStep) -> None:
    """Run the driver process to its end, and pass on each step as it arrives.

    Raises:
        RuntimeError: as `launch`.
    """
    out_dir, hardware = order.out_dir, order.hardware
    scratch = Path(tempfile.mkdtemp(prefix="rlvr"))  # short: Ray's sockets are in it
    steps, log = out_dir / STEPS, out_dir / LOG
    steps.write_text("")
    order_file = write_order(replace(order, scratch=scratch), out_dir)
    torn, moved = "", time.monotonic()  # the beginning of a line that is being written. The time of the last step

    def look() -> None:
        nonlocal torn, moved
        *complete, torn = (torn + steps_file.read()).split("\n")
        for line in map(json.loads, complete):
            moved = time.monotonic()
            on_step(line["step"], line["total"], line["metrics"])
            if line["step"] == 1 and (warning := _prompts(out_dir).get("warning")):
                logger.warning(f"    warning: {warning}")
        before = time.monotonic()
        notify()
        moved += time.monotonic() - before  # an evaluation in between must not count as a hang
        if time.monotonic() - moved > 60 * hardware.stall_minutes:
            raise RuntimeError(
                f"no step in {hardware.stall_minutes:g} minutes (hardware.stall_minutes): the training hangs. "
                + _last_lines(log)
            )

    with Session(uuid4().hex, scratch) as session, log.open("a") as output, steps.open() as steps_file:
        driver = subprocess.Popen(
            [*DRIVER, str(order_file)],
            stdout=output,
            stderr=output,
            env={**environment(hardware), **session.environment()},
            start_new_session=True,  # a Ctrl-C at the terminal must not reach it: we ask it to save and stop
        )
        code = wait(driver, out_dir, look, every_s=0.5)
    if code != 0:
        raise RuntimeError(f"training with veRL ended with exit code {code}. " + _last_lines(log))


def environment(hardware: VerlHardware) -> dict[str, str]:
    """The environment of the driver and of all processes under it."""
    settings = {
        "VERL_USE_EXTERNAL_MODULES": "harness.backends.verl.extension",
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # Ray gives its workers, which do all the work, the lowest priority
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HYDRA_FULL_ERROR": "1",
    }
    if hardware.device == "cpu":
        settings |= {
            "VERL_PLATFORM": "cpu",
            "VERL_ENGINE_DEVICE": "cuda",  # the FSDP engine is registered under this name. Nothing of CUDA is touched
            "VLLM_TARGET_DEVICE": "cpu",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
            "OMP_WAIT_POLICY": "PASSIVE",  # many processes share the cores: waiting threads must not spin
            "GLOO_SOCKET_IFNAME": "lo",
        }
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**variables(), "PYTHONPATH": path, **settings}


def _last_lines(log: Path) -> str:
    with log.open(errors="replace") as file:
        lines = deque(file, maxlen=_LAST_LINES)
    return f"The end of {log}:\n{''.join(lines)}"

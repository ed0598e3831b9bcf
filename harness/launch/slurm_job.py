"""The code of a job in a Slurm array: carry out its order; after a signal, save and requeue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback

from evals.redaction import redact
from harness.runs.interrupt import RESUMABLE, Interrupted, handled

STOPPED = "stopped {} times, and launcher.max_num_timeout allows no more; the same command resumes from there"


def run_order(text: str, requeues: int) -> str:
    """Carry out an order; returns the job's folder.

    SIGTERM (preemption, `scancel --signal=TERM`), SIGUSR1 and SIGUSR2 (sent before the time limit) end the step and
    save; the job is then queued again, at most `requeues` times, and the process ends with exit code 75, on which
    Slurm's `RequeueExit` can queue a job again too.

    Raises:
        what the job raises; its folder has the error.
    """
    from harness.jobs.reporting import NoDelivery
    from harness.launch.orders import Order, carry_out, write_to_log

    order = Order.from_json(text)
    os.environ["RLVR_HOME"] = order.home
    write_to_log(order)
    try:
        with handled(signal.SIGUSR2):
            return str(carry_out(order, NoDelivery()).folder)
    except Interrupted as stop:
        print(stop, file=sys.stderr, flush=True)
        restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        if restarts < requeues:
            requeue(job_id())
        else:
            print(STOPPED.format(restarts + 1), file=sys.stderr, flush=True)
        sys.exit(RESUMABLE)
    except Exception:  # log it without credentials, then raise it unchanged
        print(redact(traceback.format_exc()), file=sys.stderr, flush=True)
        raise


def job_id() -> str:
    """This job's id, as Slurm's commands take it."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]


def requeue(job: str) -> None:
    """Requeue a job if Slurm still lists it as running. Leave it alone if it was cancelled, or if Slurm preempts and
    requeues it itself."""
    state = subprocess.run(["squeue", "-h", "-j", job, "-o", "%T"], capture_output=True, text=True, check=False)
    if state.stdout.strip() != "RUNNING":
        print(f"not queued again: Slurm has it as {state.stdout.strip() or 'unknown'}", file=sys.stderr, flush=True)
        return
    asked = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, check=False)
    print(f"scontrol requeue {job}: {asked.stderr.strip() or 'done'}", file=sys.stderr, flush=True)

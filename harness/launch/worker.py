"""A worker process: takes orders from stdin, one after another, so it imports once.

It reads lines of JSON, an order each, and answers each with a line: {"folder": ...}, {"error": ...} or {"stopped":
where}. The job's output goes to its own log. A first signal ends the step, saves, and ends the worker; so does the end
of stdin, which means that the parent has ended.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import sys
import threading
import traceback
from typing import TextIO

from evals.environment import threads_sleep
from evals.redaction import redact
from harness.runs.interrupt import RESUMABLE, Interrupted, StoppedAtOnce, check, handled

END = "end"  # the line after which no order comes


def main() -> int:
    """Work until no order is left; returns the exit code."""
    threads_sleep()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lines: queue.Queue[str] = queue.Queue()
    with handled():
        threading.Thread(target=_read, args=(sys.stdin, lines), daemon=True).start()
        try:
            while (line := lines.get()) != END:
                check("between two jobs")
                print(json.dumps(_answer(line)), file=answers)
                gc.collect()  # free this job's model for the next one
        except Interrupted as stop:
            print(json.dumps({"stopped": stop.where}), file=answers)
            return RESUMABLE
        except StoppedAtOnce as stop:
            return stop.code
    return 0


def _answer(line: str) -> dict[str, str]:
    from harness.launch.orders import Order

    try:
        return {"folder": Order.from_json(line).carried_out()}
    except Exception as error:  # of one job: report it to the command; its other jobs run
        print(redact(traceback.format_exc()), file=sys.stderr, flush=True)
        return {"error": redact(f"{type(error).__name__}: {error}")}


def _read(stdin: TextIO, lines: queue.Queue[str]) -> None:
    for line in stdin:
        lines.put(line.strip())
        if line.strip() == END:
            return
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())

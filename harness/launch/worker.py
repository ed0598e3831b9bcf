"""`python -m harness.launch.worker`: runs the pickled `Task` that comes from its stdin, and ends.

Exit codes: 0 done, 1 failed, 75 stopped and saved. A first signal ends the step and saves; so does the end of stdin,
which says that the parent has ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading

from evals.environment import threads_sleep
from harness.runs.interrupt import Interrupted, StoppedAtOnce, handled


def main() -> int:
    """Run the task; returns the exit code."""
    threads_sleep()
    with handled():
        try:
            task = pickle.load(sys.stdin.buffer)  # noqa: S301  (of the process that started this one)
            threading.Thread(target=_end_with_parent, daemon=True).start()
            return int(task.run())
        except (Interrupted, StoppedAtOnce) as stop:
            print(stop, file=sys.stderr, flush=True)
            return stop.code


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())

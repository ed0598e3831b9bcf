"""One grading worker: a process that answers one comparison at a time and may be killed at any moment.

Started by `evals.grading.pool` as `python -m evals.grading.worker CONVENTIONS`. Reads JSON lines `[gold, answer,
limit_s]`, writes JSON lines `{"equal": true}` or `{"reason": "..."}`; the first line it writes is `{"ready": true}`.
A timer of the system ends the process when a comparison has used its processor time, whoever waits for it. math-verify
swallows the errors of Python's own limit on recursion, which would make an answer unequal that was not read: so that
limit is out of reach here, and a stack that is full ends the process, which is a crash and no verdict.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from typing import Any

from evals.grading import Conventions

_RECURSION = 10**6


def main(conventions: Conventions) -> None:
    """Process comparisons from standard input until it closes."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # library output must not be read as a reply
    logging.disable(logging.CRITICAL)
    import math_verify  # noqa: F401  # slow; must not count against the first answer
    from sympy.core.random import seed

    sys.setrecursionlimit(_RECURSION)
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        seed(0)  # the points that sympy draws must not depend on the comparisons before
        gold, answer, limit_s = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        outcome = reply(gold, answer, conventions)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(outcome), file=replies, flush=True)


def reply(gold: str, answer: str, conventions: Conventions) -> dict[str, Any]:
    """The verdict on one pair, or the kind of failure."""
    from evals.grading.equivalence import UnscorableError, equal

    try:
        return {"equal": equal(gold, answer, conventions)}
    except UnscorableError as error:
        return {"reason": str(error)}
    except MemoryError:
        return {"reason": "memory: the comparison ran out of memory"}
    except Exception as error:  # one failed comparison is one unscored answer
        return {"reason": f"error: {type(error).__name__}: {str(error)[:200]}"}


if __name__ == "__main__":
    main(Conventions(**json.loads(sys.argv[1])))

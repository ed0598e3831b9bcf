"""One grading worker: a process that answers one comparison at a time and may be killed at any moment.

Started by `evals.grading.pool` as `python -m evals.grading.worker CONVENTIONS`. Reads JSON lines `[task, gold, answer,
limit_s]` (a task of TASKS), writes JSON lines `{"equal": true}` or `{"reason": "..."}`; the first line it writes is
`{"ready": true}`. The parent watches its time and memory. math-verify swallows the errors of Python's own limit on
recursion, which would make an answer unequal that was not read: so that limit is out of reach here, and a stack that is
full ends the process, which is a crash and no verdict.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from evals.grading import Conventions

ALONE_S = 60  # of a processor, for a comparison that nobody waits for any more
_RECURSION = 10**6


def main(conventions: Conventions) -> None:
    """Process comparisons from standard input until it closes."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # library output must not be read as a reply
    logging.disable(logging.CRITICAL)
    import math_verify  # noqa: F401  # slow; must not count against the first answer
    from sympy.core.random import seed

    sys.setrecursionlimit(_RECURSION)
    _send(replies, {"ready": True})
    for line in sys.stdin:
        seed(0)  # the points that sympy draws must not depend on the comparisons before
        task, gold, answer, limit_s = json.loads(line)
        _limit_time(limit_s)
        _send(replies, reply(task, gold, answer, conventions))


def reply(task: str, gold: str, answer: str, conventions: Conventions) -> dict[str, Any]:
    """The verdict on one pair, or the kind of failure."""
    from evals.grading.equivalence import UnscorableError

    try:
        return {"equal": TASKS[task](gold, answer, conventions)}
    except UnscorableError as error:
        return {"reason": str(error)}
    except MemoryError:
        return {"reason": "memory: the comparison ran out of memory"}
    except Exception as error:  # one failed comparison is one unscored answer
        return {"reason": f"error: {type(error).__name__}: {str(error)[:200]}"}


def _equal(gold: str, answer: str, conventions: Conventions) -> bool:
    from evals.grading.equivalence import equal

    return equal(gold, answer, conventions)


def _math_verify_alone(gold: str, answer: str, _: Conventions) -> bool:
    from math_verify import parse, verify

    # the usual call of math-verify, with both in a box; the pool has the time limit
    sides = [parse(rf"\boxed{{{text}}}", parsing_timeout=None) for text in (gold, answer)]  # type: ignore[arg-type]
    return bool(verify(*sides, timeout_seconds=None))


TASKS: dict[str, Callable[[str, str, Conventions], bool]] = {"equal": _equal, "math_verify": _math_verify_alone}


def _send(replies: Any, message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def _limit_time(limit_s: float) -> None:
    """The parent ends a comparison at its limit; one whose parent was killed ends a minute of processor time later."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time() + limit_s + ALONE_S)
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


if __name__ == "__main__":
    main(Conventions(**json.loads(sys.argv[1])))

"""One grading worker: a process that answers one comparison at a time and may be killed at any moment.

Started by `evals.grading.pool` as `python -m evals.grading.worker LIMIT_BYTES CONVENTIONS`. Reads JSON lines
`[task, gold, answer]` (a task of TASKS), writes JSON lines `{"equal": true}` or `{"reason": "..."}`; the first line it
writes is `{"ready": true}`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from evals.grading.conventions import Conventions


def main(address_space: int, conventions: Conventions) -> None:
    """Process comparisons from standard input until it closes."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # library output must not be read as a reply
    logging.disable(logging.CRITICAL)
    from evals.grading import math_verify_errors

    math_verify_errors.install()
    import math_verify  # noqa: F401  # slow; must not count against the first answer

    _limit_memory(address_space)
    _send(replies, {"ready": True})
    for line in sys.stdin:
        task, gold, answer = json.loads(line)
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
    except RecursionError:
        return {"reason": "size: nested too deeply"}
    except SystemError as error:  # Python raises it where memory runs out within a call
        return {"reason": f"crash: the interpreter failed, as it does without memory ({error})"[:250]}
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


def _limit_memory(address_space: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system; the parent still watches memory
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = address_space if hard == resource.RLIM_INFINITY else min(address_space, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main(int(sys.argv[1]), Conventions(**json.loads(sys.argv[2])))

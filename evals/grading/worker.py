"""One grading worker: a process that answers one comparison at a time and may be killed at any moment.

Started by `evals.grading.pool` as `python -m evals.grading.worker LIMIT_BYTES CONVENTIONS`. Reads JSON lines
`[task, gold, answer, limit_s]` (a task of TASKS), writes JSON lines `{"equal": true}` or `{"reason": "..."}`; the
first line it writes is `{"ready": true}`.

It loads math-verify so that running out of memory or stack raises an error instead of counting as an unequal answer.
math-verify and its parser swallow all errors (`except Exception`), so that a MemoryError becomes "not equal"; so does a
SystemError, which Python itself raises when it has no memory left for a call ("error return without exception set").
`install` inserts, before each such handler, one that re-raises these errors. It edits the syntax tree while the
module is compiled; no file on disk changes.
"""

from __future__ import annotations

import ast
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from evals.grading import Conventions

ALONE_S = 60  # of a processor, for a comparison that nobody waits for any more


def main(address_space: int, conventions: Conventions) -> None:
    """Process comparisons from standard input until it closes."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # library output must not be read as a reply
    logging.disable(logging.CRITICAL)
    install()
    import math_verify  # noqa: F401  # slow; must not count against the first answer
    from sympy.core.random import seed

    _limit_memory(address_space)
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


def _limit_time(limit_s: float) -> None:
    """The parent ends a comparison at its limit; one whose parent was killed ends a minute of processor time later."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time() + limit_s + ALONE_S)
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _limit_memory(address_space: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system; the parent still watches memory
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = address_space if hard == resource.RLIM_INFINITY else min(address_space, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


MODULES = (
    "math_verify.grader",
    "math_verify.parser",
    "latex2sympy2_extended.latex2sympy2",
    "latex2sympy2_extended.math_normalization",
    "latex2sympy2_extended.sets",
    "mpmath.ctx_mp_python",
    "mpmath.libmp.libmpf",
)
LET_THROUGH = (MemoryError, RecursionError, SystemError)


def install() -> None:
    """Load MODULES this way from now on.

    Raises:
        RuntimeError: one of them is already imported.
    """
    if early := [name for name in MODULES if name in sys.modules]:
        raise RuntimeError(f"{early[0]} was imported before evals.grading.worker.install()")
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in MODULES else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile from the source: a cached file would hold the original handlers."""
        return let_through(self.get_data(self.path), self.path)


def let_through(source: bytes, path: str) -> CodeType:
    """Compile the source, with a handler that re-raises LET_THROUGH before each catch-all handler."""
    tree = _Preceded().visit(ast.parse(source, path))
    return compile(ast.fix_missing_locations(tree), path, "exec")


class _Preceded(ast.NodeTransformer):
    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.generic_visit(node)
        first = next((i for i, handler in enumerate(node.handlers) if _catches_all(handler)), None)
        if first is not None:
            again = ast.ExceptHandler(ast.parse(_NAMES, mode="eval").body, None, [ast.Raise()])
            node.handlers.insert(first, ast.copy_location(again, node.handlers[first]))
        return node


_NAMES = f"({', '.join(error.__name__ for error in LET_THROUGH)})"


def _catches_all(handler: ast.ExceptHandler) -> bool:
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException", "RuntimeError"))
        for name in names
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), Conventions(**json.loads(sys.argv[2])))

"""One grader for several uses in a row: its workers start once, and no comparison is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evals.grading.grader import Grader

_kept: ContextVar[tuple[ExitStack, dict[tuple[int, float], Grader]] | None] = ContextVar("graders", default=None)


@contextmanager
def graders_kept() -> Iterator[None]:
    """Inside the block, `grader` returns the same grader for equal numbers of workers and equal limits."""
    with ExitStack() as stack:
        token = _kept.set((stack, {}))
        try:
            yield
        finally:
            _kept.reset(token)


@contextmanager
def grader(workers: int, limit_s: float) -> Iterator[Grader]:
    """A shared grader (`graders_kept`), or one that ends with the block."""
    from evals.grading.grader import Grader

    kept = _kept.get()
    if kept is None:
        with Grader(workers=workers, limit_s=limit_s) as own:
            yield own
        return
    stack, graders = kept
    if (workers, limit_s) not in graders:
        graders[workers, limit_s] = stack.enter_context(Grader(workers=workers, limit_s=limit_s))
    yield graders[workers, limit_s]

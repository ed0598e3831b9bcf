from __future__ import annotations

from evals.grading.grader import graders_kept, shared_grader
from evals.grading.verdicts import Verdict

HARD = (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", r"\boxed{-3}", None)  # no rule decides: a worker is asked


def test_kept_until_the_end_of_the_block() -> None:
    """The second use finds the comparison made and the workers alive; the last thing is that they end."""
    with graders_kept():
        with shared_grader(1, 30.0) as first:
            before = first.grade_responses([HARD])[0].verdict
            assert first.workers_started == 1
        with shared_grader(1, 30.0) as second:
            assert second is first
            assert second.grade_responses([HARD])[0].verdict is before is Verdict.WRONG
            assert second.workers_started == 1
        with shared_grader(2, 30.0) as other:
            assert other is not first
        pids = first.worker_pids()
    assert all(not _alive(pid) for pid in pids)
    assert len(pids) == 1


def test_alone_it_ends_with_its_own_block() -> None:
    with shared_grader(1, 30.0) as one, shared_grader(1, 30.0) as other:
        assert one is not other


def _alive(pid: int) -> bool:
    import os

    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

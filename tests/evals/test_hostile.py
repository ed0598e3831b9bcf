"""Answers made to hang, to fill the memory or to crash: in the main thread, in a thread, in a Ray worker.

Each costs its own limit and is unscored with its reason; rows before and after it keep their verdicts and their order.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evals.grading import Grader
from evals.verdicts import Verdict

HARD = (r"\frac{\sqrt{2}}{2}", r"\frac{1}{\sqrt{2}}")  # equal, but only math-verify can tell
# each with the kinds of reason it may have: which limit is met first is the machine's
HOSTILE = {
    "tower of powers": ("9^{9^{9^9}}", ("time", "memory")),
    "tower of powers of two": ("2^{2^{2^{2^{2^2}}}}", ("time", "memory", "crash")),
    "nested factorials": ("((((((9!)!)!)!)!)!)!", ("time", "memory")),
    "giant factorial": ("(10^{9})!", ("time", "memory")),
    "huge sum": (r"\sum_{k=1}^{10^9} k!", ("time", "memory")),
    "100,000 digits": ("1" * 100_000, ("size",)),
    "100,000 characters": ("x+" * 50_000, ("size",)),
    "5,000 braces": ("{" * 5000 + "5" + "}" * 5000, ("size",)),
    "open braces": ("{" * 5000, ("size",)),
    "huge set": (r"\{" + ",".join(map(str, range(20_000))) + r"\}", ("size",)),
}
SURE = (("5", "5"), HARD, (HARD[0], r"\frac{1}{\sqrt{3}}"))
EXPECTED = [Verdict.CORRECT, Verdict.CORRECT, Verdict.WRONG]


def rows() -> list[tuple[str, str]]:
    """Every hostile answer between two that are not."""
    return [*SURE, *(row for answer, _ in HOSTILE.values() for row in (("7", answer), *SURE))]


def graded() -> list[tuple[str, str | None]]:
    with Grader(workers=2, limit_s=2.0, memory_mb=512) as grader:
        return [(str(grade.verdict), grade.reason) for grade in grader.grade_answers(rows())]


def check(found: list[tuple[str, str | None]]) -> None:
    assert found[:3] == [(str(v), None) for v in EXPECTED]
    for index, (name, (_, kinds)) in enumerate(HOSTILE.items()):
        (verdict, reason), *after = found[3 + 4 * index : 7 + 4 * index]
        assert verdict == "unscored", (name, verdict, reason)
        assert str(reason).split(":")[0] in kinds, (name, reason)
        assert after == [(str(v), None) for v in EXPECTED], name
    assert len(found) == 3 + 4 * len(HOSTILE)


def test_in_the_main_thread() -> None:
    check(graded())


def test_in_a_thread() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(graded()))
    thread.start()
    thread.join()
    check(found)


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed here")
def test_in_a_ray_worker() -> None:
    import ray

    root = str(Path(__file__).parents[2])
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": root}})
    try:
        check(ray.get(ray.remote(graded).remote()))
    finally:
        ray.shutdown()

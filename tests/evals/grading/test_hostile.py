"""Answers made to hang, to fill the memory or to crash: in the main thread, in a thread, in a Ray worker.

Each costs its own limit and is unscored with its reason; rows before and after it keep their verdicts and their order.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.evals.grading.hostile import EXPECTED, HOSTILE, graded

pytestmark = pytest.mark.slow


def check(verdicts: list[tuple[str, str | None]]) -> None:
    assert verdicts[:3] == [(str(v), None) for v in EXPECTED]
    for index, (name, (_, kinds)) in enumerate(HOSTILE.items()):
        (verdict, reason), *after = verdicts[3 + 4 * index : 7 + 4 * index]
        assert verdict == ("unscored" if kinds else "wrong"), (name, verdict, reason)
        assert not kinds or str(reason).split(":")[0] in kinds, (name, reason)
        assert after == [(str(v), None) for v in EXPECTED], name
    assert len(verdicts) == 3 + 4 * len(HOSTILE)


def test_in_the_main_thread() -> None:
    check(graded())


def test_in_a_thread() -> None:
    verdicts: list[Any] = []
    thread = threading.Thread(target=lambda: verdicts.extend(graded()))
    thread.start()
    thread.join()
    check(verdicts)


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed here")
def test_in_a_ray_worker() -> None:
    import ray

    root = str(Path(__file__).parents[3])
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": root}})
    try:
        check(ray.get(ray.remote(graded).remote()))
    finally:
        ray.shutdown()

"""The time left of a list of jobs."""

from __future__ import annotations

import pytest

from harness.jobs.pace import time_left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        ([], ""),
        ([0.1, 0.4], ""),  # both had a record already
        ([0.1, 30.0, 50.0, 40.0], "; 2.0 min left at this pace"),  # median 40 s, three jobs left
    ],
)
def test_the_time_left_comes_from_the_jobs_that_ran(seconds: list[float], text: str) -> None:
    assert time_left(seconds, 3) == text

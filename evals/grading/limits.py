"""Limits for grading one answer, shared by the grader, `rlvr grade` and trainings."""

from __future__ import annotations

LIMIT_S = 10.0  # of processor time
MEMORY_MB = 1024

"""What grading one answer may take; the grader, `rlvr grade` and a training have the same."""

from __future__ import annotations

LIMIT_S = 10.0  # of processor time
MEMORY_MB = 1024

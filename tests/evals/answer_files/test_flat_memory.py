"""What is held of a graded file grows with its different answers, not with its rows."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from tempfile import TemporaryFile

from evals.answer_files.graded import Graded
from evals.grading import Grader


def test_more_rows_of_the_same_answers_hold_no_more_memory(tmp_path: Path) -> None:
    rows = [
        {"problem_id": f"p{i % 5}", "answer": str(i % 5), "response": rf"so \boxed{{{i % 7}}}", "finish_reason": "stop"}
        for i in range(210)
    ]
    held = []
    with Grader(workers=1) as grader, TemporaryFile("w+", dir=tmp_path) as kept:
        graded = Graded(grader, "boxed_last", 35 * len(rows), kept)
        tracemalloc.start()
        for piece in range(35):
            graded.add(rows)
            if piece in (4, 34):
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        (avg, *_) = graded.scores([1])
    assert held[1] - held[0] < 40_000, held  # for 6,300 rows: a list of one small number each would be 50 kB
    assert avg.samples == 35 * 210
    # i mod 5 = i mod 7 for 5 of each 35 rows
    assert graded.verdicts() == {"correct": 35 * 30, "wrong": 35 * 180}

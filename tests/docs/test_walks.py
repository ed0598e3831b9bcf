"""The walks of docs/architecture.md: their files exist, and a traced response runs exactly those of the third."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = ("harness", "evals", "reproductions", "baselines", "rlvr")


def ours(file: str) -> bool:
    """Not a library's, which in a clone lies in .nox below the root."""
    return file.startswith(tuple(f"{ROOT}/{folder}/" for folder in FOLDERS))


POOL = "evals/grading/pool.py"  # asked whether a worker is needed


def walks() -> dict[str, list[str]]:
    """Title -> the files of its numbered list."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Three walks")[2]
    parts = re.findall(r"^\*\*(.+?)\*\*(.*?)(?=^\*\*|\Z)", text, re.MULTILINE | re.DOTALL)
    return {title: re.findall(r"^\d+\. `([^`]+\.py)`", body, re.MULTILINE) for title, body in parts}


def files_run(call: Callable[[], Any]) -> set[str]:
    """Our files whose functions run in this thread."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>" and ours(frame.f_code.co_filename):
            seen.add(str(Path(frame.f_code.co_filename).relative_to(ROOT)))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {name for name in seen if not name.startswith("tests/")}


def test_every_file_of_a_walk_exists() -> None:
    assert [len(files) for files in walks().values()] == [8, 9, 15]
    assert [name for files in walks().values() for name in files if not (ROOT / name).is_file()] == []


def test_a_response_passes_the_files_of_its_walk(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evals.grading import Grader
    from evals.grading.spelling import clean
    from evals.grading.verdicts import schema
    from evals.stats.counted import CountedTable, counted_file
    from evals.stats.score import score
    from harness.tables.measured import show

    walk = walks()["A response"]
    clean.cache_clear()  # other tests of this process may have read these answers
    with Grader(workers=1) as grader:
        run = files_run(lambda: grader.grade_responses([(r"\frac{1}{2}", r"so \boxed{0.5}", "stop")]))
    assert run == {*walk[4:10], POOL}  # from the grader to the numbers
    rows = [
        {
            "benchmark": "b", "problem_id": f"p{i}", "sample": 0, "seed": 0, "response": "", "answer": "1", "gold": "1",
            "verdict": ("wrong", "correct")[i % 2], "answer_class": 0, "reason": None, "boxed": True, "tokens": 5,
            "finish_reason": "stop",
        }
        for i in range(6)
    ]  # fmt: skip
    for seed in (0, 1):
        pq.write_table(pa.Table.from_pylist(rows, schema=schema()), tmp_path / f"{seed}.parquet")

    def cells() -> list[str]:
        table = CountedTable({seed: counted_file(tmp_path / f"{seed}.parquet") for seed in (0, 1)})
        return [show(s) for s in score(table, ks=(1,), metrics=("avg", "pass"))]

    run = files_run(cells)
    assert run == {*walk[10:15], "evals/files.py"}  # from the verdicts to the text of the cell

"""What the task files call when lm-eval runs them, so that both runners read the same rows and grade them the same way.

    lm_eval --include_path evals/tasks --tasks math500 --metadata '{"data_dir": "path/to/files"}' ...

Without `data_dir` the rows come from the hub, as in `evals.benchmarks.load`.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from evals import benchmarks, prompts
from evals.grading import Grader
from evals.programs import POLICY as PROGRAM
from evals.programs import ProgramGrader
from evals.verdicts import Verdict


def dataset(
    *,
    benchmark: str,
    data_dir: str | None = None,
    allow_changed_data: bool = False,
    choice_seed: int = 0,
    policy: str | None = None,
    **_: Any,
) -> Mapping[str, Any]:
    """The pinned rows as a dataset of id, problem (with its choices), answer and extraction policy. lm-eval passes the
    task's `metadata`, which may hold more than is read here.

    Raises:
        ValueError: as `benchmarks.load`.
    """
    from datasets import Dataset, DatasetDict

    loaded = benchmarks.load(
        benchmark, data_dir=data_dir, allow_changed_data=allow_changed_data, choice_seed=choice_seed
    )
    rows = [
        {
            "id": problem.id,
            "problem": prompts.question(problem),
            "answer": problem.answer,
            "policy": policy or ("letter" if problem.choices else "last_box"),
        }
        for problem in loaded.problems
    ]
    splits: dict[str, Any] = DatasetDict({benchmarks.task(benchmark)["test_split"]: Dataset.from_list(rows)})
    return splits


def process_results(doc: Mapping[str, str], results: Sequence[str]) -> dict[str, float]:
    """One response's marks. An unscored response counts in `unscored`; where that is not 0, `correct` is too low."""
    grader = ProgramGrader(workers=1) if doc["policy"] == PROGRAM else _grader()
    grade = grader.grade_responses([(doc["answer"], results[0], None)], doc["policy"])[0]
    return {
        "correct": float(grade.verdict is Verdict.CORRECT),
        "unscored": float(grade.verdict is Verdict.UNSCORED),
    }


@functools.cache
def _grader() -> Grader:
    grader = Grader(workers=1)
    atexit.register(grader.close)
    return grader

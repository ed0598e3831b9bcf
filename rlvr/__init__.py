"""Grade answers, read runs, compute metrics with intervals, compare, plot, declare and run experiments: in a notebook.

    import rlvr

    rlvr.grade_answers([("1/2", "0.5")])              # verdicts, by the project's one answer checker
    run = rlvr.read_run("runs/egsw/tiny/...")         # shows its scores in a notebook
    rlvr.pass_at_k([[True, False], [False, False]], 2)
    rlvr.compare(run, rlvr.read_run("other")).plot()

Names are loaded when they are first used, so `import rlvr` takes milliseconds. Paths may be strings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.grading import Conventions, Grader
    from evals.provenance import assumed, code, paper
    from rlvr.declaring import experiment, papers, use
    from rlvr.equations import apply
    from rlvr.grading import explain, grade_answers, grade_file, grade_responses
    from rlvr.metrics import avg_at_k, maj_at_k, pass_at_k
    from rlvr.running import run_arm
    from rlvr.runs import compare, read_run

_HOME = {
    "grade_answers": "rlvr.grading",
    "grade_responses": "rlvr.grading",
    "grade_file": "rlvr.grading",
    "explain": "rlvr.grading",
    "Grader": "evals.grading",
    "Conventions": "evals.grading",
    "avg_at_k": "rlvr.metrics",
    "pass_at_k": "rlvr.metrics",
    "maj_at_k": "rlvr.metrics",
    "read_run": "rlvr.runs",
    "compare": "rlvr.runs",
    "papers": "rlvr.declaring",
    "experiment": "rlvr.declaring",
    "use": "rlvr.declaring",
    "paper": "evals.provenance",
    "code": "evals.provenance",
    "assumed": "evals.provenance",
    "apply": "rlvr.equations",
    "run_arm": "rlvr.running",
}
__all__ = [
    "Conventions",
    "Grader",
    "apply",
    "assumed",
    "avg_at_k",
    "code",
    "compare",
    "experiment",
    "explain",
    "grade_answers",
    "grade_file",
    "grade_responses",
    "maj_at_k",
    "paper",
    "papers",
    "pass_at_k",
    "read_run",
    "run_arm",
    "use",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rlvr' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__

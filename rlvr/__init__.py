"""Declare, train, evaluate, grade, compare and tabulate: in a notebook, a script, or by the command `rlvr`.

    import rlvr

    rlvr.evaluate("PATH", "egsw", benchmarks=["math500"], n=4)   # a model under a paper's protocol
    rlvr.run("egsw", arm=["grpo", "egsw"], seeds=3)              # train, evaluate, log; resumes
    rlvr.compare("ours.jsonl", "theirs.jsonl").plot()
    rlvr.grade_answers([("1/2", "0.5")])                         # verdicts, by the project's one answer checker

Every command of `rlvr` is a function here. Names are loaded when they are first used, so `import rlvr` takes
milliseconds and needs neither torch nor a trainer. Paths may be strings; results print themselves, and have
`as_json()`, `to_pandas()`, `to_latex()` and `save(FILE)`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from os.path import isfile, join
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.data.benchmarks import load as load_benchmark
    from evals.grading import Conventions, Grader
    from evals.provenance import assumed, code, paper
    from harness.errors import UsageError
    from harness.spec.equation import stage
    from harness.step.batch import TokenBatch, reads
    from rlvr.auditing import audit
    from rlvr.comparing import compare, power
    from rlvr.declaring import experiment, use
    from rlvr.evaluation import evaluate, grade
    from rlvr.grading import explain, grade_answers, grade_responses
    from rlvr.listing import list_, show
    from rlvr.metrics import avg_at_k, maj_at_k, pass_at_k
    from rlvr.results import Result
    from rlvr.runs import read_run
    from rlvr.scaffold import new
    from rlvr.sharing import export, import_
    from rlvr.training import plan, run
    from rlvr.web import ui
    from rlvr.writing import analyze, report, tables

_HOME = {
    "rlvr.auditing": ("audit",),
    "rlvr.comparing": ("compare", "power"),
    "rlvr.declaring": ("experiment", "use"),
    "rlvr.evaluation": ("evaluate", "grade"),
    "rlvr.grading": ("explain", "grade_answers", "grade_responses"),
    "rlvr.listing": ("list_", "show"),
    "rlvr.metrics": ("avg_at_k", "maj_at_k", "pass_at_k"),
    "rlvr.results": ("Result",),
    "rlvr.runs": ("read_run",),
    "rlvr.scaffold": ("new",),
    "rlvr.sharing": ("export", "import_"),
    "rlvr.training": ("plan", "run"),
    "rlvr.web": ("ui",),
    "rlvr.writing": ("analyze", "report", "tables"),
    "evals.grading": ("Conventions", "Grader"),
    "evals.provenance": ("assumed", "code", "paper"),
    "harness.errors": ("UsageError",),
    "harness.spec.equation": ("stage",),
    "harness.step.batch": ("TokenBatch", "reads"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}
__all__ = [
    "Conventions",
    "Grader",
    "Result",
    "TokenBatch",
    "UsageError",
    "analyze",
    "assumed",
    "audit",
    "avg_at_k",
    "code",
    "compare",
    "evaluate",
    "experiment",
    "explain",
    "export",
    "grade",
    "grade_answers",
    "grade_responses",
    "import_",
    "list_",
    "load_benchmark",
    "maj_at_k",
    "new",
    "paper",
    "pass_at_k",
    "plan",
    "power",
    "read_run",
    "reads",
    "report",
    "run",
    "show",
    "stage",
    "tables",
    "ui",
    "use",
]


def _check_installed() -> None:
    """Raise ImportError if another distribution's `evals` or `baselines` stands in the place of ours."""
    for name, file in (("evals", "provenance.py"), ("baselines", "paper.py")):
        package = find_spec(name)
        places = list(package.submodule_search_locations or []) if package is not None else []
        if not any(isfile(join(place, file)) for place in places):
            raise ImportError(
                f"rlvr needs its own package {name!r} and finds {', '.join(places) or 'none'}: another distribution "
                "installs one of that name. Install rlvr-harness into an environment without it"
            )


_check_installed()


def __getattr__(name: str) -> Any:
    if name == "load_benchmark":
        value = import_module("evals.data.benchmarks").load
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module 'rlvr' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

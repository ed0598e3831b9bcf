"""Declare, train, evaluate, grade, compare and tabulate: in a notebook, a script, or by the command `rlvr`.

    import rlvr

    rlvr.evaluate("PATH", "egsw", benchmarks=["math500"], n=4)   # a model under a paper's protocol
    rlvr.run("egsw", arm=["grpo", "egsw"], seeds=3)              # train, evaluate, log. Resumes
    rlvr.compare("ours.jsonl", "theirs.jsonl").plot()
    rlvr.grade_answers([("1/2", "0.5")])                         # verdicts, by the project's one answer checker

Every command of `rlvr` is a function here. Names are loaded when they are first used, so `import rlvr` takes
milliseconds and needs neither torch nor a trainer. Paths may be strings. Results print themselves, and have
`as_json()`, `to_pandas()`, `to_latex()` and `save(FILE)`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from os.path import isfile, join
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `as`: type checkers then know the name as ours
    from evals.data.benchmarks import load as load_benchmark
    from evals.grading import Conventions as Conventions
    from evals.grading import Grader as Grader
    from evals.provenance import assumed as assumed
    from evals.provenance import code as code
    from evals.provenance import paper as paper
    from harness import __version__ as __version__
    from harness.errors import UsageError as UsageError
    from harness.spec.equation import stage as stage
    from harness.step.batch import TokenBatch as TokenBatch
    from harness.step.batch import reads as reads
    from rlvr.agreeing import agree as agree
    from rlvr.auditing import audit as audit
    from rlvr.comparing import compare as compare
    from rlvr.declaring import experiment as experiment
    from rlvr.declaring import use as use
    from rlvr.evaluation import evaluate as evaluate
    from rlvr.evaluation import grade as grade
    from rlvr.grading import explain as explain
    from rlvr.grading import grade_answers as grade_answers
    from rlvr.grading import grade_responses as grade_responses
    from rlvr.listing import list_ as list_
    from rlvr.listing import show as show
    from rlvr.metrics import avg_at_k as avg_at_k
    from rlvr.metrics import maj_at_k as maj_at_k
    from rlvr.metrics import pass_at_k as pass_at_k
    from rlvr.results import Result as Result
    from rlvr.runs import read_run as read_run
    from rlvr.scaffold import new as new
    from rlvr.sharing import curves as curves
    from rlvr.sharing import export as export
    from rlvr.sharing import import_ as import_
    from rlvr.sharing import sync as sync
    from rlvr.sharing import verify as verify
    from rlvr.sizing import aa as aa
    from rlvr.sizing import power as power
    from rlvr.sizing import seeds as seeds
    from rlvr.training import config as config
    from rlvr.training import plan as plan
    from rlvr.training import rehearse as rehearse
    from rlvr.training import run as run
    from rlvr.web import ui as ui
    from rlvr.writing import analyze as analyze
    from rlvr.writing import page as page
    from rlvr.writing import report as report
    from rlvr.writing import tables as tables

_HOME = {
    "rlvr.agreeing": ("agree",),
    "rlvr.auditing": ("audit",),
    "rlvr.comparing": ("compare",),
    "rlvr.declaring": ("experiment", "use"),
    "rlvr.evaluation": ("evaluate", "grade"),
    "rlvr.grading": ("explain", "grade_answers", "grade_responses"),
    "rlvr.listing": ("list_", "show"),
    "rlvr.metrics": ("avg_at_k", "maj_at_k", "pass_at_k"),
    "rlvr.sizing": ("aa", "power", "seeds"),
    "rlvr.results": ("Result",),
    "rlvr.runs": ("read_run",),
    "rlvr.scaffold": ("new",),
    "rlvr.sharing": ("curves", "export", "import_", "sync", "verify"),
    "rlvr.training": ("config", "plan", "rehearse", "run"),
    "rlvr.web": ("ui",),
    "rlvr.writing": ("analyze", "page", "report", "tables"),
    "evals.grading": ("Conventions", "Grader"),
    "evals.provenance": ("assumed", "code", "paper"),
    "harness": ("__version__",),
    "harness.errors": ("UsageError",),
    "harness.spec.equation": ("stage",),
    "harness.step.batch": ("TokenBatch", "reads"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}
__all__ = ["load_benchmark", *_MODULES]


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
import_module("evals.log")  # so that what a user sets of the logger `rlvr` stays


def __getattr__(name: str) -> object:
    if name == "load_benchmark":
        value = import_module("evals.data.benchmarks").load
    elif name in _MODULES:
        home = import_module(_MODULES[name])
        value = getattr(home, name)
        if isinstance(value, FunctionType) and home.__name__.startswith("rlvr."):
            value = import_module("rlvr.signature").called(value)
            setattr(home, name, value)  # one object under both names, as pickle needs
    else:
        raise AttributeError(f"module 'rlvr' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

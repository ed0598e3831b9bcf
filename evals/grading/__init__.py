"""The only answer checker: from a gold answer and a response to a verdict.

extraction.py   the answer inside a response, by a stated policy
locate.py       the answer inside a bare answer, which may be a sentence
spelling.py     one spelling for what is written differently
equivalence.py  whether two answers are equal: the first rule that applies decides, else evaluation, else math-verify
conventions.py  what counts as the same answer where mathematics leaves a choice
rules/          the rules by name, where math-verify alone is wrong
latex.py collection.py numbers.py quantity.py
                read an answer: brackets and form, several or named values, numbers, units
evaluation.py expression.py arithmetic.py
                parse unambiguous LaTeX and compare values at random points; towers of powers are only numbers
symbolic.py     the one call of math-verify; math_verify_errors.py lets its memory errors through
pool.py worker.py   worker processes that can be killed, with limits on time and memory
limits.py       what one answer may take
grader.py       `Grader`: many answers at once, each pair compared once, results in order
files/          grade a file of responses (`rlvr grade`)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.grading.conventions import Conventions
    from evals.grading.explanation import Explanation
    from evals.grading.grader import Grade, Grader, Progress
    from evals.grading.limits import LIMIT_S

__all__ = ["LIMIT_S", "Conventions", "Explanation", "Grade", "Grader", "Progress"]


def __getattr__(name: str) -> Any:
    """Import the grader when it is asked for: who only reads `evals.grading.extraction` need not wait for its rules."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"Conventions": "conventions", "Explanation": "explanation", "LIMIT_S": "limits"}.get(name, "grader")
    return getattr(import_module(f"{__name__}.{module}"), name)

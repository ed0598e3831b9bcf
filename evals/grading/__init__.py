"""The only answer checker: from a gold answer and a response to a verdict.

extraction.py   the answer inside a response, by a stated policy; and inside a bare answer, which may be a sentence
spelling.py code.py
                one spelling for equivalent notations, LaTeX for what is written as code
equivalence.py  whether two answers are equal: the first rule that applies decides, else evaluation, else math-verify
                (called only there)
conventions.py  which answers count as equal where mathematics leaves a choice; limits for one answer
form.py relations.py quantity.py collection.py
                the rules, where math-verify alone is wrong: on words and form; on equations; on units and decimals; on
                several or named values; the last two also read these
numbers.py      brackets, form and numbers of an answer
evaluation.py expression.py arithmetic.py
                parse unambiguous LaTeX and compare values at random points; handle towers of powers
pool.py worker.py
                worker processes that can be killed, with limits on time and memory
grader.py       `Grader`: many answers at once, each pair compared once, results in order; and explanations of verdicts
verdicts.py     the five verdicts, their table, and how many of them another policy would change
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.grading.conventions import LIMIT_S, Conventions
    from evals.grading.grader import Explanation, Grade, Grader, Progress

__all__ = ["LIMIT_S", "Conventions", "Explanation", "Grade", "Grader", "Progress"]


def __getattr__(name: str) -> Any:
    """Import the grader on first use, so that importing `evals.grading.extraction` alone stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"Conventions": "conventions", "LIMIT_S": "conventions"}.get(name, "grader")
    return getattr(import_module(f"{__name__}.{module}"), name)

"""The only answer checker: from a gold answer and a response to a verdict.

extraction.py   the answer inside a response, by a stated policy
equivalence.py  whether two answers are equal: the fast paths, then math-verify, then named corrections
latex.py forms.py numbers.py units.py   reading an answer: LaTeX, its form (number, tuple, interval, ...), value, unit
symbolic.py     the one call of math-verify; honest.py lets its memory errors through
pool.py worker.py   worker processes that can be killed, with limits on time and memory
grader.py       `Grader`: many answers at once, each pair compared once, results in order
"""

from evals.grading.grader import LIMIT_S, Grade, Grader, Progress

__all__ = ["LIMIT_S", "Grade", "Grader", "Progress"]

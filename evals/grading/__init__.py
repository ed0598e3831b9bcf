"""The only answer checker: from a gold answer and a response to a verdict.

extraction.py   the answer inside a response, by a stated policy, or inside a bare answer
spelling.py     one spelling for what is written differently
equivalence.py  whether two answers are equal: the first rule that applies decides, else math-verify
rules/          the rules by name, where math-verify alone is wrong
latex.py collection.py numbers.py quantity.py
                read an answer: brackets and form, several or named values, numbers, units
symbolic.py     the one call of math-verify; math_verify_errors.py lets its memory errors through
pool.py worker.py   worker processes that can be killed, with limits on time and memory
grader.py       `Grader`: many answers at once, each pair compared once, results in order
files/          grade a file of responses (`rlvr grade`)
"""

from evals.grading.grader import LIMIT_S, Grade, Grader, Progress

__all__ = ["LIMIT_S", "Grade", "Grader", "Progress"]

"""The only answer checker: from a gold answer and a response to a verdict.

extraction.py   the answer inside a response, by a stated policy; locate.py: inside a bare answer
equivalence.py  whether two answers are equal; compare.py: of two cleaned ones, by the first rule that applies
rules/          the rules by name, where math-verify alone is wrong
spelling/       one spelling for what is written differently
latex.py forms.py naming.py collection.py sets.py words.py spoken.py numbers.py units.py quantity.py
                reading an answer: brackets, form, named value, several values, and so on
symbolic.py     the one call of math-verify; honest.py lets its memory errors through
pool.py worker.py   worker processes that can be killed, with limits on time and memory
grader.py       `Grader`: many answers at once, each pair compared once, results in order
"""

from evals.grading.grader import LIMIT_S, Grade, Grader, Progress

__all__ = ["LIMIT_S", "Grade", "Grader", "Progress"]

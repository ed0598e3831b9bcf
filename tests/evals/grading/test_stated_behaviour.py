"""What the grader is asked to do, case by case: wrong accepts that a policy would exploit, wrong refusals, extraction.

Most are in answers.txt as well, where the rule that decides them is taken away; here they are graded as a user does.
"""

from __future__ import annotations

import pytest

from evals.grading import Grader
from evals.grading.verdicts import Verdict

MATRIX = r"\begin{pmatrix}3&4\\5&6\end{pmatrix}"
EVEN = r"\begin{pmatrix}2&2\\2&2\end{pmatrix}"
CASES = r"f(n)=\begin{cases} 1 & n\geq 2 \\ 0 & n<2\end{cases}"

WRONG = [
    *((gold, trick) for gold in ("f(2)=373", r"e=\frac{\sqrt5+1}{2}", "63 - 2 = 61", "$N=n$")
      for trick in ("1=2", "0=0", "2=2", "5=7", "")),
    ("If $n$ is odd, Alice wins.", "If $n$ is odd, Bob wins."),
    ("If $n$ is odd, Alice wins.", "n"),
    ("All primes except $2$", "2"),
    (CASES, r"n\geq 2"),
    ("3", "the probability is 2/3"),
    ("8", "2^8 exactly"),
    ("3", "12 ways to choose 3 people"),
    ("5", "5^{1}^{1}"),
    ("1,234", "1, 234"),
    ("(1,234)", "1,234"),
    ("5", "4=5"),
    (MATRIX, rf"{EVEN}+{EVEN}"),
    ("5", r"9^{9^{9^9}}"),
    (r"2^{2^{2^{2^2}}}", r"3^{3^{3^3}}"),
    ("x", r"y^{y^{y^y}}"),
]  # fmt: skip
CORRECT = [
    ("2/3", "the probability is 2/3"),
    ("256", "2^8 exactly"),
    ("12", "12 ways to choose 3 people"),
    ("373", "f(2)=373"),
    ("f(2)=373", "373"),
    ("0", r"\log 8-3\log 2"),
    (r"\frac{1}{2}", r"\cos A=\frac12"),
    ("5", "|z|=5"),
    ("5", r"S_{\max}=5"),
    ("5", "V_1:V_2=5"),
    ("V_1:V_2=5", "5"),
    (r"\frac{1+a}{c}", r"\frac{1+a}c"),
    ("p=5,q=2;p=7,q=2", "(5,2),(7,2)"),
    ("(5,2),(7,2)", "p=5,q=2;p=7,q=2"),
    (r"a\le-2 \text{ or } a=1", r"(-\infty,-2]\cup\{1\}"),
    ("560000", "560000 K"),
    ("1/3", "0.333"),
    ("1000.99", "1000,99"),
    ("5", "five"),
]
RESPONSES = [  # gold, response, policy, verdict
    ("3", r"\boxed{3} or \boxed{5}", "boxed_last", Verdict.WRONG),
    ("5", r"\boxed{3} or \boxed{5}", "boxed_last", Verdict.WRONG),
    ("5", r"The result is 5. \boxed{}", "boxed_last", Verdict.NO_ANSWER),
    (r"\{3,5\}", r"so \boxed{3} and \boxed{5}", "boxed_last", Verdict.CORRECT),
    ("5", r"\boxed{5 \text{ (since }2+3=5)}", "boxed_last", Verdict.CORRECT),
    ("5", "It is \\boxed{5}.\n\nProblem: what is 2+2? \\boxed{4}", "boxed_last", Verdict.CORRECT),
    ("5", r"first \boxed{5}, then \boxed{4}", "boxed_strict", Verdict.NO_ANSWER),
    ("5", "Answer: 4\nAnswer: 5", "answer_line", Verdict.CORRECT),
    ("5", "The answer is 5", "qwen", Verdict.CORRECT),
    ("5", "we get 3, then 5", "qwen", Verdict.CORRECT),
    ("B", "\\boxed{42}\nAnswer: B", "letter", Verdict.CORRECT),
    ("B", "\\boxed{E=mc^2}\nAnswer: B", "letter", Verdict.CORRECT),
    ("C", "C_6H_{12}", "letter", Verdict.NO_ANSWER),
    ("A", "the answer is a bit unclear", "letter", Verdict.NO_ANSWER),
]


@pytest.fixture(scope="module")
def grader():
    with Grader(workers=1) as one:
        yield one


@pytest.mark.parametrize(("gold", "answer"), WRONG)
def test_what_is_not_the_gold(grader, gold, answer):
    [grade] = grader.grade_answers([(gold, answer)])
    assert grade.verdict is (Verdict.WRONG if answer else Verdict.NO_ANSWER)


@pytest.mark.parametrize(("gold", "answer"), CORRECT)
def test_what_is_the_gold_in_another_form(grader, gold, answer):
    [grade] = grader.grade_answers([(gold, answer)])
    assert grade.verdict is Verdict.CORRECT


@pytest.mark.parametrize(("gold", "response", "policy", "verdict"), RESPONSES)
def test_what_a_policy_makes_of_a_response(grader, gold, response, policy, verdict):
    [grade] = grader.grade_responses([(gold, response, None)], policy)
    assert grade.verdict is verdict

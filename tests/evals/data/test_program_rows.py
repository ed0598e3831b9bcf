"""Rows of evalplus's releases as benchmarks, on rows of our own in their columns."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from evals.code_execution.program_grader import ProgramGrader
from evals.data.program_rows import humaneval_plus, mbpp, mbpp_base, mbpp_plus
from evals.grading.verdicts import Verdict

ROW: dict[str, Any] = {
    "task_id": 7,
    "code": "def double(x):\n    return 2 * x\n",
    "prompt": "Write a function to double a number.",
    "test_imports": ["import math"],
    "test_list": ["assert double(2) == 4", "assert math.isclose(double(0.5), 1.0)"],
    "test": "inputs = [[2], [0.5], ['ab']]\nresults = [4, 1.0, 'abab']\n"
    "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assert double(*inp) == exp\n",
}
needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_a_task_of_mbpp_is_asked_as_evalplus_asks_it() -> None:
    read = mbpp(ROW)
    assert read["id"] == "Mbpp/7"
    assert read["problem"] == '"""\nWrite a function to double a number.\nassert double(2) == 4\n"""\n'
    assert json.loads(read["answer"]) == {
        "prompt": "", "tests": "import sys\nimport math\n" + "\n".join(ROW["test_list"]) + "\n", "entry_point": "double"
    }  # fmt: skip
    assert json.loads(mbpp_plus(ROW)["answer"])["tests"] == ROW["test"]
    row = {"id": "a", "problem": "p", "answer": "{}"}
    assert mbpp(row) == row
    with pytest.raises(ValueError, match=r"no column 'test_list'\. It has"):
        mbpp({k: v for k, v in ROW.items() if k != "test_list"})
    with pytest.raises(ValueError, match="task 7: no call of a function"):
        mbpp({**ROW, "test": "assert True"})


@needs_sandbox
def test_the_tests_of_both_are_statements_and_the_plus_ones_refuse_more() -> None:
    """`x + x` doubles text too. `int(2 * x)` is right for the first test of MBPP alone. A wrong one fails at once."""
    programs = [
        "def double(x):\n    return x + x\n",
        "def double(x):\n    return 2.0 * x\n",
        "def double(x):\n    return x\n",
    ]
    cases = (
        (mbpp, "correct correct wrong"),
        (mbpp_base, "correct correct wrong"),
        (mbpp_plus, "correct wrong wrong"),
    )
    for read, expected in cases:
        rows = [(read(ROW)["answer"], f"```python\n{program}```", "stop") for program in programs]
        with ProgramGrader() as grader:
            assert [grade.verdict for grade in grader.grade_responses(rows)] == [Verdict(v) for v in expected.split()]


@needs_sandbox
def test_a_reference_that_fails_the_tests_of_mbpp_is_right_by_evalplus() -> None:
    row = {**ROW, "test_list": ["assert double(2) == 5", ROW["test_list"][1]]}
    with ProgramGrader() as grader:
        graded = [
            grader.grade_responses([(read(row)["answer"], f"```\n{row['code']}```", "stop")])[0]
            for read in (mbpp, mbpp_base)
        ]
    assert [grade.verdict for grade in graded] == [Verdict.WRONG, Verdict.CORRECT]


@needs_sandbox
def test_a_function_named_check_is_no_test() -> None:
    row = {k: v.replace("double", "check") if isinstance(v, str) else v for k, v in ROW.items()}
    row["test_list"] = [test.replace("double", "check") for test in ROW["test_list"]]
    with ProgramGrader() as grader:
        graded = grader.grade_responses([(mbpp(row)["answer"], "```\ndef check(x): return 2 * x\n```", "stop")])
    assert graded[0].verdict is Verdict.CORRECT


def test_the_one_broken_test_of_humaneval_plus_is_mended() -> None:
    """A zero of a polynomial: the coefficients are the input, the zero is what the program returns."""
    body = "    for inp in [[[1, 2]]]:\n        assert _poly(*candidate(*inp), inp) <= 0.0001\n"
    tests = humaneval_plus({"test": f"def check(candidate):\n{body}"})["test"]
    space: dict[str, Any] = {"_poly": lambda xs, x: abs(xs[0] + xs[1] * x)}
    exec(tests, space)
    space["check"](lambda xs: -xs[0] / xs[1])
    with pytest.raises(AssertionError):
        space["check"](lambda xs: 0.0)
    assert humaneval_plus({"answer": "{}"}) == {"answer": "{}"}

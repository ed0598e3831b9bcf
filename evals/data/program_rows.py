"""Rows of evalplus's releases (`HumanEvalPlus-OriginFmt`, `MbppPlus-OriginFmt`) in the columns of a benchmark.

evalplus (arXiv 2305.01210, commit 26d6d00) asks for an MBPP task with its text and first example, as a docstring. Its
HumanEval+ has one test that no program can pass: for HumanEval/32 it calls `_poly(*candidate(*inp), inp)`, where its
own evaluator calls `_poly(*inp, candidate(*inp))`, so does this. MBPP's tests of task 596 need `sys`, which they do not
import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from evals.errors import UsageError

Row = Mapping[str, Any]
_CALLED = re.compile(r"(\w+)\(\*inp\)")  # the function that MBPP+'s tests call. A reference may follow it
_LOOP = re.compile(r"^for i, .*enumerate\(.*inputs.*$", re.MULTILINE)  # the line that begins MBPP+'s checks
_SWAPPED = ("_poly(*candidate(*inp), inp)", "_poly(*inp, candidate(*inp))")


def humaneval_plus(row: Row) -> Row:
    """A row of HumanEval+, its one broken test mended."""
    return {**row, "test": str(row["test"]).replace(*_SWAPPED)} if "test" in row else row


def mbpp(row: Row) -> Row:
    """A task of MBPP with its own three tests."""
    return _mbpp(row, lambda: "\n".join(["import sys", *row["test_imports"], *row["test_list"], ""]))


def mbpp_plus(row: Row) -> Row:
    """The same with evalplus's tests, of which the first are those of MBPP."""
    return _mbpp(row, lambda: str(row["test"]))


def mbpp_base(row: Row) -> Row:
    """The task with evalplus's tests on as many inputs as MBPP has tests, which are MBPP's own: what evalplus prints as
    MBPP. Some reference solutions fail MBPP's tests (of v0.1.0, 21 of 399), and its evaluator compares with them.

    In v0.1.0, five tasks have one input more or fewer than tests.
    """
    return _mbpp(row, lambda: re.sub(_LOOP, f"inputs = inputs[:{len(row['test_list'])}]\n\\g<0>", str(row["test"])))


def _mbpp(row: Row, tests: Callable[[], str]) -> Row:
    if "answer" in row:  # in our columns already
        return row
    if missing := [name for name in ("task_id", "prompt", "test_imports", "test_list", "test") if name not in row]:
        raise UsageError(f"no column {missing[0]!r}. It has {', '.join(map(repr, row))}")
    call = _CALLED.search(str(row["test"]))
    if call is None:
        raise UsageError(f"task {row['task_id']}: no call of a function on `*inp` in column 'test'")
    answer = {"prompt": "", "tests": tests(), "entry_point": call[1]}
    text = f'"""\n{row["prompt"]}\n{row["test_list"][0]}\n"""\n'
    return {"id": f"Mbpp/{row['task_id']}", "problem": text, "answer": json.dumps(answer, ensure_ascii=False)}


READERS: dict[str, Callable[[Row], Row]] = {
    "humaneval_plus": humaneval_plus,
    "mbpp": mbpp,
    "mbpp_base": mbpp_base,
    "mbpp_plus": mbpp_plus,
}

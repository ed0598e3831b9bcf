"""The report names a convention where it changes a verdict of the file, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from evals.answer_files import grade_file
from evals.answer_files.conventions import other_conventions
from evals.grading import Conventions

CASES = {  # (gold, answer) -> what the other convention does to the verdict
    "a percent sign that the gold lacks": ("25", r"25\%", "percent_sign=true", 1, 0),
    "a degree sign that the answer lacks": (r"120^\circ", "120", "missing_unit=false", 0, 1),
    "a decimal comma": ("1000.99", "1000,99", "decimal_comma=false", 0, 1),
    "two digits of a third": (r"\frac{1}{3}", "0.33", "digits=2", 1, 0),
    "three digits of a third": (r"\frac{1}{3}", "0.333", "digits=4", 0, 1),
}


def report(path: Path, pairs: list[tuple[str, str]], conventions: Conventions = Conventions()):
    rows = [{"gold": gold, "response": rf"So \boxed{{{answer}}}."} for gold, answer in pairs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return grade_file(path, conventions=conventions)


@pytest.mark.parametrize(("gold", "answer", "option", "gained", "lost"), CASES.values(), ids=CASES)
def test_a_convention_that_changes_a_verdict_is_named(tmp_path, gold, answer, option, gained, lost):
    plain = [("7", "7"), ("8", "9")]  # one is right and one is wrong under any convention
    graded = report(tmp_path / "a.jsonl", [*plain, (gold, answer)])
    assert [(e.option, e.gained, e.lost) for e in graded.conventions] == [(option, gained, lost)]
    assert f"{option}: 1 verdict changes (correct: +{gained}, -{lost})" in str(graded)
    name, _, value = option.partition("=")
    changed = Conventions(**{name: json.loads(value)})
    then = report(tmp_path / "a.jsonl", [*plain, (gold, answer)], changed)  # what is typed does what was said
    assert then.verdicts.get("correct", 0) - graded.verdicts["correct"] == gained - lost


def test_no_convention_is_named_that_changes_nothing(tmp_path):
    graded = report(tmp_path / "a.jsonl", [("7", "7"), ("8", "9"), ("x+1", "1+x")])
    assert graded.conventions == [] and "another convention" not in str(graded)


def test_each_option_of_the_conventions_is_tried():
    tried = {option.partition("=")[0] for option, _, _ in other_conventions(Conventions())}
    assert tried == {field.name for field in fields(Conventions)}
    assert "digits=0" not in [option for option, _, _ in other_conventions(Conventions(digits=1))]

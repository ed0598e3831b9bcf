"""The table of rules: each rule decides its example, and taken away changes it or its counter-example, and pairs.

`answers.txt` holds the pairs, a section for each rule and each form of answer. In a line the gold, then answers that
are the same (==) and that are not (!=). `families.txt` holds kinds of equal spellings, half of them false friends. Each
pair is judged by mathematics and the reading that a person would give it, not by what a grader says.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from evals.grading import Grader, equivalence
from evals.grading.equivalence import Comparison, equal
from evals.grading.extraction import locate
from evals.grading.rules import RULES, Rule
from evals.grading.spelling import clean
from evals.grading.verdicts import Verdict


class Pair(NamedTuple):
    gold: str
    answer: str
    same: bool


def sections(file: str) -> dict[str, list[Pair]]:
    by_title: dict[str, list[Pair]] = {}
    for line in filter(None, Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()):
        if name := re.fullmatch(r"\[([\w ,-]+)\]", line):
            pairs = by_title[name[1]] = []
            continue
        gold, *rest = re.split(r"\s+(==|!=)\s+", line)
        pairs += [Pair(gold, answer, sign == "==") for sign, answer in zip(rest[::2], rest[1::2], strict=True)]
    return by_title


ANSWERS = sections("answers.txt")
FAMILIES = sections("families.txt")


def decided(pair: tuple[str, str]) -> tuple[bool, str]:
    """The verdict, and the rule that decided it."""
    comparison = Comparison()
    return comparison(*map(clean, pair)), comparison.steps[-1][2]


@pytest.mark.parametrize("section", ANSWERS)
def test_the_verdict_on_each_pair(section: str) -> None:
    assert [pair for pair in ANSWERS[section] if equal(pair.gold, pair.answer) is not pair.same] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_spellings_and_its_false_friends(family: str) -> None:
    pairs = FAMILIES[family]
    assert len(pairs) >= 15 and 0.4 < sum(pair.same for pair in pairs) / len(pairs) < 0.6
    grades = Grader().grade_answers([pair[:2] for pair in pairs])
    assert [pair for pair, grade in zip(pairs, grades, strict=True)
            if (grade.verdict is Verdict.CORRECT) is not pair.same] == []  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_decides_its_example_and_is_needed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rule.example is None or decided(rule.example) == (True, rule.name)
    assert decided(rule.counter)[0] is False
    monkeypatch.setattr(equivalence, "RULES", tuple(other for other in RULES if other is not rule))
    pairs = [Pair(*rule.counter, same=False), *(Pair(*pair, same=True) for pair in [rule.example] if pair)]
    pairs += ANSWERS.get(rule.name, [])
    assert any(decided((pair.gold, pair.answer))[0] is not pair.same for pair in pairs)


@pytest.mark.parametrize("gold", sorted({pair.gold for pairs in ANSWERS.values() for pair in pairs}))
def test_every_gold_equals_itself_in_a_box(gold: str) -> None:
    assert equal(gold, locate(rf"$\boxed{{ {gold.strip('$')} }}$"))


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ("2010-2012", "2014-2016", False),
        ("2010–2012", "2010 - 2012", True),
        ("0.0 - 0.2", "0.6 - 0.8", False),
        ("2010-2012", "-2", False),
        ("10-15", "12", False),
        ("5-3", "2", True),  # a difference
        ("-2", "3-5", True),  # work that is left to the reader
    ],
)
def test_a_range_is_no_difference(gold: str, answer: str, same: bool) -> None:
    assert equal(gold, answer) is same

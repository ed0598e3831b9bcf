"""The grader's rules on pairs of answers, and each rule taken away: then a pair about it must get another verdict.

`answers.txt` holds the pairs: a section for each rule by its name, and for each form of answer that needs none; in a
line the gold, then answers that are the same (==) and that are not (!=). Each is judged by mathematics and the reading
that a person would give it, not by what a grader says.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from evals.grading import equivalence
from evals.grading.equivalence import compare, equal
from evals.grading.spelling import clean


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
RULES = {rule.__name__: rule for rule in equivalence.RULES}


@pytest.mark.parametrize("section", ANSWERS)
def test_the_verdict_on_each_pair(section):
    assert [pair for pair in ANSWERS[section] if equal(pair.gold, pair.answer) is not pair.same] == []


@pytest.mark.parametrize("name", RULES)
def test_each_rule_has_pairs_of_both_kinds(name):
    assert {pair.same for pair in ANSWERS[name]} == {True, False}


@pytest.mark.parametrize("name", RULES)
def test_without_a_rule_a_pair_about_it_changes(name, monkeypatch):
    # below `equal`, whose fast path holds two of the rules
    monkeypatch.setattr(equivalence, "RULES", tuple(rule for rule in equivalence.RULES if rule is not RULES[name]))
    assert any(compare(clean(pair.gold), clean(pair.answer)) is not pair.same for pair in ANSWERS[name])


@pytest.mark.parametrize("gold", sorted({pair.gold for pairs in ANSWERS.values() for pair in pairs}))
def test_every_gold_equals_itself_in_a_box(gold):
    assert equal(gold, rf"$\boxed{{ {gold.strip('$')} }}$")

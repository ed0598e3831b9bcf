"""One spelling: each rewrite makes two ways of writing the same text, and without it they differ.

`spelling.txt` holds, for each rewrite by its name, a way of writing, others that come to the same text (==), and near
misses that must not (!=).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading import spelling
from evals.grading.numbers import literal
from tests.evals.grading.test_rules import sections

SPELLINGS = sections("spelling.txt")
NAMES = [rewrite.name for rewrite in spelling.REWRITES]


def same(first: str, second: str) -> bool:
    return literal(spelling.clean.__wrapped__(first)) == literal(spelling.clean.__wrapped__(second))


def test_every_rewrite_has_a_section_of_its_own():
    assert sorted([*NAMES, "commands"]) == sorted(SPELLINGS)


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_a_rewrite_makes_the_same(name):
    assert [pair for pair in SPELLINGS[name] if same(pair.gold, pair.answer) is not pair.same] == []


@pytest.mark.parametrize("name", NAMES)
def test_without_a_rewrite_two_ways_of_writing_differ(name, monkeypatch):
    monkeypatch.setattr(spelling, "REWRITES", tuple(each for each in spelling.REWRITES if each.name != name))
    assert not all(same(pair.gold, pair.answer) for pair in SPELLINGS[name] if pair.same)


@given(st.decimals(-(10**9), 10**9, places=3), st.integers(-(10**30), 10**30))
def test_no_rewrite_touches_a_plain_number(decimal, integer):
    for text in (str(decimal), str(integer)):
        rewritten = text
        for rewrite in spelling.REWRITES:
            rewritten = rewrite(rewritten)
        assert rewritten == text == spelling.clean(text)

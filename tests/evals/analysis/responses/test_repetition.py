"""Redundancy of n-grams by hand and by loops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.responses.quality import redundancy


def test_by_hand() -> None:
    # "a b c a b c": 3-grams abc, bca, cab, abc: 4, of which 3 distinct, and abc occurs twice.
    assert redundancy("a b c a b c", "not_distinct") == pytest.approx(1 - 3 / 4)
    assert redundancy("a b c a b c", "repeated") == pytest.approx(2 / (4 + 1))
    # its 1-grams: 6, of which 3 distinct, all of them twice
    assert redundancy("a b c a b c", "not_distinct", n=1) == pytest.approx(1 / 2)
    assert redundancy("a b c a b c", "repeated", n=1) == pytest.approx(6 / 7)
    for measure in ("not_distinct", "repeated"):
        assert redundancy("a b", measure) == 0 and redundancy("", measure) == 0  # type: ignore[arg-type]
        assert redundancy("a b c d e", measure) == 0  # type: ignore[arg-type]
    # one word n times: n - 2 3-grams, one distinct
    assert redundancy("a " * 100, "not_distinct") == pytest.approx(97 / 98)
    assert redundancy("a " * 100, "repeated") == pytest.approx(98 / 99)


@given(st.lists(st.sampled_from("ab"), max_size=12), st.integers(1, 4))
def test_equals_loops(words: list[str], n: int) -> None:
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    seen: set[tuple[str, ...]] = set()
    again = 0
    for gram in grams:
        again += gram in seen
        seen.add(gram)
    assert redundancy(" ".join(words), "not_distinct", n=n) == pytest.approx(again / len(grams) if grams else 0)
    repeated = sum(1 for gram in grams if grams.count(gram) > 1)
    assert redundancy(" ".join(words), "repeated", n=n) == pytest.approx(repeated / (len(grams) + 1))


def test_n_must_be_a_size() -> None:
    with pytest.raises(ValueError, match="n: expected at least 1, got 0"):
        redundancy("a", "repeated", n=0)

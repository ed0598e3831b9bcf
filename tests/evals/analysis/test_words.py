"""Tokens of word lists: whole words and their pieces, and counts and entropies by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evals.analysis.words import WordList, categorise, of_tokens, word_measures
from tests.evals.analysis.token_tables import token_table

WORDS = WordList("test", {"pivotal": ["so", "then", "on the other hand"], "reflective": ["check", "Wait"]}, 2)
TABLE = token_table({
    ("p", 0): [("So", 2.0), (" x", 0.5), (".", 0.5), (" Check", 1.0), (" it", 3.0)],
    ("p", 1): [("Yes", 1.0)],
    ("q", 0): [("\n", 1.0)],
})  # fmt: skip


def matched(text: str, *words: str) -> list[str]:
    return [text[start:end] for start, end, _ in WordList("test", {"c": words}, 0).find(text)]


def test_whole_words_only() -> None:
    text = "So, so-called sofas: also SO. I'so so' \\so so_1 not-so"
    assert matched(text, "so") == ["So", "SO", "so"]  # the last is the one before the quotation mark


def test_a_capital_in_an_entry_must_be_in_the_text() -> None:
    assert matched("Wait, do not wait. WAIT", "Wait") == ["Wait", "WAIT"]
    assert matched("Then THEN then", "then") == ["Then", "THEN", "then"]


def test_the_longest_entry_wins_and_phrases_bend() -> None:
    assert matched("First, I  will count. First I count.", "first", "First, I will") == ["First, I  will", "First"]
    assert matched("Let’s\ncheck, let's checkmate", "let's check") == ["Let’s\ncheck"]
    assert matched("on the other hand", "hand", "on the other hand") == ["on the other hand"]
    assert WORDS.find("Then we check") == [(0, 4, "pivotal"), (8, 13, "reflective")]


def test_every_piece_of_a_word_and_no_other() -> None:
    kinds = of_tokens(
        [" th", "en", " th", "ing", ". Then", " so", "-", "called", " on", " the other", " hand"], WORDS.categories
    )
    other, pivotal = "other", "pivotal"
    assert kinds == [pivotal, pivotal, other, other, pivotal, other, other, other, pivotal, pivotal, pivotal]
    assert of_tokens(["check", "", "\n"], WORDS.categories) == ["reflective", "reflective", "other"]


def test_categories_are_those_of_the_rows_in_any_order() -> None:
    shuffled = TABLE.sample(frac=1, random_state=3)
    categories = categorise(shuffled, WORDS.categories).sort_index().tolist()
    assert categories == ["pivotal", "other", "other", "reflective", "other", "other", "other"]
    with pytest.raises(ValueError, match="problem_id 'p', sample 0: expected the positions 0 to 4, each once"):
        categorise(TABLE.iloc[1:], WORDS.categories)
    with pytest.raises(ValueError, match="expected an index that names each row once"):
        categorise(TABLE.set_index(pd.Index([0] * 7)), WORDS.categories)


def test_measures_by_hand() -> None:
    rows = word_measures({"a": TABLE}, {"a": categorise(TABLE, WORDS.categories)}, ["pivotal", "reflective", "other"])
    counts = rows[rows["what"] != "entropy"].set_index("category")
    # tokens: 5 and 1 in p, 1 in q: (3 + 1) / 2 over problems, 7 / 3 over responses
    assert counts.loc["all", "mean"] == 2 and counts.loc["all", "pooled"] == pytest.approx(7 / 3)
    assert counts.loc["all", ["count", "problems"]].tolist() == [3, 2]
    # one pivotal token in the two responses to p, none in that to q
    assert counts.loc["pivotal", "mean"] == 0.25 and counts.loc["pivotal", "pooled"] == pytest.approx(1 / 3)
    entropy = rows[rows["what"] == "entropy"].set_index("category")
    # other tokens of p: (0.5 + 0.5 + 3 + 1) / 4, of q: 1
    assert entropy.loc["pivotal", "mean"] == 2 and entropy.loc["other", "mean"] == pytest.approx((1.25 + 1) / 2)
    assert entropy.loc["pivotal", "problems"] == 1 and math.isnan(entropy.loc["pivotal", "low"])

"""Pivotal tokens and reflective sentences: the paper's own examples, and every piece of a word."""

from __future__ import annotations

import pandas as pd
import pytest

from evals.analysis.words.lexicon import load_lexicon
from evals.analysis.words.words import pivotal_tokens, reflective_sentences
from tests.evals.analysis.tokens import token_table


@pytest.mark.parametrize(
    "word", ["first", "because", "however", "recall", "thus", "therefore", "although", "then", "suggest", "demonstrate"]
)
def test_the_papers_examples(word: str) -> None:
    table = token_table({("p", 0): ["We", f" {word}", " the", f"\n{word.title()}"]})
    stated = load_lexicon("pivotal_tokens", stated_only=True)
    for lexicon in (None, stated):
        assert pivotal_tokens(table, lexicon=lexicon).tolist() == [False, True, False, True]


def test_every_piece_of_a_word_and_no_other() -> None:
    table = token_table({("p", 0): ["Ġdemon", "strate", "Ġdemon", "ic", ".ĠThen", "Ġso", "-", "called"]})
    assert pivotal_tokens(table).tolist() == [True, True, False, False, True, False, False, False]
    shuffled = table.sample(frac=1, random_state=3)
    assert pivotal_tokens(shuffled).sort_index().tolist() == pivotal_tokens(table).tolist()


def test_reflective_sentences() -> None:
    texts = {"Let's verify if this is correct": True, "We check that x > 0.": True, "Checking: 3": True,
             "The checkers play.": False, "Wait, this is wrong": True, "They wait for 5 minutes": False}  # fmt: skip
    assert reflective_sentences(pd.Series(list(texts))).tolist() == list(texts.values())
    stated = load_lexicon("reflective", stated_only=True)
    some = pd.Series(["I check", "Wait", "Verify it"])
    assert reflective_sentences(some, lexicon=stated).tolist() == [True, False, True]
    assert reflective_sentences(pd.Series([], dtype=str)).tolist() == []

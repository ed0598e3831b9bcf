"""Sentences of a token table: each token in one of them, and their mean entropies."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evals.analysis.words.sentences import sentence_table
from tests.evals.analysis.tokens import token_table


def test_by_hand() -> None:
    tokens = [("So", 1.0), (" x", 2.0), (".", 0.0), ("\n\n", 1.0), ("We", 4.0), (" check", 2.0)]
    sentences = sentence_table(token_table({("p", 0): tokens, ("p", 1): [("\n", 9.0)], ("q", 0): [("Yes", 3.0)]}))
    # the line break belongs to the sentence before it: (1 + 2 + 0 + 1) / 4; white space alone is no sentence
    assert sentences.to_dict("records") == [
        {"problem_id": "p", "sample": 0, "sentence": 0, "text": "So x.", "position": 0, "tokens": 4, "entropy": 1.0},
        {"problem_id": "p", "sample": 0, "sentence": 1, "text": "We check", "position": 4, "tokens": 2, "entropy": 3.0},
        {"problem_id": "q", "sample": 0, "sentence": 0, "text": "Yes", "position": 0, "tokens": 1, "entropy": 3.0},
    ]


def test_pieces_of_bytes_and_of_two_sentences() -> None:
    # byte-level: π. A  in the tokens  CF | 80 . | space A | .
    sentences = sentence_table(token_table({("p", 0): [("Ï", 1.0), ("Ģ.", 3.0), ("ĠA", 5.0), (".", 1.0)]}))
    assert sentences["text"].tolist() == ["π.", "A."] and sentences["entropy"].tolist() == [2.0, 3.0]
    # one token holds the end of a sentence and the whole next: it belongs to the first, the second has none
    sentences = sentence_table(token_table({("p", 0): [("One", 1.0), (". Two", 3.0)]}))
    assert sentences["tokens"].tolist() == [2, 0] and math.isnan(sentences["entropy"][1])


def test_every_token_is_in_one_sentence_and_order_does_not_matter() -> None:
    table = token_table({("p", i): ["\n", "So", " it", " is", ".", " \n", "Now", "?", " Yes"] for i in range(3)})
    sentences = sentence_table(table)
    assert sentences["tokens"].sum() == len(table) and sentences.groupby("sample")["sentence"].max().tolist() == [
        2,
        2,
        2,
    ]
    shuffled = sentence_table(table.sample(frac=1, random_state=0)).sort_values(["sample", "sentence"])
    pd.testing.assert_frame_equal(shuffled.reset_index(drop=True), sentences)


def test_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match="lacks entropy"):
        sentence_table(token_table({("p", 0): ["a"]}).drop(columns="entropy"))

"""Token categories: Table 1's examples, pieces and phrases."""

from __future__ import annotations

import json
import re
from functools import partial

import pandas as pd
import pytest

from evals.analysis.words import WordList, of_tokens
from reproductions.trial_and_error.figures.categories import CATEGORIES, WORDS, characters, plot_categories
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.token_tables import token_table
from tests.shared import shared_file

LIST = WordList.read(WORDS)


def kinds(*tokens: str) -> list[str]:
    return of_tokens(tokens, partial(characters, words=LIST))


@pytest.mark.parametrize(
    ("category", "examples"),
    [
        ("formal", ["1", "3.14", "+", "*", "=", "x", "y", "π", "√2", "∑"]),
        ("logical", ["therefore", "because", "however", "but", "first", "next", "finally", "and", "also"]),
        ("metacognitive", ["Let's check", "Correction", "Wait", "In summary", "First, I will"]),
        ("semantic", ["the", "is", "of", "problem", "solution", "correct", "final"]),
    ],
)
def test_the_examples_of_table_1(category: str, examples: list[str]) -> None:
    for example in examples:
        tokens = ("1", example, "2") if example in "+*=" else ("", example)  # an operator stands between operands
        assert kinds(*tokens)[1] == category, example


def test_pieces_have_the_category_of_their_word_and_phrase() -> None:
    assert kinds(" there", "fore", ",") == ["logical", "logical", "other"]
    assert kinds(" the", "re", " is") == ["semantic"] * 3
    assert kinds("Let", "'s", " check", " it") == ["metacognitive"] * 3 + ["semantic"]
    assert kinds("First", ",", " I", " will", " go", ".", " First", " x") == [
        "metacognitive", "metacognitive", "metacognitive", "metacognitive", "semantic", "other", "logical", "formal",
    ]  # fmt: skip
    assert kinds(" well", "-", "known", " so", "-", "called") == ["semantic"] * 6
    assert kinds(" don", "'", "t", " wait", ".", " Wait") == ["semantic"] * 4 + ["other", "metacognitive"]
    assert kinds(" π", "") == ["formal", "formal"]  # two tokens that share a character


def test_mathematics_is_formal_and_what_stands_before_an_operand_is_an_operator() -> None:
    assert kinds("$", "and", " so", "$", " and") == ["formal"] * 4 + ["logical"]
    assert kinds("\\", "frac", "{", "1", "}", "{", "n", "}") == ["formal"] * 8
    assert kinds("2", " -", " x", " -", " the", " and", "/", "or", " 3", "/", "4") == [
        "formal", "formal", "formal", "other", "semantic", "logical", "other", "logical", "formal", "formal", "formal",
    ]  # fmt: skip
    assert kinds("-", " 3", "\n", "-", " 4") == ["other", "formal", "other", "other", "formal"]  # bullets
    assert kinds("**", "Step", " 1", ":**") == ["other", "semantic", "formal", "other"]
    assert kinds(" a", " A", " I", " b") == ["semantic"] * 3 + ["formal"]
    assert kinds("<|im_end|>", "\n\n") == ["other", "other"]
    assert kinds("检", "查") == ["semantic", "semantic"]


def test_a_token_has_the_category_of_most_of_its_characters() -> None:
    assert kinds("). Then") == ["logical"] and kinds("x and") == ["logical"] and kinds("x,") == ["formal"]


def test_real_responses_resemble_table_5() -> None:
    # Table 5, GRPO: of 969.06 tokens 501.24 formal (52 %), 26.31 logical (2.7 %), 0.02 metacognitive (0.002 %). Other
    # models, problems and tokens, so only the order and the rough size can agree
    rows = [json.loads(line) for line in shared_file("data/grader/qwen_math_responses.jsonl").read_text().splitlines()]
    pieces = re.compile(r" ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]+|\s+")
    shares = pd.Series([k for row in rows[::4] for k in kinds(*pieces.findall(row["prediction"]))]).value_counts(
        normalize=True
    )
    assert set(shares.index) == set(CATEGORIES)
    assert 0.4 < shares["formal"] < 0.6 and 0.01 < shares["logical"] < 0.04 and shares["metacognitive"] < 0.001


def test_counts_of_a_response_by_hand() -> None:
    table = token_table({("p", 0): ["So", " x", ".", " Check", " it"], ("p", 1): ["Yes"], ("q", 0): ["\n"]})
    counts, _ = plot_categories(["base"], {"base": table})
    rows = counts.numbers.set_index("category")
    assert rows.loc[list(CATEGORIES), "pooled"].sum() == pytest.approx(7 / 3) == rows.loc["all", "pooled"]
    assert rows.loc["logical", "mean"] == 0.25  # one in the two responses to p, none in that to q
    check_renders(counts)

"""Token categories: Table 1's examples, pieces and phrases, and the table's shape."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from evals.analysis.words.lexicon import load_lexicon
from evals.analysis.words.token_categories import CATEGORIES, categorise, classify, counts
from tests.evals.analysis.tokens import token_table
from tests.shared import shared_file

LEXICON = load_lexicon("token_categories")


def kinds(*tokens: str, encoding: str = "text") -> list[str]:
    return classify(tokens, LEXICON, encoding)


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


def test_pieces_go_with_their_word_and_words_with_their_phrase() -> None:
    assert kinds(" there", "fore", ",") == ["logical", "logical", "other"]
    assert kinds("Ġthere", "fore", "Ċ", encoding="byte-level") == ["logical", "logical", "other"]
    assert kinds("▁there", "fore", "<0x0A>", encoding="sentencepiece") == ["logical", "logical", "other"]
    assert kinds(" the", "re", " is") == ["semantic"] * 3
    assert kinds("Let", "'s", " check", " it") == ["metacognitive"] * 3 + ["semantic"]
    assert kinds("First", ",", " I", " will", " go", ".", " First", " x") == [
        "metacognitive", "metacognitive", "metacognitive", "metacognitive", "semantic", "other", "logical", "formal",
    ]  # fmt: skip
    assert kinds(" well", "-", "known", " so", "-", "called") == ["semantic"] * 6
    assert kinds(" don", "'", "t", " wait", ".", " Wait") == ["semantic"] * 4 + ["other", "metacognitive"]
    # both bytes of π
    assert kinds("Ï", "Ģ", encoding="byte-level") == kinds(" π", "") == ["formal", "formal"]


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


def test_table() -> None:
    table = token_table({("p", 0): ["So", " x", "."], ("p", 1): ["The"]})
    shuffled = table.sample(frac=1, random_state=1)
    category = categorise(shuffled)
    assert category.sort_index().tolist() == ["logical", "formal", "other", "semantic"]
    # two responses of 3 and 1 tokens: 2 a response; each category but one has 1 token, 1/2 a response
    assert counts(shuffled, category).to_dict("records") == [
        {"responses": 2, "mean_length": 2.0, "formal": 0.5, "logical": 0.5, "metacognitive": 0.0, "semantic": 0.5,
         "other": 0.5}
    ]  # fmt: skip


def test_training_seeds_are_responses_of_their_own() -> None:
    one = token_table({("p", 0): ["So", " x"]})
    both = pd.concat([one.assign(train_seed=0), one.assign(train_seed=1)], ignore_index=True)
    assert categorise(both).tolist() == ["logical", "formal"] * 2
    assert counts(both, categorise(both))["responses"].item() == 2


def test_bad_tables_are_named() -> None:
    table = token_table({("p", 0): ["So", " x"]})
    with pytest.raises(ValueError, match="problem_id 'p', sample 0: expected the positions 0 to 1, each once"):
        categorise(table.iloc[1:])
    with pytest.raises(ValueError, match="expected an index that names each row once"):
        categorise(table.set_index(pd.Index([0, 0])))
    with pytest.raises(ValueError, match="lacks length"):
        categorise(table.drop(columns="length"))
    with pytest.raises(ValueError, match="at least one token"):
        counts(table.iloc[:0], categorise(table.iloc[:0]))


def test_real_responses_are_much_as_in_table_5() -> None:
    # Table 5, GRPO: of 969.06 tokens 501.24 formal (52 %), 26.31 logical (2.7 %), 0.02 metacognitive (0.002 %); other
    # models, problems and tokens, so only the order and the rough size can agree
    rows = [json.loads(line) for line in shared_file("data/grader/qwen_math_responses.jsonl").read_text().splitlines()]
    pieces = re.compile(r" ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]+|\s+")
    shares = pd.Series([k for row in rows[::4] for k in kinds(*pieces.findall(row["prediction"]))]).value_counts(
        normalize=True
    )
    assert set(shares.index) == set(CATEGORIES)
    assert 0.4 < shares["formal"] < 0.6 and 0.01 < shares["logical"] < 0.04 and shares["metacognitive"] < 0.001

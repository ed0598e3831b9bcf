"""Sentences, token spans, and sentence tables with their mean entropies."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.sentences import (
    find_mathematics,
    locate_tokens,
    mask,
    sentence_table,
    split_sentences,
)
from tests.evals.analysis.tokens import token_table
from tests.shared import shared_file

# | stands where a sentence must end
SPLIT_BY_HAND = {
    "decimals": "The value is 3.14. |So x = 2.5, or 1,000.5 in all. |Done",
    "abbreviations": "Take a prime, e.g. 7. |See Fig. 2 and Eq. (3). |It is small, i.e. Bounded. |By Dr. Smith.",
    "factorials": "Now 5! + 3 is 5! = 120. |Great! |Is it? |Yes",
    "line breaks": "x = 3\n|y = 4\n\n|So the sum,\nof both\nis 7",
    "list": "1. Start with it.\n|2. Next,\n|3. **End:**\n  |- a\n  |- b",
    "a list after a colon": "We do two things:\n\n|1. Add.\n|2) Stop.",
    "displayed": "We get:\n\n\\[\nx = 3.5.\n\ny\n\\]\n\n|Then\n$$a. B$$\nor equivalently\n\\[ c \\]\n|Done",
    "inline": "Let \\(x = 1. Y\\) be $3.5 \\text{ km. A}$ long. |Next $y = 2.$ |Then \\(z.\\) |A point A. |The end",
    "money": "It costs $5. |She has $3. |Then $x. Y$ is 2",
    "environment": "So\n\\begin{align}\na. B\\\\\n\\end{align}\n|Thus \\boxed{\\text{A. {B}. C}}. |End",
    "cut off": "So we get:\n\\[ x = 3. Then",
    "ellipsis": "Hmm... let me see... |Wait. |No… |Yes",
    "quotes": 'He said "stop." |(It ended.) |**Step 1.** |Go',
    "Chinese": "我们有x。|然后检查！|好",
    "white space at both ends": "\n  One. |B \n ",
}


@pytest.mark.parametrize("name", SPLIT_BY_HAND)
def test_by_hand(name: str) -> None:
    parts = SPLIT_BY_HAND[name].split("|")
    text = "".join(parts)
    assert cut(text) == parts


PIECES = st.sampled_from(["a", "B", ". ", "! ", "?", "\n", "\n\n", "$", "$$", "\\[", "\\]", "\\(", "\\)", "3.5", "1. ",
                          " ", "\\boxed{", "{", "}", "\\begin{a}", "\\end{a}", "e.g. ", ":", "。"])  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
def test_sentences_cover_the_text_and_cut_no_formula(text: str) -> None:
    spans = split_sentences(text)
    assert (spans == []) == (not text.strip())
    if spans:
        assert spans[0][0] == 0 and spans[-1][1] == len(text)
        assert all(before[1] == after[0] for before, after in pairwise(spans))
        assert all(text[start:end].strip() for start, end in spans)
        assert all(not text[start].isspace() for start, _ in spans[1:])  # white space is the sentence's before it
    ends = {end for _, end in spans[:-1]}
    assert all(not ends & set(range(start + 1, end)) for start, end, _ in find_mathematics(text))
    assert len(mask(text)) == len(text)


def test_formulas_are_found_and_display_ones_marked() -> None:
    text = "a $x$ b \\(y\\) $$z$$ \\[w\\] \\boxed{\\frac{1}{2}} $5 and 6$ \\$7 $8$9"
    assert [(text[start:end], shown) for start, end, shown in find_mathematics(text)] == [
        ("$x$", False), ("\\(y\\)", False), ("$$z$$", True), ("\\[w\\]", True), ("\\boxed{\\frac{1}{2}}", False),
        ("$5 and 6$", False),  # two dollar signs that could be a formula's are read as one
    ]  # fmt: skip


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def even(text: str) -> bool:
    return text.count("\\[") == text.count("\\]") and text.count("\\(") == text.count("\\)")


def test_real_responses_split_at_no_formula_and_start_as_sentences_do() -> None:
    lines = shared_file("data/grader/qwen_math_responses.jsonl").read_text().splitlines()
    texts = [json.loads(line)["prediction"] for line in lines]
    sentences = [sentence for text in texts for sentence in cut(text)]
    assert sum(even(text) for text in texts) > 300
    # 328 responses of a 7B model to school mathematics, 1,212 characters each: about 13 sentences a response
    assert 10 < len(sentences) / len(texts) < 16
    # a formula that is cut leaves an odd delimiter behind, in responses that had none
    assert [s for text in texts if even(text) for s in cut(text) if not even(s)] == []
    lower = [s for s in sentences if s[0].islower()]
    assert len(lower) / len(sentences) < 0.01


def test_table_by_hand() -> None:
    tokens = [("So", 1.0), (" x", 2.0), (".", 0.0), ("\n\n", 1.0), ("We", 4.0), (" check", 2.0)]
    sentences = sentence_table(token_table({("p", 0): tokens, ("p", 1): [("\n", 9.0)], ("q", 0): [("Yes", 3.0)]}))
    # the line break belongs to the sentence before it: (1 + 2 + 0 + 1) / 4; white space alone is no sentence
    assert sentences.to_dict("records") == [
        {"problem_id": "p", "sample": 0, "sentence": 0, "text": "So x.", "position": 0, "tokens": 4, "entropy": 1.0},
        {"problem_id": "p", "sample": 0, "sentence": 1, "text": "We check", "position": 4, "tokens": 2, "entropy": 3.0},
        {"problem_id": "q", "sample": 0, "sentence": 0, "text": "Yes", "position": 0, "tokens": 1, "entropy": 3.0},
    ]


def test_pieces_of_bytes_and_of_two_sentences() -> None:
    # the second token is a byte of π, whose character is in the first
    sentences = sentence_table(token_table({("p", 0): [("π", 1.0), ("", 2.0), (".", 3.0), (" A", 5.0), (".", 1.0)]}))
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


def test_spans_by_hand() -> None:
    assert locate_tokens(["So", " x", " =", "\n"]) == ("So x =\n", [(0, 2), (2, 4), (4, 6), (6, 7)])
    # an empty token stands for the previous character, if there is one
    assert locate_tokens(["", "a", ""]) == ("a", [(0, 0), (0, 1), (0, 1)])

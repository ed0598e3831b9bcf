"""Token categories: Table 1's examples, pieces and phrases, and the table's shape."""

from __future__ import annotations

import json
import math
import re

import pandas as pd
import pytest

from evals.analysis.lexicon import load_lexicon
from evals.analysis.token_table import per_response, response_keys
from reproductions.trial_and_error.figures.categories import (
    CATEGORIES,
    LEXICON,
    categorise,
    category_changes,
    category_shares,
    classify,
    plot_categories,
)
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.tokens import token_table
from tests.shared import shared_file

WORDS = load_lexicon(LEXICON)


def kinds(*tokens: str) -> list[str]:
    return classify(tokens, WORDS)


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


def test_categories_are_those_of_the_rows_in_any_order() -> None:
    table = token_table({("p", 0): ["So", " x", "."], ("p", 1): ["The"]})
    shuffled = table.sample(frac=1, random_state=1)
    assert categorise(shuffled).sort_index().tolist() == ["logical", "formal", "other", "semantic"]


def test_counts_of_a_response_by_hand() -> None:
    # tokens: 5 and 1 in p, 1 in q: (3 + 1) / 2 over problems, 7 / 3 over responses
    table = token_table({("p", 0): ["So", " x", ".", " Check", " it"], ("p", 1): ["Yes"], ("q", 0): ["\n"]})
    by_name = {plot.name: plot for plot in plot_categories(["base"], {"base": table}, {}, "b")}
    rows = by_name["token_categories"].numbers.set_index("what")
    assert rows.loc["length", "mean"] == 2 and rows.loc["length", "pooled"] == pytest.approx(7 / 3)
    assert rows.loc["length", "responses"] == 3 and rows.loc["length", "problems"] == 2
    assert rows.loc[list(CATEGORIES), "pooled"].sum() == pytest.approx(7 / 3)
    assert rows.loc["logical", "mean"] == 0.25  # one in the two responses to p, none in that to q


def test_responses_of_different_training_seeds_are_separate() -> None:
    one = token_table({("p", 0): ["So", " x"]})
    both = pd.concat([one.assign(train_seed=0), one.assign(train_seed=1)], ignore_index=True)
    assert categorise(both).tolist() == ["logical", "formal"] * 2
    counts = both[response_keys(both)].assign(length=1).groupby(response_keys(both)).sum()
    assert per_response(counts)["responses"].item() == 2


def test_bad_tables_are_named() -> None:
    table = token_table({("p", 0): ["So", " x"]})
    with pytest.raises(ValueError, match="problem_id 'p', sample 0: expected the positions 0 to 1, each once"):
        categorise(table.iloc[1:])
    with pytest.raises(ValueError, match="expected an index that names each row once"):
        categorise(table.set_index(pd.Index([0, 0])))
    with pytest.raises(ValueError, match="lacks length"):
        categorise(table.drop(columns="length"))


def test_real_responses_resemble_table_5() -> None:
    # Table 5, GRPO: of 969.06 tokens 501.24 formal (52 %), 26.31 logical (2.7 %), 0.02 metacognitive (0.002 %); other
    # models, problems and tokens, so only the order and the rough size can agree
    rows = [json.loads(line) for line in shared_file("data/grader/qwen_math_responses.jsonl").read_text().splitlines()]
    pieces = re.compile(r" ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]+|\s+")
    shares = pd.Series([k for row in rows[::4] for k in kinds(*pieces.findall(row["prediction"]))]).value_counts(
        normalize=True
    )
    assert set(shares.index) == set(CATEGORIES)
    assert 0.4 < shares["formal"] < 0.6 and 0.01 < shares["logical"] < 0.04 and shares["metacognitive"] < 0.001


def as_category(names: list[str]) -> pd.Series:
    return pd.Series(pd.Categorical(names, CATEGORIES))


def test_shares_by_hand() -> None:
    one, two = [("1", 0.2), ("+", 0.4), ("so", 2.0), ("we", 1.0)], [("2", 0.9), ("so", 1.0)]
    table = token_table({("p", 0): one, ("q", 0): two})
    shares = category_shares(table, as_category(["formal", "formal", "logical", "semantic", "formal", "logical"]))
    formal, logical, metacognitive = (shares.set_index("category").loc[name] for name in CATEGORIES[:3])
    # p: 2 of 4, q: 1 of 2, so 1/2; over all tokens 3 of 6
    assert formal["share"] == formal["share_pooled"] == 0.5 and formal["tokens"] == 3
    # p: (0.2 + 0.4) / 2, q: 0.9; over all tokens 1.5 / 3
    assert formal["entropy"] == pytest.approx(0.6) and formal["entropy_pooled"] == pytest.approx(0.5)
    # p: 1 of 4, q: 1 of 2; over all tokens 2 of 6
    assert logical["share"] == 0.375 and logical["share_pooled"] == pytest.approx(1 / 3)
    assert logical["share_low"] < 0.375 < logical["share_high"]
    assert metacognitive["share"] == 0 and math.isnan(metacognitive["entropy"]) and metacognitive["problems"] == 0
    assert shares["share"].sum() == pytest.approx(1) and shares["share_pooled"].sum() == pytest.approx(1)


def test_changes_by_hand() -> None:
    change = pd.Series([0.5, -0.4, 0.1, 0.0, -0.2])
    category = as_category(["formal", "logical", "formal", "semantic", "semantic"])
    changes = category_changes(change, category, top=0.4).set_index("category")
    # the top 2 of 5: 0.5 (formal) and -0.4 (logical)
    assert changes["share_of_top"].tolist() == [0.5, 0.5, 0, 0, 0]
    assert changes["share_in_top"][["formal", "logical", "semantic"]].tolist() == [0.5, 1, 0]
    assert changes["change"][["formal", "logical", "semantic"]].tolist() == pytest.approx([0.3, -0.4, -0.1])
    assert changes["size"]["semantic"] == pytest.approx(0.1) and changes["top_size"]["formal"] == 0.5
    assert math.isnan(changes["top_size"]["semantic"]) and math.isnan(changes["size"]["other"])


def test_the_top_never_exceeds_its_share() -> None:
    same = pd.Series([0.0] * 10)  # nothing moved: the first two are taken
    changes = category_changes(same, as_category(["formal"] * 2 + ["other"] * 8))
    assert changes.set_index("category")["share_of_top"]["formal"] == 1


@pytest.mark.parametrize(
    ("change", "top", "message"),
    [([0.1], 0.0, "top: expected a share"), ([1.5], 0.2, r"in \[-1, 1\]"), ([math.nan], 0.2, r"in \[-1, 1\]"),
     ([0.1, 0.2], 0.2, "the same rows")],
)  # fmt: skip
def test_bad_input_is_named(change: list[float], top: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        category_changes(pd.Series(change), as_category(["formal"]), top=top)


def test_categories_are_known_and_the_assumed_can_be_excluded() -> None:
    assert {entry.category for entry in WORDS.entries} == {"formal", "logical", "metacognitive"} < set(CATEGORIES)
    stated = load_lexicon(LEXICON, stated_only=True)
    assert {entry.text for entry in stated.entries if entry.category == "logical"} == {
        "therefore", "because", "however", "but", "first", "next", "finally", "and", "also"
    }  # fmt: skip
    assert f"token_categories: 22 words of the paper, {len(WORDS.entries) - 22} assumed" in WORDS.describe()


def test_figures_are_plotted_where_a_category_is_absent() -> None:
    plain = token_table({("p", 0): [("the", 1.0), (" sum", 0.0)]})
    table = token_table({(f"p{i}", 0): [("So", 2.0), (" x", 0.5), (" Wait", float(i))] for i in range(3)})
    change = pd.Series([0.1, -0.2, 0.0] * 3)
    names = ["base", "lost", "GRPO", "a long name of a run, " * 4]
    tables = {"base": plain, "GRPO": table, names[3]: table}
    plots = plot_categories(names, tables, {"GRPO": (table, change)}, "aime24")
    assert [plot.name for plot in plots] == ["token_categories", "category_entropy", "category_changes"]
    for plot in plots:
        check_renders(plot)

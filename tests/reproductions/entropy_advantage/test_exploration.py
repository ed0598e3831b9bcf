"""Several models' words together: contrasts and frequencies by hand, and what is excluded."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evals.analysis.lexicon import load_lexicon
from evals.analysis.token_table import per_response
from evals.plots.plot import Plot, save
from reproductions.entropy_advantage.figures.exploration import (
    PIVOTAL,
    REFLECTIVE,
    entropy_contrasts,
    pivotal_tokens,
    plot_exploration,
    read_words,
    reflective_sentences,
)
from tests.evals.analysis.ngrams import Ngrams
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.tokens import token_table

BASE = token_table({
    ("p", 0): [("So", 2.0), (" x", 0.5), (".", 0.5), (" Check", 1.0), (" it", 3.0)],
    ("p", 1): [("Yes", 1.0)],
    ("q", 0): [("\n", 1.0)],
})  # fmt: skip
RUN = token_table({
    ("p", 0): [("So", 1.0), (" x", 0.5), (".", 0.5), (" Zebras", 1.0)],
    ("q", 0): [("So", 3.0), (" x", 1.0)],
})  # fmt: skip


def test_contrasts_by_hand() -> None:
    words = read_words(["base", "run"], {"base": BASE, "run": RUN})
    contrasts = entropy_contrasts(words).set_index(["model", "comparison"])
    pivotal = contrasts.loc[("base", "pivotal")]
    # p: So 2 against (0.5 + 0.5 + 1 + 3 + 1) / 5 = 1.2; q has no pivotal token, its line break is another token
    assert (pivotal["group_entropy"], pivotal["rest_pooled"]) == (2.0, pytest.approx(7 / 6))
    assert pivotal["rest_entropy"] == pytest.approx((1.2 + 1) / 2)
    assert pivotal["problems"] == 1 and pivotal["difference"] == pytest.approx(0.8)
    assert math.isnan(pivotal["difference_low"]) and pivotal["test"] == "none: one problem"
    reflective = contrasts.loc[("base", "reflective")]
    # sentences of p: So x. (1), Check it (2, reflective), Yes (1)
    assert (reflective["group_entropy"], reflective["rest_entropy"]) == (2.0, 1.0)
    run = contrasts.loc[("run", "pivotal")]
    # p: 1 - (0.5 + 0.5 + 1) / 3 = 1/3, q: 3 - 1 = 2: mean 7/6, standard error (5/3) / 2 = 5/6, t = 7/5 with 1 degree of
    # freedom, whose tail is Cauchy's: p = 1 - (2 / pi) atan(7/5)
    assert run["difference"] == pytest.approx((1 / 3 + 2) / 2)
    assert run["p_value"] == pytest.approx(1 - 2 / math.pi * math.atan(7 / 5), rel=1e-6)
    assert ("run", "rare") not in contrasts.index and (contrasts["embedder"] == "").all()


def test_rare_sentences_are_those_of_the_trained_runs() -> None:
    words = read_words(["base", "run"], {"base": BASE, "run": RUN}, embedder=Ngrams(), neighbours=1, share=0.34)
    assert words[0].rarity is None and words[1].rarity is not None
    sentences = words[1].rarity.sentences
    assert sentences.loc[sentences["rare"], "text"].tolist() == ["Zebras"]
    contrasts = entropy_contrasts(words).set_index(["model", "comparison"]).loc[("run", "rare")]
    # Zebras 1; So x. (1 + 0.5 + 0.5) / 3 in p and So x (3 + 1) / 2 in q
    assert contrasts["group_entropy"] == 1 and contrasts["rest_entropy"] == pytest.approx((2 / 3 + 2) / 2)
    assert contrasts["embedder"] == Ngrams().name
    # without the base model's sentences nothing is rare
    assert read_words(["base", "run"], {"run": RUN}, embedder=Ngrams())[0].rarity is None


def test_counts_of_a_response_by_hand() -> None:
    rows = per_response(read_words(["base"], {"base": BASE})[0].counts).set_index("what")
    # one pivotal token (So) and one reflective sentence in the three responses: 1/2 in p, 0 in q
    for what in ("pivotal", "reflective"):
        assert rows.loc[what, "mean"] == 0.25 and rows.loc[what, "pooled"] == pytest.approx(1 / 3)
        assert rows.loc[what, "responses"] == 3 and rows.loc[what, "problems"] == 2


def test_bad_tables_are_named() -> None:
    with pytest.raises(ValueError, match="expected those of base, got one of 'other'"):
        read_words(["base"], {"other": BASE})
    with pytest.raises(ValueError, match="base: expected a token table with rows"):
        read_words(["base"], {"base": BASE.iloc[:0]})


@pytest.mark.parametrize(
    "word", ["first", "because", "however", "recall", "thus", "therefore", "although", "then", "suggest", "demonstrate"]
)
def test_the_papers_examples(word: str) -> None:
    table = token_table({("p", 0): ["We", f" {word}", " the", f"\n{word.title()}"]})
    stated = load_lexicon(PIVOTAL, stated_only=True)
    for lexicon in (None, stated):
        assert pivotal_tokens(table, lexicon=lexicon).tolist() == [False, True, False, True]


def test_every_piece_of_a_word_and_no_other() -> None:
    table = token_table({("p", 0): [" demon", "strate", " demon", "ic", ". Then", " so", "-", "called"]})
    assert pivotal_tokens(table).tolist() == [True, True, False, False, True, False, False, False]
    shuffled = table.sample(frac=1, random_state=3)
    assert pivotal_tokens(shuffled).sort_index().tolist() == pivotal_tokens(table).tolist()


def test_reflective_sentences() -> None:
    texts = {"Let's verify if this is correct": True, "We check that x > 0.": True, "Checking: 3": True,
             "The checkers play.": False, "Wait, this is wrong": True, "They wait for 5 minutes": False}  # fmt: skip
    assert reflective_sentences(pd.Series(list(texts))).tolist() == list(texts.values())
    stated = load_lexicon(REFLECTIVE, stated_only=True)
    some = pd.Series(["I check", "Wait", "Verify it"])
    assert reflective_sentences(some, lexicon=stated).tolist() == [True, False, True]
    assert reflective_sentences(pd.Series([], dtype=str)).tolist() == []


TOKENS = ["So", " x", " =", " 3", ".", "\n", "Let", "'s", " check", ":", " the", " sum", " is", " 7", ".", " Wait", "!"]


def table(seed: int, problems: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return token_table({
        (f"p{i}", s): [(token, float(generator.gamma(1))) for token in generator.permutation(TOKENS)]
        for i in range(problems) for s in range(2)
    })  # fmt: skip


def plotted(names: list[str], problems: int = 4, embedder: Ngrams | None = None) -> dict[str, Plot]:
    tables = {name: table(i, problems) for i, name in enumerate(names)}
    plots = plot_exploration(names, tables, "aime24", embedder=embedder)
    for plot in plots:
        check_renders(plot)
    return {plot.name: plot for plot in plots}


def test_figures_of_several_runs(tmp_path: Path) -> None:
    plots = plotted(["base", "GRPO", "a long name of a run, " * 4], embedder=Ngrams())
    assert list(plots) == ["exploratory_entropy", "exploratory_counts", "rare_sentences"]
    assert set(plots["exploratory_entropy"].numbers["comparison"]) == {"pivotal", "reflective", "rare"}
    for name in ("exploratory_entropy", "rare_sentences"):
        assert Ngrams().name in plots[name].caption
    # as shapes, a thousand points of a kind make an SVG of most of a megabyte
    assert "<image" in save(plots["rare_sentences"], tmp_path, ["svg"])["svg"].read_text()


def test_one_run_and_one_problem() -> None:
    plots = plotted(["base"], 1, Ngrams())
    assert list(plots) == ["exploratory_entropy", "exploratory_counts"]
    assert "Rare sentences: not measured" in plots["exploratory_entropy"].caption
    assert plots["exploratory_entropy"].numbers["difference_low"].isna().all()

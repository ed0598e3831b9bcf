"""Several models' words together: contrasts and frequencies by hand, and what is excluded."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evals.analysis.words.embedders import CachedEmbedder, CharacterNgrams
from evals.analysis.words.token_categories import load_lexicon
from evals.analysis.words.words import entropy_contrasts, frequencies, pivotal_tokens, read_words, reflective_sentences
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
    words = read_words(
        ["base", "run"], {"base": BASE, "run": RUN}, embedder=CharacterNgrams(), neighbours=1, share=0.34
    )
    assert words[0].rarity is None and words[1].rarity is not None
    sentences = words[1].rarity.sentences
    assert sentences.loc[sentences["rare"], "text"].tolist() == ["Zebras"]
    contrasts = entropy_contrasts(words).set_index(["model", "comparison"]).loc[("run", "rare")]
    # Zebras 1; So x. (1 + 0.5 + 0.5) / 3 in p and So x (3 + 1) / 2 in q
    assert contrasts["group_entropy"] == 1 and contrasts["rest_entropy"] == pytest.approx((2 / 3 + 2) / 2)
    assert "not SBERT" in contrasts["embedder"]
    # without the base model's sentences nothing is rare
    assert read_words(["base", "run"], {"run": RUN}, embedder=CharacterNgrams())[0].rarity is None


def test_frequencies_by_hand() -> None:
    rows = frequencies(read_words(["base"], {"base": BASE})).set_index("what")
    # tokens: 5 and 1 in p, 1 in q: (3 + 1) / 2 over problems, 7 / 3 over responses
    assert rows.loc["length", "mean"] == 2 and rows.loc["length", "pooled"] == pytest.approx(7 / 3)
    # one pivotal token (So) and one reflective sentence in the three responses: 1/2 in p, 0 in q
    for what in ("pivotal", "reflective"):
        assert rows.loc[what, "mean"] == 0.25 and rows.loc[what, "pooled"] == pytest.approx(1 / 3)
    assert rows.loc["length", "responses"] == 3 and rows.loc["length", "problems"] == 2
    parts = ["formal", "logical", "metacognitive", "semantic", "other"]
    assert rows.loc[parts, "pooled"].sum() == pytest.approx(7 / 3)


def test_the_papers_own_words_alone() -> None:
    words = read_words(["base"], {"base": BASE}, stated_only=True)  # So is ours
    assert not words[0].pivotal.any() and words[0].sentences["reflective"].sum() == 1


def test_bad_tables_are_named() -> None:
    with pytest.raises(ValueError, match="expected those of base, got one of 'other'"):
        read_words(["base"], {"other": BASE})
    with pytest.raises(ValueError, match="base: expected a token table with rows"):
        read_words(["base"], {"base": BASE.iloc[:0]})


def test_a_cached_embedder_embeds_each_sentence_once() -> None:
    asked: list[str] = []

    class Counting(CharacterNgrams):
        def embed(self, sentences):  # type: ignore[no-untyped-def]
            asked.extend(sentences)
            return super().embed(sentences)

    once = CachedEmbedder(Counting())
    first = once.embed(["a", "b", "a"])
    assert (once.embed(["b", "a", "c"])[:2] == first[[1, 0]]).all() and asked == ["a", "b", "c"]
    assert once.name == CharacterNgrams().name and once.embed([]).shape == (0, 2048)


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

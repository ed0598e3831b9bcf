"""The figures of arXiv 2506.14758, for runs of one's own (`rlvr analyze`): the words of exploratory reasoning.

The paper compares pivotal tokens with other tokens, and reflective sentences with other sentences (section 2, Fig. 2
and 8). Here both are tokens: those of pivotal words, and those of the keywords that make a sentence a reflective one.
"""

from __future__ import annotations

from pathlib import Path

from evals.analysis import ENTROPY_ADVANTAGE
from evals.analysis.words import OTHER, WordList, categorise, plot_words
from evals.plots.plot import Plot
from harness.analysis.families import Family
from harness.analysis.material import Material

WORDS = Path(__file__).with_name("exploration.yaml")


def exploration(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 2 and 8: the entropy of pivotal and of reflective words, and how many a response has."""
    words, tables = WordList.read(WORDS), m.tokens(benchmark)
    categories = {run: categorise(table, words.categories) for run, table in tables.items()}
    return plot_words(
        "exploration",
        m.names,
        tables,
        categories,
        (*words.words, OTHER),
        sources=(f"{ENTROPY_ADVANTAGE}, Fig. 8", f"{ENTROPY_ADVANTAGE}, Fig. 2"),
        about=words.describe(),
    )


FAMILIES = {"words": Family("Words", of_benchmark=(exploration,))}

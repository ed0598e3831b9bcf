"""Word lists with a source for each word, and figures of the tokens that belong to them.

words = WordList.read(Path("exploration.yaml"))
categorise(table, words.categories)      # the category of each token of a table

A file has `groups`, each with `category`, `kind`, `words`, and either `source` (the paper's own words, and where they
stand) or `assumed` (ours, and why). An entry that starts with a capital is matched with that capital only. Any other in
either case. A space is any white space, ' is also ’. The longest entry wins where several start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis.token_table import BAND, RESPONSE, Tables, by_response, counted, mean_of, need_columns
from evals.plots.figures import point_rows
from evals.plots.plot import Plot

if TYPE_CHECKING:
    import pandas as pd

OTHER = "other"


@dataclass(frozen=True)
class WordList:
    """category -> its words. `assumed`: how many of all the words are ours."""

    name: str
    words: Mapping[str, Sequence[str]]
    assumed: int

    @staticmethod
    def read(path: Path) -> WordList:
        """A file's words."""
        import yaml

        words: dict[str, list[str]] = {}
        assumed = 0
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            words.setdefault(group["category"], []).extend(group["words"])
            assumed += len(group["words"]) * ("assumed" in group)
        return WordList(path.stem, words, assumed)

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """(start, end, category) of every word in a text, from left to right, without overlaps."""
        return [(*match.span(), self._category[_plain(match[0])]) for match in self._pattern.finditer(text)]

    def categories(self, text: str) -> list[str]:
        """The category of each character: of its word, or OTHER."""
        categories = [OTHER] * len(text)
        for start, end, category in self.find(text):
            categories[start:end] = [category] * (end - start)
        return categories

    def describe(self) -> str:
        """The number of words from the paper and of assumed ones, for a caption."""
        count = sum(map(len, self.words.values()))
        return f"Word list {self.name}: {count - self.assumed} words of the paper, {self.assumed} assumed."

    @cached_property
    def _category(self) -> dict[str, str]:
        return {_plain(word): category for category, words in self.words.items() for word in words}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Whole words only: not after a letter, a digit, a backslash, or a hyphen or apostrophe inside a word."""
        every = sorted((word for words in self.words.values() for word in words), key=lambda word: -len(word))
        return re.compile(rf"(?<![\w\\])(?<!\w[-'’])(?:{'|'.join(map(_expression, every))})(?!\w)(?![-'’]\w)")


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _expression(word: str) -> str:
    """Matches a word in either case (its first letter as it is, if that is a capital), with any white space and either
    apostrophe in it."""
    first, rest = re.escape(word[0]), re.escape(word[1:]).replace(r"\ ", r"\s+").replace("'", "['’]")
    return f"{first}(?i:{rest})" if word[0].isupper() else f"(?i:{first}{rest})"


def categorise(table: pd.DataFrame, categories: Callable[[str], Sequence[str]]) -> pd.Series:
    """The category of each token: that of most of its characters that are no white space (of equally many: the first).
    OTHER without any. All pieces of a word thus have its category.

    Args:
        table: a token table. categories: a response's text -> the category of each character.
    Returns:
        by row, under the table's index.
    Raises:
        ValueError: columns or tokens are missing.
    """
    need_columns(table, ("token",))
    return by_response(table, lambda rows: of_tokens(rows["token"].tolist(), categories)).rename("category")


def of_tokens(tokens: Sequence[str], categories: Callable[[str], Sequence[str]]) -> list[str]:
    """The category of each token of one whole response. The tokens of a token pass are pieces of its text. An empty one
    (its character is in the token before) stands for the previous character."""
    text = "".join(tokens)
    of_character = categories(text)
    token_categories = []
    for token, end in zip(tokens, accumulate(map(len, tokens)), strict=True):
        start = end - (len(token) or min(end, 1))
        solid = [of_character[i] for i in range(start, end) if not text[i].isspace()]
        token_categories.append(max(solid, key=solid.count) if solid else OTHER)
    return token_categories


def word_measures(tables: Tables, categories: Mapping[str, pd.Series], shown: Sequence[str]) -> pd.DataFrame:
    """The tokens of each category in a response, and their entropy.

    Args:
        tables: run -> token table. categories: run -> `categorise`'s. shown: the categories.
    Returns:
        One row per run, `what` ("tokens in a response", "entropy") and category, "all" among them: `mean_of` the
        responses' counts of tokens, or of the tokens' entropies (nats).
    """
    import pandas as pd

    rows = []
    for run, category in categories.items():
        table = tables[run]
        for name in ("all", *shown):
            inside = (category == name).to_numpy() if name != "all" else category.notna().to_numpy()
            counts = table[RESPONSE].assign(inside=inside).groupby(RESPONSE, sort=False)["inside"].sum()
            problems = counts.index.get_level_values("problem_id")
            of_tokens_inside = mean_of(table["entropy"][inside], table["problem_id"][inside])
            for what, measured in (("tokens in a response", mean_of(counts, problems)), ("entropy", of_tokens_inside)):
                rows.append({"model": run, "what": what, "category": name, **measured})
    return pd.DataFrame(rows)


def plot_words(
    name: str,
    names: Sequence[str],
    tables: Tables,
    categories: Mapping[str, pd.Series],
    shown: Sequence[str],
    *,
    sources: tuple[str, str],
    about: str,
) -> list[Plot]:
    """Tokens of each category in a response, and their mean entropy. `about` is for the captions.

    Args:
        name: begins the figures' names. names: all runs. sources: what each figure redraws, or "".
    """
    numbers = word_measures(tables, categories, shown)
    labels = {category: category for category in ("all", *shown)}
    caption = f"{{}} {BAND} {about} {counted(tables)}"
    counts, entropies = (numbers[numbers["what"] == what] for what in ("tokens in a response", "entropy"))
    return [
        point_rows(
            f"{name}_counts",
            f"Tokens in a response: {', '.join(shown)}",
            caption.format("Mean over problems of the tokens of each category in a response."),
            sources[0],
            counts,
            names,
            by="category",
            labels=labels,
            unit="tokens in a response",
            limits=(0, float("inf")),
            log=True,
        ),
        point_rows(
            f"{name}_entropy",
            f"Entropy of tokens: {', '.join(shown)}",
            caption.format("Mean entropy of the tokens of each category, over the problems that have such tokens."),
            sources[1],
            entropies,
            names,
            by="category",
            labels=labels,
            unit="mean entropy (nats)",
            limits=(0, float("inf")),
        ),
    ]

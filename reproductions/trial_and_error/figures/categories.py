"""The function of each token: formal, logical, metacognitive or semantic support (arXiv 2508.07534, Table 1, Table 5).

The paper gives examples but no rule. Our rule: give every character of a response's text one category; a token has the
category of most of its non-space characters (ties: of the first). All pieces of a word, and all words of a phrase
("let's check"), thus have the same category.

- formal: everything inside mathematics; outside it numbers, LaTeX commands, operators and symbols, variables (single
  letters, except a, A and I), and names of functions (lexicon).
- logical, metacognitive: words and phrases of the lexicon, `token_categories.yaml`.
- semantic: every other word.
- other: punctuation, markup, white space and special tokens, which Table 1 does not cover.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.contrast import measure_side
from evals.analysis.lexicon import Lexicon, load_lexicon
from evals.analysis.sentences import find_mathematics, locate_tokens
from evals.analysis.token_table import (
    OVER_PROBLEMS,
    Tables,
    by_response,
    describe_responses,
    need_columns,
    per_response,
    response_keys,
    runs_with,
)
from evals.plots.intervals import dots, offsets
from evals.plots.parts import legend_below, right_end, rows_size
from evals.plots.plot import Plot, look

if TYPE_CHECKING:
    import pandas as pd

LEXICON = Path(__file__).with_name("token_categories.yaml")
CATEGORIES = ("formal", "logical", "metacognitive", "semantic", "other")
FORMAL, _, _, SEMANTIC, OTHER = range(len(CATEGORIES))
_OPERAND = r"(?=\s*(?:\d|[^\W\d_](?!\w)|[($\\]))"  # a sign that is also punctuation counts only before these
_LEXEME = re.compile(
    rf"""
    (?P<special> <\|[^\s|<>]+\|> | </?s> )
  | (?P<bullet> ^[^\S\n]*(?:[-*+•]|\#+)(?=\s) )
  | (?P<number> \d+(?:[.,]\d+)* )
  | (?P<command> \\[A-Za-z]+ | \\[^\sA-Za-z] )
  | (?P<word> [^\W\d_]+(?:['’-][^\W\d_]+)* )
  | (?P<sign> (?<!\*)\*(?!\*){_OPERAND} | [-/]{_OPERAND} | [=+<>^_{{}}%] )
    """,
    re.VERBOSE | re.MULTILINE,
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_NOT_VARIABLES = {"a", "A", "I"}


def characters(text: str, lexicon: Lexicon) -> bytearray:
    """The category of each character of a text, as a number of `CATEGORIES`."""
    categories = bytearray([OTHER]) * len(text)

    def put(start: int, end: int, category: int) -> None:
        categories[start:end] = bytes([category]) * (end - start)

    for match in _LEXEME.finditer(text):
        put(*match.span(), _kind(match))
    for match in _NOT_ASCII.finditer(text):
        if categories[match.start()] == OTHER and unicodedata.category(match[0]) in ("Sm", "No"):  # √, ∑, ², ½
            put(*match.span(), FORMAL)
    for entry in lexicon.find(text):
        put(entry.start, entry.end, CATEGORIES.index(entry.entry.category))
    for start, end, _ in find_mathematics(text):
        put(start, end, FORMAL)
    return categories


def classify(tokens: Sequence[str], lexicon: Lexicon) -> list[str]:
    """The category of each token of one whole response, in order."""
    text, spans = locate_tokens(tokens)
    by_character = characters(text, lexicon)
    categories = []
    for start, end in spans:
        solid = [by_character[i] for i in range(start, end) if not text[i].isspace()]
        categories.append(CATEGORIES[max(solid, key=solid.count)] if solid else CATEGORIES[OTHER])
    return categories


def categorise(table: pd.DataFrame, *, lexicon: Lexicon | None = None) -> pd.Series:
    """The category of each row of a token table, under the table's index. `lexicon`: None loads `LEXICON`.

    Raises:
        ValueError: columns or tokens are missing.
    """
    import pandas as pd

    words = lexicon or load_lexicon(LEXICON)
    need_columns(table, ("token",))
    categories = by_response(table, lambda rows: classify(rows["token"].tolist(), words))
    return pd.Series(pd.Categorical(categories, CATEGORIES), table.index, name="category")


def _kind(match: re.Match[str]) -> int:
    if match.lastgroup in ("number", "command", "sign"):
        return FORMAL
    if match.lastgroup == "word":
        letter = len(match[0]) == 1 and unicodedata.category(match[0]) != "Lo"  # a Chinese character is a word
        return FORMAL if letter and match[0] not in _NOT_VARIABLES else SEMANTIC
    return OTHER


def category_shares(table: pd.DataFrame, category: pd.Series) -> pd.DataFrame:
    """Each category's share of the responses, and the model's entropy there.

    Args:
        table: a token table. category: of its rows (`categorise`).
    Returns:
        One row per category: `tokens`; `share` of all tokens (mean over problems) with `share_low`, `share_high` and
        `share_pooled` (over all tokens at once); `entropy` (nats, mean over the `problems` that have such tokens) with
        `entropy_low`, `entropy_high` and `entropy_pooled`. Intervals at 95 % over problems, NaN where there is none.
    """
    import pandas as pd

    need_columns(table, ("problem_id", "entropy"))
    problems, entropy = table["problem_id"].to_numpy(), table["entropy"].to_numpy()
    rows = []
    for name in CATEGORIES:
        in_category = (category == name).to_numpy()
        share = measure_side(in_category, problems, bounds=(0, 1))
        unsure = measure_side(entropy[in_category], problems[in_category])
        rows.append(
            {
                "category": name,
                "tokens": unsure.count,
                "share": share.mean,
                "share_low": share.low,
                "share_high": share.high,
                "share_pooled": share.pooled,
                "problems": unsure.problems,
                "entropy": unsure.mean,
                "entropy_low": unsure.low,
                "entropy_high": unsure.high,
                "entropy_pooled": unsure.pooled,
            }
        )
    return pd.DataFrame(rows)


def category_changes(change: pd.Series, category: pd.Series, *, top: float = 0.2) -> pd.DataFrame:
    """The categories in which an update changed token probabilities.

    The paper says that "among the top 20 % of tokens with the greatest probability updates" the categories have the
    "proportions" 0.039, 0.034, 0.033 and 0.031. These sum to 0.137, so they are neither the composition of the top 20 %
    (`share_of_top`, sums to 1) nor the share of each category in it (`share_in_top`, 0.2 on average); they may be mean
    changes (`top_size`). This returns all three.

    Args:
        change: p_after - p_before of each token, in [-1, 1]. category: of the same rows.
        top: the share of all tokens, by |change|, that is the top; of equal ones the first.
    Returns:
        One row per category: `tokens`, `change` (mean), `size` (mean of |change|), `share_of_top`, `share_in_top`,
        `top_size` (mean of |change| in the top). NaN for the mean of nothing.
    Raises:
        ValueError: top outside (0, 1], different rows, no tokens, or a change that is no difference of probabilities.
    """
    import pandas as pd

    if not 0 < top <= 1:
        raise ValueError(f"top: expected a share in (0, 1], got {top}")
    if not change.index.equals(category.index) or change.empty:
        raise ValueError(f"change, category: expected the same rows, at least one; got {len(change)}, {len(category)}")
    values = change.to_numpy(float)
    if not (abs(values) <= 1 + 1e-9).all():  # also false for NaN
        raise ValueError("change: expected differences of probabilities, in [-1, 1]")
    in_top = np.zeros(len(values), bool)
    in_top[np.argsort(-abs(values), kind="stable")[: int(np.ceil(top * len(values)))]] = True
    rows = []
    for name in CATEGORIES:
        in_category = (category == name).to_numpy()
        rows.append(
            {
                "category": name,
                "tokens": int(in_category.sum()),
                "change": _mean(values[in_category]),
                "size": _mean(abs(values[in_category])),
                "share_of_top": float(in_category[in_top].mean()),
                "share_in_top": _mean(in_top[in_category]),
                "top_size": _mean(abs(values[in_category & in_top])),
            }
        )
    return pd.DataFrame(rows)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def plot_categories(
    names: Sequence[str], tables: Tables, changes: Mapping[str, tuple[pd.DataFrame, pd.Series]], benchmark: str
) -> list[Plot]:
    """Tokens of each category in a response, their entropy, and where an update moved probabilities.

    Args:
        names: all runs, the base model first. tables: run -> token table of its responses.
        changes: run -> (token table, p_after - p_before of its rows); none: no figure of them.
    """
    import pandas as pd

    lexicon = load_lexicon(LEXICON)
    shown = runs_with(names, tables)
    categories = {name: categorise(tables[name], lexicon=lexicon) for name in shown}
    shares = [category_shares(tables[name], categories[name]).assign(model=name) for name in shown]
    sizes = describe_responses({name: tables[name] for name in shown}, benchmark)
    plots = [
        category_counts(names, tables, categories, sizes, lexicon),
        category_entropies(names, pd.concat(shares, ignore_index=True), sizes, lexicon),
    ]
    return [*plots, *([category_updates(names, changes, lexicon)] if changes else [])]


def category_counts(
    names: Sequence[str], tables: Tables, categories: Mapping[str, pd.Series], sizes: str, lexicon: Lexicon
) -> Plot:
    """Tokens of each category in a response (arXiv 2508.07534, Table 5; its categories are those of Table 1)."""
    import pandas as pd

    parts = []
    for name, category in categories.items():
        keys = response_keys(tables[name])
        counts = tables[name][keys].assign(length=1, **{c: (category == c).astype(int) for c in CATEGORIES})
        parts.append(per_response(counts.groupby(keys, sort=False).sum()).assign(model=name))
    numbers = pd.concat(parts, ignore_index=True)
    labels = {"length": "all tokens"} | {name: name for name in CATEGORIES}
    seen = numbers.loc[numbers["mean"] > 0, ["mean", "low"]].to_numpy()
    left = float(10 ** np.floor(np.log10(seen[seen > 0].min())))  # a power of ten: what is 0 has no place on this axis

    def render(figure: Any) -> None:
        axis = figure.subplots()
        shown = numbers.assign(low=numbers["low"].clip(lower=left), mean=numbers["mean"].where(numbers["mean"] > 0))
        handles, runs = dots(axis, shown, names, "what", labels)
        for run, shift in zip(runs, offsets(len(runs)), strict=True):
            none = numbers[(numbers["model"] == run) & (numbers["mean"] == 0)]["what"]
            for row in (list(labels).index(what) for what in none):
                colour = look(names.index(run))["color"]
                axis.annotate("0", (left, row + shift), color=colour, va="center", ha="center", fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(left=left / 1.6)
        axis.set_xlabel("tokens in a response")
        legend_below(figure, handles, runs)

    caption = (
        f"{sizes} {OVER_PROBLEMS} The horizontal scale is logarithmic; 0: none. Table 1 places no punctuation, markup "
        f"or white space: other. {lexicon.describe()}."
    )
    return Plot("token_categories", "Tokens of each category in a response", caption, f"{TRIAL_AND_ERROR}, Table 5",
                numbers, render, rows_size(len(labels), list(categories)))  # fmt: skip


def category_entropies(names: Sequence[str], numbers: pd.DataFrame, sizes: str, lexicon: Lexicon) -> Plot:
    """Mean entropy of the tokens of each category (the categories of arXiv 2508.07534, Table 1; the figure is ours)."""

    def render(figure: Any) -> None:
        axis = figure.subplots()
        ends = ("entropy_low", "entropy", "entropy_high")
        handles, runs = dots(axis, numbers, names, "category", {c: c for c in CATEGORIES}, ends)
        axis.set_xlabel("mean entropy (nats)")
        axis.set_xlim(0, right_end(numbers["entropy"], numbers["entropy_high"]))
        legend_below(figure, handles, runs)

    caption = f"{sizes} {OVER_PROBLEMS} A category that a model never uses has no point. {lexicon.describe()}."
    runs = list(dict.fromkeys(numbers["model"]))
    return Plot("category_entropy", "Entropy of the tokens of each category", caption, "", numbers, render,
                rows_size(len(CATEGORIES), runs))  # fmt: skip


def category_updates(
    names: Sequence[str], changes: Mapping[str, tuple[pd.DataFrame, pd.Series]], lexicon: Lexicon, top: float = 0.2
) -> Plot:
    """Where an update moved the probabilities of tokens (arXiv 2508.07534, section 3.2.2, its four numbers)."""
    import pandas as pd

    parts = [
        category_changes(change, categorise(table, lexicon=lexicon), top=top).assign(model=name)
        for name, (table, change) in changes.items()
    ]
    numbers = pd.concat(parts, ignore_index=True)
    labels = {"share_in_top": f"share in the top {top:.0%}", "size": "mean |probability change|"}

    def render(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (column, label) in zip(axes, labels.items(), strict=True):
            alone = (column, column, column)  # without an interval
            handles, runs = dots(axis, numbers, names, "category", {c: c for c in CATEGORIES}, alone)
            axis.set_xlabel(label)
            axis.set_xlim(left=0)
            axis.locator_params(axis="x", nbins=4)
        axes[0].axvline(top, color="black", linewidth=0.8, linestyle=":")
        legend_below(figure, handles, runs)

    tokens = ", ".join(f"{name} {len(change):,}" for name, (_, change) in changes.items())
    caption = (
        f"Left: which part of a category's tokens is among the {top:.0%} of all tokens whose probability changed most "
        f"(dotted: {top:.0%}, as for any token). Right: mean size of the change. Over all tokens at once, so without "
        f"intervals; tokens: {tokens}. {lexicon.describe()}."
    )
    return Plot("category_changes", "Probability changes of the tokens of each category", caption,
                f"{TRIAL_AND_ERROR}, section 3.2.2", numbers, render,
                rows_size(len(CATEGORIES), list(changes)))  # fmt: skip

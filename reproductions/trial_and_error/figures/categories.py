"""The function of each token: formal, logical, metacognitive or semantic support (arXiv 2508.07534, Table 1, Table 5).

The paper gives examples but no rule. Our rule: decode a response's tokens to its text; give every character of the text
one category; a token has the category of most of its non-space characters (ties: of the first). All pieces of a word,
and all words of a phrase ("let's check"), thus have the same category.

- formal: everything inside mathematics; outside it numbers, LaTeX commands, operators and symbols, variables (single
  letters, except a, A and I), and names of functions (lexicon).
- logical, metacognitive: words and phrases of the lexicon.
- semantic: every other word.
- other: punctuation, markup, white space and special tokens, which Table 1 does not cover.

The word lists are lexicons, with a source for each entry:

lexicon = load_lexicon("pivotal_tokens")
[match.entry.kind for match in lexicon.find("First, we note that x > 0.")]    # ["sequential", "reasoning verb"]
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.contrast import measure_side
from evals.analysis.tokens.token_table import by_response, need_columns, response_keys
from evals.analysis.words.sentences import detect_encoding, find_mathematics, locate_tokens
from evals.suggest import expected

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "lexicons"

# a word does not start after a letter, a digit, a backslash, or a hyphen or apostrophe that joins it to a word
_WORD_START = re.compile(r"(?<![\w\\])(?<!\w[-'’])[^\W\d_]+")


@dataclass(frozen=True)
class Entry:
    """A word or phrase. `source`: the place in the paper, or the reason why we added it (`assumed`)."""

    text: str
    category: str
    kind: str
    source: str
    assumed: bool


@dataclass(frozen=True)
class EntryMatch:
    """An entry at text[start:end]."""

    start: int
    end: int
    entry: Entry


@dataclass(frozen=True)
class Lexicon:
    """Words of one or several categories. For the format, see evals/analysis/words/lexicons/token_categories.yaml."""

    name: str
    entries: tuple[Entry, ...]

    def find(self, text: str) -> list[EntryMatch]:
        """Every entry in a text, from left to right, without overlaps; the longest one at each start."""
        matches: list[EntryMatch] = []
        for word in _WORD_START.finditer(text):
            if matches and word.start() < matches[-1].end:
                continue
            for pattern, entry in self._by_first_word.get(word[0].lower(), ()):
                if match := pattern.match(text, word.start()):
                    matches.append(EntryMatch(*match.span(), entry))
                    break
        return matches

    def describe(self) -> str:
        """The number of entries from the paper and of assumed ones."""
        assumed = sum(entry.assumed for entry in self.entries)
        return f"{self.name}: {len(self.entries) - assumed} words of the paper, {assumed} assumed"

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[re.Pattern[str], Entry]]]:
        """The entries that start with a word, the longest first; few words of a text start any."""
        known: dict[str, list[tuple[re.Pattern[str], Entry]]] = {}
        for entry in sorted(self.entries, key=lambda entry: -len(entry.text)):
            first = _WORD_START.match(entry.text)
            assert first is not None, "read_groups lets no other pass"
            known.setdefault(first[0].lower(), []).append((_expression(entry.text), entry))
        return known


def load_lexicon(name: str, *, stated_only: bool = False) -> Lexicon:
    """A lexicon of evals/analysis/words/lexicons.

    Args:
        name: "token_categories", "pivotal_tokens" or "reflective".
        stated_only: exclude assumed words, so that only the paper's own remain.
    Raises:
        ValueError: an unknown name, or an invalid file (the message says where).
    """
    import yaml

    names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
    if name not in names:
        raise ValueError(f"lexicon {name!r}: {expected(name, names)}")
    path = FOLDER / f"{name}.yaml"
    entries = read_groups(yaml.safe_load(path.read_text(encoding="utf-8")), path.name)
    return Lexicon(name, tuple(entry for entry in entries if not (stated_only and entry.assumed)))


def read_groups(content: Any, where: str) -> list[Entry]:
    """The entries of a lexicon file.

    Raises:
        ValueError: not {groups: [{category, kind, source | assumed, words}]}, or a word given twice.
    """
    if not isinstance(content, dict) or set(content) != {"groups"} or not isinstance(content["groups"], list):
        raise ValueError(f"{where}: expected one key, groups, with a list")
    entries = [
        entry for i, group in enumerate(content["groups"]) for entry in _read_group(group, f"{where}, group {i}")
    ]
    twice = [text for text, count in Counter(entry.text.casefold() for entry in entries).items() if count > 1]
    if twice:
        raise ValueError(f"{where}: expected every word once, got {_listed(twice)} more than once")
    return entries


def _read_group(group: Any, where: str) -> list[Entry]:
    if not isinstance(group, dict):
        raise ValueError(f"{where}: expected a mapping, got {group!r}")
    origins = [key for key in ("source", "assumed") if key in group]
    if len(origins) != 1 or set(group) != {"category", "kind", "words", *origins}:
        raise ValueError(f"{where}: expected category, kind, words and either source or assumed, got {_listed(group)}")
    origin = origins[0]
    for key in ("category", "kind", origin):
        if not isinstance(group[key], str) or not group[key].strip():
            raise ValueError(f"{where}: {key}: expected words, got {group[key]!r}")
    words = group["words"]
    if not isinstance(words, list) or not words or not all(isinstance(w, str) and _WORD_START.match(w) for w in words):
        raise ValueError(f"{where}: words: expected a list of words, got {words!r}")  # yes and no are not words in YAML
    return [Entry(w, group["category"], group["kind"], group[origin], origin == "assumed") for w in words]


def _expression(text: str) -> re.Pattern[str]:
    """Matches a whole entry, not part of a longer word: any white space, either apostrophe, and its capital, if any."""
    first, rest = re.escape(text[0]), re.escape(text[1:]).replace(r"\ ", r"\s+").replace("'", "['’]")
    either_case = f"{first}(?i:{rest})" if text[0].isupper() else f"(?i:{first}{rest})"
    return re.compile(rf"{either_case}(?!\w)(?![-'’]\w)")


def _listed(words: Sequence[str] | dict[str, Any]) -> str:
    return ", ".join(map(repr, words))


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
    held = bytearray([OTHER]) * len(text)

    def put(start: int, end: int, category: int) -> None:
        held[start:end] = bytes([category]) * (end - start)

    for match in _LEXEME.finditer(text):
        put(*match.span(), _kind(match))
    for match in _NOT_ASCII.finditer(text):
        if held[match.start()] == OTHER and unicodedata.category(match[0]) in ("Sm", "No"):  # √, ∑, ², ½
            put(*match.span(), FORMAL)
    for entry in lexicon.find(text):
        put(entry.start, entry.end, CATEGORIES.index(entry.entry.category))
    for start, end, _ in find_mathematics(text):
        put(start, end, FORMAL)
    return held


def classify(tokens: Sequence[str], lexicon: Lexicon, encoding: str) -> list[str]:
    """The category of each token of one whole response, in order.

    Args:
        encoding: of the tokens, see `sentences.ENCODINGS`.
    """
    located = locate_tokens(tokens, encoding)
    held = characters(located.text, lexicon)
    categories = []
    for start, end in located.spans:
        solid = [held[i] for i in range(start, end) if not located.text[i].isspace()]
        categories.append(CATEGORIES[max(solid, key=solid.count)] if solid else CATEGORIES[OTHER])
    return categories


def categorise(table: pd.DataFrame, *, lexicon: Lexicon | None = None, encoding: str | None = None) -> pd.Series:
    """The category of each row of a token table, under the table's index.

    Args:
        lexicon: of the categories in `CATEGORIES`; None loads "token_categories".
        encoding: None detects it from all tokens.
    Raises:
        ValueError: columns or tokens are missing.
    """
    import pandas as pd

    words = lexicon or load_lexicon("token_categories")
    need_columns(table, ("token",))
    pieces = encoding or detect_encoding(set(table["token"]))
    categories = by_response(table, lambda rows: classify(rows["token"].tolist(), words, pieces))
    return pd.Series(pd.Categorical(categories, CATEGORIES), table.index, name="category")


def counts(table: pd.DataFrame, category: pd.Series) -> pd.DataFrame:
    """Tokens of each category in a response, on average, as in Table 5.

    Returns:
        One row: `responses`, `mean_length` (tokens), and one column per category (tokens per response; they sum to the
        length).
    Raises:
        ValueError: the table is empty.
    """
    import pandas as pd

    if table.empty:
        raise ValueError("token table: expected at least one token")
    responses = table.groupby(response_keys(table), sort=False).ngroups
    totals = category.value_counts().reindex(list(CATEGORIES))
    row = {"responses": responses, "mean_length": len(table) / responses}
    return pd.DataFrame([row | {name: totals[name] / responses for name in CATEGORIES}])


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
        table: a token table. category: of its rows (`evals.analysis.words.token_categories.categorise`).
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
        held = (category == name).to_numpy()
        share = measure_side(held, problems, bounds=(0, 1))
        unsure = measure_side(entropy[held], problems[held])
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
        held = (category == name).to_numpy()
        rows.append(
            {
                "category": name,
                "tokens": int(held.sum()),
                "change": _mean(values[held]),
                "size": _mean(abs(values[held])),
                "share_of_top": float(held[in_top].mean()),
                "share_in_top": _mean(in_top[held]),
                "top_size": _mean(abs(values[held & in_top])),
            }
        )
    return pd.DataFrame(rows)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")

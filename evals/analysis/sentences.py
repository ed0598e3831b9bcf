"""Split text with mathematics into sentences; the sentences of a token table with their mean entropy.

A formula (LaTeX between its delimiters) is never cut; a displayed formula belongs to the previous sentence. A sentence
ends

- at . ! ? (and closing quotes, brackets or asterisks) before white space and a possible start of a sentence. Decimals,
  5!, "e.g.", "Fig. 2" and the dot of a list number end no sentence; a formula that ends in a dot does.
- at 。！？, and at a line break, unless the next line starts with a lower-case word or a displayed formula, or the line
  before ends in a colon, a comma or similar. A new list item always ends it.

The paper (arXiv 2506.14758, section 2) says only that responses are segmented into sentences; these rules are ours.
No library knows formulas. pysbd 0.3.4 and sentencex 1.0.32, given the text with its formulas masked, split 5 of the 15
texts of tests/evals/analysis/test_sentences.py as by hand, and 150 responses of a 7B model to school mathematics into
2,691 and 3,135 pieces (ours 1,796), because both end a sentence where a line or a displayed formula ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.token_table import need_columns, response_keys, whole_responses

if TYPE_CHECKING:
    import pandas as pd


def locate_tokens(tokens: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text of a response, and for each token its characters [start, end) in it.

    The tokens of a token pass are pieces of text. An empty one (its character is in the token before) stands for the
    previous character.
    """
    ends = list(accumulate(map(len, tokens)))
    return "".join(tokens), [(end - (len(token) or min(end, 1)), end) for token, end in zip(tokens, ends, strict=True)]


DISPLAY, INLINE = "\ue000", "\ue001"  # characters of the private use area, which texts do not use
_BRACES = r"[^{}]"
for _ in range(4):  # nested braces, as deep as in answers
    _BRACES = rf"(?:[^{{}}]|\{{{_BRACES}*+\}})"
_NO_BLANK_LINE = r"(?:(?!\n[ \t]*\n)[\s\S])"
# A cut response may lack a closing delimiter: its formula then ends at the next blank line, or with the text.
_MATHS = re.compile(
    rf"""
    (?P<display>
        \$\$ (?:(?!\$\$)[\s\S])+ \$\$
      | \\\[ (?:(?!\\[\[\]])[\s\S])* \\\]
      | \\begin\{{(?P<name>[A-Za-z]+\*?)\}} (?:(?!\\begin\{{(?P=name)\}})[\s\S])*? \\end\{{(?P=name)\}}
      | (?:\$\$|\\\[) {_NO_BLANK_LINE}*
    )
  | \\\( (?:(?!\\[()])[\s\S])* \\\)
  | \\\( [^\n]*
  | (?<![\\$]) \$ (?=[^\s$]) (?:(?!\n[ \t]*\n)(?:\\.|[^$\\]))+ (?<!\s) \$ (?!\d)   # Pandoc's rule: 5$ and 3$ are money
  | \\boxed\{{ {_BRACES}*+ \}}
    """,
    re.VERBOSE,
)


def find_mathematics(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, whether it is displayed) of each formula with its delimiters, from left to right.

    $$..$$, \\[..\\] and environments are displayed; \\(..\\), $..$ and \\boxed{..} are inline.
    """
    return [(*match.span(), match["display"] is not None) for match in _MATHS.finditer(text)]


def mask(text: str) -> str:
    """The text with every character of a formula replaced by `DISPLAY` or `INLINE`; as long as before."""
    masked, at = [], 0
    for start, end, displayed in find_mathematics(text):
        masked += [text[at:start], (DISPLAY if displayed else INLINE) * (end - start)]
        at = end
    return "".join([*masked, text[at:]])


_ABBREVIATIONS = {
    "e.g", "i.e", "vs", "cf", "w.l.o.g", "w.r.t", "s.t", "resp", "approx", "dr", "mr", "mrs", "ms", "prof",
}  # fmt: skip
_BEFORE_NUMBERS = {
    "eq", "eqs", "eqn", "fig", "figs", "no", "nos", "sec", "ch", "ex", "thm", "def", "prop", "p", "pp",
}  # fmt: skip
_CLOSING = "\"'”’)\\]*_"
_END = re.compile(rf"[.!?…]+[{_CLOSING}]*(?=\s|$)|[。！？]+[」』”’）]*")
_SPACE = re.compile(r"\s+")
_LIST_ITEM = re.compile(r"(?:[-*•+#]+|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s")
_GOES_ON = ":,;-–—=+"


def split_sentences(text: str) -> list[tuple[int, int]]:
    """[start, end) of each sentence. They cover the text without gaps: white space belongs to the previous sentence.

    A text of white space only has none.
    """
    masked = mask(text)
    if not masked.strip():
        return []
    ends = sorted({*_after_stops(text, masked), *_after_lines(masked), *_after_formulas(text, masked), len(text)})
    spans, start = [], 0
    for end in ends:
        if masked[start:end].strip():
            spans.append((start, end))
            start = end
    if start < len(text):  # remaining white space
        spans[-1] = (spans[-1][0], len(text))
    return spans


def _after_stops(text: str, masked: str) -> Iterator[int]:
    """The starts of sentences after a full stop, a question mark or another end."""
    for match in _END.finditer(masked):
        begin = _skip_space(masked, match.end())
        if match[0][0] in "。！？" or (
            not _is_abbreviation(text, match.start(), begin) and _can_begin(masked, begin, strictly=match[0][0] == "!")
        ):
            yield begin


def _after_formulas(text: str, masked: str) -> Iterator[int]:
    """The starts of sentences after a formula with a full stop inside its delimiters."""
    for _, end, _ in find_mathematics(text):
        closed = re.search(r"[.!?]\s*(?:\$\$?|\\[\])])$", text[max(0, end - 20) : end])
        begin = _skip_space(masked, end)
        if closed and begin > end and _can_begin(masked, begin, strictly=False):
            yield begin


def _after_lines(masked: str) -> Iterator[int]:
    """The starts of sentences after a line break."""
    for match in _SPACE.finditer(masked):
        begin = match.end()
        if "\n" not in match[0] or match.start() == 0 or begin == len(masked):
            continue
        in_word = masked[begin : begin + 2].islower() and masked[begin : begin + 2].isalpha()  # not a variable
        goes_on = in_word or masked[begin] == DISPLAY or masked[match.start() - 1] in _GOES_ON
        if _LIST_ITEM.match(masked, begin) or not goes_on:
            yield begin


def _is_abbreviation(text: str, dot: int, begin: int) -> bool:
    """Whether the dot there belongs to an abbreviation, or to the number of a list item."""
    line = text.rfind("\n", 0, dot) + 1
    if re.fullmatch(r"\s*[#*]*\s*\(?(?:\d{1,3}|[A-Za-z])", text[line:dot]):
        return True
    word = re.search(r"[A-Za-z.]+$", text[max(0, dot - 12) : dot])
    name = word[0].lstrip(".").lower() if word else ""
    return name in _ABBREVIATIONS or (name in _BEFORE_NUMBERS and re.match(r"[\d(]", text[begin:]) is not None)


def _can_begin(masked: str, at: int, *, strictly: bool) -> bool:
    """Whether a sentence can begin there: no lower-case letter, no sign; strictly (after "!": 5! + 3) only a letter."""
    if at >= len(masked):
        return True
    first = masked[at]
    if strictly:
        return first.isupper() or first in '"“‘*'
    return (first.isalnum() and not first.islower()) or first in f"\"'“‘(*#\\{DISPLAY}{INLINE}"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def sentence_table(table: pd.DataFrame) -> pd.DataFrame:
    """One row per sentence.

    A token belongs to the sentence of its first non-space character; a token of white space belongs to the previous
    sentence.

    Returns:
        The columns that identify the response, `sentence` (from 0), `text` (bytes that are not UTF-8 as U+FFFD),
        `position` of its first token, `tokens`, and `entropy` (nats, mean over its tokens; NaN if a token of the
        previous sentence covers all of it).
    Raises:
        ValueError: columns or tokens are missing.
    """
    import pandas as pd

    need_columns(table, ("token", "entropy"))
    keys = response_keys(table)
    rows: list[dict[str, object]] = []
    for response in whole_responses(table):
        whole, spans = locate_tokens(response["token"].tolist())
        sentences = split_sentences(whole)
        if not sentences:
            continue
        anchors = [start + _blank(whole[start:end]) for start, end in spans]
        which = np.searchsorted([start for start, _ in sentences], anchors, side="right") - 1
        counts = np.bincount(which, minlength=len(sentences))
        sums = np.bincount(which, response["entropy"].to_numpy(float), len(sentences))
        named = {key: response[key].iloc[0] for key in keys}
        for i, (start, end) in enumerate(sentences):
            text = whole[start:end].strip().encode("utf-8", "replace").decode()
            rows.append(
                named
                | {
                    "sentence": i,
                    "text": text,
                    "position": int(np.searchsorted(which, i)),
                    "tokens": int(counts[i]),
                    "entropy": sums[i] / counts[i] if counts[i] else np.nan,
                }
            )
    return pd.DataFrame(rows, columns=[*keys, "sentence", "text", "position", "tokens", "entropy"])


def _blank(text: str) -> int:
    """The length of a text's leading white space; 0 if the text is only white space."""
    return len(text) - len(text.lstrip()) if text.strip() else 0

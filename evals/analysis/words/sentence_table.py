"""The sentences of the responses in a token table, with their mean entropy (arXiv 2506.14758, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.tokens.token_spans import detect_spelling, spell
from evals.analysis.tokens.token_table import need_columns, response_keys, whole_responses
from evals.analysis.words.sentences import split_sentences

if TYPE_CHECKING:
    import pandas as pd


def sentence_table(table: pd.DataFrame, *, spelling: str | None = None) -> pd.DataFrame:
    """One row a sentence.

    A token belongs to the sentence that has its first character that is no white space; white space alone to the
    sentence before it.

    Args:
        table: a token table.
        spelling: how its tokens are written (`evals.analysis.tokens.token_spans`); None finds it out.
    Returns:
        The columns that name the response, `sentence` (from 0 within it), `text` (bytes that are no UTF-8 as U+FFFD),
        `position` of its first token, `tokens`, and `entropy` (nats, mean over its tokens; NaN where a token that began
        in the sentence before holds all of it).
    Raises:
        ValueError: columns or tokens are missing.
    """
    import pandas as pd

    need_columns(table, ("token", "entropy"))
    keys = response_keys(table)
    spelling = spelling or detect_spelling(set(table["token"]))
    rows: list[dict[str, object]] = []
    for held in whole_responses(table):
        spelt = spell(held["token"].tolist(), spelling)
        sentences = split_sentences(spelt.text)
        if not sentences:
            continue
        anchors = [start + _blank(spelt.text[start:end]) for start, end in spelt.spans]
        which = np.searchsorted([start for start, _ in sentences], anchors, side="right") - 1
        counts = np.bincount(which, minlength=len(sentences))
        sums = np.bincount(which, held["entropy"].to_numpy(float), len(sentences))
        named = {key: held[key].iloc[0] for key in keys}
        for i, (start, end) in enumerate(sentences):
            text = spelt.text[start:end].strip().encode("utf-8", "replace").decode()
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
    """How much white space a text begins with; nothing if it is all white space."""
    return len(text) - len(text.lstrip()) if text.strip() else 0

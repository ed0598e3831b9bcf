"""Words of forks, and forks kept, by hand, and their figures."""

from __future__ import annotations

import pandas as pd
import pytest

from reproductions.forking_tokens.figures.forks import fork_overlap, word_entropies


def test_words_by_hand() -> None:
    table = pd.DataFrame(
        {
            "token": [" so", "so", "so\n", " 7", "7", "\n", "x"],
            "entropy": [2.0, 1.0, 3.0, 0.5, 0.1, 4.0, 9.0],
        }
    )
    # sorted 0.1 0.5 1 2 3 4 9: 1 + floor(0.2 * 6) = 2 are forks, from 4 on
    words = word_entropies(table)
    assert words.to_dict("list") == {
        "word": ["x", "'\\n'", "so", "7"], "count": [1, 1, 3, 2], "forks": [1, 1, 0, 0],
        "mean_entropy": [9.0, 4.0, 2.0, pytest.approx(0.3)],
    }  # fmt: skip
    odd = pd.DataFrame({"token": [" \x04", "\x04", " "], "entropy": [2.0, 2.0, 1.0]})  # no font has such a sign
    assert word_entropies(odd)["word"].tolist() == ["'\\x04'", "' '"]


def test_forks_kept_by_hand() -> None:
    # 6 tokens of problem a and 5 of b. The fifth of highest entropy of 11 is 3 tokens: a0, a1, b0. After: a0, b1, b2
    # stay or come. Kept: of a's two forks one, of b's one none: mean over problems (1/2 + 0)/2
    rows = [("a", 0, t) for t in range(6)] + [("b", 0, t) for t in range(5)]
    before = pd.DataFrame(rows, columns=["problem_id", "sample", "position"]).assign(token_id=1, entropy=0.0)
    after = before.copy()
    before.loc[[0, 1, 6], "entropy"] = [3.0, 2.0, 1.0]
    after.loc[[0, 7, 8], "entropy"] = [3.0, 2.0, 1.0]
    overlap = fork_overlap(before, after)
    assert [overlap[k] for k in ("mean", "pooled", "count", "problems")] == [0.25, pytest.approx(1 / 3), 3, 2]
    assert fork_overlap(before, before)["mean"] == 1

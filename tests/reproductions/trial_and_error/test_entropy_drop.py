"""Tokens whose entropy falls fastest, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from reproductions.trial_and_error.figures.entropy_drop import (
    entropy_slopes,
    fastest_drops,
    fastest_tokens,
    places_of_drops,
)
from tests.evals.analysis.rendered import check_renders


def reading(entropies: Mapping[str, float]) -> pd.DataFrame:
    """A right response "a b a", a wrong one "b c c" and an unscored one "d": all tokens of a letter alike."""
    rows = [
        {"problem_id": p, "sample": 0, "position": i, "token_id": ord(letter), "token": letter, "verdict": verdict,
         "entropy": entropies[letter]}
        for p, text, verdict in (("1", "aba", "correct"), ("2", "bcc", "wrong"), ("3", "d", "unscored"))
        for i, letter in enumerate(text)
    ]  # fmt: skip
    return pd.DataFrame(rows)


STEPS = {
    0: reading({"a": 1.0, "b": 1.0, "c": 2.0, "d": 9.0}),
    10: reading({"a": 1.0, "b": 0.9, "c": 2.0, "d": 0.0}),
    20: reading({"a": 1.0, "b": 0.8, "c": 0.5, "d": 0.0}),
}


def test_slopes_by_hand() -> None:
    slopes_table = entropy_slopes(STEPS, minimum=2).set_index("token")
    # over steps -10, 0, 10: b (-10 + 0 + 8) / 200 = -0.01; c (-20 + 5) / 200 = -0.075; d is unscored
    assert slopes_table["slope"].to_dict() == pytest.approx({"a": 0.0, "b": -0.01, "c": -0.075})
    assert slopes_table["place"].to_dict() == {"a": "correct", "b": "both", "c": "incorrect"}
    assert slopes_table["count"].to_dict() == {"a": 2, "b": 2, "c": 2}
    assert entropy_slopes(STEPS, minimum=3).empty
    # two steps: the difference
    pair = entropy_slopes({0: STEPS[0], 20: STEPS[20]}, minimum=1).set_index("token")["slope"]
    assert pair["c"] == pytest.approx(-1.5 / 20)
    # the order in which a checkpoint's table stands does not matter
    shuffled = {**STEPS, 20: STEPS[20].iloc[::-1]}
    pd.testing.assert_frame_equal(entropy_slopes(shuffled, minimum=2).set_index("token"), slopes_table)


def test_shares_by_hand() -> None:
    slopes = pd.DataFrame({"place": ["correct"] * 4 + ["incorrect"] * 4 + ["both"] * 2, "slope": [0.0] * 10})
    slopes.loc[[4, 8], "slope"] = [-2.0, -1.0]
    drops = fastest_drops(slopes, share=0.2).set_index("place")  # 1 + floor(0.2 * 9) = 2 of ten
    assert drops["tokens"].to_dict() == {"correct": 4, "incorrect": 4, "both": 2}
    assert drops["of_all"].to_dict() == {"correct": 0.4, "incorrect": 0.4, "both": 0.2}
    assert drops["of_fastest"].to_dict() == {"correct": 0.0, "incorrect": 0.5, "both": 0.5}
    with pytest.raises(ValueError, match="at least one"):
        fastest_drops(slopes[:0])
    with pytest.raises(ValueError, match="two steps or more, got 1"):
        entropy_slopes({0: STEPS[0]})
    with pytest.raises(ValueError, match="the same tokens"):
        entropy_slopes({0: STEPS[0], 1: STEPS[10][:-1]})


def test_the_fastest_tokens_are_listed_first() -> None:
    copies = {step: pd.concat([t.assign(sample=i) for i in range(3)], ignore_index=True) for step, t in STEPS.items()}
    (plot,) = fastest_tokens(["base", "GRPO"], {"GRPO": copies})  # each token occurs six times
    # slopes per step: c -0.075, b -0.01, a 0
    assert plot.numbers["token"].tolist() == ["c", "b", "a"]
    assert plot.numbers["nats per 1,000 steps"].tolist() == pytest.approx([-75, -10, 0])
    places = places_of_drops(["base", "GRPO"], {"GRPO": copies})
    assert np.allclose(places.numbers[["of_all", "of_fastest"]].sum(), 1) and "steps 0, 10, 20" in places.caption
    for each in (plot, places):
        check_renders(each)

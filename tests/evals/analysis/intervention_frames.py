"""Frames of interventions and of samples made up for the tests of their figures."""

from __future__ import annotations

import pandas as pd

from evals.analysis.effects import effects

LONG = "GRPO + EGSW with a name that is longer than a line of a legend can be, three training seeds averaged"
WORDS = {"c": "correct", "w": "wrong", "u": "unscored"}


def interventions(**groups: str) -> pd.DataFrame:
    """Group -> its problems, "original altered" each: frame(top="cc cw, cc ww")."""
    rows = [
        (group, f"p{i}", *pair.split()) for group, text in groups.items() for i, pair in enumerate(text.split(", "))
    ]
    verdicts = [
        {"problem_id": f"{i}{end}", "verdict": WORDS[letter]}
        for i, row in enumerate(rows)
        for end, letters in zip("oa", row[2:], strict=True)
        for letter in letters
    ]
    frame = pd.DataFrame([row[:2] for row in rows], columns=["group", "problem_id"])
    return frame.join(effects([(f"{i}o", f"{i}a") for i in range(len(rows))], pd.DataFrame(verdicts)))


FRAME = interventions(top="cc ww, cc cw, cc ww", bottom="cc cc, cc cw, cw cc")
UNKNOWN = interventions(top="uu cc, cc ww, cc cc", bottom="uu cc, uu cc, uu cc")

"""Frames of interventions and of samples made up for the tests of their figures."""

from __future__ import annotations

import pandas as pd

from tests.evals.analysis.test_effects import frame_of

LONG = "GRPO + EGSW with a name that is longer than a line of a legend can be, three training seeds averaged"


def interventions(**groups: str) -> pd.DataFrame:
    """Group -> its problems, "original altered" each: frame(top="cc cw, cc ww")."""
    pairs = ((group, i, pair) for group, text in groups.items() for i, pair in enumerate(text.split(", ")))
    return frame_of(*((group, f"p{i}", *pair.split()) for group, i, pair in pairs))


FRAME = interventions(top="cc ww, cc cw, cc ww", bottom="cc cc, cc cw, cw cc")
UNKNOWN = interventions(top="uu cc, cc ww, cc cc", bottom="uu cc, uu cc, uu cc")

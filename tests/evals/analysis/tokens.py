"""Small token tables for tests, in the shape of evals/analysis/token_pass.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd


def token_table(
    responses: Mapping[tuple[str, int], Sequence[str | tuple[str, float]]], *, verdict: str = "correct"
) -> pd.DataFrame:
    """(problem, sample) -> tokens, or (token, entropy); an entropy that is not given is 0."""
    rows: list[dict[str, Any]] = []
    for (problem, sample), tokens in responses.items():
        for position, held in enumerate(tokens):
            token, entropy = (held, 0.0) if isinstance(held, str) else held
            rows.append({"problem_id": problem, "sample": sample, "position": position, "length": len(tokens),
                         "token_id": len(token), "token": token, "logp": -0.5, "entropy": entropy, "nucleus": 1,
                         "alternative_id": 0, "alternative_logp": -1.0, "verdict": verdict})  # fmt: skip
    return pd.DataFrame(rows)

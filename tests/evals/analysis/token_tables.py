"""Token tables made up for tests: random, or from a few numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evals.analysis.token_pass import COLUMNS

VERDICTS = ("correct", "wrong", "no_answer", "truncated", "unscored")


def token_table(
    responses: Mapping[tuple[str, int], Sequence[str | tuple[Any, ...]]], *, verdict: str = "correct"
) -> pd.DataFrame:
    """(problem, sample) -> tokens: a text, (text, entropy) or (id, entropy, id of the alternative)."""
    rows: list[dict[str, Any]] = []
    for (problem, sample), tokens in responses.items():
        for position, given in enumerate(tokens):
            token, entropy, alternative = (given, 0.0, 0) if isinstance(given, str) else (*given, 0)[:3]
            number = token if isinstance(token, int) else len(token)
            rows.append({"problem_id": problem, "sample": sample, "position": position, "length": len(tokens),
                         "token_id": number, "token": str(token), "logp": -entropy, "entropy": entropy, "nucleus": 1,
                         "alternative_id": alternative, "alternative_logp": -1.0, "verdict": verdict})  # fmt: skip
    return pd.DataFrame(rows)


def random_table(
    problems: int = 4, samples: int = 3, *, longest: int = 30, seed: int = 0, words: int = 8, shift: float = 0.0
) -> pd.DataFrame:
    """A table with the columns of a token pass. Tokens, verdicts and lengths follow from the seed. `shift` alone moves
    log-probabilities and entropies, as another model that reads the same responses."""
    generator = np.random.default_rng(seed)
    parts = []
    for problem in range(problems):
        for sample in range(samples):
            length = int(generator.integers(3, longest))
            ids = generator.integers(0, words, length)
            base = generator.gamma(0.4, 0.8, length)
            noise = generator.normal(0, 1, length)
            logp = -generator.gamma(0.3, 1.0, length)
            verdict = VERDICTS[generator.integers(len(VERDICTS))]
            parts.append(
                pd.DataFrame(
                    {
                        "problem_id": f"p{problem}", "sample": sample, "position": np.arange(length), "length": length,
                        "token_id": ids, "token": [f" w{i}" for i in ids],
                        "logp": logp * np.exp(shift * noise), "entropy": base * np.exp(shift * noise),
                        "nucleus": 1 + (3 * base).astype(int), "alternative_id": ids + 1,
                        "alternative_logp": logp - 1, "update_size": np.sqrt(base), "verdict": verdict,
                    }
                )
            )  # fmt: skip
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]

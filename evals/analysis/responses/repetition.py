"""How much a text repeats itself: redundancy of its n-grams (arXiv 2508.07534, section 4.4.1; 2506.14758, 6.2)."""

from __future__ import annotations

from collections import Counter
from typing import Literal

Kind = Literal["not_distinct", "repeated"]


def redundancy(text: str, measure: Kind, *, n: int = 3) -> float:
    """Share of redundant n-grams of words (split at white space), in 0..1; 0 for fewer than n words.

    Neither paper defines it.
    not_distinct: 1 - distinct n-grams / all n-grams.
    repeated: n-grams that occur more than once, each occurrence counted, / (all n-grams + 1), as in an unused function
        of that name in the released code of arXiv 2508.07534.

    Raises:
        ValueError: n < 1.
    """
    if n < 1:
        raise ValueError(f"n: expected at least 1, got {n}")
    words = text.split()
    grams = Counter(zip(*(words[start:] for start in range(n)), strict=False))
    total = grams.total()
    if total == 0:
        return 0.0
    if measure == "not_distinct":
        return 1 - len(grams) / total
    return sum(count for count in grams.values() if count > 1) / (total + 1)

"""A control: a reward that knows nothing of the right answer."""

from __future__ import annotations

from hashlib import sha256


def coin(response: str, answer: str) -> float:
    """1 or 0 with equal chance, from a hash of the response: no better answer earns more."""
    return float(sha256(response.encode()).digest()[0] & 1)


coin.range = (0.0, 1.0)  # type: ignore[attr-defined]

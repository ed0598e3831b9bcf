"""Your own rewards: functions of (response, answer), each with the range of its values."""

from __future__ import annotations


def concise(response: str, answer: str) -> float:
    """1 for an empty response, falling to 0 at 200 characters."""
    return max(0.0, 1.0 - len(response) / 200)


concise.range = (0.0, 1.0)  # type: ignore[attr-defined]

"""A reward that differs between nearly any two responses: SmolLM2 solves too few problems for groups to differ."""

from __future__ import annotations


def spaces(response: str, answer: str) -> float:
    """The share of spaces and line breaks in the text."""
    return sum(character.isspace() for character in response) / max(1, len(response))


spaces.range = (0.0, 1.0)  # type: ignore[attr-defined]

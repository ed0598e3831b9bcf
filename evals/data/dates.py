"""Dates of problems and models: could a model have been trained on a benchmark?

Dates are months. A problem published before a model's release may be in its training data (nothing here can rule that
out); one published later cannot be, unless the set was edited from older problems.
"""

from __future__ import annotations

import re
from typing import Literal

from evals.data import benchmarks

Age = Literal["older than the model", "newer than the model", "never published", "not known"]

# month of the weights' release; the first pattern in a hub id counts
RELEASED: tuple[tuple[str, str], ...] = (
    (r"qwen-?2\.5|qwen2_5", "2024-09"),
    (r"qwen-?3.*2507", "2025-07"),
    (r"qwen-?3", "2025-04"),
    (r"deepseek-r1-0528", "2025-05"),
    (r"deepseek-r1", "2025-01"),
    (r"llama-?3\.1", "2024-07"),
)


def published(benchmark: str) -> str | None:
    """The month in which the last of a benchmark's problems became public, "never", or None if unknown.

    Raises:
        ValueError: no such benchmark.
    """
    stated = benchmarks.task(benchmark)["metadata"].get("published")
    return None if stated is None else str(stated)


def released(model: str) -> str | None:
    """The release month of the base model that a hub id names; None if unknown.

    A model trained from another usually has its base's name in its id.
    """
    for pattern, month in RELEASED:
        if re.search(pattern, model.lower()):
            return month
    return None


def age(benchmark: str, model: str) -> Age:
    """Whether the problems were public before the model was released."""
    problems, weights = published(benchmark), released(model)
    if problems == "never":
        return "never published"
    if problems is None or weights is None:
        return "not known"
    return "older than the model" if problems <= weights else "newer than the model"

"""The sizes at which tests train and measure in seconds, as values and as words of a command."""

from __future__ import annotations

from typing import Any

SIZES: dict[str, Any] = {
    "prompts_per_rollout": 2,
    "group_size": 4,
    "max_completion_tokens": 8,
    "protocol.benchmarks": ["tiny_short"],
    "protocol.rows": 4,
    "protocol.n": 2,
    "protocol.ks": [1, 2],
    "protocol.max_tokens": 8,
}
WORDS = [f"{key}={value}".replace("'", "") for key, value in SIZES.items()]

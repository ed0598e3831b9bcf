"""Reasoning before the response: which part of a text is graded. Standard library only."""

from __future__ import annotations

import re

READ = ("after", "whole")
"""after: what follows the last marker that ends a thought; whole: all of the text, thoughts included."""
_PAIRS = {  # of chat templates: what begins a thought -> what ends it
    "<think>": "</think>",  # DeepSeek-R1, Qwen3, QwQ and most others
    "<thinking>": "</thinking>",
    "<|begin_of_thought|>": "<|end_of_thought|>",  # Sky-T1, OpenThinker
    "[THINK]": "[/THINK]",  # Magistral
    "<seed:think>": "</seed:think>",
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere's Command A Reasoning
    "◁think▷": "◁/think▷",  # Kimi
    "<|channel|>analysis": "<|channel|>final<|message|>",  # gpt-oss
}
_BEGIN = re.compile("|".join(map(re.escape, _PAIRS)))
_END = re.compile("|".join(map(re.escape, _PAIRS.values())))


def has_marker(text: str) -> bool:
    """Whether a thought begins or ends in the text."""
    return bool(_BEGIN.search(text) or _END.search(text))


def in_marker(token: str) -> bool:
    """Whether a token of this text is a marker or one of its parts, as `<|channel|>`."""
    return bool(token) and any(token in marker for pair in _PAIRS.items() for marker in pair)


def begins(prompt: str) -> bool:
    """Whether the prompt begins the thought itself, as some chat templates do."""
    found = [*_BEGIN.finditer(prompt)]
    return bool(found) and not prompt[found[-1].end() :].strip()


def graded_part(
    text: str, finish_reason: str | None, reasoning: str = "after", begun: bool = False
) -> tuple[str, str | None]:
    """(the part of a text that is graded, its finish reason): a thought that is never closed leaves nothing after it,
    and the response is truncated ("length") whatever ended it. Without markers all of the text is the response.

    Args:
        begun: the prompt begins the thought (`begins`).
    Raises:
        ValueError: `reasoning` is none of `READ`.
    """
    if reasoning not in READ:
        raise ValueError(f"reasoning is {reasoning!r}; expected one of {', '.join(READ)}")
    if reasoning == "whole":
        return text, finish_reason
    ends = [*_END.finditer(text)]
    if begun and not ends:
        return "", "length"
    part = text[ends[-1].end() :] if ends else text
    if (again := _BEGIN.search(part)) is not None:
        return part[: again.start()], "length"
    return part, finish_reason

"""Reasoning before the response: which part of a text is graded. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evals.grading import Gold, Response

READ = ("after", "whole")
"""after: what follows the last marker that ends a thought; whole: all of the text, thoughts included."""
_PAIRS = {  # chat templates: what begins a thought -> what ends it
    "<think>": "</think>",  # DeepSeek-R1, Qwen3, QwQ and most others
    "<thinking>": "</thinking>",
    "<|begin_of_thought|>": "<|end_of_thought|>",  # Sky-T1, OpenThinker
    "[THINK]": "[/THINK]",  # Magistral
    "<seed:think>": "</seed:think>",
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere's Command A Reasoning
    "◁think▷": "◁/think▷",  # Kimi
    "<|channel|>analysis": "<|channel|>final<|message|>",  # gpt-oss
}
_FINAL = r"<\|channel\|>final(?: *<\|constrain\|>\w*)?(?:<\|message\|>)?"  # gpt-oss, also where servers drop a part
_BEGIN = re.compile("|".join(map(re.escape, _PAIRS)))
_MARKER = re.compile(f"(?P<begin>{_BEGIN.pattern})|{'|'.join(map(re.escape, _PAIRS.values()))}|{_FINAL}")
_QUOTES = {"`": "`", '"': '"', "'": "'", "“": "”", "‘": "’", "«": "»"}


def has_marker(text: str) -> bool:
    """Whether a thought begins or ends in the text."""
    return next(_markers(text), None) is not None


def has_thought(row: Response) -> bool:
    """Whether a thought begins or ends in a response, or its prompt began it."""
    return any(row[3:]) or has_marker(row[1])


def graded_row(row: Response, reasoning: str = "after") -> tuple[Gold, str, str | None]:
    """The row with the part of its response that is graded (`graded_part`)."""
    return (row[0], *graded_part(row[1], row[2], reasoning, any(row[3:])))


def _markers(text: str) -> Iterator[re.Match[str]]:
    """The markers in a text, without those in quotes: they are spoken about."""
    for marker in _MARKER.finditer(text):
        start, end = marker.span()
        if not start or _QUOTES.get(text[start - 1]) != text[end : end + 1]:
            yield marker


def in_marker(token: str) -> bool:
    """Whether a token of this text is a marker or one of its parts, as `<|channel|>`."""
    return bool(token) and any(token in marker for pair in _PAIRS.items() for marker in pair)


def begins(prompt: str) -> bool:
    """Whether the prompt begins the thought itself, as some chat templates do."""
    markers = [*_BEGIN.finditer(prompt)]
    return bool(markers) and not prompt[markers[-1].end() :].strip()


def graded_part(
    text: str, finish_reason: str | None, reasoning: str = "after", begun: bool = False
) -> tuple[str, str | None]:
    """(the part of a text that is graded, its finish reason): a thought that is never closed leaves nothing after it,
    and the response is truncated ("length") whatever ended it. Without markers all of the text is the response.

    A marker that closes no thought, because none is open, belongs to the response. It is left out of it.

    Args:
        begun: the prompt begins the thought (`begins`).
    Raises:
        ValueError: `reasoning` is none of `READ`.
    """
    if reasoning not in READ:
        raise ValueError(f"reasoning is {reasoning!r}. Expected one of {', '.join(READ)}")
    if reasoning == "whole":
        return text, finish_reason
    parts: list[str] = []  # what is said after the last thought that was closed
    start = 0  # where the rest of the text begins
    opened: int | None = 0 if begun else None  # where the thought begins that is open
    for number, marker in enumerate(_markers(text)):
        if marker["begin"]:
            opened = marker.start() if opened is None else opened
        elif opened is not None or number == 0:  # without a beginning, the first one closes what the template began
            parts, start, opened = [], marker.end(), None
        else:
            parts.append(text[start : marker.start()])
            start = marker.end()
    visible = "".join(parts) + text[start:opened]
    return (visible, finish_reason) if opened is None else (visible, "length")

"""A verdict of the authors, as tools write it."""

from __future__ import annotations

import re

from evals.errors import UsageError


def as_label(value: object, threshold: float | None = None, reached: bool = True) -> bool | None:
    """A verdict as tools write it: true and false, 1 and 0, pass and fail, C, I and N (no answer), also as text (as in
    a CSV). -1 is the reward of an incorrect answer. None for nothing: null, NaN, an empty text.

    Args:
        threshold: correct is what is this large or larger. None: nothing between 0 and 1 is a verdict.
        reached: whether some value of the file is 1 or more, so that a threshold of 1 tells them apart.
    Raises:
        UsageError: another value, such as 0.1 or "P" (inspect's word for 0.5).
    """
    number: object = value
    if isinstance(value, str):
        text = value.strip().lower()
        number = None if text in _NOTHING else _AS_NUMBER.get(text, value)
        if isinstance(number, str):
            number = float(text) if _NUMBER.fullmatch(text) else value
    if number is None or number != number:
        return None
    if isinstance(number, int | float):
        if threshold is not None:
            return number >= threshold
        if number in (1, 0, -1):  # True == 1 == 1.0
            return number == 1
    raise UsageError(
        f"{value!r} is no verdict. Expected true or false, 1 or 0"
        + (
            ". Or type label_threshold=1: 1 is correct, less is not"
            if reached and isinstance(number, int | float) and -1 <= number <= 1
            else ""
        )
    )


def is_label(value: object) -> bool:
    """Whether a value is a verdict, or nothing."""
    try:
        as_label(value)
    except UsageError:
        return False
    return True


def says_correct(word: str) -> bool:
    """Whether a word, and no number, is the verdict of a correct answer."""
    return word.strip().lower() in _CORRECT


_CORRECT = ("true", "c", "correct", "pass", "passed")
_NOTHING = ("", "null", "none", "nan")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_AS_NUMBER = {
    **dict.fromkeys(_CORRECT, 1.0),
    **dict.fromkeys(("false", "i", "n", "incorrect", "wrong", "fail", "failed"), 0.0),
    "p": 0.5,
}

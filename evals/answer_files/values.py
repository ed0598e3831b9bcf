"""How the values of a file become the fields of a sample: golds, ids, responses and conversations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evals.data.rows import is_nothing
from evals.errors import UsageError
from evals.paths import opened


class Unread(tuple[str, ...]):
    """No golds, because the file's value is none: `why`, in words."""

    why: str

    @classmethod
    def because(cls, why: str) -> Unread:
        """No golds."""
        made = cls()
        made.why = why
        return made


def golds_of(value: object) -> tuple[str, ...]:
    """The golds in a value: a text, a number as it is written, or a list of them; () where there is none, and `Unread`
    where the value is of another type.

    Nothing is null, NaN, an infinity, an empty or a blank text.
    """
    if isinstance(value, list):
        if strange := [gold for gold in value if not _is_gold(gold) or is_nothing(gold)]:
            return Unread.because(
                f"answer is {short(value)}, a list with {short(strange[0])} in it. Expected texts or numbers"
            )
        return tuple(map(str, value))
    if is_nothing(value):
        return ()
    if not _is_gold(value):
        inside = ". Type columns=answer:COLUMN.KEY, which reaches inside" if isinstance(value, dict) else ""
        return Unread.because(f"answer is {short(value)}. Expected a string or a number{inside}")
    return (str(value),)


def _is_gold(value: object) -> bool:
    return isinstance(value, str) or is_number(value)


def id_of(value: object) -> str:
    """The id of a problem.

    Raises:
        UsageError: it is no text and no whole number, or says nothing.
    """
    if is_conversation(value):
        value = text_of(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or is_nothing(value):
        raise UsageError(f"problem_id is {short(value)}. Expected a string or a whole number")
    return str(value)


def response_of(value: object) -> str | None:
    """The text of a response: of a conversation what the model said, of an OpenAI response its last message, of a
    number what the file has; None where no response came.

    Raises:
        UsageError: it is of another type.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return reply_in(talk) if value.startswith("[{") and is_conversation(talk := opened(value)) else value
    if (output := output_of(value)) is not None:
        return last_message(output)
    if is_conversation(value):
        return reply_in(value)
    if is_parts(value):
        return text_of(value)
    if is_number(value):
        return str(value)
    inside = ". Type columns=response:COLUMN.KEY, which reaches inside" if isinstance(value, dict) else ""
    if isinstance(value, list):
        inside = ". It is a list inside a list. Type columns=response:COLUMN.0 for its first item, or .-1 for its last"
    raise UsageError(f"response is {short(value)}. Expected a text or a number{inside}")


def is_number(value: object) -> bool:
    """Whether it is a number; true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def responses_of(value: object) -> list[str | None]:
    """The responses in a value: one, or those of a list.

    Raises:
        UsageError: one is of another type.
    """
    whole = is_conversation(value) or is_parts(value) or output_of(value) is not None
    several = isinstance(value, list) and not whole
    return [response_of(item) for item in value] if isinstance(value, list) and several else [response_of(value)]


def replied(text: str | None, reason: str | None = None) -> tuple[str, str | None]:
    """(response, finish reason) of a text that may not have come, by the rule of an evaluation: it was withheld, unless
    it was cut at the limit before it began."""
    if text is not None:
        return text, reason
    return "", "no_text" if reason in ("stop", None) else reason


def text_of(messages: object) -> str:
    """The text of a conversation, or of a message in parts; a string is returned unchanged."""
    if messages is None or isinstance(messages, str):
        return messages or ""
    if not isinstance(messages, list):
        raise UsageError(f"expected a text or a list of messages, got {short(messages)}")
    parts = (next((m[key] for key in _CONTENT if key in m), None) if isinstance(m, dict) else m for m in messages)
    return "\n".join(text_of(part) for part in parts)


_CONTENT = ("content", "text", "prompt", "value")  # keys of a message, or of a part of one
_MODEL = ("assistant", "bot", "gpt", "model", "ai", "chatgpt")  # who the model is in a conversation


def _role(message: object) -> str | None:
    """Who says a message: its `role`, or `from` as ShareGPT has it."""
    role = message.get("role", message.get("from")) if isinstance(message, dict) else None
    return role.lower() if isinstance(role, str) else None


def is_conversation(value: object) -> bool:
    """Whether it is a list of messages, each with a role."""
    return isinstance(value, list) and bool(value) and all(_role(message) is not None for message in value)


def is_parts(value: object) -> bool:
    """Whether it is a message in parts, each with a type, of which one has a text."""
    parts = value if isinstance(value, list) and all(isinstance(part, dict) for part in value) else []
    typed = all(isinstance(part.get("type"), str) for part in parts)
    return typed and any(isinstance(part.get("text"), str) for part in parts)


def reply_in(messages: object) -> str:
    """The model's words in a conversation."""
    turns = messages if isinstance(messages, list) else []
    return text_of([message for message in turns if _role(message) in _MODEL])


def output_of(value: object) -> list[dict[str, object]] | None:
    """The items of an OpenAI response, or of its `output`: objects with a type, a message among them; else None."""
    items = value.get("output") if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, dict) and "type" in item for item in items):
        return None
    return items if any(item["type"] == "message" for item in items) else None


def last_message(output: Sequence[Mapping[str, object]]) -> str:
    """The text of the last message of an OpenAI response."""
    return text_of([[item for item in output if item["type"] == "message"][-1]])


def problem_text(value: object) -> str | None:
    """The text of a problem, which may be a conversation; None for anything else."""
    return text_of(value) if is_conversation(value) else as_str(value)


def as_str(value: object) -> str | None:
    """A text; None for anything else."""
    return value if isinstance(value, str) else None


def short(value: object) -> str:
    """A value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

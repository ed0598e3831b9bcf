"""The response in a server's reply: its text, why it ended, its tokens. Pure: `openai` sends and receives."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_TOKENS = 2**31 - 1  # that a table of verdicts holds
ENDS: Mapping[str, tuple[str, ...]] = {  # ours -> what servers call it, in lower case
    "stop": ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "completed"),
    "length": ("length", "max_tokens", "max_output_tokens", "model_length"),
    "content_filter": (
        "content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii",
    ),
    "error": ("error", "abort", "aborted", "cancelled", "canceled", "failed", "insufficient_system_resource"),
}  # fmt: skip
_REASONS = {server_reason: our_reason for our_reason, names in ENDS.items() for server_reason in names}
_TEXTS = ("text", "output_text")  # the types of a part that is of the response
_HALF = re.compile("[\ud800-\udfff]")  # half of a surrogate pair: no file in UTF-8 holds it


@dataclass(frozen=True)
class Reply:
    """The reply of a server.

    Args:
        finish_reason: "stop", "length", "content_filter", "no_text" (it sent none), "error", another word of the
            server's, which says nothing of the text, or None.
        tokens, prompt_tokens: None where the server states no number of tokens.
        model: what the server says that its model is.
        strange: it states a number that is none, such as -1.
    """

    text: str
    finish_reason: str | None
    tokens: int | None
    prompt_tokens: int | None
    model: str | None
    strange: bool = False


class ReplyError(ValueError):
    """A reply of another form, with what is wrong in it."""


def read_reply(body: str, *, chat: bool) -> Reply:
    """The response in a reply to /chat/completions, or to /completions.

    Raises:
        ReplyError: it is not JSON, has no choice, or a text that is none.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ReplyError("the answer is not JSON") from None
    try:
        if answer["choices"] == []:
            raise IndexError("a choice")
        choice = answer["choices"][0]
        content = choice["message"].get("content") if chat else choice["text"]
        reason, usage, model = choice.get("finish_reason"), answer.get("usage"), answer.get("model")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ReplyError(f"the answer lacks {error}") from None
    if not isinstance(reason, str | None):
        raise ReplyError(f"finish_reason is {type(reason).__name__}: expected a text")
    text, ended = _text(content), _ended(reason)
    if text is None:  # a server with separate reasoning was cut off inside it, or it withheld the text
        text, ended = "", ended if ended in ("length", "content_filter", "error") else "no_text"
    stated = usage if isinstance(usage, Mapping) else {}
    counts = [stated.get(name) for name in ("completion_tokens", "prompt_tokens")]
    tokens, read = map(_count, counts)
    strange = any(count is not None and _count(count) is None for count in counts)
    return Reply(_HALF.sub("\ufffd", text), ended, tokens, read, model if isinstance(model, str) else None, strange)


def _text(content: object) -> str | None:
    """The text of a message: as it is, or the parts of it that are no thought, image or call, or None without one."""
    if content is None or isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, Mapping):
            raise ReplyError(f"the content is {type(part).__name__}: expected a text, or parts of one")
        elif part.get("type", "text") in _TEXTS:
            if not isinstance(part.get("text"), str):
                raise ReplyError("a part of the content has the type text and no text")
            texts.append(part["text"])
    return "".join(texts) if texts else None


def _ended(reason: str | None) -> str | None:
    """Our word for a finish reason. The server's own word where we have none."""
    return _REASONS.get(reason.lower(), _HALF.sub("\ufffd", reason)) if reason else None


def _count(number: object) -> int | None:
    """A number of tokens, or None for what is none."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or number != number:
        return None
    return int(number) if 0 <= number <= MOST_TOKENS and number == int(number) else None

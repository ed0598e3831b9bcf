r"""Where the answer is in a response. Standard library only; linear time in the length of the response.

A policy says which part of a response counts as its answer:

    last_box         the last complete, non-empty `\boxed{...}` or `\fbox{...}` (the default)
    first_box        the first one
    all_boxes_agree  the last one, if all of them hold the same text
    answer_line      the rest of the last `Answer: ...` (the DAPO prompt)
    letter           the letter of a multiple choice, in the last box or after the last "answer is" or "Answer:" (GPQA)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# What matters to the nesting of braces: a box that opens, a box with a bare token, an escaped character, a brace. Two
# backslashes before `boxed` come from text that was escaped twice.
_TOKEN = re.compile(
    r"\\{1,2}(?:boxed|fbox)(?![A-Za-z])\s*(?:(?P<open>\{)|(?P<bare>[-+]?[\d.][^\s{}$\\]*|[A-Za-z](?![A-Za-z])))?"
    r"|\\.|(?P<brace>[{}])",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\(?:boxed|fbox)")
_ANSWER_LINE = re.compile(r"answer[ \t]*(?:\*\*[ \t]*)?:[ \t]*(?:\*\*)?([^\n]*)", re.IGNORECASE)
_LETTER_IN_BOX = re.compile(r"\W{0,9}(?:\\(?:text|textbf|mathrm|mathbf)\s?\{)?\W{0,9}([A-Za-z])(?![A-Za-z])")
_LETTER_IN_TEXT = re.compile(
    r"answer(?: is)?:?\s{0,3}[*$({\\]{0,9}(?:(?:text|mathrm|boxed)\{)?\(?([A-Z])(?![A-Za-z])", re.IGNORECASE
)


@dataclass(frozen=True)
class Extraction:
    """What a response answered.

    `answer` is None when there is none in the form that the policy asks for. `boxed`: the response holds a complete,
    non-empty box. `truncated`: a box was opened and never closed.
    """

    answer: str | None
    boxed: bool
    truncated: bool


def boxes(text: str) -> list[str]:
    r"""The contents of the complete `\boxed{...}` and `\fbox{...}` (or `\boxed 5`), outermost only, in order."""
    return _scan(text)[0]


def extract(response: str, policy: str = "last_box") -> Extraction:
    """The answer of a response under a policy (see the module's text).

    Raises:
        ValueError: the policy is unknown.
    """
    if policy not in POLICIES:
        raise ValueError(f"extraction policy {policy!r} is unknown; expected one of {', '.join(POLICIES)}")
    contents, opened = _scan(response)
    filled = [content.strip() for content in contents if content.strip()]
    return Extraction(POLICIES[policy](response, filled), bool(filled), opened)


def _scan(text: str) -> tuple[list[str], bool]:
    """Contents of the complete boxes, and whether a box is left open. One pass with a stack of open braces, from the
    first box on: braces before it are never closed before it is."""
    first = _COMMAND.search(text)
    if first is None:
        return [], False
    found: list[tuple[int, str]] = []  # (where the box starts, its content)
    stack: list[tuple[int, int] | None] = []  # a box: (where it starts, where its content starts); another brace: None
    opened = False
    for token in _TOKEN.finditer(text, first.start()):
        if token["open"]:
            stack.append((token.start(), token.end()))
        elif token["bare"]:
            found.append((token.start(), token["bare"].rstrip(".,;:")))
        elif token["brace"] == "{":
            stack.append(None)
        elif token["brace"] == "}" and stack:
            box = stack.pop()
            if box is not None:
                while found and found[-1][0] > box[0]:  # boxes inside this one are part of its content
                    found.pop()
                found.append((box[0], text[box[1] : token.start()]))
        elif token.end() == len(text) and token[0].lstrip("\\").startswith(("boxed", "fbox")):
            opened = True  # cut right after the command
    return [content for _, content in found], opened or any(box is not None for box in stack)


def _last_box(_: str, filled: list[str]) -> str | None:
    return filled[-1] if filled else None


def _first_box(_: str, filled: list[str]) -> str | None:
    return filled[0] if filled else None


def _all_boxes_agree(_: str, filled: list[str]) -> str | None:
    return filled[-1] if len({"".join(content.split()) for content in filled}) == 1 else None


def _answer_line(response: str, _: list[str]) -> str | None:
    lines = _ANSWER_LINE.findall(response)
    return (lines[-1].strip().removesuffix("**").strip() or None) if lines else None


def _letter(response: str, filled: list[str]) -> str | None:
    if filled:
        match = _LETTER_IN_BOX.match(filled[-1])
        return match[1].upper() if match else None
    letters = _LETTER_IN_TEXT.findall(response)
    return letters[-1].upper() if letters else None


POLICIES: dict[str, Callable[[str, list[str]], str | None]] = {
    "last_box": _last_box,
    "first_box": _first_box,
    "all_boxes_agree": _all_boxes_agree,
    "answer_line": _answer_line,
    "letter": _letter,
}

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


_SEGMENT = re.compile(
    r"\$\$(.+?)\$\$|(?<!\\)\$((?:\\.|[^$\\])+)\$|\\\(((?:(?!\\\().)+?)\\\)|\\\[((?:(?!\\\[).)+?)\\\]", re.DOTALL
)
_FINAL = re.compile("final answer is:?", re.IGNORECASE)
_HOPE = re.compile("I hope it is correct", re.IGNORECASE)
_STATED = re.compile(r"answer\s*(?:is\s*:?|:)\s*(.+?)(?:\.\s|\.?\s*$|\n)", re.IGNORECASE | re.DOTALL)
_NUMBER = r"(?<![\w.])[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?|(?<![\w.])[-+]?\.\d+"
_LONGEST = 10_000  # the patterns here are quadratic at worst
_CANDIDATE = re.compile(rf"{_SEGMENT.pattern}|({_NUMBER})", re.DOTALL)
_TEXT = re.compile(r"\\text\s*\{[^{}]*\}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z][A-Za-z']+")
_PROSE = re.compile(r"(?:(?<![\\A-Za-z{'])(?!(?:and|or)\b)[A-Za-z']{2,}[\s,]+){2}")
_DATE = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d", re.IGNORECASE
)
_LABEL = re.compile(r"\\text\s*\{\s*(?:(?:the|final)\s+)*answer(?:\s+is)?\s*:?\s*\}", re.IGNORECASE)


def locate(text: str, *, numbers: bool = True) -> str:
    r"""The answer inside a bare answer, which may be a sentence.

    In order: "the final answer is ... I hope it is correct" (the Minerva prompt); boxes, where several are one answer
    when only a separator stands between them (`\boxed{1} and \boxed{2}`), else the last counts; and in prose what
    follows "answer is", of which, as of any prose, the last `$...$` or number counts. `numbers=False` leaves numbers in
    prose alone, which is right for a gold. In a text longer than 10,000 characters only boxes are looked for.
    """
    if len(text) > _LONGEST:
        contents = [content for content in boxes(text) if content.strip()]
        return contents[-1] if contents else text
    if final := _final(text):
        return final
    contents = [content for content in boxes(text) if content.strip()]
    if contents:
        return _joined(text, contents)
    text = _LABEL.sub("", text)
    if stated := _STATED.findall(text):
        text = str(stated[-1])
    return _last_candidate(text, numbers) if _is_prose(text) else text


def _final(text: str) -> str:
    """What the Minerva prompt asks to say last, or nothing."""
    ends = [match.start() for match in _HOPE.finditer(text)]
    starts = [match.end() for match in _FINAL.finditer(text, 0, ends[-1])] if ends else []
    return text[starts[-1] : ends[-1]].strip().removesuffix(".").rstrip() if starts else ""


def _is_prose(text: str) -> bool:
    """Words around `$...$`, but not only after it (a unit, a condition); or two words in a row where there is none."""
    outside = _SEGMENT.sub(" ", text)
    if outside == text and not re.match(r"\s*(?:\\text|[A-Za-z]{2})", text):
        text = _TEXT.sub(" ", text)  # words after a number or a formula: a unit, a condition
    elif outside != text:
        return not text.lstrip().startswith(("$", "\\(", "\\[")) and bool(_WORD.search(outside))
    return bool(_PROSE.search(text)) and not _DATE.search(text)


def _last_candidate(text: str, numbers: bool) -> str:
    """The last `$...$` that is more than a name, or number, in prose; the prose itself when it has none."""
    found = [match for match in _CANDIDATE.finditer(text) if numbers or match[5] is None]
    values = [match for match in found if match[5] or re.search(r"[\d=<>\\]", match[0].strip("\\()[]$ "))] or found
    if not values:
        return text
    last = values[-1]
    return last[0] + ("%" if last[5] and text[last.end() : last.end() + 1] == "%" else "")


def _joined(text: str, contents: list[str]) -> str:
    """The last of several boxes, with those before it while only a separator and one word or none stand between."""
    answer = [contents[-1]]
    for before, after in zip(contents[-2::-1], contents[:0:-1], strict=True):
        end = text.rfind(after)
        gap = text[text.rfind(before, 0, end) + len(before) : end]
        words = re.findall(r"[A-Za-z]+", re.sub(r"\\(?:quad|qquad|text|boxed|fbox)", " ", gap))
        if before == after or len(words) > 2 or (words and not {"and", "or"} & set(words)):
            break
        answer.insert(0, before)
        text = text[: text.rfind(before, 0, end) + len(before)]
    return ", ".join(answer)

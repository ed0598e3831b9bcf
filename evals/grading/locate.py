"""The answer inside a bare answer, which may be a sentence. Standard library only."""

from __future__ import annotations

import re

from evals.grading.extraction import boxes

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

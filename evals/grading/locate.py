"""The answer inside a bare answer, which may be a sentence. Standard library only."""

from __future__ import annotations

import re

from evals.grading.extraction import find_boxes, joined

_SEGMENT = re.compile(
    r"\$\$(.+?)\$\$|(?<!\\)\$((?:\\.|[^$\\])+)\$|\\\(((?:(?!\\\().)+?)\\\)|\\\[((?:(?!\\\[).)+?)\\\]", re.DOTALL
)
_FINAL = re.compile("final answer is:?", re.IGNORECASE)
_HOPE = re.compile("I hope it is correct", re.IGNORECASE)
_STATED = re.compile(
    r"answer\s*(?:\*\*\s*)?(?:is\s*:?|:)\s*(?:\*\*\s*)?(.+?)(?:\.\s|\.?\s*$|\n)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.IGNORECASE | re.DOTALL)
_HASHES = re.compile(r"(?:^|\n)#{4} ?(?!#)([^\n]+)\s*$")
_TURN = re.compile(r"<\|(?:im_start|im_end|endoftext|eot_id)\|>")
_NUMBER = (
    r"(?<![\w./^])[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?: \d{3})+(?!\d)|\d+)(?:\.\d+|,\d{1,2}(?![\d,]))?"
    r"(?:\s?/\s?\d+(?:\.\d+)?|\^\{?-?\d+\}?)?|(?<![\w./^])[-+]?\.\d+"
)
_STATES = re.compile(
    r"(?:\b(?:is|are|be|being|equals?|equal to|gives?|get|obtain|have|has|exactly|only|just|at|answers?)|[=:])\s*$",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|never|except|unless|excluding|besides|other than|instead of"
    r"|at\s+(?:least|most)|(?:more|less|fewer|greater|larger|smaller)\s+than|up\s+to)\s+(?:\w+\s+)?$",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\s*(?:(?:%|percent)\s*of|(?:more|less|fewer|greater|larger|smaller)\s+than)\b")
_NO = re.compile(r"\b(?:not|never|no|cannot|\w+n't)\b|[$\\]", re.IGNORECASE)
_STATES_VALUE = re.compile(
    rf"(?:\b(?:is|are|equals?|est)|(?<=[a-z]{{3}})\s?:)\s+(\d+:\d+|{_NUMBER})"
    r"\s?(?:(%)|[$€£](?:\s+(?!and\b|or\b)[a-z]{1,4}\b(?:\s[a-z]+)?)?)?\s*[.!]*\s*$"
)
_AMOUNT_SIGN = re.compile(r"(?<=\d) ?\$|\$ ?(?=\d)")
_COUNTED = re.compile(
    rf"\s*(?:(?:so|thus|hence|therefore)\b[\s,]*)?(?:there\s+(?:are|is)\s+(?:exactly\s+)?)?({_NUMBER})"
    r"\s+((?:[a-z]+\s+)?[a-z]+)\s+(?:to|for|that|which|who|when|if|since|because|as|so)\b",
    re.IGNORECASE,
)
_NOT_COUNTED = re.compile(
    r"\b(?:and|or|to|out|in|of|over|times|plus|minus|divided|by|point|dozen|hundred|thousand|[mb]illion)\b",
    re.IGNORECASE,
)
_LONGEST = 10_000  # the patterns here are quadratic at worst
_CANDIDATE = re.compile(rf"{_SEGMENT.pattern}|({_NUMBER})", re.DOTALL)
_TEXT = re.compile(r"\\text\s*\{[^{}]*\}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z][A-Za-z']+")
_PROSE = re.compile(r"(?:(?<![\\A-Za-z{'])(?!(?:and|or)\b)[A-Za-z']{2,}[\s,]+){2}")
_DATE = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d", re.IGNORECASE
)
_JOINED = re.compile(r"\s*,?\s*\b(?:and|or)\b\s*")
_IN_A_ROW = re.compile(rf"{_JOINED.pattern}|\s*,\s+")
_LABEL = re.compile(r"\\text\s*\{\s*(?:(?:the|final)\s+)*answer(?:\s+is)?\s*:?\s*\}", re.IGNORECASE)


def locate(text: str, *, numbers: bool = True) -> str:
    r"""The answer inside a bare answer, which may be a sentence.

    In order: "the final answer is ... I hope it is correct" (the Minerva prompt), the last `<answer>...</answer>` and
    a last line `#### 5` (GSM8K's), in each of which the same is looked for; what a model says for the user after its
    answer does not count; boxes, where several are one answer
    when only a separator stands between them (`\boxed{1} and \boxed{2}`), else the last counts; and in prose what
    follows "answer is", of which, as of any prose, the last `$...$` or number counts, with those before it that "and",
    "or" or, between numbers, a comma joins to it; unless it is denied ("not 5", "at least 5") or the prose begins with
    a count ("12 ways to choose 3 people"). "Price: 2,74" and "x equals 5" state a
    number as well.

    In a gold (`numbers=False`) prose is kept whole, unless it ends with "is" and one `$...$`. Text beside an empty box
    does not count. In a text longer than 10,000 characters only boxes are looked for.
    """
    if len(text) > _LONGEST:
        filled = [box for box in find_boxes(text) if box.content.strip()]
        return joined(text, filled) if filled else text
    text = text[: turn.start()] if (turn := _TURN.search(text, 1)) else text
    if final := _final(text):
        return final
    if tags := _TAG.findall(text):
        return locate(tags[-1].strip(), numbers=numbers)
    if line := _HASHES.search(text):
        return locate(line[1].strip(), numbers=numbers)
    contents = find_boxes(text)
    if contents:
        filled = [box for box in contents if box.content.strip()]
        return joined(text, filled) if filled else ""
    text = _LABEL.sub("", text)
    if stated := _STATED.findall(text):
        text = str(stated[-1])
    if not _is_prose(text):
        alone = _AMOUNT_SIGN.sub("", text) if text.count("$") == 1 else text
        value = _STATES_VALUE.search(text) if numbers and not _NO.search(alone) else None
        value = value if value and not re.search(r"\d", text[: value.start()]) else None
        return value[1] + (value[2] or "") if value else text
    return _last_candidate(text) if numbers else _stated_last(text)


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


def _stated_last(text: str) -> str:
    """The `$...$` that a gold ends with, after "is" and the like; else the gold itself."""
    last = next(reversed(list(_SEGMENT.finditer(text))), None)
    if last is None or text[last.end() :].strip(" .\n") or not _STATES.search(text[: last.start()]):
        return text
    return last[0]


def _last_candidate(text: str) -> str:
    """The last `$...$` that is more than a name, or number, in prose; the prose itself when it has none."""
    counted = _COUNTED.match(text)
    if counted and not _NOT_COUNTED.search(counted[2]):
        return f"{counted[1]} {counted[2]}"
    candidates = list(_CANDIDATE.finditer(text))
    values = [match for match in candidates if match[5] or re.search(r"[\d=<>\\]", match[0].strip("\\()[]$ "))]
    if not values and (last_stated := _stated_last(text)) != text:
        return last_stated
    if not values or _DENIES.search(text[: values[-1].start()]) or _COMPARED.match(text, values[-1].end()):
        return text
    last = values[-1]
    row = [last[0] + ("%" if last[5] and text[last.end() : last.end() + 1] == "%" else "")]
    for before, after in zip(values[-2::-1], values[:0:-1], strict=True):
        gap = text[before.end() : after.start()]
        if not (_IN_A_ROW if before[5] and after[5] else _JOINED).fullmatch(gap):
            break
        row.insert(0, before[0])
    return ", ".join(row)

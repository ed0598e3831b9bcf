r"""The conclusion of an answer that is a sentence or a derivation, as models put them into a box.

`\text{There are }13\cdot 13=169\text{ points. The boundary has }48\text{, so interior points }=169-48=121.` concludes
121. Only the end is read: the last sentence, its last clause, and in it what stands behind the last `=` or verb. A
clause that leaves its value open ("6 or 7", "at most 6", "about 6") concludes nothing; nor does one of several values.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evals.grading.counted import HEDGE
from evals.grading.numbers import has_symbols, split

_LONGEST = 1_500  # of the end that is read
_FEWEST_WORDS = 3


class Conclusion(NamedTuple):
    """What a text concludes; `value` is None where it concludes nothing, and `unread` where it may conclude something
    that is not read."""

    value: str | None
    unread: bool = False


_NOTHING = Conclusion(None)
_HOPE = re.compile(r"I hope (?:it is|this is|that is) correct\.?|<\|\w+\|>.*", re.IGNORECASE | re.DOTALL)
_PROSE = re.compile(r"(?:^|\s)(?:the|is|are|a|an|of|we|that|has|have|there|this|which|it)(?=\s)", re.IGNORECASE)
_SPACED = re.compile(r"(?:^|(?<=\s))[A-Za-z’'-]{2,}(?=[\s,.;:]|$)")
_FEWEST_SPACED = 5
_COMMAND = re.compile(r"\\[A-Za-z]+\*?")
_WORD = re.compile(r"(?<![\\A-Za-z_^{])[A-Za-z][a-z’']+(?![A-Za-z])")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mbox|textrm|emph|boxed|fbox)\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
)
_LOOK = re.compile(
    r"\\(?:begin|end)\s*\{(?:aligned|align\*?|gathered|split)\}|(?<!\\)\\[\[\]()]|(?<!\\)\$|\\left(?![a-z])|\\right(?![a-z])"
    r"|\\(?:display|text)style(?![a-z])|\*\*|&|\\[,;!]"
)
_BREAK = re.compile(r"\\\\(?:\s*\[[^\]]*\])?|\n")
_ARROW = re.compile(r"\\(?:Rightarrow|implies|Longrightarrow|therefore|iff|to)(?![A-Za-z])")
_SENTENCE = re.compile(r"(?<=[.!?])\s*,?\s+(?=[A-Z\\(\d-])|;\s|\\q?quad(?![a-z])")
_CLAUSE = re.compile(
    r",?\s*\b(?:so|thus|hence|therefore|then|giving|which\s+gives|we\s+(?:get|have|find|obtain)|that\s+is|i\.e\.)\b[\s,:]*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\((?=[^()]*[A-Za-z]{3})(?![^()]*\\(?:frac|sqrt|pi|cdot))[^()]*\)")
_CIRCUMSTANCE = re.compile(
    r"(?<=[\w})\]])[\s,]*\b(?:attained|achieved|obtained|reached|when|where|because|since|for\s+(?:all|any|every|each))\b.*",
    re.DOTALL,
)
_OTHER_CASE, _ELSE = re.compile(r"\b(?:and|or|but)\b"), re.compile(r"\b(?:else|otherwise)\b", re.IGNORECASE)
_LEFT_OPEN = re.compile(
    r"\b(?:or|either|neither|nor|maybe|perhaps|possibly|probably|approximately|about|roughly|around|nearly|almost|less|more"
    r"|at\s+(?:most|least)|greater|fewer|could|might|may|would|guess|estimate|bound|if|unless|except|wrong|sometimes|half"
    r"|twice|double|minus|plus|incorrect|false|invalid|inverse|negative|conjugate|derivative|close|congruent|complement|opposite|reciprocal|square\s+of|root\s+of|no"
    r"|(?:of|and|than|modulo|by)\s+the\s+answer)\b|\\(?:approx|le|ge|leq|geq|neq|lesssim|pm|sim)(?![A-Za-z])|[<>?]",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|cannot|can['’]t|but|however|instead|unknown|without)\b", re.IGNORECASE)
_REFUSED = re.compile(
    r"\b(?:can(?:not|['’]t)\s+(?:be\s+)?(?:determine|compute|find|know)|unable\s+to|not\s+enough\s+information|isn['’]t\s+enough"
    r"|please\s+(?:re-?)?(?:upload|provide|send|share|paste|describe|list)|I['’]m\s+missing|no\s+such\b[^.]*\bexists?|there\s+(?:is|are)\s+no)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:\b(?:is|are|equals?|gives?|yields?|was|were|be|at|to|on|has|have|contains?|remains?|becomes?|probability|exactly|only"
    r"|just|answer|result|total)\b|:)\s*(?:exactly\s+|just\s+|only\s+|equal\s+to\s+)?(?=[-\d\\(.\[])",
    re.IGNORECASE,
)
_THERE = re.compile(r"\bthere\s+(?:are|is|were|will\s+be)\s+(?=[-\d\\(])|^(?=\d+\s+[a-z])", re.IGNORECASE)
_PIECE = r"(?:\\[A-Za-z]+|[^A-Za-z\s\\]|\\(?![A-Za-z])|(?<![A-Za-z\d])[A-Za-z](?![A-Za-z]))"
_VALUE = re.compile(rf"(?P<value>{_PIECE}(?:{_PIECE}|\s|(?<=\d)[A-Za-z](?![A-Za-z]))*)(?P<rest>.*)", re.DOTALL)


def is_derivation(text: str) -> bool:
    """Whether a text is a sentence or a derivation: words that are no unit, and mathematics."""
    tail = text[-_LONGEST:]
    if r"\begin{cases}" in tail or not re.search(r"\d|\\[a-z]", tail):
        return False
    said = _plain(tail)
    words = len(_WORD.findall(_COMMAND.sub(" ", said)))
    verb = re.search(r"[=:]|[.!]\s|\b(?:is|are|so|has|have|thus)\b", said)
    short = words > 1 and _CLAUSE.search(said) is not None
    return short or words > 2 * _FEWEST_WORDS or (words >= _FEWEST_WORDS and verb is not None)


def conclusion(text: str) -> Conclusion:
    """What a derivation concludes (see the module's text)."""
    text = _HOPE.sub("", text[-_LONGEST:])
    if _REFUSED.search(_plain(text)):
        return _NOTHING
    text = re.sub(r"\n\s*(?=[=+]|-\s)", " ", _LOOK.sub(" ", _BREAK.sub(" \n ", _plain(text))))
    parts = [part for line in text.split("\n") for part in _SENTENCE.split(line)]
    sentences = [part.strip(" .,;:!\n") for part in parts if re.search(r"\w", _ASIDE.sub(" ", part))]
    if not sentences:
        return _NOTHING
    last = _ASIDE.sub(" ", sentences[-1]).strip(" .,;:")
    clauses = [part.strip(" .,;:") for part in _CLAUSE.split(_ARROW.split(last)[-1])]
    clause = next((part for part in reversed(clauses) if part), "")
    circumstance = _CIRCUMSTANCE.search(clause)
    if _OTHER_CASE.search(circumstance[0] if circumstance else "") or _ELSE.search(last):
        return _NOTHING
    clause = _CIRCUMSTANCE.sub("", clause)
    said = re.sub(r"\([^()]*\)", " ", re.sub(r"\([^()]*\)", " ", clause))
    if _LEFT_OPEN.search(said):
        return _NOTHING
    value = None if _DENIED.search(said) else _value(clause, concluded=len(clauses) > 1 or "must" in clause)
    prose = len(_SPACED.findall(text)) >= _FEWEST_SPACED and _PROSE.search(text) is not None
    return Conclusion(value, unread=value is None and prose)


def _plain(text: str) -> str:
    """Without `\\text` and boxes, but around a unit of one letter."""
    for _ in range(3):
        text = _TEXT.sub(lambda found: found[0] if re.fullmatch(r"\s*[A-Za-z]\s*", found[1]) else f" {found[1]} ", text)
    return text


def _value(clause: str, concluded: bool) -> str | None:
    """Of `the area is 5 cm`, `S=6+3+1=10 ways`, `there are 26 animals with horns`, `she must add 16 beads`."""
    sides = split(clause, "=")
    if len(sides) > 1:
        return _chain(sides)
    if not _WORD.search(_COMMAND.sub(" ", clause)):
        return clause
    if there := _THERE.search(clause):
        found = _VALUE.match(clause[there.end() :])
        return found["value"].strip(" .,;:") if found else None
    if (verbs := [*_VERB.finditer(clause)]) and (value := _behind(clause[verbs[-1].end() :])) is not None:
        return value
    numbers = re.findall(r"(?<![\w\\])\d[\d,.]*", clause)
    return numbers[0].rstrip(".,") if concluded and len(numbers) == 1 and "\\" not in clause else None


def _chain(sides: list[str]) -> str | None:
    """The values of a chain, whose first side may end in one (`the volume is 4^3=64`); the last alone with words."""
    links = [_behind(side) for side in sides[1:]]
    last = links[-1]
    if last is None or r"\text" in last:
        return last
    known = [link for link in links[:-1] if link is not None and r"\text" not in link and not has_symbols(link)]
    return "=".join([*known, last])


def _behind(text: str) -> str | None:
    """The value at the start, with the words behind it; None where more mathematics follows."""
    found = _VALUE.fullmatch(text.strip(" .,"))
    if found is None:
        return None
    value, rest = found["value"].strip(" .,;:").rstrip("\\ "), found["rest"].strip()
    if not re.fullmatch(r"[A-Za-z\s’'-]*", rest) or len(rest.split()) > 4 or HEDGE.search(rest):
        return None
    return rf"{value}\text{{ {rest}}}" if rest else value

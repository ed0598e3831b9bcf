r"""The conclusion of an answer that is a sentence or a derivation, as models put them into a box.

`\text{There are }13\cdot 13=169\text{ points. The boundary has }48\text{, so interior points }=169-48=121.` concludes
121. Only the end is read: the last sentence, its last clause, and in it what stands behind the last `=` or verb. A
clause that leaves its value open ("6 or 7", "at most 6", "about 6") concludes nothing; nor does one of several values.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evals.grading.counted import HEDGE, doubted
from evals.grading.numbers import has_symbols, split

_LONGEST = 1_500  # of the end that is read
_LONGEST_ASIDE = 3  # words of doubt: `(not sure)`
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
    r",?\s*\b(?:so|thus|hence|therefore|then|giving|which\s+gives|we\s+(?:get|have|find|obtain)|(?<=,\s)that\s+is|that\s+is(?=,)|i\.e\.)\b[\s,:]*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"(?<![A-Za-z])\((?=[^()]*[A-Za-z]{3})(?![^()]*\\(?:frac|sqrt|pi|cdot))[^()]*\)")
_CIRCUMSTANCE = re.compile(
    r"(?<=[\w})\]])[\s,]*\b(?:attained|achieved|obtained|reached|when|where|because|since|for\s+(?:all|any|every|each))\b.*",
    re.DOTALL,
)
_OTHER_CASE, _ELSE = re.compile(r"\b(?:and|or|but)\b"), re.compile(r"\b(?:else|otherwise)\b", re.IGNORECASE)
_LEFT_OPEN = re.compile(
    r"\b(?:or|either|neither|nor|maybe|perhaps|possibly|probably|approximately|about|roughly|around|nearly|almost|less|more"
    r"|at\s+(?:most|least)|\w+er\s+than|greater|fewer|(?:upper|lower)\s+(?:limit|estimate|value|end)|could|might|may|would|guess|estimate|bound|if|unless|except|wrong|sometimes|half"
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
# nobody reads it here
_OTHER_LANGUAGE = re.compile(
    r"(?<!\\)\b(?:wie|viel|ist|der|das|und|que|est|les|des|une|los|las|una|het|een|och)\b", re.IGNORECASE
)
_OTHER_LETTERS = re.compile(r"[^\W\d_A-Za-z²³µμΩÅ]")
# said by others, tried, put or given up: nobody concludes it here
_NOT_CLAIMED = re.compile(
    r"\b(?:suppos\w+|assum\w+|imagin\w+|pretend\w*|hypothe\w+|conjectur\w+|let\s+(?:us|me|the)|refut\w+|rul(?:e|es|ed|ing)\s+out"
    r"|reject\w*|den(?:y|ies|ied|ying)|disprov\w+|contradict\w*|discard\w*|claim\w*|think\w*|thought|believ\w+|doubt\w*"
    r"|hop(?:e|ed|ing)|some(?:one|body)|wonder\w*|suspect\w*|feel\w*|suggest\w*|say|says|said|rumou?r\w*|tempt\w+|attempt\w*|mistak\w+"
    r"|(?:common|usual|typical|an|in)\s+error|erroneous|initially|first\s+(?:guess|idea|try)|hardly|scarcely|barely|nobody|nothing|candidates?|(?<!equally\s)(?<!most\s)(?<!least\s)likely"
    r"|unlikely|untrue|too\s+\w+|only\s+(?:when|if)|hard\s+to|difficult\s+to|impossible|absurd|fails?|failed|far\s+from|supposedly|allegedly|apparently)\b"
    r"|^one\s+of\s+(?:the|these|those)\b|\b(?:cube|power|logarithm|inverse|negation|multiple|value|digits?|part)\s+of\s+(?:this|that|it)\b",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"\b(?:answer|(?:correct|required|desired|requested|sought|asked|wanted)\s+\w+)\b", re.IGNORECASE)
# where "the answer" is what the clause is about: not its square, its last digit, the wrong one, that of the book
_ABOUT_IT = re.compile(
    r"(?:.*[:,]|.*\b(?:that|means|conclude|namely|so|thus|hence|therefore|then|finally|is)\b)?\s*"
    r"(?:(?:the|our|my|your|an?|this|final|correct|right|required|desired|requested|sought|asked|wanted|only|unique"
    r"|numerical|exact|simplified|best|overall|complete|actual|true|for|in|and|now|it|is|follows|simplest|form|we|see|find|get)\s+)*",
    re.IGNORECASE | re.DOTALL,
)
_FOR_IT = re.compile(
    r"(?:\s+(?:to|of|for|in)\s+(?:the|this|our|part|simplest|lowest)\s+[^=:]*?)??(?:\s*,)?(?:\s+(?:therefore|thus|hence|then))?\s*"
    r"(?::|=|\b(?:is|are|equals|must\s+be|will\s+be|has\s+to\s+be|becomes|comes\s+(?:out\s+)?to|turns\s+out\s+to\s+be|works\s+out\s+to)\b|$)",
    re.IGNORECASE,
)
_SINCE = re.compile(r"^(?:since|because|as|given|when|with|for|after)\b[^,]*,(?=[^,]*$)", re.IGNORECASE)
_VERB = re.compile(
    r"(?:\b(?:is|are|equals?|gives?|yields?|was|were|be|at|has|have|contains?|remains?|becomes?|probability|point|exactly|only"
    r"|just|answer|result|total"
    r"|(?:equals?|comes?|came|amounts?|simplif\w+|reduces?|evaluates?|sums?|adds?\s+up|works?\s+out|converges?|down|leads?|up|add|equal|is|out)\s+to|lands?\s+on"
    r"|an?\s+(?:total|sum|product|remainder|difference|result|value|maximum|minimum|probability|ratio)\s+of)\b|:)"
    r"\s*(?:exactly\s+|just\s+|only\s+|equal\s+to\s+)?(?=[-\d\\(.\[]|[b-z](?![a-z]))",
    re.IGNORECASE,
)
_GIVES = re.compile(r".*\b(?:gives?|yields?)\s+(?=\S+\s*=)", re.DOTALL)  # `solving 2x+1=9 gives x=4`
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
    if any(doubted(aside) for aside in _ASIDE.findall(" ".join(parts[-2:])) if len(aside.split()) <= _LONGEST_ASIDE):
        return Conclusion(None, unread=True)
    last = _ASIDE.sub(" ", sentences[-1]).strip(" .,;:")
    clauses = [part.strip(" .,;:") for part in _CLAUSE.split(_ARROW.split(last)[-1])]
    clause = next((part for part in reversed(clauses) if part), "")
    circumstance = _CIRCUMSTANCE.search(clause)
    if _OTHER_CASE.search(circumstance[0] if circumstance else "") or _ELSE.search(last):
        return _NOTHING
    whole, clause = clause, _SINCE.sub("", _CIRCUMSTANCE.sub("", clause)).strip()
    other = _OTHER_LANGUAGE.search(text) or _OTHER_LETTERS.search(whole)
    if other or _NOT_CLAIMED.search(whole) or not concludes_answer(clause):
        return Conclusion(None, unread=True)
    said = re.sub(r"\([^()]*\)", " ", re.sub(r"\([^()]*\)", " ", clause))
    if _LEFT_OPEN.search(said):
        return _NOTHING
    value = None if _DENIED.search(said) else _value(clause, concluded=len(clauses) > 1 or "must" in clause)
    prose = len(_SPACED.findall(text)) >= _FEWEST_SPACED and _PROSE.search(text) is not None
    return Conclusion(value, unread=value is None and prose)


def concludes_answer(clause: str) -> bool:
    """Whether a clause that names the answer is about it: not about its square, its last digit or another one."""
    if (named := _ANSWER.search(clause)) is None:
        return True
    return bool(_ABOUT_IT.fullmatch(clause, 0, named.start()) and _FOR_IT.match(clause, named.end()))


def _plain(text: str) -> str:
    """Without `\\text` and boxes, but around a unit of one letter."""
    for _ in range(3):
        text = _TEXT.sub(lambda found: found[0] if re.fullmatch(r"\s*[A-Za-z]\s*", found[1]) else f" {found[1]} ", text)
    return text


def _value(clause: str, concluded: bool) -> str | None:
    """Of `the area is 5 cm`, `S=6+3+1=10 ways`, `there are 26 animals with horns`, `she must add 16 beads`."""
    sides = split(_GIVES.sub("", clause), "=")
    if len(sides) > 1:
        return _chain(sides)
    if not _WORD.search(_COMMAND.sub(" ", clause)):
        return clause
    if there := _THERE.search(clause):
        found = _VALUE.match(clause[there.end() :])
        value, rest = (found["value"].strip(" .,;:"), found["rest"].strip()) if found else (None, "")
        if doubted(rest):
            return None
        said = there[0] or re.match(r"(?:(?:is|was)\s+the|(?:of\s+the\b[a-z\s]*\b)?(?:are|were))\b", rest)
        return value if said or not value else rf"{value}\text{{ {rest}}}"  # `26 animals with horns`
    if verbs := [*_VERB.finditer(clause)]:
        return _behind(clause[verbs[-1].end() :])
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
    value, rest = found["value"].strip(), found["rest"].strip()
    if rest and value.endswith((",", ";", ":")):
        return None  # `it was 5, which was a mistake`
    value = value.strip(" .,;:").rstrip("\\ ")
    if not re.fullmatch(r"[A-Za-z\s’'-]*", rest) or len(rest.split()) > 4 or HEDGE.search(rest):
        return None
    return rf"{value}\text{{ {rest}}}" if rest else value

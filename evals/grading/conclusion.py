r"""The conclusion of an answer that is a sentence or a derivation, as models put them into a box.

`\text{There are }13\cdot 13=169\text{ points. The boundary has }48\text{, so interior points }=169-48=121.` concludes
121. Only the end is read: the last sentence, and its last clause. A clause concludes the value at its end where the
words before it have one of the FORMS below, which are made of closed lists of words. Words that leave a value open
("6 or 7", "at most 6") conclude nothing. Any other sentence is not read, and its answer is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from evals.grading.asides import is_dropped, parted
from evals.grading.counted import HEDGE, doubted
from evals.grading.numbers import has_symbols, split

_LONGEST = 1_500  # characters at the end that are read
_FEWEST_WORDS = 3


class Conclusion(NamedTuple):
    """The conclusion of a text. `value` is None where it concludes nothing, and `unread` where it may conclude
    something that is not read."""

    value: str | None
    unread: bool = False


class Form(NamedTuple):
    """Words before the value that a clause concludes. The value of `example` is 5. `counter` is a near sentence with a
    5 that is not concluded."""

    name: str
    pattern: str
    example: str
    counter: str


_NOTHING = Conclusion(None)
_THE = r"(?:(?:the|an?|this|that|these|our|its|his|her|their|each|every|all|both)\s+)"
_SUCH = (
    r"(?:(?:final|correct|right|required|desired|requested|maximum|minimum|maximal|minimal|largest|smallest|greatest|least"
    r"|highest|lowest|shortest|longest|only|unique|possible|total|exact|numerical|simplified|new|original|average|common"
    r"|first|second|third|last|such|positive|integer|prime|real|surface|remaining|combined|smaller|larger|different|distinct"
    r"|unit|units|tens|ones|constant|leading|ordered|interior|exterior|whole|given|expected|selling)\s+)"
)
_HEAD = (
    r"(?:value|number|sum|total|product|difference|quotient|remainder|result|area|volume|perimeter|circumference|length|width"
    r"|height|depth|distance|radius|diameter|side|hypotenuse|angle|measure|slope|coordinate|intercept|vertex|point"
    r"|probability|chance|ratio|fraction|percentage|percent|cost|price|amount|average|mean|median|mode|range|maximum"
    r"|minimum|age|speed|rate|time|weight|mass|digit|term|coefficient|constant|solution|root|limit|integral|derivative"
    r"|interest|profit|temperature|score|count|order|size|determinant|divisor|multiple|factor|integer|prime|function|set"
    r"|interval|expression|polynomial|vector|matrix|error|revenue|salary|population|discriminant|period|amplitude"
    r"|largest|smallest|greatest|pair|triple)s?"
)
_OF_WHICH = (
    r"(?:(?:[\s,]+(?:of|in|for|on|between|to|from|by|with|that|which|such\s+that|through|at|when)\b|\s*[\\$({])"
    r"[^=<>]*?)?"
)
_IS = (
    r"(?:is|are|was|were|be|equals?|must\s+be|will\s+be|is\s+equal\s+to|comes\s+(?:out\s+)?to|works\s+out\s+to"
    r"|turns\s+out\s+to\s+be|becomes)"
)
_JUST = (
    r"(?:(?:therefore|thus|hence|then|also|simply|exactly|just|only|indeed|now|equal\s+to|given\s+by|precisely)"
    r"[\s,:]*)*"
)
_ITEM = r"(?:he|she|it|they|we|there|you|(?:the|each|every|this)\s+(?!answer|result)[a-z]+(?:\s+[a-z]+)?|[A-Z][a-z]+)"
_HAS = (
    r"(?:has|have|had|needs?|gets?|obtains?|finds?|sold|sells|buys|bought|pays|paid|costs?|earns?|earned|spends?|spent|makes"
    r"|made|saves?|saved|takes?|took|owns?|owes?|contains?|reads?|runs?|ran|walks?|walked|eats|ate|drives|drove|uses?|used"
    r"|gives?|yields?|can\s+be|must\s+add|should\s+add|will\s+have|is|are|was|were)"
)
FORMS = (
    Form(
        "a quantity is",
        rf"{_THE}?{_SUCH}*{_HEAD}{_OF_WHICH}\s+{_IS}",
        r"\text{Therefore the area of the triangle is }5.",
        r"\text{Therefore the square of the area is }5.",
    ),
    Form(
        "the answer is",
        rf"{_THE}?{_SUCH}*answer(?:\s+(?:to|of|for)\s+(?:the|this|our|part)\s*(?:question|problem|equation|\(?[a-d]\)?)?)?\s*(?:{_IS}|:)",
        r"\text{In conclusion, the answer to the question is }5.",
        r"\text{In conclusion, the answer to the wrong question is }5.",
    ),
    Form(
        "a quantity grows by",
        rf"{_THE}?{_SUCH}*{_HEAD}{_OF_WHICH}\s+(?:in|de)creases\s+by",
        r"\text{Therefore the price of the shirt increases by }5.",
        r"\text{Therefore the answer to it increases by }5.",
    ),
    Form(
        "someone has",
        rf"{_ITEM}\s+{_HAS}",
        r"\text{Thus Maria has }5\text{ stickers left.}",
        r"\text{Thus Maria lacks }5\text{ stickers.}",
    ),
    Form(
        "something has a quantity",
        rf"{_THE}[a-z]+(?:\s+of\s+[^=<>]*?)?\s+has\s+{_THE}?{_SUCH}*{_HEAD}(?:\s+(?:of|equal\s+to))?",
        r"\text{A sphere of radius 3 has volume }5.",
        r"\text{A sphere of radius 3 has as its volume what exceeds }5.",
    ),
    Form(
        "a total of",
        rf"[^=<>]*?\b(?:for|leaving|making|giving|gives|yields|is|has|have|get)\s+(?:us\s+)?an?\s+{_SUCH}*{_HEAD}\s+of",
        r"\text{Each of the rows holds 3 chairs, for a total of }5.",
        r"\text{The answer leaves a remainder of }5.",
    ),
    Form(
        "a quantity =",
        rf"{_THE}?{_SUCH}*(?:[a-z]+\s+)?{_HEAD}(?=(?:\\[a-z]+|(?![a-z]{{2}})[^=\\])*=)",
        r"\text{The boundary has 3, so interior points }=8-3=5.",
        r"\text{The boundary has 3, so twice the interior points }=8-3=5.",
    ),
    Form(
        "they meet at",
        rf"{_THE}?[a-z]+(?:\s+[a-z]+)?\s+(?:meet|intersect|cross)\s+at(?:\s+the\s+point)?",
        r"\text{The two lines meet at the point }5.",
        r"\text{The two lines meet beyond the point }5.",
    ),
)
_DOING = (
    r"(?:adding|subtracting|multiplying|dividing|expanding|combining|solving|using|substituting|simplifying|applying|summing"
    r"|counting|plugging|factoring|taking|squaring|computing|evaluating|setting|considering|rearranging|integrating"
    r"|differentiating|letting|putting)"
)
_LED = (  # may stand before a form. Possessive, so that it is read once
    r"(?:(?:and|so|thus|hence|therefore|then|finally|now|also|that|in\s+conclusion|as\s+a\s+result|in\s+total|overall"
    r"|altogether|it\s+follows\s+that|this\s+(?:means|shows|implies)(?:\s+that)?"
    r"|(?:we|one)\s+(?:get|find|obtain|have|conclude|see)(?:\s+that)?"
    rf"|(?:by|with|using|among|from)\s[^.]*?(?:,|(?=\s(?:the|its)\s))|{_DOING}\s[^.]*?,)[\s,:]*)*+"
)
_THE_ANSWER = next(form for form in FORMS if form.name == "the answer is")


def _pattern(forms: Sequence[Form]) -> re.Pattern[str]:
    """Words that lead to a form, the form, and the beginning of a value."""
    known = "|".join(f"(?:{form.pattern})" for form in forms)
    return re.compile(
        rf"\s*(?P<led>{_LED})(?P<form>{known})?[\s,:]*{_JUST}(?=[-=\d\\(.\[+]|[a-zA-Z](?![a-z]))", re.IGNORECASE
    )


_FORM = _pattern(FORMS)
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
_SENTENCE = re.compile(r"(?<=[.!?])\s*,?\s+(?=[A-Z\\(\d-])|;\s|(?<![A-Za-z\s])\s*\\q?quad(?![a-z])")
_CLAUSE = re.compile(
    r",?\s*\b(?:so|thus|hence|therefore|then|giving|which\s+gives|we\s+(?:get|have|find|obtain)|(?<=,\s)that\s+is|that\s+is(?=,)|i\.e\.)\b[\s,:]*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"(?<![A-Za-z])\((?=[^()]*[A-Za-z]{3})(?![^()]*\\(?:frac|sqrt|pi|cdot))[^()]*\)")
_CIRCUMSTANCE = re.compile(
    r"(?<=[\w})\]])[\s,]*\b(?:attained|achieved|obtained|reached|when|where|because|since|for\s+(?:all|any|every|each))\b.*",
    re.DOTALL,
)
_OTHER_CASE = re.compile(r"\b(?:and|or|but)\b")
_ONLY = re.compile(r"\bonly\s+(?:when|where|if|for)\b", re.IGNORECASE)
_ANSWER = re.compile(r"\b(?:answer|(?:correct|required|desired|requested|sought|asked|wanted)\s+\w+)\b", re.IGNORECASE)
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
_SINCE = re.compile(r"^(?:since|because|as|given|after)\b[^,]*,(?=[^,]*$)", re.IGNORECASE)
_PIECE = r"(?:\\[A-Za-z]+|[^A-Za-z\s\\]|\\(?![A-Za-z])|(?<![A-Za-z\d])[A-Za-z](?![A-Za-z]))"
_VALUE = re.compile(rf"(?P<value>{_PIECE}(?:{_PIECE}|\s|(?<=\d)[A-Za-z](?![A-Za-z]))*)(?P<rest>.*)", re.DOTALL)


def is_derivation(text: str) -> bool:
    """Whether a text is a sentence or a derivation: words that are no unit, and mathematics."""
    tail = text[-_LONGEST:]
    if r"\begin{cases}" in tail or not re.search(r"\d|\\[a-z]", tail):
        return False
    plain_tail = _plain(tail)
    words = len(_WORD.findall(_COMMAND.sub(" ", plain_tail)))
    verb = re.search(r"[=:]|[.!]\s|\b(?:is|are|so|has|have|thus)\b", plain_tail)
    short = words > 1 and _CLAUSE.search(plain_tail) is not None
    return short or words > 2 * _FEWEST_WORDS or (words >= _FEWEST_WORDS and verb is not None)


# what a sentence may hold besides: a condition, what others say, what is taken back
_CONDITION = re.compile(
    r"\b(?:if(?!\s+we\s+let\b)|unless|when|whenever|whether|provided|suppos\w+|assum\w+|until|otherwise|else|in\s+(?:the|an?|some)\s+[a-z]*\s*cases?)\b|\?",
    re.IGNORECASE,
)
_CHANGED = re.compile(  # beside a quantity: another one
    r"\b(?:answer|complement|opposite|negation|negative|inverse|reciprocal|conjugate|should\s+not|than|except|excluding|wrong|guess\w*"
    r"|estimate\w*|bound|modulo|book|my|mine|your|others?|mistakes?|luck|misread\w*"
    r"|of\s+(?:the|this|that|our)\s+(?:\w+\s+)?(?:result|output))\b",
    re.IGNORECASE,
)
_BOUND = re.compile(  # beside a value: it is left open, or another one is meant
    r"\b(?:at\s+(?:most|least)|or|(?:not|never|cannot)(?!\s*$)|less|more|fewer|greater|(?!number\b|remainder\b)\w+er\s+than|about|almost"
    r"|approximately|half|twice|but|might|may|could|would|maybe|perhaps|possibly|probably|opposite"
    r"|(?:square|cube|root|reciprocal|inverse|negative|power|multiple|logarithm|factorial)s?\s+of)\b"
    r"|\\(?:approx|le|ge|leq|geq|neq|lesssim|pm|sim)(?![A-Za-z])|[<>]",
    re.IGNORECASE,
)
_VALUE_FIRST = re.compile(
    rf"(?:is|was)\s+the\s+{_SUCH}*[a-z]+|of\s+the\s+[a-z]+\s+are\s+[a-z][a-z\s]*\d*", re.IGNORECASE
)
_WHICH_ONES = re.compile(r"\s+(?:that|which|satisfying|such\s+that|with|in|to)\b.*", re.IGNORECASE | re.DOTALL)
_LONGEST_WORD = 40  # the longest word of prose. A longer one is code.


def conclusion(text: str) -> Conclusion:
    """The conclusion of a derivation (see the module's text)."""
    text = _HOPE.sub("", text[-_LONGEST:])
    text = re.sub(r"\n\s*(?=[=+]|-\s)", " ", _LOOK.sub(" ", _BREAK.sub(" \n ", _plain(text))))
    sentences = _sentences(text)
    if not sentences:
        return _NOTHING
    not_read, last = Conclusion(None, unread=_is_prose(text)), sentences[-1]
    if parted(f"0 {last}") and len(sentences) > 1 and last.startswith("("):  # a parenthesis alone
        return _NOTHING if not is_dropped(last.strip("() ")) else conclusion(text.replace(last, ""))
    while (aside_match := _ASIDE.search(last)) is not None:
        if not is_dropped(aside_match[0].strip("() ")):
            return _NOTHING if doubted(aside_match[0]) or aside_match.end() == len(last) else not_read
        last = f"{last[: aside_match.start()]} {last[aside_match.end() :]}"
    whole = [part.strip(" .,;:") for part in _CLAUSE.split(_ARROW.split(last)[-1])]
    clause = next((part for part in reversed(whole) if part), "")
    circumstance = _CIRCUMSTANCE.search(clause)
    if (
        _OTHER_CASE.search(circumstance[0] if circumstance else "")
        or _CONDITION.search(_CIRCUMSTANCE.sub("", last))
        or _ONLY.search(last)
    ):
        return _NOTHING
    clause = _SINCE.sub("", _CIRCUMSTANCE.sub("", clause)).strip()
    value = _stated(clause)
    if value is None:
        return _NOTHING if _BOUND.search(clause) else not_read
    return Conclusion(value)


def _sentences(text: str) -> list[str]:
    parts = [part for line in text.split("\n") for part in _SENTENCE.split(line)]
    return [part.strip(" .,;:!\n") for part in parts if re.search(r"\w", part)]


def _is_prose(text: str) -> bool:
    several = len(_SPACED.findall(text)) >= _FEWEST_SPACED and _PROSE.search(text) is not None
    return several and max(map(len, text.split())) < _LONGEST_WORD


def _stated(clause: str) -> str | None:
    """The value of a clause that has one of the forms. None of any other."""
    match = _FORM.match(clause)
    if match is None:
        return None
    before, rest = match["form"] or "", clause[match.end() :]
    if re.search(r"\bmistake|\berror|\bluck", match["led"]) or doubted(match["led"]):
        return None
    if not re.fullmatch(_THE_ANSWER.pattern, before, re.IGNORECASE) and (_CHANGED.search(before) or doubted(before)):
        return None
    if re.match(r"there\b", before, re.IGNORECASE) and not doubted(rest):
        rest = _WHICH_ONES.sub("", rest)
    value = _VALUE.match(rest)
    after = value["rest"].strip() if value and not before else ""
    if value and _VALUE_FIRST.fullmatch(after) and not _CHANGED.search(after) and not doubted(after):
        return value["value"].strip(" .,;:")
    sides = split(rest, "=")
    return _chain(["", *sides]) if len(sides) == 1 or before else _chain(sides)


def concludes_answer(clause: str) -> bool:
    """Whether a clause that names the answer is about it: not about its square, its last digit or another one."""
    if (named := _ANSWER.search(clause)) is None:
        return True
    if re.search(r"\b(?:if|unless|when|whenever)\b", clause[: named.start()], re.IGNORECASE):
        return False
    return bool(_ABOUT_IT.fullmatch(clause, 0, named.start()) and _FOR_IT.match(clause, named.end()))


def _plain(text: str) -> str:
    """Without `\\text` and boxes, but around a unit of one letter."""
    for _ in range(3):
        text = _TEXT.sub(lambda match: match[0] if re.fullmatch(r"\s*[A-Za-z]\s*", match[1]) else f" {match[1]} ", text)
    return text


def _chain(sides: list[str]) -> str | None:
    """The values of a chain, whose first side may end in one (`the volume is 4^3=64`). The last alone with words."""
    links = [_behind(side) for side in sides[1:]]
    last = links[-1]
    if last is None or r"\text" in last:
        return last
    known = [link for link in links[:-1] if link is not None and r"\text" not in link and not has_symbols(link)]
    return "=".join([*known, last])


def _behind(text: str) -> str | None:
    """The value at the start, with the words behind it, or None where more mathematics follows."""
    match = _VALUE.fullmatch(text.strip(" .,"))
    if match is None:
        return None
    value, rest = match["value"].strip(), match["rest"].strip()
    if rest and value.endswith((",", ";", ":")):
        return None  # `it was 5, which was a mistake`
    value = value.strip(" .,;:").rstrip("\\ ")
    if not re.fullmatch(r"[A-Za-z\s’'-]*", rest) or len(rest.split()) > 4 or HEDGE.search(rest):
        return None
    return rf"{value}\text{{ {rest}}}" if rest else value

r"""The letter of a multiple choice (A to J) that a response states last: the extraction policy `letter`.

A letter is stated in a box, on a line of its own, or by words ("answer is", "C is correct", "go with"). A response that
states none may restate one option: it names the only option that it marks, as `(C)` or at the start of a line as
`C) text`. Options that are listed, denied ("not (A)") or left open ("A or B") are no answer. Nor is the first letter of
a word, of a formula (`C_6`, `E=mc^2`), of a unit (`42 J`) or the article "a".

A response that offers a second letter beside its answer gives no answer: `C (if not, then D)`. Another letter in the
sentence of the answer is an offer, unless it is `SET_ASIDE`. In a later sentence it is one where the sentence `OFFERS`
it. Standard library only; linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_MARKS = r"[*$({\[\\\s\"'`]{0,9}"
_OPEN = rf"{_MARKS}(?:(?:text|textbf|mathrm|mathbf|boxed)\s?\{{)?{_MARKS}"
_CLOSE = r"[)}}\]*$\"'`]*"
_WORDS_AFTER = r"and|as|because|but|by|due|for|from|in|is|it|not|only|or|rather|since|so|the|to|which|with"
_END = (
    r"(?![A-Za-z_^\d]|'\w|\s*[=+/>]|\s*<(?!/?\|?\w+\|?>))"  # a formula goes on, but `D <eoa>` and `D</s>` end there
    rf"(?!(?<=[AI])\s+(?!(?:{_WORDS_AFTER})\b)[a-z])"  # A particle, I think
    rf"(?!{_CLOSE}(?:\s*[,&]\s*(?:and|or)?|\s+(?:and|or))\s*{_MARKS}[A-J]{_CLOSE}\s*(?:[.!?,;]|$))"  # A or B
)
_OPTION = r"(?i:option|choice|answer)"
_IS = r"(?:\s+(?i:is|must\s+be|should\s+be|would\s+be|will\s+be|has\s+to\s+be))"
_SURELY = r"(?:\s+(?i:therefore|thus|hence|then|clearly|likely|probably|most\s+likely|indeed))?"
_IN_BOX = re.compile(rf"{_OPEN}(?:{_OPTION}[\s:]{{1,3}})?{_OPEN}([A-J]){_END}", re.IGNORECASE)
_AMONG = (  # the best answer among the given options
    r"(?:\s+(?i:among|from|of|out\s+of)\s+(?i:the|these|those)(?:\s+[a-z]+)?\s+(?i:options|choices|answers|ones)"
    r"(?:\s+(?i:given|provided|listed|above))?)"
)
_QUESTION = (
    r"(?:(?i:answer|\bans\.?|(?:correct|best|right|choose|chose|select|pick)\s+(?:option|choice)"
    rf"|(?:my|final)\s+(?:choice|pick))(?:\s+here)?{_AMONG}?{_IS}?{_SURELY}\s?(?:\*\*|[\"'])?\s?(?::|-(?=\s))?"
    r"|\b(?i:response|choice|option)\s?:|(?:答案|故选|应选|所以选|因此选)\s?】?\s?[是为择：:]{0,2})"
)
_CHOOSES = (
    r"(?i:choose|choosing|chose|pick|picked|select|selected|go(?:ing)?\s+with|opt\s+for|lean(?:ing)?\s+(?:to|towards?)"
    r"|rather|instead)"
)
_FOLLOWS = (
    rf"(?i:therefore|thus|hence|so|it(?:'s|{_IS})|(?:is|fits|matches|(?:corresponds|points|leads)\s+to)"
    rf"(?=\s+(?:the\s+)?(?:answer\s+)?{_OPTION}))"
)
_THE_OPTION = rf"[,:]?\s+(?i:the\s+)?(?i:answer\s+)?(?:{_OPTION}\s+)?{_OPEN}"
_RIGHT = rf"{_IS}{_SURELY}\s+(?i:the\s+)?(?i:most\s+[a-z]+\s+)?(?i:correct|right|answer|best|choice|option)\b(?!-)"
_STATED = re.compile(
    rf"{_QUESTION}(?:\s+{_OPTION})?{_OPEN}([A-J]|[a-j](?=[).*}}$]|\s*$)){_END}"
    rf"|(?<![A-Za-z\\])\(?([A-J])\)?(?:\*\*)?{_RIGHT}|(?<![A-Za-z\\])\(?([a-j])\){_RIGHT}"
    rf"|\b{_CHOOSES}{_THE_OPTION}([A-J]){_END}(?={_CLOSE}(?:[.,;!](?!\w)|\s*$|\s+(?:{_WORDS_AFTER}|here|too)\b))"
    rf"|\b{_FOLLOWS}{_THE_OPTION}([A-J]){_END}{_CLOSE}(?:[.!](?!\w)|\s*$)"
    rf"|^{_OPEN}([A-J])[.)}}\]*$\s]*$|^{_OPTION}{_OPEN}([A-J])[.)}}\]*$\s]*\Z|\A[\s(*$]*([a-j])[).*$\s]*\Z"
    r"|(?i:<answer>)\s*\(?([A-J])(?:\)?\s*<|[).:]\s)",
    re.MULTILINE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|neither|nor)|n't|\b(?:wrong|incorrect))"
    r"\s+(?:(?:think|believe|say|that|is|be|the|correct|right|best|final|my|an?)\s+)*$",
    re.IGNORECASE,
)
# an option that is restated; what is said about one ("B) is wrong") does not restate it, and E. coli is no option
_ABOUT = re.compile(
    r"\s*(?:is|are|was|isn't|cannot|can't|could|would|has|does|fails|ignores|gives|seems|looks)\b", re.IGNORECASE
)
_NO_SPECIES = r"(?!\s+(?:coli|elegans|melanogaster|pylori|subtilis|thaliana)\b)"
_RESTATED = re.compile(
    rf"^[\s*#>-]{{0,9}}(?:(?:\(([A-J])\)|([A-J])\))[*\s]*|(?:([B-H]):|([A-HJ])\.{_NO_SPECIES})[*\s]+)(?=\S)"
    rf"|\b(?:(?i:only|{_OPTION}|with|is|be|leaves|leaving)\s+\(([A-J])\)|(?i:only)\s+{_OPTION}\s+([A-J])\b"
    rf"|{_OPTION}\s+([A-J])\))"
    rf"|(?<=[a-z:]\s)([A-HJ])\.{_NO_SPECIES}(?=\s[a-z][^.\n]*\.?\s*\Z)",
    re.MULTILINE,
)


_ANY_CASE = re.IGNORECASE | re.DOTALL
_BESIDE, _LONGEST_SENTENCE = 60, 300
_ANY_OPTION = re.compile(r"\(([A-J])\)|(?<![A-Za-z\\$'(_^])([B-HJ])(?=\s*(?:[.,:;)?!]|$)|\s+(?:or|and|is|are|also)\b)")


class Words(NamedTuple):
    """Words before or beside another letter. `example` shows them, `counter` is a near form without them."""

    pattern: str
    example: str
    counter: str


SET_ASIDE = (  # what stands in the sentence of the answer C between it and a letter D that is not offered
    Words(r"(?<!if\s)(?<!unless\s)\b(?:not|nor|neither)\s+(?:option\s+)?", "Answer: C, not D", "Answer: C, if not D"),
    Words(
        r"\b(?:rather\s+than|instead\s+of|over|than|unlike)\s+(?:option\s+)?",
        "Answer: C rather than D",
        "Answer: C, then D",
    ),
    Words(r"\b(?:because|since|as|where|while|whereas)\b.*", "Answer: C, since D is small", "Answer: C, D since small"),
)
OFFERS = (  # what makes an offer of the letter D in a sentence behind the answer C
    Words(r"alternatively|otherwise|or\s", "Answer: C. Alternatively, D.", "Answer: C. Option D is too small."),
    Words(
        r"(?:and\s+)?if\s+(?:not|that|this|it)\b",
        "Answer: C. If that is wrong, D.",
        "Answer: C. If D held, x would be 3.",
    ),
    Words(
        r".*\b(?:second|next|other)[- ](?:choice|best|guess)\b",
        "Answer: C. Second choice: D",
        "Answer: C. D comes second.",
    ),
    Words(
        r".*\b(?:back-?up|fall-?back|runner-up|failing\s+(?:that|this))\b",
        "Answer: C. Backup: D",
        "Answer: C. D fails.",
    ),
    Words(
        r".*\b(?:also|equally|just\s+as)\s+(?:be\s+)?(?:acceptable|possible|correct|right|likely|plausible|good|true|fine)\b",
        "Answer: C. D is also possible.",
        "Answer: C. D is also wrong.",
    ),
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n")
# a letter of its own: not of a formula (`kA`, `F =`), and not the article or the pronoun
_LETTER = re.compile(
    rf"(?<![\w\\$^'’=+/-])(?<!\w\()(?<!vitamin\s)\(?([A-J])\)?(?![\w_^’'(]|\s*[=<>+/^_])(?!(?<=[AI])\s+(?!(?:{_WORDS_AFTER})\b)[a-z])"
)
_JOINED = re.compile(
    r"(?<![A-Za-z\\])([A-J])[)}\]*$\s]*\W*(?:\\text\s*\{\s*)?\b(?:or|and)\b[\s}*({\[$\\]*(?:quad|qquad)?[\s\\]*\Z"
)


_ITS_TEXT = re.compile(r"[)}\]*]*\s?[:.)]")  # behind a letter, before the text of its option: `A: 2.8 J`
_UNIT = re.compile(r"\d\s?\Z")  # before a letter that is a unit


def last_letter(response: str, boxes: Iterable[tuple[int, str]]) -> str | None:
    """The letter that is stated last, or of the only option that is restated. `boxes` are (place, content)."""
    stated = [
        (match.start(), match.end(match.lastindex or 0), match[match.lastindex or 0])
        for match in _STATED.finditer(response)
    ]
    stated = [candidate for candidate in stated if not _denied(response, candidate[0])]
    for place, content in boxes:
        if match := _IN_BOX.match(content):
            stated.append((place, response.find(content, place) + match.end(1), match[1]))
    if not stated:
        return _only_option(response)
    place, end, letter = max(stated)
    sentence = max((ending.end() for ending in _SENTENCE_END.finditer(response, 0, place)), default=0)
    if len({candidate[2].upper() for candidate in stated}) > 1 and _offers(response[sentence:end]):
        return None
    return None if _offers_another(response, place, end, letter.upper()) else letter.upper()


def _offers_another(response: str, place: int, end: int, letter: str) -> bool:
    """Whether a response offers a second letter beside the one that it states between two places."""
    joined = _JOINED.search(response, max(0, place - _BESIDE), place)
    if joined and joined[1] != letter:
        return True
    start = end
    for number, stop in enumerate([*(match.start() for match in _SENTENCE_END.finditer(response, end)), len(response)]):
        stop_at = min(stop, start + _LONGEST_SENTENCE)
        other_letters = [match for match in _LETTER.finditer(response, start, stop_at) if match[1] != letter]
        if not number and _ITS_TEXT.match(response, end):
            other_letters = [match for match in other_letters if not _is_unit(response, match)]
        if number and other_letters and _offers(response[start:stop_at]):
            return True
        if not number and any(not _is_set_aside(response[start : match.start(1)]) for match in other_letters):
            return True
        start = stop + 1
    return False


def _is_unit(response: str, letter: re.Match[str]) -> bool:
    """Whether a letter stands behind a number, and is no option, which has a mark or a word behind it."""
    after = response[letter.end() : letter.end() + 1]
    return bool(_UNIT.search(response, max(0, letter.start(1) - 2), letter.start(1))) and after in ("", ".", ",", ";")


def _is_set_aside(before: str) -> bool:
    """Whether the words before another letter, in the sentence of the answer, say that it is not offered."""
    return any(re.search(rf"{words.pattern}[*(\s]*\Z", before, _ANY_CASE) for words in SET_ASIDE)


def _offers(sentence: str) -> bool:
    return any(re.match(rf"\W*(?:{words.pattern})", sentence, _ANY_CASE) for words in OFFERS)


def _only_option(response: str) -> str | None:
    """The letter of the option that a response restates, unless it restates or discusses another."""
    if len({next(filter(None, match.groups())) for match in _ANY_OPTION.finditer(response)}) > 1:
        return None
    restatements = [match for match in _RESTATED.finditer(response) if not _denied(response, match.start())]
    named = {next(filter(None, match.groups())) for match in restatements}
    return named.pop() if len(named) == 1 and not _ABOUT.match(response, restatements[-1].end()) else None


def _denied(response: str, place: int) -> bool:
    return bool(_DENIED.search(response, max(0, place - 60), place))

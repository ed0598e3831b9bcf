"""Find the answer in a response: the extraction policies. Linear in the response's length.

A policy is part of a protocol, like the temperature: it can change a score by many points.

`locate` gives the answer inside a bare answer, such as a gold, which may be a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evals.grading.conclusion import concludes_answer
from evals.grading.letters import last_letter

# Tokens for the nesting of braces: a box that opens, a box with a bare token, an escaped character, a brace. Two
# backslashes before `boxed` come from text that was escaped twice.
_TOKEN = re.compile(
    r"\\{1,2}(?:boxed|fbox)(?![A-Za-z])\s*(?:(?P<open>\{)|(?P<bare>[-+]?[\d.][^\s{}$\\]*|[A-Za-z](?![A-Za-z])))?"
    r"|\\.|(?P<brace>[{}])",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\(?:boxed|fbox)")
_GAP_MARKS = re.compile(r"\\(?:quad|qquad|text|mathrm|boxed|fbox)|[\s$\\,;:.{}()\[\]*]")
_LONGEST_GAP = 60
_OF_NEXT = re.compile(r"[A-Za-z](?:_\{?\w{1,3}\}?)?\s*=[\s$]*$")  # the name of what the next box holds: `y_2 =`
_PART = frozenset(["for", "part", "case", "and", "or", "a", "b", "c", "i", "ii", "iii"])
_SECOND_PROBLEM = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id)\|>"
    r"|\n\s{0,9}(?:#{1,6}\s{0,3}|\*\*)?(?:(?:Problem|Question|Exercise)\b[ \t]*[\d#:.]|(?:Human|User|Instruction)\s?:)"
)
_ANSWER_LINE = re.compile(r"answer[ \t]*(?:\*\*[ \t]*)?:[ \t]*(?:\*\*)?\s*([^\n]*)", re.IGNORECASE)
_ANSWER_FIELD = re.compile(r'"(?:final_)?answer"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(-?\d[\d.,]*\d|-?\d))')  # in JSON
_TAG = re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.IGNORECASE | re.DOTALL)
_LAST_NUMBER = re.compile(r"-?\d*\.?\d+")
_MONEY = r"(?:\\?\$|[\u00a3\u00a5\u20ac])"  # dollars, pounds, yen, euros
_AFTER_HASHES = re.compile(
    rf"(?<!#)#{{4}}(?!#)(?:\*\*|{_MONEY}|\\\(|[ \t])*(?P<sign>[-+\u2212]?)[ \t]*(?:{_MONEY}[ \t]*)?"
    r"(?P<size>(?:\d(?:[\d,]|\{,\}|\\[,!])*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+(?!\w)|/\d+)?)"
)
_IN_NUMBER = re.compile(r"[,{}\\!]")  # between the thousands of a number
_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|\\[,!])+(?=\d{3})")
_SIGN = re.compile(rf"(?<![\w)}}\]])(?:[-\u2212]{_MONEY}|\u2212)(?=[\d.])")
_ONE_TEXT = re.compile(r"\[\s*(?:'([^']*)'|\"([^\"]*)\")\s*\]")


class Box(NamedTuple):
    """A complete box: where it starts and ends in the text, and its content."""

    start: int
    end: int
    content: str


class Extraction(NamedTuple):
    """The answer of a response. `answer` is None without one in the policy's form. `boxed`: the response holds a
    complete, non-empty box. `truncated`: a box was opened and never closed. `unequal`: its boxes hold different texts.
    `last`: the last box, where the answer is several boxes with nothing but punctuation between them.
    """

    answer: str | None
    boxed: bool
    truncated: bool
    unequal: bool = False
    last: str | None = None


def boxes(text: str) -> list[str]:
    r"""The contents of the complete `\boxed{...}` and `\fbox{...}` (or `\boxed 5`), outermost only, in order."""
    return [box.content for box in find_boxes(text)]


def find_boxes(text: str) -> list[Box]:
    """The same, with where they are."""
    return _scan(text)[0]


def extract(response: str, policy: str = "boxed_last") -> Extraction:
    """The answer of a response under a policy (see the module's text).

    Raises:
        ValueError: the policy is unknown.
    """
    if policy not in POLICIES:
        raise ValueError(f"extraction policy {policy!r} is unknown. Expected one of {', '.join(POLICIES)}")
    boxes, opened = _scan(response)
    filled = [box for box in boxes if box.content.strip()]
    answer = POLICIES[policy](response, filled)
    unequal = len({"".join(box.content.split()) for box in filled}) > 1
    last = _last_alone(response, _first_solution(response, filled)) if unequal and policy == "boxed_last" else None
    return Extraction(answer, bool(filled), opened, unequal, None if last == answer else last)


def _last_alone(text: str, filled: Sequence[Box]) -> str:
    """The last box, unless words join it to the one before."""
    gap = text[filled[-2].end : filled[-1].start] if len(filled) > 1 else ""
    return joined(text, filled) if re.search(r"[A-Za-z]", _GAP_MARKS.sub(" ", gap)) else filled[-1].content.strip()


def joined(text: str, filled: Sequence[Box]) -> str:
    """The last box, with the boxes before it as long as only a separator, "and" or "or" stands between, with at most
    one more word, a name (`and y_2 =`) or words like "for part (a)"."""
    answer = [filled[-1].content.strip()]
    for before, after in zip(filled[-2::-1], filled[:0:-1], strict=True):
        gap = _OF_NEXT.sub("", text[before.end : after.start])
        plain = _GAP_MARKS.sub(" ", gap)
        words = re.findall(r"[a-z]+", plain.lower())
        if len(gap) > _LONGEST_GAP or "\n\n" in gap or before.content.strip() == answer[0]:
            break
        joins = not words or ({"and", "or"} & set(words) and (len(words) < 3 or set(words) <= _PART))
        if re.search(r"[\d=<>]", plain) or not joins:
            break
        answer.insert(0, before.content.strip())
    return ", ".join(answer)


def _scan(text: str) -> tuple[list[Box], bool]:
    """The complete boxes, and whether a box is left open. One pass with a stack of open braces, from the first box on:
    braces before it are never closed before it is."""
    first = _COMMAND.search(text)
    if first is None:
        return [], False
    spans: list[tuple[int, int, int, int]] = []  # where a box and its content start, where the content and it end
    stack: list[tuple[int, int] | None] = []  # a box: (where it starts, where its content starts). Another brace: None
    opened = False
    for token in _TOKEN.finditer(text, first.start()):
        if token["open"]:
            stack.append((token.start(), token.end()))
        elif token["bare"]:
            end = token.start("bare") + len(token["bare"].rstrip(".,;:"))
            spans.append((token.start(), token.start("bare"), end, token.end()))
        elif token["brace"] == "{":
            stack.append(None)
        elif token["brace"] == "}" and stack:
            box = stack.pop()
            if box is not None:
                while spans and spans[-1][0] > box[0]:  # boxes inside this one are part of its content
                    spans.pop()
                spans.append((*box, token.start(), token.end()))
        elif token.end() == len(text) and token[0].lstrip("\\").startswith(("boxed", "fbox")):
            opened = True  # cut right after the command
    boxes = [Box(start, end, text[inside:last]) for start, inside, last, end in spans]
    return boxes, opened or any(box is not None for box in stack)


def _first_solution(response: str, filled: list[Box]) -> list[Box]:
    """The boxes before a second problem begins."""
    if len(filled) < 2:
        return filled
    second = _SECOND_PROBLEM.search(response, filled[0].end)
    return [box for box in filled if second is None or box.start < second.start()]


def _boxed_last(response: str, filled: list[Box]) -> str | None:
    return joined(response, _first_solution(response, filled)) if filled else None


def _boxed_first(_: str, filled: list[Box]) -> str | None:
    return filled[0].content.strip() if filled else None


def _boxed_strict(_: str, filled: list[Box]) -> str | None:
    return filled[-1].content.strip() if len({"".join(box.content.split()) for box in filled}) == 1 else None


def _of_first_problem(response: str, answers: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The answers (place, text) before a second problem begins."""
    second = _SECOND_PROBLEM.search(response, answers[0][0]) if len(answers) > 1 else None
    return [answer for answer in answers if second is None or answer[0] < second.start()]


def _answer_line(response: str, _: list[Box]) -> str | None:
    lines = [(match.start(), match[1]) for match in _ANSWER_LINE.finditer(response)]
    lines += [(match.start(), match[1] or match[2] or "") for match in _ANSWER_FIELD.finditer(response)]
    lines = _of_first_problem(response, sorted(lines))
    line = lines[-1][1].strip().removesuffix("**").strip() if lines else ""
    return _final(line) or line or None


def _answer_tag(response: str, _: list[Box]) -> str | None:
    tags = _of_first_problem(response, [(match.start(), match[1]) for match in _TAG.finditer(response)])
    inside = tags[-1][1].strip() if tags else ""
    filled = [box for box in find_boxes(inside) if box.content.strip()]
    return (joined(inside, filled) if filled else inside) or None


def _qwen(response: str, _: list[Box]) -> str | None:
    if "final answer is $" in response and "$. I hope" in response:
        answer = response.split("final answer is $", 1)[1].split("$. I hope", 1)[0]
    elif "boxed" in response:
        answer = _after_boxed(response.rsplit("boxed", 1)[1])
    elif "he answer is" in response:
        answer = response.rsplit("he answer is", 1)[1]
    elif "答案是" in response:
        answer = response.split("答案是")[1].strip().split("\n\n")[0]
    else:
        numbers = _LAST_NUMBER.findall(_SIGN.sub("-", _THOUSANDS.sub("", response).replace(",", "")))
        answer = numbers[-1] if numbers else ""
    answer = re.sub(r"\n\s*", "", answer.strip())
    return answer.removeprefix(":").removesuffix(".").removesuffix("/").strip() or None


def _after_boxed(rest: str) -> str:
    """To the brace that closes the first one, which may be missing. Without a brace up to the next `$`."""
    if not rest.startswith("{"):
        return rest.split("$")[0]
    depth = 0
    for index, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[1:index]
    return rest[1:]


def _letter(response: str, filled: list[Box]) -> str | None:
    return last_letter(response, [(box.start, box.content) for box in filled])


def _hashes(response: str, _: list[Box]) -> str | None:
    number = _AFTER_HASHES.search(response)
    return (
        number["sign"].replace("+", "").replace("\u2212", "-") + _IN_NUMBER.sub("", number["size"]) if number else None
    )


MEANING = {
    "boxed_last": (
        r"the last complete, non-empty `\boxed{...}` or `\fbox{...}` before a second problem begins. Boxes with only "
        '"and", "or" or a comma between them are one answer. This is the default for mathematics.'
    ),
    "boxed_first": r"the first complete, non-empty `\boxed{...}` or `\fbox{...}` before a second problem begins.",
    "boxed_strict": "the last box, if all boxes hold one text. A response that boxes two texts has no answer.",
    "answer_line": (
        "the rest of the last line `Answer: ...` before a second problem begins, or the line after it, as the DAPO "
        'prompt asks. In JSON, it is the value of `"answer"`. If the line holds '
        '"The final answer is 5. I hope it is correct.", the answer is 5.'
    ),
    "answer_tag": (
        "the text between the last `<answer>` and `</answer>` before a second problem begins. If it holds a box, the "
        "last box."
    ),
    "qwen": (
        'the last box, complete or not. Without a box, the text after "the answer is". Without this text, the last '
        "number. `extract_answer` in Qwen2.5-Math's evaluation/parser.py does the same, and so does SimpleRL's copy. "
        r"One difference: we read all of `-$1,200` and `-\$1{,}200`. Their code loses the sign or takes 200."
    ),
    "letter": (
        "the last letter that the response states as its answer (GPQA). No answer if a second letter stands beside "
        "it (`evals.grading.letters`)."
    ),
    "hashes": (
        "the first number that stands directly after `####` (GSM8K's form), as in lm-eval's strict-match. We take the "
        "first, because a base model often writes another question after its answer. veRL's strict extraction takes "
        "the last."
    ),
    "whole": "the whole response, for files of bare answers.",
}

POLICIES: dict[str, Callable[[str, list[Box]], str | None]] = {
    "boxed_last": _boxed_last,
    "boxed_first": _boxed_first,
    "boxed_strict": _boxed_strict,
    "answer_line": _answer_line,
    "answer_tag": _answer_tag,
    "qwen": _qwen,
    "letter": _letter,
    "hashes": _hashes,
    "whole": lambda response, _: response.strip() or None,
}


# the only mathematics of a sentence, behind its verb, unless the words beside it deny, bound or compare it
_SEGMENT = re.compile(
    r"\s*(?:[A-Za-z][^$\\]*?(?::|\b(?:that|is|are|be|was|were|equals?|equal\s+to|has|have|had|gets?|obtains?|finds?|gives?"
    r"|yields?|makes?|needs?|costs?|pays?|takes?|earns?|contains?|result|value|solution))|answer|therefore|thus|hence|so)"
    r"\s*:?\s*(\$\$?[^$]+\$\$?|\\\((?:(?!\\\)).)+\\\)|\\\[(?:(?!\\\]).)+\\\])[^$\\]*",
    re.DOTALL | re.IGNORECASE,
)
_NO_STATEMENT = re.compile(
    r"\d|\b(?:all|not|never|no|cannot|\w+n't|if|unless|except|without|or|either|least|most|than|up to|instead|opposite"
    r"|inverse|maybe|perhaps|possibly|probably|guess|think|suppose|might|may|could|would|seems?|but|however|also|wait|half"
    r"|twice|double|triple|minus|plus|times|negative|almost|nearly|bound|conjugate|reciprocal|square|cube|root|false|wrong)\b",
    re.IGNORECASE,
)
_FINAL = re.compile("final answer is:?", re.IGNORECASE)
_HOPE = re.compile("I hope it is correct", re.IGNORECASE)
_ANSWER_STATED = re.compile(
    r"(?:(?:answer|(?:correct|right|best)\s+(?:option|choice))\s*(?:\*\*\s*)?(?:is\s*:?|:)|答案\s*(?:[是为]|[:：]){1,2})"
    r"\s*(?:\*\*\s*)?(.+?)(?:\.\s|[.。]?\s*$|\n)",
    re.IGNORECASE | re.DOTALL,
)
_TAKEN_BACK = re.compile(
    r"\b(?:but|however|or|also|alternatively|otherwise|maybe|perhaps|possibly|wait|actually|sorry|not|no|wrong|instead"
    r"|unless)\b",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(?<![\w)\]}*])\*\*(?=\S)([^*\n]+?)\*\*(?![\w(*])")  # in Markdown. Not the powers of code
_HASHES = re.compile(r"(?:^|\n)#{4} ?(?!#)([^\n]+)\s*$")
_TURN = re.compile(r"<\|(?:im_start|im_end|endoftext|eot_id)\|>")
_LONGEST = 10_000  # the patterns here are quadratic at worst


def locate(text: str) -> str:
    r"""The answer inside a bare answer, such as a gold, which may be a sentence.

    In order: "the final answer is ... I hope it is correct" (the Minerva prompt), the last `<answer>...</answer>`, a
    last line `#### 5` (GSM8K's) and a list of one text (`['70']`), in each of which the same is looked for; what a
    model says for the user after its answer does not count; boxes, where several are one answer when only a separator
    stands between them (`\boxed{1} and \boxed{2}`), else the last counts; what follows "answer is"; and the only
    `$...$` of a sentence. Text beside
    an empty box does not count. In a text longer than 10,000 characters only boxes are looked for.
    """
    if len(text) > _LONGEST:
        return _in_boxes(text, find_boxes(text)) or text
    text = text[: turn.start()] if (turn := _TURN.search(text, 1)) else text
    if final := _final(text):
        return final
    if tags := _TAG.findall(text):
        return locate(tags[-1].strip())
    if line := _HASHES.search(text):
        return locate(line[1].strip())
    if whole_text := _ONE_TEXT.fullmatch(text.strip()):
        return locate(whole_text[1] or whole_text[2] or "")
    text = _BOLD.sub(r"\1", text)
    if contents := find_boxes(text):
        return _in_boxes(text, contents)
    if stated := [*_ANSWER_STATED.finditer(text)]:
        sentence = re.split(r"[.!?:]\s|\n", text[: stated[-1].start()])[-1] + stated[-1][0]
        taken_back = _TAKEN_BACK.search(text, stated[-1].end())
        return text if taken_back or not concludes_answer(sentence.lstrip("*# ")) else stated[-1][1]
    alone = _SEGMENT.fullmatch(text)
    return alone[1] if alone and not _NO_STATEMENT.search(text.replace(alone[1], " ")) else text


def _in_boxes(text: str, contents: Sequence[Box]) -> str:
    filled = [box for box in contents if box.content.strip()]
    return joined(text, filled) if filled else ""


def _final(text: str) -> str:
    """The final sentence that the Minerva prompt asks for, or nothing."""
    ends = [match.start() for match in _HOPE.finditer(text)]
    starts = [match.end() for match in _FINAL.finditer(text, 0, ends[-1])] if ends else []
    return text[starts[-1] : ends[-1]].strip().removesuffix(".").rstrip() if starts else ""

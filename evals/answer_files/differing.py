"""Samples on which the authors' verdict and ours differ, and why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evals.answer_files.conventions import other_conventions
from evals.answer_files.own import graded_by
from evals.answer_files.sample import Sample
from evals.code_execution.program_grader import ProgramGrader
from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.grading import Conventions, Grade, Grader, Response
from evals.grading.extraction import POLICIES, locate
from evals.grading.grader import outcome
from evals.grading.reasoning import graded_row
from evals.grading.verdicts import Verdict
from evals.markdown import code

GOLD_CUT = "the gold may be cut in the file: words, letters, braces, a percent sign or line breaks"


@dataclass(frozen=True)
class Disagreement:
    """A sample whose label and verdict differ. `row` counts from 1."""

    row: int
    problem_id: str
    gold: str
    their_answer: str | None
    our_answer: str | None
    label: bool
    verdict: str
    cause: str


def _programs_differing(
    rows: Sequence[Sample], grades: Sequence[Grade], by_policy: Mapping[str, Sequence[Grade]], places: Sequence[int]
) -> list[Disagreement]:
    causes = {Verdict.CORRECT: "the program passes the tests", Verdict.WRONG: "the program does not pass the tests"}
    disagreements = []
    for at, i in enumerate(places):
        passing = [name for name, by_name in by_policy.items() if by_name[at].verdict is Verdict.CORRECT]
        why = causes.get(grades[i].verdict, "no program found")
        why += f". It passes under policy={passing[0]}" if rows[i].expected and passing else ""
        disagreements.append(
            Disagreement(
                i + 1, rows[i].problem_id, "its tests", None, grades[i].answer, bool(rows[i].expected),
                str(grades[i].verdict), why,
            )
        )  # fmt: skip
    return disagreements


def differing(
    rows: Sequence[Sample],
    grades: Sequence[Grade],
    grader: Grader | ProgramGrader,
    policy: str,
    decided: tuple[str, str] | None = None,
    reasoning: str = "after",
) -> list[Disagreement]:
    """Every scored sample whose `expected` differs from our verdict.

    Args:
        grades: of the rows, under `policy`. Another policy of extraction may explain a difference.
        decided: of verdicts of this project, the policy and the reasoning that decided them.
        reasoning: the part of a response that holds its program.
    """
    differing_rows = [
        i
        for i, (row, grade) in enumerate(zip(rows, grades, strict=True))
        if row.expected is not None
        and grade.verdict != Verdict.UNSCORED
        and (grade.verdict == Verdict.CORRECT) != row.expected
    ]
    responses = [rows[i].exchange for i in differing_rows]
    if isinstance(grader, ProgramGrader):
        parts = [graded_row(row, reasoning) for row in responses]
        return _programs_differing(rows, grades, _by_others(grader, parts, policy, PROGRAMS), differing_rows)
    by_policy = _by_others(grader, responses, policy, POLICIES)
    of_file: Sequence[Grade] = []
    if decided not in (None, (policy, grader.reasoning)):
        of_file = replace(grader, reasoning=decided[1]).grade_responses(responses, decided[0])
    options = [
        _option(rows[i].gold, grades[i].answer or "", grader.conventions, bool(rows[i].expected))
        for i in differing_rows
    ]
    return [
        Disagreement(
            i + 1,
            rows[i].problem_id,
            " or ".join(map(read_gold, rows[i].golds)),
            rows[i].their_answer,
            grades[i].answer,
            bool(rows[i].expected),
            str(grades[i].verdict),
            f"the file's verdict is of {graded_by(*decided)}"
            if decided and of_file and (of_file[at].verdict == Verdict.CORRECT) == rows[i].expected
            else cause(
                rows[i], grades[i], {name: of_policy[at] for name, of_policy in by_policy.items()}, options[at], policy
            ),
        )
        for at, i in enumerate(differing_rows)
    ]


def _by_others(
    grader: Grader | ProgramGrader, responses: Sequence[Response], policy: str, policies: Iterable[str]
) -> dict[str, list[Grade]]:
    """The grades under each of the policies but the one in use."""
    return {name: grader.grade_responses(responses, name) for name in policies if name != policy}


def _option(gold: str, answer: str, conventions: Conventions, label: bool) -> str | None:
    """The convention under which the verdict would be the label's, as it is written: percent_sign=false."""
    for option, changed, _ in other_conventions(conventions):
        if changed.digits == conventions.digits and outcome(locate(gold), answer, changed) is label:
            return option
    return None


def anywhere(tags: Sequence[Grade], qwen: Sequence[Grade]) -> list[Grade]:
    """The verdict on the answer wherever it stands: under `answer_tag` (tags) if the response has one, else `qwen`
    (others), which takes the last number of a response without a box, such as the 2 of `<answer>1/2</answer>`."""
    return [fallback if tag.answer is None else tag for tag, fallback in zip(tags, qwen, strict=True)]


NO_RULE = "no answer by any rule of extraction"
NOTHING = "[invalid]"  # lm-eval's answer where its filter finds none
_SEVERAL = r"(?<![\\{]),| or | and "  # not a thin space, nor a comma in 52{,}451
_SCIENTIFIC = re.compile(r"\d\s*e\s*[-+]?\d|10\s*\^|\\times\s*10", re.IGNORECASE)
_MARK = re.compile(r"\\(?:text|mathrm|rm|circ)(?![A-Za-z])|%")
_PLUS = re.compile(r"[(\[]\s*\+")
_COMMAND = re.compile(r"\\[A-Za-z]+")


def cause(
    row: Sample,
    grade: Grade,
    other_grades: Mapping[str, Grade],
    option: str | None = None,
    policy: str = "boxed_last",
) -> str:
    """Why a label and our verdict differ, as far as rules can tell from gold and answers, else "other".

    The rules, in order:

    1. No answer for us.
    2. The answer that another extraction policy finds is correct as the label says, or they extracted and refused it.
    3. The file's gold has braces that do not close, or is their extracted answer to the letter, and ours is more than
       it (their normalisation took something from both).
    4. No answer for them.
    5. Equal text or equal numbers, labelled incorrect: the label itself is doubtful, or asks for a format.
    6. A convention of the grader that would agree with the label, by its name.
    7. The same number, written otherwise.
    8. Several values on both sides. They are the same in another order or other brackets, or correct for us, or one or
       some of them are there, or others.
    9. A number in scientific notation, the same number a hundred times larger or smaller, numbers closer than one in a
       thousand.
    10. Several values on one side, a left-hand side, units, words or symbols that one side lacks.
    11. Correct for us in another form than the gold's. Two numbers that differ in value. Others.

    Args:
        other_grades: of the same response, by the name of the extraction policy.
        option: under which the verdict would be the label's. policy: of `grade`.
    """
    gold, answer = read_gold(row.gold), grade.answer
    answered = {name: other for name, other in other_grades.items() if other.answer not in (None, answer)}
    agreeing = [name for name, other in answered.items() if _as_they(row, name, other)]
    if answer is None:
        truncated = grade.verdict == Verdict.TRUNCATED
        return "cut off before an answer" if truncated else _cause_of_no_answer(policy, agreeing, answered)
    if agreeing:
        return f"read by policy={agreeing[0]}"
    same_number = _number(row.gold) is not None and _number(row.gold) == _number(answer)
    if gold_is_cut(row, answer) and not same_number:
        return GOLD_CUT
    if row.their_answer == NOTHING and not row.expected:
        return "no answer by their extraction"
    a, b = _number(gold), _number(answer)
    if grade.verdict == Verdict.CORRECT and (_bare(gold) == _bare(answer) or (a is not None and a == b)):
        return "equal to the gold, labelled incorrect"
    if option is not None:
        return _by_convention(option, bool(row.expected))
    return _cause_by_form(gold, answer, grade.verdict == Verdict.CORRECT)


def _cause_of_no_answer(policy: str, agreeing: Sequence[str], answered: Iterable[str]) -> str:
    """Where the answer stands that `policy` does not read, by the policies that read it."""
    form = "in a box" if policy.startswith("boxed") else f"in the form of {policy}"
    if agreeing:
        return f"answer not {form}, but read by policy={agreeing[0]}"
    reading = [name for name in answered if name != "whole"]  # any response is an answer for it
    return f"no answer {form}, and another value read by policy={reading[0]}" if reading else NO_RULE


def _as_they(row: Sample, policy: str, other: Grade) -> bool:
    """Whether a grade under another policy explains the label: correct as it says, or wrong with the part of the
    response that they extracted. A wrong answer alone says nothing, because most other parts of a response are wrong.
    """
    if row.expected or other.verdict == Verdict.CORRECT:
        return bool(row.expected) and other.verdict == Verdict.CORRECT
    return policy != "whole" and row.their_answer is not None and _bare(row.their_answer) == _bare(other.answer or "")


def _cause_by_form(gold: str, answer: str, correct: bool) -> str:
    """The rules that look at both texts alone."""
    a, b, both = _number(gold), _number(answer), f"{gold}\0{answer}"
    if a is not None and a == b:
        return "the same number, written otherwise"
    if None in (a, b) and all(re.search(_SEVERAL, text) for text in (gold, answer)):
        return _several(gold, answer, correct)
    if _SCIENTIFIC.search(both):
        return "scientific notation"
    if a and b:  # numbers, and no zeros
        if math.isclose(a, 100 * b, rel_tol=1e-9) or math.isclose(100 * a, b, rel_tol=1e-9):
            return "percent: a hundred times larger or smaller"
        if math.isclose(a, b, rel_tol=1e-3) or _rounded(gold, answer):
            return "tolerance or rounding"
    if re.search(_SEVERAL, both):
        return _several(gold, answer, correct)
    if "=" in both:
        return "left-hand side or equation"
    if _words(gold) != _words(answer):
        return "units, words or symbols"
    if correct:
        return "equal in another form"
    return "other" if None in (a, b) else "differs in value"


def _rounded(gold: str, answer: str) -> bool:
    """Whether one decimal is the other, rounded to its own decimals: 0.14136 and 0.141."""
    decimals = [re.fullmatch(r"[-+]?\d*\.(\d+)", text.strip()) for text in (gold, answer)]
    if None in decimals:
        return False
    digits = min(len(decimal[1]) for decimal in decimals if decimal)
    return bool(abs(float(gold) - float(answer)) <= 0.5 * 10**-digits * (1 + 1e-9))


def read_gold(text: str) -> str:
    """The answer in a gold that is a solution or a sentence, else the gold itself."""
    return locate(text).strip() or text


def gold_is_cut(row: Sample, answer: str | None) -> bool:
    """The sample is labelled correct, and the file's gold has braces that do not close, as `\\frac{1`, or a bracket
    that begins with a plus, or is their extracted answer to the letter, and ours is another."""
    extracted, gold = row.their_answer, row.gold.strip()
    braces = re.sub(r"\\[{}]", "", gold)
    same = extracted is not None and extracted != answer and extracted.strip() == gold
    broken = braces.count("{") != braces.count("}") or (_PLUS.search(gold) and not _PLUS.search(answer or ""))
    return bool(row.expected) and bool(same or broken)


_SPACING = re.compile(r"\\left(?![A-Za-z])|\\right(?![A-Za-z])|\\[ ,;:!]")
_AROUND = re.compile(r"\\left|\\right|\\text\{|[\s$()\[\]{}\\]|^[a-z]=")
_LEFT = re.compile(r"^[\s$]*[a-zA-Z]\s*(?:=|\\in\b)")


def _words(text: str) -> set[str]:
    """The words, units and marks of a text. Two letters that are no unit are a product, as in e^{it}."""
    from evals.grading.quantity import UNITS

    words = re.findall(r"[A-Za-z]{2,}", _COMMAND.sub(" ", text))
    return {word for word in words if len(word) > 2 or word in UNITS} | set(_MARK.findall(text))


def _several(gold: str, answer: str, correct: bool) -> str:
    """The same values in another order or other brackets, some of them, or other values; of a correct answer, what is
    read as equal."""
    gold_values, answer_values = map(_values, (gold, answer))
    if gold_values == answer_values:
        return "several values: order or brackets"
    if correct:
        same = _values(_LEFT.sub("", gold)) == _values(_LEFT.sub("", answer))
        return f"several values: read as equal{', without the left-hand side' if same else ''}"
    if set(gold_values) < set(answer_values) or set(answer_values) < set(gold_values):
        return "several values: one or some of a list"
    return "several values: not the same ones"


def _values(text: str) -> list[str]:
    parts = re.split(r",(?!\d{3}\b)|\bor\b|\band\b|;", text)
    return sorted(filter(None, (_AROUND.sub("", part) for part in parts)))


def in_words(cause: str) -> str:
    """A cause for readers who do not know our options."""
    return _IN_WORDS.get(cause, cause)


def _by_convention(option: str, accepts: bool) -> str:
    return f"a convention: {option} {'accepts' if accepts else 'refuses'} it"


_CONVENTIONS = {
    "decimal_comma=false": "a decimal comma, which we read as a decimal point",
    "decimal_comma=true": "a decimal comma, which we do not read as a decimal point",
    "missing_unit=false": "a unit stands on one side only, which we accept",
    "missing_unit=true": "a unit stands on one side only, which we refuse",
    "percent_sign=false": "a percent sign that the gold lacks, which we accept",
    "percent_sign=true": "a percent sign that the gold lacks, which we refuse",
}
_IN_WORDS = {_by_convention(key, accepts): text for key, text in _CONVENTIONS.items() for accepts in (True, False)}


def _bare(text: str) -> str:
    """Without spaces, also those of LaTeX, its sizes of brackets, and dollars around it."""
    return "".join(_SPACING.sub("", text).split()).strip("$")


def _number(text: str) -> float | None:
    try:
        return float(text.strip().strip("$").replace("\\!", "").replace(",", "").replace("\\%", "").replace("%", ""))
    except ValueError:
        return None


def cell(text: str | None, width: int = 80) -> str:
    """A text in a cell of a Markdown table."""
    if text is None:
        return "-"
    plain = " ".join(text.split())
    short = plain if len(plain) <= width else plain[: width - 1] + "…"
    return code(short) if short else "(empty)"

"""The effect of other extraction policies: the policy alone can explain a published gap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from evals.code_execution.program_grader import ProgramGrader
from evals.grading import Grade, Grader, Progress, Response
from evals.grading.extraction import POLICIES
from evals.grading.reasoning import READ, has_thought
from evals.grading.verdicts import Verdict

FORMS = ("boxed_last", "answer_line", "answer_tag", "hashes")  # that a response is written in. Others take any number
LETTER = re.compile(r"\(?[A-J]\)?")  # a gold of a multiple choice, as `evals.grading.letters` reads them
LONG = 500  # characters: such responses are no bare answers
BARE = 3  # words: a file whose responses have no more holds bare answers


def is_bare(response: str, words: int = 0) -> bool:
    """Whether a response is nothing but an answer, beside a gold of so many words."""
    return 0 < len(response.split()) <= max(BARE, 2 * words)


def are_letters(golds: Iterable[str]) -> bool:
    """Whether golds are those of a multiple choice."""
    return all(LETTER.fullmatch(gold.strip()) for gold in golds)


@dataclass(frozen=True)
class PolicyEffect:
    """The same responses under another extraction policy.

    `found` of the `read` responses have an answer in its form (the engine gave no whole response for the other
    `rows`), and `correct` are correct under it. `gained` of them are not under the policy in use, and `lost` are
    correct under the policy in use alone. `changed` have another verdict, such as wrong for no answer. `unscored` of
    the rows are unscored under it: the share that is printed is of the others. `unequal` box different texts, of which
    boxed_strict takes none. None elsewhere.
    """

    policy: str
    rows: int
    correct: int
    gained: int
    lost: int
    unscored: int
    found: int
    read: int
    changed: int
    unequal: int | None = None

    def __str__(self) -> str:
        scored = self.rows - self.unscored
        share = f"{100 * self.correct / scored:.1f} % correct" if scored else "none scored"
        total = f" of {scored} scored" if self.unscored and scored else ""
        form = f", {100 * self.found / self.read:.1f} % have its form" if self.read else ""
        change = "1 verdict changes" if self.changed == 1 else f"{self.changed} verdicts change"
        line = f"policy {self.policy:<13} {share}{total}{form}; {change}"
        line += f" (correct: +{self.gained}, -{self.lost})" if self.changed else ""
        return line if self.unequal is None else f"{line}; {self.unequal} have boxes of different texts"


def policy_effects(
    rows: Sequence[Response],
    grades: Sequence[Grade],
    grader: Grader | ProgramGrader,
    used: str,
    policies: Sequence[str] = tuple(POLICIES),
    progress: Progress | None = None,
    of_engine: Collection[int] = (),
) -> list[PolicyEffect]:
    """The changes under each other policy, and where responses hold thoughts, of the one in use and of qwen under the
    other `reasoning`. The one with most correct responses first. Rows without a response to read (`of_engine`) stay
    unscored under each. Left out are `letter` where golds are none, and `whole` where responses are long.

    Args:
        rows: (gold, response, finish reason or None) each, as for `Grader.grade_responses`.
        grades: of `rows`, under the policy `used`. progress: called with (done, all) policies. of_engine: places of
            rows of which the engine gave no whole response.
    """
    alternatives = _alternatives(rows, grader, used, policies)
    effects: list[PolicyEffect] = []
    for name, policy, by in alternatives:
        if progress:
            progress(len(effects), len(alternatives))
        then = by.grade_responses(rows, policy)
        then = [Grade(Verdict.UNSCORED, None) if at in of_engine else grade for at, grade in enumerate(then)]
        effects.append(_effect(name, grades, then, read=len(rows) - len(of_engine)))
    return sorted(effects, key=lambda effect: -effect.correct)


def _alternatives(
    rows: Sequence[Response], grader: Grader | ProgramGrader, used: str, policies: Sequence[str]
) -> list[tuple[str, str, Grader | ProgramGrader]]:
    """Name, policy and grader of each other way to grade the rows."""
    letters = all(isinstance(gold, str) and LETTER.fullmatch(gold.strip()) for gold, *_ in rows)
    left_out = {used} if letters else {used, "letter"}
    left_out |= {"whole"} if rows and median(len(response) for _, response, *_ in rows) > LONG else set()
    plain = [(policy, policy, grader) for policy in policies if policy not in left_out]
    if not isinstance(grader, Grader) or not any(map(has_thought, rows)):
        return plain
    [reasoning] = set(READ) - {grader.reasoning}
    by = replace(grader, reasoning=reasoning)
    pairs = [policy for policy in dict.fromkeys((used, "qwen")) if policy in policies]  # qwen reads most forms
    return [*plain, *((f"{policy}, reasoning={reasoning}", policy, by) for policy in pairs)]


def _effect(policy: str, before: Sequence[Grade], then: Sequence[Grade], read: int) -> PolicyEffect:
    """The change from the grades under the policy in use to those under another, which may stand with a reasoning."""
    pairs = [(was.verdict, grade.verdict) for was, grade in zip(before, then, strict=True)]
    correct = Counter((was is Verdict.CORRECT, now is Verdict.CORRECT) for was, now in pairs)
    unequal = sum(grade.boxed and grade.answer is None for grade in then)
    return PolicyEffect(
        policy,
        rows=len(then),
        correct=correct[True, True] + correct[False, True],
        gained=correct[False, True],
        lost=correct[True, False],
        unscored=sum(now is Verdict.UNSCORED for _, now in pairs),
        found=sum(grade.answer is not None for grade in then),
        read=read,
        changed=sum(was is not now for was, now in pairs),
        unequal=unequal if policy.startswith("boxed_strict") else None,
    )


def program_advice(grades: Sequence[Grade], effects: Sequence[PolicyEffect], used: str) -> str | None:
    """The policy under which most programs pass, where most fail under the one in use and more pass under that, else
    None."""
    correct = sum(grade.verdict is Verdict.CORRECT for grade in grades)
    best = max(effects, key=lambda effect: effect.correct, default=None)
    if best is None or 2 * correct > len(grades) or best.correct <= correct:
        return None
    return (
        f"{correct} of {len(grades)} programs pass in the form of {used}; policy={best.policy}, {best.correct} correct"
    )


def advice(responses: Sequence[str], grades: Sequence[Grade], effects: Sequence[PolicyEffect], used: str) -> str | None:
    """Which policy reads the responses, where most ended without an answer in the form of the one in use, else None.

    It is the one with most correct answers, because some take a text of any response. Without any, it is the form that
    most responses have."""
    answered = sum(grade.answer is not None for grade in grades)
    verdicts = Counter(grade.verdict for grade in grades)
    without, correct = verdicts[Verdict.NO_ANSWER], verdicts[Verdict.CORRECT]
    if 2 * without <= len(responses):
        return None
    if 2 * sum(not response.strip() for response in responses) >= len(responses):
        return None  # no policy reads an empty response
    lacking = f"{without} of {len(responses)} responses have no answer in the form of {used}"
    right = [effect for effect in effects if effect.correct > correct]
    forms = [effect for effect in effects if effect.policy in FORMS]
    form = max(forms, key=lambda effect: (effect.found, effect.correct), default=None)
    first = "whole" if median(len(response.split()) for response in responses) <= BARE else "qwen"
    best = max(
        right, key=lambda e: (e.correct, e.policy in FORMS, e.policy == first), default=None if correct else form
    )
    if best is not None and best.policy in FORMS and best.found > max(answered, len(responses) / 2):
        return f"{lacking}; {best.found} have one in the form of {best.policy}: policy={best.policy}"
    if best is None or not right:
        return (
            f"{lacking}; no other policy gives more correct ones. If a column holds extracted answers, type "
            "columns=response:COLUMN with policy=whole"
        )
    alternative = f"; {form.found} have one in the form of {form.policy}" if form is not None and form.found else ""
    typed = best.policy.replace(", ", " ")  # a policy may stand with a reasoning
    return f"{lacking}{alternative}; policy={typed} finds one in {best.found}, and {best.correct} are correct"

"""Two cleaned answers: the first rule that applies decides, else math-verify."""

from __future__ import annotations


def compare(gold: str, answer: str) -> bool:
    """The verdict on two cleaned answers. Rules take answers apart and compare the parts with this again."""
    from evals.grading.rules import RULES

    for rule in RULES:
        verdict = rule(gold, answer)
        if verdict is not None:
            return verdict
    from evals.grading.symbolic import same_expression

    return same_expression(gold, answer)

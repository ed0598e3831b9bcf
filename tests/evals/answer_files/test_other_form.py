"""A score of exactly 0 whose responses have another form than the one that was read."""

import pytest

from evals.answer_files.other_form import note, unlike

BLOCK = "```python\ndef f(x):\n    return x\n```"


@pytest.mark.parametrize(
    ("responses", "policy", "expected"),
    [
        ([BLOCK, BLOCK, r"\boxed{1}"], "boxed_last", "67 % of the responses hold a code block, and 33 % hold a box"),
        (["so\n#### 42"] * 4, "boxed_last", "100 % of the responses hold `####`, and 0 % hold a box"),
        ([r"\boxed{2}", "2"], "boxed_last", None),  # boxes that are wrong: the model's own 0
        ([BLOCK] * 3, "program", None),
        (["Answer: B"] * 2, "letter", None),
        ([r"it is \boxed{B}"] * 2, "letter", "100 % of the responses hold a box, and 0 % hold an answer line"),
        (["no idea"] * 5, "boxed_last", None),
        ([BLOCK, "x"], "boxed_last", None),  # half is not most
        ([], "boxed_last", None),
    ],
)
def test_the_form_that_most_responses_have_is_named(responses: list[str], policy: str, expected: str | None) -> None:
    advice = note(responses, 0, policy)
    assert advice is None if expected is None else advice is not None and expected in advice
    assert note(responses, 1, policy) is None


@pytest.mark.parametrize(
    ("golds", "answers", "expected"),
    [
        (["0", "1", "2"], ["(a)", "(b)", "C"], "the golds are numbers, such as 0, and 3 of 3 answers are letters"),
        (["A", "B"], ["1", "2.0"], "the golds are letters, such as A, and 2 of 2 answers are numbers"),
        (["Yes", "no"], ["True", "false"], "the golds are yes or no, such as Yes"),
        (["0", "1"], ["2", "3"], None),  # they are of one kind: the model's own 0
        (["0", "x+1"], ["(a)", "(b)"], None),  # golds of two kinds
        (["0"] * 10, ["A"] * 8 + ["7"] * 2, None),  # eight of ten are not nearly all
        (["0", "1"], [], None),
    ],
)
def test_golds_and_answers_of_two_kinds_are_said(golds: list[str], answers: list[str], expected: str | None) -> None:
    advice = unlike(golds, answers, 0)
    assert advice is None if expected is None else advice is not None and expected in advice
    assert unlike(golds, answers, 1) is None

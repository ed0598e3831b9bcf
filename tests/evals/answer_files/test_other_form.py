"""A score of exactly 0 whose responses have another form than the one that was read."""

import pytest

from evals.answer_files.other_form import note

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

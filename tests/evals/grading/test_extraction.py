"""Where the answer is: boxes by brace matching, and each policy."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.extraction import Extraction, boxes, extract


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\boxed{5}", ["5"]),
        (r"\boxed {5}", ["5"]),
        (r"\fbox{5} and \boxed{\frac{1}{2}}", ["5", r"\frac{1}{2}"]),
        (r"\boxed{\{1, 2\}}", [r"\{1, 2\}"]),
        (r"\boxed{\left\{ x \mid x > 0 \right\}}", [r"\left\{ x \mid x > 0 \right\}"]),
        (r"\boxed 5$", ["5"]),
        (r"\boxed -3.5. Done", ["-3.5"]),
        (r"put it in \boxed format", []),  # a word after \boxed is prose, not an answer
        (r"\boxed{\boxed{5} + 1}", [r"\boxed{5} + 1"]),  # the outermost holds the answer
        (r"\boxed{}", [""]),
        (r"\boxed{5", []),
        (r"\boxed{5 and later \boxed{6}", ["6"]),
        (r"} stray \boxed{5} {", ["5"]),
        (r"\boxedx{5}", []),
        ("no box", []),
    ],
)
def test_boxes(text, expected):
    assert boxes(text) == expected


@given(st.lists(st.text(alphabet="ab{}\\ 1", max_size=8)))
def test_boxes_of_balanced_contents_come_back(contents):
    # Make each content balanced by escaping its braces; then what goes into a box comes out of it.
    escaped = [content.replace("\\", "").replace("{", r"\{").replace("}", r"\}") for content in contents]
    assert boxes(" ".join(rf"so \boxed{{{content}}}" for content in escaped)) == escaped


@pytest.mark.parametrize(
    ("policy", "response", "answer"),
    [
        ("boxed_last", r"\boxed{4} wait \boxed{5} \boxed{}", "5"),
        ("boxed_last", "Answer: 5", None),
        ("boxed_first", r"\boxed{4} wait \boxed{5}", "4"),
        ("boxed_strict", r"\boxed{4} so \boxed{ 4 }", "4"),
        ("boxed_strict", r"\boxed{4} so \boxed{5}", None),
        ("boxed_strict", "nothing", None),
        ("answer_line", "Answer: 4\nno\nAnswer: $5$", "$5$"),
        ("answer_line", "**Answer:** 34", "34"),
        ("answer_line", r"\boxed{5}", None),
        ("letter", r"\boxed{C}", "C"),
        ("letter", r"\boxed{\text{(c) } 42}", "C"),
        ("letter", "The correct answer is (B).", "B"),
        ("letter", "Answer: $D$", "D"),
        ("letter", r"\boxed{cat}", None),
        ("letter", "the answer is unknown", None),
    ],
)
def test_policies(policy, response, answer):
    assert extract(response, policy).answer == answer


def test_a_box_never_closed_is_truncated():
    assert extract(r"so \boxed{\frac{1}{2}") == Extraction(None, boxed=False, truncated=True)
    assert extract(r"so \boxed") == Extraction(None, boxed=False, truncated=True)
    assert extract(r"\boxed{1} so \boxed{\frac{1}{2}") == Extraction("1", boxed=True, truncated=True)
    assert extract("nothing at all") == Extraction(None, boxed=False, truncated=False)


def test_long_and_deep_responses_are_read_whole():
    # Nothing here is recursive or quadratic: 5,000 nested boxes, 100,000 characters, 20,000 boxes left open.
    deep = "{" * 5000 + "5" + "}" * 5000
    assert boxes(rf"\boxed{{{deep}}}") == [deep]
    assert len(boxes(r"\boxed{" * 5000 + "5" + "}" * 5000)) == 1
    assert extract(r"\boxed{" * 20000).truncated
    assert extract("a" * 100_000 + r"\boxed{5}").answer == "5"


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="'lastbox' is unknown; expected one of boxed_last, boxed_first"):
        extract("5", "lastbox")


PIECES = ["{", "}", "\\", " ", "5", ".", "x", "\\boxed", "\\fbox", "boxed", "\\boxed{", "}}"]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_text_before_the_first_box_changes_nothing(text: str) -> None:
    # what stands before the first command is skipped; behind a box it is not, and must give the same
    if re.search(r"\\(?:boxed|fbox)", text) is None:
        assert (boxes(text), extract(text).truncated) == ([], False)
    assert boxes(r"\boxed{0}" + text) == ["0", *boxes(text)]
    assert extract(r"\boxed{0}" + text).truncated == extract(text).truncated

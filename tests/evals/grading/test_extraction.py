"""Where the answer is: boxes by brace matching, and each policy."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.extraction import Extraction, boxes, extract, locate


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


@pytest.mark.parametrize(("length", "expected"), [(60, "3, 5"), (61, "5")])
def test_boxes_are_one_answer_up_to_60_characters_apart(length: int, expected: str) -> None:
    text = r"\boxed{3}" + ",".ljust(length) + r"\boxed{5}"
    assert extract(text, "boxed_last").answer == expected


@given(st.lists(st.text(alphabet="ab{}\\ 1", max_size=8)))
def test_boxes_of_balanced_contents_come_back(contents):
    # Make each content balanced by escaping its braces. Then what goes into a box comes out of it.
    escaped = [content.replace("\\", "").replace("{", r"\{").replace("}", r"\}") for content in contents]
    assert boxes(" ".join(rf"so \boxed{{{content}}}" for content in escaped)) == escaped


LETTERS = {
    r"\boxed{42}. Answer: B": "B",
    "\\boxed{E=mc^2}\nAnswer: B": "B",
    "so $C_6H_{12}$ is formed": None,
    r"\boxed{C_6H_{12}}": None,
    "the answer is a bit unclear": None,
    "The answer is (C).": "C",
    "**Answer: D**": "D",
    "Answer: $D$": "D",
    r"Answer: \boxed{A}": "A",
    r"\boxed{\text{B}}": "B",
    r"\boxed{\textbf{(D)} 42}": "D",
    r"$\boxed{\mathrm{(A)\ } 12}$": "A",
    "Answer: B) because": "B",
    "The correct answer is option C": "C",
    "The correct option is B.": "B",
    "(B) is correct": "B",
    "A is the correct answer": "A",
    "Therefore, option D is correct": "D",
    "\n\nC": "C",
    "\n**(B)**": "B",
    "Answer: A\nWait, actually\nAnswer: C": "C",
    "The answer is B, since A is not stable": "B",
    "answer: b": "B",
    "The answer is not A. The answer is B": "B",
    r"The answer is \(B\).": "B",
    r"Answer: $\mathrm{A}$": "A",
    "Answer: Apple": None,
    "Answer:\nD": "D",
    "Answer: [C]": "C",
    "I choose option B.": "B",
    "So the answer must be C.": "C",
    "<answer>B</answer>": "B",
    "<answer>D. Right</answer>": "D",
    "<answer>A large house</answer>": None,
    "分析过程很长……故选C": "C",
    "correct answer: (a)": "A",
    "Answer: B\n\nExplanation: Option A gives 4, option C gives 3.": "B",
}


@pytest.mark.parametrize("response", LETTERS)
def test_the_letter_that_is_stated_last(response):
    assert extract(response, "letter").answer == LETTERS[response]


@pytest.mark.parametrize(
    ("policy", "response", "answer"),
    [
        ("boxed_last", r"\boxed{3} and \boxed{5}", "3, 5"),
        ("boxed_last", r"\boxed{3} or \boxed{5}", "3, 5"),
        ("boxed_last", r"$\boxed{3}$, $\boxed{5}$.", "3, 5"),
        ("boxed_last", r"\boxed{3}, but that is wrong: \boxed{5}", "5"),
        ("boxed_last", r"\boxed{5}, again \boxed{5}", "5"),
        ("boxed_last", "\\boxed{5}\n\nProblem 2: what is 3 + 4? \\boxed{7}", "5"),
        ("boxed_last", "\\boxed{5}<|im_end|>\nHuman: \\boxed{7}", "5"),
        ("boxed_strict", r"\boxed{3} and \boxed{5}", None),
        ("answer_tag", "<think>4</think><answer> 5 </answer>", "5"),
        ("answer_tag", r"<answer>it is \boxed{5}</answer>", "5"),
        ("answer_tag", r"\boxed{5}", None),
        ("qwen", r"\boxed{3} and \boxed{5}", "5"),
        ("qwen", r"so \boxed{\frac{1}{2}", r"\frac{1}{2}"),
        ("qwen", "\\boxed{5}\n\nProblem 2: \\boxed{7}", "7"),
        ("qwen", "The answer is 12.", "12"),
        ("qwen", "We get 1,234 apples and 5 pears", "5"),
        ("qwen", "1,234", "1234"),
        ("qwen", "The final answer is $7$. I hope it is correct. 8", "7"),
        ("qwen", "no idea", None),
    ],
)
def test_what_a_policy_extracts(policy, response, answer):
    assert extract(response, policy).answer == answer


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
        ("answer_line", "**Answer:**\n\n34\n", "34"),
        ("answer_line", "so\nAnswer:\n", None),
        ("answer_line", "Final Answer: The final answer is $100,000$. I hope it is correct.", "$100,000$"),
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


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("She has 18 left.\n#### 18", "18"),
        ("#### $70,000.", "70000"),
        ("#### 5\n\nQuestion: How many?\n#### 9", "5"),  # a base model goes on: the first, as lm-eval
        ("#### Step 1\nSo.\n#### 42 apples in all.", "42"),
        ("#### -$1,200", "-1200"),
        ("#### $-1,200.50", "-1200.50"),
        ("#### \u22127", "-7"),
        ("#### \\$42", "42"),
        ("####  **42**", "42"),
        ("####42", "42"),
        ("#### 1/2", "1/2"),
        ("##### 5", None),  # a heading of another depth
        ("It costs 3.50, so 1,234.50 in all", None),
        ("#### none of 3", None),
        ("#### .5 of 12", ".5"),
        ("#### -\u00a330", "-30"),
        ("#### \u20ac1,200", "1200"),
        ("#### -\\$1{,}200", "-1200"),  # never 1, nor 200
        ("#### 1\\,200.", "1200"),
        ("#### 1e3", "1e3"),
        ("#### +5", "5"),
        ("#### 5, and 6", "5"),
    ],
)
def test_the_extraction_of_gsm8k(response: str, answer: str | None) -> None:
    assert extract(response, "hashes").answer == answer
    assert extract(f" {response}\n", "whole").answer == response  # a bare answer
    assert extract(" ", "whole").answer is None


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
    with pytest.raises(ValueError, match=r"'lastbox' is unknown\. Expected one of boxed_last, boxed_first"):
        extract("5", "lastbox")


PIECES = ["{", "}", "\\", " ", "5", ".", "x", "\\boxed", "\\fbox", "boxed", "\\boxed{", "}}"]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_text_before_the_first_box_changes_nothing(text: str) -> None:
    # what stands before the first command is skipped. Behind a box it is not, and must give the same
    if re.search(r"\\(?:boxed|fbox)", text) is None:
        assert (boxes(text), extract(text).truncated) == ([], False)
    assert boxes(r"\boxed{0}" + text) == ["0", *boxes(text)]
    assert extract(r"\boxed{0}" + text).truncated == extract(text).truncated


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("the answer is at least 5", "at least 5"),  # a bound is not its number
        ("x is not 5", "x is not 5"),
        (r"\boxed{(3,3)} \text{ for part (a) and } \boxed{(1,1)}", "(3,3), (1,1)"),
        (r"$y_1=\boxed{2x}$ and $y_2=\boxed{3x}$", "2x, 3x"),
        (r"\boxed{5} is wrong and so is \boxed{6}", "6"),
        ("<think>4, no</think><answer>3</answer>", "3"),
        ("3 + 4 = 7\n#### 7", "7"),
        ("**Answer:** 7", "7"),
        ("**Answer: 7**", "7"),
        ("The correct option is (B).", "(B)"),
        ("答案：42。", "42"),
        ("x**2 + y**2", "x**2 + y**2"),  # no Markdown
        ("x^2+2x+1 for all x", "x^2+2x+1 for all x"),
        ("step " * 2500 + r"\boxed{1} and \boxed{2}", "1, 2"),
    ],
)
def test_a_number_stated_in_a_sentence(text: str, answer: str) -> None:
    assert locate(text) == answer


def test_a_sign_before_a_currency_is_kept() -> None:
    assert extract("The balance is -$1,200", "qwen").answer == "-1200"
    assert extract("from 3 to -\\$1,200.50 in all", "qwen").answer == "-1200.50"
    assert extract("It is $1,200 - $200", "qwen").answer == "200"
    assert extract("It is $1,200-$200", "qwen").answer == "200"
    assert extract("The total is \u22121,200", "qwen").answer == "-1200"
    assert extract("a loss of -\u00a330.50", "qwen").answer == "-30.50"
    assert extract("from 3 to $-\\$1{,}200$", "qwen").answer == "-1200"
    assert extract("from 3 to 10\\,000\\,000", "qwen").answer == "10000000"
    assert extract("3\u22125 = \u22122", "qwen").answer == "-2"
    assert extract("(1{,}5)", "qwen").answer == "5"  # no thousands: two values


def test_a_gold_that_is_a_list_of_one_text() -> None:
    assert locate("['70']") == locate('["70"]') == "70"
    assert locate("[70, 71]") == "[70, 71]" and locate("['70', '71']") == "['70', '71']"
    assert extract(r"so \fbox{\frac12}").answer == r"\frac12"


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "maybe $5$",
            "close to $5$",
            "twice $5$",
            "O($5$)",
            "It is $5$ or something",
            "Half of $5$",
            "It is half $5$",
        ),
        *("The answer is 5. But it could be 6.", "The value is $5$, I guess", "The upper bound is $5$"),
    ],
)
def test_words_that_change_a_value_or_leave_it_open_are_part_of_a_bare_answer(sentence: str) -> None:
    assert locate(sentence) == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "The largest possible value of the sum is $5$.",
            "There are $5$ such triangles.",
            "So the total is $5$ dollars.",
        ),
        *("Special case: $5$", "Thus $5$ is our answer.", "We find that $5$.", "Answer $5$"),
    ],
)
def test_the_mathematics_behind_the_verb_of_a_sentence_is_a_bare_answer(sentence: str) -> None:
    assert locate(sentence) == "$5$"


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ('```json\n{"reasoning": "90/2 = 45", "answer": "45"}\n```\nSteps: divide by 2.', "45"),
        ('{"answer": 1,234.5, "unit": "m"}', "1,234.5"),
        ('{"final_answer": -7}', "-7"),
        ('Answer: 5\n{"answer": "6"}', "6"),
        ('{"answer": "6"}\nAnswer: 5', "5"),
        ('{"answers": ["6"]}', None),
    ],
)
def test_the_answer_line_reads_a_field_of_json(response: str, answer: str | None) -> None:
    assert extract(response, "answer_line").answer == answer


@pytest.mark.parametrize("form", ["Final answer: {}", "<answer>{}</answer>"])
def test_an_answer_to_a_second_problem_does_not_count(form: str) -> None:
    """A base model goes on with a problem of its own."""
    policy = "answer_tag" if "<" in form else "answer_line"
    on = f"So 9*2=18.\n\n{form.format(18)}\n\nProblem: A farmer has 100 acres.\n\n{form.format(7)}\n"
    assert extract(on, policy).answer == "18"
    corrected = f"{form.format(18)}\n\nWait.\n\n{form.format(7)}\n"
    assert extract(corrected, policy).answer == "7"

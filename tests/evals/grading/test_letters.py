"""GPQA's letters: responses as models write them, each with the letter that a person reads in it as the final answer.

Written by hand, before the policy was run on them. The issue that asked for it counted 23 of 30 on a set like this.
"""

from __future__ import annotations

import pytest

from evals.grading.extraction import extract

RESPONSES = [
    ("The energy is \\boxed{42} J.\n\nAnswer: B", "B"),
    ("So we find \\boxed{E=mc^2}.\n\nAnswer: B", "B"),
    ("The product is \\boxed{C_6H_{12}}, which is option D.\n\nAnswer: D", "D"),
    ("The compound has the formula C_6H_{12}. The spectrum fits option B.", "B"),
    ("The answer is a bit unclear at first, but the ratio must be 3:1. Answer: C", "C"),
    ("The answer is a bit unclear.", None),
    ("Let me think about A first. A would need a proton. So the correct answer is (C).", "C"),
    ("**Final Answer**\n\nThe correct choice is **D**.", "D"),
    ("**Answer: (A)**", "A"),
    ("$\\boxed{\\text{B}}$", "B"),
    ("$\\boxed{\\textbf{(C)}\\ 12}$", "C"),
    ("The final answer is $\\boxed{D}$.", "D"),
    ("Final answer: \\boxed{\\mathrm{A}}", "A"),
    ("Options A and B are excluded by symmetry, D by energy. Therefore C.", "C"),
    ("Only option D satisfies both conditions.\n\nD", "D"),
    ("Answer: B) 10^-4 eV", "B"),
    ("ANSWER: C", "C"),
    ("the correct answer is: **B) 4 peaks**", "B"),
    ("I first thought the answer is A, but the sign is wrong. Hence the answer is D.", "D"),
    ("Answer: A\n\nWait, I made a mistake in the second step.\n\nAnswer: B", "B"),
    ("Thus, (B) is the right choice.", "B"),
    ("Option C is correct because the reaction is exothermic. Options A, B and D ignore that.", "C"),
    ("The right answer would be option (A), as K_a > K_b.", "A"),
    ("<think>maybe B</think>\n<answer>C</answer>", "C"),
    ("A careful analysis shows that both steps are fast. Answer: D.", "D"),
    ("A is too small and B is too large. C has the wrong sign. So D it is.\n\nAnswer: $D$", "D"),
    ("We therefore choose B.", "B"),
    ("My answer: \\(\\boxed{C}\\)", "C"),
    ("The best answer is A.", "A"),
    ("Answer: Option B", "B"),
    ("The correct answer is\n\n**C**", "C"),
    ("The answer is (D) 5.6 keV.", "D"),
    ("### Answer\n\nB", "B"),
    ("In conclusion, the answer is choice A: the triplet.", "A"),
    ("Since ΔG < 0, the answer must be $\\text{(B)}$.", "B"),
    ("\\[\\boxed{\\text{Option A}}\\]", "A"),
    ("The wavelength is 500 nm, which corresponds to choice (D).", "D"),
    ("The value matches answer choice B.", "B"),
    ("a) is wrong, b) is wrong, d) is wrong, so c) is the answer.", "C"),
    ("The energy of the state is E = 13.6 eV and the field B = 2 T. Answer: A", "A"),
    ("I am not able to determine it.", None),
    ("Thus A Boltzmann factor is needed. Hence B decays.", None),
    ("The reaction of A with B gives C and D in equal parts.", None),
    # counted once on thirty others, also written before the policy was run on them: 25, then these
    ("I'd go with A.", "A"),
    ('{"answer": "A"}', "A"),
    ("<answer>(A)</answer>", "A"),
    ("So my final choice is D.", "D"),
    ("Choice D.", "D"),
    ("**Option A**\n\nIt fails, as it has no proton.", None),
    ("It is a complex problem. A detailed derivation gives C_p - C_v = R.", None),
]


def test_at_least_40_responses_with_every_letter() -> None:
    assert len(RESPONSES) == 50
    assert {letter for _, letter in RESPONSES} == {"A", "B", "C", "D", None}


@pytest.mark.parametrize(("response", "letter"), RESPONSES)
def test_the_letter_of_a_response(response: str, letter: str | None) -> None:
    assert extract(response, "letter").answer == letter

"""Six problems and what a model that only recites answers to them, twice each; every tool's file is made from these."""

PROBLEMS = [
    ("p0", "What is 7 * 8?", "56"),
    ("p1", "Simplify 2/4.", "\\frac{1}{2}"),
    ("p2", "How many prime numbers are below 10?", "4"),
    ("p3", "Solve x^2 = 9.", "-3, 3"),
    ("p4", "What is the speed of light in m/s, to one digit?", "3e8"),
    ("p5", "What is 10 - 3?", "7"),
]
RESPONSES = {
    "p0": ["7 times 8 is \\boxed{56}.", "I count 54, so \\boxed{54}."],
    "p1": ["Half of it: \\boxed{0.5}.", "The answer is \\boxed{\\frac{2}{4}}."],
    "p2": ["2, 3, 5, 7.\n#### 4", "The answer is 4."],
    "p3": ["Two roots: \\boxed{3, -3}.", "x = \\boxed{3}."],
    "p4": ["About \\boxed{3 \\times 10^8} m/s.", "\\boxed{300000000}"],
    "p5": ["10 - 3 = 7, so \\boxed{7}.", "I do not know."],
}

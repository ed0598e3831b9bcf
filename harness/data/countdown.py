r"""Countdown: make a number from given ones. A generator of problems, and a reward that is a program (no grader).

    python -m harness.data.countdown FOLDER [seed=0] [numbers=3] [largest=20] [rows=4000]
    rlvr run paper=baselines arm=grpo dataset=FOLDER/countdown_train.jsonl rewards='[harness.data.countdown:reward]'

writes countdown_train.jsonl and countdown_test.jsonl (200 rows), which share no problem: columns id, problem, answer
("3 5 7 = 26") and a solution. Every problem can be solved with all of its numbers. Another solution counts as well.
"""

from __future__ import annotations

import ast
import json
import operator
import random
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

from harness.errors import UsageError

HELD_OUT = 200
LONGEST = 200  # characters of an expression
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
SPELLED = {
    "\\times": "*",
    "\\cdot": "*",
    "\\div": "/",
    "\u00d7": "*",
    "\u00f7": "/",
    "\u2212": "-",
    "\\left": "",
    "\\right": "",
}


def value(expression: str) -> tuple[Fraction, Counter[int]] | None:
    """(the exact value, how often each number is used) of whole numbers joined by + - * / and brackets, or None for
    anything else, and for a division by zero. Nothing is executed."""
    for spelling, sign in SPELLED.items():
        expression = expression.replace(spelling, sign)
    if len(expression) > LONGEST:
        return None
    used: Counter[int] = Counter()

    def value_of(node: ast.expr) -> Fraction:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            used[node.value] += 1
            return Fraction(node.value)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            result: Fraction = OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
            return result
        raise ValueError(type(node).__name__)

    try:
        return value_of(ast.parse(expression.strip(), mode="eval").body), used
    except (ValueError, SyntaxError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def reward(response: str, answer: str) -> float | None:
    """1 if the last box makes the target from the given numbers, each at most as often as it is given, else 0, or None
    if the answer is not "NUMBERS = TARGET"."""
    from evals.grading.extraction import boxes

    numbers, equals, target = answer.partition("=")
    if not equals or not all(part.isdecimal() for part in [*numbers.split(), target.strip()]):
        return None
    result = value(boxes(response)[-1].partition("=")[0]) if boxes(response) else None
    if result is None:
        return 0.0
    return float(result[0] == int(target) and result[1] <= Counter(map(int, numbers.split())))


reward.range = (0.0, 1.0)  # type: ignore[attr-defined]


def problems(rows: int, *, seed: int, numbers: int = 3, largest: int = 20, held_out: int = 0) -> list[dict[str, str]]:
    """Different problems with a target of 1 to `largest` squared: `held_out`, and then `rows`.

    Raises:
        UsageError: there are not that many.
    """
    rng = random.Random(f"countdown {seed}")
    generated: dict[str, dict[str, str]] = {}
    for _ in range(100 * (held_out + rows)):
        given = [rng.randint(1, largest) for _ in range(numbers)]
        text = str(given[0])
        for number in given[1:]:  # from left to right, in brackets where the order matters
            sign = rng.choice("+-*")
            text = f"({text}) {sign} {number}" if sign == "*" and " " in text else f"{text} {sign} {number}"
        solved = value(text)
        assert solved is not None
        if 1 <= solved[0] <= largest**2:
            shown = " ".join(map(str, sorted(given)))
            problem = f"Make {solved[0]} from {shown} with + - * /, each at most once."
            generated.setdefault(problem, {"answer": f"{shown} = {solved[0]}", "solution": f"\\boxed{{{text}}}"})
        if len(generated) == held_out + rows:
            return [{"problem": problem, **rest} for problem, rest in generated.items()]
    most, beside = len(generated) - held_out, f" beside {held_out} to measure with" if held_out else ""
    raise UsageError(
        f"rows: expected at most {max(most, 0)} different problems of {numbers} numbers to {largest}{beside}, got "
        f"{rows}"
    )


def write(folder: Path, *, seed: int = 0, numbers: int = 3, largest: int = 20, rows: int = 4000) -> list[Path]:
    """Write both files. Returns their paths."""
    every = problems(rows, seed=seed, numbers=numbers, largest=largest, held_out=HELD_OUT)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"countdown_{name}.jsonl" for name in ("test", "train")]
    for path, part in zip(paths, (every[:HELD_OUT], every[HELD_OUT:]), strict=True):
        lines = [json.dumps({"id": f"{path.stem}-{i:04d}", **row}) + "\n" for i, row in enumerate(part)]
        path.write_text("".join(lines), encoding="utf-8")
    return paths


if __name__ == "__main__":
    folder, *settings = sys.argv[1:]
    print(
        *write(Path(folder), **{key: int(number) for key, number in (each.split("=") for each in settings)}), sep="\n"
    )

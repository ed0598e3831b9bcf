"""How many labelled pairs each rule of `rules.py` decides: `python -m evals.grading.rule_counts FILE...`.

A file has a JSON object a line: `gold`, `prediction`, `expected`, and `kind` ("response" for a whole response).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from evals.grading.equivalence import Comparison, UndecidedError
from evals.grading.extraction import extract, locate
from evals.grading.rules import RULES
from evals.grading.spelling import clean


def count(paths: list[Path]) -> dict[str, tuple[int, int]]:
    """Of each rule, and of what comes after the rules: (the pairs that it decides, those against their label)."""

    def left_over(gold: str, answer: str) -> bool:
        raise UndecidedError

    decided, against = Counter[str](), Counter[str]()
    for line in (line for path in paths for line in path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        text = str(row["prediction"])
        answer = (extract(text).answer if row.get("kind") == "response" else locate(text)) or ""
        comparison = Comparison(last=left_over)
        try:
            verdict = comparison(clean(locate(str(row["gold"]), numbers=False)), clean(answer)) if answer else False
            name = comparison.steps[-1][2] if answer else "no answer"
        except UndecidedError:
            verdict, name = row["expected"], "math_verify"
        decided[name] += 1
        against[name] += verdict is not row["expected"]
    return {name: (decided[name], against[name]) for name in [*(rule.name for rule in RULES), *decided]}


if __name__ == "__main__":
    for name, (pairs, wrong) in count([Path(name) for name in sys.argv[1:]]).items():
        print(f"{name:24}{pairs:>8}{wrong:>6}")

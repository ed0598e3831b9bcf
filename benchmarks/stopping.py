"""Error rate and savings of `stop=decided`, simulated: `python -m benchmarks.stopping [--write]`; takes seconds."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from evals.stats.sequential import difference_as_share, first_decision, plug_in_bets

PAGE = Path(__file__).resolve().parents[1] / "docs" / "stopping.md"
MARK = "<!-- written by python -m benchmarks.stopping --write -->\n"
RUNS, PROBLEMS, ALPHA = 2000, 500, 0.05


def row(name: str, true: float, threshold: float, kind: str, seed: int) -> str:
    """A row of the table: how often each decision was made, and how many problems it took."""
    rng = np.random.default_rng(seed)
    verdicts, used = [], []
    for _ in range(RUNS):
        if kind == "paired":  # one sample each; a third of the problems differ
            up, down = (1 / 3 + true) / 2, (1 / 3 - true) / 2
            values = difference_as_share(rng.choice([1.0, -1.0, 0.0], p=[up, down, 1 - up - down], size=PROBLEMS))
        else:
            chance = rng.beta(0.5 * true, 0.5 * (1 - true), PROBLEMS)
            values = list(rng.binomial(int(kind), chance) / int(kind))
        numbers = np.asarray(values)
        verdict, count = first_decision(numbers, plug_in_bets(numbers, ALPHA), threshold, math.log(2 / ALPHA))
        verdicts.append(verdict)
        used.append(count)
    above, below = (100 * np.mean([v == word for v in verdicts]) for word in ("above", "below"))
    return f"| {name} | {above:.1f} | {below:.1f} | {np.mean(used):.0f} | {100 * (1 - np.mean(used) / PROBLEMS):.0f} |"


def table() -> str:
    rows = ["| true score | above, % | below, % | problems, mean | saved, % |", "| --- | ---: | ---: | ---: | ---: |"]
    for n in ("1", "8"):
        for true in (0.5, 0.55, 0.6, 0.7):
            rows.append(row(f"{100 * true:g} %, against 50 %, n = {n}", true, 0.5, n, int(1000 * true)))
    for true in (0.0, 0.05, 0.1):
        rows.append(row(f"{100 * true:+g} points, paired, n = 1", true, 0.5, "paired", int(1000 * true)))
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    made = table()
    print(made)
    if "--write" in sys.argv:
        PAGE.write_text(PAGE.read_text().partition(MARK)[0] + MARK + "\n" + made)

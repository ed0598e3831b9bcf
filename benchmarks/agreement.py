"""How often does the grader agree with graded answers of others? `python -m benchmarks.agreement FOLDER [--write]`.

FOLDER holds the triples (`../shared/data/grader`). Prints a Markdown document: for each source, how our verdicts and
those of math-verify alone (gold and answer boxed, a response as it is) stand to its labels. --write puts it into
results/grader.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evals.grading import Grade, Grader
from evals.grading.verdicts import Verdict
from harness.cli.columns import columns
from harness.runs.record import environment

ROOT = Path(__file__).resolve().parents[1]
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(prog="agreement", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write results/grader.md as well")
    asked = parser.parse_args()
    sources = {path.stem: read(path) for path in sorted(asked.folder.glob("*.jsonl"))}
    if not sources:
        parser.error(f"folder: expected .jsonl files in {asked.folder}, found none")
    text = report({name: (matrix(rows, ours(rows)), matrix(rows, theirs(rows))) for name, rows in sources.items()})
    print(text)
    if asked.write:
        (ROOT / "results" / "grader.md").write_text(text, encoding="utf-8")
    return 0


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ours(rows: list[Row]) -> list[bool | None]:
    """Correct or not; None is unscored."""
    answers = [i for i, row in enumerate(rows) if row["kind"] != "response"]
    responses = [i for i, row in enumerate(rows) if row["kind"] == "response"]
    grades: dict[int, Grade] = {}
    with Grader(workers=2) as grader:
        grades |= zip(answers, grader.grade_answers([pair(rows[i]) for i in answers]), strict=True)
        graded = grader.grade_responses([(*pair(rows[i]), rows[i].get("finish_reason")) for i in responses])
        grades |= zip(responses, graded, strict=True)
    verdicts = [grades[i].verdict for i in range(len(rows))]
    return [None if verdict is Verdict.UNSCORED else verdict is Verdict.CORRECT for verdict in verdicts]


def theirs(rows: list[Row]) -> list[bool | None]:
    """math-verify alone; it gives no reasons, and what it cannot read is not correct."""
    from math_verify import parse, verify

    found: list[bool | None] = []
    for row in rows:
        gold, prediction = pair(row)
        answer = prediction if row["kind"] == "response" else rf"\boxed{{{prediction}}}"
        found.append(bool(verify(parse(rf"\boxed{{{gold}}}"), parse(answer))))
    return found


def pair(row: Row) -> tuple[str, str]:
    return str(row["gold"]), str(row["prediction"])


def matrix(rows: list[Row], verdicts: list[bool | None]) -> Counter[tuple[bool, bool | None]]:
    """(label, verdict) -> how many."""
    return Counter((row["expected"], verdict) for row, verdict in zip(rows, verdicts, strict=True))


def report(found: dict[str, tuple[Counter[Any], Counter[Any]]]) -> str:
    header = ("source", "rows", "math-verify %", "ours %", *(f"{who} {what}" for who in ("math-verify", "ours")
              for what in ("wrong accepted", "right refused")), "unscored")  # fmt: skip
    every = (sum((a for a, _ in found.values()), Counter()), sum((b for _, b in found.values()), Counter()))
    cells = [line(name, *pair) for name, pair in {**found, "all": every}.items()]
    e = environment()
    commit = str(e["commit"])[:10] + (" with uncommitted changes" if e["uncommitted_changes"] else "")
    return "\n".join(
        [
            "# The grader against labels of others",
            "",
            f"Written by `python -m benchmarks.agreement FOLDER --write` on {time.strftime('%Y-%m-%d')}, commit "
            f"{commit}, math-verify {version('math-verify')}; not edited by hand. Share of rows on which a verdict "
            "agrees with the source's own label. Labels are not all right, and some follow another rounding policy "
            "than ours.",
            "",
            columns(header, cells, left=1),
            "",
        ]
    )


def line(name: str, mine: Counter[Any], alone: Counter[Any]) -> tuple[str, ...]:
    def rate(counts: Counter[Any]) -> str:
        return f"{100 * (counts[True, True] + counts[False, False]) / counts.total():.2f}"

    errors = [counts[key] for counts in (alone, mine) for key in ((False, True), (True, False))]
    unscored = mine[True, None] + mine[False, None]
    return (name, str(mine.total()), rate(alone), rate(mine), *map(str, errors), str(unscored))


if __name__ == "__main__":
    sys.exit(main())

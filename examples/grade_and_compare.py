"""Grade the answers of two models, explain one verdict, give each score its interval, and ask which model is better.

python examples/grade_and_compare.py [OUT_FOLDER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import rlvr

# three problems, four samples each; in real use, read them from the files that your sampler wrote
GOLD = {"sum": "12", "half": r"\frac{1}{2}", "set": "{1, 2}"}
ANSWERS = {
    "old": {"sum": ["12", "13", "12", "11"], "half": ["0.5", "2", "2", "2"], "set": ["{2,1}", "3", "3", "3"]},
    "new": {
        "sum": ["12", "12", "12", "12"],
        "half": ["0.5", "1/2", "50\\%", "2"],
        "set": ["{1,2}", "{2, 1}", "3", "3"],
    },
}


def write(model: str, folder: Path) -> Path:
    """The model's responses as JSON Lines: problem_id, answer (the gold), response."""
    rows = [
        {"problem_id": problem, "answer": GOLD[problem], "response": f"so it is \\boxed{{{answer}}}"}
        for problem, samples in ANSWERS[model].items()
        for answer in samples
    ]
    path = folder / f"{model}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for model in ANSWERS:
        report = rlvr.grade(write(model, folder), out=folder / f"{model}-graded.jsonl")
        print(report)
    grader = rlvr.Grader()  # why one answer got its verdict
    print(grader.explain(GOLD["half"], r"so it is \boxed{50\%}", "boxed_last"))
    run = rlvr.read_run(folder / "new-graded.jsonl", name="new")
    print(run.scores(ks=[1, 4]))
    difference = rlvr.compare(run, folder / "old-graded.jsonl", metrics=["avg"])
    for line in difference.lines:
        print(line["name"], line["difference"], [line["low"], line["high"]], line["verdict"])
    print("written:", difference.save(folder / "difference.svg"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example"))

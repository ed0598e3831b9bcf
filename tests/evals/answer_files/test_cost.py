"""The cost of a large file: it says how far it is, and its verdicts are on disk before what else is asked of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals import answer_files
from evals.answer_files import grade_file
from evals.files import write_jsonl
from evals.grading.extraction import POLICIES, extract, find_boxes
from evals.grading.grader import Grader


def a_file(folder: Path, problems: int = 6, samples: int = 5) -> Path:
    rows = [
        {"problem_id": f"p{p}", "answer": "5", "response": rf"\boxed{{{10 + p + s}}}"}
        for p in range(problems)
        for s in range(samples)
    ]
    write_jsonl(folder / "answers.jsonl", rows)
    return folder / "answers.jsonl"


def test_every_part_of_the_work_is_told(tmp_path: Path) -> None:
    progress: dict[str, list[tuple[int, int]]] = {}
    grade_file(a_file(tmp_path), progress=lambda unit, done, total: progress.setdefault(unit, []).append((done, total)))
    assert progress["rows"][-1] == (30, 30)
    assert progress["problems whose answers are compared"] == [(done, 6) for done in range(1, 7)]
    other_policies = len(progress["other policies"])
    assert other_policies > 1 and progress["other policies"][-1] == (other_policies - 1, other_policies)


@pytest.mark.parametrize("after", ["policy_effects", "differing", "_scores", "advice"])
def test_verdicts_are_written_before_what_follows_them(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(answer_files, after, stopped)
    with pytest.raises(KeyboardInterrupt):
        grade_file(a_file(tmp_path), out=tmp_path / "graded.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "graded.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["verdict"] for row in rows] == ["wrong"] * 30
    assert [row["answer_class"] for row in rows[:5]] == [0, 1, 2, 3, 4]


MANY = 2_000_000  # at a square of them, this would not end


@pytest.mark.slow
@pytest.mark.parametrize("closed", [0, MANY // 2, MANY])
def test_boxes_in_boxes_take_time_by_their_number(closed: int) -> None:
    text = r"\boxed{" * MANY + "5" + "}" * closed
    boxes = find_boxes(text)
    assert [box.content for box in boxes] == [r"\boxed{" * (closed - 1) + "5" + "}" * (closed - 1)][: closed > 0]
    [grade] = Grader().grade_responses([("5", text, None)])
    assert grade.verdict == ("wrong" if closed else "truncated")
    fewer = r"\boxed{" * (MANY // 10) + "5" + "}" * (closed // 10)
    for policy in POLICIES:
        extract(fewer, policy)  # in any form

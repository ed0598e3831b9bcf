"""Named training sets, on synthetic rows with the columns of the real sets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.data.named import SETS, at_levels, distinct, shortest_solutions, without_math500
from harness.data.problems import count_rows, load_problems, load_solutions
from harness.spec import catalogue
from tests.shared import shared_file

DAPO = "BytedTsinghua-SIA/DAPO-Math-17k"
STILL_3 = "RUC-AIBOX/STILL-3-Preview-RL-Data"
MATH = "DigitalLearningGmbH/MATH-lighteval"


def dapo_row(problem: str, answer: str, index: str = "0") -> dict[str, Any]:
    """A row as the hub shows it. The prompt is typed again here, not taken from our own."""
    content = (
        "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
        f"$Answer (without quotes) where $Answer is the answer to the problem.\n\n{problem}\n\n"
        'Remember to put your answer on its own line after "Answer:".'
    )
    return {
        "data_source": "math_dapo",
        "prompt": [{"content": content, "role": "user"}],
        "ability": "MATH",
        "reward_model": {"ground_truth": answer, "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": index},
    }


def simplerl_row(question: str, answer: str) -> dict[str, Any]:
    """`answer` may be the worked solution in such files: `gt_answer` is the one to read."""
    return {"input": question, "answer": "worked", "gt_answer": answer, "question": question, "level": 4}


def open_thoughts_row(problem: str, answer: str) -> dict[str, Any]:
    return {
        "problem": problem,
        "deepseek_reasoning": "So.",
        "deepseek_solution": rf"\boxed{{{answer}}}",
        "domain": "math",
    }


def gsm8k_row(question: str, answer: str) -> dict[str, Any]:
    return {"question": question, "answer": f"He adds <<1+1={answer}>>.\n#### {answer}"}


def math_row(problem: str, answer: str, level: int = 3) -> dict[str, Any]:
    return {"problem": problem, "level": f"Level {level}", "type": "Algebra", "solution": rf"So \boxed{{{answer}}}."}


ROWS = {
    "openthoughts": [open_thoughts_row("1+1?", "2"), open_thoughts_row("2+2?", "4")],
    "openthoughts_math": [open_thoughts_row("1+1?", "2"), open_thoughts_row("2+2?", "4")],
    DAPO: [dapo_row("1+1?", "2", "a"), dapo_row("2+2?", "4", "b")],
    STILL_3: [{"question": "1+1?", "answer": "2"}, {"question": "2+2?", "answer": "4"}],
    MATH: [math_row("1+1?", "2"), math_row("2+2?", "4")],
    "math_minus_math500": [math_row("1+1?", "2"), math_row("2+2?", "4")],
    "math_erpo": [math_row("1+1?", "2"), math_row("2+2?", "4", 5)],
    "openai/gsm8k": [gsm8k_row("1+1?", "2"), gsm8k_row("2+2?", "4")],
    "simplerl_8k": [simplerl_row("1+1?", "2"), simplerl_row("2+2?", "4")],
}
WANTED = [{"problem": "1+1?", "answer": "2"}, {"problem": "2+2?", "answer": "4"}]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The named sets without their row counts, so that tests can use a few rows."""
    for name, named in SETS.items():
        monkeypatch.setitem(SETS, name, replace(named, read=None, rows=None))


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("name", SETS)
def test_named_sets_load_from_a_local_file(name: str, tmp_path: Path) -> None:
    assert load_problems(f"{name}:{write(tmp_path / 'rows.jsonl', ROWS[name])}") == WANTED


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("name", SETS)
def test_named_sets_load_from_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets as hub

    requests: list[tuple[str, dict[str, Any]]] = []

    def load_dataset(path: str, **options: Any) -> Iterator[dict[str, Any]]:
        requests.append((path, options))
        return iter(ROWS[name])

    monkeypatch.setattr(hub, "load_dataset", load_dataset)
    assert load_problems(name) == WANTED
    named = SETS[name]
    assert requests == [(named.hub, {"data_files": named.file, "split": named.split, "revision": named.revision})]


@pytest.mark.usefixtures("any_size")
def test_math_keeps_solutions_for_fine_tuning(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS["math_erpo"])
    assert load_solutions(f"math_erpo:{path}")[1] == {"problem": "2+2?", "solution": r"So \boxed{4}."}
    path = write(tmp_path / "other.jsonl", ROWS[DAPO])
    with pytest.raises(ValueError, match="row 1: expected text in 'solution', got None"):
        load_solutions(f"{DAPO}:{path}")


@pytest.mark.parametrize("name", [name for name in SETS if name != STILL_3])
def test_named_sets_refuse_a_file_with_too_few_rows(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS[name])
    with pytest.raises(ValueError, match="Is it another version"):
        load_problems(f"{name}:{path}")


def test_repeated_problems_keep_their_first_answer(tmp_path: Path, any_size: None) -> None:
    rows = [*ROWS[DAPO], dapo_row("1+1?", "3", "c"), *ROWS[DAPO] * 3]
    assert load_problems(f"{DAPO}:{write(tmp_path / 'rows.jsonl', rows)}") == WANTED
    assert distinct(iter([{"problem": "a", "n": 1}, {"problem": "a", "n": 2}])) == [{"problem": "a", "n": 1}]


def test_problems_without_an_answer_are_dropped_after_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "rows.jsonl", [*ROWS["simplerl_8k"], simplerl_row("3+3?", " ")])
    monkeypatch.setitem(SETS, "simplerl_8k", replace(SETS["simplerl_8k"], read=3))
    assert load_problems(f"simplerl_8k:{path}") == WANTED
    monkeypatch.setitem(SETS, "simplerl_8k", replace(SETS["simplerl_8k"], read=2))
    with pytest.raises(ValueError, match=r"expected 2 rows in hkust-nlp/SimpleRL-Zoo-Data \(train\), got 3"):
        load_problems(f"simplerl_8k:{path}")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompt": [{"role": "user"}]}, r"'prompt\.content', found no 'content' \(there is role\)"),
        ({"prompt": []}, r"one element before 'content' in 'prompt\.content', got 0"),
        ({"prompt": [{"content": "1+1?"}]}, "inside DAPO's prompt, got '1"),
        ({"reward_model": {"ground_truth": 2}}, r"expected text in 'reward_model\.ground_truth', got 2"),
    ],
)
def test_errors_name_row_and_column(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [ROWS[DAPO][0], {**ROWS[DAPO][1], **changed}])
    with pytest.raises(ValueError, match=f"dataset '{DAPO}', row 1: .*{message}"):
        load_problems(f"{DAPO}:{path}")


def test_select_by_level_and_length() -> None:
    lengths, levels = [5, 2, 9, 2, 1, 7], ["3", "5", "4", "5", "2", "?"]
    rows = [
        {"id": i, "solution": "x" * n, "level": f"Level {level}"}
        for i, (n, level) in enumerate(zip(lengths, levels, strict=True))
    ]
    hard = at_levels(rows, (3, 4, 5))
    assert [row["id"] for row in hard] == [0, 1, 2, 3]
    # the two shortest are rows 1 and 3; of ties the earlier row is kept. The order is unchanged
    assert [row["id"] for row in shortest_solutions(hard, 2)] == [1, 3]
    assert [row["id"] for row in shortest_solutions(hard, 1)] == [1]
    assert [row["id"] for row in shortest_solutions(hard, 3)] == [0, 1, 3]


def test_every_declared_set_is_known_by_name() -> None:
    papers = catalogue.papers()
    declared = {(key, arm.train.dataset.value) for key in papers for arm in catalogue.load(key).arms if arm.train}
    assert {key for key, _ in declared} == set(papers)
    assert {dataset for _, dataset in declared} <= set(SETS)


def test_math500_is_left_out_of_its_training_problems() -> None:
    rows = [json.loads(line) for line in shared_file("data/benchmarks/math_test5000.jsonl").read_text().splitlines()]
    kept = without_math500(rows)  # MATH-500 is part of the test split
    assert (len(rows), len(kept)) == (5000, 4500)
    math500 = shared_file("data/benchmarks/math500.jsonl").read_text().splitlines()
    assert not {json.loads(line)["problem"] for line in math500} & {row["problem"] for row in kept}


def test_perfectible_problems_are_those_that_a_model_solves_sometimes(tmp_path: Path) -> None:
    import pandas as pd

    # five samples each: 0, 1, 4 and 5 are correct (0, 20, 80 and 100 %). The last row has two correct of three scored.
    verdicts = {"no": "wwwww", "few": "cwwww", "most": "ccccw", "all": "ccccc", "unscored": "cuwcu"}
    words = {"c": "correct", "w": "wrong", "u": "unscored"}
    table = [(name, "7", words[letter]) for name, row in verdicts.items() for letter in row]
    pd.DataFrame(table, columns=["problem_id", "gold", "verdict"]).to_parquet(tmp_path / "v.parquet")
    rows = [{"problem": name, "answer": "7"} for name in verdicts]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = f"{tmp_path}/p.jsonl?perfectible={tmp_path}/v.parquet"
    assert [row["problem"] for row in load_problems(dataset)] == ["few", "most", "unscored"]
    assert count_rows(dataset) == 3
    (tmp_path / "evaluation" / "p").mkdir(parents=True)
    for place in ("evaluation", "nowhere", "p.jsonl"):
        with pytest.raises(ValueError, match=r"expected the verdicts\.parquet that `rlvr eval` prints, or the folder"):
            load_problems(f"{tmp_path}/p.jsonl?perfectible={tmp_path}/{place}")
    os.link(tmp_path / "v.parquet", tmp_path / "evaluation" / "p" / "verdicts.parquet")
    assert len(load_problems(f"{tmp_path}/p.jsonl?perfectible={tmp_path}/evaluation")) == 3
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row | {"answer": "8"}) + "\n" for row in rows))
    with pytest.raises(ValueError, match=r"expected verdicts of the file's 5 problems, .*v\.parquet has others"):
        load_problems(dataset)

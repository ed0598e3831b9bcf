"""A file whose right reading is not certain is refused: nothing is grouped, dropped or taken in part without a word."""

import json
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evals.answer_files.reading import Reading, read_answers
from evals.convert import refuse_converted
from evals.data.benchmarks import OwnBenchmark, load
from evals.errors import UsageError


def _lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["variant_problem", "question", "Problem Text"])
def test_one_id_with_other_problem_texts_is_refused_by_row(name: str, tmp_path: Path) -> None:
    rows = [{"id": "E1", name: text, "gold": "2", "out": "\\boxed{2}"} for text in ("What is 1+1?", "Add 1 to 1.")]
    file = _lines(tmp_path / "f.jsonl", rows)
    columns = {"problem_id": "id", "answer": "gold", "response": "out"}
    with pytest.raises(
        UsageError, match=rf"row 2: id 'E1' has another {name} than in row 1.*columns=problem_id:{name}"
    ):
        read_answers(file, Reading(columns=columns))
    apart = read_answers(file, Reading(columns=columns | {"problem_id": name}))
    assert [row.problem_id for row in apart.rows] == ["What is 1+1?", "Add 1 to 1."]


def test_one_id_with_one_problem_text_is_a_problem_with_samples(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"problem_id": "E1", "question": "What is 1+1?", "gold": "2", "response": "\\boxed{2}"}
    ] * 2
    assert {row.problem_id for row in read_answers(_lines(tmp_path / "f.jsonl", rows)).rows} == {"E1"}


@pytest.mark.parametrize(
    "head",
    [
        {"accuracy": 0.9375, "correct_count": 375, "total_count": 400},
        {"score": 0.5},
        {"overall": {"acc": 0.25}, "mean": 12.5},
    ],
)
def test_a_head_of_scores_above_rows_is_refused(head: dict[str, object], tmp_path: Path) -> None:
    failures: list[dict[str, object]] = [{"id": at, "valid": False, "gold": "2", "response": "3"} for at in range(3)]
    file = _lines(tmp_path / "s.json", [head, *failures])
    columns = {"problem_id": "id", "answer": "gold", "response": "response", "expected": "valid"}
    for reading in (Reading(), Reading(columns=columns)):
        with pytest.raises(UsageError, match=r"row 1: these are scores .* the 3 rows below have other fields") as error:
            read_answers(file, reading)
    typed = str(error.value).partition("type ")[2]
    subprocess.run(typed, shell=True, check=True, cwd=tmp_path)  # what the program told a person to type
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3


def test_rows_of_scores_have_the_fields_of_the_first(tmp_path: Path) -> None:
    """The first row is no head, because the next one has its fields."""
    rows: list[dict[str, object]] = [{"answer": 0.5, "response": "0.5"}, {"answer": 0.25, "response": "0.5"}]
    reading = Reading(columns={"answer": "answer", "response": "response"})
    assert len(read_answers(_lines(tmp_path / "f.jsonl", rows), reading).rows) == 2


@pytest.mark.parametrize(
    "whole",
    [
        {"0": [[True, True, False]], "1": [[True, True]], "2": [[-2]]},
        {
            "Q1?": [[[{"role": "user", "content": "Q1"}]], "#### 18"],
            "Q2?": [[[{"role": "user", "content": "Q2"}]], "3"],
        },
        {"p1": ["\\boxed{1}", "\\boxed{2}"], "p2": ["\\boxed{3}"]},
    ],
)
def test_lists_by_id_are_refused_with_a_line_that_runs(whole: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "FILE"
    file.write_text(json.dumps(whole))
    with pytest.raises(UsageError, match="a list for each of") as error:
        read_answers(file)
    line = str(error.value).partition("for each: ")[2].partition(". Then name")[0]
    subprocess.run(line.replace("python", shlex.quote(sys.executable), 1), shell=True, check=True, cwd=tmp_path)
    rows = [json.loads(row) for row in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert rows == [{"problem_id": key, "value": value} for key, value in whole.items()]


def test_lists_of_rows_by_id_are_samples_of_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    samples = [{"gold": "2", "response": f"\\boxed{{{n}}}"} for n in (1, 2)]
    file.write_text(json.dumps({f"p{at}": samples for at in range(5)}))
    read = read_answers(file)
    assert [row.problem_id for row in read.rows] == [f"p{at}" for at in range(5) for _ in range(2)]


@pytest.mark.parametrize("kind", ["dict", "list", "frame"])
def test_the_line_for_a_pickle_runs(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np
    import pandas as pd

    row = {"gold": "70", "confs": np.array([0.5, 2.0])}
    content = {"dict": row, "list": [row], "frame": pd.DataFrame([{"gold": "70", "confs": [0.5, 2.0]}])}[kind]
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(content))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        refuse_converted(Path("a.pkl"))
    line = str(error.value).partition("Convert it: ")[2].replace("python", shlex.quote(sys.executable), 1)
    subprocess.run(line, shell=True, check=True)
    read = json.loads((tmp_path / "a.jsonl").read_text())
    assert (read[0] if kind == "list" else read) == {"gold": "70", "confs": [0.5, 2.0]}


@pytest.mark.parametrize(
    "names", [("Incorrect Answer 1", "Incorrect Answer 2"), ("option_a", "option_b"), ("choice1", "choice2")]
)
def test_choices_in_columns_of_their_own_are_refused_by_name(names: tuple[str, str], tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"problem": f"Which mass is {at}?", "answer": f"{at} GeV", names[0]: f"{at + 1} GeV", names[1]: f"{at + 2} GeV"}
        for at in range(2)
    ]
    name = OwnBenchmark.parse(str(_lines(tmp_path / f"{names[0][:3]}_beside.jsonl", rows)))
    with pytest.raises(UsageError, match=f"the columns {', '.join(names)} hold choices, and no problem shows them"):
        load(name)

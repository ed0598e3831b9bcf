"""Several files: repeats of one checkpoint are samples or seeds, never checkpoints in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlvr.cli import main
from tests.evals.answer_files.test_shapes import grade, lines, refused, score

# ten problems, four repeats. By repeat 4, 5, 5 and 4 problems are right (mean 4.5 of 10 = 45 %). 9 problems are right
# in at least one (90 %). The majority is right where three or four repeats are, and half right where two are.
RIGHT = [
    [1, 1, 1, 1, 0, 0, 0, 0, 0, 0],
    [1, 1, 1, 0, 1, 1, 0, 0, 0, 0],
    [1, 1, 1, 0, 0, 0, 1, 1, 0, 0],
    [1, 1, 1, 0, 0, 0, 0, 0, 1, 0],
]


def repeats(folder: Path, names: list[str]) -> list[Path]:
    """NeMo-Skills' output files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        lines(
            folder / name,
            *(
                {
                    "problem": f"{i} + 1?",
                    "expected_answer": str(i + 1),
                    "generation": rf"\boxed{{{i + 1 if ok else 90 + n}}}",
                    "symbolic_correct": bool(ok),
                }
                for i, ok in enumerate(RIGHT[n])
            ),
        )
        for n, name in enumerate(names)
    ]


REPEATS = [
    # the example
    [f"output-rs{n}.jsonl" for n in range(4)],
    # variants
    [f"gsm8k_sample_{n}.jsonl" for n in range(4)],
    [f"repeat{n}/output.jsonl" for n in range(4)],
    [f"math-rs{n}-chunk.jsonl" for n in (10, 11, 12, 13)],
    [f"output-rs{n}-step100.jsonl" for n in range(4)],
]


@pytest.mark.parametrize("names", REPEATS)
@pytest.mark.parametrize(
    ("printed", "k", "words"), [("45.0", None, "stands"), ("90.0", None, "pass@4"), ("90.0", 4, "stands")]
)
def test_repeats_are_samples(
    names: list[str], printed: str, k: int | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    paths = repeats(tmp_path, names)
    document = grade(capsys, "audit", *paths, f"printed={printed}", *([f"k={k}"] if k else []))
    assert "checkpoint" not in json.dumps(document["causes"]) and words in json.dumps(document), document["verdict"]
    together = tmp_path / "all.jsonl"
    together.write_text("".join(path.read_text() for path in paths))
    joined = grade(capsys, "audit", together, f"printed={printed}", *([f"k={k}"] if k else []))
    assert (document["verdict"], document["causes"]) == (joined["verdict"], joined["causes"])


def test_it_is_said_and_can_be_said_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = repeats(tmp_path, REPEATS[0])
    assert main(["audit", *map(str, paths), "printed=45.0"]) == 0
    output = capsys.readouterr()
    assert "rs0" in output.out + output.err and "files=checkpoints" in output.out + output.err
    last = grade(capsys, "audit", *paths, "printed=40.0", "files=checkpoints")
    assert last["file"] == pytest.approx(0.4)  # the last repeat's own score
    named = grade(capsys, "audit", *paths, "printed=45.0", "files=samples")
    assert named["verdict"] == "stands"


@pytest.mark.parametrize("pattern", ["seed{}/output.jsonl", "run_{}.jsonl", "math_seed={}.jsonl", "out.run{}.jsonl"])
def test_seeds_and_runs_are_no_checkpoints(pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [pattern.format(n) for n in range(4)]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    document = grade(capsys, "audit", *repeats(tmp_path, names), "printed=45.0")
    assert document["file"] == pytest.approx(0.45) and "checkpoint" not in json.dumps(document["causes"])


@pytest.mark.parametrize(
    "names",
    [
        [f"step_{n}00.jsonl" for n in range(1, 5)],
        [f"checkpoint-{n}.jsonl" for n in range(1, 5)],
        [f"seed1_step{n}.jsonl" for n in range(1, 5)],
        [f"run3-global_step_{n}0.jsonl" for n in range(1, 5)],
        [f"{n}.jsonl" for n in range(1, 5)],
        [f"trainstep{n}.jsonl" for n in range(1, 5)],
    ],
)
def test_checkpoints_stay_checkpoints(names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = grade(capsys, "audit", *repeats(tmp_path, names), "printed=40.0")
    assert document["file"] == pytest.approx(0.4) and document["verdict"] == "stands"


def test_samples_of_another_benchmark_or_of_verdict_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [
        lines(tmp_path / f"rs{n}.jsonl", *({"id": i, "correct": bool(ok)} for i, ok in enumerate(RIGHT[n])))
        for n in range(4)
    ]
    document = grade(capsys, "audit", *paths, "printed=90.0", "k=4")
    assert document["file"] == pytest.approx(0.9) and document["verdict"] == "stands"


def test_files_samples_is_not_of_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.csv").write_text("step,acc\n1,0.5\n")
    message = refused(capsys, "audit", tmp_path / "c.csv", "printed=50.0", "metric=acc", "files=samples")
    assert "files=samples" in message


# -- rlvr grade A B C --------------------------------------------------------------------------------------------------


def values(document: dict[str, Any]) -> dict[str, float]:
    [scores] = document["scores"].values()
    return {row["name"]: row["value"] for row in scores}


def test_grade_takes_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = repeats(tmp_path, REPEATS[0])
    document = grade(capsys, "grade", *paths, f"out={tmp_path / 'g.jsonl'}")
    assert (document["rows"], document["problems"], document["samples"]) == (40, 10, [4, 4])
    assert values(document)["avg@4"] == pytest.approx(0.45) and values(document)["pass@4"] == pytest.approx(0.9)
    together = tmp_path / "all.jsonl"
    together.write_text("".join(path.read_text() for path in paths))
    assert values(grade(capsys, "grade", together)) == values(document)
    rows = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text().splitlines()]
    assert len(rows) == 40 and sorted({row["sample"] for row in rows}) == [0, 1, 2, 3]
    assert [read["rows"] for read in document["read"]] == [10, 10, 10, 10]


def test_rows_without_ids_are_told_apart_by_their_place_in_each_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two files of two rows without ids: row 1 of each is one problem only where the texts say so."""
    first = lines(
        tmp_path / "rs0.jsonl", {"gold": "1", "response": r"\boxed{1}"}, {"gold": "2", "response": r"\boxed{2}"}
    )
    two = lines(
        tmp_path / "rs1.jsonl", {"gold": "1", "response": r"\boxed{1}"}, {"gold": "2", "response": r"\boxed{3}"}
    )
    document = grade(capsys, "grade", first, two)
    assert (document["problems"], document["samples"]) == (2, [2, 2]) and score(document) == pytest.approx(3 / 4)
    other = lines(tmp_path / "rs2.jsonl", {"gold": "9", "response": r"\boxed{9}"}, {"gold": "2", "response": ""})
    message = refused(capsys, "grade", first, other)
    assert "rs2.jsonl, row 1" in message and "'9'" in message


def test_an_error_in_a_later_file_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = lines(tmp_path / "a.jsonl", {"gold": "1", "response": "1"})
    bad = lines(tmp_path / "b.jsonl", {"gold": "1", "response": True})
    assert "b.jsonl" in refused(capsys, "grade", good, bad)
    assert "nowhere.jsonl" in refused(capsys, "grade", good, tmp_path / "nowhere.jsonl")


# -- one file twice ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dot", "copy", "link", "hard"])
@pytest.mark.parametrize("command", ["audit_curves", "audit_responses", "grade"])
def test_one_file_is_not_two(
    kind: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "ok.csv" if command == "audit_curves" else "seed1.jsonl"
    if command == "audit_curves":
        Path(name).write_text("step,acc\n1,0.4\n2,0.5\n")
    else:
        repeats(tmp_path, [name])
    other = Path("seed2.jsonl" if name.endswith("jsonl") else "ok2.csv")
    if kind == "dot":
        other_name = f"./{name}"
    else:
        {
            "copy": lambda: other.write_bytes(Path(name).read_bytes()),
            "link": lambda: other.symlink_to(name),
            "hard": lambda: other.hardlink_to(name),
        }[kind]()
        other_name = str(other)
    options = {
        "audit_curves": ["audit", name, other_name, "printed=50.0", "metric=acc", "problems=500"],
        "audit_responses": ["audit", name, other_name, "printed=40.0", "files=seeds"],
        "grade": ["grade", name, other_name],
    }[command]
    message = refused(capsys, *options)
    assert name in message and ("the same file" in message or "the same content" in message)


def test_a_base_may_be_one_of_the_files_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = repeats(tmp_path, ["step1.jsonl", "step2.jsonl"])
    document = grade(capsys, "audit", *paths, "printed=50.0", f"base={paths[0]}")
    assert document["file"] == pytest.approx(0.5)

"""`rlvr agree`: its forms, and a sentence for every bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rlvr
from evals.errors import UsageError
from rlvr.cli import main

Capture = pytest.CaptureFixture[str]


def test_the_function_and_the_command_agree(capsys: Capture) -> None:
    result = rlvr.agree(43.75, 47.4, problems=30, n=64)
    assert main(["agree", "43.75", "47.4", "problems=30", "n=64", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(result.as_json()) and document["answer"] == "a difference"
    assert [cause["name"] for cause in document["look"]][:1] == ["extraction and grading"]
    assert rlvr.agree("43.75", "47.4", benchmark="aime25", n=["64", "64"])["sentence"] == result["sentence"]


def test_greedy_scores_are_one_sample_and_are_said_to_be(capsys: Capture) -> None:
    assert main(["agree", "71.2", "74.0", "benchmark=math500", "temperature=0"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("May be noise") and "Greedy decoding has no sampling noise" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.4375", "47.4", "problems=30"], "0.4375: it looks like a share, and scores are percentages here"),
        (["0.4375", "0.474", "problems=30"], "Type rlvr agree 43.75 47.4"),
        (["43.75", "47.4", "problems=30", "n=0"], "n=0: samples per problem are a whole number of at least 1"),
        (["43.75", "47.4", "problems=0", "n=1"], "problems=0 of 43.75"),
        (["43.75", "147", "problems=30"], "'147' is no score"),
        (["43.75", "47.4"], "problems: missing. Type problems=30"),
        (["43.75"], "expected two scores, got 1"),
        (["43.75", "47.4", "problems=30", "n=1,2,3"], "type one number, or one for each side"),
        (["43.3", "25.7", "problems=30", "n=1,32", "temperature=0,1.0"], "Measure both at one temperature"),
        (["43.3", "26.7", "problems=30", "n=4", "temperature=0"], "greedy samples repeat each other"),
        (["43.3", "26.7", "problems=30", "seed_sd=0.02"], "it needs seeds="),
        (["43.3", "26.7", "problems=30", "metric=bleu"], "metric=bleu: nothing bounds the noise"),
        (["43.3", "26.7", "benchmark=aime2024"], "no such benchmark"),
        (["missing_run", "26.7", "problems=30"], "no such path"),
    ],
)
def test_bad_input_gets_a_sentence(words: list[str], message: str, capsys: Capture) -> None:
    assert main(["agree", *words]) == 2
    assert message in capsys.readouterr().err


PAIRS = """thread,printed,measured,problems,benchmark,n_printed,n_measured,temperature_printed,temperature_measured
x,47.4,43.75,30,,64,64,,
y,73.4,40.63,,gsm8k,1,1,0,0
z,50.6,65.0,83+40,,1,1,,
"""


def test_a_table_of_pairs_is_corrected_and_keeps_its_other_columns(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    result = rlvr.agree(tmp_path / "pairs.csv")
    rows = result.rows()
    assert [row["thread"] for row in rows] == ["x", "y", "z"]
    alone = rlvr.agree(47.4, 43.75, problems=30, n=64)["largest_probability"]
    assert rows[0]["largest_probability"] == pytest.approx(alone)  # Holm: the smaller of the two is doubled
    assert [row["answer"] for row in rows][1:] == ["a difference", "these numbers cannot decide it"]
    assert "Holm's correction over 2 pairs" in str(result)
    (tmp_path / "pairs.csv").write_text("printed,measured,problems,n_printed\n47.4,43.75,30,x\n")
    assert main(["agree", str(tmp_path / "pairs.csv")]) == 2
    assert "line 2: n=x" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("header", "row", "words", "message"),
    [
        ("problems", "thirty", [], "line 2: problems: expected a number, got thirty"),
        ("problems,temperature_printed", "30,0", [], "line 2: temperature: expected that of both sides, or of none"),
        ("problems", "30", ["metric=pass@8"], "metric=pass@8: not used with a CSV file of pairs"),
        ("problems", "30", ["seed_sd=0.5"], "pairs.csv states no seeds_printed and no seeds_measured"),
        ("problems,seeds_printed", "30,", ["seed_sd=0.5"], "pairs.csv states no seeds_printed"),
    ],
)
def test_no_word_about_a_table_of_pairs_is_ignored(
    header: str, row: str, words: list[str], message: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "pairs.csv").write_text(f"printed,measured,{header}\n47.4,43.75,{row}\n")
    assert main(["agree", str(tmp_path / "pairs.csv"), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_printed_number_against_measured_verdicts(tmp_path: Path) -> None:
    # 30 problems, 4 samples: 15 always solved, 15 never: the samples vary by nothing, so the spread of rates is 1
    lines = []
    for i in range(30):
        row = {"problem_id": f"p{i}", "problem": f"{i}+1=", "answer": str(i + 1)}
        response = f"\\boxed{{{i + (i < 15)}}}"
        lines += [json.dumps({**row, "response": response, "sample": sample}) for sample in range(4)]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    rlvr.grade(tmp_path / "mine.jsonl", out=tmp_path / "graded.jsonl")
    result = rlvr.agree(60.0, tmp_path / "graded.jsonl", n=4)
    assert result["b"]["printed"] == "60/120" and result["b"]["samples"] == 4
    assert result["gap_points"] == pytest.approx(10)
    assert any("spread of rates 1.00, measured on" in note for note in result["notes"])
    with pytest.raises(UsageError, match=r"only avg is compared\. Type rlvr audit \S+ printed=60\.0 k=8\.$"):
        rlvr.agree(60.0, tmp_path / "graded.jsonl", metric="pass@8")
    with pytest.raises(UsageError, match=r"only avg is compared\.$"):  # `rlvr audit` has no option for maj@k
        rlvr.agree(60.0, tmp_path / "graded.jsonl", metric="maj@8")
    with pytest.raises(UsageError, match="it needs seeds=, the training seeds, as seeds=3"):
        rlvr.agree(60.0, tmp_path / "graded.jsonl", n=4, seed_sd=0.01)
    assert rlvr.agree(60.0, tmp_path / "graded.jsonl", n=4, seed_sd=0.01, seeds=3)["answer"]


def test_a_run_against_the_seeds_of_a_reference(tmp_path: Path, capsys: Capture) -> None:
    for name, start in (("run", 200), ("a", 90), ("b", 100), ("c", 110)):
        lines = "\n".join(f"{step},{min(1.0, step / start / 2)}" for step in range(10, 410, 10))
        (tmp_path / f"{name}.csv").write_text(f"step,eval_acc\n{lines}\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("run", "a", "b", "c")]
    assert main(["agree", *files, "metric=eval_acc", "target=0.5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["answer"], result["run"]["at"]) == ("belongs to the reference", 200)
    assert main(["agree", *files, "target=0.5"]) == 2
    assert "metric: missing" in capsys.readouterr().err
    for word in ("n=4", "seed_sd=0.1", "best_of=2", "temperature=0.0"):
        assert main(["agree", *files, "metric=eval_acc", "target=0.5", word]) == 2
        assert f"{word}: not used with target=" in capsys.readouterr().err
    assert main(["agree", *files[:3], "metric=eval_acc", "target=0.5"]) == 2
    assert "2 reference curves" in capsys.readouterr().err


def test_two_inspect_logs_are_compared_paired(tmp_path: Path) -> None:
    """The commands of docs/how-to/compare-inspect-logs.md, on a real log and on one with wrong responses."""
    log = Path(__file__).parents[1] / "evals" / "answer_files" / "real" / "inspect" / "six_sums.eval"
    rlvr.grade(log, out=tmp_path / "first.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "first.jsonl").read_text(encoding="utf-8").splitlines()]
    lost = [row for row in rows if row["problem_id"] == "p0" and row["verdict"] == "correct"]
    assert lost
    for row in lost:
        row["verdict"] = "wrong"
    (tmp_path / "second.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    [line] = rlvr.compare(tmp_path / "first.jsonl", tmp_path / "second.jsonl", metrics=["avg"]).lines
    assert line["difference"] == pytest.approx(len(lost) / 12)  # six problems, two responses each
    assert line["verdict"] == "not resolved"
    result = rlvr.agree("50.0", tmp_path / "first.jsonl", n=2)
    assert result["a"]["problems"] == 6 and result["b"]["printed"].endswith("/12")

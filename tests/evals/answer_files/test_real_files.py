"""Files as the tools themselves wrote them (`real/README.md`): what is read, and what their own numbers become."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evals.answer_files import grade_file
from evals.answer_files.reading import Reading, read_answers

REAL = Path(__file__).parent / "real"
LM_EVAL = next((REAL / "lm_eval").glob("samples_*.jsonl"))
LIGHTEVAL = next((REAL / "lighteval").glob("*.parquet"))


def test_lm_eval_samples() -> None:
    """Twelve lines, a line for each doc and filter, are six samples with two verdicts each.

    box: 56 and 7 are equal to their golds as texts, the other boxes are not: 2 of 6. last-number: the only
    last number that is its gold's text is the 4 of p2 ("56}." keeps its dot): 1 of 6.
    """
    file = read_answers(LM_EVAL)
    assert (file.format, len(file.rows)) == ("lm_eval", 6)
    assert file.labels == ("exact_match,box", "exact_match,last-number")
    assert file.label is None and file.note is not None
    assert all(row.expected is None for row in file.rows)
    scores = {name: score.value for name, score in file.recomputed.items()}
    assert scores == pytest.approx({"exact_match,box": 2 / 6, "exact_match,last-number": 1 / 6})
    named = read_answers(LM_EVAL, Reading(label="exact_match,box"))
    assert [row.expected for row in named.rows] == [True, False, False, False, False, True]
    with pytest.raises(ValueError, match="label=exact_match: no such verdict on a sample"):
        read_answers(LM_EVAL, Reading(label="exact_match"))


def test_inspect_logs() -> None:
    """inspect's accuracy, the mean over problems of the mean over two epochs, is what its verdicts give: C for one of
    p0, both of p2, one of p5: (1/2 + 1 + 1/2) / 6 = 1/3. A log of today is a zip of zstandard."""
    file = read_answers(REAL / "inspect" / "six_sums.eval")
    assert (file.format, file.label, len(file.rows)) == ("inspect", "match", 12)
    assert file.recomputed["match"].value == pytest.approx(1 / 3)
    assert Counter(row.problem_id for row in file.rows) == {f"p{i}": 2 for i in range(6)}
    assert Counter(row.finish_reason for row in file.rows) == {"stop": 11, "length": 1}
    assert all(row.tokens == len(row.response.split()) for row in file.rows)


def test_why_inspect_and_we_differ() -> None:
    """Equal values in other forms that a text match refuses, and two answers that no box holds."""
    report = grade_file(REAL / "inspect" / "six_sums.eval")
    causes = Counter(difference.cause for difference in report.differing)
    assert causes == {
        "equal in another form": 2,
        "answer not in a box, but read by policy=qwen": 2,
        "several values: order or brackets": 1,
        "scientific notation": 1,
        "equal to the gold, labelled incorrect": 1,
    }
    assert report.agreement is not None and report.agreement.rate == pytest.approx(5 / 12)  # 12 samples, 7 differ
    letter = report.letter("0.1")
    assert "\n7 of 12 labelled samples" in letter and letter.count("\n| ") == 1 + 1 + 7


def test_verl_dump() -> None:
    """veRL's math reward: 1 for the boxes 56, 0.5 (as 1/2) and 7, as its own file says."""
    file = read_answers(REAL / "verl" / "20.jsonl")
    assert (file.format, file.label, {row.step for row in file.rows}) == ("verl", "score", {20})
    assert sum(bool(row.expected) for row in file.rows) == 3 and len(file.rows) == 12


def test_trl_completions() -> None:
    """The reward of the run was whether the gold is in the box: our verdict on all 16."""
    path = next((REAL / "trl").glob("*.parquet"))
    file = read_answers(path)
    assert (file.format, file.label, len(file.rows)) == ("trl", "boxed", 16)
    report = grade_file(path)
    assert report.agreement is not None and report.agreement.rate == 1 and report.differing == []
    assert report.verdicts["correct"] == sum(pq.read_table(path)["boxed"].to_pylist())


def test_lighteval_details() -> None:
    """math-verify accepts five of six first answers, not $3e8$ for 3 \\times 10^8: 5/6. Asked for four samples, of
    which the model gave one, lighteval divides by four. Each sample has its verdict all the same."""
    file = read_answers(LIGHTEVAL)
    assert (file.format, len(file.rows)) == ("lighteval", 6)
    assert file.labels == ("pass@k:k=1&n=1", "pass@k:k=1&n=4")
    scores = {name: score.value for name, score in file.recomputed.items()}
    assert scores == pytest.approx({"pass@k:k=1&n=1": 5 / 6, "pass@k:k=1&n=4": 5 / 6})
    report = grade_file(LIGHTEVAL, reading=Reading(label="pass@k:k=1&n=4"))
    # we take the e-notation, and want a box in p2
    differ = {difference.problem_id: (difference.label, difference.cause) for difference in report.differing}
    assert differ == {"4": (False, "scientific notation"), "2": (True, "answer not in a box, but read by policy=qwen")}


def test_qwen_math_outputs() -> None:
    """Two samples a problem. By problem, its verdicts give 1/2, 1, 1, 0, 1/2, 1/2: 3.5 of 6."""
    path = next((REAL / "qwen_math").glob("*.jsonl"))
    file = read_answers(path)
    assert (file.format, file.label, len(file.rows)) == ("qwen_math", "score", 12)
    assert file.recomputed["score"].value == pytest.approx(3.5 / 6)
    report = grade_file(path, policy="qwen")
    # the same two roots in the other order. The speed of light in other words
    assert [(difference.problem_id, difference.label, difference.cause) for difference in report.differing] == [
        ("3", False, "several values: order or brackets"),
        ("4", False, "scientific notation"),
    ]


def test_gold_from_another_file(tmp_path: Path) -> None:
    """TRL logs no gold unless the reward does: the user gives one, and the problem's text is the key."""
    path = next((REAL / "trl").glob("*.parquet"))
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["answer"]), tmp_path / "bare.parquet")
    with pytest.raises(ValueError, match=r"row 1: this row has no gold answer.*type gold=FILE"):
        read_answers(tmp_path / "bare.parquet")
    golds = dict(zip([p[0]["content"] for p in table["prompt"].to_pylist()], table["answer"].to_pylist(), strict=True))
    (tmp_path / "gold.csv").write_text("problem,answer\n" + "".join(f'"{p}",{a}\n' for p, a in golds.items()))
    rows = read_answers(tmp_path / "bare.parquet", Reading(gold=tmp_path / "gold.csv")).rows
    assert [row.gold for row in rows] == table["answer"].to_pylist()
    (tmp_path / "less.csv").write_text("problem,answer\nsomething else,1\n")
    with pytest.raises(ValueError, match="has no answer for problem"):
        read_answers(tmp_path / "bare.parquet", Reading(gold=tmp_path / "less.csv"))


def test_columns_reach_into_objects() -> None:
    rows = read_answers(LM_EVAL, Reading({"problem_id": "doc.id"})).rows
    assert [row.problem_id for row in rows] == [f"p{i}" for i in range(6)]


def test_a_column_of_verdicts_may_be_text(tmp_path: Path) -> None:
    """A CSV has only text: "True" is a verdict, empty is none, and the rest is an error. "P" (partly) is 0.5."""
    columns = {"problem_id": "idx", "answer": "gold", "response": "output", "expected": "ok"}
    table = tmp_path / "theirs.csv"
    verdicts = ["True", "false", "1", "0.0", "Correct", "", "P"]
    lines = [f"{i},4,so 4,{verdict}" for i, verdict in enumerate(verdicts)]
    table.write_text("\n".join(["idx,gold,output,ok", *lines]))
    rows = read_answers(table, Reading(columns, label_threshold=0.5)).rows
    assert [row.expected for row in rows] == [True, False, True, False, True, None, True]
    table.write_text("idx,gold,output,ok\n1,4,so 4,maybe\n")
    with pytest.raises(ValueError, match=r"row 1: ok: 'maybe' is no verdict\. Expected true or false"):
        read_answers(table, Reading(columns))

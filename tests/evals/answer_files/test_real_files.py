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


def test_lm_eval_samples_and_the_results_beside_them() -> None:
    """Twelve lines, a line for each doc and filter, are six samples with two verdicts each.

    box: 56 and 7 are equal to their golds as texts, the other boxes are not: 2 of 6. last-number: the only
    last number that is its gold's text is the 4 of p2 ("56}." keeps its dot): 1 of 6.
    """
    file = read_answers(LM_EVAL)
    assert (file.format, len(file.rows)) == ("lm_eval", 6)
    assert file.settings == {"model": "reciter", "temperature": 0.6, "top_p": 0.95, "max_tokens": 256}
    assert file.labels == ("exact_match,box", "exact_match,last-number")
    assert file.label is None and file.note is not None
    assert all("expected" not in row for row in file.rows)
    assert file.recomputed == pytest.approx(dict(file.reported))
    assert file.recomputed["exact_match,box"] == pytest.approx(2 / 6)
    named = read_answers(LM_EVAL, Reading(label="exact_match,box"))
    assert [row["expected"] for row in named.rows] == [True, False, False, False, False, True]
    assert read_answers(LM_EVAL, Reading(label="last-number")).label == "exact_match,last-number"
    with pytest.raises(ValueError, match="label=exact_match: no such verdict on a sample; did you mean"):
        read_answers(LM_EVAL, Reading(label="exact_match"))  # both


@pytest.mark.parametrize("name", ["six_sums.eval", "six_sums.json"])
def test_inspect_logs(name: str) -> None:
    """inspect's accuracy, the mean over problems of the mean over two epochs, is what its verdicts give: C for one of
    p0, both of p2, one of p5: (1/2 + 1 + 1/2) / 6 = 1/3. A log of today is a zip of zstandard."""
    file = read_answers(REAL / "inspect" / name)
    assert (file.format, file.label, len(file.rows)) == ("inspect", "match", 12)
    assert file.settings == {"model": "mockllm/reciter", "temperature": 0.6, "top_p": 0.95, "max_tokens": 256}
    assert file.recomputed["match"] == pytest.approx(1 / 3) == file.reported["match/accuracy"]
    assert Counter(row["problem_id"] for row in file.rows) == {f"p{i}": 2 for i in range(6)}
    assert Counter(row["finish_reason"] for row in file.rows) == {"stop": 11, "length": 1}
    assert all(row["tokens"] == len(row["response"].split()) for row in file.rows)


def test_zip_and_json_logs_hold_the_same_samples() -> None:
    one, two = (read_answers(REAL / "inspect" / name).rows for name in ("six_sums.eval", "six_sums.json"))
    keys = ("problem_id", "response", "answer", "expected")
    assert sorted(str([row[key] for key in keys]) for row in one) == sorted(
        str([row[key] for key in keys]) for row in two
    )


def test_why_inspect_and_we_differ() -> None:
    """Equal values in other forms that a text match refuses, and two answers that no box holds."""
    report = grade_file(REAL / "inspect" / "six_sums.eval", workers=1)
    causes = Counter(one.cause for one in report.differing)
    assert causes == {
        "equal in another form": 2,
        "answer not in a box": 2,
        "several values: order, brackets, or one of them": 1,
        "scientific notation": 1,
        "equal to the gold, labelled incorrect": 1,
    }
    assert report.agreement["all"].rate == pytest.approx(5 / 12)  # 12 samples, 7 differ
    page = report.letter()
    assert "7 of 12 labelled samples" in page and page.count("\n| ") == 1 + 1 + 5 + 2 * 2 + 7


def test_verl_dump() -> None:
    """veRL's math reward: 1 for the boxes 56, 0.5 (as 1/2) and 7, as its own file says."""
    file = read_answers(REAL / "verl" / "20.jsonl")
    assert (file.format, file.label, {row["step"] for row in file.rows}) == ("verl", "score", {20})
    assert sum(row["expected"] for row in file.rows) == 3 and len(file.rows) == 12


def test_trl_completions() -> None:
    """The reward of the run was whether the gold is in the box: our verdict on all 16."""
    path = next((REAL / "trl").glob("*.parquet"))
    file = read_answers(path)
    assert (file.format, file.label, len(file.rows)) == ("trl", "boxed", 16)
    report = grade_file(path, workers=1)
    assert report.agreement["all"].rate == 1 and report.differing == []
    assert report.verdicts["correct"] == sum(pq.read_table(path)["boxed"].to_pylist())


def test_evalscope_reviews() -> None:
    """evalscope compares by math-verify: its report says 1.0, as its six verdicts give; we want a box (p2 has none)."""
    path = REAL / "evalscope" / "reviews" / "reciter" / "gsm8k_default.jsonl"
    file = read_answers(path)
    assert (file.format, file.label, file.settings) == ("evalscope", "accuracy", {"model": "reciter"})
    assert file.recomputed["accuracy"] == pytest.approx(1) == file.reported["accuracy"]
    assert file.rows[0]["problem"].startswith("What is 7 * 8?")
    differ = grade_file(path, workers=1).differing
    assert [(one.problem_id, one.cause) for one in differ] == [("2", "answer not in a box")]


def test_gold_from_another_file(tmp_path: Path) -> None:
    """TRL logs no gold unless the reward does: it is asked for, and found by the problem's text."""
    path = next((REAL / "trl").glob("*.parquet"))
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["answer"]), tmp_path / "bare.parquet")
    with pytest.raises(ValueError, match=r"row 1: no answer \(the gold\); give gold=FILE"):
        read_answers(tmp_path / "bare.parquet")
    golds = dict(zip([p[0]["content"] for p in table["prompt"].to_pylist()], table["answer"].to_pylist(), strict=True))
    (tmp_path / "gold.csv").write_text("problem,answer\n" + "".join(f'"{p}",{a}\n' for p, a in golds.items()))
    rows = read_answers(tmp_path / "bare.parquet", Reading(gold=tmp_path / "gold.csv")).rows
    assert [row["answer"] for row in rows] == table["answer"].to_pylist()
    (tmp_path / "less.csv").write_text("problem,answer\nsomething else,1\n")
    with pytest.raises(ValueError, match="has no answer for problem"):
        read_answers(tmp_path / "bare.parquet", Reading(gold=tmp_path / "less.csv"))


def test_columns_reach_into_objects() -> None:
    rows = read_answers(LM_EVAL, Reading({"problem_id": "doc.id"})).rows
    assert [row["problem_id"] for row in rows] == [f"p{i}" for i in range(6)]

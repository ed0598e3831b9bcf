"""Files of answers as runs: what `rlvr compare` and `rlvr analyze` make of other tools' files."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.answer_files.reading import Reading
from evals.stats.compare import compare_runs
from harness.record.answers import graded, holds_verdicts
from harness.record.find import method
from rlvr.cli import main

REAL = Path(__file__).parents[2] / "evals" / "answer_files" / "real"
INSPECT = REAL / "inspect" / "six_sums.eval"


def test_compare_reads_other_tools_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """lm-eval's samples are the first of inspect's two epochs: ours accepts 5 of 6 there, and over both
    (1 + 0)/2, 1, 0, 1/2, 1, 1/2 by problem, 3.5/6. The difference is 5/6 - 3.5/6 = 0.25."""
    lm_eval = next((REAL / "lm_eval").glob("samples_*"))
    run = method(str(lm_eval), Reading({"problem_id": "doc.id"}, benchmark="six_sums"))
    other = method(str(INSPECT), Reading(benchmark="six_sums"))
    (line,) = [line for line in compare_runs(run, other, metrics=["avg"]).lines if line.name.startswith("avg")]
    assert (line.a, line.b) == pytest.approx((5 / 6, 3.5 / 6))
    assert line.difference == pytest.approx(0.25)
    columns = "columns=problem_id:problem"  # both have the question
    assert main(["compare", str(lm_eval), str(INSPECT), columns, "benchmark=six", "metrics=[avg]"]) == 0
    assert "six: 6 problems in both" in capsys.readouterr().out


def test_a_graded_file_keeps_the_lengths_and_the_problems(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    file = graded(INSPECT, tmp_path, Reading(benchmark="sums of six"))
    table = pq.read_table(tmp_path / "sums-of-six" / "verdicts.parquet")
    assert file.format == "inspect"
    assert table["problem"].to_pylist() == [row["problem"] for row in file.rows]
    assert table["tokens"].to_pylist() == [row["tokens"] for row in file.rows]
    assert holds_verdicts(tmp_path / "sums-of-six" / "verdicts.parquet") and not holds_verdicts(INSPECT)


def test_what_a_file_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text('{"idx": 1, "output": "x"}\n')
    assert main(["compare", str(tmp_path / "a.jsonl"), str(INSPECT)]) == 2
    assert "no known format has the fields idx, output" in capsys.readouterr().err
    assert main(["compare", str(INSPECT), str(INSPECT), "gold=nowhere.csv"]) == 2
    assert "gold: no such file 'nowhere.csv'" in capsys.readouterr().err

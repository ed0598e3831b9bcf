"""Every Eval Ever records of one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlvr.cli import main

WHO = ["model=lab/six", "organisation=the lab", "relationship=first_party"]
AVERAGE = 3.5 / 6  # as `tests/harness/record/test_answers.py` derives


def export(job: Path, tmp_path: Path, name: str, *more: str) -> Path:
    out = tmp_path / name
    assert main(["export", f"run={job}", f"format={name}", f"out={out}", *more]) == 0
    return out


def test_the_every_eval_ever_record_has_scores_and_scale(job: Path, tmp_path: Path) -> None:
    out = export(job, tmp_path, "eee", *WHO)
    (path,) = (out / "data" / "math500" / "lab" / "six").glob("*[0-9a-f].json")
    record = json.loads(path.read_text())
    assert record["schema_version"] == "0.3.0"
    assert record["source_metadata"]["additional_details"]["scale_label"].startswith("tiny scale")
    results = {r["evaluation_result_id"]: r for r in record["evaluation_results"]}
    average = results["math500.avg_at_2"]
    assert average["score_details"]["score"] == pytest.approx(AVERAGE)
    interval = average["score_details"]["uncertainty"]["confidence_interval"]
    assert interval["lower"] < AVERAGE < interval["upper"] and interval["confidence_level"] == 0.95
    assert "clustered by problem" in interval["method"]
    assert average["score_details"]["uncertainty"]["num_samples"] == 12
    assert average["generation_config"]["generation_args"]["temperature"] == 0.6
    assert average["source_data"]["hf_repo"] == "HuggingFaceH4/MATH-500"
    assert results["math500.pass_at_2"]["metric_config"]["metric_parameters"] == {"k": 2}


def test_a_record_that_does_not_fit_is_refused() -> None:
    from harness.errors import UsageError
    from harness.exchange.eee import check

    with pytest.raises(UsageError, match=r"does not fit eee_eval.schema.json at the whole: .*'evaluation_id'"):
        check({"schema_version": "0.3.0"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["format=eee"], "model"),
        (["format=eee", "model=six", "organisation=x", "relationship=other"], "expected ORGANISATION/NAME, got 'six'"),
        (["format=eee", "model=a/b", "organisation=x", "relationship=friend"], "relationship"),
        (["format=xml"], "format"),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    job: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", f"run={job}", *words]) == 2
    assert message in capsys.readouterr().err


def test_every_missing_option_of_a_format_is_named_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "run=nothing", "format=eee", "relationship=other"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "format=eee also needs: model=ORG/NAME, what the model is called; organisation=NAME, who evaluated" in said

"""Subjects: what an evaluation wrote is read back with the prompts that it used, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evals.analysis.subjects import Response, Subject, read_subject, responses
from evals.grading.verdicts import Verdict
from evals.sampling.evaluate import evaluate
from evals.sampling.store import OWNER, owner_of
from harness.record.run import Run
from tests.evals.conftest import make_model
from tests.evals.sampling.toy import PROBLEMS, Scripted, protocol, set_up
from tests.evals.sampling.toy import table as rows_of


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_dir: Path) -> dict[str, Any]:
    """An evaluation with a real tokenizer and two samples of each of five problems: arguments of `read_subject`."""
    place = set_up(tmp_path, model_dir, monkeypatch)
    engine = Scripted()
    from evals.sampling.engines.encode import load_tokenizer

    engine.tokenizer = load_tokenizer(str(model_dir))  # type: ignore[assignment]
    evaluate(**place, protocol=protocol(2), engine=engine)
    return {"folder": tmp_path / "out", "model_path": str(model_dir), "data_dir": tmp_path}


def read(measured: dict[str, Any]) -> Subject:
    run = Run(measured["folder"])
    return read_subject(
        "mine",
        {"toy": run.samples("toy")},
        {"toy": run.conditions("toy")},
        model_path=measured["model_path"],
        data_dir=measured["data_dir"],
    )


def edit(measured: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> None:
    path = measured["folder"] / "toy" / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["identity"])
    path.write_text(json.dumps(manifest))
    verdicts = path.with_name("verdicts.parquet")  # whose own identity is the manifest's
    table = pq.read_table(verdicts)
    pq.write_table(table.replace_schema_metadata({OWNER: json.dumps(owner_of(manifest), sort_keys=True)}), verdicts)


def test_a_subject_holds_the_measured_prompts_and_responses(measured: dict[str, Any]) -> None:
    subject = read(measured)
    rows = rows_of(measured["folder"] / "toy" / "verdicts.parquet")
    # the chat template of tests/evals/conftest.py, written out
    prompt_of = {p.id: f"<|user|>{p.problem}<|end|><|assistant|>" for p in PROBLEMS}
    assert responses(subject, "toy") == [
        Response(r["problem_id"], r["sample"], prompt_of[r["problem_id"]], r["response"], Verdict(r["verdict"]))
        for r in rows
    ]
    assert subject.model_path == measured["model_path"] and list(subject.tables) == ["toy"]


def test_samples_of_a_server_are_refused(measured: dict[str, Any]) -> None:
    edit(measured, lambda identity: identity.update(model={"served_as": "m"}))
    with pytest.raises(ValueError, match="toy: sampled from a server"):
        read(measured)


def test_what_differs_is_refused(measured: dict[str, Any], tmp_path: Path) -> None:
    edit(measured, lambda identity: identity["prompt"].update(first_sha256="aa"))
    with pytest.raises(ValueError, match=r"the prompt 'plain' of problem 'p0' hashes to .* expected aa"):
        read(measured)
    edit(measured, lambda identity: identity["data"].update(sha256="dd"))
    with pytest.raises(ValueError, match=r"the problems hash to .* expected dd"):
        read(measured)
    other = make_model(tmp_path / "other", seed=1)
    with pytest.raises(ValueError, match=r"is not the model that generated the samples"):
        read({**measured, "model_path": str(other)})
    (measured["folder"] / "toy" / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"mine, toy: no manifest\.json"):
        read(measured)

"""`rlvr eval` started again: it samples nothing, and reports the same from its own verdicts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import rlvr
from evals.sampling.engines.transformers import TransformersEngine
from harness.data.tiny.pinned import MODELS
from rlvr.cli import main


def test_a_file_of_problems_is_measured_listed_logged_and_shown_on_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.runs.track import Tracker

    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    (tmp_path / "my-sums.jsonl").write_text(
        '{"q": "1+2=?", "gold": 3}\n{"q": "4+4=?", "gold": 8}\n{"q": "4+4=?", "gold": 8}\n'
    )
    command = ["eval", f"model={MODELS / 'tiny'}", f"benchmarks={tmp_path / 'my-sums.jsonl'}", "n=2", "max_tokens=2"]
    assert main(command) == 2
    assert "no column 'problem' and no column 'answer'. It has 'q', 'gold'. Give" in capsys.readouterr().err
    for columns, message in (
        ("foo:q", "columns=foo:q: "),
        ("problem:q,answer:gold,id:Numer", "no column 'Numer' (columns=id:Numer). It has 'q', 'gold'"),
    ):
        assert main([*command, f"columns={columns}"]) == 2 and message in capsys.readouterr().err
    assert main([*command, "columns=problem:q,answer:gold"]) == 0
    out, err = capsys.readouterr()
    assert "protocol sampled (you set: benchmarks, n, max_tokens)" in out
    assert "1 of 3 problems repeat others, so intervals are too narrow; remove my_sums-2" in err
    assert "my_sums" in out and "avg@2" in out and "pass@1" not in out  # which is avg@2
    assert "  not reported: pass@4, maj@4 (n is smaller)" in out  # the protocol's k are 1 and 4
    assert "WARNING: my_sums: 100 % of the responses are cut at max_tokens=2" in err
    (folder,) = (tmp_path / "home" / "evaluations").iterdir()
    assert f"rlvr page {folder}" in out
    assert main(["show"]) == 0 and folder.name in capsys.readouterr().out
    assert main(["show", folder.name, "--json"]) == 0
    measured_by = json.loads(capsys.readouterr().out)["measured_by"]["my_sums"]
    assert (measured_by["prompt"], measured_by["n"], measured_by["max_tokens"]) == ("boxed_suffix", 2, 2)
    assert measured_by["not reported"] == "pass@4, maj@4 (n is smaller)"
    tracker = Tracker.open()
    (logged,) = tracker.client.search_runs([tracker.experiment("evaluations")])
    assert logged.data.params["n"] == "2" and logged.data.metrics["my_sums/truncation_rate"] == 1.0
    (tmp_path / "others.jsonl").write_text('{"q": "2+2=?", "gold": 4}\n')  # in the same folder, another run of MLflow
    other_words = [word.replace("my-sums", "others") for word in command]
    assert main([*other_words, "columns=problem:q,answer:gold"]) == 0
    assert len(tracker.client.search_runs([tracker.experiment("evaluations")])) == 2
    given: dict[str, Any] = {"benchmarks": [{"q": "2+2=?", "answer": 4}], "columns": {"problem": "q"}, "n": 2}
    (name,) = rlvr.evaluate(str(MODELS / "tiny"), **given, max_tokens=2)["scores"]
    assert name.startswith("data_")  # by its content
    given["benchmarks"] = {"mine": given["benchmarks"]}
    assert list(rlvr.evaluate(str(MODELS / "tiny"), **given, max_tokens=2)["scores"]) == ["mine"]
    with pytest.raises(rlvr.UsageError, match=r"benchmarks: expected a name of letters, digits, _ and -, got 'a/b'"):
        rlvr.evaluate(str(MODELS / "tiny"), benchmarks={"a/b": [{"problem": "2+2=?", "answer": 4}]})
    capsys.readouterr()
    assert main(["page", f"runs={folder}", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    page = Path(document["file"]).read_text()
    assert "truncation rate, %" in page and "boxed_last" in page and "Responses" in page and "Measured by" in page
    assert document["notes"] == [] and '"entropies":null' not in page  # a note would say why there are none
    assert main(["power", "difference=0.1", f"runs={folder.name[:8]}", "benchmark=my_sums", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == 3


def test_the_same_command_again_reads_its_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))  # where benchmarks that are made here are written, without data_dir
    how = ["protocol=tiny", "benchmarks=[tiny_short]", "n=2", "ks=[1,2]", "rows=4", "max_tokens=8"]
    command = ["eval", f"model={MODELS / 'tiny'}", *how, f"out={tmp_path / 'out'}"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "policy answer_line" in first  # what another extraction policy would change, from the verdict table
    assert re.search(r"^tiny_short, policy \w+: /", first, re.MULTILINE)  # the one that decided has no empty line
    assert not re.search(r"^ *policy \w+$", first, re.MULTILINE)
    table = (tmp_path / "out" / "tiny_short" / "verdicts.parquet").read_bytes()
    record = (tmp_path / "out" / "run.json").read_bytes()

    def never(*_: Any) -> None:
        raise AssertionError("sampled again")

    monkeypatch.setattr(TransformersEngine, "generate", never)
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == first and "tiny_short: measured already" in again.err and "it/s" not in again.err
    assert (tmp_path / "out" / "run.json").read_bytes() == record
    assert (tmp_path / "out" / "tiny_short" / "verdicts.parquet").read_bytes() == table

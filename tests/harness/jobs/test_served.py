"""A model that is only measured, by a server: in a run like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlvr.cli import main
from tests.evals.sampling.chat_server import Handler, completion, serving


@pytest.mark.slow
def test_an_untrained_arm_of_paper_scale_is_measured_by_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.record.run import Run

    def says_two(handler: Handler, body: dict[str, Any]) -> None:
        handler.reply(200, completion(body, "so \\boxed{2}"))

    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    rows = [{"id": f"{i}", "problem": f"What is {i} plus 1?", "answer": str(i + 1)} for i in range(2)]
    (tmp_path / "sums_of_a_server.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        server.usual = says_two
        words = ["run", "paper=erpo", "scale=paper", "model=qwen3-235b-instruct", "arm=base", "protocol.rows=2"]
        words += [f"protocol.benchmarks=[{tmp_path / 'sums_of_a_server.jsonl'}]", "protocol.n=2", "protocol.ks=[1]"]
        words += ["hardware.engine=openai", f"hardware.engine_url={server.url}", "hardware.device=cpu"]
        assert main(words) == 0, capsys.readouterr().err
        assert server.seen[0][2]["model"] == "Qwen/Qwen3-235B-A22B-Instruct-2507"
        assert main(["run", "paper=erpo", "scale=paper", "model=qwen2.5-1.5b", "arm=grpo", *words[-3:]]) == 2
        assert "a server" not in capsys.readouterr().out
    (folder,) = (tmp_path / "home" / "erpo" / "paper").iterdir()
    run = Run(folder)
    assert run.record["scores"]["sums_of_a_server"]["avg_at_2"]["value"] == 0.5  # 1 + 1 is right, and 0 + 1 is not
    assert run.record["base_model"]["loaded_from"] == "Qwen/Qwen3-235B-A22B-Instruct-2507"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=qwen2.5-1.5b", "arm=grpo", "hardware.engine_url=http://h/v1"], "which cannot have the model that"),
        (["model=qwen3-235b-instruct", "arm=base"], "url: missing"),
    ],
)
def test_what_a_server_cannot_measure(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    assert main(["run", "paper=erpo", "scale=paper", *words, "hardware.engine=openai"]) == 2
    assert message in capsys.readouterr().err

"""The study on one GPU: its registered design, its commands, and the pieces that carry a model."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from evals.errors import UsageError
from evals.files import text_sha256
from harness.command.resolve import resolve
from harness.data.pinned import FILES, Pinned
from harness.spec import catalogue
from studies.one_gpu.__main__ import ended
from studies.one_gpu.data import fetch
from studies.one_gpu.design import COMMON, MEASURED, STUDY, arguments, entered
from studies.one_gpu.pack import pack, receive
from studies.one_gpu.page import PAGE, archived, page
from tests.harness.record.folders import finished
from tests.shared import shared_file


def test_the_design_is_the_registered_one() -> None:
    registered = Path("results/one_gpu/preregistration.md").read_text(encoding="utf-8")
    assert f"Design {STUDY.digest}" in registered
    assert all(f"| {entry.paper} | {entry.arm} |" in registered for entry in STUDY.entries)


@pytest.mark.parametrize("entry", STUDY.entries, ids=lambda entry: entry.key)
def test_every_entry_resolves_to_one_run_of_the_fixed_budget(entry) -> None:  # type: ignore[no-untyped-def]
    words = dict(word.split("=", 1) for word in arguments(entry, 0, model="tiny", data="x", rollouts=40))
    values = {key: yaml.safe_load(value) for key, value in words.items()}
    for key in ("paper", "arm", "scale", "seeds", "data"):
        del values[key]
    values["learning_rate"] = float(values["learning_rate"])  # YAML's 3e-06 is text
    (job,) = resolve(entry.paper, arms=[entry.arm], scale="small", seeds=[0], overrides=values)
    training = job.experiment
    assert training is not None and training.max_steps.value == 40  # type: ignore[union-attr]
    assert (training.prompts_per_rollout.value, training.group_size.value) == (32, 8)  # type: ignore[union-attr]
    assert job.protocol.benchmarks.value == ["gsm8k"] or job.protocol.benchmarks.value == ("gsm8k",)


@pytest.mark.parametrize(
    ("paper", "arm", "rows"),
    [
        ("egsw", "egsw", ["egsw/grpo", "egsw/egsw", "egsw/egsw+shuffled_signal"]),
        # this paper has no grpo, and dr_grpo reads no signal
        ("forking_tokens", "top20", ["egsw/grpo", "forking_tokens/top20", "forking_tokens/top20+shuffled_signal"]),
        ("baselines", "dr_grpo", ["baselines/grpo", "baselines/dr_grpo", "baselines/dr_grpo+random_reward"]),
    ],
)
def test_any_arm_stands_beside_grpo_and_a_placebo_that_resolves(paper: str, arm: str, rows: list[str]) -> None:
    entries = entered(paper, arm)
    assert [entry.key for entry in entries] == rows and [entry.than for entry in entries] == ["", "grpo", "grpo"]
    for entry in entries:
        assert len(resolve(entry.paper, arms=[entry.arm], scale="small", seeds=[0])) == 1


def test_a_new_paper_s_own_placebo_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    egsw = catalogue.load("egsw")
    paper_with_placebo = replace(egsw, arms=(*egsw.arms, replace(egsw.arms[1], key="placebo")))
    monkeypatch.setattr(catalogue, "load", lambda key: paper_with_placebo)
    assert [entry.arm for entry in entered("egsw", "egsw")] == ["grpo", "egsw", "placebo"]


@pytest.mark.parametrize(
    ("paper", "arm", "message"),
    [("egws", "egsw", "egsw"), ("egsw", "egws", "egsw"), ("erpo", "sft", "not trained with")],
)
def test_an_arm_that_cannot_enter_is_named(paper: str, arm: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        entered(paper, arm)


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("== rlvr run\nstep 1\nerror: placebo: no such arm\nmore: rlvr help\n")
    assert ended(2, log, stopped=False) == f"failed with exit code 2: error: placebo: no such arm (all of it: {log})"
    assert ended(0, log, stopped=True) == "finished" and "time is over" in ended(143, log, stopped=True)
    assert "failed with exit code 1" in ended(1, log, stopped=True)  # it failed while it saved
    log.write_text("== rlvr run\nKilled\n")
    assert "exit code -9: Killed" in ended(-9, log, stopped=False)


# GSM8K's form: a worked solution with its answer in the last line
SOURCE = '{"question": "1 + 1?", "answer": "1 + 1 = <<1+1=2>>2\\n#### 2"}\n'
OUTPUT = '{"problem": "1 + 1?", "answer": "2"}\n'


def pinned(source: str = SOURCE, content: str = OUTPUT) -> tuple[Pinned, ...]:
    return (Pinned("train.jsonl", text_sha256(source), "gsm8k_train.jsonl", text_sha256(content)),)


def test_data_comes_from_a_server_and_is_checked_by_hash(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "train.jsonl").write_text(SOURCE)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "there"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            (path,) = fetch(tmp_path / "here", f"http://127.0.0.1:{server.server_port}", pinned())
            assert path.read_text() == OUTPUT
            (tmp_path / "there" / "train.jsonl").write_text(SOURCE.replace("2", "3"))
            assert fetch(tmp_path / "here", f"http://127.0.0.1:{server.server_port}", pinned()) == [
                path
            ]  # there already
            with pytest.raises(ValueError, match=r"SHA-256 .* another version of the data"):
                fetch(tmp_path / "other", f"http://127.0.0.1:{server.server_port}", pinned())
        finally:
            server.shutdown()
            thread.join()


def test_data_from_a_folder_and_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere/train.jsonl: cannot be read .* type --source FOLDER"):
        fetch(tmp_path, str(tmp_path / "nowhere"))
    (tmp_path / "train.jsonl").write_text(SOURCE)
    with pytest.raises(ValueError, match=r"gsm8k_train.jsonl as written: SHA-256"):
        fetch(tmp_path / "here", str(tmp_path), pinned(content="other"))
    assert fetch(tmp_path / "here", str(tmp_path), pinned())[0].read_text() == OUTPUT


def test_the_pinned_test_problems_are_the_benchmark_s(tmp_path: Path) -> None:
    """From another copy of GSM8K's test part, with the same problems and answers."""
    rows = [json.loads(line) for line in shared_file("data/benchmarks/gsm8k_test.jsonl").read_text().splitlines()]
    text = "".join(json.dumps({k: row[k] for k in ("problem", "answer")}, ensure_ascii=False) + "\n" for row in rows)
    assert len(rows) == 1319 and text_sha256(text) == FILES[1].sha256


def recipe(**overrides: Any) -> dict[str, Any]:
    """The settings of a run with the study's values."""
    values = {**COMMON, **MEASURED, "max_steps": STUDY.rollouts, **overrides}
    return {k: {"value": v, "origin": "user", "note": "command line", "was": None} for k, v in values.items()}


def test_the_page_lists_our_runs_and_those_of_others(tmp_path: Path) -> None:
    code = {"environment": {"commit": "0123456789abcdef"}, "scale": "small"}
    own_files = {"own_files": {"equation mine": "ab" * 32, "dataset gsm8k_train.jsonl": "cd" * 32}}
    runs = [
        finished(tmp_path / "a", {"gsm8k": 5}, settings=recipe(), **code),
        finished(tmp_path / "b", {"gsm8k": 7}, arm="mine", settings=recipe(), by="Jane | X", **code, **own_files),
        finished(tmp_path / "c", {"gsm8k": 8}, arm="other", settings=recipe(learning_rate=1.0), **code),  # not listed
        finished(tmp_path / "d", {"gsm8k": 8}, arm="base", **code),  # not trained
    ]
    rows = [line for line in page(runs).splitlines() if line.startswith("| egsw/")]
    assert [line.split(" | ")[0] for line in rows] == ["| egsw/grpo", "| egsw/mine"]
    assert "| this project |" in rows[0] and "| 62.5 " in rows[0] and "commit 0123456789" in rows[0]  # 5 of 8
    assert "Jane \\| X" in rows[1] and "| 87.5 " in rows[1] and "reproductions/egsw, SHA-256 abababababab |" in rows[1]
    assert "No run is archived yet." in page([])


def test_the_committed_page_is_that_of_the_archives() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(archived())


def test_pieces_are_joined_by_their_hashes_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "weights").write_bytes(bytes(range(256)) * 200)
    (tmp_path / "b.jsonl").write_text("{}\n")
    count = pack([tmp_path / "a", tmp_path / "b.jsonl"], tmp_path / "out", piece=20_000)
    assert count == 4  # 51,200 bytes, a line, and tar's headers, end and padding: 61,440 in all
    store = tmp_path / "store"
    pieces = sorted((tmp_path / "out").glob("piece-*"))
    assert receive(pieces[2], store) == "1 of 4 pieces are here; missing: [0, 1, 3]"
    states = [receive(piece, store) for piece in (pieces[2], pieces[0], pieces[3], pieces[1])]
    assert states[-1].startswith("all 4 pieces are here")
    assert (store / "a" / "weights").read_bytes() == (tmp_path / "a" / "weights").read_bytes()
    (pieces[0] / "data").write_bytes(b"cut")
    with pytest.raises(ValueError, match="send it again"):
        receive(pieces[0], store)
    assert json.loads((pieces[0] / "index.json").read_text())


def test_pieces_are_received_where_no_package_is_installed(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text("{}\n")
    assert pack([tmp_path / "b.jsonl"], tmp_path / "out") == 1
    command = [sys.executable, "-S", "-m", "studies.one_gpu", "receive", tmp_path / "out" / "piece-00", tmp_path / "to"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": "."})
    assert done.stdout.startswith("all 1 pieces are here") and (tmp_path / "to" / "b.jsonl").is_file()


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: expected a file or folder"):
        pack([tmp_path / "nowhere"], tmp_path / "out")

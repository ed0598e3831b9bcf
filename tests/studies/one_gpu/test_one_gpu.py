"""The study on one GPU: its registered design, its commands, and the pieces that carry a model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.command.resolve import resolve
from studies.one_gpu.design import STUDY, arguments, entered
from studies.one_gpu.pack import pack, receive


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


def test_a_method_of_somebody_else_stands_beside_grpo_and_its_placebo() -> None:
    rows = [(entry.arm, entry.than) for entry in entered("my_method", "my_method")]
    assert rows == [("grpo", ""), ("my_method", "grpo"), ("placebo", "grpo")]


def test_pieces_are_joined_by_their_hashes_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "weights").write_bytes(bytes(range(256)) * 200)
    (tmp_path / "b.jsonl").write_text("{}\n")
    count = pack([tmp_path / "a", tmp_path / "b.jsonl"], tmp_path / "out", piece=20_000)
    assert count == 4  # 51,200 bytes, a line, and tar's headers, end and padding: 61,440 in all
    store = tmp_path / "store"
    pieces = sorted((tmp_path / "out").glob("piece-*"))
    assert receive(pieces[2], store) == "1 of 4 pieces are here; missing: [0, 1, 3]"
    said = [receive(piece, store) for piece in (pieces[2], pieces[0], pieces[3], pieces[1])]
    assert said[-1].startswith("all 4 pieces are here")
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

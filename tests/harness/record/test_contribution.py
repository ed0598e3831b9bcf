"""A run of somebody else: what keeps it out of the tables, and how it is shown there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.command.resolve import resolve
from harness.data.pinned import FILES
from harness.record.archive import read_archive
from harness.record.contribution import obstacles
from harness.record.run import Run
from harness.runs.record import ROOT, environment
from harness.spec.job import Job
from harness.tables.tabulate import report
from rlvr.cli import main
from tests.harness.record.folders import finished

COMMITTED = environment()["commit"]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))


def declared(overrides: dict[str, Any] | None = None) -> dict[str, Any]:
    """The values of egsw's arm grpo at tiny scale, as a record has them."""
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0], overrides=overrides or {})
    return json.loads(json.dumps({key: sourced.as_dict() for key, sourced in job.settings().items()}))


def exported(tmp_path: Path, *by: str, commit: str | None = COMMITTED, changed: bool = False, **more: Any) -> list[Run]:
    """The runs of an archive, of one finished run, that went through `rlvr export`."""
    code = {"command": "rlvr run", "commit": commit, "uncommitted_changes": changed, "packages": {}, "cpu": "a CPU"}
    finished(tmp_path / "home", {"tiny_short": 5}, **{"settings": declared(), "environment": code, **more})
    out = tmp_path / "egsw.tar.xz"
    assert main(["export", "paper=egsw", *by, f"out={out}"]) == 0
    return read_archive(out)


@pytest.mark.skipif(COMMITTED is None, reason="not a checkout")
def test_a_run_of_committed_code_with_declared_values_and_a_name_is_taken(tmp_path: Path) -> None:
    hardware = {"gpus": ["NVIDIA H100"] * 8}
    (run,) = exported(tmp_path, "by=Jane Doe, X", hardware=hardware)
    assert obstacles(run) == [] and main(["verify", str(tmp_path / "egsw.tar.xz"), "contribution=true"]) == 0
    day = (run.finished or "")[:10]
    page = report("egsw", [run]).markdown()
    assert f"Measured by Jane Doe, X on 8 x NVIDIA H100, {day}: tiny/grpo at tiny scale." in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"by": ()}, "by: missing"),
        ({"commit": None}, "commit: unknown"),
        ({"commit": "0" * 40}, f"commit: 0000000000 is not in the history of {ROOT}"),
        ({"changed": True}, "with uncommitted changes"),
        ({"own_files": {"dataset data.jsonl": "00"}}, "dataset data.jsonl: a file that only you have decides it"),
        ({"own_files": {"equation mine": "00"}}, "equation mine: its source is not here. Commit reproductions/egsw"),
        ({"overrides": {"no_such": 1}}, "does not resolve here: no_such=1"),
    ],
)
def test_what_keeps_a_run_out_is_named(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    by = more.pop("by", ("by=Jane",))
    (run,) = exported(tmp_path, *by, **more)
    assert any(message in line for line in obstacles(run)), obstacles(run)
    assert main(["verify", str(tmp_path / "egsw.tar.xz"), "contribution=true"]) == 1
    assert main(["verify", str(tmp_path / "egsw.tar.xz")]) == 0  # whole all the same


def test_an_equation_counts_by_its_source_here_and_data_by_its_public_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "own_files", lambda job: {"equation mine": "ab" * 32})
    hashes = {"equation mine": "ab" * 32, "dataset gsm8k_train.jsonl": FILES[0].sha256}
    (run,) = exported(tmp_path, "by=Jane", own_files=hashes)
    assert not any("equation" in line or "dataset" in line for line in obstacles(run))
    monkeypatch.setattr(Job, "own_files", lambda job: {"equation mine": "cd" * 32})
    (sentence,) = (line for line in obstacles(run) if "equation" in line)
    assert sentence.startswith(
        "equation mine: its source here has SHA-256 cdcdcdcdcdcd, and the run was trained with abab"
    )


def test_a_replaced_value_is_no_obstacle(tmp_path: Path) -> None:
    replaced = {"learning_rate": 1e-3}
    (run,) = exported(tmp_path, "by=Jane", overrides=replaced, settings=declared(replaced))
    assert not any("learning_rate" in line for line in obstacles(run))


def test_a_value_that_is_declared_otherwise_by_now_is_named(tmp_path: Path) -> None:
    settings = declared()
    was = settings["group_size"]["value"]
    settings["group_size"]["value"] = was + 1
    (run,) = exported(tmp_path, "by=Jane", settings=settings)
    assert f"group_size={was + 1}: {was} is declared here" in obstacles(run)

"""`nox -s rehearse`: all default runs, each once at a commit, and a page that names what was not reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import rehearsal
from harness.command.options import RunOptions
from harness.jobs.rehearsal import STAGES, Rehearsed
from harness.spec import catalogue
from tests.harness.jobs.test_rehearsal import TENTH


def test_every_default_run_is_a_case() -> None:
    cases = rehearsal.cases(sorted(catalogue.papers()), rehearsal.SCALES)
    assert len(cases) == len(set(cases)) <= 10 * len(TENTH) and {c.paper for c in cases} == set(catalogue.papers())
    assert {(c.paper, c.model, c.arm) for c in cases if c.other and c.scale == "small"} == {
        ("entropy_advantage", "7b", "ppo"),
        ("entropy_advantage", "7b", "ppo_entropy_advantage"),
    }
    (dapo,) = (c for c in cases if (c.paper, c.scale, c.model, c.arm) == ("forking_tokens", "paper", "32b", "dapo"))
    assert (dapo.trained, dapo.evaluated, dapo.other) == (2048 + 20480, 20480, True)


def test_a_stopped_rehearsal_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    done: list[str] = []

    def rehearsed(paper: str, options: RunOptions) -> list[Rehearsed]:
        (arm,) = options.arm or ()
        if arm == "egsw" and len(done) == 2:
            raise KeyboardInterrupt
        done.append(arm)
        stages = dict.fromkeys(STAGES, "yes") | ({"trained": "no"} if arm == "grpo" else {})
        return [Rehearsed(f"{paper} {arm}", stages, ["trained: too long"] if arm == "grpo" else [])]

    monkeypatch.setattr(rehearsal, "rehearsed", rehearsed)
    requested = rehearsal.cases(["egsw"], ["small"])
    with pytest.raises(KeyboardInterrupt):
        rehearsal.rehearse(requested)
    assert done == ["base", "grpo"]  # the shortest first
    rows = rehearsal.kept_rows()
    text = rehearsal.page(rows, "", [c for c in requested if c not in rows])
    assert "**1 of 2 runs passed every stage.** 1 did not. The list gives the reason:" in text
    assert text.index("- trained: too long") < text.index("## All runs")  # the exceptions first
    assert "Not reached: egsw math-7b/egsw, small; egsw math-7b/egsw_micro_batch, small." in text
    assert "- trained: too long\n  (1: `egsw grpo`, small scale)" in text
    done.append("")  # no interrupt now
    assert list(rehearsal.rehearse(requested)) == requested
    assert done == ["base", "grpo", "", "egsw", "egsw_micro_batch"]

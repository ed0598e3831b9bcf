"""Known faults of tools are named where a log shows the version or the date, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import rlvr
from evals.audit.tool_faults import FAULTS, known_faults

ENTROPY = pd.DataFrame({"step": [1], "actor/entropy": [0.5]})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("2025-05-03 12:00:00 step:1 - actor/entropy:0.5", True),
        ("2025-04-16 12:00:00 step:1 - actor/entropy:0.5", False),  # the day before
        ("2025-04-17 12:00:00 step:1 - actor/entropy:0.5", True),
        ("2025-06-11 08:00:00 step:1 - actor/entropy:0.5", False),  # the day after
        ("2025-05-03 'use_dynamic_bsz': False step:1 - actor/entropy:0.5", False),
        ("step:1 - actor/entropy:0.5", False),  # neither a version nor a date
        ("verl==0.4.0 step:1 - actor/entropy:0.5", True),
        ("2025-05-03 verl==0.2.0 step:1 - actor/entropy:0.5", False),  # the version says more than the day
        ("verl 0.4.1 step:1 - actor/entropy:0.5", False),
        ("2025-05-03 another tool", False),
    ],
)
def test_the_entropy_of_verl_in_spring_2025(text: str, named: bool) -> None:
    faults = known_faults(text, ENTROPY)
    assert bool(faults) == named
    assert not known_faults(text, pd.DataFrame({"step": [1], "val/acc": [0.5]}))  # the log has no entropy


def test_a_tracker_says_the_day_in_seconds() -> None:
    at = pd.Timestamp("2025-05-03", tz="UTC").timestamp()
    assert known_faults("verl", ENTROPY.assign(_timestamp=at)) and not known_faults("verl", ENTROPY)


@pytest.mark.parametrize(
    ("version", "named"), [("1.9.1", False), ("1.10.0", True), ("1.13.0", True), ("1.14.0", False)]
)
def test_the_fused_losses_of_trl(version: str, named: bool) -> None:
    assert bool(known_faults(f"trl=={version} use_liger_kernel: true")) == named
    assert not known_faults(f"trl=={version} use_liger_kernel: false")


def test_every_fault_has_a_source_and_a_version_or_a_day() -> None:
    assert all(fault.source.startswith("github.com/") and (fault.versions or fault.until) for fault in FAULTS)


def test_audits_and_curves_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    log = tmp_path / "run.log"
    log.write_text("2025-05-03 10:00:00\nstep:1 - actor/entropy:0.5 - val/acc:0.25\n")
    for result in (rlvr.audit(log, printed="25.0", metric="val/acc"), rlvr.curves(log, name="theirs")):
        assert "a known fault of the tool: veRL wrote a wrong actor/entropy" in " ".join(str(result).split())

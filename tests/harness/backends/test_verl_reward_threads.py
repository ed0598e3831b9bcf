"""A reward that needs the main thread is refused for veRL before anything starts, and trains with TRL."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.provenance import Origin
from harness.backends import backend
from harness.backends.trl.hardware import TrlHardware
from harness.backends.verl.hardware import VerlHardware
from harness.errors import UsageError
from tests.experiments import experiment


def test_verl_refuses_a_reward_with_an_alarm_and_trl_takes_it(tmp_path: Path) -> None:
    file = tmp_path / "timed.py"
    file.write_text(
        "import signal\n\ndef timed(response, answer):\n    signal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
        "    return 1.0\n\ntimed.range = (0.0, 1.0)\n"
    )
    values = {"rewards": (f"{file}:timed",), "reward_weights": (1.0,)}
    declared = experiment().override(values, Origin.USER, "a test")
    with pytest.raises(UsageError, match="in the main thread alone"):
        backend("verl").check(declared, VerlHardware(device="cpu"))
    backend("trl").check(declared, TrlHardware(device="cpu"))

"""A training in several processes on a CPU resumes: their device is "cpu:0", to which torch alone cannot load."""

from __future__ import annotations

from pathlib import Path

import torch

from harness.backends.trl.common import _know_numbered_cpus


def test_a_state_is_loaded_to_a_numbered_cpu(tmp_path: Path) -> None:
    state = {"exp_avg": torch.arange(3.0), "step": torch.tensor(2.0)}
    torch.save(state, tmp_path / "optimizer.pt")
    _know_numbered_cpus()
    _know_numbered_cpus()  # a second training in this process: torch cannot sort two entries of one priority
    loaded = torch.load(tmp_path / "optimizer.pt", map_location=torch.device("cpu", 0), weights_only=True)
    assert loaded["exp_avg"].tolist() == [0.0, 1.0, 2.0]
    assert loaded["exp_avg"].device.type == "cpu"
    assert loaded["step"].item() == 2.0

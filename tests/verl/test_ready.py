"""The faults of this machine are said before anything starts. Another veRL is refused."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.needs_verl import need_verl

need_verl()

from harness.backends.verl import backend, driver, extension  # noqa: E402
from harness.backends.verl.hardware import VerlHardware  # noqa: E402

CPU = VerlHardware(device="cpu")


def test_too_little_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "CPU_MEMORY_GIB", 1e6)
    with pytest.raises(ValueError, match=r"needs 1000000\.0 GiB of free memory\. \d"):
        backend.BACKEND.ready(CPU)


def test_packing_needs_flash_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"hardware\.packing: expected false, or flash-attn"):
        backend.BACKEND.ready(VerlHardware(device="gpu"))
    backend.BACKEND.ready(VerlHardware(device="gpu", packing=False))


def test_another_verl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension.importlib.metadata, "version", lambda name: "0.10.0")
    with pytest.raises(RuntimeError, match=r"verl 0\.10\.0 is installed.*0\.9\.1"):
        extension.check_version()


def test_hidden_gpus_do_not_stop_ray_on_a_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ray refuses "CUDA_VISIBLE_DEVICES contains []": our processes are its logical GPUs (`driver.start_ray`)."""
    import ray

    from harness.backends.verl.schema import compose

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    seen: dict[str, Any] = {}

    def init(**arguments: Any) -> None:
        seen.update(arguments, visible=os.environ.get("CUDA_VISIBLE_DEVICES"))

    monkeypatch.setattr(ray, "init", init)
    driver.start_ray(compose({}), SimpleNamespace(hardware=CPU, scratch=tmp_path))
    assert (seen["num_gpus"], seen["visible"]) == (CPU.processes, None)

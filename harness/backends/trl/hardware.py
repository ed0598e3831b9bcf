"""The machine settings that only TRL has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from harness.spec.hardware import Hardware, setting

ZERO = ("zero2", "zero3", "zero3_offload")
SHIPPED = Path(__file__).resolve().parent / "deepspeed"


@dataclass(frozen=True)
class TrlHardware(Hardware):
    """Settings of a training with TRL."""

    rollouts: Literal["transformers", "vllm_colocate", "vllm_server"] = setting(
        "transformers", "the sampling engine: transformers, vllm_colocate (in the training processes) or vllm_server"
    )
    vllm_sleep: bool = setting(
        False, "free the memory of vllm_colocate while it does not sample; its weights are then sent again each time"
    )
    vllm_server_url: str | None = setting(None, "address of a running `trl vllm-serve`")
    deepspeed: str | None = setting(
        None, "zero2, zero3 or zero3_offload (shipped), or the path of a DeepSpeed JSON configuration"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rollouts == "vllm_server" and self.vllm_server_url is None:
            raise ValueError(
                "hardware.vllm_server_url: expected the address of a server for rollouts=vllm_server, got null"
            )

    @property
    def zero_stage(self) -> int:
        """The ZeRO stage of the DeepSpeed configuration: 0, 1, 2 or 3; 0 without one."""
        stage = _zero(self.deepspeed).get("stage", 0)
        return stage if isinstance(stage, int) else 0

    @property
    def zero_offloads(self) -> bool:
        """Whether the DeepSpeed configuration keeps the optimiser in the machine's memory."""
        offload = _zero(self.deepspeed).get("offload_optimizer")
        return isinstance(offload, dict) and offload.get("device") in ("cpu", "nvme")


def deepspeed_file(name: str) -> str:
    """The path of a DeepSpeed configuration; those in `ZERO` are shipped with the harness."""
    return str(SHIPPED / f"{name}.json") if name in ZERO else name


@cache
def _zero(deepspeed: str | None) -> Mapping[str, Any]:
    """The ZeRO section of a DeepSpeed configuration; empty if the file cannot be read (a run refuses it)."""
    if deepspeed is None:
        return {}
    try:
        zero = json.loads(Path(deepspeed_file(deepspeed)).read_text(encoding="utf-8"))["zero_optimization"]
        return zero if isinstance(zero, dict) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}

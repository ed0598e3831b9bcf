"""The machine settings that only TRL has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.spec.hardware import Hardware, setting

SHIPPED = Path(__file__).resolve().parent / "deepspeed"


@dataclass(frozen=True)
class TrlHardware(Hardware):
    """Settings of a training with TRL."""

    rollouts: Literal["transformers", "vllm_colocate"] = setting(
        "transformers", "sampling engine: transformers, or vllm_colocate (inside the training processes)"
    )
    vllm_sleep: bool = setting(
        False, "free the memory of vllm_colocate while it does not sample. The weights are then sent again each time"
    )
    deepspeed: Literal["zero2", "zero3", "zero3_offload"] | None = setting(
        None, "DeepSpeed: zero2, zero3 or zero3_offload (the optimiser is in the machine's memory)"
    )

    @property
    def zero_stage(self) -> int:
        """The ZeRO stage of the DeepSpeed configuration, 0 without one."""
        return 0 if self.deepspeed is None else int(self.deepspeed[4])

    @property
    def zero_offloads(self) -> bool:
        """Whether the DeepSpeed configuration keeps the optimiser in the machine's memory."""
        return self.deepspeed == "zero3_offload"


def deepspeed_file(name: str) -> str:
    """The path of a DeepSpeed configuration."""
    return str(SHIPPED / f"{name}.json")

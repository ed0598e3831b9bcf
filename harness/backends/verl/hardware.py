"""The machine settings that only veRL has."""

from __future__ import annotations

from dataclasses import dataclass

from harness.spec.hardware import Hardware, setting
from harness.spec.ranges import Count, Positive


@dataclass(frozen=True)
class VerlHardware(Hardware):
    """Settings of a training with veRL."""

    nodes: Count = setting(1, "machines that train. Each one has `processes` processes")
    packing: bool = setting(True, "sequences without padding, by flash attention (GPU)")
    tokens_per_gpu: Count | None = setting(None, "tokens per forward pass, at most. Set it instead of micro_batch")
    sequence_parallel: Count = setting(1, "GPUs that share one sequence (the method Ulysses)")
    offload: bool = setting(False, "keep weights and optimiser state in CPU memory between uses")
    fused_kernels: bool = setting(False, "output head and entropy in one kernel (GPU)")
    resampling_rounds: Count = setting(
        20, "batches of prompts that dynamic sampling may sample for one step before it fails"
    )
    stall_minutes: Positive = setting(60.0, "minutes without a step before the run is killed as hung")

    @property
    def devices(self) -> int:
        return self.processes * self.nodes

    @property
    def ranks(self) -> int:
        return self.devices // self.sequence_parallel

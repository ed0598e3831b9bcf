"""TRL as a backend."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from harness.backends.base import Backend
from harness.backends.trl import needs
from harness.backends.trl.common import to_lora_config
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.translate import to_grpo_config
from harness.backends.trl.translate_sft import to_sft_config
from harness.errors import UsageError
from harness.spec import Experiment, Training

if TYPE_CHECKING:
    from harness.record.write import Recorder
    from harness.spec.architecture import Architecture
    from harness.spec.job import Job


class Trl(Backend[TrlHardware]):
    """Reinforcement learning, fine-tuning and rejection sampling on one machine."""

    hardware = TrlHardware
    need = staticmethod(needs.need)
    step_seconds = staticmethod(needs.step_seconds)
    candidates = staticmethod(needs.candidates)
    in_process = True
    profile: ClassVar[Mapping[str, Any]] = {"rollouts": "vllm_colocate"}

    def check(self, training: Training, hardware: TrlHardware) -> None:
        self.config(training, hardware, seed=0, out_dir=Path())

    def config(self, training: Training, hardware: TrlHardware, *, seed: int, out_dir: Path) -> dict[str, Any]:
        if isinstance(training, Experiment):
            arguments = {"GRPOConfig": to_grpo_config(training, hardware, seed=seed, out_dir=out_dir)}
        else:
            arguments = {"SFTConfig": to_sft_config(training, hardware, seed=seed, out_dir=out_dir)}
        return {**arguments, "LoraConfig": to_lora_config(training)}

    def ready(self, hardware: TrlHardware) -> None:
        if hardware.rollouts == "vllm_colocate" and find_spec("vllm") is None:
            raise UsageError(
                "hardware.rollouts: expected transformers, got 'vllm_colocate': vLLM is not installed in this "
                "environment"
            )
        if hardware.deepspeed is not None and find_spec("deepspeed") is None:
            raise UsageError("hardware.deepspeed: expected null, DeepSpeed is not installed in this environment")

    def launch(
        self, job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: TrlHardware
    ) -> dict[str, object]:
        from harness.backends.trl.launch import launch

        return launch(job, base_model, out_dir, recorder, hardware)

    def host(self, a: Architecture, training: Training, hardware: TrlHardware) -> float:
        """ZeRO-3 loads the weights once for all processes. An offloaded optimiser takes 16 bytes a trained parameter:
        weights, gradients and two moments in float32."""
        rank = training.lora_rank.value
        loading = 2.0 * a.parameters if hardware.zero_stage == 3 else super().host(a, training, hardware)
        trained = a.parameters if rank is None else a.lora(rank)
        return max(loading, 16.0 * trained if hardware.zero_offloads else 0.0)

    def colocated(self, training: Training, hardware: TrlHardware) -> bool:
        return isinstance(training, Experiment) and hardware.rollouts == "vllm_colocate"


BACKEND = Trl()

"""TRL as a backend."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from harness.backends.base import Backend
from harness.backends.trl import needs
from harness.backends.trl.common import to_lora_config
from harness.backends.trl.hardware import TrlHardware, deepspeed_file
from harness.backends.trl.translate import to_grpo_config
from harness.backends.trl.translate_sft import to_sft_config
from harness.spec import Experiment, Finetune, Training

if TYPE_CHECKING:
    from harness.record.write import Recorder
    from harness.spec.job import Job

PORT_S = 1.5  # seconds to wait for a server's port


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
            assert isinstance(training, Finetune)
            arguments = {"SFTConfig": to_sft_config(training, hardware, seed=seed, out_dir=out_dir)}
        return {**arguments, "LoraConfig": to_lora_config(training)}

    def ready(self, hardware: TrlHardware) -> None:
        if hardware.rollouts == "vllm_colocate" and find_spec("vllm") is None:
            raise ValueError(
                "hardware.rollouts: expected transformers, got 'vllm_colocate': vLLM is not installed in this "
                "environment"
            )
        if hardware.rollouts == "vllm_server":
            _check_server(str(hardware.vllm_server_url))
        if hardware.deepspeed is not None:
            _check_deepspeed(hardware.deepspeed)

    def launch(
        self, job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: TrlHardware
    ) -> dict[str, Any]:
        from harness.backends.trl.launch import launch

        return launch(job, base_model, out_dir, recorder, hardware)

    def colocated(self, training: Training, hardware: TrlHardware) -> bool:
        return isinstance(training, Experiment) and hardware.rollouts == "vllm_colocate"


def _check_deepspeed(name: str) -> None:
    """Raise ValueError if DeepSpeed or its configuration is missing."""
    try:
        content = json.loads(Path(deepspeed_file(name)).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"hardware.deepspeed: expected a JSON file, got {name!r} ({error})") from error
    except ValueError as error:
        raise ValueError(f"hardware.deepspeed: expected JSON in {name!r} ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"hardware.deepspeed: expected a JSON object in {name!r}")
    if find_spec("deepspeed") is None:
        raise ValueError("hardware.deepspeed: expected null, DeepSpeed is not installed in this environment")


def _check_server(url: str) -> None:
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        if not host:
            raise ValueError("no host in it")
        socket.create_connection((host, port), timeout=PORT_S).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"hardware.vllm_server_url: expected the address of a running `trl vllm-serve`, got {url!r} ({error})"
        ) from error


BACKEND = Trl()

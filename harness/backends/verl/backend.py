"""veRL as a backend."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from harness.backends.base import Backend
from harness.backends.verl import needs, translate
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.order import Order
from harness.errors import UsageError
from harness.spec import Experiment, Training

if TYPE_CHECKING:
    from harness.record.write import Recorder
    from harness.spec.architecture import Architecture
    from harness.spec.job import Job

NOT_VALIDATED = "veRL is not in this environment: these are our values, without its defaults and its own checks"
CPU_MEMORY_GIB = 9.0  # free, for the tiny model: 7.9 GiB were measured over some 23 processes


class Verl(Backend[VerlHardware]):
    """Reinforcement learning, with PPO and dynamic sampling, on one machine or several."""

    hardware = VerlHardware
    need = staticmethod(needs.need)
    step_seconds = staticmethod(needs.step_seconds)
    candidates = staticmethod(needs.candidates)
    label = "(verl)"
    profile: ClassVar[Mapping[str, Any]] = {"fused_kernels": True}
    nodes = True

    def check(self, training: Training, hardware: VerlHardware) -> None:
        translate.check(training, hardware)

    def ready(self, hardware: VerlHardware) -> None:
        from harness.backends.verl.launch import installed

        installed(hardware)
        if hardware.device == "gpu" and hardware.packing and find_spec("flash_attn") is None:
            raise UsageError(
                "hardware.packing: expected false, or flash-attn in this environment (`pip install "
                "--no-build-isolation flash-attn`)"
            )
        if hardware.device == "cpu":
            import psutil

            free = psutil.virtual_memory().available / 2**30
            if free < CPU_MEMORY_GIB:
                raise UsageError(
                    f"backend=verl on a CPU needs {CPU_MEMORY_GIB} GiB of free memory. {free:.1f} GiB are free"
                )

    def host(self, a: Architecture, training: Training, hardware: VerlHardware) -> float:
        """Without a head that shares the embedding's weights, one process alone loads them. `hardware.offload` keeps
        weights and two moments of policy and critic there, 12 bytes a parameter."""
        loading = super().host(a, training, hardware) if a.tied else 4.0 * a.parameters
        models = 2 if isinstance(training, Experiment) and training.critic.value else 1
        return max(loading, 12.0 * a.parameters * models / hardware.nodes if hardware.offload else 0.0)

    def stride(self, training: Training) -> int:
        """veRL saves after whole rollouts."""
        return training.updates

    def launch(
        self, job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: VerlHardware
    ) -> dict[str, object]:
        from harness.backends.verl.launch import launch

        return launch(job, base_model, out_dir, recorder, hardware)

    def config(self, training: Training, hardware: VerlHardware, *, seed: int, out_dir: Path) -> dict[str, Any]:
        """veRL's whole configuration, with every default, checked by veRL. Without veRL only the values that the
        harness sets, and `NOT_VALIDATED`. Does not read the data: `dataset_rows` gives the rows."""
        self.check(training, hardware)
        assert isinstance(training, Experiment)
        from evals.data import prompts

        prompt, base = prompts.get(training.prompt.value), training.base_model.value
        rows = training.dataset_rows.value
        order = Order(training, base, out_dir, hardware, seed, rows, prompt.policy, 0, (), prompt.stop)
        values = translate.to_verl_config(order)
        if find_spec("verl") is None:
            return {"NOT_VALIDATED": NOT_VALIDATED, **values}
        from omegaconf import OmegaConf

        from harness.backends.verl.launch import installed
        from harness.backends.verl.schema import compose, validate

        installed(hardware)
        config = compose(values)
        validate(config)
        container = OmegaConf.to_container(config, resolve=True)
        assert isinstance(container, dict)
        return {str(key): value for key, value in container.items()}

    def colocated(self, training: Training, hardware: VerlHardware) -> bool:
        return isinstance(training, Experiment)


BACKEND = Verl()

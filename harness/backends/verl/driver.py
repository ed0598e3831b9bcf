"""The process that starts Ray and trains: `python -m harness.backends.verl.driver ORDER`, started by `launch`. Its
output goes to a log. The steps go to a file, one line each (`trainer.MethodTrainer`).
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from harness.backends.children import read_order
from harness.backends.verl.order import Order
from harness.backends.verl.processes import VARIABLE


def main(order_file: str) -> None:
    """Carry out the training in the order, to its end."""
    import ray

    from harness.backends.verl.schema import compose, validate
    from harness.backends.verl.translate import to_verl_config

    order: Order = read_order(order_file)
    config = compose(to_verl_config(order))
    validate(config)
    start_ray(config, order)
    try:
        ray.get(_runner().remote().train.remote(config, order))
    finally:
        ray.shutdown()


def start_ray(config: object, order: Order) -> None:
    """Connect to a cluster, or start Ray here. On a CPU a process of ours is a logical GPU of Ray's."""
    import ray
    from omegaconf import OmegaConf
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env

    hardware = order.hardware
    environment = OmegaConf.to_container(OmegaConf.create(get_ppo_ray_runtime_env(config)))
    assert isinstance(environment, dict)
    inherited = {name: os.environ[name] for name in sorted(os.environ) if name in INHERITED}
    environment["env_vars"] = {**environment["env_vars"], "TRANSFER_QUEUE_ENABLE": "1", **inherited}
    if hardware.ray_address is not None:
        ray.init(address=hardware.ray_address, runtime_env=environment)
        return
    arguments: dict[str, object] = {"_temp_dir": str(order.scratch), "include_dashboard": False}
    if hardware.device == "cpu":
        # veRL requests 3 CPUs per process and more for its services. On two cores these are logical, not real cores
        arguments |= {"num_cpus": 16 * hardware.processes, "num_gpus": hardware.processes}
        arguments |= {"object_store_memory": 500_000_000}
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # empty or of other GPUs, Ray refuses to count ours
    ray.init(runtime_env=environment, **arguments)


INHERITED = {
    *(VARIABLE, "VERL_USE_EXTERNAL_MODULES", "VERL_PLATFORM", "VERL_ENGINE_DEVICE", "PYTHONPATH"),
    *("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND"),
    *("VLLM_TARGET_DEVICE", "GLOO_SOCKET_IFNAME", "HF_HUB_OFFLINE", "TMPDIR", "TOKENIZERS_PARALLELISM"),
    *("VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "RLVR_HOME"),
}
"""Environment variables that processes on other machines must have too."""


def _runner() -> Any:
    """The Ray actor that holds veRL's trainer: veRL's own, with our trainer put in its registry first."""
    import ray
    from verl.trainer.main_ppo import TaskRunnerV1

    class Runner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[name-defined, misc]
        def train(self, config: object, order: Order) -> None:
            from harness.backends.verl.trainer import register

            register(order)
            self.run(config)

    return ray.remote(Runner)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BaseException:  # a Ray that did not start whole may hold the process for ever: the launcher ends the rest
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)

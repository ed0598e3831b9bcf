"""A CPU as veRL's accelerator: gloo, plain float32, no CUDA call. Loaded by `extension` where VERL_PLATFORM=cpu.

veRL 0.9.1 supports GPUs and NPUs. This file changes at run time what prevents a CPU: the platform itself, a process
group that torch refuses, a critic that requires flash attention, pinned memory, and vLLM's repacked weights, which a
training step could not replace.
"""

from __future__ import annotations

import os
import resource
import types
from contextlib import nullcontext
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry
from wrapt import when_imported

from harness.backends.vllm_weights import keep_plain


def _resident_bytes(*_: object, **__: object) -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _peak_bytes(*_: object, **__: object) -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _free_and_total(*_: object) -> tuple[int, int]:
    import psutil

    memory = psutil.virtual_memory()
    return memory.available, memory.total


def _nothing(*_: object, **__: object) -> None:
    """Operations that a CPU does not need."""


class _CpuModule(types.ModuleType):
    """`torch.cpu`, plus what callers expect of `torch.cuda`."""

    memory_allocated = memory_reserved = staticmethod(_resident_bytes)
    max_memory_allocated = max_memory_reserved = staticmethod(_peak_bytes)
    mem_get_info = staticmethod(_free_and_total)
    get_rng_state, set_rng_state = staticmethod(torch.get_rng_state), staticmethod(torch.set_rng_state)
    empty_cache = ipc_collect = set_per_process_memory_fraction = reset_peak_memory_stats = staticmethod(_nothing)
    reset_accumulated_memory_stats = manual_seed = manual_seed_all = set_device = staticmethod(_nothing)
    synchronize = staticmethod(_nothing)

    @staticmethod
    def get_device_name(*_: object) -> str:
        return "cpu"

    def __getattr__(self, name: str) -> object:
        return getattr(torch.cpu, name)


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    """Ray sees a slot of the logical resource GPU. Nothing behind it is one."""

    device_name = vendor_name = "cpu"
    device_module = _CpuModule("rlvr_cpu")
    set_device = synchronize = set_allocator_settings = empty_cache = staticmethod(_nothing)
    profiler_start = profiler_stop = cudart = staticmethod(_nothing)
    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)
    nvtx_range = staticmethod(nullcontext)

    def is_available(self) -> bool:
        return True

    def current_device(self) -> str:
        return "cpu"

    def device_count(self) -> int:
        return 1

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"  # what Ray sets for a slot. A CPU build of torch does not read it

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False  # weights go to vLLM through shared memory


@when_imported("verl.utils.distributed")
def _gloo(module: Any) -> None:
    """veRL asks for "cpu:gloo,cpu:gloo", which torch rejects."""
    initialize = module.initialize_global_process_group_ray
    module.initialize_global_process_group_ray = lambda timeout_second=None, backend=None: initialize(
        timeout_second, "gloo"
    )


@when_imported("verl.utils.model")
def _attention_without_flash(module: Any) -> None:
    """The critic's loader hard-codes flash attention."""

    def load(local_path: str, torch_dtype: object, model_config: object, trust_remote_code: bool) -> Any:
        from transformers import AutoModelForTokenClassification

        return AutoModelForTokenClassification.from_pretrained(
            local_path,
            dtype=torch_dtype,
            config=model_config,
            attn_implementation="sdpa",
            trust_remote_code=trust_remote_code,
        )

    module.load_valuehead_model = load


@when_imported("verl.workers.engine.fsdp.transformer_impl")
def _no_pinned_memory(module: Any) -> None:
    """The reference policy is offloaded to pinned memory, which only an accelerator has."""
    module.CPUOffloadPolicy = lambda pin_memory=True: None


@when_imported("vllm.model_executor.layers.utils")
def _weights_that_can_change(module: Any) -> None:
    module.dispatch_cpu_unquantized_gemm = keep_plain

"""This computer as a value. Plans and checks read it here, and tests give another one."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # what Linux calls a CPU's instructions for it, on x86 and on ARM


class Rates(NamedTuple):
    """How fast a processor is, all its cores together."""

    flops: float  # FLOP/s of a product of float32 matrices
    bandwidth: float  # bytes/s at which it reads weights, as the plan counts them: two bytes each


@dataclass(frozen=True)
class Host:
    """A computer.

    Args:
        cores: that this process may use. memory: bytes.
        features: instruction sets of the processor, by Linux's names, or None where they are not known.
        gpus: that the driver shows this process (CUDA_VISIBLE_DEVICES counts).
        known_rates: None means that they are measured when they are first asked for.
    """

    cores: int
    memory: float
    features: frozenset[str] | None = None
    gpus: int = 0
    known_rates: Rates | None = None

    @property
    def bfloat16(self) -> bool:
        """Whether the processor computes in bfloat16. True where that is not known. Without its instructions torch
        converts each number back and forth: on two cores with AVX2 no backward pass of a model of 0.5B ended in 7
        minutes, where two whole steps in float32 took 2."""
        return self.features is None or bool(BFLOAT16 & self.features)

    @property
    def rates(self) -> Rates:
        return self.known_rates or measured_rates(self.cores)


_given: list[Host] = []  # the last one counts


def this_host() -> Host:
    """The computer that this process runs on, or the one that `given` says."""
    return _given[-1] if _given else _read_host()


@cache
def _read_host() -> Host:
    memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return Host(len(os.sched_getaffinity(0)), memory, _features(), _gpu_count())


@contextmanager
def given(host: Host) -> Iterator[None]:
    """Inside the block, this computer is `host`."""
    _given.append(host)
    try:
        yield
    finally:
        _given.pop()


def _features() -> frozenset[str] | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    return features_in(text)


def features_in(cpuinfo: str) -> frozenset[str] | None:
    """The instruction sets of the first core in the text of /proc/cpuinfo, or None where it names none."""
    for line in cpuinfo.splitlines():
        name, colon, values = line.partition(":")
        if colon and name.strip().lower() in ("flags", "features"):  # flags: x86. Features: ARM.
            return frozenset(values.split())
    return None


def _gpu_count() -> int:
    """GPUs that the driver shows, without importing torch."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


@cache
def measured_rates(cores: int) -> Rates:
    """FLOP/s by the process's own time, so that other work on the machine counts little. The bandwidth is a quarter of
    a copy's: the plan counts weights of two bytes where float32 has four, and SmolLM2-135M read them at half of the
    copy's rate (two cores, November 2026)."""
    import numpy as np

    def least(act: Callable[[], object]) -> float:
        times = []
        for _ in range(3):
            began = time.process_time()
            act()
            times.append(time.process_time() - began)
        return max(min(times), 1e-6)

    side = 768
    matrix, block = np.ones((side, side), np.float32), np.ones(2**23, np.float32)
    flops = 2 * side**3 / least(lambda: matrix @ matrix) * cores
    return Rates(flops, block.nbytes / least(block.copy) / 4)

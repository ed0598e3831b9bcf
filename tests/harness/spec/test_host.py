"""This computer as a value: read from the system, or given."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from harness.spec.hardware import Hardware
from harness.spec.host import Host, Rates, features_in, given, measured_rates, this_host
from tests.hosts import UNKNOWN, WITH_BFLOAT16, WITHOUT_BFLOAT16


@pytest.mark.parametrize(
    ("cpuinfo", "features", "bfloat16"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2 fma\nbugs\t: spectre_v1\n", {"fpu", "avx2", "fma"}, False),
        ("processor\t: 0\nflags\t\t: fpu avx512_bf16\n\nprocessor\t: 1\n", {"fpu", "avx512_bf16"}, True),
        ("processor\t: 0\nFeatures\t: fp asimd bf16\nCPU part\t: 0xd40\n", {"fp", "asimd", "bf16"}, True),  # ARM
        ("processor\t: 0\nflags\t\t: avx512_bf16x\n", {"avx512_bf16x"}, False),  # whole words
        ("processor\t: 0\nisa\t\t: rv64imafdc\n", None, True),  # RISC-V names none: not known
        ("", None, True),
    ],
)
def test_instruction_sets_are_read_from_cpuinfo(cpuinfo: str, features: set[str] | None, bfloat16: bool) -> None:
    features_read = features_in(cpuinfo)
    assert features_read == features
    assert Host(1, 1e9, features_read).bfloat16 is bfloat16


def test_this_host_is_the_systems_until_another_is_given() -> None:
    real = this_host()
    assert real.cores == len(os.sched_getaffinity(0))
    assert real.memory == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with given(WITH_BFLOAT16):
        assert this_host().bfloat16
        with given(WITHOUT_BFLOAT16):
            assert not this_host().bfloat16
        assert this_host() is WITH_BFLOAT16
        with pytest.raises(KeyError), given(UNKNOWN):
            raise KeyError  # the block ends all the same
        assert this_host() is WITH_BFLOAT16
    assert this_host() == real


def test_the_device_cpu_is_the_host_that_is_given() -> None:
    with given(replace(WITHOUT_BFLOAT16, memory=3e9, known_rates=Rates(2e11, 5e9))):
        card = Hardware(device="cpu").card
        assert (card.memory, card.flops, card.bandwidth, card.measured) == (3e9, 2e11, 5e9, True)
        assert Hardware(gpu="h100").card.memory > 80e9  # a GPU that is named is no part of this computer


def test_rates_that_are_not_known_are_measured() -> None:
    rates = measured_rates(2)
    assert rates.flops > 0 and rates.bandwidth > 0
    assert Host(2, 1e9).rates == rates

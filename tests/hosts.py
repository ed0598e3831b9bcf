"""Computers for tests: nothing that a test says may depend on the one under it."""

from __future__ import annotations

from dataclasses import replace

from harness.spec.host import Host, Rates

# as an AMD EPYC of 2019 and an Intel Xeon of 2023 list them, in part
WITHOUT_BFLOAT16 = Host(2, 64e9, frozenset({"fpu", "sse4_2", "avx2", "fma"}), 0, Rates(flops=1e11, bandwidth=1e9))
WITH_BFLOAT16 = replace(
    WITHOUT_BFLOAT16, cores=8, features=WITHOUT_BFLOAT16.features | {"avx512f", "avx512_bf16", "amx_bf16"}
)
UNKNOWN = replace(WITHOUT_BFLOAT16, features=None)  # as macOS, which has no /proc/cpuinfo
KINDS = {"without_bfloat16": WITHOUT_BFLOAT16, "with_bfloat16": WITH_BFLOAT16}

"""Freed memory is used again, instead of being returned and faulted in again."""

import subprocess
import sys

import pytest

BLOCKS = """
import resource, sys
from harness.backends.allocator import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = bytearray(48 * 2**20)  # above glibc's own largest threshold for keeping, 32 MiB
    block[::4096] = bytes(len(block[::4096]))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_a_freed_block_is_reused_without_page_faults() -> None:
    """48 MiB are 12288 pages of 4 KiB, or 24 of 2 MiB; kept, none of them is new."""
    kept = int(subprocess.run([sys.executable, "-c", BLOCKS, "kept"], check=True, capture_output=True).stdout)
    given_back = int(subprocess.run([sys.executable, "-c", BLOCKS, "default"], check=True, capture_output=True).stdout)
    assert given_back >= 24
    assert kept < given_back / 2

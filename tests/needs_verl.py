"""For tests of veRL: without veRL `nox -s verl` and `nox -s parity` fail. Elsewhere the tests are skipped."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

REQUIRED = "RLVR_TESTS_NEED_VERL"  # set by the two sessions


def need_verl() -> None:
    """Call before the test module imports anything of veRL."""
    if find_spec("verl") is None and not os.environ.get(REQUIRED):
        pytest.skip("veRL is not in this environment; `nox -s verl` has it", allow_module_level=True)
    from harness.backends.verl.hardware import VerlHardware
    from harness.backends.verl.launch import environment

    os.environ.update(
        {key: value for key, value in environment(VerlHardware(device="cpu")).items() if key != "PYTHONPATH"}
    )

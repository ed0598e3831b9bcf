"""Change a module of veRL or vLLM right after it is imported, so that `import verl` itself stays cheap."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

Patch = Callable[[ModuleType], None]


class _PatchOnImport(importlib.abc.MetaPathFinder):
    """Runs the patches of a module right after its import."""

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
    """Run `patch` on the module `name`: now if it is imported already, else when it is."""
    if name in sys.modules:
        patch(sys.modules[name])
    else:
        _finder.patches.setdefault(name, []).append(patch)

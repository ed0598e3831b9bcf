"""Load math-verify so that running out of memory or stack raises an error instead of counting as an unequal answer.

math-verify and its parser swallow all errors (`except Exception`), so that a MemoryError becomes "not equal"; so does a
SystemError, which Python itself raises when it has no memory left for a call ("error return without exception set").
This module inserts, before each such handler, one that re-raises these errors. It edits the syntax tree while the
module is compiled; no file on disk changes.

Used by `evals.grading.worker` alone, before math-verify is first imported in its process.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

MODULES = (
    "math_verify.grader",
    "math_verify.parser",
    "latex2sympy2_extended.latex2sympy2",
    "latex2sympy2_extended.math_normalization",
    "latex2sympy2_extended.sets",
    "mpmath.ctx_mp_python",
    "mpmath.libmp.libmpf",
)
LET_THROUGH = (MemoryError, RecursionError, SystemError)


def install() -> None:
    """Load MODULES this way from now on.

    Raises:
        RuntimeError: one of them is already imported.
    """
    if early := [name for name in MODULES if name in sys.modules]:
        raise RuntimeError(f"{early[0]} was imported before evals.grading.math_verify_errors.install()")
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in MODULES else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile from the source: a cached file would hold the original handlers."""
        return let_through(self.get_data(self.path), self.path)


def let_through(source: bytes, path: str) -> CodeType:
    """Compile the source, with a handler that re-raises LET_THROUGH before each catch-all handler."""
    tree = _Preceded().visit(ast.parse(source, path))
    return compile(ast.fix_missing_locations(tree), path, "exec")


class _Preceded(ast.NodeTransformer):
    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.generic_visit(node)
        first = next((i for i, handler in enumerate(node.handlers) if _catches_all(handler)), None)
        if first is not None:
            again = ast.ExceptHandler(ast.parse(_NAMES, mode="eval").body, None, [ast.Raise()])
            node.handlers.insert(first, ast.copy_location(again, node.handlers[first]))
        return node


_NAMES = f"({', '.join(error.__name__ for error in LET_THROUGH)})"


def _catches_all(handler: ast.ExceptHandler) -> bool:
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException", "RuntimeError"))
        for name in names
    )

"""The identity of a user's equation: a changed one makes another job, as a changed file of data does."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

from evals.files import text_sha256

PACKAGES = ("baselines", "harness", "evals", "rlvr")
PAPERS = ("anchors", "egsw", "entropy_advantage", "erpo", "forking_tokens", "trial_and_error")
"""The papers of this project. Their code is identified by its commit, in the record of every run."""


def own_code(equation: Callable[..., object]) -> str | None:
    """SHA-256 of the code of a user's equation, or None for one of this project.

    In a package the code is all its modules but paper.py, whose values a job has. Elsewhere it is the equation's
    module, and of a notebook or script the equation alone. Comments, docstrings and spaces do not count.
    """
    equation = inspect.unwrap(equation)
    package, *rest = equation.__module__.split(".")
    if package in PACKAGES or (package == "reproductions" and rest[0] in PAPERS):
        return None
    name = getattr(sys.modules.get(equation.__module__), "__file__", None)
    if name is None or equation.__module__ == "__main__":
        try:
            return text_sha256(_plain(dedent(inspect.getsource(equation))))
        except OSError:  # python -c, or a prompt: there is no text
            code = equation.__code__
            return text_sha256(repr((code.co_code, code.co_names, code.co_consts)))
    file = Path(name)
    files = {path for path in file.parent.glob("*.py") if path.name != "paper.py"} if rest else set()
    return text_sha256("".join(_plain(path.read_text(encoding="utf-8")) for path in sorted({file, *files})))


def _plain(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)

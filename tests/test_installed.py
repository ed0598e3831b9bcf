"""The installed packages import nothing that `pip install .[train]` does not bring, but for the extras of an engine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rlvr", "harness", "evals", "baselines", "reproductions")
# what a module needs from another extra, or says how to install: each imports it where it is there alone
EXTRAS = {
    "evals/gguf.py": ("gguf",),
    "harness/backends/common.py": ("IPython",),  # in a notebook
    "harness/jobs/rehearsal.py": ("vllm",),
    "harness/backends/verl": ("verl", "ray", "tensordict", "wrapt", "transfer_queue"),
    "harness/backends/vllm_weights.py": ("vllm",),
    "evals/sampling/engines/vllm.py": ("vllm",),
    "harness/launch/slurm": ("submitit",),
}
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def name_of(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@cache
def distributions() -> frozenset[str]:
    """All that `pip install .[train]` brings, from the metadata of what is installed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    waiting = [Requirement(text) for text in (*project["dependencies"], *extras["ui"], *extras["train"])]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        for extra in ("", *wanted.extras):
            if (key := (name_of(wanted.name), extra)) in seen:
                continue
            seen.add(key)
            try:
                further = metadata.requires(wanted.name) or []
            except metadata.PackageNotFoundError:  # for another platform, or this project itself
                continue
            needed = [Requirement(text) for text in further]
            waiting += [
                requirement
                for requirement in needed
                if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            ]
    return frozenset(name for name, _ in seen)


@cache
def brought() -> frozenset[str]:
    """The names under which those can be imported."""
    return frozenset(
        module
        for module, owners in metadata.packages_distributions().items()
        if any(name_of(owner) in distributions() for owner in owners)
    )


def imported(path: Path) -> Iterator[str]:
    """The first part of the name of every import in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_every_import_is_of_what_is_installed(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    more = {name for prefix, names in EXTRAS.items() if place.startswith(prefix) for name in names}
    unknown = set(imported(path)) - set(sys.stdlib_module_names) - set(PACKAGES) - brought() - more
    assert not unknown, f"{place} imports {unknown}, which pip install .[train] does not bring"


def test_the_packages_of_tests_are_not_brought() -> None:
    """Else the tests here could not fail."""
    assert {"torch", "trl", "scipy", "mlflow"} <= brought()
    assert brought().isdisjoint({"statsmodels", "hypothesis", "pytest", "mypy"})


HIDE = """
import importlib, sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else super().find_spec(name, path, target)
hidden = set(sys.argv[1].split(","))
sys.meta_path[sys.meta_path.index(PathFinder)] = Without
failed = []
for name in sys.argv[2].split(","):
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")
sys.exit("\\n".join(failed) or 0)
"""


@pytest.mark.slow
def test_every_module_is_imported_where_only_those_are_there() -> None:
    """In a process that sees no other package."""
    hidden = set(metadata.packages_distributions()) - brought() - set(PACKAGES) - {"studies", "tests"}
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if not any(path.relative_to(ROOT).as_posix().startswith(prefix) for prefix in EXTRAS)
        and path.name not in ("__main__.py", "inside.py")
    ]
    command = [sys.executable, "-c", HIDE, ",".join(sorted(hidden)), ",".join(names)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]

"""What would run somebody else's code is not in the source: read from the syntax tree of every file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("rlvr", "evals", "harness", "baselines", "reproductions", "benchmarks")
UNPICKLING = {"pickle.load", "pickle.loads", "joblib.load", "dill.load", "dill.loads", "shelve.open"}


def name_of(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id] if isinstance(node, ast.Name) else parts))


def faults(source: str, name: str) -> Iterator[str]:
    """What in a file would unpickle, build any Python object, or run code that a model brings."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called, given = name_of(node.func), {k.arg: k.value for k in node.keywords}
        where = f"{name}:{node.lineno}: {called}"
        if called.endswith("torch.load"):
            safe = given.get("weights_only")
            if not (isinstance(safe, ast.Constant) and safe.value is True):
                yield f"{where} without weights_only=True"
        if called in ("yaml.load", "yaml.unsafe_load", "yaml.full_load", "yaml.load_all"):
            loader = given.get("Loader")
            if not (isinstance(loader, ast.Name) and re.search(rf"class {loader.id}\(.*SafeLoader", source)):
                yield f"{where} with a loader that is not safe"
        if called in UNPICKLING:
            yield f"{where} unpickles"
        trust = given.get("trust_remote_code")
        if isinstance(trust, ast.Constant) and trust.value is not False:
            yield f"{where} trusts a model's code"


def test_no_file_runs_code_that_it_reads() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 200
    all_faults = [f for path in files for f in faults(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))]
    assert all_faults == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "yaml.load(text, Loader=yaml.Loader)",
        "yaml.unsafe_load(text)",
        "pickle.loads(data)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
    ],
)
def test_each_kind_of_fault_in_a_line_is_reported(line: str) -> None:
    assert len(list(faults(line, "x.py"))) == 1

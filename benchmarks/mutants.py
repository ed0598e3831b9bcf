"""Changes of the code that a test should notice: a seeded sample, each tried with the nearest tests.

    nox -s mutants                                      # twelve of the four packages
    nox -s mutants -- evals/stats --count 40 --seed 3   # others

A mutant is one change of a file's syntax tree: a comparison, an operator, `and` for `or`, min for max, a number plus
one, True for False, a `not` left out. It is tried in a copy of the checkout.

Tests are those of the mirrored path (evals/stats/score.py: tests/evals/stats/test_score.py), else those in the mirrored
folder that name the module, else the folder. The folder's `TABLES` come first. Slow tests are left out, so a survivor
may die in one of them. A survivor may also be equivalent, as `<` for `<=` where equal values give the same.
Exit code 1: one survived that `EQUIVALENT` does not name.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

PACKAGES = ("harness/step", "evals/stats", "evals/grading", "evals/audit")
EQUIVALENT: dict[str, str] = {  # a mutant, as it is printed -> why no test can notice it
    "evals/grading/evaluation.py: units = [True] if names <= {'i'} else [True, False] if 'i' in names else [False] -> "
    "units = [True] if names < {'i'} else [True, False] if 'i' in names else [False]": "an identity in a variable i "
    "holds for the imaginary unit too, which is tried first",
}
TABLES = (Path("tests/evals/grading/test_rules.py"),)  # pairs in a text file, which any module of the folder may decide
LIMIT = 300  # seconds of a mutant's tests
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One changed file.

    Attributes:
        path: of the file, from the root. line: of the change. change: the line of code before and after, as
        `ast.unparse` writes it. source: the whole changed file.
    """

    path: str
    line: int
    change: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}: {self.change}"


def places(source: str) -> list[tuple[int, int]]:
    """Where a file can be changed: (number of the node, number of the change there). Annotations, decorators,
    assertions and `strict=` are left as they are."""
    tree = ast.parse(source)
    kept = {id(inner) for node in ast.walk(tree) for part in _left_alone(node) for inner in ast.walk(part)}
    nodes = [(number, node) for number, node in enumerate(ast.walk(tree)) if id(node) not in kept]
    return [(number, way) for number, node in nodes for way in range(len(_ways(node)))]


def mutant_at(path: str, source: str, place: tuple[int, int]) -> Mutant:
    """The mutant of a file at one of its `places`."""
    tree, (number, way) = ast.parse(source), place
    node = list(ast.walk(tree))[number]
    before = ast.unparse(tree)
    _ways(node)[way]()
    after = ast.unparse(tree)
    old, new = next(pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1])
    return Mutant(path, getattr(node, "lineno", 0), f"{old.strip()} -> {new.strip()}", after)


def _left_alone(node: ast.AST) -> list[ast.AST]:
    parts: list[ast.AST | None] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    parts += getattr(node, "decorator_list", [])
    if isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        parts.append(node)  # a check of ours, which a correct program never trips
    return [part for part in parts if part is not None]


def _ways(node: ast.AST) -> list[Callable[[], object]]:
    """The changes that can be made in place to a node."""
    if isinstance(node, ast.Compare):
        return [partial(_swap, node.ops, at) for at in range(len(node.ops))]
    if isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and type(node.op) in SWAPPED:
        return [lambda: setattr(node, "op", SWAPPED[type(node.op)]())]
    if isinstance(node, ast.Constant) and isinstance(node.value, int):  # a bool is one
        new = not node.value if isinstance(node.value, bool) else node.value + 1
        return [lambda: setattr(node, "value", new)]
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        return [lambda: setattr(node, "id", NAMES[node.id])]
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(negated := node.test, ast.UnaryOp):
        return [lambda: setattr(node, "test", negated.operand)]
    return []


def _swap(operators: list[ast.cmpop], at: int) -> None:
    operators[at] = SWAPPED[type(operators[at])]()  # type: ignore[call-overload]


def nearest(root: Path, path: str) -> list[str]:
    """The tests of a file: of its mirrored path, else those of the mirrored folder that name it, else the folder."""
    module, folder = Path(path).stem, Path("tests") / Path(path).parent
    mirrored = folder / f"test_{module}.py"
    pairs = [str(test) for test in TABLES if test.parent == folder]
    naming = [
        str(test.relative_to(root))
        for test in sorted((root / folder).glob("test_*.py"))
        if module in test.read_text(encoding="utf-8")
    ]
    return [*pairs, *([str(mirrored)] if (root / mirrored).is_file() else naming or [str(folder)])]


def fate(root: Path, mutant: Mutant) -> str:
    """The verdict of the nearest tests on the mutant in the checkout at `root`, which is restored: "killed",
    "survived", or "timed out", which may be the change or a slow machine."""
    file = root / mutant.path
    whole = file.read_text(encoding="utf-8")
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not exhaustive"]
    file.write_text(mutant.source, encoding="utf-8")
    try:
        failed = subprocess.run(
            [*pytest, *nearest(root, mutant.path)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=LIMIT,
            check=False,
        ).returncode
        return "killed" if failed else "survived"
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        file.write_text(whole, encoding="utf-8")


def sample(root: Path, packages: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants: a file at random, by its number of lines, then one of its mutants."""
    files = sorted(file for package in packages for file in (root / package).rglob("*.py"))
    texts = {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files}
    draw = random.Random(seed)
    mutants: dict[str, Mutant] = {}
    while len(mutants) < count:
        (path,) = draw.choices(list(texts), [text.count("\n") for text in texts.values()])
        if candidates := places(texts[path]):
            mutant = mutant_at(path, texts[path], draw.choice(candidates))
            mutants[str(mutant)] = mutant
    return list(mutants.values())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    root = Path(__file__).resolve().parents[1]
    tally = {"killed": 0, "timed out": 0, "equivalent": 0, "survived": 0}
    with tempfile.TemporaryDirectory() as place:
        checkout = Path(place) / "checkout"
        shutil.copytree(root, checkout, ignore=shutil.ignore_patterns(".git", ".nox", "__pycache__", ".*_cache"))
        for mutant in sample(root, options.packages, options.count, options.seed):
            name = fate(checkout, mutant)
            name = "equivalent" if name == "survived" and str(mutant) in EQUIVALENT else name
            tally[name] += 1
            print(f"{name:10} line {mutant.line} of {mutant}", flush=True)
    print(f"{sum(tally.values())} tried: " + ", ".join(f"{count} {name}" for name, count in tally.items()))
    return int(tally["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())

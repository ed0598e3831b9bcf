"""Build labelled answer pairs from other projects' tests: `python -m benchmarks.heldout REPOSITORIES DATA OUT`.

REPOSITORIES holds clones as `<owner>+<name>/repo` (a git directory is enough), DATA is ../shared/data, whose triples
are left out. Writes OUT/development.jsonl and OUT/heldout.jsonl in the form of DATA/grader/*.jsonl. The half of a row
depends on its gold alone: SHA-256 of the gold without spaces, first byte even: development, odd: held out. Rules were
written with the development half in view. OUT/golds/*.jsonl gets the golds of public problem sets. Test files are read
as syntax trees and never run. The rows stay out of this repository, as not every licence allows copies;
`benchmarks.agreement --heldout OUT` reports how the grader does.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

Row = dict[str, Any]
GOLD = ("gold", "answer", "solution", "ground_truth", "reference", "expected_answer", "label", "gt", "truth")
PREDICTION = ("pred", "prediction", "completions", "completion", "response", "output", "text", "given_answer")
EXPECTED = ("expected", "result", "want", "equal")
MOST_LOOSE = 400  # rows of one file of loosely labelled model outputs
SEED = 20_261_122


Calls = Mapping[str, tuple[int, int]]


class Suite(NamedTuple):
    """One test file. `calls`: a checking function's name -> where its prediction and its gold are."""

    repository: str
    path: str
    licence: str
    calls: Calls = MappingProxyType({})


SYMMETRIC = {"is_equiv": (0, 1), "_test_is_equiv": (0, 1), "_test_is_not_equiv": (0, 1), "math_equal": (0, 1)}
SLIME = {name: (0, 1) for name in ("grade_answer_verl", "grade_answer_sympy", "grade_answer_mathd")}
MATH_VERIFY = tuple(
    Suite("huggingface/Math-Verify", f"tests/{name}.py", "Apache-2.0")
    for name in ("test_all", "test_boxed", "test_numina_cases", "test_open_thoughts", "test_strict", "test_yujianll")
)
SUITES = (
    *MATH_VERIFY,
    Suite("huggingface/lighteval", "tests/unit/metrics/test_extractive_match.py", "MIT"),
    Suite("MARIO-Math-Reasoning/MARIO_EVAL", "math_evaluation/tests/test_is_equiv.py", "none stated", SYMMETRIC),
    Suite("hendrycks/math", "modeling/math_equivalence_test.py", "MIT", SYMMETRIC),
    Suite("NVIDIA-NeMo/Skills", "tests/test_math_equal.py", "Apache-2.0"),
    Suite("inclusionAI/AReaL", "tests/test_math_verify_reward.py", "Apache-2.0", {"verify": (0, 1)}),
    Suite("modelscope/ms-swift", "tests/utils/test_rewards.py", "Apache-2.0", {"math_accuracy": (0, 1)}),
    Suite("huggingface/open-r1", "tests/test_rewards.py", "Apache-2.0", {"accuracy_reward": (0, 1)}),
    Suite("huggingface/trl", "tests/test_rewards.py", "Apache-2.0", {"accuracy_reward": (0, 1)}),
    Suite("PrimeIntellect-ai/verifiers", "tests/test_math_rubric.py", "MIT"),
    Suite("THUDM/slime", "tests/test_rm_math.py", "Apache-2.0", SLIME),
    Suite("THUDM/slime", "tests/test_rm_deepscaler.py", "Apache-2.0", {"get_deepscaler_rule_based_reward": (0, 1)}),
    Suite("rllm-org/rllm", "tests/rewards/test_math_reward.py", "Apache-2.0", {"grade_answer_verl": (0, 1)}),
)  # fmt: skip


GOLDS = {
    "college_math": ("QwenLM/Qwen2.5-Math", "evaluation/data/college_math/test.jsonl", "answer"),
    "gaokao2023en": ("QwenLM/Qwen2.5-Math", "evaluation/data/gaokao2023en/test.jsonl", "answer"),
    "carp_en": ("QwenLM/Qwen2.5-Math", "evaluation/data/carp_en/test.jsonl", "answer"),
    "gaokao_math_cloze": ("QwenLM/Qwen2.5-Math", "evaluation/data/gaokao_math_cloze/test.jsonl", "answer"),
    "asdiv": ("QwenLM/Qwen2.5-Math", "evaluation/data/asdiv/test.jsonl", "answer"),
    "theorem_qa": ("OpenBMB/Eurus", "eval/Math/theorem_qa/theorem_qa.json", "Answer"),
    "hardverify": ("uw-nsl/TinyV", "benchmarks/HardVerify-Math.json", "ground_truth"),
}


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    repositories, data, out = map(Path, sys.argv[1:])
    rows = list(suites(repositories)) + list(outputs(repositories))
    seen = {key(row) for path in (data / "grader").glob("*.jsonl") for row in read(path)}
    labels: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for row in rows:
        labels[key(row)].add(row["expected"])
    kept = {key(row): row for row in reversed(rows) if key(row) not in seen and len(labels[key(row)]) == 1}
    for name, answers in golds(repositories).items():
        write(out / "golds" / f"{name}.jsonl", [{"answer": answer} for answer in answers])
    for half in ("development", "heldout"):
        own = [row for row in reversed(kept.values()) if half_of(row) == half]
        write(out / f"{half}.jsonl", own)
        counts = Counter((row["source"].partition(":")[0].partition("@")[0], row["tier"]) for row in own)
        print(half, len(own), *(f"\n  {name} {tier}: {count}" for (name, tier), count in sorted(counts.items())))
    return 0


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def golds(repositories: Path) -> dict[str, list[str]]:
    """The distinct golds of each set of GOLDS."""
    cases = {}
    for name, (repository, path, field) in GOLDS.items():
        given = show(repositories, repository, path)
        rows = json.loads(given or "[]") if path.endswith(".json") else map(json.loads, given.splitlines())
        cases[name] = list(dict.fromkeys(str(row[field]) for row in rows))
    return cases


def key(row: Row) -> tuple[str, str]:
    return "".join(str(row["gold"]).split()), "".join(str(row["prediction"]).split())


def half_of(row: Row) -> str:
    """Which half a row is in: by its gold alone, so that no gold is in both."""
    return "heldout" if hashlib.sha256(key(row)[0].encode()).digest()[0] % 2 else "development"


def show(repositories: Path, repository: str, path: str) -> str:
    """A file of a clone's newest commit; nothing where the clone lacks it."""
    folder = repositories / repository.replace("/", "+") / "repo"
    done = subprocess.run(["git", "-C", str(folder), "show", f"HEAD:{path}"], capture_output=True)
    if done.returncode:
        print(f"left out: {repository}:{path} ({done.stderr.decode().strip()})", file=sys.stderr)
    return done.stdout.decode("utf-8", "replace")


def suites(repositories: Path) -> Iterator[Row]:
    """Pairs that a test's author labelled: tier A."""
    for suite in SUITES:
        tree = ast.parse(show(repositories, suite.repository, suite.path))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and is_used(function):
                for gold, prediction, expected in [*parametrized(function), *asserted(function, suite.calls)]:
                    if not str(gold).strip():
                        continue
                    yield {
                        "gold": str(gold),
                        "prediction": str(prediction),
                        "expected": bool(expected),
                        "kind": "string",
                        "tier": "A",
                        "source": f"{suite.repository}:{suite.path}:{function.name}",
                        "licence": suite.licence,
                    }


def is_used(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Not where the label depends on a setting of the tested grader, or the gold is one of several choices."""
    settings = {argument.arg for argument in function.args.args} & {"precision", "strict", "allow_set_relation_comp"}
    return function.name.startswith("test") and not settings and not function.name.endswith("extraction_abc")


Triple = tuple[Any, Any, Any]


def parametrized(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Triple]:
    """The rows of `@pytest.mark.parametrize`: tuples, dictionaries, or pairs whose label is in the test's name."""
    for mark in function.decorator_list:
        if not (isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) > 1):
            continue
        named, listed = value(mark.args[0]), mark.args[1]
        names = [name.strip() for name in named.split(",")] if isinstance(named, str) else list(named or ())
        by_name = not any(word in function.name for word in ("incorrect", "invalid"))
        for item in listed.elts if isinstance(listed, ast.List | ast.Tuple) else []:
            row = value(item)
            if isinstance(row, dict):
                yield from fields(row, by_name)
            elif isinstance(row, tuple) and names == ["output_pair"]:
                yield row[1], row[0], by_name
            elif isinstance(row, tuple) and len(row) == len(names):
                yield from fields(dict(zip(names, row, strict=True)), None)


def fields(row: dict[str, Any], expected: bool | None) -> Iterator[Triple]:
    values = [next((row[name] for name in names if name in row), None) for names in (GOLD, PREDICTION, EXPECTED)]
    label = values[2] if expected is None else expected
    if label in (0, 1) and all(isinstance(part, str | int | float) for part in values[:2]):
        yield values[0], values[1], label


def asserted(function: ast.FunctionDef | ast.AsyncFunctionDef, calls: Calls) -> Iterator[Triple]:
    """`assert f(prediction, gold)`, also not, `== 1.0`, `is True`, by unittest, and of a variable with the result."""
    known: dict[str, Any] = {}
    results: dict[str, list[tuple[Any, Any]]] = {}
    for line in statements(function):
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            known[name], results[name] = value(line.value, known), pairs(line.value, known, calls)
            continue
        for test, expected in checks(line):
            index = value(test.slice) if isinstance(test, ast.Subscript) else None
            held = test.value if isinstance(test, ast.Subscript) else test
            nested = results.get(held.id, []) if isinstance(held, ast.Name) else pairs(held, known, calls)
            label = value(expected, known) if isinstance(expected, ast.expr) else expected
            if isinstance(index, int):
                nested, label = nested[index : index + 1] if index >= 0 else [], label
            labels = label if isinstance(label, list | tuple) else [label] * len(nested)
            for (gold, prediction), each in zip(nested, labels, strict=False):
                if isinstance(each, bool | int | float) and each in (0, 1):
                    yield gold, prediction, each


def statements(function: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(function):
        if isinstance(child, ast.stmt):
            yield child
            yield from statements(child)


def checks(line: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | bool]]:
    """(what is checked, what it is expected to be)."""
    if isinstance(line, ast.Assert):
        test, wanted = line.test, True
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, wanted = test.operand, False
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Is):
            yield test.left, test.comparators[0]
        elif not isinstance(test, ast.Compare):
            yield test, wanted
    elif isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
        called, arguments = ast.unparse(line.value.func), line.value.args
        if called.endswith(("assertTrue", "assertFalse")):
            yield arguments[0], called.endswith("True")
        elif called.endswith("assertEqual"):
            yield arguments[0], arguments[1]


def pairs(call: ast.expr, known: dict[str, Any], calls: Calls) -> list[tuple[Any, Any]]:
    """(gold, prediction) of a call of a checking function; several for a batch."""
    if not isinstance(call, ast.Call):
        return []
    positions = calls.get(ast.unparse(call.func).rpartition(".")[2])
    named = {argument.arg: value(argument.value, known) for argument in call.keywords if argument.arg}
    gold = next((named[name] for name in GOLD if name in named), None)
    prediction = next((named[name] for name in PREDICTION if name in named), None)
    if positions and len(call.args) > max(positions):
        prediction, gold = (value(call.args[position], known) for position in positions)
    if gold is None or prediction is None:
        return []
    both = [
        [text(one) for one in side] if isinstance(side, list | tuple) else [text(side)] for side in (gold, prediction)
    ]
    return list(zip(*both, strict=True)) if len(both[0]) == len(both[1]) and None not in both[0] + both[1] else []


def text(given: Any) -> str | None:
    """A string, a number, or the content of a chat message."""
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
        given = given[0].get("content")
    return str(given) if isinstance(given, str | int | float) and not isinstance(given, bool) else None


def value(node: ast.expr, known: dict[str, Any] | None = None) -> Any:
    """The constant that an expression is, or None."""
    if isinstance(node, ast.Name) and known:
        return known.get(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


# ------------------------------------------------------------------------------------------------------- model outputs


def outputs(repositories: Path) -> Iterator[Row]:
    """Model outputs with an exact rule's label (B), or a loose one (C)."""
    path = "benchmarks/HardVerify-Math.json"
    for row in json.loads(show(repositories, "uw-nsl/TinyV", path) or "[]"):
        for field, expected in (("fn_output", True), ("tn_output", False)):
            yield loose("C", "uw-nsl/TinyV", path, "MIT", row["ground_truth"], row[field], expected)
    path = "grade_school_math/data/example_model_solutions.jsonl"
    for line in lines(repositories, "openai/grade-school-math", path):
        row = json.loads(line)
        for model in (each for each in row.values() if isinstance(each, dict)):
            gold, answer = (each.rpartition("A:")[2].strip() for each in (row["ground_truth"], model["solution"]))
            if answer:
                yield loose("B", "openai/grade-school-math", path, "MIT", gold, answer, model["is_correct"])
    for path in coder_files(repositories):
        for line in lines(repositories, "mathllm/MathCoder", path):
            row = json.loads(line)
            gold, answer = row["ground_truth"].get("answer"), row.get("model_answer")
            if gold is not None and answer:
                expected = path.endswith("-correct.jsonl")
                yield loose("C", "mathllm/MathCoder", path, "Apache-2.0", gold, answer, expected)


def lines(repositories: Path, repository: str, path: str) -> list[str]:
    """At most MOST_LOOSE lines of a file, at random."""
    given = show(repositories, repository, path).splitlines()
    return random.Random(SEED).sample(given, min(MOST_LOOSE, len(given)))


def coder_files(repositories: Path) -> list[str]:
    folder = repositories / "mathllm+MathCoder" / "repo"
    command = ["git", "-C", str(folder), "ls-tree", "-r", "--name-only", "HEAD", "outs"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if path.endswith(("-correct.jsonl", "-wrong.jsonl")) and "debug" not in path]


def loose(tier: str, repository: str, path: str, licence: str, gold: Any, answer: str, expected: bool) -> Row:
    return {
        "gold": str(gold),
        "prediction": str(answer),
        "expected": expected,
        "kind": "answer",
        "tier": tier,
        "source": f"{repository}:{path}",
        "licence": licence,
    }


if __name__ == "__main__":
    sys.exit(main())

"""Build labelled answer pairs from other projects' tests: `python -m benchmarks.heldout REPOSITORIES DATA OUT`.

REPOSITORIES holds clones as `<owner>+<name>/repo` (a git directory is enough), DATA is ../shared/data, whose triples
are left out. Writes files like DATA/grader/*.jsonl into OUT: development and heldout, the halves of
`heldout_sources.FIRST`, where a row's half depends on its gold alone (SHA-256 of the gold without spaces, first byte
even: development, odd: held out); second, the pairs of SECOND that are in neither; third, those of THIRD that are in
none of these; fourth_development and fourth, the halves of `benchmarks.heldout_fourth`.
OUT/golds/*.jsonl gets the golds of public problem sets. Test files are read as syntax trees and never run. The rows
stay out of this repository, as not every licence allows copies; `benchmarks.agreement --heldout OUT` reports on them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from benchmarks.heldout_sources import FIRST, GOLDS, SECOND, THIRD, Calls, Suite

Row = dict[str, Any]
GOLD = ("gold", "answer", "solution", "ground_truth", "reference", "expected_answer", "label", "gt", "truth")
PREDICTION = ("pred", "prediction", "completions", "completion", "response", "output", "text", "given_answer")
EXPECTED = ("expected", "result", "want", "equal")
MOST_LOOSE = 400  # rows of one file of loosely labelled model outputs
SEED = 20_261_122


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    repositories, data, out = map(Path, sys.argv[1:])
    first = agreed([*suites(repositories, FIRST), *outputs(repositories)])
    known = {key(row) for path in (data / "grader").glob("*.jsonl") for row in read(path)}
    new = [row for row in first if key(row) not in known]
    known |= {key(row) for row in first}
    later = {}
    for name, files in (("second", SECOND), ("third", THIRD)):
        rows = agreed([*suites(repositories, files)])
        later[name] = [row for row in rows if key(row) not in known]
        known |= {key(row) for row in rows}
    from benchmarks.heldout_fourth import fourth

    rows = [row for row in agreed([*fourth(repositories)]) if key(row) not in known]
    later["fourth_development"] = [row for row in rows if half_of(row) == "development"]
    later["fourth"] = [row for row in rows if half_of(row) == "heldout"]
    for name, answers in golds(repositories).items():
        write(out / "golds" / f"{name}.jsonl", [{"answer": answer} for answer in answers])
    parts = {half: [row for row in new if half_of(row) == half] for half in ("development", "heldout")}
    for name, own in (parts | later).items():
        write(out / f"{name}.jsonl", own)
        counts = Counter((row["source"].partition(":")[0].partition("@")[0], row["tier"]) for row in own)
        digest = hashlib.sha256((out / f"{name}.jsonl").read_bytes()).hexdigest()[:12]
        print(
            name,
            len(own),
            digest,
            *(f"\n  {source} {tier}: {count}" for (source, tier), count in sorted(counts.items())),
        )
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


def agreed(rows: Sequence[Row]) -> list[Row]:
    """Each pair once, in order, without those that have two labels."""
    labels: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for row in rows:
        labels[key(row)].add(row["expected"])
    return [row for row in {key(row): row for row in reversed(rows)}.values() if len(labels[key(row)]) == 1][::-1]


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


def suites(repositories: Path, files: Sequence[Suite]) -> Iterator[Row]:
    """Pairs that a test's author labelled: tier A."""
    for suite in files:
        given = show(repositories, suite.repository, suite.path)
        read_cases = in_json(given) if suite.path.endswith(".json") else in_tests(suite, given)
        for place, gold, prediction, expected in read_cases:
            if str(gold).strip():
                yield {
                    "gold": str(gold),
                    "prediction": str(prediction),
                    "expected": bool(expected),
                    "kind": "string",
                    "tier": "A",
                    "source": f"{suite.repository}:{suite.path}:{place}",
                    "licence": suite.licence,
                }


def in_json(given: str) -> Iterator[tuple[str, Any, Any, Any]]:
    for case in json.loads(given or "[]"):
        yield case["source"], case["target"], case["output"], case["expected"] == "C"


def in_tests(suite: Suite, given: str) -> Iterator[tuple[str, Any, Any, Any]]:
    tree = ast.parse(given)
    lists = {line.targets[0].id: line.value for line in tree.body if is_constant(line)}
    for name, expected in suite.lists.items():
        for prediction, gold in value(lists[name]):
            yield name, gold, prediction, expected
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and is_used(function):
            if suite in FIRST:
                triples = [*parametrized(function), *asserted(function, suite.calls, {})]
            else:
                triples = [triple for row in bound(function, lists) for triple in asserted(function, suite.calls, row)]
            for gold, prediction, expected in triples:
                yield function.name, gold, prediction, expected


def is_constant(line: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)


def is_used(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Not where the label depends on a setting of the tested grader, or the gold is one of several choices."""
    settings = {argument.arg for argument in function.args.args} & SETTINGS
    return function.name.startswith("test") and not settings and not function.name.endswith(LEFT_OUT)


SETTINGS = {"precision", "strict", "allow_set_relation_comp"}
LEFT_OUT = ("extraction_abc", "_tolerance")
TYPES = {"TF", "MCS", "MCM", "UOL"}  # of answers, which decide how they are compared: true or false, choices, unordered
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


def bound(function: ast.FunctionDef | ast.AsyncFunctionDef, lists: dict[str, ast.expr]) -> list[dict[str, Any]]:
    """The values of the test's arguments in each of its runs: pytest's parametrize or absl's named_parameters."""
    for mark in function.decorator_list:
        if not isinstance(mark, ast.Call):
            continue
        called = ast.unparse(mark.func)
        if called.endswith("parametrize") and len(mark.args) > 1:
            named, listed = value(mark.args[0]), mark.args[1]
            names = [name.strip() for name in named.split(",")] if isinstance(named, str) else list(named or ())
            rows = value(lists.get(listed.id, listed) if isinstance(listed, ast.Name) else listed)
            return [dict(zip(names, row, strict=False)) for row in rows or [] if isinstance(row, tuple | list)]
        if called.endswith("named_parameters"):
            names = [argument.arg for argument in function.args.args[1:]]
            return [
                {pair.arg: value(pair.value) for pair in row.keywords if pair.arg}
                if isinstance(row, ast.Call)
                else dict(zip(names, value(row)[1:], strict=False))
                for row in mark.args
            ]
    return [{}]


def asserted(function: ast.FunctionDef | ast.AsyncFunctionDef, calls: Calls, known: dict[str, Any]) -> Iterator[Triple]:
    """`assert f(prediction, gold)`, also not, `== 1.0`, `is True`, by unittest, and of a variable with the result."""
    known = dict(known)
    results: dict[str, list[tuple[Any, Any]]] = {}
    for line in statements(function):
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            known[name], results[name] = value(line.value, known), pairs(line.value, known, calls)
            continue
        for test, expected in checks(line):
            index = value(test.slice) if isinstance(test, ast.Subscript) else None
            held = test.value if isinstance(test, ast.Subscript | ast.Attribute) else test
            nested = results.get(held.id, []) if isinstance(held, ast.Name) else pairs(held, known, calls)
            label = value(expected, known) if isinstance(expected, ast.expr) else expected
            if isinstance(index, int):
                nested, label = nested[index : index + 1] if index >= 0 else [], label
            labels = label if isinstance(label, list | tuple) else [label] * len(nested)
            labels = [
                {"true": True, "false": False}.get(each, each) if isinstance(each, str) else each for each in labels
            ]
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
        compared = arguments[0] if arguments else None
        if called.endswith("assertTrue") and isinstance(compared, ast.Compare) and isinstance(compared.ops[0], ast.Eq):
            yield compared.left, compared.comparators[0]
        elif called.endswith(("assertTrue", "assertFalse")):
            yield arguments[0], called.endswith("True")
        elif called.endswith("assertEqual"):
            yield arguments[0], arguments[1]


def pairs(call: ast.expr, known: dict[str, Any], calls: Calls) -> list[tuple[Any, Any]]:
    """(gold, prediction) of a call of a checking function; several for a batch."""
    if isinstance(call, ast.Await):
        call = call.value
    if not isinstance(call, ast.Call) or any(argument.arg in SETTINGS for argument in call.keywords):
        return []
    if TYPES & {given for argument in call.args if isinstance(given := value(argument, known), str)}:
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
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("approx"):
        return value(node.args[0], known)
    if isinstance(node, ast.List | ast.Tuple) and known is not None:
        return [value(each, known) for each in node.elts]
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

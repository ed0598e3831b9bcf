r"""The fifth and the sixth set of labelled pairs, each of projects that no earlier set names.

`python -m benchmarks.heldout_fifth FOLDER OUT` rebuilds them. Each was collected on 2026-11-23 by one who neither
read our grader nor ran it on a row, and frozen before anything was scored (sha256 of the frozen files:
fbdca963c2fd9d987fcc7fb2dd97a48c1784ae29103ce3c9482cc9573ba332f5 and
566c523cabb32bc7a3aef4f14ffc7914cd7ca786d8fd7fba2f1baee4be6d15a8). FOLDER holds clones as `<owner>+<name>/repo` or
single files as `<owner>+<name>/<path>`. The pairs stay out of this repository, as not every licence allows copies:
`heldout_fifth.tsv` and `heldout_sixth.tsv` keep of each row the hash of its pair, its label and what was read of it by
hand, and a row comes back where its two texts stand in its source. Of a project at most 45 rows were taken for the
fifth set and 30 for the sixth, those with the lowest hashes, and of the sixth the 400 lowest over all; pairs of earlier
sets, and pairs with two labels, were left out before.

The hash of a project decided its half of the fifth set before anything was scored: rules were written with
`fifth_development` in view, and `fifth` was scored once after them. The sixth has no halves. `value` says whether the
label is about equality in value; otherwise `why` says what it hangs on. `policy`: how a response is read, by its form
alone, as the projects differ in it; the sixth set's rule reads `<answer>` tags too. Tests are read as syntax trees and
never run. Some sources could be read only through a public code index: those have its number.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import heldout

FIFTH, SIXTH = (Path(__file__).with_name(f"heldout_{name}.tsv") for name in ("fifth", "sixth"))
WHY = {
    "": None,
    "x": "extraction rule of the project",
    "f": "format strictness",
    "t": "tolerance setting",
    "l": "label wrong in value",
    "n": "not mathematics",
    "c": "typed code",
    "p": "needs the problem text",
}
KIND = {"s": "string", "r": "response", "a": "answer"}
# how tests wrap an answer that stands in a list
WRAPS = (
    "%s",
    r"\boxed{%s}",
    "Final answer: %s",
    r"so \boxed{%s}",
    "After solving, we get %s",
    r"\boxed{\begin{pmatrix} %s",
)
ANSWER_LINE = re.compile(r"(?im)^[\s>*#]*(?:final )?answer\s*(?:\*\*)?\s*:")
QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")
Row = dict[str, Any]
Table = dict[tuple[str, str, str], dict[str, tuple[bool, str, str | None]]]


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, out = map(Path, sys.argv[1:])
    fifth = rebuilt(FIFTH, folder)
    for name, odd in (("fifth_development", 0), ("fifth", 1)):
        heldout.write(out / f"{name}.jsonl", [row for row in fifth if half(row["source"]) == odd])
    heldout.write(out / "sixth.jsonl", rebuilt(SIXTH, folder, tags=True))
    return 0


def rebuilt(path: Path, folder: Path, *, tags: bool = False) -> list[Row]:
    """The rows of a table whose sources lie in FOLDER. `tags`: `<answer>` has a policy of its own."""
    known = table(path)
    rows = sorted(given_rows(known, folder, tags=tags), key=lambda row: digest(row["gold"], row["prediction"]))
    print(path.stem, len(rows), "of", sum(map(len, known.values())), "rows found")
    return rows


def digest(gold: str, prediction: str) -> str:
    return hashlib.sha256((gold + prediction).encode()).hexdigest()


def half(source: str) -> int:
    """0: development. 1: held out."""
    return int(hashlib.sha256(re.split("[:@]", source)[0].encode()).hexdigest(), 16) % 2


def policy(kind: str, gold: str, prediction: str, *, tags: bool) -> str | None:
    """The extraction policy of a row; None for a bare answer."""
    if kind != "response":
        return None
    if re.fullmatch(r"\(?[A-Z]\)?", gold.strip()):
        return "letter"
    if re.search(r"\\(?:boxed|fbox)", prediction):
        return "boxed_last"
    if tags and "<answer>" in prediction:
        return "answer_tag"
    return "answer_line" if ANSWER_LINE.search(prediction) else "qwen"


def table(path: Path) -> Table:
    """(repository, path, licence) -> the start of a pair's hash -> its label, kind and why."""
    known: Table = defaultdict(dict)
    source = ("", "", "")
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")
        if cells[0] == "source":
            source = (cells[1], cells[2], cells[3])
        else:
            pair, read = cells
            known[source][pair] = (read[0] == "1", KIND[read[1]], WHY[read[2:]])
    return known


def given_rows(known: Table, folder: Path, *, tags: bool) -> Iterator[Row]:
    for (repository, path, licence), rows in known.items():
        found: set[str] = set()
        for gold, prediction in candidates(path, given(folder, repository, path)):
            pair = digest(gold, prediction)[:16]
            if pair in rows and pair not in found:
                found.add(pair)
                expected, kind, why = rows[pair]
                label = {"gold": gold, "prediction": prediction, "expected": expected, "kind": kind, "tier": "A"}
                read = {"source": f"{repository}:{path}", "licence": licence, "value": why is None, "why": why}
                yield label | read | {"policy": policy(kind, gold, prediction, tags=tags)}
        if len(found) < len(rows):
            print(f"{repository}:{path}: {len(found)} of {len(rows)} rows found", file=sys.stderr)


def given(folder: Path, repository: str, path: str) -> str:
    """A file that lies there by itself, or that of the clone's newest commit."""
    alone = folder / repository.replace("/", "+") / path
    return alone.read_text(encoding="utf-8") if alone.is_file() else heldout.show(folder, repository, path)


def candidates(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Pairs of texts of a file, among which its labelled pairs are."""
    if path.endswith(".json") and text.startswith("["):
        records = [[*texts(case)] for case in json.loads(text)]
    elif path.endswith((".json", ".jsonl")):
        records = [[*texts(json.loads(line))] for line in text.splitlines() if line]
    elif path.endswith(".py"):
        records = [[*constants(ast.parse(text))]]
    else:
        records = [[unquoted(match) for match in QUOTED.finditer(text)]]
    for record in records:
        golds = dict.fromkeys(variant for one in record for variant in (one, one.rpartition("####")[2].strip()))
        predictions = dict.fromkeys(wrap % one for one in record for wrap in WRAPS)
        predictions |= dict.fromkeys(one.rpartition("# Answer")[2].strip() for one in record)
        yield from ((gold, prediction) for gold in golds for prediction in predictions)


def texts(case: Any) -> Iterator[str]:
    if isinstance(case, dict | list):
        for each in case.values() if isinstance(case, dict) else case:
            yield from texts(each)
    elif case is not None:
        yield str(case)


def constants(tree: ast.Module) -> Iterator[str]:
    """The strings and numbers of a file, also where constants and named texts are added."""
    named: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = folded(node.value, {})
            if text is not None:
                named[node.targets[0].id] = text
    for node in ast.walk(tree):
        text = folded(node, named) if isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp) else None
        if text is not None:
            yield text


def folded(node: ast.expr, named: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return named.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = folded(node.left, named), folded(node.right, named)
        return None if left is None or right is None else left + right
    value = heldout.value(node)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def unquoted(match: re.Match[str]) -> str:
    inner = match[1] if match[1] is not None else match[2]
    return re.sub(r"\\(.)", r"\1", inner)


if __name__ == "__main__":
    sys.exit(main())

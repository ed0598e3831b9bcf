"""The code can be read: a name says which thing it is, and a comment or a docstring begins with its subject."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = "rlvr", "harness", "evals", "baselines", "reproductions", "studies", "benchmarks", "tests"
# pronouns, adverbs and participles: a reader cannot see which thing has such a name
VAGUE = re.findall(
    r"\w+",
    "asked found gone here it its meant mine neither of one others our ours own said some their theirs them there they "
    "told which who whose",
)
# fields whose name is the key in a JSON document of a command
STORED = {
    ("evals/answer_files/policies.py", "found"),
    ("evals/audit/result.py", "of"),
    ("evals/audit/result.py", "ours"),
}


def named(node: ast.AST) -> str:
    """The name that a node binds, or "" if it binds none."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else ""


def to_change(text: str, path: str = "") -> Iterator[str]:
    """One line per fault of a file's text."""
    for node in ast.walk(ast.parse(text)):
        name = named(node)
        if name.strip("_").lower() in VAGUE and (path, name) not in STORED:
            yield f"{path}:{getattr(node, 'lineno', 0)}: {name}: name the thing by a noun"
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for sentence in re.split(r"(?<=[.?!])\s+|\n\s*\n", ast.get_docstring(node) or ""):
                if re.match(r"(Of|What|Whose)\b", sentence) and not sentence.endswith("?"):
                    yield f"{path}: {' '.join(sentence.split())[:70]}: begin with the subject"
    goes_on = 0  # the row after a comment that has its line to itself
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, alone = token.start[0], not token.line[: token.start[1]].strip()
            if re.match(r"# *of\b", token.string, re.IGNORECASE) and not (alone and row == goes_on):
                yield f"{path}:{row}: {token.string}: begin with the noun"
            goes_on = row + 1 if alone else 0


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_are_nouns_and_sentences_begin_with_their_subject(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    lines = [
        line for path in paths for line in to_change(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    ]
    assert len(paths) > 5 and not lines, "\n".join(["change this:", *lines])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def price(of: int) -> int: ...", ":1: of: name"),
        ("for found in range(3): pass", ":1: found: name"),
        ("class A:\n    told: int", ":2: told: name"),
        ("self.own = 1", ":1: own: name"),
        ("import x as found_file", None),
        ("DAYS = 3  # of a week", "# of a week: begin"),
        ("DAYS = 3  # days of a week", None),
        ("# the days\n# of a week\nDAYS = 3", None),
        ('"""What a day costs."""', "What a day costs.: begin"),
        ('"""The cost. Of two, the larger."""', "Of two, the larger.: begin"),
        ('"""The cost of a day."""', None),
    ],
)
def test_each_fault_is_found(text: str, fault: str | None) -> None:
    lines = list(to_change(text))
    assert [fault in line for line in lines] == [True] if fault else not lines

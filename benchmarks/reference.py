"""The tables of the reference pages, written from the code that holds their facts.

    python -m benchmarks.reference --write

A page of docs/reference has prose of people, and between two markers a table of this module:
`<!-- TABLE name -->` and `<!-- /TABLE -->`. `tests/docs/test_reference.py` says whether the pages are up to date.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from evals.answer_files import formats
from evals.data import benchmarks, protocols
from evals.provenance import Sourced
from harness.command.resolve import BACKENDS
from harness.plan.machine import backend
from harness.spec.hardware import Hardware
from rlvr import cli
from rlvr.listing import list_
from rlvr.other_words import ELSEWHERE, MEASURE, TRAIN

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference"
REGION = re.compile(r"(<!-- TABLE ([\w ]+?)(?:: [^>]*)? -->\n).*?(<!-- /TABLE -->)", flags=re.S)
WIDTH = 100  # characters of a line of help
UNSET = "off, as in every protocol that does not state it"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`"


def listed(group: str) -> dict[str, str]:
    """A group that `rlvr list` prints: name -> what it is."""
    document: dict[str, dict[str, str]] = list_([group]).document
    return document[group]


def commands() -> str:
    """The help of every command, in the groups of `rlvr help`."""
    parts = []
    for heading, names in cli.GROUPS.items():
        parts.append(f"## {heading.capitalize()}")
        parts += [f"### rlvr {name}\n\n```text\n{cli.usage(name, WIDTH)}\n```" for name in names]
    return "\n\n".join(parts)


def sets() -> str:
    """Every benchmark with its size and date, the newest first, generated ones last."""

    def row(name: str) -> tuple[str, str, str, str]:
        task = benchmarks.task(name)
        about = task["metadata"]
        return code(name), f"{about['rows']:,}", about["published"], task["dataset_path"] or "a file (`data_dir=`)"

    rows = sorted(map(row, benchmarks.names()), key=lambda cells: cells[2].replace("never", "0"), reverse=True)
    made = [(*cells[:2], "never: generated", "made here") for cells in rows if cells[2] == "never"]
    return table(
        ("benchmark", "problems", "published", "rows"), [cells for cells in rows if cells[2] != "never"] + made
    )


def measured() -> str:
    """A table per protocol: every value that it sets, with its source."""
    parts = []
    for name, protocol in sorted(protocols.PROTOCOLS.items()):
        values = {field.name: getattr(protocol, field.name) for field in fields(protocol)}
        rows = [
            (code(key), code(json.dumps(value.value, ensure_ascii=False)), value.origin.value, value.note)
            for key, value in values.items()
            if isinstance(value, Sourced) and value.note != UNSET
        ]
        parts.append(f"## {name}\n\n" + table(("key", "value", "source", "where, or why"), rows))
    return "\n\n".join(parts)


def hardware() -> str:
    """The keys of hardware.KEY, first those of every backend."""

    def rows(group: Iterable[Field[Any]], name: str) -> list[tuple[str, str, str, str]]:
        return [(code(f.name), code(json.dumps(f.default)), name, f.metadata["help"]) for f in group]

    found = rows(fields(Hardware), "all")
    for name in BACKENDS:
        found += rows((f for f in fields(backend(name).hardware) if f.name not in Hardware.help()), name)
    return table(("key", "default", "backend", "meaning"), found)


def other_tools(of_commands: tuple[str, ...]) -> str:
    """Options of other tools, those with one counterpart in one row."""
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for theirs, ours in ELSEWHERE[of_commands].items():
        grouped[ours].append(code(theirs))
    return table(("theirs", "ours"), ((", ".join(theirs), ours) for ours, theirs in grouped.items()))


def methods() -> str:
    """Equation, stage, the first paper that declares it, and its first line."""
    parts = (re.match(r"(\w+), (\w+): (.*)", text) for text in listed("methods").values())
    rows = zip(listed("methods"), (part.groups() for part in parts if part), strict=True)
    return table(("equation", "stage", "paper", "what"), ((code(name), *cells) for name, cells in rows))


def names(group: str, head: str) -> Callable[[], str]:
    return lambda: table((head, "meaning"), ((code(name), text) for name, text in listed(group).items()))


TABLES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "benchmarks": sets,
    "protocols": measured,
    "policies": names("policies", "policy"),
    "formats": formats.table,
    "hardware": hardware,
    "methods": methods,
    "stages": names("stages", "stage"),
    "signals": names("signals", "signal"),
    "options of eval": lambda: other_tools(MEASURE),
    "options of run": lambda: other_tools(TRAIN),
}


def renewed(text: str) -> str:
    """A page with each of its tables as the code has it now."""
    return REGION.sub(lambda match: f"{match[1]}\n{TABLES[match[2]]()}\n\n{match[3]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="write the tables into docs/reference")
    given = parser.parse_args()
    for page in sorted(PAGES.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            print(f"{'wrote' if given.write else 'not up to date:'} {page}")
            if given.write:
                page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()

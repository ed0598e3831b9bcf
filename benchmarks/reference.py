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

from evals.answer_files import formats
from evals.data import benchmarks, protocols
from evals.grading.verdicts import MEANING
from evals.notebook import as_text
from evals.provenance import Sourced
from harness.command.options import RunOptions
from harness.command.resolve import BACKENDS
from harness.launch.prepare import planned
from harness.plan.machine import backend
from harness.plan.plan import Total
from harness.spec.hardware import Hardware
from harness.spec.host import Host, Rates, given
from rlvr import cli, listing
from rlvr.other_words import ELSEWHERE, MEASURE, TRAIN

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference"
REGION = re.compile(r"(<!-- TABLE ([\w ]+?)(?:: [^>]*)? -->\n).*?(<!-- /TABLE -->)", flags=re.S)
WIDTH = 100  # characters of a line of help
LARGER = ("Qwen/Qwen2.5-1.5B", "Qwen/Qwen3-1.7B")  # in 24 GB they need adapters
BASE_MODELS = ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-0.6B", *LARGER)
PLANNED_ON = Host(16, 128e9, frozenset(), 0, Rates(flops=1e11, bandwidth=1e9))  # so that no table is about this one
SMALL: dict[str, dict[str, str]] = {  # paper -> what its default plan needs at small scale
    "egsw": {}, "erpo": {}, "entropy_advantage": {"backend": "trl"}, "forking_tokens": {}, "trial_and_error": {},
    "baselines": {}, "anchors": {},
}  # fmt: skip
UNSET = "off, as in every protocol that does not state it"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`"


def listed(group: str) -> dict[str, str]:
    """A group that `rlvr list` prints: name -> what it is."""
    document: dict[str, dict[str, str]] = listing.list_([group]).document
    return document[group]


def commands() -> str:
    """The help of every command, in the groups of `rlvr help`."""
    parts = []
    for heading, names in cli.GROUPS.items():
        parts.append(f"## {heading.capitalize()}")
        parts += [f"### rlvr {name}\n\n```text\n{as_text(cli.usage(name, WIDTH))}\n```" for name in names]
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

    def rows(group: Iterable[Field[object]], name: str) -> list[tuple[str, str, str, str]]:
        return [(code(f.name), code(json.dumps(f.default)), name, f.metadata["help"]) for f in group]

    table_rows = rows(fields(Hardware), "all")
    for name in BACKENDS:
        table_rows += rows((f for f in fields(backend(name).hardware) if f.name not in Hardware.help()), name)
    return table(("key", "default", "backend", "meaning"), table_rows)


def other_tools(of_commands: tuple[str, ...]) -> str:
    """Options of other tools, those with one counterpart in one row."""
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for tool_option, option in ELSEWHERE[of_commands].items():
        grouped[option].append(code(tool_option))
    return table(("theirs", "ours"), ((", ".join(names), option) for option, names in grouped.items()))


def methods() -> str:
    """Equation, stage, the first paper that declares it, and its first line; without the objectives."""
    rows = ((code(name), *cells) for name, cells in listing.methods().items() if cells[0] != "objective")
    return table(("equation", "stage", "paper", "what"), rows)


def objectives() -> str:
    """Equation, and what is maximised."""
    rows = ((code(name), what) for name, (stage, _, what) in listing.methods().items() if stage == "objective")
    return table(("equation", "what is maximised"), rows)


def hours(card: str, paper: str, **values: object) -> Total:
    """The cost of one seed of a paper's arms on a card, at small scale."""
    with given(PLANNED_ON):
        options = RunOptions.from_keys({"seeds": 1, "scale": "small", "hardware": card, **values})
        return planned(paper, options, check=False).total


def hours_of_papers() -> str:
    """A row per paper: one seed of every arm of its tables, the base model included."""
    rows = []
    for paper, trainer in SMALL.items():
        totals = [hours(card, paper, **trainer) for card in ("rtx4090", "h100")]
        name = f"{paper} (TRL's arms)" if trainer else paper
        rows.append((name, str(len(totals[0].runs)), *(text for total in totals for text in _hours(total, True))))
    return table(("paper", "arms", "one RTX 4090: hours", "USD", "one H100: hours", "USD"), rows)


def hours_of_models() -> str:
    """A row per base model: one seed of egsw's `grpo`."""
    rows = []
    for model in BASE_MODELS:
        lora = {"lora_rank": 32} if model in LARGER else {}
        cells = [
            text
            for card in ("rtx4090", "a100_80g", "h100")
            for text in _hours(hours(card, "egsw", arm="grpo", base_model=model, **(lora if card == "rtx4090" else {})))
        ]
        rows.append((code(model), *cells))
    heads = ("one RTX 4090: hours", "USD", "one A100 of 80 GB: hours", "USD", "one H100: hours", "USD")
    return table(("base_model=", *heads), rows)


def _hours(total: Total, bounds: bool = False) -> tuple[str, str]:
    if total.hours is None:
        raise ValueError("a plan without hours")
    low_high = f" ({total.hours.low:.1f} to {total.hours.high:.1f})" if bounds else ""
    return f"{total.hours.middle:.1f}{low_high}", f"{total.price:.2f}"


def names(group: str, head: str) -> Callable[[], str]:
    return lambda: table((head, "meaning"), ((code(name), text) for name, text in listed(group).items()))


TABLES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "benchmarks": sets,
    "protocols": measured,
    "policies": names("policies", "policy"),
    "verdicts": lambda: table(
        ("verdict", "meaning"), ((code(verdict.value), text) for verdict, text in MEANING.items())
    ),
    "exit codes": lambda: table(
        ("exit code", "meaning"), ((str(code_number), text) for code_number, text in cli.EXIT_CODES.items())
    ),
    "environment": lambda: table(
        ("variable", "meaning"), ((code(name), text) for name, text in cli.ENVIRONMENT.items())
    ),
    "formats": formats.table,
    "hardware": hardware,
    "methods": methods,
    "objectives": objectives,
    "stages": names("stages", "stage"),
    "signals": names("signals", "signal"),
    "hours of papers": hours_of_papers,
    "hours of base models": hours_of_models,
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

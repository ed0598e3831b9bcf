"""Speed, as ratios within one run: `nox -s bench`, or `python -m benchmarks.bench [names] [--rounds N] [--write]`.

Prints a Markdown table for each part; --write also replaces the part's table in docs/performance.md.
The part `vllm` runs alone, in the environment that has vLLM.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.bench.timing import Row
from evals.files import read_json, write_json, write_text
from harness.cli.columns import columns
from harness.runs.record import environment

PARTS = ("start", "engine", "methods", "trl_step", "token_pass", "statistics", "tables", "answer_file", "arm")
ALONE = "vllm"
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "performance.json"  # part -> its table, as Markdown


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all); or {ALONE}")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the median is reported (default 5)")
    parser.add_argument("--write", action="store_true", help="write the page in docs/ as well")
    asked = parser.parse_args()
    if unknown := [part for part in asked.parts if part not in PARTS and asked.parts != [ALONE]]:
        parser.error(f"no such part: {unknown[0]}; expected some of {', '.join(PARTS)}; or {ALONE}, alone")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    parts = {}
    for part in asked.parts or PARTS:
        rows, skipped = [], ""
        try:
            for row in importlib.import_module(f"benchmarks.bench.{part}").run(asked.rounds):
                print(f"{row.name}: {row.ratio:.2f}x", file=sys.stderr)
                rows.append(row)
        except FileNotFoundError as error:
            skipped = f"{part} was skipped: {error.filename} is not there"
        parts[part] = report(rows, skipped)
        print(parts[part], flush=True)
        if asked.write and rows:
            keep({part: parts[part]})
    return 0


def keep(parts: Mapping[str, str]) -> None:
    """Replace the tables of these parts in docs/performance.md."""
    known = {**(read_json(KEPT) or {}), **parts}
    write_json(KEPT, known)
    write_text(KEPT.with_suffix(".md"), page(known))


def page(known: Mapping[str, str]) -> str:
    """docs/performance.md."""
    lines = [
        "# Speed",
        "",
        "Written by `nox -s bench -- PART ... --write`, one section per part; not edited by hand. Ratio: ours / "
        "theirs; above 1, ours is faster. Each section comes from one run.",
    ]
    for part in (part for part in (*PARTS, ALONE) if part in known):
        lines += ["", f"## {part}", "", known[part]]
    return "\n".join(lines) + "\n"


def report(rows: list[Row], skipped: str = "") -> str:
    """The table of a part, with versions and machine."""
    e = environment()
    commit = str(e["commit"])[:10] + (" with uncommitted changes" if e["uncommitted_changes"] else "")
    versions = ", ".join(f"{name} {version}" for name, version in e["packages"].items())
    cells = [(r.name, r.against, f"{r.ratio:.2f}", f"{r.ours:,.0f}", f"{r.theirs:,.0f}", r.unit, r.note) for r in rows]
    rounds = "/".join(dict.fromkeys(str(row.rounds) for row in rows))
    how = (
        "One round" if rounds == "1" else f"Medians of {rounds} rounds; two that are compared alternate in one process"
    )
    return "\n".join(
        [
            f"{how if rows else 'Nothing measured'}. {time.strftime('%Y-%m-%d')}, commit {commit}; {_processor()}, "
            f"{e['cpus']} CPUs, {e['platform']}, load {os.getloadavg()[0]:.1f}; "
            f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}; Python {e['python']}, {versions}.",
            "",
            columns(("what", "against", "ratio", "ours", "theirs", "unit", "note"), cells, left=2),
            *([f"\n{skipped}"] if skipped else []),
        ]
    )


def _processor() -> str:
    """The processor's name, if the system reports it."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")] \
        if info.is_file() else []  # fmt: skip
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())

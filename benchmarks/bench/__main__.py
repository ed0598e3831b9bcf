"""How fast, as ratios in one run: `nox -s bench`, or `python -m benchmarks.bench [names] [--rounds N] [--write]`.

Prints a Markdown table; --write puts it into docs/performance.md too. The part `vllm` runs alone, in the environment
that has vLLM, and has its own page, docs/performance_vllm.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.bench.timing import Row
from harness.cli.columns import columns
from harness.runs.record import environment

PARTS = ("grader", "engine", "methods", "trl_step", "token_pass", "statistics", "tables")
ALONE = "vllm"
ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all); or {ALONE}")
    parser.add_argument("--rounds", type=int, default=5, help="of which the median is taken (default 5)")
    parser.add_argument("--write", action="store_true", help="write the page in docs/ as well")
    asked = parser.parse_args()
    if unknown := [part for part in asked.parts if part not in PARTS and asked.parts != [ALONE]]:
        parser.error(f"no such part: {unknown[0]}; expected some of {', '.join(PARTS)}; or {ALONE}, alone")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    rows, skipped = [], []
    for part in asked.parts or PARTS:
        try:
            for row in importlib.import_module(f"benchmarks.bench.{part}").run(asked.rounds):
                print(f"{row.name}: {row.ratio:.2f}x", file=sys.stderr)
                rows.append(row)
        except FileNotFoundError as error:
            skipped.append(f"{part} was skipped: {error.filename} is not there")
    text = report(rows, skipped)
    print(text)
    if asked.write:
        path = ROOT / "docs" / ("performance_vllm.md" if asked.parts == [ALONE] else "performance.md")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
        print(f"wrote {path}", file=sys.stderr)
    return 0


def report(rows: list[Row], skipped: list[str]) -> str:
    """The table, and what it was measured with."""
    e = environment()
    commit = str(e["commit"])[:10] + (" with uncommitted changes" if e["uncommitted_changes"] else "")
    versions = ", ".join(f"{name} {version}" for name, version in e["packages"].items())
    cells = [(r.name, r.against, f"{r.ratio:.2f}", f"{r.ours:,.0f}", f"{r.theirs:,.0f}", r.unit, r.note) for r in rows]
    rounds = "/".join(dict.fromkeys(str(row.rounds) for row in rows))
    return "\n".join(
        [
            "# Speed",
            "",
            "Written by `nox -s bench`; not edited by hand. Ratio: ours / theirs, above 1 is faster; "
            + (
                f"medians of {rounds} rounds in which both took turns, in one process." if rows else "nothing measured."
            ),
            "",
            f"{time.strftime('%Y-%m-%d')}, commit {commit}; {_processor()}, {e['cpus']} CPUs, {e['platform']}, "
            f"load {os.getloadavg()[0]:.1f}; OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}; "
            f"Python {e['python']}, {versions}.",
            "",
            columns(("what", "against", "ratio", "ours", "theirs", "unit", "note"), cells, left=2),
            *(f"\n{text}" for text in skipped),
        ]
    )


def _processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")] \
        if info.is_file() else []  # fmt: skip
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())

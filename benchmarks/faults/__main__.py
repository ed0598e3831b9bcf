"""Break real runs on purpose: `nox -s faults`, or some cases: `nox -s faults -- signals kills --kills 10`.

With --write, docs/reliability.md gets a row for each promise: what was tried, how often, and what came of it. Exit code
1 where a promise was not kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.faults import damages, interruptions, models, stores, trust
from benchmarks.faults.lives import warm
from benchmarks.faults.rows import Row

ROOT = Path(__file__).resolve().parents[2]
CASES = ("signals", "kills", "chosen", "damages", "stores", "models", "trust")


def rows(cases: Iterable[str], root: Path, options: argparse.Namespace) -> Iterator[Row]:
    """The rows of the cases asked for."""
    expected, seconds = interruptions.unbroken(root)
    if "signals" in cases:
        yield from interruptions.signals(root, expected)
    if "kills" in cases:
        yield interruptions.random_kills(root, expected, seconds, kills=options.kills, seed=options.seed)
    if "chosen" in cases:
        yield interruptions.chosen_kills(root, expected, most=options.chosen)
    if "damages" in cases:
        yield from damages.rows(root, expected)
    if "stores" in cases:
        yield from stores.rows(root, expected)
    if "models" in cases:
        yield from models.rows(root)
    if "trust" in cases:
        yield from trust.rows(root)


def page(found: Iterable[Row], command: str) -> str:
    """docs/reliability.md."""
    from harness.runs.record import environment

    here = environment()
    lines = [
        "# Reliability",
        "",
        "What the harness promises when something breaks, and what was tried. Each case breaks real runs: TRL, the "
        f"tiny base model, {interruptions.STEPS} steps, on a CPU.",
        "",
        f"Written by `{command}` with code at {str(here['commit'])[:10]}; not edited by hand.",
        "",
        "| promise | test | tried | result |",
        "| --- | --- | --- | --- |",
    ]
    for row in found:
        lines.append(f"| {row.promise} | {row.test} | {row.tried} | {row.result} |")
        lines += [f"| | not kept: {' '.join(text.split())[:300].replace('|', '/')} | | |" for text in row.broken]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="nox -s faults --", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--kills", type=int, default=50, help="random moments (default 50)")
    parser.add_argument("--chosen", type=int, help="at most so many of the chosen moments (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--keep", type=Path, help="a folder for the runs (default: a temporary one)")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    warm()
    found = []
    with TemporaryDirectory(prefix="rlvr-faults-") as folder:
        root = options.keep or Path(folder)
        begin = time.monotonic()
        for row in rows(options.cases or CASES, root, options):
            found.append(row)
            print(f"[{time.monotonic() - begin:.0f} s] {row.promise}: {row.result}", flush=True)
    if options.write:
        (ROOT / "docs").mkdir(exist_ok=True)
        command = " ".join(["nox -s faults --", *sys.argv[1:]])
        (ROOT / "docs" / "reliability.md").write_text(page(found, command), encoding="utf-8")
    return 1 if any(row.broken for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())

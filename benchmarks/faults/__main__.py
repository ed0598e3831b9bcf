"""Break real runs on purpose: `nox -s faults`, or some cases: `nox -s faults -- signals kills --kills 10`.

With --write, docs/reliability.md gets a row for each promise: the test, the number of trials, and the result. Exit
code 1 if a promise was not kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.faults import damages, gate, inputs, interruptions, models, outputs, refusals, stores, trust, verl
from benchmarks.faults.lives import warm
from benchmarks.faults.rows import LOG, Row
from evals.files import read_json, write_json, write_text

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "reliability.json"
CASES = ("signals", "processes", "kills", "chosen", "damages", "stores", "models", "inputs", "refusals", "trust")
MINUTES = ("verl",)  # runs only when named on the command line: it takes an hour or two on two cores
USED = {
    "kills": ("kills", "seed"),
    "chosen": ("most",),
    "damages": ("most",),
    "inputs": ("inputs", "seed"),
    "verl": ("kills", "seed"),
}  # case -> the options that it reads


def rows(case: str, root: Path, expected: dict[str, Any], seconds: float, options: argparse.Namespace) -> Iterator[Row]:
    """The rows of a case."""
    if case == "signals":
        yield from interruptions.signals(root, expected)
    if case == "processes":
        yield interruptions.processes(root)
    if case == "kills":
        yield interruptions.random_kills(root, expected, seconds, kills=options.kills, seed=options.seed)
    if case == "chosen":
        yield interruptions.chosen_kills(root, expected, most=options.most)
    if case == "damages":
        yield from damages.rows(root, expected, most=options.most)
    if case == "stores":
        yield from stores.rows(root, expected)
    if case == "models":
        yield from models.rows(root)
        yield from outputs.rows(root, expected)
    if case == "inputs":
        yield from inputs.rows(root, cases=options.inputs, seed=options.seed)
    if case == "refusals":
        yield from refusals.rows(root)
    if case == "trust":
        yield from trust.rows(root)
    if case == "verl":
        yield from verl.rows(root, kills=options.kills, seed=options.seed)


def keep(case_rows: Iterable[Row], case: str, command: str, root: Path) -> None:
    """Replace a case's rows in KEPT, and write docs/reliability.md from all cases."""
    from harness.runs.record import environment

    known = read_json(KEPT) or {}
    known[case] = {
        "command": command,
        "commit": str(environment()["commit"])[:10],
        "rows": [
            {
                **asdict(row),
                "broken": [text.replace(str(root), "FOLDER") for text in row.broken],
                "result": row.result,
            }
            for row in case_rows
        ],
    }
    write_json(KEPT, known)
    write_text(ROOT / "docs" / "reliability.md", page(known))


def page(known: dict[str, Any]) -> str:
    """docs/reliability.md."""
    lines = [
        "# Reliability",
        "",
        "What the harness promises when something breaks, and how each promise was tested. Each case breaks real runs: "
        f"TRL, the tiny base model, {interruptions.STEPS} steps, on a CPU. Written by "
        "`nox -s faults -- CASE ... --write`, one section per case; not edited by hand.",
    ]
    for case in (case for case in (*CASES, *MINUTES) if case in known):
        saved = known[case]
        lines += ["", f"## {case}", "", f"`{saved['command']}`, with code at {saved['commit']}.", ""]
        lines += ["| promise | test | tried | result |", "| --- | --- | --- | --- |"]
        for row in saved["rows"]:
            lines.append(f"| {row['promise']} | {row['test']} | {row['tried']} | {row['result']} |")
            lines += [f"| | not kept: {' '.join(text.split())[:300].replace('|', '/')} | | |" for text in row["broken"]]
    return "\n".join([*lines, *gate.lines()]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="nox -s faults --", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all), {', '.join(MINUTES)}")
    parser.add_argument("--kills", type=int, default=50, help="number of kills at random moments (default 50)")
    parser.add_argument("--most", type=int, help="maximum number of chosen moments, and of damages of each kind")
    parser.add_argument("--inputs", type=int, default=1000, help="random bad inputs of each kind (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder for the runs (default: a temporary one); a command that was stopped resumes there",
    )
    options = parser.parse_args()
    unknown = set(options.cases) - {*CASES, *MINUTES}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    here = not set(options.cases) <= {*MINUTES, "refusals"} or not options.cases  # some case forks this process
    if here:
        warm()
    broken = False
    with TemporaryDirectory(prefix="rlvr-faults-") as folder:
        root = (options.keep or Path(folder)).resolve()
        begin = time.monotonic()
        root.mkdir(parents=True, exist_ok=True)
        expected, seconds = interruptions.unbroken(root) if here else ({}, 0.0)
        for case in options.cases or CASES:
            recorded = []
            LOG[:] = [root / f"{case}.tried.jsonl"] if options.keep else []
            for row in rows(case, root, expected, seconds, options):
                recorded.append(row)
                print(f"[{time.monotonic() - begin:.0f} s] {row.promise}: {row.result}", flush=True)
            broken |= any(row.broken for row in recorded)
            if options.write:
                given = [f"--{key} {getattr(options, key)}" for key in USED.get(case, ()) if getattr(options, key)]
                keep(recorded, case, " ".join(["nox -s faults --", case, *given]), root)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())

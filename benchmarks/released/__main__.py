"""`python -m benchmarks.released FOLDER [CASE ...] [--write]`. `--list` prints what brings each checkout."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.pages import ROOT, made_by, write
from benchmarks.released import checkout
from benchmarks.released.batches import BRANCHES, DESCRIBED, Drawn, all_batches, branches
from benchmarks.released.cases import CASES
from benchmarks.released.page import Row, page
from benchmarks.released.papers import PAPERS
from benchmarks.released.processes import CaseResult, released
from benchmarks.released.verdicts import Judged, judge

PAGE = ROOT / "results" / "released.md"


def measured(keys: Sequence[str], folder: Path, batches: tuple[Drawn, ...], jobs: int) -> dict[str, Row]:
    """The cases that are there, each checkout in a process of its own. Up to `jobs` processes at once."""
    rows = {}
    for key in keys:
        if why := checkout.missing(CASES[key], folder):
            rows[key] = Row(CASES[key], PAPERS[key], CaseResult(), Judged(f"cannot be had: {why}"))
    groups = by_checkout(key for key in keys if key not in rows)
    with ThreadPoolExecutor(jobs) as pool:
        for results in pool.map(lambda group: released("benchmarks.released.child", group, folder, batches), groups):
            for key, result in results.items():
                rows[key] = Row(CASES[key], PAPERS[key], result, judge(result, PAPERS[key], batches, CASES[key].passes))
                print(f"{key}: {rows[key].judged.verdict}", flush=True)
    return {key: rows[key] for key in keys}


def by_checkout(keys: Iterable[str]) -> list[list[str]]:
    """The cases that share a checkout together, in the table's order."""
    folders: dict[str, list[str]] = {}
    for key in keys:
        folders.setdefault(CASES[key].folder, []).append(key)
    return list(folders.values())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.released", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of the checkouts")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"only these (default: all): {', '.join(CASES)}")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}, with all cases")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once, about 1 GB each (default: 2)")
    parser.add_argument("--list", action="store_true", help="print the commands that bring the checkouts")
    given = parser.parse_args()
    if given.list:
        print("\n".join(dict.fromkeys(checkout.commands(case) for case in CASES.values())))
        return
    if given.folder is None or not given.folder.is_dir():
        parser.error(f"FOLDER={given.folder}: there is no such folder. Type --list for what belongs into it.")
    if unknown := sorted(set(given.cases) - set(CASES)):
        parser.error(f"CASE={unknown[0]}: there is no such case. The cases are {', '.join(CASES)}.")
    if given.write and given.cases:
        parser.error("--write needs all cases. Leave out CASE.")
    origin = made_by("python -m benchmarks.released FOLDER") if given.write else ""
    batches = all_batches()
    if unreached := BRANCHES - frozenset().union(*map(branches, batches)):
        raise RuntimeError(f"no batch reaches: {sorted(unreached)}")
    rows = measured(given.cases or list(CASES), given.folder.resolve(), batches, given.jobs)
    text = page(rows, given.folder.resolve(), DESCRIBED, origin)
    print(text)
    if given.write:
        write(PAGE, text)


if __name__ == "__main__":
    main()

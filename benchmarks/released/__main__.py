"""`python -m benchmarks.released FOLDER [CASE ...] [--write]`; `--list` prints what brings each checkout."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.pages import ROOT, made_by, write
from benchmarks.released import checkout
from benchmarks.released.batches import BRANCHES, DESCRIBED, Drawn, all_batches, branches
from benchmarks.released.cases import CASES
from benchmarks.released.page import Row, page
from benchmarks.released.papers import PAPERS
from benchmarks.released.processes import Found, released
from benchmarks.released.verdicts import Judged, judge

PAGE = ROOT / "results" / "released.md"


def measured(keys: Sequence[str], folder: Path, batches: tuple[Drawn, ...]) -> dict[str, Row]:
    """The cases of one checkout, in a process of their own."""
    why = {key: checkout.missing(CASES[key], folder) for key in keys}
    ready = [key for key in keys if not why[key]]
    found = released("benchmarks.released.child", ready, folder, batches) if ready else {}
    judged = {key: judge(found[key], PAPERS[key], batches, CASES[key].passes) for key in ready}
    judged |= {key: Judged(f"cannot be had: {why[key]}") for key in keys if why[key]}
    return {key: Row(CASES[key], PAPERS[key], found.get(key, Found()), judged[key]) for key in keys}


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
    made = made_by("python -m benchmarks.released FOLDER") if given.write else ""
    batches = all_batches()
    if unreached := BRANCHES - frozenset().union(*map(branches, batches)):
        raise RuntimeError(f"no batch reaches: {sorted(unreached)}")
    asked = given.cases or list(CASES)
    rows: dict[str, Row] = {}
    for keys in by_checkout(asked):
        for key, row in measured(keys, given.folder.resolve(), batches).items():
            rows[key] = row
            print(f"{key}: {row.judged.verdict}", flush=True)
    text = page({key: rows[key] for key in asked}, given.folder.resolve(), DESCRIBED, made)
    print(text)
    if given.write:
        write(PAGE, text)


if __name__ == "__main__":
    main()

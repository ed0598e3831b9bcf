"""Every default run of every paper, at paper and small scale, with a dwarf of its model.

    nox -s rehearse -- --paper egsw --scale small

Each arm is rehearsed as `rlvr rehearse paper=P scale=S hardware=H arm=A` does, by TRL, or by veRL where TRL
cannot train it. The shortest first. Rows are kept by commit in RLVR_HOME/rehearsal/rows.jsonl, so that the same command
goes on where it was stopped. --write makes results/rehearsal.md of all rows. With --kept of those that there are, of
any commit, and the page names the others.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.pages import ROOT, made_by, write
from harness.backends import refusals
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.jobs.rehearsal import STAGES, Rehearsed
from harness.launch.prepare import card, rehearsed
from harness.plan.context import context_need
from harness.plan.machine import machine_of
from harness.runs.record import environment
from harness.runs.track import home
from harness.spec import catalogue

SCALES = ("paper", "small")
PAGE = ROOT / "results" / "rehearsal.md"
ABOUT = """\
A *tiny copy* has the configuration of the model, but only one narrow layer. Plan and configuration are the same as in
the real run on the named machine. In each rollout, one response has the full length, and the other responses are short.
vLLM checks the engine's arguments for both lengths of the table:

- *tokens trained*: the length of the arm's longest sequence (prompt and response)
- *tokens evaluated*: the length of the arm's longest response
- `(verl)`: TRL cannot train the arm"""


@dataclass(frozen=True)
class Case:
    """A default run.

    Args:
        trained: tokens of its longest sequence. evaluated: of its longest response. other: TRL cannot train it.
    """

    paper: str
    scale: str
    machine: str
    model: str
    arm: str
    trained: int
    evaluated: int
    other: bool


def cases(papers: Sequence[str], scales: Sequence[str]) -> list[Case]:
    planned = []
    for paper in papers:
        for scale in scales:
            machine = "h100" if paper == "anchors" else card(scale)
            jobs = resolve(paper, scale=scale, seeds=[0])
            refused = refusals(jobs, machine_of(RunOptions.from_keys({"hardware": machine})).by_arm(jobs))
            for job in jobs:
                need = context_need(job)
                lengths = (need.training, need.evaluation, (job.model, job.arm) in refused)
                planned.append(Case(paper, scale, machine, job.model, job.arm, *lengths))
    return planned


def kept_rows() -> dict[Case, tuple[str, Rehearsed]]:
    """The commit and the last row of each case."""
    lines = [json.loads(line) for line in _file().read_text().splitlines()] if _file().is_file() else []
    return {Case(**line["case"]): (line["commit"], Rehearsed(**line["row"])) for line in lines}


def _file() -> Path:
    return home() / "rehearsal" / "rows.jsonl"


def rehearse(requested: Sequence[Case]) -> dict[Case, tuple[str, Rehearsed]]:
    """The commit and the row of each case. Those that an earlier call at this commit has are not made again."""
    _file().parent.mkdir(parents=True, exist_ok=True)
    commit = environment()["commit"]
    rows = {case: row for case, row in kept_rows().items() if row[0] == commit}
    for case in sorted(requested, key=lambda case: (case.other, case.trained, case.evaluated)):
        if case not in rows:
            options = RunOptions(scale=case.scale, hardware=case.machine, model=[case.model], arm=[case.arm])
            (row,) = rehearsed(case.paper, options)
            rows[case] = commit, row
            with _file().open("a") as file:
                file.write(json.dumps({"commit": commit, "case": asdict(case), "row": asdict(row)}) + "\n")
    return {case: rows[case] for case in requested}


def page(rows: Mapping[Case, tuple[str, Rehearsed]], origin: str, missing: Sequence[Case] = ()) -> str:
    from tabulate import tabulate

    arms_by_note: dict[str, list[str]] = defaultdict(list)
    table = []
    commits = sorted({commit[:10] for commit, _ in rows.values()})
    for case, (_, row) in rows.items():
        lengths = [f"{tokens:,}" if tokens else "–" for tokens in (case.trained, case.evaluated)]
        stages = [row.stages.get(stage, "–") for stage in STAGES]
        table.append([row.arm, case.scale, case.machine, *lengths, *stages])
        for note in row.notes:
            arms_by_note[note].append(f"`{row.arm}`, {case.scale} scale")
    stopped = sum("no" in row.stages.values() for _, row in rows.values())
    headers = ["arm", "scale", "machine", "tokens trained", "tokens evaluated", *STAGES]
    notes = [f"- {note}\n  ({len(arms)}: {'; '.join(arms)})" for note, arms in arms_by_note.items()]
    reached = [f"Not reached: {'; '.join(f'{c.paper} {c.model}/{c.arm}, {c.scale}' for c in missing)}."]
    return "\n".join(
        [
            "# Rehearsal: every default run with a tiny copy of its model",
            "",
            f"**{len(rows) - stopped} of {len(rows)} runs passed every stage.** "
            + (f"{stopped} did not. The list gives the reason:" if stopped else "None was stopped."),
            *(reached if missing else []),
            "",
            *([*notes, ""] if notes else []),
            f"{origin} Rehearsed at {', '.join(commits)}.",
            "",
            ABOUT,
            "",
            "## All runs",
            "",
            tabulate(table, headers=headers, tablefmt="github", disable_numparse=True),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paper", nargs="*", default=sorted(catalogue.papers()))
    parser.add_argument("--scale", nargs="*", default=list(SCALES), choices=SCALES)
    parser.add_argument("--write", action="store_true", help="make results/rehearsal.md")
    parser.add_argument("--kept", action="store_true", help="rehearse nothing: the rows that there are")
    options = parser.parse_args()
    origin = made_by(f"nox -s rehearse --{' --kept' if options.kept else ''}") if options.write else ""
    wanted = cases(options.paper, options.scale)
    rows = kept_rows() if options.kept else rehearse(wanted)
    text = page({c: rows[c] for c in wanted if c in rows}, origin, [c for c in wanted if c not in rows])
    if options.write:
        write(PAGE, text)
    else:
        print(text)


if __name__ == "__main__":
    main()

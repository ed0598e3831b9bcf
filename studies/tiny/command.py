"""The command `rlvr study`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.command.config import no_more, parse_overrides, take, take_list
from harness.errors import UsageError, choose

if TYPE_CHECKING:
    from studies.tiny.design import Design

PAGES = Path("results") / "study"
STUDY = f"""options:
  run=true               train and evaluate what is not finished yet (resumes; about 900 runs of a minute)
  family=A,B             only these task families (run, variations; two processes can share the work)
  tier=1|2               only this tier (run only; default: 1, then 2)
  seeds=N                only the first N training seeds (run only; default: all of the design)
  variations=true        run what is tried beside the study, exploratory: choices made otherwise, more sweeps
  register=true          write the pre-registration (before the first run)
  write=true             write FOLDER/records from MLflow, and the pages and figures from these records; tables that
                         the README files of the two folders above repeat are renewed
  check=true             compute the pages from FOLDER/records again; exit code 1 if one differs
  out=FOLDER             default {PAGES}
Without options: print the design and how much of it is finished in MLflow."""
_KEYS = ("run", "family", "tier", "seeds", "variations", "register", "write", "check", "out")


def do_study(arguments: Any) -> int:
    from studies.tiny.design import STUDY as DESIGN

    values = parse_overrides(arguments.options)
    todo = {name for name in ("run", "variations", "register", "write", "check") if take(values, name, bool, False)}
    families = choose("family", take_list(values, "family"), DESIGN.families)
    tier, seeds = take(values, "tier", int), take(values, "seeds", int)
    out = Path(take(values, "out", str, str(PAGES)))
    no_more(values, _KEYS)
    if tier is not None and tier not in DESIGN.tiers():
        raise UsageError(f"tier={tier}: expected one of {', '.join(map(str, DESIGN.tiers()))}")
    if seeds is not None and not 1 <= seeds <= DESIGN.seeds:
        raise UsageError(f"seeds={seeds}: expected 1 to {DESIGN.seeds}")
    failed = 0
    if "register" in todo:
        from studies.tiny.registration import registration

        out.mkdir(parents=True, exist_ok=True)
        (out / "preregistration.md").write_text(registration(DESIGN), encoding="utf-8")
        print(out / "preregistration.md", file=sys.stderr)
    if "run" in todo:
        from studies.tiny.run import run_study

        command = " ".join(["rlvr", "study", *arguments.options])
        tiers = [tier] if tier else DESIGN.tiers()
        failed = run_study(DESIGN.of_families(families), command, tiers=tiers, seeds=seeds)
    if "variations" in todo:
        from studies.tiny.run import run_variations

        command = " ".join(["rlvr", "study", *arguments.options])
        failed += run_variations(DESIGN.of_families(families), command)
    if "write" in todo:
        _write(DESIGN, out)
    if "check" in todo:
        from studies.tiny.records import differing_pages

        differing = differing_pages(DESIGN, out)
        for path in differing:
            print(f"{path}: is not what {out / 'records'} gives (rlvr study write=true makes it again)")
        failed += len(differing)
    if not todo:
        _show(DESIGN)
    return 1 if failed else 0


def _write(design: Design, out: Path) -> None:
    from harness.runs.track import Tracker
    from studies.tiny.excerpts import write_excerpts
    from studies.tiny.records import write_from_records, write_records

    for path in (*write_records(design, Tracker.open(), out), *write_from_records(design, out, out)):
        print(path, file=sys.stderr)
    for path in write_excerpts(out):
        print(path, file=sys.stderr)


def _show(design: Design) -> None:
    from harness.runs.track import Tracker
    from studies.tiny.jobs import study_jobs
    from studies.tiny.tuning import accuracies, search

    tracker = Tracker.open()
    state = search(design, accuracies(tracker, design))
    finished = {
        (paper, run.data.tags["rlvr.digest"].partition("-")[0], int(run.data.tags["rlvr.seed"]))
        for paper in design.papers()
        for run in tracker.arms(paper)
    }
    print(f"design {design.digest}: {len(design.arms)} arms, {design.seeds} seeds, {len(design.families)} families")
    for scale in design.families:
        tried = [t for t in state.tried if t.scale == scale]
        jobs = [job for job in study_jobs(design, state.settings) if job.scale == scale]
        runs = sum((job.paper, job.digest, job.seed) in finished for job in jobs)
        print(f"{scale}: search {sum(t.accuracy != 'unfinished' for t in tried)} of {len(tried)} trials or more; "
              f"{runs} of {len(design.arms) * design.seeds} runs")  # fmt: skip

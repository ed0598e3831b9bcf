"""The command `rlvr comeback`: committed runs trained again on this machine, each number beside the committed one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.cli.archive import RECORDS
from harness.command.config import no_more, parse_overrides, take, take_list
from harness.errors import UsageError

COMEBACK = f"""options:
  from=FILE              the archive of the committed runs (default {RECORDS}/egsw.zip)
  arm=A,B                which arms (default: all of the archive)
  seeds=[0,1]            which of their seeds (default [0])
  out=FILE               also write the page to FILE
Exit code 1 if a number does not come back."""


def do_comeback(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    source = Path(take(values, "from", str, str(RECORDS / "egsw.zip")))
    arms, seeds = take_list(values, "arm"), take(values, "seeds", list, [0])
    out = take(values, "out", str, "")
    no_more(values, ("from", "arm", "seeds", "out"))
    if not source.is_file():
        raise UsageError(f"from: no such file {str(source)!r}, expected an archive that `rlvr export` wrote")
    from evals.files import DamagedFileError
    from harness.runs.comeback import NOT_BACK, compare, page, read_runs

    try:
        committed = read_runs(source)
    except DamagedFileError as error:
        raise UsageError(str(error)) from error
    chosen = [
        run
        for run in committed
        if (arms is None or run.tags["rlvr.arm"] in arms) and (run.record["training"] is None or run.seed in seeds)
    ]
    if not chosen:
        there = sorted({f"{run.tags['rlvr.arm']} seed {run.seed}" for run in committed})
        raise UsageError(f"arm, seeds: no such run in {source}; it has {', '.join(there)}")
    today = _again(chosen)
    cells = compare(committed, today)
    text = page(cells, committed, today)
    print(text)
    if out:
        Path(out).write_text(text, encoding="utf-8")
    return int(any(cell.answer == NOT_BACK for cell in cells))


def _again(chosen: list[Any]) -> list[Any]:
    """The same runs, trained again in a store of their own."""
    from harness.cli.main import main
    from harness.runs.archive import export_runs
    from harness.runs.comeback import read_runs
    from harness.runs.scratch import scratch_store
    from harness.runs.track import Tracker

    runs = []
    with scratch_store() as home:
        for run in chosen:
            tag = run.tags
            words = [f"{k}={v}" for k, v in run.record["overrides"].items()]
            command = ["run", f"paper={tag['rlvr.paper']}", f"arm={tag['rlvr.arm']}", f"model={tag['rlvr.model']}"]
            command += [f"scale={tag['rlvr.scale']}", f"backend={tag['rlvr.backend']}", f"seeds=[{run.seed}]"]
            if code := main([*command, *words]):
                raise UsageError(f"{' '.join(command)}: ended with exit code {code}")
        for paper in dict.fromkeys(run.tags["rlvr.paper"] for run in chosen):
            archive = home / f"{paper}.zip"
            print(f"{export_runs(paper, Tracker.open(), archive)} runs trained again", file=sys.stderr)
            runs += read_runs(archive)
    return runs

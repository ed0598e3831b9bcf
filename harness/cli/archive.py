"""The commands `rlvr export` and `rlvr import`: finished runs as files to commit, and back into MLflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.command.config import UsageError, choose, no_more, parse_overrides, take, take_list

RECORDS = Path("results") / "records"
EEE = "0.3.0"
EXPORT = f"""options, for all runs of a paper as one file to commit:
  paper=KEY              one or several papers (default: all that have finished runs)
  scale=tiny             only runs of this scale (default: all)
  out=FOLDER             default {RECORDS}; a paper's runs go to FOLDER/KEY.zip
The file holds what tables are computed from: verdicts, answer classes, tokens, curves, records. No responses.
or, for one run in another format:
  run=RUN                a job's folder, the folder of an evaluation, or the MLflow run id of an arm
  format=NAME            eee (Every Eval Ever {EEE}, checked by its schema), hf (.eval_results/*.yaml of a model's
                         repository), model-index (of its card), inspect (logs of our samples)
  model=ORG/NAME         what the model is called; required, but not for hf
  organisation=NAME  relationship=first_party|third_party|collaborative|other
                         of eee, required: who evaluated, and how they stand to the model's developer
  data_dir=FOLDER        of eee and inspect: the benchmarks' files, to have the problems' texts beside their ids
  source_url=URL         of hf and model-index: where the evaluation can be seen
  out=FOLDER             default exports/RUN-FORMAT
`rlvr tables` writes LaTeX, CSV and Markdown, with --json JSON."""
IMPORT = f"""options:
  from=PATH              an archive that `rlvr export` wrote, or a folder of them (default {RECORDS})
Runs that MLflow has already (by digest and seed) are skipped. The same tables then come out."""


def do_export(arguments: Any) -> int:
    from harness.spec.catalogue import papers

    values = parse_overrides(arguments.options)
    if "format" in values or "run" in values:
        from harness.cli.exchange import export_format

        return export_format(arguments)
    wanted = choose("paper", take_list(values, "paper"), papers())
    named = "paper" in {option.partition("=")[0] for option in arguments.options}
    scale = take(values, "scale", str, "") or None
    out = Path(take(values, "out", str, str(RECORDS)))
    no_more(values, ("paper", "scale", "out"))
    from harness.runs.archive import export_runs
    from harness.runs.track import Tracker

    tracker = Tracker.open()
    for paper in wanted:
        path = out / f"{paper}.zip"
        try:
            count = export_runs(paper, tracker, path, scale=scale)
        except ValueError as error:
            if named:
                raise UsageError(str(error)) from error
            continue
        print(f"{path}: {count} runs, {path.stat().st_size / 2**20:.2f} MB", file=sys.stderr)
    return 0


def do_import(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    source = Path(take(values, "from", str, str(RECORDS)))
    no_more(values, ("from",))
    paths = sorted(source.glob("*.zip")) if source.is_dir() else [source]
    if not paths or not paths[0].is_file():
        raise UsageError(f"from: got {str(source)!r}, expected an archive (.zip) or a folder of archives")
    from evals.files import DamagedFileError
    from harness.runs.archive import import_runs
    from harness.runs.track import Tracker

    tracker = Tracker.open()
    for path in paths:
        try:
            print(f"{path}: {import_runs(path, tracker)} runs logged", file=sys.stderr)
        except DamagedFileError as error:
            raise UsageError(str(error)) from error
    return 0

"""The `rlvr` command. Options are Hydra's `key=value`; results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 failed while running, 2 the command line, a file or the store could not be used, 75 stopped by a
signal with everything saved (the same command resumes; schedulers can requeue on it), 130 or 143 stopped at once,
141 the reader of its output went away.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.files import RefusedError
from evals.redaction import redact
from harness import __version__
from harness.cli.aa import AA, do_aa
from harness.cli.accuracy import CURVES, do_curves
from harness.cli.analysis import ANALYZE, REPORT, do_analyze, do_report
from harness.cli.archive import EXPORT, IMPORT, do_export, do_import
from harness.cli.comeback import COMEBACK, do_comeback
from harness.cli.completion import COMPLETION, do_completion
from harness.cli.evaluation import EVAL, GRADE, do_eval, do_grade
from harness.cli.exchange import BUNDLE, VERIFY, do_bundle, do_verify
from harness.cli.ledger import LEDGER, do_ledger
from harness.cli.new import NEW, do_new
from harness.cli.overview import LIST, SHOW, STATUS, do_list, do_show, do_status
from harness.cli.probing import PROBE, do_probe
from harness.cli.records import TABLES, UI, do_tables, do_ui
from harness.cli.reproducing import REPRODUCE, do_reproduce
from harness.cli.statistics import COMPARE, POWER, do_compare, do_power
from harness.cli.study import STUDY, do_study
from harness.cli.training import BATCH, RUN, SYNC, do_batch, do_config, do_plan, do_run, do_sync
from harness.command.config import UsageError
from harness.runs.interrupt import Interrupted, StoppedAtOnce

LONGEST = 4000  # characters of an error message


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    os.umask(os.umask(0o077) | 0o002)  # what a run writes is never writable by everybody
    arguments = parse(argv)
    try:
        code: int = arguments.call(arguments)
        sys.stdout.flush()
        return code
    except (UsageError, RefusedError) as error:
        print(f"rlvr {arguments.command}: {_legible(redact(str(error)))}", file=sys.stderr)
        return 2
    except (Interrupted, StoppedAtOnce) as stop:
        print(stop, file=sys.stderr)
        return stop.code
    except KeyboardInterrupt:
        print("interrupted; the same command resumes where it was", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `rlvr list | head`: nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains again when it exits
        return 141


def _legible(text: str) -> str:
    """A message that quotes what it was given, however long that is and whatever is in it: control characters of a
    terminal are shown, not obeyed."""
    text = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text) - LONGEST:,} more characters)"


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line; options may also stand after a flag, where argparse takes them for strangers."""
    parser = build_parser()
    arguments, late = parser.parse_known_args(argv)
    if late and (not hasattr(arguments, "options") or any(word.startswith("-") for word in late)):
        dashed = next((word for word in late if word.startswith("-")), "").lstrip("-")
        hint = f"; options have no dashes: did you mean {dashed}?" if "=" in dashed else ""
        parser.error(f"unrecognized arguments: {' '.join(late)}{hint}")
    if late:
        arguments.options += late
    return arguments


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvr",
        description="Does the paper's number come back? Declare, train, evaluate, log and tabulate RLVR reproductions.",
        epilog="Options are key=value, as in: rlvr run paper=egsw arm=grpo,egsw seeds=3 egsw.alpha=0.5",
    )
    parser.add_argument("--version", action="version", version=f"rlvr-harness {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, call: Callable[[Any], int], summary: str, keys: str, *, as_json: bool = False) -> Any:
        sub = commands.add_parser(
            name, help=summary, description=summary, epilog=keys, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        sub.set_defaults(call=call)
        if as_json:
            sub.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
        return sub

    def options(sub: Any) -> None:
        sub.add_argument("options", nargs="*", metavar="key=value", help="see below")

    options(command("list", do_list, "Papers, arms, benchmarks, protocols, engines, scales.", LIST, as_json=True))
    options(
        command(
            "plan", do_plan, "What a run would start, with every value's source. Starts nothing.", RUN, as_json=True
        )
    )
    options(
        command(
            "config",
            do_config,
            "What the trainer would get: its own configuration, checked by itself, as YAML.",
            RUN,
        )
    )
    options(command("run", do_run, "Train, evaluate and log the arms of a paper; started again, it resumes.", RUN))
    options(command("study", do_study, "The tiny-scale study: every method, many seeds, placebos and controls.", STUDY))
    batch = command(
        "batch", do_batch, "Run several `rlvr run` commands in one process, one line of options each.", BATCH
    )
    batch.add_argument("file", type=Path)
    options(batch)
    reproducing = command(
        "reproduce",
        do_reproduce,
        "What resolves a paper's claim within GPU-hours, if anything.",
        REPRODUCE,
        as_json=True,
    )
    reproducing.add_argument("paper", metavar="PAPER")
    options(reproducing)
    options(command("eval", do_eval, "Measure a checkpoint under a paper's protocol.", EVAL, as_json=True))
    grade = command("grade", do_grade, "Grade model answers from a file of JSON Lines.", GRADE, as_json=True)
    grade.add_argument("file", metavar="FILE")
    grade.add_argument("--policy", metavar="NAME", help="the same as policy=NAME")
    grade.add_argument("--explain", metavar="ROWS", help="the same as explain=ROWS")
    options(grade)
    comparing = command(
        "compare", do_compare, "The differences of two runs on the same problems.", COMPARE, as_json=True
    )
    comparing.add_argument("a", metavar="RUN_A")
    comparing.add_argument("b", metavar="RUN_B")
    options(comparing)
    options(command("probe", do_probe, "Leak probes: does a model know a benchmark's problems?", PROBE, as_json=True))
    options(command("power", do_power, "What a difference needs: problems, samples, seeds.", POWER, as_json=True))
    options(command("aa", do_aa, "A/A test: does a method differ from itself, by number of seeds?", AA, as_json=True))
    options(command("analyze", do_analyze, "The papers' figures and numbers for some runs.", ANALYZE, as_json=True))
    options(
        command(
            "report",
            do_report,
            "A paper's claims, tables, figures and responses as one HTML file.",
            REPORT,
            as_json=True,
        )
    )
    options(command("curves", do_curves, "Accuracy over training steps, with bands over seeds.", CURVES))
    options(command("tables", do_tables, "Regenerate the papers' tables from MLflow.", TABLES, as_json=True))
    options(command("export", do_export, "Finished runs from MLflow as one small file a paper.", EXPORT))
    options(command("comeback", do_comeback, "Train committed runs again here and compare the numbers.", COMEBACK))
    options(command("import", do_import, "Log exported runs in MLflow again.", IMPORT))
    options(command("ledger", do_ledger, "Generations of other labs, graded again beside what they reported.", LEDGER))
    bundling = command("bundle", do_bundle, "One run as a folder or zip that can be checked anywhere.", BUNDLE)
    bundling.add_argument("run", metavar="RUN")
    options(bundling)
    verifying = command("verify", do_verify, "Check a bundle: every number again from its verdicts.", VERIFY)
    verifying.add_argument("bundle", metavar="BUNDLE")
    options(verifying)
    options(command("sync", do_sync, "Deliver to MLflow what waits in the runs' folders.", SYNC))
    making = command("new", do_new, "A new paper: a method, its declaration and its test, which run at once.", NEW)
    making.add_argument("name", metavar="NAME")
    options(making)
    showing = command("show", do_show, "What a run is, its values and its scores.", SHOW, as_json=True)
    showing.add_argument("run", metavar="RUN")
    options(showing)
    options(
        command("status", do_status, "What runs, is finished or failed, with the last error.", STATUS, as_json=True)
    )
    completing = command("completion", do_completion, "Completion of commands and options in a shell.", COMPLETION)
    completing.add_argument("shell", metavar="SHELL")
    options(completing)
    options(command("ui", do_ui, "Open MLflow's web interface on the runs.", UI))
    return parser

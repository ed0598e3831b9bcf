"""The `rlvr` command. Options are Hydra's `key=value`; results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 failed while running, 2 the command line, a file or the store could not be used, 75 stopped by a
signal with everything saved (the same command resumes; schedulers can requeue on it), 130 or 143 stopped at once,
141 the reader of its output has gone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
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
from harness.cli.inert import inert_stdout
from harness.cli.ledger import LEDGER, do_ledger
from harness.cli.new import NEW, do_new
from harness.cli.overview import LIST, SHOW, STATUS, do_list, do_show, do_status
from harness.cli.records import TABLES, UI, do_tables, do_ui
from harness.cli.reproducing import REPRODUCE, do_reproduce
from harness.cli.statistics import COMPARE, POWER, do_compare, do_power
from harness.cli.terminal import fitted
from harness.cli.training import BATCH, RUN, SYNC, do_batch, do_config, do_plan, do_run, do_sync
from harness.errors import UsageError, choose
from harness.runs.interrupt import Interrupted, StoppedAtOnce

LONGEST = 4000  # characters of an error message


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    os.umask(os.umask(0o077) | 0o002)  # files of a run are never world-writable
    try:
        arguments = parse(argv)
    except UsageError as error:
        print(f"rlvr: {error}; rlvr --help lists them", file=sys.stderr)
        return 2
    try:
        with inert_stdout():
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
    except BrokenPipeError:  # `rlvr list | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python raises again when it exits
        return 141


def _legible(text: str) -> str:
    """An error message that may quote any input: cut to a readable length, with control characters escaped."""
    text = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text) - LONGEST:,} more characters)"


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line; options may also stand after a flag, where argparse alone would not accept them."""
    parser = build_parser()
    words = sys.argv[1:] if argv is None else argv
    if not words:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    if words[0].startswith("--") and "=" in words[0]:
        parser.error(
            f"{words[0]}: expected a command first; options have no dashes: rlvr COMMAND {words[0].lstrip('-')}"
        )
    if not words[0].startswith("-"):
        choose("command", words[:1], (command.name for command in COMMANDS))
    arguments, late = parser.parse_known_args(words)
    if late and (not hasattr(arguments, "options") or any(word.startswith("-") for word in late)):
        dashed = next((word for word in late if word.startswith("-")), "").lstrip("-")
        hint = f"; options have no dashes: did you mean {dashed}?" if "=" in dashed else ""
        parser.error(f"unrecognized arguments: {' '.join(late)}{hint}")
    if late:
        arguments.options = [*arguments.options, *late]
    return arguments


@dataclass(frozen=True)
class Command:
    """A command of `rlvr`.

    Args:
        summary: one sentence for the list of commands. keys: its options, shown below its help.
        as_json: it has --json. positional: (name, METAVAR, type), each before the options.
        flags: (--flag, METAVAR, help).
    """

    name: str
    call: Callable[[Any], int]
    summary: str
    keys: str
    as_json: bool = False
    positional: tuple[tuple[str, str | None, type], ...] = ()
    flags: tuple[tuple[str, str, str], ...] = ()


def _takes(name: str) -> tuple[tuple[str, str | None, type], ...]:
    return ((name.lower(), name, str),)


COMMANDS = (
    Command("list", do_list, "Papers, arms, benchmarks, protocols, engines, scales.", LIST, True),
    Command("plan", do_plan, "What `rlvr run` would start, with every value's source. Starts nothing.", RUN, True),
    Command("config", do_config, "The trainer's whole configuration, as the trainer accepts it, as YAML.", RUN),
    Command("run", do_run, "Train, evaluate and log the arms of a paper; the same command resumes.", RUN),
    Command(
        "batch",
        do_batch,
        "Run several `rlvr run` commands in one process, one line of options each.",
        BATCH,
        positional=(("file", None, Path),),
    ),
    Command(
        "reproduce",
        do_reproduce,
        "Seeds and samples that resolve a paper's claim within a budget of GPU-hours.",
        REPRODUCE,
        True,
        _takes("PAPER"),
    ),
    Command("eval", do_eval, "Measure a checkpoint under a paper's protocol.", EVAL, True),
    Command(
        "grade",
        do_grade,
        "Grade answers in a file of any known format; where the authors' verdicts differ.",
        GRADE,
        True,
        _takes("FILE"),
        (("--policy", "NAME", "the same as policy=NAME"), ("--explain", "ROWS", "the same as explain=ROWS")),
    ),
    Command(
        "compare",
        do_compare,
        "The differences of two runs on the same problems.",
        COMPARE,
        True,
        (("a", "RUN_A", str), ("b", "RUN_B", str)),
    ),
    Command("power", do_power, "What a difference needs: problems, samples, seeds.", POWER, True),
    Command("aa", do_aa, "A/A test: does a method differ from itself, by number of seeds?", AA, True),
    Command("analyze", do_analyze, "The papers' figures and numbers for some runs.", ANALYZE, True),
    Command("report", do_report, "A paper's claims, tables, figures and responses as one HTML file.", REPORT, True),
    Command("curves", do_curves, "Accuracy over training steps, with bands over seeds.", CURVES),
    Command("tables", do_tables, "Regenerate the papers' tables from MLflow.", TABLES, True),
    Command("export", do_export, "Export finished runs from MLflow, one small file per paper.", EXPORT),
    Command("comeback", do_comeback, "Train committed runs again on this machine and compare the numbers.", COMEBACK),
    Command("import", do_import, "Log exported runs in MLflow.", IMPORT),
    Command("ledger", do_ledger, "Grade other labs' saved generations, beside the scores they reported.", LEDGER),
    Command(
        "bundle",
        do_bundle,
        "Package one run as a folder or zip that can be verified anywhere.",
        BUNDLE,
        positional=_takes("RUN"),
    ),
    Command(
        "verify",
        do_verify,
        "Verify a bundle: compute every number again from its verdicts.",
        VERIFY,
        positional=_takes("BUNDLE"),
    ),
    Command("sync", do_sync, "Send pending data in the runs' folders to MLflow.", SYNC),
    Command(
        "new",
        do_new,
        "Write a new paper: a method, its declaration and its test, ready to run.",
        NEW,
        positional=_takes("NAME"),
    ),
    Command("show", do_show, "One run: its values and scores.", SHOW, True, _takes("RUN")),
    Command("status", do_status, "Which runs are running, finished or failed, with the last error.", STATUS, True),
    Command(
        "completion",
        do_completion,
        "Completion of commands and options in a shell.",
        COMPLETION,
        positional=_takes("SHELL"),
    ),
    Command("ui", do_ui, "Open MLflow's web interface on the runs.", UI),
)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help whose options fit the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return fitted(text, width)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvr",
        description="Does the paper's number come back? Declare, train, evaluate, log and tabulate RLVR reproductions.",
        epilog="Options are key=value, as in: rlvr run paper=egsw arm=grpo,egsw seeds=3 egsw.alpha=0.5",
    )
    parser.add_argument("--version", action="version", version=f"rlvr-harness {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.summary,
            epilog=command.keys,
            formatter_class=Help,
        )
        sub.set_defaults(call=command.call)
        if command.as_json:
            sub.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
        for name, metavar, kind in command.positional:
            sub.add_argument(name, metavar=metavar, type=kind)
        for flag, metavar, meaning in command.flags:
            sub.add_argument(flag, metavar=metavar, help=meaning)
        sub.add_argument("options", nargs="*", default=[], metavar="key=value", help="see below")
    return parser

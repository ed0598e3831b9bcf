"""The command `rlvr`: every command is a function of this package (`rlvr.signature`).

Options are `key=value` in Hydra's grammar; results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 something failed, 2 the command line, a file or the store could not be used, 75 stopped by a
signal with everything saved (the same command resumes; schedulers can requeue on it), 130 or 143 stopped at once,
141 the reader of its output has gone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any

from harness.errors import UsageError, choose
from rlvr import signature
from rlvr.commands import ALIASES, COMMANDS, GROUPS, command
from rlvr.signature import Words

TRAIN = ("torch", "transformers", "trl", "peft", "accelerate", "lm_eval")  # what the extra [train] installs
LONGEST = 4000  # characters of an error message
SAVED = "  out=FILE              save it: .json, .csv, .parquet, .tex, .md or .txt"
EXAMPLE = "Options are key=value, as in: rlvr run paper=egsw arm=grpo,egsw seeds=3 egsw.alpha=0.5"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    if "_ARGCOMPLETE" in os.environ:
        from rlvr.completion import complete_line

        complete_line()
    os.umask(os.umask(0o077) | 0o002)  # files of a run are never world-writable
    words = list(sys.argv[1:] if argv is None else argv)
    name = next((word for word in words if not word.startswith("-")), "")
    try:
        return _run(words)
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in words:
            raise
        return _report(f"rlvr {name}".strip(), error)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        help_of = next((word for word in words[1:] if not word.startswith("-")), None)
        print(overview() if help_of is None else usage(help_of), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if words[0] == "--version":
        from harness import __version__

        print(f"rlvr-harness {__version__}")
        return 0
    name, function, given = parse(words)
    if "help" in given.flags:
        print(usage(name))
        return 0
    save = given.texts.get("out") if _saved_here(function) and given.values.pop("out", None) else None
    positional, keywords = signature.bind(function, given)
    signature.COMMAND_LINE.set(shlex.join(["rlvr", *words]))
    from rlvr.terminal import inert_stdout

    with inert_stdout():
        if "json" in given.flags:  # progress of what runs inside must not stand before the document
            with redirect_stdout(sys.stderr):
                result = function(*positional, **keywords)
        else:
            result = function(*positional, **keywords)
        if save is not None:
            print(result.save(save), file=sys.stderr)
        if result is not None:
            print(result.as_json() if "json" in given.flags else result)
    sys.stdout.flush()
    return int(getattr(result, "exit_code", 0))


def parse(words: Sequence[str]) -> tuple[str, Callable[..., Any], Words]:
    """(command, its function, its words) of a command line; nothing is run.

    Raises:
        UsageError: no such command, or a word that does not parse.
    """
    name = ALIASES.get(words[0], words[0])
    if name.startswith("-") or "=" in name:
        raise UsageError(f"{words[0]}: expected a command first; rlvr --help lists them")
    choose("command", [name], COMMANDS)
    function = command(name)
    return name, function, signature.split(words[1:], signature.options(function))


def check(words: Sequence[str]) -> str:
    """The command of a command line whose options all exist and have values of the right kinds; nothing is run.

    Raises:
        UsageError: as a run of it would before it starts anything.
    """
    name, function, given = parse(words)
    if _saved_here(function):
        given.values.pop("out", None)
    signature.bind(function, given)
    return name


def _saved_here(function: Callable[..., Any]) -> bool:
    """Whether `out=FILE` is not an option of the function, and so saves what it returns."""
    return all(option.name != "out" for option in signature.options(function))


def overview() -> str:
    """Every command with one sentence, in groups."""
    lines = ["usage: rlvr COMMAND [key=value ...]", "", "Does the paper's number come back?", ""]
    for heading, names in GROUPS.items():
        lines.append(f"{heading}:")
        lines += [f"  {name:<9} {signature.summary(command(name))}" for name in names]
    return "\n".join([*lines, "", EXAMPLE, "rlvr COMMAND --help shows the options of a command."])


def usage(name: str) -> str:
    """The help of one command."""
    (name,) = choose("command", [ALIASES.get(name, name)], COMMANDS)
    text = signature.usage(name, command(name), min(shutil.get_terminal_size().columns, 100))
    return f"{text}\n{SAVED}" if _saved_here(command(name)) else text


def _report(name: str, error: BaseException) -> int:
    """Print an error as one sentence; the exit code."""
    from evals.files import RefusedError
    from evals.redaction import redact
    from harness.runs.interrupt import Interrupted, StoppedAtOnce

    if isinstance(error, (Interrupted, StoppedAtOnce)):
        print(error, file=sys.stderr)
        return error.code
    if isinstance(error, KeyboardInterrupt):
        print("interrupted; the same command resumes where it was", file=sys.stderr)
        return 130
    if isinstance(error, BrokenPipeError):  # `rlvr list | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python raises again when it exits
        return 141
    text = _legible(redact(str(error)))
    if isinstance(error, (UsageError, RefusedError)):
        print(f"{name}: {text}", file=sys.stderr)
        return 2
    if isinstance(error, ModuleNotFoundError) and error.name in TRAIN:
        print(f"{name}: needs {error.name}, which is not installed: pip install 'rlvr-harness[train]'", file=sys.stderr)
        return 2
    print(f"{name}: {text or type(error).__name__} ({type(error).__name__}; --debug shows where)", file=sys.stderr)
    return 2 if isinstance(error, (ValueError, FileNotFoundError)) else 1


def _legible(text: str) -> str:
    """An error message that may quote any input: cut to a readable length, with control characters escaped."""
    text = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text) - LONGEST:,} more characters)"


if __name__ == "__main__":
    sys.exit(main())

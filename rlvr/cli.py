"""The command `rlvr`: every command is a function of this package (`rlvr.signature`).

Options are `key=value` in Hydra's grammar; results go to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import codecs
import locale
import os
import re
import resource
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Container, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from evals.environment import threads_sleep
from evals.log import logger
from evals.notebook import Block, Heading, as_text
from evals.outputs import Inputs
from harness.errors import Faults, UsageError
from rlvr import signature
from rlvr.commands import GROUPS, command
from rlvr.other_words import renamed
from rlvr.terminal import painted, shown

if TYPE_CHECKING:
    from rlvr.results import Result

EXIT_CODES = {
    0: "done",
    1: "something failed, or a training diverged",
    2: "the command line, a file or the store cannot be used, and nothing was lost",
    75: "stopped by a signal or `minutes=`, with everything saved. The same command resumes, so schedulers can requeue",
    129: "stopped at once by SIGHUP",
    130: "stopped at once by Ctrl-C",
    138: "stopped at once by SIGUSR1",
    141: "the program that reads the output, such as `head`, ended first",
    143: "stopped at once by SIGTERM",
}
ENVIRONMENT = {
    "RLVR_HOME": "the folder of all runs (default: `runs`, in the folder where you start)",
    "RLVR_CACHE": "the folder of files that can be downloaded or built again (default: `~/.cache/rlvr-harness`)",
    "MLFLOW_TRACKING_URI": "another MLflow store (default: a store in `RLVR_HOME`)",
    "OPENAI_API_KEY": "the key of the server of `engine=openai`",
    "RLVR_JOBS_ON_CARD": "the number of commands that share a card (default: 1)",
}
FLAGS = {
    "--json": "one JSON document on stdout and nothing else",
    "--debug": "the traceback of an error, and what libraries print",
}
SAVED = {"out=FILE.csv": "save the result, as .csv, .parquet, .tex, .md, .txt or .json"}
TRAIN = ("torch", "transformers", "trl", "peft", "accelerate", "lm_eval")  # what the extra [train] installs
LONGEST = 4000  # characters of an error message
LIMIT = "a limit on threads, processes or memory is reached (`ulimit -u`, `ulimit -v`)"
NO_THREAD = re.compile("can't start new thread|Resource temporarily unavailable|failed to map segment")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    if "_ARGCOMPLETE" in os.environ:
        from rlvr.completion import complete_line

        complete_line()
    os.umask(os.umask(0o077) | 0o002)  # files of a run are never world-writable
    threads_sleep()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except BaseException as error:  # a panic of a library in Rust is no Exception
        if isinstance(error, SystemExit):
            raise
        if "--debug" in words:
            import traceback

            from evals.redaction import redact

            print(shown(redact(traceback.format_exc())), file=sys.stderr)
        name = " ".join(["rlvr", *(word for word in words[:1] if not word.startswith("-"))])
        with suppress(MemoryError):  # a report's imports need memory
            if not isinstance(error, MemoryError):
                return _report(name, error)
        print(f"{name}: out of memory; what was finished is kept (--debug shows where)", file=sys.stderr)
        return 1


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        from harness import __version__

        print(f"rlvr-harness {__version__}")
        return 0
    if not words or words[0] == "help" or "--help" in words or "-h" in words:
        named = [word for word in words if word not in ("help", "--help", "-h")]
        stream = sys.stdout if words else sys.stderr
        print(as_text(usage(named[0]) if named else overview(), painted(stream)), file=stream)
        return 0 if words else 2
    if codecs.lookup(locale.getpreferredencoding(False)).name != "utf-8":  # libraries read and write their files in it
        raise UsageError("the encoding of this locale is not UTF-8: set PYTHONUTF8=1, or another locale")
    given = [word for word in words if word not in FLAGS]
    _name, function, (positional, keywords), save = parse(given)
    typed = signature.COMMAND_LINE.set(shlex.join(["rlvr", *words]))
    from harness.runs import libraries
    from harness.runs.track import home

    quiet = nullcontext() if "--debug" in words else libraries.apart(home() / libraries.LOG)
    try:
        with redirect_stdout(sys.stderr), quiet:  # results alone go to stdout
            result = function(*positional, **keywords)
    finally:
        signature.COMMAND_LINE.reset(typed)
    if save is not None:
        logger.info(result.save(save))
    print(shown(result.as_json()) if "--json" in words else as_text(result.blocks(), painted(sys.stdout)))
    sys.stdout.flush()
    return int(result.exit_code)


def parse(words: Sequence[str]) -> tuple[str, Callable[..., Result], tuple[list[str], dict[str, object]], str | None]:
    """(command, its function, positional and named arguments, where `out=FILE` saves the result); nothing is run.

    Raises:
        UsageError: as a run of it would before it starts anything.
    """
    if words[0].startswith("-") or "=" in words[0]:
        raise UsageError(f"{words[0]}: expected a command first. `rlvr --help` lists them")
    function = command(words[0])
    for word in words[1:]:
        if (flag := f"--{word.partition('=')[0]}") in FLAGS:
            raise UsageError(f"{word}: expected {flag}")
    _refuse_other_tools(words, signature.options(function))
    saved = [word for word in words if word.startswith("out=") and _is_saved(function, word)]
    bound = signature.bind(function, [word for word in words[1:] if word not in saved])
    save = saved[-1].removeprefix("out=") if saved else None
    if save is not None:
        Inputs.from_arguments({"": bound[0], **bound[1]}).refuse("out", Path(save))
    return words[0], function, bound, save


def _refuse_other_tools(words: Sequence[str], options: Container[str]) -> None:
    """Raise UsageError for words of another tool's command line, with ours for them."""
    faults = Faults()
    for place, word in enumerate(words[1:], 2):
        key, _, value = word.partition("=")
        option = key.removeprefix("--").replace("-", "_") if "=" in word or word.startswith("-") else ""
        runner = value or next(iter(words[place:]), "") if word.startswith("--model") else ""
        known = option in options and not runner
        with faults.gathered():
            if not known and (our_name := renamed(words[0], option, runner)):
                raise UsageError(f"{word}: no such option. Expected {our_name}")
            if faults and word.startswith("--"):  # this message and one about the same command line
                raise UsageError(f"{word}: expected key=value, as {word[2:].replace('-', '_')}={runner or '...'}")
            if words[0] == "eval" and word.endswith(".py") and "=" not in word:
                raise UsageError(f"{word}: this is a task of another tool. Type benchmarks=[NAME,...] or FILE")
    faults.refuse()


def _is_saved(function: Callable[..., object], word: str) -> bool:
    """Whether `out=FILE` saves the result: where it is no option of the function, and where the file is a table of it
    (of `rlvr grade` .jsonl is the rows with their verdicts)."""
    tables = (".csv", ".parquet", ".tex", ".md", ".txt", ".json")
    return "out" not in signature.options(function) or word.endswith(tables)


def overview() -> list[Block]:
    """Every command with one sentence, in groups."""
    lines: list[Block] = ["usage: rlvr COMMAND [key=value ...]", "", "Does the paper's number come back?", ""]
    for heading, names in GROUPS.items():
        lines.append(Heading(f"{heading}:"))
        for name in names:
            text = f"  {name:<9} {signature.summary(command(name))}"
            lines.append(fill(text, _width(), subsequent_indent=" " * 12))
    example = "Options are key=value, as in: rlvr run paper=egsw arm=grpo,egsw seeds=3 egsw.alpha=0.5"
    return [*lines, "", example, "rlvr help COMMAND shows the options of a command."]


def usage(name: str, width: int | None = None) -> list[Block]:
    """The help of one command, in lines of `width` characters (default: as the terminal has)."""
    return signature.usage(name, command(name), {} if name == "ui" else SAVED | FLAGS, width or _width())


def _width() -> int:
    return min(shutil.get_terminal_size().columns, 100)


def _report(name: str, error: BaseException) -> int:
    """Print an error as one sentence; the exit code."""
    from evals.errors import RefusedError
    from evals.redaction import redact
    from harness.runs.interrupt import Interrupted, StoppedAtOnce

    if isinstance(error, (Interrupted, StoppedAtOnce)):
        try:
            print(error, file=sys.stderr, flush=True)
        except OSError:  # its reader has gone with the signal (`2>&1 | tee`)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        return error.code
    if isinstance(error, KeyboardInterrupt) and _is_of_a_library(error):
        print(f"{name}: a library that was loaded cannot start its threads; {LIMIT}", file=sys.stderr)
        return 1
    if isinstance(error, KeyboardInterrupt):
        print(
            "interrupted; nothing that was saved is lost, and the same command goes on or begins again", file=sys.stderr
        )
        return 130
    if isinstance(error, BrokenPipeError):  # `rlvr list | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python raises again when it exits
        return 141
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"  # a file of another user, a full disk, a folder for a file
    if NO_THREAD.search(text):
        text += f"; {LIMIT}"
    text = shown(redact(text))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} ... ({len(text) - LONGEST:,} more characters)"
    if isinstance(error, RefusedError) or (isinstance(error, OSError) and error.filename is not None):
        print(f"{name}: {text}", file=sys.stderr)
        return 2
    if isinstance(error, ModuleNotFoundError) and error.name in TRAIN:
        extra = "the extra [train] has it, in a checkout: pip install '.[train]'"
        print(f"{name}: needs {error.name}, which is not installed; {extra}", file=sys.stderr)
        return 2
    print(f"{name}: {text or type(error).__name__} ({type(error).__name__}; --debug shows where)", file=sys.stderr)
    return 1


def _is_of_a_library(error: KeyboardInterrupt) -> bool:
    """Whether OpenBLAS interrupts this process, as it does when it is loaded where a limit leaves it no thread."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    code = None if last is None else last.tb_frame.f_code
    if code is None or code.co_name != "<module>" or not {"numpy", "scipy"} & {*Path(code.co_filename).parts}:
        return False
    try:
        threading.Thread(target=int).start()
    except (RuntimeError, MemoryError):
        return True
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


if __name__ == "__main__":
    sys.exit(main())

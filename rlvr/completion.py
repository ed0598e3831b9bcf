"""Completion of commands, options, names, runs by argcomplete: eval "$(register-python-argcomplete rlvr)" in bash."""

from __future__ import annotations

import argparse
from typing import Any

from rlvr import signature
from rlvr.commands import COMMANDS, command

RUNS = {"a", "b", "run", "runs"}  # options whose values are names of runs


def complete_line() -> None:
    """Answer the shell that asks for completions, and end the process."""
    import argcomplete

    parser = argparse.ArgumentParser(prog="rlvr")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("words", nargs="*").completer = candidates  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def candidates(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Words that the one which begins with `prefix` may become; argcomplete keeps those that do."""
    from harness.record.find import beginning
    from harness.spec.catalogue import papers

    known = signature.options(command(parsed_args.command))
    key, equals, value = prefix.partition("=")
    if not equals:
        runs = [folder.name for folder in beginning(prefix)] if RUNS & known.keys() else []
        return [*(f"{name}=" for name in known), *runs]
    if key in RUNS & known.keys():
        return [f"{key}={folder.name}" for folder in beginning(value)]
    names = papers() if key == "paper" else signature.choices(known[key]) if key in known else []
    return [f"{key}={name}" for name in names]

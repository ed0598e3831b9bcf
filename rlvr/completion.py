"""Completion of commands, options and names in bash, zsh and fish, by argcomplete.

eval "$(register-python-argcomplete rlvr)"        # bash; argcomplete's page has the line of other shells
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rlvr import signature
from rlvr.commands import COMMANDS, command


def complete_line() -> None:
    """Answer the shell that asks for completions, and end the process."""
    import argcomplete

    parser = argparse.ArgumentParser(prog="rlvr")
    parser.add_argument("command", choices=[*COMMANDS, "help"])
    parser.add_argument("words", nargs="*").completer = _completer  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def _completer(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return candidates(parsed_args.command, [word for word in parsed_args.words or [] if word], prefix)


def candidates(name: str, words: Sequence[str], prefix: str) -> list[str]:
    """What the word that begins with `prefix` may become.

    Args:
        words: of the command line, after the command.
    """
    if name not in COMMANDS:
        return list(COMMANDS)
    by_name = {option.name: option for option in signature.options(command(name)) if not option.any_key}
    key, equals, value = prefix.partition("=")
    if not equals:
        return [f"{option}=" for option in (*by_name, *_settings(name, words)) if option.startswith(key)]
    head = value[: max(value.rfind(","), value.rfind("[")) + 1]  # a,b of [a,b: the last of several
    option = by_name.get(key)
    choices = [str(choice) for choice in option.choices] if option is not None else []
    if option is not None and "bool" in option.kinds:
        choices = ["true", "false"]
    names = choices or _names(key, words)
    return [f"{key}={head}{choice}" for choice in names if choice.startswith(value[len(head) :])]


def _paper(words: Sequence[str]) -> Any:
    """The declaration that the words name; None without one."""
    from harness.spec import catalogue

    named = [word.removeprefix("paper=") for word in words if word.startswith("paper=")]
    return catalogue.load(named[0]) if named and named[0] in catalogue.papers() else None


def _settings(name: str, words: Sequence[str]) -> list[str]:
    """The keys of the paper's values, for commands that replace them."""
    declared = _paper(words) if name in ("run", "plan") else None
    arms = [] if declared is None else [arm for arm in declared.arms if arm.train]
    return list(dict.fromkeys(key for arm in arms for key in arm.train.settings()))


_GROUPS = {  # option -> the group of `rlvr list` that has its names
    "paper": "papers",
    "benchmark": "benchmarks",
    "benchmarks": "benchmarks",
    "protocol": "protocols",
    "backend": "backends",
    "scale": "scales",
}


def _names(option: str, words: Sequence[str]) -> list[str]:
    """The names that an option takes; none for one without names."""
    if option in _GROUPS:
        from rlvr.listing import list_

        return list(list_([_GROUPS[option]])[_GROUPS[option]])
    if option in ("arm", "arms", "model"):
        from harness.spec import catalogue

        declared = _paper(words)
        if declared is None:
            return []
        if option == "arms":
            return list(catalogue.arm_sets(declared))
        return list(declared.models) if option == "model" else list(dict.fromkeys(arm.key for arm in declared.arms))
    if option == "hardware":
        from harness.plan.profiles import PROFILES

        return [*PROFILES, "auto"]
    if option in ("policy", "policies"):
        from evals.grading.extraction import POLICIES

        return list(POLICIES)
    return []

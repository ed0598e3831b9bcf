"""Completion of commands, options, names, runs by argcomplete: eval "$(register-python-argcomplete rlvr)" in bash."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from rlvr import signature
from rlvr.commands import COMMANDS, command
from rlvr.other_words import TRAIN

RUNS = {"a", "b", "run", "runs"}  # options whose values are names of runs
GROUP = {  # option -> the group of `rlvr list` that has its names
    "backend": "backends",
    "benchmark": "benchmarks",
    "benchmarks": "benchmarks",
    "engine": "engines",
    "extraction": "policies",
    "policy": "policies",
    "prompt": "prompts",
    "protocol": "protocols",
    "scale": "scales",
}
ALSO_FILES = {"benchmarks", "examples"}  # the shell completes what is no name


def complete_line() -> None:
    """Answer the shell that asks for completions, and end the process."""
    import argcomplete

    parser = argparse.ArgumentParser(prog="rlvr")
    parser.add_argument("command", choices=[*COMMANDS, "help"])
    parser.add_argument("words", nargs="*").completer = candidates  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def candidates(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """Words that the one which begins with `prefix` may become. Argcomplete keeps those that do. Where names are
    expected and none begins so, the word itself: of none bash makes names of files."""
    from harness.record.find import beginning

    if parsed_args.command == "help":
        return list(COMMANDS)
    function = command(parsed_args.command)
    known = {name: o for name, o in signature.options(function).items() if o.kind is not o.VAR_KEYWORD}
    if parsed_args.command in TRAIN:
        known = signature.options(command("run")) | known
        known.pop("values")
    key, equals, value = prefix.partition("=")
    if not equals:
        runs = [folder.name for folder in beginning(prefix)] if RUNS & known.keys() else []
        return [*(f"{name}=" for name in known), *runs]
    if key in RUNS & known.keys():
        return [f"{key}={folder.name}" for folder in beginning(value)]
    names = _names(key.removeprefix("protocol.").removeprefix("hardware."), parsed_args.words or [])
    if names is None:
        names = signature.choices(known[key]) if key in known else []
        if not names:
            return []
    # in a list, [a,b or a,b, the last name is completed
    before = value[: max(value.rfind(","), value.rfind("[")) + 1]
    chosen = before.lstrip("[").split(",")
    candidates_found = [
        f"{key}={before}{name}" for name in names if f"{before}{name}".startswith(value) and name not in chosen
    ]
    return candidates_found or ([] if key.rpartition(".")[2] in ALSO_FILES else [prefix])


def _names(key: str, words: Iterable[str]) -> list[str] | None:
    """The names that an option takes, given the other words of the line, or None for other options."""
    from harness.spec import catalogue

    options_typed = dict(word.split("=", 1) for word in words if "=" in word)

    def papers_own(name: str) -> list[str]:
        if options_typed.get("paper") not in catalogue.papers():
            return []
        declared = catalogue.load(options_typed["paper"])
        return list(declared.models) if name == "model" else list(dict.fromkeys(arm.key for arm in declared.arms))

    def of_list() -> list[str]:
        from rlvr.listing import GROUPS, MORE

        return [*GROUPS, *MORE]

    def profiles() -> list[str]:
        from harness.plan.machine import AUTO
        from harness.plan.profiles import PROFILES

        return [*PROFILES, AUTO]

    names_by_option: dict[str, Callable[[], list[str]]] = {
        "paper": catalogue.papers,
        "arm": lambda: papers_own("arm"),
        "what": of_list,
        "hardware": profiles,
    }
    if "paper" in options_typed:  # elsewhere a path
        names_by_option["model"] = lambda: papers_own("model")
    if key in GROUP:
        from rlvr.listing import _names as listed

        return list(listed(GROUP[key]))
    return names_by_option[key]() if key in names_by_option else None

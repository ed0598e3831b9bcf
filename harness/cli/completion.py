"""`rlvr completion SHELL`: a script that completes commands, options and names in bash, zsh or fish."""

from __future__ import annotations

import re
from typing import Any

from harness.command.config import choose, no_more, parse_overrides

COMPLETION = """SHELL is bash, zsh or fish. For bash, add to ~/.bashrc:
    eval "$(rlvr completion bash)"
zsh: the same line in ~/.zshrc with zsh; fish: rlvr completion fish | source"""
SHELLS = ("bash", "zsh", "fish")
WORDS = {
    "completion": SHELLS,
    "import": ("logs",),
    "run": ("columns=",),
}  # beside what a command's help lists
_OPTION = re.compile(r"(?:^|\s)([a-z_][a-z_.]*)=(\S*)")
_WORD = re.compile(r"[a-z][a-z_\-]*")


def options(keys: str) -> dict[str, tuple[str, ...]]:
    """The options that a command's help lists, `key=`, each with the values that stand there as words."""
    found: dict[str, tuple[str, ...]] = {}
    for line in keys.splitlines():
        if re.match(r"  [a-z]", line):
            for key, value in _OPTION.findall(re.split(r"\s{3,}", line[2:])[0]):
                given = value.split("|")
                words = tuple(given) if all(_WORD.fullmatch(word) for word in given) else ()
                found[f"{key}="] = (*found.get(f"{key}=", ()), *words)
    return found


def do_completion(arguments: Any) -> int:
    from evals.data import benchmarks, protocols
    from evals.grading.extraction import POLICIES
    from harness.cli.main import COMMANDS
    from harness.command.profiles import PROFILES
    from harness.spec import catalogue

    (shell,) = choose("shell", [arguments.shell], SHELLS)
    no_more(parse_overrides(arguments.options), ())
    names = list(benchmarks.names())
    values = {
        "paper=": catalogue.papers(),
        "protocol=": sorted(protocols.PROTOCOLS),
        "benchmark=": names,
        "control=": names,
        "benchmarks=": names,
        "policy=": list(POLICIES),
        "hardware=": list(PROFILES),
        "format=": ["eee", "hf", "model-index", "inspect"],
    }
    words: dict[str, list[str]] = {}
    for command in COMMANDS:
        listed = options(command.keys)
        # `control=` is a benchmark of `rlvr probe` alone
        known = {key: own for key, own in values.items() if key != "control=" or command.name == "probe"}
        given = {key: (*own, *(v for v in known.get(key, ()) if v not in own)) or ("",) for key, own in listed.items()}
        words[command.name] = [*WORDS.get(command.name, ()), *(f"{key}{v}" for key, own in given.items() for v in own)]
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](words))
    return 0


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(f'    {command}) words="{" ".join(own)}" ;;' for command, own in words.items())
    return f"""_rlvr() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words=""
  local line=${{COMP_LINE:0:COMP_POINT}}
  current=${{line##* }}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(sorted(words))}" -- "$current")); return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # bash splits words at "=": what stands before it is typed already
  case $current in *=*) COMPREPLY=("${{COMPREPLY[@]#${{current%%=*}}=}}") ;; esac
  # a file: after "=" where no value is known, and wherever a word without "=" may stand
  case $current in
    *=*) if [ ${{#COMPREPLY[@]}} -eq 0 ]; then COMPREPLY=($(compgen -f -- "${{current##*=}}")); fi ;;
    ?*) COMPREPLY+=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o nospace -F _rlvr rlvr"""


def _zsh(words: dict[str, list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(words)


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f'complete -c rlvr -n __fish_use_subcommand -f -a "{" ".join(sorted(words))}"']
    lines += [
        f'complete -c rlvr -n "__fish_seen_subcommand_from {command}" -a "{" ".join(own)}"'
        for command, own in words.items()
    ]
    return "\n".join(lines)

"""`rlvr completion SHELL`: a script that completes commands, options and names in bash, zsh or fish.

After `paper=KEY` also the arms and models of that paper, and the values of its declaration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.command.config import no_more, parse_overrides
from harness.errors import choose

COMPLETION = """SHELL is bash, zsh or fish. For bash, add to ~/.bashrc:
    eval "$(rlvr completion bash)"
zsh: the same line in ~/.zshrc with zsh; fish: rlvr completion fish | source
It completes commands, keys and values; after paper=KEY also that paper's arms and models, and the values of its
declaration. zsh reads [ ] itself: quote lists, as in 'runs=[A,B]'."""
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
    from harness.cli.main import COMMANDS

    (shell,) = choose("shell", [arguments.shell], SHELLS)
    no_more(parse_overrides(arguments.options), ())
    listed = {command.name: options(command.keys) for command in COMMANDS}
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_cases(listed)))
    return 0


@dataclass(frozen=True)
class Case:
    """Words that may stand after some commands: after `paper=` that paper, and if `typed` only after a first letter."""

    commands: tuple[str, ...]
    words: tuple[str, ...]
    paper: str = ""
    typed: bool = False


def _cases(listed: Mapping[str, Mapping[str, tuple[str, ...]]]) -> list[Case]:
    """`listed`: command -> the options of its help. A paper adds its arms, its models and the keys of its values."""
    from harness.backends import backend
    from harness.command.resolve import BACKENDS
    from harness.launch.launcher import KEYS
    from harness.spec import catalogue

    values = _values()
    cases = []
    for name, keys in listed.items():
        given = {key: (*own, *(v for v in values.get(key, ()) if v not in own)) or ("",) for key, own in keys.items()}
        own = tuple(f"{key}{value}" for key, some in given.items() for value in some)
        cases.append(Case((name,), (*WORDS.get(name, ()), *own)))
    trained = tuple(name for name, keys in listed.items() if "arms=" in keys)
    of_arms = tuple(name for name, keys in listed.items() if {"paper=", "arm=", "model="} <= set(keys))
    machine = (
        *(f"hardware.{key}=" for name in BACKENDS for key in backend(name).hardware.help()),
        *(f"launcher.{key}=" for keys in KEYS.values() for key in keys),
    )
    cases.append(Case(trained, tuple(dict.fromkeys(machine)), typed=True))
    for paper in catalogue.papers():
        declared = catalogue.load(paper)
        arms = dict.fromkeys(f"arm={arm.key}" for arm in declared.arms)
        cases.append(Case(of_arms, (*arms, *(f"model={model}" for model in declared.models)), paper))
        sets = tuple(f"arms={name}" for name in catalogue.arm_sets(declared))
        settings = dict.fromkeys(f"{key}=" for arm in declared.arms if arm.train for key in arm.train.settings())
        cases += [Case(trained, sets, paper), Case(trained, tuple(settings), paper, typed=True)]
    return cases


def _values() -> dict[str, list[str]]:
    """Option -> the names that may stand after it."""
    from evals.data import benchmarks, protocols
    from evals.grading.extraction import POLICIES
    from harness.plan.profiles import PROFILES
    from harness.spec import catalogue
    from harness.spec.controls import CONTROLS

    names = list(benchmarks.names())
    return {
        "paper=": catalogue.papers(),
        "protocol=": sorted(protocols.PROTOCOLS),
        "benchmark=": names,
        "benchmarks=": names,
        "control=": list(CONTROLS),
        "policy=": list(POLICIES),
        "policies=": list(POLICIES),
        "hardware=": list(PROFILES),
        "format=": ["eee", "hf", "model-index", "inspect"],
    }


def _words(cases: list[Case]) -> str:
    """A function for bash and for zsh that prints the words after COMMAND, given LINE and the word typed so far."""
    lines = []
    for case in cases:
        paper = f"*' paper={case.paper} '*" if case.paper else "*"
        typed = '[ -z "$3" ] || ' if case.typed else ""
        inner = f'case " $2 " in {paper}) {typed}echo "{" ".join(case.words)}" ;; esac'
        lines.append(f"  case $1 in {'|'.join(case.commands)}) {inner} ;; esac")
    return "_rlvr_words() {\n" + "\n".join(lines) + "\n}\n"


def _commands(cases: list[Case]) -> str:
    return " ".join(sorted({name for case in cases for name in case.commands}))


def _bash(cases: list[Case]) -> str:
    return (
        _words(cases)
        + f"""_rlvr() {{
  local line=${{COMP_LINE:0:$COMP_POINT}}
  local current=${{line##* }} key="" head="" item
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{_commands(cases)}" -- "$current")); return
  fi
  case $current in *=*) key=${{current%%=*}}= ;; esac
  item=${{current#"$key"}}
  case $item in *[,[]*) head=${{item%"${{item##*[,[]}}"}}; item=${{item##*[,[]}} ;; esac # a, b of [a, b
  COMPREPLY=($(compgen -X "$key" -W "$(_rlvr_words "${{COMP_WORDS[1]}}" "$COMP_LINE" "$current")" -- "$key$item"))
  COMPREPLY=("${{COMPREPLY[@]#"$key"}}")
  # a file: after "=" where no value is known, and wherever a word without "=" may stand
  case $current in
    *=*) [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$item")) ;;
    ?*) COMPREPLY+=($(compgen -f -- "$current")) ;;
  esac
  # bash splits words at "=": what stands before it is not part of the reply
  case $COMP_WORDBREAKS in *=*) ;; *) head=$key$head ;; esac
  if [ -n "$head" ]; then COMPREPLY=("${{COMPREPLY[@]/#/$head}}"); fi
}}
complete -o nospace -F _rlvr rlvr"""
    )


def _zsh(cases: list[Case]) -> str:
    return (
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
        + _words(cases)
        + rf"""_rlvr() {{
  local key=""
  if (( CURRENT == 2 )); then compadd -- {_commands(cases)}; return; fi
  [[ $PREFIX == *=* ]] && key="${{PREFIX%%=*}}="
  local -a all=($(_rlvr_words "$words[2]" "$BUFFER" "$PREFIX"))
  if [[ -z $key ]]; then compadd -S '' -- $all; _files; return; fi
  compset -P '*[=,\[]'
  all=(${{${{(M)all:#$key*}}#$key}})
  if [[ -n "$all" ]]; then compadd -S '' -- $all; else _files; fi
}}
compdef _rlvr rlvr"""
    )


def _fish(cases: list[Case]) -> str:
    lines = [f'complete -c rlvr -n __fish_use_subcommand -f -a "{_commands(cases)}"']
    for case in cases:
        tests = [f"__fish_seen_subcommand_from {' '.join(case.commands)}"]
        tests += [f"string match -q '* paper={case.paper} *' (commandline)"] if case.paper else []
        tests += ["string length -q (commandline -ct)"] if case.typed else []
        lines.append(f'complete -c rlvr -n "{"; and ".join(tests)}" -a "{" ".join(case.words)}"')
    return "\n".join(lines)

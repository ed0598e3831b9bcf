"""`rlvr completion SHELL`: a script that completes commands, options and names in bash, zsh or fish."""

from __future__ import annotations

from typing import Any

from harness.command.config import choose, no_more, parse_overrides

COMPLETION = """SHELL is bash, zsh or fish. For bash, add to ~/.bashrc:
    eval "$(rlvr completion bash)"
zsh: the same line in ~/.zshrc with zsh; fish: rlvr completion fish | source"""
SHELLS = ("bash", "zsh", "fish")
KEYS = {
    "run": (
        "paper=",
        "arm=",
        "model=",
        "scale=",
        "backend=",
        "seeds=",
        "data_dir=",
        "max_steps=",
        "launcher=local",
        "launcher=slurm",
        "launcher=ray",
        "jobs=",
        "data=",
        "columns=",
    ),
    "reproduce": ("budget=", "hardware=", "power=", "run=true"),
    "batch": ("launcher=local", "launcher=slurm", "launcher=ray", "jobs="),
    "eval": (
        "model=",
        "protocol=",
        "out=",
        "data_dir=",
        "benchmarks=",
        "n=",
        "seed=",
        "engine=",
        "tools=",
        "stop=decided",
        "against=",
        "versus=",
    ),
    "grade": ("out=", "answers=true", "ks=", "workers=", "limit="),
    "compare": ("metrics=", "ks=", "benchmarks=", "figure=", "allow_different=true", "seed="),
    "power": ("difference=", "benchmark=", "problems=", "samples=", "seeds=", "from=", "versus="),
    "analyze": ("runs=", "checkpoints=", "names=", "benchmarks=", "only=", "out=", "protocol="),
    "report": ("paper=", "scale=", "model=", "arm=", "only=", "out="),
    "tables": ("paper=", "out=", "policies=", "check="),
    "probe": ("model=", "benchmark=", "control=", "shares=", "rows=", "max_tokens=", "data_dir=", "engine="),
    "list": ("what=",),
    "status": ("paper=",),
    "ui": ("port=", "host="),
}
KEYS |= {"plan": KEYS["run"], "config": KEYS["run"], "new": (), "show": ("policies=",), "completion": SHELLS}


def do_completion(arguments: Any) -> int:
    from evals.data import benchmarks, protocols
    from harness.spec import catalogue

    (shell,) = choose("shell", [arguments.shell], SHELLS)
    no_more(parse_overrides(arguments.options), ())
    values = {
        "paper=": catalogue.papers(),
        "protocol=": sorted(protocols.PROTOCOLS),
        "benchmark=": list(benchmarks.names()),
        "control=": list(benchmarks.names()),
        "benchmarks=": list(benchmarks.names()),
        "scale=": ["tiny", "paper"],
        "backend=": ["trl", "verl"],
    }
    words = {
        command: [f"{key}{value}" for key in keys for value in values.get(key, [""])] for command, keys in KEYS.items()
    }
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
  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then COMPREPLY=($(compgen -f -- "${{current##*=}}")); fi
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

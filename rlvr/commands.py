"""The commands: their names, in groups, and the function of `rlvr` that each one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rlvr
from evals.suggest import expected
from harness.errors import UsageError

GROUPS = {  # heading -> command -> the function of `rlvr`
    "papers and runs": {"list": "list_", "show": "show", "ui": "ui"},
    "train": {"plan": "plan", "config": "config", "rehearse": "rehearse", "run": "run", "new": "new"},
    "measure": {"eval": "evaluate", "grade": "grade", "audit": "audit"},
    "compare": {"compare": "compare", "power": "power", "seeds": "seeds", "aa": "aa"},
    "write": {"tables": "tables", "report": "report", "page": "page", "analyze": "analyze"},
    "exchange": {
        "export": "export",
        "bundle": "bundle",
        "import": "import_",
        "verify": "verify",
        "curves": "curves",
        "sync": "sync",
    },
}
MEANT = {"status": "show", "train": "run", "evaluate": "eval"}  # in other tools
MOVED = {  # (command, option) of before -> the command that it is now
    ("power", "aa"): "aa",
    ("power", "paper"): "seeds",
    ("run", "rehearse"): "rehearse",
    ("plan", "config"): "config",
    ("export", ""): "bundle",  # a word alone
    ("export", "run"): "bundle",
    ("export", "format"): "sync",
    ("import", "verify"): "verify",
    ("import", "name"): "curves",
    ("import", "columns"): "curves",
}
TRAIN, MEASURE = ("run", "plan", "config", "rehearse"), ("eval",)
ELSEWHERE = {  # commands -> option of other tools (lm-eval, lighteval, inspect, TRL, veRL) -> ours
    MEASURE: {
        "tasks": "benchmarks=[NAME,...]",
        "limit": "rows=N, the first N problems",
        "num_samples": "n=N",
        "model_args": "model=PATH and engine.KEY=VALUE",
        "pretrained": "model=PATH",
        "gen_kwargs": "temperature=, top_p=, max_tokens=, each of its own",
        "max_gen_toks": "max_tokens=N",
        "max_new_tokens": "max_tokens=N",
        "batch_size": "engine.batch_rows=N",
        "output_path": "out=FOLDER",
        "output_dir": "out=FOLDER",
        "log_dir": "out=FOLDER",
        "log_samples": "nothing: samples and verdicts are always kept",
        "apply_chat_template": "prompt=NAME: a prompt says whether it goes through the chat template",
        "tensor_parallel_size": "engine.tensor_parallel=N with engine=vllm",
        "base_url": "engine=openai engine.url=URL",
        "gguf_file": "model=FOLDER, which `python -m evals.gguf FILE FOLDER` makes of a GGUF file",
    },
    TRAIN: {
        "lr": "learning_rate=X",
        "beta": "kl_beta=X",
        "kl_coef": "kl_beta=X",
        "epsilon": "clip_low=X clip_high=X",
        "epsilon_high": "clip_high=X",
        "clip_ratio": "clip_low=X clip_high=X",
        "num_generations": "group_size=N",
        "num_rollouts": "group_size=N",
        "rollout_n": "group_size=N",
        "train_batch_size": "prompts_per_rollout=N",
        "per_device_train_batch_size": "hardware.micro_batch=N",
        "gradient_accumulation_steps": "prompts_per_rollout=N and updates_per_rollout=N",
        "max_completion_length": "max_completion_tokens=N",
        "max_response_length": "max_completion_tokens=N",
        "max_prompt_length": "max_prompt_tokens=N",
        "temperature": "rollout_temperature=X",
        "top_p": "rollout_top_p=X",
        "num_train_epochs": "epochs=X",
        "model_name_or_path": "base_model=PATH",
        "gguf_file": "base_model=FOLDER, which `python -m evals.gguf FILE FOLDER` makes of a GGUF file",
        "train_files": "data=FILE",
        "output_dir": "the environment variable RLVR_HOME",
        "vllm_gpu_memory_utilization": "hardware.vllm_gpu_memory=X",
        "save_freq": "hardware.save_every=N",
        "save_steps": "hardware.save_every=N",
        "test_freq": "eval.every=N",
        "reward_funcs": "rewards=FILE.py:FUNCTION",
    },
}
COMMANDS = {name: function for group in GROUPS.values() for name, function in group.items()}


def command(name: str) -> Callable[..., Any]:
    """The function of a command.

    Raises:
        UsageError: there is none.
    """
    if name not in COMMANDS:
        hint = f"did you mean 'rlvr {MEANT[name]}'?" if name in MEANT else expected(name, COMMANDS)
        raise UsageError(f"no such command; {hint}")
    function: Callable[..., Any] = getattr(rlvr, COMMANDS[name])
    return function


def renamed(name: str, option: str) -> str | None:
    """What to write for an option that a command had before, or that other tools have; None: it is not known so."""
    if now := MOVED.get((name, option)):
        return f"the command rlvr {now}, see rlvr help {now}"
    return next(
        (theirs[option] for commands, theirs in ELSEWHERE.items() if name in commands and option in theirs), None
    )

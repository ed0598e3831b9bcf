"""The settings that a console log of veRL states."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evals.audit.console import NUMBER

_NUMBER = re.compile(NUMBER)
_VERL_SETTINGS = {
    "data.train_batch_size": "prompts_per_rollout",
    "data.max_prompt_length": "max_prompt_tokens",
    "data.max_response_length": "max_completion_tokens",
    "actor_rollout_ref.model.path": "base_model",
    "actor_rollout_ref.model.lora_rank": "lora_rank",
    "actor_rollout_ref.actor.optim.lr": "learning_rate",
    "actor_rollout_ref.actor.clip_ratio_low": "clip_low",
    "actor_rollout_ref.actor.clip_ratio_high": "clip_high",
    "actor_rollout_ref.actor.kl_loss_coef": "kl_beta",
    "actor_rollout_ref.actor.entropy_coeff": "entropy_coefficient",
    "actor_rollout_ref.rollout.n": "group_size",
    "actor_rollout_ref.rollout.temperature": "rollout_temperature",
    "actor_rollout_ref.rollout.top_p": "rollout_top_p",
    "actor_rollout_ref.actor.grad_clip": "max_grad_norm",
    "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio": "warmup_ratio",
    "actor_rollout_ref.actor.optim.weight_decay": "weight_decay",
    "actor_rollout_ref.actor.loss_agg_mode": "aggregation",
    "trainer.total_epochs": "epochs",
}
_VERL_WORDS = {"token-mean": "token_mean", "seq-mean-token-mean": "sequence_mean", "seq-mean-token-sum": "sequence_sum"}
_VERL_UPDATES = (
    "data.train_batch_size",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.actor.ppo_epochs",
)


def verl_settings(text: str) -> dict[str, Any]:
    """The settings that a console log of veRL states, in the configuration that it prints and in its command, by the
    names of a declaration; {} without any."""
    given = dict(re.findall(r"(?:^|\s)'?([a-z_]+(?:\.\w+)+)=([^\s'\\]+)", text))
    given = {key: str(value) for key, value in _configuration(text).items()} | given
    numbers = {key: _as_number(value) for key, value in given.items()}
    settings = {setting: numbers[verl_name] for verl_name, setting in _VERL_SETTINGS.items() if verl_name in numbers}
    if str(numbers.get("actor_rollout_ref.actor.use_kl_loss")).lower() == "false":
        settings["kl_beta"] = 0.0
    rollout, update, epochs = map(numbers.get, _VERL_UPDATES)
    if isinstance(rollout, int) and isinstance(update, int) and update >= 1:
        settings["updates_per_rollout"] = math.ceil(rollout / update) * (epochs if isinstance(epochs, int) else 1)
    return settings


def _as_number(text: str) -> int | float | str:
    if not _NUMBER.fullmatch(text):
        return _VERL_WORDS.get(text, text)
    return int(text) if text.isdigit() else float(text)


_BEGINS = re.compile(r"\{'(?:actor_rollout_ref|algorithm|critic|data|trainer|ray_init|ray_kwargs)':")


def _configuration(text: str) -> dict[str, object]:
    """The configuration that veRL prints as Python's dictionary when it starts, by dotted keys; {} without one."""
    plain = re.sub(r"(?m)^(?:\x1b\[\d+m)*\(\w+ pid=\d+[^)]*\)(?:\x1b\[\d+m)* ?", "", text)
    begin = _BEGINS.search(plain)
    if begin is None:
        return {}
    depth, end = 0, len(plain)
    for brace in re.finditer(r"[{}]", plain[begin.start() :]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            end = begin.start() + brace.end()
            break
    try:
        return dict(_dotted("", ast.literal_eval(plain[begin.start() : end])))
    except (ValueError, SyntaxError):  # cut, or mixed with other lines
        return {}


def _dotted(before: str, values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _dotted(f"{before}{key}.", value)
        elif value is not None:
            yield f"{before}{key}", value

"""veRL's own schema: our values inside its whole configuration, checked by veRL itself. Needs veRL installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING

from harness.errors import UsageError

if TYPE_CHECKING:
    from omegaconf import DictConfig

# keys that veRL reads but does not list: dictionaries that are empty or absent by default
OPEN = (
    "actor_rollout_ref.model.override_config.",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision",
    "actor_rollout_ref.ref.fsdp_config.mixed_precision",
    "critic.fsdp.mixed_precision",
    "reward.custom_reward_function.reward_kwargs",
    "trainer.v1.sampler.sampler_kwargs",
    "actor_rollout_ref.rollout.enable_sleep_mode",
)


def compose(values: Mapping[str, object]) -> DictConfig:
    """veRL's default configuration with `values` (dotted keys) in it.

    Raises:
        UsageError: a key that veRL does not have (it is named).
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError

    config = deepcopy(_defaults())
    for key, value in values.items():
        try:
            OmegaConf.update(config, key, value, merge=False, force_add=key.startswith(OPEN))
        except (ConfigAttributeError, ConfigKeyError) as error:
            raise UsageError(f"veRL's configuration has no {key!r} ({error})") from error
    return config


@cache
def _defaults() -> DictConfig:
    """veRL's own configuration, read from its many files once."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from omegaconf import OmegaConf

    with initialize_config_module("verl.trainer.config", version_base=None):
        config: DictConfig = hydra_compose("ppo_trainer")
    OmegaConf.set_struct(config, True)
    return config


def validate(config: DictConfig) -> None:
    """Raise veRL's error for a configuration that it would refuse. This also builds its dataclasses."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = deepcopy(config)
    # building these loads the model's files, which a dry run does not have: plain dictionaries are only read
    for model in (config.actor_rollout_ref.model, config.critic.model):
        OmegaConf.set_struct(model, False)
        model.pop("_target_")
    with redirect_stdout(sys.stderr):  # it prints success messages there. Our stdout is for results
        validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    for section in ("actor_rollout_ref.actor", "actor_rollout_ref.rollout"):
        node = config
        for part in section.split("."):
            node = node[part]
        omega_conf_to_dataclass(node)

"""Drives the update step of a copy of veRL."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from unittest import mock

import torch
from torch import Tensor

from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.drivers import Driven, Settings, no_gpu
from benchmarks.released.script import arguments
from benchmarks.released.stubs import Stubs, load

if TYPE_CHECKING:
    from omegaconf import DictConfig

CLIPS = ("clip_ratio_low", "clip_ratio_high", "loss_agg_mode", "entropy_coeff", "use_kl_loss")


class Rows(dict[str, Tensor]):
    """The little of tensordict.TensorDict and verl.DataProto that an update step asks for."""

    def __init__(self, tensors: Mapping[str, Tensor], meta: Mapping[str, object]) -> None:
        super().__init__(tensors)
        self.meta_info = dict(meta)
        self.non_tensor_batch: dict[str, list[str]] = {}

    @property
    def batch(self) -> Rows:
        return self

    @property
    def batch_size(self) -> tuple[int]:
        return (len(next(iter(self.values()))),)

    def __len__(self) -> int:
        return self.batch_size[0]

    def select(self, *keys: str, batch_keys: list[str] | None = None, non_tensor_batch_keys: object = None) -> Rows:
        return Rows({key: self[key] for key in (batch_keys or keys)}, self.meta_info)

    def split(self, size: int) -> list[Rows]:
        starts = range(0, len(self), size)
        return [Rows({k: v[at : at + size] for k, v in self.items()}, self.meta_info) for at in starts]

    def to(self, *_: object, **__: object) -> Rows:
        return self

    def contiguous(self) -> Rows:
        return self


class _Idle:
    """In place of the model and the optimiser."""

    def train(self) -> None: ...
    def eval(self) -> None: ...
    def zero_grad(self) -> None: ...
    def step(self) -> None: ...


def plain(drawn: Drawn) -> dict[str, Tensor]:
    """No further columns."""
    return {}


@dataclass(frozen=True)
class VerlActor:
    """`DataParallelPPOActor.update_policy` of a copy of veRL, with its own yaml and its run script's arguments.

    Args:
        script: path of the run script. entry: what its command runs.
        shown: keys of the actor's configuration that the page prints, before those of CLIPS.
        folder: of veRL in the checkout. yaml: folder of the configuration in it, and its name.
        overrides: further hydra arguments, for a control. The page prints them.
        left_out: keys of arguments that the script's own yaml refuses. The page prints them.
        typed: the worker converts the configuration with `omega_conf_to_dataclass` before the actor sees it.
        columns: further columns of the batch, as the authors' trainer adds them. meta: likewise, of meta_info.
        forward: what the forward pass gives, from the rows of the batch: by default (entropies, log-probabilities).
        discarded: functions whose effect is dropped, such as "torch.save", because the update step writes files.
        prepared: (core_algos, the actor's configuration, the columns, the batch): adds in place what the trainer adds.
    """

    script: str
    entry: str
    shown: tuple[str, ...]
    folder: str = "."
    yaml: tuple[str, str] = ("verl/trainer/config", "ppo_trainer")
    overrides: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    typed: bool = False
    columns: Callable[[Drawn], dict[str, Tensor]] = plain
    meta: Settings = ()
    forward: Callable[[Drawn], object] = lambda rows: (rows.entropies, rows.logp)
    discarded: tuple[str, ...] = ()
    prepared: Callable[[ModuleType, DictConfig, Rows, Drawn], None] | None = None

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        home = (root / self.folder).resolve()
        module = load("verl.workers.actor.dp_actor", [home], stubs)
        text = (root / self.script).read_text(encoding="utf-8")
        words = [word for word in arguments(text, self.entry) if "=" in word and not word.startswith("-")]
        words = [word for word in words if key_of(word) not in self.left_out]
        self._refuse_unknown(words)
        core = __import__("verl.trainer.ppo.core_algos", fromlist=["core_algos"])

        configurations: dict[tuple[int, int], DictConfig] = {}

        def gradient(drawn: Drawn, passes: int) -> Tensor:
            size = (len(drawn.rewards) // 2, passes)
            if size not in configurations:  # composing takes longer than the update step
                configurations[size] = self._config(home, words, *size)
            config = configurations[size]
            for key in (*self.shown, *CLIPS):
                driven.values[key] = str(_value(config, key))
            with ExitStack() as stack:
                no_gpu(stack)
                for name in self.discarded:
                    stack.enter_context(mock.patch(name, return_value=None))
                return self._updated(module.DataParallelPPOActor, core, config, drawn)

        return gradient

    def _refuse_unknown(self, words: list[str]) -> None:
        """A value that only the shell of the authors knows must not be one that the loss reads."""
        overridden = {key_of(word) for word in self.overrides}
        for word in words:
            read = key_of(word).startswith(("actor_rollout_ref.actor.", "algorithm."))
            if read and "$" in word and key_of(word) not in overridden:
                raise ValueError(f"{self.script}: the value of {word} is not known without running the script")

    def _config(self, home: Path, words: list[str], step: int, passes: int) -> DictConfig:
        from hydra import compose, initialize_config_dir

        sizes = {
            "use_dynamic_bsz": False,
            "ppo_mini_batch_size": step,
            "ppo_micro_batch_size_per_gpu": step // passes,
            "use_torch_compile": False,
            "ulysses_sequence_parallel_size": 1,
        }
        given = [_quoted(word) for word in words]
        # Only these sizes may be new keys: an old yaml may lack one. The authors' own arguments must exist in it.
        size_options = [f"++actor_rollout_ref.actor.{key}={value}" for key, value in sizes.items()]
        os.chdir(home)  # recipes name their search path relative to it
        with initialize_config_dir(str(home / self.yaml[0]), version_base=None):
            composed = compose(self.yaml[1], overrides=[*given, *size_options, *self.overrides])
        actor = composed.actor_rollout_ref.actor
        if not self.typed:
            from omegaconf import OmegaConf

            OmegaConf.set_struct(actor, False)  # as after the worker's open_dict
            return actor
        convert = __import__("verl.utils.config", fromlist=["config"]).omega_conf_to_dataclass
        return convert(actor)

    def _updated(self, actor_class: type, core: ModuleType, config: DictConfig, drawn: Drawn) -> Tensor:
        batch, leaves = drawn.with_gradient()
        actor = object.__new__(actor_class)
        actor.__dict__.update(
            config=config,
            actor_module=_Idle(),
            actor_optimizer=_Idle(),
            ulysses_sequence_parallel_size=1,
            device_name="cpu",
            use_remove_padding=False,
            use_ulysses_sp=False,
            use_fused_kernels=False,
            use_prefix_grouper=False,
            scaler=None,
            param_dtype=torch.float64,
            _forward_micro_batch=lambda micro_batch, *_, **__: self.forward(batch.rows(micro_batch["responses"][:, 0])),
            _optimizer_step=lambda *_, **__: torch.tensor(0.0),
        )
        meta = {"temperature": 1.0, "multi_turn": False, **dict(self.meta)}
        rows = Rows(verl_columns(drawn) | self.columns(drawn), meta)
        if self.prepared:
            self.prepared(core, config, rows, drawn)
        actor.update_policy(data=rows)
        return flat_gradient(leaves)


def key_of(word: str) -> str:
    """The key of a hydra argument."""
    return word.split("=", 1)[0].lstrip("+~")


def _value(config: object, key: str) -> object:
    """A key of the actor's configuration, dots between levels. "absent" where it has none."""
    for part in key.split("."):
        config = config.get(part, "absent") if hasattr(config, "get") else getattr(config, part, "absent")
    return config


def _quoted(word: str) -> str:
    """A placeholder such as <train_data_path> is no value in hydra's grammar, so it is put in quotes."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if "$" not in word:
        try:
            OverridesParser.create().parse_override(word)
            return word
        except HydraException:
            pass
    key, value = word.split("=", 1)
    return key + "='" + value.replace("'", "\\'") + "'"


def verl_columns(drawn: Drawn) -> dict[str, Tensor]:
    """The columns of veRL's batch. `responses` holds the number of the row, so that the forward pass finds it."""
    rows, length = drawn.mask.shape
    numbers = torch.arange(rows)[:, None].expand(rows, length).clone()
    mask = drawn.mask.long()
    whole = torch.cat([torch.ones(rows, 1, dtype=torch.long), mask], 1)
    zeros = torch.zeros_like(drawn.old_logp)
    return {
        "responses": numbers,
        "prompts": numbers[:, :1],
        "input_ids": torch.cat([numbers[:, :1], numbers], 1),
        "attention_mask": whole,
        "loss_mask": whole,
        "position_ids": torch.zeros(rows, length + 1, dtype=torch.long),
        "response_mask": mask,
        "old_log_probs": drawn.old_logp.clone(),
        "ref_log_prob": drawn.old_logp.clone(),
        "advantages": drawn.advantages.clone(),
        "token_level_scores": zeros,
        "sft_mask": zeros.clone(),
    }

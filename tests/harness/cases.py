"""Each method with its slow version, for the tests that go through a trainer. A new method adds one `Case`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from evals.provenance import assumed
from harness.batch import TokenBatch
from harness.spec import Method, use
from reproductions.egsw.method import egsw
from reproductions.entropy_advantage.method import entropy_advantage
from reproductions.erpo.method import erpo
from reproductions.trial_and_error.method import position_advantage, ppl_advantage
from tests.baselines.test_grpo import slow_grpo
from tests.experiments import GRPO
from tests.reproductions.test_egsw import slow_egsw
from tests.reproductions.test_entropy_advantage import slow_entropy_advantage
from tests.reproductions.test_erpo import slow_erpo
from tests.reproductions.test_trial_and_error import slow_position_advantage, slow_ppl_advantage

WHY = "a test"


@dataclass(frozen=True)
class Slow:
    """What the slow version makes of a batch that holds GRPO's advantages (from loops too), all [B, T].

    None: as they are (advantages), or 1 (weights, gates), or 0 (penalties) everywhere.
    """

    advantages: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    gates: torch.Tensor | None = None
    penalties: torch.Tensor | None = None


@dataclass(frozen=True)
class Case:
    """A method, its slow version, and what the experiment needs besides (clip_high, say)."""

    method: Method
    slow: Callable[[TokenBatch], Slow]
    values: tuple[tuple[str, Any], ...] = ()


def with_grpo(batch: TokenBatch) -> TokenBatch:
    """The batch with GRPO's advantages in float64, by loops."""
    advantages = torch.tensor(slow_grpo(batch, "sample", 1e-4), dtype=torch.float64).unsqueeze(1) * batch.mask
    return batch.with_advantages(advantages)


def sourced(**values: Any) -> dict[str, Any]:
    return {key: assumed(value, WHY) for key, value in values.items()}


EGSW: dict[str, Any] = {
    "alpha": 0.7,
    "temperature": 1.3,
    "level": "step",
    "entropy": "min_max",  # log_vocab is left to the method's own test: the loops' VOCAB is not the model's
    "over": "batch",
    "rescale": "none",
}
TRAJECTORY = {**EGSW, "level": "trajectory", "entropy": "z_score", "over": "group", "rescale": "mean_one"}

PPL: dict[str, Any] = {"alpha": 0.3, "sign": -1, "statistics": "as_printed"}
PPL_RELEASED = {**PPL, "sign": 1, "statistics": "as_released"}
POSITION: dict[str, Any] = {"gamma": 0.7, "d": 1.0, "m": 15.0, "n": 0.5, "bound": 0.5, "first_step": 0, "steps": 1}
POSITION_PRINTED = {**POSITION, "n": -0.5, "bound": None}

ERPO: dict[str, Any] = {
    **{"beta_p": 0.1, "gamma": 5.0, "eta": 0.7, "buckets": 3},
    **{"sigma_target": 1.0, "delta": 1e-4, "std": "sample"},
}

CASES = {
    "grpo": Case(GRPO, lambda _: Slow()),
    "egsw-step": Case(
        replace(GRPO, weights=(use(egsw, **sourced(**EGSW)),)), lambda b: Slow(weights=slow_egsw(b, **EGSW))
    ),
    "egsw-trajectory": Case(
        replace(GRPO, weights=(use(egsw, **sourced(**TRAJECTORY)),)), lambda b: Slow(weights=slow_egsw(b, **TRAJECTORY))
    ),
    "entropy_advantage": Case(
        replace(GRPO, shaping=(use(entropy_advantage, **sourced(alpha=0.4, kappa=2.0)),)),
        lambda b: Slow(advantages=slow_entropy_advantage(b, 0.4, 2.0)),
    ),
    "ppl_advantage": Case(
        replace(GRPO, shaping=(use(ppl_advantage, **sourced(**PPL)),)),
        lambda b: Slow(advantages=slow_ppl_advantage(b, **PPL)),
    ),
    "ppl_advantage-released": Case(
        replace(GRPO, shaping=(use(ppl_advantage, **sourced(**PPL_RELEASED)),)),
        lambda b: Slow(advantages=slow_ppl_advantage(b, **PPL_RELEASED)),
    ),
    "position_advantage": Case(
        replace(GRPO, shaping=(use(position_advantage, **sourced(**POSITION)),)),
        lambda b: Slow(advantages=slow_position_advantage(b, **POSITION)),
    ),
    "position_advantage-printed": Case(
        replace(GRPO, shaping=(use(position_advantage, **sourced(**POSITION_PRINTED)),)),
        lambda b: Slow(advantages=slow_position_advantage(b, **POSITION_PRINTED)),
    ),
    "erpo": Case(
        replace(GRPO, aggregation=assumed("token_mean", WHY), shaping=(use(erpo, **sourced(**ERPO)),)),
        lambda b: Slow(advantages=slow_erpo(b, **ERPO)),
    ),
}

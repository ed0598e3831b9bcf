"""One optimiser step of each method through TRL and through veRL: the same loss, gradient and metrics.

Both get the same prompts, responses, rewards, weights of the model, and log-probabilities of the sampling and of the
reference policy. Everything after that is the trainer's own. veRL's side has no Ray (`local_verl`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.needs_verl import need_verl

need_verl()

from harness.step.spread import SPREAD_METRICS  # noqa: E402
from tests.harness.backends.test_trl_trainer import declared_with, fast, make_trainer, rollout  # noqa: E402
from tests.harness.cases import CASES  # noqa: E402
from tests.parity.local_verl import make_worker, step  # noqa: E402
from tests.parity.rows import VERL, verl_rows  # noqa: E402

RELATIVE = 1e-5  # float32
METRICS = (
    "train/reward",
    "train/reward_std",
    "train/zero_variance_groups",
    "train/accuracy",
    "train/shaping_ratio",
    "train/response_length_positive",
    *SPREAD_METRICS,
)


@pytest.fixture(scope="module")
def worker(random_model: Path) -> Any:
    return make_worker(random_model)


def same_step(
    declared: Any, trainer: Any, fixed: Any, rows: Any, worker: Any, model: Path, out: Path, **how: Any
) -> tuple[dict[str, float], dict[str, float]]:
    """Compare loss and gradient of one step on `fixed` (TRL) and `rows` (veRL). Returns each one's metrics."""
    loss, _ = fast(trainer, fixed)
    line = step(declared, rows, worker, model, out=out, **how)
    assert line["metrics"]["train/loss"] == pytest.approx(loss, rel=RELATIVE)
    verl_gradients = worker.engine.gradients
    trl_gradients = {n: p.grad for n, p in trainer.model.named_parameters()}
    assert verl_gradients.keys() == trl_gradients.keys()
    scale = max(float(gradient.abs().max()) for gradient in trl_gradients.values())
    assert scale > 0
    for key, gradient in trl_gradients.items():
        torch.testing.assert_close(verl_gradients[key], gradient, rtol=RELATIVE, atol=RELATIVE * scale, msg=key)
    return {key: values[-1] for key, values in trainer._metrics["train"].items() if values}, line["metrics"]


@pytest.mark.parametrize("micro_batch", [None, 2], ids=["whole", "micro-batches"])
@pytest.mark.parametrize("name", VERL)
def test_a_step_is_the_same_through_both_backends(
    name: str, micro_batch: int | None, worker: Any, random_model: Path, tmp_path: Path
) -> None:
    declared = declared_with(CASES[name])
    trainer = make_trainer(declared, random_model, tmp_path, micro_batch)
    fixed = rollout(trainer.model.config.vocab_size, declared)
    # number 1: an update after the first, so that the policy is not the one that sampled
    trainer.state.global_step = 1
    how: dict[str, Any] = {"number": 1, "micro_batch": micro_batch}
    logged, verls = same_step(declared, trainer, fixed, verl_rows(fixed), worker, random_model, tmp_path, **how)
    for metric in METRICS:
        if metric in logged:
            assert verls[metric] == pytest.approx(logged[metric], rel=RELATIVE, abs=1e-7), metric
    assert verls["train/entropy"] == pytest.approx(logged["train/entropy"], rel=RELATIVE)
    if "sampling_per_token_logps" in fixed:
        assert logged["train/mismatch_max_logp_gap"] > 0.3 and 0 < logged["train/mismatch_ess"] < 1


def test_the_likeliest_tokens_are_the_same_without_padding(random_model: Path, tmp_path: Path) -> None:
    """veRL's usual pass packs the responses. At a rollout's first update no pass precedes it."""
    declared = declared_with(CASES["simko"])
    trainer = make_trainer(declared, random_model, tmp_path, 2)
    fixed = rollout(trainer.model.config.vocab_size, declared)
    packed = make_worker(random_model, packed=True)
    same_step(declared, trainer, fixed, verl_rows(fixed), packed, random_model, tmp_path, number=0, micro_batch=2)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("reward", "step 2: reward is inf"), ("weight", "step 2: loss is nan")],
)
def test_a_step_that_is_not_finite_stops_verl(
    fault: str, message: str, worker: Any, random_model: Path, tmp_path: Path
) -> None:
    from harness.step.finite import Diverged, raise_left_word

    declared = declared_with(CASES["grpo"])
    rows = verl_rows(rollout(make_trainer(declared, random_model, tmp_path, None).model.config.vocab_size))
    weight = next(worker.engine.module.parameters())
    kept = weight.detach().clone()
    try:
        if fault == "reward":
            next(iter(rows.values()))["rm_scores"][-1] = float("inf")
        else:
            with torch.no_grad():
                weight.fill_(float("nan"))
        with pytest.raises(Diverged, match=message):
            step(declared, rows, worker, random_model, number=1, micro_batch=None, out=tmp_path)
        with pytest.raises(Diverged, match=message):  # what the launcher, in another process, raises
            raise_left_word(tmp_path)
    finally:
        with torch.no_grad():
            weight.copy_(kept)


@pytest.mark.parametrize("name", ["grpo", "kl_cov"])
def test_a_step_on_the_samplers_log_probabilities_is_the_same_through_both_backends(
    name: str, worker: Any, random_model: Path, tmp_path: Path
) -> None:
    """`old_policy=sampler`. At the first update of a rollout the policy is not the old one then."""
    from evals.provenance import Origin

    declared_case = declared_with(CASES[name])
    trainer = make_trainer(declared_case, random_model, tmp_path, 2)
    declared = declared_case.override({"old_policy": "sampler"}, Origin.USER, "a test")
    trainer.experiment = declared  # the translation refuses it, because no vLLM samples here. The rollout is given
    fixed = rollout(trainer.model.config.vocab_size, declared)
    rows = verl_rows(fixed)
    fixed["old_per_token_logps"] = fixed["sampling_per_token_logps"]  # as `_generate_and_score_completions` leaves it
    same_step(declared, trainer, fixed, rows, worker, random_model, tmp_path, number=0, micro_batch=2)

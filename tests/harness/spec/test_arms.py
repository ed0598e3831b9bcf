"""No two arms of a paper train the same, at any scale, unless they are declared to (`Arm.same_as`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
import torch

from harness.command.resolve import resolve
from harness.spec import Experiment, catalogue
from harness.spec.job import Job
from harness.spec.scales import SCALES
from harness.step.batch import TokenBatch
from harness.step.likeliest import Distribution
from harness.step.loss import policy_loss

IN_THE_LOSS = ("clip_low", "clip_high", "dual_clip", "kl_beta", "aggregation", "denominator", "entropy_coefficient")


def trained(paper: str, scale: str) -> list[Job]:
    models = list(catalogue.load(paper).models)
    jobs = resolve(paper, models=models, sets=["all"], scale=scale, seeds=[0])
    return [job for job in jobs if job.experiment is not None]


def pairs(paper: str, scale: str) -> Iterator[tuple[Job, Job]]:
    """Jobs of one model that differ in the method and the loss alone."""
    jobs = [(job, rest(job)) for job in trained(paper, scale)]
    for (a, values), (b, other_values) in combinations(jobs, 2):
        if a.model == b.model and values == other_values:
            yield a, b


def rest(job: Job) -> dict[str, Any]:
    """The values that are neither a method's nor part of the loss: data, rollout, optimiser, ..."""
    assert job.experiment is not None
    settings = job.experiment.settings()
    uses = [u.name for u in job.experiment.method.uses()] if isinstance(job.experiment, Experiment) else []
    return {
        key: sourced.value
        for key, sourced in settings.items()
        if key not in IN_THE_LOSS and key.partition(".")[0] not in uses
    }


def step_of(experiment: Experiment, step: int) -> TokenBatch:
    """One optimiser step: 8 groups of 4 responses of different lengths, rewards of every mixture, made up but fixed."""
    made = torch.Generator().manual_seed(step)

    def noise(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=made, dtype=torch.float64)

    rows, limit = 32, max(experiment.max_completion_tokens.value, 64)
    tokens = limit if limit <= 1024 else 64  # a soft length limit acts near the limit alone
    lengths = (torch.arange(rows) + 1) * tokens // rows
    rewards = (noise(rows) > 0).double()
    rewards[::4], rewards[1::4] = 1.0, 0.0  # no group without a signal
    logp = -(noise(rows, tokens) ** 2) - 0.1  # some are rare
    entropies = noise(rows, tokens).abs() * (2 if step % 2 else 0.2)  # above STARE's target, and below
    drift = 0.4 * noise(rows, tokens) if experiment.updates_per_rollout.value > 1 else 0.0  # ratios differ from 1
    weights = experiment.reward_weights.value
    parts = torch.stack([rewards, *((noise(rows) > 0).double() for _ in weights[1:])], 1)
    return TokenBatch(
        rewards=2 * rewards - 1 if len(weights) == 1 else parts @ torch.tensor(weights, dtype=torch.float64),
        reward_parts=parts,
        reward_weights=weights,
        groups=torch.arange(rows) // 4,
        mask=torch.arange(tokens) < lengths.unsqueeze(1),
        vocab_size=100,
        max_tokens=limit,
        seed=0,
        advantages=None,
        entropies=entropies,
        old_entropies=entropies * (1 + 0.08 * noise(rows, tokens)),
        logp=logp,
        old_logp=logp - drift,
        ref_logp=logp - 0.3 * noise(rows, tokens),
        values=noise(rows, tokens),
        pi_squared=noise(rows, tokens).abs().clamp(max=1),
        greedy_rewards=(noise(rows // 4) > 0).double().repeat_interleave(4),
        base_accuracy=noise(rows // 4).abs().clamp(max=1).repeat_interleave(4),
        rollout_logp=logp - drift - 0.6 * (torch.arange(rows) / rows).unsqueeze(1) * noise(rows, tokens),
        step=step,
    )


def steps_of_epochs(e: Experiment) -> int:
    rollouts = e.epochs.value * e.dataset_rows.value / e.prompts_per_rollout.value
    return int(rollouts) * e.updates_per_rollout.value


def gradient(experiment: Experiment, step: int) -> torch.Tensor:
    """The gradient of the loss with respect to the log-probabilities, at one optimiser step."""
    batch = step_of(experiment, step)
    made = experiment.method.apply(batch)
    logp = batch.need("logp").clone().requires_grad_(True)
    objective: Any = experiment.method.objective
    if experiment.method.likeliest:
        top = logp.unsqueeze(-1) - torch.arange(float(experiment.method.likeliest)) / 2  # the sampled one, and others
        now = Distribution(batch.need("entropies"), top, batch.mask)
        of_tensors = objective
        objective = lambda *tensors: of_tensors(*tensors, now)  # noqa: E731
    loss = policy_loss(
        logp,
        batch.need("old_logp"),
        made.advantages,
        made.weights,
        clip_low=experiment.clip_low.value,
        clip_high=experiment.clip_high.value,
        dual_clip=experiment.dual_clip.value,
        ref_logp=batch.need("ref_logp"),
        kl_beta=experiment.kl_beta.value,
        gates=made.gates,
        penalties=made.penalties,
        objective=objective,
        mask=batch.mask,
    )
    (of_logp,) = torch.autograd.grad(loss, logp)
    return of_logp * batch.mask


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", catalogue.papers())
def test_two_arms_differ_in_what_they_train(paper: str, scale: str) -> None:
    gradients: dict[str, list[torch.Tensor]] = {}
    for a, b in pairs(paper, scale):
        if a.experiment is None or b.experiment is None:
            continue
        if not (isinstance(a.experiment, Experiment) and isinstance(b.experiment, Experiment)):
            assert a.experiment.settings() != b.experiment.settings(), (a.name, b.name)
            continue
        if a.experiment.entropy_coefficient.value != b.experiment.entropy_coefficient.value:
            continue
        for job, declared in ((a, a.experiment), (b, b.experiment)):
            last = declared.max_steps.value or steps_of_epochs(declared)
            steps = sorted({0, 1, last // 4, last // 5, last // 2, last - 1})
            if job.name not in gradients:
                gradients[job.name] = [gradient(declared, step) for step in steps]
        differ = [not torch.allclose(x, y) for x, y in zip(gradients[a.name], gradients[b.name], strict=True)]
        assert any(differ), f"{a.name} and {b.name} train the same at {scale} scale; declare same_as"


def test_arms_that_are_declared_the_same_are_not_trained_twice() -> None:
    for paper in catalogue.papers():
        reproduction = catalogue.load(paper)
        for scale in SCALES:
            run = {(job.model, job.arm) for job in trained(paper, scale)}
            for arm in reproduction.arms:
                if reproduction.trained_as(arm, scale) is not arm:
                    assert (arm.model, arm.key) not in run and (arm.model, arm.same_as) in run
